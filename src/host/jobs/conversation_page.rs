//! A page with the end of the conversation before the last hand-over.

use super::{JobEvent, Jobs};
use crate::core::conversation::entry::{Entry, EntryReader, Speaker};
use crate::core::conversation::pages::PageOptions;
use crate::core::ids::ConversationId;
use crate::core::terminal::Size;
use crate::core::text::word_wrap::wrap_words;
use crate::fs::conversations::find;
use crate::fs::paths::Paths;
use crate::fs::whole_transcript;

/// How much of the end of a transcript is read, in bytes.
const END: u64 = 1 << 20;
/// Rows of the page that show no conversation.
const FRAME_ROWS: usize = 4;
/// What of a conversation the page shows.
const SHOWN: PageOptions = PageOptions { redacts: true, with_tools: false, with_thinking: false };

impl Jobs {
    /// Builds the page for a client. A thread reads the transcript, so no key waits for the disk.
    pub fn read_conversation(&mut self, client: u64, conversation: &ConversationId, size: Size) {
        let (paths, conversation) = (self.paths.clone(), conversation.clone());
        self.copy(move || JobEvent::Page(client, end_of(&paths, &conversation, size)));
    }
}

/// The page of a session without an earlier conversation.
pub(in crate::host) fn no_conversation_page(size: Size) -> String {
    page("", "No hand-over began this conversation.", size)
}

/// The page with the end of a conversation.
fn end_of(paths: &Paths, conversation: &ConversationId, size: Size) -> String {
    let mut entries = Vec::new();
    let mut reader = EntryReader::new();
    let read = find(paths, conversation.as_str()).map_err(|e| e.to_string()).and_then(|file| {
        whole_transcript::last_lines(&file.path, END, |line| reader.line(line, |entry| entries.push(entry)))
            .map_err(|e| e.to_string())
    });
    reader.finish(|entry| entries.push(entry));
    let text = match read {
        Ok(_) => text_of(&entries, usize::from(size.drawn().0)),
        Err(error) => SHOWN.clean_line(&format!("It cannot be read: {error}")),
    };
    page(&format!(" conversation {conversation}, before the hand-over"), &text, size)
}

/// The conversation as text: messages, and the tools that were used.
fn text_of(entries: &[Entry], cols: usize) -> String {
    let said = entries.iter().filter_map(|entry| match entry {
        Entry::Said { speaker: Speaker::Person, text, .. } => Some(format!("❯ {}", SHOWN.clean(text.trim()))),
        Entry::Said { speaker: Speaker::Claude, text, .. } => Some(SHOWN.clean(text.trim())),
        Entry::Tool(call) => Some(SHOWN.clean_line(&format!("* {} {}", call.name, call.about()))),
        Entry::Said { .. } | Entry::Note { .. } => None,
    });
    said.map(|text| wrap_words(&text.replace('\t', "    "), 2, cols)).collect::<Vec<_>>().join("\n\n")
}

/// As much of the end of `text` as fits.
fn page(title: &str, text: &str, size: Size) -> String {
    let (cols, rows) = size.drawn();
    let cols = usize::from(cols);
    let head = wrap_words(&format!("\x1b[1mhopty\x1b[m{title}"), 0, cols);
    let room = usize::from(rows).saturating_sub(FRAME_ROWS + head.lines().count());
    let mut left = room;
    let takes = |line: &str| unicode_width::UnicodeWidthStr::width(line).div_ceil(cols).max(1);
    let mut shown: Vec<&str> = text
        .lines()
        .rev()
        .take_while(|line| {
            let fits = takes(line) <= left;
            left = left.saturating_sub(takes(line));
            fits
        })
        .collect();
    shown.reverse();
    format!("{head}\n\n{}\n\nPress any key to return.", shown.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn the_end_is_what_fits_and_nothing_moves_the_cursor() {
        let lines: String = (1..=40)
            .map(|n| {
                let said = format!("answer {n} \\u001b[2J of a longer kind that needs a second row");
                format!(
                    r#"{{"type":"assistant","uuid":"u{n}","message":{{"role":"assistant","content":[{{"type":"text","text":"{said}"}}]}}}}"#
                ) + "\n"
            })
            .collect();
        let mut entries = Vec::new();
        let mut reader = EntryReader::new();
        lines.lines().for_each(|line| reader.line(line.as_bytes(), |entry| entries.push(entry)));
        reader.finish(|entry| entries.push(entry));
        let page = page(" conversation x", &text_of(&entries, 40), Size::cells(40, 12));
        assert!(
            page.contains("answer 40") && !page.contains("answer 1 ") && !page.contains("\u{1b}[2J"),
            "{page}"
        );
        assert!(page.lines().count() <= 12 && page.lines().skip(1).all(|line| line.width() <= 40), "{page}");
    }
}
