//! Plays the commands of one tape, and checks how its programs ended.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use nix::libc;

use super::claude_test::ClaudeTest;
use super::failure_evidence::write_evidence;
use super::inspection::{check_bell, check_cursor, check_mode, check_style, check_title};
use super::pausing::{pause, print_line};
use super::screen_regions::ScreenRegions;
use super::step_failure::{StepFailure, StepResult};
use super::tape_input::TapeInput;
use super::tape_outputs::TapeOutputs;
use super::tape_snapshots::SnapshotUse;
use super::tape_snapshots::TapeSnapshots;
use super::test_clock::duration;
use super::test_files::{copy_file, expect_file, run_outside_terminal, write_file};
use super::test_session::TestSession;
use super::test_terminals::FinishedPrograms;
use super::wait_commands::{TextChecks, check_status, exit, expect_not, ready, settle};
use crate::core::process_change::ProcessEnd;
use crate::core::tape::{
    Tape, TapeCommand, TapeLeftovers, TapeNeed, TapeSpeed, TapeStep, TapeText, WaitRule,
};
use crate::core::text::shell_word::shell_word;
use crate::testing::discovery::TapeFile;
use crate::testing::outcome::{
    FailureKind, ScreenCopy, SnapshotNote, TapeFailure, TapeWarning, TestPlace, TestTimes,
};
use crate::testing::processes::{LeftProcess, end_all_of, end_words};
use crate::testing::snapshot::{ScreenSnapshot, SnapshotParts};
use crate::testing::stress::SeededChoices;
use crate::testing::test_pause::PauseRule;

/// Options for playing tapes, the same for all tapes of a run.
#[derive(Clone, Debug)]
pub struct PlayOptions {
    /// The speed of typing and sleeping, if the tape does not say it.
    pub speed: TapeSpeed,
    /// A `Wait` for old text is a failure, not a warning.
    pub strict: bool,
    /// A missing program of `Require` is a failure, not a reason to skip.
    pub require_all: bool,
    /// Pictures and text outputs go where the tape says; otherwise text goes to the evidence.
    pub render: bool,
    /// Test directories are kept.
    pub keep: bool,
    /// When a test stops for a person.
    pub pause: PauseRule,
    /// Options of `hopty test` that repeat this run.
    pub again: Vec<String>,
    /// Variables of this process that are passed to the tests.
    pub env: Vec<String>,
    /// The directory for evidence, such as `target/hopty`.
    pub evidence: PathBuf,
    pub hopty: PathBuf,
    /// The real Claude, if there is one.
    pub claude: Option<PathBuf>,
    /// What to do with snapshots.
    pub snapshots: SnapshotUse,
    /// Becomes readable to stop all tests.
    pub stop: Option<Arc<OwnedFd>>,
}

/// The outcome of one attempt.
#[derive(Debug)]
pub struct PlayedTape {
    pub end: PlayEnd,
    /// The start in ms since 1970.
    pub started_ms: u64,
    /// How long it took, and what its programs did meanwhile.
    pub times: TestTimes,
    pub warnings: Vec<TapeWarning>,
    pub snapshots: Vec<SnapshotNote>,
    /// The screens that were collected for an update.
    pub collected: Vec<(String, ScreenSnapshot)>,
    pub last_screen: Option<ScreenCopy>,
    /// The test's directory and its home, which are redacted in reports.
    pub dirs: Option<(String, String)>,
}

#[derive(Debug)]
pub enum PlayEnd {
    /// Every command was carried out and every check passed.
    Passed,
    Failed(Box<TapeFailure>),
    /// It was skipped for this reason.
    Skipped(String),
    /// All tests were stopped.
    Stopped,
}

/// Plays one tape once. Afterwards no process of it is left, and no file except its evidence.
pub fn play(
    file: &TapeFile,
    tape: &Tape,
    options: &PlayOptions,
    stress: Option<SeededChoices>,
) -> PlayedTape {
    let started_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |at| at.as_millis());
    let started_ms = u64::try_from(started_ms).unwrap_or(0);
    let began = Instant::now();
    let mut player = match TapePlayer::new(file, tape, options, stress) {
        Ok(player) => player,
        Err(error) => {
            let place = TestPlace { file: file.path.display().to_string(), line: 1, column: 1 };
            let message = format!("cannot make a directory for the test: {error}");
            let failure = TapeFailure::new(FailureKind::Internal, place, "", message);
            return PlayedTape {
                end: PlayEnd::Failed(Box::new(failure)),
                started_ms,
                times: TestTimes::default(),
                warnings: Vec::new(),
                snapshots: Vec::new(),
                collected: Vec::new(),
                last_screen: None,
                dirs: None,
            };
        }
    };
    let (end, last_screen) = player.play_all();
    let TapePlayer { session, snapshots, .. } = player;
    let (snapshots, collected) = snapshots.into_parts();
    let dirs = session.workspace.dirs();
    let dirs = Some((dirs.dir().display().to_string(), dirs.home().display().to_string()));
    let times = TestTimes { took: began.elapsed(), ..session.terminals.times() };
    if options.keep {
        print_line(format_args!(
            "hopty: {}: kept {}",
            file.path.display(),
            session.workspace.keep().display()
        ));
    }
    let warnings = session.findings.into_warnings();
    PlayedTape { end, started_ms, times, warnings, snapshots, collected, last_screen, dirs }
}

/// Signals that indicate a crash.
const CRASH_SIGNALS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGABRT, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGSYS];

/// How many processes that are left a failure names.
const LEFT_NAMED: usize = 5;

/// How long a program of a tape without checks has for its answer to the last command, which may be its end.
const LAST_ANSWER: Duration = Duration::from_secs(1);

struct TapePlayer<'a> {
    file: &'a TapeFile,
    tape: &'a Tape,
    options: &'a PlayOptions,
    session: TestSession,
    input: TapeInput,
    regions: ScreenRegions,
    texts: TextChecks,
    outputs: TapeOutputs,
    snapshots: TapeSnapshots,
    claude: ClaudeTest,
}

impl<'a> TapePlayer<'a> {
    fn new(
        file: &'a TapeFile,
        tape: &'a Tape,
        options: &'a PlayOptions,
        choices: Option<SeededChoices>,
    ) -> std::io::Result<Self> {
        let settings = &tape.settings;
        let is_strict = options.strict || settings.wait == WaitRule::Fresh;
        Ok(TapePlayer {
            file,
            tape,
            options,
            input: TapeInput::new(settings.typing_speed, choices.clone()),
            session: TestSession::create(file, tape, options, choices)?,
            regions: ScreenRegions::default(),
            texts: TextChecks::new(is_strict),
            outputs: TapeOutputs::new(file, &options.evidence, options.render),
            snapshots: TapeSnapshots::new(&file.path, options.snapshots),
            claude: ClaudeTest::new(options.hopty.clone(), options.claude.clone()),
        })
    }

    /// Plays every command and ends every process; returns how it ended and the last screen.
    fn play_all(&mut self) -> (PlayEnd, Option<ScreenCopy>) {
        let tape = self.tape;
        let mut failure = self.prepare().err().map(|failure| (None, failure));
        if failure.is_none() {
            for step in tape.steps.iter().filter(|step| !step.ignored) {
                if let Err(error) = self.step(step) {
                    failure = Some((Some(step), error));
                    break;
                }
            }
        }
        if failure.is_none() {
            failure = self.last_checks().err().map(|failure| (None, failure));
        }
        if let Some((_, error)) = &failure
            && error.is_skip
        {
            let reason = error.message.clone();
            self.session.terminals.finish_all();
            end_all_of(self.session.workspace.dirs().base());
            return (PlayEnd::Skipped(reason), None);
        }
        let last_screen = self.session.terminals.view().map(ScreenCopy::of);
        let mut end = match failure {
            Some((_, error)) if error.is_stop => PlayEnd::Stopped,
            Some((step, error)) => {
                let message = error.message.clone();
                let end = self.failed(step, error);
                let message = self.session.redactions.text(&message);
                self.pause_at_failure(&message);
                end
            }
            None => PlayEnd::Passed,
        };
        let FinishedPrograms { mut left, ended } = self.session.terminals.finish_all();
        left.extend(end_all_of(self.session.workspace.dirs().base()));
        if matches!(end, PlayEnd::Passed)
            && let Some(failure) = self.check_ends(ended)
        {
            end = self.failed(None, failure);
        }
        if matches!(end, PlayEnd::Passed)
            && !left.is_empty()
            && self.session.settings.leftovers == TapeLeftovers::Fail
        {
            end = self.failed(None, leftovers_failure(&left));
        }
        self.outputs.write_all(&mut self.session);
        let last_screen = match &end {
            PlayEnd::Failed(failure) => failure.screen.clone(),
            PlayEnd::Passed => last_screen,
            PlayEnd::Skipped(_) | PlayEnd::Stopped => None,
        };
        (end, last_screen)
    }

    /// Handles programs that ended before the tape without an `Exit`: a crash is a failure, an exit code
    /// other than 0 a warning.
    fn check_ends(&mut self, ended: Vec<(String, ProcessEnd)>) -> Option<Box<StepFailure>> {
        for (command, end) in ended {
            let words = end_words(end);
            match end {
                ProcessEnd::Signaled(signal) if CRASH_SIGNALS.contains(&signal.0) => {
                    let name = words.trim_start_matches("SIG");
                    let message = format!("{command} ended with {words} before the end of the tape");
                    let hint = format!("`Exit {name}` expects this signal");
                    return Some(StepFailure::new(FailureKind::ProgramEnd, message).hint(hint));
                }
                ProcessEnd::Exited(code) if code != 0 => {
                    let message = format!("{command} ended with {words}, which no `Exit` checks");
                    self.session.findings.warn(message);
                }
                _ => {}
            }
        }
        None
    }

    /// Checks the requirements of the tape, and prepares the environment of its programs.
    fn prepare(&mut self) -> StepResult {
        for step in self.tape.steps.iter().filter(|step| !step.ignored) {
            let TapeCommand::Require(program) = &step.command else { continue };
            if self.session.workspace.find_program(program).is_none() {
                let message = format!("{program} is not installed");
                return Err(if self.options.require_all {
                    StepFailure::command(message).at(&step.span)
                } else {
                    StepFailure::skip(message)
                });
            }
        }
        self.session.workspace.set_environment(self.tape)?;
        self.claude.collect_replies(&self.session.workspace, self.tape)
    }

    /// Carries out one command.
    fn step(&mut self, step: &TapeStep) -> StepResult {
        self.session.begin_command(&step.span)?;
        self.command(&step.command).map_err(|failure| self.session.clock.cut_by_deadline(failure))?;
        self.outputs.add_text(&step.command, self.session.terminals.view());
        Ok(())
    }

    fn command(&mut self, command: &TapeCommand) -> StepResult {
        use TapeCommand as C;
        let (session, regions) = (&mut self.session, &self.regions);
        match command {
            C::TypingSpeed(speed) => {
                self.input.set_typing_speed(*speed);
                Ok(())
            }
            C::Set(_) | C::Env { .. } | C::Require(_) | C::Model(_) => Ok(()),
            C::Output(path) => self.outputs.begin(session, path),
            C::Type { text, speed } => self.input.type_text(session, text, *speed),
            C::Key(press) => self.input.press_keys(session, press),
            C::Scroll { up, rows, speed } => self.input.scroll(session, *up, *rows, *speed),
            C::Sleep(time) => session.sleep(duration(*time)),
            C::Wait { scope, limit, pattern } => self.texts.wait(session, *scope, *limit, pattern.as_ref()),
            C::Hide => {
                self.outputs.hide(session.terminals.age());
                Ok(())
            }
            C::Show => {
                self.outputs.show(session.terminals.age());
                Ok(())
            }
            C::Screenshot(path) => self.outputs.screenshot(session, path),
            C::Copy(text) => self.input.copy(&session.workspace, text),
            C::PasteClipboard => self.input.type_clipboard(session),
            C::Start(words) => {
                let argv = session.workspace.words(words)?;
                session.start_program(argv, &[])
            }
            C::StartShell(line) => {
                let line = session.workspace.text(line)?;
                session.start_program(vec!["sh".into(), "-c".into(), line.into()], &[])
            }
            C::Run(line) => run_outside_terminal(session, line),
            C::File { path, content } => write_file(session, path, content),
            C::CopyFile { from, to } => copy_file(session, from, to.as_ref()),
            C::On(name) => {
                session.terminals.switch_to(name);
                Ok(())
            }
            C::Attach(name) => session.start_program(vec!["hopty".into(), "attach".into(), name.into()], &[]),
            C::Detach => self.input.detach(session),
            C::Click(click) => self.input.click(session, click),
            C::Drag { from, to, button } => self.input.drag(session, from, to, *button),
            C::Wheel { direction, notches, at } => {
                self.input.wheel(session, *direction, *notches, at.as_ref())
            }
            C::Hover(place) => self.input.hover(session, place),
            C::Paste(text) => self.input.paste(session, text),
            C::Focus(is_in) => self.input.focus(session, *is_in),
            C::Resize { cols, rows } => self.input.resize(session, *cols, *rows),
            C::Signal(signal) => self.input.signal(session, signal),
            C::Raw(text) => self.input.send_raw(session, text),
            C::Expect(expect) => self.texts.expect(session, regions, expect),
            C::ExpectNot(expect) => expect_not(session, regions, expect),
            C::Gone(expect) => self.texts.gone(session, regions, expect),
            C::Settle { limit, quiet, except } => settle(session, regions, *limit, *quiet, except),
            C::Ready { limit } => ready(session, *limit),
            C::Exit { limit, end } => exit(session, *limit, end),
            C::Status(status) => check_status(session, *status),
            C::Snapshot { name, region, style, cursor, history } => {
                let parts = SnapshotParts { cursor: *cursor, styles: *style };
                self.snapshots.take(session, regions, name, region.as_ref(), *history, parts)
            }
            C::Style(style) => check_style(session, regions, style),
            C::Cursor { limit, position, shape, visible } => {
                check_cursor(session, *limit, *position, *shape, *visible)
            }
            C::Title { limit, pattern } => check_title(session, *limit, pattern),
            C::Bell { limit, times } => check_bell(session, *limit, *times),
            C::Mode { limit, private, number, on } => check_mode(session, *limit, *private, *number, *on),
            C::Region { name, shape } => {
                self.regions.name(name, shape);
                Ok(())
            }
            C::ExpectFile { limit, path, absent, pattern } => {
                expect_file(session, *limit, path, *absent, pattern)
            }
            C::Claude { stand_in, hopty, arguments } => {
                self.claude.start(session, arguments, *stand_in, *hopty)
            }
            C::Plugin(dir) => self.claude.add_plugin(&session.workspace, dir),
            C::ExpectRequest { limit, number, pattern } => {
                self.claude.expect_request(session, *limit, *number, pattern)
            }
            C::ExpectHook(hook) => self.claude.expect_hook(session, hook),
            C::ExpectState { limit, state } => self.claude.expect_state(session, *limit, *state),
            C::ExpectStatusline { limit, pattern } => {
                self.claude.expect_status_line(session, *limit, pattern)
            }
            C::Mark(text) => {
                let text = session.workspace.text(text)?;
                session.terminals.mark(&text);
                Ok(())
            }
            C::Caption(text) => {
                let text = session.workspace.text(text)?;
                session.terminals.mark(&format!("caption: {text}"));
                Ok(())
            }
            C::State(path) => self.outputs.write_state(session, path),
            C::Pause if self.options.pause == PauseRule::Never => {
                session
                    .findings
                    .warn("`Pause` was skipped: nobody is at the terminal; `--pause` stops anyway");
                Ok(())
            }
            C::Pause => {
                session.terminal()?;
                self.pause("paused")
            }
        }
    }

    /// The checks after all commands.
    fn last_checks(&mut self) -> StepResult {
        self.claude.check_replies()?;
        // A shell that was typed into ends with the status of its last command.
        if self.tape.has_checks() || self.session.terminals.current().is_none_or(|(named, _)| named.is_shell)
        {
            return Ok(());
        }
        if let Some((_, terminal)) = self.session.terminals.current() {
            terminal.let_answer(LAST_ANSWER)?;
        }
        if let Some((_, terminal)) = self.session.terminals.current()
            && let Some(end) = terminal.end()
            && end.code() != 0
        {
            let message = format!("the program ended {} before the end of the tape", end.words());
            return Err(StepFailure::new(FailureKind::ProgramEnd, message));
        }
        Ok(())
    }

    /// Creates the failure for reports.
    fn failed(&mut self, step: Option<&TapeStep>, error: Box<StepFailure>) -> PlayEnd {
        let place = error.place.unwrap_or_else(|| self.session.findings.place().clone());
        // At the end of the tape that is its last command.
        let is_there = |step: &&TapeStep| (&*step.span.file, step.span.line) == (&*place.file, place.line);
        let step = step.or_else(|| self.tape.steps.iter().rfind(is_there));
        let command = step.map(|step| step.command.to_string()).unwrap_or_default();
        let mut failure = TapeFailure::new(error.kind, place, command, error.message);
        failure.times = error.times;
        failure.row_notes = error.row_notes;
        failure.comparison = error.comparison;
        failure.keys = self.input.keys().to_owned();
        failure.screen = self.session.terminals.screen_copy();
        failure.hint = error.hint.or_else(|| unexpanded_pattern(self.tape, failure.screen.as_ref()?));
        failure.program = self.session.terminals.program_words();
        failure.again = Some(self.again());
        let requests = self.claude.requests();
        failure.evidence =
            write_evidence(self.file, self.tape, &mut self.session, &self.outputs, &failure, requests);
        PlayEnd::Failed(Box::new(failure))
    }

    fn pause(&mut self, what: &str) -> StepResult {
        let title = self.file.path.file_stem().unwrap_or_default().to_string_lossy();
        pause(&mut self.session, &mut self.input, &self.options.hopty, &title, what)
    }

    /// The pause of `--pause`, after the evidence has been written.
    fn pause_at_failure(&mut self, message: &str) {
        if self.options.pause != PauseRule::AtFailure || self.session.terminals.current().is_none() {
            return;
        }
        let what = format!("failed: {}", message.lines().next().unwrap_or_default());
        if let Err(failure) = self.pause(&what)
            && !failure.is_stop
        {
            self.session.findings.warn(failure.message);
        }
    }

    fn again(&self) -> String {
        let words = self.options.again.iter().map(|word| shell_word(word));
        let file = shell_word(&self.file.path.display().to_string());
        let words: Vec<String> = words.chain([file]).collect();
        format!("hopty test {}", words.join(" "))
    }
}

pub fn wants_to_be_alone(tape: &Tape) -> bool {
    tape.settings.needs.iter().any(|need| matches!(need, TapeNeed::Core | TapeNeed::Net))
}

fn leftovers_failure(left: &[LeftProcess]) -> Box<StepFailure> {
    let named = left.iter().take(LEFT_NAMED);
    let mut names: Vec<String> =
        named.map(|process| format!("{} (pid {})", process.command, process.pid)).collect();
    if left.len() > LEFT_NAMED {
        names.push(format!("and {} more", left.len() - LEFT_NAMED));
    }
    let noun = if left.len() == 1 { "a process is" } else { "processes are" };
    StepFailure::new(
        FailureKind::Leftovers,
        format!("{noun} left after the end of the tape: {}", names.join(", ")),
    )
    .hint("`Set Leftovers allow` at the top of the tape ends them without a failure")
}

/// That no shell has expanded an argument of `Start` with a `*`, where the program shows it as it is.
fn unexpanded_pattern(tape: &Tape, screen: &ScreenCopy) -> Option<String> {
    let rows = screen.text_rows();
    let starts = tape.steps.iter().filter_map(|step| match &step.command {
        TapeCommand::Start(words) => Some(words),
        _ => None,
    });
    let mut words = starts.flatten().map(TapeText::as_str);
    let word = words.find(|word| word.contains('*') && rows.iter().any(|row| row.contains(word)))?;
    Some(format!("`Start` runs no shell, which would expand {word}: write Start+Shell \"…\""))
}

#[cfg(test)]
#[path = "play_tape_tests.rs"]
mod tests;
