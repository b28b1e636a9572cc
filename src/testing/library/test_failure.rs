//! Why a test in Rust failed, as the console report prints it.

use std::fmt;

use crate::testing::outcome::TapeFailure;
use crate::testing::report::failure_text::{details, headline};
use crate::testing::report::ink::safe;

/// The result of a step of a test; a test function may return `TestResult`, too.
pub type TestResult<T = ()> = Result<T, TestFailure>;

/// A failed step, with the screen and the keys so far, redacted.
pub struct TestFailure(Box<TapeFailure>);

impl TestFailure {
    pub(super) fn new(failure: TapeFailure) -> TestFailure {
        TestFailure(Box::new(failure))
    }

    /// Everything that is known about the failure.
    #[must_use]
    pub fn details(&self) -> &TapeFailure {
        &self.0
    }
}

/// The failure in full.
impl fmt::Display for TestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", safe(&headline(&self.0)))?;
        details(&self.0, None).iter().try_for_each(|line| write!(f, "\n{}", line.plain()))
    }
}

/// The same text: the test harness prints an error that a test returns with `Debug`.
impl fmt::Debug for TestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for TestFailure {}
