//! Being told when files change: inotify, and a look from time to time where that is not to be had.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

/// How often to look where nothing tells, in ms (checklist K5).
pub const POLL_MS: u64 = 250;
/// The same where everything has been at rest for long, in ms: a host that nobody uses should sleep.
pub const POLL_AT_REST_MS: u64 = 4000;

/// How long to wait before the next look where nothing tells, after so many ms at rest.
#[must_use]
pub fn pause(rest_ms: u64) -> u64 {
    (rest_ms / 8).clamp(POLL_MS, POLL_AT_REST_MS)
}

/// Watches directories; what changed in them is for the caller to look at.
#[derive(Debug)]
pub struct Watcher {
    inotify: Option<Inotify>,
    dirs: BTreeMap<PathBuf, WatchDescriptor>,
}

impl Watcher {
    /// A watcher of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
        Watcher { inotify, dirs: BTreeMap::new() }
    }

    /// A watcher that is told nothing, as where no more can be had.
    #[must_use]
    pub fn blind() -> Self {
        Watcher { inotify: None, dirs: BTreeMap::new() }
    }

    /// Watches a directory for files that appear, change or go. A directory that is not there yet makes the watcher
    /// look from time to time, until it is.
    pub fn add(&mut self, dir: &Path) {
        if self.covers(dir) {
            return;
        }
        let flags = AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_ONLYDIR;
        if let Some(Ok(watch)) = self.inotify.as_ref().map(|inotify| inotify.add_watch(dir, flags)) {
            self.dirs.insert(dir.to_owned(), watch);
        }
    }

    /// Whether the directory is watched.
    #[must_use]
    pub fn covers(&self, dir: &Path) -> bool {
        self.dirs.contains_key(dir)
    }

    /// Whether nothing tells at all (no inotify, or its limit is reached: the kernel gives a user 128 of them).
    #[must_use]
    pub fn is_blind(&self) -> bool {
        self.inotify.is_none()
    }

    /// Takes what was told; true when there was anything.
    pub fn drain(&mut self) -> bool {
        let mut any = false;
        if let Some(inotify) = &self.inotify {
            while let Ok(events) = inotify.read_events() {
                any |= !events.is_empty();
                for event in &events {
                    if event.mask.contains(AddWatchFlags::IN_IGNORED) {
                        // A watched directory was removed; the others are watched as before.
                        self.dirs.retain(|_, watch| *watch != event.wd);
                    }
                }
                if events.is_empty() {
                    break;
                }
            }
        }
        any
    }

    /// The descriptor to poll, when there is one.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }
}

impl Default for Watcher {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_removed_takes_no_other_with_it() {
        let root = tempfile::tempdir().unwrap();
        let (gone, stays) = (root.path().join("gone"), root.path().join("stays"));
        let mut watcher = Watcher::new();
        for dir in [&gone, &stays] {
            std::fs::create_dir(dir).unwrap();
            watcher.add(dir);
        }
        std::fs::remove_dir(&gone).unwrap();
        assert!(watcher.drain());
        assert!(!watcher.covers(&gone) && watcher.covers(&stays));
        std::fs::create_dir(&gone).unwrap();
        watcher.add(&gone);
        std::fs::write(gone.join("file"), "").unwrap();
        assert!(watcher.covers(&gone) && watcher.drain());
    }

    #[test]
    fn looks_become_rare_at_rest() {
        assert_eq!([0, 2000, 8000, 16_000, 1 << 40].map(pause), [250, 250, 1000, 2000, 4000]);
    }
}
