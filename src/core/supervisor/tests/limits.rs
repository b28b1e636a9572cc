//! Usage limits and API errors: reports, waits and resuming.

use super::super::limit_and_error_wait::LimitKind;
use super::*;
use crate::core::config::AfterError;

const HOUR: u64 = 3_600_000;

fn limit(s: &mut Session, left: u64, resets: u64) -> String {
    let conversation = s.current();
    s.feed(Event::UsageLimit { conversation, limit: LimitKind::FiveHour, left, resets })
}

fn fails(s: &mut Session, error: &str) -> String {
    let of = s.current();
    s.hook(HookFacts { error: Some(error.to_owned()), ..hook(HookEvent::StopFailure, &of) })
}

/// A turn that ended at a limit of one hour.
fn limited(policy: Policy) -> Session {
    let mut s = Session::busy(policy);
    fails(&mut s, "rate_limit");
    assert_eq!(limit(&mut s, HOUR, 7), "limit.reached, notice, keep handoffs");
    s.status(SessionsFileStatus::Idle);
    s.screen(PromptBox::Empty);
    s
}

fn standing(s: &Session) -> (SessionState, Option<String>) {
    let standing = s.sup.state();
    (standing.state, standing.waiting_for)
}

fn blocked_on(what: &str) -> (SessionState, Option<String>) {
    (SessionState::Blocked, Some(what.to_owned()))
}

#[test]
fn a_limit_is_known_by_its_words() {
    let of = |text| LimitKind::named_in(text);
    assert_eq!(of("You've hit your session limit · resets 11:19am (UTC)"), Some(LimitKind::FiveHour));
    assert_eq!(of("You've hit your weekly limit · resets Nov 22"), Some(LimitKind::SevenDay));
    for other in
        ["API Error: Request rejected (429) · You've hit your weekly limit", "You've hit your head", ""]
    {
        assert_eq!(of(other), None);
    }
}

#[test]
fn the_line_may_come_before_the_hook() {
    let mut s = Session::busy(claude());
    assert_eq!(limit(&mut s, HOUR, 7), "limit.reached, notice, keep handoffs");
    assert_eq!(fails(&mut s, "rate_limit"), "let 3 go", "nothing is said twice");
    assert_eq!(standing(&s), blocked_on("usage_limit"));
}

#[test]
fn claude_goes_on_by_itself() {
    let mut s = limited(claude());
    assert_eq!(standing(&s), blocked_on("usage_limit"));
    assert_eq!(s.pass(HOUR + 100_000), "", "it is given time");
    assert_eq!(s.prompt(PromptOf::Claude), "limit.over, let 4 go");
    assert!(s.sentences().contains("Claude continued by itself"));
    assert_eq!(s.pass(HOUR), "");
}

#[test]
fn after_the_reset_it_is_known_when_hopty_continues() {
    let mut s = limited(claude());
    assert_eq!(s.sup.continues_after_limit_at(s.now), None, "the limit stands");
    s.pass(HOUR + 1000);
    let at = s.sup.continues_after_limit_at(s.now).unwrap();
    assert!(at > s.now && at <= s.now.after(120_000), "{at:?}");
    s.prompt(PromptOf::Claude);
    assert_eq!(s.sup.continues_after_limit_at(s.now), None);
}

#[test]
fn hopty_goes_on_where_claude_has_not_and_once() {
    let mut s = limited(claude());
    assert_eq!(s.pass(HOUR + 119_000), "");
    assert_eq!(s.pass(2000), "hold keys, go on after Limit");
    assert_eq!(s.screen(PromptBox::Ours), "enter");
    assert_eq!(s.prompt(PromptOf::Sent), "release keys, submitted, continue.submitted, let 4 go");
    assert_eq!(s.sup.limit(), None);
}

#[test]
fn without_proof_it_is_not_tried_again() {
    let mut s = limited(claude());
    s.pass(HOUR + 121_000);
    s.screen(PromptBox::Ours);
    s.screen(PromptBox::Empty);
    let words = s.pass(40_000);
    assert!(words.ends_with("release keys, unknown, continue.cancelled, notice"), "{words}");
    assert_eq!(s.pass(HOUR), "");
}

#[test]
fn a_draft_or_a_dialog_is_waited_for() {
    let mut policy = claude();
    policy.config.delivery.answer_dialogs = vec![];
    let mut s = limited(policy);
    s.screen(PromptBox::Draft);
    assert_eq!(s.pass(2 * HOUR), "");
    s.dialog("limit");
    assert_eq!(s.pass(HOUR), "");
    assert_eq!(s.screen(PromptBox::Empty), "hold keys, go on after Limit");
}

#[test]
fn the_limits_dialog_is_answered_unless_that_is_configured_away() {
    let mut s = limited(claude());
    assert_eq!(s.dialog("limit"), "", "not in its first moment");
    assert_eq!(s.pass(2000), "key for limit");
    assert_eq!(s.pass(2000), "", "one key");
    let mut policy = claude();
    policy.config.delivery.answer_dialogs = vec![];
    let mut s = limited(policy);
    s.dialog("limit");
    assert_eq!(s.pass(HOUR / 2), "");
}

#[test]
fn the_limits_dialog_is_a_persons_who_is_there() {
    let typed = || {
        let mut s = Session::busy(claude());
        s.key(KeyClass::Typed);
        fails(&mut s, "rate_limit");
        limit(&mut s, HOUR, 7);
        s.status(SessionsFileStatus::Idle);
        s.dialog("limit");
        s
    };
    let mut s = typed();
    assert_eq!(s.pass(299_000), "");
    assert_eq!(s.pass(2000), "key for limit", "nobody typed for five minutes");
    let mut s = typed();
    s.after(1000);
    assert_eq!(s.key(KeyClass::Typed), "continue.cancelled");
    assert_eq!(s.pass(HOUR / 2), "", "somebody has seen it");
}

#[test]
fn a_person_who_types_has_it() {
    let mut s = limited(claude());
    assert_eq!(s.key(KeyClass::Report), "");
    assert_eq!(s.key(KeyClass::Typed), "continue.cancelled");
    assert_eq!(standing(&s), blocked_on("usage_limit"), "the limit is there all the same");
    assert_eq!(s.pass(HOUR), "limit.over");
    assert_eq!(standing(&s).0, SessionState::Idle);
}

#[test]
fn no_hand_over_begins_before_it_is_over() {
    let mut s = Session::busy(claude());
    s.usage(85);
    assert_eq!(s.phase(), "waiting");
    assert_eq!(fails(&mut s, "rate_limit"), "let 3 go", "it may be a limit");
    limit(&mut s, HOUR, 7);
    s.status(SessionsFileStatus::Idle);
    s.screen(PromptBox::Empty);
    assert_eq!(s.pass(HOUR + 119_000), "");
    assert!(
        s.pass(2000).starts_with("limit.over, safe_point.reached"),
        "the hand-over is how the work goes on"
    );
    let mut s = limited(claude());
    s.restart(Asker::Person);
    assert_eq!(s.phase(), "waiting");
    let mut s = limited(claude());
    s.restart_now(Asker::Person);
    assert_eq!(s.phase(), "saving", "whoever wants it at once has it");
}

#[test]
fn a_prompt_from_outside_is_not_wasted_on_it_but_a_command_may_help() {
    let mut s = limited(claude());
    s.feed(Event::Submit { id: 77, command: false });
    assert_eq!(s.pass(400), "refused");
    s.feed(Event::Submit { id: 78, command: true });
    assert!(s.count("paste") == 1, "{}", s.words());
}

/// The person has tried again: one notice for one limit.
#[test]
fn the_same_limit_again_is_no_news() {
    let mut s = limited(claude());
    assert_eq!(s.prompt(PromptOf::Person), "limit.over, let 4 go");
    fails(&mut s, "rate_limit");
    assert_eq!(limit(&mut s, HOUR, 7), "limit.reached");
    assert_eq!(standing(&s), blocked_on("usage_limit"));
}

#[test]
fn a_machine_that_slept_does_not_wait_longer() {
    let mut s = limited(claude());
    assert_eq!(limit(&mut s, 0, 7), "");
    assert_eq!(s.pass(121_000), "hold keys, go on after Limit");
}

#[test]
fn a_crash_meanwhile_resumes_and_waits_on() {
    let mut s = limited(claude());
    s.end(ProcessEnd::Exited(1));
    s.tick();
    s.exec();
    s.boot(StartSource::Resume);
    assert_eq!(standing(&s), blocked_on("usage_limit"));
    assert_eq!(s.pass(HOUR + 122_000), "hold keys, go on after Limit");
}

#[test]
fn another_conversation_has_nothing_to_go_on_with() {
    let mut s = limited(claude());
    s.session_start(StartSource::Clear, Some(conversation(77)));
    assert_eq!(standing(&s).0, SessionState::Idle);
    assert_eq!(s.pass(2 * HOUR), "");
}

#[test]
fn an_error_is_tried_again_with_growing_pauses_for_as_long_as_an_outage_lasts() {
    let mut s = Session::busy(claude());
    for pause in [1, 2, 4, 8, 16, 30, 30, 30].map(|minutes| minutes * 60_000) {
        let words = fails(&mut s, "server_error");
        assert!(words.contains("turn.failed"), "{words}");
        s.status(SessionsFileStatus::Idle);
        s.screen(PromptBox::Empty);
        assert_eq!(standing(&s), blocked_on("api_error"));
        assert_eq!(s.pass(pause - 1), "");
        assert_eq!(s.pass(1), "hold keys, go on after Error");
        s.screen(PromptBox::Ours);
        s.prompt(PromptOf::Sent);
    }
    let words = fails(&mut s, "server_error");
    assert!(words.ends_with("turn.failed"), "it was told before: {words}");
    assert!(s.sentences().contains("goes on trying, next in 30 min"), "{}", s.sentences());
    assert_eq!(s.key(KeyClass::Typed), "continue.cancelled");
}

#[test]
fn the_pause_before_a_retry_is_as_configured() {
    let mut policy = claude();
    policy.config.recovery.retry_pause = DurationMs::from_secs(5);
    let mut s = Session::busy(policy);
    fails(&mut s, "server_error");
    s.status(SessionsFileStatus::Idle);
    s.screen(PromptBox::Empty);
    assert_eq!(s.pass(4_999), "");
    assert_eq!(s.pass(1), "hold keys, go on after Error");
}

#[test]
fn after_a_limit_hopty_goes_on_when_it_is_told_and_not_at_all_where_that_is_off() {
    let mut policy = claude();
    policy.config.recovery.limit_wait = DurationMs::from_secs(10);
    let mut s = limited(policy.clone());
    assert_eq!(s.pass(HOUR + 9_999), "");
    assert_eq!(s.pass(1), "hold keys, go on after Limit");
    policy.config.recovery.after_limit = false;
    assert!(!limited(policy).pass(2 * HOUR).contains("go on"));
}

#[test]
fn a_turn_that_ends_well_a_while_after_an_error_begins_the_count_anew() {
    let mut s = Session::busy(claude());
    for _ in 0..20 {
        fails(&mut s, "server_error");
        assert!(s.sentences().contains("retries in 60 s"));
        s.status(SessionsFileStatus::Idle);
        s.screen(PromptBox::Empty);
        s.pass(60_000);
        s.screen(PromptBox::Ours);
        s.prompt(PromptOf::Sent);
        s.after(600_000);
        s.call(HookEvent::Stop);
    }
}

#[test]
fn who_is_there_is_left_alone() {
    let mut s = Session::busy(claude());
    fails(&mut s, "server_error");
    s.status(SessionsFileStatus::Idle);
    s.screen(PromptBox::Empty);
    assert_eq!(s.key(KeyClass::Typed), "continue.cancelled");
    assert_eq!(standing(&s).0, SessionState::Idle);
    assert_eq!(s.pass(HOUR), "");
    let mut s = Session::busy(claude());
    s.key(KeyClass::Typed);
    s.after(50_000);
    fails(&mut s, "server_error");
    assert!(
        s.sentences().contains("(the server failed or could not be reached). hopty leaves the retry to you")
    );
    s.status(SessionsFileStatus::Idle);
    s.screen(PromptBox::Empty);
    assert_eq!(standing(&s).0, SessionState::Idle);
    assert_eq!(s.sup.turn_error(), Some("server_error"), "a person sees why nothing goes on");
    assert_eq!(s.pass(HOUR), "");
    s.prompt(PromptOf::Person);
    assert_eq!(s.sup.turn_error(), None, "the next turn has begun");
    let mut always = claude();
    always.config.recovery.after_error = AfterError::Always;
    let mut s = Session::busy(always);
    s.key(KeyClass::Typed);
    fails(&mut s, "server_error");
    assert!(s.sentences().contains("retries in 60 s"));
}

#[test]
fn a_refusal_without_a_reset_is_an_error_like_others() {
    let mut s = Session::busy(claude());
    assert_eq!(fails(&mut s, "rate_limit"), "let 3 go");
    assert_eq!(s.pass(2000), "turn.failed, notice");
    s.status(SessionsFileStatus::Idle);
    s.screen(PromptBox::Empty);
    assert_eq!(s.pass(58_000), "hold keys, go on after Error");
}

#[test]
fn a_failed_login_is_never_tried_again() {
    let mut s = Session::busy(claude());
    assert!(fails(&mut s, "authentication_failed").ends_with("turn.failed, notice"));
    s.status(SessionsFileStatus::Idle);
    s.screen(PromptBox::Empty);
    assert_eq!(standing(&s), blocked_on("login"));
    assert_eq!(s.pass(24 * HOUR), "");
    assert_eq!(s.prompt(PromptOf::Person), "let 4 go");
}

/// A program that Claude started can draw the limit's dialog over a permission prompt, and add the line of a
/// limit to the transcript.
#[test]
fn the_limits_dialog_gets_no_key_while_claude_may_be_asking() {
    let drawn = |s: &mut Session| {
        limit(s, HOUR, 7);
        s.dialog("limit");
        s.pass(HOUR / 2)
    };
    let asks = |s: &mut Session| {
        let of = s.current();
        s.hook(HookFacts { asks: Some("permission".to_owned()), ..hook(HookEvent::PermissionRequest, &of) })
    };
    let waits = |s: &mut Session, what: &str| {
        let waiting_for = Some(what.to_owned());
        s.feed(Event::Status { status: SessionsFileStatus::Waiting, conversation: None, waiting_for })
    };
    let mut s = Session::busy(claude());
    asks(&mut s);
    assert_eq!(drawn(&mut s), "", "the turn runs");
    assert_eq!(fails(&mut s, "rate_limit"), "let 4 go");
    assert_eq!(s.pass(HOUR / 4), "", "whoever reports an error has answered no permission prompt");
    for what in ["permission", "question"] {
        let mut s = Session::busy(claude());
        fails(&mut s, "rate_limit");
        waits(&mut s, what);
        assert_eq!(drawn(&mut s), "", "{what}");
    }
    let mut s = Session::busy(claude());
    fails(&mut s, "rate_limit");
    waits(&mut s, "dialog");
    assert_eq!(
        drawn(&mut s).matches("key for limit").count(),
        4,
        "the file speaks of the limit's own dialog"
    );
    let mut s = Session::busy(Policy { rules: 6, ..claude() });
    asks(&mut s);
    assert!(
        drawn(&mut s).starts_with("key for limit"),
        "the journals of older rules are replayed as they were"
    );
}

/// It can report an error, rewrite the sessions file and draw an empty prompt box as well.
#[test]
fn no_prompt_to_continue_is_typed_behind_a_permission_that_nobody_has_given() {
    let asked = |agent, rules| {
        let mut s = Session::busy(Policy { rules, ..claude() });
        let of = s.current();
        let asks = Some("permission".to_owned());
        s.hook(HookFacts { asks, agent, ..hook(HookEvent::PermissionRequest, &of) });
        fails(&mut s, "overloaded");
        s.status(SessionsFileStatus::Idle);
        s.screen(PromptBox::Empty);
        s
    };
    for agent in [false, true] {
        let mut s = asked(agent, RULES);
        assert_eq!(s.pass(HOUR), "continue.cancelled, notice");
        assert!(s.all.iter().all(|action| !word(action).starts_with("go on")), "nothing was typed");
    }
    assert_eq!(asked(false, 6).pass(60_000), "hold keys, go on after Error");
    let mut s = asked(false, RULES);
    s.prompt(PromptOf::Person);
    s.call(HookEvent::PostToolBatch);
    fails(&mut s, "overloaded");
    s.status(SessionsFileStatus::Idle);
    assert_eq!(s.pass(120_000), "hold keys, go on after Error", "the person has answered");
    let of = s.current();
    s.hook(HookFacts { agent: true, ..hook(HookEvent::PermissionRequest, &of) });
    assert_eq!(s.screen(PromptBox::Ours), "", "no Enter since a sub-agent asks");
}
