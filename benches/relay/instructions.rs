//! Instructions that processes execute, through `perf stat`, on machines that count them. Virtual ones mostly
//! do not.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// What is counted, in the kernel and outside.
const EVENT: &str = "instructions";

/// Does something, and gives its result with what these processes executed meanwhile; `None` where nothing
/// counts.
pub fn count<T>(pids: &[i32], during: impl FnOnce() -> T) -> (T, Option<f64>) {
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    let mut command = Command::new("perf");
    // The shell says that counting has begun, and ends it when its input does.
    command.args(["stat", "-x,", "-e", EVENT, "-p", &pids.join(","), "--", "sh", "-c", "echo; read end"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("LC_ALL", "C");
    let Some(mut perf) = command.spawn().ok().filter(|_| !pids.is_empty()) else { return (during(), None) };
    let mut line = String::new();
    let _ = perf.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    let result = during();
    drop(perf.stdin.take());
    let mut said = String::new();
    let _ = perf.stderr.take().map(|mut out| out.read_to_string(&mut said));
    let _ = perf.wait();
    (result, counted(&said))
}

/// The count in what perf says: comma-separated, the value first, the event third.
fn counted(said: &str) -> Option<f64> {
    said.lines()
        .filter(|line| line.split(',').nth(2).is_some_and(|event| event.starts_with(EVENT)))
        .find_map(|line| line.split(',').next()?.parse().ok())
}
