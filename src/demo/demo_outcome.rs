//! What the demo did, from hopty's journal, the API's requests and the file; and what did not happen.

use super::demo_dirs::DemoDirs;
use super::journal_reader::{JournalReader, UsageLine};
use super::scripted_model::WORDS;
use crate::core::process_change::ProcessEnd;
use crate::core::supervisor::action::DecisionKind;
use crate::standin::api::Api;
use crate::sys::clock::Clock;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DemoOutcome {
    /// The client's exit code; `None` if it had to be killed.
    pub(super) code: Option<u8>,
    /// How many answers of the model the first conversation got, each with a tool call.
    pub(super) first_steps: usize,
    /// How many the second one got.
    pub(super) second_steps: usize,
    /// The context usage at the hand-over, as hopty read it.
    pub(super) fill: UsageLine,
    /// The id of the handoff; empty if none was saved.
    pub(super) handoff: String,
    /// The brief of the new conversation; empty if none was saved.
    pub(super) brief: String,
    /// Whether a new conversation was given the continuation prompt.
    pub(super) continued: bool,
    /// The time from the saved handoff to the new conversation's first request, in ms.
    pub(super) gap_ms: Option<i64>,
    /// The lines of the file that the person asked for.
    pub(super) lines: Vec<String>,
}

impl DemoOutcome {
    /// Collects what happened; nothing may have been removed yet.
    pub(super) fn gather(
        end: Option<ProcessEnd>,
        journal: &JournalReader,
        api: &Api,
        place: &DemoDirs,
    ) -> DemoOutcome {
        let text = |path| std::fs::read_to_string(path).unwrap_or_default();
        let saved = journal.first(DecisionKind::HandoffSaved);
        let handoff = saved.and_then(|(_, decision)| decision.handoff.as_ref()).map(ToString::to_string);
        let handoff = handoff.unwrap_or_default();
        let records = place.paths.claude.join("handoff/records");
        let old = journal.conversations().into_iter().next().unwrap_or_default();
        let new = journal.continued().map(ToString::to_string).unwrap_or_default();
        let requests = |conversation: &str| {
            let all = api.main_requests().into_iter();
            all.filter(|request| request.session_id() == Some(conversation)).collect::<Vec<_>>()
        };
        let (before, after) = (requests(&old), requests(&new));
        let usages = journal.usages.iter().rev();
        DemoOutcome {
            code: end.map(ProcessEnd::code),
            first_steps: before.len(),
            // The last answer calls no tool.
            second_steps: after.len().saturating_sub(1),
            fill: usages.clone().find(|usage| usage.conversation == old).cloned().unwrap_or_default(),
            brief: text(records.join(&handoff).join("brief.md")),
            handoff,
            continued: !new.is_empty() && new != old,
            gap_ms: saved.zip(after.first()).map(|((at, _), first)| {
                let ago = i64::try_from(first.at.elapsed().as_millis()).unwrap_or(0);
                Clock::wall().0 - ago - at.0
            }),
            lines: text(place.file()).lines().map(str::to_owned).collect(),
        }
    }

    /// What did not happen, in a few words each; empty after a complete loop. The model only knows what the
    /// handoff tells it, so the lines of the file prove that the handoff reached it.
    pub(super) fn missing(&self) -> Vec<String> {
        let code = || self.code.map_or("did not end".to_owned(), |code| format!("ended with code {code}"));
        let checks = [
            (self.code == Some(0), format!("hopty {}", code())),
            (!self.brief.is_empty(), "no handoff was saved".to_owned()),
            (self.continued, "no new conversation was given the prompt".to_owned()),
            (self.lines == WORDS, format!("the file holds {:?}", self.lines.join(" "))),
        ];
        checks.into_iter().filter(|(holds, _)| !holds).map(|(_, what)| what).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The outcome of a complete loop.
    pub(in super::super) fn good() -> DemoOutcome {
        DemoOutcome {
            code: Some(0),
            first_steps: 7,
            second_steps: 4,
            fill: UsageLine { tokens: 184_000, window: 200_000, ..UsageLine::default() },
            handoff: "HO-20261120-142950-c74cc080".to_owned(),
            brief: "=== HANDOFF LOADED (ID: HO-20261120-142950-c74cc080) ===\n".to_owned(),
            continued: true,
            gap_ms: Some(640),
            lines: WORDS.map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn every_failure_is_named() {
        assert_eq!(good().missing(), Vec::<String>::new());
        type Spoil = fn(&mut DemoOutcome);
        let breaks: [(Spoil, &str); 5] = [
            (|outcome| outcome.code = Some(125), "code 125"),
            (|outcome| outcome.code = None, "did not end"),
            (|outcome| outcome.brief.clear(), "no handoff"),
            (|outcome| outcome.continued = false, "no new conversation"),
            (|outcome| _ = outcome.lines.pop(), "the file holds"),
        ];
        for (spoil, word) in breaks {
            let mut outcome = good();
            spoil(&mut outcome);
            let missing = outcome.missing();
            assert!(missing.len() == 1 && missing[0].contains(word), "{word}: {missing:?}");
        }
    }
}
