//! What a file is to its conversation, and in which of Claude's directories it is.

/// What a file is to its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileRole {
    /// `projects/PROJECT/ID.jsonl`.
    Transcript,
    /// Below `projects/PROJECT/ID`: sub-agents, long tool results, workflows.
    Sidecar,
    /// `projects/PROJECT/agent-*.jsonl`: a sub-agent of 2.0.x and before, known by the id in its lines.
    OldAgent,
    /// Below `tasks/ID`: the list of tasks.
    Tasks,
    /// `todos/ID-*.json`: the list of todos of 2.0.x and before.
    Todos,
    /// Below `file-history/ID`: files as they were before Claude changed them, for `/rewind`.
    FileHistory,
    /// Below `session-env/ID`: what hooks added to the environment.
    SessionEnv,
    /// Below `image-cache/ID`: pasted images.
    Images,
    /// Below `uploads/ID`.
    Uploads,
    /// `plans/NAME.md`, where the transcript names a plan.
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

    /// The directory below Claude's that has its files; `None` for those in the directory of a project.
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

    /// Whether each conversation has a directory of its own there, named by its id.
    #[must_use]
    pub fn is_by_id(self) -> bool {
        !matches!(self, FileRole::Todos | FileRole::Plan | FileRole::DebugLog) && self.directory().is_some()
    }

    /// The directories below Claude's in which conversations have a directory with their id.
    pub fn id_directories() -> impl Iterator<Item = (FileRole, &'static str)> {
        let by_id = Self::ALL.into_iter().filter(|role| role.is_by_id());
        by_id.filter_map(|role| Some((role, role.directory()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_claude_keeps_by_id_is_known_in_one_place() {
        let names: Vec<&str> = FileRole::id_directories().map(|(_, name)| name).collect();
        assert_eq!(names, ["tasks", "file-history", "session-env", "image-cache", "uploads"]);
    }
}
