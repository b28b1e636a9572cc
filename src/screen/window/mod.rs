//! What belongs to the window rather than to the text in it: titles, colours, pointer, progress,
//! notifications.

mod colors;
mod notifications;
mod pointer;
mod reports;
mod tab_progress;
mod titles;
mod window_state;

pub use colors::ColorId;
pub use pointer::PointerStack;
pub use reports::{ScreenReport, ShellMark};
pub use tab_progress::Progress;
pub use titles::TitleKind;
pub use window_state::WindowState;
