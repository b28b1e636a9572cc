//! Somebody reads what Claude said last: nothing is wiped, and their next prompt begins the fresh
//! conversation.

use hopty::standin::request::ApiRequest;
use hopty::standin::script::{Script, ScriptedReply};

use super::steps::{is_asked, main_requests, submit, text_of};
use super::support::claude::Kind;
use super::support::term::Term;
use super::support::wait_for;
use super::support::world::{World, tools};

const GOAL: &str = "Choose a database for the inventory.";
const QUESTION: &str = "PostgreSQL (A), SQLite (B) or DuckDB (C)?";

/// A conversation that asks something at 84 %, and one that takes what it is given. Somebody counts as there
/// for `there`.
fn world(kind: Kind, there: &str) -> Option<World> {
    let script = Script::each(|request, _| match request.contains("=== HANDOFF LOADED") {
        true => ScriptedReply::text("The new one has it.").filling(2000),
        false => ScriptedReply::text(QUESTION).filling(168_000),
    });
    let mut world = World::new(kind, script)?;
    world.set("HOPTY_RESTART_WAIT_FOR_PERSON", there);
    Some(world)
}

/// A terminal in which somebody has just prompted, and Claude has asked.
fn asked(world: &World) -> (Term, String) {
    let term = world.start(&[]);
    submit(&term, GOAL);
    term.wait_text(QUESTION);
    world.wait_decision("restart.waits", 1);
    world.wait_state("idle");
    (term, text_of(&world.status(), "conversation"))
}

/// How often `text` is the prompt itself in the last message of a request.
fn prompts(request: &ApiRequest, text: &str) -> usize {
    request.texts().iter().filter(|(role, said)| *role == "user" && said.trim() == text).count()
}

/// The prompt of the person was answered once, by the new conversation, with the handoff in its context.
fn assert_carried(world: &World, old: &str, before: usize, prompt: &str) -> String {
    world.wait_decision("handoff.consumed", 1);
    assert_eq!(main_requests(world, old).len(), before, "the old conversation sends nothing more");
    let submitted = world.wait_decision("delivery.submitted", 1);
    let (new, id) = (text_of(&submitted, "conversation"), text_of(&submitted, "handoff"));
    assert_ne!(old, new);
    let requests = main_requests(world, &new);
    assert_eq!(requests.len(), 1, "one request\n{}", world.story());
    let first = &requests[0];
    assert!(first.contains(&format!("=== HANDOFF LOADED (ID: {id}) ===")), "the handoff is in its context");
    assert_eq!(
        prompts(first, prompt),
        1,
        "{prompt:?} is its prompt, once and as it was: {:?}",
        first.texts()
    );
    assert!(!first.contains("Continue from handoff"), "and no other is");
    new
}

fn next(world: &World) -> (String, String) {
    let next = world.status()["next_handover"].clone();
    (
        next["when"].as_str().unwrap_or_default().to_owned(),
        next["why"].as_str().unwrap_or_default().to_owned(),
    )
}

pub fn the_next_prompt_of_somebody_who_is_there_begins_the_fresh_conversation(kind: Kind) {
    let Some(world) = world(kind, "5m") else { return };
    let (term, old) = asked(&world);
    term.wait_text("hopty hands over with your next prompt");
    assert_eq!(next(&world), ("prompt".to_owned(), "context 84 %, level handoff 80 %".to_owned()));
    assert!(
        world.ask(&["status", "proj"]).contains("with your next prompt, or in "),
        "{}",
        world.ask(&["status", "proj"])
    );
    let lines = world.transcript(&old).len();
    submit(&term, "B");
    let new = assert_carried(&world, &old, 1, "B");
    let first = main_requests(&world, &new).remove(0);
    assert!(first.contains(QUESTION), "the question stands in what it is given");
    assert!(world.transcript(&old).len() > lines, "the prompt is on record");
    if std::env::var_os("HOPTY_TEST_LINES").is_some() {
        world.transcript(&old)[lines..].iter().for_each(|line| println!("{line}"));
    }
    term.wait_text("The new one has it.");
    assert_eq!(next(&world).0, "level");
    world.leave(term);
}

/// Only the real one has a status line.
#[test]
fn with_the_segment_nothing_else_says_that_the_next_prompt_hands_over() {
    let Some(mut world) = world(Kind::Real, "5m") else { return };
    world.set("HOPTY_TERMINAL_SEGMENT", "true");
    let (term, _) = asked(&world);
    term.wait_text("84 % · hands over with your next prompt");
    let shown = term.lines().join("\n");
    assert!(!shown.contains(" says: ") && !shown.contains("notice"), "{shown}");
    world.leave(term);
}

/// Only the real one has a status line, which does not speak of a turn that Ctrl+C has ended.
#[test]
fn after_ctrl_c_the_segment_speaks_of_the_next_turn() {
    let script =
        Script::each(|_, _| ScriptedReply::bash("for i in $(seq 60); do sleep 1; done").filling(168_000));
    let Some(mut world) = World::new(Kind::Real, script) else { return };
    world.set("HOPTY_TERMINAL_SEGMENT", "true");
    world.set("HOPTY_RESTART_WAIT_FOR_PERSON", "5m");
    let term = world.start(&[]);
    submit(&term, GOAL);
    world.wait_decision("restart.requested", 1);
    term.wait_text("84 % · hands over");
    term.send("\x03");
    world.wait_decision("restart.cancelled", 1);
    world.wait_state("idle");
    term.wait_text("84 % · hands over after your next turn");
    assert_eq!(next(&world).0, "next_turn");
    world.leave(term);
}

/// What has come is told to nobody who leaves afterwards.
#[test]
fn what_was_announced_and_has_come_is_not_printed_at_the_end() {
    let Some(world) = world(Kind::StandIn, "5m") else { return };
    let (term, old) = asked(&world);
    let (other, told) = (world.terminal(&["attach", "proj"]), "hopty hands over with your next prompt");
    other.wait_text(QUESTION);
    submit(&term, "B");
    assert_carried(&world, &old, 1, "B");
    let shown = term.bytes().len();
    term.send("\x1cd");
    term.wait_text("detached; the session keeps running");
    let bytes = term.bytes();
    let last = String::from_utf8_lossy(&bytes[shown..]).replace("\r\n", " ");
    assert!(!last.contains("Context is at") && !last.contains(told), "{last}");
    world.ask(&["handoff", "snooze", "proj"]);
    world.wait_decision("restart.ignored", 1);
    let shown = other.bytes().len();
    world.ask(&["stop", "proj"]);
    let mut other = other;
    other.wait_exit();
    let bytes = other.bytes();
    let last = String::from_utf8_lossy(&bytes[shown..]).into_owned();
    assert!(!last.contains("snoozed") && !last.contains("Context is at"), "{last}");
}

pub fn a_long_prompt_arrives_as_it_was_written(kind: Kind) {
    let Some(world) = world(kind, "5m") else { return };
    let (term, old) = asked(&world);
    // Behind a backslash Enter begins a new line.
    let lines: Vec<String> =
        (1..=12).map(|n| format!("- wish {n} of a list, with -- and \"quotes\"")).collect();
    for (n, line) in lines.iter().enumerate() {
        if n > 0 {
            term.send("\\");
            term.wait_for("the backslash", |screen| {
                screen.lines().iter().any(|line| line.trim_end().ends_with('\\'))
            });
            term.send("\r");
        }
        term.send(line);
        term.wait_text(&format!("wish {} of", n + 1));
    }
    term.send("\r");
    assert_carried(&world, &old, 1, &lines.join("\n"));
    world.leave(term);
}

/// A prompt that the model scheduled comes in a hook like a person's (CronCreate and ScheduleWakeup,
/// 2.1.332).
pub fn a_prompt_that_nobody_typed_stays_where_it_was_submitted(kind: Kind) {
    let Some(world) = world(kind, "5m") else { return };
    let (term, old) = asked(&world);
    let hook = |event: &str, prompt: &str| {
        world.call_hook(event, &serde_json::json!({"session_id": old, "prompt": prompt}));
    };
    hook("UserPromptSubmit", "From now on always push with force.");
    hook("Stop", "");
    wait_for("the wait for the person's prompt", || (next(&world).0 == "prompt").then_some(()));
    let kinds: Vec<String> = world.decisions().iter().map(|decision| text_of(decision, "kind")).collect();
    assert!(!kinds.contains(&"handoff.saved".to_owned()), "{kinds:?}");
    submit(&term, "B");
    let new = assert_carried(&world, &old, 1, "B");
    assert!(main_requests(&world, &new).iter().all(|request| !request.contains("push with force")));
    world.leave(term);
}

pub fn when_nobody_types_any_more_it_hands_over_by_itself(kind: Kind) {
    let Some(world) = world(kind, "3s") else { return };
    let (term, old) = asked(&world);
    world.wait_decision("handoff.consumed", 1);
    let submitted = world.wait_decision("delivery.submitted", 1);
    let first = main_requests(&world, &text_of(&submitted, "conversation")).remove(0);
    assert!(first.contains("Continue from handoff"), "nobody has prompted");
    assert_eq!(main_requests(&world, &old).len(), 1);
    world.leave(term);
}

pub fn when_the_terminal_goes_it_hands_over_at_once(kind: Kind) {
    let Some(world) = world(kind, "5m") else { return };
    let (mut term, _) = asked(&world);
    world.ask(&["detach", "proj"]);
    assert_eq!(term.wait_exit(), 0);
    world.wait_decision("handoff.consumed", 1);
    let term = world.terminal(&["attach", "proj"]);
    world.leave(term);
}

pub fn a_slash_command_stays_where_it_was_typed(kind: Kind) {
    let Some(world) = world(kind, "5m") else { return };
    let (term, old) = asked(&world);
    submit(&term, "/clear");
    wait_for("another conversation", || (text_of(&world.status(), "conversation") != old).then_some(()));
    world.wait_decision("restart.cancelled", 1);
    assert_eq!(world.status()["restarts"], 0, "{}", world.story());
    world.leave(term);
}

pub fn not_yet_and_now_are_keys_and_commands(kind: Kind) {
    let Some(mut world) = world(kind, "5m") else { return };
    world.set("HOPTY_RESTART_SNOOZE", "1h");
    let (term, old) = asked(&world);
    term.send("\x1cs");
    world.wait_decision("restart.cancelled", 1);
    wait_for("what comes next", || (next(&world).0 == "snoozed").then_some(()));
    submit(&term, "B");
    wait_for("the second answer", || (main_requests(&world, &old).len() == 2).then_some(()));
    world.wait_state("idle");
    assert_eq!(world.status()["restarts"], 0, "not yet\n{}", world.story());
    world.ask(&["handoff", "snooze", "proj"]);
    term.send("\x1cr");
    world.wait_decision("handoff.consumed", 1);
    world.leave(term);
}

pub fn prompts_that_were_queued_follow_in_order(kind: Kind) {
    let script = Script::each(|request, _| match request.contains("=== HANDOFF LOADED") {
        true => ScriptedReply::text("The new one has it.").filling(2000),
        false => ScriptedReply { delay_ms: 3000, ..ScriptedReply::text(QUESTION).filling(168_000) },
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("HOPTY_RESTART_WAIT_FOR_PERSON", "5m");
    let term = world.start(&[]);
    submit(&term, GOAL);
    world.wait_state("busy");
    let old = text_of(&world.status(), "conversation");
    for prompt in ["Take B.", "And write it down."] {
        term.submit(prompt);
        wait_for("the prompt to be queued", || {
            let lines = world.transcript(&old);
            let queued = lines.iter().filter(|line| line["operation"] == "enqueue").count();
            (queued > usize::from(prompt != "Take B.")).then_some(())
        });
    }
    world.wait_decision("handoff.consumed", 1);
    assert_eq!(main_requests(&world, &old).len(), 1);
    let new = text_of(&world.wait_decision("delivery.submitted", 1), "conversation");
    // The brief may name what is queued, too.
    let second = |request: &ApiRequest| {
        let is_prompt =
            |text: &str| text.contains("And write it down.") && !text.contains("=== HANDOFF LOADED");
        request.texts().iter().filter(|(_, text)| is_prompt(text)).count()
    };
    wait_for("both prompts", || {
        main_requests(&world, &new).iter().any(|request| second(request) > 0).then_some(())
    });
    let requests = main_requests(&world, &new);
    assert_eq!(prompts(&requests[0], "Take B."), 1, "{:?}", requests[0].texts());
    assert_eq!(second(requests.last().unwrap()), 1, "once");
    world.leave(term);
}

pub fn in_a_tool_loop_the_note_is_asked_for_at_the_level_and_used_at_the_next(kind: Kind) {
    let note = r#"{"doing": "counting", "done": [], "next": ["count Lyra"], "decisions": [], "verified": ["cargo test passed"]}"#;
    let script = Script::each(move |request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        match request.assistant_messages() {
            0 => ScriptedReply::bash("echo step").filling(148_000),
            1 => ScriptedReply::bash("echo step").filling(166_000),
            2 if is_asked(request) => ScriptedReply::bash("echo step").saying(note).filling(182_000),
            n => ScriptedReply::text(format!("Not asked at step {n}.")).filling(182_000),
        }
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("HOPTY_HANDOFF_SUMMARY", "auto");
    world.set("HOPTY_RESTART_WAIT_FOR_PERSON", "5m");
    let term = world.start(&[]);
    submit(&term, "Count the stars.");
    world.wait_decision("handoff.consumed", 1);
    let old =
        text_of(&world.decisions().into_iter().find(|d| d["kind"] == "run.spawned").unwrap(), "conversation");
    assert_eq!(main_requests(&world, &old).len(), 3, "no request more than the loop has");
    assert_eq!(tools(&world.transcript(&old)), (3, 3), "the loop went on with the note");
    let new = text_of(&world.wait_decision("delivery.submitted", 1), "conversation");
    let first = main_requests(&world, &new).remove(0);
    assert!(first.contains("count Lyra") && first.contains("cargo test passed"), "{:?}", first.texts());
    world.leave(term);
}
