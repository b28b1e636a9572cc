//! Which conversation and directory a transcript belongs to, and the name of its directory.

use serde::Deserialize;

use super::lenient_json::Text;
use crate::core::ids::ConversationId;

/// The conversation and directory in the lines of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineContext {
    /// The conversation (`sessionId`).
    pub conversation: Option<ConversationId>,
    /// The working directory (`cwd`) in which it began, an absolute path.
    pub dir: Option<String>,
    /// The working directory of the last line, if lines are followed to the end.
    pub now: Option<String>,
}

#[derive(Deserialize)]
struct RawLineContext {
    #[serde(default, rename = "sessionId")]
    session_id: Text<64>,
    #[serde(default)]
    cwd: Text<4096>,
}

impl LineContext {
    /// Adds what `line` says. Returns whether everything is known now.
    pub fn learn(&mut self, line: &[u8]) -> bool {
        if (self.conversation.is_none() || self.dir.is_none())
            && let Ok(raw) = serde_json::from_slice::<RawLineContext>(line)
        {
            self.conversation = self.conversation.take().or_else(|| raw.session_id.0?.parse().ok());
            self.dir = self.dir.take().or_else(|| raw.cwd.0.filter(|dir| dir.starts_with('/')));
        }
        self.conversation.is_some() && self.dir.is_some()
    }

    /// The same, and the current working directory.
    pub fn follow(&mut self, line: &[u8]) {
        self.learn(line);
        let named = serde_json::from_slice::<RawLineContext>(line)
            .ok()
            .and_then(|raw| raw.cwd.0)
            .filter(|dir| dir.starts_with('/'));
        self.now = named.or_else(|| self.now.take());
    }

    /// The directory that it went to, if that is not `dir`.
    pub fn moved_from(&self, dir: &str) -> Option<String> {
        self.now.clone().filter(|now| now != dir)
    }
}

/// The longest name that Claude gives such a directory, without the hash behind it.
const NAME_CUT: usize = 200;

/// The name of the directory below `C/projects` that has a project's transcripts. Every UTF-16 unit except
/// ASCII letters and digits becomes a `-`; a long name ends with a hash of the whole path instead (measured
/// on 2.1.329 and 2.1.332). Two directories can have the same name.
pub fn project_dir_name(dir: &str) -> String {
    let mut name = uncut_project_dir_name(dir);
    if name.len() > NAME_CUT {
        name.truncate(NAME_CUT);
        name.push('-');
        name.push_str(&base36(path_sum(dir)));
    }
    name
}

/// The name in 2.0.76 and before, which is never cut.
pub fn uncut_project_dir_name(dir: &str) -> String {
    let name = |unit: u16| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric).map_or('-', char::from);
    dir.encode_utf16().map(name).collect()
}

fn path_sum(dir: &str) -> u32 {
    let sum = |sum: i32, unit: u16| sum.wrapping_mul(31).wrapping_add(i32::from(unit));
    dir.encode_utf16().fold(0, sum).unsigned_abs()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_where_they_belong() {
        let mut place = LineContext::default();
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
    }

    #[test]
    fn a_directory_of_transcripts_is_named_as_claude_names_it() {
        assert_eq!(project_dir_name("/home/u/my.proj_1"), "-home-u-my-proj-1");
        // A character outside the first plane has two UTF-16 units.
        assert_eq!(project_dir_name("/h/ž-🦓"), "-h-----");
        // Named by 2.1.332.
        let long = format!("/work/lab/move/p/{}/{}.é", "x".repeat(120), "y".repeat(120));
        let name = project_dir_name(&long);
        assert_eq!((name.len(), &name[200..]), (207, "-2ezptq"));
        assert_eq!(uncut_project_dir_name(&long).len(), 260);
        assert_eq!(base36(0), "0");
    }
}
