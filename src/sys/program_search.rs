//! Programs in `PATH` that no repository has put there.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The programs of this name in the directories of `search` (as in `PATH`), in their order. One that lies in
/// `project` or in a work tree, this or another, is passed over, and so is one whose place depends on the
/// working directory: anybody's repository could bring one along.
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

/// Whether a path lies in `project` or in a work tree. All lie below `/`, which is neither.
fn is_of_a_project(path: &Path, project: &Path) -> bool {
    let mut above = path.ancestors().filter(|above| above.parent().is_some());
    above.any(|above| above == project || above.join(".git").symlink_metadata().is_ok())
}
