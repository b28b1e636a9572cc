//! Journals of random histories that are rotated in as many states as possible.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::any;
use serde_json::{Value, json};

use super::world::World;
use super::{live, policies, runner};
use crate::core::journal::{JournalRecorder, Replay, replay};
use crate::core::supervisor::Policy;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::Phase;
use crate::core::time::{Stamp, WallTime};

type Story = Vec<(Stamp, Event, BTreeSet<String>)>;

/// The features that make it worth keeping a journal rotated in this state.
fn features(world: &World) -> BTreeSet<String> {
    let state = json!(world.sup);
    let mut all = BTreeSet::new();
    if !matches!(world.sup.phase(), Phase::Cold | Phase::Closed { .. }) {
        all.insert(world.place());
    }
    let word = |value: &Value| value.as_str().map(str::to_owned).unwrap_or_default();
    let mut note = |name: &str, value: &Value| match value {
        Value::Null => {}
        Value::String(text) => drop(all.insert(format!("{name} {text}"))),
        _ => drop(all.insert(name.to_owned())),
    };
    let own = if state["sending"]["own"].is_null() { "" } else { "own " };
    if !state["sending"].is_null() {
        note("submit", &json!(format!("{own}{}", word(&state["sending"]["step"]["step"]))));
    }
    note("halt", &state["conversation"]["limit_wait"]["cause"]["by"]);
    note("ask", &state["conversation"]["question"]["ask"]);
    note("began", &state["conversation"]["start_level"]);
    note("end_wanted", &state["phase"]["end"]);
    note("consuming", &state["handoffs"]["consuming"]);
    note("chain", &state["chain"]["before"][0]);
    note("held_dir", &state["conversation"]["held_dir"]);
    note("claims", &state["run"]["hooks"]["claim"]);
    note("save_job", &state["handoffs"]["job"]);
    note("progress", &state["conversation"]["progress"]["last"]);
    note("passed", &state["run"]["passed"]);
    note("broken_off", &state["run"]["delivery"]["broken_off"]);
    all
}

fn stories(lives: u32) -> Vec<(Policy, Story)> {
    let (policies, all) = (policies(), RefCell::new(Vec::new()));
    let strategy = (0..policies.len(), vec(any::<u32>(), 10..120));
    runner(lives)
        .run(&strategy, |(policy, bits)| {
            let story = RefCell::new(Vec::new());
            live(
                &policies[policy],
                &bits,
                |world, event| story.borrow_mut().push((world.now, event.clone(), features(world))),
                |_, _| {},
            );
            all.borrow_mut().push((policies[policy].clone(), story.into_inner()));
            Ok(())
        })
        .unwrap();
    all.into_inner()
}

/// The journal of a history, rotated before each event in `turns`.
fn journal(policy: &Policy, story: &Story, turns: &BTreeSet<usize>) -> String {
    let mut recorder = JournalRecorder::new(policy.clone());
    let mut text = recorder.open_line(Stamp(0), WallTime(0), "0.2.0");
    for (n, (now, event, _)) in story.iter().enumerate() {
        if turns.contains(&n) {
            text.push_str(&recorder.open_line(*now, WallTime(0), "0.2.0"));
        }
        recorder.step(*now, WallTime(1), event, &mut text);
    }
    text
}

/// Six journals that together are rotated in as many different states as possible all replay. With
/// `HOPTY_WRITE_JOURNALS=DIR` they are written there, from more histories; each release keeps its own in
/// `fixtures/journals`, which the next one must replay.
#[test]
fn journals_that_are_rotated_in_many_states_replay() {
    let folder = std::env::var_os("HOPTY_WRITE_JOURNALS").map(PathBuf::from);
    let stories = stories(if folder.is_some() { 4000 } else { 300 });
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for n in 0..6 {
        let news = |story: &Story| {
            let (mut known, mut turns) = (seen.clone(), BTreeSet::new());
            for (at, (_, _, features)) in story.iter().enumerate().skip(1) {
                if !features.is_subset(&known) {
                    known.extend(features.clone());
                    turns.insert(at);
                }
            }
            (known.len() * 100 - turns.len(), known, turns)
        };
        let (policy, story) = stories.iter().max_by_key(|(_, story)| news(story).0).unwrap();
        let (_, known, turns) = news(story);
        seen = known;
        let end = turns.last().copied().unwrap_or(0) + 6;
        let story: Story = story.iter().take(end).cloned().collect();
        let text = journal(policy, &story, &turns);
        let found = replay(&text).unwrap();
        assert!(matches!(found, Replay::Same { events, .. } if events == story.len()), "{n}: {found:?}");
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("{n}.jsonl")), text).unwrap();
        }
    }
    assert!(seen.len() > 40, "too few states: {seen:?}");
}
