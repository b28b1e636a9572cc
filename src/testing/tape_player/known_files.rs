//! Files that a tape has written or checked: if a file has not changed since although the program got an
//! input, a check of it may not be a check of the program's answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::testing::file_fingerprint::FileFingerprint;

#[derive(Debug, Default)]
pub(super) struct KnownFiles {
    /// How many inputs there were, and the line of the last one.
    inputs: (u64, u32),
    files: BTreeMap<PathBuf, (FileFingerprint, u64)>,
}

impl KnownFiles {
    /// Notes an input in this line.
    pub fn begin_input(&mut self, line: u32) {
        self.inputs = (self.inputs.0 + 1, line);
    }

    /// Notes that the tape has written this file, or that a check of it has passed. Returns the line of the
    /// last input if the file has not changed since before that.
    pub fn note(&mut self, path: &Path) -> Option<u32> {
        let now = FileFingerprint::of(path)?;
        let before = self.files.insert(path.to_owned(), (now, self.inputs.0));
        let is_old = before.is_some_and(|(then, inputs)| then == now && inputs < self.inputs.0);
        is_old.then_some(self.inputs.1)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_was_not_written_since_the_last_input_is_told_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.txt");
        let mut files = KnownFiles::default();
        files.begin_input(1);
        assert_eq!(files.note(&path), None, "it does not exist");
        fs::write(&path, "one").unwrap();
        assert_eq!((files.note(&path), files.note(&path)), (None, None), "no input between");
        files.begin_input(7);
        assert_eq!(files.note(&path), Some(7));
        files.begin_input(8);
        fs::write(&path, "three").unwrap();
        assert_eq!((files.note(&path), files.note(&path)), (None, None));
    }
}
