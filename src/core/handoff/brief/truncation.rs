//! The kinds of text in a brief, and how each is cut: quotes and texts by their middle, lists by their end.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::current_request::is_standing;
use super::super::document::Fence;
use super::super::pasted_text::{has_paste, own_words, with_short_pastes};
use super::super::prompt_sentences::{GIST_SENTENCE, has_digit, ranked_parts, sentences};
use super::super::repeated_lines::{folded, form};
use super::brief_files::PROMPTS_FILE;
use super::shared_words::{SharedWords, has_any};
use crate::core::text::safe_text::{cut_bytes, cut_units, end_units, fenced, units};

/// The length of the longest fence, its newline, and a newline for a line that was cut, in UTF-16 units.
const FENCE_ROOM: usize = 15;
/// The greatest distance of a cut from the end of a line at which it moves there, in UTF-16 units.
const NEAR: usize = 200;
/// The longest prohibition or demand that is kept, in UTF-16 units.
const SENTENCE: usize = 300;
/// With at least this much room the shortest sentences of a cut prompt are also shown, in UTF-16 units.
const ROOMY: usize = 1000;
/// The most of a prompt that is searched for such sentences, in bytes.
const SEARCHED: usize = 64 << 10;
/// The most rows of a table that is shortened.
const TABLE_ROWS: usize = 6;
/// The least that is kept of each line, in UTF-16 units.
const LEAST_LINE: usize = 100;
/// The length of a prompt if not all fit, in UTF-16 units.
const SHORT: usize = 240;
/// The same for a prompt that prohibits or demands something, or that refers to something older, in UTF-16
/// units.
const WITH_RULES: usize = 1000;
/// The beginning of a longer prompt in its gist, in UTF-16 units.
const GIST_HEAD: usize = 80;
/// A prompt up to this length is shown in full instead of its gist, in UTF-16 units.
const GIST_LEAST: usize = 100;
/// This many sentences that prohibit or demand something are a list of rules.
const RULES: usize = 4;
/// The mark for text that was left out.
const LEFT_OUT: &str = " [...]";
/// A quote that needs at most this much more than its gist is shown in full, in UTF-16 units.
const MORE_OF_IT: usize = 20;
/// With less room no quote is shown, in UTF-16 units.
const LEAST_QUOTE: usize = 8;
/// The shortest sentence that is left out because another quote shows it, in UTF-16 units.
const DOUBLE: usize = 40;
/// A gap of fewer characters is not counted, and is closed where there is room.
const LEAST_GAP: usize = 120;
/// A sentence of this many quotes is shown in the first of them.
const MANY: usize = 3;
/// The mark for a sentence that another quote shows.
const AS_ELSEWHERE: &str = "[... as in another prompt here]";
/// Ranks of a part of a prompt: it refers to something older; it prohibits or demands something; it has a
/// number.
const TAKES_UP: u8 = 0;
const DEMANDS: u8 = 1;
const COUNTS: u8 = 2;

/// One prompt of the person, as the brief shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Quote {
    /// Notes about it, on a line of their own; may be empty.
    pub label: String,
    /// The person's words, safe.
    pub text: String,
    /// The day of the prompt; empty if it is not known.
    pub day: String,
    /// The prompt that set the current work.
    pub sets_work: bool,
    /// The first prompt of a conversation, where people say what holds for all of it.
    pub opens: bool,
    /// The words that it shares with older and newer texts.
    pub shared: SharedWords,
}

impl Quote {
    /// The rank of a part of it; lower ranks matter more.
    fn rank(&self, part: &str) -> Option<u8> {
        match part {
            _ if has_any(part, &self.shared.of_older) => Some(TAKES_UP),
            _ if is_standing(part) => Some(DEMANDS),
            _ => part.contains(|c: char| c.is_numeric()).then_some(COUNTS),
        }
    }

    /// Its full length, in UTF-16 units.
    pub fn whole(&self) -> usize {
        units(&quoted(&self.label, &self.text))
    }

    /// Whether it is cut if not all fit.
    fn is_long(&self) -> bool {
        self.whole() > SHORT + units(&self.label)
    }

    /// Its length if not all fit, in UTF-16 units.
    pub fn least(&self) -> usize {
        self.whole().min(SHORT + units(&self.label))
    }
}

/// Which part of a long text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextCut {
    /// At most this much of its beginning, in UTF-16 units; its end gets the rest of the room.
    Ends(usize),
    /// Only its beginning.
    Beginning,
    /// The beginning of each of its lines, because any of them may matter; if that is too long, as
    /// [`TextCut::Beginning`].
    Lines,
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// Prompts in the order of the list; `order` has their indices by importance.
    Quotes {
        /// The lines before them.
        above: String,
        /// The prompts.
        quotes: Vec<Quote>,
        /// Which come first when there is no room for all.
        order: Vec<usize>,
        /// The day of the brief: other days are shown.
        today: String,
    },
    /// A text in a fence.
    Text {
        /// The lines before it.
        above: String,
        /// The text, safe.
        text: String,
        /// Which part is kept if not all fits.
        cut: TextCut,
        /// The file that has it whole.
        whole_in: &'static str,
        /// The lines after it.
        below: String,
    },
    /// A list.
    Lines {
        /// The lines, safe, without a newline.
        lines: Vec<String>,
        /// Which come first when there is no room for all.
        order: Vec<usize>,
        /// Longer forms of the same lines, each longer than the one before, for when there is room.
        longer: Vec<Vec<String>>,
        /// The file that has more.
        more_in: &'static str,
    },
    /// Markdown with fences.
    Markdown {
        /// The text, safe.
        text: String,
        /// The end matters more than the beginning.
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

    /// As much of it as fits into `room` UTF-16 units; empty if nothing does.
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
            Passage::Lines { lines, order, longer, more_in } => {
                fit_lines(lines, order, longer, more_in, room)
            }
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

/// A prompt in at most `room` UTF-16 units. Pastes are cut first; then it shows its beginning and its end,
/// and prohibitions and demands in between.
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
    let mark = |left: usize| match left < LEAST_GAP {
        true => "> [...]\n".to_owned(),
        false => format!("> [... {left} characters left out]\n"),
    };
    let rest = room.checked_sub(units(&mark(quote.text.len())) + units(&quote.label) + 12)?;
    if rest < 40 {
        return None;
    }
    // Each line costs two more units, and is counted when it is taken.
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
                    end_at_sentence(line, left - 6)
                } else {
                    start_at_sentence(line, left - 6)
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
    let line = |part: &str| format!("> [...] {part}\n");
    let own = own_words(text);
    let own = cut_bytes(&own, SEARCHED);
    let is_kept = |part: &str| quote.rank(part).filter(|rank| rest < ROOMY || *rank < COUNTS);
    let mut parts = ranked_parts(own, SENTENCE, is_kept);
    parts.sort_by_key(|(rank, _)| *rank);
    if rest >= ROOMY {
        let all: Vec<&str> = sentences(own).collect();
        parts.extend(short_ones(&all).into_iter().map(|at| (COUNTS, all[at])));
    }
    let (mut kept, mut used): (Vec<&str>, usize) = (Vec::new(), 0);
    for (rank, part) in parts {
        let cost = units(part) + "> [...] \n".len();
        let room = if rank < COUNTS { rest / 2 } else { rest / 4 };
        let is_shown =
            head.contains(part) || tail.contains(part) || kept.iter().any(|one| one.contains(part));
        if cost <= SENTENCE && used + cost <= room && !is_shown {
            used += cost;
            kept.push(part);
        }
    }
    // In the order of the text.
    kept.sort_unstable_by_key(|part| part.as_ptr());
    let between: String = kept.into_iter().map(line).collect();
    if !between.is_empty() {
        (head, tail) = ends(rest - units(&between));
    }
    let shown = [&head, &between, &tail].map(|part| part.chars().count()).iter().sum();
    let left = quote.text.chars().count().saturating_sub(shown).max(1);
    let label = if quote.label.is_empty() { String::new() } else { format!("({})\n", quote.label) };
    let text = format!("{label}{head}{}{between}{tail}\n", mark(left));
    (units(&text) <= room).then_some(text)
}

/// The positions of unrepeated sentences, shortest first: rules are short in every language, and a form that
/// is repeated is not a rule.
fn short_ones(all: &[&str]) -> Vec<usize> {
    let mut forms: HashMap<String, usize> = HashMap::new();
    all.iter().for_each(|sentence| *forms.entry(form(sentence)).or_default() += 1);
    let mut short: Vec<usize> =
        (0..all.len()).filter(|at| is_prose(all[*at]) && forms[&form(all[*at])] == 1).collect();
    short.sort_by_key(|at| units(all[*at]));
    short
}

/// Whether a text consists of words: no code, no line of a table, no heading of one word.
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

fn start_at_word(line: &str, room: usize) -> &str {
    let cut = cut_units(line, room);
    cut.rfind(char::is_whitespace).map_or(cut, |at| &cut[..at])
}

/// The beginning of a line, to the end of a sentence where that is at least half of the room.
fn start_at_sentence(line: &str, room: usize) -> &str {
    let cut = start_at_word(line, room);
    let last = sentences(cut).last().map_or(0, |last| last.as_ptr() as usize - cut.as_ptr() as usize);
    if units(&cut[..last]) * 2 < room { cut } else { cut[..last].trim_end() }
}

/// The end of a line, from the beginning of a sentence where that is at least half of the room.
fn end_at_sentence(line: &str, room: usize) -> &str {
    let cut = end_at_word(line, room);
    let second =
        sentences(cut).nth(1).map_or(cut.len(), |next| next.as_ptr() as usize - cut.as_ptr() as usize);
    if units(&cut[second..]) * 2 < room { cut } else { &cut[second..] }
}

fn end_at_word(line: &str, room: usize) -> &str {
    let cut = end_units(line, room);
    cut.find(char::is_whitespace).map_or(cut, |at| cut[at..].trim_start())
}

/// Prompts in their order. Each day except `today` is shown before its first prompt, at most `days` times.
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
    let mut fit = QuoteFit::new(quotes, today, left);
    // First the gist of each, by importance; then more of each as long as there is room.
    for &at in order {
        let [names, words] = fit.taken_up(at);
        for newer in fit.newer(at, &names) {
            fit.place(newer);
        }
        // A short prompt is shown only together with the newer ones that refer to its numbers: they may
        // revoke it.
        if fit.newer(at, &words).into_iter().all(|newer| fit.place(newer) && fit.shows_any(newer, &words)) {
            fit.place(at);
        }
    }
    fit.grow(order);
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

/// Fits quotes into less room than they need.
struct QuoteFit<'a> {
    quotes: &'a [Quote],
    today: &'a str,
    /// The form in which each is shown.
    shown: Vec<Option<String>>,
    /// The room that is left, and how much of it longer gists may take, in UTF-16 units.
    left: usize,
    for_rules: usize,
    /// Up to this length the first prompt of a conversation is shown in full, in UTF-16 units.
    opening: usize,
    /// The days that are shown.
    days: Vec<&'a str>,
    /// Which quote shows a sentence; the others leave it out.
    said: HashMap<String, usize>,
    /// How many quotes have a sentence: the first of [`MANY`] shows it in full.
    times: HashMap<&'a str, usize>,
    /// Which quotes refer to a word of older ones.
    takers: HashMap<&'a str, Vec<usize>>,
}

impl<'a> QuoteFit<'a> {
    fn new(quotes: &'a [Quote], today: &'a str, left: usize) -> Self {
        let mut times: HashMap<&str, usize> = HashMap::new();
        let texts =
            quotes.iter().filter(|quote| quote.is_long()).map(|quote| cut_bytes(&quote.text, SEARCHED));
        texts.flat_map(clauses).filter(is_double_worthy).for_each(|one| *times.entry(one).or_default() += 1);
        let mut takers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, quote) in quotes.iter().enumerate() {
            quote.shared.of_older.iter().for_each(|word| takers.entry(word).or_default().push(at));
        }
        Self {
            quotes,
            today,
            shown: vec![None; quotes.len()],
            left,
            for_rules: left / 3,
            opening: (left / 3).min(WITH_RULES),
            days: Vec::new(),
            said: HashMap::new(),
            times,
            takers,
        }
    }

    /// The names and the numbers of a short quote that newer quotes refer to. A long one is never
    /// revoked as a whole, and a name without a number is no sure sign that it was.
    fn taken_up(&self, at: usize) -> [Vec<String>; 2] {
        let words = self.quotes[at].shared.of_newer.iter().filter(|_| !self.quotes[at].is_long());
        let (numbers, names) = words.cloned().partition(|word| has_digit(word));
        [names, numbers]
    }

    /// The newer quotes that have one of these words of the quote at this position.
    fn newer(&self, at: usize, words: &[String]) -> Vec<usize> {
        let newer = words.iter().filter_map(|word| self.takers.get(word.as_str())).flatten();
        newer.copied().filter(|newer| *newer < at).collect()
    }

    /// Whether the shown form of a quote has one of these words.
    fn shows_any(&self, at: usize, words: &[String]) -> bool {
        self.shown[at].as_ref().is_some_and(|text| has_any(text, words))
    }

    /// Shows the gist of a quote if there is room. Returns whether the quote is shown.
    fn place(&mut self, at: usize) -> bool {
        if self.shown[at].is_some() || self.left < LEAST_QUOTE {
            return self.shown[at].is_some();
        }
        let quote = without_doubles(&self.quotes[at], at, &self.said);
        let day = self.quotes[at].day.as_str();
        let is_other = !day.is_empty() && day != self.today && !self.days.contains(&day);
        let room = self.left.saturating_sub(if is_other { units(&day_line(day)) } else { 0 });
        let is_shared = |one: &str| {
            self.times.get(one).is_some_and(|times| *times >= MANY) && !self.said.contains_key(one)
        };
        let rank = |part: &str| {
            quote.rank(part).into_iter().chain(clauses(part).any(is_shared).then_some(DEMANDS)).min()
        };
        let short = SHORT + units(&quote.label);
        let long = short + self.for_rules.min(WITH_RULES - SHORT);
        // In a list of rules, sentences without a word of [`is_standing`] count as well.
        let own = own_words(&quote.text);
        let rules = sentences(cut_bytes(&own, SEARCHED)).filter(|one| is_standing(one)).count();
        let listed = |part: &str| rank(part).or((rules >= RULES).then_some(DEMANDS));
        let whole = Some(quoted(&quote.label, &quote.text));
        let whole = whole.filter(|text| quote.opens && units(text) <= self.opening.min(room));
        let gist = whole.or_else(|| gist(&quote, listed, [short.min(room), long.min(room)]));
        let Some(text) = gist else { return false };
        self.for_rules -= units(&text).saturating_sub(short).min(self.for_rules);
        self.left = room - units(&text);
        note_sentences(&text, at, &mut self.said);
        self.days.extend(is_other.then_some(day));
        self.shown[at] = Some(text);
        true
    }

    /// Shows more of each. The prompt that set the work grows first and leaves a third for the others. Pastes
    /// grow only after all own words.
    fn grow(&mut self, order: &[usize]) {
        let is_first = |at: &&usize| self.quotes[**at].sets_work;
        let first = order.iter().filter(is_first).chain(order.iter().filter(|at| !is_first(at)));
        for (own_only, at) in
            [true, false].into_iter().flat_map(|own| first.clone().map(move |at| (own, *at)))
        {
            let Some(text) = &mut self.shown[at] else { continue };
            let had = units(text);
            let quote = without_doubles(&self.quotes[at], at, &self.said);
            let room = match own_only {
                true => {
                    let own = units(&quoted(&quote.label, &with_short_pastes(&quote.text, 0)));
                    let room = had + self.left * 2 / 3;
                    // A little more than that is shown whole.
                    if own <= room + LEAST_GAP { own.min(had + self.left) } else { own.min(room) }
                }
                false => had + self.left,
            };
            let longer = shortened(&quote, room).filter(|longer| units(longer) > had);
            if let Some(longer) = longer.filter(|longer| keeps(&quote, text, longer)) {
                self.left -= units(&longer) - had;
                note_sentences(&longer, at, &mut self.said);
                *text = longer;
            }
        }
    }
}

/// Whether a longer form of a quote contains the important parts of its gist.
fn keeps(quote: &Quote, gist: &str, longer: &str) -> bool {
    // A paste that grows replaces the line that stood for it.
    let parts = gist.split(LEFT_OUT).flat_map(|part| part.split("[pasted: ").next()).flat_map(sentences);
    let parts = parts.map(|part| part.trim_start_matches("> ").trim());
    let mut parts = parts.filter(|part| quote.rank(part).is_some_and(|rank| rank < COUNTS));
    parts.all(|part| longer.contains(part))
}

/// The beginning of a long prompt on one line, followed by its parts with a rank, lowest rank first, in at
/// most as many UTF-16 units as `caps` allows: the first cap is for parts that only have a number.
fn gist(quote: &Quote, rank: impl Fn(&str) -> Option<u8>, caps: [usize; 2]) -> Option<String> {
    let whole = quoted(&quote.label, &quote.text);
    if units(&whole) <= (GIST_LEAST + units(&quote.label)).min(caps[1]) {
        return Some(whole);
    }
    let text = with_short_pastes(&quote.text, 0);
    let line = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let head = if units(&line) <= GIST_HEAD { line.len() } else { start_at_word(&line, GIST_HEAD).len() };
    let mut spans = vec![(0, head)];
    let mut used = units(&quoted(&quote.label, &line[..head])) + LEFT_OUT.len();
    if head == 0 || used > caps[1] {
        return None;
    }
    let own = own_words(&text);
    let mut parts = ranked_parts(cut_bytes(&own, SEARCHED), GIST_SENTENCE, rank);
    parts.sort_by_key(|(rank, _)| *rank);
    for (rank, part) in parts {
        let cost = units(part) + LEFT_OUT.len() + 1;
        let cap = caps[usize::from(rank < COUNTS)];
        let Some(at) = line.find(part).filter(|_| used + cost <= cap) else { continue };
        if !spans.iter().any(|(from, to)| *from <= at && at + part.len() <= *to) {
            used += cost;
            spans.push((at, at + part.len()));
        }
    }
    spans.sort_unstable();
    let mut shown = String::new();
    let mut end = 0;
    for (from, to) in spans {
        if from > end {
            shown.push_str(LEFT_OUT);
            shown.push(' ');
        }
        shown.push_str(&line[from.max(end).min(to)..to]);
        end = end.max(to);
    }
    if end < line.len() {
        shown.push_str(LEFT_OUT);
    }
    let text = quoted(&quote.label, &shown);
    // A prompt that is only a little longer is shown in full.
    let text = if units(&whole) <= units(&text) + MORE_OF_IT { whole } else { text };
    (units(&text) <= caps[1]).then_some(text)
}

/// The sentences of a text; one with a colon counts as two parts: "screen 7: it shows".
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    sentences(text).flat_map(|sentence| {
        let colon = sentence.find(": ").map_or(0, |at| at + 1);
        let (head, rest) = sentence.split_at(if units(sentence) > colon + DOUBLE { colon } else { 0 });
        [head, rest.trim_start()].into_iter().filter(|part| !part.is_empty())
    })
}

/// Whether a sentence is left out if another quote shows it; lines of a log are not.
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

/// Notes the sentences that a quote shows in full.
fn note_sentences(shown: &str, at: usize, said: &mut HashMap<String, usize>) {
    let lines = shown.lines().map(|line| line.strip_prefix("> ").unwrap_or(line));
    let parts = lines.flat_map(|line| line.split("[...]")).map(str::trim);
    for sentence in parts.flat_map(clauses).filter(is_double_worthy) {
        said.entry(sentence.to_owned()).or_insert(at);
    }
}

fn fit_text([above, text, whole_in, below]: [&str; 4], cut: TextCut, room: usize) -> String {
    let mark = format!("(shortened; whole in {whole_in})\n");
    let taken = units(above) + units(below) + units(&mark) + 2 * FENCE_ROOM + "text\n".len();
    let Some(room) = room.checked_sub(taken).filter(|room| *room >= 80) else { return String::new() };
    // Fencing lengthens only the fence, and shortens long runs of back-ticks.
    let text = short_tables(text);
    let body = match cut {
        _ if units(&text) <= room => text,
        TextCut::Ends(head) => ends(&text, head, room),
        TextCut::Beginning => ends(&text, usize::MAX, room),
        TextCut::Lines => line_beginnings(&text, room).unwrap_or_else(|| ends(&text, usize::MAX, room)),
    };
    format!("{above}{mark}{}{below}", fenced(&body))
}

/// The beginning of each line of a text, in at most `room` UTF-16 units together; `None` if that is not
/// enough.
fn line_beginnings(text: &str, room: usize) -> Option<String> {
    let at = |cap: usize| -> String {
        let cut = |line: &str| match units(line) <= cap {
            true => line.to_owned(),
            false => format!("{}{LEFT_OUT}", start_at_word(line, cap - LEFT_OUT.len())),
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

/// The beginning of a text, at most `head` and a third of `room`, and its end, together at most `room` UTF-16
/// units. If `head` is not smaller than `room`, only the beginning.
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

/// As many of the lines as fit, then longer forms of them as long as there is room.
fn fit_lines(
    lines: &[String],
    order: &[usize],
    longer: &[Vec<String>],
    more_in: &str,
    room: usize,
) -> String {
    let more = |count: usize| format!("- and {count} more, in {more_in}\n");
    let Some(mut left) = room.checked_sub(units(&more(lines.len()))) else { return String::new() };
    let mut taken: Vec<Option<&String>> = vec![None; lines.len()];
    for &at in order {
        // A long line must not keep a shorter one out.
        let line = &lines[at];
        let fits = units(line) < left;
        left -= if fits { units(line) + 1 } else { 0 };
        taken[at] = fits.then_some(line);
    }
    for longer in longer {
        for &at in order {
            let Some(line) = &mut taken[at] else { continue };
            let cost = units(&longer[at]).saturating_sub(units(line));
            if cost <= left {
                left -= cost;
                *line = &longer[at];
            }
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

/// Cuts Markdown at the end of a line if one is near, and closes the fence.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_is_a_little_too_long_is_cut_between_sentences() {
        let sentence = |n: usize| format!("Sentence number {n} of the prompt says what the page shows.");
        let text: String = (0..8).map(|n| sentence(n) + " ").collect();
        let quote = Quote { text: text.trim_end().to_owned(), ..Quote::default() };
        let shown = shortened(&quote, quote.whole() - 60).unwrap();
        let parts: Vec<&str> = shown.lines().map(|line| line.trim_start_matches("> ")).collect();
        assert!(shown.starts_with("> Sentence number 0"), "{shown}");
        assert!(shown.trim_end().ends_with(&sentence(7)), "{shown}");
        for part in parts.iter().filter(|part| part.starts_with("Sentence")) {
            assert!(part.ends_with('.'), "{shown}");
        }
    }
}
