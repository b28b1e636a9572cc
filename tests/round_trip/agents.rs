//! Claude, the stand-in and the real one, inline and full-screen: at rest, with a draft, with a menu, in a
//! dialog, at work.

use std::sync::Mutex;

use hopty::standin::script::{Script, ScriptedReply};

use super::live::Live;
use super::support::claude::Kind;
use super::support::program_files;
use super::support::world::World;
use super::{Tally, programs};

/// How Claude draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Draws {
    /// Below what the terminal shows.
    Inline,
    /// On the alternate screen.
    FullScreen,
}

/// Every Claude that there is, in both forms.
pub fn all(tally: &Mutex<Tally>) {
    for kind in [Kind::StandIn, Kind::Real] {
        for draws in [Draws::Inline, Draws::FullScreen] {
            if let Some(world) = world(kind, draws) {
                programs::compare(
                    tally,
                    &format!("Claude ({kind:?}, {draws:?})"),
                    drive(&world, kind, draws),
                );
            }
        }
    }
}

/// A world whose Claude is the child of a shell, so that it can be held still, and whose first tool waits for
/// a word.
fn world(kind: Kind, draws: Draws) -> Option<World> {
    let script = Script::each(|request, _| match request.assistant_messages() {
        0 => ScriptedReply::bash("cat go >made").saying("I look."),
        _ => {
            ScriptedReply::text("**Done**, with `code`:\n\n- one\n- two 漢字\n\n```rust\nfn main() {}\n```\n")
        }
    });
    let mut world = World::new(kind, script)?;
    nix::unistd::mkfifo(&world.project.join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    world.args.retain(|arg| arg != "--dangerously-skip-permissions");
    world.set("HOPTY_TERMINAL_PREFIX", "");
    world.set("CLAUDE_CODE_NO_FLICKER", if draws == Draws::FullScreen { "1" } else { "0" });
    let program = world
        .env
        .iter()
        .find(|(name, _)| name == "HOPTY_PROGRAM_CLAUDE")
        .unwrap()
        .1
        .to_str()
        .unwrap()
        .to_owned();
    let shell = world.root.path().join("held-claude");
    program_files::write(&shell, &format!("#!/bin/sh\n'{program}' \"$@\"\nexit $?\n"));
    world.set("HOPTY_PROGRAM_CLAUDE", shell.to_str().unwrap());
    Some(world)
}

fn drive(world: &World, kind: Kind, draws: Draws) -> Live<'_> {
    let args: Vec<&str> = world.args.iter().map(String::as_str).collect();
    let mut live = Live::start(world, &format!("Claude ({kind:?}, {draws:?})"), &args);
    live.outer().wait_rows("the prompt box", |rows| rows.iter().any(|row| row.starts_with('❯')));
    live.state_at_rest("at the start");
    live.type_for("a draft with 漢字 in it\x1b[D\x1b[D", "a draft with 漢字");
    live.state_at_rest("a draft");
    live.outer().send(b"\x05\x15");
    live.outer().wait_rows("no draft", |rows| !rows.iter().any(|row| row.contains("a draft")));
    if kind == Kind::Real {
        live.type_for("/cle", "/clear");
        live.state_at_rest("a menu");
        live.outer().send(b"\x1b");
        live.outer().wait_rows("no menu", |rows| !rows.iter().any(|row| row.contains("/clear")));
        live.outer().send(b"\x05\x15");
    }
    live.type_for("Look around.", "Look around.");
    live.type_for("\r", "Do you want to proceed");
    live.state_at_rest("a dialog");
    live.move_to((100, 30));
    live.outer().wait_text("Do you want to proceed");
    live.state_at_rest("a dialog, in another size");
    live.outer().send(b"\r");
    live.outer()
        .wait_rows("the dialog's end", |rows| !rows.iter().any(|row| row.contains("Do you want to proceed")));
    live.state_in_motion("at work");
    std::fs::write(world.project.join("go"), "waited for\n").unwrap();
    live.outer().wait_text("two 漢字");
    world.wait_state("idle");
    live.state_at_rest("after a turn");
    live.move_to((80, 24));
    live.outer().wait_text("two 漢字");
    live.state_at_rest("after a turn, in the first size again");
    live
}
