//! What belongs to the window rather than to the text in it: titles, colours, pointer, progress, notifications.

mod colors;
mod extras;
mod notifications;
mod titles;

pub use colors::{ColorId, Colors};
pub use extras::{Extras, Pointer};
pub use notifications::Said;
pub use titles::{Part, Titles};
