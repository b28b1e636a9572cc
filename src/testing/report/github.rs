//! GitHub Actions: an annotation for each tape that did not pass, at the failed line, and the job's summary.

use std::io::{self, Write};
use std::path::PathBuf;

use super::failure_text::{details, one_line};
use super::ink::safe;
use super::{MarkdownReport, ReportOptions, TestReport};
use crate::testing::outcome::{TapeVerdict, TestPlace, TestSummary};
use crate::testing::redaction::RedactedOutcome;

/// GitHub cuts longer messages; in bytes.
const MESSAGE_MAX: usize = 4000;

/// Writes annotations to the log, and the summary to its file.
pub struct GitHubReport<W, S> {
    out: W,
    summary: MarkdownReport<S>,
    prefix: PathBuf,
    allow_flaky: bool,
}

impl<W: Write, S: Write> GitHubReport<W, S> {
    /// A report whose annotations go to `out` and whose summary goes to `summary`.
    pub fn new(out: W, summary: S, options: &ReportOptions) -> Self {
        GitHubReport {
            out,
            summary: MarkdownReport::new(summary),
            prefix: options.github_prefix.clone(),
            allow_flaky: options.allow_flaky,
        }
    }

    fn annotate(&mut self, level: &str, place: &TestPlace, title: &str, message: &str) -> io::Result<()> {
        let mut end = message.len().min(MESSAGE_MAX);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        let message: Vec<String> = message[..end].split('\n').map(safe).collect();
        let file = self.prefix.join(place.file.trim_start_matches("./")).display().to_string();
        writeln!(
            self.out,
            "::{level} file={},line={},col={},title={}::{}",
            property(&safe(&file)),
            place.line,
            place.column,
            property(&safe(&one_line(title))),
            data(&message.join("\n"))
        )
    }
}

impl<W: Write, S: Write> TestReport for GitHubReport<W, S> {
    fn begin(&mut self, tapes: usize) -> io::Result<()> {
        self.summary.begin(tapes)
    }

    fn finished(&mut self, outcome: &RedactedOutcome) -> io::Result<()> {
        for warning in &outcome.warnings {
            self.annotate("warning", &warning.place, &outcome.tape, &warning.message)?;
        }
        let begin = TestPlace { file: outcome.tape.clone(), line: 1, column: 1 };
        match (&outcome.verdict, outcome.failure()) {
            (TapeVerdict::Unreadable(report), _) => {
                let place = place_in(report, &outcome.tape).unwrap_or(begin);
                self.annotate("error", &place, "the tape does not parse", report)?;
            }
            (verdict, Some(failure)) => {
                let is_flaky = *verdict == TapeVerdict::Flaky;
                let level = if is_flaky && self.allow_flaky { "warning" } else { "error" };
                let title = format!("{}{}", if is_flaky { "flaky: " } else { "" }, failure.command);
                let lines: Vec<String> = details(failure, None).iter().map(|line| line.plain()).collect();
                self.annotate(level, &failure.place, &title, &lines.join("\n"))?;
            }
            _ => {}
        }
        self.out.flush()?;
        self.summary.finished(outcome)
    }

    fn end(&mut self, summary: &TestSummary) -> io::Result<()> {
        if let Some(strays) = summary.stray_words() {
            writeln!(self.out, "::error title=hopty test::{}", data(&safe(&strays)))?;
            self.out.flush()?;
        }
        self.summary.end(summary)
    }
}

/// The location at the start of a parser's report: `FILE:LINE:COLUMN`.
fn place_in(report: &str, tape: &str) -> Option<TestPlace> {
    let mut numbers = report.strip_prefix(tape)?.strip_prefix(':')?.splitn(3, [':', ' ', '\n']);
    let line = numbers.next()?.parse().ok()?;
    let column = numbers.next().and_then(|number| number.parse().ok()).unwrap_or(1);
    Some(TestPlace { file: tape.to_owned(), line, column })
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::core::text::visible::is_hidden;

    fn report(options: &ReportOptions, outcomes: &[RedactedOutcome]) -> (String, String) {
        let (mut out, mut summary) = (Vec::new(), Vec::new());
        samples::play(&mut GitHubReport::new(&mut out, &mut summary, options), outcomes);
        (String::from_utf8(out).unwrap(), String::from_utf8(summary).unwrap())
    }

    #[test]
    fn annotations_stand_at_the_line_that_failed() {
        let options = ReportOptions { github_prefix: PathBuf::from("sub"), ..Default::default() };
        let (log, summary) = report(&options, &samples::all());
        for line in [
            "::error file=sub/tests/vim.tape,line=9,col=1,title=Expect+Row 4 \"^fuor$\"::     not on row \
             4%0A",
            "::warning file=sub/tests/ok.tape,line=4,col=1,title=tests/ok.tape::Wait was true at once\n",
            "::error file=sub/tests/flaky.tape,line=9,col=1,title=flaky%3A Expect",
            "::error file=sub/tests/bad.tape,line=3,col=1,title=the tape does not parse::tests/bad.tape:3:1: \
             unk",
        ] {
            assert!(log.contains(line), "{line} in {log}");
        }
        assert_eq!(log.lines().count(), 5, "{log}");
        assert!(summary.starts_with("## hopty test: 2 passed"));
        let allowed = ReportOptions { allow_flaky: true, ..Default::default() };
        assert!(report(&allowed, &samples::all()).0.contains("::warning file=tests/flaky.tape,line=9"));
    }

    #[test]
    fn no_text_leaves_its_annotation() {
        let (log, _) = report(&ReportOptions::default(), &[samples::hostile()]);
        assert!(log.chars().all(|c| c == '\n' || !is_hidden(c)), "{log:?}");
        assert_eq!(log.lines().count(), 2, "{log}");
        for line in log.lines() {
            let (head, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
            assert!(head.starts_with("error file=") || head.starts_with("warning file="), "{head}");
            assert_eq!(head.matches(',').count(), 3, "{head}");
            assert!(!message.contains('\r') && message.contains("%250A"), "{message}");
        }
    }
}
