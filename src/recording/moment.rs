//! The screen at one time of a recording, moved forward and back.

use super::timeline::Timeline;
use crate::screen::{Cursor, FrameChanges, Screen};

/// A time of a timeline, with the screen at that time.
#[derive(Debug)]
pub struct Moment<'a> {
    timeline: &'a Timeline,
    screen: Screen,
    /// How many events the screen has received.
    events: usize,
    at_us: u64,
    /// The frames of the stretch that was last examined, as counts of events.
    frames: Option<(usize, Vec<usize>)>,
}

impl<'a> Moment<'a> {
    #[must_use]
    pub fn new(timeline: &'a Timeline) -> Self {
        let mut start =
            Moment { timeline, screen: timeline.stretch_screen(0), events: 0, at_us: 0, frames: None };
        start.seek(0);
        start
    }

    pub fn timeline(&self) -> &'a Timeline {
        self.timeline
    }

    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// The time, in µs since the start of the recording.
    pub fn at_us(&self) -> u64 {
        self.at_us
    }

    /// How many events have happened.
    pub(super) fn events(&self) -> usize {
        self.events
    }

    /// The time of the next event; `None` at the end.
    pub fn next_us(&self) -> Option<u64> {
        self.timeline.events().get(self.events).map(|event| event.at_us)
    }

    /// Moves to a time, in µs since the start, at most to the end.
    pub fn seek(&mut self, at_us: u64) {
        let at_us = at_us.min(self.timeline.duration_us());
        self.go_to(self.timeline.events_at(at_us));
        self.at_us = at_us;
    }

    /// Moves to the state after this many events, and to the time of the last of them.
    pub(super) fn go_to(&mut self, events: usize) {
        let stretch = self.timeline.stretch_of(events);
        let start = self.timeline.stretch_start(stretch);
        if events < self.events || start > self.events {
            (self.screen, self.events) = (self.timeline.stretch_screen(stretch), start);
        }
        while self.events < events {
            self.run_to(events);
        }
        self.at_us = self.timeline.events()[..events].last().map_or(0, |last| last.at_us);
    }

    /// Feeds events up to the next resize, but not beyond `events`.
    fn run_to(&mut self, events: usize) {
        let rest = &self.timeline.events()[self.events..events];
        let outputs = rest.iter().take_while(|event| event.resize.is_none()).count();
        let to = self.events + outputs.max(1);
        if let Some((cols, rows)) = rest.first().and_then(|event| event.resize) {
            self.screen.resize(cols, rows);
        } else {
            self.screen.feed(self.timeline.output_of(self.events, to));
            drop(self.screen.take_queries());
        }
        self.events = to;
    }

    /// Moves to the next frame: the next event after which the screen looks different. False at the end, to
    /// which it moves.
    pub fn step_forward(&mut self) -> bool {
        let mut frames = FrameWatch::new(&mut self.screen);
        let mut changed = false;
        while self.events < self.timeline.events().len() && !changed {
            self.run_to(self.events + 1);
            changed = frames.frame(&mut self.screen);
        }
        frames.end(&mut self.screen);
        self.at_us = match self.timeline.events()[..self.events].last() {
            Some(last) if changed => last.at_us,
            _ => self.timeline.duration_us(),
        };
        changed
    }

    /// Moves to the previous frame. False at the start.
    pub fn step_back(&mut self) -> bool {
        let mut before = Vec::new();
        let mut stretch = self.timeline.stretch_of(self.events.saturating_sub(1));
        // The last frame is the current one; the one before it is wanted.
        loop {
            let now = self.events;
            before.splice(0..0, self.frames_of(stretch).iter().copied().filter(|frame| *frame <= now));
            match stretch.checked_sub(1) {
                Some(earlier) if before.len() < 2 => stretch = earlier,
                _ => break,
            }
        }
        let was = self.events;
        let frame = before.len().checked_sub(2).and_then(|at| before.get(at)).copied().unwrap_or(0);
        self.go_to(frame);
        was > frame
    }

    /// The frames of a stretch, as counts of events.
    fn frames_of(&mut self, stretch: usize) -> &[usize] {
        if self.frames.as_ref().is_none_or(|(of, _)| *of != stretch) {
            let (from, to) = (self.timeline.stretch_start(stretch), self.timeline.stretch_start(stretch + 1));
            let mut walk = Moment {
                timeline: self.timeline,
                screen: self.timeline.stretch_screen(stretch),
                events: from,
                at_us: 0,
                frames: None,
            };
            let mut frames = FrameWatch::new(&mut walk.screen);
            let mut found = Vec::new();
            while walk.events < to {
                walk.run_to(walk.events + 1);
                if frames.frame(&mut walk.screen) {
                    found.push(walk.events);
                }
            }
            self.frames = Some((stretch, found));
        }
        self.frames.as_ref().map_or(&[], |(_, frames)| frames)
    }

    /// The screen, and after each event whether a frame is complete.
    pub(super) fn walk(&mut self, frames: &mut FrameWatch) -> Option<bool> {
        if self.events >= self.timeline.events().len() {
            return None;
        }
        self.run_to(self.events + 1);
        self.at_us = self.timeline.events()[self.events - 1].at_us;
        Some(frames.frame(&mut self.screen))
    }

    /// Starts to watch the screen for frames.
    pub(super) fn watch(&mut self) -> FrameWatch {
        FrameWatch::new(&mut self.screen)
    }
}

/// Detects that the screen looks different from the last complete frame.
#[derive(Debug)]
pub(super) struct FrameWatch {
    changes: FrameChanges,
    cursor: Cursor,
    /// The previous frame: what is newer is new in the last one.
    mark: u64,
}

impl FrameWatch {
    fn new(screen: &mut Screen) -> Self {
        let changes = FrameChanges::new(screen);
        Self { mark: changes.now(), changes, cursor: screen.cursor() }
    }

    fn frame(&mut self, screen: &mut Screen) -> bool {
        if screen.is_drawing() {
            return false;
        }
        self.mark = self.changes.now();
        let changed = self.changes.frame(screen);
        let cursor = std::mem::replace(&mut self.cursor, screen.cursor());
        changed || cursor != self.cursor
    }

    fn end(self, screen: &mut Screen) {
        self.changes.end(screen);
    }

    /// The rows that the last frame wrote to.
    pub fn new_rows(&self) -> Vec<u16> {
        let mut rows: Vec<u16> =
            self.changes.new_places(self.mark).into_iter().map(|place| place.row).collect();
        rows.dedup();
        rows
    }

    /// Whether a cell is new in the last frame.
    pub fn is_new(&self, row: u16, col: u16) -> bool {
        self.changes.is_new(self.mark, row, col)
    }
}
