//! The two Claudes: the stand-in agent, which is hopty itself under another name, and the real program.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{program_files, skip};

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
    program_files::write(&path, &format!("#!/bin/sh\nexec '{}' __agent \"$@\"\n", hopty().display()));
    path
}

/// The real Claude: `HOPTY_TEST_CLAUDE`, or the newest from the npm registry, installed once below `target/`.
/// Where there is none, the calling test is reported as skipped.
#[track_caller]
pub fn real() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(find_real).clone();
    if found.is_none() {
        skip::missing("the real Claude Code");
    }
    found
}

fn find_real() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("HOPTY_TEST_CLAUDE").map(PathBuf::from) {
        assert!(path.is_file(), "HOPTY_TEST_CLAUDE names {}, which is no file", path.display());
        return Some(path);
    }
    let found = installed("latest");
    if found.is_none() {
        say("npm is missing or failed: no test runs with the real Claude Code");
        say("hint: install Node.js with npm, or set HOPTY_TEST_CLAUDE to the path of a claude");
    }
    found
}

/// A certain version of the real Claude. `HOPTY_TEST_CLAUDE_VERSIONS` says which there are:
/// `2.1.197=/path/to/claude,2.1.240`, where one without a path is installed from the npm registry. Unset: the
/// oldest that must work in full, [`OLDEST`]. Any other is reported as skipped.
#[track_caller]
pub fn version(wanted: &str) -> Option<PathBuf> {
    let listed = std::env::var("HOPTY_TEST_CLAUDE_VERSIONS").unwrap_or_else(|_| OLDEST.to_owned());
    let mut entries =
        listed.split(',').map(|entry| entry.trim().split_once('=').unwrap_or((entry.trim(), "")));
    let found = match entries.find(|(version, _)| *version == wanted) {
        None => None,
        Some((_, "")) => installed(wanted),
        Some((_, path)) => {
            assert!(Path::new(path).is_file(), "HOPTY_TEST_CLAUDE_VERSIONS names {path}, which is no file");
            Some(PathBuf::from(path))
        }
    };
    if found.is_none() {
        skip::skip(format!(
            "HOPTY_TEST_CLAUDE_VERSIONS={wanted} installs Claude Code {wanted}, {wanted}=PATH uses yours"
        ));
    }
    found
}

/// The oldest version on which everything must work.
pub const OLDEST: &str = "2.1.197";

/// A version from the npm registry, installed once below `target/`.
fn installed(version: &str) -> Option<PathBuf> {
    let name = if version == "latest" { "claude".to_owned() } else { format!("claude-{version}") };
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let program = prefix.join("node_modules/.bin/claude");
    std::fs::create_dir_all(&prefix).ok()?;
    let lock = std::fs::File::create(prefix.join("lock")).ok()?;
    lock.lock().ok()?;
    if !program.exists() {
        say(&format!("installing Claude Code {version} from the npm registry into {}", prefix.display()));
        let install = ["install", "--no-audit", "--no-fund", "--prefix"];
        let package = format!("@anthropic-ai/claude-code@{version}");
        let done = Command::new("npm").args(install).arg(&prefix).arg(package).output();
        if !matches!(&done, Ok(output) if output.status.success()) {
            return None;
        }
    }
    program.exists().then_some(program)
}

/// Past the test runner's capture, so that it is seen also when tests pass.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "hopty tests: {text}");
}

/// Real Claudes that run at a time, in all test binaries together. Half of the time one waits, for its API or
/// for a limit to pass; when it works it wants a core of its own.
const TURNS: usize = 3;

/// Held by a test with a real Claude, by a lock on this file.
pub struct Turn {
    _file: File,
}

impl Turn {
    /// Waits until fewer than [`TURNS`] are held.
    pub fn wait() -> Turn {
        static TAKEN: AtomicUsize = AtomicUsize::new(0);
        let open = |n: usize| {
            File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("claude-turn-{n}"))).unwrap()
        };
        if let Some(file) = (0..TURNS).map(open).find(|file| file.try_lock().is_ok()) {
            return Turn { _file: file };
        }
        let file = open(TAKEN.fetch_add(1, Ordering::Relaxed) % TURNS);
        file.lock().unwrap();
        Turn { _file: file }
    }
}
