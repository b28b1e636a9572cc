//! The journal file: append only, one `write` a line or a step, rotated by size (CONTRACT C7). Not fsynced: it explains,
//! it does not carry work.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;

/// A journal being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    bytes: u64,
    max_bytes: u64,
    files: u32,
}

fn open(path: &Path, truncate: bool) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
    if truncate {
        options.write(true).truncate(true);
    } else {
        options.append(true);
    }
    options.open(path)
}

impl Journal {
    /// Begins a journal; one of an earlier session by the same name moves aside.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn begin(path: &Path, max_bytes: u64, files: u32) -> io::Result<Self> {
        let mut journal = Journal { path: path.to_owned(), file: open(path, false)?, bytes: 0, max_bytes, files };
        if journal.file.metadata()?.len() > 0 {
            journal.rotate()?;
        }
        Ok(journal)
    }

    /// Appends whole lines.
    ///
    /// # Errors
    /// When the disk does not take them.
    pub fn write(&mut self, lines: &str) -> io::Result<()> {
        self.bytes += lines.len() as u64;
        self.file.write_all(lines.as_bytes())
    }

    /// Whether the file has reached its size and a new one is due.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes >= self.max_bytes
    }

    /// Moves the file aside (`.1`, `.2`, ...) and begins a new one.
    ///
    /// # Errors
    /// When the new one cannot be made.
    pub fn rotate(&mut self) -> io::Result<()> {
        let numbered = |n: u32| PathBuf::from(format!("{}.{n}", self.path.display()));
        // Gone before another takes its name: to replace it costs more (`atomic::swap` says why).
        let _ = std::fs::remove_file(numbered(self.files.saturating_sub(1)));
        for n in (1..self.files.saturating_sub(1)).rev() {
            let _ = std::fs::rename(numbered(n), numbered(n + 1));
        }
        if self.files > 1 {
            std::fs::rename(&self.path, numbered(1))?;
        }
        self.file = open(&self.path, true)?;
        self.bytes = 0;
        Ok(())
    }
}

/// The whole journal of a session as it is on disk, older files first.
///
/// # Errors
/// When the newest cannot be read.
pub fn read_all(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    for n in (1..10).rev() {
        if let Ok(older) = std::fs::read_to_string(format!("{}.{n}", path.display())) {
            text.push_str(&older);
        }
    }
    text.push_str(&std::fs::read_to_string(path)?);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_journal_moves_aside_and_the_oldest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let mut journal = Journal::begin(&path, 10, 3).unwrap();
        for n in 0..5 {
            journal.write(&format!("line {n}\n")).unwrap();
            journal.write("more\n").unwrap();
            if journal.is_full() {
                journal.rotate().unwrap();
            }
        }
        let mut names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        names.sort();
        assert_eq!(names, ["journal.jsonl", "journal.jsonl.1", "journal.jsonl.2"]);
        assert!(std::fs::read_to_string(dir.path().join("journal.jsonl.1")).unwrap().contains("line 4"));
    }
}
