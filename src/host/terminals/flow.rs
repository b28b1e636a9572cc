//! Whether a client's terminal may be written to, and whether it takes bytes.

use crate::core::time::Stamp;

/// How often to check a client that was stopped from outside, in ms: at first, and after a while. A client
/// that continues also says so.
const PAUSED_MS: (u64, u64) = (20, 500);
/// How long a single terminal may take nothing before the program continues without it, in ms: longer than
/// the pauses of a poor connection, far shorter than the hours that a broken one can hang.
pub(super) const STALL_MS: u64 = 10_000;

/// The client's process runs in the foreground or not, and its terminal takes bytes or not.
#[derive(Debug)]
pub(super) struct TerminalFlow {
    /// Set while it is stopped or in the background: when to check again, and since when.
    paused: Option<(Stamp, Stamp)>,
    /// When it was last seen running.
    checked: Stamp,
    /// Set while it takes nothing and stalls the program: the bytes that it had taken by then, and since
    /// when.
    stalled: Option<(u64, Stamp)>,
}

impl TerminalFlow {
    /// The state of a client that was seen running now.
    pub fn new(now: Stamp) -> Self {
        TerminalFlow { paused: None, checked: now, stalled: None }
    }

    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Whether the client was seen running less than `ms` ago, so that no check is needed.
    pub fn was_checked(&self, now: Stamp, ms: u64) -> bool {
        self.paused.is_none() && now.since(self.checked) < ms
    }

    /// Whether to check a paused client again.
    pub fn is_due(&self, now: Stamp) -> bool {
        self.paused.is_some_and(|(at, _)| at <= now)
    }

    /// The check found it running in the foreground.
    pub fn found_running(&mut self, now: Stamp) {
        self.paused = None;
        self.checked = now;
    }

    /// The check found it stopped or in the background.
    pub fn found_stopped(&mut self, now: Stamp) {
        let since = self.paused.map_or(now, |(_, since)| since);
        let pause = if now.since(since) < PAUSED_MS.1 { PAUSED_MS.0 } else { PAUSED_MS.1 };
        self.paused = Some((now.after(pause), since));
    }

    /// The client reports that it continues, or its terminal is no longer written to.
    pub fn go_on(&mut self) {
        self.paused = None;
    }

    /// Records whether its terminal holds up the program; `written`: how many bytes it has taken in total.
    /// Returns whether to continue without it: it has taken nothing for long, or its client is stopped and
    /// has a large backlog.
    pub fn note_stall(&mut self, holds_up: bool, written: u64, now: Stamp) -> bool {
        let before = self.stalled.filter(|(taken, _)| *taken == written);
        self.stalled = holds_up.then(|| before.unwrap_or((written, now)));
        let over = self.stalled.is_some_and(|(_, since)| now >= since.after(STALL_MS));
        let continues = over || holds_up && self.paused.is_some();
        if continues {
            self.stalled = None;
        }
        continues
    }

    pub fn deadline(&self) -> Option<Stamp> {
        let stalled = self.stalled.map(|(_, since)| since.after(STALL_MS));
        self.paused.map(|(at, _)| at).into_iter().chain(stalled).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_client_is_checked_often_and_then_rarely() {
        let mut flow = TerminalFlow::new(Stamp(0));
        assert!(flow.was_checked(Stamp(4), 5) && !flow.was_checked(Stamp(5), 5));
        flow.found_stopped(Stamp(10));
        assert!(flow.is_paused() && !flow.was_checked(Stamp(10), 5));
        assert_eq!(flow.deadline(), Some(Stamp(10 + PAUSED_MS.0)));
        flow.found_stopped(Stamp(10 + PAUSED_MS.1));
        assert_eq!(flow.deadline(), Some(Stamp(10 + 2 * PAUSED_MS.1)));
        assert!(!flow.is_due(Stamp(9 + 2 * PAUSED_MS.1)) && flow.is_due(Stamp(10 + 2 * PAUSED_MS.1)));
        flow.found_running(Stamp(2000));
        assert!(!flow.is_paused() && flow.was_checked(Stamp(2000), 1) && flow.deadline().is_none());
    }

    #[test]
    fn a_terminal_that_takes_nothing_for_long_is_left_behind() {
        let mut flow = TerminalFlow::new(Stamp(0));
        assert!(!flow.note_stall(true, 100, Stamp(0)));
        assert_eq!(flow.deadline(), Some(Stamp(STALL_MS)));
        assert!(!flow.note_stall(true, 101, Stamp(STALL_MS)), "it has taken a byte");
        assert!(!flow.note_stall(false, 101, Stamp(STALL_MS + 1)), "it has room");
        assert!(!flow.note_stall(true, 101, Stamp(STALL_MS + 2)));
        assert!(flow.note_stall(true, 101, Stamp(2 * STALL_MS + 2)));
        assert_eq!(flow.deadline(), None, "once");
        flow.found_stopped(Stamp(50_000));
        assert!(flow.note_stall(true, 101, Stamp(50_000)), "of a stopped client nothing is expected");
    }
}
