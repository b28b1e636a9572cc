//! Claude Code in a test: the real program or the stand-in agent in a home that is ready for it, a model that
//! answers what the tape says, and hooks that are watched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;

use super::TapePlayer;
use super::step_failure::{StepFailure, StepResult};
use crate::claude::sessions_file;
use crate::core::claude::screen_reading::{ScreenRuleSet, ScreenText, TitleState};
use crate::core::supervisor::event::AgentStatus;
use crate::core::tape::{
    AgentActivity, HookCommand, ModelReply, ModelToolInput, TapeCommand, TapePattern, TapeText, TapeTime,
};
use crate::standin::AGENT_ARG;
use crate::standin::api::Api;
use crate::standin::home;
use crate::standin::script::{ReplyUsage, Script, ScriptedReply};
use crate::testing::hook_probe::{HookCall, HookProbe, STATUS_LINE};
use crate::testing::look::TextPattern;
use crate::testing::outcome::FailureKind;

/// A key that opens nothing.
const KEY: &str = "sk-ant-test-0123456789-abcdefghijklmnopqrst";
/// What the model says when the tape has no answer left. The tape fails then.
const NO_REPLY: &str = "(the tape has no Model line for this request)";
/// What Claude needs until it can be typed into, in the worst case.
const START_LIMIT: TapeTime = TapeTime::from_millis(30_000);

/// Everything about Claude in one test.
#[derive(Default)]
pub(super) struct ClaudeTest {
    replies: Vec<ScriptedReply>,
    plugins: Vec<PathBuf>,
    running: Option<RunningModel>,
}

/// The model that answers, and the probe of the hooks.
struct RunningModel {
    api: Api,
    probe: HookProbe,
    /// Requests for which there was no answer.
    unanswered: Arc<Mutex<usize>>,
}

impl TapePlayer<'_> {
    /// All answers of the tape, before anything is started.
    pub(super) fn collect_model_script(&mut self) -> StepResult {
        let tape = self.tape;
        for step in tape.steps.iter().filter(|step| !step.ignored) {
            if let TapeCommand::Model(reply) = &step.command {
                let reply = self.reply(reply).map_err(|failure| failure.at(&step.span))?;
                self.claude.replies.push(reply);
            }
        }
        Ok(())
    }

    fn reply(&self, model: &ModelReply) -> StepResult<ScriptedReply> {
        let mut reply = match &model.error {
            Some(error) => ScriptedReply::error(error.status, error.kind.clone(), self.workspace.text(&error.message)?),
            None => {
                ScriptedReply::text(model.text.as_ref().map_or(Ok(String::new()), |text| self.workspace.text(text))?)
            }
        };
        for tool in &model.tools {
            let input = match &tool.input {
                ModelToolInput::Command(command) => {
                    serde_json::json!({"command": self.workspace.text(command)?, "description": "scripted"})
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
            reply = reply.with_header(name.clone(), self.workspace.text(value)?);
        }
        Ok(reply)
    }

    pub(super) fn add_plugin(&mut self, dir: &TapeText) -> StepResult {
        let dir = self.workspace.text(dir)?;
        let from = self.workspace.tape_dir().join(&dir);
        let name = from.file_name().map_or_else(|| "plugin".into(), std::ffi::OsString::from);
        let to = self.workspace.dirs().base().join("plugins").join(name);
        fs::create_dir_all(to.parent().unwrap_or(&to))
            .and_then(|()| super::test_files::copy_tree(&from, &to))
            .map_err(|error| {
                StepFailure::io(&format!("cannot copy the plugin {}", from.display()), &error)
            })?;
        self.claude.plugins.push(to);
        Ok(())
    }

    pub(super) fn start_claude(&mut self, words: &[TapeText], is_stand_in: bool) -> StepResult {
        let program = if is_stand_in { self.stand_in()? } else { self.real_claude()? };
        self.start_model()?;
        let Some(running) = &self.claude.running else { return Ok(()) };
        let failed = |what: &str, error: &std::io::Error| StepFailure::io(what, error);
        let home = self.workspace.dirs().home();
        home::seed(&home, self.workspace.dirs().dir(), KEY)
            .map_err(|error| failed("cannot make Claude's home", &error))?;
        let mut settings = vec![
            self.workspace.dirs().dir().join(".claude/settings.json"),
            self.workspace.dirs().dir().join(".claude/settings.local.json"),
            home.join(".claude/settings.json"),
        ];
        settings.extend(self.claude.plugins.iter().map(|plugin| plugin.join("hooks/hooks.json")));
        for file in settings {
            running.probe.wrap_file(&file).map_err(|error| failed("cannot watch the hooks", &error))?;
        }
        let mut env = home::environment(&home, &running.api.url(), KEY);
        // A tape may set its own.
        env.retain(|(name, _)| !self.workspace.sets(name));
        let mut argv = vec![program.into_os_string()];
        if !words.iter().any(|word| word.as_str() == "--model") {
            argv.extend(["--model".into(), "claude-sonnet-4-5".into()]);
        }
        for plugin in &self.claude.plugins {
            argv.extend(["--plugin-dir".into(), plugin.clone().into_os_string()]);
        }
        argv.extend(self.workspace.words(words)?);
        self.start_with(argv, &env)
    }

    /// Starts the model once for all of a test.
    fn start_model(&mut self) -> StepResult {
        if self.claude.running.is_some() {
            return Ok(());
        }
        let unanswered = Arc::new(Mutex::new(0));
        let (count, replies) = (Arc::clone(&unanswered), self.claude.replies.clone());
        let script = Script::each(move |_, number| {
            replies.get(number).cloned().unwrap_or_else(|| {
                *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                ScriptedReply::text(NO_REPLY)
            })
        });
        let api = Api::start(script).map_err(|error| StepFailure::io("cannot start the model", &error))?;
        let probe = HookProbe::new(&self.options.hopty, &self.workspace.dirs().base().join("hooks"))
            .map_err(|error| StepFailure::io("cannot watch the hooks", &error))?;
        self.claude.running = Some(RunningModel { api, probe, unanswered });
        Ok(())
    }

    fn real_claude(&self) -> StepResult<PathBuf> {
        self.options.claude.clone().ok_or_else(|| StepFailure::skip("Claude Code is not installed"))
    }

    /// A program that is the stand-in agent, as `claude` in the test's `PATH`.
    fn stand_in(&self) -> StepResult<PathBuf> {
        let path = self.workspace.dirs().bin().join("claude");
        let hopty = self.options.hopty.display();
        let script = format!("#!/bin/sh\nexec '{hopty}' {AGENT_ARG} \"$@\"\n");
        fs::write(&path, script)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .map_err(|error| StepFailure::io("cannot make the stand-in", &error))?;
        Ok(path)
    }

    fn running_model(&self) -> StepResult<&RunningModel> {
        self.claude.running.as_ref().ok_or_else(|| {
            Box::new(
                StepFailure::new(FailureKind::Command, "no Claude was started")
                    .hint("`Claude` or `Claude+StandIn` starts it with the scripted model"),
            )
        })
    }

    /// At the end: every answer was asked for, and every request had one.
    pub(super) fn check_model_script(&mut self) -> StepResult {
        let Some(running) = &self.claude.running else {
            return match self.claude.replies.len() {
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
            return Err(Box::new(
                StepFailure::new(
                    FailureKind::Check,
                    format!(
                        "Claude asked the model {asked} times, and the tape has {}",
                        model_lines(self.claude.replies.len())
                    ),
                )
                .hint("add a `Model` line for each answer"),
            ));
        }
        if asked < self.claude.replies.len() {
            let message = format!(
                "{} of the tape not used: Claude made {asked} of {} requests",
                model_lines(self.claude.replies.len() - asked),
                self.claude.replies.len()
            );
            return Err(StepFailure::check(message));
        }
        Ok(())
    }

    /// Tries a condition again and again while the terminal is served; what it says last is the failure.
    fn wait_beside(
        &mut self,
        limit: Option<TapeTime>,
        usual: TapeTime,
        mut holds: impl FnMut(&mut Self) -> StepResult<Result<(), String>>,
    ) -> StepResult {
        let began = Instant::now();
        let until = began + self.clock.limit(limit, usual);
        loop {
            let Err(state) = holds(self)? else { return Ok(()) };
            if Instant::now() >= until {
                let mut failure = StepFailure::new(FailureKind::Timeout, state);
                failure.times.took = began.elapsed();
                return Err(Box::new(failure));
            }
            if let Some(end) = self.session.current_end() {
                let message = format!("Claude has ended ({}); {state}", end.words());
                return Err(Box::new(StepFailure::new(FailureKind::ProgramEnd, message)));
            }
            self.serve_until(until)?;
        }
    }

    pub(super) fn expect_request(
        &mut self,
        limit: Option<TapeTime>,
        number: Option<u32>,
        pattern: &TapePattern,
    ) -> StepResult {
        let wanted = self.workspace.pattern(pattern, true)?;
        let usual = self.settings.expect_timeout;
        self.wait_beside(limit, usual, |player| {
            let requests = player.running_model()?.api.main_requests();
            let texts: Vec<String> = requests.iter().map(|request| request_text(request)).collect();
            let is_in = |text: &String| matches_text(&wanted, text);
            let holds = match number {
                Some(number) => {
                    let at = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
                    texts.get(at).is_some_and(is_in)
                }
                None => texts.iter().any(is_in),
            };
            let count = texts.len();
            Ok(if holds {
                Ok(())
            } else {
                Err(match number {
                    Some(number) if usize::try_from(number).is_ok_and(|n| n > count) => {
                        format!("there was no request {number}; Claude made {count}")
                    }
                    Some(number) => format!("{wanted} is not in request {number}"),
                    None => format!("{wanted} is in none of {count} requests"),
                })
            })
        })
    }

    pub(super) fn expect_hook(&mut self, hook: &HookCommand) -> StepResult {
        let pattern = hook.pattern.as_ref().map(|pattern| self.workspace.pattern(pattern, true)).transpose()?;
        let mut payload = Vec::with_capacity(hook.payload.len());
        for (path, value) in &hook.payload {
            payload.push((path.clone(), self.workspace.text(value)?));
        }
        let usual = self.settings.expect_timeout;
        self.wait_beside(hook.limit, usual, |player| {
            let running = player.running_model()?;
            let calls: Vec<HookCall> =
                running.probe.calls().into_iter().filter(|call| call.event == hook.event).collect();
            let mut wrong = None;
            for call in &calls {
                match hook_mismatch(call, hook.exit, pattern.as_ref(), &payload) {
                    None => return Ok(Ok(())),
                    Some(reason) => wrong = Some(reason),
                }
            }
            Ok(Err(match wrong {
                Some(reason) => format!("{} was called, but {reason}", hook.event),
                None => {
                    let mut called: Vec<String> =
                        running.probe.calls().into_iter().map(|call| call.event).collect();
                    called.dedup();
                    let called = if called.is_empty() { "none".to_owned() } else { called.join(", ") };
                    format!("no hook was called for {}; called: {called}", hook.event)
                }
            }))
        })
    }

    pub(super) fn expect_status_line(
        &mut self,
        limit: Option<TapeTime>,
        pattern: &TapePattern,
    ) -> StepResult {
        let wanted = self.workspace.pattern(pattern, true)?;
        let usual = self.settings.expect_timeout;
        self.wait_beside(limit, usual, |player| {
            let calls = player.running_model()?.probe.calls();
            let last = calls.iter().rev().find(|call| call.event == STATUS_LINE);
            Ok(match last {
                Some(call) if matches_text(&wanted, &call.stdout) => Ok(()),
                Some(call) => Err(format!("the status line is {:?}", call.stdout.trim_end())),
                None => Err("no status line was asked for".to_owned()),
            })
        })
    }

    pub(super) fn expect_state(&mut self, limit: Option<TapeTime>, state: AgentActivity) -> StepResult {
        self.running_model()?;
        let rules = ScreenRuleSet::builtin().map_err(|error| StepFailure::command(error.to_string()))?;
        let usual = if limit.is_none() { START_LIMIT } else { self.settings.expect_timeout };
        let word = activity_word(state);
        self.wait_beside(limit, usual, |player| {
            let found = player.activity(&rules);
            Ok(match found {
                Some(found) if found == state => Ok(()),
                Some(found) => Err(format!("Claude is {}, not {word}", activity_word(found))),
                None => Err(format!("Claude shows no prompt yet, so it is not {word}")),
            })
        })
    }

    /// What Claude is doing by its screen and its sessions file. Both must agree on idle, because a turn
    /// begins in the one before it does in the other.
    fn activity(&mut self, rules: &ScreenRuleSet) -> Option<AgentActivity> {
        let home = self.workspace.dirs().home();
        let (_, terminal) = self.session.current()?;
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
        let file = home.join(".claude/sessions").join(format!("{}.json", terminal.pid()));
        let said = sessions_file::read(&file).and_then(|said| said.status);
        if view.dialog.is_some() || said == Some(AgentStatus::Waiting) {
            return Some(AgentActivity::Blocked);
        }
        if said == Some(AgentStatus::Busy)
            || view.title_state == TitleState::Busy
            || view.busy_hint == Some(true)
        {
            return Some(AgentActivity::Busy);
        }
        view.prompt_box.map(|_| AgentActivity::Idle)
    }
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

/// Everything that a request says, a part a line.
fn request_text(request: &crate::standin::request::ApiRequest) -> String {
    let parts: Vec<String> = request.texts().into_iter().map(|(_, text)| text).collect();
    parts.join("\n")
}

/// Why a call is not the one that is expected.
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
        let found = call.payload.pointer(&pointer).map_or("nothing".to_owned(), |value| match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        });
        if found != *wanted {
            return Some(format!("payload.{path} is {found:?}, not {wanted:?}"));
        }
    }
    None
}
