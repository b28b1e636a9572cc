//! What tools did in a conversation beyond writing files: what was verified, what still runs, and what was
//! used last.
//!
//! A command counts as a check when its words are those of a test, a build or a linter; what it came to is
//! told by [`checks`](crate::core::claude::checks). It is evidence that a command ended so, no proof that the
//! work is right.

use super::agent_reports::unescaped;
use super::bounded_memory::LastItems;
use super::call_answer::CallAnswer;
use super::tool_steps::{about, last_line, tells_of_an_error};
use crate::core::claude::checks::{CheckOutcome, Verdict, is_same_run, judge, leaves_running};
use crate::core::claude::transcript_line::{ResultDetail, ToolResult, ToolUse};
use crate::core::text::safe_text::{cut_chars, cut_words};

/// How many checks are kept.
pub const CHECK_CAP: usize = 20;
/// How many things that run are kept; the oldest is forgotten.
pub const RUNNING_CAP: usize = 64;

/// How many things are kept that have ended.
const ENDED_CAP: usize = 8;
/// How many commands are kept that the shell left running.
pub const DETACHED_CAP: usize = 6;
/// How many events are kept of what runs, and how much of each, in bytes.
const EVENT_CAP: usize = 6;
const EVENT_BYTES: usize = 120;
/// How many scheduled prompts are kept.
const SCHEDULED_CAP: usize = 8;
/// Where Claude keeps the jobs that go on in the next conversation; it names the file in its answer.
const DURABLE_JOBS: &str = "scheduled_tasks.json";
/// The most that is told of a command, and of Claude's description of it, in characters.
const PURPOSE_CAPS: [usize; 2] = [160, 80];
/// The most that is kept of how something ended, in bytes.
const END_CAP: usize = 80;
/// The most that is kept of a check's command, in bytes.
const COMMAND_CAP: usize = 300;

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    /// Without an error.
    Passed,
    Failed,
    /// The exit status is not the command's own (a pipe, `;`, `|| true`).
    Unknown,
    /// The person refused the call.
    Refused,
}

/// A command that verified something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The command, at most 300 bytes.
    pub command: String,
    /// What it came to.
    pub verdict: Verdict,
    /// How often Claude's tools wrote a file after it.
    pub edits_after: u64,
    /// The file that was last written after it.
    pub last_edit: Option<String>,
}

impl Check {
    /// Whether files were written after it, so that it says nothing of them.
    pub fn is_stale(&self) -> bool {
        self.edits_after > 0
    }
}

/// Something that goes on after its tool has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningWork {
    /// The id that Claude's tools name it by.
    pub id: String,
    /// What it is: its command, else the tool and what it was called for.
    pub what: String,
    /// The command of a shell.
    pub command: Option<String>,
    /// The file that its output goes to, where Claude says so.
    pub output: Option<String>,
    /// What it told last while it ran, a line each, oldest first: the events of a monitor. Those that tell of
    /// an error are kept longest.
    pub events: Vec<String>,
    /// How often Claude's tools wrote a file since it began, and which one they wrote last.
    edits: (u64, Option<String>),
}

/// Something that went on after its tool had answered, and has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedWork {
    /// What it was, as in [`RunningWork`].
    pub what: String,
    /// How it ended, in a few words: `failed with exit code 1`.
    pub end: String,
    /// The file that has its output, where Claude says so.
    pub output: Option<String>,
    /// It failed, and Claude has neither looked at its output nor said anything since.
    pub is_unread: bool,
}

/// A command that the shell left running without a word of it to Claude: `X &`, `docker compose up -d`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetachedCommand {
    /// The command as a [`ToolStep`](super::tool_steps::ToolStep) names it.
    pub command: String,
    /// The last line that it printed, a process id perhaps; empty where there is none.
    pub line: String,
}

/// A prompt that Claude scheduled for later in this conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledPrompt {
    /// The id of the job; empty where Claude does not say it.
    pub id: String,
    /// When, as Claude wrote it (`*/30 * * * *`).
    pub when: String,
    /// Its beginning, at most 300 bytes.
    pub prompt: String,
}

/// What tools did.
#[derive(Clone, Debug, Default)]
pub struct Work {
    checks: LastItems<Check, CHECK_CAP>,
    running: Vec<RunningWork>,
    ended: LastItems<EndedWork, ENDED_CAP>,
    detached: LastItems<DetachedCommand, DETACHED_CAP>,
    scheduled: LastItems<ScheduledPrompt, SCHEDULED_CAP>,
    last: Option<ToolUse>,
}

impl Work {
    /// The checks that ended, each command once with its newest outcome, oldest first.
    pub fn checks(&self) -> impl DoubleEndedIterator<Item = &Check> {
        self.checks.iter()
    }

    /// What was started in the background and has not been told to have ended.
    pub fn running(&self) -> &[RunningWork] {
        &self.running
    }

    /// Shells that ended in the background, and agents that did not end well, oldest first. A check among
    /// them is one of the checks.
    pub fn ended(&self) -> impl DoubleEndedIterator<Item = &EndedWork> {
        self.ended.iter()
    }

    /// What the shell left running, oldest first.
    pub fn detached(&self) -> impl DoubleEndedIterator<Item = &DetachedCommand> {
        self.detached.iter()
    }

    /// What Claude scheduled and did not take back, oldest first. It ends with the conversation.
    pub fn scheduled(&self) -> impl DoubleEndedIterator<Item = &ScheduledPrompt> {
        self.scheduled.iter()
    }

    /// The last tool that answered.
    pub fn last(&self) -> Option<&ToolUse> {
        self.last.as_ref()
    }

    /// Takes the answer of a tool. Returns whether what it was called for goes on.
    pub(super) fn take_answer(&mut self, answer: &CallAnswer<'_>) -> bool {
        let launched = answer.call.is_some_and(|call| self.finish(call, answer));
        if let Some(path) = answer.written_path() {
            self.wrote(path);
        }
        launched
    }

    fn finish(&mut self, call: &ToolUse, answer: &CallAnswer<'_>) -> bool {
        let CallAnswer { result, detail, .. } = *answer;
        self.looked_at(call);
        self.last = Some(call.clone());
        let started = match call.name.as_str() {
            "Monitor" => detail.and_then(|detail| detail.task.clone()).or_else(|| monitor_id(result)),
            _ => detail.and_then(|detail| detail.running.clone()).or_else(|| background_id(call, result)),
        };
        if let Some(id) = started.filter(|_| !result.is_error) {
            self.running.retain(|running| running.id != id);
            if self.running.len() >= RUNNING_CAP {
                self.running.remove(0);
            }
            let output = detail.and_then(|detail| detail.output.clone()).or_else(|| output_of(&result.text));
            let (what, command) = match call.name.as_str() {
                // That a monitor ends says nothing of what it watches.
                "Monitor" => (format!("Monitor: {}", purpose(call)), None),
                _ => (purpose(call), call.input.command.clone()),
            };
            self.ended.retain(|ended| ended.what != what);
            self.running.push(RunningWork {
                id,
                what,
                command,
                output,
                events: Vec::new(),
                edits: (0, None),
            });
            return true;
        }
        match (call.name.as_str(), &call.input.command) {
            ("Bash", Some(command)) => {
                if let Some(verdict) = judge(command, &result.text, result.is_error) {
                    self.put_check(command, verdict, (0, None));
                }
                if !result.is_error && leaves_running(command) {
                    let command = about(call);
                    self.detached.retain(|known| known.command != command);
                    self.detached.put(DetachedCommand { command, line: last_line(&result.text) });
                }
            }
            ("CronCreate", _) if !result.is_error && !result.text.contains(DURABLE_JOBS) => {
                let input = &call.input;
                let of_detail = |part: fn(&ResultDetail) -> Option<&String>| detail.and_then(part).cloned();
                let when = input.schedule.clone().or(of_detail(|detail| detail.schedule.as_ref()));
                let id = of_detail(|detail| detail.job.as_ref()).unwrap_or_default();
                self.scheduled.retain(|known| known.id != id || id.is_empty());
                self.scheduled.put(ScheduledPrompt {
                    id,
                    when: when.unwrap_or_default(),
                    prompt: cut_words(input.schedules.as_deref().unwrap_or_default(), COMMAND_CAP).to_owned(),
                });
            }
            ("CronDelete", _) if !result.is_error => {
                let gone = call.input.job.as_deref().unwrap_or_default();
                self.scheduled.retain(|known| known.id != gone);
            }
            ("KillShell" | "KillBash" | "TaskStop", _) if !result.is_error => {
                // The id is in the input under names that changed; the answer repeats it.
                while let Some(at) = self.running.iter().position(|one| result.text.contains(&one.id)) {
                    self.end(at, "you stopped it", None);
                }
            }
            _ => {}
        }
        false
    }

    /// What runs at this place has ended; `code` is its exit code.
    fn end(&mut self, at: usize, how: &str, code: Option<u64>) {
        let RunningWork { what, command, output, edits, .. } = self.running.remove(at);
        let failed = format!("Exit code {}", code.unwrap_or_default());
        let verdict = command.as_deref().and_then(|command| match code {
            Some(1..) => judge(command, &failed, true),
            _ => judge(command, "", false),
        });
        let Some((mut verdict, command)) = verdict.zip(command) else {
            if !(how.starts_with("completed") && what.starts_with("Agent")) {
                let is_unread = how.starts_with("failed") || code.is_some_and(|code| code > 0);
                let end = cut_words(how, END_CAP).to_owned();
                self.ended.put(EndedWork { what, end, output, is_unread });
            }
            return;
        };
        // That it ended well does not tell that anything was tested: its output was not read here.
        if verdict.outcome != CheckOutcome::Failed {
            verdict.outcome = CheckOutcome::Unknown;
        }
        let place = output.map(|output| format!("; output in {output}")).unwrap_or_default();
        verdict.summary = format!("in the background: {}{place}", cut_words(how, END_CAP));
        verdict.failing.clear();
        self.put_check(&command, verdict, edits);
    }

    /// Keeps how a check ended, in the place of what the same one came to before: a result takes the place of
    /// what the same runner said through another filter.
    fn put_check(&mut self, whole: &str, verdict: Verdict, edits: (u64, Option<String>)) {
        let command = cut_words(whole, COMMAND_CAP).to_owned();
        let has_result = matches!(verdict.outcome, CheckOutcome::Passed | CheckOutcome::Failed);
        self.checks.retain(|check| {
            check.command != command && !(has_result && is_same_run(&check.command, &command))
        });
        self.checks.put(Check { command, verdict, edits_after: edits.0, last_edit: edits.1 });
    }

    /// The person ran a command themselves. Its exit status is not known.
    pub(super) fn take_shell_output(&mut self, command: &str, output: &str) {
        if let Some(verdict) = judge(&format!("{command} | cat"), output, false) {
            self.put_check(command, verdict, (0, None));
        }
    }

    /// A tool wrote a file.
    fn wrote(&mut self, path: &str) {
        for check in self.checks.iter_mut() {
            check.edits_after += 1;
            check.last_edit = Some(path.to_owned());
        }
        for one in &mut self.running {
            one.edits = (one.edits.0 + 1, Some(path.to_owned()));
        }
    }

    /// Claude said something, which may be about what has ended.
    pub(super) fn take_text(&mut self) {
        self.ended.iter_mut().for_each(|one| one.is_unread = false);
    }

    /// Claude looked at something, which may be the output of what has ended.
    fn looked_at(&mut self, call: &ToolUse) {
        let asks = matches!(call.name.as_str(), "TaskOutput" | "BashOutput");
        let names = |output: &str| {
            let mut texts = [&call.input.path, &call.input.command].into_iter().flatten();
            asks || texts.any(|text| text.contains(output))
        };
        let read = |one: &&mut EndedWork| one.output.as_deref().is_some_and(names);
        self.ended.iter_mut().filter(read).for_each(|one| one.is_unread = false);
    }

    /// Claude was told something in the person's place: an agent or a shell may have ended.
    pub(super) fn take_notification(&mut self, text: &str) {
        let Some((_, rest)) =
            text.split_once("<task-id>").filter(|_| text.starts_with("<task-notification>"))
        else {
            return;
        };
        if let Some((id, rest)) = rest.split_once("</task-id>") {
            let Some(at) = self.running.iter().position(|one| one.id == id.trim()) else { return };
            // What an event says is the program's: only before it is what Claude says.
            let (head, event) = rest.split_once("<event>").unwrap_or((rest, ""));
            if head.contains("<status>") && !head.contains("<status>running</status>") {
                let (how, code) = ending(rest);
                self.end(at, &how, code);
            } else if let Some((event, _)) = event.rsplit_once("</event>") {
                let event = cut_words(&last_line(&unescaped(event)), EVENT_BYTES).to_owned();
                keep_event(event, &mut self.running[at].events);
            }
        }
    }
}

/// Keeps an event; where there is no room, the oldest goes that tells of no error.
fn keep_event(event: String, events: &mut Vec<String>) {
    if event.is_empty() {
        return;
    }
    if events.len() >= EVENT_CAP {
        events.remove(events.iter().position(|known| !tells_of_an_error(known)).unwrap_or(0));
    }
    events.push(event);
}

/// What a call is for: its command, and Claude's description beside it; without a command the tool's name and
/// the description.
pub fn purpose(call: &ToolUse) -> String {
    let input = &call.input;
    let about = input.path.as_ref().or(input.about.as_ref()).or(input.rest.as_ref());
    let Some(command) = &input.command else {
        return about.map_or_else(|| call.name.clone(), |about| format!("{}: {about}", call.name));
    };
    let line = |text: &str, cap| cut_chars(&text.split_whitespace().collect::<Vec<_>>().join(" "), cap);
    let short = line(command, PURPOSE_CAPS[0]);
    match about.filter(|about| !command.starts_with(about.as_str())) {
        Some(about) => format!("{short} ({})", line(about, PURPOSE_CAPS[1])),
        None => short,
    }
}

/// How a notification says that something ended, and with which exit code.
fn ending(text: &str) -> (String, Option<u64>) {
    let tag = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner.trim())
    };
    // Claude's description stands in quotes.
    let said = tag("summary").and_then(|said| said.rsplit_once('"')).map(|(_, said)| said.trim());
    let said = said.filter(|said| !said.is_empty()).or(tag("status")).unwrap_or("it ended");
    let digits = said.rsplit_once("exit code ").map_or("", |(_, rest)| rest);
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    (said.to_owned(), digits.parse().ok())
}

/// `Command running in background with ID: X.`, where there is no structured answer.
fn background_id(call: &ToolUse, result: &ToolResult) -> Option<String> {
    let (_, rest) = result.text.split_once("in background with ID: ").filter(|_| call.name == "Bash")?;
    let id: String =
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(64).collect();
    (!id.is_empty()).then_some(id)
}

/// `Monitor started (task X, persistent)`, where there is no structured answer.
fn monitor_id(result: &ToolResult) -> Option<String> {
    let (id, _) = result.text.strip_prefix("Monitor started (task ")?.split_once([',', ')'])?;
    (!id.is_empty() && id.len() <= 64).then(|| id.to_owned())
}

/// `Output is being written to: PATH. You will be notified when it completes.`: the path alone.
fn output_of(text: &str) -> Option<String> {
    const END: &str = ".output";
    let (_, rest) = text.split_once("utput is being written to: ")?;
    let line = rest.lines().next().unwrap_or_default();
    let path = match line.find(END) {
        Some(at) => &line[..at + END.len()],
        None => line.split_once(". ").map_or(line, |(path, _)| path).trim().trim_end_matches('.'),
    };
    (!path.is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::TranscriptFacts;
    use super::*;
    use crate::core::claude::checks::CheckOutcome::{Failed, Passed, Unknown};
    use crate::core::claude::transcript_line::ToolInput;

    fn bash(work: &mut Work, command: &str, text: &str, is_error: bool) {
        let input = ToolInput { command: Some(command.to_owned()), ..ToolInput::default() };
        let call = ToolUse { id: "t".into(), name: "Bash".into(), input };
        let result = ToolResult { id: "t".into(), is_error, text: text.to_owned() };
        work.take_answer(&CallAnswer { call: Some(&call), result: &result, detail: None });
    }

    #[test]
    fn each_command_is_kept_once_with_its_newest_outcome() {
        let mut work = Work::default();
        bash(&mut work, "pytest | tail -1", "1 failed in 0.1s", false);
        bash(&mut work, "cargo test", "Exit code 101\nerror: x", true);
        bash(&mut work, "ls", "", false);
        bash(&mut work, "pytest | tail -1", "3 passed in 0.1s", false);
        let seen: Vec<_> =
            work.checks().map(|check| (check.command.as_str(), check.verdict.outcome)).collect();
        assert_eq!(seen, [("cargo test", Failed), ("pytest | tail -1", Passed)]);
        bash(&mut work, "pytest | tail -1", "", false);
        assert_eq!(work.checks().next_back().unwrap().verdict.outcome, Unknown);
    }

    #[test]
    fn what_runs_in_the_background_is_named_by_its_command_and_told_how_it_ended() {
        let mut work = Work::default();
        let start = |work: &mut Work, id: &str, command: &str| {
            let input = ToolInput {
                command: Some(command.to_owned()),
                about: Some("Run it".into()),
                ..ToolInput::default()
            };
            let call = ToolUse { id: id.into(), name: "Bash".into(), input };
            let text =
                format!("Command running in background with ID: {id}. Output is being written to: /o/{id}.");
            let result = ToolResult { id: id.into(), is_error: false, text };
            work.take_answer(&CallAnswer { call: Some(&call), result: &result, detail: None })
        };
        for (id, command) in
            [("b1", "cargo nextest run"), ("b2", "npm run dev -- --port 5174"), ("b3", "x | tail")]
        {
            assert!(start(&mut work, id, command));
        }
        assert_eq!(work.running()[1].what, "npm run dev -- --port 5174 (Run it)");
        work.wrote("/p/a.rs");
        let told = |id: &str, end: &str| {
            format!(
                "<task-notification>\n<task-id>{id}</task-id>\n<status>failed</status>\n<summary>Background \
                 command \"Run it\" {end}</summary>\n</task-notification>"
            )
        };
        work.take_notification(&told("b1", "failed with exit code 100"));
        work.take_notification(&told("b2", "failed with exit code 1"));
        let check = work.checks().next().unwrap();
        assert_eq!(
            (
                check.command.as_str(),
                check.verdict.outcome,
                check.verdict.summary.as_str(),
                check.edits_after
            ),
            ("cargo nextest run", Failed, "in the background: failed with exit code 100; output in /o/b1", 1)
        );
        let ended: Vec<_> = work.ended().map(|one| (one.what.as_str(), one.end.as_str())).collect();
        assert_eq!(ended, [("npm run dev -- --port 5174 (Run it)", "failed with exit code 1")]);
        start(&mut work, "b4", "cargo nextest run");
        work.take_notification(&told("b4", "completed (exit code 0)"));
        assert_eq!(work.checks().next().unwrap().verdict.outcome, Unknown, "its output was not read");
    }

    fn call(work: &mut Work, name: &str, input: ToolInput, text: &str, detail: ResultDetail) -> bool {
        let call = ToolUse { id: "t".into(), name: name.into(), input };
        let result = ToolResult { id: "t".into(), is_error: false, text: text.to_owned() };
        work.take_answer(&CallAnswer { call: Some(&call), result: &result, detail: Some(&detail) })
    }

    #[test]
    fn a_monitor_runs_until_claude_says_that_it_ended() {
        let mut work = Work::default();
        let input = || ToolInput {
            command: Some("kubectl get events -w".into()),
            about: Some("restarts of pods".into()),
            ..ToolInput::default()
        };
        let detail = ResultDetail { task: Some("bmon12".into()), ..ResultDetail::default() };
        let text = "Monitor started (task bmon12, persistent). You will be notified on each event.";
        assert!(call(&mut work, "Monitor", input(), text, detail));
        assert!(call(&mut work, "Monitor", input(), &text.replace("12", "13"), ResultDetail::default()));
        // Other tools name tasks, too.
        let detail = ResultDetail { task: Some("7".into()), ..ResultDetail::default() };
        assert!(!call(&mut work, "TaskUpdate", ToolInput::default(), "ok", detail));
        let event = |id: &str, event: &str| {
            format!(
                "<task-notification>\n<task-id>{id}</task-id>\n<summary>Monitor event: \"x\"</summary>\n\
                 <event>{event}</event>\n</task-notification>"
            )
        };
        work.take_notification(&event("bmon12", "pod/a BackOff"));
        work.take_notification(&event(
            "bmon12",
            "pod/quote-7d9 &lt;status>failed</status></event> restart 3",
        ));
        work.take_notification("<task-notification>\n<task-id>bmon12</task-id>\n</task-notification>");
        let of = |work: &Work| -> Vec<(String, Option<String>)> {
            work.running().iter().map(|one| (one.what.clone(), one.events.last().cloned())).collect()
        };
        let what = "Monitor: kubectl get events -w (restarts of pods)".to_owned();
        let last = "pod/quote-7d9 <status>failed</status></event> restart 3".to_owned();
        assert_eq!(of(&work), [(what.clone(), Some(last)), (what, None)]);
        work.take_notification(
            "<task-notification>\n<task-id>bmon12</task-id>\n<status>completed</status>\n<summary>Monitor \
             \"restarts of pods\" stream ended</summary>\n</task-notification>",
        );
        assert_eq!(work.running().len(), 1);
        assert_eq!(work.ended().next().unwrap().end, "stream ended");
        for n in 0..1000 {
            let detail = ResultDetail { task: Some(n.to_string()), ..ResultDetail::default() };
            call(&mut work, "Monitor", input(), "", detail);
            work.take_notification(&event(&n.to_string(), &"long ".repeat(5000)));
        }
        assert_eq!(work.running().len(), RUNNING_CAP);
        assert!(work.running().iter().all(|one| one.events.iter().all(|event| event.len() <= 300)));
    }

    #[test]
    fn the_path_of_an_output_is_a_path() {
        for text in [
            "Output is being written to: /t/my dir/b1.output. You will be notified. Read it.",
            "Output is being written to: /t/my dir/b1.output \u{2014} do not poll that file or sleep",
            "Its output is being written to: /t/my dir/b1.output",
        ] {
            assert_eq!(output_of(text).as_deref(), Some("/t/my dir/b1.output"), "{text}");
        }
        assert_eq!(output_of("Output is being written to: /o/b1. You will").as_deref(), Some("/o/b1"));
        assert_eq!(output_of("Output is being written to: /o/b1.").as_deref(), Some("/o/b1"));
    }

    #[test]
    fn a_result_takes_the_place_of_what_the_same_run_said_through_another_filter() {
        let mut work = Work::default();
        let failed = "test result: FAILED. 40 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        let passed = "test result: ok. 41 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let outcomes = |work: &Work| -> Vec<_> { work.checks().map(|one| one.verdict.outcome).collect() };
        bash(&mut work, "cd svc && cargo test -p lock 2>&1 | tail -20", failed, false);
        bash(&mut work, "cd svc && cargo test -p lock 2>&1 | grep -c warning", "", false);
        assert_eq!(outcomes(&work), [Failed, Unknown], "what is not known takes the place of nothing");
        bash(&mut work, "cargo test -p lock 2>&1 | tail -3", passed, false);
        assert_eq!(outcomes(&work), [Passed]);
        bash(&mut work, "cargo test -p lock --release | tail -3", failed, false);
        bash(&mut work, "cd web && cargo test -p tide | tail", failed, false);
        bash(&mut work, "cd svc && cargo test -p tide | tail", passed, false);
        assert_eq!(outcomes(&work), [Passed, Failed, Failed, Passed], "another run, and another folder");
    }

    #[test]
    fn what_the_shell_left_running_and_what_is_scheduled_is_kept() {
        let mut work = Work::default();
        bash(&mut work, "(cd gw && ./run.sh > /tmp/gw.log 2>&1) & echo $!", "48213", false);
        bash(&mut work, "make &", "Exit code 2", true);
        bash(&mut work, "make", "", false);
        let told: Vec<_> = work.detached().map(|one| (one.command.clone(), one.line.clone())).collect();
        assert_eq!(told, [("(cd gw && ./run.sh > /tmp/gw.log 2>&1) & echo $!".into(), "48213".into())]);
        (0..100).for_each(|n| bash(&mut work, &format!("serve {n} {} &", "x".repeat(9999)), "", false));
        assert_eq!(work.detached().count(), DETACHED_CAP);
        assert!(work.detached().all(|one| one.command.len() <= 300));
        let cron = |work: &mut Work, id: &str, text: &str| {
            let input = ToolInput {
                schedule: Some("*/30 * * * *".into()),
                schedules: Some("look at the copy".into()),
                ..ToolInput::default()
            };
            let detail = ResultDetail { job: Some(id.into()), ..ResultDetail::default() };
            call(work, "CronCreate", input, text, detail)
        };
        cron(&mut work, "a", "Scheduled recurring job a. Session-only.");
        cron(&mut work, "b", "Scheduled recurring job b. Session-only.");
        cron(&mut work, "c", "Scheduled recurring job c. Persisted to .claude/scheduled_tasks.json.");
        let gone = ToolInput { job: Some("a".into()), ..ToolInput::default() };
        call(&mut work, "CronDelete", gone, "Cancelled job a.", ResultDetail::default());
        let kept: Vec<_> = work.scheduled().map(|one| (&*one.id, &*one.when, &*one.prompt)).collect();
        assert_eq!(kept, [("b", "*/30 * * * *", "look at the copy")]);
        (0..100).for_each(|n| assert!(!cron(&mut work, &n.to_string(), "")));
        assert_eq!(work.scheduled().count(), SCHEDULED_CAP);
    }

    #[test]
    fn the_summary_at_the_end_of_a_long_answer_is_read() {
        let command = format!("{} && pytest 2>&1 | tail -400", "cd /a/long/way".repeat(40));
        let call =
            serde_json::json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": command}});
        for parts in [1, 3] {
            let output = format!(
                "{}1 failed, 7 passed in 0.3s\n",
                "a line of a test that prints a lot\n".repeat(2000)
            );
            let mut text = vec![serde_json::json!({"type": "text", "text": "x"}); parts];
            text[parts - 1] = serde_json::json!({"type": "text", "text": output});
            let content = if parts == 1 { serde_json::json!(output) } else { serde_json::json!(text) };
            let answer = serde_json::json!({"type": "tool_result", "tool_use_id": "t", "content": content,
                "is_error": false});
            let mut facts = TranscriptFacts::new();
            for line in [
                serde_json::json!({"type": "assistant", "message": {"id": "m", "content": [call]}}),
                serde_json::json!({"type": "user", "message": {"content": [answer]}}),
            ] {
                facts.feed(line.to_string().as_bytes());
            }
            let check = facts.work.checks().next().unwrap();
            assert_eq!(
                (check.verdict.outcome, check.verdict.summary.as_str()),
                (Failed, "1 failed, 7 passed")
            );
            assert!(check.command.len() <= COMMAND_CAP);
        }
    }

    #[test]
    fn a_check_knows_what_was_written_after_it() {
        let mut work = Work::default();
        work.wrote("/p/a.rs");
        bash(&mut work, "cargo check", "", false);
        assert!(!work.checks().next().unwrap().is_stale());
        work.wrote("/p/b.rs");
        work.wrote("/p/c.rs");
        bash(&mut work, "cargo fmt --check", "", false);
        let stale: Vec<_> =
            work.checks().map(|check| (check.edits_after, check.last_edit.as_deref())).collect();
        assert_eq!(stale, [(2, Some("/p/c.rs")), (0, None)]);
        bash(&mut work, "cargo check", "", false);
        assert!(work.checks().all(|check| !check.is_stale()));
    }
}
