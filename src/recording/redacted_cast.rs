//! A recording without the secrets that can be seen in it, for other people: each screen is redrawn from the
//! model, with dots in place of a secret. So it does not matter in which pieces, in which order or across
//! which lines a secret was written. What is not on the screen is removed: titles, working directories,
//! links, clipboards, typed keys and the environment.

use std::collections::HashSet;
use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use super::cast_theme::parse_rgb;
use crate::core::cast::{CastEvent, CastEventKind, CastHeader, CastTheme, CastWriter};
use crate::core::redact::{redact, secret_ranges};
use crate::screen::Screen;

/// The shortest part of a secret that is hidden if the whole is on another screen, in bytes. Shorter parts
/// occur in ordinary words.
const PART_LEN: usize = 6;

/// The recording as an asciicast of version 3.
pub fn redacted_cast(header: &CastHeader, events: &[CastEvent]) -> Vec<u8> {
    redacted_cast_with(header, events, |_| Vec::new())
}

fn is_of_colours(theme: &CastTheme) -> bool {
    [&theme.fg, &theme.bg].into_iter().chain(&theme.palette).all(|text| parse_rgb(text).is_some())
}

/// [`redacted_cast`] with `more`, which finds what else to hide in the text of a screen, as ranges of bytes.
pub fn redacted_cast_with(
    header: &CastHeader,
    events: &[CastEvent],
    more: impl Fn(&str) -> Vec<Range<usize>>,
) -> Vec<u8> {
    let find = |text: &str| -> Vec<Range<usize>> {
        secret_ranges(text).into_iter().map(|(range, _)| range).chain(more(text)).collect()
    };
    // A secret that is typed key by key is known only when it is complete.
    let mut secrets = HashSet::new();
    each_screen(header, events, |screen, _| {
        let text = ScreenTextMap::new(screen).text;
        for range in find(&text) {
            let secret = unbroken(&text[range]);
            // A run of one character may also be a line of a table.
            let parts =
                secret.as_bytes().windows(PART_LEN).filter(|part| part.iter().any(|byte| *byte != part[0]));
            secrets.extend(parts.map(<[u8]>::to_vec));
        }
    });
    let redacted_header = CastHeader {
        version: 3,
        command: header.command.as_deref().map(redact),
        title: header.title.as_deref().map(redact),
        env: Default::default(),
        // A theme consists of colours; any other text is dropped.
        theme: header.theme.clone().filter(is_of_colours),
        ..header.clone()
    };
    let mut lines = redacted_header.line().into_bytes();
    let mut writer = CastWriter::new();
    let mut painter = FramePainter::default();
    each_screen(header, events, |screen, event| match &event.kind {
        CastEventKind::Output(_) => {
            let frame = painter.frame(screen, &secrets, find);
            writer.output(event.at_us, frame.as_bytes(), &mut lines);
        }
        CastEventKind::Resize { .. } => {
            writer.event(event, &mut lines);
            painter = FramePainter::default();
            let frame = painter.frame(screen, &secrets, find);
            writer.output(event.at_us, frame.as_bytes(), &mut lines);
        }
        CastEventKind::Marker(label) => {
            let kind = CastEventKind::Marker(redact(label));
            writer.event(&CastEvent { at_us: event.at_us, kind }, &mut lines);
        }
        CastEventKind::Exit(_) => writer.event(event, &mut lines),
        CastEventKind::Input(_) | CastEventKind::Other { .. } => {}
    });
    writer.finish(&mut lines);
    lines
}

/// Calls `see` with the screen after each event.
fn each_screen(header: &CastHeader, events: &[CastEvent], mut see: impl FnMut(&Screen, &CastEvent)) {
    let mut screen = Screen::new(header.cols, header.rows);
    for event in events {
        match &event.kind {
            CastEventKind::Output(bytes) => {
                screen.feed(bytes);
                // Queries are not answered.
                drop(screen.take_queries());
            }
            CastEventKind::Resize { cols, rows } => screen.resize(*cols, *rows),
            _ => {}
        }
        see(&screen, event);
    }
}

/// A secret without the row ends that it spans.
fn unbroken(secret: &str) -> String {
    secret.replace('\n', "")
}

/// The text of a screen, with the position of each row in it. A row that wraps has no line end.
struct ScreenTextMap {
    text: String,
    rows: Vec<usize>,
}

impl ScreenTextMap {
    fn new(screen: &Screen) -> Self {
        let mut map = ScreenTextMap { text: String::new(), rows: Vec::new() };
        for row in 0..screen.size().1 {
            map.rows.push(map.text.len());
            for run in screen.row_runs(row) {
                map.text.push_str(&run.text);
            }
            if !screen.row_wrapped(row) {
                map.text.push('\n');
            }
        }
        map
    }

    /// Which bytes to hide.
    fn hidden(&self, secrets: &HashSet<Vec<u8>>, find: impl Fn(&str) -> Vec<Range<usize>>) -> Vec<bool> {
        let mut hidden = vec![false; self.text.len()];
        for range in find(&self.text) {
            hidden[range].fill(true);
        }
        for (at, part) in self.text.as_bytes().windows(PART_LEN).enumerate() {
            if secrets.contains(part) {
                hidden[at..at + PART_LEN].fill(true);
            }
        }
        hidden
    }
}

/// Draws screens row by row, if a row has changed.
#[derive(Debug, Default)]
struct FramePainter {
    rows: Vec<String>,
    cursor: String,
}

impl FramePainter {
    /// The bytes that change a terminal from the last screen to this one.
    fn frame(
        &mut self,
        screen: &Screen,
        secrets: &HashSet<Vec<u8>>,
        find: impl Fn(&str) -> Vec<Range<usize>>,
    ) -> String {
        let map = ScreenTextMap::new(screen);
        let hidden = map.hidden(secrets, find);
        let mut frame = String::new();
        if self.rows.is_empty() {
            // No wrapping: a full row would move the next one.
            frame.push_str("\x1b[?7l\x1b[m\x1b[H\x1b[2J");
            self.rows = vec![String::new(); map.rows.len()];
        }
        for (row, start) in (0..screen.size().1).zip(&map.rows) {
            let drawn = row_bytes(screen, row, *start, &hidden);
            let before = &mut self.rows[usize::from(row)];
            if *before != drawn {
                frame.push_str(&format!("\x1b[{};1H\x1b[m\x1b[K{drawn}\x1b[m", row + 1));
                *before = drawn;
            }
        }
        let cursor = screen.cursor();
        let shown = if cursor.visible { 'h' } else { 'l' };
        let placed = format!("\x1b[{};{}H\x1b[?25{shown}", cursor.row + 1, cursor.col + 1);
        if placed != self.cursor || !frame.is_empty() {
            frame.push_str(&placed);
            self.cursor = placed;
        }
        frame
    }
}

/// A row with its styles; `start`: its position in the text of `hidden`.
fn row_bytes(screen: &Screen, row: u16, start: usize, hidden: &[bool]) -> String {
    let mut bytes = String::new();
    let mut at = start;
    for run in screen.row_runs(row) {
        bytes.push_str(&run.style.sgr());
        for ch in run.text.chars() {
            if hidden[at] {
                bytes.push_str(&"•".repeat(ch.width().unwrap_or(0)));
            } else {
                bytes.push(ch);
            }
            at += ch.len_utf8();
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::cast::CastReader;

    const KEY: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

    fn redacted(events: &[(u64, CastEventKind)]) -> (String, CastHeader, Vec<CastEvent>) {
        let events: Vec<CastEvent> =
            events.iter().map(|(at_us, kind)| CastEvent { at_us: *at_us, kind: kind.clone() }).collect();
        let header = CastHeader {
            title: Some(format!("token {KEY}")),
            env: [("HOME".to_owned(), "/home/me".to_owned())].into(),
            ..CastHeader::new(30, 6)
        };
        let bytes = redacted_cast(&header, &events);
        let mut reader = CastReader::new();
        reader.push(&bytes);
        reader.finish();
        let events = std::iter::from_fn(|| reader.next()).map(Result::unwrap).collect();
        (String::from_utf8(bytes).unwrap(), reader.header().unwrap().clone(), events)
    }

    #[test]
    fn a_theme_has_colours_and_no_secret() {
        let colours = |last: &str| CastTheme {
            fg: "#ffffff".to_owned(),
            bg: "#000".to_owned(),
            palette: vec!["#112233".to_owned(), last.to_owned()],
        };
        for (last, stays) in [("#445566", true), (KEY, false)] {
            let header = CastHeader { theme: Some(colours(last)), ..CastHeader::new(30, 6) };
            let bytes = redacted_cast(&header, &[]);
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!((text.contains("#112233"), text.contains(KEY)), (stays, false), "{text}");
        }
    }

    fn output(text: &str) -> CastEventKind {
        CastEventKind::Output(text.as_bytes().to_vec())
    }

    fn last_screen(events: &[CastEvent]) -> Screen {
        let mut screen = Screen::new(30, 6);
        for event in events {
            match &event.kind {
                CastEventKind::Output(bytes) => screen.feed(bytes),
                CastEventKind::Resize { cols, rows } => screen.resize(*cols, *rows),
                _ => {}
            }
        }
        screen
    }

    /// Checks that no significant part of the key is left.
    fn assert_hidden(text: &str) {
        for from in 0..KEY.len() - 8 {
            assert!(!text.contains(&KEY[from..from + 8]), "{text}");
        }
    }

    #[test]
    fn a_secret_is_hidden_however_it_was_drawn() {
        let (start, end) = KEY.split_at(20);
        let keys: Vec<(u64, CastEventKind)> =
            KEY.chars().enumerate().map(|(n, ch)| (n as u64 * 1000, output(&ch.to_string()))).collect();
        for drawn in [
            // In one piece, across the end of a row.
            vec![(0, output(&format!("key {KEY} end")))],
            // In pieces, with colours in between.
            vec![(0, output(&format!("{start}\x1b[31m"))), (9, output(&format!("{end}\x1b[m")))],
            // With its middle first.
            vec![(0, output(&format!("\x1b[1;21H{}", &KEY[20..30]))), (9, output(&format!("\x1b[H{KEY}")))],
            keys,
        ] {
            let (text, header, events) = redacted(&drawn);
            assert_hidden(&text);
            assert!(header.env.is_empty() && !header.title.unwrap().contains(KEY));
            assert!(last_screen(&events).lines().join("").contains('•'));
        }
    }

    #[test]
    fn everything_else_is_as_it_was() {
        let (text, _, events) = redacted(&[
            (
                0,
                output(
                    "\x1b]2;me@host\x1b\\\x1b]7;file://host/home/me\x1b\\\x1b[1;31mred\x1b[m 漢字\r\nplain",
                ),
            ),
            (1000, CastEventKind::Input(b"secret".to_vec())),
            (1000, output("\x1b[?25l\x1b[4;4H")),
            (2000, CastEventKind::Marker("m".to_owned())),
            (3000, CastEventKind::Resize { cols: 40, rows: 5 }),
            (4000, output("x\x1b[?1049hfull")),
            (5000, CastEventKind::Exit(0)),
        ]);
        assert!(!text.contains("host") && !text.contains("secret"));
        let at = |n: usize| last_screen(&events[..n]);
        let first = at(1);
        assert_eq!(first.lines()[..2], ["red 漢字", "plain"]);
        assert!(first.row_runs(0)[0].style.sgr().contains("31"));
        let second = at(2);
        assert_eq!((second.cursor().row, second.cursor().col, second.cursor().visible), (3, 3, false));
        let last = last_screen(&events);
        assert_eq!((last.size(), last.lines()[3].as_str()), ((40, 5), "    full"));
        assert_eq!(events.last().unwrap().kind, CastEventKind::Exit(0));
        assert_eq!(events.last().unwrap().at_us, 5000);
    }
}
