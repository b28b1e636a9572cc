//! Which of the person's prompts are the current request, and which are standing rules.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

pub use super::open_question::asks;
use super::pasted_text::{END_OF_PASTE, PASTED, own_words};
use crate::core::claude::prompts::{PromptKind, TranscriptPrompt, end_of};
use crate::core::text::safe_text::cut_bytes;

/// The width of one line of a usual terminal, in columns. A prompt that fits on it may be an answer, "go on"
/// or a correction; no list of words separates those from a task in every language.
pub const SHORT_COLUMNS: usize = 80;
/// A prompt that is no wider than this, about four words, does not name the work, in columns.
pub const NAMELESS_COLUMNS: usize = 24;
/// The most of the beginning and of the end of a prompt that is read, in bytes.
const MEASURED: usize = 16 << 10;
/// Words of a sentence that prohibits or demands something, or revokes that, in lower case. They only decide
/// what is kept longest when there is not enough room.
const STANDING: &[&str] = &[
    "never", "always", "don't", "dont", "do not", "must", "mustn't", "only", "from now on", "from here on",
    "until i", "unless", "no longer", "hands off", "alone", "no new", "ask me before", "ask before",
    "answer in", "reply in", "respond in", "nie", "niemals", "immer", "nicht", "kein", "keine", "keinen",
    "nur", "ab jetzt", "finger weg", "auf deutsch", "jamais", "toujours", "ne", "nunca", "jamás", "siempre",
    "não", "sempre", "mai", "nooit", "altijd", "nigdy", "zawsze", "asla", "никогда", "всегда", "не",
    "нельзя", "только", "ніколи", "завжди", "не можна", "sólo", "uniquement", "leave", "ignore", "except",
    "without", "off limits", "no changes", "remember", "lass", "lasst", "ohne", "außer", "no toques", "sin",
    "non", "senza", "pas", "sans", "sem", "niet", "geen", "zonder", "inte", "utan", "ikke", "uden", "bez",
    "jangan", "tanpa", "đừng", "без", "لا", "نکن", "मत", "forget", "after all", "fine again", "fine now",
    "fine by now", "allowed", "you may", "on reflection", "on second thought", "scratch that",
    "changed my mind", "everywhere", "holds for", "holds from", "vergiss", "doch nicht", "doch wieder",
    "stattdessen", "darfst", "überall", "oublie", "finalement", "partout", "olvida", "al final", "забудь",
    "not before", "not until", "before merging", "before deploying", "before pushing", "ausschließen",
];
/// Words behind "no" that prohibit nothing.
const NO_RULE: &[&str] = &[
    "problem", "problems", "worries", "idea", "need", "rush", "way", "one", "that", "its", "it's", "the",
    "thanks",
];
/// The same in scripts without spaces between words.
const STANDING_UNSPACED: &[&str] = &[
    "絶対", "必ず", "ないで", "常に", "禁止", "不要", "不得", "必须", "总是", "절대", "항상", "마세요", "别",
    "勿", "るな", "지 마", "อย่า", "ห้าม", "改成", "还是用", "可以了", "算了", "やっぱり",
];

/// The prompt that names the work, of prompts oldest first: the newest that is longer than a few words,
/// otherwise the longest.
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
pub fn names_work(prompt: &TranscriptPrompt) -> bool {
    prompt.kind == PromptKind::Typed && !fits(&prompt.text, NAMELESS_COLUMNS)
}

/// Whether a prompt of a few words may choose one of the options that Claude had listed before it.
pub fn may_choose(prompt: &TranscriptPrompt) -> bool {
    let options = prompt.asked.iter().flat_map(|asked| asked.lines()).filter(|line| is_option(line));
    options.count() > 1 && fits(&prompt.text, NAMELESS_COLUMNS)
}

/// The position at which the current request begins, of prompts newest first: the newest that is too long for
/// an answer or a correction, otherwise the first prompt of all.
///
/// Shorter prompts belong to it, even if one is a new task: showing one task too many does less harm than
/// losing one.
pub fn request_start<'a>(prompts: impl ExactSizeIterator<Item = &'a TranscriptPrompt>) -> usize {
    let last = prompts.len().saturating_sub(1);
    newest_request(prompts).unwrap_or(last)
}

/// The same, where any prompt begins a request. A person who stops Claude and says something corrects what
/// they stopped, at any length: what they stopped still names the work.
pub fn newest_request<'a>(prompts: impl Iterator<Item = &'a TranscriptPrompt>) -> Option<usize> {
    let (mut found, mut goes_back) = (None, true);
    for (at, prompt) in prompts.enumerate() {
        if !goes_back && !prompt.interrupted {
            break;
        }
        goes_back = !begins_request(prompt);
        if !goes_back {
            found = Some(at);
        }
    }
    found
}

/// Whether a prompt is too long for an answer or a correction.
pub fn begins_request(prompt: &TranscriptPrompt) -> bool {
    prompt.kind == PromptKind::Typed && !fits(&prompt.text, SHORT_COLUMNS)
}

/// Whether the person's own words are one line of at most this many columns.
///
/// Pastes, the output of a program, paths and addresses do not count: "still broken:" with a trace begins no
/// request, however long the trace is. If a prompt is nothing but a paste, the paste counts.
fn fits(text: &str, columns: usize) -> bool {
    let own = own_words(text);
    let text = ends(if own.trim().is_empty() { text } else { &own });
    let lines: Vec<&str> = text.lines().filter(|line| !matches!(*line, PASTED | END_OF_PASTE)).collect();
    let mut widths = without_output(&lines).into_iter().map(width_of_words).filter(|width| *width > 0);
    widths.next().is_none_or(|width| width <= columns) && widths.next().is_none()
}

/// Beginning and end of a text that is too long to be looked at.
fn ends(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if text.len() <= 2 * MEASURED {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}\n{}", cut_bytes(text, MEASURED), end_of(text, MEASURED)))
}

/// The width of a line without addresses and long paths, in columns.
fn width_of_words(line: &str) -> usize {
    let mut width = 0;
    for word in line.split_whitespace() {
        // Scripts without blanks put an address into the middle of words.
        for run in word.split_inclusive(|c: char| !c.is_ascii()) {
            let is_long = run.len() > NAMELESS_COLUMNS || run.matches(['/', '\\']).count() > 1;
            let is_place = run.contains("://") || is_long && run.contains(['/', '\\']);
            width += if is_place { 0 } else { run.width() };
        }
        width += 1;
    }
    if width <= line.split_whitespace().count() { 0 } else { width - 1 }
}

/// The lines that no program wrote: no prompt of a shell and what follows it, no trace, no log. A list that
/// is indented is the person's.
fn without_output<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut own = Vec::new();
    for block in lines.split(|line| line.trim().is_empty()) {
        let is_output: Vec<bool> = block.iter().map(|line| is_output(line)).collect();
        let shell = block.iter().position(|line| is_shell(line));
        let first = is_output.iter().position(|is| *is);
        let last = if shell.is_some() { Some(block.len()) } else { is_output.iter().rposition(|is| *is) };
        let first = [first, shell].into_iter().flatten().min();
        for (at, line) in block.iter().enumerate() {
            let is_between = first.zip(last).is_some_and(|(first, last)| first <= at && at <= last);
            if !is_between || is_item(line) {
                own.push(*line);
            }
        }
    }
    own
}

fn is_shell(line: &str) -> bool {
    let line = line.trim_start();
    ["$ ", "% ", "\u{276f} ", ">>> ", "PS C:\\"].iter().any(|prompt| line.starts_with(prompt))
}

/// Whether a line is one of a list.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['-', '*', '\u{2022}', '+']) && line.chars().nth(1) == Some(' ') || is_option(line)
}

/// Whether a program wrote the line, as its form says: it is indented and no item of a list, has columns or
/// few plain words, or begins with a place in a file, a time, a bracket with digits or the name of an error.
fn is_output(line: &str) -> bool {
    if is_item(line) {
        return false;
    }
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return false };
    let second = words.next().unwrap_or_default();
    let is_indented = line.starts_with('\t') || line.starts_with("  ");
    // `src/a.rs:3:5:`, `12:01:33`, `2026-11-24T07:00`
    let digits = |word: &str| word.split([':', '-', '.', '/']).filter(|part| is_number(part)).count();
    let is_place = |word: &str| {
        let mut parts = word.split([':', '(']);
        parts.next().is_some_and(|name| name.contains(['.', '/', '\\']))
            && parts.any(|part| is_number(part.trim_end_matches([')', ','])))
    };
    let is_time = first.contains(':') && digits(first) >= 3 || digits(first) == 3 && digits(second) >= 2;
    let is_mark = first.len() > 4
        && first.starts_with('[')
        && first.ends_with(']')
        && first.contains(|c: char| c.is_ascii_digit());
    let is_call = second.contains(['(', '.', '/']) && !second.starts_with(|c: char| c.is_ascii_digit());
    let is_frame = first == "at" && is_call || first == "File" && second.starts_with('"');
    let is_panic = line.starts_with("thread '") && line.contains("' panicked at ");
    has_columns(line)
        || has_few_words(line)
        || is_indented
        || is_place(first)
        || is_time
        || is_mark
        || is_frame
        || is_panic
        || is_error(line)
}

/// Whether less than half of the words of a line of usual width are plain ones, without signs and digits.
/// Scripts without blanks have long words with signs in them.
fn has_few_words(line: &str) -> bool {
    let is_plain = |word: &&str| {
        let word =
            word.trim_start_matches('(').trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '"');
        let is_letter = |c: char| c.is_alphabetic() || matches!(c, '\'' | '\u{2019}' | '-');
        word.contains(|c: char| !c.is_ascii() && c.is_alphabetic())
            || !word.is_empty() && !word.starts_with('-') && word.chars().all(is_letter)
    };
    line.width() <= SHORT_COLUMNS
        && line.split_whitespace().filter(is_plain).count() * 2 < line.split_whitespace().count()
}

/// Whether blanks align what the line says. Some people put two of them behind a sentence.
fn has_columns(line: &str) -> bool {
    let line = line.trim();
    line.contains("   ")
        || line.contains('\t')
        || line.match_indices("  ").any(|(at, _)| !line[..at].ends_with(['.', '!', '?', ':']))
}

/// `KeyError:`, `java.io.IOException:`, `error[E0382]:`, `error TS2322:`, `TypeError [ERR_X]:`, and the name
/// of a class behind a word or two
fn is_error(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(3).collect();
    let ends = |name: &str| ["error", "exception", "warning", "fatal"].iter().any(|end| name.ends_with(end));
    let name = |word: &str| {
        word.trim_end_matches(':').split(['[', '(']).next().unwrap_or_default().to_ascii_lowercase()
    };
    let Some(first) = words.first() else { return false };
    let has_code = words.get(1).is_some_and(|second| {
        second.ends_with(':') && (second.contains(|c: char| c.is_ascii_digit()) || second.starts_with('['))
    });
    let is_class = |word: &&str| {
        let inner = word.chars().skip(1).any(|c| c.is_ascii_uppercase());
        word.ends_with(':') && inner && ends(&name(word))
    };
    ends(&name(first)) && (first.ends_with(':') || has_code) || words.iter().any(is_class)
}

fn is_number(text: &str) -> bool {
    let digits = text.trim_end_matches(['Z', 'T', ',']);
    !digits.is_empty() && digits.bytes().take_while(u8::is_ascii_digit).count() * 2 > digits.len()
}

/// Whether a text prohibits or demands something.
pub fn is_standing(text: &str) -> bool {
    let head = crate::core::text::safe_text::cut_bytes(text, 4096).to_lowercase().replace('\u{2019}', "'");
    let words: Vec<&str> =
        head.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).collect();
    let words = format!(" {} ", words.join(" "));
    STANDING.iter().any(|phrase| {
        words
            .match_indices(phrase)
            .any(|(at, _)| words[..at].ends_with(' ') && words[at + phrase.len()..].starts_with(' '))
    }) || STANDING_UNSPACED.iter().any(|phrase| head.contains(phrase))
        || is_emphatic(text)
        || asks_first_or_says_no(&head)
}

/// Whether "not" or "no" is in capitals and the rest is not.
fn is_emphatic(text: &str) -> bool {
    let text = cut_bytes(text, 4096);
    text.split(|c: char| !c.is_alphanumeric()).any(|word| matches!(word, "NOT" | "NO" | "DONT"))
        && text.chars().filter(|c| c.is_lowercase()).count()
            > text.chars().filter(|c| c.is_uppercase()).count()
}

/// `ask Ada before`, `no GPU code`, `html no`; "no, ..." answers and may prohibit nothing. In lower case.
fn asks_first_or_says_no(text: &str) -> bool {
    let text = text.trim_end();
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_word = |word: &str| {
        let word = word.trim_end_matches(|c: char| c.is_ascii_punctuation());
        word.chars().count() >= 3 && word.chars().all(char::is_alphabetic) && !NO_RULE.contains(&word)
    };
    let asks_first = words.windows(3).any(|three| three[0] == "ask" && three[2] == "before");
    let no_noun = words.windows(2).any(|two| two[0] == "no" && is_word(two[1]));
    let noun_no = words.len() > 1 && words.last().is_some_and(|word| matches!(*word, "no" | "no." | "no!"));
    asks_first || !text.ends_with('?') && (no_noun || noun_no)
}

/// Whether a line is one of several options: `B) SQLite`, `- 2. Redis`, `1）SQLite`.
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
    fn a_trace_a_paste_or_a_path_begins_no_request_by_its_length() {
        let trace = "Traceback (most recent call last):\n  File \"sched.py\", line 2\nKeyError: 7";
        let path = "/home/u/screens/Screen shot of 2026-11-26 16-02-11 (overview of cranes, second tab).png";
        for text in [
            trace,
            &format!("still broken:\n[pasted]\n{trace}\nand more of it\n[end of paste]"),
            &format!("[pasted]\n{trace}\n[end of paste]"),
            "now this:\nerror TS2322: Type 'x' is not assignable to type 'y'\n",
            "$ make\ncc -o x\nmake: *** [x] Error 1",
            path,
            "https://ci.corp.example/job/crane/1182/artifact/reports/tests/SchedTest.html?from=now-6h#failed",
            "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds: the len is 3\nsrc/a.rs:3:5: up",
            "\u{3053}\u{308c}\n2026-11-24T07:00:01Z crane-1 stopped\n2026-11-24T07:00:02Z crane-2 stopped",
            "panic: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/tmp/x.go:8 +0x1d",
            "FAILED tests/t.py::test_x - assert 3 == 4\n1 failed, 12 passed in 0.3s",
            "NAME     READY  STATUS\ncrane-0  0/1    Failed\ncrane-1  1/1    Running",
            "{\n  \"a\": 1\n}",
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b",
            "immer noch:\n\njava.io.IOException: closed\n\tat a.b.C.run(C.java:12)\n\tat a.b.D.run(D.java:3)",
        ] {
            assert!(!begins_request(&prompt(text)), "{text}");
        }
        for text in [
            TASK,
            "do this:\n  - the gate opens at six\n  - the roof is red",
            "1. gate\n2. roof",
            "write the report of the berths\nand mail it to Rui",
            "Implement this:\n```rust\nfn x() {\n    todo!()\n}\n```\nand make it fast",
            "[pasted]\nBuild the gate.\nThen paint the roof.\n[end of paste]",
            &format!("{trace}\n\nmend it, and from there on\nwrite a test for each of the queues"),
            &format!("{path}\n{TASK}"),
            "rename foo_bar to foo-baz, x2 to x3 and y_1 to y2, in src/a.rs, src/b.rs, tests/c.rs and docs/d.md",
            "Error handling: rewrite it in all of the modules, so that each one tells the person what to do next",
        ] {
            assert!(begins_request(&prompt(text)), "{text}");
        }
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
            "Leave prod.yaml as it is",
            "Touche pas à prod.yaml",
            "别改 prod.yaml",
            "لا تغيّر الملف",
            "Forget Postgres, we take SQLite",
            "Pushing is fine again",
            "Du darfst jetzt pushen",
            "还是用 SQLite 吧",
        ] {
            assert!(is_standing(text), "{text}");
        }
        for text in
            ["fix the roof", "the mainframe needs a nicer nickname", "standalone mode", "may I see it again"]
        {
            assert!(!is_standing(text), "{text}");
        }
    }
}
