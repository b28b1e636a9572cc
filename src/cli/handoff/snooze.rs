//! `hopty handoff snooze` and `dismiss`: what a person says who is asked before a hand-over, or who wants
//! none yet.

use serde_json::json;

use super::args::Session;
use crate::cli::control::{HostControl, Rule, live};
use crate::cli::error::{Failed, say, say_wrapped};
use crate::cli::session::ANSWER;
use crate::core::config::DurationMs;
use crate::core::supervisor::question::AskAnswer;
use crate::fs::paths::Paths;

pub(super) fn answer(paths: &Paths, session: &Session, answer: AskAnswer) -> Result<u8, Failed> {
    let name = live(paths, session.name.as_deref(), Rule::Any)?;
    let done =
        HostControl::connect(paths, &name, Some(ANSWER))?.ask(json!({"do": "ask", "answer": answer}))?;
    match (session.json, answer) {
        (true, _) => say(format_args!("{done}"))?,
        (false, AskAnswer::Dismiss) => {
            say_wrapped(format_args!("{name} does not ask again in this conversation"))?
        }
        (false, _) => {
            let snooze =
                done["snooze"].as_str().and_then(|span| span.parse::<DurationMs>().ok()).unwrap_or_default();
            say_wrapped(format_args!("{name} does not hand over automatically for {}", snooze.words()))?;
        }
    }
    Ok(0)
}
