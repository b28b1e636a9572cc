//! Writes a recording of version 3 as lines.

use base64::prelude::{BASE64_STANDARD, Engine};

use super::{CastEvent, CastEventKind, RAW_COMMENT};

/// Makes the lines of events. Output that ends within a character keeps up to 3 bytes of it back for the next
/// output, so that every event is text of its own.
#[derive(Clone, Debug, Default)]
pub struct CastWriter {
    /// The time of the last event that was written, in microseconds.
    clock_us: u64,
    output_tail: Utf8Tail,
    input_tail: Utf8Tail,
}

/// The first bytes of a character whose others have not come.
#[derive(Clone, Copy, Debug, Default)]
struct Utf8Tail {
    bytes: [u8; 3],
    len: usize,
}

impl Utf8Tail {
    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn set(&mut self, bytes: &[u8]) {
        self.len = bytes.len();
        self.bytes[..self.len].copy_from_slice(bytes);
    }
}

impl CastWriter {
    /// A writer behind the header, or behind the whole lines of a recording that is continued: its first
    /// event is `at_us` after the last one there.
    #[must_use]
    pub fn new() -> Self {
        CastWriter::default()
    }

    /// Appends the lines of an event.
    pub fn event(&mut self, event: &CastEvent, lines: &mut Vec<u8>) {
        match &event.kind {
            CastEventKind::Output(bytes) => self.output(event.at_us, bytes, lines),
            CastEventKind::Input(bytes) => self.input(event.at_us, bytes, lines),
            CastEventKind::Resize { cols, rows } => {
                self.line(event.at_us, 'r', &format!("{cols}x{rows}"), lines)
            }
            CastEventKind::Marker(label) => self.line(event.at_us, 'm', label, lines),
            CastEventKind::Exit(code) => {
                self.finish(lines);
                self.line(event.at_us, 'x', &code.to_string(), lines);
            }
            CastEventKind::Other { code, data } => self.line(event.at_us, *code, data, lines),
        }
    }

    /// Appends the line of output at `at_us` microseconds, and the comment with its exact bytes if it is not
    /// UTF-8. Empty output has no line.
    pub fn output(&mut self, at_us: u64, bytes: &[u8], lines: &mut Vec<u8>) {
        let mut tail = self.output_tail;
        self.bytes(at_us, 'o', &mut tail, bytes, lines);
        self.output_tail = tail;
    }

    /// Appends the line of input, like [`CastWriter::output`].
    pub fn input(&mut self, at_us: u64, bytes: &[u8], lines: &mut Vec<u8>) {
        let mut tail = self.input_tail;
        self.bytes(at_us, 'i', &mut tail, bytes, lines);
        self.input_tail = tail;
    }

    /// Appends what was kept back, at the time of the last event. The recording may go on after it.
    pub fn finish(&mut self, lines: &mut Vec<u8>) {
        let at_us = self.clock_us;
        for (code, tail) in
            [('o', std::mem::take(&mut self.output_tail)), ('i', std::mem::take(&mut self.input_tail))]
        {
            if tail.len > 0 {
                self.exact(at_us, code, tail.as_slice(), lines);
            }
        }
    }

    fn bytes(&mut self, at_us: u64, code: char, tail: &mut Utf8Tail, bytes: &[u8], lines: &mut Vec<u8>) {
        let joined;
        let mut bytes = bytes;
        if tail.len > 0 {
            joined = [tail.as_slice(), bytes].concat();
            bytes = &joined;
        }
        let (whole, cut) = bytes.split_at(bytes.len() - unfinished(bytes));
        tail.set(cut);
        if !whole.is_empty() {
            self.exact(at_us, code, whole, lines);
        }
    }

    fn exact(&mut self, at_us: u64, code: char, bytes: &[u8], lines: &mut Vec<u8>) {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.line(at_us, code, text, lines),
            Err(_) => {
                self.line(at_us, code, &String::from_utf8_lossy(bytes), lines);
                lines.extend_from_slice(RAW_COMMENT.as_bytes());
                lines.extend_from_slice(BASE64_STANDARD.encode(bytes).as_bytes());
                lines.extend_from_slice(b"\"}\n");
            }
        }
    }

    fn line(&mut self, at_us: u64, code: char, data: &str, lines: &mut Vec<u8>) {
        // Time does not run backwards: an event that comes late has the time of the one before it.
        let interval = at_us.saturating_sub(self.clock_us);
        self.clock_us = self.clock_us.max(at_us);
        lines.reserve(data.len() + 32);
        lines
            .extend_from_slice(format!("[{}.{:06}, ", interval / 1_000_000, interval % 1_000_000).as_bytes());
        quote(code.encode_utf8(&mut [0; 4]), lines);
        lines.extend_from_slice(b", ");
        quote(data, lines);
        lines.extend_from_slice(b"]\n");
    }
}

/// How many bytes at the end are the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    let end = &bytes[bytes.len() - bytes.len().min(3)..];
    // The last byte that begins a character, and whether more of it must follow.
    for back in 1..=end.len() {
        let from = end.len() - back;
        if end[from] & 0b1100_0000 != 0b1000_0000 {
            let cut = std::str::from_utf8(&end[from..]).is_err_and(|error| error.error_len().is_none());
            return if cut { back } else { 0 };
        }
    }
    0
}

/// Appends a text as a JSON string.
fn quote(text: &str, lines: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    lines.push(b'"');
    // What stands from here on is not copied yet.
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let block = &bytes[at..bytes.len().min(at + BLOCK)];
        // Without a branch for each byte, the compiler compares a block at once. Most output is plain text.
        if block.iter().fold(false, |any, byte| any | is_escaped(*byte)) {
            for (offset, byte) in block.iter().copied().enumerate().filter(|(_, byte)| is_escaped(*byte)) {
                lines.extend_from_slice(&bytes[copied..at + offset]);
                copied = at + offset + 1;
                match byte {
                    b'"' | b'\\' => lines.extend_from_slice(&[b'\\', byte]),
                    b'\n' => lines.extend_from_slice(b"\\n"),
                    b'\r' => lines.extend_from_slice(b"\\r"),
                    b'\t' => lines.extend_from_slice(b"\\t"),
                    _ => {
                        let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                        lines.extend_from_slice(b"\\u00");
                        lines.extend_from_slice(&digits);
                    }
                }
            }
        }
        at += block.len();
    }
    lines.extend_from_slice(&bytes[copied..]);
    lines.push(b'"');
}

/// How many bytes are looked at together.
const BLOCK: usize = 32;

fn is_escaped(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\') | (byte == 0x7f)
}
