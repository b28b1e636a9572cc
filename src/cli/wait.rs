//! `hopty wait`: until a session is idle, busy or blocked, until it has ended, until a text stands on its
//! screen.
//!
//! A text is looked for here and not in the host, which sends its rows whenever they have changed: so the
//! host carries no search engine, and a pattern that takes long takes the time of who asked.

use std::str::FromStr;
use std::time::{Duration, Instant};

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::control::{HostControl, Rule, any, live, paths, stopped_host};
use super::error::{Failed, say};
use super::screen_rows::ScreenRows;
use super::session::{ANSWER, status_of};
use super::wait_any;
use super::wait_conditions::{self, KNOWN};
use crate::core::config::DurationMs;
use crate::core::ids::SessionName;
use crate::core::screen_mark::{BadScreenMark, ScreenMark};
use crate::core::status::SessionStatus;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::message::{Code, Failure, WaitFor};

/// The largest compiled pattern, in bytes.
const PATTERN_MAX: usize = 1 << 20;
/// How long a host that has ended may take to leave.
pub(super) const FAREWELL: Duration = Duration::from_secs(5);
/// How long a host may take to let somebody in who waits less than [`ANSWER`].
const LET_IN: Duration = Duration::from_millis(900);
/// How long after the limit its word that the limit has passed may take. It keeps the time; one that is
/// stopped keeps none.
pub(super) const WORD: Duration = Duration::from_millis(900);
/// How long a session that is named may take to appear.
const STARTING: Duration = Duration::from_secs(2);
/// How often it is looked for meanwhile.
const LOOK: Duration = Duration::from_millis(5);
/// How long a host whose connections broke may take to be gone.
const DYING: Duration = Duration::from_millis(500);

/// What the verb was given.
#[derive(Debug)]
pub(super) struct WaitOptions<'a> {
    /// NAME and the condition, or the condition alone.
    pub words: &'a [String],
    /// How long to wait.
    pub timeout: DurationMs,
    /// What must have come later.
    pub since: Option<WaitSince>,
    /// How long the screen must be quiet besides, with no process at work.
    pub settle: Option<DurationMs>,
    /// Texts must have gone.
    pub gone: bool,
    /// The session object is wanted.
    pub as_json: bool,
}

pub(super) fn wait(wish: &WaitOptions<'_>) -> Result<u8, Failed> {
    if wait_any::is_for_several(wish.words) || wish.settle.is_some() || wish.gone {
        return wait_any::wait(wish);
    }
    let (given, condition) = match wish.words {
        [condition] => (None, condition),
        [name, condition, ..] => (Some(name.as_str()), condition),
        [] => return Err(Failed::new(2, "no condition given").hint(KNOWN)),
    };
    let (wanted, pattern) = condition_of(condition).map_err(|failed| match turned(wish.words) {
        Some(right) => {
            failed.hint(format!("give the session first, then the condition: `hopty wait {right}`"))
        }
        None => failed,
    })?;
    let paths = paths()?;
    let limit = Duration::from_millis(wish.timeout.ms());
    let begun = Instant::now();
    let may_start = || given.is_some() && begun.elapsed() < limit.min(STARTING);
    let name = loop {
        let found = if wanted == WaitFor::Exit { any(&paths, given) } else { live(&paths, given, Rule::Any) };
        match found {
            // It may be just starting: its host takes the name before it listens, and a name may have been
            // used before.
            Err(failed) if wanted != WaitFor::Exit && failed.finds_none() && may_start() => {
                std::thread::sleep(LOOK)
            }
            found => break found?,
        }
    };
    if wanted == WaitFor::Exit && !session::is_alive(&paths.session(&name)) {
        return over(&paths, &name, wish.as_json);
    }
    let control = loop {
        match HostControl::connect(&paths, &name, Some(limit.clamp(LET_IN, ANSWER))) {
            // It ended meanwhile.
            Err(_) if wanted == WaitFor::Exit && is_gone(&paths, &name) => {
                return over(&paths, &name, wish.as_json);
            }
            Err(_) if wanted != WaitFor::Exit && may_start() => std::thread::sleep(LOOK),
            connected => break connected?,
        }
    };
    let mut asked = WaitSession { control, until: Instant::now().checked_add(limit) };
    let answer = match &pattern {
        Some(pattern) => asked.for_text(&name, pattern, mark_of(wish.since)?),
        None => asked.ask(json!({"do": "wait", "for": wanted, "since": line_of(wish.since)})),
    };
    match answer {
        Err(_) if wanted == WaitFor::Exit && is_gone(&paths, &name) => over(&paths, &name, wish.as_json),
        Err(failed) => Err(failed),
        Ok(answer) if wanted == WaitFor::Exit && answer["met"] == true => {
            asked.control.limit(FAREWELL);
            asked.control.wait_for_end();
            over(&paths, &name, wish.as_json)
        }
        Ok(answer) => {
            let told = SessionStatus::from_json(answer["session"].clone());
            let session = told.map_or_else(|| status_of(&paths, &name), Ok)?;
            if answer["met"] != true {
                let message = format!(
                    "{condition}: timed out after {}, the session is {}",
                    wish.timeout, session.state
                );
                return Err(Failed::from(Failure::new(
                    Code::Busy,
                    message,
                    "use `--timeout` to wait longer",
                ))
                .about(&name));
            }
            if wish.as_json {
                say(format_args!("{}", session.json()))?;
            }
            Ok(0)
        }
    }
}

/// The words that were meant where a session stands in the place of the condition.
fn turned(words: &[String]) -> Option<String> {
    let last = words.last()?;
    let name: SessionName = last.parse().ok()?;
    let condition = match words {
        [condition, _] if condition_of(condition).is_ok() => condition,
        [_] => "idle",
        _ => return None,
    };
    paths().ok()?.session(&name).is_dir().then(|| format!("{name} {condition}"))
}

pub(super) fn condition_of(word: &str) -> Result<(WaitFor, Option<Regex>), Failed> {
    if let Some(pattern) = word.strip_prefix("text=") {
        if pattern.is_empty() {
            return Err(Failed::new(2, "an empty pattern matches every screen")
                .about(word)
                .hint("use `hopty wait NAME text=REGEX`"));
        }
        let built = RegexBuilder::new(pattern).multi_line(true).size_limit(PATTERN_MAX).build();
        return built.map(|regex| (WaitFor::Text, Some(regex))).map_err(|e| {
            Failed::new(2, e.to_string())
                .about(word)
                .hint("escape special characters with `\\`; see `hopty wait --help`")
        });
    }
    let known = [WaitFor::Idle, WaitFor::Busy, WaitFor::Blocked, WaitFor::Exit];
    known
        .into_iter()
        .find(|wanted| wanted.word() == word)
        .map(|wanted| (wanted, None))
        .ok_or_else(|| wait_conditions::unknown(word))
}

/// One conversation in which something is waited for.
struct WaitSession {
    control: HostControl,
    /// Until when; `None` for ever.
    until: Option<Instant>,
}

impl WaitSession {
    /// Asks, with the time that is left.
    fn ask(&mut self, mut request: Value) -> Result<Value, Failed> {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let ms = left.map_or(u64::MAX, |left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        self.control.limit(left.unwrap_or(Duration::MAX).saturating_add(WORD));
        request["timeout_ms"] = json!(ms);
        self.control.ask(request)
    }

    /// The rows as they change, until the pattern is found in them.
    fn for_text(
        &mut self,
        name: &SessionName,
        pattern: &Regex,
        mark: Option<ScreenMark>,
    ) -> Result<Value, Failed> {
        let mut after = None;
        loop {
            let answer = self.ask(ScreenRows::request(after, mark, 0))?;
            let Some(rows) = ScreenRows::read(&answer, name, mark)? else { return Ok(answer) };
            if rows.has(pattern) {
                return Ok(json!({"met": true}));
            }
            after = rows.revision;
        }
    }
}

/// After what something must have come: a mark of `hopty send --mark`, or a line of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitSince {
    /// A line of the journal.
    Line(u64),
    /// A mark.
    Mark(ScreenMark),
}

impl FromStr for WaitSince {
    type Err = BadScreenMark;

    fn from_str(text: &str) -> Result<Self, BadScreenMark> {
        text.parse().map(WaitSince::Line).or_else(|_| text.parse().map(WaitSince::Mark))
    }
}

/// The line of the journal after which a state must have begun.
pub(super) fn line_of(since: Option<WaitSince>) -> u64 {
    match since {
        None => 0,
        Some(WaitSince::Line(line)) => line,
        Some(WaitSince::Mark(mark)) => mark.seq,
    }
}

/// The mark after which a text must have been drawn.
///
/// # Errors
/// For a line of the journal, which says nothing about the screen.
pub(super) fn mark_of(since: Option<WaitSince>) -> Result<Option<ScreenMark>, Failed> {
    match since {
        None | Some(WaitSince::Line(0)) => Ok(None),
        Some(WaitSince::Mark(mark)) => Ok(Some(mark)),
        Some(WaitSince::Line(line)) => {
            Err(Failed::new(2, "a line of the journal does not say when a text was drawn")
                .about(format_args!("--since {line}"))
                .hint("use a mark: `hopty send NAME TEXT --mark` prints one"))
        }
    }
}

/// Whether the session is over. A host that was killed loses its connections before it loses its name.
pub(super) fn is_gone(paths: &Paths, name: &SessionName) -> bool {
    let until = Instant::now() + DYING;
    loop {
        let alive = session::is_alive(&paths.session(name));
        // One that is stopped is not about to go.
        if !alive || Instant::now() >= until || stopped_host(paths, name).is_some() {
            return !alive;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The session has ended.
fn over(paths: &Paths, name: &SessionName, as_json: bool) -> Result<u8, Failed> {
    if as_json {
        say(format_args!("{}", status_of(paths, name)?.json()))?;
    }
    Ok(0)
}
