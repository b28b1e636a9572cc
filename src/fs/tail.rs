//! Following a file that grows: only what is new is read, and a file that was replaced or cut is begun again.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// This many new bytes, and perhaps more.
    Bytes(usize),
    /// Nothing new.
    Nothing,
    /// The file was cut or replaced: what was read before no longer counts, the next read begins at its start.
    Anew,
}

/// A file that is followed.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: Option<(File, u64, u64)>,
    offset: u64,
}

impl Tail {
    /// Follows the file at `path`, which need not be there yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Tail { path: path.to_owned(), file: None, offset: 0 }
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes read so far.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads what is new into `buf`, at most once. A file that is not there is `Nothing`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&mut self, buf: &mut [u8]) -> io::Result<Found> {
        if self.file.is_none() {
            let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(&self.path);
            let file = match opened {
                Ok(file) => file,
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
                Err(e) => return Err(e),
            };
            let meta = file.metadata()?;
            if !meta.is_file() {
                return Ok(Found::Nothing);
            }
            self.file = Some((file, meta.dev(), meta.ino()));
        }
        let Some((file, dev, ino)) = &mut self.file else { return Ok(Found::Nothing) };
        let n = file.read(buf)?;
        if n > 0 {
            self.offset += n as u64;
            return Ok(Found::Bytes(n));
        }
        // At the end: is it still the same file, and not shorter than what was read?
        let same = std::fs::metadata(&self.path).is_ok_and(|m| m.dev() == *dev && m.ino() == *ino);
        let cut = file.metadata()?.len() < self.offset;
        if same && cut {
            file.seek(SeekFrom::Start(0))?;
            self.offset = 0;
            return Ok(Found::Anew);
        }
        if !same && self.path.exists() {
            self.file = None;
            self.offset = 0;
            return Ok(Found::Anew);
        }
        Ok(Found::Nothing)
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
                Found::Bytes(n) => text.push_str(std::str::from_utf8(&buf[..n]).unwrap()),
                Found::Anew => anew = true,
                Found::Nothing => return (text, anew),
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
}
