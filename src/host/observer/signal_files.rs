//! Files with which other programs reach a session, such as a script that requests a restart. They are read
//! when they change, and passed to the supervisor as events; a signal is removed once it is obeyed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::growing_file_reader::SessionFiles;
use crate::core::compat::{FileReport, WatchedFiles};
use crate::core::file_edit::FileView;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::restart_signal::{NamedDir, RestartSignal, SignalFile};
use crate::core::time::WallTime;
use crate::fs::edits::Disk;
use crate::fs::paths::Paths;
use crate::fs::{session, trusted_dirs};
use crate::sys::clock::Clock;
use crate::sys::safe_file::{self, FileRule, SafeFileError};

/// The last state of the signal files.
#[derive(Debug)]
pub(super) struct SignalFiles {
    watched: WatchedFiles,
    /// The version of each that was read.
    versions: Vec<Option<FileVersion>>,
}

/// The session whose signals are read.
pub(super) struct SignalScan<'a> {
    pub paths: &'a Paths,
    pub session: &'a SessionFiles,
    /// When the session began.
    pub began: WallTime,
}

impl SignalFiles {
    pub fn new(watched: WatchedFiles) -> Self {
        SignalFiles { versions: vec![None; watched.files.len()], watched }
    }

    /// The directories of a project that may contain them.
    pub fn dirs_in_project(&self) -> Vec<&'static str> {
        let mut dirs: Vec<_> = self.watched.files.iter().filter_map(|file| file.dir_in_project()).collect();
        dirs.dedup();
        dirs
    }

    /// Reads the files that have changed since the last scan.
    pub fn look(&mut self, place: &SignalScan<'_>, events: &mut Vec<Event>) {
        for at in 0..self.watched.files.len() {
            let file = self.watched.files[at];
            // A directory that leads out of the project may belong to another user.
            if file.dir_in_project().is_some_and(|dir| !Disk.is_inside(&place.session.dir, dir)) {
                continue;
            }
            let path = file.path(&place.paths.claude, &place.session.dir);
            let meta = std::fs::symlink_metadata(&path).ok();
            let version = meta.as_ref().map(version);
            if std::mem::replace(&mut self.versions[at], version) == version {
                continue;
            }
            let content = match meta {
                Some(_) => safe_file::read(&path, FileRule::own(file.cap())),
                None => Ok(None),
            };
            if let Ok(None) = content {
                // If it has gone since, a later scan reads its replacement.
                self.versions[at] = None;
            }
            let content = content.as_ref().map(Option::as_deref).map_err(refusal);
            let fresh = meta.as_ref().is_some_and(|meta| place.is_fresh(meta));
            events.extend(match self.watched.changed(file, content, fresh) {
                Some(FileReport::Signal(signal)) => Some(place.signal(signal, fresh)),
                Some(FileReport::Task { completed }) => Some(Event::Task { completed }),
                None => None,
            });
        }
    }

    /// Removes a signal that was obeyed, but only the same file that was read: another one may have been
    /// written meanwhile.
    pub fn obeyed(&mut self, signal: SignalFile, paths: &Paths, dir: &Path) {
        let Some(at) = self.watched.files.iter().position(|file| file.signal() == Some(signal)) else {
            return;
        };
        let path = self.watched.files[at].path(&paths.claude, dir);
        if std::fs::symlink_metadata(&path).is_ok_and(|meta| self.versions[at] == Some(version(&meta))) {
            let _ = std::fs::remove_file(&path);
            self.versions[at] = None;
        }
    }
}

impl SignalScan<'_> {
    /// The signal, with the kind of the directory that it names.
    fn signal(&self, signal: RestartSignal, fresh: bool) -> Event {
        let file = resolved(signal);
        let dir = match &file {
            RestartSignal::Conversation { dir, .. } => dir.as_deref(),
            RestartSignal::Directory { dir } => Some(dir.as_str()),
            RestartSignal::Here { .. } | RestartSignal::Malformed { .. } => None,
        };
        let dir = dir.map(|dir| self.named_dir(Path::new(dir)));
        let dir_ok = matches!(dir, Some(NamedDir::Own | NamedDir::Trusted));
        let sessions = match &file {
            RestartSignal::Directory { dir } => self.sessions_in(Path::new(dir)),
            RestartSignal::Here { .. } => self.sessions_in(&self.session.dir),
            _ => 1,
        };
        Event::Signal { file, fresh, sessions, dir_ok, dir }
    }

    /// Whether a file was written in this session. File times are as coarse as the kernel's tick.
    fn is_fresh(&self, meta: &Metadata) -> bool {
        let written = meta.mtime() * 1000 + meta.mtime_nsec() / 1_000_000;
        written + 20 >= self.began.0 && written <= Clock::wall().0 + 2000
    }

    /// The kind of directory that a signal names. One other than the session's own is accepted only if it
    /// belongs to the person and Claude trusts it.
    fn named_dir(&self, dir: &Path) -> NamedDir {
        let Ok(real) = dir.canonicalize() else { return NamedDir::Missing };
        if self.session.dir.canonicalize().is_ok_and(|own| own == real) {
            return NamedDir::Own;
        }
        match std::fs::metadata(&real) {
            Ok(meta) if !meta.is_dir() => NamedDir::Missing,
            Ok(meta) if meta.uid() != nix::unistd::geteuid().as_raw() => NamedDir::Foreign,
            Ok(_) if trusted_dirs::is_trusted(self.paths, &real) => NamedDir::Trusted,
            Ok(_) => NamedDir::Untrusted,
            Err(_) => NamedDir::Missing,
        }
    }

    /// How many live sessions run in `dir`, including this one.
    fn sessions_in(&self, dir: &Path) -> u32 {
        let Ok(dir) = dir.canonicalize() else { return 0 };
        let live = session::live_names(self.paths).into_iter().filter(|name| {
            let of = match *name == self.session.name {
                true => Some(self.session.dir.clone()),
                false => session::working_dir(&self.paths.session(name)),
            };
            of.is_some_and(|of| of.canonicalize().is_ok_and(|of| of == dir))
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

/// The signal with its directory resolved now: a link may lead elsewhere by the time of the restart.
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
