//! Plays many tapes at the same time, and reports their outcomes.
//!
//! Each job is a thread that plays one tape after another; this thread passes their outcomes to the reports,
//! so that these need no locks. One process runs everything: a test costs two descriptors and its program.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::libc;

use super::discovery::TapeFile;
use super::evidence_files::{make_evidence_root, write_evidence_file};
use super::outcome::{
    FailureKind, SnapshotNote, TapeFailure, TapeOutcome, TapeVerdict, TapeWarning, TestPlace, TestSummary,
};
use super::redaction::{RedactedOutcome, TapeRedactions};
use super::snapshot::snapshot_store::{TakenSnapshots, unused};
use super::snapshot::{SnapshotError, SnapshotStore, SnapshotUpdate};
use super::stress::{BusyLoops, SeededChoices};
use super::tape_player::{self, PlayEnd, PlayOptions, PlayedTape, SnapshotUse, redactions_of};
use crate::core::tape::{self, ParseOptions, Tape, TapeCommand, TapeFiles, TapeProblem, TapeStep};
use crate::sys::process;
use crate::sys::safe_file::{self, FileRule};
use crate::sys::signals;

/// The longest tape, in bytes.
const TAPE_MAX: u64 = 4 << 20;
/// How often to check whether a person wants to stop.
const STOP_LOOK: Duration = Duration::from_millis(50);
/// The file that lists the failed tapes, in the directory of the evidence.
const FAILED_FILE: &str = "failed.txt";

/// Options for all tapes of a run.
#[derive(Clone, Debug)]
pub struct RunPlanOptions {
    /// How each is played.
    pub play: PlayOptions,
    /// How many are played at the same time.
    pub jobs: usize,
    /// Stop after the first failure.
    pub fail_fast: bool,
    /// How often each is played.
    pub repeat: u32,
    /// How often a failed tape is retried, if the tape does not say it.
    pub retry: Option<u32>,
    /// A flaky tape does not count as a failure.
    pub allow_flaky: bool,
    /// The seed of `--stress`.
    pub stress: Option<u64>,
    pub check: bool,
}

/// A tape that was read.
#[derive(Clone, Debug)]
pub struct LoadedTape {
    pub file: TapeFile,
    /// Its content, or the parser's report.
    pub tape: Result<Tape, String>,
}

/// The files that tapes name with `Source`: relative to the working directory, as in VHS, otherwise to the
/// tape.
struct SourcedFiles<'a> {
    tape: &'a Path,
    /// Look only where VHS looks.
    vhs_only: bool,
}

impl TapeFiles for SourcedFiles<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let beside = self.tape.parent().unwrap_or(Path::new(".")).join(path);
        for file in [Path::new(path), &beside].into_iter().take(if self.vhs_only { 1 } else { 2 }) {
            match safe_file::read(file, FileRule::of_claude(TAPE_MAX)) {
                Ok(Some(bytes)) => return Ok(bytes),
                Ok(None) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("there is no such file".to_owned())
    }
}

/// Reads and parses a tape.
pub fn load(file: &TapeFile, vhs_only: bool) -> LoadedTape {
    let name = file.path.display().to_string();
    let tape = match safe_file::read(&file.path, FileRule::of_claude(TAPE_MAX)) {
        Ok(Some(bytes)) => {
            let tape = tape::parse(
                &name,
                &bytes,
                ParseOptions { vhs_only },
                &SourcedFiles { tape: &file.path, vhs_only },
            );
            if tape.is_valid() { Ok(tape) } else { Err(tape.report()) }
        }
        Ok(None) => Err(format!("{name} does not exist")),
        Err(error) => Err(error.to_string()),
    };
    LoadedTape { file: file.clone(), tape }
}

/// The tapes that failed last time.
pub fn failed_last_time(evidence: &Path) -> Vec<PathBuf> {
    let file = evidence.join(FAILED_FILE);
    let bytes = safe_file::read(&file, FileRule::own(TAPE_MAX)).ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(PathBuf::from).collect()
}

/// Plays the tapes and calls `finished` with each outcome; if it breaks, all tapes stop. A tape that does not
/// parse is not played.
pub fn run(
    tapes: &[LoadedTape],
    options: &RunPlanOptions,
    mut finished: impl FnMut(&RedactedOutcome) -> ControlFlow<()>,
) -> io::Result<TestSummary> {
    let began = Instant::now();
    let mut summary =
        TestSummary { allow_flaky: options.allow_flaky, seed: options.stress, ..TestSummary::default() };
    let mut taken = Vec::new();
    let mut tell = |outcome: &RedactedOutcome, summary: &mut TestSummary| {
        summary.count(outcome);
        let is_whole = matches!(outcome.verdict, TapeVerdict::Passed | TapeVerdict::Smoke);
        let names = || outcome.snapshots.iter().map(|note| note.name.clone()).collect();
        taken.push(TakenSnapshots { tape: PathBuf::from(&outcome.tape), names: is_whole.then(names) });
        let next = finished(outcome);
        summary.interrupted |= next.is_break();
        next
    };
    let plain = TapeRedactions::new();
    let mut playable = Vec::new();
    for loaded in tapes {
        match &loaded.tape {
            Ok(tape) if !options.check => playable.push((&loaded.file, tape)),
            _ => {
                let _ = tell(&plain.outcome(unplayed(loaded)), &mut summary);
            }
        }
    }
    if options.check || playable.is_empty() {
        summary.took = began.elapsed();
        return Ok(summary);
    }
    process::become_subreaper();
    let interrupted = signals::flag(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT])?;
    let (stop_fd, stop_end) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    let mut options = options.clone();
    options.play.stop = Some(Arc::new(stop_fd));
    let _busy = options.stress.is_some().then(BusyLoops::start).transpose()?;
    let mut jobs = TestWorkers {
        options: &options,
        interrupted: &interrupted,
        stop_end: Some(stop_end),
        failed: Vec::new(),
    };
    // Tapes that must run alone come last, one at a time.
    let (alone, together): (Vec<_>, Vec<_>) =
        playable.into_iter().partition(|(_, tape)| tape_player::wants_to_be_alone(tape));
    for (tapes, count) in [(together, options.jobs), (alone, 1)] {
        if !jobs.is_stopped() {
            jobs.play(tapes, count, |outcome| tell(outcome, &mut summary))?;
        }
    }
    let played: Vec<&Path> = taken.iter().map(|taken| taken.tape.as_path()).collect();
    write_failed(&options.play.evidence, &played, &jobs.failed);
    summary.interrupted |= interrupted.load(Ordering::Relaxed);
    // A directory that cannot be read has already failed its tapes.
    summary.unused_snapshots = unused(&taken).unwrap_or_default();
    summary.took = began.elapsed();
    Ok(summary)
}

/// The outcome of a tape that is only parsed.
fn unplayed(loaded: &LoadedTape) -> TapeOutcome {
    let name = loaded.file.path.display().to_string();
    match &loaded.tape {
        Err(report) => TapeOutcome::new(name, TapeVerdict::Unreadable(report.clone())),
        Ok(tape) => {
            let verdict = if tape.has_checks() { TapeVerdict::Passed } else { TapeVerdict::Smoke };
            let mut outcome = TapeOutcome::new(name, verdict);
            outcome.attempts = 0;
            outcome.warnings = warnings_of(tape);
            outcome
        }
    }
}

/// The jobs of one run.
struct TestWorkers<'a> {
    options: &'a RunPlanOptions,
    interrupted: &'a AtomicBool,
    /// Closed to end every wait.
    stop_end: Option<OwnedFd>,
    failed: Vec<String>,
}

impl TestWorkers<'_> {
    fn is_stopped(&self) -> bool {
        self.stop_end.is_none()
    }

    fn play(
        &mut self,
        tapes: Vec<(&TapeFile, &Tape)>,
        count: usize,
        mut tell: impl FnMut(&RedactedOutcome) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let queue = Mutex::new(VecDeque::from(tapes));
        let (reports, outcomes) = mpsc::channel::<Option<RedactedOutcome>>();
        let options = self.options;
        std::thread::scope(|scope| {
            let count = count.clamp(1, queue.lock().unwrap_or_else(PoisonError::into_inner).len().max(1));
            for number in 0..count {
                let (queue, reports) = (&queue, reports.clone());
                let job = move || {
                    loop {
                        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                        let Some((file, tape)) = next else { return };
                        if reports.send(attempts(file, tape, options)).is_err() {
                            return;
                        }
                    }
                };
                std::thread::Builder::new().name(format!("tape-{number}")).spawn_scoped(scope, job)?;
            }
            drop(reports);
            loop {
                let wants_end = match outcomes.recv_timeout(STOP_LOOK) {
                    Ok(Some(outcome)) => {
                        let is_bad = outcome.failed_attempts() > 0;
                        if is_bad {
                            self.failed.push(outcome.tape.clone());
                        }
                        tell(&outcome).is_break() || (is_bad && options.fail_fast)
                    }
                    Ok(None) | Err(RecvTimeoutError::Timeout) => false,
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                };
                if (wants_end || self.interrupted.load(Ordering::Relaxed)) && self.stop_end.is_some() {
                    queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
                    self.stop_end = None;
                }
            }
        })
    }
}

/// The location of the snapshot in a message; the start of the tape if there is none.
fn snapshot_place(file: &TapeFile, tape: &Tape, message: &str) -> TestPlace {
    let is_named = |step: &&TapeStep| {
        matches!(&step.command, TapeCommand::Snapshot { name, .. }
            if message.contains(&format!("snapshot {name:?}")))
    };
    match tape.steps.iter().find(is_named) {
        Some(TapeStep { span, .. }) => {
            TestPlace { file: span.file.clone(), line: span.line, column: span.column }
        }
        None => TestPlace { file: file.path.display().to_string(), line: 1, column: 1 },
    }
}

fn snapshot_failure(file: &TapeFile, tape: &Tape, error: &SnapshotError) -> TapeVerdict {
    let text = error.to_string();
    let place = snapshot_place(file, tape, &text);
    let (message, hint) = text.split_once("\nhint: ").map_or((text.as_str(), None), |(m, h)| (m, Some(h)));
    let mut failure = TapeFailure::new(FailureKind::Snapshot, place, "Snapshot", message);
    failure.hint = hint.map(str::to_owned);
    TapeVerdict::Failed(Box::new(failure))
}

/// Plays a tape twice and writes its snapshots if they are the same both times; `None` if all tapes were
/// stopped.
fn update(file: &TapeFile, tape: &Tape, options: &RunPlanOptions) -> Option<RedactedOutcome> {
    let mut redactions = redactions_of(tape, &options.play.env);
    let mut outcome = TapeOutcome::new(file.path.display().to_string(), TapeVerdict::Passed);
    outcome.attempts = 0;
    let failure = |error: &SnapshotError| snapshot_failure(file, tape, error);
    let mut update = match SnapshotStore::of_tape(&file.path) {
        Ok(store) => SnapshotUpdate::new(store),
        Err(error) => {
            outcome.verdict = failure(&error);
            return Some(redactions.outcome(outcome));
        }
    };
    for is_second in [false, true] {
        let mut played = tape_player::play(file, tape, &options.play, None);
        outcome.attempts += 1;
        if !is_second {
            outcome.started_ms = played.started_ms;
        }
        if let Some((dir, home)) = &played.dirs {
            redactions = redactions.dir(dir).home(home);
        }
        let collected = std::mem::take(&mut played.collected);
        match take_facts(&mut outcome, tape, played) {
            PlayEnd::Stopped => return None,
            PlayEnd::Passed => {}
            PlayEnd::Skipped(reason) => {
                outcome.attempts = 0;
                outcome.verdict = TapeVerdict::Skipped(reason);
                return Some(redactions.outcome(outcome));
            }
            PlayEnd::Failed(failure) => {
                outcome.verdict = TapeVerdict::Failed(failure);
                return Some(redactions.outcome(outcome));
            }
        }
        for (name, screen) in collected {
            if let Err(error) = update.take(is_second, &name, screen) {
                outcome.verdict = failure(&error);
                return Some(redactions.outcome(outcome));
            }
        }
    }
    match update.finish() {
        Ok(done) => {
            outcome.snapshots =
                done.into_iter().map(|(name, file, change)| SnapshotNote { name, file, change }).collect();
            if !tape.has_checks() {
                outcome.verdict = TapeVerdict::Smoke;
            }
        }
        Err(error) => outcome.verdict = failure(&error),
    }
    // Both count as one attempt: neither is a retry.
    outcome.attempts = 1;
    Some(redactions.outcome(outcome))
}

/// Plays a tape as often as requested; `None` if all tapes were stopped.
fn attempts(file: &TapeFile, tape: &Tape, options: &RunPlanOptions) -> Option<RedactedOutcome> {
    if options.play.snapshots == SnapshotUse::Collect {
        return update(file, tape, options);
    }
    let retries = tape.settings.retry.or(options.retry).unwrap_or(0);
    let most = options.repeat.max(1).saturating_add(retries);
    let name = file.path.display().to_string();
    let mut failures: Vec<TapeFailure> = Vec::new();
    let mut passed = 0;
    let mut redactions = redactions_of(tape, &options.play.env);
    let mut outcome = TapeOutcome::new(name, TapeVerdict::Passed);
    outcome.attempts = 0;
    while outcome.attempts < most {
        // Only a failed tape is retried.
        if outcome.attempts >= options.repeat.max(1) && failures.is_empty() {
            break;
        }
        let choices = options.stress.map(|seed| SeededChoices::for_tape(seed, &file.name, outcome.attempts));
        let played = tape_player::play(file, tape, &options.play, choices);
        outcome.attempts += 1;
        if outcome.attempts == 1 {
            outcome.started_ms = played.started_ms;
        }
        if let Some((dir, home)) = &played.dirs {
            redactions = redactions.dir(dir).home(home);
        }
        let end = take_facts(&mut outcome, tape, played);
        match end {
            PlayEnd::Stopped => return None,
            PlayEnd::Skipped(reason) => {
                outcome.attempts = 0;
                outcome.verdict = TapeVerdict::Skipped(reason);
                return Some(redactions.outcome(outcome));
            }
            PlayEnd::Passed => {
                passed += 1;
                if outcome.attempts > options.repeat.max(1) {
                    break;
                }
            }
            PlayEnd::Failed(failure) => failures.push(*failure),
        }
    }
    outcome.verdict = match (passed, failures.pop()) {
        (_, None) if !tape.has_checks() => TapeVerdict::Smoke,
        (_, None) => TapeVerdict::Passed,
        (0, Some(last)) => TapeVerdict::Failed(Box::new(last)),
        (_, Some(last)) => {
            failures.push(last);
            TapeVerdict::Flaky
        }
    };
    outcome.other_failures = failures;
    Some(redactions.outcome(outcome))
}

/// The parser's warnings.
fn warnings_of(tape: &Tape) -> Vec<TapeWarning> {
    let warning = |problem: &TapeProblem| TapeWarning {
        place: TestPlace {
            file: problem.span.file.clone(),
            line: problem.span.line,
            column: problem.span.column,
        },
        message: match &problem.hint {
            Some(hint) => format!("{}\nhint: {hint}", problem.message),
            None => problem.message.clone(),
        },
    };
    tape.warnings.iter().map(warning).collect()
}

fn take_facts(outcome: &mut TapeOutcome, tape: &Tape, played: PlayedTape) -> PlayEnd {
    outcome.times.took += played.times.took;
    outcome.times.program_ran += played.times.program_ran;
    outcome.times.waited_for_cpu += played.times.waited_for_cpu;
    outcome.warnings = warnings_of(tape);
    outcome.warnings.extend(played.warnings);
    outcome.snapshots = played.snapshots;
    outcome.last_screen = played.last_screen;
    played.end
}

/// Writes the list for `--rerun-failed`: tapes that failed now, and those that failed before and were not
/// played now. A failure to write is ignored.
fn write_failed(evidence: &Path, played: &[&Path], failed: &[String]) {
    let file = evidence.join(FAILED_FILE);
    let mut failed = failed.to_vec();
    let before = failed_last_time(evidence).into_iter().filter(|path| path.exists());
    let others = before.filter(|path| !played.contains(&path.as_path()));
    failed.extend(others.map(|path| path.display().to_string()));
    if failed.is_empty() && !evidence.exists() || make_evidence_root(evidence).is_err() {
        return;
    }
    if failed.is_empty() {
        let _ = fs::remove_file(file);
    } else {
        let _ = write_evidence_file(&file, (failed.join("\n") + "\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_beside_the_tape_is_found_unless_vhs_is_to_play_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.tape");
        fs::write(&path, "Source beside.tape\n").unwrap();
        fs::write(dir.path().join("beside.tape"), "Enter\n").unwrap();
        let file = TapeFile { path, name: "t".to_owned() };
        assert!(load(&file, false).tape.is_ok());
        assert!(load(&file, true).tape.is_err_and(|report| report.contains("no such file")));
    }

    #[test]
    fn a_snapshot_that_is_not_stable_is_named_by_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.tape");
        fs::write(&path, "Start cat\nSnapshot one\nSnapshot two\n").unwrap();
        let file = TapeFile { path: path.clone(), name: "t".to_owned() };
        let tape = load(&file, false).tape.unwrap();
        let place = |message: &str| snapshot_place(&file, &tape, message).line;
        let unstable = |name: &str| {
            SnapshotError::Unstable { name: name.to_owned(), difference: String::new() }.to_string()
        };
        assert_eq!(place(&unstable("two")), 3);
        assert_eq!(place("the tape's name must be plain text"), 1);
    }
}
