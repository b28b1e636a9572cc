//! `hopty ask` and `hopty answer`: Claude's last answer, whole, from its transcript.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::control::ANSWER;
use super::control::{HostControl, Rule, live_session, paths};
use super::error::{VerbError, note, say, visible};
use super::exit_codes::{FAILED, REFUSED};
use super::poll_until::{becomes_true, poll_until};
use super::send::{self, SendOptions};
use super::target_conversation::{self, ConversationTarget};
use crate::core::claude::api_error::api_error_words;
use crate::core::claude::last_answer::{AskedTurn, LastAnswer};
use crate::core::claude::pasted_prompt::SentPrompt;
use crate::core::config::DurationMs;
use crate::core::ids::{ConversationId, SessionName};
use crate::core::status_types::{LAST_TURN_UNWRITTEN, SessionStatus};
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::reported_state::SessionState;
use crate::fs::paths::Paths;
use crate::fs::{session, whole_transcript};
use crate::ipc::answers::WaitAnswer;
use crate::ipc::message::{Code, Request, RequestError, Wait, WaitFor};
use crate::sys::clock::{Clock, local};

/// How long one request to the host waits before hopty asks for the session's status again.
const SLICE: Duration = Duration::from_secs(2);
/// How long the transcript may lag behind the end of a turn.
const LAG: Duration = Duration::from_secs(5);
/// How long Claude may wait for a prompt while the transcript does not have the last one; then it never will.
const UNWRITTEN: Duration = Duration::from_secs(10);
/// How long Claude's status line, which has the cost, may lag behind Claude.
const COST_LAG: Duration = Duration::from_millis(1500);
/// How often the transcript is read for the prompt that waits in Claude's queue.
const QUEUE_LOOK: Duration = Duration::from_millis(200);
/// How long the dialog of a slash command may take to be drawn.
const DIALOG_LAG: Duration = Duration::from_millis(700);
/// How often hopty looks at either meanwhile.
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
pub(super) fn ask(options: AskOptions) -> Result<u8, VerbError> {
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
    // Claude gives no answer to a slash command that it handles itself.
    let mut asked = request.text.as_deref().and_then(|text| SentPrompt::new(text).ok());
    asked = asked.filter(|asked| !asked.is_command());
    let paths = paths()?;
    let name = live_session(&paths, given.as_deref(), Rule::Careful)?;
    let mut control = HostControl::connect(&paths, &name, Some(ANSWER))?;
    let before = control.status()?;
    if before.agent.is(ProgramKind::Plain) {
        let hint = format!("`hopty send {name} TEXT` types into it");
        return Err(VerbError::new(REFUSED, NO_CLAUDE).about(&name).hint(hint));
    }
    if let Some(asked) = &mut asked {
        asked.entered(Clock::wall().rfc3339_ms());
    }
    let sent = send::submit(&mut control, request)?;
    if !send::is_proven(&sent) {
        return Err(match asked {
            None => no_answer_to_command(&mut control, &name),
            Some(_) => VerbError::new(FAILED, "hopty cannot tell whether Claude took the prompt")
                .about(&name)
                .hint(format!("`hopty screen {name}` shows what Claude shows")),
        });
    }
    let mut wait = TurnWait {
        paths: &paths,
        name: &name,
        asked: asked.as_ref(),
        before: &before,
        seq: sent.seq,
        until: began.checked_add(limit),
        limit: options.timeout,
        blocked: None,
    };
    let TurnAnswer { session, conversation, answer } = wait.answer(&mut control)?;
    let cost = cost_of_turn(&mut control, &before, &session);
    let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let answer = redacted(answer, options.no_redact);
    if options.json {
        let mut object = object(Some(&name), conversation.map(|id| id.to_string()), &answer);
        object["cost_usd"] = json!(cost);
        object["took_ms"] = json!(took);
        say(format_args!("{object}"))?;
    } else {
        print(&answer)?;
    }
    if let Some(hint) = session.unblock_hint().filter(|_| session.lacks_login()) {
        note(format_args!("hint: {hint}"));
    }
    Ok(u8::from(answer.is_broken_off()))
}

/// The error for a slash command that Claude handled itself, and the key that closes the dialog it opened.
fn no_answer_to_command(control: &mut HostControl, name: &SessionName) -> VerbError {
    control.limit(ANSWER);
    let mut dialog = None;
    becomes_true(Instant::now() + DIALOG_LAG, ASK_POLL, || {
        let on = control.status().ok().filter(SessionStatus::waits_in_dialog);
        dialog = on.and_then(|status| status.waits_for(local));
        dialog.is_some()
    });
    let screen = format!("`hopty screen {name}` shows what Claude shows");
    let (cause, hint) = match dialog {
        Some(on) => {
            // A dialog that hopty has no rule for has no name.
            let on = if on == "a dialog" { String::new() } else { format!(" ({})", visible(&on)) };
            (
                format!("the command opened a dialog{on}, and Claude gave no answer"),
                format!("{screen}, `hopty send {name} --keys escape` closes it"),
            )
        }
        None => ("Claude did the command itself and gave no answer".to_owned(), screen),
    };
    VerbError::new(FAILED, cause).about(name).hint(hint)
}

/// The wait for the end of the turn that began after line `seq` of the journal.
struct TurnWait<'n> {
    paths: &'n Paths,
    name: &'n SessionName,
    /// The prompt; `None` for a slash command, which the transcript does not mention.
    asked: Option<&'n SentPrompt>,
    /// The session before the prompt.
    before: &'n SessionStatus,
    seq: u64,
    until: Option<Instant>,
    limit: DurationMs,
    /// What the session was blocked on at the last look.
    blocked: Option<String>,
}

/// The answer that ended a turn, and where it was found.
struct TurnAnswer {
    session: SessionStatus,
    conversation: Option<ConversationId>,
    answer: LastAnswer,
}

/// A session at the end of a look at it.
struct SeenSession {
    session: SessionStatus,
    /// Claude waits for a prompt, and no hand-over is under way.
    is_idle: bool,
}

impl TurnWait<'_> {
    /// Waits for the end of the turn, and reads its answer.
    fn answer(&mut self, control: &mut HostControl) -> Result<TurnAnswer, VerbError> {
        let mut idle_since = None;
        loop {
            let SeenSession { session, is_idle } = self.look(control)?;
            if let Some((conversation, answer)) = self.transcript_answer(&session, is_idle)? {
                return Ok(TurnAnswer { session, conversation, answer });
            }
            if !is_idle {
                idle_since = None;
            } else if !self.is_another_run(&session)
                && self.asked.is_some()
                && idle_since.get_or_insert_with(Instant::now).elapsed() > UNWRITTEN
            {
                return Err(not_written(self.name));
            }
            if is_idle && (self.is_another_run(&session) || self.asked.is_none()) {
                let answer = self.last_answer(&session)?;
                let conversation = session.conversation.clone();
                return Ok(TurnAnswer { session, conversation, answer });
            }
            // The turn is still running, or the prompt waits in Claude's queue.
            self.check_time(&session)?;
            std::thread::sleep(if is_idle { QUEUE_LOOK } else { ASK_POLL });
        }
    }

    fn is_another_run(&self, session: &SessionStatus) -> bool {
        session.run != self.before.run
    }

    /// The answer to the prompt, once the transcript has it.
    fn transcript_answer(
        &self,
        session: &SessionStatus,
        is_idle: bool,
    ) -> Result<Option<(Option<ConversationId>, LastAnswer)>, VerbError> {
        let Some(asked) = self.asked else { return Ok(None) };
        let is_another_run = self.is_another_run(session);
        // A hand-over may come at the end of this very turn: then the conversation before has the answer, and
        // its transcript did not exist when the prompt was sent.
        let (conversation, transcript) = if is_another_run {
            let id = self.before.conversation.as_ref().or(session.before.as_ref());
            (id, id.and_then(|id| self.paths.find_transcript(id)))
        } else {
            (session.conversation.as_ref(), session.transcript.as_deref().map(PathBuf::from))
        };
        let lag = if is_idle && !is_another_run { LAG } else { Duration::ZERO };
        let is_over =
            |turn: &AskedTurn| if is_another_run { !turn.is_cut() } else { is_idle || turn.is_over() };
        let answer = answer_to(transcript.as_deref(), asked, lag, is_over)?;
        Ok(answer.map(|answer| (conversation.cloned(), answer)))
    }

    /// The last answer of an idle session whose transcript does not show the prompt.
    fn last_answer(&self, session: &SessionStatus) -> Result<LastAnswer, VerbError> {
        let answer = finished_answer(self.name, session)?;
        let is_resumed = session.conversation == self.before.conversation;
        let is_cut = !answer.finished && (is_resumed || !answer.has_text());
        // A Claude that was killed at once has not written down the prompt: its last turn is an earlier one.
        let is_earlier = is_resumed && self.asked.is_some_and(|asked| !answer.is_of(asked));
        if self.is_another_run(session) && (is_cut || is_earlier) {
            return Err(ended_in_turn(self.name, is_resumed));
        }
        Ok(answer)
    }

    /// Waits until Claude waits for a prompt, [`SLICE`] at most. Prints once what the session is blocked on.
    fn look(&mut self, control: &mut HostControl) -> Result<SeenSession, VerbError> {
        let left =
            self.until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()).min(SLICE));
        control.limit(left.saturating_add(ANSWER));
        let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let idle = Wait { wanted: WaitFor::Idle, since: self.seq, after: None, mark: None, timeout_ms: ms };
        let WaitAnswer { met, session, .. } = control.ask(&Request::Wait(idle))?;
        let session = session.unwrap_or_default();
        // A turn that ended without a login is over, and nothing retries it.
        let met = met || session.lacks_login();
        // During a hand-over Claude is idle for moments.
        if met {
            let is_idle = !session.is_handed_over();
            return Ok(SeenSession { session, is_idle });
        }
        let on = session.blocked_on(local).map(|what| visible(&what));
        if let Some(what) = on.as_ref().filter(|_| on != self.blocked) {
            let (name, limit) = (self.name, self.limit);
            let answer = session.unblock_hint().map(|hint| format!(": {hint}")).unwrap_or_default();
            note(format_args!("hopty: {name} is blocked on {what}{answer}"));
            note(format_args!(
                "hint: `hopty ask` waits for {limit} in all (`--timeout`); Ctrl+C ends only the wait"
            ));
        }
        self.blocked = on;
        Ok(SeenSession { session, is_idle: false })
    }

    fn check_time(&self, session: &SessionStatus) -> Result<(), VerbError> {
        match self.until {
            Some(until) if Instant::now() >= until => Err(no_answer(self.name, session, self.limit)),
            _ => Ok(()),
        }
    }
}

/// The error when another run waits for a prompt and the turn was not finished. `is_resumed`: it continues
/// the conversation of the run that ended.
fn ended_in_turn(name: &SessionName, is_resumed: bool) -> VerbError {
    let next = if is_resumed {
        "hopty has resumed the conversation"
    } else {
        "a fresh conversation waits for a prompt"
    };
    VerbError::new(FAILED, format!("Claude ended before it had answered; {next}"))
        .about(name)
        .hint(format!("`hopty ask {name} \"go on\"` lets it continue, `hopty why {name}` says how it ended"))
}

/// The error when Claude waits for a prompt, and its transcript has nothing of the turn.
fn not_written(name: &SessionName) -> VerbError {
    VerbError::new(FAILED, "Claude has not written its answer to the transcript; perhaps the disk is full")
        .about(name)
        .hint(format!("`hopty screen {name}` shows what Claude shows"))
}

fn no_answer(name: &SessionName, session: &SessionStatus, limit: DurationMs) -> VerbError {
    let message = format!("no answer after {limit}, the session is {}", session.state);
    let hint =
        format!("`hopty wait {name} idle && hopty answer {name}` prints it later; `--timeout` waits longer");
    VerbError::from(RequestError::new(Code::Busy, message, hint)).about(name)
}

/// The answer to `asked` in the transcript, once its turn `is_over`, after `lag` at the latest: Claude
/// reports the end of a turn before its last lines are in the transcript.
fn answer_to(
    transcript: Option<&Path>,
    asked: &SentPrompt,
    lag: Duration,
    is_over: impl Fn(&AskedTurn) -> bool,
) -> Result<Option<LastAnswer>, VerbError> {
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

/// The answer that ends the turn; the transcript may lag as in [`answer_to`].
fn finished_answer(name: &SessionName, session: &SessionStatus) -> Result<LastAnswer, VerbError> {
    let Some(path) = session.transcript.as_deref().map(Path::new) else {
        return Err(VerbError::new(FAILED, "hopty does not know which transcript has the answer")
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

fn read(path: &Path) -> Result<LastAnswer, VerbError> {
    let mut answer = LastAnswer::default();
    read_lines(path, |line| drop(answer.feed(line)))?;
    Ok(answer)
}

fn read_lines(path: &Path, line: impl FnMut(&[u8])) -> Result<(), VerbError> {
    whole_transcript::lines(path, line).map(drop).map_err(|e| {
        VerbError::new(FAILED, e.to_string()).hint("Claude writes a transcript from the first prompt on")
    })
}

/// The cost of the turn in US dollars, by Claude's own count. `None` if Claude reports no cost, or another
/// conversation has begun.
fn cost_of_turn(control: &mut HostControl, before: &SessionStatus, after: &SessionStatus) -> Option<f64> {
    let from = if before.run == after.run { before.work.cost_usd? } else { return None };
    let mut now = None;
    poll_until(Instant::now() + COST_LAG, ASK_POLL, || {
        control.limit(ANSWER);
        now = control.status()?.work.cost_usd;
        Ok(now.is_none_or(|now| now > from).then_some(()))
    })
    .ok()?;
    // Drops rounding errors: costs are sums of fractions of a cent.
    now.map(|now| ((now - from) * 1e6).round() / 1e6)
}

/// The transcript that `hopty answer` reads, and what is known of its turn.
struct AnswerSource {
    name: Option<SessionName>,
    path: PathBuf,
    /// The turn is over; its end may be known before the transcript has it.
    is_idle: bool,
    /// A new turn has begun; the transcript may not have its prompt yet.
    is_working: bool,
    /// The dialog on which the turn waits.
    dialog: Option<String>,
    /// The session has ended.
    is_over: bool,
}

impl AnswerSource {
    fn find(paths: &Paths, which: Option<&str>) -> Result<Self, VerbError> {
        let (name, status) = match target_conversation::find_target(paths, which, Rule::Any)? {
            ConversationTarget::Transcript(found) => {
                let (is_idle, is_working, is_over) = (false, false, false);
                let (path, dialog) = (found.path, None);
                return Ok(AnswerSource { name: None, path, is_idle, is_working, dialog, is_over });
            }
            ConversationTarget::Session(name, status) => (name, status),
        };
        let Some(path) = status.transcript.as_ref().map(PathBuf::from) else {
            return Err(if status.agent.is(ProgramKind::Plain) {
                let hint = format!("`hopty screen {name}` shows what it shows");
                VerbError::new(REFUSED, NO_CLAUDE).called(Code::Refused).about(&name).hint(hint)
            } else if status.is(SessionState::Ended) {
                no_prompt_yet(&name)
            } else {
                no_transcript(&name)
            });
        };
        let is_idle = status.is(SessionState::Idle);
        if is_idle && status.why.contains(LAST_TURN_UNWRITTEN) {
            return Err(not_written(&name));
        }
        let is_over = !session::is_alive(&paths.session(&name));
        if is_over && !path.exists() {
            return Err(no_prompt_yet(&name));
        }
        if !is_written(&path) {
            return Err(no_transcript(&name));
        }
        let is_working = status.is(SessionState::Busy) || status.is(SessionState::Blocked);
        let dialog = status.waits_in_dialog().then_some(status.waiting_for).flatten();
        Ok(AnswerSource { name: Some(name), path, is_idle, is_working, dialog, is_over })
    }

    fn read(&self) -> Result<LastAnswer, VerbError> {
        let lags = |answer: &LastAnswer| {
            self.is_idle && !answer.finished
                || self.is_working && (answer.prompt.is_empty() || answer.finished && answer.error.is_none())
        };
        let mut answer = LastAnswer::default();
        poll_until(Instant::now() + WRITTEN, ASK_POLL, || {
            answer = read(&self.path)?;
            Ok((!lags(&answer)).then_some(()))
        })?;
        Ok(answer)
    }

    /// The session, or the path of the transcript without one.
    fn label(&self) -> String {
        self.name.as_ref().map_or_else(|| self.path.display().to_string(), ToString::to_string)
    }

    /// Why there is no text.
    fn no_text(&self, answer: &LastAnswer) -> VerbError {
        let shows = |id: Option<&OsStr>| {
            let id = visible(&id.unwrap_or_default().to_string_lossy());
            format!("`hopty conversations show {id}` shows the conversation")
        };
        let live = self.name.as_ref().filter(|_| !self.is_over);
        match (live, self.path.file_stem()) {
            (Some(_), _) if answer.prompt.is_empty() => {
                VerbError::new(FAILED, "nothing was asked in this conversation yet")
                    .hint("`hopty conversations ls` lists earlier conversations")
            }
            (Some(name), _) if self.is_idle => {
                VerbError::new(FAILED, "Claude did not answer the last prompt")
                    .hint(format!("`hopty ask {name} \"go on\"` lets it continue"))
            }
            (Some(name), _) if self.dialog.is_some() => {
                let dialog = visible(self.dialog.as_deref().unwrap_or_default());
                VerbError::new(FAILED, format!("Claude waits for you ({dialog})"))
                    .hint(format!("`hopty attach {name}` answers it; `hopty screen {name}` shows it"))
            }
            (Some(name), _) => VerbError::new(FAILED, "Claude has not answered the last prompt yet")
                .hint(format!("`hopty wait {name} idle` waits for the end of the turn")),
            (None, id @ Some(_)) if self.name.is_some() => {
                VerbError::new(FAILED, "the session has ended, and Claude did not answer its last prompt")
                    .called(Code::Ended)
                    .hint(shows(id))
            }
            (None, id) => VerbError::new(FAILED, "Claude did not answer the last prompt").hint(shows(id)),
        }
        .about(self.label())
    }
}

/// Prints the last answer of a session or a transcript.
pub(super) fn answer(options: &AnswerOptions) -> Result<u8, VerbError> {
    let source = AnswerSource::find(&paths()?, options.which.as_deref())?;
    let answer = redacted(source.read()?, options.no_redact);
    // Nothing will finish it.
    let is_cut = (source.is_over || source.is_idle) && !answer.finished;
    if options.json {
        let conversation = source.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        say(format_args!("{}", object(source.name.as_ref(), conversation, &answer)))?;
        return Ok(u8::from(!answer.has_text() || answer.is_broken_off() || is_cut));
    }
    if !answer.has_text() {
        return Err(source.no_text(&answer));
    }
    print(&answer)?;
    let whose = source.label();
    if !answer.finished && source.is_over {
        note(format_args!("hopty: {whose}: the session ended before Claude had finished this answer"));
    } else if is_cut {
        note(format_args!("hopty: {whose}: Claude ended before it had finished this answer"));
    } else if !answer.finished {
        note(format_args!("hopty: {whose}: Claude is still working on this answer"));
    }
    Ok(u8::from(answer.is_broken_off() || is_cut))
}

/// Whether the transcript exists. Claude creates it a moment after its first prompt, which may be after the
/// end of the turn.
fn is_written(transcript: &Path) -> bool {
    becomes_true(Instant::now() + WRITTEN, ASK_POLL, || transcript.exists())
}

fn no_transcript(of: &SessionName) -> VerbError {
    VerbError::new(FAILED, "Claude has no transcript yet")
        .about(of)
        .hint(format!("`hopty ask {of} TEXT` submits a prompt and waits for the answer"))
}

fn no_prompt_yet(ended: &SessionName) -> VerbError {
    VerbError::new(FAILED, "the session has ended without a prompt")
        .called(Code::Ended)
        .about(ended)
        .hint("`hopty conversations ls` lists conversations")
}

fn redacted(answer: LastAnswer, no_redact: bool) -> LastAnswer {
    if no_redact { answer } else { answer.redacted() }
}

/// Prints the whole text; nothing in it acts on a terminal.
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
