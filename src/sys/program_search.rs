//! Finding programs in `PATH` that did not come with a repository.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program `name` from `PATH`, never one from a repository; it inherits a `PATH` without repositories,
/// too. `None` if there is none.
pub fn command_outside_of_projects(name: &'static str) -> Option<Command> {
    let (project, search) = here();
    let mut command = Command::new(programs_outside_of(&project, &search, name).next()?);
    command.env("PATH", directories_outside_of(&project, &search));
    Some(command)
}

/// This process's `PATH` without directories of repositories, for a shell.
pub fn path_outside_of_projects() -> OsString {
    let (project, search) = here();
    directories_outside_of(&project, &search)
}

fn here() -> (PathBuf, OsString) {
    let dir = std::env::current_dir().unwrap_or_else(|_| "/".into());
    (dir, std::env::var_os("PATH").unwrap_or_default())
}

fn directories_outside_of(project: &Path, search: &OsStr) -> OsString {
    let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let is_safe = |place: &PathBuf| {
        place.is_absolute() && place.canonicalize().is_ok_and(|real| !is_of_a_project(&real, &project))
    };
    // Every entry came from a split, so none contains a colon.
    std::env::join_paths(std::env::split_paths(search).filter(is_safe)).unwrap_or_default()
}

/// The programs `name` in the directories of `search` (as in `PATH`), in order. Skips those in `project` or
/// in any work tree, and those whose path depends on the working directory: anybody's repository could bring
/// one along.
pub fn programs_outside_of(
    project: &Path,
    search: &OsStr,
    name: &'static str,
) -> impl Iterator<Item = PathBuf> {
    let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let places: Vec<PathBuf> = std::env::split_paths(search).filter(|place| place.is_absolute()).collect();
    places.into_iter().filter_map(move |place| {
        let program = place.join(name);
        let real = program.canonicalize().ok()?;
        let meta = real.metadata().ok()?;
        let is_program = meta.is_file() && meta.permissions().mode() & 0o111 != 0;
        let is_safe = [place.canonicalize().ok()?, real].iter().all(|path| !is_of_a_project(path, &project));
        (is_program && is_safe).then_some(program)
    })
}

/// Whether a path is in `project` or in a work tree. `/` counts as neither.
fn is_of_a_project(path: &Path, project: &Path) -> bool {
    let mut above = path.ancestors().filter(|above| above.parent().is_some());
    above.any(|above| above == project || above.join(".git").symlink_metadata().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_repository_brings_along_is_in_no_search() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let [project, clone, own] = ["project", "clone", "own"].map(|name| base.join(name));
        for bin in [&project, &clone, &own].map(|dir| dir.join("bin")) {
            std::fs::create_dir_all(&bin).unwrap();
            std::fs::write(bin.join("less"), "").unwrap();
            std::fs::set_permissions(bin.join("less"), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::create_dir(clone.join(".git")).unwrap();
        std::os::unix::fs::symlink(project.join("bin"), base.join("link")).unwrap();
        let places = [&project, &clone, &own].map(|dir| dir.join("bin")).into_iter();
        let places = places.chain([base.join("link"), "bin".into(), "".into(), base.join("none")]);
        let search = std::env::join_paths(places).unwrap();
        assert_eq!(directories_outside_of(&project, &search), own.join("bin").as_os_str());
        let found: Vec<PathBuf> = programs_outside_of(&project, &search, "less").collect();
        assert_eq!(found, [own.join("bin/less")]);
    }
}
