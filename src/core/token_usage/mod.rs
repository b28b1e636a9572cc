//! What Claude used: tokens, cost, time and hand-overs, from the lines of transcripts.
//!
//! [`UsageReader`] reads the answers of a transcript and Claude's own accounts of cost. [`ledger`] makes
//! entries of a conversation's transcripts, with sub-agents: every answer once, and the cost as Claude
//! reported it. [`UsageReport`] adds up entries by day, project, model or conversation, and [`UsageFigures`]
//! those of one conversation.

mod token_totals;
mod usage_figures;
mod usage_ledger;
mod usage_reader;
mod usage_report;

pub use token_totals::TokenTotals;
pub use usage_figures::UsageFigures;
pub use usage_ledger::{ConversationUsage, UsageEntry, ledger};
pub use usage_reader::{ModelAccount, UsageAccount, UsageAnswer, UsageReader, UsageRecords};
pub use usage_report::{UsageGroup, UsageReport, UsageRow, UsageSums};
