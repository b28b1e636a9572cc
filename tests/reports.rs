//! The reports of `hopty test`, each read by a program that others use for it: TAP by `prove`, JUnit by a
//! schema and by Python's XML reader, JSON lines by the tables of `docs/TESTING_TUIS.md`.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod source;
mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use source::{root, text};
use support::{claude, needs};

/// JUnit as its consumers read it, in our own words: what Jenkins, GitLab and Surefire document, with the
/// `file` and `line` that Jenkins' own schema lacks.
const SCHEMA: &str = "fixtures/reports/junit.xsd";

/// Reads JUnit as consumers in Python do, and prints what they count.
const READER: &str = r#"
import sys, xml.etree.ElementTree as tree
suites = tree.parse(sys.argv[1]).getroot()
cases = list(suites.iter("testcase"))
of = lambda kind: sum(case.find(kind) is not None for case in cases)
print(len(cases), of("failure"), of("error"), of("skipped"), of("flakyFailure"))
"#;

/// A tape of each verdict, with texts that are special in each format.
fn tapes(dir: &Path) {
    let marker = dir.join("seen");
    let second = format!("test -e {0} || {{ touch {0}; exit 1; }}", marker.display());
    for (name, content) in [
        ("passed", "Start echo one\nExpect \"one\"\nExit 0\n".to_owned()),
        ("smoke", "Type 'true'\nEnter\n".to_owned()),
        (
            "failed # 1",
            "Set ExpectTimeout 200ms\nStart sh -c \"printf '<a>&]]> # \\\\ \\033[31mred\\033[m'; read x\"\n\
             Expect \"1..7\\n\"\n"
                .to_owned(),
        ),
        ("skipped", "Require no-such-program\nStart true\nExit 0\n".to_owned()),
        ("unreadable", "Tpye \"x\"\n".to_owned()),
        ("flaky", format!("Start sh -c \"{second}\"\nExit 0\n")),
        ("snapshot", "Start cat\nType \"new\"\nSnapshot screen\n".to_owned()),
    ] {
        std::fs::write(dir.join(format!("{name}.tape")), content).unwrap();
    }
    std::fs::create_dir(dir.join("snapshots")).unwrap();
    std::fs::write(dir.join("snapshots/snapshot__screen.snap"), "# hopty 1 80x24\nold\n").unwrap();
    std::fs::write(dir.join(".gitignore"), "/target\n").unwrap();
}

/// Plays them, and gives the directory with `report.KIND` for each kind.
fn played() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    tapes(dir.path());
    let mut command = Command::new(claude::hopty());
    command.args(["test", ".", "--retry", "2"]).current_dir(dir.path());
    for kind in ["tap", "junit", "json"] {
        command.arg("--report").arg(format!("{kind}=report.{kind}"));
    }
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", dir.path()).env("XDG_RUNTIME_DIR", dir.path()).env("CI", "1");
    let output = command.output().unwrap();
    // Two tapes fail, one cannot be read.
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    dir
}

fn said(output: &Output) -> String {
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{errors}")
}

fn run(program: &str, args: &[&str], dir: &Path) -> Output {
    Command::new(program).args(args).current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn prove_reads_tap() {
    let Some(prove) = needs("prove") else { return };
    let dir = played();
    // A report that is read from a file, as CI keeps it.
    let output = run(prove, &["--exec", "cat", "--verbose", "report.tap"], dir.path());
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("Failed 4/7 subtests"), "{said}");
    for wrong in ["Parse error", "Bad plan", "No plan", "out of sequence"] {
        assert!(!said.contains(wrong), "{wrong}: {said}");
    }
    // All tests that pass, without a failure.
    for name in ["failed # 1", "unreadable", "flaky", "snapshot"] {
        std::fs::remove_file(dir.path().join(format!("{name}.tape"))).unwrap();
    }
    let line = format!("{} test --report tap", claude::hopty().display());
    let output = run(prove, &["--exec", &line, "passed.tape", "skipped.tape", "smoke.tape"], dir.path());
    assert_eq!(output.status.code(), Some(0), "{}", self::said(&output));
}

#[test]
fn junit_is_valid() {
    let dir = played();
    let schema = root().join(SCHEMA);
    if let Some(xmllint) = needs("xmllint") {
        let args = ["--noout", "--nonet", "--schema", schema.to_str().unwrap(), "report.junit"];
        let output = run(xmllint, &args, dir.path());
        assert!(output.status.success(), "{}", said(&output));
    }
    if let Some(python) = needs("python3") {
        let output = run(python, &["-c", READER, "report.junit"], dir.path());
        assert_eq!(String::from_utf8_lossy(&output.stdout), "7 2 1 1 1\n", "{}", said(&output));
    }
}

/// The names that a row or a sentence of the page gives between backticks.
fn names(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn json_lines_have_the_fields_of_the_page() {
    let dir = played();
    let page = text("docs/TESTING_TUIS.md");
    let section = page.split("\n### JSON lines\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let report = std::fs::read_to_string(dir.path().join("report.json")).unwrap();
    let lines: Vec<Value> = report.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let event = |line: &Value| line["event"].as_str().unwrap().to_owned();
    let events: Vec<String> = lines.iter().map(event).collect();
    assert_eq!(events, ["begin", "tape", "tape", "tape", "tape", "tape", "tape", "tape", "end"]);
    let fields = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    for line in &lines {
        let event = event(line);
        let row = section.lines().find(|row| row.starts_with(&format!("| `{event}` |"))).unwrap();
        for field in fields(line).into_iter().filter(|field| field != "event") {
            assert!(names(row).contains(field.as_str()), "the page does not name `{field}` of {event}");
        }
    }
    let verdicts: BTreeSet<&str> = lines.iter().filter_map(|line| line["verdict"].as_str()).collect();
    let all = ["failed", "flaky", "passed", "skipped", "smoke", "unreadable"];
    assert_eq!(verdicts, BTreeSet::from(all));
    let known = names(section);
    let mut failures = 0;
    for failure in lines.iter().map(|line| &line["failure"]).filter(|failure| failure.is_object()) {
        failures += 1;
        for part in [failure, &failure["place"], &failure["times"], &failure["screen"]] {
            if part.is_object() {
                for field in fields(part) {
                    assert!(known.contains(field.as_str()), "the page does not name `{field}`: {part}");
                }
            }
        }
        assert!(known.contains(failure["kind"].as_str().unwrap()), "{failure}");
    }
    assert_eq!(failures, 2);
    let end = lines.last().unwrap();
    assert_eq!((&end["passed"], &end["failed"], &end["exit_code"]), (&2.into(), &2.into(), &2.into()));
}
