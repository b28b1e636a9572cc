//! Refuses to start Claude on a conversation that a session already runs: two Claudes would write to one
//! transcript and spoil it for both.

use std::path::Path;

use super::control::HostControl;
use super::error::VerbError;
use super::exit_codes::REFUSED;
use super::list::PATIENCE;
use super::status::unresponsive;
use crate::core::claude::args::OwnArgs;
use crate::core::claude::line_context::project_dir_name;
use crate::core::ids::{ConversationId, SessionName};
use crate::fs::paths::Paths;
use crate::fs::session;

/// Checks that no live session runs the conversation that these arguments of Claude resume. One that a person
/// picks from Claude's list is not known yet; with `--fork-session` it is a copy.
///
/// # Errors
/// Exit code 4 with the name of the session.
pub(super) fn refuse(paths: &Paths, args: &[String]) -> Result<(), VerbError> {
    let own = OwnArgs::of(args);
    let wanted = match &own.resume {
        _ if own.forks => None,
        Some(named) => named.as_deref().and_then(|id| id.parse().ok()),
        None if own.continues => newest_here(paths),
        None => None,
    };
    let Some(wanted) = wanted else { return Ok(()) };
    match session::live_names(paths)
        .into_iter()
        .find(|name| conversation_of(paths, name).as_ref() == Some(&wanted))
    {
        None => Ok(()),
        Some(name) => {
            Err(VerbError::new(REFUSED, "this session already runs the conversation").about(&name).hint(
                format!("`hopty attach {name}` attaches to it; add `--fork-session` to continue with a copy"),
            ))
        }
    }
}

fn conversation_of(paths: &Paths, name: &SessionName) -> Option<ConversationId> {
    let answer = HostControl::connect(paths, name, Some(PATIENCE)).and_then(|mut host| host.status());
    answer.ok().or_else(|| unresponsive(paths, name))?.conversation
}

/// The conversation that `--continue` resumes: the newest of this directory.
fn newest_here(paths: &Paths) -> Option<ConversationId> {
    let here = std::env::current_dir().ok()?.canonicalize().ok()?;
    let dir = paths.claude.join("projects").join(project_dir_name(&here.to_string_lossy()));
    let of = |path: &Path| path.file_name()?.to_str()?.strip_suffix(".jsonl")?.parse::<ConversationId>().ok();
    let files = std::fs::read_dir(dir).ok()?.flatten();
    let known = files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, of(&file.path())?)));
    known.max_by_key(|(at, _)| *at).map(|(_, conversation)| conversation)
}
