//! The review of snapshots, pure: the page, and what a key does.
//!
//! If there is room, old, new and their difference are side by side; otherwise one of them, which `v`
//! switches.

use unicode_width::UnicodeWidthChar;

use super::screen_snapshot::ScreenSnapshot;
use crate::core::input::plain_keys::PlainKey;
use crate::testing::report::ink::{Ink, InkLine, safe};

/// The width from which on three panes are drawn, in columns.
const WIDE: usize = 120;
/// The columns of one step to the side.
const SIDE_STEP: usize = 8;

/// A snapshot that waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewItem {
    pub name: String,
    /// The current snapshot; `None` for a new one.
    pub old: Option<ScreenSnapshot>,
    /// The proposed snapshot.
    pub new: ScreenSnapshot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewDecision {
    Accept,
    Reject,
    Skip,
}

impl ReviewDecision {
    fn word(self) -> &'static str {
        match self {
            ReviewDecision::Accept => "accepted",
            ReviewDecision::Reject => "rejected",
            ReviewDecision::Skip => "skipped",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewAction {
    /// Carry out this decision on the item with this index. The review continues.
    Decide(usize, ReviewDecision),
    /// Everything is decided, or the person ends the review.
    End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReviewView {
    Old,
    New,
    #[default]
    Difference,
}

/// The review of some snapshots.
#[derive(Clone, Debug)]
pub struct SnapshotReview {
    items: Vec<ReviewItem>,
    decisions: Vec<Option<ReviewDecision>>,
    at: usize,
    view: ReviewView,
    down: usize,
    right: usize,
    message: Option<String>,
}

impl SnapshotReview {
    /// A review of these items, at least one.
    pub fn new(items: Vec<ReviewItem>) -> SnapshotReview {
        let decisions = vec![None; items.len()];
        let view = ReviewView::default();
        SnapshotReview { items, decisions, at: 0, view, down: 0, right: 0, message: None }
    }

    /// The decisions so far, by item.
    pub fn decisions(&self) -> &[Option<ReviewDecision>] {
        &self.decisions
    }

    /// Shows a message until the next key, because a decision could not be carried out. The item is undecided
    /// again.
    pub fn failed(&mut self, item: usize, message: String) {
        if let Some(decision) = self.decisions.get_mut(item) {
            *decision = None;
            self.go_to(item);
        }
        self.message = Some(message);
    }

    /// Takes a key. After a decision, [`SnapshotReview::is_done`] says whether it was the last.
    pub fn key(&mut self, key: &PlainKey) -> Option<ReviewAction> {
        self.message = None;
        let decision = match key {
            PlainKey::Char('a') => ReviewDecision::Accept,
            PlainKey::Char('r') => ReviewDecision::Reject,
            PlainKey::Char('s') => ReviewDecision::Skip,
            PlainKey::Char('q') | PlainKey::Cancel => return Some(ReviewAction::End),
            other => {
                self.look(other);
                return None;
            }
        };
        let item = self.at;
        // An item is accepted or rejected only once, because its file is gone then.
        match self.decisions.get(item)? {
            None | Some(ReviewDecision::Skip) => {}
            Some(decided) => {
                self.message = Some(format!("it is {} already", decided.word()));
                return None;
            }
        }
        self.decisions[item] = Some(decision);
        let count = self.items.len();
        if let Some(next) = (1..count).map(|n| (item + n) % count).find(|at| self.decisions[*at].is_none()) {
            self.go_to(next);
        }
        Some(ReviewAction::Decide(item, decision))
    }

    /// Whether everything is decided.
    pub fn is_done(&self) -> bool {
        self.decisions.iter().all(Option::is_some)
    }

    fn look(&mut self, key: &PlainKey) {
        let count = self.items.len().max(1);
        match key {
            PlainKey::Char('n') => self.go_to((self.at + 1) % count),
            PlainKey::Char('p') => self.go_to((self.at + count - 1) % count),
            PlainKey::Char('v') | PlainKey::Tab => {
                self.view = match self.view {
                    ReviewView::Difference => ReviewView::Old,
                    ReviewView::Old => ReviewView::New,
                    ReviewView::New => ReviewView::Difference,
                };
                self.down = 0;
            }
            PlainKey::Char('k') | PlainKey::Up => self.down = self.down.saturating_sub(1),
            PlainKey::Char('j') | PlainKey::Down => self.down += 1,
            PlainKey::Char('h') | PlainKey::Left | PlainKey::FarLeft => {
                self.right = self.right.saturating_sub(SIDE_STEP);
            }
            PlainKey::Char('l') | PlainKey::Right | PlainKey::FarRight => self.right += SIDE_STEP,
            _ => {}
        }
    }

    fn go_to(&mut self, item: usize) {
        self.at = item;
        (self.down, self.right) = (0, 0);
    }

    /// The page for a terminal of this size: exactly `rows` lines, none wider than `cols`.
    pub fn draw(&mut self, cols: usize, rows: usize) -> Vec<InkLine> {
        let Some(item) = self.items.get(self.at) else { return vec![InkLine::default(); rows] };
        let decided =
            self.decisions[self.at].map_or(String::new(), |decision| format!("  {}", decision.word()));
        let head = format!("{}  {} of {}{decided}", item.name, self.at + 1, self.items.len());
        let panes: Vec<(&str, Vec<PaneRow>)> = if cols >= WIDE {
            vec![("old", old_pane(item)), ("new", new_pane(item)), ("difference", difference_pane(item))]
        } else {
            vec![match self.view {
                ReviewView::Old => ("old", old_pane(item)),
                ReviewView::New => ("new", new_pane(item)),
                ReviewView::Difference => ("difference", difference_pane(item)),
            }]
        };
        let body = rows.saturating_sub(3);
        let longest = panes.iter().map(|(_, pane)| pane.len()).max().unwrap_or(0);
        self.down = self.down.min(longest.saturating_sub(body));
        let widest = panes.iter().flat_map(|(_, pane)| pane).map(|row| width(&row.text)).max().unwrap_or(0);
        let pane_cols = ((cols + 1) / panes.len()).saturating_sub(1);
        self.right = self.right.min(widest.saturating_sub(pane_cols));
        let mut lines = vec![InkLine::new(Ink::Bold, &fit(&head, 0, cols))];
        let mut titles = InkLine::default();
        for (at, (title, _)) in panes.iter().enumerate() {
            let border = if at > 0 { "│" } else { "" };
            titles =
                titles.with(Ink::Dim, border).with(Ink::Dim, &fit(&format!("── {title} "), 0, pane_cols));
        }
        lines.push(titles);
        for row in 0..body {
            let mut line = InkLine::default();
            for (at, (_, pane)) in panes.iter().enumerate() {
                let (ink, text) =
                    pane.get(self.down + row).map_or((Ink::Plain, ""), |row| (row.ink, row.text.as_str()));
                line = line.with(Ink::Dim, if at > 0 { "│" } else { "" });
                line = line.with(ink, &fit(text, self.right, pane_cols));
            }
            lines.push(line);
        }
        let keys = if cols >= WIDE {
            "a accept  r reject  s skip  n next  p previous  ↑↓←→ scroll  q quit"
        } else {
            "a accept  r reject  s skip  n next  v old/new/difference  ↑↓←→  q quit"
        };
        match &self.message {
            Some(message) => lines.push(InkLine::new(Ink::Red, &fit(message, 0, cols))),
            None => lines.push(InkLine::new(Ink::Dim, &fit(keys, 0, cols))),
        }
        lines.truncate(rows);
        lines
    }
}

struct PaneRow {
    ink: Ink,
    text: String,
}

fn plain_rows(snapshot: &ScreenSnapshot) -> Vec<PaneRow> {
    snapshot.to_string().lines().map(|line| PaneRow { ink: Ink::Plain, text: safe(line) }).collect()
}

fn old_pane(item: &ReviewItem) -> Vec<PaneRow> {
    match &item.old {
        None => vec![PaneRow { ink: Ink::Dim, text: "there is none yet".to_owned() }],
        Some(old) => colored(plain_rows(old), item, |row| row.expected.is_some(), Ink::Red),
    }
}

fn new_pane(item: &ReviewItem) -> Vec<PaneRow> {
    colored(plain_rows(&item.new), item, |row| row.actual.is_some(), Ink::Green)
}

/// Colours the rows that differ. If the old snapshot has wildcards, its rows may be elsewhere in the file;
/// then only the difference shows them.
fn colored(
    mut rows: Vec<PaneRow>,
    item: &ReviewItem,
    is_there: impl Fn(&crate::testing::outcome::RowComparison) -> bool,
    ink: Ink,
) -> Vec<PaneRow> {
    let Some(old) = item.old.as_ref().filter(|old| !old.has_wildcards()) else { return rows };
    for row in old.compare(&item.new).rows.iter().filter(|row| is_there(row)) {
        // After the header.
        if let Some(line) = rows.get_mut(usize::from(row.row)) {
            line.ink = ink;
        }
    }
    rows
}

/// All rows of the new snapshot, those that differ below the old ones, and the differences that no row shows.
fn difference_pane(item: &ReviewItem) -> Vec<PaneRow> {
    let Some(old) = &item.old else {
        return plain_rows(&item.new)
            .into_iter()
            .map(|row| PaneRow { ink: Ink::Green, text: format!("+ {}", row.text) })
            .collect();
    };
    let comparison = old.compare(&item.new);
    let mut rows: Vec<PaneRow> = comparison
        .others
        .iter()
        .map(|other| PaneRow { ink: Ink::Yellow, text: format!("! {}", safe(other)) })
        .collect();
    let last = comparison.rows.iter().map(|row| usize::from(row.row)).max().unwrap_or(0);
    for number in 1..=item.new.rows.len().max(last) {
        let text = item.new.rows.get(number - 1).map(ToString::to_string);
        let mut differs = false;
        for row in comparison.rows.iter().filter(|row| usize::from(row.row) == number) {
            differs |= row.actual.is_some();
            let sides = [("-", &row.expected, Ink::Red), ("+", &row.actual, Ink::Green)];
            for (sign, text, ink) in sides {
                rows.extend(
                    text.as_ref().map(|text| PaneRow { ink, text: format!("{sign} {}", safe(text)) }),
                );
            }
        }
        if let Some(text) = text.filter(|_| !differs) {
            rows.push(PaneRow { ink: Ink::Plain, text: format!("  {}", safe(&text)) });
        }
    }
    rows
}

fn width(text: &str) -> usize {
    text.chars().map(|ch| ch.width().unwrap_or(0)).sum()
}

/// The part of a text in `cols` columns after the first `skip`, padded with blanks.
fn fit(text: &str, skip: usize, cols: usize) -> String {
    let (mut out, mut col, mut used) = (String::new(), 0, 0);
    for ch in text.chars() {
        let width = ch.width().unwrap_or(0);
        if col >= skip {
            if used + width > cols {
                break;
            }
            if width > 0 || !out.is_empty() {
                out.push(ch);
                used += width;
            }
        } else if col + width > skip {
            // Half of a wide character.
            out.push(' ');
            used += 1;
        }
        col += width;
    }
    out.push_str(&" ".repeat(cols.saturating_sub(used)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(rows: &str) -> ScreenSnapshot {
        ScreenSnapshot::parse(&format!("# hopty 1 80x24\n{rows}")).unwrap()
    }

    fn review() -> SnapshotReview {
        SnapshotReview::new(vec![
            ReviewItem {
                name: "a__changed".to_owned(),
                old: Some(snapshot("one\ntwo\nthree\n")),
                new: snapshot("one\nTWO\nthree\nfour 漢字\n"),
            },
            ReviewItem { name: "a__new".to_owned(), old: None, new: snapshot("fresh\n") },
        ])
    }

    fn text(review: &mut SnapshotReview, cols: usize, rows: usize) -> Vec<String> {
        let lines = review.draw(cols, rows);
        assert_eq!(lines.len(), rows);
        lines.iter().for_each(|line| assert!(width(&line.plain()) <= cols, "{line:?}"));
        lines.iter().map(InkLine::plain).collect()
    }

    #[test]
    fn keys_decide_and_move() {
        let mut review = review();
        assert_eq!(review.key(&PlainKey::Char('n')), None);
        assert_eq!(review.key(&PlainKey::Char('a')), Some(ReviewAction::Decide(1, ReviewDecision::Accept)));
        assert!(!review.is_done());
        assert!(text(&mut review, 80, 10)[0].starts_with("a__changed  1 of 2"));
        review.key(&PlainKey::Char('p'));
        assert_eq!(review.key(&PlainKey::Char('r')), None, "it is decided");
        assert!(text(&mut review, 80, 10)[0].ends_with("2 of 2  accepted"));
        assert!(text(&mut review, 80, 10)[9].starts_with("it is accepted already"));
        review.key(&PlainKey::Char('n'));
        assert_eq!(review.key(&PlainKey::Char('s')), Some(ReviewAction::Decide(0, ReviewDecision::Skip)));
        assert!(review.is_done());
        review.failed(1, "disk full".to_owned());
        assert!(!review.is_done() && review.decisions()[1].is_none());
        assert_eq!(text(&mut review, 80, 10)[9], "disk full");
        assert_eq!(review.key(&PlainKey::Char('q')), Some(ReviewAction::End));
    }

    #[test]
    fn a_skipped_item_can_be_decided_later() {
        let mut review = review();
        assert_eq!(review.key(&PlainKey::Char('s')), Some(ReviewAction::Decide(0, ReviewDecision::Skip)));
        review.key(&PlainKey::Char('p'));
        assert_eq!(review.key(&PlainKey::Char('a')), Some(ReviewAction::Decide(0, ReviewDecision::Accept)));
        assert_eq!(review.decisions(), [Some(ReviewDecision::Accept), None]);
    }

    #[test]
    fn a_small_terminal_shows_the_difference_and_a_wide_one_all_three() {
        let mut review = review();
        assert_eq!(
            text(&mut review, 40, 9),
            [
                "a__changed  1 of 2",
                "── difference",
                "  one",
                "- two",
                "+ TWO",
                "  three",
                "+ four 漢字",
                "",
                "a accept  r reject  s skip  n next  v ol",
            ]
        );
        review.key(&PlainKey::Char('v'));
        assert_eq!(text(&mut review, 40, 9)[1..4], ["── old", "# hopty 1 80x24", "one"]);
        let wide = text(&mut review, 120, 9);
        assert!(
            wide[1].starts_with("── old")
                && wide[1].contains("│── new")
                && wide[1].contains("│── difference")
        );
        let panes: Vec<&str> = wide[4].split('│').map(str::trim_end).collect();
        assert_eq!(panes, ["two", "TWO", "+ TWO"]);
        review.key(&PlainKey::Char('n'));
        assert!(text(&mut review, 120, 9)[2].starts_with("there is none yet"));
    }

    #[test]
    fn scrolling_ends_where_the_rows_end() {
        let mut review = review();
        (0..100).for_each(|_| {
            review.key(&PlainKey::Down);
            review.key(&PlainKey::Right);
        });
        let shown = text(&mut review, 10, 6);
        assert_eq!(shown[2..5], [" TWO", " three", " four 漢字"]);
        (0..100).for_each(|_| assert_eq!(review.key(&PlainKey::Up), None));
        assert_eq!(text(&mut review, 10, 6)[2..5], [" one", " two", " TWO"]);
    }

    #[test]
    fn drawing_panics_at_no_size() {
        for cols in [0, 1, 2, 5, 119, 120, 121, 300] {
            for rows in [0, 1, 2, 3, 4, 50] {
                text(&mut review(), cols, rows);
            }
        }
    }
}
