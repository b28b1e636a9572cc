//! Files with which scripts request a restart: `.restart-session`, and an orchestrator's
//! `.handoff-requested`. They are read when they change, passed to the supervisor, and removed once obeyed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::file_reader::SessionFiles;
use crate::core::compat::layouts::{orchestrator, state_yaml};
use crate::core::compat::signals::{self, MAX_BYTES};
use crate::core::supervisor::event::Event;
use crate::core::supervisor::restart_signal::{NamedDir, RestartSignal, SignalFile};
use crate::core::time::WallTime;
use crate::fs::paths::Paths;
use crate::fs::{atomic, session, trust};
use crate::sys::clock::Clock;
use crate::sys::safe_file::{self, FileRule, SafeFileError};

/// The longest `state.yaml` that is read, in bytes.
const MAX_STATE: u64 = 64 << 10;

/// Their last state.
#[derive(Debug, Default)]
pub(super) struct SignalFiles {
    restart: Option<FileVersion>,
    requested: Option<FileVersion>,
    state: Option<FileVersion>,
    /// Whether `state.yaml` said that the task is completed.
    completed: bool,
    /// The state has been `completed` since before this session.
    old_task: bool,
}

/// The session whose signals are read.
pub(super) struct SignalScan<'a> {
    pub paths: &'a Paths,
    pub session: &'a SessionFiles,
    /// When the session began.
    pub began: WallTime,
}

impl SignalFiles {
    fn seen(&mut self, file: SignalFile) -> &mut Option<FileVersion> {
        match file {
            SignalFile::OfUser => &mut self.restart,
            SignalFile::OfProject => &mut self.requested,
        }
    }

    /// The content of a signal file, if it has changed since the last scan.
    pub fn look(&mut self, which: SignalFile, place: &SignalScan<'_>) -> Option<Event> {
        let path = path_of(which, place.paths, &place.session.dir);
        let Ok(meta) = std::fs::symlink_metadata(&path) else {
            *self.seen(which) = None;
            return None;
        };
        let seen = version(&meta);
        if self.seen(which).replace(seen) == Some(seen) {
            return None;
        }
        let file = match safe_file::read(&path, FileRule::own(MAX_BYTES as u64)) {
            // It is gone: its replacement will be read in a later scan.
            Ok(None) => {
                *self.seen(which) = None;
                return None;
            }
            Ok(Some(content)) => match which {
                SignalFile::OfUser => signals::restart_session(&content),
                // `None` means that hopty wrote it.
                SignalFile::OfProject => orchestrator::read(&content)?,
            },
            Err(error) => RestartSignal::Malformed { reason: refusal(&error).to_owned() },
        };
        let file = resolved(file);
        let dir = match &file {
            RestartSignal::Conversation { dir, .. } => dir.clone(),
            RestartSignal::Directory { dir } => Some(dir.clone()),
            RestartSignal::Here { .. } | RestartSignal::Malformed { .. } => None,
        };
        let dir = dir.as_deref().map(|dir| place.named_dir(Path::new(dir)));
        let dir_ok = matches!(dir, Some(NamedDir::Own | NamedDir::Trusted));
        let sessions = match &file {
            RestartSignal::Directory { dir } => place.sessions_in(Path::new(dir)),
            RestartSignal::Here { .. } => place.sessions_in(&place.session.dir),
            _ => 1,
        };
        Some(Event::Signal { file, fresh: place.is_fresh(&meta), sessions, dir_ok, dir })
    }

    /// Whether an orchestrator's task is completed. A state from before this session is about another task.
    pub fn look_at_task(&mut self, place: &SignalScan<'_>) -> Option<Event> {
        let path = place.session.dir.join(orchestrator::DIR).join(orchestrator::STATE);
        let meta = std::fs::symlink_metadata(&path).ok();
        let seen = meta.as_ref().map(version);
        if self.state == seen {
            return None;
        }
        self.state = seen;
        let text = atomic::read_own(&path, MAX_STATE, 0)
            .ok()
            .flatten()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let status = text.as_deref().and_then(state_yaml::status);
        let says = status == Some("completed");
        // A task completed before this session stays so while hopty itself sets the status for a hand-over
        // and back.
        self.old_task = match status {
            Some("completed") => self.old_task || !meta.as_ref().is_some_and(|meta| place.is_fresh(meta)),
            Some("handoff_requested") => self.old_task,
            _ => false,
        };
        let completed = says && !self.old_task;
        let changed = std::mem::replace(&mut self.completed, completed) != completed;
        changed.then_some(Event::Task { completed })
    }

    /// Removes a signal that was obeyed, but only the same file that was read: another one may have been
    /// written meanwhile.
    pub fn obeyed(&mut self, file: SignalFile, paths: &Paths, dir: &Path) {
        let path = path_of(file, paths, dir);
        let seen = self.seen(file);
        if std::fs::symlink_metadata(&path).is_ok_and(|m| *seen == Some(version(&m))) {
            let _ = std::fs::remove_file(&path);
            *seen = None;
        }
    }
}

fn path_of(file: SignalFile, paths: &Paths, dir: &Path) -> PathBuf {
    match file {
        SignalFile::OfUser => paths.restart_signal(),
        SignalFile::OfProject => dir.join(orchestrator::DIR).join(orchestrator::SIGNAL),
    }
}

impl SignalScan<'_> {
    /// Whether a file was written in this session. File times are as coarse as the kernel's tick.
    fn is_fresh(&self, meta: &Metadata) -> bool {
        let written = meta.mtime() * 1000 + meta.mtime_nsec() / 1_000_000;
        written + 20 >= self.began.0 && written <= Clock::wall().0 + 2000
    }

    /// The kind of directory that a signal names. Another one than the session's own is accepted only if it
    /// is the person's and Claude trusts it.
    fn named_dir(&self, dir: &Path) -> NamedDir {
        let Ok(real) = dir.canonicalize() else { return NamedDir::Missing };
        if self.session.dir.canonicalize().is_ok_and(|own| own == real) {
            return NamedDir::Own;
        }
        match std::fs::metadata(&real) {
            Ok(meta) if !meta.is_dir() => NamedDir::Missing,
            Ok(meta) if meta.uid() != nix::unistd::geteuid().as_raw() => NamedDir::Foreign,
            Ok(_) if trust::is_trusted(self.paths, &real) => NamedDir::Trusted,
            Ok(_) => NamedDir::Untrusted,
            Err(_) => NamedDir::Missing,
        }
    }

    /// How many live sessions run in `dir`, including this one.
    fn sessions_in(&self, dir: &Path) -> u32 {
        let Ok(dir) = dir.canonicalize() else { return 0 };
        let live = session::list(self.paths).into_iter().filter(|(name, alive)| {
            *alive
                && match *name == self.session.name {
                    true => Some(self.session.dir.clone()),
                    false => session::working_dir(&self.paths.session(name)),
                }
                .is_some_and(|of| of.canonicalize().is_ok_and(|of| of == dir))
        });
        u32::try_from(live.count()).unwrap_or(u32::MAX)
    }
}

/// Why a signal file is not read, for a sentence about it.
fn refusal(error: &SafeFileError) -> &'static str {
    match error {
        SafeFileError::Link(_) | SafeFileError::Kind { .. } => "it is not a regular file",
        SafeFileError::Foreign(_) | SafeFileError::Writable(_) | SafeFileError::TooLong { .. } => {
            "it is too large or belongs to another user"
        }
        SafeFileError::Io { .. } => "it cannot be read",
    }
}

/// The same with the directory resolved now: a link may lead elsewhere by the time of the restart.
fn resolved(file: RestartSignal) -> RestartSignal {
    let RestartSignal::Conversation { conversation, dir: Some(dir) } = file else { return file };
    let real = Path::new(&dir).canonicalize().ok().and_then(|real| real.into_os_string().into_string().ok());
    RestartSignal::Conversation { conversation, dir: Some(real.unwrap_or(dir)) }
}

/// Inode, time, its nanoseconds, and length.
type FileVersion = (u64, i64, i64, u64);

/// Identifies a state of the file. Its time alone does not: a shell truncates it and writes it within one
/// tick of the kernel's clock, and hopty may have read it in between.
fn version(meta: &Metadata) -> FileVersion {
    (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len())
}
