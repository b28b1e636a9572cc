//! The screen model beside the byte stream: what the child writes is forwarded first and fed afterwards.
//!
//! Bytes are read into its chunks, written to the terminals from there, and wait until the child is quiet, until too many
//! wait, or until somebody looks at the screen, which then is up to date. What waits is bounded and nothing is dropped
//! (DESIGN 3.1). A model that panics is switched off ([`super::guard`]); the bytes go on (DESIGN 3.2).

use std::collections::VecDeque;

use super::chunk::{CHUNK, Chunk, FLOOD_CHUNK};
use super::guard::Guarded;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::io::clock::Clock;
use crate::screen::{Dump, Identity, Query, Screen, reply};
use crate::tty::raw::END_OF_ANYTHING;

/// Bytes that may wait before the child is slowed down to the model's speed: a burst of 4 MiB passes as if there were no
/// model.
const WAITING_MAX: usize = (4 << 20) + (1 << 18);
/// Bytes that wait in the middle of a burst: four reads of a master.
const BURST: usize = 1 << 14;
/// Bytes that have waited above which their memory is worth giving back.
const LARGE: usize = 1 << 20;
/// How long the child must be quiet before the model is fed, in ms.
const QUIET_MS: u64 = 2;
/// The same where much waits: in the middle of a burst the child may be off its processor for some ms, and the model would take it.
const PAUSE_MS: u64 = 10;
/// How long bytes may wait while it is not quiet, in ms.
const OLD_MS: u64 = 100;
/// How long the model is fed at a time, in microseconds: a key that is typed meanwhile waits as long.
const SLICE_US: u64 = 250;
/// Bytes that are fed between two looks at the clock, at first: more where the screen is fast, which is faster with more, and fewer
/// where a few bytes make it draw much.
const STEP: usize = 8192;
/// The fewest.
const STEP_MIN: usize = 256;
/// Bytes that people's terminals sent while the model is behind, of which more are not looked at: they are for learning only.
const HEARD_MAX: usize = 1 << 12;
/// How many bytes to feed at a time after a step of `step` took so many microseconds. It grows slowly. `whole`: whether the step was not
/// cut by a chunk's end; what a few bytes took says little of what follows, unless it was much.
fn next_step(step: usize, fed: usize, took: u64, whole: bool) -> usize {
    let fitting = usize::try_from(fed as u64 * SLICE_US / 2 / took.max(1)).unwrap_or(STEP).clamp(STEP_MIN, CHUNK / 2);
    if whole || took > SLICE_US { fitting.min(2 * step) } else { step }
}

/// A screen, and what it has not seen yet.
#[derive(Debug)]
pub(super) struct Model {
    screen: Guarded,
    chunks: VecDeque<Chunk>,
    /// How much of the first chunk the screen has seen.
    fed: usize,
    /// Bytes that take about half a slice, as far as is known.
    step: usize,
    waiting: usize,
    /// The most that has waited since it was last given back.
    most: usize,
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

impl Model {
    pub fn new(size: Size) -> Self {
        Model {
            screen: Guarded::new(size.drawn()),
            chunks: VecDeque::new(),
            fed: 0,
            step: STEP,
            waiting: 0,
            most: 0,
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

    /// The chunk that the next read goes into, behind what it holds; it is to be put back with [`Model::put`] before anybody looks.
    pub fn chunk(&mut self) -> Chunk {
        self.lent = true;
        let last = if self.chunks.back().is_some_and(Chunk::has_room) { self.chunks.pop_back() } else { None };
        last.unwrap_or_else(|| Chunk::new(if self.waiting < CHUNK { CHUNK } else { FLOOD_CHUNK }))
    }

    /// Takes a chunk back with `new` more bytes at its end.
    pub fn put(&mut self, chunk: Chunk, new: usize, now: Stamp) {
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
        self.most = self.most.max(self.waiting);
        self.chunks.push_back(chunk);
    }

    /// Nothing is fed to a screen that failed.
    fn forget(&mut self) {
        self.chunks.clear();
        self.heard = Vec::new();
        (self.fed, self.waiting) = (0, 0);
    }

    /// When the model is to be fed, or its failure to be told; `None` when nothing waits.
    pub fn due(&self) -> Option<Stamp> {
        let soon = self.is_urgent(self.latest) || self.catching_up || self.has_failed();
        let at = if soon { Stamp(0) } else { self.latest.after(if self.is_behind() { PAUSE_MS } else { QUIET_MS }) };
        (self.waiting > 0 || self.has_failed()).then_some(at)
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

    /// Feeds a slice if it is time to.
    pub fn feed_when_due(&mut self, clock: &Clock) {
        if self.due().is_none_or(|at| at > clock.now()) {
            return;
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
    }

    /// Feeds the next bytes, and says how many and whether those were a whole step; `None` when there are none.
    fn step(&mut self) -> Option<(usize, bool)> {
        debug_assert!(!self.lent, "what is being read is not known yet");
        let first = self.chunks.front()?;
        let rest = &first.bytes[self.fed..first.filled];
        // What a flood scrolls away is passed over, once for each chunk: it is looked for in all of it.
        let skipped = if self.fed == 0 { self.screen.change(|screen| screen.skip(rest)).unwrap_or(0) } else { 0 };
        let length = if skipped > 0 { skipped } else { rest.len().min(self.step) };
        if self.screen.change(|screen| screen.feed(&rest[skipped..length])).is_none() {
            self.forget();
            return None;
        }
        self.fed += length;
        self.waiting -= length;
        if self.fed == first.filled {
            self.chunks.pop_front();
            self.fed = 0;
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

    /// Whether much had waited, and nothing does any more. Says so once.
    pub fn take_relief(&mut self) -> bool {
        let relieved = self.waiting == 0 && self.most >= LARGE;
        if relieved {
            self.most = 0;
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

    /// Looks at the screen after everything that the child has written. `None`: the model is switched off, or fails at this and
    /// is switched off now.
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

    /// The whole state for another terminal, with up to so many lines of history; `None` as in [`Model::look`].
    pub fn dump(&mut self, lines: usize) -> Option<Dump> {
        self.look(|screen| {
            #[cfg(debug_assertions)]
            super::event_loop::panic_when_asked("dump");
            screen.dump_with(lines)
        })
    }

    /// A new size, after everything that was written for the old one.
    pub fn resize(&mut self, size: Size) {
        self.catch_up();
        self.screen.resize(size.drawn());
    }

    /// Whether the child asked its terminal something, as far as the screen was fed; the questions are gone then. `None`: nothing.
    pub fn take_queries(&mut self) -> Option<Vec<Query>> {
        self.screen.change(Screen::take_queries).filter(|queries| !queries.is_empty())
    }

    /// What the child wanted a person to be told, as far as the screen was fed.
    pub fn take_said(&mut self) -> Vec<String> {
        self.screen.change(Screen::take_said).unwrap_or_default()
    }

    /// What it answers in its terminal's place.
    pub fn answer(&mut self, queries: &[Query], identity: &Identity<'_>) -> Vec<Vec<u8>> {
        let answer = |screen: &mut Screen| {
            #[cfg(debug_assertions)]
            super::event_loop::panic_when_asked("answer");
            screen.answered();
            let identity = Identity { described: screen.described_colors(), ..*identity };
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
mod tests {
    use super::*;

    fn write(model: &mut Model, bytes: &[u8], now: Stamp) {
        let mut chunk = model.chunk();
        chunk.room()[..bytes.len()].copy_from_slice(bytes);
        assert_eq!(chunk.took(bytes.len()), bytes);
        model.put(chunk, bytes.len(), now);
    }

    #[test]
    fn who_looks_sees_everything() {
        let mut model = Model::new(Size::cells(10, 2));
        write(&mut model, b"ab", Stamp(5));
        write(&mut model, b"c\x1b[5n", Stamp(5));
        assert_eq!(model.look_so_far(|screen| screen.lines()[0].clone()).as_deref(), Some(""));
        assert_eq!(model.look(|screen| screen.lines()[0].clone()).as_deref(), Some("abc"));
        assert_eq!((model.waiting, model.due()), (0, None));
        assert_eq!(model.take_queries().map(|queries| queries.len()), Some(1));
    }

    #[test]
    fn an_answer_is_heard_behind_its_question() {
        let mut model = Model::new(Size::cells(10, 2));
        write(&mut model, b"\x1b[?2004$p", Stamp(5));
        model.learn(b"\x1b[?2004;1$y");
        write(&mut model, b"\x1b[?2004l\x1b[?25", Stamp(5));
        assert_eq!(model.undo_so_far(), b"");
        assert_eq!(model.undo(), b"\x18\x1b[?2004h");
        assert_eq!(model.undo_so_far(), b"\x1b[?2004h");
    }

    #[test]
    fn a_model_that_failed_knows_what_was_on() {
        let mut model = Model::new(Size::cells(10, 2));
        write(&mut model, b"\x1b[?2004h", Stamp(5));
        assert_eq!(model.look(|_| -> u8 { panic!("wanted") }), None);
        write(&mut model, b"\x1b[?1049h", Stamp(5));
        assert_eq!((model.undo(), model.undo_so_far()), (b"\x18\x1b\\\x1b[?2004l".to_vec(), b"\x1b[?2004l".to_vec()));
        // Nothing else may happen to wake the host, and it is told once.
        assert_eq!((model.due(), model.take_failure()), (Some(Stamp(0)), true));
        assert_eq!((model.due(), model.take_failure()), (None, false));
    }

    #[test]
    fn quiet_comes_first_but_not_for_ever() {
        let clock = Clock::start();
        let mut model = Model::new(Size::cells(10, 2));
        assert_eq!(model.due(), None);
        write(&mut model, b"a", Stamp(5));
        assert_eq!(model.due(), Some(Stamp(5 + QUIET_MS)));
        write(&mut model, b"b", Stamp(5 + OLD_MS - 1));
        assert_eq!(model.due(), Some(Stamp(5 + OLD_MS - 1 + QUIET_MS)));
        write(&mut model, b"c", Stamp(5 + OLD_MS));
        assert_eq!(model.due(), Some(Stamp(0)));
        model.feed_when_due(&clock);
        assert_eq!(model.look_so_far(|screen| screen.lines()[0].clone()).as_deref(), Some("abc"));
        assert_eq!(model.due(), None);
        write(&mut model, &[b'a'; BURST], Stamp(500));
        assert_eq!(model.due(), Some(Stamp(500 + PAUSE_MS)), "in a burst a pause is longer");
    }

    #[test]
    fn steps_grow_slowly_and_shrink_at_once() {
        assert_eq!(next_step(STEP, STEP, 25, true), 2 * STEP, "five times as much would fit");
        assert_eq!(next_step(2 * STEP, 2 * STEP, 1, true), CHUNK / 2, "never more");
        assert_eq!(next_step(CHUNK / 2, CHUNK / 2, 500, true), STEP, "what is slow");
        assert_eq!(next_step(STEP, STEP, 100_000, true), STEP_MIN, "never less");
        assert_eq!(next_step(STEP_MIN, STEP_MIN, 1, true), 2 * STEP_MIN);
        assert_eq!(next_step(2 * STEP, FLOOD_CHUNK, 200, false), 2 * STEP, "what was passed over");
        assert_eq!(next_step(2 * STEP, 100, 2, false), 2 * STEP, "the end of a chunk");
        assert_eq!(next_step(2 * STEP, 100, 5000, false), STEP_MIN, "a slow end of a chunk");
    }

    #[test]
    fn a_flood_is_passed_over() {
        let mut model = Model::new(Size::cells(20, 4));
        model.change(|screen| screen.set_history_limit(10));
        write(&mut model, b"\n\n\n\n", Stamp(5));
        model.look(|_| ());
        write(&mut model, &b"a line of text\r\n".repeat(2000), Stamp(5));
        assert_eq!(model.step(), Some((16 * 1986, false)));
        assert_eq!(model.look(|screen| (screen.history_len(), screen.lines()[2].clone())), Some((10, "a line of text".to_owned())));
    }

    #[test]
    fn too_much_is_fed_at_once_in_slices() {
        let clock = Clock::start();
        let mut model = Model::new(Size::cells(10, 2));
        let mut written = 0;
        while model.due() != Some(Stamp(0)) {
            write(&mut model, &[b'x'; 4096], Stamp(5));
            written += 4096;
        }
        assert!((WAITING_MAX..WAITING_MAX + 8192).contains(&written));
        model.feed_when_due(&clock);
        assert!(model.waiting < written && model.waiting > 0, "a slice, not all");
        let room: usize = model.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        assert!(room <= model.waiting + 2 * FLOOD_CHUNK, "chunks are filled");
        assert!(!model.take_relief());
        model.look(|_| ());
        assert!(model.chunks.is_empty());
        assert!(model.take_relief() && !model.take_relief());
    }
}
