//! The project of a directory: the top of its git work tree, else the directory itself.
//!
//! It is found by searching upwards for `.git`, as git does, without running anything of the repository or
//! reading its configuration. A linked worktree is a project of its own: it has other files and another
//! branch, and often another job.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::registry;
use crate::sys::safe_file::{self, FileRule};

/// The longest `.git` file that is read, in bytes.
const LINK_CAP: u64 = 8 << 10;

/// Which handoffs of a channel count if none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoffScope {
    /// Those of the project: unrelated directories share a channel.
    Project,
    /// All: the channel was named.
    Channel,
}

/// The project of `dir`, with links resolved as far as it exists. A deleted directory belongs to the work
/// tree that it was in.
pub fn project_of(dir: &Path) -> PathBuf {
    let dir = registry::real(dir);
    top_of(&dir).map_or_else(|| dir.clone(), Path::to_owned)
}

fn top_of(dir: &Path) -> Option<&Path> {
    let mut there = dir.ancestors().skip_while(|above| !above.is_dir()).peekable();
    let device = there.peek()?.metadata().ok()?.dev();
    // Another file system is not part of a work tree above its mount point.
    there
        .take_while(|above| above.metadata().is_ok_and(|meta| meta.dev() == device))
        .find(|above| is_top(above))
}

fn is_top(dir: &Path) -> bool {
    let git = dir.join(".git");
    match git.metadata() {
        Ok(meta) if meta.is_dir() => {
            git.join("HEAD").symlink_metadata().is_ok() && git.join("objects").is_dir()
        }
        Ok(meta) if meta.is_file() => {
            let link = safe_file::read(&git, FileRule::of_claude(LINK_CAP));
            link.is_ok_and(|link| link.is_some_and(|link| link.starts_with(b"gitdir: ")))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_belongs_to_its_work_tree_or_to_itself() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let repository = |name: &str| {
            fs::create_dir_all(base.join(name).join(".git/objects")).unwrap();
            fs::write(base.join(name).join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        };
        repository("proj");
        repository("proj/vendor/lib");
        fs::create_dir_all(base.join("proj/src/deep")).unwrap();
        fs::create_dir_all(base.join("proj/empty/.git")).unwrap();
        fs::create_dir_all(base.join("side")).unwrap();
        fs::write(base.join("side/.git"), "gitdir: ../proj/.git/worktrees/side\n").unwrap();
        fs::create_dir_all(base.join("plain/sub")).unwrap();
        std::os::unix::fs::symlink(base.join("proj/src"), base.join("link")).unwrap();
        for (place, project) in [
            ("proj", "proj"),
            ("proj/src/deep", "proj"),
            ("proj/src/gone/further", "proj"),
            ("proj/empty", "proj"),
            ("proj/vendor/lib", "proj/vendor/lib"),
            ("link/deep", "proj"),
            ("side", "side"),
            ("plain/sub", "plain/sub"),
            ("plain/gone", "plain/gone"),
        ] {
            assert_eq!(project_of(&base.join(place)), base.join(project), "{place}");
        }
    }

    #[test]
    fn special_files_are_not_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for name in ["fifo", "text", "huge"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        nix::unistd::mkfifo(&base.join("fifo/.git"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::write(base.join("text/.git"), "elsewhere").unwrap();
        fs::File::create(base.join("huge/.git")).unwrap().set_len(3 << 30).unwrap();
        for name in ["fifo", "text", "huge"] {
            assert_eq!(project_of(&base.join(name)), base.join(name), "{name}");
        }
        assert_eq!(project_of(Path::new("")), PathBuf::new());
    }
}
