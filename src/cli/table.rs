//! Tables for people: columns as wide as their cells, two spaces apart. Other readers get every cell, plain;
//! in a terminal a row is a line, and columns may have colours.

use std::fmt::Display;
use std::io::IsTerminal;

use unicode_width::UnicodeWidthStr;

use super::error::say;
use crate::core::text::column_fit::{ColumnNeed, ColumnRank, fit_columns};
use crate::core::text::ellipsis::{begin_of, end_of_path};
use crate::tty::{can_draw, raw, wants_colors};

/// The least width of a row's last cell, in columns; for less, another column is dropped.
pub(super) const LAST_CELL_LEAST: usize = 14;
/// The same when no other column can be dropped; below it the terminal wraps the row.
const LAST_CELL_CRAMPED: usize = 5;

/// SGR parameters.
pub(in crate::cli) const BOLD: u8 = 1;
pub(in crate::cli) const DIM: u8 = 2;
pub(in crate::cli) const GREEN: u8 = 32;
pub(in crate::cli) const CYAN: u8 = 36;

/// The properties of standard output.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TableStyle {
    /// Columns of the terminal; `None` if it is no terminal or does not know its size.
    pub cols: Option<usize>,
    /// Whether colours are wanted.
    pub colors: bool,
}

impl TableStyle {
    pub fn of_output() -> TableStyle {
        if !std::io::stdout().is_terminal() {
            return TableStyle::default();
        }
        let cols = raw::columns(std::io::stdout());
        TableStyle { cols, colors: can_draw() && wants_colors() }
    }
}

/// Wraps a text in an SGR sequence if colours are wanted.
pub(in crate::cli) fn paint(colors: bool, sgr: impl Display, text: &str) -> String {
    if colors && !text.is_empty() { format!("\x1b[{sgr}m{text}\x1b[m") } else { text.to_owned() }
}

/// Prints a table; in a terminal [`narrow`] makes it fit.
pub(super) fn print(mut rows: Vec<Vec<String>>, spare: &[&str]) -> std::io::Result<()> {
    if let Some(cols) = TableStyle::of_output().cols {
        narrow(&mut rows, cols, spare);
    }
    lines(&rows, |_, _| None).iter().try_for_each(|line| say(format_args!("{line}")))
}

/// The rows as lines; `color` returns the SGR number for a cell, by row and column.
pub(super) fn lines(
    rows: &[impl AsRef<[String]>],
    color: impl Fn(usize, usize) -> Option<u8>,
) -> Vec<String> {
    let widths = widths(rows);
    let line = |(at, row): (usize, &_)| {
        let cells =
            AsRef::<[String]>::as_ref(row).iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                let blanks = " ".repeat(width - cell.width());
                let number = color(at, column);
                paint(number.is_some(), number.unwrap_or(0), cell) + &blanks
            });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().enumerate().map(line).collect()
}

fn widths(rows: &[impl AsRef<[String]>]) -> Vec<usize> {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let width = |n: usize| {
        rows.iter().filter_map(|row| row.as_ref().get(n)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    (0..columns).map(width).collect()
}

/// Makes rows fit into `cols`: drops the columns with the headings `spare` in their order, and then cuts the
/// last column.
pub(super) fn narrow(rows: &mut [Vec<String>], cols: usize, spare: &[&str]) {
    let mut spare = spare.iter();
    loop {
        let widths = widths(rows);
        let Some((last, others)) = widths.split_last() else { return };
        let before: usize = others.iter().map(|width| width + 2).sum();
        if before + (*last).min(LAST_CELL_LEAST) <= cols {
            return shorten(rows, others.len(), cols - before);
        }
        let Some(heading) = spare.next() else {
            let room = cols.checked_sub(before).filter(|room| *room >= LAST_CELL_CRAMPED);
            return shorten(rows, others.len(), room.unwrap_or(LAST_CELL_LEAST));
        };
        if let Some(column) = rows.first().and_then(|row| row.iter().position(|cell| cell == heading)) {
            rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
}

/// Makes rows fit into `cols` as [`fit_columns`] does. `rule`: the rank of the column with this heading, and
/// the widest and narrowest width of one that may be cut.
pub(super) fn fit_ranked(
    rows: &mut [Vec<String>],
    cols: usize,
    rule: impl Fn(&str) -> (ColumnRank, Option<(usize, usize)>),
) {
    let Some(headings) = rows.first().cloned() else { return };
    let need = |(at, (heading, whole)): (usize, (&String, usize))| {
        let (rank, cut) = rule(heading);
        let need = match cut {
            Some((enough, least)) => ColumnNeed::text(whole, enough, least, rank),
            None => ColumnNeed::fixed(whole, rank),
        };
        ColumnNeed { is_blank: rows[1..].iter().all(|row| is_blank(heading, &row[at])), ..need }
    };
    let needs: Vec<ColumnNeed> = headings.iter().zip(widths(rows)).enumerate().map(need).collect();
    let fitted = fit_columns(&needs, cols);
    for row in rows.iter_mut() {
        let cells = std::mem::take(row).into_iter().zip(&fitted);
        *row = cells.filter_map(|(cell, width)| width.map(|_| cell)).collect();
    }
    for (at, width) in fitted.into_iter().flatten().enumerate() {
        shorten(rows, at, width);
    }
}

/// Whether a cell only says that there is nothing to say, such as the first run of a session.
fn is_blank(heading: &str, cell: &str) -> bool {
    matches!(cell, "-" | "0") || (heading, cell) == ("RUN", "1")
}

/// Cuts cells: a directory keeps its end, other text its beginning.
fn shorten(rows: &mut [Vec<String>], column: usize, room: usize) {
    let Some(heading) = rows.first_mut().and_then(|row| row.get_mut(column)) else { return };
    let part = if matches!(heading.as_str(), "DIRECTORY" | "PROJECT") { end_of_path } else { begin_of };
    *heading = begin_of(heading, room);
    rows.iter_mut().skip(1).filter_map(|row| row.get_mut(column)).for_each(|cell| *cell = part(cell, room));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[&[&str]]) -> Vec<Vec<String>> {
        text.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn column_widths_count_terminal_cells() {
        let table = rows(&[&["NAME", "N", "DIR"], &["漢字", "12", "/漢"], &["a", "-", "/a"]]);
        assert_eq!(lines(&table, |_, _| None), ["NAME  N   DIR", "漢字  12  /漢", "a     -   /a"]);
        assert_eq!(
            lines(&table, |row, column| ((row, column) == (2, 1)).then_some(32))[2],
            "a     \u{1b}[32m-\u{1b}[m   /a"
        );
    }

    #[test]
    fn what_is_too_wide_loses_spare_columns_and_then_the_begin_of_the_last() {
        let wide = rows(&[
            &["NAME", "RUN", "CLIENTS", "DIRECTORY"],
            &["proj", "1", "0", "/home/u/work/漢字/a-long-name"],
        ]);
        let fitted = |cols| {
            let mut table = wide.clone();
            narrow(&mut table, cols, &["RUN", "CLIENTS"]);
            lines(&table, |_, _| None).join("\n")
        };
        assert_eq!(fitted(80), lines(&wide, |_, _| None).join("\n"));
        assert_eq!(fitted(40), "NAME  RUN  CLIENTS  DIRECTORY\nproj  1    0        …/漢字/a-long-name");
        assert_eq!(fitted(34), "NAME  RUN  CLIENTS  DIRECTORY\nproj  1    0        …/a-long-name");
        assert_eq!(fitted(33), "NAME  CLIENTS  DIRECTORY\nproj  0        …/漢字/a-long-name");
        assert_eq!(fitted(22), "NAME  DIRECTORY\nproj  …/a-long-name");
        assert_eq!(fitted(20), "NAME  DIRECTORY\nproj  …/a-long-name");
        assert_eq!(fitted(11), "NAME  DIRE…\nproj  …name");
        assert_eq!(fitted(3), "NAME  DIRECTORY\nproj  …/a-long-name", "it is the terminal's to break then");
    }

    proptest::proptest! {
        #[test]
        fn a_row_is_never_wider_than_the_terminal_where_it_need_not_be(
            cells in proptest::collection::vec("[a-z漢字/]{0,40}", 1..8), cols in 46_usize..200,
        ) {
            let mut table = rows(&[&["NAME", "RUN", "DIRECTORY"]]);
            table.extend(cells.into_iter().map(|dir| vec!["a-name-of-this-width".to_owned(), "1".to_owned(),
                dir]));
            narrow(&mut table, cols, &["RUN"]);
            assert!(lines(&table, |_, _| None).iter().all(|line| line.width() <= cols));
        }
    }
}
