//! The stack of pens that a child puts aside and takes back (XTPUSHSGR, XTPOPSGR).

use crate::screen::grid::PackedStyle;

/// Most pushes that are kept: as many as in xterm.
const DEPTH: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SavedPen {
    style: PackedStyle,
    /// Bit n: restore what SGR number n switches. No bits: restore everything.
    parts: u32,
}

/// The saved pens, the last one on top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PenStack {
    pushed: Vec<SavedPen>,
}

impl PenStack {
    /// Saves a pen; the parts that the numbers name will be restored, or all without numbers. Link and
    /// protection are never restored.
    pub fn push(&mut self, style: PackedStyle, numbers: impl Iterator<Item = u16>) {
        if self.pushed.len() < DEPTH {
            let parts = numbers
                .filter_map(|number| 1u32.checked_shl(number.into()))
                .fold(0, |parts, part| parts | part)
                & !1;
            let mut style = style.unlinked();
            style.protect(false);
            self.pushed.push(SavedPen { style, parts });
        }
    }

    /// Restores the last one into `look`.
    pub fn pop(&mut self, style: &mut PackedStyle) {
        if let Some(pen) = self.pushed.pop() {
            style.take(pen.style, pen.parts);
        }
    }

    /// The saved pens from the bottom, each with the sequence that saves it.
    pub fn redo(&self) -> impl Iterator<Item = (PackedStyle, String)> {
        self.pushed.iter().map(|pen| {
            let numbers =
                (1..u32::BITS).filter(|number| pen.parts & 1 << number != 0).map(|number| number.to_string());
            (pen.style, format!("\x1b[{}#{{", numbers.collect::<Vec<_>>().join(";")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{Color, Screen};

    /// The pen after these bytes, by its sequence.
    fn pen(bytes: &str) -> String {
        let mut screen = Screen::new(4, 1);
        screen.feed(format!("{bytes}x").as_bytes());
        screen.row_runs(0)[0].style.sgr().replace('\x1b', "")
    }

    #[test]
    fn a_pen_comes_back_as_it_was_put_aside() {
        assert_eq!(pen("\x1b[1;31;4:3;58:5:9m\x1b[#{\x1b[0;7m\x1b[#}"), "[0;1;4:3;31;58:5:9m");
        assert_eq!(pen("\x1b[1m\x1b[#{\x1b[3m\x1b[#{\x1b[m\x1b[#}\x1b[#}\x1b[#}"), "[0;1m");
        assert_eq!(pen("\x1b[1m\x1b[#p\x1b[m\x1b[#q"), "[0;1m");
        assert_eq!(pen("\x1b[#}\x1b[1m"), "[0;1m");
    }

    #[test]
    fn only_the_parts_that_were_named_come_back() {
        assert_eq!(pen("\x1b[1;3;31;42m\x1b[1;30#{\x1b[0;32;43m\x1b[#}"), "[0;1;31;43m");
        assert_eq!(pen("\x1b[1;3m\x1b[3;99#{\x1b[0;4;48;5;200m\x1b[#}"), "[0;3;4;48;5;200m");
        assert_eq!(pen("\x1b[21;53;41m\x1b[21;31#{\x1b[m\x1b[#}"), "[0;4:2;41m");
    }

    #[test]
    fn links_and_protection_stay_as_they_are() {
        let mut style = PackedStyle::default();
        style.set_link(3);
        style.protect(true);
        let mut pens = PenStack::default();
        pens.push(style, std::iter::empty());
        let mut other = PackedStyle::default();
        other.set_link(4);
        other.set_background(Color::Indexed(1));
        pens.pop(&mut other);
        assert_eq!((other.link(), other.is_protected(), other.is_plain()), (4, false, true));
    }

    #[test]
    fn no_more_are_kept_than_xterm_keeps() {
        let mut pens = PenStack::default();
        (0..1000).for_each(|_| pens.push(PackedStyle::default(), std::iter::once(1)));
        assert_eq!(pens.redo().count(), DEPTH);
        assert_eq!(pens.redo().next(), Some((PackedStyle::default(), "\x1b[1#{".to_owned())));
    }
}
