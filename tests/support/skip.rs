//! Tests that cannot run here, reported by name.
//!
//! [`skip`] says at once which test is skipped and why, past the capture of output, and notes it in a file.
//! `cargo test` runs `tests/zz_skipped.rs` last, which lists the notes of this run. A run is known by the
//! process that started the test binary (cargo, or a shell); `HOPTY_TEST_SKIPPED=FILE` collects the notes in
//! that file instead.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Reports the calling test as skipped. Return from the test afterwards.
///
/// For what a machine or user does not allow: not root, no mounts, a kernel without a feature. For a program
/// that can be installed, use [`needs`].
#[track_caller]
pub fn skip(reason: impl Display) {
    let (test, reason) = (test_name(), reason.to_string());
    // Past the test runner's capture, which is of print macros only.
    let _ = writeln!(std::io::stderr(), "hopty tests: skipped {test}: {reason}");
    note(&notes(), &test, &reason);
}

/// Finds a program in `PATH` or `/usr/sbin`. Where it is missing the calling test is reported as skipped, or
/// fails if `HOPTY_TEST_PROGRAMS=required`, as in CI.
#[track_caller]
pub fn needs(program: &str) -> Option<&str> {
    if is_installed(program) {
        return Some(program);
    }
    missing(program);
    None
}

/// Whether a program is in `PATH` or `/usr/sbin`.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into()]).any(|dir| dir.join(program).is_file())
}

/// Like [`skip`], for something that CI installs: there its absence fails the test.
#[track_caller]
pub fn missing(what: &str) {
    assert!(std::env::var("HOPTY_TEST_PROGRAMS").as_deref() != Ok("required"), "{what} is not installed");
    skip(format!("{what} is not installed"));
}

/// Every note of this run, one `NAME: reason` a line, sorted, each once. Notes of runs that are over are
/// deleted.
pub fn skipped() -> Vec<String> {
    if std::env::var_os("HOPTY_TEST_SKIPPED").is_none() {
        delete_old(&dir());
    }
    listed(&notes())
}

/// Appends one note to a file.
pub fn note(file: &Path, test: &str, reason: &str) {
    let line = format!("{test}: {}\n", reason.replace('\n', " "));
    let _ = file.parent().map(std::fs::create_dir_all);
    // One write in append mode, because tests and test binaries run at the same time.
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    opened
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("the note of a skipped test can be written");
}

/// The notes in a file; none if there is no file.
pub fn listed(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

/// `BINARY TEST`, as in `cargo test --test BINARY TEST`. On a thread that a test started itself, the line
/// that asks.
#[track_caller]
pub fn test_name() -> String {
    let binary =
        std::env::current_exe().ok().and_then(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    let binary = binary.unwrap_or_default();
    let binary = binary.rsplit_once('-').map_or(binary.as_str(), |(name, _)| name).to_owned();
    // The test runner names a test's thread after it. Alone, a test may run on the main thread: then it was
    // asked for.
    let named = std::thread::current().name().filter(|name| *name != "main").map(str::to_owned);
    let asked = || std::env::args().skip(1).find(|arg| !arg.starts_with('-') && arg.contains("::"));
    format!("{binary} {}", named.or_else(asked).unwrap_or_else(|| std::panic::Location::caller().to_string()))
}

fn dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped")
}

fn notes() -> PathBuf {
    match std::env::var_os("HOPTY_TEST_SKIPPED") {
        Some(file) => file.into(),
        None => dir().join(run(std::os::unix::process::parent_id())),
    }
}

/// A process by its number and its start time, since numbers are used again.
fn run(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let started = stat.rsplit_once(") ").and_then(|(_, fields)| fields.split(' ').nth(19));
    format!("{pid}-{}", started.unwrap_or("gone"))
}

fn delete_old(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.split_once('-').and_then(|(pid, _)| pid.parse().ok());
        if pid.is_none_or(|pid| run(pid) != name) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
