//! The lines of a journal, and what can be read from them. Pure.
//!
//! Every event line has `chain`, a running digest of the events and actions so far. It costs 16 characters
//! and detects a changed event even if no action depends on it.
//!
//! A replay compares kinds and fields. Sentences may differ, so that a later release can improve one; the
//! digest covers the recorded sentences.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use super::supervisor::action::{Action, Decision};
use super::supervisor::event::Event;
use super::supervisor::{CORE, Policy, ProgramKind, Supervisor, recorded_state};
use super::time::{Stamp, WallTime};
use crate::core::text::safe_text::{cut_chars, safe_line};

/// The version of the journal's format.
pub const JOURNAL: u32 = 1;

/// A running digest (FNV-1a, 64 bits). It detects accidental changes, not an attacker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JournalDigest(u64);

impl Default for JournalDigest {
    fn default() -> Self {
        JournalDigest(0xcbf2_9ce4_8422_2325)
    }
}

impl JournalDigest {
    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([b'\n']) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn add_event(&mut self, t: Stamp, event: &Value) {
        self.add(&format!("{} {event}", t.0));
    }

    fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Lines missing before an `open` line, because they could not be written.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct JournalGap {
    pub lines: u64,
    /// They include the session's first lines.
    pub start: bool,
}

/// A supervisor, and the journal lines of its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct JournalRecorder {
    pub supervisor: Supervisor,
    chain: JournalDigest,
}

impl JournalRecorder {
    /// A new session with this policy.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        JournalRecorder { supervisor: Supervisor::new(policy), chain: JournalDigest::default() }
    }

    /// The first line of a journal file: the policy, and in a rotated file the whole state.
    pub fn open_line(&mut self, now: Stamp, at: WallTime, version: &str) -> String {
        self.open(now, at, version, None)
    }

    /// The line with which a journal continues after a gap.
    pub fn resume_line(&mut self, now: Stamp, at: WallTime, version: &str, missing: JournalGap) -> String {
        self.open(now, at, version, Some(missing))
    }

    fn open(&mut self, now: Stamp, at: WallTime, version: &str, missing: Option<JournalGap>) -> String {
        let fresh = self.supervisor.seq() == 0;
        let seq = self.supervisor.take_seq();
        let policy = self.supervisor.policy();
        let state =
            if fresh { Value::Null } else { json!({"supervisor": self.supervisor, "chain": self.chain}) };
        let mut open = json!({
            "journal": JOURNAL, "hopty": version, "core": CORE,
            "agent": policy.agent, "hooks": policy.hooks, "notes": policy.notes,
            "submit_when_idle": policy.submit_when_idle,
            "sessions_file": policy.sessions_file, "no_handover": policy.no_handover,
            "rules": policy.rules, "config": policy.config,
            "state": state,
        });
        if let Some(missing) = missing {
            open["missing"] = json!(missing);
        }
        format!("{}\n", json!({"seq": seq, "t": now.0, "at": at.rfc3339_ms(), "open": open}))
    }

    /// Takes a step: appends its journal lines to `lines` and returns the actions.
    pub fn step(&mut self, now: Stamp, at: WallTime, event: &Event, lines: &mut String) -> Vec<Action> {
        let first = self.supervisor.seq() + 1;
        let mut actions = Vec::new();
        self.supervisor.step(now, event, &mut actions);
        let event_json = json!(event);
        self.chain.add_event(now, &event_json);
        for action in &actions {
            self.chain.add(&json!(action).to_string());
        }
        push(lines, &json!({"seq": first, "t": now.0, "event": event_json, "chain": self.chain.hex()}));
        for (seq, action) in (first + 1..).zip(&actions) {
            let line = match action {
                Action::Decide { decision } => {
                    json!({"seq": seq, "t": now.0, "at": at.rfc3339_ms(), "decision": decision})
                }
                action => json!({"seq": seq, "t": now.0, "action": action}),
            };
            push(lines, &line);
        }
        actions
    }
}

fn push(lines: &mut String, line: &Value) {
    lines.push_str(&line.to_string());
    lines.push('\n');
}

/// The parts of a journal line that a reader needs.
#[derive(Clone, Debug, Deserialize)]
pub struct JournalLine {
    pub seq: u64,
    /// Milliseconds since the host started.
    pub t: Stamp,
    /// The policy and state for the lines after it.
    #[serde(default)]
    open: Option<OpenLine>,
    #[serde(default)]
    event: Option<Value>,
    #[serde(default)]
    action: Option<Value>,
    #[serde(default)]
    pub decision: Option<Value>,
    #[serde(default)]
    chain: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct OpenLine {
    core: u32,
    #[serde(default = "claude")]
    agent: ProgramKind,
    #[serde(default = "with_hooks")]
    hooks: bool,
    #[serde(default)]
    notes: bool,
    #[serde(default)]
    submit_when_idle: bool,
    #[serde(default)]
    sessions_file: bool,
    #[serde(default)]
    no_handover: Option<String>,
    #[serde(default)]
    rules: u32,
    #[serde(default, deserialize_with = "with_constants")]
    config: super::config::Config,
    #[serde(default)]
    state: Option<RecordedState>,
    #[serde(default)]
    missing: Option<JournalGap>,
}

/// Configuration keys of earlier releases that are constants now. A journal with another value cannot be
/// replayed by these rules.
const NOW_CONSTANT: [(&str, &str, &str); 7] = [
    ("context", "rearm", "5"),
    ("delivery", "enter_every", "200ms"),
    ("delivery", "enter_max", "20"),
    ("delivery", "confirm_timeout", "30s"),
    ("handoff", "summary_timeout", "90s"),
    ("recovery", "quick_death", "1m"),
    ("recovery", "retries", "5"),
];

fn with_constants<'de, D: serde::Deserializer<'de>>(from: D) -> Result<super::config::Config, D::Error> {
    use serde::de::Error as _;
    let value = Value::deserialize(from)?;
    for (section, key, constant) in NOW_CONSTANT {
        let found = match &value[section][key] {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if found != constant {
            return Err(D::Error::custom(format!(
                "{section}.{key} was {found} when it was recorded; this hopty always uses {constant}"
            )));
        }
    }
    serde_json::from_value(value).map_err(D::Error::custom)
}

fn claude() -> ProgramKind {
    ProgramKind::Claude
}

fn with_hooks() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
struct RecordedState {
    #[serde(deserialize_with = "recorded_state::read")]
    supervisor: Box<Supervisor>,
    chain: JournalDigest,
}

#[derive(Debug, Error)]
pub enum ReplayError {
    #[error("line {0} is not an open line; a journal begins with one")]
    NoOpen(u64),
    #[error("it was written by version {found} of the rules; this hopty has version {CORE}")]
    OtherCore { found: u32 },
    #[error("line {line} cannot be read: {cause}")]
    Unreadable {
        /// From 1.
        line: usize,
        cause: String,
    },
}

#[derive(Debug, PartialEq)]
pub enum Replay {
    /// The events led to the same actions again.
    Same {
        events: usize,
        actions: usize,
        /// Lines missing in the journal.
        missing: u64,
    },
    Differs {
        seq: u64,
        recorded: String,
        replayed: String,
    },
}

/// Runs the events of a journal through the supervisor again.
///
/// # Errors
/// If the text is not a journal, or one of another `core`.
pub fn replay(text: &str) -> Result<Replay, ReplayError> {
    let mut lines = Vec::new();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for (n, raw) in whole.lines().enumerate() {
        let line: JournalLine = serde_json::from_str(raw)
            .map_err(|e| ReplayError::Unreadable { line: n + 1, cause: cause(&e) })?;
        lines.push(line);
    }
    let mut run = ReplayRun::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let difference = match &line.open {
            Some(open) => {
                at += 1;
                run.open(line, open)?
            }
            None => run.event(&lines, &mut at)?,
        };
        if let Some(difference) = difference {
            return Ok(difference);
        }
    }
    let ReplayRun { events, actions, missing, .. } = run;
    Ok(Replay::Same { events, actions, missing })
}

#[derive(Default)]
struct ReplayRun {
    /// None before the first `open` line.
    recorder: Option<JournalRecorder>,
    events: usize,
    actions: usize,
    missing: u64,
}

impl ReplayRun {
    /// Begins at an `open` line. Each file of a longer journal continues where the one before it ended; a
    /// difference there is returned.
    fn open(&mut self, line: &JournalLine, open: &OpenLine) -> Result<Option<Replay>, ReplayError> {
        if open.core != CORE {
            return Err(ReplayError::OtherCore { found: open.core });
        }
        let begun = recorder_at(open);
        self.missing += open.missing.map_or(0, |missing| missing.lines);
        if let (Some(mut before), Some(_), None) = (self.recorder.take(), &open.state, open.missing) {
            before.supervisor.take_seq();
            let same = before.chain == begun.chain
                && same_but_words(&json!(begun.supervisor), &json!(before.supervisor));
            if !same {
                return Ok(Some(Replay::Differs {
                    seq: line.seq,
                    recorded: "the state at the beginning of this file".to_owned(),
                    replayed: "another state at the end of the file before it".to_owned(),
                }));
            }
        }
        self.recorder = Some(begun);
        Ok(None)
    }

    /// Replays the event at index `at`, and moves `at` past the lines of its actions. Returns the first
    /// difference.
    fn event(&mut self, lines: &[JournalLine], at: &mut usize) -> Result<Option<Replay>, ReplayError> {
        let line = &lines[*at];
        *at += 1;
        let Some(recorder) = &mut self.recorder else { return Err(ReplayError::NoOpen(line.seq)) };
        let Some(recorded) = &line.event else {
            return Ok(Some(Replay::Differs {
                seq: line.seq,
                recorded: recorded_text(line),
                replayed: "nothing: no earlier event leads to it".to_owned(),
            }));
        };
        let event: Event = serde_json::from_value(recorded.clone())
            .map_err(|e| ReplayError::Unreadable { line: *at, cause: cause(&e) })?;
        self.events += 1;
        let mut made = Vec::new();
        recorder.supervisor.step(line.t, &event, &mut made);
        recorder.chain.add_event(line.t, recorded);
        for action in &made {
            self.actions += 1;
            let replayed = json!(action);
            let next = lines.get(*at);
            let Some(found) = next.and_then(recorded_action).filter(|found| same_but_words(found, &replayed))
            else {
                return Ok(Some(Replay::Differs {
                    seq: next.map_or(line.seq, |l| l.seq),
                    recorded: next.map_or_else(|| "the end of the journal".to_owned(), recorded_text),
                    replayed: replayed.get("decision").unwrap_or(&replayed).to_string(),
                }));
            };
            recorder.chain.add(&found.to_string());
            *at += 1;
        }
        let digest = recorder.chain.hex();
        if line.chain.as_ref().is_none_or(|chain| *chain == digest) {
            return Ok(None);
        }
        Ok(Some(Replay::Differs {
            seq: line.seq,
            recorded: format!("{recorded} (chain {})", line.chain.as_deref().unwrap_or("")),
            replayed: format!(
                "this event or one before it was changed after it was written (chain {digest})"
            ),
        }))
    }
}

/// Why a line is unreadable. The parser quotes the input, which may be long and contain anything.
fn cause(error: &serde_json::Error) -> String {
    cut_chars(&safe_line(&error.to_string()), 300)
}

/// The recorder at an `open` line.
fn recorder_at(open: &OpenLine) -> JournalRecorder {
    let policy = Policy {
        agent: open.agent,
        hooks: open.hooks,
        notes: open.notes,
        submit_when_idle: open.submit_when_idle,
        sessions_file: open.sessions_file,
        no_handover: open.no_handover.clone(),
        rules: open.rules,
        config: open.config.clone(),
    };
    match &open.state {
        Some(state) => {
            JournalRecorder { supervisor: (*state.supervisor).clone().under(policy), chain: state.chain }
        }
        None => {
            let mut begun = JournalRecorder::new(policy);
            begun.supervisor.take_seq();
            begun
        }
    }
}

/// The action of a line; decisions have a shorter form there.
fn recorded_action(line: &JournalLine) -> Option<Value> {
    match (&line.event, &line.decision) {
        (Some(_), _) => None,
        (None, Some(decision)) => Some(json!({"kind": "decide", "decision": decision})),
        (None, None) => line.action.clone(),
    }
}

/// The fields with text for people: of decisions, notices, replies and answers to hooks, and of a message in
/// the state that waits for the next hook.
const WORDS: [&str; 4] = ["sentence", "text", "reason", "word"];

/// Whether two actions or states are equal except for text. Numbers and ids in the text count, because they
/// were part of the decision.
fn same_but_words(recorded: &Value, replayed: &Value) -> bool {
    match (recorded, replayed) {
        (Value::Object(recorded), Value::Object(replayed)) => {
            let same = |key: &str, one: &Value, other: &Value| match (one, other) {
                (Value::String(one), Value::String(other)) if WORDS.contains(&key) => {
                    numbers(one) == numbers(other)
                }
                _ => same_but_words(one, other),
            };
            recorded.len() == replayed.len()
                && recorded
                    .iter()
                    .all(|(key, one)| replayed.get(key).is_some_and(|other| same(key, one, other)))
        }
        (Value::Array(recorded), Value::Array(replayed)) => {
            recorded.len() == replayed.len()
                && recorded.iter().zip(replayed).all(|(one, other)| same_but_words(one, other))
        }
        _ => recorded == replayed,
    }
}

/// The numbers and ids in a text in sorted order: a later sentence may order them differently.
fn numbers(text: &str) -> Vec<&str> {
    let has_digit = |part: &&str| part.bytes().any(|byte| byte.is_ascii_digit());
    let mut all: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(has_digit).collect();
    all.sort_unstable();
    all
}

fn recorded_text(line: &JournalLine) -> String {
    [&line.event, &line.action, &line.decision]
        .into_iter()
        .flatten()
        .next()
        .map_or_else(String::new, Value::to_string)
}

/// The part of a journal that belongs to the last session: an earlier one may have had the same name.
pub fn last_session(text: &str) -> &str {
    let mut begins = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if opens(line) {
            begins = at;
        }
        at += line.len();
    }
    &text[begins..]
}

/// Whether this part of a journal contains the beginning of a session.
pub fn session_begins(text: &str) -> bool {
    text.split_inclusive('\n').any(opens)
}

/// Whether a line is the first of a session. The first line of a file that continues a session has its state.
fn opens(line: &str) -> bool {
    line.contains("\"open\"")
        && serde_json::from_str::<JournalLine>(line).is_ok_and(|l| {
            l.open
                .is_some_and(|open| open.state.is_none() || open.missing.is_some_and(|missing| missing.start))
        })
}

/// The decisions of a journal as whole lines, oldest first. Unreadable lines are skipped.
pub fn decisions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| serde_json::from_str::<JournalLine>(line).is_ok_and(|l| l.decision.is_some()))
}

/// The last decision that explains the session's state (`DecisionKind::explains`).
pub fn last_explained(text: &str) -> Option<(u64, Decision)> {
    text.lines().rev().find_map(|line| {
        let line: JournalLine = serde_json::from_str(line).ok()?;
        let decision: Decision = serde_json::from_value(line.decision?).ok()?;
        decision.kind.explains().then_some((line.seq, decision))
    })
}
