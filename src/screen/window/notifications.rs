//! A program's notifications through the terminal: OSC 9 (iTerm2), 777 (urxvt) and 99 (kitty), as texts.

use crate::screen::Screen;

/// How many notifications are kept, the newest.
const NOTIFICATIONS_KEPT: usize = 5;
/// How many characters of one are kept.
const TEXT: usize = 300;

#[derive(Clone, Debug, Default)]
pub struct Notifications {
    texts: Vec<String>,
    /// The text so far of a kitty notification, which arrives in parts.
    unfinished: Vec<String>,
}

/// Always equal: nothing that later bytes could show depends on it.
impl PartialEq for Notifications {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Notifications {
    fn keep(&mut self, parts: &[String]) {
        let text: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        if !text.is_empty() {
            self.texts.push(text.join(": ").chars().take(TEXT).collect());
            let old = self.texts.len().saturating_sub(NOTIFICATIONS_KEPT);
            self.texts.drain(..old);
        }
    }

    /// One part of a notification, after its metadata. Base64 text is ignored.
    fn part(&mut self, metadata: &[u8], text: String) {
        let has = |what: &[u8]| metadata.split(|byte| *byte == b':').any(|field| field == what);
        let kind = metadata.split(|byte| *byte == b':').find_map(|field| field.strip_prefix(b"p="));
        if matches!(kind, None | Some(b"title" | b"body"))
            && !has(b"e=1")
            && self.unfinished.len() < NOTIFICATIONS_KEPT
        {
            self.unfinished.push(text);
        }
        if !has(b"d=0") {
            let unfinished = std::mem::take(&mut self.unfinished);
            self.keep(&unfinished);
        }
    }
}

impl Notifications {
    /// One operating system command, with its number first.
    pub fn osc(&mut self, params: &[&[u8]]) {
        let text = |parts: &[&[u8]]| String::from_utf8_lossy(&parts.join(&b';')).into_owned();
        match params {
            // A number is one of ConEmu's commands, such as the progress.
            [b"9", first, ..] if first.iter().all(u8::is_ascii_digit) => {}
            [b"9", rest @ ..] => self.keep(&[text(rest)]),
            [b"777", b"notify", title, body @ ..] => self.keep(&[text(&[title]), text(body)]),
            [b"99", metadata, rest @ ..] => self.part(metadata, text(rest)),
            _ => {}
        }
    }
}

impl Screen {
    /// The child's notifications since the last call, oldest first: at most the newest five.
    pub fn take_notifications(&mut self) -> Vec<String> {
        std::mem::take(&mut self.terminal.window.notifications.texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_texts_in_every_form() {
        let mut screen = Screen::new(20, 2);
        screen.feed(
            b"\x1b]9;It is; done\x07\x1b]9;4;1;50\x07\x1b]777;notify;Build;failed; \
                    twice\x1b\\\x1b]777;other;x\x07\x1b]9;\x07",
        );
        screen.feed(b"\x1b]99;i=1:d=0;Claude\x1b\\\x1b]99;i=1:d=0:p=body;waits\x1b\\\x1b]99;i=1:d=1:a=focus;\x1b\\\x1b]99;;Short\x1b\\\x1b]99;e=1;YQ==\x1b\\");
        assert_eq!(
            screen.take_notifications(),
            ["It is; done", "Build: failed; twice", "Claude: waits", "Short"]
        );
        assert!(screen.take_notifications().is_empty() && screen.lines()[0].is_empty());
    }

    #[test]
    fn only_the_newest_are_kept_and_cut() {
        let mut screen = Screen::new(20, 2);
        for n in 0..100 {
            screen.feed(
                format!("\x1b]9;{}{n}\x07\x1b]99;d=0;x\x07", "x".repeat(if n == 99 { 2000 } else { 1 }))
                    .as_bytes(),
            );
        }
        let said = screen.take_notifications();
        assert_eq!((said.len(), said[0].as_str(), said[4].len()), (NOTIFICATIONS_KEPT, "x95", TEXT));
    }
}
