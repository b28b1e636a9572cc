//! A file system that is soon full.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system of its own at a directory, until it is dropped.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one of this size (`512k`) at `dir`; `None`, which is noted, where that is not possible.
    pub fn mount(dir: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(dir).unwrap();
        let options = format!("size={size},mode=700");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(dir).output();
        if mounted.is_ok_and(|done| done.status.success()) {
            return Some(SmallDisk(dir.to_owned()));
        }
        super::skip("no file system can be mounted here");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
