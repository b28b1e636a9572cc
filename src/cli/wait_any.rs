//! `hopty wait` for one of several conditions, for a condition that does not hold, and for a screen that is
//! quiet. A single condition that holds is `wait`'s own matter.

use std::time::{Duration, Instant};

use regex_lite::Regex;
use serde_json::json;

use super::control::{HostControl, Rule, any, live, paths};
use super::error::{Failed, say};
use super::screen_rows::ScreenRows;
use super::session::{ANSWER, status_of};
use super::settle_wait::SettleWatch;
use super::wait::{KNOWN, WaitOptions, condition_of, line_of, mark_of};
use crate::core::config::DurationMs;
use crate::core::ids::SessionName;
use crate::core::screen_mark::ScreenMark;
use crate::core::status::SessionStatus;
use crate::core::supervisor::state::SessionState;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::message::{Code, Failure, WaitFor};

/// How long the host waits for a change of the screen before the conditions are looked at again.
const SLICE: Duration = Duration::from_millis(100);
/// The word before a condition that must not hold.
const NOT: &str = "not";

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
    let mut look = Look {
        control,
        rows: ScreenRows::default(),
        changed: Instant::now(),
        since: line_of(wish.since),
        mark,
        settle: None,
        is_unsettled: false,
    };
    if let Some(quiet) = wish.settle {
        let pid = look.control.status()?.pid;
        look.settle = Some(SettleWatch::new(Duration::from_millis(quiet.ms()), pid));
    }
    let met = loop {
        let found = match look.screen(&name) {
            Ok(_) => conditions.iter().map(|one| look.holds(one)).collect::<Result<Vec<bool>, Failed>>(),
            Err(failed) => Err(failed),
        };
        match found {
            Ok(found) => {
                let met = found.iter().zip(&conditions).find(|(holds, _)| **holds);
                if let Some((_, condition)) = met
                    && look.is_settled(&name)?
                {
                    break condition;
                }
            }
            // Only its end ends the conversation with its host.
            Err(failed) => match conditions.iter().find(|one| one.is_met_by_end()) {
                Some(condition) if super::wait::is_gone(&paths, &name) => break condition,
                _ => return Err(failed),
            },
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            let state = status_of(&paths, &name)?.state;
            let wanted: Vec<&str> = conditions.iter().map(|one| one.text.as_str()).collect();
            let moves = if look.is_unsettled { " and has not settled" } else { "" };
            let message = format!(
                "{}: timed out after {}, the session is {state}{moves}",
                wanted.join(", "),
                wish.timeout
            );
            let failure = Failure::new(Code::Busy, message, "use `--timeout` to wait longer");
            return Err(Failed::from(failure).about(&name));
        }
    };
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
        return Err(Failed::new(2, "--gone is for a text").hint("use `hopty wait NAME text=REGEX --gone`"));
    }
    Ok(())
}

/// What is known of the session.
struct Look {
    control: HostControl,
    rows: ScreenRows,
    /// When the screen changed last.
    changed: Instant,
    since: u64,
    mark: Option<ScreenMark>,
    settle: Option<SettleWatch>,
    /// A condition held when the session was last looked at, and it had not settled.
    is_unsettled: bool,
}

impl Look {
    /// Waits for a change of the screen, a moment at most. Returns whether there was one.
    fn screen(&mut self, name: &SessionName) -> Result<bool, Failed> {
        let slice = self.settle.as_ref().map_or(SLICE, SettleWatch::slice);
        let slice = u64::try_from(slice.as_millis()).unwrap_or(u64::MAX);
        self.control.limit(ANSWER);
        let answer = self.control.ask(ScreenRows::request(self.rows.revision, self.mark, slice))?;
        let Some(rows) = ScreenRows::read(&answer, name, self.mark)? else { return Ok(false) };
        // The cursor of a prompt may blink, and a revision may change without it.
        if self.rows.revision.is_some() && !(self.settle.is_some() && rows.is_same_as(&self.rows)) {
            self.changed = Instant::now();
        }
        self.rows = rows;
        Ok(true)
    }

    /// Whether nothing moves any more, where that is wanted.
    fn is_settled(&mut self, name: &SessionName) -> Result<bool, Failed> {
        let Some(settle) = &mut self.settle else { return Ok(true) };
        let settled = settle.is_settled(self.changed) && !self.screen(name)?;
        self.is_unsettled = !settled;
        Ok(settled)
    }

    fn holds(&mut self, condition: &Condition) -> Result<bool, Failed> {
        let holds = match &condition.wanted {
            Wanted::Quiet(time) => self.changed.elapsed() >= *time,
            Wanted::Text(pattern) if condition.negated => self.rows.has_anywhere(pattern),
            Wanted::Text(pattern) => self.rows.has(pattern),
            Wanted::State(state) => self.is(*state)?,
        };
        Ok(holds != condition.negated)
    }

    fn is(&mut self, state: WaitFor) -> Result<bool, Failed> {
        self.control.limit(ANSWER);
        let request = json!({"do": "wait", "for": state, "since": self.since, "timeout_ms": 0});
        let answer = self.control.ask(request)?;
        let session = SessionStatus::from_json(answer["session"].clone()).unwrap_or_default();
        let over = state == WaitFor::Exit && session.is(SessionState::Ended);
        Ok(answer["met"] == true || over)
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
