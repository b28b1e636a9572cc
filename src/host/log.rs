//! The host's own log, `host.log` of its session: what failed and nobody waits for. It is the host's standard error.

use std::fmt::Display;
use std::io::Write;

/// Writes a line. `eprintln!` would panic where the disk is full, and the program would end with the host: here that costs
/// the line.
pub(super) fn log(what: impl Display) {
    let _ = writeln!(std::io::stderr(), "hopty: {what}");
}
