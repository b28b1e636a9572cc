//! hopty's verbs where something is missing: each answers, with a line that says what is missing where it
//! cannot do its work.

use super::poor::{As, Poor};
use super::support::skip;

const BEFORE: &[(&str, As, &str)] = &[
    ("no HOME", As::Anybody, "unset HOME"),
    ("HOME missing", As::Anybody, "HOME=\"$ROOT/none\""),
    ("HOME is a file", As::Anybody, "rm -rf \"$HOME\"; : >\"$HOME\""),
    ("HOME read-only", As::Ordinary, "chmod 500 \"$HOME\""),
    ("HOME closed", As::Ordinary, "chmod 0 \"$HOME\""),
    ("the working directory is deleted", As::Anybody, "mkdir gone; cd gone; rmdir ../gone"),
    ("the file-size limit is 0", As::Anybody, "ulimit -f 0"),
    ("twelve descriptors", As::Anybody, "ulimit -n 12"),
    ("umask 777", As::Ordinary, "umask 777"),
    (
        "nothing in the environment",
        As::Anybody,
        "for name in $(env | sed 's/=.*//' | grep -v '^HOPTY_TEST'); do unset \"$name\"; done",
    ),
];

const VERBS: &[&str] = &[
    "ls", "ls --all --json", "status", "check", "check --json", "help", "--version", "handoff list", "why x",
    "config", "run -- true",
];

#[test]
fn every_verb_answers() {
    for (name, who, before) in BEFORE {
        let Some(poor) = Poor::new(*who, "") else {
            skip(format!("{name} needs setpriv"));
            continue;
        };
        for verb in VERBS {
            let output = poor.verb(before, verb);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            let code = output.status.code();
            let about = format!("{name}: hopty {verb}: {:?}: {told}", output.status);
            assert!(code.is_some_and(|code| code != 101), "{about}");
            assert!(!told.contains("panicked"), "{about}");
            if code != Some(0) && *verb != "check" && *verb != "check --json" {
                assert!(told.lines().filter(|line| line.starts_with("hopty: ")).count() == 1, "{about}");
            }
            if code == Some(0) && *verb != "run -- true" {
                assert!(
                    !output.stdout.is_empty()
                        || told.contains("hopty: ")
                        || verb.starts_with("ls")
                        || *verb == "handoff list",
                    "{about}"
                );
            }
        }
        // A home that is missing is for its owner to make.
        assert!(!poor.root.join("none").exists(), "{name}");
        poor.assert_nothing_left(name);
    }
}

/// What cannot be had is named by the verb that looks at everything.
#[test]
fn check_names_what_is_missing() {
    for (who, before, words) in [
        (As::Anybody, "unset HOME", "HOME is not set to an absolute path"),
        (As::Anybody, "HOME=\"$ROOT/none\"", "none does not exist"),
        (As::Ordinary, "chmod 500 \"$HOME\"", "Permission denied"),
    ] {
        let Some(poor) = Poor::new(who, "") else {
            skip(format!("{before} needs setpriv"));
            continue;
        };
        let output = poor.verb(before, "check");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text
            .lines()
            .find(|line| line.starts_with("bad   sessions"))
            .unwrap_or_else(|| panic!("{before}: {text}"));
        assert!(
            output.status.code() == Some(1)
                && text.replace("\n", " ").contains(words.split(' ').next().unwrap()),
            "{line}: {text}"
        );
    }
}
