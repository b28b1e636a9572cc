//! What a person types, from bytes to keys: plain terminals' encodings, since the dashboard asks for no
//! other. Pure.

/// The longest sequence and the longest paste that are taken, in bytes; what is longer is dropped.
const SEQUENCE_MAX: usize = 64;
const PASTE_MAX: usize = 64 * 1024;

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// One key, as far as the dashboard tells them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DashKey {
    /// A character.
    Char(char),
    /// Text that was pasted, line ends and all.
    Paste(String),
    /// Enter.
    Enter,
    /// Tab.
    Tab,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// The left mouse button was pressed in this row, from 0.
    Click(u16),
    /// The mouse wheel, away from the person.
    WheelUp,
    /// The mouse wheel, towards the person.
    WheelDown,
    /// Ctrl+C, and Ctrl+D on an empty line as in a shell.
    Cancel,
    /// Ctrl+U: the line is emptied.
    Clear,
    /// Ctrl+Z: the shell's.
    Suspend,
    /// Ctrl+L: everything is drawn again.
    Redraw,
}

/// Bytes that are no whole key yet.
#[derive(Debug, Default)]
pub struct KeyParser {
    pending: Vec<u8>,
}

enum ParsedKey {
    /// A key, or something that is none, of so many bytes.
    Took(Option<DashKey>, usize),
    /// The rest is still to come.
    More,
}

impl KeyParser {
    /// Takes what was read and gives the keys that are whole.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<DashKey> {
        self.pending.extend_from_slice(bytes);
        let (mut keys, mut at) = (Vec::new(), 0);
        while let Some(rest) = self.pending.get(at..).filter(|rest| !rest.is_empty()) {
            match parse(rest) {
                ParsedKey::Took(key, length) => {
                    keys.extend(key);
                    at += length;
                }
                ParsedKey::More => break,
            }
        }
        self.pending.drain(..at);
        keys
    }

    /// Whether the last bytes may be the begin of a longer key.
    #[must_use]
    pub fn waits(&self) -> bool {
        !self.pending.is_empty() && !self.pending.starts_with(PASTE_BEGINS)
    }

    /// Nothing more came: a lone escape is the key, a torn sequence is nothing.
    pub fn settle(&mut self) -> Option<DashKey> {
        let pending = if self.waits() { std::mem::take(&mut self.pending) } else { Vec::new() };
        (pending == [0x1b]).then_some(DashKey::Escape)
    }
}

fn parse(bytes: &[u8]) -> ParsedKey {
    let plain = |key| ParsedKey::Took(Some(key), 1);
    match bytes[0] {
        b'\r' | b'\n' => plain(DashKey::Enter),
        b'\t' => plain(DashKey::Tab),
        0x08 | 0x7f => plain(DashKey::Backspace),
        0x03 | 0x04 => plain(DashKey::Cancel),
        0x0c => plain(DashKey::Redraw),
        0x15 => plain(DashKey::Clear),
        0x1a => plain(DashKey::Suspend),
        0x0e => plain(DashKey::Down),
        0x10 => plain(DashKey::Up),
        0x1b => escape(bytes),
        0x00..0x20 => ParsedKey::Took(None, 1),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> ParsedKey {
    let length = match bytes[0] {
        0x00..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return ParsedKey::Took(None, 1),
    };
    let Some(whole) = bytes.get(..length) else { return ParsedKey::More };
    match std::str::from_utf8(whole).ok().and_then(|text| text.chars().next()) {
        Some(c) => ParsedKey::Took(Some(DashKey::Char(c)), length),
        None => ParsedKey::Took(None, 1),
    }
}

fn escape(bytes: &[u8]) -> ParsedKey {
    match bytes.get(1) {
        None => ParsedKey::More,
        Some(b'[') => sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => ParsedKey::More,
            Some(last) => ParsedKey::Took(named(*last), 3),
        },
        Some(0x1b) => ParsedKey::Took(Some(DashKey::Escape), 1),
        // With Alt; none of those is a key here.
        Some(_) => ParsedKey::Took(None, 2),
    }
}

fn sequence(bytes: &[u8]) -> ParsedKey {
    let Some(end) = bytes[2..].iter().position(|byte| (0x40..0x7f).contains(byte)) else {
        return if bytes.len() > SEQUENCE_MAX { ParsedKey::Took(None, bytes.len()) } else { ParsedKey::More };
    };
    let (params, last, length) = (&bytes[2..2 + end], bytes[2 + end], end + 3);
    if bytes.starts_with(PASTE_BEGINS) {
        return paste(bytes);
    }
    if let Some(report) = params.strip_prefix(b"<") {
        return ParsedKey::Took(mouse(report, last), length);
    }
    let number = params.split(|byte| *byte == b';').next().unwrap_or_default();
    let key = match (last, number) {
        (b'~', b"5") => Some(DashKey::PageUp),
        (b'~', b"6") => Some(DashKey::PageDown),
        (b'~', b"1" | b"7") => Some(DashKey::Home),
        (b'~', b"4" | b"8") => Some(DashKey::End),
        _ => named(last),
    };
    ParsedKey::Took(key, length)
}

/// A mouse report in the encoding of mode 1006, without its begin.
fn mouse(report: &[u8], last: u8) -> Option<DashKey> {
    let mut numbers = std::str::from_utf8(report).ok()?.split(';').map(|number| number.parse::<u16>().ok());
    let (button, _, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    match (button, last) {
        (0, b'M') => Some(DashKey::Click(row.checked_sub(1)?)),
        (64, b'M') => Some(DashKey::WheelUp),
        (65, b'M') => Some(DashKey::WheelDown),
        _ => None,
    }
}

fn named(last: u8) -> Option<DashKey> {
    Some(match last {
        b'A' => DashKey::Up,
        b'B' => DashKey::Down,
        b'H' => DashKey::Home,
        b'F' => DashKey::End,
        b'M' => DashKey::Enter,
        _ => return None,
    })
}

fn paste(bytes: &[u8]) -> ParsedKey {
    let text = &bytes[PASTE_BEGINS.len()..];
    match text.windows(PASTE_ENDS.len()).position(|part| part == PASTE_ENDS) {
        Some(end) => {
            let key = DashKey::Paste(String::from_utf8_lossy(&text[..end]).into_owned());
            ParsedKey::Took(Some(key), PASTE_BEGINS.len() + end + PASTE_ENDS.len())
        }
        None if text.len() > PASTE_MAX => ParsedKey::Took(None, bytes.len()),
        None => ParsedKey::More,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_click_and_the_wheel_are_read_and_a_release_is_nothing() {
        let mut keys = KeyParser::default();
        let read = keys
            .feed(b"\x1b[<0;7;3M\x1b[<0;7;3m\x1b[<64;1;1M\x1b[<65;1;1M\x1b[<2;1;1M\x1b[<0;7M\x1b[<0;7;0M");
        assert_eq!(read, [DashKey::Click(2), DashKey::WheelUp, DashKey::WheelDown]);
    }

    #[test]
    fn keys_of_plain_terminals_are_known_however_they_are_cut() {
        let typed = "j\u{e4}漢\x1b[A\x1bOB\x1b[5~\x1b[6;2~\r\x7f\x03\x15\x1a\x0c\x1b[200~two\nlines\x1b[201~\x1bx\x1b[99;5uq";
        let want = [
            DashKey::Char('j'),
            DashKey::Char('ä'),
            DashKey::Char('漢'),
            DashKey::Up,
            DashKey::Down,
            DashKey::PageUp,
            DashKey::PageDown,
            DashKey::Enter,
            DashKey::Backspace,
            DashKey::Cancel,
            DashKey::Clear,
            DashKey::Suspend,
            DashKey::Redraw,
            DashKey::Paste("two\nlines".to_owned()),
            DashKey::Char('q'),
        ];
        assert_eq!(KeyParser::default().feed(typed.as_bytes()), want);
        let mut one_by_one = KeyParser::default();
        let found: Vec<DashKey> = typed.bytes().flat_map(|byte| one_by_one.feed(&[byte])).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn a_lone_escape_is_a_key_when_nothing_follows() {
        let mut keys = KeyParser::default();
        assert!(keys.feed(b"\x1b").is_empty() && keys.waits());
        assert_eq!(keys.settle(), Some(DashKey::Escape));
        keys.feed(b"\x1b[1;");
        assert_eq!(keys.settle(), None);
        assert_eq!(keys.feed(b"\x1b\x1b[A"), [DashKey::Escape, DashKey::Up]);
        keys.feed(b"\x1b[200~half");
        assert!(!keys.waits() && keys.settle().is_none(), "a paste is waited for");
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_and_little_is_kept(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut keys = KeyParser::default();
            keys.feed(&bytes);
            prop_assert!(keys.pending.len() <= SEQUENCE_MAX.max(bytes.len()));
            keys.settle();
        }
    }

    #[test]
    fn neither_a_paste_nor_a_sequence_without_end_fills_the_memory() {
        let mut keys = KeyParser::default();
        keys.feed(PASTE_BEGINS);
        for _ in 0..100 {
            keys.feed(&[b'x'; 4096]);
            assert!(keys.pending.len() < 2 * PASTE_MAX);
        }
        let mut keys = KeyParser::default();
        keys.feed(b"\x1b[");
        (0..1000).for_each(|_| drop(keys.feed(b";;;;")));
        assert!(keys.pending.len() <= SEQUENCE_MAX + 4);
    }
}
