//! Limits: as few descriptors, processes and bytes of address space as the agent alone can run with are
//! enough for hopty, or the agent runs without it.

use std::time::Duration;

use super::poor::{As, Poor, Started, answers, said};
use super::support::{skip, wait};

/// Whether the agent alone comes up after `before` and answers.
fn runs_alone(poor: &Poor, before: &str) -> bool {
    let mut term = poor.start(before, Started::Alone);
    let up = wait::wait_within(Duration::from_secs(20), || {
        let ended = term.child.try_wait().unwrap().is_some();
        let up = term.lines().iter().any(|line| line.starts_with("❯\u{a0}"));
        (up || ended).then_some(up)
    });
    if up != Some(true) {
        return false;
    }
    term.submit("hi");
    let answered = wait::wait_within(Duration::from_secs(20), || {
        let ended = term.child.try_wait().unwrap().is_some();
        let answered = term.lines().iter().any(|line| line.contains("Answer 0."));
        (answered || ended).then_some(answered)
    });
    if answered == Some(true) {
        term.submit("/exit");
        term.wait_exit();
    }
    answered == Some(true)
}

fn runs_under_hopty(poor: &Poor, before: &str) -> Vec<String> {
    let mut term = poor.start(before, Started::Hopty);
    answers(&term);
    term.submit("/exit");
    assert_eq!(term.wait_exit(), 0, "{before}: {}", term.lines().join("\n"));
    term.drained();
    let said = said(&term);
    assert!(said.len() <= 1, "{before}: {said:#?}");
    term.assert_whole();
    poor.assert_nothing_left(before);
    said
}

/// From the least with which the agent alone runs, and `spare` for hopty, `steps` times more.
fn up_from_least(
    poor: &Poor,
    name: &str,
    limits: &[u64],
    (spare, steps): (usize, usize),
    before: impl Fn(u64) -> String,
) {
    let least = limits.iter().position(|limit| runs_alone(poor, &before(*limit)));
    let least = least.unwrap_or_else(|| panic!("{name}: the agent alone runs with none of {limits:?}"));
    let mut said = Vec::new();
    for limit in limits.iter().skip(least + spare).take(steps) {
        said.push((*limit, runs_under_hopty(poor, &before(*limit))));
    }
    assert!(said.last().unwrap().1.is_empty(), "{name}: with enough of it nothing is missing: {said:#?}");
}

#[test]
fn few_descriptors() {
    let poor = Poor::new(As::Anybody, "").unwrap();
    let limits: Vec<u64> = (8..60).collect();
    up_from_least(&poor, "descriptors", &limits, (0, 24), |n| format!("ulimit -n {n}"));
}

/// Of hopty alone: the agent lifts the limit again. The C library reserves up to 128 MB for each of its
/// threads where it can get them, so whether its next thread finds room would be chance.
#[test]
fn little_address_space() {
    let poor = Poor::new(As::Anybody, "").unwrap();
    let before = |kb: u64| format!("export HOPTY_TEST_LIFT=1; ulimit -S -v {kb}");
    // Below that the program itself cannot be loaded. In the 5 MB above it the heap ends somewhere in the
    // start, where an allocation that fails ends any Rust program: the size of the binary decides.
    let loads = |kb: &u64| poor.verb(&before(*kb), "--version").status.success();
    let least = (1..100).map(|n| n * 5_000).find(loads).unwrap();
    let said: Vec<Vec<String>> =
        (1..20).map(|n| runs_under_hopty(&poor, &before(least + n * 10_000))).collect();
    assert!(said.last().unwrap().is_empty(), "with enough of it nothing is missing: {said:#?}");
}

/// Processes of hopty's own that count against the same limit: client, host, and a hook with its shell.
const HOPTYS: usize = 4;

#[test]
fn few_processes() {
    let Some(poor) = Poor::new(As::Lonely, "") else {
        skip("few processes: needs root and setpriv");
        return;
    };
    let limits: Vec<u64> = (1..60).collect();
    up_from_least(&poor, "processes", &limits, (HOPTYS, 12), |n| {
        format!("ulimit -p {n} 2>/dev/null || ulimit -u {n}")
    });
}
