//! Which conversations are open, according to Claude's own files and hopty's sessions.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::claude::sessions_file;
use crate::core::ids::{ConversationId, SessionName};
use crate::fs::paths::Paths;
use crate::fs::session;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct OpenBy {
    pub pid: Option<u32>,
    /// The session that it belongs to; between two runs it has no process.
    pub session: Option<SessionName>,
}

impl OpenBy {
    /// As part of a sentence, such as `session rocket` or `Claude with pid 7`.
    pub fn words(&self) -> String {
        match (&self.session, self.pid) {
            (Some(name), _) => format!("session {name}"),
            (None, Some(pid)) => format!("Claude with pid {pid}"),
            (None, None) => "a program".to_owned(),
        }
    }

    pub fn json(&self) -> Value {
        json!({"pid": self.pid, "session": self.session})
    }
}

#[derive(Debug, Default)]
pub(in crate::cli) struct OpenConversations(HashMap<ConversationId, OpenBy>);

impl OpenConversations {
    /// Reads Claude's files of running sessions (written since 2.1.197) and the files of hopty's live
    /// sessions (with any version).
    pub fn look(paths: &Paths) -> Self {
        let mut open: HashMap<ConversationId, OpenBy> = HashMap::new();
        for living in sessions_file::living(&paths.claude.join("sessions")) {
            open.entry(living.conversation).or_default().pid = Some(living.pid);
        }
        for name in session::live_names(paths) {
            let status = session::status(&paths.session(&name)).ok().flatten();
            if let Some(id) = status.and_then(|status| status.conversation) {
                open.entry(id).or_default().session = Some(name);
            }
        }
        OpenConversations(open)
    }

    pub fn get(&self, id: &ConversationId) -> Option<&OpenBy> {
        self.0.get(id)
    }
}
