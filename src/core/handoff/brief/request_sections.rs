//! What the person wants: the current request and what was said about it since, then everything before,
//! newest first.

use super::fill::BriefPart;
use super::places::BriefFiles;
use super::truncation::{Passage, Quote};
use crate::core::handoff::capture::Capture;
use crate::core::handoff::requests::{asks, is_standing, sets_work};
use crate::core::handoff::safe_prompts::{PersonPrompt, Words, labels, shorten};
use crate::core::handoff::text::{cut_chars, safe_line};

/// How many prompts since the one that set work stand with it.
const SINCE: usize = 8;
/// How many earlier prompts are candidates, beside those that hold for all that follows.
const EARLIER: usize = 60;
/// How many that hold for all that follows are candidates.
const STANDING: usize = 20;
/// The newest of the earlier ones come before those.
const NEWEST: usize = 6;
/// How many prompts of the conversations before are told, of those that hold for all work and of the others.
const BEFORE: usize = 8;

/// The sections of the person's words.
pub(super) fn parts(capture: &Capture, words: &Words, places: &BriefFiles, request: usize) -> Vec<BriefPart> {
    let all = &words.prompts;
    let current = all.iter().position(|said| sets_work(&said.prompt)).unwrap_or(0);
    // The newest words, and the request that they are about; what was said between them counts as earlier
    // where it is much.
    let mut group: Vec<usize> = (0..=current.min(SINCE)).filter(|at| *at < all.len()).collect();
    if current > SINCE {
        group.push(current);
    }
    let quotes: Vec<Quote> =
        group.iter().map(|at| quote(&all[*at], *at == 0, capture, words, places)).collect();
    let mut order: Vec<usize> = (0..quotes.len()).collect();
    // The newest, then the one that set work.
    if let Some(last) = order.pop().filter(|last| *last > 0) {
        order.insert(1, last);
    } else if !quotes.is_empty() {
        order = vec![0];
    }
    let above = match quotes.len() {
        0 | 1 => "The newest words of the person:\n",
        _ => "The newest words of the person first, down to the prompt that set the work:\n",
    };
    let all_in = places.prompts();
    vec![
        BriefPart {
            title: "Request",
            floor: 1500,
            ideal: request.max(300),
            passage: Passage::Quotes { above: above.to_owned(), quotes, order, all_in: all_in.clone() },
        },
        earlier(all, &group, words, all_in.clone()),
        before(all, &group, all_in),
    ]
}

/// What was said in the conversations before, a line each: what holds for all work, then the newest.
fn before(all: &[PersonPrompt], group: &[usize], more_in: String) -> BriefPart {
    let rest = (0..all.len())
        .filter(|at| !group.contains(at))
        .map(|at| &all[at])
        .filter(|said| said.number.is_none());
    let (standing, others): (Vec<&PersonPrompt>, Vec<&PersonPrompt>) =
        rest.partition(|said| is_standing(&said.prompt.text));
    let line = |said: &&PersonPrompt, cap| format!("- {}", shorten(&safe_line(&said.prompt.text), cap));
    let standing = standing.iter().take(BEFORE).map(|said| line(said, 300));
    let lines = standing.chain(others.iter().take(BEFORE).map(|said| line(said, 140))).collect();
    let title = "Requests before this conversation (what holds for all work still holds)";
    BriefPart { title, floor: 400, ideal: 1000, passage: Passage::Lines { lines, more_in } }
}

fn earlier(all: &[PersonPrompt], group: &[usize], words: &Words, all_in: String) -> BriefPart {
    let rest: Vec<usize> =
        (0..all.len()).filter(|at| !group.contains(at) && all[*at].number.is_some()).collect();
    let standing: Vec<usize> =
        rest.iter().copied().filter(|at| is_standing(&all[*at].prompt.text)).take(STANDING).collect();
    let first = rest.last().copied();
    let mut chosen: Vec<usize> =
        rest.iter().copied().take(EARLIER).chain(standing.iter().copied()).chain(first).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let left_out = rest.len() - chosen.len();
    let at_of = |at: &usize| chosen.binary_search(at).ok();
    let mut order: Vec<usize> = Vec::new();
    for at in rest.iter().take(NEWEST).chain(&standing).chain(&first).chain(&chosen).filter_map(at_of) {
        if !order.contains(&at) {
            order.push(at);
        }
    }
    let quotes: Vec<Quote> = chosen
        .iter()
        .map(|at| {
            let said = &all[*at];
            let mut label = labels(said);
            label.extend(about(said));
            Quote { label: label.join(", "), text: said.prompt.text.clone(), whole_in: all_in.clone() }
        })
        .collect();
    let above = match (left_out, words.dropped) {
        (0, 0) => {
            "Newest first. What holds for all work still holds; the rest is background and may be done.\n"
                .to_owned()
        }
        (more, 0) => format!(
            "Newest first; {more} more are in {all_in}. What holds for all work still holds; the rest is \
             background and may be done.\n"
        ),
        (more, dropped) => format!(
            "Newest first; {more} more are in {all_in}, and {dropped} only in the transcript. What holds for \
             all work still holds; the rest \
             is background and may be done.\n"
        ),
    };
    BriefPart {
        title: "Earlier requests",
        floor: 1200,
        ideal: 3500,
        passage: Passage::Quotes { above, quotes, order, all_in },
    }
}

/// One prompt of the current request.
fn quote(said: &PersonPrompt, newest: bool, capture: &Capture, words: &Words, places: &BriefFiles) -> Quote {
    let mut label = labels(said);
    if said.number.is_none() {
        label.insert(0, "in the conversation before".to_owned());
    }
    if newest && capture.unanswered && said.number.is_some() && !said.prompt.interrupted {
        label.push("not answered yet: this is what to do now".to_owned());
    }
    let is_last =
        said.prompt.asked.as_deref().is_some_and(|asked| words.last_answer.ends_with(asked.trim_end()));
    match is_last && newest {
        true => label.push("after your last words".to_owned()),
        false => label.extend(about(said)),
    }
    let mut text = said.prompt.text.clone();
    if text.is_empty() {
        text = "(no text)".to_owned();
    }
    Quote { label: label.join(", "), text, whole_in: places.prompts() }
}

/// What a short prompt may answer: the question, or the call that was refused.
fn about(said: &PersonPrompt) -> Option<String> {
    let asked = said.prompt.asked.as_deref().filter(|asked| asks(asked) || asked.starts_with('('))?;
    Some(format!("after your words \"{}\"", question(asked)))
}

/// The end of what Claude had asked, on one line.
fn question(asked: &str) -> String {
    let line = safe_line(asked);
    let count = line.chars().count();
    let end: String = line.chars().skip(count.saturating_sub(240)).collect();
    let end = if count > 240 {
        end.split_once(' ').map_or(end.clone(), |(_, rest)| format!("...{rest}"))
    } else {
        end
    };
    cut_chars(&end, 260)
}
