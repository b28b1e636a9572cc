//! Tests of terminal programs in Rust, for `cargo test`: a [`Terminal`] is started, typed into, examined,
//! and removed with all its processes when the test ends.
//!
//! ```
//! use hopty::testing::{TestResult, Terminal};
//!
//! fn greets() -> TestResult {
//!     let mut t = Terminal::new("sh")
//!         .args(["-c", "printf 'name? '; read name; echo \"hello $name\""])
//!         .start()?;
//!     t.expect("name? ")?;
//!     t.type_text("Ada")?.key("enter")?;
//!     t.expect("hello Ada")?.exit(0)?;
//!     Ok(())
//! }
//! greets().unwrap();
//! ```
//!
//! [`Terminal::expect`] accepts only what is new since the last input, so that old text cannot
//! pass a test. The program has a directory, a home and an environment of its own, like that of a tape. A
//! failure prints the screen, and `target/hopty/TEST` keeps screen and recording.

#![warn(missing_docs, reason = "other projects test with it")]

mod library_terminal;
mod style_check;
mod tape_suite;
mod terminal_builder;
mod test_failure;

pub use library_terminal::Terminal;
pub use style_check::StyleCheck;
pub use tape_suite::{TapesFailed, check_tape_list, play_listed_tape, play_tapes, play_tapes_with};
pub use terminal_builder::TerminalBuilder;
pub use test_failure::{TestFailure, TestResult};
