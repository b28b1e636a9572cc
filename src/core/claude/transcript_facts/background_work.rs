//! Work that continues after its tool has answered: shells in the background, monitors, agents, and processes
//! that a command left running.

use super::agent_reports::unescaped;
use super::bounded_memory::LastItems;
use super::call_answer::{CallAnswer, purpose};
use super::check_history::{CheckHistory, EditsSince};
use super::tool_steps::{about, last_line, mentions_error};
use crate::core::claude::checks::{CheckOutcome, judge, leaves_running};
use crate::core::claude::transcript_line::{ToolResult, ToolUse};
use crate::core::text::safe_text::cut_words;

/// How many running things are kept; the oldest is forgotten.
pub const RUNNING_CAP: usize = 64;
/// How many ended things are kept.
const ENDED_CAP: usize = 8;
/// How many commands are kept that the shell left running.
pub const DETACHED_CAP: usize = 6;
/// The most events of one running thing, and the length of each, in bytes.
const EVENT_CAP: usize = 6;
const EVENT_BYTES: usize = 120;
/// The most that is kept of how something ended, in bytes.
const END_CAP: usize = 80;

/// Something that continues after its tool has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningWork {
    /// The id by which Claude's tools refer to it.
    pub id: String,
    /// Its command; without one its tool and the argument of the call.
    pub what: String,
    /// The command, if it is a shell.
    pub command: Option<String>,
    /// The file that its output goes to, if Claude names one.
    pub output: Option<String>,
    /// The last events of a monitor, one line each, oldest first. Events that mention an error are kept
    /// longest.
    pub events: Vec<String>,
    /// Events that came from the queue and may get a line of their own later.
    queued: Vec<String>,
    /// The files that were written since it started.
    edits: EditsSince,
}

/// Something that ran in the background and has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedWork {
    /// As in [`RunningWork`].
    pub what: String,
    /// How it ended, in a few words: `failed with exit code 1`.
    pub end: String,
    /// The file with its output, if Claude names one.
    pub output: Option<String>,
    /// It failed, and since then Claude has neither read its output nor written anything.
    pub is_unread: bool,
}

/// A command that the shell left running without telling Claude: `X &`, `docker compose up -d`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetachedCommand {
    /// The command as a [`ToolStep`](super::tool_steps::ToolStep) names it.
    pub command: String,
    /// The last line that it printed, perhaps a process id; empty if it printed none.
    pub line: String,
}

#[derive(Clone, Debug, Default)]
pub struct BackgroundWork {
    running: Vec<RunningWork>,
    ended: LastItems<EndedWork, ENDED_CAP>,
    detached: LastItems<DetachedCommand, DETACHED_CAP>,
}

impl BackgroundWork {
    /// Everything that was started and has not been reported to have ended.
    pub fn running(&self) -> &[RunningWork] {
        &self.running
    }

    /// Shells that ended, and agents that failed, oldest first. A check is in [`CheckHistory`] instead.
    pub fn ended(&self) -> impl DoubleEndedIterator<Item = &EndedWork> {
        self.ended.iter()
    }

    /// Commands that the shell left running, oldest first.
    pub fn detached(&self) -> impl DoubleEndedIterator<Item = &DetachedCommand> {
        self.detached.iter()
    }

    /// Takes the answer of a tool. Returns whether the tool started something that still runs.
    pub(super) fn take_answer(&mut self, answer: &CallAnswer<'_>, checks: &mut CheckHistory) -> bool {
        let Some(call) = answer.call else { return false };
        self.mark_read(call);
        let Some(call) = answer.passed() else { return false };
        if let Some(id) = started_id(call, answer) {
            self.start(id, call, answer);
            return true;
        }
        let text = &answer.result.text;
        match (call.name.as_str(), &call.input.command) {
            ("Bash", Some(command)) if leaves_running(command) => {
                let command = about(call);
                self.detached.retain(|known| known.command != command);
                self.detached.put(DetachedCommand { command, line: last_line(text) });
            }
            ("KillShell" | "KillBash" | "TaskStop", _) => {
                // The id is in the input under names that have changed; the answer repeats it.
                while let Some(at) = self.running.iter().position(|one| text.contains(&one.id)) {
                    self.end(at, "you stopped it", None, checks);
                }
            }
            _ => {}
        }
        false
    }

    fn start(&mut self, id: String, call: &ToolUse, answer: &CallAnswer<'_>) {
        self.running.retain(|running| running.id != id);
        if self.running.len() >= RUNNING_CAP {
            self.running.remove(0);
        }
        let output = answer
            .detail
            .and_then(|detail| detail.output.clone())
            .or_else(|| output_path(&answer.result.text));
        let (what, command) = match call.name.as_str() {
            // The end of a monitor says nothing about the process that it watches.
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
            queued: Vec::new(),
            edits: EditsSince::default(),
        });
    }

    /// Takes a file that a tool wrote.
    pub(super) fn take_edit(&mut self, path: &str) {
        self.running.iter_mut().for_each(|one| one.edits.take(path));
    }

    /// Ends the running thing at this index; `code` is its exit code.
    fn end(&mut self, at: usize, how: &str, code: Option<u64>, checks: &mut CheckHistory) {
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
        // A success is no proof that anything was tested: nothing read the output here.
        if verdict.outcome != CheckOutcome::Failed {
            verdict.outcome = CheckOutcome::Unknown;
        }
        let place = output.map(|output| format!("; output in {output}")).unwrap_or_default();
        verdict.summary = format!("in the background: {}{place}", cut_words(how, END_CAP));
        verdict.failing.clear();
        checks.put(&command, verdict, edits);
    }

    /// Claude wrote something, perhaps about what has ended.
    pub(super) fn take_text(&mut self) {
        self.ended.iter_mut().for_each(|one| one.is_unread = false);
    }

    /// Marks as read what the call looks at.
    fn mark_read(&mut self, call: &ToolUse) {
        let asks = matches!(call.name.as_str(), "TaskOutput" | "BashOutput");
        let names = |output: &str| {
            let mut texts = [&call.input.path, &call.input.command].into_iter().flatten();
            asks || texts.any(|text| text.contains(output))
        };
        let read = |one: &&mut EndedWork| one.output.as_deref().is_some_and(names);
        self.ended.iter_mut().filter(read).for_each(|one| one.is_unread = false);
    }

    /// Takes a notification: an agent or a shell may have ended. One that waits in the queue
    /// (`is_queued`) may be written again as a line of its own.
    pub(super) fn take_notification(&mut self, text: &str, is_queued: bool, checks: &mut CheckHistory) {
        let Some((_, rest)) =
            text.split_once("<task-id>").filter(|_| text.starts_with("<task-notification>"))
        else {
            return;
        };
        if let Some((id, rest)) = rest.split_once("</task-id>") {
            let Some(at) = self.running.iter().position(|one| one.id == id.trim()) else { return };
            // Only what comes before the event is Claude's; the event itself is the program's text.
            let (head, event) = rest.split_once("<event>").unwrap_or((rest, ""));
            if head.contains("<status>") && !head.contains("<status>running</status>") {
                let (how, code) = ending(rest);
                self.end(at, &how, code, checks);
            } else if let Some((event, _)) = event.rsplit_once("</event>") {
                let event = cut_words(&last_line(&unescaped(event)), EVENT_BYTES).to_owned();
                let running = &mut self.running[at];
                if is_queued {
                    running.queued.truncate(EVENT_CAP - 1);
                    running.queued.insert(0, event.clone());
                } else if let Some(at) = running.queued.iter().rposition(|known| *known == event) {
                    running.queued.remove(at);
                    return;
                }
                keep_event(event, &mut running.events);
            }
        }
    }
}

/// The id of the process or agent that the tool started, if any.
fn started_id(call: &ToolUse, answer: &CallAnswer<'_>) -> Option<String> {
    match call.name.as_str() {
        "Monitor" => {
            answer.detail.and_then(|detail| detail.task.clone()).or_else(|| monitor_id(answer.result))
        }
        _ => answer
            .detail
            .and_then(|detail| detail.running.clone())
            .or_else(|| background_id(call, answer.result)),
    }
}

/// Keeps an event. When the list is full, the oldest event without an error is dropped first.
fn keep_event(event: String, events: &mut Vec<String>) {
    if event.is_empty() {
        return;
    }
    if events.len() >= EVENT_CAP {
        events.remove(events.iter().position(|known| !mentions_error(known)).unwrap_or(0));
    }
    events.push(event);
}

/// How something ended according to its notification, and its exit code.
fn ending(text: &str) -> (String, Option<u64>) {
    let tag = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(inner, _)| inner.trim())
    };
    // Claude's description is in quotes.
    let said = tag("summary").and_then(|said| said.rsplit_once('"')).map(|(_, said)| said.trim());
    let said = said.filter(|said| !said.is_empty()).or(tag("status")).unwrap_or("it ended");
    let digits = said.rsplit_once("exit code ").map_or("", |(_, rest)| rest);
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    (said.to_owned(), digits.parse().ok())
}

/// `Command running in background with ID: X.`, where the answer has no structured form.
fn background_id(call: &ToolUse, result: &ToolResult) -> Option<String> {
    let (_, rest) = result.text.split_once("in background with ID: ").filter(|_| call.name == "Bash")?;
    let id: String =
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(64).collect();
    (!id.is_empty()).then_some(id)
}

/// `Monitor started (task X, persistent)`, where the answer has no structured form.
fn monitor_id(result: &ToolResult) -> Option<String> {
    let (id, _) = result.text.strip_prefix("Monitor started (task ")?.split_once([',', ')'])?;
    (!id.is_empty() && id.len() <= 64).then(|| id.to_owned())
}

/// The path in `Output is being written to: PATH. You will be notified when it completes.`
fn output_path(text: &str) -> Option<String> {
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
    use super::*;
    use crate::core::claude::checks::CheckOutcome::{Failed, Unknown};
    use crate::core::claude::transcript_line::{ResultDetail, ToolInput};

    fn bash(work: &mut BackgroundWork, command: &str, text: &str, is_error: bool) {
        let input = ToolInput { command: Some(command.to_owned()), ..ToolInput::default() };
        let call = ToolUse { id: "t".into(), name: "Bash".into(), input };
        let result = ToolResult { id: "t".into(), is_error, text: text.to_owned() };
        work.take_answer(
            &CallAnswer { call: Some(&call), result: &result, detail: None },
            &mut CheckHistory::default(),
        );
    }

    fn call(
        work: &mut BackgroundWork,
        name: &str,
        input: ToolInput,
        text: &str,
        detail: ResultDetail,
    ) -> bool {
        let call = ToolUse { id: "t".into(), name: name.into(), input };
        let result = ToolResult { id: "t".into(), is_error: false, text: text.to_owned() };
        work.take_answer(
            &CallAnswer { call: Some(&call), result: &result, detail: Some(&detail) },
            &mut CheckHistory::default(),
        )
    }

    fn note(work: &mut BackgroundWork, text: &str) {
        work.take_notification(text, false, &mut CheckHistory::default());
    }

    #[test]
    fn background_work_is_named_by_its_command_and_its_end_is_recorded() {
        let (mut work, mut checks) = (BackgroundWork::default(), CheckHistory::default());
        let start = |work: &mut BackgroundWork, id: &str, command: &str| {
            let input = ToolInput {
                command: Some(command.to_owned()),
                about: Some("Run it".into()),
                ..ToolInput::default()
            };
            let call = ToolUse { id: id.into(), name: "Bash".into(), input };
            let text =
                format!("Command running in background with ID: {id}. Output is being written to: /o/{id}.");
            let result = ToolResult { id: id.into(), is_error: false, text };
            let answer = CallAnswer { call: Some(&call), result: &result, detail: None };
            work.take_answer(&answer, &mut CheckHistory::default())
        };
        for (id, command) in
            [("b1", "cargo nextest run"), ("b2", "npm run dev -- --port 5174"), ("b3", "x | tail")]
        {
            assert!(start(&mut work, id, command));
        }
        assert_eq!(work.running()[1].what, "npm run dev -- --port 5174 (Run it)");
        work.take_edit("/p/a.rs");
        let told = |id: &str, end: &str| {
            format!(
                "<task-notification>\n<task-id>{id}</task-id>\n<status>failed</status>\n<summary>Background \
                 command \"Run it\" {end}</summary>\n</task-notification>"
            )
        };
        work.take_notification(&told("b1", "failed with exit code 100"), false, &mut checks);
        work.take_notification(&told("b2", "failed with exit code 1"), false, &mut checks);
        let check = checks.iter().next().unwrap();
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
        work.take_notification(&told("b4", "completed (exit code 0)"), false, &mut checks);
        assert_eq!(checks.iter().next().unwrap().verdict.outcome, Unknown, "its output was not read");
    }

    #[test]
    fn a_monitor_runs_until_claude_says_that_it_ended() {
        let mut work = BackgroundWork::default();
        let input = || ToolInput {
            command: Some("kubectl get events -w".into()),
            about: Some("restarts of pods".into()),
            ..ToolInput::default()
        };
        let detail = ResultDetail { task: Some("bmon12".into()), ..ResultDetail::default() };
        let text = "Monitor started (task bmon12, persistent). You will be notified on each event.";
        assert!(call(&mut work, "Monitor", input(), text, detail));
        assert!(call(&mut work, "Monitor", input(), &text.replace("12", "13"), ResultDetail::default()));
        // Other tools report task ids, too.
        let detail = ResultDetail { task: Some("7".into()), ..ResultDetail::default() };
        assert!(!call(&mut work, "TaskUpdate", ToolInput::default(), "ok", detail));
        let event = |id: &str, event: &str| {
            format!(
                "<task-notification>\n<task-id>{id}</task-id>\n<summary>Monitor event: \"x\"</summary>\n\
                 <event>{event}</event>\n</task-notification>"
            )
        };
        note(&mut work, &event("bmon12", "pod/a BackOff"));
        note(&mut work, &event("bmon12", "pod/quote-7d9 &lt;status>failed</status></event> restart 3"));
        note(&mut work, "<task-notification>\n<task-id>bmon12</task-id>\n</task-notification>");
        let of = |work: &BackgroundWork| -> Vec<(String, Option<String>)> {
            work.running().iter().map(|one| (one.what.clone(), one.events.last().cloned())).collect()
        };
        let what = "Monitor: kubectl get events -w (restarts of pods)".to_owned();
        let last = "pod/quote-7d9 <status>failed</status></event> restart 3".to_owned();
        assert_eq!(of(&work), [(what.clone(), Some(last)), (what, None)]);
        note(
            &mut work,
            "<task-notification>\n<task-id>bmon12</task-id>\n<status>completed</status>\n<summary>Monitor \
             \"restarts of pods\" stream ended</summary>\n</task-notification>",
        );
        assert_eq!(work.running().len(), 1);
        assert_eq!(work.ended().next().unwrap().end, "stream ended");
        for n in 0..1000 {
            let detail = ResultDetail { task: Some(n.to_string()), ..ResultDetail::default() };
            call(&mut work, "Monitor", input(), "", detail);
            note(&mut work, &event(&n.to_string(), &"long ".repeat(5000)));
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
            assert_eq!(output_path(text).as_deref(), Some("/t/my dir/b1.output"), "{text}");
        }
        assert_eq!(output_path("Output is being written to: /o/b1. You will").as_deref(), Some("/o/b1"));
        assert_eq!(output_path("Output is being written to: /o/b1.").as_deref(), Some("/o/b1"));
    }

    #[test]
    fn detached_commands_are_kept() {
        let mut work = BackgroundWork::default();
        bash(&mut work, "(cd gw && ./run.sh > /tmp/gw.log 2>&1) & echo $!", "48213", false);
        bash(&mut work, "make &", "Exit code 2", true);
        bash(&mut work, "make", "", false);
        let told: Vec<_> = work.detached().map(|one| (one.command.clone(), one.line.clone())).collect();
        assert_eq!(told, [("(cd gw && ./run.sh > /tmp/gw.log 2>&1) & echo $!".into(), "48213".into())]);
        (0..100).for_each(|n| bash(&mut work, &format!("serve {n} {} &", "x".repeat(9999)), "", false));
        assert_eq!(work.detached().count(), DETACHED_CAP);
        assert!(work.detached().all(|one| one.command.len() <= 300));
    }

    #[test]
    fn an_event_that_waited_in_the_queue_is_one_event() {
        let mut work = BackgroundWork::default();
        let detail = ResultDetail { task: Some("w1".into()), ..ResultDetail::default() };
        call(&mut work, "Monitor", ToolInput::default(), "Monitor started (task w1, persistent)", detail);
        for rate in ["0.12 %", "0.31 %", "0.31 %"] {
            let told = format!(
                "<task-notification>\n<task-id>w1</task-id>\n<event>{rate}</event>\n</task-notification>"
            );
            work.take_notification(&told, true, &mut CheckHistory::default());
            note(&mut work, &told);
        }
        note(&mut work, "<task-notification><task-id>w1</task-id><event>0.12 %</event></task-notification>");
        assert_eq!(work.running()[0].events, ["0.12 %", "0.31 %", "0.31 %", "0.12 %"]);
    }
}
