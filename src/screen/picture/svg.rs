//! The picture as an SVG image, in a usual palette: the model does not know the terminal's own colours.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::PictureLines;
use crate::screen::{Attr, Color, CursorShape, Hyperlink, Screen, Style, Underline};

/// A cell's width and height, in pixels.
const CELL: (usize, usize) = (9, 18);
/// From the top of a cell to the line on which text stands, in pixels.
const BASE: usize = 14;

const FOREGROUND: [u8; 3] = [0xd0, 0xd0, 0xd0];
const BACKGROUND: [u8; 3] = [0x10, 0x10, 0x10];

/// The first 16 colours, as xterm has them.
const NAMED: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 0, 0],
    [0, 205, 0],
    [205, 205, 0],
    [0, 0, 238],
    [205, 0, 205],
    [0, 205, 205],
    [229, 229, 229],
    [127, 127, 127],
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [92, 92, 255],
    [255, 0, 255],
    [0, 255, 255],
    [255, 255, 255],
];

impl Screen {
    /// An image of the rows, with the cursor.
    #[must_use]
    pub fn svg(&self, lines: PictureLines) -> String {
        let rows: Vec<_> = self.picture(lines).collect();
        let above = rows.len().saturating_sub(usize::from(self.size().1));
        let (width, height) = (usize::from(self.size().0) * CELL.0, rows.len() * CELL.1);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
             <style>text{{font:15px monospace;white-space:pre;fill:{}}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n",
            hex(FOREGROUND),
            hex(BACKGROUND)
        );
        if !self.title().is_empty() {
            out.push_str("<title>");
            escape(self.title(), &mut out);
            out.push_str("</title>\n");
        }
        for (at, runs) in rows.iter().enumerate() {
            let mut col = 0;
            for run in runs {
                let cells = run.text.width();
                let address = run.link.as_ref().map(Hyperlink::uri).filter(|uri| is_followed(uri));
                if let Some(uri) = address {
                    out.push_str("<a href=\"");
                    escape(uri, &mut out);
                    out.push_str("\">");
                }
                draw(&run.text, &run.style, (col, at, cells), &mut out);
                out.push_str(if address.is_some() { "</a>\n" } else { "" });
                col += cells;
            }
        }
        let cursor = self.cursor();
        if cursor.visible {
            let (x, y) = (usize::from(cursor.col) * CELL.0, (above + usize::from(cursor.row)) * CELL.1);
            let (top, width, height) = match cursor.shape {
                CursorShape::BlinkingBar | CursorShape::SteadyBar => (0, 2, CELL.1),
                CursorShape::BlinkingUnderline | CursorShape::SteadyUnderline => (CELL.1 - 2, CELL.0, 2),
                _ => (0, CELL.0, CELL.1),
            };
            rect((x, y + top), (width, height), FOREGROUND, " fill-opacity=\"0.6\"", &mut out);
        }
        out.push_str("</svg>\n");
        out
    }
}

/// Whether an image may lead there: not to files, and to no script.
fn is_followed(uri: &str) -> bool {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https" | "mailto"))
}

/// A run at a column and row, so many cells wide.
fn draw(text: &str, style: &Style, (col, row, cells): (usize, usize, usize), out: &mut String) {
    let (mut fore, mut back) = (rgb(style.fg).unwrap_or(FOREGROUND), rgb(style.bg));
    if style.has(Attr::Reverse) {
        (fore, back) = (back.unwrap_or(BACKGROUND), Some(fore));
    }
    let (x, y, width) = (col * CELL.0, row * CELL.1, cells * CELL.0);
    if let Some(back) = back {
        rect((x, y), (width, CELL.1), back, "", out);
    }
    let mut lines = Vec::new();
    for (on, line) in [
        (style.underline != Underline::None, "underline"),
        (style.has(Attr::Strike), "line-through"),
        (style.has(Attr::Overline), "overline"),
    ] {
        lines.extend(on.then_some(line));
    }
    if style.has(Attr::Hidden) || (lines.is_empty() && text.trim_matches(' ').is_empty()) {
        return;
    }
    let _ = write!(out, "<text x=\"{x}\" y=\"{}\" textLength=\"{width}\" xml:space=\"preserve\"", y + BASE);
    if fore != FOREGROUND {
        let _ = write!(out, " style=\"fill:{}\"", hex(fore));
    }
    for (attr, words) in [
        (Attr::Bold, " font-weight=\"bold\""),
        (Attr::Italic, " font-style=\"italic\""),
        (Attr::Dim, " fill-opacity=\"0.6\""),
    ] {
        out.push_str(if style.has(attr) { words } else { "" });
    }
    if !lines.is_empty() {
        let form = match style.underline {
            Underline::None | Underline::Single => "",
            Underline::Double => " double",
            Underline::Curly => " wavy",
            Underline::Dotted => " dotted",
            Underline::Dashed => " dashed",
        };
        let color = rgb(style.underline_color).map(|color| format!(" {}", hex(color))).unwrap_or_default();
        let _ = write!(out, " text-decoration=\"{}{form}{color}\"", lines.join(" "));
    }
    out.push('>');
    escape(text, out);
    out.push_str("</text>\n");
}

fn rect(
    (x, y): (usize, usize),
    (width, height): (usize, usize),
    fill: [u8; 3],
    more: &str,
    out: &mut String,
) {
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{}\"{more}/>",
        hex(fill)
    );
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// A colour; `None` for the default.
fn rgb(color: Color) -> Option<[u8; 3]> {
    match color {
        Color::Default => None,
        Color::Rgb(r, g, b) => Some([r, g, b]),
        Color::Indexed(index @ 0..=15) => NAMED.get(usize::from(index)).copied(),
        // A cube of six steps each way, and then greys.
        Color::Indexed(index @ 16..=231) => {
            let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let index = index - 16;
            Some([step(index / 36), step(index / 6 % 6), step(index % 6)])
        }
        Color::Indexed(index) => Some([8 + 10 * (index - 232); 3]),
    }
}

/// Text as XML has it, without what XML cannot hold.
fn escape(text: &str, out: &mut String) {
    for ch in text.chars() {
        match ch {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            ch => out.push(ch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_is_in_the_image() {
        let mut screen = Screen::new(20, 3);
        screen.feed(
            "a<b&c\x1b[2;3H\x1b[1;7;32m漢\x1b[m\x1b[3;1H\x1b[9;4:3;58:2::1:2:3mx\x1b[m\x1b[4 q\x1b]2;<t>\x07"
                .as_bytes(),
        );
        let svg = screen.svg(PictureLines::Screen);
        for part in [
            "width=\"180\" height=\"54\"",
            "<title>&lt;t&gt;</title>",
            ">a&lt;b&amp;c</text>",
            "<rect x=\"18\" y=\"18\" width=\"18\" height=\"18\" fill=\"#00cd00\"/>",
            "textLength=\"18\" xml:space=\"preserve\" style=\"fill:#101010\" font-weight=\"bold\">漢</text>",
            "text-decoration=\"underline line-through wavy #010203\">x</text>",
            "<rect x=\"9\" y=\"52\" width=\"9\" height=\"2\" fill=\"#d0d0d0\" fill-opacity=\"0.6\"/>",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
    }

    #[test]
    fn only_addresses_of_the_web_and_of_mail_are_links() {
        let mut screen = Screen::new(20, 1);
        screen.feed(b"\x1b]8;;HTTPS://a/?b&\"<\x07x\x1b]8;;javascript:y\x07y\x1b]8;;file:///z\x07z");
        let svg = screen.svg(PictureLines::Screen);
        assert!(svg.contains("<a href=\"HTTPS://a/?b&amp;&quot;&lt;\"><text "), "{svg}");
        assert_eq!((svg.matches("<a ").count(), svg.matches("</a>").count()), (1, 1), "{svg}");
    }

    #[test]
    fn the_palette_has_a_cube_and_greys() {
        let all = [0, 15, 16, 21, 231, 232, 255].map(|index| hex(rgb(Color::Indexed(index)).unwrap()));
        assert_eq!(all, ["#000000", "#ffffff", "#000000", "#0000ff", "#ffffff", "#080808", "#eeeeee"]);
    }
}
