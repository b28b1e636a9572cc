//! What is wrong with a piece of configuration, in words that can be shown, and the nearest known key.
//!
//! Text from files is escaped with `{:?}` and cut, so that a hostile project file writes nothing to a
//! terminal.

use std::fmt;

use serde::{Deserialize, Serialize};
use strsim::levenshtein;
use thiserror::Error;
use toml::Value;

use super::keys::{ConfigKey, KEYS, ValueKind};
use crate::core::text::nearest_word::nearest_word;
use crate::core::text::safe_text::cut_chars;
use crate::core::text::visible::is_hidden;

/// The location of a piece of configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigSource {
    /// A file, and the line (from 1) if it is known.
    File {
        /// The path as it was given.
        path: String,
        line: Option<u32>,
    },
    Variable(String),
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for ConfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigSource::File { path, line: Some(line) } => write!(f, "{}:{line}", plain(path)),
            ConfigSource::File { path, line: None } => f.write_str(&plain(path)),
            ConfigSource::Variable(name) | ConfigSource::Flag(name) => f.write_str(&plain(name)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProblemKind {
    /// The file is not TOML; all of it is ignored.
    #[error("not valid TOML, so hopty ignores the whole file: {0}")]
    Syntax(String),
    /// The file is too large for a configuration; all of it is ignored.
    #[error("the file is larger than {0} bytes, so hopty ignores it")]
    TooLarge(usize),
    /// The file exists but cannot be read, or is not a file; all of it is ignored.
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
    #[error("unknown key {key}; {}", nearest_words(.nearest.as_deref()))]
    UnknownKey {
        /// The key, quoted.
        key: String,
        /// The known key with the most similar name.
        nearest: Option<String>,
    },
    /// The project's file sets a key that only the user may set.
    #[error("a project's file may not set {0}; set it in your own config.toml")]
    NotForProjects(String),
    /// The project's file sets a value that only the user may choose.
    #[error("a project's file may set {key} only to {allowed}")]
    NotThisForProjects { key: String, allowed: String },
    /// A value of the wrong type or out of its range.
    #[error("{key} = {value}: {allowed}")]
    BadValue {
        key: String,
        /// The value, quoted.
        value: String,
        allowed: String,
    },
}

/// One piece of configuration that was ignored, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{source_text}: {kind}", source_text = self.at)]
pub struct Problem {
    pub at: ConfigSource,
    pub kind: ProblemKind,
}

impl Problem {
    /// What applies instead of an ignored value, to be appended to the message; empty if there was no value,
    /// or if the message says it.
    pub fn in_its_place(&self) -> &'static str {
        match &self.kind {
            ProblemKind::NotThisForProjects { .. } | ProblemKind::BadValue { .. } => "; using the default",
            ProblemKind::Unreadable(_) => "; using the defaults",
            ProblemKind::UnknownKey { .. } | ProblemKind::NotForProjects(_) => "; ignored",
            ProblemKind::Syntax(_) | ProblemKind::TooLarge(_) => "",
        }
    }
}

/// How many of each kind there are, such as `1 unknown key, 2 wrong values`.
pub fn counts(problems: &[Problem]) -> String {
    let word = |kind: &ProblemKind| match kind {
        ProblemKind::Syntax(_) | ProblemKind::TooLarge(_) | ProblemKind::Unreadable(_) => "unreadable file",
        ProblemKind::UnknownKey { .. } => "unknown key",
        ProblemKind::NotForProjects(_) => "forbidden key",
        ProblemKind::NotThisForProjects { .. } | ProblemKind::BadValue { .. } => "wrong value",
    };
    let count = |what| match problems.iter().filter(|problem| word(&problem.kind) == what).count() {
        0 => None,
        1 => Some(format!("1 {what}")),
        n => Some(format!("{n} {what}s")),
    };
    let kinds = ["unreadable file", "unknown key", "forbidden key", "wrong value"];
    kinds.into_iter().filter_map(count).collect::<Vec<_>>().join(", ")
}

/// A key of an earlier version. It is ignored and is no error.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{source_text}: {key} is ignored: {instead}; delete the line", source_text = self.at)]
pub struct Retired {
    pub at: ConfigSource,
    pub key: &'static str,
    pub instead: &'static str,
}

/// Keys of earlier versions, and what happens instead.
const RETIRED: [(&str, &str); 13] = [
    ("archive.before_days", "hopty archives a conversation 10 days before Claude deletes it"),
    (
        "archive.older_than_days",
        "`hopty conversations archive` archives what was not used for 10 days, or for `--older-than DAYS`",
    ),
    ("context.rearm", "a level can be crossed again 5 points below it"),
    ("delivery.confirm_timeout", "hopty waits 30 seconds for the proof of submission"),
    ("delivery.enter_every", "hopty presses Enter every 200 ms"),
    ("delivery.enter_max", "hopty presses Enter at most 20 times"),
    ("delivery.method", "hopty always types the continuation prompt, with proof"),
    ("handoff.frame_decisions", "a brief contains as many decisions as it has room for"),
    ("handoff.goal_chars", "a handoff gives at most 4,000 characters to the current request"),
    ("handoff.summary_timeout", "hopty waits 90 seconds for Claude's own words"),
    ("recovery.quick_death", "a run that ends within a minute counts as a quick death"),
    ("recovery.retries", "hopty retries at most 100 times after an API error"),
    ("restart.quiet", "without hooks a turn is over when the screen has not changed for 2 seconds"),
];

/// A key of an earlier version: its name, and what happens instead.
pub(super) fn retired(path: &str) -> Option<(&'static str, &'static str)> {
    RETIRED.into_iter().find(|(key, _)| *key == path)
}

/// The problem of an unknown key.
pub(super) fn unknown(path: &str) -> ProblemKind {
    ProblemKind::UnknownKey { key: quoted(path), nearest: nearest(path) }
}

/// The problem of a wrong value: the value, what is allowed, and the word that was probably meant.
pub(super) fn bad_value(key: &ConfigKey, value: &Value, allowed: &str) -> ProblemKind {
    let example = match (key.kind, value) {
        (ValueKind::Level, Value::Integer(n @ 1..=100)) => format!(", such as {{ percent = {n} }}"),
        (ValueKind::Level, _) => ", such as { percent = 70 }".to_owned(),
        // This is a valid duration for every key.
        (ValueKind::Time(..), other) if !other.is_str() => ", such as \"5s\"".to_owned(),
        _ => String::new(),
    };
    let meant = match (key.kind, value) {
        (ValueKind::Word(words), Value::String(word)) => near(word, words),
        (ValueKind::Words(words), Value::Array(list)) => {
            let wrong = list.iter().filter_map(Value::as_str).find(|word| !words.contains(word));
            wrong.and_then(|word| near(word, words))
        }
        _ => None,
    };
    let meant = meant.map_or_else(String::new, |word| format!("; did you mean {word:?}?"));
    let value = match value {
        Value::String(text) => quoted(text),
        // On one line, as in a file.
        other => plain(&cut_chars(&other.to_string(), QUOTED)),
    };
    ProblemKind::BadValue { key: key.path(), value, allowed: format!("{allowed}{example}{meant}") }
}

fn near(word: &str, words: &'static [&'static str]) -> Option<&'static str> {
    nearest_word(word, words.iter().copied()).filter(|near| *near != word)
}

/// The most characters that are quoted of a text.
const QUOTED: usize = 80;

/// `text` in quotes without anything that a terminal would interpret, cut to 80 characters.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", text.chars().take(QUOTED).collect::<String>())
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// Suggests the known key that an unknown one may be.
fn nearest_words(nearest: Option<&str>) -> String {
    match nearest {
        Some(key) => format!("the nearest known key is {key}"),
        None => "`hopty config` lists all keys".to_owned(),
    }
}

/// The known key with the most similar name to `path` (`section.name`, or a part of it), if more than half of
/// the name, of the section or of both matches.
pub(super) fn nearest(path: &str) -> Option<String> {
    let wanted: String = path.chars().take(80).collect();
    let name = wanted.rsplit('.').next().unwrap_or(&wanted).to_owned();
    let score = |key: &ConfigKey| {
        // A right name in the wrong section is nearer than any misspelling.
        let own = if key.name == name { 1 } else { 2 + levenshtein(key.name, &name) };
        own.min(levenshtein(&key.path(), &wanted) * 2)
    };
    let best = KEYS.iter().min_by_key(|key| (score(key), levenshtein(&key.path(), &wanted)));
    let is_near = |known: &str, given: &str| 2 * levenshtein(known, given) < given.chars().count();
    let is_like = |key: &&ConfigKey| {
        is_near(key.name, &name) || is_near(key.section, &wanted) || is_near(&key.path(), &wanted)
    };
    best.filter(is_like).map(ConfigKey::path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key() {
        for (given, near) in [
            ("restart.max_restart", "restart.max_restarts"),
            ("delivery.max_restarts", "restart.max_restarts"),
            ("max_restarts", "restart.max_restarts"),
            ("handof.frame_chars", "handoff.frame_chars"),
            ("context.windows", "context.window"),
            ("hooks.inyect", "hooks.inject"),
        ] {
            assert_eq!(nearest(given).as_deref(), Some(near), "{given}");
        }
        assert_eq!((nearest("k1"), nearest("colour.of.the.pier")), (None, None));
    }

    #[test]
    fn a_wrong_value_is_quoted_with_a_suggestion_and_an_example() {
        let told = |section: &str, name: &str, value: &str| {
            let key = ConfigKey::find(section, name).unwrap();
            let value: Value = value.parse().unwrap();
            bad_value(key, &value, &key.kind.check(&value).unwrap_err()).to_string()
        };
        assert_eq!(
            told("restart", "mode", "\"aks\""),
            "restart.mode = \"aks\": must be one of \"auto\", \"ask\", \"manual\"; did you mean \"ask\"?"
        );
        assert!(told("restart", "mode", "\"never\"").ends_with("\"manual\""), "nothing is near");
        assert!(told("notify", "events", "[\"bloked\"]").ends_with("; did you mean \"blocked\"?"));
        let level = told("context", "ask", "71");
        assert!(level.starts_with("context.ask = 71: must be a table of percent"), "{level}");
        assert!(level.ends_with(", such as { percent = 71 }"), "{level}");
        assert!(told("context", "ask", "\"x\"").ends_with(", such as { percent = 70 }"));
        assert!(told("restart", "grace", "5").ends_with(" from 100ms to 10m, such as \"5s\""));
        let hostile =
            told("restart", "mode", "\"\\u001b]0;x\\u0007\"") + &told("restart", "mode", "[\"\\u001b[2J\"]");
        assert!(!hostile.chars().any(char::is_control), "{hostile}");
        assert!(told("restart", "mode", &format!("{:?}", "x".repeat(500))).len() < 200);
        // The example is valid for every key.
        for key in super::super::keys::KEYS {
            if matches!(key.kind, ValueKind::Time(..)) {
                assert!(key.kind.check(&Value::String("5s".to_owned())).is_ok(), "{}", key.path());
            }
        }
    }

    #[test]
    fn a_hostile_key_writes_nothing_to_the_terminal() {
        let shown = quoted("\u{1b}]0;x\u{7}\n\u{9b}2J");
        assert!(!shown.chars().any(char::is_control), "{shown}");
        assert!(quoted(&"x".repeat(500)).len() < 100);
    }
}
