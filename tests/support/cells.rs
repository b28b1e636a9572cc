//! The size of another emulator.

use alacritty_terminal::grid::Dimensions;

/// Columns and rows.
#[derive(Clone, Copy, Debug)]
pub struct Cells(pub u16, pub u16);

impl Dimensions for Cells {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        usize::from(self.1)
    }

    fn columns(&self) -> usize {
        usize::from(self.0)
    }
}
