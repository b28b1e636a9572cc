//! The person's answer to the question of mode `ask`, stored with the session so that a later host of the
//! same conversation knows it (never in a world-writable directory). Also the keys for "now" and "not yet".

use serde::{Deserialize, Serialize};

use crate::core::config::RestartMode;
use crate::core::ids::ConversationId;
use crate::core::supervisor::Agent;
use crate::core::supervisor::action::{DecisionKind, Reply};
use crate::core::supervisor::event::{Asker, Event};
use crate::core::supervisor::question::AskAnswer;
use crate::core::time::WallTime;
use crate::fs::atomic;
use crate::host::Host;
use crate::host::jobs::JobEvent;
use crate::ipc::answers::SnoozeAnswer;
use crate::ipc::message::{Code, Failure, error_line, ok_line};
use crate::sys::clock::Clock;

/// The file in the session's directory.
const FILE: &str = "ask.json";
/// The longest file that is read, in bytes.
const LONGEST: u64 = 4096;

/// The file's content.
#[derive(Debug, Serialize, Deserialize)]
struct SavedAskAnswer {
    conversation: ConversationId,
    answer: AskAnswer,
    /// When a snooze ends, in ms since 1970; 0: never.
    until: u64,
}

impl Host {
    pub(in crate::host) fn keep_ask(&mut self, conversation: ConversationId, answer: AskAnswer, left: u64) {
        let until = if left == 0 { 0 } else { u64::try_from(Clock::wall().0).unwrap_or(0) + left };
        let text =
            serde_json::to_string(&SavedAskAnswer { conversation, answer, until }).unwrap_or_default() + "\n";
        self.jobs.write_small(self.claim.dir.join(FILE), text);
    }

    /// A person may have answered an earlier host in this conversation.
    pub(in crate::host) fn recall_ask(&mut self, conversation: &ConversationId) {
        if self.launch.config.restart.mode == RestartMode::Manual {
            return;
        }
        let (file, conversation) = (self.claim.dir.join(FILE), conversation.clone());
        self.jobs.read(move || JobEvent::Recalled(conversation, atomic::read(&file, LONGEST).ok().flatten()));
    }

    pub(in crate::host) fn recalled(&mut self, conversation: &ConversationId, bytes: Option<&[u8]>) {
        let Some(Ok(kept)) = bytes.map(serde_json::from_slice::<SavedAskAnswer>) else { return };
        let WallTime(now) = Clock::wall();
        let left = kept.until.saturating_sub(u64::try_from(now).unwrap_or(0));
        if kept.conversation == *conversation && (kept.until == 0 || left > 0) {
            self.events.push_back(Event::AskWas { answer: kept.answer, left });
        }
    }

    /// The prefix key and `r`. A client that only watches decides nothing.
    pub(in crate::host) fn hand_over_by_key(&mut self, client: u64) {
        if self.client_mut(client).is_some_and(|client| !client.read_only) {
            if self.has_nothing_to_hand_over() {
                // It would cost a prompt and tell the fresh conversation nothing.
                let text = "No hand-over: nothing has been said in this conversation yet.";
                return self.notice(DecisionKind::RestartIgnored, text);
            }
            let id = self.control.owe_key();
            self.restart_asked(id);
            self.events.push_back(Event::Restart { id, by: Asker::Person, now: false, handoff: true });
        }
    }

    /// Whether Claude's conversation has no prompt yet.
    fn has_nothing_to_hand_over(&self) -> bool {
        let mut prompts = self.observer.transcript().into_iter().flat_map(|t| t.facts.prompts().iter());
        self.launch.agent == Agent::Claude
            && self.context().known_percent().is_none()
            && prompts.next().is_none()
    }

    /// The prefix key and `s`.
    pub(in crate::host) fn snooze_by_key(&mut self, client: u64) {
        if self.client_mut(client).is_some_and(|client| !client.read_only) {
            self.events.push_back(Event::Ask { answer: AskAnswer::Snooze });
        }
    }

    /// A key has no answer of its own: a refusal becomes a notice.
    pub(in crate::host) fn key_answered(&mut self, number: u64, with: &Reply) {
        if self.control.settle_key(number)
            && let Reply::Refused { reason } = with
        {
            self.notice(DecisionKind::RestartIgnored, &format!("No hand-over: {reason}."));
        }
    }

    pub(in crate::host) fn ask_request(&mut self, connection: u64, request: u64, answer: AskAnswer) {
        let person = self.control.asker(connection) == Asker::Person;
        let puts_off = answer == AskAnswer::Snooze && person && self.launch.agent == Agent::Claude;
        let line = if puts_off || self.launch.config.restart.mode == RestartMode::Ask {
            self.events.push_back(Event::Ask { answer });
            let snooze = (answer == AskAnswer::Snooze).then_some(self.launch.config.restart.snooze);
            ok_line(request, &SnoozeAnswer { ask: answer, snooze })
        } else {
            let failure = Failure::new(
                Code::Refused,
                "this session asks no questions",
                "set `[restart] mode = \"ask\"` to be asked",
            );
            error_line(request, &failure)
        };
        self.send(connection, &line);
    }
}
