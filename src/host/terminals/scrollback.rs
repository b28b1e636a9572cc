//! The scrollback position of each terminal: how many lines it has been shown, so that each line is shown
//! once and not at every attach.

use nix::unistd::{Pid, getsid};

use crate::sys::process::start_ticks;

/// How many terminals are remembered; beyond that, the oldest is shown all lines again.
const REMEMBERED_TERMINALS_MAX: usize = 64;

/// A terminal: its name, and the process that leads its session. Names are reused; the pair is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) struct TerminalId {
    tty: String,
    leader: i32,
    start: Option<u64>,
}

impl TerminalId {
    /// The terminal of a client process; `None` if it is gone or has no terminal.
    pub fn of(tty: Option<&str>, client: i32) -> Option<Self> {
        let leader = getsid(Some(Pid::from_raw(client))).ok()?.as_raw();
        Some(TerminalId { tty: tty?.to_owned(), leader, start: start_ticks(leader) })
    }
}

/// How many lines each terminal has seen of those that had left the screen by then
/// ([`crate::screen::Screen::history_total`]).
#[derive(Debug, Default)]
pub(in crate::host) struct ScrollbackPositions {
    windows: Vec<(TerminalId, u64)>,
}

impl ScrollbackPositions {
    /// These terminals have seen everything, and the others nothing: lines of a new run are counted from
    /// zero.
    pub fn by(windows: impl Iterator<Item = TerminalId>, total: u64) -> Self {
        ScrollbackPositions { windows: windows.map(|window| (window, total)).collect() }
    }

    /// How many of `total` lines this terminal has not seen.
    pub fn unseen(&self, window: Option<&TerminalId>, total: u64) -> u64 {
        let seen = self.windows.iter().find(|(known, _)| Some(known) == window).map_or(0, |(_, seen)| *seen);
        total.saturating_sub(seen)
    }

    /// This terminal has seen all of them.
    pub fn saw(&mut self, window: Option<&TerminalId>, total: u64) {
        let Some(window) = window else { return };
        self.windows.retain(|(known, _)| known != window);
        self.windows.push((window.clone(), total));
        if self.windows.len() > REMEMBERED_TERMINALS_MAX {
            self.windows.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_unseen_once() {
        let window = |n| TerminalId { tty: format!("/dev/pts/{n}"), leader: 5, start: Some(7) };
        let mut seen = ScrollbackPositions::default();
        assert_eq!(seen.unseen(Some(&window(1)), 9), 9);
        seen.saw(Some(&window(1)), 9);
        assert_eq!(
            [
                seen.unseen(Some(&window(1)), 9),
                seen.unseen(Some(&window(1)), 12),
                seen.unseen(Some(&window(2)), 12)
            ],
            [0, 3, 12]
        );
        // Lines that returned to the screen because it became taller.
        assert_eq!(seen.unseen(Some(&window(1)), 4), 0);
        seen.saw(None, 9);
        assert_eq!(seen.unseen(None, 9), 9);
        (0..2 * REMEMBERED_TERMINALS_MAX).for_each(|n| seen.saw(Some(&window(n)), 1));
        assert_eq!(seen.windows.len(), REMEMBERED_TERMINALS_MAX);
    }
}
