//! Claude's texts to the person: its last answers, the answers of earlier turns, the decisions that it
//! stated, and its findings in the middle of a turn.

use super::bounded_memory::LastItems;
use super::decision_sentences::{StatedDecision, StatedDecisions};
use super::earlier_answers::{EarlierAnswer, EarlierAnswers, EarlierAnswersMark, reports_finding};
use super::last_message::TextBlock;
use crate::core::claude::prompts::TranscriptPrompt;
use crate::core::handoff::continuation_prompt::quotes_brief;
use crate::core::handoff::current_request::asks;
use crate::core::handoff::note::Note;
use crate::core::handoff::repeated_lines::form;
use crate::core::text::safe_text::cut_words;

/// How much is kept of a message in the middle of a turn, in bytes.
const FINDING_BYTES: usize = 600;
/// How many of them are kept of the current turn.
const FINDINGS: usize = 300;
/// How many of them are kept of earlier turns.
const FINDINGS_BEFORE: usize = 60;
/// How much of a message is compared with the others, in bytes.
const FORM_BYTES: usize = 120;
/// How much is kept of Claude's summary of lines that this transcript does not have, in bytes.
const SUMMARY_CAP: usize = 16 << 10;
/// How much is kept of the answer before a prompt that the person may go back to, in bytes.
const MARK_CAP: usize = 32 << 10;

/// The text of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerText {
    /// At most 1 MiB.
    pub text: String,
    /// The person has written something since.
    pub replied: bool,
}

#[derive(Clone, Debug, Default)]
pub struct ClaudeAnswers {
    /// The last two answers with a text, the newer first.
    newest: [AnswerText; 2],
    earlier: EarlierAnswers,
    stated: StatedDecisions,
    /// The beginning of each message since the last answer.
    findings: LastItems<String, FINDINGS>,
    /// The informative messages from the middle of earlier turns.
    findings_before: LastItems<String, FINDINGS_BEFORE>,
    summary: Option<String>,
}

/// How much there was when the person typed a prompt.
#[derive(Clone, Debug)]
pub(super) struct ClaudeAnswersMark {
    answer: String,
    earlier: EarlierAnswersMark,
    stated: u64,
    findings: u64,
}

impl ClaudeAnswersMark {
    /// Claude's answer before the prompt, at most 32 KiB.
    pub(super) fn answer(&self) -> &str {
        &self.answer
    }
}

impl ClaudeAnswers {
    /// Claude's newest text, without a note for hopty; empty if there is none.
    pub fn last(&self) -> &AnswerText {
        let [last, before] = &self.newest;
        if Note::read(&last.text).is_some() { before } else { last }
    }

    /// The answers at the end of the turns before the last one, oldest first.
    pub fn earlier(&self) -> impl DoubleEndedIterator<Item = &EarlierAnswer> {
        self.earlier.iter()
    }

    /// Decisions that Claude stated with a reason, oldest first.
    pub fn stated(&self) -> impl DoubleEndedIterator<Item = &StatedDecision> {
        self.stated.iter()
    }

    /// Messages in the middle of the turn since the last answer, oldest first.
    pub fn findings(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.findings.iter().map(String::as_str)
    }

    /// The informative messages from the middle of earlier turns, oldest first.
    pub fn findings_before(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.findings_before.iter().map(String::as_str)
    }

    /// Claude's summary of conversation that this transcript does not contain, at most 16 KiB.
    pub fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    /// The text that the person answers: the newest message, even if it is a note for hopty. If it asks
    /// nothing, an earlier question that the person has not replied to.
    pub(super) fn replied_to(&self) -> &str {
        let newest = &self.newest[0].text;
        let open = self.earlier.open_question().filter(|_| !asks(newest));
        open.map_or(newest, |answer| &answer.text)
    }

    /// Takes a text, which may end the turn.
    pub(super) fn take_text(&mut self, block: &TextBlock<'_>, ends_turn: bool) {
        self.stated.take_text(block.text, ends_turn);
        if block.continues {
            self.newest[0].text.push('\n');
            self.newest[0].text.push_str(block.text);
        } else {
            self.newest.swap(0, 1);
            self.newest[0] = AnswerText { text: block.whole.to_owned(), replied: false };
        }
        let finding = cut_words(block.whole, FINDING_BYTES).to_owned();
        match self.findings.newest() {
            Some(newest) if block.continues => *newest = finding,
            _ if quotes_brief(&finding) => {}
            _ => {
                // In a long turn, only messages that differ are kept.
                let begin = |text: &str| form(cut_words(text, FORM_BYTES));
                let new = begin(&finding);
                self.findings.put_over(finding, |known| begin(known) == new);
            }
        }
    }

    /// Takes Claude's summary of the messages before the first prompt. The fork of a compacted conversation
    /// has none of their lines (2.1.332).
    pub(super) fn take_summary(&mut self, text: &str) {
        self.summary = Some(cut_words(text.trim(), SUMMARY_CAP).to_owned());
    }

    /// The person typed this, as a prompt or while Claude worked.
    pub(super) fn take_prompt(&mut self, text: &str) {
        self.stated.take_reply(text, &self.newest[0].text);
        self.earlier.take_reply(text);
        self.take_comment();
    }

    /// The person commented on a call or a question.
    pub(super) fn take_comment(&mut self) {
        self.newest[0].replied = true;
    }

    /// The turn ended well: keeps its last text with the prompt that it answers.
    pub(super) fn end_turn(&mut self, prompt: Option<&TranscriptPrompt>) {
        let answer = self.last();
        if answer.replied {
            return;
        }
        let last = cut_words(&answer.text, FINDING_BYTES).to_owned();
        if let Some(answer) = EarlierAnswer::new(&answer.text, prompt) {
            self.earlier.put(answer);
        }
        let findings = std::mem::take(&mut self.findings);
        let said = findings.iter().filter(|said| **said != last && reports_finding(said));
        said.for_each(|said| self.findings_before.put(said.clone()));
    }

    /// How much there is so far.
    pub(super) fn mark(&self) -> ClaudeAnswersMark {
        ClaudeAnswersMark {
            answer: cut_words(&self.newest[0].text, MARK_CAP).to_owned(),
            earlier: self.earlier.mark(),
            stated: self.stated.mark(),
            findings: self.findings_before.total(),
        }
    }

    /// Forgets what the person took back.
    pub(super) fn go_back_to(&mut self, mark: &ClaudeAnswersMark) {
        self.newest = [AnswerText { text: mark.answer.clone(), replied: false }, AnswerText::default()];
        self.earlier.go_back_to(mark.earlier);
        self.stated.go_back_to(mark.stated);
        self.findings = LastItems::default();
        self.findings_before.truncate_to(mark.findings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(answers: &mut ClaudeAnswers, text: &str) {
        answers.take_text(&TextBlock { text, whole: text, continues: false }, false);
    }

    #[test]
    fn the_last_answer_is_no_note_and_may_have_a_reply() {
        let mut answers = ClaudeAnswers::default();
        assert_eq!(answers.last(), &AnswerText::default());
        say(&mut answers, "I'll use one loop because it is shorter.");
        let whole = "I'll use one loop because it is shorter.\nAnd go on.";
        answers.take_text(&TextBlock { text: "And go on.", whole, continues: true }, false);
        assert_eq!((answers.last().text.as_str(), answers.last().replied), (whole, false));
        assert_eq!(answers.findings().collect::<Vec<_>>(), [whole]);
        answers.take_prompt("no, two");
        assert!(answers.last().replied);
        assert_eq!(answers.stated().next().unwrap().reply.as_deref(), Some("no, two"));
    }

    #[test]
    fn a_turn_that_ended_leaves_its_answer_and_no_findings() {
        let mut answers = ClaudeAnswers::default();
        say(&mut answers, "I look at the pool first.");
        say(&mut answers, "The certificate ends on 9 December.");
        answers.end_turn(None);
        let kept: Vec<_> = answers.earlier().map(|one| one.text.as_str()).collect();
        assert_eq!((kept, answers.findings().count()), (vec!["The certificate ends on 9 December."], 0));
        say(&mut answers, "It is the one of host 3, not of host 4.");
        answers.take_comment();
        answers.end_turn(None);
        assert_eq!((answers.earlier().count(), answers.findings().count()), (1, 1), "it was replied to");
    }

    #[test]
    fn a_reply_is_to_the_question_that_something_else_followed() {
        let mut answers = ClaudeAnswers::default();
        say(&mut answers, "1,204 photos have no boat. Shall I delete them for good?");
        answers.end_turn(None);
        say(&mut answers, "The build has ended well, 4 pages have warnings.");
        answers.end_turn(None);
        assert!(answers.replied_to().ends_with("Shall I delete them for good?"));
        answers.take_prompt("yes");
        let replies: Vec<_> = answers.earlier().map(|one| one.reply.as_deref()).collect();
        assert_eq!(replies, [Some("yes"), None]);
        assert_eq!(answers.replied_to(), answers.last().text, "it has been answered");
        say(&mut answers, "Deleted. Shall I commit it?");
        answers.end_turn(None);
        assert_eq!(answers.replied_to(), answers.last().text);
    }

    #[test]
    fn what_was_said_since_a_mark_is_taken_back() {
        let mut answers = ClaudeAnswers::default();
        say(&mut answers, "The fonts are embedded once per page.");
        answers.end_turn(None);
        let mark = answers.mark();
        answers.take_prompt("drop them");
        say(&mut answers, "I'll drop them because you said so. All of the pages are plain.");
        answers.end_turn(None);
        answers.go_back_to(&mark);
        let earlier: Vec<_> = answers.earlier().map(|one| (one.awaits_reply, one.reply.is_none())).collect();
        assert_eq!((earlier, answers.stated().count()), (vec![(true, true)], 0));
        assert_eq!(answers.last().text, "The fonts are embedded once per page.");
        assert_eq!((mark.answer(), answers.findings().count()), (answers.last().text.as_str(), 0));
    }

    #[test]
    fn summary_and_findings_are_bounded() {
        let mut answers = ClaudeAnswers::default();
        let long = "word ".repeat(100_000);
        answers.take_summary(&long);
        assert!(answers.summary().is_some_and(|text| text.len() <= SUMMARY_CAP));
        (0..FINDINGS + 9).for_each(|_| say(&mut answers, &long));
        assert!(answers.findings().count() == FINDINGS && answers.mark().answer().len() <= MARK_CAP);
        assert!(answers.findings().all(|text| text.len() <= FINDING_BYTES));
    }
}
