//! What plays a tape: the commands in order, each against the program in its terminal.
//!
//! | file | what |
//! |---|---|
//! | `test_workspace` | its directories and variables |
//! | `tape_findings` | warnings, and when each command began |
//! | `test_clock` | the deadline, and how long a wait may last |
//! | `test_terminals` | the terminals of a test, and how programs are started in them |
//! | `input_commands` | commands that are input: text, keys, mouse, paste, resize, signals |
//! | `wait_commands` | `Wait`, `Expect` and its kin, `Settle`, `Ready`, `Exit` |
//! | `inspection` | what is checked on a screen: style, cursor, title, modes, regions |
//! | `test_files` | files of the test, commands on the side, and what a tape writes |
//! | `tape_snapshots` | `Snapshot` |
//! | `pausing` | `Pause`, and the pause at a failure |
//! | `claude_test` | Claude Code with a scripted model, and what its hooks did |
//! | `step_failure` | why a command failed |
//! | `recorded_output` | `Output` to a recording, an animation or a page |
//! | `failure_evidence` | the files that tell why a tape failed |

mod claude_test;
mod failure_evidence;
mod input_commands;
mod inspection;
mod pausing;
mod recorded_output;
mod step_failure;
mod tape_findings;
mod tape_snapshots;
mod test_clock;
mod test_files;
mod test_terminals;
mod test_workspace;
mod wait_commands;

pub use tape_snapshots::{SnapshotUse, redactions_of};
pub(crate) use test_files::copy_tree;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::libc;

use self::claude_test::ClaudeTest;
use self::recorded_output::HiddenTimes;
use self::step_failure::{StepFailure, StepResult};
use self::tape_findings::TapeFindings;
use self::test_clock::TestClock;
use self::test_terminals::{FinishedPrograms, TestSession};
use self::test_workspace::TestWorkspace;
use super::discovery::TapeFile;
use super::outcome::{FailureKind, ScreenCopy, SnapshotNote, TapeFailure, TapeWarning, TestPlace, TestTimes};
use super::processes::{end_all_of, end_words};
use super::snapshot::{ScreenSnapshot, SnapshotStore};
use super::stress::SeededChoices;
use super::test_pause::PauseRule;
use crate::core::process_change::ProcessEnd;
use crate::core::shell_word::shell_word;
use crate::core::tape::{
    RegionShape, Tape, TapeCommand, TapeLeftovers, TapeNeed, TapePattern, TapeSettings, TapeSpeed, TapeStep,
    TapeTime,
};

/// How tapes are played, the same for all of one run.
#[derive(Clone, Debug)]
pub struct PlayOptions {
    /// Type and sleep as the tape says, where it does not say itself.
    pub speed: TapeSpeed,
    /// A `Wait` for what stood there before is a failure and not a warning.
    pub strict: bool,
    /// A missing program of `Require` is a failure and not a reason to skip.
    pub require_all: bool,
    /// Pictures and text outputs are written where the tape says; else text goes to the evidence.
    pub render: bool,
    /// Test directories stay.
    pub keep: bool,
    /// When a test stops for a person.
    pub pause: PauseRule,
    /// Options of `hopty test` that play it again as it is played now.
    pub again: Vec<String>,
    /// Variables of this process that the tests get.
    pub env: Vec<String>,
    /// The directory of all evidence, such as `target/hopty`.
    pub evidence: PathBuf,
    /// hopty's own program.
    pub hopty: PathBuf,
    /// The real Claude, if there is one.
    pub claude: Option<PathBuf>,
    /// What snapshots are for.
    pub snapshots: SnapshotUse,
    /// Becomes readable when all tests are to stop.
    pub stop: Option<Arc<OwnedFd>>,
}

/// What came of one attempt.
#[derive(Debug)]
pub struct PlayedTape {
    pub end: PlayEnd,
    /// When it began, in ms since 1970.
    pub started_ms: u64,
    /// How long it took, and what its programs did meanwhile.
    pub times: TestTimes,
    /// What the author should look at.
    pub warnings: Vec<TapeWarning>,
    /// The snapshots that it took.
    pub snapshots: Vec<SnapshotNote>,
    /// Those that were collected for an update.
    pub collected: Vec<(String, ScreenSnapshot)>,
    pub last_screen: Option<ScreenCopy>,
    /// The test's directory and its home, which mean nothing to a reader of reports.
    pub dirs: Option<(String, String)>,
}

/// How an attempt ended.
#[derive(Debug)]
pub enum PlayEnd {
    /// Every command was carried out and every check held.
    Passed,
    Failed(Box<TapeFailure>),
    /// It cannot be played here, for this reason.
    Skipped(String),
    /// All tests were stopped.
    Stopped,
}

/// Plays one tape once. Afterwards no process of it is left, and no file but its evidence.
#[must_use]
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
    let TapePlayer { workspace, session, findings, snapshots, collected, .. } = player;
    let dirs = workspace.dirs();
    let dirs = Some((dirs.dir().display().to_string(), dirs.home().display().to_string()));
    let times = TestTimes { took: began.elapsed(), ..session.times() };
    if options.keep {
        tell(format_args!("hopty: {}: kept {}", file.path.display(), workspace.keep().display()));
    }
    let warnings = findings.into_warnings();
    PlayedTape { end, started_ms, times, warnings, snapshots, collected, last_screen, dirs }
}

/// A line for the person at the terminal, at once. Where nobody reads it nothing fails.
fn tell(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Signals that end a program which has a fault.
const CRASH_SIGNALS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGABRT, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGSYS];

/// A tape while it is played.
struct TapePlayer<'a> {
    file: &'a TapeFile,
    tape: &'a Tape,
    options: &'a PlayOptions,
    settings: TapeSettings,
    clock: TestClock,
    typing_speed: Duration,
    workspace: TestWorkspace,
    session: TestSession,
    choices: Option<SeededChoices>,
    regions: BTreeMap<String, RegionShape>,
    clipboard: String,
    /// The same as keys for the report.
    clipboard_keys: Vec<String>,
    /// What `Expect` and `Wait` have found.
    expected: Vec<TapePattern>,
    /// When a key was sent that may be the begin of something, where nothing was sent since, and the pause
    /// that it needs.
    chord_sent: Option<(Instant, Duration)>,
    is_hidden: bool,
    /// The text of each `Output`, as far as it is written.
    outputs: BTreeMap<String, String>,
    /// The paths of each `Output` that is made of the recording.
    recorded_outputs: Vec<String>,
    hidden: HiddenTimes,
    warned_of_theme: bool,
    /// Files that the tape made beside its evidence.
    made: Vec<PathBuf>,
    claude: ClaudeTest,
    keys: Vec<String>,
    findings: TapeFindings,
    snapshots: Vec<SnapshotNote>,
    store: Option<SnapshotStore>,
    collected: Vec<(String, ScreenSnapshot)>,
}

impl<'a> TapePlayer<'a> {
    fn new(
        file: &'a TapeFile,
        tape: &'a Tape,
        options: &'a PlayOptions,
        choices: Option<SeededChoices>,
    ) -> std::io::Result<Self> {
        let settings = tape.settings();
        let workspace = TestWorkspace::create(&file.path, tape, &options.env)?;
        workspace.dirs().link_program("hopty", &options.hopty)?;
        let speed = settings.speed.unwrap_or(options.speed);
        Ok(TapePlayer {
            file,
            tape,
            options,
            clock: TestClock::new(
                tape.deadline(),
                settings.expect_timeout,
                speed == TapeSpeed::Fast,
                options.stop.clone(),
            ),
            typing_speed: duration(settings.typing_speed),
            session: TestSession::new(options.stop.clone(), choices.clone()),
            settings,
            workspace,
            choices,
            regions: BTreeMap::new(),
            clipboard: String::new(),
            clipboard_keys: Vec::new(),
            expected: Vec::new(),
            chord_sent: None,
            is_hidden: false,
            outputs: BTreeMap::new(),
            recorded_outputs: Vec::new(),
            hidden: HiddenTimes::default(),
            warned_of_theme: false,
            made: Vec::new(),
            claude: ClaudeTest::default(),
            keys: Vec::new(),
            findings: TapeFindings::new(file.path.display().to_string()),
            snapshots: Vec::new(),
            store: None,
            collected: Vec::new(),
        })
    }

    /// Plays every command, ends every process, and returns how it ended and the last screen.
    fn play_all(&mut self) -> (PlayEnd, Option<ScreenCopy>) {
        let tape = self.tape;
        let mut failure = self.prepare().err().map(|failure| (None, failure));
        if failure.is_none() {
            for step in tape.steps.iter().filter(|step| !step.ignored) {
                self.findings.begin_command(&step.span);
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
            self.session.finish_all();
            end_all_of(self.workspace.dirs().base());
            return (PlayEnd::Skipped(reason), None);
        }
        let last_screen = self.session.view().map(ScreenCopy::of);
        let mut end = match failure {
            Some((_, error)) if error.is_stop => PlayEnd::Stopped,
            Some((step, error)) => {
                let message = error.message.clone();
                let end = self.failed(step, *error);
                let message = redactions_of(self.tape, &self.options.env).text(&message);
                self.pause_at_failure(&message);
                end
            }
            None => PlayEnd::Passed,
        };
        let FinishedPrograms { mut left, ended } = self.session.finish_all();
        left.extend(end_all_of(self.workspace.dirs().base()));
        if matches!(end, PlayEnd::Passed)
            && let Some(failure) = self.look_at_ends(ended)
        {
            end = self.failed(None, failure);
        }
        if matches!(end, PlayEnd::Passed)
            && !left.is_empty()
            && self.settings.leftovers == TapeLeftovers::Fail
        {
            let names: Vec<String> =
                left.iter().map(|process| format!("{} (pid {})", process.command, process.pid)).collect();
            let noun = if names.len() == 1 { "a process is" } else { "processes are" };
            let failure = StepFailure::new(
                FailureKind::Leftovers,
                format!("{noun} left after the end of the tape: {}", names.join(", ")),
            )
            .hint("`Set Leftovers allow` at the top of the tape ends them without a failure");
            end = self.failed(None, failure);
        }
        self.write_outputs();
        self.write_recorded_outputs();
        let last_screen = match &end {
            PlayEnd::Failed(failure) => failure.screen.clone(),
            PlayEnd::Passed => last_screen,
            PlayEnd::Skipped(_) | PlayEnd::Stopped => None,
        };
        (end, last_screen)
    }

    /// Programs that ended before the tape did, and whose end no `Exit` has checked: a crash is a failure, an
    /// exit code other than 0 a warning.
    fn look_at_ends(&mut self, ended: Vec<(String, ProcessEnd)>) -> Option<StepFailure> {
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
                    self.findings.warn(message);
                }
                _ => {}
            }
        }
        None
    }

    /// Looks for what the tape needs of this machine, and makes what its programs need.
    fn prepare(&mut self) -> StepResult {
        for step in self.tape.steps.iter().filter(|step| !step.ignored) {
            let TapeCommand::Require(program) = &step.command else { continue };
            if self.workspace.find_program(program).is_none() {
                let message = format!("{program} is not installed");
                return Err(if self.options.require_all {
                    StepFailure::command(message).at(&step.span)
                } else {
                    StepFailure::skip(message)
                });
            }
        }
        self.workspace.set_environment(self.tape)?;
        self.collect_model_script()
    }

    /// Carries out one command.
    fn step(&mut self, step: &TapeStep) -> StepResult {
        self.clock.begin_command()?;
        self.command(&step.command).map_err(|failure| self.clock.cut_by_deadline(failure))?;
        self.add_text_output(&step.command);
        Ok(())
    }

    fn command(&mut self, command: &TapeCommand) -> StepResult {
        use TapeCommand as C;
        match command {
            C::Set(setting) => {
                if let crate::core::tape::TapeSetting::TypingSpeed(speed) = setting {
                    self.typing_speed = duration(*speed);
                }
                Ok(())
            }
            C::Env { .. } | C::Require(_) | C::Model(_) => Ok(()),
            C::Output(path) => self.begin_output(path),
            C::Type { text, speed } => self.type_text(text, *speed),
            C::Key(press) => self.press_keys(press),
            C::Scroll { up, rows, speed } => self.scroll(*up, *rows, *speed),
            C::Sleep(time) => self.sleep(duration(*time)),
            C::Wait { scope, limit, pattern } => self.wait(*scope, *limit, pattern.as_ref()),
            C::Hide => self.hide(true),
            C::Show => self.hide(false),
            C::Screenshot(path) => self.screenshot(path),
            C::Copy(text) => self.copy(text),
            C::PasteClipboard => self.type_clipboard(),
            C::Start(words) => self.start(words),
            C::StartShell(line) => self.start_line(line),
            C::Run(line) => self.run_aside(line),
            C::File { path, content } => self.write_file(path, content),
            C::CopyFile { from, to } => self.copy_file(from, to.as_ref()),
            C::On(name) => self.switch_to(name),
            C::Attach(name) => self.attach(name),
            C::Detach => self.detach(),
            C::Click(click) => self.click(click),
            C::Drag { from, to, button } => self.drag(from, to, *button),
            C::Wheel { direction, notches, at } => self.wheel(*direction, *notches, at.as_ref()),
            C::Hover(place) => self.hover(place),
            C::Paste(text) => self.paste(text),
            C::Focus(is_in) => self.focus(*is_in),
            C::Resize { cols, rows } => self.resize(*cols, *rows),
            C::Signal(signal) => self.signal(signal),
            C::Raw(text) => self.send_raw(text),
            C::Expect(expect) => self.expect(expect),
            C::ExpectNot(expect) => self.expect_not(expect),
            C::Gone(expect) => self.gone(expect),
            C::Settle { limit, quiet, except } => self.settle(*limit, *quiet, except),
            C::Ready { limit } => self.ready(*limit),
            C::Exit { limit, end } => self.exit(*limit, end),
            C::Status(status) => self.check_status(*status),
            C::Snapshot { name, region, style, cursor, history } => {
                self.snapshot(name, region.as_ref(), *style, *cursor, *history)
            }
            C::Style(style) => self.check_style(style),
            C::Cursor { limit, position, shape, visible } => {
                self.check_cursor(*limit, *position, *shape, *visible)
            }
            C::Title { limit, pattern } => self.check_title(*limit, pattern),
            C::Bell { limit, times } => self.check_bell(*limit, *times),
            C::Mode { limit, private, number, on } => self.check_mode(*limit, *private, *number, *on),
            C::Region { name, shape } => {
                self.regions.insert(name.clone(), shape.clone());
                Ok(())
            }
            C::ExpectFile { limit, path, absent, pattern } => {
                self.expect_file(*limit, path, *absent, pattern)
            }
            C::Claude(words) => self.start_claude(words, false),
            C::ClaudeStandIn(words) => self.start_claude(words, true),
            C::Plugin(dir) => self.add_plugin(dir),
            C::ExpectRequest { limit, number, pattern } => self.expect_request(*limit, *number, pattern),
            C::ExpectHook(hook) => self.expect_hook(hook),
            C::ExpectState { limit, state } => self.expect_state(*limit, *state),
            C::ExpectStatusline { limit, pattern } => self.expect_status_line(*limit, pattern),
            C::Mark(text) => {
                let text = self.workspace.text(text)?;
                self.session.mark(&text);
                Ok(())
            }
            C::Caption(text) => {
                let text = self.workspace.text(text)?;
                self.session.mark(&format!("caption: {text}"));
                Ok(())
            }
            C::State(path) => self.write_state(path),
            C::Pause => self.pause_here(),
        }
    }

    /// What is looked at when all commands are done.
    fn last_checks(&mut self) -> StepResult {
        self.check_model_script()?;
        if !self.tape.has_checks()
            && let Some((named, terminal)) = self.session.current()
            // A shell that is typed into ends with the status of the last command.
            && !named.is_shell
            && let Some(end) = terminal.end()
            && end.code() != 0
        {
            return Err(Box::new(StepFailure::new(
                FailureKind::ProgramEnd,
                format!("the program ended {} before the end of the tape", end.words()),
            )));
        }
        Ok(())
    }

    /// Makes the failure that reports show.
    fn failed(&mut self, step: Option<&TapeStep>, error: StepFailure) -> PlayEnd {
        let place = error.place.unwrap_or_else(|| self.findings.place().clone());
        let command = step.map(|step| step.command.to_string()).unwrap_or_default();
        let mut failure = TapeFailure::new(error.kind, place, command, error.message);
        failure.nearest = error.nearest;
        failure.hint = error.hint;
        failure.times = error.times;
        failure.row_notes = error.row_notes;
        failure.comparison = error.comparison;
        failure.keys.clone_from(&self.keys);
        failure.screen = self.session.screen_copy();
        failure.program = self.session.program_words();
        failure.again = Some(self.again());
        failure.evidence = self.write_evidence(&failure);
        PlayEnd::Failed(Box::new(failure))
    }

    fn again(&self) -> String {
        let words = self.options.again.iter().map(|word| shell_word(word));
        let file = shell_word(&self.file.path.display().to_string());
        let words: Vec<String> = words.chain([file]).collect();
        format!("hopty test {}", words.join(" "))
    }

}

#[must_use]
pub fn wants_to_be_alone(tape: &Tape) -> bool {
    tape.settings().needs.iter().any(|need| matches!(need, TapeNeed::Core | TapeNeed::Net))
}

fn duration(time: TapeTime) -> Duration {
    Duration::from_nanos(time.as_nanos())
}

#[cfg(test)]
mod tests;