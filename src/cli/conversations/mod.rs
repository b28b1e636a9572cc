//! `hopty conversations`: the conversations that Claude keeps, for people and scripts. One file for each
//! verb.
//!
//! It works on files alone, Claude's and hopty's; no session is asked.

mod archive;
mod chain;
pub(super) mod conversations_args;
mod export;
mod import;
mod ls;
pub(super) mod open_conversations;
mod restore;
mod search;
mod show;
mod transfer;

use std::collections::HashSet;

use serde_json::{Value, json};

use super::error::{VerbError, note, visible};
use crate::core::conversation_transfer::LeftOutOfLines;
use crate::core::ids::{ConversationId, SessionName};
use crate::core::text::plural::plural;
use crate::fs::archive::{ArchiveStore, archive_sources};
use crate::fs::conversations::search_transcripts::TranscriptSource;
use crate::fs::conversations::{FindError, TranscriptFile, find, handoff_sources};
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::message::Code;
pub(super) use archive::before_cleanup;
use conversations_args::ConversationsVerb;
pub(super) use ls::{short, size};

pub(super) fn conversations(verb: &ConversationsVerb) -> Result<u8, VerbError> {
    match verb {
        ConversationsVerb::Ls(options) => ls::ls(options),
        ConversationsVerb::Show(options) => show::show(options),
        ConversationsVerb::Search(options) => search::search(options),
        ConversationsVerb::Chain(options) => chain::chain(options),
        ConversationsVerb::Archive(options) => archive::archive(options),
        ConversationsVerb::Restore(options) => restore::restore(options),
        ConversationsVerb::Move(options) => transfer::move_conversations(options),
        ConversationsVerb::Copy(options) => transfer::copy(options),
        ConversationsVerb::Export(options) => export::export(options),
        ConversationsVerb::Import(options) => import::import(options),
    }
}

/// The conversation that `word` names: by id, the begin of an id, title or path, or that of the session of
/// this name. Of several with one title it is the one that a session of this name runs.
pub(super) fn named(paths: &Paths, word: &str) -> Result<TranscriptFile, VerbError> {
    let found = find(paths, word).or_else(|error| {
        let of_session = conversation_of_session(paths, word).and_then(|id| find(paths, id.as_str()).ok());
        of_session.filter(|_| !matches!(error, FindError::NoTranscript(_))).ok_or(error)
    });
    found.map_err(|error| {
        let (code, kind) = match error {
            FindError::None | FindError::NoTranscript(_) => (1, Code::NotFound),
            FindError::Several(_) => (2, Code::BadRequest),
        };
        let is_archived = || {
            error == FindError::None
                && restore::named(&ArchiveStore::new(&paths.archive(), &paths.claude), word).is_ok()
        };
        let hint = match is_archived() {
            true => format!("it is in the archive; `hopty conversations restore {word}` brings it back"),
            false => error.hint(),
        };
        VerbError::new(code, error.to_string()).called(kind).about(word).hint(hint)
    })
}

/// What a dry run, which looks into no transcript, says would be left out of it.
pub(super) const MAY_BE_LEFT_OUT: &str = "a permission mode, the system prompt, goals, scheduled prompts and \
                                          what /rewind would do to files outside of the project";

/// What was left out of transcripts that may come from anybody, in words; `None` where nothing was.
pub(super) fn left_out_words(left_out: LeftOutOfLines) -> Option<String> {
    let some = |count: u64, word: &str| {
        (count > 0).then(|| plural(usize::try_from(count).unwrap_or(usize::MAX), word))
    };
    let parts: Vec<String> = [
        (left_out.modes > 0).then(|| "the permission mode (now default)".to_owned()),
        (left_out.files > 0)
            .then(|| "what /rewind would do to files that may be outside of the project".to_owned()),
        some(left_out.goals, "goal"),
        some(left_out.scheduled, "scheduled prompt"),
        some(left_out.agents, "sub-agent").map(|agents| format!("settings of {agents}")),
        some(left_out.others, "line")
            .map(|lines| format!("{lines} that Claude may act on (queued prompts and the like)")),
        some(left_out.unreadable, "line")
            .map(|lines| format!("{lines} that cannot be read and may have such parts")),
        some(left_out.attachments, "note").map(|notes| {
            format!("{notes} to Claude in the role of the system (it writes its own system prompt)")
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The same for programs.
pub(super) fn left_out_json(left_out: LeftOutOfLines) -> Value {
    json!({
        "modes": left_out.modes, "files": left_out.files, "goals": left_out.goals,
        "scheduled": left_out.scheduled, "attachments": left_out.attachments, "agents": left_out.agents,
        "others": left_out.others, "lines": left_out.unreadable,
    })
}

/// The conversation that the session of this name runs, or ran last.
fn conversation_of_session(paths: &Paths, word: &str) -> Option<ConversationId> {
    let name: SessionName = word.parse().ok()?;
    session::status(&paths.session(&name)).ok().flatten()?.conversation
}

/// The transcripts of conversations that are not among Claude's own any more (`known`): those of the archive,
/// and of others the copies that handoffs kept.
pub(super) fn kept_sources(
    paths: &Paths,
    mut known: HashSet<ConversationId>,
) -> Vec<Box<dyn TranscriptSource>> {
    let store = ArchiveStore::new(&paths.archive(), &paths.claude);
    let mut archived = store.entries().0;
    archived.retain(|entry| entry.number == 0 && !known.contains(&entry.conversation));
    known.extend(archived.iter().map(|entry| entry.conversation.clone()));
    let mut sources = archive_sources(store.dir(), archived);
    sources.extend(handoff_sources(&paths.claude, &known));
    sources
}

/// The same, and of all conversations everything that the archive has: a former state may have messages that
/// no later one has.
pub(super) fn all_kept_sources(
    paths: &Paths,
    mut known: HashSet<ConversationId>,
) -> Vec<Box<dyn TranscriptSource>> {
    let store = ArchiveStore::new(&paths.archive(), &paths.claude);
    let archived = store.entries().0;
    known.extend(archived.iter().map(|entry| entry.conversation.clone()));
    let mut sources = archive_sources(store.dir(), archived);
    sources.extend(handoff_sources(&paths.claude, &known));
    sources
}

/// Text of a summary, which has no secrets, on one line with nothing that a terminal acts on.
pub(super) fn one_line(text: &str) -> String {
    crate::core::text::visible::visible(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What was found on the way that a person may want to know.
fn tell(notices: &[String]) {
    notices.iter().for_each(|notice| note(format_args!("hopty: {}", visible(notice))));
}
