//! Replays lead to the same actions, or name the first difference.

use super::journal::*;
use crate::core::config::Config;
use crate::core::ids::ConversationId;
use crate::core::supervisor::event::{AttachKind, Event};
use crate::core::supervisor::{Policy, ProgramKind};
use crate::core::time::{Stamp, WallTime};

const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

fn id() -> ConversationId {
    ID.parse().unwrap()
}

/// A short session: started, filled to 82 %, ended.
fn events() -> Vec<Event> {
    let end = crate::core::process_change::ProcessEnd::Exited(0);
    vec![
        Event::Start {
            conversation: Some(id()),
            next: id(),
            handoff: None,
            fresh: true,
            prompt: None,
            command: false,
            before: None,
        },
        Event::Started { run: 1, pid: 4242, next: Some(id()) },
        Event::Usage { conversation: id(), tokens: 164_000, window: 200_000, bytes: 0 },
        Event::Attached { client: 1, how: AttachKind::Starts },
        Event::Child { run: 1, end },
    ]
}

fn policy() -> Policy {
    Policy {
        agent: ProgramKind::Claude,
        hooks: true,
        notes: true,
        submit_when_idle: false,
        sessions_file: true,
        no_handover: None,
        rules: 1,
        config: Config::default(),
    }
}

fn journal() -> String {
    let mut recorder = JournalRecorder::new(policy());
    let mut text = recorder.open_line(Stamp(0), WallTime(0), "0.1.0");
    for (n, event) in (0..).zip(&events()) {
        recorder.step(Stamp(n * 1000), WallTime(0), event, &mut text);
    }
    text
}

#[test]
fn numbers_rise_by_one_over_every_line() {
    let text = journal();
    let seqs: Vec<u64> = text.lines().map(|l| serde_json::from_str::<JournalLine>(l).unwrap().seq).collect();
    assert_eq!(seqs, (1..=u64::try_from(seqs.len()).unwrap()).collect::<Vec<_>>());
}

#[test]
fn a_torn_last_line_is_passed_over_and_a_torn_one_before_it_is_not() {
    let text = journal();
    let Replay::Same { events, .. } = replay(&text).unwrap() else { panic!() };
    assert_eq!(events, 5);
    let torn = format!("{text}{{\"seq\":99,\"t\":1,\"ev");
    assert!(matches!(replay(&torn), Ok(Replay::Same { events: 5, .. })));
    assert!(matches!(replay(&format!("{torn}\n")), Err(ReplayError::Unreadable { .. })));
}

#[test]
fn other_text_is_not_replayed() {
    let text = journal();
    let headless = text.split_once('\n').unwrap().1;
    assert!(matches!(replay(headless), Err(ReplayError::NoOpen(2))));
    let other = text.replacen("\"core\":1", "\"core\":2", 1);
    assert!(matches!(replay(&other), Err(ReplayError::OtherCore { found: 2 })));
    assert!(matches!(replay(""), Ok(Replay::Same { events: 0, actions: 0, .. })));
}

#[test]
fn a_policy_that_was_changed_differs_where_it_matters() {
    let text = journal();
    let moved = text.replacen("\"handoff\":{\"percent\":80.0}", "\"handoff\":{\"percent\":85.0}", 1);
    assert_ne!(moved, text);
    let Replay::Differs { recorded, replayed, .. } = replay(&moved).unwrap() else { panic!("the same") };
    assert!(
        recorded.contains("(level handoff)") && replayed.contains("(level warn)"),
        "{recorded} / {replayed}"
    );
    let other = text.replacen("\"scrollback_lines\":2000", "\"scrollback_lines\":3000", 1);
    assert_ne!(other, text);
    assert!(matches!(replay(&other), Ok(Replay::Same { .. })), "no rule reads it");
}

/// The journal with the text of its only usage decision changed, and a digest that matches.
fn in_other_words(from: &str, to: &str) -> String {
    let mut text = journal().replacen(from, to, 1);
    assert!(text.contains(to), "{text}");
    while let Replay::Differs { recorded, replayed, .. } = replay(&text).unwrap() {
        let digest = |of: &str| of.rsplit_once("(chain ").unwrap().1.trim_end_matches(')').to_owned();
        text = text.replacen(&digest(&recorded), &digest(&replayed), 1);
    }
    text
}

#[test]
fn a_sentence_that_was_mended_since_is_the_same_decision() {
    let now = "Context is at 82 % of 200000 tokens; hand-over requested.";
    let then = "Of 200000 tokens 82 % are used, so hopty wants to hand over.";
    let text = in_other_words(now, then);
    assert!(matches!(replay(&text).unwrap(), Replay::Same { events: 5, .. }));
}

#[test]
fn a_decision_that_differs_in_more_than_words_is_found() {
    let text = journal();
    for (from, to) in [
        ("Context is at 82 % of 200000 tokens; h", "Context is at 83 % of 200000 tokens; h"),
        ("\"kind\":\"restart.requested\"", "\"kind\":\"restart.ignored\""),
        ("\"by\":\"level\"", "\"by\":\"signal\""),
        ("\"because\":[", "\"because\":[99,"),
    ] {
        let other = text.replacen(from, to, 1);
        assert_ne!(other, text, "{from}");
        let Replay::Differs { recorded, .. } = replay(&other).unwrap() else { panic!("{to} is the same") };
        assert!(!recorded.contains("(chain "), "the decision itself differs: {recorded}");
    }
    let other = text.replacen("hand-over requested", "hand-over forbidden", 1);
    let Replay::Differs { replayed, .. } = replay(&other).unwrap() else { panic!("the same") };
    assert!(replayed.contains("changed after it was written"), "{replayed}");
}

#[test]
fn an_open_line_needs_no_more_than_the_contract_shows() {
    let text = "{\"seq\":1,\"t\":0,\"open\":{\"journal\":1,\"hopty\":\"0.1.0\",\"core\":1,\"config\":{\"restart\":{\"mode\":\"auto\"}},\"state\":null}}\n";
    let usage = format!(
        "{{\"seq\":2,\"t\":61,\"event\":{{\"kind\":\"usage\",\"conversation\":\"{ID}\",\"tokens\":1,\"window\":2}}}}\n"
    );
    assert!(matches!(replay(&format!("{text}{usage}")), Ok(Replay::Same { events: 1, actions: 0, .. })));
}

#[test]
fn the_last_decision_that_explains_something() {
    let text = journal();
    let attached = text.lines().position(|l| l.contains("client.attached")).unwrap();
    let until: String = text.lines().take(attached + 1).map(|l| format!("{l}\n")).collect();
    assert_eq!(
        last_explained(&until).unwrap().1.sentence,
        "Context is at 82 % of 200000 tokens; hand-over requested."
    );
    assert!(last_explained(&text).unwrap().1.sentence.starts_with("The program finished by itself."));
    assert_eq!(decisions(&text).count(), text.matches("\"decision\"").count());
    assert!(last_explained("not a journal\n{}").is_none());
}

/// Journals of earlier releases, rotated in many states (written by `laws::histories`): each as a whole, and
/// each of its files alone.
#[test]
fn journals_of_the_release_before_replay() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals");
    let mut rotated = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut files: Vec<String> = vec![text.clone()];
        for line in text.lines() {
            if line.contains("\"open\":") {
                files.push(String::new());
            }
            files.last_mut().unwrap().extend([line, "\n"]);
        }
        rotated += files.len() - 2;
        for file in files {
            let found = replay(&file).unwrap();
            assert!(matches!(found, Replay::Same { .. }), "{}: {found:?}", path.display());
        }
    }
    assert!(rotated > 30, "{rotated}");
}

#[test]
fn a_journal_of_other_settings_than_today_s_constants_is_not_replayed() {
    let text = journal();
    let (first, rest) = text.split_once('\n').unwrap();
    let mut open: serde_json::Value = serde_json::from_str(first).unwrap();
    for (value, same) in [("200ms", true), ("1s", false)] {
        open["open"]["config"]["delivery"]["enter_every"] = value.into();
        let replayed = replay(&format!("{open}\n{rest}"));
        assert_eq!(replayed.is_ok(), same, "{value}: {replayed:?}");
    }
    let error = replay(&format!("{open}\n{rest}")).unwrap_err().to_string();
    assert!(error.contains("delivery.enter_every was 1s when it was recorded"), "{error}");
}
