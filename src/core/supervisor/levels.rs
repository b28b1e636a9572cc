//! The context usage and its levels: each fires once per crossing and is armed again when the usage drops.

use serde::{Deserialize, Serialize};

use super::action::{DecisionKind, RestartBy};
use super::phase::{Phase, RestartRequest};
use super::question::HandoverQuestion;
use super::step::EventStep;
use super::{Agent, Supervisor};
use crate::core::config::{Levels, RestartMode};
use crate::core::context::{Fill, Level};
use crate::core::ids::ConversationId;

/// The most that one step of Claude adds to a transcript, in bytes, for levels by size; in tokens it is a
/// quarter of the window. A step that adds more is noticed at the next one.
const STEP_BYTES: u64 = 1 << 20;
/// Percentage points below a level at which it is armed again, so that a conversation that hovers there
/// crosses it once.
const REARM_POINTS: f64 = 5.0;

/// The context usage of the followed conversation at its first answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StartLevel {
    /// hopty did not begin it, so its first usage says nothing.
    #[default]
    Elsewhere,
    /// hopty began it, and it has not answered yet.
    Unmeasured,
    /// hopty began it, at this level.
    At(Level),
}

impl Supervisor {
    pub(super) fn usage(&mut self, step: &mut EventStep<'_>, conversation: &ConversationId, fill: Fill) {
        if !self.is_current(conversation) {
            return;
        }
        self.lines.usage = step.line;
        self.conversation.fill = fill;
        self.conversation.spoken |= fill.tokens > 0;
        self.conversation.measured = true;
        let level = fill.level(&self.levels());
        if self.conversation.start_level == StartLevel::Unmeasured && (fill.tokens > 0 || fill.window == 0) {
            self.conversation.start_level = StartLevel::At(level);
        }
        if level > self.conversation.fired {
            self.conversation.fired = level;
            let sentence = format!("{} (level {}).", self.fill_words(), level.word());
            step.decide(DecisionKind::LevelCrossed, sentence).level(level);
            self.level_crossed(step, level);
        } else {
            self.conversation.fired = self.conversation.fired.min(fill.level(&self.rearm_levels()));
        }
        if self.conversation.fired < Level::Ask
            && matches!(
                self.conversation.question,
                HandoverQuestion::Due { .. } | HandoverQuestion::Put { .. }
            )
        {
            self.conversation.question = HandoverQuestion::Silent;
        }
    }

    /// `Context is at 82 % of 200000 tokens`, or the transcript's size if that reached the level or no window
    /// is known.
    pub(super) fn fill_words(&self) -> String {
        match self.conversation.fill {
            fill if fill.window == 0 || self.policy.rules > 0 && fill.is_by_size(&self.levels()) => {
                format!("The transcript is {} KiB long", fill.bytes / 1024)
            }
            fill => format!("Context is at {} % of {} tokens", fill.percent(), fill.window),
        }
    }

    fn level_crossed(&mut self, step: &mut EventStep<'_>, level: Level) {
        if self.policy.agent != Agent::Claude {
            return;
        }
        if level >= Level::Ask && self.began_at(level) {
            let word = level.word();
            let text = if self.is_back() {
                format!(
                    "No automatic hand-over: you went back to this conversation, which is at level {word}; \
                     `hopty restart` hands over anyway."
                )
            } else {
                format!(
                    "No automatic hand-over: this conversation started at level {word}, and the next one \
                     would too."
                )
            };
            step.tell(DecisionKind::RestartIgnored, text).by(RestartBy::Level).level(level);
            return;
        }
        match self.policy.config.restart.mode {
            RestartMode::Auto if level >= Level::Handoff => self.level_request(step, level),
            RestartMode::Ask if level == Level::Hard => self.ask_late(step),
            RestartMode::Ask => self.ask_is_due(step),
            RestartMode::Auto | RestartMode::Manual => {}
        }
    }

    /// A hand-over by level: requested, hurried up, or remembered for the end of the next turn.
    pub(super) fn level_request(&mut self, step: &mut EventStep<'_>, level: Level) {
        if self.conversation.progress.is_missing() || self.began_at(level) {
            return;
        }
        if self.is_snoozed() && self.phase == Phase::Running {
            self.conversation.rearm_at_stop = true;
            return;
        }
        if self.policy.rules > 0 && self.phase == Phase::Running && self.limit_stands(step, RestartBy::Level)
        {
            self.conversation.rearm_at_stop = true;
            return;
        }
        match &mut self.phase {
            Phase::Waiting { request } => {
                request.now |= level == Level::Hard;
                request.level = request.level.max(Some(level));
            }
            Phase::Running => {
                let sentence = format!("{}; hand-over requested.", self.fill_words());
                let request = self.new_request(step.now, RestartBy::Level);
                let request = RestartRequest { level: Some(level), now: level == Level::Hard, ..request };
                self.wait_because(step, request, sentence, self.lines.usage);
            }
            _ => self.conversation.rearm_at_stop = true,
        }
    }

    /// Whether one more step of Claude cannot reach a level: then no call needs to wait for what the step
    /// adds.
    pub(super) fn is_far_from_levels(&self) -> bool {
        let (tokens, bytes) = (
            self.conversation.fill.tokens.saturating_add(self.conversation.fill.window / 4),
            self.conversation.fill.bytes.saturating_add(STEP_BYTES),
        );
        let after = Fill { tokens, bytes, ..self.conversation.fill };
        let measured = self.conversation.fill.tokens > 0 && self.conversation.fill.window > 0;
        self.policy.rules > 0
            && self.phase == Phase::Running
            && measured
            && after.level(&self.levels()) == Level::Ok
    }

    /// Whether the conversation began at this level or above, so that a fresh one would not help.
    pub(super) fn began_at(&self, level: Level) -> bool {
        self.policy.rules > 0
            && matches!(self.conversation.start_level, StartLevel::At(began) if began >= level)
    }

    /// A hand-over by level that is being cancelled is requested again when the next turn ends.
    pub(super) fn rearm_later(&mut self) {
        if let Phase::Waiting { request } | Phase::Saving { request, .. } = &self.phase {
            self.conversation.rearm_at_stop |= request.by == RestartBy::Level;
        }
    }

    /// A turn is over: requests again what was cancelled before.
    pub(super) fn rearm(&mut self, step: &mut EventStep<'_>) {
        if self.conversation.rearm_at_stop && self.phase == Phase::Running {
            self.conversation.rearm_at_stop = false;
            if self.level() >= Level::Handoff {
                self.level_request(step, self.level());
            }
        }
    }

    /// The levels minus a few points: a usage below them arms a level again.
    fn rearm_levels(&self) -> Levels {
        let mut levels = self.levels();
        for level in [&mut levels.ask, &mut levels.warn, &mut levels.handoff, &mut levels.hard] {
            level.percent = level.percent.map(|p| (p - REARM_POINTS).max(0.0));
        }
        levels
    }

    /// The levels of the configuration.
    #[must_use]
    pub fn levels(&self) -> Levels {
        self.policy.config.context.levels()
    }
}
