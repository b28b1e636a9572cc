//! The combining marks of one row, by column.
//!
//! A cell has a flag for marks; entries for other columns are left over from characters that are gone. So
//! overwriting text need not look here.

/// Most bytes of combining marks that one cell keeps; further marks are dropped. Screen's CVE-2021-26937 was
/// a crash on an endless pile of marks.
const BYTES_MAX: usize = 16;

/// The marks of one column, as UTF-8.
#[derive(Clone, Debug)]
struct MarkPile {
    col: u16,
    len: u8,
    bytes: [u8; BYTES_MAX],
}

impl MarkPile {
    fn push(&mut self, mark: char) {
        let start = usize::from(self.len);
        if let Some(room) = self.bytes.get_mut(start..start + mark.len_utf8()) {
            mark.encode_utf8(room);
            self.len += mark.len_utf8() as u8;
        }
    }
}

/// Piles of marks by column, at most one for each; without any there is no allocation.
#[derive(Clone, Debug, Default)]
#[allow(clippy::box_collection, reason = "a row that has none must be small, and nearly none has any")]
pub struct CombiningMarks {
    piles: Option<Box<Vec<MarkPile>>>,
}

impl CombiningMarks {
    /// Adds a mark. If the column's character had none, drops what is left over there.
    pub fn add(&mut self, col: usize, mark: char, had: CellMarks) {
        let Ok(col) = u16::try_from(col) else { return };
        let piles = self.piles.get_or_insert_default();
        let at = match piles.binary_search_by_key(&col, |pile| pile.col) {
            Ok(at) => at,
            Err(at) => {
                piles.insert(at, MarkPile { col, len: 0, bytes: [0; BYTES_MAX] });
                at
            }
        };
        if let Some(pile) = piles.get_mut(at) {
            if had == CellMarks::None {
                pile.len = 0;
            }
            pile.push(mark);
        }
    }

    /// The marks of a column whose cell has the flag.
    pub fn get(&self, col: usize) -> &str {
        let find =
            |piles: &'_ Vec<MarkPile>| piles.binary_search_by_key(&col, |pile| usize::from(pile.col)).ok();
        self.piles
            .as_deref()
            .and_then(|piles| piles.get(find(piles)?))
            .and_then(|pile| pile.bytes.get(..usize::from(pile.len)))
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }

    /// Follows cells that move: `to` returns the new column of a cell, or `None` if it is gone. It must keep
    /// the order.
    pub fn shift(&mut self, to: impl Fn(usize) -> Option<usize>) {
        let Some(piles) = &mut self.piles else { return };
        piles.retain_mut(|pile| match to(usize::from(pile.col)).map(u16::try_from) {
            Some(Ok(col)) => {
                pile.col = col;
                true
            }
            _ => false,
        });
    }

    #[inline]
    pub fn clear(&mut self) {
        if self.piles.is_some() {
            self.piles = None;
        }
    }
}

/// Whether a cell had marks before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellMarks {
    /// Its character had no marks.
    None,
    Some,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_pile_up_to_a_whole_character() {
        let mut marks = CombiningMarks::default();
        marks.add(3, '\u{301}', CellMarks::None);
        (0..1000).for_each(|_| marks.add(3, '\u{20dd}', CellMarks::Some));
        assert_eq!(marks.get(3).len(), 14);
        assert_eq!((marks.get(2), marks.get(4)), ("", ""));
        marks.add(3, '\u{302}', CellMarks::None);
        assert_eq!(marks.get(3), "\u{302}");
    }

    #[test]
    fn marks_follow_their_cells() {
        let mut marks = CombiningMarks::default();
        for col in [5, 1, 3] {
            marks.add(col, '\u{301}', CellMarks::None);
        }
        marks.shift(|col| match col {
            0..=2 => Some(col),
            3 => None,
            _ => Some(col - 1),
        });
        assert_eq!([1, 3, 4, 5].map(|col| marks.get(col).len()), [2, 0, 2, 0]);
    }
}
