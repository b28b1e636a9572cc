//! The kinds of text in a brief, and how each is cut: quotes and texts by their middle, lists by their end.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::current_request::is_standing;
use super::super::document::Fence;
use super::super::pasted_text::{has_paste, own_words, with_short_pastes};
use super::super::repeated_lines::{folded, form};
use super::brief_files::PROMPTS_FILE;
use crate::core::text::safe_text::{cut_bytes, cut_units, end_units, fenced, units};

/// The longest fence, its newline, and a newline for a line that was cut, in UTF-16 units.
const FENCE_ROOM: usize = 15;
/// How near a line's border must be for a cut to fall on it, in UTF-16 units.
const NEAR: usize = 200;
/// The longest sentence that is kept for what it prohibits or demands, in UTF-16 units.
const SENTENCE: usize = 300;
/// From this much room on the shortest sentences of a cut prompt are shown as well, in UTF-16 units.
const ROOMY: usize = 1000;
/// How much of a prompt is searched for such sentences, in bytes.
const SEARCHED: usize = 64 << 10;
/// Of a longer table the first rows are shown when there is no room for the whole text.
const TABLE_ROWS: usize = 6;
/// The least that is worth to be kept of each line, in UTF-16 units.
const LEAST_LINE: usize = 100;
/// A prompt keeps this much when there is too little room for all, in UTF-16 units.
const SHORT: usize = 240;

/// The same of a prompt that prohibits or demands something, in UTF-16 units.
const WITH_RULES: usize = 1000;

/// One prompt of the person, as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Quote {
    /// What is to be known of it, on a line of its own; may be empty.
    pub label: String,
    /// The person's words, safe.
    pub text: String,
    /// The day on which it was said; empty when it is not known.
    pub day: String,
    /// The prompt that set the current work.
    pub sets_work: bool,
}

impl Quote {
    /// What it takes, in UTF-16 units.
    pub fn whole(&self) -> usize {
        units(&quoted(&self.label, &self.text))
    }

    /// Whether it is cut where there is too little room for all.
    fn is_long(&self) -> bool {
        self.whole() > SHORT + units(&self.label)
    }

    /// What it takes at least where all are shown, in UTF-16 units.
    pub fn least(&self) -> usize {
        self.whole().min(SHORT + units(&self.label))
    }
}

/// What is kept of a text that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextCut {
    /// At most so much of its beginning, in UTF-16 units; the rest of the room is its end's.
    Ends(usize),
    /// Its beginning alone.
    Beginning,
    /// The beginning of each of its lines, because each may be meant; else as [`TextCut::Beginning`].
    Lines,
}

/// What a part says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// Prompts, the most important of them first in `order` (indices), shown in the order of the list.
    Quotes {
        /// What stands above them.
        above: String,
        /// The prompts.
        quotes: Vec<Quote>,
        /// Which come first when there is no room for all.
        order: Vec<usize>,
        /// The day of the brief: another one is told.
        today: String,
    },
    /// A text in a fence.
    Text {
        /// What stands above it.
        above: String,
        /// The text, safe.
        text: String,
        /// What of it is kept where there is no room for all.
        cut: TextCut,
        /// The file that has it whole.
        whole_in: &'static str,
        /// What stands below it.
        below: String,
    },
    /// A list, the most important line first.
    Lines {
        /// The lines, safe, without a newline.
        lines: Vec<String>,
        /// The same lines with more in each, for where there is room, each time with more than before.
        longer: Vec<Vec<String>>,
        /// The file that has more.
        more_in: &'static str,
    },
    /// Markdown with fences.
    Markdown {
        /// The text, safe.
        text: String,
        /// The end of a fence matters most.
        keep_end: bool,
    },
}

impl Passage {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        match self {
            Passage::Quotes { quotes, .. } => quotes.is_empty(),
            Passage::Text { text, .. } | Passage::Markdown { text, .. } => text.trim().is_empty(),
            Passage::Lines { lines, .. } => lines.is_empty(),
        }
    }

    /// All of it.
    pub fn whole(&self) -> String {
        match self {
            Passage::Quotes { above, quotes, today, .. } => {
                let shown = quotes.iter().map(|quote| (quote, quoted(&quote.label, &quote.text)));
                with_days(above, today, usize::MAX, shown).trim_end().to_owned() + "\n"
            }
            Passage::Text { above, text, below, .. } => format!("{above}{}{below}", fenced(text)),
            Passage::Lines { lines, longer, .. } => {
                longer.last().unwrap_or(lines).iter().map(|line| format!("{line}\n")).collect()
            }
            Passage::Markdown { text, .. } => {
                if text.ends_with('\n') {
                    text.clone()
                } else {
                    format!("{text}\n")
                }
            }
        }
    }

    /// As much of it as fits into `room` UTF-16 units; empty when nothing does.
    pub fn fit(&self, room: usize) -> String {
        let whole = self.whole();
        if units(&whole) <= room {
            return whole;
        }
        match self {
            Passage::Quotes { above, quotes, order, today } => {
                fit_quotes([above, today], quotes, order, room)
            }
            Passage::Text { above, text, cut, whole_in, below } => {
                fit_text([above, text, whole_in, below], *cut, room)
            }
            Passage::Lines { lines, longer, more_in } => fit_lines(lines, longer, more_in, room),
            Passage::Markdown { text, keep_end } => fit_markdown(text, *keep_end, room),
        }
    }
}

/// A prompt with `> ` before each of its lines.
fn quoted(label: &str, text: &str) -> String {
    let mut out = if label.is_empty() { String::new() } else { format!("({label})\n") };
    for line in text.lines() {
        out.push_str("> ");
        out.push_str(line);
        out.push('\n');
    }
    // Two prompts of one line each must not read as one of two.
    out.push('\n');
    out
}

/// A prompt in at most `room` units: what was pasted is cut first; then its beginning and its end are shown,
/// between them what the person prohibits or demands.
fn shortened(quote: &Quote, room: usize) -> Option<String> {
    let label = if quote.label.is_empty() { 0 } else { units(&quote.label) + 3 };
    let text = &*with_short_pastes(&quote.text, room.saturating_sub(label + 1));
    let whole = quoted(&quote.label, text);
    if units(&whole) <= room {
        return Some(whole);
    }
    let text = short_tables(text);
    let text = &*folded(&text);
    let whole = quoted(&quote.label, text);
    if units(&whole) <= room {
        return Some(whole);
    }
    let mark = |left: usize| format!("> [... {left} characters left out]\n");
    let rest = room.checked_sub(units(&mark(quote.text.len())) + units(&quote.label) + 12)?;
    if rest < 40 {
        return None;
    }
    // Each line costs two units more, and is counted when it is taken.
    let take = |text: &str, budget: usize, from_end: bool| -> String {
        let mut parts: Vec<&str> = Vec::new();
        let mut left = budget;
        let lines: Vec<&str> = text.lines().collect();
        let ordered: Box<dyn Iterator<Item = &&str>> =
            if from_end { Box::new(lines.iter().rev()) } else { Box::new(lines.iter()) };
        for line in ordered {
            let cost = units(line) + 3;
            if cost <= left {
                parts.push(line);
                left -= cost;
                continue;
            }
            if left > 20 {
                parts.push(if from_end {
                    end_at_word(line, left - 6)
                } else {
                    start_at_word(line, left - 6)
                });
            }
            break;
        }
        if from_end {
            parts.reverse();
        }
        parts.iter().map(|line| format!("> {line}\n")).collect()
    };
    let ends = |rest: usize| {
        let head = take(text, rest * 3 / 5, false);
        let tail = take(text, rest.saturating_sub(units(&head)), true);
        (head, tail)
    };
    let (mut head, mut tail) = ends(rest);
    let line = |sentence: &str| format!("> [...] {sentence}\n");
    let own = own_words(text);
    let all: Vec<&str> = sentences(cut_bytes(&own, SEARCHED)).collect();
    let is_shown = |sentence: &str| head.contains(sentence) || tail.contains(sentence);
    let mut kept: Vec<usize> = Vec::new();
    let mut used = 0;
    let mut keep = |at: usize, room: usize, kept: &mut Vec<usize>| {
        let cost = units(all[at]) + "> [...] \n".len();
        if cost <= SENTENCE && used + cost <= room && !is_shown(all[at]) {
            used += cost;
            kept.push(at);
        }
    };
    (0..all.len()).filter(|at| is_standing(all[*at])).for_each(|at| keep(at, rest / 2, &mut kept));
    if rest >= ROOMY {
        for at in short_ones(&all) {
            if !kept.contains(&at) {
                keep(at, rest / 4, &mut kept);
            }
        }
    }
    kept.sort_unstable();
    let between: String = kept.iter().map(|at| line(all[*at])).collect();
    if !between.is_empty() {
        (head, tail) = ends(rest - units(&between));
    }
    let shown = [&head, &between, &tail].map(|part| part.chars().count()).iter().sum();
    let left = quote.text.chars().count().saturating_sub(shown).max(1);
    let label = if quote.label.is_empty() { String::new() } else { format!("({})\n", quote.label) };
    let text = format!("{label}{head}{}{between}{tail}\n", mark(left));
    (units(&text) <= room).then_some(text)
}

/// Sentences that say something of their own, the shortest first: rules are short in every language, and
/// what is said in one form again and again is no rule.
fn short_ones(all: &[&str]) -> Vec<usize> {
    let mut forms: HashMap<String, usize> = HashMap::new();
    all.iter().for_each(|sentence| *forms.entry(form(sentence)).or_default() += 1);
    let mut short: Vec<usize> =
        (0..all.len()).filter(|at| is_prose(all[*at]) && forms[&form(all[*at])] == 1).collect();
    short.sort_by_key(|at| units(all[*at]));
    short
}

/// Whether a text is made of words: no code, no rule of a table, no heading of one word.
fn is_prose(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let signs = text
        .chars()
        .filter(|c| c.is_ascii_punctuation() && !matches!(c, '.' | ',' | '\'' | '!' | '?'))
        .count();
    let words =
        text.split_whitespace().count() > 1 || text.chars().any(|c| !c.is_ascii() && c.is_alphabetic());
    words && letters >= 4 && !text.starts_with('[') && signs * 8 <= letters
}

/// The sentences of a text: a full stop, question or exclamation mark that a blank follows ends one.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |line: &str| {
        let end = |(at, c): (usize, char)| {
            let behind = at + c.len_utf8();
            let is_end = matches!(c, '\u{3002}' | '\u{ff01}' | '\u{ff1f}')
                || matches!(c, '.' | '!' | '?' | ';') && line[behind..].starts_with(' ');
            is_end.then_some(behind)
        };
        line.char_indices().find_map(end)
    };
    text.lines()
        .flat_map(move |line| {
            let mut rest = line;
            std::iter::from_fn(move || {
                let (sentence, behind) = rest.split_at(ends(rest).unwrap_or(rest.len()));
                rest = behind;
                (!sentence.is_empty()).then_some(sentence.trim())
            })
        })
        .filter(|sentence| !sentence.is_empty())
}

fn start_at_word(line: &str, room: usize) -> &str {
    let cut = cut_units(line, room);
    cut.rfind(char::is_whitespace).map_or(cut, |at| &cut[..at])
}

fn end_at_word(line: &str, room: usize) -> &str {
    let cut = end_units(line, room);
    cut.find(char::is_whitespace).map_or(cut, |at| cut[at..].trim_start())
}

/// Prompts in their order, each day but `today` above the first one that was said on it, at most `days`
/// times.
fn with_days<'a>(
    above: &str,
    today: &str,
    days: usize,
    shown: impl Iterator<Item = (&'a Quote, String)>,
) -> String {
    let mut out = above.to_owned();
    let (mut day, mut told) = (today, 0);
    for (quote, text) in shown {
        if !quote.day.is_empty() && quote.day != day && told < days {
            out.push_str(&day_line(&quote.day));
            (day, told) = (&quote.day, told + 1);
        }
        out.push_str(&text);
    }
    out
}

fn day_line(day: &str) -> String {
    format!("On {day}:\n")
}

fn fit_quotes([above, today]: [&str; 2], quotes: &[Quote], order: &[usize], room: usize) -> String {
    let more = |count: usize| format!("and {count} more, in {PROMPTS_FILE}\n");
    let Some(mut left) = room.checked_sub(units(above) + units(&more(quotes.len()))) else {
        return String::new();
    };
    let mut shown: Vec<Option<String>> = vec![None; quotes.len()];
    // First everybody's short form, the most important first; then as much more as there is room for. Where
    // the person laid down rules the short form is longer.
    let mut days: Vec<&str> = Vec::new();
    let mut for_rules = room / 3;
    // Which quote shows a sentence: the others leave it out first. The first one with what many say shows it
    // whole.
    let mut said: HashMap<String, usize> = HashMap::new();
    let mut times: HashMap<&str, usize> = HashMap::new();
    let texts = quotes.iter().filter(|quote| quote.is_long()).map(|quote| cut_bytes(&quote.text, SEARCHED));
    texts.flat_map(clauses).filter(is_double_worthy).for_each(|one| *times.entry(one).or_default() += 1);
    let mut for_shared = room / 4;
    for &at in order {
        let quote = without_doubles(&quotes[at], at, &said);
        let (Quote { label, text, .. }, day) = (&*quote, &quotes[at].day);
        let is_other = !day.is_empty() && day != today && !days.contains(&day.as_str());
        let line = if is_other { units(&day_line(day)) } else { 0 };
        let own = own_words(text);
        let mut short = SHORT + units(label);
        if sentences(cut_bytes(&own, SEARCHED)).any(is_standing) {
            let longer = (units(&own) + units(label)).min(WITH_RULES).saturating_sub(short).min(for_rules);
            for_rules -= longer;
            short += longer;
        }
        let is_shared =
            |one: &str| times.get(one).is_some_and(|times| *times >= MANY) && !said.contains_key(one);
        if clauses(cut_bytes(text, SEARCHED)).any(is_shared) {
            let longer = quote.whole().min(WITH_RULES).saturating_sub(short).min(for_shared);
            for_shared -= longer;
            short += longer;
        }
        let Some(text) = shortened(&quote, short.min(left.saturating_sub(line))) else { continue };
        left -= units(&text) + line;
        note_sentences(&text, at, &mut said);
        days.extend(is_other.then_some(day.as_str()));
        shown[at] = Some(text);
    }
    // The prompt that set the work grows first, and leaves the others a third; nobody's paste grows before
    // everybody's own words.
    let is_first = |at: &&usize| quotes[**at].sets_work;
    let first = order.iter().filter(is_first).chain(order.iter().filter(|at| !is_first(at)));
    let first: Vec<usize> = first.copied().collect();
    for own_only in [true, false] {
        for &at in &first {
            let Some(text) = &mut shown[at] else { continue };
            let had = units(text);
            let quote = without_doubles(&quotes[at], at, &said);
            let Quote { label, text: words, .. } = &*quote;
            let room = match own_only {
                true => units(&quoted(label, &with_short_pastes(words, 0))).min(had + left * 2 / 3),
                false => had + left,
            };
            if let Some(longer) = shortened(&quote, room).filter(|longer| units(longer) > had) {
                left -= units(&longer) - had;
                note_sentences(&longer, at, &mut said);
                *text = longer;
            }
        }
    }
    let missing = shown.iter().filter(|text| text.is_none()).count();
    if missing == quotes.len() {
        return String::new();
    }
    let told = quotes.iter().zip(shown).filter_map(|(quote, text)| Some((quote, text?)));
    let mut out = with_days(above, today, days.len(), told);
    if missing > 0 {
        out.push_str(&more(missing));
    }
    out.trim_end().to_owned() + "\n"
}

/// The shortest sentence that is left out because another quote shows it, in UTF-16 units.
const DOUBLE: usize = 40;
/// What so many quotes say is shown by the first of them.
const MANY: usize = 3;
/// What stands for such sentences.
const AS_ELSEWHERE: &str = "[... as in another prompt here]";

/// The sentences of a text, and of one with a colon what stands before and behind it: "screen 7: it shows".
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    sentences(text).flat_map(|sentence| {
        let colon = sentence.find(": ").map_or(0, |at| at + 1);
        let (head, rest) = sentence.split_at(if units(sentence) > colon + DOUBLE { colon } else { 0 });
        [head, rest.trim_start()].into_iter().filter(|part| !part.is_empty())
    })
}

/// Whether a sentence is left out where another quote shows it: a line of a log is none.
fn is_double_worthy(sentence: &&str) -> bool {
    units(sentence) >= DOUBLE && is_prose(sentence)
}

/// A prompt without the sentences that another quote shows word for word.
fn without_doubles<'a>(quote: &'a Quote, at: usize, said: &HashMap<String, usize>) -> Cow<'a, Quote> {
    let is_double = |sentence: &str| said.get(sentence).is_some_and(|other| *other != at);
    if !quote.is_long() || has_paste(&quote.text) || !clauses(&quote.text).any(is_double) {
        return Cow::Borrowed(quote);
    }
    let mut lines: Vec<String> = Vec::new();
    for line in quote.text.lines() {
        let mut parts: Vec<&str> =
            clauses(line).map(|one| if is_double(one) { AS_ELSEWHERE } else { one }).collect();
        parts.dedup();
        let line = parts.join(" ");
        if line != AS_ELSEWHERE || lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    Cow::Owned(Quote { text: lines.join("\n"), ..quote.clone() })
}

/// Notes the sentences that a quote shows whole.
fn note_sentences(shown: &str, at: usize, said: &mut HashMap<String, usize>) {
    let lines = shown.lines().map(|line| line.strip_prefix("> ").unwrap_or(line));
    let lines = lines.map(|line| line.strip_prefix("[...] ").unwrap_or(line));
    for sentence in lines.flat_map(clauses).filter(is_double_worthy) {
        said.entry(sentence.to_owned()).or_insert(at);
    }
}

fn fit_text([above, text, whole_in, below]: [&str; 4], cut: TextCut, room: usize) -> String {
    let mark = format!("(shortened; whole in {whole_in})\n");
    let taken = units(above) + units(below) + units(&mark) + 2 * FENCE_ROOM + "text\n".len();
    let Some(room) = room.checked_sub(taken).filter(|room| *room >= 80) else { return String::new() };
    // Fencing may lengthen nothing but the fence, and shortens long runs of back-ticks.
    let text = short_tables(text);
    let body = match cut {
        _ if units(&text) <= room => text,
        TextCut::Ends(head) => ends(&text, head, room),
        TextCut::Beginning => ends(&text, usize::MAX, room),
        TextCut::Lines => line_beginnings(&text, room).unwrap_or_else(|| ends(&text, usize::MAX, room)),
    };
    format!("{above}{mark}{}{below}", fenced(&body))
}

/// The beginning of each line of a text, as much of each as there is room for in all, in UTF-16 units; `None`
/// where that is too little.
fn line_beginnings(text: &str, room: usize) -> Option<String> {
    const CUT: &str = " [...]";
    let at = |cap: usize| -> String {
        let cut = |line: &str| match units(line) <= cap {
            true => line.to_owned(),
            false => format!("{}{CUT}", start_at_word(line, cap - CUT.len())),
        };
        text.lines().map(cut).collect::<Vec<_>>().join("\n")
    };
    let caps = std::iter::successors(Some(room), |cap| Some(cap * 3 / 4));
    caps.take_while(|cap| *cap >= LEAST_LINE).map(at).find(|text| units(text) <= room)
}

/// The text with the first rows of its long tables.
fn short_tables(text: &str) -> String {
    let is_row = |line: &&str| line.trim_start().starts_with('|');
    let lines: Vec<&str> = text.lines().collect();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < lines.len() {
        let rows = lines[at..].iter().take_while(|line| is_row(line)).count();
        let shown = if rows > TABLE_ROWS { TABLE_ROWS - 1 } else { rows.max(1) };
        out.extend(lines[at..at + shown].iter().map(|line| (*line).to_owned()));
        if rows > shown {
            out.push(format!("[... {} rows left out ...]", rows - shown));
        }
        at += rows.max(1);
    }
    out.join("\n")
}

/// The beginning of a text, at most `head` and a third of `room`, and its end, together at most `room` UTF-16
/// units; the beginning alone where it may have all.
fn ends(text: &str, head: usize, room: usize) -> String {
    const CUT: &str = "\n[...] ";
    let room = room.saturating_sub(CUT.len());
    let head = if head >= room { room } else { head.min(room / 3) };
    let cut = cut_units(text, head);
    let border = cut
        .rfind("\n\n")
        .filter(|at| *at >= cut.len() / 2)
        .or_else(|| cut.rfind('\n').filter(|at| units(&cut[*at..]) < NEAR))
        .or_else(|| cut.rfind(char::is_whitespace));
    let first = cut[..border.unwrap_or(0)].trim_end();
    if head == room {
        return format!("{first}\n[...]");
    }
    let mut last = end_units(text, room - units(first));
    last = match last.find('\n').filter(|at| units(&last[..*at]) < NEAR) {
        Some(at) => &last[at + 1..],
        None => last.split_once(char::is_whitespace).map_or(last, |(_, rest)| rest),
    };
    format!("{first}{}{last}", if first.is_empty() { "[...] " } else { CUT })
}

/// As many of the lines as there is room for, and then as many of them as can be longer, in their order.
fn fit_lines(lines: &[String], longer: &[Vec<String>], more_in: &str, room: usize) -> String {
    let more = |count: usize| format!("- and {count} more, in {more_in}\n");
    let Some(mut left) = room.checked_sub(units(&more(lines.len()))) else { return String::new() };
    let mut taken: Vec<Option<&String>> = Vec::new();
    for line in lines {
        // A long line must not keep a short one out.
        let fits = units(line) < left;
        left -= if fits { units(line) + 1 } else { 0 };
        taken.push(fits.then_some(line));
    }
    for (line, longer) in longer.iter().flat_map(|longer| (0..).zip(longer)) {
        let Some(Some(line)) = taken.get_mut(line) else { continue };
        let cost = units(longer).saturating_sub(units(line));
        if cost <= left {
            left -= cost;
            *line = longer;
        }
    }
    let missing = taken.iter().filter(|line| line.is_none()).count();
    let out: String = taken.into_iter().flatten().map(|line| format!("{line}\n")).collect();
    match (out.is_empty(), missing) {
        (true, _) => String::new(),
        (_, 0) => out,
        _ => out + &more(missing),
    }
}

/// Cut at a line where that is near, with the fence closed.
fn fit_markdown(text: &str, keep_end: bool, room: usize) -> String {
    const MARK: &str = "[cut]\n";
    if keep_end
        && let Some((open, inner)) = text.trim_end().split_once('\n')
        && let Some((inner, _)) = inner.rsplit_once('\n')
        && open.starts_with("```")
    {
        return fit_text(["", inner, "the record", ""], TextCut::Ends(0), room);
    }
    let Some(room) = room.checked_sub(MARK.len() + FENCE_ROOM) else { return String::new() };
    let mut kept = cut_units(text, room);
    if let Some(end) = kept.rfind('\n').filter(|end| units(&kept[*end..]) < NEAR) {
        kept = &kept[..=end];
    }
    // A cut through a line of back-ticks must not leave a fence of another length behind.
    let mut out =
        if kept.ends_with('\n') { kept.to_owned() } else { kept.trim_end_matches('`').to_owned() + "\n" };
    let mut fence = Fence::default();
    out.lines().for_each(|line| fence.take(line));
    out.push_str(&fence.closing().unwrap_or_default());
    out.push_str(MARK);
    out
}
