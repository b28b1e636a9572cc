//! The usage of one conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::token_totals::TokenTotals;
use super::usage_ledger::{ConversationUsage, ledger};
use super::usage_report::UsageSums;

/// Tokens and cost of one conversation, with sub-agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageFigures {
    pub tokens: TokenTotals,
    /// US dollars, as far as Claude reported them.
    pub usd: f64,
    /// Tokens whose cost Claude did not report.
    pub tokens_without_cost: u64,
}

impl UsageFigures {
    /// The usage of a conversation alone; lines copied from another one count, too.
    #[must_use]
    pub fn of(conversation: ConversationUsage<'_>) -> Self {
        UsageSums::of(&ledger(&[conversation])).figures()
    }

    /// Adds one model of Claude's own account (`modelUsage`). `has_unknown_cost`: Claude does not know some
    /// model's price.
    pub fn add_account(&mut self, model: &Value, has_unknown_cost: bool) {
        let (tokens, usd) = account_of(model);
        self.tokens.add(tokens);
        self.usd += usd;
        if has_unknown_cost && usd == 0.0 {
            self.tokens_without_cost = self.tokens_without_cost.saturating_add(tokens.all());
        }
    }

    /// US dollars, with no more digits than Claude itself has; `None` if it reported nothing.
    pub fn cost(&self) -> Option<f64> {
        let is_known = self.usd > 0.0 || self.tokens_without_cost == 0;
        is_known.then(|| (self.usd * 1e6).round() / 1e6)
    }

    /// The cost for a person: `$1.24`, with `+` if Claude did not report all of it, and `-` if it reported
    /// nothing.
    pub fn cost_text(&self) -> String {
        let more = if self.tokens_without_cost > 0 { "+" } else { "" };
        match self.cost() {
            Some(usd) if usd > 0.0 && usd < 0.005 => format!("<$0.01{more}"),
            Some(usd) => format!("${usd:.2}{more}"),
            None => "-".to_owned(),
        }
    }
}

/// Tokens and US dollars of one model in Claude's own account.
pub(super) fn account_of(model: &Value) -> (TokenTotals, f64) {
    let number = |key: &str| model[key].as_u64().unwrap_or(0);
    let tokens = TokenTotals {
        input: number("inputTokens"),
        output: number("outputTokens"),
        cache_read: number("cacheReadInputTokens"),
        cache_creation: number("cacheCreationInputTokens"),
    };
    let usd = model["costUSD"].as_f64().filter(|usd| usd.is_finite() && *usd >= 0.0).unwrap_or(0.0);
    (tokens, usd)
}
