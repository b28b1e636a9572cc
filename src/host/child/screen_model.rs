//! The screen model beside the byte stream: what the child writes is forwarded first and fed afterwards.
//!
//! Bytes are read into its chunks, written to the terminals from there, and wait until the child is quiet,
//! until too many wait, or until somebody looks at the screen, which then is up to date. What waits is
//! bounded and nothing is dropped. A model that panics is switched off ([`super::guarded_screen`]); the bytes
//! still reach the terminals.

use std::collections::VecDeque;

use super::guarded_screen::GuardedScreen;
use super::output_chunk::{CHUNK, OutputChunk};
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::screen::{Dump, Query, Screen, TerminalIdentity, reply};
use crate::sys::clock::Clock;
use crate::tty::raw::END_OF_ANYTHING;

/// Bytes that may wait before the child is slowed down to the model's speed: a burst of 4 MiB passes as if
/// there were no model.
const WAITING_MAX: usize = (4 << 20) + (1 << 18);
/// Bytes that wait in the middle of a burst: four reads of a master.
const BURST: usize = 1 << 14;
/// Bytes that wait above which more come into larger chunks.
const FLOOD: usize = 1 << 18;
/// How long a flood's memory is kept for the next one, in ms: they come in a row, and new memory takes a
/// twentieth of the time in which a flood passes.
const KEPT_MS: u64 = 1000;
/// How many chunks are kept at most: more than a flood fills.
const SPARES_MAX: usize = 16;
/// How long the child must be quiet before the model is fed, in ms.
const QUIET_MS: u64 = 2;
/// The same where much waits: in the middle of a burst the child may be off its processor for some ms, and
/// the model would take it.
const PAUSE_MS: u64 = 10;
/// How long bytes may wait while it is not quiet, in ms.
const OLD_MS: u64 = 100;
/// How long the model is fed at a time, in microseconds: a key that is typed meanwhile waits as long.
const SLICE_US: u64 = 250;
/// Bytes that are fed between two looks at the clock, at first: more where the screen is fast, which is
/// faster with more, and fewer where a few bytes make it draw much.
const STEP: usize = 8192;
/// The fewest.
const STEP_MIN: usize = 256;
/// Bytes that people's terminals sent while the model is behind, of which more are not looked at: they are
/// for learning only.
const HEARD_MAX: usize = 1 << 12;
/// How many bytes to feed at a time after a step of `step` took so many microseconds. It grows slowly.
/// `whole`: whether the step was not cut by a chunk's end; what a few bytes took says little of what follows,
/// unless it was much.
fn next_step(step: usize, fed: usize, took: u64, whole: bool) -> usize {
    let fitting =
        usize::try_from(fed as u64 * SLICE_US / 2 / took.max(1)).unwrap_or(STEP).clamp(STEP_MIN, CHUNK / 2);
    if whole || took > SLICE_US { fitting.min(2 * step) } else { step }
}

/// A screen, and what it has not seen yet.
#[derive(Debug)]
pub(in crate::host) struct ScreenModel {
    screen: GuardedScreen,
    chunks: VecDeque<OutputChunk>,
    /// Those that were fed, to be read into again.
    spares: Vec<OutputChunk>,
    /// How much of the first chunk the screen has seen.
    fed: usize,
    /// Bytes that take about half a slice, as far as is known.
    step: usize,
    waiting: usize,
    /// When a flood was here, until its memory is given back.
    flooded: Option<Stamp>,
    /// Since when bytes wait.
    since: Stamp,
    /// When the last ones came.
    latest: Stamp,
    /// The rest of what waits is being fed.
    catching_up: bool,
    /// What the leader's terminal sent meanwhile: an answer is looked at behind its question.
    heard: Vec<u8>,
    /// The last chunk is out, to be read into.
    lent: bool,
    /// That it failed has been told.
    told: bool,
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
            heard: Vec::new(),
            lent: false,
            told: false,
        }
    }

    /// One for a run: so many lines of history, and whether its terminal takes names for windows.
    pub fn of_run(size: Size, history: usize, takes_names: bool) -> Self {
        let mut model = Self::new(size);
        model.change(|screen| {
            screen.set_history_limit(history);
            screen.set_takes_names(takes_names);
        });
        model
    }

    /// Begins with a blank screen below these lines, which are its history then.
    pub fn begin_below(&mut self, lines: &[u8]) {
        // So many scroll what stands there away, and no empty row with it.
        let below = usize::from(self.screen.size().1) - 1;
        self.screen.change(|screen| {
            screen.feed(lines);
            screen.feed(&b"\r\n".repeat(below));
            screen.feed(b"\x1b[H");
        });
    }

    /// The chunk that the next read goes into, behind what it holds; it is to be put back with
    /// [`ScreenModel::put`] before anybody looks.
    pub fn chunk(&mut self) -> OutputChunk {
        self.lent = true;
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
        self.lent = false;
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
        }
        self.waiting += new;
        if self.waiting >= FLOOD {
            self.flooded = Some(now);
        }
        self.chunks.push_back(chunk);
    }

    /// Nothing is fed to a screen that failed.
    fn forget(&mut self) {
        self.chunks.clear();
        self.spares.clear();
        self.heard = Vec::new();
        (self.fed, self.waiting) = (0, 0);
    }

    /// When the model is to be fed, its failure to be told, or a flood's memory to be given back; `None` when
    /// there is none of it.
    pub fn due(&self) -> Option<Stamp> {
        let soon = self.is_urgent(self.latest) || self.catching_up || self.has_failed();
        let at = if soon {
            Stamp(0)
        } else {
            self.latest.after(if self.is_behind() { PAUSE_MS } else { QUIET_MS })
        };
        let relief = self.flooded.map(|at| at.after(KEPT_MS));
        if self.waiting > 0 || self.has_failed() { Some(at) } else { relief }
    }

    fn has_failed(&self) -> bool {
        self.screen.is_off() && !self.told
    }

    /// Whether more waits than a key or a prompt makes.
    pub fn is_behind(&self) -> bool {
        self.waiting >= BURST
    }

    /// Whether it is, and more may come before the screen must keep up.
    pub fn is_bursting(&self) -> bool {
        (BURST..WAITING_MAX).contains(&self.waiting)
    }

    fn is_urgent(&self, now: Stamp) -> bool {
        self.waiting >= WAITING_MAX || now.since(self.since) >= OLD_MS
    }

    /// Feeds a slice if it is time to, and says whether it was.
    pub fn feed_when_due(&mut self, clock: &Clock) -> bool {
        if self.due().is_none_or(|at| at > clock.now()) {
            return false;
        }
        let begun = clock.micros();
        let mut at = begun;
        while at < begun + SLICE_US {
            let Some((fed, whole)) = self.step() else { break };
            let took = clock.micros() - at;
            at += took;
            self.step = next_step(self.step, fed, took, whole);
        }
        self.catching_up = self.waiting > 0 && !self.is_urgent(self.latest);
        true
    }

    /// Feeds the next bytes, and says how many and whether those were a whole step; `None` when there are
    /// none.
    fn step(&mut self) -> Option<(usize, bool)> {
        debug_assert!(!self.lent, "what is being read is not known yet");
        let first = self.chunks.front()?;
        let rest = &first.bytes()[self.fed..];
        // What a flood scrolls away is passed over, once for each chunk: it is looked for in all of it.
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
        if self.waiting == 0 && !self.heard.is_empty() {
            let heard = std::mem::take(&mut self.heard);
            self.screen.change(|screen| screen.learn(&heard));
        }
        Some((length, skipped == 0 && length == self.step))
    }

    /// Switches it off: what was made of it failed.
    pub fn give_up(&mut self) {
        self.screen.switch_off();
    }

    /// Whether a flood has been over for long: its memory is nobody's any more. Says so once.
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
        self.told |= failed;
        failed
    }

    /// Whether it failed and is switched off.
    pub fn is_off(&self) -> bool {
        self.screen.is_off()
    }

    fn catch_up(&mut self) {
        while self.step().is_some() {}
    }

    /// Looks at the screen after everything that the child has written. `None`: the model is switched off, or
    /// fails at this and is switched off now.
    pub fn look<T>(&mut self, look: impl FnOnce(&Screen) -> T) -> Option<T> {
        self.catch_up();
        self.screen.look(look)
    }

    /// The same for the screen as far as it was fed.
    pub fn look_so_far<T>(&mut self, look: impl FnOnce(&Screen) -> T) -> Option<T> {
        self.screen.look(look)
    }

    /// The same for what changes the screen, after everything that the child has written.
    pub fn change<T>(&mut self, change: impl FnOnce(&mut Screen) -> T) -> Option<T> {
        self.catch_up();
        self.screen.change(change)
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        self.screen.size()
    }

    /// Rises whenever the screen looks different, as far as it was fed, and when the model fails.
    pub fn revision(&self) -> u64 {
        self.screen.revision()
    }

    /// The same for what undoes it.
    pub fn undo_revision(&self) -> u64 {
        self.screen.undo_revision()
    }

    /// The whole state for another terminal, with up to so many lines of history; `None` as in
    /// [`ScreenModel::look`].
    pub fn dump(&mut self, lines: usize) -> Option<Dump> {
        self.look(|screen| {
            #[cfg(debug_assertions)]
            crate::host::event_loop::panic_when_asked("dump");
            screen.dump_with(lines)
        })
    }

    /// A new size, after everything that was written for the old one.
    pub fn resize(&mut self, size: Size) {
        self.catch_up();
        self.screen.resize(size.drawn());
    }

    /// Whether the child asked its terminal something, as far as the screen was fed; the questions are gone
    /// then. `None`: nothing.
    pub fn take_queries(&mut self) -> Option<Vec<Query>> {
        self.screen.change(Screen::take_queries).filter(|queries| !queries.is_empty())
    }

    /// What the child wanted a person to be told, as far as the screen was fed.
    pub fn take_notifications(&mut self) -> Vec<String> {
        self.screen.change(Screen::take_notifications).unwrap_or_default()
    }

    /// What it answers in its terminal's place.
    pub fn answer(&mut self, queries: &[Query], identity: &TerminalIdentity<'_>) -> Vec<Vec<u8>> {
        let answer = |screen: &mut Screen| {
            #[cfg(debug_assertions)]
            crate::host::event_loop::panic_when_asked("answer");
            screen.answered();
            let identity = TerminalIdentity { described: screen.described_colors(), ..*identity };
            queries.iter().map(|query| reply(query, &identity)).collect()
        };
        self.change(answer).unwrap_or_default()
    }

    /// Takes what the leader's terminal sent: the answers in it tell how that was before the child.
    pub fn learn(&mut self, bytes: &[u8]) {
        if self.waiting == 0 {
            self.screen.change(|screen| screen.learn(bytes));
        } else {
            let room = HEARD_MAX.saturating_sub(self.heard.len());
            self.heard.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// What puts a terminal back that shows everything which the child has written.
    pub fn undo(&mut self) -> Vec<u8> {
        let undo = self.look(|screen| [screen.ending(), &screen.undo()].concat());
        // Which sequence is just being written is not known any more.
        undo.unwrap_or_else(|| [END_OF_ANYTHING, &self.last_undo()].concat())
    }

    /// The same for what was fed so far, without the end of a sequence that is just being written.
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
