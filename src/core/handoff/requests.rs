//! Which of the person's prompts is the current request, and which hold for all that follows.

use crate::core::claude::prompts::{PromptKind, TranscriptPrompt};

/// A reply to a question of Claude's has at most this many words.
const REPLY_WORDS: usize = 6;
/// Replies that set no work of their own, in lower case without punctuation.
const REPLIES: [&str; 48] = [
    "yes",
    "y",
    "yep",
    "yeah",
    "no",
    "n",
    "nope",
    "ok",
    "okay",
    "k",
    "sure",
    "please",
    "yes please",
    "no thanks",
    "thanks",
    "thank you",
    "thx",
    "great",
    "good",
    "perfect",
    "nice",
    "cool",
    "continue",
    "go on",
    "go ahead",
    "proceed",
    "do it",
    "next",
    "keep going",
    "carry on",
    "resume",
    "hi",
    "hello",
    "hey",
    "ja",
    "nein",
    "doch",
    "bitte",
    "danke",
    "gut",
    "weiter",
    "mach weiter",
    "oui",
    "non",
    "si",
    "sí",
    "vale",
    "merci",
];
/// Words that say nothing about what a reply is to.
const FILLERS: [&str; 12] =
    ["the", "and", "you", "please", "for", "that", "this", "with", "now", "die", "das", "und"];
/// Words of a prompt that holds for all that follows, in lower case.
const STANDING: [&str; 34] = [
    "never",
    "always",
    "don't",
    "dont ",
    "do not",
    "must",
    "only ",
    "from now on",
    "until i",
    "unless",
    "without",
    "avoid",
    "make sure",
    "ensure",
    "keep ",
    "stick to",
    "answer in",
    "reply in",
    "respond in",
    "prefer",
    "no longer",
    "from here on",
    "nie ",
    "niemals",
    "immer",
    "nicht",
    "ab jetzt",
    "kein",
    "nur ",
    "auf deutsch",
    "jamais",
    "toujours",
    "nunca",
    "siempre",
];

/// The newest prompt that set work, of prompts in their order; the newest of all when none did.
pub fn current<'a>(
    prompts: impl DoubleEndedIterator<Item = &'a TranscriptPrompt>,
) -> Option<&'a TranscriptPrompt> {
    let mut newest = None;
    for prompt in prompts.rev() {
        newest = newest.or(Some(prompt));
        if sets_work(prompt) {
            return Some(prompt);
        }
    }
    newest
}

/// Whether a prompt is a request by itself. A reply, thanks, or a word in the middle of a turn belongs to the
/// request before it.
#[must_use]
pub fn sets_work(prompt: &TranscriptPrompt) -> bool {
    if prompt.kind != PromptKind::Typed {
        return false;
    }
    if prompt.images > 0 {
        return true;
    }
    if prompt.text.len() > 4096 {
        return prompt.text.chars().any(char::is_alphanumeric);
    }
    let plain: String = prompt
        .text
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || c.is_whitespace() || *c == '\'')
        .collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let plain = words.join(" ");
    // "B", "2", "a and c": the choice among options that were offered.
    let is_choice = words.len() <= 4
        && words.iter().all(|word| word.chars().count() <= 2 || matches!(*word, "and" | "und" | "option"));
    // "SQLite, please" repeats a word of the question; "write a changelog" after "Anything else?" does not.
    let repeats = |asked: &str| {
        let asked = asked.to_lowercase();
        words.iter().any(|word| word.chars().count() >= 3 && !FILLERS.contains(word) && asked.contains(word))
    };
    let answers = words.len() <= REPLY_WORDS
        && prompt.asked.as_deref().is_some_and(|asked| asks(asked) && repeats(asked));
    !(words.is_empty() || is_choice || answers || REPLIES.contains(&plain.as_str()))
}

/// Whether a prompt reads as if it held for everything that follows.
#[must_use]
pub fn is_standing(text: &str) -> bool {
    let head = crate::core::handoff::text::cut_bytes(text, 4096).to_lowercase();
    STANDING.iter().any(|words| head.contains(words))
}

/// Whether a text of Claude's ends with a question to the person.
#[must_use]
pub fn asks(text: &str) -> bool {
    let mut fenced = false;
    let outside: Vec<&str> = text
        .lines()
        .filter(|line| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fenced && !fence && !line.trim().is_empty()
        })
        .collect();
    // Options may stand below the question.
    let is_option = |line: &str| {
        let line = line.trim_start().trim_start_matches(['-', '*', '(', ' ']);
        let mark: String = line.chars().take_while(|c| c.is_alphanumeric()).collect();
        !mark.is_empty() && mark.chars().count() <= 2 && line[mark.len()..].starts_with([')', '.', ':'])
    };
    let mut lines = outside.iter().rev();
    let mut looked = 0;
    lines
        .by_ref()
        .find(|line| {
            looked += usize::from(!is_option(line));
            line.contains('?') || looked >= 3
        })
        .is_some_and(|line| line.contains('?'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> TranscriptPrompt {
        TranscriptPrompt { text: text.into(), ..TranscriptPrompt::default() }
    }

    #[test]
    fn the_current_request_is_the_newest_prompt_that_set_work() {
        for (prompts, expected) in [
            (&["hi", "build the shed", "ok", "B"][..], "build the shed"),
            (&["build the shed", "forget that, first fix the roof"], "forget that, first fix the roof"),
            (&["hi", "ok"], "ok"),
            (&["fix it", "Weiter!", "danke."], "fix it"),
            (&["fix it", "commit"], "commit"),
        ] {
            let all: Vec<TranscriptPrompt> = prompts.iter().map(|text| prompt(text)).collect();
            assert_eq!(current(all.iter()).unwrap().text, expected);
        }
        let steering =
            TranscriptPrompt { kind: PromptKind::Steering, ..prompt("the header must be in German") };
        let reply = TranscriptPrompt {
            asked: Some("Which database: PostgreSQL or SQLite?".into()),
            ..prompt("SQLite, please")
        };
        let all = [prompt("write the store"), reply, steering];
        assert_eq!(current(all.iter()).unwrap().text, "write the store");
        let task = TranscriptPrompt {
            asked: Some("All green. Anything else I can do for you?".into()),
            ..prompt("write a changelog")
        };
        assert!(sets_work(&task), "a new task after a polite question");
        assert_eq!(current([].iter()), None);
    }

    #[test]
    fn a_question_is_known_at_the_end_of_a_text() {
        for text in [
            "Done. Shall I push it?",
            "Which one?\n\n- A) PostgreSQL\n- B) SQLite\n- C) DuckDB",
            "Which one?\n1. small\n2. large\n\nI would take the first.",
            "```\na\n```\nOkay?",
        ] {
            assert!(asks(text), "{text}");
        }
        for text in [
            "Why? Because it is fast.\n\nSo I did.\nAll tests pass.\nIt is done.",
            "```\nx ? y : z\n```",
            "",
            "Done.",
        ] {
            assert!(!asks(text), "{text}");
        }
    }

    #[test]
    fn standing_words_are_known_in_some_languages() {
        for text in ["Never touch config/prod.yaml", "Antworte immer auf Deutsch", "From now on, use tabs"] {
            assert!(is_standing(text), "{text}");
        }
        assert!(!is_standing("fix the roof"));
    }
}
