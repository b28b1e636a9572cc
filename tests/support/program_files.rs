//! Programs that a test makes.
//!
//! A child writes them: a file that this process writes stays open in whatever another test's thread starts
//! at that moment, and the kernel runs no program that is open for writing ("Text file busy").

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Makes `path` a program of this text, which begins with its `#!` line.
pub fn write(path: &Path, text: &str) {
    let mut child = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{}", path.display());
}

/// Copies a program.
pub fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success(), "{}", to.display());
}
