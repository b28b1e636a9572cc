//! Modes `ask` and `manual`: what a person is asked over level `ask`, and the effect of the answer.

use super::*;
use crate::core::config::{AskDefault, RestartMode};
use crate::core::supervisor::handover_question::AskAnswer;

fn asking() -> Policy {
    let mut policy = Policy { notes: true, ..claude() };
    policy.config.restart.mode = RestartMode::Ask;
    policy.config.handoff.summary = crate::core::config::SummaryMode::Off;
    policy
}

impl Session {
    /// Above level `ask`, and Claude was told to ask.
    fn put() -> Self {
        let mut s = Session::idle(asking());
        assert_eq!(s.usage(62), "level.crossed, notice");
        assert_eq!(s.prompt(PromptOf::Person), "tell Ask { percent: 62, snooze: DurationMs(300000) } 2");
        s.status(SessionsFileStatus::Busy);
        s
    }

    fn answered(&mut self, answer: AskAnswer) -> String {
        let call = HookFacts { answered: Some(answer), ..hook(HookEvent::PostToolBatch, &self.current()) };
        self.hook(call)
    }
}

#[test]
fn mode_manual_only_says_it() {
    let mut policy = claude();
    policy.config.restart.mode = RestartMode::Manual;
    let mut s = Session::busy(policy);
    assert_eq!(s.usage(95), "level.crossed");
}

#[test]
fn without_an_answer_it_acts_as_configured() {
    let mut s = Session::idle(asking());
    assert_eq!(s.usage(85), "level.crossed, notice");
    assert_eq!(
        s.tick(),
        "restart.requested, wait, safe_point.reached, hold keys, check settings",
        "nobody answered"
    );
    assert_eq!(s.now, Stamp(620_000));
    let mut policy = asking();
    policy.config.restart.ask_default = AskDefault::Nothing;
    let mut s = Session::idle(policy);
    assert_eq!(s.usage(85), "level.crossed, notice");
    assert_eq!(s.sup.next_deadline(), None);
    assert!(s.prompt(PromptOf::Person).starts_with("tell Ask"), "the question is put");
    s.pass(86_400_000);
    assert_eq!(s.count("restart.requested"), 0, "nothing ends it but an answer");
    assert!(s.answered(AskAnswer::Yes).starts_with("restart.requested, wait"), "it stands");
}

/// A turn that starts below `ask` and fills the window leaves no moment to ask.
#[test]
fn in_the_middle_of_a_turn_level_hard_does_not_wait_to_be_asked() {
    let mut s = Session::busy(asking());
    assert_eq!(s.usage(85), "level.crossed, notice");
    assert!(s.usage(92).starts_with("level.crossed, restart.requested, wait"), "{}", s.sentences());
    let mut s = Session::idle(asking());
    assert_eq!(
        s.usage(92),
        "level.crossed, notice",
        "no request is on its way, and the next prompt carries the question"
    );
    assert!(s.prompt(PromptOf::Person).starts_with("tell Ask"));
    let mut s = Session::put();
    assert_eq!(s.usage(92), "level.crossed", "it is being asked");
    let mut policy = asking();
    policy.config.restart.ask_default = AskDefault::Nothing;
    assert_eq!(Session::busy(policy).usage(92), "level.crossed, notice");
}

#[test]
fn yes_hands_over_at_once() {
    let mut s = Session::put();
    let words = s.answered(AskAnswer::Yes);
    assert!(words.starts_with("restart.requested, wait") && words.contains("safe_point.reached"), "{words}");
    assert!(s.sentences().contains("You agreed to a hand-over"));
}

#[test]
fn item_105_snooze_is_five_minutes_and_dismiss_the_conversation() {
    let mut s = Session::put();
    assert_eq!(s.answered(AskAnswer::Snooze), "restart.ignored, keep Snooze, hold 3, let 3 go");
    assert_eq!(s.prompt(PromptOf::Person), "let 4 go");
    assert_eq!(s.tick(), "notice");
    assert_eq!(s.now, Stamp(320_000));
    assert!(s.prompt(PromptOf::Person).starts_with("tell Ask"));
    assert_eq!(s.answered(AskAnswer::Dismiss), "restart.ignored, keep Dismiss, hold 6, let 6 go");
    s.usage(95);
    assert!(!s.decided(DecisionKind::RestartRequested));
    assert_eq!(s.prompt(PromptOf::Person), "let 7 go");
    assert_eq!(s.sup.next_deadline(), None);
}

#[test]
fn it_is_asked_once_at_a_time_and_only_with_a_persons_prompt() {
    let mut s = Session::put();
    assert_eq!(s.prompt(PromptOf::Person), "let 3 go", "it is being asked");
    let mut s = Session::idle(asking());
    s.usage(62);
    for of in [PromptOf::Claude, PromptOf::Sent] {
        assert!(!s.prompt(of).starts_with("tell"), "nobody is there");
    }
    assert!(s.prompt(PromptOf::Person).starts_with("tell Ask"));
}

#[test]
fn item_116_a_question_that_nobody_sees_does_not_stand_for_ever() {
    let mut s = Session::put();
    let call =
        HookFacts { asks: Some("question".to_owned()), ..hook(HookEvent::PermissionRequest, &s.current()) };
    s.hook(call);
    s.status(SessionsFileStatus::Waiting);
    let words = s.tick();
    assert!(words.starts_with("restart.requested, wait, safe_point.reached"), "{words}");
}

#[test]
fn an_answer_counts_for_its_own_conversation_only() {
    let mut s = Session::idle(asking());
    s.feed(Event::AskWas { answer: AskAnswer::Dismiss, left: 0 });
    assert_eq!(s.usage(62), "level.crossed");
    s.session_start(StartSource::Clear, Some(conversation(77)));
    assert_eq!(s.usage(62), "level.crossed, notice");
    let mut s = Session::idle(asking());
    s.feed(Event::AskWas { answer: AskAnswer::Snooze, left: 1000 });
    assert_eq!(s.usage(62), "level.crossed");
    assert_eq!(s.tick(), "notice");
    assert_eq!(s.now, Stamp(21_000));
}

#[test]
fn a_window_that_is_emptier_again_is_nothing_to_ask_about() {
    let mut s = Session::idle(asking());
    s.usage(62);
    s.usage(10);
    assert!(!s.prompt(PromptOf::Person).starts_with("tell"));
    s.status(SessionsFileStatus::Busy);
    assert_eq!(s.sup.next_deadline(), None);
}

#[test]
fn a_question_that_nobody_read_goes_with_the_next_prompt() {
    let mut s = Session::put();
    assert_eq!(s.hook_gone(), "");
    s.call(HookEvent::Stop);
    assert!(s.prompt(PromptOf::Person).starts_with("tell Ask"), "{}", s.words());
    assert_eq!(s.prompt(PromptOf::Person), "let 5 go", "it is being asked");
}
