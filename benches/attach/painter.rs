//! The program that is left and come back to: it paints when it is told, and is silent ever after, whatever
//! is typed and however its window changes.
//!
//! Orders and answers are lines on a socket, so that nothing but the painting passes through what is
//! measured. It ends when the socket does, or its terminal.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use hopty::tty::raw;

use crate::{COLS, ROWS, tty};

/// The title that it gives its window.
const TITLE: &str = "a painting";
/// Everything that is to be found again, but for the text: alternate screen, paste, mouse, SGR mouse, focus,
/// cursor keys, kitty's keyboard, a bar that blinks for a cursor.
const MODES: &str = "\x1b[?1049h\x1b[?2004h\x1b[?1000h\x1b[?1006h\x1b[?1004h\x1b[?1h\x1b[>5u\x1b[5 q";
/// Where it leaves the cursor: row and column, from 1.
const CURSOR: (usize, usize) = (7, 9);
/// What cells look like, one after the other.
const LOOKS: [&str; 24] = [
    "",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "9",
    "4:2",
    "4:3",
    "4:4;58:5:160",
    "1;3;4",
    "31",
    "94",
    "42",
    "103;30",
    "38;5;208",
    "48;5;24",
    "38;2;200;120;40",
    "48;2;20;60;90",
    "7;38;5;33",
    "2;9;35",
    "1;38;2;1;2;3;48;2;250;240;230",
    "3;48;5;236",
];
/// What they say, in narrow characters and in wide ones.
const NARROW: &str = "abcdefghijklmnopqrstuvwxyz─│╭╯é0123456789❯✻";
const WIDE: &str = "漢字かな한글";
/// Lines that are written before anybody comes.
pub const LINES: usize = 100;

/// Works until the socket ends, or the terminal.
pub fn work(socket: &Path) -> io::Result<()> {
    let (keys, out) = (io::stdin(), io::stdout());
    tty::make_raw(keys.as_fd());
    let mut answers = UnixStream::connect(socket)?;
    let mut orders = BufReader::new(answers.try_clone()?);
    let mut buf = [0; 4096];
    loop {
        let [(typed, _), (order, _)] =
            tty::wait(&[(keys.as_fd(), true, false), (orders.get_ref().as_fd(), true, false)], -1);
        if typed && tty::read(keys.as_fd(), &mut buf)? == Some(0) {
            return Ok(());
        }
        if order {
            let mut line = String::new();
            if orders.read_line(&mut line)? == 0 {
                return Ok(());
            }
            tty::write_all(out.as_fd(), painting(line.trim_end()).as_bytes())?;
            let size = raw::size();
            answers.write_all(format!("{} {}\n", size.cols, size.rows).as_bytes())?;
        }
    }
}

/// What is painted by this order: `lines`, or else the picture.
pub fn painting(what: &str) -> String {
    if what == "lines" { lines() } else { picture() }
}

/// A full screen in which every cell says something, most of them in a look of their own and many with a
/// link.
pub fn picture() -> String {
    let mut text = format!("{MODES}\x1b]2;{TITLE}\x07");
    let (narrow, wide): (Vec<char>, Vec<char>) = (NARROW.chars().collect(), WIDE.chars().collect());
    let mut nth = 0;
    for row in 0..usize::from(ROWS) {
        let _ = write!(text, "\x1b[{};1H", row + 1);
        let mut left = usize::from(COLS);
        while left > 0 {
            let columns = (2 + nth * 7 % 9).min(left);
            let link = nth % 5 == 2;
            let _ = write!(text, "\x1b[0;{}m", LOOKS[nth % LOOKS.len()]);
            if link {
                let _ = write!(text, "\x1b]8;;https://example.com/{nth}\x1b\\");
            }
            if nth % 6 == 3 && columns % 2 == 0 {
                text.extend((0..columns / 2).map(|n| wide[(nth + n) % wide.len()]));
            } else {
                text.extend((0..columns).map(|n| narrow[(nth * 3 + n) % narrow.len()]));
            }
            if link {
                text.push_str("\x1b]8;;\x1b\\");
            }
            left -= columns;
            nth += 1;
        }
    }
    let _ = write!(text, "\x1b[m\x1b[{};{}H", CURSOR.0, CURSOR.1);
    text
}

/// The lines that are to be found by who comes first.
fn lines() -> String {
    (1..=LINES).map(|n| format!("{}, written before anybody came\r\n", line(n))).collect()
}

/// How one of them begins, from 1.
pub fn line(n: usize) -> String {
    format!("line {n:03}")
}
