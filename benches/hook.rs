//! What the hook command costs: it runs after every tool call, so its start and end are on Claude's path.
//!
//! ```sh
//! cargo bench --bench hook -- 300          # rounds
//! ```
//!
//! Each round starts every program once, in turn, with the same payload on its input, and waits for its end. `/bin/true` is
//! the floor: what starting any program costs here. The host's side is a listener that answers at once, as a host does for a
//! call that is not held.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let rounds: usize = args.first().and_then(|n| n.parse().ok()).unwrap_or(300);
    let hopty = env!("CARGO_BIN_EXE_hopty");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let socket = dir.path().join("s.sock");
    answer(&socket);
    let shell = format!("'{hopty}' hook PostToolBatch || :");
    let small = payload(1);
    let large = payload(200);
    let rows: [(&str, &[&str], &[u8]); 6] = [
        ("`/bin/true`", &["/bin/true"], &small),
        ("the hook, answered", &[hopty, "hook", "PostToolBatch"], &small),
        ("the hook, answered, payload of 200 KB", &[hopty, "hook", "PostToolBatch"], &large),
        ("the hook, no host", &[hopty, "hook", "PostToolBatch", "none"], &small),
        ("`sh -c /bin/true`", &["/bin/sh", "-c", "/bin/true || :"], &small),
        ("as Claude starts it: `sh -c 'hopty hook ... || :'`", &["/bin/sh", "-c", &shell], &small),
    ];
    let mut times = vec![Vec::new(); rows.len()];
    for round in 0..rounds + 20 {
        for ((_, words, input), times) in rows.iter().zip(&mut times) {
            let ms = run(words, input, &socket);
            // The first rounds fill caches.
            if round >= 20 {
                times.push(ms);
            }
        }
    }
    println!("| start to exit, ms (n = {rounds}) | median | p99 | over its floor |\n|---|---|---|---|");
    let mut floor = 0.0;
    for (n, ((name, ..), times)) in rows.iter().zip(&mut times).enumerate() {
        times.sort_by(f64::total_cmp);
        let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        if n == 0 || n == 4 {
            floor = median;
        }
        println!("| {name} | {median:.2} | {p99:.2} | {:.2} |", median - floor);
    }
}

/// One start, in ms. A word `none` at the end leaves the socket out.
fn run(words: &[&str], input: &[u8], socket: &Path) -> f64 {
    let mut command = Command::new(words[0]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).env("HOPTY_RUN", "1");
    match words.last() {
        Some(&"none") => command.args(&words[1..words.len() - 1]).env_remove("HOPTY_SOCKET"),
        _ => command.args(&words[1..]).env("HOPTY_SOCKET", socket),
    };
    let begun = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    // `/bin/true` may be gone before it could be written to.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    let output = child.wait_with_output().expect("the program ends");
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    assert!(output.status.success() && output.stdout.is_empty(), "{words:?}: {output:?}");
    took
}

/// A PostToolBatch payload with a tool's answer of so many KB.
fn payload(kilobytes: usize) -> Vec<u8> {
    let text = "output of a tool ".repeat(kilobytes * 60);
    let call =
        serde_json::json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "toolu_1", "tool_response": text});
    let id = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
    serde_json::json!({"session_id": id, "hook_event_name": "PostToolBatch", "cwd": "/", "tool_calls": [call]})
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
            let _ = stream.write_all(b"{\"hopty\":1,\"version\":\"0\",\"session\":\"s\",\"run\":1,\"max_frame\":1048576}\n");
            let _ = lines.next();
            let _ = stream.write_all(b"{\"id\":1,\"ok\":{\"stdout\":\"\"}}\n");
        }
    });
}
