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

/// What hopty says with each of these limits; the last is enough.
fn all_run(
    poor: &Poor,
    limits: impl IntoIterator<Item = u64>,
    before: impl Fn(u64) -> String,
) -> Vec<(u64, Vec<String>)> {
    let of = |limit| (limit, runs_under_hopty(poor, &before(limit)));
    let said: Vec<(u64, Vec<String>)> = limits.into_iter().map(of).collect();
    assert!(said.last().unwrap().1.is_empty(), "with enough of it nothing is missing: {said:#?}");
    said
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

#[test]
fn few_descriptors() {
    let poor = Poor::new(As::Anybody, "").unwrap();
    let before = |n: u64| format!("ulimit -n {n}");
    let least = (8..60).find(|n| runs_alone(&poor, &before(*n))).expect("the agent alone runs with few");
    all_run(&poor, least..least + 24, before);
}

/// Of hopty alone: the agent lifts the limit again. The C library reserves up to 128 MB for each of its
/// threads where it can get them, so whether its next thread finds room would be chance.
#[test]
fn little_address_space() {
    let poor = Poor::new(As::Anybody, "").unwrap();
    let before = |kb: u64| format!("export HOPTY_TEST_LIFT='ulimit -S -v unlimited'; ulimit -S -v {kb}");
    // Below that the program itself cannot be loaded. In the 5 MB above it the heap ends somewhere in the
    // start, where an allocation that fails ends any Rust program: the size of the binary decides.
    let loads = |kb: &u64| poor.verb(&before(*kb), "--version").status.success();
    let least = (1..100).map(|n| n * 5_000).find(loads).unwrap();
    all_run(&poor, (1..20).map(|n| least + n * 10_000), before);
}

/// Of hopty alone, for the kernel counts the threads of both together: which of them gets the last one would
/// be chance, and an agent that gets none panics.
#[test]
fn few_processes() {
    let Some(poor) = Poor::new(As::Lonely, "") else {
        skip("few processes: needs root and setpriv");
        return;
    };
    // dash calls it -p, every other shell -u.
    let before = |n: u64| {
        let lines = [
            "if ulimit -u >/dev/null 2>&1; then o=u; else o=p; fi".to_owned(),
            r#"export HOPTY_TEST_LIFT="ulimit -S -$o $(ulimit -H -$o)""#.to_owned(),
            format!("ulimit -S -$o {n}"),
        ];
        lines.join("\n")
    };
    let said = all_run(&poor, (1..24).chain([64]), before);
    assert!(said[0].1[0].ends_with("running Claude without hopty"), "{said:#?}");
}
