//! `hopty ask` and `hopty answer`: Claude's last answer, whole, from its transcript.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::control::ANSWER;
use super::control::{HostControl, Rule, live, paths};
use super::conversation::{self, ConversationTarget};
use super::error::{Failed, note, say, visible};
use super::poll_until::{becomes_true, poll_until};
use super::send::{self, SendOptions};
use crate::core::claude::api_error::api_error_words;
use crate::core::claude::last_answer::{AskedTurn, LastAnswer};
use crate::core::claude::pasted_prompt::SentPrompt;
use crate::core::config::DurationMs;
use crate::core::ids::SessionName;
use crate::core::status_types::SessionStatus;
use crate::core::supervisor::Agent;
use crate::core::supervisor::state::SessionState;
use crate::fs::{session, whole_transcript};
use crate::ipc::answers::WaitAnswer;
use crate::ipc::message::{Code, Failure, Request, Wait, WaitFor};
use crate::sys::clock::{Clock, local};

/// How long one request to the host waits before the session is looked at again.
const SLICE: Duration = Duration::from_secs(2);
/// How long the transcript may lag behind the end of a turn.
const LAG: Duration = Duration::from_secs(5);
/// How long Claude waits for a prompt until one that is not in the transcript never comes into it.
const UNWRITTEN: Duration = Duration::from_secs(10);
/// How long Claude's status line may lag behind it: it tells the cost.
const COST_LAG: Duration = Duration::from_millis(1500);
/// How often the transcript is read for the prompt that waits in Claude's queue.
const QUEUE_LOOK: Duration = Duration::from_millis(200);
/// How long the dialog of a slash command may take to be drawn.
const DIALOG_LAG: Duration = Duration::from_millis(700);
/// How often either is looked at meanwhile.
const ASK_POLL: Duration = Duration::from_millis(50);
/// How long to wait for a transcript that Claude has yet to create, and for the answer in it.
const WRITTEN: Duration = Duration::from_secs(2);

/// Why a session has neither prompts nor answers.
const NO_CLAUDE: &str = "it does not run Claude";

#[derive(Debug, Args)]
pub(super) struct AskOptions {
    /// The session and the prompt; only the session with --stdin
    #[arg(num_args = 0..=2, value_name = "NAME, TEXT")]
    pub words: Vec<String>,
    /// Read the prompt from standard input
    #[arg(long)]
    pub stdin: bool,
    /// How long to wait for the answer, such as 30s, 10m or 2h
    #[arg(long, default_value = "30m", value_name = "TIME")]
    pub timeout: DurationMs,
    /// Print JSON: the answer, the tool calls, tokens and cost of the turn
    #[arg(long)]
    pub json: bool,
    /// Do not replace secrets
    #[arg(long)]
    pub no_redact: bool,
}

#[derive(Debug, Args)]
pub(super) struct AnswerOptions {
    /// A session, a transcript, a conversation id or a directory; this session or directory by default
    #[arg(value_name = "PATH|NAME")]
    pub which: Option<String>,
    /// Print JSON: the answer, the tool calls and tokens of its turn
    #[arg(long)]
    pub json: bool,
    /// Do not replace secrets
    #[arg(long)]
    pub no_redact: bool,
}

/// Submits a prompt, waits for the end of the turn and prints the answer.
pub(super) fn ask(options: AskOptions) -> Result<u8, Failed> {
    let began = Instant::now();
    let limit = Duration::from_millis(options.timeout.ms());
    let prompt = SendOptions {
        words: options.words,
        keys: Vec::new(),
        stdin: options.stdin,
        submit: true,
        mark: false,
        json: true,
    };
    let (given, request) = send::request(&prompt, "ask")?;
    // Claude says nothing of a slash command that it does itself.
    let mut asked = request.text.as_deref().and_then(|text| SentPrompt::new(text).ok());
    asked = asked.filter(|asked| !asked.is_command());
    let paths = paths()?;
    let name = live(&paths, given.as_deref(), Rule::Careful)?;
    let mut control = HostControl::connect(&paths, &name, Some(ANSWER))?;
    let before = control.status()?;
    if before.agent.is(Agent::Plain) {
        let hint = format!("`hopty send {name} TEXT` types into it");
        return Err(Failed::new(4, NO_CLAUDE).about(&name).hint(hint));
    }
    if let Some(asked) = &mut asked {
        asked.entered(Clock::wall().rfc3339_ms());
    }
    let sent = send::submit(&mut control, request)?;
    if !send::is_proven(&sent) {
        if asked.is_none() {
            return Err(no_answer_to_command(&mut control, &name));
        }
        let hint = format!("`hopty screen {name}` shows what Claude shows");
        return Err(Failed::new(1, "hopty cannot tell whether Claude took the prompt")
            .about(&name)
            .hint(hint));
    }
    let mut wait = TurnWait {
        name: &name,
        seq: sent.seq,
        until: began.checked_add(limit),
        limit: options.timeout,
        blocked: None,
    };
    let mut idle_since = None;
    let (session, conversation, answer) = loop {
        let (session, is_idle) = wait.look(&mut control)?;
        let is_another_run = session.run != before.run;
        if let Some(asked) = &asked {
            // A hand-over may come at the end of this very turn: then the conversation before has the answer,
            // and its transcript did not exist when the prompt was sent.
            let (conversation, transcript) = if is_another_run {
                let id = before.conversation.as_ref().or(session.before.as_ref());
                (id, id.and_then(|id| paths.find_transcript(id)))
            } else {
                (session.conversation.as_ref(), session.transcript.as_deref().map(PathBuf::from))
            };
            let lag = if is_idle && !is_another_run { LAG } else { Duration::ZERO };
            let is_over =
                |turn: &AskedTurn| if is_another_run { !turn.is_cut() } else { is_idle || turn.is_over() };
            if let Some(answer) = answer_to(transcript.as_deref(), asked, lag, is_over)? {
                let conversation = conversation.cloned();
                break (session, conversation, answer);
            }
        }
        if !is_idle {
            idle_since = None;
        } else if !is_another_run
            && asked.is_some()
            && idle_since.get_or_insert_with(Instant::now).elapsed() > UNWRITTEN
        {
            return Err(not_written(&name));
        }
        if is_idle && (is_another_run || asked.is_none()) {
            let answer = finished_answer(&name, &session)?;
            let is_resumed = session.conversation == before.conversation;
            let is_cut = !answer.finished && (is_resumed || !answer.has_text());
            // A Claude that was killed at once has not written down the prompt: its last turn is an earlier
            // one.
            let is_earlier = is_resumed && asked.as_ref().is_some_and(|asked| !answer.is_of(asked));
            if is_another_run && (is_cut || is_earlier) {
                return Err(ended_in_turn(&name, is_resumed));
            }
            let conversation = session.conversation.clone();
            break (session, conversation, answer);
        }
        // The turn goes on, or the prompt waits in Claude's queue.
        wait.check_time(&session)?;
        std::thread::sleep(if is_idle { QUEUE_LOOK } else { ASK_POLL });
    };
    let cost = cost_of_turn(&mut control, &before, &session);
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let answer = shown(answer, options.no_redact);
    if options.json {
        let mut object = object(Some(&name), conversation.map(|id| id.to_string()), &answer);
        object["cost_usd"] = json!(cost);
        object["took_ms"] = json!(took);
        say(format_args!("{object}"))?;
    } else {
        print(&answer)?;
    }
    Ok(u8::from(answer.is_broken_off()))
}

/// Why a slash command that Claude has done itself has no answer, and what closes the dialog that it opened.
fn no_answer_to_command(control: &mut HostControl, name: &SessionName) -> Failed {
    control.limit(ANSWER);
    let mut dialog = None;
    becomes_true(Instant::now() + DIALOG_LAG, ASK_POLL, || {
        let on = control.status().ok().filter(SessionStatus::waits_in_a_dialog);
        dialog = on.and_then(|status| status.waits_for(local));
        dialog.is_some()
    });
    let screen = format!("`hopty screen {name}` shows what Claude shows");
    let (cause, hint) = match dialog {
        Some(on) => (
            format!("the command opened a dialog ({}), and Claude gave no answer", visible(&on)),
            format!("{screen}, `hopty send {name} --keys escape` closes it"),
        ),
        None => ("Claude did the command itself and gave no answer".to_owned(), screen),
    };
    Failed::new(1, cause).about(name).hint(hint)
}

/// The wait for the end of the turn that began after line `seq` of the journal.
struct TurnWait<'n> {
    name: &'n SessionName,
    seq: u64,
    until: Option<Instant>,
    limit: DurationMs,
    /// What the session was blocked on when it was said last.
    blocked: Option<String>,
}

impl TurnWait<'_> {
    /// Waits until Claude waits for a prompt, [`SLICE`] at the longest, and returns whether it does. Tells
    /// once what it is blocked on.
    fn look(&mut self, control: &mut HostControl) -> Result<(SessionStatus, bool), Failed> {
        let left =
            self.until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()).min(SLICE));
        control.limit(left.saturating_add(ANSWER));
        let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let idle = Wait { wanted: WaitFor::Idle, since: self.seq, after: None, mark: None, timeout_ms: ms };
        let WaitAnswer { met, session, .. } = control.ask(&Request::Wait(idle))?;
        let session = session.unwrap_or_default();
        // While it is handed over, Claude is idle for moments.
        if met {
            let is_idle = !session.is_handed_over();
            return Ok((session, is_idle));
        }
        let on = session.blocked_on(local).map(|what| visible(&what));
        if let Some(what) = on.as_ref().filter(|_| on != self.blocked) {
            let (name, limit) = (self.name, self.limit);
            let answer = if session.waits_in_a_dialog() {
                format!(": `hopty attach {name}` answers it")
            } else {
                String::new()
            };
            note(format_args!("hopty: {name} is blocked on {what}{answer}"));
            note(format_args!(
                "hint: `hopty ask` waits for {limit} in all (`--timeout`); Ctrl+C ends only the wait"
            ));
        }
        self.blocked = on;
        Ok((session, false))
    }

    /// Fails where the time is over.
    fn check_time(&self, session: &SessionStatus) -> Result<(), Failed> {
        match self.until {
            Some(until) if Instant::now() >= until => Err(no_answer(self.name, session, self.limit)),
            _ => Ok(()),
        }
    }
}

/// That another run waits for a prompt, and the turn was not finished. `is_resumed`: it has the conversation
/// of the run that ended.
fn ended_in_turn(name: &SessionName, is_resumed: bool) -> Failed {
    let next = if is_resumed {
        "hopty has resumed the conversation"
    } else {
        "a fresh conversation waits for a prompt"
    };
    Failed::new(1, format!("Claude ended before it had answered; {next}"))
        .about(name)
        .hint(format!("`hopty ask {name} \"go on\"` lets it continue, `hopty why {name}` says how it ended"))
}

/// Claude waits for a prompt, and its transcript has nothing of the turn.
fn not_written(name: &SessionName) -> Failed {
    Failed::new(1, "Claude has not written its answer to the transcript; perhaps the disk is full")
        .about(name)
        .hint(format!("`hopty screen {name}` shows what Claude shows"))
}

fn no_answer(name: &SessionName, session: &SessionStatus, limit: DurationMs) -> Failed {
    let message = format!("no answer after {limit}, the session is {}", session.state);
    let hint =
        format!("`hopty wait {name} idle && hopty answer {name}` prints it later; `--timeout` waits longer");
    Failed::from(Failure::new(Code::Busy, message, hint)).about(name)
}

/// The answer to `asked` in the transcript, once its turn `is_over`, and `lag` later at the latest: Claude
/// tells the end of a turn before the last lines are in its transcript.
fn answer_to(
    transcript: Option<&Path>,
    asked: &SentPrompt,
    lag: Duration,
    is_over: impl Fn(&AskedTurn) -> bool,
) -> Result<Option<LastAnswer>, Failed> {
    let Some(path) = transcript.filter(|path| path.exists()) else {
        return Ok(None);
    };
    let mut found = None;
    poll_until(Instant::now() + lag, ASK_POLL, || {
        let mut turn = AskedTurn::of(asked);
        read_lines(path, |line| turn.feed(line))?;
        let is_over = is_over(&turn);
        found = turn.turn().filter(|_| is_over);
        Ok(found.as_ref().is_none_or(|answer| answer.finished).then_some(()))
    })?;
    Ok(found)
}

/// The answer that ends the turn. Claude tells the end of a turn before the last lines are in its transcript.
fn finished_answer(name: &SessionName, session: &SessionStatus) -> Result<LastAnswer, Failed> {
    let Some(path) = session.transcript.as_deref().map(Path::new) else {
        return Err(Failed::new(1, "hopty does not know which transcript has the answer")
            .about(name)
            .hint(format!("`hopty screen {name}` shows Claude's screen")));
    };
    let mut answer = LastAnswer::default();
    poll_until(Instant::now() + LAG, ASK_POLL, || {
        answer = read(path)?;
        Ok(answer.finished.then_some(()))
    })?;
    Ok(answer)
}

fn read(path: &Path) -> Result<LastAnswer, Failed> {
    let mut answer = LastAnswer::default();
    read_lines(path, |line| drop(answer.feed(line)))?;
    Ok(answer)
}

fn read_lines(path: &Path, line: impl FnMut(&[u8])) -> Result<(), Failed> {
    whole_transcript::lines(path, line).map(drop).map_err(|e| {
        Failed::new(1, e.to_string()).hint("Claude writes a transcript from the first prompt on")
    })
}

/// What the turn cost in US dollars, by Claude's own count. `None` where Claude tells no cost, or another
/// conversation began meanwhile.
fn cost_of_turn(control: &mut HostControl, before: &SessionStatus, after: &SessionStatus) -> Option<f64> {
    let from = if before.run == after.run { before.work.cost_usd? } else { return None };
    let mut now = None;
    poll_until(Instant::now() + COST_LAG, ASK_POLL, || {
        control.limit(ANSWER);
        now = control.status()?.work.cost_usd;
        Ok(now.is_none_or(|now| now > from).then_some(()))
    })
    .ok()?;
    // Sums of fractions of a cent.
    now.map(|now| ((now - from) * 1e6).round() / 1e6)
}

/// Prints the last answer of a session or a transcript.
pub(super) fn answer(options: &AnswerOptions) -> Result<u8, Failed> {
    let paths = paths()?;
    // The turn is over; its end may be known before the transcript has it.
    let mut is_idle = false;
    // A new turn has begun; the transcript may not have its prompt yet.
    let mut is_working = false;
    let (name, path) = match conversation::find_target(&paths, options.which.as_deref(), Rule::Any)? {
        ConversationTarget::Session(name, status) => {
            is_idle = status.is(SessionState::Idle);
            is_working = status.is(SessionState::Busy) || status.is(SessionState::Blocked);
            let over = status.is(SessionState::Ended);
            let is_plain = status.agent.is(Agent::Plain);
            let transcript = status.transcript.ok_or_else(|| {
                if is_plain {
                    let hint = format!("`hopty screen {name}` shows what it shows");
                    return Failed::new(4, NO_CLAUDE).called(Code::Refused).about(&name).hint(hint);
                }
                if over {
                    return nothing_asked(&name);
                }
                no_transcript(&name)
            })?;
            (Some(name), transcript.into())
        }
        ConversationTarget::Transcript(found) => (None, found.path),
    };
    let over = name.as_ref().is_some_and(|name| !session::is_alive(&paths.session(name)));
    if let Some(name) = name.as_ref().filter(|_| over && !path.exists()) {
        return Err(nothing_asked(name));
    }
    if let Some(name) = name.as_ref().filter(|_| !is_written(&path)) {
        return Err(no_transcript(name));
    }
    let lags = |answer: &LastAnswer| {
        is_idle && !answer.finished
            || is_working && (answer.prompt.is_empty() || answer.finished && answer.error.is_none())
    };
    let mut answer = LastAnswer::default();
    poll_until(Instant::now() + WRITTEN, ASK_POLL, || {
        answer = read(&path)?;
        Ok((!lags(&answer)).then_some(()))
    })?;
    let answer = shown(answer, options.no_redact);
    // Nothing will finish it.
    let is_cut = (over || is_idle) && !answer.finished;
    if options.json {
        let conversation = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        say(format_args!("{}", object(name.as_ref(), conversation, &answer)))?;
        return Ok(u8::from(!answer.has_text() || answer.is_broken_off() || is_cut));
    }
    let whose = name.as_ref().map_or_else(|| path.display().to_string(), ToString::to_string);
    if !answer.has_text() {
        let live = name.as_ref().filter(|_| !over);
        return Err(match (live, path.file_stem()) {
            (Some(_), _) if answer.prompt.is_empty() => {
                Failed::new(1, "nothing was asked in this conversation yet")
                    .hint("`hopty conversations ls` lists earlier conversations")
            }
            (Some(name), _) if is_idle => Failed::new(1, "Claude did not answer the last prompt")
                .hint(format!("`hopty ask {name} \"go on\"` lets it continue")),
            (Some(name), _) => Failed::new(1, "Claude has not answered the last prompt yet")
                .hint(format!("`hopty wait {name} idle` waits for the end of the turn")),
            (None, Some(id)) if name.is_some() => {
                let id = visible(&id.to_string_lossy());
                Failed::new(1, "the session has ended, and Claude did not answer its last prompt")
                    .called(Code::Ended)
                    .hint(format!("`hopty conversations show {id}` shows the conversation"))
            }
            (None, id) => {
                let id = visible(&id.unwrap_or_default().to_string_lossy());
                Failed::new(1, "Claude did not answer the last prompt")
                    .hint(format!("`hopty conversations show {id}` shows the conversation"))
            }
        }
        .about(whose));
    }
    print(&answer)?;
    if !answer.finished && over {
        note(format_args!("hopty: {whose}: the session ended before Claude had finished this answer"));
    } else if is_cut {
        note(format_args!("hopty: {whose}: Claude ended before it had finished this answer"));
    } else if !answer.finished {
        note(format_args!("hopty: {whose}: Claude is still working on this answer"));
    }
    Ok(u8::from(answer.is_broken_off() || is_cut))
}

/// Whether there is a transcript. Claude begins one a moment after its first prompt, which may be after the
/// end of the turn.
fn is_written(transcript: &Path) -> bool {
    becomes_true(Instant::now() + WRITTEN, ASK_POLL, || transcript.exists())
}

fn no_transcript(of: &SessionName) -> Failed {
    Failed::new(1, "Claude has no transcript yet")
        .about(of)
        .hint(format!("`hopty ask {of} TEXT` submits a prompt and waits for the answer"))
}

fn nothing_asked(ended: &SessionName) -> Failed {
    Failed::new(1, "the session has ended without a prompt")
        .called(Code::Ended)
        .about(ended)
        .hint("`hopty conversations ls` lists conversations")
}

fn shown(answer: LastAnswer, no_redact: bool) -> LastAnswer {
    if no_redact { answer } else { answer.redacted() }
}

/// Of an answer for people, its text alone: nothing is cut, and nothing in it acts on a terminal.
fn print(answer: &LastAnswer) -> std::io::Result<()> {
    say(format_args!("{}", answer.text.replace('\u{1b}', "\\u{1b}")))?;
    if let Some(error) = &answer.error {
        note(format_args!("hopty: the turn ended with an API error: {}", visible(&api_error_words(error))));
    }
    Ok(())
}

fn object(session: Option<&SessionName>, conversation: Option<String>, answer: &LastAnswer) -> Value {
    let mut object = json!(answer);
    let text = object.as_object_mut().and_then(|fields| fields.remove("text")).unwrap_or_default();
    object["answer"] = text;
    object["session"] = json!(session.map(SessionName::as_str));
    object["conversation"] = json!(conversation);
    object
}
