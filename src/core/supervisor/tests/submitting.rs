//! `send --submit`: pasted into an empty box, entered only if it is alone there, and answered by its outcome.

use super::*;

const ID: u64 = 77;

fn submit(s: &mut Session) -> String {
    s.feed(Event::Submit { id: ID, command: false })
}

/// An idle Claude with the text pasted into its box.
fn pasted() -> Session {
    let mut s = Session::idle(claude());
    assert_eq!(submit(&mut s), "hold keys, paste");
    s
}

/// The same after Enter.
fn entered() -> Session {
    let mut s = pasted();
    assert_eq!(s.screen(PromptBox::Ours), "enter");
    s
}

#[test]
fn a_hook_with_its_text_is_the_proof() {
    let mut s = entered();
    assert_eq!(s.prompt(PromptOf::Sent), "release keys, submitted, let 2 go");
    assert_eq!(s.sup.state().state, SessionState::Busy);
    assert_eq!(s.pass(60_000), "", "and nothing is left of it");
}

#[test]
fn somebody_elses_prompt_proves_nothing() {
    let mut s = entered();
    s.prompt(PromptOf::Person);
    s.screen(PromptBox::Empty);
    assert_eq!(s.pass(40_000), "release keys, unknown");
}

#[test]
fn an_enter_that_was_lost_is_sent_again_where_it_is_justified() {
    let mut s = entered();
    assert_eq!(s.pass(450), "enter, enter");
    s.dialog("permission");
    assert_eq!(s.pass(450), "", "never into a dialog");
    s.screen(PromptBox::Draft);
    assert_eq!(s.pass(450), "");
}

#[test]
fn a_busy_claude_queues_it() {
    let mut s = Session::busy(claude());
    assert_eq!(submit(&mut s), "hold keys, paste");
    assert_eq!(s.screen(PromptBox::Ours), "enter");
    assert_eq!(s.feed(Event::Taken { queued: true }), "release keys, queued");
    let mut s = Session::busy(claude());
    submit(&mut s);
    s.screen(PromptBox::Ours);
    assert_eq!(s.prompt(PromptOf::Sent).split(", ").nth(1), Some("queued"));
}

/// The hook gave up before the host read its call, so that only the transcript has the prompt.
#[test]
fn the_end_of_a_turn_that_no_hook_began_comes_after_the_answer() {
    let ways: [fn(&mut Session); 3] = [
        |_| {},
        // The whole turn is seen before the prompt is found in the transcript.
        |s| {
            s.status(SessionsFileStatus::Busy);
            s.status(SessionsFileStatus::Idle);
        },
        |s| drop(s.call(HookEvent::Stop)),
    ];
    for before in ways {
        let mut s = entered();
        before(&mut s);
        assert_eq!(s.feed(Event::Taken { queued: false }), "release keys, submitted");
        let answered = s.sup.seq();
        assert_eq!(s.sup.state().state, SessionState::Busy, "it may still run");
        s.pass(6000);
        assert_eq!(s.sup.state().state, SessionState::Idle);
        assert!(s.sup.entered().1 > answered, "a wait for idle since the answer ends");
    }
    let mut s = entered();
    s.feed(Event::Taken { queued: false });
    let answered = s.sup.seq();
    s.call(HookEvent::Stop);
    assert!(s.sup.state().state == SessionState::Idle && s.sup.entered().1 > answered);
    // Under earlier rules the wait never ended.
    let mut s = entered();
    s.sup.policy.rules = 3;
    s.feed(Event::Taken { queued: false });
    let answered = s.sup.seq();
    s.pass(6000);
    assert!(s.sup.state().state == SessionState::Idle && s.sup.entered().1 < answered);
}

#[test]
fn a_dialog_of_a_turn_that_no_hook_began_stays() {
    let mut s = entered();
    let current = s.current();
    s.hook(HookFacts { asks: Some("Bash".to_owned()), ..hook(HookEvent::PermissionRequest, &current) });
    assert_eq!(s.sup.state().state, SessionState::Blocked);
    s.feed(Event::Taken { queued: false });
    assert_eq!(s.sup.state().state, SessionState::Blocked);
}

/// Enter might answer a dialog that is about to be drawn, so hopty waits for the end of the turn.
#[test]
fn an_old_claude_gets_no_enter_while_it_works() {
    let old = || Policy { submit_when_idle: true, ..claude() };
    let mut s = Session::busy(old());
    assert_eq!(submit(&mut s), "");
    assert_eq!(s.pass(20_000), "");
    s.call(HookEvent::Stop);
    assert_eq!(s.status(SessionsFileStatus::Idle), "hold keys, paste");
    assert_eq!(s.screen(PromptBox::Ours), "enter");
    let mut s = Session::busy(old());
    submit(&mut s);
    assert_eq!(s.pass(31_000), "refused");
    let mut s = Session::idle(old());
    assert_eq!(submit(&mut s), "hold keys, paste");
    s.prompt(PromptOf::Person);
    assert_eq!(s.screen(PromptBox::Ours), "", "a turn has begun meanwhile");
}

/// The turn was interrupted, which no hook reports: hooks say busy, and Claude was idle when Enter was
/// pressed.
#[test]
fn after_an_interrupt_it_is_submitted() {
    let mut s = Session::busy(claude());
    s.status(SessionsFileStatus::Idle);
    s.pass(2000);
    submit(&mut s);
    s.screen(PromptBox::Ours);
    assert_eq!(s.prompt(PromptOf::Sent).split(", ").nth(1), Some("submitted"));
}

#[test]
fn a_turn_that_ends_meanwhile_leaves_nothing_to_queue() {
    let mut s = Session::busy(claude());
    submit(&mut s);
    s.screen(PromptBox::Ours);
    s.call(HookEvent::Stop);
    assert_eq!(s.prompt(PromptOf::Sent).split(", ").nth(1), Some("submitted"));
}

#[test]
fn what_is_in_the_way_refuses_when_it_stays() {
    let way: [fn(&mut Session); 4] = [
        |s| drop(s.dialog("trust")),
        |s| drop(s.screen(PromptBox::Draft)),
        |s| drop(s.status(SessionsFileStatus::Waiting)),
        |s| drop(s.end(ProcessEnd::Stopped(Signal(20)))),
    ];
    for block in way {
        let mut s = Session::idle(claude());
        block(&mut s);
        assert_eq!(submit(&mut s), "");
        assert_eq!(s.pass(299), "");
        assert_eq!(s.pass(1), "refused");
        assert_eq!(s.pass(60_000), "");
    }
    // A box that still shows the previous prompt is empty a moment later.
    let mut s = Session::idle(claude());
    s.screen(PromptBox::Draft);
    submit(&mut s);
    s.after(100);
    assert_eq!(s.screen(PromptBox::Empty), "hold keys, paste");
}

#[test]
fn who_types_is_waited_for() {
    let mut s = Session::idle(claude());
    s.key(KeyClass::Typed);
    assert_eq!(submit(&mut s), "");
    assert_eq!(s.pass(599), "");
    assert_eq!(s.pass(1), "hold keys, paste");
}

#[test]
fn ctrl_c_takes_it_back() {
    let mut s = pasted();
    assert_eq!(s.ctrl_c(), "ctrl-c, release keys, refused");
    let mut s = entered();
    assert_eq!(s.ctrl_c(), "ctrl-c, release keys, unknown");
}

#[test]
fn a_dialog_can_be_answered_although_keys_are_kept() {
    let mut s = pasted();
    assert_eq!(s.dialog("permission"), "pass keys");
    assert_eq!(s.screen(PromptBox::Ours), "enter, release keys");
    assert_eq!(s.prompt(PromptOf::Sent).split(", ").next(), Some("submitted"));
}

#[test]
fn a_hand_over_comes_first_or_after_it() {
    let mut s = Session::stopping(claude());
    assert_eq!(submit(&mut s), "", "keys are kept: it waits");
    assert!(!s.pass(3000).contains("paste"), "also while Claude takes its time to end");
    let mut s = pasted();
    assert!(!s.restart(Asker::Person).contains("check settings"), "half a prompt in the box is waited for");
    s.screen(PromptBox::Ours);
    assert!(s.prompt(PromptOf::Sent).contains("submitted"));
}

#[test]
fn an_end_is_told() {
    let mut s = Session::idle(claude());
    s.screen(PromptBox::None);
    submit(&mut s);
    assert!(s.end(ProcessEnd::Exited(0)).contains("already ended"));
    let mut s = entered();
    assert!(s.end(ProcessEnd::Exited(0)).contains("unknown"));
    assert_eq!(submit(&mut s), "already ended");
}

#[test]
fn a_command_is_not_waited_for() {
    let mut s = Session::idle(claude());
    s.feed(Event::Submit { id: ID, command: true });
    s.screen(PromptBox::Ours);
    assert_eq!(s.screen(PromptBox::Empty), "release keys, unknown");
}

#[test]
fn one_at_a_time() {
    let mut s = pasted();
    assert_eq!(s.feed(Event::Submit { id: ID + 1, command: false }), "refused");
    assert_eq!(s.screen(PromptBox::Ours), "enter");
}

/// Claude keeps earlier keys and puts them into the prompt box.
#[test]
fn a_dialog_takes_keys_once_it_has_stood() {
    let mut s = Session::busy(claude());
    assert_eq!(s.sup.dialog_takes_keys_at(), None);
    s.dialog("permission");
    let at = s.sup.dialog_takes_keys_at().unwrap();
    let (entered, _) = s.sup.entered();
    assert_eq!(at, entered.after(700));
    s.pass(300);
    s.dialog("permission");
    assert_eq!(s.sup.dialog_takes_keys_at(), Some(at), "it is the same dialog");
    s.dialog("question");
    assert!(s.sup.dialog_takes_keys_at() >= Some(at.after(300)), "another one was drawn");
    s.screen(PromptBox::Empty);
    assert_eq!(s.sup.dialog_takes_keys_at(), None);
}
