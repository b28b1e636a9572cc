//! hopty's own directories: created for this user alone, and checked before they are used.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::LOG;
use super::session_error::SessionError;
use crate::fs::paths::Paths;
use crate::sys::fault_injection;
use crate::sys::private_dir::{self, DirError};
use crate::sys::safe_file::{self, FileLinks, FileRule, WriteMode};

/// How often to retry creating a directory that is removed meanwhile.
const MAKE_TRIES: u32 = 5;

/// Creates hopty's own directories, and checks that they belong to this user and are closed to others. An
/// unsafe one is refused, not repaired: somebody else may have written its content.
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

/// As [`prepare`]; also checks that there is space for a session.
///
/// # Errors
/// As [`prepare`], and [`SessionError::Full`].
pub fn prepare_with_room(paths: &Paths) -> Result<(), SessionError> {
    prepare(paths)?;
    crate::fs::free_space::space_problem(&paths.state, crate::fs::free_space::FOR_SESSION)
        .map_or(Ok(()), |full| Err(SessionError::Full(full)))
}

/// Creates the directory if it is missing, and checks it.
pub(super) fn private(dir: &Path, links: FileLinks, closed: u32) -> Result<(), DirError> {
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
/// When it is not a file of this user, or cannot be created.
pub fn open_log(dir: &Path) -> io::Result<File> {
    let log = safe_file::open_to_write(&dir.join(LOG), WriteMode::Append, FileRule::own(u64::MAX))?;
    safe_file::open_to_owner(&log)?;
    Ok(log)
}

/// Creates a directory and its missing parents, each accessible to this user whatever the umask is: a
/// directory of mode 000 would stay unusable.
pub(super) fn make(dir: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = dir
        .ancestors()
        .take_while(|at| !at.as_os_str().is_empty() && std::fs::symlink_metadata(at).is_err())
        .collect();
    if missing.is_empty() {
        // It must be a directory, or a link to one.
        return private_dir::create_all(dir);
    }
    for dir in missing.into_iter().rev() {
        match private_dir::create(dir) {
            Ok(()) => std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?,
            // Another process may be creating it, too.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Creates the directory of a session. An ended session of that name may be removed
/// ([`remove`](super::remove)) at any moment.
pub(super) fn make_session_dir(dir: &Path) -> Result<(), DirError> {
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
