//! Ctrl+C in every phase, and every cell of the exit table, in the whole supervisor.

use std::collections::HashSet;

use super::super::exit_table::tests::ENDS;
use super::super::exit_table::{CtrlC, ExitRow};
use super::*;

/// The outcome for a session, one line per row and Ctrl+C of the exit table, with a character for each of
/// `ENDS`. `·` nothing, `c` could not start, `u` user interrupt, `f` finished, `s` stopped, `n` the next run,
/// `x` resumed after a pause.
const TABLE: [(ExitRow, CtrlC, &str); 20] = [
    (ExitRow::Cold, CtrlC::No, "·········"),
    (ExitRow::Cold, CtrlC::Yes, "·········"),
    (ExitRow::Spawning, CtrlC::No, "ccccccc··"),
    (ExitRow::Spawning, CtrlC::Yes, "uuuuuuu··"),
    (ExitRow::Running, CtrlC::No, "fxxxxxx··"),
    (ExitRow::Running, CtrlC::Yes, "uxxuuux··"),
    (ExitRow::Waiting, CtrlC::No, "fxxxxxx··"),
    (ExitRow::Waiting, CtrlC::Yes, "uxxuuux··"),
    (ExitRow::Saving, CtrlC::No, "fxxxxxx··"),
    (ExitRow::Saving, CtrlC::Yes, "uxxuuux··"),
    (ExitRow::StoppingForRestart, CtrlC::No, "nnnnnnn··"),
    (ExitRow::StoppingForRestart, CtrlC::Yes, "uuuuuuu··"),
    (ExitRow::StoppingForStop, CtrlC::No, "sssssss··"),
    (ExitRow::StoppingForStop, CtrlC::Yes, "sssssss··"),
    (ExitRow::StoppingForShutdown, CtrlC::No, "sssssss··"),
    (ExitRow::StoppingForShutdown, CtrlC::Yes, "sssssss··"),
    (ExitRow::Cooling, CtrlC::No, "·········"),
    // The session closes at the key; there is no child.
    (ExitRow::Cooling, CtrlC::Yes, "uuuuuuuuu"),
    (ExitRow::Delivering, CtrlC::No, "xxxxxxx··"),
    (ExitRow::Delivering, CtrlC::Yes, "uuuuuuu··"),
];

fn session_in(row: ExitRow) -> Session {
    let mut s = match row {
        ExitRow::Cold => Session::new(claude()),
        ExitRow::Spawning => {
            let mut s = Session::new(claude());
            s.feed(Event::Start {
                conversation: Some(conversation(1)),
                next: conversation(2),
                handoff: None,
                fresh: false,
                prompt: None,
                command: false,
                before: None,
            });
            s
        }
        ExitRow::Running | ExitRow::Waiting | ExitRow::StoppingForStop | ExitRow::StoppingForShutdown => {
            Session::busy(claude())
        }
        ExitRow::Saving => {
            let mut s = Session::busy(claude());
            s.restart(Asker::Descendant);
            s.call(HookEvent::Stop);
            s
        }
        ExitRow::StoppingForRestart => Session::stopping(claude()),
        ExitRow::Cooling => Session::cooling(claude()),
        ExitRow::Delivering => Session::delivering(claude()),
    };
    match row {
        ExitRow::Waiting => s.restart(Asker::Person),
        ExitRow::StoppingForStop => s.feed(Event::Stop { id: 1, kill: false }),
        ExitRow::StoppingForShutdown => s.feed(Event::Shutdown),
        _ => String::new(),
    };
    s.after(100);
    s
}

fn sign(s: &Session, before: &str, run: u32) -> char {
    match s.sup.phase() {
        Phase::Closed { cause: EndCause::CouldNotStart, .. } => 'c',
        Phase::Closed { cause: EndCause::UserInterrupt, .. } => 'u',
        Phase::Closed { cause: EndCause::Finished, .. } => 'f',
        Phase::Closed { cause: EndCause::Stopped, .. } => 's',
        Phase::Spawning { .. } if s.sup.run() > run => 'n',
        Phase::Cooling { .. } if before != "cooling" => 'x',
        phase if phase.word() == before => '·',
        phase => panic!("{phase:?} after {before}"),
    }
}

#[test]
fn every_cell_of_the_table() {
    let mut reached = HashSet::new();
    for (row, ctrl_c, want) in TABLE {
        let mut got = String::new();
        for end in ENDS {
            let mut s = session_in(row);
            if ctrl_c == CtrlC::Yes {
                s.ctrl_c();
                s.after(2000);
            }
            let stands = s.sup.row(s.now);
            if row != ExitRow::Cold && (row, ctrl_c) != (ExitRow::Cooling, CtrlC::Yes) {
                assert_eq!(stands, (row, ctrl_c), "the machine stands in the cell that is meant");
            }
            let (before, run) = (s.phase(), s.sup.run());
            if row == ExitRow::Spawning && end.is_final() {
                s.feed(Event::CouldNotStart { run, code: end.code(), gone: None });
            } else {
                s.end(end);
            }
            reached.insert((row, ctrl_c, format!("{end:?}")));
            let sign = sign(&s, before, run);
            got.push(sign);
            if "cufs".contains(sign) && row != ExitRow::Cooling {
                assert!(
                    matches!(s.sup.phase(), Phase::Closed { code, .. } if *code == end.code()),
                    "{row:?} {end:?}"
                );
            }
            if sign == 'x' {
                assert!(s.count("hold keys") >= 1, "what is typed in the pause is kept");
            }
        }
        assert_eq!(got, want, "{row:?} {ctrl_c:?}");
    }
    println!(
        "{} of {} cells of the table of ends reached",
        reached.len(),
        ExitRow::ALL.len() * 2 * ENDS.len()
    );
    assert_eq!(reached.len(), ExitRow::ALL.len() * 2 * ENDS.len());
}

#[test]
fn two_seconds_and_not_more() {
    for (row, end, cause) in
        [(ExitRow::Running, 0, EndCause::Finished), (ExitRow::Waiting, 0, EndCause::Finished)]
    {
        let mut s = session_in(row);
        s.ctrl_c();
        s.after(2001);
        s.end(ProcessEnd::Exited(end));
        assert_eq!(s.cause(), Some(cause));
    }
    let mut s = session_in(ExitRow::Delivering);
    s.ctrl_c();
    s.after(2001);
    s.end(signal(9));
    assert_eq!(s.phase(), "closed", "it never spoke, so there is nothing to resume");
    assert_eq!(s.cause(), Some(EndCause::Killed));
}

#[test]
fn an_automatic_request_is_dropped_and_comes_back_at_the_next_stop() {
    let mut s = Session::busy(claude());
    s.usage(85);
    assert_eq!(s.ctrl_c(), "restart.cancelled, notice", "the key itself goes through, keys are not kept yet");
    assert_eq!(s.phase(), "running");
    s.status(SessionsFileStatus::Idle);
    assert_eq!(s.pass(60_000), "");
    s.prompt(PromptOf::Person);
    s.status(SessionsFileStatus::Busy);
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 4, let 4 go");
    assert_eq!(
        s.call(HookEvent::Stop),
        "hold 5, restart.requested, wait, safe_point.reached, hold keys, check settings"
    );
}

#[test]
fn an_automatic_request_that_is_saved_is_dropped_too() {
    let mut s = Session::busy(claude());
    s.usage(95);
    s.call(HookEvent::PostToolBatch);
    s.settings();
    s.lines();
    assert_eq!(s.ctrl_c(), "ctrl-c, restart.cancelled, notice, message 3, release keys");
    assert_eq!(s.saved(1), "handoff.saved");
    assert_eq!(s.phase(), "running");
    s.end(ProcessEnd::Exited(0));
    assert!(s.sentences().contains("HO-20261120-142950-00000001 is waiting"), "it stays active and is named");
}

#[test]
fn an_explicit_restart_stands_and_claude_hears_the_key() {
    let mut s = session_in(ExitRow::Saving);
    assert_eq!(s.ctrl_c(), "ctrl-c");
    assert_eq!(s.phase(), "saving");
}

#[test]
fn item_060_ctrl_c_while_it_is_stopped_never_restarts_and_the_handoff_is_named() {
    for settle in [true, false] {
        let mut s = Session::busy(claude());
        s.restart(Asker::Person);
        s.call(HookEvent::Stop);
        s.saved(1);
        if !settle {
            s.status(SessionsFileStatus::Idle);
        }
        assert_eq!(s.ctrl_c(), "");
        if settle {
            assert_eq!(s.tick(), "collect, SIGTERM Child, stop.sent");
        }
        assert_eq!(s.end(TERM_CODE), "run.ended, reap, session.ended, close UserInterrupt 143");
        assert!(s.sentences().contains("HO-20261120-142950-00000001 is waiting"));
        assert_eq!(s.count("spawn 2 Fresh"), 0);
    }
}

#[test]
fn while_delivering_typing_stops_and_the_keys_come_back() {
    let mut s = Session::delivering(claude());
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Ours);
    assert_eq!(s.ctrl_c(), "delivery.failed, notice, ctrl-c, release keys draft");
    assert_eq!(s.screen(PromptBox::Ours), "", "no further Enter");
    assert_eq!(s.pass(60_000), "");
    assert_eq!(s.count("enter"), 1);
    assert_eq!(s.sup.active_handoff(), Some(&handoff(1)));
}

#[test]
fn a_ctrl_c_while_the_next_run_starts_stops_its_delivery() {
    let mut s = Session::stopping(claude());
    s.end(TERM_CODE);
    s.after(3);
    assert_eq!(s.ctrl_c(), "");
    let words = s.exec();
    assert_eq!(
        words,
        "run.spawned, follow, delivery.started, delivery.failed, notice, ctrl-c, release keys draft"
    );
    assert_eq!(s.phase(), "running");
}

#[test]
fn a_ctrl_c_at_a_dialog_is_not_typed_twice() {
    let mut s = Session::delivering(claude());
    s.session_start(StartSource::Startup, None);
    s.dialog("trust");
    assert_eq!(
        s.ctrl_c(),
        "delivery.failed, notice",
        "the key went to the child, and what was kept waits for the dialog"
    );
    assert_eq!(s.screen(PromptBox::Empty), "release keys draft");
}

#[test]
fn a_ctrl_c_in_the_pause_ends_the_session() {
    let mut s = Session::cooling(claude());
    assert_eq!(s.ctrl_c(), "session.ended, close UserInterrupt 1");
}
