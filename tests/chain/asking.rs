//! Mode `ask`: a person is asked with Claude's own question, and what is answered happens. The stand-in agent
//! has no such dialog: what needs it is for the real program alone, and in the story for both the answers
//! come by hopty's verbs.

use std::time::{Duration, Instant};

use hopty::core::claude::ask_mode_question::{HEADER, options, question};
use hopty::core::config::DurationMs;
use hopty::standin::request::ApiRequest;
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::json;

use super::steps::{assert_handed_over, main_requests, submit, text_of};
use super::support::claude::Kind;
use super::support::term::Term;
use super::support::wait_for;
use super::support::world::World;

/// A person presses a key again when nothing came of it.
const PAUSE: Duration = Duration::from_millis(500);

const GOAL: &str = "Paint the fence.";

/// How long a snooze lasts here, in seconds: short, so that what is silent for longer is dismissed.
const SNOOZE_S: u64 = 4;

/// Waits until a snooze that began at `since` is over.
fn outlast(since: Instant) {
    wait_for("a snooze to be over", || {
        (since.elapsed() > Duration::from_millis(SNOOZE_S * 1000 + 200)).then_some(())
    });
}

/// A talk that is over level `ask` after the first prompt; the model does as it is told.
fn talk(kind: Kind) -> Option<(World, Term)> {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        if is_told(request) && request.tool_results().is_empty() {
            let options: Vec<_> = options(DurationMs::from_secs(300))
                .iter()
                .map(|label| json!({"label": label, "description": "as it says"}))
                .collect();
            let asked =
                json!({"question": question(65), "header": HEADER, "options": options, "multiSelect": false});
            return ScriptedReply::tool("AskUserQuestion", json!({"questions": [asked]})).filling(131_000);
        }
        let said = if request.tool_results().is_empty() {
            "The first coat is on."
        } else {
            "The second coat is on."
        };
        ScriptedReply::text(said).filling(130_000)
    });
    let mut world = World::new(kind, script)?;
    world.set("HOPTY_RESTART_MODE", "ask");
    world.set("HOPTY_RESTART_SNOOZE", &format!("{SNOOZE_S}s"));
    let term = world.start(&[]);
    submit(&term, GOAL);
    term.wait_text("The first coat is on.");
    world.wait_decision("level.crossed", 1);
    // Without hopty's segment Claude shows it, as the words of a hook.
    term.wait_text("Context is at 65 % of 200000 tokens. Hand over to a fresh conversation?");
    world.wait_state("idle");
    Some((world, term))
}

/// Before any prompt follows, and not as the words of a hook.
#[test]
fn the_question_stands_in_the_status_line_with_keys_that_answer_it() {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
        None => ScriptedReply::text("The first coat is on.").filling(130_000),
    });
    let Some(mut world) = World::new(Kind::Real, script) else { return };
    world.set("HOPTY_RESTART_MODE", "ask");
    world.set("HOPTY_TERMINAL_SEGMENT", "true");
    let term = world.start(&[]);
    submit(&term, GOAL);
    term.wait_text("The first coat is on.");
    term.wait_text("65 % · hand over? ctrl-\\ r yes, ctrl-\\ s later, 10 min left");
    let shown = term.lines().join("\n");
    assert!(!shown.contains(" says: "), "{shown}");
    term.send("\x1cs");
    wait_for("the snooze", || (world.status()["next_handover"]["when"] == "snoozed").then_some(()));
    term.wait_text("65 % · hand-over snoozed");
    term.send("\x1cr");
    assert_handed_over(&world, 1, GOAL);
    world.leave(term);
}

pub fn is_told(request: &ApiRequest) -> bool {
    request.contains("exactly so: question 'Context at 65%. Generate handoff summary and start fresh?'")
}

/// Submits the second prompt and waits until the question is on the screen.
fn second_prompt(world: &World, term: &Term) {
    submit(term, "Now the second coat.");
    term.wait_text("Yes, handoff now");
    world.wait_state("blocked");
}

/// Enter until the question is gone: Claude takes none in a dialog's first moments (seen on 2.1.329).
pub fn enter(term: &Term) {
    let mut last = Instant::now() - PAUSE;
    wait_for("the question to be answered", || {
        let stands = term.lines().iter().any(|line| line.contains("Enter to select"));
        if stands && last.elapsed() >= PAUSE {
            term.send("\r");
            last = Instant::now();
        }
        (!stands).then_some(())
    });
}

/// Source document 003's run from end to end: a fresh session, todos and files, over the level, Claude is
/// told to ask, "Snooze" keeps it silent for a while and "Dismiss" for good, "Yes" saves, and the new
/// conversation has it all.
pub fn item_118_from_a_fresh_session_over_the_question_to_the_new_conversation(kind: Kind) {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        match request.assistant_messages() {
            0 => ScriptedReply::text("Planning.")
                .filling(10_000)
                .and_tool("TaskCreate", json!({"subject": "Sand the fence", "description": "first"}))
                .and_tool("TaskCreate", json!({"subject": "Paint the gate", "description": "second"})),
            1 => ScriptedReply::tool("TaskUpdate", json!({"taskId": "2", "status": "in_progress"}))
                .filling(20_000),
            2 => ScriptedReply::tool("Write", json!({"file_path": "colours.txt", "content": "green"}))
                .filling(30_000),
            n => ScriptedReply::text(format!("Answer {n}.")).filling(130_000),
        }
    });
    let Some(mut world) = World::new(kind, script) else { return };
    world.set("HOPTY_RESTART_MODE", "ask");
    world.set("HOPTY_RESTART_SNOOZE", &format!("{SNOOZE_S}s"));
    let term = world.start(&[]);
    submit(&term, GOAL);
    term.wait_text("Answer 3.");
    world.wait_decision("level.crossed", 1);
    world.wait_state("idle");
    let conversation = text_of(&world.status(), "conversation");
    let told = || {
        let last = main_requests(&world, &conversation).pop().unwrap();
        last.texts().iter().filter(|(_, text)| text.contains("exactly so: question 'Context at 65%.")).count()
    };
    assert_eq!(told(), 0, "nobody is asked in the middle of a turn");
    // What was told before is still in the conversation, so each question is one more.
    let prompt = |n: usize| {
        submit(&term, &format!("And prompt {n}."));
        term.wait_text(&format!("Answer {n}."));
        world.wait_state("idle");
        told()
    };
    assert_eq!(prompt(4), 1, "at the next prompt");
    let snoozed = Instant::now();
    world.ask(&["handoff", "snooze", "proj"]);
    let snoozed_at_the_latest = Instant::now();
    let during = prompt(5);
    if snoozed.elapsed() < Duration::from_secs(SNOOZE_S) {
        assert_eq!(during, 1, "not while it is snoozed");
    }
    outlast(snoozed_at_the_latest);
    let again = prompt(6);
    assert!(again > 1, "it is asked again after that");
    let dismissed = Instant::now();
    world.ask(&["handoff", "dismiss", "proj"]);
    outlast(dismissed);
    assert_eq!(prompt(7), again, "never again in this conversation");
    assert!(!world.decisions().iter().any(|d| d["kind"] == "restart.requested"), "nobody said yes");
    world.ask(&["restart", "proj"]);
    let (_, new) = assert_handed_over(&world, 1, GOAL);
    let id = text_of(&world.wait_decision("handoff.saved", 1), "handoff");
    let state =
        std::fs::read_to_string(world.claude_dir().join(format!("handoff/records/{id}/state.json"))).unwrap();
    let first = main_requests(&world, &new).remove(0);
    for part in [GOAL, "Sand the fence", "Paint the gate", "colours.txt", "And prompt 7."] {
        assert!(state.contains(part), "{part} is in the state");
        assert!(first.contains(part), "{part} is in the first request");
    }
    world.leave(term);
}

/// The stand-in agent cannot play it: it asks no questions.
#[test]
fn item_102_yes_hands_over() {
    let Some((world, term)) = talk(Kind::Real) else { return };
    second_prompt(&world, &term);
    enter(&term);
    let (_, new) = assert_handed_over(&world, 1, GOAL);
    assert!(
        main_requests(&world, &new)[0].contains("Now the second coat."),
        "what the person wanted last is in the handoff"
    );
    world.leave(term);
}

/// The stand-in agent cannot play it: it asks no questions.
#[test]
fn item_106_dismiss_goes_on_with_the_prompt_and_asks_no_more() {
    let Some((world, term)) = talk(Kind::Real) else { return };
    let conversation = text_of(&world.status(), "conversation");
    second_prompt(&world, &term);
    term.send("\x1b[B");
    term.send("\x1b[B");
    wait_for("the third answer to be chosen", || {
        term.lines().join("\n").contains("❯ 3. Dismiss").then_some(())
    });
    enter(&term);
    let answered = Instant::now();
    term.wait_text("The second coat is on.");
    world.wait_state("idle");
    outlast(answered);
    let before = main_requests(&world, &conversation).len();
    submit(&term, "And the third.");
    wait_for("the third prompt's request", || {
        (main_requests(&world, &conversation).len() > before).then_some(())
    });
    let last = main_requests(&world, &conversation).pop().unwrap();
    let told = last.texts().iter().filter(|(_, text)| text.contains("exactly so: question")).count();
    assert_eq!(told, 1, "it is told once");
    assert!(!world.decisions().iter().any(|d| d["kind"] == "restart.requested"));
    world.leave(term);
}

/// Each session is asked by its own figure, and what is answered in one says nothing to the other.
#[test]
fn item_103_each_session_is_asked_for_itself() {
    let script = Script::each(|request, _| {
        let fill = if request.contains("Fill the window.") { 130_000 } else { 3000 };
        ScriptedReply::text(format!("Answer {}.", request.assistant_messages())).filling(fill)
    });
    let mut world = World::with(Kind::StandIn, None, script);
    world.set("HOPTY_RESTART_MODE", "ask");
    let names = ["proj", "proj-2"];
    let terms: Vec<Term> = names.iter().map(|_| world.start(&[])).inspect(Term::wait_box).collect();
    let conversation = |name: &str| {
        let status: serde_json::Value =
            serde_json::from_str(&world.ask(&["status", name, "--json"])).unwrap();
        text_of(&status, "conversation")
    };
    let say = |session: usize, text: &str, answer: usize| {
        submit(&terms[session], text);
        terms[session].wait_text(&format!("Answer {answer}."));
        world.ask(&["wait", names[session], "idle", "--timeout", "60s"]);
        let last = main_requests(&world, &conversation(names[session])).pop().unwrap();
        last.texts().iter().filter(|(_, text)| text.contains("exactly so: question 'Context at 65%.")).count()
    };
    assert_eq!((say(0, "Fill the window.", 0), say(1, "Say hello.", 0)), (0, 0));
    assert_eq!(
        (say(0, "Go on.", 1), say(1, "Go on.", 1)),
        (1, 0),
        "only the one whose window is full is asked"
    );
    world.ask(&["handoff", "dismiss", names[0]]);
    assert_eq!(say(1, "Fill the window.", 2), 0);
    assert_eq!(
        (say(0, "And on.", 2), say(1, "And on.", 3)),
        (1, 1),
        "the other's dismissal keeps nobody from being asked"
    );
    for (name, mut term) in names.into_iter().zip(terms) {
        term.submit("/exit");
        assert_eq!(term.wait_exit(), 0, "{name}");
    }
    world.assert_nothing_left();
}
