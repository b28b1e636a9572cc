//! The last test binary that `cargo test` runs (they run by name): it lists the tests that were skipped in
//! this run.
//!
//! It has no test harness, so that no filter leaves it out.

mod support;

use std::io::Write;

fn main() {
    // What asks a test binary for its tests, like cargo-nextest, is told that there are none.
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    let skipped = support::skip::skipped();
    let mut out = std::io::stdout();
    let _ = match skipped.len() {
        0 => writeln!(out, "\nno test was skipped"),
        n => writeln!(out, "\nskipped: {n}\n    {}", skipped.join("\n    ")),
    };
}
