//! The session documents in `.claude/memory` of a project, and the raw copies that nobody has reviewed: what
//! Claude's slash commands list, write and discard.
//!
//! The project may have come with anything: only plain names in real directories of this user count, links
//! are never followed, and the text of a document is data.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::FsError;
use super::layouts::{inside, is_inside, pending_backup, settle_backup, write_context};
use crate::core::compat::layouts::memory::{self, SessionNotes};
use crate::core::handoff::text::{cut_chars, safe_line};
use crate::core::time::WallTime;
use crate::sys::private_dir::is_own;
use crate::sys::safe_file::{self, FileRule};

/// How many documents are listed.
const LISTED: usize = 50;
/// How many entries of the directory are looked at.
const LOOKED_AT: usize = 10_000;
/// How much of a document is read for its title, in bytes.
const TITLE_READ: u64 = 4096;
/// How many documents one minute can have.
const SAME_MINUTE: u32 = 100;

/// A session document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionDocument {
    /// Where it is.
    pub path: PathBuf,
    /// When it was last written.
    pub written: WallTime,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its first heading or line, safe to show; empty if it has none.
    pub title: String,
}

/// The session documents of a project, the newest first, at most 50.
#[must_use]
pub fn list(project: &Path) -> Vec<SessionDocument> {
    if !is_inside(project, memory::DIR) {
        return Vec::new();
    }
    let entries = fs::read_dir(project.join(memory::DIR)).into_iter().flatten().flatten().take(LOOKED_AT);
    let mut found: Vec<SessionDocument> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(memory::is_document))
        .filter_map(|entry| {
            let meta = fs::symlink_metadata(entry.path()).ok()?;
            let written = WallTime(meta.mtime().checked_mul(1000)?);
            let (path, bytes) = (entry.path(), meta.len());
            (meta.is_file() && is_own(&meta)).then_some(SessionDocument {
                path,
                written,
                bytes,
                title: String::new(),
            })
        })
        .collect();
    // Of two in one second the greater name is the later one.
    found.sort_by(|a, b| (b.written, &b.path).cmp(&(a.written, &a.path)));
    found.truncate(LISTED);
    for document in &mut found {
        document.title = title(&document.path);
    }
    found
}

fn title(path: &Path) -> String {
    let file = safe_file::open(path, FileRule::own(u64::MAX)).ok().flatten();
    let bytes = file.and_then(|file| safe_file::first_bytes(file, TITLE_READ).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    cut_chars(&safe_line(line.unwrap_or_default()), 80)
}

/// Writes where the session stands into `active-context.md`, and returns its path.
///
/// # Errors
/// When a directory on the way is a link or somebody else's, or the file cannot be written.
pub fn save_context(project: &Path, now: WallTime, notes: &SessionNotes) -> Result<PathBuf, FsError> {
    let dir = inside(project, memory::DIR)?;
    write_context(&dir, now, None, notes)?;
    Ok(dir.join(memory::CONTEXT))
}

/// Writes a session document under the name of this minute, and returns its path.
///
/// # Errors
/// As for [`save_context`], and when this minute has a hundred of them.
pub fn save_document(project: &Path, now: WallTime, text: &str) -> Result<PathBuf, FsError> {
    let dir = inside(project, memory::DIR)?;
    for n in 0..SAME_MINUTE {
        let path = dir.join(memory::document_name(now, n));
        match create(&path, text) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done.map(|()| path.clone()).map_err(FsError::io("write", &path)),
        }
    }
    Err(FsError::io("write", &dir)(io::ErrorKind::AlreadyExists.into()))
}

/// Writes a session document to a path that a person chose. Nothing is overwritten.
///
/// # Errors
/// When something of this name exists, or the file cannot be written.
pub fn save_document_to(path: &Path, text: &str) -> Result<(), FsError> {
    create(path, text).map_err(FsError::io("write", path))
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes()).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Deletes the copy that waits to be reviewed. Returns its path, and that of the copy that waits now.
///
/// # Errors
/// When it cannot be deleted; then it waits on.
pub fn discard_backup(project: &Path) -> Result<Option<(PathBuf, Option<PathBuf>)>, FsError> {
    let Some(copy) = pending_backup(project).filter(|_| is_inside(project, ".claude/memory/raw")) else {
        return Ok(None);
    };
    fs::remove_file(&copy).map_err(FsError::io("remove", &copy))?;
    let name = copy.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    settle_backup(project, name).map(|other| Some((copy.clone(), other)))
}

/// Records that the copy of this name was reviewed. Returns the copy that waits now; `None` if none of this
/// name waited.
///
/// # Errors
/// When the marker or the list cannot be written.
pub fn reviewed(project: &Path, name: &str) -> Result<Option<Option<PathBuf>>, FsError> {
    let waits = pending_backup(project).is_some_and(|copy| copy.file_name().is_some_and(|own| own == name));
    if waits { settle_backup(project, name).map(Some) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn at() -> WallTime {
        WallTime::parse("2026-11-20T14:30:05Z").unwrap()
    }

    #[test]
    fn documents_are_written_once_and_listed() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path();
        assert_eq!(list(project), []);
        let context = save_context(project, at(), &SessionNotes::default()).unwrap();
        assert!(fs::read_to_string(context).unwrap().contains("## Its blockers"));
        let first = save_document(project, at(), "# First @x\n").unwrap();
        let second = save_document(project, at(), "\n\nSecond\u{1b}[31m\n").unwrap();
        assert_ne!(first, second);
        fs::write(project.join(".claude/memory/session-a b.md"), "no").unwrap();
        symlink("/etc/passwd", project.join(".claude/memory/session-link.md")).unwrap();
        let mut titles: Vec<String> = list(project).into_iter().map(|one| one.title).collect();
        titles.sort();
        assert_eq!(titles, ["First @x", "Second"]);
        assert!(save_document_to(&first, "again").is_err());
        assert_eq!(fs::read_to_string(&first).unwrap(), "# First @x\n");
    }

    #[test]
    fn no_link_of_the_project_is_followed() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let project = dir.path();
        fs::create_dir(project.join(".claude")).unwrap();
        symlink(elsewhere.path(), project.join(".claude/memory")).unwrap();
        fs::write(elsewhere.path().join("session-x.md"), "theirs").unwrap();
        assert_eq!(list(project), []);
        assert!(save_context(project, at(), &SessionNotes::default()).is_err());
        assert!(save_document(project, at(), "x").is_err());
        fs::write(elsewhere.path().join(".pending-backup"), "raw/a.jsonl\n").unwrap();
        fs::create_dir(elsewhere.path().join("raw")).unwrap();
        fs::write(elsewhere.path().join("raw/a.jsonl"), "{}").unwrap();
        assert_eq!(discard_backup(project).unwrap(), None);
        assert!(elsewhere.path().join("raw/a.jsonl").exists());
    }

    #[test]
    fn a_backup_is_discarded_and_the_one_before_it_waits() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path();
        let raw = project.join(".claude/memory/raw");
        fs::create_dir_all(&raw).unwrap();
        for name in ["a.jsonl", "b.jsonl"] {
            fs::write(raw.join(name), "{}").unwrap();
        }
        let (a, b) = (raw.join("a.jsonl"), raw.join("b.jsonl"));
        let memory = project.join(".claude/memory");
        fs::write(memory.join(".pending-backups"), format!("{}\n{}\n", a.display(), b.display())).unwrap();
        fs::write(memory.join(".pending-backup"), format!("{}\n", b.display())).unwrap();
        assert_eq!(reviewed(project, "a.jsonl").unwrap(), None, "it is not the one that waits");
        assert_eq!(discard_backup(project).unwrap(), Some((b.clone(), Some(a.clone()))));
        assert!(!b.exists() && a.exists());
        assert_eq!(reviewed(project, "a.jsonl").unwrap(), Some(None));
        assert!(a.exists() && !memory.join(".pending-backup").exists(), "what was reviewed is kept");
        assert_eq!(discard_backup(project).unwrap(), None);
    }
}
