//! Where a file is restored to.

use std::fs;
use std::path::{Path, PathBuf};

use super::file_error::FsError;

/// The path `below` a directory, which no link leads elsewhere: what is above the file has to be directories
/// as far as it exists. Only the first of them may be a link, one of the person's own, such as `projects` on
/// another disk.
///
/// # Errors
/// When a part of the path is a link or no directory.
pub(super) fn restore_target(top: &Path, below: &Path) -> Result<PathBuf, FsError> {
    let mut dir = top.to_owned();
    for (depth, part) in below.parent().into_iter().flat_map(Path::components).enumerate() {
        dir.push(part);
        match fs::symlink_metadata(&dir) {
            Ok(meta) if meta.is_dir() => {}
            Ok(meta) if meta.is_symlink() && depth == 0 && dir.is_dir() => {}
            Ok(meta) if meta.is_symlink() => return Err(FsError::Symlink(dir)),
            Ok(_) => return Err(FsError::WrongKind { path: dir, expected: "directory" }),
            Err(_) => break,
        }
    }
    Ok(top.join(below))
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
