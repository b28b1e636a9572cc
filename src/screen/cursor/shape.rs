/// The visible state of the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Column, 0-based. With pending wrap it is the last one.
    pub col: u16,
    /// Row, 0-based.
    pub row: u16,
    /// Whether it is shown (DECTCEM, mode 25).
    pub visible: bool,
    pub shape: CursorShape,
}

/// The cursor's form (DECSCUSR, `CSI n SP q`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorShape {
    /// 0: as the terminal is configured.
    #[default]
    Default,
    BlinkingBlock,
    SteadyBlock,
    BlinkingUnderline,
    SteadyUnderline,
    BlinkingBar,
    SteadyBar,
}

impl CursorShape {
    /// The shape of a DECSCUSR number, `None` for an unknown one.
    pub(in crate::screen) fn from_number(number: u16) -> Option<Self> {
        Some(match number {
            0 => Self::Default,
            1 => Self::BlinkingBlock,
            2 => Self::SteadyBlock,
            3 => Self::BlinkingUnderline,
            4 => Self::SteadyUnderline,
            5 => Self::BlinkingBar,
            6 => Self::SteadyBar,
            _ => return None,
        })
    }

    /// The number that sets it (DECSCUSR).
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }

    /// `block`, `underline` or `bar` in `screen --json`; the default counts as a block.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default | Self::BlinkingBlock | Self::SteadyBlock => "block",
            Self::BlinkingUnderline | Self::SteadyUnderline => "underline",
            Self::BlinkingBar | Self::SteadyBar => "bar",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_numbers_and_names() {
        let names: Vec<_> = (0..8).map(|n| CursorShape::from_number(n).map(CursorShape::name)).collect();
        assert_eq!(names[4], Some("underline"));
        assert_eq!(names[6], Some("bar"));
        assert_eq!(names[7], None);
    }
}
