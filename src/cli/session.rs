//! Verbs about one live session: detach, restart, stop, status.

use std::io::IsTerminal;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::control::{HostControl, Rule, any, live, paths, unanswered};
use super::error::{Failed, YesNo, ask_yes_no, note, say, say_wrapped, visible};
use super::notice;
use super::prose::fit;
use crate::client::start::Greeting;
use crate::client::{self, AttachEnd, ClientOptions, Hold, Stay};
use crate::core::claude::api_error::api_error_words;
use crate::core::handoff::redact::redact_words;
use crate::core::handover_words::handover_words;
use crate::core::ids::SessionName;
use crate::core::process::Signal;
use crate::core::shell_word::shell_line;
use crate::core::status::{
    ClientStatus, ExitKind, ExitStatus, LimitsStatus, Rfc3339, SessionStatus, WorkStatus,
};
use crate::core::supervisor::Agent;
use crate::core::supervisor::limits::LimitKind;
use crate::core::supervisor::phase::EndCause;
use crate::core::supervisor::state::{SessionState, StateSource};
use crate::core::time::WallTime;
use crate::fs::paths::Paths;
use crate::ipc::answers::{AcceptAnswer, DetachAnswer, RestartAnswer};
use crate::ipc::message::Request;
use crate::sys::clock::{Clock, elapsed, local};

/// How long a host gets to answer a simple question.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// The same for its state, which may be told from the session's file instead.
const STATUS: Duration = Duration::from_millis(900);

/// Sends the clients of a session away; it goes on.
pub(super) fn detach(given: Option<&str>, client: Option<u32>, as_json: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    let name = live(&paths, given, Rule::Any)?;
    let mut control = HostControl::connect(&paths, &name, Some(ANSWER))?;
    let done: DetachAnswer = control.ask(&Request::Detach { client })?;
    if as_json {
        say(format_args!("{}", json!(done)))?;
    } else if done.detached == 0 {
        let missing = client.map_or("no terminal is attached to it".to_owned(), |number| {
            format!("it has no client {number}")
        });
        let hint = format!("`hopty status {name} --json` lists clients");
        return Err(Failed::new(1, missing).about(&name).hint(hint));
    }
    Ok(u8::from(done.detached == 0))
}

/// Sends the clients of every session away.
pub(super) fn detach_all(as_json: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    let (counts, code) = for_each(live_names(&paths)?, "detach", as_json, |name| {
        let mut control = HostControl::connect(&paths, name, Some(ANSWER))?;
        let done: DetachAnswer = control.ask(&Request::Detach { client: None })?;
        Ok(done.detached)
    });
    let detached: usize = counts.iter().sum();
    if as_json {
        say(format_args!("{}", json!({"detached": detached})))?;
    } else if detached == 0 && code == 0 {
        return Err(
            Failed::new(1, "no terminal is attached to any session").hint("`hopty ls` lists sessions")
        );
    }
    Ok(if code == 0 { u8::from(detached == 0) } else { code })
}

/// Ends every session, after a question unless `yes`.
pub(super) fn stop_all(yes: bool, kill: bool, as_json: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    let names = live_names(&paths)?;
    if names.is_empty() {
        return Err(Failed::new(3, "no session is running").hint("`hopty ls --all` includes ended sessions"));
    }
    if !yes {
        if !std::io::stdin().is_terminal() {
            return Err(no_terminal("hopty stop --all --yes"));
        }
        let listed: Vec<&str> = names.iter().map(SessionName::as_str).collect();
        if !ask_yes_no(&format!("End {}?", listed.join(", ")), YesNo::No)? {
            note(format_args!("cancelled"));
            return Ok(1);
        }
    }
    let (_, code) = for_each(names, "stop", as_json, |name| {
        stop_one(&paths, name, kill)?;
        if !as_json {
            say_wrapped(format_args!("stopped {name}"))?;
        }
        Ok(())
    });
    Ok(code)
}

/// Does the same with several sessions, also when it fails with one of them. Returns what came of the others,
/// and the exit code of the last failure or 0.
fn for_each<T>(
    names: Vec<SessionName>,
    verb: &str,
    as_json: bool,
    each: impl Fn(&SessionName) -> Result<T, Failed>,
) -> (Vec<T>, u8) {
    let mut code = 0;
    let done =
        names.iter().filter_map(|name| each(name).map_err(|failed| code = failed.print(verb, as_json)).ok());
    let done = done.collect();
    (done, code)
}

/// The names of the sessions that run.
pub(super) fn live_names(paths: &Paths) -> Result<Vec<SessionName>, Failed> {
    super::control::readable(paths)?;
    let all = crate::fs::session::list(paths).into_iter();
    Ok(all.filter(|(_, alive)| *alive).map(|(name, _)| name).collect())
}

/// Nobody can be asked; this command does not ask.
pub(super) fn no_terminal(command: &str) -> Failed {
    Failed::new(4, "hopty has no terminal to ask").hint(format!("`{command}` does not ask"))
}

/// Attaches this terminal until either side ends it, and returns the program's exit code. `hold`: the
/// terminal is already raw.
pub(super) fn join(
    paths: &Paths,
    name: &SessionName,
    socket: UnixStream,
    greeting: Greeting,
    options: ClientOptions,
    hold: Option<Hold>,
) -> Result<u8, Failed> {
    // A sentence about hopty needs its name once.
    let tell = |text: &str| note(format_args!("hopty: {}", text.strip_prefix("hopty ").unwrap_or(text)));
    let attached = catch_unwind(AssertUnwindSafe(|| client::attach(socket, greeting, options, hold)));
    let Ok(left) = attached else { return Err(failed_client(paths, name)) };
    let Stay { left, notices } = left?;
    // It may have been renamed meanwhile.
    let name = &crate::fs::session::current(paths, name);
    let tell_notices =
        |said: Option<&str>| notices.lines(name.as_str(), said).iter().for_each(|line| tell(&visible(line)));
    match left {
        AttachEnd::Ended(code, message) => {
            tell_notices(message.as_deref());
            let named = message.as_ref().is_some_and(|message| message.contains("--handoff"));
            if let Some(message) = message {
                tell(&visible(&message));
            }
            if !named && let Some(waiting) = notice::at_end(paths, name) {
                tell(&waiting);
            }
            Ok(code)
        }
        AttachEnd::Detached => {
            tell_notices(None);
            tell(&format!("detached; the session keeps running (hopty attach {name})"));
            Ok(0)
        }
        AttachEnd::HungUp => Ok(0),
        AttachEnd::Silent => Err(unanswered(paths, name, &std::io::ErrorKind::TimedOut.into())),
        AttachEnd::Refused(failure) => Err(Failed::from(failure).about(name)),
        AttachEnd::Closed => {
            let host_is_dead = || !crate::fs::session::is_alive(&paths.session(name));
            if !crate::fs::session::remove_stale_socket(paths, name) && !host_is_dead() {
                let hint = format!("the session keeps running: hopty attach {name}");
                return Err(Failed::new(1, "the session's host closed the connection")
                    .about(name)
                    .hint(hint));
            }
            crate::host::start::orphan::end(paths, name, host_is_dead);
            Err(Failed::new(125, "the session's host died, and the program with it")
                .about(name)
                .hint(how_to_go_on(paths, name)))
        }
    }
}

/// The client panicked. The host makes the terminal whole first, so that the words are not on a screen that
/// goes away.
fn failed_client(paths: &Paths, name: &SessionName) -> Failed {
    for _ in 0..50 {
        let status = HostControl::connect(paths, name, Some(ANSWER)).and_then(|mut control| control.status());
        if status.map_or(true, |status| status.clients.is_empty()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let words = crate::tty::raw::last_words().unwrap_or_default();
    Failed::new(125, format!("the client failed: {}", words.split_whitespace().collect::<Vec<_>>().join(" ")))
        .about(name)
        .hint(format!("the session keeps running: hopty attach {name}"))
}

/// After a host's death nothing is lost that is in the transcript; Claude writes one from the first prompt
/// on.
fn how_to_go_on(paths: &Paths, name: &SessionName) -> String {
    let last = crate::fs::session::status(&paths.session(name)).ok().flatten().unwrap_or_default();
    match crate::fs::session::resumable(&last) {
        Some(id) => format!(
            "nothing is lost: `hopty --resume {id}` resumes it; if the terminal looks odd, run `stty sane; \
             reset`"
        ),
        None => "if the terminal looks odd, run `stty sane; reset`".to_owned(),
    }
}

pub(super) fn restart(
    given: Option<&str>,
    now: bool,
    no_handoff: bool,
    wait: bool,
    as_json: bool,
) -> Result<u8, Failed> {
    let paths = paths()?;
    let name = live(&paths, given, Rule::Any)?;
    let mut control = HostControl::connect(&paths, &name, if wait { None } else { Some(ANSWER) })?;
    // For people: to scripts it is neither an answer nor an error, and Claude is not to be led to cut its own
    // turn short.
    let told = !now && !as_json && std::io::stderr().is_terminal();
    let status = if as_json { None } else { Some(control.status()?) };
    let held = status.as_ref().filter(|_| told).and_then(held_up);
    let is_plain = status.is_some_and(|status| status.agent.is(Agent::Plain));
    let accepted: AcceptAnswer = control.ask(&Request::Restart { now, no_handoff, wait })?;
    if as_json {
        say(format_args!("{}", json!(accepted)))?;
    } else {
        let waits = if is_plain { "" } else { ": waiting for a safe point" };
        say_wrapped(format_args!("restart of {name} requested{waits}"))?;
        if let Some(what) = held {
            note(format_args!("hint: {what}; `hopty restart {name} --now` does not wait"));
        }
    }
    if wait {
        let done: RestartAnswer = control.answer()?;
        if as_json {
            say(format_args!("{}", json!(done)))?;
        } else {
            let handed = match done.handoff {
                Some(id) => format!("handed over as {id}"),
                None if is_plain => "restarted".to_owned(),
                None => "started fresh without a handoff".to_owned(),
            };
            let conversation =
                done.conversation.map_or_else(String::new, |id| format!("; conversation {id}"));
            say_wrapped(format_args!("{handed}{conversation}"))?;
        }
    }
    Ok(0)
}

/// Why a restart that was asked for is not there at once, for people.
fn held_up(session: &SessionStatus) -> Option<String> {
    match (session.state.known(), session.blocked_on(local)) {
        _ if session.agent.is(Agent::Plain) => None,
        (Some(SessionState::Blocked), Some(what)) => Some(format!("it is blocked on {}", visible(&what))),
        (Some(SessionState::Busy), _) => Some("it is busy".to_owned()),
        _ => None,
    }
}

pub(super) fn stop(given: Option<&str>, kill: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    let name = live(&paths, given, Rule::Careful)?;
    stop_one(&paths, &name, kill)?;
    Ok(0)
}

fn stop_one(paths: &Paths, name: &SessionName, kill: bool) -> Result<(), Failed> {
    let mut control = HostControl::connect(paths, name, None)?;
    control.ask::<AcceptAnswer>(&Request::Stop { kill })?;
    control.wait_for_end();
    // A host of an older version gives its name back a moment later.
    super::wait::is_gone(paths, name);
    Ok(())
}

pub(super) fn status(given: Option<&str>, as_json: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    let name = any(&paths, given)?;
    let status = status_of(&paths, &name)?;
    if as_json {
        say(format_args!("{}", status.json()))?;
        return Ok(0);
    }
    print(&status)?;
    Ok(0)
}

/// Asks for a hand-over at the next safe point.
pub(super) fn request_restart(paths: &Paths, name: &SessionName) -> Result<(), Failed> {
    let mut control = HostControl::connect(paths, name, Some(ANSWER))?;
    let request = Request::Restart { now: false, no_handoff: false, wait: false };
    control.ask::<AcceptAnswer>(&request).map(drop)
}

/// A session in full, for people.
fn print(session: &SessionStatus) -> std::io::Result<()> {
    let line = |label: &str, what: &str| say(format_args!("{}", fit(&format!("  {label:<12}  {what}"), 16)));
    let command = visible(&shell_line(&session.command));
    let state = visible(&session.state_word());
    say(format_args!("{}  {state}  {}", visible(&session.name), visible(&session.dir)))?;
    let restarts =
        if session.restarts == 1 { "1 restart".to_owned() } else { format!("{} restarts", session.restarts) };
    line("command", &format!("{command} (run {}, {restarts})", session.run))?;
    let on = session.waits_for(local).map_or_else(String::new, |what| format!(" on {}", visible(&what)));
    let from = match session.state_from.known() {
        Some(StateSource::Hook) => " (source: a hook)",
        Some(StateSource::SessionsFile) => " (source: Claude's sessions file)",
        Some(StateSource::Title) => " (source: the window title)",
        Some(StateSource::Screen) => " (source: the screen)",
        Some(StateSource::None) | None => "",
    };
    let since = session.state_since.map_or_else(|| "?".to_owned(), |at| when(at.0));
    line("state", &format!("{state}{on} since {since}{from}"))?;
    if let (Some(on), Some(subject)) = (&session.waiting_for, &session.waiting_subject) {
        // A dialog that hopty has no rule for has no name either.
        let label = if on == "unknown" { "dialog".to_owned() } else { visible(on).replace('_', " ") };
        line(&label, &visible(subject))?;
    }
    if let Some(error) = &session.turn_error {
        line("api error", &format!("ended the last turn: {}", visible(&api_error_words(error))))?;
    }
    if let Some(how) = &session.exit {
        line("exit", &exit(how))?;
    }
    if let Some(recording) = &session.recording {
        let input = if recording.input { ", with what is typed" } else { "" };
        line("recording", &format!("{}{input}", visible(&recording.file)))?;
    }
    if let Some(draft) = &session.draft {
        line("draft", &visible(draft))?;
    }
    work(&session.work, &line)?;
    if let Some(conversation) = &session.conversation {
        line("conversation", conversation.as_str())?;
        if let Some(id) = crate::fs::session::resumable(session).filter(|_| session.is(SessionState::Ended)) {
            line("to resume", &format!("hopty --resume {id}"))?;
        }
        line("context", &super::context::line(&session.context))?;
        line(
            "",
            "share of the whole window; Claude's screen counts up to where it compacts (`hopty context \
             --explain`)",
        )?;
    }
    if let Some(next) = &session.next_handover {
        line("hand-over", &visible(&handover_words(next, Clock::wall())))?;
    }
    if let Some(limits) = limits(&session.limits) {
        line("limits", &limits)?;
    }
    if let Some(handoff) = &session.handoff {
        line("handoff", &format!("{} ({})", handoff.id, visible(&handoff.status.to_string())))?;
    }
    let clients: Vec<String> = session.clients.iter().map(client).collect();
    if !clients.is_empty() {
        line("clients", &clients.join(", "))?;
    }
    line("phase", &visible(&session.phase))?;
    line("why", &visible(&session.why))
}

/// What the conversation is about.
fn work(work: &WorkStatus, line: &dyn Fn(&str, &str) -> std::io::Result<()>) -> std::io::Result<()> {
    let texts = [("title", &work.title), ("prompt", &work.prompt)];
    for (label, text) in texts {
        if let Some(text) = text {
            line(label, &visible(text))?;
        }
    }
    if work.tasks > 0 {
        let at = work.task.as_ref().map_or_else(String::new, |task| format!("; now: {}", visible(task)));
        line("tasks", &format!("{} of {} done{at}", work.tasks_done, work.tasks))?;
    }
    if let Some(model) = &work.model {
        let cost = work.cost_usd.map_or_else(String::new, |usd| format!(", ${usd:.2} so far"));
        line("model", &format!("{}{cost}", visible(model)))?;
    }
    Ok(())
}

/// How it ended.
fn exit(exit: &ExitStatus) -> String {
    let cause = visible(&exit.cause.to_string()).replace('_', " ");
    let by = exit.signal.map_or_else(String::new, |number| format!(" by {}", Signal(number).name()));
    match exit.code {
        Some(code) => format!("code {code} ({cause}{by})"),
        None => format!("unknown code ({cause}{by})"),
    }
}

/// An attached terminal in a few words.
fn client(client: &ClientStatus) -> String {
    let role = match (client.leader, client.read_only) {
        (true, _) => ", leader",
        (_, true) => ", read-only",
        _ => "",
    };
    let tty = client.tty.as_ref().map_or_else(|| "?".to_owned(), |tty| visible(tty));
    format!("{} ({tty}, {}x{}{role})", client.id, client.cols, client.rows)
}

/// A moment in the person's own time zone, and how long ago that was.
fn when(at: WallTime) -> String {
    format!("{} ({} ago)", local(at), elapsed(at))
}

/// The usage limits, where Claude has told of any: how much of each is used up, and which one is waited for.
fn limits(of: &LimitsStatus) -> Option<String> {
    let at = |resets: Option<Rfc3339>| resets.map_or_else(|| "?".to_owned(), |at| local(at.0));
    let reached = of.reached.as_ref().map(|limit| {
        let kind = limit.kind.known().unwrap_or(LimitKind::Other).words();
        format!("{kind} reached until {}", at(limit.resets_at))
    });
    let used = [(&of.five_hour, "5 hours"), (&of.seven_day, "7 days")];
    let used = used.into_iter().filter_map(|(limit, words)| {
        let limit = limit.as_ref()?;
        Some(format!("{words} {} % (resets {})", limit.percent, at(limit.resets_at)))
    });
    let all: Vec<String> = reached.into_iter().chain(used).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The status of a session: from its host, or of an ended one from its file.
pub(super) fn status_of(paths: &Paths, name: &SessionName) -> Result<SessionStatus, Failed> {
    if crate::fs::session::is_alive(&paths.session(name)) {
        let answer = HostControl::connect(paths, name, Some(STATUS)).and_then(|mut control| control.status());
        return answer.or_else(|failed| unresponsive(paths, name).ok_or(failed));
    }
    let unknown = |cause: &str, hint: String| {
        Failed::new(3, format!("hopty knows nothing about this session{cause}")).about(name).hint(hint)
    };
    ended(paths, name).ok_or_else(|| match crate::fs::session::status(&paths.session(name)) {
        Err(error) => unknown(&format!(": {error}"), error.hint()),
        Ok(_) => unknown("", "`hopty ls --all` includes ended sessions".to_owned()),
    })
}

/// What a session's host wrote last. A host of an older version wrote the command line with the secrets in
/// it.
fn last_written(paths: &Paths, name: &SessionName) -> Option<SessionStatus> {
    let mut last = crate::fs::session::status(&paths.session(name)).ok().flatten()?;
    last.command = redact_words(&last.command);
    Some(last)
}

/// How long a host may take to end that has closed its socket already, and how often that is looked at.
const LAST_MOMENT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(5));

/// The last known state of a session whose host lives and does not answer, or is just ending.
pub(super) fn unresponsive(paths: &Paths, name: &SessionName) -> Option<SessionStatus> {
    let until = Instant::now() + LAST_MOMENT.0;
    while crate::fs::session::is_alive(&paths.session(name)) && Instant::now() < until {
        thread::sleep(LAST_MOMENT.1);
    }
    if !crate::fs::session::is_alive(&paths.session(name)) {
        return ended(paths, name);
    }
    let last = last_written(paths, name)?;
    Some(SessionStatus {
        state: SessionState::Unresponsive.into(),
        state_from: StateSource::None.into(),
        ..last
    })
}

/// The last state of a session whose host is gone.
pub(super) fn ended(paths: &Paths, name: &SessionName) -> Option<SessionStatus> {
    let mut last = last_written(paths, name)?;
    last.state = SessionState::Ended.into();
    (last.waiting_for, last.waiting_subject) = (None, None);
    last.clients.clear();
    // When a host died without a word is not known; one of an older version said it by its last state alone.
    last.ended_at = last.ended_at.or(last.state_since.filter(|_| last.exit.is_some()));
    if last.exit.is_none() {
        last.exit = Some(ExitStatus {
            kind: ExitKind::Lost.into(),
            cause: EndCause::HostLost.into(),
            ..ExitStatus::default()
        });
        "closed".clone_into(&mut last.phase);
        let on = crate::fs::session::resumable(&last)
            .map(|id| format!("; nothing is lost: `hopty --resume {id}` resumes it"))
            .unwrap_or_default();
        last.why = format!("The host was killed, and the program with it{on}.");
    }
    Some(last)
}
