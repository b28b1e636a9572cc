//! Where the next character goes: the cursor with all that DECSC saves of it, margins, tab stops, and the stack of pens.

mod margins;
mod pen_stack;
mod state;
mod tab_stops;

pub use margins::Region;
pub use pen_stack::Pens;
pub use state::{Caret, Charsets, Cursor, CursorShape};
pub use tab_stops::Tabs;
