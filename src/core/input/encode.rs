//! The bytes that a terminal sends for a key, under the modes that the program has set: cursor keys (DECCKM),
//! the backspace key (DECBKM), the newline mode (LNM), xterm's modifyOtherKeys, and the kitty keyboard
//! protocol.

use crate::core::tape::{KeyChord, KeyModifiers, KeyName};

/// The keyboard modes that the program has set. The default is a fresh terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyboardModes {
    /// DECCKM: cursor keys send `SS3`.
    pub application_cursor: bool,
    /// DECBKM: the backspace key sends BS.
    pub backspace_sends_bs: bool,
    /// LNM: Enter sends CR and LF.
    pub newline: bool,
    /// xterm's modifyOtherKeys: 0 to 2.
    pub modify_other_keys: u16,
    /// The flags of the kitty keyboard protocol.
    pub kitty_flags: u8,
}

/// What happens to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEvent {
    Press,
    /// Sent only to programs that asked for key releases.
    Release,
}

/// The flags of the kitty keyboard protocol.
const DISAMBIGUATE: u8 = 1;
const EVENT_TYPES: u8 = 2;
const ALTERNATE_KEYS: u8 = 4;
const ALL_KEYS: u8 = 8;
const TEXT: u8 = 16;

/// How a key is written in a control sequence.
enum KeyForm {
    /// `CSI 1 ; modifiers letter`, or `SS3 letter`.
    Letter(char),
    /// `CSI number ; modifiers ~`.
    Tilde(u8),
    /// As its Unicode code (`CSI code u`).
    Code(u32),
}

/// The code of F13 in the kitty keyboard protocol; the others follow.
const F13: u32 = 57376;

fn form(key: KeyName) -> KeyForm {
    match key {
        KeyName::Up => KeyForm::Letter('A'),
        KeyName::Down => KeyForm::Letter('B'),
        KeyName::Right => KeyForm::Letter('C'),
        KeyName::Left => KeyForm::Letter('D'),
        KeyName::Home => KeyForm::Letter('H'),
        KeyName::End => KeyForm::Letter('F'),
        KeyName::F(1) => KeyForm::Letter('P'),
        KeyName::F(2) => KeyForm::Letter('Q'),
        KeyName::F(3) => KeyForm::Letter('R'),
        KeyName::F(4) => KeyForm::Letter('S'),
        KeyName::F(5) => KeyForm::Tilde(15),
        KeyName::F(number @ 6..=10) => KeyForm::Tilde(number + 11),
        KeyName::F(number @ 11..=12) => KeyForm::Tilde(number + 12),
        KeyName::F(number) => KeyForm::Code(F13 + u32::from(number.saturating_sub(13))),
        KeyName::Insert => KeyForm::Tilde(2),
        KeyName::Delete => KeyForm::Tilde(3),
        KeyName::PageUp => KeyForm::Tilde(5),
        KeyName::PageDown => KeyForm::Tilde(6),
        KeyName::Enter => KeyForm::Code(13),
        KeyName::Tab => KeyForm::Code(9),
        KeyName::Escape => KeyForm::Code(27),
        KeyName::Backspace => KeyForm::Code(127),
        KeyName::Space => KeyForm::Code(32),
        KeyName::Char(ch) => KeyForm::Code(u32::from(lower(ch))),
    }
}

/// The bytes of a key; `None` if these modes have no encoding for it. Empty for a release that the program
/// did not ask for.
pub fn key_bytes(chord: KeyChord, event: KeyEvent, modes: &KeyboardModes) -> Option<Vec<u8>> {
    let KeyChord { key, mut modifiers } = chord;
    let key = match key {
        KeyName::Char(' ') => KeyName::Space,
        // `Ctrl+C` is how everybody writes the key pressed without Shift.
        KeyName::Char(ch) if modifiers.ctrl => KeyName::Char(lower(ch)),
        key => key,
    };
    // Any other capital letter is typed with Shift.
    if let KeyName::Char(ch) = key {
        modifiers.shift |= lower(ch) != ch;
    }
    if modes.kitty_flags != 0 {
        return kitty(key, modifiers, event, modes);
    }
    if event == KeyEvent::Release {
        return Some(Vec::new());
    }
    if let Some(sequence) = other_key(key, modifiers, modes) {
        return Some(sequence.into_bytes());
    }
    match form(key) {
        _ if modifiers.super_key => None,
        KeyForm::Letter(letter) if modifiers.is_empty() => {
            let application = modes.application_cursor || matches!(key, KeyName::F(_));
            Some(format!("\x1b{}{letter}", if application { 'O' } else { '[' }).into_bytes())
        }
        KeyForm::Letter(_) | KeyForm::Tilde(_) => Some(sequence(&form(key), modifiers, "").into_bytes()),
        KeyForm::Code(_) => plain(key, modifiers, modes),
    }
}

/// A key with a byte of its own, in a terminal without a keyboard protocol.
fn plain(key: KeyName, modifiers: KeyModifiers, modes: &KeyboardModes) -> Option<Vec<u8>> {
    let mut bytes = match key {
        KeyName::Enter if modes.newline => b"\r\n".to_vec(),
        KeyName::Enter => b"\r".to_vec(),
        KeyName::Tab if modifiers.shift => b"\x1b[Z".to_vec(),
        KeyName::Tab => b"\t".to_vec(),
        KeyName::Escape => b"\x1b".to_vec(),
        KeyName::Backspace => vec![if modes.backspace_sends_bs == modifiers.ctrl { 0x7f } else { 0x08 }],
        KeyName::Space if modifiers.ctrl => vec![0],
        KeyName::Space => b" ".to_vec(),
        KeyName::Char(ch) if modifiers.ctrl => vec![control(ch)?],
        KeyName::Char(ch) => typed(ch, modifiers).to_string().into_bytes(),
        _ => return None,
    };
    if modifiers.alt {
        bytes.insert(0, 0x1b);
    }
    Some(bytes)
}

/// The byte of Ctrl and a character, as on the VT100.
fn control(ch: char) -> Option<u8> {
    Some(match ch {
        'a'..='z' | 'A'..='Z' | '[' | '\\' | ']' | '^' => ch as u8 & 0x1f,
        '@' | '2' => 0,
        '3' => 0x1b,
        '4' => 0x1c,
        '5' => 0x1d,
        '6' => 0x1e,
        '_' | '-' | '/' | '7' => 0x1f,
        '?' | '8' => 0x7f,
        _ => return None,
    })
}

/// The lower-case letter of a capital one, if it has exactly one.
fn lower(ch: char) -> char {
    let mut letters = ch.to_lowercase();
    letters.next().filter(|_| letters.len() == 0).unwrap_or(ch)
}

/// The character that a key types. Only for letters is the effect of Shift known; the rest depends on the
/// keyboard layout.
fn typed(ch: char, modifiers: KeyModifiers) -> char {
    let mut letters = ch.to_uppercase();
    let upper = letters.next().filter(|_| letters.len() == 0);
    upper.filter(|_| modifiers.shift).unwrap_or(ch)
}

/// One more than the bits of the modifiers.
fn number(modifiers: KeyModifiers) -> u8 {
    let KeyModifiers { shift, alt, ctrl, super_key } = modifiers;
    1 + u8::from(shift) + 2 * u8::from(alt) + 4 * u8::from(ctrl) + 8 * u8::from(super_key)
}

/// The control sequence of a key. `event` is appended to the modifiers.
fn sequence(form: &KeyForm, modifiers: KeyModifiers, event: &str) -> String {
    let held = match (number(modifiers), event) {
        (1, "") => String::new(),
        (held, event) => format!(";{held}{event}"),
    };
    match form {
        KeyForm::Letter(letter) if held.is_empty() => format!("\x1b[{letter}"),
        KeyForm::Letter(letter) => format!("\x1b[1{held}{letter}"),
        KeyForm::Tilde(number) => format!("\x1b[{number}{held}~"),
        KeyForm::Code(code) => format!("\x1b[{code}{held}u"),
    }
}

/// `CSI 27 ; modifiers ; code ~` for the keys that modifyOtherKeys covers. At level 1, keys with bytes of
/// their own keep them.
fn other_key(key: KeyName, modifiers: KeyModifiers, modes: &KeyboardModes) -> Option<String> {
    let only_shift = KeyModifiers { shift: false, ..modifiers }.is_empty();
    let is_known = match key {
        KeyName::Char(ch) => only_shift || !modifiers.ctrl || control(ch).is_some() && ch.is_alphabetic(),
        KeyName::Space => !modifiers.ctrl,
        KeyName::Tab => only_shift,
        KeyName::Backspace | KeyName::Escape => true,
        _ => false,
    };
    let is_meant = match modes.modify_other_keys {
        1 => !is_known,
        2 => !matches!(key, KeyName::Char(_) | KeyName::Space) || !only_shift,
        _ => false,
    };
    if !is_meant || modifiers.is_empty() || modifiers.super_key {
        return None;
    }
    let code = match key {
        KeyName::Char(ch) => u32::from(typed(ch, modifiers)),
        _ => match form(key) {
            KeyForm::Code(code) => code,
            _ => return None,
        },
    };
    Some(format!("\x1b[27;{};{code}~", number(modifiers)))
}

/// The bytes in the kitty keyboard protocol.
fn kitty(key: KeyName, modifiers: KeyModifiers, event: KeyEvent, modes: &KeyboardModes) -> Option<Vec<u8>> {
    let is_on = |flag: u8| modes.kitty_flags & flag != 0;
    let only_shift = KeyModifiers { shift: false, ..modifiers }.is_empty();
    if event == KeyEvent::Release
        && (!is_on(EVENT_TYPES)
            || !is_on(ALL_KEYS) && matches!(key, KeyName::Enter | KeyName::Tab | KeyName::Backspace))
    {
        return Some(Vec::new());
    }
    let form = match form(key) {
        // `CSI R` would be a cursor position report.
        KeyForm::Letter('R') => KeyForm::Tilde(13),
        form => form,
    };
    let KeyForm::Code(code) = form else {
        let is_plain = !is_on(DISAMBIGUATE) && !is_on(ALL_KEYS) && modifiers.is_empty();
        if is_plain && event == KeyEvent::Press {
            return key_bytes(KeyChord::plain(key), event, &KeyboardModes { kitty_flags: 0, ..*modes });
        }
        let event = if event == KeyEvent::Release { ":3" } else { "" };
        return Some(sequence(&form, modifiers, event).into_bytes());
    };
    let is_text = matches!(key, KeyName::Char(_) | KeyName::Space) && only_shift;
    let is_byte = matches!(key, KeyName::Enter | KeyName::Tab | KeyName::Backspace) && modifiers.is_empty();
    let is_function = matches!(key, KeyName::F(_));
    let is_ambiguous = is_on(DISAMBIGUATE) && !is_text && !is_byte;
    if event == KeyEvent::Press && !is_on(ALL_KEYS) && !is_ambiguous && !is_function {
        return key_bytes(KeyChord { key, modifiers }, event, &KeyboardModes { kitty_flags: 0, ..*modes });
    }
    let mut bytes = format!("\x1b[{code}");
    let text = match key {
        KeyName::Char(ch) => Some(typed(ch, modifiers)),
        KeyName::Space => Some(' '),
        _ => None,
    };
    if let Some(shifted) = text.filter(|ch| is_on(ALTERNATE_KEYS) && u32::from(*ch) != code) {
        bytes.push_str(&format!(":{}", u32::from(shifted)));
    }
    let text = text.filter(|_| is_text && is_on(TEXT) && is_on(ALL_KEYS) && event == KeyEvent::Press);
    match (number(modifiers), event) {
        (1, KeyEvent::Press) if text.is_none() => {}
        (1, KeyEvent::Press) => bytes.push(';'),
        (held, KeyEvent::Press) => bytes.push_str(&format!(";{held}")),
        (held, KeyEvent::Release) => bytes.push_str(&format!(";{held}:3")),
    }
    if let Some(text) = text {
        bytes.push_str(&format!(";{}", u32::from(text)));
    }
    bytes.push('u');
    Some(bytes.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(chord: &str, modes: KeyboardModes) -> Option<String> {
        let bytes = key_bytes(chord.parse().unwrap(), KeyEvent::Press, &modes);
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn check(modes: KeyboardModes, table: &[(&str, &str)]) {
        for (chord, bytes) in table {
            assert_eq!(press(chord, modes).as_deref(), Some(*bytes), "{chord} in {modes:?}");
        }
    }

    #[test]
    fn a_fresh_terminal() {
        check(
            KeyboardModes::default(),
            &[
                ("a", "a"),
                ("A", "A"),
                ("shift-a", "A"),
                ("ä", "ä"),
                ("shift-ä", "Ä"),
                ("ctrl-c", "\x03"),
                ("ctrl-C", "\x03"),
                ("ctrl-@", "\0"),
                ("ctrl-space", "\0"),
                ("ctrl-_", "\x1f"),
                ("ctrl--", "\x1f"),
                ("alt-b", "\x1bb"),
                ("alt-shift-b", "\x1bB"),
                ("ctrl-alt-c", "\x1b\x03"),
                ("enter", "\r"),
                ("alt-enter", "\x1b\r"),
                ("tab", "\t"),
                ("shift-tab", "\x1b[Z"),
                ("backspace", "\x7f"),
                ("ctrl-backspace", "\x08"),
                ("escape", "\x1b"),
                ("up", "\x1b[A"),
                ("ctrl-left", "\x1b[1;5D"),
                ("shift-home", "\x1b[1;2H"),
                ("alt-up", "\x1b[1;3A"),
                ("f1", "\x1bOP"),
                ("ctrl-f1", "\x1b[1;5P"),
                ("f5", "\x1b[15~"),
                ("f6", "\x1b[17~"),
                ("f10", "\x1b[21~"),
                ("f11", "\x1b[23~"),
                ("shift-f12", "\x1b[24;2~"),
                ("delete", "\x1b[3~"),
                ("ctrl-pageup", "\x1b[5;5~"),
            ],
        );
        for unknown in ["ctrl-ä", "super-a", "super-up", "f13", "ctrl-!"] {
            assert_eq!(press(unknown, KeyboardModes::default()), None, "{unknown}");
        }
        let release = key_bytes("a".parse().unwrap(), KeyEvent::Release, &KeyboardModes::default());
        assert_eq!(release, Some(Vec::new()));
    }

    #[test]
    fn modes_of_old_terminals() {
        let cursor = KeyboardModes { application_cursor: true, ..KeyboardModes::default() };
        check(cursor, &[("up", "\x1bOA"), ("home", "\x1bOH"), ("ctrl-up", "\x1b[1;5A"), ("f5", "\x1b[15~")]);
        let others = KeyboardModes { backspace_sends_bs: true, newline: true, ..KeyboardModes::default() };
        check(others, &[("backspace", "\x08"), ("ctrl-backspace", "\x7f"), ("enter", "\r\n")]);
    }

    #[test]
    fn modify_other_keys() {
        let level = |level| KeyboardModes { modify_other_keys: level, ..KeyboardModes::default() };
        check(
            level(1),
            &[
                ("ctrl-c", "\x03"),
                ("ctrl-1", "\x1b[27;5;49~"),
                ("ctrl-enter", "\x1b[27;5;13~"),
                ("ctrl-tab", "\x1b[27;5;9~"),
                ("shift-tab", "\x1b[Z"),
                ("alt-b", "\x1bb"),
                ("A", "A"),
            ],
        );
        check(
            level(2),
            &[
                ("ctrl-c", "\x1b[27;5;99~"),
                ("shift-enter", "\x1b[27;2;13~"),
                ("alt-b", "\x1b[27;3;98~"),
                ("enter", "\r"),
                ("A", "A"),
                ("ctrl-up", "\x1b[1;5A"),
            ],
        );
    }

    #[test]
    fn the_kitty_protocol_distinguishes_ambiguous_keys() {
        let flags = |kitty_flags| KeyboardModes { kitty_flags, ..KeyboardModes::default() };
        check(
            flags(1),
            &[
                ("a", "a"),
                ("A", "A"),
                ("escape", "\x1b[27u"),
                ("enter", "\r"),
                ("shift-enter", "\x1b[13;2u"),
                ("tab", "\t"),
                ("shift-tab", "\x1b[9;2u"),
                ("ctrl-i", "\x1b[105;5u"),
                ("ctrl-shift-o", "\x1b[111;6u"),
                ("Ctrl+C", "\x1b[99;5u"),
                ("Ctrl+Shift+C", "\x1b[99;6u"),
                ("Ctrl+Alt+C", "\x1b[99;7u"),
                ("Alt+C", "\x1b[99;4u"),
                ("alt-b", "\x1b[98;3u"),
                ("super-a", "\x1b[97;9u"),
                ("ctrl-space", "\x1b[32;5u"),
                ("up", "\x1b[A"),
                ("f1", "\x1b[P"),
                ("f3", "\x1b[13~"),
                ("f13", "\x1b[57376u"),
                ("alt-up", "\x1b[1;3A"),
            ],
        );
        check(
            flags(1 | 4 | 8 | 16),
            &[
                ("a", "\x1b[97;;97u"),
                ("A", "\x1b[97:65;2;65u"),
                ("enter", "\x1b[13u"),
                ("ctrl-c", "\x1b[99;5u"),
                ("space", "\x1b[32;;32u"),
            ],
        );
        let release = |chord: &str, kitty_flags| {
            let bytes = key_bytes(chord.parse().unwrap(), KeyEvent::Release, &flags(kitty_flags)).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!((release("a", 1), release("enter", 3)), (String::new(), String::new()));
        assert_eq!((release("a", 3), release("up", 3)), ("\x1b[97;1:3u".into(), "\x1b[1;1:3A".into()));
        assert_eq!(release("enter", 10), "\x1b[13;1:3u");
    }
}
