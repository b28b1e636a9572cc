//! Being told when files change: inotify, and a look every 250 ms where that is not to be had.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

/// How often to look where nothing tells, in ms (checklist K5).
pub const POLL_MS: u64 = 250;

/// Watches directories; what changed in them is for the caller to look at.
#[derive(Debug)]
pub struct Watcher {
    inotify: Option<Inotify>,
    dirs: BTreeSet<PathBuf>,
    blind: bool,
}

impl Watcher {
    /// A watcher of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
        Watcher { blind: inotify.is_none(), inotify, dirs: BTreeSet::new() }
    }

    /// Watches a directory for files that appear, change or go. A directory that is not there yet makes the watcher
    /// look from time to time, until it is.
    pub fn add(&mut self, dir: &Path) {
        if self.dirs.contains(dir) {
            return;
        }
        let flags = AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_ONLYDIR;
        let added = self.inotify.as_ref().is_some_and(|i| i.add_watch(dir, flags).is_ok());
        if added {
            self.dirs.insert(dir.to_owned());
        }
    }

    /// Whether the directory is watched.
    #[must_use]
    pub fn covers(&self, dir: &Path) -> bool {
        self.dirs.contains(dir)
    }

    /// Whether nothing tells at all (no inotify, or its limit is reached).
    #[must_use]
    pub fn is_blind(&self) -> bool {
        self.blind
    }

    /// Takes what was told; true when there was anything.
    pub fn drain(&mut self) -> bool {
        let mut any = false;
        if let Some(inotify) = &self.inotify {
            while let Ok(events) = inotify.read_events() {
                any |= !events.is_empty();
                for event in &events {
                    if event.mask.intersects(AddWatchFlags::IN_IGNORED | AddWatchFlags::IN_Q_OVERFLOW) {
                        // A watched directory was removed: add everything again when it is asked for next.
                        self.dirs.clear();
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
