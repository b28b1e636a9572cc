//! Processes that the stand-in agent starts: commands of the Bash tool, and hooks.
//!
//! Each leads a session of its own without a terminal, as with the real program (measured). Running ones
//! are recorded, so that an interrupt or the agent's end can kill them. Output goes to unlinked files, not
//! pipes: a grandchild that keeps the output open must not keep the agent waiting.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::agent_shared::lock;
use crate::sys::process::lead_session;

/// How much output is kept, in bytes.
const MAX_OUTPUT: u64 = 1024 * 1024;

/// The result of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChildResult {
    /// The exit code; 128 + n if signal n ended it.
    pub(super) code: i32,
    /// Its output, cut to 1 MiB.
    pub(super) stdout: String,
    /// Its error output; empty if both were joined.
    pub(super) stderr: String,
    /// Whether it was killed because of a timeout.
    pub(super) timed_out: bool,
}

/// Where the error output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StderrMode {
    /// To the output, in the order of writing, as on a terminal.
    Joined,
    /// Kept separate.
    Apart,
}

/// The running children, by process group.
#[derive(Debug, Default)]
pub(super) struct Children(Mutex<BTreeSet<i32>>);

impl Children {
    /// Runs a command to its end, or to `limit`.
    ///
    /// # Errors
    /// When it cannot be started, or no temporary file can be created.
    pub(super) fn run(
        &self,
        command: &mut Command,
        input: &[u8],
        errors: StderrMode,
        limit: Duration,
    ) -> io::Result<ChildResult> {
        let mut stdin = tempfile::tempfile()?;
        stdin.write_all(input)?;
        stdin.rewind()?;
        let mut out = tempfile::tempfile()?;
        let mut err = match errors {
            StderrMode::Joined => out.try_clone()?,
            StderrMode::Apart => tempfile::tempfile()?,
        };
        command.stdin(stdin).stdout(Stdio::from(out.try_clone()?)).stderr(Stdio::from(err.try_clone()?));
        lead_session(command);
        let mut child = command.spawn()?;
        let group = i32::try_from(child.id()).unwrap_or(i32::MAX);
        lock(&self.0).insert(group);
        let waited = wait(&mut child, limit);
        lock(&self.0).remove(&group);
        let (status, timed_out) = waited?;
        let stderr = if errors == StderrMode::Joined { String::new() } else { contents(&mut err)? };
        Ok(ChildResult { code: code(status), stdout: contents(&mut out)?, stderr, timed_out })
    }

    /// Ends all running children: SIGTERM, and SIGKILL 0.2 s later for the rest.
    pub(super) fn kill_all(&self) {
        let groups: Vec<i32> = lock(&self.0).iter().copied().collect();
        for group in &groups {
            let _ = killpg(Pid::from_raw(*group), Signal::SIGTERM);
        }
        let until = Instant::now() + Duration::from_millis(200);
        while Instant::now() < until && groups.iter().any(|g| lock(&self.0).contains(g)) {
            thread::sleep(Duration::from_millis(5));
        }
        for group in groups.iter().filter(|g| lock(&self.0).contains(g)) {
            let _ = killpg(Pid::from_raw(*group), Signal::SIGKILL);
        }
    }
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<(ExitStatus, bool)> {
    let until = Instant::now() + limit;
    let mut nap = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, false));
        }
        if Instant::now() >= until {
            let _ = killpg(Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX)), Signal::SIGKILL);
            return Ok((child.wait()?, true));
        }
        thread::sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(10));
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|s| 128 + s)).unwrap_or(-1)
}

fn contents(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn sh(text: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]);
        command
    }

    #[test]
    fn input_output_and_code_come_through() {
        let children = Children::default();
        let done = children
            .run(&mut sh("cat; echo e >&2; exit 4"), b"in\n", StderrMode::Apart, Duration::from_secs(20))
            .unwrap();
        assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (4, "in\n", "e\n"));
        let done = children
            .run(&mut sh("echo a; echo b >&2; echo c"), b"", StderrMode::Joined, Duration::from_secs(20))
            .unwrap();
        assert_eq!(done.stdout, "a\nb\nc\n");
    }

    #[test]
    fn a_grandchild_that_keeps_the_output_is_not_waited_for() {
        let children = Children::default();
        let begun = Instant::now();
        children
            .run(&mut sh("sleep 20 & echo up"), b"", StderrMode::Joined, Duration::from_secs(60))
            .unwrap();
        assert!(begun.elapsed() < Duration::from_secs(15));
    }

    #[test]
    fn a_child_is_killed_when_its_time_is_over_or_all_are() {
        let children = Arc::new(Children::default());
        let done =
            children.run(&mut sh("sleep 600"), b"", StderrMode::Apart, Duration::from_millis(20)).unwrap();
        assert!(done.timed_out);
        let other = Arc::clone(&children);
        let thread = thread::spawn(move || {
            other.run(
                &mut sh("trap '' TERM; while :; do sleep 600; done"),
                b"",
                StderrMode::Apart,
                Duration::from_secs(600),
            )
        });
        while lock(&children.0).is_empty() {
            thread::yield_now();
        }
        children.kill_all();
        assert!(thread.join().unwrap().unwrap().code > 128);
    }
}
