//! Where the next character goes and how it will look: the cursor with all that DECSC saves of it, margins,
//! tab stops, character sets, and the stack of pens. [`ActivePosition`] joins them with the size of the
//! screen; it knows no cells.

mod active_position;
mod charset;
mod cursor_state;
mod margins;
mod pen_stack;
mod shape;
mod tab_stops;

pub use active_position::ActivePosition;
pub use charset::Charsets;
pub use cursor_state::CursorState;
pub use margins::Margins;
pub use pen_stack::PenStack;
pub use shape::{Cursor, CursorShape};
pub use tab_stops::TabStops;
