//! Puts what was typed ahead of a program into its new pseudo-terminal.
//!
//! The person's terminal has echoed it and split it into lines, so this one must do neither again: while the
//! bytes are written it echoes nothing and has no special keys; it gets its modes when it has taken all of
//! them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::open::Pty;
use crate::core::terminal::{Ahead, Modes};

/// How long the terminal may take to accept the bytes.
const TAKE: Duration = Duration::from_millis(100);

/// Puts `ahead` into a terminal that has no reader yet, and then sets its modes to `found`. `set` sets modes
/// immediately.
pub fn put(
    pty: &Pty,
    found: &Modes,
    ahead: &Ahead,
    set: impl Fn(&Modes) -> io::Result<()>,
) -> io::Result<()> {
    let slave = pty.open_slave()?;
    if let Some((bytes, quiet)) = prepared(found, ahead) {
        set(&quiet)?;
        // More than a terminal holds while a person types.
        nix::unistd::write(pty, &bytes)?;
        let until = Instant::now() + TAKE;
        while takes_output(&slave) && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(100));
        }
        // Without flow control output continues.
        set(&Modes { iflag: quiet.iflag & !u64::from(libc::IXON), ..quiet })?;
    }
    set(found)
}

/// The bytes, and modes in which they are taken unchanged, except for one byte that ends a read and a last
/// one that stops output. Once output has stopped, everything before has been taken; nothing else reports
/// that for an incomplete line. `None` if nothing was typed, or if all 255 values occur.
fn prepared(found: &Modes, ahead: &Ahead) -> Option<(Vec<u8>, Modes)> {
    let typed = ahead.bytes();
    if ahead.is_empty() {
        return None;
    }
    let mut free = (1..=255u8).filter(|byte| *byte != b'\n' && !typed.contains(byte));
    let (end, stop) = (free.next()?, free.next()?);
    let mut bytes = Vec::with_capacity(typed.len() + ahead.reads.len() + 1);
    for read in &ahead.reads {
        bytes.extend_from_slice(read);
        if !read.ends_with(b"\n") {
            bytes.push(end);
        }
    }
    bytes.extend_from_slice(&ahead.rest);
    bytes.push(stop);
    let mut quiet = found.clone();
    quiet.iflag = libc::IXON.into();
    quiet.lflag = found.lflag & u64::from(libc::ICANON);
    quiet.cc.fill(0);
    for (place, byte) in [(libc::VEOF, end), (libc::VSTOP, stop), (libc::VMIN, 1)] {
        *quiet.cc.get_mut(place)? = byte;
    }
    Some((bytes, quiet))
}

fn takes_output(slave: &File) -> bool {
    let mut fds = [PollFd::new(slave.as_fd(), PollFlags::POLLOUT)];
    poll(&mut fds, PollTimeout::ZERO).is_ok()
        && fds[0].revents().is_some_and(|ready| ready.contains(PollFlags::POLLOUT))
}
