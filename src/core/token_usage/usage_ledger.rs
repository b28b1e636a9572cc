//! A conversation's answers and accounts as entries: each answer once, each dollar once.

use std::collections::{HashMap, HashSet};

use super::usage_reader::{UsageAccount, UsageAnswer, UsageRecords};
use crate::core::conversation::summary::TokenTotals;
use crate::core::ids::ConversationId;
use crate::core::time::WallTime;

/// The transcripts of one conversation.
#[derive(Clone, Copy, Debug)]
pub struct ConversationUsage<'a> {
    /// The conversation.
    pub id: &'a ConversationId,
    /// Its own transcript.
    pub own: &'a UsageRecords,
    /// Those of its sub-agents, whose cost is in its accounts.
    pub agents: &'a [UsageRecords],
}

/// Something that was used, or a hand-over.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageEntry<'a> {
    /// When.
    pub at: WallTime,
    /// In which conversation.
    pub conversation: &'a ConversationId,
    /// In which directory; empty where it is not known.
    pub dir: &'a str,
    /// By which model; empty for a hand-over.
    pub model: &'a str,
    /// The tokens.
    pub tokens: TokenTotals,
    /// US dollars as Claude reported them; `None` where it did not.
    pub usd: Option<f64>,
    /// How long Claude worked, in ms: sub-agents work beside it and have none of their own.
    pub work_ms: u64,
    /// Answers of a model.
    pub answers: u64,
    /// Conversations that began from a handoff.
    pub handovers: u64,
}

/// An answer whose cost is not known yet.
struct Pending<'a> {
    answer: &'a UsageAnswer,
    model: &'a str,
    is_repeated: bool,
    is_own: bool,
}

/// What an account said of a model so far.
#[derive(Clone, Copy, Default)]
struct Charged {
    tokens: TokenTotals,
    usd: f64,
}

/// The entries of all `conversations`. An answer that several of them repeat (one that was resumed under
/// another id, or copied) counts in the one that began first.
///
/// Tokens are those of the answers; what Claude's account has beyond them (titles, summaries: requests that
/// no transcript shows) counts too. Cost is the account's alone. It is written at the end of a run, so what
/// it adds to the one before is spread over the answers since then, by the weights of Anthropic's price list
/// (`docs/USAGE.md`): days differ by a little, the sum is Claude's.
#[must_use]
pub fn ledger<'a>(conversations: &[ConversationUsage<'a>]) -> Vec<UsageEntry<'a>> {
    let mut order: Vec<&ConversationUsage<'a>> = conversations.iter().collect();
    order.sort_by_key(|usage| (usage.own.answers.first().map(|answer| answer.at), usage.id));
    let mut seen = HashSet::new();
    let mut entries = Vec::new();
    for usage in order {
        one(usage, &mut seen, &mut entries);
    }
    entries
}

fn one<'a>(usage: &ConversationUsage<'a>, seen: &mut HashSet<u64>, entries: &mut Vec<UsageEntry<'a>>) {
    let dir = usage.own.dir.as_deref().unwrap_or_default();
    let blank = |at: WallTime, model: &'a str| UsageEntry {
        at,
        conversation: usage.id,
        dir,
        model,
        tokens: TokenTotals::default(),
        usd: None,
        work_ms: 0,
        answers: 0,
        handovers: 0,
    };
    if let Some(at) = usage.own.handed_over_at {
        entries.push(UsageEntry { handovers: 1, ..blank(at, "") });
    }
    let mut answers: Vec<Pending<'a>> = Vec::new();
    for (records, is_own) in [(usage.own, true)].into_iter().chain(usage.agents.iter().map(|a| (a, false))) {
        for answer in &records.answers {
            let model = records.models.get(answer.model).map_or("", String::as_str);
            let is_repeated = answer.key != 0 && !seen.insert(answer.key);
            answers.push(Pending { answer, model, is_repeated, is_own });
        }
    }
    answers.sort_by_key(|pending| pending.answer.at);
    let entry = |pending: &Pending<'a>, usd: Option<f64>| UsageEntry {
        tokens: pending.answer.tokens,
        usd,
        work_ms: if pending.is_own { pending.answer.work_ms } else { 0 },
        answers: 1,
        ..blank(pending.answer.at, pending.model)
    };
    let mut rest = answers.as_slice();
    let mut charged: HashMap<&str, Charged> = HashMap::new();
    for account in &usage.own.accounts {
        let (since, later) = rest.split_at(rest.partition_point(|pending| pending.answer.at <= account.at));
        rest = later;
        let added = added_by(account, usage.own, &mut charged);
        let is_repeated = !since.is_empty() && since.iter().all(|pending| pending.is_repeated);
        for (model, added) in &added {
            let own: Vec<&Pending<'a>> = since.iter().filter(|pending| pending.model == *model).collect();
            let weights: f64 = own.iter().map(|pending| weight(pending.answer.tokens)).sum();
            let mut extra = added.tokens;
            for pending in &own {
                extra.take_away(pending.answer.tokens);
                let part = weight(pending.answer.tokens) / weights;
                let usd = added.usd * if part.is_finite() { part } else { 1.0 / own.len() as f64 };
                if !pending.is_repeated {
                    entries.push(entry(pending, Some(usd)));
                }
            }
            let usd = if own.is_empty() { added.usd } else { 0.0 };
            if !is_repeated && (extra.all() > 0 || usd > 0.0) {
                entries.push(UsageEntry { tokens: extra, usd: Some(usd), ..blank(account.at, model) });
            }
        }
        // Answers of a model that the account does not know.
        let others = since.iter().filter(|pending| !added.iter().any(|(model, _)| *model == pending.model));
        entries.extend(others.filter(|p| !p.is_repeated).map(|pending| entry(pending, pending.answer.usd)));
    }
    entries.extend(rest.iter().filter(|p| !p.is_repeated).map(|pending| entry(pending, pending.answer.usd)));
}

/// What an account says beyond the ones before it, by model. One that says less begins anew.
fn added_by<'a>(
    account: &UsageAccount,
    records: &'a UsageRecords,
    charged: &mut HashMap<&'a str, Charged>,
) -> Vec<(&'a str, Charged)> {
    // Two entries of Claude's can be one model: with and without the large window.
    let mut now: Vec<(&'a str, Charged)> = Vec::new();
    for line in &account.models {
        let name = records.models.get(line.model).map_or("", String::as_str);
        match now.iter_mut().find(|(model, _)| *model == name) {
            Some((_, sum)) => {
                sum.tokens.add(line.tokens);
                sum.usd += line.usd;
            }
            None => now.push((name, Charged { tokens: line.tokens, usd: line.usd })),
        }
    }
    for (model, sum) in &mut now {
        let whole = *sum;
        let before = charged.insert(model, whole).unwrap_or_default();
        if before.usd <= whole.usd && before.tokens.all() <= whole.tokens.all() {
            sum.tokens.take_away(before.tokens);
            sum.usd = whole.usd - before.usd;
        }
    }
    now
}

/// What tokens cost beside each other: an output token five times an input token, a token written to the
/// cache 1.25 times and one read from it a tenth. It holds for every model of Anthropic's price list.
fn weight(tokens: TokenTotals) -> f64 {
    tokens.input as f64
        + 5.0 * tokens.output as f64
        + 1.25 * tokens.cache_creation as f64
        + 0.1 * tokens.cache_read as f64
}

#[cfg(test)]
mod tests {
    use super::super::usage_reader::ModelAccount;
    use super::*;

    fn id(n: u8) -> ConversationId {
        format!("{n:08x}-0000-4000-8000-000000000000").parse().unwrap()
    }

    fn tokens(input: u64, output: u64) -> TokenTotals {
        TokenTotals { input, output, ..TokenTotals::default() }
    }

    fn answer(key: u64, at: i64, input: u64) -> UsageAnswer {
        UsageAnswer { key, at: WallTime(at), model: 0, tokens: tokens(input, 0), usd: None, work_ms: 10 }
    }

    fn account(at: i64, input: u64, usd: f64) -> UsageAccount {
        let models = vec![ModelAccount { model: 0, tokens: tokens(input, 0), usd }];
        UsageAccount { at: WallTime(at), models, has_unknown_cost: false }
    }

    fn records(answers: Vec<UsageAnswer>, accounts: Vec<UsageAccount>) -> UsageRecords {
        UsageRecords { models: vec!["m".to_owned()], answers, accounts, ..UsageRecords::default() }
    }

    fn sums(entries: &[UsageEntry<'_>]) -> (u64, f64, u64, u64) {
        let usd: f64 = entries.iter().filter_map(|entry| entry.usd).sum();
        (
            entries.iter().map(|entry| entry.tokens.all()).sum(),
            (usd * 1e6).round() / 1e6,
            entries.iter().map(|entry| entry.work_ms).sum(),
            entries.iter().map(|entry| entry.answers).sum(),
        )
    }

    #[test]
    fn the_cost_of_each_account_is_spread_over_the_answers_since_the_one_before() {
        let own = records(
            vec![answer(1, 10, 100), answer(2, 20, 300), answer(3, 30, 100), answer(4, 40, 50)],
            vec![account(20, 400, 4.0), account(30, 500, 5.0)],
        );
        let id = id(1);
        let entries = ledger(&[ConversationUsage { id: &id, own: &own, agents: &[] }]);
        let cost: Vec<Option<f64>> = entries.iter().map(|entry| entry.usd).collect();
        assert_eq!(cost, [Some(1.0), Some(3.0), Some(1.0), None]);
        assert_eq!(sums(&entries), (550, 5.0, 40, 4));
    }

    #[test]
    fn sub_agents_are_part_of_the_account_and_requests_without_an_answer_count_too() {
        let own = records(vec![answer(1, 10, 100)], vec![account(30, 700, 7.0)]);
        let agents = [records(vec![answer(2, 20, 500)], vec![])];
        let id = id(1);
        let entries = ledger(&[ConversationUsage { id: &id, own: &own, agents: &agents }]);
        assert_eq!(sums(&entries), (700, 7.0, 10, 2));
        assert_eq!(entries.last().unwrap().tokens.all(), 100, "what no transcript shows");
    }

    #[test]
    fn what_another_conversation_repeats_counts_once() {
        let first = records(vec![answer(1, 10, 100), answer(2, 20, 100)], vec![account(20, 200, 2.0)]);
        let fork = records(
            vec![answer(1, 10, 100), answer(2, 20, 100), answer(3, 50, 100)],
            vec![account(20, 200, 2.0), account(50, 300, 3.0)],
        );
        let (a, b) = (id(1), id(2));
        let entries = ledger(&[
            ConversationUsage { id: &b, own: &fork, agents: &[] },
            ConversationUsage { id: &a, own: &first, agents: &[] },
        ]);
        assert_eq!(sums(&entries), (300, 3.0, 30, 3));
        let of_fork: u64 = entries.iter().filter(|e| *e.conversation == b).map(|e| e.tokens.all()).sum();
        assert_eq!(of_fork, 100);
    }

    #[test]
    fn an_account_that_says_less_begins_anew() {
        let own = records(
            vec![answer(1, 10, 100), answer(2, 20, 50)],
            vec![account(10, 100, 1.0), account(20, 50, 0.5)],
        );
        let id = id(1);
        let entries = ledger(&[ConversationUsage { id: &id, own: &own, agents: &[] }]);
        assert_eq!(sums(&entries), (150, 1.5, 20, 2));
    }

    #[test]
    fn answers_without_ids_and_without_tokens_are_each_their_own() {
        let own = records(vec![answer(0, 10, 0), answer(0, 10, 0)], vec![account(10, 0, 1.0)]);
        let id = id(1);
        let entries = ledger(&[ConversationUsage { id: &id, own: &own, agents: &[] }]);
        assert_eq!(sums(&entries), (0, 1.0, 20, 2));
    }

    #[test]
    fn an_old_line_says_its_own_cost() {
        let old = UsageAnswer { usd: Some(0.25), ..answer(1, 10, 100) };
        let own = records(vec![old], vec![]);
        let id = id(1);
        assert_eq!(
            sums(&ledger(&[ConversationUsage { id: &id, own: &own, agents: &[] }])),
            (100, 0.25, 10, 1)
        );
    }
}
