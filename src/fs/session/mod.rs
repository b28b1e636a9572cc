//! A session's directory. The name is taken as long as the host holds the lock: whether a session is alive
//! is decided by the lock, never by a pid file.

mod session_rename;

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use thiserror::Error;

use crate::core::ids::{ConversationId, SessionName};
use crate::core::status_types::{ExitKind, SessionStatus};
use crate::core::supervisor::Agent;
use crate::fs::paths::Paths;
use crate::sys::boot;
use crate::sys::fault_injection;
use crate::sys::private_dir::{self, DirError};
use crate::sys::process;
use crate::sys::safe_file::{self, FileLinks, FileOwner, FileRule, SafeFileError, WriteMode};

pub use session_rename::{current, edit_ended, forget_former_names, former_names, new_name_of, rename_ended};

/// The names of the files in a session's directory: the lock that its host holds, what `hopty status` says,
/// the journal, the host's log, and the directory of its recordings.
pub const LOCK: &str = "lock";
pub const STATUS: &str = "session.json";
pub const JOURNAL: &str = "journal.jsonl";
pub const LOG: &str = "host.log";
pub const RECORDINGS: &str = "recordings";

/// The process names (`comm`) of a host that runs Claude, and of one that runs any other program. Older hosts
/// have the first name, whatever they run.
pub const HOST_NAMES: (&std::ffi::CStr, &std::ffi::CStr) = (c"hopty-host", c"hopty-plain");
/// How often to retry a lock without a living holder before its name counts as taken. A process that only
/// checks whether a host lives holds it for a moment, on a busy machine for a longer one.
const LOCK_TRIES: u32 = 250;
/// How often to make a directory that is removed meanwhile.
const MAKE_TRIES: u32 = 5;
/// The same for the lock of a host that is dying.
const DYING_TRIES: u32 = 50;
/// How long to wait between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(4);

/// The longest session file that is read, in bytes: it contains the command line, of which the kernel accepts
/// up to 2 MiB.
const STATUS_CAP: u64 = 16 << 20;
/// The longest picture of a last screen that is read, in bytes.
const SCREEN_CAP: u64 = 64 << 20;

/// Bytes of a lock's content: pid and start time of its host, padded with spaces.
const LOCK_LENGTH: usize = 48;

/// Why hopty's own directories cannot be used, or a name cannot be taken.
#[derive(Debug, Error)]
pub enum SessionError {
    /// A directory of hopty's is not safe, or the system refused it.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// The home directory that it would be in is missing; hopty does not create one.
    #[error("the home directory {0} does not exist")]
    NoHome(PathBuf),
    /// The disk is full.
    #[error("{0}")]
    Full(String),
    /// A living host holds the name.
    #[error("the name is taken")]
    Taken(SessionName),
    /// A running session had the name before, and its program still uses it.
    #[error("the name is taken: session {now} had it, and its program uses it until it ends")]
    Former {
        name: SessionName,
        /// The session's present name.
        now: SessionName,
    },
    #[error("an ended session has that name")]
    Ended(SessionName),
}

impl SessionError {
    /// How a person can fix it.
    pub fn hint(&self) -> String {
        match self {
            SessionError::Dir(error) => error.hint().unwrap_or_else(|| {
                "hopty keeps its sessions below XDG_STATE_HOME, or ~/.local/state".to_owned()
            }),
            SessionError::NoHome(path) => {
                format!("create {}, or set HOME or XDG_STATE_HOME to a directory that exists", path.display())
            }
            SessionError::Full(_) => "free some space there".to_owned(),
            SessionError::Former { name, now } => {
                format!("use another name, or `hopty rename {now} {name}` to give it back")
            }
            SessionError::Ended(name) => {
                format!("`hopty rm {name}` removes that one, `hopty rename {name} NEW` gives it another name")
            }
            SessionError::Taken(name) => {
                format!("`hopty attach {name}` attaches to the session with that name; use another name")
            }
        }
    }
}

/// A name that this process holds.
#[derive(Debug)]
pub struct NameLock {
    pub name: SessionName,
    pub dir: PathBuf,
    lock: Option<File>,
    lock_id: Option<(u64, u64)>,
    keeper: Keeper,
}

impl NameLock {
    fn new(name: SessionName, dir: PathBuf, lock: File) -> NameLock {
        let lock_id = lock.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
        let keeper =
            Keeper(Arc::new(Mutex::new(LockedDir { name: name.clone(), dir: dir.clone(), lock_id })));
        NameLock { name, dir, lock: Some(lock), lock_id, keeper }
    }

    /// Device and inode of its lock; `None` once it is released. Does not access the disk.
    pub fn lock_id(&self) -> Option<(u64, u64)> {
        self.lock.as_ref().and(self.lock_id)
    }

    /// A handle that restores the directory from another thread.
    pub fn keeper(&self) -> Keeper {
        self.keeper.clone()
    }

    /// Frees the name before the process ends.
    pub fn give_back(&mut self) {
        self.lock = None;
    }
}

/// Where a claim's directory is.
#[derive(Debug)]
struct LockedDir {
    name: SessionName,
    dir: PathBuf,
    lock_id: Option<(u64, u64)>,
}

/// Checks that a claim's directory still exists, and restores it. It accesses disks, so it is for a thread
/// that may wait.
#[derive(Clone, Debug)]
pub struct Keeper(Arc<Mutex<LockedDir>>);

impl Keeper {
    /// The name and its directory, as last claimed.
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
            // Made by whoever moved the directory away: hopty does not follow it.
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

/// Creates hopty's own directories, and checks that they are this user's and closed to others. An unsafe one
/// is refused, not repaired: somebody else may have written its content.
///
/// # Errors
/// When one cannot be created, or is unsafe.
pub fn prepare(paths: &Paths) -> Result<(), SessionError> {
    if paths.state.starts_with(&paths.home) && !paths.home.is_dir() && !paths.state.is_dir() {
        return Err(match std::fs::metadata(&paths.home) {
            Ok(_) => DirError::NoDirectory(paths.home.clone()).into(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => SessionError::NoHome(paths.home.clone()),
            Err(e) => DirError::Io(paths.home.clone(), e).into(),
        });
    }
    // The state directory itself may be a link to another disk; the directories below it may not.
    private(&paths.state, FileLinks::Follow, 0o022)?;
    private(&paths.sessions(), FileLinks::Refuse, 0o022)?;
    Ok(private(&paths.run(), FileLinks::Refuse, 0o077)?)
}

/// The same, and checks that there is room for a session.
///
/// # Errors
/// As [`prepare`], and [`SessionError::Full`].
pub fn prepare_with_room(paths: &Paths) -> Result<(), SessionError> {
    prepare(paths)?;
    crate::fs::free_space::lack(&paths.state, crate::fs::free_space::FOR_SESSION)
        .map_or(Ok(()), |full| Err(SessionError::Full(full)))
}

/// Creates the directory if it is missing, and checks it.
fn private(dir: &Path, links: FileLinks, closed: u32) -> Result<(), DirError> {
    fault_injection::before_read();
    match make(dir) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            return Err(DirError::NoDirectory(dir.to_owned()));
        }
        made => made.map_err(|e| DirError::Io(dir.to_owned(), e))?,
    }
    private_dir::check(dir, links, closed)
}

/// Opens the log of a session's host.
///
/// # Errors
/// When something else is in its place, or it cannot be created.
pub fn open_log(dir: &Path) -> io::Result<File> {
    let log = safe_file::open_to_write(&dir.join(LOG), WriteMode::Append, FileRule::own(u64::MAX))?;
    safe_file::open_to_owner(&log)?;
    Ok(log)
}

/// Creates a directory and its missing parents, each accessible to this user whatever the umask is: a
/// directory of mode 000 would stay that way.
fn make(dir: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = dir
        .ancestors()
        .take_while(|at| !at.as_os_str().is_empty() && std::fs::symlink_metadata(at).is_err())
        .collect();
    if missing.is_empty() {
        // What is there must be a directory, or a link to one.
        return DirBuilder::new().recursive(true).mode(0o700).create(dir);
    }
    for dir in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(dir) {
            Ok(()) => std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?,
            // Another process may be creating it, too.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn lock_file(dir: &Path) -> io::Result<File> {
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
        // A start that names no session must not take the place of one that can still be resumed.
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

/// Makes the directory of a session. An ended one of that name may be removed ([`remove`]) at any moment
/// before, while or after it is made.
fn make_session_dir(dir: &Path) -> Result<(), DirError> {
    let mut made = private(dir, FileLinks::Refuse, 0o022);
    for _ in 1..MAKE_TRIES {
        match &made {
            Err(DirError::Io(_, e)) if e.kind() == io::ErrorKind::NotFound => {}
            Err(DirError::NoDirectory(_)) => {}
            _ => break,
        }
        made = private(dir, FileLinks::Refuse, 0o022);
    }
    made
}

fn last_waits_for_restore(dir: &Path) -> bool {
    status(dir).ok().flatten().is_some_and(|last| waits_for_restore(&last))
}

/// Whether a session that ended can be resumed by `hopty restore`: its host was killed, or ended with the
/// machine, and its conversation is there.
pub fn waits_for_restore(last: &SessionStatus) -> bool {
    was_killed(last) && resumable(last).is_some()
}

/// The same, wherever its conversation is.
pub fn was_killed(last: &SessionStatus) -> bool {
    let lost = last.exit.as_ref().is_none_or(|exit| exit.kind.is(ExitKind::Lost));
    let with_machine = last.machine.shutdown && is_of_another_boot(last);
    last.agent.is(Agent::Claude) && (lost || with_machine)
}

/// Whether the machine was started again since. A host of an older version noted no boot.
pub fn is_of_another_boot(last: &SessionStatus) -> bool {
    let (then, now) = (last.machine.boot_id.as_deref(), boot::id());
    then.is_some() && now.is_some() && then != now.as_deref()
}

/// The conversation of a session that Claude can go on with.
pub fn resumable(status: &SessionStatus) -> Option<&ConversationId> {
    let transcript = status.transcript.as_ref()?;
    status.conversation.as_ref().filter(|_| Path::new(transcript).is_file())
}

fn try_claim(dir: &Path) -> io::Result<Option<File>> {
    for _ in 0..LOCK_TRIES {
        let mut lock = match lock_file(dir) {
            // As below, a moment earlier.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
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
            // The directory was removed while it was being claimed.
            Ok(()) => make(dir)?,
            Err(TryLockError::WouldBlock) if host_of(dir).is_some() => break,
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(e)) => return Err(e),
        }
    }
    Ok(None)
}

fn open_lock(dir: &Path, owner: FileOwner) -> Option<File> {
    safe_file::open(&dir.join(LOCK), FileRule { owner, ..FileRule::own(u64::MAX) }).ok().flatten()
}

/// The last `session.json` that a session's host wrote; `None` if there is none.
///
/// # Errors
/// When something else is in the file's place, or it cannot be read.
pub fn status(dir: &Path) -> Result<Option<SessionStatus>, SafeFileError> {
    let bytes = safe_file::read(&dir.join(STATUS), FileRule::own(STATUS_CAP))?;
    Ok(bytes.and_then(|bytes| SessionStatus::read(&bytes)))
}

/// A live session other than `own` that runs this conversation, by what its host has written of it.
pub fn other_that_runs(
    paths: &Paths,
    own: &SessionName,
    conversation: &ConversationId,
) -> Option<SessionName> {
    let runs = |name: &SessionName| {
        let status = status(&paths.session(name)).ok().flatten();
        status.and_then(|status| status.conversation).as_ref() == Some(conversation)
    };
    let others = list(paths).into_iter().filter(|(name, alive)| *alive && name != own);
    others.map(|(name, _)| name).find(runs)
}

/// Whether the session's `session.json` is there and is none. Where nothing can be seen, nothing is damaged.
pub fn is_damaged(dir: &Path) -> bool {
    match status(dir) {
        Ok(status) => status.is_none() && dir.join(STATUS).exists(),
        Err(SafeFileError::Io { .. }) => false,
        Err(_) => true,
    }
}

/// The ended sessions of which that is so.
pub fn damaged(paths: &Paths) -> Vec<SessionName> {
    let ended = list(paths).into_iter().filter(|(_, alive)| !*alive).map(|(name, _)| name);
    ended.filter(|name| is_damaged(&paths.session(name))).collect()
}

/// What an ended session left on its screen, where nobody saw it: the object that a host answers.
pub fn last_screen(paths: &Paths, name: &SessionName) -> Option<serde_json::Value> {
    let bytes = safe_file::read(&paths.last_screen(name), FileRule::own(SCREEN_CAP)).ok()??;
    let last: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    (last["degraded"] == serde_json::json!(false)).then_some(last)
}

/// The directory that a session runs in, by its `session.json`.
pub fn working_dir(dir: &Path) -> Option<PathBuf> {
    let status = status(dir).ok()??;
    Some(status.dir).filter(|dir| !dir.is_empty()).map(PathBuf::from)
}

/// Whether a host holds the session's lock.
pub fn is_alive(dir: &Path) -> bool {
    // Root may check another user's session: that it lives is no secret, and it will not talk to root.
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

/// Whether a process that listens at its socket is the host of the session in this directory: according to
/// its lock, else because no other host is above it, as one is above everything that its program started. One
/// above this process does not count.
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
    dir.flatten().filter_map(|entry| named(&entry)).find(|name| {
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

/// Removes the leftovers of sessions that ended more than `days` ago.
pub fn sweep(paths: &Paths, days: u32) {
    let limit = Duration::from_secs(u64::from(days) * 86_400);
    for (name, alive) in list(paths) {
        let dir = paths.session(&name);
        let age = [STATUS, LOCK]
            .iter()
            .find_map(|file| std::fs::symlink_metadata(dir.join(file)).ok()?.modified().ok());
        let old = age.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > limit);
        if alive || !old {
            continue;
        }
        let _ = remove(paths, &name);
    }
}

/// How many recordings a session's own directory has.
pub fn recordings(paths: &Paths, name: &SessionName) -> usize {
    std::fs::read_dir(paths.session(name).join(RECORDINGS)).map_or(0, |entries| entries.flatten().count())
}

/// What came of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The session is gone.
    Removed,
    /// A host holds its name.
    InUse,
}

/// Removes the directory and the socket of an ended session.
///
/// # Errors
/// When the system refuses it, or a link stands in the directory's place.
pub fn remove(paths: &Paths, name: &SessionName) -> io::Result<Removal> {
    let dir = paths.session(name);
    private_dir::check(&dir, FileLinks::Refuse, 0).map_err(io::Error::other)?;
    // Nobody can take the name while it is removed.
    let lock = lock_file(&dir)?;
    if lock.try_lock().is_err() {
        return Ok(Removal::InUse);
    }
    let _ = std::fs::remove_file(paths.socket(name));
    session_rename::forget_former_names(paths, name);
    // Renamed first: whoever takes this name meanwhile creates a directory of its own, and nothing of that is
    // removed.
    let aside = dir.with_file_name(format!(".swept-{}-{name}", std::process::id()));
    std::fs::rename(&dir, &aside)?;
    std::fs::remove_dir_all(&aside)?;
    Ok(Removal::Removed)
}

/// Checks that the sessions can be listed, or that there are none yet.
///
/// # Errors
/// When their directory exists and cannot be read.
pub fn readable(paths: &Paths) -> io::Result<()> {
    match std::fs::read_dir(paths.sessions()) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The session that an entry of their directory is; a link is a former name.
fn named(entry: &std::fs::DirEntry) -> Option<SessionName> {
    let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
    entry.file_name().to_str().filter(|_| !is_link)?.parse().ok()
}

/// All sessions that have a directory, by name, each with whether its host lives.
pub fn list(paths: &Paths) -> Vec<(SessionName, bool)> {
    let Ok(dir) = std::fs::read_dir(paths.sessions()) else { return Vec::new() };
    let mut found: Vec<_> = dir
        .flatten()
        .filter_map(|entry| named(&entry))
        .map(|name| {
            let alive = is_alive(&paths.session(&name));
            (name, alive)
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests;
