//! One line of a recording: an event `[time, "code", "data"]`, read without building a JSON tree.

use memchr::memchr2;

/// The parts of an event's line.
#[derive(Debug, PartialEq)]
pub(super) struct EventLine {
    /// The time in the line, in microseconds.
    pub time_us: u64,
    /// The first character of the code.
    pub code: char,
    /// The data. Lone surrogates are U+FFFD.
    pub data: Vec<u8>,
}

/// Why a line is not an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoEvent {
    /// It does not have the form of an event.
    Form,
    /// Its time is negative.
    NegativeTime,
    /// Its time is over [`TIME_MAX_US`].
    TimeRange,
}

/// The latest time in a recording, in microseconds: a thousand years.
pub(super) const TIME_MAX_US: u64 = 1000 * 366 * 86_400 * 1_000_000;

/// Reads a line without its line end; it must be UTF-8.
pub(super) fn read(line: &str) -> Result<EventLine, NoEvent> {
    let cursor = EventLineCursor { rest: line.as_bytes() };
    if let Some(event) = cursor.event() {
        return Ok(event);
    }
    // Forms that recorders do not write: more than three elements, escapes in the code, a time with an
    // exponent.
    let parts: Vec<serde_json::Value> = serde_json::from_str(line).map_err(|_| NoEvent::Form)?;
    let [time, code, data, ..] = parts.as_slice() else { return Err(NoEvent::Form) };
    let time_us = micros(time.as_f64().ok_or(NoEvent::Form)?)?;
    let code = code.as_str().and_then(|code| code.chars().next()).ok_or(NoEvent::Form)?;
    let data = match data {
        serde_json::Value::String(text) => text.clone(),
        _ if matches!(code, 'o' | 'i') => return Err(NoEvent::Form),
        other => other.to_string(),
    };
    Ok(EventLine { time_us, code, data: data.into_bytes() })
}

/// Seconds as microseconds.
pub(super) fn micros(seconds: f64) -> Result<u64, NoEvent> {
    if seconds < 0.0 {
        return Err(NoEvent::NegativeTime);
    }
    let micros = (seconds * 1e6).round();
    if micros <= TIME_MAX_US as f64 { Ok(micros as u64) } else { Err(NoEvent::TimeRange) }
}

/// Reads the common form from left to right. `None` sends the line to serde_json, which reads every form.
struct EventLineCursor<'a> {
    rest: &'a [u8],
}

impl EventLineCursor<'_> {
    fn event(mut self) -> Option<EventLine> {
        self.sign(b'[')?;
        let time_us = self.time()?;
        self.sign(b',')?;
        let code = self.code()?;
        self.sign(b',')?;
        self.sign(b'"')?;
        let data = self.text()?;
        self.sign(b']')?;
        self.space();
        self.rest.is_empty().then_some(EventLine { time_us, code, data })
    }

    fn space(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn sign(&mut self, sign: u8) -> Option<()> {
        self.space();
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        (*first == sign).then_some(())
    }

    /// Digits with an optional fraction; from the seventh digit on it is rounded.
    fn time(&mut self) -> Option<u64> {
        self.space();
        let whole = self.digits();
        if whole.is_empty() || whole.len() > 10 || (whole.len() > 1 && whole[0] == b'0') {
            return None;
        }
        let mut micros = whole.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        let mut fraction: &[u8] = &[];
        if let [b'.', rest @ ..] = self.rest {
            self.rest = rest;
            fraction = self.digits();
            if fraction.is_empty() {
                return None;
            }
        }
        for at in 0..6 {
            micros = micros * 10 + fraction.get(at).map_or(0, |digit| u64::from(digit - b'0'));
        }
        micros += u64::from(fraction.get(6).is_some_and(|digit| *digit >= b'5'));
        (micros <= TIME_MAX_US).then_some(micros)
    }

    fn code(&mut self) -> Option<char> {
        self.space();
        match self.rest {
            [b'"', code, b'"', rest @ ..] if code.is_ascii_graphic() && *code != b'\\' => {
                self.rest = rest;
                Some(char::from(*code))
            }
            _ => None,
        }
    }

    /// The rest of a string, and its closing quote.
    fn text(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::with_capacity(self.rest.len());
        loop {
            let end = memchr2(b'"', b'\\', self.rest)?;
            let (plain, rest) = self.rest.split_at(end);
            // JSON has no control characters in strings.
            if plain.iter().fold(false, |found, byte| found | (*byte < b' ')) {
                return None;
            }
            text.extend_from_slice(plain);
            self.rest = &rest[1..];
            if rest[0] == b'"' {
                return Some(text);
            }
            self.escape(&mut text)?;
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Option<()> {
        let (sign, rest) = self.rest.split_first()?;
        self.rest = rest;
        let byte = match sign {
            b'u' => {
                let unit = self.unit()?;
                // What recorders write most: ESC and other control characters.
                if unit < 0x80 {
                    unit as u8
                } else {
                    let ch = self.scalar(unit)?;
                    text.extend_from_slice(ch.encode_utf8(&mut [0; 4]).as_bytes());
                    return Some(());
                }
            }
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'"' | b'\\' | b'/' => *sign,
            _ => return None,
        };
        text.push(byte);
        Some(())
    }

    /// The character of a UTF-16 unit, together with the next unit if the two are a surrogate pair.
    fn scalar(&mut self, unit: u16) -> Option<char> {
        let mut units = [unit, 0];
        let mut count = 1;
        if (0xD800..0xDC00).contains(&unit)
            && let [b'\\', b'u', rest @ ..] = self.rest
        {
            let before = self.rest;
            self.rest = rest;
            let low = self.unit()?;
            if (0xDC00..0xE000).contains(&low) {
                units[1] = low;
                count = 2;
            } else {
                self.rest = before;
            }
        }
        Some(
            char::decode_utf16(units[..count].iter().copied()).next()?.unwrap_or(char::REPLACEMENT_CHARACTER),
        )
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u16> {
        let (digits, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        digits.iter().try_fold(0, |sum, digit| Some(sum << 4 | char::from(*digit).to_digit(16)? as u16))
    }
}

impl<'a> EventLineCursor<'a> {
    fn digits(&mut self) -> &'a [u8] {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(time_us: u64, code: char, data: &str) -> Result<EventLine, NoEvent> {
        Ok(EventLine { time_us, code, data: data.as_bytes().to_vec() })
    }

    #[test]
    fn the_common_form_and_every_other_form_are_read() {
        for (text, wanted) in [
            (
                r#"[0.248848, "o", "\u001b[1;31mHi\u001b[0m\r\n"]"#,
                line(248_848, 'o', "\x1b[1;31mHi\x1b[0m\r\n"),
            ),
            (r#"[0,"o",""]"#, line(0, 'o', "")),
            (r#" [ 12.5 , "r" , "80x24" ] "#, line(12_500_000, 'r', "80x24")),
            (r#"[1.0000004999, "o", "a"]"#, line(1_000_000, 'o', "a")),
            (r#"[1.0000005, "o", "a"]"#, line(1_000_001, 'o', "a")),
            (r#"[1e-3, "o", "a"]"#, line(1000, 'o', "a")),
            (r#"[1, "o", "a", "more"]"#, line(1_000_000, 'o', "a")),
            (r#"[1, "\u006f", "a"]"#, line(1_000_000, 'o', "a")),
            (r#"[1, "z", {"a":1}]"#, line(1_000_000, 'z', r#"{"a":1}"#)),
            (r#"[1, "o", "\ud83d\ude00漢\/\"\\\b\f\t"]"#, line(1_000_000, 'o', "😀漢/\"\\\x08\x0c\t")),
            (r#"[1, "o", "\ud83dx\udc00"]"#, line(1_000_000, 'o', "\u{fffd}x\u{fffd}")),
            (r#"[1, "o", "\ud83d\ud83d\ude00"]"#, line(1_000_000, 'o', "\u{fffd}😀")),
            (r#"[-0.5, "o", "a"]"#, Err(NoEvent::NegativeTime)),
            (r#"[1e300, "o", "a"]"#, Err(NoEvent::TimeRange)),
            (r#"[99999999999, "o", "a"]"#, Err(NoEvent::TimeRange)),
            (r#"[01, "o", "a"]"#, Err(NoEvent::Form)),
            (r#"[1., "o", "a"]"#, Err(NoEvent::Form)),
            (r#"[1, "o", "a"#, Err(NoEvent::Form)),
            (r#"[1, "o", "a"] x"#, Err(NoEvent::Form)),
            (r#"[1, "o", "\u00zz"]"#, Err(NoEvent::Form)),
            (r#"[1, "", "a"]"#, Err(NoEvent::Form)),
            (r#"[1, "o", true]"#, Err(NoEvent::Form)),
            ("[1, \"o\", \"a\0b\"]", Err(NoEvent::Form)),
            (r#"{"version": 3}"#, Err(NoEvent::Form)),
            ("", Err(NoEvent::Form)),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
    }
}
