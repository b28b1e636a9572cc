//! `--watch`: which tapes are to be played again, because they or what they depend on has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::runner::LoadedTape;
use crate::core::tape::{Tape, TapeCommand};
use crate::fs::watch::{POLL_MS, Watcher};
use crate::sys::poll::{Interest, PollSet};

/// How long changes are gathered: an editor writes a file in several steps, a build many files.
const GATHER: Duration = Duration::from_millis(100);

/// Files, and the tapes that depend on each.
#[derive(Debug)]
pub struct TapeWatch {
    watcher: Watcher,
    files: BTreeMap<PathBuf, WatchedFile>,
}

#[derive(Debug)]
struct WatchedFile {
    modified: Option<SystemTime>,
    tapes: BTreeSet<usize>,
}

/// What ended a wait for changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// These tapes have changed, by their places in the list.
    Changed(BTreeSet<usize>),
    /// There is something to read from the person.
    Input,
    /// A signal came.
    Interrupted,
}

impl TapeWatch {
    /// Begins to watch what the tapes depend on.
    #[must_use]
    pub fn new(tapes: &[LoadedTape], snapshots: &dyn Fn(&Path) -> Vec<PathBuf>) -> TapeWatch {
        let mut watch = TapeWatch { watcher: Watcher::new(), files: BTreeMap::new() };
        for (number, loaded) in tapes.iter().enumerate() {
            let mut files = vec![loaded.file.path.clone()];
            files.extend(snapshots(&loaded.file.path));
            if let Ok(tape) = &loaded.tape {
                files.extend(dependencies(&loaded.file.path, tape));
            }
            for file in files {
                watch.add(file, number);
            }
        }
        watch
    }

    fn add(&mut self, file: PathBuf, tape: usize) {
        let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.watcher.add(dir);
        let modified = modified(&file);
        let watched =
            self.files.entry(file).or_insert_with(|| WatchedFile { modified, tapes: BTreeSet::new() });
        watched.tapes.insert(tape);
    }

    /// Waits until a file changes, or `input` is readable.
    pub fn wait(&mut self, input: Option<BorrowedFd<'_>>, is_over: &dyn Fn() -> bool) -> WatchEnd {
        #[derive(Clone, Copy, PartialEq)]
        enum Ready {
            Files,
            Input,
        }
        loop {
            if is_over() {
                return WatchEnd::Interrupted;
            }
            let mut set = PollSet::default();
            if let Some(files) = self.watcher.fd() {
                set.add(Ready::Files, files, Interest::Read);
            }
            if let Some(input) = input {
                set.add(Ready::Input, input, Interest::Read);
            }
            // Where nothing reports changes they are looked for.
            let ready = set.wait(self.watcher.is_blind().then_some(POLL_MS)).unwrap_or_default();
            if ready.iter().any(|(ready, _)| *ready == Ready::Input) {
                return WatchEnd::Input;
            }
            if ready.is_empty() && !self.watcher.is_blind() {
                continue;
            }
            let until = Instant::now() + GATHER;
            self.watcher.drain();
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
            self.watcher.drain();
            let changed = self.changed();
            if !changed.is_empty() {
                return WatchEnd::Changed(changed);
            }
        }
    }

    /// The tapes of the files that are not as they were at the last look.
    fn changed(&mut self) -> BTreeSet<usize> {
        let mut tapes = BTreeSet::new();
        for (path, file) in &mut self.files {
            let now = modified(path);
            if now != file.modified {
                file.modified = now;
                tapes.extend(&file.tapes);
            }
        }
        tapes
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|meta| meta.modified()).ok()
}

/// The files that a tape names: those that it sources and copies, and programs of the project.
fn dependencies(path: &Path, tape: &Tape) -> Vec<PathBuf> {
    let own = path.display().to_string();
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut files = Vec::new();
    for step in &tape.steps {
        if step.span.file != own {
            files.push(PathBuf::from(&step.span.file));
        }
        match &step.command {
            TapeCommand::Start(words) => {
                let program = words.first().map_or("", |word| word.as_str());
                files.extend(program.contains('/').then(|| PathBuf::from(program)));
            }
            TapeCommand::CopyFile { from, .. } => files.push(dir.join(from.as_str())),
            _ => {}
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tape::{TapeSpan, TapeStep, TapeText};
    use crate::testing::discovery::TapeFile;

    #[test]
    fn a_change_of_a_file_names_the_tapes_that_depend_on_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["a.tape", "b.tape", "shared.txt"] {
            std::fs::write(path(name), "1").unwrap();
        }
        let load = |name: &str| {
            let span = TapeSpan { file: path(name).display().to_string(), line: 1, column: 1 };
            let command = TapeCommand::CopyFile { from: TapeText::plain("shared.txt"), to: None };
            let steps = vec![TapeStep { command, span, ignored: false }];
            LoadedTape {
                file: TapeFile { path: path(name), name: name.to_owned() },
                tape: Ok(Tape { steps, ..Tape::default() }),
            }
        };
        let mut watch = TapeWatch::new(&[load("a.tape"), load("b.tape")], &|_| Vec::new());
        let later = SystemTime::now() + Duration::from_secs(5);
        let touch = |name: &str| {
            let file = std::fs::File::options().append(true).open(path(name)).unwrap();
            file.set_modified(later).unwrap();
            std::fs::write(path("other.txt"), "2").unwrap();
        };
        touch("b.tape");
        assert_eq!(watch.wait(None, &|| false), WatchEnd::Changed([1].into()));
        touch("shared.txt");
        assert_eq!(watch.wait(None, &|| false), WatchEnd::Changed([0, 1].into()));
        assert_eq!(watch.wait(None, &|| true), WatchEnd::Interrupted);
    }
}
