//! `hopty wait`: waits for one of several conditions about a session's state or its screen.
//!
//! hopty does not poll: the host answers (`watch`) when the state or the screen differs from the last answer,
//! and hopty sleeps until a screen can be quiet. Only processes that still work on a quiet screen
//! (`--settle`) are polled.
//!
//! Patterns are matched here and not in the host, which sends its rows whenever they change: the host needs
//! no regex engine, and a slow pattern costs only its own `hopty wait`.

use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::control::ANSWER;
use super::control::{HostControl, Rule, any_session, live_session, paths};
use super::error::{VerbError, note, say, visible};
use super::exit_codes::USAGE;
use super::poll_until::becomes_true;
use super::screen_rows::ScreenRows;
use super::settle_wait::SettleWatch;
use super::status::status_of;
use super::wait_conditions::{self, Condition, Wanted};
use crate::core::config::DurationMs;
use crate::core::ids::SessionName;
use crate::core::screen_mark::{BadScreenMark, ScreenMark};
use crate::core::status_types::SessionStatus;
use crate::core::supervisor::reported_state::SessionState;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::ipc::answers::WatchAnswer;
use crate::ipc::message::{Code, Request, RequestError, WaitFor, Watch};
use crate::sys::clock::local;

/// How long a host that is ending may take to close its connections.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);
/// How long a host may take to accept a client that waits less than [`ANSWER`].
const ACCEPT_LIMIT: Duration = Duration::from_millis(900);
/// How long the host's answer may arrive after its own limit. A stopped host keeps no limit.
const WORD: Duration = Duration::from_millis(900);
/// How long a named session may take to appear.
const STARTING: Duration = Duration::from_secs(2);
/// How often hopty checks for it.
const START_POLL: Duration = Duration::from_millis(5);
/// How often hopty checks a session that is idle only for a moment of its hand-over.
const HANDOVER_LOOK: Duration = Duration::from_millis(20);
/// How long a host whose connections broke may take to end.
const END_LIMIT: Duration = Duration::from_millis(500);

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

/// Waits until one of the conditions holds, and prints which if there are several.
pub(super) fn wait(options: &WaitOptions) -> Result<u8, VerbError> {
    let (given, mut conditions) = wait_conditions::read(&options.words)?;
    if options.gone {
        wait_conditions::invert_texts(&mut conditions)?;
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
    let mut view = SessionView::new(control, &conditions, options, mark)?;
    let WaitResult { met, was_unmet, is_moving } = view.wait(&paths, &name, &conditions, until)?;
    let Some(met) = met else {
        let session = status_of(&paths, &name)?;
        return Err(timed_out(&name, &session, &conditions, options.timeout, is_moving));
    };
    if options.gone && !was_unmet && matches!(met.wanted, Wanted::Text(_)) {
        let text = met.text.strip_prefix("not ").unwrap_or(&met.text);
        note(format_args!("hopty: {} was not there, so it cannot go", visible(text)));
    }
    if matches!(met.wanted, Wanted::State(WaitFor::Exit)) && !met.negated {
        // So that the session's name is free when this process ends.
        view.control.limit(CLOSE_LIMIT);
        view.control.wait_for_end();
    }
    met_by(met, &conditions, &paths, &name, options.json)
}

/// How a wait ended.
struct WaitResult<'a> {
    /// The condition that holds; `None` when the time is over.
    met: Option<&'a Condition>,
    /// Whether no condition held at some look: a text that is to go was there.
    was_unmet: bool,
    /// A condition held at the last look, but something on the screen still changed.
    is_moving: bool,
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
    let hint = match session.unblock_hint() {
        Some(hint) => format!("{hint}; `--timeout` waits longer"),
        None => "use `--timeout` to wait longer".to_owned(),
    };
    VerbError::from(RequestError::new(Code::Busy, message, hint)).about(name)
}

/// Connects to the session, or returns no host if it has ended. A named session may be just starting: its
/// host takes the name before it listens, and an ended session may have had the name.
fn connect(
    paths: &Paths,
    given: Option<&str>,
    limit: Duration,
    may_be_over: bool,
) -> Result<(SessionName, Option<HostControl>), VerbError> {
    let begun = Instant::now();
    let may_start = || given.is_some() && !may_be_over && begun.elapsed() < limit.min(STARTING);
    loop {
        let found =
            if may_be_over { any_session(paths, given) } else { live_session(paths, given, Rule::Any) };
        let name = match found {
            Err(failed) if failed.is_not_found() && may_start() => {
                std::thread::sleep(START_POLL);
                continue;
            }
            found => found?,
        };
        if may_be_over && !session::is_alive(&paths.session(&name)) {
            return Ok((name, None));
        }
        match HostControl::connect(paths, &name, Some(limit.clamp(ACCEPT_LIMIT, ANSWER))) {
            Ok(control) => return Ok((name, Some(control))),
            // It has just ended.
            Err(_) if may_be_over && has_ended(paths, &name) => return Ok((name, None)),
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

/// The session as seen by a wait.
struct SessionView {
    control: HostControl,
    /// Whether a condition is about Claude's state.
    uses_state: bool,
    uses_screen: bool,
    state: SessionState,
    /// The line of the journal at which the state began.
    entered: Option<u64>,
    rows: ScreenRows,
    changed: Instant,
    since: u64,
    mark: Option<ScreenMark>,
    settle: Option<SettleWatch>,
}

impl SessionView {
    fn new(
        mut control: HostControl,
        conditions: &[Condition],
        options: &WaitOptions,
        mark: Option<ScreenMark>,
    ) -> Result<Self, VerbError> {
        let uses_screen = |one: &Condition| matches!(one.wanted, Wanted::Text(_) | Wanted::Quiet(_));
        let uses_state =
            |one: &Condition| matches!(one.wanted, Wanted::State(state) if state != WaitFor::Exit);
        let settle = match options.settle {
            Some(quiet) => {
                let pid = control.status()?.pid;
                Some(SettleWatch::new(Duration::from_millis(quiet.ms()), pid))
            }
            None => None,
        };
        Ok(SessionView {
            control,
            uses_state: conditions.iter().any(uses_state),
            uses_screen: conditions.iter().any(uses_screen) || options.settle.is_some(),
            state: SessionState::Unknown,
            entered: None,
            rows: ScreenRows::default(),
            changed: Instant::now(),
            since: line_of(options.since),
            mark,
            settle,
        })
    }

    /// Waits until a condition holds on a settled screen, or until `until`.
    fn wait<'a>(
        &mut self,
        paths: &Paths,
        name: &SessionName,
        conditions: &'a [Condition],
        until: Option<Instant>,
    ) -> Result<WaitResult<'a>, VerbError> {
        let mut pause = Duration::ZERO;
        let mut was_unmet = false;
        loop {
            let met = match self.look(name, pause) {
                Ok(()) => conditions.iter().find(|one| self.holds(one)),
                // Only the end of the session closes the connection to its host.
                Err(failed) => match conditions.iter().find(|one| one.is_met_by_end()) {
                    Some(condition) if has_ended(paths, name) => {
                        return Ok(WaitResult { met: Some(condition), was_unmet, is_moving: false });
                    }
                    _ => return Err(failed),
                },
            };
            was_unmet |= met.is_none();
            let mut is_momentary = false;
            if let Some(condition) = met
                && self.is_settled(name)?
                && self.holds(condition)
            {
                is_momentary = condition.is_idle() && self.is_idle_for_a_moment()?;
                if !is_momentary {
                    return Ok(WaitResult { met: Some(condition), was_unmet, is_moving: false });
                }
            }
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(WaitResult { met: None, was_unmet, is_moving: met.is_some() });
            }
            let calm = if is_momentary { HANDOVER_LOOK } else { self.pause(conditions, met.is_some()) };
            pause = left.min(calm);
        }
    }

    /// Whether Claude, which was idle at the last look, is idle because of a hand-over, or works again: the
    /// hand-over may have ended since that look.
    fn is_idle_for_a_moment(&mut self) -> Result<bool, VerbError> {
        let now = self.control.status()?;
        Ok(now.is_handed_over() || !now.is(SessionState::Idle))
    }

    /// Waits for a change, `pause` at most; the first call returns at once.
    fn look(&mut self, name: &SessionName, pause: Duration) -> Result<(), VerbError> {
        let request = Request::Watch(Watch {
            state: self.uses_state,
            entered: self.entered,
            screen: self.uses_screen,
            after: self.rows.revision,
            mark: self.mark,
            // Rounded up, so that the host never answers too early.
            timeout_ms: u64::try_from(pause.as_micros().div_ceil(1000)).unwrap_or(u64::MAX),
        });
        self.control.limit(pause.saturating_add(WORD));
        let answer: WatchAnswer = self.control.ask(&request)?;
        if answer.entered.is_some() {
            self.entered = answer.entered;
            self.state = answer.state.and_then(|state| state.known()).unwrap_or(SessionState::Unknown);
        }
        if let Some(rows) = ScreenRows::read(&answer.screen, name, self.mark)? {
            // The cursor of a prompt may blink: the revision changes, and the rows do not.
            if self.rows.revision.is_some() && !(self.settle.is_some() && rows.is_same_as(&self.rows)) {
                self.changed = Instant::now();
            }
            self.rows = rows;
        }
        Ok(())
    }

    /// Whether the session has settled; `true` without `--settle`.
    fn is_settled(&mut self, name: &SessionName) -> Result<bool, VerbError> {
        let changed = self.changed;
        let Some(settle) = &mut self.settle else { return Ok(true) };
        if !settle.is_settled(changed) {
            return Ok(false);
        }
        self.look(name, Duration::ZERO)?;
        Ok(self.changed == changed)
    }

    /// How long a condition can become true only by a change. `is_met`: one holds, and the session has not
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
            // The session may begin with a prompt.
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

/// `--since`: a mark of `hopty send --mark`, or a line of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitSince {
    Line(u64),
    Mark(ScreenMark),
}

impl FromStr for WaitSince {
    type Err = BadScreenMark;

    fn from_str(text: &str) -> Result<Self, BadScreenMark> {
        text.parse().map(WaitSince::Line).or_else(|_| text.parse().map(WaitSince::Mark))
    }
}

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
            Err(VerbError::new(USAGE, "a line of the journal does not say when a text was drawn")
                .about(format_args!("--since {line}"))
                .hint("use a mark: `hopty send NAME TEXT --mark` prints one"))
        }
    }
}

/// Whether the session has ended. A killed host loses its connections before its name.
pub(super) fn has_ended(paths: &Paths, name: &SessionName) -> bool {
    let mut has_ended = false;
    becomes_true(Instant::now() + END_LIMIT, Duration::from_millis(5), || {
        has_ended = !session::is_alive(&paths.session(name));
        // A stopped host does not end soon.
        has_ended || session::stopped_host(&paths.session(name)).is_some()
    });
    has_ended
}
