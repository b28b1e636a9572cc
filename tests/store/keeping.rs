//! What is kept of finished handoffs: 50 records, 30 days, 100 entries of history.

use std::time::Instant;

use hopty::core::handoff::manifest::HISTORY_CAP;
use hopty::core::handoff::manifest_entry::HandoffProgress;
use hopty::core::ids::HandoffId;
use hopty::fs::store::{Retention, Store};

use super::steps::{at, capture, scratch};

const DAY: i64 = 86_400;

fn records(store: &Store, ids: &[HandoffId]) -> usize {
    ids.iter().filter(|id| store.records().dir_of(id).is_dir()).count()
}

#[test]
fn the_newest_fifty_records_and_hundred_entries_are_kept_by_default() {
    let scratch = scratch();
    let store = Store::open(&scratch.path().join("c")).unwrap();
    let waiting = store.save(capture("waits", 0), Retention::default()).unwrap().id;
    let ids: Vec<HandoffId> =
        (1..=130).map(|n| store.save(capture("a", n), Retention::default()).unwrap().id).collect();
    assert_eq!(records(&store, &ids), 50);
    assert_eq!(records(&store, &ids[80..]), 50, "the newest");
    assert!(store.records().dir_of(&waiting).is_dir(), "what still waits is kept");
    let entries = store.list(None).unwrap();
    let over = entries.iter().filter(|(_, entry)| entry.status != HandoffProgress::Active).count();
    assert_eq!((over, entries.len()), (HISTORY_CAP, HISTORY_CAP + 2));
    assert_eq!(entries[0].1.id, ids[129]);
    assert!(entries.is_sorted_by(|(_, a), (_, b)| a.created_at >= b.created_at));
}

#[test]
fn records_of_more_than_thirty_days_go_and_what_waits_stays() {
    let scratch = scratch();
    let store = Store::open(&scratch.path().join("c")).unwrap();
    let keep = Retention { expiry_ms: None, ..Retention::default() };
    let waiting = store.save(capture("waits", 0), keep).unwrap().id;
    let old = store.save(capture("a", 1), keep).unwrap().id;
    let younger = store.save(capture("a", 2 * DAY), keep).unwrap().id;
    store.save(capture("a", 30 * DAY), keep).unwrap();
    assert!(store.records().dir_of(&old).is_dir(), "of thirty days, less a second");
    store.save(capture("a", 30 * DAY + 2), keep).unwrap();
    let there = [&waiting, &old, &younger].map(|id| store.records().dir_of(id).is_dir());
    assert_eq!(there, [true, false, true]);
    // The entry stays in the history and says that its file is gone.
    assert!(store.list(None).unwrap().iter().any(|(_, entry)| entry.id == old));
    assert!(store.show(&old).unwrap_err().to_string().contains("its file is gone"));
}

#[test]
fn ten_thousand_records_are_no_burden_and_go_at_the_next_save() {
    let scratch = scratch();
    let dir = scratch.path().join("c");
    let store = Store::open(&dir).unwrap();
    let first = store.save(capture("a", 0), Retention::default()).unwrap();
    let crowd = |n: i64| HandoffId::new(at(-n), &first.entry.session_id);
    for n in 1..=10_000 {
        let dir = store.records().dir_of(&crowd(n));
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("handoff.md"), "whatever it was").unwrap();
    }
    let began = Instant::now();
    let store = Store::open(&dir).unwrap();
    assert_eq!(store.list(None).unwrap().len(), 1);
    let listed = began.elapsed();
    let second = store.save(capture("a", 1), Retention::default()).unwrap();
    let saved = began.elapsed() - listed;
    assert_eq!(std::fs::read_dir(dir.join("handoff/records")).unwrap().count(), 50);
    assert!(store.show(&second.id).is_ok() && store.show(&first.id).is_ok());
    assert_eq!(store.take_notices(), Vec::<String>::new());
    eprintln!("listed in {listed:?}, saved with 9,952 records deleted in {saved:?}");
}
