//! Random histories, what they must reach, and the laws over all of them.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config as ProptestConfig, RngAlgorithm, TestRng, TestRunner};

use super::action_words::{ignored, kind};
use super::next_event::Dice;
use super::world::World;
use crate::core::config::{AfterError, RestartMode};
use crate::core::supervisor::action::Action;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::exit_table::tests::ENDS;
use crate::core::supervisor::exit_table::{CtrlC, ExitRow};
use crate::core::supervisor::phase::Phase;
use crate::core::supervisor::tests::{claude, plain, span};
use crate::core::supervisor::{Policy, Supervisor};

/// States that the histories must reach.
const PLACES: &[&str] = &[
    "cold", "spawning", "running", "waiting", "cooling", "held", "saving Stop Settings",
    "saving Stop Writing", "saving Batch Settings", "saving Batch Results", "saving Batch Writing",
    "saving Prompt Settings", "saving Prompt Prompt", "saving Prompt Writing", "saving Idle Settings",
    "saving Idle Writing", "saving Now Writing", "stopping Restart Settle", "stopping Restart Term",
    "stopping Restart Kill", "stopping Stop Term", "stopping Stop Kill", "stopping Shutdown Term",
    "stopping Shutdown Kill", "stopping Limit", "delivering Ready", "delivering Echo", "delivering Enter",
    "closed Finished", "closed UserInterrupt", "closed Stopped", "closed Killed", "closed CouldNotStart",
    "closed CrashLoop", "closed RestartLimit",
];

/// Actions that the histories must contain.
const ACTIONS: &[&str] = &[
    "spawn First", "spawn Fresh", "spawn Resume", "SIGTERM Child", "SIGKILL Group", "hold", "let go",
    "brief", "stop turn", "await Assistant", "await Results", "type paste", "type enter", "type ctrl-c",
    "type key", "type go", "hold keys", "pass keys", "release keys", "return prompt", "take queued",
    "drop prompt", "restart.waits", "accepted", "back", "busy", "clear", "refused", "already ended", "close",
    "notice", "collect", "reap", "check settings", "save", "consume", "consume signal", "follow", "wait",
    "suspend", "restart.ignored", "restart.cancelled", "delivery.submitted", "delivery.failed",
    "handoff.consumed", "limit.reached", "limit.over", "turn.failed", "continue.submitted",
    "continue.cancelled", "keep handoffs", "progress.missing", "degraded",
];

/// A runner for `cases` sequences.
pub(super) fn runner(cases: u32) -> TestRunner {
    let seed: u64 = std::env::var("HOPTY_LAWS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 4096,
        ..ProptestConfig::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// The policies that sequences run under; the first is the default, and the most frequent.
pub(super) fn policies() -> Vec<Policy> {
    let mut bare = claude();
    bare.hooks = false;
    let mut tight = claude();
    tight.config.restart.max_restarts = 1;
    tight.config.restart.window = span(300_000);
    tight.config.restart.grace = span(100);
    tight.config.restart.young = span(0);
    tight.config.restart.draft_wait = span(0);
    tight.config.restart.work_wait = span(0);
    tight.config.restart.turn_wait = span(0);
    tight.config.hooks.hold = span(100);
    tight.config.delivery.answer_dialogs =
        vec!["trust".to_owned(), "permission".to_owned(), "limit".to_owned()];
    tight.config.recovery.after_error = AfterError::Always;
    tight.config.recovery.retry_pause = span(5000);
    tight.config.recovery.limit_wait = span(0);
    let mut other = Policy { notes: true, ..claude() };
    other.config.restart.mode = RestartMode::Ask;
    other.config.recovery.resume_after_crash = false;
    let talking = || Policy { notes: true, sessions_file: true, ..claude() };
    let first_rules = Policy { rules: 0, ..tight.clone() };
    vec![claude(), talking(), talking(), talking(), first_rules, tight, bare, other, plain()]
}

/// Runs one history and checks every law; `before` sees each event, `after` its result.
pub(super) fn live(
    policy: &Policy,
    bits: &[u32],
    mut before: impl FnMut(&World, &Event),
    mut after: impl FnMut(&World, &Event),
) -> World {
    let mut world = World::new(policy.clone());
    let mut over = 0;
    for dice in bits {
        let event = world.next_event(Dice::new(*dice));
        before(&world, &event);
        world.feed(&event);
        after(&world, &event);
        over += u32::from(matches!(world.sup.phase(), Phase::Closed { .. }));
        if over > 3 {
            break;
        }
    }
    world
}

#[derive(Default)]
struct Coverage {
    events: u64,
    places: BTreeMap<String, u64>,
    cells: HashSet<(ExitRow, CtrlC, usize)>,
    actions: BTreeMap<String, u64>,
}

impl Coverage {
    fn note(&mut self, world: &World) {
        self.events += 1;
        *self.places.entry(world.place()).or_default() += 1;
        for action in &world.out {
            *self.actions.entry(kind(action)).or_default() += 1;
        }
    }

    fn check(&self) {
        println!("{} places: {:?}", self.places.len(), self.places);
        println!("{} kinds of actions: {:?}", self.actions.len(), self.actions);
        let (mut reached, mut missing) = (0, Vec::new());
        let columns = [CtrlC::No, CtrlC::Yes];
        for (row, ctrl_c) in ExitRow::ALL.into_iter().flat_map(|row| columns.map(|ctrl_c| (row, ctrl_c))) {
            for (n, end) in ENDS.iter().enumerate() {
                if self.cells.contains(&(row, ctrl_c, n)) {
                    reached += 1;
                } else if (row, ctrl_c) != (ExitRow::Cooling, CtrlC::Yes) {
                    // A Ctrl+C in the pause closes the session, so this cell cannot be reached.
                    missing.push((row, ctrl_c, end));
                }
            }
        }
        println!("{reached} of 171 cells of the table of ends reached");
        assert!(missing.is_empty(), "never reached: {missing:?}");
        assert_eq!(reached, 171);
        let seen = |places: &[&str], of: &BTreeMap<String, u64>| {
            let missing: Vec<_> =
                places.iter().filter(|place| !of.keys().any(|k| k.starts_with(**place))).copied().collect();
            assert!(missing.is_empty(), "never reached: {missing:?}");
        };
        seen(PLACES, &self.places);
        seen(ACTIONS, &self.actions);
    }
}

/// The cell of the exit table that applies to `event`, if it is an end.
fn cell(sup: &Supervisor, now: crate::core::time::Stamp, event: &Event) -> Option<(ExitRow, CtrlC, usize)> {
    let (end, run) = match event {
        Event::Child { run, end } => (*end, *run),
        Event::CouldNotStart { run, code, .. } => {
            (crate::core::process_change::ProcessEnd::Exited(*code), *run)
        }
        _ => return None,
    };
    if run != sup.run() || matches!(sup.phase(), Phase::Closed { .. }) {
        return None;
    }
    let (row, ctrl_c) = sup.row(now);
    Some((row, ctrl_c, ENDS.iter().position(|e| *e == end)?))
}

#[test]
fn the_laws_hold_over_random_sequences() {
    const CASES: u32 = 12_000;
    let policies = policies();
    let coverage = RefCell::new(Coverage::default());
    let strategy = (0..policies.len(), vec(any::<u32>(), 10..120));
    let run = runner(CASES).run(&strategy, |(policy, bits)| {
        let mut world = live(
            &policies[policy],
            &bits,
            |world, event| coverage.borrow_mut().cells.extend(cell(&world.sup, world.now, event)),
            |world, _| coverage.borrow_mut().note(world),
        );
        world.let_time_pass();
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
    let c = coverage.into_inner();
    println!("{CASES} sequences, {} events", c.events);
    c.check();
}

#[test]
fn a_signal_that_is_left_alone_changes_nothing_that_comes_after() {
    let policies = policies();
    let count = RefCell::new(0);
    let strategy = (0..policies.len(), vec(any::<u32>(), 10..120));
    let run = runner(1_000).run(&strategy, |(policy, bits)| {
        let mut twin = Supervisor::new(policies[policy].clone());
        live(
            &policies[policy],
            &bits,
            |_, _| {},
            |world, event| {
                let left_alone = ignored(event, &world.out);
                *count.borrow_mut() += u32::from(left_alone);
                let mut out = Vec::new();
                if left_alone {
                    assert_eq!(world.out.len(), 1, "said, and nothing else: {:?}", world.out);
                } else {
                    twin.step(world.now, event, &mut out);
                    let words = |actions: &[Action]| actions.iter().map(kind).collect::<Vec<_>>();
                    assert_eq!(words(&world.out), words(&out), "{event:?}");
                }
            },
        );
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
    let count = count.into_inner();
    println!("{count} signals were left alone");
    assert!(count > 250, "{count}");
}
