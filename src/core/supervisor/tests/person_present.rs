//! A person is present: nothing is cleared at the end of a turn, and their next prompt begins the fresh
//! conversation.

use super::*;
use crate::core::claude::carry_over::CarryMethod;
use crate::core::config::RestartMode;
use crate::core::supervisor::handover_question::AskAnswer;
use crate::core::supervisor::next_handover::HandoverWhen;

fn talking() -> Policy {
    Policy { notes: true, ..claude() }
}

impl Session {
    /// A busy Claude with a terminal in which a person has just typed.
    fn watched(policy: Policy) -> Self {
        let mut s = Session::busy(policy);
        s.feed(Event::Attached { client: 1, how: AttachKind::Starts });
        s.key(KeyClass::Typed);
        s.after(2000);
        s
    }

    /// The turn ends at this context usage.
    fn turn_ends(&mut self, percent: u64) -> String {
        self.usage(percent);
        let words = self.call(HookEvent::Stop);
        self.status(SessionsFileStatus::Idle);
        words
    }

    /// A hand-over that waits for the next prompt.
    fn waiting(policy: Policy) -> Self {
        let mut s = Session::watched(policy);
        s.turn_ends(84);
        assert_eq!(s.next(), HandoverWhen::Prompt);
        s
    }

    fn submits(&mut self, carries: Option<CarryMethod>) -> String {
        let current = self.current();
        self.hook(HookFacts {
            prompt: Some(PromptOf::Person),
            carries,
            ..hook(HookEvent::UserPromptSubmit, &current)
        })
    }

    fn next(&self) -> HandoverWhen {
        self.sup.next_handover(self.now).unwrap().when
    }

    /// From the prompt to the end of the old run.
    fn taken(policy: Policy, way: CarryMethod) -> Self {
        let mut s = Session::waiting(policy);
        assert_eq!(s.submits(Some(way)), "hold 4, safe_point.reached, hold keys, check settings");
        assert_eq!(s.settings(), "stop turn 4, await Prompt 4");
        assert_eq!(s.lines(), "save");
        let words = s.saved(1);
        assert!(words.starts_with("handoff.saved, handoff.claimed, collect, SIGTERM"), "{words}");
        s
    }
}

#[test]
fn at_the_end_of_a_turn_the_next_prompt_is_waited_for() {
    for percent in [84, 93] {
        let mut s = Session::watched(talking());
        let words = s.turn_ends(percent);
        assert_eq!(words, "hold 3, restart.waits, notice, message 3", "at {percent} %");
        assert_eq!(s.phase(), "waiting");
        assert_eq!(
            (s.next(), s.sup.next_handover(s.now).unwrap().at),
            (HandoverWhen::Prompt, Some(Stamp(20_000 + 300_000)))
        );
    }
}

#[test]
fn it_is_handed_over_at_once_where_nobody_is_there() {
    let mut detached = Session::busy(talking());
    detached.feed(Event::Attached { client: 1, how: AttachKind::Starts });
    detached.key(KeyClass::Typed);
    detached.feed(Event::Detached { client: 1, why: "asked".to_owned() });
    let mut script = Session::busy(talking());
    script.feed(Event::Attached { client: 1, how: AttachKind::Starts });
    script.feed(Event::Keys { client: 0, class: KeyClass::Typed, bytes: 9 });
    let mut watcher = Session::busy(talking());
    watcher.feed(Event::Attached { client: 1, how: AttachKind::Watches });
    watcher.key(KeyClass::Typed);
    let mut off = talking();
    off.config.restart.wait_for_person = span(0);
    let mut long_ago = Session::watched(talking());
    long_ago.after(300_000);
    let mut before = talking();
    before.rules = 1;
    for mut s in [detached, script, watcher, Session::watched(off), long_ago, Session::watched(before)] {
        s.sup.policy.config.handoff.summary = crate::core::config::SummaryMode::Off;
        s.after(2000);
        assert!(s.turn_ends(84).contains("safe_point.reached"), "{}", s.words());
    }
}

#[test]
fn a_conversation_that_a_person_resumed_waits_for_their_prompt_however_long() {
    let resumed = |notes: bool| {
        let mut s = Session::started(Policy { notes, ..claude() });
        s.boot(StartSource::Resume);
        s.after(20_000);
        s.usage(84);
        assert_eq!(s.phase(), "waiting");
        s.pass(86_400_000);
        assert_eq!((s.phase(), s.count("hold keys")), ("waiting", 0), "{}", s.words());
        s
    };
    let mut s = resumed(true);
    assert_eq!((s.next(), s.sup.next_handover(s.now).unwrap().at), (HandoverWhen::NextPrompt, None));
    assert!(s.submits(Some(CarryMethod::Typed)).ends_with("check settings"));
    // Claude reads no answers of hooks, so the prompt runs here.
    let mut old = resumed(false);
    assert!(!old.submits(Some(CarryMethod::Typed)).contains("check settings"));
    assert!(old.call(HookEvent::Stop).ends_with("check settings"), "{}", old.words());
}

#[test]
fn the_prompt_goes_to_the_fresh_conversation_once() {
    for (way, paste) in [(CarryMethod::Typed, true), (CarryMethod::Argument, false)] {
        let mut s = Session::taken(talking(), way);
        assert!(s.end(TERM_CODE).contains("spawn 2 Fresh"));
        let argument = s.all.iter().any(|a| matches!(a, Action::Spawn { run: 2, prompt: true, .. }));
        assert_eq!(argument, !paste);
        s.exec();
        let words = s.boot(StartSource::Startup);
        assert_eq!(words.contains("paste prompt"), paste, "{words}");
        if paste {
            assert_eq!(s.screen(PromptBox::Ours), "enter");
        }
        let words = s.prompt(PromptOf::Ours);
        assert!(words.contains("delivery.submitted, release keys draft"), "{words}");
        assert!(s.sentences().starts_with("Your prompt was submitted"), "{}", s.sentences());
        assert_eq!((s.count("paste brief=true"), s.count("paste prompt")), (0, usize::from(paste)));
        let conversation = s.current();
        assert!(s.feed(Event::Answered { conversation }).contains("consume"));
    }
}

#[test]
fn a_prompt_that_cannot_be_given_again_runs_and_the_next_one_is_waited_for() {
    let mut s = Session::waiting(talking());
    assert_eq!(s.submits(None), "let 4 go");
    assert_eq!(s.phase(), "waiting");
    s.status(SessionsFileStatus::Busy);
    s.after(2000);
    assert_eq!(s.turn_ends(86), "hold 5, restart.waits, let 5 go", "said once");
    assert!(s.submits(Some(CarryMethod::Typed)).contains("safe_point.reached"));
}

#[test]
fn what_is_no_persons_prompt_is_let_run() {
    for of in [PromptOf::Claude, PromptOf::Sent] {
        let mut s = Session::waiting(talking());
        assert_eq!(s.prompt(of), "let 4 go");
    }
}

#[test]
fn when_nobody_is_there_any_more_it_hands_over_as_ever() {
    let mut s = Session::waiting(talking());
    assert_eq!(s.pass(297_999), "");
    assert_eq!(s.tick(), "safe_point.reached, hold keys, check settings");
    assert_eq!(s.now, Stamp(320_000));
    let mut s = Session::waiting(talking());
    let words = s.feed(Event::Detached { client: 1, why: "hangup".to_owned() });
    assert_eq!(words, "client.detached, safe_point.reached, hold keys, check settings");
    let mut s = Session::waiting(talking());
    s.after(200_000);
    s.key(KeyClass::Typed);
    assert_eq!(s.pass(299_000), "", "somebody types");
}

#[test]
fn a_person_who_wants_it_now_gets_it() {
    let mut s = Session::waiting(talking());
    assert_eq!(s.restart(Asker::Person), "accepted, safe_point.reached, hold keys, save");
}

#[test]
fn not_yet_keeps_every_level_from_handing_over_for_a_while() {
    let mut s = Session::waiting(talking());
    let words = s.feed(Event::Ask { answer: AskAnswer::Snooze });
    assert_eq!(words, "restart.cancelled, notice, keep Snooze");
    assert_eq!(s.next(), HandoverWhen::Snoozed);
    assert_eq!(s.submits(Some(CarryMethod::Typed)), "let 4 go", "it runs where it was typed");
    s.status(SessionsFileStatus::Busy);
    assert_eq!(s.turn_ends(93), "hold 5, let 5 go");
    assert_eq!(s.phase(), "running");
    s.after(2000);
    s.key(KeyClass::Typed);
    let words = s.pass(298_000);
    assert!(words.contains("restart.requested"), "{words}");
    assert_eq!(s.phase(), "waiting");
}

#[test]
fn where_claude_would_compact_a_hand_over_comes_although_it_was_put_off() {
    let mut s = Session::watched(talking());
    s.feed(Event::Ask { answer: AskAnswer::Snooze });
    s.usage(95);
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 3, let 3 go");
    let compacts = HookFacts { auto: true, ..hook(HookEvent::PreCompact, &s.current()) };
    assert_eq!(s.hook(compacts), "restart.requested, wait, block 4");
    assert!(s.call(HookEvent::PostToolBatch).contains("safe_point.reached"));
}

#[test]
fn a_handoff_that_cannot_be_saved_gives_the_prompt_back() {
    let mut s = Session::waiting(talking());
    s.submits(Some(CarryMethod::Typed));
    s.settings();
    s.lines();
    let words = s.feed(Event::SaveFailed { error: "no space left on device".to_owned() });
    assert_eq!(words, "restart.cancelled, notice, return prompt, release keys draft");
    let mut s = Session::waiting(talking());
    s.submits(Some(CarryMethod::Typed));
    let words = s.feed(Event::Settings { changed: vec!["hooks".to_owned()] });
    assert_eq!(words, "restart.cancelled, notice, message 4, release keys", "it was never taken");
}

/// A full disk: the prompts after the first stay where they are submitted, and the failure is reported once.
#[test]
fn after_a_failed_save_prompts_are_left_alone_for_a_while() {
    let fails = |s: &mut Session| {
        s.settings();
        s.lines();
        s.feed(Event::SaveFailed { error: "no space left on device".to_owned() })
    };
    let mut s = Session::waiting(talking());
    s.submits(Some(CarryMethod::Typed));
    fails(&mut s);
    let until = s.now.after(300_000);
    s.after(1000);
    for n in [5, 7, 9] {
        assert_eq!(s.submits(Some(CarryMethod::Typed)), format!("let {n} go"));
        s.status(SessionsFileStatus::Busy);
        s.after(2000);
        assert_eq!(s.turn_ends(84), format!("hold {0}, let {0} go", n + 1));
        let next = s.sup.next_handover(s.now).unwrap();
        assert_eq!((next.when, next.at), (HandoverWhen::Held, Some(until)));
        assert_eq!(next.why, "the handoff could not be saved (no space left on device)");
        s.key(KeyClass::Typed);
        s.after(2000);
    }
    s.after(300_000);
    s.key(KeyClass::Typed);
    s.after(2000);
    assert_eq!(s.next(), HandoverWhen::NextTurn, "the pause is over");
    s.submits(Some(CarryMethod::Typed));
    s.status(SessionsFileStatus::Busy);
    s.after(2000);
    assert!(s.turn_ends(84).contains("restart.requested"), "{}", s.words());
    s.after(2000);
    s.submits(Some(CarryMethod::Typed));
    assert_eq!(fails(&mut s), "restart.cancelled, return prompt, release keys draft", "people know");
}

#[test]
fn ctrl_c_gives_a_prompt_that_was_taken_back_as_a_draft() {
    let mut s = Session::waiting(talking());
    s.submits(Some(CarryMethod::Typed));
    s.settings();
    let words = s.ctrl_c();
    assert_eq!(words, "ctrl-c, restart.cancelled, notice, return prompt as draft, release keys draft");
}

#[test]
fn ctrl_c_at_the_idle_prompt_only_clears_the_box() {
    let mut s = Session::waiting(talking());
    assert_eq!(s.ctrl_c(), "");
    assert_eq!(s.next(), HandoverWhen::Prompt);
}

#[test]
fn a_claude_that_dies_with_the_prompt_taken_gets_it_again() {
    let mut s = Session::waiting(talking());
    s.submits(Some(CarryMethod::Typed));
    s.settings();
    let words = s.end(ProcessEnd::Exited(1));
    assert!(words.contains("return prompt"), "{words}");
    s.tick();
    assert!(s.spawned(2, StartKind::Resume));
    assert!(s.exec().contains("release keys draft"));
}

#[test]
fn a_claude_that_works_on_the_prompt_in_spite_of_the_answer_keeps_it() {
    let mut s = Session::waiting(talking());
    s.submits(Some(CarryMethod::Typed));
    s.settings();
    assert!(s.call(HookEvent::PostToolBatch).starts_with("drop prompt, release keys"));
    assert_eq!(s.phase(), "waiting");
}

/// Claude gives up on a hook after its own time, and works on the prompt.
#[test]
fn a_claude_that_was_never_told_to_drop_the_prompt_keeps_it() {
    for lines in [false, true] {
        let mut s = Session::waiting(talking());
        s.submits(Some(CarryMethod::Typed));
        s.settings();
        if lines {
            s.lines();
        }
        assert_eq!(s.hook_gone(), "drop prompt, release keys");
        s.status(SessionsFileStatus::Busy);
        assert_eq!((s.phase(), s.pass(3_600_000)), ("waiting", String::new()), "it runs where it was typed");
    }
}

#[test]
fn a_carried_prompt_that_began_without_the_handoff_is_not_given_again() {
    let mut s = Session::taken(talking(), CarryMethod::Argument);
    s.end(TERM_CODE);
    s.exec();
    // Claude was started without hooks, or all calls were lost.
    let conversation = s.current();
    let words = s.feed(Event::Prompted { conversation: conversation.clone() });
    assert_eq!(words, "drop prompt, delivery.failed, notice, release keys draft");
    assert!(s.sentences().contains("never received the handoff"));
    assert_eq!(s.feed(Event::Answered { conversation }), "", "it stays active");
}

#[test]
fn a_prompt_that_is_queued_behind_it_goes_the_same_way() {
    let mut s = Session::waiting(talking());
    s.submits(Some(CarryMethod::Typed));
    s.settings();
    assert_eq!(s.submits(Some(CarryMethod::Typed)), "stop turn 5");
    assert_eq!(s.phase(), "saving");
}

#[test]
fn the_first_of_the_queue_begins_the_fresh_conversation() {
    let mut s = Session::watched(talking());
    s.feed(Event::Queued { prompts: 2, carries: Some(CarryMethod::Typed) });
    assert_eq!(s.turn_ends(84), "hold 3, safe_point.reached, hold keys, check settings");
    s.settings();
    let words = s.saved(1);
    assert!(words.starts_with("handoff.saved, handoff.claimed, take queued, collect, SIGTERM"), "{words}");
    s.end(TERM_CODE);
    s.exec();
    assert!(s.boot(StartSource::Startup).contains("paste prompt"));
}

#[test]
fn a_queued_prompt_that_cannot_be_given_again_runs_first_and_none_is_stopped_behind_it() {
    let mut s = Session::watched(talking());
    s.feed(Event::Queued { prompts: 1, carries: None });
    assert!(s.turn_ends(84).contains("restart.waits"));
    // No hook reports that it began a turn.
    s.feed(Event::Queued { prompts: 0, carries: None });
    assert_eq!(s.submits(Some(CarryMethod::Typed)), "let 4 go", "typed while it runs");
}

#[test]
fn the_handoff_goes_with_the_prompt_where_no_session_start_brought_it() {
    let mut s = Session::taken(talking(), CarryMethod::Argument);
    s.end(TERM_CODE);
    s.exec();
    assert!(s.prompt(PromptOf::Ours).contains("brief "), "{}", s.words());
    assert!(s.decided(DecisionKind::DeliverySubmitted));
}

#[test]
fn a_prompt_that_was_never_typed_comes_after_a_delivery_that_failed() {
    let mut s = Session::taken(talking(), CarryMethod::Typed);
    s.end(TERM_CODE);
    s.exec();
    s.session_start(StartSource::Startup, None);
    let words = s.pass(61_000);
    assert!(words.contains("return prompt") && words.contains("release keys draft"), "{words}");
}

#[test]
fn what_comes_next_is_said() {
    let mut s = Session::idle(talking());
    assert_eq!(s.next(), HandoverWhen::Level);
    assert_eq!(s.sup.next_handover(s.now).unwrap().why, "none before 80 % (context 0 %)");
    s.prompt(PromptOf::Person);
    s.status(SessionsFileStatus::Busy);
    s.usage(84);
    assert_eq!(s.next(), HandoverWhen::Turn);
    assert_eq!(s.sup.next_handover(s.now).unwrap().why, "context 84 %, level handoff 80 %");
    s.usage(93);
    assert_eq!(s.next(), HandoverWhen::Tools);
    s.call(HookEvent::PostToolBatch);
    assert_eq!(s.next(), HandoverWhen::Now);
    s.ctrl_c();
    assert_eq!(s.next(), HandoverWhen::Turn);
    s.status(SessionsFileStatus::Idle);
    s.pass(60_000);
    assert_eq!(s.next(), HandoverWhen::NextTurn, "no turn runs");
    let mut manual = talking();
    manual.config.restart.mode = RestartMode::Manual;
    assert_eq!(Session::idle(manual).next(), HandoverWhen::Off);
    assert_eq!(Session::started(plain()).sup.next_handover(Stamp(0)), None);
}
