//! What a person typed before the program could read it.
//!
//! The terminal has shown it, and it stays there until somebody reads it. The program that is started gets it
//! as it would from this terminal: line by line, as far as there are lines.

use std::io;
use std::os::fd::AsFd;

use nix::libc;

use crate::sys::fd::read_some;
use crate::sys::poll::{Interest, PollSet};
use crate::tty::modes;

/// A terminal holds at most this, in bytes (Linux: 4096).
const HELD: usize = 1 << 16;

/// What single reads give while the terminal edits lines: each a line, or what an end-of-file key cut off,
/// which may be nothing. Empty where it edits none.
pub(super) fn reads() -> Vec<Vec<u8>> {
    let stdin = io::stdin();
    let mut reads = Vec::new();
    if modes::read(&stdin).map_or(true, |modes| modes.lflag & u64::from(libc::ICANON) == 0) {
        return reads;
    }
    let mut buf = [0; 4096];
    while reads.len() < HELD {
        let mut set = PollSet::default();
        set.add((), stdin.as_fd(), Interest::Read);
        let waits =
            set.wait(Some(0)).is_ok_and(|ready| ready.iter().any(|(_, ready)| ready.read && !ready.gone));
        match if waits { read_some(&stdin, &mut buf) } else { Ok(None) } {
            Ok(Some(n)) => reads.push(buf[..n].to_vec()),
            Ok(None) | Err(_) => break,
        }
    }
    reads
}
