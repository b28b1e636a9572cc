//! The transcripts below `C/projects`.

use std::collections::HashMap;
use std::fs::{DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::ids::ConversationId;
use crate::core::time::WallTime;
use crate::fs::paths::Paths;

/// One transcript: `C/projects/PROJECT/ID.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptFile {
    /// The conversation, by the file's name.
    pub id: ConversationId,
    pub path: PathBuf,
    /// Its state when it was listed.
    pub state: FileState,
}

/// Identifies a file and its content: unchanged state means unchanged content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its modification time, in nanoseconds since the epoch.
    pub modified_ns: i64,
    pub inode: u64,
}

impl FileState {
    #[must_use]
    pub fn of(meta: &Metadata) -> Self {
        let modified_ns = meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec());
        FileState { bytes: meta.len(), modified_ns, inode: meta.ino() }
    }

    /// Its modification time.
    #[must_use]
    pub fn modified(self) -> WallTime {
        WallTime(self.modified_ns / 1_000_000)
    }
}

/// All transcripts, and other files in their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcripts {
    /// The files, the last written first.
    pub files: Vec<TranscriptFile>,
    /// Sentences for a person about files that could not be read or are not transcripts.
    pub notices: Vec<String>,
}

impl Transcripts {
    /// Those below Claude's directory; none if it does not exist.
    #[must_use]
    pub fn all(paths: &Paths) -> Self {
        let mut found = Transcripts::default();
        let projects = paths.claude.join("projects");
        for project in found.entries(&projects) {
            match project.file_type() {
                Ok(kind) if kind.is_dir() => found.add_project(&project.path()),
                Ok(kind) if kind.is_symlink() && project.path().is_dir() => {
                    found
                        .notices
                        .push(format!("{} is a link, which hopty does not follow", project.path().display()));
                }
                _ => {}
            }
        }
        found.sort();
        found
    }

    /// Those of one project directory.
    #[must_use]
    pub fn in_dir(dir: &Path) -> Self {
        let mut found = Transcripts::default();
        found.add_project(dir);
        found.sort();
        found
    }

    /// The ids that more than one file has, with the number of files. Claude resumes any of them.
    pub fn duplicates(&self) -> HashMap<&ConversationId, usize> {
        let mut counts = HashMap::new();
        for file in &self.files {
            *counts.entry(&file.id).or_insert(0) += 1;
        }
        counts.retain(|_, count| *count > 1);
        counts
    }

    fn sort(&mut self) {
        self.files
            .sort_by(|a, b| b.state.modified_ns.cmp(&a.state.modified_ns).then_with(|| a.path.cmp(&b.path)));
    }

    fn add_project(&mut self, dir: &Path) {
        for entry in self.entries(dir) {
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".jsonl")?.parse().ok());
            let Some(id) = id else { continue };
            let path = entry.path();
            match entry.metadata() {
                Ok(meta) if meta.is_file() => {
                    self.files.push(TranscriptFile { id, path, state: FileState::of(&meta) });
                }
                Ok(_) => {
                    self.notices.push(format!("{} is not a regular file; hopty ignores it", path.display()))
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => self.notices.push(format!("cannot look at {}: {error}", path.display())),
            }
        }
    }

    fn entries(&mut self, dir: &Path) -> Vec<DirEntry> {
        match std::fs::read_dir(dir) {
            Ok(entries) => entries.flatten().collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                self.notices.push(format!("cannot read {}: {error}", dir.display()));
                Vec::new()
            }
        }
    }
}

impl TranscriptFile {
    /// The file at `path`, which need not be below Claude's directory. `None` if its name is not a
    /// conversation's or it is not a regular file.
    pub fn at(path: &Path) -> Option<Self> {
        let id = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.parse().ok()?;
        let meta = std::fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
        Some(TranscriptFile { id, path: path.to_owned(), state: FileState::of(&meta) })
    }

    /// The directory of its project's transcripts (`C/projects/PROJECT`).
    pub fn project_dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_with_the_name_of_a_conversation_are_transcripts() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path();
        let paths = crate::fs::conversations::files::tests::paths(base);
        assert_eq!(Transcripts::all(&paths), Transcripts::default());
        let projects = base.join("claude/projects");
        let id = |n: u8| format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0.jsonl");
        for dir in ["-a", "-b"] {
            std::fs::create_dir_all(projects.join(dir)).unwrap();
        }
        for name in [&id(1), &id(2), "agent-1234.jsonl", "notes.md"] {
            std::fs::write(projects.join("-a").join(name), "{}\n").unwrap();
        }
        std::fs::write(projects.join("-b").join(id(1)), "{}\n").unwrap();
        symlink("/dev/zero", projects.join("-a").join(id(3))).unwrap();
        nix::unistd::mkfifo(&projects.join("-a").join(id(4)), nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::fs::create_dir(projects.join("-a").join(id(5))).unwrap();
        symlink(projects.join("-a"), projects.join("-link")).unwrap();
        let found = Transcripts::all(&paths);
        let mut names: Vec<&str> = found
            .files
            .iter()
            .map(|file| file.path.strip_prefix(&projects).unwrap().to_str().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, [format!("-a/{}", id(1)), format!("-a/{}", id(2)), format!("-b/{}", id(1))]);
        assert_eq!(found.notices.len(), 4, "{:?}", found.notices);
        let twice = found.duplicates();
        assert_eq!(twice.into_iter().map(|(id, n)| (id.short(), n)).collect::<Vec<_>>(), [("00000001", 2)]);
    }
}
