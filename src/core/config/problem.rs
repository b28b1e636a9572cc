//! What is wrong with one piece of the configuration, in words that can be shown, and the nearest known key.
//!
//! Text out of the files goes through `{:?}` and is cut, so that a hostile project file writes nothing to a
//! terminal.

use std::fmt;

use serde::{Deserialize, Serialize};
use strsim::levenshtein;
use thiserror::Error;

use super::keys::KEYS;
use crate::core::visible::is_hidden;

/// Where a piece of configuration stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigSource {
    /// A file, with the line (from 1) where it is known.
    File {
        /// The path as it was given.
        path: String,
        /// The line, from 1.
        line: Option<u32>,
    },
    /// An environment variable.
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

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProblemKind {
    /// The file is no TOML; all of it is left out.
    #[error("not valid TOML, so hopty ignores the whole file: {0}")]
    Syntax(String),
    /// The file is larger than a configuration can be; all of it is left out.
    #[error("the file is larger than {0} bytes, so hopty ignores it")]
    TooLarge(usize),
    /// The file is there and cannot be read, or is none; all of it is left out.
    #[error("the file cannot be read: {0}")]
    Unreadable(String),
    /// No such key.
    #[error("unknown key {key}; the nearest known key is {nearest}")]
    UnknownKey {
        /// The key, quoted.
        key: String,
        /// The known key that is spelled most like it.
        nearest: String,
    },
    /// A key that only the user may set stands in a project's file.
    #[error("a project's file may not set {0}; set it in your own config.toml")]
    NotForProjects(String),
    /// A value that only the user may choose stands in a project's file.
    #[error("a project's file may set {key} only to {allowed}")]
    NotThisForProjects {
        /// The key.
        key: String,
        /// The words it may be set to.
        allowed: String,
    },
    /// A value of the wrong type or out of its range.
    #[error("{key}: {allowed}")]
    BadValue {
        /// The key.
        key: String,
        /// What is allowed.
        allowed: String,
    },
}

/// One piece of configuration that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{source_text}: {kind}", source_text = self.at)]
pub struct Problem {
    /// Where it stands.
    pub at: ConfigSource,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// How many of each kind there are, such as `1 unknown key, 2 wrong values`.
#[must_use]
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

/// A key of an earlier version that stands in the configuration. It is ignored, and no mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{source_text}: {key} is ignored: {instead}; delete the line", source_text = self.at)]
pub struct Retired {
    /// Where it stands.
    pub at: ConfigSource,
    /// The key.
    pub key: &'static str,
    /// What happens instead.
    pub instead: &'static str,
}

/// Keys of earlier versions, and what happens instead.
const RETIRED: [(&str, &str); 9] = [
    ("context.rearm", "a level can be crossed again 5 points below it"),
    ("delivery.confirm_timeout", "hopty waits 30 seconds for the proof of submission"),
    ("delivery.enter_every", "hopty presses Enter every 200 ms"),
    ("delivery.enter_max", "hopty presses Enter at most 20 times"),
    ("delivery.method", "hopty always types the continuation prompt, with proof"),
    ("handoff.goal_chars", "a handoff gives at most 4,000 characters to the current request"),
    ("handoff.summary_timeout", "hopty waits 90 seconds for Claude's own words"),
    ("recovery.quick_death", "a run that ends within a minute counts as a quick death"),
    ("restart.quiet", "without hooks a turn is over when the screen has not changed for 2 seconds"),
];

/// What became of a key of an earlier version: its name, and what happens instead.
pub(super) fn retired(path: &str) -> Option<(&'static str, &'static str)> {
    RETIRED.into_iter().find(|(key, _)| *key == path)
}

/// What is wrong with a key that is not known.
pub(super) fn unknown(path: &str) -> ProblemKind {
    ProblemKind::UnknownKey { key: quoted(path), nearest: nearest(path) }
}

/// `text` in quotes with nothing in it that a terminal would act on, cut to 80 characters.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", text.chars().take(80).collect::<String>())
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// The known key that is spelled most like `path` (`section.name`, or less).
pub(super) fn nearest(path: &str) -> String {
    let wanted: String = path.chars().take(80).collect();
    let name = wanted.rsplit('.').next().unwrap_or(&wanted).to_owned();
    let score = |key: &super::keys::ConfigKey| {
        // A right name in the wrong section is nearer than any misspelling.
        let own = if key.name == name { 1 } else { 2 + levenshtein(key.name, &name) };
        own.min(levenshtein(&key.path(), &wanted) * 2)
    };
    let best = KEYS.iter().min_by_key(|key| (score(key), levenshtein(&key.path(), &wanted)));
    best.map(super::keys::ConfigKey::path).unwrap_or_default()
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
            assert_eq!(nearest(given), near, "{given}");
        }
    }

    #[test]
    fn a_hostile_key_writes_nothing_to_the_terminal() {
        let shown = quoted("\u{1b}]0;x\u{7}\n\u{9b}2J");
        assert!(!shown.chars().any(char::is_control), "{shown}");
        assert!(quoted(&"x".repeat(500)).len() < 100);
    }
}
