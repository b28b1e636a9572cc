//! The question of mode `ask`: the text that makes Claude ask it, and how the answer is read from the tool's
//! result.
//!
//! Claude asks with its own tool, AskUserQuestion, where people look anyway. The text is fixed except for the
//! percentage.

use serde_json::Value;

use crate::core::config::DurationMs;
use crate::core::supervisor::handover_question::AskAnswer;

const TOOL: &str = "AskUserQuestion";
pub const HEADER: &str = "Handoff";
/// The end of the question, by which it is recognized.
const ENDS: &str = "Generate handoff summary and start fresh?";
const YES: &str = "Yes, handoff now";
const DISMISS: &str = "Dismiss";

/// The answers, in the order in which they are offered.
pub fn options(snooze: DurationMs) -> [String; 3] {
    [YES.to_owned(), format!("Snooze {}", snooze.words()), DISMISS.to_owned()]
}

pub fn question(percent: u8) -> String {
    format!("Context at {percent}%. {ENDS}")
}

/// The text that Claude gets with the person's prompt.
pub fn order(percent: u8, snooze: DurationMs) -> String {
    let offered = options(snooze);
    let again = &offered[1];
    let options = offered.each_ref().map(|label| format!("'{label}'")).join(" / ");
    format!(
        "hopty: before you begin, ask the user one question with the {TOOL} tool, exactly so: question '{}', \
         header \
         '{HEADER}', options {options}, one choice. hopty reads the answer itself. After '{YES}' it starts a \
         fresh \
         conversation (as `hopty restart` does), so begin nothing. After '{again}' (as `hopty handoff \
         snooze`) or \
         '{DISMISS}' (as `hopty handoff dismiss`) proceed with the user's original prompt.",
        question(percent)
    )
}

/// The answer in one call of a PostToolBatch payload; `None` if the call asks something else. Anything but
/// "yes" and "dismiss" counts as "not now".
pub fn answer(call: &Value) -> Option<AskAnswer> {
    if call.get("tool_name")?.as_str()? != TOOL {
        return None;
    }
    let asked = call.get("tool_input")?.get("questions")?.as_array()?;
    let ours =
        asked.iter().filter_map(|one| one.get("question")?.as_str()).find(|text| text.ends_with(ENDS))?;
    let response = call.get("tool_response")?;
    let given = match response.get("answers").and_then(|answers| answers.get(ours)).and_then(Value::as_str) {
        Some(given) => given.to_owned(),
        // The text form: `... "QUESTION"="ANSWER" ...`.
        None => text_of(response).split(&format!("{ours}\"=\"")).nth(1)?.split('"').next()?.to_owned(),
    };
    Some(match given.as_str() {
        YES => AskAnswer::Yes,
        DISMISS => AskAnswer::Dismiss,
        _ => AskAnswer::Snooze,
    })
}

fn text_of(response: &Value) -> String {
    match response {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect(),
        other => other.get("content").map(text_of).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn item_109_the_question_has_the_exact_words() {
        assert_eq!(question(62), "Context at 62%. Generate handoff summary and start fresh?");
        assert_eq!((HEADER, TOOL), ("Handoff", "AskUserQuestion"));
        assert_eq!(options(DurationMs::from_secs(300)), ["Yes, handoff now", "Snooze 5 min", "Dismiss"]);
        // The complete text for Claude, with nothing around it.
        assert_eq!(
            order(62, DurationMs::from_secs(300)),
            "hopty: before you begin, ask the user one question with the AskUserQuestion tool, exactly so: \
             question 'Context at 62%. \
             Generate handoff summary and start fresh?', header 'Handoff', options 'Yes, handoff now' / \
             'Snooze 5 min' / 'Dismiss', \
             one choice. hopty reads the answer itself. After 'Yes, handoff now' it starts a fresh \
             conversation (as `hopty restart` \
             does), so begin nothing. After 'Snooze 5 min' (as `hopty handoff snooze`) or 'Dismiss' (as \
             `hopty handoff dismiss`) \
             proceed with the user's original prompt."
        );
    }

    #[test]
    fn the_answer_is_read_in_every_form() {
        let call = |question: &str, response: Value| {
            json!({"tool_name": TOOL, "tool_input": {"questions": [{"question": question,
                "header": "Handoff"}]},
                   "tool_response": response})
        };
        let ours = question(62);
        let [yes, snooze, dismiss] = options(DurationMs::from_secs(300));
        let later = "Ask me later, I am busy".to_owned();
        for (label, wanted) in [
            (yes, AskAnswer::Yes),
            (snooze, AskAnswer::Snooze),
            (dismiss, AskAnswer::Dismiss),
            (later, AskAnswer::Snooze),
        ] {
            let text =
                format!("User has answered your questions: \"{ours}\"=\"{label}\". You can now continue.");
            for response in [
                json!({"questions": [{"question": ours}], "answers": {&ours: label}}),
                json!(text),
                json!([{"type": "text", "text": text}]),
                json!({"content": text}),
            ] {
                assert_eq!(answer(&call(&ours, response.clone())), Some(wanted), "{response}");
            }
        }
        assert_eq!(answer(&call("Which colour?", json!({"answers": {"Which colour?": "Dismiss"}}))), None);
        assert_eq!(answer(&call(&ours, json!("The user declined to answer."))), None);
        for hostile in [
            json!(null),
            json!({"tool_name": TOOL}),
            json!({"tool_name": TOOL, "tool_input": {"questions": 4}}),
        ] {
            assert_eq!(answer(&hostile), None);
        }
    }
}
