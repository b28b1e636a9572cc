//! hopty's segment in Claude's own status line: that it is there, how full the context is by its own count,
//! what comes next, and what a person has not read yet.

use crate::core::supervisor::next_handover::{HandoverWhen, NextHandover};

/// What the segment tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment<'a> {
    /// The session's name.
    pub name: &'a str,
    /// The context usage in percent, where it is known.
    pub percent: Option<u8>,
    /// The level at which a hand-over comes, in percent.
    pub level: Option<f64>,
    /// When the next hand-over comes.
    pub next: Option<&'a NextHandover>,
    /// Notices that the page of notices has not shown.
    pub unread: usize,
    /// Columns of the terminal, where they are known.
    pub cols: Option<u16>,
}

/// Columns that Claude leaves free around its status line (measured on 2.1.332).
const MARGIN: usize = 4;

impl Segment<'_> {
    /// One short line, without signs that a terminal acts on. Where it does not fit, it says less of the next
    /// hand-over, and then nothing.
    #[must_use]
    pub fn text(&self) -> String {
        let whole = self.line(self.next_words());
        let room = self.cols.map_or(usize::MAX, |cols| usize::from(cols).saturating_sub(MARGIN));
        let fits = |line: &String| line.chars().count() <= room;
        let short = || self.line(self.level_word());
        Some(whole).filter(fits).or_else(|| Some(short()).filter(fits)).unwrap_or_else(|| self.line(None))
    }

    fn next_words(&self) -> Option<String> {
        Some(match self.next?.when {
            HandoverWhen::Now => "handing over".to_owned(),
            HandoverWhen::Tools => "hands over after these tools".to_owned(),
            HandoverWhen::Turn => "hands over after this turn".to_owned(),
            HandoverWhen::Prompt => "hands over with your next prompt".to_owned(),
            HandoverWhen::Asked => "asks before it hands over".to_owned(),
            HandoverWhen::Level => format!("hands over at {} %", self.level?),
            HandoverWhen::Snoozed => "hand-over snoozed".to_owned(),
            HandoverWhen::Off => "hand-over off".to_owned(),
        })
    }

    /// The same in a word or two.
    fn level_word(&self) -> Option<String> {
        Some(match self.next?.when {
            HandoverWhen::Now => "handing over".to_owned(),
            HandoverWhen::Tools | HandoverWhen::Turn | HandoverWhen::Prompt => "hands over".to_owned(),
            HandoverWhen::Asked => "asks".to_owned(),
            HandoverWhen::Level => format!("of {} %", self.level?),
            HandoverWhen::Snoozed => "snoozed".to_owned(),
            HandoverWhen::Off => "off".to_owned(),
        })
    }

    fn line(&self, next: Option<String>) -> String {
        let usage = self.percent.map(|percent| format!("{percent} %"));
        let unread = match self.unread {
            0 => None,
            1 => Some("1 notice".to_owned()),
            n => Some(format!("{n} notices")),
        };
        let parts = [Some(format!("hopty {}", self.name)), usage, next, unread];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_comes_next_and_what_is_unread() {
        let next = |when| NextHandover { when, why: String::new(), at: None };
        let (level, prompt) = (next(HandoverWhen::Level), next(HandoverWhen::Prompt));
        let full = Segment {
            name: "rocket",
            percent: Some(41),
            level: Some(80.0),
            next: Some(&level),
            unread: 2,
            cols: None,
        };
        assert_eq!(full.text(), "hopty rocket · 41 % · hands over at 80 % · 2 notices");
        let at = |cols| Segment { cols: Some(cols), ..full.clone() }.text();
        assert_eq!(at(80), full.text());
        assert_eq!(at(45), "hopty rocket · 41 % · of 80 % · 2 notices");
        assert_eq!(at(40), "hopty rocket · 41 % · 2 notices");
        let at_prompt =
            Segment { name: "rocket", percent: Some(82), next: Some(&prompt), ..Segment::default() };
        assert_eq!(at_prompt.text(), "hopty rocket · 82 % · hands over with your next prompt");
        let none = Segment { name: "rocket", next: Some(&level), ..Segment::default() };
        assert_eq!(none.text(), "hopty rocket", "without a level in percent nothing is said of it");
    }
}
