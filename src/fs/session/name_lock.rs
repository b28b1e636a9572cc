//! The lock that gives a session its name, and the host that holds it.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::session_dirs::{make, make_session_dir, prepare};
use super::session_error::SessionError;
use super::session_json::last_waits_for_restore;
use super::session_list::session_of_entry;
use super::session_rename;
use super::session_rename::former_names;
use super::{HOST_NAMES, LOCK};
use crate::core::ids::SessionName;
use crate::fs::paths::Paths;
use crate::sys::fault_injection;
use crate::sys::private_dir::{self, DirError};
use crate::sys::process;
use crate::sys::safe_file::{self, FileOwner, FileRule, WriteMode};

/// How often to retry a lock without a living holder before its name counts as taken. A process that only
/// checks whether a host lives holds it for a moment, longer on a busy machine.
const LOCK_TRIES: u32 = 250;
/// How often to retry the lock of a host that is dying.
const DYING_TRIES: u32 = 50;
/// How long to wait between two tries.
pub(super) const LOCK_PAUSE: Duration = Duration::from_millis(4);
/// Bytes of a lock's content: pid and start time of its host, padded with spaces.
pub(super) const LOCK_LENGTH: usize = 48;

/// A name that this process holds.
#[derive(Debug)]
pub struct NameLock {
    pub name: SessionName,
    pub dir: PathBuf,
    pub(super) lock: Option<File>,
    lock_id: Option<(u64, u64)>,
    keeper: NameKeeper,
}

impl NameLock {
    fn new(name: SessionName, dir: PathBuf, lock: File) -> NameLock {
        let lock_id = lock.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
        let keeper =
            NameKeeper(Arc::new(Mutex::new(LockedDir { name: name.clone(), dir: dir.clone(), lock_id })));
        NameLock { name, dir, lock: Some(lock), lock_id, keeper }
    }

    /// Device and inode of its lock; `None` once it is released. Does not access the disk.
    pub fn lock_id(&self) -> Option<(u64, u64)> {
        self.lock.as_ref().and(self.lock_id)
    }

    /// A handle that restores the directory from another thread.
    pub fn keeper(&self) -> NameKeeper {
        self.keeper.clone()
    }

    /// Frees the name before the process ends.
    pub fn release(&mut self) {
        self.lock = None;
    }
}

/// A locked session directory.
#[derive(Debug)]
pub(super) struct LockedDir {
    pub(super) name: SessionName,
    pub(super) dir: PathBuf,
    lock_id: Option<(u64, u64)>,
}

/// Checks that the locked directory still exists, and restores it. It accesses disks, so it is for a thread
/// that may wait.
#[derive(Clone, Debug)]
pub struct NameKeeper(pub(super) Arc<Mutex<LockedDir>>);

impl NameKeeper {
    /// The name and its directory, as last locked.
    pub fn place(&self) -> (SessionName, PathBuf) {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (place.name.clone(), place.dir.clone())
    }

    /// Claims the name again if its directory is gone or was replaced; `None` if it is still held. If another
    /// session took the name meanwhile, this one gets a number.
    ///
    /// # Errors
    /// As [`prepare`] and [`claim`].
    pub fn restore(&self, paths: &Paths) -> Result<Option<NameLock>, SessionError> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fault_injection::before_read();
        if place.dir.is_symlink() {
            // Whoever moved the directory away has left this link: hopty does not follow it.
            let _ = std::fs::remove_file(&place.dir);
        }
        let there = std::fs::symlink_metadata(place.dir.join(LOCK)).ok().map(|meta| (meta.dev(), meta.ino()));
        if there.is_some() && there == place.lock_id {
            return Ok(None);
        }
        prepare(paths)?;
        let mut claim = claim(paths, &place.name, true)?;
        *place = LockedDir { name: claim.name.clone(), dir: claim.dir.clone(), lock_id: claim.lock_id };
        claim.keeper = self.clone();
        Ok(Some(claim))
    }
}

pub(super) fn lock_file(dir: &Path) -> io::Result<File> {
    let file = safe_file::open_to_write(&dir.join(LOCK), WriteMode::Keep, FileRule::own(u64::MAX))?;
    safe_file::open_to_owner(&file)?;
    Ok(file)
}

/// Takes a name: `wanted`, or with `numbered` the first of `wanted`, `wanted-2`, ... that is free.
///
/// # Errors
/// [`SessionError::Taken`] when the name is taken; others when its directory cannot be created or is unsafe.
pub fn claim(paths: &Paths, wanted: &SessionName, numbered: bool) -> Result<NameLock, SessionError> {
    let mut name = wanted.clone();
    for n in 2..10_000 {
        let dir = paths.session(&name);
        match session_rename::free(paths, &name) {
            Err(SessionError::Former { .. }) if numbered => {
                name = wanted.numbered(n);
                continue;
            }
            free => free?,
        }
        make_session_dir(&dir)?;
        // A session that is started without a name must not take the place of one that can still be
        // resumed.
        if numbered && last_waits_for_restore(&dir) {
            name = wanted.numbered(n);
            continue;
        }
        match try_claim(&dir).map_err(|e| DirError::Io(dir.clone(), e))? {
            Some(lock) => return Ok(NameLock::new(name, dir, lock)),
            None if numbered => name = wanted.numbered(n),
            None => break,
        }
    }
    Err(SessionError::Taken(wanted.clone()))
}

fn try_claim(dir: &Path) -> io::Result<Option<File>> {
    for _ in 0..LOCK_TRIES {
        let mut lock = match lock_file(dir) {
            // The directory was removed, as below, but a moment earlier.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                private_dir::create_all(dir)?;
                continue;
            }
            other => other?,
        };
        match lock.try_lock() {
            Ok(()) if safe_file::is_at(&lock, &dir.join(LOCK)) => {
                let own = std::process::id();
                // For processes that ask the host to bind its socket again; only the lock tells whether the
                // host lives. Always the same length: truncating the file first costs the disk's journal a
                // transaction.
                let text = format!("{own} {}", process::start_ticks(own).unwrap_or(0));
                lock.write_all(format!("{text:<LOCK_LENGTH$}").as_bytes())?;
                return Ok(Some(lock));
            }
            // The directory was removed while it was being locked.
            Ok(()) => make(dir)?,
            Err(TryLockError::WouldBlock) if host_of(dir).is_some() => break,
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(e)) => return Err(e),
        }
    }
    Ok(None)
}

pub(super) fn open_lock(dir: &Path, owner: FileOwner) -> Option<File> {
    safe_file::open(&dir.join(LOCK), FileRule { owner, ..FileRule::own(u64::MAX) }).ok().flatten()
}

/// Whether a host holds the session's lock.
pub fn is_alive(dir: &Path) -> bool {
    // Root may check another user's session: whether it lives is no secret, and it refuses to talk to root.
    open_lock(dir, FileOwner::Anyone)
        .is_some_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The process that holds the session's lock, if it is still the one that took it.
pub fn host_of(dir: &Path) -> Option<i32> {
    let lock = open_lock(dir, FileOwner::User)?;
    if !matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut text = String::new();
    lock.take(LOCK_LENGTH as u64).read_to_string(&mut text).ok()?;
    let (pid, start) = text.trim_end().split_once(' ')?;
    let (pid, start): (u32, u64) = (pid.parse().ok()?, start.parse().ok()?);
    if process::is_alive(pid, start) { i32::try_from(pid).ok().filter(|pid| *pid > 1) } else { None }
}

/// The session's host if it is stopped (SIGSTOP).
pub fn stopped_host(dir: &Path) -> Option<i32> {
    host_of(dir).filter(|pid| process::Stat::of(*pid).is_some_and(|stat| stat.is_stopped()))
}

/// Whether a process that listens at its socket is the host of the session in this directory. The lock
/// decides; without a lock, it counts as the host if no other host is among its ancestors, as one is for
/// everything that its program started. Ancestors of this process do not count.
pub fn is_host(dir: &Path, pid: i32) -> bool {
    let hosts_above = |pid: i32| -> Vec<i32> {
        let chain = process::lineage(pid).unwrap_or_default();
        let above = chain.iter().skip(1).filter(|named| HOST_NAMES.0.to_str() == Ok(named.name.as_str()));
        above.map(|named| named.stat.pid).collect()
    };
    match host_of(dir) {
        Some(host) => host == pid,
        None => {
            let own = hosts_above(i32::try_from(std::process::id()).unwrap_or(0));
            hosts_above(pid).iter().all(|host| own.contains(host))
        }
    }
}

/// The session whose host is the process `pid` that began at `start`, in clock ticks since boot.
pub fn of_host(paths: &Paths, pid: i32, start: u64) -> Option<SessionName> {
    let dir = std::fs::read_dir(paths.sessions()).ok()?;
    let wanted = format!("{pid} {start}");
    dir.flatten().filter_map(|entry| session_of_entry(&entry)).find(|name| {
        let mut text = String::new();
        let read = open_lock(&paths.session(name), FileOwner::User)
            .map(|lock| lock.take(LOCK_LENGTH as u64).read_to_string(&mut text));
        read.is_some_and(|read| read.is_ok()) && text.trim_end() == wanted
    })
}

/// Removes the socket of a host that was killed. False if the session's host lives.
pub fn remove_stale_socket(paths: &Paths, name: &SessionName) -> bool {
    let Ok(lock) = lock_file(&paths.session(name)) else { return false };
    // A dying process closes its connections before it releases its lock.
    for _ in 0..DYING_TRIES {
        if lock.try_lock().is_ok() {
            // Nobody can take the name and bind meanwhile.
            for name in former_names(paths, name).iter().chain([name]) {
                let _ = std::fs::remove_file(paths.socket(name));
            }
            return true;
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    false
}
