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
/// The pause after a paste that another follows, in ms: Claude joins pastes that come within 100 ms
/// (2.1.332).
const AFTER_PASTE_MS: u64 = 200;
/// The pause after the path of an image, in ms: Claude reads the file before its placeholder appears.
const AFTER_IMAGE_MS: u64 = 600;
/// The pause before and after Tab, in ms: Claude lists files within 300 ms (2.1.332).
const LIST_MS: u64 = 400;
/// File names whose paste becomes an image.
const IMAGE_ENDS: [&str; 5] = [".png", ".jpg", ".jpeg", ".gif", ".webp"];

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

/// Whether a pasted text is the path of an image, or has one: Claude attaches the image instead.
#[must_use]
pub fn has_image_path(text: &str) -> bool {
    let text = text.to_lowercase();
    IMAGE_ENDS.iter().any(|end| text.contains(end))
}

/// The complete pastes among typed bytes, oldest first, with `\n` for each line end.
#[must_use]
pub fn pasted_texts(bytes: &[u8]) -> Vec<String> {
    let of_paste = |unit: Unit| {
        let text = unit.bytes.strip_prefix(PASTE_START)?.strip_suffix(PASTE_END)?;
        Some(String::from_utf8_lossy(text).replace("\r\n", "\n").replace('\r', "\n"))
    };
    units(bytes).into_iter().filter(|unit| unit.class == InputClass::Paste).filter_map(of_paste).collect()
}

/// Typed bytes without the keys that act outside of the text in the prompt box, such as Esc, which interrupts
/// Claude, or Ctrl+G, which opens an editor. Cursor keys and keys that edit stay.
#[must_use]
pub fn without_commands(bytes: &[u8]) -> Vec<u8> {
    let is_command = |unit: &Unit| match unit.bytes[..] {
        [0x1b] => true,
        [0x1b, key] => !matches!(key, b'b' | b'd' | b'f' | b'y' | b'\r' | 0x7f),
        // Ctrl+G, L, O, R, T, V and Tab.
        [key] => matches!(key, 0x07 | 0x0c | 0x0f | 0x12 | 0x14 | 0x16 | 0x09),
        _ => false,
    };
    let kept = units(bytes).into_iter().filter(|unit| unit.class != InputClass::Typed || !is_command(unit));
    kept.flat_map(|unit| unit.bytes).collect()
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
    pause_between(&mut units);
    units
}

/// Keeps pastes apart, and gives Claude time to read an image and to list what Tab completes.
fn pause_between(units: &mut [Unit]) {
    for at in 0..units.len() {
        if units[at].bytes == b"\t" {
            units[at].pause_after_ms = LIST_MS;
            if let Some(before) = at.checked_sub(1) {
                units[before].pause_after_ms = LIST_MS;
            }
        }
        let is_paste = |at: usize| units.get(at).is_some_and(|unit: &Unit| unit.class == InputClass::Paste);
        if !is_paste(at) {
            continue;
        }
        let is_short = units[at].bytes.len() < 4096;
        let pause = if is_short && has_image_path(&String::from_utf8_lossy(&units[at].bytes)) {
            AFTER_IMAGE_MS
        } else if is_paste(at + 1) {
            AFTER_PASTE_MS
        } else {
            continue;
        };
        units[at].pause_after_ms = pause;
    }
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
    fn pastes_stay_apart_and_tab_has_time_to_complete() {
        let pauses = |bytes: &[u8]| units(bytes).iter().map(|unit| unit.pause_after_ms).collect::<Vec<_>>();
        assert_eq!(pauses(b"\x1b[200~a\x1b[201~b"), [0, 0]);
        let image = b"\x1b[200~/t/1.png\x1b[201~\x1b[200~b\x1b[201~";
        assert_eq!(pauses(image), [AFTER_IMAGE_MS, 0]);
        assert_eq!(pauses(b"\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~"), [AFTER_PASTE_MS, 0]);
        assert_eq!(pauses(b"@READ\t and"), [LIST_MS, LIST_MS, 0]);
    }

    #[test]
    fn pasted_texts_and_keys_that_are_no_text() {
        let typed = b"see \x1b[200~a\r\nb\rc\x1b[201~\x1b[D \x07\x1bp\x1bbend";
        assert_eq!(pasted_texts(typed), ["a\nb\nc"]);
        assert_eq!(without_commands(b"abc\x1b"), b"abc", "Esc alone");
        let kept = without_commands(typed);
        assert_eq!(kept, b"see \x1b[200~a\r\nb\rc\x1b[201~\x1b[D \x1bbend");
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
        let pauses: Vec<u64> = shown(bytes).iter().map(|(_, ms)| *ms).collect();
        assert_eq!(pauses, [0, AFTER_PASTE_MS, 0, 0, 0], "the first of two pastes");
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
