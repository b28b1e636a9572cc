//! What somebody who asked over the socket gets to hear.

use serde::{Deserialize, Serialize};

use super::event::Event;
use crate::core::ids::ConversationId;

impl Event {
    /// The request that waits for a [`Reply`].
    pub(super) fn request(&self) -> Option<u64> {
        match self {
            Event::Restart { id, .. }
            | Event::Back { id, .. }
            | Event::Stop { id, .. }
            | Event::Submit { id, .. } => Some(*id),
            _ => None,
        }
    }
}

/// What became of a prompt that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendResult {
    /// Claude has it as a prompt; there is proof.
    Submitted,
    /// Claude is busy and has put it into its queue; there is proof.
    Queued,
    /// It was typed, and there is no proof.
    Unknown,
}

/// What the person who asked gets to hear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Reply {
    /// The request stands.
    Accepted,
    /// It is not done, and why.
    Refused {
        /// A whole sentence.
        reason: String,
    },
    /// A prompt was sent.
    Sent {
        /// What became of it.
        result: SendResult,
    },
    /// The session goes back to an earlier conversation.
    Back {
        /// Which.
        conversation: ConversationId,
        /// The one that it ends.
        newer: ConversationId,
    },
    /// It is not done, because Claude is at work.
    Busy,
    /// There is nothing left to act on.
    Ended,
}
