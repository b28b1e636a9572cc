//! What the screen model costs, in memory, beside three others in the same run.
//!
//! ```sh
//! cargo bench --bench screen                  # 80x24, 15 rounds
//! cargo bench --bench screen -- 160x50 30     # another size, more rounds
//! cargo bench --bench screen -- dense hopty   # one workload, one model
//! cargo bench --bench screen -- history=0     # no lines above the screen; 2000 otherwise
//! ```
//!
//! Every model is fed the same 4 MiB, each in turn, the order rotating, and the best round counts: a shared
//! machine measures its neighbours too. This one and alacritty_terminal keep the same history. Nothing is
//! asserted.

#![allow(clippy::unwrap_used, reason = "as in tests: what is not as expected ends it")]

use std::fmt::Write as _;
use std::time::Instant;

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::Processor;
use hopty::screen::Screen;
use vte::{Parser, Perform};

/// Bytes of each workload.
const LENGTH: usize = 4 << 20;

/// Bytes given at a time: a backlog, and what one read of a pseudo-terminal gives.
const PIECES: [usize; 2] = [64 << 10, 4 << 10];

/// The workloads by name.
const WORKLOADS: [&str; 4] = ["plain lines", "dense colour and moves", "wide UTF-8", "agent frames"];

/// The models: name, and what feeds a fresh one with the pieces and says something of the result, so that
/// none of it can be left out.
const MODELS: [(&str, Model); 4] =
    [("hopty", hopty), ("alacritty_terminal", alacritty), ("avt", avt), ("vte, nothing behind it", parser)];

type Model = fn(Size, &[u8], usize) -> usize;

#[derive(Clone, Copy)]
struct Size {
    cols: u16,
    rows: u16,
    history: usize,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let size = args.iter().find_map(|arg| arg.split_once('x')).unwrap_or(("80", "24"));
    let history =
        args.iter().find_map(|arg| arg.strip_prefix("history=")).map_or(2000, |lines| lines.parse().unwrap());
    let size = Size { cols: size.0.parse().unwrap(), rows: size.1.parse().unwrap(), history };
    let rounds: usize = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(15);
    println!(
        "| {}x{} and {history} lines of history, MB/s | {} | to alacritty_terminal |",
        size.cols,
        size.rows,
        MODELS.map(|(name, _)| name).join(" | ")
    );
    println!("|---|{}---|", "---|".repeat(MODELS.len()));
    let workloads = [plain(), dense(size), wide(), agent()];
    for (piece, (name, bytes)) in PIECES
        .into_iter()
        .flat_map(|piece| WORKLOADS.into_iter().zip(&workloads).map(move |all| (piece, all)))
    {
        let left_out = |all: &[&str], name: &str| {
            let chosen = |name: &str| args.iter().any(|arg| name.contains(arg.as_str()));
            all.iter().any(|name| chosen(name)) && !chosen(name)
        };
        if left_out(&WORKLOADS, name) {
            continue;
        }
        let mut best = [f64::INFINITY; MODELS.len()];
        for round in 0..rounds {
            for turn in 0..MODELS.len() {
                let at = (round + turn) % MODELS.len();
                // avt is slow, and only here for orientation.
                if left_out(&MODELS.map(|(name, _)| name), MODELS[at].0)
                    || (MODELS[at].0 == "avt" && round > 3)
                {
                    continue;
                }
                let start = Instant::now();
                std::hint::black_box(MODELS[at].1(size, std::hint::black_box(bytes), piece));
                best[at] = best[at].min(start.elapsed().as_secs_f64());
            }
        }
        let speeds = best.map(|seconds| bytes.len() as f64 / seconds / 1e6);
        let cells: Vec<String> = speeds.iter().map(|speed| format!("{speed:.0}")).collect();
        println!(
            "| {name}, {} KiB at a time | {} | {:.2} |",
            piece >> 10,
            cells.join(" | "),
            speeds[0] / speeds[1]
        );
    }
}

fn hopty(size: Size, bytes: &[u8], piece: usize) -> usize {
    let mut screen = Screen::with_history(size.cols, size.rows, size.history);
    bytes.chunks(piece).for_each(|piece| screen.feed(piece));
    usize::from(screen.cursor().col)
}

fn alacritty(size: Size, bytes: &[u8], piece: usize) -> usize {
    struct Cells(Size);
    impl alacritty_terminal::grid::Dimensions for Cells {
        fn total_lines(&self) -> usize {
            self.screen_lines()
        }
        fn screen_lines(&self) -> usize {
            usize::from(self.0.rows)
        }
        fn columns(&self) -> usize {
            usize::from(self.0.cols)
        }
    }
    let config = Config { scrolling_history: size.history, ..Config::default() };
    let mut terminal = Term::new(config, &Cells(size), VoidListener);
    let mut parser: Processor = Processor::new();
    bytes.chunks(piece).for_each(|piece| parser.advance(&mut terminal, piece));
    terminal.grid().cursor.point.column.0
}

fn avt(size: Size, bytes: &[u8], piece: usize) -> usize {
    let mut terminal = avt::Terminal::new(usize::from(size.cols), usize::from(size.rows)).unwrap();
    let mut rest = std::str::from_utf8(bytes).unwrap();
    while !rest.is_empty() {
        let mut end = piece.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, later) = rest.split_at(end);
        terminal.feed(piece);
        rest = later;
    }
    terminal.screen().text().len()
}

fn parser(_: Size, bytes: &[u8], piece: usize) -> usize {
    struct Nothing(usize);
    impl Perform for Nothing {
        fn print(&mut self, _: char) {
            self.0 += 1;
        }
    }
    let (mut parser, mut nothing) = (Parser::new(), Nothing(0));
    bytes.chunks(piece).for_each(|piece| parser.advance(&mut nothing, piece));
    nothing.0
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn filled(mut add: impl FnMut(&mut String, &mut Dice)) -> Vec<u8> {
    let (mut text, mut dice) = (String::with_capacity(LENGTH + 4096), Dice(7));
    while text.len() < LENGTH {
        add(&mut text, &mut dice);
    }
    text.into_bytes()
}

const WORDS: [&str; 12] = [
    "the", "terminal", "writes", "a", "line", "of", "output", "that", "nobody", "reads,", "src/main.rs:42:",
    "ok",
];

fn words(text: &mut String, dice: &mut Dice, columns: usize) {
    let end = text.len() + columns;
    while text.len() < end {
        text.push_str(WORDS[dice.below(WORDS.len() as u64) as usize]);
        text.push(' ');
    }
    text.truncate(end);
}

/// Lines as a compiler or `seq` writes them, 20 to 79 columns.
fn plain() -> Vec<u8> {
    filled(|text, dice| {
        let columns = 20 + dice.below(60) as usize;
        words(text, dice, columns);
        text.push_str("\r\n");
    })
}

/// A place, a look, a few characters: as full-screen programs draw.
fn dense(size: Size) -> Vec<u8> {
    filled(|text, dice| {
        let (row, col) = (1 + dice.below(u64::from(size.rows)), 1 + dice.below(u64::from(size.cols)));
        write!(text, "\x1b[{row};{col}H").unwrap();
        match dice.below(4) {
            0 => write!(text, "\x1b[38;2;{};{};{}m", dice.below(256), dice.below(256), dice.below(256))
                .unwrap(),
            1 => write!(text, "\x1b[1;3{};48;5;{}m", dice.below(8), dice.below(256)).unwrap(),
            2 => write!(text, "\x1b[0;{}m", 30 + dice.below(8)).unwrap(),
            _ => text.push_str("\x1b[m"),
        }
        let columns = 3 + dice.below(12) as usize;
        words(text, dice, columns);
        if dice.below(8) == 0 {
            text.push_str("\x1b[K");
        }
    })
}

/// Lines of wide characters, with a few narrow ones that are not ASCII.
fn wide() -> Vec<u8> {
    filled(|text, dice| {
        for _ in 0..10 + dice.below(28) {
            match dice.below(12) {
                0 => text.push_str("─é"),
                1 => text.push(' '),
                2 => text.push(char::from_u32(0x3041 + dice.below(80) as u32).unwrap()),
                3 => text.push(char::from_u32(0xac00 + dice.below(9000) as u32).unwrap()),
                _ => text.push(char::from_u32(0x4e00 + dice.below(20000) as u32).unwrap()),
            }
        }
        text.push_str("\r\n");
    })
}

/// Frames as an agent's interface writes them: held back until whole (mode 2026), up over the old one, each
/// line erased and written again with a few colours, a box with a prompt below.
fn agent() -> Vec<u8> {
    filled(|text, dice| {
        let lines = 4 + dice.below(10);
        write!(text, "\x1b[?2026h\x1b[?25l\x1b[{}A", lines + 3).unwrap();
        for line in 0..lines {
            text.push_str("\r\x1b[2K");
            if line == 0 {
                write!(
                    text,
                    "\x1b[38;2;215;119;87m✻\x1b[39m \x1b[1mThinking…\x1b[22m \x1b[2m({}s · esc to \
                     interrupt)\x1b[22m",
                    dice.below(99)
                )
                .unwrap();
            } else {
                text.push_str("\x1b[38;5;246m  ⎿ \x1b[39m ");
                let columns = 10 + dice.below(55) as usize;
                words(text, dice, columns);
            }
            text.push_str("\r\n");
        }
        let rule = "─".repeat(78);
        write!(
            text,
            "\x1b[38;5;244m╭{rule}╮\x1b[39m\r\n\x1b[38;5;244m│\x1b[39m > \x1b[7m \x1b[27m\x1b[2mTry \
             \"edit\"\x1b[22m\x1b[K\r\n"
        )
        .unwrap();
        write!(text, "\x1b[38;5;244m╰{rule}╯\x1b[39m\r\n\x1b[?25h\x1b[?2026l").unwrap();
    })
}
