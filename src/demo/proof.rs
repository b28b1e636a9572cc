//! Checks whether the loop really happened. Each claim of the closing page is compared with what is left:
//! hopty's journal, the API's request log, Claude's transcripts, the store and the file.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::demo_dirs::DemoDirs;
use super::demo_terminal::DemoTerminal;
use super::journal_reader::{JournalReader, UsageLine};
use super::scripted_model::WORDS;
use crate::core::ids::ConversationId;
use crate::core::time::WallTime;
use crate::standin::api::Api;
use crate::standin::request::{ApiRequest, AskerKind};
use crate::sys::clock::Clock;

/// Most bytes of a file that are read.
const MAX_FILE: u64 = 16 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The client's exit code; `None` if it had to be killed.
    pub(super) code: Option<i32>,
    /// Whether the inner terminal is restored to its state before hopty.
    pub(super) whole: bool,
    /// The conversation that the person started.
    pub(super) old: Conversation,
    /// The conversation that continued.
    pub(super) new: Conversation,
    /// Whether the level `hard` was crossed.
    pub(super) hard: bool,
    /// The context usage at the hand-over, as hopty read it.
    pub(super) fill: UsageLine,
    pub(super) handoff: String,
    /// The complete `CURRENT.md`.
    pub(super) document: String,
    /// The brief of the new conversation.
    pub(super) brief: String,
    /// Its status in the manifest.
    pub(super) status: String,
    /// Whether its record has `handoff.md` and `state.json`.
    pub(super) recorded: bool,
    /// How many requests the old conversation sent after the hook at which it was handed over.
    pub(super) late: usize,
    /// Whether the new conversation's first request contains the whole brief.
    pub(super) framed: bool,
    /// How often the continuation prompt is in that request.
    pub(super) prompts: usize,
    /// Whether that request contains the goal verbatim.
    pub(super) goal: bool,
    /// The time from the hook to that request, in ms.
    pub(super) gap_ms: Option<i64>,
    /// The number of Enters that hopty pressed.
    pub(super) enters: usize,
    pub(super) lines: Vec<String>,
}

/// One conversation, from its transcript and its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conversation {
    /// Its id; empty if there was none.
    pub(super) id: String,
    /// The number of tool uses in the transcript.
    pub(super) uses: usize,
    /// The number of tool results in the transcript.
    pub(super) results: usize,
    pub(super) requests: usize,
}

impl Facts {
    /// Collects the facts; nothing may have been removed yet.
    pub(super) fn gather(
        inner: &mut DemoTerminal,
        journal: &JournalReader,
        api: &Api,
        place: &DemoDirs,
    ) -> Facts {
        let of = |kind: &str| journal.first(kind).cloned().unwrap_or_default();
        let (old, new) = (of("run.spawned").conversation, of("delivery.submitted").conversation);
        let handoff = of("handoff.saved").handoff;
        let saved = of("handoff.saved").at;
        let hooks =
            journal.hooks.iter().filter(|hook| hook.event == "PostToolBatch" && hook.conversation == old);
        let hook = hooks.take_while(|hook| hook.at <= saved).last().map(|hook| hook.at);
        let first = main_requests(api, &new).into_iter().next();
        let store = place.paths.claude.join("handoff");
        let record = store.join("records").join(&handoff);
        let usage = journal.usages.iter().rev().find(|usage| usage.conversation == old);
        let prompt = format!("Continue from handoff {handoff}.");
        let texts: Vec<String> = first.iter().flat_map(|first| first.texts()).map(|(_, text)| text).collect();
        let told = |needle: &str| texts.iter().any(|text| text.contains(needle));
        let manifest: Value =
            serde_json::from_str(&read(&store.join("global.manifest.json"))).unwrap_or_default();
        let current = Some(&manifest["current"]).filter(|current| current["id"] == handoff.as_str());
        Facts {
            code: inner.exit_code(),
            whole: inner.is_whole(),
            hard: journal
                .decisions
                .iter()
                .any(|decision| decision.kind == "level.crossed" && decision.level == "hard"),
            fill: usage.cloned().unwrap_or_default(),
            document: read(&store.join("global-CURRENT.md")),
            brief: read(&record.join("brief.md")),
            status: current.and_then(|current| current["status"].as_str()).unwrap_or_default().to_owned(),
            recorded: !handoff.is_empty()
                && ["handoff.md", "brief.md", "state.json"].iter().all(|file| record.join(file).is_file()),
            late: main_requests(api, &old)
                .iter()
                .filter(|request| hook.is_some_and(|hook| wall(request) > hook))
                .count(),
            framed: told(&format!("=== HANDOFF LOADED (ID: {handoff}) ===")) && told("=== END HANDOFF ==="),
            prompts: texts.iter().map(|text| text.matches(&prompt).count()).sum(),
            goal: told(super::scripted_model::GOAL),
            gap_ms: first.as_ref().zip(hook).map(|(first, hook)| wall(first).0 - hook.0),
            enters: journal.enters,
            lines: read(&place.file()).lines().map(str::to_owned).collect(),
            old: Conversation::of(old, api, place),
            new: Conversation::of(new, api, place),
            handoff,
        }
    }

    /// What did not happen, in a few words each; empty after a complete loop.
    pub(super) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let mut check = |holds: bool, what: String| {
            if !holds {
                missing.push(what);
            }
        };
        let (old, new) = (&self.old, &self.new);
        check(
            self.code == Some(0),
            self.code.map_or("hopty did not end".to_owned(), |code| format!("hopty ended with code {code}")),
        );
        check(self.whole, "the terminal was not restored".to_owned());
        check(self.hard, "the context never crossed the level `hard`".to_owned());
        check(!self.handoff.is_empty() && self.recorded, "no handoff was saved".to_owned());
        check(
            self.document.contains(&self.handoff) && self.document.contains(super::scripted_model::GOAL),
            "CURRENT.md does not contain the handoff and its goal".to_owned(),
        );
        check(
            self.late == 0,
            format!("the old conversation sent {} more request(s) after the hand-over", self.late),
        );
        check(
            old.uses > 0 && old.uses == old.results,
            format!("the old transcript has {} tool uses and {} results", old.uses, old.results),
        );
        check(!new.id.is_empty() && new.id != old.id, "no new conversation was given the prompt".to_owned());
        check(
            self.framed,
            "the first request of the new conversation does not contain the handoff".to_owned(),
        );
        check(self.goal, "the first request of the new conversation does not contain the goal".to_owned());
        check(self.prompts == 1, format!("the continuation prompt is in it {} times", self.prompts));
        check(
            new.uses > 0 && new.uses == new.results,
            format!("the new transcript has {} tool uses and {} results", new.uses, new.results),
        );
        check(
            self.status == "consumed",
            format!("the handoff is {:?} in the manifest, not consumed", self.status),
        );
        check(self.lines == WORDS, format!("the file holds {:?}", self.lines.join(" ")));
        missing
    }
}

impl Conversation {
    fn of(id: String, api: &Api, place: &DemoDirs) -> Conversation {
        let path = id.parse::<ConversationId>().ok().and_then(|id| place.paths.find_transcript(&id));
        let text = path.map(|path| read(&path)).unwrap_or_default();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let blocks = |role: &str, kind: &str| {
            let own = lines.iter().filter(|line| line["type"] == role && line["isSidechain"] != true);
            let blocks = own.filter_map(|line| line["message"]["content"].as_array()).flatten();
            blocks.filter(|block| block["type"] == kind).count()
        };
        let requests = main_requests(api, &id).len();
        Conversation {
            uses: blocks("assistant", "tool_use"),
            results: blocks("user", "tool_result"),
            requests,
            id,
        }
    }
}

fn main_requests(api: &Api, conversation: &str) -> Vec<std::sync::Arc<ApiRequest>> {
    let all = api.requests_of(conversation);
    all.into_iter().filter(|request| request.kind == AskerKind::Main).collect()
}

/// The wall clock time of a request.
fn wall(request: &ApiRequest) -> WallTime {
    let ago = i64::try_from(request.at.elapsed().as_millis()).unwrap_or(0);
    WallTime(Clock::wall().0 - ago)
}

/// A file as text; empty if it cannot be read.
fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.take(MAX_FILE).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The facts of a complete loop.
    pub(in super::super) fn good() -> Facts {
        let conversation =
            |id: &str, uses: usize| Conversation { id: id.to_owned(), uses, results: uses, requests: uses };
        let handoff = "HO-20261120-142950-c74cc080".to_owned();
        Facts {
            code: Some(0),
            whole: true,
            old: conversation("c74cc080-94b9-4841-b82f-a62cfb8efdc0", 7),
            new: conversation("0b0c9c5e-0000-4000-8000-000000000000", 4),
            hard: true,
            fill: UsageLine { tokens: 184_000, window: 200_000, ..UsageLine::default() },
            brief: format!("=== HANDOFF LOADED (ID: {handoff}) ===\n"),
            document: format!("<!-- {handoff} -->\n# Goal\n{}\n", super::super::scripted_model::GOAL),
            handoff,
            status: "consumed".to_owned(),
            recorded: true,
            late: 0,
            framed: true,
            prompts: 1,
            goal: true,
            gap_ms: Some(640),
            enters: 1,
            lines: WORDS.map(str::to_owned).to_vec(),
        }
    }

    #[test]
    fn a_complete_run_has_nothing_missing() {
        assert_eq!(good().missing(), Vec::<String>::new());
    }

    #[test]
    fn every_failure_is_named() {
        type Spoil = fn(&mut Facts);
        let breaks: [(Spoil, &str); 14] = [
            (|f| f.code = Some(125), "code 125"),
            (|f| f.code = None, "did not end"),
            (|f| f.whole = false, "not restored"),
            (|f| f.hard = false, "never crossed"),
            (|f| f.recorded = false, "no handoff"),
            (|f| f.document.clear(), "CURRENT.md"),
            (|f| f.late = 1, "1 more request"),
            (|f| f.old.results = 6, "7 tool uses and 6 results"),
            (|f| f.new.id = f.old.id.clone(), "no new conversation"),
            (|f| f.framed = false, "does not contain the handoff"),
            (|f| f.goal = false, "does not contain the goal"),
            (|f| f.prompts = 2, "2 times"),
            (|f| f.status = "active".to_owned(), "\"active\""),
            (|f| _ = f.lines.pop(), "the file holds"),
        ];
        for (spoil, word) in breaks {
            let mut facts = good();
            spoil(&mut facts);
            let missing = facts.missing();
            assert!(missing.len() == 1 && missing[0].contains(word), "{word}: {missing:?}");
        }
    }

    #[test]
    fn a_run_that_never_began_lacks_nearly_everything() {
        assert!(Facts::default().missing().len() > 8);
    }
}
