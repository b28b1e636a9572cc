//! Reads hopty's journal while it is written: decisions with reasons, context usage, hook calls and Enters.

use std::path::Path;

use serde_json::Value;

use crate::core::context_level::Fill;
use crate::core::text::safe_text::thousands;
use crate::core::time::WallTime;
use crate::fs::file_tail::{Tail, TailRead};

/// Bytes read at a time.
const CHUNK: usize = 16 * 1024;

/// A decision in the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DecisionLine {
    /// The wall clock time.
    pub(super) at: WallTime,
    /// Its kind: `restart.requested`, ...
    pub(super) kind: String,
    /// The reason, in one sentence.
    pub(super) sentence: String,
    /// The handoff concerned, or empty.
    pub(super) handoff: String,
    /// The conversation concerned, or empty.
    pub(super) conversation: String,
    /// The level concerned, or empty.
    pub(super) level: String,
}

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

/// A hook call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HookLine {
    /// The wall clock time.
    pub(super) at: WallTime,
    /// Its event: `Stop`, ...
    pub(super) event: String,
    /// The conversation that called.
    pub(super) conversation: String,
}

#[derive(Debug)]
pub(super) struct JournalReader {
    tail: Tail,
    partial: Vec<u8>,
    /// The wall clock time of the host's start, from the `open` line.
    begun: WallTime,
    /// The decisions, oldest first.
    pub(super) decisions: Vec<DecisionLine>,
    pub(super) usages: Vec<UsageLine>,
    pub(super) hooks: Vec<HookLine>,
    /// The number of Enters that hopty pressed.
    pub(super) enters: usize,
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
            hooks: Vec::new(),
            enters: 0,
        }
    }

    /// Reads new lines; returns whether there were any.
    pub(super) fn read(&mut self) -> bool {
        let mut any = false;
        let mut buf = [0; CHUNK];
        while let Ok(TailRead::Bytes(n)) = self.tail.read(&mut buf) {
            any = true;
            self.partial.extend_from_slice(&buf[..n]);
            while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.partial.drain(..=end).collect();
                if let Ok(value) = serde_json::from_slice(&line) {
                    self.line(&value);
                }
            }
        }
        any
    }

    fn line(&mut self, line: &Value) {
        // All lines must use one clock, or a reading and the decision based on it change places.
        let t = line["t"].as_u64().unwrap_or(0);
        let at = self.begun.after(t);
        if line.get("open").is_some() {
            let opened = line["at"].as_str().and_then(WallTime::parse).unwrap_or_default();
            self.begun = WallTime(opened.0 - i64::try_from(t).unwrap_or(0));
        } else if let Some(decision) = line.get("decision") {
            let text = |key: &str| text(&decision[key]);
            self.decisions.push(DecisionLine {
                at,
                kind: text("kind"),
                sentence: text("sentence"),
                handoff: text("handoff"),
                conversation: text("conversation"),
                level: text("level"),
            });
        } else if let Some(event) = line.get("event") {
            let conversation = text(&event["conversation"]);
            match event["kind"].as_str() {
                Some("usage") => {
                    let number = |key: &str| event[key].as_u64().unwrap_or(0);
                    self.usages.push(UsageLine {
                        at,
                        conversation,
                        tokens: number("tokens"),
                        window: number("window"),
                    });
                }
                Some("hook") => {
                    let hook = &event["hook"];
                    let (event, conversation) = (text(&hook["event"]), text(&hook["conversation"]));
                    self.hooks.push(HookLine { at, event, conversation });
                }
                _ => {}
            }
        } else if line["action"]["typing"]["what"] == "enter" {
            self.enters += 1;
        }
    }

    pub(super) fn conversations(&self) -> Vec<&str> {
        let begun = self.decisions.iter().filter(|decision| decision.kind == "run.spawned");
        begun.map(|decision| decision.conversation.as_str()).collect()
    }

    pub(super) fn first(&self, kind: &str) -> Option<&DecisionLine> {
        self.decisions.iter().find(|decision| decision.kind == kind)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
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
        assert!(!journal.read());
        let mut file = std::fs::File::create(&path).unwrap();
        writeln!(file, r#"{{"seq":1,"t":5,"at":"2026-11-20T14:00:00.005Z","open":{{}}}}"#).unwrap();
        writeln!(file, r#"{{"seq":2,"t":20,"event":{{"kind":"usage","conversation":"c","tokens":184000,"window":200000}}}}"#).unwrap();
        write!(file, r#"{{"seq":3,"t":30,"event":{{"kind":"hook","id":1,"hook":{{"event":"Stop","conver"#)
            .unwrap();
        assert!(journal.read());
        assert_eq!((journal.usages[0].percent(), journal.hooks.len()), (92, 0));
        writeln!(file, r#"sation":"c"}}}}}}"#).unwrap();
        writeln!(file, "no json").unwrap();
        writeln!(file, r#"{{"seq":4,"t":31,"action":{{"kind":"type","typing":{{"what":"enter"}}}}}}"#)
            .unwrap();
        let decision = r#"{"kind":"handoff.saved","handoff":"HO-1","sentence":"Saved."}"#;
        // Rounded down, while the reading that it is based on was rounded up.
        writeln!(file, r#"{{"seq":5,"t":40,"at":"2026-11-20T14:00:00.039Z","decision":{decision}}}"#)
            .unwrap();
        assert!(journal.read());
        assert_eq!(journal.hooks[0].at.rfc3339_ms(), "2026-11-20T14:00:00.030Z");
        assert_eq!(journal.enters, 1);
        let saved = journal.first("handoff.saved").unwrap();
        assert_eq!(
            (saved.handoff.as_str(), saved.at.rfc3339_ms().as_str()),
            ("HO-1", "2026-11-20T14:00:00.040Z")
        );
        assert_eq!(journal.first("delivery.started"), None);
    }
}
