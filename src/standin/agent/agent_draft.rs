//! The content of the prompt box: typed characters and folded pastes, with a cursor.

use uuid::Uuid;

/// A paste with more characters is folded, and wrapped for the model (measured: 801 is, 800 is not).
const FOLD_CHARS: usize = 800;
/// A paste with more lines is folded, too (measured: 4 are, 3 are not).
const FOLD_LINES: usize = 3;

/// One cell of the box.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DraftCell {
    Char(char),
    /// A folded paste: its number and its text.
    Fold(usize, String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AgentDraft {
    cells: Vec<DraftCell>,
    cursor: usize,
    pastes: usize,
}

impl AgentDraft {
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether a paste is folded.
    pub(super) fn has_fold(&self) -> bool {
        self.cells.iter().any(|c| matches!(c, DraftCell::Fold(..)))
    }

    /// Types characters at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        for c in text.chars().filter(|c| *c == '\n' || !c.is_control()) {
            self.put(DraftCell::Char(c));
        }
    }

    /// Pastes: folded when it is long.
    pub(super) fn paste(&mut self, text: &str) {
        if text.chars().count() > FOLD_CHARS || text.split('\n').count() > FOLD_LINES {
            self.pastes += 1;
            self.put(DraftCell::Fold(self.pastes, text.to_owned()));
        } else {
            self.insert(text);
        }
    }

    fn put(&mut self, cell: DraftCell) {
        self.cells.insert(self.cursor, cell);
        self.cursor += 1;
    }

    /// Removes the cell before the cursor.
    pub(super) fn backspace(&mut self) {
        if self.cursor > 0 {
            self.cursor -= 1;
            self.cells.remove(self.cursor);
        }
    }

    /// Removes the line up to the cursor.
    pub(super) fn kill_line(&mut self) {
        let start = self.line_start();
        self.cells.drain(start..self.cursor);
        self.cursor = start;
    }

    pub(super) fn clear(&mut self) {
        self.cells.clear();
        self.cursor = 0;
    }

    /// Moves the cursor by this many cells.
    pub(super) fn step(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.cells.len());
    }

    pub(super) fn home(&mut self) {
        self.cursor = self.line_start();
    }

    pub(super) fn end(&mut self) {
        let rest = self.cells[self.cursor..].iter().position(|c| *c == DraftCell::Char('\n'));
        self.cursor = rest.map_or(self.cells.len(), |n| self.cursor + n);
    }

    /// Handles Enter after a `\`: replaces it by a line break; false if there is none.
    pub(super) fn takes_break(&mut self) -> bool {
        let before = self.cursor.checked_sub(1).and_then(|n| self.cells.get_mut(n));
        match before {
            Some(cell) if *cell == DraftCell::Char('\\') => {
                *cell = DraftCell::Char('\n');
                true
            }
            _ => false,
        }
    }

    fn line_start(&self) -> usize {
        self.cells[..self.cursor].iter().rposition(|c| *c == DraftCell::Char('\n')).map_or(0, |n| n + 1)
    }

    /// The shown text, split at the cursor.
    pub(super) fn shown(&self) -> (String, String) {
        let text = |cells: &[DraftCell]| cells.iter().map(sign).collect();
        (text(&self.cells[..self.cursor]), text(&self.cells[self.cursor..]))
    }

    /// Empties the box. Returns the text for the model, and the text to show.
    pub(super) fn submit(&mut self) -> (String, String) {
        let text = self.cells.iter().map(wrapped).collect();
        let shown = self.cells.iter().map(plain).collect();
        self.clear();
        self.pastes = 0;
        (text, shown)
    }
}

fn sign(cell: &DraftCell) -> String {
    match cell {
        DraftCell::Char(c) => c.to_string(),
        DraftCell::Fold(n, text) => match text.matches('\n').count() {
            0 => format!("[Pasted text #{n}]"),
            lines => format!("[Pasted text #{n} +{lines} lines]"),
        },
    }
}

/// Pasted text is marked, so that the model does not take it for the user's own words (measured on 2.1.329).
fn wrapped(cell: &DraftCell) -> String {
    match cell {
        DraftCell::Char(c) => c.to_string(),
        DraftCell::Fold(_, text) => {
            let id = &Uuid::new_v4().simple().to_string()[..4];
            format!("\n\n<pasted_content id=\"{id}\">\n{text}\n</pasted_content id=\"{id}\">\n")
        }
    }
}

fn plain(cell: &DraftCell) -> String {
    match cell {
        DraftCell::Char(c) => c.to_string(),
        DraftCell::Fold(_, text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pastes_are_folded_and_wrapped_and_short_ones_are_not() {
        let mut draft = AgentDraft::default();
        draft.paste("l1\nl2\nl3\nl4\nl5");
        draft.insert(" tail");
        assert_eq!(draft.shown().0, "[Pasted text #1 +4 lines] tail");
        let (text, shown) = draft.submit();
        assert!(
            text.starts_with("\n\n<pasted_content id=\"")
                && text.contains("\nl1\nl2\nl3\nl4\nl5\n</pasted_content id=\"")
        );
        assert!(text.ends_with(">\n tail"));
        assert_eq!(shown, "l1\nl2\nl3\nl4\nl5 tail");
        for (text, folded) in [("a\nb\nc", false), ("a\nb\nc\nd", true)] {
            let mut draft = AgentDraft::default();
            draft.paste(text);
            assert_eq!(draft.has_fold(), folded);
        }
        draft.paste(&"y".repeat(801));
        assert_eq!(draft.shown().0, "[Pasted text #1]");
        draft.backspace();
        assert!(draft.is_empty());
    }

    #[test]
    fn lines_are_edited_one_by_one() {
        let mut draft = AgentDraft::default();
        draft.insert("one\\");
        assert!(draft.takes_break());
        draft.insert("two");
        assert!(!draft.takes_break());
        draft.kill_line();
        assert_eq!(draft.shown(), ("one\n".into(), String::new()));
        draft.step(-2);
        draft.home();
        draft.insert("X");
        draft.end();
        assert_eq!(draft.shown(), ("Xone".into(), "\n".into()));
        draft.step(-99);
        draft.backspace();
        draft.step(99);
        assert_eq!(draft.shown().1, "");
    }
}
