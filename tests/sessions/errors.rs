//! Errors have one form, for people and for programs; who stops reading is not complained about.

use std::process::{Command, Stdio};

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::support::claude::hopty;
use super::support::term::Term;
use super::support::text;
use super::support::world::World;
use super::{assert_fails, end_all, world};

#[test]
fn bad_usage_is_said_in_the_form_of_all_errors() {
    let world = world();
    for (args, words) in [
        (&["ls", "--no-such-option"][..], "ls: unexpected argument '--no-such-option'"),
        (&["status", "a", "b"], "status: unexpected argument 'b'"),
        (&["replay"], "replay: "),
        (&["run"], "run: "),
        (&["run", "--max-restarts", "x", "--", "true"], "run: "),
        (&["replay", "/no/such/file"], "replay: /no/such/file: it cannot be read"),
        (&["attach", "nosuch"], "attach: nosuch: "),
        (&["handoff"], "handoff: one of create, show, list, "),
        (&["handoff", "shwo"], "handoff: unrecognized verb 'shwo'"),
        (&["handoff", "fit", "x"], "handoff fit: invalid value 'x' for '<TOKENS>': not a whole number"),
        (&["help", "nosuch"], "help: unrecognized verb 'nosuch'"),
    ] {
        let output = world.hopty(args);
        let code = if args[0] == "attach" { 3 } else { 2 };
        assert_fails(&output, code, words);
        assert!(output.stdout.is_empty());
    }
}

/// The errors of every verb, and of every verb below one.
#[test]
fn no_word_of_an_error_is_broken_in_a_narrow_terminal() {
    let world = world();
    let verbs = |of: &[&str]| -> Vec<String> {
        let help = world.ask(&[&["help"], of].concat());
        let listed = help.split("Verbs:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap();
        let listed = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = listed.filter_map(|line| line.split_whitespace().next());
        names.map(|name| [of, &[name]].concat().join(" ")).collect()
    };
    let mut all = verbs(&[]);
    for group in ["backup", "channel", "config", "conversations", "handoff"] {
        let below = verbs(&[group]);
        assert!(below.len() > 1, "{group}: {below:?}");
        all.extend(below);
    }
    assert!(all.len() > 60, "{all:?}");
    // In parts: with all of them in one terminal a busy machine would take longer than any wait may.
    let mut longest = 0;
    for part in all.chunks(16) {
        let script: String = part
            .iter()
            .flat_map(|verb| {
                ["--no-such-option", "nosuch/nosuch", "nosuch with more-words than-it-takes"]
                    .map(|more| format!("\"$0\" {verb} {more} </dev/null 2>&1 >/dev/null\n"))
            })
            .collect();
        longest = longest.max(errors_fit(&world, &script));
    }
    assert!(longest > 80, "no line had to be broken");
    world.assert_nothing_left();
}

/// Runs a script in narrow terminals and in a pipe, and gives the columns of the longest line in the pipe.
fn errors_fit(world: &World, script: &str) -> usize {
    let program = hopty();
    let args = ["-c", script, program.to_str().unwrap()];
    let mut command = Command::new("/bin/sh");
    command.args(args).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
    let piped = text(&command.output().unwrap().stdout);
    for line in piped.lines() {
        assert!(line.starts_with("hopty: ") || line.starts_with("hint: "), "only whole lines: {line:?}");
    }
    for cols in [40, 80] {
        let mut term = Term::start("/bin/sh".as_ref(), &args, &world.env, &world.project, (cols, 24));
        term.wait_exit();
        term.drained();
        let told = text(&term.bytes());
        // A temporary file has another name each time.
        let differs = |(told, piped): &(&str, &str)| told != piped && !piped.contains(".hopty-tmp-");
        let other = told.split_whitespace().zip(piped.split_whitespace()).find(differs);
        assert_eq!(other, None, "{told}");
        assert_eq!(told.split_whitespace().count(), piped.split_whitespace().count());
        for line in told.lines().filter(|line| line.width() > usize::from(cols)) {
            assert!(!line.trim().contains(' '), "at {cols} columns: {line}");
        }
    }
    piped.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
}

#[test]
fn with_json_the_error_is_an_object_on_standard_output() {
    let world = world();
    for (args, code) in [
        (&["status", "nosuch", "--json"][..], "not_found"),
        (&["stop", "Bad Name", "--json"], "bad_request"),
        (&["restart", "--json"], "not_found"),
        (&["why", "--json", "--what"], "bad_request"),
        (&["ls", "--json", "--what"], "bad_request"),
        (&["conversations", "--json"], "bad_request"),
    ] {
        let output = world.hopty(args);
        assert!(!output.status.success());
        let value: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{args:?}: {e}: {}", text(&output.stdout)));
        let error = value["error"].as_object().unwrap();
        assert_eq!(error.keys().collect::<Vec<_>>(), ["code", "hint", "message"], "{args:?}");
        assert_eq!(error["code"], code, "{args:?}");
        assert!(
            text(&output.stderr).starts_with(&format!("hopty: {}", error["message"].as_str().unwrap())),
            "{args:?}"
        );
    }
}

#[test]
fn nothing_that_is_printed_moves_a_cursor() {
    let world = world();
    for args in [
        &["status", "\u{1b}[2J\u{202e}x"][..],
        &["replay", "\u{1b}]0;x\u{7}"],
        &["run", "--detached", "--", "\u{1b}[2J"],
    ] {
        let output = world.hopty(args);
        assert!(!output.status.success());
        assert!(
            !output.stderr.contains(&0x1b) && !text(&output.stderr).contains('\u{202e}'),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn who_stops_reading_is_not_complained_about() {
    let world = world();
    world.run_detached("one", &["sleep", "100"]);
    for args in [
        &["ls"][..],
        &["ls", "--json"],
        &["status", "one", "--json"],
        &["events", "one"],
        &["log", "one"],
        &["why", "one"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(hopty());
        command.args(args).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert!(output.stderr.is_empty(), "{args:?}: {}", text(&output.stderr));
    }
    // One that goes on for ever ends with its reader too.
    let script = format!("'{}' events one --follow | head -1", hopty().display());
    let output = Command::new("sh")
        .args(["-c", &script])
        .env_clear()
        .envs(world.env.iter().cloned())
        .current_dir(&world.project)
        .output();
    let output = output.unwrap();
    assert_eq!(text(&output.stdout).lines().count(), 1);
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    end_all(&world);
}

#[test]
fn without_a_home_it_is_said() {
    let mut world = world();
    world.env.retain(|(name, _)| name != "HOME");
    for args in [&["ls"][..], &["status"], &["run", "--detached", "--", "true"]] {
        assert_fails(&world.hopty(args), 125, "HOME: not set");
    }
}

/// Every verb that acts by the configuration says all that is wrong in it, also that it cannot be read.
#[test]
fn no_error_has_the_number_of_a_system_error() {
    let world = world();
    let missing = world.project.join("missing/x");
    let missing = missing.to_str().unwrap();
    let of_files: [&[&str]; 6] = [
        &["play", missing, "--text"],
        &["replay", missing],
        &["test", missing],
        &["backup", "create", missing],
        &["backup", "restore", missing],
        &["conversations", "import", missing],
    ];
    for args in of_files {
        let output = world.hopty(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.starts_with("hopty: "), "{args:?}: {said}");
        assert!(!said.contains("os error") && !said.contains("hopty-tmp"), "{args:?}: {said}");
    }
    let output = world.hopty(&["backup", "create", missing]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("No such file or directory\nhint: check the path"), "{said}");
}

#[test]
fn a_bad_configuration_is_an_error_of_what_acts_by_it() {
    let world = world();
    let file = world.home.join(".config/hopty/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let acting: [&[&str]; 3] =
        [&["run", "--detached", "--", "true"], &["handoff", "list"], &["handoff", "fit", "8"]];
    let all_fail = |words: &[&str]| {
        for args in acting {
            let output = world.hopty(args);
            words.iter().for_each(|words| assert_fails(&output, 2, words));
        }
    };
    std::fs::write(&file, "[restart]\nmod = 1\nmode = 2\n").unwrap();
    all_fail(&[
        "config.toml:2: unknown key \"restart.mod\"",
        "the nearest known key is restart.mode, and 1 more error",
    ]);
    std::fs::write(&file, b"[restart]\nmode = \"\xff\"\n").unwrap();
    all_fail(&["config.toml: the file cannot be read"]);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    all_fail(&["config.toml: the file cannot be read: it is a directory, not a file"]);
    // What only looks at sessions, or ends them, needs none.
    assert!(world.hopty(&["ls"]).status.success());
    std::fs::remove_dir(&file).unwrap();
    std::os::unix::fs::symlink("/dev/null", &file).unwrap();
    assert!(world.hopty(&["handoff", "list"]).status.success());
}

#[test]
fn a_journal_that_cannot_be_opened_is_said_once_and_the_session_goes_on() {
    let world = world();
    std::fs::create_dir_all(world.session_dir().join("journal.jsonl")).unwrap();
    let term = world.terminal(&["run", "--name", "proj", "--", "sh", "-c", "echo begun; exec cat"]);
    term.wait_text("begun");
    let said: Vec<String> = term.lines().into_iter().filter(|line| line.contains("journal")).collect();
    assert!(
        said.len() == 1 && said[0].starts_with("hopty: cannot open the journal (Is a directory"),
        "{said:?}"
    );
    let why = world.status()["why"].as_str().unwrap().to_owned();
    assert_eq!(why, "The journal failed and is switched off; the session continues without it.");
    term.send("\x1cn");
    term.wait_text(&format!("just now: {why}"));
    end_all(&world);
}
