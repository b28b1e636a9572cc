//! Prompts that Claude has but has not started: the first one in its arguments, and those in its queue.

use super::*;

fn state(s: &Session) -> SessionState {
    s.sup.state().state
}

#[test]
fn until_the_first_prompt_has_begun_its_turn_a_session_is_starting() {
    let mut s = Session::given(claude(), CarryMethod::Typed);
    s.boot(StartSource::Startup);
    assert_eq!(state(&s), SessionState::Starting, "its files say idle before Claude comes to the prompt");
    s.prompt(PromptOf::Person);
    assert_eq!(state(&s), SessionState::Busy);
    s.call(HookEvent::Stop);
    assert_eq!(state(&s), SessionState::Idle);
    // Its hook was lost.
    let mut s = Session::given(claude(), CarryMethod::Typed);
    s.boot(StartSource::Startup);
    s.status(SessionsFileStatus::Busy);
    s.status(SessionsFileStatus::Idle);
    assert_eq!(state(&s), SessionState::Idle);
}

#[test]
fn a_first_prompt_that_claude_never_takes_is_not_waited_for_for_ever() {
    let mut s = Session::given(claude(), CarryMethod::Argument);
    s.boot(StartSource::Startup);
    s.pass(59_999);
    assert_eq!(state(&s), SessionState::Starting);
    s.pass(1);
    assert_eq!(state(&s), SessionState::Idle);
    let mut s = Session::given(claude(), CarryMethod::Argument);
    s.boot(StartSource::Startup);
    s.ctrl_c();
    assert_eq!(state(&s), SessionState::Idle, "the person has stopped it");
}

#[test]
fn with_a_prompt_in_its_queue_claude_stays_busy_at_the_end_of_a_turn() {
    let queued = |prompts| Event::Queued { prompts, carries: None };
    let mut s = Session::busy(claude());
    s.feed(queued(1));
    s.call(HookEvent::Stop);
    s.status(SessionsFileStatus::Idle);
    assert_eq!(state(&s), SessionState::Busy);
    s.feed(queued(0));
    assert_eq!(state(&s), SessionState::Busy, "its turn has begun");
    s.call(HookEvent::Stop);
    assert_eq!(state(&s), SessionState::Idle);
    let mut s = Session::busy(claude());
    s.feed(queued(1));
    s.call(HookEvent::Stop);
    s.status(SessionsFileStatus::Idle);
    s.pass(5_000);
    assert_eq!(state(&s), SessionState::Idle, "Claude does not begin it");
}

/// `hopty --resume ID "/review"`: it cannot be carried to another conversation.
#[test]
fn a_hand_over_waits_for_the_command_that_claude_was_started_with() {
    let resumed = || {
        let mut s = Session::new(claude());
        s.feed(Event::Start {
            conversation: Some(conversation(1)),
            next: conversation(2),
            handoff: None,
            fresh: false,
            prompt: None,
            command: true,
            before: None,
        });
        s.exec();
        s.boot(StartSource::Resume);
        s.usage(40);
        assert_eq!(state(&s), SessionState::Starting);
        s.restart(Asker::Person);
        s
    };
    let mut s = resumed();
    s.pass(4_000);
    assert_eq!(s.count("save"), 0);
    s.prompt(PromptOf::Person);
    assert_eq!(state(&s), SessionState::Busy);
    s.pass(4_000);
    assert_eq!(s.count("save"), 0, "its turn goes on");
    let mut s = resumed();
    s.pass(5_000);
    assert_eq!(s.count("save"), 1, "it was one that begins no turn");
}

/// `hopty --resume ID "PROMPT"`: the conversation has something to hand over, and the prompt is not in it.
#[test]
fn a_first_prompt_that_no_run_has_taken_goes_along_with_the_handoff() {
    for way in [CarryMethod::Typed, CarryMethod::Argument] {
        let resumed = || {
            let mut s = Session::given(claude(), way);
            s.boot(StartSource::Resume);
            s.usage(40);
            s.after(20_000);
            s
        };
        let mut s = resumed();
        assert!(s.restart(Asker::Person).ends_with("save"), "{}", s.words());
        let words = s.saved(1);
        assert_eq!(
            words, "handoff.saved, handoff.claimed, take argument, collect, SIGTERM Child, stop.sent",
            "{way:?}"
        );
        assert!(s.end(TERM_CODE).ends_with("spawn 2 Fresh"));
        let argument = s.last.iter().any(|action| matches!(action, Action::Spawn { prompt: true, .. }));
        assert_eq!(argument, way == CarryMethod::Argument);
        s.exec();
        assert!(s.session_start(StartSource::Startup, None).contains("brief"));
        let typed = s.screen(PromptBox::Empty);
        assert_eq!(typed, if argument { "" } else { "paste prompt" });
        assert!(s.prompt(PromptOf::Ours).starts_with("delivery.submitted"), "{}", s.words());
        let mut s = resumed();
        s.prompt(PromptOf::Person);
        s.call(HookEvent::Stop);
        s.restart(Asker::Person);
        s.saved(1);
        assert_eq!(s.count("take argument"), 0, "the run has taken it");
    }
}
