//! The output of a run that is stopped for a restart is muted; some of its lines stay on the terminal above
//! the next run.

use super::{Child, ChildRun};
use crate::core::claude::screen_reading::ScreenPromptBox;
use crate::host::terminals::repaint_on_attach;
use crate::screen::Screen;
use crate::tty::raw::END_OF_ANYTHING;

impl Child {
    /// Claude's output while it exits would only clutter the screen of the next run. `shown`: the prompt box
    /// on the screen.
    pub fn mute(&mut self, shown: Option<&ScreenPromptBox>) {
        if let Some(run) = &mut self.run {
            run.mute(shown);
        }
    }
}

impl ChildRun {
    fn mute(&mut self, shown: Option<&ScreenPromptBox>) {
        let (undo, last, above) =
            (self.without_the_box(shown), self.last_lines(shown), self.left_above(shown));
        if self.muted.is_none() {
            self.above = above;
        }
        let ending = self.model.look(Screen::ending).unwrap_or(END_OF_ANYTHING);
        let undo = [ending, &undo, &self.model.undo_so_far(), &last].concat();
        self.muted.get_or_insert(undo);
    }

    /// Erases Claude's prompt box and everything below it on the primary screen, so that the next run starts
    /// there. The cursor moves are relative, because the program may have begun further down on the person's
    /// terminal than in the model.
    fn without_the_box(&mut self, shown: Option<&ScreenPromptBox>) -> Vec<u8> {
        let moves = self.model.look(|screen| {
            let cursor = usize::from(screen.cursor().row);
            match shown {
                _ if screen.alternate() => Vec::new(),
                Some(shown) => match cursor.saturating_sub(shown.rows.start.saturating_sub(1)) {
                    0 => b"\r\x1b[J".to_vec(),
                    up => format!("\x1b[{up}A\r\x1b[J").into_bytes(),
                },
                None => {
                    let last = screen.lines().iter().rposition(|line| !line.is_empty()).unwrap_or(0);
                    match last.saturating_sub(cursor) {
                        0 => b"\r\n".to_vec(),
                        down => format!("\x1b[{down}B\r\n").into_bytes(),
                    }
                }
            }
        });
        // Without a model: at least start on a new line.
        moves.unwrap_or_else(|| b"\r\n".to_vec())
    }

    /// Copies the text above the prompt box from the alternate screen to the primary one: terminals do not
    /// keep it in their history.
    fn last_lines(&mut self, shown: Option<&ScreenPromptBox>) -> Vec<u8> {
        self.above_the_box(shown, |screen, lines| if screen.alternate() { lines } else { Vec::new() })
            .unwrap_or_default()
    }

    /// [`Self::last_lines`] for the scrollback that a later client gets: it matches that of the terminals
    /// that saw the old run end.
    fn left_above(&mut self, shown: Option<&ScreenPromptBox>) -> Option<Vec<u8>> {
        self.above_the_box(shown, |screen, lines| {
            [repaint_on_attach::history(screen, usize::MAX).as_bytes(), &lines].concat()
        })
    }

    fn above_the_box(
        &mut self,
        shown: Option<&ScreenPromptBox>,
        of: impl FnOnce(&Screen, Vec<u8>) -> Vec<u8>,
    ) -> Option<Vec<u8>> {
        self.model.look(|screen| {
            let end = shown.map_or(usize::from(screen.size().1), |shown| shown.rows.start.saturating_sub(1));
            let lines = screen.lines();
            let above = &lines[..end.min(lines.len())];
            let rows = match (
                above.iter().position(|line| !line.is_empty()),
                above.iter().rposition(|line| !line.is_empty()),
            ) {
                (Some(first), Some(last)) => repaint_on_attach::rows(screen, first..last + 1),
                _ => Vec::new(),
            };
            of(screen, rows)
        })
    }
}
