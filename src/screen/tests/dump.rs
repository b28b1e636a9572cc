//! Many fixed inputs, none of which makes the model or its dump fail.

use crate::screen::{PictureLines, Screen};

const INPUTS: u64 = 20_000;

/// Output that programs write, and output that they do not write: joined, split and mixed with random bytes.
const PIECES: [&str; 52] = [
    "text",
    "漢字",
    "e\u{301}",
    "👩\u{200d}💻",
    "\u{301}",
    "\r\n",
    "\n",
    "\r",
    "\t",
    "\x08",
    "\x0e",
    "\x0f",
    "\x1b[H",
    "\x1b[5;7H",
    "\x1b[2J",
    "\x1b[3J",
    "\x1b[K",
    "\x1b[1K",
    "\x1b[3@",
    "\x1b[2P",
    "\x1b[4X",
    "\x1b[2L",
    "\x1b[3M",
    "\x1b[S",
    "\x1b[2T",
    "\x1b[9b",
    "\x1b[2;4r",
    "\x1b[r",
    "\x1b[?6h",
    "\x1b[?6l",
    "\x1b[?7l",
    "\x1b[4h",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[?47h",
    "\x1b7",
    "\x1b8",
    "\x1b(0",
    "\x1b[1;31;44m",
    "\x1b[38;2;1;2;3;4:3m",
    "\x1b[m",
    "\x1b[>5u",
    "\x1b]2;title\x1b\\",
    "\x1b[22;0t",
    "\x1b]4;1;red\x07",
    "\x1bc",
    "\x1b[!p",
    "\x1b[?2026h",
    "\x1b]8;;https://example.org\x1b\\",
    "\x1b]8;id=a;https://example.org\x1b\\",
    "\x1b]8;;\x07",
    "\x1b]7;file:///dir\x07",
];

/// A random number generator (xorshift, 64 bits), the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn input(numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..numbers.below(24) {
        match numbers.below(8) {
            0 => bytes.extend((0..numbers.below(6)).map(|_| numbers.below(256) as u8)),
            1 => {
                let piece = PIECES[numbers.below(PIECES.len())].as_bytes();
                bytes.extend_from_slice(&piece[..numbers.below(piece.len() + 1)]);
            }
            2 => {
                let last = (0x40 + numbers.below(63) as u8) as char;
                bytes.extend(format!("\x1b[{};{}{last}", numbers.below(12), numbers.below(70_000)).bytes());
            }
            _ => bytes.extend_from_slice(PIECES[numbers.below(PIECES.len())].as_bytes()),
        }
    }
    bytes
}

#[test]
fn no_input_of_many_makes_a_screen_or_its_dump_fail() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let side = |numbers: &mut Numbers| 1 + numbers.below(14) as u16;
    for _ in 0..INPUTS {
        let (cols, rows) = (side(&mut numbers), side(&mut numbers));
        let mut screen = Screen::with_history(cols, rows, 5);
        screen.feed(&input(&mut numbers));
        if numbers.below(4) == 0 {
            screen.resize(side(&mut numbers), side(&mut numbers));
        }
        let dump = screen.dump();
        let (cols, rows) = screen.size();
        let mut fresh = Screen::with_history(cols, rows, 5);
        [&dump.history, &dump.screen, &dump.unfinished].into_iter().for_each(|part| fresh.feed(part));
        assert_eq!(fresh.ansi(PictureLines::Screen), screen.ansi(PictureLines::Screen));
        assert_eq!((fresh.cursor(), fresh.alternate()), (screen.cursor(), screen.alternate()));
        assert_eq!((fresh.title(), fresh.directory()), (screen.title(), screen.directory()));
        assert!(fresh.take_queries().is_empty());
    }
}

/// Clipboard texts, bells and queries are over: a terminal that attaches later gets none of them.
#[test]
fn a_dump_has_no_clipboard_no_bell_and_no_question() {
    let mut screen = Screen::with_history(20, 3, 10);
    for _ in 0..4 {
        screen.feed(
            b"line\x07\x1b]52;c;aG9wdHk=\x07\x1b]52;c;?\x1b\\\x1b[c\x1b[6n\x1b]11;?\x1b\\\x1bP$qm\x1b\\\r\n",
        );
    }
    let dump = screen.dump();
    for part in [&dump.history, &dump.screen, &dump.unfinished] {
        assert!(
            !part.windows(4).any(|four| four == b"]52;") && !part.contains(&0x07),
            "{}",
            part.escape_ascii()
        );
    }
    let mut fresh = Screen::with_history(20, 3, 10);
    [&dump.history, &dump.screen, &dump.unfinished].into_iter().for_each(|part| fresh.feed(part));
    assert_eq!(fresh.lines(), screen.lines());
    assert!(fresh.take_queries().is_empty() && !screen.take_queries().is_empty());
}

#[test]
fn the_character_of_a_single_shift_is_written_as_itself_again() {
    for bytes in [
        "\x1b(0\x1b+A\x1bOe", "\x1b(0\x1bNe\u{301}", "\x1b(A\x1b*0\x1bO#", "\x1b(0\x1b*A\x1bN#",
        "\x1b*0\x1bNq", "\x1b(0q",
    ] {
        let mut screen = Screen::new(6, 2);
        screen.feed(bytes.as_bytes());
        let mut fresh = Screen::new(6, 2);
        fresh.feed(&screen.dump().screen);
        assert_eq!(fresh, screen, "{bytes:?}");
        [&mut screen, &mut fresh].into_iter().for_each(|screen| screen.feed(b"\x1b[bq"));
        assert_eq!(fresh, screen, "{bytes:?}");
    }
}
