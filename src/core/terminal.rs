//! What is said about a terminal between client, host and child: its size and its modes, as plain values.

use serde::{Deserialize, Serialize};

/// A size in cells, and in pixels where the terminal says so (0 otherwise).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub cols: u16,
    pub rows: u16,
    /// Width in pixels.
    #[serde(default)]
    pub xpixel: u16,
    /// Height in pixels.
    #[serde(default)]
    pub ypixel: u16,
}

impl Size {
    /// A size in cells only.
    #[must_use]
    pub const fn cells(cols: u16, rows: u16) -> Self {
        Size { cols, rows, xpixel: 0, ypixel: 0 }
    }

    /// Columns and rows that a program draws for: 80 and 24 where the terminal does not say (0), as in most
    /// of them.
    #[must_use]
    pub const fn drawn(self) -> (u16, u16) {
        let cols = if self.cols == 0 { 80 } else { self.cols };
        let rows = if self.rows == 0 { 24 } else { self.rows };
        (cols, rows)
    }
}

/// The whole of a `termios`, so that it can be compared and put back bit for bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    /// Input flags.
    pub iflag: u64,
    /// Output flags.
    pub oflag: u64,
    /// Control flags.
    pub cflag: u64,
    /// Local flags.
    pub lflag: u64,
    /// Number of the line discipline.
    #[serde(default)]
    pub line: u8,
    /// Control characters.
    pub cc: Vec<u8>,
    /// Input and output speed.
    pub speed: (u64, u64),
}

/// What was typed ahead of a program, as the terminal held it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    /// What single reads gave: lines with their end, and what an end-of-file key cut off, which may be
    /// nothing.
    pub reads: Vec<Vec<u8>>,
    /// The rest: a line that was still being edited.
    pub rest: Vec<u8>,
}

impl Ahead {
    /// Whether nothing was typed.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.rest.is_empty()
    }

    /// The keys that make it again where nothing is shown: what ended without a line's end was cut off by
    /// `end_of_file`.
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
