//! Lines that were typed while a shell was busy. It shows them once more behind its next prompts, which is no
//! answer, however late that comes.
//!
//! Whether a shell is busy is told by its marks (OSC 133) and by what was typed: until its first prompt, and
//! from each Enter to the next prompt. The modes of the terminal do not tell: a shell that has read a line
//! changes them a moment later.

use std::collections::VecDeque;

use crate::screen::{Screen, ScreenPlace};

/// The most lines that are remembered.
const LINES_MAX: usize = 100;
/// The shortest line that is looked for within a row: a shorter one may be in the prompt.
const INNER_MIN: usize = 4;

/// Where a prompt begins.
#[derive(Clone, Copy, Debug)]
pub struct PromptLine {
    /// The number of its row among all lines, those that have left the screen included.
    line: u64,
    col: u16,
}

impl PromptLine {
    /// A prompt that is drawn next.
    #[must_use]
    pub fn at_cursor(screen: &Screen) -> Self {
        let cursor = screen.cursor();
        PromptLine { line: screen.history_total() + u64::from(cursor.row), col: cursor.col }
    }
}

/// What was typed ahead and not shown by a prompt so far.
#[derive(Debug, Default)]
pub struct TypedAhead {
    /// The oldest first; the last one may go on.
    lines: VecDeque<Vec<u8>>,
    /// The shell has shown a prompt, and no Enter was typed since.
    is_shell_waiting: bool,
    /// The prompt behind which the next line is looked for.
    prompt: Option<PromptLine>,
}

impl TypedAhead {
    /// These bytes are typed.
    pub fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\r' | b'\n' if self.is_shell_waiting => self.is_shell_waiting = false,
                b'\r' | b'\n' => self.lines.push_back(Vec::new()),
                // It edits the line, or drops what was typed.
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

    /// Whether a prompt may show something.
    pub fn is_any(&self) -> bool {
        self.lines.iter().any(|line| !line.is_empty())
    }

    /// A shell draws its prompt next.
    pub fn begin_prompt(&mut self, prompt: PromptLine) {
        self.is_shell_waiting = !self.is_any();
        self.prompt = self.is_any().then_some(prompt);
        if self.is_shell_waiting {
            self.lines.clear();
        }
    }

    /// A command runs.
    pub fn begin_command(&mut self) {
        self.is_shell_waiting = false;
    }

    /// Where a line that was typed ahead, or its begin, stands behind the prompt.
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
            // What is typed from now on is typed at this prompt, unless its Enter was typed ahead as well.
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

    /// Which of the lines stands in the text of the prompt's row, from where, how much of it, and whether
    /// that is all.
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
            // Its begin may be all that was drawn so far.
            let (number, line) = lines().find(|(_, line)| !line.is_empty())?;
            let length = (1..line.len())
                .rev()
                .find(|length| line.is_char_boundary(*length) && text.ends_with(&line[..*length]))?;
            Some((number, text.len() - length, length, false))
        })
    }
}
