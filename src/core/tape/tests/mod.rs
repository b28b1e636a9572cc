//! The meaning of tapes: the language of VHS (`vhs.rs`), hopty's additions (`own.rs`), messages about
//! mistakes (`mistakes.rs`).

mod mistakes;
mod own;
mod vhs;

use std::collections::BTreeMap;

use super::*;

/// Files by their names.
#[derive(Default)]
struct Shelf(BTreeMap<&'static str, &'static str>);

impl TapeFiles for Shelf {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).map(|text| text.as_bytes().to_vec()).ok_or_else(|| "no such file".to_owned())
    }
}

fn shelf(files: &[(&'static str, &'static str)]) -> Shelf {
    Shelf(files.iter().copied().collect())
}

fn read(source: &str) -> Tape {
    parse("a.tape", source.as_bytes(), ParseOptions::default(), &Shelf::default())
}

fn read_strictly(source: &str) -> Tape {
    parse("a.tape", source.as_bytes(), ParseOptions { vhs_only: true }, &Shelf::default())
}

/// The commands as lines.
fn lines(tape: &Tape) -> Vec<String> {
    assert!(tape.is_valid(), "{}", tape.report());
    tape.steps.iter().map(|step| step.command.to_string()).collect()
}

/// Checks that a tape has these commands, for VHS and for hopty.
#[track_caller]
fn is(source: &str, commands: &[&str]) {
    assert_eq!(lines(&read(source)), commands, "{source}");
    assert_eq!(lines(&read_strictly(source)), commands, "{source}, for VHS");
}

/// Checks that a tape has these commands, which VHS does not have, and that they can be read again.
#[track_caller]
fn is_own(source: &str, commands: &[&str]) {
    let tape = read(source);
    assert_eq!(lines(&tape), commands, "{source}");
    let strict = read_strictly(source);
    assert!(strict.report().contains("is an extension of hopty"), "{source}\n{}", strict.report());
    again(&tape);
}

/// Checks that every command can be written and read again.
#[track_caller]
fn again(tape: &Tape) {
    for step in &tape.steps {
        let line = step.command.to_string();
        let twice = read(&line);
        let commands: Vec<&TapeCommand> = twice.steps.iter().map(|step| &step.command).collect();
        assert_eq!(commands, [&step.command], "{line}\n{}", twice.report());
    }
}

/// Checks that a tape has errors at these lines and columns, for VHS and for hopty.
#[track_caller]
fn is_wrong(source: &str, places: &[(u32, u32)]) {
    for tape in [read(source), read_strictly(source)] {
        let found: Vec<(u32, u32)> = tape.errors.iter().map(|e| (e.span.line, e.span.column)).collect();
        assert_eq!(found, places, "{source}\n{}", tape.report());
    }
}

/// The first error, in one line.
fn error(source: &str) -> String {
    let tape = read(source);
    let error = tape.errors.first().unwrap_or_else(|| panic!("{source} is valid: {:?}", tape.steps));
    let hint = error.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{}:{}: {}{hint}", error.span.line, error.span.column, error.message)
}
