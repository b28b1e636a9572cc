//! The person's decisions: the questions that they answered (AskUserQuestion) and the plans that they
//! approved (ExitPlanMode).

use super::bounded_memory::LastItems;
use super::call_answer::CallAnswer;
use super::tool_steps::error_line;
use crate::core::claude::transcript_line::{ToolInput, ToolUse};
use crate::core::text::safe_text::{cut_chars, cut_words};

/// How many decisions are kept.
pub const DECISION_CAP: usize = 50;
/// How much is kept of an answer that is inside Claude's own text, in bytes.
const ANSWER_CAP: usize = 500;
/// The most chosen options that are explained, and the length of each explanation, in characters.
const MEANINGS: usize = 3;
const MEANING: usize = 120;

/// A question that Claude asked and the person answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredQuestion {
    pub question: String,
    pub answer: String,
}

/// How the answer to an approved plan begins.
pub const PLAN_APPROVED: &str = "approved: ";
/// How the answer to a refused plan or question begins.
pub const REFUSED: &str = "refused: ";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovedPlan {
    /// The plan, at most 16 KiB.
    pub text: String,
    /// Claude's own file with the plan, if Claude names one.
    pub file: Option<String>,
    /// How many prompts came before it.
    pub after: u64,
}

#[derive(Clone, Debug, Default)]
pub struct PersonsDecisions {
    answered: LastItems<AnsweredQuestion, DECISION_CAP>,
    plan: Option<ApprovedPlan>,
}

impl PersonsDecisions {
    /// Questions and answers, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &AnsweredQuestion> {
        self.answered.iter()
    }

    /// The plan that the person approved last.
    pub fn plan(&self) -> Option<&ApprovedPlan> {
        self.plan.as_ref()
    }

    /// Takes the answer of a tool after this many prompts. Returns the person's choices or words, each with
    /// its question.
    pub(super) fn take_answer(&mut self, answer: &CallAnswer<'_>, prompts: u64) -> Vec<(String, String)> {
        let Some(call) = answer.call.filter(|call| call.asks_person()) else { return Vec::new() };
        if answer.is_turned_down() {
            let why = answer.comment().unwrap_or_else(|| error_line(&answer.result.text));
            self.put(question_of(call), format!("{REFUSED}{why}"));
        } else if answer.passed().is_some() {
            if call.name != "ExitPlanMode" {
                return self.take_dialog(&call.input, answer);
            }
            self.approve(call, answer, prompts);
        }
        Vec::new()
    }

    fn approve(&mut self, call: &ToolUse, answer: &CallAnswer<'_>, prompts: u64) {
        let detail = answer.detail;
        let approved = detail.and_then(|detail| detail.plan.as_deref());
        let plan = approved.or(call.input.plan.as_deref()).unwrap_or_default().trim();
        self.plan = (!plan.is_empty()).then(|| ApprovedPlan {
            text: plan.to_owned(),
            file: detail.and_then(|detail| detail.plan_file.clone()),
            after: prompts,
        });
        self.put(question_of(call), format!("{PLAN_APPROVED}{}", cut_words(plan, ANSWER_CAP)));
    }

    fn take_dialog(&mut self, input: &ToolInput, answer: &CallAnswer<'_>) -> Vec<(String, String)> {
        let detail = answer.detail;
        let answers = detail.map(|detail| detail.answers.as_slice()).unwrap_or_default();
        let notes = detail.map(|detail| detail.notes.as_slice()).unwrap_or_default();
        let mut given = Vec::new();
        for (question, answer) in answers {
            let meaning = meaning(input, question, answer);
            let note = notes.iter().find(|(of, _)| of == question).map(|(_, note)| note.trim());
            let note = note.filter(|note| !note.is_empty());
            let answer = note.map_or_else(|| answer.clone(), |note| format!("{answer} (note: {note})"));
            given.push((format!("{answer}{meaning}"), question.clone()));
        }
        // Own words instead of an option.
        let response = detail.and_then(|detail| detail.response.as_deref());
        if response.is_some() || answers.is_empty() {
            let answer = cut_words(response.unwrap_or(&answer.result.text).trim(), ANSWER_CAP);
            given.push((answer.to_owned(), input.questions.join(" / ")));
        }
        for (answer, question) in &given {
            self.put(question.clone(), answer.clone());
        }
        given
    }

    fn put(&mut self, question: String, answer: String) {
        self.answered.put(AnsweredQuestion { question, answer });
    }

    /// How many decisions there were so far.
    pub(super) fn mark(&self) -> u64 {
        self.answered.total()
    }

    /// Forgets the questions that the person took back. An approved plan stays.
    pub(super) fn go_back_to(&mut self, mark: u64) {
        self.answered.truncate_to(mark);
    }
}

/// Claude's description of the chosen options, in parentheses; empty if their labels say it.
fn meaning(input: &ToolInput, question: &str, answer: &str) -> String {
    let is_chosen = |label: &str| answer == label || answer.split(", ").any(|one| one == label);
    let chosen = input.meanings.iter().filter(|one| one.question == question && is_chosen(&one.label));
    let chosen: Vec<String> = chosen.take(MEANINGS).map(|one| cut_chars(&one.meaning, MEANING)).collect();
    if chosen.is_empty() { String::new() } else { format!(" ({})", chosen.join("; ")) }
}

/// The text of a question whose call has none.
fn question_of(call: &ToolUse) -> String {
    let question =
        if call.name == "ExitPlanMode" { "Is this plan approved?" } else { "A question of Claude" };
    question.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::transcript_line::{ResultDetail, ToolResult};

    fn call(name: &str) -> ToolUse {
        let input = ToolInput {
            questions: vec!["Which?".into()],
            options: vec!["A".into(), "B".into()],
            plan: Some("an earlier form".into()),
            ..ToolInput::default()
        };
        ToolUse { id: "t".into(), name: name.into(), input }
    }

    fn take(
        decisions: &mut PersonsDecisions,
        name: &str,
        result: &ToolResult,
        detail: &ResultDetail,
    ) -> Vec<(String, String)> {
        let call = call(name);
        decisions.take_answer(&CallAnswer { call: Some(&call), result, detail: Some(detail) }, 3)
    }

    fn all(decisions: &PersonsDecisions) -> Vec<&str> {
        decisions.iter().map(|one| one.answer.as_str()).collect()
    }

    #[test]
    fn what_was_chosen_or_written_is_a_decision_and_is_given_back() {
        let (mut decisions, passed) = (PersonsDecisions::default(), ToolResult::default());
        let detail = |answer: &str| ResultDetail {
            answers: vec![("Which?".into(), answer.into())],
            ..ResultDetail::default()
        };
        let given = take(&mut decisions, "AskUserQuestion", &passed, &detail("A, B"));
        assert_eq!(given, [("A, B".to_owned(), "Which?".to_owned())]);
        let mark = decisions.mark();
        let written = take(&mut decisions, "AskUserQuestion", &passed, &detail("neither"));
        assert_eq!(written, [("neither".to_owned(), "Which?".to_owned())]);
        assert!(take(&mut decisions, "Bash", &passed, &detail("B")).is_empty());
        assert_eq!(all(&decisions), ["A, B", "neither"]);
        decisions.go_back_to(mark);
        assert_eq!(all(&decisions), ["A, B"]);
    }

    #[test]
    fn a_plan_is_the_one_that_was_approved_last() {
        let (mut decisions, mut result) = (PersonsDecisions::default(), ToolResult::default());
        let mut detail = ResultDetail { plan: Some(" 1. split \n".into()), ..ResultDetail::default() };
        take(&mut decisions, "ExitPlanMode", &result, &detail);
        let plan = ApprovedPlan { text: "1. split".into(), file: None, after: 3 };
        assert_eq!(decisions.plan(), Some(&plan));
        (result.is_error, detail.refused, detail.said) = (true, true, Some("too long".into()));
        take(&mut decisions, "ExitPlanMode", &result, &detail);
        (result.text, detail.refused) = ("no such tool".into(), false);
        take(&mut decisions, "ExitPlanMode", &result, &detail);
        assert_eq!(all(&decisions), ["approved: 1. split", "refused: too long"], "nor is an error an answer");
        assert_eq!(decisions.plan(), Some(&plan));
        decisions.go_back_to(0);
        assert_eq!((decisions.iter().count(), decisions.plan()), (0, Some(&plan)));
    }
}
