//! Claude in a session that its terminals come to and leave: in the middle of a turn, from another size,
//! several at once.

use hopty::standin::script::{Script, ScriptedReply};
use nix::libc;

use super::support::both;
use super::support::claude::Kind;
use super::support::term::Term;
use super::support::world::{World, tools};
use super::{sized, support, wait_clients};

/// A Claude in the middle of a turn, whose tool waits until the test writes `go`. No pipe: 2.1.240 reads a
/// file itself that `cat` is to show.
fn working(kind: Kind) -> Option<(World, Term)> {
    let script = Script::each(|request, _| match request.assistant_messages() {
        0 => ScriptedReply::bash("until [ -e go ]; do sleep 0.1; done"),
        1 => ScriptedReply::text("The first is done."),
        n => ScriptedReply::text(format!("Answer {n} is here.")),
    });
    let world = World::new(kind, script)?;
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Do the first.");
    world.wait_state("busy");
    term.wait_text("until [ -e go ]");
    Some((world, term))
}

fn go_on(world: &World) {
    std::fs::write(world.project.join("go"), "waited for\n").unwrap();
}

fn leave(world: &World, terms: &mut [&mut Term]) {
    world.ask(&["stop", "proj"]);
    for term in terms {
        term.wait_exit();
        term.assert_whole();
    }
    world.assert_nothing_left();
}

fn a_hang_up_in_a_turn_and_a_return_from_another_size(kind: Kind) {
    let Some((world, mut first)) = working(kind) else { return };
    first.hang_up();
    assert_eq!(first.wait_exit(), 0);
    support::wait_for("the client to be gone", || super::clients(&world).is_empty().then_some(()));
    go_on(&world);
    world.wait_state("idle");
    let mut again = sized(&world, &["attach"], (90, 30));
    again.wait_text("The first is done.");
    again.wait_box();
    again.submit("Do the second.");
    again.wait_text("Answer 2 is here.");
    // What a session wrote before its terminal came is there, too.
    assert!(String::from_utf8_lossy(&again.bytes()).contains("Do the first."));
    leave(&world, &mut [&mut again]);
}

fn two_terminals_of_different_sizes_drive_one_claude(kind: Kind) {
    let Some((world, mut first)) = working(kind) else { return };
    let mut second = sized(&world, &["attach"], (80, 24));
    wait_clients(&world, 2);
    go_on(&world);
    first.wait_text("The first is done.");
    second.wait_text("The first is done.");
    second.submit("Do the second.");
    first.wait_text("Answer 2 is here.");
    second.wait_text("Answer 2 is here.");
    first.wait_box();
    first.submit("Do the third.");
    second.wait_text("Answer 3 is here.");
    leave(&world, &mut [&mut first, &mut second]);
}

fn a_stopped_terminal_does_not_hold_up_claude(kind: Kind) {
    let Some((world, mut first)) = working(kind) else { return };
    let mut second = sized(&world, &["attach"], (80, 24));
    wait_clients(&world, 2);
    let pid = world.processes().into_iter().find(|(_, line)| line.contains(" attach")).unwrap().0;
    support::kill(pid, libc::SIGSTOP);
    go_on(&world);
    first.wait_text("The first is done.");
    first.submit("Do the second.");
    first.wait_text("Answer 2 is here.");
    support::kill(pid, libc::SIGCONT);
    second.wait_text("Answer 2 is here.");
    leave(&world, &mut [&mut first, &mut second]);
}

/// The picture after attaching is the one before detaching, cell by cell, at rest and with a draft in the
/// box.
fn the_picture_after_attaching_is_the_one_before(kind: Kind) {
    let Some((world, mut first)) = working(kind) else { return };
    go_on(&world);
    first.wait_text("The first is done.");
    world.wait_state("idle");
    first.send("a draft");
    first.wait_text("a draft");
    // Claude still draws, its title for one, when the text is there.
    world.ask(&["wait", "proj", "quiet=500ms"]);
    let picture = |term: &Term| {
        term.look(|screen| (screen.lines(), screen.cursor(), screen.modes(), screen.title().to_owned()))
    };
    for _ in 0..3 {
        let before = picture(&first);
        first.send("\x1cd");
        assert_eq!(first.wait_exit(), 0);
        first = world.terminal(&["attach"]);
        first.wait_for("the same picture", |screen| {
            (screen.lines(), screen.cursor(), screen.modes(), screen.title().to_owned()) == before
        });
    }
    leave(&world, &mut [&mut first]);
}

fn a_hundred_visits_in_the_middle_of_a_turn_lose_nothing(kind: Kind) {
    let Some((world, mut first)) = working(kind) else { return };
    for n in 1..=100 {
        first.send("\x1cd");
        assert_eq!(first.wait_exit(), 0);
        first.assert_whole();
        first = sized(&world, &["attach"], if n % 2 == 0 { (120, 40) } else { (100, 30) });
        first.wait_text("until [ -e go ]");
    }
    go_on(&world);
    first.wait_text("The first is done.");
    world.wait_state("idle");
    let transcript = world.transcript(world.status()["conversation"].as_str().unwrap());
    assert_eq!(tools(&transcript), (1, 1), "one call, and its result");
    first.submit("Do the second.");
    first.wait_text("Answer 2 is here.");
    assert_eq!(super::clients(&world).len(), 1);
    leave(&world, &mut [&mut first]);
}

both! {
    a_hang_up_in_a_turn_and_a_return_from_another_size,
    two_terminals_of_different_sizes_drive_one_claude,
    a_stopped_terminal_does_not_hold_up_claude,
    the_picture_after_attaching_is_the_one_before,
    a_hundred_visits_in_the_middle_of_a_turn_lose_nothing,
}
