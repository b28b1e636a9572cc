//! What a rule is, and how it is matched against a text.
//!
//! A rule holds only where a word can begin, and never for a placeholder.

use super::super::byte_scan::{begins_word, run_end};
use super::super::secret_spans::SecretSpan;
use super::super::secret_values::{is_made_up, is_scrambled};
use super::super::{SecretKind, private_keys};
use super::rule_table::RULES;

/// How much of a run is looked at before the rule holds, in bytes; a key is hidden to its end.
const RUN_SEARCHED: usize = 300;

/// The characters of a part.
#[derive(Clone, Copy)]
pub(super) enum CharSet {
    /// `0-9`.
    Digit,
    /// `0-9 a-f A-F`.
    Hex,
    /// `A-Z 0-9`.
    Upper,
    /// `A-Z a-z 0-9`.
    Alnum,
    /// `A-Z a-z 0-9 _ -`.
    Word,
    /// As `Word`, and `.`.
    Dotted,
    /// As `Dotted`, and `~`.
    Url,
    /// Base64 of both kinds, percent codes, and `.`.
    Base64,
    /// The alphabet of `crypt(3)`.
    Crypt,
}

impl CharSet {
    const fn has(self, b: u8) -> bool {
        match self {
            CharSet::Digit => b.is_ascii_digit(),
            CharSet::Hex => b.is_ascii_hexdigit(),
            CharSet::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            CharSet::Alnum => b.is_ascii_alphanumeric(),
            CharSet::Word => CharSet::Alnum.has(b) || matches!(b, b'_' | b'-'),
            CharSet::Dotted => CharSet::Word.has(b) || b == b'.',
            CharSet::Url => CharSet::Dotted.has(b) || b == b'~',
            CharSet::Base64 => CharSet::Dotted.has(b) || matches!(b, b'+' | b'/' | b'=' | b'%'),
            CharSet::Crypt => CharSet::Alnum.has(b) || matches!(b, b'.' | b'/' | b'$' | b'=' | b',' | b'+'),
        }
    }
}

/// What follows the beginning of a key. All but `First` take every character of their set that is there.
#[derive(Clone, Copy)]
pub(super) enum KeyPart {
    Text(&'static str),
    /// So many characters, whatever follows them.
    First(usize, CharSet),
    Exactly(usize, CharSet),
    Between(usize, usize, CharSet),
    AtLeast(usize, CharSet),
    /// As `AtLeast`, with 16 characters in a row that no word has.
    Random(usize, CharSet),
}

impl KeyPart {
    /// Where the part ends that begins at `from`; of a long run, where it was looked at.
    fn end(self, text: &str, from: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let (least, most, set) = match self {
            KeyPart::Text(part) => return text[from..].starts_with(part).then_some(from + part.len()),
            KeyPart::First(n, set) => {
                let part = bytes.get(from..from + n)?;
                return part.iter().rev().all(|b| set.has(*b)).then_some(from + n);
            }
            KeyPart::Exactly(n, set) => (n, n, set),
            KeyPart::Between(least, most, set) => (least, most, set),
            KeyPart::AtLeast(least, set) | KeyPart::Random(least, set) => (least, usize::MAX, set),
        };
        // Most texts end sooner.
        if least > 0 && !bytes.get(from + least - 1).is_some_and(|b| set.has(*b)) {
            return None;
        }
        let look = from + most.min(RUN_SEARCHED) + 1;
        let end = run_end(&bytes[..bytes.len().min(look)], from, |b| set.has(b));
        let random =
            |part: &str| part.len() >= 16 && (part.bytes().any(|b| b.is_ascii_digit()) || is_scrambled(part));
        let holds = (least..=most).contains(&(end - from))
            && (!matches!(self, KeyPart::Random(..)) || text[from..end].split(['-', '_']).any(random));
        holds.then_some(end)
    }
}

pub(super) struct SecretRule {
    pub(super) kind: SecretKind,
    /// What the key begins with: one of these. Where this is nothing, the first part says where it can begin.
    pub(super) starts: &'static [&'static str],
    pub(super) parts: &'static [KeyPart],
    #[cfg(test)]
    pub(super) name: &'static str,
    /// What follows each of `starts`, in the shapes of `Chance::fill`.
    #[cfg(test)]
    pub(super) examples: &'static [&'static str],
    /// A text that only looks like it.
    #[cfg(test)]
    pub(super) lookalike: &'static str,
}

impl SecretRule {
    pub(super) fn matches(&self, text: &str, at: usize) -> Option<SecretSpan> {
        let bytes = text.as_bytes();
        self.starts.iter().find_map(|start| {
            // Byte by byte: most differ at the second one, which costs less than a call of `memcmp`.
            if !bytes[at..].iter().take(start.len()).eq(start.as_bytes()) {
                return None;
            }
            let from = at + start.len();
            let end = self.parts.iter().try_fold(from, |from, part| part.end(text, from))?;
            // A web token says of itself that it is one.
            if self.kind != SecretKind::Jwt && is_made_up(&text[from..end]) {
                return None;
            }
            let end = match self.parts.last() {
                Some(KeyPart::AtLeast(_, set) | KeyPart::Random(_, set)) => {
                    run_end(bytes, end, |b| set.has(b))
                }
                _ => end,
            };
            // Points at the end are those of a sentence.
            let end = from + text[from..end].trim_end_matches(['.', ',']).len();
            let to = if self.kind == SecretKind::PrivateKey { private_keys::body(bytes, end) } else { end };
            Some(SecretSpan { from: at, to, kind: self.kind })
        })
    }

    /// Whether a key by this rule can begin with `b`.
    const fn begins_with(&self, b: u8) -> bool {
        let mut n = 0;
        while n < self.starts.len() {
            let start = self.starts[n].as_bytes();
            let can = match self.parts[0] {
                _ if !start.is_empty() => start[0] == b,
                KeyPart::Text(_) => true,
                KeyPart::First(_, set)
                | KeyPart::Exactly(_, set)
                | KeyPart::Between(_, _, set)
                | KeyPart::AtLeast(_, set)
                | KeyPart::Random(_, set) => set.has(b),
            };
            if can {
                return true;
            }
            n += 1;
        }
        false
    }
}

/// The rules by the byte that a key begins with: their numbers, and how many there are.
const BY_BYTE: &[([u8; 48], usize); 256] = &{
    let mut rules = [([0; 48], 0); 256];
    let mut b = 0;
    while b < 256 {
        let mut n = 0;
        while n < RULES.len() {
            if RULES[n].begins_with(b as u8) {
                rules[b].0[rules[b].1] = n as u8;
                rules[b].1 += 1;
            }
            n += 1;
        }
        b += 1;
    }
    assert!(RULES.len() <= 256);
    rules
};

pub(in super::super) fn find(text: &str, spans: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (rules, count) = &BY_BYTE[usize::from(bytes[at])];
        if *count == 0 || !begins_word(bytes, at) {
            at += 1;
            continue;
        }
        let span = rules[..*count].iter().find_map(|rule| RULES[usize::from(*rule)].matches(text, at));
        at = span.map_or(at + 1, |span| span.to);
        spans.extend(span);
    }
}
