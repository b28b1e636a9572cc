//! The place of a conversation's file, independent of the conversation's id and project.

use std::path::{Path, PathBuf};

use super::transfer_lines::may_have_acting_parts;
use crate::core::ids::ConversationId;
use crate::fs::conversations::FileRole;

/// A file's role, and its name below the directory of that role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePlace {
    pub role: FileRole,
    /// `subagents/agent-1.jsonl` for a sidecar; empty for a transcript. In names of todos, `{id}` is replaced
    /// by the conversation's id.
    pub name: PathBuf,
}

/// The placeholder of the id in a name.
const ID: &str = "{id}";

impl FilePlace {
    /// The place of the file at `path`.
    pub fn of(role: FileRole, path: &Path, id: &ConversationId) -> Option<Self> {
        let name = match role {
            FileRole::Transcript => PathBuf::new(),
            FileRole::OldAgent | FileRole::Plan | FileRole::DebugLog => PathBuf::from(path.file_name()?),
            FileRole::Todos => PathBuf::from(path.file_name()?.to_str()?.replace(id.as_str(), ID)),
            _ => {
                let dir =
                    path.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == id.as_str()))?;
                path.strip_prefix(dir).ok()?.to_owned()
            }
        };
        Some(FilePlace { role, name })
    }

    /// Its path for a conversation with this id whose transcripts are in `project`.
    pub fn path(&self, claude: &Path, project: &Path, id: &ConversationId) -> PathBuf {
        self.root(claude, project, id).map_or_else(
            || project.join(format!("{id}.jsonl")),
            |root| if self.name.as_os_str().is_empty() { root } else { root.join(self.file_name(id)) },
        )
    }

    fn root(&self, claude: &Path, project: &Path, id: &ConversationId) -> Option<PathBuf> {
        match self.role {
            FileRole::Transcript => None,
            FileRole::Sidecar => Some(project.join(id.as_str())),
            FileRole::OldAgent => Some(project.to_owned()),
            role if role.is_by_id() => Some(claude.join(role.directory()?).join(id.as_str())),
            role => Some(claude.join(role.directory()?)),
        }
    }

    fn file_name(&self, id: &ConversationId) -> PathBuf {
        match (self.role, self.name.to_str()) {
            (FileRole::Todos, Some(name)) => PathBuf::from(name.replace(ID, id.as_str())),
            _ => self.name.clone(),
        }
    }

    pub fn has_lines(&self) -> bool {
        match self.role {
            FileRole::Transcript | FileRole::OldAgent => true,
            FileRole::Sidecar => self.name.extension().is_some_and(|extension| extension == "jsonl"),
            _ => false,
        }
    }

    /// Whether it may contain parts that Claude acts on when it resumes the conversation.
    pub fn may_have_acting_parts(&self) -> bool {
        match self.role {
            FileRole::Transcript | FileRole::OldAgent => true,
            FileRole::Sidecar => self.name.to_str().is_none_or(may_have_acting_parts),
            _ => false,
        }
    }

    /// Its name in a package, below the conversation's id; `None` if it is not text.
    pub fn package_name(&self) -> Option<String> {
        let name = self.name.to_str()?;
        Some(match self.role {
            FileRole::Transcript => "transcript.jsonl".to_owned(),
            role => format!("{}/{name}", word(role)),
        })
    }

    /// The place of a file by its name in a package; `None` for a name that hopty does not write.
    pub fn from_package(name: &str) -> Option<Self> {
        if name == "transcript.jsonl" {
            return Some(FilePlace { role: FileRole::Transcript, name: PathBuf::new() });
        }
        let (first, rest) = name.split_once('/')?;
        let role = PACKED.into_iter().find(|role| word(*role) == first)?;
        let is_flat = matches!(role, FileRole::OldAgent | FileRole::Todos | FileRole::Plan);
        // Claude recognizes the kind of file by its name alone.
        let fits = match role {
            FileRole::OldAgent => rest.starts_with("agent-") && rest.ends_with(".jsonl"),
            FileRole::Todos => rest.starts_with(ID) && rest.ends_with(".json"),
            FileRole::Plan => rest.ends_with(".md") && !rest.starts_with('.'),
            _ => true,
        };
        (fits && !(is_flat && rest.contains('/'))).then(|| FilePlace { role, name: PathBuf::from(rest) })
    }
}

/// The roles that go into a package. `session-env` comes from hooks of this machine; the other machine's
/// hooks write their own.
const PACKED: [FileRole; 8] = [
    FileRole::Sidecar,
    FileRole::OldAgent,
    FileRole::Tasks,
    FileRole::Todos,
    FileRole::FileHistory,
    FileRole::Images,
    FileRole::Uploads,
    FileRole::Plan,
];

pub(super) fn is_packed(role: FileRole) -> bool {
    role == FileRole::Transcript || PACKED.contains(&role)
}

fn word(role: FileRole) -> &'static str {
    match role {
        FileRole::Transcript => "transcript",
        FileRole::Sidecar => "sidecar",
        FileRole::OldAgent => "agents",
        FileRole::Tasks => "tasks",
        FileRole::Todos => "todos",
        FileRole::FileHistory => "file-history",
        FileRole::SessionEnv => "session-env",
        FileRole::Images => "images",
        FileRole::Uploads => "uploads",
        FileRole::Plan => "plans",
        FileRole::DebugLog => "debug",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_its_place_under_another_id_and_project() {
        let (old, new): (ConversationId, ConversationId) = (
            "c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap(),
            "00000000-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap(),
        );
        let claude = Path::new("/c");
        for (role, path, packed) in [
            (FileRole::Transcript, "projects/-a/ID.jsonl", "transcript.jsonl"),
            (FileRole::Sidecar, "projects/-a/ID/subagents/agent-1.jsonl", "sidecar/subagents/agent-1.jsonl"),
            (FileRole::OldAgent, "projects/-a/agent-1.jsonl", "agents/agent-1.jsonl"),
            (FileRole::Tasks, "tasks/ID/1.json", "tasks/1.json"),
            (FileRole::Todos, "todos/ID-agent-ID.json", "todos/{id}-agent-{id}.json"),
            (FileRole::FileHistory, "file-history/ID/x@v1", "file-history/x@v1"),
            (FileRole::Plan, "plans/blue-fox.md", "plans/blue-fox.md"),
        ] {
            let at = claude.join(path.replace("ID", old.as_str()));
            let place = FilePlace::of(role, &at, &old).unwrap();
            let to = place.path(claude, Path::new("/c/projects/-b"), &new);
            assert_eq!(to, claude.join(path.replace("ID", new.as_str()).replace("-a/", "-b/")), "{path}");
            assert_eq!(place.package_name().unwrap(), packed);
            assert_eq!(FilePlace::from_package(packed), Some(place));
        }
        for name in [
            "x", "debug/x", "session-env/hook.sh", "agents/evil.jsonl", "agents/agent-1.jsonl/x",
            "todos/x.json", "todos/{id}/../x.json", "plans/a/b.md", "plans/.md", "transcript.jsonl/x", "",
        ] {
            assert_eq!(FilePlace::from_package(name), None, "{name}");
        }
    }
}
