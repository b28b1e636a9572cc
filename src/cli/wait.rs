//! `hopty wait`: until a session is idle, busy or blocked, until it has ended, until a text stands on its
//! screen or nothing moves on it; for one of several conditions, also for one that must not hold.
//!
//! Nothing is polled: the host answers when the state or the screen is another than what was seen last
//! (`watch`), and the time until a screen is quiet is waited for. Only processes that still work when nothing
//! moves any more (`--settle`) have to be looked at again and again.
//!
//! A text is looked for here and not in the host, which sends its rows whenever they have changed: so the
//! host carries no search engine, and a pattern that takes long takes the time of who asked.

use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::control::ANSWER;
use super::control::{HostControl, Rule, any, live, paths, stopped_host};
use super::error::{VerbError, note, say, visible};
use super::poll_until::becomes_true;
use super::screen_rows::ScreenRows;
use super::settle_wait::SettleWatch;
use super::status::status_of;
use super::wait_conditions::{self, Condition, Wanted};
use crate::core::config::DurationMs;
use crate::core::ids::SessionName;
use crate::core::screen_mark::{BadScreenMark, ScreenMark};
use crate::core::status_types::SessionStatus;
use crate::core::supervisor::state::SessionState;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::answers::WatchAnswer;
use crate::ipc::message::{Code, Request, RequestError, WaitFor, Watch};
use crate::sys::clock::local;

/// How long a host that has ended may take to leave.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long a host may take to accept a client that waits less than [`ANSWER`].
const LET_IN: Duration = Duration::from_millis(900);
/// How long after the limit its word that the limit has passed may take. It keeps the time; one that is
/// stopped keeps none.
const WORD: Duration = Duration::from_millis(900);
/// How long a session that is named may take to appear.
const STARTING: Duration = Duration::from_secs(2);
/// How often it is looked for meanwhile.
const START_POLL: Duration = Duration::from_millis(5);
/// How often a session is looked at that is idle only for a moment of its hand-over.
const HANDOVER_LOOK: Duration = Duration::from_millis(20);
/// How long a host whose connections broke may take to be gone.
const DYING: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(super) struct WaitOptions {
    /// The session, if more than one is running, and the conditions
    #[arg(num_args = 0.., value_name = "NAME, CONDITION")]
    pub words: Vec<String>,
    /// How long to wait, such as 500ms, 30s or 2m
    #[arg(long, default_value = "30s", value_name = "TIME")]
    pub timeout: DurationMs,
    /// Only accept what came after this mark of `send --mark`: a state entered, or a text drawn, since
    /// then
    ///
    /// For a state, a journal line works, too: `seq` in the output of `send --submit --json`.
    #[arg(long, value_name = "MARK")]
    pub since: Option<WaitSince>,
    /// Also wait until the screen has not changed for TIME and no process of the session is busy
    #[arg(long, value_name = "TIME")]
    pub settle: Option<DurationMs>,
    /// Wait until text=REGEX has gone from the screen
    #[arg(long)]
    pub gone: bool,
    /// Print the session as JSON when the condition is met
    #[arg(long)]
    pub json: bool,
}

/// Waits until one of the conditions holds, and prints which where there are several.
pub(super) fn wait(options: &WaitOptions) -> Result<u8, VerbError> {
    let (given, mut conditions) = wait_conditions::read(&options.words)?;
    if options.gone {
        wait_conditions::turn_round(&mut conditions)?;
    }
    let has_text = conditions.iter().any(|one| matches!(one.wanted, Wanted::Text(_)));
    let mark = if has_text { mark_of(options.since)? } else { None };
    let paths = paths()?;
    let limit = Duration::from_millis(options.timeout.ms());
    let until = Instant::now().checked_add(limit);
    let at_end = conditions.iter().find(|one| one.is_met_by_end());
    let (name, control) = match connect(&paths, given, limit, at_end.is_some())? {
        (name, Some(control)) => (name, control),
        (name, None) => {
            let condition = at_end.unwrap_or(&conditions[0]);
            return met_by(condition, &conditions, &paths, &name, options.json);
        }
    };
    let uses_screen = |one: &Condition| matches!(one.wanted, Wanted::Text(_) | Wanted::Quiet(_));
    let uses_state = |one: &Condition| matches!(one.wanted, Wanted::State(state) if state != WaitFor::Exit);
    let mut view = SessionView {
        control,
        uses_state: conditions.iter().any(uses_state),
        uses_screen: conditions.iter().any(uses_screen) || options.settle.is_some(),
        state: SessionState::Unknown,
        entered: None,
        rows: ScreenRows::default(),
        changed: Instant::now(),
        since: line_of(options.since),
        mark,
        settle: None,
    };
    if let Some(quiet) = options.settle {
        let pid = view.control.status()?.pid;
        view.settle = Some(SettleWatch::new(Duration::from_millis(quiet.ms()), pid));
    }
    let mut pause = Duration::ZERO;
    let mut was_there = false;
    let met = loop {
        let met = match view.look(&name, pause) {
            Ok(()) => conditions.iter().find(|one| view.holds(one)),
            // Only its end ends the conversation with its host.
            Err(failed) => match conditions.iter().find(|one| one.is_met_by_end()) {
                Some(condition) if is_gone(&paths, &name) => break condition,
                _ => return Err(failed),
            },
        };
        was_there |= met.is_none();
        let mut is_handed_over = false;
        if let Some(condition) = met
            && view.is_settled(&name)?
            && view.holds(condition)
        {
            is_handed_over = condition.is_idle() && view.control.status()?.is_handed_over();
            if !is_handed_over {
                break condition;
            }
        }
        let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            let session = status_of(&paths, &name)?;
            return Err(timed_out(&name, &session, &conditions, options.timeout, met.is_some()));
        }
        let calm = if is_handed_over { HANDOVER_LOOK } else { view.pause(&conditions, met.is_some()) };
        pause = left.min(calm);
    };
    if options.gone && !was_there && matches!(met.wanted, Wanted::Text(_)) {
        note(format_args!("hopty: {} was not there, so it cannot go", visible(&met.text)));
    }
    if matches!(met.wanted, Wanted::State(WaitFor::Exit)) && !met.negated {
        // So that its name is free when this ends.
        view.control.limit(FAREWELL);
        view.control.wait_for_end();
    }
    met_by(met, &conditions, &paths, &name, options.json)
}

/// `moves`: a condition is met, but something on the screen still changes.
fn timed_out(
    name: &SessionName,
    session: &SessionStatus,
    conditions: &[Condition],
    limit: DurationMs,
    moves: bool,
) -> VerbError {
    let wanted: Vec<&str> = conditions.iter().map(|one| one.text.as_str()).collect();
    let state = match session.state_word().as_str() {
        "unknown" => "the state of the session is not known".to_owned(),
        word => format!("the session is {word}"),
    };
    let on = session.blocked_on(local).map(|what| format!(" on {}", visible(&what))).unwrap_or_default();
    let moves = if moves { " and has not settled" } else { "" };
    let message = format!("{}: timed out after {limit}, {state}{on}{moves}", wanted.join(", "));
    let hint = if session.waits_in_a_dialog() {
        format!("`hopty attach {name}` answers it; `--timeout` waits longer")
    } else {
        "use `--timeout` to wait longer".to_owned()
    };
    VerbError::from(RequestError::new(Code::Busy, message, hint)).about(name)
}

/// The session and its host, or no host where the session is over. One that is named may be just starting:
/// its host takes the name before it listens, and a session that has ended may have had the name.
fn connect(
    paths: &Paths,
    given: Option<&str>,
    limit: Duration,
    may_be_over: bool,
) -> Result<(SessionName, Option<HostControl>), VerbError> {
    let begun = Instant::now();
    let may_start = || given.is_some() && !may_be_over && begun.elapsed() < limit.min(STARTING);
    loop {
        let found = if may_be_over { any(paths, given) } else { live(paths, given, Rule::Any) };
        let name = match found {
            Err(failed) if failed.finds_none() && may_start() => {
                std::thread::sleep(START_POLL);
                continue;
            }
            found => found?,
        };
        if may_be_over && !session::is_alive(&paths.session(&name)) {
            return Ok((name, None));
        }
        match HostControl::connect(paths, &name, Some(limit.clamp(LET_IN, ANSWER))) {
            Ok(control) => return Ok((name, Some(control))),
            // It ended meanwhile.
            Err(_) if may_be_over && is_gone(paths, &name) => return Ok((name, None)),
            Err(_) if may_start() => std::thread::sleep(START_POLL),
            Err(failed) => return Err(failed),
        }
    }
}

fn met_by(
    met: &Condition,
    all: &[Condition],
    paths: &Paths,
    name: &SessionName,
    as_json: bool,
) -> Result<u8, VerbError> {
    if as_json {
        let mut object = status_of(paths, name)?.json();
        object["met"] = json!(met.text);
        say(format_args!("{object}"))?;
    } else if all.len() > 1 {
        say(format_args!("{}", met.text))?;
    }
    Ok(0)
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
    fn look(&mut self, name: &SessionName, pause: Duration) -> Result<(), VerbError> {
        let request = Request::Watch(Watch {
            state: self.uses_state,
            entered: self.entered,
            screen: self.uses_screen,
            after: self.rows.revision,
            mark: self.mark,
            // Not a moment too early.
            timeout_ms: u64::try_from(pause.as_micros().div_ceil(1000)).unwrap_or(u64::MAX),
        });
        self.control.limit(pause.saturating_add(WORD));
        let answer: WatchAnswer = self.control.ask(&request)?;
        if answer.entered.is_some() {
            self.entered = answer.entered;
            self.state = answer.state.and_then(|state| state.known()).unwrap_or(SessionState::Unknown);
        }
        if let Some(rows) = ScreenRows::read(&answer.screen, name, self.mark)? {
            // The cursor of a prompt may blink, and a revision may change without it.
            if self.rows.revision.is_some() && !(self.settle.is_some() && rows.is_same_as(&self.rows)) {
                self.changed = Instant::now();
            }
            self.rows = rows;
        }
        Ok(())
    }

    /// Whether nothing moves any more, where that is wanted.
    fn is_settled(&mut self, name: &SessionName) -> Result<bool, VerbError> {
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
            // It may begin with a prompt.
            Wanted::State(WaitFor::Busy) if condition.negated && self.state == SessionState::Starting => {
                return false;
            }
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

/// After what something must have come: a mark of `hopty send --mark`, or a line of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitSince {
    /// A line of the journal.
    Line(u64),
    Mark(ScreenMark),
}

impl FromStr for WaitSince {
    type Err = BadScreenMark;

    fn from_str(text: &str) -> Result<Self, BadScreenMark> {
        text.parse().map(WaitSince::Line).or_else(|_| text.parse().map(WaitSince::Mark))
    }
}

/// The line of the journal after which a state must have begun.
fn line_of(since: Option<WaitSince>) -> u64 {
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
fn mark_of(since: Option<WaitSince>) -> Result<Option<ScreenMark>, VerbError> {
    match since {
        None | Some(WaitSince::Line(0)) => Ok(None),
        Some(WaitSince::Mark(mark)) => Ok(Some(mark)),
        Some(WaitSince::Line(line)) => {
            Err(VerbError::new(2, "a line of the journal does not say when a text was drawn")
                .about(format_args!("--since {line}"))
                .hint("use a mark: `hopty send NAME TEXT --mark` prints one"))
        }
    }
}

/// Whether the session is over. A host that was killed loses its connections before it loses its name.
pub(super) fn is_gone(paths: &Paths, name: &SessionName) -> bool {
    let mut is_gone = false;
    becomes_true(Instant::now() + DYING, Duration::from_millis(5), || {
        is_gone = !session::is_alive(&paths.session(name));
        // One that is stopped is not about to go.
        is_gone || stopped_host(paths, name).is_some()
    });
    is_gone
}
