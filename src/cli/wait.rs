//! `hopty wait`: until a session is idle, busy or blocked, until it has ended, until a text stands on its
//! screen.
//!
//! A text is looked for here and not in the host, which sends its rows whenever they have changed: so the
//! host carries no search engine, and a pattern that takes long takes the time of who asked.

use std::time::{Duration, Instant};

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Value, json};

use super::control::{Control, Rule, any, live, paths, stopped_host};
use super::error::{Failed, say};
use super::session::{ANSWER, status_of};
use super::wait_any;
use crate::core::config::Span;
use crate::core::ids::SessionName;
use crate::core::status::SessionStatus;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::message::{Code, Failure, WaitFor};

/// The largest compiled pattern, in bytes.
const PATTERN_MAX: usize = 1 << 20;
/// How long a host that has ended may take to leave.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long a host may take to let somebody in who waits less than [`ANSWER`].
const LET_IN: Duration = Duration::from_millis(900);
/// How long after the limit its word that the limit has passed may take. It keeps the time; one that is
/// stopped keeps none.
const WORD: Duration = Duration::from_millis(900);
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
    pub timeout: Span,
    /// The line of the journal after which the state must have begun.
    pub since: u64,
    /// The session object is wanted.
    pub as_json: bool,
}

pub(super) fn wait(wish: &WaitOptions<'_>) -> Result<u8, Failed> {
    if wait_any::is_for_several(wish.words) {
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
        match Control::connect(&paths, &name, Some(limit.clamp(LET_IN, ANSWER))) {
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
        Some(pattern) => asked.for_text(&name, pattern),
        None => asked.ask(wanted, wish.since, None),
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

/// What can be waited for.
pub(super) const KNOWN: &str = "conditions: idle, busy, blocked, exit, text=REGEX, quiet=TIME; give the session's name first if several are running";

fn unclear(word: &str) -> Failed {
    Failed::new(2, "unknown condition").about(word).hint(KNOWN)
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
        .ok_or_else(|| unclear(word))
}

/// One conversation in which something is waited for.
struct WaitSession {
    control: Control,
    /// Until when; `None` for ever.
    until: Option<Instant>,
}

impl WaitSession {
    fn ask(&mut self, wanted: WaitFor, since: u64, after: Option<u64>) -> Result<Value, Failed> {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let ms = left.map_or(u64::MAX, |left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        self.control.limit(left.unwrap_or(Duration::MAX).saturating_add(WORD));
        self.control
            .ask(json!({"do": "wait", "for": wanted, "since": since, "after": after, "timeout_ms": ms}))
    }

    /// The rows as they change, until the pattern is found in them. Rows are lines: `^` and `$` are the edges
    /// of a row.
    fn for_text(&mut self, name: &SessionName, pattern: &Regex) -> Result<Value, Failed> {
        let mut after = None;
        loop {
            let answer = self.ask(WaitFor::Text, 0, after)?;
            if answer["degraded"] == true {
                return Err(super::screen::degraded(name));
            }
            let Some(rows) = answer["rows"].as_array() else { return Ok(answer) };
            let rows: Vec<&str> = rows.iter().filter_map(Value::as_str).collect();
            if pattern.is_match(&rows.join("\n")) {
                return Ok(json!({"met": true}));
            }
            after = answer["revision"].as_u64();
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
