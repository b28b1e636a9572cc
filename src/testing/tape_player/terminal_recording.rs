//! The recording of a terminal of a test.

use std::collections::VecDeque;
use std::time::Duration;

use crate::core::cast::{CastEvent, CastEventKind};
use crate::screen::Screen;

/// The most bytes of a recording that are kept per terminal: the last ones, after a picture of the screen
/// before them. Browsers cannot open a larger trace page.
const RECORDING_MAX: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct TapeRecording {
    size: (u16, u16),
    events: VecDeque<CastEvent>,
    bytes: usize,
    /// The screen before the first of `events`, once earlier ones were dropped.
    before: Option<Box<Screen>>,
}

/// How much of the limit an event uses.
fn recorded_bytes(kind: &CastEventKind) -> usize {
    match kind {
        CastEventKind::Output(bytes) | CastEventKind::Input(bytes) => bytes.len().max(16),
        _ => 16,
    }
}

impl TapeRecording {
    pub fn new(size: (u16, u16)) -> Self {
        TapeRecording { size, events: VecDeque::new(), bytes: 0, before: None }
    }

    pub fn push(&mut self, at: Duration, kind: CastEventKind) {
        let length = recorded_bytes(&kind);
        self.bytes += length;
        let at_us = u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
        self.events.push_back(CastEvent { at_us, kind });
        while self.bytes > RECORDING_MAX {
            let Some(event) = self.events.pop_front() else { return };
            self.bytes -= recorded_bytes(&event.kind);
            let before = self.before.get_or_insert_with(|| Box::new(Screen::new(self.size.0, self.size.1)));
            match event.kind {
                CastEventKind::Output(bytes) => before.feed(&bytes),
                CastEventKind::Resize { cols, rows } => before.resize(cols, rows),
                _ => {}
            }
        }
    }

    /// The kept events. If earlier ones were dropped, they start with a picture and a marker that says so.
    pub fn events(&self) -> Vec<CastEvent> {
        let at_us = self.events.front().map_or(0, |event| event.at_us);
        let first = |kind| CastEvent { at_us, kind };
        let mut events = Vec::new();
        if let Some(before) = &self.before {
            let (cols, rows) = before.size();
            if (cols, rows) != self.size {
                events.push(first(CastEventKind::Resize { cols, rows }));
            }
            events.push(first(CastEventKind::Output(before.dump().screen)));
            events.push(first(CastEventKind::Marker("what came before is not kept".to_owned())));
        }
        events.extend(self.events.iter().cloned());
        events
    }
}
