//! `hopty hook EVENT [MS]`, which Claude calls. It must never break Claude: if the host does not answer
//! within `hooks.ack`, it prints nothing.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ipc::address;
use crate::ipc::answers::HookReply;
use crate::ipc::control_client::ControlClient;
use crate::ipc::message::hook_line;
use crate::sys::fd::read_some;
use crate::sys::poll::{Interest, wait_for};

/// What `hopty hook --help` prints.
pub(super) const HELP: &str = "Claude calls `hopty hook EVENT` at each of its events, such as a prompt, a batch of tool calls and the end \
     of a turn, with JSON on standard input. The session's hopty answers whether Claude goes on; outside of a \
     session nothing happens.";
/// How long to wait for the host's first answer if the command does not say.
const ACK: Duration = Duration::from_millis(300);
/// How long a held hook waits: less than Claude's own limit for the event with the longest hold.
const HOLD: Duration = Duration::from_secs(85);
/// The largest input, in bytes.
const MAX_INPUT: usize = 64 << 20;
/// The largest payload that is sent to the host, in bytes; a larger one is reduced to the facts.
const MAX_PAYLOAD: usize = 900_000;

/// Returns 0 in any case: a failed hook must not disturb Claude.
pub(super) fn main(event: Option<&str>, ack: Option<&str>) -> u8 {
    let ack = ack.and_then(|ms| ms.parse().ok()).map_or(ACK, Duration::from_millis).min(HOLD);
    if let Some(event) = event {
        let _ = std::panic::catch_unwind(|| call(event, ack));
    }
    0
}

fn call(event: &str, ack: Duration) -> Option<()> {
    let begun = Instant::now();
    let payload = payload(begun + ack)?;
    let socket = std::env::var_os("HOPTY_SOCKET")?;
    let socket = address::connect(Path::new(&socket), ack.checked_sub(begun.elapsed())?).ok()?;
    let payload = if payload.len() > MAX_PAYLOAD { facts_of(&payload) } else { payload };
    let run: u32 = std::env::var("HOPTY_RUN").ok().and_then(|run| run.parse().ok()).unwrap_or(0);
    let line = hook_line(event, run, std::str::from_utf8(&payload).ok()?)?;
    // A stopped or busy host must not delay Claude: if it does not read in time, the payload is dropped.
    let mut host = ControlClient::new(socket, "hook", Some(begun + ack));
    host.send(&line);
    loop {
        let reply: HookReply = host.answer().ok()?;
        if let Some(text) = reply.stdout {
            return std::io::stdout().write_all(text.as_bytes()).ok();
        }
        reply.hold.then_some(())?;
        host.wait_until(Some(begun + HOLD));
    }
}

/// Claude's payload from standard input; `None` if it is not closed in time.
fn payload(until: Instant) -> Option<Vec<u8>> {
    let (stdin, mut payload, mut buf) = (std::io::stdin(), Vec::new(), vec![0; 1 << 16]);
    while payload.len() < MAX_INPUT {
        let left = until.checked_duration_since(Instant::now())?;
        if wait_for(&stdin, Interest::Read, u64::try_from(left.as_millis()).ok()?.max(1)).ok()? {
            match read_some(&stdin, &mut buf).ok()? {
                Some(0) => break,
                read => payload.extend_from_slice(&buf[..read.unwrap_or(0)]),
            }
        }
    }
    Some(payload)
}

/// A payload that is too large for a line, without its long texts; names and ids stay.
fn facts_of(payload: &[u8]) -> Vec<u8> {
    fn shorten(value: &mut Value) {
        match value {
            Value::String(text) if text.len() > 2000 => {
                let end = (0..=2000).rev().find(|n| text.is_char_boundary(*n)).unwrap_or(0);
                text.truncate(end);
            }
            Value::Array(items) => items.iter_mut().for_each(shorten),
            Value::Object(fields) => fields.values_mut().for_each(shorten),
            _ => {}
        }
    }
    let mut value: Value = serde_json::from_slice(payload).unwrap_or_default();
    shorten(&mut value);
    value.to_string().into_bytes()
}
