//! The small files between scripts and hopty: `.restart-session` and `.current-session`.
//!
//! The input is hostile: whatever the files contain, the worst result is a line in the journal.

use crate::core::ids::ConversationId;
use crate::core::supervisor::restart_signal::RestartSignal;

/// The file in Claude's directory that asks for a restart.
pub const RESTART_SESSION: &str = ".restart-session";
/// The largest signal file that is read, in bytes.
pub const MAX_BYTES: usize = 8192;

/// Reads `.restart-session`: `uuid:dir`, a bare `uuid`, or an absolute directory (`$PWD`, the form of the
/// second source document).
pub fn restart_session(content: &[u8]) -> RestartSignal {
    let malformed = |reason: &str| RestartSignal::Malformed { reason: reason.to_owned() };
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
        return RestartSignal::Directory { dir: text.to_owned() };
    }
    let (id, dir) = match text.split_once(':') {
        Some((id, dir)) => (id, Some(dir)),
        None => (text, None),
    };
    let Ok(conversation) = id.parse::<ConversationId>() else {
        return malformed("it names neither a conversation nor an absolute path");
    };
    match dir {
        Some("") | None => RestartSignal::Conversation { conversation, dir: None },
        Some(dir) if dir.starts_with('/') => {
            RestartSignal::Conversation { conversation, dir: Some(dir.to_owned()) }
        }
        Some(_) => malformed("its directory is not absolute"),
    }
}
/// `.current-session`: the conversation of a session and its transcript, for scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentSession {
    pub conversation: ConversationId,
    pub transcript: String,
}

impl CurrentSession {
    /// The file in Claude's directory.
    pub const FILE: &str = ".current-session";
    /// The longest text that is read, in bytes.
    pub const CAP: u64 = MAX_BYTES as u64;

    /// Reads the file's text; `None` if it names no conversation.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, transcript) = text.trim_end_matches('\n').split_once(':')?;
        Some(CurrentSession { conversation: id.parse().ok()?, transcript: transcript.to_owned() })
    }

    /// `uuid:path`, the file's text.
    pub fn render(&self) -> String {
        format!("{}:{}\n", self.conversation, self.transcript)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

    #[test]
    fn item_022_the_forms_that_are_obeyed() {
        let named = restart_session(format!("{ID}:/home/u/proj\n").as_bytes());
        assert_eq!(
            named,
            RestartSignal::Conversation {
                conversation: ID.parse().unwrap(),
                dir: Some("/home/u/proj".to_owned())
            }
        );
        assert_eq!(
            restart_session(ID.as_bytes()),
            RestartSignal::Conversation { conversation: ID.parse().unwrap(), dir: None }
        );
        assert_eq!(
            restart_session(b"/home/u/proj"),
            RestartSignal::Directory { dir: "/home/u/proj".to_owned() }
        );
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
            let parsed = restart_session(&case);
            assert!(
                matches!(parsed, RestartSignal::Malformed { .. }),
                "{:?} -> {parsed:?}",
                String::from_utf8_lossy(&case)
            );
        }
    }
}
