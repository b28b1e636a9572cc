//! The summary of a conversation for a list, from the lines of its transcript.
//!
//! Most of it is near the beginning or the end: Claude writes titles, the last prompt and its own account of
//! tokens and cost again whenever a turn or the program ends. So a list reads only both ends of a file
//! ([`SummaryReader::skip`] marks the gap). Counts need every line. Secrets in titles and prompts are
//! replaced here, so that none gets into a list or its cache.

use serde::{Deserialize, Serialize};

use crate::core::claude::lenient_json::{Flag, Object, Text};
use crate::core::claude::message_usage::RawUsage;
use crate::core::claude::transcript_line::{TranscriptLine, UserKind};
use crate::core::handoff::continuation_prompt::{handoff_of, unwrap_pasted};
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::redact::redact;
use crate::core::text::safe_text::{cut_chars, cut_words};
use crate::core::time::WallTime;
use crate::core::token_usage::UsageFigures;

/// The longest part of a prompt or a title, in bytes.
pub const PROMPT_CAP: usize = 400;
/// The longest heading, in characters.
const HEADING: usize = 120;
/// The summary of a conversation for a list. Unknown values are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationSummary {
    pub id: Option<ConversationId>,
    /// The directory in which it began, or to which Claude moved it, as an absolute path.
    pub dir: Option<String>,
    /// The last git branch.
    pub branch: Option<String>,
    /// The person's title.
    pub custom_title: Option<String>,
    /// Claude's title.
    pub ai_title: Option<String>,
    /// The first prompt of a person, at most [`PROMPT_CAP`] bytes.
    pub first_prompt: Option<String>,
    pub last_prompt: Option<String>,
    /// The time of its first line.
    pub begun_at: Option<WallTime>,
    /// The time of the first prompt, a person's or hopty's.
    pub prompted_at: Option<WallTime>,
    /// The time of its last message.
    pub last_at: Option<WallTime>,
    /// The version of Claude that wrote the last message.
    pub version: Option<String>,
    /// The model of the last answer.
    pub model: Option<String>,
    /// The handoff that it was continued from.
    pub handoff: Option<HandoffId>,
    /// The conversation that it was forked from (`--fork-session`, `/branch`): lines copied from there name
    /// it, the first answer at the latest.
    pub forked_from: Option<ConversationId>,
    /// The id of the first prompt's line, which a fork shares with its source.
    pub first_line: Option<String>,
    /// The name of its plan (`C/plans/NAME.md`).
    pub plan: Option<String>,
    /// The last account of tokens and cost that Claude wrote.
    pub account: Option<CostAccount>,
    /// There are answers after that account.
    pub account_is_behind: bool,
    /// Usage with sub-agents, counted from every line; only if the account does not have it
    /// ([`ConversationSummary::figures`]).
    pub counted: Option<UsageFigures>,
}

/// Claude's own account (`cost-state`, since 2.1.300), with sub-agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostAccount {
    /// The time at which the sum began, in ms since 1970; 0 if unknown.
    pub started: i64,
    pub figures: UsageFigures,
}

/// The source of the tokens in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TokensOrigin {
    Claude,
    /// Counted from the answers in the transcript; sub-agents have other transcripts.
    Transcript,
}

impl ConversationSummary {
    /// The person's title, or else Claude's.
    pub fn title(&self) -> Option<&str> {
        self.custom_title.as_deref().or(self.ai_title.as_deref())
    }

    /// The title or else the first prompt, on one line.
    pub fn heading(&self) -> Option<String> {
        let text = self.title().or(self.first_prompt.as_deref())?;
        Some(cut_chars(&text.split_whitespace().collect::<Vec<_>>().join(" "), HEADING))
    }

    /// Whether reading every line would add nothing.
    pub fn is_complete(&self) -> bool {
        self.figures().is_some() && self.first_prompt.is_some() && self.dir.is_some()
            || self.counted.is_some()
    }

    /// The usage and its source: Claude's account if it is complete, or else the count of all lines.
    pub fn figures(&self) -> Option<(UsageFigures, TokensOrigin)> {
        let account = self.account.filter(|account| self.is_whole(account)).map(|account| account.figures);
        account
            .map(|figures| (figures, TokensOrigin::Claude))
            .or_else(|| self.counted.map(|counted| (counted, TokensOrigin::Transcript)))
    }

    /// Whether an account covers the whole conversation. Its sum starts again if Claude was killed before it
    /// had written one (measured on 2.1.332).
    fn is_whole(&self, account: &CostAccount) -> bool {
        let is_from_begin = self.prompted_at.is_some_and(|prompted| account.started <= prompted.0);
        account.started > 0 && is_from_begin && !self.account_is_behind
    }
}

/// Makes a summary of lines, in order. It can be saved, and continued with later lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SummaryReader {
    summary: ConversationSummary,
    has_gap: bool,
    /// The conversation that the last prompt or tool result names.
    asked_in: Option<ConversationId>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawLine {
    r#type: Text<64>,
    uuid: Text<64>,
    session_id: Text<64>,
    /// The conversation that asked for this answer, if it is another one (`--fork-session`).
    request_session_id: Text<64>,
    /// The conversation that the line comes from (`/branch`).
    forked_from: Object<RawSource>,
    cwd: Text<4096>,
    timestamp: Text<64>,
    git_branch: Text<200>,
    version: Text<40>,
    slug: Text<100>,
    is_sidechain: Flag,
    message: Object<RawSummaryMessage>,
    custom_title: Text<PROMPT_CAP>,
    ai_title: Text<PROMPT_CAP>,
    last_prompt: Text<PROMPT_CAP>,
    relocated_cwd: Text<4096>,
    start_time: serde_json::Value,
    has_unknown_model_cost: Flag,
    model_usage: serde_json::Value,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawSource {
    session_id: Text<64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawSummaryMessage {
    id: Text<200>,
    model: Text<200>,
    usage: Object<RawUsage>,
}

/// Types of lines that are parsed; of others only the type is read.
const METADATA: [&[u8]; 5] =
    [b"custom-title\"", b"ai-title\"", b"last-prompt\"", b"relocated\"", b"cost-state\""];

impl SummaryReader {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lines are missing from here to the next call of [`SummaryReader::line`].
    pub fn skip(&mut self) {
        self.has_gap = true;
        self.asked_in = None;
    }

    /// Whether the first prompt and the directory are known: more lines of the beginning add nothing that the
    /// end does not say better.
    pub fn has_beginning(&self) -> bool {
        self.summary.first_prompt.is_some() && self.summary.dir.is_some()
    }

    /// The summary of the lines so far.
    pub fn summary(&self) -> &ConversationSummary {
        &self.summary
    }

    /// Reads the next line, without its newline. An unreadable line is ignored.
    pub fn line(&mut self, line: &[u8]) {
        if is_irrelevant(line) {
            return;
        }
        let Ok(raw) = serde_json::from_slice::<RawLine>(line) else { return };
        match raw.r#type.0.as_deref() {
            Some("user") => {
                self.fork(&raw);
                self.user(line, &raw);
            }
            Some("assistant") => {
                self.fork(&raw);
                self.answer(&raw);
            }
            Some("custom-title") => self.summary.custom_title = filled(&raw.custom_title.0),
            Some("ai-title") => self.summary.ai_title = filled(&raw.ai_title.0),
            Some("last-prompt") => {
                if let Some(text) = filled(&raw.last_prompt.0).filter(|text| !text.starts_with(['<', '/'])) {
                    self.prompt(&text, false);
                }
                return self.place(&raw);
            }
            Some("relocated") => {
                if let Some(dir) = raw.relocated_cwd.0.as_ref().filter(|dir| dir.starts_with('/')) {
                    self.summary.dir = Some(dir.clone());
                }
            }
            Some("cost-state") => self.account(&raw),
            Some("system" | "attachment") => {}
            _ => return self.place(&raw),
        }
        self.place(&raw);
        self.time(&raw);
    }

    fn place(&mut self, raw: &RawLine) {
        let summary = &mut self.summary;
        if summary.id.is_none() {
            summary.id = raw.session_id.0.as_deref().and_then(|id| id.parse().ok());
        }
        if summary.dir.is_none() {
            summary.dir = raw.cwd.0.clone().filter(|dir| dir.starts_with('/'));
        }
    }

    fn time(&mut self, raw: &RawLine) {
        let summary = &mut self.summary;
        let Some(at) = raw.timestamp.0.as_deref().and_then(WallTime::parse) else { return };
        summary.begun_at = summary.begun_at.filter(|begun| *begun <= at).or(Some(at));
        summary.last_at = summary.last_at.filter(|last| *last >= at).or(Some(at));
        for (field, value) in [
            (&mut summary.branch, &raw.git_branch.0),
            (&mut summary.version, &raw.version.0),
            (&mut summary.plan, &raw.slug.0),
        ] {
            if value.as_ref().is_some_and(|value| !value.is_empty()) {
                field.clone_from(value);
            }
        }
    }

    fn user(&mut self, line: &[u8], raw: &RawLine) {
        if raw.is_sidechain.0 {
            return;
        }
        let Some(TranscriptLine::User(user)) = TranscriptLine::parse(line) else { return };
        if let UserKind::Prompt(text) = user.kind {
            if self.summary.prompted_at.is_none() && !self.has_gap {
                self.summary.prompted_at = raw.timestamp.0.as_deref().and_then(WallTime::parse);
            }
            if self.summary.first_line.is_none() && !self.has_gap {
                self.summary.first_line.clone_from(&raw.uuid.0);
            }
            match handoff_of(&text) {
                Some(handoff) => self.summary.handoff = self.summary.handoff.take().or(Some(handoff)),
                None => self.prompt(&text, true),
            }
        }
    }

    /// Copied lines name the conversation they come from; in 2.0.76 only prompts do. Lines from further back
    /// name that conversation, so the last name counts.
    fn fork(&mut self, raw: &RawLine) {
        if raw.is_sidechain.0 {
            return;
        }
        let source = raw.forked_from.0.as_ref().and_then(|source| source.session_id.0.as_deref());
        let source = source.or(raw.request_session_id.0.as_deref()).and_then(|id| id.parse().ok());
        let own: Option<ConversationId> = raw.session_id.0.as_deref().and_then(|id| id.parse().ok());
        let source = match raw.r#type.0.as_deref() {
            Some("user") => {
                self.asked_in.clone_from(&own);
                source
            }
            _ => source.or_else(|| self.asked_in.clone().filter(|_| own.is_some())),
        };
        if source.is_some() && source != own {
            self.summary.forked_from = source;
        }
    }

    /// A prompt of the person: typed, or as Claude repeats it in its metadata.
    fn prompt(&mut self, text: &str, typed: bool) {
        if !typed && handoff_of(text).is_some() || text.starts_with("Continue from handoff HO-") {
            return;
        }
        let text = redact(cut_words(unwrap_pasted(text).trim(), PROMPT_CAP));
        if text.is_empty() {
            return;
        }
        if typed && self.summary.first_prompt.is_none() && !self.has_gap {
            self.summary.first_prompt = Some(text.clone());
        }
        // The metadata has it cut; the line of the prompt has more.
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let begin = one_line(text.trim_end_matches('…'));
        let repeats = |known: &String| one_line(known).starts_with(&begin);
        if typed || !self.summary.last_prompt.as_ref().is_some_and(repeats) {
            self.summary.last_prompt = Some(text);
        }
    }

    fn answer(&mut self, raw: &RawLine) {
        let Some(message) = &raw.message.0 else { return };
        let model = message.model.0.clone().filter(|model| model != "<synthetic>");
        let Some(model) = model else { return };
        if !raw.is_sidechain.0 {
            self.summary.model = Some(model);
        }
        if message.usage.0.is_some() {
            self.summary.account_is_behind = self.summary.account.is_some();
        }
    }

    fn account(&mut self, raw: &RawLine) {
        let Some(by_model) = raw.model_usage.as_object() else { return };
        let mut figures = UsageFigures::default();
        for model in by_model.values() {
            figures.add_account(model, raw.has_unknown_model_cost.0);
        }
        let started = raw.start_time.as_i64().unwrap_or(0);
        self.summary.account = Some(CostAccount { started, figures });
        self.summary.account_is_behind = false;
    }
}

fn filled(text: &Option<String>) -> Option<String> {
    text.as_deref().map(|text| redact(text.trim())).filter(|text| !text.is_empty())
}

/// Whether the line begins with a type that is not needed. These are the long lines.
fn is_irrelevant(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"{\"type\":\"") else { return false };
    let matters = METADATA.iter().any(|word| rest.starts_with(word))
        || rest.starts_with(b"user\"")
        || rest.starts_with(b"assistant\"")
        || rest.starts_with(b"system\"")
        || rest.starts_with(b"attachment\"");
    // Others could only add the id, and the first lines have it.
    !matters && line.len() > 4096
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::token_usage::TokenTotals;

    const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
    /// 2026-11-20T14:00:59Z in ms.
    const STARTED: i64 = 1_795_183_259_000;

    fn read(lines: &[String]) -> ConversationSummary {
        let mut reader = SummaryReader::new();
        lines.iter().for_each(|line| reader.line(line.as_bytes()));
        reader.summary().clone()
    }

    fn prompt(text: &str, at: &str) -> String {
        let text = serde_json::to_string(text).unwrap();
        format!(
            r#"{{"parentUuid":null,"isSidechain":false,"cwd":"/home/u/proj","sessionId":"{ID}","version":"2.1.329","gitBranch":"main","type":"user","message":{{"role":"user","content":{text}}},"uuid":"u","timestamp":"2026-11-20T14:{at}:00.000Z"}}"#
        )
    }

    fn answer(id: &str, output: u64) -> String {
        format!(
            r#"{{"parentUuid":"u","cwd":"/home/u/proj/sub","sessionId":"{ID}","type":"assistant","message":{{"id":"{id}","model":"claude-sonnet-4-5","content":[{{"type":"text","text":"yes"}}],"usage":{{"input_tokens":3,"output_tokens":{output},"cache_read_input_tokens":100,"cache_creation_input_tokens":10}}}},"timestamp":"2026-11-20T14:40:00.000Z"}}"#
        )
    }

    fn account(usd: f64) -> String {
        format!(
            r#"{{"type":"cost-state","sessionId":"{ID}","totalCostUSD":{usd},"startTime":{STARTED},"modelUsage":{{"a":{{"inputTokens":1,"outputTokens":2,"cacheReadInputTokens":3,"cacheCreationInputTokens":4,"costUSD":{usd}}},"b":{{"inputTokens":10,"outputTokens":"x"}}}},"hasUnknownModelCost":false}}"#
        )
    }

    #[test]
    fn a_conversation_is_summed_up() {
        let summary = read(&[
            r#"{"type":"mode","mode":"normal","sessionId":"c74cc080-94b9-4841-b82f-a62cfb8efdc0"}"#
                .to_owned(),
            prompt("<command-name>/clear</command-name>", "01"),
            prompt("first\nthing", "02"),
            answer("m1", 5),
            answer("m1", 7),
            answer("m2", 1),
            r#"{"type":"ai-title","aiTitle":"A title","sessionId":"x"}"#.to_owned(),
            prompt("last thing", "41"),
            r#"{"type":"last-prompt","lastPrompt":"last thi…","sessionId":"x"}"#.to_owned(),
            "torn".to_owned(),
        ]);
        assert_eq!(summary.id.as_ref().unwrap().as_str(), ID);
        assert_eq!(summary.dir.as_deref(), Some("/home/u/proj"), "where it began, not where it went");
        assert_eq!(summary.first_prompt.as_deref(), Some("first\nthing"));
        assert_eq!(summary.last_prompt.as_deref(), Some("last thing"));
        assert_eq!(summary.title(), Some("A title"));
        assert_eq!(
            read(&[prompt(
                "\n\n<pasted_content id=\"58a0\">\none\ntwo\n</pasted_content id=\"58a0\">\n",
                "01"
            )])
            .heading()
            .as_deref(),
            Some("one two")
        );
        assert_eq!(summary.begun_at, WallTime::parse("2026-11-20T14:01:00Z"));
        assert_eq!(summary.last_at, WallTime::parse("2026-11-20T14:41:00Z"));
        assert_eq!(summary.figures(), None, "its answers are counted elsewhere");
        assert_eq!(
            (summary.branch.as_deref(), summary.model.as_deref()),
            (Some("main"), Some("claude-sonnet-4-5"))
        );
    }

    #[test]
    fn the_persons_title_goes_before_claudes() {
        let title = |kind: &str, key: &str, text: &str| format!(r#"{{"type":"{kind}","{key}":"{text}"}}"#);
        let custom = title("custom-title", "customTitle", "Mine");
        let summary = read(&[custom.clone(), title("ai-title", "aiTitle", "Its")]);
        assert_eq!(summary.title(), Some("Mine"));
        let cleared = read(&[custom, title("custom-title", "customTitle", "")]);
        assert_eq!(cleared.title(), None, "an empty one takes it away");
    }

    #[test]
    fn skipped_lines_are_not_guessed() {
        let mut reader = SummaryReader::new();
        reader.line(br#"{"type":"mode","mode":"normal"}"#);
        reader.skip();
        reader.line(prompt("in the middle", "05").as_bytes());
        reader.line(answer("m1", 5).as_bytes());
        let summary = reader.summary();
        assert_eq!(
            (summary.first_prompt.as_deref(), summary.last_prompt.as_deref()),
            (None, Some("in the middle"))
        );
        assert_eq!((summary.figures(), summary.is_complete()), (None, false));
    }

    #[test]
    fn claudes_own_account_counts_until_more_was_answered() {
        let tokens = TokenTotals { input: 11, output: 2, cache_read: 3, cache_creation: 4 };
        let mut lines = vec![prompt("go", "01"), answer("m1", 5), account(0.25)];
        let (figures, from) = read(&lines).figures().unwrap();
        assert_eq!((figures.tokens, figures.usd, from), (tokens, 0.25, TokensOrigin::Claude));
        lines.push(answer("m2", 1));
        let behind = read(&lines);
        assert!(behind.account_is_behind && behind.figures().is_none());
        lines.push(account(f64::MAX).replace("17976931348623157", "x"));
        lines.push(account(0.5));
        assert_eq!(read(&lines).figures().unwrap().0.usd, 0.5);
    }

    #[test]
    fn an_account_that_began_anew_does_not_have_everything() {
        let began = WallTime::parse("2026-11-20T14:01:00Z").unwrap().0;
        let of = |started: i64| {
            let account = account(0.25)
                .replace(&format!("\"startTime\":{STARTED}"), &format!("\"startTime\":{started}"));
            read(&[prompt("go", "01"), answer("m1", 5), account]).figures().is_some()
        };
        assert_eq!([0, began - 60_000, began, began + 1].map(of), [false, true, true, false]);
    }

    #[test]
    fn a_fork_says_where_it_comes_from() {
        let with = |line: String, more: &str| line.replacen('{', &format!("{{{more},"), 1);
        let (one, two) = ("11111111-94b9-4841-b82f-a62cfb8efdc0", "22222222-94b9-4841-b82f-a62cfb8efdc0");
        let asked = |id: &str| format!(r#""requestSessionId":"{id}""#);
        let branched = |id: &str| format!(r#""forkedFrom":{{"sessionId":"{id}","messageUuid":"u"}}"#);
        let of = |lines: &[String]| read(lines).forked_from.map(|id| id.to_string());
        assert_eq!(of(&[prompt("go", "01"), answer("m1", 5)]), None);
        assert_eq!(of(&[prompt("go", "01"), with(answer("m1", 5), &asked(ID))]), None, "its own");
        let forked = [prompt("go", "01"), with(answer("m1", 5), &asked(one)), answer("m2", 5)];
        assert_eq!(of(&forked).as_deref(), Some(one));
        assert_eq!(of(&[with(prompt("go", "01"), &branched(one))]).as_deref(), Some(one));
        // A fork of a fork, in both ways.
        let lines = [with(answer("m1", 5), &asked(one)), with(answer("m2", 5), &asked(two)), answer("m3", 5)];
        assert_eq!(of(&lines).as_deref(), Some(two));
        let both = with(with(answer("m1", 5), &asked(one)), &branched(two));
        assert_eq!(of(&[both]).as_deref(), Some(two));
        assert_eq!(of(&[with(prompt("go", "01"), r#""forkedFrom":7,"requestSessionId":"x""#)]), None);
        let of_2_0_76 = [prompt("go", "01").replace(ID, one), answer("m1", 5), prompt("on", "02")];
        assert_eq!(of(&of_2_0_76).as_deref(), Some(one));
        assert_eq!(read(&[prompt("go", "01"), prompt("on", "02")]).first_line.as_deref(), Some("u"));
    }

    #[test]
    fn prompts_of_programs_do_not_count() {
        let handoff = "HO-20261120-142950-c74cc080".parse().unwrap();
        let continued = crate::core::handoff::continuation_prompt::Continuation::with_brief(&handoff);
        let summary = read(&[
            prompt(continued.text(), "01"),
            r#"{"type":"last-prompt","lastPrompt":"Continue from handoff HO-20261120-142950-c74cc080. Its record is al…"}"#.to_owned(),
            prompt("<task-notification>\n<task-id>x", "02"),
            prompt("sub-agent", "03").replace("\"isSidechain\":false", "\"isSidechain\":true"),
            r#"{"type":"last-prompt","lastPrompt":"/compact"}"#.to_owned(),
        ]);
        assert_eq!((summary.first_prompt, summary.last_prompt), (None, None));
        assert_eq!(summary.handoff, Some(handoff));
    }

    #[test]
    fn a_saved_reader_continues() {
        let mut reader = SummaryReader::new();
        reader.line(prompt("go", "01").as_bytes());
        reader.line(answer("m1", 5).as_bytes());
        let kept = serde_json::to_string(&reader).unwrap();
        let mut reader: SummaryReader = serde_json::from_str(&kept).unwrap();
        reader.line(prompt("on", "02").as_bytes());
        let summary = reader.summary();
        assert_eq!(
            (summary.first_prompt.as_deref(), summary.last_prompt.as_deref()),
            (Some("go"), Some("on"))
        );
    }

    #[test]
    fn no_secret_is_kept() {
        let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let mut reader = SummaryReader::new();
        for line in
            [prompt(&format!("use {key}"), "01"), format!(r#"{{"type":"ai-title","aiTitle":"Use {key}"}}"#)]
        {
            reader.line(line.as_bytes());
        }
        let kept = serde_json::to_string(&reader).unwrap();
        assert!(kept.contains("[redacted: GitHub token]") && !kept.contains(key), "{kept}");
    }

    #[test]
    fn foreign_lines_cost_only_themselves() {
        let summary = read(&[
            r#"{"type":"user","cwd":7,"message":[],"timestamp":{}}"#.to_owned(),
            r#"{"type":"cost-state","totalCostUSD":"much","modelUsage":[1]}"#.to_owned(),
            r#"{"type":"relocated","relocatedCwd":"relative"}"#.to_owned(),
            r#"[{"type":"user"}]"#.to_owned(),
            "{".repeat(10_000),
            prompt("go", "01"),
        ]);
        assert_eq!(summary.first_prompt.as_deref(), Some("go"));
        assert_eq!((summary.account, summary.dir.as_deref()), (None, Some("/home/u/proj")));
    }
}
