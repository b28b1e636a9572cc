//! Searches the screens of a recording for where a text appears, not where it is still shown.

use regex::{Regex, RegexBuilder};
use unicode_width::UnicodeWidthChar;

use super::moment::Moment;
use super::timeline::Timeline;
use crate::screen::Screen;

/// How many events are examined in one turn.
const TURN_EVENTS: usize = 512;

/// The largest compiled expression, in bytes.
const PATTERN_MAX: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchDirection {
    /// Towards the end.
    Forward,
    /// Towards the start.
    Backward,
}

/// A search in turns, so that it can be interrupted.
#[derive(Debug)]
pub struct TimelineSearch<'a> {
    text: SearchText,
    direction: SearchDirection,
    walk: Moment<'a>,
    /// Events that had happened where it started.
    began: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchTurn {
    /// It is not finished.
    Working,
    /// The text appears here.
    Found(TimelineHit),
    /// The text does not appear again.
    Nothing,
}

/// Where text appears on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineHit {
    /// The time in µs since the start of the recording.
    pub at_us: u64,
    /// How many events have happened by then.
    pub(super) events: usize,
    /// The row (0-based).
    pub row: u16,
    pub col: u16,
    pub cols: u16,
}

/// A regular expression to find in rows. Without a capital letter in it, case is ignored.
#[derive(Clone, Debug)]
struct SearchText(Option<Regex>);

impl SearchText {
    /// An invalid regular expression is searched for as plain text.
    fn new(text: &str) -> Self {
        let exact = text.chars().any(char::is_uppercase);
        let of = |pattern: &str| {
            RegexBuilder::new(pattern).case_insensitive(!exact).size_limit(PATTERN_MAX).build().ok()
        };
        let regex = if text.is_empty() { None } else { of(text).or_else(|| of(&regex::escape(text))) };
        Self(regex)
    }

    /// The columns of each occurrence in a row.
    fn find(&self, row: &str) -> Vec<(u16, u16)> {
        let Some(regex) = &self.0 else { return Vec::new() };
        let found = regex.find_iter(row).filter(|found| !found.is_empty());
        found.map(|found| (width(&row[..found.start()]), width(found.as_str()))).collect()
    }
}

fn width(text: &str) -> u16 {
    text.chars().map(|ch| ch.width().unwrap_or(0) as u16).sum()
}

impl<'a> TimelineSearch<'a> {
    /// A search that starts at `from`.
    #[must_use]
    pub fn new(from: &Moment<'a>, text: &str, direction: SearchDirection) -> Self {
        let mut walk = Moment::new(from.timeline());
        walk.go_to(from.events());
        Self { text: SearchText::new(text), direction, walk, began: from.events() }
    }

    /// The same search over the whole recording, from its other end.
    #[must_use]
    pub fn from_other_end(&self) -> Self {
        let mut walk = Moment::new(self.walk.timeline());
        let began = match self.direction {
            SearchDirection::Forward => 0,
            SearchDirection::Backward => {
                walk.seek(u64::MAX);
                // The last event counts, too.
                usize::MAX
            }
        };
        Self { text: self.text.clone(), direction: self.direction, walk, began }
    }

    pub fn direction(&self) -> SearchDirection {
        self.direction
    }

    /// The position of the search, as a time in µs.
    pub fn at_us(&self) -> u64 {
        self.walk.at_us()
    }

    /// Continues for a few milliseconds.
    pub fn turn(&mut self) -> SearchTurn {
        match self.direction {
            SearchDirection::Forward => self.turn_forward(),
            SearchDirection::Backward => self.turn_back(),
        }
    }

    /// Continues to the end.
    #[must_use]
    pub fn run(mut self) -> Option<TimelineHit> {
        loop {
            match self.turn() {
                SearchTurn::Working => {}
                SearchTurn::Found(hit) => return Some(hit),
                SearchTurn::Nothing => return None,
            }
        }
    }

    fn turn_forward(&mut self) -> SearchTurn {
        let to = self.walk.events() + TURN_EVENTS;
        // If the search starts there, everything on the first screen is new.
        if self.began == 0
            && self.walk.events() == 0
            && let Some(hit) = self.hit(|_, _| true, 0..u16::MAX)
        {
            return SearchTurn::Found(hit);
        }
        match self.first_hit(to) {
            Some(hit) => SearchTurn::Found(hit),
            None if self.walk.next_us().is_none() => SearchTurn::Nothing,
            None => SearchTurn::Working,
        }
    }

    fn first_hit(&mut self, to: usize) -> Option<TimelineHit> {
        let mut watch = self.walk.watch();
        // A frame is always examined to its end.
        while self.walk.events() < to || self.walk.screen().is_drawing() {
            if self.walk.walk(&mut watch)?
                && let Some(hit) = self.hit(|row, col| watch.is_new(row, col), watch.new_rows())
            {
                return Some(hit);
            }
        }
        None
    }

    /// Examines the stretch before the last one.
    fn turn_back(&mut self) -> SearchTurn {
        let Some(last) = self.walk.events().min(self.began).checked_sub(1) else {
            return SearchTurn::Nothing;
        };
        let timeline: &Timeline = self.walk.timeline();
        let (from, to) = (timeline.stretch_start(timeline.stretch_of(last)), last + 1);
        self.walk.go_to(from);
        let mut found = None;
        while let Some(hit) = self.first_hit(to) {
            if hit.events >= self.began {
                break;
            }
            found = Some(hit);
        }
        self.walk.go_to(from);
        match found {
            Some(hit) => SearchTurn::Found(hit),
            None if from == 0 => SearchTurn::Nothing,
            None => SearchTurn::Working,
        }
    }

    /// The first occurrence on the screen in a row with a new cell.
    fn hit(
        &self,
        is_new: impl Fn(u16, u16) -> bool,
        rows: impl IntoIterator<Item = u16>,
    ) -> Option<TimelineHit> {
        let screen = self.walk.screen();
        let lines = screen.size().1;
        rows.into_iter().take_while(|row| *row < lines).find_map(|row| {
            let places = self.text.find(&row_text(screen, row));
            let (col, cols) =
                places.into_iter().find(|(col, cols)| (*col..col + cols).any(|col| is_new(row, col)))?;
            Some(TimelineHit { at_us: self.walk.at_us(), events: self.walk.events(), row, col, cols })
        })
    }
}

fn row_text(screen: &Screen, row: u16) -> String {
    screen.row_runs(row).into_iter().map(|run| run.text).collect()
}
