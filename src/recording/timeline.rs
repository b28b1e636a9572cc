//! A recording in memory: its output in one piece, its events, and snapshots of the screen; to seek, feed the
//! output since the nearest snapshot.

use crate::core::cast::{CastEvent, CastEventKind, CastHeader, CastReader};
use crate::screen::Screen;
use crate::sys::clock::Clock;

/// Output between two checkpoints, in bytes. Feeding as much takes a few milliseconds.
const SPACING_BYTES: usize = 256 * 1024;
/// The most events between two checkpoints: stepping back examines each of them.
const SPACING_EVENTS: usize = 8192;
/// The most memory for all checkpoints, in bytes. If they need more, every other one is dropped.
const CHECKPOINTS_MAX: usize = 64 << 20;
/// The most output that is kept, in bytes.
const OUTPUT_MAX: usize = 1 << 30;
/// The most events and marks that are kept.
const EVENTS_MAX: usize = 16 << 20;
/// The most time to feed a screen all of it, in µs, and how much more for each byte: some ten times what
/// usual output takes. A few bytes can fill a large screen.
const TIME_MAX: u64 = 10_000_000;
const TIME_PER_BYTE: u64 = 1;
/// Output between two readings of the clock, in bytes; on a screen of more than [`LARGE_CELLS`] less.
const PIECE: usize = 1024;
const PIECE_LARGE: usize = 64;
const LARGE_CELLS: usize = 50_000;
/// Why a recording is shown only in part.
const COSTLY: &str = "it takes too long to be shown to its end";
/// How many lines of scrollback are kept: a resize brings some of them back.
const HISTORY_LINES: usize = 200;

/// A recording that can be shown at any time.
#[derive(Debug)]
pub struct Timeline {
    header: CastHeader,
    output: Vec<u8>,
    events: Vec<TimelineEvent>,
    marks: Vec<TimelineMark>,
    checkpoints: Vec<Checkpoint>,
    duration_us: u64,
    damage: Option<String>,
}

/// An event that changes the screen: output, or a new size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimelineEvent {
    /// The time in µs since the start.
    pub at_us: u64,
    /// The length of the output up to here, in bytes.
    pub output_end: usize,
    /// The new columns and rows.
    pub resize: Option<(u16, u16)>,
}

/// A time with a meaning besides the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineMark {
    /// The time in µs since the start.
    pub at_us: u64,
    pub kind: MarkKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A marker with its label, which may be empty.
    Marker(String),
    Input(Vec<u8>),
    /// The program ended with this status.
    Exit(i32),
}

/// The screen after some events.
#[derive(Clone, Debug)]
struct Checkpoint {
    events: usize,
    cols: u16,
    rows: u16,
    dump: Vec<u8>,
}

/// Why a recording cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not an asciicast: {0}")]
pub struct CastLoadError(pub String);

impl Timeline {
    /// Reads a recording. A damaged one is read up to the damage ([`Timeline::damage`]).
    pub fn load(cast: &[u8]) -> Result<Timeline, CastLoadError> {
        let mut loader = TimelineLoader::default();
        loader.push(cast);
        loader.finish()
    }

    pub fn header(&self) -> &CastHeader {
        &self.header
    }

    /// The time of the last event, in µs.
    pub fn duration_us(&self) -> u64 {
        self.duration_us
    }

    /// Markers, inputs and the exit, in their order.
    pub fn marks(&self) -> &[TimelineMark] {
        &self.marks
    }

    /// The markers: time and label.
    pub fn markers(&self) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        self.marks.iter().filter_map(|mark| match &mark.kind {
            MarkKind::Marker(label) => Some((mark.at_us, label.as_str())),
            _ => None,
        })
    }

    /// Where and why the file breaks off, for a person; `None` if it is whole.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// The times of output, resizes and marks, in order.
    pub fn times(&self) -> impl Iterator<Item = u64> {
        let (mut events, mut marks) = (self.events.iter().peekable(), self.marks.iter().peekable());
        std::iter::from_fn(move || match (events.peek(), marks.peek()) {
            (Some(event), Some(mark)) if mark.at_us < event.at_us => marks.next().map(|mark| mark.at_us),
            (Some(_), _) => events.next().map(|event| event.at_us),
            (None, _) => marks.next().map(|mark| mark.at_us),
        })
    }

    pub(super) fn events(&self) -> &[TimelineEvent] {
        &self.events
    }

    /// How many events have happened at a time.
    pub(super) fn events_at(&self, at_us: u64) -> usize {
        self.events.partition_point(|event| event.at_us <= at_us)
    }

    /// The output of the events `from..to`.
    pub(super) fn output_of(&self, from: usize, to: usize) -> &[u8] {
        let end = |events: usize| self.events[..events].last().map_or(0, |last| last.output_end);
        &self.output[end(from)..end(to)]
    }

    /// How many stretches there are between checkpoints.
    #[cfg(test)]
    pub(super) fn stretches(&self) -> usize {
        self.checkpoints.len()
    }

    /// The stretch that contains an event (counted from 0).
    pub(super) fn stretch_of(&self, event: usize) -> usize {
        self.checkpoints.partition_point(|checkpoint| checkpoint.events <= event).saturating_sub(1)
    }

    /// How many events there are before a stretch.
    pub(super) fn stretch_start(&self, stretch: usize) -> usize {
        self.checkpoints.get(stretch).map_or(self.events.len(), |checkpoint| checkpoint.events)
    }

    /// The screen at the start of a stretch.
    pub(super) fn stretch_screen(&self, stretch: usize) -> Screen {
        match self.checkpoints.get(stretch) {
            Some(checkpoint) => {
                let mut screen = fresh(checkpoint.cols, checkpoint.rows);
                screen.feed(&checkpoint.dump);
                screen
            }
            None => fresh(self.header.cols, self.header.rows),
        }
    }
}

fn fresh(cols: u16, rows: u16) -> Screen {
    Screen::with_history(cols, rows, HISTORY_LINES)
}

/// Reads a recording piece by piece.
#[derive(Debug, Default)]
pub struct TimelineLoader {
    reader: CastReader,
    building: Option<TimelineBuilder>,
    /// Why nothing more is read.
    stop: Option<String>,
}

impl TimelineLoader {
    /// Takes the next piece of the file and returns whether more is needed.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        if self.stop.is_none() {
            self.reader.push(bytes);
            self.take();
        }
        self.stop.is_none()
    }

    /// The end of the file.
    pub fn finish(mut self) -> Result<Timeline, CastLoadError> {
        if self.stop.is_none() {
            self.reader.finish();
            self.take();
        }
        match (self.building, self.stop) {
            (Some(builder), damage) => Ok(builder.finish(damage)),
            (None, Some(why)) => Err(CastLoadError(why)),
            (None, None) => Err(CastLoadError("it is empty".to_owned())),
        }
    }

    fn take(&mut self) {
        while let Some(next) = self.reader.next() {
            let event = match next {
                Ok(event) => event,
                Err(error) => {
                    self.stop = Some(error.to_string());
                    break;
                }
            };
            let reader = &self.reader;
            if self.building.is_none() {
                self.building = reader.header().cloned().map(TimelineBuilder::new);
            }
            if let Some(building) = &mut self.building
                && let Err(full) = building.add(event)
            {
                self.stop = Some(full.to_owned());
                return;
            }
        }
        if self.building.is_none() {
            self.building = self.reader.header().cloned().map(TimelineBuilder::new);
        }
    }
}

/// A timeline under construction.
#[derive(Debug)]
pub(super) struct TimelineBuilder {
    timeline: Timeline,
    screen: Screen,
    /// Events that the screen has received, and the end of their output.
    seen: (usize, usize),
    spacing: usize,
    checkpoint_bytes: usize,
    clock: Clock,
    /// How long the screen has been fed, in µs.
    spent: u64,
    /// [`TIME_MAX`].
    time_max: u64,
}

impl TimelineBuilder {
    pub fn new(header: CastHeader) -> Self {
        let screen = fresh(header.cols, header.rows);
        let (cols, rows) = screen.size();
        let start = Checkpoint { events: 0, cols, rows, dump: Vec::new() };
        Self {
            timeline: Timeline {
                header,
                output: Vec::new(),
                events: Vec::new(),
                marks: Vec::new(),
                checkpoints: vec![start],
                duration_us: 0,
                damage: None,
            },
            screen,
            seen: (0, 0),
            spacing: SPACING_BYTES,
            checkpoint_bytes: 0,
            clock: Clock::start(),
            spent: 0,
            time_max: TIME_MAX,
        }
    }

    /// Adds the next event; one earlier than its predecessor counts as simultaneous.
    pub fn add(&mut self, event: CastEvent) -> Result<(), &'static str> {
        let Timeline { output, events, marks, duration_us, .. } = &mut self.timeline;
        if events.len() + marks.len() >= EVENTS_MAX {
            return Err("it has too many events to be shown to its end");
        }
        *duration_us = event.at_us.max(*duration_us);
        let at_us = *duration_us;
        let mut mark = |kind| marks.push(TimelineMark { at_us, kind });
        match event.kind {
            CastEventKind::Output(bytes) => {
                if output.len() + bytes.len() > OUTPUT_MAX {
                    return Err("it has too much output to be shown to its end");
                }
                output.extend_from_slice(&bytes);
                events.push(TimelineEvent { at_us, output_end: output.len(), resize: None });
                self.look()?;
            }
            CastEventKind::Resize { cols, rows } => {
                self.feed()?;
                let output_end = self.timeline.output.len();
                self.timeline.events.push(TimelineEvent { at_us, output_end, resize: Some((cols, rows)) });
                let begun = self.clock.micros();
                self.screen.resize(cols, rows);
                self.spent += self.clock.micros() - begun;
                self.seen = (self.timeline.events.len(), output_end);
            }
            CastEventKind::Marker(label) => mark(MarkKind::Marker(label)),
            CastEventKind::Input(bytes) => mark(MarkKind::Input(bytes)),
            CastEventKind::Exit(status) => mark(MarkKind::Exit(status)),
            CastEventKind::Other { .. } => {}
        }
        Ok(())
    }

    pub fn finish(mut self, damage: Option<String>) -> Timeline {
        let costly = self.feed().err();
        self.timeline.damage = costly.map(str::to_owned).or(damage);
        self.timeline.output.shrink_to_fit();
        self.timeline.events.shrink_to_fit();
        self.timeline
    }

    /// Feeds the screen the events that it has not received. If that takes too long, drops the rest of them.
    fn feed(&mut self) -> Result<(), &'static str> {
        let (cols, rows) = self.screen.size();
        let is_large = usize::from(cols) * usize::from(rows) > LARGE_CELLS;
        let (begun, spent) = (self.clock.micros(), self.spent);
        let mut at = self.seen.1;
        for piece in self.timeline.output[at..].chunks(if is_large { PIECE_LARGE } else { PIECE }) {
            if self.spent > self.time_max + TIME_PER_BYTE * at as u64 {
                break;
            }
            self.screen.feed(piece);
            drop(self.screen.take_queries());
            at += piece.len();
            self.spent = spent + (self.clock.micros() - begun);
        }
        let is_over = self.spent > self.time_max + TIME_PER_BYTE * at as u64;
        let Timeline { output, events, duration_us, .. } = &mut self.timeline;
        if is_over {
            // One event can be all that took so long: what was fed of it is shown.
            events.truncate(events.partition_point(|event| event.output_end <= at) + 1);
            output.truncate(at);
            if let Some(last) = events.last_mut() {
                last.output_end = last.output_end.min(at);
                *duration_us = last.at_us;
            }
        }
        self.seen = (events.len(), output.len());
        if is_over { Err(COSTLY) } else { Ok(()) }
    }

    /// Makes a checkpoint if one is due.
    fn look(&mut self) -> Result<(), &'static str> {
        let timeline = &self.timeline;
        let Some(last) = timeline.checkpoints.last() else { return Ok(()) };
        let bytes = timeline.output_of(last.events, timeline.events.len()).len();
        let events = timeline.events.len() - last.events;
        if bytes < self.spacing && events < SPACING_EVENTS {
            return Ok(());
        }
        self.feed()?;
        // A dump does not preserve an unfinished synchronized update.
        if self.screen.is_drawing() && bytes < 2 * self.spacing && events < 2 * SPACING_EVENTS {
            return Ok(());
        }
        let dump = self.screen.dump();
        let dump = [dump.history, dump.screen, dump.unfinished].concat();
        let (cols, rows) = self.screen.size();
        self.checkpoint_bytes += dump.len();
        let events = self.timeline.events.len();
        self.timeline.checkpoints.push(Checkpoint { events, cols, rows, dump });
        while self.checkpoint_bytes > CHECKPOINTS_MAX && self.timeline.checkpoints.len() > 2 {
            let mut keep = false;
            self.timeline.checkpoints.retain(|_| {
                keep = !keep;
                keep
            });
            self.checkpoint_bytes = self.timeline.checkpoints.iter().map(|one| one.dump.len()).sum();
            self.spacing *= 2;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::moment::Moment;

    #[test]
    fn what_takes_too_long_is_shown_as_far_as_the_time_goes() {
        let mut builder = TimelineBuilder::new(CastHeader::new(1000, 1000));
        builder.time_max = 100_000;
        for n in 0..3 {
            let kind = CastEventKind::Output("\x1b#8".repeat(50).into_bytes());
            builder.add(CastEvent { at_us: n * 1000, kind }).unwrap();
        }
        let timeline = builder.finish(None);
        assert_eq!(timeline.damage(), Some(COSTLY));
        assert!(timeline.output.len() < 450 && !timeline.events.is_empty(), "{}", timeline.output.len());
        let mut moment = Moment::new(&timeline);
        moment.seek(u64::MAX);
        assert_eq!(moment.screen().lines()[0].len(), 1000);
    }
}
