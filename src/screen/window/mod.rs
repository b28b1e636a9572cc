//! What belongs to the window rather than to the text in it: titles, colours, pointer, progress,
//! notifications.

mod colors;
mod notifications;
mod pointer;
mod progress;
mod reports;
mod titles;
mod window_state;

pub use colors::ColorId;
pub use pointer::PointerStack;
pub use progress::Progress;
pub use reports::{ScreenReport, ShellMark};
pub use titles::TitleKind;
pub use window_state::WindowState;
