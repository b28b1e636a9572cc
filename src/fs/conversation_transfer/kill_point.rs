//! Points at which tests kill the process: before each change of a name or a file.

use std::io::{self, Write};

pub(super) use crate::sys::fault_injection::before_change as kill_point;

/// A writer with a kill point before each write.
pub(super) struct KillPoints<W>(pub W);

impl<W: Write> Write for KillPoints<W> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        kill_point();
        self.0.write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
