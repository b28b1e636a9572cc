//! Free space: a full file system is reported before something has to be written.

use std::path::Path;

use nix::sys::statvfs::statvfs;

/// The space for a session's start: hooks, settings, the first lines of its journal. In bytes.
pub const FOR_SESSION: u64 = 128 << 10;
/// The space for a handoff: its record with a patch, the document, the manifest, each beside its old version.
/// In bytes.
pub const FOR_HANDOFF: u64 = 1 << 20;

/// Why `least` bytes cannot be written below `dir`; `None` if they can, or if the file system does not tell.
#[must_use]
pub fn lack(dir: &Path, least: u64) -> Option<String> {
    let stat = statvfs(dir).ok()?;
    // The space reserved for root does not count.
    let blocks = if nix::unistd::geteuid().is_root() { stat.blocks_free() } else { stat.blocks_available() };
    #[allow(clippy::useless_conversion, reason = "the numbers are shorter elsewhere")]
    let free = u64::from(blocks).saturating_mul(u64::from(stat.fragment_size()));
    if stat.blocks() > 0 && free < least {
        let (left, least) = (free / 1024, least.div_ceil(1024));
        return Some(format!("the disk of {} is full: {left} KB left of {least} KB needed", dir.display()));
    }
    let names = stat.files() > 0 && stat.files_available() == 0;
    names.then(|| format!("the disk of {} is full: no room for another file", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_lacks_nothing_and_no_disk_has_everything() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(lack(dir.path(), 1), None);
        assert!(lack(dir.path(), u64::MAX).unwrap().contains("KB left"));
        assert_eq!(lack(&dir.path().join("none"), u64::MAX), None);
    }
}
