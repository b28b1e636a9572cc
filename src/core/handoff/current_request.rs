//! Which of the person's prompts are the current request, and which hold for all that follows.

use unicode_width::UnicodeWidthStr;

pub use super::open_question::asks;
use crate::core::claude::prompts::{PromptKind, TranscriptPrompt};

/// The width of one line of a usual terminal, in columns. What fits on it may be an answer, "go on" or a
/// correction, in any language, and no list of words tells it from a task.
const SHORT_COLUMNS: usize = 80;
/// A prompt that is no wider than this, about four words, does not name the work, in columns.
const NAMELESS_COLUMNS: usize = 24;
/// Words of a sentence that prohibits or demands something, in lower case. They decide what is kept longest
/// where room is short, and nothing else.
const STANDING: [&str; 56] = [
    "never",
    "always",
    "don't",
    "dont",
    "do not",
    "must",
    "mustn't",
    "only",
    "from now on",
    "from here on",
    "until i",
    "unless",
    "no longer",
    "hands off",
    "alone",
    "no new",
    "ask me before",
    "ask before",
    "answer in",
    "reply in",
    "respond in",
    "nie",
    "niemals",
    "immer",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "nur",
    "ab jetzt",
    "finger weg",
    "auf deutsch",
    "jamais",
    "toujours",
    "ne",
    "nunca",
    "jamás",
    "siempre",
    "não",
    "sempre",
    "mai",
    "nooit",
    "altijd",
    "nigdy",
    "zawsze",
    "asla",
    "никогда",
    "всегда",
    "не",
    "нельзя",
    "только",
    "ніколи",
    "завжди",
    "не можна",
    "sólo",
    "uniquement",
];
/// The same in scripts that put no blanks between words.
const STANDING_UNSPACED: [&str; 12] =
    ["絶対", "必ず", "ないで", "常に", "禁止", "不要", "不得", "必须", "总是", "절대", "항상", "마세요"];

/// The prompt that names what the person wants, of prompts in their order: the newest that is longer than a
/// few words; else the longest of all.
pub fn current<'a>(
    prompts: impl DoubleEndedIterator<Item = &'a TranscriptPrompt>,
) -> Option<&'a TranscriptPrompt> {
    let mut longest: Option<&TranscriptPrompt> = None;
    for prompt in prompts.rev() {
        if names_work(prompt) {
            return Some(prompt);
        }
        let is_longer = |than: &TranscriptPrompt| prompt.text.trim().width() > than.text.trim().width();
        if longest.is_none_or(is_longer) {
            longest = Some(prompt);
        }
    }
    longest
}

/// Whether a prompt is long enough to name the work.
#[must_use]
pub fn names_work(prompt: &TranscriptPrompt) -> bool {
    prompt.kind == PromptKind::Typed && !fits(&prompt.text, NAMELESS_COLUMNS)
}

/// Where the current request begins, of prompts with the newest first: at the newest that is too long for an
/// answer or a correction; the first of all when none is.
///
/// What is shorter stands with it, also a new task: a task more is read over, a task less is lost.
pub fn request_start<'a>(prompts: impl ExactSizeIterator<Item = &'a TranscriptPrompt>) -> usize {
    let last = prompts.len().saturating_sub(1);
    let mut prompts = prompts;
    prompts.position(begins_request).unwrap_or(last)
}

/// Whether a prompt is too long for an answer or a correction.
#[must_use]
pub fn begins_request(prompt: &TranscriptPrompt) -> bool {
    prompt.kind == PromptKind::Typed && !fits(&prompt.text, SHORT_COLUMNS)
}

/// Whether a text is one line of at most so many columns.
fn fits(text: &str, columns: usize) -> bool {
    let text = text.trim();
    // A long text is not measured.
    text.len() <= 16 * columns && !text.contains('\n') && text.width() <= columns
}

/// Whether a text prohibits or demands something.
#[must_use]
pub fn is_standing(text: &str) -> bool {
    let head = crate::core::handoff::safe_text::cut_bytes(text, 4096).to_lowercase().replace('\u{2019}', "'");
    let words: Vec<&str> =
        head.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    let words = format!(" {} ", words.join(" "));
    STANDING.iter().any(|phrase| {
        words
            .match_indices(phrase)
            .any(|(at, _)| words[..at].ends_with(' ') && words[at + phrase.len()..].starts_with(' '))
    }) || STANDING_UNSPACED.iter().any(|phrase| head.contains(phrase))
}

/// Whether a line is one of several options: `B) SQLite`, `- 2. Redis`, `1）SQLite`.
#[must_use]
pub fn is_option(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['-', '*', '(', ' ']);
    let mark: String = line.chars().take_while(|c| c.is_alphanumeric()).collect();
    !mark.is_empty()
        && mark.chars().count() <= 2
        && line[mark.len()..].starts_with([')', '.', ':', '）', '．', '：'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> TranscriptPrompt {
        TranscriptPrompt { text: text.into(), ..TranscriptPrompt::default() }
    }

    const TASK: &str = "Refactor the scheduler of the crane park: jobs must survive a restart, at most three \
                        cranes at the same time.";

    #[test]
    fn the_work_is_named_by_the_newest_prompt_of_more_than_a_few_words() {
        for (prompts, expected) in [
            (&["hi", "build the shed", "ok", "B"][..], "build the shed"),
            (&["build the shed", "forget that, first fix the roof"], "forget that, first fix the roof"),
            (&[TASK, "продолжай", "nimm die zweite", "lgtm"], TASK),
            (&["fix it", "commit"], "commit"),
        ] {
            let all: Vec<TranscriptPrompt> = prompts.iter().map(|text| prompt(text)).collect();
            assert_eq!(current(all.iter()).unwrap().text, expected);
        }
        let steering =
            TranscriptPrompt { kind: PromptKind::Steering, ..prompt("the header must be in German") };
        let all = [prompt("write the store of the harbour office"), prompt("ok"), steering];
        assert_eq!(current(all.iter()).unwrap().text, "write the store of the harbour office");
        assert_eq!(current([].iter()), None);
    }

    #[test]
    fn the_request_goes_back_to_the_newest_prompt_that_is_more_than_a_line() {
        let start = |texts: &[&str]| {
            let all: Vec<TranscriptPrompt> = texts.iter().rev().map(|text| prompt(text)).collect();
            texts.len() - 1 - request_start(all.iter())
        };
        for reply in [
            "yes do it",
            "sounds good, keep going",
            "whatever you think is best",
            "nein, noch nicht",
            "de acuerdo",
            "продолжай",
            "二つ目でお願いします",
            "第二个",
            "no, not with a regex: use the grammar in addr.lark",
            "forget that, first fix the leaking roof in tarnholm.py",
        ] {
            assert_eq!(start(&[TASK, "ok", reply]), 0, "{reply}");
        }
        let second = "now the report for the harbour master, as PDF, with the numbers of the last two years";
        assert_eq!(start(&[TASK, "ok", second, "go on"]), 2, "a new task supersedes the old one");
        assert_eq!(start(&[TASK, "1. gate\n2. roof", "go on"]), 1, "more than one line");
        assert_eq!(start(&["hi", "ok"]), 0);
        assert_eq!(request_start([].iter()), 0);
    }

    #[test]
    fn standing_words_are_known_in_some_languages() {
        for text in [
            "Never touch config/prod.yaml",
            "Don’t use npm",
            "Antworte immer auf Deutsch",
            "From now on, use tabs",
            "config/prod.yaml は絶対に変更しないで",
            "никогда не трогай",
        ] {
            assert!(is_standing(text), "{text}");
        }
        for text in ["fix the roof", "the mainframe needs a nicer nickname", "standalone mode"] {
            assert!(!is_standing(text), "{text}");
        }
    }
}
