//! The folder of a directory below `C/projects`, and the files in it that belong to the directory itself.

use std::fs;
use std::path::{Path, PathBuf};

use crate::core::claude::line_context::{project_dir_name, uncut_project_dir_name};

/// The folder of this directory's transcripts: `C/projects/NAME`. Claude up to 2.0.76 does not shorten a
/// long name; its folder is used if it is the only one.
pub fn project_folder(claude: &Path, dir: &str) -> PathBuf {
    let projects = claude.join("projects");
    let folder = projects.join(project_dir_name(dir));
    let uncut = projects.join(uncut_project_dir_name(dir));
    if !folder.is_dir() && uncut.is_dir() { uncut } else { folder }
}

/// The part of `dir` below `top`, with its slash; empty for `top` itself, `None` for a directory elsewhere.
pub fn belongs_below<'a>(dir: &'a str, top: &str) -> Option<&'a str> {
    dir.strip_prefix(top.trim_end_matches('/')).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The memory that Claude keeps for a project, not for a conversation: `C/projects/NAME/memory`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectMemory {
    /// Its files, each with its new place.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// Files that stay because their name is taken in the new place.
    pub stay: Vec<PathBuf>,
}

impl ProjectMemory {
    /// The memory in the folder `old`, as it moves to the folder `new`. Only plain files move.
    #[must_use]
    pub fn of(old: &Path, new: &Path) -> Self {
        let mut found = ProjectMemory::default();
        found.add(&old.join("memory"), &new.join("memory"), 8);
        found.files.sort();
        found
    }

    fn add(&mut self, old: &Path, new: &Path, depth: usize) {
        let Ok(meta) = fs::symlink_metadata(old) else { return };
        if meta.is_dir() && depth > 0 {
            for entry in fs::read_dir(old).into_iter().flatten().flatten() {
                self.add(&entry.path(), &new.join(entry.file_name()), depth - 1);
            }
        } else if meta.is_file() && new.symlink_metadata().is_err() {
            self.files.push((old.to_owned(), new.to_owned()));
        } else {
            self.stay.push(old.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_074_the_folder_is_the_one_that_claude_made() {
        let root = tempfile::tempdir().unwrap();
        let claude = root.path();
        assert_eq!(project_folder(claude, "/home/u/a.b"), claude.join("projects/-home-u-a-b"));
        let long = format!("/{}", "x".repeat(210));
        let cut = project_folder(claude, &long);
        assert!(cut.file_name().unwrap().len() < 210);
        let uncut = claude.join("projects").join(format!("-{}", "x".repeat(210)));
        fs::create_dir_all(&uncut).unwrap();
        assert_eq!(project_folder(claude, &long), uncut, "an old Claude made it");
        fs::create_dir_all(&cut).unwrap();
        assert_eq!(project_folder(claude, &long), cut);
    }

    #[test]
    fn paths_below_a_directory_are_recognized() {
        assert_eq!(belongs_below("/a/b", "/a/b"), Some(""));
        assert_eq!(belongs_below("/a/b/c", "/a/b/"), Some("/c"));
        assert_eq!((belongs_below("/a/bc", "/a/b"), belongs_below("/a", "/a/b")), (None, None));
        assert_eq!(belongs_below("/a", "/"), Some("/a"));
    }
}
