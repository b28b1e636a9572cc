//! A session's directory: its name is taken as long as its host holds the lock (CONTRACT C1). The lock decides life,
//! never a pid file.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nix::libc;
use thiserror::Error;

use super::paths::Paths;
use super::process;
use crate::core::ids::SessionName;

/// How often a lock is tried that no living host holds before its name counts as taken: who only looks whether a host
/// lives holds it for a moment.
const TRIES: u32 = 5;
/// The same for the lock of a host that is just dying.
const DYING_TRIES: u32 = 50;
/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_millis(4);

/// Bytes of a lock's content: pid and start time of its host, and spaces.
const LOCK_LENGTH: usize = 48;

/// Why hopty's own directories are not used, or a name is not had.
#[derive(Debug, Error)]
pub enum SessionError {
    /// It is a file, or a link where none is due.
    #[error("{0} is no directory of its own")]
    NoDirectory(PathBuf),
    /// Somebody else owns it.
    #[error("{0} belongs to another user")]
    Foreign(PathBuf),
    /// Others may write into it, or look into it.
    #[error("{path} is open to other users (mode {mode:03o})")]
    Open {
        /// The directory.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The name is held by a living host.
    #[error("the name is taken")]
    Taken(SessionName),
    /// The system said no.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

impl SessionError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            SessionError::NoDirectory(path) => format!("move {} out of the way", path.display()),
            SessionError::Foreign(path) => format!("make it your own (chown) or move {} out of the way", path.display()),
            SessionError::Open { path, .. } => format!("close it: chmod 700 {}", path.display()),
            SessionError::Taken(name) => {
                format!("`hopty attach {name}` goes to the session that has it; another --name starts another")
            }
            SessionError::Io(..) => "hopty keeps its sessions below XDG_STATE_HOME, or ~/.local/state".to_owned(),
        }
    }
}

/// A name that this process holds.
#[derive(Debug)]
pub struct Claim {
    /// The name.
    pub name: SessionName,
    /// Its directory.
    pub dir: PathBuf,
    lock: Option<File>,
}

impl Claim {
    /// Frees the name before the process ends.
    pub fn give_back(&mut self) {
        self.lock = None;
    }
}

/// Makes hopty's own directories, and makes sure that they are this user's and closed to others. An unsafe one is
/// refused, not repaired: what lies in it may be somebody else's doing.
///
/// # Errors
/// When one cannot be made, or is unsafe.
pub fn prepare(paths: &Paths) -> Result<(), SessionError> {
    // The state directory itself may be a link to another disk; what is below it may not.
    private(&paths.state, Link::Followed, 0o022)?;
    private(&paths.sessions(), Link::Refused, 0o022)?;
    private(&paths.run(), Link::Refused, 0o077)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Followed,
    Refused,
}

fn private(dir: &Path, link: Link, closed: u32) -> Result<(), SessionError> {
    let io = |e| SessionError::Io(dir.to_owned(), e);
    match DirBuilder::new().recursive(true).mode(0o700).create(dir) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(SessionError::NoDirectory(dir.to_owned())),
        made => made.map_err(io)?,
    }
    let meta = if link == Link::Followed { std::fs::metadata(dir) } else { std::fs::symlink_metadata(dir) }.map_err(io)?;
    if !meta.is_dir() {
        return Err(SessionError::NoDirectory(dir.to_owned()));
    }
    // SAFETY: geteuid cannot fail.
    if meta.uid() != unsafe { libc::geteuid() } {
        return Err(SessionError::Foreign(dir.to_owned()));
    }
    let mode = meta.permissions().mode() & 0o777;
    if mode & closed != 0 {
        return Err(SessionError::Open { path: dir.to_owned(), mode });
    }
    Ok(())
}

fn lock_file(dir: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open(dir.join("lock"))
}

/// Takes a name: `wanted`, or with `numbered` the first of `wanted`, `wanted-2`, ... that is free.
///
/// # Errors
/// [`SessionError::Taken`] when the name is taken; others when its directory cannot be made or is unsafe.
pub fn claim(paths: &Paths, wanted: &SessionName, numbered: bool) -> Result<Claim, SessionError> {
    let mut name = wanted.clone();
    for n in 2..10_000 {
        let dir = paths.session(&name);
        private(&dir, Link::Refused, 0o022)?;
        match try_claim(&dir).map_err(|e| SessionError::Io(dir.clone(), e))? {
            Some(lock) => return Ok(Claim { name, dir, lock: Some(lock) }),
            None if numbered => name = wanted.numbered(n),
            None => break,
        }
    }
    Err(SessionError::Taken(wanted.clone()))
}

fn try_claim(dir: &Path) -> io::Result<Option<File>> {
    for _ in 0..TRIES {
        let mut lock = lock_file(dir)?;
        match lock.try_lock() {
            Ok(()) if is_at(&lock, &dir.join("lock")) => {
                let own = std::process::id();
                // For who asks the host to bind its socket again; whether it lives is told by the lock alone. Always of one
                // length: to cut the file first costs the disk's journal a transaction.
                let text = format!("{own} {}", process::start_ticks(own).unwrap_or(0));
                lock.write_all(format!("{text:<LOCK_LENGTH$}").as_bytes())?;
                return Ok(Some(lock));
            }
            // The directory was swept away under us.
            Ok(()) => DirBuilder::new().recursive(true).mode(0o700).create(dir)?,
            Err(TryLockError::WouldBlock) if host_of(dir).is_some() => break,
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(e)) => return Err(e),
        }
    }
    Ok(None)
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

fn open_lock(dir: &Path) -> Option<File> {
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
    File::options().read(true).custom_flags(flags).open(dir.join("lock")).ok()
}

/// Whether a host holds the session's lock.
#[must_use]
pub fn is_alive(dir: &Path) -> bool {
    open_lock(dir).is_some_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The process that holds the session's lock, if it is still the one that took it.
#[must_use]
pub fn host_of(dir: &Path) -> Option<i32> {
    let lock = open_lock(dir)?;
    if !matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut text = String::new();
    lock.take(LOCK_LENGTH as u64).read_to_string(&mut text).ok()?;
    let (pid, start) = text.trim_end().split_once(' ')?;
    let (pid, start): (u32, u64) = (pid.parse().ok()?, start.parse().ok()?);
    if process::is_alive(pid, start) { i32::try_from(pid).ok().filter(|pid| *pid > 1) } else { None }
}

/// Removes the socket that a host left behind which was killed.
pub fn remove_stale_socket(paths: &Paths, name: &SessionName) {
    let Ok(lock) = lock_file(&paths.session(name)) else { return };
    // A dying process closes its connections before it gives its lock back.
    for _ in 0..DYING_TRIES {
        if lock.try_lock().is_ok() {
            // Nobody can take the name and bind meanwhile.
            let _ = std::fs::remove_file(paths.socket(name));
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Removes what ended sessions left behind when their last word is older than `days`.
pub fn sweep(paths: &Paths, days: u32) {
    let limit = Duration::from_secs(u64::from(days) * 86_400);
    for (name, alive) in list(paths) {
        let dir = paths.session(&name);
        let age = ["session.json", "lock"].iter().find_map(|file| std::fs::symlink_metadata(dir.join(file)).ok()?.modified().ok());
        let old = age.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > limit);
        if alive || !old {
            continue;
        }
        // Nobody can take the name while it is removed.
        if let Ok(lock) = lock_file(&dir)
            && lock.try_lock().is_ok()
        {
            let _ = std::fs::remove_dir_all(&dir);
        }
    }
}

/// That the sessions can be listed, or are none yet.
///
/// # Errors
/// When their directory is there and cannot be read.
pub fn readable(paths: &Paths) -> io::Result<()> {
    match std::fs::read_dir(paths.sessions()) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Every session that has a directory, with whether its host lives, by name.
#[must_use]
pub fn list(paths: &Paths) -> Vec<(SessionName, bool)> {
    let Ok(dir) = std::fs::read_dir(paths.sessions()) else { return Vec::new() };
    let mut found: Vec<_> = dir
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<SessionName>().ok())
        .map(|name| {
            let alive = is_alive(&paths.session(&name));
            (name, alive)
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (tempfile::TempDir, Paths) {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::from_env(|name| (name == "HOME").then(|| home.path().into())).unwrap();
        (home, paths)
    }

    #[test]
    fn a_name_is_taken_while_its_claim_lives() {
        let (_home, paths) = world();
        prepare(&paths).unwrap();
        let wanted: SessionName = "proj".parse().unwrap();
        let mut first = claim(&paths, &wanted, true).unwrap();
        let second = claim(&paths, &wanted, true).unwrap();
        assert_eq!((first.name.as_str(), second.name.as_str()), ("proj", "proj-2"));
        assert!(matches!(claim(&paths, &wanted, false), Err(SessionError::Taken(_))));
        assert!(list(&paths).iter().all(|(_, alive)| *alive));
        assert_eq!(host_of(&first.dir), i32::try_from(std::process::id()).ok());
        first.give_back();
        assert!(!is_alive(&paths.session(&wanted)) && host_of(&first.dir).is_none());
        assert_eq!(claim(&paths, &wanted, true).unwrap().name, wanted);
    }

    #[test]
    fn a_look_does_not_take_the_name() {
        let (_home, paths) = world();
        prepare(&paths).unwrap();
        let wanted: SessionName = "proj".parse().unwrap();
        drop(claim(&paths, &wanted, true).unwrap());
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = is_alive(&paths.session(&wanted));
                }
            });
            for _ in 0..200 {
                assert_eq!(claim(&paths, &wanted, true).unwrap().name, wanted);
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn unsafe_directories_are_refused_and_left_as_they_are() {
        let (home, paths) = world();
        prepare(&paths).unwrap();
        for (dir, mode) in [(paths.run(), 0o750), (paths.sessions(), 0o770), (paths.state.clone(), 0o777)] {
            std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = prepare(&paths).unwrap_err();
            assert!(error.hint().contains(&format!("chmod 700 {}", dir.display())), "{error}");
            assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, mode, "refused, not repaired");
            std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        std::fs::remove_dir(paths.run()).unwrap();
        std::os::unix::fs::symlink(home.path(), paths.run()).unwrap();
        assert!(matches!(prepare(&paths), Err(SessionError::NoDirectory(_))));
        std::fs::remove_file(paths.run()).unwrap();
        std::fs::write(paths.run(), "a file").unwrap();
        assert!(matches!(prepare(&paths), Err(SessionError::NoDirectory(_))));
    }

    #[test]
    fn a_lock_that_is_a_link_is_not_followed() {
        let (home, paths) = world();
        prepare(&paths).unwrap();
        let name: SessionName = "proj".parse().unwrap();
        std::fs::create_dir(paths.session(&name)).unwrap();
        std::os::unix::fs::symlink(home.path().join("target"), paths.session(&name).join("lock")).unwrap();
        assert!(claim(&paths, &name, false).is_err());
        assert!(!home.path().join("target").exists());
    }

    #[test]
    fn old_ended_sessions_are_swept_away_and_living_ones_are_not() {
        let (_home, paths) = world();
        prepare(&paths).unwrap();
        let name = |text: &str| text.parse::<SessionName>().unwrap();
        let _held = claim(&paths, &name("lives"), false).unwrap();
        drop(claim(&paths, &name("ended"), false).unwrap());
        sweep(&paths, 14);
        assert_eq!(list(&paths).len(), 2, "neither is old");
        let old = SystemTime::now() - Duration::from_secs(15 * 86_400);
        for session in ["lives", "ended"] {
            let lock = File::options().write(true).open(paths.session(&name(session)).join("lock")).unwrap();
            lock.set_modified(old).unwrap();
        }
        sweep(&paths, 14);
        assert_eq!(list(&paths), [(name("lives"), true)]);
    }
}
