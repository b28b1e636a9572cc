//! The rows of a session's screen from its host, and which parts of them are new since a mark.

use std::ops::Range;

use regex::Regex;

use super::error::VerbError;
use super::exit_codes::FAILED;
use crate::core::ids::SessionName;
use crate::core::screen_mark::ScreenMark;
use crate::ipc::answers::RowsAnswer;
use crate::ipc::message::{Code, Request, Wait, WaitFor};

#[derive(Debug, Default)]
pub(super) struct ScreenRows {
    /// All rows, as lines.
    text: String,
    /// The offset of each row in `text`.
    starts: Vec<usize>,
    /// The new parts of it; `None` without a mark.
    new: Option<Vec<Range<usize>>>,
    cursor: usize,
    /// For the next request.
    pub revision: Option<u64>,
}

impl ScreenRows {
    /// The request for a screen with another revision than `after`.
    pub fn request(after: Option<u64>, mark: Option<ScreenMark>, timeout_ms: u64) -> Request {
        Request::Wait(Wait { wanted: WaitFor::Text, since: 0, after, mark, timeout_ms })
    }

    /// Reads an answer; `None` if the screen has not changed in time.
    ///
    /// # Errors
    /// When the host has no screen, or keeps no marks.
    pub fn read(
        answer: &RowsAnswer,
        name: &SessionName,
        mark: Option<ScreenMark>,
    ) -> Result<Option<Self>, VerbError> {
        if answer.degraded {
            return Err(super::screen::degraded(name));
        }
        let Some(rows) = &answer.rows else { return Ok(None) };
        let mut screen = ScreenRows { revision: answer.revision, ..ScreenRows::default() };
        for row in rows {
            if !screen.starts.is_empty() {
                screen.text.push('\n');
            }
            screen.starts.push(screen.text.len());
            screen.text.push_str(row);
        }
        if mark.is_some() {
            let new = answer.new.as_ref().ok_or_else(|| marks_unsupported(name))?;
            let at = |row: u16, byte: usize| Some(screen.starts.get(usize::from(row))? + byte);
            let range = |&(row, from, to): &(u16, usize, usize)| Some(at(row, from)?..at(row, to)?);
            screen.new = Some(new.iter().filter_map(range).collect());
            screen.cursor = answer.cursor.and_then(|(row, byte)| at(row, byte)).unwrap_or(0);
        }
        Ok(Some(screen))
    }

    /// Whether the pattern matches: anywhere, or with a mark, in a new part. `^` and `$` are the edges of a
    /// row.
    pub fn has(&self, pattern: &Regex) -> bool {
        match &self.new {
            None => self.has_anywhere(pattern),
            Some(new) => pattern
                .find_iter(&self.text)
                .any(|found| new.iter().any(|part| found.start() < part.end && part.start < found.end())),
        }
    }

    /// Whether the pattern matches, in a new part or not.
    pub fn has_anywhere(&self, pattern: &Regex) -> bool {
        pattern.is_match(&self.text)
    }

    /// Whether the text is right before the cursor and its end is new. The edge of the screen may have broken
    /// it.
    pub fn stands_at_cursor(&self, text: &str) -> bool {
        let text = text.trim_end_matches(' ');
        let before = self.text.get(..self.cursor).unwrap_or_default().trim_end_matches(' ');
        let is_new = |at: usize| self.new.iter().flatten().any(|part| part.contains(&at));
        let mut wanted = text.chars().rev().filter(|c| *c != '\n').peekable();
        let mut have = before.chars().rev().filter(|c| *c != '\n');
        let all = std::iter::from_fn(|| wanted.next().map(|c| Some(c) == have.next())).all(|same| same);
        all && !text.is_empty() && before.char_indices().next_back().is_some_and(|(at, _)| is_new(at))
    }

    pub fn is_same_as(&self, other: &ScreenRows) -> bool {
        (&self.text, self.cursor) == (&other.text, other.cursor)
    }
}

/// The error for a host of a version without marks.
pub(super) fn marks_unsupported(name: &SessionName) -> VerbError {
    VerbError::new(FAILED, "the session's host does not know marks")
        .about(name)
        .called(Code::Version)
        .hint("an older version of hopty started it: end and restart the session")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&str], new: &[(u16, usize, usize)], cursor: (u16, usize)) -> ScreenRows {
        let mark = ScreenMark { seq: 1, run: 1, frame: 1 };
        let rows = Some(rows.iter().map(|row| (*row).to_owned()).collect());
        let answer =
            RowsAnswer { rows, new: Some(new.to_vec()), cursor: Some(cursor), ..RowsAnswer::default() };
        ScreenRows::read(&answer, &"one".parse().unwrap(), Some(mark)).unwrap().unwrap()
    }

    fn has(rows: &ScreenRows, pattern: &str) -> (bool, bool) {
        let pattern = regex::RegexBuilder::new(pattern).multi_line(true).build().unwrap();
        (rows.has(&pattern), rows.has_anywhere(&pattern))
    }

    #[test]
    fn a_match_counts_where_one_of_its_characters_is_new() {
        let rows = rows(&["Done", "$ make", "Done", "$"], &[(2, 0, 4), (3, 0, 1)], (3, 1));
        assert_eq!(has(&rows, "^Done$"), (true, true));
        assert_eq!(has(&rows, "make"), (false, true));
        assert_eq!(has(&rows, "make\nDone"), (true, true), "over two rows");
        assert_eq!(has(&rows, "^"), (false, true), "an empty match is nowhere");
    }

    #[test]
    fn an_echo_ends_at_the_cursor() {
        let rows = rows(&["$ echo Do", "ne"], &[(0, 2, 9), (1, 0, 2)], (1, 2));
        assert!(rows.stands_at_cursor("echo Done") && rows.stands_at_cursor("Done "));
        assert!(!rows.stands_at_cursor("echo done") && !rows.stands_at_cursor(""));
        let old = self::rows(&["Done"], &[], (0, 4));
        assert!(!old.stands_at_cursor("Done"), "it stood there before");
    }

    #[test]
    fn an_older_host_does_not_know_marks() {
        let mark = ScreenMark { seq: 1, run: 1, frame: 1 };
        let answer = RowsAnswer { rows: Some(vec!["a".to_owned()]), ..RowsAnswer::default() };
        let failed = ScreenRows::read(&answer, &"one".parse().unwrap(), Some(mark));
        assert!(failed.unwrap_err().cause().contains("does not know marks"));
    }
}
