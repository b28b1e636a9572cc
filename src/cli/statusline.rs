//! `hopty statusline`: Claude's status line passes through here, so that hopty gets the size of the context
//! window from Claude itself. It runs the person's own status line with the same input and prints its output;
//! without one it prints nothing, which looks like no status line at all (measured on 2.1.329). Unless
//! `terminal.segment` is off, hopty's segment follows.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::core::text::visible::visible;
use crate::ipc::address;
use crate::ipc::answers::HookReply;
use crate::ipc::control_client::ControlClient;
use crate::ipc::message::hook_line;
use crate::sys::inherited;

/// What `hopty statusline --help` prints.
pub(super) const HELP: &str = "Claude calls `hopty statusline` to draw its status line, with JSON on standard input. It prints your own \
     status line and hopty's part behind it (`terminal.segment`).";
/// How long the host may take to accept the payload and to answer.
const SEGMENT_LIMIT: Duration = Duration::from_millis(300);
/// The largest payload, in bytes.
const MAX_PAYLOAD: u64 = 1 << 20;

/// Returns the exit code of the person's own status line, or 0 without one. Its command is an argument, and
/// in no file that a program below Claude could rewrite.
pub(super) fn main(own: Option<&str>) -> u8 {
    let mut payload = String::new();
    if std::io::stdin().take(MAX_PAYLOAD).read_to_string(&mut payload).is_err() {
        return 0;
    }
    let segment = feed(&payload).filter(|segment| !segment.is_empty());
    let own = own.filter(|command| !command.is_empty());
    match segment {
        None => own.and_then(|command| run(command, &payload)).unwrap_or(0),
        Some(segment) => {
            let (theirs, code) = own.and_then(|command| output(command, &payload)).unwrap_or_default();
            let theirs = theirs.trim_end();
            // After their last line, because Claude shows every line. Resets a colour that they left on.
            let gap = match theirs {
                "" => "",
                theirs if theirs.contains('\u{1b}') => "\u{1b}[0m  ",
                _ => "  ",
            };
            let _ = writeln!(std::io::stdout(), "{theirs}{gap}{}", visible(&segment));
            code
        }
    }
}

/// Sends the payload to the host, and returns hopty's segment.
fn feed(payload: &str) -> Option<String> {
    let socket = std::env::var_os("HOPTY_SOCKET")?;
    let run = std::env::var("HOPTY_RUN").ok()?.parse().ok()?;
    let socket = address::connect(Path::new(&socket), SEGMENT_LIMIT).ok()?;
    let line = hook_line("StatusLine", run, payload)?;
    let mut host = ControlClient::new(socket, "hook", Some(Instant::now() + SEGMENT_LIMIT));
    host.send(&line);
    host.answer::<HookReply>().ok()?.stdout
}

/// The output of the person's own status line, and its exit code.
fn output(command: &str, payload: &str) -> Option<(String, u8)> {
    let mut shell = Command::new("/bin/sh");
    inherited::pass_on(&mut shell, None);
    let mut child = shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(payload.as_bytes());
    }
    let done = child.wait_with_output().ok()?;
    let code = done.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Some((String::from_utf8_lossy(&done.stdout).into_owned(), code))
}

/// Runs it as Claude would: with a shell, and with the payload on its input.
fn run(command: &str, payload: &str) -> Option<u8> {
    let mut shell = Command::new("/bin/sh");
    inherited::pass_on(&mut shell, None);
    let mut child = shell.args(["-c", command]).stdin(Stdio::piped()).spawn().ok()?;
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(payload.as_bytes());
    }
    let code = child.wait().ok()?.code();
    Some(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
