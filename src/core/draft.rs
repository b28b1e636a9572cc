//! A draft: the bytes typed since the last submit, and how they are typed again into a new run.
//!
//! Measured: the same bytes typed into a new Claude rebuild the same prompt box, with cursor keys, pastes and
//! continued lines. So a draft is kept as bytes and never as text. The caller checks whether the prompt box
//! still shows it.

use super::input::{Classifier, InputClass, InputPiece, PASTE_END, PASTE_START};

/// The most bytes of a draft, as many as are held during a hand-over. A longer draft overflows and cannot be
/// typed again.
const MAX_DRAFT: usize = 1 << 20;
/// The pause after an Enter, in ms. Measured: lines in one write are submitted in the wrong order, and 50 ms
/// apart in the right one.
const AFTER_ENTER_MS: u64 = 50;
/// Bytes of plain text in one write, and the pause after it: 900 bytes at once count as a paste, 50 do not
/// (measured).
const RUN_BYTES: usize = 50;
const AFTER_RUN_MS: u64 = 5;

/// The bytes typed since the last submit.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    kept: Vec<u8>,
    /// Bytes without a label so far.
    unlabelled: Vec<u8>,
    overflowed: bool,
}

impl Draft {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A draft of these bytes.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        Draft { kept: bytes, ..Draft::default() }
    }

    /// Takes the bytes that a [`Classifier`] got and the pieces that it returned, also those of `flush` (with
    /// no bytes).
    pub fn take(&mut self, bytes: &[u8], pieces: &[InputPiece]) {
        self.unlabelled.extend_from_slice(bytes);
        for piece in pieces {
            let length = usize::try_from(piece.range.end - piece.range.start).unwrap_or(usize::MAX);
            let length = length.min(self.unlabelled.len());
            let part: Vec<u8> = self.unlabelled.drain(..length).collect();
            match piece.class {
                InputClass::Typed | InputClass::Paste => self.keep(&part),
                // Enter after a backslash begins a new line in the prompt box.
                InputClass::Submit if self.kept.last() == Some(&b'\\') => self.keep(&part),
                InputClass::Submit | InputClass::Interrupt => self.clear(),
                // Ctrl+Z does not change the box, and reports of the terminal were never in it. hopty passes
                // on the permission mode itself: the key would change it again.
                InputClass::Suspend | InputClass::Report | InputClass::Mode | InputClass::Prefix => {}
            }
        }
    }

    fn keep(&mut self, part: &[u8]) {
        if self.overflowed || self.kept.len() + part.len() > MAX_DRAFT {
            self.overflowed = true;
            self.kept.clear();
        } else {
            self.kept.extend_from_slice(part);
        }
    }

    /// Forgets the draft: it was submitted (UserPromptSubmit), or the box is empty.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.overflowed = false;
    }

    pub fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    pub fn bytes(&self) -> &[u8] {
        &self.kept
    }
}

/// One write when typed bytes are given to a new run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// A [`InputClass::Report`] answers the old run's query, which the new run did not send.
    pub class: InputClass,
    pub bytes: Vec<u8>,
    /// The pause after it, in ms.
    pub pause_after_ms: u64,
}

/// Splits typed bytes for replay: one key or sequence at a time, plain text in short pieces, a paste as a
/// whole. Together the units are the bytes, unchanged. An incomplete sequence or paste is the last unit.
pub fn units(bytes: &[u8]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut at = 0;
    let mut paste_open = false;
    let mut add = |piece: InputPiece| {
        let end = usize::try_from(piece.range.end).map_or(bytes.len(), |end| end.min(bytes.len()));
        let part = &bytes[at..end];
        at = end;
        if piece.class == InputClass::Paste {
            match units.last_mut().filter(|_| paste_open) {
                Some(last) => last.bytes.extend_from_slice(part),
                None => {
                    units.push(Unit { class: InputClass::Paste, bytes: part.to_vec(), pause_after_ms: 0 })
                }
            }
            // The begin mark ends in the same byte as the end mark; only a longer unit can be complete.
            paste_open = units.last().is_some_and(|last| {
                last.bytes.len() == PASTE_START.len() || !last.bytes.ends_with(PASTE_END)
            });
            return;
        }
        let plain =
            piece.class == InputClass::Typed && part.iter().all(|byte| *byte >= 0x20 && *byte != 0x7f);
        match units.last_mut().filter(|last| plain && takes_more(last, part)) {
            Some(last) => last.bytes.extend_from_slice(part),
            None => {
                if let Some(last) = units.last_mut().filter(|last| plain && is_text(last)) {
                    last.pause_after_ms = AFTER_RUN_MS;
                }
                let enter = piece.class == InputClass::Submit
                    || (piece.class == InputClass::Typed && part.ends_with(b"\r"));
                // Enter after a backslash begins a new line in the prompt box.
                let new_line = piece.class == InputClass::Submit
                    && units.last().is_some_and(|last| is_text(last) && last.bytes.ends_with(b"\\"));
                units.push(Unit {
                    class: if new_line { InputClass::Typed } else { piece.class },
                    bytes: part.to_vec(),
                    pause_after_ms: if enter { AFTER_ENTER_MS } else { 0 },
                });
            }
        }
    };
    let mut classifier = Classifier::new();
    classifier.tokens(bytes, &mut add);
    let mut rest = Vec::new();
    classifier.flush(&mut rest);
    rest.into_iter().for_each(add);
    units
}

fn is_text(unit: &Unit) -> bool {
    unit.class == InputClass::Typed && unit.bytes.iter().all(|byte| *byte >= 0x20 && *byte != 0x7f)
}

/// Whether `part` still fits into a run. A character is never split.
fn takes_more(unit: &Unit, part: &[u8]) -> bool {
    let inside =
        part.first().is_some_and(|byte| (0x80..0xc0).contains(byte)) && unit.bytes.len() < RUN_BYTES + 4;
    is_text(unit) && (unit.bytes.len() + part.len() <= RUN_BYTES || inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn draft(parts: &[&[u8]]) -> Draft {
        let mut classifier = Classifier::new();
        let mut draft = Draft::new();
        for part in parts {
            let mut pieces = Vec::new();
            classifier.feed(part, &mut pieces);
            draft.take(part, &pieces);
        }
        draft
    }

    #[test]
    fn what_was_typed_since_the_last_submit() {
        assert_eq!(draft(&[b"one\rtwo"]).bytes(), b"two");
        assert_eq!(draft(&[b"one\x1b[13", b"utwo"]).bytes(), b"two");
        assert_eq!(draft(&[b"one\x03"]).bytes(), b"");
        assert_eq!(draft(&[b"one\x1b[99;5", b"u", b"x"]).bytes(), b"x");
        assert_eq!(draft(&[b"a\x1b[Db\x7f"]).bytes(), b"a\x1b[Db\x7f");
        assert!(draft(&[b"a\r"]).bytes().is_empty());
    }

    #[test]
    fn a_continued_line_is_no_submit() {
        assert_eq!(draft(&[b"one\\", b"\rtwo"]).bytes(), b"one\\\rtwo");
        assert_eq!(draft(&[b"one\x1b\rtwo"]).bytes(), b"one\x1b\rtwo");
        assert_eq!(draft(&[b"\x1b[200~a\rb\x1b[201~c"]).bytes(), b"\x1b[200~a\rb\x1b[201~c");
    }

    #[test]
    fn reports_are_no_part_of_it_however_they_are_cut() {
        assert_eq!(draft(&[b"a\x1b", b"[", b"Ib\x1b]11;rgb:0/0", b"/0\x07c\x1a"]).bytes(), b"abc");
        assert_eq!(draft(&[b"a\x1b[Zb\x1b[9;2uc"]).bytes(), b"abc", "a mode is not chosen twice");
    }

    #[test]
    fn a_flushed_escape_is_part_of_it() {
        let mut classifier = Classifier::new();
        let mut draft = Draft::new();
        let mut pieces = Vec::new();
        classifier.feed(b"a\x1b", &mut pieces);
        draft.take(b"a\x1b", &pieces);
        assert_eq!(draft.bytes(), b"a");
        pieces.clear();
        classifier.flush(&mut pieces);
        draft.take(b"", &pieces);
        assert_eq!(draft.bytes(), b"a\x1b");
    }

    #[test]
    fn an_overflow_is_remembered_until_the_next_submit() {
        let mut long = draft(&[&vec![b'x'; MAX_DRAFT]]);
        assert!(!long.overflowed);
        let more = InputPiece { class: InputClass::Typed, range: 0..1 };
        long.take(b"y", std::slice::from_ref(&more));
        assert!(long.overflowed && long.bytes().is_empty());
        long.take(b"z", &[more]);
        assert!(long.bytes().is_empty());
        long.clear();
        assert!(long.kept.is_empty() && !long.overflowed);
    }

    fn shown(bytes: &[u8]) -> Vec<(String, u64)> {
        units(bytes)
            .into_iter()
            .map(|unit| (String::from_utf8(unit.bytes).unwrap(), unit.pause_after_ms))
            .collect()
    }

    #[test]
    fn one_key_at_a_time_and_a_pause_after_enter() {
        let expected = [
            ("one", 0),
            ("\r", 50),
            ("two", 0),
            ("\x1b[D", 0),
            ("\x7f", 0),
            ("é", 0),
            ("\x1b\r", 50),
            ("\x1b[13u", 50),
            ("\x03", 0),
        ];
        let expected: Vec<(String, u64)> =
            expected.iter().map(|(text, ms)| ((*text).to_owned(), *ms)).collect();
        assert_eq!(shown("one\rtwo\x1b[D\x7fé\x1b\r\x1b[13u\x03".as_bytes()), expected);
    }

    #[test]
    fn a_paste_is_one_unit() {
        let bytes = b"a\x1b[200~x\ry\x1b[201~\x1b[200~z\x1b[201~b\x1b[200~open\r";
        let texts: Vec<String> = shown(bytes).into_iter().map(|(text, _)| text).collect();
        assert_eq!(texts, ["a", "\x1b[200~x\ry\x1b[201~", "\x1b[200~z\x1b[201~", "b", "\x1b[200~open\r"]);
        assert!(shown(bytes).iter().all(|(_, ms)| *ms == 0));
    }

    #[test]
    fn long_text_goes_in_short_runs_and_no_character_is_cut() {
        let units = shown("日".repeat(40).as_bytes());
        assert!(units.len() == 3 && units.iter().all(|(text, _)| text.len() <= RUN_BYTES + 4));
        assert_eq!(units.iter().map(|(_, ms)| *ms).collect::<Vec<_>>(), [AFTER_RUN_MS, AFTER_RUN_MS, 0]);
    }

    proptest! {
        #[test]
        fn the_units_are_the_bytes(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0x1b),
            Just(b'['), Just(b'\r')], 0..200)) {
            let joined: Vec<u8> = units(&bytes).into_iter().flat_map(|unit| unit.bytes).collect();
            prop_assert_eq!(joined, bytes);
        }
    }
}
