//! The input of one client: its labels, and bytes that have not been routed yet.

use super::held_input::ECHO_LOOK_MS;
use crate::core::input::{Classifier, InputPiece};
use crate::core::supervisor::event::KeyClass;
use crate::core::time::Stamp;

/// How often typed bytes of one client are reported to the supervisor at most, in ms; a Ctrl+C and a
/// Shift+Tab are reported at once.
const REPORT_MS: u64 = 250;

/// How long without input before a lone ESC counts as the Escape key, in ms.
const FLUSH_MS: u64 = 100;

#[derive(Debug)]
pub(in crate::host) struct ClientInput {
    classifier: Classifier,
    /// When to label bytes whose sequence is still unfinished.
    unflushed: Option<Stamp>,
    reported: Option<(KeyClass, Stamp)>,
    /// Bytes that are not routed yet because their label is unknown, and the offset after them.
    pending: Vec<u8>,
    offset: u64,
    /// The first half of a sequence that was passed to the child, and the run that got it.
    head: Option<(u32, Vec<u8>)>,
    /// Bytes typed while another client is in the middle of a sequence.
    pub behind: Vec<u8>,
    /// The prefix key was pressed: the next key is a command.
    pub armed: bool,
}

/// The part of a piece that was not routed yet.
#[derive(Debug, PartialEq, Eq)]
pub struct UnroutedInput {
    /// It is the whole piece.
    pub is_all: bool,
    pub bytes: Vec<u8>,
}

impl ClientInput {
    pub fn new(prefix: Option<u8>) -> Self {
        let classifier = Classifier::with_prefix(prefix);
        ClientInput {
            classifier,
            unflushed: None,
            reported: None,
            pending: Vec::new(),
            offset: 0,
            head: None,
            behind: Vec::new(),
            armed: false,
        }
    }

    pub fn feed(&mut self, bytes: &[u8], now: Stamp) -> Vec<InputPiece> {
        let mut pieces = Vec::new();
        self.classifier.feed(bytes, &mut pieces);
        self.unflushed = (self.classifier.pending() > 0).then(|| now.after(FLUSH_MS));
        self.pending.extend_from_slice(bytes);
        self.offset += bytes.len() as u64;
        pieces
    }

    /// Labels a lone ESC as a key once it has waited long enough: longer while another client is in the
    /// middle of a sequence (`waits_for_sequence`).
    pub fn flush(&mut self, now: Stamp, waits_for_sequence: bool) -> Option<Vec<InputPiece>> {
        self.unflushed.filter(|at| *at <= now)?;
        if waits_for_sequence || !self.behind.is_empty() {
            self.unflushed = Some(now.after(ECHO_LOOK_MS));
            return None;
        }
        let mut pieces = Vec::new();
        self.classifier.flush(&mut pieces);
        self.unflushed = None;
        Some(pieces)
    }

    /// The rest of a sequence whose first half a run has, if `first` is that sequence. The same run gets it,
    /// whatever happens to later keys; if that run is over or ending, the whole sequence goes where keys go
    /// now. `takes`: the run that takes input; `waits`: keys are held.
    pub fn complete_head(
        &mut self,
        takes: Option<u32>,
        waits: bool,
        first: Option<&InputPiece>,
    ) -> Option<Vec<u8>> {
        let (run, head) = self.head.take_if(|(run, _)| waits || Some(*run) != takes)?;
        if Some(run) != takes {
            self.pending.splice(..0, head);
            return None;
        }
        let Some(first) = first else {
            self.head = Some((run, head));
            return None;
        };
        Some(self.cut(first).bytes)
    }

    /// Takes the part of a piece that was not routed yet.
    pub fn cut(&mut self, piece: &InputPiece) -> UnroutedInput {
        let given = self.offset - self.pending.len() as u64;
        let length = usize::try_from(piece.range.end.saturating_sub(given))
            .unwrap_or(usize::MAX)
            .min(self.pending.len());
        UnroutedInput { is_all: given <= piece.range.start, bytes: self.pending.drain(..length).collect() }
    }

    /// Marks all unrouted bytes as passed to this run: those without a label start a sequence.
    pub fn take_pending(&mut self, run: u32) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.pending);
        let unlabelled = usize::try_from(self.classifier.pending()).unwrap_or(usize::MAX);
        let mut head = self.head.take().map(|(_, head)| head).unwrap_or_default();
        head.extend_from_slice(&bytes);
        let head = head.split_off(head.len().saturating_sub(unlabelled));
        self.head = (!head.is_empty()).then_some((run, head));
        bytes
    }

    /// Whether to report keys of this class to the supervisor now.
    pub fn is_news(&mut self, class: KeyClass, now: Stamp) -> bool {
        let again = self.reported.is_some_and(|(c, at)| c == class && now.since(at) < REPORT_MS);
        if !matches!(class, KeyClass::Interrupt | KeyClass::Mode) && again {
            return false;
        }
        self.reported = Some((class, now));
        true
    }

    /// Whether a run has the first half of a sequence that may still be completed.
    pub fn is_in_a_sequence(&self) -> bool {
        self.unflushed.is_some() && self.head.is_some()
    }

    pub fn deadline(&self) -> Option<Stamp> {
        self.unflushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::input::InputClass;

    #[test]
    fn a_lone_escape_is_a_key_after_a_while_but_not_inside_of_another_clients_sequence() {
        let mut input = ClientInput::new(None);
        assert!(input.feed(b"\x1b", Stamp(0)).is_empty());
        assert_eq!(input.deadline(), Some(Stamp(FLUSH_MS)));
        assert!(input.flush(Stamp(FLUSH_MS - 1), false).is_none());
        assert!(input.flush(Stamp(FLUSH_MS), true).is_none());
        let pieces = input.flush(Stamp(2 * FLUSH_MS), false).unwrap();
        assert_eq!(pieces.iter().map(|piece| piece.class).collect::<Vec<_>>(), [InputClass::Typed]);
        assert_eq!(input.cut(&pieces[0]), UnroutedInput { is_all: true, bytes: b"\x1b".to_vec() });
    }

    /// Input after run 1 has received the first half of an arrow key.
    fn halved() -> ClientInput {
        let mut input = ClientInput::new(None);
        assert!(input.feed(b"\x1b[", Stamp(0)).is_empty());
        assert_eq!(input.take_pending(1), b"\x1b[");
        input
    }

    #[test]
    fn the_rest_of_a_sequence_goes_to_the_run_that_has_its_first_half() {
        let mut input = halved();
        let pieces = input.feed(b"A", Stamp(1));
        // Nothing to do while that run takes input anyway.
        assert_eq!(input.complete_head(Some(1), false, pieces.first()), None);
        assert_eq!(input.complete_head(Some(1), true, pieces.first()), Some(b"A".to_vec()));
        // Another run takes input now: it gets the whole sequence.
        let mut input = halved();
        let pieces = input.feed(b"A", Stamp(1));
        assert_eq!(input.complete_head(Some(2), true, pieces.first()), None);
        assert_eq!(input.cut(&pieces[0]).bytes, b"\x1b[A");
    }
}
