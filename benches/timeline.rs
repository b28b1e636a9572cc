//! What it costs to look into a long recording: loading it, going to any time, stepping back, searching all.
//!
//! ```sh
//! cargo bench --bench timeline            # 100 MB of each workload
//! cargo bench --bench timeline -- 20      # 20 MB
//! ```
//!
//! Nothing is asserted.

#![allow(clippy::unwrap_used, reason = "as in tests: what is not as expected ends it")]

use std::time::Instant;

use hopty::core::cast::{CastHeader, CastWriter};
use hopty::recording::moment::Moment;
use hopty::recording::timeline::{Timeline, TimelineLoader};
use hopty::recording::timeline_search::{SearchDirection, TimelineSearch};

/// Times that are gone to, and frames that are stepped back.
const SEEKS: usize = 300;
const STEPS: u32 = 20;

fn main() {
    let mb: usize = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(100);
    println!(
        "| {mb} MB of 100x30 | load, MB/s | seek, ms (median, worst) | a step back, ms | search all, s |"
    );
    println!("|---|---|---|---|---|");
    for (name, piece) in [("plain lines", plain as fn(&mut u64) -> String), ("dense colour", dense)] {
        let cast = cast(mb << 20, piece);
        let start = Instant::now();
        let timeline = load(&cast);
        let load = cast.len() as f64 / 1e6 / start.elapsed().as_secs_f64();
        drop(cast);
        let mut moment = Moment::new(&timeline);
        let (mut noise, mut seeks) = (1, Vec::new());
        for _ in 0..SEEKS {
            let to = next(&mut noise) % timeline.duration_us();
            let start = Instant::now();
            moment.seek(to);
            seeks.push(start.elapsed().as_secs_f64() * 1e3);
        }
        seeks.sort_by(f64::total_cmp);
        let start = Instant::now();
        (0..STEPS).for_each(|_| assert!(moment.step_back()));
        let step = start.elapsed().as_secs_f64() * 1e3 / f64::from(STEPS);
        moment.seek(0);
        let start = Instant::now();
        let found = TimelineSearch::new(&moment, "no such text", SearchDirection::Forward).run();
        let search = start.elapsed().as_secs_f64();
        assert!(found.is_none());
        println!(
            "| {name} | {load:.0} | {:.2}, {:.2} | {step:.2} | {search:.1} |",
            seeks[SEEKS / 2],
            seeks[SEEKS - 1]
        );
    }
}

fn load(cast: &[u8]) -> Timeline {
    let mut loader = TimelineLoader::default();
    cast.chunks(1 << 20).for_each(|piece| assert!(loader.push(piece)));
    loader.finish().unwrap()
}

/// A recording of about so many bytes, with a piece of output every 20 ms.
fn cast(bytes: usize, piece: fn(&mut u64) -> String) -> Vec<u8> {
    let mut lines = CastHeader::new(100, 30).line().into_bytes();
    let (mut writer, mut state, mut at_us) = (CastWriter::new(), 1, 0);
    while lines.len() < bytes {
        at_us += 20_000;
        writer.output(at_us, piece(&mut state).as_bytes(), &mut lines);
    }
    lines
}

fn next(noise: &mut u64) -> u64 {
    *noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    *noise >> 24
}

fn plain(line: &mut u64) -> String {
    let mut lines = String::new();
    for _ in 0..40 {
        *line += 1;
        lines.push_str(&format!("{line} the quick brown fox jumps over the lazy dog and compiles\r\n"));
    }
    lines
}

fn dense(noise: &mut u64) -> String {
    let mut frame = "\x1b[?2026h\x1b[H".to_owned();
    for row in 0..30 {
        for _ in 0..12 {
            let word = next(noise);
            frame.push_str(&format!("\x1b[38;5;{}m{:07x}", word % 256, word % (1 << 28)));
        }
        frame.push_str(if row < 29 { "\r\n" } else { "\x1b[?2026l" });
    }
    frame
}
