//! `--watch`: which tapes to play again because they or their dependencies have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::discovery::TapeFile;
use super::file_fingerprint::FileFingerprint;
use super::runner::{self, LoadedTape};
use super::snapshot::SnapshotStore;
use crate::core::tape::{Tape, TapeCommand};
use crate::fs::watch::{POLL_MS, Watcher};
use crate::sys::poll::{Interest, PollSet};

/// How long changes are collected: an editor writes a file in several steps, a build many files.
const GATHER: Duration = Duration::from_millis(100);
/// How many files of a directory that a tape copies are watched.
const COPIED_MAX: usize = 1000;

/// Files, and the tapes that depend on each. Changes count from when a file is added, even while tapes are
/// being played.
#[derive(Debug, Default)]
pub struct TapeWatch {
    watcher: Watcher,
    files: BTreeMap<PathBuf, WatchedFile>,
    dirs: BTreeSet<PathBuf>,
}

#[derive(Debug)]
struct WatchedFile {
    version: Option<FileFingerprint>,
    tapes: BTreeSet<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// These tapes or their dependencies have changed.
    Changed(BTreeSet<PathBuf>),
    /// Other files in their directories have changed: there may be a new tape.
    OtherFiles,
    /// There is input from the person.
    Input,
    Signal,
}

impl TapeWatch {
    /// Reads a tape and watches it and its dependencies. Any change after reading is noticed.
    pub fn load(&mut self, file: &TapeFile, vhs_only: bool) -> LoadedTape {
        self.add(file.path.clone(), &file.path);
        loop {
            let loaded = runner::load(file, vhs_only);
            // A file that was not watched before may have changed since it was read.
            if !self.add_all(&loaded) {
                return loaded;
            }
        }
    }

    /// Watches a directory in which new tapes may appear.
    pub fn add_dir(&mut self, dir: &Path) {
        self.dirs.insert(dir.to_owned());
        self.watcher.add(dir);
    }

    /// Watches the tape's files; returns whether one was not watched before.
    fn add_all(&mut self, loaded: &LoadedTape) -> bool {
        let path = &loaded.file.path;
        let files = match &loaded.tape {
            Ok(tape) => dependencies(path, tape),
            // The error may be in a tape that it includes.
            Err(_) => files_below(parent(path), 1).into_iter().filter(|file| has_tape_name(file)).collect(),
        };
        let added = files.into_iter().filter(|file| self.add(file.clone(), path));
        added.count() > 0
    }

    fn add(&mut self, file: PathBuf, tape: &Path) -> bool {
        self.add_dir(parent(&file));
        let is_new = !self.files.contains_key(&file);
        let version = FileFingerprint::of(&file);
        let watched =
            self.files.entry(file).or_insert_with(|| WatchedFile { version, tapes: BTreeSet::new() });
        watched.tapes.insert(tape.to_owned());
        is_new
    }

    /// Waits until a file changes, or `input` or `signals` is readable.
    pub fn wait(&mut self, input: Option<BorrowedFd<'_>>, signals: Option<BorrowedFd<'_>>) -> WatchEnd {
        #[derive(Clone, Copy, PartialEq)]
        enum WatchToken {
            Files,
            Input,
            Signal,
        }
        loop {
            // A directory that was missing or has been replaced.
            for dir in &self.dirs {
                self.watcher.add(dir);
            }
            let changed = self.changed();
            if !changed.is_empty() {
                return WatchEnd::Changed(changed);
            }
            let mut set = PollSet::default();
            for (token, fd) in [
                (WatchToken::Files, self.watcher.fd()),
                (WatchToken::Input, input),
                (WatchToken::Signal, signals),
            ] {
                if let Some(fd) = fd {
                    set.add(token, fd, Interest::Read);
                }
            }
            // Without change reports, poll.
            let is_blind = self.watcher.is_blind() || self.dirs.iter().any(|dir| !self.watcher.covers(dir));
            let ready = set.wait(is_blind.then_some(POLL_MS)).unwrap_or_default();
            let is_ready = |token| ready.iter().any(|(ready, _)| *ready == token);
            if is_ready(WatchToken::Signal) {
                return WatchEnd::Signal;
            }
            if is_ready(WatchToken::Input) {
                return WatchEnd::Input;
            }
            if is_ready(WatchToken::Files) {
                self.watcher.drain();
                let changed = self.changed();
                return match changed.is_empty() {
                    true => WatchEnd::OtherFiles,
                    false => WatchEnd::Changed(changed),
                };
            }
        }
    }

    /// The tapes of files that have changed since the last look. If there are any, waits until an editor or a
    /// build has written the rest, too.
    fn changed(&mut self) -> BTreeSet<PathBuf> {
        let mut changed = self.changed_now();
        if !changed.is_empty() {
            std::thread::sleep(GATHER);
            self.watcher.drain();
            changed.append(&mut self.changed_now());
        }
        changed
    }

    fn changed_now(&mut self) -> BTreeSet<PathBuf> {
        let mut tapes = BTreeSet::new();
        for (path, file) in &mut self.files {
            let now = FileFingerprint::of(path);
            if now != file.version {
                file.version = now;
                tapes.extend(file.tapes.iter().cloned());
            }
        }
        tapes
    }
}

fn parent(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn has_tape_name(file: &Path) -> bool {
    file.extension().is_some_and(|ext| ext == "tape")
}

/// The files of a directory and of those below it, down to this depth.
fn files_below(dir: &Path, levels: usize) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && levels > 1 => {
                files.append(&mut files_below(&entry.path(), levels - 1));
            }
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
        if files.len() >= COPIED_MAX {
            break;
        }
    }
    files
}

/// The files that a tape depends on: those that it includes or copies, its snapshots, and programs of the
/// project.
fn dependencies(path: &Path, tape: &Tape) -> Vec<PathBuf> {
    let own = path.display().to_string();
    let dir = parent(path);
    let store = SnapshotStore::of_tape(path).ok();
    let mut files = Vec::new();
    for step in &tape.steps {
        if step.span.file != own {
            let sourced = Path::new(&step.span.file);
            let found = [sourced.to_owned(), dir.join(sourced)].into_iter().find(|file| file.exists());
            files.extend(found);
        }
        match &step.command {
            TapeCommand::Start(words) => {
                let program = words.first().map_or("", |word| word.as_str());
                files.extend(program.contains('/').then(|| PathBuf::from(program)));
            }
            TapeCommand::CopyFile { from, .. } => {
                let from = dir.join(from.as_str());
                match from.is_dir() {
                    true => files.append(&mut files_below(&from, 8)),
                    false => files.push(from),
                }
            }
            TapeCommand::Snapshot { name, .. } => {
                files.extend(store.as_ref().and_then(|store| store.file(name).ok()));
            }
            _ => {}
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_change_names_the_tapes_that_depend_on_the_file_also_when_nobody_waited() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
        std::fs::create_dir(path("project")).unwrap();
        write("project/app.conf", "1");
        write("part.tape", "Expect \"1\"\n");
        write("a.tape", "Copy+File project .\nStart cat\nSnapshot end\n");
        let part = path("part.tape");
        write("b.tape", &format!("Source \"{}\"\nStart cat\nExit 0\n", part.display()));
        let file = |name: &str| TapeFile { path: path(name), name: name.to_owned() };
        let mut watch = TapeWatch::default();
        for name in ["a.tape", "b.tape"] {
            let loaded = watch.load(&file(name), false);
            assert!(loaded.tape.is_ok(), "{:?}", loaded.tape);
        }
        let changed = |names: &[&str]| WatchEnd::Changed(names.iter().map(|name| path(name)).collect());
        write("b.tape", "Start cat\nExit 0 \n");
        assert_eq!(watch.wait(None, None), changed(&["b.tape"]));
        write("part.tape", "Expect \"22\"\n");
        assert_eq!(watch.wait(None, None), changed(&["b.tape"]));
        write("project/app.conf", "22");
        assert_eq!(watch.wait(None, None), changed(&["a.tape"]));
        std::fs::create_dir(path("snapshots")).unwrap();
        write("snapshots/a__end.snap", "# hopty 1 80x24\n");
        assert_eq!(watch.wait(None, None), changed(&["a.tape"]));
        write("c.tape", "Start true\n");
        assert_eq!(watch.wait(None, None), WatchEnd::OtherFiles);
    }

    #[test]
    fn a_signal_from_before_the_wait_ends_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut watch = TapeWatch::default();
        watch.add_dir(dir.path());
        let (signals, end) = nix::unistd::pipe().unwrap();
        nix::unistd::write(&end, b"x").unwrap();
        assert_eq!(watch.wait(None, Some(signals.as_fd())), WatchEnd::Signal);
        assert_eq!(watch.wait(Some(signals.as_fd()), None), WatchEnd::Input);
    }
}
