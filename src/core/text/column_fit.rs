//! Chooses which columns of a table fit into a terminal, and how wide each of them is. Pure: widths in,
//! widths out, all in columns of a terminal.

/// Blank columns between two columns of a table.
pub const GAP: usize = 2;
/// The least width of a last column that is never left out. With less, the terminal breaks the line.
const LAST_COLUMN_LEAST: usize = 5;

/// The needs of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnNeed {
    /// The width at which nothing is cut.
    pub whole: usize,
    /// The width that is worth more than any [`ColumnRank::Minor`] column.
    pub enough: usize,
    /// The width below which the column is left out.
    pub least: usize,
    /// Whether no cell contains anything.
    pub is_blank: bool,
    pub rank: ColumnRank,
}

/// When a column is left out. Of two ranks the greater one goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColumnRank {
    /// Never.
    Stays,
    /// When the other columns have no more than their least width.
    Major(u8),
    /// When the other columns have less than is enough.
    Minor(u8),
}

impl ColumnNeed {
    /// A column that is never cut.
    #[must_use]
    pub fn fixed(width: usize, rank: ColumnRank) -> Self {
        ColumnNeed { whole: width, enough: width, least: width, is_blank: false, rank }
    }

    /// A column of text that may be cut to `enough`, and further to `least`.
    #[must_use]
    pub fn text(whole: usize, enough: usize, least: usize, rank: ColumnRank) -> Self {
        ColumnNeed { whole, enough: enough.min(whole), least: least.min(whole), is_blank: false, rank }
    }
}

/// The width of each column in a line of `cols`, or `None` if the column is left out. Empty columns are left
/// out before anything is cut, minor ones before a text has less than is enough, and the others before a text
/// has less than its least width. The remaining width is shared evenly by the texts.
pub fn fit_columns(needs: &[ColumnNeed], cols: usize) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = needs.iter().map(|need| Some(need.whole)).collect();
    leave_out(needs, &mut widths, cols, |need| need.whole, |need| need.is_blank);
    leave_out(needs, &mut widths, cols, |need| need.enough, |need| need.rank >= ColumnRank::Minor(0));
    leave_out(needs, &mut widths, cols, |need| need.least, |_| true);
    for (width, need) in widths.iter_mut().zip(needs) {
        *width = width.map(|_| need.least);
    }
    let used = line(&widths);
    if used > cols {
        cramp(&mut widths, used - cols);
    } else {
        let left = grow(&mut widths, needs, cols - used, |need| need.enough);
        grow(&mut widths, needs, left, |need| need.whole);
    }
    widths
}

/// The width of a line.
fn line(widths: &[Option<usize>]) -> usize {
    let shown = widths.iter().flatten();
    shown.clone().sum::<usize>() + shown.count().saturating_sub(1) * GAP
}

/// Leaves out columns that `may` go, the greatest rank first, until the rest fits with these widths.
fn leave_out(
    needs: &[ColumnNeed],
    widths: &mut [Option<usize>],
    cols: usize,
    width: fn(&ColumnNeed) -> usize,
    may: fn(&ColumnNeed) -> bool,
) {
    loop {
        let wanted: Vec<Option<usize>> =
            widths.iter().zip(needs).map(|(shown, need)| shown.map(|_| width(need))).collect();
        if line(&wanted) <= cols {
            return;
        }
        let spare =
            |at: &usize| widths[*at].is_some() && needs[*at].rank != ColumnRank::Stays && may(&needs[*at]);
        let Some(gone) = (0..needs.len()).filter(spare).max_by_key(|at| needs[*at].rank) else { return };
        widths[gone] = None;
    }
}

/// Widens the columns evenly up to these widths, and returns what is left.
fn grow(
    widths: &mut [Option<usize>],
    needs: &[ColumnNeed],
    mut left: usize,
    to: fn(&ColumnNeed) -> usize,
) -> usize {
    loop {
        let narrow = |(width, need): &(&Option<usize>, &ColumnNeed)| width.is_some_and(|now| now < to(need));
        let count = widths.iter().zip(needs).filter(narrow).count();
        if count == 0 || left == 0 {
            return left;
        }
        let share = (left / count).max(1);
        for (width, need) in widths.iter_mut().zip(needs) {
            let Some(now) = width else { continue };
            let more = to(need).saturating_sub(*now).min(share).min(left);
            *now += more;
            left -= more;
        }
    }
}

/// Cuts the last columns, because no column may be left out any more.
fn cramp(widths: &mut [Option<usize>], mut over: usize) {
    for width in widths.iter_mut().rev().flatten() {
        let less = width.saturating_sub(LAST_COLUMN_LEAST).min(over);
        *width -= less;
        over -= less;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: ColumnNeed =
        ColumnNeed { whole: 6, enough: 6, least: 6, is_blank: false, rank: ColumnRank::Stays };

    fn needs() -> Vec<ColumnNeed> {
        let blank = ColumnNeed { is_blank: true, ..ColumnNeed::fixed(5, ColumnRank::Major(3)) };
        vec![
            NAME,
            ColumnNeed::text(40, 20, 10, ColumnRank::Stays),
            blank,
            ColumnNeed::fixed(5, ColumnRank::Minor(1)),
            ColumnNeed::fixed(5, ColumnRank::Major(1)),
            ColumnNeed::text(40, 20, 10, ColumnRank::Major(2)),
        ]
    }

    #[test]
    fn empty_columns_are_left_out_first_and_then_by_rank() {
        let at = |cols| fit_columns(&needs(), cols);
        let all = Some(6);
        assert_eq!(at(111), [all, Some(40), Some(5), Some(5), Some(5), Some(40)], "all of it fits");
        assert_eq!(at(110), [all, Some(40), None, Some(5), Some(5), Some(40)], "the blank one");
        assert_eq!(at(103), [all, Some(40), None, Some(5), Some(5), Some(39)], "texts are cut evenly");
        assert_eq!(at(64), [all, Some(20), None, Some(5), Some(5), Some(20)], "as far as is enough");
        assert_eq!(at(63), [all, Some(23), None, None, Some(5), Some(23)], "the minor one");
        assert_eq!(at(37), [all, Some(10), None, None, Some(5), Some(10)]);
        assert_eq!(at(36), [all, Some(21), None, None, Some(5), None], "the greater rank");
        assert_eq!(at(24), [all, Some(16), None, None, None, None]);
        assert_eq!(at(14), [all, Some(6), None, None, None, None], "what stays is cut");
        assert_eq!(at(1), [Some(5), Some(5), None, None, None, None], "and the terminal breaks the line");
        assert_eq!(fit_columns(&[], 80), []);
    }

    proptest::proptest! {
        #[test]
        fn a_line_fits_if_its_fixed_columns_do(
            widths in proptest::collection::vec((1_usize..60, 0_usize..30, 0_u8..3), 0..9),
            cols in 20_usize..220,
        ) {
            let mut needs = vec![NAME];
            needs.extend(widths.iter().map(|(whole, least, rank)| {
                let rank = if *rank == 0 { ColumnRank::Major(1) } else { ColumnRank::Minor(*rank) };
                ColumnNeed::text(*whole, least + 8, *least, rank)
            }));
            let fitted = fit_columns(&needs, cols);
            assert!(line(&fitted) <= cols);
            for (width, need) in fitted.iter().zip(&needs) {
                assert!(width.is_none_or(|width| (need.least..=need.whole).contains(&width)));
            }
        }
    }
}
