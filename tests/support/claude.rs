//! The two Claudes: the stand-in agent, which is hopty itself under another name, and the real program.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Which Claude a case runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The stand-in agent.
    StandIn,
    /// The real program, the newest version.
    Real,
}

/// The hopty that is tested.
pub fn hopty() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_hopty"))
}

/// Writes a `claude` into `dir` that is the stand-in agent.
pub fn stand_in(dir: &Path) -> PathBuf {
    let path = dir.join("claude");
    std::fs::write(&path, format!("#!/bin/sh\nexec '{}' __agent \"$@\"\n", hopty().display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The real Claude: `HOPTY_TEST_CLAUDE`, or the newest from the npm registry, installed once below `target/`.
pub fn real() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(find_real).clone()
}

fn find_real() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("HOPTY_TEST_CLAUDE").map(PathBuf::from) {
        assert!(path.is_file(), "HOPTY_TEST_CLAUDE names {}, which is no file", path.display());
        return Some(path);
    }
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("claude");
    let program = prefix.join("node_modules/.bin/claude");
    std::fs::create_dir_all(&prefix).ok()?;
    let lock = std::fs::File::create(prefix.join("lock")).ok()?;
    lock.lock().ok()?;
    if !program.exists() {
        say(&format!("installing the newest Claude Code from the npm registry into {}", prefix.display()));
        let install = ["install", "--no-audit", "--no-fund", "--prefix"];
        let done = Command::new("npm").args(install).arg(&prefix).arg("@anthropic-ai/claude-code@latest").output();
        if !matches!(&done, Ok(output) if output.status.success()) {
            say("npm is missing or failed, so every test `real::...` is left out.");
            say("To have them: install Node.js with npm, or set HOPTY_TEST_CLAUDE to the path of a claude.");
            return None;
        }
    }
    program.exists().then_some(program)
}

/// Past the test runner's capture, so that it is seen also when tests pass.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "hopty tests: {text}");
}

/// One real Claude at a time: it wants a core of its own.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
