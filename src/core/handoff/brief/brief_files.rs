//! Where everything is: the files that a brief names.

use crate::core::handoff::capture::Capture;
use crate::core::handoff::safe_text::{safe_line, units};
use crate::core::ids::HandoffId;

/// The longest path, in UTF-16 units; of a longer one the end is shown.
const PATH_CAP: usize = 300;

/// The files of a handoff, absolute paths. Empty ones are not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BriefFiles {
    /// Claude's transcript of the conversation.
    pub transcript: String,
    /// The directory of the record.
    pub record: String,
    /// Whether the record has a copy of the transcript, or will have.
    pub copied: bool,
    /// Whether it has `changes.patch`.
    pub patch: bool,
    /// Whether it has `answer.md`.
    pub answered: bool,
    /// Whether it has `plan.md`.
    pub planned: bool,
    /// Whether it has `open-plan.md`.
    pub plan_waits: bool,
    /// Whether it has `reports.md`.
    pub reported: bool,
    /// The record of the handoff before.
    pub before: Option<String>,
    /// The directory of the work: paths below it are shown relative to it.
    pub project: String,
}

impl BriefFiles {
    /// The places of a record in the directory `records`.
    #[must_use]
    pub fn of(capture: &Capture, records: &str, id: &HandoffId, copied: bool) -> Self {
        Self {
            transcript: capture.origin.transcript.clone(),
            record: format!("{records}/{id}"),
            copied: copied && !capture.origin.transcript.is_empty(),
            answered: !capture.last_answer.trim().is_empty(),
            planned: capture.plan.is_some(),
            plan_waits: capture.open_plan.is_some(),
            reported: !capture.reports.is_empty(),
            patch: capture.git.as_ref().is_some_and(|git| !git.patch.is_empty() || !git.new_files.is_empty()),
            before: capture.origin.predecessor.as_ref().map(|before| format!("{records}/{before}")),
            project: capture.origin.working_dir.clone(),
        }
    }

    /// The file of all prompts.
    pub(super) fn prompts(&self) -> String {
        short_path(&format!("{}/prompts.md", self.record))
    }

    /// The file of the last answer.
    pub(super) fn answer(&self) -> String {
        short_path(&format!("{}/answer.md", self.record))
    }

    /// The file of the approved plan.
    pub(super) fn plan(&self) -> String {
        short_path(&format!("{}/plan.md", self.record))
    }

    /// The file of the plan that waits for approval.
    pub(super) fn open_plan(&self) -> String {
        short_path(&format!("{}/open-plan.md", self.record))
    }

    /// The file of what sub-agents reported.
    pub(super) fn reports(&self) -> String {
        short_path(&format!("{}/reports.md", self.record))
    }

    /// The document of the record.
    pub(super) fn document(&self) -> String {
        short_path(&format!("{}/handoff.md", self.record))
    }

    /// A path as it is shown: relative to the project where it is below it.
    pub(super) fn show(&self, path: &str) -> String {
        let below = path
            .strip_prefix(&self.project)
            .and_then(|rest| rest.strip_prefix('/'))
            .filter(|rest| !rest.is_empty());
        short_path(below.unwrap_or(path))
    }

    /// The lines of the section.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut say = |what: &str, path: &str| text.push_str(&format!("- {what}: {path}\n"));
        if !self.transcript.is_empty() {
            say("everything said and done, one JSON object a line (grep it)", &short_path(&self.transcript));
        }
        say("every prompt of the person, whole", &self.prompts());
        if self.answered {
            say("your last words, whole", &self.answer());
        }
        if self.planned {
            say("the plan that the person approved, whole", &self.plan());
        }
        if self.plan_waits {
            say("the plan that waits for approval, whole", &self.open_plan());
        }
        if self.reported {
            say("what sub-agents reported", &self.reports());
        }
        if self.patch {
            say(
                "uncommitted changes, new files included",
                &short_path(&format!("{}/changes.patch", self.record)),
            );
        }
        let copy =
            if self.copied { " (with transcript.jsonl.gz, should the transcript be gone)" } else { "" };
        say(&format!("to-dos, files, decisions and errors in full{copy}"), &self.document());
        if let Some(before) = &self.before {
            say("the same of the conversation before", &short_path(before));
        }
        text
    }
}

/// A path on one line, its end where it is too long.
pub(super) fn short_path(path: &str) -> String {
    let path = safe_line(path);
    if units(&path) <= PATH_CAP {
        return path;
    }
    let from = path
        .char_indices()
        .rev()
        .map(|(at, _)| at)
        .take_while(|at| units(&path[*at..]) <= PATH_CAP)
        .last()
        .unwrap_or(0);
    format!("...{}", &path[from..])
}
