//! File changes as data, and the view of files that they need. `fs::edits` reads and writes the files.

use std::path::{Path, PathBuf};

use crate::core::time::WallTime;

/// Facts about a path; links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// A regular file of this user.
    pub own: bool,
    pub bytes: u64,
    /// In whole seconds.
    pub written: WallTime,
}

/// The files of a project, as the code that plans edits sees them.
pub trait FileView {
    /// The text of a file of this user, at most 1 MiB; empty without a file.
    ///
    /// # Errors
    /// Why it is not read, as a sentence without its full stop.
    fn text(&self, path: &Path) -> Result<String, String>;
    /// The first bytes of a file of this user, as text; empty if it cannot be read.
    fn beginning(&self, path: &Path, bytes: u64) -> String;
    fn facts(&self, path: &Path) -> Option<FileFacts>;
    /// The length in bytes of a file that may be behind a link; 0 if there is none.
    fn length(&self, path: &Path) -> u64;
    /// The names in a directory that are UTF-8.
    fn names(&self, dir: &Path) -> Vec<String>;
    /// Whether a directory below the project exists, without links or other users' directories on the way.
    fn is_inside(&self, project: &Path, below: &str) -> bool;
}

/// A change of a file. Links and files of other users are errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEdit {
    /// A directory below the project, which is created if it is missing.
    DirInProject {
        project: PathBuf,
        /// Relative to the project.
        below: String,
    },
    /// A directory that only this user can use, which is created if it is missing.
    PrivateDir(PathBuf),
    /// A file with this text, new (0600) or in place of an old one, whose mode it keeps.
    Replace(PathBuf, String),
    /// A new file (0600). An existing one is an error.
    Create(PathBuf, String),
    /// A line at the end of a log, which is created if it is missing.
    Append(PathBuf, String),
    /// Copies the first bytes of a transcript to a new file.
    Copy { from: PathBuf, to: PathBuf, bytes: u64 },
    /// Removes a file, if it exists.
    Remove(PathBuf),
}

impl FileEdit {
    /// Creates a directory below the project if it is missing.
    #[must_use]
    pub fn dir_in_project(project: &Path, below: &str) -> Self {
        FileEdit::DirInProject { project: project.to_owned(), below: below.to_owned() }
    }
}

/// Changes in order, up to the first that fails. An error is a sentence that says why a change is impossible.
pub type FileEdits = Vec<Result<FileEdit, String>>;

/// Files in memory, for tests.
#[cfg(test)]
pub mod fake {
    use std::collections::BTreeMap;

    use super::*;

    /// Every directory exists.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct FakeFiles(pub BTreeMap<PathBuf, String>);

    impl FakeFiles {
        pub fn change(&mut self, changes: FileEdits) -> Result<(), String> {
            for change in changes {
                match change? {
                    FileEdit::DirInProject { .. } | FileEdit::PrivateDir(_) => {}
                    FileEdit::Replace(path, text) => drop(self.0.insert(path, text)),
                    FileEdit::Create(path, text) => {
                        assert_eq!(self.0.insert(path, text), None);
                    }
                    FileEdit::Append(path, line) => self.0.entry(path).or_default().push_str(&line),
                    FileEdit::Copy { from, to, .. } => drop(self.0.insert(to, self.0[&from].clone())),
                    FileEdit::Remove(path) => drop(self.0.remove(&path)),
                }
            }
            Ok(())
        }
    }

    impl FileView for FakeFiles {
        fn text(&self, path: &Path) -> Result<String, String> {
            Ok(self.0.get(path).cloned().unwrap_or_default())
        }

        fn beginning(&self, path: &Path, _: u64) -> String {
            self.text(path).unwrap_or_default()
        }

        fn facts(&self, path: &Path) -> Option<FileFacts> {
            let bytes = self.0.get(path)?.len() as u64;
            Some(FileFacts { own: true, bytes, written: WallTime(0) })
        }

        fn length(&self, path: &Path) -> u64 {
            self.facts(path).map_or(0, |facts| facts.bytes)
        }

        fn names(&self, dir: &Path) -> Vec<String> {
            let below = self.0.keys().filter(|path| path.parent() == Some(dir));
            below.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
        }

        fn is_inside(&self, _: &Path, _: &str) -> bool {
            true
        }
    }
}
