//! `hopty context`: a conversation's context usage and the source of each number.
//!
//! For a session hopty asks its host, so that the number is the one that everything else shows. For any other
//! transcript hopty computes it from the file by the same rules.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::control::ANSWER;
use super::control::{HostControl, Rule, paths};
use super::error::{VerbError, say, say_wrapped, visible};
use super::exit_codes::{FAILED, REFUSED};
use super::prose::fit;
use super::target_conversation::{ConversationTarget, FoundTranscript, find_target};
use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::config::Levels;
use crate::core::context_level::{Level, WindowFrom};
use crate::core::context_usage::{ContextUsage, TokenCount, UsageSources};
use crate::core::ids::SessionName;
use crate::core::status_types::{ContextStatus, SessionStatus};
use crate::core::supervisor::ProgramKind;
use crate::core::time::{WallTime, age};
use crate::fs::paths::Paths;
use crate::fs::{session, whole_transcript};
use crate::ipc::answers::ContextAnswer;
use crate::ipc::message::{Code, Request};
use crate::sys::clock::Clock;

#[derive(Debug, Args)]
pub(super) struct ContextOptions {
    /// A session, a transcript, a conversation id or a directory; this session or directory by default
    #[arg(value_name = "PATH|NAME")]
    pub which: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Show every source: its value, its age, whether it was used and why
    #[arg(long)]
    pub explain: bool,
    /// Print one word: OK, WARNING or HANDOFF_REQUIRED
    #[arg(long)]
    pub status: bool,
}

/// Why Claude's screen shows another number (measured on 2.1.329: 89 % where 80 % of 200000 tokens are used).
const OWN_FIGURE: &str = "Claude's screen: counts up to where Claude compacts, which is below the window, so \
                          its percentage is \
                          higher; hopty counts up to the whole window, as Claude's status line does";

/// The context usage of a session or a transcript.
pub(super) struct ContextReport {
    pub context: ContextStatus,
    /// Every source that hopty looked at.
    tried: Value,
    levels: Levels,
    transcript: Option<FoundTranscript>,
}

impl ContextReport {
    /// An unknown level counts as the lowest.
    fn level(&self) -> Level {
        self.context.level.known().unwrap_or_default()
    }

    /// The sentence that the third source document asks for.
    fn sentence(&self) -> String {
        let percent = self.context.percent;
        match self.level().check_word(&self.levels) {
            "HANDOFF_REQUIRED" => format!("Token limit reached ({percent}%)"),
            "WARNING" => format!("Token usage: {percent}% - approaching limit"),
            _ => format!("Token usage: {percent}%"),
        }
    }

    fn print_explained(&self) -> Result<(), VerbError> {
        if let Some(transcript) = &self.transcript {
            say_wrapped(format_args!(
                "transcript file: {} ({})",
                visible(&transcript.path.to_string_lossy()),
                visible(&transcript.how)
            ))?;
        }
        for tried in self.tried.as_array().into_iter().flatten() {
            let text = |key: &str| visible(tried[key].as_str().unwrap_or_default());
            let age = tried["age_ms"].as_i64().map_or_else(String::new, |ms| format!(", {} old", age(ms)));
            let source = text("source").replace('_', " ");
            let line = format!("{source}: {}{age}: {} used: {}", text("value"), text("taken"), text("why"));
            say(format_args!("{}", fit(&line, 4)))?;
        }
        let parts = [
            ("ask", self.levels.ask),
            ("warn", self.levels.warn),
            ("handoff", self.levels.handoff),
            ("hard", self.levels.hard),
        ];
        let parts = parts.map(|(name, level)| format!("{name} {}", threshold(&level)));
        say(format_args!("{}", fit(OWN_FIGURE, 4)))?;
        Ok(say_wrapped(format_args!("levels: {}", parts.join(", ")))?)
    }
}

pub(super) fn line(context: &ContextStatus) -> String {
    let ContextStatus { percent, window, tokens, level, tokens_from, window_from, .. } = context;
    let words = [level.to_string(), tokens_from.to_string(), window_from.to_string()];
    let [level, tokens_from, window_from] =
        words.map(|word| if word.is_empty() { "none".to_owned() } else { visible(&word) });
    format!(
        "{percent} % of {window} tokens ({tokens}), level {level}; tokens: {tokens_from}, window: \
         {window_from}"
    )
}

fn threshold(level: &crate::core::config::Threshold) -> String {
    let parts = [
        level.percent.map(|percent| format!("{percent} %")),
        level.tokens.map(|tokens| format!("{tokens} tokens")),
        level.kb.map(|kb| format!("{kb} KB")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "never".to_owned() } else { format!("at {}", parts.join(" or ")) }
}

pub(super) fn context(options: &ContextOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let answer = figure(&paths, options.which.as_deref(), Rule::Any)?;
    if options.status {
        let word = answer.level().check_word(&answer.levels);
        if options.json {
            let ContextStatus { percent, tokens, window, .. } = answer.context;
            let remaining = answer.context.remaining();
            say(format_args!(
                "{}",
                json!({"status": word, "percent": percent, "remaining": remaining, "tokens": tokens,
                    "window": window})
            ))?;
        } else {
            say(format_args!("{word}"))?;
            if options.explain {
                say_wrapped(format_args!("{}", answer.sentence()))?;
            }
        }
        return Ok(0);
    }
    match (options.json, options.explain) {
        (true, false) => say(format_args!("{}", json!(answer.context)))?,
        (true, true) => {
            let found = answer.transcript.as_ref().map(|found| json!({"path": found.path, "how": found.how}));
            let mut object = json!(answer.context);
            object["tried"] = answer.tried;
            object["transcript"] = json!(found);
            object["levels"] = json!(answer.levels);
            say(format_args!("{object}"))?;
        }
        (false, _) => {
            say_wrapped(format_args!("{}", line(&answer.context)))?;
            if options.explain {
                answer.print_explained()?;
            }
        }
    }
    Ok(0)
}

/// The context usage of the session or transcript that is named.
pub(super) fn figure(paths: &Paths, given: Option<&str>, rule: Rule) -> Result<ContextReport, VerbError> {
    match find_target(paths, given, rule)? {
        ConversationTarget::Session(name, object) => of_session(paths, &name, *object),
        ConversationTarget::Transcript(found) => of_transcript(paths, found),
    }
}

/// From the session's host, or from its last state if it has ended.
fn of_session(paths: &Paths, name: &SessionName, status: SessionStatus) -> Result<ContextReport, VerbError> {
    let live = session::is_alive(&paths.session(name));
    let asked = if live {
        // An older host does not know this request: its status has the context usage too.
        HostControl::connect(paths, name, Some(ANSWER))
            .and_then(|mut control| control.ask::<ContextAnswer>(&Request::Context))
            .ok()
    } else {
        None
    };
    let mut answer = ContextReport {
        context: status.context,
        tried: Value::Null,
        levels: levels(paths),
        transcript: None,
    };
    let how = if live { "the session follows it" } else { "the session followed it; it has ended" };
    answer.transcript =
        status.transcript.map(|path| FoundTranscript { path: path.into(), how: how.to_owned() });
    if let Some(asked) = asked {
        (answer.levels, answer.tried, answer.context) = (asked.levels, asked.tried, asked.context);
    }
    if !status.agent.is(ProgramKind::Claude) {
        let hint = format!("`hopty status {name}` shows what it runs");
        return Err(VerbError::new(REFUSED, "it does not run Claude, so it has no context window")
            .called(Code::Refused)
            .about(name)
            .hint(hint));
    }
    Ok(answer)
}

/// From the whole transcript.
fn of_transcript(paths: &Paths, found: FoundTranscript) -> Result<ContextReport, VerbError> {
    let mut facts = TranscriptFacts::new();
    let hint = "give a transcript (.jsonl), a conversation id, a directory or a session";
    let extent = whole_transcript::lines(&found.path, |line| facts.feed(line))
        .map_err(|e| VerbError::new(FAILED, e.to_string()).hint(hint))?;
    if extent.bytes > 0 && facts.counts().0 == 0 {
        let file = visible(&found.path.to_string_lossy());
        return Err(VerbError::new(
            FAILED,
            format!("{file} is not a transcript: its {} bytes contain no record", extent.bytes),
        )
        .hint(hint));
    }
    let now = Clock::wall();
    let age = |at: &str| u64::try_from(now.0.saturating_sub(WallTime::parse(at)?.0)).ok();
    let config = super::read_config::valid(paths, &[])?;
    let sources = UsageSources {
        statusline: None,
        statusline_window: known_window(paths, &found.path),
        transcript: facts
            .window
            .last()
            .map(|fill| TokenCount { tokens: fill.tokens, age_ms: fill.at.as_deref().and_then(age) }),
        compacted: facts.window.last().is_some_and(|fill| fill.message_id.is_empty()),
        answered: facts.window.model().is_some(),
        bytes: extent.bytes,
        models: facts.window.model().map(str::to_owned).into_iter().collect(),
        configured: config.context.window,
    };
    let figure = ContextUsage::of(&sources);
    let levels = config.context.levels();
    let context = figure.status(figure.level(&levels), now);
    Ok(ContextReport { context, tried: json!(figure.tried(&sources)), levels, transcript: Some(found) })
}

/// The window size that Claude's status line reported for this conversation, if a session's file has it.
fn known_window(paths: &Paths, transcript: &Path) -> Option<u64> {
    let stem = transcript.file_stem()?.to_str()?;
    session::list(paths).into_iter().find_map(|listed| {
        let last = session::status(&paths.session(&listed.name)).ok()??;
        let same = last.conversation.is_some_and(|conversation| conversation.as_str() == stem);
        (same && last.context.window_from.is(WindowFrom::Statusline)).then_some(last.context.window)
    })
}

fn levels(paths: &Paths) -> Levels {
    super::read_config::load(paths, &[]).0.context.levels()
}
