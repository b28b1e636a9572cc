//! Text that is longer than its place: the part that stays, and an ellipsis for the rest. Widths are columns
//! of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns below which a terminal is a narrow one for a table of sessions.
const NARROW: usize = 70;

/// How wide a session's name may be in a table that is `cols` columns wide.
#[must_use]
pub fn session_name_cols(cols: usize) -> usize {
    if cols < NARROW { 14 } else { 24 }
}

/// The begin of a text, an ellipsis behind it if something was cut: for sentences and names.
#[must_use]
pub fn begin_of(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let dots = (room > 0).then_some('…');
    within(text.chars(), room).into_iter().chain(dots).collect()
}

/// The end of a path, an ellipsis before it if something was cut: whole components, where the last one fits.
#[must_use]
pub fn end_of_path(path: &str, room: usize) -> String {
    if path.width() <= room {
        return path.to_owned();
    }
    let dots = (room > 0).then_some('…');
    let mut end = within(path.chars().rev(), room);
    end.reverse();
    let whole = end.iter().position(|c| *c == '/').filter(|at| at + 1 < end.len()).unwrap_or(0);
    dots.into_iter().chain(end.into_iter().skip(whole)).collect()
}

/// As many characters as leave a column for the ellipsis.
fn within(chars: impl Iterator<Item = char>, room: usize) -> Vec<char> {
    let mut left = room.saturating_sub(1);
    let fits = |c: &char| left.checked_sub(c.width().unwrap_or(0)).map(|rest| left = rest).is_some();
    chars.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_keeps_its_begin_and_a_path_its_last_components() {
        assert_eq!(begin_of("Fix the parser", 14), "Fix the parser");
        assert_eq!(begin_of("Fix the parser", 10), "Fix the p…");
        assert_eq!(begin_of("漢字漢字", 6), "漢字…");
        for (room, want) in [
            (23, "/home/u/work/web/parser"),
            (22, "…/u/work/web/parser"),
            (16, "…/web/parser"),
            (11, "…/parser"),
            (8, "…/parser"),
            (7, "…parser"),
            (4, "…ser"),
            (1, "…"),
            (0, ""),
        ] {
            assert_eq!(end_of_path("/home/u/work/web/parser", room), want, "{room}");
        }
        assert_eq!(end_of_path("/home/user/", 5), "…ser/", "a slash at the end begins no component");
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_wider_than_its_place(text in "[a-z漢/ ]{0,40}", room in 0_usize..50) {
            assert!(begin_of(&text, room).width() <= room);
            assert!(end_of_path(&text, room).width() <= room);
        }
    }
}
