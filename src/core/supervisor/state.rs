//! The supervisor's state as the host and `hopty status` show it.

use serde::{Deserialize, Serialize};

use super::event::AgentStatus;
use super::phase::Phase;
use super::step::EventStep;
use super::{Agent, Policy, Supervisor, Turn};
use crate::core::context::{Fill, Level};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::Stamp;

/// The state of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// The program is starting.
    #[default]
    Starting,
    /// Claude waits for a prompt.
    Idle,
    /// Claude works.
    Busy,
    /// Claude waits for a person's answer.
    Blocked,
    /// The program is stopped (SIGTSTP).
    Stopped,
    /// The session is over.
    Ended,
    /// The program is not an agent: its state is not known.
    Unknown,
    /// The host lives and does not answer. Only those who ask it can notice.
    Unresponsive,
}

/// The source of a state (`state_from`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateSource {
    /// One of Claude's hooks, or where there are none its transcript.
    Hook,
    /// Claude's sessions file.
    SessionsFile,
    /// The window's title.
    Title,
    /// The content of the screen.
    Screen,
    /// hopty itself, or no source.
    #[default]
    None,
}

/// A state with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownState {
    /// The state.
    pub state: SessionState,
    /// Its source.
    pub from: StateSource,
    /// While blocked: the dialog, `unknown` if no rule knows it.
    pub waiting_for: Option<String>,
}

/// The last state and when it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StateEntry {
    state: SessionState,
    at: Stamp,
    seq: u64,
}

/// How long a Claude with hooks may take to call the first one after its start, in ms.
const HOOKS_MS: u64 = 10_000;

/// How long a program without any source of its state counts as starting, in ms.
const MUTE_MS: u64 = 30_000;

impl Supervisor {
    /// Number of the last journal line: that of the last event plus its actions.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.lines.seq
    }

    /// Takes the next journal number, for an `open` line.
    pub fn take_seq(&mut self) -> u64 {
        self.lines.seq += 1;
        self.lines.seq
    }

    /// The phase.
    #[must_use]
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The policy at the beginning of the session.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The same session under another policy, for a replay.
    #[must_use]
    pub fn under(self, policy: Policy) -> Self {
        Supervisor { policy, ..self }
    }

    /// Number of the run, 0 before the first.
    #[must_use]
    pub fn run(&self) -> u32 {
        self.session.runs
    }

    /// Another working directory for the next run, from a requested or stopped restart.
    #[must_use]
    pub fn next_dir(&self) -> Option<&str> {
        match &self.phase {
            Phase::Waiting { request } | Phase::Saving { request, .. } => request.dir.as_deref(),
            _ => self.conversation.held_dir.as_deref(),
        }
    }

    /// The child's process id while it lives.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.run.pid
    }

    /// The followed conversation.
    #[must_use]
    pub fn conversation(&self) -> Option<&ConversationId> {
        self.conversation.id.as_ref()
    }

    /// The last context usage.
    #[must_use]
    pub fn fill(&self) -> Fill {
        self.conversation.fill
    }

    /// The level of the last context usage.
    #[must_use]
    pub fn level(&self) -> Level {
        self.conversation.fill.level(&self.levels())
    }

    /// Whether only the transcript shows when a turn begins and ends.
    #[must_use]
    pub fn turns_by_transcript(&self, now: Stamp) -> bool {
        let hooks_may_come = self.policy.hooks && now.since(self.run.started) < HOOKS_MS;
        self.run.hooks.turn_cut || !(self.run.hooks.seen || hooks_may_come)
    }

    /// Whether an old Claude was told to end its turn after a tool and its transcript does not show the end
    /// yet.
    #[must_use]
    pub fn turn_is_cut(&self) -> bool {
        self.run.hooks.turn_cut
    }

    /// The handoff that waits for its conversation, or was just delivered.
    #[must_use]
    pub fn active_handoff(&self) -> Option<&HandoffId> {
        self.handoffs.active.as_ref()
    }

    /// The state of the session, and its source.
    ///
    /// If two sources differ, the newer one counts, because each misses something: an interrupt calls no
    /// hook, and the sessions file lags behind hooks.
    #[must_use]
    pub fn state(&self) -> KnownState {
        let known = |state, from| KnownState { state, from, waiting_for: None };
        if matches!(self.phase, Phase::Closed { .. }) {
            return known(SessionState::Ended, StateSource::None);
        }
        if self.run.stopped {
            return known(SessionState::Stopped, StateSource::None);
        }
        if matches!(&self.phase, Phase::Cooling { held, .. } if !held.is_empty()) {
            return KnownState {
                state: SessionState::Blocked,
                from: StateSource::None,
                waiting_for: Some("settings".to_owned()),
            };
        }
        if self.run.pid.is_none() {
            return known(SessionState::Starting, StateSource::None);
        }
        if self.policy.agent == Agent::Plain {
            return known(SessionState::Unknown, StateSource::None);
        }
        if self.run.screen.facts.dialog.as_deref() == Some("suspended") {
            // The program continues and has not drawn itself yet.
            return known(SessionState::Stopped, StateSource::Screen);
        }
        if let Some((from, what)) = self.asks() {
            return KnownState { state: SessionState::Blocked, from, waiting_for: Some(what.to_owned()) };
        }
        if let Some(what) = self.waits_on() {
            return KnownState {
                state: SessionState::Blocked,
                from: StateSource::Hook,
                waiting_for: Some(what.to_owned()),
            };
        }
        let hook = |state| known(state, StateSource::Hook);
        let file = |state| known(state, StateSource::SessionsFile);
        match (self.run.file.status, self.run.turn.state) {
            (Some(AgentStatus::Busy | AgentStatus::Waiting), _) => file(SessionState::Busy),
            // The file reports idle and hooks report busy: either a prompt was just submitted and the file is
            // about the turn before, or an interrupt ended this turn. Time tells which.
            (Some(AgentStatus::Idle | AgentStatus::Shell), Turn::Busy) if !self.idle_has_settled() => {
                hook(SessionState::Busy)
            }
            // A background shell does not block the prompt.
            (Some(AgentStatus::Idle | AgentStatus::Shell), _) => file(SessionState::Idle),
            (_, Turn::Idle) => hook(SessionState::Idle),
            (_, Turn::Busy) => hook(SessionState::Busy),
            (_, Turn::Unknown) => self.state_by_looks(),
        }
    }

    /// Neither a hook nor the file has reported: use the window's title, then the lines around the prompt
    /// box.
    fn state_by_looks(&self) -> KnownState {
        let known = |busy, from| KnownState {
            state: if busy { SessionState::Busy } else { SessionState::Idle },
            from,
            waiting_for: None,
        };
        match (self.run.screen.facts.title_busy, self.run.screen.facts.busy) {
            (Some(busy), _) => known(busy, StateSource::Title),
            (None, Some(busy)) => known(busy, StateSource::Screen),
            (None, None) => {
                let state = if self.ticked < self.must_have_spoken() {
                    SessionState::Starting
                } else {
                    SessionState::Unknown
                };
                KnownState { state, from: StateSource::None, waiting_for: None }
            }
        }
    }

    fn must_have_spoken(&self) -> Stamp {
        self.run.started.after(MUTE_MS)
    }

    /// When a program without any source no longer counts as starting.
    pub(super) fn mute_deadline(&self) -> Option<Stamp> {
        let starts = matches!(self.phase, Phase::Running) && self.state().state == SessionState::Starting;
        starts.then(|| self.must_have_spoken())
    }

    /// The source that reports a question to a person, and the question.
    pub(super) fn asks(&self) -> Option<(StateSource, &str)> {
        if let Some(name) = &self.run.screen.facts.dialog {
            return Some((StateSource::Screen, name));
        }
        // The file follows the hook by a tenth of a second and is more precise from then on.
        if let Some(what) = self
            .run
            .hooks
            .asking
            .as_deref()
            .filter(|_| self.run.file.status.is_some() && self.run.file.since <= self.run.turn.since)
        {
            return Some((StateSource::Hook, what));
        }
        let waits = self.run.file.status == Some(AgentStatus::Waiting);
        waits.then(|| (StateSource::SessionsFile, self.run.file.waiting_for.as_deref().unwrap_or("unknown")))
    }

    /// Since when the state holds, and the number of the journal line that began it.
    #[must_use]
    pub fn entered(&self) -> (Stamp, u64) {
        (self.entered.at, self.entered.seq)
    }

    /// The status in Claude's sessions file changed.
    pub(super) fn status(
        &mut self,
        step: &mut EventStep<'_>,
        status: AgentStatus,
        named: Option<&ConversationId>,
        waiting_for: Option<&String>,
    ) {
        self.run.file.waiting_for = waiting_for.cloned();
        // The same status again is no news, unless a turn began or ended since it was first reported.
        if self.run.file.status != Some(status) || self.run.file.since < self.run.turn.since {
            self.run.file.since = step.now;
        }
        self.run.file.status = Some(status);
        self.file_names(step, named);
        if !self.run.hooks.seen
            && let Some(id) = named
            && !self.is_current(id)
            && self.run.pid.is_some()
        {
            self.change_conversation(step, id.clone(), None, "Claude's sessions file names it", false);
        }
        self.settle_on_status(step);
    }

    /// Records the line at which a state began, so that one can wait for the next one.
    pub(super) fn note_state(&mut self, now: Stamp) {
        let state = self.state().state;
        if self.entered.state != state {
            self.entered = StateEntry { state, at: now, seq: self.lines.event };
        }
    }
}
