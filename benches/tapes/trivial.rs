//! The smallest test that is one: start a program, wait, type, wait, expect its end.

use std::time::Instant;

use anyhow::Result;

use crate::peers::{Peer, succeed};
use crate::support::place::Place;
use crate::support::stats::{cell, median, table};
use crate::support::target::{Target, under};

/// How often all of it is done; the middle one counts.
const ROUNDS: usize = 3;

/// Seconds that a peer takes for `tests` tests, the start of its own program included.
fn seconds(peer: &Peer, tests: usize, jobs: usize) -> Result<f64> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let place = Place::new()?;
        let commands = peer.commands(&place, tests, jobs)?;
        let began = Instant::now();
        succeed(peer.name(), commands)?;
        rounds.push(began.elapsed().as_secs_f64());
    }
    Ok(median(&rounds))
}

/// What one test takes.
pub fn one_after_another(peers: &[Peer], tests: usize) -> Result<()> {
    let target = Target::AtMost(8.0);
    let mut rows = Vec::new();
    let mut own = f64::NAN;
    for peer in peers {
        let all = seconds(peer, tests, 1)? * 1e3 / tests as f64;
        let alone = seconds(peer, 1, 1)? * 1e3;
        if peer.name() == "hopty" {
            own = all;
        }
        rows.push(vec![
            peer.name().to_owned(),
            cell(all, 2),
            if own == all { "1".to_owned() } else { cell(all / own, 2) },
            cell(alone, 1),
        ]);
    }
    println!("Trivial tests, {tests} one after another, n = {ROUNDS}\n");
    under(&mut rows, vec![target.judge(own), String::new(), String::new()]);
    table(&["tests", "one of many, ms", "× hopty", "a single one, ms"], &rows);
    Ok(())
}

/// How many tests end in a second.
pub fn many(peers: &[Peer], tests: usize) -> Result<()> {
    const JOBS: usize = 8;
    let target = Target::AtLeast(300.0);
    let mut rows = Vec::new();
    let mut own = f64::NAN;
    for peer in peers {
        let rate = tests as f64 / seconds(peer, tests, JOBS)?;
        if peer.name() == "hopty" {
            own = rate;
        }
        let ratio = if own == rate { "1".to_owned() } else { cell(rate / own, 2) };
        rows.push(vec![peer.name().to_owned(), cell(rate, 0), ratio]);
    }
    println!("Trivial tests, {tests}, {JOBS} at a time, n = {ROUNDS}\n");
    under(&mut rows, vec![target.judge(own), String::new()]);
    table(&["tests", "a second", "× hopty"], &rows);
    Ok(())
}
