//! Storage: cells in rows, rows in a grid, lines of the scrollback, and their styles.

mod area;
mod cell;
mod cell_grid;
mod columns;
mod combining;
mod history;
mod history_line;
mod hyperlinks;
mod packed_style;
mod reflow;
mod row;
mod row_text;
mod runs;
mod style;
mod width;

pub use area::Area;
pub use cell::GridCell;
pub use cell_grid::{Grid, RowOrigins};
pub use history::History;
pub use history_line::{HistoryLine, LineBuilder, LineEnd};
pub use hyperlinks::{CLOSING, Hyperlink, Hyperlinks, PARTS_MAX, printable};
pub use packed_style::PackedStyle;
pub use reflow::{LineCutter, LinePosition};
pub use row::GridRow;
pub use row_text::RowText;
pub use runs::StyledRun;
pub use style::{Attr, Color, Style, Underline};
pub use width::width;
