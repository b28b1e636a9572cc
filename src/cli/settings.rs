//! The configuration as this process finds it: files, environment, flags.

use std::path::Path;

use crate::core::config::{Config, File, FlagValue, Problem, Sources, resolve};
use crate::fs::paths::Paths;

/// The configuration, and what is wrong with its pieces.
pub(super) fn load(paths: &Paths, flags: &[FlagValue<'_>]) -> (Config, Vec<Problem>) {
    let user_path = paths.config_file();
    let user = read(&user_path);
    let project_path = std::env::current_dir().unwrap_or_default().join(".hopty.toml");
    let project = read(&project_path);
    let env: Vec<(String, String)> =
        std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?))).collect();
    let (user_name, project_name) = (user_path.display().to_string(), project_path.display().to_string());
    let resolved = resolve(&Sources {
        user: user.as_deref().map(|text| File { path: &user_name, text }),
        project: project.as_deref().map(|text| File { path: &project_name, text }),
        env: &env,
        flags,
    });
    (resolved.config, resolved.problems)
}

/// A configuration file, when it is a file and of a size that a person writes: a link to a device keeps nobody waiting.
fn read(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= 1 << 20).then(|| std::fs::read_to_string(path).ok()).flatten()
}
