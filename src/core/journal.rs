//! The journal's lines and what can be read from them (CONTRACT C7): pure text in, text out.
//!
//! Every event line carries `chain`, a running digest over the events and the actions so far. It costs 16 characters and
//! makes a changed event visible even where it changes no action.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use super::supervisor::action::{Action, Decision};
use super::supervisor::event::Event;
use super::supervisor::{Agent, CORE, Policy, Supervisor};
use super::time::{Stamp, WallTime};

/// The version of the journal's form.
pub const JOURNAL: u32 = 1;

/// A running digest (FNV-1a, 64 bits): not against an attacker, against a changed journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Chain(u64);

impl Default for Chain {
    fn default() -> Self {
        Chain(0xcbf2_9ce4_8422_2325)
    }
}

impl Chain {
    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([b'\n']) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// A supervisor together with the lines that it leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorder {
    /// The supervisor.
    pub supervisor: Supervisor,
    chain: Chain,
}

impl Recorder {
    /// A new session under `policy`.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Recorder { supervisor: Supervisor::new(policy), chain: Chain::default() }
    }

    /// The line that begins a journal file: the policy, and for a rotated file the whole state.
    pub fn open_line(&mut self, now: Stamp, at: WallTime, version: &str) -> String {
        let fresh = self.supervisor.seq() == 0;
        let seq = self.supervisor.take_seq();
        let policy = self.supervisor.policy();
        let state = if fresh { Value::Null } else { json!({"supervisor": self.supervisor, "chain": self.chain}) };
        let open = json!({
            "journal": JOURNAL, "hopty": version, "core": CORE,
            "agent": policy.agent, "hooks": policy.hooks, "notes": policy.notes, "submit_when_idle": policy.submit_when_idle, "config": policy.config, "state": state,
        });
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
pub struct Line {
    /// The line's number.
    pub seq: u64,
    /// Milliseconds since the host began.
    pub t: Stamp,
    /// Wall clock, on `open` and `decision` lines.
    #[serde(default)]
    pub at: Option<String>,
    /// The policy and state that the lines after it rest on.
    #[serde(default)]
    open: Option<Open>,
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
struct Open {
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
    config: super::config::Config,
    #[serde(default)]
    state: Option<OpenState>,
}

fn claude() -> Agent {
    Agent::Claude
}

fn with_hooks() -> bool {
    true
}

#[derive(Clone, Debug, Deserialize)]
struct OpenState {
    supervisor: Box<Supervisor>,
    chain: Chain,
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
        let line: Line = serde_json::from_str(raw).map_err(|e| ReplayError::Unreadable { line: n + 1, cause: e.to_string() })?;
        lines.push(line);
    }
    let mut recorder: Option<Recorder> = None;
    let (mut events, mut actions, mut at) = (0, 0, 0);
    while let Some(line) = lines.get(at) {
        at += 1;
        if let Some(open) = &line.open {
            if open.core != CORE {
                return Err(ReplayError::OtherCore { found: open.core });
            }
            let begun = begin(open);
            // A journal of several files, one after the other: each begins where the one before it ended.
            if let (Some(mut before), Some(_)) = (recorder.take(), &open.state) {
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
        let event: Event =
            serde_json::from_value(recorded.clone()).map_err(|e| ReplayError::Unreadable { line: at, cause: e.to_string() })?;
        events += 1;
        let made = recorder.step(line.t, WallTime(0), &event, &mut String::new());
        for action in &made {
            actions += 1;
            let replayed = match action {
                Action::Decide { decision } => json!(decision),
                action => json!(action),
            };
            let next = lines.get(at);
            let same =
                next.is_some_and(|l| l.event.is_none() && [&l.action, &l.decision].into_iter().flatten().any(|v| *v == replayed));
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
                replayed: format!("this event or one before it was changed after it was written (chain {digest})"),
            });
        }
    }
    Ok(Replay::Same { events, actions })
}

/// A recorder as an `open` line left it.
fn begin(open: &Open) -> Recorder {
    let policy = Policy {
        agent: open.agent,
        hooks: open.hooks,
        notes: open.notes,
        submit_when_idle: open.submit_when_idle,
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

fn shown(line: &Line) -> String {
    [&line.event, &line.action, &line.decision].into_iter().flatten().next().map_or_else(String::new, Value::to_string)
}

/// The part of a journal that belongs to its last session: a name may have been used before.
#[must_use]
pub fn last_session(text: &str) -> &str {
    let mut begins = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let opens = line.contains("\"open\"")
            && serde_json::from_str::<Line>(line).is_ok_and(|l| l.open.is_some_and(|open| open.state.is_none()));
        if opens {
            begins = at;
        }
        at += line.len();
    }
    &text[begins..]
}

/// The decisions of a journal, each as the whole line, oldest first; lines that cannot be read are passed over.
pub fn decisions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| serde_json::from_str::<Line>(line).is_ok_and(|l| l.decision.is_some()))
}

/// The last decision that explains something: clients coming and going do not.
#[must_use]
pub fn last_explained(text: &str) -> Option<(u64, Decision)> {
    text.lines().rev().find_map(|line| {
        let line: Line = serde_json::from_str(line).ok()?;
        let decision: Decision = serde_json::from_value(line.decision?).ok()?;
        use super::supervisor::action::DecisionKind as K;
        (!matches!(decision.kind, K::ClientAttached | K::ClientDetached | K::RunSpawned | K::TreeReaped))
            .then_some((line.seq, decision))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::Config;
    use crate::core::ids::ConversationId;
    use crate::core::supervisor::event::Coming;

    const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

    fn id() -> ConversationId {
        ID.parse().unwrap()
    }

    /// A short life: started, filled to 82 %, ended.
    fn events() -> Vec<Event> {
        let end = crate::core::process::ProcessEnd::Exited(0);
        vec![
            Event::Start { conversation: Some(id()), next: id(), handoff: None },
            Event::Started { run: 1, pid: 4242, next: Some(id()) },
            Event::Usage { conversation: id(), tokens: 164_000, window: 200_000, bytes: 0 },
            Event::Attached { client: 1, how: Coming::Starts },
            Event::Child { run: 1, end },
        ]
    }

    fn policy() -> Policy {
        Policy { agent: Agent::Claude, hooks: true, notes: true, submit_when_idle: false, config: Config::default() }
    }

    fn journal() -> String {
        let mut recorder = Recorder::new(policy());
        let mut text = recorder.open_line(Stamp(0), WallTime(0), "0.1.0");
        for (n, event) in (0..).zip(&events()) {
            recorder.step(Stamp(n * 1000), WallTime(0), event, &mut text);
        }
        text
    }

    #[test]
    fn numbers_rise_by_one_over_every_line() {
        let text = journal();
        let seqs: Vec<u64> = text.lines().map(|l| serde_json::from_str::<Line>(l).unwrap().seq).collect();
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
    fn what_is_no_journal_is_refused() {
        let text = journal();
        let headless = text.split_once('\n').unwrap().1;
        assert!(matches!(replay(headless), Err(ReplayError::NoOpen(2))));
        let other = text.replacen("\"core\":1", "\"core\":2", 1);
        assert!(matches!(replay(&other), Err(ReplayError::OtherCore { found: 2 })));
        assert!(matches!(replay(""), Ok(Replay::Same { events: 0, actions: 0 })));
    }

    #[test]
    fn a_policy_that_was_changed_differs_where_it_matters() {
        let text = journal();
        let moved = text.replacen("\"handoff\":{\"percent\":80.0}", "\"handoff\":{\"percent\":85.0}", 1);
        assert_ne!(moved, text);
        let Replay::Differs { recorded, replayed, .. } = replay(&moved).unwrap() else { panic!("the same") };
        assert!(recorded.contains("over level handoff") && replayed.contains("over level warn"), "{recorded} / {replayed}");
        let other = text.replacen("\"scrollback_lines\":2000", "\"scrollback_lines\":3000", 1);
        assert_ne!(other, text);
        assert!(matches!(replay(&other), Ok(Replay::Same { .. })), "no rule reads it");
    }

    #[test]
    fn an_open_line_needs_no_more_than_the_contract_shows() {
        let text = "{\"seq\":1,\"t\":0,\"open\":{\"journal\":1,\"hopty\":\"0.1.0\",\"core\":1,\"config\":{\"restart\":{\"mode\":\"auto\"}},\"state\":null}}\n";
        let usage =
            format!("{{\"seq\":2,\"t\":61,\"event\":{{\"kind\":\"usage\",\"conversation\":\"{ID}\",\"tokens\":1,\"window\":2}}}}\n");
        assert!(matches!(replay(&format!("{text}{usage}")), Ok(Replay::Same { events: 1, actions: 0 })));
    }

    #[test]
    fn the_last_decision_that_explains_something() {
        let text = journal();
        let attached = text.lines().position(|l| l.contains("client.attached")).unwrap();
        let until: String = text.lines().take(attached + 1).map(|l| format!("{l}\n")).collect();
        assert_eq!(last_explained(&until).unwrap().1.sentence, "Context is at 82 % of 200000 tokens; a hand-over was requested.");
        assert!(last_explained(&text).unwrap().1.sentence.starts_with("The program finished by itself."));
        assert_eq!(decisions(&text).count(), text.matches("\"decision\"").count());
        assert!(last_explained("not a journal\n{}").is_none());
    }
}
