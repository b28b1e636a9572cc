//! Memories of a fixed size, for a conversation that may be of any length.

use std::collections::{HashMap, HashSet, VecDeque};

/// The last `CAP` texts that were put in, each once; asking is cheap.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent<const CAP: usize> {
    order: VecDeque<String>,
    known: HashSet<String>,
}

impl<const CAP: usize> Recent<CAP> {
    pub(super) fn put(&mut self, text: &str) {
        if self.known.contains(text) {
            return;
        }
        if self.order.len() >= CAP
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.known.insert(text.to_owned());
        self.order.push_back(text.to_owned());
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.known.contains(text)
    }
}

/// The last `CAP` items that were put in, and how many were put in before them.
#[derive(Clone, Debug)]
pub struct LastItems<T, const CAP: usize>(VecDeque<T>, u64);

impl<T, const CAP: usize> Default for LastItems<T, CAP> {
    fn default() -> Self {
        LastItems(VecDeque::new(), 0)
    }
}

impl<T, const CAP: usize> LastItems<T, CAP> {
    pub(super) fn put(&mut self, item: T) {
        if self.0.len() >= CAP {
            self.0.pop_front();
            self.1 += 1;
        }
        self.0.push_back(item);
    }

    /// Puts an item in; where there is no room, the oldest one goes for which `goes_first` holds, else the
    /// oldest.
    pub(super) fn put_over(&mut self, item: T, goes_first: impl FnMut(&T) -> bool) {
        if self.0.len() >= CAP
            && let Some(at) = self.0.iter().position(goes_first)
        {
            self.0.remove(at);
            self.1 += 1;
        }
        self.put(item);
    }

    /// How many were put in so far.
    pub(super) fn total(&self) -> u64 {
        self.1 + self.0.len() as u64
    }

    /// Forgets what was put in after the first `total`.
    pub(super) fn truncate_to(&mut self, total: u64) {
        let kept = total.saturating_sub(self.1);
        self.0.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
        self.1 = self.1.min(total);
    }

    /// Keeps the items for which `wanted` holds.
    pub(super) fn retain(&mut self, wanted: impl FnMut(&T) -> bool) {
        self.0.retain(wanted);
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }

    pub(super) fn newest(&mut self) -> Option<&mut T> {
        self.0.back_mut()
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.iter()
    }
}

/// The most paths that are kept.
pub const FILE_CAP: usize = 2000;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It was made in this conversation.
    Created,
    /// It was there before.
    Modified,
}

/// The files that Claude's tools wrote, by their last touch; at most [`FILE_CAP`] of them.
#[derive(Clone, Debug, Default)]
pub struct TouchedFiles {
    last: HashMap<String, (u64, FileChange)>,
    next: u64,
    forgotten: u64,
}

impl TouchedFiles {
    /// Notes a touch. What was created here stays created, also when it is modified later.
    pub(super) fn put(&mut self, path: &str, change: FileChange) {
        self.next += 1;
        let change = self.last.get(path).map_or(change, |(_, first)| *first);
        self.last.insert(path.to_owned(), (self.next, change));
        if self.last.len() >= 2 * FILE_CAP {
            let mut touches: Vec<u64> = self.last.values().map(|(touch, _)| *touch).collect();
            touches.sort_unstable();
            let oldest_kept = touches[touches.len() - FILE_CAP];
            let before = self.last.len();
            self.last.retain(|_, (touch, _)| *touch >= oldest_kept);
            self.forgotten += (before - self.last.len()) as u64;
        }
    }

    /// How many files were touched. A file that was forgotten and touched again counts twice.
    pub fn count(&self) -> u64 {
        self.last.len() as u64 + self.forgotten
    }

    /// The paths, the last touched first, at most [`FILE_CAP`].
    pub fn newest_first(&self) -> Vec<String> {
        let mut all: Vec<(&String, u64)> =
            self.last.iter().map(|(path, (touch, _))| (path, *touch)).collect();
        all.sort_unstable_by_key(|(_, touch)| std::cmp::Reverse(*touch));
        all.into_iter().take(FILE_CAP).map(|(path, _)| path.clone()).collect()
    }

    /// Whether the file was made in this conversation.
    pub fn created(&self, path: &str) -> bool {
        self.last.get(path).is_some_and(|(_, change)| *change == FileChange::Created)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_keep_the_newest() {
        let mut recent = Recent::<2>::default();
        for id in ["a", "b", "b", "c"] {
            recent.put(id);
        }
        assert!(!recent.has("a") && recent.has("b") && recent.has("c"));
        let mut last = LastItems::<u8, 2>::default();
        for n in [1, 2, 3] {
            last.put(n);
        }
        assert_eq!(last.iter().copied().collect::<Vec<_>>(), [2, 3]);
        last.truncate_to(2);
        assert_eq!((last.iter().copied().collect::<Vec<_>>(), last.total()), (vec![2], 2));
        last.truncate_to(0);
        assert_eq!((last.iter().count(), last.total()), (0, 0));
    }

    #[test]
    fn files_are_ordered_by_their_last_touch_and_bounded() {
        let mut files = TouchedFiles::default();
        for path in ["a", "b", "a"] {
            files.put(path, FileChange::Modified);
        }
        files.put("b", FileChange::Created);
        files.put("a", FileChange::Modified);
        assert!(!files.created("b"), "it was there before");
        assert_eq!(files.newest_first(), ["a", "b"]);
        for n in 0..5 * FILE_CAP {
            files.put(&n.to_string(), FileChange::Created);
        }
        let newest = files.newest_first();
        assert_eq!(newest.len(), FILE_CAP);
        assert_eq!(newest[0], (5 * FILE_CAP - 1).to_string());
        assert_eq!(files.count(), 5 * FILE_CAP as u64 + 2);
        assert!(files.last.len() < 2 * FILE_CAP);
    }
}
