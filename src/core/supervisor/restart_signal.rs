//! Restart signals: files in which another program asks the session to hand over, and where to continue.

use serde::{Deserialize, Serialize};

use crate::core::ids::ConversationId;

/// The content of a signal file. The words of the journal are older than those of the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "form")]
pub enum RestartSignal {
    /// This conversation hands over and continues in this directory.
    #[serde(rename = "named")]
    Conversation {
        /// The conversation to hand over.
        conversation: ConversationId,
        /// The directory named, absolute; the supervisor decides whether to use it.
        dir: Option<String>,
    },
    /// The session in this directory hands over.
    #[serde(rename = "bare")]
    Directory {
        /// The directory named, absolute.
        dir: String,
    },
    /// The session in the file's directory hands over.
    #[serde(rename = "requested")]
    Here {
        /// The checkpoint that it names.
        checkpoint: String,
    },
    Malformed {
        /// What is wrong with it, as part of a sentence.
        reason: String,
    },
}

impl RestartSignal {
    /// The file with this content.
    pub fn file(&self) -> SignalFile {
        match self {
            RestartSignal::Here { .. } => SignalFile::OfProject,
            _ => SignalFile::OfUser,
        }
    }
}

/// A file that can request a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalFile {
    /// The one in Claude's directory, for all sessions.
    #[default]
    #[serde(rename = "restart_session")]
    OfUser,
    #[serde(rename = "handoff_requested")]
    OfProject,
}

/// What the directory in a signal is to the session that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamedDir {
    /// The session's own, with links resolved.
    Own,
    /// Another one, which this user owns and Claude trusts.
    Trusted,
    /// Another one that Claude does not trust.
    Untrusted,
    /// Another one, owned by another user.
    Foreign,
    Missing,
}

impl NamedDir {
    /// Why a session does not start there; `None` if it may.
    pub fn refusal(self) -> Option<&'static str> {
        match self {
            NamedDir::Own | NamedDir::Trusted => None,
            NamedDir::Untrusted => Some("Claude does not trust it (start `claude` there once)"),
            NamedDir::Foreign => Some("it belongs to another user"),
            NamedDir::Missing => Some("there is no such directory"),
        }
    }
}
