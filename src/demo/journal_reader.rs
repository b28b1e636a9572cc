//! Reads hopty's journal while it is written: decisions with reasons, context usage and ends of turns.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::core::context_level::Fill;
use crate::core::ids::ConversationId;
use crate::core::supervisor::action::{Decision, DecisionKind};
use crate::core::text::safe_text::thousands;
use crate::core::time::WallTime;
use crate::fs::file_tail::{Tail, TailRead};

/// Bytes read at a time.
const CHUNK: usize = 16 * 1024;

/// A context usage that hopty read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UsageLine {
    /// The wall clock time of reading.
    pub(super) at: WallTime,
    pub(super) conversation: String,
    pub(super) tokens: u64,
    /// The context window, in tokens.
    pub(super) window: u64,
}

impl UsageLine {
    pub(super) fn percent(&self) -> u64 {
        u64::from(Fill { tokens: self.tokens, window: self.window, bytes: 0 }.percent())
    }

    /// The usage as a line for the person.
    pub(super) fn in_words(&self) -> String {
        format!(
            "context {} % ({} of {} tokens)",
            self.percent(),
            thousands(self.tokens),
            thousands(self.window)
        )
    }
}

#[derive(Debug)]
pub(super) struct JournalReader {
    tail: Tail,
    partial: Vec<u8>,
    /// The wall clock time of the host's start, from the `open` line.
    begun: WallTime,
    /// The decisions and when they were made, oldest first.
    pub(super) decisions: Vec<(WallTime, Decision)>,
    pub(super) usages: Vec<UsageLine>,
    /// The conversations whose turns ended, once for each turn.
    pub(super) ended_turns: Vec<String>,
}

impl JournalReader {
    /// The journal at `path`, which need not exist yet.
    pub(super) fn new(path: &Path) -> JournalReader {
        JournalReader {
            tail: Tail::new(path),
            partial: Vec::new(),
            begun: WallTime::default(),
            decisions: Vec::new(),
            usages: Vec::new(),
            ended_turns: Vec::new(),
        }
    }

    /// Reads new lines.
    pub(super) fn read(&mut self) {
        let mut buf = [0; CHUNK];
        while let Ok(TailRead::Bytes(n)) = self.tail.read(&mut buf) {
            self.partial.extend_from_slice(&buf[..n]);
            while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.partial.drain(..=end).collect();
                if let Ok(value) = serde_json::from_slice(&line) {
                    self.line(&value);
                }
            }
        }
    }

    fn line(&mut self, line: &Value) {
        // All lines must use one clock, or a reading and the decision based on it change places.
        let t = line["t"].as_u64().unwrap_or(0);
        let at = self.begun.after(t);
        let (event, hook) = (&line["event"], &line["event"]["hook"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if line.get("open").is_some() {
            let opened = line["at"].as_str().and_then(WallTime::parse).unwrap_or_default();
            self.begun = WallTime(opened.0 - i64::try_from(t).unwrap_or(0));
        } else if let Ok(decision) = Decision::deserialize(&line["decision"]) {
            self.decisions.push((at, decision));
        } else if event["kind"] == "usage" {
            let number = |key: &str| event[key].as_u64().unwrap_or(0);
            let (tokens, window) = (number("tokens"), number("window"));
            self.usages.push(UsageLine { at, conversation: text(&event["conversation"]), tokens, window });
        } else if hook["event"] == "Stop" {
            self.ended_turns.push(text(&hook["conversation"]));
        }
    }

    /// The conversations that were started, oldest first.
    pub(super) fn conversations(&self) -> Vec<String> {
        let begun = self.decisions.iter().filter(|(_, decision)| decision.kind == DecisionKind::RunSpawned);
        begun.filter_map(|(_, decision)| Some(decision.conversation.as_ref()?.to_string())).collect()
    }

    /// The first decision of this kind, and when it was made.
    pub(super) fn first(&self, kind: DecisionKind) -> Option<&(WallTime, Decision)> {
        self.decisions.iter().find(|(_, decision)| decision.kind == kind)
    }

    /// The conversation that was given the continuation prompt.
    pub(super) fn continued(&self) -> Option<&ConversationId> {
        self.first(DecisionKind::DeliverySubmitted)?.1.conversation.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_journal_is_read_while_it_grows_torn_lines_included() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let mut journal = JournalReader::new(&path);
        journal.read();
        let mut file = std::fs::File::create(&path).unwrap();
        let usage = r#"{"kind":"usage","conversation":"c","tokens":184000,"window":200000}"#;
        writeln!(file, r#"{{"seq":1,"t":5,"at":"2026-11-20T14:00:00.005Z","open":{{}}}}"#).unwrap();
        writeln!(file, r#"{{"seq":2,"t":20,"event":{usage}}}"#).unwrap();
        write!(file, r#"{{"seq":3,"t":30,"event":{{"kind":"hook","id":1,"hook":{{"event":"Stop","conver"#)
            .unwrap();
        journal.read();
        assert_eq!((journal.usages[0].percent(), journal.ended_turns.len()), (92, 0));
        writeln!(file, r#"sation":"c"}}}}}}"#).unwrap();
        writeln!(file, "no json").unwrap();
        let decision = r#"{"kind":"handoff.saved","run":1,"sentence":"Saved.","because":[3]}"#;
        // Rounded down, while the reading that it is based on was rounded up.
        writeln!(file, r#"{{"seq":5,"t":40,"at":"2026-11-20T14:00:00.039Z","decision":{decision}}}"#)
            .unwrap();
        journal.read();
        assert_eq!(journal.ended_turns, ["c"]);
        let (at, saved) = journal.first(DecisionKind::HandoffSaved).unwrap();
        assert_eq!(
            (saved.sentence.as_str(), at.rfc3339_ms().as_str()),
            ("Saved.", "2026-11-20T14:00:00.040Z")
        );
        assert_eq!(journal.first(DecisionKind::DeliveryStarted), None);
    }
}
