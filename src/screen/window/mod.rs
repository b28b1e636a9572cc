//! What belongs to the window rather than to the text in it: titles, colours, pointer, progress,
//! notifications.

mod clipboard_and_shell_marks;
mod colors;
mod notifications;
mod pointer;
mod tab_progress;
mod titles;
mod window_state;

pub use clipboard_and_shell_marks::{ScreenReport, ShellMark};
pub use colors::ColorId;
pub use pointer::PointerStack;
pub use tab_progress::Progress;
pub use titles::TitleKind;
pub use window_state::WindowState;
