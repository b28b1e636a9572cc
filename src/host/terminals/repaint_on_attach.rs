//! The repaint: the bytes that make a terminal show the session's picture when it attaches, or after a
//! suspension.
//!
//! It is made from the screen model, never from old output, so no query is repeated, no bell rings and no
//! clipboard is set. A new terminal gets the whole state ([`whole`]); one that was only released to the shell
//! gets its modes back and, for a full-screen program, the picture.

use std::ops::Range;

use super::scene::TerminalRun;
use crate::screen::Screen;

/// Modes that are not sent: synchronized output (2026), and origin mode (6), because the scroll region is not
/// sent.
const LEFT_OUT: [&str; 2] = ["2026", "6"];
const ALTERNATE: [&str; 3] = ["47", "1047", "1049"];

/// The state of the terminal before the repaint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// None of the program's modes are set: another terminal, or one where they were undone.
    Plain,
    /// As the program left it, unless it has changed since.
    AsLeft,
}

/// The modes, the title and the cursor: everything but the text, for a terminal where nothing was undone.
pub(super) fn modes(screen: &Screen) -> Vec<u8> {
    let mut out = String::new();
    write_modes(screen, Found::AsLeft, &mut out);
    out.into_bytes()
}

/// The run, and the bytes that restore what `undo` turns off. Only for the primary screen: the program's last
/// output is still there when it continues, above the shell's.
pub(super) fn redo(run: &mut TerminalRun<'_>, undo: &[u8]) -> Option<(u32, Vec<u8>)> {
    let mut out = String::new();
    if !undo.is_empty() {
        let primary = run.model.look(|screen| {
            write_modes(screen, Found::Plain, &mut out);
            !screen.alternate()
        });
        if primary != Some(true) || run.muted.is_some() {
            return None;
        }
    }
    Some((run.number, out.into_bytes()))
}

/// Some rows as separate lines, with their styles.
pub(in crate::host) fn rows(screen: &Screen, rows: Range<usize>) -> Vec<u8> {
    let mut out = String::new();
    for row in rows {
        out.push('\r');
        for run in screen.row_runs(u16::try_from(row).unwrap_or(u16::MAX)) {
            out.push_str(&run.style.sgr());
            out.push_str(&run.linked_text());
        }
        out.push_str("\x1b[m\r\n");
    }
    out.into_bytes()
}

pub(super) fn last_lines(screen: &Screen) -> Vec<u8> {
    let last = screen.lines().iter().rposition(|line| !line.is_empty());
    last.filter(|_| !screen.alternate()).map(|last| rows(screen, 0..last + 1)).unwrap_or_default()
}

/// The rows down to the cursor as plain text, for a terminal without sequences; the child's output continues
/// there.
pub(super) fn text(screen: &Screen) -> Vec<u8> {
    let lines = screen.lines();
    let end = lines.len().min(usize::from(screen.cursor().row) + 1);
    let first = lines[..end].iter().position(|line| !line.is_empty()).unwrap_or(end.saturating_sub(1));
    lines[first..end].join("\r\n").into_bytes()
}

/// Moves from the cursor to a new line below everything an inline program has drawn, for messages of the
/// client and the shell. Relative, because the row of the terminal on which the program began is not known.
pub(super) fn below(screen: &Screen) -> Vec<u8> {
    if screen.alternate() {
        return Vec::new();
    }
    let (cursor, lines) = (screen.cursor(), screen.lines());
    let row = usize::from(cursor.row);
    match lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last.saturating_sub(row)) {
        0 if cursor.col == 0 && lines.get(row).is_none_or(String::is_empty) => Vec::new(),
        0 => b"\r\n".to_vec(),
        down => format!("\x1b[{down}B\r\n").into_bytes(),
    }
}

/// Moves from the cursor to the last row that an inline program has drawn below it; empty if there is none.
pub(super) fn step_below(screen: &Screen) -> Vec<u8> {
    let cursor = screen.cursor().row;
    let rows = if screen.alternate() { cursor..cursor } else { cursor + 1..screen.size().1 };
    let last = rows.rev().find(|row| screen.row_runs(*row).iter().any(|run| !run.text.trim_end().is_empty()));
    last.map(|last| format!("\x1b[{}B", last - cursor).into_bytes()).unwrap_or_default()
}

/// Everything, for a terminal without any of the program's modes: the last `unseen` lines of scrollback, then
/// the whole state of the screen. The terminal's current content moves into its scrollback.
pub(super) fn whole(screen: &Screen, unseen: usize) -> Vec<u8> {
    let mut out = format!("\r{}", history(screen, unseen));
    let dump = screen.dump_with(0);
    out.push_str(&"\r\n".repeat(usize::from(screen.size().1)));
    [out.as_bytes(), b"\x1b[m\x1b[H\x1b[2J", &dump.screen, &dump.unfinished].concat()
}

/// The repaint if there is no picture: an empty screen for later output.
pub(super) fn blank((_, rows): (u16, u16)) -> Vec<u8> {
    [b"\r", "\r\n".repeat(usize::from(rows)).as_bytes(), b"\x1b[m\x1b[H\x1b[2J"].concat()
}

/// The last `unseen` lines of the history.
pub(in crate::host) fn history(screen: &Screen, unseen: usize) -> String {
    let mut out = String::new();
    let lines = screen.history_len();
    for line in lines.saturating_sub(unseen)..lines {
        for run in screen.history_row_runs(line) {
            out.push_str(&run.style.sgr());
            out.push_str(&run.linked_text());
        }
        out.push_str("\x1b[m");
        // Nothing after the last line belongs to it.
        if line + 1 == lines || !screen.history_row_wrapped(line) {
            out.push_str("\r\n");
        }
    }
    out
}

/// The content above the next run: the history, and the lines that an inline program leaves on the screen.
pub(in crate::host) fn above(screen: &Screen) -> Vec<u8> {
    [history(screen, usize::MAX).into_bytes(), last_lines(screen)].concat()
}

/// A full-screen picture for a terminal in the state in which the program left it, except for what a shell
/// has written.
pub(super) fn again(screen: &Screen) -> Vec<u8> {
    let mut out = String::new();
    for mode in screen.modes().iter().filter(|mode| ALTERNATE.contains(&mode.as_str())) {
        out.push_str(&format!("\x1b[?{mode}h"));
    }
    out.push_str("\x1b[m\x1b[H\x1b[2J");
    for row in 0..screen.size().1 {
        let runs = screen.row_runs(row);
        if !runs.is_empty() {
            out.push_str(&format!("\x1b[{};1H", row + 1));
        }
        for run in runs {
            out.push_str(&run.style.sgr());
            out.push_str(&run.linked_text());
        }
    }
    out.push_str("\x1b[m");
    write_modes(screen, Found::AsLeft, &mut out);
    let cursor = screen.cursor();
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

    #[test]
    fn a_terminal_that_shows_something_else_then_shows_the_session() {
        let mut before = Screen::new(20, 4);
        before.set_history_limit(100);
        let mut text: String = (1..=9).map(|n| format!("line {n}\r\n")).collect();
        text.push_str(&"long ".repeat(6));
        before.feed(text.as_bytes());
        let mut after = Screen::new(20, 4);
        after.set_history_limit(100);
        after.feed("$ hopty attach\r\n".as_bytes());
        after.feed(&whole(&before, before.history_len()));
        assert_eq!(after.lines(), before.lines());
        let all = |screen: &Screen| -> Vec<String> {
            let rows = (0..screen.history_len()).map(|line| screen.history_row_runs(line));
            let text = rows.map(|runs| runs.into_iter().map(|run| run.text).collect::<String>());
            text.filter(|line| !line.is_empty()).collect()
        };
        let mut wanted = vec!["$ hopty attach".to_owned()];
        wanted.extend(all(&before));
        assert_eq!(all(&after), wanted);
        let sent = whole(&before, 0);
        assert!(!String::from_utf8_lossy(&sent).contains("line 1"));
    }

    #[test]
    fn a_picture_drawn_again_changes_no_modes() {
        let mut before = Screen::new(20, 4);
        before.feed(b"\x1b[?1049h\x1b[?2004h\x1b[>1u\x1b[>5u\x1b[31mred\x1b[m\x1b[3;2H");
        let mut after = Screen::new(20, 4);
        after.feed(b"\x1b[?1049h\x1b[?2004h\x1b[>1u\x1b[>5u\x1b[Hrubbish of the shell's\x1b[m");
        after.feed(&again(&before));
        assert_eq!(
            (after.lines(), after.cursor(), after.modes()),
            (before.lines(), before.cursor(), before.modes())
        );
        assert_eq!(after.keyboard_redo(), before.keyboard_redo());
    }
}
