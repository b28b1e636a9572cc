//! `hopty back`: to the conversation before a hand-over.

use super::*;

/// A conversation that was handed over once; its successor waits for a prompt.
fn handed_over() -> Session {
    let mut s = Session::delivering(claude());
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    s.feed(Event::Answered { conversation: conversation(2) });
    s.call(HookEvent::Stop);
    s.after(20_000);
    s
}

/// [`Session::delivering`] after a person has talked with Claude.
fn delivering() -> Session {
    let mut s = Session::idle(claude());
    s.prompt(PromptOf::Person);
    s.call(HookEvent::Stop);
    s.after(20_000);
    s.restart(Asker::Person);
    s.saved(1);
    s.end(TERM_CODE);
    s.exec();
    assert_eq!(s.phase(), "delivering");
    s
}

/// [`handed_over`] after a person has talked with Claude.
fn spoken_and_handed_over() -> Session {
    let mut s = delivering();
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    s.feed(Event::Answered { conversation: conversation(2) });
    s.call(HookEvent::Stop);
    s.status(SessionsFileStatus::Idle);
    s.after(20_000);
    s
}

fn back(s: &mut Session, now: bool) -> String {
    s.feed(Event::Back { id: 901, now })
}

fn resumed(s: &Session) -> Option<ConversationId> {
    s.last.iter().find_map(|a| match a {
        Action::Spawn { start: StartKind::Resume, conversation, .. } => conversation.clone(),
        _ => None,
    })
}

#[test]
fn an_idle_session_goes_back_at_once() {
    let mut s = spoken_and_handed_over();
    assert_eq!(s.sup.conversation_before(), Some(&conversation(1)));
    assert_eq!(back(&mut s, false), "back, restart.requested, hold keys, collect, SIGTERM Child, stop.sent");
    assert_eq!(s.end(TERM_CODE), "run.ended, reap, clear, spawn 3 Resume");
    assert_eq!(resumed(&s), Some(conversation(1)));
    assert_eq!(s.exec(), "run.spawned, conversation.changed, notice, follow, release keys draft");
    let told = format!(
        "Back in conversation {}; to return to the newer one: `hopty --resume {}`",
        conversation(1),
        conversation(2)
    );
    assert!(s.sentences().contains(&told), "{}", s.sentences());
    assert!(
        s.last.iter().any(|a| matches!(a, Action::Follow { anew: true, .. })),
        "neither its tasks nor its goal are the newer one's"
    );
    assert_eq!(s.phase(), "running");
    assert_eq!((s.sup.conversation_before(), s.current()), (None, conversation(1)));
    assert_eq!(back(&mut s, false), "refused", "there is nothing before it");
}

#[test]
fn a_busy_one_only_when_a_person_does_not_want_to_wait() {
    let mut s = spoken_and_handed_over();
    s.prompt(PromptOf::Person);
    s.status(SessionsFileStatus::Busy);
    assert_eq!(back(&mut s, false), "busy");
    assert_eq!(s.phase(), "running");
    assert_eq!(back(&mut s, true), "back, restart.requested, hold keys, collect, SIGTERM Child, stop.sent");
}

#[test]
fn work_in_the_background_is_not_cut_off_unasked() {
    let mut s = spoken_and_handed_over();
    s.prompt(PromptOf::Person);
    let stop = HookFacts { background: 1, ..hook(HookEvent::Stop, &conversation(2)) };
    s.hook(stop);
    s.after(20_000);
    assert_eq!(back(&mut s, false), "busy");
}

#[test]
fn while_a_hand_over_is_under_way_nothing_goes_back() {
    let mut s = spoken_and_handed_over();
    s.restart(Asker::Person);
    assert_eq!(s.phase(), "saving");
    assert_eq!(back(&mut s, true), "refused");
    s.saved(2);
    assert_eq!(back(&mut s, true), "refused");
    s.end(TERM_CODE);
    s.exec();
    assert_eq!((s.phase(), back(&mut s, true).as_str()), ("delivering", "refused"));
    let mut s = Session::idle(plain());
    assert_eq!(back(&mut s, true), "refused");
}

#[test]
fn a_hand_over_that_is_waited_for_is_dropped() {
    let mut s = spoken_and_handed_over();
    s.usage(10);
    s.prompt(PromptOf::Person);
    s.usage(85);
    assert_eq!(s.phase(), "waiting");
    assert!(back(&mut s, true).starts_with("back, restart.cancelled, notice, restart.requested, "));
}

/// A level that handed the conversation over must not do so again, whatever its first figure is.
#[test]
fn the_level_that_handed_it_over_does_not_do_so_again() {
    let mut s = spoken_and_handed_over();
    back(&mut s, false);
    s.end(TERM_CODE);
    s.exec();
    s.boot(StartSource::Resume);
    assert_eq!(s.usage(82), "level.crossed, restart.ignored, notice");
    assert!(
        s.sentences().contains("you went back to this conversation, which is at level handoff"),
        "{}",
        s.sentences()
    );
    s.prompt(PromptOf::Person);
    assert_eq!(s.usage(84), "");
    s.call(HookEvent::Stop);
    assert_eq!(s.phase(), "running");
    s.prompt(PromptOf::Person);
    assert_eq!(s.usage(93), "level.crossed, restart.requested, wait", "a higher level does");
}

/// Claude before 2.1.200 resumes a conversation under a new id.
#[test]
fn it_does_not_under_a_new_id_either() {
    let mut s = spoken_and_handed_over();
    back(&mut s, false);
    s.end(TERM_CODE);
    s.exec();
    s.session_start(StartSource::Resume, Some(conversation(77)));
    s.status(SessionsFileStatus::Idle);
    assert_eq!(s.current(), conversation(77));
    assert_eq!(s.usage(82), "level.crossed, restart.ignored, notice");
}

#[test]
fn each_time_it_goes_one_further_back() {
    let mut s = spoken_and_handed_over();
    s.restart(Asker::Person);
    s.saved(2);
    s.end(TERM_CODE);
    s.exec();
    let third = s.current();
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    s.feed(Event::Answered { conversation: third.clone() });
    s.call(HookEvent::Stop);
    s.status(SessionsFileStatus::Idle);
    s.after(20_000);
    for (n, newer) in [(2, third), (1, conversation(2))] {
        assert!(back(&mut s, false).starts_with("back, "));
        s.end(TERM_CODE);
        assert_eq!(resumed(&s), Some(conversation(n)));
        s.exec();
        assert!(s.sentences().contains(&format!("`hopty --resume {newer}`")), "{}", s.sentences());
        s.boot(StartSource::Resume);
        s.after(20_000);
    }
    assert_eq!(back(&mut s, false), "refused");
}

/// It would be offered at the end of the session, and loaded by the next one.
#[test]
fn a_handoff_that_never_arrived_is_put_aside() {
    let mut s = delivering();
    s.boot(StartSource::Startup);
    s.ctrl_c();
    assert_eq!((s.phase(), s.sup.active_handoff()), ("running", Some(&handoff(1))));
    s.after(20_000);
    s.status(SessionsFileStatus::Idle);
    s.after(20_000);
    assert!(back(&mut s, false).starts_with("back, "), "{:?}", s.last);
    s.end(TERM_CODE);
    assert!(s.last.iter().any(|a| matches!(a, Action::Clear { handoff: of } if *of == handoff(1))));
    assert_eq!(s.sup.active_handoff(), None);
}

#[test]
fn a_conversation_in_which_nothing_was_said_is_none_to_go_back_to() {
    let s = handed_over();
    assert_eq!(s.sup.conversation_before(), None);
}

#[test]
fn a_hand_over_that_is_broken_off_names_the_old_conversation() {
    let old = format!("; to resume the old conversation: `hopty --resume {}`", conversation(1));
    let mut s = delivering();
    s.boot(StartSource::Startup);
    s.ctrl_c();
    assert!(s.sentences().contains(&old), "Ctrl+C while it is delivered: {}", s.sentences());
    let mut s = delivering();
    while s.phase() == "delivering" {
        s.tick();
    }
    assert!(s.sentences().contains(&old), "a prompt that does not arrive: {}", s.sentences());
    s.end(ProcessEnd::Exited(0));
    assert!(s.sentences().contains(&old), "and an end without a word in the new one: {}", s.sentences());
    let mut s = Session::idle(claude());
    s.prompt(PromptOf::Person);
    s.call(HookEvent::Stop);
    s.after(20_000);
    s.restart(Asker::Person);
    s.saved(1);
    let run = s.sup.run();
    let mut stopped =
        Session { sup: s.sup.clone(), now: s.now, last: Vec::new(), all: Vec::new(), hooks: 9, ids: 9 };
    stopped.ctrl_c();
    stopped.end(TERM_CODE);
    assert!(stopped.sentences().contains(&old), "Ctrl+C while it is stopped: {}", stopped.sentences());
    s.end(TERM_CODE);
    s.feed(Event::CouldNotStart { run: run + 1, code: 127, gone: None });
    assert!(s.sentences().contains(&old), "a Claude that does not start: {}", s.sentences());
    let mut s = delivering();
    s.end(ProcessEnd::Exited(1));
    s.tick();
    s.exec();
    s.end(ProcessEnd::Exited(1));
    assert_eq!(s.cause(), Some(EndCause::CrashLoop));
    assert!(s.sentences().contains(&old), "a Claude that dies while it is delivered: {}", s.sentences());
    // Once the new conversation has its prompt, its end is its own.
    let mut s = spoken_and_handed_over();
    s.end(ProcessEnd::Exited(0));
    assert!(!s.sentences().contains("the old conversation"), "{}", s.sentences());
}
