//! The files of a test's evidence, in a directory that hopty makes: `target/hopty/TEST`.
//!
//! A repository may bring along links in their place, which would lead the files elsewhere. `target` itself
//! may be one: people have it on another disk.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::fs::file_error::FsError;

/// Makes the directory of a test.
///
/// # Errors
/// When it or the directory above it is a link or a file, or it cannot be made.
pub(super) fn make_evidence_dir(dir: &Path) -> Result<(), FsError> {
    dir.parent().map_or(Ok(()), must_be_dir)?;
    make_evidence_root(dir)
}

/// Makes the directory of all tests.
///
/// # Errors
/// When it is a link or a file, or it cannot be made.
pub(super) fn make_evidence_root(dir: &Path) -> Result<(), FsError> {
    must_be_dir(dir)?;
    fs::create_dir_all(dir).map_err(FsError::io("make the directory", dir))
}

fn must_be_dir(path: &Path) -> Result<(), FsError> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => Err(FsError::Symlink(path.to_owned())),
        Ok(meta) if !meta.is_dir() => {
            Err(FsError::WrongKind { path: path.to_owned(), expected: "directory" })
        }
        _ => Ok(()),
    }
}

/// Writes a file into a directory of [`make_evidence_dir`], in the place of a file or link of that name.
///
/// # Errors
/// When a directory is in its place, or it cannot be written.
pub(super) fn write_evidence_file(path: &Path, content: &[u8]) -> Result<(), FsError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(FsError::io("replace", path)(error)),
        _ => {}
    }
    let mut file =
        File::options().write(true).create_new(true).open(path).map_err(FsError::io("create", path))?;
    file.write_all(content).map_err(FsError::io("write", path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_leads_no_evidence_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let mine = dir.path().join("mine");
        fs::create_dir(&mine).unwrap();
        fs::write(mine.join("notes.txt"), "mine").unwrap();
        let target = dir.path().join("target");
        fs::create_dir_all(target.join("hopty")).unwrap();
        symlink(&mine, target.join("hopty/one")).unwrap();
        symlink(&mine, target.join("linked")).unwrap();
        fs::write(target.join("hopty/file"), "").unwrap();
        for bad in ["hopty/one", "linked/one"] {
            let made = make_evidence_dir(&target.join(bad));
            assert!(matches!(made, Err(FsError::Symlink(_))), "{bad}: {made:?}");
        }
        assert!(matches!(make_evidence_dir(&target.join("hopty/file")), Err(FsError::WrongKind { .. })));
        assert!(matches!(make_evidence_root(&target.join("linked")), Err(FsError::Symlink(_))));
        assert_eq!(fs::read_dir(&mine).unwrap().count(), 1);

        let two = target.join("hopty/two");
        make_evidence_dir(&two).unwrap();
        symlink(mine.join("notes.txt"), two.join("screen.txt")).unwrap();
        for content in ["first", "second"] {
            write_evidence_file(&two.join("screen.txt"), content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(two.join("screen.txt")).unwrap(), content);
        }
        assert_eq!(fs::read_to_string(mine.join("notes.txt")).unwrap(), "mine");
    }
}
