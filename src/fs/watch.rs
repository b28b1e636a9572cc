//! Watching files for changes: inotify, and polling where that is not available.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

/// How often to poll where nothing reports changes, in ms.
pub const POLL_MS: u64 = 250;
/// The same after a long time without changes, in ms: an unused host should sleep.
pub const POLL_AT_REST_MS: u64 = 4000;

/// How long to wait before the next poll after this many ms without changes.
pub fn pause(rest_ms: u64) -> u64 {
    (rest_ms / 8).clamp(POLL_MS, POLL_AT_REST_MS)
}

/// The events of a watched file or directory that was itself deleted or moved.
const ITSELF: AddWatchFlags = AddWatchFlags::IN_MOVE_SELF.union(AddWatchFlags::IN_DELETE_SELF);

/// Watches directories; the caller checks what has changed in them.
#[derive(Debug)]
pub struct Watcher {
    inotify: Option<Inotify>,
    watched: BTreeMap<PathBuf, Watched>,
}

/// The watches of a path: the kernel watches a file or directory wherever it is moved to.
#[derive(Clone, Copy, Debug)]
struct Watched {
    watch: WatchDescriptor,
    identity: Option<(u64, u64)>,
}

impl Watcher {
    /// A watcher without watches.
    #[must_use]
    pub fn new() -> Self {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
        Watcher { inotify, watched: BTreeMap::new() }
    }

    /// A watcher that gets no events, as when the system has none left.
    #[must_use]
    pub fn blind() -> Self {
        Watcher { inotify: None, watched: BTreeMap::new() }
    }

    /// Watches a directory for files that are created, changed or deleted. A directory that does not exist
    /// yet makes the watcher poll until it does.
    pub fn add(&mut self, dir: &Path) {
        let inside = AddWatchFlags::IN_MODIFY
            | AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_MOVED_FROM
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_ONLYDIR;
        self.watch(dir, inside | ITSELF);
    }

    /// Watches a file or directory only for being deleted or moved away itself.
    pub fn add_itself(&mut self, path: &Path) {
        // An open file loses its last name without being deleted.
        self.watch(path, ITSELF | AddWatchFlags::IN_ATTRIB);
    }

    /// A moved directory is not the one that is at `path` now, even if no event reported the move: a
    /// directory above it may have been moved.
    fn watch(&mut self, path: &Path, flags: AddWatchFlags) {
        let identity = std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
        if let Some(before) = self.watched.get(path) {
            if before.identity == identity {
                return;
            }
            let watch = before.watch;
            self.forget(watch);
        }
        let flags = flags | AddWatchFlags::from_bits_retain(nix::libc::IN_MASK_ADD);
        if let Some(Ok(watch)) = self.inotify.as_ref().map(|inotify| inotify.add_watch(path, flags)) {
            self.watched.insert(path.to_owned(), Watched { watch, identity });
        }
    }

    fn forget(&mut self, watch: WatchDescriptor) {
        self.watched.retain(|_, watched| watched.watch != watch);
        if let Some(inotify) = &self.inotify {
            // The kernel has already removed it if the watched directory was deleted.
            let _ = inotify.rm_watch(watch);
        }
    }

    /// Whether the directory is watched.
    pub fn covers(&self, dir: &Path) -> bool {
        self.watched.contains_key(dir)
    }

    /// Whether there are no events at all (no inotify, or its limit is reached: the kernel gives a user 128
    /// instances).
    pub fn is_blind(&self) -> bool {
        self.inotify.is_none()
    }

    /// Reads the events; true if there were any.
    pub fn drain(&mut self) -> bool {
        let mut any = false;
        while let Some(Ok(events)) = self.inotify.as_ref().map(Inotify::read_events) {
            any |= !events.is_empty();
            for event in &events {
                // A watched directory was removed or moved; the others are still watched.
                if event.mask.intersects(AddWatchFlags::IN_IGNORED | AddWatchFlags::IN_MOVE_SELF) {
                    self.forget(event.wd);
                }
            }
            if events.is_empty() {
                break;
            }
        }
        any
    }

    /// The descriptor to poll, if there is one.
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
    fn a_replaced_directory_is_watched_again() {
        let root = tempfile::tempdir().unwrap();
        let (above, dir) = (root.path().join("above"), root.path().join("above/dir"));
        let mut watcher = Watcher::new();
        let tells = |watcher: &mut Watcher, path: &Path, name: &str| {
            watcher.drain();
            watcher.add(path);
            watcher.drain();
            std::fs::write(path.join(name), "").unwrap();
            watcher.drain()
        };
        std::fs::create_dir_all(&dir).unwrap();
        assert!(tells(&mut watcher, &dir, "a"));
        // The directory itself, and then one above it, which no event reports.
        for (moved, to) in [(&dir, "b"), (&above, "c")] {
            std::fs::rename(moved, root.path().join(to)).unwrap();
            assert_eq!(watcher.drain(), moved == &dir);
            std::fs::create_dir_all(&dir).unwrap();
            assert!(tells(&mut watcher, &dir, "file"), "{to}");
        }
        let file = dir.join("file");
        let open = std::fs::File::open(&file).unwrap();
        watcher.add_itself(&file);
        watcher.drain();
        std::fs::remove_file(&file).unwrap();
        assert!(watcher.drain());
        drop(open);
    }

    #[test]
    fn looks_become_rare_at_rest() {
        assert_eq!([0, 2000, 8000, 16_000, 1 << 40].map(pause), [250, 250, 1000, 2000, 4000]);
    }
}
