//! Runs hopty's own commands as a person would: `attach` in this terminal, `send` without one. Their
//! messages are shown afterwards.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::session_row::clean;
use crate::core::ids::SessionName;
use crate::core::io_words::io_words;
use crate::sys::poll::{Interest, PollSet};
use crate::sys::signals::{END_SIGNALS, Signals};

/// How much of a command's last words is read, in bytes.
const WORDS_MAX: u64 = 16 * 1024;
/// How many lines of a session's log are kept.
const LOG_MAX: usize = 1000;

/// The running program, even if its file was replaced meanwhile.
fn hopty(args: &[&str]) -> Command {
    let own = Path::new("/proc/self/exe");
    let program = if own.exists() {
        own.to_owned()
    } else {
        std::env::current_exe().unwrap_or_else(|_| "hopty".into())
    };
    let mut command = Command::new(program);
    command.arg0("hopty").args(args);
    command
}

/// How an attach ended.
#[derive(Debug, PartialEq, Eq)]
pub enum AttachReturn {
    /// The client ended, with this message.
    Ended(String),
    /// This process got this signal; the client has left.
    Signal(i32),
}

/// Runs `hopty attach NAME` in this terminal until it ends. A signal that ends this process ends the client
/// first.
///
/// # Errors
/// When it cannot be started.
pub fn attach(name: &SessionName, signals: &mut Signals) -> io::Result<AttachReturn> {
    let mut child = hopty(&["attach", name.as_str()]).stderr(Stdio::piped()).spawn()?;
    let Some(mut errors) = child.stderr.take() else { return Ok(AttachReturn::Ended(String::new())) };
    let (mut words, mut told) = (Vec::new(), None);
    loop {
        let mut set = PollSet::default();
        set.add(VerbSource::Errors, errors.as_fd(), Interest::Read);
        set.add(VerbSource::Signals, signals.as_fd(), Interest::Read);
        let ready = set.wait(None)?;
        let is_ready = |source| ready.iter().any(|(which, _)| *which == source);
        if is_ready(VerbSource::Signals) {
            for signal in signals.take().into_iter().filter(|signal| END_SIGNALS.contains(signal)) {
                told = Some(signal);
                hang_up(&child);
            }
        }
        if is_ready(VerbSource::Errors) {
            let mut part = [0; 1024];
            match errors.read(&mut part) {
                Ok(0) => break,
                Ok(n) if words.len() < WORDS_MAX as usize => words.extend_from_slice(&part[..n]),
                Err(e) if e.kind() != io::ErrorKind::Interrupted => break,
                _ => {}
            }
        }
    }
    child.wait()?;
    Ok(told.map_or_else(|| AttachReturn::Ended(first_line(&words)), AttachReturn::Signal))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VerbSource {
    Errors,
    Signals,
}

/// Makes the client leave; the session keeps running. Any other signal would be passed on to the session's
/// program.
fn hang_up(child: &Child) {
    if let Ok(pid) = i32::try_from(child.id()) {
        // The child has not been reaped, so its id is its own.
        let _ = kill(Pid::from_raw(pid), Signal::SIGHUP);
    }
}

/// Runs `hopty send NAME --submit` with the text on standard input, where no other user can see it. Returns
/// its message.
pub fn send(name: &SessionName, text: &str) -> String {
    let piped = || Stdio::piped();
    let mut command = hopty(&["send", name.as_str(), "--submit", "--stdin"]);
    let spawned = command.stdin(piped()).stdout(piped()).stderr(piped()).spawn();
    let done = spawned.and_then(|mut child| {
        if let Some(mut input) = child.stdin.take() {
            let _ = input.write_all(text.as_bytes());
        }
        child.wait_with_output()
    });
    match done {
        Ok(output) if output.status.success() => format!("{name}: {}", first_line(&output.stdout)),
        Ok(output) if !output.stderr.is_empty() => first_line(&output.stderr),
        Ok(output) => format!("send: {name}: {}", first_line(&output.stdout)),
        Err(e) => format!("send: {name}: {}", io_words(e)),
    }
}

/// Runs `hopty --detached` in a directory. Returns the session's name and the message.
///
/// # Errors
/// Its error message.
pub fn start(dir: &Path) -> Result<(SessionName, String), String> {
    let mut command = hopty(&["--detached"]);
    let output = command.current_dir(dir).stdin(Stdio::null()).output().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound if !dir.exists() => format!("no such directory: {}", dir.display()),
        _ => format!("new session: {}: {}", io_words(e), dir.display()),
    })?;
    let words = first_line(&output.stdout);
    match words.parse::<SessionName>() {
        Ok(name) if output.status.success() => {
            let words = format!("{name}: started in {}", dir.display());
            Ok((name, words))
        }
        _ => Err(format!("new session: {}", first_line(&output.stderr))),
    }
}

/// Runs `hopty log`; returns the lines, newest first.
pub fn log(name: &SessionName) -> Vec<String> {
    let words = match hopty(&["log", name.as_str()]).stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => output.stdout,
        Ok(output) => output.stderr,
        Err(e) => io_words(e).into_bytes(),
    };
    let lines: Vec<String> = String::from_utf8_lossy(&words).lines().rev().take(LOG_MAX).map(clean).collect();
    if lines.is_empty() { vec!["nothing yet".to_owned()] } else { lines }
}

/// The first line, without the program name in front.
fn first_line(words: &[u8]) -> String {
    let text = String::from_utf8_lossy(words);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.strip_prefix("hopty: ").unwrap_or(line).to_owned()
}
