//! The prompt box: its draft, and whether the draft is a given prompt.
//!
//! A screen shows the draft wrapped and loses the blanks and line ends at the end of a row. A person's draft
//! is joined again as well as possible; a prompt of hopty's is compared without white space.
//! [`super::screen_reading`] finds the box on a screen.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

use crate::core::text::squeeze::squeeze;

/// The effect of Enter on the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxMode {
    /// Submit it as a prompt.
    Prompt,
    /// Run it as a shell command (the sign is `!`).
    Shell,
}

/// The prompt box that has the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenPromptBox {
    /// The draft without placeholder and suggestion, its wrapped rows joined as well as the screen allows.
    pub text: String,
    /// The draft contains a fold (`[Pasted text #1 +11 lines]`), so that `text` is incomplete.
    pub folded: bool,
    /// The screen rows between the two edges.
    pub rows: Range<usize>,
    pub mode: BoxMode,
    /// Rows of the draft that are scrolled away above and below, according to the edges (2.1.329,
    /// full-screen; 2.1.300 cuts a long draft without saying so).
    pub hidden: (usize, usize),
    /// If the whole text is one fold: the number of line ends in what was folded.
    pub(super) fold: Option<usize>,
    /// How many columns of text fit in a row.
    pub(super) width: usize,
}

impl ScreenPromptBox {
    /// A box that contains this text.
    #[cfg(test)]
    pub(crate) fn of_text(text: &str) -> Self {
        ScreenPromptBox {
            text: text.to_owned(),
            folded: false,
            rows: 0..1,
            mode: BoxMode::Prompt,
            hidden: (0, 0),
            fold: None,
            width: 80,
        }
    }

    /// Whether the box contains exactly `prompt`, or the fold of it.
    ///
    /// White space is not compared, because wrapping hides it. Of a draft that is taller than the box, the
    /// visible end is compared, and the number of hidden rows must fit the rest of `prompt`.
    pub fn holds(&self, prompt: &str) -> bool {
        if self.mode != BoxMode::Prompt || self.hidden.1 > 0 {
            return false;
        }
        if let Some(line_ends) = self.fold {
            return line_ends == prompt.matches('\n').count();
        }
        let (want, have) = (squeeze(prompt), squeeze(&self.text));
        match self.hidden.0 {
            0 => !want.is_empty() && want == have,
            above => {
                !have.is_empty()
                    && want.ends_with(&have)
                    && wrapped_rows(prompt, self.width) == above + self.rows.len()
            }
        }
    }
}

/// Joins wrapped rows: a row was wrapped if the next word did not fit.
pub(super) fn join(lines: &[String], width: usize) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(before) = at.checked_sub(1).map(|at| &lines[at]) {
            let next = line.split(' ').next().unwrap_or_default().width();
            let last = before.rsplit(' ').next().unwrap_or_default().width();
            text.push_str(match before.width() {
                _ if next == 0 || before.is_empty() => "\n",
                used if used + 1 + next <= width => "\n",
                used if used + 1 >= width && last + next > width => "",
                _ => " ",
            });
        }
        text.push_str(line);
    }
    text.truncate(text.trim_end().len());
    text
}

/// How many rows of `width` columns a text fills when it is wrapped at blanks.
fn wrapped_rows(text: &str, width: usize) -> usize {
    let width = width.max(1);
    let rows_of = |line: &str| {
        let (mut rows, mut used) = (1, 0);
        for word in line.split(' ').map(UnicodeWidthStr::width) {
            if used > 0 && used + 1 + word > width {
                rows += 1;
                used = 0;
            }
            used += word + usize::from(used > 0);
            while used > width {
                rows += 1;
                used -= width;
            }
        }
        rows
    };
    text.split('\n').map(rows_of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> ScreenPromptBox {
        ScreenPromptBox {
            text: text.into(),
            folded: false,
            rows: 0..1,
            mode: BoxMode::Prompt,
            hidden: (0, 0),
            fold: None,
            width: 20,
        }
    }

    #[test]
    fn only_the_whole_prompt_and_nothing_else_is_held() {
        let prompt = "one two\nthree";
        assert!(shown("one two three").holds(prompt));
        assert!(!shown("one two").holds(prompt));
        assert!(!shown("draft one two three").holds(prompt));
        assert!(!shown("one two three x").holds(prompt));
        assert!(!shown("").holds(prompt));
        assert!(!shown("").holds(""));
        assert!(!shown("").holds(" \n"));
    }

    #[test]
    fn a_shell_box_holds_no_prompt() {
        assert!(!ScreenPromptBox { mode: BoxMode::Shell, ..shown("ls") }.holds("ls"));
    }

    #[test]
    fn a_fold_must_have_as_many_lines() {
        let folded = ScreenPromptBox { folded: true, fold: Some(2), ..shown("[Pasted text #1 +2 lines]") };
        assert!(folded.holds("a\nb\nc"));
        assert!(!folded.holds("a\nb"));
        assert!(
            !ScreenPromptBox { folded: true, fold: None, ..shown("x [Pasted text #1 +2 lines]") }
                .holds("a\nb\nc")
        );
    }

    #[test]
    fn of_a_cut_draft_the_end_and_the_height_must_fit() {
        let prompt = "aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd";
        let cut = ScreenPromptBox { hidden: (2, 0), rows: 3..5, ..shown("cccccccccc dddddddddd") };
        assert!(cut.holds(prompt));
        assert!(!ScreenPromptBox { hidden: (3, 0), ..cut.clone() }.holds(prompt), "a draft stands before it");
        assert!(!ScreenPromptBox { hidden: (2, 1), ..cut.clone() }.holds(prompt), "its end is not seen");
        assert!(!ScreenPromptBox { text: "dddd x".into(), ..cut }.holds(prompt));
    }

    #[test]
    fn rows_are_joined_as_they_were_wrapped() {
        let join = |rows: &[&str]| join(&rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>(), 10);
        assert_eq!(join(&["one two", "three"]), "one two three");
        assert_eq!(join(&["one", "two"]), "one\ntwo");
        assert_eq!(join(&["one", "", "two"]), "one\n\ntwo");
        assert_eq!(join(&["xxxxxxxxxx", "xxxx y"]), "xxxxxxxxxxxxxx y");
        assert_eq!(join(&["a", "  indented"]), "a\n  indented");
        assert_eq!(join(&["", ""]), "");
        assert_eq!(join(&[]), "");
    }

    #[test]
    fn wrapping_counts_rows() {
        assert_eq!(wrapped_rows("", 10), 1);
        assert_eq!(wrapped_rows("one two", 10), 1);
        assert_eq!(wrapped_rows("one two three", 10), 2);
        assert_eq!(wrapped_rows("one\ntwo", 10), 2);
        assert_eq!(wrapped_rows(&"x".repeat(25), 10), 3);
        assert_eq!(wrapped_rows("x", 0), 1);
    }
}
