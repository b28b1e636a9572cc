//! The whole chain, from a full context to a consumed handoff.

use super::*;

/// From the saved handoff to the consumed one; the same for every start.
fn rest_of_the_chain(s: &mut Session) {
    s.after(60);
    assert_eq!(s.end(TERM_CODE), "run.ended, reap, spawn 2 Fresh");
    s.after(10);
    assert_eq!(s.exec(), "run.spawned, follow, delivery.started");
    assert_eq!(s.current(), conversation(2));
    s.after(300);
    assert_eq!(s.session_start(StartSource::Startup, None), "follow, brief 2");
    assert_eq!(s.status(SessionsFileStatus::Idle), "");
    s.after(100);
    assert_eq!(s.screen(PromptBox::Empty), "paste brief=true");
    s.after(100);
    assert_eq!(s.screen(PromptBox::Ours), "enter");
    s.after(50);
    assert_eq!(s.prompt(PromptOf::Ours), "delivery.submitted, release keys draft, let 3 go");
    assert_eq!(s.phase(), "running");
    assert_eq!(s.sup.active_handoff(), Some(&handoff(1)), "not consumed before an answer");
    s.after(900);
    assert_eq!(
        s.feed(Event::Answered { conversation: conversation(1) }),
        "",
        "another conversation's answer"
    );
    assert_eq!(s.feed(Event::Answered { conversation: conversation(2) }), "consume, handoff.consumed");
    assert_eq!(s.sup.active_handoff(), None);
    assert_eq!((s.sup.restarts(), s.sup.run()), (1, 2));
    assert_eq!(s.feed(Event::Answered { conversation: conversation(2) }), "", "consumed once");
}

/// Renumbers the hooks, so that the second run of every history begins with hook 2.
fn second_run(s: &mut Session) {
    s.hooks = 1;
}

#[test]
fn item_004_after_a_tool_call_the_hard_level_saves_and_starts_afresh() {
    let mut s = Session::busy(claude());
    assert_eq!(s.call_with_lines(HookEvent::PostToolBatch), "hold 3, await Assistant 3");
    s.after(20);
    assert_eq!(s.usage(93), "level.crossed, restart.requested, wait", "the lines are not reported yet");
    assert_eq!(s.lines(), "safe_point.reached, hold keys, check settings");
    s.after(5);
    assert_eq!(s.settings(), "await Results 3");
    s.after(80);
    assert_eq!(s.lines(), "save");
    s.after(10);
    assert_eq!(s.saved(1), "handoff.saved, handoff.claimed, stop turn 3");
    assert_eq!(s.hook_gone(), "", "the answered call's connection closes");
    s.after(110);
    assert_eq!(s.status(SessionsFileStatus::Idle), "collect, SIGTERM Child, stop.sent");
    second_run(&mut s);
    rest_of_the_chain(&mut s);
}

#[test]
fn level_handoff_waits_for_the_turn_to_end() {
    let mut s = Session::busy(claude());
    assert_eq!(s.usage(82), "level.crossed, restart.requested, wait");
    assert!(s.sentences().contains("Context is at 82 % of 200000 tokens; hand-over requested."));
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 3, let 3 go", "a tool boundary will not do yet");
    s.after(5_000);
    assert_eq!(s.call_with_lines(HookEvent::Stop), "hold 4, await Assistant 4");
    assert_eq!(s.lines(), "safe_point.reached, hold keys, check settings");
    assert_eq!(s.settings(), "save", "no results to wait for at the end of a turn");
    assert_eq!(s.saved(1), "handoff.saved, handoff.claimed, let 4 go");
    assert_eq!(s.tick(), "collect, SIGTERM Child, stop.sent", "the sessions file never said idle");
    second_run(&mut s);
    rest_of_the_chain(&mut s);
}

#[test]
fn level_handoff_takes_a_tool_boundary_when_the_turn_is_long() {
    let mut s = Session::busy(claude());
    s.usage(82);
    s.after(120_000);
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 3, safe_point.reached, hold keys, check settings");
}

#[test]
fn a_queued_prompt_is_never_let_out() {
    let mut s = Session::busy(claude());
    s.feed(Event::Queued { prompts: 1, carries: None });
    s.usage(95);
    s.call(HookEvent::PostToolBatch);
    s.settings();
    s.lines();
    assert_eq!(
        s.saved(1),
        "handoff.saved, handoff.claimed, collect, SIGTERM Child, stop.sent",
        "the hook stays held"
    );
    assert_eq!(s.end(TERM_CODE), "run.ended, reap, spawn 2 Fresh");
}

#[test]
fn a_queued_prompt_that_nobody_knew_of_is_held_as_well() {
    let mut s = Session::busy(claude());
    s.usage(85);
    s.call(HookEvent::Stop);
    s.settings();
    assert_eq!(s.saved(1), "handoff.saved, handoff.claimed, let 3 go");
    assert_eq!(s.prompt(PromptOf::Person), "hold 4, collect, SIGTERM Child, stop.sent");
    s.after(10);
    assert_eq!(s.prompt(PromptOf::Person), "hold 5");
}

#[test]
fn item_069_there_is_a_second_restart_counted_from_the_new_conversation() {
    let mut s = Session::delivering(claude());
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    s.feed(Event::Answered { conversation: conversation(2) });
    s.status(SessionsFileStatus::Busy);
    assert_eq!(s.usage(50), "");
    assert_eq!(s.usage(91), "level.crossed, restart.requested, wait");
    s.call(HookEvent::PostToolBatch);
    s.settings();
    s.lines();
    s.saved(2);
    s.status(SessionsFileStatus::Idle);
    assert_eq!(s.end(TERM_CODE), "run.ended, reap, spawn 3 Fresh");
    assert_eq!(s.sup.active_handoff(), Some(&handoff(2)));
    s.exec();
    assert_eq!(s.boot(StartSource::Startup), "follow, brief 5; ; paste brief=true");
}

#[test]
fn a_session_that_begins_from_a_handoff_delivers_it() {
    let mut s = Session::new(claude());
    let start = Event::Start {
        conversation: Some(conversation(1)),
        next: conversation(2),
        handoff: Some(handoff(7)),
        fresh: true,
        prompt: None,
        command: false,
        before: None,
    };
    s.expect(start, "session.started, spawn 1 First");
    assert_eq!(s.exec(), "run.spawned, follow, delivery.started, hold keys");
    assert_eq!(s.boot(StartSource::Startup), "follow, brief 1; ; paste brief=true");
    assert_eq!(s.screen(PromptBox::Ours), "enter");
    assert_eq!(s.prompt(PromptOf::Ours), "delivery.submitted, release keys, let 2 go");
}

#[test]
fn a_busy_word_does_not_end_the_settling() {
    let mut s = Session::busy(claude());
    s.usage(85);
    s.call(HookEvent::Stop);
    s.settings();
    s.saved(1);
    assert_eq!(s.status(SessionsFileStatus::Busy), "");
    assert_eq!(s.status(SessionsFileStatus::Idle), "collect, SIGTERM Child, stop.sent");
}

/// The state of the old run does not apply to the new one.
#[test]
fn a_new_run_begins_from_nothing() {
    let mut s = Session::busy(claude());
    let of = s.current();
    s.hook(HookFacts { started: 2, ..hook(HookEvent::PostToolBatch, &of) });
    s.feed(Event::Queued { prompts: 2, carries: None });
    s.usage(85);
    s.restart_now(Asker::Person);
    s.saved(1);
    s.status(SessionsFileStatus::Waiting);
    s.dialog("trust");
    s.end(TERM_CODE);
    assert_eq!(s.exec(), "run.spawned, follow, delivery.started");
    s.session_start(StartSource::Startup, None);
    assert_eq!(s.screen(PromptBox::Empty), "paste brief=true", "no dialog, nobody is waited for");
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    assert_eq!(s.usage(10), "", "it begins below every level");
    assert_eq!(s.usage(85), "level.crossed, restart.requested, wait", "fired once for each conversation");
    s.restart_now(Asker::Descendant);
    let batch = s.call(HookEvent::PostToolBatch);
    assert_eq!(batch, "hold 6, safe_point.reached, hold keys, check settings", "no background work");
    s.settings();
    s.lines();
    assert!(s.saved(2).ends_with("stop turn 6"), "no queued prompt");
}

fn confirmed() -> Policy {
    Policy { sessions_file: true, ..claude() }
}

impl Session {
    fn file_names(&mut self, status: SessionsFileStatus, of: &ConversationId) -> String {
        self.feed(Event::Status { status, conversation: Some(of.clone()), waiting_for: None })
    }
}

#[test]
fn a_hook_alone_changes_no_conversation() {
    let mut s = Session::idle(confirmed());
    let (own, other) = (s.current(), conversation(66));
    s.file_names(SessionsFileStatus::Idle, &own);
    for source in [
        StartSource::Startup,
        StartSource::Clear,
        StartSource::Resume,
        StartSource::Compact,
        StartSource::Other,
    ] {
        let words = s.session_start(source, Some(other.clone()));
        assert!(words.starts_with("let ") && !words.contains("follow"), "{words}");
        for event in [HookEvent::UserPromptSubmit, HookEvent::Stop, HookEvent::PostToolBatch] {
            let words = s.hook(hook(event, &other));
            assert!(words.starts_with("let ") && !words.contains("hold"), "{words}");
        }
        assert_eq!(s.current(), own);
    }
    assert_eq!(s.file_names(SessionsFileStatus::Busy, &own), "");
}

#[test]
fn a_hook_and_the_sessions_file_change_it_in_either_order() {
    // `/clear`: the file is first.
    let mut s = Session::idle(confirmed());
    let other = conversation(66);
    assert_eq!(
        s.file_names(SessionsFileStatus::Idle, &other),
        "",
        "the file alone says nothing where hooks come"
    );
    assert!(
        s.session_start(StartSource::Clear, Some(other.clone())).starts_with("conversation.changed, follow")
    );
    assert_eq!(s.current(), other);
    // `/resume`: the hook is first.
    let third = conversation(67);
    assert!(!s.session_start(StartSource::Resume, Some(third.clone())).contains("follow"));
    assert_eq!(s.file_names(SessionsFileStatus::Busy, &other), "");
    assert_eq!(s.file_names(SessionsFileStatus::Idle, &third), "conversation.changed, follow");
    assert!(
        s.last.iter().any(|a| matches!(a, Action::Follow { anew: true, .. })),
        "a person began other work"
    );
    assert_eq!(s.current(), third);
}

#[test]
fn a_fork_is_followed_by_its_first_prompt() {
    // 2.1.197: SessionStart names the old conversation, the file the new one.
    let mut s = Session::idle(confirmed());
    let (old, new) = (conversation(66), conversation(67));
    s.file_names(SessionsFileStatus::Idle, &new);
    s.session_start(StartSource::Resume, Some(old));
    assert_ne!(s.current(), new);
    let words =
        s.hook(HookFacts { prompt: Some(PromptOf::Person), ..hook(HookEvent::UserPromptSubmit, &new) });
    assert!(words.starts_with("conversation.changed, follow"), "{words}");
    assert_eq!(s.current(), new);
}

#[test]
fn a_word_of_long_ago_is_not_taken_up() {
    let mut s = Session::idle(confirmed());
    let (own, other) = (s.current(), conversation(66));
    s.session_start(StartSource::Clear, Some(other.clone()));
    s.after(31_000);
    assert_eq!(s.file_names(SessionsFileStatus::Idle, &other), "");
    assert_eq!(s.current(), own);
}

#[test]
fn far_from_every_level_no_call_waits_for_lines() {
    let mut s = Session::busy(claude());
    s.usage(20);
    assert_eq!(s.call_with_lines(HookEvent::PostToolBatch), "hold 3, let 3 go");
    s.usage(34);
    assert_eq!(s.call_with_lines(HookEvent::PostToolBatch), "hold 4, let 4 go");
    assert_eq!(
        s.call_with_lines(HookEvent::PostToolBatch),
        "hold 5, await Assistant 5",
        "that figure is of the step before"
    );
    assert_eq!(s.lines(), "let 5 go");
    s.usage(36);
    assert_eq!(
        s.call_with_lines(HookEvent::PostToolBatch),
        "hold 6, await Assistant 6",
        "a step may add a quarter of the window"
    );
    assert_eq!(s.lines(), "let 6 go");
    s.usage(10);
    s.signal_file(named(1), 5);
    assert_eq!(s.call_with_lines(HookEvent::Stop), "hold 7, await Assistant 7", "somebody wants a hand-over");
}
