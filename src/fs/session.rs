//! A session's directory: its name is taken as long as its host holds the lock (CONTRACT C1). The lock decides life,
//! never a pid file.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::libc;

use super::paths::Paths;
use crate::core::ids::SessionName;

/// A name that this process holds.
#[derive(Debug)]
pub struct Claim {
    /// The name.
    pub name: SessionName,
    /// Its directory.
    pub dir: PathBuf,
    _lock: File,
}

/// Makes a private directory and its parents; an existing one is left as it is.
///
/// # Errors
/// When one cannot be made.
pub fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Makes hopty's own directories, and makes sure that nobody else can look into them.
///
/// # Errors
/// When one cannot be made or belongs to somebody else.
pub fn prepare(paths: &Paths) -> io::Result<()> {
    for dir in [paths.state.clone(), paths.sessions(), paths.run()] {
        private_dir(&dir)?;
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700))?;
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
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(dir.join("lock"))
}

/// Takes a name: `wanted`, or with `numbered` the first of `wanted`, `wanted-2`, ... that is free.
///
/// # Errors
/// `AlreadyExists` when the name is taken; others when the directory cannot be made.
pub fn claim(paths: &Paths, wanted: &SessionName, numbered: bool) -> io::Result<Claim> {
    let mut name = wanted.clone();
    for n in 2..10_000 {
        let dir = paths.session(&name);
        private_dir(&dir)?;
        let lock = lock_file(&dir)?;
        match lock.try_lock() {
            Ok(()) => return Ok(Claim { name, dir, _lock: lock }),
            Err(std::fs::TryLockError::WouldBlock) if numbered => name = wanted.numbered(n),
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("the name {name} is taken")));
            }
            Err(std::fs::TryLockError::Error(e)) => return Err(e),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "every numbered name is taken"))
}

/// Whether a host holds the session's lock.
#[must_use]
pub fn is_alive(dir: &Path) -> bool {
    let Ok(lock) = File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(dir.join("lock")) else {
        return false;
    };
    matches!(lock.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
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

    #[test]
    fn a_name_is_taken_while_its_claim_lives() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::from_env(|name| (name == "HOME").then(|| home.path().into())).unwrap();
        prepare(&paths).unwrap();
        let wanted: SessionName = "proj".parse().unwrap();
        let first = claim(&paths, &wanted, true).unwrap();
        let second = claim(&paths, &wanted, true).unwrap();
        assert_eq!((first.name.as_str(), second.name.as_str()), ("proj", "proj-2"));
        assert_eq!(claim(&paths, &wanted, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(list(&paths).iter().all(|(_, alive)| *alive));
        drop(first);
        assert!(!is_alive(&paths.session(&wanted)));
        assert_eq!(claim(&paths, &wanted, true).unwrap().name, wanted);
    }
}
