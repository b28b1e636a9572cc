//! Which parts of Claude's settings run code, and which of them changed.
//!
//! A [`CodeDigest`] covers the parts that run code, so that each changed key can be named: otherwise a tool
//! could plant a hook, and a restart would run it. [`code_texts`] returns the texts that may name scripts. No
//! file is read, no path is followed, and nothing is run. Permission rules are left out, since each "always
//! allow" adds one; the mode in which Claude starts is included.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::core::hex::hex;
use crate::core::text::safe_text::{cut_chars, safe_line};

/// The largest settings file that is parsed, in bytes. A larger one counts as its raw text.
const MAX_TEXT: usize = 8 << 20;
/// The longest key that is printed whole.
const MAX_KEY: usize = 80;

/// The role of a file in Claude's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role<'a> {
    /// `settings.json` or `settings.local.json` of any scope, or a `--settings` text.
    Settings,
    /// `.mcp.json`, an `--mcp-config`, or a plugin's file or hooks: all of it starts programs.
    Mcp,
    /// `.claude.json`, Claude's own state: its servers, or those of a project.
    State {
        /// The directories whose records count for the project, its own first, as the file spells them. Empty
        /// for what counts everywhere.
        projects: &'a [String],
    },
}

/// One file that takes part. A file that does not exist is left out.
#[derive(Clone, Copy, Debug)]
pub struct SettingsFile<'a> {
    /// The name under which a change is reported.
    pub name: &'a str,
    pub role: Role<'a>,
    pub text: &'a str,
}

/// The state of everything in the settings that runs code: the SHA-256 of each key's value, because the value
/// may be a secret, or nothing if it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CodeDigest(BTreeMap<String, String>);

/// A difference between two digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyChange {
    Added,
    Changed,
    Removed,
}

impl KeyChange {
    pub fn word(self) -> &'static str {
        match self {
            KeyChange::Added => "added",
            KeyChange::Changed => "changed",
            KeyChange::Removed => "removed",
        }
    }
}

impl CodeDigest {
    #[must_use]
    pub fn of(files: &[SettingsFile<'_>]) -> Self {
        let mut keys = BTreeMap::new();
        for file in files {
            let mut add = |key: &str, value: &str| {
                keys.insert(format!("{}: {}", file.name, display_key(key)), sha(value))
            };
            let Some(value) = parse(file.text) else {
                if !file.text.trim().is_empty() {
                    add("(not valid JSON)", file.text);
                }
                continue;
            };
            match (file.role, &value) {
                (Role::Settings, Value::Object(parts)) => {
                    for (key, value) in parts.iter().filter(|(key, value)| runs_code(key) && !empty(value)) {
                        add(key, &canonical(value));
                    }
                    if let Some(mode) = parts
                        .get("permissions")
                        .and_then(|of| of.get("defaultMode"))
                        .filter(|mode| !empty(mode))
                    {
                        add("permissions.defaultMode", &canonical(mode));
                    }
                }
                (Role::State { .. }, Value::Object(_)) => {
                    for (key, value) in state_parts(file.role, &value) {
                        add(&key, &canonical(value));
                    }
                }
                _ if empty(&value) => {}
                (Role::Mcp, Value::Object(parts)) => {
                    for (key, value) in parts.iter().filter(|(_, value)| !empty(value)) {
                        add(key, &canonical(value));
                    }
                }
                _ => {
                    add("(not an object)", &canonical(&value));
                }
            }
        }
        CodeDigest(keys)
    }

    /// Adds a file that is compared as a whole: a script, or an unreadable file that is known only by
    /// `content`.
    pub fn add(&mut self, name: &str, content: &[u8]) {
        self.0.insert(display_key(name), sha_of(content));
    }

    /// Adds a name whose content is not fully known: it counts as changed in every comparison, also with
    /// itself.
    pub fn add_unknown(&mut self, name: &str) {
        self.0.insert(display_key(name), String::new());
    }

    /// Adds all keys of another digest.
    pub fn join(&mut self, other: CodeDigest) {
        self.0.extend(other.0);
    }

    /// The differences to `later`, in order: `FILE: KEY` with what happened to it. Empty if nothing that runs
    /// code changed.
    pub fn changes(&self, later: &CodeDigest) -> Vec<(String, KeyChange)> {
        let mut changes = Vec::new();
        for (key, value) in &self.0 {
            match later.0.get(key) {
                None => changes.push((key.clone(), KeyChange::Removed)),
                Some(now) if now != value || now.is_empty() => {
                    changes.push((key.clone(), KeyChange::Changed))
                }
                Some(_) => {}
            }
        }
        let added = later.0.keys().filter(|key| !self.0.contains_key(*key));
        changes.extend(added.map(|key| (key.clone(), KeyChange::Added)));
        changes.sort_by(|a, b| a.0.cmp(&b.0));
        changes
    }
}

/// A key for people to read. A key that is long or unprintable is cut and identified by its digest.
fn display_key(key: &str) -> String {
    let plain = safe_line(key);
    if plain == key && key.len() <= MAX_KEY {
        plain
    } else {
        format!("{} ({})", cut_chars(&plain, MAX_KEY), &sha(key)[..8])
    }
}

/// Whether a settings key makes Claude run something, or changes what it runs. Known keys come first, then
/// families of names, so that a key of a newer Claude counts, too.
fn runs_code(key: &str) -> bool {
    const NAMED: [&str; 7] = [
        "env",
        "awsAuthRefresh",
        "awsCredentialExport",
        "gcpAuthRefresh",
        "fileSuggestion",
        // The agent that leads the conversation has hooks of its own.
        "agent",
        "additionalDirectoryConfigRoots",
    ];
    const FAMILIES: [&str; 11] = [
        "hook", "statusline", "helper", "mcp", "plugin", "marketplace", "command", "lspserver", "wrapper",
        "sandbox", "shell",
    ];
    let lower = key.to_ascii_lowercase();
    NAMED.contains(&key) || FAMILIES.iter().any(|family| lower.contains(family))
}

/// Whether a value means the same as a missing key.
fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(parts) => parts.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

pub(in crate::core) fn parse(text: &str) -> Option<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MAX_TEXT { None } else { serde_json::from_str(text).ok() }
}

/// JSON with sorted keys and no spaces. The parser bounds the depth (128).
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(parts) => {
            let sorted: BTreeMap<&String, &Value> = parts.iter().collect();
            let pairs: Vec<String> = sorted
                .into_iter()
                .map(|(k, v)| format!("{}:{}", Value::from(k.as_str()), canonical(v)))
                .collect();
            format!("{{{}}}", pairs.join(","))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

fn sha(text: &str) -> String {
    sha_of(text.as_bytes())
}

fn sha_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The parts of Claude's own state that count: servers, approved servers, and variables. Claude also writes
/// notes about plugins and costs there at every start.
fn state_parts<'a>(role: Role<'_>, value: &'a Value) -> Vec<(String, &'a Value)> {
    const HERE: [&str; 6] = [
        "mcpServers", "enabledMcpServers", "disabledMcpServers", "enabledMcpjsonServers",
        "disabledMcpjsonServers", "enableAllProjectMcpServers",
    ];
    let Role::State { projects } = role else { return Vec::new() };
    let everywhere: &[&str] = if projects.is_empty() { &["mcpServers", "env"] } else { &[] };
    let top = everywhere.iter().filter_map(|key| Some(((*key).to_owned(), value.get(*key)?)));
    let of_projects = projects.iter().enumerate().flat_map(|(number, project)| {
        let record = value.get("projects").and_then(|all| all.get(project));
        let named = move |key: &str| {
            if number == 0 { format!("project {key}") } else { format!("{key} of {project}") }
        };
        HERE.into_iter().filter_map(move |key| Some((named(key), record?.get(key)?)))
    });
    top.chain(of_projects).filter(|(_, value)| !empty(value)).collect()
}

/// Every text in the parts of a file that run code: commands, their arguments, paths. Empty if the file is no
/// JSON.
pub fn code_texts(role: Role<'_>, text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    match (role, parse(text)) {
        (Role::Settings, Some(Value::Object(parts))) => {
            parts.iter().filter(|(key, _)| runs_code(key)).for_each(|(_, value)| collect(value, &mut texts));
        }
        (Role::State { .. }, Some(value)) => {
            state_parts(role, &value).iter().for_each(|(_, value)| collect(value, &mut texts))
        }
        (Role::Mcp, Some(value)) => collect(&value, &mut texts),
        _ => {}
    }
    texts
}

/// The parser bounds the depth (128).
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| collect(value, texts)),
        Value::Object(parts) => parts.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn settings(text: &str) -> CodeDigest {
        CodeDigest::of(&[SettingsFile { name: "settings.json", role: Role::Settings, text }])
    }

    fn changes(before: &str, after: &str) -> Vec<String> {
        settings(before)
            .changes(&settings(after))
            .into_iter()
            .map(|(key, what)| format!("{key} {}", what.word()))
            .collect()
    }

    #[test]
    fn keys_that_run_code_are_in_the_digest() {
        for key in [
            "hooks", "env", "statusLine", "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport",
            "gcpAuthRefresh", "otelHeadersHelper", "enabledPlugins", "extraKnownMarketplaces", "mcpServers",
            "enableAllProjectMcpServers", "enabledMcpjsonServers", "disableAllHooks", "subagentStatusLine",
            "somethingNewHelper",
        ] {
            let after = json!({ key: { "a": 1 } }).to_string();
            assert_eq!(changes("{}", &after), [format!("settings.json: {key} added")]);
        }
    }

    #[test]
    fn what_runs_nothing_is_not() {
        let after = json!({ "model": "opus", "theme": "dark", "permissions": { "allow": ["Bash"] },
                "cleanupPeriodDays": 3 })
        .to_string();
        assert!(changes("{}", &after).is_empty());
    }

    #[test]
    fn order_and_spaces_do_not_count_and_values_do() {
        let a = r#"{"model":"x","hooks":{"Stop":[{"a":1,"b":2}],"PreToolUse":[]}}"#;
        let b = "{ \"hooks\": {\"PreToolUse\": [],\n \"Stop\": [{\"b\":2, \"a\":1}]} }";
        assert_eq!(settings(a), settings(b));
        assert_eq!(changes(a, &b.replace("\"b\":2", "\"b\":3")), ["settings.json: hooks changed"]);
        assert_eq!(changes(a, "{}"), ["settings.json: hooks removed"]);
    }

    #[test]
    fn an_empty_value_is_as_good_as_none() {
        assert!(
            changes("{}", r#"{"hooks":{},"env":{},"mcpServers":null,"enabledMcpjsonServers":[]}"#).is_empty()
        );
        assert!(changes("", "{}").is_empty());
    }

    #[test]
    fn broken_json_counts_as_its_text() {
        assert_eq!(changes("{}", "{hooks"), ["settings.json: (not valid JSON) added"]);
        assert_eq!(changes("{hooks", "{hookz"), ["settings.json: (not valid JSON) changed"]);
        assert!(changes("{hooks", "{hooks").is_empty());
        assert_eq!(changes("{}", &"[".repeat(100_000)).len(), 1);
        assert_eq!(changes("{}", "[1]"), ["settings.json: (not an object) added"]);
    }

    #[test]
    fn servers_of_a_project_are_seen_where_they_stand() {
        let state = |servers: &str, starts: u32| {
            format!(
                r#"{{"numStartups":{starts},"projects":{{"/w":{{"mcpServers":{servers},"lastCost":{starts}}},"/other":{{"mcpServers":{{"o":{starts}}}}}}}}}"#
            )
        };
        let of = |text: &str| {
            CodeDigest::of(&[SettingsFile {
                name: ".claude.json",
                role: Role::State { projects: &["/w".to_owned()] },
                text,
            }])
        };
        assert_eq!(
            of(&state("{}", 1)),
            of(&state("{}", 2)),
            "counters and other projects do not hold a restart"
        );
        let later = of(&state(r#"{"x":{"command":"sh"}}"#, 1));
        assert_eq!(
            of(&state("{}", 1)).changes(&later),
            [(".claude.json: project mcpServers".to_owned(), KeyChange::Added)]
        );
        let mcp = |text: &str| CodeDigest::of(&[SettingsFile { name: ".mcp.json", role: Role::Mcp, text }]);
        assert_eq!(mcp("{}").changes(&mcp(r#"{"mcpServers":{"x":{}}}"#)).len(), 1);
    }

    #[test]
    fn withdrawing_the_refusal_of_a_server_is_a_change() {
        let of = |refused: &str| {
            let text = format!(
                r#"{{"projects":{{"/w":{{"enableAllProjectMcpServers":true,"disabledMcpjsonServers":{refused}}}}}}}"#
            );
            CodeDigest::of(&[SettingsFile {
                name: "s",
                role: Role::State { projects: &["/w".to_owned()] },
                text: &text,
            }])
        };
        assert_eq!(
            of(r#"["x"]"#).changes(&of("[]")),
            [("s: project disabledMcpjsonServers".to_owned(), KeyChange::Removed)]
        );
        assert_eq!(of("[]"), of("null"), "Claude writes an empty list by itself");
    }

    #[test]
    fn an_unknown_file_equals_nothing_not_even_itself() {
        let mut digest = settings("{}");
        digest.add_unknown("agents: (too many files)");
        let changed = [("agents: (too many files)".to_owned(), KeyChange::Changed)];
        assert_eq!(digest.changes(&digest.clone()), changed);
        assert_eq!(settings("{}").changes(&digest).len(), 1);
    }

    #[test]
    fn a_digest_holds_no_secret_and_survives_json() {
        let digest = settings(r#"{"env":{"TOKEN":"sk-secret"}}"#);
        let text = serde_json::to_string(&digest).unwrap();
        assert!(!text.contains("secret"));
        assert_eq!(serde_json::from_str::<CodeDigest>(&text).unwrap(), digest);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[\\[\\]{}:,\"a-z0-9 \\\\]{0,80}") {
            let digest = settings(&text);
            prop_assert!(digest.changes(&digest).is_empty());
            let _ = code_texts(Role::Settings, &text);
        }
    }
}
