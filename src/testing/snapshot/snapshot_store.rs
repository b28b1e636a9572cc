//! The files of snapshots: `snapshots/TAPE__NAME.snap` beside the tape.
//!
//! A screen without a file, or different from its file, is written as `….snap.new`, which a person accepts or
//! rejects; in continuous integration nothing is written. An update plays the tape twice and writes nothing
//! if the two screens differ: such a snapshot would fail tomorrow.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::screen_snapshot::{SNAPSHOT_BYTES_MAX, ScreenSnapshot, SnapshotTextError};
use crate::core::text::shell_word::shell_word;
use crate::fs::atomic;
use crate::fs::file_error::FsError;
use crate::testing::outcome::{ScreenComparison, SnapshotChange};

/// The directory beside the tapes.
const DIR: &str = "snapshots";
/// The longest name, in bytes.
const NAME_MAX: usize = 100;
/// How many entries of a directory are read at most.
const ENTRIES_MAX: usize = 100_000;

/// What to do with a screen that differs from its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotMode {
    /// A `.snap.new` is written for a person to accept.
    Propose,
    /// Nothing is written: continuous integration.
    CompareOnly,
}

/// Why a snapshot cannot be compared or written.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The name cannot be part of a file name.
    #[error("{name:?} is not a snapshot name: {problem}\nhint: use letters, digits, `-`, `_` and `.`")]
    Name {
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The tape takes two snapshots with one name.
    #[error("the tape takes a snapshot {0:?} twice\nhint: give the second another name")]
    Twice(String),
    /// The file is not a snapshot.
    #[error("{} is not a snapshot: {error}\nhint: correct the line, or delete the file and take the snapshot \
             anew", path.display())]
    Text {
        path: PathBuf,
        /// What is wrong with it.
        error: SnapshotTextError,
    },
    /// The file or the directory `snapshots` is a link, is too long, or cannot be read or written.
    #[error("{0}\nhint: put a regular file or directory there")]
    File(#[from] FsError),
    /// An update found a screen that differed between two runs.
    #[error(
        "the screen of snapshot {name:?} was not the same in two runs; nothing is written\n\
         {difference}\nhint: wait with Expect or Settle until nothing moves, or redact it with Set \
         Redact"
    )]
    Unstable { name: String, difference: String },
    /// An update found a snapshot in one of two runs only.
    #[error("snapshot {0:?} was taken in only one of two runs; nothing is written")]
    Once(String),
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotCheck {
    pub file: PathBuf,
    pub change: SnapshotChange,
    /// How the screen differs from the file.
    pub comparison: ScreenComparison,
    /// The failure in words, and what to do; `None` if nothing differs.
    pub failure: Option<SnapshotFailure>,
}

/// A snapshot that failed, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotFailure {
    pub message: String,
    /// What a person can do.
    pub hint: String,
}

/// The snapshots of one tape.
#[derive(Debug)]
pub struct SnapshotStore {
    dir: PathBuf,
    tape: String,
    tape_path: String,
    taken: BTreeSet<String>,
}

impl SnapshotStore {
    /// The snapshots of the tape at this path.
    ///
    /// # Errors
    /// When the tape's name cannot be part of a file name.
    pub fn of_tape(tape: &Path) -> Result<SnapshotStore, SnapshotError> {
        let stem = tape.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let bad = |problem| SnapshotError::Name { name: tape.display().to_string(), problem };
        if stem.is_empty() || stem.chars().any(char::is_control) {
            return Err(bad("the tape's name must be plain text"));
        }
        let dir = tape.parent().unwrap_or(Path::new("")).join(DIR);
        let tape_path = tape.to_string_lossy().into_owned();
        Ok(SnapshotStore { dir, tape: stem.to_owned(), tape_path, taken: BTreeSet::new() })
    }

    /// The file of a snapshot.
    ///
    /// # Errors
    /// When the name is empty, too long, starts with a dot, or contains anything but letters,
    /// digits, `-`, `_` and `.`: it is part of a file name.
    pub fn file(&self, name: &str) -> Result<PathBuf, SnapshotError> {
        let bad = |problem| SnapshotError::Name { name: name.to_owned(), problem };
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() {
            return Err(bad("it is empty"));
        }
        if name.len() > NAME_MAX {
            return Err(bad("it is longer than 100 bytes"));
        }
        if name.starts_with('.') || name.contains("__") {
            return Err(bad("it begins with a dot or has two underscores in a row"));
        }
        if !name.chars().all(is_plain) {
            return Err(bad("it has other characters"));
        }
        Ok(self.dir.join(format!("{}__{name}.snap", self.tape)))
    }

    /// Compares a screen with its file.
    ///
    /// # Errors
    /// When the name is invalid or was used before, and when files cannot be read or written.
    pub fn check(
        &mut self,
        name: &str,
        actual: &ScreenSnapshot,
        mode: SnapshotMode,
    ) -> Result<SnapshotCheck, SnapshotError> {
        let file = self.take(name)?;
        let expected = read(&file)?;
        let (change, comparison, text) = match &expected {
            None => (SnapshotChange::Missing, ScreenComparison::default(), actual.to_string()),
            Some(expected) => {
                let comparison = expected.compare(actual);
                let same = comparison.is_same();
                let change = if same { SnapshotChange::Same } else { SnapshotChange::Differs };
                (change, comparison, expected.with_wildcards(actual).to_string())
            }
        };
        let proposal = proposal_of(&file);
        let failure = match (change, mode) {
            (SnapshotChange::Same | SnapshotChange::Updated, _) => {
                if mode == SnapshotMode::Propose {
                    remove(&proposal)?;
                }
                None
            }
            (_, SnapshotMode::Propose) => {
                let mut failure = self.failure(name, &file, change, "accept it with");
                if let Err(error) = write(&proposal, &text) {
                    let error = error.to_string();
                    let cause = error.split_once("\nhint: ").map_or(error.as_str(), |(cause, _)| cause);
                    failure.hint = format!("it cannot be proposed for acceptance: {cause}");
                }
                Some(failure)
            }
            (_, SnapshotMode::CompareOnly) => {
                Some(self.failure(name, &file, change, "play the tape on your machine, then"))
            }
        };
        Ok(SnapshotCheck { file, change, comparison, failure })
    }

    fn failure(&self, name: &str, file: &Path, change: SnapshotChange, words: &str) -> SnapshotFailure {
        let message = match change {
            SnapshotChange::Missing => format!("there is no snapshot {} yet", file.display()),
            _ => format!("the screen differs from {}", file.display()),
        };
        let full_name = format!("{}__{name}", self.tape);
        let option = shell_word(&format!("--accept={full_name}"));
        let path = shell_word(&self.tape_path);
        let hint =
            format!("{words} `hopty test {path} {option}`, or look at it with `hopty test {path} --review`");
        SnapshotFailure { message, hint }
    }

    /// Creates the directories above that of the snapshots.
    pub fn make_parents(&self) -> Result<(), SnapshotError> {
        let above = self.dir.parent().unwrap_or(Path::new(""));
        if above.as_os_str().is_empty() {
            return Ok(());
        }
        Ok(fs::create_dir_all(above).map_err(FsError::io("make the directory", above))?)
    }

    /// The names that were compared or updated.
    pub fn taken(&self) -> &BTreeSet<String> {
        &self.taken
    }

    fn take(&mut self, name: &str) -> Result<PathBuf, SnapshotError> {
        let file = self.file(name)?;
        if !self.taken.insert(name.to_owned()) {
            return Err(SnapshotError::Twice(name.to_owned()));
        }
        Ok(file)
    }
}

/// The snapshots of two runs of one tape, which are written if they are the same.
#[derive(Debug)]
pub struct SnapshotUpdate {
    store: SnapshotStore,
    runs: [BTreeMap<String, ScreenSnapshot>; 2],
}

impl SnapshotUpdate {
    pub fn new(store: SnapshotStore) -> SnapshotUpdate {
        SnapshotUpdate { store, runs: [BTreeMap::new(), BTreeMap::new()] }
    }

    /// Takes a screen of the first or of the second run.
    ///
    /// # Errors
    /// When the name is invalid, or was used before in the same run.
    pub fn take(&mut self, is_second: bool, name: &str, screen: ScreenSnapshot) -> Result<(), SnapshotError> {
        self.store.file(name)?;
        match self.runs[usize::from(is_second)].insert(name.to_owned(), screen) {
            None => Ok(()),
            Some(_) => Err(SnapshotError::Twice(name.to_owned())),
        }
    }

    /// Writes the snapshots that differ from their files, if both runs had the same screens, apart from what
    /// the files' wildcards match. Call it only if neither run had another failure.
    ///
    /// # Errors
    /// When a screen differed between the runs; then nothing is written. Also when a file cannot be
    /// written.
    pub fn finish(mut self) -> Result<Vec<(String, PathBuf, SnapshotChange)>, SnapshotError> {
        let [first, second] = std::mem::take(&mut self.runs);
        if let Some(name) = first
            .keys()
            .chain(second.keys())
            .find(|name| !first.contains_key(name.as_str()) || !second.contains_key(name.as_str()))
        {
            return Err(SnapshotError::Once(name.clone()));
        }
        let mut writes = Vec::new();
        for (name, screen) in &first {
            let file = self.store.take(name)?;
            let old = read(&file)?;
            let merge = |screen: &ScreenSnapshot| {
                old.as_ref().map_or(screen.clone(), |old| old.with_wildcards(screen))
            };
            let (one, other) = (merge(screen), merge(&second[name]));
            if one != other {
                let difference = first_difference(&screen.compare(&second[name]));
                return Err(SnapshotError::Unstable { name: name.clone(), difference });
            }
            let is_same = old.as_ref().is_some_and(|old| old.compare(screen).is_same());
            writes.push((name.clone(), file, (!is_same).then(|| one.to_string())));
        }
        let mut done = Vec::new();
        for (name, file, text) in writes {
            if let Some(text) = &text {
                write(&file, text)?;
            }
            remove(&proposal_of(&file))?;
            let change = if text.is_some() { SnapshotChange::Updated } else { SnapshotChange::Same };
            done.push((name, file, change));
        }
        Ok(done)
    }
}

fn first_difference(comparison: &ScreenComparison) -> String {
    match (comparison.rows.first(), comparison.others.first()) {
        (Some(row), _) => {
            let side = |text: &Option<String>| text.clone().unwrap_or_default();
            format!("row {}: {:?}, then {:?}", row.row, side(&row.expected), side(&row.actual))
        }
        (None, Some(other)) => other.clone(),
        (None, None) => String::new(),
    }
}

/// A `.snap.new` that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PendingSnapshot {
    pub name: String,
    pub file: PathBuf,
    pub proposal: PathBuf,
}

impl PendingSnapshot {
    /// The proposal for this file.
    pub fn of_file(file: &Path) -> PendingSnapshot {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        PendingSnapshot { name, file: file.to_owned(), proposal: proposal_of(file) }
    }

    /// All proposals in these tapes' directories, by name.
    pub fn list<'a>(
        tape_dirs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Vec<PendingSnapshot>, SnapshotError> {
        let mut all = Vec::new();
        for dir in tape_dirs {
            for proposal in files(&dir.join(DIR), ".snap.new")? {
                let file = proposal.with_extension("");
                let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                all.push(PendingSnapshot { name, file, proposal });
            }
        }
        all.sort();
        all.dedup();
        Ok(all)
    }

    /// The current and the proposed snapshot.
    pub fn read(&self) -> Result<(Option<ScreenSnapshot>, ScreenSnapshot), SnapshotError> {
        let gone = || FsError::io("read", &self.proposal)(ErrorKind::NotFound.into());
        Ok((read(&self.file)?, read(&self.proposal)?.ok_or_else(gone)?))
    }

    /// Makes the proposal the snapshot.
    pub fn accept(&self) -> Result<(), SnapshotError> {
        let (_, screen) = self.read()?;
        write(&self.file, &screen.to_string())?;
        remove(&self.proposal)
    }

    pub fn reject(&self) -> Result<(), SnapshotError> {
        remove(&self.proposal)
    }
}

/// The snapshots that a tape took in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenSnapshots {
    pub tape: PathBuf,
    /// The names; `None` if the tape was not played to its end.
    pub names: Option<BTreeSet<String>>,
}

/// The files in the directories of these tapes that no tape uses: the tape is gone, or was played to its end
/// without them.
pub fn unused(tapes: &[TakenSnapshots]) -> Result<Vec<PathBuf>, SnapshotError> {
    let dirs: BTreeSet<&Path> =
        tapes.iter().map(|taken| taken.tape.parent().unwrap_or(Path::new(""))).collect();
    let mut all = Vec::new();
    for dir in dirs {
        for file in files(&dir.join(DIR), ".snap")? {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let Some((tape, name)) = stem.rsplit_once("__") else { continue };
            let tape = dir.join(format!("{tape}.tape"));
            let is_unused = match tapes.iter().find(|taken| taken.tape == tape) {
                Some(taken) => taken.names.as_ref().is_some_and(|names| !names.contains(name)),
                None => {
                    matches!(fs::symlink_metadata(&tape), Err(error) if error.kind() == ErrorKind::NotFound)
                }
            };
            if is_unused {
                all.push(file);
            }
        }
    }
    Ok(all)
}

/// Deletes unused snapshots.
pub fn prune(unused: &[PathBuf]) -> Result<(), SnapshotError> {
    unused.iter().try_for_each(|file| remove(file).and_then(|()| remove(&proposal_of(file))))
}

fn proposal_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// The regular files of a directory with this ending, in order; none if there is no directory.
fn files(dir: &Path, end: &str) -> Result<Vec<PathBuf>, SnapshotError> {
    match fs::symlink_metadata(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FsError::io("look at", dir)(error).into()),
        Ok(meta) if !meta.is_dir() => return Err(not_a_directory(dir, meta.is_symlink()).into()),
        Ok(_) => {}
    }
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).map_err(FsError::io("read", dir))?.take(ENTRIES_MAX) {
        let entry = entry.map_err(FsError::io("read", dir))?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && entry.file_name().to_str().is_some_and(|name| name.ends_with(end)) {
            all.push(entry.path());
        }
    }
    all.sort();
    Ok(all)
}

fn not_a_directory(dir: &Path, is_link: bool) -> FsError {
    if is_link {
        FsError::Symlink(dir.to_owned())
    } else {
        FsError::WrongKind { path: dir.to_owned(), expected: "directory" }
    }
}

fn read(file: &Path) -> Result<Option<ScreenSnapshot>, SnapshotError> {
    check_dir(file)?;
    let Some(bytes) = atomic::read(file, SNAPSHOT_BYTES_MAX)? else { return Ok(None) };
    let bad = |error| SnapshotError::Text { path: file.to_owned(), error };
    let text = String::from_utf8(bytes)
        .map_err(|_| bad(SnapshotTextError { line: 1, message: "it is not UTF-8".to_owned() }))?;
    ScreenSnapshot::parse(&text).map(Some).map_err(bad)
}

/// Refuses a link in place of the directory, which would lead the files elsewhere.
fn check_dir(file: &Path) -> Result<(), SnapshotError> {
    let dir = file.parent().unwrap_or(Path::new(""));
    match fs::symlink_metadata(dir) {
        Ok(meta) if !meta.is_dir() => Err(not_a_directory(dir, meta.is_symlink()).into()),
        _ => Ok(()),
    }
}

/// Writes a file with the usual permissions of a repository, not private.
fn write(file: &Path, text: &str) -> Result<(), SnapshotError> {
    check_dir(file)?;
    let dir = file.parent().unwrap_or(Path::new(""));
    match fs::create_dir(dir) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(FsError::io("make the directory", dir)(error).into());
        }
        _ => {}
    }
    let mode = fs::symlink_metadata(dir).map_or(0o600, |meta| meta.mode() & 0o666);
    atomic::write_with(file, |temp| {
        use std::io::Write as _;
        temp.write_all(text.as_bytes())?;
        temp.set_permissions(Permissions::from_mode(mode))
    })?;
    Ok(())
}

/// Deletes a file; a link itself is deleted, and a directory is an error.
fn remove(file: &Path) -> Result<(), SnapshotError> {
    check_dir(file)?;
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(FsError::io("delete", file)(error).into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(rows: &str) -> ScreenSnapshot {
        ScreenSnapshot::parse(&format!("# hopty 1 80x24\n{rows}")).unwrap()
    }

    struct Place {
        dir: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Place {
            Place { dir: tempfile::tempdir().unwrap() }
        }

        fn tape(&self) -> PathBuf {
            self.dir.path().join("vim.tape")
        }

        fn store(&self) -> SnapshotStore {
            SnapshotStore::of_tape(&self.tape()).unwrap()
        }

        fn at(&self, name: &str) -> PathBuf {
            self.dir.path().join("snapshots").join(name)
        }

        fn put(&self, name: &str, text: &str) {
            let _ = fs::create_dir(self.dir.path().join("snapshots"));
            fs::write(self.at(name), text).unwrap();
        }

        fn check(&self, rows: &str, mode: SnapshotMode) -> SnapshotCheck {
            self.store().check("edited", &screen(rows), mode).unwrap()
        }

        fn pending(&self) -> Vec<PendingSnapshot> {
            PendingSnapshot::list([self.dir.path()]).unwrap()
        }
    }

    #[test]
    fn a_missing_snapshot_fails_and_waits_to_be_accepted() {
        let place = Place::new();
        let check = place.check("one\n", SnapshotMode::Propose);
        assert_eq!(check.change, SnapshotChange::Missing);
        let failure = check.failure.unwrap();
        assert!(
            failure.message.starts_with("there is no snapshot ")
                && failure.hint.contains("--accept=vim__edited")
        );
        assert!(!place.at("vim__edited.snap").exists());
        let pending = place.pending();
        assert_eq!((pending.len(), pending[0].name.as_str()), (1, "vim__edited"));
        pending[0].accept().unwrap();
        let mode = fs::metadata(place.at("vim__edited.snap")).unwrap().mode();
        assert_eq!(mode & 0o444, fs::metadata(place.at("")).unwrap().mode() & 0o444);
        let check = place.check("one\n", SnapshotMode::CompareOnly);
        assert_eq!((check.change, check.failure), (SnapshotChange::Same, None));
        assert!(place.pending().is_empty());
    }

    #[test]
    fn continuous_integration_writes_nothing() {
        let place = Place::new();
        assert!(place.check("one\n", SnapshotMode::CompareOnly).failure.is_some());
        assert!(!place.dir.path().join("snapshots").exists());
        place.put("vim__edited.snap", "# hopty 1 80x24\none\n");
        let check = place.check("two\n", SnapshotMode::CompareOnly);
        assert_eq!((check.change, check.comparison.rows.len()), (SnapshotChange::Differs, 1));
        assert!(check.failure.unwrap().message.starts_with("the screen differs from "));
        assert!(!place.at("vim__edited.snap.new").exists());
    }

    #[test]
    fn a_proposal_keeps_wildcards_and_goes_when_the_screen_is_right_again() {
        let place = Place::new();
        place.put("vim__edited.snap", "# hopty 1 80x24\ntook ..\nend\n");
        place.check("took 5 s\nEND\n", SnapshotMode::Propose);
        let proposal = place.at("vim__edited.snap.new");
        assert_eq!(fs::read_to_string(&proposal).unwrap(), "# hopty 1 80x24\ntook ..\nEND\n");
        place.pending()[0].reject().unwrap();
        assert!(!proposal.exists());
        place.check("took 5 s\nEND\n", SnapshotMode::Propose);
        place.check("took 6 s\nend\n", SnapshotMode::Propose);
        assert!(!proposal.exists());
    }

    #[test]
    fn an_update_needs_the_same_screen_twice() {
        let place = Place::new();
        place.put("vim__a.snap", "# hopty 1 80x24\ntook ..\nold\n");
        let update = |one: &[(&str, &str)], other: &[(&str, &str)]| {
            let mut update = SnapshotUpdate::new(place.store());
            for (is_second, run) in [(false, one), (true, other)] {
                for (name, rows) in run {
                    update.take(is_second, name, screen(rows)).unwrap();
                }
            }
            update.finish()
        };
        let unstable = update(&[("a", "took 1\nx\n"), ("b", "1\n")], &[("a", "took 2\nx\n"), ("b", "2\n")]);
        let message = unstable.unwrap_err().to_string();
        assert!(message.contains("\"b\"") && message.contains("row 1: \"1\", then \"2\""), "{message}");
        assert!(
            fs::read_to_string(place.at("vim__a.snap")).unwrap().ends_with("old\n"),
            "nothing is written"
        );
        assert!(matches!(update(&[("a", "x\n")], &[]), Err(SnapshotError::Once(name)) if name == "a"));
        let done =
            update(&[("a", "took 1\nx\n"), ("b", "1\n")], &[("a", "took 2\nx\n"), ("b", "1\n")]).unwrap();
        let changes: Vec<SnapshotChange> = done.iter().map(|(.., change)| *change).collect();
        assert_eq!(changes, [SnapshotChange::Updated, SnapshotChange::Updated]);
        assert_eq!(fs::read_to_string(place.at("vim__a.snap")).unwrap(), "# hopty 1 80x24\ntook ..\nx\n");
        let again =
            update(&[("a", "took 7\nx\n"), ("b", "1\n")], &[("a", "took 8\nx\n"), ("b", "1\n")]).unwrap();
        assert!(again.iter().all(|(.., change)| *change == SnapshotChange::Same));
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let place = Place::new();
        for name in ["", "..", ".hidden", "../x", "a/b", "/etc/x", "a\\b", "a\0", "a b", "a__b", "a\u{202e}"]
        {
            assert!(matches!(place.store().file(name), Err(SnapshotError::Name { .. })), "{name:?}");
        }
        assert!(place.store().file(&"x".repeat(101)).is_err());
        assert!(place.store().file("Größe-1.b_c").is_ok());
        let mut store = place.store();
        store.check("a", &screen("x\n"), SnapshotMode::CompareOnly).unwrap();
        let again = store.check("a", &screen("x\n"), SnapshotMode::CompareOnly);
        assert!(matches!(again, Err(SnapshotError::Twice(_))));
        assert!(SnapshotStore::of_tape(Path::new("/")).is_err());
    }

    #[test]
    fn links_and_files_of_any_size_are_refused() {
        let place = Place::new();
        place.put("x", "");
        let outside = place.dir.path().join("outside");
        fs::write(&outside, "# hopty 1 80x24\nx\n").unwrap();
        std::os::unix::fs::symlink(&outside, place.at("vim__edited.snap")).unwrap();
        let check = || place.store().check("edited", &screen("x\n"), SnapshotMode::Propose);
        assert!(matches!(check(), Err(SnapshotError::File(FsError::Symlink(_)))));
        fs::remove_file(place.at("vim__edited.snap")).unwrap();
        let long = fs::File::create(place.at("vim__edited.snap")).unwrap();
        long.set_len(SNAPSHOT_BYTES_MAX + 1).unwrap();
        assert!(matches!(check(), Err(SnapshotError::File(FsError::TooLong { .. }))));
        fs::write(place.at("vim__edited.snap"), "nothing").unwrap();
        assert!(check().unwrap_err().to_string().contains("line 1: expected a header"));
        fs::remove_dir_all(place.at("")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), place.dir.path().join("snapshots")).unwrap();
        assert!(matches!(check(), Err(SnapshotError::File(FsError::Symlink(_)))));
        assert!(PendingSnapshot::list([place.dir.path()]).is_err());
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_no_tape_takes_is_unused() {
        let place = Place::new();
        for name in ["vim__a.snap", "vim__b.snap", "gone__a.snap", "other__a.snap", "notes.txt", "odd.snap"] {
            place.put(name, "");
        }
        fs::write(place.tape(), "").unwrap();
        fs::write(place.dir.path().join("other.tape"), "").unwrap();
        let taken = |names: Option<&[&str]>| {
            let names = names.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            unused(&[TakenSnapshots { tape: place.tape(), names }]).unwrap()
        };
        assert_eq!(taken(None), [place.at("gone__a.snap")]);
        let found = taken(Some(&["a"]));
        assert_eq!(found, [place.at("gone__a.snap"), place.at("vim__b.snap")]);
        prune(&found).unwrap();
        assert!(!place.at("vim__b.snap").exists() && place.at("odd.snap").exists());
    }
}
