//! A page of Markdown: the counts, a table of the tapes that did not pass, and each failure with its screen
//! in a code block that the screen cannot close. GitHub shows it as the job's summary.

use std::io::{self, Write};

use super::TestReport;
use super::failure_text::{details, headline, one_line, seconds};
use super::ink::safe;
use crate::testing::outcome::{TapeVerdict, TestSummary};
use crate::testing::redaction::RedactedOutcome;

/// GitHub refuses a summary of more than 1 MiB; failures beyond this are only named in the table, in bytes.
const FAILURES_MAX: usize = 700 * 1024;
/// The most rows of the table.
const ROWS_MAX: usize = 500;

/// A report in Markdown. It is written at the end, because the counts come first.
pub struct MarkdownReport<W> {
    out: W,
    rows: Vec<String>,
    failures: String,
    left_out: usize,
}

impl<W: Write> MarkdownReport<W> {
    pub fn new(out: W) -> Self {
        MarkdownReport { out, rows: Vec::new(), failures: String::new(), left_out: 0 }
    }
}

impl<W: Write> TestReport for MarkdownReport<W> {
    fn begin(&mut self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn finished(&mut self, outcome: &RedactedOutcome) -> io::Result<()> {
        let why = match &outcome.verdict {
            TapeVerdict::Passed | TapeVerdict::Smoke => return Ok(()),
            TapeVerdict::Skipped(reason) => one_line(reason),
            TapeVerdict::Unreadable(report) => one_line(report),
            TapeVerdict::Failed(_) | TapeVerdict::Flaky => {
                outcome.failure().map(|failure| one_line(&failure.message)).unwrap_or_default()
            }
        };
        self.rows.push(format!(
            "| {} | {} | {} | {} |",
            outcome.verdict.word(),
            code(&outcome.tape),
            code(&why),
            seconds(outcome.times.took)
        ));
        let (title, text) = match (&outcome.verdict, outcome.failure()) {
            (TapeVerdict::Unreadable(report), _) => (outcome.tape.clone(), report.clone()),
            (_, Some(failure)) => {
                let lines: Vec<String> = details(failure, None).iter().map(|line| line.plain()).collect();
                (headline(failure), lines.join("\n"))
            }
            _ => return Ok(()),
        };
        let text: Vec<String> = text.split('\n').map(safe).collect();
        let text = text.join("\n");
        let fence = fence(&text);
        let part = format!("### {}\n\n{fence}text\n{text}\n{fence}\n\n", code(&title));
        if self.failures.len() + part.len() > FAILURES_MAX {
            self.left_out += 1;
        } else {
            self.failures.push_str(&part);
        }
        Ok(())
    }

    fn end(&mut self, summary: &TestSummary) -> io::Result<()> {
        let out = &mut self.out;
        writeln!(out, "## hopty test: {summary}\n")?;
        if let Some(internal) = &summary.internal {
            writeln!(out, "hopty failed: {}\n", code(internal))?;
        }
        if let Some(strays) = summary.stray_words() {
            writeln!(out, "{}\n", code(&strays))?;
        }
        if summary.interrupted {
            writeln!(out, "Interrupted before the last tape.\n")?;
        }
        if !self.rows.is_empty() {
            writeln!(out, "| | tape | | took |\n|---|---|---|---|")?;
            for row in self.rows.iter().take(ROWS_MAX) {
                writeln!(out, "{row}")?;
            }
            writeln!(out)?;
        }
        if self.rows.len() > ROWS_MAX {
            writeln!(out, "{} more tapes did not pass.\n", self.rows.len() - ROWS_MAX)?;
        }
        out.write_all(self.failures.as_bytes())?;
        if self.left_out > 0 {
            writeln!(out, "{} more failures are too long for this page.", self.left_out)?;
        }
        out.flush()
    }
}

/// A text of one line that Markdown shows unchanged, even in a table.
fn code(text: &str) -> String {
    let text = safe(text);
    if text.is_empty() {
        return String::new();
    }
    let mut out = "<code>".to_owned();
    for ch in text.chars() {
        match ch {
            'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '/' | '.' | '-' | ',' | '(' | ')' => out.push(ch),
            ch if ch.is_ascii() => out.push_str(&format!("&#{};", u32::from(ch))),
            ch => out.push(ch),
        }
    }
    out + "</code>"
}

/// A fence longer than every run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::core::text::visible::is_hidden;

    fn report(outcomes: &[RedactedOutcome]) -> String {
        let mut out = Vec::new();
        samples::play(&mut MarkdownReport::new(&mut out), outcomes);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_did_not_pass_is_on_the_page() {
        let page = report(&samples::all());
        assert!(
            page.starts_with("## hopty test: 2 passed, 2 failed, 1 flaky, 1 unreadable, 1 skipped\n\n| |")
        );
        for part in [
            "\n| failed | <code>tests/vim.tape</code> | <code>not on row 4</code> | 0.12 s |\n",
            "\n| skipped | <code>tests/skip.tape</code> | <code>vim is not installed</code> | 0.12 s |\n",
            "\n### <code>tests/vim.tape&#58;9  Expect&#43;Row 4 &#34;&#94;fuor&#36;&#34;",
            "```text\n     not on row 4\n",
            "\n>   4 │four    <- expected /^fuor$/\n".trim_start(),
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("tests/smoke.tape"));
    }

    #[test]
    fn no_text_leaves_its_place() {
        let page = report(&[samples::hostile()]);
        assert!(page.chars().all(|c| c == '\n' || !is_hidden(c)), "{page:?}");
        let fences: Vec<(usize, &str)> =
            page.lines().enumerate().filter(|(_, line)| line.starts_with("`````")).collect();
        let inside = fences[0].0..fences[1].0;
        assert_eq!((fences.len(), fences[0].1, fences[1].1), (2, "`````text", "`````"), "{page}");
        for (at, line) in page.lines().enumerate().filter(|(at, _)| !inside.contains(at)) {
            let is_ours = line.is_empty()
                || ["## ", "### <code>", "| ", "|-", "`````"].iter().any(|begin| line.starts_with(begin));
            let bare = line.replace("<code>", "").replace("</code>", "");
            assert!(is_ours && !bare.contains(['<', '>', '[', '*', '\\']), "{at}: {line}");
            assert!(!line.starts_with("| ") || line.matches('|').count() == 5, "{line}");
        }
    }

    #[test]
    fn a_page_is_no_longer_than_github_takes() {
        let page = report(&vec![samples::failed(); 3000]);
        assert!(page.len() < 1024 * 1024, "{}", page.len());
        assert!(
            page.contains("2500 more tapes did not pass.") && page.contains("more failures are too long")
        );
    }
}
