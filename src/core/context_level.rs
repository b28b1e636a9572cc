//! Context usage and its levels.

use serde::{Deserialize, Serialize};

use super::config::{Levels, Threshold};

/// In rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Below every level.
    #[default]
    Ok,
    /// A person may be asked (60 % by default).
    Ask,
    /// Worth a warning (70 %).
    Warn,
    /// Hand over at the end of the turn (80 %).
    Handoff,
    /// Hand over at the next tool boundary (90 %).
    Hard,
}

impl Level {
    /// Its name in JSON and in sentences.
    pub fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Ask => "ask",
            Level::Warn => "warn",
            Level::Handoff => "handoff",
            Level::Hard => "hard",
        }
    }

    /// The SGR number of its colour: green, yellow or red.
    #[must_use]
    pub fn color(self) -> u8 {
        match self {
            Level::Ok => 32,
            Level::Ask | Level::Warn => 33,
            Level::Handoff | Level::Hard => 31,
        }
    }

    /// Its name in the third source document's `check_status`. Without a level `warn`, level `ask` is the
    /// warning.
    #[must_use]
    pub fn check_word(self, levels: &Levels) -> &'static str {
        match self {
            Level::Ok => "OK",
            Level::Ask if levels.warn != Threshold::NEVER => "OK",
            Level::Ask | Level::Warn => "WARNING",
            Level::Handoff | Level::Hard => "HANDOFF_REQUIRED",
        }
    }
}

/// The source of the window's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowFrom {
    /// A status-line payload.
    Statusline,
    ModelTable,
    /// None: 200,000 is assumed.
    #[default]
    Assumed,
    /// The configuration.
    Config,
}

/// The context usage of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Tokens of the last main-chain response: input, cache read and cache creation.
    pub tokens: u64,
    /// The size of the window in tokens.
    pub window: u64,
    /// The transcript's size in bytes.
    pub bytes: u64,
}

impl Fill {
    /// The share of the window in percent, rounded half up, 0 to 100.
    pub fn percent(&self) -> u8 {
        if self.window == 0 {
            return 0;
        }
        let doubled = (200 * u128::from(self.tokens)).div_euclid(u128::from(self.window));
        u8::try_from(doubled.div_ceil(2).min(100)).unwrap_or(100)
    }

    /// Whether it reaches `threshold` by percent, tokens or kilobytes. Compares exact values, not rounded
    /// ones.
    pub fn reaches(&self, threshold: &Threshold) -> bool {
        let percent = threshold
            .percent
            .is_some_and(|p| self.window > 0 && 100.0 * self.tokens as f64 >= p * self.window as f64);
        let tokens = threshold.tokens.is_some_and(|t| self.tokens >= t);
        let kb = threshold.kb.is_some_and(|kb| self.bytes >= kb.saturating_mul(1024));
        percent || tokens || kb
    }

    /// The highest level that it reaches.
    pub fn level(&self, levels: &Levels) -> Level {
        [
            (Level::Hard, &levels.hard),
            (Level::Handoff, &levels.handoff),
            (Level::Warn, &levels.warn),
            (Level::Ask, &levels.ask),
        ]
        .into_iter()
        .find(|(_, threshold)| self.reaches(threshold))
        .map_or(Level::Ok, |(level, _)| level)
    }

    /// Whether only the transcript's size, and not its tokens, reaches the level.
    pub fn is_by_size(&self, levels: &Levels) -> bool {
        Fill { bytes: 0, ..*self }.level(levels) < self.level(levels)
    }
}

/// The context window of a model in tokens; `None` unless Claude Code has reported it (measured on 2.1.329).
pub fn window_of_model(model: &str) -> Option<u64> {
    let million = ["claude-opus-5-5", "claude-sonnet-5", "claude-opus-4-8[1m]"];
    if million.contains(&model) || model.contains("[1m]") {
        return Some(1_000_000);
    }
    let known =
        ["claude-sonnet-4-5", "claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-opus-4-5"];
    known.iter().any(|name| model.starts_with(name)).then_some(200_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_is_rounded_and_a_level_is_exact() {
        let fill = Fill { tokens: 159_999, window: 200_000, bytes: 0 };
        assert_eq!((fill.percent(), fill.level(&Levels::default())), (80, Level::Warn));
        assert_eq!(Fill { tokens: 160_000, ..fill }.level(&Levels::default()), Level::Handoff);
    }
}
