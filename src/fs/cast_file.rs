//! The file of a recording: append only, whole lines only, one `write` per batch. It is not fsynced: a
//! crash of the machine loses a few seconds of a recording.

use std::fs::{File, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use memchr::memrchr;
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use thiserror::Error;

use crate::core::cast::reader::CAST_LINE_MAX;
use crate::core::cast::{CastError, CastHeader, CastReader};
use crate::core::io_words::io_words;
use crate::sys::safe_file::{self, FileRule, SafeFileError, WriteMode};

/// The space that a recording needs at least, in bytes.
const HEADER_SPACE: i64 = 4096;

/// What to do if the file exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastOpening {
    /// Keep it and fail.
    New,
    /// Empty it.
    Overwrite,
    /// Continue the recording in it; an incomplete last line is cut off.
    Append,
}

/// Why a file cannot be recorded into.
#[derive(Debug, Error)]
pub enum CastFileError {
    #[error("{} exists", .0.display())]
    Exists(PathBuf),
    /// Another recording writes to it.
    #[error("another recording is written to {}", .0.display())]
    InUse(PathBuf),
    /// It cannot be continued because it is not a recording.
    #[error("{} cannot be continued: {error}", path.display())]
    NoRecording {
        path: PathBuf,
        /// What is wrong with it.
        error: CastError,
    },
    /// It cannot be continued in another version of the format.
    #[error("{} has asciicast version {version}, and hopty appends only to version 3", path.display())]
    Version { path: PathBuf, version: u8 },
    /// Its disk is full.
    #[error("cannot write {}: {}", .0.display(), io_words(.1))]
    NoSpace(PathBuf, io::Error),
    /// hopty may not write it.
    #[error(transparent)]
    Unsafe(#[from] SafeFileError),
}

impl CastFileError {
    /// How a person can record anyway.
    pub fn hint(&self) -> String {
        match self {
            CastFileError::Exists(_) => {
                "use --append to continue it, --overwrite to replace it, or another file".to_owned()
            }
            CastFileError::NoSpace(..) => "free some space, or name a file on another disk".to_owned(),
            CastFileError::InUse(_) => "stop that recording, or use another file".to_owned(),
            CastFileError::NoRecording { .. } | CastFileError::Version { .. } => {
                "use --overwrite to replace it, or another file".to_owned()
            }
            CastFileError::Unsafe(error) => error.hint(),
        }
    }
}

/// Why the rest of a recording was not written. The file ends with a whole line.
#[derive(Debug, Error)]
pub enum CastWriteError {
    /// The file has reached its limit.
    #[error("it has reached its limit of {0} bytes")]
    Full(u64),
    /// The disk refused it.
    #[error("{}", io_words(.0))]
    Io(#[from] io::Error),
}

/// A recording being written.
#[derive(Debug)]
pub struct CastFile {
    file: File,
    bytes: u64,
    max_bytes: u64,
}

impl CastFile {
    /// Opens a file for a recording; a new one is readable only by this user.
    ///
    /// # Errors
    /// When it exists and may not be changed, another recording writes to it, it is not a file of this user,
    /// or its disk is full.
    pub fn open(path: &Path, opening: CastOpening, max_bytes: u64) -> Result<Self, CastFileError> {
        let io = |doing| {
            move |source| CastFileError::from(SafeFileError::Io { doing, path: path.to_owned(), source })
        };
        let mode =
            if opening == CastOpening::New { WriteMode::NewToAppend } else { WriteMode::ReadAndAppend };
        let opened = safe_file::open_to_write(path, mode, FileRule::own(u64::MAX));
        let file = opened.map_err(|error| match error {
            SafeFileError::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                CastFileError::Exists(path.to_owned())
            }
            SafeFileError::Io { source, .. } => io("create")(source),
            other => other.into(),
        })?;
        let meta = file.metadata().map_err(io("inspect"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(CastFileError::InUse(path.to_owned())),
            // The file system has no locks.
            Err(TryLockError::Error(_)) => {}
        }
        let mut file = CastFile { file, bytes: meta.len(), max_bytes };
        match opening {
            CastOpening::New => {}
            CastOpening::Overwrite => {
                file.cut(0).map_err(io("empty"))?;
                file.file.set_permissions(Permissions::from_mode(0o600)).map_err(io("protect"))?;
            }
            CastOpening::Append => file.mend(path)?,
        }
        if let Err(error) = file.reserve() {
            if opening == CastOpening::New {
                let _ = std::fs::remove_file(path);
            }
            return Err(CastFileError::NoSpace(path.to_owned(), error));
        }
        Ok(file)
    }

    /// Reserves space for the header, so that a full disk is told at once.
    fn reserve(&self) -> io::Result<()> {
        let start = i64::try_from(self.bytes).unwrap_or(i64::MAX - HEADER_SPACE);
        match fallocate(&self.file, FallocateFlags::FALLOC_FL_KEEP_SIZE, start, HEADER_SPACE) {
            Err(error @ (Errno::ENOSPC | Errno::EDQUOT)) => Err(error.into()),
            // Some file systems cannot reserve; the first write tells whether there is space.
            _ => Ok(()),
        }
    }

    /// Whether it has no lines yet and needs a header.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends whole lines with one `write`.
    ///
    /// # Errors
    /// When they do not all fit or the disk refuses them. What was written of them is cut to whole lines.
    pub fn write(&mut self, lines: &[u8]) -> Result<(), CastWriteError> {
        if self.bytes + lines.len() as u64 > self.max_bytes {
            let room = usize::try_from(self.max_bytes.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
            self.append(&lines[..whole_events(lines, room)])?;
            return Err(CastWriteError::Full(self.max_bytes));
        }
        self.append(lines)
    }

    fn append(&mut self, lines: &[u8]) -> Result<(), CastWriteError> {
        let mut written = 0;
        while written < lines.len() {
            let done = match self.file.write(&lines[written..]) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => {
                    written += more;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let whole = memrchr(b'\n', &lines[..written]).map_or(0, |end| end + 1);
            let _ = self.cut(self.bytes + whole as u64);
            return done.map_err(CastWriteError::Io);
        }
        self.bytes += lines.len() as u64;
        Ok(())
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.bytes = bytes;
        self.file.set_len(bytes)
    }

    /// Checks that it is a recording of version 3, and cuts off an incomplete last line.
    fn mend(&mut self, path: &Path) -> Result<(), CastFileError> {
        if self.bytes == 0 {
            return Ok(());
        }
        let io = |source| SafeFileError::Io { doing: "read", path: path.to_owned(), source };
        let header = self.header(path)?;
        if header.version != 3 {
            return Err(CastFileError::Version { path: path.to_owned(), version: header.version });
        }
        let from = self.bytes.saturating_sub(CAST_LINE_MAX as u64);
        self.file.seek(SeekFrom::Start(from)).map_err(io)?;
        let mut end = Vec::new();
        Read::by_ref(&mut self.file).take(CAST_LINE_MAX as u64).read_to_end(&mut end).map_err(io)?;
        let whole = memrchr(b'\n', &end).map_or(0, |at| at + 1);
        let rest = &end[whole..];
        // An editor may have left out only the last line feed.
        if serde_json::from_slice::<serde_json::Value>(rest).is_ok() {
            self.file.write_all(b"\n").map_err(io)?;
            self.bytes += 1;
        } else if !rest.is_empty() {
            self.cut(from + whole as u64).map_err(io)?;
        }
        Ok(())
    }

    fn header(&mut self, path: &Path) -> Result<CastHeader, CastFileError> {
        let io = |source| SafeFileError::Io { doing: "read", path: path.to_owned(), source };
        let mut reader = CastReader::new();
        let mut piece = [0; 4096];
        self.file.seek(SeekFrom::Start(0)).map_err(io)?;
        loop {
            let length = self.file.read(&mut piece).map_err(io)?;
            reader.push(&piece[..length]);
            if length == 0 {
                reader.finish();
            }
            let next = reader.next();
            if let Some(header) = reader.header() {
                return Ok(header.clone());
            }
            if let Some(Err(error)) = next {
                return Err(CastFileError::NoRecording { path: path.to_owned(), error });
            }
        }
    }

    /// A recording into any file, such as `/dev/full`.
    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(CastFile { file: File::options().write(true).open(path)?, bytes: 0, max_bytes: u64::MAX })
    }
}

impl Drop for CastFile {
    fn drop(&mut self) {
        // A child between fork and exec has a copy of the descriptor, and with it the lock.
        let _ = self.file.unlock();
    }
}

/// How many bytes of the lines fit into `room`. An event is not separated from the comment with its exact
/// bytes.
fn whole_events(lines: &[u8], room: usize) -> usize {
    let mut end = room.min(lines.len());
    loop {
        end = memrchr(b'\n', &lines[..end]).map_or(0, |at| at + 1);
        if end == 0 || lines.get(end) != Some(&b'#') {
            return end;
        }
        end -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    const LINE: &[u8] = b"[0.5, \"o\", \"a\"]\n";

    fn header() -> Vec<u8> {
        CastHeader::new(80, 24).line().into_bytes()
    }

    fn open(path: &Path, opening: CastOpening) -> Result<CastFile, CastFileError> {
        CastFile::open(path, opening, u64::MAX)
    }

    #[test]
    fn an_existing_file_is_changed_only_on_request() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let mut file = open(&path, CastOpening::New).unwrap();
        file.write(&header()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(matches!(open(&path, CastOpening::Append), Err(CastFileError::InUse(_))));
        drop(file);
        assert!(matches!(open(&path, CastOpening::New), Err(CastFileError::Exists(_))));
        let mut file = open(&path, CastOpening::Append).unwrap();
        file.write(LINE).unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), [&header(), LINE].concat());
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let file = open(&path, CastOpening::Overwrite).unwrap();
        assert!(file.is_empty() && fs::read(&path).unwrap().is_empty());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let link = dir.path().join("link");
        symlink(&path, &link).unwrap();
        for opening in [CastOpening::Overwrite, CastOpening::Append] {
            assert!(matches!(open(&link, opening), Err(CastFileError::Unsafe(SafeFileError::Link(_)))));
            let refused = open("/dev/full".as_ref(), opening).unwrap_err();
            assert!(matches!(refused, CastFileError::Unsafe(_)) && !refused.hint().is_empty());
        }
    }

    #[test]
    fn a_recording_that_was_cut_anywhere_is_continued_with_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let comment = b"[0.1, \"o\", \"\xef\xbf\xbd\"]\n#hopty {\"raw\":\"/w==\"}\n";
        let whole = [&header(), LINE, comment, LINE].concat();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let lines = memrchr(b'\n', &whole[..cut]).map_or(0, |at| at + 1);
            let opened = open(&path, CastOpening::Append);
            if lines == 0 && cut > 0 && cut + 1 < header().len() {
                assert!(matches!(opened, Err(CastFileError::NoRecording { .. })), "{cut}");
                continue;
            }
            let mut file = opened.unwrap();
            file.write(LINE).unwrap();
            let mut kept = whole[..lines].to_vec();
            if cut < whole.len() && whole[cut] == b'\n' && whole[lines] != b'#' {
                kept.extend_from_slice(&whole[lines..=cut]);
            }
            kept.extend_from_slice(LINE);
            assert_eq!(
                String::from_utf8_lossy(&fs::read(&path).unwrap()),
                String::from_utf8_lossy(&kept),
                "{cut}"
            );
        }
        // The state that a file system may leave after a crash.
        fs::write(&path, [&whole[..], &[0; 100]].concat()).unwrap();
        drop(open(&path, CastOpening::Append).unwrap());
        assert_eq!(fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn only_version_3_is_continued() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        for (text, wanted) in [
            ("{\"version\":2,\"width\":8,\"height\":2}\n", "has asciicast version 2"),
            ("{\"version\":1,\"width\":8,\"height\":2,\"stdout\":[]}\n", "has asciicast version 1"),
            ("hello\n", "cannot be continued: line 1: there is no header with a version"),
        ] {
            fs::write(&path, text).unwrap();
            let error = open(&path, CastOpening::Append).unwrap_err();
            assert!(error.to_string().contains(wanted), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn an_event_keeps_the_comment_with_its_bytes() {
        let lines = b"[1]\n[2]\n#hopty\n[3]\n";
        let fits: Vec<usize> = [0, 3, 4, 9, 14, 15, 99].map(|room| whole_events(lines, room)).to_vec();
        assert_eq!(fits, [0, 0, 4, 4, 4, 15, 19]);
    }

    #[test]
    fn a_full_file_ends_with_a_whole_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let mut file = CastFile::open(&path, CastOpening::New, 40).unwrap();
        file.write(LINE).unwrap();
        file.write(LINE).unwrap();
        assert!(matches!(file.write(LINE), Err(CastWriteError::Full(40))));
        assert_eq!(fs::read(&path).unwrap(), [LINE, LINE].concat());
        let mut file = CastFile::open(&dir.path().join("b.cast"), CastOpening::New, 40).unwrap();
        assert!(matches!(file.write(&[LINE, LINE, LINE].concat()), Err(CastWriteError::Full(40))));
        assert_eq!(fs::read(dir.path().join("b.cast")).unwrap(), [LINE, LINE].concat());
        let mut full = CastFile::at("/dev/full".as_ref()).unwrap();
        assert!(matches!(full.write(LINE), Err(CastWriteError::Io(_))));
    }
}
