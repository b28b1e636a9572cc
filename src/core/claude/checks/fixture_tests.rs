//! Real output of the runners (`fixtures/checks`), each judged as `expected.toml` says.

use serde::Deserialize;

use super::check_verdict::{FAILING_CAP, LINE_CAP, judge};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    file: String,
    command: String,
    exit: u32,
    tool: String,
    outcome: String,
    summary: String,
    failing: Vec<String>,
}

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/checks")
}

fn cases() -> Vec<(Case, String)> {
    let table = std::fs::read_to_string(folder().join("expected.toml")).unwrap();
    let cases = toml::from_str::<Expected>(&table).unwrap().case;
    cases
        .into_iter()
        .map(|case| (std::fs::read_to_string(folder().join(&case.file)).unwrap(), case))
        .map(|(text, case)| (case, text))
        .collect()
}

/// The output as Claude's tool gives it.
fn answer(exit: u32, output: &str) -> String {
    if exit == 0 { output.to_owned() } else { format!("Exit code {exit}\n{output}") }
}

#[test]
fn real_output_is_judged_as_expected() {
    let mut wrong = Vec::new();
    for (case, text) in cases() {
        let verdict = judge(&case.command, &answer(case.exit, &text), case.exit != 0).unwrap();
        let seen =
            (verdict.tool.as_str(), verdict.outcome.word(), verdict.summary.as_str(), &verdict.failing);
        if seen != (case.tool.as_str(), case.outcome.as_str(), case.summary.as_str(), &case.failing) {
            wrong.push(format!("{}: {seen:?}", case.file));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_fixture_is_expected_once() {
    let mut named: Vec<String> = cases().into_iter().map(|(case, _)| case.file).collect();
    named.sort();
    let mut there: Vec<String> = Vec::new();
    for runner in std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.path().is_dir())
    {
        for case in std::fs::read_dir(runner.path()).unwrap() {
            there.push(format!("{}/{}", runner.file_name().display(), case.unwrap().file_name().display()));
        }
    }
    there.sort();
    assert_eq!(there, named);
}

/// Whatever part of an output is left: a failed run never becomes a pass where its exit status is hidden, and
/// nothing grows past its bounds.
#[test]
fn no_beginning_and_no_end_of_a_failed_run_is_a_pass() {
    for (case, text) in cases().iter().filter(|(case, _)| case.outcome == "failed") {
        let lines: Vec<&str> = text.lines().collect();
        // What follows a test file that failed may be another run of the same kind, which passed.
        for at in 0..=lines.len() {
            for (filter, part) in
                [(format!("head -{at}"), &lines[..at]), (format!("tail -{}", lines.len() - at), &lines[at..])]
            {
                let plain = case.command.split(['|', ';', '&']).next().unwrap();
                let verdict = judge(&format!("{plain} 2>&1 | {filter}"), &part.join("\n"), false);
                let Some(verdict) = verdict else { continue };
                assert_ne!(verdict.outcome.word(), "passed", "{} through {filter}", case.file);
                assert!(verdict.summary.len() <= LINE_CAP && verdict.failing.len() <= FAILING_CAP);
            }
        }
    }
}
