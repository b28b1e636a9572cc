//! The player's picture, as rows for a terminal of any size. Pure.

use unicode_width::UnicodeWidthStr;

use super::player_state::PlayerState;
use crate::core::text::ellipsis::{end_within, start_within};
use crate::recording::play_position::ClockTime;
use crate::recording::timeline_search::SearchDirection;
use crate::screen::{Attr, Screen, Style};

/// The narrowest track that is drawn, in columns.
const TRACK_MIN: usize = 6;

/// The keys and their meaning.
const KEYS: [(&str, &str); 16] = [
    ("space", "play or pause"),
    (". ,", "one frame forward or back"),
    ("\u{2192} \u{2190}", "5 s forward or back"),
    ("shift \u{2192} \u{2190}", "30 s forward or back"),
    ("] [", "next or previous marker"),
    ("m", "list the markers"),
    ("0 \u{2026} 9", "to 0 % \u{2026} 90 %"),
    ("home end", "to the start or the end"),
    ("/ ?", "search forward or back"),
    ("n N", "again, or backwards"),
    ("< >", "half or double speed"),
    ("i", "cut or keep pauses"),
    ("r", "raw output to the terminal"),
    ("s", "save screen as .svg, .txt"),
    ("h", "these keys"),
    ("q", "quit"),
];

/// A picture of the terminal: what its rows show, and where the cursor is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayerPicture {
    /// Each row as text with its sequences, from the first column on.
    pub rows: Vec<String>,
    /// Column and row; `None` hides it.
    pub cursor: Option<(u16, u16)>,
}

/// The visible part of the screen, if the terminal is smaller. It follows the cursor.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlayerViewport {
    top: u16,
    left: u16,
}

impl PlayerViewport {
    /// Draws the player for a terminal of this size.
    pub fn draw(&mut self, state: &PlayerState<'_>, (cols, rows): (u16, u16), now_us: u64) -> PlayerPicture {
        let screen = state.moment().screen();
        let size = screen.size();
        let has_bar = rows > 1 && (rows > size.1 || state.wants_bar(now_us));
        let height = if has_bar { rows - 1 } else { rows };
        let cursor = screen.cursor();
        self.top = follow(self.top, cursor.row, height, size.1);
        // A hidden cursor may be anywhere; then the start of the lines is best.
        self.left = if cursor.visible { follow(0, cursor.col, cols, size.0) } else { 0 };
        let mut picture = PlayerPicture::default();
        for row in 0..height {
            picture.rows.push(self.row(screen, state, row, cols));
        }
        let place = (cursor.col.wrapping_sub(self.left), cursor.row.wrapping_sub(self.top));
        if cursor.visible && place.0 < cols && place.1 < height {
            picture.cursor = Some(place);
        }
        if let Some(first) = state.first_help() {
            cover_with_keys(&mut picture, first, cols, height);
        }
        if let Some(chosen) = state.chosen_marker() {
            cover_with_markers(&mut picture, state, chosen, (cols, height));
        }
        if has_bar {
            let (bar, cursor) = bar(state, usize::from(cols));
            picture.rows.push(bar);
            if let Some(col) = cursor {
                picture.cursor = Some((col, rows - 1));
            }
        }
        picture
    }

    fn row(&self, screen: &Screen, state: &PlayerState<'_>, row: u16, cols: u16) -> String {
        let (row, left, right) = (self.top + row, self.left, self.left.saturating_add(cols));
        let hit = state.hit().filter(|hit| hit.row == row).map(|hit| (hit.col, hit.col + hit.cols));
        let mut out = String::new();
        match hit {
            Some((from, to)) => {
                let (from, to) = (from.clamp(left, right), to.clamp(left, right));
                part(screen, row, (left, left..from), None, &mut out);
                part(screen, row, (left, from..to), Some(Attr::Reverse), &mut out);
                part(screen, row, (left, to..right), None, &mut out);
            }
            None => part(screen, row, (left, left..right), None, &mut out),
        }
        out
    }
}

/// Columns of a row, for a picture that starts at the column `left`.
fn part(
    screen: &Screen,
    row: u16,
    (left, cols): (u16, std::ops::Range<u16>),
    turn: Option<Attr>,
    out: &mut String,
) {
    if cols.is_empty() {
        return;
    }
    if cols.start > left {
        out.push_str(&format!("\x1b[{}G", cols.start - left + 1));
    }
    let mut pen = Style::default();
    for run in screen.row_part(row, cols) {
        let mut style = run.style;
        if let Some(turn) = turn {
            if style.has(turn) { style.remove(turn) } else { style.add(turn) }
        }
        if style != pen {
            out.push_str(&style.sgr());
            pen = style;
        }
        out.push_str(&run.linked_text());
    }
    if pen != Style::default() {
        out.push_str("\x1b[m");
    }
}

/// Moves a view of `length` in `whole` as little as possible to show `place`.
fn follow(start: u16, place: u16, length: u16, whole: u16) -> u16 {
    let last = whole.saturating_sub(length);
    let least = (place + 1).saturating_sub(length);
    start.clamp(least.min(last), place.min(last).max(least.min(last)))
}

/// The bar below the picture, and the column of the cursor if a text is being typed.
fn bar(state: &PlayerState<'_>, cols: usize) -> (String, Option<u16>) {
    if let Some(prompt) = state.prompt() {
        let sign = if prompt.direction == SearchDirection::Forward { '/' } else { '?' };
        let text = format!("{sign}{}", prompt.text);
        let line = end_within(&text, cols.saturating_sub(1));
        let col = line.width() as u16;
        return (format!("\x1b[m{line}"), Some(col));
    }
    let timeline = state.moment().timeline();
    let (at, end) = (state.moment().at_us(), timeline.duration_us());
    let sign = if state.is_playing() { '\u{25b6}' } else { '\u{23f8}' };
    let left = format!(" {sign} {} / {} ", ClockTime(at), ClockTime(end));
    let speed = state.speed();
    let mut speed = if speed == 1.0 { String::new() } else { format!(" {speed}\u{d7}") };
    if let Some(limit) = state.idle_us() {
        speed.push_str(&format!(" \u{2264}{}s", limit as f64 / 1e6));
    }
    let marker = timeline.markers().take_while(|(marker, _)| *marker <= at).last();
    let label = match (state.search_progress(), state.words(), marker) {
        (Some(progress), ..) => format!("searching {progress}"),
        (_, Some(words), _) => words.to_owned(),
        (.., Some((_, label))) => label.to_owned(),
        _ => "h: keys".to_owned(),
    };
    let label = crate::core::text::visible::visible(&label);
    let left = start_within(&left, cols);
    let rest = cols - left.width();
    let wanted = label.width() + speed.width() + 2;
    // A message gets the room that it needs; otherwise the track gets at least half.
    let most = if state.words().is_some() { rest } else { rest / 2 };
    let right = format!("{speed} {label} ");
    let right = start_within(&right, wanted.min(most));
    let room = rest - right.width();
    let track = if room > TRACK_MIN { track(state, room) } else { " ".repeat(room) };
    (format!("\x1b[0;7m{left}{track}{right}\x1b[m"), None)
}

/// The time as a line with the markers.
fn track(state: &PlayerState<'_>, cols: usize) -> String {
    let (time, timeline) = (state.time(), state.moment().timeline());
    let whole = time.duration_us().max(1);
    let place = |recorded: u64| {
        ((time.playing(recorded) as u128 * (cols - 1) as u128 / u128::from(whole)) as usize).min(cols - 1)
    };
    let here = place(state.moment().at_us());
    let mut line: Vec<char> =
        (0..cols).map(|col| if col <= here { '\u{2501}' } else { '\u{2500}' }).collect();
    for (at, _) in timeline.markers() {
        line[place(at)] = '\u{253c}';
    }
    line[here] = '\u{25cf}';
    line.into_iter().collect()
}

/// The list of keys from `first` on, or its end if that fits; the last line says that more follow.
fn cover_with_keys(picture: &mut PlayerPicture, first: usize, cols: u16, height: u16) {
    let room = usize::from(height).max(1);
    let first = first.min(KEYS.len().saturating_sub(room));
    let rest = &KEYS[first..];
    let shown = if rest.len() > room { &rest[..room - 1] } else { rest };
    let more = (shown.len() < rest.len()).then_some(&("\u{2193}", "more keys"));
    let lines: Vec<String> = shown
        .iter()
        .chain(more)
        .map(|(key, what)| format!("  {key}{}{what}  ", " ".repeat(11_usize.saturating_sub(key.width()))))
        .collect();
    cover(picture, &lines, None, (cols, height));
}

/// The list of markers, with the selected one in view.
fn cover_with_markers(
    picture: &mut PlayerPicture,
    state: &PlayerState<'_>,
    chosen: usize,
    (cols, height): (u16, u16),
) {
    let first = (chosen + 1).saturating_sub(usize::from(height));
    let markers = state.moment().timeline().markers().skip(first).take(usize::from(height));
    let lines: Vec<String> = markers
        .map(|(at, label)| {
            format!(" {:>8}  {} ", ClockTime(at).to_string(), crate::core::text::visible::visible(label))
        })
        .collect();
    cover(picture, &lines, Some(chosen - first), (cols, height));
}

/// Puts lines over the middle of the picture, in reverse except for the selected one.
fn cover(picture: &mut PlayerPicture, lines: &[String], chosen: Option<usize>, (cols, height): (u16, u16)) {
    let width = lines.iter().map(|line| line.width()).max().unwrap_or(0).min(usize::from(cols));
    let top = usize::from(height).saturating_sub(lines.len()) / 2;
    let left = (usize::from(cols) - width) / 2;
    for (at, line) in lines.iter().enumerate() {
        let Some(row) = picture.rows.get_mut(top + at) else { break };
        let line = start_within(line, width);
        let fill = " ".repeat(width - line.width());
        let look = if chosen == Some(at) { "\x1b[1m" } else { "\x1b[7m" };
        row.push_str(&format!("\x1b[m\x1b[{}G{look}{line}{fill}\x1b[m", left + 1));
    }
    picture.cursor = None;
}
