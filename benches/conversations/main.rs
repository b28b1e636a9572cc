//! What it costs to list conversations and to search them.
//!
//! ```sh
//! cargo bench --bench conversations                              # 5,000 conversations of 2 MiB
//! HOPTY_BENCH_CONVERSATIONS=500 cargo bench --bench conversations
//! HOPTY_BENCH_SEARCH_MB=1024 cargo bench --bench conversations   # how much is searched; 256 by default
//! HOPTY_BENCH_CCUSAGE=/path/to/ccusage HOPTY_BENCH_CLAUDE_CODE_LOG=/path/to/it cargo bench --bench conversations
//! ```
//!
//! The transcripts that are listed are holes between a begin and an end that are there: a list reads no more,
//! and the disk holds some 120 KB of each. `cold` is without hopty's cache and with the files out of the page
//! cache. What is searched is there to the last byte, and so is what other tools read, a tenth of the search.
//! Nothing is asserted but that the figures are those of the whole.

#[path = "../support/mod.rs"]
mod support;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use support::place::Place;
use support::stats::{median, table};
use support::{find, installed_hopty};

/// The size of a transcript that is listed, in bytes.
const SIZE: u64 = 2 << 20;
/// How often what is warm is timed.
const TIMES: usize = 9;
/// How many projects there are.
const PROJECTS: usize = 40;
/// When Claude's account of each conversation began, in ms: before its first line.
const STARTED: i64 = 1_795_183_199_000;

fn main() -> ExitCode {
    let number = |name: &str, or: usize| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or);
    let done = list(number("HOPTY_BENCH_CONVERSATIONS", 5000))
        .and_then(|()| search(number("HOPTY_BENCH_SEARCH_MB", 256)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn list(count: usize) -> Result<()> {
    let (place, hopty) = (Place::new()?, installed_hopty()?);
    let projects = place.path().join("home/.claude/projects");
    let mut files = Vec::new();
    for n in 0..count {
        let path = transcript(&projects, n)?;
        let mut file = File::create(&path)?;
        file.write_all(begin(n).as_bytes())?;
        let end = end(n);
        file.seek(SeekFrom::Start(SIZE - end.len() as u64))?;
        file.write_all(end.as_bytes())?;
        file.sync_data()?;
        files.push(path);
    }
    let ls =
        |more: &[&str]| run(&place, &hopty, &[&["conversations", "ls", "--all", "--json"], more].concat());
    let mut rows = Vec::new();
    let cache = place.path().join("home/.state/hopty/cache");
    for (name, drops) in [("cold, from the disk", true), ("without the cache, from memory", false)] {
        let mut times = Vec::new();
        for _ in 0..3 {
            let _ = std::fs::remove_dir_all(&cache);
            if drops {
                files.iter().try_for_each(|file| forget(file))?;
            }
            let (ms, out) = ls(&[])?;
            ensure!(
                out.matches("\"used_at\"").count() == count,
                "{} of {count}",
                out.matches("\"used_at\"").count()
            );
            ensure!(
                !out.contains("\"tokens\":null") && !out.contains("\"first_prompt\":null"),
                "a figure is missing"
            );
            times.push(ms);
        }
        rows.push(vec![name.to_owned(), format!("{:.0}", median(&times))]);
    }
    let warm: Vec<f64> = (0..TIMES).map(|_| ls(&[]).map(|(ms, _)| ms)).collect::<Result<_>>()?;
    rows.push(vec!["warm".to_owned(), format!("{:.0}", median(&warm))]);
    let mut grown = Vec::new();
    for n in 0..TIMES {
        let mut file = File::options().append(true).open(&files[n * count / TIMES])?;
        file.write_all(end(n).as_bytes())?;
        grown.push(ls(&[])?.0);
    }
    rows.push(vec!["warm, one has grown".to_owned(), format!("{:.0}", median(&grown))]);
    let gib = count as f64 * SIZE as f64 / f64::from(1 << 30);
    table(&[&format!("ls of {count} conversations ({gib:.1} GiB)"), "ms"], &rows);
    Ok(())
}

fn search(mb: usize) -> Result<()> {
    let (place, hopty) = (Place::new()?, installed_hopty()?);
    let projects = place.path().join("home/.claude/projects");
    let mut files = Vec::new();
    // Each of some 4 MB.
    for n in 0..mb.div_ceil(4).max(1) {
        let path = transcript(&projects, n)?;
        let mut file = std::io::BufWriter::new(File::create(&path)?);
        let mut written = file.write(begin(n).as_bytes())?;
        let mut message = 0;
        while written < 4 << 20 {
            message += 1;
            written += file.write(turn(n, message).as_bytes())?;
        }
        file.write_all(end(n).as_bytes())?;
        files.push(path);
    }
    let bytes: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum();
    let mut rows = Vec::new();
    let rg = find("rg");
    for (what, pattern) in [
        ("a rare word", "planted-needle"),
        ("two words, of which one is rare", "planted-needle|another-needle"),
        ("a word in no order", "needle-\\d+ planted"),
        ("no word at all", "[0-9]{4}-[0-9]{3}x"),
        ("any case", "(?i)PLANTED-needle"),
    ] {
        let mut row = vec![what.to_owned()];
        let times: Vec<f64> = (0..3)
            .map(|_| run(&place, &hopty, &["conversations", "search", pattern]).map(|(ms, _)| ms))
            .collect::<Result<_>>()?;
        row.push(format!("{:.0}", median(&times)));
        row.push(match &rg {
            Some(rg) => {
                let projects = projects.to_string_lossy();
                let times: Vec<f64> = (0..3)
                    .map(|_| run(&place, rg, &["-a", "-c", pattern, &projects]).map(|(ms, _)| ms))
                    .collect::<Result<_>>()?;
                format!("{:.0}", median(&times))
            }
            None => "–".to_owned(),
        });
        rows.push(row);
    }
    table(
        &[
            &format!(
                "search of {:.2} GiB in {} conversations",
                bytes as f64 / f64::from(1 << 30),
                files.len()
            ),
            "hopty, ms",
            "rg on the raw files, ms",
        ],
        &rows,
    );

    // Other tools read all of every file.
    files.split_off(files.len().div_ceil(10)).iter().try_for_each(std::fs::remove_file)?;
    let bytes: u64 = files.iter().filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum();
    let mut rows = Vec::new();
    let cache = place.path().join("home/.state/hopty/cache");
    let _ = std::fs::remove_dir_all(&cache);
    let full = ["conversations", "ls", "--all", "--full"];
    rows.push(vec![
        "hopty conversations ls --full, first time".to_owned(),
        format!("{:.0}", run(&place, &hopty, &full)?.0),
    ]);
    rows.push(vec![
        "hopty conversations ls --full, again".to_owned(),
        format!("{:.0}", run(&place, &hopty, &full)?.0),
    ]);
    let projects = projects.to_string_lossy();
    for (name, args) in [
        ("ccusage", vec!["session", "--offline", "--json"]),
        ("claude-code-log", vec!["--projects-dir", &projects, "--all-projects", "--no-individual-sessions"]),
    ] {
        let variable = name.replace('-', "_");
        let program = find(name).or_else(|| {
            std::env::var_os(format!("HOPTY_BENCH_{}", variable.to_uppercase())).map(PathBuf::from)
        });
        let Some(program) = program else { continue };
        for again in ["first time", "again"] {
            let time = run(&place, &program, &args).map(|(ms, _)| format!("{ms:.0}"));
            rows.push(vec![
                format!("{name} {}, {again}", args[0]),
                time.unwrap_or_else(|error| format!("failed: {error:#}").replace(['\n', '|'], " ")),
            ]);
        }
    }
    table(
        &[
            &format!(
                "all figures of {} conversations ({:.0} MiB)",
                files.len(),
                bytes as f64 / f64::from(1 << 20)
            ),
            "ms",
        ],
        &rows,
    );
    Ok(())
}

/// Runs a program here and gives the time in ms and what it printed.
fn run(place: &Place, program: &Path, args: &[&str]) -> Result<(f64, String)> {
    let words: Vec<OsString> =
        std::iter::once(program.as_os_str().to_owned()).chain(args.iter().map(OsString::from)).collect();
    let mut command: Command = place.command(&words);
    command.stdin(Stdio::null());
    let start = Instant::now();
    let done = command.output().with_context(|| format!("{}", program.display()))?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    ensure!(
        matches!(done.status.code(), Some(0 | 1)),
        "{} {args:?}: {}",
        program.display(),
        String::from_utf8_lossy(&done.stderr).chars().take(300).collect::<String>()
    );
    Ok((ms, String::from_utf8_lossy(&done.stdout).into_owned()))
}

/// Drops a file's pages from memory.
fn forget(path: &Path) -> Result<()> {
    let file = File::open(path)?;
    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    Ok(())
}

fn transcript(projects: &Path, n: usize) -> Result<PathBuf> {
    let dir = projects.join(format!("-home-u-project-{}", n % PROJECTS));
    std::fs::create_dir_all(&dir)?;
    Ok(dir.join(format!("{}.jsonl", id(n))))
}

fn id(n: usize) -> String {
    format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0")
}

fn line(n: usize, rest: &str) -> String {
    format!(
        "{{\"parentUuid\":null,\"isSidechain\":false,\"cwd\":\"/home/u/project-{}\",\"sessionId\":\"{}\",\"version\":\"2.1.330\",\"gitBranch\":\"main\",\"timestamp\":\"2026-11-20T14:{:02}:00.000Z\",\"uuid\":\"{}\",{rest}}}\n",
        n % PROJECTS,
        id(n),
        n % 60,
        id(n)
    )
}

/// The begin of a transcript, some 50 KB, as the newest Claude writes it.
fn begin(n: usize) -> String {
    let mode = format!("{{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"{}\"}}\n", id(n));
    let prompt = line(
        n,
        &format!(
            "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"prompt number {n}: look at the \
             parser\"}}"
        ),
    );
    let snapshot = line(
        n,
        &format!(
            "\"type\":\"attachment\",\"attachment\":{{\"type\":\"prompt_snapshot\",\"text\":\"{}\"}}",
            "words of a system prompt ".repeat(2000)
        ),
    );
    mode + &prompt + &snapshot
}

/// A turn of some 3 KB: prompt, call, answer of the tool, answer.
fn turn(n: usize, message: usize) -> String {
    // A file of source: quotes, escapes and numbers, and no two the same.
    let source: String = (0..24)
        .map(|row| {
            format!(
                "    let value_{message}_{row} = \\\"text {}\\\"; // line {row}\\n",
                message * 31 + row * 7 + n
            )
        })
        .collect();
    let usage = "\"usage\":{\"input_tokens\":3,\"output_tokens\":40,\"cache_read_input_tokens\":9000,\"cache_creation_input_tokens\":100}";
    let needle = if message == 700 { " planted-needle" } else { "" };
    line(
        n,
        &format!(
            "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"now look at part \
             {message}{needle}\"}}"
        ),
    ) + &line(
        n,
        &format!(
            "\"type\":\"assistant\",\"message\":{{\"id\":\"msg_{n}_{message}\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t{message}\",\"name\":\"Read\",\"input\":{{\"file_path\":\"/home/u/src/{message}.rs\"}}}}],{usage}}}"
        ),
    ) + &line(
        n,
        &format!(
            "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t{message}\",\"content\":\"{source}\"}}]}}"
        ),
    ) + &line(
        n,
        &format!(
            "\"type\":\"assistant\",\"requestId\":\"req_{n}_{message}\",\"message\":{{\"id\":\"msg_{n}_{message}b\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[{{\"type\":\"text\",\"text\":\"Part {message} parses what stands between brackets, and the next one does not.\"}}],{usage}}}"
        ),
    )
}

/// The end of a transcript, some 64 KB, with Claude's own account.
fn end(n: usize) -> String {
    let mut text = "\n".to_owned();
    for message in 10_000..10_020 {
        text += &turn(n, message);
    }
    let id = id(n);
    text + &format!(
        "{{\"type\":\"last-prompt\",\"lastPrompt\":\"now look at part \
         10019\",\"sessionId\":\"{id}\"}}\n{{\"type\":\"ai-title\",\"aiTitle\":\"Conversation {n} on \
         parsers\",\"sessionId\":\"{id}\"}}\n{{\"type\":\"cost-state\",\"sessionId\":\"{id}\",\"totalCostUSD\":1.25,\"startTime\":{STARTED},\"modelUsage\":{{\"claude-sonnet-4-5\":{{\"inputTokens\":160,\"outputTokens\":80,\"cacheReadInputTokens\":16000,\"cacheCreationInputTokens\":0,\"costUSD\":1.25}}}},\"hasUnknownModelCost\":false}}\n"
    )
}
