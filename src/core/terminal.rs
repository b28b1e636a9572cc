//! What is said about a terminal between client, host and child: its size and its modes, as plain values.

use serde::{Deserialize, Serialize};

/// A size in cells, and in pixels where the terminal says so (0 otherwise).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Columns.
    pub cols: u16,
    /// Rows.
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
    /// Control characters.
    pub cc: Vec<u8>,
    /// Input and output speed.
    pub speed: (u64, u64),
}
