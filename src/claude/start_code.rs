//! Everything on disk that makes Claude run code when it starts in a directory, as two digests: what counts everywhere, and what
//! counts in this directory.
//!
//! The files are those that Claude Code 2.1.330 reads: settings of every scope, MCP servers, its own state, plugins and agents that
//! bring hooks, and the scripts that all of these name. What is not looked at stands in `docs/HOOKS.md`.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::core::claude::code::{CodeDigest, Role, SettingsFile, code_texts};
use crate::core::claude::scripts::{Dirs, is_script, paths};
use crate::safe_file::{self, FileRule};

/// The largest settings file that is read, in bytes; Claude's own state grows to some megabytes.
const MAX_BYTES: u64 = 64 << 20;
/// The largest script that is compared by its bytes; a larger one is a program, and compared by its inode, length and times.
const MAX_SCRIPT: u64 = 256 << 10;
/// Scripts that are compared at most, for all files of a digest.
const MAX_SCRIPTS: usize = 256;
/// Plugins, agents and drop-in settings that are looked at, each.
const MAX_FILES: usize = 256;
/// The largest agent's file that is looked at for its front matter, in bytes.
const MAX_AGENT: u64 = 1 << 20;
/// Where an administrator's settings lie.
const MANAGED: &str = "/etc/claude-code";
/// What of a plugin runs code, or says what does.
const PLUGIN: [&str; 6] =
    [".claude-plugin/plugin.json", "hooks/hooks.json", "monitors/monitors.json", ".mcp.json", ".lsp.json", "settings.json"];

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Claude's own directory, `~/.claude`.
    pub claude: PathBuf,
    /// Claude's own state, `~/.claude.json`.
    pub state: PathBuf,
    /// The home directory.
    pub home: PathBuf,
    /// The file of `--settings`, when it names one.
    pub settings: Option<PathBuf>,
    /// The files of `--mcp-config`.
    pub mcp_configs: Vec<PathBuf>,
    /// The directories of `--plugin-dir`.
    pub plugin_dirs: Vec<PathBuf>,
}

/// What runs code when Claude starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartCode {
    /// Wherever it starts.
    pub everywhere: CodeDigest,
    /// In this directory.
    pub here: CodeDigest,
}

impl StartCode {
    /// Reads it all, as it is now, for a start in `dir`.
    #[must_use]
    pub fn read(places: &Places, dir: &Path) -> StartCode {
        let mut everywhere = Reader::new(places, dir);
        let claude = &places.claude;
        everywhere.file("~/.claude/settings.json", &claude.join("settings.json"), Role::Settings);
        everywhere.file("remote-settings.json", &claude.join("remote-settings.json"), Role::Settings);
        everywhere.managed();
        everywhere.file(".claude.json", &places.state, Role::State { project: "" });
        if let Some(path) = &places.settings {
            everywhere.file("--settings", &dir.join(path), Role::Settings);
        }
        for path in &places.mcp_configs {
            everywhere.file("--mcp-config", &dir.join(path), Role::Mcp);
        }
        for path in &places.plugin_dirs {
            everywhere.plugin(&dir.join(path));
        }
        installed(&claude.join("plugins/installed_plugins.json")).iter().for_each(|root| everywhere.plugin(root));
        everywhere.agents("~/.claude/agents", &claude.join("agents"));
        StartCode { everywhere: everywhere.digest, here: StartCode::here(places, dir) }
    }

    /// Only what counts in `dir`.
    #[must_use]
    pub fn here(places: &Places, dir: &Path) -> CodeDigest {
        let dir = &dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        let mut here = Reader::new(places, dir);
        let project = dir.to_string_lossy();
        here.file(".claude.json", &places.state, Role::State { project: &project });
        // Claude reads these of the directories above, too.
        for above in dir.ancestors() {
            let named = |file: &str| match above == *dir {
                true => file.to_owned(),
                false => above.join(file).display().to_string(),
            };
            for file in [".claude/settings.json", ".claude/settings.local.json"] {
                if above.join(file) != places.claude.join("settings.json") {
                    here.file(&named(file), &above.join(file), Role::Settings);
                }
            }
            here.file(&named(".mcp.json"), &above.join(".mcp.json"), Role::Mcp);
            if above.join(".claude") != places.claude {
                here.agents(&named(".claude/agents"), &above.join(".claude/agents"));
            }
        }
        here.digest
    }

    /// The directories that Claude trusts by its own state, besides `not`.
    #[must_use]
    pub fn trusted(places: &Places, not: &Path) -> Vec<PathBuf> {
        let Content::Bytes(bytes) = read(&places.state, MAX_BYTES).0 else { return Vec::new() };
        let Ok(state) = serde_json::from_slice::<Value>(&bytes) else { return Vec::new() };
        let Some(projects) = state.get("projects").and_then(Value::as_object) else { return Vec::new() };
        let accepted = projects.iter().filter(|(_, of)| of.get("hasTrustDialogAccepted") == Some(&Value::Bool(true)));
        accepted.map(|(dir, _)| PathBuf::from(dir)).filter(|dir| dir != not && dir.is_dir()).take(MAX_FILES).collect()
    }
}

struct Reader<'a> {
    digest: CodeDigest,
    dirs: Dirs<'a>,
    scripts: usize,
}

impl<'a> Reader<'a> {
    fn new(places: &'a Places, dir: &'a Path) -> Reader<'a> {
        Reader { digest: CodeDigest::default(), dirs: Dirs { project: dir, home: &places.home, plugin: None }, scripts: 0 }
    }

    fn file(&mut self, name: &str, path: &Path, role: Role<'_>) {
        match read(path, MAX_BYTES) {
            (Content::Missing, _) => {}
            // It is known by what it is, not by what it says; Claude may be able to read it.
            (Content::Odd(what), _) => self.digest.add(&format!("{name}: (cannot be read)"), what.as_bytes()),
            (Content::Bytes(bytes), _) => {
                // As Claude reads it: a byte that is no UTF-8 does not spoil the rest.
                let text = String::from_utf8_lossy(&bytes);
                self.digest.join(CodeDigest::of(&[SettingsFile { name, role, text: &text }]));
                self.named_in(&code_texts(role, &text));
            }
        }
    }

    fn named_in(&mut self, texts: &[String]) {
        for path in texts.iter().flat_map(|text| paths(text, self.dirs)) {
            if self.scripts >= MAX_SCRIPTS {
                return;
            }
            if let Some(content) = script(&path) {
                self.scripts += 1;
                self.digest.add(&path.display().to_string(), &content);
            }
        }
    }

    fn managed(&mut self) {
        let dir = Path::new(MANAGED);
        self.file("managed-settings.json", &dir.join("managed-settings.json"), Role::Settings);
        self.file("managed-mcp.json", &dir.join("managed-mcp.json"), Role::Mcp);
        for path in entries(&dir.join("managed-settings.d"), "json") {
            self.file(&path.display().to_string(), &path, Role::Settings);
        }
    }

    fn plugin(&mut self, root: &Path) {
        let mut inner =
            Reader { digest: CodeDigest::default(), dirs: Dirs { plugin: Some(root), ..self.dirs }, scripts: self.scripts };
        for file in PLUGIN {
            let path = root.join(file);
            inner.file(&path.display().to_string(), &path, if file == "settings.json" { Role::Settings } else { Role::Mcp });
        }
        inner.agents(&root.join("agents").display().to_string(), &root.join("agents"));
        self.scripts = inner.scripts;
        self.digest.join(inner.digest);
    }

    /// Agents whose front matter has hooks or servers of its own.
    fn agents(&mut self, name: &str, dir: &Path) {
        for path in entries(dir, "md") {
            let (Content::Bytes(bytes), _) = read(&path, MAX_AGENT) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            let mut parts = text.trim_start_matches('\u{feff}').splitn(3, "---");
            let Some(front) = parts.next().filter(|before| before.trim().is_empty()).and_then(|_| parts.next()) else { continue };
            let runs =
                |line: &str| ["hooks", "mcpServers"].iter().any(|key| line.trim_start_matches(['"', '\'', ' ']).starts_with(key));
            if front.lines().any(runs) {
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.digest.add(&format!("{name}/{file}"), front.as_bytes());
                self.named_in(&front.lines().map(str::to_owned).collect::<Vec<_>>());
            }
        }
    }
}

enum Content {
    Missing,
    Bytes(Vec<u8>),
    /// What it is, where it cannot be read.
    Odd(String),
}

/// A file's content, and what it is. It never waits, and opens nothing but files: a project may have put a pipe there.
fn read(path: &Path, max: u64) -> (Content, Option<Metadata>) {
    match safe_file::open(path, FileRule::of_claude(max)) {
        Ok(None) => (Content::Missing, None),
        Ok(Some(file)) => match file.metadata() {
            Ok(meta) => (bytes(file, max).map_or_else(|| Content::Odd(identity(&meta)), Content::Bytes), Some(meta)),
            Err(e) => (Content::Odd(e.kind().to_string()), None),
        },
        Err(refused) => match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => (Content::Missing, None),
            Ok(meta) => (Content::Odd(identity(&meta)), Some(meta)),
            Err(_) => (Content::Odd(refused.to_string()), None),
        },
    }
}

fn bytes(file: File, max: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    (file.take(max + 1).read_to_end(&mut bytes).is_ok() && bytes.len() as u64 <= max).then_some(bytes)
}

/// What changes with every change of a file, short of its content.
fn identity(meta: &Metadata) -> String {
    let of = [meta.dev(), meta.ino(), meta.len(), u64::from(meta.mode())];
    format!("{of:?} {}.{} {}.{}", meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec())
}

/// What a script is compared by; `None` where the path names none. One that only an administrator can write is not compared, since
/// updates of the system change it.
fn script(path: &Path) -> Option<Vec<u8>> {
    let (content, meta) = read(path, MAX_SCRIPT);
    let meta = meta?;
    let others = meta.uid() == 0 && meta.mode() & 0o022 == 0 && nix::unistd::geteuid().as_raw() != 0;
    match content {
        _ if others || !meta.is_file() => None,
        Content::Bytes(bytes) => is_script(path, &bytes, meta.mode()).then_some(bytes),
        _ => is_script(path, &[], meta.mode()).then(|| identity(&meta).into_bytes()),
    }
}

/// The files of an ending in a directory, in order.
fn entries(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let found = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = found.filter(|path| path.extension().is_some_and(|of| of == ending)).take(MAX_FILES).collect();
    found.sort();
    found
}

/// Where the installed plugins lie: every `installPath` of the list, whatever its version.
fn installed(list: &Path) -> Vec<PathBuf> {
    let (Content::Bytes(bytes), _) = read(list, MAX_BYTES) else { return Vec::new() };
    let mut roots = Vec::new();
    let mut rest: Vec<Value> = serde_json::from_slice(&bytes).into_iter().collect();
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(parts) => {
                roots.extend(parts.get("installPath").and_then(Value::as_str).map(PathBuf::from));
                rest.extend(parts.into_iter().map(|(_, value)| value));
            }
            Value::Array(list) => rest.extend(list),
            _ => {}
        }
    }
    roots.sort();
    roots.dedup();
    roots.truncate(MAX_FILES);
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::code::Change;
    use std::os::unix::fs::PermissionsExt;

    struct Tree {
        root: tempfile::TempDir,
        places: Places,
        project: PathBuf,
    }

    impl Tree {
        fn new() -> Tree {
            let root = tempfile::tempdir().unwrap();
            let base = root.path().canonicalize().unwrap();
            let (home, project) = (base.join("home"), base.join("work/proj"));
            std::fs::create_dir_all(&project).unwrap();
            let places = Places { claude: home.join(".claude"), state: home.join(".claude.json"), home, ..Places::default() };
            Tree { root, places, project }
        }

        fn put(&self, path: &str, text: &str) -> PathBuf {
            let path = self.root.path().canonicalize().unwrap().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        }

        fn changes(&self, before: &StartCode) -> Vec<String> {
            let now = StartCode::read(&self.places, &self.project);
            let all = before.everywhere.changes(&now.everywhere).into_iter().chain(before.here.changes(&now.here));
            let root = self.root.path().canonicalize().unwrap().display().to_string() + "/";
            all.map(|(key, what): (String, Change)| format!("{} {}", key.replace(&root, ""), what.word())).collect()
        }

        fn now(&self) -> StartCode {
            StartCode::read(&self.places, &self.project)
        }
    }

    const HOOK: &str = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}"#;

    #[test]
    fn every_file_that_runs_code_is_seen_when_it_comes() {
        for (path, text, seen) in [
            ("home/.claude/settings.json", HOOK, "~/.claude/settings.json: hooks added"),
            ("home/.claude/remote-settings.json", HOOK, "remote-settings.json: hooks added"),
            ("home/.claude.json", r#"{"mcpServers":{"x":{"command":"x"}}}"#, ".claude.json: mcpServers added"),
            ("home/.claude.json", r#"{"env":{"BASH_ENV":"/x"}}"#, ".claude.json: env added"),
            ("work/proj/.claude/settings.json", r#"{"env":{"NODE_OPTIONS":"-r /x"}}"#, ".claude/settings.json: env added"),
            ("work/proj/.claude/settings.local.json", r#"{"apiKeyHelper":"x"}"#, ".claude/settings.local.json: apiKeyHelper added"),
            (
                "work/proj/.claude/settings.json",
                r#"{"permissions":{"defaultMode":"bypassPermissions"}}"#,
                ".claude/settings.json: permissions.defaultMode added",
            ),
            ("work/proj/.mcp.json", r#"{"mcpServers":{"x":{"command":"x"}}}"#, ".mcp.json: mcpServers added"),
            ("work/.mcp.json", r#"{"mcpServers":{"x":{"command":"x"}}}"#, "work/.mcp.json: mcpServers added"),
            ("work/.claude/settings.json", HOOK, "work/.claude/settings.json: hooks added"),
            ("work/proj/.claude/settings.json", "{hooks", ".claude/settings.json: (not valid JSON) added"),
            ("work/proj/.claude/agents/a.md", "---\nname: a\nhooks:\n  Stop: x\n---\n", ".claude/agents/a.md added"),
        ] {
            let tree = Tree::new();
            let before = tree.now();
            tree.put(path, text);
            let changes = tree.changes(&before);
            // `.claude.json` is read for both digests.
            assert!(changes.iter().all(|change| change == seen) && !changes.is_empty(), "{path}: {changes:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_as_text_is_seen_all_the_same() {
        let tree = Tree::new();
        let before = tree.now();
        let settings = tree.put("work/proj/.claude/settings.json", "");
        std::fs::write(&settings, [&HOOK.as_bytes()[..HOOK.len() - 1], b",\"x\":\"\xff\"}"].concat()).unwrap();
        assert_eq!(tree.changes(&before), [".claude/settings.json: hooks added"], "a byte that is no UTF-8 hides nothing");
        std::fs::write(&settings, HOOK.replace("hooks\":{", "\\u0068ooks\":{")).unwrap();
        assert_eq!(tree.changes(&before), [".claude/settings.json: hooks added"]);
        let large = std::fs::File::create(&settings).unwrap();
        large.set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(tree.changes(&before), [".claude/settings.json: (cannot be read) added"]);
        std::fs::remove_file(&settings).unwrap();
        nix::unistd::mkfifo(&settings, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(tree.changes(&before), [".claude/settings.json: (cannot be read) added"]);
    }

    #[test]
    fn scripts_that_are_named_are_compared_and_logs_are_not() {
        let tree = Tree::new();
        let command = "\\\"$CLAUDE_PROJECT_DIR\\\"/check.sh >> ~/log.txt; ~/bin/later ~/notes.txt";
        tree.put("work/proj/.claude/settings.json", &HOOK.replace("true", command));
        let script = tree.put("work/proj/check.sh", "echo 1");
        tree.put("home/log.txt", "one");
        tree.put("home/notes.txt", "one");
        let before = tree.now();
        tree.put("home/log.txt", "one\ntwo");
        tree.put("home/notes.txt", "two");
        std::fs::write(&script, "echo 1").unwrap();
        assert_eq!(tree.changes(&before), [""; 0], "the same bytes are the same script");
        std::fs::write(&script, "echo 2").unwrap();
        let later = tree.put("home/bin/later", "");
        std::fs::set_permissions(&later, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(tree.changes(&before), ["home/bin/later added", "work/proj/check.sh changed"]);
    }

    #[test]
    fn plugins_are_compared_where_they_lie() {
        let mut tree = Tree::new();
        let root = tree.put("plug/hooks/hooks.json", &HOOK.replace("true", "${CLAUDE_PLUGIN_ROOT}/run"));
        let root = root.ancestors().nth(2).unwrap().to_owned();
        tree.put("home/.claude/plugins/installed_plugins.json", &format!(r#"{{"plugins":{{"p@m":[{{"installPath":{root:?}}}]}}}}"#));
        tree.put("given/.mcp.json", r#"{"a":{"command":"a"}}"#);
        tree.places.plugin_dirs = vec![tree.root.path().canonicalize().unwrap().join("given")];
        let before = tree.now();
        let run = tree.put("plug/run", "#!/bin/sh\n");
        assert_eq!(tree.changes(&before), ["plug/run added"]);
        std::fs::remove_file(run).unwrap();
        tree.put("plug/hooks/hooks.json", HOOK);
        tree.put("given/.mcp.json", r#"{"a":{"command":"b"}}"#);
        assert_eq!(tree.changes(&before), ["given/.mcp.json: a changed", "plug/hooks/hooks.json: hooks changed"]);
    }

    #[test]
    fn trusted_directories_are_those_of_claudes_own_state() {
        let tree = Tree::new();
        let (one, two) = (tree.put("one/x", ""), tree.put("two/x", ""));
        let dir = |path: &Path| path.parent().unwrap().display().to_string();
        let entry = |path: &Path, yes| format!("{:?}:{{\"hasTrustDialogAccepted\":{yes}}}", dir(path));
        tree.put(
            "home/.claude.json",
            &format!(
                "{{\"projects\":{{{},{},\"/gone\":{{\"hasTrustDialogAccepted\":true}}}}}}",
                entry(&one, true),
                entry(&two, false)
            ),
        );
        assert_eq!(StartCode::trusted(&tree.places, &tree.project), [one.parent().unwrap()]);
        assert!(StartCode::trusted(&tree.places, one.parent().unwrap()).is_empty());
    }
}
