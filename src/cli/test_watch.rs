//! `hopty test --watch`: plays again what changes, until you end it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::PathBuf;

use nix::libc;

use super::error::{Failed, note, visible};
use super::test::{self, TestArgs};
use crate::sys::fd::read_some;
use crate::sys::signals::Signals;
use crate::testing::discovery::TapeFile;
use crate::testing::outcome::{SnapshotChange, TapeOutcome, TapeVerdict};
use crate::testing::runner::{LoadedTape, RunPlanOptions};
use crate::testing::snapshot::PendingSnapshot;
use crate::testing::tape_watch::{TapeWatch, WatchEnd};
use crate::tty::raw::{self, RawMode};

/// How many tapes are named in a line.
const NAMES_MAX: usize = 3;

/// Plays all tapes, then those that change. The exit code says whether the newest result of each was good.
pub(super) fn watch(args: &TestArgs, options: &RunPlanOptions, found: Vec<TapeFile>) -> Result<u8, Failed> {
    let signals = Signals::catch(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP])?;
    let mut keys = WatchKeys::take();
    let mut watch = TapeWatch::default();
    let given = args.paths.iter().cloned();
    let usual = ["tests", "tapes"].map(PathBuf::from).into_iter().filter(|_| args.paths.is_empty());
    given.chain(usual).filter(|dir| dir.is_dir()).for_each(|dir| watch.add_dir(&dir));
    let mut known = found.clone();
    let mut wanted = found;
    let mut failing: BTreeMap<PathBuf, FailingTape> = BTreeMap::new();
    loop {
        // What failed last is what you work on.
        wanted.sort_by_key(|tape| !failing.contains_key(&tape.path));
        let tapes: Vec<LoadedTape> = wanted.iter().map(|file| watch.load(file, args.vhs)).collect();
        let summary = test::play(args, options, &tapes, |outcome| {
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
            return Ok(summary.exit_code());
        }
        let result = match failing.is_empty() {
            true => "all pass".to_owned(),
            false => format!("{} fail", names(failing.keys())),
        };
        let help = match (keys.is_some(), failing.is_empty()) {
            (false, _) => "Ctrl+C ends",
            (true, true) => "a plays all, q quits",
            (true, false) => "a plays all, u accepts snapshots, o names traces, q quits",
        };
        note(format_args!("hopty: {result}; waiting for changes ({help})"));
        wanted = loop {
            let stdin = io::stdin();
            let end = watch.wait(keys.is_some().then(|| stdin.as_fd()), Some(signals.as_fd()));
            let before: BTreeSet<PathBuf> = known.iter().map(|tape| tape.path.clone()).collect();
            // While a tape is replaced there may be none for a moment.
            if let Ok(now) = test::find(args) {
                known = now;
            }
            let is_new = |tape: &&TapeFile| !before.contains(&tape.path);
            let next: Vec<TapeFile> = match end {
                WatchEnd::Signal => return Ok(130),
                WatchEnd::Input => match keys.as_mut().map(WatchKeys::read) {
                    Some(WatchKey::All) => known.clone(),
                    Some(WatchKey::Update) => {
                        // The changed files play their tapes again.
                        accept(&failing)?;
                        Vec::new()
                    }
                    Some(WatchKey::Traces) => {
                        name_traces(&failing);
                        Vec::new()
                    }
                    Some(WatchKey::Quit) => return Ok(u8::from(!failing.is_empty())),
                    Some(WatchKey::Other) => Vec::new(),
                    Some(WatchKey::Gone) | None => {
                        keys = None;
                        Vec::new()
                    }
                },
                WatchEnd::Changed(paths) => {
                    let counts = |tape: &&TapeFile| paths.contains(&tape.path) || is_new(tape);
                    known.iter().filter(counts).cloned().collect()
                }
                WatchEnd::OtherFiles => known.iter().filter(is_new).cloned().collect(),
            };
            let paths: BTreeSet<PathBuf> = known.iter().map(|tape| tape.path.clone()).collect();
            failing.retain(|path, _| paths.contains(path));
            if !next.is_empty() {
                break next;
            }
        };
        note(format_args!("\nhopty: playing {}", names(wanted.iter().map(|tape| &tape.path))));
    }
}

/// What the newest failure of a tape left.
struct FailingTape {
    trace: Option<PathBuf>,
    /// The snapshots that are missing or differ.
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

/// Accepts the pending snapshots of the tapes that fail.
fn accept(failing: &BTreeMap<PathBuf, FailingTape>) -> Result<(), Failed> {
    let files = failing.values().flat_map(|tape| &tape.snapshots);
    let pending =
        files.map(|file| PendingSnapshot::of_file(file)).filter(|snapshot| snapshot.proposal.exists());
    test::accept(&pending.collect::<Vec<_>>())
}

/// Prints where the traces of the tapes are that fail.
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

/// A key that means something.
enum WatchKey {
    All,
    /// Accept the snapshots of the tapes that fail.
    Update,
    /// Print where their traces are.
    Traces,
    Quit,
    Other,
    /// The terminal is gone.
    Gone,
}

/// The keyboard while hopty watches: keys are read one by one, and Ctrl+C still interrupts.
struct WatchKeys {
    raw: RawMode,
}

impl WatchKeys {
    /// `None` where nobody is at a terminal.
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
