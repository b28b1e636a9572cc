//! The session status: `hopty status --json` prints it, a host answers with it and writes it to
//! `session.json`, and every verb and the dashboard read it. `docs/PROTOCOL.md` describes its keys.
//!
//! Host and reader may have different versions, so parsing is tolerant: a missing key or a value of another
//! kind becomes the default, a word of another version is kept, and unknown keys are kept in `rest`.

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::context_level::{Level, WindowFrom};
use super::context_usage::TokensFrom;
use super::ids::{ConversationId, HandoffId};
use super::supervisor::ProgramKind;
use super::supervisor::limit_and_error_wait::LimitKind;
use super::supervisor::next_handover::HandoverWhen;
use super::supervisor::phase::EndCause;
use super::supervisor::reported_state::{SessionState, StateSource};
use super::time::WallTime;
use crate::core::text::shell_word::shell_line;

/// Why a session can neither be resumed nor handed over.
pub const LAST_TURN_UNWRITTEN: &str = "Claude's last turn is not in its transcript";

/// The session object: `hopty status --json`, `hopty ls --json` and the session's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionStatus {
    pub name: String,
    pub labels: Vec<String>,
    /// The directory in which the program works.
    pub dir: String,
    /// What kind of program runs.
    pub agent: OpenWord<ProgramKind>,
    /// With secrets replaced.
    pub command: Vec<String>,
    pub state: OpenWord<SessionState>,
    /// When the state began.
    pub state_since: Option<Rfc3339>,
    /// What shows the state: a hook, Claude's sessions file, the window title or the screen.
    pub state_from: OpenWord<StateSource>,
    /// What a blocked session waits for.
    pub waiting_for: Option<String>,
    /// The subject of the permission or the question, such as `Bash: touch x1`: on one line, at most 200
    /// characters, secrets replaced.
    pub waiting_subject: Option<String>,
    /// The API error that ended the last turn, by Claude's name (`server_error`), until the next turn begins.
    pub turn_error: Option<String>,
    /// The draft in Claude's prompt box: on one line, at most 200 characters, secrets replaced. Only a live
    /// host reports it.
    pub draft: Option<String>,
    /// The supervisor's phase ([`Phase::word`](super::supervisor::phase::Phase::word)).
    pub phase: String,
    /// 0 before the first run.
    pub run: u32,
    /// Restarts since the session began.
    pub restarts: u32,
    /// None when no program is running.
    pub pid: Option<i32>,
    pub host_pid: u32,
    /// When the session began.
    pub started_at: Option<Rfc3339>,
    pub machine: MachineStatus,
    /// The version of hopty that its host runs.
    pub version: String,
    /// If a file has it.
    pub claude_version: Option<String>,
    pub conversation: Option<ConversationId>,
    /// The conversation before it, to which `hopty back` returns.
    pub before: Option<ConversationId>,
    pub transcript: Option<String>,
    pub channel: String,
    pub context: ContextStatus,
    pub work: WorkStatus,
    pub limits: LimitsStatus,
    pub handoff: Option<HandoffStatus>,
    pub next_handover: Option<HandoverStatus>,
    pub size: SessionSize,
    /// None without a recording.
    pub recording: Option<RecordingStatus>,
    pub clients: Vec<ClientStatus>,
    pub exit: Option<ExitStatus>,
    /// Unknown if the host was killed.
    pub ended_at: Option<Rfc3339>,
    /// A sentence.
    pub why: String,
    /// The number of the last journal line.
    pub seq: u64,
    /// Keys that only a newer host knows.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextStatus {
    pub tokens: u64,
    /// The size of the window in tokens.
    pub window: u64,
    /// Percent of the window, 0 to 100.
    pub percent: u8,
    pub level: OpenWord<Level>,
    pub tokens_from: OpenWord<TokensFrom>,
    pub window_from: OpenWord<WindowFrom>,
    /// The size of the transcript in bytes.
    pub bytes: u64,
    pub at: Option<Rfc3339>,
}

/// The boot of the machine that a session belongs to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineStatus {
    pub boot_id: Option<String>,
    /// Whether the host received SIGTERM, as at a shutdown.
    pub shutdown: bool,
}

/// The topic of the conversation, its progress and its cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkStatus {
    /// The conversation's name, from Claude or the person.
    pub title: Option<String>,
    /// The person's last prompt: on one line, at most 200 characters, secrets replaced.
    pub prompt: Option<String>,
    pub tasks: u32,
    pub tasks_done: u32,
    /// The current task.
    pub task: Option<String>,
    /// As Claude names it.
    pub model: Option<String>,
    /// The cost of the running Claude so far, in US dollars, by its own count.
    pub cost_usd: Option<f64>,
}

/// Usage limits, as far as Claude reports them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitsStatus {
    /// The limit that Claude waits for.
    pub reached: Option<ReachedLimit>,
    pub five_hour: Option<LimitUse>,
    pub seven_day: Option<LimitUse>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReachedLimit {
    pub kind: OpenWord<LimitKind>,
    pub resets_at: Option<Rfc3339>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitUse {
    pub percent: u64,
    pub resets_at: Option<Rfc3339>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandoffStatus {
    pub id: HandoffId,
    pub status: OpenWord<HandoffUse>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffUse {
    /// Waiting for its reader.
    Active,
    Consumed,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandoverStatus {
    pub when: OpenWord<HandoverWhen>,
    /// A few words.
    pub why: String,
    /// The latest time, if known.
    pub at: Option<Rfc3339>,
}

/// In cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSize {
    pub cols: u16,
    pub rows: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientStatus {
    pub id: u32,
    /// None if unknown.
    pub tty: Option<String>,
    pub cols: u16,
    pub rows: u16,
    /// Whether it sets the session's size.
    pub leader: bool,
    pub read_only: bool,
    /// How bytes reach it: `fd`, `relay` or `none`.
    pub via: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordingStatus {
    pub file: String,
    pub since: Option<Rfc3339>,
    /// In bytes.
    pub bytes: u64,
    /// Whether it has the person's keys, too.
    pub input: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExitStatus {
    pub kind: OpenWord<ExitKind>,
    /// As in a shell.
    pub code: Option<u8>,
    pub signal: Option<i32>,
    pub cause: OpenWord<EndCause>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitKind {
    Exited,
    Signaled,
    /// The host died before it could record the end.
    Lost,
}

/// A word of a fixed set, or one that only another version knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OpenWord<T> {
    Known(T),
    /// Any other word; empty if absent.
    Other(String),
}

/// A time, in JSON as RFC 3339 with milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rfc3339(pub WallTime);

impl SessionStatus {
    /// Whether Claude is being replaced by a run that does not work yet. Meanwhile Claude is idle for
    /// moments, and its turn is not over: the new run continues it.
    pub fn is_handed_over(&self) -> bool {
        ["saving", "stopping", "cooling", "spawning", "delivering"].contains(&self.phase.as_str())
    }

    /// Parses a status; `None` if it is no JSON object.
    pub fn read(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok().and_then(Self::from_json)
    }

    /// The same for parsed JSON.
    pub fn from_json(object: Value) -> Option<Self> {
        tolerant(object)
    }

    pub fn json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    pub fn is(&self, state: SessionState) -> bool {
        self.state.is(state)
    }

    /// The topic: the conversation's name, if it says more than the session's, or the last prompt; for other
    /// programs the command line.
    pub fn about(&self) -> Option<Cow<'_, str>> {
        let title = self.work.title.as_deref().filter(|title| *title != self.name);
        let command = || self.agent.is(ProgramKind::Plain).then(|| shell_line(&self.command)).map(Cow::from);
        title.or(self.work.prompt.as_deref()).map(Cow::from).or_else(command)
    }

    /// What a blocked session waits for, with its subject, such as `permission (Bash: touch x1)`.
    pub fn blocked_on(&self, moment: impl Fn(WallTime) -> String) -> Option<String> {
        let what = self.waits_for(moment).filter(|_| self.is(SessionState::Blocked))?;
        Some(match &self.waiting_subject {
            Some(subject) => format!("{what} ({subject})"),
            None => what,
        })
    }

    /// Whether a person must answer in the session's terminal.
    pub fn waits_in_dialog(&self) -> bool {
        let on = self.waiting_for.as_deref().filter(|_| self.is(SessionState::Blocked));
        on.is_some_and(|on| !matches!(on, "usage_limit" | "api_error" | "settings" | "login"))
    }

    /// Whether the last turn ended because Claude's login or billing failed; no prompt waits then.
    pub fn lacks_login(&self) -> bool {
        self.is(SessionState::Blocked) && self.waiting_for.as_deref() == Some("login")
    }

    /// How a person ends what blocks the session; `None` where only time does.
    pub fn unblock_hint(&self) -> Option<String> {
        let attach = format!("`hopty attach {}`", self.name);
        match self.lacks_login() {
            true => Some(format!(
                "{attach} and `/login` fix it, unless it is the billing; then send the prompt again"
            )),
            false => self.waits_in_dialog().then(|| format!("{attach} answers it")),
        }
    }

    /// How to continue a suspended program.
    pub fn continue_hint(&self) -> Option<String> {
        // A client whose program was suspended has its terminal back.
        let left = self.clients.iter().find(|client| client.leader && client.via == "none");
        let by_fg = left.and_then(|client| client.tty.as_ref()).map(|tty| format!("`fg` in {tty} or "));
        self.is(SessionState::Stopped)
            .then(|| format!("{}`hopty attach {}` continues it", by_fg.unwrap_or_default(), self.name))
    }

    /// The state in one word for people: of a program other than Claude hopty only knows that it is running.
    pub fn state_word(&self) -> String {
        let runs = self.agent.is(ProgramKind::Plain) && self.is(SessionState::Unknown);
        if runs { "running".to_owned() } else { self.state.to_string() }
    }

    /// The state in a few words, with what a blocked session waits for: `blocked: Bash: touch x1`, or
    /// `blocked (trust dialog)` without a subject; `idle (api error)` if the last turn ended with one.
    /// `moment` formats a time.
    pub fn state_words(&self, moment: impl Fn(WallTime) -> String) -> String {
        match (&self.waiting_subject, self.waits_for(moment)) {
            (Some(subject), Some(_)) => format!("{}: {subject}", self.state),
            (None, Some(what)) => format!("{} ({what})", self.state),
            (_, None) if self.turn_error.is_some() && self.is(SessionState::Idle) => {
                format!("{} (api error)", self.state)
            }
            (_, None) => self.state_word(),
        }
    }

    /// What a blocked session waits for: for a usage limit with its end. `moment` formats a time.
    pub fn waits_for(&self, moment: impl Fn(WallTime) -> String) -> Option<String> {
        let on = self.waiting_for.as_deref()?;
        let Some(limit) = self.limits.reached.as_ref().filter(|_| matches!(on, "usage_limit" | "limit"))
        else {
            return Some(match on {
                // A dialog that hopty has no rule for.
                "unknown" => "a dialog".to_owned(),
                "trust" | "bypass" | "api_key" => format!("{} dialog", on.replace('_', " ")),
                on => on.replace('_', " "),
            });
        };
        let name = limit.kind.known().unwrap_or(LimitKind::Other).words();
        let dialog = if on == "limit" { " dialog" } else { "" };
        let until = limit.resets_at.map_or_else(String::new, |at| format!(" until {}", moment(at.0)));
        Some(format!("{name}{dialog}{until}"))
    }
}

impl ContextStatus {
    /// `None` if the tokens are unknown.
    pub fn known_percent(&self) -> Option<u8> {
        let known = !self.tokens_from.is(TokensFrom::None) && !self.tokens_from.is_empty();
        known.then(|| self.percent.min(100))
    }

    /// Tokens that are left in the window.
    pub fn remaining(&self) -> u64 {
        self.window.saturating_sub(self.tokens)
    }
}

/// Parses an object, and drops values of another kind than this version expects, at any depth.
fn tolerant<T: DeserializeOwned>(object: Value) -> Option<T> {
    // A derived reader accepts a list for an object, too.
    let object = Some(object).filter(Value::is_object)?;
    serde_json::from_value(readable_part(object, &|part| T::deserialize(part).is_ok())?).ok()
}

/// The part of `value` that `reads` accepts; `None` if there is none.
fn readable_part(value: Value, reads: &dyn Fn(&Value) -> bool) -> Option<Value> {
    if reads(&value) {
        return Some(value);
    }
    let rest = match value {
        Value::Object(fields) => {
            let field = |(key, value): (String, Value)| {
                let part = readable_part(value, &|part| reads(&json!({&key: part})))?;
                Some((key, part))
            };
            Value::Object(fields.into_iter().filter_map(field).collect())
        }
        Value::Array(items) => {
            let item = |value| readable_part(value, &|part| reads(&json!([part])));
            Value::Array(items.into_iter().filter_map(item).collect())
        }
        _ => return None,
    };
    reads(&rest).then_some(rest)
}

/// For a field of another message: the readable part of an object, or `None`.
///
/// # Errors
/// Only those of the format.
pub fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    Value::deserialize(from).map(tolerant)
}

impl<T> Default for OpenWord<T> {
    fn default() -> Self {
        OpenWord::Other(String::new())
    }
}

impl<T> From<T> for OpenWord<T> {
    fn from(known: T) -> Self {
        OpenWord::Known(known)
    }
}

impl<T: PartialEq> OpenWord<T> {
    pub fn is(&self, known: T) -> bool {
        *self == OpenWord::Known(known)
    }
}

impl<T: Copy> OpenWord<T> {
    /// The word, if this version knows it.
    pub fn known(&self) -> Option<T> {
        match self {
            OpenWord::Known(known) => Some(*known),
            OpenWord::Other(_) => None,
        }
    }
}

impl<T> OpenWord<T> {
    pub fn is_empty(&self) -> bool {
        matches!(self, OpenWord::Other(word) if word.is_empty())
    }
}

/// The word as in JSON.
impl<T: Serialize> fmt::Display for OpenWord<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(serde_json::to_value(self).unwrap_or_default().as_str().unwrap_or_default())
    }
}

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.rfc3339_ms())
    }
}

impl<'de> Deserialize<'de> for Rfc3339 {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        WallTime::parse(&text).map(Rfc3339).ok_or_else(|| serde::de::Error::custom("not a time of RFC 3339"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Value {
        serde_json::from_str(include_str!("../../fixtures/contract/session.json")).unwrap()
    }

    #[test]
    fn a_session_object_reads_and_writes_the_same() {
        let status = SessionStatus::from_json(example()).unwrap();
        assert!(
            status.is(SessionState::Busy) && status.agent.is(ProgramKind::Claude) && status.rest.is_empty()
        );
        assert_eq!(status.context.known_percent(), Some(82));
        assert_eq!(status.json(), example());
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&SessionStatus::default().json()), keys(&example()), "every key is always there");
    }

    #[test]
    fn a_limit_that_is_waited_for_has_a_name_and_an_end() {
        let mut status = SessionStatus::from_json(json!({"waiting_for": "usage_limit",
            "limits": {"reached": {"kind": "seven_day", "resets_at": "2026-11-28T16:54:00Z"}}}))
        .unwrap();
        let words = |status: &SessionStatus| status.waits_for(WallTime::plain);
        assert_eq!(words(&status).as_deref(), Some("weekly limit until 2026-11-28 16:54:00"));
        status.waiting_for = Some("limit".to_owned());
        assert_eq!(words(&status).as_deref(), Some("weekly limit dialog until 2026-11-28 16:54:00"));
        status.waiting_for = Some("permission".to_owned());
        assert_eq!(words(&status).as_deref(), Some("permission"));
        status.limits.reached = None;
        status.waiting_for = Some("usage_limit".to_owned());
        assert_eq!(words(&status).as_deref(), Some("usage limit"));
    }

    #[test]
    fn a_state_is_told_with_what_it_waits_for() {
        let of = |on: &str, subject: Option<&str>| {
            let object = json!({"state": "blocked", "waiting_for": on, "waiting_subject": subject});
            SessionStatus::from_json(object).unwrap().state_words(WallTime::plain)
        };
        assert_eq!(of("permission", Some("Bash: touch x: y")), "blocked: Bash: touch x: y");
        assert_eq!(of("permission", None), "blocked (permission)");
        assert_eq!(of("unknown", Some("Surprise?")), "blocked: Surprise?");
        assert_eq!(of("unknown", None), "blocked (a dialog)");
        assert_eq!(of("trust", None), "blocked (trust dialog)");
        assert_eq!(of("auto_mode_offer", None), "blocked (auto mode offer)");
        let hint = |on: &str| {
            let object = json!({"name": "rocket", "state": "blocked", "waiting_for": on});
            SessionStatus::from_json(object).unwrap().unblock_hint()
        };
        assert_eq!(hint("trust").as_deref(), Some("`hopty attach rocket` answers it"));
        assert!(hint("login").unwrap().contains("`/login` fix it"));
        assert_eq!((hint("usage_limit"), hint("api_error")), (None, None), "time ends them");
        let of = |state: &str| {
            let object = json!({"state": state, "turn_error": "server_error"});
            SessionStatus::from_json(object).unwrap().state_words(WallTime::plain)
        };
        assert_eq!((of("busy"), of("idle")), ("busy".to_owned(), "idle (api error)".to_owned()));
        let busy = SessionStatus::from_json(json!({"state": "busy"})).unwrap();
        assert_eq!(busy.state_words(WallTime::plain), "busy");
    }

    #[test]
    fn an_older_host_lacks_keys() {
        let old = SessionStatus::read(include_bytes!("../../fixtures/wire/session.json")).unwrap();
        assert!(old.is(SessionState::Ended) && old.exit.unwrap().cause.is(EndCause::Stopped));
        assert_eq!((old.limits, old.before, old.next_handover), (LimitsStatus::default(), None, None));
        assert_eq!(old.context.known_percent(), None);
    }

    #[test]
    fn a_newer_host_has_more_keys_and_words() {
        let mut newer = example();
        newer["mood"] = json!({"calm": true});
        newer["state"] = json!("dreaming");
        newer["next_handover"]["when"] = json!("tomorrow");
        newer["exit"] = json!({"kind": "vanished", "cause": "magic"});
        let status = SessionStatus::from_json(newer.clone()).unwrap();
        assert_eq!((status.state.to_string(), status.state.known()), ("dreaming".to_owned(), None));
        let written = status.json();
        assert_eq!((&written["mood"], &written["state"]), (&newer["mood"], &newer["state"]));
        assert_eq!(status.exit.unwrap().cause.to_string(), "magic");
    }

    #[test]
    fn a_value_of_another_kind_loses_only_its_key() {
        let odd = json!({"name": 7, "dir": "/p", "command": "x", "clients": [{}, {}], "restarts": -1,
            "why": {}, "context": [],
            "pid": "1", "state_since": "yesterday", "conversation": "no id", "run": 3});
        let status = SessionStatus::from_json(odd).unwrap();
        assert_eq!((status.dir.as_str(), status.run, status.clients.len()), ("/p", 3, 2));
        assert_eq!(
            (status.name.as_str(), status.pid, status.state_since, status.conversation),
            ("", None, None, None)
        );
        for none in [json!(null), json!([1]), json!("x")] {
            assert_eq!(SessionStatus::from_json(none), None);
        }
        assert_eq!(SessionStatus::read(b"{"), None);
    }

    #[test]
    fn an_odd_key_deep_inside_costs_only_itself() {
        let mut odd = example();
        odd["exit"] = json!({"kind": "exited", "code": 4711, "signal": null, "cause": "finished"});
        odd["context"]["tokens"] = json!("many");
        odd["clients"] = json!([{"id": "one", "tty": "/dev/pts/1"}, 7, {"id": 2}]);
        let status = SessionStatus::from_json(odd).unwrap();
        let exit = status.exit.unwrap();
        assert!(exit.cause.is(EndCause::Finished) && exit.code.is_none(), "{exit:?}");
        assert_eq!((status.context.tokens, status.context.percent), (0, 82));
        let clients: Vec<_> =
            status.clients.iter().map(|client| (client.id, client.tty.as_deref())).collect();
        assert_eq!(clients, [(0, Some("/dev/pts/1")), (2, None)]);
    }
}
