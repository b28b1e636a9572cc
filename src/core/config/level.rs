//! A context level as the configuration writes it: `{ percent, tokens, kb }`, the first reached wins, `{}`
//! never.

use serde::{Deserialize, Serialize};

/// The threshold of one context level. Every part is optional; with none the level is never reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Percent of the window, above 0 and at most 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Tokens in the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Size of the transcript in KiB (1024 bytes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kb: Option<u64>,
}

impl Level {
    /// A level that is never reached: `{}`.
    pub const NEVER: Level = Level { percent: None, tokens: None, kb: None };

    /// A level at `percent` of the window.
    #[must_use]
    pub const fn percent(percent: f64) -> Self {
        Level { percent: Some(percent), ..Level::NEVER }
    }

    /// A level at a transcript of `kb` KiB.
    #[must_use]
    pub const fn kb(kb: u64) -> Self {
        Level { kb: Some(kb), ..Level::NEVER }
    }
}

/// The four thresholds of a configuration, compared with the context usage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Levels {
    /// A person may be asked.
    pub ask: Level,
    /// Worth a warning.
    pub warn: Level,
    /// Hand over at the end of the turn.
    pub handoff: Level,
    /// Hand over at the next safe point of any kind.
    pub hard: Level,
}

impl Default for Levels {
    fn default() -> Self {
        Levels {
            ask: Level::percent(60.0),
            warn: Level::percent(70.0),
            handoff: Level::percent(80.0),
            hard: Level::percent(90.0),
        }
    }
}
