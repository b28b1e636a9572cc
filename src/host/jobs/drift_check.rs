//! Compares the work tree that a handoff is loaded into with the one that it was made in (`handoff.git`).

use std::path::Path;

use crate::core::config::{Config, GitPolicy};
use crate::core::handoff::drift::drift;
use crate::fs::store::{Store, StoredHandoff};
use crate::git::ask_git::{GitLimits, read};

/// The differences, in sentences; empty if there are none, if the check is disabled, or if it is not
/// possible.
pub fn since(config: &Config, store: &Store, loaded: &StoredHandoff, dir: &Path) -> Vec<String> {
    if config.handoff.git == GitPolicy::Ignore {
        return Vec::new();
    }
    let Some((then, patch)) = store.records().work_tree(&loaded.entry.id) else { return Vec::new() };
    // Compare the directory in which the work was done: the next conversation starts elsewhere and changes to
    // it.
    let there =
        then.as_ref().and_then(|git| git.dir.as_deref()).map(Path::new).filter(|there| there.is_absolute());
    if let Some(gone) = there.filter(|there| !there.is_dir()) {
        return vec![format!("The working directory {} is gone.", gone.display())];
    }
    // Nothing is reported if the comparison is impossible, but a person who requires the same work tree does
    // not get another one unnoticed.
    let unsure = |why: &str| match config.handoff.git {
        GitPolicy::Hold => vec![format!("hopty cannot tell whether the work tree has changed: {why}.")],
        _ => Vec::new(),
    };
    if then.as_ref().is_some_and(|git| git.unknown) {
        return unsure("git was not run when this record was made");
    }
    let now = match read(there.unwrap_or(dir), dir, GitLimits::of(&config.handoff)) {
        Ok(now) => now,
        Err(error) => return unsure(&error.to_string()),
    };
    drift(then.as_ref(), patch.as_deref(), now.as_ref())
}
