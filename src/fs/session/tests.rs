use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use super::*;
use crate::core::ids::{ConversationId, SessionName};
use crate::core::status_types::SessionStatus;
use crate::fs::paths::Paths;
use crate::sys::own_process::is_alone;
use crate::sys::private_dir::DirError;
use crate::sys::safe_file;

/// Ends a thread, even if an assertion fails.
struct StopThread<'a>(&'a AtomicBool);

impl Drop for StopThread<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn world() -> (tempfile::TempDir, Paths) {
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::from_env(|name| (name == "HOME").then(|| home.path().into())).unwrap();
    (home, paths)
}

#[test]
fn a_session_waits_for_restore_whose_host_was_killed_or_told_to_end() {
    let dir = tempfile::tempdir().unwrap();
    let transcript = dir.path().join("c.jsonl");
    std::fs::write(&transcript, "{}\n").unwrap();
    let waits = |kind: &str, shutdown: bool| {
        let object = serde_json::json!({"agent": "claude", "transcript": transcript,
            "conversation": "c74cc080-94b9-4841-b82f-a62cfb8efdc0",
            "machine": {"boot_id": crate::sys::boot::id(), "shutdown": shutdown},
            "exit": {"kind": kind, "code": 143, "cause": "stopped"}});
        waits_for_restore(&SessionStatus::from_json(object).unwrap())
    };
    assert!(waits("lost", false) && waits("exited", true), "in the same boot");
    assert!(!waits("exited", false), "a person stopped it");
}

#[test]
fn a_name_is_taken_while_its_claim_lives() {
    if !is_alone("fs::session::tests::a_name_is_taken_while_its_claim_lives") {
        return;
    }
    let (_home, paths) = world();
    prepare(&paths).unwrap();
    let wanted: SessionName = "proj".parse().unwrap();
    let mut first = claim(&paths, &wanted, true).unwrap();
    let second = claim(&paths, &wanted, true).unwrap();
    assert_eq!((first.name.as_str(), second.name.as_str()), ("proj", "proj-2"));
    assert!(matches!(claim(&paths, &wanted, false), Err(SessionError::Taken(_))));
    assert!(list(&paths).iter().all(|session| session.is_alive));
    assert_eq!(host_of(&first.dir), i32::try_from(std::process::id()).ok());
    first.release();
    assert!(!is_alive(&paths.session(&wanted)) && host_of(&first.dir).is_none());
    assert_eq!(claim(&paths, &wanted, true).unwrap().name, wanted);
}

#[test]
fn a_link_in_the_place_of_a_session_is_not_removed() {
    let (home, paths) = world();
    prepare(&paths).unwrap();
    let name: SessionName = "linked".parse().unwrap();
    let elsewhere = home.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, paths.session(&name)).unwrap();
    assert!(remove(&paths, &name).is_err());
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "no lock either");
    assert!(paths.session(&name).symlink_metadata().unwrap().is_symlink());
}

#[test]
fn a_conversation_that_another_session_runs_is_known() {
    if !is_alone("fs::session::tests::a_conversation_that_another_session_runs_is_known") {
        return;
    }
    let (_home, paths) = world();
    prepare(&paths).unwrap();
    let [one, two] = ["one", "two"].map(|name| name.parse::<SessionName>().unwrap());
    let conversation: ConversationId = "0196f8a2-7c1e-4d3a-9b60-5f2d8e4c1a7b".parse().unwrap();
    let mut claim = claim(&paths, &one, true).unwrap();
    let status = SessionStatus { conversation: Some(conversation.clone()), ..SessionStatus::default() };
    std::fs::write(claim.dir.join("session.json"), status.json().to_string()).unwrap();
    assert_eq!(other_session_with(&paths, &two, &conversation), Some(one.clone()));
    assert_eq!(other_session_with(&paths, &one, &conversation), None, "it is the session itself");
    claim.release();
    assert_eq!(other_session_with(&paths, &two, &conversation), None, "it has ended");
}

#[test]
fn checking_a_session_does_not_take_its_name() {
    if !is_alone("fs::session::tests::checking_a_session_does_not_take_its_name") {
        return;
    }
    let (_home, paths) = world();
    prepare(&paths).unwrap();
    let wanted: SessionName = "proj".parse().unwrap();
    drop(claim(&paths, &wanted, true).unwrap());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = StopThread(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = is_alive(&paths.session(&wanted));
            }
        });
        for _ in 0..200 {
            assert_eq!(claim(&paths, &wanted, true).unwrap().name, wanted);
        }
    });
}

#[test]
fn a_name_can_be_taken_while_it_is_swept_away() {
    if !is_alone("fs::session::tests::a_name_can_be_taken_while_it_is_swept_away") {
        return;
    }
    let (_home, paths) = world();
    prepare(&paths).unwrap();
    let wanted: SessionName = "proj".parse().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = StopThread(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                sweep(&paths, 0);
            }
        });
        for _ in 0..300 {
            let claim = claim(&paths, &wanted, true).unwrap();
            assert!(
                safe_file::is_at(claim.lock.as_ref().unwrap(), &claim.dir.join("lock")),
                "what was taken is still there"
            );
        }
    });
}

#[test]
fn unsafe_directories_are_refused_and_left_as_they_are() {
    let (home, paths) = world();
    prepare(&paths).unwrap();
    for (dir, mode) in [(paths.run(), 0o750), (paths.sessions(), 0o770), (paths.state.clone(), 0o777)] {
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).unwrap();
        let error = prepare(&paths).unwrap_err();
        assert!(error.hint().contains(&format!("chmod 700 {}", dir.display())), "{error}");
        assert_eq!(
            std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777,
            mode,
            "refused, not repaired"
        );
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    std::fs::remove_dir(paths.run()).unwrap();
    std::os::unix::fs::symlink(home.path(), paths.run()).unwrap();
    assert!(matches!(prepare(&paths), Err(SessionError::Dir(DirError::NoDirectory(_)))));
    std::fs::remove_file(paths.run()).unwrap();
    std::fs::write(paths.run(), "a file").unwrap();
    assert!(matches!(prepare(&paths), Err(SessionError::Dir(DirError::NoDirectory(_)))));
}

#[test]
fn a_lock_that_is_a_link_is_not_followed() {
    let (home, paths) = world();
    prepare(&paths).unwrap();
    let name: SessionName = "proj".parse().unwrap();
    std::fs::create_dir(paths.session(&name)).unwrap();
    std::os::unix::fs::symlink(home.path().join("target"), paths.session(&name).join("lock")).unwrap();
    assert!(claim(&paths, &name, false).is_err());
    assert!(!home.path().join("target").exists());
}

/// As many days as `journal.keep_ended_days` says.
#[test]
fn old_ended_sessions_are_swept_away_and_living_ones_are_not() {
    if !is_alone("fs::session::tests::old_ended_sessions_are_swept_away_and_living_ones_are_not") {
        return;
    }
    let (_home, paths) = world();
    prepare(&paths).unwrap();
    let name = |text: &str| text.parse::<SessionName>().unwrap();
    let _held = claim(&paths, &name("lives"), false).unwrap();
    drop(claim(&paths, &name("ended"), false).unwrap());
    sweep(&paths, 14);
    assert_eq!(list(&paths).len(), 2, "neither is old");
    let old = SystemTime::now() - Duration::from_secs(15 * 86_400);
    for session in ["lives", "ended"] {
        let lock = File::options().write(true).open(paths.session(&name(session)).join("lock")).unwrap();
        lock.set_modified(old).unwrap();
    }
    sweep(&paths, 14);
    assert_eq!(list(&paths), [ListedSession { name: name("lives"), is_alive: true }]);
}
