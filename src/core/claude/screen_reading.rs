//! Reads a screen of Claude Code: the prompt box with its draft, a dialog, and signs of work.
//!
//! Before hopty presses Enter, the live screen must justify it, because a stray Enter approves a permission
//! prompt. So reading is strict: the box counts only if the cursor confirms it, which no text of a model can
//! forge, and anything unknown is "no box" or "unknown dialog". Words, glyphs and forms are data
//! ([`super::screen_rules`]). Nothing is remembered between screens, and nothing is decided.
//!
//! Vim's normal mode looks the same as no vim at all, and only what fits on the screen is seen.

use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::permission::PermissionMode;
use super::prompt_box::join;
pub use super::prompt_box::{BoxMode, ScreenPromptBox};
use super::screen_rules::{BoxRule, CursorRule};
pub use super::screen_rules::{RulesError, ScreenRuleSet};

/// A screen as text, as the screen model has it.
#[derive(Clone, Debug, Default)]
pub struct ScreenText {
    /// The width of the screen in columns.
    pub cols: usize,
    /// The rows from the top. A wide character is one `char`. Blanks at the end of a row may be missing,
    /// no-break spaces not.
    pub rows: Vec<String>,
    /// The half-open column ranges of each row that are dim (SGR 2); a row without an entry has none.
    pub dim: Vec<Vec<(usize, usize)>>,
    /// The cursor as (column, row), 0-based, also while it is hidden.
    pub cursor: (usize, usize),
    /// The last window title (OSC 0 or 2).
    pub title: String,
}

/// The state of Claude on one screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenReading {
    /// The prompt box that has the keys; never together with a dialog.
    pub prompt_box: Option<ScreenPromptBox>,
    /// The dialog that has the keys instead.
    pub dialog: Option<Dialog>,
    /// Whether the lines around the box say that a turn is running. `None` without a box.
    pub busy_hint: Option<bool>,
    pub title_state: TitleState,
    /// The permission mode in the footer. `None` without a box, and if the footer names none or two.
    pub mode: Option<PermissionMode>,
}

/// The prefix of the window title. Claude shows the idle one also while it waits for a person (measured on
/// 2.1.329).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TitleState {
    /// Idle, or waiting for a person.
    Idle,
    /// A turn is running.
    Busy,
    /// Not a title of Claude's, or of an unknown form.
    #[default]
    Unknown,
}

/// A dialog, a menu or another view that has the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// The name in the data file, or `unknown`.
    pub name: String,
    /// Whether the data file has it.
    pub known: bool,
    /// Its first line; `None` if the upper edge is not visible.
    pub title: Option<String>,
    /// The selected line, without selector and number.
    pub selected: Option<String>,
    /// The one key that leads towards the answer in the data file; read the screen again after it. `None` if
    /// only a person may answer, as for permissions.
    pub press: Option<Press>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// Take the selected line.
    Enter,
    /// Move the selector up.
    Up,
    /// Move the selector down.
    Down,
}

impl ScreenRuleSet {
    pub fn read(&self, screen: &ScreenText) -> ScreenReading {
        let found = self.boxes.iter().find_map(|form| self.find_box(form, screen));
        let (prompt_box, dialog) = match found {
            Some(found) if any_in(&self.over_box, screen.below(found.rows.end)) => {
                (None, Some(self.dialog_from(screen, Some(found.rows.end))))
            }
            Some(found) => (Some(found), None),
            None => (None, self.find_dialog(screen)),
        };
        ScreenReading {
            busy_hint: prompt_box.as_ref().map(|found| self.is_busy(screen, &found.rows)),
            title_state: self.title_state(&screen.title),
            mode: prompt_box.as_ref().and_then(|found| self.mode(screen.below(found.rows.end))),
            prompt_box,
            dialog,
        }
    }

    /// How many numbered options the dialog on these rows has, at most 9; 0 if no line is selected or the
    /// lines have no numbers. `rows` are those of the screen, from the top.
    pub fn options(&self, rows: &[String]) -> u8 {
        let Some(at) = rows.iter().rposition(|row| self.inner(row).starts_with(&self.selector)) else {
            return 0;
        };
        let Some(selected) = self.numbered(&rows[at]) else { return 0 };
        // Lines that explain the first option may be between two options.
        let below = rows[at + 1..].iter().filter_map(|row| self.numbered(row));
        let last = below.fold(
            selected,
            |last, next| {
                if next.0 == last.0 && next.1 == last.1 + 1 { next } else { last }
            },
        );
        last.1.min(9)
    }

    /// The row of the first numbered option of the dialog on these rows.
    pub fn first_option(&self, rows: &[String]) -> Option<usize> {
        let at = rows.iter().rposition(|row| self.inner(row).starts_with(&self.selector))?;
        let (column, _) = self.numbered(&rows[at])?;
        rows[..=at].iter().rposition(|row| self.numbered(row) == Some((column, 1)))
    }

    /// The column of an option's number, and the number.
    fn numbered(&self, row: &str) -> Option<(usize, u8)> {
        let text = self.inner(row);
        let text = text.strip_prefix(self.selector.as_str()).unwrap_or(text).trim_start();
        let (number, _) = text.split_once(". ")?;
        let column = row[..row.find(text)?].width();
        Some((column, number.parse().ok().filter(|number| *number > 0)?))
    }

    fn title_state(&self, title: &str) -> TitleState {
        if begins_with_any(&self.title.busy, title) {
            TitleState::Busy
        } else if begins_with_any(&self.title.idle, title) {
            TitleState::Idle
        } else {
            TitleState::Unknown
        }
    }

    fn is_busy(&self, screen: &ScreenText, rows: &Range<usize>) -> bool {
        let above = screen.rows.get(..rows.start.saturating_sub(1)).unwrap_or_default();
        let mut near = above.iter().rev().take(self.busy.reach);
        any_in(&self.busy.footer, screen.below(rows.end))
            || near
                .find(|row| begins_with_any(&self.busy.glyphs, row))
                .is_some_and(|row| contains_any(&self.busy.text, row))
    }

    fn mode(&self, footer: &[String]) -> Option<PermissionMode> {
        let mut named = self.modes.iter().filter(|(_, words)| any_in(words, footer)).map(|(mode, _)| *mode);
        named.next().filter(|_| named.next().is_none())
    }

    /// Whether a row is the edge of a box: from the first column to the last, also with a title or a count in
    /// it.
    fn is_edge(&self, screen: &ScreenText, row: usize) -> bool {
        let rule = self.rule.as_str();
        screen.full_row(row).is_some_and(|text| text.starts_with(rule) && text.ends_with(rule))
    }

    fn find_box(&self, form: &BoxRule, screen: &ScreenText) -> Option<ScreenPromptBox> {
        let (cursor, height) = (screen.cursor.1, screen.rows.len());
        let is_edge = |row: &usize| self.is_edge(screen, *row);
        let lower = match form.cursor {
            CursorRule::Inside => (cursor..height).find(is_edge).filter(|row| *row > cursor)?,
            CursorRule::Below => {
                (cursor.saturating_sub(form.footer)..cursor.min(height)).rev().find(is_edge)?
            }
        };
        let upper = (0..cursor.min(lower)).rev().find(is_edge)?;
        let rows = upper + 1..lower;
        let hidden = [(upper, &self.more_above), (lower, &self.more_below)]
            .map(|(row, form)| form.find(&screen.rows[row]).map_or(0, |(_, count)| count));
        let top = screen.rows.get(rows.clone())?.first()?;
        let mode = match top {
            top if top.starts_with(&self.shell_sign) => BoxMode::Shell,
            top if hidden[0] > 0 || top.starts_with(&form.sign) => BoxMode::Prompt,
            _ => return None,
        };
        let signed = rows.start + usize::from(hidden[0] == 0);
        let is_indented = |row: &String| row.chars().take(self.indent).all(|c| c == ' ');
        if !screen.rows[signed..rows.end].iter().all(is_indented) {
            return None;
        }
        let width = screen.cols.saturating_sub(self.margin);
        let lifted = match form.cursor {
            CursorRule::Inside => screen.cursor,
            CursorRule::Below => (self.indent, rows.start),
        };
        let lines: Vec<_> = rows.clone().map(|row| screen.typed(row, self.indent, lifted)).collect();
        let text = join(&lines, width);
        let whole = self.folded.find(&text).map(|(at, _)| (at, 0));
        let fold = self.folded_lines.find(&text).or(whole);
        Some(ScreenPromptBox {
            folded: fold.is_some(),
            fold: fold.filter(|(at, _)| at.len() == text.len()).map(|(_, line_ends)| line_ends),
            text,
            rows,
            mode,
            hidden: hidden.into(),
            width,
        })
    }

    /// The dialog on a screen without a box: the part below the last edge above the cursor.
    fn find_dialog(&self, screen: &ScreenText) -> Option<Dialog> {
        let cursor = screen.cursor.1.min(screen.rows.len().checked_sub(1)?);
        let is_top =
            |row: &usize| screen.full_row(*row).is_some_and(|text| begins_with_any(&self.edges, text));
        let edge = (0..=cursor).rev().find(is_top);
        let dialog = self.dialog_from(screen, edge);
        let is_asked = any_in(&self.asking, screen.below(edge.unwrap_or(0)));
        (dialog.known || dialog.selected.is_some() || is_asked).then_some(dialog)
    }

    /// The dialog below the row `edge`, or on the whole screen, by name if it has one.
    fn dialog_from(&self, screen: &ScreenText, edge: Option<usize>) -> Dialog {
        let top = edge.map_or(0, |row| row + 1);
        let rows = screen.below(top);
        let cursor = screen.cursor.1.saturating_sub(top).min(rows.len());
        let has_selector =
            |row: &usize| rows.get(*row).is_some_and(|text| self.inner(text).starts_with(&self.selector));
        // The cursor is on the selected line. 2.0.76 parks it under the dialog, which is enough to name the
        // dialog, not to answer it.
        let held = Some(cursor).filter(has_selector);
        let chosen = held.or_else(|| (0..cursor).rev().find(has_selector));
        // An edge below the dialog contains the title of the conversation (2.1.332).
        let texts = rows.iter().enumerate().filter(|(row, _)| !self.is_edge(screen, top + row));
        let mut lines = texts.map(|(_, row)| self.inner(row)).filter(|line| !line.is_empty());
        let words = lines.clone().flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
        let head = lines.next().unwrap_or_default();
        // Without an edge, the beginning of the dialog may be scrolled away, and what is on top may be a
        // model's text.
        let may_answer =
            edge.is_some() && lines.next_back().is_some_and(|foot| foot.starts_with(&self.answer_foot));
        let rule = self.dialogs.iter().find(|rule| {
            rule.head.as_ref().is_none_or(|with| head.starts_with(with.as_str()))
                && (!rule.select || chosen.is_some())
                && rule.all.iter().all(|part| words.contains(part.as_str()))
        });
        let accept = rule.and_then(|rule| rule.accept.as_deref()).filter(|_| may_answer);
        let press = held.zip(accept).and_then(|(held, accept)| {
            let is_wanted = |row: &String| self.label(row) == accept;
            if is_wanted(&rows[held]) {
                Some(Press::Enter)
            } else if rows.iter().skip(held).any(is_wanted) {
                Some(Press::Down)
            } else {
                rows.iter().take(held).any(is_wanted).then_some(Press::Up)
            }
        });
        Dialog {
            name: rule.map_or("unknown", |rule| rule.name.as_str()).to_owned(),
            known: rule.is_some(),
            title: edge.filter(|_| !head.is_empty()).map(|_| head.to_owned()),
            selected: chosen.map(|row| self.label(&rows[row]).to_owned()),
            press,
        }
    }

    /// A row without the walls of an old dialog and the blanks next to them.
    fn inner<'a>(&self, row: &'a str) -> &'a str {
        row.trim_matches(' ').trim_matches(|c| self.border.contains(c)).trim_matches(' ')
    }

    /// A line of a dialog without selector, number and mark.
    fn label<'a>(&self, row: &'a str) -> &'a str {
        let text = self.inner(row);
        let text = text.strip_prefix(self.selector.as_str()).unwrap_or(text).trim_start();
        let text = text.strip_suffix(self.chosen.as_str()).unwrap_or(text);
        let number = text.bytes().take_while(u8::is_ascii_digit).count();
        text[number..].strip_prefix(". ").filter(|_| number > 0).unwrap_or(text)
    }
}

impl ScreenText {
    fn below(&self, row: usize) -> &[String] {
        self.rows.get(row..).unwrap_or_default()
    }

    /// A row's text, if it reaches from the first column to the last.
    fn full_row(&self, row: usize) -> Option<&str> {
        let text = self.rows.get(row)?.trim_end_matches(' ');
        (text.width() == self.cols).then_some(text)
    }

    /// The typed part of a row of the box. Dim text is a placeholder or a suggestion. The cursor covers its
    /// first character, which is not dim itself (measured on 2.0.76 to 2.1.329), so the character at `lifted`
    /// is dropped if what follows is dim.
    fn typed(&self, row: usize, indent: usize, lifted: (usize, usize)) -> String {
        let dim = self.dim.get(row).map_or(&[][..], Vec::as_slice);
        let is_dim = |col: usize| dim.iter().any(|(from, to)| (*from..*to).contains(&col));
        let (mut text, mut col) = (String::new(), 0);
        for c in self.rows[row].chars() {
            let next = col + c.width().unwrap_or(0);
            let is_ghost = is_dim(col) || (col, row) == lifted && is_dim(next);
            if col >= indent && !is_ghost {
                text.push(c);
            }
            col = next;
        }
        text.truncate(text.trim_end_matches([' ', '\u{a0}']).len());
        text
    }
}

fn any_in(parts: &[String], rows: &[String]) -> bool {
    rows.iter().any(|row| contains_any(parts, row))
}

fn contains_any(parts: &[String], text: &str) -> bool {
    parts.iter().any(|part| text.contains(part.as_str()))
}

fn begins_with_any(parts: &[String], text: &str) -> bool {
    parts.iter().any(|part| text.starts_with(part.as_str()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn screen(rows: &[&str], cursor: (usize, usize)) -> ScreenText {
        let rows = rows.iter().map(|row| row.replace("----", &"─".repeat(20))).collect();
        ScreenText { cols: 20, rows, cursor, ..ScreenText::default() }
    }

    fn read(screen: &ScreenText) -> ScreenReading {
        ScreenRuleSet::builtin().unwrap().read(screen)
    }

    #[test]
    fn nothing_is_read_from_nothing() {
        let view = read(&ScreenText::default());
        assert_eq!((view.prompt_box, view.dialog, view.busy_hint), (None, None, None));
        assert_eq!(view.title_state, TitleState::Unknown);
    }

    #[test]
    fn the_options_of_a_dialog_are_counted() {
        let rules = ScreenRuleSet::builtin().unwrap();
        let count =
            |rows: &[&str]| rules.options(&rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>());
        let permission = [
            " 1. a list of a model",
            "   1. and another",
            " Do you want to proceed?",
            " ❯ 1. Yes",
            "   2. Yes, and don't ask again",
            "      for: touch",
            "   3. Yes, and",
            " 7. not in this column",
            "   4. No",
            "",
            " Esc to cancel",
        ];
        assert_eq!(count(&permission), 4);
        assert_eq!(count(&["│   1. Yes │", "│ ❯ 2. No  │"]), 2, "the last one is selected, in a frame");
        assert_eq!(count(&[" ❯ Yes, I trust this folder", "   No, exit"]), 0);
        assert_eq!(count(&["   1. Yes", "   2. No", "❯\u{a0}a draft"]), 0, "the prompt box selects nothing");
        assert_eq!(count(&[]), 0);
    }

    #[test]
    fn a_box_needs_both_edges_its_sign_and_indented_rows() {
        let is_box = |rows: &[&str]| read(&screen(rows, (2, 1))).prompt_box.is_some();
        assert!(is_box(&["----", "❯\u{a0}text", "  more", "----"]));
        assert!(!is_box(&["----", "❯ text", "----"]), "a plain space is a dialog's sign");
        assert!(!is_box(&["----", "❯\u{a0}text"]));
        assert!(!is_box(&["text", "❯\u{a0}text", "----"]));
        assert!(!is_box(&["----", "❯\u{a0}text", "more", "----"]));
        assert!(!is_box(&["─────", "❯\u{a0}text", "----"]), "an edge is as wide as the screen");
    }

    #[test]
    fn dim_text_and_what_the_cursor_lifts_out_of_it_is_not_typed() {
        let draft = |dim: Vec<(usize, usize)>, col| {
            let mut screen = screen(&["----", "❯\u{a0}fix tests", "----"], (col, 1));
            screen.dim = vec![Vec::new(), dim];
            read(&screen).prompt_box.unwrap().text
        };
        assert_eq!(draft(vec![(3, 11)], 2), "");
        assert_eq!(draft(vec![(7, 11)], 6), "fix");
        assert_eq!(draft(vec![], 6), "fix tests");
        assert_eq!(draft(vec![(2, 11)], 0), "");
    }

    #[test]
    fn the_footer_or_the_line_above_shows_that_claude_works() {
        let busy = |above: &str, below: &str| {
            read(&screen(&[above, "----", "❯\u{a0}", "----", below], (2, 2))).busy_hint
        };
        assert_eq!(busy("✻ Worked for 9s", "manual mode on"), Some(false));
        assert_eq!(busy("✽ Thinking… (2s)", "manual mode on"), Some(true));
        assert_eq!(busy("", "esc to interrupt"), Some(true));
        assert_eq!(read(&screen(&["✽ Thinking…"], (0, 0))).busy_hint, None);
    }

    #[test]
    fn a_numbered_choice_without_words_we_know_is_an_unknown_dialog() {
        let dialog = read(&screen(&["----", " Surprise", " ❯ 1. Go", "   2. Stay"], (1, 2))).dialog.unwrap();
        assert_eq!((dialog.name.as_str(), dialog.known), ("unknown", false));
        assert_eq!((dialog.selected.as_deref(), dialog.press), (Some("Go"), None));
    }

    /// Claude 2.1.332 writes the title of the conversation into an edge below the dialog.
    #[test]
    fn a_dialog_above_the_name_of_a_conversation_is_answered() {
        let limit = [
            "----",
            "  What do you want to do?",
            "",
            "  ❯ 1. Stop and wait for limit to reset",
            "    2. Upgrade your plan",
            "",
            "  Enter to confirm · Esc to cancel",
            "",
            "─────────── named ──",
        ];
        let press = |rows: &[&str]| read(&screen(rows, (2, 3))).dialog.unwrap().press;
        assert_eq!(press(&limit), Some(Press::Enter));
        let other = [&limit[..8], &["  said a model"]].concat();
        assert_eq!(press(&other), None);
    }

    #[test]
    fn a_dialog_has_its_first_line_for_a_title() {
        let offer = [
            "----",
            " Make auto mode your default permission mode?",
            "",
            " ❯ 1. Yes, set auto mode as my default permission mode",
            "   2. No, keep asking",
        ];
        let dialog = read(&screen(&offer, (1, 3))).dialog.unwrap();
        assert_eq!(
            (dialog.name.as_str(), dialog.press),
            ("auto_mode_offer", None),
            "only a person answers it"
        );
        assert_eq!(dialog.title.as_deref(), Some("Make auto mode your default permission mode?"));
        let unknown =
            read(&screen(&["----", " Surprise?", " ❯ 1. Go", "   2. Stay"], (1, 2))).dialog.unwrap();
        assert_eq!((unknown.name.as_str(), unknown.title.as_deref()), ("unknown", Some("Surprise?")));
        let cut = read(&screen(&[" of a model", " ❯ 1. Go", "   2. Stay"], (1, 1))).dialog.unwrap();
        assert_eq!(cut.title, None, "what stands on top may be a model's");
    }

    #[test]
    fn words_above_the_last_edge_ask_nobody() {
        let rows = ["Enter to confirm", "----", "half drawn"];
        assert_eq!(read(&screen(&rows, (0, 2))).dialog, None);
        assert!(read(&screen(&rows, (0, 0))).dialog.is_some_and(|dialog| !dialog.known));
    }

    proptest! {
        #[test]
        fn no_screen_makes_it_panic(
            rows in proptest::collection::vec("(─{20}|─ ↑ [0-9]{1,30} more ─*|❯\u{a0}.{0,20}| ❯ [0-9]. \
                                               .{0,9}|.{0,24}|  \\[Pasted text #1.{0,14})", 0..9),
            dim in proptest::collection::vec(proptest::collection::vec((0usize..30, 0usize..30), 0..3), 0..9),
            cursor in (0usize..30, 0usize..12),
            cols in 0usize..30,
            title in ".{0,4}",
        ) {
            let view = read(&ScreenText { cols, rows, dim, cursor, title });
            prop_assert!(view.prompt_box.is_none() || view.dialog.is_none());
            prop_assert!(view.prompt_box.is_none_or(|found| !found.holds("") && found.rows.end <= 9));
        }
    }
}
