//! Work that stands still: usage limits and API errors, where nothing is handed over or typed until the work
//! can go on, and tasks that hand-overs do not move.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use hopty::core::supervisor::limit_and_error_wait::ResumeAfter;
use hopty::core::time::WallTime;
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::{assert_handed_over, main_requests, submit, text_of};
use super::support::claude::Kind;
use super::support::limits::{nearly_used_up, now, step, subscribed, used_up, without_continuation};
use super::support::wait_for;
use super::support::world::World;

const GOAL: &str = "Count to one million.";
/// What Claude needs after a reset: 30 to 90 s, and on a busy machine more (measured on 2.1.329).
const BY_ITSELF: Duration = Duration::from_secs(240);

/// Seconds since 1970, `away` seconds after the first time that somebody asks.
fn reset(away: u64) -> impl Fn() -> u64 {
    let at = OnceLock::new();
    move || *at.get_or_init(|| now() + away)
}

/// A task that is over level `handoff` when the limit comes, less than `away` seconds before its reset.
fn limited(kind: Kind, claim: &'static str, away: u64) -> Script {
    let resets = reset(away);
    Script::each(move |request, n| match (request.continued_handoff(), n) {
        (Some(id), _) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
        (None, 0) => step(kind, claim, resets()).filling(170_000),
        (None, 1) => used_up(claim, resets()),
        (None, _) => ScriptedReply::text("One million.").filling(171_000),
    })
}

/// Whether this Claude goes on by itself after a limit: from 2.1.240 on; 2.1.197 has a dialog instead
/// (measured).
fn goes_on(world: &World) -> bool {
    let program = world.env.iter().find(|(name, _)| name == "HOPTY_PROGRAM_CLAUDE").unwrap().1.clone();
    let output = Command::new(program).arg("--version").env_clear().envs(world.env.clone()).output().unwrap();
    let words = String::from_utf8(output.stdout).unwrap();
    let version: Vec<u32> = words.split(' ').next().unwrap().split('.').map(|n| n.parse().unwrap()).collect();
    world.kind == Kind::Real && version >= vec![2, 1, 240]
}

fn kinds(world: &World) -> Vec<String> {
    world.decisions().iter().map(|decision| text_of(decision, "kind")).collect()
}

/// Today's Claude goes on by itself after the reset, and hopty sees that it does; an older one and the
/// stand-in agent do not. The hand-over that was due at the end of the turn comes when the work has gone on,
/// or goes on with it.
pub fn after_a_usage_limit_the_work_goes_on_and_the_hand_over_comes(kind: Kind) {
    let Some(mut world) = subscribed(kind, limited(kind, "five_hour", 12)) else { return };
    if !goes_on(&world) {
        world.set("HOPTY_RECOVERY_LIMIT_WAIT", "1s");
    }
    let term = world.start(&[]);
    submit(&term, GOAL);
    world.wait_decision("limit.reached", 1);
    // An older Claude puts its dialog first.
    wait_for("usage_limit", || (world.status()["waiting_for"] == "usage_limit").then_some(()));
    let status = world.status();
    assert_eq!(
        (&status["state"], &status["limits"]["reached"]["kind"]),
        (&"blocked".into(), &"five_hour".into())
    );
    assert!(world.ask(&["ls"]).contains("blocked (5-hour limit until "));
    assert!(world.ask(&["status", "proj"]).contains(" 5-hour limit reached until 20"));
    assert!(world.ask(&["why", "proj"]).contains("5-hour limit"), "{}", world.ask(&["why", "proj"]));
    world.wait_decision_for("limit.over", 1, BY_ITSELF);
    let (_, new) = assert_handed_over(&world, 1, GOAL);
    let said = kinds(&world);
    let place = |kind: &str| {
        said.iter().position(|said| said == kind).unwrap_or_else(|| panic!("{kind} is missing: {said:?}"))
    };
    assert!(
        place("restart.requested") < place("limit.reached"),
        "a hand-over was due when the limit came: {said:?}"
    );
    assert!(place("limit.over") < place("safe_point.reached"), "it has waited for the limit: {said:?}");
    assert_eq!(said.iter().filter(|said| *said == "limit.reached").count(), 1, "it is said once");
    assert!(
        !said.iter().any(|said| said == "continue.submitted"),
        "nothing was typed but the hand-over's prompt: {said:?}"
    );
    assert!(!main_requests(&world, &new).is_empty());
    assert_eq!(world.status()["limits"]["reached"], Value::Null);
    world.leave(term);
}

/// The weekly limit, or a person's setting, puts a dialog in the place of Claude's own continuation. Where
/// nobody is there, hopty chooses to wait, and types after the reset, once, with proof.
pub fn hopty_goes_on_where_claude_does_not(kind: Kind) {
    let resets = reset(12);
    let script = Script::each(move |_, n| match n {
        0 => step(kind, "seven_day", resets()).filling(10_000),
        1 => used_up("seven_day", resets()),
        _ => ScriptedReply::text("One million.").filling(11_000),
    });
    let Some(mut world) = subscribed(kind, script) else { return };
    world.set("HOPTY_RECOVERY_LIMIT_WAIT", "1s");
    without_continuation(&world);
    let term = world.start(&[]);
    submit(&term, GOAL);
    world.wait_decision("limit.reached", 1);
    wait_for("the wait", || (world.status()["waiting_for"] == "usage_limit").then_some(()));
    // While Claude's dialog stands it is named.
    let list = world.ask(&["ls"]);
    let states = ["blocked (weekly limit until ", "blocked (weekly limit dialog until "];
    assert!(states.iter().any(|state| list.contains(state)), "{list}");
    world.wait_decision("continue.submitted", 1);
    term.wait_text("One million.");
    world.wait_state("idle");
    let last = world.api.main_requests().pop().unwrap();
    let typed = ResumeAfter::Limit.prompt();
    assert_eq!(last.texts().iter().filter(|(_, text)| text.contains(typed)).count(), 1, "it is typed once");
    assert_eq!(world.journal().contains("\"what\":\"dialog_key\""), kind == Kind::Real, "{}", world.story());
    world.leave(term);
}

/// The stand-in agent has no such dialog. While somebody is there it stays, and nothing is typed behind it;
/// what a person answers is theirs.
#[test]
fn the_dialog_of_a_limit_is_a_persons() {
    let resets = Arc::new(OnceLock::new());
    let script = Script::each({
        let resets = Arc::clone(&resets);
        move |_, n| match n {
            0 => step(Kind::Real, "seven_day", now() + 60).filling(10_000),
            _ => used_up("seven_day", *resets.get_or_init(|| now() + 15)),
        }
    });
    let Some(mut world) = subscribed(Kind::Real, script) else { return };
    world.set("HOPTY_RECOVERY_LIMIT_WAIT", "1s");
    world.set("HOPTY_RESTART_WAIT_FOR_PERSON", "5m");
    without_continuation(&world);
    let term = world.start(&[]);
    submit(&term, GOAL);
    world.wait_decision("limit.reached", 1);
    wait_for("the dialog", || (world.status()["waiting_for"] == "limit").then_some(()));
    wait_for("the reset", || (now() > *resets.get().unwrap() + 3).then_some(()));
    assert_eq!(world.status()["waiting_for"], "limit");
    let typed = ["dialog_key", "go_on"].map(|word| world.journal().contains(&format!("\"{word}\"")));
    assert_eq!(typed, [false, false], "{}", world.story());
    term.send("\r");
    world.wait_decision("continue.cancelled", 1);
    world.leave(term);
}

/// Overloaded: Claude's own tries are over, and the turn with them. hopty goes on after a pause that grows,
/// and not for ever.
pub fn a_turn_that_an_api_error_ended_is_continued_after_a_pause(kind: Kind) {
    let script = Script::each(|request, _| {
        let tries =
            request.texts().iter().filter(|(_, text)| text.contains(ResumeAfter::Error.prompt())).count();
        if tries >= 2 {
            ScriptedReply::text("One million.").filling(11_000)
        } else {
            ScriptedReply::error(529, "overloaded_error", "Overloaded")
        }
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("CLAUDE_CODE_MAX_RETRIES", "1");
    world.set("HOPTY_RECOVERY_AFTER_ERROR", "always");
    world.set("HOPTY_RECOVERY_RETRY_PAUSE", "1s");
    let term = world.start(&[]);
    submit(&term, GOAL);
    world.wait_decision("continue.submitted", 2);
    term.wait_text("One million.");
    let failed: Vec<String> = world
        .decisions()
        .iter()
        .filter(|d| d["kind"] == "turn.failed")
        .map(|d| text_of(d, "sentence"))
        .collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(failed[0].contains("retries in 1 s") && failed[1].contains("retries in 2 s"), "{failed:?}");
    world.leave(term);
}

/// Nothing is tried against a login that is not valid: a person is told.
pub fn a_failed_login_is_left_to_a_person(kind: Kind) {
    let script = Script::each(|_, _| ScriptedReply::error(401, "authentication_error", "invalid x-api-key"));
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("CLAUDE_CODE_MAX_RETRIES", "1");
    world.set("HOPTY_RECOVERY_AFTER_ERROR", "always");
    world.set("HOPTY_RECOVERY_RETRY_PAUSE", "100ms");
    let mut term = world.start(&[]);
    submit(&term, GOAL);
    world.wait_decision("turn.failed", 1);
    world.wait_state("blocked");
    assert_eq!(world.status()["waiting_for"], "login");
    assert!(!world.journal().contains("go_on"));
    world.ask(&["stop", "proj"]);
    term.wait_exit();
    world.assert_replays();
    world.assert_nothing_left();
}

/// Up to 2.1.197 the line of a limit names no reset: the status line has told it before.
///
/// What waits in the channel cannot be loaded before the limit is over, so it waits as much longer. It is
/// written down at once, so the host may die.
pub fn a_handoff_expires_later_by_a_limit_that_was_waited_for(kind: Kind) {
    let script = Script::each(|_, n| match n {
        0 => nearly_used_up(ScriptedReply::text("Hello.").filling(10_000), "five_hour", now() + 10_800),
        _ => used_up("five_hour", now() + 10_800),
    });
    let Some(world) = subscribed(kind, script) else { return };
    let mut term = world.start(&[]);
    submit(&term, GOAL);
    term.wait_text("Hello.");
    world.wait_state("idle");
    let id = world.ask(&["handoff", "create"]).trim().to_owned();
    let expires_of = |id: &str| {
        let entry: Value = serde_json::from_str(&world.ask(&["handoff", "show", id, "--json"])).unwrap();
        let at = |key: &str| WallTime::parse(entry[key].as_str().unwrap()).unwrap().0 / 1000;
        at("expires_at") - at("created_at")
    };
    let expires = || expires_of(&id);
    assert_eq!(expires(), 7200);
    submit(&term, "Go on.");
    world.wait_decision("limit.reached", 1);
    let later = wait_for("the expiry to move", || Some(expires()).filter(|seconds| *seconds > 7200));
    assert!((17_900..=18_001).contains(&later), "two hours and three: {later}");
    // One that a person makes meanwhile, which takes its place, waits as long.
    let made: Value = serde_json::from_str(&world.ask(&["handoff", "create", "--json"])).unwrap();
    let second = made["id"].as_str().unwrap();
    let later = expires_of(second);
    assert!((17_900..=18_001).contains(&later), "two hours and three: {later}");
    let host = i32::try_from(world.status()["host_pid"].as_i64().unwrap()).unwrap();
    super::support::kill(host, nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 125);
    assert_eq!(expires_of(second), later);
    assert!(world.ask(&["handoff", "load", second]).contains(GOAL));
}

/// Two handoffs with the same open task, and no file and nothing in git changed between them: the third would
/// be no other.
pub fn a_task_that_does_not_move_is_handed_over_no_more(kind: Kind) {
    let script = Script::each(|request, _| match request.assistant_messages() {
        0 => ScriptedReply::tool(
            "TaskCreate",
            json!({"subject": "Find the needle", "description": "in the hay"}),
        )
        .filling(10_000),
        1 => ScriptedReply::bash("echo looking").filling(190_000),
        _ => ScriptedReply::text("Nothing found.").filling(191_000),
    });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    submit(&term, "Find the needle in the hay.");
    world.wait_decision("progress.missing", 1);
    term.wait_text("Nothing found.");
    world.wait_state("idle");
    let said = kinds(&world);
    let count = |kind: &str| said.iter().filter(|said| *said == kind).count();
    assert_eq!(
        (count("handoff.saved"), count("delivery.submitted"), count("restart.requested")),
        (2, 1, 2),
        "{said:?}"
    );
    world.leave(term);
}

/// A road to the API that can be closed.
struct Road {
    url: String,
    closed: Arc<AtomicBool>,
}

impl Road {
    fn to(api: &str) -> Road {
        let api = api.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let closed = Arc::new(AtomicBool::new(true));
        let is_closed = Arc::clone(&closed);
        // It ends with the test's process; a connection to a closed road is ended at once.
        thread::spawn(move || {
            for near in listener.incoming().flatten().filter(|_| !is_closed.load(Ordering::SeqCst)) {
                let Ok(far) = TcpStream::connect(&api) else { continue };
                for (mut from, mut to) in [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)]
                {
                    thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Road { url, closed }
    }
}

/// The network is gone, and comes back.
pub fn a_turn_that_a_lost_network_ended_is_continued(kind: Kind) {
    let Some(mut world) = World::new(kind, Script::list([ScriptedReply::text("One million.")])) else {
        return;
    };
    let road = Road::to(&world.api.url());
    world.set("ANTHROPIC_BASE_URL", &road.url);
    world.set("CLAUDE_CODE_MAX_RETRIES", "1");
    world.set("HOPTY_RECOVERY_AFTER_ERROR", "always");
    world.set("HOPTY_RECOVERY_RETRY_PAUSE", "1s");
    let term = world.start(&[]);
    submit(&term, GOAL);
    let failed = text_of(&world.wait_decision("turn.failed", 1), "sentence");
    assert!(failed.contains("(the server failed"), "{failed}");
    road.closed.store(false, Ordering::SeqCst);
    world.wait_decision("continue.submitted", 1);
    term.wait_text("One million.");
    world.leave(term);
}
