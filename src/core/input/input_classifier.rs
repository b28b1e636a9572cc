//! The classifier of a terminal's input.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::key_sequences;
use super::key_sequences::Csi;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputClass {
    Typed,
    /// Ctrl+C, pressed or repeated, in any of its encodings.
    Interrupt,
    /// Enter without a modifier.
    Submit,
    /// Ctrl+Z.
    Suspend,
    /// A bracketed paste with its delimiters; nothing inside is recognised.
    Paste,
    /// Shift+Tab, which changes Claude's permission mode, in any of its encodings.
    Mode,
    /// The key that begins hopty's own commands, in any of its encodings; only if one is configured.
    Prefix,
    /// Sent by the terminal, not by a person: focus, mouse, answers to queries, size and colour reports.
    Report,
}

impl InputClass {
    /// Whether each piece of this class is one key, never joined with the next.
    #[must_use]
    pub fn is_key(self) -> bool {
        matches!(
            self,
            InputClass::Interrupt
                | InputClass::Submit
                | InputClass::Suspend
                | InputClass::Mode
                | InputClass::Prefix
        )
    }
}

/// A labelled run of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputPiece {
    pub class: InputClass,
    /// Byte offsets since the classifier was made. It may begin in an earlier `feed`.
    pub range: Range<u64>,
}

/// Bytes of a control sequence that are examined; a longer one is neither a key nor an answer.
const MAX_CSI: usize = 128;
/// Bytes of an OSC, DCS or APC answer (a clipboard may be in it); what follows counts as typed.
const MAX_STRING: u64 = 1 << 20;
/// Begins a bracketed paste.
pub const PASTE_START: &[u8] = b"\x1b[200~";
/// Ends a bracketed paste.
pub const PASTE_END: &[u8] = b"\x1b[201~";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClassifierState {
    Ground,
    Escape,
    Csi,
    Ss3,
    /// After `ESC ]`, `ESC P`, `ESC _`: a string, or Alt and that letter.
    Opener(u8),
    Text {
        length: u64,
    },
    /// ESC inside a string: its end, or another sequence.
    TextEscape {
        length: u64,
    },
    /// Bytes to come of `CSI M`.
    X10(u8),
    /// How much of the end delimiter has arrived.
    Paste(usize),
}

/// Labels the input of one terminal. Each client has its own: a sequence never continues in another client's
/// input.
#[derive(Clone, Debug)]
pub struct Classifier {
    state: ClassifierState,
    /// Offset of the next byte.
    offset: u64,
    /// Offset of the first byte without a label.
    start: u64,
    csi: Vec<u8>,
    /// The prefix key as the byte that a terminal without a keyboard protocol sends.
    prefix: Option<u8>,
}

impl Default for Classifier {
    fn default() -> Self {
        Self::new()
    }
}

impl Classifier {
    #[must_use]
    pub fn new() -> Self {
        Classifier { state: ClassifierState::Ground, offset: 0, start: 0, csi: Vec::new(), prefix: None }
    }

    /// A classifier that also knows hopty's own key; `prefix` is the byte of Ctrl with that key (0x00 to
    /// 0x1f).
    #[must_use]
    pub fn with_prefix(prefix: Option<u8>) -> Self {
        Classifier { prefix, ..Self::new() }
    }

    /// Labels `bytes`, the next ones of the stream. Adjacent bytes of one class form one piece; keys come one
    /// by one.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<InputPiece>) {
        let mut rest = bytes;
        while let Some((first, behind)) = rest.split_first() {
            // The body of a long paste is skipped, not read byte by byte.
            let prefix = self.prefix;
            let is_key = |byte: &u8| matches!(byte, 0x03 | 0x0d | 0x1a | 0x1b) || Some(*byte) == prefix;
            let (class, plain) = match self.state {
                ClassifierState::Ground => (InputClass::Typed, rest.iter().position(is_key)),
                ClassifierState::Paste(0) => (InputClass::Paste, memchr::memchr(PASTE_END[0], rest)),
                _ => (InputClass::Typed, Some(0)),
            };
            let sink = &mut |piece| join(out, piece);
            let plain = plain.unwrap_or(rest.len());
            if plain > 0 {
                self.offset += plain as u64;
                self.label(class, self.offset, sink);
                rest = &rest[plain..];
            } else {
                self.byte(*first, sink);
                self.offset += 1;
                rest = behind;
            }
        }
    }

    /// How many bytes have no label yet: at most the start of one sequence.
    pub fn pending(&self) -> u64 {
        self.offset - self.start
    }

    /// Labels what is pending. Call it after some 100 ms without input: a lone ESC was the Escape key. The
    /// start of a longer sequence is labelled as typed but remembered, so that a Ctrl+C split by a slow line
    /// still counts.
    pub fn flush(&mut self, out: &mut Vec<InputPiece>) {
        let class = if matches!(self.state, ClassifierState::X10(_)) {
            InputClass::Report
        } else {
            InputClass::Typed
        };
        let sink = &mut |piece| join(out, piece);
        self.label(class, self.offset, sink);
        let begun = match self.state {
            ClassifierState::Csi => !self.csi.is_empty(),
            ClassifierState::Text { .. } | ClassifierState::Paste(_) => true,
            _ => false,
        };
        if !begun {
            self.state = ClassifierState::Ground;
        }
    }

    /// Like `feed`, but every key and every sequence is a piece of its own.
    pub fn tokens(&mut self, bytes: &[u8], sink: &mut impl FnMut(InputPiece)) {
        for &byte in bytes {
            self.byte(byte, sink);
            self.offset += 1;
        }
    }

    /// Labels everything before `end` that has no label yet.
    fn label(&mut self, class: InputClass, end: u64, sink: &mut impl FnMut(InputPiece)) {
        if self.start < end {
            sink(InputPiece { class, range: self.start..end });
            self.start = end;
        }
    }

    /// Labels everything up to and including the current byte, and continues in state `next`.
    fn done(&mut self, class: InputClass, next: ClassifierState, sink: &mut impl FnMut(InputPiece)) {
        self.label(class, self.offset + 1, sink);
        self.state = next;
    }

    /// The sequence is not valid: its bytes were typed, and the current byte is read on its own.
    fn broken(&mut self, byte: u8, sink: &mut impl FnMut(InputPiece)) {
        self.label(InputClass::Typed, self.offset, sink);
        self.ground(byte, sink);
    }

    fn ground(&mut self, byte: u8, sink: &mut impl FnMut(InputPiece)) {
        match byte {
            0x1b => self.state = ClassifierState::Escape,
            _ if Some(byte) == self.prefix => self.done(InputClass::Prefix, ClassifierState::Ground, sink),
            0x03 => self.done(InputClass::Interrupt, ClassifierState::Ground, sink),
            0x0d => self.done(InputClass::Submit, ClassifierState::Ground, sink),
            0x1a => self.done(InputClass::Suspend, ClassifierState::Ground, sink),
            _ => self.done(InputClass::Typed, ClassifierState::Ground, sink),
        }
    }

    fn byte(&mut self, byte: u8, sink: &mut impl FnMut(InputPiece)) {
        match self.state {
            ClassifierState::Ground => self.ground(byte, sink),
            ClassifierState::Escape => self.escape(byte, sink),
            ClassifierState::Csi => self.control(byte, sink),
            ClassifierState::Ss3 => match byte {
                0x20..=0x7e => self.done(InputClass::Typed, ClassifierState::Ground, sink),
                _ => self.broken(byte, sink),
            },
            ClassifierState::Opener(kind) => {
                let answers: &[u8] = match kind {
                    b']' => b"0123456789lL",
                    b'P' => b"0123456789>!+$",
                    _ => b"G",
                };
                if answers.contains(&byte) {
                    self.done(InputClass::Report, ClassifierState::Text { length: 0 }, sink);
                } else {
                    self.broken(byte, sink);
                }
            }
            ClassifierState::Text { length } => match byte {
                0x07 => self.done(InputClass::Report, ClassifierState::Ground, sink),
                0x1b => self.state = ClassifierState::TextEscape { length },
                // No answer contains another control byte: it was cut off, and this is a key (perhaps
                // Ctrl+C).
                0x00..=0x1f => self.broken(byte, sink),
                _ if length >= MAX_STRING => self.broken(byte, sink),
                _ => self.done(InputClass::Report, ClassifierState::Text { length: length + 1 }, sink),
            },
            ClassifierState::TextEscape { .. } if byte == b'\\' => {
                self.done(InputClass::Report, ClassifierState::Ground, sink)
            }
            ClassifierState::TextEscape { .. } => self.escape(byte, sink),
            ClassifierState::X10(left) => match byte {
                0x00..=0x1f => self.broken(byte, sink),
                _ if left > 1 => self.state = ClassifierState::X10(left - 1),
                _ => self.done(InputClass::Report, ClassifierState::Ground, sink),
            },
            ClassifierState::Paste(seen) => {
                let seen = if byte == PASTE_END[seen] { seen + 1 } else { usize::from(byte == PASTE_END[0]) };
                let next = if seen == PASTE_END.len() {
                    ClassifierState::Ground
                } else {
                    ClassifierState::Paste(seen)
                };
                self.done(InputClass::Paste, next, sink);
            }
        }
    }

    /// The byte after ESC.
    fn escape(&mut self, byte: u8, sink: &mut impl FnMut(InputPiece)) {
        match byte {
            b'[' => {
                self.csi.clear();
                self.state = ClassifierState::Csi;
            }
            b'O' => self.state = ClassifierState::Ss3,
            b']' | b'P' | b'_' => self.state = ClassifierState::Opener(byte),
            // Ctrl+C and Ctrl+Z right after Escape are these keys; a second Escape may begin a sequence.
            0x03 | 0x1a | 0x1b => self.broken(byte, sink),
            // Alt with a key, including Alt+Enter (a new line, not a submit).
            _ => self.done(InputClass::Typed, ClassifierState::Ground, sink),
        }
    }

    /// A byte of a control sequence after `CSI`.
    fn control(&mut self, byte: u8, sink: &mut impl FnMut(InputPiece)) {
        match byte {
            0x20..=0x3f if self.csi.len() < MAX_CSI => self.csi.push(byte),
            0x40..=0x7e => match key_sequences::meaning(&self.csi, byte, self.prefix) {
                Csi::Class(class) => self.done(class, ClassifierState::Ground, sink),
                Csi::PasteBegins => self.done(InputClass::Paste, ClassifierState::Paste(0), sink),
                Csi::X10Mouse => self.state = ClassifierState::X10(3),
            },
            _ => self.broken(byte, sink),
        }
    }
}

fn join(out: &mut Vec<InputPiece>, piece: InputPiece) {
    match out.last_mut() {
        Some(last)
            if last.class == piece.class && !piece.class.is_key() && last.range.end == piece.range.start =>
        {
            last.range.end = piece.range.end;
        }
        _ => out.push(piece),
    }
}

#[cfg(test)]
#[path = "input_classifier_tests.rs"]
mod tests;
