//! Detects that another session runs the followed conversation, too: a person can pick one from Claude's own
//! list, and two Claudes then write into one transcript.

use super::{JobEvent, Jobs};
use crate::core::ids::{ConversationId, SessionName};
use crate::fs::paths::Paths;
use crate::fs::session;

impl Jobs {
    /// Searches the files of other sessions' hosts for it.
    pub fn check_shared_conversation(
        &mut self,
        paths: &Paths,
        own: &SessionName,
        conversation: &ConversationId,
    ) {
        let (paths, own, conversation) = (paths.clone(), own.clone(), conversation.clone());
        self.read(move || {
            let other = session::other_session_with(&paths, &own, &conversation);
            JobEvent::SharedConversation(conversation, other)
        });
    }
}

/// The session that runs the followed conversation, too, according to the last check.
#[derive(Debug, Default)]
pub struct SharedConversation(Option<(ConversationId, SessionName)>);

impl SharedConversation {
    /// Takes the result of a check. Returns what to tell people, unless they were told at an earlier check.
    pub fn take(&mut self, conversation: ConversationId, other: Option<SessionName>) -> Option<String> {
        let found = other.map(|name| (conversation, name));
        let is_known = found == self.0;
        self.0 = found;
        self.0.as_ref().filter(|_| !is_known).map(|(_, name)| sentence(name))
    }

    /// Whether another session was found.
    pub fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// What is to be told while this conversation is followed.
    pub fn with(&self, conversation: Option<&ConversationId>) -> Option<String> {
        let (_, name) = self.0.as_ref().filter(|(shared, _)| Some(shared) == conversation)?;
        Some(sentence(name))
    }
}

fn sentence(name: &SessionName) -> String {
    format!("Session {name} runs this conversation, too, and both write into its transcript: end one of them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_conversation_is_told_once_and_known_until_it_is_not_shared() {
        let conversation: ConversationId = "0cb459ff-0000-4000-8000-000000000001".parse().unwrap();
        let other: ConversationId = "0cb459ff-0000-4000-8000-000000000002".parse().unwrap();
        let rocket: SessionName = "rocket".parse().unwrap();
        let mut shared = SharedConversation::default();
        let mut check = |found: Option<&SessionName>| {
            let told = shared.take(conversation.clone(), found.cloned());
            (told.is_some(), shared.with(Some(&conversation)).is_some(), shared.with(Some(&other)).is_some())
        };
        assert_eq!(check(None), (false, false, false));
        assert_eq!(check(Some(&rocket)), (true, true, false));
        assert_eq!(check(Some(&rocket)), (false, true, false), "it is known");
        assert_eq!(check(None), (false, false, false), "the other one has ended");
        assert_eq!(check(Some(&rocket)), (true, true, false), "again");
    }
}
