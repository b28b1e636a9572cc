//! A film as SVG that plays in any browser and in a README. It contains no script, no font and no external
//! resource.

mod film_strip;
#[cfg(test)]
mod svg_tests;

use super::cast_theme::theme_of_cast;
use super::film::{Film, FilmOptions};
use super::play_time::PlayTime;
use super::timeline::Timeline;
use crate::screen::picture::svg_row::draw_row;
use crate::screen::picture::theme::PictureTheme;

/// The largest film at the requested rate, in bytes: larger ones keep fans busy.
pub const FILM_BYTES_MAX: usize = 500_000;
/// The frame rates that are tried until the film is small enough.
const RATES: [u32; 5] = [12, 8, 5, 3, 2];
/// The most frames of a film.
const FRAMES_MAX: usize = 20_000;
/// How long the last frame stays before the film starts again, in µs.
const HOLD_US: u64 = 2_000_000;

/// The part of a recording to show.
#[derive(Clone, Copy, Debug)]
pub struct AnimationRange<'a> {
    /// The playing time, with pauses cut.
    pub time: &'a PlayTime,
    /// The start, in µs of the recording.
    pub from_us: u64,
    pub to_us: u64,
}

/// A film as an animated SVG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnimatedSvg {
    pub svg: String,
    pub frames: usize,
    /// The most frames a second.
    pub fps: u32,
    /// If it is larger than [`FILM_BYTES_MAX`]: the end, in µs of the recording, up to which it would fit.
    pub fits_to_us: Option<u64>,
}

pub fn theme_of(timeline: &Timeline) -> PictureTheme {
    timeline.header().theme.as_ref().map(theme_of_cast).unwrap_or_default()
}

/// A part of a recording as an animated SVG, at a lower frame rate if it would be too large.
pub fn animated_svg(timeline: &Timeline, range: AnimationRange<'_>) -> AnimatedSvg {
    let theme = theme_of(timeline);
    let AnimationRange { time, from_us, to_us } = range;
    let options = FilmOptions { time, from_us, to_us, fps: RATES[0], frames: FRAMES_MAX };
    let mut film = Film::shoot(timeline, options, |screen, row| draw_row(&screen.row_runs(row), &theme));
    let title = timeline.header().title.clone().unwrap_or_default();
    let mut made = AnimatedSvg { svg: String::new(), frames: 0, fps: 0, fits_to_us: None };
    for fps in RATES {
        film.thin(fps);
        made = AnimatedSvg {
            svg: film_strip::draw(&film, &theme, &title),
            frames: film.frames.len(),
            fps,
            fits_to_us: None,
        };
        if made.svg.len() <= FILM_BYTES_MAX {
            return made;
        }
    }
    let fits = film_strip::fits(&film, FILM_BYTES_MAX);
    made.fits_to_us = film.frames.get(fits).map(|frame| frame.recorded_us);
    made
}
