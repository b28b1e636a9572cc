//! The table of runners: tests, builds and linters, with the lines in which their output reports the result.
//! The forms are taken from real output (`fixtures/checks`), except those marked as documented.

/// The meaning of a line of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineMeaning {
    /// How many tests ended how, with each number before its word: `1 failed, 12 passed`.
    Counts,
    /// The same with each number behind its word: `Failures: 1`, `# pass 3`.
    Keyed,
    /// How many tests ran, but not how they ended: the first number.
    Total,
    /// How many test files failed. A file that cannot be loaded contributes no test.
    Files,
    /// How many problems were found; zero is a pass.
    Problems,
    /// Success, unless other lines report a failure or no test.
    Done,
    Failed,
    /// Failure, with numbers behind their words: `failures=1`.
    FailedCounts,
    /// There was nothing to run.
    Nothing,
    /// One unit, such as a package or a task, passed.
    Unit,
    UnitFailed,
    /// Nothing, although it looks like a result.
    Noise,
    /// The name of a failing test. A failure, unless a summary says otherwise.
    Name,
    /// An error message. A failure, unless a summary says otherwise.
    Error,
}

/// A line that is recognized by its beginning and by a text in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinePattern {
    /// The beginning, after spaces and `=`: `{n}` matches a number, `$` the end of the line.
    pub(super) begins: &'static str,
    /// A text that the rest of the line contains, or, with `$`, ends with.
    pub(super) has: &'static str,
    pub(super) says: LineMeaning,
    /// Whether it begins a summary. If the runner writes one summary, everything before it is output of the
    /// tests.
    pub(super) opens: bool,
}

/// Which subcommands of a program are meant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subcommands {
    Any,
    /// The first word that is not an option is one of these.
    First(&'static [&'static str]),
    /// One of the words is one of these or begins with it: `test:unit`, `:app:testDebug`.
    Among(&'static [&'static str]),
    /// Only options.
    Bare,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Runner {
    pub(super) programs: &'static [&'static str],
    pub(super) subs: Subcommands,
    /// The option that makes the command a check; empty if none is needed.
    pub(super) needs: &'static str,
    /// Whether one summary line covers the whole run. Otherwise a part of the output proves no pass.
    pub(super) whole: bool,
    /// The things that it counts, if not tests.
    pub(super) unit: &'static str,
    /// Its lines; the first form that matches counts.
    pub(super) forms: &'static [LinePattern],
    /// Whether its main job is to build, so that a run without tests or without work is a success.
    pub(super) builds: bool,
    /// Whether it runs other runners, whose lines count too.
    pub(super) runs_others: bool,
    /// Whether it continues after a failure and ends with lines that do not mention it, so that the last
    /// lines prove no pass.
    pub(super) goes_on: bool,
}

const fn form(begins: &'static str, has: &'static str, says: LineMeaning) -> LinePattern {
    LinePattern { begins, has, says, opens: false }
}

const fn opening(begins: &'static str, has: &'static str, says: LineMeaning) -> LinePattern {
    LinePattern { begins, has, says, opens: true }
}

/// A runner with one summary for the whole run.
const fn row(programs: &'static [&'static str], subs: Subcommands, forms: &'static [LinePattern]) -> Runner {
    Runner {
        programs,
        subs,
        needs: "",
        whole: true,
        unit: "",
        forms,
        builds: false,
        runs_others: false,
        goes_on: false,
    }
}

/// A runner that builds.
const fn builds(
    programs: &'static [&'static str],
    subs: Subcommands,
    forms: &'static [LinePattern],
) -> Runner {
    Runner { builds: true, ..row(programs, subs, forms) }
}

/// A runner that is judged by its exit status alone.
const fn plain(programs: &'static [&'static str], subs: Subcommands) -> Runner {
    row(programs, subs, &[])
}

/// A runner that runs others.
const fn script(
    programs: &'static [&'static str],
    subs: Subcommands,
    forms: &'static [LinePattern],
) -> Runner {
    Runner { runs_others: true, whole: false, ..row(programs, subs, forms) }
}

use LineMeaning::{
    Counts, Done, Error, Failed, FailedCounts, Files, Keyed, Name, Noise, Nothing, Problems, Total, Unit,
    UnitFailed,
};
use Subcommands::{Among, Any, Bare, First};

/// Usual names of scripts in a project.
const KINDS: &[&str] = &["test", "tests", "check", "lint", "build", "typecheck", "verify"];

const CARGO_TEST: &[LinePattern] = &[
    form("test result: ", "", Counts),
    form("test ", " ... FAILED", Name),
    form("error: test failed", "", Failed),
    form("error: could not compile", "", Failed),
    form("error: {n} target", " failed", Failed),
    form("error[", "", Error),
    form("error: ", "", Error),
];
const NEXTEST: &[LinePattern] = &[
    opening("Summary [", " run: ", Counts),
    form("FAIL [", "] ", Name),
    form("error: could not compile", "", Failed),
    form("error: test run failed", "", Failed),
    form("error: no tests to run", "", Nothing),
    form("error[", "", Error),
    form("error: ", "", Error),
];
const CARGO: &[LinePattern] = &[
    form("Finished `", "", Done),
    form("error: could not compile", "", Failed),
    form("error[", "", Error),
    form("error: ", "", Error),
];
const CARGO_FMT: &[LinePattern] = &[form("Diff in", "", Name)];
const PYTEST: &[LinePattern] = &[
    opening("no tests ran", "", Nothing),
    opening("{n} ", " in ", Counts),
    form("FAILED ", "::", Name),
    form("ERROR ", ".py", Name),
    form("ERROR: ", "", Error),
];
const UNITTEST: &[LinePattern] = &[
    opening("Ran {n} test", " in ", Total),
    form("OK$", "", Done),
    form("OK (", "", Done),
    form("NO TESTS RAN", "", Nothing),
    form("FAILED (", "", FailedCounts),
    form("FAIL: ", "", Name),
    form("ERROR: ", "", Name),
    form("ImportError: ", "", Error),
    form("ModuleNotFoundError: ", "", Error),
    form("SyntaxError: ", "", Error),
];
const JEST: &[LinePattern] = &[
    opening("Test Suites:", "", Files),
    form("Tests:", "", Counts),
    form("No tests found", "", Nothing),
    form("● Console", "", Noise),
    form("● ", "", Name),
    form("FAIL ", "", Error),
];
const VITEST: &[LinePattern] = &[
    opening("Test Files ", "", Files),
    form("Tests ", "no tests", Nothing),
    form("Tests ", "", Counts),
    form("Errors ", " error", Counts),
    form("No test files found", "", Nothing),
    form("FAIL ", " > ", Name),
    form("FAIL ", "", Error),
];
// Documented. A test that passes in a later try is flaky, not failed.
const PLAYWRIGHT: &[LinePattern] = &[
    form("{n} failed$", "", Counts),
    form("{n} passed", "", Counts),
    form("{n} skipped$", "", Counts),
    form("{n} flaky$", "", Noise),
    form("{n} did not run$", "", Noise),
    form("Error: No tests found", "", Nothing),
    form("{n}) ", " › ", Error),
];
const MOCHA: &[LinePattern] = &[
    opening("{n} passing", "", Counts),
    form("{n} failing", "", Counts),
    form("{n} pending", "", Counts),
    form("Error: No test files found", "", Nothing),
    form("{n}) ", "", Name),
    form("SyntaxError: ", "", Error),
    form("Error: ", "", Error),
];
const NODE: &[LinePattern] = &[
    opening("# tests ", "", Total),
    opening("ℹ tests ", "", Total),
    form("# pass ", "", Keyed),
    form("# fail ", "", Keyed),
    form("# skipped ", "", Keyed),
    form("# cancelled ", "", Keyed),
    form("ℹ pass ", "", Keyed),
    form("ℹ fail ", "", Keyed),
    form("ℹ skipped ", "", Keyed),
    form("ℹ cancelled ", "", Keyed),
    form("not ok {n} - ", "", Name),
    form("✖ ", "ms)", Name),
];
const GO_TEST: &[LinePattern] = &[
    form("ok\t", "[no tests to run]", Nothing),
    form("ok\t", "", Unit),
    form("?\t", "[no test files]", Nothing),
    form("--- FAIL: ", "", Name),
    form("FAIL\t", "", UnitFailed),
    form("FAIL$", "", Failed),
    form("panic: ", "", Error),
    form("./", ".go:", Error),
    form("# ", "", Noise),
];
const GO: &[LinePattern] =
    &[form("# ", "", Noise), form("", ".go:", Failed), form("go: ", "", Error), form("vet: ", "", Failed)];
const GRADLE: &[LinePattern] = &[
    form("{n} tests completed, ", "", Counts),
    form("{n} test completed, ", "", Counts),
    form("BUILD FAILED", "", Failed),
    form("BUILD SUCCESSFUL", "", Done),
    form("FAILURE: Build failed", "", Failed),
    form("> Task :", "est NO-SOURCE", Nothing),
    form(":", "est NO-SOURCE", Nothing),
    form("> Task :", "est$", Unit),
    form(":", "est$", Unit),
    form("No tests found for given includes", "", Nothing),
    form("> No tests found for given includes", "", Nothing),
    form("> Task :", " FAILED$", Error),
    form(":", " FAILED$", Error),
    form("", " FAILED$", Name),
    form("", ".java:", Error),
];
const MAVEN: &[LinePattern] = &[
    form("[INFO] BUILD SUCCESS", "", Done),
    form("[INFO] BUILD FAILURE", "", Failed),
    form("[ERROR] BUILD FAILURE", "", Failed),
    form("[INFO] No tests to run", "", Nothing),
    form("[ERROR] Tests run: ", "Time elapsed: ", Noise),
    form("[ERROR] ", "<<< ", Name),
    form("[ERROR] ", ".java:[", Error),
    form("", "Time elapsed: ", Noise),
    form("Tests run: ", "", Keyed),
    form("[INFO] Tests run: ", "", Keyed),
    form("[WARNING] Tests run: ", "", Keyed),
    form("[ERROR] Tests run: ", "", Keyed),
    form("[ERROR] No tests were executed", "", Nothing),
];
const MAKE: &[LinePattern] = &[
    form("make: *** ", "", Failed),
    form("make[", "]: *** ", Failed),
    form("gmake: *** ", "", Failed),
    form("make: ", "is up to date.", Nothing),
    form("make: Nothing to be done for ", "", Nothing),
    form("", ": error: ", Error),
];
const NPM: &[LinePattern] = &[
    form("npm error Missing script", "", Nothing),
    form("npm ERR! Missing script", "", Nothing),
    form("Error: no test specified", "", Nothing),
    form("npm ERR! Test failed", "", Failed),
    form("npm error Lifecycle script `", "failed", Failed),
    form("ELIFECYCLE", "failed", Failed),
    form("error Command failed", "", Failed),
];
const TSC: &[LinePattern] = &[
    form("Found {n} error", "", Failed),
    form("", ": error TS", Name),
    form("", " - error TS", Name),
    form("error TS", "", Name),
];
const ESLINT: &[LinePattern] = &[
    form("✖ {n} problem", "", Problems),
    form("ESLint found too many warnings", "", Failed),
    form("No files matching", "", Nothing),
    form("all of the files matching", "", Nothing),
    form("Oops! Something went wrong", "", Error),
    form("", " error ", Name),
];
const RUFF: &[LinePattern] = &[
    form("warning: No Python files found", "", Nothing),
    form("All checks passed!", "", Done),
    form("Found {n} error", ", 0 remaining)", Done),
    form("Found {n} error", "", Failed),
    form("-->", "", Name),
    form("", "No such file or directory", Error),
];
const RUFF_FORMAT: &[LinePattern] = &[
    form("warning: No Python files found", "", Nothing),
    form("Would reformat: ", "", Name),
    form("-->", "", Name),
    form("{n} file would be reformatted", "", Failed),
    form("{n} files would be reformatted", "", Failed),
    form("{n} file", " would be reformatted", Failed),
    form("{n} file already formatted", "", Done),
    form("{n} files already formatted", "", Done),
];
const MYPY: &[LinePattern] = &[
    form("Success: no issues found", "", Done),
    form("Found {n} error", "", Failed),
    form("", ": error: ", Name),
];

const BAZEL: &[LinePattern] = &[
    form("Executed ", " fail", Failed),
    form("Executed ", " pass", Done),
    form("//", " PASSED in ", Unit),
    form("//", " FAILED in ", UnitFailed),
    form("//", " TIMEOUT in ", UnitFailed),
    form("//", " FAILED TO BUILD", UnitFailed),
    form("INFO: Build completed, ", " FAILED", Failed),
    form("INFO: Build completed successfully", "", Noise),
    form("ERROR: No test targets were found", "", Nothing),
    form("ERROR: ", "", Error),
];
const PHPUNIT: &[LinePattern] = &[
    opening("OK (", " test", Done),
    opening("OK, but ", "", Done),
    opening("FAILURES!", "", Failed),
    opening("ERRORS!", "", Failed),
    opening("No tests executed!", "", Nothing),
    form("Tests: ", ", Assertions: ", Keyed),
    form("{n}) ", "::", Name),
];
const RSPEC: &[LinePattern] = &[
    opening("0 examples, 0 failures$", "", Nothing),
    opening("{n} example", " occurred outside of examples", Failed),
    opening("{n} example", ", 0 failures", Done),
    opening("{n} example", " failure", Counts),
    form("rspec ", ":", Name),
];
const DOTNET_TEST: &[LinePattern] = &[
    form("Failed!", "Failed: ", Keyed),
    form("Passed!", "Passed: ", Keyed),
    form("Test summary: ", "", Keyed),
    form("Test Run Failed.", "", Failed),
    form("Test Run Successful.", "", Done),
    form("No test is available in ", "", Nothing),
    form("Build FAILED.", "", Failed),
    form("Failed ", "s]", Name),
    form("", ": error ", Error),
];
const DOTNET_BUILD: &[LinePattern] =
    &[form("Build succeeded.", "", Done), form("Build FAILED.", "", Failed), form("", ": error ", Name)];
const CTEST: &[LinePattern] = &[
    form("{n}% tests passed, 0 tests failed out of ", "", Done),
    form("{n}% tests passed, ", " failed out of ", Failed),
    form("No tests were found!!!", "", Nothing),
    form("{n} - ", " (Failed)$", Name),
    form("{n} - ", " (Timeout)$", Name),
    form("{n} - ", " (Not Run)$", Name),
];
const MIX_TEST: &[LinePattern] = &[
    form("There are no tests to run", "", Nothing),
    opening("{n} test", ", 0 failures", Done),
    opening("{n} doctest", ", 0 failures", Done),
    opening("{n} test", " failure", Counts),
    opening("{n} doctest", " failure", Counts),
    form("{n}) ", "", Name),
    form("** (", "", Error),
];
const DART_TEST: &[LinePattern] = &[
    form("{n}:{n} +", ": All tests passed!", Done),
    form("{n}:{n} +", ": Some tests failed.", Failed),
    form("No tests ran.", "", Nothing),
    form("{n}:{n} +", " [E]$", Name),
];
// Documented.
const BUN_TEST: &[LinePattern] = &[
    form("{n} pass$", "", Counts),
    form("{n} fail$", "", Counts),
    form("{n} error$", "", Counts),
    form("(fail) ", "", Name),
];
// Documented.
const DENO_TEST: &[LinePattern] =
    &[form("ok | ", " passed", Counts), form("FAILED | ", " failed", Counts), form("", " ... FAILED", Name)];
// Documented. The sum of all suites comes last.
const SWIFT_TEST: &[LinePattern] = &[
    opening("Executed 0 tests", "", Nothing),
    opening("Executed ", ", with 0 failures", Done),
    opening("Executed ", " failure", Failed),
    form("✘ Test run with ", "", Failed),
    form("✔ Test run with 0 tests", "", Noise),
    form("✔ Test run with ", "", Done),
    form("", ": error: ", Error),
];
// Documented.
const GOLANGCI: &[LinePattern] =
    &[form("0 issues.", "", Done), form("{n} issue", ":$", Failed), form("", ".go:", Error)];

/// All runners; the first row that matches a command counts.
pub(super) const RUNNERS: &[Runner] = &[
    Runner { whole: false, ..row(&["cargo"], First(&["test", "t"]), CARGO_TEST) },
    row(&["cargo", "cargo-nextest"], First(&["nextest"]), NEXTEST),
    row(&["cargo", "cargo-clippy"], First(&["clippy", "check", "c", "build", "b"]), CARGO),
    plain(&["cargo"], First(&["deny", "audit", "doc", "miri"])),
    Runner { needs: "--check", ..row(&["cargo", "rustfmt"], First(&["fmt"]), CARGO_FMT) },
    Runner { needs: "--check", ..row(&["rustfmt"], Any, CARGO_FMT) },
    row(&["pytest", "py.test"], Any, PYTEST),
    row(&["unittest"], Any, UNITTEST),
    row(&["jest"], Any, JEST),
    row(&["vitest"], Any, VITEST),
    Runner { goes_on: true, whole: false, ..row(&["playwright"], First(&["test"]), PLAYWRIGHT) },
    Runner { whole: false, ..row(&["mocha"], Any, MOCHA) },
    Runner { needs: "--test", whole: false, ..row(&["node"], Any, NODE) },
    Runner { whole: false, unit: "package", ..row(&["go"], First(&["test"]), GO_TEST) },
    row(&["go"], First(&["vet", "build"]), GO),
    row(&["gradle", "gradlew"], Among(&["test"]), GRADLE),
    builds(&["gradle", "gradlew"], Among(&["check", "build", "assemble", "compile"]), GRADLE),
    row(&["mvn", "mvnw"], Among(&["test", "verify"]), MAVEN),
    builds(&["mvn", "mvnw"], Among(&["package", "install", "compile"]), MAVEN),
    script(&["make", "gmake"], Among(&["test", "tests", "check", "lint"]), MAKE),
    builds(&["make", "gmake"], Among(&["build", "all"]), MAKE),
    builds(&["make", "gmake"], Bare, MAKE),
    script(
        &["npm"],
        Among(&["test", "t", "tst", "tests", "check", "lint", "build", "typecheck", "verify"]),
        NPM,
    ),
    script(&["pnpm", "yarn", "just", "task"], Among(KINDS), NPM),
    script(&["tox", "nox"], Any, &[]),
    row(&["tsc", "vue-tsc"], Any, TSC),
    row(&["eslint"], Any, ESLINT),
    row(&["ruff"], First(&["check"]), RUFF),
    Runner { needs: "--check", ..row(&["ruff"], First(&["format"]), RUFF_FORMAT) },
    row(&["mypy"], Any, MYPY),
    row(&["bun"], First(&["test"]), BUN_TEST),
    plain(&["bun"], Among(KINDS)),
    row(&["deno"], First(&["test"]), DENO_TEST),
    plain(&["deno"], First(&["lint", "check"])),
    Runner { goes_on: true, whole: false, ..row(&["dotnet"], First(&["test"]), DOTNET_TEST) },
    row(&["dotnet"], First(&["build"]), DOTNET_BUILD),
    Runner { unit: "target", ..row(&["bazel", "bazelisk"], First(&["test", "coverage"]), BAZEL) },
    row(&["phpunit"], Any, PHPUNIT),
    row(&["rspec"], Any, RSPEC),
    row(&["ctest"], Any, CTEST),
    row(&["mix"], First(&["test"]), MIX_TEST),
    row(&["flutter", "dart"], First(&["test"]), DART_TEST),
    row(&["swift"], First(&["test"]), SWIFT_TEST),
    plain(&["swift", "zig"], First(&["test", "build"])),
    row(&["golangci-lint"], Any, GOLANGCI),
    plain(
        &["ava", "bats", "shellcheck", "pyright", "flake8", "pylint", "clippy-driver", "rubocop", "hadolint"],
        Any,
    ),
];

/// Test runners whose lines count in the output of a script.
pub(super) const OTHERS: &[&[LinePattern]] =
    &[CARGO_TEST, NEXTEST, PYTEST, UNITTEST, JEST, VITEST, MOCHA, NODE, GO_TEST];
