//! A writer that is killed (SIGKILL) at a random moment: what it had said is there, nothing is torn, no lock
//! is stuck.
//!
//! `HOPTY_TEST_KILLS=10000 cargo test --test store kills` for the long run, `HOPTY_TEST_SEED` for another
//! one.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use hopty::core::handoff::document::Document;
use hopty::core::handoff::manifest_entry::HandoffProgress;
use hopty::core::ids::HandoffId;
use hopty::fs::store::{Retention, Store};

use super::steps::{Dice, at, capture, claim, number, part, scratch};
use super::support::wait::ends_within;

const JOB: &str = "HOPTY_TEST_WRITER";
/// Seconds of the store's time that belong to one round: more than a writer can use.
const ROUND: i64 = 500;
/// How long a writer lives after its first word, at most, in microseconds.
const LIFE_US: u64 = 30_000;

/// Run in a process of its own: writes for ever, and says each operation when it is done.
#[test]
#[ignore = "what_a_killed_writer_had_said_is_there_and_nothing_is_torn runs it in a process of its own"]
fn writer() {
    let Ok(job) = std::env::var(JOB) else { return };
    let (dir, round) = job.split_once('\n').unwrap();
    let store = Store::open(Path::new(dir)).unwrap();
    let round: i64 = round.parse().unwrap();
    for n in 0.. {
        let now = round * ROUND + n % ROUND;
        let id = store.save(capture(["a", "b", "c"][n as usize % 3], now), Retention::default()).unwrap().id;
        println!("\nsaved {id}");
        let conversation = now as u64;
        match n % 4 {
            0 => {
                store.claim(&id, claim(conversation, at(now))).unwrap();
                println!("\nclaimed {id}");
                store.consume(&id, &claim(conversation, at(now)).session_id, 7, at(now)).unwrap();
                println!("\nconsumed {id}");
            }
            1 => {
                store.clear(&id).unwrap();
                println!("\ncleared {id}");
            }
            2 => {
                store.set_expiry(&id, Some(at(now - 1))).unwrap();
                assert!(store.expire_due(at(now)).unwrap().contains(&id));
                println!("\nexpired {id}");
            }
            _ => {
                let source = store.records().dir_of(&id).join("handoff.md");
                store.compress_transcript(&id, &source).unwrap();
                println!("\ncopied {id}");
            }
        }
    }
}

#[test]
fn what_a_killed_writer_had_said_is_there_and_nothing_is_torn() {
    let kills = number("HOPTY_TEST_KILLS", 300);
    let mut dice = Dice(number("HOPTY_TEST_SEED", 5));
    let scratch = scratch();
    let dir = scratch.path().join("c");
    let handoff = dir.join("handoff");
    let mut words = 0;
    for round in 0..kills {
        let job = format!("{}\n{round}", dir.display());
        let mut child = part("kills::writer", JOB, &job).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("saved HO-") {
            assert_ne!(output.read_line(&mut said).unwrap(), 0, "the writer ended by itself: {said}");
        }
        // Any moment of its work; it does not end by itself.
        let life = Duration::from_micros(dice.below(LIFE_US));
        assert!(!ends_within(child.id().cast_signed(), life), "the writer ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        output.read_to_string(&mut said).unwrap();
        let whole = &said[..said.rfind('\n').unwrap()];
        let told = whole.lines().filter_map(|line| line.split_once(" HO-"));
        let mut last: HashMap<HandoffId, &str> = HashMap::new();
        for (word, id) in told {
            last.insert(format!("HO-{id}").parse().unwrap(), word);
            words += 1;
        }
        check(&dir, &last, &format!("round {round} of {said}"));
        // The locks can be taken, and the next writer sweeps up what the killed one left.
        let store = Store::open(&dir).unwrap();
        store.save(capture("d", round as i64 * ROUND + ROUND - 1), Retention::default()).unwrap();
        let names: Vec<String> = std::fs::read_dir(&handoff)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(
            !names.iter().any(|name| name.starts_with(".hopty-tmp-") || name.contains(".lock.d")),
            "{names:?}"
        );
        assert_eq!(store.take_notices(), Vec::<String>::new());
    }
    eprintln!("{kills} kills, {words} operations had been acknowledged");
}

/// Everything that was said holds, or has gone on by the one operation that was cut.
fn check(dir: &Path, last: &HashMap<HandoffId, &str>, about: &str) {
    let store = Store::open(dir).unwrap();
    let entries = store.list(None).unwrap();
    assert_eq!(store.take_notices(), Vec::<String>::new(), "{about}");
    for (id, word) in last {
        let (_, entry) = entries
            .iter()
            .find(|(_, entry)| entry.id == *id)
            .unwrap_or_else(|| panic!("{id} is lost: {about}"));
        let exactly = match *word {
            "consumed" => Some(HandoffProgress::Consumed),
            "cleared" => Some(HandoffProgress::Cleared),
            "expired" => Some(HandoffProgress::Expired),
            _ => None,
        };
        assert!(
            exactly.is_none_or(|status| status == entry.status),
            "{id} was {word} and is {:?}: {about}",
            entry.status
        );
        assert!(*word != "claimed" || entry.claim.is_some(), "the claim of {id} is lost: {about}");
        // Its digest and its id are checked on the way.
        let shown = store.show(id).unwrap_or_else(|error| panic!("{error}: {about}"));
        assert!(shown.text.contains(id.as_str()), "{about}");
        let copy = store.records().dir_of(id).join("transcript.jsonl.gz");
        assert!(*word != "copied" || copy.is_file(), "the copy of {id} is lost: {about}");
    }
    let current = std::fs::read_to_string(dir.join("handoff/global-CURRENT.md")).unwrap();
    Document::parse(&current).unwrap_or_else(|error| panic!("CURRENT.md is torn: {error}: {about}"));
}
