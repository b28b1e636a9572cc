//! One command of a notification. It runs in a process group of its own, gets its input once, and is killed
//! with its group when its time is up.

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::sys::inherited;
use crate::sys::program_search::programs_outside_of;

/// How long a command may take.
const NOTIFY_LIMIT: Duration = Duration::from_secs(10);
/// How often to check whether it has ended.
const NOTIFY_POLL: Duration = Duration::from_millis(5);
/// The command for desktop notifications (ADR 12).
pub const DESKTOP: &str = "notify-send";

/// The result of a command; an error is a sentence.
pub(super) type NotifyResult = Result<(), String>;

/// What a command runs.
#[derive(Debug)]
enum NotifyProgram {
    /// The person's own command.
    Shell(Command),
    /// [`DESKTOP`] with these arguments: from `PATH`, but not from the session's directory.
    Desktop { args: [String; 4], dir: PathBuf },
}

impl NotifyProgram {
    /// Looks the program up; not on the loop, because a disk may be slow.
    fn command(self) -> Result<Command, String> {
        match self {
            NotifyProgram::Shell(command) => Ok(command),
            NotifyProgram::Desktop { args, dir } => {
                let search = std::env::var_os("PATH").unwrap_or_default();
                let found = programs_outside_of(&dir, &search, DESKTOP).next();
                let mut command = Command::new(found.ok_or_else(missing)?);
                command.args(args).current_dir("/");
                Ok(command)
            }
        }
    }
}

fn missing() -> String {
    format!(
        "{DESKTOP} is not installed, so `notify.desktop` shows nothing; `hopty check` says what to install"
    )
}

/// A command, ready to run on a thread.
#[derive(Debug)]
pub(super) struct NotifyJob {
    program: NotifyProgram,
    name: &'static str,
    input: Vec<u8>,
    limit: Duration,
}

impl NotifyJob {
    /// The person's own command, run by the shell in the session's directory, or in `/` if that is gone.
    pub fn shell(line: &str, input: Vec<u8>, variables: Vec<(&'static str, String)>, dir: PathBuf) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).envs(variables);
        command.current_dir(if dir.is_dir() { dir } else { PathBuf::from("/") });
        NotifyJob {
            program: NotifyProgram::Shell(command),
            name: "notify.command",
            input,
            limit: NOTIFY_LIMIT,
        }
    }

    /// The desktop's notification service, by its common command. `dir`: the session's directory.
    pub fn desktop(title: &str, text: &str, dir: PathBuf) -> Self {
        let args = ["--app-name=hopty", "--", title, text].map(str::to_owned);
        let program = NotifyProgram::Desktop { args, dir };
        NotifyJob { program, name: DESKTOP, input: Vec::new(), limit: NOTIFY_LIMIT }
    }

    #[cfg(test)]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs it to its end.
    pub fn run(self) -> NotifyResult {
        let name = self.name;
        let mut command = self.program.command()?;
        inherited::pass_on(&mut command, None);
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| format!("cannot run {name}: {e}"))?;
        if let Some(mut input) = child.stdin.take() {
            // A command that does not read it may still succeed; input never exceeds a pipe's capacity.
            let _ = input.write_all(&self.input);
        }
        end(&mut child, name, self.limit)
    }
}

fn end(child: &mut Child, name: &str, limit: Duration) -> NotifyResult {
    let until = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                let how = status.code().map_or_else(
                    || format!("was ended by signal {}", status.signal().unwrap_or(0)),
                    |code| format!("exited with {code}"),
                );
                return Err(format!("{name} {how}"));
            }
            Ok(None) if Instant::now() < until => std::thread::sleep(NOTIFY_POLL),
            _ => break,
        }
    }
    if let Ok(group) = i32::try_from(child.id()) {
        // Not reaped yet, so the id is still its own.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    let _ = child.wait();
    Err(format!("{name} took longer than {} s and was killed", limit.as_secs()))
}
