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
        self.read(move || match session::other_session_with(&paths, &own, &conversation) {
            Some(name) => JobEvent::SharedConversation(name),
            None => JobEvent::Quiet,
        });
    }
}
