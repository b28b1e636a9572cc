//! Splits the bytes of a growing file into lines.
//!
//! A read can end in the middle of a line. [`LineSplitter`] keeps this tail until the rest arrives, but no
//! more than [`LINE_CAP`] bytes of it: a longer line is skipped with constant memory.

/// The longest line that is kept, in bytes (64 MiB). Claude's own are far shorter, and a line without an end
/// must not fill the memory.
pub const LINE_CAP: usize = 64 << 20;

#[derive(Debug, Default)]
pub struct LineSplitter {
    tail: Vec<u8>,
    skipping: bool,
    too_long: u64,
    cap: Option<usize>,
}

impl LineSplitter {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A splitter that keeps lines of at most `cap` bytes.
    #[must_use]
    pub fn with_cap(cap: usize) -> Self {
        Self { cap: Some(cap), ..Self::default() }
    }

    /// Takes the next bytes of the file and passes each complete line to `line`, also an empty one, without
    /// its newline.
    pub fn feed(&mut self, mut bytes: &[u8], mut line: impl FnMut(&[u8])) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (head, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.skipping {
                self.skipping = false;
            } else if self.tail.len() + head.len() > self.cap() {
                self.too_long += 1;
            } else if self.tail.is_empty() {
                line(head);
            } else {
                self.tail.extend_from_slice(head);
                line(&self.tail);
            }
            self.drop_tail();
            bytes = rest;
        }
        if self.skipping {
            return;
        }
        if self.tail.len() + bytes.len() > self.cap() {
            self.skipping = true;
            self.too_long += 1;
            self.tail = Vec::new();
        } else {
            self.tail.extend_from_slice(bytes);
        }
    }

    /// The bytes after the last newline: a line that is still being written.
    pub fn tail(&self) -> &[u8] {
        &self.tail
    }

    /// How many lines were longer than the cap and skipped.
    pub fn too_long(&self) -> u64 {
        self.too_long
    }

    /// Forgets the tail, for a file that was replaced or truncated.
    pub fn restart(&mut self) {
        self.tail = Vec::new();
        self.skipping = false;
    }

    fn cap(&self) -> usize {
        self.cap.unwrap_or(LINE_CAP)
    }

    /// Frees the memory of a huge line.
    fn drop_tail(&mut self) {
        if self.tail.capacity() > 1 << 20 {
            self.tail = Vec::new();
        } else {
            self.tail.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(splitter: &mut LineSplitter, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        splitter.feed(bytes, |line| all.push(line.to_vec()));
        all
    }

    #[test]
    fn a_tail_waits_for_its_newline() {
        let mut splitter = LineSplitter::new();
        assert_eq!(lines(&mut splitter, b"one\ntw"), [b"one".to_vec()]);
        assert_eq!(splitter.tail(), b"tw");
        assert_eq!(lines(&mut splitter, b"o\n\n"), [b"two".to_vec(), b"".to_vec()]);
        assert_eq!(splitter.tail(), b"");
    }

    #[test]
    fn a_line_over_the_cap_is_skipped_and_the_next_is_found() {
        let mut splitter = LineSplitter::with_cap(8);
        assert_eq!(lines(&mut splitter, b"0123456789"), Vec::<Vec<u8>>::new());
        for _ in 0..1000 {
            assert!(lines(&mut splitter, &[b'x'; 100]).is_empty());
        }
        assert!(splitter.tail().is_empty());
        assert_eq!(lines(&mut splitter, b"end\nshort\n"), [b"short".to_vec()]);
        assert_eq!(lines(&mut splitter, b"0123456789\nok\n"), [b"ok".to_vec()]);
        assert_eq!(splitter.too_long(), 2);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_where_reads_end(text in "[ab\n]{0,60}",
            cuts in proptest::collection::vec(0usize..60, 0..8)) {
            let bytes = text.as_bytes();
            let whole = lines(&mut LineSplitter::new(), bytes);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut splitter = LineSplitter::new();
            let mut pieces = Vec::new();
            let mut from = 0;
            for to in cuts.into_iter().chain([bytes.len()]) {
                pieces.extend(lines(&mut splitter, &bytes[from..to]));
                from = to;
            }
            prop_assert_eq!(pieces, whole);
        }
    }
}
