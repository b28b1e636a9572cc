//! Where a conversation belongs: the directory and the id that its lines name, and the directory of its
//! transcripts.

use serde::Deserialize;

use super::loose::Text;
use crate::core::ids::ConversationId;

/// What a line of a transcript says of its conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The conversation (`sessionId`).
    pub conversation: Option<ConversationId>,
    /// The working directory (`cwd`) that it began in, an absolute path.
    pub dir: Option<String>,
    /// The one that the last line names, where lines are followed to the end.
    pub now: Option<String>,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default, rename = "sessionId")]
    session_id: Text<64>,
    #[serde(default)]
    cwd: Text<4096>,
}

impl Place {
    /// Adds what `line` says and was not known before; whether all of it is known now.
    pub fn learn(&mut self, line: &[u8]) -> bool {
        if (self.conversation.is_none() || self.dir.is_none())
            && let Ok(raw) = serde_json::from_slice::<Raw>(line)
        {
            self.conversation = self.conversation.take().or_else(|| raw.session_id.0?.parse().ok());
            self.dir = self.dir.take().or_else(|| raw.cwd.0.filter(|dir| dir.starts_with('/')));
        }
        self.conversation.is_some() && self.dir.is_some()
    }

    /// The same, and where the conversation works now.
    pub fn follow(&mut self, line: &[u8]) {
        self.learn(line);
        let named = serde_json::from_slice::<Raw>(line)
            .ok()
            .and_then(|raw| raw.cwd.0)
            .filter(|dir| dir.starts_with('/'));
        self.now = named.or_else(|| self.now.take());
    }

    /// The directory that it went to, where that is not `dir`.
    #[must_use]
    pub fn moved_from(&self, dir: &str) -> Option<String> {
        self.now.clone().filter(|now| now != dir)
    }
}

/// The name of the directory below `C/projects` that holds a project's transcripts: everything but ASCII
/// letters and digits is a `-` (measured on 2.1.329). Claude cuts long ones, so a name that is not there
/// proves nothing.
#[must_use]
pub fn project_dir_name(dir: &str) -> String {
    dir.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_where_they_belong() {
        let mut place = Place::default();
        assert!(
            !place.learn(b"{\"type\":\"mode\"}")
                && !place.learn(b"torn")
                && !place.learn(b"{\"cwd\":7,\"sessionId\":[]}")
        );
        assert!(!place.learn(b"{\"cwd\":\"relative\"}") && !place.learn(b"{\"cwd\":\"/home/u/proj\"}"));
        assert!(place.learn(b"{\"cwd\":\"/else\",\"sessionId\":\"c74cc080-94b9-4841-b82f-a62cfb8efdc0\"}"));
        assert_eq!(place.dir.as_deref(), Some("/home/u/proj"));
        assert_eq!(place.moved_from("/home/u/proj"), None, "nothing is followed yet");
        for line in ["{\"cwd\":\"/home/u/tree\"}", "{\"type\":\"mode\"}", "{\"cwd\":\"relative\"}", "torn"] {
            place.follow(line.as_bytes());
            assert_eq!(place.moved_from("/home/u/proj").as_deref(), Some("/home/u/tree"), "{line}");
        }
        assert_eq!((place.dir.as_deref(), place.moved_from("/home/u/tree")), (Some("/home/u/proj"), None));
        assert_eq!(project_dir_name("/home/u/my.proj_1"), "-home-u-my-proj-1");
    }
}
