//! Waiting for a program under test: for text that is new, for quiet, for a shell's prompt, for the end.
//!
//! The screen is examined only at the end of a frame. Processes announce nothing, so they are polled.

use std::fmt;
use std::time::{Duration, Instant};

use super::fresh_text_watch::{FrameEnd, TestMark, TextAge};
use super::look::{CellRegion, FoundPlace, Look, ScreenArea, cut_for_message};
use super::processes::{ProcessLook, end_words};
use super::test_terminal::{PumpEnd, TestTerminal, echoes_lines};
use crate::core::process_change::ProcessEnd;
use crate::screen::{ScreenPlace, ShellMark};
use crate::sys::process_activity::{ProcessActivity, awaits_input, system_call};

/// By which factor a wait may exceed its limit while the program waits for a CPU.
const STARVED_MAX: u32 = 4;
/// How often to check how long the program waited for a CPU: processes that end take that figure with them.
const CLOCK_LOOK: Duration = Duration::from_millis(250);
/// The time between two looks at processes that must agree.
const LOOK_TWICE: Duration = Duration::from_millis(2);
/// How often to check processes that work again, at first and at most.
const PROCESS_LOOK: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));
/// How long output must pause before typed text counts as read, visible or not.
const TYPED_QUIET: Duration = Duration::from_millis(50);
/// How long a screen must not change before matches are counted: items that appear one by one come faster.
const COUNT_QUIET: Duration = Duration::from_millis(300);
/// How long a program may take to start its answer to an input: until then an unchanged screen means nothing,
/// even if the program sleeps.
const ANSWER_WAIT: Duration = Duration::from_millis(500);
/// A process with less CPU time than this may not have left the shell's process group yet.
const JUST_STARTED: Duration = Duration::from_millis(5);

/// A clock for a limit. It stops while the program's processes are runnable without a CPU: a loaded machine
/// is no reason to fail.
#[derive(Clone, Copy, Debug)]
pub struct WaitClock {
    began: Instant,
    limit: Duration,
    looked: Instant,
    waited: Duration,
    ran_before: Duration,
    ran: Duration,
    starved: Duration,
}

impl WaitClock {
    /// Starts a clock that allows `limit`, with what the processes have done so far.
    #[must_use]
    pub fn start(limit: Duration, look: &ProcessLook) -> Self {
        let now = Instant::now();
        WaitClock {
            began: now,
            limit,
            looked: now,
            waited: look.waited,
            ran_before: look.ran,
            ran: look.ran,
            starved: Duration::ZERO,
        }
    }

    /// Accounts for what the processes have done since the last look.
    pub fn take(&mut self, look: &ProcessLook) {
        self.take_at(Instant::now(), look);
    }

    fn take_at(&mut self, now: Instant, look: &ProcessLook) {
        // Several processes that wait at the same time delay the program only once.
        let waited = look.waited.saturating_sub(self.waited).min(now.duration_since(self.looked));
        self.starved += waited;
        (self.looked, self.waited, self.ran) = (now, look.waited, look.ran);
    }

    /// When the limit ends, as far as is known.
    pub fn deadline(&self) -> Instant {
        let longest = self.limit.saturating_mul(STARVED_MAX);
        self.began + self.limit.saturating_add(self.starved).min(longest)
    }

    /// How long the processes have run on a CPU.
    pub fn ran(&self) -> Duration {
        self.ran.saturating_sub(self.ran_before)
    }

    /// How long they have waited for one.
    pub fn starved(&self) -> Duration {
        self.starved
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

/// Why a wait failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The limit was reached.
    TimedOut,
    Ended(ProcessEnd),
    /// The text is there although it should not be.
    Present,
    /// The whole test was stopped.
    Stopped,
}

#[derive(Clone, Debug)]
pub struct WaitFailure {
    pub end: WaitEnd,
    /// What is wrong, in one line: `not on row 4; nearest: row 4 "four" (drawn since line 7)`.
    pub message: String,
    /// The most similar row.
    pub nearest: Option<ScreenPlace>,
    /// How long it waited.
    pub took: Duration,
    /// How long the program's processes ran meanwhile, in total.
    pub program_ran: Duration,
    /// How long they waited for a CPU.
    pub waited_for_cpu: Duration,
}

impl fmt::Display for WaitFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WaitFailure {}

/// A successful wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitFound {
    /// The places: the new ones, or all of them if age does not matter.
    pub places: Vec<FoundPlace>,
    /// Set if it was there at the first look and all of it before the mark: since when. Only a wait that
    /// accepts old text reports it.
    pub stale: Option<TextAge>,
}

/// The words of a failure if the text is not new.
pub(super) const OLD_TEXT: &str = "old text is no answer, scrolled or drawn again";
/// The words of a failure if rows did not settle.
pub(super) const KEPT_CHANGING: &str = "kept changing";

/// When a screen counts as settled.
#[derive(Clone, Debug)]
pub struct SettleRules {
    /// How long nothing visible may change.
    pub quiet: Duration,
    /// Where changes do not count.
    pub except: Vec<CellRegion>,
    /// The only place where changes count, if it is not the whole screen.
    pub only: Option<CellRegion>,
}

impl Default for SettleRules {
    fn default() -> Self {
        SettleRules { quiet: Duration::from_millis(50), except: Vec::new(), only: None }
    }
}

/// A shell that waits for its next command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShellReady {
    /// The exit status of its last command after the mark, if the shell reports it (OSC 133).
    pub status: Option<i32>,
}

/// The result of one step of a wait.
enum WaitStep {
    Frame(FrameEnd),
    /// The requested time has come, and the limit has not been reached.
    Moment,
    Failed(WaitEnd),
}

/// The state of a wait.
struct Waiting {
    clock: WaitClock,
    look: Instant,
}

impl Waiting {
    fn start(terminal: &mut TestTerminal, limit: Duration) -> Self {
        terminal.pump_now();
        let clock = WaitClock::start(limit, &terminal.inspect_processes());
        Waiting { clock, look: Instant::now() + CLOCK_LOOK }
    }

    /// Waits for the end of a frame, but not beyond `moment`.
    fn step(&mut self, terminal: &mut TestTerminal, moment: Option<Instant>) -> WaitStep {
        loop {
            let deadline = self.clock.deadline();
            let until =
                moment.map_or(deadline, |moment| moment.min(deadline)).min(self.look.max(Instant::now()));
            match terminal.pump(Some(until)) {
                PumpEnd::Frame(frame) => return WaitStep::Frame(frame),
                PumpEnd::Ended(end) => return WaitStep::Failed(WaitEnd::Ended(end)),
                PumpEnd::Stopped => return WaitStep::Failed(WaitEnd::Stopped),
                PumpEnd::Deadline => {}
            }
            let now = Instant::now();
            if now >= self.look || now >= deadline {
                self.clock.take(&terminal.inspect_processes());
                self.look = now + CLOCK_LOOK;
                if now >= self.clock.deadline() {
                    return WaitStep::Failed(WaitEnd::TimedOut);
                }
            }
            if moment.is_some_and(|moment| now >= moment) {
                return WaitStep::Moment;
            }
        }
    }

    /// `goal` is the purpose of the wait, `state` the actual state.
    fn failure(
        &mut self,
        terminal: &mut TestTerminal,
        end: WaitEnd,
        goal: &str,
        state: String,
    ) -> WaitFailure {
        self.clock.take(&terminal.inspect_processes());
        let message = match end {
            WaitEnd::Ended(how) => {
                format!("the program ended ({}) while waiting for {goal}; {state}", end_words(how))
            }
            WaitEnd::Stopped => format!("stopped while waiting for {goal}"),
            WaitEnd::TimedOut | WaitEnd::Present => state,
        };
        WaitFailure {
            end,
            message,
            nearest: None,
            took: self.clock.elapsed(),
            program_ran: self.clock.ran(),
            waited_for_cpu: self.clock.starved(),
        }
    }
}

impl TestTerminal {
    /// Waits until a match of `what` is new since the mark.
    ///
    /// # Errors
    /// When the limit is over, the program has ended, or the test is stopped.
    pub fn expect(
        &mut self,
        what: &Look,
        since: &TestMark,
        limit: Duration,
    ) -> Result<WaitFound, Box<WaitFailure>> {
        let mut waiting = Waiting::start(self, limit);
        if what.times == Some(0) && self.watch().find(what, since).all.is_empty() {
            self.answered(since, limit);
        }
        loop {
            let found = self.watch().find(what, since);
            let right = what.times.is_none_or(|times| found.all.len() == times);
            // Being absent is a state, not an event.
            if right && (!found.new.is_empty() || what.times == Some(0)) {
                let Some(times) = what.times else {
                    self.see(&found.new, since);
                    return Ok(WaitFound { places: found.new, stale: None });
                };
                let left = waiting.clock.deadline().saturating_duration_since(Instant::now());
                self.settle_count(left, |terminal| terminal.watch().find(what, since).all.len() == times)?;
                let found = self.watch().find(what, since);
                if found.all.len() == times {
                    self.see(&found.new, since);
                    return Ok(WaitFound { places: found.new, stale: None });
                }
            }
            if let WaitStep::Failed(end) = waiting.step(self, None) {
                let state = self.missing(what, since);
                return Err(self.failed(&mut waiting, end, what, state));
            }
        }
    }

    /// Waits until `what` is there, old or new. Returns at once if it is, and then reports which part is old.
    pub fn wait_for(
        &mut self,
        what: &Look,
        since: &TestMark,
        limit: Duration,
    ) -> Result<WaitFound, Box<WaitFailure>> {
        let mut waiting = Waiting::start(self, limit);
        let mut is_first = true;
        loop {
            let found = self.watch().find(what, since);
            let is_there = what.times.map_or(!found.all.is_empty(), |times| found.all.len() == times);
            if is_there {
                let is_stale = is_first && found.new.is_empty();
                let stale = found.all.first().filter(|_| is_stale).map(|place| self.age_before(place, since));
                self.see(&found.all, since);
                return Ok(WaitFound { places: found.all, stale });
            }
            is_first = false;
            if let WaitStep::Failed(end) = waiting.step(self, None) {
                let state = self.missing(what, since);
                return Err(self.failed(&mut waiting, end, what, state));
            }
        }
    }

    /// Waits until `what` is gone; if it is not there at first, until the program has answered its last
    /// input. It must stay away for `quiet`. Returns whether it was there at the mark or since. Afterwards it
    /// is new when it returns.
    pub fn gone(
        &mut self,
        what: &Look,
        since: &TestMark,
        quiet: Duration,
        limit: Duration,
    ) -> Result<bool, Box<WaitFailure>> {
        let mut waiting = Waiting::start(self, limit);
        let mut was_there = true;
        if self.watch().subject().find(what).is_empty() {
            self.answered(since, limit);
            was_there = since.had(&what.pattern) || !self.watch().subject().find(what).is_empty();
        }
        // Since when it is gone: a program that redraws has erased it only for a moment.
        let mut gone_since: Option<Instant> = None;
        loop {
            let found = self.watch().subject().find(what);
            let Some(place) = found.first() else {
                let since = *gone_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= quiet {
                    self.see_nothing(what);
                    return Ok(was_there);
                }
                match waiting.step(self, Some(since + quiet)) {
                    WaitStep::Failed(WaitEnd::Stopped) => {
                        let goal = format!("{} to go", what.pattern);
                        return Err(Box::new(waiting.failure(self, WaitEnd::Stopped, &goal, String::new())));
                    }
                    WaitStep::Failed(_) if self.watch().subject().find(what).is_empty() => {
                        self.see_nothing(what);
                        return Ok(was_there);
                    }
                    _ => continue,
                }
            };
            gone_since = None;
            let state = format!("{} is still {}", what.pattern, self.with_age(place));
            if let WaitStep::Failed(end) = waiting.step(self, None) {
                let goal = format!("{} to go", what.pattern);
                return Err(Box::new(waiting.failure(self, end, &goal, state)));
            }
        }
    }

    /// Waits until the screen has settled after the input at the mark, and checks that `what` is absent.
    /// Afterwards it is new when it appears.
    ///
    /// # Errors
    /// When it is there, or the screen does not settle. A program that has ended has settled.
    pub fn expect_not(
        &mut self,
        what: &Look,
        since: &TestMark,
        rules: &SettleRules,
        limit: Duration,
    ) -> Result<(), Box<WaitFailure>> {
        let mut waiting = Waiting::start(self, limit);
        self.settle_answer(since, rules, limit).or_else(|failure| match failure.end {
            WaitEnd::Ended(_) => Ok(()),
            _ => Err(failure),
        })?;
        let found = self.watch().subject().find(what);
        let Some(place) = found.first() else {
            self.see_nothing(what);
            return Ok(());
        };
        let state = format!("{} is {}", what.pattern, self.with_age(place));
        Err(Box::new(waiting.failure(self, WaitEnd::Present, "it to be gone", state)))
    }

    /// Waits until nothing visible has changed for a while, no process of the program works, and nothing is
    /// left to read. Blinking text and a blinking cursor do not count.
    ///
    /// # Errors
    /// As [`TestTerminal::expect`]; the message names the rows that kept changing.
    pub fn settle(&mut self, rules: &SettleRules, limit: Duration) -> Result<(), Box<WaitFailure>> {
        self.settle_unless(rules, limit, |_| false)
    }

    /// Waits until the screen has settled, or until `enough` holds, which is checked at the end of each
    /// frame.
    fn settle_unless(
        &mut self,
        rules: &SettleRules,
        limit: Duration,
        is_enough: impl Fn(&TestTerminal) -> bool,
    ) -> Result<(), Box<WaitFailure>> {
        let mut waiting = Waiting::start(self, limit);
        let mut changes = RowChanges::default();
        let mut changed = Instant::now();
        let mut pause = PROCESS_LOOK.0;
        let mut is_working = false;
        loop {
            if is_enough(self) {
                return Ok(());
            }
            let mut moment = changed + rules.quiet;
            if Instant::now() >= moment {
                // Typed input must reach the program before it is examined.
                let _ = self.has_unread_input();
                let first = self.inspect_processes();
                if !first.is_working() {
                    let mut is_same = false;
                    let look_again = Instant::now() + LOOK_TWICE;
                    match waiting.step(self, Some(look_again)) {
                        WaitStep::Moment => is_same = self.inspect_processes().is_same_as(&first),
                        WaitStep::Frame(frame) => changes.take(&frame, rules, &mut changed),
                        WaitStep::Failed(end) => {
                            return Err(self.unsettled(&mut waiting, end, &changes, false));
                        }
                    }
                    let frame = self.pump_now();
                    let before = changed;
                    changes.take(&frame, rules, &mut changed);
                    if is_same && before == changed && Instant::now() >= changed + rules.quiet {
                        return Ok(());
                    }
                    is_working = false;
                } else {
                    is_working = true;
                }
                moment = Instant::now() + pause;
                pause = (pause * 2).min(PROCESS_LOOK.1);
            } else {
                pause = PROCESS_LOOK.0;
            }
            match waiting.step(self, Some(moment)) {
                WaitStep::Frame(frame) => changes.take(&frame, rules, &mut changed),
                WaitStep::Moment => {}
                WaitStep::Failed(end) => return Err(self.unsettled(&mut waiting, end, &changes, is_working)),
            }
        }
    }

    /// Waits while a count is right, until the screen has been unchanged long enough that no further match
    /// will follow.
    pub(super) fn settle_count(
        &mut self,
        limit: Duration,
        is_right: impl Fn(&TestTerminal) -> bool,
    ) -> Result<(), Box<WaitFailure>> {
        let rules = SettleRules { quiet: COUNT_QUIET, ..SettleRules::default() };
        match self.settle_unless(&rules, limit, |terminal| !is_right(terminal)) {
            Err(failure) if failure.end == WaitEnd::Stopped => Err(failure),
            _ => Ok(()),
        }
    }

    fn unsettled(
        &mut self,
        waiting: &mut Waiting,
        end: WaitEnd,
        changes: &RowChanges,
        is_working: bool,
    ) -> Box<WaitFailure> {
        let state = match (changes.words(), is_working) {
            (Some(rows), _) => format!("not settled: {rows}"),
            (None, true) => {
                let left = self.processes().left();
                let working: Vec<String> = left
                    .into_iter()
                    .filter(|process| ProcessActivity::of(process.pid).is_some_and(|now| now.is_working))
                    .map(|process| format!("{} (pid {})", cut_for_message(&process.command), process.pid))
                    .collect();
                format!("not settled: still working: {}", working.join(", "))
            }
            (None, false) => "not settled".to_owned(),
        };
        Box::new(waiting.failure(self, end, "the screen to settle", state))
    }

    /// Waits until a shell waits for its next command: its process group is in the foreground again, all
    /// typed input has been read, and it sleeps. If it announces its prompts (OSC 133), the prompt must be
    /// there, too.
    pub fn ready(&mut self, since: &TestMark, limit: Duration) -> Result<ShellReady, Box<WaitFailure>> {
        let mut waiting = Waiting::start(self, limit);
        let mut pause = PROCESS_LOOK.0;
        loop {
            let first = self.is_shell_waiting();
            if let Ok(first) = &first {
                let step = waiting.step(self, Some(Instant::now() + LOOK_TWICE));
                let later = self.is_shell_waiting();
                let is_same = matches!(&later, Ok(later) if later.is_same_as(first));
                if matches!(step, WaitStep::Moment) && is_same {
                    return Ok(ShellReady { status: self.watch().status_since(since) });
                }
                if let WaitStep::Failed(end) = step {
                    return Err(Box::new(waiting.failure(self, end, "the prompt", "no prompt".to_owned())));
                }
                continue;
            }
            match waiting.step(self, Some(Instant::now() + pause)) {
                WaitStep::Frame(_) => pause = PROCESS_LOOK.0,
                WaitStep::Moment => pause = (pause * 2).min(PROCESS_LOOK.1),
                WaitStep::Failed(end) => {
                    let state = format!("no prompt: {}", first.err().unwrap_or_default());
                    return Err(Box::new(waiting.failure(self, end, "the prompt", state)));
                }
            }
        }
    }

    /// The shell's processes, if the shell waits for a command; otherwise why it does not.
    fn is_shell_waiting(&mut self) -> Result<ProcessLook, String> {
        if self.has_unread_input() {
            return Err("it has not read what was typed".to_owned());
        }
        let shell = self.pid();
        if let Some(mark @ (ShellMark::Output | ShellMark::Done(_))) = self.watch().shell_mark() {
            let what = match mark {
                ShellMark::Output => {
                    "a command runs, or the tape has replaced what reports its end (PROMPT_COMMAND)"
                }
                _ => "it has shown no prompt",
            };
            return Err(what.to_owned());
        }
        let named = |pid: i32| {
            let command = crate::sys::process_activity::command_line(pid);
            cut_for_message(&command.unwrap_or_else(|| format!("process {pid}")))
        };
        let group = self.foreground_group().unwrap_or(0);
        let look = self.inspect_processes();
        let own = look.all.iter().find(|process| process.stat.pid == shell);
        let Some(own) = own else { return Err("the shell is gone".to_owned()) };
        if group != own.stat.group {
            return Err(format!("{} is in the foreground", named(group)));
        }
        if own.is_working {
            return Err("the shell is working".to_owned());
        }
        for process in look.all.iter().filter(|process| process.stat.pid != shell) {
            // A shell without job control waits for a child in its own group. A new child leaves the group in
            // its first moments.
            let is_starting = process.is_working && process.ran < JUST_STARTED;
            if process.stat.group == group || is_starting {
                return Err(format!("{} runs", named(process.stat.pid)));
            }
        }
        // A shell may wait for its children instead of input. The system call's number depends on the
        // architecture.
        if [nix::libc::SYS_wait4, nix::libc::SYS_waitid].contains(&system_call(shell).unwrap_or(-1)) {
            return Err("the shell waits for a command".to_owned());
        }
        Ok(look)
    }

    /// Waits until the program has ended and all its output was read.
    ///
    /// # Errors
    /// When the limit is reached or the test is stopped.
    pub fn exit(&mut self, limit: Duration) -> Result<ProcessEnd, Box<WaitFailure>> {
        let mut waiting = Waiting::start(self, limit);
        loop {
            match waiting.step(self, None) {
                WaitStep::Failed(WaitEnd::Ended(end)) => return Ok(end),
                WaitStep::Failed(end) => {
                    let left = self.processes().left();
                    let names: Vec<String> = left
                        .iter()
                        .map(|process| format!("{} (pid {})", cut_for_message(&process.command), process.pid))
                        .collect();
                    let state = format!("still running: {}", names.join(", "));
                    return Err(Box::new(waiting.failure(self, end, "the program to end", state)));
                }
                WaitStep::Frame(_) | WaitStep::Moment => {}
            }
        }
    }

    /// Waits until `text`, which was sent after the mark, has been read: it is before the cursor, the
    /// terminal has echoed it, or the program shows nothing for 50 ms. Returns at once if the terminal hides
    /// the line. Afterwards the next mark makes it old. Returns false if the limit is reached first.
    ///
    /// # Errors
    /// When the program has ended, or the test is stopped.
    pub fn typed(&mut self, text: &str, since: &TestMark, limit: Duration) -> Result<bool, Box<WaitFailure>> {
        if self.is_hiding_input() {
            return Ok(true);
        }
        let had_echo = self.watch().awaits_echo();
        let mut waiting = Waiting::start(self, limit);
        let mut changed = Instant::now();
        loop {
            let is_echoed = had_echo && !self.watch().awaits_echo();
            if is_echoed || self.watch().stands_at_cursor(text, since) {
                return Ok(true);
            }
            match waiting.step(self, Some(changed + TYPED_QUIET)) {
                WaitStep::Frame(_) => changed = Instant::now(),
                WaitStep::Moment => {
                    // A program that waits for a CPU has not had its chance.
                    if !self.inspect_processes().is_working() {
                        self.give_up_echo();
                        return Ok(true);
                    }
                    changed = Instant::now();
                }
                WaitStep::Failed(WaitEnd::TimedOut) => return Ok(false),
                WaitStep::Failed(end) => {
                    let state = "it was not taken".to_owned();
                    let goal = format!("{:?} to be typed", cut_for_message(text));
                    return Err(Box::new(waiting.failure(self, end, &goal, state)));
                }
            }
        }
    }

    /// Waits until the program reads its terminal: it has set the terminal's modes, or waits for input. The
    /// terminal echoes earlier input, and a program with line editing redraws it when it starts to read,
    /// which looks like an answer. Only the first call waits; after its limit the program counts as reading.
    pub fn first_read(&mut self, limit: Duration) -> Result<(), Box<WaitFailure>> {
        if std::mem::replace(&mut self.has_first_read, true) {
            return Ok(());
        }
        let mut waiting = Waiting::start(self, limit);
        let mut pause = PROCESS_LOOK.0;
        while !self.takes_input() {
            match waiting.step(self, Some(Instant::now() + pause)) {
                WaitStep::Frame(_) => {}
                WaitStep::Moment => pause = (pause * 2).min(PROCESS_LOOK.1),
                WaitStep::Failed(WaitEnd::Stopped) => {
                    let goal = "the program to read its terminal";
                    return Err(Box::new(waiting.failure(self, WaitEnd::Stopped, goal, String::new())));
                }
                WaitStep::Failed(_) => break,
            }
        }
        Ok(())
    }

    /// Whether the program has set the modes of its terminal, or one of its processes waits for input.
    fn takes_input(&mut self) -> bool {
        self.modes().map_or(true, |modes| !echoes_lines(&modes)) || {
            let look = self.inspect_processes();
            self.has_reader(&look)
        }
    }

    /// Whether the program has read all input, none of its processes works, and one waits for more.
    pub(super) fn awaits_input(&mut self) -> bool {
        if self.has_unread_input() {
            return false;
        }
        let look = self.inspect_processes();
        !look.is_working() && self.has_reader(&look)
    }

    /// Whether a process waits for input from the terminal.
    fn has_reader(&self, look: &ProcessLook) -> bool {
        let path = self.path();
        let waits = |pid: i32| awaits_input(pid, path.as_path());
        look.all.iter().any(|process| waits(process.stat.pid).unwrap_or(!process.is_working))
    }

    /// Waits until a condition on the terminal holds, checked at the end of each frame. `goal` names it,
    /// `state` describes the actual state.
    pub fn wait_until(
        &mut self,
        limit: Duration,
        goal: &str,
        mut holds: impl FnMut(&TestTerminal) -> Result<(), String>,
    ) -> Result<(), Box<WaitFailure>> {
        let mut waiting = Waiting::start(self, limit);
        loop {
            let Err(state) = holds(self) else { return Ok(()) };
            if let WaitStep::Failed(end) = waiting.step(self, None) {
                return Err(Box::new(waiting.failure(self, end, goal, state)));
            }
        }
    }

    /// Waits until a state holds, like [`TestTerminal::wait_until`]. A state that held at the last input
    /// counts only after the program's answer.
    pub fn wait_for_state(
        &mut self,
        since: &TestMark,
        limit: Duration,
        goal: &str,
        mut holds: impl FnMut(&TestTerminal) -> Result<(), String>,
    ) -> Result<(), Box<WaitFailure>> {
        self.pump_now();
        if holds(self).is_ok() {
            self.answered(since, limit);
        }
        self.wait_until(limit, goal, holds)
    }

    /// Waits until the program has answered the input at the mark: something on the screen is new, or the
    /// screen has settled, but not at once. Returns after the limit, too; then there will be no answer.
    pub(super) fn answered(&mut self, since: &TestMark, limit: Duration) {
        let is_new = |terminal: &TestTerminal| !terminal.watch().new_rows(since).is_empty();
        let _ = self.settle_answer_unless(since, &SettleRules::default(), limit, &is_new);
    }

    /// Waits until the screen has settled after the input at the mark: a program without output since then
    /// has half a second to start.
    pub fn settle_answer(
        &mut self,
        since: &TestMark,
        rules: &SettleRules,
        limit: Duration,
    ) -> Result<(), Box<WaitFailure>> {
        self.settle_answer_unless(since, rules, limit, &|_| false)
    }

    /// The same, or until `is_enough` holds, which is checked at the end of each frame.
    pub(super) fn settle_answer_unless(
        &mut self,
        since: &TestMark,
        rules: &SettleRules,
        limit: Duration,
        is_enough: &dyn Fn(&TestTerminal) -> bool,
    ) -> Result<(), Box<WaitFailure>> {
        let end = Instant::now() + limit;
        self.settle_unless(rules, limit, is_enough)?;
        let until = end.min(self.marked() + ANSWER_WAIT);
        let is_answered =
            |terminal: &TestTerminal| is_enough(terminal) || terminal.watch().has_output_since(since);
        if is_answered(self) {
            return Ok(());
        }
        let mut waiting = Waiting::start(self, limit);
        while !is_answered(self) {
            match waiting.step(self, Some(until)) {
                WaitStep::Frame(_) => {}
                WaitStep::Moment => return Ok(()),
                WaitStep::Failed(_) => break,
            }
        }
        self.settle_unless(rules, end.saturating_duration_since(Instant::now()), is_enough)
    }

    /// Serves the terminal for a time. The end of the program does not end it.
    ///
    /// # Errors
    /// When the test is stopped.
    pub fn pass(&mut self, time: Duration) -> Result<(), Box<WaitFailure>> {
        let until = Instant::now() + time;
        let mut waiting = Waiting::start(self, time);
        loop {
            match self.pump(Some(until)) {
                PumpEnd::Frame(_) => {}
                PumpEnd::Deadline => return Ok(()),
                PumpEnd::Stopped => {
                    return Err(Box::new(waiting.failure(
                        self,
                        WaitEnd::Stopped,
                        "time to pass",
                        String::new(),
                    )));
                }
                PumpEnd::Ended(_) => {
                    std::thread::sleep(until.saturating_duration_since(Instant::now()));
                    return Ok(());
                }
            }
        }
    }

    fn failed(
        &mut self,
        waiting: &mut Waiting,
        end: WaitEnd,
        what: &Look,
        (state, nearest): (String, Option<ScreenPlace>),
    ) -> Box<WaitFailure> {
        let goal = what.pattern.to_string();
        Box::new(WaitFailure { nearest, ..waiting.failure(self, end, &goal, state) })
    }

    /// Why `what` was not found, in words, and the most similar row.
    fn missing(&self, what: &Look, since: &TestMark) -> (String, Option<ScreenPlace>) {
        let found = self.watch().find(what, since);
        if let Some(times) = what.times.filter(|times| found.all.len() != *times) {
            let there = found.all.len();
            let there = if there == 1 { "once".to_owned() } else { format!("{there} times") };
            return (format!("{} is {} {there}, not {times}", what.pattern, what.area), None);
        }
        if let Some(place) = found.all.first() {
            let pattern = &what.pattern;
            let state = match self.age_before(place, since) {
                TextAge::Echo => format!("{pattern} is {place} only as the echo of what was typed"),
                TextAge::Before(line) | TextAge::After(line) => {
                    let was = match place {
                        FoundPlace::Title | FoundPlace::Clipboard => "there",
                        _ => "on the screen",
                    };
                    let before =
                        if self.watch().is_between_inputs(place) { "the last input of " } else { "" };
                    format!("{pattern} is {place}, but was {was} before {before}line {line}: {OLD_TEXT}")
                }
            };
            let row = match place {
                FoundPlace::Cells(places) => places.first().cloned(),
                _ => None,
            };
            return (state, row);
        }
        let not = format!("not {}", what.area);
        match what.area {
            ScreenArea::Title => {
                return (format!("{not}; the title is {:?}", cut_for_message(self.screen().title())), None);
            }
            ScreenArea::Clipboard => {
                let state = match self.watch().clipboard() {
                    Some(text) => format!("{not}, which holds {:?}", cut_for_message(text)),
                    None => format!("{not}, which is empty"),
                };
                return (state, None);
            }
            _ => {}
        }
        match self.watch().nearest(what) {
            Some((row, age)) => {
                let number = row.place.row + 1;
                let state = format!("{not}; nearest: row {number} {:?}{}", row.text, age_words(age));
                (state, Some(row.place))
            }
            None => (not, None),
        }
    }

    /// Since when a place looks as it did at the mark.
    fn age_before(&self, place: &FoundPlace, since: &TestMark) -> TextAge {
        match self.watch().age(place) {
            Some(age @ (TextAge::Before(_) | TextAge::Echo)) => age,
            _ => TextAge::Before(since.line()),
        }
    }

    fn with_age(&self, place: &FoundPlace) -> String {
        format!("{place}{}", age_words(self.watch().age(place)))
    }
}

fn age_words(age: Option<TextAge>) -> String {
    match age {
        Some(TextAge::Before(line)) => format!(" (there since before line {line})"),
        Some(TextAge::After(line)) => format!(" (drawn since line {line})"),
        Some(TextAge::Echo) => " (the echo of what was typed)".to_owned(),
        None => String::new(),
    }
}

/// How often rows changed while the screen should settle.
#[derive(Debug, Default)]
struct RowChanges(std::collections::BTreeMap<u16, u32>);

impl RowChanges {
    /// Accounts for a frame; sets `changed` to now if a visible change counts.
    fn take(&mut self, frame: &FrameEnd, rules: &SettleRules, changed: &mut Instant) {
        if !frame.is_visible {
            return;
        }
        let is_excepted = |row: u16, col: u16| {
            rules.except.iter().any(|region| region.contains(row, col))
                || rules.only.is_some_and(|only| !only.contains(row, col))
        };
        let mut counts = frame.places.is_empty();
        for place in &frame.places {
            if place.cols.clone().any(|col| !is_excepted(place.row, col)) {
                *self.0.entry(place.row).or_default() += 1;
                counts = true;
            }
        }
        if counts {
            *changed = Instant::now();
        }
    }

    /// The rows that changed most, in words.
    fn words(&self) -> Option<String> {
        let mut rows: Vec<(u16, u32)> = self.0.iter().map(|(row, times)| (*row, *times)).collect();
        rows.sort_by_key(|(row, times)| (std::cmp::Reverse(*times), *row));
        rows.truncate(5);
        rows.sort_unstable();
        let named: Vec<String> =
            rows.iter().map(|(row, times)| format!("row {} ({times} times)", row + 1)).collect();
        (!named.is_empty()).then(|| format!("{} {KEPT_CHANGING}", named.join(", ")))
    }
}

#[cfg(test)]
#[path = "wait_tests.rs"]
mod tests;
