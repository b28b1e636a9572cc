//! The stand-in model. Like a real one, it knows only the request: it reads from it the goal and the
//! progress. So the new conversation can continue only if the handoff really reached it.

use serde_json::{Value, json};

use super::demo_event::Pace;
use crate::standin::request::ApiRequest;
use crate::standin::script::ScriptedReply;

/// What the scripted person asks for.
pub(super) const GOAL: &str = "Count to ten in hello.txt: in words, one line a step.";
/// The requested file, in the project.
pub(super) const FILE: &str = "hello.txt";
/// Its final content, one word per line.
pub(super) const WORDS: [&str; 10] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
/// The model's text when everything is done.
pub(super) const DONE: &str = "hello.txt counts to ten.";
/// The model's text if it gets no goal.
pub(super) const AT_A_LOSS: &str = "I was told of no task.";

/// Token counts of the first conversation's answers: each step pretends to be big. The last but one is over
/// the level `handoff` (80 % of 200,000), at which hopty waits for the end of the turn; the last is over
/// `hard` (90 %), at which it does not wait.
const FIRST: [u64; 7] = [32_000, 62_000, 92_000, 122_000, 152_000, 168_000, 184_000];
/// Token counts of the new conversation: the first answer, and the increase with each further one.
const SECOND: (u64, u64) = (14_000, 6_000);

/// The answer to a main request.
pub(super) fn reply(request: &ApiRequest, pace: Pace) -> ScriptedReply {
    let answers = request.assistant_messages();
    let continued = request.continued_handoff();
    let (tokens, think_ms) = match (&continued, answers) {
        // Time to read what has just happened.
        (Some(_), 0) => (SECOND.0, 2 * pace.think_ms),
        (Some(_), _) => (SECOND.0 + SECOND.1 * answers as u64, pace.think_ms),
        (None, _) => (FIRST[answers.min(FIRST.len() - 1)], pace.think_ms),
    };
    next(request, continued).filling(tokens).after_ms(think_ms)
}

fn next(request: &ApiRequest, continued: Option<String>) -> ScriptedReply {
    if !request.contains(GOAL) {
        return ScriptedReply::text(AT_A_LOSS);
    }
    match (counted(request), continued) {
        (0, Some(id)) => ScriptedReply::tool("Read", json!({"file_path": FILE}))
            .saying(format!("Continuing from handoff {id}. {FILE} is begun; I look how far it got.")),
        (0, None) => {
            ScriptedReply::tool("Write", json!({"file_path": FILE, "content": format!("{}\n", WORDS[0])}))
                .saying("Step 1: the file.")
        }
        (n, _) if n < WORDS.len() => {
            let (last, new) = (WORDS[n - 1], WORDS[n]);
            let input = json!({"file_path": FILE, "old_string": format!("{last}\n"),
                "new_string": format!("{last}\n{new}\n")});
            ScriptedReply::tool("Edit", input).saying(format!("Step {}: {new}.", n + 1))
        }
        _ => ScriptedReply::text(DONE),
    }
}

/// How many words the file has, as far as this conversation has written or read it.
fn counted(request: &ApiRequest) -> usize {
    let uses = request.tool_uses();
    let written =
        uses.iter().filter_map(|(_, _, input)| text(input, "new_string").or_else(|| text(input, "content")));
    let reads = uses.iter().filter(|(_, name, _)| *name == "Read").map(|(id, _, _)| *id);
    let results = request.tool_results();
    let read =
        reads.filter_map(|id| results.iter().find(|(of, _, _)| *of == id)).map(|(_, text, _)| text.as_str());
    written.chain(read).filter_map(last_word).max().unwrap_or(0)
}

fn text<'a>(input: &'a Value, key: &str) -> Option<&'a str> {
    input.get(key)?.as_str()
}

/// The number that the last line with a word stands for.
fn last_word(text: &str) -> Option<usize> {
    text.split_whitespace()
        .rev()
        .find_map(|word| WORDS.iter().position(|known| *known == word))
        .map(|index| index + 1)
}

/// The answer in a few words, for people who do not see the screen.
pub(super) fn in_words(reply: &ScriptedReply) -> String {
    match reply.tools.first() {
        Some((name, input)) => {
            let file = text(input, "file_path").unwrap_or_default();
            format!("{} ({name} {file})", reply.text)
        }
        None => reply.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: Value) -> ApiRequest {
        ApiRequest::for_test("/v1/messages", &[], json!({"messages": messages, "tools": [{}]}))
    }

    fn answer(messages: Value) -> ScriptedReply {
        reply(&request(messages), Pace::BRISK)
    }

    #[test]
    fn the_first_conversation_writes_a_line_a_step_and_fills_up() {
        let first = answer(json!([{"role": "user", "content": GOAL}]));
        assert_eq!(first.tools[0].1["content"], "one\n");
        let use_of = |n: usize| {
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": format!("t{n}"),
                "name": "Edit",
            "input": {"file_path": FILE, "old_string": "x", "new_string": format!("{}\n{}\n", WORDS[n - 1],
            WORDS[n])}}]})
        };
        let mut messages = vec![json!({"role": "user", "content": GOAL})];
        messages.extend((1..=6).map(use_of));
        let seventh = answer(Value::Array(messages));
        assert_eq!(seventh.tools[0].1["new_string"], "seven\neight\n");
        assert_eq!(seventh.usage.cache_read + seventh.usage.input, 184_000);
    }

    #[test]
    fn a_continuation_looks_first_and_then_goes_on_where_the_file_ends() {
        let prompt = json!({"role": "user", "content": [
            {"type": "text", "text": format!("<system-reminder>=== HANDOFF LOADED \
                                              ===\nGoal\n{GOAL}</system-reminder>")},
            {"type": "text", "text": "Continue from handoff HO-20261120-142950-c74cc080.\nIts record"}]});
        let first = answer(json!([prompt]));
        assert!(
            first.text.starts_with("Continuing from handoff HO-20261120-142950-c74cc080."),
            "{}",
            first.text
        );
        assert_eq!(first.tools[0].0, "Read");
        let used = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "r", "name": "Read",
            "input": {"file_path": FILE}}]});
        let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "r",
            "content": "1\tone\n2\ttwo\n3\t"}]});
        let next = answer(json!([prompt, used, result]));
        assert_eq!(next.tools[0].1["new_string"], "two\nthree\n");
    }

    #[test]
    fn without_the_goal_the_model_is_at_a_loss() {
        let lost = answer(
            json!([{"role": "user", "content": "Continue from handoff HO-20261120-142950-c74cc080."}]),
        );
        assert_eq!((lost.text.as_str(), lost.tools.len()), (AT_A_LOSS, 0));
    }
}
