//! What hopty has to tell while a program has the screen: on a page when asked for, as lines when the
//! terminal is free.

use hopty::standin::script::{Script, ScriptedReply};

use super::support::both;
use super::support::claude::Kind;
use super::support::world::World;
use super::{sized, wait_clients};

const NOTICE: &str = "Token usage: 75% - approaching limit";

fn a_notice_leaves_the_screen_alone_and_is_read_when_asked_for_or_after(kind: Kind) {
    let script = Script::each(|_, _| ScriptedReply::text("The first coat is on.").filling(150_000));
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("HOPTY_HANDOFF_VIEWS", "orchestrator");
    let mut term = world.start(&[]);
    term.wait_box();
    let mut other = sized(&world, &["attach"], (90, 20));
    wait_clients(&world, 2);
    term.submit("Paint the fence.");
    term.wait_text("The first coat is on.");
    world.wait_decision("level.crossed", 1);
    world.wait_state("idle");
    assert!(!term.lines().join("\n").contains(NOTICE), "{:?}", term.lines());
    term.send("\x1cn");
    term.wait_text("notices, newest first");
    term.wait_text(&format!("just now: {NOTICE}"));
    term.send("q");
    term.wait_for("the conversation", |screen| {
        !screen.alternate() && screen.lines().iter().any(|line| line.contains("The first coat is on."))
    });
    term.send("\x1cd");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    term.wait_text("hopty: detached");
    assert!(!term.lines().join("\n").contains(NOTICE), "it was read: {:?}", term.lines());
    // Whoever watched is told too. At the session's end a level is no news any more.
    other.send("\x1cd");
    assert_eq!(other.wait_exit(), 0);
    other.assert_whole();
    other.wait_text(&format!("hopty: just now: {NOTICE}"));
    world.ask(&["stop", "proj"]);
    world.assert_nothing_left();
}

/// A program's own notices go to its terminal; while there is none they wait, the newest few, for who comes.
#[test]
fn what_a_program_said_to_nobody_is_told_to_who_comes() {
    let Some(world) = World::new(Kind::StandIn, Script::list([])) else { return };
    let script = r"stty -echo; printf '\033]9;4;1;50\007'; for n in 1 2 3 4 5 6; do printf '\033]9;part %s done\007' $n; done; \
        printf '\033]777;notify;Build;failed\007up\n'; read x; printf '\033]9;seen\007last\n'; read x";
    world.ask(&["run", "--name", "one", "--detached", "--", "sh", "-c", script]);
    world.ask(&["wait", "one", "text=up"]);
    for first in [true, false] {
        let mut term = world.terminal(&["attach", "one"]);
        term.wait_text("up");
        if first {
            term.send("\r");
            // This one its terminal has got.
            term.wait_text("last");
        } else {
            term.send("\x1cn");
            term.wait_text(": from the program, while nobody was attached: Build: failed");
            assert!(!term.lines().iter().any(|line| line.contains("seen")), "{:?}", term.lines());
            term.send("q");
            term.wait_for("the program", |screen| !screen.alternate());
        }
        term.send("\x1cd");
        assert_eq!(term.wait_exit(), 0);
        term.drained();
        let text = String::from_utf8_lossy(&term.bytes()).into_owned();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("hopty: ") && line.contains("nobody was attached"))
            .collect();
        let told: Vec<&str> =
            lines.iter().filter_map(|line| line.split("attached: ").nth(1)).map(str::trim_end).collect();
        let wanted: &[&str] = if first {
            &["part 3 done", "part 4 done", "part 5 done", "part 6 done", "Build: failed"]
        } else {
            &[]
        };
        assert_eq!(told, wanted, "{text}");
    }
    world.ask(&["stop", "one"]);
    world.assert_nothing_left();
}

both!(a_notice_leaves_the_screen_alone_and_is_read_when_asked_for_or_after);
