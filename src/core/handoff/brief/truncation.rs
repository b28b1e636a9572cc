//! The kinds of text in a brief and how each is cut: quotes and texts in the middle, lists at the end.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::current_request::is_standing;
use super::super::document::Fence;
use super::super::pasted_text::{has_paste, own_words, with_short_pastes};
use super::super::repeated_lines::{folded, form};
use super::brief_files::PROMPTS_FILE;
use crate::core::text::safe_text::{cut_bytes, cut_units, end_units, fenced, units};

/// The longest fence with its newline and a newline for a cut line, in UTF-16 units.
const FENCE_ROOM: usize = 15;
/// How near the border of a line must be for a cut to move there, in UTF-16 units.
const NEAR: usize = 200;
/// The longest sentence that is kept because it prohibits or demands something, in UTF-16 units.
const SENTENCE: usize = 300;
/// With this much room the shortest sentences of a cut prompt are kept as well, in UTF-16 units.
const ROOMY: usize = 1000;
/// How much of a prompt is searched for such sentences, in bytes.
const SEARCHED: usize = 64 << 10;
/// How many rows of a long table are kept in a cut text.
const TABLE_ROWS: usize = 6;
/// The shortest useful beginning of a line, in UTF-16 units.
const LEAST_LINE: usize = 100;
/// The short form of a prompt when not all fit, in UTF-16 units.
const SHORT: usize = 240;

/// The same for a prompt that prohibits or demands something, in UTF-16 units.
const WITH_RULES: usize = 1000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Quote {
    /// A remark on a line of its own; may be empty.
    pub label: String,
    pub text: String,
    /// The day of the prompt; empty if it is unknown.
    pub day: String,
    /// It set the current work.
    pub sets_work: bool,
}

impl Quote {
    /// Its length, in UTF-16 units.
    pub fn whole(&self) -> usize {
        units(&quoted(&self.label, &self.text))
    }

    /// Whether it is cut when not all fit.
    fn is_long(&self) -> bool {
        self.whole() > SHORT + units(&self.label)
    }

    /// The length of its short form, in UTF-16 units.
    pub fn least(&self) -> usize {
        self.whole().min(SHORT + units(&self.label))
    }
}

/// Which part of a long text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextCut {
    /// At most this much of the beginning, in UTF-16 units, and as much of the end as fits.
    Ends(usize),
    Beginning,
    /// The beginning of each line, because each may matter; otherwise as [`TextCut::Beginning`].
    Lines,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// Prompts in order; when not all fit, the first in `order` (indices) take precedence.
    Quotes {
        /// The text above them.
        above: String,
        quotes: Vec<Quote>,
        order: Vec<usize>,
        /// The day of the brief; other days are named.
        today: String,
    },
    Text {
        above: String,
        text: String,
        cut: TextCut,
        /// The file with the whole text.
        whole_in: &'static str,
        below: String,
    },
    /// A list, the most important line first.
    Lines {
        /// Safe, without a newline.
        lines: Vec<String>,
        /// Longer forms of the same lines, each list with more text than the one before.
        longer: Vec<Vec<String>>,
        /// The file with all of it.
        more_in: &'static str,
    },
    /// Markdown with fences.
    Markdown {
        text: String,
        /// The end of a fence matters most.
        keep_end: bool,
    },
}

impl Passage {
    pub fn is_empty(&self) -> bool {
        match self {
            Passage::Quotes { quotes, .. } => quotes.is_empty(),
            Passage::Text { text, .. } | Passage::Markdown { text, .. } => text.trim().is_empty(),
            Passage::Lines { lines, .. } => lines.is_empty(),
        }
    }

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

    /// As much as fits into `room` UTF-16 units; may be empty.
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
    // Keeps two prompts of one line each apart.
    out.push('\n');
    out
}

/// A prompt in at most `room` units: pastes are cut first, then the middle, except for sentences that
/// prohibit or demand something.
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
    let ends = |rest: usize| {
        let head = first_lines(text, rest * 3 / 5);
        let tail = last_lines(text, rest.saturating_sub(units(&head)));
        (head, tail)
    };
    let (mut head, mut tail) = ends(rest);
    let between = demands(text, rest, |sentence| head.contains(sentence) || tail.contains(sentence));
    if !between.is_empty() {
        (head, tail) = ends(rest - units(&between));
    }
    let shown = [&head, &between, &tail].map(|part| part.chars().count()).iter().sum();
    let left = quote.text.chars().count().saturating_sub(shown).max(1);
    let label = if quote.label.is_empty() { String::new() } else { format!("({})\n", quote.label) };
    let text = format!("{label}{head}{}{between}{tail}\n", mark(left));
    (units(&text) <= room).then_some(text)
}

/// The first lines of a text, quoted, in at most `room` units; the last of them may be cut.
fn first_lines(text: &str, room: usize) -> String {
    whole_lines(text.lines(), room, start_at_word).iter().map(|line| format!("> {line}\n")).collect()
}

/// The last lines of a text, quoted, in at most `room` units; the first of them may be cut.
fn last_lines(text: &str, room: usize) -> String {
    whole_lines(text.lines().rev(), room, end_at_word)
        .iter()
        .rev()
        .map(|line| format!("> {line}\n"))
        .collect()
}

/// As many lines as fit when they are quoted, and of the next one what `cut` keeps.
fn whole_lines<'a>(
    lines: impl Iterator<Item = &'a str>,
    mut room: usize,
    cut: impl Fn(&'a str, usize) -> &'a str,
) -> Vec<&'a str> {
    let mut taken = Vec::new();
    for line in lines {
        // The mark of a quote and the newline take three units.
        let cost = units(line) + 3;
        if cost > room {
            taken.extend((room > 20).then(|| cut(line, room - 6)));
            break;
        }
        taken.push(line);
        room -= cost;
    }
    taken
}

/// The sentences in which the person prohibits or demands something, as quoted lines; with enough room
/// ([`ROOMY`]) the shortest ones as well. Sentences that `is_shown` are left out.
fn demands(text: &str, room: usize, is_shown: impl Fn(&str) -> bool) -> String {
    let own = own_words(text);
    let all: Vec<&str> = sentences(cut_bytes(&own, SEARCHED)).collect();
    let mut kept: Vec<usize> = Vec::new();
    let mut used = 0;
    let mut keep = |at: usize, room: usize, kept: &mut Vec<usize>| {
        let cost = units(all[at]) + "> [...] \n".len();
        if cost <= SENTENCE && used + cost <= room && !is_shown(all[at]) {
            used += cost;
            kept.push(at);
        }
    };
    (0..all.len()).filter(|at| is_standing(all[*at])).for_each(|at| keep(at, room / 2, &mut kept));
    if room >= ROOMY {
        for at in short_ones(&all) {
            if !kept.contains(&at) {
                keep(at, room / 4, &mut kept);
            }
        }
    }
    kept.sort_unstable();
    kept.iter().map(|at| format!("> [...] {}\n", all[*at])).collect()
}

/// Sentences with a form of their own, the shortest first: rules are short in every language, and a sentence
/// in a repeated form is no rule.
fn short_ones(all: &[&str]) -> Vec<usize> {
    let mut forms: HashMap<String, usize> = HashMap::new();
    all.iter().for_each(|sentence| *forms.entry(form(sentence)).or_default() += 1);
    let mut short: Vec<usize> =
        (0..all.len()).filter(|at| is_prose(all[*at]) && forms[&form(all[*at])] == 1).collect();
    short.sort_by_key(|at| units(all[*at]));
    short
}

/// Whether a text is made of words, unlike code, the rule of a table and a heading of one word.
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

/// The sentences of a text: a full stop, question or exclamation mark before a space ends one.
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

/// Prompts in order. Each day but `today` is named above its first prompt, at most `days` times.
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
    let Some(left) = room.checked_sub(units(above) + units(&more(quotes.len()))) else {
        return String::new();
    };
    let mut fit =
        QuoteFit { quotes, shown: vec![None; quotes.len()], said: HashMap::new(), days: Vec::new(), left };
    // First the short form of each quote, the most important first; then as much more as fits.
    fit.add_short(order, today, room);
    // The prompt that set the work grows first, and leaves a third of the room to the others. Pastes grow
    // after everyone's own words.
    let is_first = |at: &&usize| quotes[**at].sets_work;
    let first = order.iter().filter(is_first).chain(order.iter().filter(|at| !is_first(at)));
    let first: Vec<usize> = first.copied().collect();
    for own_only in [true, false] {
        first.iter().for_each(|at| fit.grow(*at, own_only));
    }
    let missing = fit.shown.iter().filter(|text| text.is_none()).count();
    if missing == quotes.len() {
        return String::new();
    }
    let told = quotes.iter().zip(fit.shown).filter_map(|(quote, text)| Some((quote, text?)));
    let mut out = with_days(above, today, fit.days.len(), told);
    if missing > 0 {
        out.push_str(&more(missing));
    }
    out.trim_end().to_owned() + "\n"
}

/// Quotes that do not all fit.
struct QuoteFit<'a> {
    quotes: &'a [Quote],
    /// The text of each quote so far.
    shown: Vec<Option<String>>,
    /// The quote that contains a sentence: the others may leave it out.
    said: HashMap<String, usize>,
    /// Days other than the brief's that are named.
    days: Vec<&'a str>,
    /// In UTF-16 units.
    left: usize,
}

impl QuoteFit<'_> {
    /// Adds the short form of each quote, a longer one if the person laid down rules. The first of many
    /// quotes that share a sentence shows it.
    fn add_short(&mut self, order: &[usize], today: &str, room: usize) {
        let quotes = self.quotes;
        let mut times: HashMap<&str, usize> = HashMap::new();
        let long = quotes.iter().filter(|quote| quote.is_long());
        let texts = long.map(|quote| cut_bytes(&quote.text, SEARCHED));
        texts.flat_map(clauses).filter(may_be_shared).for_each(|one| *times.entry(one).or_default() += 1);
        let (mut for_rules, mut for_shared) = (room / 3, room / 4);
        for &at in order {
            let quote = without_doubles(&quotes[at], at, &self.said);
            let (Quote { label, text, .. }, day) = (&*quote, &quotes[at].day);
            let is_other = !day.is_empty() && day != today && !self.days.contains(&day.as_str());
            let line = if is_other { units(&day_line(day)) } else { 0 };
            let own = own_words(text);
            let mut short = SHORT + units(label);
            if sentences(cut_bytes(&own, SEARCHED)).any(is_standing) {
                let longer =
                    (units(&own) + units(label)).min(WITH_RULES).saturating_sub(short).min(for_rules);
                for_rules -= longer;
                short += longer;
            }
            let is_shared = |one: &str| {
                times.get(one).is_some_and(|times| *times >= MANY) && !self.said.contains_key(one)
            };
            if clauses(cut_bytes(text, SEARCHED)).any(is_shared) {
                let longer = quote.whole().min(WITH_RULES).saturating_sub(short).min(for_shared);
                for_shared -= longer;
                short += longer;
            }
            let room = short.min(self.left.saturating_sub(line));
            let Some(text) = shortened(&quote, room) else { continue };
            self.left -= units(&text) + line;
            note_sentences(&text, at, &mut self.said);
            self.days.extend(is_other.then_some(day.as_str()));
            self.shown[at] = Some(text);
        }
    }

    /// Shows more of a quote: of its own words, up to two thirds of the room, or of all its text.
    fn grow(&mut self, at: usize, own_only: bool) {
        let Some(text) = &mut self.shown[at] else { return };
        let had = units(text);
        let quote = without_doubles(&self.quotes[at], at, &self.said);
        let Quote { label, text: words, .. } = &*quote;
        let room = match own_only {
            true => units(&quoted(label, &with_short_pastes(words, 0))).min(had + self.left * 2 / 3),
            false => had + self.left,
        };
        if let Some(longer) = shortened(&quote, room).filter(|longer| units(longer) > had) {
            self.left -= units(&longer) - had;
            note_sentences(&longer, at, &mut self.said);
            *text = longer;
        }
    }
}

/// The shortest sentence that is left out because another quote contains it, in UTF-16 units.
const DOUBLE: usize = 40;
/// The first of at least this many quotes shows a sentence that they share.
const MANY: usize = 3;
/// The replacement for such sentences.
const AS_ELSEWHERE: &str = "[... as in another prompt here]";

/// The sentences of a text; one with a colon counts as two, such as "screen 7: it shows".
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    sentences(text).flat_map(|sentence| {
        let colon = sentence.find(": ").map_or(0, |at| at + 1);
        let (head, rest) = sentence.split_at(if units(sentence) > colon + DOUBLE { colon } else { 0 });
        [head, rest.trim_start()].into_iter().filter(|part| !part.is_empty())
    })
}

/// Whether a sentence may be left out if another quote contains it: prose, and no line of a log.
fn may_be_shared(sentence: &&str) -> bool {
    units(sentence) >= DOUBLE && is_prose(sentence)
}

/// A prompt without the sentences that another quote contains word for word.
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

/// Records the sentences that a quote shows whole.
fn note_sentences(shown: &str, at: usize, said: &mut HashMap<String, usize>) {
    let lines = shown.lines().map(|line| line.strip_prefix("> ").unwrap_or(line));
    let lines = lines.map(|line| line.strip_prefix("[...] ").unwrap_or(line));
    for sentence in lines.flat_map(clauses).filter(may_be_shared) {
        said.entry(sentence.to_owned()).or_insert(at);
    }
}

fn fit_text([above, text, whole_in, below]: [&str; 4], cut: TextCut, room: usize) -> String {
    let mark = format!("(shortened; whole in {whole_in})\n");
    let taken = units(above) + units(below) + units(&mark) + 2 * FENCE_ROOM + "text\n".len();
    let Some(room) = room.checked_sub(taken).filter(|room| *room >= 80) else { return String::new() };
    // A fence adds only its own length; long runs of back-ticks become shorter.
    let text = short_tables(text);
    let body = match cut {
        _ if units(&text) <= room => text,
        TextCut::Ends(head) => ends(&text, head, room),
        TextCut::Beginning => ends(&text, usize::MAX, room),
        TextCut::Lines => line_beginnings(&text, room).unwrap_or_else(|| ends(&text, usize::MAX, room)),
    };
    format!("{above}{mark}{}{below}", fenced(&body))
}

/// The beginning of each line, all of the same length, in `room` UTF-16 units; `None` if that is too little.
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

/// The text with only the first rows of its long tables.
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

/// The beginning of a text, at most `head` and a third of `room`, and as much of its end as fits into `room`
/// UTF-16 units; only the beginning if `head` allows it.
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

/// As many lines as fit, in order; then as many longer forms as fit.
fn fit_lines(lines: &[String], longer: &[Vec<String>], more_in: &str, room: usize) -> String {
    let more = |count: usize| format!("- and {count} more, in {more_in}\n");
    let Some(mut left) = room.checked_sub(units(&more(lines.len()))) else { return String::new() };
    let mut taken: Vec<Option<&String>> = Vec::new();
    for line in lines {
        // A long line must not displace a short one.
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

/// Cuts at the end of a line if one is near, and closes the fence.
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
    // A cut in a line of back-ticks must not leave a shorter fence.
    let mut out =
        if kept.ends_with('\n') { kept.to_owned() } else { kept.trim_end_matches('`').to_owned() + "\n" };
    let mut fence = Fence::default();
    out.lines().for_each(|line| fence.take(line));
    out.push_str(&fence.closing().unwrap_or_default());
    out.push_str(MARK);
    out
}
