//! `hopty config`: the configuration that is in force here, key by key, with the source of each value.
//!
//! `core::config` defines the keys and merges the layers; this module prints them and writes a template.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt;

use clap::Subcommand;
use serde_json::{Value, json};
use toml::Table;
use unicode_width::UnicodeWidthStr;

use super::control::paths;
use super::error::{VerbError, note, say, say_wrapped, stdout, visible};
use super::exit_codes::{FAILED, INTERNAL, USAGE};
use super::read_config;
use crate::core::config::{Config, ConfigKey, KEYS, Resolved, ValueOrigin, counts};
use crate::core::text::word_wrap::wrap_words;
use crate::fs::paths::Paths;
use crate::sys::private_dir;
use crate::tty::raw;

/// The column of the comment on a value, where the value is short enough.
const REMARK: usize = 36;
/// In a terminal with fewer columns, a comment follows two spaces after its value.
const NARROW: usize = 60;
/// A comment follows two spaces after a value that is longer than this, in columns.
const LONG: usize = 80;
/// The longest line of explanation in a template, without its `#`, in characters.
const TEMPLATE_LINE_MAX: usize = 76;

#[derive(Debug, Subcommand)]
pub(super) enum ConfigVerb {
    /// Show every key with its value here and the source of the value
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the configuration; print each mistake with its file and line
    Check,
    /// Print the path of your own file
    Path,
    /// Write a template of that file, with every key explained and commented out
    Init {
        /// Print it instead
        #[arg(long)]
        print: bool,
    },
}

pub(super) fn verb(verb: &ConfigVerb) -> Result<u8, VerbError> {
    let paths = paths()?;
    match verb {
        ConfigVerb::Show { json } => show(&paths, *json),
        ConfigVerb::Check => check(&paths),
        ConfigVerb::Path => {
            say(format_args!("{}", visible(&paths.config_file().to_string_lossy())))?;
            Ok(0)
        }
        ConfigVerb::Init { print: true } => {
            stdout()?.write_all(sample()?.as_bytes())?;
            Ok(0)
        }
        ConfigVerb::Init { print: false } => init(&paths),
    }
}

fn show(paths: &Paths, as_json: bool) -> Result<u8, VerbError> {
    let resolved = read_config::resolved(Some(paths), &[]);
    note_ignored(&resolved);
    let values = table(&resolved.config)?;
    if as_json {
        let defaults = table(&Config::default())?;
        let keys: Vec<Value> = KEYS.iter().map(|key| object(key, &values, &defaults, &resolved)).collect();
        say(format_args!("{}", json!(keys)))?;
    } else {
        let mut section = "";
        let cols = raw::columns(std::io::stdout());
        for key in KEYS {
            if key.section != section {
                let before = if section.is_empty() { "" } else { "\n" };
                say(format_args!("{before}[{}]", key.section))?;
                section = key.section;
            }
            let line = format!("{} = {}", key.name, value(key, &values));
            say(format_args!("{}", remarked(&line, &from(key, &resolved), cols)))?;
        }
    }
    read_config::all_right(&resolved.problems).map(|()| 0)
}

/// `line` followed by `remark`. If that is wider than the terminal, `remark` is on a line of its own above
/// it, as in a file.
fn remarked(line: &str, remark: &str, cols: Option<usize>) -> String {
    let is_narrow = cols.is_some_and(|cols| cols < NARROW);
    let column = if is_narrow || line.width() > LONG { 0 } else { REMARK };
    let gap = column.saturating_sub(line.width()).max(2);
    if cols.is_some_and(|cols| line.width() + gap + 2 + remark.width() > cols) {
        return format!("# {remark}\n{line}");
    }
    format!("{line}{}# {remark}", " ".repeat(gap))
}

fn check(paths: &Paths) -> Result<u8, VerbError> {
    let resolved = read_config::resolved(Some(paths), &[]);
    note_ignored(&resolved);
    if resolved.problems.is_empty() {
        say_wrapped(format_args!("the configuration is valid: {}", how_many_set(&resolved)))?;
        return Ok(0);
    }
    for problem in &resolved.problems {
        say_wrapped(format_args!("{}", visible(&problem.to_string())))?;
    }
    Err(VerbError::new(USAGE, format!("{}, ignored", counts(&resolved.problems))).hint(read_config::HINT))
}

fn note_ignored(resolved: &Resolved) {
    for line in read_config::ignored(resolved) {
        note(format_args!("hopty: {line}"));
    }
}

/// How many keys differ from their defaults.
pub(super) fn how_many_set(resolved: &Resolved) -> String {
    let by_name = |key: &&ConfigKey| {
        !matches!(
            origin(key, resolved),
            ValueOrigin::Default | ValueOrigin::Profile(_) | ValueOrigin::ProfileFile(_)
        )
    };
    match KEYS.iter().filter(by_name).count() {
        0 => "every key has its default".to_owned(),
        1 => "1 key is set".to_owned(),
        n => format!("{n} keys are set"),
    }
}

/// Writes a template, which changes nothing: every key is commented out.
fn init(paths: &Paths) -> Result<u8, VerbError> {
    let path = paths.config_file();
    let failed = |e: std::io::Error| {
        VerbError::new(INTERNAL, e.to_string())
            .about(path.display())
            .hint("check the permissions of its directory, or set XDG_CONFIG_HOME")
    };
    private_dir::create_all(&paths.config).map_err(failed)?;
    let mut file = match File::options().write(true).create_new(true).mode(0o600).open(&path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            return Err(VerbError::new(FAILED, "the file exists already; hopty does not change it")
                .about(path.display())
                .hint("`hopty config init --print` shows what would be in it"));
        }
        opened => opened.map_err(failed)?,
    };
    file.write_all(sample()?.as_bytes()).map_err(failed)?;
    say(format_args!("{}", visible(&path.to_string_lossy())))?;
    Ok(0)
}

/// The page that explains each key.
const PAGE: &str = include_str!("../../docs/CONFIG.md");

/// What a key does, without the page's Markdown.
fn meaning(key: &ConfigKey) -> String {
    let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{}` |", key.path())));
    let cell = row.and_then(|row| row.trim_end_matches(" |").rsplit(" | ").next()).unwrap_or_default();
    // A link becomes its text.
    let mut out = String::new();
    let mut rest = cell;
    while let Some((before, behind)) = rest.split_once('[') {
        let link = behind.split_once("](").and_then(|(text, more)| Some((text, more.split_once(')')?.1)));
        out.push_str(before);
        match link {
            Some((text, more)) if !text.contains(']') => {
                out.push_str(text);
                rest = more;
            }
            _ => {
                out.push('[');
                rest = behind;
            }
        }
    }
    (out + rest).replace("\\|", "|")
}

/// Every key with its default, its meaning and its type, all commented out.
fn sample() -> Result<String, VerbError> {
    let defaults = table(&Config::default())?;
    let mut out = String::from(
        "# hopty's configuration. Every key is here with its default: remove the `#`\n\
         # before a key to change it. `hopty config` shows what is in force, and\n\
         # `hopty config check` finds mistakes.\n",
    );
    let mut section = "";
    for key in KEYS {
        if key.section != section {
            section = key.section;
            let _ = write!(out, "\n[{section}]\n\n");
        }
        let text = meaning(key).replace('\n', " ");
        for line in wrap_words(&text, 0, TEMPLATE_LINE_MAX).lines() {
            let _ = writeln!(out, "# {line}");
        }
        let allowed = key.kind.allowed();
        let takes = format!("Takes {}.", allowed.trim_start_matches("must be "));
        for line in wrap_words(&takes, 2, TEMPLATE_LINE_MAX).lines() {
            let _ = writeln!(out, "# {line}");
        }
        let _ = writeln!(out, "#{} = {}\n", key.name, value(key, &defaults));
    }
    Ok(out)
}

fn table(config: &Config) -> Result<Table, VerbError> {
    Table::try_from(config)
        .map_err(|e| VerbError::new(INTERNAL, e.to_string()).hint("`hopty config check` checks the files"))
}

fn value(key: &ConfigKey, values: &Table) -> String {
    values.get(key.section).and_then(|section| section.get(key.name)).map(inline).unwrap_or_default()
}

/// A value on one line, as it is written after `key =`.
fn inline(value: &toml::Value) -> String {
    match value {
        toml::Value::Table(table) if table.is_empty() => "{}".to_owned(),
        toml::Value::Table(table) => {
            let parts: Vec<String> =
                table.iter().map(|(name, value)| format!("{name} = {}", inline(value))).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        toml::Value::Float(n) if n.fract() == 0.0 => format!("{n:.0}"),
        other => other.to_string(),
    }
}

fn origin<'a>(key: &ConfigKey, resolved: &'a Resolved) -> &'a ValueOrigin {
    resolved.origins.get(&key.path()).unwrap_or(&ValueOrigin::Default)
}

fn from(key: &ConfigKey, resolved: &Resolved) -> String {
    match origin(key, resolved) {
        ValueOrigin::Default => "default".to_owned(),
        ValueOrigin::Profile(name) => format!("profile {name}"),
        ValueOrigin::ProfileFile(at)
        | ValueOrigin::User(at)
        | ValueOrigin::Project(at)
        | ValueOrigin::Environment(at)
        | ValueOrigin::Flag(at) => visible(&at.to_string()),
    }
}

fn object(key: &ConfigKey, values: &Table, defaults: &Table, resolved: &Resolved) -> Value {
    let of = |table: &Table| {
        table.get(key.section).and_then(|section| section.get(key.name)).map(|value| json!(value))
    };
    let (from, at) = match origin(key, resolved) {
        ValueOrigin::Default => ("default", None),
        ValueOrigin::Profile(name) => ("profile", Some(name.clone())),
        ValueOrigin::ProfileFile(at) => ("profile", Some(at.to_string())),
        ValueOrigin::User(at) => ("user", Some(at.to_string())),
        ValueOrigin::Project(at) => ("project", Some(at.to_string())),
        ValueOrigin::Environment(at) => ("environment", Some(at.to_string())),
        ValueOrigin::Flag(at) => ("flag", Some(at.to_string())),
    };
    json!({"key": key.path(), "value": of(values), "default": of(defaults), "from": from, "at": at})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::{File, Sources, resolve};

    fn read(text: &str) -> Resolved {
        resolve(&Sources { user: Some(File { path: "config.toml", text }), ..Sources::default() })
    }

    #[test]
    fn a_remark_never_breaks_a_line_of_the_terminal() {
        let long = "ask = { percent = 60 }";
        assert_eq!(remarked(long, "default", None), format!("{long:<36}# default"));
        assert_eq!(remarked(long, "default", Some(80)), format!("{long:<36}# default"));
        assert_eq!(remarked(long, "default", Some(40)), "ask = { percent = 60 }  # default");
        assert_eq!(remarked(long, "default", Some(30)), "# default\nask = { percent = 60 }");
    }

    #[test]
    fn the_file_to_begin_with_changes_nothing_and_each_of_its_remarks_can_be_a_key() {
        let sample = sample().unwrap();
        assert_eq!(read(&sample), read(""), "as it is written");
        let is_key = |line: &&str| !line.starts_with("# ");
        let keys: String = sample
            .lines()
            .filter(is_key)
            .map(|line| line.trim_start_matches('#').to_owned() + "\n")
            .collect();
        let all = read(&keys);
        assert!(all.problems.is_empty(), "{:?}", all.problems);
        assert_eq!(all.config, Config::default());
        assert!(KEYS.iter().all(|key| matches!(origin(key, &all), ValueOrigin::User(_))));
        for key in KEYS {
            let text = meaning(key);
            assert!(text.len() > 10 && !text.contains("]("), "{}: {text:?}", key.path());
        }
        assert!(sample.contains("# Path of Claude."), "{sample}");
    }
}
