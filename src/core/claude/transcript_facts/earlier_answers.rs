//! Claude's answers at the end of earlier turns, which contain its findings.

use unicode_width::UnicodeWidthStr;

use super::bounded_memory::LastItems;
use crate::core::claude::lenient_json::ends;
use crate::core::claude::prompts::TranscriptPrompt;
use crate::core::handoff::continuation_prompt::without_opening;
use crate::core::handoff::current_request::asks;
use crate::core::handoff::pasted_text::own_words;
use crate::core::text::safe_text::cut_words;

/// How many answers are kept.
pub const ANSWER_CAP: usize = 200;
/// The longest text that may be one word in a script that puts no blanks between words, in characters.
const ONE_WORD: usize = 3;
/// An answer that is no wider and has no number, path or name in it says that something was done, in columns.
const NARROWEST: usize = 20;
/// A text in the middle of a turn of at most this many columns, without a number, path or name, only
/// announces the next step.
const PLAIN: usize = 40;
/// How much is kept of the beginning and of the end of an answer, in bytes each. A list of thirty findings
/// fits.
const ENDS: usize = 2000;
/// The number of newest answers that are kept at greater length, and the length of each end, in bytes.
const LONG_ANSWERS: usize = 5;
const LONG_ENDS: usize = 8000;
/// How much is kept of the prompt that it answers, in bytes.
const PROMPT_CAP: usize = 400;
/// The longest prompt that is kept as a reply to the answer, in bytes.
pub const REPLY_CAP: usize = 160;

/// The last text of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierAnswer {
    /// The beginning of the prompt that it answers, in the person's own words; empty if unknown.
    pub prompt: String,
    /// Its beginning and its end.
    pub text: String,
    /// The person's next message, if it is one short line: it may refute the answer.
    pub reply: Option<String>,
    /// The person has written nothing since.
    pub awaits_reply: bool,
}

impl EarlierAnswer {
    /// An answer with its prompt; `None` if it is not informative.
    pub fn new(text: &str, prompt: Option<&TranscriptPrompt>) -> Option<Self> {
        let text = without_opening(text.trim());
        let prompt = prompt.map(|prompt| own_words(&prompt.text)).unwrap_or_default();
        Self {
            prompt: cut_words(prompt.trim(), PROMPT_CAP).to_owned(),
            text: ends(text, LONG_ENDS, LONG_ENDS),
            reply: None,
            awaits_reply: true,
        }
        .kept()
    }

    /// The answer if it says more than one word, as "Done." does, or was requested.
    pub fn kept(self) -> Option<Self> {
        let unspaced = |text: &str| text.chars().filter(|c| *c >= '\u{e00}').count() > ONE_WORD;
        let has_words = self.text.split_whitespace().nth(1).is_some() || unspaced(&self.text);
        let says_something = has_words || is_informative(&self.text) || self.is_asked_for();
        (says_something && !self.text.is_empty() && !self.text.starts_with('{')).then_some(self)
    }

    /// Whether the prompt that it answers asks something.
    pub fn is_asked_for(&self) -> bool {
        asks(&self.prompt)
    }

    /// Takes what the person wrote next.
    pub fn take_reply(&mut self, prompt: &str) {
        self.reply = short_reply(prompt);
        self.awaits_reply = false;
    }
}

/// Whether a text says more than that something is done: not "Done." and "I begin.", but "PR #88 is open."
pub fn is_informative(text: &str) -> bool {
    let names = text.contains(|c: char| c.is_ascii_digit() || c == '`' || c == '/');
    !text.starts_with('{') && (text.width() > NARROWEST || names)
}

/// Whether a text in the middle of a turn says more than what comes next: not "Let me look at the callers."
pub fn reports_finding(text: &str) -> bool {
    is_informative(text)
        && (text.width() > PLAIN || text.contains(|c: char| c.is_numeric() || matches!(c, '`' | '/')))
}

/// The prompt, if it is one short line.
pub(super) fn short_reply(prompt: &str) -> Option<String> {
    let prompt = prompt.trim();
    let is_short = !prompt.is_empty() && prompt.len() <= REPLY_CAP && !prompt.contains('\n');
    is_short.then(|| prompt.to_owned())
}

#[derive(Clone, Debug, Default)]
pub(super) struct EarlierAnswers(LastItems<EarlierAnswer, ANSWER_CAP>);

/// How many answers there were, and whether the newest awaited a reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierAnswersMark(u64, bool);

impl EarlierAnswers {
    /// The answers, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &EarlierAnswer> {
        self.0.iter()
    }

    /// Keeps an answer, once for each prompt: Claude may end many turns with the same words.
    pub fn put(&mut self, answer: EarlierAnswer) {
        let is_same = |known: &EarlierAnswer| (&known.text, &known.prompt) == (&answer.text, &answer.prompt);
        if !self.iter().any(is_same) {
            self.0.put(answer);
            if let Some(older) = self.0.iter_mut().rev().nth(LONG_ANSWERS) {
                older.text = ends(&older.text, ENDS, ENDS);
            }
        }
    }

    /// The newest question that the person has not replied to.
    pub fn open_question(&self) -> Option<&EarlierAnswer> {
        self.iter().rev().take_while(|answer| answer.awaits_reply).find(|answer| asks(&answer.text))
    }

    /// The person replied: to the open question, or if there is none to the newest answer.
    pub fn take_reply(&mut self, prompt: &str) {
        let has_question = self.open_question().is_some();
        let is_it = |answer: &&mut EarlierAnswer| !has_question || asks(&answer.text);
        if let Some(answer) = self.0.iter_mut().rev().take_while(|answer| answer.awaits_reply).find(is_it) {
            answer.take_reply(prompt);
        }
        self.0.iter_mut().for_each(|answer| answer.awaits_reply = false);
    }

    /// How much there is so far.
    pub fn mark(&self) -> EarlierAnswersMark {
        EarlierAnswersMark(self.0.total(), self.iter().next_back().is_some_and(|newest| newest.awaits_reply))
    }

    /// Forgets what the person took back.
    pub fn go_back_to(&mut self, EarlierAnswersMark(total, awaits_reply): EarlierAnswersMark) {
        self.0.truncate_to(total);
        if let Some(newest) = self.0.newest().filter(|_| awaits_reply) {
            (newest.reply, newest.awaits_reply) = (None, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::TranscriptFacts;
    use super::*;

    fn prompt(text: &str) -> Value {
        json!({"type": "user", "message": {"content": text}})
    }

    fn said(id: &str, stop: &str, text: &str) -> Value {
        json!({"type": "assistant", "message": {"id": id, "model": "m", "stop_reason": stop,
            "content": [{"type": "text", "text": text}]}})
    }

    fn of(lines: &[Value]) -> Vec<EarlierAnswer> {
        let mut facts = TranscriptFacts::new();
        lines.iter().for_each(|line| facts.feed(line.to_string().as_bytes()));
        facts.answers.earlier().cloned().collect()
    }

    #[test]
    fn each_answer_is_kept_with_its_prompt_and_the_reply() {
        let found = "The certificate of pcs-02 ends on 9 December.";
        let long = "word ".repeat(60);
        let answers = of(&[
            prompt("when do our certificates end\n<pasted_content id=\"1\">\nx\n</pasted_content id=\"1\">"),
            said("m1", "tool_use", "I look at all of the hosts, one after the other."),
            said("m2", "end_turn", found),
            prompt("no, that is the old one"),
            said("m3", "end_turn", "Done."),
            prompt(&long),
            said("m4", "end_turn", found),
            prompt("do a PR"),
            said("m6", "end_turn", "PR #88 is open."),
            prompt("and pcs-03?"),
            said("m5", "end_turn", "That one ends on 4 May, a Tuesday."),
            prompt(&long),
        ]);
        let told: Vec<_> = answers
            .iter()
            .map(|one| (one.prompt.as_str(), one.text.as_str(), one.reply.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("when do our certificates end", found, Some("no, that is the old one")),
                (long.trim(), found, Some("do a PR")),
                ("do a PR", "PR #88 is open.", Some("and pcs-03?")),
                ("and pcs-03?", "That one ends on 4 May, a Tuesday.", None),
            ],
            "nothing of the middle of a turn, no `Done.`, and no long prompt as a reply"
        );
    }

    #[test]
    fn a_list_of_thirty_findings_is_kept_whole() {
        let list: String =
            (1..=30).map(|n| format!("{n}. handler {n} swallows the error of its mailer\n")).collect();
        let answers = of(&[prompt("list them"), said("m1", "end_turn", &list), prompt("ok")]);
        assert_eq!(answers[0].text, list.trim());
    }

    #[test]
    fn what_was_broken_off_is_no_answer_and_the_opening_after_a_hand_over_is_none() {
        let answers = of(&[
            prompt("find the leak"),
            said("m1", "tool_use", "It could be the pool, I look at it first."),
            prompt("[Request interrupted by user]"),
            prompt("look at the cache"),
            said("m2", "end_turn", "Continuing from handoff HO-20261120-142950-c74cc080."),
            prompt("well?"),
            said(
                "m3",
                "end_turn",
                "Continuing from handoff HO-20261120-142950-c74cc080. The cache never shrinks.",
            ),
            prompt("ok"),
            said("m4", "end_turn", "Two agents look at the cache now."),
            prompt("<task-notification>\n<task-id>a</task-id>\n</task-notification>"),
            said("m5", "end_turn", "The first one has found nothing at all."),
            prompt("ok"),
        ]);
        let told: Vec<_> = answers.iter().map(|one| (one.prompt.as_str(), one.text.as_str())).collect();
        assert_eq!(
            told,
            [
                ("well?", "The cache never shrinks."),
                ("ok", "Two agents look at the cache now."),
                ("", "The first one has found nothing at all."),
            ]
        );
    }

    #[test]
    fn one_word_says_nothing_unless_it_was_asked_for() {
        let kept = |asked: &str, text: &str| {
            let prompt = TranscriptPrompt { text: asked.into(), ..TranscriptPrompt::default() };
            EarlierAnswer::new(text, Some(&prompt)).is_some()
        };
        for text in ["Ingeborg does.", "kalmar is done.", "时区写错了", "#88"] {
            assert!(kept("go on", text), "{text}");
        }
        for text in ["Done.", "OK", "完成。", "", "{\"a\": 1} x"] {
            assert!(!kept("go on", text), "{text}");
        }
        assert!(kept("is it locked?", "Yes."));
    }

    #[test]
    fn the_newest_answers_are_whole() {
        let mut answers = EarlierAnswers::default();
        let long = |n: usize| format!("{n} {}", "word ".repeat(2000));
        for n in 0..=LONG_ANSWERS {
            answers.put(EarlierAnswer { text: long(n), ..EarlierAnswer::default() });
        }
        let whole: Vec<bool> = (0..).zip(answers.iter()).map(|(n, one)| one.text == long(n)).collect();
        assert_eq!(whole, [false, true, true, true, true, true]);
    }

    #[test]
    fn an_answer_to_a_prompt_that_was_taken_back_goes_with_it() {
        let at = |text: &str, uuid: &str, parent: &str| {
            json!({"type": "user", "uuid": uuid, "parentUuid": parent,
                "message": {"content": text}})
        };
        let answers = of(&[
            at("why is it slow", "u1", "p0"),
            said("m1", "end_turn", "The fonts are embedded once per page."),
            at("then drop them", "u2", "p1"),
            said("m2", "end_turn", "Dropped, all of the pages are plain now."),
            at("good", "u3", "p2"),
            at("no: embed them once", "u4", "p1"),
        ]);
        let told: Vec<_> = answers.iter().map(|one| (one.text.as_str(), one.reply.as_deref())).collect();
        assert_eq!(told, [("The fonts are embedded once per page.", Some("no: embed them once"))]);
    }
}
