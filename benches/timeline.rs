//! What it costs to look into a long recording: loading it, going to any time, stepping back, searching all.
//!
//! ```sh
//! cargo bench --bench timeline            # 100 MB of each workload
//! cargo bench --bench timeline -- 20      # 20 MB
//! ```
//!
//! The peer is asciinema's `convert`, which reads all of a recording into its own screen model once
//! (`cargo install asciinema --locked`). Nothing is asserted.

#![allow(clippy::unwrap_used, reason = "as in tests: what is not as expected ends it")]

#[path = "support/mod.rs"]
mod support;

use std::process::{Command, Stdio};
use std::time::Instant;

use hopty::core::cast::{CastHeader, CastWriter};
use hopty::recording::moment::Moment;
use hopty::recording::timeline::{Timeline, TimelineLoader};
use hopty::recording::timeline_search::{SearchDirection, TimelineSearch};
use support::stats::table;
use support::target::Target;

/// Times that are gone to, and frames that are stepped back.
const SEEKS: usize = 300;
const STEPS: u32 = 20;

fn main() {
    let mb: usize = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(100);
    let head = format!("{mb} MB of 100x30");
    let asciinema = support::find("asciinema");
    if asciinema.is_none() {
        println!("Skipped, because it is not installed: asciinema.\n");
    }
    let mut rows = Vec::new();
    for (name, piece) in [("plain lines", plain as fn(&mut u64) -> String), ("dense colour", dense)] {
        let cast = cast(mb << 20, piece);
        let start = Instant::now();
        let timeline = load(&cast);
        let load = cast.len() as f64 / 1e6 / start.elapsed().as_secs_f64();
        let peer = asciinema.as_ref().map(|program| convert(program, &cast));
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
        let worst = seeks[SEEKS - 1];
        rows.push(vec![
            name.to_owned(),
            format!("{load:.0}"),
            Target::AtLeast(200.0).judge(load),
            peer.map_or("–".to_owned(), |peer| format!("{peer:.0} ({:.2})", peer / load)),
            format!("{:.2}, {worst:.2}", seeks[SEEKS / 2]),
            Target::AtMost(30.0).judge(worst),
            format!("{step:.2}"),
            format!("{search:.1}"),
        ]);
    }
    table(
        &[
            &head, "load, MB/s", "*target*", "asciinema (× hopty)", "seek, ms (median, worst)", "*target*",
            "a step back, ms", "search all, s",
        ],
        &rows,
    );
}

/// MB/s at which asciinema reads a recording.
fn convert(asciinema: &std::path::Path, cast: &[u8]) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("a.cast"), dir.path().join("a.txt"));
    std::fs::write(&from, cast).unwrap();
    let mut command = Command::new(asciinema);
    command.args(["convert", "-f", "txt"]).arg(&from).arg(&to).env("HOME", dir.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    assert!(command.status().unwrap().success());
    cast.len() as f64 / 1e6 / start.elapsed().as_secs_f64()
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
