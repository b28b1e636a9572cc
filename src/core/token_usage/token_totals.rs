use serde::{Deserialize, Serialize};

use crate::core::claude::transcript_line::TokenUsage;

/// Tokens of several messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenTotals {
    /// Uncached input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_creation: u64,
}

impl TokenTotals {
    /// The larger of two counts of one message: they grow while the answer arrives.
    #[must_use]
    pub fn larger(self, other: TokenTotals) -> Self {
        if (other.output, other.all()) > (self.output, self.all()) { other } else { self }
    }

    #[must_use]
    pub fn all(self) -> u64 {
        self.input
            .saturating_add(self.output)
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_creation)
    }

    pub fn add(&mut self, more: TokenTotals) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cache_read = self.cache_read.saturating_add(more.cache_read);
        self.cache_creation = self.cache_creation.saturating_add(more.cache_creation);
    }

    /// Subtracts, never below zero.
    pub fn subtract(&mut self, less: TokenTotals) {
        self.input = self.input.saturating_sub(less.input);
        self.output = self.output.saturating_sub(less.output);
        self.cache_read = self.cache_read.saturating_sub(less.cache_read);
        self.cache_creation = self.cache_creation.saturating_sub(less.cache_creation);
    }
}

impl From<TokenUsage> for TokenTotals {
    fn from(usage: TokenUsage) -> Self {
        TokenTotals {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_creation: usage.cache_creation,
        }
    }
}
