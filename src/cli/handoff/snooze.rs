//! `hopty handoff snooze` and `dismiss`: answers to the question before a hand-over, or requests for a later
//! one.

use serde_json::json;

use super::handoff_args::Session;
use crate::cli::control::ANSWER;
use crate::cli::control::{HostControl, Rule, live_session};
use crate::cli::error::{VerbError, say, say_wrapped};
use crate::core::supervisor::handover_question::AskAnswer;
use crate::fs::paths::Paths;
use crate::ipc::answers::SnoozeAnswer;
use crate::ipc::message::Request;

pub(super) fn answer(paths: &Paths, session: &Session, answer: AskAnswer) -> Result<u8, VerbError> {
    let name = live_session(paths, session.name.as_deref(), Rule::Any)?;
    let done: SnoozeAnswer =
        HostControl::connect(paths, &name, Some(ANSWER))?.ask(&Request::Ask { answer })?;
    match (session.json, answer) {
        (true, _) => say(format_args!("{}", json!(done)))?,
        (false, AskAnswer::Dismiss) => {
            say_wrapped(format_args!("{name} does not ask again in this conversation"))?
        }
        (false, _) => {
            let snooze = done.snooze.unwrap_or_default().words();
            say_wrapped(format_args!("{name} does not hand over automatically for {snooze}"))?;
        }
    }
    Ok(0)
}
