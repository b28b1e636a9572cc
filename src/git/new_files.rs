//! Untracked files as a patch for `git apply`.
//!
//! git only lists them. Their content is read here, because git would run programs that attributes name.
//! Only regular files of this user and links are read, on the file system of the work tree, never through a
//! linked directory, and up to the limits below. Files that are left out are listed.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use super::git_run::KillReason;
use super::key_files::{self, is_key_file};
use super::private_git_dir::WorkTreeGit;
use crate::core::compat::SessionCompat;
use crate::core::handoff::capture::GitState;
use crate::sys::safe_file::{self, FileRule, SafeFileError};

/// The longest file, in bytes.
const FILE_CAP: u64 = 256 << 10;
/// The longest patch of new files, in bytes.
const PATCH_CAP: usize = 2 << 20;
/// The most new files in the patch.
const FILES_CAP: usize = 200;
/// How much of git's list is read, in bytes.
const LIST_CAP: usize = 1 << 20;
/// How many left-out files are listed.
const NAMED: usize = 20;

/// Adds the untracked files that are not ignored to `state`, in at most `room` bytes, and notes those that
/// are left out.
pub(super) fn add(git: &WorkTreeGit, state: &mut GitState, room: usize) {
    if !state.changed.iter().any(|(code, _)| code == "??") {
        return;
    }
    // hopty's own copies for other tools are not work.
    let own = SessionCompat::OWN_FILES.map(|path| format!("--exclude=/{path}"));
    let list = ["ls-files", "--others", "--exclude-standard", "-z"];
    let args: Vec<&str> = list.into_iter().chain(own.iter().map(String::as_str)).collect();
    let listed = match git.ask(&args, LIST_CAP) {
        Ok(output)
            if output.cut == Some(KillReason::Size)
                || output.status.is_some_and(|status| status.success()) =>
        {
            output.stdout
        }
        _ => {
            return state
                .notes
                .push("new files are not in changes.patch: git did not list them in time".to_owned());
        }
    };
    // The last part is empty, or was cut.
    let mut paths: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
    paths.pop();
    let mut patch = Vec::new();
    let mut left = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        let made = match n {
            0..FILES_CAP if Instant::now() < git.until() => {
                one(git.top(), path, room.min(PATCH_CAP).saturating_sub(patch.len()))
            }
            _ => Err("over the limit"),
        };
        match made {
            Ok(part) => patch.extend(part),
            Err(why) => left.push((path, why)),
        }
    }
    state.new_files = patch;
    if !left.is_empty() {
        let shown =
            left.iter().take(NAMED).map(|(path, why)| format!("{} ({why})", String::from_utf8_lossy(path)));
        let more = left.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        state.notes.extend(lines(shown).map(|line| format!("not in changes.patch: {line}")));
        if let (Some(last), false) = (state.notes.last_mut(), more.is_empty()) {
            last.push_str(&more);
        }
    }
}

/// Joins names into lines that are short enough for a list in the document.
fn lines(names: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.len() + name.len() < 400 => {
                line.push_str(", ");
                line.push_str(&name);
            }
            _ => lines.push(name),
        }
    }
    lines.into_iter()
}

/// The part of the patch that adds one file, or why it is left out.
fn one(top: &Path, path: &[u8], room: usize) -> Result<Vec<u8>, &'static str> {
    if path.ends_with(b"/") {
        return Err("a nested repository");
    }
    if is_key_file(path) {
        return Err(key_files::WHY);
    }
    let place = top.join(OsStr::from_bytes(path));
    let inside = place.parent().is_some_and(|dir| dir.canonicalize().is_ok_and(|real| real == dir));
    let meta = fs::symlink_metadata(&place).map_err(|_| "gone")?;
    if !inside || !fs::metadata(top).is_ok_and(|top| top.dev() == meta.dev()) {
        return Err("outside the work tree");
    }
    let (mode, content) = if meta.is_symlink() {
        ("120000", fs::read_link(&place).map_err(|_| "unreadable")?.into_os_string().as_bytes().to_vec())
    } else {
        let content = safe_file::read(&place, FileRule::own(FILE_CAP)).map_err(|error| match error {
            SafeFileError::TooLong { .. } => "over 256 KiB",
            SafeFileError::Foreign(_) => "owned by another user",
            SafeFileError::Kind { .. } | SafeFileError::Link(_) => "not a file",
            SafeFileError::Io { .. } | SafeFileError::Writable(_) => "unreadable",
        })?;
        (if meta.mode() & 0o100 == 0 { "100644" } else { "100755" }, content.ok_or("gone")?)
    };
    if content.contains(&0) {
        return Err("binary");
    }
    let part = addition(path, mode, &content);
    if part.len() > room { Err("over 2 MiB in all") } else { Ok(part) }
}

/// An added file in git's format.
fn addition(path: &[u8], mode: &str, content: &[u8]) -> Vec<u8> {
    let (old, new) = (quoted(b"a/", path), quoted(b"b/", path));
    let mut part =
        [b"diff --git ".as_slice(), &old, b" ", &new, b"\nnew file mode ", mode.as_bytes(), b"\n"].concat();
    if content.is_empty() {
        return part;
    }
    // A name with a space ends with a tab, as in git's own patches.
    let end: &[u8] = if path.contains(&b' ') { b"\t\n" } else { b"\n" };
    let lines = content.split_inclusive(|byte| *byte == b'\n');
    let count = lines.clone().count();
    part.extend([b"--- /dev/null\n+++ ".as_slice(), &new, end].concat());
    // Writing to a vector cannot fail.
    let _ = match count {
        1 => writeln!(part, "@@ -0,0 +1 @@"),
        _ => writeln!(part, "@@ -0,0 +1,{count} @@"),
    };
    for line in lines {
        part.push(b'+');
        part.extend_from_slice(line);
    }
    if !content.ends_with(b"\n") {
        part.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
    part
}

/// A path as git writes it with `core.quotePath=false`: quoted if it contains a character that would end or
/// hide it.
fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let odd = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'"' | b'\\');
    if !path.iter().any(odd) {
        return [prefix, path].concat();
    }
    let mut text = [b"\"".as_slice(), prefix].concat();
    for byte in path {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            byte if odd(byte) => text.extend(format!("\\{byte:03o}").into_bytes()),
            byte => text.push(*byte),
        }
    }
    text.push(b'"');
    text
}

#[cfg(test)]
#[path = "new_files_tests.rs"]
mod tests;
