//! The JSON form of a transcript line, and its conversion.
//!
//! The structs list only the fields that hopty uses, in the forms of 1.0.128 to 2.1.329 (measured).

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::hooks::PLUGIN_NAME;
use super::lenient_json::{
    Flag, JsonLine, List, LooseContent, Names, Notes, Number, Object, ObjectOrText, Pairs, Text, ends,
};
use super::message_usage::RawUsage;
use super::prompts::is_foreign;
use super::tasks::AFTER_CAP;
use super::transcript_facts::SCHEDULED_BYTES;
use super::transcript_line::{
    ApiFailure, Assistant, ChosenMeaning, PLAN_CAP, RESULT_CAP, RESULT_HEAD, RESULT_TAIL, ResultDetail,
    SelectedLines, TASK_CAP, TEXT_CAP, TaskRow, ToolInput, ToolResult, ToolUse, TranscriptLine, User,
    UserKind,
};
use crate::core::redact::redact;
use crate::core::text::safe_text::cut_words;

/// How much of a conversation's title is kept, in bytes.
const TITLE_CAP: usize = 400;
/// How much of an error's text is kept, in bytes.
const SAID_CAP: usize = 200;

/// What replaces a structured answer if the person refused the call (2.1.331).
const REFUSED: &str = "User rejected tool use";

/// The decision on the line of a call that the person refused (2.1.332).
const REFUSED_BY_PERSON: &str = "user-rejected";

/// How much of a command is kept, in bytes: its end decides whose exit status it has.
const COMMAND_CAP: usize = 4096;
/// How much of a command is kept as its description, in bytes.
const ABOUT_CAP: usize = 300;
/// How much is kept of the arguments of a server's tool, in bytes.
const REST_CAP: usize = 200;

/// How user lines begin that Claude writes for its own commands and their output. A command or skill whose
/// text goes to the model begins with `<command-message>` and is a prompt: see [`typed_command`].
const COMMANDS: [&str; 9] = [
    "<command-name>", "<command-message>", "<local-command-caveat>", "<local-command-stdout>",
    "<local-command-stderr>", "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<user-memory-input>",
];

impl RawRecord {
    pub(super) fn into_line(self) -> TranscriptLine {
        match self.r#type.0.as_deref() {
            Some("assistant") => TranscriptLine::Assistant(Box::new(self.into_assistant())),
            Some("user") => TranscriptLine::User(Box::new(self.into_user())),
            Some("queue-operation") => TranscriptLine::Queue {
                operation: self.operation.0.unwrap_or_default(),
                content: self.content.0,
                timestamp: self.timestamp.0,
            },
            Some("permission-mode") => {
                TranscriptLine::PermissionMode(self.permission_mode.0.unwrap_or_default())
            }
            Some("custom-title") => TranscriptLine::Title(self.custom_title.0.unwrap_or_default()),
            Some("attachment") if !self.is_sidechain.0 => self
                .attachment
                .0
                .and_then(RawAttached::into_selection)
                .map_or(TranscriptLine::Other, TranscriptLine::Selection),
            Some("system") if self.subtype.0.as_deref() == Some("compact_boundary") => {
                TranscriptLine::CompactBoundary {
                    post_tokens: self.compact_metadata.0.and_then(|meta| meta.post_tokens.0),
                }
            }
            _ => TranscriptLine::Other,
        }
    }

    fn into_assistant(self) -> Assistant {
        let message = self.message.0.unwrap_or_default();
        let model = message.model.0.unwrap_or_default();
        let synthetic = model == "<synthetic>";
        let limits = self.quota_limits.0.unwrap_or_default();
        let mut failure = synthetic.then(|| ApiFailure {
            error: self.error.0.unwrap_or_default(),
            status: self.api_error_status.0,
            resets_at: limits.resets_at.0,
            limit: limits.rate_limit_type.0,
            said: String::new(),
        });
        let (mut text, mut tool_uses) = (String::new(), Vec::new());
        match message.content {
            LooseContent::Plain(plain) => text = plain,
            LooseContent::Blocks(blocks) => {
                for block in blocks {
                    match block.r#type.0.as_deref() {
                        Some("text") => append(&mut text, block.text.0.as_deref().unwrap_or_default()),
                        Some("tool_use") => tool_uses.push(block.into_tool_use()),
                        _ => {}
                    }
                }
            }
            LooseContent::Nothing => {}
        }
        if let Some(failure) = &mut failure {
            cut_words(&text, SAID_CAP).clone_into(&mut failure.said);
        }
        Assistant {
            message_id: message.id.0.unwrap_or_default(),
            model,
            synthetic,
            usage: message.usage.0.map(RawUsage::into_usage),
            stop_reason: message.stop_reason.0,
            tool_uses,
            text,
            sidechain: self.is_sidechain.0,
            timestamp: self.timestamp.0,
            failure,
        }
    }

    fn into_user(mut self) -> User {
        let origin = self.origin.0.take().and_then(|origin| origin.kind.0);
        let source = self.prompt_source.0.take();
        let is_typed = origin.as_deref() == Some("human");
        let by_person =
            origin.as_deref().is_none_or(|kind| kind == "human") && source.as_deref() != Some("system");
        let has_blocks =
            self.message.0.as_ref().is_some_and(|of| matches!(of.content, LooseContent::Blocks(_)));
        let (prompt, results, images) = self.message.0.take().unwrap_or_default().into_user_content();
        let kind = if self.is_compact_summary.0 && results.is_empty() {
            UserKind::Summary(prompt)
        } else if !results.is_empty() {
            self.tool_results(prompt, results)
        } else if prompt.starts_with("[Request interrupted by user") {
            UserKind::Interrupted
        } else if is_foreign(&prompt) && !is_typed || !by_person {
            UserKind::Notification(prompt)
        } else {
            self.persons_line(prompt, images, has_blocks)
        };
        User {
            kind,
            origin,
            source,
            sidechain: self.is_sidechain.0,
            uuid: self.uuid.0,
            parent: self.parent_uuid.0,
            timestamp: self.timestamp.0,
            permission_mode: self.permission_mode.0,
            images,
            interrupted_message: self.interrupted_message_id.0,
        }
    }

    /// Answers of tools; `prompt` is the text beside them.
    fn tool_results(&mut self, prompt: String, results: Vec<ToolResult>) -> UserKind {
        // No tool can write at the top of the line. Without a decision (before 2.1.332), the text there
        // counts as the person's.
        let decided = self.permission_decision.0.take().and_then(|decision| decision.source.0);
        let by_person = decided.is_none_or(|source| source.starts_with("user"));
        let refused = self.tool_use_result.text.as_deref() == Some(REFUSED)
            || by_person && self.tool_denial_kind.0.as_deref() == Some(REFUSED_BY_PERSON);
        let is_comment = by_person && !prompt.starts_with("[Request interrupted") && !is_foreign(&prompt);
        let comment = Some(prompt).filter(|said| is_comment && !said.trim().is_empty());
        let detail = ResultDetail {
            refused,
            said: if refused { self.user_feedback.0.take().or(comment) } else { comment },
            ..self.tool_use_result.object.take().unwrap_or_default().into_detail()
        };
        UserKind::ToolResults { results, detail: Box::new(detail) }
    }

    /// A line that the person typed, or that Claude wrote beside it.
    fn persons_line(&self, prompt: String, images: usize, has_blocks: bool) -> UserKind {
        if self.is_meta.0 || self.is_compact_summary.0 || self.is_visible_in_transcript_only.0 {
            return match image_files(&prompt) {
                Some(files) => UserKind::ImageFiles(files),
                None if self.is_meta.0 && has_blocks && !prompt.is_empty() && !prompt.starts_with('<') => {
                    UserKind::CommandText(prompt)
                }
                None => UserKind::Meta,
            };
        }
        if let Some(command) = typed_command(&prompt) {
            UserKind::Prompt(command)
        } else if let Some(command) = tagged(&prompt, "bash-input") {
            UserKind::ShellCommand(command)
        } else if prompt.starts_with("<bash-stdout>") {
            UserKind::ShellOutput(shell_output(&prompt))
        } else if let Some(text) = tagged(&prompt, "user-memory-input") {
            UserKind::Memory(text)
        } else if let Some(words) = compact_words(&prompt) {
            UserKind::Compact(words)
        } else if prompt.trim().is_empty() && images == 0
            || COMMANDS.iter().any(|tag| prompt.starts_with(tag))
        {
            UserKind::Meta
        } else {
            UserKind::Prompt(prompt)
        }
    }
}

impl RawMessage {
    /// The text, the answers of tools and the number of images.
    fn into_user_content(self) -> (String, Vec<ToolResult>, usize) {
        let (mut text, mut results, mut images) = (String::new(), Vec::new(), 0);
        match self.content {
            LooseContent::Plain(plain) => text = plain,
            LooseContent::Blocks(blocks) => {
                for block in blocks {
                    match block.r#type.0.as_deref() {
                        Some("tool_result") => results.push(block.into_result()),
                        Some("image") => images += 1,
                        Some("text") => {
                            let part = block.text.0.unwrap_or_default();
                            if !part.starts_with("<system-reminder>") && !part.starts_with("<ide_") {
                                append(&mut text, &part);
                            }
                        }
                        _ => {}
                    }
                }
            }
            LooseContent::Nothing => {}
        }
        (text, results, images)
    }
}

impl RawAttached {
    /// The lines that the person had selected in their editor, if the attachment is a selection.
    fn into_selection(self) -> Option<SelectedLines> {
        let is_one = self.r#type.0.as_deref() == Some("selected_lines_in_ide");
        let file = self.display_path.0.or(self.filename.0).filter(|_| is_one)?;
        Some(SelectedLines { file, lines: self.line_start.0.zip(self.line_end.0) })
    }
}

/// The files that Claude's line below a prompt with images names (2.1.332); `None` for any other line.
fn image_files(text: &str) -> Option<Vec<String>> {
    let file = |line: &str| Some(line.strip_prefix("[Image: source: ")?.strip_suffix(']')?.to_owned());
    text.lines().map(file).collect::<Option<Vec<_>>>().filter(|files| !files.is_empty())
}

/// The text between the tags, if the text begins with the opening one.
fn tagged(text: &str, tag: &str) -> Option<String> {
    let rest = text.strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>')?;
    rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner.trim().to_owned())
}

impl RawBlock {
    fn into_tool_use(self) -> ToolUse {
        let input = self.input.0.unwrap_or_default();
        let questions = input.questions.0.unwrap_or_default();
        let command = input.command.0;
        let name = self.name.0.unwrap_or_default();
        // A server's tool gives these names to arguments of its own.
        let own = [
            ("id", &input.id.0),
            ("name", &input.name.0),
            ("status", &input.status.0),
            ("prompt", &input.prompt.0),
            ("args", &input.args.0),
        ];
        let is_servers = name.starts_with("mcp__");
        let rest = if is_servers { arguments(&own, &input.others.0) } else { String::new() };
        ToolUse {
            id: self.id.0.unwrap_or_default(),
            input: ToolInput {
                path: input.file_path.0.or(input.notebook_path.0),
                subject: input.subject.0,
                task_id: input.task_id.0,
                comes_after: input.add_blocked_by.0,
                status: input.status.0,
                about: (input
                    .description
                    .0
                    .or_else(|| command.as_deref().map(|command| cut_words(command, ABOUT_CAP).to_owned())))
                .or(input.pattern.0)
                .or(input.query.0)
                .or(input.url.0)
                .or(input.skill.0.map(|skill| match input.args.0 {
                    Some(args) => format!("{skill} {args}"),
                    None => skill,
                }))
                .or(input.name.0.filter(|_| !is_servers)),
                todos: input.todos.0.map(rows),
                options: questions
                    .iter()
                    .flat_map(|q| q.options.0.iter().flatten())
                    .filter_map(|option| option.label.0.clone())
                    .collect(),
                asked: questions.iter().filter_map(RawQuestion::with_options).collect(),
                meanings: questions.iter().flat_map(RawQuestion::meanings).collect(),
                questions: questions.into_iter().filter_map(|q| q.question.0).collect(),
                command,
                background: input.run_in_background.0,
                plan: input.plan.0,
                plan_file: input.plan_file_path.0,
                schedules: input
                    .prompt
                    .0
                    .filter(|_| matches!(name.as_str(), "CronCreate" | "ScheduleWakeup")),
                lines: (input.offset.0, input.limit.0),
                schedule: input.cron.0,
                rest: Some(rest)
                    .filter(|rest| !rest.is_empty())
                    .map(|rest| cut_words(&redact(&rest), REST_CAP).to_owned()),
                job: input.id.0,
            },
            name,
        }
    }

    fn into_result(self) -> ToolResult {
        let mut text = String::new();
        match self.content {
            LooseContent::Plain(plain) => text = plain,
            LooseContent::Blocks(parts) => {
                for part in parts.into_iter().filter_map(|part| part.text.0) {
                    append(&mut text, &part);
                    // Cut only from time to time, because many small parts would be copied again and again.
                    if text.len() > 4 * RESULT_CAP {
                        text = ends(&text, RESULT_HEAD, RESULT_TAIL);
                    }
                }
                text = ends(&text, RESULT_HEAD, RESULT_TAIL);
            }
            LooseContent::Nothing => {}
        }
        ToolResult { id: self.tool_use_id.0.unwrap_or_default(), is_error: self.is_error.0, text }
    }
}

/// The arguments of a server's tool as one JSON object: `own` before the `others`, which are one
/// already. Empty if there is none.
fn arguments(own: &[(&str, &Option<String>)], others: &str) -> String {
    let member = |(name, value): &(&str, &Option<String>)| {
        let value = value.as_deref()?;
        Some(format!("\"{name}\": {}", serde_json::Value::from(value)))
    };
    let others = others.strip_prefix('{').and_then(|others| others.strip_suffix('}'));
    let members: Vec<String> = own.iter().filter_map(member).chain(others.map(str::to_owned)).collect();
    if members.is_empty() { String::new() } else { format!("{{{}}}", members.join(", ")) }
}

impl RawDetail {
    fn into_detail(self) -> ResultDetail {
        ResultDetail {
            created: self.task.0.map(RawTask::into_row),
            status_now: self.status_change.0.and_then(|change| change.to.0),
            tasks: self.tasks.0.map(rows),
            answers: self.answers.0,
            response: self.response.0.filter(|text| !text.trim().is_empty()),
            notes: self.annotations.0,
            wrote: self.r#type.0,
            running: self.background_task_id.0.or(if self.is_async.0 { self.agent_id.0 } else { None }),
            output: self.output_file.0,
            plan_file: self.file_path.0.filter(|_| self.plan.0.is_some()),
            plan: self.plan.0,
            refused: false,
            said: None,
            task: self.task_id.0,
            job: self.id.0,
            schedule: self.human_schedule.0,
        }
    }
}

impl RawQuestion {
    /// The question with its options.
    fn with_options(&self) -> Option<String> {
        let labels = self.options.0.iter().flatten().filter_map(|option| option.label.0.as_deref());
        let labels: Vec<&str> = labels.collect();
        let question = self.question.0.clone()?;
        Some(match labels.is_empty() {
            true => question,
            false => format!("{question} (options: {})", labels.join(" | ")),
        })
    }

    /// The question, label and description of each option that has a description.
    fn meanings(&self) -> impl Iterator<Item = ChosenMeaning> {
        self.options.0.iter().flatten().filter_map(|option| {
            let (label, meaning) = (option.label.0.clone()?, option.description.0.clone()?);
            let question = self.question.0.clone().unwrap_or_default();
            (!meaning.trim().is_empty() && meaning != label).then_some(ChosenMeaning {
                question,
                label,
                meaning,
            })
        })
    }
}

impl RawTask {
    fn into_row(self) -> TaskRow {
        TaskRow {
            id: self.id.0,
            subject: self.subject.0.or(self.content.0).unwrap_or_default(),
            status: self.status.0.unwrap_or_default(),
        }
    }
}

/// A command or skill that Claude expands into a prompt, as the person typed it: its name and arguments.
/// Commands that Claude runs itself (`/clear`, `/model`) begin with `<command-name>` (measured on 2.1.332).
fn typed_command(line: &str) -> Option<String> {
    let (_, rest) = line.strip_prefix("<command-message>")?.split_once("</command-message>")?;
    let (name, rest) = rest.trim_start().strip_prefix("<command-name>")?.split_once("</command-name>")?;
    let given = rest.trim_start().strip_prefix("<command-args>").unwrap_or_default();
    let given = given.rsplit_once("</command-args>").map_or("", |(given, _)| given);
    // A skill that the model chose has no slash.
    let plain = name.strip_prefix('/')?;
    match plain.split_once(':').filter(|(plugin, _)| *plugin == PLUGIN_NAME) {
        // Words behind it say what comes next.
        Some((_, "handoff")) => Some(given.trim().to_owned()).filter(|given| !given.is_empty()),
        // hopty's other commands ask for no work.
        Some(_) => None,
        None => Some(format!("{name} {given}").trim_end().to_owned()),
    }
}

/// The output of a command that the person ran, both streams.
fn shell_output(line: &str) -> String {
    let line = line.trim_start_matches("<bash-stdout>").trim_end();
    let line = line.strip_suffix("</bash-stderr>").unwrap_or(line);
    ends(&line.replacen("</bash-stdout><bash-stderr>", "\n", 1), RESULT_HEAD, RESULT_TAIL)
}

/// The person's instruction for a compaction: `/compact keep the ports`. Claude Code runs the command itself,
/// but the words are the person's.
fn compact_words(line: &str) -> Option<String> {
    let rest = line.strip_prefix("<command-name>/compact</command-name>")?;
    let (_, given) = rest.split_once("<command-args>")?;
    let (given, _) = given.rsplit_once("</command-args>")?;
    Some(given.trim()).filter(|given| !given.is_empty()).map(|given| format!("/compact {given}"))
}

fn rows(tasks: Vec<RawTask>) -> Vec<TaskRow> {
    tasks.into_iter().map(RawTask::into_row).collect()
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RawRecord {
    r#type: Text<64>,
    is_sidechain: Flag,
    is_meta: Flag,
    is_compact_summary: Flag,
    is_visible_in_transcript_only: Flag,
    uuid: Text<64>,
    parent_uuid: Text<64>,
    timestamp: Text<64>,
    message: Object<RawMessage>,
    tool_use_result: ObjectOrText<RawDetail>,
    origin: Object<RawOrigin>,
    prompt_source: Text<64>,
    operation: Text<64>,
    content: Text<TEXT_CAP>,
    permission_mode: Text<64>,
    custom_title: Text<TITLE_CAP>,
    tool_denial_kind: Text<64>,
    user_feedback: Text<TEXT_CAP>,
    permission_decision: Object<RawPermissionDecision>,
    subtype: Text<64>,
    compact_metadata: Object<RawCompact>,
    error: Text<200>,
    api_error_status: Number,
    quota_limits: Object<RawLimits>,
    interrupted_message_id: Text<200>,
    attachment: Object<RawAttached>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawAttached {
    r#type: Text<64>,
    filename: Text<1000>,
    display_path: Text<1000>,
    line_start: Number,
    line_end: Number,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawMessage {
    id: Text<200>,
    model: Text<200>,
    content: LooseContent<RawBlock, TEXT_CAP>,
    stop_reason: Text<64>,
    usage: Object<RawUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawBlock {
    r#type: Text<64>,
    text: Text<TEXT_CAP>,
    id: Text<200>,
    name: Text<200>,
    input: Object<RawInput>,
    tool_use_id: Text<200>,
    content: LooseContent<RawPart, RESULT_HEAD, RESULT_TAIL>,
    is_error: Flag,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawPart {
    text: Text<RESULT_HEAD, RESULT_TAIL>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawInput {
    file_path: Text<4096>,
    notebook_path: Text<4096>,
    subject: Text<2000>,
    description: Text<300>,
    prompt: Text<SCHEDULED_BYTES>,
    command: Text<COMMAND_CAP>,
    pattern: Text<300>,
    query: Text<300>,
    url: Text<300>,
    #[serde(rename = "taskId")]
    task_id: Text<64>,
    #[serde(rename = "addBlockedBy")]
    add_blocked_by: Names<AFTER_CAP>,
    status: Text<64>,
    todos: List<RawTask, TASK_CAP>,
    questions: List<RawQuestion, 16>,
    run_in_background: Flag,
    plan: Text<PLAN_CAP>,
    #[serde(rename = "planFilePath")]
    plan_file_path: Text<1000>,
    offset: Number,
    limit: Number,
    skill: Text<200>,
    args: Text<300>,
    name: Text<200>,
    cron: Text<200>,
    id: Text<64>,
    /// Skips files and their parts.
    #[serde(rename = "old_string")]
    _old_string: IgnoredAny,
    #[serde(rename = "new_string")]
    _new_string: IgnoredAny,
    #[serde(rename = "edits")]
    _edits: IgnoredAny,
    #[serde(rename = "new_source")]
    _new_source: IgnoredAny,
    #[serde(flatten)]
    others: JsonLine,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawTask {
    id: Text<64>,
    subject: Text<2000>,
    content: Text<2000>,
    status: Text<64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawQuestion {
    question: Text<2000>,
    options: List<RawOption, 16>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawOption {
    label: Text<300>,
    description: Text<300>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawDetail {
    task: Object<RawTask>,
    status_change: Object<RawChange>,
    tasks: List<RawTask, TASK_CAP>,
    answers: Pairs,
    response: Text<TEXT_CAP>,
    annotations: Notes,
    r#type: Text<64>,
    background_task_id: Text<64>,
    is_async: Flag,
    agent_id: Text<64>,
    output_file: Text<1000>,
    plan: Text<PLAN_CAP>,
    file_path: Text<1000>,
    task_id: Text<64>,
    id: Text<64>,
    human_schedule: Text<200>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawChange {
    to: Text<64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawPermissionDecision {
    source: Text<64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawOrigin {
    kind: Text<64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawCompact {
    post_tokens: Number,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawLimits {
    resets_at: Number,
    rate_limit_type: Text<64>,
}
