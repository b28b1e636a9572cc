//! How each line of a transcript changes what is known.
//!
//! Lines of sub-agents are read over: their usage and their tools are not the conversation's. A tool counts
//! when its answer came, so that a refused edit is no touched file and a refused list no list of tasks.

use super::agent_reports::{self, AgentReport};
use super::bounded_memory::FileChange;
use super::decision_sentences;
use super::earlier_answers::{self, tells_finding};
use super::pasted_prompt::PromptPlace;
use super::prompts::{ALLOWED_CALL, PromptKind, REFUSED_CALL, TranscriptPrompt, is_foreign, mark_pastes};
use super::tasks::{Task, task_key};
use super::tool_outcomes::ToolOutcome;
use super::tool_steps::{ToolStep, about, error_line, last_line, looks, printed};
use super::transcript_facts::{
    AnswerText, AnsweredQuestion, ApprovedPlan, EXCHANGE_CAP, Exchange, FINDING_BYTES, MessageUsage,
    PLAN_APPROVED, REFUSED, ShellCommand, ToolError, TranscriptFacts, TranscriptSpeaker,
};
use super::transcript_line::{
    Assistant, ResultDetail, TEXT_CAP, TokenUsage, ToolInput, ToolResult, ToolUse, TranscriptLine, User,
    UserKind,
};
use crate::core::handoff::capture::LONG_ANSWER;
use crate::core::handoff::continuation_prompt::{handoff_of, quotes_brief, unwrap_pasted};
use crate::core::handoff::note::Note;
use crate::core::handoff::repeated_lines::form;
use crate::core::supervisor::limit_and_error_wait::ResumeAfter;
use crate::core::text::safe_text::{cut_chars, cut_words};

/// How many queued prompts are kept, and of each so many bytes.
const QUEUE_CAP: (usize, usize) = (256, 64 << 10);
/// How many tools can be open at a time; the oldest is forgotten.
const OPEN_CAP: usize = 512;
/// How much is kept of Claude's summary of what stands in no line, in bytes.
const SUMMARY_CAP: usize = 16 << 10;
/// Of how many chosen options it is kept what they mean, and of each how much, in characters.
const MEANINGS: usize = 3;
const MEANING: usize = 120;
/// How much of a text is compared with others, in bytes.
const FORM_BYTES: usize = 120;
/// How much is kept of a command that the person ran, in bytes.
const COMMAND_CAP: usize = 300;

impl TranscriptFacts {
    /// Takes one raw line, as `LineSplitter` gives it. What cannot be read is counted and skipped.
    pub fn feed(&mut self, line: &[u8]) {
        let tally = TranscriptLine::parse_each(line, |line| self.line(line));
        self.bad += u64::from(tally.bad);
    }

    /// Takes one line that was read already.
    pub fn line(&mut self, line: TranscriptLine) {
        self.lines += 1;
        match line {
            TranscriptLine::Assistant(line) if !line.sidechain => self.assistant(*line),
            TranscriptLine::User(line) if !line.sidechain => self.user(*line),
            TranscriptLine::Queue { operation, content, timestamp } => {
                if operation == "enqueue" {
                    self.look_for_sent(content.as_deref(), timestamp.as_deref(), PromptPlace::Queued);
                }
                self.queued(&operation, content);
            }
            TranscriptLine::PermissionMode(mode) => self.permission_mode = Some(mode),
            TranscriptLine::Title(title) => self.title = Some(title).filter(|title| !title.is_empty()),
            TranscriptLine::CompactBoundary { post_tokens } => {
                // Claude writes the preserved tail again after the boundary: those lines carry the old
                // figure.
                self.before_compaction = std::mem::take(&mut self.messages);
                self.fill = post_tokens.map(|tokens| MessageUsage { tokens, ..MessageUsage::default() });
            }
            // It stands behind the prompt that it came with.
            TranscriptLine::Selection(selected) => {
                if self.unanswered {
                    self.prompts.point_at(&selected);
                }
            }
            TranscriptLine::Assistant(_) | TranscriptLine::User(_) | TranscriptLine::Other => {}
        }
    }

    fn assistant(&mut self, line: Assistant) {
        self.turn_over = line.synthetic
            || matches!(line.stop_reason.as_deref(), Some("end_turn" | "stop_sequence" | "refusal"));
        self.note_text(&line);
        if line.synthetic {
            self.failure = line.failure;
            self.failures += 1;
            return;
        }
        self.failure = None;
        (self.unanswered, self.cut_in) = (false, 0);
        if let Some((_, answered)) = self.continued.as_mut() {
            *answered = true;
        }
        let fill = line.usage.map_or(0, TokenUsage::fill);
        if fill > 0 && !self.before_compaction.has(&line.message_id) {
            self.messages.put(&line.message_id);
            self.fill = Some(MessageUsage { tokens: fill, message_id: line.message_id, at: line.timestamp });
        }
        if !line.model.is_empty() {
            self.model = Some(line.model);
        }
        for tool in line.tool_uses {
            self.uses.put(&tool.id);
            if let Some(prompt) = tool.input.schedules.as_ref().filter(|prompt| !prompt.trim().is_empty()) {
                self.scheduled.put(prompt.clone());
            }
            if self.results.has(&tool.id) {
                continue;
            }
            if self.open.len() >= OPEN_CAP {
                self.open.remove(0);
            }
            self.open.push(tool);
        }
    }

    fn note_text(&mut self, line: &Assistant) {
        let same = line.message_id == self.last_message;
        if !same {
            self.last_message.clone_from(&line.message_id);
            self.last_text.clear();
            self.last_block = 0;
        }
        if line.text.is_empty() || self.last_text.len() > TEXT_CAP {
            return;
        }
        let goes_on = same && !self.last_text.is_empty();
        if goes_on {
            self.last_text.push('\n');
        }
        self.last_block = self.last_text.len();
        self.last_text.push_str(&line.text);
        if !line.synthetic {
            decision_sentences::read(&line.text, self.turn_over, &mut self.stated);
            if goes_on {
                self.answers[0].text.push('\n');
                self.answers[0].text.push_str(&line.text);
            } else {
                self.answers.swap(0, 1);
                self.answers[0] = AnswerText { text: self.last_text.clone(), replied: false };
            }
        }
        // What Claude Code writes about an API error is nothing that the model said.
        if line.synthetic {
            return;
        }
        self.work.heard_of();
        if self.last_text.chars().nth(LONG_ANSWER).is_some() {
            self.reports.iter_mut().for_each(|report| report.summed_up = true);
        }
        let finding = cut_words(&self.last_text, FINDING_BYTES).to_owned();
        match self.findings.newest() {
            Some(newest) if goes_on => *newest = finding,
            _ if quotes_brief(&finding) => {}
            _ => {
                // Of a long turn those stay that differ.
                let begin = |text: &str| form(cut_words(text, FORM_BYTES));
                let new = begin(&finding);
                self.findings.put_over(finding, |known| begin(known) == new);
            }
        }
        match self.recent.newest() {
            Some(exchange) if goes_on && exchange.speaker == TranscriptSpeaker::Claude => {
                exchange.text = cut_words(&self.last_text, EXCHANGE_CAP).to_owned();
            }
            _ => self.say(TranscriptSpeaker::Claude, &line.text),
        }
    }

    fn user(&mut self, line: User) {
        if let Some(mode) = line.permission_mode {
            self.permission_mode = Some(mode);
        }
        match line.kind {
            UserKind::Prompt(prompt) => {
                self.look_for_sent(Some(&prompt), line.timestamp.as_deref(), PromptPlace::Prompt);
                // 2.1.197 writes a quick first answer before its prompt (measured): their times tell the true
                // order.
                let answered = !self.begun && self.fill.as_ref().is_some_and(|fill| fill.at > line.timestamp);
                // After Esc Claude writes the prompts of its queue first, and only then that the call was cut
                // (measured on 2.1.332).
                let is_queued = line.source.as_deref() == Some("queued");
                let cuts_in =
                    is_queued && self.begun && !self.turn_over && (self.cut_in > 0 || !self.unanswered);
                self.cut_in = if cuts_in { self.cut_in + 1 } else { 0 };
                if !answered && !cuts_in {
                    self.begin_turn();
                }
                self.place_prompt(line.uuid, line.parent);
                (self.begun, self.prompted) = (true, true);
                let said = TranscriptPrompt {
                    images: line.images,
                    at: line.timestamp,
                    ..TranscriptPrompt::default()
                };
                self.prompt(&prompt, said, answered);
            }
            UserKind::Notification(text) => {
                self.told(&text);
                self.begin_turn();
                self.prompted = false;
            }
            UserKind::ToolResults { results, detail } => {
                self.turn_over = false;
                let said = detail.said.as_deref().filter(|_| !detail.refused);
                let call = results.last().and_then(|last| self.open.iter().find(|tool| tool.id == last.id));
                // Claude notes beside the answer of this tool that it is loaded.
                let call = call.filter(|call| call.name != "ToolSearch").map(call_words);
                let detail = (results.len() == 1).then_some(&*detail);
                for result in &results {
                    self.result(result, detail);
                }
                if let (Some(said), Some(call)) = (said, call) {
                    let asked = format!("{ALLOWED_CALL}{call})");
                    self.said_to_a_call(said, PromptKind::Approval, &asked);
                }
                self.prompts.date(line.timestamp.as_deref());
            }
            UserKind::Interrupted => {
                self.open.clear();
                // What was stopped is what Claude did before these prompts, and it goes on with them.
                let is_before = line.interrupted_message.as_deref() == Some(self.last_message.as_str())
                    && !self.last_message.is_empty();
                let waiting = if is_before && self.unanswered { self.cut_in } else { 0 };
                if !self.turn_over && self.prompted {
                    self.prompts.interrupt(waiting);
                }
                self.turn_over = waiting == 0;
                // Stopped again, it is them.
                self.cut_in = 0;
            }
            UserKind::ShellCommand(command) => {
                let command = cut_words(command.trim(), COMMAND_CAP).to_owned();
                self.shell.put(ShellCommand { command, after: self.said, ..ShellCommand::default() });
            }
            UserKind::ShellOutput(output) => {
                if let Some(newest) = self.shell.newest().filter(|newest| newest.line.is_empty()) {
                    newest.line = last_line(&output);
                    newest.output = printed(&output);
                    self.work.ran_by_person(&newest.command, &output);
                }
            }
            UserKind::Memory(text) => {
                let said = TranscriptPrompt {
                    text,
                    kind: PromptKind::Memory,
                    at: line.timestamp,
                    ..TranscriptPrompt::default()
                };
                self.prompts.put(said, "");
            }
            UserKind::ImageFiles(files) => {
                if self.unanswered {
                    files.iter().for_each(|file| self.prompts.show_image(file));
                }
            }
            // A fork of a compacted conversation has none of the lines before (2.1.332). Else they stand
            // above.
            UserKind::Summary(text) if !self.begun => {
                self.summary = Some(cut_words(text.trim(), SUMMARY_CAP).to_owned());
            }
            UserKind::Summary(_) | UserKind::Meta => {}
        }
    }

    /// Claude was told something in the person's place. A report that waits in the queue comes again as a
    /// line.
    fn told(&mut self, text: &str) {
        self.work.told(text);
        if let Some(report) = AgentReport::of_notification(text) {
            agent_reports::keep(report, &mut self.reports);
        }
    }

    fn look_for_sent(&mut self, prompt: Option<&str>, at: Option<&str>, taken: PromptPlace) {
        if prompt.is_some_and(|prompt| self.sought.as_ref().is_some_and(|sent| sent.is_line(prompt, at))) {
            self.found.get_or_insert(taken);
        }
    }

    /// A tool that has no answer when the next turn begins will never have one: its run was killed.
    fn begin_turn(&mut self) {
        self.keep_answer();
        self.open.clear();
        self.turn_over = false;
    }

    /// The turn is over: what Claude said at its end is kept with the prompt that it answers.
    fn keep_answer(&mut self) {
        let [last, before] = &self.answers;
        let answer = if Note::read(&last.text).is_some() { before } else { last };
        // A turn that a notification began answers no prompt.
        let prompt = self.prompts.newest().filter(|_| self.prompted);
        let is_broken_off = prompt.is_some_and(|prompt| prompt.interrupted) || self.failure.is_some();
        if self.turn_over && !answer.replied && !is_broken_off {
            earlier_answers::keep(&answer.text, prompt, &mut self.earlier);
            let last = cut_words(&answer.text, FINDING_BYTES).to_owned();
            let findings = std::mem::take(&mut self.findings);
            let said = findings.iter().filter(|said| **said != last && tells_finding(said));
            said.for_each(|said| self.findings_before.put(said.clone()));
        }
    }

    fn prompt(&mut self, prompt: &str, said: TranscriptPrompt, answered: bool) {
        if let Some(id) = handoff_of(prompt) {
            self.continued = Some((id, answered));
            return;
        }
        let text = unwrap_pasted(prompt);
        if ResumeAfter::is_prompt(text.trim()) {
            return;
        }
        self.say(TranscriptSpeaker::Person, text.trim());
        decision_sentences::replied(&text, &self.answers[0].text, &mut self.stated);
        earlier_answers::replied(&text, &mut self.earlier);
        self.prompts.put(TranscriptPrompt { text: mark_pastes(prompt), ..said }, &self.answers[0].text);
        self.answers[0].replied = true;
        self.unanswered = !answered;
    }

    /// The person refused a tool call, and may have said why: Claude quotes it behind words of its own.
    fn refused(&mut self, call: Option<&ToolUse>, result: &ToolResult, detail: Option<&ResultDetail>) {
        let quoted = || result.text.split_once("the user said:\n").map(|(_, why)| why);
        let Some(why) = detail.and_then(|detail| detail.said.as_deref()).or_else(quoted) else { return };
        let asked = call.map(|call| format!("{REFUSED_CALL}{})", call_words(call))).unwrap_or_default();
        self.said_to_a_call(&without_clarify_frame(why), PromptKind::Refusal, &asked);
    }

    /// Words of the person's about a tool call or a question.
    fn said_to_a_call(&mut self, text: &str, kind: PromptKind, asked: &str) {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return;
        }
        self.prompts.put(TranscriptPrompt { text, kind, ..TranscriptPrompt::default() }, asked);
        self.answers[0].replied = true;
    }

    fn say(&mut self, speaker: TranscriptSpeaker, text: &str) {
        self.said += 1;
        self.recent.put(Exchange { speaker, text: cut_words(text, EXCHANGE_CAP).to_owned() });
    }

    fn result(&mut self, result: &ToolResult, detail: Option<&ResultDetail>) {
        self.results.put(&result.id);
        let call = self.open.iter().position(|tool| tool.id == result.id).map(|at| self.open.remove(at));
        let refused = result.is_error && detail.is_some_and(|detail| detail.refused);
        // What the person refused is an answer; a call that Claude got wrong is an error like any other.
        let asks = |call: &ToolUse| matches!(&*call.name, "ExitPlanMode" | "AskUserQuestion");
        let turned_down = refused
            || result.is_error
                && call.as_ref().is_some_and(asks)
                && result.text.contains("user doesn't want to");
        if let Some(call) = &call {
            let launched = self.work.answered(call, result, detail);
            if let Some(report) = AgentReport::of_answer(call, result, detail) {
                agent_reports::keep(report, &mut self.reports);
            }
            let mut step = ToolStep::of(call, result, &error_line(&result.text), self.said);
            step.launched = launched;
            if turned_down {
                step.outcome = ToolOutcome::Refused;
            }
            if step.outcome == ToolOutcome::Passed {
                let failed_before = |error: &&mut ToolError| {
                    !step.about.is_empty() && (&error.tool, &error.about) == (&step.tool, &step.about)
                };
                self.errors.iter_mut().filter(failed_before).for_each(|error| error.passed_since = true);
            }
            self.steps.put_over(step, |known| known.looked || known.is_told_elsewhere());
        }
        if refused {
            self.refused(call.as_ref(), result, detail);
        }
        if result.is_error {
            let about = call.as_ref().map(about).unwrap_or_default();
            let looked = call.as_ref().is_some_and(looks);
            let tool = call.map(|tool| tool.name).unwrap_or_default();
            if turned_down && (tool == "ExitPlanMode" || tool == "AskUserQuestion") {
                let why = detail.and_then(|detail| detail.said.as_deref()).map(without_clarify_frame);
                let why = why.unwrap_or_else(|| error_line(&result.text));
                self.decisions
                    .put(AnsweredQuestion { question: asked_by(&tool), answer: format!("{REFUSED}{why}") });
            } else if !refused {
                let line = error_line(&result.text);
                self.errors.put(ToolError { tool, about, line, passed_since: false, looked });
            }
            return;
        }
        let Some(ToolUse { name, input, .. }) = call else { return };
        match name.as_str() {
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
                if let Some(path) = input.path.as_deref() {
                    self.work.wrote(path);
                    self.files.put(path, change(&name, result, detail));
                }
            }
            "Read" => {
                if let Some(path) = input.path.as_deref() {
                    self.reads.put(path, input.lines);
                }
            }
            "AskUserQuestion" => self.decide(&input, result, detail),
            "ExitPlanMode" => {
                let plan = detail.and_then(|detail| detail.plan.clone()).or(input.plan).unwrap_or_default();
                let answer = format!("{PLAN_APPROVED}{}", cut_words(plan.trim(), 500));
                self.plan = Some(plan.trim()).filter(|plan| !plan.is_empty()).map(|plan| ApprovedPlan {
                    text: plan.to_owned(),
                    file: detail.and_then(|detail| detail.plan_file.clone()),
                    after: self.prompts.count(),
                });
                self.decisions.put(AnsweredQuestion { question: asked_by(&name), answer });
            }
            "TodoWrite" => {
                self.tasks.apply(&name, &input, result, detail);
                let all = self.tasks.all().iter().map(task_key);
                self.touched_tasks = all.map(|key| (key, self.prompts.count())).collect();
            }
            _ => {
                let known = self.tasks.all().to_vec();
                self.tasks.apply(&name, &input, result, detail);
                if self.tasks.all() != known {
                    self.note_touched(&known);
                }
            }
        }
    }

    /// Notes which tasks are others than they were.
    fn note_touched(&mut self, known: &[Task]) {
        let now = self.prompts.count();
        let all: std::collections::HashSet<String> = self.tasks.all().iter().map(task_key).collect();
        self.touched_tasks.retain(|key, _| all.contains(key));
        for task in self.tasks.all().iter().filter(|task| !known.contains(task)) {
            self.touched_tasks.insert(task_key(task), now);
        }
    }

    fn decide(&mut self, input: &ToolInput, result: &ToolResult, detail: Option<&ResultDetail>) {
        let answers = detail.map(|detail| detail.answers.as_slice()).unwrap_or_default();
        let notes = detail.map(|detail| detail.notes.as_slice()).unwrap_or_default();
        let offered = |answer: &str| {
            let known = |label: &str| input.options.iter().any(|option| option == label);
            known(answer) || answer.split(", ").all(known)
        };
        for (question, answer) in answers {
            let meant = meant(input, question, answer);
            let note = notes.iter().find(|(of, _)| of == question).map(|(_, note)| note.trim());
            let note = note.filter(|note| !note.is_empty());
            let answer = note.map_or_else(|| answer.clone(), |note| format!("{answer} (note: {note})"));
            self.decisions
                .put(AnsweredQuestion { question: question.clone(), answer: format!("{answer}{meant}") });
            // What was chosen is a decision; what was written is the person's words, too.
            if !input.options.is_empty() && !offered(&answer) {
                self.said_to_a_call(&answer, PromptKind::Answer, question);
            }
        }
        // In their own words, instead of any option.
        let response = detail.and_then(|detail| detail.response.as_deref());
        if let Some(response) = response {
            self.said_to_a_call(response, PromptKind::Answer, &input.questions.join(" / "));
        }
        if answers.is_empty() {
            let answer = cut_words(response.unwrap_or(&result.text).trim(), 500).to_owned();
            self.decisions.put(AnsweredQuestion { question: input.questions.join(" / "), answer });
        }
    }

    fn queued(&mut self, operation: &str, content: Option<String>) {
        self.told(content.as_deref().filter(|_| operation == "enqueue").unwrap_or_default());
        // Kept and compared at one length.
        let content = content.map(|content| cut_words(&content, QUEUE_CAP.1).to_owned());
        let at = |queue: &[String]| queue.iter().position(|prompt| Some(prompt) == content.as_ref());
        match operation {
            "enqueue" => {
                if let Some(content) = content.filter(|_| self.queue.len() < QUEUE_CAP.0) {
                    self.queue.push(content);
                }
            }
            "dequeue" => {
                if let Some(at) = at(&self.queue).or((!self.queue.is_empty()).then_some(0)) {
                    self.queue.remove(at);
                }
            }
            "remove" => {
                if let Some(at) = at(&self.queue) {
                    // Taken into the running turn: no user line of its own will follow (measured).
                    let prompt = self.queue.remove(at);
                    if is_typed(&prompt) {
                        self.say(TranscriptSpeaker::Person, &prompt);
                        let said = TranscriptPrompt {
                            text: mark_pastes(&prompt),
                            kind: PromptKind::Steering,
                            ..TranscriptPrompt::default()
                        };
                        decision_sentences::replied(&prompt, &self.answers[0].text, &mut self.stated);
                        self.prompts.put(said, "");
                        self.answers[0].replied = true;
                    }
                } else if content.is_none() {
                    self.queue.pop();
                }
            }
            "popAll" => self.queue.clear(),
            _ => {}
        }
    }
}

/// Whether a queued text is a person's: Claude queues its own notices too.
pub(super) fn is_typed(prompt: &str) -> bool {
    !is_foreign(prompt) && !prompt.starts_with("Your claude.ai usage limit has reset.")
}

/// A tool call in a few words: its name, and its file or command.
fn call_words(call: &ToolUse) -> String {
    let input = &call.input;
    let about = [&input.path, &input.command, &input.rest].into_iter().find_map(|one| one.as_deref());
    let about = about.unwrap_or_default();
    cut_words(format!("{} {about}", call.name).trim_end(), 300).to_owned()
}

/// What the person wrote, where Claude put it into a text of its own ("Chat about this" below a question).
fn without_clarify_frame(why: &str) -> String {
    if !why.starts_with("The user wants to clarify these questions.") {
        return why.to_owned();
    }
    let written = |line: &str| {
        let line = line.trim_start();
        let text = line.strip_prefix("Answer:").or_else(|| line.strip_prefix("User notes:"))?;
        Some(text.trim().to_owned())
    };
    why.lines().filter_map(written).collect::<Vec<_>>().join("\n")
}

/// What Claude had said that the chosen options mean, in parentheses; empty where their labels say it.
fn meant(input: &ToolInput, question: &str, answer: &str) -> String {
    let is_chosen = |label: &str| answer == label || answer.split(", ").any(|one| one == label);
    let chosen = input.meanings.iter().filter(|one| one.question == question && is_chosen(&one.label));
    let chosen: Vec<String> = chosen.take(MEANINGS).map(|one| cut_chars(&one.meaning, MEANING)).collect();
    if chosen.is_empty() { String::new() } else { format!(" ({})", chosen.join("; ")) }
}

/// What a tool asks a person that has no question of its own.
fn asked_by(tool: &str) -> String {
    if tool == "ExitPlanMode" {
        "Is this plan approved?".to_owned()
    } else {
        "A question of Claude".to_owned()
    }
}

/// Whether a file was made or changed. Write says so in its structured answer, else in its words (1.x to
/// 2.1).
fn change(tool: &str, result: &ToolResult, detail: Option<&ResultDetail>) -> FileChange {
    let said = detail.and_then(|detail| detail.wrote.as_deref());
    let created = match said {
        Some(word) => word == "create",
        None => tool == "Write" && result.text.starts_with("File created"),
    };
    if created { FileChange::Created } else { FileChange::Modified }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[String]) -> TranscriptFacts {
        let mut facts = TranscriptFacts::new();
        for line in lines {
            facts.feed(line.as_bytes());
        }
        assert_eq!(facts.counts(), (lines.len() as u64, 0));
        facts
    }

    fn prompt(text: &str) -> String {
        serde_json::json!({"type": "user", "message": {"content": text}}).to_string()
    }

    fn said(facts: &TranscriptFacts) -> Vec<String> {
        facts.prompts().iter().map(|prompt| prompt.text.clone()).collect()
    }

    fn answer(id: &str, model: &str, fill: u64) -> String {
        let usage =
            serde_json::json!({"input_tokens": 1, "cache_read_input_tokens": fill - 1, "output_tokens": 9});
        let message = serde_json::json!({"id": id, "model": model, "usage": usage, "content": [],
            "stop_reason": "end_turn"});
        serde_json::json!({"type": "assistant", "message": message}).to_string()
    }

    fn tool(id: &str, name: &str, input: serde_json::Value) -> String {
        let call = serde_json::json!({"type": "tool_use", "id": id, "name": name, "input": input});
        serde_json::json!({"type": "assistant", "message": {"id": "m", "model": "m", "content": [call]}})
            .to_string()
    }

    fn result(id: &str, text: &str, is_error: bool, detail: serde_json::Value) -> String {
        let block = serde_json::json!({"type": "tool_result", "tool_use_id": id, "content": text,
            "is_error": is_error});
        serde_json::json!({"type": "user", "message": {"content": [block]}, "toolUseResult": detail})
            .to_string()
    }

    #[test]
    fn a_command_of_the_persons_is_judged_by_its_output() {
        let facts = of(&[
            prompt("<bash-input>pytest -q tests</bash-input>"),
            prompt(
                "<bash-stdout>FAILED t.py::test_quote\n1 failed, 8 passed</bash-stdout><bash-stderr></bash-stderr>",
            ),
            prompt("<bash-input>tsc</bash-input>"),
            prompt("<bash-stdout></bash-stdout><bash-stderr></bash-stderr>"),
            prompt("<bash-input>df /</bash-input>"),
            prompt("<bash-stdout>used\n91%</bash-stdout><bash-stderr></bash-stderr>"),
        ]);
        let checks: Vec<_> =
            facts.work().checks().map(|one| (one.command.as_str(), one.verdict.outcome.word())).collect();
        assert_eq!(checks, [("pytest -q tests", "failed"), ("tsc", "unknown")]);
        assert_eq!(facts.shell_commands().next_back().unwrap().line, "91%");
    }

    #[test]
    fn esc_with_queued_prompts_stops_what_was_before_them() {
        let typed = |text: &str, source: &str| {
            serde_json::json!({"type": "user", "message": {"content": text}, "promptSource": source,
                "origin": {"kind": "human"}})
            .to_string()
        };
        let stop = |message: &str| {
            serde_json::json!({"type": "user", "interruptedMessageId": message, "message": {"content":
                [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}})
            .to_string()
        };
        let call = || tool("t1", "Bash", serde_json::json!({"command": "npm run test:all"}));
        let refused =
            || result("t1", "The user doesn't want to proceed", true, "User rejected tool use".into());
        let marked = |facts: &TranscriptFacts| -> Vec<bool> {
            facts.prompts().iter().map(|prompt| prompt.interrupted).collect()
        };
        let mut lines = vec![typed("refactor it", "typed"), call(), typed("the second one", "queued")];
        lines.extend([typed("no network calls", "queued"), refused(), stop("m")]);
        let facts = of(&lines);
        assert_eq!(marked(&facts), [true, false, false]);
        assert!(facts.newest_is_unanswered() && !facts.turn_ended());
        let step = facts.steps().next_back().unwrap();
        assert_eq!((step.about.as_str(), step.outcome), ("npm run test:all", ToolOutcome::Refused));
        // Stopped again, before Claude answered them.
        let twice = of(&[lines.clone(), vec![stop("m")]].concat());
        assert_eq!((marked(&twice), twice.turn_ended()), (vec![true, false, true], true));
        // Stopped after Claude had begun to answer them, or in another message.
        lines.push(answer("m2", "m", 10).replace("end_turn", "tool_use"));
        lines.push(stop("m2"));
        assert_eq!(marked(&of(&lines)), [true, false, true]);
        lines.truncate(5);
        lines.push(stop("other"));
        assert_eq!(marked(&of(&lines)), [false, false, true]);
        // Taken from the queue when the turn was over.
        let quiet = [typed("a", "typed"), answer("m", "m", 10), typed("b", "queued"), stop("m")];
        assert_eq!(marked(&of(&quiet)), [false, true]);
    }

    #[test]
    fn a_prompt_may_begin_with_a_tag_and_have_a_selection() {
        let text = "<channel> has no <link>, add it, and set <ttl> to 15";
        let from = |kind: &str| {
            serde_json::json!({"type": "user", "message": {"content": text}, "origin": {"kind": kind}})
                .to_string()
        };
        let selection = |kind: &str, from: u64| {
            serde_json::json!({"parentUuid": "x", "attachment": {"type": kind, "filename": "/p/src/overlap.ts",
                "displayPath": "src/overlap.ts", "lineStart": from, "lineEnd": 163, "content": "x"},
                "type": "attachment"})
            .to_string()
        };
        let facts = of(&[
            from("channel"),
            prompt(text),
            from("human"),
            selection("opened_file_in_ide", 1),
            selection("selected_lines_in_ide", 141),
            answer("m", "m", 10),
            selection("selected_lines_in_ide", 7),
        ]);
        assert_eq!(said(&facts), [text]);
        let selected = facts.prompts().newest().unwrap().selected.clone();
        assert_eq!(selected.as_deref(), Some("src/overlap.ts:141-163"));
    }

    #[test]
    fn a_chosen_option_is_told_with_what_it_means() {
        let option = |label: &str, meaning: &str| serde_json::json!({"label": label, "description": meaning});
        let questions = serde_json::json!([
            {"question": "How to merge?", "options": [option("Strategy 1", "Last writer wins"),
                option("Strategy 2", &"Operation log with Lamport clocks. ".repeat(20))]},
            {"question": "Where?", "options": [option("Strategy 1", "In the cloud"), option("Here", "Here")]},
        ]);
        let choose = |merge: &str, place: &str| {
            let detail = serde_json::json!({"answers": {"How to merge?": merge, "Where?": place}});
            let facts = of(&[
                tool("t", "AskUserQuestion", serde_json::json!({"questions": questions})),
                result("t", "ok", false, detail),
            ]);
            facts.decisions().map(|one| one.answer.clone()).collect::<Vec<_>>()
        };
        let told = choose("Strategy 2", "Here");
        assert!(
            told[0].starts_with("Strategy 2 (Operation log with Lamport clocks. ") && told[0].len() < 140
        );
        assert_eq!(told[1], "Here");
        assert_eq!(choose("Strategy 1", "Strategy 1")[1], "Strategy 1 (In the cloud)");
        assert_eq!(choose("neither", "Here")[0], "neither");
    }

    #[test]
    fn words_in_a_dialog_are_the_persons() {
        let asked = tool(
            "t1",
            "AskUserQuestion",
            serde_json::json!({"questions": [{"question": "Which linters?",
            "options": [{"label": "ruff"}]}]}),
        );
        let words = "only ruff. Line length 110, never 120.";
        let detail = serde_json::json!({"answers": {}, "response": words});
        let compact = "<command-name>/compact</command-name>\n  <command-message>compact</command-message>\n  \
                       <command-args>keep port 8411</command-args>";
        let facts = of(&[
            prompt("choose linters"),
            asked,
            result("t1", &format!("The user responded: {words}"), false, detail),
            prompt(compact),
            prompt(&compact.replace("keep port 8411", "")),
        ]);
        assert_eq!(said(&facts), ["choose linters", words, "/compact keep port 8411"]);
        assert_eq!(facts.decisions().next().unwrap().answer, words);
    }

    #[test]
    fn the_fill_is_the_last_real_answer_of_the_main_chain() {
        let side = answer("m3", "m", 900).replacen('{', "{\"isSidechain\":true,", 1);
        let facts = of(&[answer("m1", "m", 50), answer("m1", "m", 70), answer("m2", "<synthetic>", 1), side]);
        assert_eq!(facts.fill().unwrap().tokens, 70);
        assert_eq!(facts.fill().unwrap().message_id, "m1");
    }

    #[test]
    fn a_compaction_drops_the_fill_and_the_repeated_tail_does_not_bring_it_back() {
        let boundary =
            r#"{"type":"system","subtype":"compact_boundary","compactMetadata":{"postTokens":800}}"#
                .to_owned();
        let mut lines = vec![answer("m1", "m", 900), boundary.clone(), answer("m1", "m", 900)];
        assert_eq!(of(&lines).fill().unwrap().tokens, 800);
        lines.push(answer("m2", "m", 950));
        assert_eq!(of(&lines).fill().unwrap().tokens, 950);
        assert_eq!(of(&[answer("m1", "m", 900), boundary.replace("postTokens", "x")]).fill(), None);
    }

    #[test]
    fn hoptys_own_prompt_to_go_on_is_nobodys_word() {
        let facts = of(&[
            prompt(ResumeAfter::Error.prompt()),
            prompt("build it"),
            prompt(ResumeAfter::Limit.prompt()),
        ]);
        assert_eq!(said(&facts), ["build it"]);
        assert_eq!(facts.recent().count(), 1);
        assert!(!facts.turn_ended(), "and it is a prompt all the same");
    }

    #[test]
    fn only_what_the_person_wrote_is_a_prompt() {
        let noise = [
            r#"{"type":"user","isMeta":true,"message":{"content":"caveat"}}"#.to_owned(),
            r#"{"type":"user","isCompactSummary":true,"message":{"content":"summary"}}"#.to_owned(),
            r#"{"type":"user","origin":{"kind":"auto-continuation"},"message":{"content":"go on"}}"#
                .to_owned(),
            prompt("<command-name>/model</command-name>"),
            prompt("<task-notification>\n<task-id>1</task-id>"),
            prompt(
                "Continue from handoff HO-20261120-142950-c74cc080.\nRead /r first. Then begin with \
                 \"Continuing from handoff HO-20261120-142950-c74cc080.\" and go on with the next step.",
            ),
        ];
        assert_eq!(said(&of(&noise)), Vec::<String>::new());
        let mut lines = noise.to_vec();
        lines.push(prompt("\n\n<pasted_content id=\"1a\">\nBuild it\nwell\n</pasted_content id=\"1a\">\n"));
        lines.push(prompt("later"));
        assert_eq!(said(&of(&lines)), ["[pasted]\nBuild it\nwell\n[end of paste]", "later"]);
    }

    #[test]
    fn a_handoff_is_answered_by_a_real_answer_after_its_prompt() {
        let id = "HO-20261120-142950-c74cc080".parse().unwrap();
        let text = crate::core::handoff::continuation_prompt::Continuation::with_brief(&id);
        let mut lines = vec![answer("m0", "m", 5), prompt(text.text())];
        assert!(of(&lines).continued(&id) && !of(&lines).answered(&id));
        lines.push(answer("m1", "<synthetic>", 5));
        assert!(!of(&lines).answered(&id));
        lines.push(answer("m2", "m", 5));
        assert!(of(&lines).answered(&id));
        assert!(!of(&lines).answered(&"HO-20261120-142951-c74cc080".parse().unwrap()));
    }

    #[test]
    fn an_answer_that_stands_before_its_prompt_still_answers_it() {
        let id = "HO-20261120-142950-c74cc080".parse().unwrap();
        let text = crate::core::handoff::continuation_prompt::Continuation::with_brief(&id);
        let at = |line: String, at: &str| {
            line.replacen('{', &format!("{{\"timestamp\":\"2026-11-20T14:29:{at}Z\","), 1)
        };
        let swapped = of(&[at(answer("m1", "m", 5), "52.100"), at(prompt(text.text()), "52.000")]);
        assert!(swapped.answered(&id) && swapped.turn_ended());
        let later = of(&[at(answer("m1", "m", 5), "52.100"), at(prompt(text.text()), "53.000")]);
        assert!(!later.answered(&id) && !later.turn_ended());
        let second = [
            at(prompt("a"), "50.000"),
            at(answer("m1", "m", 5), "52.100"),
            at(prompt(text.text()), "52.000"),
        ];
        assert!(!of(&second).answered(&id), "only the first lines of a file are written out of order");
    }

    #[test]
    fn tools_count_when_their_answer_came() {
        let path = |p: &str| serde_json::json!({"file_path": p});
        let none = serde_json::Value::Null;
        let facts = of(&[
            tool("1", "Write", path("/a")),
            tool("2", "Edit", path("/b")),
            tool("3", "Edit", path("/c")),
            tool("4", "Bash", serde_json::json!({"command": "false", "description": "Fail"})),
            result("1", "ok", false, none.clone()),
            result("2", "<tool_use_error>refused</tool_use_error>", true, none.clone()),
            result("4", "Exit code 3\n\nno such file", true, none),
        ]);
        assert_eq!(facts.files().newest_first(), ["/a"]);
        let errors: Vec<_> = facts.errors().map(|e| (e.tool.as_str(), e.line.as_str())).collect();
        assert_eq!(errors, [("Edit", "refused"), ("Bash", "Exit code 3: no such file")]);
        assert_eq!(facts.open_tools().len(), 1);
        assert_eq!(facts.open_tools()[0].input.path.as_deref(), Some("/c"));
    }

    #[test]
    fn decisions_come_from_the_structured_answer_or_the_text() {
        let ask = serde_json::json!({"questions": [{"question": "Which?", "options": []}]});
        let lines =
            |detail| of(&[tool("1", "AskUserQuestion", ask.clone()), result("1", "chose B", false, detail)]);
        let structured = lines(serde_json::json!({"answers": {"Which?": "A"}}));
        assert_eq!(structured.decisions().next().unwrap().answer, "A");
        let plain = lines(serde_json::Value::Null);
        assert_eq!(
            *plain.decisions().next().unwrap(),
            AnsweredQuestion { question: "Which?".into(), answer: "chose B".into() }
        );
    }

    #[test]
    fn plans_reports_and_what_the_person_ran_are_known() {
        let plan = format!("# Plan\n{}", "1. a step\n".repeat(400));
        let note = |text: &str| {
            serde_json::json!({"type": "user", "origin": {"kind": "task-notification"},
                "message": {"content": text}})
            .to_string()
        };
        let told = "<task-notification>\n<task-id>a1</task-id>\n<summary>Agent \"Look\" completed</summary>\n\
                    <result>It is the index.</result>\n</task-notification>";
        let queued = serde_json::json!({"type": "queue-operation", "operation": "enqueue", "content": told})
            .to_string();
        let facts = of(&[
            prompt("plan it"),
            tool("1", "ExitPlanMode", serde_json::json!({"plan": "an earlier form"})),
            result("1", "approved", false, serde_json::json!({"plan": plan, "filePath": "/plans/a.md"})),
            queued,
            note(told),
            tool("2", "Task", serde_json::json!({"description": "History"})),
            result("2", "Since commit 9f3c1ab7.", false, serde_json::json!({"status": "completed"})),
            prompt("<bash-input>git checkout -b tide</bash-input>"),
            prompt("<bash-stdout>Switched</bash-stdout><bash-stderr></bash-stderr>"),
            prompt("<user-memory-input>always use metric units</user-memory-input>"),
        ]);
        let approved = facts.plan().unwrap();
        assert_eq!(
            (approved.text.as_str(), approved.file.as_deref(), approved.after),
            (plan.trim(), Some("/plans/a.md"), 1)
        );
        let reports: Vec<_> = facts.reports().map(|one| (one.about.as_str(), one.text.as_str())).collect();
        assert_eq!(
            reports,
            [
                ("Agent \"Look\" completed", "It is the index."),
                ("Agent \"History\" completed", "Since commit 9f3c1ab7.")
            ]
        );
        assert_eq!(
            facts.shell_commands().map(|one| one.command.as_str()).collect::<Vec<_>>(),
            ["git checkout -b tide"]
        );
        assert_eq!(said(&facts), ["plan it", "always use metric units"]);
        assert_eq!(facts.prompts().iter().last().unwrap().kind, PromptKind::Memory);
    }

    #[test]
    fn five_hundred_tasks_hold() {
        let mut lines = Vec::new();
        for n in 1..=600 {
            let id = n.to_string();
            lines.push(tool(&id, "TaskCreate", serde_json::json!({"subject": format!("task {n}")})));
            lines.push(result(
                &id,
                "",
                false,
                serde_json::json!({"task": {"id": id, "subject": format!("task {n}")}}),
            ));
        }
        let facts = of(&lines);
        assert_eq!(facts.tasks().all().len(), 600);
        assert_eq!(facts.tasks().all()[599].id, "600");
    }

    #[test]
    fn the_queue_is_followed() {
        let queue = |operation: &str, content: Option<&str>| {
            serde_json::json!({"type": "queue-operation", "operation": operation, "content": content})
                .to_string()
        };
        let mut lines = vec![
            queue("enqueue", Some("a")),
            queue("enqueue", Some("<task-notification>x")),
            queue("enqueue", Some("b")),
        ];
        assert_eq!(of(&lines).queued_prompts().collect::<Vec<_>>(), ["a", "b"]);
        lines.push(queue("remove", Some("b")));
        let facts = of(&lines);
        assert_eq!(facts.queued_prompts().collect::<Vec<_>>(), ["a"]);
        assert_eq!(facts.recent().next().unwrap().text, "b");
        lines.push(queue("dequeue", None));
        assert_eq!(of(&lines).queued_prompts().count(), 0);
        // What the model scheduled looks like a person's.
        let schedules = serde_json::json!({"type": "assistant", "message": {"id": "m", "content": [
            {"type": "tool_use", "id": "t", "name": "CronCreate", "input": {"cron": "* * * * *", "prompt": "c"}}]}});
        lines.extend([schedules.to_string(), queue("enqueue", Some("c")), queue("enqueue", Some("d"))]);
        let facts = of(&lines);
        assert_eq!(facts.queued_prompts().collect::<Vec<_>>(), ["d"]);
        assert!(facts.is_scheduled("c\n") && !facts.is_scheduled("d"));
    }

    #[test]
    fn steering_refusals_and_interrupts_are_the_persons_words() {
        let queue = |operation: &str, text: &str| {
            serde_json::json!({"type": "queue-operation", "operation": operation, "content": text})
                .to_string()
        };
        let refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the \
                       user said:\nnot in vendor/";
        let stop = r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#;
        let facts = of(&[
            prompt("paint the fence"),
            queue("enqueue", "in green"),
            queue("remove", "in green"),
            tool("1", "Write", serde_json::json!({"file_path": "/vendor/a"})),
            result("1", refused, true, serde_json::json!("User rejected tool use")),
            tool("2", "mcp__x__y", serde_json::json!({})),
            result("2", refused, true, serde_json::json!(format!("Error: {refused}"))),
            prompt("then the gate"),
            stop.to_owned(),
            stop.to_owned(),
        ]);
        let all: Vec<_> = facts.prompts().iter().map(|p| (p.text.as_str(), p.kind, p.interrupted)).collect();
        assert_eq!(
            all,
            [
                ("paint the fence", PromptKind::Typed, false),
                ("in green", PromptKind::Steering, false),
                ("not in vendor/", PromptKind::Refusal, false),
                ("then the gate", PromptKind::Typed, true),
            ],
            "what a tool prints is nobody's word"
        );
        let refusal = facts.prompts().iter().nth(2).unwrap();
        assert!(refusal.asked.as_ref().unwrap().ends_with("refused: Write /vendor/a)"));
    }

    #[test]
    fn the_reason_of_a_refusal_and_the_comment_of_an_approval_are_the_persons_words() {
        // The forms of 2.1.332.
        let quoted = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell \
                      you how to proceed, the user said:\nno, use mktemp";
        let bash = |id: &str| tool(id, "Bash", serde_json::json!({"command": "rm -r tmp"}));
        let line = |id: &str, text: &str, rest: serde_json::Value| {
            let mut line: serde_json::Value =
                serde_json::from_str(&result(id, text, true, serde_json::json!(format!("Error: {text}"))))
                    .unwrap();
            line.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            line
        };
        let refusal = line(
            "1",
            quoted,
            serde_json::json!({"toolDenialKind": "user-rejected", "userFeedback": "no, use mktemp",
                "permissionDecision": {"decision": "reject", "source": "user_reject"}}),
        );
        let by_a_hook = line(
            "2",
            quoted,
            serde_json::json!({"toolDenialKind": "user-rejected", "userFeedback": "delete it all",
                "permissionDecision": {"decision": "reject", "source": "hook"}}),
        );
        let allowed = |id: &str, said: &str, source: &str| {
            serde_json::json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": id, "content": "ok"}, {"type": "text", "text": said}]},
                "toolUseResult": {"stdout": "ok"},
                "permissionDecision": {"decision": "accept", "source": source}})
            .to_string()
        };
        let facts = of(&[
            prompt("clean up"),
            bash("1"),
            refusal.to_string(),
            bash("2"),
            by_a_hook.to_string(),
            bash("3"),
            allowed("3", "yes but only between 01:00 and 05:00", "user_temporary"),
            bash("4"),
            allowed("4", "the tool was loaded", "config"),
            tool("5", "ExitPlanMode", serde_json::json!({"plan": "1. split"})),
            allowed("5", "good but flag off by default", "user_temporary"),
            tool("6", "ExitPlanMode", serde_json::json!({"plan": "1. split"})),
            refusal.to_string().replace("no, use mktemp", "audit wants 14 days").replace("\"1\"", "\"6\""),
        ]);
        let all: Vec<_> = facts.prompts().iter().map(|p| (p.text.as_str(), p.kind)).collect();
        assert_eq!(
            all,
            [
                ("clean up", PromptKind::Typed),
                ("no, use mktemp", PromptKind::Refusal),
                ("yes but only between 01:00 and 05:00", PromptKind::Approval),
                ("good but flag off by default", PromptKind::Approval),
                ("audit wants 14 days", PromptKind::Refusal),
            ]
        );
        let asked: Vec<_> = facts.prompts().iter().map(|p| p.asked.as_deref().unwrap_or_default()).collect();
        assert_eq!(
            asked[1..3],
            [
                "(a tool call that the person refused: Bash rm -r tmp)",
                "(a tool call that the person allowed: Bash rm -r tmp)"
            ]
        );
        assert_eq!(facts.errors().count(), 1, "what the person refused is no error");
        assert_eq!(facts.decisions().last().unwrap().answer, "refused: audit wants 14 days");
    }

    #[test]
    fn a_custom_command_is_a_prompt_as_it_was_typed() {
        let command = |name: &str, args: &str| {
            prompt(&format!(
                "<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n\
                 <command-args>{args}</command-args>"
            ))
        };
        let facts = of(&[
            command("fix-issue", "4127 but leave <b>queue.go</b> alone"),
            r#"{"type":"user","isMeta":true,"message":{"content":[{"type":"text","text":"Fix the issue."}]}}"#
                .to_owned(),
            prompt("<command-message>tidy</command-message>\n<command-name>/tidy</command-name>"),
            prompt("<command-name>/model</command-name>\n            <command-message>model</command-message>\n            <command-args>opus</command-args>"),
            prompt("<command-message>The \"pdf\" skill is loading</command-message>\n<command-name>pdf</command-name>"),
            command("hopty-hooks:handoff", ""),
            command("mine", "x").replacen('{', "{\"isMeta\":true,", 1),
        ]);
        assert_eq!(said(&facts), ["/fix-issue 4127 but leave <b>queue.go</b> alone", "/tidy"]);
        assert!(!facts.turn_ended());
    }

    #[test]
    fn what_was_written_as_an_answer_is_a_prompt_and_what_was_chosen_a_decision() {
        let ask = serde_json::json!({"questions": [
            {"question": "Which runner?", "options": [{"label": "hosted"}, {"label": "own"}]},
            {"question": "Which linters?", "options": [{"label": "ruff"}, {"label": "mypy"}]},
            {"question": "When?", "options": [{"label": "on tag"}, {"label": "nightly"}]},
            {"question": "What name?", "options": [{"label": "fw.bin"}]}]});
        let detail = serde_json::json!({
            "answers": {"Which runner?": "own", "Which linters?": "ruff, mypy",
                "When?": "on tag, but ask Henrik first", "What name?": "fw.bin"},
            "annotations": {"What name?": {"notes": "append the revision"}, "When?": {"notes": null}}});
        let facts = of(&[tool("1", "AskUserQuestion", ask), result("1", "ok", false, detail)]);
        let all: Vec<_> =
            facts.prompts().iter().map(|p| (p.text.as_str(), p.kind, p.asked.as_deref().unwrap())).collect();
        assert_eq!(
            all,
            [
                ("fw.bin (note: append the revision)", PromptKind::Answer, "What name?"),
                ("on tag, but ask Henrik first", PromptKind::Answer, "When?"),
            ]
        );
        assert_eq!(facts.decisions().count(), 4);
    }

    #[test]
    fn what_the_person_wrote_instead_of_answers_is_theirs_and_claudes_frame_is_not() {
        let why = "The user wants to clarify these questions.\n    Start by asking them what they would like \
                   to clarify.\n\n    Questions asked:\n- \"Which?\"\n  Answer: neither, see the \
                   notes\n- \"When?\"\n  (No answer provided)";
        let mut line: serde_json::Value =
            serde_json::from_str(&result("1", why, true, serde_json::Value::Null)).unwrap();
        line["toolDenialKind"] = "user-rejected".into();
        line["userFeedback"] = why.into();
        let facts = of(&[tool("1", "AskUserQuestion", serde_json::json!({})), line.to_string()]);
        assert_eq!(said(&facts), ["neither, see the notes"]);
        assert_eq!(facts.decisions().next().unwrap().answer, "refused: neither, see the notes");
    }

    #[test]
    fn a_branch_that_the_person_left_was_not_said() {
        let at = |line: String, uuid: &str, parent: &str| {
            line.replacen('{', &format!("{{\"uuid\":\"{uuid}\",\"parentUuid\":\"{parent}\","), 1)
        };
        let say = |id: &str, text: &str| {
            let block = serde_json::json!({"type": "text", "text": text});
            serde_json::json!({"type": "assistant", "message": {"id": id, "model": "m", "content": [block]}})
                .to_string()
        };
        let ask = serde_json::json!({"questions": [{"question": "Which Oracle?", "options": []}]});
        let mut lines = vec![
            at(prompt("write the calculator"), "u1", "p0"),
            say("m1", "The calculator is there."),
            at(prompt("replace Postgres by Oracle"), "u2", "p1"),
            tool("1", "TaskCreate", serde_json::json!({"subject": "Oracle"})),
            result("1", "ok", false, serde_json::json!({"task": {"id": "1", "subject": "Oracle"}})),
            tool("2", "Write", serde_json::json!({"file_path": "/oracle.py"})),
            result("2", "ok", false, serde_json::Value::Null),
            tool("3", "AskUserQuestion", ask),
            result("3", "ok", false, serde_json::json!({"answers": {"Which Oracle?": "23ai"}})),
            say("m2", "I'll use Oracle 23ai because you chose it."),
            at(prompt("and deploy it"), "u3", "p2"),
        ];
        let whole = of(&lines);
        assert_eq!(said(&whole).len(), 3);
        let same_line = of(&[lines.clone(), vec![lines[2].clone()]].concat());
        assert_eq!(said(&same_line).len(), 4, "a line that stands twice is no way back");
        lines.push(at(prompt("add the winter tariff"), "u4", "p1"));
        let facts = of(&lines);
        assert_eq!(said(&facts), ["write the calculator", "add the winter tariff"]);
        assert_eq!((facts.decisions().count(), facts.stated().count(), facts.tasks().all().len()), (0, 0, 0));
        assert_eq!(facts.last_answers()[0].text, "The calculator is there.");
        assert_eq!(facts.files().newest_first(), ["/oracle.py"], "what was written stays");
        let recent: Vec<_> = facts.recent().map(|said| said.text.as_str()).collect();
        assert_eq!(recent, ["write the calculator", "The calculator is there.", "add the winter tariff"]);
        // Back again, and to the beginning.
        lines.push(at(prompt("add the summer tariff"), "u5", "p1"));
        assert_eq!(said(&of(&lines)), ["write the calculator", "add the summer tariff"]);
        lines.push(at(prompt("write a poem"), "u6", "p0"));
        assert_eq!(said(&of(&lines)), ["write a poem"]);
    }

    #[test]
    fn the_last_two_answers_reads_and_decisions_are_known() {
        let say = |id: &str, text: &str| {
            let block = serde_json::json!({"type": "text", "text": text});
            serde_json::json!({"type": "assistant", "message": {"id": id, "model": "m", "content": [block]}})
                .to_string()
        };
        let alone = r#"{"type":"user","message":{"content":[{"type":"image","source":{}}]}}"#;
        assert_eq!(of(&[alone.to_owned()]).prompts().newest().map(|prompt| prompt.images), Some(1));
        let image = r#"{"type":"user","message":{"content":[{"type":"image","source":{}},{"type":"text","text":"like this"}]}}"#;
        let facts = of(&[
            say("m1", "first"),
            say("m2", "I'll use one loop because it is shorter."),
            say("m2", "And go on."),
            tool("1", "Read", serde_json::json!({"file_path": "/a", "offset": 3, "limit": 2})),
            result("1", "text", false, serde_json::Value::Null),
            image.to_owned(),
        ]);
        let [last, before] = facts.last_answers();
        assert_eq!(
            (last.text.as_str(), before.text.as_str()),
            ("I'll use one loop because it is shorter.\nAnd go on.", "first")
        );
        assert!(last.replied && !before.replied);
        assert_eq!(facts.files_read().newest_first().next().unwrap().ranges, [(3, 4)]);
        assert_eq!(facts.stated().count(), 1);
        assert_eq!(facts.prompts().iter().next().unwrap().images, 1);
        let place = r#"{"type":"user","isMeta":true,"turnCompanion":true,"message":{"content":[{"type":"text","text":"[Image: source: /p/shot.png]"}]}}"#;
        let facts =
            of(&[image.to_owned(), place.to_owned(), say("m3", "I see it."), place.replace("shot", "x")]);
        assert_eq!(facts.prompts().newest().unwrap().image_files, ["/p/shot.png"]);
    }

    #[test]
    fn what_was_said_is_bounded() {
        let long = "x".repeat(3 * EXCHANGE_CAP);
        let facts = of(&(0..50).map(|n| prompt(&format!("{n} {long}"))).collect::<Vec<_>>());
        assert_eq!(facts.recent().count(), super::super::transcript_facts::RECENT_CAP);
        assert!(facts.recent().all(|exchange| exchange.text.len() <= EXCHANGE_CAP));
        assert!(facts.recent().next_back().unwrap().text.starts_with("49 "));
    }
}
