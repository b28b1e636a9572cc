//! Reports to people and scripts: states, sentences, reasons.

use super::*;

/// State, evidence, and since when.
fn stands(s: &Session) -> (SessionState, StateSource, Stamp) {
    let standing = s.sup.state();
    assert_eq!(standing.waiting_for.is_some(), standing.state == SessionState::Blocked);
    (standing.state, standing.from, s.sup.entered().0)
}

#[test]
fn states_are_those_of_the_later_witness() {
    let mut s = Session::started(claude());
    assert_eq!(stands(&s), (SessionState::Starting, StateSource::None, Stamp(0)));
    s.session_start(StartSource::Startup, None);
    assert_eq!(stands(&s), (SessionState::Idle, StateSource::Hook, Stamp(0)));
    s.after(5);
    s.status(SessionsFileStatus::Idle);
    assert_eq!(stands(&s), (SessionState::Idle, StateSource::SessionsFile, Stamp(0)), "it was idle before");
    s.after(5);
    s.prompt(PromptOf::Person);
    assert_eq!(
        stands(&s),
        (SessionState::Busy, StateSource::Hook, Stamp(10)),
        "the file does not say so yet"
    );
    s.after(5);
    s.status(SessionsFileStatus::Busy);
    assert_eq!(stands(&s), (SessionState::Busy, StateSource::SessionsFile, Stamp(10)));
    s.after(5);
    s.status(SessionsFileStatus::Waiting);
    assert_eq!(stands(&s), (SessionState::Blocked, StateSource::SessionsFile, Stamp(20)));
    s.end(ProcessEnd::Stopped(Signal(20)));
    assert_eq!(stands(&s), (SessionState::Stopped, StateSource::None, Stamp(20)));
    s.end(ProcessEnd::Continued);
    s.end(ProcessEnd::Exited(0));
    assert_eq!(stands(&s).0, SessionState::Ended);
    assert_eq!(stands(&Session::cooling(claude())).0, SessionState::Starting);
    assert_eq!(stands(&Session::started(plain())).0, SessionState::Unknown);
}

#[test]
fn a_level_by_size_is_told_by_size() {
    let mut policy = claude();
    policy.config.context.handoff.kb = Some(600);
    let mut s = Session::idle(policy);
    let conversation = s.current();
    s.feed(Event::Usage {
        conversation: conversation.clone(),
        tokens: 1200,
        window: 1_000_000,
        bytes: 700 << 10,
    });
    assert!(s.sentences().contains("The transcript is 700 KiB long (level handoff)."), "{}", s.sentences());
    assert!(
        s.sentences().contains("The transcript is 700 KiB long; hand-over requested."),
        "{}",
        s.sentences()
    );
    // If the tokens reach a higher level, they count.
    let mut s = Session::idle(s.sup.policy().clone());
    s.feed(Event::Usage { conversation, tokens: 950_000, window: 1_000_000, bytes: 700 << 10 });
    assert!(
        s.sentences().contains("Context is at 95 % of 1000000 tokens (level hard)."),
        "{}",
        s.sentences()
    );
}

/// A prompt right after the end of a turn: the file still reports that end.
#[test]
fn an_idle_of_the_turn_before_ends_no_turn() {
    let mut s = Session::busy(claude());
    s.call(HookEvent::Stop);
    s.after(10);
    s.prompt(PromptOf::Person);
    let (_, submitted) = s.sup.entered();
    s.after(10);
    s.status(SessionsFileStatus::Idle);
    assert_eq!(stands(&s).0, SessionState::Busy);
    s.after(90);
    s.status(SessionsFileStatus::Busy);
    s.pass(10_000);
    assert_eq!(stands(&s).0, SessionState::Busy);
    s.call(HookEvent::Stop);
    s.status(SessionsFileStatus::Idle);
    assert_eq!(stands(&s).0, SessionState::Idle);
    assert!(s.sup.entered().1 > submitted);
}

#[test]
fn an_interrupt_fires_no_hook_and_the_file_is_believed_when_it_stays() {
    let mut s = Session::busy(claude());
    s.status(SessionsFileStatus::Idle);
    assert_eq!(stands(&s).0, SessionState::Busy);
    s.pass(1000);
    assert_eq!((stands(&s).0, stands(&s).1), (SessionState::Idle, StateSource::SessionsFile));
    // A prompt that a person's own hook blocks never changes the file.
    s.prompt(PromptOf::Person);
    s.pass(4000);
    assert_eq!(stands(&s).0, SessionState::Busy);
    s.pass(1000);
    assert_eq!(stands(&s).0, SessionState::Idle);
}

#[test]
fn a_permission_is_known_from_the_hook_on_and_named_by_the_screen() {
    let mut s = Session::busy(claude());
    s.after(50);
    let current = s.current();
    s.hook(HookFacts { asks: Some("permission".to_owned()), ..hook(HookEvent::PermissionRequest, &current) });
    let standing = s.sup.state();
    assert_eq!((standing.state, standing.from), (SessionState::Blocked, StateSource::Hook));
    assert_eq!(standing.waiting_for.as_deref(), Some("permission"));
    s.after(50);
    let waiting_for = Some("input needed".to_owned());
    s.feed(Event::Status { status: SessionsFileStatus::Waiting, conversation: None, waiting_for });
    assert_eq!(s.sup.state().waiting_for.as_deref(), Some("input needed"));
    s.dialog("question");
    assert_eq!(s.sup.state().waiting_for.as_deref(), Some("question"));
    s.screen(PromptBox::Empty);
    s.status(SessionsFileStatus::Busy);
    assert_eq!(stands(&s).0, SessionState::Busy);
}

#[test]
fn a_background_shell_keeps_nobody_from_the_prompt() {
    let mut s = Session::busy(claude());
    s.call(HookEvent::Stop);
    s.status(SessionsFileStatus::Shell);
    assert_eq!(stands(&s).0, SessionState::Idle);
}

#[test]
fn where_nothing_else_speaks_title_and_screen_do() {
    let mut s = Session::started(Policy { hooks: false, ..claude() });
    let mut looks = |busy, title_busy| {
        let facts = ScreenFacts { busy, title_busy, ..ScreenFacts::default() };
        s.feed(Event::Screen { facts });
        (s.sup.state().state, s.sup.state().from)
    };
    assert_eq!(looks(None, None), (SessionState::Starting, StateSource::None));
    assert_eq!(looks(Some(true), None), (SessionState::Busy, StateSource::Screen));
    assert_eq!(looks(Some(true), Some(false)), (SessionState::Idle, StateSource::Title));
    assert_eq!(looks(Some(false), None), (SessionState::Idle, StateSource::Screen));
}

/// Claude without hooks, sessions file and title, of a version whose screens are not known.
#[test]
fn what_nothing_speaks_of_is_unknown_in_the_end() {
    let mut s = Session::started(Policy { hooks: false, ..claude() });
    assert_eq!(s.sup.state().state, SessionState::Starting);
    s.tick();
    assert_eq!((s.sup.state().state, s.sup.entered().0), (SessionState::Unknown, s.now));
    assert_eq!(s.sup.next_deadline(), None, "nobody is woken for it again");
    s.feed(Event::Screen { facts: ScreenFacts { busy: Some(false), ..ScreenFacts::default() } });
    assert_eq!(s.sup.state().state, SessionState::Idle);
}

#[test]
fn every_decision_is_a_sentence_with_reasons_that_exist() {
    let stories = [Session::cooling(claude()), Session::delivering(claude()), {
        let mut s = Session::busy(claude());
        s.usage(95);
        s.ctrl_c();
        s.end(ProcessEnd::Exited(130));
        s
    }];
    for s in stories {
        for (n, action) in s.all.iter().enumerate() {
            let Action::Decide { decision } = action else { continue };
            let text = &decision.sentence;
            assert!(
                text.ends_with('.')
                    && text.starts_with(|c: char| c.is_uppercase() || text.starts_with("hopty")),
                "{text}"
            );
            assert!(!text.contains(".."), "{text}");
            assert!(decision.because.iter().all(|seq| *seq > 0 && *seq <= s.sup.seq()), "{n}: {decision:?}");
        }
        assert!(s.decided(DecisionKind::SessionStarted) && s.spawned(1, StartKind::First));
    }
}

#[test]
fn a_restart_by_level_rests_on_the_usage_that_asked() {
    let mut s = Session::busy(claude());
    s.usage(82);
    let usage = s.sup.seq() - 3;
    let requested = s.last.iter().find_map(|a| match a {
        Action::Decide { decision } if decision.kind == DecisionKind::RestartRequested => {
            Some(decision.clone())
        }
        _ => None,
    });
    assert_eq!(requested.unwrap().because, [usage]);
}

#[test]
fn a_level_by_size_is_told_in_size() {
    let mut policy = claude();
    policy.config.context.handoff = crate::core::config::Threshold::kb(100);
    let mut s = Session::busy(policy);
    let conversation = s.current();
    s.feed(Event::Usage { conversation, tokens: 0, window: 0, bytes: 200 * 1024 });
    assert!(
        s.sentences().contains("The transcript is 200 KiB long; hand-over requested."),
        "{}",
        s.sentences()
    );
}

#[test]
fn no_sentence_shows_a_secret() {
    let mut s = Session::busy(claude());
    s.usage(85);
    s.call(HookEvent::Stop);
    s.settings();
    s.feed(Event::SaveFailed { error: "https://me:hunter22@example.org/x is full".to_owned() });
    assert!(
        s.sentences().contains("https://[redacted: credentials in a URL]@example.org/x is full"),
        "{}",
        s.sentences()
    );
}
