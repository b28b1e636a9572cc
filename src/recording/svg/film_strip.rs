//! A film as SVG: all frames side by side, of which a window shows one; CSS moves them. Rows are drawn once,
//! and so are groups of rows that occur together in several frames.

use std::collections::HashMap;
use std::fmt::Write;

use super::HOLD_US;
use crate::recording::film::{Film, FilmFrame};
use crate::screen::picture::svg::{BORDER, CELL, begin_svg, draw_cursor};
use crate::screen::picture::theme::PictureTheme;

/// What has been drawn: the numbers of rows and groups of rows, and their definitions.
#[derive(Default)]
struct Definitions {
    rows: HashMap<u32, usize>,
    groups: HashMap<Vec<u32>, usize>,
    text: String,
}

pub(super) fn draw(film: &Film, theme: &PictureTheme, title: &str) -> String {
    let mut definitions = Definitions::default();
    let width = usize::from(film.size.0) * CELL.0;
    let height = usize::from(film.size.1) * CELL.1;
    let mut frames = String::new();
    for (at, frame) in film.frames.iter().enumerate() {
        let _ = write!(frames, "<g transform=\"translate({})\">", at * width);
        draw_frame(film, frame, &mut definitions, &mut frames);
        draw_cursor(frame.cursor, theme, &mut frames);
        frames.push_str("</g>\n");
    }
    let mut out =
        begin_svg((usize::from(film.size.0), usize::from(film.size.1)), theme, title, &style(film, width));
    let _ = write!(out, "<defs>\n{}</defs>\n", definitions.text);
    let poster = film.poster() * width;
    let _ = write!(
        out,
        "<svg x=\"{BORDER}\" y=\"{BORDER}\" width=\"{width}\" height=\"{height}\">\n\
         <g class=\"film\" transform=\"translate(-{poster})\">\n{frames}</g>\n</svg>\n</svg>\n"
    );
    out
}

/// Approximately how many of the first frames fit into an image of `bytes`.
pub(super) fn fits(film: &Film, bytes: usize) -> usize {
    let mut definitions = Definitions::default();
    let mut frames = String::new();
    for (at, frame) in film.frames.iter().enumerate() {
        draw_frame(film, frame, &mut definitions, &mut frames);
        // The frame itself, its cursor and its part of the style need about this much.
        if definitions.text.len() + frames.len() + (at + 8) * 180 > bytes {
            return at.saturating_sub(1);
        }
    }
    film.frames.len()
}

/// The moves from frame to frame. Without motion, by choice or for lack of support, the poster is shown.
fn style(film: &Film, width: usize) -> String {
    if film.frames.len() < 2 {
        return String::new();
    }
    let whole = film.duration_us + HOLD_US;
    let mut style = format!(
        "@media(prefers-reduced-motion:no-preference){{.film{{animation:film {:.3}s steps(1,end) infinite}}}}\
         @keyframes film{{",
        whole as f64 / 1e6
    );
    for (at, frame) in film.frames.iter().enumerate() {
        let share = format!("{:.4}", frame.at_us as f64 * 100.0 / whole as f64);
        let share = share.trim_end_matches('0').trim_end_matches('.');
        let _ = write!(style, "{share}%{{transform:translateX(-{}px)}}", at * width);
    }
    let _ = write!(style, "to{{transform:translateX(-{}px)}}}}", (film.frames.len() - 1) * width);
    style
}

/// A frame made of groups of rows: as many groups as rows in each, so that a frame with one new row needs
/// little.
fn draw_frame(film: &Film, frame: &FilmFrame, definitions: &mut Definitions, out: &mut String) {
    let size = frame.rows.len().isqrt().max(1);
    for (at, rows) in frame.rows.chunks(size).enumerate() {
        let used = rows.iter().rposition(|row| *row > 0).map_or(0, |last| last + 1);
        let top = at * size * CELL.1;
        match &rows[..used] {
            [] => {}
            [row] => use_row(film, *row, top, definitions, out),
            rows => {
                let number = match definitions.groups.get(rows) {
                    Some(number) => *number,
                    None => {
                        let mut group = String::new();
                        for (at, row) in rows.iter().enumerate().filter(|(_, row)| **row > 0) {
                            use_row(film, *row, at * CELL.1, definitions, &mut group);
                        }
                        let number = definitions.groups.len();
                        definitions.groups.insert(rows.to_vec(), number);
                        let _ = writeln!(definitions.text, "<g id=\"g{number}\">{group}</g>");
                        number
                    }
                };
                write_use('g', number, top, out);
            }
        }
    }
}

fn use_row(film: &Film, row: u32, top: usize, definitions: &mut Definitions, out: &mut String) {
    let next = definitions.rows.len();
    let number = *definitions.rows.entry(row).or_insert(next);
    if number == next {
        let drawn = film.rows.get(row as usize).map_or("", |row| &**row);
        let _ = writeln!(definitions.text, "<g id=\"r{number}\">{drawn}</g>");
    }
    write_use('r', number, top, out);
}

fn write_use(kind: char, number: usize, top: usize, out: &mut String) {
    let _ = write!(out, "<use href=\"#{kind}{number}\"");
    if top > 0 {
        let _ = write!(out, " y=\"{top}\"");
    }
    out.push_str("/>");
}
