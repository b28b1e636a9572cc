//! SGR: the pen. Colours are `38;5;n` and `38;2;r;g;b`, or with colons, where RGB may contain a colour space.

use super::params::ParamsIter;
use crate::screen::grid::{Attr, Color, PackedStyle, Underline};

impl PackedStyle {
    /// Applies the parameters of an SGR. Unknown numbers are skipped; an incomplete colour ends the sequence.
    #[inline(always)]
    pub fn change(&mut self, mut params: ParamsIter<'_>) {
        let style = self;
        while let Some(param) = params.next() {
            match *param {
                [38, ..] => extended(param, &mut params, |color| style.set_foreground(color)),
                [48, ..] => extended(param, &mut params, |color| style.set_background(color)),
                [58, ..] => extended(param, &mut params, |color| style.set_underline_color(color)),
                [4, kind] => style.set_underline(underline(kind)),
                [number] => simple(style, number),
                _ => {}
            }
        }
    }
}

#[inline(always)]
fn simple(style: &mut PackedStyle, number: u16) {
    match number {
        0 => *style = style.plain(),
        1 => style.add(Attr::Bold),
        2 => style.add(Attr::Dim),
        3 => style.add(Attr::Italic),
        4 => style.set_underline(Underline::Single),
        5 | 6 => style.add(Attr::Blink),
        7 => style.add(Attr::Reverse),
        8 => style.add(Attr::Hidden),
        9 => style.add(Attr::Strike),
        21 => style.set_underline(Underline::Double),
        22 => {
            style.remove(Attr::Bold);
            style.remove(Attr::Dim);
        }
        23 => style.remove(Attr::Italic),
        24 => style.set_underline(Underline::None),
        25 => style.remove(Attr::Blink),
        27 => style.remove(Attr::Reverse),
        28 => style.remove(Attr::Hidden),
        29 => style.remove(Attr::Strike),
        30..=37 => style.set_foreground(Color::Indexed((number - 30) as u8)),
        39 => style.set_foreground(Color::Default),
        40..=47 => style.set_background(Color::Indexed((number - 40) as u8)),
        49 => style.set_background(Color::Default),
        53 => style.add(Attr::Overline),
        55 => style.remove(Attr::Overline),
        59 => style.set_underline_color(Color::Default),
        90..=97 => style.set_foreground(Color::Indexed((number - 90 + 8) as u8)),
        100..=107 => style.set_background(Color::Indexed((number - 100 + 8) as u8)),
        _ => {}
    }
}

fn underline(kind: u16) -> Underline {
    match kind {
        0 => Underline::None,
        2 => Underline::Double,
        3 => Underline::Curly,
        4 => Underline::Dotted,
        5 => Underline::Dashed,
        _ => Underline::Single,
    }
}

/// Reads an extended colour, from the rest of its own parameter or from the following ones.
#[inline(always)]
fn extended(param: &[u16], rest: &mut ParamsIter<'_>, set: impl FnOnce(Color)) {
    let read = match *param {
        [_] => {
            let mut next = || rest.next().and_then(|param| param.first().copied());
            match next() {
                Some(5) => next().and_then(indexed),
                Some(2) => match (next(), next(), next()) {
                    (Some(r), Some(g), Some(b)) => rgb(r, g, b),
                    _ => None,
                },
                _ => None,
            }
        }
        [_, 5, index, ..] => indexed(index),
        [_, 2, r, g, b] => rgb(r, g, b),
        [_, 2, _, r, g, b, ..] => rgb(r, g, b),
        _ => None,
    };
    if let Some(color) = read {
        set(color);
    }
}

fn indexed(index: u16) -> Option<Color> {
    u8::try_from(index).ok().map(Color::Indexed)
}

fn rgb(r: u16, g: u16, b: u16) -> Option<Color> {
    Some(Color::Rgb(u8::try_from(r).ok()?, u8::try_from(g).ok()?, u8::try_from(b).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{Screen, Style};

    fn pen(sgr: &str) -> Style {
        let mut screen = Screen::new(4, 1);
        screen.feed(format!("\x1b[{sgr}mx").as_bytes());
        screen.row_runs(0)[0].style
    }

    fn colors(style: Style) -> (Color, Color, Color) {
        (style.fg, style.bg, style.underline_color)
    }

    #[test]
    fn attributes_come_and_go() {
        let on = pen("1;2;3;4;5;7;8;9;53");
        assert_eq!(
            on.attr_names(),
            ["bold", "dim", "italic", "blink", "reverse", "hidden", "strike", "overline", "underline"]
        );
        assert_eq!(pen("1;2;3;4;5;7;8;9;53;22;23;24;25;27;28;29;55"), Style::default());
        assert_eq!(pen("1;31;4:3;"), Style::default());
    }

    #[test]
    fn colours_in_every_form() {
        use Color::{Default, Indexed, Rgb};
        let table = [
            ("31;44", (Indexed(1), Indexed(4), Default)),
            ("91;104", (Indexed(9), Indexed(12), Default)),
            ("31;44;39;49", (Default, Default, Default)),
            ("38;5;200", (Indexed(200), Default, Default)),
            ("38:5:200", (Indexed(200), Default, Default)),
            ("48;2;1;2;3", (Default, Rgb(1, 2, 3), Default)),
            ("48:2:1:2:3", (Default, Rgb(1, 2, 3), Default)),
            ("48:2::1:2:3", (Default, Rgb(1, 2, 3), Default)),
            ("48:2:0:1:2:3:0:1", (Default, Rgb(1, 2, 3), Default)),
            ("58:5:7", (Default, Default, Indexed(7))),
            ("58;2;9;8;7", (Default, Default, Rgb(9, 8, 7))),
            ("58:5:7;59", (Default, Default, Default)),
            ("38;5;200;1;48;5;3", (Indexed(200), Indexed(3), Default)),
        ];
        for (sgr, expected) in table {
            assert_eq!(colors(pen(sgr)), expected, "{sgr}");
        }
        assert!(pen("38;5;200;1;48;5;3").has(Attr::Bold));
    }

    #[test]
    fn underlines_have_kinds() {
        for (sgr, kind) in [
            ("4", Underline::Single),
            ("21", Underline::Double),
            ("4:3", Underline::Curly),
            ("4:4", Underline::Dotted),
            ("4:5", Underline::Dashed),
            ("4:3;4:0", Underline::None),
            ("4:9", Underline::Single),
        ] {
            assert_eq!(pen(sgr).underline, kind, "{sgr}");
        }
        // A colon is not a semicolon: this is not italic.
        assert!(!pen("4:3").has(Attr::Italic));
    }

    #[test]
    fn broken_colours_change_nothing() {
        for sgr in ["38", "38;5", "38;2;1;2", "38;5;256", "38;2;300;0;0", "38:2:1", "38:9", "999"] {
            assert_eq!(pen(sgr), Style::default(), "{sgr}");
        }
    }
}
