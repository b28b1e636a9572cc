//! Whether a file is what it was.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What differs when a file was written or changed: its inode, its size in bytes, and when it changed, in s
/// and ns. The time alone would not do, because a kernel's clock may stand still for some ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileFingerprint {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl FileFingerprint {
    /// `None` where there is no file.
    pub fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        Some(FileFingerprint {
            inode: meta.ino(),
            size: meta.len(),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}
