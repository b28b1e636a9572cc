//! The state of a work tree: branch, head, what is changed, and the patch of everything that is not committed.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use thiserror::Error;

use super::run::{Cut, Output, git, own_filters};
use crate::core::config::Handoff;
use crate::core::handoff::capture::GitState;

/// The most output of `git status` that is read, in bytes.
const STATUS_CAP: usize = 1 << 20;
/// The most output of `git diff --stat` that is read, in bytes.
const STAT_CAP: usize = 64 << 10;
/// How much is kept of the staged and of the unstaged patch each, in bytes.
const PART_CAP: usize = 128 << 10;
/// A diff that runs no program, whatever the repository says.
const DIFF: [&str; 5] = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"];
/// How many changed paths are kept.
const PATHS_CAP: usize = 2000;

/// How much is asked of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For all runs together (`handoff.git_timeout`).
    pub time: Duration,
    /// The longest patch, in bytes; a longer one is left out whole, since half a patch cannot be applied. 0: none is asked
    /// for (`handoff.diff`).
    pub patch: usize,
}

impl Limits {
    /// As configured.
    #[must_use]
    pub fn of(config: &Handoff) -> Self {
        let limits = Self { time: Duration::from_millis(config.git_timeout.ms()), ..Self::default() };
        if config.diff { limits } else { Self { patch: 0, ..limits } }
    }
}

impl Default for Limits {
    /// 1.5 s (CONTRACT C6) and 8 MiB.
    fn default() -> Self {
        Self { time: Duration::from_millis(1500), patch: 8 << 20 }
    }
}

/// Why there is nothing to say about a work tree.
#[derive(Debug, Error)]
pub enum GitError {
    /// git could not be run.
    #[error("cannot run git: {0}")]
    Run(#[source] io::Error),
    /// git did not answer in time.
    #[error("git status was not finished in time")]
    TimedOut,
    /// git refused.
    #[error("git status failed: {0}")]
    Failed(String),
}

/// The state of the work tree that `dir` is in; `None` outside of a repository, and where git is not installed.
///
/// # Errors
/// When git cannot be run, refuses, or its status takes too long. A diff that takes too long or is too big is left out,
/// and a note says so.
pub fn read(dir: &Path, limits: Limits) -> Result<Option<GitState>, GitError> {
    let until = Instant::now() + limits.time;
    let args = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"];
    let emptied = own_filters(dir, until);
    let output = match git(dir, &args, &emptied, until, STATUS_CAP) {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(GitError::Run(error)),
    };
    if output.cut == Some(Cut::Time) {
        return Err(GitError::TimedOut);
    }
    if output.status.is_some_and(|status| !status.success()) {
        let said = String::from_utf8_lossy(&output.stderr);
        return match said.contains("not a git repository") {
            true => Ok(None),
            false => Err(GitError::Failed(said.lines().next().unwrap_or("no reason given").to_owned())),
        };
    }
    let mut state = parse_status(&output.stdout);
    if output.cut == Some(Cut::Size) {
        state.notes.push("more files are changed than were listed".to_owned());
    }
    if !emptied.is_empty() {
        state.notes.push("filters that this repository names were not run".to_owned());
    }
    let ask = Ask { dir, emptied: &emptied, until };
    if let Some(stat) = ask.diff(&["--stat=120"], "summary", &mut state, STAT_CAP) {
        state.stat = String::from_utf8_lossy(&stat).into_owned();
    }
    if limits.patch > 0 {
        if let Some(patch) = ask.diff(&["--binary"], "patch", &mut state, limits.patch) {
            state.patch = patch;
        }
        ask.parts(&mut state);
    }
    Ok(Some(state))
}

/// The same where a conversation works that began in `dir` and has gone to `moved`, another worktree perhaps; of `dir` where
/// nothing can be told of the other.
#[must_use]
pub fn of_work(dir: &Path, moved: Option<&str>, limits: Limits) -> Option<GitState> {
    let there = moved.and_then(|moved| Some((moved, read(Path::new(moved), limits).ok().flatten()?)));
    match there {
        Some((moved, state)) => Some(GitState { dir: Some(moved.to_owned()), ..state }),
        None => read(dir, limits).ok().flatten(),
    }
}

/// What a diff is asked with.
struct Ask<'a> {
    dir: &'a Path,
    emptied: &'a [String],
    until: Instant,
}

impl Ask<'_> {
    /// What `git diff` says about everything that is not committed; `None`, with a note, when it does not say all of it.
    fn diff(&self, how: &[&str], what: &str, state: &mut GitState, cap: usize) -> Option<Vec<u8>> {
        // Before the first commit there is no head to compare with, only what is staged.
        let base = if state.head.is_some() { "HEAD" } else { "--cached" };
        let args: Vec<&str> = DIFF.iter().chain(how).copied().chain([base]).collect();
        let why = match git(self.dir, &args, self.emptied, self.until, cap) {
            Ok(Output { cut: None, status: Some(status), stdout, .. }) if status.success() => return Some(stdout),
            Ok(Output { cut: Some(Cut::Time), .. }) => "was not finished in time",
            Ok(Output { cut: Some(Cut::Size), .. }) => "is too long",
            Ok(_) | Err(_) => "could not be made",
        };
        state.notes.push(format!("the {what} of the changes {why}"));
        None
    }

    /// The beginnings of the staged and of the unstaged patch. Where all is of one kind, it is the patch that is there.
    fn parts(&self, state: &mut GitState) {
        let tracked = || state.changed.iter().map(|(code, _)| code.as_bytes()).filter(|code| *code != b"??");
        let staged = tracked().any(|code| code.first() != Some(&b'.'));
        let unstaged = tracked().any(|code| code.get(1) != Some(&b'.'));
        let part = |how: &[&str], all: bool| match (all, state.patch.is_empty()) {
            (true, false) => state.patch[..state.patch.len().min(PART_CAP)].to_vec(),
            _ => {
                let args: Vec<&str> = DIFF.iter().chain(how).copied().collect();
                git(self.dir, &args, self.emptied, self.until, PART_CAP).map(|output| output.stdout).unwrap_or_default()
            }
        };
        let of_staged = if staged { part(&["--cached"], !unstaged) } else { Vec::new() };
        let of_unstaged = if unstaged { part(&[], !staged) } else { Vec::new() };
        (state.staged, state.unstaged) = (of_staged, of_unstaged);
    }
}

/// Reads `git status --porcelain=v2 --branch -z`. A field that is not as expected is read over.
fn parse_status(bytes: &[u8]) -> GitState {
    let mut state = GitState::default();
    let mut fields = bytes.split(|b| *b == 0).map(String::from_utf8_lossy);
    while let Some(field) = fields.next() {
        let mut words = field.splitn(2, ' ');
        let (Some(kind), Some(rest)) = (words.next(), words.next()) else { continue };
        let path_at = match kind {
            "#" => {
                match rest.split_once(' ') {
                    Some(("branch.oid", oid)) if oid != "(initial)" => state.head = Some(oid.to_owned()),
                    Some(("branch.head", branch)) if branch != "(detached)" => state.branch = Some(branch.to_owned()),
                    Some(("branch.upstream", upstream)) => state.upstream = Some(upstream.to_owned()),
                    Some(("branch.ab", counts)) => state.ahead_behind = ahead_behind(counts),
                    _ => {}
                }
                continue;
            }
            "1" => 8,
            "2" => 9,
            "u" => 10,
            "?" => 1,
            _ => continue,
        };
        let code = if kind == "?" { "??" } else { rest.split(' ').next().unwrap_or_default() };
        if kind == "2" {
            // A renamed path is followed by the path that it had.
            fields.next();
        }
        let path = rest.splitn(path_at, ' ').nth(path_at - 1);
        if let Some(path) = path.filter(|_| state.changed.len() < PATHS_CAP) {
            state.changed.push((code.to_owned(), path.to_owned()));
        }
    }
    state
}

/// `+1 -2`.
fn ahead_behind(counts: &str) -> Option<(u64, u64)> {
    let (ahead, behind) = counts.split_once(' ')?;
    Some((ahead.strip_prefix('+')?.parse().ok()?, behind.strip_prefix('-')?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    const LONG: Limits = Limits { time: Duration::from_secs(60), patch: 1 << 20 };

    fn setup(dir: &Path, args: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-C"])
            .arg(dir)
            .args(args)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn repository() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        setup(dir.path(), &["init", "-q"]);
        for name in ["a b", "c", "d"] {
            fs::write(dir.path().join(name), "one\n").unwrap();
        }
        setup(dir.path(), &["add", "."]);
        setup(dir.path(), &["commit", "-q", "-m", "x"]);
        dir
    }

    #[test]
    fn a_work_tree_is_described() {
        let dir = repository();
        fs::write(dir.path().join("a b"), "two\n").unwrap();
        fs::write(dir.path().join("new\nline"), "x").unwrap();
        setup(dir.path(), &["mv", "c", "moved"]);
        let state = read(dir.path(), LONG).unwrap().unwrap();
        assert_eq!(state.branch.as_deref(), Some("main"));
        assert_eq!(state.head.as_ref().unwrap().len(), 40);
        let changed: Vec<_> = state.changed.iter().map(|(code, path)| (code.as_str(), path.as_str())).collect();
        assert_eq!(changed, [(".M", "a b"), ("R.", "moved"), ("??", "new\nline")]);
        assert!(state.stat.contains("a b") && state.stat.contains("moved"));
        let patch = String::from_utf8(state.patch).unwrap();
        assert!(patch.contains("-one\n+two\n") && patch.contains("rename to moved"));
        assert!(state.notes.is_empty());
    }

    #[test]
    fn item_091_staged_and_unstaged_changes_are_kept_apart() {
        let dir = repository();
        fs::write(dir.path().join("c"), "two\n").unwrap();
        let only = read(dir.path(), LONG).unwrap().unwrap();
        assert!(only.staged.is_empty() && only.unstaged == only.patch && !only.patch.is_empty());
        setup(dir.path(), &["add", "c"]);
        let only = read(dir.path(), LONG).unwrap().unwrap();
        assert!(only.unstaged.is_empty() && only.staged == only.patch);
        fs::write(dir.path().join("d"), "three\n").unwrap();
        let both = read(dir.path(), LONG).unwrap().unwrap();
        let (staged, unstaged) = (String::from_utf8(both.staged).unwrap(), String::from_utf8(both.unstaged).unwrap());
        assert!(staged.contains("+two") && !staged.contains("+three"));
        assert!(unstaged.contains("+three") && !unstaged.contains("+two"));
    }

    #[test]
    fn a_branch_that_follows_another_tells_how_far_they_are_apart() {
        let (origin, clone) = (repository(), tempfile::tempdir().unwrap());
        setup(clone.path(), &["clone", "-q", origin.path().to_str().unwrap(), "w"]);
        let work = clone.path().join("w");
        setup(&work, &["commit", "-q", "--allow-empty", "-m", "mine"]);
        let state = read(&work, LONG).unwrap().unwrap();
        assert_eq!((state.upstream.as_deref(), state.ahead_behind), (Some("origin/main"), Some((1, 0))));
    }

    #[test]
    fn worktrees_submodules_and_bare_repositories_do_no_harm() {
        let dir = repository();
        let other = tempfile::tempdir().unwrap();
        setup(dir.path(), &["worktree", "add", "-q", "-b", "side", other.path().join("w").to_str().unwrap()]);
        let state = read(&other.path().join("w"), LONG).unwrap().unwrap();
        assert_eq!(state.branch.as_deref(), Some("side"));
        let inner = repository();
        let from = inner.path().to_str().unwrap();
        setup(dir.path(), &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "sub"]);
        fs::write(dir.path().join("sub/c"), "dirt\n").unwrap();
        let state = read(dir.path(), LONG).unwrap().unwrap();
        let changed: Vec<_> = state.changed.iter().map(|(_, path)| path.as_str()).collect();
        assert_eq!(changed, [".gitmodules", "sub"], "what is inside of a submodule is not looked at");
        setup(dir.path(), &["clone", "-q", "--bare", ".", "bare.git"]);
        assert!(read(&dir.path().join("bare.git"), LONG).is_err(), "there is no work tree to tell of");
    }

    #[test]
    fn a_conversation_that_moved_is_told_of_where_it_works() {
        let dir = repository();
        let other = tempfile::tempdir().unwrap();
        let side = other.path().join("w").display().to_string();
        setup(dir.path(), &["worktree", "add", "-q", "-b", "side", &side]);
        fs::write(other.path().join("w/c"), "brick\n").unwrap();
        let of = |moved: Option<&str>| of_work(dir.path(), moved, LONG).unwrap();
        let there = of(Some(&side));
        assert_eq!((there.dir.as_deref(), there.branch.as_deref()), (Some(&*side), Some("side")));
        assert!(String::from_utf8(there.patch).unwrap().contains("+brick"));
        // What is no repository, or is gone, leaves the session's own.
        for moved in [None, Some("/"), Some("/no/such/place")] {
            let here = of(moved);
            assert_eq!((here.dir, here.branch.as_deref(), here.patch.is_empty()), (None, Some("main"), true), "{moved:?}");
        }
    }

    #[test]
    fn there_is_nothing_to_say_outside_of_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(dir.path(), LONG).unwrap().is_none());
        assert!(read(&dir.path().join("none"), LONG).is_err());
    }

    #[test]
    fn a_repository_without_a_commit_is_described() {
        let dir = tempfile::tempdir().unwrap();
        setup(dir.path(), &["init", "-q"]);
        fs::write(dir.path().join("f"), "one\n").unwrap();
        setup(dir.path(), &["add", "f"]);
        let state = read(dir.path(), LONG).unwrap().unwrap();
        assert_eq!((state.branch.as_deref(), state.head), (Some("main"), None));
        assert!(String::from_utf8(state.patch).unwrap().contains("+one"));
    }

    #[test]
    fn what_is_too_much_is_left_out_with_a_note() {
        let dir = repository();
        fs::write(dir.path().join("d"), "x\n".repeat(10_000)).unwrap();
        let state = read(dir.path(), Limits { patch: 1000, ..LONG }).unwrap().unwrap();
        assert!(state.patch.is_empty() && state.stat.contains("d "));
        assert_eq!(state.notes, ["the patch of the changes is too long"]);
        assert!(matches!(read(dir.path(), Limits { time: Duration::ZERO, ..LONG }), Err(GitError::TimedOut)));
    }

    #[test]
    fn programs_that_the_repository_names_are_not_run() {
        let dir = repository();
        let ran = dir.path().join("ran");
        let program = format!("touch '{}'; cat", ran.display());
        for key in [
            "core.fsmonitor",
            "diff.external",
            "diff.x.textconv",
            "diff.x.command",
            "core.pager",
            "pager.diff",
            "filter.a=b.clean",
            "filter.y.process",
            "filter.y.smudge",
        ] {
            setup(dir.path(), &["config", key, &program]);
        }
        setup(dir.path(), &["config", "filter.y.required", "true"]);
        fs::write(dir.path().join(".gitattributes"), "* diff=x\nc filter=y\nd filter=a=b\n").unwrap();
        fs::write(dir.path().join("d"), "two\n").unwrap();
        fs::write(dir.path().join("c"), "two\n").unwrap();
        let state = read(dir.path(), LONG).unwrap().unwrap();
        let patch = String::from_utf8(state.patch).unwrap();
        assert!(patch.contains("b/c") && patch.contains("b/d") && !ran.exists(), "{patch}");
        assert_eq!(state.notes, ["filters that this repository names were not run"]);
        assert!(!dir.path().join(".git/index.lock").exists());
    }
}
