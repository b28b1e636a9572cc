//! Adds up entries by day, week, month, project, model or conversation.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Datelike, NaiveDate};

use super::token_totals::TokenTotals;
use super::usage_figures::UsageFigures;
use super::usage_ledger::UsageEntry;
use crate::core::ids::ConversationId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageGroup {
    /// Such as `2026-11-20`.
    Day,
    /// Of ISO 8601, such as `2026-W47`.
    Week,
    /// Such as `2026-11`.
    Month,
    Project,
    Model,
    Conversation,
}

impl UsageGroup {
    pub const ALL: [UsageGroup; 6] = [
        UsageGroup::Day,
        UsageGroup::Week,
        UsageGroup::Month,
        UsageGroup::Project,
        UsageGroup::Model,
        UsageGroup::Conversation,
    ];

    /// Its word on the command line, in tables and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            UsageGroup::Day => "day",
            UsageGroup::Week => "week",
            UsageGroup::Month => "month",
            UsageGroup::Project => "project",
            UsageGroup::Model => "model",
            UsageGroup::Conversation => "conversation",
        }
    }

    /// Whether the rows are in order of time; otherwise the largest comes first.
    #[must_use]
    pub fn is_time(self) -> bool {
        matches!(self, UsageGroup::Day | UsageGroup::Week | UsageGroup::Month)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageSums {
    pub tokens: TokenTotals,
    /// US dollars, as far as Claude reported them.
    pub usd: f64,
    /// Tokens whose cost Claude did not report.
    pub tokens_without_cost: u64,
    /// In ms.
    pub work_ms: u64,
    pub answers: u64,
    pub handovers: u64,
    pub conversations: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct UsageRow {
    /// The day, the directory, the model and so on; empty if it is unknown.
    pub key: String,
    pub sums: UsageSums,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageReport {
    /// In order of time, or the largest first.
    pub rows: Vec<UsageRow>,
    pub total: UsageSums,
}

#[derive(Default)]
struct Adding<'a> {
    sums: UsageSums,
    conversations: BTreeSet<&'a ConversationId>,
}

impl<'a> Adding<'a> {
    fn add(&mut self, entry: &UsageEntry<'a>) {
        let sums = &mut self.sums;
        sums.tokens.add(entry.tokens);
        match entry.usd {
            Some(usd) => sums.usd += usd,
            None => {
                sums.tokens_without_cost = sums.tokens_without_cost.saturating_add(entry.tokens.all());
            }
        }
        sums.work_ms = sums.work_ms.saturating_add(entry.work_ms);
        sums.answers += entry.answers;
        sums.handovers += entry.handovers;
        self.conversations.insert(entry.conversation);
    }

    fn done(self) -> UsageSums {
        UsageSums { conversations: self.conversations.len(), ..self.sums }
    }
}

impl UsageSums {
    #[must_use]
    pub fn of(entries: &[UsageEntry<'_>]) -> Self {
        let mut adding = Adding::default();
        entries.iter().for_each(|entry| adding.add(entry));
        adding.done()
    }

    pub fn figures(&self) -> UsageFigures {
        UsageFigures { tokens: self.tokens, usd: self.usd, tokens_without_cost: self.tokens_without_cost }
    }
}

impl UsageReport {
    /// Adds up `entries`. `day`: the local day of an entry.
    #[must_use]
    pub fn of<'a>(
        entries: &[UsageEntry<'a>],
        group: UsageGroup,
        day: impl Fn(&UsageEntry<'a>) -> NaiveDate,
    ) -> Self {
        let mut rows: BTreeMap<String, Adding<'a>> = BTreeMap::new();
        for entry in entries {
            let key = match group {
                UsageGroup::Day => day(entry).to_string(),
                UsageGroup::Week => {
                    let week = day(entry).iso_week();
                    format!("{:04}-W{:02}", week.year(), week.week())
                }
                UsageGroup::Month => day(entry).format("%Y-%m").to_string(),
                UsageGroup::Project => entry.dir.to_owned(),
                UsageGroup::Model => entry.model.to_owned(),
                UsageGroup::Conversation => entry.conversation.to_string(),
            };
            // A hand-over has no model.
            if !(group == UsageGroup::Model && entry.answers == 0 && entry.handovers > 0) {
                rows.entry(key).or_default().add(entry);
            }
        }
        let mut rows: Vec<UsageRow> =
            rows.into_iter().map(|(key, adding)| UsageRow { key, sums: adding.done() }).collect();
        if !group.is_time() {
            let size = |row: &UsageRow| (row.sums.usd, row.sums.tokens.all());
            rows.sort_by(|a, b| size(b).partial_cmp(&size(a)).unwrap_or(std::cmp::Ordering::Equal));
        }
        UsageReport { rows, total: UsageSums::of(entries) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time::WallTime;

    #[test]
    fn more_than_there_can_be_is_no_overflow() {
        let id = "c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap();
        let entry = UsageEntry {
            at: WallTime(0),
            conversation: &id,
            dir: "/a",
            model: "opus",
            tokens: TokenTotals { input: u64::MAX, output: u64::MAX, ..TokenTotals::default() },
            usd: None,
            work_ms: u64::MAX,
            answers: 1,
            handovers: 0,
        };
        let sums = UsageSums::of(&[entry.clone(), entry]);
        assert_eq!((sums.tokens_without_cost, sums.work_ms), (u64::MAX, u64::MAX));
    }

    #[test]
    fn entries_are_added_up_by_what_is_asked_for() {
        let ids: Vec<ConversationId> =
            (1..3).map(|n| format!("{n:08x}-0000-4000-8000-000000000000").parse().unwrap()).collect();
        let entry = |day: i64, of: usize, model: &'static str, input: u64, usd: Option<f64>| UsageEntry {
            at: WallTime(day * 86_400_000),
            conversation: &ids[of],
            dir: ["/a", "/b"][of],
            model,
            tokens: TokenTotals { input, ..TokenTotals::default() },
            usd,
            work_ms: 1000,
            answers: 1,
            handovers: 0,
        };
        let mut entries = vec![
            entry(20_000, 0, "opus", 10, Some(1.0)),
            entry(20_001, 0, "haiku", 20, Some(0.5)),
            entry(20_010, 1, "opus", 40, None),
        ];
        entries.push(UsageEntry { handovers: 1, answers: 0, work_ms: 0, ..entry(20_010, 1, "", 0, None) });
        let day = |entry: &UsageEntry<'_>| {
            chrono::DateTime::from_timestamp_millis(entry.at.0).unwrap().date_naive()
        };
        let keys = |group| {
            let report = UsageReport::of(&entries, group, day);
            assert_eq!((report.total.tokens.input, report.total.usd), (70, 1.5));
            assert_eq!((report.total.tokens_without_cost, report.total.conversations), (40, 2));
            assert_eq!((report.total.handovers, report.total.answers, report.total.work_ms), (1, 3, 3000));
            let row = |row: UsageRow| (row.key, row.sums.tokens.input, row.sums.conversations);
            report.rows.into_iter().map(row).collect::<Vec<_>>()
        };
        let rows = |list: &[(&str, u64, usize)]| {
            list.iter().map(|(key, input, n)| ((*key).to_owned(), *input, *n)).collect::<Vec<_>>()
        };
        assert_eq!(
            keys(UsageGroup::Day),
            rows(&[("2024-10-04", 10, 1), ("2024-10-05", 20, 1), ("2024-10-14", 40, 1)])
        );
        assert_eq!(keys(UsageGroup::Week), rows(&[("2024-W40", 30, 1), ("2024-W42", 40, 1)]));
        assert_eq!(keys(UsageGroup::Month), rows(&[("2024-10", 70, 2)]));
        assert_eq!(keys(UsageGroup::Project), rows(&[("/a", 30, 1), ("/b", 40, 1)]));
        assert_eq!(keys(UsageGroup::Model), rows(&[("opus", 50, 2), ("haiku", 20, 1)]));
        assert_eq!(keys(UsageGroup::Conversation).len(), 2);
    }
}
