//! Reads files that make Claude run code: bounded, and by their metadata if they cannot be read.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::core::claude::command_files::is_script;
use crate::sys::safe_file::{self, FileRule};

/// The most entries of directories that are examined for one tree.
pub(super) const MAX_ENTRIES: usize = 1 << 16;
/// How much of a file is read to see whether it is a script, in bytes.
const BEGINS: usize = 2;

pub(super) enum FileContent {
    Missing,
    Bytes(Vec<u8>),
    /// A description of a file that cannot be read.
    Odd(String),
}

/// A file's content and metadata. Never waits, and opens only files: a project may contain a pipe.
pub(super) fn read(path: &Path, max: u64) -> (FileContent, Option<Metadata>) {
    match safe_file::open(path, FileRule::of_claude(max)) {
        Ok(None) => (FileContent::Missing, None),
        Ok(Some(file)) => match file.metadata() {
            Ok(meta) => (
                bytes(file, max).map_or_else(|| FileContent::Odd(identity(&meta)), FileContent::Bytes),
                Some(meta),
            ),
            Err(e) => (FileContent::Odd(e.kind().to_string()), None),
        },
        Err(refused) => match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => (FileContent::Missing, None),
            Ok(meta) => (FileContent::Odd(identity(&meta)), Some(meta)),
            Err(_) => (FileContent::Odd(refused.to_string()), None),
        },
    }
}

fn bytes(file: File, max: u64) -> Option<Vec<u8>> {
    safe_file::first_bytes(file, max + 1).ok().filter(|bytes| bytes.len() as u64 <= max)
}

/// Metadata that changes with every change of a file, but does not include its content.
fn identity(meta: &Metadata) -> String {
    let of = [meta.dev(), meta.ino(), meta.len(), u64::from(meta.mode())];
    format!("{of:?} {}.{} {}.{}", meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec())
}

/// What a file is compared by: its bytes, up to `max`, else its metadata. `None` if it is missing, or if
/// `counts` rejects it, given whether it is a script. A file that only an administrator can write is not
/// compared, because system updates change it.
pub(super) fn compared(path: &Path, max: u64, counts: impl Fn(bool) -> bool) -> Option<Vec<u8>> {
    let (content, meta) = read(path, max);
    let meta = meta?;
    let of_root = meta.uid() == 0 && meta.mode() & 0o022 == 0 && nix::unistd::geteuid().as_raw() != 0;
    if of_root || !meta.is_file() {
        return None;
    }
    match content {
        FileContent::Bytes(bytes) => counts(is_script(path, &bytes, meta.mode())).then_some(bytes),
        _ => counts(is_script(path, &begins(path), meta.mode())).then(|| identity(&meta).into_bytes()),
    }
}

/// The first bytes of a file, however long it is.
fn begins(path: &Path) -> Vec<u8> {
    let mut first = [0; BEGINS];
    let file = safe_file::open(path, FileRule::of_claude(u64::MAX)).ok().flatten();
    file.filter(|mut file| file.read_exact(&mut first).is_ok()).map_or_else(Vec::new, |_| first.to_vec())
}

/// A unique name for a path.
pub(super) fn label(path: &Path) -> String {
    path.to_str().map_or_else(|| format!("{path:?}"), str::to_owned)
}

/// The files of a directory and of those below it.
pub(super) struct FileTree {
    /// All files, in order. Links are followed, each directory once.
    pub files: Vec<PathBuf>,
    /// Whether the tree has more entries than were examined.
    pub is_cut: bool,
}

impl FileTree {
    /// The files in `root`, down to `depth` directories below it.
    pub fn of(root: &Path, depth: usize) -> FileTree {
        let mut tree = FileTree { files: Vec::new(), is_cut: false };
        let (mut dirs, mut seen, mut entries) = (vec![(root.to_owned(), depth)], BTreeSet::new(), 0);
        while let Some((dir, depth)) = dirs.pop() {
            let Ok(meta) = std::fs::metadata(&dir) else { continue };
            if !seen.insert((meta.dev(), meta.ino())) {
                continue;
            }
            let mut inner = Vec::new();
            for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
                entries += 1;
                if entries > MAX_ENTRIES {
                    tree.is_cut = true;
                    return tree;
                }
                let path = entry.path();
                let is_dir = match entry.file_type() {
                    Ok(kind) if kind.is_symlink() => path.is_dir(),
                    Ok(kind) => kind.is_dir(),
                    Err(_) => false,
                };
                match (is_dir, depth.checked_sub(1)) {
                    (false, _) => tree.files.push(path),
                    (true, Some(depth)) => inner.push((path, depth)),
                    (true, None) => {}
                }
            }
            // If two paths lead to a directory, always the same one counts.
            inner.sort();
            dirs.extend(inner);
        }
        tree.files.sort();
        tree
    }

    /// Only the files with this suffix.
    pub fn with_ending(mut self, ending: &str) -> FileTree {
        self.files.retain(|path| path.extension().is_some_and(|of| of.eq_ignore_ascii_case(ending)));
        self
    }
}

/// The directories of installed plugins: every `installPath` of the list, whatever its version.
pub(super) fn installed(list: &Path, max: u64) -> Vec<PathBuf> {
    let (FileContent::Bytes(bytes), _) = read(list, max) else { return Vec::new() };
    let mut roots = Vec::new();
    let mut rest: Vec<Value> = serde_json::from_slice(&bytes).into_iter().collect();
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(parts) => {
                roots.extend(parts.get("installPath").and_then(Value::as_str).map(PathBuf::from));
                rest.extend(parts.into_iter().map(|(_, value)| value));
            }
            Value::Array(list) => rest.extend(list),
            _ => {}
        }
    }
    roots.sort();
    roots.dedup();
    roots
}
