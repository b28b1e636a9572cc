//! hopty's segment in Claude's own status line: the session's name, the context usage by hopty's count, the
//! next hand-over, and unread notices.

use crate::core::config::PrefixKey;
use crate::core::supervisor::next_handover::{HandoverWhen, NextHandover};
use crate::core::text::plural::plural;
use crate::core::time::Stamp;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Segment<'a> {
    pub name: &'a str,
    /// None if it is unknown.
    pub percent: Option<u8>,
    /// The level of the hand-over, in percent.
    pub level: Option<f64>,
    pub next: Option<&'a NextHandover>,
    /// A hand-over has just begun this conversation.
    pub is_new: bool,
    /// For the time that is left.
    pub now: Stamp,
    pub prefix: PrefixKey,
    /// How many notices the page of notices has not shown yet.
    pub unread: usize,
    /// Columns of the terminal; none if unknown.
    pub cols: Option<u16>,
}

/// The parts of a segment that change without Claude: name, the time of the next hand-over, unread notices.
pub type SegmentGist = (String, Option<HandoverWhen>, usize);

/// Columns that Claude leaves free around its status line (measured on 2.1.332).
const MARGIN: usize = 4;

impl Segment<'_> {
    /// A short line without control characters. If it does not fit, it says less about the next hand-over,
    /// then only a decided one, then nothing about it.
    pub fn text(&self) -> String {
        let whole = self.line(self.next_words());
        let room = self.cols.map_or(usize::MAX, |cols| usize::from(cols).saturating_sub(MARGIN));
        let fits = |line: &String| line.chars().count() <= room;
        // A person's recent decision matters more than the number of notices.
        let decided =
            self.next.filter(|next| next.when != HandoverWhen::Level).map(|_| Segment { unread: 0, ..*self });
        let shorter = [
            Some(whole),
            Some(self.line(self.level_word())),
            self.bare_question(),
            decided.map(|segment| segment.line(self.level_word())),
            decided.and_then(|segment| segment.next_words()),
        ];
        shorter.into_iter().flatten().find(fits).unwrap_or_else(|| self.line(None))
    }

    /// The parts that Claude does not know by itself.
    pub fn gist(&self) -> SegmentGist {
        (self.name.to_owned(), self.next.map(|next| next.when), self.unread)
    }

    fn next_words(&self) -> Option<String> {
        Some(match self.next?.when {
            HandoverWhen::Now => "handing over".to_owned(),
            HandoverWhen::Tools => "hands over after these tools".to_owned(),
            HandoverWhen::Turn => "hands over after this turn".to_owned(),
            HandoverWhen::NextTurn => "hands over after your next turn".to_owned(),
            HandoverWhen::Draft => "hands over after your draft".to_owned(),
            HandoverWhen::Prompt if self.next?.at.is_none() => {
                "hands over with your next prompt or sooner".to_owned()
            }
            HandoverWhen::Prompt | HandoverWhen::NextPrompt => "hands over with your next prompt".to_owned(),
            HandoverWhen::Asked => format!("{}{}", self.question(), self.time_left()),
            HandoverWhen::Level if self.is_new => "new conversation, `hopty back` undoes it".to_owned(),
            HandoverWhen::Level => format!("hands over at {} %", self.level?),
            HandoverWhen::Snoozed => "hand-over snoozed".to_owned(),
            HandoverWhen::Held => format!("hand-over held: {}", innermost(&self.next?.why)),
            HandoverWhen::Off => "hand-over off".to_owned(),
        })
    }

    /// The question of mode `ask`, with the keys that answer it.
    fn question(&self) -> String {
        match self.prefix {
            prefix if prefix.byte().is_some() => format!("hand over? {prefix} r yes, {prefix} s later"),
            _ => "hand over? `hopty restart`".to_owned(),
        }
    }

    /// The question alone: an answer matters more than the rest of the line.
    fn bare_question(&self) -> Option<String> {
        self.next.filter(|next| next.when == HandoverWhen::Asked)?;
        let words = self.level_word()?;
        Some(words.strip_suffix(" left").map_or(words.clone(), str::to_owned))
    }

    /// When hopty answers its question itself.
    fn time_left(&self) -> String {
        let left = self.next.and_then(|next| next.at).map(|at| at.since(self.now).div_ceil(1000));
        match left {
            None => String::new(),
            Some(seconds @ 0..90) => format!(", {seconds} s left"),
            Some(seconds) => format!(", {} min left", seconds.div_ceil(60)),
        }
    }

    /// The same in a word or two.
    fn level_word(&self) -> Option<String> {
        Some(match self.next?.when {
            HandoverWhen::Now => "handing over".to_owned(),
            HandoverWhen::Tools
            | HandoverWhen::Turn
            | HandoverWhen::NextTurn
            | HandoverWhen::Draft
            | HandoverWhen::Prompt
            | HandoverWhen::NextPrompt => "hand-over soon".to_owned(),
            HandoverWhen::Asked if self.prefix.byte().is_some() => {
                format!("hand over? {} r or s{}", self.prefix, self.time_left())
            }
            HandoverWhen::Asked => "hand over?".to_owned(),
            HandoverWhen::Level if self.is_new => "new conversation".to_owned(),
            HandoverWhen::Level => format!("until {} %", self.level?),
            HandoverWhen::Snoozed => "snoozed".to_owned(),
            HandoverWhen::Held => "hand-over held".to_owned(),
            HandoverWhen::Off => "off".to_owned(),
        })
    }

    fn line(&self, next: Option<String>) -> String {
        let usage = self.percent.map(|percent| format!("{percent} %"));
        let unread = (self.unread > 0).then(|| plural(self.unread, "notice"));
        let parts = [Some(format!("hopty {}", self.name)), usage, next, unread];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

/// The innermost cause: `No space left on device` of `... (cannot write FILE: No space left on device)`.
fn innermost(why: &str) -> &str {
    why.rsplit(": ").next().unwrap_or(why).trim_end_matches(')')
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
            ..Segment::default()
        };
        assert_eq!(full.text(), "hopty rocket · 41 % · hands over at 80 % · 2 notices");
        let at = |cols| Segment { cols: Some(cols), ..full }.text();
        assert_eq!(at(80), full.text());
        assert_eq!(at(49), "hopty rocket · 41 % · until 80 % · 2 notices");
        assert_eq!(at(40), "hopty rocket · 41 % · 2 notices");
        let fresh =
            |cols| Segment { percent: Some(7), is_new: true, unread: 0, cols: Some(cols), ..full }.text();
        assert_eq!(fresh(80), "hopty rocket · 7 % · new conversation, `hopty back` undoes it");
        assert_eq!(fresh(41), "hopty rocket · 7 % · new conversation");
        let at_prompt =
            Segment { name: "rocket", percent: Some(82), next: Some(&prompt), ..Segment::default() };
        assert_eq!(
            at_prompt.text(),
            "hopty rocket · 82 % · hands over with your next prompt or sooner",
            "a turn runs"
        );
        let waits = NextHandover { at: Some(Stamp(9)), ..prompt.clone() };
        let waits = Segment { next: Some(&waits), ..at_prompt };
        assert_eq!(waits.text(), "hopty rocket · 82 % · hands over with your next prompt");
        let draft = next(HandoverWhen::Draft);
        let narrow = |name| Segment { name, next: Some(&draft), cols: Some(40), ..at_prompt }.text();
        assert_eq!(narrow("rocket"), "hopty rocket · 82 % · hand-over soon", "it does not sound like now");
        assert_eq!(narrow("inventory"), "hands over after your draft");
        let asked = NextHandover { when: HandoverWhen::Asked, why: String::new(), at: Some(Stamp(600_500)) };
        let asks = |prefix: &str, now, cols| {
            let (now, prefix) = (Stamp(now), prefix.parse().unwrap());
            Segment {
                name: "rocket",
                percent: Some(65),
                next: Some(&asked),
                now,
                prefix,
                cols,
                ..Segment::default()
            }
            .text()
        };
        let by_keys = "hopty rocket · 65 % · hand over? ctrl-\\ r yes, ctrl-\\ s later,";
        assert_eq!(asks("ctrl-\\", 500, Some(80)), format!("{by_keys} 10 min left"));
        assert_eq!(asks("ctrl-\\", 590_000, Some(80)), format!("{by_keys} 11 s left"));
        assert_eq!(
            asks("ctrl-a", 500, Some(64)),
            "hopty rocket · 65 % · hand over? ctrl-a r or s, 10 min left"
        );
        assert_eq!(asks("ctrl-\\", 500, Some(40)), "hand over? ctrl-\\ r or s, 10 min");
        assert_eq!(asks("", 700_000, None), "hopty rocket · 65 % · hand over? `hopty restart`, 0 s left");
        let snoozed = next(HandoverWhen::Snoozed);
        let snoozed = |cols| Segment {
            name: "rocket",
            percent: Some(82),
            next: Some(&snoozed),
            unread: 2,
            cols: Some(cols),
            ..Segment::default()
        };
        assert_eq!(snoozed(80).text(), "hopty rocket · 82 % · hand-over snoozed · 2 notices");
        assert_eq!(snoozed(40).text(), "hopty rocket · 82 % · snoozed");
        let held = NextHandover { why: "Claude calls no hook".to_owned(), ..next(HandoverWhen::Held) };
        let held = |cols| Segment { next: Some(&held), ..snoozed(cols) }.text();
        assert_eq!(held(80), "hopty rocket · 82 % · hand-over held: Claude calls no hook · 2 notices");
        assert_eq!(held(40), "hopty rocket · 82 % · hand-over held");
        let full = "the handoff could not be saved (cannot write /h/x.lock: No space left on device)";
        assert_eq!(innermost(full), "No space left on device");
        assert_ne!(snoozed(40).gist(), Segment { unread: 3, ..snoozed(40) }.gist());
        assert_eq!(
            snoozed(40).gist(),
            Segment { percent: Some(83), ..snoozed(40) }.gist(),
            "Claude's own news"
        );
        let none = Segment { name: "rocket", next: Some(&level), ..Segment::default() };
        assert_eq!(none.text(), "hopty rocket", "without a level in percent nothing is said of it");
    }
}
