//! Settings that a child queries (DECRQSS), reported as the sequence that would set them.

use crate::screen::cursor::CursorShape;
use crate::screen::display::DisplayState;
use crate::screen::grid::{Attr, Color, Style, Underline};

/// A setting at the time of the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalSetting {
    /// SGR: the pen.
    Pen(Style),
    /// DECSTBM: first and last row of the scrolling region, 1-based.
    Rows(u16, u16),
    /// DECSLRM: first and last column of the scrolling region, 1-based.
    Columns(u16, u16),
    /// DECSCUSR: the cursor's shape; the default is reported as such, because its meaning is unknown.
    Shape(CursorShape),
    /// DECSCA: whether text is written with protection from selective erasing.
    Protection(bool),
    /// DECSACE: whether attributes change in rectangles.
    Rectangles(bool),
    /// DECSCL: the terminal is a VT220 with 7-bit controls, as in its device attributes.
    Level,
    /// DECSLPP: rows of a page.
    PageRows(u16),
    /// DECSNLS: rows of the screen.
    ScreenRows(u16),
    /// DECSCPP: columns of a page.
    PageColumns(u16),
}

impl TerminalSetting {
    /// The sequence that sets it, without its introducer.
    pub(in crate::screen) fn text(self) -> String {
        match self {
            Self::Pen(style) => pen(style),
            Self::Rows(first, last) => format!("{first};{last}r"),
            Self::Columns(first, last) => format!("{first};{last}s"),
            Self::Shape(shape) => format!("{} q", shape.number()),
            Self::Protection(on) => format!("{}\"q", u8::from(on)),
            Self::Rectangles(on) => format!("{}*x", if on { 2 } else { 0 }),
            Self::Level => "62;1\"p".to_owned(),
            Self::PageRows(rows) => format!("{rows}t"),
            Self::ScreenRows(rows) => format!("{rows}*|"),
            Self::PageColumns(cols) => format!("{cols}$|"),
        }
    }
}

/// The pen in xterm's form: 0 first, then the attributes that are set, and extended colours with colons,
/// which Neovim expects.
fn pen(style: Style) -> String {
    let mut parts = vec!["0".to_owned()];
    parts.extend(Attr::ALL.into_iter().filter(|attr| style.has(*attr)).map(|attr| attr.code().to_owned()));
    match style.underline {
        Underline::None => {}
        Underline::Single => parts.push("4".to_owned()),
        kind => parts.push(format!("4:{}", kind as u8)),
    }
    for (color, base) in [(style.fg, 30), (style.bg, 40), (style.underline_color, 50)] {
        match color {
            Color::Default => {}
            Color::Indexed(n @ 0..=7) if base < 50 => parts.push((base + n).to_string()),
            Color::Indexed(n @ 8..=15) if base < 50 => parts.push((base + 52 + n).to_string()),
            Color::Indexed(n) => parts.push(format!("{}:5:{n}", base + 8)),
            Color::Rgb(r, g, b) => parts.push(format!("{}:2::{r}:{g}:{b}", base + 8)),
        }
    }
    parts.join(";") + "m"
}

impl TerminalSetting {
    /// The setting that a request names, with its current value.
    pub(in crate::screen) fn requested(request: &[u8], display: &DisplayState) -> Option<Self> {
        let place = |at: usize| at as u16 + 1;
        let position = &display.position;
        let (cols, rows, margins, pen) =
            (position.cols as u16, position.rows as u16, position.margins, position.cursor.pen);
        Some(match request {
            b"m" => Self::Pen(pen.unpack()),
            b"r" => Self::Rows(place(margins.top), place(margins.bottom)),
            b"s" => Self::Columns(place(margins.left), place(margins.right)),
            b" q" => Self::Shape(display.cursor_shape.unwrap_or_default()),
            b"\"q" => Self::Protection(pen.is_protected() && !display.iso_protection),
            b"*x" => Self::Rectangles(display.rectangular_changes),
            b"\"p" => Self::Level,
            b"t" => Self::PageRows(rows),
            b"*|" => Self::ScreenRows(rows),
            b"$|" => Self::PageColumns(cols),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::screen::{Screen, TerminalIdentity, reply};

    fn told(bytes: &str, request: &str) -> String {
        let mut screen = Screen::new(80, 24);
        screen.feed(format!("{bytes}\x1bP$q{request}\x1b\\").as_bytes());
        let queries = screen.take_queries();
        assert_eq!(queries.len(), 1, "{request:?}");
        let answer = String::from_utf8(reply(&queries[0], &TerminalIdentity::new("0.1.0"))).unwrap();
        answer.strip_prefix("\x1bP").and_then(|rest| rest.strip_suffix("\x1b\\")).unwrap().to_owned()
    }

    #[test]
    fn every_setting_is_told_as_the_sequence_that_sets_it() {
        let table = [
            ("", "m", "1$r0m"),
            ("\x1b[1;5;7m", "m", "1$r0;1;5;7m"),
            ("\x1b[2;3;8;9;53;4:3m", "m", "1$r0;2;3;8;9;53;4:3m"),
            ("\x1b[31;102;58:5:3m", "m", "1$r0;31;102;58:5:3m"),
            ("\x1b[38;5;56;48;2;1;2;3m", "m", "1$r0;38:5:56;48:2::1:2:3m"),
            ("\x1b[5;6r", "r", "1$r5;6r"),
            ("", "r", "1$r1;24r"),
            ("\x1b[?69h\x1b[3;4s", "s", "1$r3;4s"),
            ("", " q", "1$r0 q"),
            ("\x1b[4 q", " q", "1$r4 q"),
            ("\x1b[1\"q", "\"q", "1$r1\"q"),
            ("\x1bV", "\"q", "1$r0\"q"),
            ("\x1b[2*x", "*x", "1$r2*x"),
            ("", "*x", "1$r0*x"),
            ("", "\"p", "1$r62;1\"p"),
            ("", "t", "1$r24t"),
            ("", "*|", "1$r24*|"),
            ("", "$|", "1$r80$|"),
        ];
        for (bytes, request, answer) in table {
            assert_eq!(told(bytes, request), answer, "{bytes:?} {request:?}");
        }
    }

    #[test]
    fn a_setting_that_is_not_known_is_told_to_be_so() {
        for request in ["", "x", "mm", "\"\"q", "$}", "m;m", " q "] {
            assert_eq!(told("", request), "0$r", "{request:?}");
        }
        assert_eq!(told("", &"m".repeat(100_000)), "0$r");
    }
}
