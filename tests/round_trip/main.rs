//! The screen after attaching is the screen before, cell by cell, with cursor, modes and title, judged by an
//! emulator that is not hopty's. Counted: at least 300 states, of which the last line of the test tells how
//! many there were of what.
//!
//! * `recordings`: what programs wrote, cut at many points. At each cut, a fresh emulator that is sent the
//!   model's dump is compared with one that got the bytes; and again after what would show a hidden
//!   difference.
//! * `programs`: real programs in a session, driven by keys. At each state the program is held still, the
//!   terminal hangs up or is detached, and another one attaches. What these terminals were sent are
//!   recordings again.
//! * `agents`: Claude, the stand-in and the real one, inline and full-screen.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

#[allow(dead_code, reason = "shared with the conformance tests")]
#[path = "../conformance/emulator.rs"]
mod emulator;
#[allow(dead_code, reason = "shared with the conformance tests")]
#[path = "../conformance/outer.rs"]
mod outer;

mod agents;
mod judge;
mod live;
mod programs;
mod recordings;

use std::sync::Mutex;

/// How many states must be compared, whatever is installed.
const LEAST: usize = 300;

/// What was compared, and what was not the same.
#[derive(Default)]
struct Tally {
    rows: Vec<(String, usize)>,
    wrong: Vec<String>,
}

impl Tally {
    fn take(&mut self, name: impl Into<String>, states: usize, wrong: Vec<String>) {
        self.rows.push((name.into(), states));
        self.wrong.extend(wrong);
    }
}

#[test]
fn the_screen_after_attaching_is_the_one_before() {
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        scope.spawn(|| recordings::fixtures(&tally));
        scope.spawn(|| programs::all(&tally));
        scope.spawn(|| agents::all(&tally));
    });
    let mut tally = tally.into_inner().unwrap();
    tally.rows.sort();
    for (name, states) in &tally.rows {
        println!("{states:5}  {name}");
    }
    let total: usize = tally.rows.iter().map(|row| row.1).sum();
    support::claude::say(&format!("round trip: {total} states compared, {} differ", tally.wrong.len()));
    assert!(tally.wrong.is_empty(), "{} of {total} differ:\n{}", tally.wrong.len(), tally.wrong.join("\n"));
    assert!(total >= LEAST, "only {total} states");
}
