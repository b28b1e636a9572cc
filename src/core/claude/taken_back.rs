//! Prompts that the person took back: after Esc Esc the conversation goes on from an earlier line, and the
//! lines of the branch that was left stay in the file.
//!
//! Each line names the line before it (`parentUuid`). A prompt that has the parent of an earlier prompt takes
//! the place of that one, and everything that was said since then was taken back (measured on 2.1.332). No
//! other shape counts: where parents are missing or point elsewhere, all lines of the file count.

use super::bounded_memory::LastItems;
use super::prompts::TranscriptPrompt;
use super::tasks::Tasks;
use super::transcript_facts::{AnswerText, TranscriptFacts};
use crate::core::text::safe_text::cut_words;

/// How many prompts back the person may go.
pub(super) const TURN_CAP: usize = 32;
/// How much is kept of the answer before each of them, in bytes.
const ANSWER_CAP: usize = 32 << 10;

/// How things stood when the person typed a prompt.
#[derive(Clone, Debug)]
pub(super) struct TurnStart {
    uuid: Option<String>,
    parent: String,
    prompts: u64,
    decisions: u64,
    stated: u64,
    earlier: u64,
    findings: u64,
    /// Nothing had been said yet to the newest of the earlier answers.
    awaits_reply: bool,
    recent: u64,
    said: u64,
    tasks: Tasks,
    answer: String,
}

impl TranscriptFacts {
    /// The last prompts of the person with what Claude had said before each of them (at most 32 KiB), newest
    /// first.
    pub fn replies(&self) -> impl Iterator<Item = (&TranscriptPrompt, &str)> {
        let from = self.prompts.count();
        self.turns.iter().rev().filter_map(move |turn| {
            let back = usize::try_from(from.checked_sub(turn.prompts)?).ok()?.checked_sub(1)?;
            Some((self.prompts.iter().rev().nth(back)?, turn.answer.as_str()))
        })
    }

    /// Takes the place of a prompt, before its text: forgets what was said since an earlier prompt that had
    /// the same place. Files that were written and commands that ran stay: they happened.
    pub(super) fn place_prompt(&mut self, uuid: Option<String>, parent: Option<String>) {
        let Some(parent) = parent else { return };
        let earlier = self.turns.iter().find(|turn| turn.parent == parent && turn.uuid != uuid).cloned();
        if let Some(turn) = earlier {
            self.turns.retain(|other| other.prompts < turn.prompts);
            self.prompts.truncate_to(turn.prompts);
            self.decisions.truncate_to(turn.decisions);
            self.stated.truncate_to(turn.stated);
            self.earlier.truncate_to(turn.earlier);
            if let Some(newest) = self.earlier.newest().filter(|_| turn.awaits_reply) {
                (newest.reply, newest.awaits_reply) = (None, true);
            }
            self.recent.truncate_to(turn.recent);
            self.findings = LastItems::default();
            self.findings_before.truncate_to(turn.findings);
            self.said = turn.said;
            self.tasks = turn.tasks;
            self.answers = [AnswerText { text: turn.answer, replied: false }, AnswerText::default()];
        }
        self.turns.put(TurnStart {
            uuid,
            parent,
            prompts: self.prompts.total(),
            decisions: self.decisions.total(),
            stated: self.stated.total(),
            earlier: self.earlier.total(),
            findings: self.findings_before.total(),
            awaits_reply: self.earlier.newest().is_some_and(|newest| newest.awaits_reply),
            recent: self.recent.total(),
            said: self.said,
            tasks: self.tasks.clone(),
            answer: cut_words(&self.answers[0].text, ANSWER_CAP).to_owned(),
        });
    }
}
