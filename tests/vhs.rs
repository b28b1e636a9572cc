//! The tapes of `fixtures/vhs`: each shows a rule of the language of VHS, `docs/VHS.md` says which, and
//! `NAME.expected` beside it what hopty makes of it.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod source;
mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use hopty::core::tape::{ParseOptions, Tape, TapeFiles, parse};
use source::{files, root, text};
use support::claude;

const DIR: &str = "fixtures/vhs";

/// What `Source` reads.
struct Fixtures;

impl TapeFiles for Fixtures {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(root().join(DIR).join(path)).map_err(|error| error.to_string())
    }
}

/// The names of the tapes.
fn tapes() -> BTreeSet<String> {
    let name = |file: &String| Path::new(file).file_stem().unwrap().to_str().unwrap().to_owned();
    files(DIR, ".tape").iter().map(name).collect()
}

fn expected(name: &str) -> String {
    text(&format!("{DIR}/{name}.expected"))
}

fn tape(name: &str, vhs_only: bool) -> Tape {
    let file = format!("{name}.tape");
    let source = text(&format!("{DIR}/{file}"));
    parse(&file, source.as_bytes(), ParseOptions { vhs_only }, &Fixtures)
}

/// What hopty makes of a tape, in the form of the files.
fn judged(tape: &Tape) -> String {
    let mut lines = String::new();
    for error in &tape.errors {
        let _ = writeln!(lines, "error {}:{}", error.span.line, error.span.column);
    }
    if tape.is_valid() {
        let (cols, rows) = tape.settings.grid_size();
        let _ = writeln!(lines, "size {cols}x{rows}");
        for step in &tape.steps {
            let ignored = if step.ignored { "ignored " } else { "" };
            let _ = writeln!(lines, "{ignored}{}", step.command);
        }
    }
    lines
}

/// Whether a line says what playing the tape does.
fn is_of_playing(line: &str) -> bool {
    line == "plays" || line.contains(".txt has ") || line.contains(".txt lacks ")
}

#[test]
fn every_tape_is_read_as_expected() {
    let mut wrong = String::new();
    for name in tapes() {
        let expected = std::fs::read_to_string(root().join(DIR).join(format!("{name}.expected")));
        let expected = expected.unwrap_or_default();
        let lines: String =
            expected.split_inclusive('\n').filter(|line| !is_of_playing(line.trim_end())).collect();
        let found = judged(&tape(&name, true));
        if lines != found {
            let _ = writeln!(wrong, "== {name}.tape: expected\n{lines}-- found\n{found}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A tape that VHS accepts means the same without the option, except for commands behind `#> `.
#[test]
fn the_tapes_mean_the_same_beside_extensions() {
    for name in tapes() {
        let strict = tape(&name, true);
        if strict.is_valid() && !text(&format!("{DIR}/{name}.tape")).contains("#> ") {
            assert_eq!(judged(&tape(&name, false)), judged(&strict), "{name}");
        }
    }
}

#[test]
fn the_page_and_the_directory_name_the_same_tapes() {
    let page = text("docs/VHS.md");
    let rows = page.lines().filter(|line| line.starts_with("| ") && *line != "| rule | tapes |");
    let mut named = BTreeSet::new();
    for row in rows {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let of_row: Vec<String> = cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        assert!(!of_row.is_empty(), "no tape shows this: {row}");
        named.extend(of_row);
    }
    assert_eq!(named, tapes(), "docs/VHS.md against {DIR}");
    let stems = files(DIR, ".expected");
    assert_eq!(stems.len(), tapes().len(), "a tape lacks its expected result, or one has no tape: {stems:?}");
}

#[test]
fn the_tapes_play_as_expected() {
    let work = tempfile::tempdir().unwrap();
    for file in files(DIR, ".tape") {
        let file = Path::new(&file);
        std::fs::copy(root().join(file), work.path().join(file.file_name().unwrap())).unwrap();
    }
    let played: Vec<String> =
        tapes().into_iter().filter(|name| expected(name).lines().any(|line| line == "plays")).collect();
    assert!(played.len() > 8, "{played:?}");
    let output = Command::new(claude::hopty())
        .args(["test", "--fast", "--render"])
        .args(played.iter().map(|name| format!("{name}.tape")))
        .current_dir(work.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", work.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    for name in &played {
        for line in expected(name).lines().filter(|line| is_of_playing(line) && *line != "plays") {
            let has = line.contains(" has ");
            let (file, wanted) = line.split_once(if has { " has " } else { " lacks " }).unwrap();
            let content = std::fs::read_to_string(work.path().join(file)).unwrap();
            assert_eq!(content.lines().any(|row| row == wanted), has, "{name}: {line}\n{content}");
        }
    }
}
