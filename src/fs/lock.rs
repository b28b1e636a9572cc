//! Locks between processes.
//!
//! [`FileLock`] is an `flock`, which the kernel releases with its holder. [`DirLock`] is the form that shell
//! scripts use (`mkdir`, with a `pid` file inside); it is stale when that process is gone or began after the
//! lock was taken. Waiting means retrying every millisecond, up to the caller's timeout.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::atomic;
use super::file_error::FsError;
use crate::sys::private_dir;
use crate::sys::process;
use crate::sys::safe_file::{self, FileOwner, FileRule, WriteMode, is_at};

/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_millis(1);
/// How long a directory lock may lack its pid file: its holder is between two system calls, or was killed
/// there.
const UNSIGNED: Duration = Duration::from_secs(1);
/// Start times are in clock ticks and the clock is read in seconds: they may differ by this much.
const SLACK_S: u64 = 2;

/// An exclusive `flock`, released when dropped.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock on `path`, a file that is created (0600) if it is missing.
    ///
    /// # Errors
    /// [`FsError::Locked`] when somebody else holds it for all of `timeout`; others when the file cannot be
    /// opened.
    pub fn take(path: &Path, timeout: Duration) -> Result<Self, FsError> {
        let until = Instant::now() + timeout;
        loop {
            let file = open(path)?;
            match file.try_lock() {
                // The file may have been deleted and recreated while it was opened: then this lock guards
                // nothing.
                Ok(()) if is_at(&file, path) => return Ok(Self { _file: file }),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(FsError::Locked {
                        path: path.to_owned(),
                        holder: "another process".to_owned(),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(FsError::io("lock", path)(error)),
            }
        }
    }

    /// Takes the lock if it is free; `None` if somebody else holds it.
    ///
    /// # Errors
    /// When the file cannot be opened or locked at all.
    pub fn try_take(path: &Path) -> Result<Option<Self>, FsError> {
        match Self::take(path, Duration::ZERO) {
            Ok(lock) => Ok(Some(lock)),
            Err(FsError::Locked { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Scripts take it, too, whoever runs them.
const RULE: FileRule = FileRule { owner: FileOwner::Anyone, ..FileRule::own(u64::MAX) };

fn open(path: &Path) -> Result<File, FsError> {
    Ok(safe_file::open_to_write(path, WriteMode::Keep, RULE)?)
}

/// The lock of the shell scripts: a directory with a file `pid` that contains `{pid}:{seconds since 1970}`.
/// Released when dropped.
#[derive(Debug)]
pub struct DirLock {
    path: PathBuf,
    content: String,
}

impl DirLock {
    /// Takes the lock `path`. A stale one is removed first; callers that also hold a [`FileLock`] do so one
    /// at a time.
    ///
    /// # Errors
    /// [`FsError::Locked`] when a living process holds it for all of `timeout`; others when it cannot be
    /// created.
    pub fn take(path: &Path, timeout: Duration) -> Result<Self, FsError> {
        let until = Instant::now() + timeout;
        loop {
            match private_dir::create(path) {
                Ok(()) => return Self::sign(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FsError::io("create the lock", path)(error)),
            }
            match holder(path)? {
                Holder::Gone(content) => remove_stale(path, content.as_deref())?,
                Holder::Lives(_) if Instant::now() < until => std::thread::sleep(PAUSE),
                Holder::Lives(holder) => return Err(FsError::Locked { path: path.to_owned(), holder }),
            }
        }
    }

    fn sign(path: &Path) -> Result<Self, FsError> {
        let lock =
            Self { path: path.to_owned(), content: format!("{}:{}", std::process::id(), seconds_now()) };
        // Not synced: a lock need not survive a power cut, and the time without a pid must be short.
        let mut options = OpenOptions::new();
        let pid = path.join("pid");
        let file = options.write(true).create_new(true).mode(0o600).open(&pid);
        // A partial pid identifies nobody: on a full disk the lock would stay, and a script could not tell
        // whose it was.
        let sign = |mut file: fs::File| {
            file.write_all(lock.content.as_bytes()).inspect_err(|_| drop(fs::remove_file(&pid)))
        };
        file.and_then(sign).map_err(FsError::io("write the lock", path))?;
        Ok(lock)
    }
}

impl Drop for DirLock {
    fn drop(&mut self) {
        let ours = atomic::read(&self.path.join("pid"), 256).ok().flatten();
        if ours.is_none_or(|content| content == self.content.as_bytes()) {
            // A lock that stays is stale as soon as this process ends; for this process it already is.
            let _ = fs::remove_file(self.path.join("pid"));
            if fs::remove_dir(&self.path).is_err() {
                left_behind().push((self.path.clone(), self.content.clone()));
            }
        }
    }
}

/// Locks that this process released and could not remove, with their content.
fn left_behind() -> MutexGuard<'static, Vec<(PathBuf, String)>> {
    static LEFT: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Holder {
    Lives(String),
    Gone(Option<Vec<u8>>),
}

fn holder(path: &Path) -> Result<Holder, FsError> {
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(Holder::Gone(None)) };
    if !meta.is_dir() {
        return Err(FsError::WrongKind { path: path.to_owned(), expected: "directory" });
    }
    // An empty pid file is being written right now.
    let Some(content) = atomic::read(&path.join("pid"), 256)?.filter(|content| !content.is_empty()) else {
        let age = meta.modified().ok().and_then(|made| made.elapsed().ok()).unwrap_or_default();
        return Ok(if age < UNSIGNED {
            Holder::Lives("a process that has not written its pid yet".into())
        } else {
            Holder::Gone(None)
        });
    };
    let text = String::from_utf8_lossy(&content).trim().to_owned();
    let mut left = left_behind();
    if let Some(at) = left.iter().position(|(of, content)| of == path && *content == text) {
        left.remove(at);
        return Ok(Holder::Gone(Some(content)));
    }
    drop(left);
    let (pid, taken) = text.split_once(':').unwrap_or((&text, ""));
    let lives = pid.parse().is_ok_and(|pid| match (process::began_at(pid), taken.parse::<u64>()) {
        (Some(began), Ok(taken)) => began <= taken.saturating_add(SLACK_S),
        (Some(_), Err(_)) => true,
        (None, _) => process::exists(pid),
    });
    Ok(if lives { Holder::Lives(format!("pid {pid}")) } else { Holder::Gone(Some(content)) })
}

/// Renames before deleting, and checks again: a lock that was taken in between is restored.
fn remove_stale(path: &Path, seen: Option<&[u8]>) -> Result<(), FsError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = path.with_file_name(format!(".{name}.stale-{}", std::process::id()));
    match fs::rename(path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(FsError::io("move the stale lock", path)(error)),
    }
    let now = atomic::read(&aside.join("pid"), 256)?.filter(|content| !content.is_empty());
    if now.as_deref() != seen && fs::rename(&aside, path).is_ok() {
        return Ok(());
    }
    fs::remove_dir_all(&aside).map_err(FsError::io("delete the stale lock", &aside))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn one_holds_a_file_lock_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let held = FileLock::take(&path, SOON).unwrap();
        assert!(matches!(FileLock::take(&path, SOON), Err(FsError::Locked { .. })));
        assert!(FileLock::try_take(&path).unwrap().is_none());
        fs::remove_file(&path).unwrap();
        let anew = FileLock::try_take(&path).unwrap();
        assert!(anew.is_some(), "a lock on a deleted file guards nothing");
        drop(held);
        assert!(FileLock::try_take(&path).unwrap().is_none());
    }

    #[test]
    fn a_file_that_was_deleted_or_replaced_is_not_at_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let file = open(&path).unwrap();
        assert!(is_at(&file, &path));
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&file, &path));
        open(&path).unwrap();
        assert!(!is_at(&file, &path));
    }

    #[test]
    fn a_link_is_no_lock_file() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(dir.path().join("x"), dir.path().join("l")).unwrap();
        assert!(matches!(FileLock::take(&dir.path().join("l"), SOON), Err(FsError::Symlink(_))));
    }

    fn with_pid(content: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.lock.d");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("pid"), content).unwrap();
        (dir, path)
    }

    #[test]
    fn a_living_holder_keeps_its_lock() {
        for content in
            [format!("{}:{}", std::process::id(), seconds_now()), format!("{}\n", std::process::id())]
        {
            let (_dir, path) = with_pid(&content);
            assert!(matches!(DirLock::take(&path, SOON), Err(FsError::Locked { .. })), "{content}");
            assert_eq!(fs::read_to_string(path.join("pid")).unwrap(), content);
        }
    }

    #[test]
    fn a_lock_of_a_dead_or_a_later_process_is_stale() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let dead = format!("{}:{}", child.id(), seconds_now());
        // Our own pid, but the lock was taken before we began: another process had the pid before.
        let reused = format!("{}:{}", std::process::id(), 1_000_000);
        for content in [dead.as_str(), reused.as_str(), "nonsense"] {
            let (dir, path) = with_pid(content);
            let lock = DirLock::take(&path, SOON).unwrap();
            assert!(
                fs::read_to_string(path.join("pid"))
                    .unwrap()
                    .starts_with(&format!("{}:", std::process::id()))
            );
            drop(lock);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{content}");
        }
    }

    #[test]
    fn a_lock_that_was_not_signed_yet_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.lock.d");
        fs::create_dir(&path).unwrap();
        assert!(matches!(DirLock::take(&path, SOON), Err(FsError::Locked { .. })));
        assert!(path.is_dir());
    }

    #[test]
    fn item_014_many_at_once_exclude_each_other_by_both_forms_of_lock() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, rounds) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let _file = FileLock::take(&dir.path().join(".lock"), LONG).unwrap();
                        let _dir = DirLock::take(&dir.path().join("c.lock.d"), LONG).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        rounds.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(rounds.into_inner(), 40);
    }
}
