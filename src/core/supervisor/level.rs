//! The context figure and the levels it crosses (DESIGN 7): fired once per crossing, armed again when it drops.

use super::action::{Action, DecisionKind, RestartBy};
use super::ask::Ask;
use super::phase::{Phase, Request};
use super::{Agent, Supervisor};
use crate::core::config::{Levels, RestartMode};
use crate::core::context::{Fill, Level};
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;

impl Supervisor {
    pub(super) fn usage(&mut self, now: Stamp, conversation: &ConversationId, fill: Fill, out: &mut Vec<Action>) {
        if !self.is_current(conversation) {
            return;
        }
        self.usage_seq = self.event_seq;
        self.fill = fill;
        self.spoken |= fill.tokens > 0;
        let level = fill.level(&self.levels());
        if level > self.fired {
            self.fired = level;
            let sentence = format!("{}, over level {}.", self.fill_words(), level.word());
            self.decide(out, DecisionKind::LevelCrossed, sentence, &[self.event_seq], |d| d.level = Some(level));
            self.level_crossed(now, level, out);
        } else {
            self.fired = self.fired.min(fill.level(&self.rearm_levels()));
        }
        if self.fired < Level::Ask && matches!(self.ask, Ask::Due { .. } | Ask::Put { .. }) {
            self.ask = Ask::Silent;
        }
    }

    /// `Context is at 82 % of 200000 tokens`, or the transcript's size where no window is known.
    pub(super) fn fill_words(&self) -> String {
        match self.fill {
            Fill { window: 0, bytes, .. } => format!("The transcript has {} KiB", bytes / 1024),
            fill => format!("Context is at {} % of {} tokens", fill.percent(), fill.window),
        }
    }

    fn level_crossed(&mut self, now: Stamp, level: Level, out: &mut Vec<Action>) {
        if self.policy.agent != Agent::Claude {
            return;
        }
        match self.policy.config.restart.mode {
            RestartMode::Auto if level >= Level::Handoff => self.level_request(now, level, out),
            RestartMode::Ask if level == Level::Hard => self.ask_late(now, out),
            RestartMode::Ask => self.ask_is_due(now, out),
            RestartMode::Auto | RestartMode::Manual => {}
        }
    }

    /// A hand-over because of a level: requested, hurried up, or remembered for the next end of a turn.
    pub(super) fn level_request(&mut self, now: Stamp, level: Level, out: &mut Vec<Action>) {
        if self.progress.is_missing() {
            return;
        }
        match &mut self.phase {
            Phase::Waiting { request } => {
                request.now |= level == Level::Hard;
                request.level = request.level.max(Some(level));
            }
            Phase::Running => {
                let sentence = format!("{}; a hand-over was requested.", self.fill_words());
                let request = self.new_request(now, RestartBy::Level);
                let request = Request { level: Some(level), now: level == Level::Hard, ..request };
                self.wait(now, request, sentence, self.usage_seq, out);
            }
            _ => self.rearm_at_stop = true,
        }
    }

    /// A hand-over by level that is being dropped is asked for again when the next turn ends.
    pub(super) fn rearm_later(&mut self) {
        if let Phase::Waiting { request } | Phase::Saving { request, .. } = &self.phase {
            self.rearm_at_stop |= request.by == RestartBy::Level;
        }
    }

    /// A turn is over: what was dropped before is asked for again.
    pub(super) fn rearm(&mut self, now: Stamp, out: &mut Vec<Action>) {
        if self.rearm_at_stop && self.phase == Phase::Running {
            self.rearm_at_stop = false;
            if self.level() >= Level::Handoff {
                self.level_request(now, self.level(), out);
            }
        }
    }

    /// The levels a few points lower: what is below these is armed again.
    fn rearm_levels(&self) -> Levels {
        let mut levels = self.levels();
        let points = f64::from(self.policy.config.context.rearm);
        for level in [&mut levels.ask, &mut levels.warn, &mut levels.handoff, &mut levels.hard] {
            level.percent = level.percent.map(|p| (p - points).max(0.0));
        }
        levels
    }

    /// The levels of the configuration.
    #[must_use]
    pub fn levels(&self) -> Levels {
        self.policy.config.context.levels()
    }
}
