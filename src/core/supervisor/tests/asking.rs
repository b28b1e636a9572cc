//! Who may request a restart, and the effects: signal files, `hopty restart`, limits.

use super::super::next_handover::HandoverWhen;
use super::*;

#[test]
fn a_signal_file_that_names_this_conversation_is_obeyed() {
    let mut s = Session::idle(claude());
    let words = s.signal_file(named(1), 5);
    assert_eq!(
        words,
        "consume signal, restart.requested, wait, safe_point.reached, hold keys, check settings"
    );
    assert_eq!(s.settings(), "save");
    s.saved(1);
    s.end(TERM_CODE);
    let dirs: Vec<_> = s
        .all
        .iter()
        .filter_map(|a| if let Action::Spawn { dir, .. } = a { Some(dir.clone()) } else { None })
        .collect();
    assert_eq!(dirs, [None, Some("/home/u/proj".to_owned())]);
}

fn seen(file: RestartSignal, dir: NamedDir) -> Event {
    let dir_ok = dir.refusal().is_none();
    Event::Signal { file, fresh: true, sessions: 1, dir_ok, dir: Some(dir) }
}

#[test]
fn where_a_directory_may_not_be_taken_it_hands_over_in_its_own_and_people_are_told() {
    for dir in [NamedDir::Untrusted, NamedDir::Foreign, NamedDir::Missing] {
        let mut s = Session::idle(claude());
        let words = s.feed(seen(named(1), dir));
        assert!(words.starts_with("consume signal, notice, restart.requested"), "{words}");
        assert!(s.sentences().contains(dir.refusal().unwrap()), "{}", s.sentences());
        s.settings();
        s.saved(1);
        s.end(TERM_CODE);
        assert!(s.last.iter().any(|a| matches!(a, Action::Spawn { dir: None, .. })), "{dir:?}");
    }
    let mut s = Session::idle(claude());
    s.feed(seen(named(1), NamedDir::Own));
    s.settings();
    s.saved(1);
    s.end(TERM_CODE);
    assert!(s.last.iter().any(|a| matches!(a, Action::Spawn { dir: None, .. })), "it runs there already");
}

#[test]
fn a_bare_directory_means_the_session_that_runs_in_it() {
    let bare = || RestartSignal::Directory { dir: "/home/u/proj".to_owned() };
    for dir in [NamedDir::Trusted, NamedDir::Untrusted, NamedDir::Foreign, NamedDir::Missing] {
        let mut s = Session::idle(claude());
        s.expect(seen(bare(), dir), "restart.ignored");
        assert!(s.sentences().contains("it names a different directory"), "{}", s.sentences());
    }
    let mut s = Session::idle(claude());
    assert!(s.feed(seen(bare(), NamedDir::Own)).starts_with("consume signal, restart.requested"));
}

/// Version 0 of the rules did not check whose directory it is.
#[test]
fn journals_that_do_not_say_whose_directory_it_is_replay_as_they_were() {
    let mut s = Session::idle(claude());
    s.feed(Event::Signal { file: named(1), fresh: true, sessions: 1, dir_ok: false, dir: None });
    s.settings();
    s.saved(1);
    s.end(TERM_CODE);
    assert!(s.last.iter().any(|a| matches!(a, Action::Spawn { dir: None, .. })));
}

#[test]
fn a_bare_directory_needs_exactly_one_session() {
    let bare = || RestartSignal::Directory { dir: "/home/u/proj".to_owned() };
    for sessions in [0, 2, 9] {
        let mut s = Session::idle(claude());
        assert_eq!(s.signal_file(bare(), sessions), "restart.ignored");
    }
    let mut s = Session::idle(claude());
    assert!(s.signal_file(bare(), 1).starts_with("consume signal, restart.requested"));
}

#[test]
fn every_other_signal_is_left_alone_with_its_reason() {
    let malformed = RestartSignal::Malformed {
        reason: "it names neither a conversation nor an absolute path".to_owned(),
    };
    let cases = [
        (named(9), true, "names conversation 00000009"),
        (named(1), false, "before this session started"),
        (malformed, true, "neither a conversation nor"),
    ];
    for (file, fresh, why) in cases {
        for s in [Session::idle(claude()), Session::busy(claude())] {
            let mut s = s;
            s.expect(
                Event::Signal { file: file.clone(), fresh, sessions: 1, dir_ok: true, dir: None },
                "restart.ignored",
            );
            assert!(s.sentences().contains(why), "{}", s.sentences());
            assert_eq!(s.phase(), "running");
        }
    }
    let mut s = Session::started(plain());
    assert_eq!(s.signal_file(named(1), 1), "restart.ignored");
}

#[test]
fn a_signal_during_a_hand_over_is_left_alone() {
    let mut s = Session::stopping(claude());
    assert_eq!(s.signal_file(named(1), 1), "restart.ignored");
    let mut s = Session::delivering(claude());
    assert_eq!(s.signal_file(named(2), 1), "restart.ignored");
    let mut s = Session::cooling(claude());
    assert_eq!(s.signal_file(named(1), 1), "restart.ignored");
    assert!(s.sentences().contains("the program is not running"));
}

/// A crash is not a hand-over: the same conversation runs again.
#[test]
fn a_signal_that_came_while_claude_did_not_run_counts_once_it_does() {
    let bare = || RestartSignal::Directory { dir: "/home/u/proj".to_owned() };
    let mut s = Session::cooling(claude());
    assert_eq!(s.signal_file(bare(), 1), "restart.ignored");
    assert!(s.sentences().contains("Put a restart signal off"), "{}", s.sentences());
    s.tick();
    let words = s.exec();
    assert!(words.contains("consume signal, restart.requested"), "{words}");
    // The hand-over under way was what it asked for.
    let mut s = Session::stopping(claude());
    assert_eq!(s.signal_file(bare(), 1), "restart.ignored");
    s.end(TERM_CODE);
    s.exec();
    s.boot(StartSource::Startup);
    s.prompt(PromptOf::Ours);
    assert_eq!(s.phase(), "running");
    assert!(!s.all.iter().any(|action| matches!(action, Action::ConsumeSignal { .. })));
    let mut s = Session::delivering(claude());
    s.signal_file(bare(), 1);
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Empty);
    s.prompt(PromptOf::Ours);
    assert_eq!(s.phase(), "running");
    assert_eq!(s.count("consume signal"), 0);
    // A hand-over that fails is not.
    let mut s = Session::idle(claude());
    s.restart(Asker::Person);
    assert_eq!(s.phase(), "saving");
    assert_eq!(s.signal_file(bare(), 1), "restart.ignored");
    let mut cancelled = Session { sup: s.sup.clone(), ..Session::new(claude()) };
    cancelled.now = s.now;
    let words = s.feed(Event::SaveFailed { error: "no space".to_owned() });
    assert!(words.contains("consume signal, restart.requested"), "{words}");
    // Ctrl+C cancels.
    cancelled.ctrl_c();
    cancelled.feed(Event::SaveFailed { error: "no space".to_owned() });
    assert_eq!(cancelled.phase(), "running");
    assert!(!cancelled.all.iter().any(|action| matches!(action, Action::ConsumeSignal { .. })));
}

#[test]
fn a_signal_while_a_level_waits_joins_it() {
    let mut s = Session::busy(claude());
    s.usage(85);
    assert_eq!(s.signal_file(named(1), 1), "consume signal");
    assert_eq!(s.ctrl_c(), "", "it is explicit now, and stands");
    assert_eq!(s.phase(), "waiting");
}

#[test]
fn restart_of_an_idle_session_begins_at_once() {
    let mut s = Session::idle(claude());
    let words = s.restart(Asker::Person);
    assert_eq!(words, "accepted, restart.requested, wait, safe_point.reached, hold keys, save");
}

#[test]
fn what_runs_code_is_compared_unless_a_person_asks() {
    let mut s = Session::idle(claude());
    assert!(
        s.restart(Asker::Descendant).ends_with("check settings"),
        "a tool could plant a hook and run it so"
    );
    let words = s.feed(Event::Settings { changed: vec!["hooks".to_owned()] });
    assert_eq!(words, "restart.cancelled, notice, release keys");
    assert_eq!(
        s.sentences(),
        "Held the hand-over requested inside the session: settings that run code have changed since launch \
         (hooks); accept them with `hopty restart` in another terminal."
    );
    assert_eq!(s.phase(), "running");
    assert!(s.restart(Asker::Person).ends_with("hold keys, save"));
}

#[test]
fn changed_settings_hold_what_a_level_or_a_signal_asks_for() {
    let held = |rules: u32, asks: &dyn Fn(&mut Session)| {
        let mut s = Session::idle(Policy { rules, ..claude() });
        asks(&mut s);
        s.feed(Event::Settings { changed: vec!["hooks".to_owned()] });
        s.sentences()
    };
    let level = |s: &mut Session| drop(s.usage(85));
    let signal = |s: &mut Session| drop(s.signal_file(named(1), 1));
    let mut s = Session::idle(claude());
    level(&mut s);
    s.feed(Event::Settings { changed: vec!["hooks".to_owned()] });
    for event in [HookEvent::UserPromptSubmit, HookEvent::Stop] {
        s.call(event);
        assert_eq!(s.sup.next_handover(s.now).unwrap().when, HandoverWhen::Held, "after {event:?}");
    }
    assert!(s.all.iter().any(|action| matches!(action, Action::Decide { decision } if decision.is_held())));
    s.usage(20);
    assert_eq!(s.sup.next_handover(s.now).unwrap().when, HandoverWhen::Level, "Claude has compacted");
    assert!(held(RULES, &level).starts_with("Held the hand-over requested by a context level: settings"));
    assert!(held(RULES, &signal).starts_with("Held the hand-over requested by a restart signal: settings"));
    // The words in journals of earlier rules.
    assert_eq!(
        held(4, &|s| drop(s.restart(Asker::Descendant))),
        "Cancelled the hand-over requested by `hopty restart`: settings that run code have changed since \
         launch (hooks); accept them with `hopty restart`."
    );
}

#[test]
fn restart_of_a_busy_session_waits() {
    let mut s = Session::busy(claude());
    assert_eq!(s.restart(Asker::Descendant), "accepted, restart.requested, wait");
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 3, let 3 go");
    assert_eq!(s.call(HookEvent::Stop), "hold 4, safe_point.reached, hold keys, check settings");
}

#[test]
fn now_means_the_next_tool_boundary_inside_and_at_once_outside() {
    let mut s = Session::busy(claude());
    assert_eq!(s.restart_now(Asker::Descendant), "accepted, restart.requested, wait");
    assert_eq!(s.call(HookEvent::PostToolBatch), "hold 3, safe_point.reached, hold keys, check settings");

    let mut s = Session::busy(claude());
    let words = s.restart_now(Asker::Person);
    assert_eq!(words, "accepted, restart.requested, wait, safe_point.reached, hold keys, save");
    assert!(s.sentences().contains("as requested"));
    assert_eq!(s.call(HookEvent::PostToolBatch), "stop turn 3", "nothing more goes out");
    assert_eq!(s.saved(1), "handoff.saved, handoff.claimed, collect, SIGTERM Child, stop.sent");
}

#[test]
fn now_hurries_a_restart_that_waits() {
    let mut s = Session::busy(claude());
    s.restart(Asker::Person);
    assert_eq!(s.restart_now(Asker::Person), "accepted, safe_point.reached, hold keys, save");
}

#[test]
fn without_a_handoff_nothing_is_saved_or_delivered() {
    let mut s = Session::idle(claude());
    let words = s.feed(Event::Restart {
        id: 1,
        by: Asker::Person,
        order: RestartOrder { at_once: false, handoff: false },
    });
    assert_eq!(
        words,
        "accepted, restart.requested, wait, safe_point.reached, hold keys, collect, SIGTERM Child, stop.sent"
    );
    assert_eq!(s.end(TERM_CODE), "run.ended, reap, spawn 2 Fresh");
    assert_eq!(s.exec(), "run.spawned, follow, release keys draft");
    assert_eq!(s.phase(), "running");
}

/// Whether the run that was just requested gets the first prompt of the person's arguments.
fn keeps_first_prompt(s: &Session) -> bool {
    s.last.iter().any(|action| matches!(action, Action::Spawn { first_prompt: true, .. }))
}

#[test]
fn a_first_prompt_that_was_submitted_goes_to_no_other_run() {
    let mut s = Session::silent(claude());
    s.prompt(PromptOf::Person);
    s.call(HookEvent::Stop);
    // Another conversation of the same run, in which nothing was said.
    s.boot(StartSource::Clear);
    s.feed(Event::Restart {
        id: 1,
        by: Asker::Person,
        order: RestartOrder { at_once: true, handoff: false },
    });
    assert!(s.end(TERM_CODE).ends_with("spawn 2 Fresh"));
    assert!(!keeps_first_prompt(&s));
    let mut s = Session::silent(claude());
    s.feed(Event::Restart {
        id: 1,
        by: Asker::Person,
        order: RestartOrder { at_once: true, handoff: false },
    });
    assert!(s.end(TERM_CODE).ends_with("spawn 2 Fresh"));
    assert!(keeps_first_prompt(&s), "without a handoff, too");
}

#[test]
fn a_first_prompt_that_claude_has_answered_goes_to_no_other_run() {
    let mut s = Session::silent(claude());
    // Its hook was lost.
    s.usage(5);
    s.feed(Event::Restart {
        id: 1,
        by: Asker::Person,
        order: RestartOrder { at_once: true, handoff: false },
    });
    assert!(s.end(TERM_CODE).ends_with("spawn 2 Fresh"));
    assert!(!keeps_first_prompt(&s));
}

#[test]
fn a_prompt_that_comes_while_claude_is_stopped_right_away_is_held() {
    let mut s = Session::busy(claude());
    assert!(s.restart_now(Asker::Person).ends_with("safe_point.reached, hold keys, save"));
    assert_eq!(s.prompt(PromptOf::Person), "hold 3");
    assert!(s.saved(1).contains("SIGTERM"));
    assert_eq!(s.count("let 3 go"), 0, "its run never works on it");
    let mut s = Session::busy(claude());
    s.restart_now(Asker::Person);
    s.prompt(PromptOf::Person);
    let words = s.feed(Event::SaveFailed { error: "no space left on device".to_owned() });
    assert_eq!(words, "restart.cancelled, notice, message 3, release keys", "Claude works on it");
}

#[test]
fn where_nothing_was_said_claude_starts_afresh_without_a_handoff() {
    let stops = "handoff.skipped, collect, SIGTERM Child, stop.sent";
    for how in ["command", "at once", "signal", "tool"] {
        let mut s = Session::silent(claude());
        let words = match how {
            "command" => s.restart(Asker::Person),
            "at once" => s.restart_now(Asker::Person),
            "signal" => [s.signal_file(named(1), 1), s.settings()].join(", "),
            _ => [s.restart(Asker::Descendant), s.settings()].join(", "),
        };
        assert!(words.ends_with(stops) && s.count("save") == 0, "{how}: {words}");
        assert!(
            s.sentences().contains(
                "Nothing has been said in this conversation: Claude starts afresh without a handoff."
            ),
            "{how}: {}",
            s.sentences()
        );
        assert_eq!(s.end(TERM_CODE), "run.ended, reap, spawn 2 Fresh");
        assert!(keeps_first_prompt(&s), "{how}");
        assert_eq!(s.exec(), "run.spawned, follow, release keys draft");
        assert_eq!((s.phase(), s.sup.restarts()), ("running", 1), "{how}");
        // The next one is as silent; `/clear` makes one silent.
        s.boot(StartSource::Startup);
        assert!(s.restart(Asker::Person).ends_with(stops), "{how}");
    }
    let mut cleared = Session::busy(claude());
    cleared.call(HookEvent::Stop);
    cleared.session_start(StartSource::Clear, Some(conversation(7)));
    cleared.status(SessionsFileStatus::Idle);
    cleared.after(20_000);
    assert!(cleared.restart(Asker::Person).ends_with(stops), "{:?}", cleared.sup.phase());
}

/// The arguments show that nothing was said, before any hook does.
#[test]
fn before_the_first_hook_a_fresh_claude_is_replaced_without_a_handoff() {
    let mut s = Session::started_with(claude(), true);
    s.status(SessionsFileStatus::Idle);
    s.screen(PromptBox::Empty);
    s.after(60_000);
    let words = s.restart(Asker::Person);
    assert!(words.ends_with("handoff.skipped, collect, SIGTERM Child, stop.sent"), "{words}");
    let mut s = Session::started_with(claude(), true);
    assert!(s.restart_now(Asker::Person).contains("handoff.skipped"));
    // What is said later counts.
    let mut s = Session::started_with(claude(), true);
    s.boot(StartSource::Startup);
    s.prompt(PromptOf::Person);
    s.call(HookEvent::Stop);
    s.after(60_000);
    assert!(s.restart(Asker::Person).ends_with("hold keys, save"));
}

#[test]
fn whatever_was_said_is_handed_over() {
    let mut resumed = Session::started(claude());
    resumed.boot(StartSource::Resume);
    // With arguments that resume a conversation, or have a prompt.
    let mut early = Session::started(claude());
    early.status(SessionsFileStatus::Idle);
    early.screen(PromptBox::Empty);
    let mut asked = Session::silent(claude());
    asked.prompt(PromptOf::Person);
    asked.call(HookEvent::Stop);
    let mut measured = Session::silent(claude());
    measured.usage(1);
    // Its handoff has not reached the conversation.
    let mut unread = Session::delivering(claude());
    unread.boot(StartSource::Startup);
    unread.ctrl_c();
    // Rules 4 save a handoff of an empty conversation.
    let before = Session::silent(Policy { rules: 4, ..claude() });
    for (how, mut s) in [
        ("resumed", resumed),
        ("early", early),
        ("asked", asked),
        ("measured", measured),
        ("unread", unread),
        ("before", before),
    ] {
        s.after(60_000);
        let words = s.restart(Asker::Person);
        assert!(words.ends_with("hold keys, save"), "{how}: {words}");
    }
}

#[test]
fn a_prompt_before_the_safe_point_is_handed_over() {
    let mut s = Session::silent(claude());
    s.feed(Event::Restart { id: 1, by: Asker::Descendant, order: RestartOrder::USUAL });
    assert_eq!(s.phase(), "saving");
    s.prompt(PromptOf::Person);
    assert_eq!(s.phase(), "waiting");
    s.call(HookEvent::Stop);
    assert!(s.settings().ends_with("save"), "{:?}", s.sup.phase());
}

#[test]
fn without_a_handoff_at_a_tool_boundary_the_turn_is_ended() {
    let mut s = Session::busy(claude());
    s.feed(Event::Restart {
        id: 1,
        by: Asker::Descendant,
        order: RestartOrder { at_once: true, handoff: false },
    });
    s.call(HookEvent::PostToolBatch);
    s.settings();
    assert_eq!(s.lines(), "stop turn 3");
    assert_eq!(s.status(SessionsFileStatus::Idle), "collect, SIGTERM Child, stop.sent");
}

#[test]
fn another_request_of_a_descendant_is_no_event_where_it_changes_nothing() {
    let mut s = Session::busy(claude());
    let asked = |s: &Session, at_once, handoff| {
        s.sup.restart_changes_nothing(s.now, RestartOrder { at_once, handoff })
    };
    assert_eq!(asked(&s, false, true), None);
    s.feed(Event::Restart { id: 1, by: Asker::Descendant, order: RestartOrder::USUAL });
    for (at_once, handoff, reply) in
        [(false, true, Some(Reply::Accepted)), (false, false, Some(Reply::Accepted)), (true, true, None)]
    {
        let before = s.sup.clone();
        assert_eq!(asked(&s, at_once, handoff), reply, "{at_once} {handoff}");
        s.feed(Event::Restart { id: 2, by: Asker::Descendant, order: RestartOrder { at_once, handoff } });
        assert_eq!(s.sup.phase() == before.phase(), reply.is_some(), "{at_once} {handoff}");
    }
    s.call(HookEvent::PostToolBatch);
    assert_eq!(s.phase(), "saving");
    assert!(matches!(asked(&s, true, true), Some(Reply::Refused { .. })));
}

#[test]
fn refused_while_handing_over_and_when_nothing_runs() {
    let mut saving = Session::idle(claude());
    saving.restart(Asker::Person);
    for mut s in
        [saving, Session::stopping(claude()), Session::delivering(claude()), Session::cooling(claude())]
    {
        assert_eq!(s.restart(Asker::Person), "refused", "{}", s.phase());
    }
    let mut s = Session::new(claude());
    assert_eq!(s.restart(Asker::Person), "refused");
    let mut s = Session::idle(claude());
    s.end(ProcessEnd::Exited(0));
    assert_eq!(s.restart(Asker::Person), "already ended");
}

#[test]
fn a_plain_program_is_restarted_with_its_own_arguments() {
    let mut s = Session::started(plain());
    let words = s.restart(Asker::Person);
    assert_eq!(
        words,
        "accepted, restart.requested, wait, safe_point.reached, hold keys, collect, SIGTERM Child, stop.sent"
    );
    assert_eq!(s.end(signal(15)), "run.ended, reap, spawn 2 First");
    assert_eq!(s.exec(), "run.spawned, release keys");
}

/// Hands over once, from an idle Claude to an idle Claude.
fn hand_over(s: &mut Session, n: u32) {
    s.restart(Asker::Person);
    s.saved(n);
    s.end(TERM_CODE);
    s.exec();
    s.boot(StartSource::Startup);
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Ours);
    s.call(HookEvent::Stop);
    s.status(SessionsFileStatus::Idle);
    s.screen(PromptBox::Empty);
}

#[test]
fn exactly_so_many_restarts_within_the_window() {
    for how in ["command", "level", "signal"] {
        let mut policy = claude();
        policy.config.restart.max_restarts = 3;
        let mut s = Session::idle(policy);
        for n in 1..=3 {
            hand_over(&mut s, n);
            assert_eq!(s.phase(), "running", "restart {n}");
        }
        match how {
            "command" => {
                assert_eq!(s.restart(Asker::Person), "refused");
                s.after(3_600_000);
                assert!(s.restart(Asker::Person).starts_with("accepted"), "the window is over");
                continue;
            }
            "level" => {
                s.usage(20);
                assert_eq!(s.usage(95), "level.crossed, restart.ignored, notice");
            }
            _ => assert_eq!(s.signal_file(named(4), 1), "restart.ignored"),
        }
        assert!(
            s.sentences().contains("the limit of 3 restarts within the window is reached"),
            "{}",
            s.sentences()
        );
        assert_eq!((s.phase(), s.sup.restarts()), ("running", 3), "{how}: Claude goes on");
        // It is reported once, and when there is room again the level counts.
        if how == "level" {
            s.prompt(PromptOf::Person);
            assert!(!s.call(HookEvent::Stop).contains("notice"));
            s.after(3_600_000);
            s.prompt(PromptOf::Person);
            assert!(s.call(HookEvent::Stop).contains("restart.requested"));
        }
    }
}

/// Version 0 of the rules ended the session.
#[test]
fn journals_of_the_first_rules_end_at_the_limit() {
    let mut policy = Policy { rules: 0, ..claude() };
    policy.config.restart.max_restarts = 1;
    let mut s = Session::idle(policy);
    hand_over(&mut s, 1);
    s.usage(95);
    s.settings();
    s.saved(2);
    assert_eq!(s.end(TERM_CODE), "run.ended, reap, session.ended, close RestartLimit 143");
    assert!(s.sentences().contains("HO-20261120-142950-00000002 is waiting"), "{}", s.sentences());
}

#[test]
fn no_level_hands_over_what_began_above_it() {
    let mut s = Session::idle(claude());
    hand_over(&mut s, 1);
    // The first context usage of a conversation that hopty started.
    assert_eq!(s.usage(85), "level.crossed, restart.ignored, notice");
    assert!(s.sentences().contains("started at level handoff"), "{}", s.sentences());
    s.prompt(PromptOf::Person);
    s.call(HookEvent::Stop);
    assert_eq!(s.phase(), "running");
    assert!(s.usage(93).contains("restart.requested"), "the level above it is another matter");
    // A conversation that a person resumed at such a usage was not hopty's choice.
    let mut s = Session::idle(claude());
    assert!(s.usage(85).contains("restart.requested"));
    // A conversation that grew is handed over as well.
    let mut s = Session::idle(claude());
    hand_over(&mut s, 1);
    s.usage(10);
    assert!(s.usage(85).contains("restart.requested"));
}

#[test]
fn whoever_wants_a_handoff_gets_one() {
    let mut s = Session::busy(claude());
    s.feed(Event::Restart {
        id: 1,
        by: Asker::Person,
        order: RestartOrder { at_once: false, handoff: false },
    });
    s.restart(Asker::Person);
    assert!(s.call(HookEvent::Stop).ends_with("save"));
}
