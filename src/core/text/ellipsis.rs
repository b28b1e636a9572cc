//! Shortens text with an ellipsis. Widths are columns of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A terminal with fewer columns is narrow for a table of sessions.
const NARROW: usize = 70;

/// How wide a session's name may be in a table that is `cols` columns wide.
pub fn session_name_cols(cols: usize) -> usize {
    if cols < NARROW { 14 } else { 24 }
}

/// The longest beginning of a text that fits.
pub fn start_within(text: &str, cols: usize) -> &str {
    let mut used = 0;
    let over = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > cols
    });
    over.map_or(text, |(at, _)| &text[..at])
}

/// The longest end of a text that fits.
pub fn end_within(text: &str, cols: usize) -> &str {
    let mut used = 0;
    let over = text.char_indices().rev().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > cols
    });
    over.map_or(text, |(at, c)| &text[at + c.len_utf8()..])
}

/// The beginning of a text with an ellipsis behind it if something was cut: for sentences and names.
pub fn begin_of(text: &str, room: usize) -> String {
    match room.checked_sub(1) {
        _ if text.width() <= room => text.to_owned(),
        Some(left) => format!("{}…", start_within(text, left)),
        None => String::new(),
    }
}

/// The end of a path with an ellipsis before it if something was cut: whole components, if the last one fits.
pub fn end_of_path(path: &str, room: usize) -> String {
    let end = match room.checked_sub(1) {
        _ if path.width() <= room => return path.to_owned(),
        Some(left) => end_within(path, left),
        None => return String::new(),
    };
    let whole = end.find('/').filter(|at| at + 1 < end.len()).unwrap_or(0);
    format!("…{}", &end[whole..])
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
            assert!(text.starts_with(start_within(&text, room)) && text.ends_with(end_within(&text, room)));
            let least = text.width().min(room).saturating_sub(1);
            for part in [start_within(&text, room), end_within(&text, room)] {
                assert!((least..=room).contains(&part.width()), "{part:?}");
            }
        }
    }
}
