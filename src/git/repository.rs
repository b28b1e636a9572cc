//! Finds a work tree and the parts of its repository, without git and without reading a configuration.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc;

use super::ask_git::GitError;
use crate::core::text::safe_text::cut_chars;
use crate::sys::safe_file;

/// The longest `.git` file, `HEAD` and `commondir`, in bytes. Paths have at most 4 KiB.
const LINK_CAP: u64 = 8 << 10;

/// How many stashes are listed.
const STASHES: usize = 3;
const MESSAGE_CHARS: usize = 100;

/// Digits of an abbreviated commit id.
const SHORT_ID: usize = 7;

/// A work tree and its repository. All paths are absolute.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) top: PathBuf,
    /// Data of this work tree alone: `HEAD` and `index`.
    pub(super) own: PathBuf,
    /// Data that all work trees of the repository share: objects and refs. Differs from `own` only for a
    /// linked worktree.
    pub(super) common: PathBuf,
}

impl Repository {
    /// The repository of the work tree that contains `dir`; `None` outside of a work tree.
    ///
    /// # Errors
    /// When `dir` cannot be read, is in a repository without a work tree, or its `.git` leads to no
    /// repository.
    pub(super) fn find(dir: &Path) -> Result<Option<Self>, GitError> {
        let dir = dir.canonicalize().map_err(GitError::Place)?;
        let device = dir.metadata().map_err(GitError::Place)?.dev();
        for top in dir.ancestors() {
            // As in git: a mounted file system is not part of a work tree above it.
            if top.metadata().map_err(GitError::Place)?.dev() != device {
                break;
            }
            let entry = top.join(".git");
            let found = match entry.metadata() {
                Ok(meta) if meta.is_dir() => Self::at(top, &entry),
                Ok(meta) if meta.is_file() => {
                    let link = read_small(&entry).map_err(GitError::Place)?;
                    let path = link.strip_prefix(b"gitdir: ").ok_or_else(|| bad(&entry))?;
                    Some(Self::at(top, &top.join(path_of(path))).ok_or_else(|| bad(&entry))?)
                }
                _ => None,
            };
            if found.is_some() {
                return Ok(found);
            }
            // Never used as a repository, wherever it is: its own configuration would come with it.
            if Self::at(top, top).is_some() {
                return Err(GitError::Bare);
            }
        }
        Ok(None)
    }

    /// The repository in `own`; `None` if it is none.
    fn at(top: &Path, own: &Path) -> Option<Self> {
        own.join("HEAD").symlink_metadata().ok()?;
        let common = match read_small(&own.join("commondir")) {
            Ok(path) => own.join(path_of(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => own.to_owned(),
            Err(_) => return None,
        };
        let (own, common) = (own.canonicalize().ok()?, common.canonicalize().ok()?);
        let is_one = ["objects", "refs"].iter().all(|name| common.join(name).is_dir());
        is_one.then(|| Self { top: top.to_owned(), own, common })
    }

    /// The checked-out branch, if there is one and `HEAD` names it.
    pub(super) fn branch(&self) -> Option<String> {
        let head = read_small(&self.own.join("HEAD")).ok()?;
        let name = head.strip_prefix(b"ref: refs/heads/")?.trim_ascii_end();
        let name = String::from_utf8_lossy(name).into_owned();
        // A repository with reftable stores its branches elsewhere; no branch name has a control character.
        Some(name)
            .filter(|name| !matches!(name.as_str(), "" | ".invalid") && !name.contains(char::is_control))
    }

    /// The abbreviated id of a detached commit.
    pub(super) fn detached_at(&self) -> Option<String> {
        let head = read_small(&self.own.join("HEAD")).ok()?;
        let id = std::str::from_utf8(head.trim_ascii_end()).ok()?;
        is_id(id).then(|| id[..SHORT_ID].to_owned())
    }

    /// Operations in progress (merge, rebase) and stashes, one line each; read from git's files.
    pub(super) fn in_progress(&self) -> Vec<String> {
        let has = |name: &str| self.own.join(name).symlink_metadata().is_ok();
        let word = |name: &str| first_line(&self.own.join(name));
        let commit = |name: &str| match word(name).filter(|id| is_id(id)) {
            Some(id) => format!(" of {}", &id[..SHORT_ID]),
            None => String::new(),
        };
        let rebase = |dir: &str, [at, of]: [&str; 2]| {
            let branch = word(&format!("{dir}/head-name"));
            let branch = branch.as_deref().and_then(|name| name.strip_prefix("refs/heads/"));
            let branch = branch.map(|name| format!(" of {name}")).unwrap_or_default();
            let number = |name: &str| word(&format!("{dir}/{name}"))?.parse::<u64>().ok();
            let step = number(at).zip(number(of)).map(|(at, of)| format!(", step {at} of {of}"));
            format!("a rebase{branch} is in progress{}", step.unwrap_or_default())
        };
        let mut lines = Vec::new();
        if has("rebase-merge") {
            lines.push(rebase("rebase-merge", ["msgnum", "end"]));
        } else if has("rebase-apply/applying") {
            lines.push("patches are being applied (git am)".to_owned());
        } else if has("rebase-apply") {
            lines.push(rebase("rebase-apply", ["next", "last"]));
        } else if has("MERGE_HEAD") {
            let what = word("MERGE_MSG").map(|message| format!(": {message}")).unwrap_or_default();
            lines.push(format!("a merge{} is in progress and not committed{what}", commit("MERGE_HEAD")));
        } else if has("CHERRY_PICK_HEAD") {
            lines.push(format!("a cherry-pick{} is in progress", commit("CHERRY_PICK_HEAD")));
        } else if has("REVERT_HEAD") {
            lines.push(format!("a revert{} is in progress", commit("REVERT_HEAD")));
        }
        if has("BISECT_LOG") {
            lines.push("a bisect is in progress".to_owned());
        }
        lines.extend(self.stashes());
        lines
    }

    /// The number of stashes, and the newest of them.
    fn stashes(&self) -> Option<String> {
        let FileEnd { bytes, is_all } = read_end(&self.common.join("logs/refs/stash")).ok()?;
        let log = String::from_utf8_lossy(&bytes);
        // `OLD NEW NAME <MAIL> TIME ZONE`, a tab and the message.
        let message = |line: &str| {
            let (who, message) = line.split_once('\t')?;
            let mut words = who.split(' ');
            let has_ids = words.next().is_some_and(is_id) && words.next().is_some_and(is_id);
            has_ids.then(|| cut_chars(message, MESSAGE_CHARS))
        };
        let mut messages: Vec<String> = log.lines().filter_map(message).collect();
        let (count, newest) = (messages.len(), messages.split_off(messages.len().saturating_sub(STASHES)));
        if newest.is_empty() {
            return None;
        }
        let count = if is_all { count.to_string() } else { format!("{count} or more") };
        let newest: Vec<String> = newest.into_iter().rev().collect();
        Some(format!("stashes: {count}, newest first: {}", newest.join("; ")))
    }

    /// Whether this is a linked worktree, not the main one.
    pub(super) fn is_linked(&self) -> bool {
        self.own != self.common
    }

    /// A part of it that belongs to another user, whom git does not trust either.
    pub(super) fn foreign_part(&self) -> Option<&Path> {
        [&self.top, &self.own, &self.common]
            .into_iter()
            .map(PathBuf::as_path)
            .find(|path| !fs::metadata(path).is_ok_and(|meta| is_ours(&meta)))
    }
}

fn bad(entry: &Path) -> GitError {
    GitError::Failed(format!("{} does not lead to a repository", entry.display()))
}

fn is_ours(meta: &Metadata) -> bool {
    let me = nix::unistd::geteuid();
    let behind_sudo = || std::env::var("SUDO_UID").ok()?.parse().ok();
    meta.uid() == me.as_raw() || me.is_root() && Some(meta.uid()) == behind_sudo()
}

fn path_of(line: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(line.trim_ascii_end()))
}

fn is_id(word: &str) -> bool {
    matches!(word.len(), 40 | 64) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The first line of a file that is not a link, cut.
fn first_line(path: &Path) -> Option<String> {
    let (file, _) = open_no_link(path).ok()?;
    let text = safe_file::first_bytes(file, LINK_CAP).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().next().map(|line| cut_chars(line.trim(), MESSAGE_CHARS)).filter(|line| !line.is_empty())
}

/// Opens a regular file that is not a link, and returns its length: a link could lead to any file of the
/// person, and the content is shown.
fn open_no_link(path: &Path) -> io::Result<(File, u64)> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((file, meta.len()))
}

/// The end of a file.
struct FileEnd {
    bytes: Vec<u8>,
    /// That is the whole file.
    is_all: bool,
}

/// Reads the end of a regular file that is not a link.
fn read_end(path: &Path) -> io::Result<FileEnd> {
    let (mut file, len) = open_no_link(path)?;
    let left_out = len.saturating_sub(LINK_CAP);
    file.seek(SeekFrom::Start(left_out))?;
    Ok(FileEnd { bytes: safe_file::first_bytes(file, LINK_CAP)?, is_all: left_out == 0 })
}

/// A small regular file. Never waits for a FIFO or a device.
pub(super) fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    safe_file::first_bytes(file, LINK_CAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(at: &Path) {
        for name in ["objects", "refs"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn the_nearest_work_tree_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("proj/a/b")).unwrap();
        assert_eq!(Repository::find(&base.join("proj/a/b")).unwrap(), None);
        repository(&base.join("proj/.git"));
        // An empty `.git` is not a repository; git continues upwards, too.
        fs::create_dir(base.join("proj/a/.git")).unwrap();
        let found = Repository::find(&base.join("proj/a/b")).unwrap().unwrap();
        let git = base.join("proj/.git");
        assert_eq!(found, Repository { top: base.join("proj"), own: git.clone(), common: git.clone() });
        assert_eq!(found.branch().as_deref(), Some("main"));
        assert!(!found.is_linked() && found.foreign_part().is_none());
        let head = |text: &str| {
            fs::write(git.join("HEAD"), text).unwrap();
            (found.branch(), found.detached_at())
        };
        let id = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(head(&format!("{id}\n")), (None, Some("0123456".to_owned())));
        let controls = "ref: refs/heads/a\0\u{1b}]52;c;x\u{7}\n";
        for unknown in
            ["ref: refs/heads/.invalid\n", "ref: refs/heads/\n", controls, "ref: HEAD\n", "0123456\n", ""]
        {
            assert_eq!(head(unknown), (None, None), "{unknown:?}");
        }
        // A linked worktree.
        let own = git.join("worktrees/w");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/side\n").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::create_dir(base.join("w")).unwrap();
        fs::write(base.join("w/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        let found = Repository::find(&base.join("w")).unwrap().unwrap();
        assert_eq!(found.branch().as_deref(), Some("side"));
        assert!(found.is_linked() && found == Repository { top: base.join("w"), own, common: git });
    }

    #[test]
    fn operations_in_progress_are_read_from_gits_files() {
        let dir = tempfile::tempdir().unwrap();
        let git = dir.path().canonicalize().unwrap().join(".git");
        repository(&git);
        let put = |name: &str, text: &str| {
            fs::create_dir_all(git.join(name).parent().unwrap()).unwrap();
            fs::write(git.join(name), text).unwrap();
        };
        let told = || Repository::find(dir.path()).unwrap().unwrap().in_progress();
        assert_eq!(told(), Vec::<String>::new());
        let id = "0123456789abcdef0123456789abcdef01234567";
        put("MERGE_HEAD", &format!("{id}\n"));
        put("MERGE_MSG", "Merge branch 'feat/x'\n\nmore\n");
        assert_eq!(told(), ["a merge of 0123456 is in progress and not committed: Merge branch 'feat/x'"]);
        fs::remove_file(git.join("MERGE_MSG")).unwrap();
        fs::write(dir.path().join("other"), "machine x login y").unwrap();
        std::os::unix::fs::symlink(dir.path().join("other"), git.join("MERGE_MSG")).unwrap();
        assert_eq!(told(), ["a merge of 0123456 is in progress and not committed"], "no link is followed");
        put("rebase-merge/head-name", "refs/heads/feat/x\n");
        assert_eq!(told(), ["a rebase of feat/x is in progress"], "a merge within it is a part of it");
        put("rebase-merge/msgnum", "2\n");
        put("rebase-merge/end", "5\n");
        put("BISECT_LOG", "");
        assert_eq!(told(), ["a rebase of feat/x is in progress, step 2 of 5", "a bisect is in progress"]);
        for name in ["rebase-merge", "MERGE_HEAD", "BISECT_LOG"] {
            let path = git.join(name);
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
        put("CHERRY_PICK_HEAD", "nonsense");
        assert_eq!(told(), ["a cherry-pick is in progress"]);
        fs::remove_file(git.join("CHERRY_PICK_HEAD")).unwrap();
        let stash = |n: usize| format!("{id} {id} A B <a@b> 1764000000 +0000\tOn main: part {n}\n");
        put("logs/refs/stash", &(stash(1) + "PASSWORD=hunter22\tx\n" + &stash(2)));
        assert_eq!(told(), ["stashes: 2, newest first: On main: part 2; On main: part 1"]);
        let many: String = (0..1000).map(stash).collect();
        put("logs/refs/stash", &many);
        let line = told().remove(0);
        assert!(line.contains(" or more, newest first: On main: part 999; ") && line.len() < 400, "{line}");
        fs::remove_file(git.join("logs/refs/stash")).unwrap();
        fs::write(dir.path().join("other"), many).unwrap();
        std::os::unix::fs::symlink(dir.path().join("other"), git.join("logs/refs/stash")).unwrap();
        assert_eq!(told(), Vec::<String>::new(), "no link is followed");
    }

    #[test]
    fn bare_repositories_and_broken_links_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        repository(&dir.path().join(".git"));
        repository(&dir.path().join("docs"));
        fs::create_dir(dir.path().join("docs/hooks")).unwrap();
        for place in ["docs", "docs/hooks", ".git", ".git/refs"] {
            assert!(matches!(Repository::find(&dir.path().join(place)), Err(GitError::Bare)), "{place}");
        }
        fs::create_dir(dir.path().join("sub")).unwrap();
        for link in ["gitdir: nowhere\n", "elsewhere\n", ""] {
            fs::write(dir.path().join("sub/.git"), link).unwrap();
            assert!(
                matches!(Repository::find(&dir.path().join("sub")), Err(GitError::Failed(_))),
                "{link:?}"
            );
        }
    }
}
