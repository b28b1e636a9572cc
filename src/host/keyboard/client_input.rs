//! The input state of one client: its labels, and bytes that have not been routed yet.

use crate::core::input::{Classifier, Piece};
use crate::core::supervisor::event::KeyClass;
use crate::core::time::Stamp;

/// How often typed bytes of one client are reported to the supervisor at most, in ms; a Ctrl+C and a
/// Shift+Tab are reported at once.
const REPORT_MS: u64 = 250;

/// The input state of one client.
#[derive(Debug)]
pub(in crate::host) struct ClientInput {
    pub classifier: Classifier,
    /// When to label bytes whose sequence is still unfinished.
    pub unflushed: Option<Stamp>,
    reported: Option<(KeyClass, Stamp)>,
    /// Bytes that are not routed yet because their label is unknown, and the offset behind them.
    pub pending: Vec<u8>,
    pub offset: u64,
    /// The first bytes of a sequence that the child was given before the rest came, and the run that got
    /// them.
    pub head: Option<(u32, Vec<u8>)>,
    /// Bytes that were typed while another client was in the middle of a sequence.
    pub behind: Vec<u8>,
    /// The prefix key was pressed: the next key is a command.
    pub armed: bool,
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

    /// Takes the part of a piece that was not routed yet, and returns whether that is all of it.
    pub fn cut(&mut self, piece: &Piece) -> (bool, Vec<u8>) {
        let given = self.offset - self.pending.len() as u64;
        let length = usize::try_from(piece.range.end.saturating_sub(given))
            .unwrap_or(usize::MAX)
            .min(self.pending.len());
        (given <= piece.range.start, self.pending.drain(..length).collect())
    }

    /// All unrouted bytes went to this run: those without a label are the start of a sequence.
    pub fn take_pending(&mut self, run: u32) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.pending);
        let unlabelled = usize::try_from(self.classifier.pending()).unwrap_or(usize::MAX);
        let mut head = self.head.take().map(|(_, head)| head).unwrap_or_default();
        head.extend_from_slice(&bytes);
        let head = head.split_off(head.len().saturating_sub(unlabelled));
        self.head = (!head.is_empty()).then_some((run, head));
        bytes
    }

    /// Whether to report such keys to the supervisor now.
    pub fn is_news(&mut self, class: KeyClass, now: Stamp) -> bool {
        let again = self.reported.is_some_and(|(c, at)| c == class && now.since(at) < REPORT_MS);
        if !matches!(class, KeyClass::Interrupt | KeyClass::Mode) && again {
            return false;
        }
        self.reported = Some((class, now));
        true
    }

    pub fn deadline(&self) -> Option<Stamp> {
        self.unflushed
    }
}
