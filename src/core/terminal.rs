//! The size and the modes of a terminal as plain values, which client, host and child exchange.

use serde::{Deserialize, Serialize};

/// In cells, and in pixels if the terminal reports them (0 otherwise).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub cols: u16,
    pub rows: u16,
    #[serde(default)]
    pub xpixel: u16,
    #[serde(default)]
    pub ypixel: u16,
}

impl Size {
    #[must_use]
    pub const fn cells(cols: u16, rows: u16) -> Self {
        Size { cols, rows, xpixel: 0, ypixel: 0 }
    }

    /// The columns and rows that a program draws for: 80 and 24 if the terminal reports 0, as most programs
    /// assume.
    #[must_use]
    pub const fn drawn(self) -> (u16, u16) {
        let cols = if self.cols == 0 { 80 } else { self.cols };
        let rows = if self.rows == 0 { 24 } else { self.rows };
        (cols, rows)
    }
}

/// A whole `termios`, which can be compared and restored bit for bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    pub iflag: u64,
    pub oflag: u64,
    pub cflag: u64,
    pub lflag: u64,
    #[serde(default)]
    pub line: u8,
    pub cc: Vec<u8>,
    pub speed: (u64, u64),
}

/// Input that was typed before the program started, as the terminal had it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    /// The results of single reads: lines with their ends, and input that an end-of-file key cut off, which
    /// may be empty.
    pub reads: Vec<Vec<u8>>,
    /// A line that was still being edited.
    pub rest: Vec<u8>,
}

impl Ahead {
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.rest.is_empty()
    }

    /// The keys that produce it again without echo: input without a line's end was cut off by `end_of_file`.
    pub fn keys(&self, end_of_file: Option<&u8>) -> Vec<u8> {
        let mut keys = Vec::new();
        for read in &self.reads {
            keys.extend_from_slice(read);
            if !read.ends_with(b"\n") {
                keys.extend(end_of_file);
            }
        }
        keys.extend_from_slice(&self.rest);
        keys
    }

    pub fn bytes(&self) -> Vec<u8> {
        [self.reads.concat(), self.rest.clone()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_does_not_say_is_drawn_for_as_80x24() {
        for (said, drawn) in [
            ((0, 0), (80, 24)),
            ((0, 5), (80, 5)),
            ((7, 0), (7, 24)),
            ((1, 1), (1, 1)),
            ((1000, 500), (1000, 500)),
        ] {
            assert_eq!(Size::cells(said.0, said.1).drawn(), drawn);
        }
    }
}
