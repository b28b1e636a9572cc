//! `hopty status`: the state of a session from its host, or the last one that its host wrote.

use std::thread;
use std::time::{Duration, Instant};

use super::control::{HostControl, any_session, paths};
use super::error::{VerbError, say, visible};
use super::exit_codes::NOT_FOUND;
use super::prose::fit;
use crate::core::claude::api_error::api_error_words;
use crate::core::handover_words::handover_words;
use crate::core::ids::SessionName;
use crate::core::process_change::Signal;
use crate::core::redact::redact_words;
use crate::core::status_types::{
    ClientStatus, ExitKind, ExitStatus, LimitsStatus, Rfc3339, SessionStatus, WorkStatus,
};
use crate::core::supervisor::limit_and_error_wait::LimitKind;
use crate::core::supervisor::phase::EndCause;
use crate::core::supervisor::reported_state::{SessionState, StateSource};
use crate::core::text::shell_word::shell_line;
use crate::core::time::WallTime;
use crate::fs::paths::Paths;
use crate::sys::clock::{Clock, elapsed, local};

/// How long a host may take to answer before the session's file is used instead.
const STATUS: Duration = Duration::from_millis(900);

/// How long a host that has closed its socket may take to end, and how often hopty checks.
const LAST_MOMENT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(5));

pub(super) fn status(given: Option<&str>, as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    let name = any_session(&paths, given)?;
    let status = status_of(&paths, &name)?;
    if as_json {
        say(format_args!("{}", status.json()))?;
        return Ok(0);
    }
    print(&status)?;
    Ok(0)
}

fn print(session: &SessionStatus) -> std::io::Result<()> {
    let line = |label: &str, what: &str| say(format_args!("{}", fit(&format!("  {label:<12}  {what}"), 16)));
    let command = visible(&shell_line(&session.command));
    let word = visible(&session.state_word());
    say(format_args!("{}  {word}  {}", visible(&session.name), visible(&session.dir)))?;
    let restarts =
        if session.restarts == 1 { "1 restart".to_owned() } else { format!("{} restarts", session.restarts) };
    line("command", &format!("{command} (run {}, {restarts})", session.run))?;
    state(session, &line)?;
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
    conversation(session, &line)?;
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

/// Prints a label and its text.
type PrintLine<'a> = &'a dyn Fn(&str, &str) -> std::io::Result<()>;

fn state(session: &SessionStatus, line: PrintLine<'_>) -> std::io::Result<()> {
    let on = session.waits_for(local).map_or_else(String::new, |what| format!(" on {}", visible(&what)));
    let from = match session.state_from.known() {
        Some(StateSource::Hook) => " (source: a hook)",
        Some(StateSource::SessionsFile) => " (source: Claude's sessions file)",
        Some(StateSource::Title) => " (source: the window title)",
        Some(StateSource::Screen) => " (source: the screen)",
        Some(StateSource::None) | None => "",
    };
    let since = session.state_since.map_or_else(|| "?".to_owned(), |at| when(at.0));
    // A killed host leaves no time of its end, only that of its last state.
    let since = match session.is(SessionState::Ended) && session.ended_at.is_none() {
        true => format!(", last seen {since}"),
        // Nobody knows since when a host has not answered.
        false if session.is(SessionState::Unresponsive) => String::new(),
        false => format!(" since {since}"),
    };
    line("state", &format!("{}{on}{since}{from}", visible(&session.state_word())))?;
    if let (Some(on), Some(subject)) = (&session.waiting_for, &session.waiting_subject) {
        // A dialog that hopty has no rule for has no name either.
        let label = if on == "unknown" { "dialog".to_owned() } else { visible(on).replace('_', " ") };
        line(&label, &visible(subject))?;
    }
    Ok(())
}

fn conversation(session: &SessionStatus, line: PrintLine<'_>) -> std::io::Result<()> {
    let Some(conversation) = &session.conversation else { return Ok(()) };
    line("conversation", conversation.as_str())?;
    let command = || match crate::fs::session::waits_for_restore(session) {
        true => Some(format!("hopty restore {}", visible(&session.name))),
        false => crate::fs::session::resumable(session).map(|id| format!("hopty --resume {id}")),
    };
    if let Some(command) = session.is(SessionState::Ended).then(command).flatten() {
        line("to resume", &command)?;
    }
    line("context", &super::context::line(&session.context))?;
    line(
        "",
        "share of the whole window; Claude's screen counts up to where it compacts (`hopty context --explain`)",
    )
}

fn work(work: &WorkStatus, line: PrintLine<'_>) -> std::io::Result<()> {
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

fn exit(exit: &ExitStatus) -> String {
    let cause = visible(&exit.cause.to_string()).replace('_', " ");
    let by = exit.signal.map_or_else(String::new, |number| format!(" by {}", Signal(number).name()));
    match exit.code {
        Some(code) => format!("code {code} ({cause}{by})"),
        None => format!("unknown code ({cause}{by})"),
    }
}

fn client(client: &ClientStatus) -> String {
    let role = match (client.leader, client.read_only) {
        (true, _) => ", leader",
        (_, true) => ", read-only",
        _ => "",
    };
    let tty = client.tty.as_ref().map_or_else(|| "?".to_owned(), |tty| visible(tty));
    format!("{} ({tty}, {}x{}{role})", client.id, client.cols, client.rows)
}

/// A time in the person's time zone, and how long ago it was.
fn when(at: WallTime) -> String {
    format!("{} ({} ago)", local(at), elapsed(at))
}

/// The usage limits that Claude has reported: how much of each is used, and which one was reached.
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

/// The status of a session from its host, or of an ended one from its file.
pub(super) fn status_of(paths: &Paths, name: &SessionName) -> Result<SessionStatus, VerbError> {
    if crate::fs::session::is_alive(&paths.session(name)) {
        let answer = HostControl::connect(paths, name, Some(STATUS)).and_then(|mut control| control.status());
        return answer.or_else(|failed| unresponsive(paths, name).ok_or(failed));
    }
    let unknown = |cause: &str, hint: String| {
        VerbError::new(NOT_FOUND, format!("hopty knows nothing about this session{cause}"))
            .about(name)
            .hint(hint)
    };
    ended(paths, name).ok_or_else(|| match crate::fs::session::status(&paths.session(name)) {
        Err(error) => unknown(&format!(": {error}"), error.hint()),
        Ok(_) => unknown("", "`hopty ls --all` includes ended sessions".to_owned()),
    })
}

/// The last status that a session's host wrote. Older hosts wrote the command line with its secrets.
fn last_written(paths: &Paths, name: &SessionName) -> Option<SessionStatus> {
    let mut last = crate::fs::session::status(&paths.session(name)).ok().flatten()?;
    last.command = redact_words(&last.command);
    Some(last)
}

/// The last status of a session whose host is alive but does not answer, or is just ending.
pub(super) fn unresponsive(paths: &Paths, name: &SessionName) -> Option<SessionStatus> {
    let until = Instant::now() + LAST_MOMENT.0;
    while crate::fs::session::is_alive(&paths.session(name)) && Instant::now() < until {
        thread::sleep(LAST_MOMENT.1);
    }
    if !crate::fs::session::is_alive(&paths.session(name)) {
        return ended(paths, name);
    }
    let last = last_written(paths, name)?;
    Some(crate::fs::session::unresponsive(&paths.session(name), last))
}

/// The last status of a session whose host has ended.
pub(super) fn ended(paths: &Paths, name: &SessionName) -> Option<SessionStatus> {
    let mut last = last_written(paths, name)?;
    (last.state, last.state_from) = (SessionState::Ended.into(), StateSource::None.into());
    (last.waiting_for, last.waiting_subject, last.next_handover) = (None, None, None);
    last.clients.clear();
    // The time of a killed host's death is unknown; an older host recorded its end only as its last state.
    last.ended_at = last.ended_at.or(last.state_since.filter(|_| last.exit.is_some()));
    if last.exit.is_none() {
        last.exit = Some(ExitStatus {
            kind: ExitKind::Lost.into(),
            cause: EndCause::HostLost.into(),
            ..ExitStatus::default()
        });
        "closed".clone_into(&mut last.phase);
        let on = super::restore::restore_hint(name, &last)
            .map(|way| format!("; nothing is lost: {way}"))
            .unwrap_or_default();
        last.why = format!("The host was killed, and the program with it{on}.");
    } else if crate::fs::session::waits_for_restore(&last) {
        last.why.push_str(&format!(" Nothing is lost: `hopty restore {name}` resumes it."));
        let unsent = paths.session(name).join("unsent.txt");
        if unsent.exists() {
            last.why.push_str(&format!(" Your unsent input is in {}.", unsent.display()));
        }
    }
    Some(last)
}
