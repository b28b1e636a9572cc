//! The bytes that a client writes to its terminal if the host dies, as last sent to it.

use crate::core::time::Stamp;

/// How long a program may draw before the client gets a new undo, which moves below the drawing, in ms: an
/// update after every piece would wake the client as often as the program writes.
const DRAWS_MS: u64 = 100;

/// What the sequences depend on: the run, the screen's `undo_revision`, and whether the run is muted.
pub(super) type UndoRevision = (u32, u64, bool);

/// The last undo sent to a client.
#[derive(Debug, Default)]
pub(super) struct UndoNotice {
    undo: Vec<u8>,
    /// What it was made from, and the screen's `revision` at that time.
    revision: Option<UndoRevision>,
    drawn: u64,
    /// The program has drawn since: when to send the next one.
    at: Option<Stamp>,
}

impl UndoNotice {
    pub fn deadline(&self) -> Option<Stamp> {
        self.at
    }

    /// There is nothing to send now.
    pub fn rest(&mut self) {
        self.at = None;
    }

    /// Whether to send an undo now. `drawn`: the screen's `revision`.
    pub fn is_due(&mut self, revision: UndoRevision, drawn: u64, now: Stamp) -> bool {
        let same = self.revision.replace(revision) == Some(revision);
        if same && (self.drawn == drawn || now < *self.at.get_or_insert(now.after(DRAWS_MS))) {
            return false;
        }
        (self.drawn, self.at) = (drawn, None);
        true
    }

    /// Notes that `undo` is sent now. False if the client already has the same.
    pub fn is_new(&mut self, undo: &[u8]) -> bool {
        let differs = self.undo != undo;
        if differs {
            self.undo = undo.to_vec();
        }
        differs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_told_at_once_and_drawing_after_a_while() {
        let mut notice = UndoNotice::default();
        assert!(notice.is_due((1, 1, false), 5, Stamp(0)));
        assert!(!notice.is_due((1, 1, false), 5, Stamp(1)), "nothing has changed");
        assert_eq!(notice.deadline(), None);
        assert!(!notice.is_due((1, 1, false), 6, Stamp(10)));
        assert!(!notice.is_due((1, 1, false), 7, Stamp(50)));
        assert_eq!(notice.deadline(), Some(Stamp(10 + DRAWS_MS)));
        assert!(notice.is_due((1, 1, false), 7, Stamp(10 + DRAWS_MS)));
        assert!(notice.is_due((1, 2, false), 7, Stamp(11 + DRAWS_MS)), "another mode");
        assert!(notice.is_due((1, 2, true), 7, Stamp(11 + DRAWS_MS)), "it is muted");
        assert_eq!(notice.deadline(), None);
    }

    #[test]
    fn the_same_sequences_are_told_once() {
        let mut notice = UndoNotice::default();
        assert!(!notice.is_new(b""));
        assert!(notice.is_new(b"\x1b[?2004l") && !notice.is_new(b"\x1b[?2004l") && notice.is_new(b""));
    }
}
