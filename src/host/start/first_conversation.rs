//! The conversation and the handoff with which a session begins.

use super::launch::{BeginWith, StartReport};
use crate::core::claude::args::OwnArgs;
use crate::core::ids::ConversationId;
use crate::core::supervisor::ProgramKind;

/// The first conversation; `None` if Claude picks it, or the program is not Claude.
pub fn first_conversation(agent: ProgramKind, own: &OwnArgs) -> Option<ConversationId> {
    let named = own.session_id.as_deref().and_then(|id| id.parse().ok());
    let resumed = own.resume.clone().flatten().and_then(|id| id.parse().ok());
    match (named, resumed) {
        _ if agent != ProgramKind::Claude => None,
        (Some(id), _) => Some(id),
        (None, Some(id)) if !own.forks => Some(id),
        _ if own.picks_conversation => None,
        _ => Some(fresh_id()),
    }
}

/// The handoff with which the first conversation begins: `Some(None)` is the pending one.
///
/// # Errors
/// When the person's arguments continue a conversation, which cannot begin with a handoff.
pub fn first_handoff(
    agent: ProgramKind,
    begin: &BeginWith,
    own: &OwnArgs,
) -> Result<Option<Option<String>>, StartReport> {
    let id = match begin {
        BeginWith::From(id) if agent == ProgramKind::Claude => Some(id.clone()),
        BeginWith::Pending if agent == ProgramKind::Claude => None,
        _ => return Ok(None),
    };
    if own.resume.is_some() || own.continues || own.picks_conversation && own.session_id.is_none() {
        let hint =
            "remove options that continue an old one, such as --resume or --continue; or remove --handoff";
        return Err(StartReport::failed(2, "--handoff starts a new conversation", hint));
    }
    Ok(Some(id))
}

pub fn fresh_id() -> ConversationId {
    let text = uuid::Uuid::new_v4().to_string();
    text.parse().unwrap_or_else(|_| unreachable!("a conversation id is a version 4 UUID"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(words: &[&str]) -> OwnArgs {
        OwnArgs::of(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    const ID: &str = "0196f8a2-7c1e-4d3a-9b60-5f2d8e4c1a7b";

    #[test]
    fn the_first_conversation_is_the_one_that_the_arguments_name() {
        let first = |words: &[&str]| first_conversation(ProgramKind::Claude, &own(words));
        assert_eq!(first(&["--session-id", ID]), ID.parse().ok());
        assert_eq!(first(&["--resume", ID]), ID.parse().ok());
        assert_eq!(first(&["--resume", ID, "--fork-session"]), None);
        assert_eq!(first(&["--continue"]), None);
        assert!(first(&["a prompt"]).is_some());
        assert_eq!(first_conversation(ProgramKind::Plain, &own(&["--session-id", ID])), None);
    }

    #[test]
    fn a_handoff_begins_a_conversation_and_continues_none() {
        let first =
            |begin: &BeginWith, words: &[&str]| first_handoff(ProgramKind::Claude, begin, &own(words)).ok();
        assert_eq!(first(&BeginWith::Fresh, &["--continue"]), Some(None));
        assert_eq!(first(&BeginWith::Pending, &[]), Some(Some(None)));
        assert_eq!(first(&BeginWith::From("h1".to_owned()), &["go"]), Some(Some(Some("h1".to_owned()))));
        assert_eq!(first(&BeginWith::Pending, &["--session-id", ID]), Some(Some(None)));
        for words in [&["--continue"][..], &["--resume"], &["--resume", ID]] {
            assert_eq!(first(&BeginWith::Pending, words), None, "{words:?}");
        }
    }
}
