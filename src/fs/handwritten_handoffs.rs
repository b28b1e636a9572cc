//! Handoff files that Claude or a person wrote by hand, in the format of the first source document:
//! `CHANNEL-PID.md` and `CHANNEL.md` in the directory of handoffs. hopty reads them and leaves them in place.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::core::handoff::document::has_handoff_id;
use crate::core::ids::Channel;
use crate::core::time::WallTime;
use crate::sys::safe_file::{self, FileRule};

/// The longest file that is read, in bytes.
const HANDWRITTEN_MAX: u64 = 64 << 10;

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFile {
    pub path: PathBuf,
    /// Its text; invalid UTF-8 is replaced.
    pub text: String,
}

/// The files of a channel and of the Claude `pid` that were written since `since`, the process's own file
/// first, without hopty's own layout of that name. Also returns sentences about files of those names that
/// were left out.
pub fn find(
    claude: &Path,
    channel: &Channel,
    pid: Option<u32>,
    since: WallTime,
) -> (Vec<OwnFile>, Vec<String>) {
    let names = pid.map(|pid| channel.file_name(Some(pid))).into_iter().chain([channel.file_name(None)]);
    let (mut found, mut left) = (Vec::new(), Vec::new());
    for path in names.map(|name| claude.join("handoff").join(name)) {
        if !fs::symlink_metadata(&path).is_ok_and(|meta| is_since(&meta, since)) {
            continue;
        }
        match read(&path, since) {
            Ok(Some(text)) if !text.trim().is_empty() && !has_handoff_id(&text) => {
                found.push(OwnFile { path, text })
            }
            Ok(_) => {}
            Err(error) => left.push(format!("hopty ignores a handoff file: {error}.")),
        }
    }
    (found, left)
}

pub fn joined(found: &[OwnFile]) -> Option<String> {
    let texts: Vec<String> =
        found.iter().map(|file| format!("From {}:\n\n{}\n", file.path.display(), file.text.trim())).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn read(path: &Path, since: WallTime) -> Result<Option<String>, safe_file::SafeFileError> {
    let Some(file) = safe_file::open(path, FileRule::own(HANDWRITTEN_MAX).closed_to(0o002))? else {
        return Ok(None);
    };
    // It may not be the file that was checked.
    if !file.metadata().is_ok_and(|meta| is_since(&meta, since)) {
        return Ok(None);
    }
    Ok(safe_file::first_bytes(file, HANDWRITTEN_MAX)
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn is_since(meta: &fs::Metadata, since: WallTime) -> bool {
    let written = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    written.and_then(|at| i64::try_from(at.as_millis()).ok()).is_some_and(|at| at >= since.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_young_files_of_this_user_that_hopty_did_not_write_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("handoff");
        fs::create_dir(&at).unwrap();
        let channel: Channel = "web".parse().unwrap();
        let since = WallTime(1_795_000_000_000);
        let write = |name: &str, text: &str, second: u64| {
            let file = fs::File::create(at.join(name)).unwrap();
            fs::write(at.join(name), text).unwrap();
            file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(second)).unwrap();
        };
        let look = || {
            let (found, left) = find(dir.path(), &channel, Some(77), since);
            (found.into_iter().map(|file| file.text).collect::<Vec<_>>(), left)
        };
        assert_eq!(look(), (vec![], vec![]));
        write("web.md", "**Task:** the wall", 1_795_000_001);
        write("web-77.md", "**Task:** the pier", 1_795_000_000);
        write("web-78.md", "**Task:** another Claude's", 1_795_000_001);
        assert_eq!(look().0, ["**Task:** the pier", "**Task:** the wall"]);
        write("web.md", "**Task:** of yesterday", 1_794_999_999);
        write(
            "web-77.md",
            "# Handoff State\n\n<!-- HANDOFF-ID: HO-20261120-142950-c74cc080 -->\n",
            1_795_000_001,
        );
        assert_eq!(look(), (vec![], vec![]));
        write("web-77.md", &"x".repeat(65_537), 1_795_000_001);
        write("web.md", "open to all", 1_795_000_001);
        fs::set_permissions(at.join("web.md"), fs::Permissions::from_mode(0o666)).unwrap();
        let (found, left) = look();
        assert!(
            found.is_empty()
                && left[0].contains("longer than 65536 bytes")
                && left[1].contains("other users"),
            "{left:?}"
        );
        for name in ["web.md", "web-77.md"] {
            fs::remove_file(at.join(name)).unwrap();
        }
        nix::unistd::mkfifo(&at.join("web-77.md"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink("/etc/passwd", at.join("web.md")).unwrap();
        let (found, left) = look();
        assert!(
            found.is_empty() && left[0].contains("is a FIFO") && left[1].contains("symbolic link"),
            "{left:?}"
        );
    }
}
