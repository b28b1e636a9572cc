//! The evidence of a failed tape: its last screen in several forms, and the recording.

use std::fs;

use super::tape_outputs::TapeOutputs;
use super::test_session::TestSession;
use super::test_terminals::NamedTerminal;
use crate::core::cast::CastHeader;
use crate::core::tape::Tape;
use crate::recording::html::{self, TracePage, TraceStep};
use crate::screen::PictureLines;
use crate::testing::discovery::TapeFile;
use crate::testing::evidence_cast::{evidence_cast, last_screen};
use crate::testing::evidence_files::{make_evidence_dir, write_evidence_file};
use crate::testing::outcome::{EvidenceFile, ScreenComparison, TapeFailure};
use crate::testing::redaction::TapeRedactions;

/// The file with what the model received.
const REQUESTS: &str = "requests.txt";

/// Writes all evidence. `requests`: what the model received, or empty. A failure to write is ignored.
pub(super) fn write_evidence(
    file: &TapeFile,
    tape: &Tape,
    session: &mut TestSession,
    outputs: &TapeOutputs,
    failure: &TapeFailure,
    requests: String,
) -> Vec<EvidenceFile> {
    let dir = outputs.evidence_dir();
    if let Err(error) = make_evidence_dir(dir) {
        session.findings.warn(format!("nothing is kept of the failure: {error}"));
        return Vec::new();
    }
    remove_earlier_evidence(&file.name, outputs);
    // Redact what the tape redacts in its snapshots.
    let redactions = Some(&session.redactions).filter(|all| all.has_rules());
    let redacted = |text: String| match redactions {
        Some(redactions) => redactions.text(&text),
        None => text,
    };
    let mut files: Vec<(&str, String, Vec<u8>)> = Vec::new();
    let term = &session.settings.term;
    let casts: Vec<Vec<u8>> = session.terminals.named().map(|named| cast(term, named, redactions)).collect();
    let redacted_screen = redactions.and_then(|_| casts.first()).and_then(|cast| last_screen(cast));
    if let Some(screen) = session.terminals.screen() {
        let text = redacted(screen.text(PictureLines::WithHistory));
        files.push(("screen", "screen.txt".to_owned(), text.into_bytes()));
        let screen = redacted_screen.as_ref().unwrap_or(screen);
        files.push(("screen", "screen.svg".to_owned(), screen.svg(PictureLines::Screen).into_bytes()));
        let json = format!("{:#}\n", screen.json(PictureLines::Screen));
        files.push(("screen", "screen.json".to_owned(), json.into_bytes()));
    }
    if !requests.is_empty() {
        files.push(("requests", REQUESTS.to_owned(), redacted(requests).into_bytes()));
    }
    for (number, (named, cast)) in session.terminals.named().zip(casts).enumerate() {
        let name = if number == 0 { file.name.clone() } else { format!("{}-{}", file.name, named.name) };
        files.push(("cast", format!("{name}.cast"), cast));
    }
    if let Some((_, _, cast)) = files.iter().find(|(kind, ..)| *kind == "cast") {
        let started = session.terminals.started().unwrap_or(session.clock.began());
        let steps = session.findings.trace_steps(tape, started).into_iter();
        let page = TracePage {
            title: file.path.display().to_string(),
            cast: cast.clone(),
            steps: steps.map(|step| TraceStep { line: redacted(step.line), ..step }).collect(),
            failure: Some(redacted(failure.message.clone())),
            comparison: failure.comparison.as_ref().map(|rows| redacted(comparison_text(rows))),
        };
        if let Ok(page) = html::page(&page) {
            files.insert(0, ("trace", "trace.html".to_owned(), page.into_bytes()));
        }
    }
    let mut written = Vec::new();
    for (kind, name, content) in files {
        let path = dir.join(name);
        match write_evidence_file(&path, &content) {
            Ok(()) => written.push(EvidenceFile { kind: kind.to_owned(), path }),
            Err(error) => session.findings.warn(error.to_string()),
        }
    }
    written
}

/// Removes the evidence of an earlier failure of this test.
fn remove_earlier_evidence(test: &str, outputs: &TapeOutputs) {
    for entry in fs::read_dir(outputs.evidence_dir()).into_iter().flatten().flatten() {
        let is_evidence = entry.file_name().to_str().is_some_and(|name| is_evidence(name, test));
        if is_evidence && !outputs.has_made(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a file of this name is evidence of this test: people may keep files of their own beside it.
fn is_evidence(name: &str, test: &str) -> bool {
    let cast = name.strip_suffix(".cast").and_then(|stem| stem.strip_prefix(test));
    matches!(name, "screen.txt" | "screen.svg" | "screen.json" | "trace.html" | REQUESTS)
        || cast.is_some_and(|terminal| terminal.is_empty() || terminal.starts_with('-'))
}

fn cast(term: &str, named: &NamedTerminal, redactions: Option<&TapeRedactions>) -> Vec<u8> {
    let header = CastHeader {
        term_type: Some(term.to_owned()),
        command: Some(named.command.clone()),
        idle_time_limit: Some(2.0),
        ..CastHeader::new(named.size.0, named.size.1)
    };
    evidence_cast(header, named.recording().events(), redactions)
}

/// Expected and actual content as text.
fn comparison_text(comparison: &ScreenComparison) -> String {
    let mut lines = Vec::new();
    for row in &comparison.rows {
        if let Some(expected) = &row.expected {
            lines.push(format!("-{:>3} {expected}", row.row));
        }
        if let Some(actual) = &row.actual {
            lines.push(format!("+{:>3} {actual}", row.row));
        }
    }
    lines.extend(comparison.others.iter().cloned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::is_evidence;

    #[test]
    fn only_what_hopty_writes_is_evidence() {
        for name in [
            "screen.txt", "screen.svg", "screen.json", "trace.html", "requests.txt", "vim.cast",
            "vim-second.cast",
        ] {
            assert!(is_evidence(name, "vim"), "{name}");
        }
        for name in ["notes.txt", "vimrc.cast", "my.cast", "vim", "vim.cast.old", "id_rsa"] {
            assert!(!is_evidence(name, "vim"), "{name}");
        }
    }
}
