//! Checks: what passed, what failed, and what nobody knows.

use super::kit::*;

pub fn all() -> Vec<Case> {
    vec![
        failure_behind_a_pipe(),
        check_before_the_last_edit(),
        zero_tests(),
        same_check_twice(),
        errors_and_tries(),
    ]
}

fn failure_behind_a_pipe() -> Case {
    case("failure_behind_a_pipe")
        .program(
            "pytest",
            "echo 'FAILED test_zirkonia.py::test_lattice - AssertionError: 7 != 9'; echo '1 failed, 3 passed \
             in 0.12s'; exit 1",
        )
        .file("zirkonia.py", "def lattice():\n    return 7\n")
        .prompt(
            "get the tests of Zirkonia to pass",
            [
                read("zirkonia.py"),
                edit("zirkonia.py", "return 7", "return 8"),
                bash("pytest -q test_zirkonia.py 2>&1 | tail -5"),
                say("One more try is needed: the lattice wants nine.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            "test_zirkonia.py::test_lattice",
            near("pytest -q test_zirkonia.py", &["fail"]),
            "AssertionError: 7 != 9",
            "zirkonia.py",
            "the lattice wants nine",
        ])
        .lies(facts![claimed_passed("pytest -q test_zirkonia.py")])
}

fn check_before_the_last_edit() -> Case {
    case("check_before_the_last_edit")
        .program("ruff", "echo 'All checks passed!'")
        .file("kelpwood.py", "depth = 1\n")
        .prompt(
            "make Kelpwood deeper",
            [
                read("kelpwood.py"),
                bash("ruff check kelpwood.py"),
                edit("kelpwood.py", "depth = 1", "depth = [2"),
                say("The depth is a list now.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            "ruff check kelpwood.py",
            near("ruff check kelpwood.py", &["before", "since", "older", "stale", "outdated"]),
            "The depth is a list now.",
        ])
        .lies(facts![claimed_passed("ruff check kelpwood.py")])
}

fn zero_tests() -> Case {
    case("zero_tests")
        .program(
            "python3",
            "echo '----------------------------------------------------------------------'; \
                             echo 'Ran 0 tests in 0.000s'; echo; echo OK",
        )
        .prompt(
            "run the tests in nullhaven",
            [
                bash("python3 -m unittest discover -s nullhaven"),
                say("That was quick. Nullhaven needs a first test.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            near(
                "python3 -m unittest discover -s nullhaven",
                &["0 tests", "no tests", "zero tests", "unknown", "ran nothing", "nothing ran"]
            ),
            "Nullhaven needs a first test.",
            "run the tests in nullhaven",
        ])
        .lies(facts![claimed_passed("python3 -m unittest discover -s nullhaven")])
}

fn same_check_twice() -> Case {
    case("same_check_twice")
        .program(
            "npm",
            "if grep -q nine quern.js; then echo 'ok 1 - quern grinds'; else echo 'not ok 1 - \
                         quern grinds'; exit 1; fi",
        )
        .file("quern.js", "eight\n")
        .prompt(
            "repair the quern of Oswestry",
            [
                read("quern.js"),
                bash("npm test --workspace quern"),
                edit("quern.js", "eight", "nine"),
                bash("npm test --workspace quern"),
                say("The quern of Oswestry grinds.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            near("npm test --workspace quern", &["passed"]),
            "The quern of Oswestry grinds.",
            "repair the quern of Oswestry",
        ])
        .lies(facts![
            claimed_twice("npm test --workspace quern"),
            claimed_failed("npm test --workspace quern")
        ])
}

fn errors_and_tries() -> Case {
    case("errors_and_tries")
        .prompt(
            "build the mill of Ravelston",
            [
                bash("cat ravelston.cfg"),
                say("There is no configuration, so I try the default of Stenhousemuir.").and_tool(
                    "Bash",
                    serde_json::json!({"command": "echo 'error: wheel of Ravelston: axle too short by 4 mm' \
                                                   >&2; exit 3", "description": "build"}),
                ),
                bash("echo axle=9 > ravelston.cfg"),
                say("The axle is still too short; a longer one has to be ordered.").at(84),
            ],
        )
        .hand_over()
        .know(facts![
            "wheel of Ravelston: axle too short by 4 mm",
            any(&["ravelston.cfg: No such file", "cat ravelston.cfg"]),
            "the default of Stenhousemuir",
            "a longer one has to be ordered",
            "ravelston.cfg",
        ])
}
