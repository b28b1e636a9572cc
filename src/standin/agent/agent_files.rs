//! The stand-in agent's files: configuration, trust, transcripts, tasks. They are in the same places as the
//! real program's.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};

/// The directories of one run.
#[derive(Clone, Debug)]
pub(super) struct AgentDirs {
    /// `$CLAUDE_CONFIG_DIR` or `~/.claude`.
    pub(super) config: PathBuf,
    /// The working directory with links resolved, which identifies trust and transcripts.
    pub(super) cwd: PathBuf,
    state_file: PathBuf,
}

impl AgentDirs {
    /// From the environment. Missing variables are tolerated, as in the real program.
    pub(super) fn from_env() -> AgentDirs {
        // A deleted directory has no path.
        let cwd = env::current_dir().and_then(fs::canonicalize).unwrap_or_else(|_| PathBuf::from("."));
        if let Some(config) = env::var_os("CLAUDE_CONFIG_DIR").filter(|d| !d.is_empty()) {
            let config = PathBuf::from(config);
            return AgentDirs { state_file: config.join(".claude.json"), config, cwd };
        }
        // The real program looks into the user database; nothing can be written here, which it tolerates,
        // too.
        let home = env::var_os("HOME").map_or_else(|| PathBuf::from("/dev/null/no-home"), PathBuf::from);
        AgentDirs { config: home.join(".claude"), state_file: home.join(".claude.json"), cwd }
    }

    #[cfg(test)]
    pub(super) fn at(config: PathBuf, cwd: PathBuf, state_file: PathBuf) -> AgentDirs {
        AgentDirs { config, cwd, state_file }
    }

    /// `projects/<slug>`, the directory of this project's transcripts.
    pub(super) fn project_dir(&self) -> PathBuf {
        self.config.join("projects").join(slug(&self.cwd.to_string_lossy()))
    }

    pub(super) fn transcript(&self, id: &str) -> PathBuf {
        self.project_dir().join(format!("{id}.jsonl"))
    }

    /// The newest conversation of this project (`--continue`).
    pub(super) fn newest_conversation(&self) -> Option<String> {
        let entries = fs::read_dir(self.project_dir()).ok()?;
        let age = |path: &Path| path.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        entries
            .filter_map(|e| Some(e.ok()?.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "jsonl"))
            .max_by_key(|p| age(p))
            .and_then(|p| Some(p.file_stem()?.to_string_lossy().into_owned()))
    }

    /// The directory of the task list: `tasks/<CLAUDE_CODE_TASK_LIST_ID or conversation>`.
    pub(super) fn tasks_dir(&self, conversation: &str) -> PathBuf {
        let name = env::var("CLAUDE_CODE_TASK_LIST_ID").ok().filter(|n| !n.is_empty() && !n.contains('/'));
        self.config.join("tasks").join(name.as_deref().unwrap_or(conversation))
    }

    /// Whether this directory, or a parent up to the root of its repository, is trusted.
    pub(super) fn is_trusted(&self) -> bool {
        let state = read_json(&self.state_file);
        let root =
            self.cwd.ancestors().position(|dir| dir.join(".git").exists()).map_or(usize::MAX, |at| at + 1);
        self.cwd.ancestors().take(root).any(|dir| {
            let project = state.get("projects").and_then(|p| p.get(dir.to_string_lossy().as_ref()));
            project.and_then(|p| p.get("hasTrustDialogAccepted")).and_then(Value::as_bool).unwrap_or(false)
        })
    }

    /// Records that a person trusts this directory.
    ///
    /// # Errors
    /// When the state file cannot be written.
    pub(super) fn trust(&self) -> io::Result<()> {
        let mut state = read_json(&self.state_file);
        if !state.is_object() {
            state = json!({});
        }
        if !state.get("projects").is_some_and(Value::is_object) {
            state["projects"] = json!({});
        }
        state["projects"][self.cwd.to_string_lossy().as_ref()] =
            json!({"allowedTools": [], "hasTrustDialogAccepted": true});
        fs::write(&self.state_file, format!("{state:#}\n"))
    }

    /// The user's, then the project's settings, those with the lowest precedence first.
    pub(super) fn settings(&self) -> Vec<Value> {
        let project = self.cwd.join(".claude");
        [
            self.config.join("settings.json"),
            project.join("settings.json"),
            project.join("settings.local.json"),
        ]
        .iter()
        .map(|p| read_json(p))
        .filter(Value::is_object)
        .collect()
    }

    /// The checked-out branch; `HEAD` outside a repository, as the real program writes it.
    pub(super) fn git_branch(&self) -> String {
        let head = fs::read_to_string(self.cwd.join(".git/HEAD")).unwrap_or_default();
        head.trim().strip_prefix("ref: refs/heads/").unwrap_or("HEAD").to_owned()
    }
}

/// A JSON file; null if it is missing or invalid (the real program silently ignores an invalid one).
pub(super) fn read_json(path: &Path) -> Value {
    fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null)
}

/// The directory name for a path: every character outside `[A-Za-z0-9]` becomes `-`; over 200 characters it
/// is cut and a hash is added (measured on 2.1.197 and 2.1.329).
fn slug(path: &str) -> String {
    let units: Vec<u16> = path.encode_utf16().collect();
    let letter = |u: &u16| u8::try_from(*u).ok().filter(u8::is_ascii_alphanumeric).map_or('-', char::from);
    let name: String = units.iter().map(letter).collect();
    if name.len() <= 200 {
        return name;
    }
    let hash = units.iter().fold(0i32, |h, u| h.wrapping_mul(31).wrapping_add(i32::from(*u)));
    format!("{}-{}", &name[..200], base36(hash.unsigned_abs()))
}

fn base36(mut n: u32) -> String {
    let mut digits = Vec::new();
    while n > 0 || digits.is_empty() {
        digits.push(char::from_digit(n % 36, 36).unwrap_or('0'));
        n /= 36;
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_those_that_were_measured() {
        assert_eq!(slug("/home/user/proj/a.b_c-d e"), "-home-user-proj-a-b-c-d-e");
        assert_eq!(slug("/x/žluťoučký 日本"), "-x--lu-ou-k----");
        let long = slug(&"/a".repeat(150));
        assert_eq!(long.as_bytes()[200], b'-');
        assert!(long.len() > 201 && long.is_ascii());
    }

    #[test]
    fn trust_is_remembered_and_applies_to_subdirectories() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let world = AgentDirs::at(root.join(".claude"), root.join("p"), root.join(".claude.json"));
        assert!(!world.is_trusted());
        world.trust().unwrap();
        assert!(world.is_trusted());
        assert!(AgentDirs { cwd: root.join("p/deep"), ..world.clone() }.is_trusted());
        assert!(!AgentDirs { cwd: root.join("q"), ..world }.is_trusted());
    }

    #[test]
    fn the_newest_conversation_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let world = AgentDirs::at(dir.path().into(), "/p".into(), dir.path().join("x"));
        assert_eq!(world.newest_conversation(), None);
        fs::create_dir_all(world.project_dir()).unwrap();
        fs::write(world.transcript("u"), "").unwrap();
        fs::write(world.project_dir().join("memory.md"), "").unwrap();
        assert_eq!(world.newest_conversation().as_deref(), Some("u"));
    }
}
