//! The notifier without a host.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::notify_command::NotifyJob;
use super::*;
use crate::core::config::{DurationMs, NotifyEvent, NotifyTerminal};
use crate::core::supervisor::reported_state::{KnownState, SessionState, StateSource};

fn told(text: &str) -> Notification {
    Notification {
        event: NotifyEvent::Blocked,
        text: text.to_owned(),
        reason: Some("permission".to_owned()),
        at: Stamp(0),
    }
}

fn session(dir: &std::path::Path) -> SessionStatus {
    SessionStatus { name: "proj".to_owned(), dir: dir.display().to_string(), ..SessionStatus::default() }
}

fn finish(notifier: &mut Notifier) {
    let until = Instant::now() + Duration::from_secs(20);
    while notifier.is_busy() {
        assert!(Instant::now() < until, "a command does not end");
        std::thread::sleep(Duration::from_millis(2));
        notifier.take_done();
    }
}

fn with_command(command: &str) -> Notifier {
    Notifier::new(&config::Notify {
        command: command.to_owned(),
        after: DurationMs::from_ms(0),
        ..config::Notify::default()
    })
}

#[test]
fn a_command_gets_json_and_variables() {
    let dir = tempfile::tempdir().unwrap();
    let mut notifier = with_command("cat > got.json; env | grep ^HOPTY_NOTIFY_ | sort > got.env");
    notifier.send(&told("Claude asks: password=hunter22 \u{1b}[2J"), WallTime(0), &session(dir.path()));
    finish(&mut notifier);
    let got: Value = serde_json::from_slice(&std::fs::read(dir.path().join("got.json")).unwrap()).unwrap();
    assert_eq!(
        (&got["event"], &got["session"], &got["reason"]),
        (&json!("blocked"), &json!("proj"), &json!("permission"))
    );
    assert_eq!(got["text"], "Claude asks: password=[redacted: password] \\u{1b}[2J");
    assert_eq!((&got["at"], &got["status"]["name"]), (&json!("1970-01-01T00:00:00.000Z"), &json!("proj")));
    let env = std::fs::read_to_string(dir.path().join("got.env")).unwrap();
    let names: Vec<&str> = env.lines().filter_map(|line| line.split('=').next()).collect();
    assert_eq!(
        names,
        [
            "HOPTY_NOTIFY_DIR", "HOPTY_NOTIFY_EVENT", "HOPTY_NOTIFY_REASON", "HOPTY_NOTIFY_SESSION",
            "HOPTY_NOTIFY_TEXT"
        ]
    );
}

#[test]
fn a_command_that_fails_or_hangs_is_told_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let shell = |line: &str| NotifyJob::shell(line, b"{}".to_vec(), Vec::new(), dir.path().to_owned());
    assert_eq!(shell("exit 3").run(), Err("notify.command exited with 3".to_owned()));
    assert_eq!(shell("kill -9 $$").run(), Err("notify.command was ended by signal 9".to_owned()));
    assert_eq!(shell("exit 0").run(), Ok(()), "one that reads no input");
    let hangs = shell("sleep 1000 & echo $! > pid; exec sleep 1000").within(Duration::from_millis(300));
    assert!(hangs.run().is_err_and(|e| e.contains("was killed")));
    let pid = std::fs::read_to_string(dir.path().join("pid")).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    while !state().is_empty() && !state().contains(") Z") {
        assert!(Instant::now() < until, "what it started lives on");
        std::thread::sleep(Duration::from_millis(2));
    }
    let gone = NotifyJob::shell("pwd > /dev/null", Vec::new(), Vec::new(), dir.path().join("gone"));
    assert_eq!(gone.run(), Ok(()), "the session's directory is gone");
}

#[test]
fn a_backlog_is_bounded_and_a_failure_is_logged_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut notifier = with_command("exit 1");
    for _ in 0..3 {
        notifier.send(&told("x"), WallTime(0), &session(dir.path()));
        finish(&mut notifier);
    }
    assert_eq!(notifier.logged.len(), 1);
    let mut notifier = with_command("sleep 1");
    (0..40).for_each(|_| notifier.send(&told("x"), WallTime(0), &session(dir.path())));
    assert_eq!(notifier.open, BACKLOG);
}

#[test]
fn terminals_get_whole_sequences() {
    let every = [NotifyTerminal::Osc9, NotifyTerminal::Osc99, NotifyTerminal::Osc777, NotifyTerminal::Bell];
    let mut notifier =
        Notifier::new(&config::Notify { terminal: every.to_vec(), ..config::Notify::default() });
    let dir = tempfile::tempdir().unwrap();
    notifier.send(&told("a;b\x07c"), WallTime(0), &session(dir.path()));
    let bytes = String::from_utf8(notifier.terminal_bytes().to_vec()).unwrap();
    let parts: Vec<&str> = bytes.split_inclusive(['\x07', '\\']).collect();
    assert_eq!(parts.len(), 4, "{bytes:?}");
    assert!(
        parts[0].starts_with("\x1b]9;hopty: proj: a,b") && parts[1].starts_with("\x1b]99;;hopty: proj: a,b")
    );
    assert!(parts[2].starts_with("\x1b]777;notify;hopty: proj;a,b") && parts[3] == "\x07");
    // In the middle of a sequence: try again a moment later.
    notifier.note_written(false, Stamp(5));
    assert_eq!(notifier.deadline(Stamp(5)), Some(Stamp(5 + RING_AGAIN_MS)));
    notifier.note_written(true, Stamp(60));
    assert!(notifier.terminal_bytes().is_empty());
}

#[test]
fn a_turn_that_an_api_error_ended_has_not_finished() {
    let mut notifier =
        Notifier::new(&config::Notify { terminal: vec![NotifyTerminal::Osc9], ..config::Notify::default() });
    let dir = tempfile::tempdir().unwrap();
    let idle = Notification { event: NotifyEvent::Idle, reason: None, ..told("Claude has finished") };
    let failed = SessionStatus { turn_error: Some("overloaded".to_owned()), ..session(dir.path()) };
    notifier.send(&idle, WallTime(0), &failed);
    let bytes = String::from_utf8(notifier.terminal_bytes().to_vec()).unwrap();
    assert!(bytes.contains("An API error ended Claude's turn (the server is overloaded)"), "{bytes:?}");
}

#[test]
fn in_quiet_hours_nothing_is_due() {
    let told_at = |hour: u64| {
        let mut notifier = Notifier::new(&config::Notify {
            command: "true".to_owned(),
            after: DurationMs::from_ms(0),
            quiet_hours: "22:00-07:30".parse().unwrap(),
            ..config::Notify::default()
        });
        let blocked = KnownState {
            state: SessionState::Blocked,
            from: StateSource::Hook,
            waiting_for: Some("trust".to_owned()),
        };
        notifier.queue.state(Stamp(0), &blocked);
        notifier.due(Stamp(1), hour * 3_600_000).len()
    };
    assert_eq!([21, 22, 23, 7, 8].map(told_at), [1, 0, 0, 0, 1]);
}

#[test]
fn without_a_channel_nothing_waits() {
    let mut notifier = Notifier::new(&config::Notify::default());
    let blocked = KnownState {
        state: SessionState::Blocked,
        from: StateSource::Hook,
        waiting_for: Some("trust".to_owned()),
    };
    notifier.queue.state(Stamp(0), &blocked);
    assert_eq!(notifier.deadline(Stamp(60)), None);
}
