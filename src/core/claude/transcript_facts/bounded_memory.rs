//! Collections of a fixed size, because a conversation has no maximum length.

use std::collections::{HashSet, VecDeque};

/// The last `CAP` different texts, with a cheap lookup.
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

/// The last `CAP` items, and the number of items that were dropped before them.
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

    /// Adds an item. If the list is full, drops the oldest item for which `evict_first` holds, or if there is
    /// none the oldest.
    pub(super) fn put_over(&mut self, item: T, evict_first: impl FnMut(&T) -> bool) {
        if self.0.len() >= CAP
            && let Some(at) = self.0.iter().position(evict_first)
        {
            self.0.remove(at);
            self.1 += 1;
        }
        self.put(item);
    }

    /// How many items were dropped from the front.
    pub(super) fn dropped(&self) -> u64 {
        self.1
    }

    /// How many items were added so far.
    pub(super) fn total(&self) -> u64 {
        self.1 + self.0.len() as u64
    }

    /// Removes the items that were added after the first `total`.
    pub(super) fn truncate_to(&mut self, total: u64) {
        let kept = total.saturating_sub(self.1);
        self.0.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
        self.1 = self.1.min(total);
    }

    pub(super) fn retain(&mut self, wanted: impl FnMut(&T) -> bool) {
        self.0.retain(wanted);
    }

    pub(super) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
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
}
