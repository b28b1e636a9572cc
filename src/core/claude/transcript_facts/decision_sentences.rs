//! Sentences in which Claude stated a decision with its reason. They are quoted, never believed.

use super::bounded_memory::LastItems;
use super::earlier_answers::short_reply;

/// How many sentences are kept.
pub const STATED_CAP: usize = 30;
/// How much of one answer is read, in bytes.
const READ_CAP: usize = 64 << 10;
/// The shortest and the longest sentence that is kept, in bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 20..=400;
/// Phrases that give a reason or name what was rejected, in lower case, with the blanks around them.
const REASONS: [&str; 24] = [
    " so i ", " so we ", " i try ", " i'll try ", " because ", " instead of ", " rather than ",
    " in favor of ", " in favour of ", " decided ", " i chose ", " we chose ", " opted ", " going with ",
    " will use ", "'ll use ", " so that ", " weil ", " statt ", " anstatt ", " entschied", " parce que ",
    " plutôt ", " porque ",
];

/// Words that say how long something holds, or what comes after what.
const CONDITIONS: [&str; 10] = [
    " again when ", " again once ", " as soon as ", " for now", " for the time being", " until you ",
    " sobald ", " vorerst ", "\u{6682}\u{65f6}", "\u{4e00}\u{65e6}",
];
/// Words that say what Claude is going to do. In the middle of a turn Claude does it next; at its end it is a
/// promise.
const INTENTIONS: [&str; 6] =
    [" i will ", " i'll ", " ich werde ", " je vais ", "\u{6211}\u{4f1a}", "\u{6211}\u{5c06}"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatedDecision {
    pub text: String,
    /// The person's next message, if it is one short line: it may refute the sentence.
    pub reply: Option<String>,
    /// It says what Claude is going to do, or how long something holds.
    pub is_promise: bool,
    /// The person has written something since.
    is_old: bool,
}

impl From<&str> for StatedDecision {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

impl StatedDecision {
    /// A promise of an earlier conversation, and the person's reply.
    pub fn promise(text: String, reply: Option<String>) -> Self {
        Self { text, reply, is_promise: true, is_old: true }
    }
}

/// The sentences of a conversation that state a decision.
#[derive(Clone, Debug, Default)]
pub(super) struct StatedDecisions(LastItems<StatedDecision, STATED_CAP>);

impl StatedDecisions {
    /// The sentences, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &StatedDecision> {
        self.0.iter()
    }

    /// Takes the sentences of an answer that state a decision or a promise, each once.
    pub fn take_text(&mut self, text: &str, ends_turn: bool) {
        let text = crate::core::text::safe_text::cut_words(text, READ_CAP);
        let mut fenced = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
                continue;
            }
            if fenced {
                continue;
            }
            for sentence in sentences(line) {
                let sentence = sentence.trim().trim_start_matches(['-', '*', '#', '>', ' ']);
                if !LENGTHS.contains(&sentence.len()) {
                    continue;
                }
                let lower = format!(" {}", sentence.to_lowercase().replace('\u{2019}', "'"));
                let has = |words: &[&str]| words.iter().any(|words| lower.contains(words));
                let is_promise = has(&CONDITIONS) || ends_turn && has(&INTENTIONS);
                // A question decides nothing.
                let states = !sentence.ends_with(['?', '\u{ff1f}']) && (is_promise || has(&REASONS));
                if states && !self.iter().any(|known| known.text == sentence) {
                    // The reason of a decision may show in the result; a promise is recorded nowhere else.
                    self.0.put_over(StatedDecision { is_promise, ..sentence.into() }, |one| !one.is_promise);
                }
            }
        }
    }

    /// Takes what the person wrote; `answer` is Claude's newest text.
    pub fn take_reply(&mut self, prompt: &str, answer: &str) {
        let reply = short_reply(prompt);
        for sentence in self.0.iter_mut().filter(|sentence| !sentence.is_old) {
            sentence.is_old = true;
            if reply.is_some() && answer.contains(&sentence.text) {
                sentence.reply.clone_from(&reply);
            }
        }
    }

    /// How many sentences there were so far.
    pub fn mark(&self) -> u64 {
        self.0.total()
    }

    /// Forgets what the person took back.
    pub fn go_back_to(&mut self, mark: u64) {
        self.0.truncate_to(mark);
    }
}

/// Splits a line into sentences: at a full stop, question or exclamation mark before a blank, and at a
/// Chinese or Japanese one anywhere.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().zip(rest.chars().skip(1)).find(|((_, c), next)| {
            matches!(c, '.' | '!' | '?') && *next == ' ' || matches!(c, '\u{3002}' | '\u{ff01}' | '\u{ff1f}')
        });
        let (sentence, behind) = rest.split_at(end.map_or(rest.len(), |((at, c), _)| at + c.len_utf8()));
        rest = behind;
        Some(sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_with_a_reason_are_kept_and_others_are_not() {
        let mut stated = StatedDecisions::default();
        let text = "I looked at both. I'll use gettext rather than a dictionary, because plural forms \
                    differ. Fine.\n\
                    - Decision: tokens are stored hashed so that a leak is harmless.\n\
                    Shall I use Redis instead of files?\n```\nlet x = y; // because of z\n```\n";
        stated.take_text(text, false);
        stated.take_text(text, false);
        let all: Vec<&str> = stated.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(
            all,
            [
                "I'll use gettext rather than a dictionary, because plural forms differ.",
                "Decision: tokens are stored hashed so that a leak is harmless."
            ]
        );
    }

    #[test]
    fn the_reply_is_kept_with_the_sentences_of_the_last_answer() {
        let mut stated = StatedDecisions::default();
        let answer = "I decided to change the compare to >= because it counts from zero.";
        stated.take_text("I will use a map because it is there.", false);
        stated.take_text(answer, false);
        stated.take_reply("no, put it back", answer);
        stated.take_reply("and now the docs", "Done.");
        let replies: Vec<_> = stated.iter().map(|one| one.reply.as_deref()).collect();
        assert_eq!(replies, [None, Some("no, put it back")]);
    }

    #[test]
    fn a_promise_is_kept_and_an_announced_step_is_not() {
        let mut stated = StatedDecisions::default();
        stated.take_text("I'll look at the callers first. job7 stays off for now.", false);
        stated.take_text(
            "I will switch job7 on again. \u{6211}\u{4f1a}\u{5728}\u{5bfc}\u{51fa}\u{7ed3}\u{675f}\u{540e}\u{6253}\u{5f00} job7\u{3002}Done.",
            true,
        );
        let all: Vec<_> = stated.iter().map(|one| (one.text.as_str(), one.is_promise)).collect();
        let promise =
            "\u{6211}\u{4f1a}\u{5728}\u{5bfc}\u{51fa}\u{7ed3}\u{675f}\u{540e}\u{6253}\u{5f00} job7\u{3002}";
        assert_eq!(
            all,
            [("job7 stays off for now.", true), ("I will switch job7 on again.", true), (promise, true)]
        );
    }

    #[test]
    fn odd_texts_are_bounded() {
        let mut stated = StatedDecisions::default();
        stated.take_text(&"because. ".repeat(100_000), true);
        stated.take_text(&format!(" because {}", "x".repeat(1 << 20)), true);
        stated.take_text(". . ? ! \u{1f600}. because \u{e9}", true);
        assert_eq!(stated.iter().count(), 0);
    }
}
