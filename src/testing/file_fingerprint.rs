//! Detects whether a file has changed.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What changes when a file is written: its inode, its size in bytes, and its change time in s and ns. The
/// time alone is not enough, because the kernel's clock may have a resolution of some ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileFingerprint {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl FileFingerprint {
    /// `None` if the file does not exist.
    pub fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        Some(FileFingerprint {
            inode: meta.ino(),
            size: meta.len(),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}
