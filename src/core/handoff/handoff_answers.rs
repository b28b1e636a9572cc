//! Claude's words in a handoff: its answers, and its findings in the middle of turns.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use unicode_width::UnicodeWidthStr;

use super::capture::EarlierHandoff;
use super::continuation_prompt::without_opening;
use super::current_request::{begins_request, names_work};
use super::note::Note;
use super::pasted_text::own_words;
use super::prompt_sentences::names;
use crate::core::claude::lenient_json::ends;
use crate::core::claude::prompts::TranscriptPrompt;
use crate::core::claude::transcript_facts::{
    EarlierAnswer, REPLY_CAP, StatedDecision, TranscriptFacts, is_informative, reports_finding,
};
use crate::core::text::safe_text::{cut_chars, safe_line};

/// The most answers for the next handoff.
const ANSWERS_CAP: usize = 50;
/// The most messages in the middle of a turn for the next handoff: of the open turn, and of earlier turns.
const FINDINGS_CAP: usize = 20;
/// The most promises of Claude's that are shown and passed on.
const PROMISES_CAP: usize = 6;
/// The most agreed answers.
const AGREED_CAP: usize = 3;
/// A name that one of so many other answers has does not tell which answer a prompt is about.
const OTHERS: usize = 24;
/// The longest text of an agreed answer, in bytes.
pub(super) const AGREED_BYTES: usize = 16_000;
/// An agreed answer above this length has a section of its own, in characters.
pub(crate) const LONG_ANSWER: usize = 260;
/// Answers that are no wider, such as "It is behind `legacy_list`.", are dropped first, in columns.
pub(super) const SHORT_ANSWER: usize = 40;

/// A long answer of Claude's to which the person replied in a few words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgreedAnswer {
    /// The person's reply, on one line.
    pub reply: String,
    /// The answer, its beginning and its end, at most 16,000 bytes.
    pub text: String,
}

impl AgreedAnswer {
    /// The answer and the reply; `None` for an answer that is short enough for the list.
    fn new(reply: &str, answer: &str) -> Option<Self> {
        let is_long = answer.chars().nth(LONG_ANSWER).is_some() && Note::read(answer).is_none();
        is_long.then(|| Self {
            reply: cut_chars(&safe_line(reply), REPLY_CAP),
            text: ends(answer, AGREED_BYTES / 2, AGREED_BYTES / 2),
        })
    }
}

/// What Claude said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffAnswers {
    /// The last answer, whole.
    pub last: String,
    /// The person has replied.
    pub replied: bool,
    /// The answers at the end of the turns before, oldest first.
    pub earlier: Vec<EarlierAnswer>,
    /// Those of earlier conversations, newest first.
    pub before: Vec<EarlierAnswer>,
    /// Longer answers that the person answered in a few words, newest first, also of earlier conversations.
    pub agreed: Vec<AgreedAnswer>,
    /// Messages in the middle of the turn since the last answer, oldest first.
    pub findings: Vec<String>,
    /// Messages in the middle of earlier turns that say something, oldest first.
    pub findings_before: Vec<String>,
    /// Promises of Claude's, those of earlier conversations included, and decisions that it stated with a
    /// reason, oldest first.
    pub stated: Vec<StatedDecision>,
}

impl HandoffAnswers {
    pub(super) fn of(facts: &TranscriptFacts) -> Self {
        let answers = &facts.answers;
        Self {
            last: answers.last().text.clone(),
            replied: answers.last().replied,
            earlier: answers.earlier().cloned().collect(),
            before: Vec::new(),
            agreed: agreed(facts),
            findings: answers.findings().map(str::to_owned).collect(),
            findings_before: answers.findings_before().map(str::to_owned).collect(),
            stated: answers.stated().cloned().collect(),
        }
    }

    /// Takes the answers of earlier conversations. `first`: the first prompt of this conversation, which may
    /// reply to the last of them. `has_request`: this conversation has a request of its own, so that agreed
    /// answers no longer count.
    pub(super) fn inherit(
        &mut self,
        before: &EarlierHandoff<'_>,
        first: Option<&TranscriptPrompt>,
        has_request: bool,
    ) {
        self.stated.splice(0..0, before.promises.iter().rev().cloned());
        self.before = before.answers.iter().take(ANSWERS_CAP + FINDINGS_CAP).cloned().collect();
        if let Some(newest) = self.before.first_mut().filter(|newest| newest.awaits_reply)
            && let Some(first) = first
        {
            newest.take_reply(&first.text);
            let is_about = !has_request || names_lines(&first.text, &newest.text);
            self.agreed.extend(AgreedAnswer::new(&first.text, &newest.text).filter(|_| is_about));
        }
        self.agreed.extend(before.agreed.iter().filter(|_| !has_request).cloned());
        self.agreed.truncate(AGREED_CAP);
    }

    /// All of Claude's texts in this conversation.
    pub(super) fn texts(&self) -> impl Iterator<Item = &String> + Clone {
        self.earlier.iter().map(|one| &one.text).chain(&self.findings).chain([&self.last])
    }

    /// The answers at the end of earlier turns, newest first, those of earlier conversations included.
    pub fn all(&self) -> Vec<&EarlierAnswer> {
        self.earlier.iter().rev().chain(&self.before).collect()
    }

    /// Claude's last promises, newest first: as many as are shown and passed on to the next handoff.
    pub fn promises(&self) -> impl Iterator<Item = &StatedDecision> {
        self.stated.iter().rev().filter(|one| one.is_promise).take(PROMISES_CAP)
    }

    /// Answers, findings and stated decisions for the next handoff, newest first, each once. `last_prompt`:
    /// the prompt of the last answer.
    pub(super) fn to_pass_on(
        &self,
        last_prompt: Option<&TranscriptPrompt>,
        turn_ended: bool,
    ) -> Vec<EarlierAnswer> {
        let last = EarlierAnswer::new(&self.last, last_prompt);
        let last = last.filter(|_| turn_ended && !self.replied);
        // The person may say "do it" in the next conversation.
        let last = last
            .map(|last| EarlierAnswer { text: ends(&self.last, AGREED_BYTES / 2, AGREED_BYTES / 2), ..last });
        let of_text = |text: &String| EarlierAnswer { text: text.clone(), ..EarlierAnswer::default() };
        let findings = self.findings.iter().rev().filter(|_| !turn_ended);
        let findings = findings.filter(|text| is_informative(text)).take(FINDINGS_CAP).map(of_text);
        let reasons = self.stated.iter().rev().filter(|one| !one.is_promise);
        let reasons = reasons.map(|one| EarlierAnswer {
            text: one.text.clone(),
            reply: one.reply.clone(),
            ..EarlierAnswer::default()
        });
        let answers =
            self.earlier.iter().rev().map(|one| EarlierAnswer { awaits_reply: false, ..one.clone() });
        let all = last.into_iter().chain(findings).chain(answers).chain(reasons);
        let mut kept: Vec<EarlierAnswer> = Vec::new();
        for one in all.chain(self.before.iter().cloned()).filter_map(EarlierAnswer::kept) {
            if !kept.iter().any(|known| known.text.contains(&one.text)) {
                kept.push(one);
            }
        }
        drop_short_ones(&mut kept);
        kept.truncate(ANSWERS_CAP);
        let found = self.findings.iter().rev().filter(|text| reports_finding(text));
        for text in found.chain(self.findings_before.iter().rev()).take(FINDINGS_CAP) {
            if !kept.iter().any(|known| known.text.contains(text)) {
                kept.push(of_text(text));
            }
        }
        kept
    }
}

/// Drops short answers, the oldest first, until [`ANSWERS_CAP`] are left.
fn drop_short_ones(answers: &mut Vec<EarlierAnswer>) {
    let mut spare = answers.len().saturating_sub(ANSWERS_CAP);
    let mut at = answers.len();
    while spare > 0 && at > 0 {
        at -= 1;
        if answers[at].text.width() <= SHORT_ANSWER {
            answers.remove(at);
            spare -= 1;
        }
    }
}

/// Long answers since the current request began to which the person replied in a few words, newest first: "ok
/// do it" applies to all of them. A longer prompt may begin a request by naming their line numbers. One of up
/// to a line may be another task: it is about the answer if the two share a name.
fn agreed(facts: &TranscriptFacts) -> Vec<AgreedAnswer> {
    let last = facts.answers.last().text.trim();
    let mut goes_on = true;
    let replies = facts
        .replies()
        .take_while(|(prompt, _)| std::mem::replace(&mut goes_on, !begins_request(prompt)))
        .enumerate();
    let agreed = replies.filter_map(|(at, (prompt, answer))| {
        let others =
            || facts.replies().enumerate().filter(|(other, _)| *other != at).map(|(_, (_, answer))| answer);
        let is_about = names_lines(&prompt.text, answer)
            || !begins_request(prompt)
                && (!names_work(prompt) || names_answer(&prompt.text, answer, others()));
        let answer = without_opening(answer.trim());
        let is_last = answer.is_empty() || last.contains(answer);
        (is_about && !is_last).then(|| AgreedAnswer::new(&prompt.text, answer)).flatten()
    });
    agreed.take(AGREED_CAP).collect()
}

/// Whether a prompt has a name that this answer has and the others do not.
fn names_answer<'a>(prompt: &str, answer: &str, others: impl Iterator<Item = &'a str>) -> bool {
    let mut shared = names(&own_words(prompt));
    let known = names(answer);
    shared.retain(|name| known.contains(name));
    for other in others.take(OTHERS) {
        if shared.is_empty() {
            break;
        }
        let known = names(other);
        shared.retain(|name| !known.contains(name));
    }
    !shared.is_empty()
}

/// Whether a prompt names at least two numbers that lines of the answer begin with: "do 23, 31 and 38".
fn names_lines(prompt: &str, answer: &str) -> bool {
    let own = own_words(prompt);
    let named = own.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty());
    let named: HashSet<&str> = named.collect();
    let number = |line: &'_ str| {
        let line = line.trim_start().trim_start_matches(['-', '*', '#', '(', ' ']);
        let len = line.bytes().take_while(u8::is_ascii_digit).count();
        (len > 0 && line[len..].starts_with(['.', ')', ':'])).then(|| line[..len].to_owned())
    };
    let numbers: HashSet<String> = answer.lines().filter_map(number).collect();
    numbers.iter().filter(|number| named.contains(number.as_str())).nth(1).is_some()
}
