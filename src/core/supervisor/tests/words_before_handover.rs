//! What Claude is asked for and kept from before a hand-over: its note, and its compaction.

use super::*;
use crate::core::config::{RestartMode, SummaryMode};

impl Session {
    fn compacts(&mut self, auto: bool) -> String {
        let call = HookFacts { auto, ..hook(HookEvent::PreCompact, &self.current()) };
        self.hook(call)
    }

    fn told(&self) -> usize {
        self.all.iter().filter(|action| word(action).starts_with("tell Note")).count()
    }
}

fn talking() -> Policy {
    Policy { notes: true, ..claude() }
}

#[test]
fn claude_is_asked_for_its_own_words_once_at_the_end_of_a_turn() {
    let mut s = Session::busy(talking());
    s.usage(82);
    let words = s.call(HookEvent::Stop);
    assert!(words.ends_with("tell Note 3"), "{words}");
    assert_eq!(s.phase(), "waiting");
    let words = s.call(HookEvent::Stop);
    assert!(words.contains("safe_point.reached"), "{words}");
    assert_eq!(s.told(), 1);
}

#[test]
fn in_a_loop_it_is_asked_when_the_turn_was_waited_for_and_the_next_end_is_the_safe_point() {
    let mut s = Session::busy(talking());
    s.usage(82);
    s.sup.policy.rules = 1;
    assert!(s.call(HookEvent::PostToolBatch).ends_with("let 3 go"));
    s.after(120_000);
    let words = s.call(HookEvent::PostToolBatch);
    assert!(words.ends_with("tell Note 4"), "{words}");
    // It uses a tool anyway: it gets its time, and no more.
    assert!(s.call(HookEvent::PostToolBatch).ends_with("let 5 go"));
    s.after(90_000);
    assert!(s.call(HookEvent::PostToolBatch).contains("safe_point.reached"));
}

#[test]
fn in_a_loop_it_is_asked_at_the_level_and_goes_on_until_the_next_one() {
    let mut s = Session::busy(talking());
    s.usage(74);
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 3, let 3 go");
    s.usage(83);
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 4, tell NoteInLoop 4");
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 5, let 5 go", "once");
    s.usage(91);
    assert!(s.call(HookEvent::PostToolBatch).contains("safe_point.reached"));
    // Without time for it nothing is asked.
    let mut s = Session::busy(talking());
    s.usage(91);
    assert!(s.call(HookEvent::PostToolBatch).contains("safe_point.reached"));
    assert_eq!(s.told(), 0);
}

#[test]
fn nobody_is_asked_who_has_no_room_or_no_time() {
    let off = {
        let mut policy = talking();
        policy.config.handoff.summary = SummaryMode::Off;
        policy
    };
    for (policy, percent) in [(talking(), 92), (off, 82), (claude(), 82)] {
        let mut s = Session::busy(policy);
        s.usage(percent);
        assert!(s.call(HookEvent::Stop).contains("safe_point.reached"));
        assert_eq!(s.told(), 0);
    }
    let mut manual = talking();
    manual.config.restart.mode = RestartMode::Manual;
    let mut s = Session::busy(manual);
    s.usage(92);
    s.restart(Asker::Person);
    assert!(s.call(HookEvent::Stop).contains("safe_point.reached"), "the answer might not fit any more");
    let mut s = Session::busy(talking());
    s.restart_now(Asker::Descendant);
    s.call(HookEvent::PostToolBatch);
    assert_eq!(s.told(), 0, "at once means at once");
}

#[test]
fn a_window_that_fills_up_meanwhile_is_not_waited_in() {
    let mut s = Session::busy(talking());
    s.usage(82);
    assert!(s.call(HookEvent::Stop).contains("tell Note"));
    s.usage(92);
    assert!(s.call(HookEvent::PostToolBatch).contains("safe_point.reached"));
}

#[test]
fn item_011_a_full_conversation_is_handed_over_and_not_compacted() {
    let mut s = Session::busy(claude());
    s.usage(82);
    assert_eq!(s.compacts(true), "block 3");
    assert!(
        s.call(HookEvent::PostToolBatch).contains("safe_point.reached"),
        "the next tool boundary will do"
    );
}

#[test]
fn item_005_where_claude_would_compact_it_is_saved_and_handed_over() {
    let mut s = Session::busy(claude());
    s.usage(50);
    assert_eq!(s.compacts(true), "restart.requested, wait, block 3");
    assert!(s.sentences().contains("about to compact"), "{}", s.sentences());
    assert!(s.call(HookEvent::PostToolBatch).contains("safe_point.reached"));
}

#[test]
fn a_person_may_compact_and_whoever_wants_no_hand_over_gets_none() {
    let mut s = Session::busy(claude());
    s.usage(82);
    assert_eq!(s.compacts(false), "let 3 go");
    for mode in [RestartMode::Ask, RestartMode::Manual] {
        let mut policy = claude();
        policy.config.restart.mode = mode;
        let mut s = Session::busy(policy);
        s.usage(82);
        assert_eq!(s.compacts(true), "let 3 go");
    }
}

#[test]
fn compaction_is_not_held_off_for_ever_and_ends_the_wish() {
    let mut s = Session::busy(claude());
    s.usage(82);
    for n in 3..8 {
        assert_eq!(s.compacts(true), format!("block {n}"));
    }
    assert_eq!(s.compacts(true), "let 8 go");
    let words = s.call(HookEvent::PostCompact);
    assert!(words.contains("restart.cancelled"), "{words}");
    assert_eq!(s.phase(), "running");
}

#[test]
fn a_request_for_a_note_that_nobody_read_is_made_again() {
    let mut s = Session::busy(talking());
    s.usage(83);
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 3, tell NoteInLoop 3");
    s.hook_gone();
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 4, tell NoteInLoop 4");
    assert_eq!(s.feed(Event::HookGone { id: 3 }), "", "an older one");
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 5, let 5 go", "once");
    // Claude writes no note: its turn is over.
    let mut s = Session::busy(talking());
    s.usage(82);
    assert_eq!(s.call(HookEvent::Stop), "hold 3, tell Note 3");
    s.status(SessionsFileStatus::Idle);
    assert_eq!(s.hook_gone(), "safe_point.reached, hold keys, check settings");
    let mut s = Session::busy(talking());
    s.usage(82);
    s.call(HookEvent::Stop);
    s.status(SessionsFileStatus::Idle);
    s.after(10);
    s.prompt(PromptOf::Claude);
    assert_eq!(s.feed(Event::HookGone { id: 3 }), "", "another turn has begun");
}
