//! An orchestrator's loop: its signal, and a task that is completed.

use super::*;
use crate::core::supervisor::restart_signal::{RestartSignal, SignalFile};

fn completed(completed: bool) -> Event {
    Event::Task { completed }
}

fn requested() -> RestartSignal {
    RestartSignal::Here { checkpoint: "chk-20261120-140000".to_owned() }
}

#[test]
fn a_signal_of_an_orchestrator_is_obeyed_and_its_own_file_consumed() {
    let mut s = Session::idle(claude());
    assert!(s.signal_file(requested(), 1).starts_with("consume signal, restart.requested"));
    assert!(s.last.contains(&Action::ConsumeSignal { file: SignalFile::OfProject }));
    for sessions in [0, 2] {
        let mut s = Session::idle(claude());
        assert_eq!(s.signal_file(requested(), sessions), "restart.ignored");
    }
}

#[test]
fn a_completed_task_starts_no_other_round() {
    let mut s = Session::busy(claude());
    s.expect(completed(true), "task.completed, notice");
    s.usage(85);
    assert_eq!(s.phase(), "waiting", "in the middle of a turn it is only asked for");
    let words = s.call(HookEvent::Stop);
    assert!(
        words.contains("restart.cancelled") && s.sentences().contains("the task is completed"),
        "{words}"
    );
    assert_eq!(s.phase(), "running");
    // A repetition changes nothing.
    assert_eq!(s.feed(completed(true)), "");
}

#[test]
fn what_was_dropped_is_due_when_the_task_goes_on() {
    let mut s = Session::busy(claude());
    s.feed(completed(true));
    s.usage(85);
    s.call(HookEvent::Stop);
    assert_eq!(s.phase(), "running");
    s.feed(completed(false));
    s.prompt(PromptOf::Person);
    s.call(HookEvent::Stop);
    assert_ne!(s.phase(), "running", "{}", s.words());
}

#[test]
fn a_person_hands_over_a_completed_task_all_the_same() {
    let mut s = Session::idle(claude());
    s.feed(completed(true));
    s.restart(Asker::Person);
    assert_ne!(s.phase(), "running");
}
