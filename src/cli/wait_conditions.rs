//! The words of `hopty wait`: the session, the conditions, and suggestions for mistakes.

use std::time::Duration;

use regex::{Regex, RegexBuilder};

use super::control::paths;
use super::error::VerbError;
use super::exit_codes::USAGE;
use crate::core::config::DurationMs;
use crate::core::ids::SessionName;
use crate::core::pattern_error::pattern_error;
use crate::core::text::nearest_word::nearest_word;
use crate::ipc::message::WaitFor;

/// The largest compiled pattern, in bytes.
const PATTERN_MAX: usize = 1 << 20;

/// The word before a condition that must not hold.
pub(super) const NOT: &str = "not";
/// The conditions; those with `=` need a value.
pub(super) const WORDS: [&str; 7] = ["idle", "busy", "blocked", "exit", "text=", "quiet=", NOT];
pub(super) const KNOWN: &str = "conditions: idle, busy, blocked, exit, text=REGEX, quiet=TIME, each also \
                                with `not` before it; give the session's name first if several are running";
/// Words of other tools and of hopty's own pages for a condition.
const OTHER_WORDS: [(&str, &str); 16] = [
    ("ready", "idle"),
    ("done", "idle"),
    ("finished", "idle"),
    ("prompt", "idle"),
    ("working", "busy"),
    ("running", "busy"),
    ("active", "busy"),
    ("waiting", "blocked"),
    ("permission", "blocked"),
    ("question", "blocked"),
    ("ended", "exit"),
    ("end", "exit"),
    ("exited", "exit"),
    ("stopped", "exit"),
    ("regex", "text="),
    ("silent", "quiet="),
];

pub(super) struct Condition {
    pub text: String,
    pub negated: bool,
    pub wanted: Wanted,
}

pub(super) enum Wanted {
    State(WaitFor),
    Text(Regex),
    /// The screen has not changed for this long.
    Quiet(Duration),
}

/// Reads the session and the conditions after it.
pub(super) fn read(words: &[String]) -> Result<(Option<&str>, Vec<Condition>), VerbError> {
    let is_condition = |word: &str| {
        word == NOT
            || word.starts_with("not ")
            || word.starts_with("quiet=")
            || word.starts_with("text=")
            || condition_of(word).is_ok()
    };
    let (given, rest) = match words {
        [name, rest @ ..] if !rest.is_empty() && !is_condition(name) => (Some(name.as_str()), rest),
        _ => (None, words),
    };
    let in_order = |failed: VerbError| match reordered(words) {
        Some(right) => {
            failed.hint(format!("give the session first, then the condition: `hopty wait {right}`"))
        }
        None => failed,
    };
    let mut conditions = Vec::new();
    let mut negated = false;
    for word in rest {
        if word == NOT && !negated {
            negated = true;
            continue;
        }
        // A page may quote it as one word.
        let word = match word.strip_prefix("not ").filter(|_| !negated).map(str::trim_start) {
            Some(condition) => {
                negated = true;
                condition
            }
            None => word,
        };
        let wanted = match word.strip_prefix("quiet=") {
            Some(span) => {
                let span: DurationMs = span.parse().map_err(|_| {
                    VerbError::new(USAGE, "not a duration")
                        .about(word)
                        .hint("write it as `quiet=500ms` or `quiet=2s`")
                })?;
                Wanted::Quiet(Duration::from_millis(span.ms()))
            }
            None => match condition_of(word).map_err(in_order)? {
                (_, Some(pattern)) => Wanted::Text(pattern),
                (state, None) => Wanted::State(state),
            },
        };
        let text = if negated { format!("not {word}") } else { word.to_owned() };
        conditions.push(Condition { text, negated, wanted });
        negated = false;
    }
    if negated || conditions.is_empty() {
        return Err(VerbError::new(USAGE, "no condition given").hint(KNOWN));
    }
    Ok((given, conditions))
}

impl Condition {
    /// Whether Claude must be idle.
    pub fn is_idle(&self) -> bool {
        !self.negated && matches!(self.wanted, Wanted::State(WaitFor::Idle))
    }

    /// Whether the end of the session meets it.
    pub fn is_met_by_end(&self) -> bool {
        match self.wanted {
            Wanted::State(WaitFor::Exit) => !self.negated,
            Wanted::State(_) | Wanted::Text(_) => self.negated,
            Wanted::Quiet(_) => false,
        }
    }
}

/// Inverts conditions on texts: they wait until the text is gone.
pub(super) fn invert_texts(conditions: &mut [Condition]) -> Result<(), VerbError> {
    let mut texts = 0;
    for condition in conditions.iter_mut().filter(|one| matches!(one.wanted, Wanted::Text(_)) && !one.negated)
    {
        condition.text = format!("not {}", condition.text);
        condition.negated = true;
        texts += 1;
    }
    if texts == 0 {
        return Err(
            VerbError::new(USAGE, "--gone needs a text").hint("use `hopty wait NAME text=REGEX --gone`")
        );
    }
    Ok(())
}

/// The corrected words if the session follows the condition.
fn reordered(words: &[String]) -> Option<String> {
    let last = words.last()?;
    let name: SessionName = last.parse().ok()?;
    let condition = match words {
        [condition, _] if condition_of(condition).is_ok() => condition,
        [_] => "idle",
        _ => return None,
    };
    paths().ok()?.session(&name).is_dir().then(|| format!("{name} {condition}"))
}

fn condition_of(word: &str) -> Result<(WaitFor, Option<Regex>), VerbError> {
    if let Some(pattern) = word.strip_prefix("text=") {
        if pattern.is_empty() {
            return Err(VerbError::new(USAGE, "an empty pattern matches every screen")
                .about(word)
                .hint("use `hopty wait NAME text=REGEX`"));
        }
        let built = RegexBuilder::new(pattern).multi_line(true).size_limit(PATTERN_MAX).build();
        return built.map(|regex| (WaitFor::Text, Some(regex))).map_err(|e| {
            VerbError::new(USAGE, pattern_error(&e))
                .about(word)
                .hint("escape special characters with `\\`; see `hopty wait --help`")
        });
    }
    let known = [WaitFor::Idle, WaitFor::Busy, WaitFor::Blocked, WaitFor::Exit];
    known
        .into_iter()
        .find(|wanted| wanted.word() == word)
        .map(|wanted| (wanted, None))
        .ok_or_else(|| unknown_condition(word))
}

/// The error for an unknown condition, with the nearest one.
fn unknown_condition(word: &str) -> VerbError {
    let failed = VerbError::new(USAGE, "unknown condition").about(word);
    match nearest_condition(word) {
        Some(meant) => failed.hint(format!("did you mean `{meant}`?")),
        None => failed.hint(KNOWN),
    }
}

/// The condition that a word misspells, ready to type.
fn nearest_condition(word: &str) -> Option<String> {
    let negated = ["not-", "not=", "not:", "no-", "!"].iter().find_map(|sign| word.strip_prefix(sign));
    if let Some(rest) = negated {
        let condition = if WORDS.contains(&rest) { rest.to_owned() } else { nearest_condition(rest)? };
        return Some(format!("{NOT} {condition}"));
    }
    let (key, value) = word.split_once(['=', ':']).unwrap_or((word, ""));
    let lower = key.to_lowercase();
    let known = OTHER_WORDS.iter().find(|(other, _)| *other == lower).map(|(_, known)| *known);
    let near = || {
        let near = nearest_word(&lower, WORDS.map(|name| name.trim_end_matches('=')))?;
        WORDS.into_iter().find(|name| name.trim_end_matches('=') == near)
    };
    let name = known.or_else(near)?;
    Some(match (name, value) {
        ("text=", "") => "text=REGEX".to_owned(),
        ("quiet=", "") => "quiet=500ms".to_owned(),
        ("text=" | "quiet=", value) => format!("{name}{value}"),
        (name, _) => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn words_become_a_session_and_conditions() {
        for (line, name, texts) in [
            ("proj idle blocked exit", Some("proj"), &["idle", "blocked", "exit"][..]),
            ("idle blocked", None, &["idle", "blocked"]),
            ("proj not busy", Some("proj"), &["not busy"]),
            ("proj quiet=500ms not text=Working", Some("proj"), &["quiet=500ms", "not text=Working"]),
        ] {
            let words = words(line);
            let (given, conditions) = read(&words).unwrap();
            assert_eq!(given, name, "{line}");
            assert_eq!(conditions.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), texts, "{line}");
        }
        let quoted = ["proj".to_owned(), "not busy".to_owned()];
        let (given, conditions) = read(&quoted).unwrap();
        assert_eq!(
            (given, conditions[0].text.as_str(), conditions[0].negated),
            (Some("proj"), "not busy", true)
        );
        assert_eq!(read(&quoted[1..]).unwrap().0, None);
        for line in ["proj not", "proj not not busy", "quiet=soon", "proj idle bussy", "proj other idle"] {
            assert!(read(&words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn a_misspelled_condition_is_suggested() {
        for (word, meant) in [
            ("bussy", "busy"),
            ("idel", "idle"),
            ("Idle", "idle"),
            ("block", "blocked"),
            ("exits", "exit"),
            ("done", "idle"),
            ("ended", "exit"),
            ("text", "text=REGEX"),
            ("txt=ok", "text=ok"),
            ("text:a=b", "text=a=b"),
            ("quite=2s", "quiet=2s"),
            ("quiet", "quiet=500ms"),
            ("quiet:1s", "quiet=1s"),
            ("!busy", "not busy"),
            ("not-bussy", "not busy"),
        ] {
            assert_eq!(nearest_condition(word).as_deref(), Some(meant), "{word}");
        }
        for word in ["tired", "", "xyz", "!", "=", "rocket", "a"] {
            assert_eq!(nearest_condition(word), None, "{word}");
        }
    }

    #[test]
    fn every_other_word_is_for_a_condition() {
        assert!(OTHER_WORDS.iter().all(|(other, known)| WORDS.contains(known) && !WORDS.contains(other)));
    }
}
