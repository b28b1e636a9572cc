//! A store without room: a directory that cannot be written, a full disk. Claude runs, a person is told once
//! with what helps, no hand-over throws a conversation away, nothing is half written, and with room again the
//! work is handed over.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;

use super::steps::Small;
use super::support::claude::Kind;
use super::support::term::Term;
use super::support::world::World;
use super::support::{nobody, wait_for, wait_pause};

/// A world in which the first prompt fills the window over the level at which hopty hands over at the end of
/// a turn.
fn world(kind: Kind) -> Option<World> {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
        None => ScriptedReply::text(format!("Answer {}.", request.assistant_messages())).filling(170_000),
    });
    World::new(kind, script)
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn say(term: &Term, text: &str, answer: &str) {
    term.wait_box();
    term.submit(text);
    term.wait_text(answer);
}

/// The hand-over that the level asks for does not happen, for this reason, and the conversation goes on.
fn assert_held(world: &World, n: usize, why: &str) {
    let cancelled = world.wait_decision("restart.cancelled", n);
    let said = cancelled["sentence"].as_str().unwrap();
    assert!(said.contains("the handoff could not be saved") && said.contains(why), "{said}");
    let of = |kind: &str| world.decisions().iter().filter(|d| d["kind"] == kind).count();
    assert_eq!((of("run.spawned"), of("stop.sent"), of("handoff.saved")), (1, 0, 0), "{}", world.story());
}

/// How often the notice of a start stands in what a terminal was written.
fn notices(term: &Term) -> usize {
    String::from_utf8_lossy(&term.bytes()).matches("hopty: cannot save handoffs: ").count()
}

/// Everything below a directory that is not as hopty leaves it.
fn unfinished(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with(".hopty-tmp-")
            || name.ends_with(".lock.d")
            || entry.metadata().unwrap().len() == 0 && name != ".lock"
        {
            found.push(entry.path().display().to_string());
        }
        if entry.path().is_dir() {
            found.extend(unfinished(&entry.path()));
        }
    }
    found
}

/// The lock of scripts is there as long as something is written.
fn assert_tidy(dir: &Path) {
    wait_for("nothing to be half written", || unfinished(dir).is_empty().then_some(()));
}

#[test]
fn a_store_that_cannot_be_written_is_told_once_and_the_work_goes_on() {
    let mut world = world(Kind::StandIn).unwrap();
    world.set_short_pause();
    let dir = world.claude_dir().join("handoff");
    std::fs::create_dir_all(&dir).unwrap();
    let Some(hopty) = nobody::give(&world) else { return };
    let ask = |args: &[&str]| nobody::command(&world, &hopty, args).output().unwrap();
    let status = || serde_json::from_slice(&ask(&["status", "proj", "--json"]).stdout).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o500)).unwrap();
    let args: Vec<&str> = world.args.iter().map(String::as_str).collect();
    let mut term = nobody::terminal(&world, &hopty, &args);
    term.wait_box();
    term.wait_text("hint: fix this before the context window is full; `hopty check` checks it again");
    say(&term, "hi", "Answer 0.");
    assert_held(&world, 1, "Permission denied");
    term.wait_text("could not be saved");
    wait_pause(status);
    say(&term, "and on", "Answer 1.");
    assert_held(&world, 2, "Permission denied");
    let check = ask(&["check"]);
    assert!(
        text(&check).contains("bad   handoffs        ") && text(&check).contains("handoff cannot be written"),
        "{}",
        text(&check)
    );
    assert_eq!((check.status.code(), notices(&term)), (Some(1), 1));
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
    // With the permission again, the next end of a turn after the pause hands over.
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    wait_pause(status);
    say(&term, "and on again", "Continuing from handoff");
    world.wait_decision("handoff.consumed", 1);
    assert_tidy(&dir);
    assert!(text(&ask(&["check"])).contains("ok    handoffs"));
    assert!(ask(&["stop", "proj"]).status.success());
    term.wait_exit();
    world.assert_nothing_left();
}

fn full(kind: Kind) {
    let Some(mut world) = world(kind) else { return };
    world.set_short_pause();
    let dir = world.claude_dir().join("handoff");
    let Some(small) = Small::mount(&dir, "2m") else { return };
    small.take_all_but(0);
    let term = world.start(&[]);
    term.wait_box();
    say(&term, "hi", "Answer 0.");
    assert_held(&world, 1, "No space left on device");
    wait_pause(|| world.status());
    say(&term, "and on", "Answer 1.");
    assert_held(&world, 2, "No space left on device");
    let said = String::from_utf8_lossy(&term.bytes()).into_owned();
    let hint = "hint: fix this before the context window is full; `hopty check` checks it again";
    assert!(
        said.contains(&format!("the disk of {} is full: 0 KB left", dir.display())) && said.contains(hint),
        "{said}"
    );
    assert_eq!(notices(&term), 1);
    let check = world.hopty(&["check"]);
    assert_eq!(check.status.code(), Some(1));
    assert!(text(&check).contains("bad   handoffs        the disk of "), "{}", text(&check));
    small.give_back();
    assert_eq!(unfinished(&dir), Vec::<String>::new());
    assert!(text(&world.hopty(&["check"])).contains("ok    handoffs"));
    wait_pause(|| world.status());
    say(&term, "and on again", "Continuing from handoff");
    world.wait_decision("handoff.consumed", 1);
    assert_tidy(&dir);
    world.leave(term);
}

#[test]
fn a_full_disk_holds_a_hand_over_until_there_is_room_stand_in() {
    full(Kind::StandIn);
}

#[test]
fn a_full_disk_holds_a_hand_over_until_there_is_room_real() {
    full(Kind::Real);
}

/// The disk of sessions: journal, log and state.
#[test]
fn a_full_disk_of_sessions_ends_no_session_and_keeps_nobody_from_claude() {
    let world = world(Kind::StandIn).unwrap();
    let Some(small) = Small::mount(&world.state_dir(), "2m") else { return };
    let mut term = world.start(&[]);
    term.wait_box();
    small.take_all_but(0);
    say(&term, "hi", "Continuing from handoff");
    let status = world.status();
    assert_eq!((&status["run"], &status["host_pid"].is_u64()), (&Value::from(2), &true), "{status}");
    say(&term, "and on", "Continuing from handoff");
    let check = world.hopty(&["check"]);
    assert!(text(&check).contains("bad   sessions        the disk of "), "{}", text(&check));
    assert!(world.hopty(&["stop", "proj"]).status.success());
    term.wait_exit();
    term.drained();
    let said = String::from_utf8_lossy(&term.bytes()).into_owned();
    assert_eq!(
        said.matches("The journal failed and is switched off; the session continues without it.").count(),
        1,
        "{said}"
    );
    world.assert_nothing_left();
    // And a start finds no place there: a session of its own, which hands over all the same.
    let mut term = world.start(&[]);
    term.wait_text("no other terminal can attach to it");
    say(&term, "hi", "Continuing from handoff");
    term.wait_box();
    term.submit("/exit");
    assert_eq!(term.wait_exit(), 0);
    assert_eq!(text(&world.hopty(&["ls"])).lines().count(), 1);
}
