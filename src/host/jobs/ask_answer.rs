//! The person's answer to the question of mode `ask`, stored with the session so that a later host of the
//! same conversation knows it (never in a world-writable directory).

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{JobEvent, Jobs};
use crate::core::ids::ConversationId;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::handover_question::AskAnswer;
use crate::core::time::WallTime;
use crate::fs::atomic;
use crate::sys::clock::Clock;

/// The file in the session's directory.
const FILE: &str = "ask.json";
/// The longest file that is read, in bytes.
const LONGEST: u64 = 4096;

#[derive(Debug, Serialize, Deserialize)]
struct SavedAskAnswer {
    conversation: ConversationId,
    answer: AskAnswer,
    /// When a snooze ends, in ms since 1970; 0: never.
    until: u64,
}

impl Jobs {
    /// Stores an answer below `dir`. `left`: how long a snooze lasts, in ms; 0: forever.
    pub fn keep_ask_answer(
        &mut self,
        dir: &Path,
        conversation: ConversationId,
        answer: AskAnswer,
        left: u64,
    ) {
        let until = if left == 0 { 0 } else { u64::try_from(Clock::wall().0).unwrap_or(0) + left };
        let text =
            serde_json::to_string(&SavedAskAnswer { conversation, answer, until }).unwrap_or_default() + "\n";
        self.write_small(dir.join(FILE), text);
    }

    /// Looks for the person's answer to an earlier host of this conversation.
    pub fn recall_ask_answer(&mut self, dir: &Path, conversation: &ConversationId) {
        let (file, conversation) = (dir.join(FILE), conversation.clone());
        self.read(move || JobEvent::Recalled(conversation, atomic::read(&file, LONGEST).ok().flatten()));
    }
}

/// The answer in this file, if it belongs to this conversation and has not expired.
pub(in crate::host) fn recalled_ask_answer(
    conversation: &ConversationId,
    bytes: Option<&[u8]>,
    WallTime(now): WallTime,
) -> Option<Event> {
    let kept = serde_json::from_slice::<SavedAskAnswer>(bytes?).ok()?;
    let left = kept.until.saturating_sub(u64::try_from(now).unwrap_or(0));
    let counts = kept.conversation == *conversation && (kept.until == 0 || left > 0);
    counts.then_some(Event::AskWas { answer: kept.answer, left })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_in_its_conversation_until_its_time_is_up() {
        let of: ConversationId = "0196f8a2-7c1e-4d3a-9b60-5f2d8e4c1a7b".parse().unwrap();
        let other: ConversationId = "1196f8a2-7c1e-4d3a-9b60-5f2d8e4c1a7b".parse().unwrap();
        let file = |until| {
            serde_json::to_vec(&SavedAskAnswer { conversation: of.clone(), answer: AskAnswer::Snooze, until })
                .unwrap()
        };
        let left = |bytes: &[u8], of| match recalled_ask_answer(of, Some(bytes), WallTime(1000)) {
            Some(Event::AskWas { answer: AskAnswer::Snooze, left }) => Some(left),
            None => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(left(&file(0), &of), Some(0));
        assert_eq!(left(&file(1500), &of), Some(500));
        assert_eq!(left(&file(1000), &of), None);
        assert_eq!(left(&file(1500), &other), None);
        assert_eq!(left(b"{", &of), None);
        assert!(recalled_ask_answer(&of, None, WallTime(0)).is_none());
    }
}
