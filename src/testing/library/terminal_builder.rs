//! How a program under test is started, and the evidence of a failure.

use std::ffi::OsString;
use std::fs;
use std::panic::Location;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use regex::Regex;

use super::tape_suite::target_dir;
use super::{Terminal, TestFailure, TestResult};
use crate::core::cast::{CastEvent, CastEventKind, CastHeader};
use crate::screen::PictureLines;
use crate::testing::evidence_cast::{evidence_cast, last_screen};
use crate::testing::evidence_files::{make_evidence_dir, write_evidence_file};
use crate::testing::isolation::{EnvironmentRules, TestDirs};
use crate::testing::outcome::{EvidenceFile, FailureKind, TapeFailure, TestPlace};
use crate::testing::redaction::TapeRedactions;
use crate::testing::test_terminal::{ProgramUnderTest, TapEvent, TestTerminal};

/// The most bytes of a recording: a flood of output must not fill the memory.
const RECORDING_MAX: usize = 32 * 1024 * 1024;

/// A program under test before its start.
#[derive(Clone, Debug)]
pub struct TerminalBuilder {
    argv: Vec<OsString>,
    size: (u16, u16),
    rules: EnvironmentRules,
    files: Vec<(PathBuf, Vec<u8>)>,
    limit: Duration,
    redactions: TapeRedactions,
}

impl TerminalBuilder {
    pub(super) fn new(program: OsString) -> TerminalBuilder {
        TerminalBuilder {
            argv: vec![program],
            size: (80, 24),
            rules: EnvironmentRules::default(),
            files: Vec::new(),
            limit: Duration::from_secs(5),
            redactions: TapeRedactions::new(),
        }
    }

    /// Adds arguments after those already given.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> TerminalBuilder {
        self.argv.extend(args.into_iter().map(Into::into));
        self
    }

    /// Columns and rows; 80x24 by default.
    #[must_use]
    pub fn size(mut self, cols: u16, rows: u16) -> TerminalBuilder {
        self.size = (cols, rows);
        self
    }

    /// A variable of the program's environment, which inherits only `PATH` from the test.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> TerminalBuilder {
        self.rules.set.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A file in the program's directory.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> TerminalBuilder {
        self.files.push((path.into(), content.into()));
        self
    }

    /// How long a wait may last; 5 s by default. Time in which the program waits for a CPU does not count.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> TerminalBuilder {
        self.limit = limit;
        self
    }

    /// The placeholder for a match in snapshots and failures: `"id=[ID]"`.
    #[must_use]
    pub fn redact(mut self, pattern: Regex, placeholder: &str) -> TerminalBuilder {
        self.redactions = self.redactions.rule(pattern, placeholder);
        self
    }

    /// Starts the program.
    ///
    /// # Errors
    /// When there is no such program, a file cannot be written, or the system refuses.
    #[track_caller]
    pub fn start(self) -> TestResult<Terminal> {
        let at = Location::caller();
        let command = self.argv.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let failed = |message: String| {
            let place = TestPlace { file: at.file().to_owned(), line: at.line(), column: at.column() };
            TestFailure::new(TapeFailure::new(
                FailureKind::Command,
                place,
                format!("start {command}"),
                message,
            ))
        };
        let dirs = TestDirs::create().map_err(|error| failed(format!("cannot make a directory: {error}")))?;
        for (path, content) in &self.files {
            write_below(dirs.dir(), path, content).map_err(&failed)?;
        }
        let (cols, rows) = self.size;
        let program = ProgramUnderTest {
            env: dirs.environment(&self.rules, &|name| std::env::var_os(name)),
            cwd: dirs.dir().to_owned(),
            cols,
            rows,
            own_dir: Some(dirs.base().to_owned()),
            ..ProgramUnderTest::new(self.argv)
        };
        let mut terminal = TestTerminal::start(&program).map_err(|error| failed(error.to_string()))?;
        let events = Arc::new(Mutex::new(Vec::new()));
        let (tapped, mut bytes) = (Arc::clone(&events), 0);
        terminal.set_tap(Box::new(move |time, event| {
            if let Some(kind) = recorded(event, &mut bytes) {
                let at_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
                tapped.lock().unwrap_or_else(PoisonError::into_inner).push(CastEvent { at_us, kind });
            }
        }));
        let mark = terminal.start_mark(at.line());
        let redactions = self
            .redactions
            .dir(&dirs.dir().to_string_lossy())
            .home(&dirs.home().to_string_lossy())
            .literal(&dirs.base().to_string_lossy(), "[TEST]");
        Ok(Terminal {
            terminal,
            dirs,
            mark,
            limit: self.limit,
            name: test_name(&std::env::current_exe().unwrap_or_default(), thread::current().name(), at),
            command,
            size: self.size,
            root: std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from),
            keys: Vec::new(),
            redactions,
            snapshots: None,
            events,
        })
    }
}

/// An event for the recording, without passwords and up to the size limit.
fn recorded(event: TapEvent<'_>, bytes: &mut usize) -> Option<CastEventKind> {
    Some(match event {
        TapEvent::Output(output) => {
            *bytes += output.len();
            if *bytes > RECORDING_MAX {
                return None;
            }
            CastEventKind::Output(output.to_vec())
        }
        TapEvent::Input { bytes, secret: false } => CastEventKind::Input(bytes.to_vec()),
        TapEvent::Input { .. } => return None,
        TapEvent::Resize { cols, rows } => CastEventKind::Resize { cols, rows },
        TapEvent::End(end) => CastEventKind::Exit(end.code().into()),
    })
}

/// Writes a file below a directory; no path can leave it.
fn write_below(dir: &Path, path: &Path, content: &[u8]) -> Result<(), String> {
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(format!("{} is not below the test's directory", path.display()));
    }
    let file = dir.join(path);
    let above = file.parent().unwrap_or(dir);
    fs::create_dir_all(above)
        .and_then(|()| fs::write(&file, content))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The names of the test program and the test function as part of a file's name: functions of the same name
/// may be in several test programs. The harness names its threads; otherwise the location in the source is
/// used.
fn test_name(program: &Path, thread: Option<&str>, at: &Location<'_>) -> String {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = match thread.filter(|name| *name != "main") {
        Some(name) => {
            let program = stem(program);
            // Cargo adds a hash.
            let program = program.rsplit_once('-').map_or(program.as_str(), |(program, _)| program);
            format!("{program}-{}", name.replace("::", "-"))
        }
        None => format!("{}-{}", stem(Path::new(at.file())), at.line()),
    };
    name.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).collect()
}

impl Terminal {
    /// Writes screen and recording to `target/hopty/TEST`. A failure to write is ignored.
    pub(super) fn keep_evidence(&mut self) -> Vec<EvidenceFile> {
        let dir = target_dir(&self.root).join("hopty").join(&self.name);
        if make_evidence_dir(&dir).is_err() {
            return Vec::new();
        }
        let redactions = Some(&self.redactions).filter(|all| all.has_rules());
        let cast = self.cast(redactions);
        let redacted_screen = redactions.and_then(|_| last_screen(&cast));
        let screen = self.terminal.screen();
        let text = self.redactions.text(&screen.text(PictureLines::WithHistory));
        let screen = redacted_screen.as_ref().unwrap_or(screen);
        let files = [
            ("screen", "screen.txt", text.into_bytes()),
            ("screen", "screen.svg", screen.svg(PictureLines::Screen).into_bytes()),
            ("cast", "session.cast", cast),
        ];
        let mut kept = Vec::new();
        for (kind, name, content) in files {
            let path = dir.join(name);
            if write_evidence_file(&path, &content).is_ok() {
                kept.push(EvidenceFile { kind: kind.to_owned(), path });
            }
        }
        kept
    }

    fn cast(&self, redactions: Option<&TapeRedactions>) -> Vec<u8> {
        let (cols, rows) = self.size;
        let header = CastHeader {
            command: Some(self.command.clone()),
            idle_time_limit: Some(2.0),
            ..CastHeader::new(cols, rows)
        };
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner).clone();
        evidence_cast(header, events, redactions)
    }
}

#[cfg(test)]
mod builder_tests {
    use super::*;

    #[test]
    fn a_test_is_named_after_its_program_and_function() {
        let at = Location::caller();
        let name =
            |thread| test_name(Path::new("/target/debug/deps/editor_tests-0123abcd"), Some(thread), at);
        assert_eq!(name("ui::save"), "editor_tests-ui-save");
        assert_eq!(name("a/../b c"), "editor_tests-a----b-c");
        assert!(name("main").starts_with("terminal_builder-"));
    }

    #[test]
    fn files_stay_in_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        write_below(dir.path(), Path::new("a/b.txt"), b"x").unwrap();
        assert_eq!(fs::read(dir.path().join("a/b.txt")).unwrap(), b"x");
        for bad in ["../x", "/etc/x", "a/../../x"] {
            assert!(write_below(dir.path(), Path::new(bad), b"").is_err(), "{bad}");
        }
    }
}
