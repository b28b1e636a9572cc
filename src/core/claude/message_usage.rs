//! The token counts of a message, and sums of money, as they are in a transcript.

use serde::Deserialize;

use super::lenient_json::Number;
use super::transcript_line::TokenUsage;

/// Claude's object `message.usage`, with the fields that hopty uses.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawUsage {
    input_tokens: Number,
    cache_read_input_tokens: Number,
    cache_creation_input_tokens: Number,
    output_tokens: Number,
}

impl RawUsage {
    /// The counts; a missing one is 0.
    pub(crate) fn into_usage(self) -> TokenUsage {
        TokenUsage {
            input: self.input_tokens.0.unwrap_or(0),
            cache_read: self.cache_read_input_tokens.0.unwrap_or(0),
            cache_creation: self.cache_creation_input_tokens.0.unwrap_or(0),
            output: self.output_tokens.0.unwrap_or(0),
        }
    }
}

/// A number of US dollars; any other value is nothing.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(from = "serde_json::Value")]
pub(crate) struct Dollars(pub(crate) Option<f64>);

impl From<serde_json::Value> for Dollars {
    fn from(value: serde_json::Value) -> Self {
        Dollars(value.as_f64().filter(|usd| usd.is_finite() && *usd >= 0.0))
    }
}
