//! The terminals of a test. One is the current one; the others are served beside it.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::signal::{Signal as UnixSignal, kill};
use nix::unistd::Pid;

use super::TapePlayer;
use super::step_failure::{StepFailure, StepResult};
use crate::core::cast::{CastEvent, CastEventKind};
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::tape::{TapeCommand, TapeSetting, TapeText, TapeTime};
use crate::screen::Screen;
use crate::sys::process::catches;
use crate::testing::fresh_text_watch::TestMark;
use crate::testing::outcome::{FailureKind, ScreenCopy, TestTimes};
use crate::testing::processes::{LeftProcess, end_words};
use crate::testing::program_wait::{SettleRules, WaitEnd};
use crate::testing::shells;
use crate::testing::stress::SeededChoices;
use crate::testing::test_terminal::{ProgramUnderTest, TapEvent, TestTerminal};

/// Bytes of a recording that are kept of each terminal: the last ones, behind a picture of what was there
/// before them. A trace page with more is one that no browser opens.
const RECORDING_MAX: usize = 4 << 20;
/// The name of the first terminal.
pub(super) const FIRST: &str = "main";
/// How long a program may take to read a key, and how often that is looked at.
const READ_LIMIT: Duration = Duration::from_secs(1);
const READ_LOOK: Duration = Duration::from_millis(2);
/// How long a shell may take to show its first prompt. The commands that follow say what is missing.
const FIRST_PROMPT: TapeTime = TapeTime::from_millis(5000);

/// What passed between a terminal and its program.
#[derive(Debug)]
pub(super) struct TapeRecording {
    size: (u16, u16),
    events: VecDeque<CastEvent>,
    bytes: usize,
    /// The screen before the first of `events`, once earlier ones were dropped.
    before: Option<Box<Screen>>,
}

/// How much of the limit an event takes.
fn recorded_bytes(kind: &CastEventKind) -> usize {
    match kind {
        CastEventKind::Output(bytes) | CastEventKind::Input(bytes) => bytes.len().max(16),
        _ => 16,
    }
}

impl TapeRecording {
    fn new(size: (u16, u16)) -> Self {
        TapeRecording { size, events: VecDeque::new(), bytes: 0, before: None }
    }

    fn push(&mut self, at: Duration, kind: CastEventKind) {
        let length = recorded_bytes(&kind);
        self.bytes += length;
        let at_us = u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
        self.events.push_back(CastEvent { at_us, kind });
        while self.bytes > RECORDING_MAX {
            let Some(event) = self.events.pop_front() else { return };
            self.bytes -= recorded_bytes(&event.kind);
            let before = self.before.get_or_insert_with(|| Box::new(Screen::new(self.size.0, self.size.1)));
            match event.kind {
                CastEventKind::Output(bytes) => before.feed(&bytes),
                CastEventKind::Resize { cols, rows } => before.resize(cols, rows),
                _ => {}
            }
        }
    }

    /// What is kept of it. Where earlier events are not, it begins with a picture and a marker that says so.
    pub fn events(&self) -> Vec<CastEvent> {
        let at_us = self.events.front().map_or(0, |event| event.at_us);
        let first = |kind| CastEvent { at_us, kind };
        let mut events = Vec::new();
        if let Some(before) = &self.before {
            let (cols, rows) = before.size();
            if (cols, rows) != self.size {
                events.push(first(CastEventKind::Resize { cols, rows }));
            }
            events.push(first(CastEventKind::Output(before.dump().screen)));
            events.push(first(CastEventKind::Marker("what came before is not kept".to_owned())));
        }
        events.extend(self.events.iter().cloned());
        events
    }
}

/// A terminal by its name.
pub(super) struct NamedTerminal {
    pub name: String,
    pub command: String,
    /// The size at the start: columns, rows.
    pub size: (u16, u16),
    pub recording: Arc<Mutex<TapeRecording>>,
    /// What changed later is new to `Expect`.
    pub mark: TestMark,
    /// An `Exit` has seen how the program ended.
    pub is_end_checked: bool,
    /// It is the shell of the tape, into which commands are typed.
    pub is_shell: bool,
    /// The exit status of the command that `Ready` waited for, until the next input.
    pub status: Option<i32>,
}

/// What became of the programs of a test when it was over.
#[derive(Debug, Default)]
pub(super) struct FinishedPrograms {
    /// Processes that were left.
    pub left: Vec<LeftProcess>,
    /// Commands that had ended before, unchecked, and how.
    pub ended: Vec<(String, ProcessEnd)>,
}

impl NamedTerminal {
    pub fn recording(&self) -> MutexGuard<'_, TapeRecording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct TestSession {
    stop: Option<Arc<OwnedFd>>,
    choices: Option<SeededChoices>,
    /// The name of the terminal that commands are for.
    current_name: String,
    /// The current terminal, once a program was started in it.
    current: Option<(NamedTerminal, TestTerminal)>,
    /// The others, which are in the current one's care while there is one.
    beside: Vec<NamedTerminal>,
    /// Those in nobody's care: the current terminal has no program yet.
    waiting: Vec<TestTerminal>,
    ended: TestTimes,
}

impl TestSession {
    pub fn new(stop: Option<Arc<OwnedFd>>, choices: Option<SeededChoices>) -> Self {
        TestSession {
            stop,
            choices,
            current_name: FIRST.to_owned(),
            current: None,
            beside: Vec::new(),
            waiting: Vec::new(),
            ended: TestTimes::default(),
        }
    }

    /// Starts a program in the current terminal, which must have none that runs.
    pub fn start(&mut self, program: &ProgramUnderTest, line: u32) -> StepResult {
        if let Some((_, mut ended)) = self.current.take() {
            self.waiting = ended.take_beside();
            let end = ended.finish();
            if let Some(left) = end.left.first() {
                let message = format!("{} (pid {}) is left of the program before", left.command, left.pid);
                return Err(Box::new(StepFailure::new(FailureKind::Leftovers, message)));
            }
        }
        let mut terminal = TestTerminal::start(program)?;
        let recording = Arc::new(Mutex::new(TapeRecording::new((program.cols, program.rows))));
        let tap = Arc::clone(&recording);
        terminal.set_tap(Box::new(move |at, event| {
            let kind = match event {
                TapEvent::Output(bytes) => CastEventKind::Output(bytes.to_vec()),
                TapEvent::Input { secret: true, .. } => CastEventKind::Input("•".into()),
                TapEvent::Input { bytes, .. } => CastEventKind::Input(bytes.to_vec()),
                TapEvent::Resize { cols, rows } => CastEventKind::Resize { cols, rows },
                TapEvent::End(end) => CastEventKind::Exit(end.code().into()),
            };
            tap.lock().unwrap_or_else(PoisonError::into_inner).push(at, kind);
        }));
        if let Some(stop) = &self.stop {
            terminal.stop_on(Arc::clone(stop));
        }
        if let Some(choices) = &mut self.choices {
            let (mut own, pid) = (SeededChoices::new(choices.number()), terminal.pid());
            let mut next_stop = Instant::now();
            terminal.cut_reads(Box::new(move || {
                let stop = own.stop().filter(|_| Instant::now() >= next_stop);
                if let Some(time) = stop {
                    stop_for(pid, time);
                    // A program that writes without end would else be stopped most of the time.
                    next_stop = Instant::now() + time * STOPS_SHARE;
                }
                own.read_length()
            }));
        }
        let mark = terminal.start_mark(line);
        terminal.put_beside(std::mem::take(&mut self.waiting));
        let words: Vec<String> =
            program.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let named = NamedTerminal {
            name: self.current_name.clone(),
            command: words.join(" "),
            size: (program.cols, program.rows),
            recording,
            mark,
            is_end_checked: false,
            is_shell: false,
            status: None,
        };
        self.current = Some((named, terminal));
        Ok(())
    }

    /// Makes another terminal the current one; a new one if none has this name.
    pub fn switch_to(&mut self, name: &str) {
        if self.current_name == name {
            return;
        }
        if let Some((named, mut terminal)) = self.current.take() {
            self.waiting = terminal.take_beside();
            self.beside.push(named);
            self.waiting.push(terminal);
        }
        name.clone_into(&mut self.current_name);
        if let Some(at) = self.beside.iter().position(|named| named.name == name) {
            let named = self.beside.remove(at);
            let mut terminal = self.waiting.remove(at);
            terminal.put_beside(std::mem::take(&mut self.waiting));
            self.current = Some((named, terminal));
        }
    }

    pub fn current(&mut self) -> Option<(&mut NamedTerminal, &mut TestTerminal)> {
        self.current.as_mut().map(|(named, terminal)| (named, terminal))
    }

    /// All terminals' recordings, the current one first.
    pub fn named(&self) -> impl Iterator<Item = &NamedTerminal> {
        self.current.iter().map(|(named, _)| named).chain(&self.beside)
    }

    pub fn current_end(&self) -> Option<ProcessEnd> {
        self.current.as_ref().and_then(|(_, terminal)| terminal.end())
    }

    /// When the current program was started.
    pub fn started(&self) -> Option<Instant> {
        self.current.as_ref().map(|(_, terminal)| terminal.started())
    }

    pub fn screen(&self) -> Option<&Screen> {
        self.current.as_ref().map(|(_, terminal)| terminal.screen())
    }

    /// What the viewport shows.
    pub fn view(&self) -> Option<&Screen> {
        self.current.as_ref().map(|(_, terminal)| terminal.view())
    }

    /// What the viewport shows, with the rows that changed since the last input.
    pub fn screen_copy(&mut self) -> Option<ScreenCopy> {
        let (named, terminal) = self.current.as_mut()?;
        terminal.pump_now();
        let mut copy = ScreenCopy::of(terminal.view());
        copy.changed = terminal.watch().new_rows(&named.mark).iter().map(|row| row + 1).collect();
        Some(copy)
    }

    /// What the program's processes are doing, or how it ended.
    pub fn program_words(&mut self) -> Vec<String> {
        let Some((named, terminal)) = self.current.as_mut() else { return Vec::new() };
        if let Some(end) = terminal.end() {
            return vec![format!("{} has ended: {}", named.command, end_words(end))];
        }
        let look = terminal.look_at_processes();
        let states: Vec<(i32, &str)> = look
            .all
            .iter()
            .map(|process| {
                let state = match process.stat.state {
                    b'T' | b't' => "stopped",
                    b'D' => "waits for a disk",
                    _ if process.is_working => "runs",
                    _ => "sleeps",
                };
                (process.stat.pid, state)
            })
            .collect();
        let left = terminal.processes().left();
        let state = |pid| states.iter().find(|(known, _)| *known == pid).map_or("runs", |(_, state)| state);
        left.iter()
            .map(|process| format!("{} (pid {}) {}", process.command, process.pid, state(process.pid)))
            .collect()
    }

    /// A marker in every recording.
    pub fn mark(&mut self, label: &str) {
        let Some((named, terminal)) = self.current.as_mut() else { return };
        let at = terminal.started().elapsed();
        named.recording().push(at, CastEventKind::Marker(label.to_owned()));
    }

    /// How long the programs ran and waited for a CPU.
    pub fn times(&self) -> TestTimes {
        self.ended
    }

    /// Ends every program and says what became of it.
    pub fn finish_all(&mut self) -> FinishedPrograms {
        let mut terminals = std::mem::take(&mut self.waiting);
        if let Some((named, mut terminal)) = self.current.take() {
            terminals.extend(terminal.take_beside());
            terminals.push(terminal);
            self.beside.push(named);
        }
        let mut finished = FinishedPrograms::default();
        for (named, mut terminal) in self.beside.iter().zip(terminals) {
            let look = terminal.look_at_processes();
            self.ended.program_ran += look.ran;
            self.ended.waited_for_cpu += look.waited;
            let end = terminal.finish();
            finished.left.extend(end.left);
            if let Some(how) = end.end.filter(|_| !end.was_running && !named.is_end_checked) {
                finished.ended.push((named.command.clone(), how));
            }
        }
        finished
    }
}

/// How much longer a program runs between two stops than it was stopped.
const STOPS_SHARE: u32 = 10;

/// Stops a process for a moment, as a machine does that has something else to do. A program that catches
/// SIGCONT is left alone: it would notice, where a busy machine is never noticed (vim and nano draw anew
/// without their last message).
fn stop_for(pid: i32, time: Duration) {
    if catches(pid, Signal(libc::SIGCONT)) {
        return;
    }
    // The process was not waited for, so its pid is its own.
    let pid = Pid::from_raw(pid);
    if kill(pid, UnixSignal::SIGSTOP).is_ok() {
        std::thread::sleep(time);
        let _ = kill(pid, UnixSignal::SIGCONT);
    }
}

impl TapePlayer<'_> {
    /// The current terminal; the shell of the tape is started in it if it has no program yet.
    pub(super) fn terminal(&mut self) -> StepResult<(&mut NamedTerminal, &mut TestTerminal)> {
        if self.session.current.is_none() {
            self.start_shell()?;
        }
        self.session.current().ok_or_else(|| StepFailure::command("no program was started"))
    }

    /// The current terminal for an input: its program must live, and what changes from here on is new.
    pub(super) fn input(&mut self) -> StepResult<(&mut NamedTerminal, &mut TestTerminal)> {
        self.pass_chord()?;
        let line = self.findings.place().line;
        let (named, terminal) = self.terminal()?;
        terminal.scroll_to_end();
        named.mark = terminal.take_mark(line);
        named.status = None;
        if let Some(end) = terminal.end() {
            return Err(Box::new(StepFailure::new(
                FailureKind::ProgramEnd,
                format!("{} ended ({}) before this command", named.command, end_words(end)),
            )));
        }
        Ok((named, terminal))
    }

    /// The next key of a fast tape must not come while the program still waits whether the last one is the
    /// begin of something.
    fn pass_chord(&mut self) -> StepResult {
        let Some((sent, pause)) = self.chord_sent.take() else { return Ok(()) };
        self.pass_as_program(pause.saturating_sub(sent.elapsed()))
    }

    /// Lets a time pass for the program: it begins when the program has read its input and has no work left,
    /// so that a busy machine does not use it up.
    pub(super) fn pass_as_program(&mut self, pause: Duration) -> StepResult {
        let until = Instant::now() + self.clock.time_left().min(READ_LIMIT);
        let Some((_, terminal)) = self.session.current() else { return Ok(()) };
        while terminal.end().is_none()
            && Instant::now() < until
            && (terminal.has_unread_input() || terminal.look_at_processes().is_working())
        {
            terminal.pass(READ_LOOK)?;
        }
        if terminal.end().is_none() {
            terminal.pass(pause)?;
        }
        Ok(())
    }

    fn program(&self, argv: Vec<std::ffi::OsString>) -> ProgramUnderTest {
        let (cols, rows) = self.settings.grid_size();
        ProgramUnderTest {
            env: self.workspace.env().to_owned(),
            cwd: self.workspace.dirs().dir().to_owned(),
            cols,
            rows,
            own_dir: Some(self.workspace.dirs().base().to_owned()),
            ends_with_thread: true,
            ..ProgramUnderTest::new(argv)
        }
    }

    pub(super) fn start_program(&mut self, argv: Vec<std::ffi::OsString>) -> StepResult {
        self.start_with(argv, &[])
    }

    /// Starts a program with further variables.
    pub(super) fn start_with(
        &mut self,
        mut argv: Vec<std::ffi::OsString>,
        env: &[(String, String)],
    ) -> StepResult {
        if self.session.current.is_some() && self.session.current_end().is_none() {
            return Err(StepFailure::command("a program runs in this terminal already"))
                .map_err(|failure| Box::new(failure.hint("`On NAME` before it opens another terminal")));
        }
        // A path is one of the project, where hopty was called; a name is found in PATH.
        if let Some(first) = argv.first_mut() {
            let path = std::path::Path::new(first);
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
        let line = self.findings.place().line;
        self.session.start(&program, line)
    }

    fn start_shell(&mut self) -> StepResult {
        let name = self.settings.shell.clone();
        let Some(shell) = shells::shell(&name) else {
            let is_it = |command: &TapeCommand| match command {
                TapeCommand::Set(TapeSetting::Shell(known)) => *known == name,
                _ => false,
            };
            let hint = format!("they know {}", shells::SHELL_NAMES.join(", "));
            let failure =
                StepFailure::new(FailureKind::Command, format!("{name} is not a shell that tapes know"));
            let mut failure = Box::new(failure.hint(hint));
            if let Some(step) = self.tape.steps.iter().rfind(|step| is_it(&step.command)) {
                failure = failure.at(&step.span);
            }
            return Err(failure);
        };
        let program = shell.argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if self.workspace.find_program(&program).is_none() {
            return Err(StepFailure::skip(format!("the shell {program} is not installed")));
        }
        let mut under_test = self.program(shell.argv);
        for (name, value) in shell.env {
            // What the tape sets itself wins.
            if !under_test.env.iter().any(|(known, _)| *known == *name) {
                under_test.env.push((name.into(), value.into()));
            }
        }
        let line = self.findings.place().line;
        self.session.start(&under_test, line)?;
        let limit = self.clock.limit(None, FIRST_PROMPT);
        let Some((named, terminal)) = self.session.current() else { return Ok(()) };
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

    pub(super) fn start(&mut self, words: &[TapeText]) -> StepResult {
        let argv = self.workspace.words(words)?;
        self.start_program(argv)
    }

    pub(super) fn start_line(&mut self, line: &TapeText) -> StepResult {
        let line = self.workspace.text(line)?;
        self.start_program(vec!["sh".into(), "-c".into(), line.into()])
    }

    pub(super) fn switch_to(&mut self, name: &str) -> StepResult {
        self.session.switch_to(name);
        Ok(())
    }

    pub(super) fn attach(&mut self, name: &str) -> StepResult {
        self.start_program(vec!["hopty".into(), "attach".into(), name.into()])
    }

    pub(super) fn detach(&mut self) -> StepResult {
        let (_, terminal) = self.input()?;
        // hopty's own prefix key, and then d.
        terminal.send(b"\x1cd").map_err(|error| StepFailure::io("cannot detach", &error))?;
        self.keys.push("Detach".to_owned());
        Ok(())
    }

    pub(super) fn signal(&mut self, signal: &crate::core::tape::TapeSignal) -> StepResult {
        let Some(number) = signal_number(signal.name()) else {
            return Err(StepFailure::command(format!("this system has no SIG{}", signal.name())));
        };
        let (_, terminal) = self.input()?;
        terminal
            .signal(Signal(number))
            .map_err(|error| StepFailure::io(&format!("cannot send SIG{}", signal.name()), &error))
    }

    pub(super) fn resize(&mut self, cols: u16, rows: u16) -> StepResult {
        let (_, terminal) = self.input()?;
        terminal.resize(cols, rows).map_err(|error| StepFailure::io("cannot resize the terminal", &error))
    }

    /// `Sleep`: in fast mode until the screen has settled, and never longer than it says.
    pub(super) fn sleep(&mut self, time: Duration) -> StepResult {
        let is_fast = self.clock.is_fast();
        let quiet = super::duration(self.settings.settle);
        self.terminal()?;
        if !is_fast {
            return self.pass(time);
        }
        let rules = SettleRules { quiet: quiet.min(time), ..SettleRules::default() };
        let limit = time.min(self.clock.time_left());
        match self.terminal()?.1.settle(&rules, limit) {
            Err(failure) if failure.end == WaitEnd::Stopped => Err(failure.into()),
            _ => self.clock.in_time(),
        }
    }

    pub(super) fn hide(&mut self, is_hidden: bool) -> StepResult {
        self.is_hidden = is_hidden;
        let at = self.session.current().map(|(_, terminal)| terminal.started().elapsed()).unwrap_or_default();
        if is_hidden {
            self.hidden.hide(at)
        } else {
            self.hidden.show(at)
        }
        Ok(())
    }

    /// Waits a little while serving the terminal, at most until `until`.
    pub(super) fn serve_until(&mut self, until: Instant) -> StepResult {
        const STEP: Duration = Duration::from_millis(5);
        let time = until.saturating_duration_since(Instant::now()).min(STEP);
        match self.session.current() {
            Some((_, terminal)) => Ok(terminal.pass(time)?),
            None => self.clock.pass(time),
        }
    }
}

/// The number of a signal by its name without `SIG`.
pub(super) fn signal_number(name: &str) -> Option<i32> {
    let signal: nix::sys::signal::Signal = format!("SIG{name}").parse().ok()?;
    Some(signal as i32)
}
