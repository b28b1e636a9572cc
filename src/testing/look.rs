//! Searches a terminal under test: for text or a pattern in an area, for the frame around a title, and for
//! the row most similar to a text that was not found.
//!
//! Rows and columns are 0-based here and 1-based in messages and tapes.

use std::fmt;
use std::ops::Range;

use regex::Regex;

use crate::screen::{RowText, Screen, ScreenPlace};

/// The most characters of a row in a message.
const SHOWN_MAX: usize = 120;

#[derive(Clone, Debug)]
pub enum TextPattern {
    /// This text. If it has several lines, they must be in consecutive rows, each at the end of its row
    /// except the last, and at the start except the first.
    Text(String),
    /// A match of this pattern, which the caller has compiled so that `^` and `$` match at each line. If its
    /// source contains `\n`, it may match across rows.
    Regex(Regex),
}

impl TextPattern {
    fn spans_rows(&self) -> bool {
        match self {
            TextPattern::Text(text) => text.contains('\n'),
            TextPattern::Regex(regex) => regex.as_str().contains("\\n") || regex.as_str().contains('\n'),
        }
    }

    /// Whether it matches in this row.
    pub(super) fn is_in(&self, row: &str) -> bool {
        !self.matches(row).is_empty()
    }

    /// Where it matches in `text`, in bytes, from the left and without overlaps.
    fn matches(&self, text: &str) -> Vec<Range<usize>> {
        match self {
            TextPattern::Text(wanted) if wanted.is_empty() => Vec::new(),
            TextPattern::Text(wanted) => {
                let found = text.match_indices(wanted.as_str()).map(|(at, _)| at..at + wanted.len());
                // Blanks at the end of a row cannot be distinguished from empty cells.
                let cut = wanted.trim_end_matches(' ');
                let at_end = cut.len() < wanted.len() && !cut.is_empty() && text.ends_with(cut);
                found.chain(at_end.then(|| text.len() - cut.len()..text.len())).collect()
            }
            TextPattern::Regex(regex) => regex.find_iter(text).map(|found| found.range()).collect(),
        }
    }

    /// The characters that a match must contain, as far as they can be found without parsing the pattern.
    fn literal(&self) -> String {
        match self {
            TextPattern::Text(text) => text.clone(),
            TextPattern::Regex(regex) => {
                let mut literal = String::new();
                let mut chars = regex.as_str().chars();
                while let Some(ch) = chars.next() {
                    match ch {
                        '\\' => literal.extend(chars.next().filter(|next| !next.is_alphanumeric())),
                        '^' | '$' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' => {}
                        ch => literal.push(ch),
                    }
                }
                literal
            }
        }
    }
}

impl fmt::Display for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextPattern::Text(text) => write!(f, "{text:?}"),
            TextPattern::Regex(regex) => write!(f, "/{}/", regex.as_str()),
        }
    }
}

/// A rectangle of the visible screen, 0-based.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellRegion {
    pub row: u16,
    pub col: u16,
    pub rows: u16,
    pub cols: u16,
}

impl CellRegion {
    pub fn row_range(&self) -> Range<u16> {
        self.row..self.row.saturating_add(self.rows)
    }

    pub fn col_range(&self) -> Range<u16> {
        self.col..self.col.saturating_add(self.cols)
    }

    /// Whether a cell is in it.
    pub fn contains(&self, row: u16, col: u16) -> bool {
        self.row_range().contains(&row) && self.col_range().contains(&col)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenArea {
    /// All rows of the visible screen.
    All,
    /// The row of the cursor.
    Line,
    /// One row of the visible screen.
    Row(u16),
    /// A rectangle of the visible screen.
    Region(CellRegion),
    /// The lines above the visible screen, and its rows.
    History,
    Title,
    /// The last text that the program put on the clipboard.
    Clipboard,
}

impl ScreenArea {
    /// Whether it is a part of the screen that stays where it is when text moves.
    pub fn is_place(&self) -> bool {
        matches!(self, ScreenArea::Row(_) | ScreenArea::Line | ScreenArea::Region(_))
    }

    /// Whether it is part of the visible screen.
    pub fn is_on_screen(&self) -> bool {
        !matches!(self, ScreenArea::History | ScreenArea::Title | ScreenArea::Clipboard)
    }
}

impl fmt::Display for ScreenArea {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScreenArea::All => f.write_str("on the screen"),
            ScreenArea::Line => f.write_str("on the cursor's row"),
            ScreenArea::Row(row) => write!(f, "on row {}", row + 1),
            ScreenArea::Region(region) => write!(
                f,
                "in the region of {}x{} at row {}, column {}",
                region.rows,
                region.cols,
                region.row + 1,
                region.col + 1
            ),
            ScreenArea::History => f.write_str("on the screen or above it"),
            ScreenArea::Title => f.write_str("in the title"),
            ScreenArea::Clipboard => f.write_str("in the clipboard"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Look {
    pub pattern: TextPattern,
    pub area: ScreenArea,
    /// The exact number of matches; `None`: at least one.
    pub times: Option<usize>,
    /// The area is one text of rows joined by line feeds, including blank ones at the end: `^` and `$` mean
    /// what the pattern was compiled for. This is how VHS's `Wait` searches.
    pub joined: bool,
}

impl Look {
    /// A search of the whole visible screen.
    #[must_use]
    pub fn on_screen(pattern: TextPattern) -> Self {
        Look { pattern, area: ScreenArea::All, times: None, joined: false }
    }

    /// The same search in another area.
    #[must_use]
    pub fn within(self, area: ScreenArea) -> Self {
        Look { area, ..self }
    }
}

/// The place of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundPlace {
    /// Cells of the visible screen, one place per row. Empty if the match is empty.
    Cells(Vec<ScreenPlace>),
    /// A line that has left the screen, by its number among all lines.
    HistoryLine(u64),
    Title,
    Clipboard,
}

impl FoundPlace {
    /// The first row of the visible screen that it covers.
    pub fn row(&self) -> Option<u16> {
        match self {
            FoundPlace::Cells(places) => places.first().map(|place| place.row),
            _ => None,
        }
    }
}

impl fmt::Display for FoundPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.row()) {
            (FoundPlace::Cells(_), Some(row)) => write!(f, "on row {}", row + 1),
            (FoundPlace::Cells(_), None) => f.write_str("on the screen"),
            (FoundPlace::HistoryLine(_), _) => f.write_str("above the screen"),
            (FoundPlace::Title, _) => f.write_str("in the title"),
            (FoundPlace::Clipboard, _) => f.write_str("in the clipboard"),
        }
    }
}

/// Rows that are searched together: their text, joined by line feeds or not, and the start of each row in it.
struct RowBlock {
    text: String,
    rows: Vec<(usize, u16, RowText)>,
}

impl RowBlock {
    fn new() -> Self {
        RowBlock { text: String::new(), rows: Vec::new() }
    }

    fn push(&mut self, number: u16, row: RowText, separator: &str) {
        if let Some((_, _, above)) = self.rows.last() {
            let blanks = if separator.is_empty() { above.blanks() } else { 0 };
            self.text.extend(std::iter::repeat_n(' ', blanks));
            self.text.push_str(separator);
        }
        self.rows.push((self.text.len(), number, row));
        if let Some((_, _, row)) = self.rows.last() {
            self.text.push_str(row.text());
        }
    }

    /// The cells of a match.
    fn places(&self, found: &Range<usize>) -> Vec<ScreenPlace> {
        let mut places = Vec::new();
        for (start, number, row) in &self.rows {
            let from = found.start.max(*start);
            let to = found.end.min(start + row.text().len());
            if from < to {
                places.push(ScreenPlace { row: *number, cols: row.cols(from - start..to - start) });
            }
        }
        places
    }

    /// The index of the row that contains a byte.
    fn row_at(&self, byte: usize) -> usize {
        self.rows.partition_point(|(start, ..)| *start <= byte).saturating_sub(1)
    }
}

/// What can be searched: the screen, and the text that the program last put on the clipboard.
///
/// Rows are those of the viewport. If that is scrolled back, rows of the screen are further down or below it.
#[derive(Clone, Copy, Debug)]
pub struct LookSubject<'a> {
    pub screen: &'a Screen,
    /// The content of the viewport while it is scrolled back, and by how many lines it is.
    pub scrolled: Option<(&'a Screen, u16)>,
    pub clipboard: Option<&'a str>,
}

impl LookSubject<'_> {
    /// All matches of `look`, from the top.
    pub fn find(&self, look: &Look) -> Vec<FoundPlace> {
        match look.area {
            ScreenArea::Title => {
                let found = look.pattern.matches(self.screen.title());
                found.iter().map(|_| FoundPlace::Title).collect()
            }
            ScreenArea::Clipboard => {
                let found = look.pattern.matches(self.clipboard.unwrap_or_default());
                found.iter().map(|_| FoundPlace::Clipboard).collect()
            }
            ScreenArea::History => {
                let mut found = self.find_above(&look.pattern);
                found.extend(self.find_in_rows(look));
                found
            }
            _ => self.find_in_rows(look),
        }
    }

    /// Searches line by line. A match that spans the top of the screen is not found.
    fn find_above(&self, pattern: &TextPattern) -> Vec<FoundPlace> {
        let kept = self.screen.history_len();
        let first = self.screen.history_total().saturating_sub(kept as u64);
        let mut found = Vec::new();
        for line in 0..kept {
            let runs = self.screen.history_row_runs(line);
            let text: String = runs.iter().map(|run| run.text.as_str()).collect();
            let number = first + line as u64;
            let matches = pattern.matches(text.trim_end_matches(' '));
            found.extend(matches.iter().map(|_| FoundPlace::HistoryLine(number)));
        }
        found
    }

    /// The screen that is searched for an area, and the viewport row of its first row.
    fn screen_for(&self, area: ScreenArea) -> (&Screen, u16) {
        match (self.scrolled, area) {
            (None, _) => (self.screen, 0),
            // What the program shows now, wherever the viewport is.
            (Some((_, lines)), ScreenArea::Line | ScreenArea::History) => (self.screen, lines),
            (Some((view, _)), _) => (view, 0),
        }
    }

    /// The rows of an area, cut to its columns.
    fn rows(&self, area: ScreenArea) -> impl Iterator<Item = (u16, RowText)> {
        let (screen, first) = self.screen_for(area);
        self.rows_with(area, move |row| screen.row_text(row - first))
    }

    /// The rows of an area, cut to its columns, with the text that `row_text` has for a row of the viewport.
    fn rows_with(
        &self,
        area: ScreenArea,
        row_text: impl Fn(u16) -> RowText,
    ) -> impl Iterator<Item = (u16, RowText)> {
        let (screen, first) = self.screen_for(area);
        let height = screen.size().1;
        let (rows, cols) = match area {
            ScreenArea::Line => {
                let row = screen.cursor().row;
                (row..row + 1, 0..u16::MAX)
            }
            ScreenArea::Row(row) => (row..row.saturating_add(1), 0..u16::MAX),
            ScreenArea::Region(region) => (region.row_range(), region.col_range()),
            _ => (0..height, 0..u16::MAX),
        };
        let rows = rows.start.min(height)..rows.end.min(height);
        rows.map(move |row| {
            let text = row_text(first + row);
            (first + row, if cols == (0..u16::MAX) { text } else { text.part(cols.clone()) })
        })
    }

    fn find_in_rows(&self, look: &Look) -> Vec<FoundPlace> {
        self.find_in(look, self.rows(look.area))
    }

    /// All matches on the screen if its rows had the text that `row_text` has for a row of the viewport.
    pub(super) fn find_in_texts(&self, look: &Look, row_text: impl Fn(u16) -> RowText) -> Vec<FoundPlace> {
        self.find_in(look, self.rows_with(look.area, row_text))
    }

    fn find_in(&self, look: &Look, rows: impl Iterator<Item = (u16, RowText)>) -> Vec<FoundPlace> {
        if look.joined || look.pattern.spans_rows() {
            let mut block = RowBlock::new();
            rows.for_each(|(number, row)| block.push(number, row, "\n"));
            let matches = look.pattern.matches(&block.text);
            return matches.iter().map(|found| FoundPlace::Cells(block.places(found))).collect();
        }
        let mut found = Vec::new();
        let mut lines = RowBlock::new();
        let (screen, first) = self.screen_for(look.area);
        for (number, row) in rows {
            for bytes in look.pattern.matches(row.text()) {
                let cols = row.cols(bytes);
                let places =
                    if cols.is_empty() { Vec::new() } else { vec![ScreenPlace { row: number, cols }] };
                found.push(FoundPlace::Cells(places));
            }
            // A line that wraps at the right edge is one line for the program and for people.
            let joins_wrapped = look.area == ScreenArea::All || look.area == ScreenArea::History;
            let wrapped = joins_wrapped && screen.row_wrapped(number - first);
            if wrapped || !lines.rows.is_empty() {
                lines.push(number, row, "");
            }
            if !wrapped && !lines.rows.is_empty() {
                found.extend(over_edges(&look.pattern, &std::mem::replace(&mut lines, RowBlock::new())));
            }
        }
        found.extend(over_edges(&look.pattern, &lines));
        found.sort_by_key(FoundPlace::row);
        found
    }

    /// The row of an area most similar to the pattern, and its number, for a message; `None` if no row is
    /// similar.
    pub fn nearest_row(&self, look: &Look) -> Option<NearestRow> {
        let wanted = look.pattern.literal();
        let area = match look.area {
            ScreenArea::Title | ScreenArea::Clipboard => return None,
            area => area,
        };
        let best = self
            .rows(area)
            .map(|(number, row)| (likeness(row.text(), &wanted), number, row))
            .filter(|(likeness, ..)| *likeness >= least_likeness(&wanted))
            .max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))?;
        let (_, row, text) = best;
        let cols = text.cols(0..text.text().len());
        Some(NearestRow { place: ScreenPlace { row, cols }, text: cut_for_message(text.text()) })
    }
}

/// The matches in a wrapped line that span several rows.
fn over_edges(pattern: &TextPattern, line: &RowBlock) -> Vec<FoundPlace> {
    if line.rows.len() < 2 {
        return Vec::new();
    }
    let crosses =
        |found: &Range<usize>| !found.is_empty() && line.row_at(found.start) != line.row_at(found.end - 1);
    let matches = pattern.matches(&line.text);
    matches.iter().filter(|found| crosses(found)).map(|found| FoundPlace::Cells(line.places(found))).collect()
}

/// The row most similar to the pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearestRow {
    pub place: ScreenPlace,
    /// Its text, cut to 120 characters.
    pub text: String,
}

/// The line of a text that is most similar to the pattern, cut to 120 characters.
pub(super) fn nearest_line(pattern: &TextPattern, text: &str) -> Option<String> {
    let wanted = pattern.literal();
    let lines = text.lines().map(|line| (likeness(line, &wanted), line));
    let similar = lines.filter(|(likeness, _)| *likeness >= least_likeness(&wanted));
    similar.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, line)| cut_for_message(line))
}

/// How similar a row must be: any row contains half of the characters of a short text.
fn least_likeness(wanted: &str) -> f64 {
    if wanted.chars().count() < 6 { 0.6 } else { 0.4 }
}

/// How similar a part of `row` is to `wanted`: 1 = equal, 0 = not at all.
fn likeness(row: &str, wanted: &str) -> f64 {
    let row: Vec<char> = row.chars().take(1000).collect();
    let wanted: String = wanted.chars().take(SHOWN_MAX).collect();
    let length = wanted.chars().count();
    if row.is_empty() || length == 0 {
        return 0.0;
    }
    // A part that starts at the start of a word.
    let is_start = |at: usize| at == 0 || (!row[at - 1].is_alphanumeric() && row[at].is_alphanumeric());
    (0..row.len())
        .filter(|at| is_start(*at))
        .map(|at| {
            let part: String = row[at..row.len().min(at + length)].iter().collect();
            strsim::normalized_damerau_levenshtein(&part, &wanted)
        })
        .fold(0.0, f64::max)
}

/// Text for a message, cut if it is long.
pub(super) fn cut_for_message(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A frame drawn on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnFrame {
    /// Including its lines.
    pub outside: CellRegion,
    /// The area inside its lines.
    pub inside: CellRegion,
}

const TOP_LEFT: &str = "┌╭┏╔╒╓+";
const TOP_RIGHT: &str = "┐╮┓╗╕╖+";
const BOTTOM_LEFT: &str = "└╰┗╚╘╙+";
const BOTTOM_RIGHT: &str = "┘╯┛╝╛╜+";
/// Vertical lines, including those that meet others.
const SIDES: &str = "│┃║|╎┆┊╏┇┋├┤┣┫╠╣╞╡╟╢┠┨┝┥+";

/// The smallest drawn frame that has `title` in its top line or inside: of lines of Unicode, or of `+`, `-`
/// and `|`.
pub fn frame_around(screen: &Screen, title: &str) -> Option<DrawnFrame> {
    let rows: Vec<RowText> = (0..screen.size().1).map(|row| screen.row_text(row)).collect();
    let cells: Vec<Vec<(u16, char)>> = rows.iter().map(cells_of).collect();
    let at = |row: u16, col: u16| {
        let cells = cells.get(usize::from(row))?;
        cells.binary_search_by_key(&col, |(col, _)| *col).ok().map(|found| cells[found].1)
    };
    let is = |set: &str, row: u16, col: u16| at(row, col).is_some_and(|ch| set.contains(ch));
    let mut best: Option<DrawnFrame> = None;
    for (number, row) in (0u16..).zip(&rows) {
        for (start, _) in row.text().match_indices(title).filter(|_| !title.is_empty()) {
            let cols = row.cols(start..start + title.len());
            for frame in frames(&cells, &is) {
                let holds = frame.outside.row_range().contains(&number)
                    && frame.outside.col < cols.start
                    && cols.end < frame.outside.col_range().end
                    && number + 1 < frame.outside.row_range().end;
                let area = |frame: &DrawnFrame| u32::from(frame.outside.rows) * u32::from(frame.outside.cols);
                if holds && best.as_ref().is_none_or(|best| area(&frame) < area(best)) {
                    best = Some(frame);
                }
            }
        }
    }
    best
}

/// All frames on the screen.
fn frames(cells: &[Vec<(u16, char)>], is: &impl Fn(&str, u16, u16) -> bool) -> Vec<DrawnFrame> {
    let mut frames = Vec::new();
    let down = |corner: &str, row: u16, col: u16| {
        let mut bottoms = Vec::new();
        let mut at = row + 1;
        while usize::from(at) < cells.len() {
            if is(corner, at, col) {
                bottoms.push(at);
            }
            if !is(SIDES, at, col) {
                break;
            }
            at += 1;
        }
        bottoms
    };
    for (top, row) in (0u16..).zip(cells) {
        for (left, _) in row.iter().filter(|(_, ch)| TOP_LEFT.contains(*ch)) {
            let bottoms = down(BOTTOM_LEFT, top, *left);
            let rights = row.iter().filter(|(col, ch)| col > left && TOP_RIGHT.contains(*ch));
            let right = rights.map(|(col, _)| *col).find_map(|right| {
                let bottom = down(BOTTOM_RIGHT, top, right).into_iter().find(|row| bottoms.contains(row))?;
                Some((right, bottom))
            });
            if let Some((right, bottom)) = right {
                let (rows, cols) = (bottom - top + 1, right - left + 1);
                let outside = CellRegion { row: top, col: *left, rows, cols };
                let inside = CellRegion {
                    row: top + 1,
                    col: left + 1,
                    rows: rows.saturating_sub(2),
                    cols: cols.saturating_sub(2),
                };
                frames.push(DrawnFrame { outside, inside });
            }
        }
    }
    frames
}

fn cells_of(row: &RowText) -> Vec<(u16, char)> {
    row.text().char_indices().map(|(at, ch)| (row.cols(at..at + ch.len_utf8()).start, ch)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(text: &str) -> Screen {
        let mut screen = Screen::with_history(20, 6, 50);
        screen.feed(text.replace('\n', "\r\n").as_bytes());
        screen
    }

    #[test]
    fn the_nearest_line_of_a_text_is_the_most_similar_one() {
        let lines = "one\nrm -rf is not allowed here\nthree";
        let nearest = |pattern: &str| nearest_line(&text(pattern), lines);
        assert_eq!(nearest("rm -rf is not allow"), Some("rm -rf is not allowed here".to_owned()));
        assert_eq!(nearest("banana split"), None);
    }

    fn text(text: &str) -> TextPattern {
        TextPattern::Text(text.to_owned())
    }

    fn regex(source: &str) -> TextPattern {
        TextPattern::Regex(regex::RegexBuilder::new(source).multi_line(true).build().unwrap())
    }

    fn find(screen: &Screen, look: &Look) -> Vec<FoundPlace> {
        LookSubject { screen, scrolled: None, clipboard: Some("copied") }.find(look)
    }

    fn cells(row: u16, cols: Range<u16>) -> FoundPlace {
        FoundPlace::Cells(vec![ScreenPlace { row, cols }])
    }

    #[test]
    fn rows_are_searched_one_by_one() {
        let screen = screen("one two\nthree one\n");
        assert_eq!(find(&screen, &Look::on_screen(text("one"))), [cells(0, 0..3), cells(1, 6..9)]);
        assert_eq!(find(&screen, &Look::on_screen(regex("^t.*$"))), [cells(1, 0..9)]);
        assert!(find(&screen, &Look::on_screen(regex("two[^x]*three"))).is_empty(), "no match over rows");
        assert_eq!(find(&screen, &Look::on_screen(regex(r"two\nthree"))).len(), 1, "unless it says so");
        assert!(find(&screen, &Look::on_screen(text(""))).is_empty());
    }

    #[test]
    fn text_of_several_lines_stands_below_each_other() {
        let screen = screen("one\ntwo\nthree");
        let places = vec![ScreenPlace { row: 0, cols: 1..3 }, ScreenPlace { row: 1, cols: 0..3 }];
        assert_eq!(find(&screen, &Look::on_screen(text("ne\ntwo"))), [FoundPlace::Cells(places)]);
        assert!(find(&screen, &Look::on_screen(text("one\nthree"))).is_empty());
    }

    #[test]
    fn text_that_ran_over_the_edge_is_found() {
        let screen = screen("0123456789 the answer is here\nnext");
        let places = vec![ScreenPlace { row: 0, cols: 15..20 }, ScreenPlace { row: 1, cols: 0..4 }];
        assert_eq!(find(&screen, &Look::on_screen(text("answer is"))), [FoundPlace::Cells(places)]);
        assert_eq!(find(&screen, &Look::on_screen(text("here"))), [cells(1, 5..9)], "once");
        assert!(find(&screen, &Look::on_screen(text("herenext"))).is_empty());
    }

    #[test]
    fn areas() {
        let screen = screen("one\ntwo\nthree\x1b]0;the title\x07");
        let find = |area, pattern| find(&screen, &Look::on_screen(pattern).within(area));
        assert_eq!(find(ScreenArea::Row(1), regex("^two$")), [cells(1, 0..3)]);
        assert!(find(ScreenArea::Row(0), text("two")).is_empty());
        assert!(find(ScreenArea::Row(99), text("two")).is_empty());
        assert_eq!(find(ScreenArea::Line, text("three")), [cells(2, 0..5)]);
        let region = ScreenArea::Region(CellRegion { row: 1, col: 1, rows: 2, cols: 2 });
        assert_eq!(find(region, regex("^wo$")), [cells(1, 1..3)]);
        assert_eq!(find(region, regex("^..$")).len(), 2);
        assert_eq!(find(ScreenArea::Title, text("title")), [FoundPlace::Title]);
        assert_eq!(find(ScreenArea::Clipboard, text("copied")), [FoundPlace::Clipboard]);
    }

    #[test]
    fn lines_above_the_screen_have_numbers() {
        let screen = screen("a\nb\nc\nd\ne\nf\ng\nb");
        assert_eq!(
            find(&screen, &Look::on_screen(text("b")).within(ScreenArea::History)),
            [FoundPlace::HistoryLine(1), cells(5, 0..1)]
        );
    }

    #[test]
    fn joined_rows_are_one_text() {
        let look = |pattern| Look { joined: true, ..Look::on_screen(pattern) };
        let plain = |source: &str| TextPattern::Regex(Regex::new(source).unwrap());
        let mut screen = Screen::new(10, 2);
        screen.feed(b"> \r\nx ");
        assert_eq!(find(&screen, &look(plain("^>\nx$"))).len(), 1);
        assert!(find(&screen, &look(plain("^x$"))).is_empty());
    }

    #[test]
    fn the_nearest_row_is_the_one_that_is_spelled_most_like_it() {
        let screen = screen("one\nfour is\nthree");
        let nearest = |pattern| {
            LookSubject { screen: &screen, scrolled: None, clipboard: None }
                .nearest_row(&Look::on_screen(pattern))
                .map(|row| (row.place.row, row.text))
        };
        assert_eq!(nearest(regex("^fuor$")), Some((1, "four is".to_owned())));
        assert_eq!(nearest(text("thre3")), Some((2, "three".to_owned())));
        assert_eq!(nearest(text("12345")), None);
        assert_eq!(nearest(text("-owe")), None, "half of it is there");
    }

    #[test]
    fn a_frame_is_found_by_its_title() {
        let screen = screen(
            "╭────────────────╮\n│┌─ Logs ┐+--+   │\n││saved  │|in|   │\n│└───────┘+--+   \
             │\n╰────────────────╯",
        );
        let frame = frame_around(&screen, "Logs").unwrap();
        assert_eq!(frame.outside, CellRegion { row: 1, col: 1, rows: 3, cols: 9 });
        assert_eq!(frame.inside, CellRegion { row: 2, col: 2, rows: 1, cols: 7 });
        assert_eq!(frame_around(&screen, "saved"), Some(frame), "a title may stand inside");
        assert_eq!(
            frame_around(&screen, "in").unwrap().inside,
            CellRegion { row: 2, col: 11, rows: 1, cols: 2 }
        );
        assert_eq!(frame_around(&screen, "nothing"), None);
    }
}
