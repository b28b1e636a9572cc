//! What people and scripts are told: states, sentences, reasons.

use super::*;

#[test]
fn states_are_those_of_the_later_witness() {
    let mut s = Session::started(claude());
    assert_eq!(s.sup.state(), ("starting", Stamp(0), "none"));
    s.session_start(Source::Startup, None);
    assert_eq!(s.sup.state().0, "idle");
    s.after(5);
    s.status(AgentStatus::Idle);
    assert_eq!(s.sup.state(), ("idle", Stamp(5), "sessions_file"));
    s.after(5);
    s.prompt(PromptOf::Person);
    assert_eq!(s.sup.state(), ("busy", Stamp(10), "hook"), "the file does not say so yet");
    s.after(5);
    s.status(AgentStatus::Busy);
    assert_eq!(s.sup.state(), ("busy", Stamp(15), "sessions_file"));
    s.after(5);
    s.status(AgentStatus::Idle);
    assert_eq!(s.sup.state(), ("idle", Stamp(20), "sessions_file"), "interrupted: no hook fires");
    s.status(AgentStatus::Waiting);
    assert_eq!(s.sup.state().0, "blocked");
    s.status(AgentStatus::Idle);
    s.after(5);
    s.dialog("trust");
    assert_eq!(s.sup.state(), ("blocked", Stamp(25), "screen"));
    s.end(ProcessEnd::Stopped(Signal(20)));
    assert_eq!(s.sup.state(), ("stopped", Stamp(25), "none"));
    s.end(ProcessEnd::Continued);
    s.end(ProcessEnd::Exited(0));
    assert_eq!(s.sup.state().0, "ended");
    assert_eq!(Session::cooling(claude()).sup.state().0, "starting");
    assert_eq!(Session::started(plain()).sup.state().0, "unknown");
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
            assert!(text.ends_with('.') && text.starts_with(|c: char| c.is_uppercase() || text.starts_with("hopty")), "{text}");
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
        Action::Decide { decision } if decision.kind == DecisionKind::RestartRequested => Some(decision.clone()),
        _ => None,
    });
    assert_eq!(requested.unwrap().because, [usage]);
}

#[test]
fn a_level_by_size_is_told_in_size() {
    let mut policy = claude();
    policy.config.context.handoff = crate::core::config::Level::kb(100);
    let mut s = Session::busy(policy);
    let conversation = s.current();
    s.feed(Event::Usage { conversation, tokens: 0, window: 0, bytes: 200 * 1024 });
    assert!(s.sentences().contains("The transcript has 200 KiB; a hand-over was requested."), "{}", s.sentences());
}
