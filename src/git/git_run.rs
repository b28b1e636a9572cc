//! Runs git once, with limits on its output and its time.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The result of a run.
#[derive(Debug)]
pub(super) struct RunOutput {
    /// The exit status; `None` if it was killed.
    pub(super) status: Option<ExitStatus>,
    /// Standard output, up to the cap.
    pub(super) stdout: Vec<u8>,
    /// The first 4 KiB of standard error.
    pub(super) stderr: Vec<u8>,
    /// Why it was killed.
    pub(super) cut: Option<KillReason>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KillReason {
    Time,
    Size,
}

/// Runs a command until `until`, and keeps at most `cap` bytes of its output. It gets no input and no
/// terminal.
pub(super) fn run(command: &mut Command, until: Instant, cap: usize) -> io::Result<RunOutput> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    crate::sys::process::lead_session(command);
    let mut child = command.spawn()?;
    let read = read(&mut child, until, cap);
    let cut = read.as_ref().map_or(Some(KillReason::Time), |read| read.2);
    let status = end(&mut child, until, cut);
    let (stdout, stderr, _) = read?;
    let cut = cut.or(match status.as_ref().and_then(|status| status.signal()) {
        Some(signal) if signal == Signal::SIGKILL as i32 => Some(KillReason::Time),
        _ => None,
    });
    Ok(RunOutput { status, stdout, stderr, cut })
}

type Streams = (Vec<u8>, Vec<u8>, Option<KillReason>);

fn read(child: &mut Child, until: Instant, cap: usize) -> io::Result<Streams> {
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; 64 << 10];
    while stdout.is_some() || stderr.is_some() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok((out, err, Some(KillReason::Time)));
        }
        // Rounded up, so that the last millisecond is not spent in a busy loop.
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        let ready = wait(stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd), timeout)?;
        if ready.stdout
            && let Some(stream) = stdout.as_mut()
        {
            match stream.read(&mut buffer)? {
                0 => stdout = None,
                n => out.extend_from_slice(&buffer[..n]),
            }
            if out.len() > cap {
                out.truncate(cap);
                return Ok((out, err, Some(KillReason::Size)));
            }
        }
        if ready.stderr
            && let Some(stream) = stderr.as_mut()
        {
            match stream.read(&mut buffer)? {
                0 => stderr = None,
                n => err.extend_from_slice(&buffer[..n.min(4096_usize.saturating_sub(err.len()))]),
            }
        }
    }
    Ok((out, err, None))
}

type Fd<'a> = Option<std::os::fd::BorrowedFd<'a>>;

/// Which streams are readable or at their end.
struct ReadyStreams {
    stdout: bool,
    stderr: bool,
}

fn wait(stdout: Fd<'_>, stderr: Fd<'_>, timeout: PollTimeout) -> io::Result<ReadyStreams> {
    let mut fds: Vec<PollFd<'_>> =
        [stdout, stderr].into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    match poll(&mut fds, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = fds.iter().map(|fd| fd.any().unwrap_or(false));
    let mut is_ready = |stream: Fd<'_>| stream.is_some() && ready.next().unwrap_or(false);
    Ok(ReadyStreams { stdout: is_ready(stdout), stderr: is_ready(stderr) })
}

/// Reaps the child. Kills its group first if `cut` is set or it does not end in time.
fn end(child: &mut Child, until: Instant, cut: Option<KillReason>) -> Option<ExitStatus> {
    while cut.is_none() && Instant::now() < until {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            // Its output is closed: only its exit is still to come.
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Err(_) => break,
        }
    }
    if let Ok(group) = i32::try_from(child.id()) {
        // It may have ended meanwhile, but it is not reaped yet, so the id is still its own.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    let status = child.wait().ok();
    status.filter(|_| cut.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, ms: u64, cap: usize) -> RunOutput {
        let mut command = Command::new("sh");
        run(command.args(["-c", script]), Instant::now() + Duration::from_millis(ms), cap).unwrap()
    }

    #[test]
    fn output_and_status_are_kept() {
        let output = sh("printf out; printf err >&2; exit 3", 20_000, 100);
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out"[..], &b"err"[..]));
        assert_eq!((output.status.unwrap().code(), output.cut), (Some(3), None));
    }

    #[test]
    fn a_run_ends_in_time_with_what_it_started() {
        let began = Instant::now();
        let output = sh("printf part; sleep 1000 & exec sleep 1000", 200, 100);
        assert_eq!((output.stdout.as_slice(), output.cut), (&b"part"[..], Some(KillReason::Time)));
        assert!(began.elapsed() < Duration::from_secs(20));
        let quiet = sh("exec >&- 2>&-; sleep 1000", 200, 100);
        assert_eq!(quiet.cut, Some(KillReason::Time));
    }

    #[test]
    fn output_without_end_is_cut() {
        let output = sh("while :; do echo yyyyyyyyyyyyyyyyyyyy; done", 20_000, 1000);
        assert_eq!((output.stdout.len(), output.cut), (1000, Some(KillReason::Size)));
    }

    #[test]
    fn the_child_gets_no_input_and_no_file_of_ours() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let output = sh("cat; ls -l /proc/self/fd", 20_000, 10_000);
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(listed.contains("0 -> /dev/null"), "{listed}");
        assert!(!listed.contains(file.path().to_str().unwrap()), "{listed}");
    }
}
