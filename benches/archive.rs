//! What archiving costs and saves: speed, ratio by level, reading back, and a search of the archive as it
//! lies beside `zstdcat | rg`.
//!
//! ```sh
//! cargo bench --bench archive            # 256 MiB of transcripts
//! cargo bench --bench archive -- 1024
//! ```
//!
//! The transcripts are made of hopty's own source text: prompts, tool results, and each message once more in
//! the blob of a request, as Claude writes them from 2.1.300 on. Nothing is asserted but that everything
//! comes back.

#![allow(clippy::unwrap_used, reason = "as in tests: what is not as expected ends it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hopty::core::time::WallTime;
use hopty::fs::archive::{ArchiveLevel, ArchiveSource, ArchiveStore};
use hopty::fs::conversations::{ConversationFiles, TranscriptFile};
use hopty::fs::paths::Paths;

/// The size of a transcript in bytes.
const SIZE: usize = 8 << 20;
/// What is searched for: it is in every hundredth message.
const NEEDLE: &str = "needle-in-the-hay";

fn main() {
    let mb: usize = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(256);
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let home = dir.path().to_str().unwrap().to_owned();
    let paths = Paths::from_env(|name| (name == "HOME").then(|| home.clone().into())).unwrap();
    let project = paths.claude.join("projects/-bench");
    fs::create_dir_all(&project).unwrap();
    let texts = texts();
    let files: Vec<PathBuf> =
        (0..(mb << 20).div_ceil(SIZE)).map(|n| transcript(&project, n, &texts)).collect();
    let total: u64 = files.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    println!("| level | archive, MB/s | ratio | read back, MB/s |\n|---|---|---|---|");
    for level in [1, 3, 6, 9] {
        let store = ArchiveStore::new(&dir.path().join(format!("level-{level}")), &paths.claude)
            .at_level(ArchiveLevel(level));
        let start = Instant::now();
        let packed: u64 = files
            .iter()
            .map(|file| {
                let transcript = TranscriptFile::at(file).unwrap();
                let files = ConversationFiles::of(&paths, &transcript, None).unwrap();
                let source = ArchiveSource::of(&paths.claude, &files).unwrap();
                store.put(&source, WallTime(1), serde_json::json!({})).unwrap().packed_bytes
            })
            .sum();
        let put = start.elapsed();
        let start = Instant::now();
        store.entries().0.iter().for_each(|entry| store.open(entry).unwrap().verify().unwrap());
        let verify = start.elapsed();
        let speed = |time: Duration| total as f64 / 1e6 / time.as_secs_f64();
        println!(
            "| {level} | {:.0} | {:.1} | {:.0} |",
            speed(put),
            total as f64 / packed as f64,
            speed(verify)
        );
    }
    search(&dir.path().join("level-3"), &paths, &files);
}

/// The archive of level 3 in its place, searched by hopty and by `zstdcat | rg`, the transcripts being gone.
fn search(archive: &Path, paths: &Paths, files: &[PathBuf]) {
    fs::create_dir_all(&paths.data).unwrap();
    fs::rename(archive, paths.archive()).unwrap();
    files.iter().for_each(|file| fs::remove_file(file).unwrap());
    let timed = |command: &mut Command| {
        let mut times: Vec<(f64, usize)> = (0..3)
            .map(|_| {
                let start = Instant::now();
                let output = command.output().unwrap();
                (start.elapsed().as_secs_f64(), output.stdout.iter().filter(|byte| **byte == b'\n').count())
            })
            .collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        times[1]
    };
    let mut hopty = Command::new(env!("CARGO_BIN_EXE_hopty"));
    hopty.args(["conversations", "search", NEEDLE, "--tools", "--json"]).env("HOME", &paths.home);
    let (own, found) = timed(&mut hopty);
    let line = format!("zstdcat {}/-bench/*.zst | rg {NEEDLE}", paths.archive().display());
    let (other, lines) = timed(Command::new("sh").args(["-c", &line]));
    println!("\nsearch: hopty {own:.2} s ({found} texts), zstdcat | rg {other:.2} s ({lines} lines)");
}

/// The source files of hopty, as JSON strings without their quotes.
fn texts() -> Vec<String> {
    let (mut found, mut dirs) = (Vec::new(), vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            if entry.path().is_dir() {
                dirs.push(entry.path());
            } else if let Ok(text) = fs::read_to_string(entry.path()) {
                let json = serde_json::to_string(&text).unwrap();
                found.push(json[1..json.len() - 1].to_owned());
            }
        }
    }
    found.sort();
    found
}

fn transcript(project: &Path, n: usize, texts: &[String]) -> PathBuf {
    let id = format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0");
    let mut out = String::with_capacity(SIZE + (1 << 20));
    let mut noise = n as u64 + 1;
    let mut message = 0;
    while out.len() < SIZE {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let text = &texts[(noise >> 33) as usize % texts.len()];
        let mut end = text.len().min(2000 + (noise >> 50) as usize);
        while !text.is_char_boundary(end) || text[..end].ends_with('\\') {
            end -= 1;
        }
        message += 1;
        let mark = if message % 100 == 0 { NEEDLE } else { "" };
        let content = format!("{noise:016x} {mark} {}", &text[..end]);
        out += &format!(
            "{{\"type\":\"user\",\"sessionId\":\"{id}\",\"cwd\":\"/bench\",\"uuid\":\"{noise:016x}\",\"timestamp\":\"2026-11-20T14:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{message}\",\"content\":\"{content}\"}}]}}}}\n{{\"type\":\"api-request-blob\",\"hash\":\"{:016x}\",\"message\":{{\"role\":\"user\",\"content\":\"{content}\"}}}}\n",
            noise.rotate_left(17)
        );
    }
    let path = project.join(format!("{id}.jsonl"));
    fs::write(&path, out).unwrap();
    path
}
