//! `hopty test --review` in a terminal: reads keys, draws lines, and carries decisions out at once.

use std::io;

use super::snapshot_review::{ReviewAction, ReviewDecision, ReviewItem, SnapshotReview};
use super::snapshot_store::{PendingSnapshot, SnapshotError};
use crate::tty::full_screen::{self, BEGIN, UNDO};
use crate::tty::full_screen_page::FullScreenPage;

/// How many snapshots a review accepted, rejected and left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReviewResult {
    pub accepted: usize,
    pub rejected: usize,
    pub left: usize,
}

/// Reviews these snapshots in the terminal on standard input and output.
///
/// # Errors
/// When that is no terminal, or is gone; before anything is shown, when a snapshot cannot be read.
pub fn run(pending: &[PendingSnapshot], colors: bool) -> Result<ReviewResult, ReviewError> {
    let mut items = Vec::with_capacity(pending.len());
    for snapshot in pending {
        let (old, new) = snapshot.read()?;
        items.push(ReviewItem { name: snapshot.name.clone(), old, new });
    }
    let mut review = SnapshotReview::new(items);
    if !pending.is_empty() {
        review_in(FullScreenPage::open(BEGIN, UNDO)?, &mut review, pending, colors)?;
    }
    let count = |wanted| review.decisions().iter().filter(|decision| **decision == Some(wanted)).count();
    let (accepted, rejected) = (count(ReviewDecision::Accept), count(ReviewDecision::Reject));
    Ok(ReviewResult { accepted, rejected, left: pending.len() - accepted - rejected })
}

/// Why a review ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// A snapshot cannot be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Standard input is not a terminal, or it is gone.
    #[error("cannot review snapshots: {0}\nhint: run it in a terminal, or use `hopty test --accept=NAME`")]
    Terminal(#[from] io::Error),
}

fn review_in(
    mut page: FullScreenPage,
    review: &mut SnapshotReview,
    pending: &[PendingSnapshot],
    colors: bool,
) -> io::Result<()> {
    loop {
        page.draw(&rows_of(review, full_screen::size(), colors))?;
        let Ok(pressed) = page.wait(None)? else { return Ok(()) };
        for key in pressed {
            match review.key(&key) {
                None => {}
                Some(ReviewAction::End) => return Ok(()),
                Some(ReviewAction::Decide(item, decision)) => {
                    let done = match decision {
                        ReviewDecision::Accept => pending[item].accept(),
                        ReviewDecision::Reject => pending[item].reject(),
                        ReviewDecision::Skip => Ok(()),
                    };
                    if let Err(error) = done {
                        review.failed(item, error.to_string().replace('\n', "; "));
                        // Keys that were typed ahead were not meant for this snapshot.
                        break;
                    }
                }
            }
            if review.is_done() {
                return Ok(());
            }
        }
    }
}

fn rows_of(review: &mut SnapshotReview, (cols, rows): (u16, u16), colors: bool) -> Vec<String> {
    let lines = review.draw(cols.into(), rows.into());
    lines.iter().map(|line| if colors { line.colored() } else { line.plain() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::input::plain_keys::PlainKey;
    use crate::screen::Screen;
    use crate::testing::snapshot::screen_snapshot::ScreenSnapshot;
    use crate::tty::full_screen_page::whole_page;

    #[test]
    fn the_last_column_of_a_snapshot_is_shown() {
        let border = format!("{}|", " ".repeat(79));
        let new = ScreenSnapshot::parse(&format!("# hopty 1 80x24\n{border}\n")).unwrap();
        let mut review =
            SnapshotReview::new(vec![ReviewItem { name: "a__box".to_owned(), old: Some(new.clone()), new }]);
        review.key(&PlainKey::Char('v'));
        for colors in [true, false] {
            let mut screen = Screen::new(80, 24);
            let page = whole_page(&rows_of(&mut review, (80, 24), colors));
            // Each page is drawn over the previous one.
            screen.feed(page.repeat(2).as_bytes());
            assert_eq!(screen.lines()[3], border);
        }
    }
}
