//! The files that a brief names.

use crate::core::handoff::capture::Capture;
use crate::core::handoff::continuation_prompt::without_opening;
use crate::core::ids::HandoffId;
use crate::core::text::safe_text::{safe_line, units};

/// The longest path, in UTF-16 units; of a longer one only the end is shown.
const PATH_CAP: usize = 300;
/// The names of the files of a record, whose directory the section names once.
pub(super) const PROMPTS_FILE: &str = "prompts.md";
pub(super) const ANSWER_FILE: &str = "answer.md";
pub(super) const PLAN_FILE: &str = "plan.md";
pub(super) const OPEN_PLAN_FILE: &str = "open-plan.md";
pub(super) const REPORTS_FILE: &str = "reports.md";
pub(super) const AGREED_FILE: &str = "agreed.md";
pub(super) const DOCUMENT_FILE: &str = "handoff.md";

/// The files of a handoff as absolute paths; empty ones do not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BriefFiles {
    pub transcript: String,
    pub record: String,
    /// Whether the record has a copy of the transcript, or will have one.
    pub copied: bool,
    /// Whether `changes.patch` exists.
    pub patch: bool,
    /// Whether `answer.md` exists.
    pub answered: bool,
    /// Whether `plan.md` exists.
    pub planned: bool,
    /// Whether `open-plan.md` exists.
    pub plan_waits: bool,
    /// Whether `reports.md` exists.
    pub reported: bool,
    /// Whether `agreed.md` exists.
    pub agreed: bool,
    /// The record of the earlier handoff.
    pub before: Option<String>,
    /// The directory of the work: paths below it are relative to it.
    pub project: String,
}

impl BriefFiles {
    /// The files of a record in the directory `records`.
    #[must_use]
    pub fn of(capture: &Capture, records: &str, id: &HandoffId, copied: bool) -> Self {
        Self {
            transcript: capture.origin.transcript.clone(),
            record: format!("{records}/{id}"),
            copied: copied && !capture.origin.transcript.is_empty(),
            answered: !without_opening(capture.answers.last.trim()).is_empty(),
            planned: capture.plans.approved.is_some(),
            plan_waits: capture.plans.open.is_some(),
            reported: !(capture.reports.here.is_empty() && capture.reports.before.is_empty()),
            agreed: !capture.answers.agreed.is_empty(),
            patch: capture.git.as_ref().is_some_and(|git| !git.patch.is_empty() || !git.new_files.is_empty()),
            before: capture.origin.predecessor.as_ref().map(|before| format!("{records}/{before}")),
            project: capture.origin.working_dir.clone(),
        }
    }

    /// The path relative to the project, if it is below it or in a directory beside it.
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

/// A path on one line; of a long one only the end.
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
