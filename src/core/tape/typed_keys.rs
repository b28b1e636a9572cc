//! Turns what a person typed into commands of a tape.

use std::collections::HashMap;

use super::command::{KeyPress, TapeCommand};
use super::key::{KeyChord, KeyModifiers, KeyName};
use super::tape_text::TapeText;
use super::typed_mouse::TypedMouse;
use crate::core::input::encode::{KeyEvent, KeyboardModes, key_bytes};
use crate::core::input::{PASTE_END, PASTE_START};

const NAMED: [KeyName; 14] = [
    KeyName::Enter,
    KeyName::Tab,
    KeyName::Escape,
    KeyName::Backspace,
    KeyName::Delete,
    KeyName::Insert,
    KeyName::Home,
    KeyName::End,
    KeyName::PageUp,
    KeyName::PageDown,
    KeyName::Up,
    KeyName::Down,
    KeyName::Left,
    KeyName::Right,
];
/// The longest sequence of a key, in bytes.
const KEY_MAX: usize = 16;

/// Recognises keys by their bytes, as terminals without a keyboard protocol send them, and the mouse by the
/// reports of mode 1006.
#[derive(Clone, Debug)]
pub struct TypedKeys {
    known: HashMap<Vec<u8>, KeyChord>,
    mouse: TypedMouse,
}

impl Default for TypedKeys {
    fn default() -> Self {
        Self::new()
    }
}

impl TypedKeys {
    /// Knows all keys, in both forms of the cursor keys.
    #[must_use]
    pub fn new() -> Self {
        let mut known = HashMap::new();
        let held = |shift, alt, ctrl| KeyModifiers { shift, alt, ctrl, super_key: false };
        // The simplest chord that sends these bytes.
        let modifiers = [
            held(false, false, false),
            held(true, false, false),
            held(false, true, false),
            held(false, false, true),
            held(true, true, false),
            held(true, false, true),
            held(false, true, true),
            held(true, true, true),
        ];
        // Ctrl and a digit send the same as Ctrl and another character, which is preferred.
        let letters = ('a'..='z').chain("@[\\]^_".chars()).chain(' '..='`').chain('{'..='~');
        let letters = letters.filter(|c| !c.is_ascii_uppercase()).map(KeyName::Char);
        let keys = NAMED.into_iter().chain((1..=12).map(KeyName::F)).chain(letters);
        for key in keys {
            for modifiers in modifiers {
                for application_cursor in [false, true] {
                    let modes = KeyboardModes { application_cursor, ..KeyboardModes::default() };
                    let chord = KeyChord { key, modifiers };
                    if let Some(bytes) = key_bytes(chord, KeyEvent::Press, &modes) {
                        let known = known.entry(bytes).or_insert(chord);
                        if modifiers.is_fewer_than(known.modifiers) {
                            *known = chord;
                        }
                    }
                }
            }
        }
        TypedKeys { known, mouse: TypedMouse::default() }
    }

    /// The commands that type these bytes. Unknown bytes become `Raw`; a mouse button counts on release.
    pub fn commands(&mut self, bytes: &[u8]) -> Vec<TapeCommand> {
        let mut commands = Vec::new();
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            let length = if let Some(pasted) = rest.strip_prefix(PASTE_START) {
                let end = memchr::memmem::find(pasted, PASTE_END);
                let text = &pasted[..end.unwrap_or(pasted.len())];
                // A terminal pastes lines with CR.
                let text = String::from_utf8_lossy(text).replace('\r', "\n");
                commands.push(TapeCommand::Paste(TapeText::plain(text)));
                PASTE_START.len() + end.map_or(pasted.len(), |end| end + PASTE_END.len())
            } else if let Some((length, command)) = self.mouse.report(rest) {
                match (commands.last_mut(), command) {
                    (
                        Some(TapeCommand::Wheel { direction, notches, at }),
                        Some(TapeCommand::Wheel { direction: same_way, at: same_place, .. }),
                    ) if *direction == same_way && *at == same_place => *notches += 1,
                    (_, command) => commands.extend(command),
                }
                length
            } else if *first < b' ' || *first == 0x7f {
                self.key(rest, &mut commands)
            } else {
                type_text(rest, &mut commands)
            };
            rest = &rest[length..];
        }
        commands
    }

    /// Reads the key at the start; returns its length.
    fn key(&self, bytes: &[u8], commands: &mut Vec<TapeCommand>) -> usize {
        for length in (1..=bytes.len().min(KEY_MAX)).rev() {
            let Some(chord) = self.known.get(&bytes[..length]) else { continue };
            // A sequence that no key sends must not be read as Escape or Alt and a bracket.
            if bytes[0] == 0x1b && length <= 2 && sequence_length(bytes) > length {
                break;
            }
            if let Some(TapeCommand::Key(press)) = commands.last_mut()
                && press.chords == [*chord]
            {
                press.count += 1;
            } else {
                commands.push(TapeCommand::Key(KeyPress::once(*chord)));
            }
            return length;
        }
        let length = sequence_length(bytes);
        let text = String::from_utf8_lossy(&bytes[..length]);
        commands.push(TapeCommand::Raw(TapeText::plain(text)));
        length
    }
}

/// Reads text at the start, up to another key; returns its length.
fn type_text(bytes: &[u8], commands: &mut Vec<TapeCommand>) -> usize {
    let end = bytes.iter().position(|byte| *byte < b' ' || *byte == 0x7f).unwrap_or(bytes.len());
    let typed = TapeText::plain(String::from_utf8_lossy(&bytes[..end]));
    match commands.last_mut() {
        Some(TapeCommand::Type { text, .. }) => text.append(&typed),
        _ => commands.push(TapeCommand::Type { text: typed, speed: None }),
    }
    end
}

/// The length of the control sequence at the start; 1 if there is none.
fn sequence_length(bytes: &[u8]) -> usize {
    match bytes {
        [0x1b, b'[', rest @ ..] => {
            // Old mouse reports have three more bytes.
            let behind = if rest.first() == Some(&b'M') { 3 } else { 0 };
            let end = rest.iter().position(|byte| (b'@'..=b'~').contains(byte));
            end.map_or(bytes.len(), |end| (2 + end + 1 + behind).min(bytes.len()))
        }
        [0x1b, b'O', _, ..] => 3,
        [0x1b, b']' | b'P' | b'_', rest @ ..] => {
            let end = rest.iter().position(|byte| matches!(byte, 0x07 | 0x1b));
            let end = end.map(|end| if rest[end] == 0x07 { end + 1 } else { (end + 2).min(rest.len()) });
            2 + end.unwrap_or(rest.len())
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &str) -> String {
        let commands = TypedKeys::new().commands(bytes.as_bytes());
        commands.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn text_and_keys_become_commands() {
        assert_eq!(lines("ls -la\r"), "Type \"ls -la\" Enter");
        assert_eq!(lines("ä漢\t\x7f\x7f\x1b"), "Type \"ä漢\" Tab Backspace 2 Escape");
        assert_eq!(lines("\x1b[A\x1bOA\x1bOB\x1b[5~"), "Up 2 Down PageUp");
        assert_eq!(lines("\x03\x1c\x1b.\x1b[1;5D\x1b[Z"), {
            "Key Ctrl+c Key \"Ctrl+\\\" Key Alt+. Key Ctrl+Left Key Shift+Tab"
        });
        assert_eq!(lines("\x1bOP\x1b[24~"), "F1 F12");
    }

    #[test]
    fn pastes_and_reports_stay_what_they_are() {
        assert_eq!(lines("\x1b[200~two words\x1b[201~\r"), "Paste \"two words\" Enter");
        assert_eq!(lines("\x1b[M !!x"), "Raw $\"\\e[M !!\" Type x".replace("Type x", "Type \"x\""));
    }

    #[test]
    fn reports_of_the_mouse_are_clicks_drags_and_turns_of_the_wheel() {
        assert_eq!(lines("\x1b[<0;3;4M\x1b[<0;3;4m"), "Click 4,3");
        assert_eq!(lines("\x1b[<18;3;4M\x1b[<18;3;4ma"), "Click 4,3 right Ctrl+ Type \"a\"");
        assert_eq!(lines("\x1b[<0;3;4M\x1b[<32;4;4M\x1b[<0;9;5m"), "Drag 4,3 to 5,9");
        assert_eq!(lines("\x1b[<65;3;4M\x1b[<65;3;4M\x1b[<64;3;4M"), "Wheel Down 2 at 4,3 Wheel Up 1 at 4,3");
        // A release without a press, and mere motion, are ignored; no report becomes `Raw`.
        assert_eq!(lines("\x1b[<0;3;4m\x1b[<35;3;4M\x1b[<1;3;4M"), "");
        assert_eq!(lines("\x1b[<0;3M"), "Raw $\"\\e[<0;3M\"");
        let mut keys = TypedKeys::new();
        assert!(keys.commands(b"\x1b[<0;3;4M").is_empty());
        assert_eq!(keys.commands(b"\x1b[<0;3;4m").len(), 1, "down and up are read one after the other");
    }

    #[test]
    fn written_commands_type_the_same_again() {
        for bytes in ["a b'c\"d\r", "\x1b[A\x1b[B", "\x03\x04\x1a", "\x1bb\x1bf", "q\x1b"] {
            let text = lines(bytes);
            let tape =
                super::super::parse("t", text.as_bytes(), super::super::ParseOptions::default(), &NoFiles);
            assert!(tape.is_valid(), "{text}: {}", tape.report());
            let again = tape.steps.iter().map(|step| step.command.to_string()).collect::<Vec<_>>().join(" ");
            assert_eq!(again, text);
        }
    }

    struct NoFiles;

    impl super::super::TapeFiles for NoFiles {
        fn read(&self, _: &str) -> Result<Vec<u8>, String> {
            Err(String::new())
        }
    }
}
