//! The journal's lines and what can be read from them: pure text in, text out.
//!
//! Every event line carries `chain`, a running digest over the events and the actions so far. It costs 16
//! characters and makes a changed event visible even where it changes no action.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use super::handoff::text::{cut_chars, safe_line};
use super::supervisor::action::{Action, Decision};
use super::supervisor::event::Event;
use super::supervisor::{Agent, CORE, Policy, Supervisor};
use super::time::{Stamp, WallTime};

/// The version of the journal's form.
pub const JOURNAL: u32 = 1;

/// A running digest (FNV-1a, 64 bits): not against an attacker, against a changed journal.
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

    fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// What could not be written before an `open` line.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct JournalGap {
    /// How many lines.
    pub lines: u64,
    /// From the session's beginning on.
    pub start: bool,
}

/// A supervisor together with the lines that it leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorder {
    /// The supervisor.
    pub supervisor: Supervisor,
    chain: JournalDigest,
}

impl Recorder {
    /// A new session under `policy`.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Recorder { supervisor: Supervisor::new(policy), chain: JournalDigest::default() }
    }

    /// The line that begins a journal file: the policy, and for a rotated file the whole state.
    pub fn open_line(&mut self, now: Stamp, at: WallTime, version: &str) -> String {
        self.open(now, at, version, None)
    }

    /// The line with which a journal goes on after a gap.
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
            "agent": policy.agent, "hooks": policy.hooks, "notes": policy.notes, "submit_when_idle": policy.submit_when_idle,
            "sessions_file": policy.sessions_file, "rules": policy.rules, "config": policy.config, "state": state,
        });
        if let Some(missing) = missing {
            open["missing"] = json!(missing);
        }
        format!("{}\n", json!({"seq": seq, "t": now.0, "at": at.rfc3339_ms(), "open": open}))
    }

    /// Takes a step; returns the actions and appends the journal lines to `lines`.
    pub fn step(&mut self, now: Stamp, at: WallTime, event: &Event, lines: &mut String) -> Vec<Action> {
        let first = self.supervisor.seq() + 1;
        let mut actions = Vec::new();
        self.supervisor.step(now, event, &mut actions);
        let event_json = json!(event);
        self.chain.add(&format!("{} {event_json}", now.0));
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

/// One line of a journal, as far as a reader needs it.
#[derive(Clone, Debug, Deserialize)]
pub struct JournalLine {
    /// The line's number.
    pub seq: u64,
    /// Milliseconds since the host began.
    pub t: Stamp,
    /// Wall clock, on `open` and `decision` lines.
    #[serde(default)]
    pub at: Option<String>,
    /// The policy and state that the lines after it rest on.
    #[serde(default)]
    open: Option<OpenLine>,
    #[serde(default)]
    event: Option<Value>,
    #[serde(default)]
    action: Option<Value>,
    /// A decision.
    #[serde(default)]
    pub decision: Option<Value>,
    #[serde(default)]
    chain: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct OpenLine {
    core: u32,
    #[serde(default = "claude")]
    agent: Agent,
    #[serde(default = "with_hooks")]
    hooks: bool,
    #[serde(default)]
    notes: bool,
    #[serde(default)]
    submit_when_idle: bool,
    #[serde(default)]
    sessions_file: bool,
    #[serde(default)]
    rules: u32,
    #[serde(default, deserialize_with = "with_constants")]
    config: super::config::Config,
    #[serde(default)]
    state: Option<RecordedState>,
    #[serde(default)]
    missing: Option<JournalGap>,
}

/// Keys that earlier releases had and that the supervisor now takes as constants. A journal that was recorded
/// with another value would be replayed by other rules than it was written by.
const NOW_CONSTANT: [(&str, &str, &str); 6] = [
    ("context", "rearm", "5"),
    ("delivery", "enter_every", "200ms"),
    ("delivery", "enter_max", "20"),
    ("delivery", "confirm_timeout", "30s"),
    ("handoff", "summary_timeout", "90s"),
    ("recovery", "quick_death", "1m"),
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
                "{section}.{key} was {found} when it was recorded; it is {constant} for every session of this hopty"
            )));
        }
    }
    serde_json::from_value(value).map_err(D::Error::custom)
}

fn claude() -> Agent {
    Agent::Claude
}

fn with_hooks() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
struct RecordedState {
    supervisor: Box<Supervisor>,
    chain: JournalDigest,
}

/// Why a journal cannot be replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// It does not begin with an `open` line.
    #[error("line {0} is no open line; a journal begins with one")]
    NoOpen(u64),
    /// It was written by other rules.
    #[error("it was written by rules number {found}, this hopty has number {CORE}")]
    OtherCore {
        /// The number found.
        found: u32,
    },
    /// A line is not one of a journal.
    #[error("line {line} cannot be read: {cause}")]
    Unreadable {
        /// Number of the line in the file, from 1.
        line: usize,
        /// Why.
        cause: String,
    },
}

/// What a replay found.
#[derive(Debug, PartialEq)]
pub enum Replay {
    /// The same events gave the same actions.
    Same {
        /// Events replayed.
        events: usize,
        /// Actions compared.
        actions: usize,
        /// Lines that were never written.
        missing: u64,
    },
    /// The first place where they differ.
    Differs {
        /// Number of the journal line.
        seq: u64,
        /// What the journal has.
        recorded: String,
        /// What these rules give.
        replayed: String,
    },
}

/// Runs the events of a journal through the supervisor again.
///
/// # Errors
/// When the text is not a journal of this `core`.
pub fn replay(text: &str) -> Result<Replay, ReplayError> {
    let mut lines = Vec::new();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for (n, raw) in whole.lines().enumerate() {
        let line: JournalLine = serde_json::from_str(raw)
            .map_err(|e| ReplayError::Unreadable { line: n + 1, cause: cause(&e) })?;
        lines.push(line);
    }
    let mut recorder: Option<Recorder> = None;
    let (mut events, mut actions, mut missing, mut at) = (0, 0, 0, 0);
    while let Some(line) = lines.get(at) {
        at += 1;
        if let Some(open) = &line.open {
            if open.core != CORE {
                return Err(ReplayError::OtherCore { found: open.core });
            }
            let begun = begin(open);
            // A journal of several files, one after the other: each begins where the one before it ended.
            missing += open.missing.map_or(0, |missing| missing.lines);
            if let (Some(mut before), Some(_), None) = (recorder.take(), &open.state, open.missing) {
                before.supervisor.take_seq();
                if before != begun {
                    return Ok(Replay::Differs {
                        seq: line.seq,
                        recorded: "the state that this file begins with".to_owned(),
                        replayed: "another state at the end of the file before it".to_owned(),
                    });
                }
            }
            recorder = Some(begun);
            continue;
        }
        let Some(recorder) = &mut recorder else { return Err(ReplayError::NoOpen(line.seq)) };
        let Some(recorded) = &line.event else {
            return Ok(Replay::Differs {
                seq: line.seq,
                recorded: shown(line),
                replayed: "nothing: no event before it asks for this".to_owned(),
            });
        };
        let event: Event = serde_json::from_value(recorded.clone())
            .map_err(|e| ReplayError::Unreadable { line: at, cause: cause(&e) })?;
        events += 1;
        let made = recorder.step(line.t, WallTime(0), &event, &mut String::new());
        for action in &made {
            actions += 1;
            let replayed = match action {
                Action::Decide { decision } => json!(decision),
                action => json!(action),
            };
            let next = lines.get(at);
            let same = next.is_some_and(|l| {
                l.event.is_none() && [&l.action, &l.decision].into_iter().flatten().any(|v| *v == replayed)
            });
            if !same {
                return Ok(Replay::Differs {
                    seq: next.map_or(line.seq, |l| l.seq),
                    recorded: next.map_or_else(|| "the end of the journal".to_owned(), shown),
                    replayed: replayed.to_string(),
                });
            }
            at += 1;
        }
        let digest = recorder.chain.hex();
        if line.chain.as_ref().is_some_and(|c| *c != digest) {
            return Ok(Replay::Differs {
                seq: line.seq,
                recorded: format!("{recorded} (chain {})", line.chain.as_deref().unwrap_or("")),
                replayed: format!(
                    "this event or one before it was changed after it was written (chain {digest})"
                ),
            });
        }
    }
    Ok(Replay::Same { events, actions, missing })
}

/// Why a line cannot be read. The parser quotes what it found, which may be anything of any length.
fn cause(error: &serde_json::Error) -> String {
    cut_chars(&safe_line(&error.to_string()), 300)
}

/// A recorder as an `open` line left it.
fn begin(open: &OpenLine) -> Recorder {
    let policy = Policy {
        agent: open.agent,
        hooks: open.hooks,
        notes: open.notes,
        submit_when_idle: open.submit_when_idle,
        sessions_file: open.sessions_file,
        rules: open.rules,
        config: open.config.clone(),
    };
    match &open.state {
        Some(state) => Recorder { supervisor: (*state.supervisor).clone().under(policy), chain: state.chain },
        None => {
            let mut begun = Recorder::new(policy);
            begun.supervisor.take_seq();
            begun
        }
    }
}

fn shown(line: &JournalLine) -> String {
    [&line.event, &line.action, &line.decision]
        .into_iter()
        .flatten()
        .next()
        .map_or_else(String::new, Value::to_string)
}

/// The part of a journal that belongs to its last session: a name may have been used before.
#[must_use]
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

/// Whether a session begins in this part of a journal.
#[must_use]
pub fn session_begins(text: &str) -> bool {
    text.split_inclusive('\n').any(opens)
}

/// Whether a line is the first of a session. A file that goes on with one has its state in its first line.
fn opens(line: &str) -> bool {
    line.contains("\"open\"")
        && serde_json::from_str::<JournalLine>(line).is_ok_and(|l| {
            l.open
                .is_some_and(|open| open.state.is_none() || open.missing.is_some_and(|missing| missing.start))
        })
}

/// The decisions of a journal, each as the whole line, oldest first; lines that cannot be read are passed
/// over.
pub fn decisions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| serde_json::from_str::<JournalLine>(line).is_ok_and(|l| l.decision.is_some()))
}

/// The last decision that explains something: clients coming and going do not.
#[must_use]
pub fn last_explained(text: &str) -> Option<(u64, Decision)> {
    text.lines().rev().find_map(|line| {
        let line: JournalLine = serde_json::from_str(line).ok()?;
        let decision: Decision = serde_json::from_value(line.decision?).ok()?;
        decision.kind.explains().then_some((line.seq, decision))
    })
}
