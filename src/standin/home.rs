//! A home directory and an environment in which Claude Code starts without a question: for tests, the demo
//! and the stand-in agent alike.
//!
//! The keys are those that were measured to skip first-run setup, the trust question, the API key question,
//! the bypass warning and the renderer offer, on versions 1.0.128 to 2.1.329. Starts nothing.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

/// The model of the demo and of tapes that name none. It has a window of 200,000 tokens, and Claude Code has
/// no date of retirement for it, which would change the screen.
pub const USUAL_MODEL: &str = "claude-haiku-4-5";

/// Writes `home/.claude.json` and `home/.claude/settings.json` so that Claude starts in `project` without a
/// question.
///
/// Existing keys are kept, so a second call can add a second project. Trust uses the resolved path, so
/// `project` must exist.
///
/// # Errors
/// When a directory or file cannot be read or written.
pub fn seed(home: &Path, project: &Path, api_key: &str) -> io::Result<()> {
    let project = fs::canonicalize(project)?.to_string_lossy().into_owned();
    let claude = home.join(".claude");
    fs::create_dir_all(&claude)?;

    let path = home.join(".claude.json");
    let mut state = read_object(&path)?;
    state.insert("hasCompletedOnboarding".into(), json!(true));
    // Needed by 1.x and 2.0.x; newer versions read `skipDangerousModePermissionPrompt` in the settings.
    state.insert("bypassPermissionsModeAccepted".into(), json!(true));
    // From 2.1.300 on, Claude offers another renderer in a home that looks upgraded; after three times it
    // stops.
    state.insert("fullscreenUpsellSeenCount".into(), json!(3));
    let tail: Vec<char> = api_key.chars().rev().take(20).collect();
    let tail: String = tail.into_iter().rev().collect();
    state.insert("customApiKeyResponses".into(), json!({"approved": [tail], "rejected": []}));
    let projects = state.entry("projects").or_insert_with(|| json!({}));
    if !projects.is_object() {
        *projects = json!({});
    }
    // 1.0.128 fails without `allowedTools` once the project has an entry at all.
    projects[project] =
        json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": []});
    write_object(&path, state)?;

    let path = claude.join("settings.json");
    let mut settings = read_object(&path)?;
    settings.insert("skipDangerousModePermissionPrompt".into(), json!(true));
    write_object(&path, settings)
}

/// The variables that a run in such a home needs, besides `PATH`, `TERM` and the like, which are up to the
/// caller.
///
/// `CLAUDE_CONFIG_DIR` must not be set as well: it would move the seeded files.
pub fn environment(home: &Path, api_url: &str, key: &str) -> Vec<(String, String)> {
    let home = home.to_string_lossy();
    [
        ("HOME", home.as_ref()),
        ("ANTHROPIC_BASE_URL", api_url),
        ("ANTHROPIC_API_KEY", key),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        // Without it Claude refuses `--dangerously-skip-permissions` for root, as which tests run in a
        // container.
        ("IS_SANDBOX", "1"),
        ("NO_PROXY", "127.0.0.1,localhost"),
        ("no_proxy", "127.0.0.1,localhost"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

fn read_object(path: &Path) -> io::Result<Map<String, Value>> {
    match fs::read(path) {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(Value::Object(map)) => Ok(map),
            _ => Err(io::Error::other(format!("{} is not a json object", path.display()))),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Map::new()),
        Err(e) => Err(e),
    }
}

fn write_object(path: &Path, map: Map<String, Value>) -> io::Result<()> {
    fs::write(path, format!("{:#}\n", Value::Object(map)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_model_has_the_window_that_the_demo_fills_and_no_date_of_retirement() {
        assert_eq!(crate::core::context_level::window_of_model(USUAL_MODEL), Some(200_000));
        assert!(!["claude-sonnet-4-5", "claude-opus-4-5"].contains(&USUAL_MODEL));
    }

    #[test]
    fn a_second_project_is_added_to_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let (home, one, two) = (dir.path().join("home"), dir.path().join("one"), dir.path().join("two"));
        for d in [&home, &one, &two] {
            fs::create_dir(d).unwrap();
        }
        fs::create_dir(home.join(".claude")).unwrap();
        fs::write(home.join(".claude/settings.json"), r#"{"tui":"default"}"#).unwrap();
        seed(&home, &one, "sk-ant-0123456789-abcdefghijklmn").unwrap();
        seed(&home, &two, "sk-ant-0123456789-abcdefghijklmn").unwrap();
        let state = read_object(&home.join(".claude.json")).unwrap();
        assert_eq!(state["projects"].as_object().unwrap().len(), 2);
        assert_eq!(state["customApiKeyResponses"]["approved"][0], "56789-abcdefghijklmn");
        let settings = read_object(&home.join(".claude/settings.json")).unwrap();
        assert_eq!(
            (&settings["tui"], &settings["skipDangerousModePermissionPrompt"]),
            (&json!("default"), &json!(true))
        );
    }

    #[test]
    fn a_broken_state_file_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".claude.json"), "{torn").unwrap();
        assert!(seed(dir.path(), dir.path(), "k").is_err());
        assert_eq!(fs::read(dir.path().join(".claude.json")).unwrap(), b"{torn");
    }

    #[test]
    fn the_environment_names_the_given_home_and_api() {
        let env = environment(Path::new("/h"), "http://127.0.0.1:1", "k");
        assert!(env.contains(&("HOME".into(), "/h".into())));
        assert!(env.contains(&("ANTHROPIC_BASE_URL".into(), "http://127.0.0.1:1".into())));
    }
}
