//! Without a terminal, or with half of one: a program is executed in hopty's place, and nothing is different.

use super::case::{Case, Way, world};
use super::needs;
use super::support::world::World;

fn file(world: &World) {
    std::fs::write(world.project.join("file"), b"from a file\xff\0\n").unwrap();
}

/// A program that tells where its streams lead, and uses them.
const TELLS: &str = "sh -c 'cat; echo out; echo err >&2; for n in 0 1 2; do test -t $n && echo $n; done; env \
                     | grep -c HOPTY_; exit 3'";

#[test]
fn standard_input_or_output_or_both() {
    let world = world();
    let lines = [
        format!("@ {TELLS} <file"),
        format!("@ {TELLS} <file 2>&1 | cat"),
        format!("echo piped | @ {TELLS}"),
        format!("echo piped | @ {TELLS} 2>&1 | cat"),
        format!("@ {TELLS} <file >out; echo $?; cat out"),
        format!("@ {TELLS} </dev/null >/dev/null"),
        format!("@ {TELLS} <file >out 2>&1; echo $?; cat out"),
        format!("x=$(@ {TELLS} <file); echo \"$? $x\""),
        "@ cat file | @ sort | @ head -n 1".to_owned(),
        "seq 1 100000 | @ tail -n 1".to_owned(),
        "@ seq 1 1000000 | head -n 1".to_owned(),
        "@ sh -c 'echo $0 $1 \"$2\"' one 'two  three' '' </dev/null".to_owned(),
        "@ sh -c 'kill -TERM $$' </dev/null; echo $?".to_owned(),
    ];
    for line in lines {
        Case::around(&world, &line).prepare(&file).run(|_| ());
    }
}

#[test]
fn programs_that_look_at_their_output() {
    let world = world();
    for line in [
        "@ ls -C --color=auto / | cat",
        "@ grep --color=auto f file </dev/null | cat",
        "@ stty size <file; @ tty </dev/null; echo $?",
    ] {
        Case::around(&world, line).prepare(&file).run(|_| ());
    }
}

/// The session leader has no controlling terminal when it calls `setsid`; nothing can be opened as
/// `/dev/tty`.
#[test]
fn without_a_controlling_terminal() {
    let Some(_) = needs("setsid") else { return };
    let world = world();
    for line in [
        "setsid -w @ sh -c 'cat; : </dev/tty; echo $?' <file >out 2>&1; cat out",
        "setsid -w @ sh -c 'echo out; test -t 1 && echo terminal; exit 5'; echo $?",
        "setsid -w @ sh -c 'ps -o tty= -p $$' </dev/null | cat",
    ] {
        Case::around(&world, line).prepare(&file).run(|_| ());
    }
}

/// The error output goes where it went: only the other two make a terminal.
#[test]
fn error_output_of_its_own() {
    let world = world();
    Case::around(
        &world,
        "@ sh -c 'echo out; echo err >&2; test -t 2; echo $?' 2>err; echo \"err: $(cat err)\"",
    )
    .run(|_| ());
}

/// Signals that whoever starts it ignores stay ignored.
#[test]
fn ignored_signals_of_the_parent() {
    let world = world();
    for trap in ["", "trap '' PIPE;", "trap '' HUP INT QUIT;"] {
        let line = format!("{trap} @ grep -E '^Sig(Blk|Ign)' /proc/self/status </dev/null | cat");
        Case::around(&world, &line).run(|_| ());
    }
}

#[test]
fn terminals_that_can_little() {
    for term in ["dumb", "unknown-terminal", ""] {
        let mut world = world();
        world.set("TERM", term);
        if term.is_empty() {
            world.env.retain(|(name, _)| name != "TERM");
        }
        Case::script(
            &world,
            "echo \"term ${TERM-unset}\"; tput cols; ls --color=auto /; printf '\\033[31mred\\033[m\\n'",
        )
        .run(|stage| {
            if stage.way != Way::Bare {
                assert!(!stage.outer.rows().iter().any(|row| row.contains("hopty:")));
            }
        });
    }
}
