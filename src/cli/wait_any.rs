//! `hopty wait` for one of several conditions, for a condition that does not hold, and for a screen that is
//! quiet. A single condition that holds is `wait`'s own matter.
//!
//! Nothing is polled: the host answers when the state or the screen is another than what was seen last
//! (`watch`), and the time until a screen is quiet is waited for. Only processes that still work when nothing
//! moves any more (`--settle`) have to be looked at again and again.

use std::time::{Duration, Instant};

use regex_lite::Regex;
use serde_json::json;

use super::control::{HostControl, Rule, any, live, paths};
use super::error::{Failed, say};
use super::screen_rows::ScreenRows;
use super::session::{ANSWER, status_of};
use super::settle_wait::SettleWatch;
use super::wait::{FAREWELL, WORD, WaitOptions, condition_of, line_of, mark_of};
use super::wait_conditions::{KNOWN, NOT};
use crate::core::config::DurationMs;
use crate::core::ids::SessionName;
use crate::core::screen_mark::ScreenMark;
use crate::core::supervisor::state::SessionState;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::message::{Code, Failure, WaitFor};

/// One condition.
struct Condition {
    /// As the person wrote it.
    text: String,
    negated: bool,
    wanted: Wanted,
}

enum Wanted {
    State(WaitFor),
    Text(Regex),
    /// The screen has not changed for so long.
    Quiet(Duration),
}

/// Whether these words are for this file.
pub(super) fn is_for_several(words: &[String]) -> bool {
    let conditions = words.iter().filter(|word| condition_of(word).is_ok()).count();
    words.len() > 2 || conditions > 1 || words.iter().any(|word| word == NOT || word.starts_with("quiet="))
}

/// Waits until one of the conditions holds, and prints which where there are several.
pub(super) fn wait(wish: &WaitOptions<'_>) -> Result<u8, Failed> {
    let (given, mut conditions) = read(wish.words)?;
    if wish.gone {
        turn_round(&mut conditions)?;
    }
    let has_text = conditions.iter().any(|one| matches!(one.wanted, Wanted::Text(_)));
    let mark = if has_text { mark_of(wish.since)? } else { None };
    let paths = paths()?;
    let at_end = conditions.iter().find(|one| one.is_met_by_end());
    let name = match at_end {
        Some(_) => any(&paths, given)?,
        None => live(&paths, given, Rule::Any)?,
    };
    if let Some(condition) = at_end.filter(|_| !session::is_alive(&paths.session(&name))) {
        return met_by(condition, &conditions, &paths, &name, wish.as_json);
    }
    let limit = Duration::from_millis(wish.timeout.ms());
    let until = Instant::now().checked_add(limit);
    let control = match (HostControl::connect(&paths, &name, Some(ANSWER)), at_end) {
        // It ended meanwhile.
        (Err(_), Some(condition)) if super::wait::is_gone(&paths, &name) => {
            return met_by(condition, &conditions, &paths, &name, wish.as_json);
        }
        (connected, _) => connected?,
    };
    let uses_screen = |one: &Condition| matches!(one.wanted, Wanted::Text(_) | Wanted::Quiet(_));
    let uses_state = |one: &Condition| matches!(one.wanted, Wanted::State(state) if state != WaitFor::Exit);
    let mut view = SessionView {
        control,
        uses_state: conditions.iter().any(uses_state),
        uses_screen: conditions.iter().any(uses_screen) || wish.settle.is_some(),
        state: SessionState::Unknown,
        entered: None,
        rows: ScreenRows::default(),
        changed: Instant::now(),
        since: line_of(wish.since),
        mark,
        settle: None,
    };
    if let Some(quiet) = wish.settle {
        let pid = view.control.status()?.pid;
        view.settle = Some(SettleWatch::new(Duration::from_millis(quiet.ms()), pid));
    }
    let mut pause = Duration::ZERO;
    let met = loop {
        let met = match view.look(&name, pause) {
            Ok(()) => conditions.iter().find(|one| view.holds(one)),
            // Only its end ends the conversation with its host.
            Err(failed) => match conditions.iter().find(|one| one.is_met_by_end()) {
                Some(condition) if super::wait::is_gone(&paths, &name) => break condition,
                _ => return Err(failed),
            },
        };
        if let Some(condition) = met
            && view.is_settled(&name)?
            && view.holds(condition)
        {
            break condition;
        }
        let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            let state = status_of(&paths, &name)?.state;
            let wanted: Vec<&str> = conditions.iter().map(|one| one.text.as_str()).collect();
            let moves = if met.is_some() { " and has not settled" } else { "" };
            let message = format!(
                "{}: timed out after {}, the session is {state}{moves}",
                wanted.join(", "),
                wish.timeout
            );
            let failure = Failure::new(Code::Busy, message, "use `--timeout` to wait longer");
            return Err(Failed::from(failure).about(&name));
        }
        pause = left.min(view.pause(&conditions, met.is_some()));
    };
    if matches!(met.wanted, Wanted::State(WaitFor::Exit)) && !met.negated {
        // So that its name is free when this ends.
        view.control.limit(FAREWELL);
        view.control.wait_for_end();
    }
    met_by(met, &conditions, &paths, &name, wish.as_json)
}

fn met_by(
    met: &Condition,
    all: &[Condition],
    paths: &Paths,
    name: &SessionName,
    as_json: bool,
) -> Result<u8, Failed> {
    if as_json {
        let mut object = status_of(paths, name)?.json();
        object["met"] = json!(met.text);
        say(format_args!("{object}"))?;
    } else if all.len() > 1 {
        say(format_args!("{}", met.text))?;
    }
    Ok(0)
}

/// The session, and the conditions behind it.
fn read(words: &[String]) -> Result<(Option<&str>, Vec<Condition>), Failed> {
    let is_condition = |word: &str| {
        word == NOT || word.starts_with("quiet=") || word.starts_with("text=") || condition_of(word).is_ok()
    };
    let (given, rest) = match words.split_first() {
        Some((name, rest)) if !is_condition(name) => (Some(name.as_str()), rest),
        _ => (None, words),
    };
    let mut conditions = Vec::new();
    let mut negated = false;
    for word in rest {
        if word == NOT {
            negated = true;
            continue;
        }
        let wanted = match word.strip_prefix("quiet=") {
            Some(span) => {
                let span: DurationMs = span.parse().map_err(|_| {
                    Failed::new(2, "not a duration")
                        .about(word)
                        .hint("write it as `quiet=500ms` or `quiet=2s`")
                })?;
                Wanted::Quiet(Duration::from_millis(span.ms()))
            }
            None => match condition_of(word)? {
                (_, Some(pattern)) => Wanted::Text(pattern),
                (state, None) => Wanted::State(state),
            },
        };
        let text = if negated { format!("not {word}") } else { word.clone() };
        conditions.push(Condition { text, negated, wanted });
        negated = false;
    }
    if negated || conditions.is_empty() {
        return Err(Failed::new(2, "no condition given").hint(KNOWN));
    }
    Ok((given, conditions))
}

impl Condition {
    /// Whether it holds once the session is over.
    fn is_met_by_end(&self) -> bool {
        match self.wanted {
            Wanted::State(WaitFor::Exit) => !self.negated,
            Wanted::State(_) | Wanted::Text(_) => self.negated,
            Wanted::Quiet(_) => false,
        }
    }
}

/// Lets the texts be waited for until they have gone.
fn turn_round(conditions: &mut [Condition]) -> Result<(), Failed> {
    let mut texts = 0;
    for condition in conditions.iter_mut().filter(|one| matches!(one.wanted, Wanted::Text(_)) && !one.negated)
    {
        condition.text = format!("not {}", condition.text);
        condition.negated = true;
        texts += 1;
    }
    if texts == 0 {
        return Err(Failed::new(2, "--gone needs a text").hint("use `hopty wait NAME text=REGEX --gone`"));
    }
    Ok(())
}

/// What is known of the session.
struct SessionView {
    control: HostControl,
    /// Whether a condition is about Claude's state.
    uses_state: bool,
    /// Whether the screen matters.
    uses_screen: bool,
    state: SessionState,
    /// The line of the journal at which the state began.
    entered: Option<u64>,
    rows: ScreenRows,
    /// When the screen changed last.
    changed: Instant,
    since: u64,
    mark: Option<ScreenMark>,
    settle: Option<SettleWatch>,
}

impl SessionView {
    /// Waits until something is another than it was, `pause` at most. The first time it only looks.
    fn look(&mut self, name: &SessionName, pause: Duration) -> Result<(), Failed> {
        let request = json!({
            "do": "watch",
            "state": self.uses_state,
            "entered": self.entered,
            "screen": self.uses_screen,
            "after": self.rows.revision,
            "mark": self.mark,
            // Not a moment too early.
            "timeout_ms": u64::try_from(pause.as_micros().div_ceil(1000)).unwrap_or(u64::MAX),
        });
        self.control.limit(pause.saturating_add(WORD));
        let answer = self.control.ask(request)?;
        if let Some(entered) = answer["entered"].as_u64() {
            self.entered = Some(entered);
            self.state = serde_json::from_value(answer["state"].clone()).unwrap_or(SessionState::Unknown);
        }
        if let Some(rows) = ScreenRows::read(&answer, name, self.mark)? {
            // The cursor of a prompt may blink, and a revision may change without it.
            if self.rows.revision.is_some() && !(self.settle.is_some() && rows.is_same_as(&self.rows)) {
                self.changed = Instant::now();
            }
            self.rows = rows;
        }
        Ok(())
    }

    /// Whether nothing moves any more, where that is wanted.
    fn is_settled(&mut self, name: &SessionName) -> Result<bool, Failed> {
        let changed = self.changed;
        let Some(settle) = &mut self.settle else { return Ok(true) };
        if !settle.is_settled(changed) {
            return Ok(false);
        }
        self.look(name, Duration::ZERO)?;
        Ok(self.changed == changed)
    }

    /// How long nothing but a change can make a condition hold. `is_met`: one holds, and the session has not
    /// settled.
    fn pause(&self, conditions: &[Condition], is_met: bool) -> Duration {
        let quiet = conditions.iter().filter(|one| !one.negated).filter_map(|one| match one.wanted {
            Wanted::Quiet(time) => Some(time.saturating_sub(self.changed.elapsed())),
            _ => None,
        });
        let settles = self.settle.as_ref().filter(|_| is_met).map(|settle| settle.pause(self.changed));
        quiet.filter(|_| !is_met).chain(settles).min().unwrap_or(Duration::MAX)
    }

    fn holds(&self, condition: &Condition) -> bool {
        let holds = match &condition.wanted {
            Wanted::Quiet(time) => self.changed.elapsed() >= *time,
            // Between two frames there may be no screen yet.
            Wanted::Text(_) if self.rows.revision.is_none() => return false,
            Wanted::Text(pattern) if condition.negated => self.rows.has_anywhere(pattern),
            Wanted::Text(pattern) => self.rows.has(pattern),
            Wanted::State(wanted) => self.is(*wanted),
        };
        holds != condition.negated
    }

    fn is(&self, wanted: WaitFor) -> bool {
        let state = match wanted {
            WaitFor::Idle => SessionState::Idle,
            WaitFor::Busy => SessionState::Busy,
            WaitFor::Blocked => SessionState::Blocked,
            WaitFor::Exit => return self.state == SessionState::Ended,
            WaitFor::Text => return false,
        };
        self.state == state && self.entered > Some(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn words_become_a_session_and_conditions() {
        for (line, name, texts) in [
            ("proj idle blocked exit", Some("proj"), &["idle", "blocked", "exit"][..]),
            ("idle blocked", None, &["idle", "blocked"]),
            ("proj not busy", Some("proj"), &["not busy"]),
            ("proj quiet=500ms not text=Working", Some("proj"), &["quiet=500ms", "not text=Working"]),
        ] {
            let words = words(line);
            assert!(is_for_several(&words), "{line}");
            let (given, conditions) = read(&words).unwrap();
            assert_eq!(given, name, "{line}");
            assert_eq!(conditions.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), texts, "{line}");
        }
        for line in ["proj idle", "idle", "text=x", "proj text=a", "proj"] {
            assert!(!is_for_several(&words(line)), "{line}");
        }
        for line in ["proj not", "quiet=soon", "proj idle bussy", "proj other idle"] {
            assert!(read(&words(line)).is_err(), "{line}");
        }
    }
}
