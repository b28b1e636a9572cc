//! The files that Claude's tools wrote.

use std::collections::HashMap;

use super::call_answer::CallAnswer;

/// How many paths are kept.
pub const FILE_CAP: usize = 2000;

/// The files by their last touch.
#[derive(Clone, Debug, Default)]
pub struct TouchedFiles {
    /// The number of the last touch of each file, and whether its first touch created it.
    last: HashMap<String, (u64, bool)>,
    next: u64,
    forgotten: u64,
}

impl TouchedFiles {
    /// Takes the answer of a tool.
    pub(super) fn take_answer(&mut self, answer: &CallAnswer<'_>) {
        if let Some(path) = answer.written_path() {
            self.put(path, creates(answer));
        }
    }

    /// Notes a touch. A file that was created here stays created when it is modified later.
    fn put(&mut self, path: &str, creates: bool) {
        self.next += 1;
        let created = self.last.get(path).map_or(creates, |(_, first)| *first);
        self.last.insert(path.to_owned(), (self.next, created));
        if self.last.len() >= 2 * FILE_CAP {
            let mut touches: Vec<u64> = self.last.values().map(|(touch, _)| *touch).collect();
            touches.sort_unstable();
            let oldest_kept = touches[touches.len() - FILE_CAP];
            let before = self.last.len();
            self.last.retain(|_, (touch, _)| *touch >= oldest_kept);
            self.forgotten += (before - self.last.len()) as u64;
        }
    }

    /// How many files were touched. A file that was forgotten and touched again counts twice.
    pub fn count(&self) -> u64 {
        self.last.len() as u64 + self.forgotten
    }

    /// The paths, the last touched first, at most 2,000.
    pub fn newest_first(&self) -> Vec<String> {
        let mut all: Vec<(&String, u64)> =
            self.last.iter().map(|(path, (touch, _))| (path, *touch)).collect();
        all.sort_unstable_by_key(|(_, touch)| std::cmp::Reverse(*touch));
        all.into_iter().take(FILE_CAP).map(|(path, _)| path.clone()).collect()
    }

    /// Whether the file was created in this conversation.
    pub fn created(&self, path: &str) -> bool {
        self.last.get(path).is_some_and(|(_, created)| *created)
    }
}

/// Whether a tool created its file: Write says so in its structured answer, or (1.x to 2.1) in its text.
fn creates(answer: &CallAnswer<'_>) -> bool {
    match answer.detail.and_then(|detail| detail.wrote.as_deref()) {
        Some(word) => word == "create",
        None => {
            let is_write = answer.call.is_some_and(|call| call.name == "Write");
            is_write && answer.result.text.starts_with("File created")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::transcript_line::{ResultDetail, ToolInput, ToolResult, ToolUse};

    #[test]
    fn files_are_ordered_by_their_last_touch_and_bounded() {
        let mut files = TouchedFiles::default();
        for path in ["a", "b", "a"] {
            files.put(path, false);
        }
        files.put("b", true);
        files.put("a", false);
        assert!(!files.created("b"), "it was there before");
        assert_eq!(files.newest_first(), ["a", "b"]);
        for n in 0..5 * FILE_CAP {
            files.put(&n.to_string(), true);
        }
        let newest = files.newest_first();
        assert_eq!(newest.len(), FILE_CAP);
        assert_eq!(newest[0], (5 * FILE_CAP - 1).to_string());
        assert_eq!(files.count(), 5 * FILE_CAP as u64 + 2);
        assert!(files.last.len() < 2 * FILE_CAP);
    }

    #[test]
    fn the_tool_says_whether_it_created_a_file() {
        let mut files = TouchedFiles::default();
        let mut take = |name: &str, path: &str, is_error, text: &str, wrote: Option<&str>| {
            let input = ToolInput { path: Some(path.into()), ..ToolInput::default() };
            let call = ToolUse { id: "t".into(), name: name.into(), input };
            let result = ToolResult { id: "t".into(), is_error, text: text.into() };
            let detail = ResultDetail { wrote: wrote.map(Into::into), ..ResultDetail::default() };
            files.take_answer(&CallAnswer { call: Some(&call), result: &result, detail: Some(&detail) });
        };
        take("Write", "/a", false, "ok", Some("create"));
        take("Write", "/b", false, "File created successfully", Some("update"));
        take("Write", "/c", false, "File created successfully", None);
        take("Edit", "/d", false, "File created successfully", None);
        take("Edit", "/e", true, "refused", None);
        take("Read", "/f", false, "", None);
        let made: Vec<_> =
            files.newest_first().into_iter().map(|path| (files.created(&path), path)).collect();
        let made: Vec<_> = made.iter().map(|(created, path)| (path.as_str(), *created)).collect();
        assert_eq!(made, [("/d", false), ("/c", true), ("/b", false), ("/a", true)]);
    }
}
