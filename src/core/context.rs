//! The context figure: how full a conversation's window is, and which level that reaches.

use serde::{Deserialize, Serialize};

use super::config::{Level as Threshold, Levels};

/// How full is full: the names of DESIGN 7, in rising order.
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
    /// The word used in JSON and in sentences.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Ask => "ask",
            Level::Warn => "warn",
            Level::Handoff => "handoff",
            Level::Hard => "hard",
        }
    }

    /// The word of the third source document's `check_status` (checklist 86). Where nothing warns before a person is
    /// asked, being asked is the warning.
    #[must_use]
    pub fn check_word(self, levels: &Levels) -> &'static str {
        match self {
            Level::Ok => "OK",
            Level::Ask if levels.warn != Threshold::NEVER => "OK",
            Level::Ask | Level::Warn => "WARNING",
            Level::Handoff | Level::Hard => "HANDOFF_REQUIRED",
        }
    }

    /// The word of `.context-status`, as the first source document has it (checklist 21).
    #[must_use]
    pub fn status_word(self) -> &'static str {
        match self {
            Level::Ok => "OK",
            Level::Ask => "EARLY_WARN",
            Level::Warn => "WARN",
            Level::Handoff | Level::Hard => "CRITICAL",
        }
    }
}

/// Where a number came from (CONTRACT C3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowFrom {
    /// A status-line payload.
    Statusline,
    /// The table of models.
    ModelTable,
    /// Nothing was known: 200,000 is assumed.
    #[default]
    Assumed,
    /// The configuration.
    Config,
}

/// One reading of a conversation's fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Tokens of the last main-chain response: input, cache read and cache creation.
    pub tokens: u64,
    /// The window in tokens.
    pub window: u64,
    /// Size of the transcript in bytes.
    pub bytes: u64,
}

impl Fill {
    /// Percent of the window: round half up, 0 to 100 (CONTRACT C3).
    #[must_use]
    pub fn percent(&self) -> u8 {
        if self.window == 0 {
            return 0;
        }
        let doubled = (200 * u128::from(self.tokens)).div_euclid(u128::from(self.window));
        u8::try_from(doubled.div_ceil(2).min(100)).unwrap_or(100)
    }

    /// Whether `threshold` is reached: percent, tokens or kilobytes, the first one wins. Exact, not rounded.
    #[must_use]
    pub fn reaches(&self, threshold: &Threshold) -> bool {
        let percent = threshold.percent.is_some_and(|p| self.window > 0 && 100.0 * self.tokens as f64 >= p * self.window as f64);
        let tokens = threshold.tokens.is_some_and(|t| self.tokens >= t);
        let kb = threshold.kb.is_some_and(|kb| self.bytes >= kb.saturating_mul(1024));
        percent || tokens || kb
    }

    /// The highest level that is reached.
    #[must_use]
    pub fn level(&self, levels: &Levels) -> Level {
        [(Level::Hard, &levels.hard), (Level::Handoff, &levels.handoff), (Level::Warn, &levels.warn), (Level::Ask, &levels.ask)]
            .into_iter()
            .find(|(_, threshold)| self.reaches(threshold))
            .map_or(Level::Ok, |(level, _)| level)
    }

    /// `STATUS:SIZE`, the line of `.context-status` (checklist 21, 50).
    #[must_use]
    pub fn status_line(&self, levels: &Levels) -> String {
        let kb = self.bytes / 1024;
        let size = if kb >= 1024 { format!("{}.{}MB", kb / 1024, kb % 1024 * 10 / 1024) } else { format!("{kb}KB") };
        format!("{}:{size}", self.level(levels).status_word())
    }
}

/// The context window of a model in tokens, for the models whose window Claude Code itself reported
/// (measured on 2.1.329), else `None`.
#[must_use]
pub fn window_of_model(model: &str) -> Option<u64> {
    let million = ["claude-opus-5-5", "claude-sonnet-5", "claude-opus-4-8[1m]"];
    if million.contains(&model) || model.contains("[1m]") {
        return Some(1_000_000);
    }
    let known = ["claude-sonnet-4-5", "claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-opus-4-5"];
    known.iter().any(|name| model.starts_with(name)).then_some(200_000)
}
