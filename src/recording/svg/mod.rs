//! Pictures as SVG: one screen, or a film that plays in any browser and in a README. No script, no font and
//! nothing from elsewhere is in them.

mod film_strip;
pub(super) mod svg_row;
#[cfg(test)]
mod svg_tests;

use std::fmt::Write;

use super::film::{Film, FilmOptions};
use super::play_time::PlayTime;
use super::theme::{PictureTheme, hex};
use super::timeline::Timeline;
use crate::screen::{Cursor, CursorShape, Screen};

/// A cell's width and height, in pixels.
const CELL: (usize, usize) = (9, 18);
/// The empty border around the screen, in pixels.
const BORDER: usize = 12;
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
    /// To when.
    pub to_us: u64,
}

/// A film as an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnimatedSvg {
    /// The image.
    pub svg: String,
    /// Its frames.
    pub frames: usize,
    /// How many of them there are a second at most.
    pub fps: u32,
    /// If it is larger than [`FILM_BYTES_MAX`]: up to when in the recording, in µs, it would not be.
    pub fits_to_us: Option<u64>,
}

/// The colours of a recording's terminal.
#[must_use]
pub fn theme_of(timeline: &Timeline) -> PictureTheme {
    timeline.header().theme.as_ref().map(PictureTheme::of_cast).unwrap_or_default()
}

/// A screen as an image, with its cursor.
#[must_use]
pub fn still_svg(screen: &Screen, theme: &PictureTheme) -> String {
    let (cols, rows) = screen.size();
    let mut out = begin((cols, rows), theme, screen.title(), "");
    let _ = writeln!(out, "<g transform=\"translate({BORDER} {BORDER})\">");
    for row in 0..rows {
        let drawn = svg_row::draw(screen, row, theme);
        if !drawn.is_empty() {
            let _ = writeln!(out, "<g transform=\"translate(0 {})\">{drawn}</g>", usize::from(row) * CELL.1);
        }
    }
    cursor(screen.cursor(), theme, &mut out);
    out.push_str("</g>\n</svg>\n");
    out
}

/// A part of a recording as an image that plays, with fewer frames a second where it would be too large.
#[must_use]
pub fn animated_svg(timeline: &Timeline, range: AnimationRange<'_>) -> AnimatedSvg {
    let theme = theme_of(timeline);
    let AnimationRange { time, from_us, to_us } = range;
    let options = FilmOptions { time, from_us, to_us, fps: RATES[0], frames: FRAMES_MAX };
    let mut film = Film::shoot(timeline, options, |screen, row| svg_row::draw(screen, row, &theme));
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

/// The image up to its background, for a screen of so many columns and rows.
fn begin((cols, rows): (u16, u16), theme: &PictureTheme, title: &str, style: &str) -> String {
    let width = usize::from(cols) * CELL.0 + 2 * BORDER;
    let height = usize::from(rows) * CELL.1 + 2 * BORDER;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<style>text{{font:15px ui-monospace,SFMono-Regular,Menlo,Consolas,\
         'DejaVu Sans Mono','Liberation Mono',monospace;white-space:pre;fill:{}}}{style}</style>\n",
        hex(theme.fg)
    );
    if !title.is_empty() {
        out.push_str("<title>");
        svg_row::escape(title, &mut out);
        out.push_str("</title>\n");
    }
    let _ =
        writeln!(out, "<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{}\"/>", hex(theme.bg));
    out
}

/// The cursor over what stands there.
fn cursor(cursor: Cursor, theme: &PictureTheme, out: &mut String) {
    if !cursor.visible {
        return;
    }
    let (x, y) = (usize::from(cursor.col) * CELL.0, usize::from(cursor.row) * CELL.1);
    let (top, width, height) = match cursor.shape {
        CursorShape::BlinkingBar | CursorShape::SteadyBar => (0, 2, CELL.1),
        CursorShape::BlinkingUnderline | CursorShape::SteadyUnderline => (CELL.1 - 2, CELL.0, 2),
        _ => (0, CELL.0, CELL.1),
    };
    let (y, fill) = (y + top, hex(theme.fg));
    let _ = write!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\" fill-opacity=\".6\"/>"
    );
}
