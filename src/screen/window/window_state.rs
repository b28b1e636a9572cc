//! The state of the window: it survives a full reset, except for the working directory.

use super::clipboard_and_shell_marks::ProgramReports;
use super::colors::TerminalColors;
use super::notifications::Notifications;
use super::tab_progress::Progress;
use super::titles::Titles;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowState {
    /// Title and saved titles.
    pub titles: Titles,
    /// The working directory (OSC 7); empty if unknown.
    pub directory: String,
    /// The terminal's own colours, as far as the child changed them.
    pub colors: TerminalColors,
    pub progress: Progress,
    /// The child's pending notifications.
    pub notifications: Notifications,
    /// The program's reports that the picture does not show, if they are kept.
    pub reports: ProgramReports,
}

impl WindowState {
    /// RIS: terminals keep the rest.
    pub fn reset(&mut self) {
        self.directory.clear();
    }
}
