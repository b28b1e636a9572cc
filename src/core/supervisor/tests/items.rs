//! Requirements of the source documents that no other scenario covers: `docs/SEEDS.md` lists every item and
//! its tests.

use super::*;
use crate::core::claude::hooks::stdout;
use crate::core::config::{DurationMs, RestartMode, Threshold};
use crate::core::supervisor::action::{HookAnswer, SignalTarget};
use crate::core::supervisor::handover_question::AskAnswer;

/// The main loop: an end that hopty caused leads to the next run; the same end without hopty does not.
#[test]
fn item_001_what_hopty_stopped_goes_round_again_and_what_ended_by_itself_does_not() {
    let mut s = Session::stopping(claude());
    assert_eq!(s.end(ProcessEnd::Exited(0)), "run.ended, reap, spawn 2 Fresh");
    assert_eq!(s.exec(), "run.spawned, follow, delivery.started");
    let mut s = Session::idle(claude());
    assert_eq!(s.end(ProcessEnd::Exited(0)), "run.ended, reap, session.ended, close Finished 0");
    assert_eq!(s.count("spawn 2 Fresh"), 0);
}

/// The transcript of the followed conversation is the one that Claude's own hook reports, and only of the
/// main conversation.
#[test]
fn item_009_the_file_that_is_followed_is_the_one_that_claude_names() {
    let mut s = Session::started(claude());
    let named = |agent: bool, path: &str, of: &ConversationId| HookFacts {
        source: Some(StartSource::Startup),
        transcript: Some(path.to_owned()),
        agent,
        ..hook(HookEvent::SessionStart, of)
    };
    s.hook(named(false, "/p/one.jsonl", &conversation(1)));
    s.hook(named(true, "/p/of-a-helper.jsonl", &conversation(8)));
    let followed: Vec<_> = s
        .all
        .iter()
        .filter_map(|action| match action {
            Action::Follow { conversation, transcript, .. } => {
                Some((conversation.clone(), transcript.as_deref()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(followed.last(), Some(&(conversation(1), Some("/p/one.jsonl"))));
    assert!(followed.iter().all(|(of, _)| *of == conversation(1)), "{followed:?}");
}

/// There is no second process that could signal the wrong one, or itself.
#[test]
fn item_063_only_the_child_and_what_it_started_is_ever_signalled() {
    let mut s = Session::stopping(claude());
    s.pass(60_000);
    s.end(signal(9));
    s.exec();
    s.feed(Event::Stop { id: 5, kill: true });
    s.end(signal(9));
    let to: Vec<_> = s
        .all
        .iter()
        .filter_map(|action| match action {
            Action::Signal { to, .. } => Some(*to),
            _ => None,
        })
        .collect();
    assert!(
        to.len() >= 3 && to.iter().all(|to| matches!(to, SignalTarget::Child | SignalTarget::Group)),
        "{to:?}"
    );
    let after = s.all.len();
    s.pass(60_000);
    assert!(
        !s.all[after..].iter().any(|action| matches!(action, Action::Signal { .. })),
        "nobody is left to be signalled"
    );
}

/// 130 is what a shell reports for Ctrl+C: with the person's key it ends the session, whatever was under way.
/// Without the key it is a program's own code and does not show what the person wants.
#[test]
fn item_032_a_hundred_and_thirty_after_ctrl_c_is_the_end_in_every_phase() {
    let phases: [fn() -> Session; 5] = [
        || Session::busy(claude()),
        || Session::stopping(claude()),
        || Session::delivering(claude()),
        || {
            let mut waiting = Session::busy(claude());
            waiting.restart(Asker::Person);
            waiting
        },
        || {
            let mut saving = Session::busy(claude());
            saving.restart(Asker::Descendant);
            saving.call(HookEvent::Stop);
            saving
        },
    ];
    for session in phases {
        let mut s = session();
        let (phase, run) = (s.phase(), s.sup.run());
        s.ctrl_c();
        s.end(ProcessEnd::Exited(130));
        assert!(
            matches!(s.sup.phase(), Phase::Closed { cause: EndCause::UserInterrupt, code: 130 }),
            "{phase}"
        );
        assert_eq!((s.sup.run(), s.sup.next_deadline()), (run, None), "{phase}: no run follows");
    }
    let mut s = Session::busy(claude());
    s.end(ProcessEnd::Exited(130));
    assert_eq!(s.phase(), "cooling", "nobody pressed a key: the conversation is resumed");
}

/// A broken network ends a turn, not the session: hopty continues after a pause, and does what was requested
/// for the end of that turn.
#[test]
fn item_068_a_turn_that_a_broken_connection_ended_costs_no_conversation() {
    let mut s = Session::busy(claude());
    s.usage(70);
    let failed = HookFacts {
        error: Some("server_error".to_owned()),
        ..hook(HookEvent::StopFailure, &conversation(1))
    };
    assert!(s.hook(failed).starts_with("let "));
    s.status(SessionsFileStatus::Idle);
    s.screen(PromptBox::Empty);
    assert_eq!(s.pass(60_000), "hold keys, go on after Error");
    assert_eq!((s.phase(), s.sup.run()), ("running", 1), "nothing is restarted for it");
    s.screen(PromptBox::Ours);
    s.prompt(PromptOf::Sent);
    s.status(SessionsFileStatus::Busy);
    s.usage(85);
    assert!(s.call(HookEvent::Stop).contains("safe_point.reached"));
}

fn asking() -> Policy {
    let mut policy = Policy { notes: true, ..claude() };
    policy.config.restart.mode = RestartMode::Ask;
    policy
}

/// Dismissed, then in progress, then snoozed, then below the level: each of them prevents the question;
/// without them it is asked.
#[test]
fn item_107_each_reason_not_to_ask_is_silent_in_its_turn() {
    let silent = |s: &mut Session| {
        let said = s.prompt(PromptOf::Person);
        assert!(said.starts_with("let "), "{said}");
    };
    let mut s = Session::idle(asking());
    silent(&mut s); // under the level
    s.usage(62);
    assert!(s.prompt(PromptOf::Person).starts_with("tell Ask"));
    silent(&mut s); // in progress
    let call =
        |answer| HookFacts { answered: Some(answer), ..hook(HookEvent::PostToolBatch, &conversation(1)) };
    s.hook(call(AskAnswer::Snooze));
    silent(&mut s); // snoozed
    s.pass(300_000);
    assert!(s.prompt(PromptOf::Person).starts_with("tell Ask"), "a snooze that is over is forgotten");
    s.hook(call(AskAnswer::Dismiss));
    s.pass(3_000_000);
    silent(&mut s); // dismissed, whatever else is so
}

/// `THRESHOLD` and `SNOOZE_DURATION` are configuration keys with the defaults 60 and 300; the offered answer
/// contains the duration.
#[test]
fn item_108_the_threshold_and_the_snooze_are_sixty_and_five_minutes_or_as_configured() {
    let asks_at = |policy: Policy| {
        let mut s = Session::idle(policy);
        (1..=100).find(|percent| {
            s.usage(*percent);
            let said = s.prompt(PromptOf::Person);
            s.status(SessionsFileStatus::Busy);
            s.status(SessionsFileStatus::Idle);
            said.starts_with(&format!("tell Ask {{ percent: {percent}, "))
        })
    };
    assert_eq!(asks_at(asking()), Some(60));
    let mut lower = asking();
    lower.config.context.ask = Threshold::percent(35.0);
    assert_eq!(asks_at(lower), Some(35));
    for (snooze, label) in
        [(None, "'Snooze 5 min'"), (Some(720), "'Snooze 12 min'"), (Some(45), "'Snooze 45s'")]
    {
        let mut policy = asking();
        if let Some(seconds) = snooze {
            policy.config.restart.snooze = DurationMs::from_secs(seconds);
        }
        let mut s = Session::idle(policy);
        s.usage(62);
        s.prompt(PromptOf::Person);
        let order = s.all.iter().find_map(|action| match action {
            Action::AnswerHook { with: with @ HookAnswer::Tell { .. }, .. } => {
                Some(stdout(HookEvent::UserPromptSubmit, with, None))
            }
            _ => None,
        });
        assert!(order.unwrap().contains(label), "{label}");
        s.status(SessionsFileStatus::Busy);
        s.hook(HookFacts {
            answered: Some(AskAnswer::Snooze),
            ..hook(HookEvent::PostToolBatch, &conversation(1))
        });
        let ms = snooze.unwrap_or(300) * 1000;
        s.pass(ms - 1);
        assert!(s.prompt(PromptOf::Person).starts_with("let "), "{label} is not over");
        s.pass(1);
        assert!(s.prompt(PromptOf::Person).starts_with("tell Ask"), "{label} is over");
    }
}

/// Work may use the window up to 80 %; the next ten points are for the hand-over and its note; above 90 %
/// hopty asks Claude for nothing more.
#[test]
fn item_088_work_has_eighty_the_handoff_ten_and_the_last_ten_are_left() {
    let spends = |percent: u64| {
        let mut s = Session::busy(Policy { notes: true, ..claude() });
        s.usage(percent);
        let tool = s.call(HookEvent::PostToolBatch);
        if tool.contains("safe_point.reached") {
            return (true, tool.contains("tell Note"), true);
        }
        (false, tool.contains("tell NoteInLoop"), s.call(HookEvent::Stop).contains("safe_point.reached"))
    };
    for percent in 1..=100 {
        let (at_a_tool, words, stops) = spends(percent);
        let expected = match percent {
            ..80 => (false, false, false),
            80..90 => (false, true, true),
            _ => (true, false, true),
        };
        assert_eq!((at_a_tool, words, stops), expected, "{percent} %");
    }
}

/// The table of atomic operations is the policy of safe points: a test may finish and a result is waited for,
/// while there is time; everything else is interrupted.
#[test]
fn item_090_a_test_is_completed_and_a_result_waited_for_before_a_hand_over() {
    let over = |percent| {
        let mut s = Session::busy(claude());
        s.usage(percent);
        s.after(120_000);
        s.call_with_lines(HookEvent::PostToolBatch);
        s
    };
    let mut s = over(82);
    assert!(s.lines_in(Cut::Free).contains("safe_point.reached"), "an implementation is saved in part");
    for cut in [Cut::Complete, Cut::Wait] {
        let mut s = over(82);
        assert!(s.lines_in(cut).ends_with("let 3 go"), "{cut:?}");
        s.call_with_lines(HookEvent::PostToolBatch);
        assert!(s.lines_in(Cut::Free).contains("safe_point.reached"), "{cut:?}: it is done");
        // The end of a turn is a safe point whatever was written last.
        let mut s = over(82);
        s.lines_in(cut);
        s.call_with_lines(HookEvent::Stop);
        assert!(s.lines_in(cut).contains("safe_point.reached"), "{cut:?}");
        // Not forever, and not above the hard level.
        let mut s = over(82);
        s.lines_in(cut);
        s.after(120_000);
        s.call_with_lines(HookEvent::PostToolBatch);
        assert!(s.lines_in(cut).contains("safe_point.reached"), "{cut:?}: as long as restart.work_wait");
        assert!(over(92).lines_in(cut).contains("safe_point.reached"), "{cut:?}: there is no room");
    }
}
