//! Who may ask for a restart, and what becomes of it: signal files, `hopty restart`, limits.

use super::*;

#[test]
fn a_signal_file_that_names_this_conversation_is_obeyed() {
    let mut s = Session::idle(claude());
    let words = s.signal_file(named(1), 5);
    assert_eq!(words, "consume signal, restart.requested, wait, safe_point.reached, hold keys, check settings");
    assert_eq!(s.settings(), "save");
    s.saved(1);
    s.end(TERM_CODE);
    let dirs: Vec<_> = s.all.iter().filter_map(|a| if let Action::Spawn { dir, .. } = a { Some(dir.clone()) } else { None }).collect();
    assert_eq!(dirs, [None, Some("/home/u/proj".to_owned())]);
}

#[test]
fn a_directory_that_may_not_be_taken_is_not() {
    let mut s = Session::idle(claude());
    s.feed(Event::Signal { file: named(1), fresh: true, sessions: 1, dir_ok: false });
    s.settings();
    s.saved(1);
    s.end(TERM_CODE);
    assert!(s.last.iter().any(|a| matches!(a, Action::Spawn { dir: None, .. })));
}

#[test]
fn a_bare_directory_needs_exactly_one_session() {
    let bare = || RestartFile::Bare { dir: "/home/u/proj".to_owned() };
    for sessions in [0, 2, 9] {
        let mut s = Session::idle(claude());
        assert_eq!(s.signal_file(bare(), sessions), "restart.ignored");
    }
    let mut s = Session::idle(claude());
    assert!(s.signal_file(bare(), 1).starts_with("consume signal, restart.requested"));
}

#[test]
fn every_other_signal_is_left_alone_with_its_reason() {
    let malformed = RestartFile::parse(b"restart please");
    let cases = [
        (named(9), true, "names conversation 00000009"),
        (named(1), false, "before this session began"),
        (malformed, true, "neither a conversation nor"),
    ];
    for (file, fresh, why) in cases {
        for s in [Session::idle(claude()), Session::busy(claude())] {
            let mut s = s;
            s.expect(Event::Signal { file: file.clone(), fresh, sessions: 1, dir_ok: true }, "restart.ignored");
            assert!(s.sentences().contains(why), "{}", s.sentences());
            assert_eq!(s.phase(), "running");
        }
    }
    let mut s = Session::started(plain());
    assert_eq!(s.signal_file(named(1), 1), "restart.ignored");
}

#[test]
fn a_signal_during_a_hand_over_is_left_alone() {
    let mut s = Session::stopping(claude());
    assert_eq!(s.signal_file(named(1), 1), "restart.ignored");
    let mut s = Session::delivering(claude());
    assert_eq!(s.signal_file(named(2), 1), "restart.ignored");
    let mut s = Session::cooling(claude());
    assert_eq!(s.signal_file(named(1), 1), "restart.ignored");
    assert!(s.sentences().contains("the program is not running"));
}

#[test]
fn a_signal_while_a_level_waits_joins_it() {
    let mut s = Session::busy(claude());
    s.usage(85);
    assert_eq!(s.signal_file(named(1), 1), "consume signal");
    assert_eq!(s.ctrl_c(), "", "it is explicit now, and stands");
    assert_eq!(s.phase(), "waiting");
}

#[test]
fn restart_of_an_idle_session_begins_at_once() {
    let mut s = Session::idle(claude());
    let words = s.restart(Asker::Person);
    assert_eq!(words, "accepted, restart.requested, wait, safe_point.reached, hold keys, save");
}

#[test]
fn what_runs_code_is_compared_unless_a_person_asks() {
    let mut s = Session::idle(claude());
    assert!(s.restart(Asker::Descendant).ends_with("check settings"), "a tool could plant a hook and run it so");
    let words = s.feed(Event::Settings { changed: vec!["hooks".to_owned()] });
    assert_eq!(words, "restart.cancelled, notice, release keys");
    assert!(s.sentences().contains("hooks"), "{}", s.sentences());
    assert_eq!(s.phase(), "running");
    assert!(s.restart(Asker::Person).ends_with("hold keys, save"));
}

#[test]
fn restart_of_a_busy_session_waits() {
    let mut s = Session::busy(claude());
    assert_eq!(s.restart(Asker::Descendant), "accepted, restart.requested, wait");
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 3, let 3 go");
    assert_eq!(s.call(HookEvent::Stop), "hold 4, safe_point.reached, hold keys, check settings");
}

#[test]
fn now_means_the_next_tool_boundary_inside_and_at_once_outside() {
    let mut s = Session::busy(claude());
    assert_eq!(s.restart_now(Asker::Descendant), "accepted, restart.requested, wait");
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 3, safe_point.reached, hold keys, check settings");

    let mut s = Session::busy(claude());
    let words = s.restart_now(Asker::Person);
    assert_eq!(words, "accepted, restart.requested, wait, safe_point.reached, hold keys, save");
    assert!(s.sentences().contains("as asked"));
    assert_eq!(s.call(HookEvent::PostToolBatch), "stop turn 3", "nothing more goes out");
    assert_eq!(s.saved(1), "handoff.saved, handoff.claimed, collect, SIGTERM Child, stop.sent");
}

#[test]
fn now_hurries_a_restart_that_waits() {
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    assert_eq!(s.restart_now(Asker::Person), "accepted, safe_point.reached, hold keys, save");
}

#[test]
fn without_a_handoff_nothing_is_saved_or_delivered() {
    let mut s = Session::idle(claude());
    let words = s.feed(Event::Restart { id: 1, by: Asker::Person, now: false, handoff: false });
    assert_eq!(words, "accepted, restart.requested, wait, safe_point.reached, hold keys, collect, SIGTERM Child, stop.sent");
    assert_eq!(s.end(TERM_CODE), "run.ended, reap, spawn 2 Fresh");
    assert_eq!(s.exec(), "run.spawned, follow, release keys draft");
    assert_eq!(s.phase(), "running");
}

#[test]
fn without_a_handoff_at_a_tool_boundary_the_turn_is_ended() {
    let mut s = Session::busy(claude());
    s.feed(Event::Restart { id: 1, by: Asker::Descendant, now: true, handoff: false });
    s.call(HookEvent::PostToolBatch);
    s.settings();
    assert_eq!(s.lines(), "stop turn 3");
    assert_eq!(s.status(AgentStatus::Idle), "collect, SIGTERM Child, stop.sent");
}

#[test]
fn refused_while_handing_over_and_when_nothing_runs() {
    let mut saving = Session::idle(claude());
    saving.restart(Asker::Person);
    for mut s in [saving, Session::stopping(claude()), Session::delivering(claude()), Session::cooling(claude())] {
        assert_eq!(s.restart(Asker::Person), "refused", "{}", s.phase());
    }
    let mut s = Session::new(claude());
    assert_eq!(s.restart(Asker::Person), "refused");
    let mut s = Session::idle(claude());
    s.end(ProcessEnd::Exited(0));
    assert_eq!(s.restart(Asker::Person), "already ended");
}

#[test]
fn a_plain_program_is_restarted_with_its_own_arguments() {
    let mut s = Session::started(plain());
    let words = s.restart(Asker::Person);
    assert_eq!(words, "accepted, restart.requested, wait, safe_point.reached, hold keys, collect, SIGTERM Child, stop.sent");
    assert_eq!(s.end(signal(15)), "run.ended, reap, spawn 2 First");
    assert_eq!(s.exec(), "run.spawned, release keys");
}

/// Hands over once, from an idle Claude to an idle Claude.
fn hand_over(s: &mut Session, n: u32) {
    s.restart(Asker::Person);
    s.saved(n);
    s.end(TERM_CODE);
    s.exec();
    s.boot(Source::Startup);
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    s.call(HookEvent::Stop);
    s.status(AgentStatus::Idle);
    s.screen(PromptBox::Empty);
}

#[test]
fn exactly_so_many_restarts_within_the_window() {
    for how in ["command", "level", "signal"] {
        let mut policy = claude();
        policy.config.restart.max_restarts = 3;
        let mut s = Session::idle(policy);
        for n in 1..=3 {
            hand_over(&mut s, n);
            assert_eq!(s.phase(), "running", "restart {n}");
        }
        match how {
            "command" => {
                assert_eq!(s.restart(Asker::Person), "refused");
                s.after(3_600_000);
                assert!(s.restart(Asker::Person).starts_with("accepted"), "the window is over");
                continue;
            }
            "level" => s.usage(95),
            _ => s.signal_file(named(4), 1),
        };
        s.settings();
        s.saved(4);
        assert!(s.all.iter().any(|a| word(a) == "SIGTERM Child"), "{how}");
        assert_eq!(s.end(TERM_CODE), "run.ended, reap, session.ended, close RestartLimit 143", "{how}");
        assert!(s.sentences().contains("HO-20261120-142950-00000004 is waiting"), "{}", s.sentences());
        assert_eq!(s.sup.restarts(), 3);
    }
}

#[test]
fn whoever_wants_a_handoff_gets_one() {
    let mut s = Session::busy(claude());
    s.feed(Event::Restart { id: 1, by: Asker::Person, now: false, handoff: false });
    s.restart(Asker::Person);
    assert!(s.call(HookEvent::Stop).ends_with("save"));
}
