//! Where a value ends: at its closing quote, or, without one, at white space or at a sign that it does not
//! hold.

use super::super::byte_scan::run_end;
use super::super::secret_values::{ValueContext, ValuePlace, ValueQuoting, is_noise};
use super::assignment_finder::{AssignedValue, AssignmentFinder, BRIDGE};

/// The longest quoted value, in bytes; a longer one is hidden as far as this.
const LONGEST: usize = 8 << 10;
/// The longest password of signs that is looked for, in bytes.
const SIGNS: usize = 128;

impl AssignmentFinder<'_> {
    /// Words to the end of the line or of the string.
    pub(super) fn phrase(&self, at: usize) -> Option<AssignedValue> {
        let from = self.skip(at, |b| matches!(b, b' ' | b'"' | b'\'' | b'\\' | b':' | b'=' | b'`'));
        let to = run_end(&self.bytes[..self.bytes.len().min(from + 400)], from, |b| {
            b.is_ascii_lowercase() || b == b' '
        });
        (from > at).then_some(AssignedValue {
            from,
            to,
            context: ValueContext { quoting: ValueQuoting::Quoted, place: ValuePlace::Inline },
        })
    }

    /// A value that begins with a quote.
    pub(super) fn quoted(&self, at: usize) -> Option<AssignedValue> {
        let escapes = self.skip(at, |b| b == b'\\') - at;
        let quote = self.byte(at + escapes);
        if !matches!(quote, b'"' | b'\'' | b'`') {
            return None;
        }
        let from = at + escapes + 1;
        // Three quotes begin a longer string.
        let from = if self.byte(from) == quote && self.byte(from + 1) == quote { from + 2 } else { from };
        let mut to = from;
        let mut slashes = 0;
        while to < self.bytes.len() && to - from < LONGEST {
            match self.bytes[to] {
                b'\n' => break,
                // YAML and SQL write a quote within quotes twice.
                b'\'' if quote == b'\'' && to > from && self.byte(to + 1) == quote => to += 1,
                b if b == quote && slashes <= escapes => return Some(self.quoted_value(from, to - slashes)),
                b'\\' => slashes += 1,
                _ => slashes = 0,
            }
            to += 1;
        }
        while !self.text.is_char_boundary(to) {
            to -= 1;
        }
        Some(self.quoted_value(from, to))
    }

    pub(super) fn quoted_value(&self, from: usize, to: usize) -> AssignedValue {
        AssignedValue {
            from,
            to,
            context: ValueContext { quoting: ValueQuoting::Quoted, place: ValuePlace::Inline },
        }
    }

    /// A value without quotes.
    pub(super) fn bare(&mut self, at: usize, place: ValuePlace) -> Option<AssignedValue> {
        let own = !matches!(place, ValuePlace::Inline);
        let end = self.bare_end(at);
        let mut to = end;
        // A value between braces, as ODBC has it.
        if self.byte(at) == b'{' && self.bytes[..at].ends_with(b"=") {
            let closed = self.bytes[at..end].iter().take(LONGEST).position(|b| *b == b'}');
            let closed = closed.map(|n| at + n).filter(|n| *n + 1 == end || self.byte(*n + 1) == b';');
            if let Some(to) = closed.filter(|_| place == ValuePlace::Pair) {
                return Some(AssignedValue {
                    from: at + 1,
                    to,
                    context: ValueContext { quoting: ValueQuoting::Bare, place },
                });
            }
        }
        if place == ValuePlace::Pair {
            let opened = self.bytes[..at].iter().rev().take(BRIDGE).find(|b| matches!(b, b';' | b'?' | b'&'));
            let stop = if opened == Some(&b';') { b';' } else { b'&' };
            to = self.bytes[at..end].iter().take(LONGEST).position(|b| *b == stop).map_or(end, |n| at + n);
        }
        if !own {
            if !(self.stop_until.0..=self.stop_until.1).contains(&at) {
                self.stop_until = (
                    at,
                    run_end(self.bytes, at, |b| !matches!(b, b',' | b';' | b'&' | b')' | b'}' | b']' | b'>')),
                );
            }
            to = end.min(self.stop_until.1);
            to = self.end_of_random_value(at, to, end);
        }
        // What closes something that the value did not open is not of the value.
        while to > at {
            let opener = match self.bytes[to - 1] {
                b',' | b';' | b'.' => None,
                b')' => Some(b'('),
                b']' => Some(b'['),
                b'}' => Some(b'{'),
                b'>' => Some(b'<'),
                _ => break,
            };
            if opener.is_some_and(|opener| self.bytes[at..to.min(at + LONGEST)].contains(&opener)) {
                break;
            }
            to -= 1;
        }
        let place = match place {
            ValuePlace::Line if !self.ends_line(to) => ValuePlace::Inline,
            place => place,
        };
        (to > at).then_some(AssignedValue {
            from: at,
            to,
            context: ValueContext { quoting: ValueQuoting::Bare, place },
        })
    }

    /// Where a value ends that has `,`, `&` or a bracket at `to`: it may be a sign of a random password. What
    /// follows must then be neither the next pair nor the end of a bracket, and the whole must look random.
    pub(super) fn end_of_random_value(&self, at: usize, to: usize, end: usize) -> usize {
        let closers = |b: &u8| matches!(b, b')' | b']' | b'}' | b'>' | b',' | b';' | b'.' | b':' | b'|');
        let mut stop = to;
        while stop < end && stop - at < SIGNS {
            let rest = &self.bytes[stop + 1..end.min(stop + SIGNS)];
            let name = run_end(rest, 0, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
            let pair = matches!(self.bytes[stop], b',' | b';' | b'&')
                && name > 1
                && rest[0].is_ascii_alphabetic()
                && matches!(rest.get(name), Some(b'=' | b':'));
            if pair || rest.iter().all(closers) {
                break;
            }
            stop = run_end(&self.bytes[..end], stop + 1, |b| {
                !matches!(b, b',' | b';' | b'&' | b')' | b'}' | b']' | b'>')
            });
        }
        while !self.text.is_char_boundary(stop) {
            stop -= 1;
        }
        // `Summer,2024`
        if stop > to + 3 && stop < to + 9 && self.bytes[to + 1..stop].iter().all(u8::is_ascii_digit) {
            return stop;
        }
        if stop > to && is_noise(&self.text[at..stop]) { stop } else { to }
    }

    /// The end of the run of characters that a value without quotes can have.
    pub(super) fn bare_end(&mut self, at: usize) -> usize {
        if (self.bare_until.0..self.bare_until.1).contains(&at) {
            return self.bare_until.1;
        }
        let mut end = at;
        while end < self.bytes.len() {
            let b = self.bytes[end];
            let slashes = if b == b'\\' { self.skip(end, |b| b == b'\\') } else { end };
            let escape =
                slashes > end && matches!(self.byte(slashes), b'n' | b'r' | b't' | b'"' | b'\'' | b'`');
            if b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`') || escape {
                break;
            }
            end += 1;
        }
        self.bare_until = (at, end);
        end
    }

    /// The text of an element of XML.
    pub(super) fn element(&self, at: usize) -> Option<AssignedValue> {
        let from = self.skip(at, |b| b.is_ascii_whitespace());
        let len = self.bytes.get(from..)?.iter().take(LONGEST).position(|b| matches!(b, b'<' | b'\n'))?;
        let closes = self.byte(from + len) == b'<' && self.byte(from + len + 1) == b'/';
        closes.then(|| AssignedValue {
            from,
            to: from + len,
            context: ValueContext { quoting: ValueQuoting::Quoted, place: ValuePlace::Inline },
        })
    }
}
