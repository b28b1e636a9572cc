//! Configuration keys that other tests leave at their default: other values have an effect.

use super::*;
use crate::core::config::{RestartMode, Threshold};

fn span(ms: u64) -> DurationMs {
    DurationMs::from_ms(ms)
}

fn with(set: impl FnOnce(&mut Config)) -> Policy {
    let mut policy = claude();
    set(&mut policy.config);
    policy
}

#[test]
fn each_level_is_where_it_is_configured() {
    let with_level = |word: &str, percent| {
        with(|c| {
            let level = match word {
                "ask" => &mut c.context.ask,
                "warn" => &mut c.context.warn,
                "handoff" => &mut c.context.handoff,
                _ => &mut c.context.hard,
            };
            *level = Threshold::percent(percent);
        })
    };
    for word in ["ask", "warn", "handoff", "hard"] {
        let mut s = Session::busy(with_level(word, 30.0));
        assert_eq!(s.usage(29), "");
        s.usage(30);
        assert!(s.sentences().contains(&format!("level {word}")), "{}", s.sentences());
    }
}

#[test]
fn a_question_stands_as_long_as_ask_timeout() {
    let mut s = Session::idle(with(|c| {
        c.restart.mode = RestartMode::Ask;
        c.restart.ask_timeout = span(45_000);
    }));
    s.usage(85);
    assert_eq!(s.pass(44_999), "");
    assert!(s.pass(1).starts_with("restart.requested"), "{}", s.words());
}

#[test]
fn a_draft_postpones_as_long_as_draft_wait() {
    let mut s = Session::idle(with(|c| c.restart.draft_wait = span(7_000)));
    s.screen(PromptBox::Draft);
    s.restart(Asker::Descendant);
    assert_eq!(s.pass(6_999), "");
    assert_eq!(s.pass(1), "safe_point.reached, hold keys, check settings");
}

#[test]
fn the_end_of_a_turn_is_waited_for_as_long_as_turn_wait() {
    let mut s = Session::busy(with(|c| c.restart.turn_wait = span(30_000)));
    s.usage(85);
    s.after(29_999);
    assert!(!s.call(HookEvent::PostToolBatch).contains("safe_point.reached"));
    s.after(1);
    assert!(s.call(HookEvent::PostToolBatch).contains("safe_point.reached"), "{}", s.words());
}

#[test]
fn work_in_the_background_is_waited_for_as_long_as_work_wait() {
    let mut s = Session::idle(with(|c| c.restart.work_wait = span(9_000)));
    s.status(SessionsFileStatus::Shell);
    s.restart(Asker::Person);
    assert_eq!(s.pass(8_999), "");
    assert!(s.pass(1).starts_with("safe_point.reached"), "{}", s.words());
}

#[test]
fn the_prompt_box_is_waited_for_as_long_as_ready_timeout() {
    let mut s = Session::delivering(with(|c| c.delivery.ready_timeout = span(7_000)));
    assert_eq!(s.pass(6_999), "");
    assert!(!s.pass(1).is_empty(), "hopty gives up");
    let mut s = Session::delivering(claude());
    assert_eq!(s.pass(7_000), "", "the default is longer");
}

#[test]
fn a_hook_is_held_as_long_as_hooks_hold() {
    let saves_after_20_s = |hold_ms| {
        let mut s = Session::busy(with(|c| {
            c.hooks.hold = span(hold_ms);
            c.restart.turn_wait = span(0);
            c.restart.work_wait = span(3_600_000);
        }));
        s.usage(85);
        let call = HookFacts { started: 1, ..hook(HookEvent::PostToolBatch, &s.current()) };
        assert_eq!(s.hook(call), "hold 3");
        s.pass(20_000).contains("safe_point.reached")
    };
    assert_eq!([15_000, 60_000].map(saves_after_20_s), [true, false]);
}
