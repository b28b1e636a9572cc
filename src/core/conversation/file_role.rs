//! The role of a file in a conversation, and its directory below Claude's.

/// The role of a file in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileRole {
    /// `projects/PROJECT/ID.jsonl`.
    Transcript,
    /// Below `projects/PROJECT/ID`: sub-agents, long tool results, workflows.
    Sidecar,
    /// `projects/PROJECT/agent-*.jsonl`: a sub-agent of 2.0.x and before, assigned by the id in its lines.
    OldAgent,
    /// Below `tasks/ID`: the list of tasks.
    Tasks,
    /// `todos/ID-*.json`: the list of tasks of 2.0.x and before.
    Todos,
    /// Below `file-history/ID`: files before Claude changed them, for `/rewind`.
    FileHistory,
    /// Below `session-env/ID`: variables that hooks added to the environment.
    SessionEnv,
    /// Below `image-cache/ID`: pasted images.
    Images,
    /// Below `uploads/ID`.
    Uploads,
    /// `plans/NAME.md`, if the transcript names a plan.
    Plan,
    /// `debug/ID.txt`: Claude's own log.
    DebugLog,
}

impl FileRole {
    pub const ALL: [FileRole; 11] = [
        FileRole::Transcript,
        FileRole::Sidecar,
        FileRole::OldAgent,
        FileRole::Tasks,
        FileRole::Todos,
        FileRole::FileHistory,
        FileRole::SessionEnv,
        FileRole::Images,
        FileRole::Uploads,
        FileRole::Plan,
        FileRole::DebugLog,
    ];

    /// The directory below Claude's; `None` for files in a project's directory.
    pub fn directory(self) -> Option<&'static str> {
        Some(match self {
            FileRole::Transcript | FileRole::Sidecar | FileRole::OldAgent => return None,
            FileRole::Tasks => "tasks",
            FileRole::Todos => "todos",
            FileRole::FileHistory => "file-history",
            FileRole::SessionEnv => "session-env",
            FileRole::Images => "image-cache",
            FileRole::Uploads => "uploads",
            FileRole::Plan => "plans",
            FileRole::DebugLog => "debug",
        })
    }

    /// Whether each conversation has its own directory there, named by its id.
    #[must_use]
    pub fn is_by_id(self) -> bool {
        !matches!(self, FileRole::Todos | FileRole::Plan | FileRole::DebugLog) && self.directory().is_some()
    }

    /// The directories below Claude's in which each conversation has a directory named by its id.
    pub fn id_directories() -> impl Iterator<Item = (FileRole, &'static str)> {
        let by_id = Self::ALL.into_iter().filter(|role| role.is_by_id());
        by_id.filter_map(|role| Some((role, role.directory()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_directory_has_a_role() {
        let names: Vec<&str> = FileRole::id_directories().map(|(_, name)| name).collect();
        assert_eq!(names, ["tasks", "file-history", "session-env", "image-cache", "uploads"]);
    }
}
