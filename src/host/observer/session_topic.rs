//! The topic of a conversation, for listings and notifications.

use super::Observer;
use crate::core::claude::hooks::HookInput;
use crate::core::claude::tasks::TaskStatus;
use crate::core::status_types::WorkStatus;
use crate::core::supervisor::event::HookEvent;
use crate::core::text::safe_text::short_line;

/// The longest text of a prompt or a task, in characters.
const TOPIC_LINE_MAX: usize = 200;

/// Text about a session on one short line, without secrets.
pub(in crate::host) fn topic_line(text: &str) -> String {
    short_line(text, TOPIC_LINE_MAX)
}

impl Observer {
    /// A hook reports that Claude asks a person for something, or no longer does.
    pub(super) fn note_dialog(&mut self, call: &HookInput) {
        match (call.hook.event, &call.hook.asks, &call.subject) {
            (_, Some(asks), Some(subject)) => self.dialog = Some((asks.clone(), topic_line(subject))),
            (HookEvent::PermissionRequest, ..) => self.dialog = None,
            (
                HookEvent::UserPromptSubmit
                | HookEvent::PostToolBatch
                | HookEvent::Stop
                | HookEvent::StopFailure
                | HookEvent::SessionStart,
                ..,
            ) if !call.hook.agent => self.dialog = None,
            _ => {}
        }
    }

    /// The subject of this dialog, if a hook reported it.
    pub fn subject_of(&self, dialog: Option<&str>) -> Option<String> {
        self.dialog.as_ref().filter(|(asks, _)| dialog == Some(asks)).map(|(_, subject)| subject.clone())
    }

    /// Whether nothing has been prompted in the followed conversation yet.
    pub fn has_no_prompt(&self) -> bool {
        self.transcript().is_none_or(|transcript| transcript.facts.prompts.iter().next().is_none())
    }

    /// Title, last prompt, tasks, model and cost of the followed conversation. `named`: the name that it was
    /// started with, which counts until Claude reports one.
    pub fn work(&self, named: Option<&str>) -> WorkStatus {
        let facts = self.transcript().map(|transcript| &transcript.facts);
        let reported = self.status_line.as_ref().map(|(line, _)| line).filter(|line| {
            self.transcript().is_some_and(|transcript| transcript.conversation == line.conversation)
        });
        let tasks = facts.map(|facts| facts.tasks.all()).unwrap_or_default();
        let count = |tasks: usize| u32::try_from(tasks).unwrap_or(u32::MAX);
        let done = tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
        let at = tasks.iter().find(|task| task.status == TaskStatus::InProgress);
        WorkStatus {
            title: facts
                .and_then(|facts| facts.settings.title())
                .or(reported.and_then(|line| line.title.as_deref()))
                .or(named)
                .map(topic_line),
            prompt: facts
                .and_then(|facts| facts.prompts.newest_said())
                .map(|prompt| &prompt.text)
                .or(self.prompt_before.as_ref())
                .map(|text| topic_line(text)),
            tasks: count(tasks.len()),
            tasks_done: count(done),
            task: at.map(|task| topic_line(&task.subject)),
            model: reported
                .and_then(|line| line.model.as_deref())
                .or(facts.and_then(|facts| facts.window.model()))
                .or(self.started_model())
                .map(str::to_owned),
            cost_usd: reported.and_then(|line| line.cost_micro_usd).map(|micro| micro as f64 / 1e6),
        }
    }
}
