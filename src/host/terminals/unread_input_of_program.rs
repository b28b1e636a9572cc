//! Unread input: what a person typed and the program had not read when it ended. It goes to the shell, as it
//! would without hopty.
//!
//! Only people's input qualifies: in a shell, hopty's prompts, a script's input or a terminal's answers would
//! be commands that nobody gave.

use std::io;

use nix::libc;

use crate::core::draft::units;
use crate::core::input::InputClass;
use crate::pty::open::Pty;
use crate::sys::fd::{read_some, set_nonblocking};
use crate::sys::outbuf::OutBuf;
use crate::sys::poll::{Interest, wait_for};
use crate::tty::modes;
use crate::tty::unread_input::HELD;

/// Whether all input that a run has not read is a person's.
#[derive(Debug, Default)]
pub(in crate::host) struct UnreadInput {
    /// Other input than a person's was typed and may still be unread.
    mixed: bool,
}

impl UnreadInput {
    /// Notes input that is not a person's.
    pub fn mix(&mut self) {
        self.mixed = true;
    }

    /// Notes a person's input; nothing waits to be written to the program.
    pub fn begin(&mut self, pty: &Pty) {
        if self.mixed {
            self.mixed = !is_read(pty).unwrap_or(false);
        }
    }

    /// What a person typed and the ended program did not read; `None` if other input may be mixed in, or if
    /// more was typed than a terminal holds: without its middle it would be a command that nobody wrote.
    pub fn take(&self, pty: &Pty, waiting: &mut OutBuf) -> Option<Vec<u8>> {
        if self.mixed {
            return None;
        }
        let unread = [take(pty).unwrap_or_default(), waiting.take()].concat();
        let persons = units(&unread)
            .into_iter()
            .filter(|unit| !matches!(unit.class, InputClass::Report | InputClass::Interrupt));
        (unread.len() <= HELD).then(|| persons.flat_map(|unit| unit.bytes).collect())
    }
}

fn is_read(pty: &Pty) -> io::Result<bool> {
    let slave = pty.open_slave()?;
    Ok(modes::read(&slave)?.lflag & u64::from(libc::ICANON) == 0 && !wait_for(&slave, Interest::Read, 0)?)
}

/// All unread input of a terminal, including an unfinished line.
fn take(pty: &Pty) -> io::Result<Vec<u8>> {
    let slave = pty.open_slave()?;
    // Non-blocking, because a remaining process may read there, too.
    set_nonblocking(&slave)?;
    let found = modes::read(&slave)?;
    let lines = found.lflag & u64::from(libc::ICANON) != 0;
    // Only the foreground group may read. Remaining processes of the former group get the terminal's hang-up.
    let before = nix::unistd::tcgetpgrp(pty);
    nix::unistd::tcsetpgrp(&slave, nix::unistd::getpgrp())?;
    let mut all = found.clone();
    all.lflag &= !u64::from(libc::ICANON);
    for place in [libc::VMIN, libc::VTIME] {
        // Reads do not block.
        all.cc.iter_mut().skip(place).take(1).for_each(|byte| *byte = 0);
    }
    let mut unread = Vec::new();
    let read = modes::set(&slave, &all).and_then(|()| {
        let mut buf = [0; HELD + 1];
        while let Some(n @ 1..) = read_some(&slave, &mut buf)? {
            unread.extend_from_slice(&buf[..n]);
        }
        Ok(())
    });
    if let Ok(group) = before {
        let _ = nix::unistd::tcsetpgrp(&slave, group);
    }
    read?;
    if lines {
        // In line mode the kernel stores a NUL for a typed end of file.
        let end = found.cc.get(libc::VEOF).copied().unwrap_or_default();
        unread.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = end);
    }
    Ok(unread)
}
