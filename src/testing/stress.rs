//! `--stress`: simulates what a loaded machine does to a program and its test, from a seed.
//!
//! Output is read a few bytes at a time, keys come at uneven times, the program is stopped and continued for
//! a moment, and other work keeps the CPUs busy. A tape that passes only on an idle machine fails here before
//! it fails in CI.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The most bytes of one read under stress.
const READ_MAX: u64 = 7;
/// The longest pause before a key, in ms.
const KEY_PAUSE_MAX_MS: u64 = 30;
/// One in this many reads is preceded by a stop of the program.
const STOP_ONE_IN: u64 = 64;
/// The longest stop, in ms. Shorter than the quiet time of a settle, which must not be fooled.
const STOP_MAX_MS: u64 = 15;
/// Threads that keep the CPUs busy.
const BUSY_LOOPS: usize = 2;

/// A stream of random choices that is the same on every machine for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct SeededChoices {
    state: u64,
}

impl SeededChoices {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        SeededChoices { state: seed }
    }

    /// The stream of a seed for one tape and one attempt, so that tapes do not depend on each other's order.
    #[must_use]
    pub fn for_tape(seed: u64, name: &str, attempt: u32) -> Self {
        let mut state = seed ^ u64::from(attempt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in name.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        SeededChoices { state }
    }

    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    /// Puts the elements into a random order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let other = usize::try_from(self.below(last as u64 + 1)).unwrap_or(0);
            all.swap(last, other);
        }
    }

    /// How many bytes the next read may take: 1 to 7.
    pub fn read_length(&mut self) -> usize {
        usize::try_from(1 + self.below(READ_MAX)).unwrap_or(1)
    }

    /// The pause before the next key: 0 to 30 ms.
    pub fn key_pause(&mut self) -> Duration {
        Duration::from_millis(self.below(KEY_PAUSE_MAX_MS + 1))
    }

    /// How long to stop the program before the next read; mostly not at all.
    pub fn stop(&mut self) -> Option<Duration> {
        (self.below(STOP_ONE_IN) == 0).then(|| Duration::from_millis(1 + self.below(STOP_MAX_MS)))
    }
}

/// Threads that keep CPUs busy until this is dropped.
#[derive(Debug)]
pub struct BusyLoops {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyLoops {
    pub fn start() -> io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::with_capacity(BUSY_LOOPS);
        for _ in 0..BUSY_LOOPS {
            let flag = Arc::clone(&over);
            let spin = move || {
                while !flag.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            threads.push(std::thread::Builder::new().name("busy".into()).spawn(spin)?);
        }
        Ok(BusyLoops { over, threads })
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_choices_and_each_tape_its_own() {
        let draw = |mut choices: SeededChoices| [(); 8].map(|()| choices.number());
        assert_eq!(draw(SeededChoices::new(7)), draw(SeededChoices::new(7)));
        assert_ne!(draw(SeededChoices::new(7)), draw(SeededChoices::new(8)));
        let tape = |name, attempt| draw(SeededChoices::for_tape(7, name, attempt));
        assert_eq!(tape("vim", 1), tape("vim", 1));
        assert_ne!(tape("vim", 1), tape("vim", 2));
        assert_ne!(tape("vim", 1), tape("mc", 1));
    }

    #[test]
    fn choices_stay_within_their_limits_and_reach_them() {
        let mut choices = SeededChoices::new(1);
        let reads: Vec<usize> = (0..1000).map(|_| choices.read_length()).collect();
        assert_eq!((reads.iter().min(), reads.iter().max()), (Some(&1), Some(&7)));
        let pauses: Vec<Duration> = (0..1000).map(|_| choices.key_pause()).collect();
        assert_eq!(pauses.iter().max(), Some(&Duration::from_millis(KEY_PAUSE_MAX_MS)));
        let stops = (0..6400).filter_map(|_| choices.stop()).count();
        assert!((50..200).contains(&stops), "{stops}");
    }

    #[test]
    fn a_shuffle_keeps_every_element() {
        let mut all: Vec<u32> = (0..100).collect();
        SeededChoices::new(3).shuffle(&mut all);
        assert_ne!(all, (0..100).collect::<Vec<_>>());
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn busy_loops_end_when_they_are_dropped() {
        drop(BusyLoops::start().unwrap());
    }
}
