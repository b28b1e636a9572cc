//! The terminals of a test. One is the current one, which serves the others while it waits.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::signal::{Signal as UnixSignal, kill};
use nix::unistd::Pid;

use super::step_failure::{StepFailure, StepResult};
use super::terminal_recording::TapeRecording;
use crate::core::cast::CastEventKind;
use crate::core::process_change::{ProcessEnd, Signal};
use crate::screen::Screen;
use crate::sys::process::catches;
use crate::testing::fresh_text_watch::TestMark;
use crate::testing::outcome::{FailureKind, ScreenCopy, TestTimes};
use crate::testing::processes::{LeftProcess, end_words};
use crate::testing::stress::SeededChoices;
use crate::testing::test_terminal::{ProgramUnderTest, TapEvent, TestTerminal};

/// The name of the first terminal.
pub(super) const FIRST: &str = "main";

/// A terminal by its name.
pub(super) struct NamedTerminal {
    pub name: String,
    pub command: String,
    /// The size at the start: columns, rows.
    pub size: (u16, u16),
    pub recording: Arc<Mutex<TapeRecording>>,
    /// The mark of the last input.
    pub mark: TestMark,
    /// An `Exit` has checked how the program ended.
    pub is_end_checked: bool,
    /// It runs the shell of the tape, into which commands are typed.
    pub is_shell: bool,
    /// The exit status of the command that `Ready` waited for, until the next input.
    pub status: Option<i32>,
}

/// The programs of a test after its end.
#[derive(Debug, Default)]
pub(super) struct FinishedPrograms {
    /// Processes that remained.
    pub left: Vec<LeftProcess>,
    /// Commands that had ended unchecked, and how.
    pub ended: Vec<(String, ProcessEnd)>,
}

impl NamedTerminal {
    pub fn recording(&self) -> MutexGuard<'_, TapeRecording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct TestTerminals {
    stop: Option<Arc<OwnedFd>>,
    choices: Option<SeededChoices>,
    /// The name of the current terminal.
    current_name: String,
    /// The current terminal, once it has a program.
    current: Option<(NamedTerminal, TestTerminal)>,
    /// The others, which the current one serves.
    beside: Vec<NamedTerminal>,
    /// The others while the current terminal has no program.
    waiting: Vec<TestTerminal>,
    ended: TestTimes,
}

impl TestTerminals {
    pub fn new(stop: Option<Arc<OwnedFd>>, choices: Option<SeededChoices>) -> Self {
        TestTerminals {
            stop,
            choices,
            current_name: FIRST.to_owned(),
            current: None,
            beside: Vec::new(),
            waiting: Vec::new(),
            ended: TestTimes::default(),
        }
    }

    /// Starts a program in the current terminal, which must not have a running one.
    pub fn start(&mut self, program: &ProgramUnderTest, line: u32) -> StepResult {
        if let Some((_, mut ended)) = self.current.take() {
            self.waiting = ended.take_beside();
            let end = ended.finish();
            if let Some(left) = end.left.first() {
                let message = format!("{} (pid {}) is left of the program before", left.command, left.pid);
                return Err(StepFailure::new(FailureKind::Leftovers, message));
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
                    // A program that writes without end would otherwise be stopped most of the time.
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

    /// All terminals, the current one first.
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

    /// How long ago that was; 0 without a program.
    pub fn age(&self) -> Duration {
        self.started().map(|started| started.elapsed()).unwrap_or_default()
    }

    pub fn screen(&self) -> Option<&Screen> {
        self.current.as_ref().map(|(_, terminal)| terminal.screen())
    }

    /// The content of the viewport.
    pub fn view(&self) -> Option<&Screen> {
        self.current.as_ref().map(|(_, terminal)| terminal.view())
    }

    /// The content of the viewport, with the rows that changed since the last input.
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
        let look = terminal.inspect_processes();
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

    /// Adds a marker to every recording.
    pub fn mark(&mut self, label: &str) {
        let Some((named, terminal)) = self.current.as_mut() else { return };
        let at = terminal.started().elapsed();
        named.recording().push(at, CastEventKind::Marker(label.to_owned()));
    }

    /// How long the programs ran and waited for a CPU.
    pub fn times(&self) -> TestTimes {
        self.ended
    }

    /// Ends every program and returns what remained.
    pub fn finish_all(&mut self) -> FinishedPrograms {
        let mut terminals = std::mem::take(&mut self.waiting);
        if let Some((named, mut terminal)) = self.current.take() {
            terminals.extend(terminal.take_beside());
            terminals.push(terminal);
            self.beside.push(named);
        }
        let mut finished = FinishedPrograms::default();
        for (named, mut terminal) in self.beside.iter().zip(terminals) {
            let look = terminal.inspect_processes();
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

/// How much longer a program runs between two stops than it is stopped.
const STOPS_SHARE: u32 = 10;

/// Stops a process for a moment, like a busy machine. A program that catches SIGCONT is left alone: unlike a
/// busy machine it would notice (vim and nano redraw without their last message).
fn stop_for(pid: i32, time: Duration) {
    if catches(pid, Signal(libc::SIGCONT)) {
        return;
    }
    // The process was not waited for, so its pid is still its own.
    let pid = Pid::from_raw(pid);
    if kill(pid, UnixSignal::SIGSTOP).is_ok() {
        std::thread::sleep(time);
        let _ = kill(pid, UnixSignal::SIGCONT);
    }
}

/// The number of a signal, by its name without `SIG`.
pub(super) fn signal_number(name: &str) -> Option<i32> {
    let signal: nix::sys::signal::Signal = format!("SIG{name}").parse().ok()?;
    Some(signal as i32)
}
