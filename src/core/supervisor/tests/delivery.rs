//! The continuation prompt: typed only when it can be proven.

use super::*;

/// A delivery whose text was pasted and is not visible yet.
fn pasted() -> Session {
    let mut s = Session::delivering(claude());
    s.after(500);
    let words = s.boot(StartSource::Startup);
    assert!(words.ends_with("paste brief=true"), "{words}");
    s.after(100);
    s
}

fn facts(prompt: PromptBox) -> ScreenFacts {
    ScreenFacts { prompt, paste: true, ..ScreenFacts::default() }
}

#[test]
fn nothing_is_typed_before_the_box_is_drawn_and_the_hook_was_heard() {
    let mut s = Session::delivering(claude());
    assert_eq!(s.feed(Event::Screen { facts: ScreenFacts { paste: false, ..facts(PromptBox::Empty) } }), "");
    assert_eq!(s.screen(PromptBox::None), "");
    assert_eq!(s.screen(PromptBox::Draft), "");
    assert_eq!(s.screen(PromptBox::Empty), "", "SessionStart may still come");
    s.after(1_000);
    assert_eq!(s.session_start(StartSource::Startup, None), "follow, brief 2, paste brief=true");
}

#[test]
fn a_hook_that_never_comes_is_waited_for_three_seconds() {
    let mut s = Session::delivering(claude());
    s.after(2_000);
    s.screen(PromptBox::Empty);
    let drawn = s.now;
    assert_eq!(s.tick(), "paste brief=false", "the prompt names the file to read");
    assert_eq!(s.now.since(drawn), 3_000);
}

#[test]
fn delivery_without_hooks_is_proven_by_the_transcript() {
    let mut policy = claude();
    policy.hooks = false;
    let mut s = Session::delivering_without_hooks(policy);
    assert_eq!(s.screen(PromptBox::Empty), "paste brief=false");
    assert_eq!(s.screen(PromptBox::Ours), "enter");
    assert_eq!(s.feed(Event::Prompted { conversation: conversation(1) }), "", "another conversation's");
    assert_eq!(
        s.feed(Event::Prompted { conversation: conversation(2) }),
        "delivery.submitted, release keys draft"
    );
    assert_eq!(s.feed(Event::Answered { conversation: conversation(2) }), "consume, handoff.consumed");
}

#[test]
fn an_enter_needs_all_of_its_reasons() {
    type Block = (&'static str, fn(&mut Session));
    let blocks: [Block; 7] = [
        ("an empty box", |s| drop(s.screen(PromptBox::Empty))),
        ("another text in the box", |s| drop(s.screen(PromptBox::Draft))),
        ("no box", |s| drop(s.screen(PromptBox::None))),
        ("unread bytes", |s| {
            s.feed(Event::Screen { facts: ScreenFacts { unread: true, ..facts(PromptBox::Ours) } });
        }),
        ("a dialog above our text", |s| {
            let dialog = Some("unknown".to_owned());
            s.feed(Event::Screen { facts: ScreenFacts { dialog, ..facts(PromptBox::Ours) } });
        }),
        ("Claude waits for a person", |s| {
            s.status(SessionsFileStatus::Waiting);
            s.screen(PromptBox::Ours);
        }),
        ("a turn runs", |s| {
            s.call(HookEvent::PreToolUse);
            s.screen(PromptBox::Ours);
        }),
    ];
    for (why, block) in blocks {
        let mut s = pasted();
        block(&mut s);
        s.pass(10_000);
        assert_eq!(s.count("enter"), 0, "{why}");
    }
    let mut s = pasted();
    assert_eq!(s.screen(PromptBox::Ours), "enter", "and with all of them it is pressed");
}

#[test]
fn item_062_a_session_that_waits_is_given_its_enter_again_and_not_for_ever() {
    let mut s = pasted();
    s.screen(PromptBox::Ours);
    assert_eq!(s.screen(PromptBox::Ours), "", "not before its time");
    assert_eq!(s.tick(), "enter");
    s.feed(Event::Screen { facts: ScreenFacts { unread: true, ..facts(PromptBox::Ours) } });
    assert_eq!(s.pass(5_000), "");
    assert_eq!(s.screen(PromptBox::Ours), "enter", "as soon as it can be justified again");
    s.pass(10_000);
    assert_eq!(s.count("enter"), 20, "enter_max");
    assert_eq!(s.pass(30_000), "delivery.failed, notice, release keys draft");
    assert_eq!(s.phase(), "running");
    assert_eq!(s.sup.active_handoff(), Some(&handoff(1)));
}

#[test]
fn time_that_is_over_gives_up_and_says_why() {
    let mut s = Session::delivering(claude());
    assert_eq!(s.tick(), "delivery.failed, notice, release keys draft");
    assert!(s.sentences().contains("Claude drew no prompt box in time. The handoff stays active."));
    let mut s = pasted();
    assert_eq!(s.tick(), "delivery.failed, notice, release keys draft");
    assert!(s.sentences().contains("did not appear in the prompt box"));
}

#[test]
fn a_prompt_that_a_person_submits_later_counts() {
    let mut s = pasted();
    s.tick();
    assert_eq!(s.phase(), "running");
    assert_eq!(s.prompt(PromptOf::Ours), "delivery.submitted, let 3 go");
    assert_eq!(s.feed(Event::Answered { conversation: conversation(2) }), "consume, handoff.consumed");
}

#[test]
fn a_brief_that_no_session_start_could_take_comes_with_the_prompt() {
    let mut s = Session::delivering(claude());
    s.screen(PromptBox::Empty);
    s.pass(3_000);
    s.screen(PromptBox::Ours);
    assert_eq!(s.prompt(PromptOf::Ours), "delivery.submitted, release keys draft, brief 2");
    // The host was busy for so long that the hook gave up.
    let mut s = pasted();
    assert_eq!(s.feed(Event::HookGone { id: 2 }), "");
    assert_eq!(s.screen(PromptBox::Ours), "enter");
    assert_eq!(s.prompt(PromptOf::Ours), "delivery.submitted, release keys draft, brief 3");
    assert_eq!(s.feed(Event::HookGone { id: 2 }), "", "another call");
    assert_eq!(s.feed(Event::Answered { conversation: conversation(2) }), "consume, handoff.consumed");
    assert_eq!(s.feed(Event::HookGone { id: 3 }), "", "the answer says more");
}

#[test]
fn a_brief_that_was_lost_is_said_and_nothing_is_typed_again() {
    let mut s = Session::delivering(claude());
    s.screen(PromptBox::Empty);
    s.pass(3_000);
    s.screen(PromptBox::Ours);
    assert_eq!(s.prompt(PromptOf::Ours), "delivery.submitted, release keys draft, brief 2");
    assert_eq!(s.feed(Event::HookGone { id: 2 }), "delivery.failed, notice");
    assert!(s.sentences().contains("never received the handoff"));
    s.pass(100_000);
    assert_eq!(s.count("paste brief=false"), 1);
    assert_eq!(s.feed(Event::Answered { conversation: conversation(2) }), "", "it stays active");
    assert_eq!(s.sup.active_handoff(), Some(&handoff(1)));
}

/// `hopty --handoff "PROMPT"`.
#[test]
fn the_first_prompt_of_a_session_that_begins_from_a_handoff_begins_the_work() {
    let begin = || {
        let mut s = Session::new(claude());
        s.feed(Event::Start {
            conversation: Some(conversation(1)),
            next: conversation(2),
            handoff: Some(handoff(7)),
            fresh: false,
            prompt: Some(CarryMethod::Typed),
            command: false,
            before: None,
        });
        s.exec();
        s
    };
    let mut s = begin();
    assert_eq!(s.session_start(StartSource::Startup, None), "follow, brief 1");
    assert_eq!(s.prompt(PromptOf::Person), "delivery.submitted, release keys, let 2 go");
    let sentence = "Your prompt was submitted in the fresh conversation, with handoff HO-";
    assert!(s.sentences().starts_with(sentence), "{}", s.sentences());
    assert_eq!(s.feed(Event::Answered { conversation: conversation(1) }), "consume, handoff.consumed");
    assert_eq!(s.pass(600_000), "");
    // The box is empty before Claude begins the prompt.
    let mut s = begin();
    s.session_start(StartSource::Startup, None);
    assert_eq!(s.screen(PromptBox::Empty), "");
    assert!(s.prompt(PromptOf::Person).starts_with("delivery.submitted"), "{}", s.words());
    assert_eq!(s.count("paste brief=true"), 0);
    let mut s = begin();
    s.session_start(StartSource::Startup, None);
    s.screen(PromptBox::Empty);
    assert_eq!(s.pass(20_000), "paste brief=true", "it does not come to it");
    let mut s = begin();
    assert_eq!(s.prompt(PromptOf::Person), "let 1 go", "it has no brief: the work begins after it");
    assert_eq!(s.phase(), "delivering");
}

#[test]
fn only_the_first_startup_of_a_run_is_given_the_brief() {
    let mut s = Session::delivering(claude());
    assert_eq!(s.session_start(StartSource::Startup, None), "follow, brief 2");
    assert_eq!(s.session_start(StartSource::Startup, None), "follow, let 3 go");
    assert_eq!(s.session_start(StartSource::Compact, None), "follow, let 4 go");
    assert_eq!(
        s.session_start(StartSource::Clear, Some(conversation(8))),
        "conversation.changed, follow, let 5 go"
    );
    assert_eq!(s.screen(PromptBox::Empty), "paste brief=false", "this conversation never saw it");
    let mut s = Session::idle(claude());
    assert_eq!(
        s.session_start(StartSource::Startup, None),
        "follow, let 2 go",
        "nor is a run that delivers nothing"
    );
}

#[test]
fn a_dialog_lets_keys_through_and_delivery_goes_on_when_it_is_gone() {
    let mut s = Session::delivering(claude());
    s.session_start(StartSource::Startup, None);
    assert_eq!(s.dialog("trust"), "notice, pass keys", "what was typed before must not answer it");
    assert_eq!(s.dialog("trust"), "", "said once");
    assert_eq!(s.pass(120_000), "", "a person may be away for longer than the box is waited for");
    assert_eq!(s.screen(PromptBox::Empty), "hold keys, paste brief=true");
    s.screen(PromptBox::Ours);
    assert!(s.prompt(PromptOf::Ours).starts_with("delivery.submitted, release keys draft"));
}

#[test]
fn a_dialog_that_stays_ends_the_delivery_and_what_was_kept_comes_after_it() {
    let mut s = Session::delivering(claude());
    s.dialog("unknown");
    assert_eq!(s.tick(), "delivery.failed, notice");
    assert!(s.sentences().contains("a dialog (unknown) stayed open"));
    assert_eq!(s.screen(PromptBox::Empty), "release keys draft");
    assert_eq!(s.screen(PromptBox::Empty), "");
}

#[test]
fn a_dialog_after_the_paste_keeps_the_keys_again_when_it_is_gone() {
    let mut s = pasted();
    assert_eq!(s.dialog("update"), "notice, pass keys");
    assert_eq!(s.screen(PromptBox::Ours), "hold keys, enter");
}

#[test]
fn the_sessions_file_knows_of_a_dialog_that_no_rule_knows() {
    let mut s = Session::delivering(claude());
    s.session_start(StartSource::Startup, None);
    assert_eq!(s.status(SessionsFileStatus::Waiting), "notice, pass keys");
    assert_eq!(s.screen(PromptBox::Empty), "", "and nothing is typed into it");
    assert_eq!(s.status(SessionsFileStatus::Idle), "hold keys, paste brief=true");
}

#[test]
fn dialogs_are_answered_as_configured_once_each_and_a_permission_never() {
    let mut policy = claude();
    policy.config.delivery.answer_dialogs = ["trust", "update", "permission"].map(str::to_owned).to_vec();
    let mut s = Session::delivering(policy);
    assert_eq!(s.dialog("trust"), "key for trust, pass keys");
    assert_eq!(s.dialog("trust"), "");
    assert_eq!(s.dialog("update"), "key for update", "another one");
    assert_eq!(s.status(SessionsFileStatus::Waiting), "");
    assert_eq!(s.dialog("permission"), "notice");
    assert_eq!(s.dialog("theme"), "notice");
}

#[test]
fn a_person_who_submits_something_else_first_is_waited_for() {
    let mut s = Session::delivering(claude());
    s.session_start(StartSource::Startup, None);
    s.dialog("trust");
    s.prompt(PromptOf::Person);
    assert_eq!(s.screen(PromptBox::Empty), "hold keys", "not into a turn that runs");
    assert_eq!(s.call(HookEvent::Stop), "let 4 go, paste brief=true");
}

#[test]
fn a_stopped_claude_is_not_typed_at() {
    let mut s = Session::delivering(claude());
    s.session_start(StartSource::Startup, None);
    s.end(ProcessEnd::Stopped(Signal(20)));
    assert_eq!(s.screen(PromptBox::Empty), "");
    // The delivery waits for it, and for a while afterwards.
    s.pass(300_000);
    assert_eq!(s.phase(), "delivering");
    assert_eq!(s.end(ProcessEnd::Continued), "paste brief=true");
    s.pass(29_000);
    assert_eq!(s.phase(), "delivering");
}

#[test]
fn a_claude_that_was_stopped_over_the_time_of_a_delivery_still_gets_it() {
    let mut s = Session::delivering(claude());
    s.end(ProcessEnd::Stopped(Signal(20)));
    s.pass(300_000);
    s.end(ProcessEnd::Continued);
    s.pass(20_000);
    s.session_start(StartSource::Startup, None);
    assert_eq!(s.screen(PromptBox::Empty), "paste brief=true");
}

#[test]
fn a_late_answer_of_the_old_handoff_does_not_consume_the_new_one() {
    let mut s = pasted();
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    s.saved(2);
    assert_eq!(s.feed(Event::Answered { conversation: conversation(2) }), "consume, handoff.consumed");
    assert_eq!(s.sup.active_handoff(), Some(&handoff(2)));
}

#[test]
fn dialogs_that_come_and_go_are_met_once_and_do_not_stretch_it_for_ever() {
    let mut s = Session::delivering(claude());
    let begun = s.now;
    let mut told = 0;
    for _ in 0..1_000 {
        told += s.dialog("trust").matches("notice").count();
        s.pass(500);
        s.screen(PromptBox::None);
        s.pass(500);
        if s.phase() != "delivering" {
            break;
        }
    }
    assert_eq!((told, s.phase()), (1, "running"));
    assert_eq!(s.now.since(begun) / 60_000, 10);
}
