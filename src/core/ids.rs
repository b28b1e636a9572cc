//! Identifiers. Each is a type that checks its text, so that no unchecked one gets into a path or a prompt.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::time::WallTime;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not a {what}")]
pub struct BadId {
    /// The expected kind of identifier.
    pub what: &'static str,
    /// The text, cut to 80 characters.
    pub text: String,
}

fn bad(what: &'static str, text: &str) -> BadId {
    BadId { what, text: text.chars().take(80).collect() }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

text_id! {
    /// Claude's session id: a lower-case UUID, and the name of its transcript.
    #[derive(PartialOrd, Ord)]
    ConversationId
}
text_id! {
    /// `HO-YYYYMMDD-HHMMSS-<first 8 of the conversation id>`, in UTC.
    #[derive(PartialOrd, Ord)]
    HandoffId
}
text_id! {
    /// A session's name: `[a-z0-9][a-z0-9._-]{0,47}`. Digits are ordered as numbers: `proj-2` comes before
    /// `proj-10`.
    SessionName
}
text_id! {
    /// A label of a session, to list sessions by: `[a-z0-9][a-z0-9._-]{0,31}`.
    #[derive(PartialOrd, Ord)]
    Label
}
text_id! {
    /// The name under which a directory's handoffs are kept: `[A-Za-z0-9._-]{1,64}`, not starting with `.` or
    /// `-`.
    #[derive(PartialOrd, Ord)]
    Channel
}

impl FromStr for ConversationId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let ok = text.len() == 36
            && text.bytes().enumerate().all(|(i, b)| match i {
                8 | 13 | 18 | 23 => b == b'-',
                _ => b.is_ascii_hexdigit(),
            });
        if ok { Ok(Self(text.to_ascii_lowercase())) } else { Err(bad("conversation id (a UUID)", text)) }
    }
}

impl ConversationId {
    /// The first eight characters, which are part of a handoff id.
    pub fn short(&self) -> &str {
        &self.0[..8]
    }
}

impl HandoffId {
    #[must_use]
    pub fn new(at: WallTime, of: &ConversationId) -> Self {
        Self(format!("HO-{}-{}", at.compact(), of.short()))
    }

    /// The time in the id.
    pub fn made_at(&self) -> Option<WallTime> {
        let time = chrono::NaiveDateTime::parse_from_str(self.0.get(3..18)?, "%Y%m%d-%H%M%S").ok()?;
        Some(WallTime(time.and_utc().timestamp_millis()))
    }
}

impl FromStr for HandoffId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let digits = |part: &str, n: usize| part.len() == n && part.bytes().all(|b| b.is_ascii_digit());
        let parts: Vec<&str> = text.split('-').collect();
        let ok = parts.len() == 4
            && parts[0] == "HO"
            && digits(parts[1], 8)
            && digits(parts[2], 6)
            && parts[3].len() == 8
            && parts[3].bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if ok { Ok(Self(text.to_owned())) } else { Err(bad("handoff id", text)) }
    }
}

/// The hint for an invalid label.
pub const LABEL_HINT: &str =
    "a label has 1 to 32 lower-case letters, digits, `.`, `_` and `-`, and begins with a letter or digit";

/// Adds labels to `labels` and removes others.
///
/// # Errors
/// The first invalid label; some may have been added before it.
pub fn change_labels(labels: &mut BTreeSet<Label>, add: &[String], remove: &[String]) -> Result<(), BadId> {
    for text in add {
        labels.insert(text.parse()?);
    }
    for text in remove {
        labels.remove(&text.parse()?);
    }
    Ok(())
}

/// Whether `text` is a word of at most `most` bytes: lower-case letters, digits, `.`, `_` and `-`, beginning
/// with a letter or a digit.
fn is_word(text: &str, most: usize) -> bool {
    let first = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let rest = |b: u8| first(b) || matches!(b, b'.' | b'_' | b'-');
    let bytes = text.as_bytes();
    (1..=most).contains(&bytes.len()) && first(bytes[0]) && bytes[1..].iter().all(|b| rest(*b))
}

impl FromStr for SessionName {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        if is_word(text, 48) { Ok(Self(text.to_owned())) } else { Err(bad("session name", text)) }
    }
}

impl FromStr for Label {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        if is_word(text, 32) { Ok(Self(text.to_owned())) } else { Err(bad("label", text)) }
    }
}

impl SessionName {
    /// The default name for a directory: its last component in lower case, without accents, other characters
    /// as `-`; `session` if nothing is left.
    #[must_use]
    pub fn for_directory(last_component: &str) -> Self {
        let mut name: String = ascii_letters(last_component)
            .chars()
            .map(|c| {
                if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-') {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        name = name.trim_start_matches(['.', '_', '-']).chars().take(48).collect();
        if name.is_empty() {
            name.push_str("session");
        }
        Self(name)
    }

    /// The name for a person's title: in lower case, without accents, with one `-` for each run of other
    /// characters. `None` if nothing is left.
    pub fn for_title(title: &str) -> Option<Self> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_');
        let lower = ascii_letters(title);
        let words: Vec<&str> = lower.split(|c| !allowed(c)).filter(|word| !word.is_empty()).collect();
        let name: String = words.join("-").trim_start_matches(['.', '_', '-']).chars().take(48).collect();
        let name = name.trim_end_matches('-');
        (!name.is_empty()).then(|| Self(name.to_owned()))
    }

    /// The `n`-th alternative to a name that is taken, such as `proj-2`; never over 48 bytes.
    #[must_use]
    pub fn numbered(&self, n: u32) -> Self {
        let tail = format!("-{n}");
        let head: String = self.0.chars().take(48 - tail.len()).collect();
        Self(head + &tail)
    }
}

/// `text` in lower case without accents on Latin letters: `Übung` becomes `ubung`.
fn ascii_letters(text: &str) -> String {
    let lower = text.to_lowercase();
    let mut out = String::with_capacity(lower.len());
    for c in lower.chars() {
        // A combining accent, as some systems use in file names.
        if ('\u{300}'..='\u{36f}').contains(&c) {
            continue;
        }
        match LATIN.iter().find(|(_, accented)| accented.contains(c)) {
            Some((plain, _)) => out.push_str(plain),
            None => out.push(c),
        }
    }
    out
}

/// Letters of European languages with their ASCII replacements.
const LATIN: [(&str, &str); 23] = [
    ("a", "àáâãäåāăąǎ"),
    ("ae", "æ"),
    ("c", "çćĉċč"),
    ("d", "ďđð"),
    ("e", "èéêëēĕėęě"),
    ("g", "ĝğġģ"),
    ("h", "ĥħ"),
    ("i", "ìíîïĩīĭįıǐ"),
    ("j", "ĵ"),
    ("k", "ķ"),
    ("l", "ĺļľŀł"),
    ("n", "ñńņňŋ"),
    ("o", "òóôõöøōŏőǒ"),
    ("oe", "œ"),
    ("r", "ŕŗř"),
    ("s", "śŝşšș"),
    ("ss", "ß"),
    ("t", "ţťŧț"),
    ("th", "þ"),
    ("u", "ùúûüũūŭůűųǔ"),
    ("w", "ŵ"),
    ("y", "ýÿŷ"),
    ("z", "źżž"),
];

impl Ord for SessionName {
    fn cmp(&self, other: &Self) -> Ordering {
        // `s1` and `s01` have the same number but are two names.
        natural(self.0.as_bytes(), other.0.as_bytes()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for SessionName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares byte by byte, but runs of digits as numbers of any length.
fn natural(mut a: &[u8], mut b: &[u8]) -> Ordering {
    while let (Some(x), Some(y)) = (a.first(), b.first()) {
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            let (n, m) = (number(&mut a), number(&mut b));
            n.len().cmp(&m.len()).then_with(|| n.cmp(m))
        } else {
            (a, b) = (&a[1..], &b[1..]);
            x.cmp(y)
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// Removes the digits at the beginning of `text`, and returns them without leading zeros.
fn number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let (digits, rest) = text.split_at(text.iter().take_while(|b| b.is_ascii_digit()).count());
    *text = rest;
    &digits[digits.iter().take_while(|b| **b == b'0').count()..]
}

impl FromStr for Channel {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let ok = (1..=64).contains(&text.len())
            && !text.starts_with(['.', '-'])
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if ok { Ok(Self(text.to_owned())) } else { Err(bad("channel name", text)) }
    }
}

impl Channel {
    /// The channel of a directory that no registry entry covers.
    #[must_use]
    pub fn global() -> Self {
        Self("global".to_owned())
    }

    /// The file of the channel, or of one of its programs, that a person may write in the directory of
    /// handoffs.
    pub fn file_name(&self, pid: Option<u32>) -> String {
        pid.map_or_else(|| format!("{self}.md"), |pid| format!("{self}-{pid}.md"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handoff_id_is_made_of_time_and_conversation() {
        let of: ConversationId = "c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap();
        let id = HandoffId::new(WallTime::parse("2026-11-20T14:29:50Z").unwrap(), &of);
        assert_eq!(id.as_str(), "HO-20261120-142950-c74cc080");
        assert_eq!(id.as_str().parse::<HandoffId>().unwrap(), id);
        assert_eq!(id.made_at(), WallTime::parse("2026-11-20T14:29:50Z"));
    }

    #[test]
    fn hostile_identifiers_are_refused() {
        for text in ["", ".", "..", "../x", "a/b", "-x", "HO-1-2-3", "x\n", "\u{1b}[2J"] {
            assert!(text.parse::<HandoffId>().is_err(), "{text:?}");
            assert!(text.parse::<ConversationId>().is_err(), "{text:?}");
        }
        for text in ["", ".", "..", "../x", "a/b", "-x", "x\n"] {
            assert!(text.parse::<Channel>().is_err(), "{text:?}");
            assert!(text.parse::<SessionName>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_directory_gives_a_name_by_the_grammar() {
        for (dir, name) in [
            ("proj", "proj"),
            ("My Proj", "my-proj"),
            ("", "session"),
            (".hidden", "hidden"),
            ("日本", "session"),
            ("Übungen", "ubungen"),
        ] {
            let made = SessionName::for_directory(dir);
            assert_eq!(made.as_str(), name);
            made.as_str().parse::<SessionName>().unwrap();
        }
        let long = SessionName::for_directory(&"x".repeat(90));
        assert_eq!(SessionName::for_title(&"x".repeat(90)), Some(long.clone()));
        assert_eq!(long.numbered(12).as_str().len(), 48);
    }

    #[test]
    fn labels_are_words_and_are_changed_together() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        let mut labels = BTreeSet::new();
        change_labels(&mut labels, &words(&["work", "api", "work"]), &words(&["none"])).unwrap();
        change_labels(&mut labels, &words(&["z"]), &words(&["api"])).unwrap();
        assert_eq!(labels.iter().map(Label::as_str).collect::<Vec<_>>(), ["work", "z"]);
        for bad in ["", "+x", "-x", "a b", "A", "a/b", &"x".repeat(33)] {
            assert!(change_labels(&mut labels, &words(&[bad]), &[]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_title_gives_a_name_by_the_grammar_or_none() {
        for (title, name) in [
            ("rocket", Some("rocket")),
            ("My work", Some("my-work")),
            ("  Fix: the parser (2nd try)!  ", Some("fix-the-parser-2nd-try")),
            ("a/b\n../c", Some("a-b-..-c")),
            ("../etc", Some("etc")),
            ("v2.1_rc", Some("v2.1_rc")),
            ("--detached", Some("detached")),
            ("\u{dc}ber die B\u{fc}cher", Some("uber-die-bucher")),
            ("U\u{308}ber Stra\u{df}e \u{141}\u{f3}d\u{17a}", Some("uber-strasse-lodz")),
            ("caf\u{e9} \u{65e5}\u{672c} 3", Some("cafe-3")),
            ("\u{65e5}\u{672c}", None),
            (" ", None),
            ("", None),
        ] {
            let made = SessionName::for_title(title);
            assert_eq!(made.as_ref().map(SessionName::as_str), name, "{title:?}");
            assert!(made.is_none_or(|name| name.as_str().parse::<SessionName>().is_ok()));
        }
        let cut = SessionName::for_title(&format!("{} end", "x".repeat(47))).unwrap();
        assert_eq!(cut.as_str(), "x".repeat(47));
    }

    #[test]
    fn names_are_in_the_order_in_which_people_count() {
        let huge = format!("a{}", "9".repeat(40));
        let wanted = [
            "1", "2", "10", "a", "a-2", "a-10", "a.1", "a1", "a01", "a1-2", "a2", "a10", &huge, "a_1", "ab",
            "b",
        ];
        let mut names: Vec<SessionName> = wanted.iter().rev().map(|name| name.parse().unwrap()).collect();
        names.sort();
        let names: Vec<&str> = names.iter().map(SessionName::as_str).collect();
        // `a01` is equal to `a1` by number, and comes before it by its bytes.
        let mut wanted = wanted.to_vec();
        wanted.swap(7, 8);
        assert_eq!(names, wanted);
    }
}
