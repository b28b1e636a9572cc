//! The state of a work tree: branch, head, changed files, and a patch of everything uncommitted.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::git_program;
use super::git_run::{KillReason, RunOutput};
use super::key_files::{self, without_key_files};
use super::new_files;
use super::private_git_dir::WorkTreeGit;
use super::repository::Repository;
use super::sandbox;
use crate::core::config::Handoff;
use crate::core::handoff::capture::{CHANGED_PATHS_MAX, GitState};

/// How many of the files that Claude wrote are checked for existence.
const LOOKED_FOR: usize = 60;
/// Arguments of `git` for the state of a work tree.
const STATUS_ARGS: [&str; 6] =
    ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"];
/// The most output of `git status` that is read, in bytes.
const STATUS_CAP: usize = 1 << 20;
/// The most output of `git diff --stat` that is read, in bytes.
const STAT_CAP: usize = 64 << 10;
/// How much is kept of the staged and of the unstaged patch each, in bytes.
const PART_CAP: usize = 128 << 10;
/// Options for a diff in one fixed format, with only the commit of submodules.
const DIFF: [&str; 6] = [
    "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short",
];
/// For how many changed paths git is asked whether a filter changes them.
const ATTRIBUTES_CAP: usize = 200;
/// How many files that may hold keys are listed.
const NAMED_KEYS: usize = 20;
/// How many repositories below the directory are examined.
const INNER_TREES: usize = 4;
/// How many of the written files, newest first, are used to find a work tree.
const TREES_LOOKED_AT: usize = 8;

/// Limits of what is asked of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GitLimits {
    /// The time for all runs together (`handoff.git_timeout`).
    pub time: Duration,
    /// The longest patch, in bytes. A longer one is left out completely, because half a patch cannot be
    /// applied. 0: no patch (`handoff.diff`).
    pub patch: usize,
}

impl GitLimits {
    #[must_use]
    pub fn of(config: &Handoff) -> Self {
        let limits = Self { time: Duration::from_millis(config.git_timeout.ms()), ..Self::default() };
        if config.diff { limits } else { Self { patch: 0, ..limits } }
    }
}

impl Default for GitLimits {
    /// 1.5 s and 8 MiB.
    fn default() -> Self {
        Self { time: Duration::from_millis(1500), patch: 8 << 20 }
    }
}

/// Why the state of a work tree is unknown.
#[derive(Debug, Error)]
pub enum GitError {
    /// git could not be run.
    #[error("cannot run git: {0}")]
    Run(#[source] io::Error),
    /// The directory cannot be read.
    #[error("the directory cannot be read: {0}")]
    Place(#[source] io::Error),
    /// git did not answer in time.
    #[error("git did not finish in time")]
    TimedOut,
    /// git failed, with this message.
    #[error("git failed: {0}")]
    Failed(String),
    /// No git exists outside of the project.
    #[error("no git in PATH outside of the project")]
    NoGit,
    /// This version of git cannot be kept from reading configuration files.
    #[error("git {0} is too old: 2.32 is needed")]
    TooOld(String),
    /// The kernel cannot keep git from starting other programs.
    #[error("this kernel cannot filter system calls, so git could run what the repository names")]
    NoSandbox,
    /// The private directory for git cannot be created.
    #[error("cannot create a private directory for git: {0}")]
    Private(#[source] io::Error),
    /// The repository belongs to another user.
    #[error("{0} belongs to another user, and safe.directory does not name it")]
    Foreign(String),
    /// The repository has no work tree.
    #[error("this is a bare repository, without a work tree")]
    Bare,
    /// According to the repository, its work tree is another directory.
    #[error("the repository names {0} as its work tree (core.worktree)")]
    Elsewhere(String),
}

impl GitError {
    pub(super) fn of_start(error: io::Error) -> Self {
        if error.raw_os_error() == Some(sandbox::UNAVAILABLE) { Self::NoSandbox } else { Self::Run(error) }
    }
}

/// The branch of the work tree that contains `dir`, read from `HEAD` without running git. `None` outside of
/// a work tree or if no branch is checked out.
pub fn branch(dir: &Path) -> Option<String> {
    Repository::find(dir).ok()??.branch()
}

/// The branch of the work tree that contains `dir`, or the first digits of a detached commit, as [`branch`]
/// without running git.
pub fn checkout(dir: &Path) -> Option<String> {
    let repository = Repository::find(dir).ok()??;
    repository.branch().or_else(|| repository.detached_at())
}

/// The version of the git that is run for `project`.
///
/// # Errors
/// When no git can be run safely.
pub fn version(project: &Path, time: Duration) -> Result<String, GitError> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    git_program::find(&search, project, Instant::now() + time).map(|program| program.version)
}

/// The state of the work tree that contains `dir`; `None` outside of a repository. A git program in
/// `project` or in a work tree is never run.
///
/// # Errors
/// When git cannot be run safely, fails, or its status takes too long. A diff that takes too long or is too
/// big is left out with a note.
pub fn read(dir: &Path, project: &Path, limits: GitLimits) -> Result<Option<GitState>, GitError> {
    read_until(dir, project, limits, Instant::now() + limits.time)
}

fn read_until(
    dir: &Path,
    project: &Path,
    limits: GitLimits,
    until: Instant,
) -> Result<Option<GitState>, GitError> {
    let Some(git) = WorkTreeGit::open(dir, project, until)? else { return Ok(None) };
    let output = git.ask(&STATUS_ARGS, STATUS_CAP).map_err(GitError::of_start)?;
    if output.cut == Some(KillReason::Time) {
        return Err(GitError::TimedOut);
    }
    if output.status.is_some_and(|status| !status.success()) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(GitError::Failed(said.lines().next().unwrap_or("no reason given").to_owned()));
    }
    let mut state = parse_status(&output.stdout);
    if let Some(repository) = Repository::find(dir)? {
        state.in_progress = repository.in_progress();
        // Changes within a submodule are not asked for.
        let is_whole = output.cut.is_none() && state.changed.len() < CHANGED_PATHS_MAX;
        let is_one = is_whole && !repository.top.join(".gitmodules").exists();
        state.top = is_one.then(|| repository.top.display().to_string());
    }
    if output.cut == Some(KillReason::Size) || state.changed.len() >= CHANGED_PATHS_MAX {
        state.notes.push("more files are changed than listed here".to_owned());
    }
    let ask = DiffRunner { git: &git, special: special_files(git.top(), &state) };
    ask.filters(&mut state);
    if limits.patch > 0 && !ask.special.is_empty() {
        let names: Vec<&str> = ask.special.iter().take(NAMED_KEYS).map(String::as_str).collect();
        state.notes.push(format!("not in changes.patch: {} (neither a file nor a link)", names.join(", ")));
    }
    if let Some(stat) = ask.diff(&["--stat=120"], "summary", &mut state, STAT_CAP) {
        state.stat = String::from_utf8_lossy(&stat).into_owned();
    }
    if limits.patch > 0 {
        if let Some(patch) = ask.diff(&["--binary"], "patch", &mut state, limits.patch) {
            let mut keys = BTreeSet::new();
            state.patch = without_key_files(patch, &mut keys);
            if !keys.is_empty() {
                let names: Vec<String> = keys.into_iter().take(NAMED_KEYS).collect();
                state.notes.push(format!("not in changes.patch: {} ({})", names.join(", "), key_files::WHY));
            }
        }
        ask.parts(&mut state);
        let room = limits.patch.saturating_sub(state.patch.len());
        new_files::add(&git, &mut state, room);
    }
    Ok(Some(state))
}

/// As [`read`], for a conversation that started in `dir` and may have moved to `moved`, perhaps another
/// worktree. Falls back to `dir` if `moved` has no state. If git was not run, the notes say why.
pub fn of_work(dir: &Path, moved: Option<&str>, limits: GitLimits) -> Option<GitState> {
    of_work_until(dir, moved, limits, Instant::now() + limits.time)
}

/// As [`of_work`], also considering `files` that Claude wrote, newest first. If the newest is in another
/// work tree, that one is described too: in full if the conversation's own has no uncommitted changes, else
/// in a note.
pub fn of_written(dir: &Path, moved: Option<&str>, files: &[String], limits: GitLimits) -> Option<GitState> {
    let until = Instant::now() + limits.time;
    let here = of_work_until(dir, moved, limits, until);
    let place =
        here.as_ref().and_then(|state| state.dir.clone()).map_or_else(|| dir.to_owned(), PathBuf::from);
    let other = written_tree(files, &place);
    let there = other.and_then(|top| Some((read_until(&top, dir, limits, until).ok()??, top)));
    let state = match (here, there) {
        (here, None) => here,
        (Some(here), Some((there, top))) if here.unknown || !here.changed.is_empty() => {
            let told = format!("{}; not in changes.patch", summary(&top, &there));
            Some(GitState { notes: here.notes.into_iter().chain([told]).collect(), ..here })
        }
        (here, Some((there, top))) => {
            let own = here.map(|here| summary(&place, &here));
            let notes = own.into_iter().chain(there.notes).collect();
            Some(GitState { dir: Some(top.display().to_string()), notes, ..there })
        }
    };
    let state = state.map(|state| GitState { gone: gone(&state, files), ..state });
    let inner = inner_trees(files, &place);
    let limits = GitLimits { patch: 0, ..limits };
    let told = inner.iter().filter_map(|top| Some(summary(top, &read_until(top, dir, limits, until).ok()??)));
    let told: Vec<String> = told.collect();
    match state {
        Some(mut state) => {
            state.notes.extend(told);
            state.inner = inner.iter().map(|top| top.display().to_string()).collect();
            Some(state)
        }
        None if told.is_empty() => None,
        None => Some(GitState { unknown: true, notes: told, ..GitState::default() }),
    }
}

/// The tops of other repositories below `place` that contain the newest of these files.
fn inner_trees(files: &[String], place: &Path) -> Vec<PathBuf> {
    let top = |dir: &Path| Repository::find(dir).ok().flatten().map(|repository| repository.top);
    let own = top(place);
    let folders: BTreeSet<&Path> = files
        .iter()
        .map(Path::new)
        .filter(|file| file.starts_with(place))
        .take(LOOKED_FOR)
        .filter_map(Path::parent)
        .collect();
    let tops = folders.into_iter().filter_map(top).filter(|top| Some(top) != own.as_ref());
    let tops: BTreeSet<PathBuf> = tops.filter(|top| top.starts_with(place)).collect();
    tops.into_iter().take(INNER_TREES).collect()
}

/// Which of the newest files in the work tree no longer exist.
fn gone(state: &GitState, files: &[String]) -> Vec<String> {
    let Some(top) = state.top.as_deref().filter(|_| !state.unknown) else { return Vec::new() };
    let is_below = |path: &&String| path.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'));
    let is_gone = |path: &&String| {
        std::fs::symlink_metadata(path).is_err_and(|err| err.kind() == std::io::ErrorKind::NotFound)
    };
    files.iter().filter(is_below).take(LOOKED_FOR).filter(is_gone).cloned().collect()
}

/// The work tree that contains the newest of these files, if it is not that of `place`.
fn written_tree(files: &[String], place: &Path) -> Option<PathBuf> {
    let top = |dir: &Path| Repository::find(dir).ok().flatten().map(|repository| repository.top);
    // Claude's own files are not work.
    let is_work =
        |file: &&Path| file.is_absolute() && !file.components().any(|part| part.as_os_str() == ".claude");
    let mut files = files.iter().map(Path::new).filter(is_work).take(TREES_LOOKED_AT);
    let tree = files.find_map(|file| match file.starts_with(place) {
        true => Some(None),
        false => top(file.parent()?).map(Some),
    })??;
    (top(place).as_ref() != Some(&tree)).then_some(tree)
}

/// The state of a work tree in one line.
fn summary(top: &Path, state: &GitState) -> String {
    let head = state.head.as_deref().map_or("no commit", |head| head.get(..12).unwrap_or(head));
    let new = state.changed.iter().filter(|(code, _)| code == "??").count();
    let branch = state.branch.as_deref().unwrap_or("(detached)");
    let changed = state.changed.len() - new;
    format!("{}: branch {branch} at {head}, {changed} changed, {new} new", top.display())
}

fn of_work_until(dir: &Path, moved: Option<&str>, limits: GitLimits, until: Instant) -> Option<GitState> {
    let mut notes = Vec::new();
    let mut at = |place: &Path| {
        let state = read_until(place, dir, limits, until);
        state.unwrap_or_else(|error| {
            notes.push(format!("the state of {} is unknown: {error}", place.display()));
            None
        })
    };
    let there =
        moved.and_then(|moved| Some(GitState { dir: Some(moved.to_owned()), ..at(Path::new(moved))? }));
    let state = there.or_else(|| at(dir));
    match (state, notes.is_empty()) {
        (None, true) => None,
        (None, false) => Some(GitState { unknown: true, notes, ..GitState::default() }),
        (Some(state), _) => Some(GitState { notes: notes.into_iter().chain(state.notes).collect(), ..state }),
    }
}

/// Runs git for diffs of one work tree.
struct DiffRunner<'a> {
    git: &'a WorkTreeGit,
    /// Left out, because git refuses the whole diff for one of them.
    special: Vec<String>,
}

/// Tracked files in whose place there is a pipe, a socket or a device.
fn special_files(top: &Path, state: &GitState) -> Vec<String> {
    let is_special = |path: &str| {
        let kind = top.join(path).symlink_metadata().map(|meta| meta.file_type());
        kind.is_ok_and(|kind| !kind.is_file() && !kind.is_symlink() && !kind.is_dir())
    };
    let tracked = state.changed.iter().filter(|(code, _)| code != "??").map(|(_, path)| path);
    tracked.filter(|path| is_special(path)).take(CHANGED_PATHS_MAX).cloned().collect()
}

impl DiffRunner<'_> {
    /// The output of `git diff` for everything uncommitted; `None`, with a note, if it is incomplete.
    fn diff(&self, how: &[&str], what: &str, state: &mut GitState, cap: usize) -> Option<Vec<u8>> {
        // Before the first commit there is no head to compare with; only staged changes are shown.
        let base = if state.head.is_some() { "HEAD" } else { "--cached" };
        let without: Vec<String> =
            self.special.iter().map(|path| format!(":(top,exclude,literal){path}")).collect();
        let mut args: Vec<&str> = DIFF.iter().chain(how).copied().chain([base]).collect();
        if !without.is_empty() {
            args.extend(["--", ":/"]);
            args.extend(without.iter().map(String::as_str));
        }
        let why = match self.git.ask(&args, cap) {
            Ok(RunOutput { cut: None, status: Some(status), stdout, .. }) if status.success() => {
                return Some(stdout);
            }
            Ok(RunOutput { cut: Some(KillReason::Time), .. }) => "did not finish in time",
            Ok(RunOutput { cut: Some(KillReason::Size), .. }) => "is too long",
            Ok(_) | Err(_) => "could not be created",
        };
        state.notes.push(format!("the {what} of the changes {why}"));
        None
    }

    /// Adds a note if changed files have a filter. It is not run: they are compared as they are on the
    /// disk.
    fn filters(&self, state: &mut GitState) {
        let tracked = state.changed.iter().filter(|(code, _)| code != "??").map(|(_, path)| path.as_str());
        let args: Vec<&str> =
            ["check-attr", "-z", "filter", "--"].into_iter().chain(tracked.take(ATTRIBUTES_CAP)).collect();
        let Some(output) = (args.len() > 4).then(|| self.git.ask(&args, STATUS_CAP).ok()).flatten() else {
            return;
        };
        let fields: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
        let values = fields
            .chunks_exact(3)
            .map(|row| row[2])
            .filter(|value| !matches!(*value, b"unspecified" | b"unset" | b"set"));
        let names: BTreeSet<_> = values.map(String::from_utf8_lossy).collect();
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().take(3).map(|name| &**name).collect();
            state.notes.push(format!(
                "filters are not run ({}): their files are compared as they are on disk",
                names.join(", ")
            ));
        }
    }

    /// The beginnings of the staged and of the unstaged patch. If all changes are of one kind, the whole
    /// patch already shows them.
    fn parts(&self, state: &mut GitState) {
        let tracked = || state.changed.iter().map(|(code, _)| code.as_bytes()).filter(|code| *code != b"??");
        let staged = tracked().any(|code| code.first() != Some(&b'.'));
        let unstaged = tracked().any(|code| code.get(1) != Some(&b'.'));
        let part = |how: &[&str], all: bool| match (all, state.patch.is_empty()) {
            (true, false) => state.patch[..state.patch.len().min(PART_CAP)].to_vec(),
            _ => {
                let args: Vec<&str> = DIFF.iter().chain(how).copied().collect();
                let patch = self.git.ask(&args, PART_CAP).map(|output| output.stdout).unwrap_or_default();
                without_key_files(patch, &mut BTreeSet::new())
            }
        };
        let of_staged = if staged { part(&["--cached"], !unstaged) } else { Vec::new() };
        let of_unstaged = if unstaged { part(&[], !staged) } else { Vec::new() };
        (state.staged, state.unstaged) = (of_staged, of_unstaged);
    }
}

/// Parses `git status --porcelain=v2 --branch -z`. Unexpected fields are skipped.
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
                    Some(("branch.head", branch)) if branch != "(detached)" => {
                        state.branch = Some(branch.to_owned())
                    }
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
            // A renamed path is followed by its old path.
            fields.next();
        }
        let path = rest.splitn(path_at, ' ').nth(path_at - 1);
        if let Some(path) = path.filter(|_| state.changed.len() < CHANGED_PATHS_MAX) {
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
#[path = "ordinary_tests.rs"]
mod ordinary_tests;
#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
