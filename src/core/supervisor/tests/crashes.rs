//! Unrequested ends: the conversation is resumed, but not forever.

use super::*;

/// Crashes a run that has just started, and continues to the next; returns the pause in ms.
fn crash_and_resume(s: &mut Session, end: ProcessEnd) -> u64 {
    s.after(1_000);
    s.end(end);
    let from = s.now;
    assert_eq!(s.phase(), "cooling", "{}", s.words());
    let words = s.tick();
    assert!(words.starts_with("spawn"), "{words}");
    s.exec();
    s.now.since(from)
}

#[test]
fn item_068_a_crash_before_any_handoff_resumes_the_same_conversation() {
    let mut s = Session::busy(claude());
    assert_eq!(s.end(ProcessEnd::Exited(1)), "run.ended, reap, notice, hold keys");
    assert_eq!(s.tick(), "spawn 2 Resume");
    assert!(
        s.last
            .iter()
            .any(|a| matches!(a, Action::Spawn { conversation: Some(id), .. } if *id == conversation(1)))
    );
    assert_eq!(s.exec(), "run.spawned, follow, release keys draft");
    assert_eq!(s.phase(), "running");
    assert_eq!(s.sup.restarts(), 1);
}

#[test]
fn pauses_double_up_to_a_minute() {
    let mut policy = claude();
    policy.config.recovery.quick_deaths = 100;
    policy.config.restart.max_restarts = 100;
    let mut s = Session::busy(policy);
    let pauses: Vec<u64> = (0..9).map(|_| crash_and_resume(&mut s, ProcessEnd::Exited(1)) / 1000).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn three_quick_deaths_are_a_crash_loop() {
    let mut s = Session::busy(claude());
    crash_and_resume(&mut s, ProcessEnd::Exited(1));
    crash_and_resume(&mut s, signal(11));
    s.after(59_000);
    assert_eq!(s.end(ProcessEnd::Exited(7)), "run.ended, reap, session.ended, close CrashLoop 7");
}

#[test]
fn a_run_that_lived_long_breaks_the_row_of_quick_deaths() {
    let mut s = Session::busy(claude());
    crash_and_resume(&mut s, ProcessEnd::Exited(1));
    crash_and_resume(&mut s, ProcessEnd::Exited(1));
    s.after(60_000);
    assert_eq!(crash_and_resume(&mut s, ProcessEnd::Exited(1)), 1000, "and the pauses begin again");
    assert_eq!(crash_and_resume(&mut s, ProcessEnd::Exited(1)), 2000);
}

#[test]
fn killed_from_outside_is_recovered_like_a_crash() {
    for end in [signal(9), signal(15), ProcessEnd::Exited(143), ProcessEnd::Exited(129)] {
        let mut s = Session::busy(claude());
        s.end(end);
        assert_eq!(s.phase(), "cooling", "{end:?}");
        assert!(s.sentences().contains("from outside"), "{}", s.sentences());
    }
}

#[test]
fn recovery_can_be_switched_off() {
    let mut policy = claude();
    policy.config.recovery.resume_after_crash = false;
    for (end, close) in [
        (ProcessEnd::Exited(1), "close Finished 1"),
        (ProcessEnd::Exited(143), "close Killed 143"),
        (signal(9), "close Killed 137"),
    ] {
        let mut s = Session::busy(policy.clone());
        assert_eq!(s.end(end), format!("run.ended, reap, session.ended, {close}"));
    }
}

#[test]
fn a_plain_program_is_never_resumed() {
    for (end, close) in [(ProcessEnd::Exited(3), "close Finished 3"), (signal(11), "close Killed 139")] {
        let mut s = Session::started(plain());
        s.after(5_000);
        assert_eq!(s.end(end), format!("run.ended, reap, session.ended, {close}"));
    }
}

#[test]
fn nothing_is_resumed_before_anything_was_said() {
    let mut s = Session::idle(claude());
    assert_eq!(
        s.end(ProcessEnd::Exited(1)),
        "run.ended, reap, session.ended, close Finished 1",
        "a bad flag, say"
    );
}

#[test]
fn a_signal_that_a_client_passed_on_is_no_crash() {
    for (passed, end, close) in [
        (Signal::TERM, ProcessEnd::Exited(143), "close Killed 143"),
        (Signal::INT, ProcessEnd::Exited(1), "close Finished 1"),
        (Signal::QUIT, signal(3), "close Killed 131"),
        (Signal(10), signal(10), "close Killed 138"),
    ] {
        let mut s = Session::busy(claude());
        s.expect(Event::Passed { signal: passed }, "");
        s.after(9_000);
        assert_eq!(s.end(end), format!("run.ended, reap, session.ended, {close}"));
    }
    let mut s = Session::busy(claude());
    s.feed(Event::Passed { signal: Signal(10) });
    s.end(ProcessEnd::Exited(1));
    assert_eq!(s.phase(), "cooling", "SIGUSR1 does not explain code 1");
    let mut s = Session::busy(claude());
    s.feed(Event::Passed { signal: Signal::TERM });
    s.after(10_001);
    s.end(ProcessEnd::Exited(143));
    assert_eq!(s.phase(), "cooling", "that was another one");
}

#[test]
fn a_signal_that_is_passed_on_while_nothing_runs_is_not_lost() {
    let mut s = Session::cooling(claude());
    s.expect(Event::Passed { signal: Signal::TERM }, "session.ended, close Stopped 1");
    let mut s = Session::stopping(claude());
    s.expect(Event::Passed { signal: Signal::TERM }, "");
    assert_eq!(
        s.end(TERM_CODE),
        "run.ended, reap, session.ended, close Stopped 143",
        "no new run for somebody who ends it"
    );
    let mut s = Session::new(claude());
    s.feed(Event::Start {
        conversation: None,
        next: conversation(2),
        handoff: None,
        fresh: false,
        prompt: None,
        command: false,
        before: None,
    });
    s.feed(Event::Passed { signal: Signal::TERM });
    assert_eq!(s.exec(), "run.spawned, release keys, SIGTERM Group");
}

#[test]
fn restarts_and_resumes_share_one_limit() {
    let mut policy = claude();
    policy.config.recovery.quick_deaths = 100;
    policy.config.restart.max_restarts = 4;
    let mut s = Session::busy(policy);
    for _ in 0..4 {
        crash_and_resume(&mut s, ProcessEnd::Exited(1));
    }
    assert_eq!(s.end(ProcessEnd::Exited(1)), "run.ended, reap, session.ended, close RestartLimit 1");
}

#[test]
fn a_crash_drops_a_restart_that_waits_and_says_so() {
    let mut s = Session::busy(claude());
    s.usage(85);
    let words = s.end(ProcessEnd::Exited(1));
    assert_eq!(words, "run.ended, reap, restart.cancelled, notice, notice, hold keys");
    s.tick();
    s.exec();
    s.boot(StartSource::Resume);
    s.prompt(PromptOf::Person);
    assert_eq!(s.usage(85), "", "it has fired already");
    assert!(s.call(HookEvent::Stop).contains("restart.requested"), "but it is not forgotten");
}

#[test]
fn a_crash_while_saving_leaves_the_handoff_active() {
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    s.call(HookEvent::Stop);
    s.end(signal(9));
    assert_eq!(s.phase(), "cooling");
    assert_eq!(s.saved(1), "handoff.saved");
    assert_eq!(s.sup.active_handoff(), Some(&handoff(1)));
    s.tick();
    assert!(s.exec().ends_with("release keys draft"));
}

#[test]
fn a_death_before_anything_was_typed_delivers_once_more_to_a_new_conversation() {
    let mut s = Session::delivering(claude());
    s.end(signal(9));
    assert_eq!(s.phase(), "cooling");
    assert_eq!(s.tick(), "spawn 3 Fresh");
    assert!(
        s.last
            .iter()
            .any(|a| matches!(a, Action::Spawn { conversation: Some(id), .. } if *id == conversation(3)))
    );
    assert_eq!(s.exec(), "run.spawned, follow, delivery.started");
    s.after(1_000);
    assert_eq!(s.end(signal(9)), "run.ended, reap, session.ended, close CrashLoop 137", "two such ends");
}

#[test]
fn a_death_after_an_enter_types_nothing_again() {
    let mut s = Session::delivering(claude());
    s.boot(StartSource::Startup);
    assert_eq!(s.screen(PromptBox::Ours), "enter");
    s.end(signal(9));
    s.tick();
    assert_eq!(s.exec(), "run.spawned, follow, release keys draft");
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Ours);
    assert_eq!(s.count("paste brief=true"), 1, "at most once");
    assert_eq!(s.sup.active_handoff(), Some(&handoff(1)), "and the handoff stays active");
}

#[test]
fn a_program_that_cannot_be_started_again_ends_the_session() {
    let mut s = Session::stopping(claude());
    s.end(TERM_CODE);
    assert_eq!(s.feed(Event::CouldNotStart { run: 1, code: 127, gone: None }), "", "another run's");
    assert_eq!(
        s.feed(Event::CouldNotStart { run: 2, code: 127, gone: None }),
        "session.ended, close CouldNotStart 127"
    );
    assert!(s.sentences().contains("not found"));
    assert!(s.sentences().contains("is waiting"));
}

#[test]
fn a_directory_that_is_gone_after_a_crash_is_named_with_the_way_back() {
    let mut s = Session::busy(claude());
    s.end(ProcessEnd::Exited(1));
    s.after(10_000);
    s.tick();
    let (run, conversation) = (s.sup.run(), s.current());
    s.feed(Event::CouldNotStart { run, code: 125, gone: Some("/tree".to_owned()) });
    let words = format!("/tree is gone. Once it is back, `hopty --resume {conversation}` continues.");
    assert!(s.sentences().contains(&words), "{}", s.sentences());
}

#[test]
fn a_long_run_that_was_handed_over_breaks_the_row_as_well() {
    let mut s = Session::busy(claude());
    crash_and_resume(&mut s, ProcessEnd::Exited(1));
    crash_and_resume(&mut s, ProcessEnd::Exited(1));
    s.after(600_000);
    s.restart_now(Asker::Person);
    s.saved(1);
    s.end(TERM_CODE);
    s.exec();
    s.after(100);
    s.end(signal(9));
    assert_eq!(s.phase(), "cooling");
}

#[test]
fn an_empty_transcript_is_nothing_to_resume() {
    let mut s = Session::idle(claude());
    s.usage(0);
    assert!(s.end(ProcessEnd::Exited(1)).ends_with("close Finished 1"));
    let mut s = Session::idle(claude());
    s.usage(1);
    s.end(ProcessEnd::Exited(1));
    assert_eq!(s.phase(), "cooling");
}

#[test]
fn a_resumed_run_is_where_its_conversation_was_had() {
    let mut s = Session::idle(claude());
    s.signal_file(named(1), 1);
    s.settings();
    s.saved(1);
    s.end(TERM_CODE);
    s.exec();
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    s.end(signal(9));
    assert_eq!(s.tick(), "spawn 3 Resume");
    assert!(
        s.last.iter().any(|a| matches!(a, Action::Spawn { dir: Some(dir), .. } if dir == "/home/u/proj"))
    );
}

#[test]
fn a_conversation_that_claude_never_wrote_is_begun_again_once_it_was_not_resumed() {
    let mut s = Session::silent(claude());
    s.prompt(PromptOf::Person);
    let first = s.current();
    crash_and_resume(&mut s, signal(9));
    assert_eq!(s.current(), first);
    // Claude knows no such conversation.
    crash_and_resume(&mut s, ProcessEnd::Exited(1));
    assert_ne!(s.current(), first);
    assert_eq!(s.sup.chain.before(), None, "there is nothing to go back to");
}

#[test]
fn a_fresh_conversation_that_claude_never_wrote_gets_its_handoff_again() {
    let mut s = Session::delivering(claude());
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    crash_and_resume(&mut s, signal(9));
    assert_eq!(s.phase(), "running", "perhaps the prompt was written down");
    crash_and_resume(&mut s, ProcessEnd::Exited(1));
    assert_eq!(s.phase(), "delivering", "{}", s.words());
}
