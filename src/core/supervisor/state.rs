//! What others may ask the supervisor: its state as the host and `hopty status` show it.

use super::event::AgentStatus;
use super::phase::Phase;
use super::{Agent, Policy, Supervisor, Turn};
use crate::core::context::{Fill, Level};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::Stamp;

/// How long after its start a Claude that was given hooks may take to call the first one, in ms.
const HOOKS_MS: u64 = 10_000;

impl Supervisor {
    /// Number of the last journal line: that of the last event plus its actions.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Takes the next number of the journal, for an `open` line.
    pub fn take_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
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
        self.run
    }

    /// The child's process id while it lives.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// The conversation that is followed.
    #[must_use]
    pub fn conversation(&self) -> Option<&ConversationId> {
        self.conversation.as_ref()
    }

    /// The last permission mode that a hook named.
    #[must_use]
    pub fn permission_mode(&self) -> Option<&str> {
        self.mode.as_deref()
    }

    /// The last context figure.
    #[must_use]
    pub fn fill(&self) -> Fill {
        self.fill
    }

    /// The level of the last context figure.
    #[must_use]
    pub fn level(&self) -> Level {
        self.fill.level(&self.levels())
    }

    /// Whether only the transcript tells when a turn begins and ends.
    #[must_use]
    pub fn turns_by_transcript(&self, now: Stamp) -> bool {
        let hooks_may_come = self.policy.hooks && now.since(self.run_started) < HOOKS_MS;
        self.cut || !(self.hooks_seen || hooks_may_come)
    }

    /// Whether an old Claude was told to end its turn after a tool and has not said that it has.
    #[must_use]
    pub fn turn_is_cut(&self) -> bool {
        self.cut
    }

    /// How often the child was replaced.
    #[must_use]
    pub fn restarts(&self) -> u32 {
        self.restart_count
    }

    /// The handoff that waits for its reader, or was just delivered.
    #[must_use]
    pub fn active_handoff(&self) -> Option<&HandoffId> {
        self.active.as_ref()
    }

    /// What the session does, in the words of CONTRACT C3, since when, and how that is known.
    #[must_use]
    pub fn state(&self) -> (&'static str, Stamp, &'static str) {
        if matches!(self.phase, Phase::Closed { .. }) {
            return ("ended", self.phase_since, "none");
        }
        if self.stopped {
            return ("stopped", self.stopped_since, "none");
        }
        if self.pid.is_none() {
            return ("starting", self.phase_since, "none");
        }
        if self.policy.agent == Agent::Plain {
            return ("unknown", self.run_started, "none");
        }
        if self.screen.dialog.is_some() {
            return ("blocked", self.dialog_since, "screen");
        }
        let by_hook = |word| (word, self.turn_since, "hook");
        let by_file = |word| (word, self.status_since, "sessions_file");
        match (self.status, self.turn) {
            (Some(AgentStatus::Waiting), _) => by_file("blocked"),
            (Some(AgentStatus::Busy | AgentStatus::Shell), _) => by_file("busy"),
            // A prompt was just submitted and the file does not say so yet; or the person interrupted the turn, which
            // fires no hook: the later one is right.
            (Some(AgentStatus::Idle), Turn::Busy) if self.status_since <= self.turn_since => by_hook("busy"),
            (Some(AgentStatus::Idle), _) => by_file("idle"),
            (_, Turn::Idle) => by_hook("idle"),
            (_, Turn::Busy) => by_hook("busy"),
            (_, Turn::Unknown) => ("starting", self.run_started, "none"),
        }
    }
}
