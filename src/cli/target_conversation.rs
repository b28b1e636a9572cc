//! Which conversation a verb is about: a session's, or the one that a file, an id or a directory leads to.
//!
//! hopty trusts Claude's own statements first. The newest transcript of a directory is a guess and is called
//! one.

use std::path::{Path, PathBuf};

use super::control::{Rule, any_session, live_session};
use super::detach_and_stop;
use super::error::VerbError;
use super::exit_codes::FAILED;
use super::status;
use crate::claude::sessions_file;
use crate::core::claude::line_context::project_dir_name;
use crate::core::ids::{ConversationId, SessionName};
use crate::core::status_types::SessionStatus;
use crate::fs::paths::Paths;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundTranscript {
    pub path: PathBuf,
    /// A half-sentence that says how it was found.
    pub how: String,
}

#[derive(Debug)]
pub(super) enum ConversationTarget {
    Session(SessionName, Box<SessionStatus>),
    Transcript(FoundTranscript),
}

/// What `given` names: a transcript, a directory, a conversation's id or a session's name. By default the
/// session or conversation that this command runs in, or that belongs to this directory.
pub(super) fn find_target(
    paths: &Paths,
    given: Option<&str>,
    rule: Rule,
) -> Result<ConversationTarget, VerbError> {
    let Some(text) = given else { return here(paths, rule) };
    if let Ok(id) = text.parse::<ConversationId>() {
        return of_id(paths, &id).map(ConversationTarget::Transcript);
    }
    let path = Path::new(text);
    let is_path = text.contains('/') || matches!(text, "." | "..") || text.ends_with(".jsonl");
    if !is_path {
        let known = any_session(paths, Some(text));
        if known.is_ok() || !path.exists() {
            return known.and_then(|name| of_session(paths, name));
        }
    }
    if path.is_dir() {
        let dir = path.canonicalize()?;
        return of_dir(paths, &dir).map(ConversationTarget::Transcript).ok_or_else(|| {
            VerbError::new(FAILED, "no conversation is known in this directory")
                .about(path.display())
                .hint("name a transcript or a conversation id")
        });
    }
    if !path.exists() {
        return Err(VerbError::new(FAILED, "there is no such file")
            .about(path.display())
            .hint("give a transcript, a directory or a session"));
    }
    Ok(ConversationTarget::Transcript(FoundTranscript {
        path: path.to_owned(),
        how: "you named it".to_owned(),
    }))
}

fn here(paths: &Paths, rule: Rule) -> Result<ConversationTarget, VerbError> {
    let failed = match live_session(paths, None, rule) {
        Ok(name) => return of_session(paths, name),
        Err(failed) => failed,
    };
    if let Some(id) = std::env::var("CLAUDE_CODE_SESSION_ID").ok().and_then(|id| id.parse().ok())
        && let Ok(found) = of_id(paths, &id)
    {
        return Ok(ConversationTarget::Transcript(FoundTranscript {
            how: "Claude runs this command in it".to_owned(),
            ..found
        }));
    }
    // Only the person knows which of them it is.
    if super::control::nearest(paths, &detach_and_stop::live_names(paths)?).len() > 1 {
        return Err(failed);
    }
    let dir = std::env::current_dir().and_then(|dir| dir.canonicalize());
    dir.ok()
        .and_then(|dir| of_dir(paths, &dir))
        .map(ConversationTarget::Transcript)
        .ok_or_else(|| failed.also("no conversation is known in this directory"))
}

fn of_session(paths: &Paths, name: SessionName) -> Result<ConversationTarget, VerbError> {
    let status = status::status_of(paths, &name)?;
    Ok(ConversationTarget::Session(name, Box::new(status)))
}

fn of_id(paths: &Paths, id: &ConversationId) -> Result<FoundTranscript, VerbError> {
    let path = paths.find_transcript(id).ok_or_else(|| {
        VerbError::new(FAILED, "this conversation has no transcript")
            .about(id)
            .hint(format!("hopty looked below {}", paths.claude.display()))
    })?;
    Ok(FoundTranscript { path, how: "its name is the conversation id".to_owned() })
}

/// The conversation of a directory: that of the Claude that runs there, or the newest transcript.
fn of_dir(paths: &Paths, dir: &Path) -> Option<FoundTranscript> {
    let living = sessions_file::living(&paths.claude.join("sessions"));
    let running: Vec<_> = living.iter().filter(|living| living.dir == dir).collect();
    let mut found: Vec<FoundTranscript> = running
        .iter()
        .filter_map(|living| {
            let path = paths.find_transcript(&living.conversation)?;
            let how = match running.len() {
                1 => format!("the Claude with pid {} runs it there", living.pid),
                n => format!("a guess: the newest of {n} that run there (pid {})", living.pid),
            };
            Some(FoundTranscript { path, how })
        })
        .collect();
    if found.is_empty() {
        let name = project_dir_name(&dir.to_string_lossy());
        let files = std::fs::read_dir(paths.claude.join("projects").join(name)).ok()?;
        let all = files.flatten().map(|entry| entry.path());
        let all = all.filter(|path| {
            let id = path
                .file_name()
                .and_then(|name| name.to_str()?.strip_suffix(".jsonl")?.parse::<ConversationId>().ok());
            id.is_some() && path.is_file()
        });
        found.extend(all.map(|path| FoundTranscript { path, how: String::new() }));
        let n = found.len();
        let how = if n == 1 {
            "the only one in the directory".to_owned()
        } else {
            format!("a guess: the newest of {n} of the directory")
        };
        found.iter_mut().for_each(|transcript| transcript.how.clone_from(&how));
    }
    let newest = |transcript: &FoundTranscript| {
        std::fs::metadata(&transcript.path).and_then(|meta| meta.modified()).ok()
    };
    found.into_iter().max_by_key(newest)
}
