//! The verdict on a command that tests, builds or lints, from its output and its exit status.

use super::bash_result::{self, CommandEnd, LineCleaner};
use super::evidence::Evidence;
use super::invocation::{self, Filter, RunnerCall, invocations};
use crate::core::text::safe_text::cut_bytes;

/// The most that is kept of a summary or a failing line, in bytes.
pub const LINE_CAP: usize = 200;
/// How many failing lines are kept.
pub const FAILING_CAP: usize = 5;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// Something was checked, and nothing failed.
    Passed,
    Failed,
    /// The output does not say.
    Unknown,
    /// No test ran, or the command did not run.
    NothingRan,
}

impl CheckOutcome {
    /// The word for it in a handoff.
    pub fn word(self) -> &'static str {
        match self {
            CheckOutcome::Passed => "passed",
            CheckOutcome::Failed => "failed",
            CheckOutcome::Unknown => "unknown",
            CheckOutcome::NothingRan => "nothing ran",
        }
    }
}

/// The result of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The runner, such as `cargo test`; several are joined with commas.
    pub tool: String,
    pub outcome: CheckOutcome,
    /// The result in a few words: `1 failed, 12 passed`. One line of at most `LINE_CAP` bytes.
    pub summary: String,
    /// Names of failing tests, or if there are none the first errors: at most `FAILING_CAP`, each of at most
    /// `LINE_CAP` bytes.
    pub failing: Vec<String>,
}

/// Judges a command of Claude's Bash tool by its output and by whether the tool reports an error. `None` if
/// the command runs no test, build or linter. The cost is linear in the length of `output`.
pub fn judge(command: &str, output: &str, is_error: bool) -> Option<Verdict> {
    let mut runs = invocations(command);
    if runs.is_empty() {
        return None;
    }
    let (exit, output) = CommandEnd::of(output, is_error);
    let mut evidence: Vec<Evidence> = runs.iter().map(Evidence::of).collect();
    let echoes = invocation::echoes(command);
    let mut cleaner = LineCleaner::default();
    let (mut lines, mut cut, mut first_errors) = (0usize, false, Vec::new());
    for line in output.split('\n') {
        let line = cleaner.clean(line);
        lines += 1;
        if line.is_empty() {
            continue;
        }
        cut |= bash_result::is_gap(line);
        if echoes.iter().any(|echo| echo.contains(line)) {
            continue;
        }
        bash_result::note_error(line, &mut first_errors);
        for one in &mut evidence {
            one.line(line);
        }
    }
    // The last line end begins no new line.
    let lines = if output.is_empty() || output.ends_with('\n') { lines - 1 } else { lines };
    let judged: Vec<RunnerVerdict> = runs
        .drain(..)
        .zip(evidence)
        .map(|(run, evidence)| runner_verdict(run, evidence, &exit, lines, cut))
        .collect();
    let by_exit_status = judged.iter().all(|one| !one.by_output);
    let mut verdict = combined(judged);
    if verdict.outcome == CheckOutcome::Failed && by_exit_status {
        verdict.failing = first_errors;
    }
    Some(verdict)
}

struct RunnerVerdict {
    tool: String,
    outcome: CheckOutcome,
    /// Whether the output says so, rather than the exit status.
    by_output: bool,
    summary: String,
    failing: Vec<String>,
}

fn runner_verdict(
    run: RunnerCall,
    evidence: Evidence,
    exit: &CommandEnd,
    lines: usize,
    cut: bool,
) -> RunnerVerdict {
    use CheckOutcome::{Failed, NothingRan, Passed, Unknown};
    let succeeded = matches!(exit, CommandEnd::Success) && run.success_is_its_own;
    let failed = matches!(exit, CommandEnd::Failure(_)) && run.failure_is_its_own;
    let whole = run.runner.whole;
    let hidden = run.filters.iter().any(|filter| match filter {
        Filter::First(most) => lines >= *most,
        Filter::Matching { passes_only } => *passes_only,
        Filter::Last(most) => lines >= *most && (run.goes_on_after_failure || run.runner.goes_on),
        Filter::Foreign => true,
    });
    let foreign = run.filters.contains(&Filter::Foreign);
    let partial = cut
        || run.filters.iter().any(|filter| match filter {
            Filter::First(most) | Filter::Last(most) => lines >= *most,
            Filter::Matching { .. } | Filter::Foreign => true,
        });
    let (said, summary) = evidence.resolve(matches!(exit, CommandEnd::Failure(_)));
    let (outcome, summary) = match (said, exit) {
        (_, CommandEnd::NeverRan(why)) => (NothingRan, why.clone()),
        (Some(Failed), _) if foreign && succeeded => (Passed, "exit code 0".to_owned()),
        (Some(Failed), _) => (Failed, summary),
        (_, CommandEnd::Stopped(why)) => (Unknown, why.clone()),
        (Some(Passed), _) if failed => (Failed, format!("{}, though it says: {summary}", exit.words())),
        (Some(Passed), _) if succeeded => (Passed, summary),
        (Some(Passed), _) if foreign || (!whole && (hidden || cut)) => {
            (Unknown, format!("only part of the output: {summary}"))
        }
        (Some(Passed), _) => (Passed, summary),
        (Some(NothingRan), _) if !whole && partial => {
            (Unknown, format!("only part of the output, no failure in it: {summary}"))
        }
        (Some(NothingRan), _) => (NothingRan, summary),
        (_, CommandEnd::Missing(why)) if run.failure_is_its_own => (NothingRan, why.clone()),
        (_, CommandEnd::Failure(_)) if failed => (Failed, exit.words()),
        (_, CommandEnd::Success) if succeeded => (Passed, "exit code 0".to_owned()),
        _ if lines == 0 => (Unknown, "no output".to_owned()),
        _ => (Unknown, "no result in the output".to_owned()),
    };
    RunnerVerdict {
        tool: run.tool,
        outcome,
        by_output: said == Some(outcome),
        summary,
        failing: evidence.failing(),
    }
}

/// A failure decides, then an unknown result, then that nothing ran.
fn combined(mut all: Vec<RunnerVerdict>) -> Verdict {
    use CheckOutcome::{Failed, NothingRan, Passed, Unknown};
    let outcome = [Failed, Unknown, NothingRan]
        .into_iter()
        .find(|outcome| all.iter().any(|one| one.outcome == *outcome))
        .unwrap_or(Passed);
    // A runner that reported no result, beside one that visibly failed, did not run.
    let seen = outcome == Failed && all.iter().any(|one| one.outcome == Failed && one.by_output);
    all.retain(|one| one.outcome == outcome && (one.by_output || !seen));
    let several = all.len() > 1;
    let tools: Vec<&str> = all.iter().map(|one| one.tool.as_str()).collect();
    let summaries: Vec<String> = all
        .iter()
        .map(|one| if several { format!("{}: {}", one.tool, one.summary) } else { one.summary.clone() })
        .collect();
    let kept = |text: &str| cut_bytes(text, LINE_CAP).trim_end().to_owned();
    let failing = if outcome == Failed {
        all.iter().flat_map(|one| &one.failing).take(FAILING_CAP).cloned().collect()
    } else {
        Vec::new()
    };
    Verdict { tool: kept(&tools.join(", ")), outcome, summary: kept(&summaries.join("; ")), failing }
}

#[cfg(test)]
mod tests {
    use super::super::{is_check, is_exit_status_its_own};
    use super::*;
    use CheckOutcome::{Failed, NothingRan, Passed, Unknown};

    fn outcome(command: &str, output: &str, is_error: bool) -> Option<CheckOutcome> {
        judge(command, output, is_error).map(|verdict| verdict.outcome)
    }

    #[test]
    fn checks_are_distinguished_from_other_commands() {
        for command in [
            "cargo test --lib foo",
            "cd x && cargo +nightly nextest run",
            "cargo --manifest-path x/Cargo.toml test",
            "npm run test:unit",
            "npm --prefix web test",
            "yarn workspace web lint",
            "npx tsc --noEmit",
            "npx -y jest",
            "uv run --with x pytest",
            "RUST_LOG=debug timeout 60 cargo clippy -- -D warnings",
            "python3 -m pytest -q",
            "python3.12 -m unittest discover",
            "coverage run -m pytest",
            "python manage.py test",
            "python3 tests/test_store.py",
            "./gradlew :app:testDebugUnitTest",
            "./gradlew check",
            "mvn -q clean test",
            "make -j4 test",
            "make",
            "bash -lc 'cd x && go test ./...'",
            "(cd x; ruff check) | tail",
            "git ls-files '*.py' | xargs mypy",
            "if pytest; then echo yes; fi",
            "node --test tests/",
            "cargo fmt --check",
        ] {
            assert!(is_check(command), "{command}");
        }
        for command in [
            "ls tests", "cat test.rs", "git commit -m 'cargo test'", "npm install", "npm install test-lib",
            "make install", "echo test", "echo 'a | pytest'", "cargo run -- test", "cargo fmt",
            "ruff format", "pytest --version", "cargo test --help", "python3 build.py", "node server.js",
            "cat <<EOF > x\npytest\nEOF", "grep -rn pytest .", "pip install pytest", "which pytest", "",
        ] {
            assert!(!is_check(command), "{command}");
        }
    }

    #[test]
    fn the_exit_status_counts_where_the_command_hands_it_on() {
        let error = "Exit code 1\nboom";
        for (command, passed, failed) in [
            ("tsc --noEmit", Passed, Failed),
            ("cd web && tsc --noEmit", Passed, Failed),
            ("export A=1; tsc", Passed, Failed),
            ("tsc && echo fine", Passed, Failed),
            ("tsc && git push", Passed, Unknown),
            ("tsc 2>&1 > log.txt", Passed, Failed),
            ("bash -c 'cd x && tsc'", Passed, Failed),
            ("set -o pipefail; tsc | tail -3", Passed, Failed),
            ("set -euo pipefail\ntsc | tee log\necho done", Passed, Failed),
            ("tsc || exit 1", Passed, Failed),
            ("tsc | tail -5", Unknown, Unknown),
            ("tsc 2>&1 | head", Unknown, Unknown),
            ("tsc | tee log", Unknown, Unknown),
            ("tsc || true", Unknown, Failed),
            ("tsc; echo done", Unknown, Unknown),
            ("tsc\necho done", Unknown, Unknown),
            ("tsc & wait", Unknown, Unknown),
            ("! tsc", Unknown, Unknown),
            ("if tsc; then echo a; fi", Unknown, Unknown),
            ("for d in a b; do tsc -p $d; done", Unknown, Unknown),
            ("(cd x && tsc) | tail", Unknown, Unknown),
            ("bash -c 'tsc | tail'", Unknown, Unknown),
            ("command -v tsc || tsc", Unknown, Failed),
        ] {
            assert_eq!(outcome(command, "", false), Some(passed), "{command}");
            assert_eq!(outcome(command, error, true), Some(failed), "{command}");
        }
    }

    #[test]
    fn a_summary_is_believed_whatever_the_exit_status_says() {
        let (good, bad) = ("2 passed in 0.05s\n", "1 failed, 1 passed in 0.05s\n");
        for command in [
            "pytest",
            "pytest | tail -1",
            "pytest -q 2>&1 | tail -5",
            "pytest | grep -E 'passed|failed'",
            "pytest | tee log",
            "pytest || true",
            "pytest; echo done",
            "pytest 2>&1 | head -50",
            "pytest > out.log 2>&1; tail -3 out.log",
            "if pytest; then echo yes; fi",
            "cat src/a.py; pytest | tail -1",
        ] {
            assert_eq!(outcome(command, good, false), Some(Passed), "{command}");
            assert_eq!(outcome(command, bad, false), Some(Failed), "{command}");
        }
        let contradiction = judge("pytest", &format!("Exit code 1\n{good}"), true).unwrap();
        assert_eq!(
            (contradiction.outcome, contradiction.summary.as_str()),
            (Failed, "exit code 1, though it says: 2 passed")
        );
        assert_eq!(
            outcome("pytest | grep passed; false", &format!("Exit code 1\n{good}"), true),
            Some(Passed)
        );
    }

    #[test]
    fn eslint_with_too_many_warnings_has_failed() {
        let some = "\u{2716} 3 problems (0 errors, 3 warnings)";
        let outcome = |output: &str| judge("npx eslint . | tail -5", output, false).map(|one| one.outcome);
        assert_eq!(outcome(some), Some(CheckOutcome::Passed));
        let too_many = format!("{some}\n\nESLint found too many warnings (maximum: 0).");
        assert_eq!(outcome(&too_many), Some(CheckOutcome::Failed));
    }

    #[test]
    fn playwright_is_judged_by_its_lines() {
        let failed = "  1) [webkit] › e2e/login.spec.ts:14:5 › logs in ───\n\n    Error: expect(locator).toBeVisible() \
                      failed\n\n  1 failed\n    [webkit] › e2e/login.spec.ts:14:5 › logs in ───\n  2 flaky\n  8 \
                      passed (12.1s)\n";
        let verdict = judge("npx playwright test --project=webkit 2>&1 | tail -20", failed, false).unwrap();
        assert_eq!((verdict.outcome, verdict.summary.as_str()), (Failed, "1 failed, 8 passed"));
        assert!(verdict.failing[0].contains("e2e/login.spec.ts:14:5"), "{:?}", verdict.failing);
        let passed = "Running 9 tests using 1 worker\n\n  1 flaky\n    [webkit] › a.spec.ts:1:1 › b\n  8 passed (9s)\n";
        assert_eq!(outcome("npx playwright test", passed, false), Some(Passed));
        assert_eq!(outcome("npx playwright test | tail -1", "  8 passed (9s)\n", false), Some(Unknown));
        assert!(!is_check("npx playwright install"));
    }

    #[test]
    fn runners_of_other_languages_are_judged_by_their_last_lines() {
        for (command, output, expected, summary) in [
            ("bun test | tail -4", " 12 pass\n 1 fail\n 26 expect() calls\n", Failed, "1 failed, 12 passed"),
            ("bun test 2>&1 | tail -4", " 12 pass\n 0 fail\n 26 expect() calls\n", Passed, "12 passed"),
            ("deno test | tail -1", "FAILED | 12 passed | 1 failed (3s)\n", Failed, "1 failed, 12 passed"),
            ("deno test -A | tail -1", "ok | 12 passed | 0 failed (3s)\n", Passed, "12 passed"),
            (
                "swift test 2>&1 | tail -1",
                "\t Executed 13 tests, with 1 failure (0 unexpected) in 0.01 (0.02) seconds\n",
                Failed,
                "Executed 13 tests, with 1 failure (0 unexpected) in 0.01 (0.02) seconds",
            ),
            (
                "swift test | tail -2",
                "Executed 2 tests, with 0 failures (0 unexpected) in 0.1 (0.1) seconds\nExecuted 0 tests, with \
                 0 failures (0 unexpected) in 0.0 (0.0) seconds\n",
                NothingRan,
                "Executed 0 tests, with 0 failures (0 unexpected) in 0.0 (0.0) seconds",
            ),
            ("golangci-lint run | tail -2", "3 issues:\n* errcheck: 3\n", Failed, "3 issues:"),
            ("golangci-lint run | cat", "0 issues.\n", Passed, "0 issues."),
        ] {
            let verdict = judge(command, output, false).unwrap();
            assert_eq!((verdict.outcome, verdict.summary.as_str()), (expected, summary), "{command}");
        }
    }

    #[test]
    fn a_failure_is_hidden_by_what_stands_behind_it() {
        for command in [
            "make", "cd x && make", "make && git push", "set -o pipefail; make | tail", "make || exit 1",
            "export A=1; make", "echo y | make", "(cd x && make)", "make > log 2>&1",
            "bash -c 'cd x && make'",
        ] {
            assert!(is_exit_status_its_own(command), "{command}");
        }
        for command in [
            "make | tail -1", "make || true", "make; echo done", "make\nls", "make &",
            "for a in b; do make; done", "! make", "(make | tail)", "bash -c 'make | tail'",
            "make || echo failed",
        ] {
            assert!(!is_exit_status_its_own(command), "{command}");
        }
    }

    #[test]
    fn a_summary_that_another_program_printed_is_none_of_the_runners() {
        let log = "===== 12 passed in 0.10s =====\n";
        assert_eq!(judge("cat old.log", log, false), None);
        assert_eq!(judge("tail -5 /tmp/pytest.log", log, false), None);
        assert_eq!(
            outcome("pytest | tail -1; echo '12 passed in 0.10s'", "12 passed in 0.10s", false),
            Some(Unknown)
        );
        assert_eq!(outcome("pytest > a.log; cat old.log", log, false), Some(Unknown));
        assert_eq!(outcome("cat old.log; tsc --noEmit", "a.ts(1,2): error TS1: x\n", false), Some(Passed));
        // What a test prints comes before its runner's summary.
        assert_eq!(
            outcome("pytest | tail -9", "1 failed in 0.1s\nE assert\n2 passed in 0.2s", false),
            Some(Passed)
        );
        assert_eq!(
            outcome("pytest a | tail -1; pytest b | tail -1", "1 failed in 0.1s\n2 passed in 0.2s", false),
            Some(Failed)
        );
        assert_eq!(
            outcome(
                "for d in a b; do pytest $d | tail -1; done",
                "1 failed in 0.1s\n2 passed in 0.2s",
                false
            ),
            Some(Failed)
        );
    }

    #[test]
    fn of_several_runners_a_failure_decides() {
        let ok =
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let both = judge("cargo fmt --check && cargo test", ok, false).unwrap();
        assert_eq!((both.outcome, both.tool.as_str()), (Passed, "cargo fmt, cargo test"));
        assert_eq!(both.summary, "cargo fmt: exit code 0; cargo test: 3 passed");
        let diff =
            judge("cargo fmt --check; cargo test", &format!("Diff in /p/src/a.rs:1:\n{ok}"), false).unwrap();
        assert_eq!(
            (diff.outcome, diff.tool.as_str(), diff.failing),
            (Failed, "cargo fmt", vec!["Diff in /p/src/a.rs:1".to_owned()])
        );
        assert_eq!(outcome("cargo build && cargo test", &ok.replace('3', "0"), false), Some(NothingRan));
        assert_eq!(
            outcome("ruff check | tail -1; pytest | tail -1", "All checks passed!\n", false),
            Some(Unknown)
        );
    }

    #[test]
    fn parts_of_an_output_prove_no_pass() {
        let ok = "test result: ok. 3 passed; 0 failed; 0 ignored\n";
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored\n";
        assert_eq!(outcome("cargo test 2>&1 | head -1", ok, false), Some(Unknown));
        assert_eq!(outcome("cargo test 2>&1 | head -9", ok, false), Some(Passed));
        assert_eq!(outcome("cargo test | grep 'test result: ok'", ok, false), Some(Unknown));
        assert_eq!(outcome("cargo test | grep 'test result'", ok, false), Some(Passed));
        assert_eq!(outcome("cargo test --no-fail-fast 2>/dev/null | tail -1", ok, false), Some(Unknown));
        assert_eq!(outcome("cargo test 2>&1 | tail -1", none, false), Some(Unknown));
        assert_eq!(outcome("cargo test 2>&1 | tail -9", none, false), Some(NothingRan));
        let cut = format!("{ok}\n... [412 lines truncated] ...\n{ok}");
        assert_eq!(outcome("cargo test | cat", &cut, false), Some(Unknown));
        assert_eq!(outcome("cargo test", &cut, false), Some(Passed));
        assert_eq!(
            outcome("cargo test | cat", &cut.replace("ok. 3 passed; 0", "FAILED. 3 passed; 1"), false),
            Some(Failed)
        );
        let stored = "<persisted-output>\nOutput too large (54KB). Full output saved to: /p/x.txt\n\nPreview \
                      (first 2KB):\n..\n";
        assert_eq!(outcome("pytest | cat", stored, false), Some(Unknown));
    }

    #[test]
    fn a_command_that_did_not_run_or_was_stopped_is_reported() {
        for (output, wanted) in [
            ("The user doesn't want to proceed with this tool use. The tool use was rejected", NothingRan),
            ("Permission to use Bash with command pytest has been denied.", NothingRan),
            ("Exit code 127\n/bin/bash: line 1: pytest: command not found", NothingRan),
            ("Exit code 1\n/bin/bash: line 1: cd: x: No such file or directory", NothingRan),
            ("Exit code 143\nCommand timed out after 2m 0.0s\ntest_a.py ..", Unknown),
            ("Exit code 124\ntest_a.py ..", Unknown),
            ("Exit code 137\nFAILED test_a.py::b - x", Failed),
            ("Exit code 127\n\n> demo@1.0.0 test\n> jest\n\nsh: 1: jest: not found", NothingRan),
            ("[Request interrupted by user for tool use]", Unknown),
            ("Exit code 2\nImportError", Failed),
            ("anything", Failed),
        ] {
            assert_eq!(outcome("cd x && pytest", output, true), Some(wanted), "{output}");
        }
    }

    #[test]
    fn colours_progress_and_huge_lines_are_read_through() {
        let bars = format!(
            "{}\r\x1b[2K\x1b[31m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m in 0.1s\r\n",
            "\r 10 %".repeat(1000)
        );
        let verdict = judge("pytest | tail -1", &bars, false).unwrap();
        assert_eq!((verdict.outcome, verdict.summary.as_str()), (Failed, "1 failed, 2 passed"));
        let huge = format!("{}\n2 passed in 0.1s", "x".repeat(3 << 20));
        assert_eq!(outcome("pytest | tail -2", &huge, false), Some(Passed));
        let many = "FAILED a.py::".to_owned() + &"é".repeat(4000) + "\n";
        let verdict = judge("pytest", &many.repeat(50), true).unwrap();
        assert!(
            verdict.failing.len() <= FAILING_CAP && verdict.failing.iter().all(|line| line.len() <= LINE_CAP)
        );
    }

    /// Runners without a fixture, by the forms in their documentation.
    #[test]
    fn documented_forms() {
        let pnpm = "> vitest run\n Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)\n \
                    ELIFECYCLE  Test failed. See above.\n";
        assert_eq!(outcome("pnpm test | tail -4", pnpm, false), Some(Failed));
        let spec =
            "✔ adds (1ms)\nℹ tests 2\nℹ suites 0\nℹ pass 2\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n";
        assert_eq!(outcome("node --test | cat", spec, false), Some(Passed));
        let gradle = "> Task :compileJava\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n1 actionable \
                      task: 1 executed\n";
        assert_eq!(outcome("./gradlew test", gradle, false), Some(NothingRan));
        assert_eq!(outcome("./gradlew build", gradle, false), Some(Passed));
        assert_eq!(outcome("./gradlew test", &format!("> Task :a:test\n{gradle}"), false), Some(Passed));
        for (command, output, wanted, summary) in [
            (
                "vendor/bin/phpunit | tail -4",
                "OK (12 tests, 30 assertions)\n",
                Passed,
                "OK (12 tests, 30 assertions)",
            ),
            (
                "phpunit | tail -4",
                "1) FooTest::testBar\n\nFAILURES!\nTests: 3, Assertions: 3, Failures: 1.\n",
                Failed,
                "1 failed, 2 passed",
            ),
            (
                "phpunit | cat",
                "OK, but there were issues!\nTests: 3, Assertions: 3, Skipped: 1.\n",
                Passed,
                "2 passed, 1 skipped",
            ),
            ("phpunit | cat", "No tests executed!\n", NothingRan, "No tests executed!"),
            (
                "bundle exec rspec | tail -2",
                "12 examples, 0 failures, 1 pending\n",
                Passed,
                "12 examples, 0 failures, 1 pending",
            ),
            (
                "rspec | tail",
                "12 examples, 10 failures\n\nrspec ./spec/a_spec.rb:3 # Foo bar\n",
                Failed,
                "10 failed",
            ),
            ("rspec | tail", "0 examples, 0 failures\n", NothingRan, "0 examples, 0 failures"),
            (
                "rspec | tail",
                "0 examples, 0 failures, 1 error occurred outside of examples\n",
                Failed,
                "0 examples, 0 failures, 1 error occurred outside of examples",
            ),
            (
                "dotnet test | grep -v warn",
                "Failed!  - Failed:     1, Passed:    11, Skipped:     0, Total:    12, Duration: 3 ms - a.dll\n",
                Failed,
                "1 failed, 11 passed",
            ),
            (
                "dotnet test | cat",
                "Passed!  - Failed:     0, Passed:    11, Skipped:     1, Total:    12, Duration: 3 ms - a.dll\n",
                Passed,
                "11 passed, 1 skipped",
            ),
            (
                "dotnet test | tail -1",
                "Passed!  - Failed:     0, Passed:    11, Skipped:     0, Total:    11 - a.dll\n",
                Unknown,
                "only part of the output: 11 passed",
            ),
            (
                "dotnet test | cat",
                "Test summary: total: 12, failed: 1, succeeded: 11, skipped: 0, duration: 1.2s\n",
                Failed,
                "1 failed, 11 passed",
            ),
            (
                "ctest | tail -3",
                "100% tests passed, 0 tests failed out of 12\n",
                Passed,
                "100% tests passed, 0 tests failed out of 12",
            ),
            (
                "ctest | tail -9",
                "92% tests passed, 1 tests failed out of 12\n\nThe following tests FAILED:\n\t  3 - parse (Failed)\n",
                Failed,
                "92% tests passed, 1 tests failed out of 12",
            ),
            ("ctest | tail", "No tests were found!!!\n", NothingRan, "No tests were found!!!"),
            (
                "bazel test //... | tail -4",
                "//a:t    PASSED in 0.3s\n//b:t    FAILED in 0.1s\n\nExecuted 2 out of 2 tests: 1 test passes and 1 fails \
                 locally.\n",
                Failed,
                "1 target failed, 1 target passed",
            ),
            ("bazel test //a:t | cat", "//a:t  (cached) PASSED in 0.3s\n", Passed, "1 target passed"),
            ("mix test | tail -1", "2 doctests, 30 tests, 1 failure\n", Failed, "1 failed"),
            ("mix test | tail -1", "30 tests, 0 failures\n", Passed, "30 tests, 0 failures"),
            (
                "flutter test | tail -1",
                "00:05 +9 -1: Some tests failed.\n",
                Failed,
                "00:05 +9 -1: Some tests failed.",
            ),
            ("dart test | tail -1", "00:05 +10: All tests passed!\n", Passed, "00:05 +10: All tests passed!"),
        ] {
            let verdict = judge(command, output, false).unwrap_or_else(|| panic!("{command}"));
            assert_eq!((verdict.outcome, verdict.summary.as_str()), (wanted, summary), "{command}");
        }
    }

    #[test]
    fn what_runs_in_a_container_or_on_another_machine_is_a_check() {
        for command in [
            "docker compose exec -T app pytest | tail -3",
            "docker exec -it -e A=b app pytest -q | tail -3",
            "docker run --rm -v /a:/b python:3 python -m pytest | tail -3",
            "docker exec app bash -lc 'cd /app && pytest | tail -3'",
            "podman exec app sh -c 'pytest' | tail -1",
            "kubectl exec -n ci pod/app -- pytest | tail -1",
            "ssh -p 2222 ci 'cd app && pytest' | tail -1",
            "ssh ci pytest -q | tail",
        ] {
            assert_eq!(outcome(command, "1 failed, 9 passed in 0.1s\n", false), Some(Failed), "{command}");
            assert_eq!(outcome(command, "9 passed in 0.1s\n", false), Some(Passed), "{command}");
        }
        assert_eq!(
            outcome("docker exec app pytest", "x", false),
            Some(Passed),
            "its exit status is handed on"
        );
        assert_eq!(outcome("ssh ci tsc", "Exit code 2\nx", true), Some(Failed));
        for command in [
            "docker exec app cat pytest", "docker compose up -d pytest", "docker build -t pytest .",
            "docker run pytest", "ssh ci", "ssh pytest", "kubectl logs pytest",
        ] {
            assert!(!is_check(command), "{command}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_output_is_judged_within_bounds(
            command in "(cd x && )?(cargo test|pytest|npm test|go test|mvn test|node --test|eslint)( [|] \
                        (tail -3|head|grep ok|cat))?(; echo x)?",
            output in "([\x1b\r\t é{n}=#✖:]|Exit code |test result: |ok|FAILED|[0-9]{1,30}| passed| \
                       failed|\n|Tests run: | in |FAIL\t){0,40}",
            is_error: bool,
        ) {
            let verdict = judge(&command, &output, is_error).unwrap();
            proptest::prop_assert!(verdict.summary.len() <= LINE_CAP && verdict.tool.len() <= LINE_CAP);
            proptest::prop_assert!(verdict.failing.len() <= FAILING_CAP && verdict.failing.iter().all(|line| line.len() <= LINE_CAP));
            proptest::prop_assert!(!verdict.summary.contains(['\n', '\x1b', '\r']));
        }

        #[test]
        fn any_command_is_read(command in "\\PC{0,200}", output in "\\PC{0,200}", is_error: bool) {
            let _ = judge(&command, &output, is_error);
        }
    }
}
