//! Everything on disk that makes Claude run code when it starts in a directory, as two digests: what
//! applies everywhere, and what applies to this directory.
//!
//! The files are those that Claude Code 2.1.330 reads: settings of every scope, MCP servers, its own state,
//! plugins and agents with hooks, and the scripts that all of these name. `docs/HOOKS.md` lists what is not
//! examined.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::code_files::{FileContent, FileTree, compared, installed, label, read};
use crate::core::claude::agent_file::{front_matter, may_run_code};
use crate::core::claude::command_files::{CommandDirs, NamedFiles, named_files};
use crate::core::claude::settings_code::{CodeDigest, Role, SettingsFile, code_texts};

/// The largest settings file that is read, in bytes; Claude's own state grows to some megabytes.
const MAX_BYTES: u64 = 64 << 20;
/// The largest script that is compared by its bytes; a larger file is a program, and compared by its inode,
/// length and times.
const MAX_SCRIPT: u64 = 256 << 10;
/// The most scripts of a digest that are compared by their bytes; further ones are compared like large
/// ones.
const MAX_SCRIPTS: usize = 256;
/// The most plugins that are examined.
const MAX_PLUGINS: usize = 1024;
/// The most agents in one directory whose front matter is examined; further ones are compared by their
/// inode, length and times.
const MAX_AGENTS: usize = 4096;
/// The most trusted directories whose settings are read at the start.
const MAX_TRUSTED: usize = 256;
/// The largest agent file whose front matter is examined, in bytes; a larger one is compared as it is.
const MAX_AGENT: u64 = 1 << 20;
/// Suffixes of files that hooks write beside themselves.
const NOTES: [&str; 4] = ["jsonl", "lock", "log", "pid"];
/// The directory of an administrator's settings.
const MANAGED: &str = "/etc/claude-code";
/// The files of a plugin that run code, or name code to run.
const PLUGIN: [&str; 6] = [
    ".claude-plugin/plugin.json", "hooks/hooks.json", "monitors/monitors.json", ".mcp.json", ".lsp.json",
    "settings.json",
];

/// Where to look.
#[derive(Clone, Debug)]
pub struct StartCodePaths {
    /// Claude's own directory, `~/.claude`.
    pub claude: PathBuf,
    /// Claude's own state, `~/.claude.json`.
    pub state: PathBuf,
    pub home: PathBuf,
    /// The file of `--settings`, when it names one.
    pub settings: Option<PathBuf>,
    /// The files of `--mcp-config`.
    pub mcp_configs: Vec<PathBuf>,
    /// The directories of `--plugin-dir`.
    pub plugin_dirs: Vec<PathBuf>,
    /// Returns the directories whose records in Claude's own state apply to a directory, including itself.
    pub records: fn(&Path) -> Vec<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartCode {
    /// The digest of what applies everywhere.
    pub everywhere: CodeDigest,
    /// The digest of what applies to this directory.
    pub here: CodeDigest,
}

impl StartCode {
    /// Reads the current state for a start in `dir`.
    pub fn read(places: &StartCodePaths, dir: &Path) -> StartCode {
        let mut everywhere = Reader::new(places, dir);
        let claude = &places.claude;
        everywhere.file("~/.claude/settings.json", &claude.join("settings.json"), Role::Settings);
        everywhere.file("remote-settings.json", &claude.join("remote-settings.json"), Role::Settings);
        everywhere.managed();
        everywhere.file(".claude.json", &places.state, Role::State { projects: &[] });
        if let Some(path) = &places.settings {
            everywhere.file("--settings", &dir.join(path), Role::Settings);
        }
        for path in &places.mcp_configs {
            everywhere.file("--mcp-config", &dir.join(path), Role::Mcp);
        }
        for path in &places.plugin_dirs {
            everywhere.plugin(&dir.join(path));
        }
        let plugins = installed(&claude.join("plugins/installed_plugins.json"), MAX_BYTES);
        plugins.iter().take(MAX_PLUGINS).for_each(|root| everywhere.plugin(root));
        if plugins.len() > MAX_PLUGINS {
            everywhere.digest.add_unknown("installed_plugins.json: (too many plugins)");
        }
        everywhere.agents("~/.claude/agents", &claude.join("agents"));
        everywhere.hook_files("~/.claude/hooks", &claude.join("hooks"));
        StartCode { everywhere: everywhere.digest, here: StartCode::here(places, dir) }
    }

    /// Only what applies to `dir`.
    pub fn here(places: &StartCodePaths, dir: &Path) -> CodeDigest {
        let dir = &dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let mut here = Reader::new(places, dir);
        // Claude also uses the record of the repository that contains the directory.
        let records: Vec<String> =
            (places.records)(dir).iter().map(|place| place.to_string_lossy().into_owned()).collect();
        here.file(".claude.json", &places.state, Role::State { projects: &records });
        // Claude also reads these files in the parent directories.
        for above in dir.ancestors() {
            let shown = |file: &str| match above == *dir {
                true => file.to_owned(),
                false => above.join(file).display().to_string(),
            };
            for file in [".claude/settings.json", ".claude/settings.local.json"] {
                if above.join(file) != places.claude.join("settings.json") {
                    here.file(&shown(file), &above.join(file), Role::Settings);
                }
            }
            here.file(&shown(".mcp.json"), &above.join(".mcp.json"), Role::Mcp);
            if above.join(".claude") != places.claude {
                here.agents(&shown(".claude/agents"), &above.join(".claude/agents"));
                here.hook_files(&shown(".claude/hooks"), &above.join(".claude/hooks"));
            }
        }
        here.digest
    }

    /// The directories that Claude's own state trusts, except `not`.
    pub fn trusted(places: &StartCodePaths, not: &Path) -> Vec<PathBuf> {
        let FileContent::Bytes(bytes) = read(&places.state, MAX_BYTES).0 else { return Vec::new() };
        let Ok(state) = serde_json::from_slice::<Value>(&bytes) else { return Vec::new() };
        let Some(projects) = state.get("projects").and_then(Value::as_object) else { return Vec::new() };
        let accepted =
            projects.iter().filter(|(_, of)| of.get("hasTrustDialogAccepted") == Some(&Value::Bool(true)));
        accepted
            .map(|(dir, _)| PathBuf::from(dir))
            .filter(|dir| dir != not && dir.is_dir())
            .take(MAX_TRUSTED)
            .collect()
    }
}

struct Reader<'a> {
    digest: CodeDigest,
    dirs: CommandDirs<'a>,
    /// The files that were compared as scripts.
    scripts: BTreeSet<PathBuf>,
}

impl<'a> Reader<'a> {
    fn new(places: &'a StartCodePaths, dir: &'a Path) -> Reader<'a> {
        let dirs = CommandDirs { project: dir, home: &places.home, plugin: None };
        Reader { digest: CodeDigest::default(), dirs, scripts: BTreeSet::new() }
    }

    fn file(&mut self, name: &str, path: &Path, role: Role<'_>) {
        match read(path, MAX_BYTES) {
            (FileContent::Missing, _) => {}
            // Compared by its metadata; Claude may be able to read it.
            (FileContent::Odd(what), _) => {
                self.digest.add(&format!("{name}: (cannot be read)"), what.as_bytes())
            }
            (FileContent::Bytes(bytes), _) => {
                // As Claude reads it: an invalid byte does not invalidate the rest.
                let text = String::from_utf8_lossy(&bytes);
                self.digest.join(CodeDigest::of(&[SettingsFile { name, role, text: &text }]));
                self.named_in(name, &code_texts(role, &text));
            }
        }
    }

    /// The scripts that texts of the file `name` name.
    fn named_in(&mut self, name: &str, texts: &[String]) {
        let dirs = self.dirs;
        for what in texts.iter().flat_map(|text| named_files(text, dirs)) {
            match what {
                NamedFiles::File(path) => self.script(path, |is_script| is_script),
                NamedFiles::Files { dir, ending, depth } => {
                    let tree = self.tree(&label(&dir), &dir, depth);
                    let tree = match ending {
                        Some(ending) => tree.with_ending(&ending),
                        None => tree,
                    };
                    tree.files.into_iter().for_each(|path| self.script(path, |is_script| is_script));
                }
                NamedFiles::More => {
                    self.digest.add_unknown(&format!("{name}: (a command of too many words)"))
                }
            }
        }
    }

    fn script(&mut self, path: PathBuf, counts: impl Fn(bool) -> bool) {
        if self.scripts.contains(&path) {
            return;
        }
        let max = if self.scripts.len() < MAX_SCRIPTS { MAX_SCRIPT } else { 0 };
        if let Some(content) = compared(&path, max, counts) {
            self.digest.add(&label(&path), &content);
            self.scripts.insert(path);
        }
    }

    /// The files below a directory. If there are too many, the rest counts as changed.
    fn tree(&mut self, name: &str, dir: &Path, depth: usize) -> FileTree {
        let tree = FileTree::of(dir, depth);
        if tree.is_cut {
            self.digest.add_unknown(&format!("{name}: (too many files)"));
        }
        tree
    }

    /// The files in a directory of hooks, whether or not a command names them, except those that hooks
    /// write at every call.
    fn hook_files(&mut self, name: &str, dir: &Path) {
        for path in self.tree(name, dir, usize::MAX).files {
            let is_note =
                path.extension().is_some_and(|of| NOTES.iter().any(|note| of.eq_ignore_ascii_case(note)));
            self.script(path, |is_script| is_script || !is_note);
        }
    }

    fn managed(&mut self) {
        let dir = Path::new(MANAGED);
        self.file("managed-settings.json", &dir.join("managed-settings.json"), Role::Settings);
        self.file("managed-mcp.json", &dir.join("managed-mcp.json"), Role::Mcp);
        let further = dir.join("managed-settings.d");
        for path in self.tree(&label(&further), &further, 0).with_ending("json").files {
            self.file(&label(&path), &path, Role::Settings);
        }
    }

    fn plugin(&mut self, root: &Path) {
        let dirs = CommandDirs { plugin: Some(root), ..self.dirs };
        let mut inner =
            Reader { digest: CodeDigest::default(), dirs, scripts: std::mem::take(&mut self.scripts) };
        for file in PLUGIN {
            let path = root.join(file);
            inner.file(
                &label(&path),
                &path,
                if file == "settings.json" { Role::Settings } else { Role::Mcp },
            );
        }
        inner.agents(&label(&root.join("agents")), &root.join("agents"));
        self.scripts = inner.scripts;
        self.digest.join(inner.digest);
    }

    /// Agents whose front matter may have hooks or servers, in directories of any depth.
    fn agents(&mut self, name: &str, dir: &Path) {
        let tree = self.tree(name, dir, usize::MAX).with_ending("md");
        for (number, path) in tree.files.iter().enumerate() {
            let name = format!("{name}/{}", label(path.strip_prefix(dir).unwrap_or(path)));
            match read(path, if number < MAX_AGENTS { MAX_AGENT } else { 0 }) {
                (FileContent::Missing, _) => {}
                (FileContent::Odd(what), _) => {
                    self.digest.add(&format!("{name} (cannot be read)"), what.as_bytes())
                }
                (FileContent::Bytes(bytes), _) => {
                    let text = String::from_utf8_lossy(&bytes);
                    if let Some(front) = front_matter(&text).filter(|front| may_run_code(front)) {
                        self.digest.add(&name, front.as_bytes());
                        self.named_in(&name, &front.lines().map(str::to_owned).collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "start_code_tests.rs"]
mod tests;
