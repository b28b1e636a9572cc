//! Reads a whole transcript once; `tail` follows one that grows.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use super::file_error::FsError;
use crate::core::claude::line_splitter::LineSplitter;
use crate::sys::safe_file::{self, FileRule};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranscriptExtent {
    /// How long it is, in bytes.
    pub bytes: u64,
    /// When it was written last.
    pub written: SystemTime,
}

/// Passes each line of the file to `line`, up to the file's length at the start: a file that grows faster
/// than it is read must not be read forever. A last line without a newline is passed if it looks complete.
///
/// # Errors
/// When it is not a file, or cannot be read.
pub fn lines(path: &Path, line: impl FnMut(&[u8])) -> Result<TranscriptExtent, FsError> {
    lines_from(path, u64::MAX, line)
}

/// The same for its last `most` bytes: the first line may be cut.
///
/// # Errors
/// As [`lines`].
pub fn last_lines(path: &Path, most: u64, line: impl FnMut(&[u8])) -> Result<TranscriptExtent, FsError> {
    lines_from(path, most, line)
}

fn lines_from(path: &Path, most: u64, mut line: impl FnMut(&[u8])) -> Result<TranscriptExtent, FsError> {
    let missing = || FsError::io("open", path)(std::io::ErrorKind::NotFound.into());
    let mut file = safe_file::open(path, FileRule::of_claude(u64::MAX))?.ok_or_else(missing)?;
    let meta = file.metadata().map_err(FsError::io("inspect", path))?;
    let mut splitter = LineSplitter::new();
    let mut buf = vec![0; 1 << 17];
    let mut left = meta.len().min(most);
    if left < meta.len() {
        file.seek(SeekFrom::Start(meta.len() - left)).map_err(FsError::io("read", path))?;
    }
    while left > 0 {
        let want = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        let n = file.read(&mut buf[..want]).map_err(FsError::io("read", path))?;
        if n == 0 {
            break;
        }
        left -= n as u64;
        splitter.feed(&buf[..n], &mut line);
    }
    if splitter.tail().ends_with(b"}") {
        line(splitter.tail());
    }
    let written = meta.modified().map_err(FsError::io("inspect", path))?;
    Ok(TranscriptExtent { bytes: meta.len() - left, written })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_passed_and_special_files_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let mut seen = Vec::new();
            let extent = lines(&path, |line| seen.push(String::from_utf8(line.to_vec()).unwrap())).unwrap();
            assert_eq!(extent.bytes, text.len() as u64);
            seen
        };
        assert_eq!(of("{\"a\":1}\n{\"b\":2}"), ["{\"a\":1}", "{\"b\":2}"]);
        assert_eq!(of("{\"a\":1}\n{\"b\":"), ["{\"a\":1}"]);
        let mut last = Vec::new();
        last_lines(&path, 3, |line| last.extend_from_slice(line)).unwrap();
        assert_eq!(last, b"");
        assert_eq!(of(""), Vec::<String>::new());
        assert!(lines(dir.path(), |_| ()).is_err() && lines(&dir.path().join("none"), |_| ()).is_err());
    }
}
