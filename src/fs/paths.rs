//! The paths of hopty's files. Only this module knows their names.

use std::path::{Path, PathBuf};

use crate::core::ids::{ConversationId, SessionName};
use crate::sys::private_dir::is_own;

/// The home directory of a user without one.
const NOWHERE: &str = "/dev/null";

/// The most characters of a directory that a file's name contains.
const NAME_CAP: usize = 200;

/// The base directories of all other paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// `S`: `$XDG_STATE_HOME/hopty`, else `~/.local/state/hopty`.
    pub state: PathBuf,
    /// `$XDG_CONFIG_HOME/hopty`, else `~/.config/hopty`.
    pub config: PathBuf,
    /// `$XDG_DATA_HOME/hopty`, else `~/.local/share/hopty`: what must outlive sessions and hopty itself.
    pub data: PathBuf,
    /// `C`: `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub claude: PathBuf,
    pub home: PathBuf,
}

impl Paths {
    /// From the environment, passed as a function so that a test can supply its own. `None` without a home
    /// directory.
    pub fn from_env(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<Self> {
        let absolute = |name: &str| var(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let home = absolute("HOME")?;
        Some(Paths {
            state: absolute("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state")).join("hopty"),
            config: absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("hopty"),
            data: absolute("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share")).join("hopty"),
            claude: absolute("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude")),
            home,
        })
    }

    /// Without a home directory: nothing exists below these paths, and nothing can be created there.
    #[must_use]
    pub fn without_home(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let given = |name: &str| var(name).filter(|_| name != "HOME");
        let none = |name: &str| if name == "HOME" { Some(NOWHERE.into()) } else { given(name) };
        Self::from_env(none).unwrap_or_else(|| unreachable!("{NOWHERE} is an absolute path"))
    }

    /// Whether there is a home directory to search.
    pub fn is_known(&self) -> bool {
        self.home != Path::new(NOWHERE)
    }

    /// Whether the home directory exists.
    pub fn has_home(&self) -> bool {
        self.home.is_dir()
    }

    /// The same, but hopty's files, and those of Claude's that have no other place, are below a private
    /// directory of this session.
    #[must_use]
    pub fn within(&self, private: &Path) -> Self {
        let mut paths = Paths { state: private.to_owned(), ..self.clone() };
        if !self.has_home() && self.claude.starts_with(&self.home) {
            paths.claude = private.join("claude");
        }
        paths
    }

    pub fn sessions(&self) -> PathBuf {
        self.state.join("sessions")
    }

    pub fn session(&self, name: &SessionName) -> PathBuf {
        self.sessions().join(name.as_str())
    }

    /// The directory of the sockets.
    pub fn run(&self) -> PathBuf {
        self.state.join("run")
    }

    /// The directory of archived conversations: not in the state directory, which people delete with hopty.
    pub fn archive(&self) -> PathBuf {
        self.data.join("archive")
    }

    /// The directory of backups, unless a person names a file.
    pub fn backups(&self) -> PathBuf {
        self.data.join("backups")
    }

    pub fn socket(&self, name: &SessionName) -> PathBuf {
        self.run().join(format!("{name}.sock"))
    }

    /// The cache of conversation summaries. It may be deleted at any time.
    pub fn conversation_cache(&self) -> PathBuf {
        self.state.join("cache").join("conversations.json")
    }

    /// The directory of the record of a transfer in progress.
    pub fn transfers(&self) -> PathBuf {
        self.state.join("transfers")
    }

    /// The cache of token usage. It may be deleted at any time.
    pub fn usage_cache(&self) -> PathBuf {
        self.state.join("cache").join("usage.json")
    }

    /// Evidence of tapes of `dir`, if there is no better place. It may be deleted at any time.
    pub fn test_evidence(&self, dir: &Path) -> PathBuf {
        let name: String =
            dir.to_string_lossy().chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let end = name.char_indices().rev().nth(NAME_CAP - 1).map_or(0, |(at, _)| at);
        self.state.join("cache").join("test").join(&name[end..])
    }

    /// The person's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The last screen of an ended session's program.
    pub fn last_screen(&self, name: &SessionName) -> PathBuf {
        self.session(name).join("screen.json")
    }

    /// The file in which Claude reports its status while it runs.
    pub fn claude_session(&self, pid: i32) -> PathBuf {
        self.claude.join("sessions").join(format!("{pid}.json"))
    }

    /// The settings files that Claude reads for a project: user, project, local.
    pub fn claude_settings(&self, project: &Path) -> [PathBuf; 3] {
        [
            self.claude.join("settings.json"),
            project.join(".claude/settings.json"),
            project.join(".claude/settings.local.json"),
        ]
    }

    /// `.claude.json`, beside Claude's directory by default and inside it when `CLAUDE_CONFIG_DIR` is set.
    pub fn claude_json(&self) -> PathBuf {
        if self.claude == self.home.join(".claude") {
            self.home.join(".claude.json")
        } else {
            self.claude.join(".claude.json")
        }
    }

    /// Whether `path` may be the transcript of a conversation: `C/projects/PROJECT/ID.jsonl`, which is a
    /// regular file of this user or does not exist yet.
    pub fn may_be_transcript(&self, path: &Path, conversation: &ConversationId) -> bool {
        let projects = self.claude.join("projects");
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_below = real(dir).parent() == Some(real(&projects).as_path());
        let is_plain = match std::fs::symlink_metadata(path) {
            Ok(meta) => meta.is_file() && is_own(&meta),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        is_below && is_plain && name == format!("{conversation}.jsonl").as_str()
    }

    /// The transcript of a conversation, found by its exact name, never by age.
    pub fn find_transcript(&self, conversation: &ConversationId) -> Option<PathBuf> {
        let file = format!("{conversation}.jsonl");
        let projects = std::fs::read_dir(self.claude.join("projects")).ok()?;
        projects.flatten().map(|dir| dir.path().join(&file)).find(|path| path.is_file())
    }
}
