//! What the cases do alike: a prompt, a talk, and what must hold after a hand-over.

use std::sync::Arc;

use hopty::core::handoff::note;
use hopty::standin::request::{ApiRequest, AskerKind as Asks};
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;

use super::support::term::Term;
use super::support::world::{World, tools};

/// Types a prompt, sees it in the box, and submits it.
pub fn submit(term: &Term, text: &str) {
    term.wait_box();
    term.submit(text);
}

pub fn main_requests(world: &World, conversation: &str) -> Vec<Arc<ApiRequest>> {
    world.api.requests_of(conversation).into_iter().filter(|r| r.kind == Asks::Main).collect()
}

pub fn text_of(decision: &Value, key: &str) -> String {
    decision[key].as_str().unwrap_or_else(|| panic!("no {key} in {decision}")).to_owned()
}

/// Checks the `n`-th hand-over (from 1): the first request of the new conversation carries the
/// whole frame, the id and the goal, and our prompt exactly once; in the old one no tool result is missing.
pub fn assert_handed_over(world: &World, n: usize, goal: &str) -> (String, String) {
    world.wait_decision("handoff.consumed", n);
    let runs: Vec<Value> = world.decisions().into_iter().filter(|d| d["kind"] == "run.spawned").collect();
    let old = text_of(&runs[n - 1], "conversation");
    let submitted = world.wait_decision("delivery.submitted", n);
    let (new, id) = (text_of(&submitted, "conversation"), text_of(&submitted, "handoff"));
    let (uses, results) = tools(&world.transcript(&old));
    assert_eq!(uses, results, "every tool use has its result");
    let first = main_requests(world, &new).into_iter().next().expect("a request of the new conversation");
    assert!(first.contains(&format!("=== HANDOFF LOADED (ID: {id}) ===")), "the frame begins");
    assert!(first.contains("=== END HANDOFF ==="), "the frame ends");
    assert!(first.contains(goal), "the goal stands in it, verbatim");
    let prompt = format!("Continue from handoff {id}.");
    let times: usize = first.texts().iter().map(|(_, text)| text.matches(&prompt).count()).sum();
    assert_eq!(times, 1, "our prompt stands in it once");
    (old, new)
}

/// Whether Claude is asked for its own words.
pub fn is_asked(request: &ApiRequest) -> bool {
    request.contains(&note::QUESTION[..60])
}

pub fn quiet_talk() -> Script {
    Script::each(|request, _| {
        let text = request
            .continued_handoff()
            .map_or_else(|| "Hello.".to_owned(), |id| format!("Continuing from handoff {id}."));
        ScriptedReply::text(text).filling(3000)
    })
}

pub fn talk(world: &World) -> (Term, String) {
    let term = world.start(&[]);
    submit(&term, "Say hello to me.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    let conversation = text_of(&world.status(), "conversation");
    (term, conversation)
}
