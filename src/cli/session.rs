//! Verbs about one live session: attach, restart, stop, status.

use std::io::{IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::{Value, json};

use super::control::{CONNECT, Control, Rule, any, dial, live, paths, unanswered};
use super::error::{Failed, note, say, visible};
use super::notice;
use super::prose::fit;
use crate::client::start::Greeting;
use crate::client::{self, Hold, Left, Options, Stay};
use crate::core::handoff::redact::redact_words;
use crate::core::ids::SessionName;
use crate::core::process::Signal;
use crate::core::time::WallTime;
use crate::fs::paths::Paths;
use crate::io::clock::{Clock, local};

/// How long a host gets to answer a simple question.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// The same for its state, which may be told from the session's file instead.
const STATUS: Duration = Duration::from_millis(900);

pub(super) fn attach(given: Option<&str>, read_only: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    if let Some(outer) = std::env::var_os("HOPTY_SESSION") {
        // Two that show each other would never come to rest, and one prefix key can lead only one of them.
        let outer = visible(&outer.to_string_lossy());
        return Err(Failed::new(4, format!("this terminal is inside the session {outer} already"))
            .hint("detach first, or open another terminal; `env -u HOPTY_SESSION hopty attach NAME` does it all the same"));
    }
    let name = live(&paths, given, Rule::Any)?;
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failed::new(2, "it needs a terminal on standard input and output").hint("`hopty screen` needs none"));
    }
    let socket = dial(&paths, &name, CONNECT).map_err(|e| unanswered(&paths, &name, &e))?;
    join(&paths, &name, socket, Greeting::Due, Options { read_only, env: lent(&paths) }, None)
}

/// The variables of this terminal that the session's next run takes over.
fn lent(paths: &Paths) -> std::collections::BTreeMap<String, String> {
    let names = super::settings::load(paths, &[]).0.program.update_env;
    names.into_iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect()
}

/// Sends the clients of a session away; it goes on.
pub(super) fn detach(given: Option<&str>, client: Option<u32>, as_json: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    let name = live(&paths, given, Rule::Any)?;
    let mut control = Control::connect(&paths, &name, Some(ANSWER))?;
    let done = control.ask(json!({"do": "detach", "client": client}))?;
    if as_json {
        say(format_args!("{done}"))?;
    } else if done["detached"] == json!(0) {
        let missing = client.map_or("no terminal is attached to it".to_owned(), |number| format!("it has no client {number}"));
        return Err(Failed::new(1, missing).about(&name).hint("`hopty status --json` lists clients"));
    }
    Ok(u8::from(done["detached"] == json!(0)))
}

/// Attaches this terminal until either side ends it, and gives the exit code of CONTRACT C2. `hold`: it is held already.
pub(super) fn join(
    paths: &Paths,
    name: &SessionName,
    socket: UnixStream,
    greeting: Greeting,
    options: Options,
    hold: Option<Hold>,
) -> Result<u8, Failed> {
    // A terminal that is gone must not turn these words into a panic.
    let tell = |text: &str| {
        // A sentence about hopty needs its name once.
        let _ = writeln!(std::io::stderr(), "hopty: {}", text.strip_prefix("hopty ").unwrap_or(text));
    };
    let attached = catch_unwind(AssertUnwindSafe(|| client::attach(socket, greeting, options, hold)));
    let Ok(left) = attached else { return Err(failed_client(paths, name)) };
    let Stay { left, notices } = left?;
    let tell_notices = |said: Option<&str>| notices.lines(name.as_str(), said).iter().for_each(|line| tell(&visible(line)));
    match left {
        Left::Ended(code, message) => {
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
        Left::Detached(why) => {
            tell_notices(None);
            // The word of a host that lets in one terminal at a time (version 0.1 before several clients).
            let how = if why == "taken_over" { "another terminal took over" } else { "detached" };
            tell(&format!("{how}; the session goes on (hopty attach {name})"));
            Ok(0)
        }
        Left::HungUp => Ok(0),
        Left::Silent => Err(unanswered(paths, name, &std::io::ErrorKind::TimedOut.into())),
        Left::Refused(failure) => Err(Failed::from(failure).about(name)),
        Left::Closed => {
            let host_is_dead = || !crate::fs::session::is_alive(&paths.session(name));
            if !crate::fs::session::remove_stale_socket(paths, name) && !host_is_dead() {
                let hint = format!("the session goes on: hopty attach {name}");
                return Err(Failed::new(1, "the session's host closed the connection").about(name).hint(hint));
            }
            crate::host::orphan::end(paths, name, host_is_dead);
            Err(Failed::new(125, "the session's host died, and the program with it").about(name).hint(how_to_go_on(paths, name)))
        }
    }
}

/// The client panicked. The host makes the terminal whole first, so that the words are not on a screen that goes away.
fn failed_client(paths: &Paths, name: &SessionName) -> Failed {
    for _ in 0..50 {
        let status = Control::connect(paths, name, Some(ANSWER)).and_then(|mut control| control.ask(json!({"do": "status"})));
        if status.map_or(true, |status| status["clients"].as_array().is_none_or(Vec::is_empty)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let words = crate::tty::raw::last_words().unwrap_or_default();
    Failed::new(125, format!("the client failed: {}", words.split_whitespace().collect::<Vec<_>>().join(" ")))
        .about(name)
        .hint(format!("the session goes on: hopty attach {name}"))
}

/// After a host's death nothing is lost that is in the transcript; Claude writes one from the first prompt on.
fn how_to_go_on(paths: &Paths, name: &SessionName) -> String {
    let value = crate::fs::session::object(&paths.session(name)).ok().flatten().unwrap_or_default();
    match resumable(&value) {
        Some(id) => format!("nothing is lost: `hopty --resume {id}` goes on; if the terminal looks odd: `stty sane; reset`"),
        None => "if the terminal looks odd: `stty sane; reset`".to_owned(),
    }
}

/// The conversation of a session object that Claude can go on with.
pub(super) fn resumable(object: &Value) -> Option<String> {
    let transcript = object["transcript"].as_str()?;
    std::path::Path::new(transcript).is_file().then(|| object["conversation"].as_str().map(visible)).flatten()
}

pub(super) fn restart(given: Option<&str>, now: bool, no_handoff: bool, wait: bool, as_json: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    let name = live(&paths, given, Rule::Any)?;
    let mut control = Control::connect(&paths, &name, if wait { None } else { Some(ANSWER) })?;
    // For people: to scripts it is neither an answer nor an error, and Claude is not to be led to cut its own turn short.
    let told = !now && !as_json && std::io::stderr().is_terminal();
    let held = if told { held_up(&control.ask(json!({"do": "status"}))?) } else { None };
    let accepted = control.ask(json!({"do": "restart", "now": now, "no_handoff": no_handoff, "wait": wait}))?;
    if as_json {
        say(format_args!("{accepted}"))?;
    } else {
        say(format_args!("restart of {name} requested: waiting for a safe point"))?;
        if let Some(what) = held {
            note(format_args!("hint: {what}; `hopty restart {name} --now` does not wait for that"));
        }
    }
    if wait {
        let done = control.answer()?;
        if as_json {
            say(format_args!("{done}"))?;
        } else {
            let word = |key: &str| done[key].as_str().map(visible);
            let handed =
                word("handoff").map_or_else(|| "started fresh without a handoff".to_owned(), |id| format!("handed over as {id}"));
            let conversation = word("conversation").map_or_else(String::new, |id| format!("; conversation {id}"));
            say(format_args!("{handed}{conversation}"))?;
        }
    }
    Ok(0)
}

/// Why a restart that was asked for is not there at once, for people.
fn held_up(session: &Value) -> Option<String> {
    match (session["agent"].as_str(), session["state"].as_str(), session["waiting_for"].as_str()) {
        (Some("plain"), ..) => None,
        (_, Some("blocked"), Some(what)) => Some(format!("it is blocked on {}", visible(what))),
        (_, Some("busy"), _) => Some("it is busy".to_owned()),
        _ => None,
    }
}

pub(super) fn stop(given: Option<&str>, kill: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    let name = live(&paths, given, Rule::Careful)?;
    let mut control = Control::connect(&paths, &name, None)?;
    control.ask(json!({"do": "stop", "kill": kill}))?;
    control.wait_for_end();
    // A host of an older version gives its name back a moment later.
    super::wait::is_gone(&paths, &name);
    Ok(0)
}

pub(super) fn status(given: Option<&str>, as_json: bool) -> Result<u8, Failed> {
    let paths = paths()?;
    let name = any(&paths, given)?;
    let object = object(&paths, &name)?;
    if as_json {
        say(format_args!("{object}"))?;
        return Ok(0);
    }
    print(&object)?;
    Ok(0)
}

/// A session in full, for people.
fn print(object: &Value) -> std::io::Result<()> {
    let text = |value: &Value| value.as_str().map_or_else(|| visible(&value.to_string()), visible);
    let line = |label: &str, what: &str| say(format_args!("{}", fit(&format!("  {label:<12}  {what}"), 16)));
    let words: Vec<String> = object["command"].as_array().into_iter().flatten().map(&text).collect();
    say(format_args!("{}  {}  {}", text(&object["name"]), text(&object["state"]), text(&object["dir"])))?;
    let restarts = if object["restarts"] == 1 { "1 restart".to_owned() } else { format!("{} restarts", text(&object["restarts"])) };
    line("command", &format!("{} (run {}, {restarts})", words.join(" "), text(&object["run"])))?;
    let on = object["waiting_for"].as_str().map_or_else(String::new, |what| format!(" on {}", visible(what)));
    let from = match object["state_from"].as_str().unwrap_or_default() {
        "hook" => "; so says a hook",
        "sessions_file" => "; so says Claude's sessions file",
        "title" => "; so says the window's title",
        "screen" => "; so says the screen",
        _ => "",
    };
    let since = object["state_since"].as_str().and_then(WallTime::parse);
    let since = since.map_or_else(|| text(&object["state_since"]), when);
    line("state", &format!("{}{on} since {since}{from}", text(&object["state"])))?;
    if let Some(how) = exit(&object["exit"]) {
        line("exit", &how)?;
    }
    if !object["conversation"].is_null() {
        line("conversation", &text(&object["conversation"]))?;
        if let Some(id) = resumable(object).filter(|_| object["state"] == "ended") {
            line("goes on by", &format!("hopty --resume {id}"))?;
        }
        line("context", &super::context::line(&object["context"]))?;
        line("", "of the whole window; Claude's screen counts up to where it compacts (`hopty context --explain`)")?;
    }
    if let Some(next) = super::handover::line(&object["next_handover"], Clock::wall()) {
        line("hand-over", &next)?;
    }
    if let Some(limits) = limits(&object["limits"]) {
        line("limits", &limits)?;
    }
    if !object["handoff"].is_null() {
        line("handoff", &format!("{} ({})", text(&object["handoff"]["id"]), text(&object["handoff"]["status"])))?;
    }
    let clients: Vec<String> = object["clients"].as_array().into_iter().flatten().map(client).collect();
    if !clients.is_empty() {
        line("clients", &clients.join(", "))?;
    }
    line("phase", &text(&object["phase"]))?;
    line("why", &text(&object["why"]))
}

/// How it ended, once it has.
fn exit(exit: &Value) -> Option<String> {
    let cause = visible(exit["cause"].as_str()?).replace('_', " ");
    let signal = exit["signal"].as_i64().and_then(|number| i32::try_from(number).ok());
    let by = signal.map_or_else(String::new, |number| format!(" by {}", Signal(number).name()));
    Some(match exit["code"].as_u64() {
        Some(code) => format!("code {code} ({cause}{by})"),
        None => format!("of no known code ({cause}{by})"),
    })
}

/// An attached terminal in a few words.
fn client(object: &Value) -> String {
    let number = |key: &str| object[key].as_u64().unwrap_or(0);
    let role = match (object["leader"] == true, object["read_only"] == true) {
        (true, _) => ", leads",
        (_, true) => ", only looks",
        _ => "",
    };
    let tty = object["tty"].as_str().map_or_else(|| "?".to_owned(), visible);
    format!("{} ({tty}, {}x{}{role})", number("id"), number("cols"), number("rows"))
}

/// A moment in the person's own time zone, and how long ago that was.
fn when(at: WallTime) -> String {
    let ago = super::handoff::age(Clock::wall().0.saturating_sub(at.0));
    format!("{} ({ago} ago)", local(at))
}

/// The usage limits, where Claude has told of any: how much of each is used up, and which one is waited for.
fn limits(of: &Value) -> Option<String> {
    let at = |limit: &Value| limit["resets_at"].as_str().and_then(WallTime::parse).map_or_else(|| "?".to_owned(), local);
    let used = [("five_hour", "5 hours"), ("seven_day", "7 days")].into_iter().filter_map(|(key, words)| {
        let percent = of[key]["percent"].as_u64()?;
        Some(format!("{words} {percent} % (resets {})", at(&of[key])))
    });
    let reached = of["reached"]["kind"].as_str().map(|kind| format!("{} is reached until {}", visible(kind), at(&of["reached"])));
    let all: Vec<String> = reached.into_iter().chain(used).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The session object of C3: from the host, or of an ended session from its file.
pub(super) fn object(paths: &Paths, name: &SessionName) -> Result<Value, Failed> {
    if crate::fs::session::is_alive(&paths.session(name)) {
        let answer = Control::connect(paths, name, Some(STATUS)).and_then(|mut control| control.ask(json!({"do": "status"})));
        return answer.or_else(|failed| unresponsive(paths, name).ok_or(failed));
    }
    let unknown =
        |cause: &str, hint: String| Failed::new(3, format!("nothing is known of this session{cause}")).about(name).hint(hint);
    ended(paths, name).ok_or_else(|| match crate::fs::session::object(&paths.session(name)) {
        Err(error) => unknown(&format!(": {error}"), error.hint()),
        Ok(_) => unknown("", "`hopty ls --all` lists ended ones".to_owned()),
    })
}

/// What the session waits for a person to answer, if it does.
pub(super) fn blocked_on(paths: &Paths, name: &SessionName) -> Option<String> {
    let object = object(paths, name).ok().filter(|object| object["state"] == "blocked")?;
    object["waiting_for"].as_str().map(str::to_owned)
}

/// What a session's host wrote last. A host of an older version wrote the command line with the secrets in it.
fn last_written(paths: &Paths, name: &SessionName) -> Option<Value> {
    let mut value = crate::fs::session::object(&paths.session(name)).ok().flatten().filter(Value::is_object)?;
    let words = value["command"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    value["command"] = json!(redact_words(&words.collect::<Vec<_>>()));
    Some(value)
}

/// The last known state of a session whose host lives and does not answer.
pub(super) fn unresponsive(paths: &Paths, name: &SessionName) -> Option<Value> {
    let mut value = last_written(paths, name)?;
    value["state"] = json!("unresponsive");
    value["state_from"] = json!("none");
    Some(value)
}

/// The last state of a session whose host is gone.
pub(super) fn ended(paths: &Paths, name: &SessionName) -> Option<Value> {
    let mut value = last_written(paths, name)?;
    value["state"] = json!("ended");
    value["clients"] = json!([]);
    // When a host died without a word is not known; one of an older version said it by its last state alone.
    if value["ended_at"].is_null() {
        value["ended_at"] = if value["exit"].is_null() { Value::Null } else { value["state_since"].clone() };
    }
    if value["exit"].is_null() {
        value["exit"] = json!({"kind": "lost", "code": null, "signal": null, "cause": "host_lost"});
        value["phase"] = json!("closed");
        let on = resumable(&value).map(|id| format!("; nothing is lost: `hopty --resume {id}` goes on")).unwrap_or_default();
        value["why"] = json!(format!("The host died without a word, and the program with it{on}."));
    }
    Some(value)
}
