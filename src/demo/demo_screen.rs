//! The demo on the person's terminal: the agent's screen live, below it the context meter, a caption, and
//! hopty's decisions in its own words. It uses the alternate screen, which is left however the demo ends.
//!
//! Only changed rows are written. The person's keys are read so that they do not pile up for the shell;
//! only Ctrl+C and Ctrl+Z have an effect.

use std::io;
use std::time::Duration;

use unicode_width::UnicodeWidthStr;

use super::demo_event::{DemoActor, DemoEvent};
use super::demo_text::{Palette, bold, dim, rows_within, styled_row};
use super::journal_reader::UsageLine;
use super::plain_output;
use crate::core::input::{Classifier, InputClass};
use crate::core::text::ellipsis::start_within;
use crate::core::text::safe_text::thousands;
use crate::screen::Screen;
use crate::sys::fd::{is_terminal, read_some};
use crate::tty::full_screen::{self, BEGIN, FullScreen, UNDO, changed_rows, write};
use crate::tty::{can_draw, raw};

/// The smallest terminal for this view, columns and rows.
const SMALLEST: (u16, u16) = (60, 20);
/// Rows that the agent needs.
const SMALLEST_INNER: u16 = 11;
/// A synchronized update; terminals without it ignore the sequences.
const FRAME: (&str, &str) = ("\x1b[?2026h", "\x1b[?2026l");

/// The levels that are marked on the meter, in percent.
const LEVELS: (u64, u64) = (80, 90);
/// The usual duration of a run, in seconds.
const ABOUT: u64 = 25;

const GREEN: u8 = 2;
const YELLOW: u8 = 3;
const RED: u8 = 1;
const CYAN: u8 = 6;

/// The meaning of the person's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DemoKey {
    /// Ctrl+C.
    Interrupt,
    /// Ctrl+Z.
    Suspend,
    /// Any other key, which has no effect.
    Other,
    /// The terminal is gone.
    Gone,
}

/// The content of the screen.
pub(super) struct Picture<'a> {
    /// The agent's screen.
    pub(super) screen: &'a Screen,
    pub(super) caption: &'a str,
    /// The latest context usage of the current conversation.
    pub(super) usage: Option<&'a UsageLine>,
    /// The number of that conversation, from 1; 0 before the first.
    pub(super) conversation: usize,
    pub(super) entries: &'a [DemoEvent],
    /// Since the demo began.
    pub(super) now: Duration,
}

/// The person's terminal while the demo uses it.
pub(super) struct DemoScreen {
    full_screen: FullScreen,
    size: (u16, u16),
    palette: Palette,
    keys: Classifier,
    /// The rows on the terminal.
    drawn: Vec<String>,
}

impl DemoScreen {
    /// Whether there is a terminal that can show it.
    pub(super) fn is_possible() -> bool {
        let terminal = is_terminal(&io::stdin()) && is_terminal(&io::stdout());
        let size = raw::size();
        terminal && can_draw() && size.cols >= SMALLEST.0 && size.rows >= SMALLEST.1
    }

    /// Takes the terminal.
    ///
    /// # Errors
    /// When it cannot be made raw or written to.
    pub(super) fn open() -> io::Result<DemoScreen> {
        let full_screen = FullScreen::enter(BEGIN, UNDO)?;
        let mut stage = DemoScreen {
            full_screen,
            size: SMALLEST,
            palette: Palette::from_env(),
            keys: Classifier::new(),
            drawn: Vec::new(),
        };
        stage.resized();
        Ok(stage)
    }

    /// The size of the agent's screen, columns and rows.
    pub(super) fn inner_size(&self) -> (u16, u16) {
        inner_size(self.size)
    }

    /// Reads the terminal's size, and redraws everything.
    pub(super) fn resized(&mut self) {
        self.size = full_screen::size();
        self.drawn.clear();
        let _ = write(b"\x1b[m\x1b[2J");
    }

    /// Restores the terminal for a pause.
    pub(super) fn suspend(&mut self) {
        let _ = self.full_screen.leave();
    }

    /// Takes the terminal again.
    pub(super) fn resume(&mut self) {
        let _ = self.full_screen.resume();
        self.resized();
    }

    pub(super) fn read_keys(&mut self) -> DemoKey {
        let mut buf = [0; 4096];
        let n = match read_some(&io::stdin(), &mut buf) {
            Ok(Some(0)) | Err(_) => return DemoKey::Gone,
            Ok(None) => return DemoKey::Other,
            Ok(Some(n)) => n,
        };
        let mut pieces = Vec::new();
        self.keys.feed(&buf[..n], &mut pieces);
        let pressed = |class: InputClass| pieces.iter().any(|piece| piece.class == class);
        match () {
            () if pressed(InputClass::Interrupt) => DemoKey::Interrupt,
            () if pressed(InputClass::Suspend) => DemoKey::Suspend,
            () => DemoKey::Other,
        }
    }

    /// Updates the terminal.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub(super) fn draw(&mut self, picture: &Picture<'_>) -> io::Result<()> {
        let frame = frame(picture, self.size, self.palette);
        let out = changed_rows(&self.drawn, &frame);
        if !out.is_empty() {
            write(format!("{}{out}{}", FRAME.0, FRAME.1).as_bytes())?;
            self.drawn = frame;
        }
        Ok(())
    }
}

/// The number of rows below the meter: two for the caption, the others for hopty's decisions.
fn panel_rows(rows: u16) -> u16 {
    (rows * 4 / 10).clamp(7, 14)
}

/// The number of rows for the agent's screen: those that title, meter and panel leave.
fn inner_rows(rows: u16) -> u16 {
    rows.saturating_sub(panel_rows(rows) + 2)
}

/// The size of the agent's screen in a terminal of this size. It has space for a prompt box even if only a
/// part of it can be shown.
fn inner_size((cols, rows): (u16, u16)) -> (u16, u16) {
    (cols.max(SMALLEST.0), inner_rows(rows).max(SMALLEST_INNER))
}

/// The rows of the agent's screen that are shown: all, or those around the cursor.
fn inner(screen: &Screen, shown: u16) -> std::ops::Range<u16> {
    let all = screen.size().1;
    let shown = shown.min(all);
    // Below the cursor are the lower edge of the box and the footer.
    let first = (screen.cursor().row + 3).saturating_sub(shown).min(all - shown);
    first..first + shown
}

/// All rows, none wider than the terminal.
fn frame(picture: &Picture<'_>, (cols, rows): (u16, u16), palette: Palette) -> Vec<String> {
    let cols = usize::from(cols);
    let mut out = vec![title(picture.now, cols)];
    let agent = inner(picture.screen, inner_rows(rows));
    out.extend(agent.map(|row| styled_row(&picture.screen.row_runs(row), cols, palette)));
    out.push(meter(picture.usage, picture.conversation, cols, palette));
    let mut caption = rows_within(picture.caption, cols.saturating_sub(2));
    caption.resize(2, String::new());
    out.extend(caption.iter().map(|row| bold(start_within(&format!(" {row}"), cols))));
    let room = usize::from(panel_rows(rows)) - 2;
    out.extend(log(picture.entries, cols, room, palette));
    out.truncate(usize::from(rows));
    out
}

fn title(now: Duration, cols: usize) -> String {
    let left = " hopty demo: the real hopty, a stand-in agent";
    let right = format!("Ctrl+C ends it  {:>2} of about {ABOUT} s ", now.as_secs());
    let gap = cols.saturating_sub(left.width() + right.width());
    let whole = if gap > 0 {
        format!("{left}{}{right}", " ".repeat(gap))
    } else {
        format!("{:<cols$}", start_within(left, cols))
    };
    format!("\x1b[7m{whole}\x1b[27m")
}

/// The columns of `── conversation 1 `, and of ` context 100 % of 1,000,000 tokens `.
const HEAD: usize = 18;
const FIGURE: usize = 35;

/// The context meter, in a rule between the agent's screen and the panel.
fn meter(usage: Option<&UsageLine>, conversation: usize, cols: usize, palette: Palette) -> String {
    let percent = usage.map_or(0, UsageLine::percent);
    let window = usage.map_or_else(String::new, |usage| format!(" of {} tokens", thousands(usage.window)));
    let figure = format!(" context {percent:>3} %{window} ");
    let head =
        if conversation == 0 { "── ".to_owned() } else { format!("── conversation {conversation} ") };
    // The bar does not change its length when the usage becomes known.
    let Some(length) =
        cols.checked_sub(HEAD + FIGURE + 2).filter(|length| *length >= 10).map(|length| length.min(50))
    else {
        return dim(&"─".repeat(cols));
    };
    let cells: u64 = length.try_into().unwrap_or(0);
    let colour = match percent {
        p if p >= LEVELS.1 => RED,
        p if p >= LEVELS.0 => YELLOW,
        _ => GREEN,
    };
    let full = (cells * percent.min(100)).div_ceil(100);
    let is_level = |cell: u64| [LEVELS.0, LEVELS.1].iter().any(|level| cells * level / 100 == cell);
    let bar: String = (0..cells)
        .map(|cell| match cell {
            cell if cell < full => '█',
            cell if is_level(cell) => '┊',
            _ => '░',
        })
        .collect();
    let tail = "─".repeat(cols.saturating_sub(head.width() + length + figure.width()));
    format!("{}{}{figure}{}", dim(&head), palette.paint(&bar, colour), dim(&tail))
}

/// What the person did and hopty decided, as much as fits, the newest at the bottom.
fn log(entries: &[DemoEvent], cols: usize, room: usize, palette: Palette) -> Vec<String> {
    let mut rows = Vec::new();
    for entry in
        entries.iter().rev().filter(|entry| matches!(entry.who, DemoActor::Hopty | DemoActor::Person))
    {
        let head = format!(" {} {:<6} ", plain_output::time(entry.at), entry.who.word());
        let texts = rows_within(&entry.text, cols.saturating_sub(head.width() + 1));
        if rows.len() + texts.len() > room {
            break;
        }
        for (n, text) in texts.iter().enumerate().rev() {
            let head = if n == 0 { head.clone() } else { " ".repeat(head.width()) };
            let head = if entry.who == DemoActor::Hopty { palette.paint(&head, CYAN) } else { head };
            rows.push(format!("{head}{text}"));
        }
    }
    rows.resize(room, String::new());
    rows.reverse();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture<'a>(screen: &'a Screen, usage: &'a UsageLine, entries: &'a [DemoEvent]) -> Picture<'a> {
        let caption = "A new conversation, an empty context: it has the handoff and continues where the file \
                       ends. Nobody typed.";
        Picture {
            screen,
            caption,
            usage: Some(usage),
            conversation: 2,
            entries,
            now: Duration::from_secs(12),
        }
    }

    #[test]
    fn a_frame_fills_the_terminal_and_no_row_is_too_wide() {
        let usage = UsageLine { tokens: 184_000, window: 200_000, ..UsageLine::default() };
        let entry = |n: u64| DemoEvent {
            at: Duration::from_secs(n),
            who: DemoActor::Hopty,
            text: format!("Decision {n}: {}", "words ".repeat(30)),
        };
        let entries: Vec<DemoEvent> = (0..20).map(entry).collect();
        for size in [(60, 20), (80, 24), (120, 40), (200, 60), (30, 8), (1, 1)] {
            let inner = inner_size(size);
            let mut screen = Screen::new(inner.0, inner.1);
            screen.feed("x".repeat(usize::from(inner.0) * usize::from(inner.1)).as_bytes());
            let rows = frame(&picture(&screen, &usage, &entries), size, Palette::Colours);
            assert!(rows.len() <= usize::from(size.1), "{size:?}");
            let mut shown = Screen::new(300, 1);
            for row in &rows {
                shown.feed(format!("\x1b[2J\x1b[1;1H{row}").as_bytes());
                let width = shown.lines()[0].width();
                assert!(width <= usize::from(size.0), "{size:?}: {width}: {row}");
            }
        }
    }

    #[test]
    fn a_screen_that_does_not_fit_is_shown_around_the_cursor() {
        let mut screen = Screen::new(60, 11);
        assert_eq!([inner(&screen, 20), inner(&screen, 11), inner(&screen, 4)], [0..11, 0..11, 0..4]);
        screen.feed(b"\x1b[6;1H");
        assert_eq!([inner(&screen, 11), inner(&screen, 4), inner(&screen, 0)], [0..11, 4..8, 8..8]);
        screen.feed(b"\x1b[11;1H");
        assert_eq!(inner(&screen, 4), 7..11);
    }

    #[test]
    fn the_meter_is_as_full_as_the_context() {
        let full = |tokens: u64| {
            let usage = UsageLine { tokens, window: 200_000, ..UsageLine::default() };
            let row = meter(Some(&usage), 1, 120, Palette::Plain);
            (row.matches('█').count(), row.matches('┊').count())
        };
        assert_eq!(
            [full(0), full(2000), full(100_000), full(168_000), full(400_000)],
            [(0, 2), (1, 2), (25, 2), (42, 1), (50, 0)]
        );
    }

    #[test]
    fn the_newest_decisions_are_shown() {
        let entry = |n: u64, who: DemoActor| DemoEvent {
            at: Duration::from_secs(n),
            who,
            text: format!("number {n}"),
        };
        let entries = [
            entry(1, DemoActor::Hopty),
            entry(2, DemoActor::Person),
            entry(3, DemoActor::Agent),
            entry(4, DemoActor::Hopty),
        ];
        let rows = log(&entries, 80, 2, Palette::Plain);
        assert_eq!(rows, ["  2.00 s person number 2", "  4.00 s hopty  number 4"]);
    }
}
