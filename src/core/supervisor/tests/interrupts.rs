//! Ctrl+C in every phase, and every cell of the table of ends, in the machine itself.

use std::collections::HashSet;

use super::super::exit_table::{CtrlC, Row};
use super::*;

const ENDS: [ProcessEnd; 9] = [
    ProcessEnd::Exited(0),
    ProcessEnd::Exited(1),
    ProcessEnd::Exited(129),
    ProcessEnd::Exited(130),
    ProcessEnd::Exited(143),
    ProcessEnd::Signaled(Signal::INT),
    ProcessEnd::Signaled(Signal::KILL),
    ProcessEnd::Stopped(Signal(20)),
    ProcessEnd::Continued,
];

/// What becomes of a session, a line a cell of CONTRACT C5: row, Ctrl+C, then a sign for each of `ENDS`. `·` nothing,
/// `c` could not start, `u` user interrupt, `f` finished, `s` stopped, `n` the next run, `x` resumed after a pause.
const TABLE: [(Row, CtrlC, &str); 20] = [
    (Row::Cold, CtrlC::No, "·········"),
    (Row::Cold, CtrlC::Yes, "·········"),
    (Row::Spawning, CtrlC::No, "ccccccc··"),
    (Row::Spawning, CtrlC::Yes, "uuuuuuu··"),
    (Row::Running, CtrlC::No, "fxxxxxx··"),
    (Row::Running, CtrlC::Yes, "uxxuuux··"),
    (Row::Waiting, CtrlC::No, "fxxxxxx··"),
    (Row::Waiting, CtrlC::Yes, "uxxuuux··"),
    (Row::Saving, CtrlC::No, "fxxxxxx··"),
    (Row::Saving, CtrlC::Yes, "uxxuuux··"),
    (Row::StoppingForRestart, CtrlC::No, "nnnnnnn··"),
    (Row::StoppingForRestart, CtrlC::Yes, "uuuuuuu··"),
    (Row::StoppingForStop, CtrlC::No, "sssssss··"),
    (Row::StoppingForStop, CtrlC::Yes, "sssssss··"),
    (Row::StoppingForShutdown, CtrlC::No, "sssssss··"),
    (Row::StoppingForShutdown, CtrlC::Yes, "sssssss··"),
    (Row::Cooling, CtrlC::No, "·········"),
    // The session closes at the key; there is no child to end.
    (Row::Cooling, CtrlC::Yes, "uuuuuuuuu"),
    (Row::Delivering, CtrlC::No, "xxxxxxx··"),
    (Row::Delivering, CtrlC::Yes, "uuuuuuu··"),
];

fn session_in(row: Row) -> Session {
    let mut s = match row {
        Row::Cold => Session::new(claude()),
        Row::Spawning => {
            let mut s = Session::new(claude());
            s.feed(Event::Start { conversation: Some(conversation(1)), next: conversation(2), handoff: None });
            s
        }
        Row::Running | Row::Waiting | Row::StoppingForStop | Row::StoppingForShutdown => Session::busy(claude()),
        Row::Saving => {
            let mut s = Session::busy(claude());
            s.restart(Asker::Descendant);
            s.call(HookEvent::Stop);
            s
        }
        Row::StoppingForRestart => Session::stopping(claude()),
        Row::Cooling => Session::cooling(claude()),
        Row::Delivering => Session::delivering(claude()),
    };
    match row {
        Row::Waiting => s.restart(Asker::Person),
        Row::StoppingForStop => s.feed(Event::Stop { id: 1, kill: false }),
        Row::StoppingForShutdown => s.feed(Event::Shutdown),
        _ => String::new(),
    };
    s.after(100);
    s
}

fn sign(s: &Session, before: &str, run: u32) -> char {
    match s.sup.phase() {
        Phase::Closed { cause: Cause::CouldNotStart, .. } => 'c',
        Phase::Closed { cause: Cause::UserInterrupt, .. } => 'u',
        Phase::Closed { cause: Cause::Finished, .. } => 'f',
        Phase::Closed { cause: Cause::Stopped, .. } => 's',
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
            if row != Row::Cold && (row, ctrl_c) != (Row::Cooling, CtrlC::Yes) {
                assert_eq!(stands, (row, ctrl_c), "the machine stands in the cell that is meant");
            }
            let (before, run) = (s.phase(), s.sup.run());
            if row == Row::Spawning && end.is_final() {
                s.feed(Event::CouldNotStart { run, code: end.code() });
            } else {
                s.end(end);
            }
            reached.insert((row, ctrl_c, format!("{end:?}")));
            let sign = sign(&s, before, run);
            got.push(sign);
            if "cufs".contains(sign) && row != Row::Cooling {
                assert!(matches!(s.sup.phase(), Phase::Closed { code, .. } if *code == end.code()), "{row:?} {end:?}");
            }
            if sign == 'x' {
                assert!(s.count("hold keys") >= 1, "what is typed in the pause is kept");
            }
        }
        assert_eq!(got, want, "{row:?} {ctrl_c:?}");
    }
    println!("{} of {} cells of the table of ends reached", reached.len(), Row::ALL.len() * 2 * ENDS.len());
    assert_eq!(reached.len(), Row::ALL.len() * 2 * ENDS.len());
}

#[test]
fn two_seconds_and_not_more() {
    for (row, end, cause) in [(Row::Running, 0, Cause::Finished), (Row::Waiting, 0, Cause::Finished)] {
        let mut s = session_in(row);
        s.ctrl_c();
        s.after(2001);
        s.end(ProcessEnd::Exited(end));
        assert_eq!(s.cause(), Some(cause));
    }
    let mut s = session_in(Row::Delivering);
    s.ctrl_c();
    s.after(2001);
    s.end(signal(9));
    assert_eq!(s.phase(), "closed", "it never spoke, so there is nothing to resume");
    assert_eq!(s.cause(), Some(Cause::Killed));
}

#[test]
fn an_automatic_request_is_dropped_and_comes_back_at_the_next_stop() {
    let mut s = Session::busy(claude());
    s.usage(85);
    assert_eq!(s.ctrl_c(), "restart.cancelled, notice", "the key itself goes through, keys are not kept yet");
    assert_eq!(s.phase(), "running");
    s.status(AgentStatus::Idle);
    assert_eq!(s.pass(60_000), "");
    s.prompt(PromptOf::Person);
    s.status(AgentStatus::Busy);
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 4, let 4 go");
    assert_eq!(s.call(HookEvent::Stop), "hold 5, restart.requested, wait, safe_point.reached, hold keys, check settings");
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
    let mut s = session_in(Row::Saving);
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
            s.status(AgentStatus::Idle);
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
    s.boot(Source::Startup);
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
    assert_eq!(words, "run.spawned, follow, delivery.started, delivery.failed, notice, ctrl-c, release keys draft");
    assert_eq!(s.phase(), "running");
}

#[test]
fn a_ctrl_c_at_a_dialog_is_not_typed_twice() {
    let mut s = Session::delivering(claude());
    s.session_start(Source::Startup, None);
    s.dialog("trust");
    assert_eq!(s.ctrl_c(), "delivery.failed, notice", "the key went to the child, and what was kept waits for the dialog");
    assert_eq!(s.screen(PromptBox::Empty), "release keys draft");
}

#[test]
fn a_ctrl_c_in_the_pause_ends_the_session() {
    let mut s = Session::cooling(claude());
    assert_eq!(s.ctrl_c(), "session.ended, close UserInterrupt 1");
}
