//! Finds the tests, builds and linters among Claude's Bash commands, and judges how they ended.
//!
//! The exit status is not enough: `pytest | tail -5` returns the status of `tail`, and a run without a single
//! test succeeds. So hopty looks in the output for the lines in which each runner reports its result, and
//! counts the exit status only where the command line passes it on. The output is hostile, since a program can
//! print any line: where the result is uncertain, it is [`CheckOutcome::Unknown`].

mod bash_result;
mod check_verdict;
mod evidence;
mod invocation;
mod runners;
mod shell;

#[cfg(test)]
mod fixture_tests;

pub use check_verdict::{CheckOutcome, Verdict, judge};
pub use invocation::{is_check, is_exit_status_its_own, only_looks};
pub use shell::{is_same_run, leaves_running};
