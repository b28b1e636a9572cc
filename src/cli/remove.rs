//! `hopty rm` and `hopty prune`: remove the files of ended sessions.

use std::time::{Duration, SystemTime};

use super::control::{check_sessions_dir, not_renamed, parse_session_name, paths, unknown_session};
use super::error::{VerbError, note, say};
use super::exit_codes::{INTERNAL, REFUSED};
use super::restore::resumable;
use crate::core::config::DurationMs;
use crate::core::ids::SessionName;
use crate::core::text::plural::plural;
use crate::fs::paths::Paths;
use crate::fs::session::{self, Removal};

/// Removes the named sessions, which must have ended.
pub(super) fn remove(names: &[String]) -> Result<u8, VerbError> {
    let paths = paths()?;
    let names =
        names.iter().map(|name| parse_session_name(name)).collect::<Result<Vec<SessionName>, VerbError>>()?;
    for name in &names {
        not_renamed(&paths, name)?;
        if !paths.session(name).is_dir() {
            return Err(unknown_session(&paths, name));
        }
        if session::is_alive(&paths.session(name)) {
            return Err(VerbError::new(REFUSED, "the session is running")
                .about(name)
                .hint(format!("`hopty stop {name}` ends it first")));
        }
    }
    for name in &names {
        let recordings = recordings(&paths, name);
        remove_one(&paths, name)?;
        if !recordings.is_empty() {
            say(format_args!("removed {name}{recordings}"))?;
        }
    }
    Ok(0)
}

/// The recordings that are removed with a session, as text.
fn recordings(paths: &Paths, name: &SessionName) -> String {
    match session::recordings(paths, name) {
        0 => String::new(),
        n => format!(" with {}", plural(n, "recording")),
    }
}

fn remove_one(paths: &Paths, name: &SessionName) -> Result<(), VerbError> {
    match session::remove(paths, name) {
        Ok(Removal::Removed) => Ok(()),
        Ok(Removal::InUse) => Err(VerbError::new(REFUSED, "the session has just started again").about(name)),
        Err(error) => Err(VerbError::new(INTERNAL, error.to_string())
            .about(name)
            .hint("check the permissions of its directory; `hopty check` names it")),
    }
}

/// Removes every session that ended at least `older` ago, except those that `hopty restore` would resume.
pub(super) fn prune(older: DurationMs, dry_run: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    check_sessions_dir(&paths)?;
    let resumable = resumable(&paths);
    let (mut removed, mut kept) = (0, 0);
    for name in session::ended_names(&paths) {
        if !is_old(&paths, &name, Duration::from_millis(older.ms())) {
            continue;
        }
        if resumable.contains(&name) {
            kept += 1;
            continue;
        }
        let recordings = recordings(&paths, &name);
        if dry_run {
            say(format_args!("would remove {name}{recordings}"))?;
        } else {
            remove_one(&paths, &name)?;
            say(format_args!("removed {name}{recordings}"))?;
        }
        removed += 1;
    }
    if removed == 0 {
        note(format_args!("nothing to remove"));
    }
    if kept > 0 {
        let stay = if kept == 1 { "was killed and stays" } else { "were killed and stay" };
        note(format_args!(
            "{} {stay}: `hopty restore NAME` resumes one, `hopty rm NAME` removes it",
            plural(kept, "session")
        ));
    }
    Ok(0)
}

fn is_old(paths: &Paths, name: &SessionName, older: Duration) -> bool {
    let dir = paths.session(name);
    let written = |file| std::fs::symlink_metadata(dir.join(file)).ok()?.modified().ok();
    let at = [session::STATUS, session::LOCK].into_iter().find_map(written);
    at.and_then(|at| SystemTime::now().duration_since(at).ok()).is_none_or(|age| age >= older)
}
