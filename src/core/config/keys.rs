//! The table of keys: for each key of `config.toml` its values, and whether a project's file may set it.
//!
//! One row per key; checking, `config show`, completions and the "nearest key" of an error all use this
//! table.

use std::fmt;

use toml::Value;

use super::duration::DurationMs;
use super::schema::{
    AfterError, AskDefault, AutoArchive, GitPolicy, Layout, NotifyEvent, NotifyTerminal, OnHangup, Profile,
    Reap, RestartMode, SizePolicy, SummaryMode,
};
use super::units::{CellSize, PrefixKey, QuietHours};

/// The values a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// `true` or `false`.
    Switch,
    /// A whole number from the first to the second, both included.
    Count(u64, u64),
    /// A duration from the first to the second in milliseconds, both included.
    Time(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// A path that is absolute or begins with `~/`, or empty; at most 4096 bytes and no control characters.
    Path,
    /// A list of names of environment variables, at most 64.
    Variables,
    /// A list of names of dialogs, at most 64, never `permission`.
    Dialogs,
    /// A list of names of sessions, at most 64, in which `*` matches any text.
    Sessions,
    /// `80x24`.
    Size,
    /// `ctrl-x`, or empty.
    Prefix,
    /// A shell command, or empty; at most 4096 bytes and no control characters.
    Command,
    /// `22:00-07:30`, or empty.
    Hours,
    /// `{ percent, tokens, kb }`.
    Level,
}

/// What a project's `.hopty.toml` may do with a key. The file comes with a clone: it may never set what runs
/// a command, widens a permission, types, or makes unrequested requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectMay {
    /// Nothing: only the user's own layers may set it.
    NotSet,
    /// Set it to any value.
    Set,
    /// Set it only to one of these words.
    SetOnly(&'static [&'static str]),
    /// Set it to one of these words, which are in order of strictness, but never to a laxer one than the
    /// user's.
    Tighten(&'static [&'static str]),
    /// Set it to a level that no conversation starts above, or to never.
    SetAbove(Floor),
}

/// The lowest level that a project's file may set: a lower one would hand over conversations that have just
/// started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// In percent of the window.
    pub percent: u32,
    /// In tokens.
    pub tokens: i64,
    /// Size of the transcript in KiB.
    pub kb: i64,
}

impl Floor {
    /// The floor of every level.
    pub const LEVEL: Floor = Floor { percent: 40, tokens: 60_000, kb: 1_000 };

    /// Whether every part of a level is at least as high as the floor.
    #[must_use]
    pub fn admits(self, level: &Value) -> bool {
        let Value::Table(parts) = level else { return false };
        parts.iter().all(|(name, value)| match (name.as_str(), value) {
            ("percent", Value::Integer(n)) => *n >= i64::from(self.percent),
            ("percent", Value::Float(n)) => *n >= f64::from(self.percent),
            ("tokens", Value::Integer(n)) => *n >= self.tokens,
            ("kb", Value::Integer(n)) => *n >= self.kb,
            // The check of the level itself reports a wrong type.
            _ => true,
        })
    }
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "percent from {}, tokens from {}, kb from {}, or never", self.percent, self.tokens, self.kb)
    }
}

/// One key of the configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfigKey {
    /// The table that contains it.
    pub section: &'static str,
    pub name: &'static str,
    pub kind: ValueKind,
    pub project: ProjectMay,
}

const S: u64 = 1_000;
const M: u64 = 60 * S;
const H: u64 = 60 * M;
/// Thirty days, the longest duration of any key.
const LONG: u64 = 720 * H;

const fn own(section: &'static str, name: &'static str, kind: ValueKind) -> ConfigKey {
    ConfigKey { section, name, kind, project: ProjectMay::NotSet }
}

const fn shared(
    section: &'static str,
    name: &'static str,
    kind: ValueKind,
    project: ProjectMay,
) -> ConfigKey {
    ConfigKey { section, name, kind, project }
}

/// Every key, in the order in which `hopty config` and docs/CONFIG.md show them.
pub const KEYS: &[ConfigKey] = &[
    own("program", "claude", ValueKind::Path),
    own("program", "update_env", ValueKind::Variables),
    own("terminal", "prefix", ValueKind::Prefix),
    own("terminal", "on_hangup", ValueKind::Word(OnHangup::WORDS)),
    own("terminal", "size", ValueKind::Word(SizePolicy::WORDS)),
    own("terminal", "detached_size", ValueKind::Size),
    own("terminal", "segment", ValueKind::Switch),
    own("terminal", "offer_attach", ValueKind::Switch),
    own("terminal", "scrollback_lines", ValueKind::Count(0, 100_000)),
    shared(
        "context",
        "profile",
        ValueKind::Word(Profile::WORDS),
        ProjectMay::SetOnly(&["default", "s0", "s1", "s2", "s3", "s4"]),
    ),
    own("context", "window", ValueKind::Count(0, 100_000_000)),
    shared("context", "ask", ValueKind::Level, ProjectMay::SetAbove(Floor::LEVEL)),
    shared("context", "warn", ValueKind::Level, ProjectMay::SetAbove(Floor::LEVEL)),
    shared("context", "handoff", ValueKind::Level, ProjectMay::SetAbove(Floor::LEVEL)),
    shared("context", "hard", ValueKind::Level, ProjectMay::SetAbove(Floor::LEVEL)),
    shared("restart", "mode", ValueKind::Word(RestartMode::WORDS), ProjectMay::Tighten(&["ask", "manual"])),
    own("restart", "ask_timeout", ValueKind::Time(S, 24 * H)),
    own("restart", "ask_default", ValueKind::Word(AskDefault::WORDS)),
    own("restart", "snooze", ValueKind::Time(S, 24 * H)),
    own("restart", "max_restarts", ValueKind::Count(0, 10_000)),
    own("restart", "window", ValueKind::Time(S, LONG)),
    own("restart", "turn_wait", ValueKind::Time(0, 24 * H)),
    own("restart", "work_wait", ValueKind::Time(0, 24 * H)),
    own("restart", "draft_wait", ValueKind::Time(0, 24 * H)),
    own("restart", "wait_for_person", ValueKind::Time(0, 24 * H)),
    own("restart", "grace", ValueKind::Time(100, 10 * M)),
    own("restart", "young", ValueKind::Time(0, 10 * M)),
    own("restart", "reap", ValueKind::Word(Reap::WORDS)),
    own("delivery", "ready_timeout", ValueKind::Time(100, H)),
    own("delivery", "answer_dialogs", ValueKind::Dialogs),
    own("handoff", "expiry", ValueKind::Time(S, LONG)),
    own("handoff", "frame_chars", ValueKind::Count(1_000, 10_000)),
    shared("handoff", "decisions", ValueKind::Count(0, 50), ProjectMay::Set),
    shared("handoff", "gotchas", ValueKind::Count(0, 10), ProjectMay::Set),
    shared("handoff", "diff", ValueKind::Switch, ProjectMay::Set),
    shared("handoff", "git", ValueKind::Word(GitPolicy::WORDS), ProjectMay::Tighten(&["tell", "hold"])),
    own("handoff", "git_timeout", ValueKind::Time(10, M)),
    shared("handoff", "summary", ValueKind::Word(SummaryMode::WORDS), ProjectMay::Tighten(&["off"])),
    own("handoff", "views", ValueKind::Words(Layout::WORDS)),
    own("handoff", "copy_transcript", ValueKind::Switch),
    own("handoff", "keep_records", ValueKind::Count(1, 10_000)),
    own("handoff", "keep_days", ValueKind::Count(1, 3_650)),
    own("recovery", "resume_after_crash", ValueKind::Switch),
    own("recovery", "quick_deaths", ValueKind::Count(1, 100)),
    own("recovery", "after_limit", ValueKind::Switch),
    own("recovery", "limit_wait", ValueKind::Time(0, 24 * H)),
    own("recovery", "after_error", ValueKind::Word(AfterError::WORDS)),
    own("recovery", "retry_pause", ValueKind::Time(100, 24 * H)),
    own("hooks", "inject", ValueKind::Switch),
    own("hooks", "commands", ValueKind::Switch),
    own("hooks", "ack", ValueKind::Time(10, 5 * S)),
    own("hooks", "hold", ValueKind::Time(100, 85 * S)),
    own("compat", "signal_files", ValueKind::Switch),
    own("compat", "session_log", ValueKind::Switch),
    own("journal", "max_bytes", ValueKind::Count(65_536, 1_073_741_824)),
    own("journal", "files", ValueKind::Count(1, 100)),
    own("journal", "keep_ended_days", ValueKind::Count(0, 3_650)),
    own("record", "auto", ValueKind::Switch),
    own("record", "max_bytes", ValueKind::Count(131_072, 1_099_511_627_776)),
    own("record", "keep_days", ValueKind::Count(0, 3_650)),
    own("archive", "auto", ValueKind::Word(AutoArchive::WORDS)),
    own("archive", "max_mb", ValueKind::Count(0, 1_048_576)),
    own("control", "allow_from", ValueKind::Sessions),
    own("notify", "command", ValueKind::Command),
    own("notify", "terminal", ValueKind::Words(NotifyTerminal::WORDS)),
    own("notify", "desktop", ValueKind::Switch),
    own("notify", "after", ValueKind::Time(0, 24 * H)),
    own("notify", "events", ValueKind::Words(NotifyEvent::WORDS)),
    own("notify", "quiet_hours", ValueKind::Hours),
];

impl ConfigKey {
    /// The row of `section.name`.
    pub fn find(section: &str, name: &str) -> Option<&'static ConfigKey> {
        KEYS.iter().find(|key| key.section == section && key.name == name)
    }

    /// `section.name`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The variable that sets it: `HOPTY_SECTION_KEY`.
    pub fn variable(&self) -> String {
        format!("HOPTY_{}_{}", self.section, self.name).to_ascii_uppercase()
    }
}

impl ValueKind {
    /// Checks `value`.
    ///
    /// The error is a sentence without the key's name that says what is allowed.
    pub fn check(self, value: &Value) -> Result<(), String> {
        let good = match (self, value) {
            (ValueKind::Switch, Value::Boolean(_)) => true,
            (ValueKind::Count(low, high), Value::Integer(n)) => {
                u64::try_from(*n).is_ok_and(|n| (low..=high).contains(&n))
            }
            (ValueKind::Time(low, high), Value::String(text)) => {
                let span: DurationMs = text.parse().map_err(|e: super::duration::BadSpan| e.to_string())?;
                (low..=high).contains(&span.ms())
            }
            (ValueKind::Word(words), Value::String(text)) => words.contains(&text.as_str()),
            (ValueKind::Words(words), Value::Array(list)) => {
                list.iter().all(|v| v.as_str().is_some_and(|t| words.contains(&t)))
            }
            (ValueKind::Path | ValueKind::Command, Value::String(text)) => {
                let leads = text.is_empty() || text.starts_with('/') || text.starts_with("~/");
                let fits = self == ValueKind::Command || leads;
                fits && text.len() <= 4096 && !text.chars().any(char::is_control)
            }
            (ValueKind::Variables, Value::Array(list)) => {
                names(list, |b| b.is_ascii_alphanumeric() || b == b'_')
            }
            (ValueKind::Dialogs, Value::Array(list)) => {
                names(list, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
                    && !list.iter().any(|v| v.as_str().is_some_and(|t| t.eq_ignore_ascii_case("permission")))
            }
            (ValueKind::Sessions, Value::Array(list)) => {
                let sign = |b: u8| {
                    b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-' | b'*')
                };
                let pattern = |text: &str| (1..=64).contains(&text.len()) && text.bytes().all(sign);
                list.len() <= 64 && list.iter().all(|v| v.as_str().is_some_and(pattern))
            }
            (ValueKind::Size, Value::String(text)) => {
                return text.parse::<CellSize>().map(drop).map_err(|e| e.to_string());
            }
            (ValueKind::Prefix, Value::String(text)) => {
                return text.parse::<PrefixKey>().map(drop).map_err(|e| e.to_string());
            }
            (ValueKind::Hours, Value::String(text)) => {
                return text.parse::<QuietHours>().map(drop).map_err(|e| e.to_string());
            }
            (ValueKind::Level, Value::Table(parts)) => {
                parts.iter().all(|(name, value)| level_part(name, value))
            }
            _ => false,
        };
        if good { Ok(()) } else { Err(self.allowed()) }
    }

    /// Reads the text of an environment variable or a flag as a value of this kind; without checking it.
    ///
    /// The error is a sentence that says what is allowed.
    pub fn read(self, text: &str) -> Result<Value, String> {
        let value = match self {
            ValueKind::Switch => match text {
                "true" | "1" => Value::Boolean(true),
                "false" | "0" => Value::Boolean(false),
                _ => return Err(self.allowed()),
            },
            ValueKind::Count(..) => Value::Integer(text.parse().map_err(|_| self.allowed())?),
            ValueKind::Time(..)
            | ValueKind::Word(_)
            | ValueKind::Path
            | ValueKind::Size
            | ValueKind::Prefix
            | ValueKind::Command
            | ValueKind::Hours => Value::String(text.to_owned()),
            ValueKind::Words(_) | ValueKind::Variables | ValueKind::Dialogs | ValueKind::Sessions
                if !text.starts_with('[') =>
            {
                let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
                Value::Array(words.map(|word| Value::String(word.to_owned())).collect())
            }
            ValueKind::Words(_)
            | ValueKind::Variables
            | ValueKind::Dialogs
            | ValueKind::Sessions
            | ValueKind::Level => text.parse().map_err(|_| self.allowed())?,
        };
        Ok(value)
    }

    /// The allowed values in words, for an error and for help.
    #[must_use]
    pub fn allowed(self) -> String {
        let quoted = |words: &[&str]| words.iter().map(|w| format!("{w:?}")).collect::<Vec<_>>().join(", ");
        match self {
            ValueKind::Switch => "must be true or false".to_owned(),
            ValueKind::Count(low, high) => format!("must be a whole number from {low} to {high}"),
            ValueKind::Time(low, high) => format!(
                "must be a duration from {} to {}",
                DurationMs::from_ms(low),
                DurationMs::from_ms(high)
            ),
            ValueKind::Word(words) => format!("must be one of {}", quoted(words)),
            ValueKind::Words(words) => format!("must be a list of any of {}", quoted(words)),
            ValueKind::Path => "must be an absolute path or one below `~/`, of at most 4096 bytes without \
                                control characters, or \"\""
                .to_owned(),
            ValueKind::Variables => "must be a list of at most 64 names of environment variables".to_owned(),
            ValueKind::Dialogs => "must be a list of at most 64 names of dialogs, and never \
                                   \"permission\""
                .to_owned(),
            ValueKind::Sessions => "must be a list of at most 64 names of sessions, in which `*` stands for \
                                    any text"
                .to_owned(),
            ValueKind::Size => "must be a size such as \"80x24\"".to_owned(),
            ValueKind::Prefix => "must be a key such as \"ctrl-a\", or \"\"".to_owned(),
            ValueKind::Command => {
                "must be a shell command of at most 4096 bytes without control characters, \
                                   or \"\""
                    .to_owned()
            }
            ValueKind::Hours => "must be hours such as \"22:00-07:30\", or \"\"".to_owned(),
            ValueKind::Level => {
                "must be a table of percent (above 0, at most 100), tokens and kb (whole numbers from 1), or \
                 {} for never"
                    .to_owned()
            }
        }
    }
}

fn names(list: &[Value], allowed: impl Fn(u8) -> bool) -> bool {
    let name = |text: &str| {
        (1..=64).contains(&text.len()) && text.bytes().all(&allowed) && !text.as_bytes()[0].is_ascii_digit()
    };
    list.len() <= 64 && list.iter().all(|v| v.as_str().is_some_and(name))
}

fn level_part(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("percent", Value::Integer(n)) => (1..=100).contains(n),
        ("percent", Value::Float(n)) => *n > 0.0 && *n <= 100.0,
        ("tokens" | "kb", Value::Integer(n)) => *n >= 1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::Config;

    fn defaults() -> toml::Table {
        toml::Table::try_from(Config::default()).unwrap()
    }

    #[test]
    fn the_table_has_every_field_and_every_default_passes_its_own_check() {
        let defaults = defaults();
        let mut fields = 0;
        for (section, table) in &defaults {
            for (name, value) in table.as_table().unwrap() {
                let key =
                    ConfigKey::find(section, name).unwrap_or_else(|| panic!("{section}.{name} has no row"));
                key.kind.check(value).unwrap();
                fields += 1;
            }
        }
        assert_eq!(fields, KEYS.len());
    }

    #[test]
    fn every_word_that_passes_the_check_is_read_by_the_types() {
        for key in KEYS {
            let words: Vec<Value> = match key.kind {
                ValueKind::Word(words) => words.iter().map(|w| Value::String((*w).to_owned())).collect(),
                ValueKind::Words(words) => {
                    words.iter().map(|w| Value::Array(vec![Value::String((*w).to_owned())])).collect()
                }
                ValueKind::Count(low, high) => {
                    [low, high].map(|n| Value::Integer(i64::try_from(n).unwrap())).to_vec()
                }
                ValueKind::Time(low, high) => {
                    [low, high].map(|n| Value::String(DurationMs::from_ms(n).to_string())).to_vec()
                }
                _ => continue,
            };
            for value in words {
                key.kind.check(&value).unwrap();
                let mut table = defaults();
                table[key.section].as_table_mut().unwrap().insert(key.name.to_owned(), value.clone());
                table.try_into::<Config>().unwrap_or_else(|e| panic!("{} = {value}: {e}", key.path()));
            }
        }
    }

    #[test]
    fn ranges_include_their_bounds() {
        let frame = ConfigKey::find("handoff", "frame_chars").unwrap().kind;
        assert!(frame.check(&Value::Integer(10_000)).is_ok());
        assert_eq!(
            frame.check(&Value::Integer(10_001)).unwrap_err(),
            "must be a whole number from 1000 to 10000"
        );
        assert!(frame.check(&Value::Integer(-1)).is_err());
        let hold = ConfigKey::find("hooks", "hold").unwrap().kind;
        assert_eq!(
            hold.check(&Value::String("2h".into())).unwrap_err(),
            "must be a duration from 100ms to 85s"
        );
    }

    #[test]
    fn a_path_does_not_depend_on_the_working_directory() {
        for (path, taken) in
            [("", true), ("/usr/bin/claude", true), ("~/bin/claude", true)].into_iter().chain(
                ["claude", "claude --model opus", "./claude", "~", "~root/claude"].map(|path| (path, false)),
            )
        {
            let value = ValueKind::Path.read(path).unwrap();
            assert_eq!(ValueKind::Path.check(&value).is_ok(), taken, "{path}");
        }
    }

    #[test]
    fn a_permission_dialog_is_never_answered() {
        for text in ["permission", "Permission", "trust,PERMISSION"] {
            let value = ValueKind::Dialogs.read(text).unwrap();
            assert!(ValueKind::Dialogs.check(&value).is_err(), "{text}");
        }
        assert!(ValueKind::Dialogs.check(&ValueKind::Dialogs.read("trust, upsell").unwrap()).is_ok());
    }

    #[test]
    fn levels() {
        for text in ["{}", "{ percent = 60 }", "{ percent = 12.5, tokens = 1000, kb = 1 }"] {
            assert!(ValueKind::Level.check(&ValueKind::Level.read(text).unwrap()).is_ok(), "{text}");
        }
        for text in [
            "{ percent = 0 }", "{ percent = 101 }", "{ percent = nan }", "{ tokens = -1 }", "{ mb = 1 }",
            "60", "[]",
        ] {
            let checked = ValueKind::Level.read(text).and_then(|value| ValueKind::Level.check(&value));
            assert!(checked.is_err(), "{text}");
        }
    }
}
