//! The journal file: append only, one `write` per line or step, rotated by size. It is not fsynced, because
//! no work depends on it: it only explains what happened.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;

use crate::sys::safe_file::{self, FileRule, SafeFileError};

/// The most bytes of a journal that are read: the newest ones.
const READ_MOST: u64 = 256 << 20;
/// The most files that the configuration allows for one journal.
const MOST_FILES: u32 = 100;
/// A journal file: hopty's own, of any length.
pub const RULE: FileRule = FileRule::own(u64::MAX);

/// A journal being written.
#[derive(Debug)]
pub struct JournalLog {
    path: PathBuf,
    file: File,
    /// Its device and inode.
    id: Option<(u64, u64)>,
    bytes: u64,
    max_bytes: u64,
    files: u32,
}

fn open(path: &Path, truncate: bool) -> io::Result<File> {
    // A FIFO without a reader then returns an error instead of blocking.
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    // Always append: after a partial line was cut off, the next one must not leave a gap.
    let flags = flags | if truncate { libc::O_TRUNC } else { 0 };
    let file = File::options().create(true).append(true).mode(0o600).custom_flags(flags).open(path)?;
    safe_file::check(path, &file.metadata()?, RULE).map_err(io::Error::other)?;
    safe_file::open_to_owner(&file)?;
    Ok(file)
}

fn id(file: &File) -> Option<(u64, u64)> {
    file.metadata().ok().map(|meta| (meta.dev(), meta.ino()))
}

impl JournalLog {
    /// Starts a journal; one of an earlier session with the same name is rotated away.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn begin(path: &Path, max_bytes: u64, files: u32) -> io::Result<Self> {
        let file = open(path, false)?;
        let mut journal =
            JournalLog { path: path.to_owned(), id: id(&file), file, bytes: 0, max_bytes, files };
        if journal.file.metadata()?.len() > 0 {
            journal.rotate()?;
        }
        Ok(journal)
    }

    /// Device and inode of the current file. Does not access the disk.
    pub fn id(&self) -> Option<(u64, u64)> {
        self.id
    }

    /// Appends whole lines.
    ///
    /// # Errors
    /// When the disk refuses them.
    pub fn write(&mut self, lines: &str) -> io::Result<()> {
        self.file.write_all(lines.as_bytes())?;
        self.bytes += lines.len() as u64;
        Ok(())
    }

    /// Starts again at this path with this line, because the file is gone.
    ///
    /// # Errors
    /// When the file cannot be created or written.
    pub fn begin_anew(&mut self, path: &Path, line: &str) -> io::Result<()> {
        *self = JournalLog::begin(path, self.max_bytes, self.files)?;
        self.write(line)
    }

    /// Continues after a failed write: cuts off a partial line, or creates a file that is gone.
    ///
    /// # Errors
    /// When the disk still refuses it.
    pub fn resume(&mut self, line: &str) -> io::Result<()> {
        let (ours, there) = (self.file.metadata()?, std::fs::symlink_metadata(&self.path).ok());
        if there.is_some_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
            if ours.len() > self.bytes {
                self.file.set_len(self.bytes)?;
            }
        } else {
            self.open_anew()?;
        }
        self.write(line)
    }

    /// Bytes of whole lines in the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A journal in an existing file of any kind.
    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let file = File::options().write(true).open(path)?;
        Ok(JournalLog { path: path.to_owned(), id: id(&file), file, bytes: 0, max_bytes: u64::MAX, files: 1 })
    }

    /// Whether the file has reached its size limit.
    pub fn is_full(&self) -> bool {
        self.bytes >= self.max_bytes
    }

    /// Rotates the file (`.1`, `.2`, ...) and starts a new one.
    ///
    /// # Errors
    /// When the new one cannot be created.
    pub fn rotate(&mut self) -> io::Result<()> {
        let numbered = |n: u32| PathBuf::from(format!("{}.{n}", self.path.display()));
        // Delete it before another takes its name: replacing it costs more (see `atomic::swap`).
        let _ = std::fs::remove_file(numbered(self.files.saturating_sub(1)));
        for n in (1..self.files.saturating_sub(1)).rev() {
            let _ = std::fs::rename(numbered(n), numbered(n + 1));
        }
        if self.files > 1 {
            std::fs::rename(&self.path, numbered(1))?;
        }
        self.open_anew()
    }

    fn open_anew(&mut self) -> io::Result<()> {
        self.file = open(&self.path, true)?;
        (self.id, self.bytes) = (id(&self.file), 0);
        Ok(())
    }
}

/// A session's journal on disk, older files first: from the newest file back to one for which `begins` is
/// true, and at most the last 256 MiB. An older file that cannot be read is skipped.
///
/// # Errors
/// When the newest cannot be read.
pub fn read_back(path: &Path, begins: impl Fn(&str) -> bool) -> Result<String, SafeFileError> {
    let missing =
        || SafeFileError::Io { doing: "open", path: path.to_owned(), source: io::ErrorKind::NotFound.into() };
    let mut texts = vec![last_part(path, READ_MOST)?.ok_or_else(missing)?];
    let mut left = READ_MOST.saturating_sub(texts[0].len() as u64);
    for n in 1..MOST_FILES {
        if left == 0 || texts.last().is_some_and(|text| begins(text)) {
            break;
        }
        // A file is missing for a moment while the files are renamed.
        if let Ok(Some(older)) = last_part(Path::new(&format!("{}.{n}", path.display())), left) {
            left = left.saturating_sub(older.len() as u64);
            texts.push(older);
        }
    }
    texts.reverse();
    Ok(texts.concat())
}

/// The last whole lines of a file, at most `most` bytes.
fn last_part(path: &Path, most: u64) -> Result<Option<String>, SafeFileError> {
    let Some(mut file) = safe_file::open(path, RULE)? else { return Ok(None) };
    let io = |source| SafeFileError::Io { doing: "read", path: path.to_owned(), source };
    let length = file.metadata().map_err(io)?.len();
    let cut = length > most;
    if cut {
        file.seek(SeekFrom::Start(length - most)).map_err(io)?;
    }
    let mut bytes = safe_file::first_bytes(file, most).map_err(io)?;
    if cut {
        let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |end| end + 1);
        bytes.drain(..first);
    }
    Ok(Some(
        String::from_utf8(bytes).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `journal.max_bytes` and `journal.files`.
    #[test]
    fn a_full_journal_moves_aside_and_the_oldest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let mut journal = JournalLog::begin(&path, 10, 3).unwrap();
        for n in 0..5 {
            journal.write(&format!("line {n}\n")).unwrap();
            journal.write("more\n").unwrap();
            if journal.is_full() {
                journal.rotate().unwrap();
            }
        }
        let mut names: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        names.sort();
        assert_eq!(names, ["journal.jsonl", "journal.jsonl.1", "journal.jsonl.2"]);
        assert!(std::fs::read_to_string(dir.path().join("journal.jsonl.1")).unwrap().contains("line 4"));
    }

    #[test]
    fn a_part_of_a_line_that_is_cut_off_leaves_no_gap() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let mut journal = JournalLog::begin(&path, 10, 3).unwrap();
        for _ in 0..2 {
            journal.write("line\n").unwrap();
            // The disk took a part of it.
            journal.file.write_all(b"par").unwrap();
            journal.resume("next\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "line\nnext\n");
            journal.rotate().unwrap();
        }
    }

    #[test]
    fn a_journal_of_many_files_is_read_back_to_where_it_begins() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let at =
            |n: u32| if n == 0 { path.clone() } else { PathBuf::from(format!("{}.{n}", path.display())) };
        for n in 0..100 {
            std::fs::write(at(n), format!("line {n}\n")).unwrap();
        }
        let lines = |begins: &str| read_back(&path, |text| text.contains(begins)).unwrap().lines().count();
        assert_eq!((lines("never"), lines("line 42"), lines("line 0")), (100, 43, 1));
        std::fs::remove_file(at(5)).unwrap();
        nix::unistd::mkfifo(&at(7), nix::sys::stat::Mode::S_IRWXU).unwrap_err();
        std::fs::remove_file(at(7)).unwrap();
        nix::unistd::mkfifo(&at(7), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(lines("never"), 98, "one that is missing or no file hides no other");
        assert_eq!(last_part(&path, 3).unwrap().unwrap(), "");
        std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
        assert_eq!(last_part(&path, 9).unwrap().unwrap(), "three\n");
        std::fs::remove_file(&path).unwrap();
        assert!(read_back(&path, |_| false).is_err());
    }

    #[test]
    fn special_files_are_not_opened_as_journals() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(JournalLog::begin(&path, 10, 3).is_err());
        // With a reader, opening it would succeed.
        let _reader = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
        assert!(JournalLog::begin(&path, 10, 3).is_err());
    }
}
