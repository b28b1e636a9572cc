//! A private git directory: it links to the repository's data, but not to its configuration.
//!
//! Everything that git would read from the repository and act on (`config`, hooks, aliases, remotes,
//! drivers) is missing, so there is nothing to run. `.gitattributes` may name drivers, but none is defined.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use tempfile::TempDir;

use super::ask_git::GitError;
use super::git_config_keys::GitKeys;
use super::git_program;
use super::git_run::{RunOutput, run};
use super::repository::{Repository, read_small};
use super::sandbox;

/// Data that all work trees of a repository share.
const SHARED: [&str; 6] = ["objects", "refs", "packed-refs", "reftable", "shallow", "info"];
/// Data of one work tree, except `HEAD`.
const OWN: [&str; 3] = ["index", "reftable", "info/sparse-checkout"];
/// How many parts of a split index are linked, and how many files are searched for them.
const SPLIT_CAP: (usize, usize) = (16, 4096);
/// The most of a configuration that is read, in bytes.
const KEYS_CAP: usize = 1 << 20;
/// Variables that git gets only to read the person's own configuration.
const PERSONAL: [&str; 3] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];
/// Variables that git always gets: they locate the person's lists of ignored files.
const ALWAYS: [&str; 2] = ["HOME", "XDG_CONFIG_HOME"];
/// Replaces the person's configuration by an empty one.
const NO_CONFIG: [(&str, &str); 3] =
    [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];
/// Output in one format, no locks, no prompts.
const SETTINGS: [(&str, &str); 4] =
    [("LC_ALL", "C"), ("GIT_OPTIONAL_LOCKS", "0"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_NO_LAZY_FETCH", "1")];

/// git for one work tree, until a deadline.
pub(super) struct WorkTreeGit {
    program: PathBuf,
    top: PathBuf,
    private: PrivateGitDirs,
    keys: Vec<(String, OsString)>,
    until: Instant,
}

/// The directories that git is given. Dropping this removes them.
struct PrivateGitDirs {
    /// Data of this work tree alone.
    own: PathBuf,
    /// Shared data and the configuration; for a linked worktree, `own` is below it.
    common: TempDir,
}

impl WorkTreeGit {
    /// For the work tree that contains `dir`; `None` outside of a work tree. A git program in `project` or
    /// in a work tree is never used.
    ///
    /// # Errors
    /// When no git can be run safely, or the repository belongs to another user, has no work tree here, or
    /// has an unknown format.
    pub(super) fn open(dir: &Path, project: &Path, until: Instant) -> Result<Option<Self>, GitError> {
        let Some(repository) = Repository::find(dir)? else { return Ok(None) };
        let search = std::env::var_os("PATH").unwrap_or_default();
        let program = git_program::find(&search, project, until)?.path;
        let private = PrivateGitDirs::new(&repository).map_err(GitError::Private)?;
        let mut git = Self { program, top: repository.top.clone(), private, keys: Vec::new(), until };
        let mut own = git.listed(&repository.common.join("config"))?;
        if own.is_true("extensions.worktreeconfig") {
            own = own.then(git.listed(&repository.own.join("config.worktree"))?);
        }
        fs::write(git.private.common.path().join("config"), own.format()?).map_err(GitError::Private)?;
        let personal = git.personal()?;
        if let Some(part) = repository.foreign_part().filter(|_| !personal.trusts(repository.top.as_os_str()))
        {
            return Err(GitError::Foreign(part.display().to_string()));
        }
        if !repository.is_linked() {
            check_place(&own, &repository)?;
        }
        let branch = git.branch();
        git.keys = personal.then(own).harmless(branch.as_deref());
        Ok(Some(git))
    }

    /// The output of `git ARGS` for the work tree, at most `cap` bytes.
    pub(super) fn ask(&self, args: &[&str], cap: usize) -> io::Result<RunOutput> {
        let mut command = self.command();
        command.current_dir(&self.top).args(args).env("GIT_WORK_TREE", &self.top).envs(NO_CONFIG);
        command.env("GIT_CONFIG_COUNT", self.keys.len().to_string());
        for (n, (key, value)) in self.keys.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{n}"), key).env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        run(&mut command, self.until, cap)
    }

    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// The deadline of all runs.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// The keys in a configuration file of the repository, without the files that it includes.
    fn listed(&self, file: &Path) -> Result<GitKeys, GitError> {
        if fs::symlink_metadata(file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(GitKeys::default());
        }
        let mut command = self.command();
        command.envs(NO_CONFIG).args(["config", "--no-includes", "-z", "--list", "--file"]).arg(file);
        self.keys(command, "the configuration of the repository")
    }

    /// The keys of the person and of the machine.
    fn personal(&self) -> Result<GitKeys, GitError> {
        let mut command = self.command();
        command.envs(PERSONAL.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.args(["config", "--includes", "-z", "--list"]);
        self.keys(command, "your git configuration")
    }

    fn keys(&self, mut command: Command, what: &str) -> Result<GitKeys, GitError> {
        let output = run(&mut command, self.until, KEYS_CAP).map_err(GitError::of_start)?;
        match output {
            RunOutput { cut: None, status: Some(status), stdout, .. } if status.success() => {
                Ok(GitKeys::new(stdout))
            }
            RunOutput { cut: Some(super::git_run::KillReason::Time), .. } => Err(GitError::TimedOut),
            RunOutput { stderr, .. } => {
                let said =
                    String::from_utf8_lossy(&stderr).lines().next().unwrap_or("it is too long").to_owned();
                Err(GitError::Failed(format!("{what} cannot be read: {said}")))
            }
        }
    }

    fn branch(&self) -> Option<String> {
        let head = match self.private.own.join("reftable").exists() {
            false => read_small(&self.private.own.join("HEAD")).ok()?,
            true => [b"ref: ", &*self.ask(&["symbolic-ref", "-q", "HEAD"], 4096).ok()?.stdout].concat(),
        };
        let name = head.trim_ascii_end().strip_prefix(b"ref: refs/heads/")?;
        Some(std::str::from_utf8(name).ok()?.to_owned())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        sandbox::confine(&mut command);
        command
            .env_clear()
            .envs(ALWAYS.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .envs(SETTINGS);
        command.args(["--no-pager", "-c", "core.quotePath=false"]);
        command.current_dir(self.private.common.path()).env("GIT_DIR", &self.private.own);
        command
    }
}

/// A configuration can claim that the work tree is another directory, or that there is none.
fn check_place(own: &GitKeys, repository: &Repository) -> Result<(), GitError> {
    if own.is_true("core.bare") {
        return Err(GitError::Bare);
    }
    match own.last("core.worktree").map(|path| repository.own.join(OsStr::from_bytes(path))) {
        Some(place) if place.canonicalize().ok().as_ref() != Some(&repository.top) => {
            Err(GitError::Elsewhere(place.display().to_string()))
        }
        _ => Ok(()),
    }
}

impl PrivateGitDirs {
    fn new(repository: &Repository) -> io::Result<Self> {
        let common = make(&repository.top)?;
        let own =
            if repository.is_linked() { common.path().join("worktree") } else { common.path().to_owned() };
        link(&SHARED, &repository.common, common.path())?;
        if repository.is_linked() {
            fs::create_dir_all(own.join("info"))?;
            fs::write(own.join("commondir"), "..\n")?;
        }
        link(&OWN, &repository.own, &own)?;
        for (n, entry) in
            fs::read_dir(&repository.own)?.take(SPLIT_CAP.1).flatten().filter(is_split).enumerate()
        {
            if n < SPLIT_CAP.0 {
                symlink(entry.path(), own.join(entry.file_name()))?;
            }
        }
        fs::write(own.join("HEAD"), head(&repository.own.join("HEAD"))?)?;
        Ok(Self { own, common })
    }
}

fn is_split(entry: &fs::DirEntry) -> bool {
    entry.file_name().as_bytes().starts_with(b"sharedindex.")
}

/// A directory that only this user can enter, and that git does not list as a part of the work tree.
fn make(top: &Path) -> io::Result<TempDir> {
    let places = [
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
        Some(std::env::temp_dir()),
        Some("/dev/shm".into()),
    ];
    let mut why = io::Error::other("there is no directory for temporary files");
    for place in places.into_iter().flatten() {
        match place.canonicalize().map(|place| (place.starts_with(top), place)) {
            Ok((true, _)) => {}
            Ok((false, place)) => {
                match tempfile::Builder::new().prefix("hopty-git-").permissions(only_ours()).tempdir_in(place)
                {
                    Ok(dir) => return Ok(dir),
                    Err(error) => why = error,
                }
            }
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn only_ours() -> fs::Permissions {
    fs::Permissions::from_mode(0o700)
}

/// Links those of `names` that exist.
fn link(names: &[&str], from: &Path, to: &Path) -> io::Result<()> {
    for name in names {
        let target = from.join(name);
        if target.symlink_metadata().is_ok() && to.join(name).symlink_metadata().is_err() {
            symlink(target, to.join(name))?;
        }
    }
    Ok(())
}

/// The content of `HEAD`. It may be a link to a branch, as old versions of git created it; git does not
/// follow a link out of its directory.
fn head(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read_link(path) {
        Ok(target) if target.starts_with("refs") => {
            Ok([b"ref: ", target.as_os_str().as_bytes(), b"\n"].concat())
        }
        _ => read_small(path),
    }
}
