//! `hopty test`: its options, and how they are carried out.

use std::collections::BTreeSet;
use std::io::{ErrorKind, IsTerminal};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::{VerbError, note, visible};
use super::exit_codes::{INTERNAL, NOT_FOUND, USAGE};
use super::run::find_claude;
use super::{read_config, test_watch};
use crate::core::pattern_error::pattern_error;
use crate::core::tape::TapeSpeed;
use crate::fs::paths::Paths;
use crate::ipc::message::Code;
use crate::sys::safe_file::{self, FileRule};
use crate::sys::signals;
use crate::testing::discovery::{self, TapeFile};
use crate::testing::isolation::remove_abandoned;
use crate::testing::outcome::TestSummary;
use crate::testing::processes::end_adopted;
use crate::testing::redaction::RedactedOutcome;
use crate::testing::report::{ReportOptions, ReportSet, ReportTarget, ReportTargetError, TestReport};
use crate::testing::runner::{self, LoadedTape, RunPlanOptions};
use crate::testing::snapshot::{
    PendingSnapshot, SnapshotError, SnapshotMode, review_terminal, snapshot_store,
};
use crate::testing::stress::SeededChoices;
use crate::testing::tape_player::{PlayOptions, SnapshotUse};
use crate::testing::test_pause::PauseRule;
use crate::tty::{raw, wants_colors};

#[derive(Clone, Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct TestArgs {
    /// Tapes, or directories with tapes; tests/ and tapes/ by default
    pub paths: Vec<PathBuf>,
    /// Only check that the tapes parse; play nothing
    #[arg(long)]
    pub check: bool,
    /// Refuse everything that VHS does not know
    #[arg(long)]
    pub vhs: bool,
    /// Play N tapes at the same time; twice the number of cores by default
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,
    /// Play only tapes whose path matches this regular expression
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<String>,
    /// Stop at the first tape that fails
    #[arg(long)]
    pub fail_fast: bool,
    /// Play only the tapes that failed last time
    #[arg(long)]
    pub rerun_failed: bool,
    /// Play the tapes in a random order
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true)]
    pub shuffle: Option<Option<u64>>,
    /// Play every tape N times
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Retry a failing tape up to N times; one that then passes is flaky
    #[arg(long, value_name = "N")]
    pub retry: Option<u32>,
    /// Exit 0 even if tapes are flaky
    #[arg(long)]
    pub allow_flaky: bool,
    /// Disturb program and test: short reads, uneven typing, stops, busy CPUs
    #[arg(long, value_name = "SEED", num_args = 0..=1, require_equals = true)]
    pub stress: Option<Option<u64>>,
    /// Type without pauses, and end each Sleep when the screen has settled; default if CI is set
    #[arg(long, conflicts_with = "real")]
    pub fast: bool,
    /// Type and sleep as the tape says; default if CI is not set
    #[arg(long)]
    pub real: bool,
    /// Fail a tape whose Wait is true before anything has changed
    #[arg(long)]
    pub strict: bool,
    /// Write the files of Output, Screenshot and State where the tapes say
    #[arg(long)]
    pub render: bool,
    /// Write a report: console, tap, junit, github, json or markdown; repeatable
    #[arg(long = "report", value_name = "KIND[=FILE]")]
    pub reports: Vec<String>,
    /// Play, and accept every snapshot that is the same in two runs
    #[arg(long, conflicts_with = "check")]
    pub update: bool,
    /// Accept all pending snapshots, or only those with this name; play nothing
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true)]
    pub accept: Option<Option<String>>,
    /// Show each changed snapshot and ask whether to accept it; play nothing
    #[arg(long)]
    pub review: bool,
    /// Replay what changes: a tape, its snapshots, what it sources, copies or starts. Keys: a plays all, u
    /// accepts the snapshots of the tapes that fail, o prints where their traces are, q quits
    #[arg(long, conflicts_with_all = ["check", "review", "accept", "update", "rerun_failed", "shuffle",
        "prune"])]
    pub watch: bool,
    /// Delete the snapshots that no tape uses
    #[arg(long)]
    pub prune: bool,
    /// Keep the directory of every test, and print where it is
    #[arg(long)]
    pub keep: bool,
    /// Stop at `Pause` and where a test fails, so that you can attach to the program and type
    #[arg(long, conflicts_with_all = ["check", "review", "accept", "update"])]
    pub pause: bool,
    /// Pass this variable to the tests; repeatable
    #[arg(long = "env", value_name = "NAME")]
    pub env: Vec<String>,
    /// Fail, not skip, a tape whose Require names a missing program
    #[arg(long)]
    pub require_all: bool,
}

/// The largest `.gitignore` that is read, in bytes.
const IGNORE_CAP: u64 = 1 << 20;

/// The directory for evidence of failures and the list of failed tapes: below `target` if that is a build
/// directory, otherwise in hopty's cache.
fn evidence() -> PathBuf {
    let dir = std::env::current_dir().unwrap_or_default();
    let ignored = safe_file::read_text(&dir.join(".gitignore"), FileRule::of_claude(IGNORE_CAP));
    let ignored = ignored.ok().flatten().unwrap_or_default();
    let is_ignored = ignored.lines().any(|line| line.trim().trim_matches('/') == "target");
    let below = PathBuf::from("target/hopty");
    if is_ignored || dir.join("Cargo.toml").exists() || dir.join("target").is_dir() {
        return below;
    }
    Paths::from_env(|name| std::env::var_os(name)).map_or(below, |paths| paths.test_evidence(&dir))
}

pub(super) fn test(args: &TestArgs) -> Result<u8, VerbError> {
    let mut files = find(args)?;
    if args.review || args.accept.is_some() {
        return decide(args, &files);
    }
    if let Some(seed) = args.shuffle {
        let seed = seed.unwrap_or_else(fresh_seed);
        note(format_args!("hopty: order of seed {seed}: --shuffle={seed} gives it again"));
        SeededChoices::new(seed).shuffle(&mut files);
    }
    for name in args.env.iter().filter(|name| std::env::var_os(name).is_none()) {
        note(format_args!("hopty: --env {}: there is no such variable to pass", visible(name)));
    }
    let stress = args.stress.map(|seed| seed.unwrap_or_else(fresh_seed));
    if let Some(seed) = stress {
        note(format_args!("hopty: stress of seed {seed}: --stress={seed} gives it again"));
    }
    let options = options(args, evidence(), stress)?;
    if args.watch {
        return test_watch::watch(args, &options, files);
    }
    let tapes: Vec<LoadedTape> = files.iter().map(|file| runner::load(file, args.vhs)).collect();
    Ok(play(args, &options, &tapes, |_| {})?.exit_code())
}

/// The tapes that the arguments name.
pub(super) fn find(args: &TestArgs) -> Result<Vec<TapeFile>, VerbError> {
    let mut files = discovery::tapes(&args.paths).map_err(|(path, error)| {
        let mut tape = path.clone().into_os_string();
        tape.push(".tape");
        let tape = PathBuf::from(tape);
        let hint = if tape.is_file() {
            format!("did you mean {}?", visible(&tape.to_string_lossy()))
        } else {
            "name tapes or directories with tapes; without a name, hopty looks in tests/ and tapes/"
                .to_owned()
        };
        VerbError::new(USAGE, error.to_string()).about(visible(&path.to_string_lossy())).hint(hint)
    })?;
    if let Some(filter) = &args.filter {
        let regex = regex::Regex::new(filter).map_err(|error| {
            VerbError::new(USAGE, pattern_error(&error))
                .about("--filter")
                .hint("it takes a regular expression, such as `vim|less`")
        })?;
        files.retain(|tape| regex.is_match(&tape.path.to_string_lossy()));
    }
    if args.rerun_failed {
        let failed = runner::failed_last_time(&evidence());
        files.retain(|tape| failed.contains(&tape.path));
    }
    if files.is_empty() {
        let hint = if args.rerun_failed {
            "no tape of these failed last time"
        } else {
            "tapes are files that end in .tape; without a path, hopty looks in tests/ and tapes/"
        };
        return Err(VerbError::new(NOT_FOUND, "no tape matches").called(Code::NotFound).hint(hint));
    }
    Ok(files)
}

/// Plays tapes with the requested reports, and calls `finished` with each outcome.
pub(super) fn play(
    args: &TestArgs,
    options: &RunPlanOptions,
    tapes: &[LoadedTape],
    mut finished: impl FnMut(&RedactedOutcome),
) -> Result<TestSummary, VerbError> {
    let mut reports = reports(args)?;
    reports.begin(tapes.len())?;
    // A closed pipe ends the tests as Ctrl+C does, so that no program is left running.
    signals::ignore(nix::libc::SIGPIPE);
    for left in remove_abandoned() {
        let command = visible(&left.command);
        note(format_args!("hopty: ended what a killed run of hopty test had left: {command}"));
    }
    let mut summary = runner::run(tapes, options, |outcome| {
        let told = reports.finished(outcome);
        finished(outcome);
        let is_unread = told.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        if is_unread { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    summary.strays = end_adopted().into_iter().map(|stray| stray.command).collect();
    if args.prune {
        snapshot_store::prune(&summary.unused_snapshots).map_err(|error| snapshots_failed(&error))?;
        for file in std::mem::take(&mut summary.unused_snapshots) {
            note(format_args!("hopty: deleted {}", visible(&file.to_string_lossy())));
        }
    }
    match reports.end(&summary) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(summary),
    }
}

/// Accepts or reviews the pending snapshots of these tapes.
fn decide(args: &TestArgs, files: &[TapeFile]) -> Result<u8, VerbError> {
    let dirs: BTreeSet<&Path> =
        files.iter().map(|file| file.path.parent().unwrap_or(Path::new(""))).collect();
    let mut pending = PendingSnapshot::list(dirs).map_err(|error| snapshots_failed(&error))?;
    if let Some(Some(name)) = &args.accept {
        pending.retain(|snapshot| snapshot.name == *name);
        if pending.is_empty() {
            return Err(VerbError::new(
                NOT_FOUND,
                format!("there is no such pending snapshot {}", places(args)),
            )
            .about(visible(name))
            .called(Code::NotFound)
            .hint("play the tape first; give the name of the file: TAPE__NAME"));
        }
    }
    if pending.is_empty() {
        let places = places(args);
        note(format_args!("hopty: there is no pending snapshot {places}; name tapes to look elsewhere"));
        return Ok(0);
    }
    if args.review {
        let result =
            review_terminal::run(&pending, wants_colors()).map_err(|error| failed_of(&error.to_string()))?;
        note(format_args!(
            "hopty: {} accepted, {} rejected, {} left",
            result.accepted, result.rejected, result.left
        ));
        return Ok(u8::from(result.left > 0));
    }
    accept(&pending)?;
    Ok(0)
}

/// The places that are searched for snapshots.
fn places(args: &TestArgs) -> String {
    let named: Vec<String> = args.paths.iter().map(|path| visible(&path.to_string_lossy())).collect();
    if named.is_empty() { "below tests and tapes".to_owned() } else { format!("beside {}", named.join(", ")) }
}

/// Accepts snapshots, and prints which.
pub(super) fn accept(pending: &[PendingSnapshot]) -> Result<(), VerbError> {
    for snapshot in pending {
        snapshot.accept().map_err(|error| snapshots_failed(&error))?;
        note(format_args!("hopty: accepted {}", visible(&snapshot.file.to_string_lossy())));
    }
    if pending.is_empty() {
        note(format_args!("hopty: there is no pending snapshot"));
    }
    Ok(())
}

fn snapshots_failed(error: &SnapshotError) -> VerbError {
    failed_of(&error.to_string())
}

/// An error from a text in two parts: the cause and the hint.
fn failed_of(text: &str) -> VerbError {
    let (cause, hint) = text.split_once("\nhint: ").unwrap_or((text, ""));
    VerbError::new(INTERNAL, cause).hint(hint)
}

/// The requested reports.
fn reports(args: &TestArgs) -> Result<ReportSet, VerbError> {
    let mut targets = Vec::new();
    for word in &args.reports {
        let target: ReportTarget = word.parse().map_err(|error: ReportTargetError| {
            let text = error.to_string();
            let (cause, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
            VerbError::new(USAGE, cause).hint(hint)
        })?;
        targets.push(target);
    }
    let var = |name: &str| std::env::var(name).ok();
    let dir = std::env::current_dir().unwrap_or_default();
    let cols = std::io::stdout().is_terminal().then(|| usize::from(raw::size().drawn().0));
    let options = ReportOptions { allow_flaky: args.allow_flaky, ..ReportOptions::from_env(var, &dir, cols) };
    Ok(ReportSet::open(&targets, &options)?)
}

fn options(args: &TestArgs, evidence: PathBuf, stress: Option<u64>) -> Result<RunPlanOptions, VerbError> {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
    let is_fast = args.fast || (is_ci && !args.real);
    let paths = Paths::from_env(|name| std::env::var_os(name));
    let claude = match std::env::var_os("HOPTY_TEST_CLAUDE") {
        Some(path) => Some(PathBuf::from(path)),
        None => paths.and_then(|paths| {
            let (config, _) = read_config::load(&paths, &[]);
            let home = std::env::var_os("HOME").map(PathBuf::from);
            find_claude(home.as_deref(), &config).ok()
        }),
    };
    let jobs = args
        .jobs
        .or(args.pause.then_some(1))
        .unwrap_or_else(|| 2 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    let play = PlayOptions {
        speed: if is_fast { TapeSpeed::Fast } else { TapeSpeed::Real },
        strict: args.strict,
        require_all: args.require_all,
        render: args.render,
        keep: args.keep,
        pause: match args.pause {
            true => PauseRule::AtFailure,
            false if std::io::stdin().is_terminal() && !is_ci && !args.update => PauseRule::AtCommand,
            false => PauseRule::Never,
        },
        again: again(args, is_fast, is_ci, stress),
        env: args.env.clone(),
        evidence,
        hopty: std::env::current_exe()?,
        claude,
        snapshots: match (args.update, is_ci) {
            (true, _) => SnapshotUse::Collect,
            (false, true) => SnapshotUse::Compare(SnapshotMode::CompareOnly),
            (false, false) => SnapshotUse::Compare(SnapshotMode::Propose),
        },
        stop: None,
    };
    Ok(RunPlanOptions {
        play,
        jobs: jobs.max(1),
        fail_fast: args.fail_fast,
        repeat: args.repeat,
        retry: args.retry,
        allow_flaky: args.allow_flaky,
        stress,
        check: args.check,
    })
}

/// The options that play a tape again in the same way, also where `CI` is not set.
fn again(args: &TestArgs, is_fast: bool, is_ci: bool, stress: Option<u64>) -> Vec<String> {
    let mut again = Vec::new();
    let flags = [
        (is_fast, "--fast"),
        (args.real && is_ci, "--real"),
        (args.strict, "--strict"),
        (args.vhs, "--vhs"),
        (args.require_all, "--require-all"),
        (args.update, "--update"),
    ];
    again.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| (*flag).to_owned()));
    again.extend(stress.map(|seed| format!("--stress={seed}")));
    if args.repeat > 1 {
        again.extend(["--repeat".to_owned(), args.repeat.to_string()]);
    }
    again.extend(args.env.iter().flat_map(|name| ["--env".to_owned(), name.clone()]));
    again
}

/// A random seed.
fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // Short enough to type.
    now.map_or(1, |at| at.as_millis() as u64 % 1_000_000)
}
