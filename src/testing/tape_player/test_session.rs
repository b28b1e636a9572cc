//! The state of a test: its workspace, clock, findings, and terminals.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::known_files::KnownFiles;
use super::step_failure::{StepFailure, StepResult};
use super::tape_findings::TapeFindings;
use super::test_clock::TestClock;
use super::test_clock::duration;
use super::test_terminals::{NamedTerminal, TestTerminals};
use super::test_workspace::TestWorkspace;
use super::{PlayOptions, redactions_of};
use crate::core::tape::{Tape, TapeSettings, TapeSpan, TapeSpeed, TapeTime};
use crate::testing::discovery::TapeFile;
use crate::testing::program_wait::{SettleRules, WaitEnd};
use crate::testing::redaction::TapeRedactions;
use crate::testing::shells;
use crate::testing::stress::SeededChoices;
use crate::testing::test_terminal::{ProgramUnderTest, TestTerminal};

/// How long a shell may take to show its first prompt. Later commands report what is missing.
const FIRST_PROMPT: TapeTime = TapeTime::from_millis(5000);

/// The terminal that commands apply to.
pub(super) type CurrentTerminal<'a> = (&'a mut NamedTerminal, &'a mut TestTerminal);

pub(super) struct TestSession {
    pub settings: TapeSettings,
    /// The redactions of everything that is kept or reported of the test.
    pub redactions: TapeRedactions,
    pub workspace: TestWorkspace,
    pub clock: TestClock,
    pub terminals: TestTerminals,
    pub findings: TapeFindings,
    /// The files that the tape has written or checked.
    pub files: KnownFiles,
    /// Where the tape sets its shell.
    shell_span: Option<TapeSpan>,
}

impl TestSession {
    /// Creates the workspace of a test without a program. `choices`: random numbers under stress.
    pub fn create(
        file: &TapeFile,
        tape: &Tape,
        options: &PlayOptions,
        choices: Option<SeededChoices>,
    ) -> io::Result<Self> {
        let settings = tape.settings.clone();
        let workspace = TestWorkspace::create(&file.path, tape, &options.env)?;
        // A test in Rust may run without it.
        if options.hopty.is_file() {
            workspace.dirs().link_program("hopty", &options.hopty)?;
        }
        let is_fast = settings.speed.unwrap_or(options.speed) == TapeSpeed::Fast;
        let shell = tape.steps.iter().rfind(|step| step.command.is_shell_setting());
        Ok(TestSession {
            redactions: redactions_of(tape, &options.env),
            workspace,
            clock: TestClock::new(tape.deadline(), settings.expect_timeout, is_fast, options.stop.clone()),
            terminals: TestTerminals::new(options.stop.clone(), choices),
            findings: TapeFindings::new(file.path.display().to_string()),
            files: KnownFiles::default(),
            shell_span: shell.map(|step| step.span.clone()),
            settings,
        })
    }

    /// Starts a command, if there is time.
    pub fn begin_command(&mut self, span: &TapeSpan) -> StepResult {
        self.findings.begin_command(span);
        self.clock.begin_command()
    }

    /// The current terminal; starts the tape's shell in it if it has no program yet.
    pub fn terminal(&mut self) -> StepResult<CurrentTerminal<'_>> {
        if self.terminals.current().is_none() {
            self.start_shell()?;
        }
        self.terminals.current().ok_or_else(|| StepFailure::command("no program was started"))
    }

    /// Takes a mark: later changes on the screen are new.
    pub fn take_mark(&mut self) {
        self.files.begin_input(self.findings.place().line);
        if let Some((named, terminal)) = self.terminals.current() {
            named.mark = terminal.take_mark(self.findings.place().line);
        }
    }

    /// Lets time pass, at most to the deadline of the tape, which then fails.
    pub fn pass(&mut self, pause: Duration) -> StepResult {
        let pause = pause.min(self.clock.time_left());
        if !pause.is_zero()
            && let Some((_, terminal)) = self.terminals.current()
        {
            terminal.pass(pause)?;
        }
        self.clock.in_time()
    }

    /// Serves the terminal for a moment, at most until `until`.
    pub fn serve_until(&mut self, until: Instant) -> StepResult {
        const STEP: Duration = Duration::from_millis(5);
        let time = until.saturating_duration_since(Instant::now()).min(STEP);
        match self.terminals.current() {
            Some((_, terminal)) => Ok(terminal.pass(time)?),
            None => self.clock.pass(time),
        }
    }

    /// `Sleep`: in fast mode until the screen has settled, but never longer than given.
    pub fn sleep(&mut self, time: Duration) -> StepResult {
        self.terminal()?;
        if !self.clock.is_fast() {
            return self.pass(time);
        }
        let limit = time.min(self.clock.time_left());
        self.settle_quietly(duration(self.settings.settle).min(time), limit)?;
        self.clock.in_time()
    }

    /// Waits until `holds` is satisfied with the current terminal; its last message is the failure.
    pub fn wait_for_state(
        &mut self,
        limit: Option<TapeTime>,
        goal: &str,
        holds: impl FnMut(&TestTerminal) -> Result<(), String>,
    ) -> StepResult {
        let limit = self.clock.check_limit(limit);
        let (named, terminal) = self.terminal()?;
        Ok(terminal.wait_for_state(&named.mark, limit, goal, holds)?)
    }

    /// Waits until the screen is quiet; never fails by itself.
    pub fn settle_for_picture(&mut self) -> StepResult {
        let limit = self.clock.check_limit(None);
        self.settle_quietly(duration(self.settings.settle), limit)
    }

    fn settle_quietly(&mut self, quiet: Duration, limit: Duration) -> StepResult {
        let rules = SettleRules { quiet, ..SettleRules::default() };
        match self.terminal()?.1.settle(&rules, limit) {
            Err(failure) if failure.end == WaitEnd::Stopped => Err(failure.into()),
            _ => Ok(()),
        }
    }

    fn program(&self, argv: Vec<OsString>) -> ProgramUnderTest {
        let (cols, rows) = self.settings.grid_size();
        let dirs = self.workspace.dirs();
        ProgramUnderTest {
            env: self.workspace.env().to_owned(),
            cwd: dirs.dir().to_owned(),
            cols,
            rows,
            own_dir: Some(dirs.base().to_owned()),
            ends_with_thread: true,
            ..ProgramUnderTest::new(argv)
        }
    }

    /// Starts a program in the current terminal, with further variables.
    pub fn start_program(&mut self, mut argv: Vec<OsString>, env: &[(String, String)]) -> StepResult {
        if self.terminals.current().is_some_and(|(_, terminal)| terminal.end().is_none()) {
            return Err(StepFailure::command("a program runs in this terminal already")
                .hint("`On NAME` before it opens another terminal"));
        }
        // A path is relative to the directory where hopty was started; a name is found in PATH.
        if let Some(first) = argv.first_mut() {
            let path = Path::new(first);
            let is_relative_path = path.is_relative() && path.components().count() > 1;
            if is_relative_path
                && !self.workspace.dirs().dir().join(path).exists()
                && let Ok(whole) = path.canonicalize()
            {
                *first = whole.into();
            }
        }
        let mut program = self.program(argv);
        for (name, value) in env {
            program.env.retain(|(known, _)| known != name.as_str());
            program.env.push((name.into(), value.into()));
        }
        self.terminals.start(&program, self.findings.place().line)
    }

    fn start_shell(&mut self) -> StepResult {
        let name = &self.settings.shell;
        let Some(shell) = shells::shell(name) else {
            let message = format!("{name} is not a shell that tapes know");
            let hint = format!("they know {}", shells::SHELL_NAMES.join(", "));
            let failure = StepFailure::command(message).hint(hint);
            return Err(match &self.shell_span {
                Some(span) => failure.at(span),
                None => failure,
            });
        };
        let program = shell.argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if self.workspace.find_program(&program).is_none() {
            return Err(StepFailure::skip(format!("the shell {program} is not installed")));
        }
        let mut under_test = self.program(shell.argv);
        for (name, value) in shell.env {
            // Values from the tape take precedence.
            if !under_test.env.iter().any(|(known, _)| *known == *name) {
                under_test.env.push((name.into(), value.into()));
            }
        }
        self.terminals.start(&under_test, self.findings.place().line)?;
        let limit = self.clock.limit(None, FIRST_PROMPT);
        let Some((named, terminal)) = self.terminals.current() else { return Ok(()) };
        named.is_shell = true;
        let prompt = if shell.reports_commands {
            terminal.ready(&named.mark, limit).map(|_| ())
        } else {
            terminal.settle(&SettleRules::default(), limit)
        };
        match prompt {
            Err(failure) if failure.end != WaitEnd::TimedOut => Err(failure.into()),
            _ => Ok(()),
        }
    }
}
