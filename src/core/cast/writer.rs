//! Writes a recording of version 3 as lines.

use base64::prelude::{BASE64_STANDARD, Engine};

use super::{CastEvent, CastEventKind, RAW_COMMENT};

/// Writes events as lines. Up to 3 bytes of an incomplete character at the end of an output are kept for
/// the next one, so that every event is valid text.
#[derive(Clone, Debug, Default)]
pub struct CastWriter {
    /// The time of the last event that was written, in microseconds.
    clock_us: u64,
    output_tail: Utf8Tail,
    input_tail: Utf8Tail,
}

/// The first bytes of an incomplete character.
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
    /// A writer that continues after the header, or after the complete lines of a recording: `at_us` of its
    /// first event counts from the last event there.
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

    /// Appends the kept bytes, at the time of the last event. The recording may continue after that.
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
        match simdutf8::basic::from_utf8(bytes) {
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
        // Time never runs backwards: a late event gets the time of the previous one.
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

/// How many bytes at the end belong to an incomplete character.
fn unfinished(bytes: &[u8]) -> usize {
    let end = &bytes[bytes.len() - bytes.len().min(3)..];
    // The last byte that starts a character, and whether it needs more bytes.
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
    lines.push(b'"');
    let mut quoted = [0; ESCAPE_MAX * PIECE + WORD];
    for mut piece in text.as_bytes().chunks(PIECE) {
        let mut len = 0;
        // A whole word is copied, and characters that need an escape are then overwritten. Terminal output
        // has a control character every few bytes: copying the runs between them would cost more.
        while let Some(word) = piece.first_chunk::<WORD>() {
            quoted[len..len + WORD].copy_from_slice(word);
            let marks = escaped_in(u64::from_le_bytes(*word));
            if marks == 0 {
                (piece, len) = (&piece[WORD..], len + WORD);
                continue;
            }
            let plain = (marks.trailing_zeros() / 8) as usize;
            let (escape, escape_len) = escape(word[plain]);
            quoted[len + plain..len + plain + WORD].copy_from_slice(&escape);
            (piece, len) = (&piece[plain + 1..], len + plain + escape_len);
        }
        lines.extend_from_slice(&quoted[..len]);
        for byte in piece {
            if escaped_in(u64::from(*byte) | PLAIN_REST) == 0 {
                lines.push(*byte);
            } else {
                let (escape, escape_len) = escape(*byte);
                lines.extend_from_slice(&escape[..escape_len]);
            }
        }
    }
    lines.push(b'"');
}

/// How many bytes are examined at once.
const WORD: usize = size_of::<u64>();
/// How many bytes are quoted before they are appended to the lines.
const PIECE: usize = 512;
/// The longest escape, in bytes.
const ESCAPE_MAX: usize = 6;
/// A 1 in every byte of a word.
const ONES: u64 = u64::from_le_bytes([1; WORD]);
/// A word of blanks whose lowest byte is zero.
const PLAIN_REST: u64 = ONES * 0x20 - 0x20;

/// The highest bit of every byte of a word that a JSON string must escape: control characters, quotes and
/// backslashes.
fn escaped_in(word: u64) -> u64 {
    const HIGH: u64 = ONES * 0x80;
    // Sums of 7 bits: no byte carries into the next.
    let low = word & !HIGH;
    let is_printable = low + ONES * (0x80 - 0x20);
    let is_no_quote = (low ^ (ONES * b'"' as u64)) + ONES * 0x7f;
    let is_no_backslash = (low ^ (ONES * b'\\' as u64)) + ONES * 0x7f;
    let is_delete = low + ONES;
    (!(is_printable & is_no_quote & is_no_backslash) | is_delete) & !word & HIGH
}

/// The escape of a byte, and its length.
fn escape(byte: u8) -> ([u8; WORD], usize) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => {
            let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
            return ([b'\\', b'u', b'0', b'0', digits[0], digits[1], 0, 0], ESCAPE_MAX);
        }
    };
    ([b'\\', letter, 0, 0, 0, 0, 0, 0], 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_bytes_that_json_escapes_are_marked_in_every_place_of_a_word() {
        for byte in 0..=u8::MAX {
            let wanted = byte < b' ' || matches!(byte, b'"' | b'\\' | 0x7f);
            for (place, others) in
                (0..WORD).flat_map(|place| [0, b'!', 0x7f, 0x80, 0xff].map(|all| (place, all)))
            {
                let mut word = [others; WORD];
                word[place] = byte;
                let marks = escaped_in(u64::from_le_bytes(word)).to_le_bytes();
                assert_eq!(marks[place], u8::from(wanted) << 7, "{byte:#x} in {word:x?}");
            }
        }
    }
}
