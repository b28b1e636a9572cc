//! The redactions of one tape: of its outcome, of its texts and of its screens.

use std::ops::{Deref, Range};

use regex::Regex;

use super::screen_cells::ScreenCells;
use super::volatile;
use crate::core::redact::{SecretKind, mark, redact, secret_ranges};
use crate::testing::outcome::{ScreenCopy, TapeFailure, TapeOutcome, TapeVerdict};

/// The shortest value that is hidden, in characters.
const SECRET_MIN: usize = 4;

/// A part of a text and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    /// The part, in bytes.
    pub(super) range: Range<usize>,
    pub(super) with: String,
}

/// The redactions of one tape's outcome and snapshots.
#[derive(Clone, Debug, Default)]
pub struct TapeRedactions {
    /// Texts with their placeholders, longest first.
    literals: Vec<(String, String)>,
    /// `Set Redact` of the tape.
    rules: Vec<(Regex, String)>,
    pids: Vec<u32>,
    /// Values that are hidden everywhere, even within a word, with their placeholders.
    secrets: Vec<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Only secrets and directories.
    OwnWords,
    /// Secrets, rules and directories.
    Report,
    /// Also what differs from run to run.
    Snapshot,
}

impl TapeRedactions {
    /// Redacts secrets and values that differ from run to run, without rules of a tape.
    pub fn new() -> TapeRedactions {
        TapeRedactions::default()
    }

    /// Replaces this text everywhere: a directory by `[DIR]`, the program's version by `[VERSION]`. A text of
    /// fewer than two characters is ignored.
    #[must_use]
    pub fn literal(mut self, text: &str, placeholder: &str) -> TapeRedactions {
        if text.chars().count() > 1 {
            self.literals.push((text.to_owned(), placeholder.to_owned()));
            self.literals.sort_by_key(|(text, _)| usize::MAX - text.len());
        }
        self
    }

    /// Hides the value of a variable everywhere: `${NAME}` is shown instead. A value of fewer than four
    /// characters is too common for that.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> TapeRedactions {
        for line in value.lines() {
            let quoted = format!("{line:?}");
            for form in [line, quoted.trim_matches('"')] {
                if form.chars().count() >= SECRET_MIN && self.secrets.iter().all(|(known, _)| known != form) {
                    self.secrets.push((form.to_owned(), format!("${{{name}}}")));
                }
            }
        }
        self.secrets.sort_by_key(|(text, _)| usize::MAX - text.len());
        self
    }

    /// The test's own directory, shown as `[DIR]`.
    #[must_use]
    pub fn dir(self, path: &str) -> TapeRedactions {
        self.literal(path.trim_end_matches('/'), "[DIR]")
    }

    /// The test's home directory, shown as `[HOME]`.
    #[must_use]
    pub fn home(self, path: &str) -> TapeRedactions {
        self.literal(path.trim_end_matches('/'), "[HOME]")
    }

    /// A rule of the tape: `Set Redact /id=\d+/ "id=[ID]"`. Rows of a screen are matched one by one, so `^`
    /// and `$` are their edges.
    #[must_use]
    pub fn rule(mut self, pattern: Regex, placeholder: &str) -> TapeRedactions {
        self.rules.push((pattern, placeholder.to_owned()));
        self
    }

    /// Process ids of the test, shown as `[PID]` in snapshots if they stand alone. Those below 100 are
    /// ignored: they are likely to be something else.
    pub fn add_pids(&mut self, pids: impl IntoIterator<Item = u32>) {
        self.pids.extend(pids.into_iter().filter(|pid| *pid >= 100));
    }

    /// Redacts a text of the program for a report; it may have several lines.
    pub fn text(&self, text: &str) -> String {
        self.lines(text, |_, _| (Vec::new(), Depth::Report))
    }

    /// Redacts a text of the tape or of hopty for a report. The tape's rules are for the output of programs
    /// and would distort it.
    pub fn own_words(&self, text: &str) -> String {
        self.lines(text, |_, _| (Vec::new(), Depth::OwnWords))
    }

    /// Redacts a message about `command` for a report. Its first line is hopty's own, apart from quotes of
    /// the program; the rest is output.
    pub fn message(&self, message: &str, command: &str) -> String {
        self.lines(message, |number, line| {
            if number > 0 {
                return (Vec::new(), Depth::Report);
            }
            let mut found = Vec::new();
            for quoted in quoted_ranges(line).filter(|quoted| !command.contains(&line[quoted.clone()])) {
                self.find_by_rules(&line[quoted.clone()], quoted.start, &mut found);
            }
            (found, Depth::OwnWords)
        })
    }

    /// Redacts a text line by line. `find` returns for each line, by its number from 0, what it has found,
    /// and how much else to redact.
    fn lines(&self, text: &str, find: impl Fn(usize, &str) -> (Vec<Replacement>, Depth)) -> String {
        // First, because replacements without a known value might cut one.
        let mut text = text.to_owned();
        for (secret, with) in &self.secrets {
            text = text.replace(secret.as_str(), with);
        }
        let text = redact(&text);
        let lines: Vec<String> = text
            .split('\n')
            .enumerate()
            .map(|(number, line)| {
                let (found, depth) = find(number, line);
                replaced(line, &self.replacements(line, found, depth))
            })
            .collect();
        lines.join("\n")
    }

    /// Whether the tape has redactions, or the value of a variable.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty() || !self.secrets.is_empty()
    }

    /// Where the tape's own rules and the values of its variables match in a text, line by line, as ranges of
    /// bytes.
    pub fn rule_ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut start = 0;
        for line in text.split('\n') {
            for (rule, _) in &self.rules {
                let parts = rule.find_iter(line).filter(|part| !part.is_empty());
                found.extend(parts.map(|part| start + part.start()..start + part.end()));
            }
            start += line.len() + 1;
        }
        for (secret, _) in &self.secrets {
            found.extend(text.match_indices(secret.as_str()).map(|(at, _)| at..at + secret.len()));
        }
        found
    }

    /// Redacts a screen for a report.
    pub fn screen(&self, screen: &ScreenCopy) -> ScreenCopy {
        self.redact_screen(screen, Depth::Report)
    }

    /// Redacts a screen for a snapshot. If a placeholder differs in width, the blanks after it change, so
    /// that columns and borders stay where they are.
    pub fn snapshot_screen(&self, screen: &ScreenCopy) -> ScreenCopy {
        self.redact_screen(screen, Depth::Snapshot)
    }

    /// Redacts key names. Characters are examined as the typed text.
    pub fn keys(&self, keys: &[String]) -> Vec<String> {
        let mut out = Vec::with_capacity(keys.len());
        for group in keys.chunk_by(|a, b| is_character(a) && is_character(b)) {
            let typed: String = group.iter().map(|key| if key == "Space" { " " } else { key }).collect();
            let shown = self.text(&typed);
            if shown == typed { out.extend_from_slice(group) } else { out.push(shown) }
        }
        out
    }

    /// Redacts an outcome for a report.
    pub fn outcome(&self, mut outcome: TapeOutcome) -> RedactedOutcome {
        match &mut outcome.verdict {
            TapeVerdict::Failed(failure) => self.redact_failure(failure),
            TapeVerdict::Skipped(text) | TapeVerdict::Unreadable(text) => *text = self.text(text),
            TapeVerdict::Passed | TapeVerdict::Smoke | TapeVerdict::Flaky => {}
        }
        outcome.other_failures.iter_mut().for_each(|failure| self.redact_failure(failure));
        for warning in &mut outcome.warnings {
            warning.message = self.message(&warning.message, "");
        }
        outcome.last_screen = outcome.last_screen.map(|screen| self.screen(&screen));
        RedactedOutcome(outcome)
    }

    pub fn failure(&self, mut failure: TapeFailure) -> TapeFailure {
        self.redact_failure(&mut failure);
        failure
    }

    fn redact_failure(&self, failure: &mut TapeFailure) {
        let redact = |text: &mut String| *text = self.text(text);
        let redact_own = |text: &mut String| *text = self.own_words(text);
        failure.message = self.message(&failure.message, &failure.command);
        redact_own(&mut failure.command);
        failure.nearest.iter_mut().for_each(redact);
        failure.hint.iter_mut().for_each(redact_own);
        failure.again.iter_mut().for_each(redact_own);
        failure.program.iter_mut().for_each(redact_own);
        failure.row_notes.iter_mut().for_each(|(_, text)| redact_own(text));
        failure.keys = self.keys(&failure.keys);
        failure.screen = failure.screen.as_ref().map(|screen| self.screen(screen));
        let Some(comparison) = &mut failure.comparison else { return };
        comparison.others.iter_mut().for_each(redact);
        for row in &mut comparison.rows {
            for (text, cells) in
                [(&mut row.expected, &mut row.expected_cells), (&mut row.actual, &mut row.actual_cells)]
            {
                let Some(text) = text else { continue };
                let shown = self.text(text);
                if shown != *text {
                    *text = shown;
                    // They count cells of the original text.
                    cells.clear();
                }
            }
        }
    }

    fn redact_screen(&self, screen: &ScreenCopy, depth: Depth) -> ScreenCopy {
        let mut cells = ScreenCells::of(screen);
        let rows = cells.texts();
        let long = self.across_rows(&rows, screen.cols);
        for (row, (text, found)) in rows.iter().zip(long).enumerate() {
            let found = self.replacements(text, found, depth);
            cells.replace(row, &found);
        }
        let title = self.replacements(&screen.title, secrets(&screen.title), depth);
        cells.into_copy(replaced(&screen.title, &title), screen)
    }

    /// Secrets and literals that continue on the next row, or are on one; by row.
    fn across_rows(&self, rows: &[String], cols: u16) -> Vec<Vec<Replacement>> {
        let mut text = String::new();
        let mut starts = Vec::with_capacity(rows.len());
        for row in rows {
            starts.push(text.len());
            text.push_str(row);
            // A row that is full may continue on the next.
            if unicode_width::UnicodeWidthStr::width(row.as_str()) < usize::from(cols) {
                text.push('\n');
            }
        }
        let mut found = Vec::new();
        self.find_literals(&text, &mut found);
        for secret in secrets(&text) {
            add(&mut found, secret.range, &secret.with);
        }
        let mut by_row = vec![Vec::new(); rows.len()];
        for Replacement { range, with } in found {
            let first = starts.partition_point(|start| *start <= range.start).saturating_sub(1);
            for (row, start) in starts.iter().enumerate().skip(first) {
                let (from, to) = (range.start.max(*start), range.end.min(start + rows[row].len()));
                if range.end <= *start {
                    break;
                }
                if from < to {
                    let with = if row == first { with.clone() } else { " ".repeat(to - from) };
                    by_row[row].push(Replacement { range: from - start..to - start, with });
                }
            }
        }
        by_row
    }

    /// The replacements of the tape's rules in a part that starts at `start`.
    fn find_by_rules(&self, part: &str, start: usize, found: &mut Vec<Replacement>) {
        for (rule, with) in &self.rules {
            for part in rule.find_iter(part).filter(|part| !part.is_empty()) {
                add(found, start + part.start()..start + part.end(), with);
            }
        }
    }

    fn find_literals(&self, text: &str, found: &mut Vec<Replacement>) {
        for (secret, with) in &self.secrets {
            for (at, _) in text.match_indices(secret.as_str()) {
                add(found, at..at + secret.len(), with);
            }
        }
        for (literal, with) in &self.literals {
            for (at, _) in text.match_indices(literal.as_str()) {
                let end = at + literal.len();
                // Not part of a longer name: /home/u does not start /home/uwe.
                let continues = text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
                if !continues {
                    add(found, at..end, with);
                }
            }
        }
    }

    /// All replacements in a line, in order, in addition to those found before.
    fn replacements(&self, line: &str, mut found: Vec<Replacement>, depth: Depth) -> Vec<Replacement> {
        if depth != Depth::OwnWords {
            self.find_by_rules(line, 0, &mut found);
        }
        self.find_literals(line, &mut found);
        if depth == Depth::Snapshot {
            volatile::find(line, &self.pids, |range, with| add(&mut found, range, with));
        }
        found.sort_by_key(|part| part.range.start);
        found
    }
}

/// An outcome without secrets and without paths of this machine: the only input of reports.
#[derive(Clone, Debug, PartialEq)]
pub struct RedactedOutcome(TapeOutcome);

impl Deref for RedactedOutcome {
    type Target = TapeOutcome;

    fn deref(&self) -> &TapeOutcome {
        &self.0
    }
}

fn secrets(text: &str) -> Vec<Replacement> {
    let kind = |(range, kind): (Range<usize>, SecretKind)| Replacement { range, with: mark(kind) };
    secret_ranges(text).into_iter().map(kind).collect()
}

/// Adds a replacement, unless another one overlaps it.
fn add(found: &mut Vec<Replacement>, range: Range<usize>, with: &str) {
    if found.iter().all(|other| other.range.end <= range.start || range.end <= other.range.start) {
        found.push(Replacement { range, with: with.to_owned() });
    }
}

fn replaced(text: &str, found: &[Replacement]) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for part in found {
        out.push_str(&text[from..part.range.start]);
        out.push_str(&part.with);
        from = part.range.end;
    }
    out.push_str(&text[from..]);
    out
}

/// The text between quotes in a line, as `{:?}` writes them.
fn quoted_ranges(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut is_escaped = false;
    let quotes = line.bytes().enumerate().filter(move |(_, byte)| {
        let is_quote = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_quote
    });
    let quotes: Vec<usize> = quotes.map(|(at, _)| at).collect();
    // A quote without a second one extends to the end.
    let ends: Vec<usize> = quotes.iter().copied().chain([line.len()]).collect();
    (0..quotes.len()).step_by(2).map(move |number| quotes[number] + 1..ends[number + 1])
}

fn is_character(key: &str) -> bool {
    key == "Space" || key.chars().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{Color, Screen};
    use crate::testing::outcome::{FailureKind, TestPlace};

    fn copy(cols: u16, bytes: &str) -> ScreenCopy {
        let mut screen = Screen::new(cols, 6);
        screen.feed(bytes.as_bytes());
        ScreenCopy::of(&screen)
    }

    fn rows(redactions: &TapeRedactions, bytes: &str) -> Vec<String> {
        let mut rows = redactions.snapshot_screen(&copy(40, bytes)).text_rows();
        rows.truncate(1 + rows.iter().rposition(|row| !row.is_empty()).unwrap_or(0));
        rows
    }

    #[test]
    fn the_columns_behind_a_placeholder_stay() {
        let redactions = TapeRedactions::new().rule(Regex::new(r"id=\d+").unwrap(), "id=[ID]");
        for (one, other) in [
            ("id=1        name   │", "id=12345    name   │"),
            ("│ id=1, done        │", "│ id=12345, done    │"),
            ("│ id=1 done         │", "│ id=12345678 done  │"),
            ("  id=1 name", "id=123 name"),
            ("id=1 end", "id=123456789 end"),
            ("id=1", "id=123456789"),
        ] {
            assert_eq!(rows(&redactions, one), rows(&redactions, other));
        }
        assert_eq!(rows(&redactions, "│ id=1, done        │"), ["│ id=[ID], done     │"]);
        assert_eq!(rows(&redactions, "│id=1      │id=2      │"), ["│id=[ID]   │id=[ID]   │"]);
    }

    #[test]
    fn styles_and_the_cursor_move_with_their_cells() {
        let redactions = TapeRedactions::new().rule(Regex::new(r"\d+").unwrap(), "[N]");
        let screen = redactions.snapshot_screen(&copy(40, "\x1b[31m1234567\x1b[m 漢\x1b[32mok\x1b[m $ "));
        let runs: Vec<_> = screen.lines[0].iter().map(|run| (run.text.as_str(), run.style.fg)).collect();
        let [red, green] = [1, 2].map(Color::Indexed);
        assert_eq!(runs, [("[N]", red), (" 漢", Color::Default), ("ok", green), (" $", Color::Default)]);
        assert_eq!(screen.cursor, Some((1, 12)));
    }

    #[test]
    fn a_secret_is_found_also_when_it_goes_on_in_the_next_row() {
        let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
        let wrapped = copy(20, &format!("token: {token} end"));
        let shown = TapeRedactions::new().screen(&wrapped).text_rows();
        let all = shown.join("");
        assert!(shown[0].contains("[redacted: GitHub token]") && all.ends_with("end"), "{shown:?}");
        assert!(!token.as_bytes().windows(6).any(|part| all.contains(std::str::from_utf8(part).unwrap())));
        let key =
            "-----BEGIN RSA PRIVATE KEY-----\r\nMIIEow\r\nqqqq\r\n-----END RSA PRIVATE KEY-----\r\nafter";
        let shown = TapeRedactions::new().screen(&copy(40, key)).text_rows();
        assert_eq!(shown, ["[redacted: private key]", "", "", "", "after", ""]);
    }

    #[test]
    fn directories_are_named_and_their_neighbours_are_not() {
        let redactions = TapeRedactions::new().dir("/tmp/t1/").home("/tmp/t1/home");
        let shown = redactions.text("/tmp/t1/a /tmp/t1/home/b /tmp/t12 /tmp/t1");
        assert_eq!(shown, "[DIR]/a [HOME]/b /tmp/t12 [DIR]");
        assert_eq!(TapeRedactions::new().home("/").text("/a/b"), "/a/b");
        let wrapped = redactions.screen(&copy(10, "in /tmp/t1/x"));
        assert_eq!(wrapped.text_rows()[..2], ["in [DIR]", "/x"]);
    }

    #[test]
    fn a_report_keeps_times_and_a_snapshot_does_not() {
        let redactions = TapeRedactions::new();
        let screen = copy(40, "at 12:00:01");
        assert_eq!(redactions.screen(&screen).text_rows()[0], "at 12:00:01");
        assert_eq!(redactions.snapshot_screen(&screen).text_rows()[0], "at [TIME]");
    }

    #[test]
    fn a_rule_of_the_tape_changes_what_a_program_has_shown_and_no_word_of_hopty() {
        let place = TestPlace { file: "a1.tape".to_owned(), line: 1, column: 1 };
        let message = "ended with exit 3, not exit 0; nearest: row 12 \"took 41 ms\", not \"x1\"\n12 lines";
        let mut failure = TapeFailure::new(FailureKind::Check, place, "Expect \"x1\"", message);
        failure.hint = Some("`Exit 3` expects it".to_owned());
        failure.again = Some("hopty test a1.tape".to_owned());
        failure.nearest = Some("took 41 ms".to_owned());
        failure.program = vec!["sleep 3 has ended: exit 0".to_owned()];
        failure.row_notes = vec![(1, "expected \"x1\"".to_owned())];
        let redactions = TapeRedactions::new().rule(Regex::new(r"\d+").unwrap(), "N").dir("/tmp/t1");
        let shown = redactions.failure(failure);
        let expected = "ended with exit 3, not exit 0; nearest: row 12 \"took N ms\", not \"x1\"\nN lines";
        assert_eq!((shown.message.as_str(), shown.command.as_str()), (expected, "Expect \"x1\""));
        assert_eq!(shown.hint.as_deref(), Some("`Exit 3` expects it"));
        assert_eq!(shown.again.as_deref(), Some("hopty test a1.tape"));
        assert_eq!(shown.nearest.as_deref(), Some("took N ms"));
        assert_eq!(shown.program, ["sleep 3 has ended: exit 0"]);
        assert_eq!(shown.row_notes, [(1, "expected \"x1\"".to_owned())]);
        assert_eq!(redactions.message("in /tmp/t1: \"a \\\" 1", ""), "in [DIR]: \"a \\\" N");
    }

    #[test]
    fn everything_of_an_outcome_that_is_shown_is_redacted() {
        let secret = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5";
        let place = TestPlace { file: "a.tape".to_owned(), line: 1, column: 1 };
        let mut failure = TapeFailure::new(FailureKind::Check, place.clone(), secret, secret);
        failure.nearest = Some(secret.to_owned());
        failure.hint = Some(secret.to_owned());
        failure.again = Some(secret.to_owned());
        failure.program = vec![secret.to_owned()];
        failure.row_notes = vec![(1, secret.to_owned())];
        failure.keys = secret.chars().map(String::from).chain(["Enter".to_owned()]).collect();
        failure.screen = Some(copy(80, &format!("\x1b]2;{secret}\x07{secret}")));
        failure.comparison = Some(crate::testing::outcome::ScreenComparison {
            others: vec![secret.to_owned()],
            rows: vec![crate::testing::outcome::RowComparison {
                row: 1,
                expected: Some(secret.to_owned()),
                actual: Some(secret.to_owned()),
                expected_cells: vec![0..1, 2..3],
                actual_cells: vec![0..1, 2..3],
            }],
        });
        let mut outcome = TapeOutcome::new("a.tape", TapeVerdict::Failed(Box::new(failure.clone())));
        outcome.last_screen = failure.screen.clone();
        outcome.other_failures = vec![failure];
        outcome.warnings = vec![crate::testing::outcome::TapeWarning { place, message: secret.to_owned() }];
        let shown = TapeRedactions::new().outcome(outcome);
        let all = format!("{:?}", &*shown);
        assert!(!all.contains("ghp_") && all.contains("\"Enter\""), "{all}");
        assert_eq!(shown.failure().unwrap().keys, ["[redacted: GitHub token]", "Enter"]);
    }
}
