//! The picture as an SVG image. It contains no script, no font and no external resource.

use std::fmt::Write;

use super::PictureLines;
use super::svg_row::{draw_row, escape};
use super::theme::{PictureTheme, hex};
use crate::screen::{Cursor, CursorShape, Screen};

/// A cell's width and height, in pixels.
pub const CELL: (usize, usize) = (9, 18);
/// The empty border around the screen, in pixels.
pub const BORDER: usize = 12;

impl Screen {
    /// An image of the rows and the cursor, in VHS's colours.
    pub fn svg(&self, lines: PictureLines) -> String {
        self.themed_svg(lines, &PictureTheme::default())
    }

    /// [`Screen::svg`] in the colours of a terminal.
    pub fn themed_svg(&self, lines: PictureLines, theme: &PictureTheme) -> String {
        let rows: Vec<_> = self.picture(lines).collect();
        let (cols, height) = self.size();
        let above = rows.len().saturating_sub(usize::from(height));
        let mut out = begin_svg((usize::from(cols), rows.len()), theme, self.title(), "");
        let _ = writeln!(out, "<g transform=\"translate({BORDER} {BORDER})\">");
        for (at, runs) in rows.iter().enumerate() {
            let drawn = draw_row(runs, theme);
            if !drawn.is_empty() {
                let _ = writeln!(out, "<g transform=\"translate(0 {})\">{drawn}</g>", at * CELL.1);
            }
        }
        if above > 0 {
            let _ = write!(out, "<g transform=\"translate(0 {})\">", above * CELL.1);
        }
        draw_cursor(self.cursor(), theme, &mut out);
        out.push_str(if above > 0 { "</g></g>\n</svg>\n" } else { "</g>\n</svg>\n" });
        out
    }
}

/// The image up to its background, for a screen of this size.
pub fn begin_svg((cols, rows): (usize, usize), theme: &PictureTheme, title: &str, style: &str) -> String {
    let width = cols * CELL.0 + 2 * BORDER;
    let height = rows * CELL.1 + 2 * BORDER;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" width=\"{width}\" \
         height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<style>text{{font:15px \
         ui-monospace,SFMono-Regular,Menlo,Consolas,\
         'DejaVu Sans Mono','Liberation Mono',monospace;white-space:pre;fill:{}}}{style}</style>\n",
        hex(theme.fg)
    );
    if !title.is_empty() {
        out.push_str("<title>");
        escape(title, &mut out);
        out.push_str("</title>\n");
    }
    let _ =
        writeln!(out, "<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{}\"/>", hex(theme.bg));
    out
}

/// Draws the cursor over the text.
pub fn draw_cursor(cursor: Cursor, theme: &PictureTheme, out: &mut String) {
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
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\" \
         fill-opacity=\".6\"/>"
    );
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
            "width=\"204\" height=\"78\"",
            "<title>&lt;t&gt;</title>",
            ">a&lt;b&amp;c</text>",
            "<rect x=\"18\" width=\"18\" height=\"18\" fill=\"#31bb71\"/>",
            "textLength=\"18\" style=\"fill:#171717\" font-weight=\"bold\">漢</text>",
            "stroke=\"#010203\" fill=\"none\"/>",
            "<rect x=\"9\" y=\"52\" width=\"9\" height=\"2\" fill=\"#ddd\" fill-opacity=\".6\"/>",
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
        let all = [0, 15, 16, 21, 231, 232, 255]
            .map(|index| hex(PictureTheme::default().rgb(crate::screen::Color::Indexed(index)).unwrap()));
        assert_eq!(all, ["#282a2e", "#e6e6e6", "#000", "#00f", "#fff", "#080808", "#eee"]);
    }
}
