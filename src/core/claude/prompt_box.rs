//! The prompt box: the draft that stands in it, and whether that is a given prompt.
//!
//! A screen shows a draft wrapped, so blanks and line ends at a row's end are lost: the text is put together
//! again as well as possible for a person's draft, and compared without white space for a prompt of ours. How
//! the box is found on a screen is in [`super::screen_reading`].

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

/// What Enter would do with a box's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxMode {
    /// It becomes a prompt.
    Prompt,
    /// It is run as a shell command (the sign is `!`).
    Shell,
}

/// The live prompt box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenPromptBox {
    /// The draft: wrapped rows joined again as well as the screen allows, placeholder and suggestion left
    /// out.
    pub text: String,
    /// A fold sign (`[Pasted text #1 +11 lines]`) stands in the draft: `text` is not all of it.
    pub folded: bool,
    /// The screen rows between the two edges.
    pub rows: Range<usize>,
    /// What Enter would do.
    pub mode: BoxMode,
    /// Rows of the draft that are scrolled away above and below, as the edges tell (2.1.329, fullscreen;
    /// 2.1.300 cuts a long draft there without a word).
    pub hidden: (usize, usize),
    /// When the whole text is one fold sign: the line ends in what was folded.
    pub(super) fold: Option<usize>,
    /// Columns that a row of text may fill.
    pub(super) width: usize,
}

impl ScreenPromptBox {
    /// A box that holds this text.
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

    /// Whether the box holds exactly `prompt`, or the fold sign that a paste of it would leave.
    ///
    /// White space is not compared, because wrapping hides where it was. Of a draft that is taller than the
    /// box the visible end is compared, and the hidden rows must be as many as the rest of `prompt` fills.
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

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Puts wrapped rows together: a row was wrapped when the next word had no room on it.
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
