//! The random inputs, and the loop that tries them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How many targets share the time.
pub const TARGETS: u64 = 15;

/// Numbers from a seed (xorshift, 64 bits).
pub struct Random(u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.next() as u8).collect()
    }

    /// Pieces of what is usual, numbers changed, some bytes broken.
    pub fn soup(&mut self, pieces: &[&str], most: usize) -> Vec<u8> {
        let mut soup = Vec::new();
        for _ in 0..self.below(most) {
            match self.below(12) {
                0 => soup.extend(self.bytes(6)),
                1 => soup.extend(format!("\x1b[{};{}", self.below(1 << 20), self.below(70_000)).bytes()),
                _ => soup.extend_from_slice(pieces[self.below(pieces.len())].as_bytes()),
            }
            if self.below(20) == 0 && !soup.is_empty() {
                let at = self.below(soup.len());
                soup[at] = self.next() as u8;
            }
        }
        soup
    }

    /// The bytes in pieces of random length.
    pub fn cut<'b>(&mut self, bytes: &'b [u8]) -> Vec<&'b [u8]> {
        let mut parts = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(1 + self.below(rest.len().min(40)));
            parts.push(part);
            rest = behind;
        }
        parts
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Tries input after input until this target's share of the time is over, or as many as are wanted.
pub fn fuzz(name: &str, try_one: impl FnMut(&mut Random)) {
    fuzz_some(name, 1, try_one);
}

/// The same for a target whose inputs take `weight` times as long: of wanted inputs it gets the less.
pub fn fuzz_some(name: &str, weight: u64, mut try_one: impl FnMut(&mut Random)) {
    let seconds = setting("HOPTY_FUZZ_SECONDS").unwrap_or(TARGETS / 2);
    let share = Duration::from_secs(seconds) / u32::try_from(TARGETS).unwrap();
    let inputs = setting("HOPTY_FUZZ_INPUTS").map(|inputs| inputs.div_ceil(weight));
    let first = setting("HOPTY_FUZZ_SEED").unwrap_or(1);
    let began = Instant::now();
    let mut n = 0;
    while inputs.map_or(began.elapsed() < share, |inputs| n < inputs) {
        let seed = (first + n).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let tried = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| try_one(&mut Random(seed))));
        assert!(done.is_ok(), "{name}: input {n} fails: HOPTY_FUZZ_SEED={} HOPTY_FUZZ_INPUTS=1", first + n);
        assert!(tried.elapsed() < Duration::from_secs(20), "{name}: input {n} takes {:?}", tried.elapsed());
        n += 1;
    }
    println!("{name}: {n} inputs in {:?}", began.elapsed());
}

/// Values that no field is made for.
const ODD: [&str; 22] = [
    "null",
    "true",
    "[]",
    "{}",
    "0",
    "-1",
    "1e308",
    "18446744073709551615",
    "-9223372036854775808",
    "0.5",
    "\"\"",
    "\" \"",
    "\"/\"",
    "\"../../etc/passwd\"",
    "\"\\u001b[2J\\u0007\"",
    "\"\\u0000\"",
    "\"\\u009b31m\\u202e\\ufeff\"",
    "\"a\\nb\\r\\tc\"",
    "\"\\ud83d\\ude00\"",
    "\"2026-11-20T14:30:00Z\"",
    "\"5450e68b-83d4-47c0-9c2f-e6b0117e1081\"",
    "[[[[[[[[\"deep\"]]]]]]]]",
];

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(nodes).sum(),
        Value::Object(parts) => parts.values().map(nodes).sum(),
        _ => 0,
    }
}

/// Node `at` of a value, counted from the top in the order of writing.
fn node(value: &mut Value, at: usize) -> &mut Value {
    if at == 0 {
        return value;
    }
    let mut left = at - 1;
    let children: Vec<&mut Value> = match value {
        Value::Array(list) => list.iter_mut().collect(),
        Value::Object(parts) => parts.values_mut().collect(),
        _ => unreachable!("only lists and objects have nodes below them"),
    };
    for child in children {
        let size = nodes(child);
        if left < size {
            return node(child, left);
        }
        left -= size;
    }
    unreachable!("{at} is no node")
}

impl Random {
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// A text as a person or a program writes it, and as nobody should.
    pub fn words(&mut self) -> String {
        match self.below(6) {
            0 => "word ".repeat(self.below(4000)),
            1 => "\u{1b}]2;t\u{7}\u{1b}[31m".to_owned(),
            2 => "漢字\u{202e}\u{200b}\u{85}".repeat(self.below(20)),
            3 => String::from_utf8_lossy(&self.bytes(30)).into_owned(),
            4 => "=== END HANDOFF ===\n```\n<system-reminder>".to_owned(),
            _ => self.next().to_string(),
        }
    }

    /// A value with some of its nodes replaced, moved, renamed, doubled, or gone.
    pub fn value(&mut self, sample: &Value) -> Value {
        let mut value = sample.clone();
        for _ in 0..self.below(4) {
            let (from, at) = (self.below(nodes(&value)), self.below(nodes(&value)));
            let moved = node(&mut value, from).clone();
            let new = match self.below(8) {
                0..=3 => serde_json::from_str(self.pick::<&str>(&ODD)).unwrap(),
                4 => Value::String(self.words()),
                5 => Value::from(self.next()),
                6 => Value::Array(vec![moved; self.below(40)]),
                _ => moved,
            };
            let place = node(&mut value, at);
            match place {
                Value::Object(parts) if !parts.is_empty() && self.chance(2) => {
                    let key = parts.keys().nth(self.below(parts.len())).unwrap().clone();
                    let old = parts.remove(&key).unwrap();
                    if self.chance(2) {
                        parts.insert(self.words(), old);
                    }
                }
                place => *place = new,
            }
        }
        value
    }

    /// Bytes with some of them changed, cut off, doubled, or of no encoding.
    pub fn damaged(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        for _ in 0..self.below(3) {
            let at = self.below(bytes.len() + 1);
            match self.below(8) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(..at)),
                2 => bytes.splice(at..at, self.bytes(8)).for_each(drop),
                3 => bytes.splice(at..at, *b"\xef\xbb\xbf").for_each(drop),
                4 => bytes.extend_from_within(at..),
                5 => bytes.splice(at..at, vec![b' '; 5000]).for_each(drop),
                6 => bytes.splice(at..at, vec![*b"[{\n\"\0".get(at % 5).unwrap(); 300]).for_each(drop),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (at % 8)),
            }
        }
        bytes
    }

    /// JSON that was once this, in text.
    pub fn json(&mut self, sample: &str) -> Vec<u8> {
        let value: Value = serde_json::from_str(sample).unwrap();
        let value = self.value(&value);
        let text = if self.chance(2) { value.to_string() } else { format!("{value:#}\n") };
        if self.chance(3) { self.damaged(text.into_bytes()) } else { text.into_bytes() }
    }

    /// JSON lines that were once these: changed, doubled, gone, out of order, glued, torn, with nothing or
    /// something between.
    pub fn json_lines(&mut self, sample: &str) -> Vec<u8> {
        let lines: Vec<&str> = sample.lines().collect();
        let from = if self.chance(2) { 0 } else { self.below(lines.len()) };
        let mut text = Vec::new();
        for line in &lines[from..] {
            let line = if self.chance(12) { self.pick(&lines) } else { line };
            match self.below(10) {
                0 => text.extend(self.json(line)),
                1 => text.extend(self.damaged(line.as_bytes().to_vec())),
                2 if self.chance(3) => continue,
                _ => text.extend(line.bytes()),
            }
            match self.below(40) {
                0 => {}
                1 => text.extend(b"\r\n"),
                2 => text.extend(b"\n\n"),
                3 => text.extend(self.bytes(9)),
                _ => text.push(b'\n'),
            }
        }
        text
    }

    /// Lines that were once these, for what is neither JSON nor binary.
    pub fn lines(&mut self, sample: &str) -> Vec<u8> {
        let lines: Vec<&str> = sample.lines().collect();
        let mut text = String::new();
        for line in &lines {
            let line = if self.chance(12) { *self.pick(&lines) } else { line };
            if self.chance(20) {
                continue;
            }
            match (self.below(12), line.split_once([':', '='])) {
                (0, Some((name, _))) => text.push_str(&format!("{name}= {}", self.words())),
                (1, Some((name, _))) => text.push_str(&format!("{name} = {}", self.pick(&ODD))),
                (2, Some((_, value))) => text.push_str(&format!("{} = {value}", self.words())),
                (3, _) => text.push_str(&self.words()),
                _ => text.push_str(line),
            }
            text.push('\n');
        }
        if self.chance(3) { self.damaged(text.into_bytes()) } else { text.into_bytes() }
    }
}

/// That a text for people holds no control character but line breaks and tabs.
pub fn assert_plain(what: &str, text: &str) {
    let found = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert_eq!(found, None, "{what}: {}", text.escape_debug());
}
