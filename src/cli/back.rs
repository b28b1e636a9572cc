//! `hopty back`: returns to the conversation before a hand-over.

use std::time::{Duration, Instant};

use serde_json::json;

use super::control::{HostControl, Rule, last_here, live_session, paths};
use super::error::{VerbError, say, say_wrapped};
use super::exit_codes::{FAILED, REFUSED};
use super::poll_until::poll_until;
use super::status::ended;
use crate::core::ids::{ConversationId, SessionName};
use crate::core::status_types::SessionStatus;
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::action::DecisionKind;
use crate::fs::paths::Paths;
use crate::fs::store::Store;
use crate::ipc::answers::BackAnswer;
use crate::ipc::message::{Code, Request, RequestError};

const BACK_ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// How long Claude may take to start in that conversation.
const STARTS: Duration = Duration::from_secs(30);
/// How often hopty checks meanwhile.
const BACK_POLL: Duration = Duration::from_millis(20);

pub(super) fn back(given: Option<&str>, now: bool, as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let name = match live_session(&paths, given, Rule::Any) {
        Ok(name) => name,
        Err(failed) => {
            let over = given
                .and_then(|text| text.parse().ok())
                .or_else(|| last_here(&paths))
                .filter(|_| failed.is_not_found());
            return match over.and_then(|name| Some((ended(&paths, &name)?, name))) {
                Some((last, name)) => how_to_resume(&paths, &name, &last, as_json),
                None => Err(failed),
            };
        }
    };
    let mut control = HostControl::connect(&paths, &name, Some(BACK_ANSWER_LIMIT))?;
    let status = control.status()?;
    match &status.before {
        None if status.agent.is(ProgramKind::Plain) => {
            return Err(VerbError::new(REFUSED, "it does not run Claude")
                .called(Code::Refused)
                .about(&name)
                .hint(format!("`hopty status {name}` shows what it runs")));
        }
        None => return Err(none_before(&paths, &name, &status)),
        Some(id) if paths.find_transcript(id).is_none() => {
            let gone = format!("the transcript of conversation {id} is gone, so Claude cannot resume it");
            return Err(VerbError::new(FAILED, gone)
                .called(Code::NotFound)
                .about(&name)
                .hint("the session keeps running"));
        }
        Some(_) => {}
    }
    let done: BackAnswer = control.ask(&Request::Back { now })?;
    if !follows_conversation(&mut control, &status)? {
        let message =
            format!("going back to conversation {}, but Claude has not started there yet", done.conversation);
        let hint = format!("`hopty status {name}` shows what it does");
        return Err(VerbError::from(RequestError::new(Code::Busy, message, hint)).about(&name));
    }
    if as_json {
        say(format_args!("{}", json!(done)))?;
    } else {
        say_wrapped(format_args!(
            "back in conversation {}; to return to the newer one: `hopty --resume {}`",
            done.conversation, done.newer
        ))?;
    }
    Ok(0)
}

/// Waits until the session follows the conversation, so that `hopty answer` and other verbs mean that one,
/// and returns whether it does. An old Claude resumes it under an id of its own.
fn follows_conversation(control: &mut HostControl, before: &SessionStatus) -> Result<bool, VerbError> {
    let there = poll_until(Instant::now() + STARTS, BACK_POLL, || {
        let status = control.status()?;
        let is_there = status.run > before.run && status.conversation.is_some();
        Ok((is_there && status.conversation != before.conversation).then_some(()))
    })?;
    Ok(there.is_some())
}

/// Prints how to resume the conversation of an ended session.
fn how_to_resume(
    paths: &Paths,
    name: &SessionName,
    last: &SessionStatus,
    as_json: bool,
) -> Result<u8, VerbError> {
    let Some(id) = last.before.clone().or_else(|| conversation_before(paths, last)) else {
        return Err(none_before(paths, name, last));
    };
    if as_json {
        say(format_args!(
            "{}",
            json!({"session": name, "conversation": id, "command": ["hopty", "--resume", id]})
        ))?;
    } else {
        let hint = format!("`hopty --resume {id}` resumes the conversation before its last one");
        return Err(VerbError::new(FAILED, "the session has ended")
            .called(Code::Ended)
            .about(name)
            .hint(hint));
    }
    Ok(0)
}

fn none_before(paths: &Paths, name: &SessionName, status: &SessionStatus) -> VerbError {
    let others = other_conversations(paths, name, status);
    let (message, hint) = match (conversation_before(paths, status), others.as_slice()) {
        (Some(id), _) => (
            "there is no earlier conversation",
            format!("it started from a handoff of conversation {id}: `hopty --resume {id}` resumes that one"),
        ),
        (None, []) => (
            "there is no earlier conversation",
            "`hopty back` undoes a hand-over, and this session had none; `hopty --resume` lists \
             conversations"
                .to_owned(),
        ),
        (None, others) => {
            let ways: Vec<String> = others.iter().map(|id| format!("`hopty --resume {id}`")).collect();
            (
                "it is already in its first conversation",
                format!("you can resume its other conversations: {}", ways.join(", ")),
            )
        }
    };
    VerbError::new(FAILED, message).called(Code::NotFound).about(name).hint(hint)
}

/// The session's other conversations, the newest first, from its journal.
fn other_conversations(paths: &Paths, name: &SessionName, status: &SessionStatus) -> Vec<ConversationId> {
    let mut found: Vec<ConversationId> = Vec::new();
    for decision in super::events::decisions_of(&paths.session(name)).into_iter().rev() {
        let of_handover = matches!(decision.kind, DecisionKind::RunSpawned | DecisionKind::HandoffConsumed);
        if let Some(id) = decision.conversation.filter(|_| of_handover)
            && status.conversation.as_ref() != Some(&id)
            && !found.contains(&id)
            && paths.find_transcript(&id).is_some()
        {
            found.push(id);
        }
    }
    found
}

/// The conversation that was handed over to the session's own, from the records.
fn conversation_before(paths: &Paths, status: &SessionStatus) -> Option<ConversationId> {
    let store = Store::at(&paths.claude);
    let handoff = store.begun_from(status.conversation.as_ref()?)?;
    store
        .list(None)
        .ok()?
        .into_iter()
        .find(|(_, entry)| entry.id == handoff)
        .map(|(_, entry)| entry.session_id)
}
