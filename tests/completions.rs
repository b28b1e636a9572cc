//! What the scripts of `hopty completions` complete, in the shells that read them. bash is always there; zsh
//! and fish are tried where they are installed.

#![allow(clippy::unwrap_used)]

mod support;

use std::process::Command;

use support::claude::hopty;
use support::term::Term;
use support::world::World;

/// A world with sessions `one`, `two-b` and `two-c`, and `gone`, which has ended; and `hopty` in its PATH.
fn world() -> World {
    let mut world = World::plain();
    let bin = world.home.join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(hopty(), bin.join("hopty")).unwrap();
    world.set("PATH", &format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    world.set("PS1", "$ ");
    for name in ["one", "two-b", "two-c"] {
        world.ask(&["run", "--name", name, "--detached", "--", "sleep", "1000"]);
    }
    world.ask(&["run", "--name", "gone", "--detached", "--", "true"]);
    world.ask(&["wait", "gone", "exit"]);
    world
}

fn end(world: &World) {
    ["one", "two-b", "two-c"].iter().for_each(|name| drop(world.ask(&["stop", name, "--kill"])));
    world.assert_nothing_left();
}

/// What a shell prints that runs a script.
fn says(world: &World, shell: &str, args: &[&str]) -> String {
    let mut command = Command::new(shell);
    command.args(args).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
    let done = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{args:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Words, and what may stand in the place of the last one.
const CASES: &[(&str, &[&str])] = &[
    ("attach ", &["one", "two-b", "two-c"]),
    ("attach tw", &["two-b", "two-c"]),
    ("stop one ", &["one", "two-b", "two-c"]),
    ("attach one ", &[]),
    ("why ", &["gone", "one", "two-b", "two-c"]),
    ("log -f g", &["gone"]),
    ("wait ", &["blocked", "busy", "exit", "idle", "not", "one", "quiet=", "text=", "two-b", "two-c"]),
    ("wait one ", &["blocked", "busy", "exit", "idle", "not", "quiet=", "text="]),
    ("wait one idle not b", &["blocked", "busy"]),
    ("wait one q", &["quiet="]),
    ("wait one --settle ", &[]),
    ("wait --timeout 3s o", &["one"]),
    ("send ", &["one", "two-b", "two-c"]),
    ("send one ", &[]),
    ("context o", &["one"]),
    ("answer ", &["gone", "one", "two-b", "two-c"]),
    ("rm ", &["gone"]),
    ("restore ", &[]),
    ("ls --format ", &["tmux"]),
    ("man se", &["send", "setup"]),
    ("attach --rea", &["--read-only"]),
    ("compl", &["completions"]),
    ("--det", &["--detached"]),
    ("send one --keys pageu", &["pageup"]),
];

#[test]
fn bash_completes_the_names_of_sessions() {
    let world = world();
    // Each in the way that the verb's help names.
    let script = r#"source <(hopty completions bash)
        for line; do
            read -ra COMP_WORDS <<<"hopty $line"
            [[ $line == *' ' ]] && COMP_WORDS+=('')
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
            _hopty_sessions hopty "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            echo $(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort)
        done"#;
    let args: Vec<&str> =
        ["-c", script, "bash"].into_iter().chain(CASES.iter().map(|(line, _)| *line)).collect();
    let said = says(&world, "bash", &args);
    assert_eq!(said.lines().count(), CASES.len(), "{said}");
    for ((line, want), found) in CASES.iter().zip(said.lines()) {
        assert_eq!(found.split_whitespace().collect::<Vec<_>>(), *want, "{line:?}");
    }
    // And as a person does it.
    let mut term = Term::start(
        "/bin/bash".as_ref(),
        &["--norc", "--noprofile", "-i"],
        &world.env,
        &world.project,
        (100, 30),
    );
    term.wait_for("the prompt", |screen| screen.lines()[0] == "$");
    term.send("source <(hopty completions bash)\rhopty stop tw\t");
    term.wait_for("what they have in common", |screen| {
        screen.lines().iter().any(|line| line == "$ hopty stop two-")
    });
    term.send("b\t--kill\r");
    term.wait_for("the next prompt", |screen| {
        screen.lines().iter().rev().find(|line| !line.is_empty()).is_some_and(|line| line == "$")
    });
    assert_eq!(world.ask(&["ls", "--names"]), "one\ntwo-c\n");
    world.ask(&["run", "--name", "two-b", "--detached", "--", "sleep", "1000"]);
    // Where nothing can be listed, nothing is said.
    std::fs::remove_file(world.home.join("bin/hopty")).unwrap();
    term.send("clear\rhopty attach \t\tx");
    term.wait_for("what was typed", |screen| screen.lines()[0].contains("attach x"));
    assert_eq!(term.lines().iter().filter(|line| !line.is_empty()).count(), 1, "{:?}", term.lines());
    term.send("\x15exit\r");
    term.wait_exit();
    end(&world);
}

#[test]
fn fish_completes_the_names_of_sessions() {
    let Some(_) = support::needs("fish") else { return };
    let world = world();
    let script = r#"hopty completions fish | source; for line in $argv; echo (complete -C "hopty $line" | string replace -r '\t.*' '' | sort); end"#;
    let args: Vec<&str> =
        ["--no-config", "-c", script].into_iter().chain(CASES.iter().map(|(line, _)| *line)).collect();
    let said = says(&world, "fish", &args);
    assert_eq!(said.lines().count(), CASES.len(), "{said}");
    for ((line, want), found) in CASES.iter().zip(said.lines()) {
        assert_eq!(found.split_whitespace().collect::<Vec<_>>(), *want, "{line:?}");
    }
    end(&world);
}

#[test]
fn zsh_completes_the_names_of_sessions() {
    let Some(_) = support::needs("zsh") else { return };
    let world = world();
    let mut term = Term::start("/usr/bin/zsh".as_ref(), &["-f", "-i"], &world.env, &world.project, (100, 30));
    term.wait_for("the prompt", |screen| screen.lines()[0] == "$");
    term.send("autoload -U compinit; compinit -u -D; source <(hopty completions zsh); LISTMAX=100; clear\r");
    term.wait_for("the prompt", |screen| screen.lines()[0] == "$" && screen.cursor().row == 0);
    for (line, want) in CASES.iter().filter(|(_, want)| !want.is_empty()) {
        term.send(format!("hopty {line}\t"));
        match want {
            [one] => term.wait_for(line, |screen| screen.lines()[0].ends_with(one)),
            _ => {
                term.send("\t");
                term.wait_for(line, |screen| {
                    let text = screen.lines()[1..].join(" ");
                    let mut found: Vec<&str> = text.split_whitespace().collect();
                    found.sort_unstable();
                    found == *want
                });
            }
        }
        term.send("\x15clear\r");
        term.wait_for("the prompt", |screen| screen.lines()[0] == "$" && screen.cursor().row == 0);
    }
    term.send("exit\r");
    term.wait_exit();
    end(&world);
}
