//! The keys that a person types into one of hopty's own pages (dashboard, session picker, player, snapshot
//! review), decoded from bytes: the encodings of plain terminals, since no page asks for others.

use super::{PASTE_END, PASTE_START};
use crate::core::time::Stamp;

/// The longest sequence and the longest paste, in bytes; longer ones are dropped.
const SEQUENCE_MAX: usize = 64;
const PASTE_MAX: usize = 64 * 1024;
/// How long after an escape the rest of a sequence may arrive, in ms.
pub const ESCAPE_MS: u64 = 50;

/// One key, as far as hopty's pages distinguish them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlainKey {
    Char(char),
    /// Text that was pasted, line ends and all.
    Paste(String),
    Enter,
    Tab,
    Escape,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    /// Arrow left with Shift, or with any other modifier.
    FarLeft,
    /// Arrow right with Shift, or with any other modifier.
    FarRight,
    PageUp,
    PageDown,
    Home,
    End,
    /// The left mouse button was pressed in this row (0-based).
    Click(u16),
    /// The mouse wheel, away from the person.
    WheelUp,
    /// The mouse wheel, towards the person.
    WheelDown,
    /// Ctrl+C and Ctrl+D.
    Cancel,
    /// Ctrl+U.
    Clear,
    /// Ctrl+Z.
    Suspend,
    /// Ctrl+L.
    Redraw,
}

/// Bytes that do not yet form a whole key.
#[derive(Debug, Default)]
pub struct PlainKeyParser {
    pending: Vec<u8>,
    /// When the last of them arrived.
    came: Stamp,
}

enum ParsedPlainKey {
    /// A key or an ignored sequence, and its length in bytes.
    Took(Option<PlainKey>, usize),
    /// The rest has not arrived yet.
    More,
}

impl PlainKeyParser {
    /// Takes what was read and returns the complete keys.
    pub fn feed(&mut self, bytes: &[u8], now: Stamp) -> Vec<PlainKey> {
        self.came = now;
        self.pending.extend_from_slice(bytes);
        let (mut keys, mut at) = (Vec::new(), 0);
        while let Some(rest) = self.pending.get(at..).filter(|rest| !rest.is_empty()) {
            match parse(rest) {
                ParsedPlainKey::Took(key, length) => {
                    keys.extend(key);
                    at += length;
                }
                ParsedPlainKey::More => break,
            }
        }
        self.pending.drain(..at);
        keys
    }

    /// When an incomplete sequence is taken as it is. A paste has no deadline.
    pub fn deadline(&self) -> Option<Stamp> {
        let waits = !self.pending.is_empty() && !self.pending.starts_with(PASTE_START);
        waits.then(|| self.came.after(ESCAPE_MS))
    }

    /// Call when nothing more has arrived by `now`: past the deadline a lone escape is the Escape key, and a
    /// torn sequence is dropped.
    pub fn settle(&mut self, now: Stamp) -> Option<PlainKey> {
        self.deadline().filter(|deadline| now >= *deadline)?;
        (std::mem::take(&mut self.pending) == [0x1b]).then_some(PlainKey::Escape)
    }
}

fn parse(bytes: &[u8]) -> ParsedPlainKey {
    let plain = |key| ParsedPlainKey::Took(Some(key), 1);
    match bytes[0] {
        b'\r' | b'\n' => plain(PlainKey::Enter),
        b'\t' => plain(PlainKey::Tab),
        0x08 | 0x7f => plain(PlainKey::Backspace),
        0x03 | 0x04 => plain(PlainKey::Cancel),
        0x0c => plain(PlainKey::Redraw),
        0x15 => plain(PlainKey::Clear),
        0x1a => plain(PlainKey::Suspend),
        0x0e => plain(PlainKey::Down),
        0x10 => plain(PlainKey::Up),
        0x1b => escape(bytes),
        0x00..0x20 => ParsedPlainKey::Took(None, 1),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> ParsedPlainKey {
    let length = match bytes[0] {
        0x00..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return ParsedPlainKey::Took(None, 1),
    };
    let Some(whole) = bytes.get(..length) else { return ParsedPlainKey::More };
    match std::str::from_utf8(whole).ok().and_then(|text| text.chars().next()) {
        Some(c) => ParsedPlainKey::Took(Some(PlainKey::Char(c)), length),
        None => ParsedPlainKey::Took(None, 1),
    }
}

fn escape(bytes: &[u8]) -> ParsedPlainKey {
    match bytes.get(1) {
        None => ParsedPlainKey::More,
        Some(b'[') => sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => ParsedPlainKey::More,
            Some(last) => ParsedPlainKey::Took(named(*last, b""), 3),
        },
        Some(0x1b) => ParsedPlainKey::Took(Some(PlainKey::Escape), 1),
        // Alt with a key; no page uses one.
        Some(_) => ParsedPlainKey::Took(None, 2),
    }
}

fn sequence(bytes: &[u8]) -> ParsedPlainKey {
    let Some(end) = bytes[2..].iter().position(|byte| (0x40..0x7f).contains(byte)) else {
        return if bytes.len() > SEQUENCE_MAX {
            ParsedPlainKey::Took(None, bytes.len())
        } else {
            ParsedPlainKey::More
        };
    };
    let (params, last, length) = (&bytes[2..2 + end], bytes[2 + end], end + 3);
    if bytes.starts_with(PASTE_START) {
        return paste(bytes);
    }
    if let Some(report) = params.strip_prefix(b"<") {
        return ParsedPlainKey::Took(mouse(report, last), length);
    }
    let number = params.split(|byte| *byte == b';').next().unwrap_or_default();
    let key = match (last, number) {
        (b'~', b"5") => Some(PlainKey::PageUp),
        (b'~', b"6") => Some(PlainKey::PageDown),
        (b'~', b"1" | b"7") => Some(PlainKey::Home),
        (b'~', b"4" | b"8") => Some(PlainKey::End),
        _ => named(last, params),
    };
    ParsedPlainKey::Took(key, length)
}

/// A mouse report in the encoding of mode 1006, without `CSI <`.
fn mouse(report: &[u8], last: u8) -> Option<PlainKey> {
    let mut numbers = std::str::from_utf8(report).ok()?.split(';').map(|number| number.parse::<u16>().ok());
    let (button, _, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    match (button, last) {
        (0, b'M') => Some(PlainKey::Click(row.checked_sub(1)?)),
        (64, b'M') => Some(PlainKey::WheelUp),
        (65, b'M') => Some(PlainKey::WheelDown),
        _ => None,
    }
}

fn named(last: u8, params: &[u8]) -> Option<PlainKey> {
    let is_modified = params.contains(&b';');
    Some(match last {
        b'A' => PlainKey::Up,
        b'B' => PlainKey::Down,
        b'C' if is_modified => PlainKey::FarRight,
        b'D' if is_modified => PlainKey::FarLeft,
        b'C' => PlainKey::Right,
        b'D' => PlainKey::Left,
        b'H' => PlainKey::Home,
        b'F' => PlainKey::End,
        b'M' => PlainKey::Enter,
        _ => return None,
    })
}

fn paste(bytes: &[u8]) -> ParsedPlainKey {
    let text = &bytes[PASTE_START.len()..];
    match text.windows(PASTE_END.len()).position(|part| part == PASTE_END) {
        Some(end) => {
            let key = PlainKey::Paste(String::from_utf8_lossy(&text[..end]).into_owned());
            ParsedPlainKey::Took(Some(key), PASTE_START.len() + end + PASTE_END.len())
        }
        None if text.len() > PASTE_MAX => ParsedPlainKey::Took(None, bytes.len()),
        None => ParsedPlainKey::More,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Stamp = Stamp(1000);
    const LATER: Stamp = Stamp(1000 + ESCAPE_MS);

    #[test]
    fn clicks_and_the_wheel_are_keys_and_releases_are_not() {
        let mut keys = PlainKeyParser::default();
        let read = keys.feed(
            b"\x1b[<0;7;3M\x1b[<0;7;3m\x1b[<64;1;1M\x1b[<65;1;1M\x1b[<2;1;1M\x1b[<0;7M\x1b[<0;7;0M",
            NOW,
        );
        assert_eq!(read, [PlainKey::Click(2), PlainKey::WheelUp, PlainKey::WheelDown]);
    }

    #[test]
    fn keys_of_plain_terminals_are_known_however_they_are_cut() {
        let typed = "j\u{e4}漢\x1b[A\x1bOB\x1b[C\x1bOD\x1b[1;2C\x1b[1;5D\x1b[1~\x1b[F\x1b[5~\x1b[6;2~\r\x7f\x03\x15\x1a\x0c\x1b[200~two\nlines\x1b[201~\x1bx\x1b[99;5uq";
        let want = [
            PlainKey::Char('j'),
            PlainKey::Char('ä'),
            PlainKey::Char('漢'),
            PlainKey::Up,
            PlainKey::Down,
            PlainKey::Right,
            PlainKey::Left,
            PlainKey::FarRight,
            PlainKey::FarLeft,
            PlainKey::Home,
            PlainKey::End,
            PlainKey::PageUp,
            PlainKey::PageDown,
            PlainKey::Enter,
            PlainKey::Backspace,
            PlainKey::Cancel,
            PlainKey::Clear,
            PlainKey::Suspend,
            PlainKey::Redraw,
            PlainKey::Paste("two\nlines".to_owned()),
            PlainKey::Char('q'),
        ];
        assert_eq!(PlainKeyParser::default().feed(typed.as_bytes(), NOW), want);
        let mut one_by_one = PlainKeyParser::default();
        let found: Vec<PlainKey> = typed.bytes().flat_map(|byte| one_by_one.feed(&[byte], NOW)).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn a_lone_escape_is_a_key_when_nothing_follows() {
        let mut keys = PlainKeyParser::default();
        assert!(keys.feed(b"\x1b", NOW).is_empty());
        assert_eq!((keys.deadline(), keys.settle(Stamp(LATER.0 - 1))), (Some(LATER), None));
        assert_eq!((keys.settle(LATER), keys.deadline()), (Some(PlainKey::Escape), None));
        keys.feed(b"\x1b[1;", NOW);
        assert_eq!((keys.settle(LATER), keys.deadline()), (None, None));
        assert_eq!(keys.feed(b"\x1b\x1b[A", NOW), [PlainKey::Escape, PlainKey::Up]);
        keys.feed(b"\x1b[200~half", NOW);
        assert!(keys.deadline().is_none() && keys.settle(LATER).is_none(), "a paste is waited for");
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_in_bounded_memory(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut keys = PlainKeyParser::default();
            keys.feed(&bytes, NOW);
            prop_assert!(keys.pending.len() <= SEQUENCE_MAX.max(bytes.len()));
            keys.settle(LATER);
        }
    }

    #[test]
    fn neither_a_paste_nor_a_sequence_without_end_fills_the_memory() {
        let mut keys = PlainKeyParser::default();
        keys.feed(PASTE_START, NOW);
        for _ in 0..100 {
            keys.feed(&[b'x'; 4096], NOW);
            assert!(keys.pending.len() < 2 * PASTE_MAX);
        }
        let mut keys = PlainKeyParser::default();
        keys.feed(b"\x1b[", NOW);
        (0..1000).for_each(|_| drop(keys.feed(b";;;;", NOW)));
        assert!(keys.pending.len() <= SEQUENCE_MAX + 4);
    }
}
