//! The state of a client's terminal: not yet here, in use, being given back, or gone.

use super::client::STUCK_LEAVE_MS;
use crate::core::time::Stamp;
use crate::ipc::farewell::Farewell;
use crate::tty::borrowed_terminal::{BorrowedTerminal, KeptTerminal};

/// What a client shows when it returns from a suspension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suspension {
    /// The run that it was suspended from, and the sequences that restore its modes; `None` if only a repaint
    /// can.
    pub redo: Option<(u32, Vec<u8>)>,
}

/// How bytes reach a client's terminal.
#[derive(Debug)]
pub(super) enum Transport {
    /// The client is about to hand it over, perhaps again after a suspension; output is kept.
    Pending(Option<Suspension>),
    /// The host reads and writes it directly.
    Borrowed(BorrowedTerminal),
    /// The client reads and writes it, and frames carry the bytes. The terminal is kept in case the client
    /// dies.
    Relayed(Option<KeptTerminal>),
    /// The client has its terminal back until it continues.
    Suspended(Suspension),
}

impl Transport {
    /// Its name in the session status.
    pub fn word(&self) -> &'static str {
        match self {
            Transport::Borrowed(_) => "fd",
            Transport::Relayed(_) => "relay",
            Transport::Pending(_) | Transport::Suspended(_) => "none",
        }
    }
}

/// What to do once a client's terminal has taken everything.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AfterFlush {
    /// Give it back until the client continues.
    Suspend(Suspension),
    /// The client leaves with this farewell; `patience`: how long its terminal may take nothing, in ms.
    Disconnect { farewell: Farewell, patience: u64 },
}

#[derive(Debug)]
pub(super) enum ClientTerminal {
    Attached(Transport),
    /// Only bytes that already wait are written; `waiting` of them, unchanged `since` then.
    Flushing {
        via: Transport,
        then: AfterFlush,
        waiting: usize,
        since: Stamp,
    },
    /// The client has it back and leaves.
    Left,
}

impl ClientTerminal {
    /// How bytes reach it; `None` once the client has left.
    pub fn via(&self) -> Option<&Transport> {
        match self {
            ClientTerminal::Attached(via) | ClientTerminal::Flushing { via, .. } => Some(via),
            ClientTerminal::Left => None,
        }
    }

    pub fn via_mut(&mut self) -> Option<&mut Transport> {
        match self {
            ClientTerminal::Attached(via) | ClientTerminal::Flushing { via, .. } => Some(via),
            ClientTerminal::Left => None,
        }
    }

    pub fn has_left(&self) -> bool {
        matches!(self, ClientTerminal::Left)
    }

    /// How bytes are written to it, while any are.
    pub fn writes(&self) -> Option<&Transport> {
        match self {
            ClientTerminal::Attached(via) => Some(via),
            ClientTerminal::Flushing { .. } | ClientTerminal::Left => None,
        }
    }

    pub fn is_in_use(&self) -> bool {
        matches!(self.writes(), Some(Transport::Borrowed(_) | Transport::Relayed(_)))
    }

    /// What to do once it has taken everything.
    pub fn after_flush(&self) -> Option<&AfterFlush> {
        match self {
            ClientTerminal::Flushing { then, .. } => Some(then),
            ClientTerminal::Attached(_) | ClientTerminal::Left => None,
        }
    }

    /// From now on only bytes that already wait are written. A client to be suspended may still leave, but
    /// not the other way round.
    pub fn flush(&mut self, then: AfterFlush, waiting: usize, now: Stamp) {
        let stays = matches!((&*self, &then), (ClientTerminal::Flushing { .. }, AfterFlush::Suspend(_)));
        *self = match std::mem::replace(self, ClientTerminal::Left) {
            ClientTerminal::Attached(via) => ClientTerminal::Flushing { via, then, waiting, since: now },
            ClientTerminal::Flushing { via, .. } if !stays => {
                ClientTerminal::Flushing { via, then, waiting, since: now }
            }
            state => state,
        };
    }

    /// Records how many bytes still wait. Returns whether it has taken nothing for too long.
    pub fn note_progress(&mut self, left: usize, now: Stamp) -> bool {
        let stuck = self.deadline().is_some_and(|at| now >= at);
        if let ClientTerminal::Flushing { waiting, since, .. } = self
            && *waiting != left
        {
            (*waiting, *since) = (left, now);
        }
        stuck
    }

    /// By when it must take some of what waits.
    pub fn deadline(&self) -> Option<Stamp> {
        match self {
            ClientTerminal::Flushing { then: AfterFlush::Suspend(_), since, .. } => {
                Some(since.after(STUCK_LEAVE_MS))
            }
            ClientTerminal::Flushing { then: AfterFlush::Disconnect { patience, .. }, since, .. } => {
                Some(since.after(*patience))
            }
            ClientTerminal::Attached(_) | ClientTerminal::Left => None,
        }
    }

    /// It has taken everything, and the client gets it back. Returns the farewell of a client that leaves.
    pub fn give_back(&mut self) -> Option<Farewell> {
        match std::mem::replace(self, ClientTerminal::Left) {
            ClientTerminal::Flushing { then: AfterFlush::Disconnect { farewell, .. }, .. } => Some(farewell),
            ClientTerminal::Flushing { then: AfterFlush::Suspend(suspension), .. } => {
                *self = ClientTerminal::Attached(Transport::Suspended(suspension));
                None
            }
            state => {
                *self = state;
                None
            }
        }
    }

    /// A suspended client continues and is about to hand it over again. False if it was not suspended.
    pub fn expect_reattach(&mut self) -> bool {
        let Some(Transport::Suspended(suspension)) = self.via() else { return false };
        let again = Transport::Pending(Some(suspension.clone()));
        if let Some(via) = self.via_mut() {
            *via = again;
        }
        true
    }

    pub fn leave(&mut self) {
        *self = ClientTerminal::Left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspended() -> AfterFlush {
        AfterFlush::Suspend(Suspension { redo: Some((1, b"\x1b[?2004h".to_vec())) })
    }

    fn leaves(patience: u64) -> AfterFlush {
        AfterFlush::Disconnect { farewell: Farewell::Detached, patience }
    }

    #[test]
    fn a_suspended_client_hands_its_terminal_over_again_with_what_restores_it() {
        let mut state = ClientTerminal::Attached(Transport::Relayed(None));
        assert!(state.is_in_use() && !state.expect_reattach());
        state.flush(suspended(), 0, Stamp(0));
        assert!(!state.is_in_use() && state.writes().is_none() && state.via().is_some());
        assert_eq!(state.give_back(), None);
        assert!(matches!(state.via(), Some(Transport::Suspended(_))));
        assert!(state.expect_reattach());
        assert!(matches!(state.via(), Some(Transport::Pending(Some(Suspension { redo: Some((1, _)) })))));
    }

    #[test]
    fn a_client_that_leaves_does_so_whatever_else_was_to_happen() {
        let mut state = ClientTerminal::Attached(Transport::Relayed(None));
        state.flush(suspended(), 0, Stamp(0));
        state.flush(leaves(10), 0, Stamp(0));
        state.flush(suspended(), 0, Stamp(0));
        assert_eq!(state.after_flush(), Some(&leaves(10)));
        assert_eq!(state.give_back(), Some(Farewell::Detached));
        assert!(state.has_left() && state.via().is_none());
        state.flush(leaves(10), 0, Stamp(0));
        assert!(state.has_left(), "it is left once");
        assert_eq!(state.give_back(), None);
    }

    #[test]
    fn a_terminal_that_takes_something_gets_its_time_anew() {
        let mut state = ClientTerminal::Attached(Transport::Relayed(None));
        assert!(!state.note_progress(10, Stamp(1_000_000)));
        state.flush(leaves(100), 10, Stamp(0));
        assert!(!state.note_progress(10, Stamp(99)));
        assert!(!state.note_progress(9, Stamp(99)));
        assert_eq!(state.deadline(), Some(Stamp(199)));
        assert!(!state.note_progress(9, Stamp(198)) && state.note_progress(9, Stamp(199)));
    }
}
