//! Reads a recording piece by piece, from a file or a pipe.

use std::collections::VecDeque;

use base64::prelude::{BASE64_STANDARD, Engine};
use memchr::memchr;
use serde_json::Value;
use thiserror::Error;

use super::event_line::{self, NoEvent, TIME_MAX_US};
use super::header::CastHeader;
use super::{CastEvent, CastEventKind, RAW_COMMENT};

/// The longest line of a recording that is read, in bytes.
pub const CAST_LINE_MAX: usize = 16 << 20;

/// The longest recording of version 1 that is read, in bytes: it is one JSON document.
pub const CAST_V1_MAX: usize = 64 << 20;

/// Where and why a recording cannot be read any further. All events before it are complete.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {fault}")]
pub struct CastError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub fault: CastFault,
}

/// What is wrong with a recording.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CastFault {
    /// It is empty.
    #[error("the recording is empty")]
    Empty,
    /// It does not start with the header of a recording.
    #[error("there is no header with a version")]
    NotACast,
    /// A version that hopty does not know.
    #[error("asciicast version {0} is unknown; hopty reads 1, 2 and 3")]
    Version(u64),
    /// The header has no size of the terminal, or an absurd one.
    #[error("the header has no size of the terminal, which is 1 to 65535 columns and rows")]
    NoSize,
    /// It ends in the middle of a line.
    #[error("the recording ends in the middle of this line")]
    Torn,
    /// The line is not an event.
    #[error("not an event: {0}")]
    NotAnEvent(String),
    /// The line is not UTF-8.
    #[error("this line is not UTF-8")]
    NotUtf8,
    /// The line is longer than [`CAST_LINE_MAX`].
    #[error("this line is over the limit of {} MiB", CAST_LINE_MAX >> 20)]
    TooLong,
    /// A recording of version 1 is longer than [`CAST_V1_MAX`].
    #[error("a recording of version 1 over the limit of {} MiB", CAST_V1_MAX >> 20)]
    DocumentTooLong,
    /// The event's time is negative.
    #[error("the time is negative")]
    NegativeTime,
    /// The event's time is beyond a thousand years.
    #[error("the time is over a thousand years")]
    TimeRange,
}

/// What the next lines are.
#[derive(Debug, PartialEq)]
enum ReaderState {
    Header,
    /// Events with the time since the start.
    Absolute,
    /// Events with the time since the previous event.
    Relative,
    /// The rest of a document of version 1.
    Document,
    /// Nothing: the end, or an error.
    Over,
}

/// An incremental reader. Pass bytes to [`CastReader::push`], call [`CastReader::finish`] at the end, and
/// take events with [`CastReader::next`]. It keeps at most a line and the bytes that were pushed since.
#[derive(Debug)]
pub struct CastReader {
    state: ReaderState,
    header: Option<CastHeader>,
    bytes: Vec<u8>,
    /// How many of `bytes` have been read.
    read: usize,
    /// How many of `bytes` were searched without finding a line feed.
    searched: usize,
    line: u64,
    clock_us: u64,
    finished: bool,
    /// An event with U+FFFD whose exact bytes may be on the next line.
    held: Option<CastEvent>,
    /// Events of version 1, and what follows a held event.
    ready: VecDeque<Result<CastEvent, CastError>>,
}

impl Default for CastReader {
    fn default() -> Self {
        CastReader::new()
    }
}

impl CastReader {
    #[must_use]
    pub fn new() -> Self {
        CastReader {
            state: ReaderState::Header,
            header: None,
            bytes: Vec::new(),
            read: 0,
            searched: 0,
            line: 0,
            clock_us: 0,
            finished: false,
            held: None,
            ready: VecDeque::new(),
        }
    }

    /// Adds the next bytes of the recording.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.state == ReaderState::Over {
            return;
        }
        if self.read > 0 {
            self.bytes.drain(..self.read);
            self.searched -= self.read;
            self.read = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Marks the end of the recording.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// The header, once its line has been read by [`CastReader::next`].
    pub fn header(&self) -> Option<&CastHeader> {
        self.header.as_ref()
    }

    /// How many bytes wait for the rest of their line.
    #[cfg(test)]
    pub(super) fn bytes_held(&self) -> usize {
        self.bytes.len()
    }

    /// The next event; `None` when more bytes are needed, and at the end. No event follows an error.
    ///
    /// # Errors
    /// Where the recording is damaged or is not a recording, with the line.
    #[allow(clippy::should_implement_trait, reason = "`None` is not the end")]
    pub fn next(&mut self) -> Option<Result<CastEvent, CastError>> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            if self.state == ReaderState::Over {
                return None;
            }
            match self.step() {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) if self.state == ReaderState::Over => {}
                Ok(None) => return None,
                Err(fault) => self.end(Some(fault)),
            }
        }
    }

    /// Ends the reading: only ready events, the held event and the error follow.
    fn end(&mut self, fault: Option<CastFault>) {
        self.state = ReaderState::Over;
        self.bytes = Vec::new();
        (self.read, self.searched) = (0, 0);
        self.ready.extend(self.held.take().map(Ok));
        self.ready.extend(fault.map(|fault| Err(CastError { line: self.line.max(1), fault })));
    }

    /// Reads lines up to the next event.
    fn step(&mut self) -> Result<Option<CastEvent>, CastFault> {
        loop {
            if self.state == ReaderState::Document {
                return self.document();
            }
            let Some((from, to, whole)) = self.take_line()? else {
                if self.finished {
                    if self.state == ReaderState::Header {
                        return Err(CastFault::Empty);
                    }
                    self.end(None);
                }
                return Ok(None);
            };
            let mut line = &self.bytes[from..to];
            if let [rest @ .., b'\r'] = line {
                line = rest;
            }
            match self.state {
                ReaderState::Header => {
                    let Ok(value) = serde_json::from_slice::<Value>(strip_mark(line)) else {
                        // A document of version 1 may span several lines; no other recording starts like
                        // this.
                        if !strip_mark(line).trim_ascii_start().starts_with(b"{") {
                            return Err(CastFault::NotACast);
                        }
                        self.read = from;
                        self.state = ReaderState::Document;
                        continue;
                    };
                    let header = CastHeader::read(&value)?;
                    self.state = match header.version {
                        1 => {
                            self.read = from;
                            ReaderState::Document
                        }
                        2 => ReaderState::Absolute,
                        _ => ReaderState::Relative,
                    };
                    if self.state != ReaderState::Document {
                        self.header = Some(header);
                    }
                }
                _ => match self.event(from, to, whole)? {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                },
            }
        }
    }

    /// Takes the next line out of the bytes, without its line feed. Returns its range, and whether it had a
    /// line feed.
    fn take_line(&mut self) -> Result<Option<(usize, usize, bool)>, CastFault> {
        let from = self.read;
        let found = memchr(b'\n', &self.bytes[self.searched.max(from)..]);
        let to = found.map_or(self.bytes.len(), |at| self.searched.max(from) + at);
        if to - from > CAST_LINE_MAX {
            self.line += 1;
            return Err(CastFault::TooLong);
        }
        self.searched = to;
        match found {
            Some(_) => {
                self.line += 1;
                self.read = to + 1;
                self.searched = to + 1;
                Ok(Some((from, to, true)))
            }
            None if self.finished && to > from => {
                self.line += 1;
                self.read = to;
                Ok(Some((from, to, false)))
            }
            None => Ok(None),
        }
    }

    /// Reads a line after the header. Returns an event if the line is one, or if it shows that the previous
    /// event is complete.
    fn event(&mut self, from: usize, to: usize, whole: bool) -> Result<Option<CastEvent>, CastFault> {
        let torn = |fault| if whole { fault } else { CastFault::Torn };
        let mut line = &self.bytes[from..to];
        if let [rest @ .., b'\r'] = line {
            line = rest;
        }
        if let [b'#', ..] = line {
            let raw = line.strip_prefix(RAW_COMMENT.as_bytes()).and_then(|rest| rest.strip_suffix(b"\"}"));
            let Some(raw) = raw.filter(|_| self.held.is_some()) else {
                let cut = !whole
                    && (line.starts_with(RAW_COMMENT.as_bytes()) || RAW_COMMENT.as_bytes().starts_with(line));
                return if cut { Err(CastFault::Torn) } else { Ok(self.held.take()) };
            };
            let mut held = self.held.take();
            if let Some(CastEvent { kind: CastEventKind::Output(data) | CastEventKind::Input(data), .. }) =
                &mut held
                && let Ok(exact) = BASE64_STANDARD.decode(raw)
                // The exact bytes must look the same as the event in another player.
                && String::from_utf8_lossy(&exact).as_bytes() == data.as_slice()
            {
                *data = exact;
            }
            return Ok(held);
        }
        if line.trim_ascii().is_empty() {
            return Ok(self.held.take());
        }
        let text = std::str::from_utf8(line).map_err(|_| torn(CastFault::NotUtf8))?;
        let read = event_line::read(text).map_err(|no| {
            torn(match no {
                NoEvent::Form => CastFault::NotAnEvent(excerpt(text)),
                NoEvent::NegativeTime => CastFault::NegativeTime,
                NoEvent::TimeRange => CastFault::TimeRange,
            })
        })?;
        self.clock_us = match self.state {
            ReaderState::Relative => self.clock_us + read.time_us,
            // Some recorders write lines that are a little out of order.
            _ => self.clock_us.max(read.time_us),
        };
        if self.clock_us > TIME_MAX_US {
            return Err(CastFault::TimeRange);
        }
        let exact = !matches!(read.code, 'o' | 'i') || !has_replacement(&read.data);
        let event = CastEvent { at_us: self.clock_us, kind: CastEventKind::new(read.code, read.data) };
        if exact && self.held.is_none() {
            return Ok(Some(event));
        }
        let before = if exact {
            self.ready.push_back(Ok(event));
            self.held.take()
        } else {
            self.held.replace(event)
        };
        Ok(before)
    }

    /// Waits for the end of a document of version 1 and reads it.
    fn document(&mut self) -> Result<Option<CastEvent>, CastFault> {
        if self.bytes.len() > CAST_V1_MAX {
            return Err(CastFault::DocumentTooLong);
        }
        if !self.finished {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(strip_mark(&self.bytes)).map_err(|error| {
            self.line = error.line() as u64;
            if error.is_eof() { CastFault::Torn } else { CastFault::NotACast }
        })?;
        let header = CastHeader::read(&value)?;
        if header.version != 1 {
            return Err(CastFault::NotACast);
        }
        self.header = Some(header);
        let frames = value.get("stdout").and_then(Value::as_array);
        for frame in frames.into_iter().flatten() {
            let read = match (frame.get(0).and_then(Value::as_f64), frame.get(1).and_then(Value::as_str)) {
                (Some(delay), Some(data)) => event_line::micros(delay).map(|delay| (delay, data)),
                _ => Err(NoEvent::Form),
            };
            let fault = match read {
                Ok((delay, data)) if self.clock_us + delay <= TIME_MAX_US => {
                    self.clock_us += delay;
                    let kind = CastEventKind::Output(data.as_bytes().to_vec());
                    self.ready.push_back(Ok(CastEvent { at_us: self.clock_us, kind }));
                    continue;
                }
                Ok(_) | Err(NoEvent::TimeRange) => CastFault::TimeRange,
                Err(NoEvent::NegativeTime) => CastFault::NegativeTime,
                Err(NoEvent::Form) => CastFault::NotAnEvent(excerpt(&frame.to_string())),
            };
            self.end(Some(fault));
            return Ok(None);
        }
        self.end(None);
        Ok(None)
    }
}

/// Without the byte order mark that some editors write.
fn strip_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Whether there is a U+FFFD.
fn has_replacement(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, "\u{fffd}".as_bytes()).is_some()
}

/// The start of a line, for a message.
fn excerpt(line: &str) -> String {
    const CHARS: usize = 60;
    let mut excerpt = String::new();
    for c in line.chars().take(CHARS) {
        // Quotes and backslashes are shown unescaped.
        if matches!(c, '"' | '\'' | '\\') { excerpt.push(c) } else { excerpt.extend(c.escape_debug()) }
    }
    if line.chars().nth(CHARS).is_some() {
        excerpt.push('…');
    }
    excerpt
}
