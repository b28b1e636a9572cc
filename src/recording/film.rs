//! A recording as frames for a page or an image: at a limited rate, made of rows that are drawn once.

use std::collections::HashMap;
use std::rc::Rc;

use super::moment::Moment;
use super::play_time::PlayTime;
use super::timeline::Timeline;
use crate::screen::{Cursor, Screen};

/// How long to wait for the end of a synchronized update, in µs.
const DRAWING_US: u64 = 1_000_000;

/// The most cells of all frames: 20,000 frames of a usual terminal, fewer of a large one.
const CELLS_MAX: usize = 100_000_000;

/// The part of a recording to render, and how.
#[derive(Clone, Copy, Debug)]
pub struct FilmOptions<'a> {
    /// The playing time, with long pauses cut.
    pub time: &'a PlayTime,
    /// The start, in µs of the recording.
    pub from_us: u64,
    pub to_us: u64,
    /// The most frames a second.
    pub fps: u32,
    /// The most frames; later ones are dropped.
    pub frames: usize,
}

/// Frames and the rows that they are made of.
#[derive(Clone, Debug, Default)]
pub struct Film {
    /// The rows as `draw` made them, each once. The first is empty.
    pub rows: Vec<Rc<str>>,
    /// The frames, at least one.
    pub frames: Vec<FilmFrame>,
    /// The playing time, in µs.
    pub duration_us: u64,
    /// Columns and rows of the largest frame.
    pub size: (u16, u16),
    /// Whether frames were dropped at the end.
    pub is_cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilmFrame {
    /// The time since the start of the film, in µs.
    pub at_us: u64,
    /// The time of the recording, in µs.
    pub recorded_us: u64,
    /// The rows from the top, as indexes into [`Film::rows`].
    pub rows: Vec<u32>,
    pub cursor: Cursor,
    pub cols: u16,
}

impl Film {
    /// Renders a recording; `draw` makes a row, and an empty string for an empty row.
    pub fn shoot(
        timeline: &Timeline,
        options: FilmOptions<'_>,
        mut draw: impl FnMut(&Screen, u16) -> String,
    ) -> Film {
        let mut film = Film { rows: vec!["".into()], size: (1, 1), ..Film::default() };
        let mut numbers = HashMap::from([("".into(), 0)]);
        let time = options.time;
        let start = time.playing(options.from_us);
        let interval = 1_000_000 / u64::from(options.fps.max(1));
        let mut moment = Moment::new(timeline);
        moment.seek(options.from_us);
        film.take(&moment, (0, options.from_us), &mut numbers, &mut draw);
        let mut due = interval;
        let mut cells = 0;
        while let Some(next) = moment.next_us().filter(|next| *next <= options.to_us) {
            let (cols, rows) = moment.screen().size();
            cells += usize::from(cols) * usize::from(rows);
            if film.frames.len() >= options.frames || cells > CELLS_MAX {
                film.is_cut = true;
                break;
            }
            let mut at = time.playing(next) - start;
            // Everything up to the next frame's time is one frame, and so is one synchronized update.
            let mut to = next.max(time.recorded(start + due.max(at)));
            moment.seek(to.min(options.to_us));
            let begun = moment.at_us();
            while moment.screen().is_drawing()
                && let Some(more) =
                    moment.next_us().filter(|more| *more <= options.to_us.min(begun + DRAWING_US))
            {
                moment.seek(more);
                to = more;
            }
            at = at.max(due).max(time.playing(to.min(options.to_us)) - start);
            let recorded = moment.at_us();
            film.take(&moment, (at, recorded), &mut numbers, &mut draw);
            due = at + interval;
        }
        film.duration_us =
            (time.playing(options.to_us) - start).max(film.frames.last().map_or(0, |last| last.at_us));
        film
    }

    fn take(
        &mut self,
        moment: &Moment<'_>,
        (at_us, recorded_us): (u64, u64),
        numbers: &mut HashMap<Rc<str>, u32>,
        draw: &mut impl FnMut(&Screen, u16) -> String,
    ) {
        let screen = moment.screen();
        let (cols, count) = screen.size();
        let mut rows = Vec::with_capacity(usize::from(count));
        for row in 0..count {
            let drawn = draw(screen, row).into();
            let next = self.rows.len() as u32;
            let number = *numbers.entry(drawn).or_insert_with_key(|drawn| {
                self.rows.push(Rc::clone(drawn));
                next
            });
            rows.push(number);
        }
        self.size = (self.size.0.max(cols), self.size.1.max(count));
        let frame = FilmFrame { at_us, recorded_us, rows, cursor: screen.cursor(), cols };
        let same = |last: &FilmFrame| {
            (&last.rows, last.cursor, last.cols) == (&frame.rows, frame.cursor, frame.cols)
        };
        if !self.frames.last().is_some_and(same) {
            self.frames.push(frame);
        }
    }

    /// Drops frames so that there are at most `fps` a second. Of those that coincide the last stays.
    pub fn thin(&mut self, fps: u32) {
        let interval = 1_000_000 / u64::from(fps.max(1));
        let mut kept: Vec<FilmFrame> = Vec::with_capacity(self.frames.len());
        for frame in self.frames.drain(..) {
            match kept.len().checked_sub(1).and_then(|last| Some((last, kept.get(last)?))) {
                Some((last, before)) if last > 0 && frame.at_us < before.at_us + interval => {
                    let at_us = before.at_us;
                    kept[last] = FilmFrame { at_us, ..frame };
                }
                _ => kept.push(frame),
            }
        }
        self.frames = kept;
    }

    /// The frame to show as a still image: the last one with much content.
    pub fn poster(&self) -> usize {
        let written = |frame: &FilmFrame| frame.rows.iter().filter(|row| **row > 0).count();
        let most = self.frames.iter().map(written).max().unwrap_or(0);
        self.frames.iter().rposition(|frame| 2 * written(frame) >= most).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::cast::CastEventKind;
    use crate::recording::timeline_tests::{cast, output};

    fn film(events: &[(u64, CastEventKind)], fps: u32) -> Film {
        let timeline = Timeline::load(&cast(events)).unwrap();
        let time = PlayTime::new(&timeline, None);
        let options =
            FilmOptions { time: &time, from_us: 0, to_us: timeline.duration_us(), fps, frames: 100 };
        Film::shoot(&timeline, options, |screen, row| {
            screen.row_runs(row).into_iter().map(|run| run.text).collect()
        })
    }

    /// The times in ms, and the first rows.
    fn seen(film: &Film) -> Vec<(u64, &str)> {
        let row = |frame: &FilmFrame| &*film.rows[frame.rows[0] as usize];
        film.frames.iter().map(|frame| (frame.at_us / 1000, row(frame))).collect()
    }

    #[test]
    fn thinning_limits_the_rate_and_keeps_the_last_frame() {
        let events: Vec<_> = (1..=100).map(|n| (n * 10, output(&format!("\x1b[H{n:03}")))).collect();
        let film = film(&events, 10);
        let want: Vec<(u64, String)> = (0..=10)
            .map(|n| (n * 100, if n == 0 { String::new() } else { format!("{:03}", n * 10) }))
            .collect();
        let seen: Vec<(u64, String)> =
            seen(&film).into_iter().map(|(at, row)| (at, row.to_owned())).collect();
        assert_eq!(seen, want);
        let mut thin = film.clone();
        thin.thin(2);
        assert_eq!(thin.frames.last().map(|frame| &frame.rows), film.frames.last().map(|frame| &frame.rows));
        assert!(thin.frames.len() <= 4, "{:?}", thin.frames);
    }

    #[test]
    fn a_large_screen_has_fewer_frames() {
        let mut events = vec![(0, CastEventKind::Resize { cols: 1000, rows: 1000 })];
        // Of a frame that equals the one before only the work counts.
        events.extend((1..=300).map(|n| (n * 200, output("\x1b[H"))));
        let film = film(&events, 10);
        assert!(film.is_cut, "{}", film.frames.len());
    }

    #[test]
    fn a_picture_that_is_held_back_is_filmed_when_it_is_whole() {
        let film = film(
            &[
                (0, output("old")),
                (500, output("\x1b[?2026h\x1b[2J\x1b[H")),
                (510, output("new")),
                (700, output("\x1b[?2026l")),
                (5000, output("\r")),
            ],
            10,
        );
        assert_eq!(seen(&film), [(0, "old"), (700, "new"), (5000, "new")]);
    }

    #[test]
    fn the_poster_is_the_last_frame_with_much_on_it() {
        let film = film(
            &[(0, output("a\r\nb\r\nc\r\nd")), (1000, output("\x1b[2H\x1b[J")), (2000, output("\x1b[2J"))],
            10,
        );
        assert_eq!((film.frames.len(), film.poster()), (3, 0));
    }
}
