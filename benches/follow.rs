//! What following a transcript costs: the first read, then one more line, at 1 MiB, 100 MiB and 1 GiB; and
//! how fast it is parsed, beside `jq` and a Python loop in the same run.
//!
//! ```sh
//! cargo bench --bench follow                # needs 1.1 GiB below the temporary directory for some minutes
//! cargo bench --bench follow -- 1 100       # other sizes, in MiB
//! ```
//!
//! The follower is a process of its own (this program again): what the host uses (`Tail`, `LineSplitter`,
//! `TranscriptFacts`), without a host. So its peak of memory (`VmHWM`) is its own. Nothing is asserted: times
//! are of a machine that others use too.

#![allow(clippy::unwrap_used, reason = "as in tests: what is not as expected ends it")]

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use hopty::core::claude::line_splitter::LineSplitter;
use hopty::core::claude::transcript_facts::TranscriptFacts;
use hopty::fs::file_tail::{Tail, TailRead};
use nix::libc;
use serde_json::json;

const MIB: u64 = 1 << 20;
/// How many single lines are appended.
const APPENDED: usize = 50;
/// The same sums in Python: tokens of the last answer, and how many tools were called.
const PYTHON: &str = "
import json, sys
tokens = tools = lines = 0
for line in open(sys.argv[1], 'rb'):
    try: entry = json.loads(line)
    except ValueError: continue
    lines += 1
    message = entry.get('message') or {}
    if entry.get('type') == 'assistant' and not entry.get('isSidechain'):
        usage = message.get('usage') or {}
        tokens = sum(usage.get(k, 0) for k in ('input_tokens', 'cache_read_input_tokens', \
        'cache_creation_input_tokens'))
    content = message.get('content')
    if isinstance(content, list):
        tools += sum(part.get('type') == 'tool_use' for part in content)
print(lines, tokens, tools)
";
/// The same in jq: what it takes to see the usage of every answer.
const USAGE: &str = "select(.type == \"assistant\" and (.isSidechain | not)) | .message.usage";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [word, path] = &args[..]
        && word == "follower"
    {
        return follower(Path::new(path));
    }
    let sizes: Vec<u64> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1, 100, 1024] } else { sizes };
    let dir = tempfile::tempdir().unwrap();
    let mut following = String::new();
    let mut parsing = String::new();
    for mib in sizes {
        let path = dir.path().join("c74cc080-94b9-4841-b82f-a62cfb8efdc0.jsonl");
        let bytes = generate(&path, mib * MIB);
        eprintln!("{mib} MiB written");
        following += &follow(&path, mib, bytes);
        parsing += &parse(dir.path(), &path, mib, bytes);
        std::fs::remove_file(&path).unwrap();
    }
    println!(
        "\n| transcript | first read, ms | MB/s | a line more, µs (median, max) | bytes read for it | memory \
         at most, MiB |"
    );
    println!("|---|---|---|---|---|---|\n{following}");
    println!("| transcript | who | s | processor s | MB/s | against hopty | memory at most, MiB |");
    println!("|---|---|---|---|---|---|---|\n{parsing}");
}

/// Follows a file: says what the first read took, then what each line took that it is told was appended.
fn follower(path: &Path) {
    let (mut tail, mut splitter, mut facts) = (Tail::new(path), LineSplitter::new(), TranscriptFacts::new());
    let mut buf = vec![0; 1 << 16];
    let mut pump = || {
        let (begun, mut read) = (Instant::now(), 0);
        while let TailRead::Bytes(n) = tail.read(&mut buf).unwrap() {
            read += n;
            splitter.feed(&buf[..n], |line| facts.feed(line));
        }
        let took = begun.elapsed();
        (took.as_nanos(), read, facts.window.last().map_or(0, |fill| fill.tokens))
    };
    let (took, read, tokens) = pump();
    println!("{took} {read} {tokens} {}", peak_kib());
    for line in std::io::stdin().lock().lines() {
        line.unwrap();
        let (took, read, tokens) = pump();
        println!("{took} {read} {tokens} {}", peak_kib());
    }
}

/// The most memory that this process had, in KiB.
fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn follow(path: &Path, mib: u64, bytes: u64) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("follower")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut numbers = || -> Vec<u64> {
        answers.next().unwrap().unwrap().split(' ').map(|word| word.parse().unwrap()).collect()
    };
    let first = numbers();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "nothing is new").unwrap();
    assert_eq!(numbers()[1], 0);
    let mut file = File::options().append(true).open(path).unwrap();
    let (mut times, mut read, mut peak) = (Vec::new(), 0, 0);
    for n in 0..APPENDED {
        let line = answer(7_000_000 + 7 * n, 123_456 + n as u64);
        file.write_all(line.as_bytes()).unwrap();
        writeln!(input, "more").unwrap();
        let now = numbers();
        assert_eq!(now[2], 123_456 + n as u64, "the figure is that of the new line");
        assert_eq!(now[1], line.len() as u64, "only what is new was read");
        times.push(now[0] as f64 / 1000.0);
        (read, peak) = (now[1], now[3]);
    }
    drop(input);
    child.wait().unwrap();
    times.sort_by(f64::total_cmp);
    let seconds = first[0] as f64 / 1e9;
    format!(
        "| {mib} MiB | {:.0} | {:.0} | {:.0}, {:.0} | {read} | {:.1} |\n",
        seconds * 1000.0,
        bytes as f64 / 1e6 / seconds,
        times[times.len() / 2],
        times[times.len() - 1],
        peak as f64 / 1024.0
    )
}

fn parse(home: &Path, path: &Path, mib: u64, bytes: u64) -> String {
    let file = path.to_str().unwrap();
    let rows: [(&str, &[&str]); 4] = [
        ("`hopty context PATH`", &[env!("CARGO_BIN_EXE_hopty"), "context", file]),
        ("Python, `json.loads` a line, the same sums", &["python3", "-c", PYTHON, file]),
        ("`jq -c` of every usage", &["jq", "-c", USAGE, file]),
        ("`jq -c .`", &["jq", "-c", ".", file]),
    ];
    let mut table = String::new();
    let mut ours = None;
    for (name, words) in rows {
        let begun = Instant::now();
        let child = Command::new(words[0])
            .args(&words[1..])
            .env("HOME", home)
            .env_remove("CLAUDE_CONFIG_DIR")
            .stdout(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            eprintln!("{} is missing", words[0]);
            continue;
        };
        let (cpu, peak) = reap(&child);
        let wall = begun.elapsed().as_secs_f64();
        let ours = *ours.get_or_insert(wall);
        table += &format!(
            "| {mib} MiB | {name} | {wall:.2} | {cpu:.2} | {:.0} | {:.1} | {:.1} |\n",
            bytes as f64 / 1e6 / wall,
            wall / ours,
            peak as f64 / 1024.0
        );
    }
    table
}

/// Waits for a child that must succeed: processor time in seconds, and the peak of its memory in KiB.
fn reap(child: &Child) -> (f64, i64) {
    let pid = i32::try_from(child.id()).unwrap();
    let mut status = 0;
    // SAFETY: both are numbers and plain data, and live as long as the call; the pid is that of a child that
    // was not waited for.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        assert_eq!(libc::wait4(pid, &raw mut status, 0, &raw mut usage), pid);
        usage
    };
    assert_eq!(status, 0, "it failed");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss)
}

/// Writes a transcript as a long conversation has it. Its length.
fn generate(path: &Path, wanted: u64) -> u64 {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let mut written = 0;
    let mut step = 0;
    while written < wanted {
        let lines = lines_of_a_step(step);
        file.write_all(lines.as_bytes()).unwrap();
        written += lines.len() as u64;
        step += 1;
    }
    file.into_inner().unwrap().sync_all().unwrap();
    written
}

/// An answer that fills the window with `tokens`: the end of a step.
fn answer(n: usize, tokens: u64) -> String {
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": tokens - 10,
        "cache_creation_input_tokens": 0, "output_tokens": 5});
    let said = json!({"id": format!("msg_said{n}"), "role": "assistant", "model": "claude-sonnet-4-5",
        "stop_reason": "end_turn",
        "usage": usage, "content": [{"type": "text", "text": format!("Step {n} is done; the next one \
            follows.")}]});
    format!("{}\n", common(json!({"type": "assistant", "uuid": format!("s{n}"), "message": said}), n))
}

fn common(mut line: serde_json::Value, n: usize) -> serde_json::Value {
    for (key, value) in [
        ("sessionId", "c74cc080-94b9-4841-b82f-a62cfb8efdc0"),
        ("cwd", "/home/u/proj"),
        ("version", "2.1.300"),
    ] {
        line[key] = json!(value);
    }
    line["isSidechain"] = json!(n % 7 == 3);
    line["timestamp"] = json!(format!("2026-11-20T14:{:02}:{:02}.000Z", n / 60 % 60, n % 60));
    line
}

/// A prompt now and then, a call of a tool, its result (twice, as Claude writes it), a snapshot, an answer.
fn lines_of_a_step(n: usize) -> String {
    let mut text = String::new();
    let mut add = |line: serde_json::Value| text += &format!("{}\n", common(line, n));
    if n.is_multiple_of(20) {
        add(json!({"type": "user", "uuid": format!("p{n}"), "message": {"role": "user",
                "content": format!("Please do part {n} of the bridge.")}}));
    }
    let output = "a line of output, as a compiler or a test prints it \u{1b}[32mok\u{1b}[0m\n"
        .repeat(10 + n * 37 % 90);
    let call = format!("toolu_{n}");
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 1990 + n % 90_000,
        "cache_creation_input_tokens": 0, "output_tokens": 5});
    let (tool, input) = match n % 4 {
        0 => (
            "Edit",
            json!({"file_path": format!("/home/u/proj/src/part{}.rs", n % 300), "old_string": "a",
                "new_string": output}),
        ),
        1 => ("Read", json!({"file_path": format!("/home/u/proj/src/part{}.rs", n % 300)})),
        _ => ("Bash", json!({"command": "make test", "description": "Run the tests"})),
    };
    add(json!({"type": "assistant", "uuid": format!("a{n}"), "message": {"id": format!("msg_{n}"),
            "role": "assistant",
        "model": "claude-sonnet-4-5", "stop_reason": "tool_use", "usage": usage,
        "content": [{"type": "tool_use", "id": call, "name": tool, "input": input}]}}));
    add(json!({"type": "user", "uuid": format!("u{n}"), "toolUseResult": {"stdout": output, "stderr": "",
            "interrupted": false},
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call,
        "content": output}]}}));
    add(json!({"type": "file-history-snapshot", "messageId": format!("u{n}"),
            "snapshot": {"trackedFileBackups": {}}}));
    text + &answer(n, 2000 + n as u64 % 90_000)
}
