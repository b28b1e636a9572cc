//! The report for people: one line per tape, failures in full, the counts at the end.

use std::io::{self, Write};

use super::failure_text::{INDENT, details, headline, one_line, seconds};
use super::ink::{Ink, InkLine, without_commands};
use super::{ReportOptions, TestReport};
use crate::testing::outcome::{TapeOutcome, TapeVerdict, TestSummary};
use crate::testing::redaction::RedactedOutcome;

/// The most failed tapes that are listed again at the end.
const NAMES_MAX: usize = 20;
/// Indentation of the continuation of a hint, in columns: after `hint: `.
const HINT: usize = 6;

/// A report for a terminal or a log.
pub struct ConsoleReport<W> {
    out: W,
    options: ReportOptions,
    /// The first line of each tape that did not pass.
    failed: Vec<String>,
    tapes: usize,
}

impl<W: Write> ConsoleReport<W> {
    pub fn new(out: W, options: &ReportOptions) -> Self {
        ConsoleReport { out, options: options.clone(), failed: Vec::new(), tapes: 0 }
    }

    fn line(&mut self, line: &InkLine) -> io::Result<()> {
        let text = line.written(self.options.colors, self.options.cols);
        let text = if self.options.github { without_commands(&text) } else { text.into() };
        writeln!(self.out, "{text}")
    }

    fn failure(&mut self, word: &str, ink: Ink, outcome: &TapeOutcome) -> io::Result<()> {
        let Some(failure) = outcome.failure() else {
            return self.line(&InkLine::new(ink, word).with(Ink::Plain, &format!(" {}", outcome.tape)));
        };
        self.failed.push(format!("{word} {}  {}", failure.place, one_line(&failure.message)));
        let head = InkLine::new(ink, word).with(Ink::Plain, " ").with(Ink::Bold, &headline(failure));
        self.line(&head.hanging(INDENT.len()))?;
        if outcome.attempts > 1 {
            let (failed, all) = (outcome.failed_attempts(), outcome.attempts);
            let words = format!("     {failed} of {all} attempts failed; this is the last failure");
            self.line(&InkLine::new(Ink::Yellow, &words).hanging(INDENT.len()))?;
        }
        for line in details(failure, self.options.cols) {
            self.line(&line)?;
        }
        Ok(())
    }
}

impl<W: Write> TestReport for ConsoleReport<W> {
    fn begin(&mut self, tapes: usize) -> io::Result<()> {
        self.tapes = tapes;
        Ok(())
    }

    fn finished(&mut self, outcome: &RedactedOutcome) -> io::Result<()> {
        let took = seconds(outcome.times.took);
        let tape = outcome.tape.as_str();
        match &outcome.verdict {
            TapeVerdict::Passed | TapeVerdict::Smoke => {
                let note = if outcome.verdict == TapeVerdict::Smoke { "  no check on the tape" } else { "" };
                let times = match outcome.attempts {
                    0 | 1 => String::new(),
                    times => format!(" for {times} times"),
                };
                let line =
                    InkLine::new(Ink::Green, "ok  ").with(Ink::Plain, &format!(" {tape}  {took}{times}"));
                self.line(&line.with(Ink::Yellow, note))?;
            }
            TapeVerdict::Failed(_) => self.failure("FAIL", Ink::Red, outcome)?,
            TapeVerdict::Flaky => self.failure("FLAKY", Ink::Yellow, outcome)?,
            TapeVerdict::Skipped(reason) => {
                let line = InkLine::new(Ink::Yellow, "skip").with(Ink::Plain, &format!(" {tape}  {reason}"));
                self.line(&line.hanging(INDENT.len()))?;
            }
            TapeVerdict::Unreadable(report) => {
                self.failed.push(format!("ERROR {tape}"));
                self.line(&InkLine::new(Ink::Red, "ERROR").with(Ink::Bold, &format!(" {tape}")))?;
                for line in report.lines() {
                    self.line(&InkLine::new(Ink::Plain, &format!("     {line}")))?;
                }
            }
        }
        for warning in &outcome.warnings {
            let mut lines = warning.message.lines();
            let first = lines.next().unwrap_or_default();
            let line = InkLine::new(Ink::Yellow, "     warning");
            let line = line.with(Ink::Plain, &format!(" {}  {first}", warning.place));
            self.line(&line.hanging(INDENT.len()))?;
            for line in lines {
                self.line(&InkLine::new(Ink::Plain, &format!("{INDENT}{line}")).hanging(INDENT.len()))?;
            }
        }
        self.out.flush()
    }

    fn end(&mut self, summary: &TestSummary) -> io::Result<()> {
        // With a single tape its failure is right above.
        if self.tapes > 1 && !self.failed.is_empty() {
            let failed = std::mem::take(&mut self.failed);
            self.line(&InkLine::default())?;
            for line in failed.iter().take(NAMES_MAX) {
                self.line(&InkLine::new(Ink::Red, line).hanging(INDENT.len()))?;
            }
            if failed.len() > NAMES_MAX {
                self.line(&InkLine::new(Ink::Red, &format!("… {} more", failed.len() - NAMES_MAX)))?;
            }
        }
        for file in &summary.unused_snapshots {
            let words = format!("unused snapshot {}", file.display());
            self.line(&InkLine::new(Ink::Yellow, &words))?;
        }
        if !summary.unused_snapshots.is_empty() {
            self.line(
                &InkLine::new(Ink::Plain, "hint: the same command with --prune deletes unused snapshots")
                    .hanging(HINT),
            )?;
        }
        if let Some(strays) = summary.stray_words() {
            self.line(&InkLine::new(Ink::Red, &strays).hanging(INDENT.len()))?;
            let hint = "hint: it had left the session, the directory and the environment of its test";
            self.line(&InkLine::new(Ink::Plain, hint).hanging(HINT))?;
        }
        if let Some(internal) = &summary.internal {
            self.line(&InkLine::new(Ink::Red, &format!("hopty failed: {internal}")).hanging(INDENT.len()))?;
        }
        if let Some(seed) = summary.seed {
            self.line(&InkLine::new(Ink::Dim, &format!("seed {seed}")))?;
        }
        if summary.interrupted {
            let words = format!("interrupted after {} of {} tapes", summary.tapes(), self.tapes);
            self.line(&InkLine::new(Ink::Red, &words))?;
        }
        if summary.tapes() == 0 && !summary.interrupted {
            self.line(&InkLine::new(Ink::Red, "no tape matched"))?;
        }
        let ink = if summary.exit_code() == 0 { Ink::Green } else { Ink::Red };
        self.line(&InkLine::new(ink, &summary.to_string()))?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, HOSTILE};
    use super::*;
    use crate::core::text::visible::is_hidden;
    use unicode_width::UnicodeWidthStr;

    fn report(options: &ReportOptions, outcomes: &[RedactedOutcome]) -> String {
        let mut out = Vec::new();
        let mut report = ConsoleReport::new(&mut out, options);
        samples::play(&mut report, outcomes);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_failure_says_what_a_person_needs() {
        let shown = report(&ReportOptions { cols: Some(80), ..Default::default() }, &[samples::failed()]);
        let want = "\
FAIL tests/vim.tape:9  Expect+Row 4 \"^fuor$\"  5.0 s (program ran 0.10 s, waited
     for a CPU 0.00 s)
     not on row 4
     nearest: row 4 \"four\" (drawn since line 7)
     ── screen now 20x6, cursor 4,5, changed rows marked ─────────────────────
         1 │one
     >   4 │four    <- expected /^fuor$/
         6 │-- INSERT --
     keys since the start: G o f o u r Escape
     program  vim sleeps in pselect6
     trace    target/hopty/vim/trace.html
     again    hopty test tests/vim.tape --pause
0 passed, 1 failed
";
        assert_eq!(shown.replace("──────\n", "─\n").replace('─', ""), want.replace('─', ""));
        assert!(shown.lines().all(|line| line.width() <= 80), "{shown}");
    }

    #[test]
    fn in_a_narrow_terminal_sentences_are_broken_and_commands_are_not() {
        let shown = report(&ReportOptions { cols: Some(40), ..Default::default() }, &[samples::failed()]);
        for part in [
            "FAIL tests/vim.tape:9  Expect+Row 4\n     \"^fuor$\"  5.0 s (program ran 0.10\n     s, waited for",
            "     again    hopty test tests/vim.tape --pause\n",
        ] {
            assert!(shown.contains(part), "{part:?} in {shown}");
        }
    }

    #[test]
    fn a_snapshot_shows_both_rows_and_marks_the_cells() {
        let shown = report(&ReportOptions::default(), &[samples::snapshot_failed()]);
        for part in [
            "     - expected  + on the screen\n",
            "     row   2 -name  old\n                    ^^^\n             +name  new\n                    \
             ^^^\n",
            "     row 3, 7-12: fg red, was green\n",
        ] {
            assert!(shown.contains(part), "{part:?} in {shown}");
        }
        let colors = ReportOptions { colors: true, ..Default::default() };
        let shown = report(&colors, &[samples::snapshot_failed()]);
        assert!(shown.contains("\x1b[31;7mold\x1b[m") && shown.contains("\x1b[32;7mnew\x1b[m"), "{shown}");
    }

    #[test]
    fn the_last_line_counts_and_other_verdicts_have_a_line() {
        let shown = report(&ReportOptions::default(), &samples::all());
        for line in [
            "ok   tests/ok.tape  0.12 s\n",
            "ok   tests/smoke.tape  0.12 s  no check on the tape\n",
            "skip tests/skip.tape  vim is not installed\n",
            "FLAKY tests/flaky.tape:9  Expect+Row 4 \"^fuor$\"  5.0 s",
            "     1 of 3 attempts failed; this is the last failure\n",
            "ERROR tests/bad.tape\n     tests/bad.tape:3:1: unknown command Tpye\n",
            "     warning tests/ok.tape:4  Wait was true at once\n",
        ] {
            assert!(shown.contains(line), "{line:?} in {shown}");
        }
        assert!(shown.ends_with("\n2 passed, 2 failed, 1 flaky, 1 unreadable, 1 skipped\n"), "{shown}");
    }

    #[test]
    fn a_hostile_screen_stays_text() {
        for options in [
            ReportOptions { github: true, ..Default::default() },
            ReportOptions { github: true, colors: true, cols: Some(80), ..Default::default() },
        ] {
            let shown = report(&options, &[samples::hostile()]);
            assert!(shown.chars().all(|c| !is_hidden(c) || c == '\n' || c == '\x1b'), "{shown:?}");
            assert!(!shown.contains("\x1b]") && !shown.contains("\x1b[2J"), "{shown:?}");
            let acts = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
            assert!(!shown.lines().any(acts), "{shown}");
        }
        let plain = report(&ReportOptions::default(), &[samples::hostile()]);
        assert!(!plain.contains('\x1b') && HOSTILE.contains('\x1b'), "{plain:?}");
    }
}
