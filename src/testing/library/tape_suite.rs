//! Tapes in `cargo test`.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;

use crate::claude::find_claude::{self, FileId, Search};
use crate::core::tape::TapeSpeed;
use crate::testing::discovery::{self, TapeFile};
use crate::testing::outcome::{TapeVerdict, TestSummary};
use crate::testing::report::{ConsoleReport, ReportOptions, TestReport};
use crate::testing::runner::{self, LoadedTape, RunPlanOptions};
use crate::testing::snapshot::SnapshotMode;
use crate::testing::tape_player::{PlayOptions, SnapshotUse};
use crate::testing::test_pause::PauseRule;

/// Tapes that did not pass: the report of `hopty test`.
pub struct TapesFailed(String);

impl fmt::Display for TapesFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The same text: the test harness prints an error that a test returns with `Debug`.
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
/// A tape is skipped, which standard error tells, where a program that it requires or Claude is not
/// installed.
///
/// # Errors When one fails, is flaky or does not parse, when there is none, and when they cannot be
/// read. Where `CI` is set, also when one is skipped.
pub fn play_tapes(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<(), TapesFailed> {
    play_tapes_with(paths, &[])
}

/// [`play_tapes`] with variables of this process that are passed to the tapes: `${NAME}` in a tape is their
/// value.
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
    play_files(&files, &root, variables)
}

/// Plays files, each with evidence of its own.
fn play_files(files: &[TapeFile], root: &Path, variables: &[&str]) -> Result<(), TapesFailed> {
    let tapes: Vec<LoadedTape> = files.iter().map(|file| runner::load(file, false)).collect();
    let options = RunPlanOptions {
        play: PlayOptions {
            speed: TapeSpeed::Fast,
            strict: false,
            require_all: false,
            render: false,
            keep: false,
            pause: PauseRule::Never,
            again: variables.iter().flat_map(|name| ["--env".to_owned(), (*name).to_owned()]).collect(),
            env: variables.iter().map(|name| (*name).to_owned()).collect(),
            evidence: target_dir(root).join("hopty"),
            hopty: hopty_program(),
            claude: claude_program(|name| env::var_os(name)),
            snapshots: SnapshotUse::Compare(if is_ci() {
                SnapshotMode::CompareOnly
            } else {
                SnapshotMode::Propose
            }),
            stop: None,
        },
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
    let failed = |error: io::Error| TapesFailed(format!("cannot play the tapes: {error}"));
    report.begin(tapes.len()).map_err(failed)?;
    // Writing to memory does not fail.
    let summary = runner::run(&tapes, &options, |outcome| {
        let _ = report.finished(outcome);
        if let TapeVerdict::Skipped(reason) = &outcome.verdict {
            // The test harness hides what `eprintln!` prints.
            let _ = writeln!(io::stderr(), "skipped: {}: {reason}", outcome.tape);
        }
        ControlFlow::Continue(())
    })
    .map_err(failed)?;
    report.end(&summary).map_err(failed)?;
    result(&summary, String::from_utf8_lossy(&text).into_owned(), is_ci())
}

/// Whether the tapes passed. In continuous integration a skipped one has not: it would be for ever.
fn result(summary: &TestSummary, report: String, is_ci: bool) -> Result<(), TapesFailed> {
    match summary.exit_code() {
        0 if is_ci && summary.skipped > 0 => Err(TapesFailed(format!(
            "{report}hint: where `CI` is set, a skipped tape fails its test: install what it needs"
        ))),
        0 => Ok(()),
        _ => Err(TapesFailed(report)),
    }
}

fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// The real Claude: what `HOPTY_TEST_CLAUDE` or `HOPTY_PROGRAM_CLAUDE` names, or `claude` in `PATH`.
fn claude_program(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let configured = var("HOPTY_TEST_CLAUDE").or_else(|| var("HOPTY_PROGRAM_CLAUDE")).map(PathBuf::from);
    let (home, path) = (var("HOME").map(PathBuf::from), var("PATH"));
    let own = FileId::of(&hopty_program()).ok();
    let search =
        Search { configured: configured.as_deref(), home: home.as_deref(), path: path.as_deref(), own };
    find_claude::find(&search).ok()
}

/// The `hopty` in `PATH`, or its name if there is none.
fn hopty_program() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut programs = env::split_paths(&path).map(|dir| dir.join("hopty"));
    programs.find(|program| program.is_file()).unwrap_or_else(|| "hopty".into())
}

/// Cargo's directory for what it makes, in which this test program is; otherwise `target` below `root`.
pub(super) fn target_dir(root: &Path) -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    // Cargo writes a tag only into a directory that it has made itself.
    let is_target = |dir: &&Path| ["CACHEDIR.TAG", ".rustc_info.json"].iter().any(|n| dir.join(n).is_file());
    let target = program.ancestors().find(is_target).map(Path::to_owned);
    let target = target.or_else(|| env::var_os("CARGO_TARGET_DIR").map(PathBuf::from));
    target.unwrap_or_else(|| root.join("target"))
}

/// One `#[test]` for each tape of a directory, and `every_tape_is_listed`, which fails when a file is not
/// listed or a listed one is missing. The directory counts from the package.
///
/// A name is that of the file without `.tape`, with `_` for every character that a Rust name cannot have:
/// `save_as` is `save-as.tape`, `editors_vim` is `editors/vim.tape`, `_2048` is `2048.tape`. For several
/// directories, put each `tapes!` into a module of its own.
///
/// ```
/// hopty::tapes!("tests/tapes": less, nano, vim_search);
/// ```
#[macro_export]
macro_rules! tapes {
    ($dir:literal: $($name:ident),+ $(,)?) => {
        $(
            #[test]
            fn $name() -> ::core::result::Result<(), $crate::testing::TapesFailed> {
                let dir = ::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", $dir);
                $crate::testing::play_listed_tape(dir, ::core::stringify!($name))
            }
        )+

        #[test]
        fn every_tape_is_listed() -> ::core::result::Result<(), $crate::testing::TapesFailed> {
            let dir = ::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", $dir);
            $crate::testing::check_tape_list(dir, &[$(::core::stringify!($name)),+])
        }
    };
}

/// Plays the tape that [`tapes!`](crate::tapes) lists under this name.
///
/// # Errors When it fails, is flaky or does not parse, when it is skipped where `CI` is set, and when
/// the directory has none or two of this name.
pub fn play_listed_tape(dir: &str, name: &str) -> Result<(), TapesFailed> {
    let name = name.trim_start_matches("r#");
    let (mut files, names) = tapes_of(dir)?;
    let mut found = (0..files.len()).filter(|index| names[*index] == name);
    match (found.next(), found.next()) {
        (Some(index), None) => {
            let root = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
            play_files(&[files.swap_remove(index)], &root, &[])
        }
        (None, _) => Err(TapesFailed(missing(dir, name))),
        (Some(one), Some(other)) => Err(TapesFailed(format!(
            "{} and {} are both listed as {name}\nhint: rename one of them",
            files[one].path.display(),
            files[other].path.display()
        ))),
    }
}

/// Checks that the list of [`tapes!`](crate::tapes) names every tape of the directory, and no other.
///
/// # Errors
/// Every tape that is not listed, and every listed one that is missing.
pub fn check_tape_list(dir: &str, listed: &[&str]) -> Result<(), TapesFailed> {
    let (files, names) = tapes_of(dir)?;
    let listed: Vec<&str> = listed.iter().map(|name| name.trim_start_matches("r#")).collect();
    let unlisted = files.iter().zip(&names).filter(|(_, name)| !listed.contains(&name.as_str()));
    let mut problems: Vec<String> = unlisted
        .map(|(file, name)| format!("{} is not listed\nhint: add {name} to tapes!", file.path.display()))
        .collect();
    let gone = listed.iter().filter(|name| names.iter().all(|known| known != **name));
    problems.extend(gone.map(|name| missing(dir, name)));
    if problems.is_empty() { Ok(()) } else { Err(TapesFailed(problems.join("\n"))) }
}

fn missing(dir: &str, name: &str) -> String {
    format!("there is no tape {name} in {dir}\nhint: add {name}.tape, or take {name} out of tapes!")
}

/// The tapes of a directory, and the names under which `tapes!` lists them.
fn tapes_of(dir: &str) -> Result<(Vec<TapeFile>, Vec<String>), TapesFailed> {
    let files = discovery::tapes(&[PathBuf::from(dir)])
        .map_err(|(path, error)| TapesFailed(format!("cannot read {}: {error}", path.display())))?;
    let names = files.iter().map(|file| {
        let below = file.path.strip_prefix(dir).unwrap_or(&file.path).with_extension("");
        let name = below.to_string_lossy().replace(|c: char| !c.is_alphanumeric(), "_");
        if name.starts_with(|c: char| c.is_numeric()) { format!("_{name}") } else { name }
    });
    let names = names.collect();
    Ok((files, names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_tape_fails_in_continuous_integration() {
        let summary = TestSummary { passed: 1, skipped: 1, ..TestSummary::default() };
        result(&summary, String::new(), false).unwrap();
        let error = result(&summary, "skip a.tape\n".to_owned(), true).unwrap_err().to_string();
        assert!(error.starts_with("skip a.tape\nhint: "), "{error}");
        result(&TestSummary { passed: 1, ..TestSummary::default() }, String::new(), true).unwrap();
    }

    #[test]
    fn claude_is_found_as_hopty_test_finds_it() {
        let of = |vars: &[(&str, &str)]| {
            let vars: Vec<(String, OsString)> =
                vars.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(*value))).collect();
            claude_program(move |name| {
                vars.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            })
        };
        assert_eq!(of(&[("HOPTY_PROGRAM_CLAUDE", "/bin/sh")]), Some(PathBuf::from("/bin/sh")));
        let both = [("HOPTY_TEST_CLAUDE", "/bin/cat"), ("HOPTY_PROGRAM_CLAUDE", "/bin/sh")];
        assert_eq!(of(&both), Some(PathBuf::from("/bin/cat")));
        assert_eq!(of(&[("HOPTY_PROGRAM_CLAUDE", "/no/such/claude")]), None);
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy("/bin/true", dir.path().join("claude")).unwrap();
        assert_eq!(of(&[("PATH", dir.path().to_str().unwrap())]), Some(dir.path().join("claude")));
    }

    #[test]
    fn evidence_is_in_cargos_directory() {
        let target = target_dir(Path::new("/member"));
        assert!(env::current_exe().unwrap().starts_with(&target), "{}", target.display());
    }

    #[test]
    fn a_list_of_tapes_is_held_against_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        write("save-as.tape", "Start echo hello\nExpect \"hello\"\nExit 0\n");
        write("sub/2.tape", "Start false\nExit 0\n");
        write("3.tape", "Start true\nExit 0\n");
        let path = dir.path().to_str().unwrap();
        check_tape_list(path, &["_3", "save_as", "sub_2"]).unwrap();
        let error = check_tape_list(path, &["save_as", "sub_2", "r#loop"]).unwrap_err().to_string();
        assert!(error.contains("3.tape is not listed\nhint: add _3 to tapes!"), "{error}");
        assert!(error.contains("there is no tape loop in"), "{error}");
        play_listed_tape(path, "save_as").unwrap();
        assert!(play_listed_tape(path, "loop").unwrap_err().to_string().contains("no tape loop"));
        write("save_as.tape", "Start true\n");
        let error = play_listed_tape(path, "save_as").unwrap_err().to_string();
        assert!(error.contains("both listed as save_as"), "{error}");
    }
}
