//! Mode `ask`: a person is asked with Claude's own question, and what is answered happens. The stand-in agent has no such
//! dialog, so these are for the real program alone.

use std::time::{Duration, Instant};

use hopty::core::claude::question::{HEADER, OPTIONS, question};
use hopty::standin::request::Request;
use hopty::standin::script::{Reply, Script};
use serde_json::json;

use super::steps::{assert_handed_over, main_requests, submit, text_of};
use super::support::claude::Kind;
use super::support::term::Term;
use super::support::wait_for;
use super::support::world::World;

/// A person presses a key again when nothing came of it.
const PAUSE: Duration = Duration::from_millis(500);

const GOAL: &str = "Paint the fence.";

/// A talk that is over level `ask` after the first prompt; the model does as it is told.
fn talk(kind: Kind) -> Option<(World, Term)> {
    let script = Script::each(|request, _| {
        if let Some(id) = request.continued_handoff() {
            return Reply::text(format!("Continuing from handoff {id}.")).filling(2000);
        }
        if is_told(request) && request.tool_results().is_empty() {
            let options: Vec<_> = OPTIONS.iter().map(|(label, _)| json!({"label": label, "description": "as it says"})).collect();
            let asked = json!({"question": question(65), "header": HEADER, "options": options, "multiSelect": false});
            return Reply::tool("AskUserQuestion", json!({"questions": [asked]})).filling(131_000);
        }
        let said = if request.tool_results().is_empty() { "The first coat is on." } else { "The second coat is on." };
        Reply::text(said).filling(130_000)
    });
    let mut world = World::new(kind, script)?;
    world.set("HOPTY_RESTART_MODE", "ask");
    let term = world.start(&[]);
    submit(&term, GOAL);
    term.wait_text("The first coat is on.");
    world.wait_decision("level.crossed", 1);
    world.wait_state("idle");
    Some((world, term))
}

fn is_told(request: &Request) -> bool {
    request.contains("exactly so: question 'Context at 65%. Generate handoff summary and start fresh?'")
}

/// Submits the second prompt and waits until the question is on the screen.
fn second_prompt(world: &World, term: &Term) {
    submit(term, "Now the second coat.");
    term.wait_text("Yes, handoff now");
    world.wait_state("blocked");
}

/// Enter until the question is gone: Claude takes none in a dialog's first moments (seen on 2.1.329).
fn enter(term: &Term) {
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

/// The stand-in agent cannot play it: it asks no questions.
#[test]
fn item_102_yes_hands_over() {
    let Some((world, term)) = talk(Kind::Real) else { return };
    second_prompt(&world, &term);
    enter(&term);
    let (_, new) = assert_handed_over(&world, 1, GOAL);
    assert!(main_requests(&world, &new)[0].contains("Now the second coat."), "what the person wanted last is in the handoff");
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
    wait_for("the third answer to be chosen", || term.lines().join("\n").contains("❯ 3. Dismiss").then_some(()));
    enter(&term);
    term.wait_text("The second coat is on.");
    world.wait_state("idle");
    let before = main_requests(&world, &conversation).len();
    submit(&term, "And the third.");
    wait_for("the third prompt's request", || (main_requests(&world, &conversation).len() > before).then_some(()));
    let last = main_requests(&world, &conversation).pop().unwrap();
    let told = last.texts().iter().filter(|(_, text)| text.contains("exactly so: question")).count();
    assert_eq!(told, 1, "it is told once");
    assert!(!world.decisions().iter().any(|d| d["kind"] == "restart.requested"));
    world.leave(term);
}
