//! The supervisor's state as the host and `hopty status` show it.

use serde::{Deserialize, Serialize};

use super::handover_step::HandoverStep;
use super::limit_and_error_wait::{LimitWait, ResumeAfter, UsageLimitWait};
use super::phase::Phase;
use super::{Policy, ProgramKind, Supervisor, Turn};
use crate::core::claude::permission::PermissionMode;
use crate::core::config::Levels;
use crate::core::context_level::{Fill, Level};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::Stamp;

/// How long a dialog must have stood before it takes keys, in ms.
const DIALOG_KEYS_MS: u64 = 700;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// The program is starting.
    #[default]
    Starting,
    /// Claude waits for a prompt.
    Idle,
    Busy,
    /// Claude waits for a person's answer.
    Blocked,
    /// The program is stopped (SIGTSTP).
    Stopped,
    /// The session is over.
    Ended,
    /// The program is not an agent: its state is not known.
    Unknown,
    /// The host is alive but does not answer; only its clients can see that.
    Unresponsive,
}

/// The source of a state (`state_from`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateSource {
    /// One of Claude's hooks, or without hooks its transcript.
    Hook,
    SessionsFile,
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
    pub state: SessionState,
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

impl StateEntry {
    /// Notes the state after an event, with the time and the journal line of the last change.
    pub(super) fn note(&mut self, state: SessionState, at: Stamp, seq: u64) {
        if self.state != state {
            *self = StateEntry { state, at, seq };
        }
    }
}

impl Supervisor {
    /// The last journal line: that of the last event plus its actions.
    pub fn seq(&self) -> u64 {
        self.lines.seq
    }

    /// Takes the next journal number, for an `open` line.
    pub fn take_seq(&mut self) -> u64 {
        self.lines.seq += 1;
        self.lines.seq
    }

    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The policy at the beginning of the session.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// This session under another policy, for a replay.
    #[must_use]
    pub fn under(self, policy: Policy) -> Self {
        Supervisor { policy, ..self }
    }

    /// Number of the run, 0 before the first.
    pub fn run(&self) -> u32 {
        self.session.runs
    }

    /// How often the child was replaced.
    pub fn restarts(&self) -> u32 {
        self.restart_limit.total()
    }

    /// The working directory of the next run if it is not the session's first: from a requested or stopped
    /// restart.
    pub fn next_dir(&self) -> Option<&str> {
        match self.phase.request() {
            Some(request) => request.dir.as_deref(),
            None => self.conversation.held_dir.as_deref(),
        }
    }

    /// The child's process id while it is running.
    pub fn pid(&self) -> Option<i32> {
        self.run.pid
    }

    pub fn conversation(&self) -> Option<&ConversationId> {
        self.conversation.id.as_ref()
    }

    /// The previous conversation, if it can be resumed.
    pub fn conversation_before(&self) -> Option<&ConversationId> {
        self.chain.before()
    }

    /// The last context usage.
    pub fn fill(&self) -> Fill {
        self.conversation.usage.fill
    }

    /// The level of the last context usage.
    pub fn level(&self) -> Level {
        self.conversation.usage.level(&self.policy)
    }

    /// The levels of the configuration.
    pub fn levels(&self) -> Levels {
        self.policy.levels()
    }

    /// The usage limit that the session waits for.
    pub fn limit(&self) -> Option<UsageLimitWait> {
        self.conversation.limit_wait.as_ref().and_then(LimitWait::limit)
    }

    /// When hopty submits a prompt to continue after a usage limit that has reset, unless Claude continues by
    /// itself before.
    pub fn continues_after_limit_at(&self, now: Stamp) -> Option<Stamp> {
        let (due, after) = self.conversation.limit_wait.as_ref()?.resumes()?;
        let is_reset = self.limit().is_some_and(|limit| limit.reset <= now);
        Some(due).filter(|_| is_reset && after == ResumeAfter::Limit)
    }

    /// Whether Claude cannot work: then the screen matters, and a hand-over would not help.
    pub fn in_limit_wait(&self) -> bool {
        self.conversation.limit_wait.is_some()
    }

    /// Whether only the transcript shows when a turn begins and ends.
    pub fn turns_by_transcript(&self, now: Stamp) -> bool {
        self.run.turns_by_transcript(now, &self.policy)
    }

    /// Whether an old Claude was told to end its turn after a tool and its transcript does not show the end
    /// yet.
    pub fn turn_is_cut(&self) -> bool {
        self.run.hooks.turn_cut
    }

    /// The handoff that waits for its conversation, or was just delivered.
    pub fn active_handoff(&self) -> Option<&HandoffId> {
        self.handoffs.active.as_ref()
    }

    /// The hand-over that is under way.
    pub fn handover_step(&self) -> Option<HandoverStep> {
        HandoverStep::of(&self.phase, self.handoffs.consuming.is_some())
    }

    /// Whether the task is completed, for the session's last message.
    pub fn task_completed(&self) -> bool {
        self.session.completed
    }

    /// The permission mode of the next run; `None` if the person's own arguments and settings determine it.
    pub fn permission_mode(&self) -> Option<PermissionMode> {
        self.modes.next()
    }

    /// Whether to read the footer although nothing else needs the screen.
    pub fn watches_mode(&self, now: Stamp) -> bool {
        self.modes.needs_footer(now, self.has_spoken())
    }

    /// Whether a prompt was submitted in the conversation, or may just have been, because a person has typed.
    pub fn may_have_prompt(&self, now: Stamp) -> bool {
        self.conversation.spoken || self.run.turn.state == Turn::Busy || self.run.person_writes(now)
    }

    /// Whether a prompt was submitted in this session.
    pub(super) fn has_spoken(&self) -> bool {
        self.conversation.spoken || self.session.runs != 1
    }

    /// Since when this state lasts, and the journal line at which it began.
    pub fn entered(&self) -> (Stamp, u64) {
        (self.entered.at, self.entered.seq)
    }

    /// From when a dialog on the screen takes keys. Claude 2.1.332 keeps earlier ones and puts them into the
    /// prompt box once the dialog is answered: 2 of 3 that were sent at once, 1 of 3 after 0.4 s, none of 9
    /// after 0.6 s (measured).
    pub fn dialog_takes_keys_at(&self) -> Option<Stamp> {
        // Other sources may know of it first.
        let blocked = Some(self.entered).filter(|entered| entered.state == SessionState::Blocked);
        let seen = self.run.screen.dialog_since.max(blocked.map(|entered| entered.at));
        seen.map(|at| at.after(DIALOG_KEYS_MS))
    }

    /// The API error at which the last turn ended, as Claude names it, until the next turn begins.
    pub fn turn_error(&self) -> Option<&str> {
        self.run.pid.and(self.run.turn.error.as_deref())
    }

    /// The state of the session, and its source.
    ///
    /// If two sources differ, the newer one counts, because each misses something: an interrupt runs no hook,
    /// and the sessions file lags behind hooks.
    ///
    /// Claude is not idle while it has a prompt whose turn has not started: requests that wait for the answer
    /// wait for the end of that turn.
    pub fn state(&self) -> KnownState {
        let state = self.state_by_sources();
        match state.state {
            SessionState::Idle | SessionState::Unknown if !self.policy.is_previous_release() => {
                let before = self.run.state_before_prompt(self.ticked);
                before.map_or(state, |state| KnownState { state, from: StateSource::None, waiting_for: None })
            }
            _ => state,
        }
    }

    /// The state, leaving aside prompts that Claude has but has not started.
    pub(super) fn state_by_sources(&self) -> KnownState {
        let known = |state, from| KnownState { state, from, waiting_for: None };
        let blocked = |from, what: &str| KnownState {
            state: SessionState::Blocked,
            from,
            waiting_for: Some(what.to_owned()),
        };
        match &self.phase {
            Phase::Closed { .. } => return known(SessionState::Ended, StateSource::None),
            _ if self.run.stopped => return known(SessionState::Stopped, StateSource::None),
            Phase::Cooling { held, .. } if !held.is_empty() => return blocked(StateSource::None, "settings"),
            _ if self.run.pid.is_none() => return known(SessionState::Starting, StateSource::None),
            _ if self.policy.agent == ProgramKind::Plain => {
                return known(SessionState::Unknown, StateSource::None);
            }
            _ => {}
        }
        if self.run.screen.facts.dialog.as_deref() == Some("suspended") {
            // The program continues and has not redrawn its screen yet.
            return known(SessionState::Stopped, StateSource::Screen);
        }
        if let Some((from, what)) = self.run.asks() {
            return blocked(from, what);
        }
        let wait = self.conversation.limit_wait.as_ref().filter(|_| self.run.turn.state != Turn::Busy);
        match wait.and_then(|wait| wait.waits_for(self.ticked)) {
            Some(what) => blocked(StateSource::Hook, what),
            None => self.run.state(self.ticked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_entered_once() {
        let mut entry = StateEntry::default();
        entry.note(SessionState::Starting, Stamp(5), 1);
        assert_eq!(entry, StateEntry::default(), "it starts so");
        entry.note(SessionState::Busy, Stamp(6), 2);
        entry.note(SessionState::Busy, Stamp(7), 3);
        assert_eq!(entry, StateEntry { state: SessionState::Busy, at: Stamp(6), seq: 2 });
    }
}
