//! Draws the conversation, and below it the block that changes (box, footer, dialogs).
//!
//! There are two renderers, as in the real program. Inline: finished rows scroll away, and the block is
//! redrawn with relative moves. Fullscreen: the alternate screen with absolute positions, the block at the
//! bottom, and mouse reports. The bytes that switch modes at the start and the end are those measured on
//! 2.1.329.

use std::collections::VecDeque;

/// How many lines of the conversation are kept for redrawing.
const MAX_LINES: usize = 5000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renderer {
    /// On the primary screen.
    Inline,
    /// On the alternate screen (`CLAUDE_CODE_NO_FLICKER=1`).
    Fullscreen,
}

/// The block below the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// Its rows, none wider than the screen.
    pub(super) rows: Vec<String>,
    /// The row in which the cursor rests.
    pub(super) cursor: usize,
}

/// The screen, and the bytes that are still to be written to it.
pub(super) struct AgentScreen {
    renderer: Renderer,
    cols: usize,
    rows: usize,
    lines: VecDeque<String>,
    /// Rows that are not drawn yet (inline).
    fresh: Vec<String>,
    /// The block on the screen (inline), or the whole frame (fullscreen).
    drawn: Block,
    out: Vec<u8>,
}

impl AgentScreen {
    pub(super) fn new(renderer: Renderer, (cols, rows): (usize, usize)) -> AgentScreen {
        AgentScreen {
            renderer,
            cols,
            rows,
            lines: VecDeque::new(),
            fresh: Vec::new(),
            drawn: Block::default(),
            out: Vec::new(),
        }
    }

    pub(super) fn cols(&self) -> usize {
        self.cols
    }

    /// Takes the bytes to write.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Sets the modes that a start-up dialog needs.
    pub(super) fn begin(&mut self) {
        self.put("\x1b7\x1b[r\x1b8\x1b[?25h");
        if self.renderer == Renderer::Inline {
            self.put("\x1b[?25l");
        }
        self.put("\x1b[?2004h\x1b[?2031h\x1b[?1004h");
    }

    /// Switches to the alternate screen and enables the mouse, if fullscreen.
    pub(super) fn enter(&mut self) {
        if self.renderer == Renderer::Fullscreen {
            self.put("\x1b[?1049h\x1b[2J\x1b[H\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[?25l");
        }
    }

    /// Queries the terminal's identity; nothing waits for the answer.
    pub(super) fn ask(&mut self) {
        self.put("\x1b[>0q\x1b[?u\x1b]7501;?\x07\x1b[c");
    }

    /// The terminal supports the kitty keyboard protocol: enables it (flags 5, measured).
    pub(super) fn use_kitty(&mut self) {
        self.put("\x1b[<u\x1b[>5u\x1b[>4;2m");
    }

    /// Sets the window title.
    pub(super) fn title(&mut self, title: &str) {
        self.put(&format!("\x1b]0;{title}\x07"));
    }

    /// Resets everything, as a clean exit does.
    pub(super) fn end(&mut self) {
        const UNDO: &str = "\x1b(B\x0f\x1b[?1016l\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?7h\x1b[?25h\x1b7\x1b[r\x1b8";
        self.put("\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l");
        if self.renderer == Renderer::Fullscreen {
            self.put("\x1b[?25h\x1b[?1004l\x1b[<u\x1b[?1049l\x1b[>4m\x1b[>4m\x1b[<u\x1b[?2031l\x1b[?2004l");
            self.put(UNDO);
            self.put("\x1b[?25h");
        } else {
            self.below();
        }
        self.put("\x1b[?1004l\x1b[>4m\x1b[<u\x1b[?2031l\x1b[?2004l");
        self.put(UNDO);
        self.put("\x1b]0;\x07");
        self.drawn = Block::default();
    }

    /// Resets modes for a stop (Ctrl+Z).
    pub(super) fn suspend(&mut self) {
        if self.renderer == Renderer::Fullscreen {
            self.put("\x1b[?1049l");
        } else {
            self.below();
        }
        self.put("\x1b[?25h\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1004l\x1b[>4m\x1b[<u\x1b[?2031l\x1b[?2004l");
        self.put(
            "\r\nClaude Code is suspended. Run `fg` to bring it back.\r\nTo undo typing, press ctrl+_.\r\n",
        );
        self.drawn = Block::default();
    }

    /// Sets modes again after a stop; the next draw draws everything.
    pub(super) fn resume(&mut self, size: (usize, usize)) {
        (self.cols, self.rows) = size;
        self.put("\x1b[?2004h\x1b[?2031h\x1b[?1004h\x1b[?25l");
        self.enter();
        self.repaint();
    }

    /// Takes another size, and redraws everything.
    pub(super) fn resized(&mut self, size: (usize, usize)) {
        (self.cols, self.rows) = size;
        if self.renderer == Renderer::Fullscreen {
            self.put("\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[2J");
        } else {
            self.put("\x1b[H\x1b[J");
        }
        self.repaint();
    }

    fn repaint(&mut self) {
        let skip = self.lines.len().saturating_sub(self.rows);
        self.fresh = self.lines.iter().skip(skip).cloned().collect();
        self.drawn = Block::default();
    }

    /// Adds finished rows of the conversation.
    pub(super) fn print(&mut self, rows: Vec<String>) {
        self.lines.extend(rows.iter().cloned());
        let over = self.lines.len().saturating_sub(MAX_LINES);
        self.lines.drain(..over);
        self.fresh.extend(rows);
    }

    /// Forgets the conversation (`/clear`).
    pub(super) fn clear(&mut self) {
        self.lines.clear();
        self.fresh.clear();
    }

    /// Draws what changed.
    pub(super) fn draw(&mut self, mut block: Block) {
        // A block that is taller than the screen cannot be redrawn in place: its top is left out.
        let over = block.rows.len().saturating_sub(self.rows.saturating_sub(1).max(1));
        block.rows.drain(..over);
        block.cursor = block.cursor.saturating_sub(over);
        match self.renderer {
            Renderer::Inline => self.draw_inline(block),
            Renderer::Fullscreen => self.draw_frame(&block),
        }
    }

    fn draw_inline(&mut self, block: Block) {
        if self.fresh.is_empty() && block == self.drawn {
            return;
        }
        let mut text = String::from("\r");
        if self.drawn.cursor > 0 {
            text.push_str(&format!("\x1b[{}A", self.drawn.cursor));
        }
        text.push_str("\x1b[J");
        for line in self.fresh.drain(..) {
            text.push_str(&line);
            text.push_str("\r\n");
        }
        text.push_str(&block.rows.join("\r\n"));
        let up = block.rows.len().saturating_sub(1 + block.cursor);
        if up > 0 {
            text.push_str(&format!("\x1b[{up}A"));
        }
        text.push_str("\r\x1b[2C");
        self.put(&text);
        self.drawn = block;
    }

    fn draw_frame(&mut self, block: &Block) {
        self.fresh.clear();
        let room = self.rows.saturating_sub(block.rows.len());
        let mut frame: Vec<String> =
            self.lines.iter().skip(self.lines.len().saturating_sub(room)).cloned().collect();
        frame.resize(room, String::new());
        frame.extend(block.rows.iter().cloned());
        let frame = Block { rows: frame, cursor: room + block.cursor };
        let mut text = String::new();
        for (n, row) in frame.rows.iter().enumerate() {
            if self.drawn.rows.get(n) != Some(row) {
                // Erased first: after a full row the cursor is still on its last column.
                text.push_str(&format!("\x1b[{};1H\x1b[2K{row}", n + 1));
            }
        }
        if !text.is_empty() || frame.cursor != self.drawn.cursor {
            text.push_str(&format!("\x1b[{};3H", frame.cursor + 1));
            self.put(&text);
        }
        self.drawn = frame;
    }

    /// Inline: moves the cursor to the start of the row below the block.
    fn below(&mut self) {
        let down = self.drawn.rows.len().saturating_sub(1 + self.drawn.cursor);
        let text = if down > 0 { format!("\x1b[{down}B\r") } else { "\r".to_owned() };
        self.put(&text);
        if !self.drawn.rows.is_empty() {
            self.put("\r\n");
        }
    }

    pub(super) fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(rows: &[&str], cursor: usize) -> Block {
        Block { rows: rows.iter().map(|r| (*r).to_owned()).collect(), cursor }
    }

    fn text(screen: &mut AgentScreen) -> String {
        String::from_utf8(screen.take()).unwrap()
    }

    #[test]
    fn inline_redraws_the_block_in_place() {
        let mut screen = AgentScreen::new(Renderer::Inline, (80, 24));
        screen.print(vec!["hello".into()]);
        screen.draw(block(&["--", "box", "--"], 1));
        assert_eq!(text(&mut screen), "\r\x1b[Jhello\r\n--\r\nbox\r\n--\x1b[1A\r\x1b[2C");
        screen.draw(block(&["--", "box", "--"], 1));
        assert_eq!(text(&mut screen), "");
        screen.draw(block(&["--", "box2", "--"], 1));
        assert_eq!(text(&mut screen), "\r\x1b[1A\x1b[J--\r\nbox2\r\n--\x1b[1A\r\x1b[2C");
    }

    #[test]
    fn fullscreen_draws_only_changed_rows_and_restores_the_terminal() {
        let mut screen = AgentScreen::new(Renderer::Fullscreen, (80, 3));
        screen.begin();
        screen.enter();
        assert!(text(&mut screen).contains("\x1b[?1049h"));
        screen.draw(block(&["a", "b"], 0));
        text(&mut screen);
        screen.draw(block(&["a", "c"], 0));
        assert_eq!(text(&mut screen), "\x1b[3;1H\x1b[2Kc\x1b[2;3H");
        screen.end();
        let end = text(&mut screen);
        for mode in ["1049", "1000", "1002", "1003", "1006", "1004", "2004", "2031"] {
            assert!(end.contains(&format!("\x1b[?{mode}l")), "{mode}");
        }
    }

    #[test]
    fn a_block_taller_than_the_screen_loses_its_top() {
        let mut screen = AgentScreen::new(Renderer::Inline, (80, 3));
        screen.draw(block(&["1", "2", "3", "4"], 3));
        assert_eq!(text(&mut screen), "\r\x1b[J3\r\n4\r\x1b[2C");
    }
}
