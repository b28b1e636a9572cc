//! The same promise with the real Claude: where it runs by itself, it runs under hopty.

use std::path::Path;

use hopty::standin::script::{Script, ScriptedReply};

use super::poor::answers;
use super::support::claude::{self, Kind};
use super::support::term::Term;
use super::support::world::World;

/// What a shell does that becomes Claude, or hopty. Every one of them leaves the home alone: it is this
/// test's own.
const SURROUNDINGS: &[(&str, &str)] = &[
    ("the state directory is a file", "mkdir -p \"$HOME/.local/state\"; : >\"$HOME/.local/state/hopty\""),
    ("the state directory is open to others", "mkdir -m 777 -p \"$HOME/.local/state/hopty\""),
    ("no TMPDIR and no XDG_RUNTIME_DIR", "unset TMPDIR XDG_RUNTIME_DIR"),
    ("TERM unknown", "TERM=unheard-of"),
    ("few descriptors", "ulimit -n 64"),
    ("standard error closed", "exec 2>&-"),
    ("signals ignored", "trap '' HUP USR1 USR2 PIPE ALRM TSTP TTIN TTOU XFSZ"),
];

#[test]
fn where_the_real_claude_runs_hopty_runs() {
    let hopty = claude::hopty();
    for (name, before) in SURROUNDINGS {
        let script = Script::each(|request, _| {
            ScriptedReply::text(format!("Answer {}.", request.assistant_messages()))
        });
        let Some(world) = World::new(Kind::Real, script) else { return };
        for program in ["\"$HOPTY_PROGRAM_CLAUDE\"", hopty.to_str().unwrap()] {
            eprintln!("{name}: {program}");
            let line = format!("{before}\nexec {program} --model claude-sonnet-4-5");
            let mut term =
                Term::start(Path::new("/bin/sh"), &["-c", &line], &world.env, &world.project, (120, 40));
            answers(&term);
            term.submit("/exit");
            assert_eq!(term.wait_exit(), 0, "{name}: {program}");
        }
        world.assert_nothing_left();
    }
}
