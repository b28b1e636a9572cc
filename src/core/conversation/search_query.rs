//! A search in conversations.
//!
//! A pattern is matched against the lines of messages. Parsing every line of a transcript for that would be
//! slow, so a [`Prefilter`] searches the raw bytes first. It must never lose a match, and JSON has several
//! ways to write a character: the filter searches for a piece of the pattern that JSON writes in only one
//! way, and passes every line with a number escape (`\\u0041`) of a character in such a piece. Claude itself
//! escapes only control characters and halves of characters.

use std::ops::Range;

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};
use regex_syntax::{ParserBuilder, hir::Hir};
use thiserror::Error;

use super::entry::{Entry, EntryReader, Speaker, ToolCall};
use crate::core::pattern_error::pattern_error;
use crate::core::time::WallTime;

/// The shortest piece of a pattern to search for, in bytes.
const PIECE_MIN: usize = 2;
/// The most pieces to search for: vector instructions search for 64 texts at once, and one of them is an
/// escape. With more the search takes 50 times as long.
const PIECES: usize = 32;
/// The largest compiled pattern, in bytes.
const SIZE: usize = 8 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BadPattern(String);

/// A pattern, and the texts that it is matched against.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    pattern: Regex,
    prefilter: Prefilter,
    with_tools: bool,
}

/// Finds raw lines that may match.
#[derive(Clone, Debug)]
pub struct Prefilter(Option<regex::bytes::Regex>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundIn {
    /// A message.
    Said(Speaker),
    ToolInput,
    ToolAnswer,
}

impl FoundIn {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            FoundIn::Said(speaker) => speaker.word(),
            FoundIn::ToolInput => "tool input",
            FoundIn::ToolAnswer => "tool answer",
        }
    }

    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            FoundIn::Said(Speaker::Person) => "you",
            FoundIn::Said(Speaker::Claude) => "claude",
            FoundIn::Said(Speaker::Thinking) => "thinking",
            FoundIn::Said(Speaker::Program) => "program",
            FoundIn::ToolInput | FoundIn::ToolAnswer => "tool",
        }
    }
}

/// A text with matching lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    pub at: Option<WallTime>,
    pub found_in: FoundIn,
    pub text: String,
    /// The numbers of its matching lines, from 0, in order.
    pub lines: Vec<usize>,
    /// Whether it is a message from or to a sub-agent.
    pub is_of_agent: bool,
}

impl SearchQuery {
    /// Compiles a pattern (the syntax of Rust's `regex`). `with_tools`: input and results of tools are
    /// searched too.
    ///
    /// # Errors
    /// When it is no pattern, or too large.
    pub fn new(pattern: &str, ignores_case: bool, with_tools: bool) -> Result<Self, BadPattern> {
        let compiled = RegexBuilder::new(pattern)
            .case_insensitive(ignores_case)
            .size_limit(SIZE)
            .build()
            .map_err(|error| BadPattern(pattern_error(&error)))?;
        let hir = ParserBuilder::new()
            .case_insensitive(ignores_case)
            .build()
            .parse(pattern)
            .map_err(|error| BadPattern(error.to_string()))?;
        Ok(SearchQuery { pattern: compiled, prefilter: Prefilter::of(&hir), with_tools })
    }

    pub fn prefilter(&self) -> &Prefilter {
        &self.prefilter
    }

    /// The ranges in a line of text that match, in bytes.
    pub fn matches_in<'a>(&'a self, line: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.pattern.find_iter(line).map(|found| found.range()).filter(|range| !range.is_empty())
    }

    /// Finds matches in one line of a transcript, of a conversation or of a sub-agent.
    pub fn search_line(&self, line: &[u8], mut each: impl FnMut(SearchHit)) {
        // In JSON strings quotes are escaped, so this cannot be text.
        let is_of_agent = memchr::memmem::find(line, b"\"isSidechain\":true").is_some();
        let mut each = |hit: SearchHit| each(SearchHit { is_of_agent, ..hit });
        let mut reader = EntryReader::of_agent();
        let mut take = |entry: Entry| match entry {
            Entry::Said { speaker, at, text, .. } => {
                if speaker != Speaker::Thinking || self.with_tools {
                    self.search_text(at, FoundIn::Said(speaker), text, &mut each);
                }
            }
            Entry::Tool(call) if self.with_tools => self.search_call(*call, &mut each),
            Entry::Tool(_) | Entry::Note { .. } => {}
        };
        reader.line(line, &mut take);
        reader.finish(&mut take);
    }

    fn search_call(&self, call: ToolCall, each: &mut impl FnMut(SearchHit)) {
        let mut texts = Vec::new();
        strings(call.input, &mut texts);
        for text in texts {
            self.search_text(call.at, FoundIn::ToolInput, text, each);
        }
        if let Some(answer) = call.answer {
            self.search_text(call.at, FoundIn::ToolAnswer, answer.text, each);
        }
    }

    fn search_text(
        &self,
        at: Option<WallTime>,
        found_in: FoundIn,
        text: String,
        each: &mut impl FnMut(SearchHit),
    ) {
        let matching = |(_, line): &(usize, &str)| self.pattern.is_match(line);
        let lines: Vec<usize> = text.lines().enumerate().filter(matching).map(|(number, _)| number).collect();
        if !lines.is_empty() {
            each(SearchHit { at, found_in, text, lines, is_of_agent: false });
        }
    }
}

/// All strings in a value.
fn strings(value: serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => into.push(text),
        serde_json::Value::Array(values) => values.into_iter().for_each(|value| strings(value, into)),
        serde_json::Value::Object(fields) => fields.into_iter().for_each(|(_, value)| strings(value, into)),
        _ => {}
    }
}

impl Prefilter {
    fn of(pattern: &Hir) -> Self {
        let pieces = [ExtractKind::Prefix, ExtractKind::Suffix]
            .into_iter()
            .filter_map(|kind| pieces(&Extractor::new().kind(kind).limit_total(PIECES).extract(pattern)))
            .max_by_key(|pieces| pieces.iter().map(Vec::len).min());
        let filter = pieces.map(|pieces| {
            // Only ASCII escapes can hide a piece that is ASCII.
            let is_ascii = pieces.iter().all(|piece| piece.is_ascii());
            let mut any = if is_ascii { r"(?-u)\\u00[2-7]" } else { r"(?-u)\\u" }.to_owned();
            for piece in pieces {
                any.push('|');
                piece.iter().for_each(|byte| any.push_str(&format!("\\x{byte:02X}")));
            }
            any
        });
        Prefilter(filter.and_then(|any| {
            regex::bytes::RegexBuilder::new(&any).unicode(false).size_limit(SIZE).build().ok()
        }))
    }

    /// The offset, at or after `from`, of a piece in the next line that may match; without a filter every
    /// byte may be in one.
    pub fn next(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let Some(filter) = &self.0 else { return (from < bytes.len()).then_some(from) };
        let mut at = from;
        loop {
            let found = filter.find_at(bytes, at)?.start();
            if bytes[found] != b'\\' || is_piece_escape(bytes, found) {
                return Some(found);
            }
            // A piece may begin with the letter after it.
            at = found + 1;
        }
    }
}

/// Whether the `\u` at this offset is an escape of a character that a piece may contain. `bytes` begin at the
/// start of a line.
fn is_piece_escape(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
    let is_control = matches!(&bytes[at + 2..], [b'0', b'0', b'0' | b'1', ..]);
    before % 2 == 0 && !is_control
}

/// For each of the texts with which every match begins or ends, a piece that JSON writes in only one way;
/// `None` if a text has none, or there are too many.
fn pieces(texts: &Seq) -> Option<Vec<Vec<u8>>> {
    let texts = texts.literals()?;
    if texts.is_empty() || texts.len() > PIECES {
        return None;
    }
    texts.iter().map(|text| longest_plain(text.as_bytes())).collect()
}

/// The longest run of bytes that JSON writes literally or as a number escape.
fn longest_plain(text: &[u8]) -> Option<Vec<u8>> {
    // JSON may escape a slash.
    let is_plain = |byte: &u8| *byte >= 0x20 && !matches!(*byte, b'"' | b'\\' | b'/' | 0x7f);
    let run = text.split(|byte| !is_plain(byte)).max_by_key(|run| run.len())?;
    (run.len() >= PIECE_MIN).then(|| run.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(pattern: &str) -> SearchQuery {
        SearchQuery::new(pattern, false, false).unwrap()
    }

    fn user(text: &str) -> String {
        let text = serde_json::to_string(text).unwrap();
        format!(r#"{{"type":"user","message":{{"content":{text}}}}}"#)
    }

    /// Each character as a JSON number escape.
    fn by_number(text: &str) -> String {
        let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
        format!(r#"{{"type":"user","message":{{"content":"{}"}}}}"#, units.collect::<String>())
    }

    fn found(query: &SearchQuery, line: &str) -> usize {
        if query.prefilter().next(line.as_bytes(), 0).is_none() {
            return 0;
        }
        let mut hits = 0;
        query.search_line(line.as_bytes(), |hit| hits += hit.lines.len());
        hits
    }

    #[test]
    fn the_filter_loses_nothing_that_json_writes_in_another_way() {
        for (pattern, text) in [
            ("needle", "a needle in it"),
            ("say \"hi\" now", "I say \"hi\" now"),
            (r"C:\\dir", "C:\\dir"),
            ("a/b/c", "see a/b/c"),
            ("tab\there", "tab\there"),
            ("žluťoučký", "kůň žluťoučký"),
            ("日本", "日本語"),
            ("👍🏽", "ok 👍🏽"),
            ("users", "C:\\users"),
            ("u002d", "\\u002d"),
            ("uživatelé", "C:\\uživatelé"),
            ("foo|bar", "bar"),
            (r"\bfo+\b", "foo"),
            (r"[a-z]+ failed", "test failed"),
            (r"\d+", "7"),
            ("^begin", "x\nbegin"),
            ("end$", "end\nx"),
            (".", "x"),
            ("(?i)NEEDLE", "needle"),
        ] {
            let query = query(pattern);
            assert_eq!(found(&query, &user(text)), 1, "{pattern}");
            assert_eq!(found(&query, &by_number(text)), 1, "{pattern} by number");
            assert_eq!(found(&query, &user(text).replace('/', "\\/")), 1, "{pattern} with slashes escaped");
        }
        let ignoring = SearchQuery::new("STRASSE größe", true, false).unwrap();
        assert_eq!(found(&ignoring, &user("strasse GRÖSSE")), 0, "a pattern folds characters, not words");
        assert_eq!(found(&ignoring, &user("Strasse GRÖßE")), 1);
        assert!(query("needle").prefilter().next(user("hay").as_bytes(), 0).is_none(), "and it filters");
        assert!(query("(?i)PLANTED-needle").prefilter().next(user("hay").as_bytes(), 0).is_none());
        assert!(SearchQuery::new("(", false, false).is_err());
        assert!(SearchQuery::new("(?i)\\w{5000}", false, false).is_err(), "too large");
    }

    #[test]
    fn only_what_people_and_claude_wrote_is_searched_unless_tools_are_asked_for() {
        let lines = [
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"needle","deep":[{"x":"needle"}]}}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"a\nneedle\nneedle"}]}}"#,
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"thinking","thinking":"needle"}]}}"#,
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"needle"}]}}"#,
            r#"{"type":"api-request-blob","message":{"role":"user","content":"needle"}}"#,
            r#"{"type":"ai-title","aiTitle":"needle"}"#,
        ];
        let count = |with_tools| {
            let query = SearchQuery::new("needle", false, with_tools).unwrap();
            lines.map(|line| found(&query, line))
        };
        assert_eq!(count(false), [0, 0, 0, 1, 0, 0]);
        assert_eq!(count(true), [2, 2, 1, 1, 0, 0]);
    }

    proptest! {
        /// A piece of a text is found in every encoding of the text.
        #[test]
        fn every_text_is_found_in_each_json_encoding(text in "[a-zß\"/\\\\\té漢👍 ]{1,20}", from in 0usize..20, len in 1usize..20,
            ignores_case: bool) {
            let chars: Vec<char> = text.chars().collect();
            let piece: String = chars.iter().skip(from % chars.len()).take(len).collect();
            let query = SearchQuery::new(&regex::escape(&piece), ignores_case, false).unwrap();
            prop_assume!(!text.trim().is_empty());
            // A prompt that begins with a tag of Claude's own does not count, and neither do spaces alone.
            let text = format!("x{text}x");
            prop_assert_eq!(found(&query, &user(&text)), 1);
            prop_assert_eq!(found(&query, &by_number(&text)), 1);
        }
    }
}
