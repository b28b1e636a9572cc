//! The files of other programs that a session reads whenever they change: their places, and what they say.

use std::path::{Path, PathBuf};

use super::layouts::{orchestrator, state_yaml};
use super::script_files;
use crate::core::supervisor::restart_signal::{RestartSignal, SignalFile};

/// The longest `state.yaml` that is read, in bytes.
const MAX_STATE: u64 = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompatFile {
    /// `.restart-session` in Claude's directory, or an orchestrator's `.handoff-requested`.
    Signal(SignalFile),
    /// An orchestrator's `state.yaml`.
    TaskState,
}

impl CompatFile {
    /// Its directory below the project; `None` if it is in Claude's directory.
    pub fn dir_in_project(self) -> Option<&'static str> {
        (self != CompatFile::Signal(SignalFile::OfUser)).then_some(orchestrator::DIR)
    }

    #[must_use]
    pub fn path(self, claude: &Path, project: &Path) -> PathBuf {
        match self {
            CompatFile::Signal(SignalFile::OfUser) => claude.join(script_files::RESTART_SESSION),
            CompatFile::Signal(SignalFile::OfProject) => {
                project.join(orchestrator::DIR).join(orchestrator::SIGNAL)
            }
            CompatFile::TaskState => project.join(orchestrator::DIR).join(orchestrator::STATE),
        }
    }

    /// Which signal it is, if any.
    #[must_use]
    pub fn signal(self) -> Option<SignalFile> {
        if let CompatFile::Signal(signal) = self { Some(signal) } else { None }
    }

    /// How much of it is read at most, in bytes.
    #[must_use]
    pub fn cap(self) -> u64 {
        match self {
            CompatFile::Signal(_) => script_files::MAX_BYTES as u64,
            CompatFile::TaskState => MAX_STATE,
        }
    }
}

/// The content of a watched file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileReport {
    /// A restart is asked for.
    Signal(RestartSignal),
    /// An orchestrator's task is completed, or is no longer.
    Task {
        /// Whether it is completed.
        completed: bool,
    },
}

/// The files that a session watches, and their content at the last scan.
#[derive(Clone, Debug, Default)]
pub struct WatchedFiles {
    /// Which files, in the order in which they are read.
    pub files: Vec<CompatFile>,
    /// Whether `state.yaml` said that the task is completed.
    completed: bool,
    /// The state has been `completed` since before this session.
    old_task: bool,
}

impl WatchedFiles {
    /// The files of a session: `.restart-session`, and those of an orchestrator.
    #[must_use]
    pub(super) fn new(restart_session: bool, of_orchestrator: bool) -> Self {
        let user = restart_session.then_some(CompatFile::Signal(SignalFile::OfUser));
        let project = [CompatFile::Signal(SignalFile::OfProject), CompatFile::TaskState];
        let project = project.into_iter().filter(|_| of_orchestrator);
        WatchedFiles { files: user.into_iter().chain(project).collect(), ..WatchedFiles::default() }
    }

    /// A file has changed. `content` is its new text, `None` if it is gone, or the reason why it is not read.
    /// `fresh`: it was written in this session.
    pub fn changed(
        &mut self,
        file: CompatFile,
        content: Result<Option<&[u8]>, &str>,
        fresh: bool,
    ) -> Option<FileReport> {
        match file {
            CompatFile::TaskState => self.task_state(content.ok().flatten(), fresh),
            CompatFile::Signal(which) => {
                let signal = match content {
                    Err(reason) => RestartSignal::Malformed { reason: reason.to_owned() },
                    Ok(content) => match which {
                        SignalFile::OfUser => script_files::restart_session(content?),
                        // `None` means that hopty wrote it.
                        SignalFile::OfProject => orchestrator::read(content?)?,
                    },
                };
                Some(FileReport::Signal(signal))
            }
        }
    }

    /// Whether an orchestrator's task is completed. A state from before this session is about another task.
    fn task_state(&mut self, content: Option<&[u8]>, fresh: bool) -> Option<FileReport> {
        let status = content.and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(state_yaml::status);
        let says = status == Some("completed");
        // A task completed before this session stays so while hopty itself sets the status for a hand-over
        // and back.
        self.old_task = match status {
            Some("completed") => self.old_task || !fresh,
            Some("handoff_requested") => self.old_task,
            _ => false,
        };
        let completed = says && !self.old_task;
        let changed = std::mem::replace(&mut self.completed, completed) != completed;
        changed.then_some(FileReport::Task { completed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(files: &mut WatchedFiles, status: Option<&str>, fresh: bool) -> Option<bool> {
        let text = status.map(|status| format!("status: {status}\n"));
        let content = Ok(text.as_deref().map(str::as_bytes));
        match files.changed(CompatFile::TaskState, content, fresh) {
            Some(FileReport::Task { completed }) => Some(completed),
            other => {
                assert_eq!(other, None);
                None
            }
        }
    }

    #[test]
    fn a_task_is_completed_once_and_never_by_a_state_from_before() {
        let mut files = WatchedFiles::new(false, true);
        assert_eq!(told(&mut files, Some("completed"), false), None, "another task's");
        assert_eq!(told(&mut files, Some("handoff_requested"), true), None);
        assert_eq!(told(&mut files, Some("completed"), true), None, "hopty put it back");
        assert_eq!(told(&mut files, Some("running"), true), None);
        assert_eq!(told(&mut files, Some("completed"), true), Some(true));
        assert_eq!(told(&mut files, Some("completed"), true), None);
        assert_eq!(told(&mut files, None, false), Some(false), "the file is gone");
    }

    #[test]
    fn only_configured_files_are_watched_and_what_is_not_read_is_malformed() {
        assert_eq!(WatchedFiles::new(false, false).files, []);
        let mut files = WatchedFiles::new(true, true);
        assert_eq!(files.files.len(), 3);
        let user = CompatFile::Signal(SignalFile::OfUser);
        assert_eq!(user.path(Path::new("/c"), Path::new("/p")), Path::new("/c/.restart-session"));
        assert_eq!(user.dir_in_project(), None);
        assert_eq!(files.changed(user, Ok(None), false), None);
        let malformed = RestartSignal::Malformed { reason: "it is a link".to_owned() };
        assert_eq!(files.changed(user, Err("it is a link"), true), Some(FileReport::Signal(malformed)));
    }
}
