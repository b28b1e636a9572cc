//! Inspects and changes files as `core::file_edit` describes.
//!
//! Most of them are in the project, which may contain anything: the directories below it must be real
//! directories of this user, links are refused, and files of other users are left alone.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::atomic;
use super::file_error::FsError;
use super::store::TRANSCRIPT_CAP;
use crate::core::file_edit::{FileEdit, FileEdits, FileFacts, FileView};
use crate::core::time::WallTime;
use crate::sys::fault_injection;
use crate::sys::private_dir::{self, is_own};
use crate::sys::safe_file::{self, FileRule, WriteMode};

/// The longest file of another program that is changed, and the longest log, in bytes.
const CHANGED_CAP: u64 = 1 << 20;
/// How many entries of a directory are examined.
const LOOKED_AT: usize = 10_000;

/// The files on the disk.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

impl FileView for Disk {
    fn text(&self, path: &Path) -> Result<String, String> {
        let bytes = atomic::read_own(path, CHANGED_CAP, 0).map_err(|e| e.to_string())?.unwrap_or_default();
        String::from_utf8(bytes).map_err(|_| format!("cannot read {}: it is not UTF-8", path.display()))
    }

    fn beginning(&self, path: &Path, bytes: u64) -> String {
        let file = safe_file::open(path, FileRule::own(u64::MAX)).ok().flatten();
        let bytes = file.and_then(|file| safe_file::first_bytes(file, bytes).ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn facts(&self, path: &Path) -> Option<FileFacts> {
        let meta = fs::symlink_metadata(path).ok()?;
        Some(FileFacts {
            own: meta.is_file() && is_own(&meta),
            bytes: meta.len(),
            written: WallTime(meta.mtime().saturating_mul(1000)),
        })
    }

    fn length(&self, path: &Path) -> u64 {
        fault_injection::before_read();
        fs::metadata(path).map_or(0, |meta| meta.len())
    }

    fn names(&self, dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(LOOKED_AT);
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn is_inside(&self, project: &Path, below: &str) -> bool {
        steps(project, below)
            .all(|dir| fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir() && is_own(&meta)))
    }
}

/// Makes these changes.
///
/// # Errors
/// The first that fails, in a sentence without its full stop; those before it are made. Nothing is changed
/// if the source of a copy cannot be read.
pub fn make(changes: FileEdits) -> Result<(), String> {
    let copied = changes.iter().flatten().filter_map(|change| match change {
        FileEdit::Copy { from, .. } => Some(source(from)),
        _ => None,
    });
    let mut sources = copied.collect::<Result<VecDeque<File>, FsError>>().map_err(|e| e.to_string())?;
    for change in changes {
        let made = match change? {
            FileEdit::DirInProject { project, below } => inside(&project, &below),
            FileEdit::PrivateDir(dir) => atomic::private_dir(&dir),
            FileEdit::Replace(path, text) => replace(&path, text.as_bytes()),
            FileEdit::Create(path, text) => create(&path, &text),
            FileEdit::Append(path, line) => append(&path, &line),
            FileEdit::Copy { to, bytes, .. } => match sources.pop_front() {
                Some(source) => {
                    atomic::write_with(&to, |file| io::copy(&mut source.take(bytes), file).map(drop))
                }
                None => Ok(()),
            },
            FileEdit::Remove(path) => remove(&path),
        };
        made.map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Makes each of these lists of changes; returns a sentence for each that failed.
pub fn make_each(lists: Vec<(String, FileEdits)>) -> Vec<String> {
    let failed = |(said, changes)| Some(format!("{said}: {}", make(changes).err()?));
    lists.into_iter().filter_map(failed).collect()
}

/// Opens a transcript to copy it.
fn source(path: &Path) -> Result<File, FsError> {
    let missing = || FsError::io("open", path)(io::ErrorKind::NotFound.into());
    safe_file::open(path, FileRule::of_claude(TRANSCRIPT_CAP).of_this_user())?.ok_or_else(missing)
}

/// Appends a line to a log, which is rotated (`.1`) when it exceeds 1 MiB.
fn append(path: &Path, line: &str) -> Result<(), FsError> {
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.len() > CHANGED_CAP) {
        let mut old = path.to_owned().into_os_string();
        old.push(".1");
        fs::rename(path, &old).map_err(FsError::io("rename", path))?;
    }
    let mut file = safe_file::open_to_write(path, WriteMode::Append, FileRule::own(u64::MAX))?;
    file.write_all(line.as_bytes()).map_err(FsError::io("write", path))
}

/// A directory below the project, created if it is missing.
fn inside(project: &Path, below: &str) -> Result<(), FsError> {
    for dir in steps(project, below) {
        match private_dir::create(&dir) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(FsError::io("create the directory", &dir)(e));
            }
            _ => {}
        }
        let meta = fs::symlink_metadata(&dir).map_err(FsError::io("inspect", &dir))?;
        if meta.is_symlink() {
            return Err(FsError::Symlink(dir));
        }
        if !meta.is_dir() {
            return Err(FsError::WrongKind { path: dir, expected: "directory" });
        }
        if !is_own(&meta) {
            return Err(FsError::NotPrivate(dir));
        }
    }
    Ok(())
}

/// The directories from the project down to `below`, without the project itself.
fn steps(project: &Path, below: &str) -> impl Iterator<Item = PathBuf> {
    let mut dir = project.to_owned();
    below.split('/').map(move |name| {
        dir.push(name);
        dir.clone()
    })
}

/// Replaces a file of this user, or creates it (0600); an existing file keeps its mode.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    let old = fs::symlink_metadata(path).ok();
    if old.as_ref().is_some_and(|meta| !is_own(meta)) {
        return Err(FsError::NotPrivate(path.to_owned()));
    }
    let mode = old.filter(fs::Metadata::is_file).map(|meta| meta.permissions());
    atomic::write_with(path, |file: &mut File| {
        file.write_all(bytes)?;
        mode.map_or(Ok(()), |mode| file.set_permissions(mode))
    })
}

fn create(path: &Path, text: &str) -> Result<(), FsError> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| {
        file.write_all(text.as_bytes()).inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
    });
    written.map_err(FsError::io("write", path))
}

fn remove(path: &Path) -> Result<(), FsError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(FsError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const DIR: &str = ".claude/memory";

    fn in_project(project: &Path, change: FileEdit) -> FileEdits {
        let dir = FileEdit::dir_in_project(project, DIR);
        vec![Ok(dir), Ok(change)]
    }

    #[test]
    fn changes_are_made_in_order_up_to_the_first_that_fails() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path();
        let at = |name: &str| project.join(DIR).join(name);
        let text = |name: &str| fs::read_to_string(at(name)).unwrap();
        make(in_project(project, FileEdit::Create(at("a"), "one".to_owned()))).unwrap();
        let again = make(in_project(project, FileEdit::Create(at("a"), "two".to_owned())));
        assert!(again.unwrap_err().starts_with("cannot write "));
        assert_eq!(text("a"), "one");
        fs::set_permissions(at("a"), fs::Permissions::from_mode(0o640)).unwrap();
        let changes = vec![
            Ok(FileEdit::Replace(at("a"), "three".to_owned())),
            Ok(FileEdit::Append(at("log"), "line\n".to_owned())),
            Ok(FileEdit::Copy { from: at("a"), to: at("copy"), bytes: 2 }),
            Ok(FileEdit::Remove(at("none"))),
            Err("it cannot be".to_owned()),
            Ok(FileEdit::Remove(at("a"))),
        ];
        assert_eq!(make(changes).unwrap_err(), "it cannot be");
        assert_eq!((text("a"), text("log"), text("copy")), ("three".into(), "line\n".into(), "on".into()));
        assert_eq!(fs::metadata(at("a")).unwrap().mode() & 0o777, 0o640);
        assert_eq!(Disk.facts(&at("a")).map(|facts| (facts.own, facts.bytes)), Some((true, 5)));
        let none = FileEdit::Copy { from: at("none"), to: at("x"), bytes: 1 };
        let changes = vec![Ok(FileEdit::Remove(at("a"))), Ok(none)];
        assert!(make(changes).unwrap_err().starts_with("cannot open "));
        assert!(at("a").exists(), "nothing is changed");
    }

    #[test]
    fn no_link_of_the_project_is_followed() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let project = dir.path();
        fs::create_dir(project.join(".claude")).unwrap();
        symlink(elsewhere.path(), project.join(DIR)).unwrap();
        assert!(!Disk.is_inside(project, DIR) && Disk.is_inside(project, ".claude"));
        let path = project.join(DIR).join("a");
        for change in [FileEdit::Create(path.clone(), String::new()), FileEdit::Replace(path, String::new())]
        {
            assert!(make(in_project(project, change)).unwrap_err().contains("symbolic link"));
        }
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        let link = project.join("link");
        fs::write(elsewhere.path().join("theirs"), "x").unwrap();
        symlink(elsewhere.path().join("theirs"), &link).unwrap();
        assert!(Disk.text(&link).unwrap_err().contains("symbolic link"));
        assert_eq!(Disk.facts(&link).map(|facts| facts.own), Some(false));
        assert!(make(vec![Ok(FileEdit::Append(link, "y".to_owned()))]).is_err());
    }
}
