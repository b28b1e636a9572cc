//! The conversation that a handoff would come from: its id, the file with it for scripts, and its last
//! messages.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::handoff_args::{RecentOptions, SessionOptions};
use super::handoff_output::answer;
use super::handoff_place::HandoffPlace;
use crate::cli::control::Rule;
use crate::cli::error::{VerbError, say, visible};
use crate::cli::exit_codes::{FAILED, INTERNAL};
use crate::cli::target_conversation::{ConversationTarget, find_target};
use crate::core::claude::line_context::project_dir_name;
use crate::core::claude::transcript_facts::{TranscriptFacts, TranscriptSpeaker};
use crate::core::compat::CurrentSession;
use crate::core::ids::ConversationId;
use crate::core::text::safe_text::safe;
use crate::fs::{atomic, whole_transcript};

/// The conversation that is named; as a last resort the one in `.current-session`.
fn current(place: &HandoffPlace, which: Option<&str>) -> Result<CurrentSession, VerbError> {
    let (id, path) = match find_target(&place.paths, which, Rule::Careful) {
        Ok(ConversationTarget::Session(_, status)) => {
            (status.conversation, status.transcript.map(PathBuf::from))
        }
        Ok(ConversationTarget::Transcript(found)) => {
            (found.path.file_stem().and_then(|stem| stem.to_str()?.parse().ok()), Some(found.path))
        }
        Err(failed) if which.is_some() => return Err(failed),
        Err(failed) => return from_session_file(place).ok_or(failed),
    };
    let named = |(conversation, path): (ConversationId, PathBuf)| CurrentSession {
        conversation,
        transcript: path.display().to_string(),
    };
    id.zip(path).map(named).ok_or_else(|| {
        VerbError::new(FAILED, "its conversation has no transcript yet")
            .hint("Claude writes it with the first prompt")
    })
}

fn file(place: &HandoffPlace) -> PathBuf {
    place.paths.claude.join(CurrentSession::FILE)
}

/// The content of `.current-session`, if its transcript exists. All sessions write this one file, so a
/// session of another project does not count for this directory.
fn from_session_file(place: &HandoffPlace) -> Option<CurrentSession> {
    let bytes = atomic::read_own(&file(place), CurrentSession::CAP, 0o022).ok()??;
    let found = CurrentSession::parse(&String::from_utf8(bytes).ok()?)?;
    let transcript = Path::new(&found.transcript);
    (transcript.is_file() && !is_elsewhere(place, transcript)).then_some(found)
}

/// Whether Claude keeps the transcript for a directory that is neither this one nor above it.
fn is_elsewhere(place: &HandoffPlace, transcript: &Path) -> bool {
    let project =
        transcript.parent().filter(|dir| dir.parent() == Some(&place.paths.claude.join("projects")));
    let Some(project) = project.and_then(Path::file_name) else { return false };
    let here = std::env::current_dir().and_then(|dir| dir.canonicalize()).unwrap_or_default();
    !here.ancestors().any(|dir| *project == *project_dir_name(&dir.to_string_lossy()))
}

pub(super) fn session(place: &HandoffPlace, options: &SessionOptions) -> Result<u8, VerbError> {
    let file = file(place);
    if options.clear {
        return match std::fs::remove_file(&file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(VerbError::new(INTERNAL, e.to_string()).about(file.display()))
            }
            _ => Ok(0),
        };
    }
    let found = current(place, options.which.as_deref())?;
    let line = found.render();
    if options.write {
        atomic::write(&file, line.as_bytes())
            .map_err(|e| VerbError::new(INTERNAL, e.to_string()).hint("nothing was changed"))?;
    }
    let shown = match (options.id, options.transcript) {
        (true, _) => found.conversation.to_string(),
        (false, true) => visible(&found.transcript),
        (false, false) => visible(line.trim_end()),
    };
    answer(options.json, &json!({"session_id": found.conversation, "transcript": found.transcript}), &shown)
}

/// Prints the last prompts and answers without secrets.
pub(super) fn recent(place: &HandoffPlace, options: &RecentOptions) -> Result<u8, VerbError> {
    let path = match &options.transcript {
        Some(path) => path.clone(),
        None => current(place, None)?.transcript.into(),
    };
    let mut facts = TranscriptFacts::new();
    whole_transcript::lines(&path, |line| facts.feed(line))
        .map_err(|e| VerbError::new(FAILED, e.to_string()).hint("use `--transcript` to name another one"))?;
    let all: Vec<(&str, String)> = facts
        .exchanges
        .iter()
        .map(|said| {
            let role = match said.speaker {
                TranscriptSpeaker::Person => "user",
                TranscriptSpeaker::Claude => "assistant",
            };
            (role, safe(&said.text))
        })
        .collect();
    let last = &all[all.len().saturating_sub(options.number)..];
    if options.json {
        let list: Vec<Value> = last.iter().map(|(role, text)| json!({"role": role, "text": text})).collect();
        say(format_args!("{}", json!(list)))?;
        return Ok(0);
    }
    for (role, text) in last {
        say(format_args!("{}: {text}", if *role == "user" { "PERSON" } else { "CLAUDE" }))?;
    }
    Ok(0)
}
