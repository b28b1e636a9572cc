//! Claude's list of tasks, `C/tasks/CONVERSATION`: one file per task. The next conversation of a hand-over
//! begins with a copy of it, so that each has its own list and `/clear` begins an empty one, as without
//! hopty.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use super::paths::Paths;
use crate::core::ids::ConversationId;
use crate::sys::private_dir;
use crate::sys::safe_file::{self, FileRule};

/// The most files of a list that are copied.
const MAX_FILES: usize = 2000;
/// The largest file that is copied, in bytes; a larger one is not a task.
const MAX_BYTES: u64 = 256 << 10;

/// Copies the list of `from` for `to`, which has none yet. Does nothing if there is none.
///
/// # Errors
/// When it cannot be read or written; files that were already copied stay.
pub fn carry(paths: &Paths, from: &ConversationId, to: &ConversationId) -> io::Result<()> {
    let tasks = paths.claude.join("tasks");
    let (old, new) = (tasks.join(from.to_string()), tasks.join(to.to_string()));
    let files = match fs::read_dir(&old) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files?,
    };
    if from == to || new.exists() {
        return Ok(());
    }
    private_dir::create(&new)?;
    for file in files.flatten().take(MAX_FILES) {
        // A lock belongs to its holder.
        if file.file_name().as_encoded_bytes().ends_with(b"lock") {
            continue;
        }
        // Only regular files of this user are tasks.
        if let Ok(Some(text)) = safe_file::read(&file.path(), FileRule::own(MAX_BYTES)) {
            let path = new.join(file.file_name());
            File::options().write(true).create_new(true).mode(0o600).open(path)?.write_all(&text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_copied_once_and_only_its_files() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().to_owned();
        let paths = Paths {
            state: base.join("s"),
            config: base.join("c"),
            data: base.join("d"),
            claude: base.join("claude"),
            home: base.clone(),
        };
        let id = |n: u32| format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0").parse::<ConversationId>().unwrap();
        carry(&paths, &id(1), &id(2)).unwrap();
        let dir = |n| base.join("claude/tasks").join(id(n).to_string());
        assert!(!dir(2).exists(), "no list, no copy");
        fs::create_dir_all(dir(1).join("5.json")).unwrap();
        for (name, text) in [("1.json", "one"), (".highwatermark", "3"), (".lock", "")] {
            fs::write(dir(1).join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", dir(1).join("6.json")).unwrap();
        nix::unistd::mkfifo(&dir(1).join("7.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        carry(&paths, &id(1), &id(2)).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(dir(2)).unwrap().flatten().map(|file| file.file_name()).collect();
        names.sort();
        assert_eq!(names, [".highwatermark", "1.json"]);
        fs::write(dir(2).join("1.json"), "changed").unwrap();
        carry(&paths, &id(1), &id(2)).unwrap();
        assert_eq!(
            fs::read_to_string(dir(2).join("1.json")).unwrap(),
            "changed",
            "a list that is there stays"
        );
        assert_eq!(fs::read_to_string(dir(1).join("1.json")).unwrap(), "one");
    }
}
