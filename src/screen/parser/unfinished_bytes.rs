//! The start of the child's unfinished sequence or string. (The stream parser has that of a character.)
//!
//! A terminal that gets the picture now receives the child's next bytes unchanged, and needs these before
//! them.

use super::unfinished::Unfinished;

/// The most bytes that are kept.
const BYTES_MAX: usize = 4096;

const ESC: u8 = 0x1b;

/// The bytes from its start on; empty if nothing is unfinished.
#[derive(Default)]
pub struct UnfinishedBytes {
    bytes: Vec<u8>,
}

impl UnfinishedBytes {
    /// Takes output into account; `open` is the state after it.
    pub fn feed(&mut self, bytes: &[u8], open: Unfinished) {
        let start = match open {
            Unfinished::Nothing | Unfinished::Character(_) => return self.bytes.clear(),
            _ => memchr::memrchr(ESC, bytes),
        };
        if start.is_some() {
            self.bytes.clear();
        }
        let string = matches!(open, Unfinished::Command | Unfinished::Text);
        // Control characters inside a sequence took effect at once, and other text does not occur there. In a
        // string they are text, but not before its start.
        let begins = |byte: u8| string && matches!(byte, 0x30..=0x7e);
        let mut inside = self.bytes.iter().any(|byte| begins(*byte));
        let more = bytes[start.unwrap_or(0)..].iter().filter(|byte| {
            let kept = inside || matches!(**byte, ESC | b' '..=b'~');
            inside |= begins(**byte);
            kept
        });
        // A longer sequence is invalid for every terminal, and this much of it is enough to make it so.
        self.bytes.extend(more.take(BYTES_MAX.saturating_sub(self.bytes.len())));
        if self.bytes.len() == BYTES_MAX && string {
            // The rest of a string means nothing without its start: it must be skipped.
            let other: &[u8] = if open == Unfinished::Command { b"\x1b]9999;" } else { b"\x1b^" };
            self.bytes.splice(..other.len(), other.iter().copied());
        }
    }

    /// The bytes that put another terminal into the same state.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(bytes: &[u8]) -> Vec<u8> {
        let mut all = (UnfinishedBytes::default(), Unfinished::default());
        all.1.feed(bytes);
        all.0.feed(bytes, all.1);
        let mut single = (UnfinishedBytes::default(), Unfinished::default());
        for byte in bytes {
            single.1.feed(std::slice::from_ref(byte));
            single.0.feed(std::slice::from_ref(byte), single.1);
        }
        assert_eq!(all.0.bytes, single.0.bytes, "{:?}", String::from_utf8_lossy(bytes));
        all.0.bytes
    }

    #[test]
    fn what_is_open_is_kept_from_its_beginning() {
        let table: [(&[u8], &[u8]); 12] = [
            (b"", b""),
            (b"text\x1b[1m", b""),
            (b"text\x1b[1;3", b"\x1b[1;3"),
            (b"text\x1b", b"\x1b"),
            (b"\x1b[1\n2", b"\x1b[12"),
            (b"\x1b]0;ti\ttle", b"\x1b]0;ti\ttle"),
            (b"\x1b\t]0;a\tb", b"\x1b]0;a\tb"),
            (b"\x1b\xee\r_a\r", b"\x1b_a\r"),
            (b"\x1b]0;title\x1b", b"\x1b"),
            (b"\x1b]0;title\x07", b""),
            (b"\x1b[1\xe2\x82;", b"\x1b[1;"),
            (b"\x1b(\x1b)", b"\x1b)"),
        ];
        for (bytes, expected) in table {
            assert_eq!(begun(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn it_is_bounded_and_a_cut_string_shows_nothing() {
        let long = begun(&[b"\x1b]0;".to_vec(), vec![b'x'; 9000]].concat());
        assert!(long.len() == BYTES_MAX && long.starts_with(b"\x1b]9999;"));
        assert!(begun(&[b"\x1b_G".to_vec(), vec![b'x'; 9000]].concat()).starts_with(b"\x1b^"));
        assert_eq!(begun(&[b"\x1b[".to_vec(), vec![b'1'; 9000]].concat()).len(), BYTES_MAX);
    }
}
