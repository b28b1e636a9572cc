//! Tools for a change of the supervisor that must not change what it does: `cargo test --lib -- --ignored
//! laws::histories`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::any;
use serde_json::{Value, json};

use super::world::World;
use super::{live, policies, runner};
use crate::core::journal::{Recorder, Replay, replay};
use crate::core::supervisor::event::Event;
use crate::core::supervisor::{Phase, Policy};
use crate::core::time::{Stamp, WallTime};

type Story = Vec<(Stamp, Event, BTreeSet<String>)>;

/// What is special about a state, so that a journal that is rotated there is worth keeping.
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
    let own = if state["submit"]["own"].is_null() { "" } else { "own " };
    if !state["submit"].is_null() {
        note("submit", &json!(format!("{own}{}", word(&state["submit"]["step"]["step"]))));
    }
    note("halt", &state["halts"]["now"]["cause"]["by"]);
    note("ask", &state["ask"]["ask"]);
    note("began", &state["began"]);
    note("end_wanted", &state["end_wanted"]);
    note("consuming", &state["consuming"]);
    note("chain", &state["chain"]["before"][0]);
    note("held_dir", &state["held_dir"]);
    note("claims", &state["claims"]["hook"]);
    note("save_job", &state["save_job"]);
    note("progress", &state["progress"]["last"]);
    note("passed", &state["passed"]);
    note("broken_off", &state["broken_off"]);
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

/// The journal of a story, with a rotation before each event of `turns`.
fn journal(policy: &Policy, story: &Story, turns: &BTreeSet<usize>) -> String {
    let mut recorder = Recorder::new(policy.clone());
    let mut text = recorder.open_line(Stamp(0), WallTime(0), "0.2.0");
    for (n, (now, event, _)) in story.iter().enumerate() {
        if turns.contains(&n) {
            text.push_str(&recorder.open_line(*now, WallTime(0), "0.2.0"));
        }
        recorder.step(*now, WallTime(1), event, &mut text);
    }
    text
}

#[test]
#[ignore = "prints a digest of what random histories lead to: two versions that do the same print the same"]
fn a_digest_of_random_histories() {
    let (mut digest, mut events) = (DefaultHasher::new(), 0);
    for (policy, story) in stories(4000) {
        // Without the configuration in its first line, which may get another key.
        let text = journal(&policy, &story, &BTreeSet::new());
        digest.write(text.split_once('\n').unwrap().1.as_bytes());
        events += story.len();
    }
    println!("DIGEST {:016x} after {events} events", digest.finish());
}

#[test]
#[ignore = "writes journals of random histories to HOPTY_JOURNALS, for another version to replay"]
fn journals_of_random_histories() {
    let folder = PathBuf::from(std::env::var_os("HOPTY_JOURNALS").unwrap());
    for (n, (policy, story)) in stories(1500).iter().enumerate() {
        let turns = (0..story.len()).filter(|at| *at > 0 && (at + n) % 9 == 0).collect();
        std::fs::write(folder.join(format!("{n:04}.jsonl")), journal(policy, story, &turns)).unwrap();
    }
}

#[test]
#[ignore = "writes a few journals that are rotated in many states to HOPTY_JOURNALS, for fixtures/journals"]
fn journals_worth_keeping() {
    let folder = PathBuf::from(std::env::var_os("HOPTY_JOURNALS").unwrap());
    let stories = stories(4000);
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
        println!("{n}: {} rotations, {} features", turns.len(), known.len() - seen.len());
        seen = known;
        let end = turns.last().copied().unwrap_or(0) + 6;
        let story = story.iter().take(end).cloned().collect();
        std::fs::write(folder.join(format!("{n}.jsonl")), journal(policy, &story, &turns)).unwrap();
    }
    println!("{seen:?}");
}

#[test]
#[ignore = "replays the journals in HOPTY_JOURNALS, each whole and each file by itself"]
fn journals_of_another_version() {
    let folder = PathBuf::from(std::env::var_os("HOPTY_JOURNALS").unwrap());
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let found = replay(&text).unwrap();
        assert!(matches!(found, Replay::Same { .. }), "{}: {found:?}", path.display());
        count += 1;
    }
    println!("{count} journals replay");
}
