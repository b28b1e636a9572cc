//! What a person typed and the program had not read when it ended: it is the shell's, as it would be without hopty.
//!
//! Only what people typed: a prompt of hopty's, what a script sent and what a terminal answered would be commands that nobody
//! gave.

use std::io;

use nix::libc;

use crate::core::draft::units;
use crate::core::input::Class;
use crate::host::Host;
use crate::host::child::ChildRun;
use crate::pty::open::Pty;
use crate::sys::fd::{read_some, set_nonblocking};
use crate::sys::poll::{Interest, wait_for};
use crate::tty::back::HELD;
use crate::tty::modes::{self, TakeEffect};

/// What is known of what a run has not read.
#[derive(Debug, Default)]
pub(in crate::host) struct Unread {
    /// Not only a person's: something else was typed and may still wait.
    mixed: bool,
}

impl ChildRun {
    /// Somebody else than a person types.
    pub fn mix_unread(&mut self) {
        self.unread.mixed = true;
    }

    /// A person types: whether everything before has been read is seen only where no line waits for its end.
    pub fn begin_unread(&mut self) {
        if self.unread.mixed && self.input.is_empty() {
            self.unread.mixed = !is_read(&self.pty).unwrap_or(false);
        }
    }
}

impl Host {
    /// At the session's end.
    pub(in crate::host) fn take_unread(&mut self) {
        let Some(run) = self.run.as_mut().filter(|run| run.end.is_some() && !run.unread.mixed) else { return };
        let unread = [take(&run.pty).unwrap_or_default(), run.input.take()].concat();
        // Of more than a terminal holds the middle would be lost: a command that nobody wrote.
        if unread.len() <= HELD {
            let persons = units(&unread).into_iter().filter(|unit| !matches!(unit.class, Class::Report | Class::Interrupt));
            self.terminals.keep_undelivered(persons.flat_map(|unit| unit.bytes).collect());
        }
    }
}

fn is_read(pty: &Pty) -> io::Result<bool> {
    let slave = pty.open_slave()?;
    Ok(modes::read(&slave)?.lflag & u64::from(libc::ICANON) == 0 && !wait_for(&slave, Interest::Read, 0)?)
}

/// Everything that waits in a terminal, an unfinished line, too.
fn take(pty: &Pty) -> io::Result<Vec<u8>> {
    let slave = pty.open_slave()?;
    // Whoever was left and reads there would be waited for.
    set_nonblocking(&slave)?;
    let found = modes::read(&slave)?;
    let lines = found.lflag & u64::from(libc::ICANON) != 0;
    // Only the foreground may read. The group that was there hears of the terminal's end, if anything of it is left.
    let before = nix::unistd::tcgetpgrp(pty);
    nix::unistd::tcsetpgrp(&slave, nix::unistd::getpgrp())?;
    let mut all = found.clone();
    all.lflag &= !u64::from(libc::ICANON);
    for place in [libc::VMIN, libc::VTIME] {
        // A read waits for nothing.
        all.cc.iter_mut().skip(place).take(1).for_each(|byte| *byte = 0);
    }
    let mut unread = Vec::new();
    let read = modes::set(&slave, &all, TakeEffect::Now).and_then(|()| {
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
        // In lines the kernel keeps a NUL where an end of file was typed.
        let end = found.cc.get(libc::VEOF).copied().unwrap_or_default();
        unread.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = end);
    }
    Ok(unread)
}
