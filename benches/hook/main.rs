//! What the hook command costs: it runs after every tool call, so its start and end are on Claude's path.
//! Beside it, in the same rounds, the shell scripts that the source documents have in its place, made from
//! their descriptions (`scripts/`).
//!
//! ```sh
//! cargo bench --bench hook -- 300          # rounds
//! ```
//!
//! Each round starts every program once, in turn, with the same payload on its input, and waits for its end.
//! `/bin/true` is the floor: what starting any program costs here. The host's side is a listener that answers
//! at once, as a host does for a call that is not held. The scripts find a home with 40 transcripts of 4
//! projects, the newest of 2 MB.

#[path = "../support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::libc;
use support::installed_hopty;

const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/hook/scripts/");

/// A program of the table.
struct Row {
    name: &'static str,
    words: Vec<String>,
    /// What it gets to read.
    input: Vec<u8>,
    /// Whether it is told of a host.
    host: bool,
    /// Start to exit, in ms, and the processor time of it and of all that it started, in ms.
    times: Vec<(f64, f64)>,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let rounds: usize = args.first().and_then(|n| n.parse().ok()).unwrap_or(300);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let socket = dir.path().join("s.sock");
    answer(&socket);
    furnish(dir.path());
    let mut rows = rows();
    for round in 0..rounds + 20 {
        for row in &mut rows {
            let took = run(row, dir.path(), &socket);
            // The first rounds fill caches.
            if round >= 20 {
                row.times.push(took);
            }
        }
    }
    println!(
        "| start to exit, ms (n = {rounds}) | median | p99 | processor | against hopty: wall | processor \
         |\n|---|---|---|---|---|---|"
    );
    let mut hopty = (0.0, 0.0);
    let scripts = rows.iter().position(|row| row.words[0] == "/bin/bash").unwrap_or(rows.len());
    for (n, row) in rows.iter().enumerate() {
        let mut wall: Vec<f64> = row.times.iter().map(|times| times.0).collect();
        wall.sort_by(f64::total_cmp);
        let cpu = row.times.iter().map(|times| times.1).sum::<f64>() / rounds as f64;
        let (median, p99) = (wall[wall.len() / 2], wall[wall.len() * 99 / 100]);
        if n == 1 {
            hopty = (median, cpu);
        }
        let against =
            |mine: f64, its: f64| if n < scripts { String::new() } else { format!("{:.1}", mine / its) };
        println!(
            "| {} | {median:.2} | {p99:.2} | {cpu:.2} | {} | {} |",
            row.name,
            against(median, hopty.0),
            against(cpu, hopty.1)
        );
    }
}

fn rows() -> Vec<Row> {
    let installed = installed_hopty().expect("room for a copy of hopty");
    let hopty = installed.to_str().expect("a path of text");
    let shell = format!("'{hopty}' hook PostToolBatch || :");
    let row = |name, words: &[&str], input: &[u8], host| Row {
        name,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        input: input.to_owned(),
        host,
        times: Vec::new(),
    };
    let (small, large) = (payload(1), payload(200));
    let script = |name, file: &str| row(name, &["/bin/bash", &format!("{SCRIPTS}{file}")], &small, false);
    vec![
        row("`/bin/true`", &["/bin/true"], &small, true),
        row("the hook, answered", &[hopty, "hook", "PostToolBatch"], &small, true),
        row("the hook, answered, payload of 200 KB", &[hopty, "hook", "PostToolBatch"], &large, true),
        row("the hook, no host", &[hopty, "hook", "PostToolBatch"], &small, false),
        row(
            "as Claude starts it: `sh -c 'hopty hook ... \\|\\| :'`",
            &["/bin/sh", "-c", &shell],
            &small,
            true,
        ),
        script("000: `context-monitor.sh`, one transcript, jq and python3", "context-monitor-0.sh"),
        script("001: `context-monitor.sh`, the newest transcript", "context-monitor-1.sh"),
        script("003: `user-prompt-submit.sh`, nothing to say", "user-prompt-submit.sh"),
        script("004: `on-session-start.sh`, nothing waits", "on-session-start.sh"),
        row("`bash -c :`", &["/bin/bash", "-c", ":"], &small, false),
    ]
}

/// The home that the scripts look at.
fn furnish(home: &Path) {
    let line = "{\"type\":\"mode\",\"mode\":\"default\"}\n";
    let projects = home.join(".claude/projects");
    for n in 0..40 {
        let dir = projects.join(format!("-home-u-proj{}", n % 4));
        std::fs::create_dir_all(&dir).expect("room");
        std::fs::write(dir.join(format!("{n:08}-0000-4000-8000-000000000000.jsonl")), line).expect("room");
    }
    let newest = projects.join("-home-u-proj0").join(format!("{ID}.jsonl"));
    std::fs::write(&newest, line.repeat(60_000)).expect("room");
    std::fs::write(home.join(".claude/.current-session"), format!("{ID}:{}\n", newest.display()))
        .expect("room");
}

/// Processor time of all children that were waited for so far, with theirs, in ms.
fn children_ms() -> f64 {
    // SAFETY: plain data that lives as long as the call.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1000.0 + time.tv_usec as f64 / 1000.0;
    ms(usage.ru_utime) + ms(usage.ru_stime)
}

/// One start.
fn run(row: &Row, home: &Path, socket: &Path) -> (f64, f64) {
    let mut command = Command::new(&row.words[0]);
    command.args(&row.words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.env("HOPTY_RUN", "1").env("HOME", home).env("TMPDIR", home).env_remove("HOPTY_SOCKET");
    if row.host {
        command.env("HOPTY_SOCKET", socket);
    }
    let before = children_ms();
    let begun = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    // `/bin/true` may be gone before it could be written to.
    let _ = child.stdin.take().expect("a pipe").write_all(&row.input);
    let mut said = Vec::new();
    let _ = child.stdout.take().expect("a pipe").read_to_end(&mut said);
    let status = child.wait().expect("the program ends");
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    assert!(status.success() && said.is_empty(), "{}: {status} {}", row.name, String::from_utf8_lossy(&said));
    (took, children_ms() - before)
}

/// A PostToolBatch payload with a tool's answer of so many KB.
fn payload(kilobytes: usize) -> Vec<u8> {
    let text = "output of a tool ".repeat(kilobytes * 60);
    let call = serde_json::json!({"tool_name": "Bash", "tool_input": {"command": "make"},
        "tool_use_id": "toolu_1", "tool_response": text});
    serde_json::json!({"session_id": ID, "hook_event_name": "PostToolBatch", "cwd": "/",
        "tool_calls": [call]})
    .to_string()
    .into_bytes()
}

/// Says hello and answers every call with nothing, at once.
fn answer(socket: &Path) {
    let listener = UnixListener::bind(socket).expect("a socket");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().expect("a descriptor")).lines();
            let _ = lines.next();
            let _ = stream.write_all(
                b"{\"hopty\":1,\"version\":\"0\",\"session\":\"s\",\"run\":1,\"max_frame\":1048576}\n",
            );
            let _ = lines.next();
            let _ = stream.write_all(b"{\"id\":1,\"ok\":{\"stdout\":\"\"}}\n");
        }
    });
}
