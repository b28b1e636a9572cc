//! The screen model beside the byte stream: the child's output is forwarded first and fed to the model
//! afterwards.
//!
//! Bytes are read into its chunks, written to the terminals from there, and wait until the child is quiet,
//! until too many wait, or until the screen is read, which then is up to date. The backlog is bounded and
//! nothing is dropped. A few bytes can cost the model as much as a whole screen, so its work is bounded by
//! time: a reader that would have to wait longer than [`LOOK_US`] sees an older screen. A model that panics
//! is switched off ([`super::guarded_screen`]); the bytes still reach the terminals.

use std::collections::VecDeque;

use super::guarded_screen::GuardedScreen;
use super::output_chunk::OutputChunk;
use super::screen_marks::{RowsSince, ScreenMarks};
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::screen::{Dump, Query, Screen, TerminalIdentity, reply};
use crate::sys::clock::Clock;
use crate::tty::raw::END_OF_ANYTHING;

/// The backlog above which the child is slowed down to the model's speed: a burst of 4 MiB passes as if there
/// were no model.
const WAITING_MAX: usize = (4 << 20) + (1 << 18);
/// The backlog in the middle of a burst: four reads of a master.
const BURST: usize = 1 << 14;
/// The backlog above which output is read into larger chunks.
const FLOOD: usize = 1 << 18;
/// How long a flood's memory is kept for the next one, in ms: floods come in series, and allocating takes a
/// twentieth of a flood's time.
const KEPT_MS: u64 = 1000;
/// The most chunks that are kept: more than a flood fills.
const SPARES_MAX: usize = 16;
/// How long the child must be quiet before the model is fed, in ms.
const OUTPUT_PAUSE_MS: u64 = 2;
/// How long it must be quiet with a large backlog: in the middle of a burst the child may lose its processor
/// for some ms, and the model would take it.
const PAUSE_MS: u64 = 10;
/// How long bytes may wait while the child is not quiet, in ms.
const OLD_MS: u64 = 100;
/// How long the model is fed at a time, in microseconds: the longest delay of a key typed meanwhile.
const SLICE_US: u64 = 250;
/// How long the model is fed before it is read, in microseconds: the longest delay that an output with much
/// work in few bytes can cause. Of usual output a full backlog takes a tenth of that.
const LOOK_US: u64 = 200_000;
/// How long readers then get the screen without such a delay, in microseconds.
const REST_US: u64 = 5 * LOOK_US;
/// Bytes that are fed between two readings of the clock: at first and at most. Fewer if a few bytes take
/// long.
const STEP: usize = 8192;
/// The fewest bytes that are fed between two readings of the clock: two sequences.
const STEP_MIN: usize = 16;
/// How many bytes from people's terminals are kept while the model is behind; more are dropped, since they
/// only help to learn the terminal's state.
const HEARD_MAX: usize = 1 << 12;
/// How many bytes to feed at a time after a step of `step` bytes took this many microseconds. It grows
/// slowly. `whole`: the step was not cut by a chunk's end; the time of a few bytes predicts little unless it
/// was long.
fn next_step(step: usize, fed: usize, took: u64, whole: bool) -> usize {
    let fitting =
        usize::try_from(fed as u64 * SLICE_US / 2 / took.max(1)).unwrap_or(STEP).clamp(STEP_MIN, STEP);
    if whole || took > SLICE_US { fitting.min(2 * step) } else { step }
}

/// Bytes that were fed to the screen.
#[derive(Debug, PartialEq, Eq)]
struct FedBytes {
    length: usize,
    /// They were not cut by a chunk's end, and none were skipped.
    is_whole_step: bool,
}

/// A screen and its backlog.
#[derive(Debug)]
pub(in crate::host) struct ScreenModel {
    screen: GuardedScreen,
    chunks: VecDeque<OutputChunk>,
    /// Chunks that were fed, for reuse.
    spares: Vec<OutputChunk>,
    /// How much of the first chunk was fed.
    fed: usize,
    /// Estimate of the bytes that take half a slice.
    step: usize,
    waiting: usize,
    /// When the last flood was, until its memory is freed.
    flooded: Option<Stamp>,
    /// When the oldest waiting bytes arrived.
    since: Stamp,
    /// When the newest bytes arrived.
    latest: Stamp,
    /// The rest of the backlog is being fed.
    catching_up: bool,
    /// Input from the leader's terminal meanwhile: an answer must be read after its query.
    answer_bytes: Vec<u8>,
    /// The last chunk is in use by a reader.
    is_being_read: bool,
    /// Its failure was reported.
    failure_reported: bool,
    marks: ScreenMarks,
    stopwatch: Clock,
    /// Until when a reader does not wait for the backlog, by the stopwatch in microseconds.
    rests_until: u64,
}

impl ScreenModel {
    pub fn new(size: Size) -> Self {
        ScreenModel {
            screen: GuardedScreen::new(size.drawn()),
            chunks: VecDeque::new(),
            spares: Vec::new(),
            fed: 0,
            step: STEP,
            waiting: 0,
            flooded: None,
            since: Stamp(0),
            latest: Stamp(0),
            catching_up: false,
            answer_bytes: Vec::new(),
            is_being_read: false,
            failure_reported: false,
            marks: ScreenMarks::default(),
            stopwatch: Clock::start(),
            rests_until: 0,
        }
    }

    /// For a run, with `history` lines of scrollback; `names`: its terminal accepts window names.
    pub fn of_run(size: Size, history: usize, takes_names: bool) -> Self {
        let mut model = Self::new(size);
        model.change(|screen| {
            screen.set_history_limit(history);
            screen.set_takes_names(takes_names);
        });
        model
    }

    /// Starts with a blank screen below these lines, which become scrollback.
    pub fn begin_below(&mut self, lines: &[u8]) {
        // These line feeds scroll the content away without adding an empty row.
        let below = usize::from(self.screen.size().1) - 1;
        self.screen.change(|screen| {
            screen.feed(lines);
            screen.feed(&b"\r\n".repeat(below));
            screen.feed(b"\x1b[H");
        });
    }

    /// The chunk for the next read, with free space at its end; return it with [`ScreenModel::put`] before
    /// anything reads the screen.
    pub fn chunk(&mut self) -> OutputChunk {
        self.is_being_read = true;
        let last =
            if self.chunks.back().is_some_and(OutputChunk::has_room) { self.chunks.pop_back() } else { None };
        let flood = self.waiting >= FLOOD;
        let spare = |spares: &mut Vec<OutputChunk>| {
            spares.iter().position(|chunk| chunk.is_of_flood() == flood).map(|at| spares.remove(at))
        };
        last.or_else(|| spare(&mut self.spares)).unwrap_or_else(if flood {
            OutputChunk::of_flood
        } else {
            OutputChunk::new
        })
    }

    /// Takes a chunk back with `new` more bytes at its end.
    pub fn put(&mut self, chunk: OutputChunk, new: usize, now: Stamp) {
        self.is_being_read = false;
        if self.screen.is_off() {
            self.forget();
            return;
        }
        if chunk.filled == 0 {
            return;
        }
        if self.waiting == 0 {
            self.since = now;
        }
        if new > 0 {
            self.latest = now;
            self.catching_up = false;
            self.marks.open(now);
        }
        self.waiting += new;
        if self.waiting >= FLOOD {
            self.flooded = Some(now);
        }
        self.chunks.push_back(chunk);
    }

    /// Drops the backlog of a screen that failed.
    fn forget(&mut self) {
        self.chunks.clear();
        self.spares.clear();
        self.answer_bytes = Vec::new();
        (self.fed, self.waiting) = (0, 0);
    }

    /// When to feed the model, report its failure or free a flood's memory; `None` if none of these is due.
    pub fn due(&self) -> Option<Stamp> {
        let soon = self.is_urgent(self.latest) || self.catching_up || self.has_failed();
        let at = if soon {
            Stamp(0)
        } else {
            self.latest.after(if self.is_behind() { PAUSE_MS } else { OUTPUT_PAUSE_MS })
        };
        if self.waiting > 0 || self.has_failed() || self.marks.is_open() {
            return Some(at);
        }
        self.flooded.map(|at| at.after(KEPT_MS))
    }

    fn has_failed(&self) -> bool {
        self.screen.is_off() && !self.failure_reported
    }

    /// Whether the backlog is larger than the echo of a key or a prompt.
    pub fn is_behind(&self) -> bool {
        self.waiting >= BURST
    }

    /// Whether the model is behind, and more output may be read before it must catch up.
    pub fn is_bursting(&self) -> bool {
        (BURST..self.room()).contains(&self.waiting)
    }

    /// Whether no more output may be read until some of it was fed.
    pub fn is_full(&self) -> bool {
        self.waiting >= self.room()
    }

    /// Whether there is output that was not fed.
    pub fn lags(&self) -> bool {
        self.waiting > 0
    }

    /// The backlog above which the child is slowed down: what a reader waits for at the present speed.
    fn room(&self) -> usize {
        (self.step * (2 * LOOK_US / SLICE_US) as usize).clamp(2 * BURST, WAITING_MAX)
    }

    fn is_urgent(&self, now: Stamp) -> bool {
        self.is_full() || now.since(self.since) >= OLD_MS
    }

    /// Feeds a slice if that is due; returns whether it was.
    pub fn feed_when_due(&mut self, clock: &Clock) -> bool {
        if self.due().is_none_or(|at| at > clock.now()) {
            return false;
        }
        let begun = clock.micros();
        let mut at = begun;
        while at < begun + SLICE_US {
            let Some(FedBytes { length, is_whole_step }) = self.step() else { break };
            let took = clock.micros() - at;
            at += took;
            self.step = next_step(self.step, length, took, is_whole_step);
        }
        self.catching_up = self.waiting > 0 && !self.is_urgent(self.latest);
        self.end_frame(clock.now());
        true
    }

    /// Ends the frame if all output was fed and the program has paused, or if it never pauses.
    fn end_frame(&mut self, now: Stamp) {
        let is_quiet = self.waiting == 0 && now.since(self.latest) >= OUTPUT_PAUSE_MS;
        if is_quiet || self.marks.is_overdue(now) {
            let marks = &mut self.marks;
            self.screen.change(|screen| marks.end_frame(screen, now));
        }
    }

    /// Takes a mark: what is on the screen, all output included, is old from now on. `None` as for
    /// [`ScreenModel::look`].
    pub fn take_mark(&mut self, now: Stamp) -> Option<u64> {
        self.catch_up();
        let marks = &mut self.marks;
        self.screen.change(|screen| marks.take(screen, now))
    }

    /// Whether this mark can be one of this screen.
    pub fn has_mark(&self, mark: u64) -> bool {
        self.screen.is_off() || self.marks.has(mark)
    }

    /// The rows with what is new in them since a mark; with `None` everything is new. The outer `None` is
    /// that of [`ScreenModel::look`], the inner one means the middle of a frame.
    pub fn rows_since(&mut self, mark: Option<u64>, now: Stamp) -> Option<Option<RowsSince>> {
        self.end_frame(now);
        let marks = &self.marks;
        self.screen.look(|screen| marks.rows_since(screen, mark))
    }

    /// Feeds the next bytes; `None` if there are none.
    fn step(&mut self) -> Option<FedBytes> {
        debug_assert!(!self.is_being_read, "what is being read is not known yet");
        let first = self.chunks.front()?;
        let rest = &first.bytes()[self.fed..];
        // Lines that a flood scrolls away are skipped, once per chunk, because that searches the whole chunk.
        let skipped =
            if self.fed == 0 { self.screen.change(|screen| screen.skip(rest)).unwrap_or(0) } else { 0 };
        let length = if skipped > 0 { skipped } else { rest.len().min(self.step) };
        if self.screen.change(|screen| screen.feed(&rest[skipped..length])).is_none() {
            self.forget();
            return None;
        }
        self.fed += length;
        self.waiting -= length;
        if self.fed == first.filled {
            self.spares.extend(self.chunks.pop_front().map(OutputChunk::emptied));
            self.fed = 0;
            self.spares.truncate(if self.waiting == 0 && self.flooded.is_none() { 1 } else { SPARES_MAX });
        }
        if self.waiting == 0 && !self.answer_bytes.is_empty() {
            let heard = std::mem::take(&mut self.answer_bytes);
            self.screen.change(|screen| screen.learn(&heard));
        }
        Some(FedBytes { length, is_whole_step: skipped == 0 && length == self.step })
    }

    /// Switches the model off because a result of it caused a failure.
    pub fn give_up(&mut self) {
        self.screen.switch_off();
    }

    /// Whether a flood ended long ago, so that its memory can be freed. Returns true once.
    pub fn take_relief(&mut self, now: Stamp) -> bool {
        let relieved = self.waiting == 0 && self.flooded.is_some_and(|at| now >= at.after(KEPT_MS));
        if relieved {
            self.flooded = None;
            self.spares.clear();
        }
        relieved
    }

    /// Whether it failed since the last call.
    pub fn take_failure(&mut self) -> bool {
        let failed = self.has_failed();
        self.failure_reported |= failed;
        failed
    }

    /// Whether it failed and is switched off.
    pub fn is_off(&self) -> bool {
        self.screen.is_off()
    }

    /// Feeds all output, or as much as the time allows.
    fn catch_up(&mut self) {
        if self.waiting == 0 {
            return;
        }
        let begun = self.stopwatch.micros();
        let rests = begun < self.rests_until;
        let end = begun + if rests { SLICE_US } else { LOOK_US };
        let mut at = begun;
        while let Some(FedBytes { length, is_whole_step }) = self.step() {
            let took = self.stopwatch.micros() - at;
            at += took;
            self.step = next_step(self.step, length, took, is_whole_step);
            if at >= end {
                if !rests {
                    self.rests_until = at + REST_US;
                }
                return;
            }
        }
    }

    /// The output that was not fed.
    pub fn backlog(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.chunks.iter().flat_map(OutputChunk::bytes).copied().collect();
        bytes.drain(..self.fed);
        bytes
    }

    /// Reads the screen after feeding all output, or as much as [`LOOK_US`] allows. `None`: the model is
    /// switched off, or panics now and is switched off.
    pub fn look<T>(&mut self, look: impl FnOnce(&Screen) -> T) -> Option<T> {
        self.catch_up();
        self.screen.look(look)
    }

    /// [`ScreenModel::look`] at the screen as fed so far.
    pub fn look_so_far<T>(&mut self, look: impl FnOnce(&Screen) -> T) -> Option<T> {
        self.screen.look(look)
    }

    /// [`ScreenModel::look`] with a closure that changes the screen.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Screen) -> T) -> Option<T> {
        self.catch_up();
        self.screen.change(change)
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        self.screen.size()
    }

    /// Increases whenever the screen looks different, as fed so far, and when the model fails.
    pub fn revision(&self) -> u64 {
        self.screen.revision()
    }

    /// Increases when the undo may have changed, as fed so far.
    pub fn undo_revision(&self) -> u64 {
        self.screen.undo_revision()
    }

    /// The whole state for another terminal, with at most this many lines of history; `None` as for
    /// [`ScreenModel::look`].
    pub fn dump(&mut self, lines: usize) -> Option<Dump> {
        self.look(|screen| {
            crate::sys::fault_injection::panic_at("dump");
            screen.dump_with(lines)
        })
    }

    /// Resizes the screen, after feeding output that was written for the old size.
    pub fn resize(&mut self, size: Size) {
        self.catch_up();
        self.screen.resize(size.drawn());
        self.marks.open(self.latest);
    }

    /// Takes the child's queries to its terminal, as fed so far; `None` if there are none.
    pub fn take_queries(&mut self) -> Option<Vec<Query>> {
        self.screen.change(Screen::take_queries).filter(|queries| !queries.is_empty())
    }

    /// The child's notifications for people, as fed so far.
    pub fn take_notifications(&mut self) -> Vec<String> {
        self.screen.change(Screen::take_notifications).unwrap_or_default()
    }

    /// The screen model's answers to queries, in place of a terminal.
    pub fn answer(&mut self, queries: &[Query], identity: &TerminalIdentity<'_>) -> Vec<Vec<u8>> {
        let answer = |screen: &mut Screen| {
            crate::sys::fault_injection::panic_at("answer");
            screen.answered();
            let identity = TerminalIdentity { described: screen.described_colors(), ..*identity };
            queries.iter().map(|query| reply(query, &identity)).collect()
        };
        self.change(answer).unwrap_or_default()
    }

    /// Reads input from the leader's terminal: answers in it describe the terminal before the child started.
    pub fn learn(&mut self, bytes: &[u8]) {
        if self.waiting == 0 {
            self.screen.change(|screen| screen.learn(bytes));
        } else {
            let room = HEARD_MAX.saturating_sub(self.answer_bytes.len());
            self.answer_bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// The bytes that restore a terminal that shows all of the child's output.
    pub fn undo(&mut self) -> Vec<u8> {
        self.catch_up();
        let rest = self.backlog();
        let undo = self.screen.look(|screen| {
            if rest.is_empty() {
                return [screen.ending(), &screen.undo()].concat();
            }
            // Modes do not depend on the size, and a small screen is fast whatever the output does.
            let mut small = Screen::new(2, 2);
            small.set_terminal_before(screen.terminal_before().clone());
            let dump = screen.dump_with(0);
            [dump.screen, dump.unfinished, rest].iter().for_each(|bytes| small.feed(bytes));
            [small.ending(), &small.undo()].concat()
        });
        // What sequence was unfinished is no longer known.
        undo.unwrap_or_else(|| [END_OF_ANYTHING, &self.last_undo()].concat())
    }

    /// [`ScreenModel::undo`] for the output fed so far, without ending an unfinished sequence.
    pub fn undo_so_far(&mut self) -> Vec<u8> {
        let undo = self.screen.look(Screen::undo);
        undo.unwrap_or_else(|| self.last_undo())
    }

    fn last_undo(&self) -> Vec<u8> {
        self.screen.last_undo().unwrap_or_default().to_vec()
    }
}

#[cfg(test)]
mod tests;
