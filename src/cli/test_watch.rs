//! `hopty test --watch`: plays again what changes, until you end it.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::PathBuf;

use nix::libc;

use super::error::{Failed, note, visible};
use super::test::{self, TestArgs};
use crate::sys::fd::read_some;
use crate::sys::signals::Signals;
use crate::testing::discovery::TapeFile;
use crate::testing::outcome::TapeVerdict;
use crate::testing::runner::{LoadedTape, RunPlanOptions};
use crate::testing::watch::{TapeWatch, WatchEnd};
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
    let mut failing: BTreeSet<PathBuf> = BTreeSet::new();
    loop {
        // What failed last is what you work on.
        wanted.sort_by_key(|tape| !failing.contains(&tape.path));
        let tapes: Vec<LoadedTape> = wanted.iter().map(|file| watch.load(file, args.vhs)).collect();
        let summary = test::play(args, options, &tapes, |outcome| {
            let is_good = outcome.failed_attempts() == 0
                && !matches!(outcome.verdict, TapeVerdict::Unreadable(_) | TapeVerdict::Flaky);
            let path = PathBuf::from(&outcome.tape);
            if is_good {
                failing.remove(&path)
            } else {
                failing.insert(path)
            };
        })?;
        if summary.interrupted {
            return Ok(summary.exit_code());
        }
        let help = if keys.is_some() { "Enter plays all, q quits" } else { "Ctrl+C ends" };
        match failing.is_empty() {
            true => note(format_args!("hopty: all pass; waiting for changes ({help})")),
            false => note(format_args!("hopty: {} fail; waiting for changes ({help})", names(&failing))),
        }
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
            failing.retain(|path| paths.contains(path));
            if !next.is_empty() {
                break next;
            }
        };
        let paths = wanted.iter().map(|tape| tape.path.clone()).collect();
        note(format_args!("\nhopty: playing {}", names(&paths)));
    }
}

fn names(paths: &BTreeSet<PathBuf>) -> String {
    let mut names: Vec<String> =
        paths.iter().take(NAMES_MAX).map(|path| visible(&path.to_string_lossy()).to_string()).collect();
    if paths.len() > NAMES_MAX {
        names.push(format!("{} more", paths.len() - NAMES_MAX));
    }
    names.join(", ")
}

/// A key that means something.
enum WatchKey {
    All,
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
        if raw.lend().is_err() {
            raw.suspend();
            return None;
        }
        Some(WatchKeys { raw })
    }

    fn read(&mut self) -> WatchKey {
        let mut bytes = [0; 64];
        match read_some(&io::stdin(), &mut bytes) {
            Ok(Some(0)) | Err(_) => WatchKey::Gone,
            Ok(count) => match bytes[..count.unwrap_or(0)].iter().find(|byte| b"\r\nq\x04".contains(byte)) {
                Some(b'\r' | b'\n') => WatchKey::All,
                Some(_) => WatchKey::Quit,
                None => WatchKey::Other,
            },
        }
    }
}

impl Drop for WatchKeys {
    fn drop(&mut self) {
        self.raw.suspend();
    }
}
