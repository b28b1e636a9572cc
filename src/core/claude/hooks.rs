//! Reads the facts from a hook's payload, and writes hopty's answer in the form that Claude reads.

use serde_json::{Value, json};

use super::{ask_mode_question, carry_over, permission_subject};
use crate::core::handoff::continuation_prompt::is_ours;
use crate::core::handoff::note;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::supervisor::action::{HookAnswer, HookInstruction};
use crate::core::supervisor::event::{HookEvent, HookFacts, PromptOf, StartSource};
use crate::core::text::visible::is_hidden;

/// The name of hopty's plugin. Claude loads only the first of two plugins with the same name (measured), so
/// nobody else should have it.
pub const PLUGIN_NAME: &str = "hopty-hooks";
/// How Claude's own prompts begin: a background task ended, a usage limit is over (measured on 2.1.329).
const OF_CLAUDE: [&str; 2] = ["<task-notification>", "Your claude.ai usage limit has reset."];
/// How the result of a sub-agent begins that still runs in the background (measured on 2.1.329).
const ASYNC_AGENT: &str = "Async agent launched";

/// The facts of a hook call, and what the transcript must contain before a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookInput {
    pub hook: HookFacts,
    /// PostToolBatch: the ids of its calls.
    pub tool_uses: Vec<String>,
    /// Stop: the text that ends the turn.
    pub last_message: Option<String>,
    /// SessionStart: the model, with `[1m]` if the window is a million tokens.
    pub model: Option<String>,
    /// SessionEnd: Claude's word for the reason.
    pub reason: Option<String>,
    /// UserPromptSubmit: the prompt.
    pub prompt: Option<String>,
    /// PermissionRequest: what the dialog is about.
    pub subject: Option<String>,
}

/// Reads a payload. `expected` is the handoff whose continuation prompt may be on its way.
pub fn read(event: &str, payload: &Value, expected: Option<&HandoffId>) -> HookInput {
    let text = |key: &str| payload.get(key).and_then(Value::as_str);
    let event: HookEvent = serde_json::from_value(Value::from(event)).unwrap_or(HookEvent::Other);
    let calls = payload.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let tool_uses: Vec<String> = calls
        .iter()
        .filter_map(|call| call.get("tool_use_id")?.as_str())
        .map(str::to_owned)
        .take(1000)
        .collect();
    let last_message = text("last_assistant_message")
        .filter(|m| !m.is_empty() && event == HookEvent::Stop)
        .map(str::to_owned);
    let listed = |key: &str| payload.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    let hook = HookFacts {
        event,
        conversation: text("session_id").and_then(|id| id.parse::<ConversationId>().ok()),
        agent: text("agent_id").is_some_and(|id| !id.is_empty()),
        source: text("source").and_then(|word| serde_json::from_value::<StartSource>(Value::from(word)).ok()),
        transcript: text("transcript_path").filter(|path| path.starts_with('/')).map(str::to_owned),
        prompt: text("prompt").map(|prompt| whose(prompt, expected)),
        carries: text("prompt")
            .filter(|_| event == HookEvent::UserPromptSubmit)
            .and_then(carry_over::carry_method),
        background: u32::try_from(listed("background_tasks")).unwrap_or(u32::MAX),
        started: u32::try_from(calls.iter().filter(|call| starts_background(call)).count())
            .unwrap_or(u32::MAX),
        lines: !tool_uses.is_empty() || last_message.is_some(),
        mode: text("permission_mode").map(|mode| mode.chars().take(40).collect()),
        asks: (event == HookEvent::PermissionRequest).then(|| asked_by(text("tool_name")).to_owned()),
        answered: (event == HookEvent::PostToolBatch)
            .then(|| calls.iter().find_map(ask_mode_question::answer))
            .flatten(),
        auto: event == HookEvent::PreCompact && text("trigger") == Some("auto"),
        compaction: None,
        error: text("error").map(|error| error.chars().take(40).collect()),
    };
    let reason =
        text("reason").filter(|_| event == HookEvent::SessionEnd).map(|word| word.chars().take(40).collect());
    let prompt = text("prompt").filter(|_| event == HookEvent::UserPromptSubmit).map(str::to_owned);
    let subject = permission_subject::subject(payload).filter(|_| event == HookEvent::PermissionRequest);
    let model = text("model").map(str::to_owned);
    HookInput { hook, tool_uses, last_message, model, reason, prompt, subject }
}

fn whose(prompt: &str, expected: Option<&HandoffId>) -> PromptOf {
    if expected.is_some_and(|id| is_ours(prompt, id)) {
        PromptOf::Ours
    } else if OF_CLAUDE.iter().any(|start| prompt.starts_with(start)) {
        PromptOf::Claude
    } else {
        PromptOf::Person
    }
}

/// Who asks in a tool's dialog. The model's questions are a tool, too (measured on 2.1.329).
fn asked_by(tool: Option<&str>) -> &'static str {
    if tool == Some("AskUserQuestion") { "question" } else { "permission" }
}

fn starts_background(call: &Value) -> bool {
    let in_background =
        call.get("tool_input").and_then(|i| i.get("run_in_background")).and_then(Value::as_bool)
            == Some(true);
    let answer = call.get("tool_response").and_then(Value::as_str).unwrap_or_default();
    in_background || answer.starts_with(ASYNC_AGENT)
}

/// The hook command's output that adds a text to Claude's context.
pub fn context_output(event: HookEvent, text: &str) -> String {
    json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}).to_string()
}

/// The hook command's output for an answer; empty for none.
pub fn stdout(event: HookEvent, answer: &HookAnswer, brief: Option<&str>) -> String {
    let tell = |text: &str| context_output(event, text);
    match answer {
        HookAnswer::Nothing => String::new(),
        HookAnswer::StopTurn { reason } => json!({"continue": false, "stopReason": reason}).to_string(),
        HookAnswer::Block { reason } => json!({"decision": "block", "reason": reason}).to_string(),
        HookAnswer::Message { text } => {
            let visible: String = text.chars().filter(|c| !is_hidden(*c)).collect();
            json!({"systemMessage": visible}).to_string()
        }
        HookAnswer::Brief { .. } => brief.map_or_else(String::new, tell),
        HookAnswer::Tell { what: HookInstruction::Note } => tell(note::QUESTION),
        HookAnswer::Tell { what: HookInstruction::NoteInLoop } => tell(note::QUESTION_IN_LOOP),
        HookAnswer::Tell { what: HookInstruction::Ask { percent, snooze } } => {
            tell(&ask_mode_question::order(*percent, *snooze))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::DurationMs;

    #[test]
    fn a_tool_batch_names_its_tool_uses() {
        let payload = json!({"session_id": "345f5013-7dda-4ebd-962c-f25ca220a042", "tool_calls": [
            {"tool_name": "Bash", "tool_input": {"command": "x", "run_in_background": true},
                "tool_use_id": "toolu_1", "tool_response": "ok"},
            {"tool_name": "Agent", "tool_input": {}, "tool_use_id": "toolu_2",
                "tool_response": "Async agent launched successfully."},
            {"tool_name": "Read", "tool_input": {}, "tool_use_id": "toolu_3", "tool_response": "text"}]});
        let call = read("PostToolBatch", &payload, None);
        assert_eq!(call.tool_uses, ["toolu_1", "toolu_2", "toolu_3"]);
        assert_eq!((call.hook.started, call.hook.lines, call.hook.agent), (2, true, false));
    }

    #[test]
    fn kinds_of_prompts_are_distinguished() {
        let id: HandoffId = "HO-20261120-142950-c74cc080".parse().unwrap();
        let ours = crate::core::handoff::continuation_prompt::Continuation::with_brief(&id);
        let whose = |prompt: &str| {
            read("UserPromptSubmit", &json!({"prompt": prompt}), Some(&id)).hook.prompt.unwrap()
        };
        assert_eq!(whose(ours.text()), PromptOf::Ours);
        assert_eq!(whose("<task-notification>\n<task-id>x"), PromptOf::Claude);
        assert_eq!(whose("Continue from handoff"), PromptOf::Person);
    }

    #[test]
    fn a_question_is_no_permission() {
        let asks =
            |tool: &str| read("PermissionRequest", &json!({"tool_name": tool}), None).hook.asks.unwrap();
        assert_eq!((asks("AskUserQuestion").as_str(), asks("Bash").as_str()), ("question", "permission"));
        assert_eq!(read("Stop", &json!({"tool_name": "Bash"}), None).hook.asks, None);
    }

    /// A warning that only the terminal shows asks nothing of Claude.
    #[test]
    fn item_101_what_claude_is_to_do_goes_to_claude_and_not_to_the_terminal() {
        let asked = HookAnswer::Tell {
            what: HookInstruction::Ask { percent: 61, snooze: DurationMs::from_secs(300) },
        };
        let said: Value = serde_json::from_str(&stdout(HookEvent::UserPromptSubmit, &asked, None)).unwrap();
        assert_eq!(said["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
        assert!(
            said["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("'Context at 61%.")
        );
        assert_eq!(said.as_object().unwrap().len(), 1, "no message for the terminal, and nothing is held up");
    }

    #[test]
    fn a_word_for_the_person_moves_no_cursor() {
        let said =
            stdout(HookEvent::Stop, &HookAnswer::Message { text: "hopty: \u{1b}[2Jheld".to_owned() }, None);
        assert_eq!(said, r#"{"systemMessage":"hopty: [2Jheld"}"#);
    }

    #[test]
    fn hostile_payloads_are_only_facts() {
        for payload in [
            json!(null),
            json!([]),
            json!({"session_id": 4, "tool_calls": "x", "agent_id": "a"}),
            json!({"session_id": "../../x"}),
        ] {
            let call = read("Nope", &payload, None);
            assert_eq!((call.hook.event, call.hook.conversation), (HookEvent::Other, None));
        }
    }
}
