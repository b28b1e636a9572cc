//! Merges the person's `--settings` with hopty's, and reads `disableAllHooks`.
//!
//! Only the last `--settings` counts, so there must be one. No file is read and nothing is run.

use serde_json::{Map, Value};
use thiserror::Error;

use super::settings_code::parse;

/// The kind of value that `--settings` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsArgument {
    /// The settings themselves.
    Inline,
    /// The path of a file.
    File,
}

impl SettingsArgument {
    /// Tells JSON from a path as Claude does: JSON begins with `{` and ends with `}`.
    pub fn of(value: &str) -> Self {
        let value = value.trim();
        if value.starts_with('{') && value.ends_with('}') {
            SettingsArgument::Inline
        } else {
            SettingsArgument::File
        }
    }
}

/// The person's `--settings` cannot be merged. It is passed on unchanged, and Claude reports the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the text of --settings is not a JSON object")]
pub struct NotAnObject;

/// The value of one `--settings` with the person's own settings and hopty's additions. The person's keys win.
/// `env` and `hooks` are merged: the person's variables stay, and the hooks of both run. Without additions,
/// `own` is returned unchanged.
///
/// # Errors
/// [`NotAnObject`] if `own` is not a JSON object.
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

/// Whether `disableAllHooks` is in force. `texts` are from the weakest to the strongest: user, project,
/// local, `--settings`. The last one that sets it counts (measured: `--settings {"disableAllHooks":false}`
/// enables all hooks again).
pub fn hooks_disabled<'a>(texts: impl IntoIterator<Item = &'a str>) -> bool {
    let said = texts.into_iter().filter_map(|text| parse(text)?.get("disableAllHooks")?.as_bool());
    said.last().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn additions() -> Map<String, Value> {
        let ours = json!({ "env": { "A": "ours", "B": "ours" }, "statusLine": { "type": "command",
            "command": "hopty statusline" },
                           "hooks": { "Stop": [1], "PreCompact": [1] } });
        ours.as_object().unwrap().clone()
    }

    fn merged(own: &str) -> Value {
        serde_json::from_str(&merge(Some(own), &additions()).unwrap().unwrap()).unwrap()
    }

    #[test]
    fn the_persons_settings_win() {
        let own =
            r#"{"model":"opus","env":{"A":"own"},"statusLine":{"command":"mine"},"hooks":{"Stop":[9]}}"#;
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
        assert_eq!(SettingsArgument::of(" {\"a\":1}\n"), SettingsArgument::Inline);
        assert_eq!(SettingsArgument::of("/x/settings.json"), SettingsArgument::File);
        assert_eq!(SettingsArgument::of("{odd"), SettingsArgument::File);
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
            let _ = merge(Some(&text), &additions());
        }
    }
}
