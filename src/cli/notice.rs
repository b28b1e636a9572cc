//! The lines that a person sees when Claude starts or has ended: a handoff waits, or a session is running
//! detached.

use std::path::{Path, PathBuf};

use super::control::{HostControl, dir_of};
use super::error::visible;
use super::handoff::settle;
use super::list::{PATIENCE, needs_person};
use super::status::ended;
use crate::core::claude::version_features::ClaudeFeatures;
use crate::core::handoff::manifest_entry::IndexEntry;
use crate::core::handoff::pasted_text::PASTED;
use crate::core::handoff::sections::Section;
use crate::core::ids::{Channel, SessionName};
use crate::core::status_types::HandoffUse;
use crate::core::supervisor::ProgramKind;
use crate::core::text::safe_text::{cut_chars, safe_line};
use crate::fs::paths::Paths;
use crate::fs::store::{HandoffScope, Store};
use crate::fs::{free_space, registry, session};
use crate::sys::clock::{Clock, elapsed};
use crate::sys::process::is_alive;

/// The longest goal, in characters.
const GOAL_CAP: usize = 60;

/// Notices for a person before Claude draws, one per line: problems of the store, which would otherwise
/// appear during a hand-over, and handoffs that wait in this directory's channel for its project. It never
/// delays the start. That no hand-over is possible was printed before.
pub(super) fn at_start(paths: &Paths, offers: &ClaudeFeatures) -> Vec<String> {
    let Ok(dir) = std::env::current_dir() else { return Vec::new() };
    let wrong = wrong(paths, &dir).filter(|_| offers.no_handover.is_none()).map(|why| {
        let why = visible(&why);
        format!(
            "cannot save handoffs: {why}\nhint: fix this before the context window is full; `hopty \
                 check` checks it again"
        )
    });
    wrong.into_iter().chain(pending(paths, &dir)).collect()
}

/// Why a handoff of this directory could not be saved, or would be quarantined; `None` if no problem is
/// known.
pub(super) fn wrong(paths: &Paths, dir: &Path) -> Option<String> {
    let channel = match registry::channel_of(&paths.claude, dir) {
        Ok(channel) => channel,
        Err(error) => return Some(format!("{error}; until you fix the file, handoffs go to channel global")),
    };
    let store = Store::at(&paths.claude);
    let place = store.dir();
    let writable = |dir: &Path| nix::unistd::access(dir, nix::unistd::AccessFlags::W_OK).is_ok();
    let unwritable = |dir: &Path| format!("{} cannot be written", dir.display());
    if std::fs::symlink_metadata(place).is_err() {
        let above = place.ancestors().find(|dir| dir.exists());
        return above.filter(|dir| !writable(dir)).map(unwritable);
    }
    if let Err(error) = store.make() {
        return Some(error.to_string());
    }
    if !writable(place) {
        return Some(unwritable(place));
    }
    if let Some(full) = free_space::space_problem(place, free_space::FOR_HANDOFF) {
        return Some(full);
    }
    match store.list(Some(&channel)) {
        Ok(_) => store.take_notices().into_iter().next(),
        Err(error) => Some(error.to_string()),
    }
}

/// The first line of a goal that is neither its fence nor the mark above pasted text.
fn first_words(goal: &str) -> Option<&str> {
    goal.lines().find(|line| !line.starts_with("```") && line.trim() != PASTED && !line.trim().is_empty())
}

fn pending(paths: &Paths, dir: &Path) -> Option<String> {
    let (store, entry) = waiting(paths, dir, None)?;
    let age = elapsed(entry.created_at);
    let what = match store.show(&entry.id) {
        Ok(loaded) => {
            let goal = loaded.document.sections.iter().find(|(section, _)| *section == Section::Goal);
            let goal = goal.and_then(|(_, text)| first_words(text));
            goal.map_or_else(|| "no goal".to_owned(), |goal| visible(&cut_chars(&safe_line(goal), GOAL_CAP)))
        }
        Err(error) => visible(&error.to_string()),
    };
    let of = of_elsewhere(&entry, dir);
    let newest =
        format!("a handoff waits: {} ({age} old, {what}{of}); load it with `hopty --handoff`", entry.id);
    // The store was read a moment ago: its errors are printed already.
    let all = store.list(Some(&channel_of(paths, dir))).unwrap_or_default();
    let now = Clock::wall();
    let here = |other: &IndexEntry| other.project() == entry.project();
    let waits =
        |other: &IndexEntry| here(other) && other.is_pending(now) && other.held(now, is_alive).is_none();
    Some(match all.iter().filter(|(_, other)| waits(other)).count() {
        0 | 1 => newest,
        2 => format!("{newest}\nhopty: 1 more handoff waits here; `hopty handoff list` shows both"),
        n => format!("{newest}\nhopty: {} more handoffs wait here; `hopty handoff list` shows all", n - 1),
    })
}

/// Where it was made, if that is another directory of the project than `dir`.
fn of_elsewhere(entry: &IndexEntry, dir: &Path) -> String {
    let made_in = Path::new(&entry.working_dir);
    let elsewhere = !entry.working_dir.is_empty() && made_in.canonicalize().ok() != dir.canonicalize().ok();
    if elsewhere { format!(", of {}", visible(&entry.working_dir)) } else { String::new() }
}

/// Claude's sessions in this directory without a terminal, those that wait for a person first: after closing
/// a window, a person may mean one of them.
pub(super) fn detached_sessions(paths: &Paths) -> Vec<SessionName> {
    let Some(here) = std::env::current_dir().ok().and_then(|dir| dir.canonicalize().ok()) else {
        return Vec::new();
    };
    let here = PathBuf::from(here.to_string_lossy().into_owned());
    let of_here =
        session::live_names(paths).into_iter().filter(|name| dir_of(paths, name).as_ref() == Some(&here));
    let status = |name: SessionName| {
        let answer = HostControl::connect(paths, &name, Some(PATIENCE)).and_then(|mut host| host.status());
        answer.ok().map(|status| (name, status))
    };
    let mut found: Vec<_> = of_here
        .filter_map(status)
        .filter(|(_, status)| status.agent.is(ProgramKind::Claude) && status.clients.is_empty())
        .collect();
    found.sort_by_key(|(_, status)| !needs_person(status));
    found.into_iter().map(|(name, _)| name).collect()
}

/// The handoff that waits when a session has ended, unless the host's last message has named it. One that
/// somebody made from a file meanwhile is not recommended.
pub(super) fn at_end(paths: &Paths, name: &SessionName) -> Option<String> {
    let session = ended(paths, name).filter(|session| session.agent.is(ProgramKind::Claude))?;
    if session.handoff.is_some_and(|handoff| handoff.status.is(HandoffUse::Active)) {
        return None;
    }
    let dir = Path::new(&session.dir);
    let (store, entry) =
        waiting(paths, dir, Some(name)).filter(|(_, entry)| entry.hopty_session.as_ref() == Some(name))?;
    let path = store.records().dir_of(&entry.id).join("handoff.md");
    let of = of_elsewhere(&entry, dir);
    Some(format!(
        "a handoff waits at {}{of}; load it with `hopty --handoff`",
        visible(&path.to_string_lossy())
    ))
}

fn channel_of(paths: &Paths, dir: &Path) -> Channel {
    registry::channel_of(&paths.claude, dir).unwrap_or_else(|_| Channel::global())
}

fn waiting(paths: &Paths, dir: &Path, session: Option<&SessionName>) -> Option<(Store, IndexEntry)> {
    let channel = channel_of(paths, dir);
    let store = Store::at(&paths.claude);
    settle(paths, &store, Some(&channel));
    let entry = store.pending(&channel, session, HandoffScope::Project, dir, Clock::wall()).ok()??;
    Some((store, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_goal_of_a_pasted_prompt_is_its_first_line() {
        assert_eq!(first_words("```text\n[pasted]\nFix it.\n[end of paste]\n```"), Some("Fix it."));
    }
}
