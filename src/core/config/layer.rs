//! Layers: defaults < profile < user file < project file < environment < flags, key by key.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use strsim::levenshtein;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::keys::{ConfigKey, KEYS, ProjectMay};
use super::level::Threshold;
use super::problem::{
    ConfigSource, Problem, ProblemKind, Retired, bad_value, nearest, quoted, retired, unknown,
};
use super::schema::{Config, Profile};

/// The largest configuration file, in bytes; a larger one is ignored as a whole.
pub const CONFIG_FILE_MAX: usize = 1 << 20;
/// The most problems that are kept from one source, which may be hostile.
const MAX_PROBLEMS: usize = 64;

/// Edits between an unknown variable name and the known one that it probably means.
const SLIP: usize = 2;

/// A configuration file that was read.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// The path, for messages.
    pub path: &'a str,
    pub text: &'a str,
}

/// A value from a command-line flag.
#[derive(Clone, Copy, Debug)]
pub struct FlagValue<'a> {
    /// The flag as the person wrote it: `--max-restarts`.
    pub flag: &'a str,
    /// The key it sets: `restart.max_restarts`.
    pub key: &'a str,
    /// Its value, in the form of an environment variable.
    pub value: &'a str,
}

/// Everything that a configuration is made from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// `config.toml` of the user.
    pub user: Option<File<'a>>,
    /// `.hopty.toml` of the project.
    pub project: Option<File<'a>>,
    /// The environment; other names than `HOPTY_SECTION_KEY` are ignored.
    pub env: &'a [(String, String)],
    /// Flags; the last one for a key counts.
    pub flags: &'a [FlagValue<'a>],
    /// The configuration file of the source document whose profile is selected; it has the lowest precedence
    /// of these.
    pub document: Option<File<'a>>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueOrigin {
    Default,
    /// `context.profile`.
    Profile(String),
    /// The configuration file of the selected profile's source document.
    ProfileFile(ConfigSource),
    User(ConfigSource),
    Project(ConfigSource),
    Environment(ConfigSource),
    Flag(ConfigSource),
}

/// A configuration and where its values come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    pub config: Config,
    /// Where the values that are not defaults come from, by `section.name`.
    pub origins: BTreeMap<String, ValueOrigin>,
    /// Pieces that were ignored. If there are any, a verb exits with code 2; the drop-in form prints one line
    /// and continues.
    pub problems: Vec<Problem>,
    /// Keys of earlier versions, which are ignored.
    pub retired: Vec<Retired>,
    /// Files of the project that are ignored because Claude does not trust the directory. Filled by the
    /// caller that reads files.
    pub untrusted: Vec<String>,
}

/// Merges the layers. Never fails: wrong pieces are ignored and reported.
pub fn resolve(sources: &Sources<'_>) -> Resolved {
    let mut layers = Layers::new();
    if let Some(file) = sources.user {
        layers.file(file, ProjectRule::Off);
    }
    if let Some(file) = sources.project {
        layers.file(file, ProjectRule::On);
    }
    for (name, text) in sources.env {
        layers.variable(name, text);
    }
    for flag in sources.flags {
        let at = ConfigSource::Flag(flag.flag.to_owned());
        layers.text(flag.key, flag.value, &at, ValueOrigin::Flag(at.clone()), ProjectRule::Off);
    }
    if let Some(file) = sources.document {
        layers.document(file);
    }
    layers.finish()
}

/// Whether the rule for project files applies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProjectRule {
    On,
    Off,
}

struct Layers {
    merged: Table,
    origins: BTreeMap<String, ValueOrigin>,
    problems: Vec<Problem>,
    retired: Vec<Retired>,
}

impl Layers {
    fn new() -> Self {
        Layers { merged: Table::new(), origins: BTreeMap::new(), problems: Vec::new(), retired: Vec::new() }
    }

    fn report(&mut self, at: &ConfigSource, kind: ProblemKind) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { at: at.clone(), kind });
        }
    }

    /// Reports that `path` is not a key, or is no longer one.
    fn no_key(&mut self, at: &ConfigSource, path: &str) {
        match retired(path) {
            Some((key, instead)) if self.retired.len() < MAX_PROBLEMS => {
                self.retired.push(Retired { at: at.clone(), key, instead })
            }
            Some(_) => {}
            None => self.report(at, unknown(path)),
        }
    }

    fn file(&mut self, file: File<'_>, rule: ProjectRule) {
        let whole = ConfigSource::File { path: file.path.to_owned(), line: None };
        if file.text.len() > CONFIG_FILE_MAX {
            return self.report(&whole, ProblemKind::TooLarge(CONFIG_FILE_MAX));
        }
        let table = match file.text.parse::<Table>() {
            Ok(table) => table,
            Err(error) => {
                let line = error.span().map(|span| line_of(file.text, span.start));
                let at = ConfigSource::File { path: file.path.to_owned(), line };
                return self.report(&at, ProblemKind::Syntax(quoted(error.message())));
            }
        };
        let lines = Lines::of(file.text);
        let before = self.problems.len();
        for (section, value) in table {
            let known = KEYS.iter().any(|key| key.section == section);
            let Value::Table(keys) = value else {
                let at = lines.source(file.path, &section, None);
                let kind = ProblemKind::UnknownKey { key: quoted(&section), nearest: nearest(&section) };
                self.report(&at, kind);
                continue;
            };
            if !known && keys.is_empty() {
                let at = lines.source(file.path, &section, None);
                self.report(
                    &at,
                    ProblemKind::UnknownKey { key: quoted(&section), nearest: nearest(&section) },
                );
            }
            for (name, value) in keys {
                let at = lines.source(file.path, &section, Some(&name));
                self.file_key(&section, &name, value, &at, rule);
            }
        }
        // In the order of the file.
        self.problems[before..].sort_by_key(|problem| match problem.at {
            ConfigSource::File { line, .. } => line,
            ConfigSource::Variable(_) | ConfigSource::Flag(_) => None,
        });
    }

    fn file_key(&mut self, section: &str, name: &str, value: Value, at: &ConfigSource, rule: ProjectRule) {
        let Some(key) = ConfigKey::find(section, name) else {
            return self.no_key(at, &format!("{section}.{name}"));
        };
        if rule == ProjectRule::On
            && let Err(kind) = self.project_may(key, &value)
        {
            return self.report(at, kind);
        }
        let origin = if rule == ProjectRule::On {
            ValueOrigin::Project(at.clone())
        } else {
            ValueOrigin::User(at.clone())
        };
        self.set(key, value, at, origin);
    }

    /// Checks that a file of the project may set `key` to `value`.
    fn project_may(&self, key: &ConfigKey, value: &Value) -> Result<(), ProblemKind> {
        match key.project {
            ProjectMay::NotSet => Err(ProblemKind::NotForProjects(key.path())),
            ProjectMay::SetOnly(words) | ProjectMay::Tighten(words) => {
                let words =
                    if key.project == ProjectMay::Tighten(words) { self.no_laxer(key, words) } else { words };
                if value.as_str().is_some_and(|text| words.contains(&text)) {
                    return Ok(());
                }
                let allowed = words.iter().map(|w| format!("{w:?}")).collect::<Vec<_>>().join(" or ");
                Err(ProblemKind::NotThisForProjects { key: key.path(), allowed })
            }
            ProjectMay::SetAbove(floor) if !floor.admits(value) && value.is_table() => {
                Err(ProblemKind::NotThisForProjects { key: key.path(), allowed: floor.to_string() })
            }
            ProjectMay::Set | ProjectMay::SetAbove(_) => Ok(()),
        }
    }

    /// Those of `words` that are at least as strict as the user's value.
    fn no_laxer(&self, key: &ConfigKey, words: &'static [&'static str]) -> &'static [&'static str] {
        let theirs =
            self.merged.get(key.section).and_then(|section| section.get(key.name)).and_then(Value::as_str);
        let from = theirs.and_then(|theirs| words.iter().position(|word| *word == theirs)).unwrap_or(0);
        &words[from..]
    }

    fn variable(&mut self, name: &str, text: &str) {
        let Some(rest) = name.strip_prefix("HOPTY_") else { return };
        let Some((section, key)) = rest.split_once('_') else { return };
        let section = section.to_ascii_lowercase();
        let (path, at) = (
            format!("{section}.{}", key.to_ascii_lowercase()),
            ConfigSource::Variable(name.chars().take(80).collect()),
        );
        if KEYS.iter().all(|key| key.section != section) {
            // HOPTY_SESSION, HOPTY_SOCKET and the like are hopty's own variables for the child, not
            // configuration. A variable without a section, or with a misspelt one, is still reported.
            let bare = rest.to_ascii_lowercase();
            let path = if KEYS.iter().any(|key| key.name == bare) { bare } else { path };
            let is_near =
                |key: &str| key.len().abs_diff(path.len()) <= SLIP && levenshtein(key, &path) <= SLIP;
            if KEYS.iter().any(|key| key.name == path || is_near(&key.path())) {
                self.report(&at, ProblemKind::UnknownKey { key: quoted(&path), nearest: nearest(&path) });
            }
            return;
        }
        self.text(&path, text, &at, ValueOrigin::Environment(at.clone()), ProjectRule::Off);
    }

    fn text(&mut self, path: &str, text: &str, at: &ConfigSource, origin: ValueOrigin, rule: ProjectRule) {
        let key = path.split_once('.').and_then(|(section, name)| ConfigKey::find(section, name));
        let Some(key) = key else {
            return self.no_key(at, path);
        };
        match key.kind.read(text) {
            Ok(value) => {
                let may = if rule == ProjectRule::On { self.project_may(key, &value) } else { Ok(()) };
                match may {
                    Ok(()) => self.set(key, value, at, origin),
                    Err(kind) => self.report(at, kind),
                }
            }
            Err(allowed) => self.report(at, bad_value(key, &Value::String(text.to_owned()), &allowed)),
        }
    }

    fn set(&mut self, key: &ConfigKey, value: Value, at: &ConfigSource, origin: ValueOrigin) {
        if let Err(allowed) = key.kind.check(&value) {
            return self.report(at, bad_value(key, &value, &allowed));
        }
        let section = self.merged.entry(key.section).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(section) = section {
            section.insert(key.name.to_owned(), value);
            self.origins.insert(key.path(), origin);
        }
    }

    /// Values from the profile's source document that no other layer sets.
    fn document(&mut self, file: File<'_>) {
        let profile = self.merged.get("context").and_then(|context| context.get("profile"));
        let Some(Ok(profile)) = profile.cloned().map(Value::try_into::<Profile>) else { return };
        // Even if the user chose the profile, a file in the project comes with the project.
        let rule = if profile.file_is_of_project() { ProjectRule::On } else { ProjectRule::Off };
        for setting in profile.settings_of_file(file.text) {
            let by_name = self
                .origins
                .get(setting.key)
                .is_some_and(|origin| !matches!(origin, ValueOrigin::ProfileFile(_)));
            if !by_name {
                let at = ConfigSource::File { path: file.path.to_owned(), line: Some(setting.line) };
                self.text(setting.key, &setting.value, &at, ValueOrigin::ProfileFile(at.clone()), rule);
            }
        }
    }

    fn finish(mut self) -> Resolved {
        // Each value passed its own check, so this cannot fail; if it ever does, the defaults are a working
        // configuration. Most people set nothing, and every client runs this.
        let set = !self.merged.is_empty();
        let mut config: Config = if set {
            std::mem::take(&mut self.merged).try_into().unwrap_or_default()
        } else {
            Config::default()
        };
        let profile = config.context.profile;
        if profile != Profile::Default {
            let levels = profile.levels();
            let context = &mut config.context;
            let each: [(&str, &mut Threshold, Threshold); 4] = [
                ("context.ask", &mut context.ask, levels.ask),
                ("context.warn", &mut context.warn, levels.warn),
                ("context.handoff", &mut context.handoff, levels.handoff),
                ("context.hard", &mut context.hard, levels.hard),
            ];
            for (path, level, value) in each {
                if !self.origins.contains_key(path) {
                    *level = value;
                    self.origins.insert(path.to_owned(), ValueOrigin::Profile(profile.word().to_owned()));
                }
            }
            if let Some(mode) = profile.mode()
                && !self.origins.contains_key("restart.mode")
            {
                config.restart.mode = mode;
                self.origins
                    .insert("restart.mode".to_owned(), ValueOrigin::Profile(profile.word().to_owned()));
            }
        }
        Resolved {
            config,
            origins: self.origins,
            problems: self.problems,
            retired: self.retired,
            untrusted: Vec::new(),
        }
    }
}

/// The line of each key, by section and name.
struct Lines(BTreeMap<(String, Option<String>), u32>);

impl Lines {
    fn of(text: &str) -> Self {
        let mut lines = BTreeMap::new();
        let starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let line = |span: Range<usize>| {
            u32::try_from(starts.partition_point(|at| *at < span.start) + 1).unwrap_or(u32::MAX)
        };
        if let Ok(root) = DeTable::parse(text) {
            for (section, value) in root.get_ref() {
                let section_name = section.get_ref().to_string();
                lines.insert((section_name.clone(), None), line(section.span()));
                if let DeValue::Table(keys) = value.get_ref() {
                    for name in keys.keys() {
                        lines.insert(
                            (section_name.clone(), Some(name.get_ref().to_string())),
                            line(name.span()),
                        );
                    }
                }
            }
        }
        Lines(lines)
    }

    fn source(&self, path: &str, section: &str, name: Option<&str>) -> ConfigSource {
        let line = self.0.get(&(section.to_owned(), name.map(str::to_owned))).copied();
        ConfigSource::File { path: path.to_owned(), line }
    }
}

fn line_of(text: &str, offset: usize) -> u32 {
    let newlines = text.bytes().take(offset).filter(|b| *b == b'\n').count();
    u32::try_from(newlines + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "layer_tests.rs"]
mod tests;
