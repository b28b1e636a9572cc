//! The conversation's permission mode and title.

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

    /// The title that the person gave the conversation (`--name`, `/rename`).
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    pub(super) fn take_permission_mode(&mut self, mode: String) {
        self.permission_mode = Some(mode);
    }

    /// Takes a new title; an empty one removes the title.
    pub(super) fn take_title(&mut self, title: String) {
        self.title = Some(title).filter(|title| !title.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_setting_counts_and_a_title_can_be_removed() {
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
