//! Following a growing file: only its new part is read; a file that was replaced or truncated is read again.
//!
//! A file that was truncated and has since grown beyond the read position is detected by the bytes before
//! that position, which are read again. Pipes, devices and directories are never read or waited for.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::sys::safe_file::{self, FileRule, SafeFileError};

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailRead {
    /// This many new bytes; there may be more.
    Bytes(usize),
    /// Nothing new.
    Nothing,
    /// The file was truncated or replaced: earlier content no longer counts, and the next read begins at
    /// its start.
    Anew,
}

/// How many bytes before the position are compared.
const BEFORE: usize = 64;

/// A file that is followed.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: Option<(File, u64, u64)>,
    offset: u64,
    /// The last bytes that were read.
    last: Vec<u8>,
}

impl Tail {
    /// Follows the file at `path`, which need not exist yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Tail { path: path.to_owned(), file: None, offset: 0, last: Vec::new() }
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the new part into `buf`, at most once. A missing file is `Nothing`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<TailRead> {
        if self.file.is_none() {
            let file = match safe_file::open(&self.path, FileRule::of_claude(u64::MAX)) {
                Ok(Some(file)) => file,
                Err(SafeFileError::Io { source, .. }) => return Err(source),
                Ok(None) | Err(_) => return Ok(TailRead::Nothing),
            };
            let meta = file.metadata()?;
            self.file = Some((file, meta.dev(), meta.ino()));
        }
        let Some((file, dev, ino)) = &mut self.file else { return Ok(TailRead::Nothing) };
        let n = file.read(buf)?;
        if n > 0 {
            let mut now = [0; BEFORE];
            let now = &mut now[..self.last.len()];
            let as_before =
                file.read_exact_at(now, self.offset - self.last.len() as u64).is_ok() && *now == *self.last;
            if !as_before {
                return self.anew();
            }
            self.offset += n as u64;
            self.last.extend_from_slice(&buf[n.saturating_sub(BEFORE)..n]);
            self.last.drain(..self.last.len().saturating_sub(BEFORE));
            return Ok(TailRead::Bytes(n));
        }
        // At the end: check that it is still the same file, and not shorter than what was read.
        let same = std::fs::metadata(&self.path).is_ok_and(|m| m.dev() == *dev && m.ino() == *ino);
        let cut = file.metadata()?.len() < self.offset;
        if same && cut {
            return self.anew();
        }
        if !same && self.path.exists() {
            self.file = None;
            return self.anew();
        }
        Ok(TailRead::Nothing)
    }

    fn anew(&mut self) -> io::Result<TailRead> {
        if let Some((file, ..)) = &mut self.file {
            file.seek(SeekFrom::Start(0))?;
        }
        self.offset = 0;
        self.last.clear();
        Ok(TailRead::Anew)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(tail: &mut Tail) -> (String, bool) {
        let (mut text, mut anew) = (String::new(), false);
        let mut buf = [0; 4];
        loop {
            match tail.read(&mut buf).unwrap() {
                TailRead::Bytes(n) => text.push_str(std::str::from_utf8(&buf[..n]).unwrap()),
                TailRead::Anew => anew = true,
                TailRead::Nothing => return (text, anew),
            }
        }
    }

    #[test]
    fn a_file_is_followed_through_growth_cut_and_replacement() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let mut tail = Tail::new(&path);
        assert_eq!(all(&mut tail), (String::new(), false));
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!(all(&mut tail), ("one\ntwo\n".to_owned(), false));
        std::fs::write(&path, "3\n").unwrap();
        assert_eq!(all(&mut tail), ("3\n".to_owned(), true));
        std::fs::write(dir.path().join("new"), "other\n").unwrap();
        std::fs::rename(dir.path().join("new"), &path).unwrap();
        assert_eq!(all(&mut tail), ("other\n".to_owned(), true));
    }

    #[test]
    fn a_truncated_file_that_grew_again_is_read_from_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let mut tail = Tail::new(&path);
        std::fs::write(&path, "one\ntwo\n").unwrap();
        all(&mut tail);
        std::fs::write(&path, "other\nand longer than before\n").unwrap();
        assert_eq!(all(&mut tail), ("other\nand longer than before\n".to_owned(), true));
        // The same length as before, with other content.
        let mut file = File::options().append(true).open(&path).unwrap();
        std::io::Write::write_all(&mut file, b"more\n").unwrap();
        assert_eq!(all(&mut tail), ("more\n".to_owned(), false));
    }

    #[test]
    fn the_rest_of_a_replaced_file_is_read_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let mut tail = Tail::new(&path);
        std::fs::write(&path, "one\n").unwrap();
        let mut buf = [0; 2];
        assert_eq!(tail.read(&mut buf).unwrap(), TailRead::Bytes(2));
        std::fs::write(dir.path().join("new"), "other\n").unwrap();
        std::fs::rename(dir.path().join("new"), &path).unwrap();
        assert_eq!(all(&mut tail), ("e\nother\n".to_owned(), true), "the rest of the old one comes first");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(all(&mut tail), (String::new(), false));
        std::fs::write(&path, "again\n").unwrap();
        assert_eq!(all(&mut tail), ("again\n".to_owned(), true));
    }

    #[test]
    fn special_files_are_not_read_until_a_file_replaces_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        type Make = fn(&Path);
        let places: [(&str, Make); 5] = [
            ("a pipe", |path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap()),
            ("a directory", |path| std::fs::create_dir(path).unwrap()),
            ("a device without end", |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap()),
            ("a loop of links", |path| std::os::unix::fs::symlink(path, path).unwrap()),
            ("a link to nowhere", |path| std::os::unix::fs::symlink("nowhere", path).unwrap()),
        ];
        for (name, make) in places {
            make(&path);
            let mut tail = Tail::new(&path);
            let mut buf = [0; 16];
            for _ in 0..3 {
                assert!(!matches!(tail.read(&mut buf), Ok(TailRead::Bytes(_) | TailRead::Anew)), "{name}");
            }
            if path.is_dir() {
                std::fs::remove_dir(&path).unwrap()
            } else {
                std::fs::remove_file(&path).unwrap()
            }
            std::fs::write(&path, "one\n").unwrap();
            assert_eq!(all(&mut tail).0, "one\n", "{name}");
            // The other way round: a file becomes something else and is no longer followed.
            std::fs::remove_file(&path).unwrap();
            make(&path);
            assert_eq!(all_or_error(&mut tail), "", "{name}");
            if path.is_dir() {
                std::fs::remove_dir(&path).unwrap()
            } else {
                std::fs::remove_file(&path).unwrap()
            }
        }
    }

    /// As [`all`], where a read may fail.
    fn all_or_error(tail: &mut Tail) -> String {
        let mut text = String::new();
        let mut buf = [0; 16];
        for _ in 0..8 {
            if let Ok(TailRead::Bytes(n)) = tail.read(&mut buf) {
                text.push_str(&String::from_utf8_lossy(&buf[..n]));
            }
        }
        text
    }

    #[test]
    fn a_hole_of_a_quarter_gigabyte_is_passed_in_constant_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let mut file = File::create(&path).unwrap();
        file.set_len(256 << 20).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        std::io::Write::write_all(&mut file, b"\n{\"type\":\"x\"}\n").unwrap();
        let mut tail = Tail::new(&path);
        let mut splitter = crate::core::claude::line_splitter::LineSplitter::new();
        let mut buf = vec![0; 1 << 16];
        let (mut lines, mut most) = (Vec::new(), 0);
        while let TailRead::Bytes(n) = tail.read(&mut buf).unwrap() {
            splitter.feed(&buf[..n], |line| lines.push(line.to_vec()));
            most = most.max(splitter.tail().len());
        }
        assert_eq!((lines, splitter.too_long()), (vec![b"{\"type\":\"x\"}".to_vec()], 1));
        assert!(most <= crate::core::claude::line_splitter::LINE_CAP, "{most}");
    }
}
