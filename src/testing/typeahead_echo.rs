//! Lines that were typed while a shell was busy. It shows them again after its next prompts, which is not an
//! answer, however late.
//!
//! A shell's marks (OSC 133) and the typed input show whether it is busy: until its first prompt, and from
//! each Enter to the next prompt. The terminal's modes do not show it: a shell changes them a moment after
//! reading a line.

use std::collections::VecDeque;

use crate::screen::{Screen, ScreenPlace};

/// The most lines that are remembered.
const LINES_MAX: usize = 100;
/// The shortest line that is searched for within a row: a shorter one may be in the prompt.
const INNER_MIN: usize = 4;

/// The position of a prompt.
#[derive(Clone, Copy, Debug)]
pub struct PromptLine {
    /// The number of its row among all lines, including those that have left the screen.
    line: u64,
    col: u16,
}

impl PromptLine {
    /// A prompt that will be drawn next.
    #[must_use]
    pub fn at_cursor(screen: &Screen) -> Self {
        let cursor = screen.cursor();
        PromptLine { line: screen.history_total() + u64::from(cursor.row), col: cursor.col }
    }
}

/// Lines that were typed ahead and not yet shown after a prompt.
#[derive(Debug, Default)]
pub struct TypeaheadEcho {
    /// Oldest first; the last one may be incomplete.
    lines: VecDeque<Vec<u8>>,
    /// The shell has shown a prompt, and Enter has not been typed since.
    is_shell_waiting: bool,
    /// The prompt after which the next line is expected.
    prompt: Option<PromptLine>,
}

impl TypeaheadEcho {
    /// Notes typed bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\r' | b'\n' if self.is_shell_waiting => self.is_shell_waiting = false,
                b'\r' | b'\n' => self.lines.push_back(Vec::new()),
                // It edits the line, or discards what was typed.
                byte if byte.is_ascii_control() => self.lines.clear(),
                _ if self.is_shell_waiting => {}
                byte => {
                    if self.lines.is_empty() {
                        self.lines.push_back(Vec::new());
                    }
                    self.lines.back_mut().into_iter().for_each(|line| line.push(*byte));
                }
            }
        }
        while self.lines.len() > LINES_MAX {
            self.lines.pop_front();
        }
    }

    /// Whether a prompt may show such a line.
    pub fn is_any(&self) -> bool {
        self.lines.iter().any(|line| !line.is_empty())
    }

    /// The shell draws its prompt next.
    pub fn begin_prompt(&mut self, prompt: PromptLine) {
        self.is_shell_waiting = !self.is_any();
        self.prompt = self.is_any().then_some(prompt);
        if self.is_shell_waiting {
            self.lines.clear();
        }
    }

    /// The shell runs a command.
    pub fn begin_command(&mut self) {
        self.is_shell_waiting = false;
    }

    /// The place of a line that was typed ahead, or of its start, after the prompt.
    pub fn find_at_prompt(&mut self, screen: &Screen) -> Option<Vec<ScreenPlace>> {
        let prompt = self.prompt?;
        let above = prompt.line.checked_sub(screen.history_total());
        let Some(first) = above.and_then(|row| u16::try_from(row).ok()).filter(|row| *row < screen.size().1)
        else {
            self.prompt = None;
            return None;
        };
        let mut text = String::new();
        let mut rows = Vec::new();
        for row in first..screen.size().1 {
            let from = if row == first { prompt.col } else { 0 };
            let part = screen.row_text(row).part(from..u16::MAX);
            rows.push((text.len(), row, part));
            text.push_str(rows.last().map_or("", |(.., part)| part.text()));
            if !screen.row_wrapped(row) {
                break;
            }
        }
        let is_over = screen.cursor().row > rows.last().map_or(first, |(_, row, _)| *row);
        let (number, from, length, is_whole) = self.find_in(&text).or_else(|| {
            if is_over {
                // A program has read them.
                self.lines.clear();
                self.prompt = None;
            }
            None
        })?;
        if is_whole {
            self.lines.drain(..=number);
            // Later input is typed at this prompt, unless its Enter was typed ahead as well.
            self.is_shell_waiting = self.lines.is_empty();
            self.prompt = None;
        }
        let to = from + length;
        let places = rows.iter().filter_map(|(start, row, part)| {
            let end = start + part.text().len();
            let (from, to) = (from.max(*start), to.min(end));
            (from < to).then(|| ScreenPlace { row: *row, cols: part.cols(from - start..to - start) })
        });
        Some(places.collect())
    }

    /// Which of the lines is in the text of the prompt's row, where it starts, how much of it is there, and
    /// whether that is all.
    fn find_in(&self, text: &str) -> Option<(usize, usize, usize, bool)> {
        let lines = || {
            let lines = self.lines.iter().enumerate();
            lines.filter_map(|(number, line)| Some((number, std::str::from_utf8(line).ok()?.trim_end())))
        };
        let whole = lines().filter(|(_, line)| !line.is_empty()).find_map(|(number, line)| {
            let at_end = text.len().checked_sub(line.len()).filter(|_| text.ends_with(line));
            let inner = || text.find(line).filter(|_| line.len() >= INNER_MIN);
            Some((number, at_end.or_else(inner)?, line.len(), true))
        });
        whole.or_else(|| {
            // So far only its start may have been drawn.
            let (number, line) = lines().find(|(_, line)| !line.is_empty())?;
            let length = (1..line.len())
                .rev()
                .find(|length| line.is_char_boundary(*length) && text.ends_with(&line[..*length]))?;
            Some((number, text.len() - length, length, false))
        })
    }
}
