//! Private directories: they must belong to this user and be closed to others before their content is
//! trusted.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::safe_file::FileLinks;
use crate::core::io_words::io_words;

/// Why a directory is not used.
#[derive(Debug, Error)]
pub enum DirError {
    /// It is a file, or a link where none is allowed.
    #[error("{0} is not a real directory")]
    NoDirectory(PathBuf),
    /// Another user owns it.
    #[error("{0} belongs to another user")]
    Foreign(PathBuf),
    /// Others can write to it, or read it.
    #[error("{path} is open to other users (mode {mode:03o})")]
    Open { path: PathBuf, mode: u32 },
    /// The system refused it.
    #[error("{}: {}", .0.display(), io_words(.1))]
    Io(PathBuf, io::Error),
}

impl DirError {
    /// How a person can fix it; `None` for a system error.
    pub fn hint(&self) -> Option<String> {
        match self {
            DirError::NoDirectory(path) => Some(format!("move {} out of the way", path.display())),
            DirError::Foreign(path) => Some(format!(
                "change its owner to yourself (chown), or move {} out of the way",
                path.display()
            )),
            DirError::Open { path, .. } => Some(format!("close it: chmod 700 {}", path.display())),
            DirError::Io(..) => None,
        }
    }
}

/// Creates a directory for this user alone (0700, less what the umask takes).
///
/// # Errors
/// When it exists, or cannot be created.
pub fn create(dir: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(dir)
}

/// As [`create`], with the missing directories above it; one that exists already stays as it is.
///
/// # Errors
/// When one cannot be created.
pub fn create_all(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Checks that a directory is this user's own, and that its mode has none of the bits of `closed`.
///
/// # Errors
/// Which of these conditions it violates.
pub fn check(dir: &Path, links: FileLinks, closed: u32) -> Result<(), DirError> {
    let look = if links == FileLinks::Follow { fs::metadata(dir) } else { fs::symlink_metadata(dir) };
    let meta = look.map_err(|e| DirError::Io(dir.to_owned(), e))?;
    if !meta.is_dir() {
        return Err(DirError::NoDirectory(dir.to_owned()));
    }
    if !is_own(&meta) {
        return Err(DirError::Foreign(dir.to_owned()));
    }
    let mode = meta.mode() & 0o777;
    if mode & closed != 0 { Err(DirError::Open { path: dir.to_owned(), mode }) } else { Ok(()) }
}

/// Whether this user owns it.
pub fn is_own(meta: &Metadata) -> bool {
    meta.uid() == nix::unistd::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_a_closed_directory_of_ones_own_will_do() {
        let parent = tempfile::tempdir().unwrap();
        let (dir, link, file) =
            (parent.path().join("dir"), parent.path().join("link"), parent.path().join("file"));
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o750)).unwrap();
        symlink(&dir, &link).unwrap();
        fs::write(&file, "").unwrap();
        check(&dir, FileLinks::Refuse, 0o022).unwrap();
        check(&link, FileLinks::Follow, 0o022).unwrap();
        assert!(matches!(check(&dir, FileLinks::Refuse, 0o077), Err(DirError::Open { mode: 0o750, .. })));
        for odd in [&link, &file] {
            assert!(matches!(check(odd, FileLinks::Refuse, 0o022), Err(DirError::NoDirectory(_))));
        }
        assert!(matches!(check(&parent.path().join("none"), FileLinks::Refuse, 0), Err(DirError::Io(..))));
    }
}
