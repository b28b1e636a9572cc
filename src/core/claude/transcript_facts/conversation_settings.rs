//! What Claude records of the conversation itself.

/// The settings of a conversation.
#[derive(Clone, Debug, Default)]
pub struct ConversationSettings {
    permission_mode: Option<String>,
    title: Option<String>,
}

impl ConversationSettings {
    /// The last permission mode, as Claude spells it.
    pub fn permission_mode(&self) -> Option<&str> {
        self.permission_mode.as_deref()
    }

    /// The name that the person gave the conversation (`--name`, `/rename`).
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// From here on this is the permission mode.
    pub(super) fn take_permission_mode(&mut self, mode: String) {
        self.permission_mode = Some(mode);
    }

    /// The person names the conversation; empty: they take the name back.
    pub(super) fn take_title(&mut self, title: String) {
        self.title = Some(title).filter(|title| !title.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_counts_and_a_name_may_be_taken_back() {
        let mut settings = ConversationSettings::default();
        settings.take_permission_mode("plan".into());
        settings.take_permission_mode("default".into());
        assert_eq!(settings.permission_mode(), Some("default"));
        settings.take_title("My work".into());
        settings.take_title("Other".into());
        assert_eq!(settings.title(), Some("Other"));
        settings.take_title(String::new());
        assert_eq!(settings.title(), None);
    }
}
