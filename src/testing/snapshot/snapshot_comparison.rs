//! Compares a snapshot with a screen: the differences, and the file with its wildcards kept.

use std::collections::BTreeMap;
use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use super::screen_snapshot::{ScreenSnapshot, SnapshotRow};
use super::style_span::{SnapshotStyle, difference, width};
use crate::testing::outcome::{RowComparison, ScreenComparison};

/// The most style differences that are listed.
const STYLES_MAX: usize = 50;

/// A row of the file paired with a row of the screen, by their indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowPair {
    /// Paired, whether they match or not.
    Both(usize, usize),
    /// The screen has no such row.
    Missing(usize),
    /// The file has no such row.
    Extra(usize),
    /// A row of the screen that a `...` matches.
    Wild(usize),
    /// A `...` at this index, before the rows that it matches.
    Dots(usize),
}

impl ScreenSnapshot {
    /// Compares this, the expected snapshot, with `actual`, which has no wildcards.
    pub fn compare(&self, actual: &ScreenSnapshot) -> ScreenComparison {
        let mut comparison = ScreenComparison::default();
        if self.size != actual.size {
            let ((cols, rows), (old_cols, old_rows)) = (actual.size, self.size);
            comparison.others.push(format!("size {cols}x{rows}, was {old_cols}x{old_rows}"));
        }
        if let (Some(title), Some(now)) = (&self.title, &actual.title)
            && title != now
        {
            comparison.others.push(format!("title {now:?}, was {title:?}"));
        }
        if let (Some(cursor), Some(now)) = (self.cursor, actual.cursor)
            && cursor != now
        {
            comparison.others.push(format!("cursor {now}, was {cursor}"));
        }
        if self.cursor.is_some() != actual.cursor.is_some() {
            let words = if self.cursor.is_some() { "the file has" } else { "the file has no" };
            comparison.others.push(format!("{words} cursor, unlike the tape: see +Cursor"));
        }
        let texts = texts(actual);
        let pairs = pairs(&self.rows, &texts);
        let mut free = vec![false; texts.len()];
        for pair in &pairs {
            let (expected, at) = match *pair {
                RowPair::Both(row, at) if self.rows[row].matches(texts[at]) => {
                    free[at] = !matches!(self.rows[row], SnapshotRow::Text(_));
                    continue;
                }
                RowPair::Both(row, at) => (Some(&self.rows[row]), Some(at)),
                RowPair::Missing(row) => (Some(&self.rows[row]), None),
                RowPair::Extra(at) => (None, Some(at)),
                RowPair::Wild(at) => {
                    free[at] = true;
                    continue;
                }
                RowPair::Dots(_) => continue,
            };
            comparison.rows.push(row_comparison(
                expected,
                at.map(|at| (at, texts[at])),
                comparison.rows.last(),
            ));
        }
        match (&self.styles, &actual.styles) {
            (Some(expected), Some(now)) => {
                let differs: Vec<u16> = comparison.rows.iter().map(|row| row.row).collect();
                let skips = |row: u16| {
                    free.get(usize::from(row) - 1).copied().unwrap_or(false) || differs.contains(&row)
                };
                comparison.others.extend(style_differences(expected, now, skips));
            }
            (None, None) => {}
            (expected, _) => {
                let words = if expected.is_some() { "the file has" } else { "the file has no" };
                comparison.others.push(format!("{words} styles, unlike the tape: see +Style"));
            }
        }
        comparison
    }

    /// `actual` with the wildcards of this snapshot, if they still match.
    pub fn with_wildcards(&self, actual: &ScreenSnapshot) -> ScreenSnapshot {
        let texts = texts(actual);
        let mut rows = Vec::with_capacity(actual.rows.len());
        for pair in pairs(&self.rows, &texts) {
            match pair {
                RowPair::Both(row, at) if self.rows[row].matches(texts[at]) => {
                    rows.push(self.rows[row].clone())
                }
                RowPair::Both(_, at) | RowPair::Extra(at) => rows.push(actual.rows[at].clone()),
                RowPair::Dots(row) => rows.push(self.rows[row].clone()),
                RowPair::Missing(_) | RowPair::Wild(_) => {}
            }
        }
        let title = self.title.as_ref().and_then(|_| actual.title.clone());
        ScreenSnapshot { rows, title, ..actual.clone() }
    }
}

fn texts(actual: &ScreenSnapshot) -> Vec<&str> {
    actual
        .rows
        .iter()
        .map(|row| match row {
            SnapshotRow::Text(text) | SnapshotRow::Prefix(text) => text.as_str(),
            SnapshotRow::AnyRows => "",
        })
        .collect()
}

/// Pairs rows of the file with rows of the screen: by index without a `...`, otherwise so that there are as
/// few differences as possible.
fn pairs(rows: &[SnapshotRow], texts: &[&str]) -> Vec<RowPair> {
    if !rows.contains(&SnapshotRow::AnyRows) {
        return (0..rows.len().max(texts.len()))
            .map(|at| match (at < rows.len(), at < texts.len()) {
                (true, true) => RowPair::Both(at, at),
                (true, false) => RowPair::Missing(at),
                _ => RowPair::Extra(at),
            })
            .collect();
    }
    let (height, length) = (rows.len(), texts.len());
    let costs = difference_counts(rows, texts);
    let (mut pairs, mut row, mut at) = (Vec::new(), 0, 0);
    let mut in_dots = false;
    while row < height || at < length {
        let cost = costs[row][at];
        if row < height && rows[row] == SnapshotRow::AnyRows {
            if !in_dots {
                pairs.push(RowPair::Dots(row));
            }
            in_dots = at < length && costs[row][at + 1] == cost && costs[row + 1][at] != cost;
            if in_dots {
                pairs.push(RowPair::Wild(at));
                at += 1;
            } else {
                row += 1;
            }
            continue;
        }
        let differs = |row: usize, at: usize| u32::from(!rows[row].matches(texts[at]));
        if row < height && at < length && costs[row + 1][at + 1] + differs(row, at) == cost {
            pairs.push(RowPair::Both(row, at));
            (row, at) = (row + 1, at + 1);
        } else if row < height && costs[row + 1][at] + 1 == cost {
            pairs.push(RowPair::Missing(row));
            row += 1;
        } else {
            pairs.push(RowPair::Extra(at));
            at += 1;
        }
    }
    pairs
}

/// For each `row` and `at`, the fewest differences between `rows[row..]` and `texts[at..]`.
fn difference_counts(rows: &[SnapshotRow], texts: &[&str]) -> Vec<Vec<u32>> {
    let (height, length) = (rows.len(), texts.len());
    let mut costs = vec![vec![0u32; length + 1]; height + 1];
    for row in (0..=height).rev() {
        for at in (0..=length).rev() {
            costs[row][at] = match (row < height, at < length) {
                (false, false) => 0,
                (false, true) => costs[row][at + 1] + 1,
                (true, in_screen) => match (&rows[row], in_screen) {
                    (SnapshotRow::AnyRows, true) => costs[row + 1][at].min(costs[row][at + 1]),
                    (SnapshotRow::AnyRows, false) => costs[row + 1][at],
                    (_, false) => costs[row + 1][at] + 1,
                    (expected, true) => {
                        let differs = u32::from(!expected.matches(texts[at]));
                        (costs[row + 1][at + 1] + differs)
                            .min(costs[row + 1][at] + 1)
                            .min(costs[row][at + 1] + 1)
                    }
                },
            };
        }
    }
    costs
}

fn row_comparison(
    expected: Option<&SnapshotRow>,
    actual: Option<(usize, &str)>,
    before: Option<&RowComparison>,
) -> RowComparison {
    let text = match expected {
        Some(SnapshotRow::Prefix(prefix)) => Some(format!("{prefix}..")),
        Some(SnapshotRow::Text(text)) => Some(text.clone()),
        Some(SnapshotRow::AnyRows) | None => None,
    };
    let row = match actual {
        Some((at, _)) => u16::try_from(at + 1).unwrap_or(u16::MAX),
        None => before.map_or(1, |before| before.row.saturating_add(1)),
    };
    let now = actual.map(|(_, now)| now);
    let (expected_cells, actual_cells) = cells(text.as_deref().unwrap_or(""), now.unwrap_or(""));
    RowComparison { row, expected: text, actual: now.map(str::to_owned), expected_cells, actual_cells }
}

/// The cells in which two rows differ. Cell by cell if they have the same width, so that two changes in a
/// table are two ranges; otherwise everything between the common start and the common end.
fn cells(expected: &str, actual: &str) -> (Vec<Range<u16>>, Vec<Range<u16>>) {
    let (old, new) = (graphemes(expected), graphemes(actual));
    if width(expected) == width(actual) && old.len() == new.len() {
        let (mut ranges, mut col): (Vec<Range<u16>>, u16) = (Vec::new(), 0);
        let mut same_cells = true;
        for (one, other) in old.iter().zip(&new) {
            same_cells &= one.1 == other.1;
            if one.0 != other.0 {
                match ranges.last_mut() {
                    Some(last) if last.end == col => last.end = col + one.1,
                    _ => ranges.push(col..col + one.1),
                }
            }
            col += one.1;
        }
        if same_cells {
            return (ranges.clone(), ranges);
        }
    }
    let begin = old.iter().zip(&new).take_while(|(one, other)| one.0 == other.0).count();
    let end =
        old[begin..].iter().rev().zip(new[begin..].iter().rev()).take_while(|(a, b)| a.0 == b.0).count();
    let range = |all: &[(&str, u16)]| {
        let start: u16 = all[..begin].iter().map(|(_, width)| width).sum();
        let length: u16 = all[begin..all.len() - end].iter().map(|(_, width)| width).sum();
        if length > 0 { std::iter::once(start..start + length).collect() } else { Vec::new() }
    };
    (range(&old), range(&new))
}

/// The cells of a row: each character with its combining marks, and its columns.
fn graphemes(text: &str) -> Vec<(&str, u16)> {
    let mut starts: Vec<(usize, u16)> = Vec::new();
    for (at, ch) in text.char_indices() {
        let width = ch.width().unwrap_or(0) as u16;
        if width > 0 || starts.is_empty() {
            starts.push((at, width));
        }
    }
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain(std::iter::once(text.len()));
    starts.iter().zip(ends).map(|((at, width), end)| (&text[*at..end], *width)).collect()
}

/// The differences in style, in words; `skips` says which rows are not compared.
fn style_differences(
    expected: &[SnapshotStyle],
    actual: &[SnapshotStyle],
    skips: impl Fn(u16) -> bool,
) -> Vec<String> {
    type Spans<'a> = Vec<&'a SnapshotStyle>;
    let mut rows: BTreeMap<u16, (Spans<'_>, Spans<'_>)> = BTreeMap::new();
    expected.iter().for_each(|span| rows.entry(span.row).or_default().0.push(span));
    actual.iter().for_each(|span| rows.entry(span.row).or_default().1.push(span));
    let mut found = Vec::new();
    for (row, (expected, actual)) in rows.into_iter().filter(|(row, _)| !skips(*row)) {
        // The columns at which spans start or end split the row into pieces of one style on either side.
        let mut cuts: Vec<u16> =
            expected.iter().chain(&actual).flat_map(|span| [span.from, span.to.saturating_add(1)]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let words = |spans: &Spans<'_>, col: u16| {
            let span = spans.iter().find(|span| span.from <= col && col <= span.to);
            span.map(|span| span.words.clone()).unwrap_or_default()
        };
        for piece in cuts.windows(2) {
            let (old, new) = (words(&expected, piece[0]), words(&actual, piece[0]));
            if old != new {
                let span = SnapshotStyle {
                    row,
                    from: piece[0],
                    to: piece[1] - 1,
                    words: Vec::new(),
                    text: String::new(),
                };
                found.push(format!("row {row}, {}: {}", span.cols(), difference(&old, &new)));
            }
        }
    }
    if found.len() > STYLES_MAX {
        let more = found.len() - STYLES_MAX;
        found.truncate(STYLES_MAX);
        found.push(format!("{more} more differences of style"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(rows: &str) -> ScreenSnapshot {
        ScreenSnapshot::parse(&format!("# hopty 1 80x24\n{rows}")).unwrap()
    }

    fn rows(expected: &str, actual: &str) -> Vec<(u16, Option<String>, Option<String>)> {
        let comparison = snapshot(expected).compare(&snapshot(actual));
        assert!(comparison.others.is_empty(), "{comparison:?}");
        comparison.rows.into_iter().map(|row| (row.row, row.expected, row.actual)).collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn rows_are_compared_in_their_places() {
        assert_eq!(rows("a\nb\n", "a\nb\n"), []);
        assert_eq!(rows("a\nb\nc\n", "a\nx\n"), [(2, some("b"), some("x")), (3, some("c"), None)]);
        assert_eq!(rows("a\n", "a\n\nb\n"), [(2, None, some("")), (3, None, some("b"))]);
    }

    #[test]
    fn wildcards_stand_for_what_follows_and_for_rows() {
        assert_eq!(rows("took ..\n...\nend\n", "took 3 s\nx\ny\nend\n"), []);
        assert_eq!(rows("...\nend\n...\n", "end\n"), []);
        assert_eq!(rows("a\n...\nend\n", "a\nx\nemd\n"), [(3, some("end"), some("emd"))]);
        assert_eq!(rows("took ..\n", "tool 3\n"), [(1, some("took .."), some("tool 3"))]);
        assert_eq!(rows("..\n", "anything\n"), []);
        assert_eq!(rows("...\nz\n", ""), [(1, some("z"), None)]);
    }

    #[test]
    fn an_update_keeps_the_wildcards_that_still_match() {
        let file = snapshot("old\ntook ..\n...\nend\nspent ..\n");
        let now = snapshot("new\ntook 5 s\nx\ny\nend\nfree\n");
        let merged = file.with_wildcards(&now);
        assert_eq!(merged.to_string(), "# hopty 1 80x24\nnew\ntook ..\n...\nend\nfree\n");
        assert!(merged.compare(&now).is_same());
        let any_title = ScreenSnapshot { title: None, ..file };
        assert_eq!(any_title.with_wildcards(&now).title, None);
    }

    #[test]
    fn the_cells_that_differ_are_known() {
        let cells = |expected: &str, actual: &str| {
            let row = &snapshot(expected).compare(&snapshot(actual)).rows[0];
            (row.expected_cells.clone(), row.actual_cells.clone())
        };
        let one = |range: Range<u16>| std::iter::once(range).collect::<Vec<_>>();
        assert_eq!(cells("name  old", "name  new"), (one(6..9), one(6..9)));
        assert_eq!(cells("│1│a│2│", "│3│a│4│"), (vec![1..2, 5..6], vec![1..2, 5..6]));
        assert_eq!(cells("漢ab", "漢字b"), (one(2..3), one(2..4)));
        assert_eq!(cells("end", "the end"), (vec![], one(0..4)));
    }

    #[test]
    fn what_no_row_shows_is_said_in_words() {
        let of = |head: &str, styles: &str| {
            ScreenSnapshot::parse(&format!("# hopty 1 {head}\na b\nx ..\n# styles\n{styles}")).unwrap()
        };
        let file = of(
            "80x24 cursor=1,1 styles title=\"t\"",
            "1:1 fg=green \"a\"\n1:3-5 bold \"b\"\n2:1 dim \"x\"\n",
        );
        let now = of("90x24 cursor=hidden styles", "1:1 fg=red \"a\"\n1:3-4 bold \"b\"\n");
        assert_eq!(
            file.compare(&now).others,
            [
                "size 90x24, was 80x24", "title \"\", was \"t\"", "cursor hidden, was 1,1",
                "row 1, 1: fg red, was green", "row 1, 5: not bold, was bold",
            ]
        );
        assert!(file.compare(&file).is_same());
        let plain = snapshot("a b\nx 1\n");
        let others = plain.compare(&of("80x24 styles", "")).others;
        assert_eq!(others, ["the file has no styles, unlike the tape: see +Style"]);
    }
}
