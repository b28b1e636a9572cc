//! Why a test in Rust failed, as the console report prints it.

use std::fmt;

use crate::testing::outcome::TapeFailure;
use crate::testing::report::failure_text::{details, headline};
use crate::testing::report::ink::safe;

/// What the steps of a test return; a test function may return `TestResult` itself.
pub type TestResult<T = ()> = Result<T, TestFailure>;

/// A step that failed, with the screen and the keys until then. It is redacted.
pub struct TestFailure(Box<TapeFailure>);

impl TestFailure {
    pub(super) fn new(failure: TapeFailure) -> TestFailure {
        TestFailure(Box::new(failure))
    }

    /// All that is known.
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

/// The same: the test harness prints an error that a test returns in this form.
impl fmt::Debug for TestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for TestFailure {}
