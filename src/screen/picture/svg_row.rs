//! One row as SVG, relative to its top left corner.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

use super::svg::CELL;
use super::theme::{PictureTheme, Rgb, hex};
use crate::screen::{Attr, Hyperlink, Style, StyledRun, Underline};

/// From the top of a row to the baseline, in pixels.
const BASE: usize = 14;

/// A row; empty for an empty one.
pub fn draw_row(runs: &[StyledRun], theme: &PictureTheme) -> String {
    let mut out = String::new();
    let mut col = 0;
    for run in runs {
        col += draw_run(run, col, theme, &mut out);
    }
    out
}

/// Draws a run at a column and returns its width in columns.
fn draw_run(run: &StyledRun, col: usize, theme: &PictureTheme, out: &mut String) -> usize {
    let cols = run.text.chars().map(|ch| ch.width().unwrap_or(0)).sum();
    let (fg, bg) = theme.pair(&run.style);
    let (x, width) = (col * CELL.0, cols * CELL.0);
    if let Some(bg) = bg {
        let (height, fill) = (CELL.1, hex(bg));
        let _ = write!(out, "<rect x=\"{x}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>");
    }
    let address = run.link.as_ref().map(Hyperlink::uri).filter(|uri| is_followed(uri));
    if let Some(uri) = address {
        out.push_str("<a href=\"");
        escape(uri, out);
        out.push_str("\">");
    }
    if !run.style.has(Attr::Hidden) {
        for part in parts(&run.text) {
            text(&part, col, &run.style, (fg, theme.fg), out);
        }
    }
    lines(&run.style, (x, width), (fg, theme), out);
    if address.is_some() {
        out.push_str("</a>");
    }
    cols
}

/// Whether an image or a page may link there: not to files or scripts.
pub fn is_followed(uri: &str) -> bool {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https" | "mailto"))
}

/// A piece of a run whose characters have the same width, without blanks around it.
struct TextPart<'a> {
    text: &'a str,
    /// Columns from the start of the run.
    col: usize,
    cols: usize,
}

/// Splits text into pieces that stay in their columns with any font: of narrow or of wide characters, and
/// without wide gaps.
fn parts(text: &str) -> Vec<TextPart<'_>> {
    let mut parts: Vec<TextPart<'_>> = Vec::new();
    // The piece's start, its column, and the width of its characters.
    let mut piece: Option<(usize, usize, usize)> = None;
    // The end of its last character, in columns and bytes.
    let (mut col, mut end) = (0, (0, 0));
    for (at, ch) in text.char_indices() {
        let width = ch.width().unwrap_or(0);
        if ch != ' ' {
            let far = col > end.1 + 2;
            if let Some((start, from, of)) = piece
                && width > 0
                && (of != width || far)
            {
                parts.push(TextPart { text: &text[start..end.0], col: from, cols: end.1 - from });
                piece = None;
            }
            piece.get_or_insert((at, col, width.max(1)));
            end = (at + ch.len_utf8(), col + width);
        }
        col += width;
    }
    parts.extend(piece.map(|(start, from, _)| TextPart {
        text: &text[start..end.0],
        col: from,
        cols: end.1 - from,
    }));
    parts
}

fn text(part: &TextPart<'_>, col: usize, style: &Style, (fg, usual): (Rgb, Rgb), out: &mut String) {
    let (x, width) = ((col + part.col) * CELL.0, part.cols * CELL.0);
    let _ = write!(out, "<text x=\"{x}\" y=\"{BASE}\"");
    if part.cols > 1 {
        let _ = write!(out, " textLength=\"{width}\"");
    }
    if fg != usual {
        let _ = write!(out, " style=\"fill:{}\"", hex(fg));
    }
    for (attr, words) in [
        (Attr::Bold, " font-weight=\"bold\""),
        (Attr::Italic, " font-style=\"italic\""),
        (Attr::Dim, " fill-opacity=\".6\""),
    ] {
        out.push_str(if style.has(attr) { words } else { "" });
    }
    out.push('>');
    escape(part.text, out);
    out.push_str("</text>");
}

/// Lines under, through and above, as shapes: viewers draw text decoration differently.
fn lines(style: &Style, (x, width): (usize, usize), (fg, theme): (Rgb, &PictureTheme), out: &mut String) {
    let mut line = |y: &str, color: Rgb, more: &str| {
        let _ = write!(out, "<path d=\"M{x} {y}h{width}\" stroke=\"{}\"{more}/>", hex(color));
    };
    let color = theme.rgb(style.underline_color).unwrap_or(fg);
    match style.underline {
        Underline::None => {}
        Underline::Single => line("16.5", color, ""),
        Underline::Double => {
            line("15.5", color, "");
            line("17.5", color, "");
        }
        Underline::Dotted => line("16.5", color, " stroke-dasharray=\"1 2\""),
        Underline::Dashed => line("16.5", color, " stroke-dasharray=\"5 4\""),
        Underline::Curly => {
            let wave = "q1.1 -2.2 2.25 0t2.25 0".repeat(2 * width / CELL.0);
            let stroke = hex(color);
            let _ = write!(out, "<path d=\"M{x} 16{wave}\" stroke=\"{stroke}\" fill=\"none\"/>");
        }
    }
    let mut line = |y: &str| {
        let _ = write!(out, "<path d=\"M{x} {y}h{width}\" stroke=\"{}\"/>", hex(fg));
    };
    if style.has(Attr::Strike) {
        line("9.5");
    }
    if style.has(Attr::Overline) {
        line(".5");
    }
}

/// Text for XML, without characters that XML does not allow.
pub fn escape(text: &str, out: &mut String) {
    for ch in text.chars() {
        match ch {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            ch => out.push(ch),
        }
    }
}
