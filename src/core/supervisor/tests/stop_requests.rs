//! Requested ends: `hopty stop`, `--kill`, the host's own end, in every phase.

use super::*;

fn stop(kill: bool) -> Event {
    Event::Stop { id: 5, kill }
}

const TERMINATED: &str = "collect, SIGTERM Child, stop.sent";
const KILLED: &str = "collect, SIGKILL Group, SIGKILL Child, stop.killed";

fn saving() -> Session {
    let mut s = Session::idle(claude());
    s.restart(Asker::Person);
    s
}

fn waiting() -> Session {
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    s
}

fn settling() -> Session {
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    s.call(HookEvent::Stop);
    s.saved(1);
    s
}

#[test]
fn in_every_phase_with_a_child() {
    type InPhase = (fn() -> Session, &'static str);
    let sessions: [InPhase; 6] = [
        (|| Session::busy(claude()), ""),
        (|| Session::started(plain()), ""),
        (waiting, "restart.cancelled, notice, "),
        (saving, "restart.cancelled, notice, "),
        (settling, ""),
        (|| Session::delivering(claude()), ""),
    ];
    for (session, before) in sessions {
        for (event, accepted, how) in [
            (stop(false), "accepted, ", TERMINATED),
            (stop(true), "accepted, ", KILLED),
            (Event::Shutdown, "", TERMINATED),
        ] {
            let mut s = session();
            let phase = s.phase();
            assert_eq!(s.feed(event.clone()), format!("{accepted}{before}{how}"), "{event:?} in {phase}");
            assert_eq!(
                s.end(signal(15)),
                "run.ended, reap, session.ended, close Stopped 143",
                "{event:?} in {phase}"
            );
            assert_eq!(s.feed(stop(false)), "already ended");
            for event in
                [Event::Tick, Event::Shutdown, Event::Started { run: 9, pid: 1, next: Some(conversation(9)) }]
            {
                assert_eq!(s.feed(event), "", "closed is final");
            }
        }
    }
}

#[test]
fn the_end_of_a_host_that_was_told_to_end_is_no_stop_on_request() {
    const TOLD: &str = "The host was told to end (SIGTERM)";
    let mut s = Session::busy(claude());
    s.feed(Event::Shutdown);
    s.end(signal(15));
    assert!(s.sentences().contains(TOLD) && !s.sentences().contains("as requested."), "{}", s.sentences());
    let mut s = Session::cooling(claude());
    s.feed(Event::Shutdown);
    assert!(s.sentences().contains(TOLD), "{}", s.sentences());
    let mut s = Session::busy(Policy { rules: RULES - 1, ..claude() });
    s.feed(Event::Shutdown);
    s.end(signal(15));
    assert!(s.sentences().contains("as requested."), "{}", s.sentences());
}

#[test]
fn in_every_phase_without_a_child() {
    for event in [stop(false), stop(true), Event::Shutdown] {
        for mut s in [Session::new(claude()), Session::cooling(claude())] {
            let words = s.feed(event.clone());
            assert!(words.contains("session.ended, close Stopped"), "{words}");
        }
    }
    let mut s = Session::cooling(claude());
    s.feed(stop(false));
    assert!(s.sentences().contains("before the next run started"));
}

#[test]
fn while_exec_is_under_way_the_child_is_ended_when_it_is_there() {
    for (event, how) in [(stop(false), TERMINATED), (stop(true), KILLED), (Event::Shutdown, TERMINATED)] {
        let mut s = Session::stopping(claude());
        s.end(TERM_CODE);
        s.feed(event.clone());
        assert_eq!(s.phase(), "spawning", "it must not be forgotten");
        assert_eq!(s.exec(), format!("run.spawned, {how}"));
        assert_eq!(s.end(signal(15)), "run.ended, reap, session.ended, close Stopped 143");
        let mut s = Session::stopping(claude());
        s.end(TERM_CODE);
        s.feed(event);
        assert_eq!(
            s.feed(Event::CouldNotStart { run: 2, code: 126, gone: None }),
            "session.ended, close Stopped 126"
        );
    }
}

#[test]
fn while_stopping_for_a_restart_no_run_follows() {
    let mut s = Session::stopping(claude());
    s.expect(stop(false), "accepted");
    assert_eq!(s.end(TERM_CODE), "run.ended, reap, session.ended, close Stopped 143");
    let mut s = Session::stopping(claude());
    s.expect(stop(true), &format!("accepted, {KILLED}"));
    s.expect(stop(true), "accepted");
    assert_eq!(s.end(signal(9)), "run.ended, reap, session.ended, close Stopped 137");
}

#[test]
fn sigkill_follows_after_the_grace_of_an_old_run() {
    let mut s = Session::idle(claude());
    s.feed(stop(false));
    let sent = s.now;
    assert_eq!(s.tick(), KILLED);
    assert_eq!(s.now.since(sent), 5_000);
    assert_eq!(s.sup.next_deadline(), None);
}

#[test]
fn a_young_run_is_given_more_time() {
    let mut s = Session::started(claude());
    s.after(1_000);
    s.feed(stop(false));
    assert_eq!(s.tick(), KILLED);
    assert_eq!(s.now, Stamp(12_000), "not before this age");
    let mut policy = claude();
    policy.config.restart.young = span(600_000);
    let mut s = Session::started(policy);
    s.after(1_000);
    s.feed(stop(false));
    s.tick();
    assert_eq!(s.now, Stamp(13_000), "unless it ignored SIGTERM for so long");
}

#[test]
fn item_059_a_claude_that_ignores_sigterm_is_ended_all_the_same() {
    let mut s = Session::stopping(claude());
    assert_eq!(s.tick(), KILLED);
    assert_eq!(s.end(signal(9)), "run.ended, reap, spawn 2 Fresh");
}

#[test]
fn a_stopped_child_is_woken_so_that_it_can_end() {
    let mut s = Session::idle(claude());
    s.end(ProcessEnd::Stopped(Signal(20)));
    assert_eq!(s.feed(stop(false)), "accepted, collect, SIGTERM Child, signal 18 Child, stop.sent");
}

#[test]
fn job_control_is_never_an_end() {
    for mut s in [
        Session::busy(claude()),
        waiting(),
        saving(),
        Session::stopping(claude()),
        Session::delivering(claude()),
    ] {
        let phase = s.phase();
        assert_eq!(s.end(ProcessEnd::Stopped(Signal(20))), "suspend");
        assert_eq!(s.sup.state().state, SessionState::Stopped);
        assert_eq!(s.end(ProcessEnd::Continued), "");
        assert_eq!(s.phase(), phase);
    }
}

#[test]
fn the_end_of_another_run_is_nobodys_end() {
    let mut s = Session::delivering(claude());
    assert_eq!(s.feed(Event::Child { run: 1, end: signal(9) }), "");
    assert_eq!(s.phase(), "delivering");
}
