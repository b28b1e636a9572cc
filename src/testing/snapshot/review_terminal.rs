//! `hopty test --review` in a terminal: keys in, lines out, decisions carried out at once.

use std::io;
use std::os::fd::AsFd;

use nix::libc;

use super::snapshot_review::{ReviewAction, ReviewDecision, ReviewItem, SnapshotReview};
use super::snapshot_store::{PendingSnapshot, SnapshotError};
use crate::core::input::plain_keys::PlainKey;
use crate::sys::signals::Signals;
use crate::testing::report::ink::InkLine;
use crate::tty::full_screen::{self, FullScreen};
use crate::tty::page_keys::PageKeys;

/// Alternate screen, no cursor.
const BEGIN: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[0m\x1b[2J";
const UNDO: &[u8] = b"\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?1049l";

/// How many snapshots a review accepted, rejected and left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReviewResult {
    /// Made the snapshot.
    pub accepted: usize,
    /// Deleted.
    pub rejected: usize,
    /// Still waiting.
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
        ReviewTerminal::enter()?.turn(&mut review, pending, colors)?;
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
    /// The terminal is none, or is gone.
    #[error("cannot review snapshots: {0}\nhint: run it in a terminal, or use `hopty test --accept=NAME`")]
    Terminal(#[from] io::Error),
}

struct ReviewTerminal {
    screen: FullScreen,
    signals: Signals,
}

impl ReviewTerminal {
    fn enter() -> io::Result<ReviewTerminal> {
        let signals = Signals::catch(&full_screen::SIGNALS)?;
        Ok(ReviewTerminal { screen: FullScreen::enter(BEGIN, UNDO)?, signals })
    }

    fn turn(
        &mut self,
        review: &mut SnapshotReview,
        pending: &[PendingSnapshot],
        colors: bool,
    ) -> io::Result<()> {
        let mut keys = PageKeys::new();
        loop {
            let (cols, rows) = full_screen::size();
            let lines = review.draw(usize::from(cols), usize::from(rows));
            full_screen::write(picture(&lines, colors).as_bytes())?;
            let is_ready = keys.wait_beside(self.signals.as_fd(), None)?;
            for signal in self.signals.take() {
                match signal {
                    libc::SIGWINCH => {}
                    libc::SIGCONT => self.screen.resume()?,
                    _ => return Ok(()),
                }
            }
            let Some(pressed) = keys.read(is_ready)? else { return Ok(()) };
            for key in pressed {
                if key == PlainKey::Suspend {
                    self.screen.stop()?;
                    self.screen.resume()?;
                    continue;
                }
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
                            // What was typed ahead was not meant for this.
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
}

/// All lines in one synchronized update.
fn picture(lines: &[InkLine], colors: bool) -> String {
    let mut out = "\x1b[?2026h\x1b[?7l".to_owned();
    for (row, line) in (1..).zip(lines) {
        let text = if colors { line.colored() } else { line.plain() };
        out.push_str(&format!("\x1b[{row};1H\x1b[m{text}\x1b[K"));
    }
    out.push_str("\x1b[?7h\x1b[?2026l");
    out
}
