//! Hand-overs without progress are stopped.

use super::*;
use crate::core::handoff::work_progress::Mark;

const MARK: Mark = Mark { next: 7, tree: 1, files: 0 };

/// A hand-over at level `hard`, from a busy Claude to its handoff with this mark.
fn saves(s: &mut Session, n: u32, mark: Option<Mark>) -> String {
    s.usage(95);
    s.call(HookEvent::Stop);
    s.settings();
    s.feed(Event::Saved { handoff: handoff(n), mark })
}

/// The next run, in the middle of its first turn.
fn next_run(s: &mut Session) {
    s.after(600);
    s.feed(Event::Tick);
    s.end(TERM_CODE);
    s.exec();
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    s.status(SessionsFileStatus::Busy);
    s.usage(10);
    assert_eq!(s.phase(), "running");
}

fn stuck() -> Session {
    let mut s = Session::busy(claude());
    assert!(saves(&mut s, 1, Some(Mark { files: 3, ..MARK })).contains("handoff.claimed"));
    next_run(&mut s);
    let words = saves(&mut s, 2, Some(MARK));
    assert!(
        words.starts_with("handoff.saved, progress.missing, notice, restart.cancelled, notice"),
        "{words}"
    );
    assert_eq!(s.phase(), "running");
    s
}

#[test]
fn two_handoffs_with_nothing_between_them_are_enough() {
    let mut s = stuck();
    s.usage(10);
    s.usage(99);
    assert_eq!(s.phase(), "running", "no level asks for another one");
    let auto = HookFacts { auto: true, ..hook(HookEvent::PreCompact, &s.current()) };
    assert!(!s.hook(auto).contains("block"), "and Claude may compact");
    assert_eq!(s.sup.active_handoff(), Some(&handoff(2)));
}

#[test]
fn a_persons_wish_or_prompt_sets_it_going_again() {
    let mut s = stuck();
    s.status(SessionsFileStatus::Idle);
    s.restart(Asker::Person);
    assert_eq!(s.phase(), "saving");
    assert!(s.feed(Event::Saved { handoff: handoff(3), mark: Some(MARK) }).contains("handoff.claimed"));
    let mut s = stuck();
    s.usage(10);
    s.prompt(PromptOf::Person);
    assert!(saves(&mut s, 3, Some(MARK)).contains("handoff.claimed"));
}

#[test]
fn a_file_another_step_or_nothing_known_is_no_standstill() {
    for mark in [
        Some(Mark { files: 1, ..MARK }),
        Some(Mark { tree: 2, ..MARK }),
        Some(Mark { next: 8, ..MARK }),
        None,
    ] {
        let mut s = Session::busy(claude());
        saves(&mut s, 1, Some(MARK));
        next_run(&mut s);
        assert!(saves(&mut s, 2, mark).contains("handoff.claimed"), "{mark:?}");
    }
}
