//! Character sets: G0 to G3, designations, shifts, and the DEC graphics characters.

/// A character set that `ESC (` and the like designate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// US ASCII, and all other characters of the text unchanged.
    #[default]
    Ascii,
    /// British: `#` is a pound sign.
    British,
    /// DEC special graphics: lines and boxes instead of lower-case letters.
    Graphics,
    /// A set that hopty does not draw but must undo and restore: national and supplemental sets. The bytes
    /// that designated it: two, the second 0 if there was only one, and the last byte.
    Other([u8; 3]),
}

/// The DEC graphics characters for 0x5f to 0x7e (VT100 user guide, table 3-9).
const GRAPHICS: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─', '⎼', '⎽',
    '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

impl Charset {
    /// The set that `ESC`, these bytes and the last one name. For the second family (`-`, `.`, `/`) the sets
    /// have other names.
    fn designated(first: u8, rest: &[u8], last: u8) -> Self {
        match (rest.first(), last) {
            (None, b'B') if first <= b'+' => Self::Ascii,
            (None, b'0') if first <= b'+' => Self::Graphics,
            (None, b'A') if first <= b'+' => Self::British,
            (second, _) => Self::Other([first, second.copied().unwrap_or(0), last]),
        }
    }

    /// The sequence that designates it as G0 to G3: `which` is the byte for one of them.
    fn designation(self, which: char) -> String {
        match self {
            Self::Ascii => format!("\x1b{which}B"),
            Self::British => format!("\x1b{which}A"),
            Self::Graphics => format!("\x1b{which}0"),
            Self::Other(bytes) => {
                let bytes = bytes.into_iter().filter(|byte| *byte != 0).map(char::from);
                std::iter::once('\x1b').chain(bytes).collect()
            }
        }
    }

    #[inline]
    fn map(self, ch: char) -> char {
        match (self, ch) {
            (Self::British, '#') => '£',
            (Self::Graphics, '_'..='~') => GRAPHICS[ch as usize - '_' as usize],
            _ => ch,
        }
    }
}

/// G0 to G3, and the active one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charsets {
    sets: [Charset; 4],
    /// The active set; above two bits, the set of a single shift, if there is one.
    shown: u8,
}

impl Charsets {
    /// Whether text is shown as it is received.
    #[inline]
    pub fn is_ascii(self) -> bool {
        self.sets.get(usize::from(self.shown)).is_some_and(|set| *set == Charset::Ascii)
    }

    /// The displayed character for a received one; ends a single shift.
    #[inline]
    pub fn read(&mut self, ch: char) -> char {
        match self.sets.get(usize::from(self.shown)) {
            Some(set) => set.map(ch),
            None if matches!(ch, ' '..='~') => {
                let set = self.sets[usize::from(self.shown >> 2 & 3)];
                *self = self.unshifted();
                set.map(ch)
            }
            None => ch,
        }
    }

    /// `ESC (`, `)`, `*`, `+` and the like: the set of G0 to G3. False if `intermediates` are not a
    /// designation.
    pub fn designate(&mut self, intermediates: &[u8], last: u8) -> bool {
        let Some((first, rest)) = intermediates.split_first() else { return false };
        let at = match first {
            b'(' => 0,
            b')' | b'-' => 1,
            b'*' | b'.' => 2,
            b'+' | b'/' => 3,
            _ => return false,
        };
        self.sets[at] = Charset::designated(*first, rest, last);
        true
    }

    /// SI, SO, LS2, LS3: makes one of G0 to G3 active.
    pub fn shift(&mut self, to: u8) {
        self.shown = to & 3;
    }

    /// SS2, SS3: the next character is read in G2 or G3.
    pub fn shift_once(&mut self, to: u8) {
        self.shown = self.shown & 3 | to << 2;
    }

    /// This state without a single shift.
    pub fn unshifted(self) -> Self {
        Self { shown: self.shown & 3, ..self }
    }

    /// The sequences that set these character sets on a fresh terminal.
    pub fn redo(self) -> String {
        let changed = "()*+".chars().zip(self.sets).filter(|(_, set)| *set != Charset::Ascii);
        let mut bytes: String = changed.map(|(which, set)| set.designation(which)).collect();
        bytes.push_str(["", "\x0e", "\x1bn", "\x1bo"][usize::from(self.shown & 3)]);
        bytes.push_str(["", "", "\x1bN", "\x1bO"][usize::from(self.shown >> 2 & 3)]);
        bytes
    }

    /// What must precede the last displayed character so that it is read as itself again: a single shift, if
    /// it was read in one and the active set would change it.
    pub fn again(self, ch: char) -> &'static str {
        let is_itself = |at: usize| self.sets.get(at).is_some_and(|set| set.map(ch) == ch);
        let shifts = [(usize::from(self.shown & 3), ""), (2, "\x1bN"), (3, "\x1bO")];
        shifts.into_iter().find(|(at, _)| is_itself(*at)).map_or("", |(_, shift)| shift)
    }

    /// The sequences that restore ASCII everywhere.
    pub fn undo(self) -> String {
        let changed = "()*+".chars().zip(self.sets).filter(|(_, set)| *set != Charset::Ascii);
        let mut bytes: String = changed.map(|(which, _)| Charset::Ascii.designation(which)).collect();
        if self.shown != 0 {
            bytes.push('\x0f');
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphics_cover_exactly_their_range() {
        let shown: String = "^_`aqx~\u{7f}é".chars().map(|ch| Charset::Graphics.map(ch)).collect();
        assert_eq!(shown, "^ ◆▒─│·\u{7f}é");
        assert_eq!(Charset::British.map('#'), '£');
        assert_eq!(Charset::Ascii.map('q'), 'q');
        assert_eq!(Charset::Other(*b"(\0K").map('q'), 'q');
    }

    #[test]
    fn four_sets_are_designated_and_shifted_to() {
        let mut sets = Charsets::default();
        for (n, first) in b"()*+".iter().enumerate() {
            assert!(sets.designate(&[*first], b'0'));
            sets.shift(n as u8);
            assert_eq!(sets.read('q'), '─');
        }
        assert_eq!(sets.undo(), "\x1b(B\x1b)B\x1b*B\x1b+B\x0f");
        assert!(sets.designate(b"-", b'A') && sets.designate(b"(%", b'5') && !sets.designate(b"#", b'8'));
        assert_eq!((sets.sets[1], sets.sets[0]), (Charset::Other(*b"-\0A"), Charset::Other(*b"(%5")));
        assert_eq!(sets.redo(), "\x1b(%5\x1b-A\x1b*0\x1b+0\x1bo");
    }

    #[test]
    fn a_single_shift_is_for_the_next_character_alone() {
        let mut sets = Charsets::default();
        assert!(sets.designate(b"*", b'0') && sets.designate(b"+", b'A'));
        sets.shift_once(2);
        assert!(!sets.is_ascii());
        assert_eq!(
            (sets.redo(), sets.undo()),
            ("\x1b*0\x1b+A\x1bN".to_owned(), "\x1b*B\x1b+B\x0f".to_owned())
        );
        assert_eq!("éqq".chars().map(|ch| sets.read(ch)).collect::<String>(), "é─q");
        sets.shift_once(2);
        sets.shift_once(3);
        assert_eq!((sets.read('#'), sets.read('#'), sets.is_ascii()), ('£', '#', true));
    }
}
