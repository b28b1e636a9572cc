//! Makes entries of a conversation's answers and accounts: each answer once, each dollar once.

use std::collections::{HashMap, HashSet};

use super::token_totals::TokenTotals;
use super::usage_reader::{UsageAccount, UsageAnswer, UsageRecords};
use crate::core::ids::ConversationId;
use crate::core::time::WallTime;

/// The transcripts of one conversation. It may occur several times, as archived states of it do; repeated
/// answers count once.
#[derive(Clone, Copy, Debug)]
pub struct ConversationUsage<'a> {
    pub id: &'a ConversationId,
    pub own: &'a UsageRecords,
    /// Their cost is in the accounts of `own`.
    pub agents: &'a [UsageRecords],
}

/// Usage of a model, or a hand-over.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageEntry<'a> {
    pub at: WallTime,
    pub conversation: &'a ConversationId,
    /// Empty if it is unknown.
    pub dir: &'a str,
    /// Empty for a hand-over.
    pub model: &'a str,
    pub tokens: TokenTotals,
    /// US dollars as Claude reported them; `None` if it did not.
    pub usd: Option<f64>,
    /// How long Claude worked, in ms; 0 for sub-agents, which work at the same time.
    pub work_ms: u64,
    pub answers: u64,
    /// Conversations that began from a handoff.
    pub handovers: u64,
}

#[derive(Clone, Copy, Default)]
struct ModelSum {
    tokens: TokenTotals,
    usd: f64,
}

/// The entries of all `conversations`. An answer that several of them have counts in the one that asked for
/// it, if the others name that one as its source (forks); otherwise (a conversation that was copied, or
/// resumed under another id) in the one that ended first. A hand-over that forks share counts once.
///
/// Tokens are those of the answers, and those that only Claude's account has (titles, summaries: requests
/// that no transcript shows). Cost comes from the account alone. It is written at the end of a run, so the
/// amount that it adds to the account before is distributed among the answers since then, by the weights of
/// Anthropic's price list (`docs/USAGE.md`): days differ a little, the sum is Claude's.
pub fn ledger<'a>(conversations: &[ConversationUsage<'a>]) -> Vec<UsageEntry<'a>> {
    let mut order: Vec<ConversationUsage<'a>> = conversations.to_vec();
    order.sort_by_key(|usage| (usage.own.answers.last().map(|answer| answer.at), usage.id));
    let mut making = LedgerMaker { members: vec![Vec::new(); order.len()], ..LedgerMaker::default() };
    // Of several states of one conversation, the last also gets usage that no id assigns to a state.
    let last: HashMap<&ConversationId, usize> =
        order.iter().enumerate().map(|(at, usage)| (usage.id, at)).collect();
    let is_former = |at: usize| last.get(order[at].id) != Some(&at);
    let mut handed_over = HashSet::new();
    for is_of_source in [false, true] {
        for (at, usage) in order.iter().enumerate() {
            let is_fork = usage.own.answers.iter().any(|answer| answer.is_of_source);
            if let Some(begun) = usage.own.handed_over_at.filter(|_| is_fork == is_of_source)
                && handed_over.insert(begun)
            {
                making.entries.push(UsageEntry { handovers: 1, ..blank(usage, usage.own, begun, "") });
            }
            for answer in usage.own.answers.iter().filter(|answer| !answer.is_sidechain) {
                if answer.is_of_source == is_of_source && (answer.key != 0 || !is_former(at)) {
                    making.messages.insert(answer.message_key);
                    making.add(at, usage, usage.own, answer);
                }
            }
        }
    }
    for (at, usage) in order.iter().enumerate() {
        for records in [usage.own].into_iter().chain(usage.agents) {
            let is_agents = !std::ptr::eq(records, usage.own);
            for answer in records.answers.iter().filter(|answer| is_agents || answer.is_sidechain) {
                // A side question repeats the answers before it under new requests.
                let is_new = answer.key != 0 && !making.messages.contains(&answer.message_key);
                if is_new || answer.key == 0 && !is_former(at) {
                    making.add(at, usage, records, &UsageAnswer { work_ms: 0, ..*answer });
                }
            }
        }
    }
    making.spread(&order, is_former);
    making.entries
}

/// For a sub-agent whose conversation is gone, its own lines name the directory.
fn blank<'a>(
    usage: &ConversationUsage<'a>,
    records: &'a UsageRecords,
    at: WallTime,
    model: &'a str,
) -> UsageEntry<'a> {
    UsageEntry {
        at,
        conversation: usage.id,
        dir: usage.own.dir.as_deref().or(records.dir.as_deref()).unwrap_or_default(),
        model,
        tokens: TokenTotals::default(),
        usd: None,
        work_ms: 0,
        answers: 0,
        handovers: 0,
    }
}

#[derive(Default)]
struct LedgerMaker<'a> {
    entries: Vec<UsageEntry<'a>>,
    /// The entry of each answer with a key.
    known: HashMap<u64, usize>,
    /// The first entry of each message.
    of_message: HashMap<u64, usize>,
    /// The messages of the conversations themselves.
    messages: HashSet<u64>,
    /// The entries of each conversation's answers, also of those that count in another one.
    members: Vec<Vec<usize>>,
}

impl<'a> LedgerMaker<'a> {
    fn add(
        &mut self,
        conversation: usize,
        usage: &ConversationUsage<'a>,
        records: &'a UsageRecords,
        answer: &UsageAnswer,
    ) {
        if let Some(at) = self.same(answer) {
            let known = &mut self.entries[at];
            known.tokens = known.tokens.larger(answer.tokens);
            self.members[conversation].push(at);
            return;
        }
        if answer.key != 0 {
            self.known.insert(answer.key, self.entries.len());
            self.of_message.entry(answer.message_key).or_insert(self.entries.len());
        }
        self.members[conversation].push(self.entries.len());
        let model = records.models.get(answer.model).map_or("", String::as_str);
        self.entries.push(UsageEntry {
            tokens: answer.tokens,
            usd: answer.usd,
            work_ms: answer.work_ms,
            answers: 1,
            ..blank(usage, records, answer.at, model)
        });
    }

    /// The entry of the same answer. If one of two answers names no request, the message decides.
    fn same(&self, answer: &UsageAnswer) -> Option<usize> {
        let names_request = answer.key != answer.message_key;
        let same = match names_request {
            true => self.known.get(&answer.key).or_else(|| self.known.get(&answer.message_key)),
            false => self.of_message.get(&answer.message_key),
        };
        same.copied().filter(|_| answer.key != 0)
    }

    /// Distributes what each account adds to the one before it.
    fn spread(&mut self, order: &[ConversationUsage<'a>], is_former: impl Fn(usize) -> bool) {
        let mut sums: HashMap<i64, Vec<AccountOf<'a>>> = HashMap::new();
        for usage in order {
            for account in usage.own.accounts.iter().filter(|account| account.started != 0) {
                sums.entry(account.started).or_default().push(AccountOf { account, records: usage.own });
            }
        }
        let mut done = HashSet::new();
        for (conversation, usage) in order.iter().enumerate() {
            let keys: HashSet<u64> = usage.own.answers.iter().map(|answer| answer.key).collect();
            for (at, account) in usage.own.accounts.iter().enumerate() {
                let of = AccountOf { account, records: usage.own };
                // A copy of a conversation has the accounts of its source.
                let is_known = match account.last {
                    0 => is_former(conversation),
                    _ => !done.insert(of.identity()),
                };
                if is_known {
                    continue;
                }
                let own =
                    usage.own.accounts[..at].iter().map(|account| AccountOf { account, records: usage.own });
                let others = sums.get(&account.started).into_iter().flatten().copied();
                let others = others.filter(|other| {
                    !std::ptr::eq(other.records, usage.own)
                        && other.account.last != 0
                        && keys.contains(&other.account.last)
                });
                let before = own
                    .chain(others)
                    .filter(|other| {
                        other.usd() <= of.usd()
                            && (other.account.last == 0 || other.identity() != of.identity())
                    })
                    .max_by(|a, b| a.usd().total_cmp(&b.usd()).then(a.account.at.cmp(&b.account.at)));
                self.charge(conversation, usage, of, before);
            }
        }
    }

    fn charge(
        &mut self,
        conversation: usize,
        usage: &ConversationUsage<'a>,
        of: AccountOf<'a>,
        before: Option<AccountOf<'a>>,
    ) {
        let account = of.account;
        let is_since = |at: WallTime| match before {
            Some(before) => at > before.account.at && at <= account.at,
            None => at >= WallTime(account.started) && at <= account.at,
        };
        let since: Vec<usize> = self.members[conversation]
            .iter()
            .copied()
            .filter(|at| is_since(self.entries[*at].at) && self.entries[*at].usd.is_none())
            .collect();
        let charged = before.map(AccountOf::by_model).unwrap_or_default();
        for (model, mut added) in of.by_model() {
            let (_, known) = charged.iter().find(|(known, _)| *known == model).copied().unwrap_or_default();
            if known.usd <= added.usd && known.tokens.all() <= added.tokens.all() {
                added.tokens.subtract(known.tokens);
                added.usd -= known.usd;
            }
            let own: Vec<usize> =
                since.iter().copied().filter(|at| self.entries[*at].model == model).collect();
            let weights: f64 = own.iter().map(|at| weight(self.entries[*at].tokens)).sum();
            // Without a price Claude counts no cost.
            let is_known = added.usd > 0.0 || !account.has_unknown_cost;
            for at in &own {
                let entry = &mut self.entries[*at];
                added.tokens.subtract(entry.tokens);
                let part = weight(entry.tokens) / weights;
                let part = if part.is_finite() { part } else { 1.0 / own.len() as f64 };
                entry.usd = is_known.then_some(added.usd * part);
            }
            let usd = if own.is_empty() { added.usd } else { 0.0 };
            if added.tokens.all() > 0 || usd > 0.0 {
                let usd = is_known.then_some(usd);
                self.entries.push(UsageEntry {
                    tokens: added.tokens,
                    usd,
                    ..blank(usage, usage.own, account.at, model)
                });
            }
        }
    }
}

/// An account, and the records that its models are named in.
#[derive(Clone, Copy)]
struct AccountOf<'a> {
    account: &'a UsageAccount,
    records: &'a UsageRecords,
}

impl<'a> AccountOf<'a> {
    fn usd(self) -> f64 {
        self.account.models.iter().map(|model| model.usd).sum()
    }

    /// A value that a copy of the account shares.
    fn identity(self) -> (i64, u64, u64) {
        (self.account.started, self.account.last, self.usd().to_bits())
    }

    /// Its sums by model name. Two names of Claude's can be one model: with and without the large window.
    fn by_model(self) -> Vec<(&'a str, ModelSum)> {
        let mut sums: Vec<(&'a str, ModelSum)> = Vec::new();
        for line in &self.account.models {
            let name = self.records.models.get(line.model).map_or("", String::as_str);
            match sums.iter_mut().find(|(model, _)| *model == name) {
                Some((_, sum)) => {
                    sum.tokens.add(line.tokens);
                    sum.usd += line.usd;
                }
                None => sums.push((name, ModelSum { tokens: line.tokens, usd: line.usd })),
            }
        }
        sums
    }
}

/// The relative price of tokens: an output token costs five input tokens, a token written to the cache 1.25
/// and one read from it a tenth. This holds for every model of Anthropic's price list.
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
        UsageAnswer {
            key,
            message_key: key,
            at: WallTime(at),
            model: 0,
            tokens: tokens(input, 0),
            usd: None,
            work_ms: 10,
            is_sidechain: false,
            is_of_source: false,
        }
    }

    /// An account after the answer with the key `at / 10`.
    fn account(at: i64, input: u64, usd: f64) -> UsageAccount {
        let models = vec![ModelAccount { model: 0, tokens: tokens(input, 0), usd }];
        UsageAccount {
            started: 1,
            last: at.unsigned_abs() / 10,
            at: WallTime(at),
            models,
            has_unknown_cost: false,
        }
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
    fn repeated_answers_count_once() {
        let first = records(vec![answer(1, 10, 100), answer(2, 20, 100)], vec![account(20, 200, 2.0)]);
        let fork = records(
            vec![answer(1, 10, 100), answer(2, 20, 100), answer(5, 50, 100)],
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
    fn former_states_of_a_conversation_add_what_only_they_have() {
        let unnamed = UsageAnswer { key: 0, message_key: 0, ..answer(0, 5, 7) };
        let state = |keys: &[u64]| {
            let mut answers = vec![unnamed];
            answers.extend(keys.iter().map(|key| answer(*key, 10 * key.cast_signed(), 100)));
            UsageRecords { handed_over_at: Some(WallTime(1)), ..records(answers, vec![]) }
        };
        let id = id(1);
        let states = [state(&[1, 2]), state(&[1, 2, 3, 4]), state(&[1, 3])];
        let usage: Vec<_> =
            states.iter().map(|own| ConversationUsage { id: &id, own, agents: &[] }).collect();
        let entries = ledger(&usage);
        assert_eq!(sums(&entries).0, 407, "each message, and once what has no id");
        assert_eq!(entries.iter().map(|entry| entry.handovers).sum::<u64>(), 1);
    }

    #[test]
    fn sub_agents_alone_count_in_the_directory_that_they_name() {
        let mut agent = records(vec![answer(1, 10, 100)], vec![]);
        agent.dir = Some("/p".to_owned());
        let (id, own, agents) = (id(1), UsageRecords::default(), [agent]);
        let entries = ledger(&[ConversationUsage { id: &id, own: &own, agents: &agents }]);
        assert_eq!((entries[0].dir, sums(&entries).0), ("/p", 100));
    }

    #[test]
    fn a_line_without_a_request_is_the_same_message() {
        let with = UsageAnswer { key: 7, message_key: 1, is_sidechain: true, ..answer(7, 10, 100) };
        let without = UsageAnswer { key: 1, ..with };
        for pair in [[with, without], [without, with]] {
            let own = records(pair.to_vec(), vec![]);
            let id = id(1);
            let entries = ledger(&[ConversationUsage { id: &id, own: &own, agents: &[] }]);
            assert_eq!(sums(&entries).0, 100);
        }
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

    #[test]
    fn answers_copied_into_a_fork_count_in_its_source() {
        let (source, fork) = (id(1), id(2));
        let handed_over = |mut records: UsageRecords| {
            records.handed_over_at = Some(WallTime(5));
            records
        };
        let copied = |key, at, input| UsageAnswer { is_of_source: true, ..answer(key, at, input) };
        let own =
            handed_over(records(vec![answer(1, 10, 100), answer(2, 20, 200), answer(4, 90, 50)], vec![]));
        // It ended first.
        let of_fork =
            handed_over(records(vec![copied(1, 10, 100), copied(2, 20, 200), answer(3, 30, 7)], vec![]));
        let of = |conversations: &[ConversationUsage<'_>], id: &ConversationId| {
            let entries = ledger(conversations);
            let of = entries.iter().filter(|entry| entry.conversation == id);
            of.fold((0, 0), |(all, handed), entry| (all + entry.tokens.all(), handed + entry.handovers))
        };
        let both = [
            ConversationUsage { id: &source, own: &own, agents: &[] },
            ConversationUsage { id: &fork, own: &of_fork, agents: &[] },
        ];
        assert_eq!((of(&both, &source), of(&both, &fork)), ((350, 1), (7, 0)));
        assert_eq!(of(&both[1..], &fork), (307, 1), "where the source is gone, it has all of it");
    }

    #[test]
    fn a_fork_goes_on_with_the_sum_of_its_source_which_counts_once() {
        // As Claude writes it: the fork has the answers before it, and only its own account.
        let shared = [answer(1, 10, 100), answer(2, 20, 100)];
        let agents = [records(vec![UsageAnswer { is_sidechain: true, ..answer(9, 15, 100) }], vec![])];
        let first = vec![account(20, 300, 3.0)];
        let later = [&first[..], &[account(60, 400, 4.0)]].concat();
        let source = records(shared.to_vec(), first);
        // The source may also continue after the fork has ended.
        let source_later = records([&shared[..], &[answer(6, 60, 100)]].concat(), later);
        let fork = records([&shared[..], &[answer(3, 30, 100)]].concat(), vec![account(30, 400, 4.5)]);
        let (a, b, c) = (id(1), id(2), id(3));
        // Whichever id is smaller.
        for (of_source, of_fork) in [(&a, &b), (&b, &a)] {
            let fork = ConversationUsage { id: of_fork, own: &fork, agents: &[] };
            let source = ConversationUsage { id: of_source, own: &source, agents: &agents };
            let entries = ledger(&[fork, source]);
            assert_eq!(sums(&entries), (400, 4.5, 30, 4), "{entries:?}");
            assert!(entries.iter().all(|entry| entry.usd.is_some()));
            let source = ConversationUsage { own: &source_later, ..source };
            let copy = ConversationUsage { id: &c, own: &source_later, agents: &[] };
            for all in [vec![fork, source], vec![source, copy, fork]] {
                let entries = ledger(&all);
                assert_eq!(sums(&entries), (500, 5.5, 40, 5), "{entries:?}");
                assert!(entries.iter().all(|entry| entry.usd.is_some()), "{entries:?}");
            }
        }
    }

    #[test]
    fn a_side_question_repeats_answers_under_requests_of_its_own() {
        let own = records(vec![answer(1, 10, 100)], vec![]);
        let repeated = UsageAnswer { key: 77, is_sidechain: true, ..answer(1, 12, 100) };
        let agents =
            [records(vec![repeated, UsageAnswer { is_sidechain: true, ..answer(2, 20, 5) }], vec![])];
        let id = id(1);
        let entries = ledger(&[ConversationUsage { id: &id, own: &own, agents: &agents }]);
        assert_eq!(sums(&entries), (105, 0.0, 10, 2));
    }

    #[test]
    fn a_model_without_a_price_has_no_cost() {
        let unknown = UsageAccount { has_unknown_cost: true, ..account(10, 100, 0.0) };
        let own = records(vec![answer(1, 10, 100)], vec![unknown]);
        let id = id(1);
        let entries = ledger(&[ConversationUsage { id: &id, own: &own, agents: &[] }]);
        assert_eq!((entries.len(), entries[0].usd), (1, None));
    }
}
