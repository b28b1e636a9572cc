//! Finds the git program to run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::ask_git::GitError;
use super::git_run::{KillReason, run};
use super::sandbox;
use crate::sys::program_search::programs_outside_of;

/// The oldest git that is run: the first that can be told not to read the person's configuration
/// (`GIT_CONFIG_GLOBAL`).
const OLDEST: (u32, u32) = (2, 32);
/// The most output of `git version` that is read, in bytes.
const VERSION_CAP: usize = 4096;

/// A git that can be run.
#[derive(Debug)]
pub(super) struct GitProgram {
    pub(super) path: PathBuf,
    /// Such as `2.39.5`.
    pub(super) version: String,
}

/// The first git in `search` (the format of `PATH`) that runs in the sandbox and is new enough. A git in
/// `project` or in any work tree is skipped, and so is one on a relative path: any repository could contain
/// a `git`.
///
/// # Errors
/// When there is none: the reason why the first one was rejected.
pub(super) fn find(search: &OsStr, project: &Path, until: Instant) -> Result<GitProgram, GitError> {
    let project = project.canonicalize().map_err(GitError::Place)?;
    let mut why = None;
    for path in programs_outside_of(&project, search, "git") {
        match check(&path, until) {
            Ok(version) => return Ok(GitProgram { path, version }),
            Err(error) => why = why.or(Some(error)),
        }
    }
    Err(why.unwrap_or(GitError::NoGit))
}

/// Its version, if it is new enough.
fn check(program: &Path, until: Instant) -> Result<String, GitError> {
    let mut command = Command::new(program);
    command.arg("version").env_clear().current_dir("/");
    sandbox::confine(&mut command);
    let output = run(&mut command, until, VERSION_CAP).map_err(GitError::of_start)?;
    if output.cut == Some(KillReason::Time) {
        return Err(GitError::TimedOut);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.strip_prefix("git version ").and_then(|rest| rest.split_whitespace().next());
    match version {
        Some(version) if numbers(version) >= Some(OLDEST) => Ok(short(version)),
        Some(version) => Err(GitError::TooOld(short(version))),
        None => Err(GitError::Failed(format!("{} does not print its version", program.display()))),
    }
}

fn short(version: &str) -> String {
    version.chars().take(20).collect()
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    fn program(place: &Path, script: &str) {
        fs::create_dir_all(place).unwrap();
        fs::write(place.join("git"), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(place.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn found(search: &[&Path], project: &Path) -> Result<PathBuf, GitError> {
        let found =
            find(&std::env::join_paths(search).unwrap(), project, Instant::now() + Duration::from_secs(60));
        found.map(|program| program.path)
    }

    #[test]
    fn a_git_in_the_project_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (tree, outer, good) = (base.join("outer/tree"), base.join("outer"), base.join("good"));
        let new = "echo git version 2.99.1";
        for place in [tree.join("bin"), outer.join("bin"), good.clone()] {
            program(&place, new);
        }
        fs::create_dir(outer.join(".git")).unwrap();
        fs::create_dir_all(base.join("linked")).unwrap();
        std::os::unix::fs::symlink(tree.join("bin/git"), base.join("linked/git")).unwrap();
        let hostile = [
            tree.join("bin"),
            outer.join("bin"),
            base.join("linked"),
            PathBuf::from("."),
            PathBuf::from("bin"),
            PathBuf::new(),
        ];
        let mut search: Vec<&Path> = hostile.iter().map(PathBuf::as_path).collect();
        assert!(matches!(found(&search, &tree), Err(GitError::NoGit)));
        search.push(&good);
        assert_eq!(found(&search, &tree).unwrap(), good.join("git"));
        assert!(
            matches!(found(&search, &good), Err(GitError::NoGit)),
            "not from the work trees of others either"
        );
        assert_eq!(found(&search, Path::new("/")).unwrap(), good.join("git"));
    }

    #[test]
    fn an_old_or_broken_git_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| dir.path().join(name);
        for (name, script) in [
            ("old", "echo git version 2.31.8"),
            ("mute", "exit 1"),
            ("vendor", "echo 'git version 2.50.1 (Vendor Git-155)'"),
            ("older", "echo git version 1.7.10.4"),
        ] {
            program(&place(name), script);
        }
        let refused = |name: &str| found(&[&place(name)], Path::new("/")).unwrap_err().to_string();
        assert_eq!(refused("old"), "git 2.31.8 is too old: 2.32 is needed");
        assert_eq!(refused("older"), "git 1.7.10.4 is too old: 2.32 is needed");
        assert!(refused("mute").contains("does not print its version"));
        assert_eq!(
            found(&[&place("old"), &place("mute"), &place("vendor")], Path::new("/")).unwrap(),
            place("vendor/git")
        );
    }
}
