//! A recording in memory: its output in one piece, its events, and snapshots of the screen; to seek, feed the
//! output since the nearest snapshot.

use crate::core::cast::{CastEvent, CastEventKind, CastHeader, CastReader};
use crate::screen::Screen;

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
                self.look();
            }
            CastEventKind::Resize { cols, rows } => {
                self.feed();
                let output_end = self.timeline.output.len();
                self.timeline.events.push(TimelineEvent { at_us, output_end, resize: Some((cols, rows)) });
                self.screen.resize(cols, rows);
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
        self.timeline.damage = damage;
        self.timeline.output.shrink_to_fit();
        self.timeline.events.shrink_to_fit();
        self.timeline
    }

    /// Feeds the screen the events that it has not received.
    fn feed(&mut self) {
        self.screen.feed(&self.timeline.output[self.seen.1..]);
        drop(self.screen.take_queries());
        self.seen = (self.timeline.events.len(), self.timeline.output.len());
    }

    /// Makes a checkpoint if one is due.
    fn look(&mut self) {
        let timeline = &self.timeline;
        let Some(last) = timeline.checkpoints.last() else { return };
        let bytes = timeline.output_of(last.events, timeline.events.len()).len();
        let events = timeline.events.len() - last.events;
        if bytes < self.spacing && events < SPACING_EVENTS {
            return;
        }
        self.feed();
        // A dump does not preserve an unfinished synchronized update.
        if self.screen.is_drawing() && bytes < 2 * self.spacing && events < 2 * SPACING_EVENTS {
            return;
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
    }
}
