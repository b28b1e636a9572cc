//! The same journal gives the same actions, and a changed one gives others.

use std::cell::RefCell;

use proptest::collection::vec;
use proptest::prelude::any;
use serde_json::{Value, json};

use super::{live, policies, runner};
use crate::core::journal::{JournalGap, JournalRecorder, Replay, replay};
use crate::core::supervisor::action::Action;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::{Policy, Supervisor};
use crate::core::time::{Stamp, WallTime};

fn same(text: &str, events: usize, actions: usize) {
    assert_eq!(replay(text).unwrap(), Replay::Same { events, actions, missing: 0 });
}

/// The events of a random history.
fn happened(policy: &Policy, bits: &[u32]) -> Vec<(Stamp, Event)> {
    let events = RefCell::new(Vec::new());
    live(policy, bits, |world, event| events.borrow_mut().push((world.now, event.clone())), |_, _| {});
    events.into_inner()
}

/// Changes one line: its time or its content, or removes it.
fn spoil(text: &str, bits: u32) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // A state may contain a hook, which has an event, too.
    let is_event = |line: &String| line.contains("\"event\"") && !line.contains("\"open\"");
    let events: Vec<usize> = (0..lines.len()).filter(|n| is_event(&lines[*n])).collect();
    // The last event may be missing: a journal can end anywhere.
    let at = *events[..events.len().checked_sub(1)?].get(bits as usize / 4 % events.len())?;
    match bits % 4 {
        0 => {
            let mut line: Value = serde_json::from_str(&lines[at]).unwrap();
            line["t"] = json!(line["t"].as_u64().unwrap() + 1);
            lines[at] = line.to_string();
        }
        1 => {
            let mut line: Value = serde_json::from_str(&lines[at]).unwrap();
            line["event"] = json!({"kind": "keys", "client": 77, "class": "report", "bytes": 1});
            lines[at] = line.to_string();
        }
        2 => drop(lines.remove(at)),
        _ => {
            let action = (at..lines.len())
                .find(|n| !lines[*n].contains("\"event\"") && !lines[*n].contains("\"open\""))?;
            lines.remove(action);
        }
    }
    Some(lines.join("\n") + "\n")
}

#[test]
fn a_journal_replays_and_a_spoilt_one_does_not() {
    let policies = policies();
    let spoilt = RefCell::new(0);
    let strategy = (0..policies.len(), vec(any::<u32>(), 10..80), any::<u32>());
    let run = runner(500).run(&strategy, |(policy, bits, spoil_bits)| {
        let story = happened(&policies[policy], &bits);
        let mut recorder = JournalRecorder::new(policies[policy].clone());
        let mut first = recorder.open_line(Stamp(0), WallTime(0), "0.1.0");
        let turn = spoil_bits as usize / 7 % story.len();
        let (mut second, mut counts) = (String::new(), [(0, 0); 2]);
        for (n, (now, event)) in story.iter().enumerate() {
            if n == turn {
                second = recorder.open_line(*now, WallTime(1), "0.1.0");
            }
            let lines = if n < turn { &mut first } else { &mut second };
            let actions = recorder.step(*now, WallTime(1), event, lines);
            let (events, acted) = &mut counts[usize::from(n >= turn)];
            *events += 1;
            *acted += actions.len();
            assert_eq!(serde_json::from_str::<Event>(&json!(event).to_string()).unwrap(), *event);
            for action in &actions {
                assert_eq!(serde_json::from_str::<Action>(&json!(action).to_string()).unwrap(), *action);
            }
        }
        let state = json!(recorder.supervisor).to_string();
        assert_eq!(serde_json::from_str::<Supervisor>(&state).unwrap(), recorder.supervisor);
        same(&first, counts[0].0, counts[0].1);
        same(&second, counts[1].0, counts[1].1);
        let whole = format!("{first}{second}");
        same(&whole, counts[0].0 + counts[1].0, counts[0].1 + counts[1].1);
        if let Some(text) = spoil(&second, spoil_bits) {
            *spoilt.borrow_mut() += 1;
            let replayed = replay(&text);
            assert!(
                matches!(replayed, Ok(Replay::Differs { .. })),
                "{replayed:?}, {}: {text}",
                spoil_bits % 4
            );
        }
        if turn > 0 {
            let forged = whole.replacen("\"total\":0", "\"total\":1", 1);
            assert!(forged == whole || matches!(replay(&forged), Ok(Replay::Differs { .. })));
        }
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
    println!("{} spoilt journals found out", spoilt.borrow());
    assert!(*spoilt.borrow() > 300);
}

/// A journal with a gap replays up to the gap, and from the state after it.
#[test]
fn a_journal_with_a_gap_replays_around_it() {
    let policies = policies();
    let run = runner(200).run(
        &(0..policies.len(), vec(any::<u32>(), 10..60), any::<u32>()),
        |(policy, bits, cut)| {
            let story = happened(&policies[policy], &bits);
            let mut recorder = JournalRecorder::new(policies[policy].clone());
            let mut text = recorder.open_line(Stamp(0), WallTime(0), "test");
            let (from, lost) = (cut as usize % (story.len() + 1), cut as usize / 7 % 5);
            let mut actions = 0;
            for (n, (now, event)) in story.iter().enumerate() {
                if n == from + lost {
                    text.push_str(&recorder.resume_line(
                        *now,
                        WallTime(0),
                        "test",
                        JournalGap { lines: 9, start: false },
                    ));
                }
                let mut lines = String::new();
                let made = recorder.step(*now, WallTime(0), event, &mut lines);
                if !(from..from + lost).contains(&n) {
                    text.push_str(&lines);
                    actions += made.len();
                }
            }
            let gap = from + lost < story.len();
            let events = story.len() - lost.min(story.len() - from.min(story.len()));
            let wanted = Replay::Same { events, actions, missing: if gap { 9 } else { 0 } };
            proptest::prop_assert_eq!(replay(&text).unwrap(), wanted);
            Ok(())
        },
    );
    run.unwrap();
}
