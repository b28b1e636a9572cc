//! The name of a file in a package: a path that stays below the directory in which it is unpacked.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::PackageError;

/// The longest name, in bytes.
const NAME_BYTES: usize = 2048;
/// The longest part between two slashes, in bytes: that of every file system.
const PART_BYTES: usize = 255;
/// The most parts.
const PARTS: usize = 64;

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PackageNameError {
    /// It begins with a slash.
    #[error("is an absolute path")]
    Absolute,
    /// It leaves its directory.
    #[error("leads out of its directory")]
    Escapes,
    /// It has an empty part, or is empty.
    #[error("has an empty part")]
    Empty,
    /// It has a character that no name needs.
    #[error("has a control character")]
    Control,
    /// It is too long, or too deep.
    #[error("is too long")]
    TooLong,
}

/// A checked name, with slashes between its parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PackageName(String);

impl PackageName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`PackageError::Name`].
    pub fn parse(name: &str) -> Result<PackageName, PackageError> {
        let checked = PackageName(name.to_owned());
        checked.check().map(|()| checked)
    }

    /// Checks a name that was read as a part of something else.
    ///
    /// # Errors
    /// [`PackageError::Name`].
    pub fn check(&self) -> Result<(), PackageError> {
        let name = self.0.as_str();
        let refused = |why| Err(PackageError::Name { name: name.to_owned(), why });
        if name.len() > NAME_BYTES || name.split('/').count() > PARTS {
            return refused(PackageNameError::TooLong);
        }
        if name.starts_with('/') {
            return refused(PackageNameError::Absolute);
        }
        if name.chars().any(char::is_control) {
            return refused(PackageNameError::Control);
        }
        for part in name.split('/') {
            match part {
                "" => return refused(PackageNameError::Empty),
                "." | ".." => return refused(PackageNameError::Escapes),
                _ if part.len() > PART_BYTES => return refused(PackageNameError::TooLong),
                _ => {}
            }
        }
        Ok(())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names of the directories above it, the nearest first.
    pub(super) fn directories(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.0.as_str()), |path| path.rsplit_once('/').map(|(dir, _)| dir)).skip(1)
    }
}

impl fmt::Display for PackageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_below_its_directory() {
        for good in ["a", "a/b.jsonl", "x/..y/...", "a b/ž/日本", "-rf", "a\\b"] {
            assert_eq!(PackageName::parse(good).unwrap().as_str(), good);
        }
        let why = |name: &str| match PackageName::parse(name) {
            Err(PackageError::Name { why, .. }) => why,
            other => panic!("{name:?}: {other:?}"),
        };
        assert_eq!(why("/etc/passwd"), PackageNameError::Absolute);
        for name in ["..", "../a", "a/../b", "a/..", ".", "./a", "a/."] {
            assert_eq!(why(name), PackageNameError::Escapes, "{name}");
        }
        for name in ["", "a//b", "a/"] {
            assert_eq!(why(name), PackageNameError::Empty, "{name}");
        }
        for name in ["a\0b", "a\nb", "\u{1b}[2J", "\u{7f}"] {
            assert_eq!(why(name), PackageNameError::Control, "{name:?}");
        }
        for name in ["a".repeat(256), "a/".repeat(64) + "a", "ab/".repeat(1000) + "a"] {
            assert_eq!(why(&name), PackageNameError::TooLong);
        }
    }

    #[test]
    fn its_directories_are_those_above_it() {
        let name = PackageName::parse("a/b/c").unwrap();
        assert_eq!(name.directories().collect::<Vec<_>>(), ["a/b", "a"]);
    }
}
