//! Reads the answers and Claude's accounts from a transcript, line by line.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::token_totals::TokenTotals;
use super::usage_figures::account_of;
use crate::core::claude::lenient_json::{Flag, Object, Text};
use crate::core::claude::message_usage::{Dollars, RawUsage};
use crate::core::claude::transcript_line::{TranscriptLine, UserKind};
use crate::core::handoff::continuation_prompt::handoff_of;
use crate::core::time::WallTime;

/// The longest pause between two lines that counts as work, in ms: in a longer one the machine slept, or a
/// tool waited for a person.
const WORK_GAP_MS: i64 = 30 * 60_000;
/// How many of the last answers are searched for the message that a line repeats.
const REPEATED: usize = 64;
/// The most accounts of one transcript: Claude writes one at the end of each run.
const ACCOUNTS: usize = 1000;
/// The most models of one transcript; further ones count as the last.
const MODELS: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsageAnswer {
    /// The beginning of a hash of the message's and the request's ids; 0 if the line has none. The same
    /// answer has the same key in every transcript.
    pub key: u64,
    /// The same for the message's id alone.
    pub message_key: u64,
    pub at: WallTime,
    /// An index into [`UsageRecords::models`].
    pub model: usize,
    pub tokens: TokenTotals,
    /// Its cost in US dollars, if the line has it (Claude before 1.0.70).
    pub usd: Option<f64>,
    /// How long Claude worked for it, in ms, with the tools that ran before it.
    pub work_ms: u64,
    /// Whether a sub-agent or a side question (`/btw`) asked for it.
    pub is_sidechain: bool,
    /// Whether it is an answer of another conversation, of which this one is a fork.
    pub is_of_source: bool,
}

/// One model in an account of Claude's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelAccount {
    /// An index into [`UsageRecords::models`].
    pub model: usize,
    pub tokens: TokenTotals,
    /// In US dollars.
    pub usd: f64,
}

/// Claude's own account of a conversation up to a moment, with sub-agents (`cost-state`, since 2.1.300). A
/// fork continues it: its sum has everything before the fork, too (measured on 2.1.332).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsageAccount {
    /// The time at which the sum began, in ms since 1970; the same in a fork, and 0 if unknown.
    pub started: i64,
    /// The key of the conversation's own last answer before it; 0 without one.
    pub last: u64,
    /// The time of the last line before it: the account itself has none.
    pub at: WallTime,
    pub models: Vec<ModelAccount>,
    /// Claude does not know the price of a model that was used.
    pub has_unknown_cost: bool,
}

/// The records of one transcript.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageRecords {
    /// The directory of the conversation, an absolute path.
    pub dir: Option<String>,
    /// When it began from a handoff.
    pub handed_over_at: Option<WallTime>,
    /// As Claude names them, without the date of a release.
    pub models: Vec<String>,
    /// In the order of their lines.
    pub answers: Vec<UsageAnswer>,
    /// In the order of their lines.
    pub accounts: Vec<UsageAccount>,
}

/// Reads lines in order. It can be saved, and continued with later lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageReader {
    records: UsageRecords,
    /// The time of the last line with one.
    last_at: Option<WallTime>,
    /// The same without sub-agents.
    worked_to: Option<WallTime>,
    /// How long tools ran since the last answer, in ms.
    tools_ms: u64,
    /// The conversation that the last prompt or tool result names.
    asked_in: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawUsageLine {
    r#type: Text<64>,
    session_id: Text<64>,
    cwd: Text<4096>,
    relocated_cwd: Text<4096>,
    timestamp: Text<64>,
    request_id: Text<200>,
    is_sidechain: Flag,
    message: Object<RawAnswer>,
    #[serde(rename = "costUSD")]
    cost_usd: Dollars,
    tool_use_result: Present,
    request_session_id: Present,
    forked_from: Present,
    has_unknown_model_cost: Flag,
    start_time: serde_json::Value,
    model_usage: serde_json::Value,
    data: Object<RawProgress>,
}

/// A line of type `progress`: a message of a sub-agent as it arrives.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RawProgress {
    message: Object<RawAgentLine>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawAgentLine {
    timestamp: Text<64>,
    request_id: Text<200>,
    message: Object<RawAnswer>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawAnswer {
    id: Text<200>,
    model: Text<200>,
    usage: Object<RawUsage>,
}

/// The origin of an answer ([`UsageAnswer`]).
struct AnswerOrigin {
    is_sidechain: bool,
    is_of_source: bool,
}

/// Whether a field exists, whatever its value.
#[derive(Default, Deserialize)]
#[serde(from = "serde::de::IgnoredAny")]
struct Present(bool);

impl From<serde::de::IgnoredAny> for Present {
    fn from(_: serde::de::IgnoredAny) -> Self {
        Present(true)
    }
}

impl UsageReader {
    pub fn records(&self) -> &UsageRecords {
        &self.records
    }

    /// The records of a reader that is done.
    #[must_use]
    pub fn into_records(self) -> UsageRecords {
        self.records
    }

    /// Reads the next line, without its newline. An unreadable line is ignored.
    pub fn line(&mut self, line: &[u8]) {
        if !may_count(line) {
            return;
        }
        let Ok(raw) = serde_json::from_slice::<RawUsageLine>(line) else { return };
        if self.records.dir.is_none() {
            self.records.dir = raw.cwd.0.clone().filter(|dir| dir.starts_with('/'));
        }
        let at = raw.timestamp.0.as_deref().and_then(WallTime::parse);
        let is_sidechain = raw.is_sidechain.0;
        match raw.r#type.0.as_deref() {
            Some("assistant") => {
                let message = raw.message.0.as_ref();
                // In forks of 2.0.76 only the prompt names the source.
                let was_asked_elsewhere = !is_sidechain
                    && self
                        .asked_in
                        .as_ref()
                        .zip(raw.session_id.0.as_ref())
                        .is_some_and(|(of, own)| of != own);
                let is_of_source = raw.request_session_id.0 || raw.forked_from.0 || was_asked_elsewhere;
                let origin = AnswerOrigin { is_sidechain, is_of_source };
                self.answer(message, raw.request_id.0.as_deref(), raw.cost_usd.0, at, origin);
            }
            Some("progress") => {
                if let Some(line) = raw.data.0.as_ref().and_then(|data| data.message.0.as_ref()) {
                    let at = line.timestamp.0.as_deref().and_then(WallTime::parse).or(at);
                    let origin = AnswerOrigin { is_sidechain: true, is_of_source: false };
                    self.answer(line.message.0.as_ref(), line.request_id.0.as_deref(), None, at, origin);
                }
            }
            // Sub-agents work beside the conversation.
            Some("user") if !is_sidechain => {
                self.asked_in.clone_from(&raw.session_id.0);
                self.user(line, &raw, at);
            }
            Some("cost-state") => self.account(&raw),
            Some("relocated") => {
                if let Some(dir) = raw.relocated_cwd.0.filter(|dir| dir.starts_with('/')) {
                    self.records.dir = Some(dir);
                }
            }
            _ => {}
        }
        self.last_at = at.max(self.last_at);
        if !is_sidechain {
            self.worked_to = at.max(self.worked_to);
        }
    }

    /// The pause since the last line, if Claude worked in it.
    fn pause_ms(&self, at: Option<WallTime>) -> u64 {
        let pause = self.worked_to.zip(at).map_or(0, |(last, at)| at.0.saturating_sub(last.0));
        if pause > WORK_GAP_MS { 0 } else { u64::try_from(pause).unwrap_or(0) }
    }

    fn user(&mut self, line: &[u8], raw: &RawUsageLine, at: Option<WallTime>) {
        if raw.tool_use_result.0 {
            self.tools_ms = self.tools_ms.saturating_add(self.pause_ms(at));
            return;
        }
        // The time of tools before an interrupted turn does not count.
        self.tools_ms = 0;
        if self.records.handed_over_at.is_some() || memchr::memmem::find(line, b"HO-").is_none() {
            return;
        }
        let Some(TranscriptLine::User(user)) = TranscriptLine::parse(line) else { return };
        if matches!(&user.kind, UserKind::Prompt(text) if handoff_of(text).is_some()) {
            self.records.handed_over_at = at.or(self.last_at);
        }
    }

    fn answer(
        &mut self,
        message: Option<&RawAnswer>,
        request: Option<&str>,
        usd: Option<f64>,
        at: Option<WallTime>,
        AnswerOrigin { is_sidechain, is_of_source }: AnswerOrigin,
    ) {
        let Some(message) = message else { return };
        let name = message.model.0.as_deref().filter(|model| *model != "<synthetic>");
        let (Some(name), Some(usage)) = (name, message.usage.0) else { return };
        let Some(at) = at.or(self.last_at) else { return };
        let tokens = TokenTotals::from(usage.into_usage());
        let work_ms = if is_sidechain {
            0
        } else {
            self.pause_ms(Some(at)).saturating_add(std::mem::take(&mut self.tools_ms))
        };
        let key = key_of(message.id.0.as_deref(), request);
        let from = self.records.answers.len().saturating_sub(REPEATED);
        // Each block has a line with the same id; the numbers grow while the answer arrives.
        if let Some(known) =
            self.records.answers[from..].iter_mut().find(|known| key != 0 && known.key == key)
        {
            known.tokens = known.tokens.larger(tokens);
            known.work_ms = known.work_ms.saturating_add(work_ms);
            // Each line of a message has the cost of the whole message.
            known.usd = known.usd.into_iter().chain(usd).reduce(f64::max);
            return;
        }
        let model = self.model(name);
        let message_key = key_of(message.id.0.as_deref(), None);
        self.records.answers.push(UsageAnswer {
            key,
            message_key,
            at,
            model,
            tokens,
            usd,
            work_ms,
            is_sidechain,
            is_of_source,
        });
    }

    fn account(&mut self, raw: &RawUsageLine) {
        let Some(by_model) = raw.model_usage.as_object() else { return };
        let mut models = Vec::new();
        for (name, usage) in by_model.iter().take(MODELS) {
            let (tokens, usd) = account_of(usage);
            models.push(ModelAccount { model: self.model(name), tokens, usd });
        }
        let at = self.last_at.unwrap_or_default();
        let has_unknown_cost = raw.has_unknown_model_cost.0;
        let started = raw.start_time.as_i64().unwrap_or(0);
        let last = self.records.answers.iter().rev().find(|answer| !answer.is_sidechain);
        let last = last.map_or(0, |answer| answer.key);
        let account = UsageAccount { started, last, at, models, has_unknown_cost };
        // Each account is compared with all before it. A sum continues: the last one includes those before
        // it.
        self.records.accounts.truncate(ACCOUNTS - 1);
        self.records.accounts.push(account);
    }

    fn model(&mut self, name: &str) -> usize {
        let name = plain_model(name);
        let models = &mut self.records.models;
        if let Some(at) = models.iter().position(|model| model == name) {
            return at;
        }
        if models.len() < MODELS {
            models.push(name.to_owned());
        }
        models.len() - 1
    }
}

/// A model's name without the date of its release and without brackets: an answer names
/// `claude-sonnet-4-5-20250929`, and the account `claude-sonnet-4-5` or `claude-sonnet-4-5[1m]`.
fn plain_model(name: &str) -> &str {
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    match name.rsplit_once('-') {
        Some((plain, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => plain,
        _ => name,
    }
}

fn key_of(message: Option<&str>, request: Option<&str>) -> u64 {
    let Some(message) = message.filter(|id| !id.is_empty()) else { return 0 };
    let hash = Sha256::new().chain_update(message).chain_update([0]).chain_update(request.unwrap_or(""));
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize()[..8]);
    u64::from_le_bytes(first).max(1)
}

/// Whether a line may be of a type that counts. The long lines are of other types.
fn may_count(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"{\"type\":\"") else { return true };
    let words: [&[u8]; 5] = [b"assistant\"", b"user\"", b"progress\"", b"cost-state\"", b"relocated\""];
    words.iter().any(|word| rest.starts_with(word)) || line.len() < 4096
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::handoff::continuation_prompt::Continuation;

    fn answer(id: &str, at: &str, output: u64) -> String {
        format!(
            r#"{{"type":"assistant","cwd":"/p","timestamp":"2026-11-20T10:{at}Z","requestId":"r{id}","message":{{"id":"m{id}","model":"claude-opus-4-1-20250805","usage":{{"input_tokens":3,"output_tokens":{output},"cache_read_input_tokens":20,"cache_creation_input_tokens":5}}}}}}"#
        )
    }

    fn user(at: &str, rest: &str) -> String {
        format!(r#"{{"type":"user","timestamp":"2026-11-20T10:{at}Z",{rest}}}"#)
    }

    fn read(lines: &[String]) -> UsageRecords {
        let mut reader = UsageReader::default();
        lines.iter().for_each(|line| reader.line(line.as_bytes()));
        reader.records
    }

    #[test]
    fn an_answer_in_several_lines_counts_once_with_its_last_figures() {
        let records = read(&[answer("1", "00:00", 1), answer("1", "00:02", 7), answer("2", "00:05", 4)]);
        assert_eq!(records.models, ["claude-opus-4-1"]);
        assert_eq!(records.dir.as_deref(), Some("/p"));
        let tokens: Vec<u64> = records.answers.iter().map(|answer| answer.tokens.output).collect();
        assert_eq!(tokens, [7, 4]);
        assert_eq!(records.answers[0].tokens.all(), 3 + 7 + 20 + 5);
        assert_ne!(records.answers[0].key, records.answers[1].key);
    }

    #[test]
    fn time_is_that_of_answers_and_tools_and_not_of_the_person() {
        let prompt = r#""message":{"content":"go on"}"#;
        let tool = r#""message":{"content":[]},"toolUseResult":{"stdout":""}"#;
        let records = read(&[
            user("00:00", prompt),
            answer("1", "00:04", 1),
            user("00:14", tool),
            answer("2", "00:15", 1),
            // A person thinks for five minutes.
            user("05:15", prompt),
            answer("3", "05:16", 1),
            // A machine sleeps.
            user("05:20", prompt),
            answer("4", "59:00", 1),
        ]);
        let work: Vec<u64> = records.answers.iter().map(|answer| answer.work_ms).collect();
        assert_eq!(work, [4000, 11_000, 1000, 0]);
    }

    #[test]
    fn accounts_are_read_by_model() {
        let account = r#"{"type":"cost-state","sessionId":"x","totalCostUSD":1.5,"modelUsage":{"claude-opus-4-1[1m]":{"inputTokens":9,"outputTokens":8,"cacheReadInputTokens":7,"cacheCreationInputTokens":6,"costUSD":1.25},"claude-haiku-4-5-20251001":{"inputTokens":1,"costUSD":"odd"}},"hasUnknownModelCost":true}"#;
        let records = read(&[answer("1", "00:00", 1), account.to_owned()]);
        assert_eq!(records.models, ["claude-opus-4-1", "claude-haiku-4-5"]);
        let account = &records.accounts[0];
        assert_eq!(account.at, records.answers[0].at);
        assert!(account.has_unknown_cost);
        let figures: Vec<_> = account.models.iter().map(|m| (m.model, m.tokens.all(), m.usd)).collect();
        assert_eq!(figures.len(), 2);
        assert!(figures.contains(&(0, 30, 1.25)) && figures.contains(&(1, 1, 0.0)), "{figures:?}");
    }

    #[test]
    fn answers_that_were_given_in_another_conversation_are_told() {
        let with = |line: String, more: &str| line.replacen('{', &format!("{{{more},"), 1);
        let prompt = |id: &str| user("00:00", &format!(r#""sessionId":"{id}","message":{{"content":"go"}}"#));
        let records = read(&[
            prompt("one"),
            with(answer("1", "00:01", 1), r#""sessionId":"two""#),
            prompt("two"),
            with(answer("2", "00:02", 1), r#""sessionId":"two""#),
            with(answer("3", "00:03", 1), r#""sessionId":"two","requestSessionId":"one""#),
            with(answer("4", "00:04", 1), r#""sessionId":"two","forkedFrom":{"sessionId":"one"}"#),
            answer("5", "00:05", 1),
        ]);
        let told: Vec<bool> = records.answers.iter().map(|answer| answer.is_of_source).collect();
        assert_eq!(told, [true, false, true, true, false]);
    }

    #[test]
    fn of_accounts_without_end_the_last_counts() {
        let account = |n: usize| format!(r#"{{"type":"cost-state","modelUsage":{{"m":{{"costUSD":{n}}}}}}}"#);
        let records = read(&(0..ACCOUNTS + 5).map(account).collect::<Vec<_>>());
        assert_eq!(records.accounts.len(), ACCOUNTS);
        assert_eq!(records.accounts[ACCOUNTS - 1].models[0].usd, (ACCOUNTS + 4) as f64);
    }

    #[test]
    fn odd_lines_say_nothing() {
        let records = read(&[
            "{\"type\":\"assistant\"".to_owned(),
            "\u{0}".to_owned(),
            r#"{"type":"assistant","timestamp":"2026-11-20T10:00:00Z","message":{"model":"<synthetic>","usage":{}}}"#
                .to_owned(),
            r#"{"type":"assistant","message":{"model":"m","usage":{"input_tokens":1}}}"#.to_owned(),
            r#"{"type":"cost-state","modelUsage":[1]}"#.to_owned(),
            r#"{"type":"assistant","timestamp":"2026-11-20T10:00:00Z","message":{"model":["x"],"usage":7}}"#.to_owned(),
        ]);
        // A missing time is replaced by that of the line before.
        assert_eq!((records.answers.len(), records.accounts.len(), records.dir), (1, 0, None));
    }

    #[test]
    fn a_line_of_progress_has_an_answer_of_a_sub_agent() {
        let progress = |output: u64| {
            let line = answer("9", "00:01", output);
            format!(
                r#"{{"type":"progress","timestamp":"2026-11-20T10:00:02Z","data":{{"type":"agent_progress","message":{line}}}}}"#
            )
        };
        let odd = r#"{"type":"progress","timestamp":"2026-11-20T10:00:02Z","data":{"type":"hook_progress","message":"x"}}"#;
        let records = read(&[progress(1), progress(7), odd.to_owned(), answer("9", "00:01", 7)]);
        assert_eq!(records.answers.len(), 1, "the message itself has the same ids: {records:?}");
        let of_agent = &records.answers[0];
        assert!(of_agent.is_sidechain && of_agent.tokens.output == 7 && of_agent.work_ms == 0);
        assert_eq!(Some(of_agent.at), WallTime::parse("2026-11-20T10:00:01Z"));
    }

    #[test]
    fn a_conversation_that_began_from_a_handoff_is_counted_as_a_hand_over() {
        let id = "HO-20261120-100000-abcd1234".parse().unwrap();
        let text = Continuation::with_brief(&id).text().to_owned();
        let prompt = format!("\"message\":{}", serde_json::json!({"content": text}));
        let records = read(&[user("00:00", &prompt), user("01:00", &prompt)]);
        assert_eq!(records.handed_over_at, WallTime::parse("2026-11-20T10:00:00Z"));
    }
}
