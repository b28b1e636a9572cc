//! Starting a program in a pseudo-terminal, with exec's own errors.
//!
//! The host leads the terminal's session and the child is a process group of its own in the foreground: a
//! child that led the session would be in an orphaned group, and the kernel would discard its SIGTSTP.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use nix::libc;
use nix::sys::signal::Signal as NamedSignal;
use nix::unistd::{Pid, getpid, getppid, setpgid, tcsetpgrp};
use rustix::process::ioctl_tiocsctty;
use thiserror::Error;

use super::open::{Pty, open_slave};
use crate::core::inherited_state::SignalState;
use crate::core::io_words::io_words;
use crate::core::process_change::Signal;
use crate::sys::{fd, inherited, process, signals};

#[derive(Clone, Debug)]
pub struct ChildProgram {
    pub path: PathBuf,
    /// The name by which it is called, its first argument.
    pub name: OsString,
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory; `.` for this process's own.
    pub dir: PathBuf,
    pub signals: SignalState,
    /// Descriptors that the child inherits under the same numbers; they are close-on-exec here.
    pub descriptors: Vec<RawFd>,
    /// Where its errors go.
    pub errors: ErrorStream,
    /// The umask; `None`: this process's own.
    pub umask: Option<u32>,
}

/// Where a program's standard error goes.
#[derive(Clone, Debug)]
pub enum ErrorStream {
    Terminal,
    /// To this descriptor.
    To(Arc<OwnedFd>),
    /// Nowhere: it is closed.
    Closed,
}

/// Why a program did not start.
#[derive(Debug, Error)]
pub enum SpawnError {
    #[error("no such program")]
    NotFound,
    /// Its first line names an interpreter that is not there.
    #[error("its interpreter is missing: {0}")]
    BadInterpreter(String),
    /// It may not be executed.
    #[error("permission denied")]
    NotExecutable,
    #[error("not an executable file")]
    NoProgram,
    /// The working directory is gone.
    #[error("the working directory {0} is gone")]
    NoDirectory(PathBuf),
    #[error("{}", io_words(.0))]
    Other(#[from] io::Error),
}

impl SpawnError {
    /// Whether only a resource has run out (processes, descriptors, memory), so that a retry may work.
    pub fn may_pass(&self) -> bool {
        let SpawnError::Other(error) = self else { return false };
        let used_up = [libc::EAGAIN, libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ENOSPC];
        error.raw_os_error().is_some_and(|errno| used_up.contains(&errno))
    }

    /// Whether the program's file is not there or not complete, as during an update, or its directory is
    /// gone, which may be renamed or made again.
    pub fn is_of_file(&self) -> bool {
        matches!(
            self,
            SpawnError::NotFound
                | SpawnError::NoProgram
                | SpawnError::NotExecutable
                | SpawnError::BadInterpreter(_)
                | SpawnError::NoDirectory(_)
        ) || matches!(self, SpawnError::Other(error) if error.raw_os_error() == Some(libc::ETXTBSY))
    }

    /// The exit code: 127 not found, 126 not executable, 125 hopty itself failed.
    pub fn code(&self) -> u8 {
        match self {
            SpawnError::NotFound => 127,
            SpawnError::BadInterpreter(_) | SpawnError::NotExecutable | SpawnError::NoProgram => 126,
            SpawnError::NoDirectory(_) | SpawnError::Other(_) => 125,
        }
    }
}

/// Makes `pty` the controlling terminal of this process, which leads its session, and starts the program in
/// it.
///
/// # Errors
/// When the terminal cannot be taken, or exec fails.
pub fn spawn(pty: &Pty, program: &ChildProgram) -> Result<i32, SpawnError> {
    let slave = pty.open_slave()?;
    take_terminal(&slave)?;
    let mut command = Command::new(&program.path);
    command
        .arg0(&program.name)
        .args(&program.args)
        .env_clear()
        .envs(program.env.iter().cloned())
        .stdin(Stdio::from(slave.try_clone()?))
        .stdout(Stdio::from(slave.try_clone()?))
        .stderr(match &program.errors {
            ErrorStream::To(fd) => Stdio::from(fd.try_clone()?),
            ErrorStream::Terminal | ErrorStream::Closed => Stdio::from(slave),
        });
    // The child starts in this process's directory anyway, which may no longer be reachable by name.
    if program.dir != Path::new(".") && std::env::current_dir().ok().as_ref() != Some(&program.dir) {
        command.current_dir(&program.dir);
    }
    let (signals, descriptors, umask) = (program.signals, program.descriptors.clone(), program.umask);
    let host = getpid();
    let close_errors = matches!(program.errors, ErrorStream::Closed);
    // SAFETY: only async-signal-safe calls between fork and exec, and no allocation.
    unsafe {
        command.pre_exec(move || {
            if let Some(umask) = umask {
                inherited::set_umask(umask);
            }
            in_child(host, signals, &descriptors, close_errors).map_err(not_of_exec)
        })
    };
    let child = command.spawn().map_err(|error| explain(error, program))?;
    // The handle is dropped: the host waits by pid, with stops and continues, which std's Child does not
    // report.
    Ok(i32::try_from(child.id()).unwrap_or(0))
}

/// Starts `command` in the terminal behind `slave` as the leader of a new session, like the shell of a
/// terminal window.
pub fn spawn_leader(slave: &File, mut command: Command) -> io::Result<Child> {
    let stream = || slave.try_clone().map(Stdio::from);
    command.stdin(stream()?).stdout(stream()?).stderr(stream()?);
    process::lead_session(&mut command);
    // SAFETY: ioctl is async-signal-safe and touches only the child.
    unsafe { command.pre_exec(|| Ok(ioctl_tiocsctty(fd::stdin())?)) };
    // Dropping the command closes its copies of the slave, which would keep the terminal open.
    command.spawn()
}

/// Leaves the controlling terminal of an earlier run and takes the new one.
fn take_terminal(slave: &File) -> io::Result<()> {
    if let Ok(old) = open_slave("/dev/tty".as_ref()) {
        // SAFETY: TIOCNOTTY takes no argument.
        unsafe { libc::ioctl(old.as_raw_fd(), libc::TIOCNOTTY) };
    }
    Ok(ioctl_tiocsctty(slave)?)
}

/// In the child: its own process group, in the foreground, with the signals and descriptors that it inherits.
/// It gets SIGTERM if the host dies, even if it ignores the hang-up of its terminal.
fn in_child(host: Pid, state: SignalState, descriptors: &[RawFd], close_errors: bool) -> io::Result<()> {
    // Without it the child outlives a host that dies, which is no reason not to start it.
    let _ = nix::sys::prctl::set_pdeathsig(NamedSignal::SIGTERM);
    if getppid() != host {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    // A background group that takes the foreground would be stopped by SIGTTOU.
    signals::ignore(libc::SIGTTOU);
    tcsetpgrp(fd::stdin(), getpid())?;
    for fd in descriptors {
        // A descriptor that is closed is skipped.
        fd::set_close_on_exec(*fd, false);
    }
    if close_errors {
        let _ = nix::unistd::close(libc::STDERR_FILENO);
    }
    for signal in SignalState::ALL {
        set_disposition(signal, state.ignores(Signal(signal)));
    }
    signals::block_as(state);
    Ok(())
}

/// Covers also the signals that the C library reserves and leaves ignored once there are threads (32, 33);
/// its own functions refuse them. Only call it between fork and exec, where those threads do not exist.
fn set_disposition(signal: i32, ignored: bool) {
    // The kernel's `struct sigaction`: handler, no flags, no restorer, no mask.
    let action = [if ignored { libc::SIG_IGN } else { libc::SIG_DFL } as u64, 0, 0, 0];
    let none = std::ptr::null::<u64>();
    // SAFETY: the kernel reads 32 bytes and a mask of 8; neither disposition is a handler.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), none, 8) };
}

/// An error before exec, which a sandbox may cause. `EACCES` there does not mean that the program may not be
/// executed.
fn not_of_exec(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::from_raw_os_error(libc::ENOSYS),
        _ => error,
    }
}

fn explain(error: io::Error, program: &ChildProgram) -> SpawnError {
    match error.kind() {
        io::ErrorKind::NotFound if !program.dir.is_dir() => SpawnError::NoDirectory(program.dir.clone()),
        io::ErrorKind::NotFound if program.path.exists() => SpawnError::BadInterpreter(interpreter(program)),
        io::ErrorKind::NotFound => SpawnError::NotFound,
        io::ErrorKind::PermissionDenied => SpawnError::NotExecutable,
        _ if error.raw_os_error() == Some(libc::ENOEXEC) => SpawnError::NoProgram,
        _ => SpawnError::Other(error),
    }
}

/// The interpreter that a script's first line names, for the message.
fn interpreter(program: &ChildProgram) -> String {
    use std::io::Read;
    let mut head = [0; 256];
    let n = File::open(&program.path).and_then(|mut f| f.read(&mut head)).unwrap_or(0);
    let line = head[..n].split(|b| *b == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line.strip_prefix(b"#!").unwrap_or(b"(its loader)"))
        .trim()
        .chars()
        .filter(|c| !c.is_control())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_before_exec_is_not_the_programs_fault() {
        let program = ChildProgram {
            path: "/bin/sh".into(),
            name: "sh".into(),
            args: Vec::new(),
            env: Vec::new(),
            dir: ".".into(),
            signals: SignalState::default(),
            descriptors: Vec::new(),
            errors: ErrorStream::Terminal,
            umask: None,
        };
        for errno in [libc::EPERM, libc::EACCES] {
            let error = || io::Error::from_raw_os_error(errno);
            assert_eq!(explain(error(), &program).code(), 126);
            let refused = explain(not_of_exec(error()), &program);
            assert_eq!((refused.code(), refused.may_pass()), (125, false));
        }
    }
}
