//! What a complete control sequence from a terminal means: kitty keys, xterm's modified keys, or a report
//! from the terminal itself.

use super::InputClass;

/// The meaning of one control sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Csi {
    Class(InputClass),
    /// A bracketed paste begins.
    PasteBegins,
    /// Three raw bytes of an old mouse report follow.
    X10Mouse,
}

/// The meaning of `CSI body last`; `body` is parameters and intermediates, without CSI. `prefix` is the byte
/// of hopty's own key.
pub(super) fn meaning(body: &[u8], last: u8, prefix: Option<u8>) -> Csi {
    let report = Csi::Class(InputClass::Report);
    let private = matches!(body.first(), Some(b'<' | b'=' | b'>' | b'?'));
    let intermediate = body.iter().any(|byte| (0x20..=0x2f).contains(byte));
    if private || intermediate {
        // SGR mouse, DA, DECRPM, kitty flags, colour scheme, graphics: no terminal sends a key in such a
        // form.
        return report;
    }
    match (last, body) {
        (b'~', b"200") => Csi::PasteBegins,
        (b'M', b"") => Csi::X10Mouse,
        (b'M', _) | (b'I' | b'O', b"") | (b'c' | b'n' | b't' | b'x' | b'y', _) => report,
        (b'R', body) if is_cursor_report(body) => report,
        (b'Z', b"" | b"1;2") => Csi::Class(InputClass::Mode),
        (b'u', body) => Csi::Class(kitty(body, prefix)),
        (b'~', body) => Csi::Class(modified(body, prefix)),
        _ => Csi::Class(InputClass::Typed),
    }
}

/// `CSI 1;2R` to `CSI 1;16R` are also F3 with modifiers, and a person's key must never count as a report.
fn is_cursor_report(body: &[u8]) -> bool {
    let mut fields = body.split(|byte| *byte == b';').map(number);
    match (fields.next().flatten(), fields.next().flatten(), fields.next()) {
        (Some(row), Some(column), None) => row != 1 || !(2..=16).contains(&column),
        _ => false,
    }
}

/// `CSI key[:shifted[:base]] ; modifiers[:event] ; text u` of the kitty keyboard protocol.
fn kitty(body: &[u8], prefix: Option<u8>) -> InputClass {
    let mut fields = body.split(|byte| *byte == b';');
    let mut codes = fields.next().unwrap_or_default().split(|byte| *byte == b':').map(number);
    let mut modifiers = fields.next().unwrap_or_default().split(|byte| *byte == b':').map(number);
    let main = codes.next().flatten();
    let base = codes.nth(1).flatten();
    let held = modifiers.next().flatten().unwrap_or(1);
    let event = modifiers.next().flatten().unwrap_or(1);
    if event == 3 { InputClass::Typed } else { key(main, base, held, prefix) }
}

/// `CSI 27 ; modifiers ; key ~` of xterm's modifyOtherKeys.
fn modified(body: &[u8], prefix: Option<u8>) -> InputClass {
    let mut fields = body.split(|byte| *byte == b';').map(number);
    match (fields.next().flatten(), fields.next().flatten(), fields.next().flatten(), fields.next()) {
        (Some(27), Some(held), code, None) => key(code, None, held, prefix),
        _ => InputClass::Typed,
    }
}

/// Caps lock and num lock, which say nothing about what is meant.
const LOCKS: u32 = 64 | 128;

/// The class of a key; `held` is the kitty modifier field: one more than the modifier bits.
fn key(main: Option<u32>, base: Option<u32>, held: u32, prefix: Option<u8>) -> InputClass {
    const CTRL: u32 = 4;
    const ENTER: u32 = 13;
    const KEYPAD_ENTER: u32 = 57_414;
    const SHIFT: u32 = 1;
    const TAB: u32 = 9;
    let held = held.saturating_sub(1) & !LOCKS;
    let is = |code: u32| main == Some(code) || base == Some(code);
    match held {
        CTRL if prefix.is_some_and(|byte| is(u32::from(letter(byte)))) => InputClass::Prefix,
        CTRL if is(u32::from(b'c')) => InputClass::Interrupt,
        CTRL if is(u32::from(b'z')) => InputClass::Suspend,
        SHIFT if main == Some(TAB) => InputClass::Mode,
        0 if main == Some(ENTER) || main == Some(KEYPAD_ENTER) => InputClass::Submit,
        _ => InputClass::Typed,
    }
}

/// The character of `CSI body u`, pressed with no modifier but Shift; `None` for other modifiers and for a
/// release.
pub(super) fn plain(body: &[u8]) -> Option<char> {
    const SHIFT: u32 = 1;
    let mut fields = body.split(|byte| *byte == b';');
    let mut codes = fields.next().unwrap_or_default().split(|byte| *byte == b':').map(number);
    let held =
        fields.next().unwrap_or_default().split(|byte| *byte == b':').next().and_then(number).unwrap_or(1);
    let held = held.saturating_sub(1) & !LOCKS;
    let (main, shifted) = (codes.next().flatten(), codes.next().flatten());
    let code = if held == SHIFT { shifted.or(main) } else { main };
    code.filter(|_| held & !SHIFT == 0 && event(body) != 3).and_then(char::from_u32)
}

/// The event of a key in the kitty protocol: 1 pressed, 2 repeated, 3 released.
pub(super) fn event(body: &[u8]) -> u32 {
    let modifiers = body.split(|byte| *byte == b';').nth(1).unwrap_or_default();
    modifiers.split(|byte| *byte == b':').nth(1).and_then(number).unwrap_or(1)
}

/// The key that sends a control byte together with Ctrl: its code in the kitty protocol.
fn letter(control: u8) -> u8 {
    match control {
        1..=26 => control | 0x60,
        _ => control | 0x40,
    }
}

/// A decimal number; `None` if the field is empty or the number too large.
fn number(field: &[u8]) -> Option<u32> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0_u32, |value, byte| match byte {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u32::from(byte - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number(b"99"), Some(99));
        for bad in [&b""[..], b"9x", b"-1", b"99999999999"] {
            assert_eq!(number(bad), None);
        }
    }

    #[test]
    fn modifiers_without_the_locks() {
        for (held, class) in [
            (5, InputClass::Interrupt),
            (5 + 64, InputClass::Interrupt),
            (5 + 128, InputClass::Interrupt),
            (5 + 192, InputClass::Interrupt),
            (1, InputClass::Typed),
            (6, InputClass::Typed),
            (7, InputClass::Typed),
            (13, InputClass::Typed),
            (0, InputClass::Typed),
        ] {
            assert_eq!(key(Some(99), None, held, None), class, "{held}");
        }
    }
}
