//! The conversation that an argument names.

use super::restore;
use crate::cli::error::VerbError;
use crate::core::ids::{ConversationId, SessionName};
use crate::fs::archive::ArchiveStore;
use crate::fs::conversations::{FindError, TranscriptFile, find};
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::message::Code;

/// The conversation that `word` names: by its id, the beginning of it, a title, a path, or the session that
/// runs it. If several have the title, it is the one that a session of this name runs.
pub(super) fn named_conversation(paths: &Paths, word: &str) -> Result<TranscriptFile, VerbError> {
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
                && restore::archived_conversation(&ArchiveStore::new(&paths.archive(), &paths.claude), word)
                    .is_ok()
        };
        let hint = match is_archived() {
            true => format!("it is in the archive; `hopty conversations restore {word}` brings it back"),
            false => error.hint(),
        };
        VerbError::new(code, error.to_string()).called(kind).about(word).hint(hint)
    })
}

/// The conversation that the session of this name runs, or ran last.
fn conversation_of_session(paths: &Paths, word: &str) -> Option<ConversationId> {
    let name: SessionName = word.parse().ok()?;
    session::status(&paths.session(&name)).ok().flatten()?.conversation
}
