//! A context level as the configuration writes it: `{ percent, tokens, kb }`, the first reached wins, `{}`
//! never.

use serde::{Deserialize, Serialize};

/// The threshold of one context level. Every part is optional; with none the level is never reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
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

impl Threshold {
    /// A level that is never reached: `{}`.
    pub const NEVER: Threshold = Threshold { percent: None, tokens: None, kb: None };

    /// A level at `percent` of the window.
    #[must_use]
    pub const fn percent(percent: f64) -> Self {
        Threshold { percent: Some(percent), ..Threshold::NEVER }
    }

    /// A level at a transcript of `kb` KiB.
    #[must_use]
    pub const fn kb(kb: u64) -> Self {
        Threshold { kb: Some(kb), ..Threshold::NEVER }
    }
}

/// The four thresholds of a configuration, compared with the context usage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Levels {
    /// Ask a person, in mode `ask`.
    pub ask: Threshold,
    pub warn: Threshold,
    /// Hand over at the end of the turn.
    pub handoff: Threshold,
    /// Hand over at the next safe point of any kind.
    pub hard: Threshold,
}

impl Default for Levels {
    fn default() -> Self {
        Levels {
            ask: Threshold::percent(60.0),
            warn: Threshold::percent(70.0),
            handoff: Threshold::percent(80.0),
            hard: Threshold::percent(90.0),
        }
    }
}
