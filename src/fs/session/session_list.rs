//! Lists all sessions that have a directory, and removes those that have ended.

use std::io;
use std::time::{Duration, SystemTime};

use super::name_lock::{is_alive, lock_file};
use super::session_rename;
use super::{LOCK, RECORDINGS, STATUS};
use crate::core::ids::SessionName;
use crate::fs::paths::Paths;
use crate::sys::private_dir;
use crate::sys::safe_file::FileLinks;

/// Removes the leftovers of sessions that ended more than `days` ago.
pub fn sweep(paths: &Paths, days: u32) {
    let limit = Duration::from_secs(u64::from(days) * 86_400);
    for name in ended_names(paths) {
        let dir = paths.session(&name);
        let age = [STATUS, LOCK]
            .iter()
            .find_map(|file| std::fs::symlink_metadata(dir.join(file)).ok()?.modified().ok());
        let old = age.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > limit);
        if old {
            let _ = remove(paths, &name);
        }
    }
}

/// How many recordings a session's own directory has.
pub fn recordings(paths: &Paths, name: &SessionName) -> usize {
    std::fs::read_dir(paths.session(name).join(RECORDINGS)).map_or(0, |entries| entries.flatten().count())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    Removed,
    /// A host holds its name.
    InUse,
}

/// Removes the directory and the socket of an ended session.
///
/// # Errors
/// When the system refuses it, or the directory is a link.
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
    // Renamed first: a process that takes this name meanwhile creates a directory of its own, which must
    // not be removed.
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

/// The session of a directory entry; a link is a former name.
pub(super) fn session_of_entry(entry: &std::fs::DirEntry) -> Option<SessionName> {
    let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
    entry.file_name().to_str().filter(|_| !is_link)?.parse().ok()
}

/// A session that has a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedSession {
    pub name: SessionName,
    /// Whether its host lives.
    pub is_alive: bool,
}

/// The sessions whose hosts live, by name.
pub fn live_names(paths: &Paths) -> Vec<SessionName> {
    list(paths).into_iter().filter(|session| session.is_alive).map(|session| session.name).collect()
}

/// The sessions that have ended, by name.
pub fn ended_names(paths: &Paths) -> Vec<SessionName> {
    list(paths).into_iter().filter(|session| !session.is_alive).map(|session| session.name).collect()
}

/// All sessions that have a directory, by name.
pub fn list(paths: &Paths) -> Vec<ListedSession> {
    let Ok(dir) = std::fs::read_dir(paths.sessions()) else { return Vec::new() };
    let mut found: Vec<_> = dir
        .flatten()
        .filter_map(|entry| session_of_entry(&entry))
        .map(|name| ListedSession { is_alive: is_alive(&paths.session(&name)), name })
        .collect();
    found.sort();
    found
}
