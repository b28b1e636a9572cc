//! The small files by which scripts and hopty talk: `.restart-session`, `.current-session`.
//!
//! Reading them is hostile input: whatever they hold, the worst that follows is a line in the journal.

use serde::{Deserialize, Serialize};

use crate::core::ids::ConversationId;

/// The largest signal file that is read, in bytes.
pub const MAX_BYTES: usize = 8192;

/// What a `.restart-session` file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "form")]
pub enum RestartFile {
    /// `uuid:dir`, the usual form: this conversation, started again in this directory.
    Named {
        /// The conversation that is to hand over.
        conversation: ConversationId,
        /// The directory named, absolute; the supervisor decides whether it is taken.
        dir: Option<String>,
    },
    /// A bare absolute directory (the second source document's form, `$PWD`).
    Bare {
        /// The directory named.
        dir: String,
    },
    /// `.handoff-requested` of an orchestrator: whoever works in its directory.
    Requested {
        /// The checkpoint that it names.
        checkpoint: String,
    },
    /// Anything else.
    Malformed {
        /// What is wrong with it, fit for a sentence.
        reason: String,
    },
}

/// A file by which a restart is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalFile {
    /// `.restart-session` in Claude's directory.
    #[default]
    RestartSession,
    /// `.handoff-requested` in the project.
    HandoffRequested,
}

/// What the directory is that a signal names, to the session that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamedDir {
    /// The session's own, with links resolved.
    Own,
    /// Another one, which this user owns and Claude trusts.
    Trusted,
    /// Another one that Claude does not trust.
    Untrusted,
    /// Another one, which somebody else owns.
    Foreign,
    /// It is no directory.
    Missing,
}

impl NamedDir {
    /// Why a session does not start there; `None` where it may.
    #[must_use]
    pub fn refusal(self) -> Option<&'static str> {
        match self {
            NamedDir::Own | NamedDir::Trusted => None,
            NamedDir::Untrusted => Some("Claude does not trust it (start `claude` there once)"),
            NamedDir::Foreign => Some("it belongs to another user"),
            NamedDir::Missing => Some("there is no such directory"),
        }
    }
}

impl RestartFile {
    /// Which file says such a thing.
    #[must_use]
    pub fn place(&self) -> SignalFile {
        match self {
            RestartFile::Requested { .. } => SignalFile::HandoffRequested,
            _ => SignalFile::RestartSession,
        }
    }

    /// Reads the content of a signal file.
    #[must_use]
    pub fn parse(content: &[u8]) -> Self {
        let malformed = |reason: &str| RestartFile::Malformed { reason: reason.to_owned() };
        if content.len() > MAX_BYTES {
            return malformed("it is too large");
        }
        let Ok(text) = std::str::from_utf8(content) else {
            return malformed("it is not text");
        };
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.is_empty() {
            return malformed("it is empty");
        }
        if text.chars().any(char::is_control) {
            return malformed("it has control characters or more than one line");
        }
        if text.starts_with('/') {
            return RestartFile::Bare { dir: text.to_owned() };
        }
        let (id, dir) = match text.split_once(':') {
            Some((id, dir)) => (id, Some(dir)),
            None => (text, None),
        };
        let Ok(conversation) = id.parse::<ConversationId>() else {
            return malformed("it names neither a conversation nor an absolute path");
        };
        match dir {
            Some("") | None => RestartFile::Named { conversation, dir: None },
            Some(dir) if dir.starts_with('/') => {
                RestartFile::Named { conversation, dir: Some(dir.to_owned()) }
            }
            Some(_) => malformed("its directory is not absolute"),
        }
    }
}

/// `uuid:path`, the content of `.current-session`.
#[must_use]
pub fn current_session(conversation: &ConversationId, transcript: &str) -> String {
    format!("{conversation}:{transcript}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

    #[test]
    fn item_022_the_forms_that_are_obeyed() {
        let named = RestartFile::parse(format!("{ID}:/home/u/proj\n").as_bytes());
        assert_eq!(
            named,
            RestartFile::Named { conversation: ID.parse().unwrap(), dir: Some("/home/u/proj".to_owned()) }
        );
        assert_eq!(
            RestartFile::parse(ID.as_bytes()),
            RestartFile::Named { conversation: ID.parse().unwrap(), dir: None }
        );
        assert_eq!(RestartFile::parse(b"/home/u/proj"), RestartFile::Bare { dir: "/home/u/proj".to_owned() });
    }

    #[test]
    fn forty_malformed_files_are_malformed() {
        let mut cases: Vec<Vec<u8>> = [
            "",
            "\n",
            "test",
            "restart",
            "..",
            "~",
            "./x",
            "$PWD",
            "null",
            "{}",
            "[]",
            "{\"id\":1}",
            ":/home",
            "::",
            ":",
            "a:b",
            "not-a-uuid:/home/u",
            "c74cc080:/home/u",
            "c74cc080-94b9-4841-b82f-a62cfb8efdcg:/x",
            "0:0",
            "-rf:/",
        ]
        .iter()
        .map(|s| s.as_bytes().to_vec())
        .collect();
        cases.push(format!("{ID}:relative").into_bytes());
        cases.push(format!("{ID}:~/x").into_bytes());
        cases.push(format!("{ID}:$(id)").into_bytes());
        cases.push(format!("{ID}\n{ID}").into_bytes());
        cases.push(format!("{ID}:/x\n/y").into_bytes());
        cases.push(format!("{ID}:/x\0").into_bytes());
        cases.push(format!("{ID}:/\u{1b}[2J").into_bytes());
        cases.push(format!(" {ID}:/x").into_bytes());
        cases.push(format!("{ID} :/x").into_bytes());
        cases.push(vec![0xff, 0xfe, b'/']);
        cases.push(vec![0; 64]);
        cases.push(vec![b'/'; MAX_BYTES + 1]);
        cases.push(vec![b'a'; 1 << 20]);
        cases.push(b"\xef\xbb\xbf/home".to_vec());
        cases.push(b"/home\x07".to_vec());
        cases.push(b"\t".to_vec());
        cases.push(b"c74cc08094b94841b82fa62cfb8efdc0:/x".to_vec());
        cases.push(b"HO-20261120-142950-c74cc080".to_vec());
        cases.push(b"https://example.invalid/x".to_vec());
        assert!(cases.len() >= 40, "{}", cases.len());
        for case in cases {
            let parsed = RestartFile::parse(&case);
            assert!(
                matches!(parsed, RestartFile::Malformed { .. }),
                "{:?} -> {parsed:?}",
                String::from_utf8_lossy(&case)
            );
        }
    }
}
