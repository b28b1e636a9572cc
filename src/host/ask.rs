//! What a person answered to the question of mode `ask`: kept with the session, so that a later host of the same conversation
//! knows it (checklist 105, 106: never in a directory that everybody can write).

use serde::{Deserialize, Serialize};

use super::Host;
use super::save::Done;
use crate::core::config::RestartMode;
use crate::core::ids::ConversationId;
use crate::core::supervisor::ask::AskAnswer;
use crate::core::supervisor::event::Event;
use crate::core::time::WallTime;
use crate::fs::atomic;
use crate::io::clock::Clock;
use crate::ipc::message::{Code, Failure, error_line, ok_line};

/// The file in the session's directory.
const FILE: &str = "ask.json";
/// The longest that is read, in bytes.
const LONGEST: u64 = 4096;

/// The file's content.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    conversation: ConversationId,
    answer: AskAnswer,
    /// Until when a snooze lasts, in ms since 1970; 0 is for good.
    until: u64,
}

impl Host {
    pub(super) fn keep_ask(&mut self, conversation: ConversationId, answer: AskAnswer, left: u64) {
        let until = if left == 0 { 0 } else { u64::try_from(Clock::wall().0).unwrap_or(0) + left };
        let text = serde_json::to_string(&Kept { conversation, answer, until }).unwrap_or_default() + "\n";
        self.write_small(self.claim.dir.join(FILE), text);
    }

    /// An earlier host may have been told something in this conversation.
    pub(super) fn recall_ask(&mut self, conversation: &ConversationId) {
        if self.launch.config.restart.mode != RestartMode::Ask {
            return;
        }
        let (file, conversation) = (self.claim.dir.join(FILE), conversation.clone());
        self.observe(move || Done::Recalled(conversation, atomic::read(&file, LONGEST).ok().flatten()));
    }

    pub(super) fn recalled(&mut self, conversation: &ConversationId, bytes: Option<&[u8]>) {
        let Some(Ok(kept)) = bytes.map(serde_json::from_slice::<Kept>) else { return };
        let WallTime(now) = Clock::wall();
        let left = kept.until.saturating_sub(u64::try_from(now).unwrap_or(0));
        if kept.conversation == *conversation && (kept.until == 0 || left > 0) {
            self.events.push_back(Event::AskWas { answer: kept.answer, left });
        }
    }

    pub(super) fn ask_request(&mut self, connection: u64, request: u64, answer: AskAnswer) {
        let line = if self.launch.config.restart.mode == RestartMode::Ask {
            self.events.push_back(Event::Ask { answer });
            let snooze = (answer == AskAnswer::Snooze).then_some(self.launch.config.restart.snooze);
            ok_line(request, &serde_json::json!({ "ask": answer, "snooze": snooze }))
        } else {
            let failure = Failure::new(Code::Refused, "nobody is asked in this session", "`[restart] mode = \"ask\"` has hopty ask");
            error_line(request, &failure)
        };
        self.send(connection, &line);
    }
}
