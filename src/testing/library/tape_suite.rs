//! Tapes in `cargo test`.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;

use crate::core::tape::TapeSpeed;
use crate::testing::discovery;
use crate::testing::report::{ConsoleReport, ReportOptions, TestReport};
use crate::testing::runner::{self, LoadedTape, RunPlanOptions};
use crate::testing::snapshot::SnapshotMode;
use crate::testing::tape_player::{PlayOptions, SnapshotUse};
use crate::testing::test_pause::PauseRule;

/// Tapes that did not all pass: the report of `hopty test`.
pub struct TapesFailed(String);

impl fmt::Display for TapesFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The same: the test harness prints an error that a test returns in this form.
impl fmt::Debug for TapesFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

impl std::error::Error for TapesFailed {}

/// Plays tapes, and directories of tapes, as `hopty test --fast` does. Relative paths start at the package. A
/// tape finds the program of the package when `PATH` does, or by the name that [`play_tapes_with`] gives it.
///
/// ```
/// let dir = tempfile::tempdir().unwrap();
/// std::fs::write(dir.path().join("echo.tape"), "Start echo hello\nExpect \"hello\"\nExit 0\n").unwrap();
/// hopty::testing::play_tapes([dir.path()]).unwrap();
/// ```
///
/// # Errors
/// When one fails, is flaky or does not parse, when there is none, and when they cannot be read.
pub fn play_tapes(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<(), TapesFailed> {
    play_tapes_with(paths, &[])
}

/// The same with variables of this process that the tapes get: `${NAME}` on a tape is their value.
///
/// # Errors
/// As [`play_tapes`].
pub fn play_tapes_with(
    paths: impl IntoIterator<Item = impl AsRef<Path>>,
    variables: &[&str],
) -> Result<(), TapesFailed> {
    let root = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let paths: Vec<PathBuf> = paths.into_iter().map(|path| root.join(path)).collect();
    let files = discovery::tapes(&paths)
        .map_err(|(path, error)| TapesFailed(format!("cannot read {}: {error}", path.display())))?;
    if files.is_empty() {
        return Err(TapesFailed("no tape matches\nhint: tapes are files that end in .tape".to_owned()));
    }
    let tapes: Vec<LoadedTape> = files.iter().map(|file| runner::load(file, false)).collect();
    let options = RunPlanOptions {
        play: PlayOptions {
            speed: TapeSpeed::Fast,
            strict: false,
            require_all: false,
            render: false,
            keep: false,
            pause: PauseRule::Never,
            env: variables.iter().map(|name| (*name).to_owned()).collect(),
            evidence: env::var_os("CARGO_TARGET_DIR")
                .map_or_else(|| root.join("target"), PathBuf::from)
                .join("hopty"),
            hopty: PathBuf::from("hopty"),
            claude: None,
            snapshots: SnapshotUse::Compare(if env::var_os("CI").is_some() {
                SnapshotMode::CompareOnly
            } else {
                SnapshotMode::Propose
            }),
            stop: None,
        },
        vhs: false,
        jobs: thread::available_parallelism().map_or(2, |count| 2 * count.get()),
        fail_fast: false,
        repeat: 1,
        retry: None,
        allow_flaky: false,
        stress: None,
        check: false,
    };
    let mut text = Vec::new();
    let mut report = ConsoleReport::new(&mut text, &ReportOptions::default());
    let failed = |error: std::io::Error| TapesFailed(format!("cannot play the tapes: {error}"));
    report.begin(tapes.len()).map_err(failed)?;
    // Writing to memory does not fail.
    let summary = runner::run(&tapes, &options, |outcome| drop(report.finished(outcome))).map_err(failed)?;
    report.end(&summary).map_err(failed)?;
    match summary.exit_code() {
        0 => Ok(()),
        _ => Err(TapesFailed(String::from_utf8_lossy(&text).into_owned())),
    }
}
