//! Claude without hopty's hooks, or with fewer: disabled hooks, hooks that never run, old versions.

use super::*;
use crate::core::supervisor::action::DecisionKind as K;
use crate::core::supervisor::next_handover::HandoverWhen;

fn without() -> Policy {
    Policy { hooks: false, ..claude() }
}

fn turn(s: &mut Session, over: bool) -> String {
    let conversation = s.current();
    s.feed(if over { Event::TurnEnded { conversation } } else { Event::TurnBegan { conversation } })
}

#[test]
fn the_transcript_tells_when_a_turn_is_over() {
    let mut s = Session::started(without());
    s.status(SessionsFileStatus::Idle);
    assert!(s.sup.turns_by_transcript(s.now));
    turn(&mut s, false);
    s.status(SessionsFileStatus::Busy);
    s.usage(95);
    assert_eq!(s.phase(), "waiting");
    assert_eq!(s.pass(200_000), "", "a turn is never cut where no hook can hold it");
    s.status(SessionsFileStatus::Idle);
    assert_eq!(turn(&mut s, true), "safe_point.reached, hold keys, check settings");
}

#[test]
fn the_next_turn_is_not_taken_for_background_work_of_the_last() {
    let mut s = Session::started(without());
    turn(&mut s, false);
    turn(&mut s, true);
    turn(&mut s, false);
    s.status(SessionsFileStatus::Busy);
    s.usage(95);
    assert_eq!(s.pass(600_000), "");
    assert_eq!(s.phase(), "waiting");
}

#[test]
fn hooks_that_do_not_come_are_waited_for_and_then_told_once() {
    let mut s = Session::started(claude());
    assert!(!s.sup.turns_by_transcript(s.now), "the first call may be on its way");
    s.after(20_000);
    assert!(s.sup.turns_by_transcript(s.now));
    turn(&mut s, false);
    assert!(s.decided(K::Degraded), "{}", s.words());
    assert_eq!(turn(&mut s, true), "");
    s.call(HookEvent::UserPromptSubmit);
    assert!(!s.sup.turns_by_transcript(s.now), "a person switched them on again");
}

#[test]
fn what_is_missing_is_said_when_it_is_known() {
    let mut s = Session::started(without());
    assert_eq!(s.feed(Event::Limited { what: "Hooks are switched off".to_owned() }), "degraded");
    assert_eq!(s.sentences(), "Hooks are switched off.");
    assert_eq!(turn(&mut s, false), "", "and not again");
}

#[test]
fn an_old_claude_ends_its_turn_after_the_tool_that_runs() {
    let mut s = Session::started(claude());
    s.session_start(StartSource::Startup, None);
    s.prompt(PromptOf::Person);
    assert_eq!(s.call(HookEvent::PostToolUse), "let 3 go");
    s.usage(95);
    assert_eq!(s.call(HookEvent::PostToolUse), "stop turn 4");
    assert!(s.sup.turn_is_cut() && s.sup.turns_by_transcript(s.now));
    assert_eq!(
        s.call(HookEvent::PostToolUse),
        "let 5 go",
        "once is enough for tools that run at the same time"
    );
    assert_eq!(s.phase(), "waiting", "their results are not written yet");
    assert_eq!(turn(&mut s, true), "safe_point.reached, hold keys, check settings");
    assert!(!s.sup.turn_is_cut());
}

#[test]
fn an_old_claude_at_the_lower_level_may_finish_its_turn() {
    let mut s = Session::started(claude());
    s.session_start(StartSource::Startup, None);
    s.prompt(PromptOf::Person);
    s.usage(82);
    assert_eq!(s.call(HookEvent::PostToolUse), "let 3 go");
    assert_eq!(s.call(HookEvent::Stop), "hold 4, safe_point.reached, hold keys, check settings");
}

#[test]
fn a_new_prompt_forgets_that_the_last_turn_was_cut() {
    let mut s = Session::started(claude());
    s.session_start(StartSource::Startup, None);
    s.prompt(PromptOf::Person);
    s.usage(95);
    s.call(HookEvent::PostToolUse);
    s.prompt(PromptOf::Person);
    assert!(!s.sup.turn_is_cut());
    assert_eq!(turn(&mut s, true), "", "that end is of the turn before");
    assert_eq!(s.call(HookEvent::PostToolUse), "stop turn 5");
}

#[test]
fn where_claude_can_write_nothing_no_hand_over_is_begun_or_promised() {
    let why = "Claude can run no hooks (/h/.claude: Permission denied)".to_owned();
    let mut s = Session::started(Policy { no_handover: Some(why.clone()), ..without() });
    assert_eq!(s.usage(95), "level.crossed");
    let next = s.sup.next_handover(s.now).unwrap();
    assert_eq!((next.when, next.why), (HandoverWhen::Off, why));
    assert_eq!(s.restart(Asker::Person), "refused");
    let signal = RestartSignal::Conversation { conversation: s.current(), dir: None };
    assert_eq!(s.signal_file(signal, 1), "restart.ignored");
    assert_eq!(s.phase(), "running");
}

#[test]
fn a_hand_over_is_held_where_nothing_tells_when_a_turn_ends() {
    let mut s = Session::started(claude());
    s.usage(95);
    let next = |s: &Session| s.sup.next_handover(s.now).unwrap().when;
    assert_eq!((s.phase(), next(&s)), ("waiting", HandoverWhen::Now), "the first call may be on its way");
    s.after(10_000);
    assert_eq!(next(&s), HandoverWhen::Held);
    s.call(HookEvent::UserPromptSubmit);
    assert_eq!(next(&s), HandoverWhen::Tools);
}
