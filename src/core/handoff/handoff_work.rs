//! What was done, as a handoff has it: files, tool calls, plans and reports of sub-agents.

use std::collections::HashMap;

use super::capture::EarlierHandoff;
use super::current_request::newest_request;
use super::recent_activity;
use super::repeated_lines::form;
use crate::core::claude::prompts::{PromptKind, TranscriptPrompt};
use crate::core::claude::transcript_facts::{AgentReport, ApprovedPlan, FileRead, ToolStep, TranscriptFacts};
use crate::core::claude::transcript_line::ToolUse;
use crate::core::text::safe_text::{cut_chars, safe_line};

/// The most files of earlier conversations.
const FILES_CAP: usize = 20;
/// The most reports of sub-agents for the next handoff.
const REPORTS_CAP: usize = 6;
/// The most tool calls for the next handoff, and the most of one form.
const STEPS_CAP: usize = 20;
const STEPS_OF_ONE_FORM: usize = 6;

fn line(text: &str) -> String {
    cut_chars(&safe_line(text), 500)
}

/// The files that Claude's tools wrote and read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffFiles {
    /// Those that were written in this conversation, the last one first.
    pub written: Vec<String>,
    /// Those of `written` that were created.
    pub created: Vec<String>,
    /// How many were written in all; `written` has a cap.
    pub count: u64,
    /// Those that only earlier conversations wrote, the last one first.
    pub before: Vec<String>,
    /// Those that were read, the last one first.
    pub read: Vec<FileRead>,
}

impl HandoffFiles {
    pub(super) fn of(facts: &TranscriptFacts) -> Self {
        let written = facts.files.newest_first();
        Self {
            created: written.iter().filter(|path| facts.files.created(path)).cloned().collect(),
            written,
            count: facts.files.count(),
            before: Vec::new(),
            read: facts.files_read.newest_first().cloned().collect(),
        }
    }

    pub(super) fn inherit(&mut self, before: [&[String]; 2]) {
        self.before.clear();
        for file in before.into_iter().flatten().take(4 * FILES_CAP).map(|file| line(file)) {
            let is_known = self.before.contains(&file) || self.written.contains(&file);
            if self.before.len() < FILES_CAP && !is_known {
                self.before.push(file);
            }
        }
    }
}

/// A tool call with its result, and its place in the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedStep {
    /// How many messages of `Capture::recent` come before it.
    pub before: usize,
    pub step: ToolStep,
}

/// Claude's last tool calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffSteps {
    /// Those of this conversation, oldest first.
    pub here: Vec<FinishedStep>,
    /// Those of earlier conversations, a line each, newest first.
    pub before: Vec<String>,
}

impl HandoffSteps {
    pub(super) fn of(facts: &TranscriptFacts) -> Self {
        let finished = |step: &ToolStep| {
            // The oldest messages may have been dropped.
            let before = step.after.saturating_sub(facts.exchanges.dropped());
            FinishedStep { before: usize::try_from(before).unwrap_or(usize::MAX), step: step.clone() }
        };
        Self { here: facts.tool_log.steps().map(finished).collect(), before: Vec::new() }
    }

    pub(super) fn inherit(&mut self, before: &[String]) {
        self.before = before.iter().take(STEPS_CAP).map(|step| line(step)).collect();
    }

    /// Calls for the next handoff that are in no other list, a line each, newest first.
    pub fn to_pass_on(&self) -> Vec<String> {
        let here = self.here.iter().rev().filter(|done| !done.step.looked && !done.step.has_own_list());
        let mut forms: HashMap<String, usize> = HashMap::new();
        let mut kept: Vec<String> = Vec::new();
        for line in here.map(recent_activity::line).chain(self.before.iter().cloned()) {
            let times = forms.entry(form(&line)).or_default();
            if kept.len() < STEPS_CAP && *times < STEPS_OF_ONE_FORM && !kept.contains(&line) {
                *times += 1;
                kept.push(line);
            }
        }
        kept
    }
}

/// A plan of Claude's that the person approved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanInHand {
    pub text: String,
    /// Claude's own file of it, if known.
    pub file: Option<String>,
    /// Whether the person has set no other work since.
    pub is_current: bool,
    /// Whether they have said anything since.
    pub said_since: bool,
}

/// Claude's plans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffPlans {
    /// The plan that the person approved last, also in an earlier conversation.
    pub approved: Option<PlanInHand>,
    /// The plan that waits for approval.
    pub open: Option<PlanInHand>,
}

impl HandoffPlans {
    pub(super) fn of(facts: &TranscriptFacts) -> Self {
        Self {
            approved: facts.decisions.plan().map(|plan| PlanInHand::approved(plan, facts)),
            open: facts.calls.open().iter().rev().find_map(PlanInHand::open),
        }
    }

    /// Takes the plan of earlier conversations. `prompts`: those of this conversation.
    pub(super) fn inherit(
        &mut self,
        before: &EarlierHandoff<'_>,
        prompts: &[TranscriptPrompt],
        has_request: bool,
    ) {
        if self.approved.is_none() {
            self.approved = before.plan.map(|plan| PlanInHand {
                text: plan.to_owned(),
                file: None,
                // A longer prompt may set other work; hopty cannot tell, so it counts as such.
                is_current: !has_request && !before.plan_is_old,
                said_since: before.plan_said_since || says_more(prompts.iter()),
            });
        }
    }
}

impl PlanInHand {
    fn approved(plan: &ApprovedPlan, facts: &TranscriptFacts) -> Self {
        let since = facts.prompts.count().saturating_sub(plan.after);
        let request = newest_request(facts.prompts.iter().rev());
        let is_current = request.is_none_or(|at| at as u64 >= since);
        let prompts = facts.prompts.iter().rev().take(usize::try_from(since).unwrap_or(usize::MAX));
        let said_since = says_more(prompts);
        PlanInHand { text: plan.text.clone(), file: plan.file.clone(), is_current, said_since }
    }

    /// The plan that a call asks the person to approve.
    fn open(tool: &ToolUse) -> Option<Self> {
        let text = tool.input.plan.as_deref().map(str::trim).filter(|plan| !plan.is_empty())?;
        let is_asked = tool.name == "ExitPlanMode";
        is_asked.then(|| PlanInHand {
            text: text.to_owned(),
            file: tool.input.plan_file.clone(),
            is_current: true,
            said_since: false,
        })
    }
}

/// Whether the person typed something. It may take back what was agreed, in any words.
fn says_more<'a>(mut prompts: impl Iterator<Item = &'a TranscriptPrompt>) -> bool {
    prompts.any(|said| matches!(said.kind, PromptKind::Typed | PromptKind::Steering))
}

/// Reports of sub-agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffReports {
    /// Those of this conversation, oldest first.
    pub here: Vec<AgentReport>,
    /// Those of earlier conversations that Claude has not summarized, newest first.
    pub before: Vec<AgentReport>,
}

impl HandoffReports {
    /// Takes the reports of earlier conversations that none of `texts`, Claude's texts of this one, sums up.
    pub(super) fn inherit<'t>(
        &mut self,
        before: &[AgentReport],
        texts: impl Iterator<Item = &'t String> + Clone,
    ) {
        let is_open = |report: &&AgentReport| !texts.clone().any(|text| report.is_told_in(text));
        self.before = before.iter().filter(is_open).take(REPORTS_CAP).cloned().collect();
    }

    /// Reports for the next handoff that Claude has not summarized, newest first.
    pub fn to_pass_on(&self) -> impl Iterator<Item = &AgentReport> {
        let here = self.here.iter().rev().filter(|report| !report.summed_up);
        here.chain(&self.before).take(REPORTS_CAP)
    }
}
