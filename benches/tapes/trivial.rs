//! The smallest test that is one: start a program, wait, type, wait, expect its end.

use std::time::Instant;

use anyhow::Result;

use crate::peers::{Peer, Tool, succeed};
use crate::support::place::Place;
use crate::support::stats::{cell, median, quantile, table};
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

/// Milliseconds of each of `times` commands that do one test, the start of the command included.
fn alone(peer: &Peer, times: usize) -> Result<Vec<f64>> {
    let mut each = Vec::new();
    for _ in 0..times {
        let place = Place::new()?;
        let commands = peer.commands(&place, 1, 1)?;
        let began = Instant::now();
        succeed(peer.name(), commands)?;
        each.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(each)
}

/// What one test takes, among others and alone.
pub fn one_after_another(peers: &[Peer], tests: usize) -> Result<()> {
    let target = Target::AtMost(8.0);
    let mut rows = Vec::new();
    let mut own = [f64::NAN; 2];
    for peer in peers {
        let all = seconds(peer, tests, 1)? * 1e3 / tests as f64;
        let each = alone(peer, tests)?;
        let [p50, p99] = [0.5, 0.99].map(|q| quantile(&each, q));
        let is_own = peer.tool == Tool::Hopty;
        if is_own {
            own = [p50, all];
        }
        let ratio = |value: f64, own: f64| if is_own { "1".to_owned() } else { cell(value / own, 2) };
        rows.push(vec![
            peer.name().to_owned(),
            cell(p50, 2),
            cell(p99, 2),
            ratio(p50, own[0]),
            cell(all, 2),
            ratio(all, own[1]),
        ]);
    }
    println!("A trivial test: a command for each, n = {tests}; {tests} in one command, n = {ROUNDS}\n");
    let none = String::new;
    under(&mut rows, vec![target.judge(own[0]), none(), none(), target.judge(own[1]), none()]);
    table(&["tests", "alone: p50, ms", "p99, ms", "× hopty", "one of many: mean, ms", "× hopty"], &rows);
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
