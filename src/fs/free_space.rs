//! Room for what has to be written: a full file system, or a directory that is closed, is reported before.

use std::path::Path;

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

/// The space for a session's start: hooks, settings, the first lines of its journal. In bytes.
pub const FOR_SESSION: u64 = 128 << 10;
/// The space for a handoff: its record with a patch, the document, the manifest, each beside its old version.
/// In bytes.
pub const FOR_HANDOFF: u64 = 1 << 20;

/// Why `least` bytes cannot be written below `dir`; `None` if they can, or if the file system does not tell.
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

/// Why nothing can be made in `dir`, or where it is not there, in the nearest directory above it that is;
/// `None` if it can.
pub fn closed(dir: &Path) -> Option<String> {
    let there = dir.ancestors().find(|dir| dir.exists())?;
    match access(there, AccessFlags::W_OK | AccessFlags::X_OK) {
        Ok(()) => lack(there, 0),
        Err(error) => Some(format!("{}: {}", there.display(), error.desc())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root may write everywhere, but not below a file.
    #[test]
    fn a_directory_is_closed_where_nothing_can_be_made_in_it_or_above_it() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(closed(dir.path()), None);
        assert_eq!(closed(&dir.path().join("none/such")), None, "it can be made");
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let why = closed(&file.join("none/such"));
        assert_eq!(why, Some(format!("{}: Permission denied", file.display())));
    }

    #[test]
    fn what_is_not_there_lacks_nothing_and_no_disk_has_everything() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(lack(dir.path(), 1), None);
        assert!(lack(dir.path(), u64::MAX).unwrap().contains("KB left"));
        assert_eq!(lack(&dir.path().join("none"), u64::MAX), None);
    }
}
