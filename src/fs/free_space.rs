//! Checks for space before something is written: a full file system, or a directory that cannot be written.

use std::path::Path;

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

/// The space for a session's start: hooks, settings, the first lines of its journal. In bytes.
pub const FOR_SESSION: u64 = 128 << 10;
/// The space for a handoff: its record with a patch, the document, the manifest, each beside its old
/// version. In bytes.
pub const FOR_HANDOFF: u64 = 1 << 20;

/// Why `least` bytes cannot be written below `dir`; `None` if they can, or if the file system does not
/// report it.
pub fn space_problem(dir: &Path, least: u64) -> Option<String> {
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

/// Why nothing can be created in `dir`, or in its nearest existing parent; `None` if it can.
pub fn write_problem(dir: &Path) -> Option<String> {
    let there = dir.ancestors().find(|dir| dir.exists())?;
    match access(there, AccessFlags::W_OK | AccessFlags::X_OK) {
        Ok(()) => space_problem(there, 0),
        Err(error) => Some(format!("{}: {}", there.display(), error.desc())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root may write everywhere, but not below a file.
    #[test]
    fn a_directory_that_cannot_be_written_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(write_problem(dir.path()), None);
        assert_eq!(write_problem(&dir.path().join("none/such")), None, "it can be made");
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let why = write_problem(&file.join("none/such"));
        assert_eq!(why, Some(format!("{}: Permission denied", file.display())));
    }

    #[test]
    fn a_missing_directory_has_no_space_problem() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(space_problem(dir.path(), 1), None);
        assert!(space_problem(dir.path(), u64::MAX).unwrap().contains("KB left"));
        assert_eq!(space_problem(&dir.path().join("none"), u64::MAX), None);
    }
}
