//! Finds the tapes that the paths on the command line mean, and names each.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where to look for tapes if no path is given: `tests/**/*.tape` and `tapes/**`.
const DEFAULT_DIRS: [&str; 2] = ["tests", "tapes"];
/// Directories in which projects do not keep tapes.
const SKIPPED_DIRS: [&str; 2] = ["target", "node_modules"];
/// How deep directories are searched.
const DEPTH_MAX: usize = 32;

/// A tape on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapeFile {
    /// Its path, as it was given or found.
    pub path: PathBuf,
    /// The name of its evidence, unique among the tapes that were found together.
    pub name: String,
}

/// Finds the tapes of `paths`: files as they are, and all `*.tape` files in directories. Without paths, the
/// directories `tests` and `tapes` of the working directory are searched. The order is that of the paths,
/// with each directory sorted.
///
/// # Errors
/// The path that does not exist or cannot be read, with the reason.
pub fn tapes(paths: &[PathBuf]) -> Result<Vec<TapeFile>, (PathBuf, io::Error)> {
    let mut found = Vec::new();
    if paths.is_empty() {
        for dir in DEFAULT_DIRS.map(Path::new).into_iter().filter(|dir| dir.is_dir()) {
            search(dir, 0, &mut found).map_err(|error| (dir.to_owned(), error))?;
        }
    }
    for path in paths {
        let meta = fs::metadata(path).map_err(|error| (path.clone(), error))?;
        if meta.is_dir() {
            search(path, 0, &mut found).map_err(|error| (path.clone(), error))?;
        } else {
            found.push(path.clone());
        }
    }
    let mut known = BTreeSet::new();
    found.retain(|path| known.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    Ok(named(found))
}

/// Adds the tapes below `dir`. Skips hidden directories and links to directories, which could form a circle.
fn search(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(dir)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if depth < DEPTH_MAX && !name.starts_with('.') && !SKIPPED_DIRS.contains(&name.as_ref()) {
                search(&path, depth + 1, found)?;
            }
        } else if path.extension().is_some_and(|ext| ext == "tape") && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// Gives each tape the name of its evidence, which does not depend on the other tapes: its path in the
/// working directory, without the directory of all tapes: `vim` for `tests/vim.tape`, `editors-vim`. Outside
/// of the working directory the name of its file.
fn named(paths: Vec<PathBuf>) -> Vec<TapeFile> {
    let here = std::env::current_dir().unwrap_or_default();
    let mut taken = BTreeSet::new();
    let name_of = |path: PathBuf| {
        let inside = if path.is_absolute() { path.strip_prefix(&here).ok() } else { Some(path.as_path()) };
        let parts = name_parts(inside.unwrap_or(&path));
        let is_usual = parts.len() > 1 && DEFAULT_DIRS.contains(&parts[0].as_str());
        let first = if inside.is_none() { parts.len() - 1 } else { usize::from(is_usual) };
        let mut name = parts[first..].join("-");
        // For `tests/a.tape` and `tapes/a.tape`, or `a-b.tape` and `a/b.tape`.
        if taken.contains(&name) {
            name = parts.join("-");
        }
        let first = name.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{first}-{number}");
            number += 1;
        }
        TapeFile { path, name }
    };
    paths.into_iter().map(name_of).collect()
}

/// The directories and the file's name without `.tape`, as words that are safe in a path.
fn name_parts(path: &Path) -> Vec<String> {
    let is_tape = path.extension().is_some_and(|ext| ext == "tape");
    let stem = if is_tape { path.with_extension("") } else { path.to_owned() };
    let parts = stem.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let safe = |c: char| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let parts: Vec<String> = parts.map(|part| part.chars().map(safe).collect()).collect();
    if parts.is_empty() { vec!["tape".to_owned()] } else { parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str]) -> Vec<String> {
        named(paths.iter().map(PathBuf::from).collect()).into_iter().map(|tape| tape.name).collect()
    }

    #[test]
    fn a_name_is_the_same_whatever_else_is_played() {
        assert_eq!(names(&["tests/vim.tape", "tests/a b.tape"]), ["vim", "a_b"]);
        assert_eq!(
            names(&["tests/x/vim.tape", "tests/y/vim.tape", "tests/y/mc.tape"]),
            ["x-vim", "y-vim", "y-mc"]
        );
        assert_eq!(names(&["tests/y/vim.tape"]), ["y-vim"]);
        assert_eq!(names(&["tests/a.tape", "tapes/a.tape"]), ["a", "tapes-a"]);
        assert_eq!(names(&["a/b.tape", "a-b.tape", "c/b.tape"]), ["a-b", "a-b-2", "c-b"]);
        assert_eq!(names(&["/"]), ["tape"]);
    }

    #[test]
    fn names_are_never_the_same() {
        let same = names(&["a/b.tape", "./a/b.tape", "a-b.tape", "b.tape"]);
        let different: BTreeSet<&String> = same.iter().collect();
        assert_eq!(different.len(), same.len(), "{same:?}");
    }

    #[test]
    fn directories_are_searched_and_files_are_taken_as_they_are() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for dir in ["t/inner", "t/.hidden", "t/target"] {
            fs::create_dir_all(path(dir)).unwrap();
        }
        for file in
            ["t/b.tape", "t/a.tape", "t/a.txt", "t/inner/c.tape", "t/.hidden/d.tape", "t/target/e.tape"]
        {
            fs::write(path(file), "").unwrap();
        }
        let found = tapes(&[path("t/a.txt"), path("t"), path("t/b.tape")]).unwrap();
        let names: Vec<&str> = found.iter().map(|tape| tape.name.as_str()).collect();
        assert_eq!(names, ["a.txt", "a", "b", "c"]);
        let (missing, error) = tapes(&[path("none")]).unwrap_err();
        assert_eq!((missing, error.kind()), (path("none"), io::ErrorKind::NotFound));
    }
}
