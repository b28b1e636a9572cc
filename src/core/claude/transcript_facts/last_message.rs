//! The text of Claude's newest message, which grows with each of its lines.

use crate::core::claude::transcript_line::{Assistant, TEXT_CAP};

#[derive(Clone, Debug, Default)]
pub struct LastMessage {
    id: String,
    text: String,
    last_block: usize,
}

/// A block of text of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextBlock<'a> {
    pub text: &'a str,
    /// The text of the message so far, including this block.
    pub whole: &'a str,
    /// It is not the first text of the message.
    pub continues: bool,
}

impl LastMessage {
    /// The text so far, cut at a size that no real answer has.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether its text is the `last_assistant_message` of a Stop hook.
    pub fn text_is(&self, text: &str) -> bool {
        let last_block = self.text.get(self.last_block..).unwrap_or_default();
        let text = text.trim();
        self.text.trim() == text || last_block.trim() == text
    }

    /// Whether a message was read.
    pub(super) fn is_known(&self) -> bool {
        !self.id.is_empty()
    }

    /// Whether it is the message with this id.
    pub(super) fn is(&self, id: Option<&str>) -> bool {
        self.is_known() && id == Some(self.id.as_str())
    }

    /// Takes a line of this message or of the next one. Returns the text in the line.
    pub(super) fn take_message<'a>(&'a mut self, line: &'a Assistant) -> Option<TextBlock<'a>> {
        if line.message_id != self.id {
            self.id.clone_from(&line.message_id);
            self.text.clear();
            self.last_block = 0;
        }
        if line.text.is_empty() || self.text.len() > TEXT_CAP {
            return None;
        }
        let continues = !self.text.is_empty();
        if continues {
            self.text.push('\n');
        }
        self.last_block = self.text.len();
        self.text.push_str(&line.text);
        Some(TextBlock { text: &line.text, whole: &self.text, continues })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, text: &str) -> Assistant {
        Assistant { message_id: id.into(), text: text.into(), ..Assistant::default() }
    }

    #[test]
    fn a_message_is_recognized_whole_and_by_its_last_block() {
        let mut message = LastMessage::default();
        assert!(!message.is_known() && !message.is(Some("")));
        let first = line("m2", "done");
        assert!(message.take_message(&first).is_some_and(|block| !block.continues));
        let second = line("m2", "and more");
        let block = message.take_message(&second).unwrap();
        assert_eq!((block.text, block.whole, block.continues), ("and more", "done\nand more", true));
        for (text, same) in
            [("done\nand more", true), (" and more\n", true), ("done", false), ("more", false)]
        {
            assert_eq!(message.text_is(text), same, "{text:?}");
        }
        assert!(message.take_message(&line("m3", "")).is_none());
        assert!(message.text().is_empty() && message.is(Some("m3")) && !message.is(None));
    }

    #[test]
    fn its_text_is_bounded() {
        let (mut message, block) = (LastMessage::default(), line("m", &"x".repeat(TEXT_CAP / 2)));
        for _ in 0..9 {
            message.take_message(&block);
        }
        assert!(message.text().len() < 2 * TEXT_CAP);
    }
}
