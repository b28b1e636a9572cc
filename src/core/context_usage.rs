//! The context usage and the source of each of its numbers.
//!
//! Every place shows the same usage. Tokens come from the transcript's last main-chain answer, which exists
//! before Claude calls the status line (measured), else from Claude's status line, else from the size of the
//! transcript, as a guess. The window comes from the configuration, else from the status line, else from the
//! table of models; else it is 200,000.

use super::config::Levels;
use super::context_level::{Fill, Level, WindowFrom, window_of_model};
use super::status_types::{ContextStatus, Rfc3339};
use super::time::WallTime;
use serde::{Deserialize, Serialize};

/// The window if no source has it, in tokens.
pub const ASSUMED_WINDOW: u64 = 200_000;
/// The larger of Claude's two windows, in tokens.
const LARGE_WINDOW: u64 = 1_000_000;
/// A larger window, or more tokens, are no report of Claude's: a program that it started can forge one, and
/// levels in percent would never be reached.
const PLAUSIBLE_MAX: u64 = 2 * LARGE_WINDOW;
/// Bytes of transcript per token: a guess for when nothing else is known. Since 2.1.300 tool results and
/// snapshots are written more than once.
const BYTES_PER_TOKEN: u64 = 10;

/// The source of the tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokensFrom {
    /// A status-line payload.
    Statusline,
    /// The usage of the last main-chain answer.
    Transcript,
    /// The size of the transcript: a guess.
    Bytes,
    /// Nothing is known.
    #[default]
    None,
}

/// A number of tokens, and its age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCount {
    pub tokens: u64,
    /// Its age in ms, if known.
    pub age_ms: Option<u64>,
}

/// Everything that a context usage can be computed from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageSources {
    /// The tokens of the status line; `None` if it was not called or had none.
    pub statusline: Option<TokenCount>,
    /// The window of the status line, in tokens.
    pub statusline_window: Option<u64>,
    /// The usage of the transcript's last answer, or what a compaction left.
    pub transcript: Option<TokenCount>,
    /// `transcript` is what a compaction left.
    pub compacted: bool,
    /// Whether the transcript has an answer.
    pub answered: bool,
    /// The transcript's size in bytes.
    pub bytes: u64,
    /// Names of the model, the best first: some lack the `[1m]` that tells the window.
    pub models: Vec<String>,
    /// `context.window`; 0 if it is not set.
    pub configured: u64,
}

impl UsageSources {
    /// The window of the status line, unless no model has such a one: of a model in the table at most the
    /// larger of Claude's two, of others at most [`PLAUSIBLE_MAX`].
    fn plausible_window(&self) -> Option<u64> {
        let most = self.of_model().map_or(PLAUSIBLE_MAX, |(_, window)| window.max(LARGE_WINDOW));
        self.statusline_window.filter(|window| *window <= most)
    }

    /// The first model whose window is known, and that window in tokens.
    fn of_model(&self) -> Option<(&str, u64)> {
        self.models.iter().find_map(|model| Some((model.as_str(), window_of_model(model)?)))
    }
}

/// A source, and whether it was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceReport {
    /// Its name: `statusline`, `transcript`, `bytes`, `config`, `model_table`, `assumed`.
    pub source: &'static str,
    pub value: String,
    /// The age of the value in ms, if known.
    pub age_ms: Option<u64>,
    /// What was taken from it: `tokens`, `window`, both, or nothing.
    pub taken: &'static str,
    pub why: String,
}

impl SourceReport {
    fn new(source: &'static str, value: String, age_ms: Option<u64>, taken: &'static str, why: &str) -> Self {
        SourceReport { source, value, age_ms, taken, why: why.to_owned() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextUsage {
    pub fill: Fill,
    pub tokens_from: TokensFrom,
    pub window_from: WindowFrom,
}

impl ContextUsage {
    /// The usage according to these sources.
    #[must_use]
    pub fn of(sources: &UsageSources) -> Self {
        let statusline = sources.statusline.filter(|count| (1..=PLAUSIBLE_MAX).contains(&count.tokens));
        let guess = sources.answered.then_some(sources.bytes / BYTES_PER_TOKEN).filter(|tokens| *tokens > 0);
        let (tokens, tokens_from) = match (sources.transcript, statusline, guess) {
            (Some(count), ..) => (count.tokens, TokensFrom::Transcript),
            (None, Some(count), _) => (count.tokens, TokensFrom::Statusline),
            (None, None, Some(tokens)) => (tokens, TokensFrom::Bytes),
            (None, None, None) => (0, TokensFrom::None),
        };
        let of_model = sources.of_model();
        let (window, window_from) = match (sources.configured, sources.plausible_window(), of_model) {
            (window @ 1.., ..) => (window, WindowFrom::Config),
            (0, Some(window), _) => (window, WindowFrom::Statusline),
            // A name without `[1m]` may be that of a large window: more tokens than fit prove it.
            (0, None, Some((_, window))) if window >= tokens => (window, WindowFrom::ModelTable),
            (0, None, _) if tokens > ASSUMED_WINDOW => (LARGE_WINDOW, WindowFrom::Assumed),
            (0, None, _) => (ASSUMED_WINDOW, WindowFrom::Assumed),
        };
        let fill = Fill { tokens, window, bytes: sources.bytes };
        ContextUsage { fill, tokens_from, window_from }
    }

    /// Every source in order: which of its numbers were used, and why.
    pub fn tried(&self, sources: &UsageSources) -> Vec<SourceReport> {
        let config = (sources.configured > 0).then(|| {
            let value = format!("{} tokens", sources.configured);
            SourceReport::new("config", value, None, "window", "context.window is set")
        });
        let known = [self.statusline(sources), Self::transcript(sources), self.bytes(sources)];
        let window = [config, Some(self.model_table(sources)), self.assumed()];
        known.into_iter().chain(window.into_iter().flatten()).collect()
    }

    fn statusline(&self, sources: &UsageSources) -> SourceReport {
        let count = sources.statusline;
        let value = match (count, sources.statusline_window) {
            (Some(count), Some(window)) => format!("{} tokens of {window}", count.tokens),
            (Some(count), None) => format!("{} tokens", count.tokens),
            (None, Some(window)) => format!("no tokens of {window}"),
            (None, None) => "nothing".to_owned(),
        };
        let is_taken =
            (self.tokens_from == TokensFrom::Statusline, self.window_from == WindowFrom::Statusline);
        let (taken, why) = match is_taken {
            (true, true) => ("tokens and window", "the transcript has no usage yet"),
            (true, false) => ("tokens", "the transcript has no usage yet"),
            (false, true) if count.is_none_or(|c| c.tokens == 0) => {
                ("window", "it has no tokens until the next answer")
            }
            (false, true) => ("window", "the transcript has each answer before the status line is called"),
            (false, false) if sources.statusline_window != sources.plausible_window() => {
                ("nothing", "no model has such a window")
            }
            (false, false) if sources.statusline_window.is_some() => ("nothing", "context.window is set"),
            (false, false) => {
                ("nothing", "Claude has not called it, or another status line replaces hopty's")
            }
        };
        SourceReport::new("statusline", value, count.and_then(|count| count.age_ms), taken, why)
    }

    fn transcript(sources: &UsageSources) -> SourceReport {
        let nothing =
            |value: &str, why| SourceReport::new("transcript", value.to_owned(), None, "nothing", why);
        match sources.transcript {
            Some(count) => {
                let why = if sources.compacted {
                    "what the compaction left, as Claude recorded it; the status line says 0 until the next \
                     answer"
                } else {
                    "input, cache read and cache creation of the last answer that no sub-agent gave"
                };
                let value = format!("{} tokens", count.tokens);
                SourceReport::new("transcript", value, count.age_ms, "tokens", why)
            }
            None if sources.answered => nothing("no usage", "its answers carry no token counts"),
            None => nothing("no answer", "Claude has not answered yet"),
        }
    }

    fn bytes(&self, sources: &UsageSources) -> SourceReport {
        let (taken, why) = match self.tokens_from {
            TokensFrom::Bytes => ("tokens", "there is no better source; it is a guess"),
            TokensFrom::None => ("nothing", "it means nothing before the first answer"),
            _ => ("nothing", "the tokens are known; bytes count only for levels that are given in kb"),
        };
        SourceReport::new("bytes", sources.bytes.to_string(), None, taken, why)
    }

    fn model_table(&self, sources: &UsageSources) -> SourceReport {
        let (value, taken, why) = match sources.of_model() {
            Some((model, window)) if self.window_from == WindowFrom::ModelTable => {
                (format!("{window} tokens for {model}"), "window", "the status line has not reported it")
            }
            Some((model, window)) if window < self.fill.tokens && self.fill.window != window => {
                (format!("{window} tokens for {model}"), "nothing", "there are more tokens than that")
            }
            Some((model, window)) => {
                (format!("{window} tokens for {model}"), "nothing", "a better source knows it")
            }
            None => ("no known model".to_owned(), "nothing", "the table has no window for the model"),
        };
        SourceReport::new("model_table", value, None, taken, why)
    }

    fn assumed(&self) -> Option<SourceReport> {
        let why = if self.fill.window == LARGE_WINDOW {
            "more than 200000 tokens are in use"
        } else {
            "no source knows the window"
        };
        let value = format!("{} tokens", self.fill.window);
        let is_taken = self.window_from == WindowFrom::Assumed;
        is_taken.then(|| SourceReport::new("assumed", value, None, "window", why))
    }

    pub fn level(&self, levels: &Levels) -> Level {
        self.fill.level(levels)
    }

    /// The `context` part of the session status, as of `at`.
    pub fn status(&self, level: Level, at: WallTime) -> ContextStatus {
        ContextStatus {
            tokens: self.fill.tokens,
            window: self.fill.window,
            percent: self.fill.percent(),
            level: level.into(),
            tokens_from: self.tokens_from.into(),
            window_from: self.window_from.into(),
            bytes: self.fill.bytes,
            at: Some(Rfc3339(at)),
        }
    }
}

/// Whether work of `estimated` tokens fits into `remaining` with a margin of a fifth.
pub fn fits(remaining: u64, estimated: u64) -> bool {
    u128::from(remaining) * 10 >= u128::from(estimated) * 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_no_model_has_turns_no_level_off() {
        let of = |window: u64, model: &str| {
            let sources = UsageSources {
                statusline: Some(TokenCount { tokens: u64::MAX, age_ms: None }),
                statusline_window: Some(window),
                transcript: Some(TokenCount { tokens: 196_000, age_ms: None }),
                models: vec![model.to_owned()],
                ..UsageSources::default()
            };
            let usage = ContextUsage::of(&sources);
            (usage.fill.percent(), usage.tried(&sources)[0].why.clone())
        };
        let absurd = "no model has such a window";
        assert_eq!(of(u64::MAX, "claude-opus-4-6"), (98, absurd.to_owned()));
        assert_eq!(of(LARGE_WINDOW + 1, "claude-opus-4-6"), (98, absurd.to_owned()));
        assert_eq!(of(u64::MAX, "a-new-one"), (98, absurd.to_owned()));
        assert_eq!(of(LARGE_WINDOW, "claude-opus-4-6").0, 20);
        assert_eq!(of(2 * LARGE_WINDOW, "a-new-one").0, 10);
        let forged = UsageSources {
            statusline: Some(TokenCount { tokens: u64::MAX, age_ms: None }),
            ..UsageSources::default()
        };
        assert_eq!(ContextUsage::of(&forged).fill.tokens, 0);
    }

    fn count(tokens: u64) -> Option<TokenCount> {
        Some(TokenCount { tokens, age_ms: Some(4000) })
    }

    #[test]
    fn the_sources_come_in_their_order() {
        let all = UsageSources {
            statusline: count(163_000),
            statusline_window: Some(200_000),
            transcript: count(164_000),
            compacted: false,
            answered: true,
            bytes: 1_789_000,
            models: vec!["claude-opus-5-5".to_owned()],
            configured: 0,
        };
        let of = |change: &dyn Fn(&mut UsageSources)| {
            let mut sources = all.clone();
            change(&mut sources);
            let usage = ContextUsage::of(&sources);
            (usage.fill.tokens, usage.tokens_from, usage.fill.window, usage.window_from)
        };
        use TokensFrom::{Bytes, None as Nowhere, Statusline, Transcript};
        assert_eq!(of(&|_| ()), (164_000, Transcript, 200_000, WindowFrom::Statusline));
        assert_eq!(of(&|s| s.transcript = None), (163_000, Statusline, 200_000, WindowFrom::Statusline));
        assert_eq!(of(&|s| s.configured = 150_000), (164_000, Transcript, 150_000, WindowFrom::Config));
        assert_eq!(
            of(&|s| s.statusline_window = None),
            (164_000, Transcript, 1_000_000, WindowFrom::ModelTable)
        );
        let bare = |s: &mut UsageSources| {
            *s = UsageSources { answered: s.answered, bytes: s.bytes, ..UsageSources::default() }
        };
        assert_eq!(of(&bare), (178_900, Bytes, 200_000, WindowFrom::Assumed));
        let begun = |s: &mut UsageSources| *s = UsageSources { bytes: 40_000, ..UsageSources::default() };
        assert_eq!(of(&begun), (0, Nowhere, 200_000, WindowFrom::Assumed));
        // Right after a compaction the status line reports 0.
        let compacted = |s: &mut UsageSources| (s.statusline, s.transcript) = (count(0), count(9_000));
        assert_eq!(of(&compacted), (9_000, Transcript, 200_000, WindowFrom::Statusline));
    }

    #[test]
    fn more_tokens_than_fit_prove_the_large_window() {
        for model in ["claude-opus-4-5", "claude-unheard-of", ""] {
            let sources = UsageSources {
                transcript: count(460_000),
                models: vec![model.to_owned()],
                ..UsageSources::default()
            };
            let usage = ContextUsage::of(&sources);
            assert_eq!(
                (usage.fill.window, usage.fill.percent(), usage.window_from),
                (1_000_000, 46, WindowFrom::Assumed),
                "{model}"
            );
        }
    }

    #[test]
    fn every_source_says_whether_it_was_taken_and_why() {
        let sources = UsageSources {
            transcript: count(9),
            models: vec!["claude-sonnet-4-5".to_owned()],
            ..UsageSources::default()
        };
        let tried = ContextUsage::of(&sources).tried(&sources);
        let taken: Vec<(&str, &str)> = tried.iter().map(|tried| (tried.source, tried.taken)).collect();
        assert_eq!(
            taken,
            [
                ("statusline", "nothing"),
                ("transcript", "tokens"),
                ("bytes", "nothing"),
                ("model_table", "window")
            ]
        );
        assert!(tried.iter().all(|tried| !tried.why.is_empty() && !tried.value.is_empty()));
    }

    #[test]
    fn item_087_a_phase_fits_with_a_margin_of_a_fifth() {
        assert!(fits(9600, 8000) && !fits(9599, 8000));
        assert!(fits(0, 0) && !fits(0, 1) && fits(u64::MAX, u64::MAX / 2) && !fits(u64::MAX, u64::MAX));
    }
}
