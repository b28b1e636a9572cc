//! What belongs to the window, in one piece: it outlives a full reset, but for the working directory.

use super::colors::TerminalColors;
use super::notifications::Notifications;
use super::progress::Progress;
use super::titles::Titles;

/// The window's state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowState {
    /// Title and saved titles.
    pub titles: Titles,
    /// The working directory (OSC 7); empty if it is not known.
    pub directory: String,
    /// The terminal's own colours, as far as the child changed them.
    pub colors: TerminalColors,
    /// The progress.
    pub progress: Progress,
    /// What the child wants a person to be told, and nobody has taken yet.
    pub notifications: Notifications,
}

impl WindowState {
    /// RIS: terminals keep the rest.
    pub fn reset(&mut self) {
        self.directory.clear();
    }
}
