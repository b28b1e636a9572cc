//! JUnit XML as Jenkins, GitLab, GitHub's actions and `junitparser` read it: one suite, with a case for each
//! tape. Besides Jenkins' schema (junit-10.xsd) a case has `file` and `line`, which GitLab and others use.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use chrono::DateTime;

use super::TestReport;
use super::failure_text::{details, headline, one_line};
use super::ink::safe;
use crate::core::text::markup::escape_markup;
use crate::testing::outcome::{TapeFailure, TapeVerdict, TestSummary};
use crate::testing::redaction::RedactedOutcome;

/// A report in XML. It is written at the end, because the counts come first.
pub struct JUnitReport<W> {
    out: W,
    cases: String,
    began_ms: Option<u64>,
}

impl<W: Write> JUnitReport<W> {
    pub fn new(out: W) -> Self {
        JUnitReport { out, cases: String::new(), began_ms: None }
    }
}

impl<W: Write> TestReport for JUnitReport<W> {
    fn begin(&mut self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn finished(&mut self, outcome: &RedactedOutcome) -> io::Result<()> {
        if outcome.started_ms > 0 {
            self.began_ms = Some(self.began_ms.unwrap_or(u64::MAX).min(outcome.started_ms));
        }
        let xml = &mut self.cases;
        let failure = outcome.failure();
        let line = failure.map_or(1, |failure| failure.place.line);
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{}\" name=\"{}\" file=\"{}\" line=\"{line}\" time=\"{}\">",
            attribute(&class_name(&outcome.tape)),
            attribute(&outcome.tape),
            attribute(&outcome.tape),
            time(outcome.times.took)
        );
        match &outcome.verdict {
            TapeVerdict::Passed | TapeVerdict::Smoke => {}
            TapeVerdict::Skipped(reason) => {
                let _ = writeln!(xml, "      <skipped message=\"{}\"/>", attribute(reason));
            }
            TapeVerdict::Unreadable(report) => {
                let message = one_line(report);
                let _ = writeln!(
                    xml,
                    "      <error type=\"unreadable\" message=\"{}\">{}</error>",
                    attribute(&message),
                    content(report)
                );
            }
            TapeVerdict::Failed(failure) => {
                let _ = writeln!(
                    xml,
                    "      <failure type=\"{}\" message=\"{}\">{}</failure>",
                    failure.kind.word(),
                    attribute(&failure.message),
                    content(&in_full(failure))
                );
                other_failures("rerunFailure", &outcome.other_failures, xml);
            }
            TapeVerdict::Flaky => other_failures("flakyFailure", &outcome.other_failures, xml),
        }
        let screen = outcome.last_screen.as_ref().or(failure.and_then(|failure| failure.screen.as_ref()));
        if let Some(screen) = screen.filter(|_| failure.is_some()) {
            let mut rows = screen.text_rows();
            rows.truncate(rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1));
            let _ = writeln!(xml, "      <system-out>{}</system-out>", content(&rows.join("\n")));
        }
        if !outcome.warnings.is_empty() {
            let lines: Vec<String> = outcome
                .warnings
                .iter()
                .map(|warning| format!("{}: {}", warning.place, warning.message))
                .collect();
            let _ = writeln!(xml, "      <system-err>{}</system-err>", content(&lines.join("\n")));
        }
        xml.push_str("    </testcase>\n");
        Ok(())
    }

    fn end(&mut self, summary: &TestSummary) -> io::Result<()> {
        let out = &mut self.out;
        let (mut tests, mut failures, errors) = (summary.tapes(), summary.failed, summary.unreadable);
        if let Some(strays) = summary.stray_words() {
            (tests, failures) = (tests + 1, failures + 1);
            let _ = writeln!(
                self.cases,
                "    <testcase classname=\"hopty\" name=\"no process outlives its tape\" \
                 time=\"0.000\">\n      <failure type=\"leftover\" message=\"{}\"/>\n    </testcase>",
                attribute(&strays)
            );
        }
        let took = time(summary.took);
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"");
        writeln!(out, "<testsuites name=\"hopty test\" {counts} time=\"{took}\">")?;
        write!(out, "  <testsuite name=\"tapes\" {counts} skipped=\"{}\" time=\"{took}\"", summary.skipped)?;
        let began = self.began_ms.and_then(|ms| DateTime::from_timestamp_millis(i64::try_from(ms).ok()?));
        if let Some(began) = began {
            write!(out, " timestamp=\"{}\"", began.format("%Y-%m-%dT%H:%M:%S"))?;
        }
        writeln!(out, ">")?;
        out.write_all(self.cases.as_bytes())?;
        writeln!(out, "  </testsuite>\n</testsuites>")?;
        out.flush()
    }
}

fn other_failures(element: &str, failures: &[TapeFailure], xml: &mut String) {
    for failure in failures {
        let _ = writeln!(
            xml,
            "      <{element} type=\"{}\" message=\"{}\"><stackTrace>{}</stackTrace></{element}>",
            failure.kind.word(),
            attribute(&failure.message),
            content(&in_full(failure))
        );
    }
}

fn in_full(failure: &TapeFailure) -> String {
    let mut text = headline(failure);
    for line in details(failure, None) {
        text.push('\n');
        text.push_str(&line.plain());
    }
    text
}

/// The path with dots, as consumers group cases: `tests.vim`.
fn class_name(tape: &str) -> String {
    tape.trim_start_matches("./").trim_end_matches(".tape").replace('/', ".")
}

fn time(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Text of one or more lines that XML allows.
fn content(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(safe).collect();
    escape_markup(&lines.join("\n"))
}

fn attribute(text: &str) -> String {
    content(text).replace('\n', "&#10;")
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::core::text::visible::is_hidden;

    fn report(outcomes: &[RedactedOutcome]) -> String {
        let mut out = Vec::new();
        samples::play(&mut JUnitReport::new(&mut out), outcomes);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_verdict_has_its_element() {
        let xml = report(&samples::all());
        for part in [
            "<testsuites name=\"hopty test\" tests=\"7\" failures=\"2\" errors=\"1\" time=\"6.000\">",
            "skipped=\"1\" time=\"6.000\" timestamp=\"2026-11-25T09:46:40\">",
            "<testcase classname=\"tests.vim\" name=\"tests/vim.tape\" file=\"tests/vim.tape\" line=\"9\" \
             time=\"0.120\">",
            "<skipped message=\"vim is not installed\"/>",
            "<error type=\"unreadable\" message=\"tests/bad.tape:3:1: unknown command Tpye …\">",
            "<failure type=\"timeout\" message=\"not on row 4\">tests/vim.tape:9  Expect+Row 4 &quot;",
            "<flakyFailure type=\"timeout\" message=\"not on row 4\"><stackTrace>tests/flaky.tape:9",
            "<system-out>one\n\n\nfour\n\n-- INSERT --</system-out>",
            "<system-err>tests/ok.tape:4: Wait was true at once</system-err>",
        ] {
            assert!(xml.contains(part), "{part} in {xml}");
        }
    }

    #[test]
    fn no_text_leaves_its_element() {
        let xml = report(&[samples::hostile()]);
        assert!(xml.chars().all(|c| c == '\n' || !is_hidden(c)), "{xml:?}");
        assert!(!xml.contains(['\u{fffe}', '\u{ffff}']));
        // Without the report's tags, only entities are left of XML's special characters.
        let tags = ["testsuites", "testsuite", "testcase", "failure", "system-out", "system-err", "?xml"];
        for piece in xml.split('<').skip(1) {
            let name = piece.trim_start_matches('/').split([' ', '>']).next().unwrap();
            assert!(tags.contains(&name), "{name} in {xml}");
            assert_eq!(piece.matches('>').count(), 1, "{piece}");
        }
        for entity in xml.split('&').skip(1) {
            let name = entity.split(';').next().unwrap();
            assert!(["amp", "lt", "gt", "quot", "#39", "#10"].contains(&name), "{name}");
        }
        assert_eq!(xml.matches("<testcase ").count(), 1);
    }
}
