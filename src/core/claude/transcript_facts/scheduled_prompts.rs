//! Prompts that Claude scheduled for later in this conversation.

use super::bounded_memory::LastItems;
use super::call_answer::CallAnswer;
use crate::core::claude::transcript_line::ResultDetail;
use crate::core::text::safe_text::cut_words;

/// How many scheduled prompts are kept.
const SCHEDULED_PROMPT_CAP: usize = 8;
/// The most that is kept of a prompt, in bytes.
const PROMPT_BYTES: usize = 300;
/// Where Claude keeps the jobs that survive into the next conversation; its answer names the file.
const DURABLE_JOBS: &str = "scheduled_tasks.json";

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

/// The scheduled prompts. They end with the conversation.
#[derive(Clone, Debug, Default)]
pub struct ScheduledPrompts(LastItems<ScheduledPrompt, SCHEDULED_PROMPT_CAP>);

impl ScheduledPrompts {
    /// What Claude scheduled and did not cancel, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &ScheduledPrompt> {
        self.0.iter()
    }

    /// Takes the answer of a tool.
    pub(super) fn take_answer(&mut self, answer: &CallAnswer<'_>) {
        let Some(call) = answer.passed() else { return };
        let input = &call.input;
        match call.name.as_str() {
            "CronCreate" if !answer.result.text.contains(DURABLE_JOBS) => {
                let of_detail =
                    |part: fn(&ResultDetail) -> Option<&String>| answer.detail.and_then(part).cloned();
                let when = input.schedule.clone().or(of_detail(|detail| detail.schedule.as_ref()));
                let id = of_detail(|detail| detail.job.as_ref()).unwrap_or_default();
                let prompt = input.schedules.as_deref().unwrap_or_default();
                self.0.retain(|known| known.id != id || id.is_empty());
                self.0.put(ScheduledPrompt {
                    id,
                    when: when.unwrap_or_default(),
                    prompt: cut_words(prompt, PROMPT_BYTES).to_owned(),
                });
            }
            "CronDelete" => {
                let job = input.job.as_deref().unwrap_or_default();
                self.0.retain(|known| known.id != job);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::transcript_line::{ToolInput, ToolResult, ToolUse};

    fn call(
        scheduled: &mut ScheduledPrompts,
        name: &str,
        input: ToolInput,
        text: &str,
        detail: ResultDetail,
    ) {
        let call = ToolUse { id: "t".into(), name: name.into(), input };
        let result = ToolResult { id: "t".into(), is_error: false, text: text.to_owned() };
        scheduled.take_answer(&CallAnswer { call: Some(&call), result: &result, detail: Some(&detail) });
    }

    #[test]
    fn a_scheduled_prompt_is_kept_until_it_is_cancelled() {
        let mut scheduled = ScheduledPrompts::default();
        let cron = |scheduled: &mut ScheduledPrompts, id: &str, text: &str| {
            let input = ToolInput {
                schedule: Some("*/30 * * * *".into()),
                schedules: Some("look at the copy".into()),
                ..ToolInput::default()
            };
            let detail = ResultDetail { job: Some(id.into()), ..ResultDetail::default() };
            call(scheduled, "CronCreate", input, text, detail)
        };
        cron(&mut scheduled, "a", "Scheduled recurring job a. Session-only.");
        cron(&mut scheduled, "b", "Scheduled recurring job b. Session-only.");
        cron(&mut scheduled, "c", "Scheduled recurring job c. Persisted to .claude/scheduled_tasks.json.");
        let gone = ToolInput { job: Some("a".into()), ..ToolInput::default() };
        call(&mut scheduled, "CronDelete", gone, "Cancelled job a.", ResultDetail::default());
        let kept: Vec<_> = scheduled.iter().map(|one| (&*one.id, &*one.when, &*one.prompt)).collect();
        assert_eq!(kept, [("b", "*/30 * * * *", "look at the copy")]);
        (0..100).for_each(|n| cron(&mut scheduled, &n.to_string(), ""));
        assert_eq!(scheduled.iter().count(), SCHEDULED_PROMPT_CAP);
    }
}
