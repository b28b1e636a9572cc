//! Replies to requests on the socket.

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

/// The outcome of a prompt that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendResult {
    /// Claude has accepted it as a prompt, with proof.
    Submitted,
    /// Claude is busy and has queued it, with proof.
    Queued,
    /// It was typed, without proof.
    Unknown,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// A complete sentence.
    pub reason: String,
    /// A draft in the prompt box is in the way, which the host can show. Always false under the rules of the
    /// previous release.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_draft: bool,
}

impl<T: Into<String>> From<T> for Refusal {
    fn from(reason: T) -> Self {
        Refusal { reason: reason.into(), for_draft: false }
    }
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Reply {
    Accepted,
    Refused(Refusal),
    /// A prompt was sent.
    Sent {
        result: SendResult,
    },
    /// The session goes back to an earlier conversation.
    Back {
        conversation: ConversationId,
        /// The conversation that ends.
        newer: ConversationId,
    },
    /// Refused because Claude is busy.
    Busy,
    /// There is nothing left to act on.
    Ended,
}
