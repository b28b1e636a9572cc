//! The demo as lines, for a pipe, a log or a simple terminal: no escape sequences, every line with its
//! time.

use std::io::{self, Write};
use std::time::Duration;

use super::demo_event::DemoEvent;

/// Prints what the demo is.
///
/// # Errors
/// When nobody reads the output any more.
pub(super) fn begin() -> io::Result<()> {
    say("hopty demo: the real hopty at work on a stand-in agent and a stand-in model. No account, no \
         network.\n")
}

/// Prints one line.
///
/// # Errors
/// When nobody reads the output any more.
pub(super) fn entry(entry: &DemoEvent) -> io::Result<()> {
    say(&format!("{} {:<6}  {}", time(entry.at), entry.who.word(), entry.text))
}

/// Seconds since the demo began, to a hundredth: a hand-over is quick.
pub(super) fn time(at: Duration) -> String {
    format!("{:>5.2} s", at.as_secs_f64())
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
