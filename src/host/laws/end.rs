//! The end of a history: everything still pending happens, and then nothing may be missing.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Key, World};
use crate::core::supervisor::phase::Phase;

/// What a run received.
#[derive(Debug, Default)]
struct Found {
    /// Keys by their bytes, and how often each arrived.
    keys: BTreeMap<Vec<u8>, u32>,
    /// Bytes that no person typed.
    strange: Vec<Vec<u8>>,
}

/// The start and the end of hopty's own prompt.
const OWN: (&[u8], &[u8]) = (b"Continue from handoff ", b"go on with the next step.");

impl Found {
    /// `halves` belong to clients that left in the middle of a key; a run may end in the middle of one of
    /// `keys`.
    fn of(mut bytes: &[u8], halves: &[Vec<u8>], keys: &[Key]) -> Found {
        let mut found = Found::default();
        while let Some(first) = bytes.first() {
            let length = match found.key(bytes) {
                Some(length) => length,
                None if [&b"\x1b[200~"[..], b"\x1b[201~"].iter().any(|mark| bytes.starts_with(mark)) => 6,
                None if [&b"\x1b[A"[..], b"\x1b[B"].iter().any(|key| bytes.starts_with(key)) => 3,
                None if matches!(first, b'\r' | b'\x03' | b'\n') => 1,
                None if bytes.starts_with(OWN.0) => bytes
                    .windows(OWN.1.len())
                    .position(|part| part == OWN.1)
                    .map_or(bytes.len(), |at| at + OWN.1.len()),
                // An answer to the program's query of its terminal.
                None if bytes.starts_with(b"\x1b[?") => {
                    bytes.iter().position(|b| *b == b'c').map_or(bytes.len(), |at| at + 1)
                }
                // It took the first letter of a script's word as the end of an unfinished key.
                None if !halves.is_empty()
                    && bytes.get(4) == Some(&b'.')
                    && bytes[..4].iter().all(u8::is_ascii_digit) =>
                {
                    5
                }
                None if keys.iter().any(|key| key.bytes.starts_with(bytes)) => bytes.len(),
                None if halves.iter().any(|half| bytes.starts_with(half)) => {
                    halves.iter().filter(|half| bytes.starts_with(half)).map(Vec::len).max().unwrap_or(1)
                }
                None => {
                    let until = bytes[1..]
                        .iter()
                        .position(|b| matches!(b, 0x1b | b'\r'))
                        .map_or(bytes.len(), |at| at + 1);
                    found.strange.push(bytes[..until].to_vec());
                    until
                }
            };
            bytes = &bytes[length..];
        }
        found
    }

    /// The length of a whole key at the front.
    fn key(&mut self, bytes: &[u8]) -> Option<usize> {
        let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
        let word = bytes.get(..6).filter(|w| w[0].is_ascii_uppercase() && digits(&w[1..5]) && w[5] == b'.');
        let sequence = || {
            let end = bytes.iter().take(16).position(|b| *b == b'~')?;
            let inner = bytes.get(..end)?.strip_prefix(b"\x1b[")?;
            let (client, n) = inner.split_at(inner.iter().position(|b| *b == b';')?);
            (client.len() == 4 && digits(client) && digits(&n[1..])).then(|| &bytes[..=end])
        };
        let key = word.or_else(sequence)?;
        *self.keys.entry(key.to_vec()).or_default() += 1;
        Some(key.len())
    }
}

impl World {
    /// Runs everything to its end and checks the last laws.
    pub(super) fn wind_down(&mut self) {
        self.hangs_until = None;
        for n in 0..self.clients.len() {
            self.clients[n].stalled = false;
            self.finish(n);
            self.take_back(n);
            self.rest();
        }
        if self.stage.last(|child| std::mem::take(&mut child.stopped)) == Some(true) {
            self.stage
                .last(|child| child.changes.push_back(crate::core::process_change::ProcessEnd::Continued));
            self.child_changed();
        }
        for _ in 0..400 {
            if self.over {
                break;
            }
            while self.host.jobs.are_busy() {
                self.work();
            }
            self.rest();
            // While a disk hangs, changes cannot be seen: a person accepts them.
            if matches!(self.host.phase(), Phase::Cooling { held, .. } if !held.is_empty()) {
                self.request(json!({"do": "restart"}), 1000);
            }
            // A child that was told to end does so now, and a dialog is closed.
            if self.claude.dialog || self.stage.last(|child| child.dying) == Some(true) {
                self.act(1);
            } else if self.claude.busy && self.claude.submitted.is_empty() && self.claude.drawn {
                self.end_turn();
            } else {
                self.act(9);
            }
            self.rest();
            self.pass_resting(6000);
        }
        let settled = self.host.keyboard.held.is_settled();
        assert!(self.over || settled, "keys are still held: {:?}\n{}", self.host.keyboard, self.story());
        if !self.over {
            self.request(json!({"do": "stop"}), 1000);
            for _ in 0..40 {
                self.rest();
                if self.over {
                    break;
                }
                if self.plain || self.stage.last(|child| child.dying) == Some(true) {
                    self.end(crate::core::process_change::ProcessEnd::Exited(143));
                }
                while self.host.jobs.are_busy() {
                    self.work();
                }
                self.rest();
                self.pass_resting(2000);
            }
        }
        assert!(self.over, "the session does not end: {:?}\n{}", self.host.phase(), self.story());
        self.check_answers();
        self.check_keys();
    }

    fn check_answers(&self) {
        for caller in &self.callers {
            for asked in &caller.asked {
                // A run that has ended answers no hook: Claude gets no answer and is gone.
                assert!(asked.answers == 1 || caller.hook, "never answered: {asked:?}\n{}", self.story());
            }
        }
    }

    fn check_keys(&self) {
        let runs: Vec<Vec<u8>> = self.stage.0.borrow().iter().map(|child| child.received.clone()).collect();
        let unsent = std::fs::read(self.paths.sessions().join("laws/unsent.txt")).unwrap_or_default();
        // The keys of clients that left in the middle of one.
        let left = |key: &&Key| key.cut && self.clients[key.client].rest.is_some();
        let halves: Vec<Vec<u8>> = self.keys.iter().rev().filter(left).map(Key::half).collect();
        let found: Vec<Found> = runs.iter().map(|bytes| Found::of(bytes, &halves, &self.keys)).collect();
        for (run, found) in found.iter().enumerate() {
            let show = || String::from_utf8_lossy(&runs[run]).escape_debug().to_string();
            let strange: Vec<_> = found.strange.iter().map(|part| escaped(part)).collect();
            assert!(
                strange.is_empty(),
                "run {run} was given {strange:?}, nobody's keys: {}\n{}",
                show(),
                self.story()
            );
            for (key, n) in &found.keys {
                assert!(
                    *n == 1,
                    "run {run} was given {:?} {n} times: {}\n{}",
                    escaped(key),
                    show(),
                    self.story()
                );
                let typed = self.keys.iter().any(|typed| typed.bytes == *key);
                let scripted = matches!(key[0], b'X' | b'Y');
                assert!(
                    typed || scripted,
                    "nobody who may type typed {:?}: {}\n{}",
                    escaped(key),
                    show(),
                    self.story()
                );
            }
        }
        for key in self.keys.iter().filter(|key| key.held && !key.cut) {
            let delivered = found.iter().any(|found| found.keys.contains_key(&key.bytes));
            let named = unsent.windows(key.bytes.len()).any(|part| part == key.bytes);
            assert!(delivered || named, "{:?} was held and is lost\n{}", escaped(&key.bytes), self.story());
            if !delivered {
                self.check_told(key);
            }
        }
    }

    /// Every client attached at the end was told which file has the keys that no run received.
    fn check_told(&self, key: &Key) {
        let told =
            |text: &str| text.contains("Your unsent input is in ") && text.contains("/laws/unsent.txt");
        let last = self.host.farewell_message().unwrap_or_default();
        assert!(
            told(&last),
            "{:?} was held, and its file is not named: {last}\n{}",
            escaped(&key.bytes),
            self.story()
        );
        for bye in
            self.clients.iter().filter_map(|client| client.bye.as_ref()).filter(|bye| bye["why"] == "ended")
        {
            assert!(
                told(bye["message"].as_str().unwrap_or_default()),
                "not told of the file: {bye}\n{}",
                self.story()
            );
        }
    }

    /// The history, for messages.
    pub(super) fn story(&self) -> String {
        let journal =
            std::fs::read_to_string(self.paths.sessions().join("laws/journal.jsonl")).unwrap_or_default();
        let sentences: Vec<&str> = journal.lines().collect();
        let last = sentences.len().saturating_sub(60);
        format!(
            "in {}\n{}\n{}",
            self.root.path().display(),
            sentences[last..].join("\n"),
            self.trace.join(", ")
        )
    }
}

fn escaped(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).escape_debug().to_string()
}
