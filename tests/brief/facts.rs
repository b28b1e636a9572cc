//! What is looked for in a brief, without regard to its layout: texts, their order, and what a line says of
//! what it names.

use super::brief::{Brief, Outcome};

/// Something that holds of a brief or does not.
pub struct Fact {
    /// In the table.
    pub name: String,
    holds: Box<dyn Fn(&Outcome) -> bool + Send + Sync>,
}

impl Fact {
    fn new(name: String, holds: impl Fn(&Outcome) -> bool + Send + Sync + 'static) -> Fact {
        Fact { name, holds: Box::new(holds) }
    }

    fn last(name: String, holds: impl Fn(&Brief) -> bool + Send + Sync + 'static) -> Fact {
        Fact::new(name, move |outcome| holds(outcome.last()))
    }

    pub fn holds(&self, outcome: &Outcome) -> bool {
        (self.holds)(outcome)
    }
}

/// A text stands in the last brief.
impl From<&'static str> for Fact {
    fn from(text: &'static str) -> Fact {
        Fact::last(format!("{text:?}"), move |brief| brief.has(text))
    }
}

impl From<String> for Fact {
    fn from(text: String) -> Fact {
        Fact::last(format!("{text:?}"), move |brief| brief.has(&text))
    }
}

/// A text stands in the last brief, or in a file that it names.
pub fn reachable(text: impl Into<String>) -> Fact {
    let text = text.into();
    Fact::last(format!("reach {text:?}"), move |brief| brief.has(&text) || brief.in_named("", &text))
}

/// A text stands in a file with this ending that the last brief names.
pub fn in_file(ending: &'static str, text: &'static str) -> Fact {
    Fact::last(format!("{text:?} in a named *{ending}"), move |brief| brief.in_named(ending, text))
}

/// The last brief names a file with this ending that is there.
pub fn names_file(ending: &'static str) -> Fact {
    Fact::last(format!("path of *{ending}"), move |brief| {
        brief.named().iter().any(|path| path.ends_with(ending))
    })
}

/// The last brief names the transcript of the conversation before it.
pub fn names_transcript() -> Fact {
    Fact::last("path of the transcript".to_owned(), |brief| {
        let name = format!("{}.jsonl", brief.old);
        brief.named().iter().any(|path| path.ends_with(&name) || path.ends_with("transcript.jsonl.gz"))
    })
}

/// A prompt of hopty's own stands in the block as if it were the person's.
pub fn own_prompt() -> Fact {
    Fact::last("hopty's own prompt in the block".to_owned(), |brief| {
        brief.block.contains("Continue from handoff HO-")
    })
}

/// One of these texts.
pub fn any(texts: &'static [&'static str]) -> Fact {
    Fact::last(format!("one of {texts:?}"), move |brief| texts.iter().any(|text| brief.has(text)))
}

/// `text` is the newest request: it stands before all that is older.
pub fn newest(text: &'static str, older: &'static [&'static str]) -> Fact {
    Fact::last(format!("newest request: {text:?}"), move |brief| {
        let at = brief.find(text);
        at.is_some() && older.iter().all(|old| brief.find(old).is_none_or(|old| Some(old) > at))
    })
}

/// Both texts, in this order.
pub fn before(first: &'static str, second: &'static str) -> Fact {
    Fact::last(format!("{first:?} before {second:?}"), move |brief| {
        match (brief.find(first), brief.find(second)) {
            (Some(first), Some(second)) => first < second,
            _ => false,
        }
    })
}

/// The first text where the second is not, or stands after it.
pub fn leads(first: &'static str, second: &'static str) -> Fact {
    Fact::last(format!("{first:?} leads {second:?}"), move |brief| {
        match (brief.find(first), brief.find(second)) {
            (Some(first), Some(second)) => first < second,
            (first, _) => first.is_some(),
        }
    })
}

/// A line that is `line` and no more stands before `text`, or `text` is missing.
pub fn line_leads(line: &'static str, text: &'static str) -> Fact {
    Fact::last(format!("line {line:?} leads {text:?}"), move |brief| {
        let mut lines = brief.lines();
        let ours = lines.clone().position(|now| bare(now) == line);
        let text = lines.position(|now| now.contains(text));
        ours.is_some_and(|ours| text.is_none_or(|text| ours < text))
    })
}

/// A line without what a list or a quotation puts before it.
fn bare(line: &str) -> &str {
    let line = line.trim().trim_start_matches("PERSON:").trim();
    line.trim_start_matches(|c: char| c.is_ascii_digit() || " >-*.:#|".contains(c)).trim_matches(['"', ' '])
}

/// `sign`, in any case, within two hundred characters of `text`.
pub fn near(text: &'static str, signs: &'static [&'static str]) -> Fact {
    Fact::last(format!("{text:?} near one of {signs:?}"), move |brief| brief.near(text, signs))
}

/// Of the options of a question the first was chosen: it stands more often than another one.
pub fn chosen(option: &'static str, other: &'static str) -> Fact {
    Fact::last(format!("chosen: {option:?}"), move |brief| {
        let times = |text| brief.flat().matches(text).count();
        times(option) > times(other)
    })
}

/// The brief says that an answer of the person's is awaited.
pub fn awaited() -> Fact {
    Fact::last("an answer is awaited".to_owned(), says_awaited)
}

fn says_awaited(brief: &Brief) -> bool {
    const SIGNS: [&str; 10] = [
        "not answered", "not yet answered", "awaits", "awaited", "awaiting", "waiting for an answer",
        "waiting for the answer", "waits for the answer", "waits for an answer", "unanswered",
    ];
    let text = brief.flat().to_lowercase();
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// A text stands more than once.
pub fn twice(text: &'static str) -> Fact {
    Fact::last(format!("{text:?} twice"), move |brief| brief.flat().matches(text).count() > 1)
}

/// A file of the project is named by its whole path.
pub fn absolute(path: &'static str) -> Fact {
    Fact::last(format!("absolute {path:?}"), move |brief| {
        brief.flat().contains(&format!("{}/{path}", brief.project.display()))
    })
}

/// A to-do is told as open: by a word before it on its line, right behind it, or above the list in which it
/// stands.
pub fn open_todo(subject: &'static str) -> Fact {
    Fact::last(format!("open: {subject:?}"), move |brief| {
        let mut head = String::new();
        brief.lines().any(|line| {
            let Some(at) = line.find(subject) else {
                if line.starts_with('#') || line.trim_end().ends_with(':') {
                    head = line.to_lowercase();
                }
                return false;
            };
            let (ahead, behind) = (line[..at].to_lowercase(), line[at + subject.len()..].to_lowercase());
            let behind: String = behind.chars().take(16).collect();
            told_open(&ahead).or_else(|| told_open(&behind)).or_else(|| told_open(&head)).unwrap_or(false)
        })
    })
}

/// Whether the last word about it says that something is open, or done; `None` where no word does.
fn told_open(text: &str) -> Option<bool> {
    const OPEN: [&str; 12] = [
        "pending", "in_progress", "in progress", "finish:", "then:", "[ ]", "to do", "to-do", "todo", "next",
        "open", "begun",
    ];
    const DONE: [&str; 6] = ["done", "finished", "completed", "[x]", "✓", "✔"];
    let last = |signs: &[&str]| signs.iter().filter_map(|sign| text.rfind(sign)).max();
    match (last(&OPEN), last(&DONE)) {
        (None, None) => None,
        (open, done) => Some(open > done),
    }
}

/// What a line says of a check that it names.
fn claims(brief: &Brief, check: &str, signs: &[&str]) -> usize {
    let says =
        |line: &&str| line.contains(check) && signs.iter().any(|sign| line.to_lowercase().contains(sign));
    brief.lines().filter(says).count()
}

/// Words that take a "passed" back, or leave it open.
const DOUBTS: [&str; 15] = [
    "fail", "unknown", "not known", "unclear", "cannot", "0 tests", "no tests", "zero tests", "ran 0",
    "before", "since", "stale", "older", "outdated", "not passed",
];

/// A line says that a check passed, without any doubt.
pub fn claimed_passed(check: &'static str) -> Fact {
    Fact::last(format!("passed: {check:?}"), move |brief| {
        brief.lines().any(|line| {
            let low = line.to_lowercase();
            let passed = ["passed", "-> ok", "succeeded", "✓", "green"].iter().any(|sign| low.contains(sign));
            line.contains(check) && passed && !DOUBTS.iter().any(|doubt| low.contains(doubt))
        })
    })
}

/// More than one line says how a check ended.
pub fn claimed_twice(check: &'static str) -> Fact {
    Fact::last(format!("two outcomes: {check:?}"), move |brief| claims(brief, check, &["pass", "fail"]) > 1)
}

/// A line says that a check failed.
pub fn claimed_failed(check: &'static str) -> Fact {
    Fact::last(format!("failed: {check:?}"), move |brief| claims(brief, check, &["fail"]) > 0)
}

/// A heading that nobody but the brief itself may write stands outside of every fence and quotation.
pub fn heading(text: &'static str) -> Fact {
    Fact::last(format!("heading {text:?}"), move |brief| {
        let mut fence: Option<usize> = None;
        brief.lines().any(|line| {
            let ticks = line.chars().take_while(|c| *c == '`').count();
            match fence {
                None if ticks >= 3 => fence = Some(ticks),
                Some(open) if ticks >= open && line.trim_end().len() == ticks => fence = None,
                _ => {}
            }
            fence.is_none() && line.trim_end() == text
        })
    })
}

/// The brief ends more than once, not as it began, or not at its end.
pub fn broken_frame() -> Fact {
    Fact::last("a frame that ends once".to_owned(), |brief| {
        let ends = brief.lines().filter(|line| line.starts_with("=== END HANDOFF")).count();
        let word =
            |line: Option<&str>| line.and_then(|line| line.split_whitespace().next_back()).map(str::to_owned);
        ends != 1 || word(brief.block.lines().next()) != word(brief.block.lines().next_back())
    })
}

/// A text reached the new conversation, in the brief or later.
pub fn delivered(text: &'static str) -> Fact {
    Fact::new(format!("{text:?} in the brief or later"), move |outcome| {
        outcome.last().has(text) || outcome.later.contains(text)
    })
}

/// A text stands in the brief, or in the prompt box after the hand-over.
pub fn kept_draft(text: &'static str) -> Fact {
    Fact::new(format!("{text:?} in the brief or in the box"), move |outcome| {
        outcome.last().has(text) || outcome.screen.contains(text)
    })
}

/// The last brief is longer than Claude is to be told, in UTF-16 units.
pub fn too_long() -> Fact {
    Fact::last("over 9500 units".to_owned(), |brief| brief.block.encode_utf16().count() > 9500)
}

/// The last brief is no longer than the first and a tenth.
pub fn does_not_grow() -> Fact {
    Fact::new("not longer than the first".to_owned(), |outcome| {
        let units = |brief: &Brief| brief.block.encode_utf16().count();
        units(outcome.last()) * 10 <= units(&outcome.briefs[0]) * 11
    })
}

/// A text stands in every brief.
pub fn in_every(text: &'static str) -> Fact {
    Fact::new(format!("{text:?} in every brief"), move |outcome| {
        outcome.briefs.iter().all(|brief| brief.has(text))
    })
}
