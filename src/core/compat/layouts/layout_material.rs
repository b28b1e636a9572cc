//! The source of all layouts of a handoff.

use crate::core::claude::tasks::TaskStatus;
use crate::core::handoff::capture::Capture;
use crate::core::handoff::checkpoint::Phases;
use crate::core::handoff::manifest_entry::IndexEntry;
use crate::core::handoff::state_json::HandoffState;
use crate::core::ids::HandoffId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Material {
    /// `state.json` of the record.
    pub state: HandoffState,
    /// How many of the tasks are done.
    pub phases: Phases,
    /// `task-N`, the task in progress.
    pub current_task: Option<String>,
}

impl Material {
    #[must_use]
    pub fn of(capture: &Capture) -> Self {
        let tasks = &capture.tasks.list;
        let current = tasks.iter().position(|task| task.status == TaskStatus::InProgress);
        let name = |at: usize| {
            let id = &tasks[at].id;
            let plain = !id.is_empty()
                && id.len() <= 40
                && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            if plain { format!("task-{id}") } else { format!("task-{}", at + 1) }
        };
        Self {
            state: HandoffState::of(capture),
            phases: capture.tasks.progress(),
            current_task: current.map(name),
        }
    }

    /// The same under the id that it was saved as, because another handoff may have taken the planned one.
    #[must_use]
    pub fn saved(mut self, entry: &IndexEntry) -> Self {
        self.state.id = entry.id.clone();
        self.state.created_at = entry.created_at.rfc3339_s();
        self
    }

    /// The id of the checkpoint: the handoff's own time in the form of source document 002. `hopty handoff
    /// show` accepts it.
    pub fn checkpoint(&self) -> String {
        checkpoint(&self.state.id)
    }
}

/// `chk-YYYYMMDD-HHMMSS` of a handoff.
pub fn checkpoint(id: &HandoffId) -> String {
    format!("chk-{}", id.as_str().get(3..18).unwrap_or_default())
}

#[cfg(test)]
pub(in crate::core::compat) mod tests {
    use super::*;
    use crate::core::claude::tasks::Task;
    use crate::core::claude::transcript_facts::AnsweredQuestion;
    use crate::core::handoff::capture::GitState;
    use crate::core::handoff::document::tests::capture;

    /// Five tasks, three of them done, in a repository.
    pub(crate) fn material() -> Material {
        let mut of = capture("Build the bridge with password=hunter22 and a pier");
        let task = |id: &str, subject: &str, status| Task {
            after: Vec::new(),
            id: id.into(),
            subject: subject.into(),
            status,
        };
        of.tasks.list = vec![
            task("1", "piers", TaskStatus::Completed),
            task("2", "arches", TaskStatus::Completed),
            task("3", "deck", TaskStatus::Completed),
            task("4", "railing", TaskStatus::InProgress),
            task("5", "paint", TaskStatus::Pending),
        ];
        of.files.written = (1..=12).map(|n| format!("/home/u/proj/f{n}")).collect();
        of.files.count = 12;
        of.decisions = vec![AnsweredQuestion { question: "Which stone?".into(), answer: "granite".into() }];
        of.situation.tokens = Some(82_000);
        of.situation.window = Some(100_000);
        of.situation.open_tools = vec!["Bash: make pier".into()];
        of.git = Some(GitState {
            branch: Some("main".into()),
            changed: (1..=7).map(|n| (".M".to_owned(), format!("f{n}"))).collect(),
            ..GitState::default()
        });
        Material::of(&of)
    }

    #[test]
    fn phases_are_the_tasks() {
        let material = material();
        assert_eq!(material.phases, Phases { done: 3, total: 5 });
        assert_eq!(material.current_task.as_deref(), Some("task-4"));
        let id = material.state.id.as_str();
        assert_eq!(material.checkpoint(), format!("chk-{}", &id[3..18]));
    }
}
