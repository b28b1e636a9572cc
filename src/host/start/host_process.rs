//! The host process: from the fork to its exit code.

use std::ffi::OsString;
use std::io::{BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::libc;

use super::inherited_descriptors::InheritedDescriptors;
use super::launch::{Launch, StartReport, read_orders};
use super::session_dir;
use crate::core::supervisor::ProgramKind;
use crate::fs::paths::Paths;
use crate::fs::session::HOST_NAMES;
use crate::host::Host;
use crate::host::host_start::StartedHost;
use crate::host::jobs;
use crate::sys::{fd, inherited, process, signals};

/// How long a session that starts detached waits for its file to be written.
const FIRST_WRITES: Duration = Duration::from_millis(500);

/// Signals that the host ignores. It catches SIGUSR1 later: until then, a client that finds the name
/// taken but no socket must not end it with that signal.
const IGNORED: [i32; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGTTOU,
    libc::SIGTTIN,
    libc::SIGTSTP,
    libc::SIGPIPE,
    libc::SIGXFSZ,
    libc::SIGQUIT,
    libc::SIGUSR1,
];

/// The host process, from the fork to its exit code. `socket` connects it to the process that forked it.
pub fn main(socket: UnixStream) -> i32 {
    match up(socket) {
        Ok(host) => host.run(),
        Err(code) => code,
    }
}

/// Starts the session; returns the exit code if it fails. Not inlined: its frame would stay on the stack as
/// long as the session lives.
#[inline(never)]
fn up(socket: UnixStream) -> Result<Box<Host>, i32> {
    crate::sys::fault_injection::let_disks_hang();
    process::set_process_name(HOST_NAMES.0);
    // The host will hold the terminal that Claude reads from, and people's terminals.
    process::set_undumpable();
    let descriptors = inherited::descriptors();
    // It fails only for a group leader, which a forked process is not.
    let _ = nix::unistd::setsid();
    signals::unblock_all();
    IGNORED.into_iter().for_each(signals::ignore);
    process::become_subreaper();
    let Some((launch, args)) = read_orders(BufReader::new(&socket)) else {
        // The client decided against a session, or reports the failure itself.
        return Err(0);
    };
    let inherited = InheritedDescriptors::new(&launch, descriptors);
    if let Ok(null) = fd::dev_null() {
        let _ = nix::unistd::dup2_stdin(&null);
        let _ = nix::unistd::dup2_stdout(&null);
        let _ = nix::unistd::dup2_stderr(&null);
    }
    if launch.agent == ProgramKind::Plain {
        process::set_process_name(HOST_NAMES.1);
    }
    let detached = launch.detached;
    match begin(launch, args, inherited) {
        Ok(StartedHost { mut host, notices }) => {
            if detached {
                // The caller may look up the session by its directory at once.
                host.jobs.journal.flush(FIRST_WRITES);
            }
            let state = host
                .session
                .private
                .as_ref()
                .map(|_| host.session.paths.state.to_string_lossy().into_owned());
            // Claude draws over the messages at once, so they are kept among the notices.
            let messages = std::mem::take(&mut host.session.launch.messages);
            host.terminals
                .keep_notices(host.clock.now(), messages.iter().chain(&notices).map(String::as_str));
            send_report(
                &socket,
                &StartReport::Up { name: host.session.name().clone(), told: notices, state },
            );
            if !detached && let Some(id) = host.control.admit_launcher(socket, host.clock.now()) {
                host.terminals.await_client(id);
            }
            Ok(host)
        }
        Err(failed) => {
            send_report(&socket, &failed);
            Err(1)
        }
    }
}

fn send_report(mut socket: &UnixStream, ready: &StartReport) {
    let mut line = serde_json::to_string(ready).unwrap_or_default();
    line.push('\n');
    let _ = socket.write_all(line.as_bytes());
}

#[inline(never)]
fn begin(
    launch: Launch,
    args: Vec<OsString>,
    inherited: InheritedDescriptors,
) -> Result<StartedHost, StartReport> {
    let paths = Paths::from_env(|name| std::env::var_os(name))
        .unwrap_or_else(|| Paths::without_home(|name| std::env::var_os(name)));
    let place = session_dir::find(&paths, &launch)?;
    jobs::log::to(&place.claim.dir);
    Host::begin(launch, args, inherited, place)
}

/// How to fix a start that failed with this exit code.
pub fn start_hint(code: u8) -> &'static str {
    match code {
        127 => "check the name and PATH",
        126 => "check that the file is executable (chmod +x) and that its interpreter exists",
        _ => "",
    }
}
