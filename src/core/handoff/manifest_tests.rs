//! The manifest's changes of status, and its invariants.

use super::*;
use proptest::prelude::*;

const EXAMPLE: &str = r#"{"channel":"global",
 "current":{"id":"HO-20261120-142950-c74cc080","session_id":"c74cc080-94b9-4841-b82f-a62cfb8efdc0","created_at":"2026-11-20T14:29:50Z","created_by_pid":4240,"working_dir":"/home/u/proj",
  "type":"auto","status":"active","hopty_session":"proj","predecessor":null,"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","expires_at":"2026-11-20T16:29:50Z",
  "claim":{"by_pid":4240,"by_start":8123456,"session_id":"0b0c9c5e-0000-4000-8000-000000000000","at":"2026-11-20T14:29:52Z"},"consumed_at":null,"consumed_by_pid":null,"consumed_by_session":null},
 "also_active":[],"history":[]}"#;

fn example() -> Manifest {
    serde_json::from_str(EXAMPLE).unwrap()
}

fn entry(second: i64, session: Option<&str>) -> IndexEntry {
    let created_at = WallTime(1_795_000_000_000 + second * 1000);
    let mut entry = example().current.unwrap();
    entry.id = HandoffId::new(created_at, &entry.session_id);
    entry.created_at = created_at;
    entry.expires_at = Some(created_at.after(7_200_000));
    entry.hopty_session = session.map(|name| name.parse().unwrap());
    entry.claim = None;
    entry
}

fn claim(pid: u32, at: WallTime) -> Claim {
    let session_id = format!("00000000-0000-4000-8000-{pid:012}").parse().unwrap();
    Claim { by_pid: pid, by_start: 1, session_id, at, other: Map::new() }
}

#[test]
fn the_form_is_that_of_the_example() {
    let value: serde_json::Value = serde_json::from_str(EXAMPLE).unwrap();
    assert_eq!(serde_json::to_value(example()).unwrap(), value);
}

#[test]
fn what_a_later_hopty_wrote_outlives_every_move() {
    let mut value: Value = serde_json::from_str(EXAMPLE).unwrap();
    value["mood"] = "good".into();
    value["current"]["colour"] = serde_json::json!({"of": ["the", "pier"]});
    value["current"]["claim"]["by_host"] = "h".into();
    let mut manifest: Manifest = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&manifest).unwrap(), value);
    let (id, by) = (example().current.unwrap().id, example().current.unwrap().claim.unwrap().session_id);
    manifest.consume(&id, &by, 7, WallTime(1_795_000_000_000)).unwrap();
    manifest.add(entry(9, None));
    let written = serde_json::to_value(&manifest).unwrap();
    assert_eq!((&written["mood"], &written["history"][0]["status"]), (&"good".into(), &"consumed".into()));
    assert_eq!(written["history"][0]["colour"], value["current"]["colour"]);
    assert_eq!(written["history"][0]["claim"]["by_host"], "h");
}

#[test]
fn a_manifest_of_the_shell_scripts_is_read() {
    let old = r#"{"channel":"c","current":{"id":"HO-20261120-142950-c74cc080","session_id":"c74cc080-94b9-4841-b82f-a62cfb8efdc0",
        "created_at":"2026-11-20T14:29:50Z","created_by_pid":1,"working_dir":"/p","type":"auto","status":"consumed"}}"#;
    let manifest: Manifest = serde_json::from_str(old).unwrap();
    assert_eq!(manifest.current.unwrap().status, HandoffProgress::Consumed);
    assert!(serde_json::from_str::<Manifest>(&old.replace("consumed", "eaten")).is_err());
}

#[test]
fn one_claim_holds_until_its_holder_is_gone_or_ten_minutes_passed() {
    let mut manifest = Manifest::new(Channel::global());
    manifest.add(entry(0, None));
    let id = manifest.current.as_ref().unwrap().id.clone();
    let now = manifest.current.as_ref().unwrap().created_at;
    assert!(manifest.claim(&id, claim(1, now), |_, _| true).is_ok());
    for pid in [1, 2] {
        let other = manifest.claim(&id, claim(pid, now.after(600_000)), |_, _| true);
        assert!(matches!(other, Err(NotClaimed::Held { holder, .. }) if holder.by_pid == 1));
    }
    assert!(manifest.pending(None, None, "", now, |_, _| true).is_none());
    assert!(manifest.claim(&id, claim(2, now.after(600_001)), |_, _| true).is_ok());
    assert!(manifest.claim(&id, claim(3, now), |_, _| false).is_ok());
    let holder = claim(3, now).session_id;
    assert!(!manifest.release(&id, &claim(2, now).session_id) && manifest.release(&id, &holder));
    assert!(manifest.pending(None, None, "", now, |_, _| true).is_some());
}

#[test]
fn only_the_holder_consumes_and_only_once() {
    let mut manifest = example();
    let (id, now) = (manifest.current.as_ref().unwrap().id.clone(), WallTime(1_795_000_000_000));
    let holder = manifest.current.as_ref().unwrap().claim.as_ref().unwrap().session_id.clone();
    let other = claim(7, now).session_id;
    assert_eq!(manifest.consume(&id, &other, 7, now), Err(NotMoved::NotHolder(id.clone())));
    manifest.consume(&id, &holder, 7, now).unwrap();
    let current = manifest.current.clone().unwrap();
    assert_eq!((current.status, current.consumed_by_pid), (HandoffProgress::Consumed, Some(7)));
    assert!(matches!(manifest.consume(&id, &holder, 7, now), Err(NotMoved::NotActive { .. })));
    assert!(manifest.clear(&id).is_err() && manifest.set_expiry(&id, None).is_err());
    assert!(matches!(manifest.claim(&id, claim(1, now), |_, _| true), Err(NotClaimed::NotActive { .. })));
}

#[test]
fn a_due_handoff_expires_unless_somebody_is_loading_it() {
    let mut manifest = example();
    let due = manifest.current.as_ref().unwrap().expires_at.unwrap();
    manifest.current.as_mut().unwrap().claim.as_mut().unwrap().at = due;
    assert!(manifest.expire_due(WallTime(due.0 - 1), |_, _| false).is_empty());
    assert!(manifest.expire_due(due, |_, _| true).is_empty());
    let id = manifest.current.as_ref().unwrap().id.clone();
    let late = manifest.clone().claim(&id, claim(1, due), |_, _| false).map(|_| ());
    assert_eq!(late, Err(NotClaimed::NotActive { id: id.clone(), status: HandoffProgress::Expired }));
    assert_eq!(manifest.expire_due(due, |_, _| false), [id]);
}

#[test]
fn time_that_was_waited_is_added_once_and_only_to_what_waits() {
    let mut manifest = Manifest::new(Channel::global());
    manifest.add(entry(0, Some("a")));
    manifest.add(entry(1, Some("b")));
    let (first, due) = (entry(0, None).id, entry(0, None).expires_at.unwrap());
    let at = |seconds: i64| WallTime(entry(0, None).created_at.0 + seconds * 1000);
    assert_eq!(manifest.postpone_expiry(at(60), at(10_860)).len(), 2);
    assert_eq!(manifest.find(&first).unwrap().expires_at, Some(due.after(10_800_000)));
    // Another session of the same account reports the same limit, and one reports a later end.
    assert_eq!(manifest.postpone_expiry(at(600), at(10_860)), []);
    assert_eq!(manifest.postpone_expiry(at(600), at(10_920)).len(), 2);
    assert_eq!(manifest.find(&first).unwrap().expires_at, Some(due.after(10_860_000)));
    let text = serde_json::to_string(&manifest).unwrap();
    assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest);
    // A second limit after the first; consumed and cleared handoffs do not change.
    manifest.clear(&first).unwrap();
    assert_eq!(manifest.postpone_expiry(at(12_000), at(12_001)).len(), 1);
    assert_eq!(manifest.postpone_expiry(at(100_000), at(200_000)), []);
}

/// hopty told the person that it waits.
#[test]
fn another_session_of_the_same_name_leaves_a_handoff_that_waits() {
    let made = |second, pid, conversation| IndexEntry {
        created_by_pid: pid,
        session_id: claim(conversation, WallTime(0)).session_id,
        ..entry(second, Some("a"))
    };
    let active = |manifest: &Manifest| {
        let active = manifest.entries().filter(|entry| entry.status == HandoffProgress::Active);
        active.map(|entry| entry.created_at.0 / 1000 - 1_795_000_000).collect::<Vec<_>>()
    };
    let mut manifest = Manifest::new(Channel::global());
    manifest.add(made(0, 1, 1));
    manifest.add(made(1, 2, 2));
    assert_eq!(active(&manifest), [1, 0]);
    manifest.add(made(2, 2, 3));
    assert_eq!(active(&manifest), [2, 0], "the same host");
    manifest.add(made(3, 3, 1));
    assert_eq!(active(&manifest), [3, 2], "the same conversation");
    manifest.current.as_mut().unwrap().claim = Some(claim(4, WallTime(0)));
    manifest.add(made(4, 4, 4));
    assert_eq!(active(&manifest), [4, 2], "the conversation that it was for");
    manifest.add(IndexEntry { predecessor: Some(made(2, 2, 3).id), ..made(5, 5, 5) });
    assert_eq!(active(&manifest), [5, 4], "a conversation that was continued from it");
}

/// Two projects without channels, with scripts that save in both.
#[test]
fn outside_of_sessions_each_directory_keeps_its_own() {
    let made = |second, dir: &str| IndexEntry { working_dir: dir.to_owned(), ..entry(second, None) };
    let mut manifest = Manifest::new(Channel::global());
    manifest.add(made(0, "/alpha"));
    manifest.add(made(1, "/beta"));
    let active = |manifest: &Manifest| {
        let active = manifest.entries().filter(|entry| entry.status == HandoffProgress::Active);
        active.map(|entry| entry.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(active(&manifest), [made(1, "/beta").id, made(0, "/alpha").id]);
    manifest.add(made(2, "/alpha"));
    assert_eq!(
        active(&manifest),
        [made(2, "/alpha").id, made(1, "/beta").id],
        "the newer one of the same directory"
    );
}

#[test]
fn the_pending_one_is_the_sessions_own() {
    let mut manifest = Manifest::new(Channel::global());
    manifest.add(entry(0, Some("a")));
    manifest.add(entry(1, Some("b")));
    let now = entry(1, None).created_at;
    let of = |name: Option<&str>| {
        let name = name.map(|name| name.parse().unwrap());
        manifest
            .pending(name.as_ref(), None, "", now, |_, _| true)
            .map(|e| e.hopty_session.clone().unwrap().to_string())
    };
    assert_eq!(of(Some("a")).as_deref(), Some("a"));
    assert_eq!(of(Some("b")).as_deref(), Some("b"));
    assert_eq!(of(Some("c")), None);
    assert_eq!(of(None).as_deref(), Some("b"));
}

#[test]
fn only_a_handoff_of_the_project_is_pending() {
    let mut manifest = Manifest::new(Channel::global());
    let made = [("/alpha", "/alpha"), ("/beta/web", "/beta"), ("/beta/api", "/beta")];
    for (second, (dir, project)) in made.into_iter().enumerate() {
        let session = Some(&dir[1..2]).filter(|_| second == 0);
        let entry = IndexEntry {
            working_dir: dir.to_owned(),
            project: Some(project.to_owned()),
            ..entry(second as i64, session)
        };
        manifest.add(entry);
    }
    let now = entry(1, None).created_at;
    let of = |project: Option<&str>, dir: &str| {
        manifest.pending(None, project, dir, now, |_, _| true).map(|e| e.working_dir.clone())
    };
    assert_eq!(of(Some("/alpha"), "/alpha/sub").as_deref(), Some("/alpha"));
    assert_eq!(
        of(Some("/beta"), "/beta/web").as_deref(),
        Some("/beta/web"),
        "the one of this directory goes before"
    );
    assert_eq!(of(Some("/beta"), "/beta").as_deref(), Some("/beta/api"), "else the newest");
    assert_eq!(of(Some("/gamma"), "/gamma"), None);
    assert_eq!(of(None, "/gamma").as_deref(), Some("/beta/api"), "all projects of the channel");
}

#[test]
fn sessions_of_one_name_in_two_projects_keep_a_handoff_each() {
    let mut manifest = Manifest::new(Channel::global());
    for (second, project) in ["/home/u/app", "/srv/app", "/srv/app"].into_iter().enumerate() {
        manifest.add(IndexEntry { working_dir: project.to_owned(), ..entry(second as i64, Some("app")) });
    }
    let active = manifest
        .entries()
        .filter(|entry| entry.status == HandoffProgress::Active)
        .map(|entry| entry.working_dir.as_str());
    assert_eq!(active.collect::<Vec<_>>(), ["/srv/app", "/home/u/app"]);
}

proptest! {
    #[test]
    fn a_session_has_one_active_handoff_and_history_is_ordered(moves in proptest::collection::vec((0u8..4,
        0u8..3), 0..150)) {
        let mut manifest = Manifest::new(Channel::global());
        for (second, (what, session)) in (0i64..).zip(moves) {
            let name = ["a", "b", "c"][session as usize];
            let now = entry(second, None).created_at;
            let id = manifest.entries().nth(session as usize).map(|e| e.id.clone());
            match (what, id) {
                (0, Some(id)) => drop(manifest.clear(&id)),
                (1, Some(id)) => {
                    let _ = manifest.claim(&id, claim(9, now), |_, _| false);
                    let _ = manifest.consume(&id, &claim(9, now).session_id, 9, now);
                }
                (2, _) => drop(manifest.expire_due(now.after(7_195_000), |_, _| false)),
                _ => manifest.add(entry(second, Some(name))),
            }
            for name in ["a", "b", "c"] {
                let active = manifest.entries().filter(|e| e.status == HandoffProgress::Active);
                prop_assert!(active.filter(|e| e.hopty_session.as_ref().unwrap().as_str() == name).count() <= 1);
            }
            prop_assert!(manifest.also_active.iter().all(|e| e.status == HandoffProgress::Active));
            prop_assert!(manifest.history.iter().all(|e| e.status != HandoffProgress::Active));
            prop_assert!(manifest.history.is_sorted_by(|a, b| a.created_at >= b.created_at));
            prop_assert!(manifest.history.len() <= HISTORY_CAP);
        }
    }
}

#[test]
fn a_clock_that_is_set_makes_no_handoff_immortal_and_none_dead() {
    let made = entry(0, None);
    let (created, day) = (made.created_at, 86_400_000);
    let at = |elapsed_ms, now| IndexEntry { elapsed_ms, ..made.clone() }.is_pending(now);
    let ago = |ms: i64| WallTime(created.0 - ms);
    // By the time of day alone: a clock that was set forward expires it, and one that was set back makes its
    // time untrustworthy.
    assert_eq!(
        [created, created.after(day), ago(1000), ago(86_400_000)].map(|now| at(None, now)),
        [true, false, true, false]
    );
    // By the time that has really passed.
    assert_eq!([created, created.after(day), ago(86_400_000)].map(|now| at(Some(1000), now)), [true; 3]);
    assert_eq!([created, created.after(day), ago(86_400_000)].map(|now| at(Some(day), now)), [false; 3]);
    let mut manifest = example();
    manifest.current = Some(made.clone());
    assert!(
        manifest.expire_due(ago(86_400_000), |_, _| false).is_empty(),
        "it may wait again when the clock is right"
    );
    let unlimited = IndexEntry { expires_at: None, ..made.clone() };
    assert!(unlimited.is_pending(ago(86_400_000)));
}

#[test]
fn an_id_stands_for_one_entry() {
    let (one, two) = (entry(0, Some("a")), entry(1, Some("b")));
    let mut manifest =
        Manifest { also_active: vec![two.clone(), one.clone()], history: vec![two.clone()], ..example() };
    manifest.current = Some(one.clone());
    manifest.unify();
    assert_eq!(
        (manifest.entries().count(), manifest.current.as_ref(), &manifest.also_active),
        (2, Some(&one), &vec![two.clone()])
    );
    let again = IndexEntry { sha256: "new".to_owned(), ..two };
    manifest.add(again.clone());
    assert_eq!(manifest.entries().filter(|entry| entry.id == again.id).collect::<Vec<_>>(), [&again]);
}
