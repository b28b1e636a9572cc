//! Which directories Claude trusts: by its record of a directory, or of a parent up to the root of the
//! repository. A clone below a trusted directory does not inherit its trust (measured on 2.1.330);
//! otherwise nobody would be asked about it.

use std::path::{Path, PathBuf};

use super::paths::Paths;
use crate::core::claude::trust::is_accepted;
use crate::sys::safe_file::{self, FileRule};

/// The largest `.claude.json` that is read, in bytes; it grows to some megabytes.
const MAX_STATE: u64 = 64 << 20;
/// The largest `.git` file that is read, in bytes.
const MAX_LINK: u64 = 8192;

/// Whether Claude's own record says that a person trusts `dir`. An unreadable record means no trust.
pub fn is_trusted(paths: &Paths, dir: &Path) -> bool {
    let Ok(dir) = dir.canonicalize() else { return false };
    let places: Vec<String> = places(&dir).iter().map(|place| place.to_string_lossy().into_owned()).collect();
    read(&paths.claude_json(), MAX_STATE).is_some_and(|state| is_accepted(&state, &places))
}

/// `dir` and its parents up to the root of its repository, and the main work tree of a linked one: the
/// directories for which Claude's own state may have a record about `dir`.
pub fn places(dir: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for at in dir.ancestors() {
        places.push(at.to_owned());
        let git = at.join(".git");
        if git.symlink_metadata().is_ok() {
            places.extend(main_work_tree(&git));
            break;
        }
    }
    places
}

/// The main work tree of a linked one, only if the repository lists the linked one: anybody can write a
/// `.git` file that names a repository, or a symbolic link to such a file of another directory.
fn main_work_tree(link: &Path) -> Option<PathBuf> {
    if !link.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return None;
    }
    let line = |path: &Path| {
        let text = String::from_utf8(read(path, MAX_LINK)?).ok()?;
        Some(PathBuf::from(text.trim_end().strip_prefix("gitdir: ").unwrap_or(text.trim_end())))
    };
    let own = line(link)?;
    let known = own.join("gitdir");
    let main = own.join(line(&own.join("commondir"))?).canonicalize().ok()?;
    let is_below = own.canonicalize().ok()?.parent()? == main.join("worktrees");
    let back = line(&known)?.canonicalize().ok()? == link.canonicalize().ok()?;
    (is_below && back && main.ends_with(".git")).then(|| main.parent().map(Path::to_owned)).flatten()
}

/// A file of this user, read completely; a person may have linked it from another place.
fn read(path: &Path, cap: u64) -> Option<Vec<u8>> {
    safe_file::read(path, FileRule::of_claude(cap).of_this_user()).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_reaches_down_to_the_next_repository() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let paths = Paths {
            state: base.join("s"),
            config: base.join("c"),
            data: base.join("d"),
            claude: base.join(".claude"),
            home: base.clone(),
        };
        let (work, clone) = (base.join("work"), base.join("work/clone"));
        std::fs::create_dir_all(clone.join("src")).unwrap();
        std::fs::create_dir_all(work.join("plain/deep")).unwrap();
        let trust = |dirs: &[&Path]| {
            let of =
                |dir: &Path| (dir.display().to_string(), serde_json::json!({"hasTrustDialogAccepted": true}));
            let projects: serde_json::Map<_, _> = dirs.iter().map(|dir| of(dir)).collect();
            std::fs::write(base.join(".claude.json"), serde_json::json!({"projects": projects}).to_string())
                .unwrap();
        };
        assert!(!is_trusted(&paths, &work), "no record at all");
        trust(&[&work]);
        std::fs::create_dir(clone.join(".git")).unwrap();
        assert!(is_trusted(&paths, &work) && is_trusted(&paths, &work.join("plain/deep")));
        assert!(
            !is_trusted(&paths, &clone) && !is_trusted(&paths, &clone.join("src")),
            "a clone is asked about"
        );
        assert!(!is_trusted(&paths, &base) && !is_trusted(&paths, &base.join("gone")));
        let link = base.join("link");
        std::os::unix::fs::symlink(&clone, &link).unwrap();
        trust(&[&clone]);
        assert!(
            is_trusted(&paths, &link) && is_trusted(&paths, &clone.join("src")) && !is_trusted(&paths, &work)
        );
    }

    #[test]
    fn a_linked_work_tree_is_trusted_with_its_repository_alone() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let (main, tree, forged) = (base.join("main"), base.join("tree"), base.join("forged"));
        let own = main.join(".git/worktrees/tree");
        for dir in [&own, &tree, &forged] {
            std::fs::create_dir_all(dir).unwrap();
        }
        std::fs::write(own.join("commondir"), "../..\n").unwrap();
        std::fs::write(own.join("gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
        for dir in [&tree, &forged] {
            std::fs::write(dir.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        }
        assert_eq!(places(&tree), [tree.clone(), main.clone()]);
        assert_eq!(places(&forged), std::slice::from_ref(&forged), "its repository does not know it");
        let linked = base.join("linked");
        std::fs::create_dir(&linked).unwrap();
        std::os::unix::fs::symlink(tree.join(".git"), linked.join(".git")).unwrap();
        assert_eq!(places(&linked), std::slice::from_ref(&linked), "a link to the file of another directory");
    }
}
