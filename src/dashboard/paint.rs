//! The ratatui backend: frames as bytes for a terminal. One frame is one write, in a synchronized update
//! (mode 2026, which other terminals ignore).
//!
//! ratatui's own backend on crossterm would add event readers, a second signal-hook and mio; this is the
//! part that the dashboard needs. It is also the last filter for text: only printable characters get past
//! it.

use std::io::{self, Write};

use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};

use super::session_row::is_harmless;

/// Whether to write colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorOutput {
    On,
    /// No colours (`NO_COLOR`).
    Off,
}

/// The backend: frames go to `out`, the size comes from `size`.
#[derive(Debug)]
pub struct Paint<W, S> {
    out: W,
    size: S,
    colors: ColorOutput,
    frame: Vec<u8>,
}

impl<W: Write, S: Fn() -> Size> Paint<W, S> {
    /// A backend that calls `size` for the terminal's size at each frame.
    pub fn new(out: W, size: S, colors: ColorOutput) -> Self {
        Paint { out, size, colors, frame: Vec::new() }
    }

    fn sgr(&mut self, cell: &Cell) {
        const NUMBERS: [(Modifier, u8); 7] = [
            (Modifier::BOLD, 1),
            (Modifier::DIM, 2),
            (Modifier::ITALIC, 3),
            (Modifier::UNDERLINED, 4),
            (Modifier::REVERSED, 7),
            (Modifier::HIDDEN, 8),
            (Modifier::CROSSED_OUT, 9),
        ];
        let mut numbers = "0".to_owned();
        for (modifier, number) in NUMBERS {
            if cell.modifier.contains(modifier) {
                numbers.push_str(&format!(";{number}"));
            }
        }
        if self.colors == ColorOutput::On {
            numbers.push_str(&color(cell.fg, 30));
            numbers.push_str(&color(cell.bg, 40));
        }
        self.frame.extend_from_slice(format!("\x1b[{numbers}m").as_bytes());
    }
}

/// The SGR parameters of a colour, each after a `;`; `base` is 30 for the foreground, 40 for the
/// background.
fn color(color: Color, base: u8) -> String {
    let named = |n: u8| if n < 8 { format!(";{}", base + n) } else { format!(";{}", base + 60 + n - 8) };
    match color {
        Color::Reset => String::new(),
        Color::Black => named(0),
        Color::Red => named(1),
        Color::Green => named(2),
        Color::Yellow => named(3),
        Color::Blue => named(4),
        Color::Magenta => named(5),
        Color::Cyan => named(6),
        Color::Gray => named(7),
        Color::DarkGray => named(8),
        Color::LightRed => named(9),
        Color::LightGreen => named(10),
        Color::LightYellow => named(11),
        Color::LightBlue => named(12),
        Color::LightMagenta => named(13),
        Color::LightCyan => named(14),
        Color::White => named(15),
        Color::Indexed(n) if n < 16 => named(n),
        Color::Indexed(n) => format!(";{};5;{n}", base + 8),
        Color::Rgb(r, g, b) => format!(";{};2;{r};{g};{b}", base + 8),
    }
}

impl<W: Write, S: Fn() -> Size> Backend for Paint<W, S> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut look = None;
        for (x, y, cell) in content {
            // Each cell is positioned: the terminal's width of a character may differ from ours.
            self.frame.extend_from_slice(format!("\x1b[{};{}H", y + 1, x + 1).as_bytes());
            let this = (cell.fg, cell.bg, cell.modifier);
            if look != Some(this) {
                look = Some(this);
                self.sgr(cell);
            }
            if cell.symbol().chars().all(is_harmless) {
                self.frame.extend_from_slice(cell.symbol().as_bytes());
            } else {
                self.frame.push(b'?');
            }
        }
        if look.is_some() {
            self.frame.extend_from_slice(b"\x1b[0m");
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.frame.extend_from_slice(b"\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.frame.extend_from_slice(b"\x1b[?25h");
        Ok(())
    }

    /// The position is never queried: the reply would arrive among the keys.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        self.frame.extend_from_slice(format!("\x1b[{};{}H", y + 1, x + 1).as_bytes());
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.frame.extend_from_slice(b"\x1b[0m\x1b[2J");
        Ok(())
    }

    /// Always clears everything: a part is never cleared here.
    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        Ok((self.size)())
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: (self.size)(), pixels: Size::new(0, 0) })
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        let frame = std::mem::take(&mut self.frame);
        self.out.write_all(&[b"\x1b[?2026h", frame.as_slice(), b"\x1b[?2026l"].concat())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::style::Style;
    use ratatui::text::{Line, Span};

    use super::*;

    fn painted(colors: ColorOutput, line: Line<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let paint = Paint::new(&mut bytes, || Size::new(20, 2), colors);
        Terminal::new(paint).unwrap().draw(|frame| frame.render_widget(line, frame.area())).unwrap();
        bytes
    }

    #[test]
    fn a_terminal_shows_what_was_drawn() {
        let style = Style::new()
            .fg(Color::Indexed(9))
            .bg(Color::Rgb(1, 2, 3))
            .add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        let bytes = painted(ColorOutput::On, Line::from(vec![Span::raw("ä漢 "), Span::styled("x", style)]));
        let mut screen = crate::screen::Screen::new(20, 2);
        screen.feed(&bytes);
        assert_eq!(screen.lines(), ["ä漢 x", ""]);
        let run = &screen.row_runs(0)[1];
        assert_eq!(
            (run.style.fg.name(), run.style.bg.name()),
            (Some("9".to_owned()), Some("#010203".to_owned()))
        );
        assert_eq!(run.style.attr_names(), ["bold", "underline"]);
    }

    #[test]
    fn without_colours_there_are_none_and_looks_stay() {
        let style = Style::new().fg(Color::Red).bg(Color::Indexed(200)).add_modifier(Modifier::REVERSED);
        let bytes = painted(ColorOutput::Off, Line::styled("x", style));
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("\x1b[0;7m") && !text.contains("31") && !text.contains("200"), "{text:?}");
    }

    #[test]
    fn escape_sequences_are_filtered() {
        let mut bytes = Vec::new();
        let mut paint = Paint::new(&mut bytes, || Size::new(20, 2), ColorOutput::On);
        let mut cell = Cell::EMPTY;
        cell.set_symbol("\x1b]0;owned\x07");
        paint.draw([(0, 0, &cell)].into_iter()).unwrap();
        paint.flush().unwrap();
        assert!(!String::from_utf8(bytes).unwrap().contains("owned"));
    }
}
