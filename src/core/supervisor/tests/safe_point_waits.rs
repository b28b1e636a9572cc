//! What a restart waits for, how a safe point is lost, and what must not count as one.

use super::super::compaction::Compaction;
use super::super::next_handover::HandoverWhen;
use super::*;

#[test]
fn a_draft_postpones_and_then_is_over() {
    let mut s = Session::idle(claude());
    s.screen(PromptBox::Draft);
    assert_eq!(s.restart(Asker::Descendant), "accepted, restart.requested, wait");
    let next = s.sup.next_handover(s.now).unwrap();
    assert_eq!((next.when, next.at), (HandoverWhen::Draft, Some(Stamp(80_000))));
    assert_eq!(s.pass(59_999), "");
    assert_eq!(s.tick(), "safe_point.reached, hold keys, check settings");
    let begun = s.now;
    assert_eq!(begun, Stamp(80_000), "draft_wait after it was met");
}

#[test]
fn a_draft_that_is_gone_is_not_waited_for() {
    let mut s = Session::idle(claude());
    s.screen(PromptBox::Draft);
    s.restart(Asker::Descendant);
    s.after(7_000);
    assert_eq!(s.screen(PromptBox::Empty), "safe_point.reached, hold keys, check settings");
}

/// The draft is carried along, so a person who requests a restart does not wait for it.
#[test]
fn a_draft_does_not_postpone_what_a_person_asks_for() {
    let mut s = Session::idle(claude());
    s.screen(PromptBox::Draft);
    let words = s.restart(Asker::Person);
    assert_eq!(words, "accepted, restart.requested, wait, safe_point.reached, hold keys, save");
    s.saved(1);
    assert!(matches!(s.sup.phase().next_run(), Some(plan) if plan.draft));
    let mut at_stop = Session::busy(claude());
    at_stop.screen(PromptBox::Draft);
    at_stop.restart(Asker::Person);
    assert_eq!(at_stop.call(HookEvent::Stop), "hold 3, safe_point.reached, hold keys, save");
    let mut before = Session::idle(Policy { rules: 6, ..claude() });
    before.screen(PromptBox::Draft);
    assert_eq!(before.restart(Asker::Person), "accepted, restart.requested, wait");
}

#[test]
fn a_draft_postpones_a_full_context_too_but_not_a_tool_boundary() {
    let mut s = Session::busy(claude());
    s.screen(PromptBox::Draft);
    s.usage(95);
    assert_eq!(s.call(HookEvent::Stop), "hold 3, let 3 go");
    assert_eq!(s.status(SessionsFileStatus::Idle), "");
    assert_eq!(s.pass(60_000), "safe_point.reached, hold keys, check settings");
    let mut s = Session::busy(claude());
    s.screen(PromptBox::Draft);
    s.usage(95);
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 3, safe_point.reached, hold keys, check settings");
}

#[test]
fn somebody_who_is_typing_is_waited_for_before_the_screen_shows_it() {
    let mut s = Session::idle(claude());
    s.key(KeyClass::Typed);
    s.after(10);
    assert_eq!(s.restart(Asker::Person), "accepted, restart.requested, wait");
    assert_eq!(s.tick(), "safe_point.reached, hold keys, save");
    assert_eq!(s.now, Stamp(21_000));
}

#[test]
fn a_prompt_that_was_on_its_way_comes_first() {
    let mut s = Session::idle(claude());
    s.signal_file(named(1), 1);
    assert_eq!(s.phase(), "saving");
    assert_eq!(s.prompt(PromptOf::Person), "release keys, let 2 go");
    assert_eq!(s.phase(), "waiting");
    assert_eq!(s.settings(), "", "the answer to a question that is not asked any more");
    s.status(SessionsFileStatus::Busy);
    assert_eq!(s.call(HookEvent::Stop), "hold 3, safe_point.reached, hold keys, check settings");
}

#[test]
fn a_tool_boundary_where_claude_was_taken_for_idle_is_waited_at_again() {
    let mut s = Session::idle(claude());
    s.restart(Asker::Person);
    assert_eq!(s.call(HookEvent::PostToolBatch), "release keys, hold 2, let 2 go");
    s.status(SessionsFileStatus::Busy);
    assert_eq!(s.phase(), "waiting");
    assert_eq!(s.saved(1), "handoff.saved", "the save that was dropped");
    assert!(s.call(HookEvent::Stop).ends_with("save"));
    assert!(s.saved(2).starts_with("handoff.saved, handoff.claimed, let 3 go"));
    assert_eq!(s.sup.active_handoff(), Some(&handoff(2)));
}

#[test]
fn a_second_save_waits_for_the_first_and_never_takes_its_result() {
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    assert!(s.call(HookEvent::Stop).ends_with("save"));
    s.hook_gone();
    assert_eq!(s.phase(), "waiting", "the sessions file still says busy");
    assert_eq!(
        s.status(SessionsFileStatus::Idle),
        "safe_point.reached, hold keys",
        "the worker has a job already"
    );
    assert_eq!(s.saved(1), "handoff.saved, save");
    assert!(s.saved(2).contains("handoff.claimed"));
    assert_eq!(s.count("save"), 2);
}

#[test]
fn a_hook_that_is_gone_while_saving_gives_the_safe_point_up() {
    let mut s = Session::busy(claude());
    s.usage(95);
    s.call(HookEvent::PostToolBatch);
    assert_eq!(s.hook_gone(), "release keys");
    assert_eq!(s.phase(), "waiting");
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 4, safe_point.reached, hold keys, check settings");
}

#[test]
fn a_worker_that_never_answers_does_not_keep_the_keys() {
    let mut s = Session::busy(claude());
    s.usage(85);
    s.call(HookEvent::Stop);
    s.settings();
    assert_eq!(s.tick(), "restart.cancelled, notice, message 3, release keys");
    assert!(s.sentences().contains("saving the handoff took too long"));
    assert_eq!(s.phase(), "running");
    s.prompt(PromptOf::Person);
    assert_eq!(s.call(HookEvent::Stop), "hold 5, let 5 go", "it would take as long again");
    s.after(300_000);
    s.prompt(PromptOf::Person);
    assert_eq!(
        s.call(HookEvent::Stop),
        "hold 7, restart.requested, wait, safe_point.reached, hold keys, check settings"
    );
}

#[test]
fn settings_that_are_never_compared_hold_the_restart() {
    let mut s = Session::idle(claude());
    s.usage(85);
    assert_eq!(s.phase(), "saving");
    assert_eq!(s.tick(), "restart.cancelled, notice, release keys");
}

#[test]
fn lines_that_are_never_reported_do_not_hold_claude() {
    let mut s = Session::busy(claude());
    s.call_with_lines(HookEvent::PostToolBatch);
    assert_eq!(s.tick(), "let 3 go");
    assert_eq!(s.now, Stamp(20_800));
    s.usage(95);
    s.call_with_lines(HookEvent::PostToolBatch);
    assert_eq!(s.tick(), "safe_point.reached, hold keys, check settings");
    s.settings();
    assert_eq!(s.tick(), "save", "nor the results");
}

#[test]
fn a_failed_save_is_tried_again_at_the_end_of_a_turn_after_a_pause() {
    let failed = || Event::SaveFailed { error: "no space left on device".to_owned() };
    for rules in [6, RULES] {
        let mut s = Session::busy(Policy { rules, ..claude() });
        s.usage(85);
        s.call(HookEvent::Stop);
        s.settings();
        assert_eq!(s.feed(failed()), "restart.cancelled, notice, message 3, release keys");
        assert!(s.sentences().contains("no space left"));
        s.prompt(PromptOf::Person);
        let words = s.call(HookEvent::Stop);
        assert_eq!(words.contains("restart.requested"), rules == 6, "{words}");
    }
}

#[test]
fn a_higher_level_or_a_saved_handoff_ends_the_pause_after_a_failed_save() {
    for save in [false, true] {
        let mut s = Session::busy(claude());
        s.usage(85);
        s.call(HookEvent::Stop);
        s.settings();
        s.feed(Event::SaveFailed { error: "no space left on device".to_owned() });
        s.prompt(PromptOf::Person);
        if save {
            let compaction = Some(Compaction { record: Some(handoff(1)), unable: None });
            let of = s.current();
            s.hook(HookFacts { compaction, ..hook(HookEvent::PreCompact, &of) });
        } else {
            s.usage(95);
        }
        let words = s.call(HookEvent::Stop);
        assert!(words.contains("safe_point.reached"), "{words}");
    }
}

#[test]
fn without_a_directory_for_the_next_run_claude_goes_on_and_may_compact() {
    let mut s = Session::busy(claude());
    s.usage(95);
    s.call(HookEvent::Stop);
    let words = s.feed(Event::DirectoryGone { dir: "/tree".to_owned() });
    assert_eq!(words, "restart.cancelled, notice, message 3, release keys");
    assert!(s.sentences().contains("/tree is gone"), "{}", s.sentences());
    let next = s.sup.next_handover(s.now).unwrap();
    assert!(next.when == HandoverWhen::Held && next.why.contains("/tree is gone"), "{next:?}");
    s.prompt(PromptOf::Person);
    let compacts = HookFacts { auto: true, ..hook(HookEvent::PreCompact, &s.current()) };
    assert_eq!(s.hook(compacts), "let 5 go");
}

#[test]
fn while_saving_fails_claude_may_compact() {
    let mut s = Session::busy(claude());
    s.usage(95);
    s.call(HookEvent::Stop);
    s.settings();
    s.feed(Event::SaveFailed { error: "no space left on device".to_owned() });
    s.prompt(PromptOf::Person);
    let compacts = HookFacts { auto: true, ..hook(HookEvent::PreCompact, &s.current()) };
    assert_eq!(s.hook(compacts), "let 5 go");
}

#[test]
fn background_work_is_waited_for_and_then_is_over() {
    let mut s = Session::busy(claude());
    s.usage(95);
    let of = s.current();
    let batch = HookFacts { started: 1, ..hook(HookEvent::PostToolBatch, &of) };
    assert_eq!(s.hook(batch), "hold 3", "the main loop is held while it works");
    let agents_end = HookFacts { agent: true, ..hook(HookEvent::SubagentStop, &of) };
    assert_eq!(s.hook(agents_end), "let 4 go, safe_point.reached, hold keys, check settings");
}

#[test]
fn a_hold_that_is_nearly_over_is_used() {
    let mut s = Session::busy(claude());
    s.usage(95);
    let of = s.current();
    s.hook(HookFacts { started: 1, ..hook(HookEvent::PostToolBatch, &of) });
    assert_eq!(s.tick(), "safe_point.reached, hold keys, check settings");
    assert_eq!(s.now, Stamp(78_000));
}

#[test]
fn a_stop_with_background_tasks_is_no_safe_point() {
    let mut s = Session::busy(claude());
    s.usage(95);
    let of = s.current();
    assert_eq!(s.hook(HookFacts { background: 1, ..hook(HookEvent::Stop, &of) }), "hold 3, let 3 go");
    // A new turn begins 0.2 s after a sub-agent's end, so its end is not a safe point.
    let agents_end = HookFacts { agent: true, ..hook(HookEvent::SubagentStop, &of) };
    assert_eq!(s.hook(agents_end), "let 4 go");
    s.after(200);
    assert_eq!(s.prompt(PromptOf::Claude), "let 5 go");
    assert_eq!(s.call(HookEvent::Stop), "hold 6, safe_point.reached, hold keys, check settings");
}

#[test]
fn a_dev_server_in_the_background_does_not_hold_for_ever() {
    for status in [SessionsFileStatus::Shell, SessionsFileStatus::Busy] {
        let mut s = Session::busy(claude());
        s.usage(85);
        let of = s.current();
        s.hook(HookFacts { background: 1, ..hook(HookEvent::Stop, &of) });
        s.status(status);
        assert_eq!(s.pass(119_999), "");
        assert_eq!(s.pass(1), "safe_point.reached, hold keys, check settings", "{status:?}");
    }
}

/// The screen between two turns, or during one.
fn screen_of(s: &mut Session, busy: bool) -> String {
    let facts = ScreenFacts {
        prompt: PromptBox::Empty,
        paste: true,
        busy: Some(busy),
        title_busy: Some(busy),
        ..ScreenFacts::default()
    };
    s.feed(Event::Screen { facts })
}

/// 2.1.331 calls the hook of a queued prompt when it is queued, 2.1.329 when it begins its turn.
#[test]
fn a_turn_that_begins_out_of_the_queue_is_a_turn() {
    for hook_at_delivery in [false, true] {
        let mut s = Session::busy(claude());
        if !hook_at_delivery {
            s.prompt(PromptOf::Person);
        }
        s.feed(Event::Queued { prompts: 1, carries: None });
        s.call(HookEvent::Stop);
        s.feed(Event::Queued { prompts: 0, carries: None });
        if hook_at_delivery {
            s.prompt(PromptOf::Person);
        }
        s.usage(85);
        assert_eq!(s.phase(), "waiting");
        screen_of(&mut s, true);
        assert_eq!(s.pass(3_600_000), "", "a tool of an hour");
        assert!(s.call(HookEvent::Stop).contains("safe_point.reached"));
    }
}

#[test]
fn a_turn_that_only_the_screen_shows_yet_is_not_cut_in_two() {
    let mut s = Session::started(claude());
    screen_of(&mut s, true);
    s.status(SessionsFileStatus::Idle);
    assert!(!s.restart(Asker::Person).contains("safe_point.reached"));
    assert!(screen_of(&mut s, false).contains("safe_point.reached"));
}

#[test]
fn a_turn_that_no_hook_has_told_of_is_not_cut_in_two() {
    let missed = || {
        let mut s = Session::busy(claude());
        s.call(HookEvent::Stop);
        s.status(SessionsFileStatus::Idle);
        s.after(60_000);
        s.status(SessionsFileStatus::Busy);
        s.usage(85);
        assert_eq!(s.phase(), "waiting");
        s
    };
    for seen in [true, false] {
        let mut s = missed();
        if seen {
            screen_of(&mut s, true);
        }
        assert_eq!(s.pass(3_600_000), "", "a tool of an hour");
        assert!(s.call(HookEvent::PostToolBatch).contains("safe_point.reached"));
    }
    let mut s = missed();
    screen_of(&mut s, true);
    s.pass(3_600_000);
    assert_eq!(screen_of(&mut s, false), "");
    assert_eq!(s.pass(4_999), "");
    assert_eq!(s.tick(), "safe_point.reached, hold keys, check settings", "Claude's file is out of date");
    let mut s = missed();
    screen_of(&mut s, false);
    assert_eq!(s.pass(119_999), "");
    assert_eq!(s.tick(), "safe_point.reached, hold keys, check settings", "no sooner than before");
}

#[test]
fn calls_of_sub_agents_are_never_decided_on() {
    let mut s = Session::busy(claude());
    s.usage(95);
    let of = s.current();
    for event in
        [HookEvent::PostToolBatch, HookEvent::Stop, HookEvent::SubagentStop, HookEvent::UserPromptSubmit]
    {
        let words = s.hook(HookFacts { agent: true, ..hook(event, &of) });
        assert!(words.starts_with("let") && !words.contains(','), "{event:?}: {words}");
    }
    assert_eq!(s.phase(), "waiting");
}

#[test]
fn an_idle_word_from_before_the_turn_is_no_safe_point() {
    let mut s = Session::idle(claude());
    s.after(60_000);
    s.prompt(PromptOf::Person);
    s.after(50);
    assert_eq!(
        s.restart(Asker::Person),
        "accepted, restart.requested, wait",
        "busy, and the file does not say so yet"
    );
    assert_eq!(s.screen(PromptBox::Empty), "");
    s.status(SessionsFileStatus::Busy);
    assert_eq!(s.call(HookEvent::Stop), "hold 3, safe_point.reached, hold keys, save");
}

#[test]
fn an_idle_word_that_comes_late_is_outweighed_by_the_busy_one_after_it() {
    let mut s = Session::idle(claude());
    s.restart(Asker::Person);
    s.saved(1);
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    assert_eq!(s.status(SessionsFileStatus::Idle), "", "written when the turn before ended");
    s.after(300);
    assert_eq!(s.status(SessionsFileStatus::Busy), "");
    assert_eq!(s.pass(100_000), "");
    assert_eq!(s.phase(), "waiting");
}

#[test]
fn an_interrupted_turn_is_over_although_no_hook_said_so() {
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    assert_eq!(s.ctrl_c(), "", "an explicit request stands");
    s.after(100);
    assert_eq!(s.status(SessionsFileStatus::Idle), "");
    assert_eq!(s.tick(), "safe_point.reached, hold keys, save");
}

#[test]
fn a_permission_prompt_is_no_safe_point() {
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    s.status(SessionsFileStatus::Waiting);
    assert_eq!(s.pass(1_000_000), "");
    let mut s = Session::idle(claude());
    s.dialog("permission");
    s.restart(Asker::Person);
    assert_eq!(s.pass(1_000_000), "");
    assert_eq!(s.screen(PromptBox::Empty), "safe_point.reached, hold keys, save");
}

#[test]
fn a_stopped_claude_waits_until_it_goes_on() {
    let mut s = Session::idle(claude());
    assert_eq!(s.end(ProcessEnd::Stopped(Signal(20))), "suspend");
    assert_eq!(s.restart(Asker::Person), "accepted, restart.requested, wait");
    assert_eq!(s.pass(1_000_000), "");
    assert_eq!(
        s.feed(Event::Attached { client: 1, how: AttachKind::Starts }),
        "client.attached",
        "its shell gets the terminal back"
    );
    assert_eq!(
        s.feed(Event::Attached { client: 2, how: AttachKind::Joins }),
        "client.attached, signal 18 Group"
    );
    assert_eq!(s.end(ProcessEnd::Continued), "safe_point.reached, hold keys, save");
}

#[test]
fn clear_compact_and_resume_drop_what_a_level_asked_for() {
    for (source, of) in [(StartSource::Clear, 7), (StartSource::Compact, 1), (StartSource::Resume, 7)] {
        let mut s = Session::busy(claude());
        s.usage(85);
        let words = s.session_start(source, Some(conversation(of)));
        assert!(words.ends_with("let 3 go, restart.cancelled, notice"), "{source:?}: {words}");
        assert_eq!(s.current(), conversation(of));
    }
}

#[test]
fn clear_does_not_drop_what_a_person_asked_for() {
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    let words = s.session_start(StartSource::Clear, Some(conversation(7)));
    assert_eq!(words, "conversation.changed, follow, let 3 go");
    let words = s.status(SessionsFileStatus::Idle);
    assert!(words.starts_with("safe_point.reached, hold keys, handoff.skipped, collect"), "{words}");
}

#[test]
fn clear_while_settling_takes_the_hand_over_back() {
    let mut s = Session::busy(claude());
    s.usage(85);
    s.call(HookEvent::Stop);
    s.settings();
    s.saved(1);
    assert_eq!(s.phase(), "stopping");
    let words = s.session_start(StartSource::Clear, Some(conversation(7)));
    assert_eq!(words, "conversation.changed, follow, let 4 go, restart.cancelled, notice, release keys");
    assert_eq!(s.phase(), "running");
    assert_eq!(s.sup.active_handoff(), Some(&handoff(1)), "it stays active");
}

#[test]
fn a_level_fires_once_and_again_after_a_drop() {
    let mut s = Session::busy(claude());
    s.usage(85);
    s.ctrl_c();
    assert_eq!(s.usage(86), "");
    assert_eq!(s.usage(77), "", "not far enough below 80 to arm it");
    assert_eq!(s.usage(81), "");
    s.usage(74);
    assert!(s.usage(81).starts_with("level.crossed, restart.requested"));
}

#[test]
fn a_level_crossed_while_a_restart_is_saved_is_not_forgotten() {
    let mut s = Session::busy(claude());
    s.restart(Asker::Descendant);
    s.call(HookEvent::Stop);
    assert_eq!(s.usage(95), "level.crossed");
    s.feed(Event::Settings { changed: vec!["hooks".to_owned()] });
    assert_eq!(s.phase(), "running");
    s.prompt(PromptOf::Person);
    assert!(s.call(HookEvent::Stop).contains("restart.requested"));
}

#[test]
fn without_hooks_the_transcript_and_a_quiet_screen_are_the_safe_point() {
    let mut policy = claude();
    policy.hooks = false;
    let mut s = Session::started(policy);
    s.status(SessionsFileStatus::Busy);
    s.usage(85);
    let conversation = s.current();
    assert_eq!(s.feed(Event::TurnEnded { conversation: conversation.clone() }), "");
    assert_eq!(s.status(SessionsFileStatus::Idle), "safe_point.reached, hold keys, check settings");
    // A request that Ctrl+C dropped returns at the end of the next turn, with or without hooks.
    s.ctrl_c();
    assert_eq!(s.phase(), "running");
    s.status(SessionsFileStatus::Busy);
    assert!(s.feed(Event::TurnEnded { conversation }).starts_with("restart.requested"));
}

#[test]
fn a_prompt_at_a_held_stop_lets_the_hook_go() {
    let mut s = Session::busy(claude());
    s.usage(85);
    s.call(HookEvent::Stop);
    assert_eq!(s.prompt(PromptOf::Claude), "let 3 go, release keys, let 4 go");
    assert_eq!(s.pass(10_000), "");
    assert_eq!(s.phase(), "waiting");
}

#[test]
fn a_sub_agents_end_at_an_idle_prompt_begins_a_turn() {
    let mut s = Session::busy(claude());
    s.usage(85);
    let of = s.current();
    s.hook(HookFacts { background: 1, ..hook(HookEvent::Stop, &of) });
    assert_eq!(s.status(SessionsFileStatus::Idle), "");
    assert_eq!(s.hook(HookFacts { agent: true, ..hook(HookEvent::SubagentStop, &of) }), "let 4 go");
    assert_eq!(s.pass(500), "");
    assert_eq!(s.phase(), "waiting");
}

#[test]
fn clear_drops_what_a_signal_file_asked_of_the_old_conversation() {
    let mut s = Session::busy(claude());
    s.signal_file(named(1), 1);
    let words = s.session_start(StartSource::Clear, Some(conversation(7)));
    assert_eq!(words, "conversation.changed, follow, let 3 go, restart.cancelled, notice");
    let mut s = Session::busy(claude());
    s.signal_file(named(1), 1);
    assert_eq!(
        s.session_start(StartSource::Compact, None),
        "follow, let 3 go",
        "the same conversation, smaller"
    );
    assert_eq!(s.phase(), "waiting");
}

#[test]
fn an_idle_word_that_is_said_again_and_again_is_one_word() {
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    let words: Vec<String> = (0..4)
        .map(|_| {
            s.after(300);
            s.status(SessionsFileStatus::Idle)
        })
        .collect();
    assert_eq!(words, ["", "", "", ""]);
    s.after(300);
    assert_eq!(s.status(SessionsFileStatus::Idle), "safe_point.reached, hold keys, save");
}

#[test]
fn what_was_dropped_is_not_asked_for_again_when_it_is_not_needed() {
    let mut s = Session::busy(claude());
    s.usage(85);
    s.ctrl_c();
    s.usage(20);
    assert_eq!(s.call(HookEvent::Stop), "hold 3, let 3 go", "it was compacted meanwhile");
    let mut policy = claude();
    policy.config.restart.mode = crate::core::config::RestartMode::Manual;
    let mut s = Session::busy(policy);
    s.usage(95);
    s.restart_now(Asker::Person);
    s.feed(Event::SaveFailed { error: "no space left on device".to_owned() });
    assert_eq!(
        s.call(HookEvent::Stop),
        "hold 3, let 3 go",
        "what a person asked for once is not asked for by itself"
    );
}
