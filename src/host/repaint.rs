//! What a terminal is sent so that it shows the session's picture: for who attaches, and after a suspension.
//!
//! It is made from the screen model, never from old output: no query is asked again, nothing rings or sets a clipboard.
//! Scroll region, tab stops and saved cursors are not sent; the program draws itself anew when it is told the size.

use std::ops::Range;

use super::run::Run;
use crate::screen::{Screen, Style};

/// Modes that are not sent: a frame that is held back (2026), addressing relative to a region that is not sent (6).
const LEFT_OUT: [&str; 2] = ["2026", "6"];
const ALTERNATE: [&str; 3] = ["47", "1047", "1049"];

/// How the terminal is found that the picture is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing of the program's is on: another terminal, or one where it was undone.
    Plain,
    /// As the program left it, as far as nobody has changed it meanwhile.
    AsLeft,
}

/// The modes that are on, title and cursor: all but the text, for a terminal that was not undone.
#[must_use]
pub(super) fn modes(screen: &Screen) -> Vec<u8> {
    let mut out = String::new();
    write_modes(screen, Found::AsLeft, &mut out);
    out.into_bytes()
}

/// The run, and what turns on again what `undo` turns off. Only on the primary screen: what the program wrote last is still
/// there when it goes on, above what the shell writes.
#[must_use]
pub(super) fn redo(run: &mut Run, undo: &[u8]) -> Option<(u32, Vec<u8>)> {
    let mut out = String::new();
    if !undo.is_empty() {
        let screen = run.model.screen();
        if screen.alternate() || run.muted.is_some() {
            return None;
        }
        write_modes(run.model.screen(), Found::Plain, &mut out);
    }
    Some((run.number, out.into_bytes()))
}

/// Some rows as lines of their own, with their looks.
#[must_use]
pub(super) fn rows(screen: &Screen, rows: Range<usize>) -> Vec<u8> {
    let mut out = String::new();
    for row in rows {
        out.push('\r');
        for run in screen.row_runs(u16::try_from(row).unwrap_or(u16::MAX)) {
            out.push_str(&run.style.sgr());
            out.push_str(&run.text);
        }
        out.push_str("\x1b[m\r\n");
    }
    out.into_bytes()
}

/// The rows that hold something; nothing of a full-screen program.
#[must_use]
pub(super) fn last_lines(screen: &Screen) -> Vec<u8> {
    let last = screen.lines().iter().rposition(|line| !line.is_empty());
    last.filter(|_| !screen.alternate()).map(|last| rows(screen, 0..last + 1)).unwrap_or_default()
}

/// The whole picture.
#[must_use]
pub(super) fn picture(screen: &Screen, found: Found) -> Vec<u8> {
    let mut out = String::new();
    if found == Found::Plain && screen.alternate() {
        out.push_str(&screen.keyboard_redo()[0]);
    }
    let (_, rows) = screen.size();
    if !screen.alternate() {
        // What the terminal shows now goes into its history, not away.
        out.push_str(&"\r\n".repeat(usize::from(rows)));
    }
    for mode in screen.modes().iter().filter(|mode| ALTERNATE.contains(&mode.as_str())) {
        out.push_str(&format!("\x1b[?{mode}h"));
    }
    out.push_str("\x1b[m\x1b[H\x1b[2J");
    let mut pen = Style::default();
    for row in 0..rows {
        let runs = screen.row_runs(row);
        if runs.is_empty() {
            continue;
        }
        out.push_str(&format!("\x1b[{};1H", row + 1));
        for run in runs {
            if run.style != pen {
                out.push_str(&run.style.sgr());
                pen = run.style;
            }
            out.push_str(&run.text);
        }
    }
    if pen != Style::default() {
        out.push_str("\x1b[m");
    }
    let cursor = screen.cursor();
    write_modes(screen, found, &mut out);
    out.push_str(&format!("\x1b[{};{}H", cursor.row + 1, cursor.col + 1));
    out.into_bytes()
}

fn write_modes(screen: &Screen, found: Found, out: &mut String) {
    for mode in screen.modes() {
        let name = mode.as_str();
        if LEFT_OUT.contains(&name) || ALTERNATE.contains(&name) {
            continue;
        }
        match (name.strip_prefix("ansi:"), name.strip_prefix('-')) {
            (Some(number), _) => out.push_str(&format!("\x1b[{number}h")),
            (_, Some(number)) => out.push_str(&format!("\x1b[?{number}l")),
            _ => out.push_str(&format!("\x1b[?{name}h")),
        }
    }
    let flags = screen.keyboard_flags();
    match found {
        // As many pushes as there will be pops.
        Found::Plain => out.push_str(&screen.keyboard_redo()[usize::from(screen.alternate())]),
        Found::AsLeft if flags != 0 => out.push_str(&format!("\x1b[={flags};1u")),
        Found::AsLeft => {}
    }
    if screen.modify_other_keys() != 0 {
        out.push_str(&format!("\x1b[>4;{}m", screen.modify_other_keys()));
    }
    if !screen.title().is_empty() {
        out.push_str(&format!("\x1b]2;{}\x1b\\", screen.title()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redrawn(bytes: &str) -> (Screen, Screen, String) {
        let mut before = Screen::new(20, 4);
        before.feed(bytes.as_bytes());
        let sent = picture(&before, Found::Plain);
        let mut after = Screen::new(20, 4);
        after.feed("something else\r\nstands here\x1b[4;4H".as_bytes());
        after.feed(&sent);
        (before, after, String::from_utf8(sent).unwrap())
    }

    #[test]
    fn the_picture_is_the_same_on_another_terminal() {
        for bytes in [
            "plain\r\ntext 漢字 e\u{301}",
            "\x1b[1;31mred\x1b[m \x1b[4:3;58;5;9mcurly\x1b[m \x1b[38;2;1;2;3;48;5;200mrgb\x1b[m\x1b[93;104mbright",
            "\x1b[?1049h\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[?25l\x1b[>5u\x1b[>4;2mfull screen",
            "\x1b]0;a title\x07\x1b[?7l\x1b[4h\x1b[5 qx\x1b[2;3H",
        ] {
            let (before, after, sent) = redrawn(bytes);
            for row in 0..4 {
                assert_eq!(after.row_runs(row), before.row_runs(row), "{bytes:?} {sent:?}");
            }
            let place = |screen: &Screen| (screen.cursor().row, screen.cursor().col, screen.cursor().visible);
            assert_eq!(place(&after), place(&before), "{bytes:?}");
            assert_eq!(after.modes(), before.modes(), "{bytes:?}");
            assert_eq!((after.keyboard_flags(), after.modify_other_keys()), (before.keyboard_flags(), before.modify_other_keys()));
            assert_eq!((after.title(), after.alternate()), (before.title(), before.alternate()));
        }
    }

    #[test]
    fn as_much_is_pushed_as_will_be_popped() {
        let bytes = "\x1b[>1u\x1b[>3u\x1b[?1049h\x1b[=9u\x1b[>5u";
        let (before, after, _) = redrawn(bytes);
        let undo = String::from_utf8(before.undo()).unwrap();
        assert_eq!(String::from_utf8(after.undo()).unwrap(), undo);
        assert!(undo.contains("\x1b[<2u"), "{undo:?}");
        let again = String::from_utf8(picture(&before, Found::AsLeft)).unwrap();
        assert!(again.contains("\x1b[=5;1u") && !again.contains("\x1b[>5u"), "{again:?}");
    }

    #[test]
    fn no_question_is_asked_again_and_nothing_rings() {
        let (_, mut after, sent) = redrawn("\x1b[c\x1b[6n\x1b[>0q\x07\x1b]52;c;aGk=\x07text\x1b[?2026h");
        assert!(after.take_queries().is_empty());
        assert!(!sent.contains('\x07') && !sent.contains("]52") && !sent.contains("2026"), "{sent:?}");
    }
}
