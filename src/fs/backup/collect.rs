//! The files of a backup: plain files of this user, in a fixed order.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::root;
use crate::core::backup::{BackupRoot, is_left_out, is_secret, place_of};
use crate::core::package::PackageName;
use crate::fs::paths::Paths;
use crate::sys::safe_file::{self, FileRule};

/// How deep directories are searched.
const DEPTH: usize = 24;

#[derive(Debug, Default)]
pub(super) struct Collected {
    /// The files, with their names in the backup.
    pub files: Vec<(PackageName, PathBuf)>,
    /// Credentials and keys.
    pub secrets: Vec<PathBuf>,
    /// Paths that are not plain files of this user, or whose names are not text.
    pub odd: Vec<PathBuf>,
}

/// Everything that is backed up.
pub(super) fn collect(paths: &Paths) -> Collected {
    let mut found = Collected::default();
    for part in BackupRoot::ALL {
        let dir = root(paths, part);
        for entry in part.entries() {
            found.add(&dir.join(entry), &format!("{}/{entry}", part.word()), DEPTH);
        }
        // Files beside them are left out and reported.
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(is_secret) {
                found.secrets.push(entry.path());
            }
        }
    }
    found.files.sort();
    found
}

impl Collected {
    fn add(&mut self, path: &Path, name: &str, depth: usize) {
        let Ok(mut meta) = fs::symlink_metadata(path) else { return };
        // At the top, the person may have a link: `projects` on another disk, `commands` in a repository of
        // dotfiles.
        if depth == DEPTH
            && meta.is_symlink()
            && let Ok(there) = fs::metadata(path)
            && there.is_dir()
            && there.uid() == nix::unistd::geteuid().as_raw()
        {
            meta = there;
        }
        if meta.is_dir() && depth > 0 {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                match entry.file_name().to_str() {
                    Some(part) => self.add(&entry.path(), &format!("{name}/{part}"), depth - 1),
                    None => self.odd.push(entry.path()),
                }
            }
            return;
        }
        let last = name.rsplit('/').next().unwrap_or(name);
        if is_secret(last) {
            return self.secrets.push(path.to_owned());
        }
        if is_left_out(name) {
            return;
        }
        let is_own = safe_file::check(path, &meta, FileRule::own(u64::MAX)).is_ok();
        match PackageName::parse(name) {
            Ok(parsed) if is_own && place_of(name).is_some() => self.files.push((parsed, path.to_owned())),
            _ => self.odd.push(path.to_owned()),
        }
    }
}
