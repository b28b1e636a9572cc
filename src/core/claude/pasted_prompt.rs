//! A prompt that `hopty send --submit` types: prepared for the paste, and recognized when Claude has received
//! it.

use crate::core::handoff::continuation_prompt::unwrap_pasted;
use crate::core::text::squeeze::squeeze;

/// Why a text cannot be submitted as a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSubmittable {
    /// Nothing would be submitted.
    Empty,
    /// Claude would run it as a shell command, which leaves no proof.
    Shell,
}

/// Where Claude put the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptPlace {
    /// It began a turn.
    Prompt,
    /// It waits in Claude's queue.
    Queued,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPrompt {
    text: String,
    squeezed: String,
    /// A line of the transcript from before this time (RFC 3339 UTC) is about an earlier prompt with the same
    /// text.
    since: Option<String>,
}

impl SentPrompt {
    /// A prompt with this text. Line ends become `\n`; control characters other than tabs and trailing white
    /// space are removed.
    ///
    /// # Errors
    /// If the text cannot be submitted with proof.
    pub fn new(text: &str) -> Result<Self, NotSubmittable> {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut text: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
        text.truncate(text.trim_end().len());
        if text.trim_start().is_empty() {
            return Err(NotSubmittable::Empty);
        }
        if text.starts_with('!') {
            return Err(NotSubmittable::Shell);
        }
        // Behind a backslash, Enter begins a new line; behind a file's name, it accepts a suggestion.
        let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        if text.ends_with('\\') || word.contains('@') {
            text.push(' ');
        }
        let squeezed = squeeze(&text);
        Ok(SentPrompt { text, squeezed, since: None })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is a slash command. Claude records none that it runs itself.
    pub fn is_command(&self) -> bool {
        let word = self.text.split_whitespace().next().unwrap_or_default();
        word.strip_prefix('/').is_some_and(|rest| !rest.contains('/')) && self.text.starts_with('/')
    }

    /// Enter was pressed at this time (RFC 3339 UTC). Lines of the transcript count from here on.
    pub fn entered(&mut self, at: String) {
        self.since.get_or_insert(at);
    }

    /// Whether `prompt` is this one. White space is ignored: Claude trims it and writes tabs as blanks.
    pub fn is(&self, prompt: &str) -> bool {
        squeeze(&unwrap_pasted(prompt)) == self.squeezed
    }

    /// The same for a line of the transcript that was written at `at`.
    pub fn is_line(&self, prompt: &str, at: Option<&str>) -> bool {
        let later = matches!((&self.since, at), (Some(since), Some(at)) if at >= since.as_str());
        later && self.is(prompt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(of: &str) -> String {
        SentPrompt::new(of).unwrap().text().to_owned()
    }

    #[test]
    fn a_prompt_can_neither_end_its_paste_nor_move_a_cursor() {
        assert_eq!(text("a\x1b[201~\rb\r\nc\u{9b}2J\x7f\x03\td \n"), "a[201~\nb\nc2J\td");
    }

    #[test]
    fn enter_behind_it_submits() {
        assert_eq!(text("ends with \\"), "ends with \\ ");
        assert_eq!(text("look at @src/main.rs"), "look at @src/main.rs ");
        assert_eq!(text("@a and b"), "@a and b");
    }

    #[test]
    fn a_text_that_cannot_be_submitted_is_refused() {
        for empty in ["", " \n\t", "\x1b\x03"] {
            assert_eq!(SentPrompt::new(empty), Err(NotSubmittable::Empty));
        }
        assert_eq!(SentPrompt::new("!ls"), Err(NotSubmittable::Shell));
    }

    #[test]
    fn a_command_is_one_word_with_one_slash() {
        let command = |of: &str| SentPrompt::new(of).unwrap().is_command();
        assert!(command("/clear") && command("/compact keep the plan"));
        assert!(!command("/etc/hosts is a file") && !command("say /clear") && !command(" /clear"));
    }

    #[test]
    fn a_prompt_is_recognized_and_an_earlier_one_with_the_same_words_is_not() {
        let mut sent = SentPrompt::new("one\n two\tthree").unwrap();
        assert!(sent.is("one two three") && sent.is("one\n  two    three\n") && !sent.is("one two"));
        assert!(
            sent.is("\n\n<pasted_content id=\"ab12\">\none\n two\tthree\n</pasted_content id=\"ab12\">\n")
        );
        assert!(!sent.is_line("one two three", Some("2026-11-20T14:00:00.000Z")), "before Enter");
        sent.entered("2026-11-20T14:00:00.500Z".to_owned());
        assert!(!sent.is_line("one two three", Some("2026-11-20T14:00:00.499Z")));
        assert!(!sent.is_line("one two three", None));
        assert!(sent.is_line("one two three", Some("2026-11-20T14:00:00.500Z")));
    }
}
