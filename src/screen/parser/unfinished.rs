//! Whether the child's output ends in the middle of a sequence or a character: a terminal would read the next
//! bytes, hopty's or the shell's, as its rest.
//!
//! It tracks where sequences and characters start and end, not their meaning. An escape always starts a new
//! sequence, so only bytes after the last one matter. Bytes from 0x80 to 0x9f are text, as in the parser.

/// How many of the last bytes may contain the start of an incomplete character.
const TAIL: usize = 3;

const ESC: u8 = 0x1b;

/// What a terminal expects after the last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unfinished {
    #[default]
    Nothing,
    /// A UTF-8 character with this many missing bytes.
    Character(u8),
    /// After ESC, possibly in a string: some terminals then wait for the `\`.
    Escape,
    /// After ESC and an intermediate byte.
    Intermediate,
    /// After `ESC [`.
    Sequence,
    /// In an operating system command, which BEL also ends.
    Command,
    /// In another string: DCS, SOS, PM, APC.
    Text,
}

impl Unfinished {
    /// Takes output into account.
    pub(in crate::screen) fn feed(&mut self, bytes: &[u8]) {
        let body = bytes.iter().rposition(|byte| *byte != ESC).map_or(0, |last| last + 1);
        let (body, escapes) = bytes.split_at(body);
        let from = match memchr::memrchr(ESC, body) {
            Some(at) => {
                *self = Self::Escape;
                at + 1
            }
            None if matches!(self, Self::Nothing | Self::Character(_)) && body.len() > TAIL => {
                *self = Self::Nothing;
                body.len() - TAIL
            }
            None => 0,
        };
        body[from..].iter().chain(escapes.first()).for_each(|byte| *self = self.after(*byte));
    }

    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (_, 0x18 | 0x1a) | (Self::Command, 0x07) => Self::Nothing,
            (_, ESC) => Self::Escape,
            (Self::Character(left), 0x80..=0xbf) if left > 1 => Self::Character(left - 1),
            (Self::Nothing | Self::Character(_), 0xc2..=0xdf) => Self::Character(1),
            (Self::Nothing | Self::Character(_), 0xe0..=0xef) => Self::Character(2),
            (Self::Nothing | Self::Character(_), 0xf0..=0xf4) => Self::Character(3),
            (Self::Nothing | Self::Character(_), _) => Self::Nothing,
            (Self::Escape, 0x20..=0x2f) => Self::Intermediate,
            (Self::Escape, b'[') => Self::Sequence,
            (Self::Escape, b']') => Self::Command,
            (Self::Escape, b'P' | b'X' | b'^' | b'_') => Self::Text,
            (Self::Escape | Self::Intermediate, 0x30..=0x7e) | (Self::Sequence, 0x40..=0x7e) => Self::Nothing,
            (open, _) => open,
        }
    }

    /// Which of the next bytes are text or simple controls (BEL, BS, HT, LF, CR): everything for a terminal
    /// without sequences.
    pub fn text(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::with_capacity(bytes.len());
        for byte in bytes {
            let outside = |open| matches!(open, Self::Nothing | Self::Character(_));
            let before = std::mem::replace(self, self.after(*byte));
            if outside(before) && outside(*self) && !matches!(byte, 0..=6 | 11 | 12 | 14..=31 | 127) {
                text.push(*byte);
            }
        }
        text
    }

    /// The bytes that end it: CAN cancels a sequence, so the cut one has no effect. Also ST for strings,
    /// which not every terminal lets CAN cancel.
    pub(in crate::screen) fn ending(self) -> &'static [u8] {
        match self {
            Self::Nothing => b"",
            Self::Character(_) | Self::Intermediate | Self::Sequence => b"\x18",
            Self::Escape | Self::Command | Self::Text => b"\x18\x1b\\",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(bytes: &[u8]) -> Unfinished {
        let mut open = Unfinished::default();
        open.feed(bytes);
        let mut single = Unfinished::default();
        bytes.iter().for_each(|byte| single.feed(std::slice::from_ref(byte)));
        assert_eq!(open, single, "{:?}", String::from_utf8_lossy(bytes));
        open
    }

    #[test]
    fn text_alone_wherever_it_is_cut() {
        let stream = "a\x07\u{e9}\u{6f22}\x1b[1;31mb\x1b]2;title\x1b\\c\r\n\t\x08\x0e\x1bP1$r0m\x1b\\d\x1b[?2004h\x1b(0e\x1b[3\x18f\x1b]0;x\x07g";
        for cut in 0..=stream.len() {
            let mut open = Unfinished::default();
            let (one, other) = stream.as_bytes().split_at(cut);
            let text = [open.text(one), open.text(other)].concat();
            assert_eq!(
                String::from_utf8(text).unwrap(),
                "a\x07\u{e9}\u{6f22}bc\r\n\t\x08defg",
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn what_is_open_is_known_wherever_the_bytes_are_cut() {
        let table: [(&[u8], Unfinished); 31] = [
            (b"", Unfinished::Nothing),
            (b"text", Unfinished::Nothing),
            (b"a long line of text \xe2\x82\xac", Unfinished::Nothing),
            (b"a long line of text \xe2\x82", Unfinished::Character(1)),
            (b"\xf0", Unfinished::Character(3)),
            (b"\xf0\x9f\x92\xbb", Unfinished::Nothing),
            (b"\xe2\x82x", Unfinished::Nothing),
            (b"\xff\x80\x80\x80", Unfinished::Nothing),
            (b"text\x1b", Unfinished::Escape),
            (b"\x1b\x1b\x1b", Unfinished::Escape),
            (b"\x1bP\x1b\x7f", Unfinished::Escape),
            (b"\x1b(", Unfinished::Intermediate),
            (b"\x1b([", Unfinished::Nothing),
            (b"\x1b7", Unfinished::Nothing),
            (b"\x1b[", Unfinished::Sequence),
            (b"\x1b[?1049", Unfinished::Sequence),
            (b"\x1b[?1049h", Unfinished::Nothing),
            (b"\x1b[1\n2", Unfinished::Sequence),
            (b"\x1b[1\x18", Unfinished::Nothing),
            (b"\x1b]0;title", Unfinished::Command),
            (b"\x1b]0;title\xe2", Unfinished::Command),
            (b"\x1b]0;title\x07", Unfinished::Nothing),
            (b"\x1b]0;title\x1b", Unfinished::Escape),
            (b"\x1b]0;title\x1b\x1b", Unfinished::Escape),
            (b"\x1b]0;title\x1b\\", Unfinished::Nothing),
            (b"\x1b]0;title\x1b[", Unfinished::Sequence),
            (b"\x1b]0;title\x1a", Unfinished::Nothing),
            (b"\x1bPq#0\x07", Unfinished::Text),
            (b"\x1b_Ga=T;AAAA\x1b", Unfinished::Escape),
            (b"\x1b_Ga=T;AAAA\x1b\\", Unfinished::Nothing),
            (b"\x1b^\x1b_\x1bXtext", Unfinished::Text),
        ];
        for (bytes, open) in table {
            assert_eq!(after(bytes), open, "{:?}", String::from_utf8_lossy(bytes));
            let mut ended = open;
            ended.feed(open.ending());
            assert_eq!(ended, Unfinished::Nothing);
        }
    }
}
