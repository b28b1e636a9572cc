//! Claude Code in a test: the real program or the stand-in agent in a prepared home, a model that gives the
//! tape's answers, and recorded hooks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::step_failure::{StepFailure, StepResult};
use super::test_files::copy_tree;
use super::test_session::TestSession;
use super::test_workspace::TestWorkspace;
use crate::claude::sessions_file;
use crate::core::claude::screen_reading::{ScreenRuleSet, ScreenText, TitleState};
use crate::core::supervisor::event::SessionsFileStatus;
use crate::core::tape::{
    AgentActivity, HookCommand, ModelReply, ModelToolInput, Tape, TapeCommand, TapePattern, TapeText,
    TapeTime,
};
use crate::standin::AGENT_ARG;
use crate::standin::api::Api;
use crate::standin::home;
use crate::standin::request::ApiRequest;
use crate::standin::script::{ReplyUsage, Script, ScriptedReply};
use crate::testing::hook_probe::{HookCall, HookProbe, STATUS_LINE};
use crate::testing::isolation::TestDirs;
use crate::testing::look::{TextPattern, nearest_line};
use crate::testing::outcome::FailureKind;
use crate::testing::program_wait::SettleRules;
use crate::testing::test_terminal::TestTerminal;

/// A fake key.
const KEY: &str = "sk-ant-test-0123456789-abcdefghijklmnopqrst";
/// The model's answer when the tape has none left. The tape fails then.
const NO_REPLY: &str = "(the tape has no Model line for this request)";
/// The variable that tells hopty which Claude to run.
const HOPTY_CLAUDE: &str = "HOPTY_PROGRAM_CLAUDE";
/// The longest time until Claude accepts input.
const START_LIMIT: TapeTime = TapeTime::from_millis(30_000);

/// The state of Claude in one test.
pub(super) struct ClaudeTest {
    hopty: PathBuf,
    /// The real Claude, if there is one.
    program: Option<PathBuf>,
    replies: Vec<ScriptedReply>,
    plugins: Vec<PathBuf>,
    running: Option<RunningModel>,
}

/// The running model, and the hook probe.
struct RunningModel {
    api: Api,
    probe: HookProbe,
    /// How many requests had no answer.
    unanswered: Arc<Mutex<usize>>,
}

/// A request that the model has received.
struct ReceivedRequest {
    at: Instant,
    /// All its texts, one part per line.
    text: String,
}

impl RunningModel {
    fn requests(&self) -> Vec<ReceivedRequest> {
        let received = |request: &ApiRequest| {
            let parts: Vec<String> = request.texts().into_iter().map(|(_, text)| text).collect();
            ReceivedRequest { at: request.at, text: parts.join("\n") }
        };
        self.api.main_requests().iter().map(|request| received(request)).collect()
    }
}

impl ClaudeTest {
    /// Before Claude is started. `hopty`: its own program; `program`: the real Claude, if there is one.
    pub fn new(hopty: PathBuf, program: Option<PathBuf>) -> Self {
        ClaudeTest { hopty, program, replies: Vec::new(), plugins: Vec::new(), running: None }
    }

    /// Collects all answers of the tape before anything is started.
    pub fn collect_replies(&mut self, workspace: &TestWorkspace, tape: &Tape) -> StepResult {
        for step in tape.steps.iter().filter(|step| !step.ignored) {
            if let TapeCommand::Model(reply) = &step.command {
                let reply = scripted_reply(workspace, reply).map_err(|failure| failure.at(&step.span))?;
                self.replies.push(reply);
            }
        }
        Ok(())
    }

    pub fn add_plugin(&mut self, workspace: &TestWorkspace, dir: &TapeText) -> StepResult {
        let from = workspace.tape_dir().join(workspace.text(dir)?);
        let name = from.file_name().map_or_else(|| "plugin".into(), std::ffi::OsString::from);
        let to = workspace.dirs().base().join("plugins").join(name);
        fs::create_dir_all(to.parent().unwrap_or(&to)).and_then(|()| copy_tree(&from, &to)).map_err(
            |error| StepFailure::io(&format!("cannot copy the plugin {}", from.display()), &error),
        )?;
        self.plugins.push(to);
        Ok(())
    }

    /// Carries out `Claude`: with the stand-in, or in a session of hopty.
    pub fn start(
        &mut self,
        session: &mut TestSession,
        words: &[TapeText],
        is_stand_in: bool,
        is_in_session: bool,
    ) -> StepResult {
        if !self.hopty.is_file() {
            return Err(StepFailure::command("a tape with Claude needs `hopty` in PATH")
                .hint("install it with `cargo install --path DIR`, where DIR is the checkout of hopty"));
        }
        let workspace = &session.workspace;
        let program = match &self.program {
            _ if is_stand_in => self.stand_in(workspace.dirs())?,
            Some(program) => program.clone(),
            None => return Err(StepFailure::skip("Claude Code is not installed")),
        };
        self.start_model(workspace.dirs())?;
        let Some(running) = &self.running else { return Ok(()) };
        let failed = |what: &str, error: &std::io::Error| StepFailure::io(what, error);
        let (dir, home) = (workspace.dirs().dir(), workspace.dirs().home());
        home::seed(&home, dir, KEY).map_err(|error| failed("cannot make Claude's home", &error))?;
        let mut settings = vec![
            dir.join(".claude/settings.json"),
            dir.join(".claude/settings.local.json"),
            home.join(".claude/settings.json"),
        ];
        settings.extend(self.plugins.iter().map(|plugin| plugin.join("hooks/hooks.json")));
        for file in settings {
            running.probe.wrap_file(&file).map_err(|error| failed("cannot watch the hooks", &error))?;
        }
        let mut env = home::environment(&home, &running.api.url(), KEY);
        let mut argv = vec![program.into_os_string()];
        if is_in_session {
            let claude = std::mem::replace(&mut argv[0], self.hopty.clone().into_os_string());
            env.push((HOPTY_CLAUDE.to_owned(), claude.to_string_lossy().into_owned()));
        }
        // A tape may set its own value.
        env.retain(|(name, _)| !workspace.sets(name));
        if !words.iter().any(|word| word.as_str() == "--model") {
            argv.extend(["--model".into(), home::USUAL_MODEL.into()]);
        }
        for plugin in &self.plugins {
            argv.extend(["--plugin-dir".into(), plugin.clone().into_os_string()]);
        }
        argv.extend(workspace.words(words)?);
        session.start_program(argv, &env)
    }

    /// Starts the model, once per test.
    fn start_model(&mut self, dirs: &TestDirs) -> StepResult {
        if self.running.is_some() {
            return Ok(());
        }
        let unanswered = Arc::new(Mutex::new(0));
        let (count, replies) = (Arc::clone(&unanswered), self.replies.clone());
        let script = Script::each(move |_, number| {
            replies.get(number).cloned().unwrap_or_else(|| {
                *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                ScriptedReply::text(NO_REPLY)
            })
        });
        let api = Api::start(script).map_err(|error| StepFailure::io("cannot start the model", &error))?;
        let probe = HookProbe::new(&self.hopty, &dirs.base().join("hooks"))
            .map_err(|error| StepFailure::io("cannot watch the hooks", &error))?;
        self.running = Some(RunningModel { api, probe, unanswered });
        Ok(())
    }

    /// The stand-in agent as `claude` in the test's `PATH`.
    fn stand_in(&self, dirs: &TestDirs) -> StepResult<PathBuf> {
        let path = dirs.bin().join("claude");
        let hopty = self.hopty.display();
        let script = format!("#!/bin/sh\nexec '{hopty}' {AGENT_ARG} \"$@\"\n");
        fs::write(&path, script)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(|error| StepFailure::io("cannot make the stand-in", &error))?;
        Ok(path)
    }

    fn running_model(&self) -> StepResult<&RunningModel> {
        self.running.as_ref().ok_or_else(|| {
            StepFailure::command("no Claude was started")
                .hint("`Claude` or `Claude+StandIn` starts it with the scripted model")
        })
    }

    /// At the end: checks that every answer was requested, and every request had an answer.
    pub fn check_replies(&self) -> StepResult {
        let Some(running) = &self.running else {
            return match self.replies.len() {
                0 => Ok(()),
                n => Err(StepFailure::check(format!(
                    "{} of the tape not used: no Claude was started",
                    model_lines(n)
                ))),
            };
        };
        let asked = running.api.main_requests().len();
        let unanswered = *running.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        if unanswered > 0 {
            return Err(StepFailure::check(format!(
                "Claude asked the model {asked} times, and the tape has {}",
                model_lines(self.replies.len())
            ))
            .hint("add a `Model` line for each answer"));
        }
        if asked < self.replies.len() {
            let message = format!(
                "{} of the tape not used: Claude made {asked} of {} requests",
                model_lines(self.replies.len() - asked),
                self.replies.len()
            );
            return Err(StepFailure::check(message));
        }
        Ok(())
    }

    pub fn expect_request(
        &self,
        session: &mut TestSession,
        limit: Option<TapeTime>,
        number: Option<u32>,
        pattern: &TapePattern,
    ) -> StepResult {
        let wanted = session.workspace.pattern(pattern, true)?;
        let (running, limit) = (self.running_model()?, session.clock.check_limit(limit));
        let since = last_input(session);
        let is_in = |request: &ReceivedRequest| matches_text(&wanted, &request.text);
        let found = wait_beside(session, limit, |_| {
            let requests = running.requests();
            let count = requests.len();
            let Some(number) = number else {
                let new = requests.iter().filter(|request| since.is_none_or(|since| request.at >= since));
                let new: Vec<&ReceivedRequest> = new.collect();
                if new.iter().any(|request| is_in(request)) {
                    return Ok(());
                }
                return Err(match requests.iter().position(is_in) {
                    Some(at) => format!("{wanted} is in request {}, before the last input", at + 1),
                    None if new.len() < count => {
                        format!("{wanted} is in none of {} requests since the last input", new.len())
                    }
                    None => format!("{wanted} is in none of {count} requests"),
                });
            };
            match requests.get(index(number)) {
                Some(request) if is_in(request) => Ok(()),
                Some(_) => Err(format!("{wanted} is not in request {number}")),
                None => Err(format!("there was no request {number}; Claude made {count}")),
            }
        });
        found.map_err(|mut failure| {
            let requests = running.requests();
            if number.is_none()
                && let Some(at) = requests.iter().position(is_in)
            {
                failure.hint = Some(format!("`Expect+Request {}` looks at this request", at + 1));
                return failure;
            }
            let at = number.map_or(requests.len().saturating_sub(1), index);
            if let Some(line) = requests.get(at).and_then(|request| nearest_line(&wanted, &request.text)) {
                failure.message = format!("{}; nearest: {line:?}", failure.message);
            }
            failure
        })
    }

    /// What the model received so far, for the evidence of a failure; empty without requests.
    pub fn requests(&self) -> String {
        let requests = self.running.as_ref().map(RunningModel::requests).unwrap_or_default();
        let numbered = (1..).zip(requests);
        numbered.map(|(number, request)| format!("── request {number} ──\n{}\n", request.text)).collect()
    }

    pub fn expect_hook(&self, session: &mut TestSession, hook: &HookCommand) -> StepResult {
        let pattern =
            hook.pattern.as_ref().map(|pattern| session.workspace.pattern(pattern, true)).transpose()?;
        let mut payload = Vec::with_capacity(hook.payload.len());
        for (path, value) in &hook.payload {
            payload.push((path.clone(), session.workspace.text(value)?));
        }
        let (running, limit) = (self.running_model()?, session.clock.check_limit(hook.limit));
        let since_us = last_input_us(session);
        let event = &hook.event;
        let is_old = |call: &HookCall| hook.number.is_none() && call.began_us < since_us;
        let found = wait_beside(session, limit, |_| {
            let all = running.probe.calls().into_iter().filter(|call| call.event == *event);
            let all: Vec<HookCall> = all.collect();
            let calls: Vec<&HookCall> = match hook.number {
                Some(number) => all.get(index(number)).into_iter().collect(),
                None => all.iter().filter(|call| !is_old(call)).collect(),
            };
            let mut wrong = None;
            for call in calls {
                match hook_mismatch(call, hook.exit, pattern.as_ref(), &payload) {
                    None => return Ok(()),
                    Some(reason) => wrong = Some(reason),
                }
            }
            Err(match (wrong, hook.number) {
                (Some(reason), Some(number)) => format!("call {number} for {event}: {reason}"),
                (Some(reason), None) => format!("{event} was called, but {reason}"),
                (None, Some(number)) if !all.is_empty() => {
                    format!("there was no call {number} for {event}; {} so far", all.len())
                }
                (None, None) if !all.is_empty() => {
                    format!("no hook was called for {event} since the last input; {} before", all.len())
                }
                (None, _) => {
                    let mut called: Vec<String> =
                        running.probe.calls().into_iter().map(|call| call.event).collect();
                    called.dedup();
                    let called = if called.is_empty() { "none".to_owned() } else { called.join(", ") };
                    format!("no hook was called for {event}; called: {called}")
                }
            })
        });
        found.map_err(|mut failure| {
            let mut all = running.probe.calls().into_iter().filter(|call| call.event == *event);
            let right = all.position(|call| {
                is_old(&call) && hook_mismatch(&call, hook.exit, pattern.as_ref(), &payload).is_none()
            });
            if let Some(at) = right {
                let hint = format!("`Expect+Hook {} {event}` looks at a call before the last input", at + 1);
                failure.hint = Some(hint);
            }
            failure
        })
    }

    pub fn expect_status_line(
        &self,
        session: &mut TestSession,
        limit: Option<TapeTime>,
        pattern: &TapePattern,
    ) -> StepResult {
        let wanted = session.workspace.pattern(pattern, true)?;
        let (running, limit) = (self.running_model()?, session.clock.check_limit(limit));
        let since_us = last_input_us(session);
        wait_beside(session, limit, |_| {
            let calls = running.probe.calls();
            let last = calls.iter().rev().find(|call| call.event == STATUS_LINE);
            match last {
                Some(call) if call.began_us < since_us => Err(format!(
                    "Claude has not asked for the status line since the last input; before it was {:?}",
                    call.stdout.trim_end()
                )),
                Some(call) if matches_text(&wanted, &call.stdout) => Ok(()),
                Some(call) => Err(format!("the status line is {:?}", call.stdout.trim_end())),
                None => Err("no status line was asked for".to_owned()),
            }
        })
    }

    pub fn expect_state(
        &self,
        session: &mut TestSession,
        limit: Option<TapeTime>,
        state: AgentActivity,
    ) -> StepResult {
        self.running_model()?;
        let rules = ScreenRuleSet::builtin().map_err(|error| StepFailure::command(error.to_string()))?;
        let limit = session.clock.limit(limit, START_LIMIT);
        let sessions = session.workspace.dirs().home().join(".claude/sessions");
        let began = Instant::now();
        if let Some((named, terminal)) = session.terminals.current() {
            terminal.pump_now();
            // Claude shows the state of before the input until it has begun its turn. The screen of a busy
            // one never settles.
            if activity(terminal, &sessions, &rules) == Some(state) {
                let is_over = |terminal: &TestTerminal| {
                    activity(terminal, &sessions, &rules).is_some_and(|found| found != state)
                        || state == AgentActivity::Busy && !terminal.watch().new_rows(&named.mark).is_empty()
                };
                let settle = SettleRules::default();
                // Without an answer within the limit there will be none.
                let _ = terminal.settle_answer_unless(&named.mark, &settle, limit, &is_over);
            }
        }
        let limit = limit.saturating_sub(began.elapsed());
        let word = activity_word(state);
        let found = |session: &mut TestSession| {
            let (_, terminal) = session.terminals.current()?;
            activity(terminal, &sessions, &rules)
        };
        wait_beside(session, limit, |session| match found(session) {
            Some(found) if found == state => Ok(()),
            Some(found) => Err(format!("Claude is {}, not {word}", activity_word(found))),
            None => Err(format!("Claude shows no prompt yet, so it is not {word}")),
        })
    }
}

/// The model's answer with its variables resolved.
fn scripted_reply(workspace: &TestWorkspace, model: &ModelReply) -> StepResult<ScriptedReply> {
    let mut reply = match &model.error {
        Some(error) => {
            ScriptedReply::error(error.status, error.kind.clone(), workspace.text(&error.message)?)
        }
        None => {
            ScriptedReply::text(model.text.as_ref().map_or(Ok(String::new()), |text| workspace.text(text))?)
        }
    };
    for tool in &model.tools {
        let input = match &tool.input {
            ModelToolInput::Command(command) => {
                serde_json::json!({"command": workspace.text(command)?, "description": "scripted"})
            }
            ModelToolInput::Json(input) => input.clone(),
        };
        reply = reply.and_tool(tool.name.clone(), input);
    }
    if let Some(tokens) = model.tokens {
        reply.usage = ReplyUsage::filled(tokens);
    }
    reply.delay_ms = model.after.map_or(0, TapeTime::as_millis);
    reply.stream_ms = model.over.map_or(0, TapeTime::as_millis);
    for (name, value) in &model.headers {
        reply = reply.with_header(name.clone(), workspace.text(value)?);
    }
    Ok(reply)
}

/// Retries a condition while the terminal is served; its last message is the failure.
fn wait_beside(
    session: &mut TestSession,
    limit: Duration,
    mut holds: impl FnMut(&mut TestSession) -> Result<(), String>,
) -> StepResult {
    let began = Instant::now();
    let until = began + limit;
    loop {
        let Err(state) = holds(session) else { return Ok(()) };
        if Instant::now() >= until {
            let mut failure = StepFailure::new(FailureKind::Timeout, state);
            failure.times.took = began.elapsed();
            return Err(failure);
        }
        if let Some(end) = session.terminals.current_end() {
            let message = format!("Claude has ended ({}); {state}", end.words());
            return Err(StepFailure::new(FailureKind::ProgramEnd, message));
        }
        session.serve_until(until)?;
    }
}

/// When the last input was made in the current terminal.
fn last_input(session: &mut TestSession) -> Option<Instant> {
    session.terminals.current().map(|(_, terminal)| terminal.marked())
}

/// The same in µs since 1970, as the hook probe writes it; 0 without a program.
fn last_input_us(session: &mut TestSession) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = last_input(session).map(|at| now.saturating_sub(at.elapsed()));
    u64::try_from(at.unwrap_or_default().as_micros()).unwrap_or(0)
}

/// The index of the one with this number.
fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1)
}

/// What Claude is doing according to its screen and its file in `sessions`. Both must report idle, because
/// they do not report the start of a turn at the same time.
fn activity(terminal: &TestTerminal, sessions: &Path, rules: &ScreenRuleSet) -> Option<AgentActivity> {
    let screen = terminal.screen();
    let (cols, _) = screen.size();
    let cursor = screen.cursor();
    let text = ScreenText {
        cols: cols.into(),
        rows: screen.lines(),
        cursor: (cursor.col.into(), cursor.row.into()),
        title: screen.title().to_owned(),
        ..ScreenText::default()
    };
    let view = rules.read(&text);
    let said = reported_statuses(terminal.pid(), sessions);
    if view.dialog.is_some() || said.contains(&SessionsFileStatus::Waiting) {
        return Some(AgentActivity::Blocked);
    }
    if said.contains(&SessionsFileStatus::Busy)
        || view.title_state == TitleState::Busy
        || view.busy_hint == Some(true)
    {
        return Some(AgentActivity::Busy);
    }
    view.prompt_box.map(|_| AgentActivity::Idle)
}

/// What the Claude with this pid reports in its file; in a session of hopty, where Claude is another process,
/// what every running Claude of the test reports.
fn reported_statuses(pid: i32, sessions: &Path) -> Vec<SessionsFileStatus> {
    let read = |pid: i64| sessions_file::read(&sessions.join(format!("{pid}.json")));
    if let Some(own) = read(pid.into()) {
        return own.status.into_iter().collect();
    }
    let living = sessions_file::living(sessions).into_iter();
    living.filter_map(|claude| read(claude.pid.into())?.status).collect()
}

fn model_lines(n: usize) -> String {
    if n == 1 { "1 Model line".to_owned() } else { format!("{n} Model lines") }
}

fn activity_word(state: AgentActivity) -> &'static str {
    match state {
        AgentActivity::Busy => "busy",
        AgentActivity::Idle => "idle",
        AgentActivity::Blocked => "blocked",
    }
}

fn matches_text(pattern: &TextPattern, text: &str) -> bool {
    match pattern {
        TextPattern::Text(wanted) => text.contains(wanted.as_str()),
        TextPattern::Regex(regex) => regex.is_match(text),
    }
}

/// Why a hook call does not match.
fn hook_mismatch(
    call: &HookCall,
    exit: Option<i32>,
    pattern: Option<&TextPattern>,
    payload: &[(String, String)],
) -> Option<String> {
    if let Some(wanted) = exit.filter(|wanted| *wanted != call.code) {
        return Some(format!("exited with {}, not {wanted}", call.code));
    }
    let said = format!("{}{}", call.stdout, call.stderr);
    if let Some(pattern) = pattern.filter(|pattern| !matches_text(pattern, &said)) {
        return Some(format!("its output {:?} does not contain {pattern}", said.trim_end()));
    }
    for (path, wanted) in payload {
        let pointer = format!("/{}", path.replace('.', "/"));
        let Some(found) = call.payload.pointer(&pointer) else {
            return Some(format!("there is no payload.{path}"));
        };
        let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
        if found != *wanted {
            return Some(format!("payload.{path} is {found:?}, not {wanted:?}"));
        }
    }
    None
}
