//! TAP 13, which `prove` reads: one test point per tape, with a YAML block if there is more to report.
//! Strings in the block are JSON strings, which are valid YAML. Lists of texts are blocks of lines, each
//! after a bar: Perl's reader accepts no other lists, and a row may start with blanks.

use std::io::{self, Write};

use super::TestReport;
use super::ink::safe;
use crate::testing::outcome::{TapeFailure, TapeVerdict, TestSummary};
use crate::testing::redaction::RedactedOutcome;

/// A report in the Test Anything Protocol.
pub struct TapReport<W> {
    out: W,
    count: usize,
}

impl<W: Write> TapReport<W> {
    pub fn new(out: W) -> Self {
        TapReport { out, count: 0 }
    }

    fn failure(&mut self, failure: &TapeFailure) -> io::Result<()> {
        let out = &mut self.out;
        writeln!(out, "  message: {}", quoted(&failure.message))?;
        writeln!(out, "  severity: fail")?;
        writeln!(out, "  type: {}", failure.kind.word())?;
        let place = &failure.place;
        writeln!(out, "  at:\n    file: {}\n    line: {}", quoted(&place.file), place.line)?;
        writeln!(out, "    column: {}", place.column)?;
        writeln!(out, "  command: {}", quoted(&failure.command))?;
        for (key, text) in [("nearest", &failure.nearest), ("hint", &failure.hint), ("again", &failure.again)]
        {
            if let Some(text) = text {
                writeln!(out, "  {key}: {}", quoted(text))?;
            }
        }
        if let Some(comparison) = &failure.comparison {
            writeln!(out, "  differences:")?;
            for row in &comparison.rows {
                writeln!(out, "    - row: {}", row.row)?;
                for (key, text) in [("expected", &row.expected), ("actual", &row.actual)] {
                    let text = text.as_deref().map_or("null".to_owned(), quoted);
                    writeln!(out, "      {key}: {text}")?;
                }
            }
            block(out, "other_differences", comparison.others.iter().map(String::as_str))?;
        }
        if let Some(screen) = &failure.screen {
            block(out, "screen", screen.text_rows().iter().map(String::as_str))?;
        }
        if !failure.keys.is_empty() {
            writeln!(out, "  keys: {}", quoted(&failure.keys.join(" ")))?;
        }
        let files: Vec<String> =
            failure.evidence.iter().map(|file| file.path.display().to_string()).collect();
        block(out, "files", files.iter().map(String::as_str))
    }
}

impl<W: Write> TestReport for TapReport<W> {
    fn begin(&mut self, _: usize) -> io::Result<()> {
        writeln!(self.out, "TAP version 13")
    }

    fn finished(&mut self, outcome: &RedactedOutcome) -> io::Result<()> {
        self.count += 1;
        let is_ok =
            matches!(outcome.verdict, TapeVerdict::Passed | TapeVerdict::Smoke | TapeVerdict::Skipped(_));
        let word = if is_ok { "ok" } else { "not ok" };
        write!(self.out, "{word} {} - {}", self.count, described(&outcome.tape))?;
        if let TapeVerdict::Skipped(reason) = &outcome.verdict {
            return writeln!(self.out, " # SKIP {}", described(reason));
        }
        writeln!(self.out, "\n  ---")?;
        writeln!(self.out, "  duration_ms: {}", outcome.times.took.as_millis())?;
        writeln!(self.out, "  verdict: {}", outcome.verdict.word())?;
        if outcome.attempts > 1 {
            writeln!(self.out, "  attempts: {}", outcome.attempts)?;
            writeln!(self.out, "  failed_attempts: {}", outcome.failed_attempts())?;
        }
        if let TapeVerdict::Unreadable(report) = &outcome.verdict {
            writeln!(self.out, "  message: {}\n  severity: fail", quoted(report))?;
        }
        let warnings: Vec<String> = outcome
            .warnings
            .iter()
            .map(|warning| format!("{}: {}", warning.place, warning.message))
            .collect();
        block(&mut self.out, "warnings", warnings.iter().map(String::as_str))?;
        if let Some(failure) = outcome.failure() {
            self.failure(failure)?;
        }
        writeln!(self.out, "  ...")?;
        self.out.flush()
    }

    fn end(&mut self, summary: &TestSummary) -> io::Result<()> {
        if let Some(strays) = summary.stray_words() {
            self.count += 1;
            writeln!(self.out, "not ok {} - {}", self.count, described(&strays))?;
        }
        let stopped = summary.interrupted.then_some("interrupted");
        match summary.internal.as_deref().or(stopped) {
            Some(reason) => writeln!(self.out, "Bail out! {}", described(reason))?,
            None => writeln!(self.out, "1..{}", self.count)?,
        }
        self.out.flush()
    }
}

/// Lines under a key, each after a bar; nothing without lines.
fn block<'a>(out: &mut impl Write, key: &str, texts: impl Iterator<Item = &'a str>) -> io::Result<()> {
    for (number, line) in texts.flat_map(|text| text.split('\n')).enumerate() {
        if number == 0 {
            writeln!(out, "  {key}: |")?;
        }
        writeln!(out, "    |{}", safe(line))?;
    }
    Ok(())
}

/// A text of one line outside the YAML block, where `#` would begin a directive.
fn described(text: &str) -> String {
    safe(text).replace('\\', "\\\\").replace('#', "\\#")
}

/// A string of one line for YAML, with hidden characters escaped, except line ends.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(safe).collect();
    serde_json::Value::String(lines.join("\n")).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::core::text::visible::is_hidden;

    fn report(outcomes: &[RedactedOutcome]) -> String {
        let mut out = Vec::new();
        samples::play(&mut TapReport::new(&mut out), outcomes);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_verdict_is_a_test_point() {
        let tap = report(&samples::all());
        for part in [
            "TAP version 13\nok 1 - tests/ok.tape\n  ---\n  duration_ms: 120\n",
            "ok 3 - tests/skip.tape # SKIP vim is not installed\nnot ok 4 - tests/flaky.tape\n",
            "  attempts: 3\n  failed_attempts: 1\n",
            "not ok 5 - tests/bad.tape\n",
            "  at:\n    file: \"tests/vim.tape\"\n    line: 9\n",
            "  screen: |\n    |one\n    |\n",
            "      expected: \"name  old\"\n      actual: \"name  new\"\n",
        ] {
            assert!(tap.contains(part), "{part:?} in {tap}");
        }
        assert!(tap.ends_with("\n  ...\n1..7\n"), "{tap}");
    }

    #[test]
    fn no_text_leaves_its_line() {
        let tap = report(&[samples::hostile()]);
        assert!(tap.chars().all(|c| c == '\n' || !is_hidden(c)) && !tap.contains('\u{ffff}'), "{tap:?}");
        let outside: Vec<&str> = tap.lines().filter(|line| !line.starts_with("  ")).collect();
        assert_eq!(outside.len(), 3, "{outside:?}");
        assert!(outside[1].starts_with("not ok 1 - ") && outside[2] == "1..1", "{outside:?}");
        let bare = outside[1].replace("\\\\", "").replace("\\#", "");
        assert!(!bare.contains('#'), "{bare}");
        assert_eq!(tap.lines().filter(|line| *line == "  ...").count(), 1);
    }

    #[test]
    fn tests_that_were_stopped_bail_out() {
        let mut out = Vec::new();
        let mut report = TapReport::new(&mut out);
        report.begin(3).unwrap();
        report.end(&TestSummary { interrupted: true, ..TestSummary::default() }).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "TAP version 13\nBail out! interrupted\n");
    }
}
