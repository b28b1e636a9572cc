//! What the child writes: five workloads, the same bytes in every process that asks for them.
//!
//! A workload is one block of exactly 1 MiB that ends where a line or a frame ends, and that is written over
//! and over. So the receiver knows every byte that is to come by its position alone. No block contains `~`,
//! which is kept for marks.

/// Bytes of a block.
pub const BLOCK: usize = 1 << 20;
/// Bytes of a large write.
const LARGE: usize = 1 << 16;

/// The workloads in the order of the tables, each with its letter.
pub const ALL: [(char, &str); 5] = [
    ('a', "plain lines, writes of 64 KiB"),
    ('b', "dense colour and cursor moves"),
    ('c', "wide UTF-8"),
    ('d', "synchronized frames of an agent, one write each"),
    ('e', "plain lines, one write each"),
];

/// A block and where its writes end.
#[derive(Debug)]
pub struct Workload {
    /// Its letter.
    pub letter: char,
    /// 1 MiB.
    pub block: Vec<u8>,
    /// Offsets in the block at which a write ends, the last one at its end.
    pub ends: Vec<usize>,
}

impl Workload {
    /// Makes the workload of a letter; an unknown one is `a`.
    pub fn new(letter: char) -> Self {
        let unit: fn(&mut Dice, &mut Vec<u8>) = match letter {
            'b' => dense,
            'c' => wide,
            'd' => frame,
            _ => line,
        };
        let mut dice = Dice(letter as u64);
        let mut block = Vec::with_capacity(BLOCK);
        let mut units = Vec::new();
        loop {
            let before = block.len();
            unit(&mut dice, &mut block);
            // Two bytes are for the line end of what fills up.
            if block.len() + 2 > BLOCK {
                block.truncate(before);
                break;
            }
            units.push(block.len());
        }
        // The rest is one line of blanks.
        block.resize(BLOCK - 2, b' ');
        block.extend_from_slice(b"\r\n");
        if letter == 'd' || letter == 'e' {
            units.push(BLOCK);
        } else {
            units = (1..=BLOCK / LARGE).map(|n| n * LARGE).collect();
        }
        Workload { letter, block, ends: units }
    }

    /// How many of `bytes`, which came at position `at` of the endless stream, are as they must be.
    pub fn matching(&self, at: usize, bytes: &[u8]) -> usize {
        let mut done = 0;
        while done < bytes.len() {
            let from = (at + done) % BLOCK;
            let len = (bytes.len() - done).min(BLOCK - from);
            let (got, wanted) = (&bytes[done..done + len], &self.block[from..from + len]);
            if got != wanted {
                return done + got.iter().zip(wanted).take_while(|(a, b)| a == b).count();
            }
            done += len;
        }
        done
    }
}

/// What is written after the last block of a slice, so that its end is seen in an output that a peer rewrote.
pub fn mark(number: u32) -> String {
    format!("\x1b[m\r\n~{number}~")
}

/// The `n`-th byte of what is pasted: lines of printable text, as a terminal sends them.
pub fn pasted(n: usize) -> u8 {
    match n % 64 {
        63 => b'\r',
        // 61 and 64 have no common divisor, and 61 and 62 neither: no two near lines are the same.
        at => b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(at + n / 64) % 61],
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn word(&mut self, out: &mut Vec<u8>) {
        const WORDS: [&str; 12] = [
            "compiling", "src/main.rs", "ok", "warning:", "test", "0x7f3a", "passed", "in", "the",
            "function", "result", "of",
        ];
        out.extend_from_slice(WORDS[self.below(12) as usize].as_bytes());
    }
}

fn words(dice: &mut Dice, width: usize, out: &mut Vec<u8>) {
    let end = out.len() + width;
    while out.len() < end {
        dice.word(out);
        out.push(b' ');
    }
    out.truncate(end);
}

fn line(dice: &mut Dice, out: &mut Vec<u8>) {
    let width = 20 + dice.below(59) as usize;
    words(dice, width, out);
    out.extend_from_slice(b"\r\n");
}

fn dense(dice: &mut Dice, out: &mut Vec<u8>) {
    let (row, col) = (1 + dice.below(24), 1 + dice.below(70));
    let (fore, back) = (dice.below(256), dice.below(8));
    let kind = dice.below(3);
    out.extend_from_slice(format!("\x1b[{row};{col}H").as_bytes());
    let look = match kind {
        0 => format!("\x1b[38;5;{fore}m"),
        1 => format!("\x1b[1;3{};4{back}m", fore % 8),
        _ => format!("\x1b[0;38;2;{fore};{};{back}m", 255 - fore),
    };
    out.extend_from_slice(look.as_bytes());
    let width = 1 + dice.below(9) as usize;
    words(dice, width, out);
}

fn wide(dice: &mut Dice, out: &mut Vec<u8>) {
    const SIGNS: [&str; 16] =
        ["漢", "字", "端", "末", "出", "力", "の", "テ", "ス", "ト", "한", "국", "é", "ß", "🦀", "a"];
    for _ in 0..20 + dice.below(18) {
        out.extend_from_slice(SIGNS[dice.below(16) as usize].as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// Up over the last frame, erase it, paint it again: as an agent's screen library does, though recorded from
/// none.
fn frame(dice: &mut Dice, out: &mut Vec<u8>) {
    const ROWS: usize = 10;
    out.extend_from_slice(b"\x1b[?2026h");
    for _ in 0..ROWS {
        out.extend_from_slice(b"\x1b[2K\x1b[1A");
    }
    out.extend_from_slice(b"\x1b[2K\x1b[G");
    for row in 0..ROWS {
        match row {
            0 | 9 => out.extend_from_slice("─".repeat(78).as_bytes()),
            1 => out.extend_from_slice(
                "\x1b[38;2;215;119;87m✻\x1b[39m \x1b[1mThinking…\x1b[22m \x1b[2m(esc to interrupt)\x1b[22m"
                    .as_bytes(),
            ),
            _ => {
                out.extend_from_slice(format!("\x1b[38;5;{}m│\x1b[39m ", 240 + row).as_bytes());
                let width = 30 + dice.below(40) as usize;
                words(dice, width, out);
            }
        }
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\x1b[?2026l");
}
