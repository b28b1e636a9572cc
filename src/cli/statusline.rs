//! `hopty statusline`: Claude's status line passes through here, so that hopty knows the context window that Claude itself
//! reports. The person's own status line is run with the same input, and its output is what is shown; without one nothing
//! is shown, which looks like no status line at all (measured on 2.1.329).

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::control::paths;
use crate::core::ids::SessionName;
use crate::ipc::address;
use crate::ipc::message::hook_lines;

/// How long the host may take to accept the payload; it is not waited for beyond that.
const PATIENCE: Duration = Duration::from_millis(300);
/// The largest payload that is read, in bytes.
const MAX_PAYLOAD: u64 = 1 << 20;

/// The exit code of the person's own status line, 0 without one.
pub(super) fn main() -> u8 {
    let mut payload = String::new();
    if std::io::stdin().take(MAX_PAYLOAD).read_to_string(&mut payload).is_err() {
        return 0;
    }
    let _ = feed(&payload);
    own_command().and_then(|command| run(&command, &payload)).unwrap_or(0)
}

fn feed(payload: &str) -> Option<()> {
    let socket = std::env::var_os("HOPTY_SOCKET")?;
    let run = std::env::var("HOPTY_RUN").ok()?.parse().ok()?;
    let mut stream = address::connect(Path::new(&socket), PATIENCE).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(hook_lines("StatusLine", run, payload)?.as_bytes()).ok()
}

/// The person's own status line, as the host found it when the session began.
fn own_command() -> Option<String> {
    let name: SessionName = std::env::var("HOPTY_SESSION").ok()?.parse().ok()?;
    let text = std::fs::read(paths().ok()?.session(&name).join("statusline.json")).ok()?;
    let own: Value = serde_json::from_slice(&text).ok()?;
    own.get("command")?.as_str().map(str::to_owned)
}

/// Runs it as Claude would: by the shell, with the payload on its input.
fn run(command: &str, payload: &str) -> Option<u8> {
    let mut child = Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::piped()).spawn().ok()?;
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(payload.as_bytes());
    }
    let code = child.wait().ok()?.code();
    Some(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
