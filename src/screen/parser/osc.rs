//! Operating system commands: titles, colours, links, the working directory, and progress. The clipboard and
//! shells' marks are kept if a caller reads them. The rest is ignored.

use super::stream_parser::STRING_MAX;
use crate::screen::grid::{PARTS_MAX, printable};
use crate::screen::reply::{DynamicColor, Query, StringEnd};
use crate::screen::restore::QuestionTopic;
use crate::screen::terminal_state::TerminalState;
use crate::screen::window::TitleKind;

/// The most bytes of a working directory. If one is too long, the previous one is dropped, because it no
/// longer applies.
const DIRECTORY_MAX: usize = 4096;

impl TerminalState {
    /// Handles one command, which the parser split at semicolons.
    pub fn osc(&mut self, params: &[&[u8]], bell_terminated: bool) {
        // The stream parser drops longer ones, but knows their length only approximately: here it is exact.
        if params.iter().map(|param| param.len() + 1).sum::<usize>() > STRING_MAX {
            return;
        }
        let Some((number, rest)) = params.split_first() else {
            return;
        };
        self.window.notifications.osc(params);
        self.window.reports.osc(params);
        for color in self.window.colors.osc(params, self.before.colors()) {
            self.before.ask(QuestionTopic::Color(color), !self.window.colors.is_touched(color));
        }
        match *number {
            b"0" => self.set_title(TitleKind::Both, rest),
            b"1" => self.set_title(TitleKind::Icon, rest),
            b"2" => self.set_title(TitleKind::Window, rest),
            b"7" if rest.len() < PARTS_MAX => {
                self.window.directory = printable(rest, DIRECTORY_MAX).unwrap_or_default()
            }
            b"7" => self.window.directory.clear(),
            b"8" => {
                if let [_, uri @ ..] = rest {
                    self.display.links.open = uri.iter().any(|part| !part.is_empty());
                }
                self.display.set_link(rest);
            }
            b"9" => {
                if let [b"4", state, percent @ ..] = rest {
                    self.window.progress.set(state, percent.first().copied().unwrap_or_default());
                }
            }
            b"22" => {
                if let [text] = rest {
                    self.display.buffers.active.pointer.osc(text);
                }
            }
            b"10" | b"11" | b"12" => {
                let end = if bell_terminated { StringEnd::Bell } else { StringEnd::Terminator };
                let all = [DynamicColor::Foreground, DynamicColor::Background, DynamicColor::Cursor];
                // Further values concern the following colours: `10;?;?` queries 10 and 11.
                let first = usize::from(number[1] - b'0');
                for (which, value) in all.into_iter().skip(first).zip(rest) {
                    if *value == b"?" {
                        self.queries.push(Query::Color { which, end });
                    }
                }
            }
            _ => {}
        }
    }

    fn set_title(&mut self, part: TitleKind, rest: &[&[u8]]) {
        let text = rest.join(&b';');
        self.window.titles.set(part, &String::from_utf8_lossy(&text));
        self.display.changed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{Query, Screen};

    fn screen(bytes: &str) -> Screen {
        let mut screen = Screen::new(8, 2);
        screen.feed(bytes.as_bytes());
        screen
    }

    #[test]
    fn titles_are_set_by_0_and_2_with_either_end() {
        assert_eq!(screen("\x1b]0;✳ Claude Code\x07").title(), "✳ Claude Code");
        assert_eq!(screen("\x1b]2;a;b;c\x1b\\").title(), "a;b;c");
        assert_eq!(screen("\x1b]0;a\x07\x1b]1;icon\x07").title(), "a");
        assert_eq!(screen("\x1b]0;a\x07\x1b]0;\x07").title(), "");
        assert_eq!(screen("\x1b]2\x07").title(), "");
    }

    #[test]
    fn links_and_the_clipboard_leave_only_the_text() {
        let screen = screen("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\\x1b]52;c;aGk=\x07!");
        assert_eq!(screen.lines()[0], "link!");
    }

    #[test]
    fn colour_queries_are_kept_with_their_end() {
        let mut screen = screen("\x1b]11;?\x07\x1b]10;?;?\x1b\\\x1b]12;red\x07");
        let color = |which, end| Query::Color { which, end };
        assert_eq!(
            screen.take_queries(),
            [
                color(DynamicColor::Background, StringEnd::Bell),
                color(DynamicColor::Foreground, StringEnd::Terminator),
                color(DynamicColor::Background, StringEnd::Terminator),
            ]
        );
    }
}
