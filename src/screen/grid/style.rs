//! The style of a cell: colours, underline and attributes that SGR switches.
//!
//! `parser/sgr.rs` reads SGR; the modules that show a style convert it to JSON or back to escape sequences.

/// A colour as the child named it. The palette belongs to the terminal, so an index stays an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// The terminal's own foreground or background.
    #[default]
    Default,
    /// An entry of the 256-colour palette; 0-15 are the named colours.
    Indexed(u8),
    /// Red, green, blue, 0-255 each.
    Rgb(u8, u8, u8),
}

impl Color {
    /// The colour as text: `None` for the default, the index in decimal, or `#rrggbb`.
    #[must_use]
    pub fn name(self) -> Option<String> {
        match self {
            Self::Default => None,
            Self::Indexed(index) => Some(index.to_string()),
            Self::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
        }
    }
}

/// The kind of underline (`CSI 4:n m`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Underline {
    #[default]
    None,
    /// One line, as plain `CSI 4 m`.
    Single,
    /// Two lines, also `CSI 21 m`.
    Double,
    Curly,
    Dotted,
    Dashed,
}

/// One attribute that is on or off. Underline is not here: it has kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attr {
    /// SGR 1.
    Bold,
    /// Dim or faint, SGR 2.
    Dim,
    /// SGR 3.
    Italic,
    /// SGR 5 and 6.
    Blink,
    /// Foreground and background exchanged, SGR 7.
    Reverse,
    /// Invisible, SGR 8.
    Hidden,
    /// Struck through, SGR 9.
    Strike,
    /// A line above, SGR 53.
    Overline,
}

impl Attr {
    /// Every attribute, in the order of SGR numbers.
    pub const ALL: [Self; 8] = [
        Self::Bold,
        Self::Dim,
        Self::Italic,
        Self::Blink,
        Self::Reverse,
        Self::Hidden,
        Self::Strike,
        Self::Overline,
    ];

    /// The attribute's name in `screen --json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bold => "bold",
            Self::Dim => "dim",
            Self::Italic => "italic",
            Self::Blink => "blink",
            Self::Reverse => "reverse",
            Self::Hidden => "hidden",
            Self::Strike => "strike",
            Self::Overline => "overline",
        }
    }

    /// The SGR number that switches it on.
    pub(in crate::screen) fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Italic => "3",
            Self::Blink => "5",
            Self::Reverse => "7",
            Self::Hidden => "8",
            Self::Strike => "9",
            Self::Overline => "53",
        }
    }

    /// Its bit in a set of attributes.
    pub(in crate::screen) fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The style of one cell, and the pen that the next character is written with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub fg: Color,
    pub bg: Color,
    /// Colour of the underline; the default is the foreground's.
    pub underline_color: Color,
    pub underline: Underline,
    attrs: u8,
}

impl Style {
    pub fn has(&self, attr: Attr) -> bool {
        self.attrs & attr.bit() != 0
    }

    pub fn add(&mut self, attr: Attr) {
        self.attrs |= attr.bit();
    }

    pub fn remove(&mut self, attr: Attr) {
        self.attrs &= !attr.bit();
    }

    /// The sequence that sets this pen, whatever the previous one was.
    pub fn sgr(&self) -> String {
        let mut out = "\x1b[".to_owned();
        let mut code = |code: &str| {
            out.push_str(if out.len() > 2 { ";" } else { "" });
            out.push_str(code);
        };
        if *self != Self::default() {
            code("0");
        }
        Attr::ALL.into_iter().filter(|attr| self.has(*attr)).for_each(|attr| code(attr.code()));
        match self.underline {
            Underline::None => {}
            Underline::Single => code("4"),
            kind => code(&format!("4:{}", kind as u8)),
        }
        for (color, base) in [(self.fg, 30), (self.bg, 40)] {
            match color {
                Color::Default => {}
                Color::Indexed(n @ 0..=7) => code(&(base + n).to_string()),
                Color::Indexed(n @ 8..=15) => code(&(base + 52 + n).to_string()),
                Color::Indexed(n) => code(&format!("{};5;{n}", base + 8)),
                Color::Rgb(r, g, b) => code(&format!("{};2;{r};{g};{b}", base + 8)),
            }
        }
        // With colons: a terminal that does not support it must not read its numbers as other attributes.
        match self.underline_color {
            Color::Default => {}
            Color::Indexed(n) => code(&format!("58:5:{n}")),
            Color::Rgb(r, g, b) => code(&format!("58:2::{r}:{g}:{b}")),
        }
        out.push('m');
        out
    }

    /// The names of all attributes that are on, `underline` last.
    pub fn attr_names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> =
            Attr::ALL.into_iter().filter(|attr| self.has(*attr)).map(Attr::name).collect();
        if self.underline != Underline::None {
            names.push("underline");
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_independent_of_each_other() {
        for attr in Attr::ALL {
            let mut style = Style::default();
            style.add(attr);
            assert_eq!(style.attr_names(), [attr.name()]);
            style.remove(attr);
            assert_eq!(style, Style::default());
        }
    }

    #[test]
    fn colours_have_names() {
        assert_eq!(Color::Default.name(), None);
        assert_eq!(Color::Indexed(9).name().as_deref(), Some("9"));
        assert_eq!(Color::Rgb(1, 171, 255).name().as_deref(), Some("#01abff"));
    }
}
