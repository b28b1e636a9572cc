//! Claude's settings, as far as a supervisor must know them: what in them runs code, and one `--settings` out of two.
//!
//! What it does: makes a [`CodeDigest`] of the parts that run code, so that the state at launch can be compared with the
//! state at a restart and each changed key be named (DESIGN 6.5: else a tool could plant a hook and have the restart run
//! it); merges a person's `--settings` with hopty's, because only the last one counts; reads `disableAllHooks`.
//!
//! What it does not do: it reads no file, follows no path, and runs nothing. Permissions are not part of the digest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Bytes of one settings file that are taken apart; a larger one counts as its raw text.
const MAX_TEXT: usize = 8 << 20;

/// What a file is to Claude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role<'a> {
    /// `settings.json` or `settings.local.json` of any scope, or a `--settings` text.
    Settings,
    /// `.mcp.json`, or an `--mcp-config`: all of it starts servers.
    Mcp,
    /// `.claude.json`, Claude's own state: its servers, and those of this project directory.
    State {
        /// The working directory, as the file writes it.
        project: &'a str,
    },
}

/// One file that takes part. A file that does not exist is simply not given.
#[derive(Clone, Copy, Debug)]
pub struct SettingsFile<'a> {
    /// The name under which a change in it is reported.
    pub name: &'a str,
    /// What it is.
    pub role: Role<'a>,
    /// Its text.
    pub text: &'a str,
}

/// The state of everything in the settings that runs code: for each key a SHA-256, never the value (it may be a secret).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CodeDigest(BTreeMap<String, String>);

/// What happened to a key between two digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It has another value.
    Changed,
    /// It is gone.
    Removed,
}

impl Change {
    /// The word for a sentence.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Changed => "changed",
            Change::Removed => "removed",
        }
    }
}

impl CodeDigest {
    /// The digest of `files`.
    #[must_use]
    pub fn of(files: &[SettingsFile<'_>]) -> Self {
        let mut keys = BTreeMap::new();
        for file in files {
            let mut add = |key: &str, value: &str| keys.insert(format!("{}: {key}", file.name), sha(value));
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
                }
                // Claude writes its own notes about plugins and marketplaces in here at every start; only servers count.
                (Role::State { project }, Value::Object(parts)) => {
                    let here = parts.get("projects").and_then(|all| all.get(project)).and_then(|of| of.get("mcpServers"));
                    for (prefix, servers) in [("", parts.get("mcpServers")), ("project ", here)] {
                        if let Some(servers) = servers.filter(|servers| !empty(servers)) {
                            add(&format!("{prefix}mcpServers"), &canonical(servers));
                        }
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

    /// One SHA-256 over all keys, in lower-case hexadecimal.
    #[must_use]
    pub fn hash(&self) -> String {
        let lines: String = self.0.iter().map(|(key, value)| format!("{key:?} {value}\n")).collect();
        sha(&lines)
    }

    /// What differs in `later`: `FILE: KEY`, in order, each with what happened to it. Empty when nothing that runs code changed.
    #[must_use]
    pub fn changes(&self, later: &CodeDigest) -> Vec<(String, Change)> {
        let mut changes = Vec::new();
        for (key, value) in &self.0 {
            match later.0.get(key) {
                None => changes.push((key.clone(), Change::Removed)),
                Some(now) if now != value => changes.push((key.clone(), Change::Changed)),
                Some(_) => {}
            }
        }
        let added = later.0.keys().filter(|key| !self.0.contains_key(*key));
        changes.extend(added.map(|key| (key.clone(), Change::Added)));
        changes.sort_by(|a, b| a.0.cmp(&b.0));
        changes
    }
}

/// Whether a settings key makes Claude run something or changes what is run. Named keys first; then whole families by
/// their name, so that a key of a newer Claude is seen too.
fn runs_code(key: &str) -> bool {
    const NAMED: [&str; 5] = ["env", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "fileSuggestion"];
    const FAMILIES: [&str; 8] = ["hook", "statusline", "helper", "mcp", "plugin", "marketplace", "command", "lspserver"];
    let lower = key.to_ascii_lowercase();
    NAMED.contains(&key) || FAMILIES.iter().any(|family| lower.contains(family))
}

/// Whether a value says the same as its absence.
fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(parts) => parts.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn parse(text: &str) -> Option<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MAX_TEXT { None } else { serde_json::from_str(text).ok() }
}

/// JSON with sorted keys and no spaces. Depth is bounded by the parser (128).
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(parts) => {
            let sorted: BTreeMap<&String, &Value> = parts.iter().collect();
            let pairs: Vec<String> =
                sorted.into_iter().map(|(k, v)| format!("{}:{}", Value::from(k.as_str()), canonical(v))).collect();
            format!("{{{}}}", pairs.join(","))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

fn sha(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the value of `--settings` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// The settings themselves.
    Inline,
    /// The path of a file.
    File,
}

/// Tells JSON from a path as Claude does: JSON begins with `{` and ends with `}`.
#[must_use]
pub fn given(value: &str) -> Given {
    let value = value.trim();
    if value.starts_with('{') && value.ends_with('}') { Given::Inline } else { Given::File }
}

/// A person's `--settings` cannot be merged; it is passed on as it is, and Claude says what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the text of --settings is not a JSON object")]
pub struct NotAnObject;

/// One `--settings` out of the person's own text and hopty's additions. The person's keys win. `env` and `hooks` are
/// joined inside: a variable of the person's stays, hooks of both run. With nothing to add the own text comes back unchanged.
///
/// # Errors
/// [`NotAnObject`] when `own` is no JSON object.
pub fn merge(own: Option<&str>, additions: &Map<String, Value>) -> Result<Option<String>, NotAnObject> {
    let Some(own) = own else {
        return Ok((!additions.is_empty()).then(|| Value::Object(additions.clone()).to_string()));
    };
    if additions.is_empty() {
        return Ok(Some(own.to_owned()));
    }
    let Some(Value::Object(mut merged)) = parse(own) else { return Err(NotAnObject) };
    for (key, value) in additions {
        match (key.as_str(), merged.get_mut(key), value) {
            ("env", Some(Value::Object(own)), Value::Object(ours)) => {
                for (name, value) in ours {
                    own.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
            ("hooks", Some(Value::Object(own)), Value::Object(ours)) => join_hooks(own, ours),
            (_, Some(_), _) => {}
            (_, None, value) => {
                merged.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(Some(Value::Object(merged).to_string()))
}

fn join_hooks(own: &mut Map<String, Value>, ours: &Map<String, Value>) {
    for (event, list) in ours {
        match (own.get_mut(event), list) {
            (Some(Value::Array(own)), Value::Array(ours)) => own.extend(ours.iter().cloned()),
            (Some(_), _) => {}
            (None, list) => {
                own.insert(event.clone(), list.clone());
            }
        }
    }
}

/// Whether `disableAllHooks` is in force. `texts` from the weakest to the strongest: user, project, local, `--settings`;
/// the last one that says anything counts (measured: `--settings {"disableAllHooks":false}` brings all hooks back).
#[must_use]
pub fn hooks_disabled<'a>(texts: impl IntoIterator<Item = &'a str>) -> bool {
    let said = texts.into_iter().filter_map(|text| parse(text)?.get("disableAllHooks")?.as_bool());
    said.last().unwrap_or(false)
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
        settings(before).changes(&settings(after)).into_iter().map(|(key, what)| format!("{key} {}", what.word())).collect()
    }

    #[test]
    fn what_runs_code_is_seen() {
        for key in [
            "hooks",
            "env",
            "statusLine",
            "apiKeyHelper",
            "awsAuthRefresh",
            "awsCredentialExport",
            "gcpAuthRefresh",
            "otelHeadersHelper",
            "enabledPlugins",
            "extraKnownMarketplaces",
            "mcpServers",
            "enableAllProjectMcpServers",
            "enabledMcpjsonServers",
            "disableAllHooks",
            "subagentStatusLine",
            "somethingNewHelper",
        ] {
            let after = json!({ key: { "a": 1 } }).to_string();
            assert_eq!(changes("{}", &after), [format!("settings.json: {key} added")]);
        }
    }

    #[test]
    fn what_runs_nothing_is_not() {
        let after =
            json!({ "model": "opus", "theme": "dark", "permissions": { "allow": ["Bash"] }, "cleanupPeriodDays": 3 }).to_string();
        assert!(changes("{}", &after).is_empty());
    }

    #[test]
    fn order_and_spaces_do_not_count_and_values_do() {
        let a = r#"{"model":"x","hooks":{"Stop":[{"a":1,"b":2}],"PreToolUse":[]}}"#;
        let b = "{ \"hooks\": {\"PreToolUse\": [],\n \"Stop\": [{\"b\":2, \"a\":1}]} }";
        assert_eq!(settings(a), settings(b));
        assert_eq!(settings(a).hash(), settings(b).hash());
        assert_eq!(changes(a, &b.replace("\"b\":2", "\"b\":3")), ["settings.json: hooks changed"]);
        assert_eq!(changes(a, "{}"), ["settings.json: hooks removed"]);
        assert_ne!(settings(a).hash(), settings("{}").hash());
    }

    #[test]
    fn an_empty_value_is_as_good_as_none() {
        assert!(changes("{}", r#"{"hooks":{},"env":{},"mcpServers":null,"enabledMcpjsonServers":[]}"#).is_empty());
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
        let of = |text: &str| CodeDigest::of(&[SettingsFile { name: ".claude.json", role: Role::State { project: "/w" }, text }]);
        assert_eq!(of(&state("{}", 1)), of(&state("{}", 2)), "counters and other projects do not hold a restart");
        let later = of(&state(r#"{"x":{"command":"sh"}}"#, 1));
        assert_eq!(of(&state("{}", 1)).changes(&later), [(".claude.json: project mcpServers".to_owned(), Change::Added)]);
        let mcp = |text: &str| CodeDigest::of(&[SettingsFile { name: ".mcp.json", role: Role::Mcp, text }]);
        assert_eq!(mcp("{}").changes(&mcp(r#"{"mcpServers":{"x":{}}}"#)).len(), 1);
    }

    #[test]
    fn a_digest_holds_no_secret_and_survives_json() {
        let digest = settings(r#"{"env":{"TOKEN":"sk-secret"}}"#);
        let text = serde_json::to_string(&digest).unwrap();
        assert!(!text.contains("secret"));
        assert_eq!(serde_json::from_str::<CodeDigest>(&text).unwrap(), digest);
    }

    fn additions() -> Map<String, Value> {
        let ours = json!({ "env": { "A": "ours", "B": "ours" }, "statusLine": { "type": "command", "command": "hopty statusline" },
                           "hooks": { "Stop": [1], "PreCompact": [1] } });
        ours.as_object().unwrap().clone()
    }

    fn merged(own: &str) -> Value {
        serde_json::from_str(&merge(Some(own), &additions()).unwrap().unwrap()).unwrap()
    }

    #[test]
    fn the_persons_settings_win() {
        let own = r#"{"model":"opus","env":{"A":"own"},"statusLine":{"command":"mine"},"hooks":{"Stop":[9]}}"#;
        let all = merged(own);
        assert_eq!(all["model"], "opus");
        assert_eq!(all["env"], json!({ "A": "own", "B": "ours" }));
        assert_eq!(all["statusLine"], json!({ "command": "mine" }), "never a mixture of two commands");
        assert_eq!(all["hooks"], json!({ "Stop": [9, 1], "PreCompact": [1] }));
        assert_eq!(merged(r#"{"env":null,"hooks":false}"#)["env"], Value::Null);
    }

    #[test]
    fn nothing_to_add_changes_nothing() {
        assert_eq!(merge(None, &Map::new()), Ok(None));
        assert_eq!(merge(Some("{ \"a\" : 1 }"), &Map::new()), Ok(Some("{ \"a\" : 1 }".to_owned())));
        assert_eq!(merge(Some("/no/json"), &Map::new()), Ok(Some("/no/json".to_owned())));
        assert!(merge(None, &additions()).unwrap().unwrap().contains("hopty statusline"));
        assert_eq!(merge(Some("[]"), &additions()), Err(NotAnObject));
        assert_eq!(merge(Some("{"), &additions()), Err(NotAnObject));
    }

    #[test]
    fn inline_or_file() {
        assert_eq!(given(" {\"a\":1}\n"), Given::Inline);
        assert_eq!(given("/x/settings.json"), Given::File);
        assert_eq!(given("{odd"), Given::File);
    }

    #[test]
    fn the_strongest_word_on_hooks_counts() {
        assert!(!hooks_disabled([]));
        assert!(hooks_disabled([r#"{"disableAllHooks":true}"#, "{}", "broken"]));
        assert!(!hooks_disabled([r#"{"disableAllHooks":true}"#, r#"{"disableAllHooks":false}"#]));
        assert!(!hooks_disabled([r#"{"disableAllHooks":"true"}"#]));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[\\[\\]{}:,\"a-z0-9 \\\\]{0,80}") {
            let digest = settings(&text);
            prop_assert!(digest.changes(&digest).is_empty());
            let _ = merge(Some(&text), &additions());
        }
    }
}
