//! What hopty has to tell while a program has the screen: on a page when asked for, as lines when the terminal is free.

use hopty::standin::script::{Reply, Script};

use super::support::both;
use super::support::claude::Kind;
use super::support::world::World;
use super::{sized, wait_clients};

const NOTICE: &str = "Token usage: 75% - approaching limit";

fn a_notice_leaves_the_screen_alone_and_is_read_when_asked_for_or_after(kind: Kind) {
    let script = Script::each(|_, _| Reply::text("The first coat is on.").filling(150_000));
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
    term.wait_text(&format!("hopty: just now: {NOTICE}"));
    // Whoever watched is told too, and at the session's end as well.
    world.ask(&["stop", "proj"]);
    other.wait_exit();
    other.assert_whole();
    other.wait_text(&format!("hopty: just now: {NOTICE}"));
    world.assert_nothing_left();
}

both!(a_notice_leaves_the_screen_alone_and_is_read_when_asked_for_or_after);
