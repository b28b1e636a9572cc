//! Warnings while a tape is played, and the start time of each command.

use std::time::Instant;

use crate::core::tape::{Tape, TapeSpan};
use crate::recording::html::{TraceOutcome, TraceStep};
use crate::testing::outcome::{TapeWarning, TestPlace};

pub(super) struct TapeFindings {
    /// The current command.
    place: TestPlace,
    /// The start time of each command.
    command_times: Vec<Instant>,
    warnings: Vec<TapeWarning>,
}

impl TapeFindings {
    pub fn new(file: String) -> Self {
        let place = TestPlace { file, line: 1, column: 1 };
        TapeFindings { place, command_times: Vec::new(), warnings: Vec::new() }
    }

    pub fn begin_command(&mut self, span: &TapeSpan) {
        self.place = place_of(span);
        self.command_times.push(Instant::now());
    }

    pub fn place(&self) -> &TestPlace {
        &self.place
    }

    /// Adds a warning about the current command.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.warnings.push(TapeWarning { place: self.place.clone(), message: message.into() });
    }

    pub fn into_warnings(self) -> Vec<TapeWarning> {
        self.warnings
    }

    /// The commands and their start times, since `started`; the last one that started has failed.
    pub fn trace_steps(&self, tape: &Tape, started: Instant) -> Vec<TraceStep> {
        let steps = tape.steps.iter().filter(|step| !step.ignored);
        let carried_out = self.command_times.len();
        steps
            .enumerate()
            .map(|(number, step)| {
                let began = self.command_times.get(number).copied().unwrap_or(started);
                let at_us = began.saturating_duration_since(started).as_micros();
                TraceStep {
                    at_us: u64::try_from(at_us).unwrap_or(u64::MAX),
                    line: step.command.to_string(),
                    source: format!("{}:{}", step.span.file, step.span.line),
                    outcome: match number + 1 {
                        number if number < carried_out => TraceOutcome::Passed,
                        number if number == carried_out => TraceOutcome::Failed,
                        _ => TraceOutcome::Skipped,
                    },
                }
            })
            .collect()
    }
}

pub(super) fn place_of(span: &TapeSpan) -> TestPlace {
    TestPlace { file: span.file.clone(), line: span.line, column: span.column }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tape::{TapeCommand, TapeStep};

    #[test]
    fn the_last_command_that_began_has_failed_and_those_behind_it_were_skipped() {
        let step = |line| TapeStep {
            command: TapeCommand::Hide,
            span: TapeSpan { file: "t.tape".to_owned(), line, column: 1 },
            ignored: line == 2,
        };
        let tape = Tape { steps: (1..=4).map(step).collect(), ..Tape::default() };
        let mut findings = TapeFindings::new("t.tape".to_owned());
        findings.begin_command(&tape.steps[0].span);
        findings.begin_command(&tape.steps[2].span);
        findings.warn("here");
        let steps = findings.trace_steps(&tape, Instant::now());
        let outcomes: Vec<_> = steps.iter().map(|step| (step.source.as_str(), step.outcome)).collect();
        let expected = [
            ("t.tape:1", TraceOutcome::Passed),
            ("t.tape:3", TraceOutcome::Failed),
            ("t.tape:4", TraceOutcome::Skipped),
        ];
        assert_eq!(outcomes, expected);
        assert_eq!(findings.into_warnings()[0].place.line, 3);
    }
}
