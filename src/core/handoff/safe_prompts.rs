//! Prompts and answers that are safe to show: every prompt of the person, and Claude's last answer.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use unicode_width::UnicodeWidthStr;

use super::capture::Capture;
use super::continuation_prompt::without_opening;
use super::current_request::{SHORT_COLUMNS, begins_request, is_standing, may_choose, request_start};
use super::pasted_text::{own_words, with_short_pastes};
use super::prompt_sentences::{GIST_SENTENCE, ranked_parts};
use crate::core::claude::prompts::{
    ALLOWED_CALL, ASKED_CAP, IMAGE_FILES, PromptKind, REFUSED_CALL, TranscriptPrompt, end_of,
};
use crate::core::text::safe_text::{cut_bytes, cut_chars, cut_words, safe, safe_line};
use crate::core::time::WallTime;

/// How many bytes of prompts `state.json` passes on to the next handoff, the current request aside.
const PASSED_BYTES: usize = 64 << 10;
/// What a row costs beside its texts, in bytes.
const ROW_BYTES: usize = 64;
/// How much it passes on of each of the newest and of the oldest prompts, and at first of the others, in
/// characters.
const PASSED_CHARS: [usize; 2] = [6000, 600];
/// The most that is passed on of the prompt that set the current work, in bytes.
const REQUEST_BYTES: usize = 256 << 10;
/// The most of a prompt that is measured, in bytes.
const WIDEST: usize = 4096;
/// The length of a tool call that a prompt is about, in characters.
const CALL_CHARS: usize = 120;
/// How much shorter than another prompt one counts that prohibits or demands something, in columns.
const STANDING_COLUMNS: usize = 60;
/// The newest prompts of those that are passed on.
const NEWEST: usize = 12;
/// The oldest prompts of those: specifications and rules are there.
const OLDEST: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonPrompt {
    /// The prompt, its text safe.
    pub prompt: TranscriptPrompt,
    /// Its number in this conversation, from 1; none when it is of a conversation before.
    pub number: Option<u64>,
    /// How often it was repeated in a row.
    pub times: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The person's prompts, newest first; those of the conversations before come last.
    pub prompts: Vec<PersonPrompt>,
    /// How many prompts are missing between the first and the others.
    pub dropped: u64,
    /// Claude's last words.
    pub last_answer: String,
}

impl Words {
    /// From captured data. All text is redacted here, once.
    #[must_use]
    pub fn of(capture: &Capture) -> Self {
        let mut prompts: Vec<PersonPrompt> = Vec::new();
        let mut add = |prompt: &TranscriptPrompt, number: Option<u64>| {
            let text = safe(&prompt.text).trim().to_owned();
            if text.is_empty() && prompt.images == 0 {
                return;
            }
            if let Some(last) = prompts
                .last_mut()
                .filter(|last| last.prompt.text == text && last.number.is_some() == number.is_some())
                // Each answer has its own question.
                .filter(|_| prompt.kind != PromptKind::Answer)
            {
                last.times += 1;
                return;
            }
            let asked = prompt.asked.as_deref().map(|asked| safe(asked).trim().to_owned());
            let selected = prompt.selected.as_deref().map(safe_line);
            let image_files = prompt.image_files.iter().map(|file| safe_line(file)).collect();
            prompts.push(PersonPrompt {
                prompt: TranscriptPrompt { text, asked, selected, image_files, ..prompt.clone() },
                number,
                times: 1,
            });
        };
        let number = |at: usize| 1 + at as u64 + if at > 0 { capture.prompts.dropped } else { 0 };
        capture.prompts.here.iter().enumerate().rev().for_each(|(at, prompt)| add(prompt, Some(number(at))));
        capture.prompts.before.iter().for_each(|prompt| add(prompt, None));
        join_stopped(&mut prompts);
        Self {
            prompts,
            dropped: capture.prompts.dropped,
            last_answer: without_opening(safe(&capture.answers.last).trim()).to_owned(),
        }
    }

    /// The file of all prompts, oldest first, whole.
    pub fn prompts_file(&self) -> String {
        let mut text =
            "# Every prompt of the person, oldest first, word for word (those of conversations before are \
             shortened)\n"
                .to_owned();
        for said in self.prompts.iter().rev() {
            let mut title = match said.number {
                Some(number) => format!("prompt {number}"),
                None => "in a conversation before".to_owned(),
            };
            if let Some(at) = &said.prompt.at {
                title.push_str(&format!(", {}", safe_line(at)));
            }
            for label in labels(said) {
                title.push_str(&format!(", {label}"));
            }
            text.push_str(&format!("\n## {title}\n\n{}\n", said.prompt.text));
            if said.number == Some(1) && self.dropped > 0 {
                text.push_str(&format!(
                    "\n## {} prompts are left out here; the transcript has them\n",
                    self.dropped
                ));
            }
        }
        text
    }

    /// The prompts for the next handoff: the current request in full, the newest and the oldest, and as many
    /// of the others as fit, see [`by_worth`]. If there is room left, requests are passed on at greater
    /// length.
    pub fn to_pass_on(&self) -> Vec<PromptRow> {
        let (start, count) = (self.request_start(), self.prompts.len());
        let mut rows: Vec<Option<PromptRow>> = vec![None; count];
        let mut left = PASSED_BYTES;
        let all: Vec<usize> = (0..count).collect();
        let order = by_worth(&all, &self.prompts, NEWEST, |_| 0);
        let is_at_an_end = |at: usize| at < NEWEST || at + OLDEST >= count;
        for at in order.iter().copied() {
            let row = match at == start {
                true => self.row(at, None),
                false => self.row(at, Some(PASSED_CHARS[usize::from(!is_at_an_end(at))])),
            };
            let cost = if at == start { 0 } else { row.size() };
            if let Some(rest) = left.checked_sub(cost) {
                (left, rows[at]) = (rest, Some(row));
            }
        }
        let is_cut =
            |at: &usize| !is_at_an_end(*at) && *at != start && begins_request(&self.prompts[*at].prompt);
        for at in order.into_iter().filter(is_cut) {
            let Some(row) = &rows[at] else { continue };
            let longer = self.row(at, Some(PASSED_CHARS[0]));
            if let Some(rest) = (left + row.size()).checked_sub(longer.size()) {
                (left, rows[at]) = (rest, Some(longer));
            }
        }
        rows.into_iter().flatten().collect()
    }

    /// A prompt as it is passed on: at most `cap` characters, or the one that set the current work.
    fn row(&self, at: usize, cap: Option<usize>) -> PromptRow {
        let prompt = &self.prompts[at].prompt;
        let is_answer = prompt.kind == PromptKind::Answer;
        PromptRow {
            text: match cap {
                None => cut_words(&prompt.text, REQUEST_BYTES).to_owned(),
                Some(cap) => shorten(&with_short_pastes(&prompt.text, cap), cap),
            },
            kind: Some(prompt.kind)
                .filter(|kind| *kind != PromptKind::Typed)
                .map(|kind| word(kind).to_owned()),
            interrupted: prompt.interrupted,
            at: prompt.at.as_deref().and_then(WallTime::parse).map(WallTime::rfc3339_s),
            images: prompt.images,
            asked: prompt.asked.clone().filter(|_| at < NEWEST || is_answer || may_choose(prompt)),
            selected: prompt.selected.clone(),
            image_files: prompt.image_files.clone(),
        }
    }

    /// Which of the prompts set the current work.
    pub fn request_start(&self) -> usize {
        request_start(self.prompts.iter().map(|said| &said.prompt))
    }
}

/// Joins the prompt that a hand-over stopped, which is the newest of the conversation before, with the first
/// of this one: the person said it once.
fn join_stopped(prompts: &mut Vec<PersonPrompt>) {
    let at = prompts.partition_point(|said| said.number.is_some());
    if at == 0 || at >= prompts.len() {
        return;
    }
    let (first, stopped) = (&prompts[at - 1].prompt, &prompts[at].prompt);
    let cap = PASSED_CHARS[0];
    let is_same = first.text == stopped.text
        || shorten(&with_short_pastes(&first.text, cap), cap) == stopped.text
        || cut_words(&first.text, REQUEST_BYTES) == stopped.text;
    if prompts[at - 1].number == Some(1) && is_same && stopped.kind == first.kind {
        let stopped = prompts.remove(at).prompt;
        let first = &mut prompts[at - 1].prompt;
        first.asked = first.asked.take().or(stopped.asked);
        first.selected = first.selected.take().or(stopped.selected);
    }
}

/// The positions of prompts (newest first) in the order in which they are kept when not all fit: the newest
/// `ends` and as many of the oldest, then the shortest, newer before older, repeated ones last. Rules,
/// corrections and revocations are short in every language, and tasks are long. What prohibits or demands
/// counts as shorter than it is: finished questions are short, too. A long prompt counts by its shortest
/// prohibition or demand, or by its beginning and its shortest sentence with a number. `beside`: the columns
/// of the label of the prompt at a position.
pub fn by_worth(
    places: &[usize],
    prompts: &[PersonPrompt],
    ends: usize,
    beside: impl Fn(usize) -> usize,
) -> Vec<usize> {
    let count = places.len();
    let from_both = (0..count).map(|n| if n % 2 == 0 { n / 2 } else { count - 1 - n / 2 });
    let mut order: Vec<usize> = from_both.take(2 * ends).map(|at| places[at]).collect();
    let mut said = HashSet::new();
    let between = places.get(ends..count.saturating_sub(ends)).unwrap_or_default();
    let mut between: Vec<(bool, usize, usize)> = between
        .iter()
        .map(|at| {
            let text = &*prompts[*at].prompt.text;
            let width = shown_width(text) + beside(*at);
            let less = if is_standing(&own_words(text)) { STANDING_COLUMNS } else { 0 };
            (!said.insert(text), width.saturating_sub(less), *at)
        })
        .collect();
    between.sort_unstable();
    order.extend(between.into_iter().map(|(_, _, at)| at));
    order
}

/// The width of the shortest form of a prompt, in columns.
fn shown_width(text: &str) -> usize {
    let width = cut_bytes(text, WIDEST).width();
    if width <= SHORT_COLUMNS {
        return width;
    }
    let own = own_words(text);
    // A rule counts by itself, what has a number with the beginning that it needs.
    let beginning = |part: &str| match is_standing(part) {
        true => Some(0),
        false => part.contains(|c: char| c.is_numeric()).then_some(1),
    };
    let parts = ranked_parts(cut_bytes(&own, WIDEST), GIST_SENTENCE, beginning);
    let shown = parts.into_iter().map(|(rank, part)| usize::from(rank) * SHORT_COLUMNS + part.width()).min();
    shown.map_or(width, |shown| width.min(shown))
}

/// The tool call that a prompt is about: the person typed it when they refused or allowed the call.
pub fn call_of(said: &PersonPrompt) -> Option<&str> {
    let asked = said.prompt.asked.as_deref()?;
    [REFUSED_CALL, ALLOWED_CALL].iter().find_map(|begin| asked.strip_prefix(begin)?.strip_suffix(')'))
}

/// The same in words: a command without the tool that runs it, on one line.
fn call_words(said: &PersonPrompt) -> String {
    match call_of(said) {
        None => "a tool call".to_owned(),
        Some("ExitPlanMode") => "your plan".to_owned(),
        Some("AskUserQuestion") => "your question".to_owned(),
        Some(call) => {
            let call = safe_line(call.strip_prefix("Bash ").unwrap_or(call)).replace('`', "'");
            format!("`{}`", cut_chars(&call, CALL_CHARS))
        }
    }
}

/// What is to be known of a prompt beside its text.
pub fn labels(said: &PersonPrompt) -> Vec<String> {
    let mut labels = Vec::new();
    match said.prompt.kind {
        PromptKind::Typed => {}
        PromptKind::Steering => labels.push("typed while you worked".to_owned()),
        PromptKind::Refusal => labels.push(format!("said when they refused {}", call_words(said))),
        PromptKind::Approval => labels.push(format!("said when they allowed {}", call_words(said))),
        PromptKind::Answer => labels.push("as an answer".to_owned()),
        PromptKind::Memory => labels.push("for your memory: it holds for all work".to_owned()),
        PromptKind::Compact => labels.push("said for the summary of a compaction".to_owned()),
    }
    if said.prompt.interrupted {
        labels.push("interrupted by the person before you had finished".to_owned());
    }
    let place = match &*said.prompt.image_files {
        [] => ", see the transcript".to_owned(),
        files => format!(": {}", files.join(", ")),
    };
    match said.prompt.images {
        0 => {}
        1 => labels.push(format!("with an image{place}")),
        many => labels.push(format!("with {many} images{place}")),
    }
    if let Some(selected) = &said.prompt.selected {
        labels.push(format!("with this selected in their editor: {}", cut_chars(selected, CALL_CHARS)));
    }
    if said.times > 1 {
        labels.push(format!("said {} times in a row", said.times));
    }
    labels
}

/// Beginning and end of a text that is longer than `cap` characters.
pub fn shorten(text: &str, cap: usize) -> String {
    if text.chars().nth(cap).is_none() {
        return text.to_owned();
    }
    let head = cut_words(text, text.char_indices().nth(cap * 2 / 3).map_or(text.len(), |(at, _)| at));
    let tail = end_of(text, cap / 3);
    let tail = tail.split_once(char::is_whitespace).map_or(tail, |(_, tail)| tail);
    format!("{} [...] {}", head.trim_end(), tail.trim_start())
}

fn word(kind: PromptKind) -> &'static str {
    match kind {
        PromptKind::Typed => "typed",
        PromptKind::Steering => "steering",
        PromptKind::Refusal => "refusal",
        PromptKind::Approval => "approval",
        PromptKind::Answer => "answer",
        PromptKind::Memory => "memory",
        PromptKind::Compact => "compact",
    }
}

/// The day of a prompt; empty if it is not known.
pub fn day(said: &PersonPrompt) -> String {
    said.prompt.at.as_deref().and_then(WallTime::parse).map_or_else(String::new, WallTime::day)
}

/// A prompt in `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptRow {
    /// The text, shortened where it is long.
    pub text: String,
    /// `steering`, `refusal`, `approval`, `answer`, `memory` or `compact`; absent when it was typed as a
    /// prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The person stopped Claude before it had finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// When, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Images that came with it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub images: usize,
    /// What it may answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// What was selected in the person's editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<String>,
    /// The files of its images, if Claude named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_files: Vec<String>,
}

impl PromptRow {
    /// What it costs, in bytes.
    fn size(&self) -> usize {
        let beside = [&self.asked, &self.selected].into_iter().flatten().chain(&self.image_files);
        self.text.len() + beside.map(String::len).sum::<usize>() + ROW_BYTES
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl PromptRow {
    /// The prompt again.
    pub fn prompt(&self) -> TranscriptPrompt {
        let kind = match self.kind.as_deref() {
            Some("steering") => PromptKind::Steering,
            Some("refusal") => PromptKind::Refusal,
            Some("approval") => PromptKind::Approval,
            Some("answer") => PromptKind::Answer,
            Some("memory") => PromptKind::Memory,
            Some("compact") => PromptKind::Compact,
            _ => PromptKind::Typed,
        };
        let asked = self.asked.as_deref().map(|asked| cut_words(asked, ASKED_CAP).to_owned());
        TranscriptPrompt {
            text: cut_words(&self.text, REQUEST_BYTES).to_owned(),
            kind,
            interrupted: self.interrupted,
            images: self.images,
            at: self.at.as_deref().and_then(WallTime::parse).map(WallTime::rfc3339_s),
            asked,
            selected: self.selected.as_deref().map(|selected| cut_words(selected, 400).to_owned()),
            image_files: (self.image_files.iter().take(IMAGE_FILES))
                .map(|file| cut_words(file, 400).to_owned())
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::tests::capture;
    use super::*;

    fn prompt(text: &str) -> TranscriptPrompt {
        TranscriptPrompt { text: text.into(), ..TranscriptPrompt::default() }
    }

    #[test]
    fn prompts_are_whole_in_their_file_and_bounded_in_what_is_passed_on() {
        let mut of = capture("g");
        of.prompts.here = (0..1000).map(|n| prompt(&format!("request {n}"))).collect();
        of.prompts.here[0].text = "never touch prod.yaml, password=hunter22".into();
        of.prompts.here[998].text = "word ".repeat(10_000);
        of.prompts.here[999].text = "a long request. ".repeat(2000);
        of.prompts.before = vec![prompt("answer in German"), prompt("build it")];
        let words = Words::of(&of);
        assert_eq!(
            (words.prompts.len(), words.prompts[0].number, words.prompts[1001].number),
            (1002, Some(1000), None)
        );
        let file = words.prompts_file();
        assert!(
            file.contains("\n## in a conversation before\n\nbuild it\n")
                && file.contains("\n## prompt 500\n\nrequest 499\n")
        );
        assert!(file.contains(of.prompts.here[998].text.trim()), "whole");
        assert!(file.contains("never touch prod.yaml, password=[redacted: password]"));
        let rows = words.to_pass_on();
        assert!(rows[1..].iter().map(|row| row.text.len()).sum::<usize>() <= PASSED_BYTES);
        for kept in ["request 997", "never touch prod.yaml", "answer in German", "request 1", "request 900"] {
            assert!(rows.iter().any(|row| row.text.contains(kept)), "{kept}");
        }
        assert!(
            !rows.iter().any(|row| row.text == "request 101"),
            "of equally long ones the older goes first"
        );
        assert_eq!(rows[0].prompt().text, of.prompts.here[999].text.trim(), "the request is whole");
        assert!(rows[1].text.contains(" [...] ") && rows[1].text.len() < 6100);
        assert_eq!(rows[2].prompt().text, "request 997");
    }

    #[test]
    fn specifications_are_passed_on_at_length() {
        let specification =
            |name: &str| format!("{name}: {}", "a berth has a length in cm, never in feet; ".repeat(60));
        let mut of = capture("g");
        of.prompts.here = (0..60).map(|n| prompt(&format!("request {n}"))).collect();
        of.prompts.here[2].text = specification("first");
        of.prompts.here[30].text = specification("middle");
        of.prompts.here[59].text =
            "the newest request is longer than one line of a terminal, so that it stands alone".into();
        let rows = Words::of(&of).to_pass_on();
        for at in [2, 30] {
            assert!(rows.iter().any(|row| row.text == of.prompts.here[at].text.trim()), "{at}");
        }
        (10..50).for_each(|at| of.prompts.here[at].text = specification(&format!("other {at}")));
        let rows = Words::of(&of).to_pass_on();
        assert!(rows.iter().map(PromptRow::size).sum::<usize>() <= PASSED_BYTES + rows[0].size());
        assert!(
            rows.iter().any(|row| row.text == of.prompts.here[2].text.trim()) && rows.len() > 40,
            "{}",
            rows.len()
        );
    }

    #[test]
    fn between_the_ends_the_shortest_words_are_kept_first() {
        let mut of = capture("g");
        let task = |n| {
            format!(
                "rename helper{n} to something that says what it does, it is a leftover of the old roster"
            )
        };
        of.prompts.here = (0..100).map(|n| prompt(&task(n))).collect();
        for (at, text) in [
            (30, "Never push to origin from here, I do that myself, and not before the review is done."),
            (40, "you may push now, the key is read-write"),
            (50, "\u{5225}\u{52a8} config/prod.yaml"),
            (60, "ok"),
            (61, "ok"),
        ] {
            of.prompts.here[at].text = text.into();
        }
        of.prompts.here[70].text = format!("read it\n[pasted]\nnever{}\n[end of paste]", " more".repeat(30));
        let words = Words::of(&of);
        let all: Vec<usize> = (0..words.prompts.len()).collect();
        let order = by_worth(&all, &words.prompts, 6, |_| 0);
        let texts: Vec<&str> = order.iter().map(|at| words.prompts[*at].prompt.text.as_str()).collect();
        assert_eq!(texts.len(), all.len());
        assert!(texts[..12].iter().all(|text| text.starts_with("rename")));
        for (place, begin) in
            [(12, "you may push"), (13, "ok"), (14, "\u{5225}"), (15, "Never push"), (97, "rename")]
        {
            assert!(texts[place].starts_with(begin), "{place}: {}", texts[place]);
        }
        assert!(texts[texts.len() - 1].starts_with("read it"), "a rule in a paste is nobody's");
        assert_eq!(by_worth(&all[..8], &words.prompts, 6, |_| 0).len(), 8);
        let offered = |at: usize| if words.prompts[at].prompt.text == "ok" { 60 } else { 0 };
        let order = by_worth(&all, &words.prompts, 6, offered);
        assert!(words.prompts[order[14]].prompt.text.starts_with("Never"), "with its label \"ok\" is longer");
    }

    #[test]
    fn the_prompt_that_a_hand_over_stopped_is_told_once() {
        let mut of = capture("g");
        of.prompts.here = vec![prompt("B"), prompt("go on")];
        let asked = Some("A) granite\nB) slate".to_owned());
        of.prompts.before =
            vec![TranscriptPrompt { asked: asked.clone(), ..prompt("B") }, prompt("build it")];
        let words = Words::of(&of);
        let texts: Vec<&str> = words.prompts.iter().map(|said| &*said.prompt.text).collect();
        assert_eq!(texts, ["go on", "B", "build it"]);
        assert_eq!((&words.prompts[1].prompt.asked, words.prompts[1].times), (&asked, 1));
        let long = format!("{} end", "a berth has a length. ".repeat(600));
        of.prompts.here = vec![prompt(&long)];
        of.prompts.before = vec![prompt(&shorten(&long, PASSED_CHARS[0]))];
        assert_eq!(Words::of(&of).prompts.len(), 1);
    }

    #[test]
    fn the_same_words_in_a_row_are_told_once() {
        let mut of = capture("g");
        of.prompts.here = vec![prompt("a"), prompt("go on"), prompt("go on"), prompt(" ")];
        let words = Words::of(&of);
        assert_eq!(words.prompts.len(), 2);
        assert_eq!(labels(&words.prompts[0]), ["said 2 times in a row"]);
        let answer = TranscriptPrompt { kind: PromptKind::Answer, ..prompt("granite") };
        of.prompts.here = vec![answer.clone(), answer];
        assert_eq!(Words::of(&of).prompts.len(), 2, "answers to two questions");
        let image_files = vec!["/p/shot.png".to_owned()];
        of.prompts.here = vec![TranscriptPrompt { images: 1, image_files, ..prompt("this") }];
        let words = Words::of(&of);
        assert_eq!(labels(&words.prompts[0]), ["with an image: /p/shot.png"]);
        assert_eq!(words.to_pass_on()[0].prompt().image_files, ["/p/shot.png"]);
    }
}
