//! A film as SVG that plays in any browser and in a README. No script, no font and
//! nothing from elsewhere is in it.

mod film_strip;
#[cfg(test)]
mod svg_tests;

use super::cast_theme::theme_of_cast;
use super::film::{Film, FilmOptions};
use super::play_time::PlayTime;
use super::timeline::Timeline;
use crate::screen::picture::svg_row::draw_row;
use crate::screen::picture::theme::PictureTheme;

/// The largest film that is made as it is wished for, in bytes: larger ones keep fans busy.
pub const FILM_BYTES_MAX: usize = 500_000;
/// The frames a second that are tried until the film is small enough.
const RATES: [u32; 5] = [12, 8, 5, 3, 2];
/// The most frames of a film.
const FRAMES_MAX: usize = 20_000;
/// How long the last frame stands before the film begins again, in µs.
const HOLD_US: u64 = 2_000_000;

/// The part of a recording that is shown.
#[derive(Clone, Copy, Debug)]
pub struct AnimationRange<'a> {
    /// Pauses are cut.
    pub time: &'a PlayTime,
    /// From when, in µs of the recording.
    pub from_us: u64,
    pub to_us: u64,
}

/// A film as an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnimatedSvg {
    /// The image.
    pub svg: String,
    pub frames: usize,
    /// How many of them there are a second at most.
    pub fps: u32,
    /// If it is larger than [`FILM_BYTES_MAX`]: up to when in the recording, in µs, it would not be.
    pub fits_to_us: Option<u64>,
}

/// The colours of a recording's terminal.
pub fn theme_of(timeline: &Timeline) -> PictureTheme {
    timeline.header().theme.as_ref().map(theme_of_cast).unwrap_or_default()
}

/// A part of a recording as an image that plays, with fewer frames a second where it would be too large.
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
