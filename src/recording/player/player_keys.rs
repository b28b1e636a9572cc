//! What a person types at the player, from bytes to keys. Pure.

/// The longest sequence that is waited for, in bytes; what is longer is dropped.
const SEQUENCE_MAX: usize = 64;

/// One key, as far as the player tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerKey {
    /// A character.
    Char(char),
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Arrow left with Shift, or with any other modifier.
    FarLeft,
    /// Arrow right with Shift, or with any other modifier.
    FarRight,
    /// Home.
    Home,
    /// End.
    End,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Ctrl+C and Ctrl+D.
    Cancel,
    /// Ctrl+Z.
    Suspend,
    /// Ctrl+L.
    Redraw,
}

/// Bytes that are no whole key yet.
#[derive(Debug, Default)]
pub struct PlayerKeyParser {
    pending: Vec<u8>,
}

impl PlayerKeyParser {
    /// Takes what was read and gives the keys that are whole.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<PlayerKey> {
        self.pending.extend_from_slice(bytes);
        let (mut keys, mut at) = (Vec::new(), 0);
        while let Some((key, length)) = parse(&self.pending[at..]) {
            keys.extend(key);
            at += length;
        }
        self.pending.drain(..at);
        keys
    }

    /// Whether the last bytes may be the begin of a longer key.
    #[must_use]
    pub fn waits(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Nothing more came: a lone escape is the key, a torn sequence is nothing.
    pub fn settle(&mut self) -> Option<PlayerKey> {
        let pending = std::mem::take(&mut self.pending);
        (pending == [0x1b]).then_some(PlayerKey::Escape)
    }
}

/// The first key, or something that is none, and its length; `None` if more has to come.
fn parse(bytes: &[u8]) -> Option<(Option<PlayerKey>, usize)> {
    let key = match *bytes.first()? {
        b'\r' | b'\n' => PlayerKey::Enter,
        0x08 | 0x7f => PlayerKey::Backspace,
        0x03 | 0x04 => PlayerKey::Cancel,
        0x0c => PlayerKey::Redraw,
        0x1a => PlayerKey::Suspend,
        0x1b => return escape(bytes),
        0x00..0x20 => return Some((None, 1)),
        _ => return character(bytes),
    };
    Some((Some(key), 1))
}

fn character(bytes: &[u8]) -> Option<(Option<PlayerKey>, usize)> {
    let length = match bytes[0] {
        0x00..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return Some((None, 1)),
    };
    let text = std::str::from_utf8(bytes.get(..length)?).ok();
    let key = text.and_then(|text| text.chars().next()).map(PlayerKey::Char);
    Some((key, if key.is_some() { length } else { 1 }))
}

fn escape(bytes: &[u8]) -> Option<(Option<PlayerKey>, usize)> {
    match bytes.get(1)? {
        b'[' => {}
        b'O' => return Some((named(*bytes.get(2)?, b""), 3)),
        0x1b => return Some((Some(PlayerKey::Escape), 1)),
        // With Alt; none of those is a key here.
        _ => return Some((None, 2)),
    }
    let Some(end) = bytes[2..].iter().position(|byte| (0x40..0x7f).contains(byte)) else {
        return (bytes.len() > SEQUENCE_MAX).then_some((None, bytes.len()));
    };
    let (params, last) = (&bytes[2..2 + end], bytes[2 + end]);
    let key = match (last, params) {
        (b'~', b"1" | b"7") => Some(PlayerKey::Home),
        (b'~', b"4" | b"8") => Some(PlayerKey::End),
        _ => named(last, params),
    };
    Some((key, end + 3))
}

fn named(last: u8, params: &[u8]) -> Option<PlayerKey> {
    let modified = params.contains(&b';');
    Some(match last {
        b'A' => PlayerKey::Up,
        b'B' => PlayerKey::Down,
        b'C' if modified => PlayerKey::FarRight,
        b'D' if modified => PlayerKey::FarLeft,
        b'C' => PlayerKey::Right,
        b'D' => PlayerKey::Left,
        b'H' => PlayerKey::Home,
        b'F' => PlayerKey::End,
        b'M' => PlayerKey::Enter,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_known_however_they_are_cut() {
        let typed = " \u{e4}\x1b[C\x1bOD\x1b[1;2C\x1b[1;5D\x1b[1~\x1b[F\r\x7f\x03\x1a\x0c\x1bx\x1b[99;5uq";
        let want = [
            PlayerKey::Char(' '),
            PlayerKey::Char('\u{e4}'),
            PlayerKey::Right,
            PlayerKey::Left,
            PlayerKey::FarRight,
            PlayerKey::FarLeft,
            PlayerKey::Home,
            PlayerKey::End,
            PlayerKey::Enter,
            PlayerKey::Backspace,
            PlayerKey::Cancel,
            PlayerKey::Suspend,
            PlayerKey::Redraw,
            PlayerKey::Char('q'),
        ];
        assert_eq!(PlayerKeyParser::default().feed(typed.as_bytes()), want);
        let mut one_by_one = PlayerKeyParser::default();
        let found: Vec<PlayerKey> = typed.bytes().flat_map(|byte| one_by_one.feed(&[byte])).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn a_lone_escape_is_a_key_when_nothing_follows() {
        let mut keys = PlayerKeyParser::default();
        assert!(keys.feed(b"\x1b").is_empty() && keys.waits());
        assert_eq!(keys.settle(), Some(PlayerKey::Escape));
        keys.feed(b"\x1b[1;");
        assert_eq!((keys.settle(), keys.waits()), (None, false));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_and_little_is_kept(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20)) {
            let mut keys = PlayerKeyParser::default();
            for piece in pieces {
                keys.feed(&piece);
                prop_assert!(keys.pending.len() <= SEQUENCE_MAX + 40);
            }
        }
    }
}
