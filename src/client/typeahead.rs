//! Typeahead: what a person typed before the program could read it.
//!
//! The terminal has echoed it and keeps it until it is read. The new program gets it as it would from this
//! terminal: line by line, as far as there are lines.

use std::io;
use std::os::fd::AsFd;

use nix::libc;

use crate::sys::fd::read_some;
use crate::sys::poll::{Interest, PollSet};
use crate::tty::modes;

/// The most reads: more than a terminal keeps lines (Linux keeps 4096 bytes).
const READS_MAX: usize = 1 << 16;

/// The results of single reads while the terminal edits lines: each is a line, or the part before an
/// end-of-file key, which may be empty. Empty if the terminal does not edit lines.
pub(super) fn reads() -> Vec<Vec<u8>> {
    let stdin = io::stdin();
    let mut reads = Vec::new();
    if modes::read(&stdin).map_or(true, |modes| modes.lflag & u64::from(libc::ICANON) == 0) {
        return reads;
    }
    let mut buf = [0; 4096];
    while reads.len() < READS_MAX {
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
