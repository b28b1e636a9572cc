//! A program under test in a pseudo-terminal of its own, with a screen model that shows its output and
//! answers its queries.
//!
//! Nothing happens between two calls: [`TestTerminal::pump`] reads output up to the end of a frame, and waits
//! for it in `poll`. The waits of `program_wait.rs` use it.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::libc;
use thiserror::Error;

use super::fresh_text_watch::{FrameEnd, FreshTextWatch, TestMark};
use super::look::{FoundPlace, Look};
use super::processes::{LeftProcess, ProcessLook, TestProcesses};
use super::terminal_input::LastInput;
use crate::core::io_words::io_words;
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::terminal::{Modes, Size};
use crate::pty::child;
use crate::pty::open::Pty;
use crate::pty::spawn::spawn_leader;
use crate::screen::{Screen, TerminalIdentity, reply};
use crate::sys::fd::read_some;
use crate::sys::outbuf::OutBuf;
use crate::sys::poll::{Interest, PollSet, is_readable};
use crate::sys::process::{self, Process, StatFile};
use crate::tty::modes;

/// Bytes that are read at a time.
const READ: usize = 1 << 16;
/// After this time output without a pause counts as a frame, so that a flood of output can be examined, too.
const FRAME_MAX: Duration = Duration::from_millis(100);
/// How long a synchronized update or an unfinished sequence is respected, as in terminals.
const HOLD_MAX: Duration = Duration::from_secs(1);
/// How long to wait for a running program that paused its output: it may have lost its CPU in the middle of a
/// picture.
const PAUSE_MAX: Duration = Duration::from_millis(20);
/// How often to check it meanwhile.
const PAUSE_LOOK: Duration = Duration::from_micros(100);
/// Bursts of at least this many bytes may come from any process, not only from the one in the foreground:
/// less is written by a single call.
const ALL_PROCESSES_FROM: usize = 1024;
/// The most bytes that wait for a program that does not read; more answers to its queries are dropped.
const INPUT_MAX: usize = 1 << 20;
/// How long processes may take to end after SIGHUP and SIGTERM, before they are killed.
const GRACE: Duration = Duration::from_millis(500);
/// How long remaining processes of a program that has ended may take to end by themselves.
const FAREWELL: Duration = Duration::from_millis(500);
/// How long killed processes may take to end.
const GONE: Duration = Duration::from_secs(5);

/// Held while a terminal is opened and its program is started, and by all other code in this process that
/// starts programs: until a new descriptor is close-on-exec, every program that is started inherits it.
static STARTS: Mutex<()> = Mutex::new(());

/// Waits for its turn to start a program. [`TestTerminal::start`] calls it itself.
pub fn starting() -> MutexGuard<'static, ()> {
    STARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program to test.
#[derive(Clone, Debug)]
pub struct ProgramUnderTest {
    /// The program, found in `PATH` of `env` unless it is a path, and its arguments.
    pub argv: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    /// Columns of its terminal.
    pub cols: u16,
    pub rows: u16,
    /// How many lines of scrollback are kept.
    pub history: usize,
    /// A directory that no other running test has, in `env` or as working directory: it identifies what the
    /// program leaves behind while other tests run. `None`: only processes of the program's own session are
    /// found.
    pub own_dir: Option<PathBuf>,
    /// Kill it when the thread that started it ends, even by a kill of the process.
    pub ends_with_thread: bool,
}

impl ProgramUnderTest {
    /// A program in a terminal of 80x24, with no environment in the directory of this process.
    #[must_use]
    pub fn new(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        ProgramUnderTest {
            argv: argv.into_iter().map(Into::into).collect(),
            env: Vec::new(),
            cwd: ".".into(),
            cols: 80,
            rows: 24,
            history: 1000,
            own_dir: None,
            ends_with_thread: false,
        }
    }

    fn variable(&self, name: &OsString) -> Option<(OsString, OsString)> {
        self.env.iter().rev().find(|(known, _)| known == name).cloned()
    }

    /// Whether its terminal accepts window names, as GNU screen and tmux do.
    fn takes_names(&self) -> bool {
        let term = self.variable(&"TERM".into()).map(|(_, term)| term.to_string_lossy().into_owned());
        term.is_some_and(|term| term.starts_with("screen") || term.starts_with("tmux"))
    }
}

/// Why a program under test did not start.
#[derive(Debug, Error)]
pub enum TestStartError {
    #[error("no program to start")]
    NoProgram,
    #[error("cannot start {0}: no such program in PATH or at that path")]
    NotFound(String),
    /// The directory is missing.
    #[error("cannot start {0}: the directory {1} is missing")]
    NoDirectory(String, PathBuf),
    /// There is no terminal for it.
    #[error("cannot open a pseudo-terminal: {0}")]
    NoTerminal(io::Error),
    #[error("cannot start {0}: {why}", why = io_words(.1))]
    Refused(String, io::Error),
}

/// What passes between a terminal and its program, for a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapEvent<'a> {
    /// The program wrote these bytes.
    Output(&'a [u8]),
    /// These bytes were typed. `secret`: the program does not show the line, as for a password.
    Input {
        bytes: &'a [u8],
        secret: bool,
    },
    Resize {
        cols: u16,
        rows: u16,
    },
    End(ProcessEnd),
}

/// Receives every event, with the time since the start of the program.
pub type TerminalTap = Box<dyn FnMut(Duration, TapEvent<'_>) + Send>;

/// How many bytes the next read may take (at least 1), for tests of programs that must cope with any split.
pub type ReadCut = Box<dyn FnMut() -> usize + Send>;

/// Why [`TestTerminal::pump`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PumpEnd {
    /// A frame is complete.
    Frame(FrameEnd),
    Deadline,
    /// The program has ended, and all its output was read.
    Ended(ProcessEnd),
    /// The descriptor of [`TestTerminal::stop_on`] is readable.
    Stopped,
}

/// How a test ended, and what it left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalEnd {
    /// How the program ended, by itself or because it was ended; `None` if it did not.
    pub end: Option<ProcessEnd>,
    /// It was still running.
    pub was_running: bool,
    /// Processes that were left: after a program that ended by itself, all that were still alive; after one
    /// that was ended, those that ignored SIGHUP and SIGTERM. They were killed.
    pub left: Vec<LeftProcess>,
}

/// A program under test and its terminal.
pub struct TestTerminal {
    pty: Pty,
    /// Held open, so that the terminal's modes can be read and output after the end is not lost.
    slave: File,
    watch: FreshTextWatch,
    pid: i32,
    process: Option<Process>,
    end: Option<ProcessEnd>,
    /// The tap has received the end.
    is_end_tapped: bool,
    processes: TestProcesses,
    input: OutBuf,
    started: Instant,
    /// The program reads its input, or was waited for in vain.
    pub(super) has_first_read: bool,
    pub(super) last_input: LastInput,
    /// When the last mark was taken.
    marked: Instant,
    /// When the last output arrived.
    last_output: Instant,
    tap: Option<TerminalTap>,
    cut: Option<ReadCut>,
    stop: Option<Arc<OwnedFd>>,
    foreground: Option<(i32, StatFile)>,
    buffer: Box<[u8]>,
    beside: Vec<TestTerminal>,
}

impl fmt::Debug for TestTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestTerminal")
            .field("pid", &self.pid)
            .field("end", &self.end)
            .field("screen", self.watch.screen())
            .finish_non_exhaustive()
    }
}

/// A descriptor to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Master,
    Program,
    Stop,
    Beside(usize),
}

impl TestTerminal {
    /// Starts a program as the leader of a session in a new terminal.
    ///
    /// Fails when there is no terminal for it, or it cannot be executed.
    pub fn start(program: &ProgramUnderTest) -> Result<Self, TestStartError> {
        let (name, args) = program.argv.split_first().ok_or(TestStartError::NoProgram)?;
        let shown = || name.to_string_lossy().into_owned();
        let mut command = Command::new(name);
        command.args(args).env_clear().envs(program.env.iter().cloned()).current_dir(&program.cwd);
        command.arg0(name);
        if program.ends_with_thread {
            process::end_with_thread(&mut command);
        }
        let turn = starting();
        let size = Size::cells(program.cols, program.rows);
        let pty = Pty::open(size).map_err(TestStartError::NoTerminal)?;
        let slave = pty.open_slave().map_err(TestStartError::NoTerminal)?;
        let child = spawn_leader(&slave, command).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if !program.cwd.is_dir() => {
                TestStartError::NoDirectory(shown(), program.cwd.clone())
            }
            io::ErrorKind::NotFound => TestStartError::NotFound(shown()),
            _ => TestStartError::Refused(shown(), error),
        })?;
        drop(turn);
        let pid = i32::try_from(child.id()).unwrap_or(0);
        let mut watch = FreshTextWatch::new(size.drawn(), program.history);
        watch.screen_mut().set_takes_names(program.takes_names());
        let now = Instant::now();
        Ok(TestTerminal {
            pty,
            slave,
            watch,
            pid,
            // A child that has not been waited for keeps its pid.
            process: Process::open(pid).ok(),
            end: None,
            is_end_tapped: false,
            processes: TestProcesses::new(pid, program.own_dir.clone()),
            input: OutBuf::default(),
            started: now,
            has_first_read: false,
            last_input: LastInput::default(),
            marked: now,
            last_output: now,
            tap: None,
            cut: None,
            stop: None,
            foreground: None,
            buffer: vec![0; READ].into(),
            beside: Vec::new(),
        })
    }

    /// Sends every event to `tap` from now on.
    pub fn set_tap(&mut self, tap: TerminalTap) {
        self.tap = Some(tap);
    }

    /// Limits reads to the sizes that `cut` returns.
    pub fn cut_reads(&mut self, cut: ReadCut) {
        self.cut = Some(cut);
    }

    /// Ends every wait when this descriptor becomes readable or its other side is closed.
    pub fn stop_on(&mut self, fd: Arc<OwnedFd>) {
        self.stop = Some(fd);
    }

    /// Adds other terminals of the same test, which are served while this one waits.
    pub fn put_beside(&mut self, others: Vec<TestTerminal>) {
        self.beside = others;
    }

    /// Returns these terminals.
    pub fn take_beside(&mut self) -> Vec<TestTerminal> {
        std::mem::take(&mut self.beside)
    }

    /// The screen at the end of the last frame, or in the middle of the next.
    pub fn screen(&self) -> &Screen {
        self.watch.screen()
    }

    /// The content of the viewport: the screen, unless [`TestTerminal::scroll`] has scrolled it back.
    pub fn view(&self) -> &Screen {
        self.watch.view()
    }

    /// Scrolls the viewport by this many lines; the program does not notice. Returns by how many it was
    /// scrolled.
    pub fn scroll(&mut self, is_up: bool, lines: u32) -> u32 {
        self.pump_now();
        self.watch.scroll(is_up, lines)
    }

    /// Makes the viewport follow the output again, as a terminal does when something is typed.
    pub fn scroll_to_end(&mut self) {
        self.watch.scroll_to_end();
    }

    /// The screen, with what is new on it.
    pub fn watch(&self) -> &FreshTextWatch {
        &self.watch
    }

    /// The id of the program's process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// How the program ended, as far as is known.
    pub fn end(&self) -> Option<ProcessEnd> {
        self.end
    }

    /// When the program was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The terminal's device file.
    pub(super) fn path(&self) -> PathBuf {
        std::fs::read_link(format!("/proc/self/fd/{}", self.slave.as_raw_fd())).unwrap_or_default()
    }

    /// The terminal's modes (termios).
    pub fn modes(&self) -> io::Result<Modes> {
        modes::read(&self.slave)
    }

    /// Whether the terminal hides the line being typed, as for a password: ECHO is off and ICANON on.
    pub fn is_hiding_input(&self) -> bool {
        self.modes().is_ok_and(|modes| hides_input(&modes))
    }

    /// Whether the program reads single keys, not lines: ICANON is off.
    pub fn reads_keys(&self) -> bool {
        self.modes().is_ok_and(|modes| !has_local_flag(&modes, libc::ICANON))
    }

    /// The processes of the program.
    pub fn processes(&mut self) -> &mut TestProcesses {
        &mut self.processes
    }

    /// Examines the processes of the program.
    pub fn inspect_processes(&mut self) -> ProcessLook {
        self.processes.look()
    }

    /// The process group in the terminal's foreground.
    pub fn foreground_group(&self) -> Option<i32> {
        nix::unistd::tcgetpgrp(&self.pty).ok().map(nix::unistd::Pid::as_raw).filter(|group| *group > 0)
    }

    /// Delivers typed input to readers of the terminal, and returns whether some of it is unread.
    pub fn has_unread_input(&self) -> bool {
        // Polling the program's side makes the kernel deliver pending input.
        let _ = is_readable(self.slave.as_fd());
        self.pty.unread() || !self.input.is_empty()
    }

    /// The mark of the program's start, for the line `line` of the tape: all its output is new. Call it
    /// before anything else.
    pub fn start_mark(&mut self, line: u32) -> TestMark {
        self.marked = Instant::now();
        self.watch.take_mark(line)
    }

    /// Takes a mark for an input of the tape's line `line`: later changes are new. Call it before the first
    /// byte of the input. Reads pending output up to the end of a frame.
    pub fn take_mark(&mut self, line: u32) -> TestMark {
        self.pump_now();
        self.marked = Instant::now();
        self.watch.take_mark(line)
    }

    /// When the last mark was taken.
    pub(super) fn marked(&self) -> Instant {
        self.marked
    }

    /// Types bytes: as many as the terminal takes now, the rest when the program reads. The terminal's echo
    /// of them does not count as new.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let modes = self.modes()?;
        self.watch.expect_echo(bytes, &modes);
        self.tap_event(TapEvent::Input { bytes, secret: hides_input(&modes) });
        self.write(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.input.send(&self.pty, bytes)
    }

    fn tap_event(&mut self, event: TapEvent<'_>) {
        if let Some(tap) = &mut self.tap {
            tap(self.started.elapsed(), event);
        }
    }

    /// Changes the size of the terminal; the kernel signals the program.
    pub fn resize(&mut self, cols: u16, rows: u16) -> io::Result<()> {
        self.watch.resize(cols, rows);
        self.tap_event(TapEvent::Resize { cols, rows });
        self.pty.resize(Size::cells(cols, rows))
    }

    /// Sends a signal to the foreground process group, which is the program's own unless it is a shell.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        self.pty.signal_foreground(signal)
    }

    /// Reads available output up to the end of a frame, without waiting for more. Returns what changed.
    pub fn pump_now(&mut self) -> FrameEnd {
        if is_readable(self.pty.as_fd()) || self.watch.is_inside_frame() {
            let burst = self.read_burst();
            return self.finish_frame(burst);
        }
        FrameEnd::default()
    }

    /// Waits until a frame is complete, the program has ended, or the deadline has passed (`None`: no
    /// deadline).
    pub fn pump(&mut self, until: Option<Instant>) -> PumpEnd {
        loop {
            if let Some(end) = self.end {
                self.read_burst();
                if self.watch.is_inside_frame() {
                    return PumpEnd::Frame(self.watch.end_frame());
                }
                if !std::mem::replace(&mut self.is_end_tapped, true) {
                    self.tap_event(TapEvent::End(end));
                }
                return PumpEnd::Ended(end);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let ready = self.poll(left);
            if ready.contains(&Source::Stop) {
                return PumpEnd::Stopped;
            }
            for source in &ready {
                if let Source::Beside(at) = source
                    && let Some(other) = self.beside.get_mut(*at)
                {
                    other.serve();
                }
            }
            if ready.contains(&Source::Master) {
                let burst = self.read_burst();
                if self.watch.is_inside_frame() {
                    return PumpEnd::Frame(self.finish_frame(burst));
                }
            }
            if ready.contains(&Source::Program) {
                self.take_end();
            } else if ready.is_empty() && left.is_some_and(|left| left.is_zero()) {
                return PumpEnd::Deadline;
            }
        }
    }

    /// Waits for descriptors; writes pending bytes.
    fn poll(&mut self, left: Option<Duration>) -> Vec<Source> {
        let mut set = PollSet::default();
        let interest = if self.input.is_empty() { Interest::Read } else { Interest::Both };
        set.add(Source::Master, self.pty.as_fd(), interest);
        if let Some(process) = self.process.as_ref().filter(|_| self.end.is_none()) {
            set.add(Source::Program, process.as_fd(), Interest::Read);
        }
        if let Some(stop) = &self.stop {
            set.add(Source::Stop, stop.as_fd(), Interest::Read);
        }
        for (at, other) in self.beside.iter().enumerate() {
            let interest = if other.input.is_empty() { Interest::Read } else { Interest::Both };
            set.add(Source::Beside(at), other.pty.as_fd(), interest);
        }
        let ready = set.wait_within(left).unwrap_or_default();
        if ready.iter().any(|(source, ready)| *source == Source::Master && ready.write)
            && self.input.flush(&self.pty).is_err()
        {
            self.input.clear();
        }
        ready
            .into_iter()
            .filter(|(source, ready)| *source != Source::Master || ready.read)
            .map(|(source, _)| source)
            .collect()
    }

    /// Reads and writes what is possible, while another terminal waits.
    fn serve(&mut self) {
        if self.input.flush(&self.pty).is_err() {
            self.input.clear();
        }
        // The frame ends when the screen is examined.
        self.read_burst();
    }

    /// Reads until there is no more output, at most for the longest duration of a frame; returns how many
    /// bytes.
    fn read_burst(&mut self) -> usize {
        let until = Instant::now() + FRAME_MAX;
        let mut total = 0;
        while Instant::now() < until {
            let most = self.cut.as_mut().map_or(READ, |cut| cut().clamp(1, READ));
            let mut buffer = std::mem::take(&mut self.buffer);
            let read = read_some(&self.pty, &mut buffer[..most]).ok().flatten().unwrap_or(0);
            if read > 0 {
                self.take_output(&buffer[..read]);
            }
            self.buffer = buffer;
            total += read;
            if read == 0 {
                break;
            }
        }
        total
    }

    fn take_output(&mut self, bytes: &[u8]) {
        self.last_output = Instant::now();
        self.tap_event(TapEvent::Output(bytes));
        self.watch.feed(bytes);
        let queries = self.watch.screen_mut().take_queries();
        if queries.is_empty() {
            return;
        }
        let screen = self.watch.screen();
        let identity = TerminalIdentity {
            described: screen.described_colors(),
            ..TerminalIdentity::new(env!("CARGO_PKG_VERSION"))
        };
        let answers: Vec<u8> = queries.iter().flat_map(|query| reply(query, &identity)).collect();
        if self.input.len() + answers.len() <= INPUT_MAX {
            let _ = self.write(&answers);
        }
    }

    /// Waits for the rest of the program's picture, and ends the frame.
    fn finish_frame(&mut self, mut burst: usize) -> FrameEnd {
        let began = Instant::now();
        let mut latest = began;
        loop {
            let is_held = self.watch.is_drawing();
            let limit = if is_held {
                HOLD_MAX.saturating_sub(began.elapsed())
            } else {
                let pause = PAUSE_MAX.saturating_sub(latest.elapsed());
                pause.min(FRAME_MAX.saturating_sub(began.elapsed()))
            };
            if limit.is_zero() || self.end.is_some() || (!is_held && !self.may_be_writing(burst)) {
                return self.watch.end_frame();
            }
            let ready = self.poll(Some(if is_held { limit } else { limit.min(PAUSE_LOOK) }));
            if ready.contains(&Source::Master) {
                burst += self.read_burst();
                latest = Instant::now();
            } else if ready.contains(&Source::Program) {
                // Its last output can be read now.
                self.take_end();
                self.read_burst();
            } else if ready.contains(&Source::Stop) {
                return self.watch.end_frame();
            }
        }
    }

    /// Whether the program is running and may be in the middle of a picture: the foreground process, or any
    /// process after a `burst` that needs more than one call to write.
    fn may_be_writing(&mut self, burst: usize) -> bool {
        let group = self.foreground_group().unwrap_or(self.pid);
        if self.foreground.as_ref().is_none_or(|(known, _)| *known != group) {
            self.foreground = StatFile::open(group).ok().map(|file| (group, file));
        }
        let leader = self.foreground.as_ref().and_then(|(_, file)| file.now());
        match leader.map(|stat| stat.state) {
            Some(b'R' | b'D') => true,
            None => {
                self.foreground = None;
                self.processes.look().is_working()
            }
            Some(_) => burst >= ALL_PROCESSES_FROM && self.processes.look().is_working(),
        }
    }

    /// Checks how the program ended.
    fn take_end(&mut self) {
        if self.end.is_some() {
            return;
        }
        // Until the program is waited for, its children can be identified by it.
        self.processes.look();
        loop {
            match child::change(self.pid) {
                Ok(Some(change)) if change.is_final() => self.end = Some(change),
                Ok(Some(_)) => continue,
                Ok(None) => {}
                // It was reaped elsewhere.
                Err(_) => self.end = Some(ProcessEnd::Exited(255)),
            }
            return;
        }
    }

    /// How long ago the program wrote something.
    pub fn quiet_for(&self) -> Duration {
        self.last_output.elapsed()
    }

    /// Stops waiting for the terminal's echo.
    pub(super) fn give_up_echo(&mut self) {
        self.watch.give_up_echo();
    }

    /// Notes that a check has found these places, so that the text of the mark is new when it returns.
    pub(super) fn see(&mut self, places: &[FoundPlace], since: &TestMark) {
        self.watch.see(places, since);
    }

    /// Notes that a check has found nothing for `look`, so that later matches are new.
    pub(super) fn see_nothing(&mut self, look: &Look) {
        self.watch.see_nothing(look);
    }

    /// Ends the test: a running program with SIGHUP, as if its terminal were closed, and SIGTERM, then every
    /// remaining process with SIGKILL. Afterwards none is left.
    pub fn finish(mut self) -> TerminalEnd {
        self.end_all()
    }

    fn end_all(&mut self) -> TerminalEnd {
        self.take_end();
        let was_running = self.end.is_none();
        if was_running {
            self.processes.look();
            for signal in [Signal::HUP, Signal::TERM] {
                self.processes.signal(signal);
            }
            self.wait_for_end(GRACE);
        }
        self.processes.look();
        let mut left = Vec::new();
        if !self.processes.wait_for_none(if was_running { GRACE } else { FAREWELL }) {
            left = self.processes.left();
            // If the program itself ignores its end, the processes in its session are not leftovers.
            left.retain(|process| self.end.is_some() || process.session != self.pid);
            for _ in 0..3 {
                // The next look finds processes that were started by one that was killed.
                self.processes.look();
                self.processes.signal(Signal::KILL);
                self.wait_for_end(GONE);
                if self.processes.wait_for_none(GRACE) {
                    break;
                }
            }
        }
        TerminalEnd { end: self.end, was_running, left }
    }

    /// Keeps reading until the program has ended, so that a program that writes can end.
    fn wait_for_end(&mut self, limit: Duration) {
        let until = Instant::now() + limit;
        while !matches!(self.pump(Some(until)), PumpEnd::Ended(_) | PumpEnd::Deadline | PumpEnd::Stopped) {}
        self.take_end();
    }
}

fn hides_input(modes: &Modes) -> bool {
    has_local_flag(modes, libc::ICANON) && !has_local_flag(modes, libc::ECHO)
}

/// Whether the terminal reads lines and echoes them, as a new one does.
pub(super) fn echoes_lines(modes: &Modes) -> bool {
    has_local_flag(modes, libc::ICANON) && has_local_flag(modes, libc::ECHO)
}

fn has_local_flag(modes: &Modes, flag: libc::tcflag_t) -> bool {
    modes.lflag & u64::from(flag) != 0
}

/// Dropping a terminal under test ends all its processes.
impl Drop for TestTerminal {
    fn drop(&mut self) {
        if self.end.is_none() || !self.processes.look().all.is_empty() {
            self.processes.look();
            self.processes.signal(Signal::KILL);
            self.stop = None;
            self.wait_for_end(GONE);
            self.processes.wait_for_none(GRACE);
        }
    }
}
