//! `C/channel-registry.json` as a file: read with a bound, changed under the store's lock.

use std::path::{Path, PathBuf};

use super::atomic;
use super::error::FsError;

/// The longest registry that is read, in bytes.
const CAP: u64 = 1 << 20;

/// Where it lies below `claude_dir` (`C`).
#[must_use]
pub fn path(claude_dir: &Path) -> PathBuf {
    claude_dir.join("channel-registry.json")
}

/// Its text; `None` when there is none.
///
/// # Errors
/// When it is a link or no file, is too long, is no text, or cannot be read.
pub fn read(claude_dir: &Path) -> Result<Option<String>, FsError> {
    let path = path(claude_dir);
    let Some(bytes) = atomic::read(&path, CAP)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|error| FsError::io("read", &path)(std::io::Error::other(error)))
}
