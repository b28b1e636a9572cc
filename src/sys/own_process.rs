//! For tests that close a descriptor (a lock, a socket, a terminal) and rely on it: programs that other tests
//! of the same process start hold copies of them until exec.

use std::process::{Command, Stdio};

/// Whether the calling test (named with its modules) has this process for itself. If not, the test is run in
/// a process of its own, which must succeed, and the caller returns.
pub fn is_alone(test: &str) -> bool {
    const VARIABLE: &str = "HOPTY_TEST_ALONE";
    if std::env::var(VARIABLE).is_ok_and(|alone| alone == test) {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(VARIABLE, test).stdin(Stdio::null());
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    println!("{told}");
    let has_passed = output.status.success() && told.contains("1 passed");
    assert!(has_passed, "{}", String::from_utf8_lossy(&output.stderr));
    false
}
