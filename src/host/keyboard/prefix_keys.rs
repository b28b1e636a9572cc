//! hopty's own commands in a client's input: the prefix key and the key after it.

use super::client_input::{ClientInput, UnroutedInput};
use crate::core::draft::units;
use crate::core::input::prefix_command::is_release;
use crate::core::input::{InputClass, InputPiece};

/// A part of a client's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) enum InputPart {
    /// Input for the program.
    Keys(InputClass, Vec<u8>),
    /// A key after the prefix key.
    Command(Vec<u8>),
}

/// What keys do on a page of hopty's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::host) enum PageKey {
    Nothing,
    /// Close the page; the key may be one of those that it lists.
    Closes(Option<Vec<u8>>),
}

impl ClientInput {
    /// Separates the commands from labelled input; the rest is for the program.
    pub fn split(&mut self, pieces: &[InputPiece]) -> Vec<InputPart> {
        let mut parts = Vec::new();
        for piece in pieces {
            let UnroutedInput { is_all, bytes } = self.cut(piece);
            match (piece.class, self.armed) {
                // Its beginning was passed on before it was recognized.
                _ if !is_all => parts.push(InputPart::Keys(piece.class, bytes)),
                (InputClass::Prefix, false) => self.armed = true,
                (InputClass::Prefix, true) => {
                    self.armed = false;
                    parts.push(InputPart::Keys(InputClass::Typed, bytes));
                }
                (InputClass::Report, _) | (_, false) => parts.push(InputPart::Keys(piece.class, bytes)),
                (InputClass::Paste, true) => {
                    self.armed = false;
                    parts.push(InputPart::Keys(InputClass::Paste, bytes));
                }
                (class, true) => {
                    let mut keys = keys(&bytes);
                    // The release of the prefix key is not passed on.
                    let released = keys.iter().take_while(|key| is_release(key)).count();
                    keys.drain(..released);
                    if keys.is_empty() {
                        continue;
                    }
                    self.armed = false;
                    parts.push(InputPart::Command(keys.remove(0)));
                    parts.push(InputPart::Keys(class, keys.concat()));
                }
            }
        }
        parts
    }

    /// [`Self::split`] while the client's terminal shows a page of hopty's own: any key closes it. The keys
    /// that the page lists work there as after the prefix key, which may be pressed first.
    pub fn page_key(&mut self, pieces: &[InputPiece]) -> PageKey {
        let cut: Vec<(InputClass, Vec<u8>)> =
            pieces.iter().map(|piece| (piece.class, self.cut(piece).bytes)).collect();
        if cut.iter().all(|(class, _)| *class == InputClass::Report) {
            return PageKey::Nothing;
        }
        let is_key = |class: &InputClass| !matches!(class, InputClass::Report | InputClass::Prefix);
        let key = cut.into_iter().find(|(class, _)| is_key(class)).map(|(_, bytes)| bytes);
        self.armed = key.is_none();
        PageKey::Closes(key.and_then(|key| keys(&key).into_iter().next()))
    }
}

/// Splits bytes into keys; characters typed together are separate keys.
fn keys(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    for unit in units(bytes) {
        match std::str::from_utf8(&unit.bytes) {
            Ok(text) if !text.contains('\x1b') => {
                keys.extend(text.chars().map(|c| c.to_string().into_bytes()))
            }
            _ => keys.push(unit.bytes),
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time::Stamp;

    const PREFIX: u8 = 0x1d;

    fn typed(text: &str) -> InputPart {
        InputPart::Keys(InputClass::Typed, text.as_bytes().to_vec())
    }

    fn command(key: &str) -> InputPart {
        InputPart::Command(key.as_bytes().to_vec())
    }

    /// The parts that are not empty.
    fn split(input: &mut ClientInput, bytes: &[u8]) -> Vec<InputPart> {
        let pieces = input.feed(bytes, Stamp(0));
        let mut parts = input.split(&pieces);
        parts.retain(|part| !matches!(part, InputPart::Keys(_, bytes) if bytes.is_empty()));
        parts
    }

    #[test]
    fn keys_are_taken_one_by_one() {
        assert_eq!(keys(b"dx"), [b"d".to_vec(), b"x".to_vec()]);
        assert_eq!(
            keys("ä\x1b[A\x1b[100u".as_bytes()),
            ["ä".as_bytes().to_vec(), b"\x1b[A".to_vec(), b"\x1b[100u".to_vec()]
        );
    }

    #[test]
    fn the_key_after_the_prefix_key_is_a_command_and_twice_the_prefix_is_the_key() {
        let mut input = ClientInput::new(Some(PREFIX));
        assert_eq!(split(&mut input, b"a\x1ddb"), [typed("a"), command("d"), typed("b")]);
        assert_eq!(split(&mut input, b"\x1d"), []);
        assert!(input.armed, "the command is yet to come");
        assert_eq!(split(&mut input, b"?"), [command("?")]);
        assert_eq!(split(&mut input, b"\x1d\x1d"), [typed("\x1d")]);
        assert!(!input.armed);
    }

    #[test]
    fn a_paste_after_the_prefix_key_is_no_command() {
        let mut input = ClientInput::new(Some(PREFIX));
        let parts = split(&mut input, b"\x1d\x1b[200~d\x1b[201~");
        assert!(parts.iter().all(|part| matches!(part, InputPart::Keys(InputClass::Paste, _))), "{parts:?}");
        assert!(!parts.is_empty() && !input.armed);
    }

    #[test]
    fn a_key_closes_a_page_and_an_answer_of_the_terminal_does_not() {
        let mut input = ClientInput::new(Some(PREFIX));
        let mut on_page = |bytes: &[u8]| {
            let pieces = input.feed(bytes, Stamp(0));
            (input.page_key(&pieces), input.armed)
        };
        assert_eq!(on_page(b"\x1b[?62;c"), (PageKey::Nothing, false));
        assert_eq!(on_page(b"dx"), (PageKey::Closes(Some(b"d".to_vec())), false));
        assert_eq!(on_page(b"\x1d"), (PageKey::Closes(None), true));
    }
}
