//! What is new on the screen since a mark, for `hopty wait --since`.
//!
//! Nothing is tracked until the first mark is taken. From then on each frame is compared with the one before,
//! which takes some microseconds; the last marks keep the screens to compare with. A frame ends when the
//! program has been quiet for a moment and is not in the middle of a synchronized update; in output without a
//! pause, every [`UNPAUSED_FRAME_MS`].

use crate::core::time::Stamp;
use crate::screen::{FrameChanges, Screen};

/// The length of a frame in output without a pause, in ms.
const UNPAUSED_FRAME_MS: u64 = 100;

/// The rows of a screen, and what is new in them.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::host) struct RowsSince {
    /// The text of each row, without blanks at its end.
    pub rows: Vec<String>,
    /// The new parts: row, and the first and last byte of its text.
    pub new: Vec<(u16, usize, usize)>,
    /// The cursor: its row, and how many bytes of that row's text are before it.
    pub cursor: (u16, usize),
}

/// The frames of one run's screen, tracked from the first mark on.
#[derive(Debug, Default)]
pub(super) struct ScreenMarks {
    changes: Option<FrameChanges>,
    /// Output has arrived since the last frame.
    is_open: bool,
    /// When the last frame ended.
    ended: Stamp,
}

impl ScreenMarks {
    /// Output has arrived.
    pub fn open(&mut self, now: Stamp) {
        if self.changes.is_some() && !self.is_open {
            (self.is_open, self.ended) = (true, now);
        }
    }

    /// Whether a frame has this number.
    pub fn has(&self, frame: u64) -> bool {
        self.changes.as_ref().is_some_and(|changes| frame <= changes.now())
    }

    /// Whether a frame has begun and not ended.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the frame has reached its longest duration.
    pub fn is_overdue(&self, now: Stamp) -> bool {
        self.is_open && now.since(self.ended) >= UNPAUSED_FRAME_MS
    }

    /// Takes a mark: everything on the screen is old from now on. Returns the frame's number.
    pub fn take(&mut self, screen: &mut Screen, now: Stamp) -> u64 {
        (self.is_open, self.ended) = (false, now);
        let changes = self.changes.get_or_insert_with(|| FrameChanges::new(screen));
        changes.frame(screen);
        changes.mark(screen)
    }

    /// The frame ends, unless the program is in the middle of a synchronized update.
    pub fn end_frame(&mut self, screen: &mut Screen, now: Stamp) {
        let Some(changes) = &mut self.changes else { return };
        (self.is_open, self.ended) = (false, now);
        if !screen.is_drawing() {
            changes.frame(screen);
        }
    }

    /// The rows with what is new since the frame `mark`; with `None` everything is new. Returns `None` in the
    /// middle of a frame.
    pub fn rows_since(&self, screen: &Screen, mark: Option<u64>) -> Option<RowsSince> {
        let rows = (0..screen.size().1).map(|row| screen.row_text(row));
        let rows: Vec<_> = rows.collect();
        let new = match mark {
            Some(mark) => {
                let changes = self.changes.as_ref()?;
                if !changes.is_current(screen) {
                    return None;
                }
                let places = changes.new_places(mark).into_iter();
                let bytes = places.filter_map(|place| {
                    let bytes = rows.get(usize::from(place.row))?.bytes(place.cols);
                    Some((place.row, bytes.start, bytes.end))
                });
                bytes.filter(|(_, from, to)| from < to).collect()
            }
            None => {
                let all = rows.iter().zip(0..).filter(|(row, _)| !row.text().is_empty());
                all.map(|(row, at)| (at, 0, row.text().len())).collect()
            }
        };
        let cursor = screen.cursor();
        let before = rows.get(usize::from(cursor.row)).map_or(0, |row| row.bytes(0..cursor.col).end);
        let rows = rows.iter().map(|row| row.text().to_owned()).collect();
        Some(RowsSince { rows, new, cursor: (cursor.row, before) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(marks: &ScreenMarks, screen: &Screen, mark: u64) -> Vec<String> {
        let found = marks.rows_since(screen, Some(mark)).unwrap();
        found.new.iter().map(|(row, from, to)| found.rows[usize::from(*row)][*from..*to].to_owned()).collect()
    }

    #[test]
    fn only_what_comes_after_a_mark_is_new() {
        let (mut marks, mut screen) = (ScreenMarks::default(), Screen::new(10, 3));
        screen.feed("漢 old\r\n".as_bytes());
        let mark = marks.take(&mut screen, Stamp(1));
        marks.open(Stamp(2));
        screen.feed("漢new".as_bytes());
        assert_eq!(marks.rows_since(&screen, Some(mark)), None, "in the middle of a frame");
        marks.end_frame(&mut screen, Stamp(3));
        assert_eq!(news(&marks, &screen, mark), ["漢new"]);
        let found = marks.rows_since(&screen, Some(mark)).unwrap();
        assert_eq!((found.new, found.cursor), (vec![(1, 0, 6)], (1, 6)));
        let later = marks.take(&mut screen, Stamp(4));
        assert!(later > mark && news(&marks, &screen, later).is_empty());
        let all = marks.rows_since(&screen, None).unwrap();
        assert_eq!(all.new, [(0, 0, 7), (1, 0, 6)], "another run's mark");
    }

    #[test]
    fn a_picture_that_is_held_back_is_not_looked_at() {
        let (mut marks, mut screen) = (ScreenMarks::default(), Screen::new(10, 3));
        screen.feed(b"Done");
        let mark = marks.take(&mut screen, Stamp(1));
        screen.feed(b"\x1b[?2026h\x1b[2J");
        marks.end_frame(&mut screen, Stamp(2));
        assert_eq!(marks.rows_since(&screen, Some(mark)), None);
        screen.feed(b"\x1b[HDone\x1b[?2026l");
        marks.end_frame(&mut screen, Stamp(3));
        assert!(news(&marks, &screen, mark).is_empty(), "the same was drawn again");
    }

    #[test]
    fn a_frame_without_a_pause_is_cut() {
        let (mut marks, mut screen) = (ScreenMarks::default(), Screen::new(10, 3));
        marks.open(Stamp(5));
        assert!(!marks.is_open(), "nobody wants to know");
        marks.take(&mut screen, Stamp(5));
        marks.open(Stamp(10));
        marks.open(Stamp(90));
        assert_eq!((marks.is_overdue(Stamp(109)), marks.is_overdue(Stamp(110))), (false, true));
    }
}
