//! `hopty test --watch`: plays tapes again when they change, until you quit.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::PathBuf;

use nix::libc;

use super::error::{VerbError, note, visible};
use super::test::{self, TestArgs};
use crate::sys::fd::read_some;
use crate::sys::signals::Signals;
use crate::testing::discovery::TapeFile;
use crate::testing::outcome::{SnapshotChange, TapeOutcome, TapeVerdict};
use crate::testing::runner::{LoadedTape, RunPlanOptions};
use crate::testing::snapshot::PendingSnapshot;
use crate::testing::tape_watch::{TapeWatch, WatchEnd};
use crate::tty::raw::{self, RawMode};

/// How many tapes a line names.
const NAMES_MAX: usize = 3;

/// Plays all tapes, then those that change. The exit code is 0 if the newest result of each was good.
pub(super) fn watch(
    args: &TestArgs,
    options: &RunPlanOptions,
    found: Vec<TapeFile>,
) -> Result<u8, VerbError> {
    let signals = Signals::catch(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP])?;
    let mut watch = TapeWatch::default();
    let given = args.paths.iter().cloned();
    let usual = ["tests", "tapes"].map(PathBuf::from).into_iter().filter(|_| args.paths.is_empty());
    given.chain(usual).filter(|dir| dir.is_dir()).for_each(|dir| watch.add_dir(&dir));
    let mut session = WatchSession {
        args,
        signals,
        keys: WatchKeys::take(),
        watch,
        known: found.clone(),
        failing: BTreeMap::new(),
    };
    let mut wanted = found;
    loop {
        if let Some(code) = session.play(options, wanted)? {
            return Ok(code);
        }
        wanted = loop {
            match session.wait()? {
                WatchStep::End(code) => return Ok(code),
                WatchStep::Play(tapes) if tapes.is_empty() => {}
                WatchStep::Play(tapes) => break tapes,
            }
        };
        note(format_args!("\nhopty: playing {}", names(wanted.iter().map(|tape| &tape.path))));
    }
}

/// What follows a change, a key or a signal.
enum WatchStep {
    Play(Vec<TapeFile>),
    /// End with this exit code.
    End(u8),
}

struct WatchSession<'a> {
    args: &'a TestArgs,
    signals: Signals,
    /// `None` without a terminal.
    keys: Option<WatchKeys>,
    watch: TapeWatch,
    known: Vec<TapeFile>,
    failing: BTreeMap<PathBuf, FailingTape>,
}

impl WatchSession<'_> {
    /// Plays tapes and prints what to do next; returns the exit code if that was interrupted.
    fn play(&mut self, options: &RunPlanOptions, mut wanted: Vec<TapeFile>) -> Result<Option<u8>, VerbError> {
        let failing = &mut self.failing;
        // The tapes that failed are played first: you are working on them.
        wanted.sort_by_key(|tape| !failing.contains_key(&tape.path));
        let tapes: Vec<LoadedTape> = wanted.iter().map(|file| self.watch.load(file, self.args.vhs)).collect();
        let summary = test::play(self.args, options, &tapes, |outcome| {
            let is_good = outcome.failed_attempts() == 0
                && !matches!(outcome.verdict, TapeVerdict::Unreadable(_) | TapeVerdict::Flaky);
            let path = PathBuf::from(&outcome.tape);
            if is_good {
                failing.remove(&path)
            } else {
                failing.insert(path, FailingTape::of(outcome))
            };
        })?;
        if summary.interrupted {
            return Ok(Some(summary.exit_code()));
        }
        let result = match failing.len() {
            0 => "all pass".to_owned(),
            1 => format!("{} fails", names(failing.keys())),
            _ => format!("{} fail", names(failing.keys())),
        };
        let help = match (self.keys.is_some(), failing.is_empty()) {
            (false, _) => "Ctrl+C ends",
            (true, true) => "a plays all, q quits",
            (true, false) => "a plays all, u accepts snapshots, o names traces, q quits",
        };
        note(format_args!("hopty: {result}; waiting for changes ({help})"));
        Ok(None)
    }

    /// Waits for a change, a key or a signal, and returns what to play.
    fn wait(&mut self) -> Result<WatchStep, VerbError> {
        let stdin = io::stdin();
        let end = self.watch.wait(self.keys.is_some().then(|| stdin.as_fd()), Some(self.signals.as_fd()));
        let before: BTreeSet<PathBuf> = self.known.iter().map(|tape| tape.path.clone()).collect();
        // While a tape is being replaced it may be missing.
        if let Ok(now) = test::find(self.args) {
            self.known = now;
        }
        let is_new = |tape: &&TapeFile| !before.contains(&tape.path);
        let next = match end {
            WatchEnd::Signal => return Ok(WatchStep::End(130)),
            WatchEnd::Input => match self.key()? {
                WatchStep::Play(tapes) => tapes,
                end => return Ok(end),
            },
            WatchEnd::Changed(paths) => {
                let counts = |tape: &&TapeFile| paths.contains(&tape.path) || is_new(tape);
                self.known.iter().filter(counts).cloned().collect()
            }
            WatchEnd::OtherFiles => self.known.iter().filter(is_new).cloned().collect(),
        };
        let paths: BTreeSet<&PathBuf> = self.known.iter().map(|tape| &tape.path).collect();
        self.failing.retain(|path, _| paths.contains(path));
        Ok(WatchStep::Play(next))
    }

    fn key(&mut self) -> Result<WatchStep, VerbError> {
        match self.keys.as_mut().map(WatchKeys::read) {
            Some(WatchKey::All) => return Ok(WatchStep::Play(self.known.clone())),
            // The changed files make their tapes play again.
            Some(WatchKey::Update) => accept(&self.failing)?,
            Some(WatchKey::Traces) => name_traces(&self.failing),
            Some(WatchKey::Quit) => return Ok(WatchStep::End(u8::from(!self.failing.is_empty()))),
            Some(WatchKey::Other) => {}
            Some(WatchKey::Gone) | None => self.keys = None,
        }
        Ok(WatchStep::Play(Vec::new()))
    }
}

/// The evidence of a tape's newest failure.
struct FailingTape {
    trace: Option<PathBuf>,
    snapshots: Vec<PathBuf>,
}

impl FailingTape {
    fn of(outcome: &TapeOutcome) -> FailingTape {
        let evidence = outcome.failure().map_or(&[][..], |failure| &failure.evidence);
        let trace = evidence.iter().find(|file| file.kind == "trace").map(|file| file.path.clone());
        let is_open = |change| matches!(change, SnapshotChange::Missing | SnapshotChange::Differs);
        let snapshots = outcome.snapshots.iter().filter(|snapshot| is_open(snapshot.change));
        FailingTape { trace, snapshots: snapshots.map(|snapshot| snapshot.file.clone()).collect() }
    }
}

fn accept(failing: &BTreeMap<PathBuf, FailingTape>) -> Result<(), VerbError> {
    let files = failing.values().flat_map(|tape| &tape.snapshots);
    let pending =
        files.map(|file| PendingSnapshot::of_file(file)).filter(|snapshot| snapshot.proposal.exists());
    test::accept(&pending.collect::<Vec<_>>())
}

/// Prints the paths of the traces of failing tapes.
fn name_traces(failing: &BTreeMap<PathBuf, FailingTape>) {
    let mut has_any = false;
    for (tape, FailingTape { trace, .. }) in failing {
        let Some(trace) = trace else { continue };
        has_any = true;
        let trace = std::path::absolute(trace).unwrap_or_else(|_| trace.clone());
        let [tape, trace] = [tape, &trace].map(|path| visible(&path.to_string_lossy()).to_string());
        note(format_args!("hopty: trace of {tape}: {trace}"));
    }
    if !has_any {
        note(format_args!("hopty: no failure left a trace"));
    }
}

fn names<'a>(paths: impl ExactSizeIterator<Item = &'a PathBuf>) -> String {
    let more = paths.len().saturating_sub(NAMES_MAX);
    let mut names: Vec<String> =
        paths.take(NAMES_MAX).map(|path| visible(&path.to_string_lossy()).to_string()).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

enum WatchKey {
    All,
    Update,
    /// Prints the paths of the traces.
    Traces,
    Quit,
    Other,
    Gone,
}

/// The keyboard while hopty watches: keys are read one by one, and Ctrl+C still interrupts.
struct WatchKeys {
    raw: RawMode,
}

impl WatchKeys {
    /// `None` without a terminal.
    fn take() -> Option<WatchKeys> {
        if !io::stdin().is_terminal() {
            return None;
        }
        raw::restore_on_panic();
        let mut raw = RawMode::enter().ok()?;
        if raw.enter_cbreak().is_err() {
            raw.suspend();
            return None;
        }
        Some(WatchKeys { raw })
    }

    fn read(&mut self) -> WatchKey {
        let mut bytes = [0; 64];
        match read_some(&io::stdin(), &mut bytes) {
            Ok(Some(0)) | Err(_) => WatchKey::Gone,
            Ok(count) => {
                let known = |byte: &u8| match byte {
                    b'\r' | b'\n' | b'a' => Some(WatchKey::All),
                    b'u' => Some(WatchKey::Update),
                    b'o' => Some(WatchKey::Traces),
                    b'q' | 0x04 => Some(WatchKey::Quit),
                    _ => None,
                };
                bytes[..count.unwrap_or(0)].iter().find_map(known).unwrap_or(WatchKey::Other)
            }
        }
    }
}

impl Drop for WatchKeys {
    fn drop(&mut self) {
        self.raw.suspend();
    }
}
