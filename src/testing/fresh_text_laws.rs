//! Laws for every program: old text is never an answer, and new text is never missed.
//!
//! An invented program draws words in random ways. The oracle knows what it meant to draw, remembers the
//! words at each mark, and decides which are new; it shares nothing with the screen model and does not know
//! about frames, which end at random times. `HOPTY_HISTORIES=10000` sets how many histories are tried.
//! `HOPTY_SETTLE=1000` tests that often whether a screen counts as settled while eight busy loops use the
//! CPUs, `HOPTY_LATENCY=1000` measures how soon a wait returns.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::echo_filter::tests::cooked;
use super::fresh_text_watch::{FreshTextWatch, TestMark};
use super::look::{Look, ScreenArea, TextPattern};
use super::program_wait::SettleRules;
use super::test_terminal::{ProgramUnderTest, TestTerminal};

const LONG: Duration = Duration::from_secs(60);

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn text(text: &str) -> Look {
    Look::on_screen(TextPattern::Text(text.to_owned()))
}

/// A word at the end of a row.
fn last_in_row(word: &str) -> Look {
    Look::on_screen(TextPattern::Regex(regex::Regex::new(&format!("{word}$")).unwrap()))
}

/// Random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % below
    }
}

/// No word is part of another.
const WORDS: [&str; 6] = ["okay", "Done", "fail", "wait", "next", "busy"];
/// Words of a row, and the columns of each.
const SLOTS: usize = 4;
const WIDTH: usize = 10;

/// A word and whether it is bold.
type Word = Option<(&'static str, bool)>;

/// How many marks are taken in one history.
const MARKS: usize = 8;

/// A place for a word.
#[derive(Clone, Copy, Default)]
struct Slot {
    now: Word,
    /// The word at each mark; `None` if the row did not exist then.
    then: [Option<Word>; MARKS],
}

type Row = [Slot; SLOTS];

/// What the program meant to show.
struct Oracle {
    rows: Vec<Row>,
    marks: usize,
    is_alternate: bool,
    /// The hidden screen: the primary one while the alternate one is shown.
    other: Vec<Row>,
}

impl Oracle {
    fn new() -> Self {
        let blank = vec![Row::default(); 8];
        Oracle { rows: blank.clone(), marks: 0, is_alternate: false, other: blank }
    }

    /// Takes a mark and returns its number.
    fn take_mark(&mut self) -> usize {
        let number = self.marks;
        self.marks += 1;
        self.rows.iter_mut().flatten().for_each(|slot| slot.then[number] = Some(slot.now));
        if self.is_alternate {
            self.other.iter_mut().flatten().for_each(|slot| slot.then[number] = Some(slot.now));
        }
        number
    }

    fn clear(&mut self, from: usize) {
        self.rows.iter_mut().skip(from).flatten().for_each(|slot| slot.now = None);
    }

    /// The bytes that draw everything on a blank screen.
    fn drawing(&self) -> String {
        let mut bytes = String::new();
        for (row, slots) in self.rows.iter().enumerate() {
            for (slot, word) in slots.iter().enumerate() {
                if let Some(word) = word.now {
                    bytes.push_str(&put(row, slot, word));
                }
            }
        }
        bytes
    }

    fn new_words(&self, word: &str, mark: usize) -> usize {
        let is_new =
            |slot: &&Slot| slot.now.is_some_and(|(now, _)| now == word) && slot.then[mark] != Some(slot.now);
        self.rows.iter().flatten().filter(is_new).count()
    }

    /// One action of the program, as bytes.
    fn step(&mut self, dice: &mut Dice) -> String {
        let height = self.rows.len();
        let row = dice.roll(height);
        let line = row + 1;
        match dice.roll(16) {
            0..=4 => {
                let (slot, word) = (dice.roll(SLOTS), (WORDS[dice.roll(WORDS.len())], dice.roll(4) == 0));
                self.rows[row][slot].now = Some(word);
                put(row, slot, word)
            }
            5 => {
                self.rows[row].iter_mut().for_each(|slot| slot.now = None);
                format!("\x1b[{line};1H\x1b[2K")
            }
            6 => {
                self.clear(row);
                format!("\x1b[{line};1H\x1b[J")
            }
            // Draws the same again: after a clear, over the old text, after a reset.
            7 => format!("\x1b[H\x1b[2J{}", self.drawing()),
            8 => self.drawing(),
            9 => {
                self.reset();
                format!("\x1bc{}", self.drawing())
            }
            10 => {
                self.rows.remove(0);
                self.rows.push(Row::default());
                format!("\x1b[{height};1H\r\n")
            }
            11 => {
                self.rows.pop();
                self.rows.insert(0, Row::default());
                "\x1b[H\x1bM".to_owned()
            }
            12 => {
                self.rows.pop();
                self.rows.insert(row, Row::default());
                format!("\x1b[{line};1H\x1b[L")
            }
            13 => {
                self.rows.remove(row);
                self.rows.push(Row::default());
                format!("\x1b[{line};1H\x1b[M")
            }
            14 => self.scroll_region(dice),
            _ => self.shift_row(row, dice),
        }
    }

    /// Erases the words at the end of a row.
    fn erase_row_end(&mut self, dice: &mut Dice) -> String {
        let (row, slot) = (dice.roll(self.rows.len()), 1 + dice.roll(SLOTS - 1));
        self.rows[row][slot..].iter_mut().for_each(|slot| slot.now = None);
        format!("\x1b[{};{}H\x1b[K", row + 1, slot * WIDTH + 1)
    }

    /// Draws the same on the primary screen; the alternate one is discarded.
    fn reset(&mut self) {
        if std::mem::take(&mut self.is_alternate) {
            std::mem::swap(&mut self.rows, &mut self.other);
            for (slot, drawn) in self.rows.iter_mut().flatten().zip(self.other.iter().flatten()) {
                slot.now = drawn.now;
            }
        }
        self.other = vec![Row::default(); self.rows.len()];
    }

    fn scroll_region(&mut self, dice: &mut Dice) -> String {
        let top = dice.roll(self.rows.len() - 1);
        let bottom = top + 1 + dice.roll(self.rows.len() - top - 1);
        let up = dice.roll(2) == 0;
        if up {
            self.rows.remove(top);
            self.rows.insert(bottom, Row::default());
        } else {
            self.rows.remove(bottom);
            self.rows.insert(top, Row::default());
        }
        format!("\x1b[{};{}r\x1b[{}\x1b[r", top + 1, bottom + 1, if up { 'S' } else { 'T' })
    }

    /// Moves words within their row, which changes it.
    fn shift_row(&mut self, row: usize, dice: &mut Dice) -> String {
        let right = dice.roll(2) == 0;
        let words = self.rows[row].map(|slot| slot.now);
        for slot in 0..SLOTS {
            let from = if right { slot.checked_sub(1) } else { Some(slot + 1) };
            self.rows[row][slot].now = from.and_then(|from| words.get(from).copied()).flatten();
        }
        format!("\x1b[{};1H\x1b[{WIDTH}{}", row + 1, if right { '@' } else { 'P' })
    }

    /// Output of many lines, of which the screen shows the end.
    fn flood(&mut self, dice: &mut Dice) -> String {
        let word = WORDS[dice.roll(WORDS.len())];
        let height = self.rows.len();
        self.rows = vec![Row::default(); height];
        for row in &mut self.rows[..height - 1] {
            row[0].now = Some((word, false));
        }
        format!("\x1b[{height};1H{}", format!("{word}\r\n").repeat(height + 200)).replace("H", "H\x1b[K")
    }

    fn switch_screens(&mut self) -> &'static str {
        std::mem::swap(&mut self.rows, &mut self.other);
        self.is_alternate = !self.is_alternate;
        if !self.is_alternate {
            return "\x1b[?1049l";
        }
        self.clear(0);
        "\x1b[?1049h"
    }
}

fn put(row: usize, slot: usize, (word, bold): (&str, bool)) -> String {
    let pen = if bold { "\x1b[1m" } else { "" };
    format!("\x1b[{};{}H{pen}{word}\x1b[m", row + 1, slot * WIDTH + 1)
}

/// Feeds bytes in pieces of any size; some of them end a frame.
fn feed(watch: &mut FreshTextWatch, bytes: &str, dice: &mut Dice) {
    let mut rest = bytes.as_bytes();
    let most = if dice.roll(2) == 0 { 400 } else { 20 };
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at((1 + dice.roll(most)).min(rest.len()));
        watch.feed(piece);
        if dice.roll(3) == 0 {
            watch.end_frame();
        }
        rest = behind;
    }
}

/// Lets the program draw once; returns the word that was typed.
fn draw(watch: &mut FreshTextWatch, oracle: &mut Oracle, dice: &mut Dice) -> Option<&'static str> {
    let mut typed = None;
    match dice.roll(20) {
        0 | 1 => {
            let bytes = oracle.switch_screens().to_owned() + &oracle.step(dice);
            feed(watch, &bytes, dice);
        }
        2 if !oracle.is_alternate => {
            let bytes = oracle.flood(dice);
            feed(watch, &bytes, dice);
        }
        3 if !oracle.is_alternate => {
            // Programs redraw everything then, and all of it is new.
            let height = 5 + (oracle.rows.len() - 4 + dice.roll(5)) % 6;
            watch.resize((SLOTS * WIDTH) as u16, height as u16);
            watch.end_frame();
            oracle.rows.resize(height, Row::default());
            oracle.other = vec![Row::default(); height];
            oracle.rows.iter_mut().flatten().for_each(|slot| slot.then = [None; MARKS]);
            let bytes = format!("\x1b[H\x1b[2J{}", oracle.drawing());
            feed(watch, &bytes, dice);
        }
        4 | 5 => {
            // Typed text is echoed at the cursor, in the middle of other output.
            let (row, slot) = (dice.roll(oracle.rows.len()), dice.roll(SLOTS));
            let bytes = oracle.step(dice) + &format!("\x1b[{};{}H", row + 1, slot * WIDTH + 1);
            feed(watch, &bytes, dice);
            let word = WORDS[dice.roll(WORDS.len())];
            typed = Some(word);
            watch.expect_echo(word.as_bytes(), &cooked());
            let echoed = &mut oracle.rows[row][slot];
            echoed.now = Some((word, false));
            echoed.then[..oracle.marks].fill(Some(echoed.now));
            let bytes = word.to_owned() + &oracle.step(dice);
            feed(watch, &bytes, dice);
        }
        kind => {
            let steps = 1 + dice.roll(6);
            let bytes: String = (0..steps).map(|_| oracle.step(dice)).collect();
            let bytes = if kind % 2 == 0 { format!("\x1b[?2026h{bytes}\x1b[?2026l") } else { bytes };
            feed(watch, &bytes, dice);
        }
    }
    watch.end_frame();
    typed
}

#[test]
fn what_no_row_of_the_mark_matches_is_never_called_old() {
    let histories = from_environment("HOPTY_HISTORIES").unwrap_or(500);
    let mut came_true = 0;
    for seed in 0..histories {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf4);
        let mut watch = FreshTextWatch::new(((SLOTS * WIDTH) as u16, 8), 50);
        let mut oracle = Oracle::new();
        draw(&mut watch, &mut oracle, &mut dice);
        for line in 1..10 {
            let (mark, was_alternate) = (watch.take_mark(line), oracle.is_alternate);
            oracle.take_mark();
            oracle.marks = 0;
            let typed = draw(&mut watch, &mut oracle, &mut dice);
            let bytes = oracle.erase_row_end(&mut dice);
            feed(&mut watch, &bytes, &mut dice);
            watch.end_frame();
            // The mark has the rows of the screen that was shown.
            let is_primary_again = was_alternate && !oracle.is_alternate;
            for word in WORDS.into_iter().filter(|word| !is_primary_again && typed != Some(*word)) {
                let look = last_in_row(word);
                for look in [look.clone(), look.within(ScreenArea::Row(0))] {
                    let found = watch.find(&look, &mark);
                    let is_old = !found.all.is_empty() && found.new.is_empty();
                    assert!(
                        !is_old || mark.had(&look.pattern),
                        "{word} in step {line} of history {seed}: {:#?}",
                        watch.screen().lines()
                    );
                    let is_old_word = watch.find(&text(word), &mark).new.is_empty();
                    came_true += usize::from(is_old_word && !found.new.is_empty());
                }
            }
        }
    }
    assert!(came_true as u64 * 10 > histories, "{came_true} in {histories} histories");
}

#[test]
fn nothing_old_is_taken_for_new_and_nothing_new_is_missed_however_output_is_cut() {
    let histories = from_environment("HOPTY_HISTORIES").unwrap_or(500);
    let (mut looks, mut answers) = (0, 0);
    for seed in 0..histories {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut watch = FreshTextWatch::new(((SLOTS * WIDTH) as u16, 8), 50);
        let mut oracle = Oracle::new();
        let mut marks: Vec<(TestMark, usize)> = vec![(watch.take_mark(1), oracle.take_mark())];
        for step in 0..20 {
            draw(&mut watch, &mut oracle, &mut dice);
            let (mark, number) = &marks[dice.roll(marks.len())];
            for word in WORDS {
                let (found, meant) = (watch.find(&text(word), mark), oracle.new_words(word, *number));
                assert_eq!(
                    found.new.len(),
                    meant,
                    "{word} in step {step} of history {seed}: {:#?}",
                    watch.screen().lines()
                );
                (looks, answers) = (looks + 1, answers + usize::from(meant > 0));
            }
            if dice.roll(3) == 0 && marks.len() < MARKS {
                marks.push((watch.take_mark(step), oracle.take_mark()));
            }
        }
    }
    // Both answers are common.
    assert!(answers * 5 > looks && answers * 5 < looks * 4, "{answers} of {looks}");
}

fn start(script: &str) -> TestTerminal {
    let program = ProgramUnderTest {
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        ..ProgramUnderTest::new(["sh", "-c", script])
    };
    TestTerminal::start(&program).unwrap()
}

/// Processes that use the CPUs.
struct Load(Vec<Child>);

impl Load {
    fn start(loops: usize) -> Self {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Load((0..loops).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A program computes between two lines.
fn settles(quiet: Duration) -> bool {
    let mut terminal =
        start("echo begin; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo end; read line");
    let mark = terminal.start_mark(1);
    terminal.expect(&text("begin"), &mark, LONG).unwrap();
    terminal.settle(&SettleRules { quiet, ..SettleRules::default() }, LONG).unwrap();
    !terminal.watch().subject().find(&text("end")).is_empty()
}

#[test]
fn a_starved_program_has_not_settled() {
    let times = from_environment("HOPTY_SETTLE");
    let load = Load::start(if times.is_some() { 8 } else { 2 });
    let tries = times.unwrap_or(3);
    let right = (0..tries).filter(|_| settles(Duration::from_millis(50))).count() as u64;
    drop(load);
    println!("settled rightly {right} of {tries} times");
    assert!(right * 1000 >= tries * 999, "{right} of {tries}");
}

#[test]
fn a_wait_returns_soon_after_the_text() {
    let tries = from_environment("HOPTY_LATENCY").unwrap_or(20);
    let mut terminal = start("stty raw -echo; echo up; exec cat");
    let mark = terminal.start_mark(1);
    terminal.expect(&text("up"), &mark, LONG).unwrap();
    let mut times: Vec<Duration> = (0..tries)
        .map(|n| {
            let mark = terminal.take_mark(2);
            let began = Instant::now();
            terminal.send(format!("\x1b[H\x1b[2Jn{n}.").as_bytes()).unwrap();
            terminal.expect(&text(&format!("n{n}.")), &mark, LONG).unwrap();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |share: usize| times[times.len() * share / 100];
    println!("sent, written by cat, found: p50 {:?}, p90 {:?}, p99 {:?}", at(50), at(90), at(99));
    // The numbers above are for a quiet machine; here others may be running.
    assert!(at(50) < Duration::from_millis(20), "{times:?}");
}
