//! When the next hand-over comes, and why then.

use serde::{Deserialize, Serialize};

use super::context_level_watch::threshold_words;
use super::handover_question::HandoverQuestion;
use super::phase::{Phase, RestartRequest, StopFor};
use super::reported_state::SessionState;
use super::screen_facts::PromptBox;
use super::{ProgramKind, Supervisor, Turn};
use crate::core::config::RestartMode;
use crate::core::context_level::Level;
use crate::core::time::Stamp;

/// When a hand-over comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoverWhen {
    /// Now: it is under way.
    Now,
    /// After the running tools.
    Tools,
    /// At the end of this turn.
    Turn,
    /// At the end of the turn that the next prompt begins.
    NextTurn,
    /// Once the draft in the prompt box is gone, or at `at`.
    Draft,
    /// With the person's next prompt, or at `at` without one.
    Prompt,
    /// With the person's next prompt, whenever that comes.
    NextPrompt,
    /// After a person agrees.
    Asked,
    /// When the context is fuller.
    Level,
    /// After a person's snooze.
    Snoozed,
    /// It is due but prevented; at `at` hopty tries again.
    Held,
    /// Never by itself.
    Off,
}

/// When the next hand-over comes, as far as is known now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextHandover {
    pub when: HandoverWhen,
    /// Why then, in a few words without a full stop.
    pub why: String,
    /// The latest time at which it happens, or may happen.
    pub at: Option<Stamp>,
}

impl Supervisor {
    /// When the next hand-over comes; `None` for programs other than Claude, and once the session is over.
    pub fn next_handover(&self, now: Stamp) -> Option<NextHandover> {
        let next = |when, why: String, at| Some(NextHandover { when, why, at });
        if self.policy.agent != ProgramKind::Claude {
            return None;
        }
        match &self.phase {
            Phase::Closed { .. }
            | Phase::Stopping { why: StopFor::Stop | StopFor::Shutdown | StopFor::Limit, .. } => None,
            Phase::Cooling { held, .. } if !held.is_empty() => next(
                HandoverWhen::Off,
                format!(
                    "settings that run code have changed ({}); accept them with `hopty restart`",
                    held.join(", ")
                ),
                None,
            ),
            Phase::Waiting { request } => Some(self.next_of(now, request)),
            Phase::Saving { .. } | Phase::Stopping { .. } | Phase::Delivering { .. } => {
                next(HandoverWhen::Now, self.conversation.usage.with_level(&self.policy), None)
            }
            Phase::Cold | Phase::Spawning { .. } | Phase::Cooling { .. } | Phase::Running => {
                Some(self.next_by_level(now))
            }
        }
    }

    /// A hand-over is requested and waits.
    fn next_of(&self, now: Stamp, request: &RestartRequest) -> NextHandover {
        let why = if request.is_by_level() {
            self.conversation.usage.with_level(&self.policy)
        } else {
            "as requested".to_owned()
        };
        let (when, at) = match self.run.turn.state {
            _ if self.in_limit_wait() => (HandoverWhen::Turn, None),
            Turn::Unknown if self.run.is_mute(now) => {
                let why = "Claude calls no hook".to_owned();
                return NextHandover { when: HandoverWhen::Held, why, at: None };
            }
            _ if request.for_prompt.is_some() && self.is_only_resumed() => (HandoverWhen::NextPrompt, None),
            _ if request.for_prompt.is_some() => {
                (HandoverWhen::Prompt, self.person.present_until(&self.policy.config.restart))
            }
            Turn::Busy if request.now || now >= request.turn_until => (HandoverWhen::Tools, None),
            Turn::Busy if self.waits_for_prompt(now, request) => (HandoverWhen::Prompt, None),
            Turn::Busy => (HandoverWhen::Turn, Some(request.turn_until)),
            _ => match request.draft_until.filter(|_| self.run.screen.facts.prompt == PromptBox::Draft) {
                Some(at) if now < at => (HandoverWhen::Draft, Some(at)),
                _ => (HandoverWhen::Now, None),
            },
        };
        NextHandover { when, why, at }
    }

    /// The hand-over question is open, or its answer postpones hand-overs by level.
    fn next_by_question(&self) -> Option<NextHandover> {
        let (when, why, at) = match self.conversation.question {
            HandoverQuestion::Due { until } | HandoverQuestion::Put { until } => {
                (HandoverWhen::Asked, self.conversation.usage.with_level(&self.policy), until)
            }
            HandoverQuestion::Snoozed { until } => {
                (HandoverWhen::Snoozed, "you snoozed it".to_owned(), Some(until))
            }
            HandoverQuestion::Dismissed => {
                (HandoverWhen::Off, "you dismissed it for this conversation".to_owned(), None)
            }
            HandoverQuestion::Silent => return None,
        };
        Some(NextHandover { when, why, at })
    }

    fn next_by_level(&self, now: Stamp) -> NextHandover {
        let restart = &self.policy.config.restart;
        let off = |why: &str| NextHandover { when: HandoverWhen::Off, why: why.to_owned(), at: None };
        if let Some(why) = &self.policy.no_handover {
            return off(why);
        }
        let level = match restart.mode {
            RestartMode::Manual => return off("`restart.mode` is \"manual\""),
            RestartMode::Ask => Level::Ask,
            RestartMode::Auto => Level::Handoff,
        };
        if let Some(next) = self.next_by_question() {
            return next;
        }
        if self.conversation.progress.is_missing() {
            return off("until your next prompt: two hand-overs in a row made no progress");
        }
        if self.task_completed() {
            return off("the task is completed");
        }
        if self.conversation.usage.began_at(level, &self.policy) {
            return off(&format!("this conversation started at level {} or above", level.word()));
        }
        if let Some(reason) = self.restart_limit.refusal(now, &self.policy.config.restart) {
            return off(&reason);
        }
        if self.conversation.settings_held && self.conversation.usage.fired >= level {
            let why = "settings that run code have changed; accept them with `hopty restart`".to_owned();
            return NextHandover { when: HandoverWhen::Held, why, at: None };
        }
        if let Some(failed) = self.handoffs.pause(now, self.level())
            && self.conversation.usage.rearm_at_stop
        {
            return NextHandover {
                when: HandoverWhen::Held,
                why: failed.why.clone(),
                at: Some(failed.until),
            };
        }
        if self.conversation.usage.rearm_at_stop {
            // No hook reports the end of a turn that Ctrl+C ended.
            let is_idle = self.state().state == SessionState::Idle;
            return NextHandover {
                when: if is_idle { HandoverWhen::NextTurn } else { HandoverWhen::Turn },
                why: self.conversation.usage.with_level(&self.policy),
                at: None,
            };
        }
        let percent = self.conversation.usage.fill.percent();
        let why =
            format!("none before {} (context {percent} %)", threshold_words(level, &self.policy.levels()));
        NextHandover { when: HandoverWhen::Level, why, at: None }
    }
}
