//! One JSON object per line, for programs: `begin`, one `tape` each, `end`. Fields are only added within a
//! version; `docs/TESTING_TUIS.md` lists them.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::TestReport;
use crate::core::text::visible::escaped;
use crate::testing::outcome::{ScreenCopy, TapeFailure, TapeVerdict, TestPlace, TestSummary, TestTimes};
use crate::testing::redaction::RedactedOutcome;

/// The version of these lines.
pub const JSON_REPORT_VERSION: u32 = 1;

pub struct JsonLinesReport<W> {
    out: W,
}

impl<W: Write> JsonLinesReport<W> {
    pub fn new(out: W) -> Self {
        JsonLinesReport { out }
    }

    fn line(&mut self, value: &Value) -> io::Result<()> {
        writeln!(self.out, "{}", escaped(&value.to_string()))?;
        self.out.flush()
    }
}

impl<W: Write> TestReport for JsonLinesReport<W> {
    fn begin(&mut self, tapes: usize) -> io::Result<()> {
        self.line(&json!({
            "event": "begin",
            "version": JSON_REPORT_VERSION,
            "hopty": env!("CARGO_PKG_VERSION"),
            "tapes": tapes,
        }))
    }

    fn finished(&mut self, outcome: &RedactedOutcome) -> io::Result<()> {
        let reason = match &outcome.verdict {
            TapeVerdict::Skipped(text) | TapeVerdict::Unreadable(text) => Some(text),
            _ => None,
        };
        let failure = match &outcome.verdict {
            TapeVerdict::Failed(failure) => Some(failure_object(failure)),
            _ => None,
        };
        let snapshots: Vec<Value> = outcome
            .snapshots
            .iter()
            .map(|note| json!({"name": note.name, "file": note.file, "change": note.change.word()}))
            .collect();
        let warnings: Vec<Value> = outcome
            .warnings
            .iter()
            .map(|warning| json!({"place": place_object(&warning.place), "message": warning.message}))
            .collect();
        self.line(&json!({
            "event": "tape",
            "tape": outcome.tape,
            "verdict": outcome.verdict.word(),
            "reason": reason,
            "started_ms": outcome.started_ms,
            "times": times_object(outcome.times),
            "attempts": outcome.attempts,
            "failed_attempts": outcome.failed_attempts(),
            "failure": failure,
            "other_failures": outcome.other_failures.iter().map(failure_object).collect::<Vec<_>>(),
            "warnings": warnings,
            "snapshots": snapshots,
        }))
    }

    fn end(&mut self, summary: &TestSummary) -> io::Result<()> {
        self.line(&json!({
            "event": "end",
            "passed": summary.passed,
            "smoke": summary.smoke,
            "failed": summary.failed,
            "flaky": summary.flaky,
            "skipped": summary.skipped,
            "unreadable": summary.unreadable,
            "took_ms": millis(summary.took),
            "exit_code": summary.exit_code(),
            "interrupted": summary.interrupted,
            "internal": summary.internal,
            "seed": summary.seed,
            "unused_snapshots": summary.unused_snapshots,
            "strays": summary.strays,
        }))
    }
}

fn millis(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

fn times_object(times: TestTimes) -> Value {
    json!({
        "took_ms": millis(times.took),
        "program_ran_ms": millis(times.program_ran),
        "waited_for_cpu_ms": millis(times.waited_for_cpu),
    })
}

fn place_object(place: &TestPlace) -> Value {
    json!({"file": place.file, "line": place.line, "column": place.column})
}

fn screen_object(screen: &ScreenCopy) -> Value {
    json!({
        "cols": screen.cols,
        "rows": screen.rows,
        "cursor": screen.cursor.map(|(row, col)| json!({"row": row, "column": col})),
        "title": screen.title,
        "lines": screen.text_rows(),
        "changed": screen.changed,
    })
}

fn failure_object(failure: &TapeFailure) -> Value {
    let differences: Vec<Value> = failure
        .comparison
        .iter()
        .flat_map(|comparison| &comparison.rows)
        .map(|row| json!({"row": row.row, "expected": row.expected, "actual": row.actual}))
        .collect();
    let other_differences: Vec<&String> =
        failure.comparison.iter().flat_map(|comparison| &comparison.others).collect();
    let evidence: Vec<Value> =
        failure.evidence.iter().map(|file| json!({"kind": file.kind, "path": file.path})).collect();
    let notes: Vec<Value> =
        failure.row_notes.iter().map(|(row, note)| json!({"row": row, "note": note})).collect();
    json!({
        "kind": failure.kind.word(),
        "place": place_object(&failure.place),
        "command": failure.command,
        "message": failure.message,
        "nearest": failure.nearest,
        "hint": failure.hint,
        "times": times_object(failure.times),
        "screen": failure.screen.as_ref().map(screen_object),
        "row_notes": notes,
        "differences": differences,
        "other_differences": other_differences,
        "keys": failure.keys,
        "program": failure.program,
        "evidence": evidence,
        "again": failure.again,
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, HOSTILE};
    use super::*;
    use crate::core::text::visible::is_hidden;

    fn report(outcomes: &[RedactedOutcome]) -> (String, Vec<Value>) {
        let mut out = Vec::new();
        samples::play(&mut JsonLinesReport::new(&mut out), outcomes);
        let text = String::from_utf8(out).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (text, lines)
    }

    #[test]
    fn there_is_a_line_for_the_begin_each_tape_and_the_end() {
        let (_, lines) = report(&samples::all());
        let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
        assert_eq!(events, ["begin", "tape", "tape", "tape", "tape", "tape", "tape", "tape", "end"]);
        assert_eq!((&lines[0]["version"], &lines[0]["tapes"]), (&json!(1), &json!(7)));
        let failed = &lines[6];
        assert_eq!(failed["failure"]["place"], json!({"file": "tests/vim.tape", "line": 9, "column": 1}));
        assert_eq!(failed["failure"]["screen"]["lines"][3], json!("four"));
        assert_eq!(failed["failure"]["times"]["took_ms"], json!(5000.0));
        assert_eq!(
            (&lines[3]["verdict"], &lines[3]["reason"]),
            (&json!("skipped"), &json!("vim is not installed"))
        );
        assert_eq!((&lines[8]["exit_code"], &lines[8]["failed"]), (&json!(2), &json!(2)));
    }

    #[test]
    fn every_text_comes_back_as_it_was() {
        let (text, lines) = report(&[samples::hostile()]);
        assert!(text.chars().all(|c| c == '\n' || !is_hidden(c)), "{text:?}");
        assert_eq!(text.lines().count(), 3);
        assert_eq!(lines[1]["failure"]["message"], json!(HOSTILE));
    }
}
