//! Where everything is: the files that a brief names.

use crate::core::handoff::capture::Capture;
use crate::core::handoff::continuation_prompt::without_opening;
use crate::core::ids::HandoffId;
use crate::core::text::safe_text::{safe_line, units};

/// The longest path, in UTF-16 units; of a longer one the end is shown.
const PATH_CAP: usize = 300;
/// The names of files of a record. The section names their directory, once.
pub(super) const PROMPTS_FILE: &str = "prompts.md";
pub(super) const ANSWER_FILE: &str = "answer.md";
pub(super) const PLAN_FILE: &str = "plan.md";
pub(super) const OPEN_PLAN_FILE: &str = "open-plan.md";
pub(super) const REPORTS_FILE: &str = "reports.md";
pub(super) const AGREED_FILE: &str = "agreed.md";
pub(super) const DOCUMENT_FILE: &str = "handoff.md";

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
    /// Whether it has `agreed.md`.
    pub agreed: bool,
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
            answered: !without_opening(capture.last_answer.trim()).is_empty(),
            planned: capture.plan.is_some(),
            plan_waits: capture.open_plan.is_some(),
            reported: !capture.reports.is_empty(),
            agreed: !capture.agreed.is_empty(),
            patch: capture.git.as_ref().is_some_and(|git| !git.patch.is_empty() || !git.new_files.is_empty()),
            before: capture.origin.predecessor.as_ref().map(|before| format!("{records}/{before}")),
            project: capture.origin.working_dir.clone(),
        }
    }

    /// A path as it is shown: relative to the project where it is below it, or in a directory beside it.
    pub(super) fn show(&self, path: &str) -> String {
        let below = |dir: &str| {
            path.strip_prefix(dir).and_then(|rest| rest.strip_prefix('/')).filter(|rest| !rest.is_empty())
        };
        let parent = self.project.rsplit_once('/').map_or("", |(parent, _)| parent);
        let beside = |rest: &&str| rest.contains('/') && !rest.starts_with('.');
        match below(&self.project) {
            Some(rest) => short_path(rest),
            None => match below(parent).filter(beside).filter(|_| !parent.is_empty()) {
                Some(rest) => short_path(&format!("../{rest}")),
                None => short_path(path),
            },
        }
    }

    /// The lines of the section.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if !self.transcript.is_empty() {
            text.push_str(&format!(
                "- everything said and done, one JSON object a line (grep it): {}\n",
                short_path(&self.transcript)
            ));
        }
        let files = [
            (true, PROMPTS_FILE, "every prompt of the person, whole"),
            (self.answered, ANSWER_FILE, "your last words"),
            (self.planned, PLAN_FILE, "the plan that the person approved"),
            (self.plan_waits, OPEN_PLAN_FILE, "the plan that waits for approval"),
            (self.reported, REPORTS_FILE, "what sub-agents reported"),
            (self.agreed, AGREED_FILE, "your answers that the person agreed to"),
            (self.patch, "changes.patch", "uncommitted changes, new files included"),
            (true, DOCUMENT_FILE, "to-dos, files, answers, decisions and errors in full"),
            (self.copied, "transcript.jsonl.gz", "a copy of the transcript"),
        ];
        let named: Vec<String> = files
            .iter()
            .filter(|(is_there, ..)| *is_there)
            .map(|(_, name, what)| format!("{name} ({what})"))
            .collect();
        text.push_str(&format!("- in {}: {}\n", short_path(&self.record), named.join(", ")));
        if let Some(before) = &self.before {
            text.push_str(&format!("- the same of the conversation before: {}\n", short_path(before)));
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
