//! Where a file is restored or moved to, and which directories it needs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::file_error::FsError;

/// The path `below` a directory, which no link redirects.
///
/// # Errors
/// As [`missing_directories`].
pub(super) fn restore_target(top: &Path, below: &Path) -> Result<PathBuf, FsError> {
    missing_directories(top, below)?;
    Ok(top.join(below))
}

/// The missing directories above a file `below` a directory, parents first. Existing ones must be real
/// directories, because links could lead elsewhere: only the first may be a link of the person, such as
/// `projects` on another disk.
///
/// # Errors
/// When a part of the path is a link or not a directory, or cannot be inspected.
pub(super) fn missing_directories(top: &Path, below: &Path) -> Result<Vec<PathBuf>, FsError> {
    let (mut dir, mut missing) = (top.to_owned(), Vec::new());
    for (depth, part) in below.parent().into_iter().flat_map(Path::components).enumerate() {
        dir.push(part);
        match fs::symlink_metadata(&dir) {
            Ok(meta) if meta.is_dir() => {}
            Ok(meta) if meta.is_symlink() && depth == 0 && dir.is_dir() => {}
            Ok(meta) if meta.is_symlink() => return Err(FsError::Symlink(dir)),
            Ok(_) => return Err(FsError::WrongKind { path: dir, expected: "directory" }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(dir.clone()),
            Err(error) => return Err(FsError::io("look at", &dir)(error)),
        }
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_the_first_directory_may_be_a_link() {
        let root = tempfile::tempdir().unwrap();
        let (top, elsewhere) = (root.path().join("top"), root.path().join("elsewhere"));
        fs::create_dir_all(top.join("real/deep")).unwrap();
        fs::create_dir_all(elsewhere.join("deep")).unwrap();
        symlink(&elsewhere, top.join("own")).unwrap();
        symlink(&elsewhere, top.join("real/link")).unwrap();
        symlink("/nowhere", top.join("dangling")).unwrap();
        fs::write(top.join("file"), "").unwrap();
        for below in ["f", "real/deep/f", "own/deep/f", "new/deep/f", "real/new/f"] {
            assert_eq!(restore_target(&top, Path::new(below)).unwrap(), top.join(below), "{below}");
        }
        for (below, why) in [
            ("real/link/f", "link"),
            ("real/link/deep/f", "link"),
            ("dangling/f", "link"),
            ("file/f", "directory"),
        ] {
            let error = restore_target(&top, Path::new(below)).unwrap_err().to_string();
            assert!(error.contains(why), "{below}: {error}");
        }
    }
}
