//! `hopty statusline`: Claude's status line passes through here, so that hopty knows the context window that
//! Claude itself reports. The person's own status line is run with the same input, and its output is what is
//! shown; without one nothing is shown, which looks like no status line at all (measured on 2.1.329). Unless
//! `terminal.segment` is off, a segment of hopty's stands behind it.

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

/// How long the host may take to accept the payload and to answer; it is not waited for beyond that.
const SEGMENT_LIMIT: Duration = Duration::from_millis(300);
/// The largest payload that is read, in bytes.
const MAX_PAYLOAD: u64 = 1 << 20;

/// The exit code of the person's own status line, 0 without one. Its command is the only argument: no file
/// names it, which a program below Claude could rewrite.
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
            // Behind their last line: Claude shows as many lines as there are.
            // A colour that they left on ends there.
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

/// Gives the payload to the host, and takes hopty's segment from it.
fn feed(payload: &str) -> Option<String> {
    let socket = std::env::var_os("HOPTY_SOCKET")?;
    let run = std::env::var("HOPTY_RUN").ok()?.parse().ok()?;
    let socket = address::connect(Path::new(&socket), SEGMENT_LIMIT).ok()?;
    let line = hook_line("StatusLine", run, payload)?;
    let mut host = ControlClient::new(socket, "hook", Some(Instant::now() + SEGMENT_LIMIT));
    host.send(&line);
    host.answer::<HookReply>().ok()?.stdout
}

/// What the person's own status line prints, and its exit code.
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

/// Runs it as Claude would: by the shell, with the payload on its input.
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
