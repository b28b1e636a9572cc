//! `send --mark` and `wait --since`: in a shell script, too, an old text is no answer.

use std::process::{Command, Output, Stdio};

use super::support::claude::hopty;
use super::support::text;
use super::support::world::World;
use super::{assert_fails, end_all, world};

/// Runs a shell script in which `hopty` is the program under test.
fn script(world: &World, lines: &str) -> Output {
    let path = std::env::join_paths(
        [hopty().parent().unwrap().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut command = Command::new("timeout");
    command.args(["60", "bash", "-euc", lines]).env_clear().envs(world.env.iter().cloned());
    command.env("PATH", path.unwrap()).current_dir(&world.project).stdin(Stdio::null());
    command.output().unwrap()
}

fn passes(world: &World, lines: &str) -> String {
    let output = script(world, lines);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn an_answer_that_equals_old_text_is_waited_for() {
    let world = world();
    // It answers when the gate is opened, always with the same word.
    world.run_detached(
        "one",
        &["sh", "-c", "mkfifo gate; echo Done; while read -r _; do cat gate; echo Done; done"],
    );
    let said = passes(
        &world,
        r#"
        hopty wait one text='^Done$'
        mark=$(hopty send one --mark $'go\r')
        hopty wait one text='^Done$' --timeout 10s
        ! hopty wait one text='^Done$' --since "$mark" --timeout 300ms 2>/dev/null || echo stale
        : > gate
        hopty wait one text='^Done$' --since "$mark" --timeout 10s
        next=$(hopty send one '' --mark)
        ! hopty wait one text='^Done$' --since "$next" --timeout 100ms 2>/dev/null || echo stale again
        "#,
    );
    assert_eq!(said, "");
    end_all(&world);
}

/// A program that echoes itself, as every shell with line editing does.
#[test]
fn what_was_typed_is_no_answer() {
    let world = world();
    let bash = ["bash", "--noprofile", "--norc", "--noediting", "-i"];
    world.run_detached("plain", &bash);
    world.run_detached("edits", &[&bash[..3], &bash[4..]].concat());
    for name in ["plain", "edits"] {
        let said = passes(
            &world,
            &format!(
                r#"
                mkfifo {name}.gate
                hopty wait {name} 'text=[$#] *$'
                mark=$(hopty send {name} --mark $'read -r _ < {name}.gate; echo Done\r')
                ! hopty wait {name} text=Done --since "$mark" --timeout 300ms 2>/dev/null || echo stale
                echo > {name}.gate
                hopty wait {name} text=Done --since "$mark" --timeout 10s
                "#
            ),
        );
        assert_eq!(said, "", "{name}");
    }
    end_all(&world);
}

#[test]
fn the_same_text_drawn_anew_is_an_answer_only_after_it_was_gone() {
    let world = world();
    let draw = "printf '\\033[H\\033[2JDone'";
    let program = format!(
        "{draw}; read -r _; printf '\\033[?2026h'; {draw}; printf '\\033[?2026l'; read -r _; \
         printf '\\033[H\\033[2J'; read -r _; {draw}; read -r _"
    );
    world.run_detached("one", &["sh", "-c", &format!("stty -echo; {program}")]);
    let said = passes(
        &world,
        r#"
        hopty wait one text=Done
        mark=$(hopty send one --keys enter --mark)
        ! hopty wait one text=Done --since "$mark" --timeout 300ms 2>/dev/null || echo redrawn
        hopty send one --keys enter
        hopty wait one text=Done --gone 2>/dev/null
        mark=$(hopty send one --keys enter --mark)
        hopty wait one text=Done --since "$mark" --timeout 10s
        hopty wait one text=Done --since "$mark" --settle 50ms --timeout 10s
        "#,
    );
    assert_eq!(said, "");
    end_all(&world);
}

/// A program that computes is quiet and has not settled.
#[test]
fn a_session_settles_when_its_program_does_nothing_more() {
    let world = world();
    let computes = "echo Done; i=0; while [ ! -e stop ]; do i=$((i+1)); done; sleep 1000";
    world.run_detached("one", &["sh", "-c", computes]);
    world.ask(&["wait", "one", "text=Done", "quiet=100ms"]);
    world.ask(&["wait", "one", "text=Done"]);
    let args = ["wait", "one", "text=Done", "--settle", "50ms", "--timeout"];
    assert_fails(&world.hopty(&[&args[..], &["500ms"]].concat()), 1, "has not settled");
    std::fs::write(world.project.join("stop"), "").unwrap();
    world.ask(&[&args[..], &["20s"]].concat());
    end_all(&world);
}

#[test]
fn marks_that_mean_nothing_are_refused() {
    let world = world();
    world.run_detached("one", &["sleep", "1000"]);
    for (args, exit, words) in [
        (&["wait", "one", "text=x", "--since", "7"][..], 2, "a line of the journal does not say when"),
        (&["wait", "one", "text=x", "--since", "1.2"], 2, "not a mark"),
        (&["wait", "one", "text=x", "--since", "1.1.99"], 2, "was not taken in this session"),
        (&["wait", "one", "exit", "--gone"], 2, "--gone needs a text"),
    ] {
        assert_fails(&world.hopty(args), exit, words);
    }
    let said: serde_json::Value =
        serde_json::from_str(&world.ask(&["send", "one", "ab\r", "--mark", "--json"])).unwrap();
    assert_eq!(said["typed"], 3);
    let mark = said["mark"].as_str().unwrap();
    assert_eq!(mark.split('.').nth(1), Some("1"), "of the first run");
    end_all(&world);
}
