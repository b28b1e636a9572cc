//! The context usage and its levels: each fires once per crossing and is armed again when the usage drops.

use serde::{Deserialize, Serialize};

use super::action::RestartBy;
use super::phase::Phase;
use super::policy::Policy;
use crate::core::config::{Levels, RestartMode, Threshold};
use crate::core::context_level::{Fill, Level};

/// The most that one step of Claude is assumed to add to a transcript, in bytes, for levels by size; in
/// tokens it is a quarter of the window. A step that adds more is noticed at the next one.
const STEP_BYTES: u64 = 1 << 20;
/// Percentage points below a level at which it is armed again, so that a conversation that hovers there
/// crosses it once.
const REARM_POINTS: f64 = 5.0;

/// The context usage of the followed conversation at its first answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StartLevel {
    /// hopty did not start it, so its first usage says nothing.
    #[default]
    Elsewhere,
    /// hopty started it, and it has not answered yet.
    Unmeasured,
    /// hopty started it, and its first answer reached this level.
    At(Level),
}

/// The context usage of the followed conversation, compared with the levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LevelWatch {
    /// The usage arrived after the last hook call that may wait for lines.
    pub(super) measured: bool,
    pub(super) fill: Fill,
    /// The highest level that was crossed and is not armed.
    pub(super) fired: Level,
    pub(super) start_level: StartLevel,
    /// A hand-over by level is requested again when the next turn ends.
    pub(super) rearm_at_stop: bool,
}

impl LevelWatch {
    /// For a conversation that hopty starts.
    pub(super) fn of_own() -> Self {
        LevelWatch { start_level: StartLevel::Unmeasured, ..LevelWatch::default() }
    }

    /// Takes a new context usage. Returns the level that it crosses.
    pub(super) fn take(&mut self, fill: Fill, policy: &Policy) -> Option<Level> {
        self.fill = fill;
        self.measured = true;
        let level = self.level(policy);
        if self.start_level == StartLevel::Unmeasured && (fill.tokens > 0 || fill.window == 0) {
            self.start_level = StartLevel::At(level);
        }
        if level > self.fired {
            self.fired = level;
            return Some(level);
        }
        self.fired = self.fired.min(fill.level(&rearm_levels(policy)));
        None
    }

    pub(super) fn level(&self, policy: &Policy) -> Level {
        self.fill.level(&policy.levels())
    }

    /// Whether the conversation started at this level or above, so that a fresh one would not help.
    pub(super) fn began_at(&self, level: Level, policy: &Policy) -> bool {
        policy.rules > 0 && matches!(self.start_level, StartLevel::At(began) if began >= level)
    }

    /// Whether one more step of Claude cannot reach a level, so that no call needs to wait for its usage.
    pub(super) fn is_far(&self, policy: &Policy) -> bool {
        let (tokens, bytes) = (
            self.fill.tokens.saturating_add(self.fill.window / 4),
            self.fill.bytes.saturating_add(STEP_BYTES),
        );
        let after = Fill { tokens, bytes, ..self.fill };
        let measured = self.fill.tokens > 0 && self.fill.window > 0;
        policy.rules > 0 && measured && after.level(&policy.levels()) == Level::Ok
    }

    /// A hand-over by level that is being cancelled is requested again when the next turn ends.
    pub(super) fn rearm_later(&mut self, phase: &Phase) {
        self.rearm_at_stop |= phase.request().is_some_and(|request| request.by == RestartBy::Level);
    }

    /// `Context is at 82 % of 200000 tokens`, or the transcript's size if that reached the level or no window
    /// is known.
    pub(super) fn sentence(&self, policy: &Policy) -> String {
        match self.fill {
            fill if fill.window == 0 || policy.rules > 0 && fill.is_by_size(&policy.levels()) => {
                format!("The transcript is {} KiB long", fill.bytes / 1024)
            }
            fill => format!("Context is at {} % of {} tokens", fill.percent(), fill.window),
        }
    }

    /// [`LevelWatch::sentence`] in few words, for a line on Claude's screen.
    pub(super) fn few_words(&self, policy: &Policy) -> String {
        match self.fill {
            fill if fill.window == 0 || fill.is_by_size(&policy.levels()) => {
                format!("transcript of {} KiB", fill.bytes / 1024)
            }
            fill => format!("context {} % full", fill.percent()),
        }
    }

    /// `context 84 %, level handoff 80 %`.
    pub(super) fn with_level(&self, policy: &Policy) -> String {
        let level = if policy.config.restart.mode == RestartMode::Ask { Level::Ask } else { Level::Handoff };
        let level = if self.level(policy) == Level::Hard { Level::Hard } else { level };
        let fill = match self.fill.window {
            0 => format!("transcript {} KiB", self.fill.bytes / 1024),
            _ => format!("context {} %", self.fill.percent()),
        };
        format!("{fill}, level {} {}", level.word(), threshold_words(level, &policy.levels()))
    }
}

/// The threshold of a level, in words.
pub(super) fn threshold_words(level: Level, levels: &Levels) -> String {
    let Threshold { percent, tokens, kb } = match level {
        Level::Ok | Level::Ask => &levels.ask,
        Level::Warn => &levels.warn,
        Level::Handoff => &levels.handoff,
        Level::Hard => &levels.hard,
    };
    let parts = [
        percent.map(|p| format!("{p} %")),
        tokens.map(|t| format!("{t} tokens")),
        kb.map(|kb| format!("{kb} KiB")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "never".to_owned() } else { parts.join(" or ") }
}

/// The levels minus a few points: a usage below them arms a level again.
fn rearm_levels(policy: &Policy) -> Levels {
    let mut levels = policy.levels();
    for level in [&mut levels.ask, &mut levels.warn, &mut levels.handoff, &mut levels.hard] {
        level.percent = level.percent.map(|p| (p - REARM_POINTS).max(0.0));
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::super::tests::claude;
    use super::*;

    fn percent(percent: u64) -> Fill {
        Fill { tokens: 2000 * percent, window: 200_000, bytes: 0 }
    }

    #[test]
    fn a_level_fires_once_until_the_usage_has_dropped_well_below_it() {
        let policy = claude();
        let handoff = policy.levels().handoff.percent.unwrap() as u64;
        let mut usage = LevelWatch::default();
        let below = handoff - REARM_POINTS as u64;
        let crossed = [handoff, handoff + 1, handoff - 1, handoff, below - 1, handoff]
            .map(|p| usage.take(percent(p), &policy) == Some(Level::Handoff));
        assert_eq!(crossed, [true, false, false, false, false, true]);
        assert!(!usage.began_at(Level::Ask, &policy), "hopty did not begin it");
    }

    #[test]
    fn a_conversation_of_its_own_starts_at_its_first_usage() {
        let policy = claude();
        let mut usage = LevelWatch::of_own();
        usage.take(Fill { tokens: 0, ..percent(0) }, &policy);
        assert_eq!(usage.start_level, StartLevel::Unmeasured, "it has not answered yet");
        usage.take(percent(1), &policy);
        assert!(usage.is_far(&policy), "{usage:?}");
        usage.take(percent(99), &policy);
        assert!(!usage.is_far(&policy) && !usage.began_at(Level::Ask, &policy), "{usage:?}");
        let mut full = LevelWatch::of_own();
        full.take(percent(99), &policy);
        assert!(full.began_at(Level::Hard, &policy));
        assert_eq!(full.sentence(&policy), "Context is at 99 % of 200000 tokens");
    }
}
