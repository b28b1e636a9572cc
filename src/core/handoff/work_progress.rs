//! Compares a handoff with the one before it, to find hand-overs without progress.
//!
//! The comparison needs three numbers and no text, so that they can be in a journal. A conversation made no
//! progress, as far as hopty can tell, if it leaves the same next step as the one before it, wrote no file
//! and changed nothing that git reports. If no next step is known, there is no verdict.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::capture::{Capture, GitState};
use crate::core::claude::tasks::TaskStatus;

/// The numbers of one handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// A digest of the next steps: Claude's own words, or its open tasks.
    pub next: u64,
    /// A digest of the work tree as git sees it; 0 outside of a repository.
    pub tree: u64,
    /// How many files this conversation's tools wrote.
    pub files: u64,
}

impl Mark {
    /// `said`: the next steps in Claude's own words. `None` if no next step is known.
    pub fn of(capture: &Capture, said: &[String]) -> Option<Self> {
        let open = capture
            .tasks
            .list
            .iter()
            .filter(|task| matches!(task.status, TaskStatus::InProgress | TaskStatus::Pending));
        let mut steps: Vec<&str> = match said {
            [] => open.map(|task| task.subject.as_str()).collect(),
            said => said.iter().map(String::as_str).collect(),
        };
        // A task that is planned again, in a list that the conversations share, is no other step.
        let mut known = BTreeSet::new();
        steps.retain(|step| known.insert(*step));
        if steps.is_empty() {
            return None;
        }
        let mut next = Digest::default();
        steps.iter().for_each(|step| next.add(step.as_bytes()));
        let tree = capture.git.as_ref().map_or(0, tree);
        Some(Mark { next: next.0, tree, files: capture.files.count })
    }

    /// Whether the conversation between `before` and this one made no progress.
    #[must_use]
    pub fn is_no_further_than(self, before: Mark) -> bool {
        self.files == 0 && (self.next, self.tree) == (before.next, before.tree)
    }
}

fn tree(git: &GitState) -> u64 {
    let mut tree = Digest::default();
    tree.add(git.head.as_deref().unwrap_or_default().as_bytes());
    for (letters, path) in &git.changed {
        tree.add(letters.as_bytes());
        tree.add(path.as_bytes());
    }
    tree.add(git.stat.as_bytes());
    tree.add(&git.patch);
    tree.0
}

/// FNV-1a over parts, each with a terminator.
struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::tests::capture;
    use super::*;
    use crate::core::claude::tasks::Task;

    fn with(steps: &[&str]) -> Option<Mark> {
        let mut of = capture("g");
        (of.tasks.list, of.files.count, of.git) = (Vec::new(), 0, Some(GitState::default()));
        Mark::of(&of, &steps.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_same_step_and_nothing_changed_is_no_further() {
        let mark = with(&["Paint the fence"]).unwrap();
        assert!(mark.is_no_further_than(mark));
        assert!(!with(&["Paint the gate"]).unwrap().is_no_further_than(mark));
        assert!(
            !with(&["Paint the", "fence"])
                .unwrap()
                .is_no_further_than(with(&["Paint", "the fence"]).unwrap())
        );
        assert!(!Mark { files: 1, ..mark }.is_no_further_than(mark), "a file was written");
        assert_eq!(with(&["Paint the fence", "Paint the fence"]), Some(mark), "the same once more");
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn what_git_sees_is_a_change() {
        let mut of = capture("g");
        (of.files.count, of.git) = (0, Some(GitState::default()));
        of.tasks.list = vec![Task {
            after: Vec::new(),
            id: "1".to_owned(),
            subject: "Paint".to_owned(),
            status: TaskStatus::InProgress,
        }];
        let before = Mark::of(&of, &[]).unwrap();
        for change in [
            GitState { head: Some("ab12".to_owned()), ..GitState::default() },
            GitState { changed: vec![(".M".to_owned(), "a".to_owned())], ..GitState::default() },
            GitState { patch: b"+green".to_vec(), ..GitState::default() },
        ] {
            of.git = Some(change);
            assert!(!Mark::of(&of, &[]).unwrap().is_no_further_than(before));
        }
        of.git = Some(GitState::default());
        assert!(Mark::of(&of, &[]).unwrap().is_no_further_than(before));
        of.tasks.list[0].status = TaskStatus::Completed;
        assert_eq!(Mark::of(&of, &[]), None);
    }
}
