//! Checks that Claude writes a transcript: it must grow with each turn. Without it nothing can be resumed or
//! handed over, and the screen does not show that.

use crate::core::time::Stamp;

/// How long after the end of a turn its lines may arrive, in ms. Claude's own file is up to 0.3 s late, and
/// hopty polls every 4 s if nothing reports changes.
const LATE_MS: u64 = 10_000;

/// The growth of the transcript over a turn.
#[derive(Debug, Default)]
pub(in crate::host) struct UnwrittenTurnCheck {
    /// Its length when the turn began, in bytes.
    began: Option<u64>,
    /// By when it must have grown.
    due: Option<Stamp>,
    is_reported: bool,
    /// Somebody certainly submitted its prompt: any program of this user can report one.
    is_known: bool,
}

impl UnwrittenTurnCheck {
    /// A turn begins; the transcript has this many bytes. `is_known`: somebody certainly submitted its
    /// prompt.
    pub fn begin_turn(&mut self, bytes: u64, is_known: bool) {
        self.is_known |= is_known;
        // Keeps the length of a turn whose check is still due.
        if self.due.is_none() {
            self.began = Some(bytes);
        }
    }

    pub fn end_turn(&mut self, now: Stamp) {
        if self.began.is_some() {
            self.due.get_or_insert(now.after(LATE_MS));
        }
    }

    /// Another conversation or another run begins.
    pub fn forget(&mut self) {
        *self = UnwrittenTurnCheck::default();
    }

    /// Whether the transcript, `bytes` long now, has not grown since the turn began. True once, until it
    /// grows again.
    pub fn is_unwritten(&mut self, now: Stamp, bytes: u64) -> bool {
        if self.began.is_some_and(|began| began != bytes) {
            self.forget();
        }
        let stands = self.due.take_if(|due| *due <= now).is_some();
        stands && !std::mem::replace(&mut self.is_reported, true)
    }

    /// Whether the last turn that ended is not in the transcript, which is `bytes` long, so far. A turn whose
    /// prompt may be forged does not count: it would prevent each hand-over.
    pub fn misses_last_turn(&self, bytes: u64) -> bool {
        self.is_known && self.began == Some(bytes) && (self.due.is_some() || self.is_reported)
    }

    /// Whether its lines may still come.
    pub fn may_be_late(&self) -> bool {
        self.due.is_some() && !self.is_reported
    }

    pub fn deadline(&self) -> Option<Stamp> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_without_lines_is_told_once() {
        let mut check = UnwrittenTurnCheck::default();
        for turn in 0..3 {
            let at = turn * 60_000;
            check.begin_turn(500, true);
            check.end_turn(Stamp(at + 1000));
            assert!(!check.is_unwritten(Stamp(at + 10_999), 500), "its lines may be late");
            assert_eq!(check.is_unwritten(Stamp(at + 11_000), 500), turn == 0);
            assert_eq!(check.deadline(), None);
        }
        check.begin_turn(500, true);
        assert!(check.misses_last_turn(500) && !check.misses_last_turn(900));
        assert!(!check.is_unwritten(Stamp(200_000), 900), "it grows again");
        assert!(!check.misses_last_turn(900));
        check.begin_turn(900, true);
        check.end_turn(Stamp(201_000));
        assert!(check.is_unwritten(Stamp(211_000), 900));
    }

    #[test]
    fn a_turn_is_missing_from_its_end_until_its_lines_are_there() {
        let mut check = UnwrittenTurnCheck::default();
        assert!(!check.misses_last_turn(0), "there was none");
        check.begin_turn(500, true);
        assert!(!check.misses_last_turn(500), "it has not ended");
        check.end_turn(Stamp(1000));
        assert!(check.misses_last_turn(500) && !check.misses_last_turn(700) && check.may_be_late());
        let mut forged = UnwrittenTurnCheck::default();
        forged.begin_turn(500, false);
        forged.end_turn(Stamp(1000));
        assert!(!forged.misses_last_turn(500), "it would prevent each hand-over");
    }

    #[test]
    fn lines_that_are_late_are_lines() {
        let mut check = UnwrittenTurnCheck::default();
        check.begin_turn(0, true);
        check.end_turn(Stamp(1000));
        check.begin_turn(0, true);
        assert!(!check.is_unwritten(Stamp(12_000), 10));
        assert_eq!(check.deadline(), None);
        check.end_turn(Stamp(13_000));
        assert_eq!(check.deadline(), None, "a turn whose begin nobody saw");
    }
}
