//! The configuration that this process finds: files, environment, flags.

use std::cell::LazyCell;
use std::ffi::OsStr;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use super::error::{VerbError, note, visible};
use super::exit_codes::USAGE;
use crate::core::archive::CleanupPeriod;
use crate::core::config::{
    CONFIG_FILE_MAX, Config, ConfigSource, File, FlagValue, Problem, ProblemKind, Resolved, Sources, resolve,
};
use crate::fs::paths::Paths;
use crate::fs::trusted_dirs;
use crate::sys::safe_file::{self, FileRule, SafeFileError};

/// The hint for a mistake in it.
pub(super) const HINT: &str =
    "`hopty config init --print` lists every key and its values; `hopty config show` shows what is in force";

/// The name of a project's configuration file.
const PROJECT_FILE: &str = ".hopty.toml";

/// The permission bit that lets other users write.
const OTHERS: u32 = 0o002;

/// The configuration and its problems.
pub(super) fn load(paths: &Paths, flags: &[FlagValue<'_>]) -> (Config, Vec<Problem>) {
    let resolved = resolved(Some(paths), flags);
    (resolved.config, resolved.problems)
}

/// The configuration with the source of each value.
pub(super) fn resolved(paths: Option<&Paths>, flags: &[FlagValue<'_>]) -> Resolved {
    let user_path = paths.map(Paths::config_file);
    let project = std::env::current_dir().unwrap_or_default();
    let project_path = project.join(PROJECT_FILE);
    let mut unreadable = Vec::new();
    let mut text_of = |path: &Path| {
        // It may name a program to run, so your own file must not be writable by others. In a project that is
        // Claude's trust to decide.
        let closed = if user_path.as_deref() == Some(path) { OTHERS } else { 0 };
        read(path, FileRule::configuration(CONFIG_FILE_MAX as u64).closed_to(closed)).unwrap_or_else(|kind| {
            unreadable.push(Problem {
                at: ConfigSource::File { path: path.display().to_string(), line: None },
                kind,
            });
            None
        })
    };
    let is_trusted = LazyCell::new(|| paths.is_some_and(|paths| trusted_dirs::is_trusted(paths, &project)));
    let mut untrusted = Vec::new();
    let mut counts = |path: &Path| {
        let counts = !path.starts_with(&project) || path.symlink_metadata().is_err() || *is_trusted;
        if !counts {
            untrusted.push(path.display().to_string());
        }
        counts
    };
    let user = user_path.as_deref().and_then(&mut text_of);
    let own = if counts(&project_path) { text_of(&project_path) } else { None };
    let ours = std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"HOPTY_"));
    let env: Vec<(String, String)> =
        ours.filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?))).collect();
    let (user_name, project_name) = (
        user_path.as_deref().unwrap_or(Path::new("")).display().to_string(),
        project_path.display().to_string(),
    );
    let mut sources = Sources {
        user: user.as_deref().map(|text| File { path: &user_name, text }),
        project: own.as_deref().map(|text| File { path: &project_name, text }),
        env: &env,
        flags,
        document: None,
    };
    let mut resolved = resolve(&sources);
    // Only few people have chosen a profile with a document, and every client loads the configuration.
    let document_path = paths.and_then(|paths| resolved.config.context.profile.file(&paths.claude, &project));
    let document = document_path.as_deref().filter(|path| counts(path)).and_then(&mut text_of);
    let document_name = document_path.unwrap_or_default().display().to_string();
    if let Some(text) = &document {
        sources.document = Some(File { path: &document_name, text });
        resolved = resolve(&sources);
    }
    unreadable.append(&mut resolved.problems);
    resolved.problems = unreadable;
    resolved.untrusted = untrusted;
    resolved
}

/// Settings that are ignored without being a mistake, a line each: files of a project that Claude does not
/// trust, keys of earlier versions.
pub(super) fn ignored(resolved: &Resolved) -> Vec<String> {
    let line = |path: &String| {
        format!(
            "{} is ignored: Claude does not trust this directory\nhint: accept Claude's trust dialog here; \
             hopty reads the file from the next start on",
            visible(path)
        )
    };
    resolved
        .untrusted
        .iter()
        .map(line)
        .chain(resolved.retired.iter().map(|key| visible(&key.to_string())))
        .collect()
}

/// The configuration for a verb that depends on it.
///
/// # Errors
/// Exit code 2 with its first problem.
pub(super) fn valid(paths: &Paths, flags: &[FlagValue<'_>]) -> Result<Config, VerbError> {
    let (config, problems) = load(paths, flags);
    all_right(&problems).map(|()| config)
}

/// That nothing is wrong in it. What is wrong in the project's file is only printed: that file may be another
/// person's, and must not keep anyone from a handoff or a program.
///
/// # Errors
/// Exit code 2 with the first thing that is, and how many more there are.
pub(super) fn all_right(problems: &[Problem]) -> Result<(), VerbError> {
    let (of_project, own): (Vec<&Problem>, Vec<&Problem>) =
        problems.iter().partition(|one| is_of_project(one));
    for problem in &of_project {
        note(format_args!("hopty: {problem}{}", problem.in_its_place()));
    }
    if !of_project.is_empty() {
        note(format_args!("hint: {HINT}"));
    }
    let Some((first, others)) = own.split_first() else { return Ok(()) };
    let failed = VerbError::new(USAGE, first.to_string());
    Err(match others.len() {
        0 => failed.hint(HINT),
        1 => failed.also("1 more error").hint("`hopty config check` shows both"),
        n => failed.also(&format!("{n} more errors")).hint("`hopty config check` shows all"),
    })
}

fn is_of_project(problem: &Problem) -> bool {
    let ConfigSource::File { path, .. } = &problem.at else { return false };
    Path::new(path).file_name() == Some(OsStr::new(PROJECT_FILE))
}

/// A configuration file; `None` if there is none. A link to a device counts as none, so that nothing waits
/// for it. A pipe is refused: client and host each read the file, and a pipe can be read only once.
fn read(path: &Path, rule: FileRule) -> Result<Option<String>, ProblemKind> {
    if std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_char_device()) {
        return Ok(None);
    }
    safe_file::read(path, rule).map_or_else(
        |error| {
            Err(match error {
                SafeFileError::Io { source, .. } => ProblemKind::Unreadable(source.to_string()),
                SafeFileError::TooLong { cap, .. } => {
                    ProblemKind::TooLarge(usize::try_from(cap).unwrap_or(usize::MAX))
                }
                SafeFileError::Writable(_) => {
                    ProblemKind::Unreadable("other users can write it: chmod go-w it".to_owned())
                }
                SafeFileError::Foreign(_) => ProblemKind::Unreadable("it belongs to another user".to_owned()),
                SafeFileError::Kind { found, .. } => {
                    ProblemKind::Unreadable(format!("it is {found}, not a file"))
                }
                other => ProblemKind::Unreadable(other.to_string()),
            })
        },
        |bytes| {
            let text = |bytes| {
                String::from_utf8(bytes).map_err(|_| ProblemKind::Unreadable("it is not UTF-8".to_owned()))
            };
            bytes.map(text).transpose()
        },
    )
}

/// How long a Claude started in `dir` keeps conversations, by its settings.
pub(super) fn cleanup_period(paths: &Paths, dir: &Path) -> CleanupPeriod {
    crate::claude::settings_files::cleanup_period(&paths.claude_settings(dir))
}

pub(super) fn cleanup_period_here(paths: &Paths) -> CleanupPeriod {
    cleanup_period(paths, &std::env::current_dir().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_configuration_that_others_can_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, "[notify]\ncommand = [\"x\"]\n").unwrap();
        for (mode, is_read) in [(0o600, true), (0o644, true), (0o664, true), (0o646, false), (0o666, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let found = read(&file, FileRule::configuration(CONFIG_FILE_MAX as u64).closed_to(OTHERS));
            assert_eq!(found.is_ok(), is_read, "{mode:o}: {found:?}");
        }
    }
}
