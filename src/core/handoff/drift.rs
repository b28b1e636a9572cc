//! Compares the work tree with the record of a handoff.
//!
//! The differences are sentences for the new conversation and for a person. `handoff.git` decides what
//! follows.

use super::capture::GitState;
use super::state_json::Git;

/// The advice for people. The source document also recommends `git checkout .`, which would discard work.
pub const ADVICE: &str = "Git state changed since handoff. 'git stash -u' stashes what is not committed.";
/// The most changed paths that are named.
const PATHS: usize = 5;

/// The differences, a sentence each; empty if the work tree is unchanged. `patch`: the record's
/// `changes.patch`; without it only names are compared.
pub fn drift(then: Option<&Git>, patch: Option<&[u8]>, now: Option<&GitState>) -> Vec<String> {
    let (then, state) = match (then, now) {
        (None, None) => return Vec::new(),
        (None, Some(_)) => return vec!["There was no git repository; there is one now.".to_owned()],
        (Some(_), None) => return vec!["There was a git repository; there is none now.".to_owned()],
        (Some(then), Some(now)) => (then, now),
    };
    let now = Git::of(state);
    let mut said = Vec::new();
    if then.branch != now.branch {
        said.push(format!("The branch was {} and is {} now.", branch(&then.branch), branch(&now.branch)));
    }
    if then.head != now.head {
        said.push(format!("The head was {} and is {} now.", head(&then.head), head(&now.head)));
    }
    let gone: Vec<&String> =
        then.modified_files.iter().filter(|file| !now.modified_files.contains(file)).collect();
    let new: Vec<&String> =
        now.modified_files.iter().filter(|file| !then.modified_files.contains(file)).collect();
    if !gone.is_empty() {
        said.push(format!("No longer changed: {}.", names(&gone)));
    }
    if !new.is_empty() {
        said.push(format!("Changed since: {}.", names(&new)));
    }
    // In records of older versions the patch has no new files.
    let whole = || [&*state.patch, &*state.new_files].concat();
    let is_known = !state.patch.is_empty() || !state.new_files.is_empty();
    let is_other = patch.is_some_and(|patch| is_known && patch != state.patch && patch != whole());
    if said.is_empty() && is_other {
        said.push("The same files have changes, but different ones.".to_owned());
    }
    said
}

fn branch(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or("(detached)")
}

fn head(commit: &Option<String>) -> &str {
    commit.as_deref().map_or("(no commit)", |hex| hex.get(..12).unwrap_or(hex))
}

fn names(files: &[&String]) -> String {
    let shown: Vec<&str> = files.iter().take(PATHS).map(|file| file.as_str()).collect();
    match files.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(branch: &str, head: &str, changed: &[&str], patch: &str) -> GitState {
        GitState {
            branch: Some(branch.to_owned()),
            head: Some(head.to_owned()),
            changed: changed.iter().map(|path| (".M".to_owned(), (*path).to_owned())).collect(),
            patch: patch.as_bytes().to_vec(),
            ..GitState::default()
        }
    }

    #[test]
    fn item_097_what_changed_since_is_said() {
        let then = state("main", "0123456789abcdef", &["a", "b"], "x");
        let git = Git::of(&then);
        let said = |now: &GitState| drift(Some(&git), Some(b"x"), Some(now));
        assert!(said(&then).is_empty());
        let said =
            |branch, head, changed: &[&str], patch| said(&state(branch, head, changed, patch)).join(" ");
        assert_eq!(
            said("work", "0123456789abcdef", &["a", "b"], "x"),
            "The branch was main and is work now."
        );
        assert_eq!(
            said("main", "fedcba9876543210", &["a", "b"], "x"),
            "The head was 0123456789ab and is fedcba987654 now."
        );
        assert_eq!(
            said("main", "0123456789abcdef", &["b", "c"], "y"),
            "No longer changed: .M a. Changed since: .M c."
        );
        assert!(
            said("main", "0123456789abcdef", &["a", "b"], "y").contains("have changes, but different ones")
        );
        assert_eq!(
            drift(Some(&git), None, Some(&state("main", "0123456789abcdef", &["a", "b"], "y"))),
            Vec::<String>::new()
        );
        assert_eq!(drift(Some(&git), None, None), ["There was a git repository; there is none now."]);
        assert_eq!(drift(None, None, Some(&then)), ["There was no git repository; there is one now."]);
        assert_eq!(drift(None, None, None), Vec::<String>::new());
    }
}
