//! What others may ask the supervisor: its state as the host and `hopty status` show it.

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::event::AgentStatus;
use super::phase::Phase;
use super::{Agent, Policy, Supervisor, Turn};
use crate::core::context::{Fill, Level};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::Stamp;

/// What a session does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The program is on its way.
    #[default]
    Starting,
    /// Claude waits for a prompt.
    Idle,
    /// Claude is at work.
    Busy,
    /// Claude waits for a person's answer.
    Blocked,
    /// The program is stopped (SIGTSTP).
    Stopped,
    /// The session is over.
    Ended,
    /// It is no agent: what it does is not known.
    Unknown,
    /// Its host lives and does not answer. Only those who ask it can tell.
    Unresponsive,
}

/// How a state is known (`state_from`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// A hook of Claude's, or where there is none its transcript.
    Hook,
    /// Claude's sessions file.
    SessionsFile,
    /// The window's title.
    Title,
    /// What stands on the screen.
    Screen,
    /// hopty's own doing, or nothing.
    #[default]
    None,
}

/// A state with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What the session does.
    pub state: State,
    /// How that is known.
    pub from: Evidence,
    /// While it is blocked: on what, `unknown` where no rule knows it.
    pub waiting_for: Option<String>,
}

/// The state that was last entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StateEntered {
    state: State,
    at: Stamp,
    seq: u64,
}

/// How long after its start a Claude that was given hooks may take to call the first one, in ms.
const HOOKS_MS: u64 = 10_000;

/// How long after its start a program of which nothing speaks is taken for one that is starting, in ms.
const MUTE_MS: u64 = 30_000;

impl Supervisor {
    /// Number of the last journal line: that of the last event plus its actions.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.lines.seq
    }

    /// Takes the next number of the journal, for an `open` line.
    pub fn take_seq(&mut self) -> u64 {
        self.lines.seq += 1;
        self.lines.seq
    }

    /// The phase.
    #[must_use]
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The policy that the session began with.
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
        self.run.number
    }

    /// Another working directory in which the restart that is wanted, or was held, starts the next run.
    #[must_use]
    pub fn next_dir(&self) -> Option<&str> {
        match &self.phase {
            Phase::Waiting { request } | Phase::Saving { request, .. } => request.dir.as_deref(),
            _ => self.run.held_dir.as_deref(),
        }
    }

    /// The child's process id while it lives.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.run.pid
    }

    /// The conversation that is followed.
    #[must_use]
    pub fn conversation(&self) -> Option<&ConversationId> {
        self.conversation.id.as_ref()
    }

    /// The last context figure.
    #[must_use]
    pub fn fill(&self) -> Fill {
        self.conversation.fill
    }

    /// The level of the last context figure.
    #[must_use]
    pub fn level(&self) -> Level {
        self.conversation.fill.level(&self.levels())
    }

    /// Whether only the transcript tells when a turn begins and ends.
    #[must_use]
    pub fn turns_by_transcript(&self, now: Stamp) -> bool {
        let hooks_may_come = self.policy.hooks && now.since(self.run.started) < HOOKS_MS;
        self.run.cut || !(self.run.hooks_seen || hooks_may_come)
    }

    /// Whether an old Claude was told to end its turn after a tool and has not said that it has.
    #[must_use]
    pub fn turn_is_cut(&self) -> bool {
        self.run.cut
    }

    /// The handoff that waits for its reader, or was just delivered.
    #[must_use]
    pub fn active_handoff(&self) -> Option<&HandoffId> {
        self.handoffs.active.as_ref()
    }

    /// What the session does, and how that is known.
    ///
    /// The later word counts where two sources differ, because each is silent about something: an interrupt
    /// calls no hook, and the sessions file lags behind hooks.
    #[must_use]
    pub fn state(&self) -> Standing {
        let known = |state, from| Standing { state, from, waiting_for: None };
        if matches!(self.phase, Phase::Closed { .. }) {
            return known(State::Ended, Evidence::None);
        }
        if self.run.stopped {
            return known(State::Stopped, Evidence::None);
        }
        if matches!(&self.phase, Phase::Cooling { held, .. } if !held.is_empty()) {
            return Standing {
                state: State::Blocked,
                from: Evidence::None,
                waiting_for: Some("settings".to_owned()),
            };
        }
        if self.run.pid.is_none() {
            return known(State::Starting, Evidence::None);
        }
        if self.policy.agent == Agent::Plain {
            return known(State::Unknown, Evidence::None);
        }
        if self.run.screen.dialog.as_deref() == Some("suspended") {
            // It goes on, and has not drawn itself yet.
            return known(State::Stopped, Evidence::Screen);
        }
        if let Some((from, what)) = self.asks() {
            return Standing { state: State::Blocked, from, waiting_for: Some(what.to_owned()) };
        }
        if let Some(what) = self.waits_on() {
            return Standing {
                state: State::Blocked,
                from: Evidence::Hook,
                waiting_for: Some(what.to_owned()),
            };
        }
        let hook = |state| known(state, Evidence::Hook);
        let file = |state| known(state, Evidence::SessionsFile);
        match (self.run.status, self.run.turn) {
            (Some(AgentStatus::Busy | AgentStatus::Waiting), _) => file(State::Busy),
            // It says idle and hooks say busy: a prompt was just submitted, the word is about the turn
            // before, or an interrupt ended this one. Time tells.
            (Some(AgentStatus::Idle | AgentStatus::Shell), Turn::Busy) if !self.idle_has_settled() => {
                hook(State::Busy)
            }
            // A background shell keeps nobody from the prompt.
            (Some(AgentStatus::Idle | AgentStatus::Shell), _) => file(State::Idle),
            (_, Turn::Idle) => hook(State::Idle),
            (_, Turn::Busy) => hook(State::Busy),
            (_, Turn::Unknown) => self.state_by_looks(),
        }
    }

    /// Neither a hook nor the file has spoken: the window's title, then what stands round the prompt box.
    fn state_by_looks(&self) -> Standing {
        let known = |busy, from| Standing {
            state: if busy { State::Busy } else { State::Idle },
            from,
            waiting_for: None,
        };
        match (self.run.screen.title_busy, self.run.screen.busy) {
            (Some(busy), _) => known(busy, Evidence::Title),
            (None, Some(busy)) => known(busy, Evidence::Screen),
            (None, None) => {
                let state =
                    if self.ticked < self.must_have_spoken() { State::Starting } else { State::Unknown };
                Standing { state, from: Evidence::None, waiting_for: None }
            }
        }
    }

    fn must_have_spoken(&self) -> Stamp {
        self.run.started.after(MUTE_MS)
    }

    /// When a program of which nothing speaks is no longer taken for one that is starting.
    pub(super) fn mute_deadline(&self) -> Option<Stamp> {
        let starts = matches!(self.phase, Phase::Running) && self.state().state == State::Starting;
        starts.then(|| self.must_have_spoken())
    }

    /// Who says that a person is asked something, and for what.
    pub(super) fn asks(&self) -> Option<(Evidence, &str)> {
        if let Some(name) = &self.run.screen.dialog {
            return Some((Evidence::Screen, name));
        }
        // The file follows the hook by a tenth of a second, and from then on it knows better.
        if let Some(what) = self
            .run
            .asking
            .as_deref()
            .filter(|_| self.run.status.is_some() && self.run.status_since <= self.run.turn_since)
        {
            return Some((Evidence::Hook, what));
        }
        let waits = self.run.status == Some(AgentStatus::Waiting);
        waits.then(|| (Evidence::SessionsFile, self.run.waiting_for.as_deref().unwrap_or("unknown")))
    }

    /// Since when the state is as it is, and the number of the journal line that made it so.
    #[must_use]
    pub fn entered(&self) -> (Stamp, u64) {
        (self.entered.at, self.entered.seq)
    }

    /// Claude's sessions file says something else.
    pub(super) fn status(
        &mut self,
        now: Stamp,
        status: AgentStatus,
        named: Option<&ConversationId>,
        waiting_for: Option<&String>,
        out: &mut Vec<Action>,
    ) {
        self.run.waiting_for = waiting_for.cloned();
        // The same word again says nothing new, unless a turn began or ended since it was first said.
        if self.run.status != Some(status) || self.run.status_since < self.run.turn_since {
            self.run.status_since = now;
        }
        self.run.status = Some(status);
        self.file_names(now, named, out);
        if !self.run.hooks_seen
            && let Some(id) = named
            && !self.is_current(id)
            && self.run.pid.is_some()
        {
            self.change_conversation(id.clone(), None, "its sessions file names it", false, out);
        }
        self.settle_on_status(now, out);
    }

    /// Notes the line at which a state began, so that one can wait for the next one.
    pub(super) fn note_state(&mut self, now: Stamp) {
        let state = self.state().state;
        if self.entered.state != state {
            self.entered = StateEntered { state, at: now, seq: self.lines.event };
        }
    }
}
