//! What a backup has, and where each file of it belongs. Pure.
//!
//! A backup is a package (`core::package`) whose files have names such as `claude/projects/P/ID.jsonl`: the
//! first part says below which directory they belong. Credentials and keys are never among them.

use crate::core::conversation::file_role::FileRole;
use crate::core::ids::ConversationId;

/// The directories that a backup has files of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BackupRoot {
    /// Claude's directory.
    Claude,
    /// hopty's state: sessions with their journals.
    State,
    /// hopty's configuration.
    Config,
    /// hopty's data: the archive.
    Data,
}

/// Whether a file only holds what was said and done, or says what is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackupContent {
    /// Conversations, handoffs, archives.
    Record,
    /// Settings, commands, agents, the memory of a project, and sessions, whose command line `hopty restore`
    /// runs: they can run programs and steer Claude, so that they are restored only when that is asked for.
    Settings,
    /// Scripts that hooks wrote for Claude's shell to read. Hooks write them again; backups of older versions
    /// have them, and they are never restored.
    HookScript,
}

/// What of Claude's directory is a record, beside the directories of conversations' files.
const CLAUDE_RECORDS: &[&str] = &["projects", "paste-cache", "handoff", "channel-registry.json"];
/// What of Claude's directory says what is run.
const CLAUDE_SETTINGS: &[&str] = &[
    "settings.json", "settings.local.json", "CLAUDE.md", "claudikins-acm.conf", "commands", "agents",
    "skills", "rules", "hooks", "output-styles", "keybindings.json",
    // What Up brings into the box again, commands for the shell among it.
    "history.jsonl",
];

impl BackupRoot {
    pub const ALL: [BackupRoot; 4] =
        [BackupRoot::Claude, BackupRoot::State, BackupRoot::Config, BackupRoot::Data];

    /// The first part of the names of its files.
    pub fn word(self) -> &'static str {
        match self {
            BackupRoot::Claude => "claude",
            BackupRoot::State => "state",
            BackupRoot::Config => "config",
            BackupRoot::Data => "data",
        }
    }

    /// The entries of its directory that are backed up.
    pub fn entries(self) -> Vec<&'static str> {
        match self {
            BackupRoot::Claude => claude_records().chain(CLAUDE_SETTINGS.iter().copied()).collect(),
            BackupRoot::State => vec!["sessions"],
            BackupRoot::Config => vec!["config.toml"],
            BackupRoot::Data => vec!["archive"],
        }
    }
}

/// What of Claude's directory is a record. Hooks write `session-env` again, and logs tell nothing later.
fn claude_records() -> impl Iterator<Item = &'static str> {
    let kept = |role: &FileRole| !matches!(role, FileRole::SessionEnv | FileRole::DebugLog);
    let of_conversations = FileRole::ALL.into_iter().filter(kept).filter_map(FileRole::directory);
    CLAUDE_RECORDS.iter().copied().chain(of_conversations)
}

/// Where the file of this name belongs: the directory, the path below it, and what it is. `None` if hopty
/// puts no such file into a backup.
pub fn place_of(name: &str) -> Option<(BackupRoot, &str, BackupContent)> {
    let (word, below) = name.split_once('/')?;
    let root = BackupRoot::ALL.into_iter().find(|root| root.word() == word)?;
    let first = below.split('/').next()?;
    let content = match root {
        BackupRoot::Claude if claude_records().any(|name| name == first) => content_of_record(below),
        BackupRoot::Claude if CLAUDE_SETTINGS.contains(&first) => BackupContent::Settings,
        BackupRoot::Claude if first == "session-env" => BackupContent::HookScript,
        BackupRoot::State if root.entries().contains(&first) => BackupContent::Settings,
        BackupRoot::Data if root.entries().contains(&first) => BackupContent::Record,
        BackupRoot::Config if below == "config.toml" => BackupContent::Settings,
        _ => return None,
    };
    (!is_left_out(below)).then_some((root, below, content))
}

/// What a file in one of the directories of records is. Two of them hold more than records, so only what is
/// known to be one counts: the memory in a project's directory goes into every request of that project, and
/// Markdown files of a person's own beside the handoffs go into the next one.
fn content_of_record(below: &str) -> BackupContent {
    let parts: Vec<&str> = below.split('/').collect();
    let is_record = match parts.as_slice() {
        ["projects", _, file] => file.ends_with(".jsonl"),
        ["projects", _, id, ..] => id.parse::<ConversationId>().is_ok(),
        ["projects", ..] => false,
        ["handoff", file] => file.ends_with(".manifest.json") || file.ends_with("-CURRENT.md"),
        ["handoff", dir, ..] => *dir == "records",
        _ => true,
    };
    if is_record { BackupContent::Record } else { BackupContent::Settings }
}

/// Whether a file is left out wherever it lies: credentials and keys, locks, and what is made again.
pub fn is_left_out(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_index = matches!(path, "archive/index.json" | "data/archive/index.json");
    let is_lock = matches!(name, ".lock" | ".auto") && !path.contains("projects/");
    is_secret(name) || is_index || is_lock || name.starts_with(".hopty-tmp-") || path.contains(".lock.d/")
}

/// Names of files that hold credentials or keys, in lower case; `*` is anything.
const SECRET_NAMES: [&str; 31] = [
    "*credential*", "*.key", "*.pem", "*.p12", "*.pfx", "*.p8", "*.ppk", "*.keystore", "*.jks", "*.kdbx",
    "*.age-key", "*.env", ".env.*", ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".htpasswd",
    ".claude.json", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*client_secret*",
    "*service-account*.json", "*service_account*.json", "secrets.*", "kubeconfig", "*.tfstate",
    ".vault-token",
];
/// How examples end, which hold none.
const EXAMPLE_ENDS: [&str; 4] = [".example", ".sample", ".template", ".dist"];
/// How files of code end: one that is named after credentials holds none.
const CODE_ENDS: [&str; 18] = [
    ".c", ".cc", ".cpp", ".cs", ".go", ".h", ".hpp", ".java", ".js", ".jsx", ".kt", ".md", ".php", ".py",
    ".rb", ".rs", ".ts", ".tsx",
];

/// Whether a file's name says that it holds credentials or a key.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_public =
        name.ends_with(".pub") || CODE_ENDS.iter().chain(&EXAMPLE_ENDS).any(|end| name.ends_with(end));
    !is_public && SECRET_NAMES.iter().any(|pattern| fits(pattern, &name))
}

/// Whether a name fits a pattern in which `*` is anything.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, rest)) => name.strip_prefix(begin).is_some_and(|name| {
            name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| fits(rest, &name[at..]))
        }),
    }
}

/// Whether it is the transcript of a conversation: restored after everything that belongs to it.
pub fn is_transcript(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    matches!(parts.as_slice(), ["claude", "projects", _, file] if file.ends_with(".jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_one_place() {
        use BackupContent::{HookScript, Record, Settings};
        let place = |name| place_of(name).map(|(root, below, content)| (root.word(), below, content));
        for (name, wanted) in [
            ("claude/projects/-p/x.jsonl", Some(("claude", "projects/-p/x.jsonl", Record))),
            (
                "claude/projects/-p/c74cc080-94b9-4841-b82f-a62cfb8efdc0/subagents/agent-1.jsonl",
                Some((
                    "claude",
                    "projects/-p/c74cc080-94b9-4841-b82f-a62cfb8efdc0/subagents/agent-1.jsonl",
                    Record,
                )),
            ),
            (
                "claude/projects/-p/memory/MEMORY.md",
                Some(("claude", "projects/-p/memory/MEMORY.md", Settings)),
            ),
            (
                "claude/session-env/x/sessionstart-hook-0.sh",
                Some(("claude", "session-env/x/sessionstart-hook-0.sh", HookScript)),
            ),
            ("claude/handoff/web.manifest.json", Some(("claude", "handoff/web.manifest.json", Record))),
            ("claude/handoff/web.md", Some(("claude", "handoff/web.md", Settings))),
            ("claude/settings.json", Some(("claude", "settings.json", Settings))),
            ("claude/history.jsonl", Some(("claude", "history.jsonl", Settings))),
            ("claude/commands/a/b.md", Some(("claude", "commands/a/b.md", Settings))),
            ("state/sessions/web/journal.jsonl", Some(("state", "sessions/web/journal.jsonl", Settings))),
            ("config/config.toml", Some(("config", "config.toml", Settings))),
            ("data/archive/-p/x.jsonl.zst", Some(("data", "archive/-p/x.jsonl.zst", Record))),
            ("claude/.credentials.json", None),
            ("claude/sessions/7.json", None),
            ("claude/plugins/x.js", None),
            ("state/run/web.sock", None),
            ("data/backups/x.tar.gz", None),
            ("home/.bashrc", None),
            ("claude", None),
            ("", None),
        ] {
            assert_eq!(place(name), wanted, "{name}");
        }
    }

    #[test]
    fn keys_and_credentials_are_left_out_wherever_they_lie() {
        for path in [
            "projects/-p/id/tool-results/server.key",
            "skills/deploy/id_ed25519",
            "skills/x/.env",
            "commands/AWS_Credentials",
            "skills/x/.credentials.json.bak",
            "skills/x/prod.env",
            "skills/x/.env.staging.local",
            "skills/x/.env.bak",
            "skills/x/.envrc",
            "skills/x/id_rsa.old",
            "skills/x/client_secret_1.json",
            "skills/x/my-service-account.json",
            "skills/x/secrets.yaml",
            "skills/x/terraform.tfstate",
            "archive/.lock",
            "archive/index.json",
            "handoff/.hopty-tmp-x",
            "handoff/web.lock.d/pid",
        ] {
            assert!(is_left_out(path), "{path}");
        }
        for path in [
            "projects/-p/id.jsonl",
            "commands/keys.md",
            "commands/credentials.md",
            "skills/x/credential_store.py",
            "skills/x/.env.example",
            "skills/x/secrets.rs",
            "skills/x/id_rsa.pub",
            "agents/monkey.md",
            "history.jsonl",
            "skills/charts/index.json",
            "claude/skills/archive/index.json",
        ] {
            assert!(!is_left_out(path), "{path}");
        }
        assert!(
            is_transcript("claude/projects/-p/x.jsonl") && !is_transcript("claude/projects/-p/x/y.jsonl")
        );
    }
}
