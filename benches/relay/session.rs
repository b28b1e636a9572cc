//! A contender at work: an outer terminal, the contender in it, the child inside that, and the socket to the
//! child.
//!
//! The terminal is a bare master that answers no question. Everything waits with a limit; whatever is left of
//! a session when it is dropped is found by its variable and killed by pid.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Child;
use std::time::{Duration, Instant};

use hopty::pty::spawn::spawn_leader;
use nix::pty::{Winsize, openpty};
use nix::sys::socket::{getsockopt, sockopt};

use crate::peers::Peer;
use crate::processes::{self, Usage};
use crate::support::place::{Place, collect, wait_at_most};
use crate::tty;

/// How long anything may take.
pub const LIMIT: Duration = Duration::from_secs(10);
/// How long a contender is waited for until it has nothing more to do, in ns.
const SETTLED: u64 = 500_000_000;
/// How long one must have done nothing to be at rest, in ms: longer than anybody puts work off that a burst
/// left (hopty: 10), which the next contender would pay for.
const REST: i32 = 15;

/// A running contender.
pub struct Session {
    /// Who.
    pub peer: Peer,
    /// The outer terminal, non-blocking.
    pub master: OwnedFd,
    /// The contender's own process in it.
    pub wrapper: Child,
    /// Where the child says what it did.
    pub answers: BufReader<UnixStream>,
    /// All processes of the contender, without the child.
    pub pids: Vec<i32>,
    /// From before the start to the child's first byte at the outer terminal, in ns.
    pub first_byte: u64,
    child: i32,
    daemon: Option<Child>,
    place: Place,
    marks: u32,
}

impl Session {
    /// Starts a contender and waits until its child is connected and its output at rest.
    pub fn start(peer: &Peer) -> io::Result<Session> {
        let place = Place::new()?;
        let socket = place.path().join("child");
        let listener = UnixListener::bind(&socket)?;
        listener.set_nonblocking(true)?;
        let pty = openpty(&Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }, None)?;
        tty::set_close_on_exec(pty.master.as_fd());
        tty::set_close_on_exec(pty.slave.as_fd());
        tty::set_blocking(pty.master.as_fd(), false);
        let daemon = match peer.daemon(place.path()) {
            Some(words) => Some(start_daemon(&words, &place)?),
            None => None,
        };
        let own = std::env::current_exe()?;
        let child: [OsString; 3] = [own.into(), "--child".into(), socket.into()];
        let command = place.command(&peer.command(place.path(), &child));
        let begun = tty::now();
        let mut wrapper = spawn_leader(&File::from(pty.slave), command)?;
        let first_byte = match wait_for_mark(&pty.master) {
            Ok(at) => at - begun,
            Err(error) => {
                end_all(&mut wrapper, daemon, &place);
                return Err(error);
            }
        };
        let until = Instant::now() + LIMIT;
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if Instant::now() > until => {
                    end_all(&mut wrapper, daemon, &place);
                    return Err(error);
                }
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let child = getsockopt(&stream, sockopt::PeerCredentials)?.pid();
        let mut session = Session {
            peer: peer.clone(),
            master: pty.master,
            wrapper,
            answers: BufReader::new(stream),
            pids: Vec::new(),
            first_byte,
            child,
            daemon,
            place,
            marks: 0,
        };
        session.look();
        session.settle();
        Ok(session)
    }

    /// Finds the contender's processes again.
    pub fn look(&mut self) {
        self.pids = self.place.processes();
        self.pids.retain(|pid| *pid != self.child);
    }

    /// Tells the child what to do.
    pub fn order(&mut self, line: &str) -> io::Result<()> {
        self.answers.get_ref().write_all(format!("{line}\n").as_bytes())
    }

    /// Waits for the child's next answer and gives its words after the first, which must be `wanted`.
    pub fn answer(&mut self, wanted: &str) -> io::Result<Vec<u64>> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        match line.split_whitespace().next() {
            Some(word) if word == wanted => {
                Ok(line.split_whitespace().skip(1).map(|n| n.parse().unwrap_or(0)).collect())
            }
            _ => Err(io::Error::other(format!(
                "the child in {} says {line:?} where {wanted} was due",
                self.peer.name
            ))),
        }
    }

    /// The number of the next mark: six digits, none of which its neighbour has in the same place.
    pub fn next_mark(&mut self) -> u32 {
        self.marks += 1;
        100_000 + (self.marks * 123_457) % 900_000
    }

    /// What the contender has used up to now.
    pub fn usage(&self) -> Usage {
        processes::usage(&self.pids)
    }

    /// How long it, its child and this process have waited for a processor up to now, in ns.
    pub fn waited(&self) -> u64 {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        self.usage().waited + processes::usage(&[self.child, own]).waited
    }

    /// Reads away what comes until nothing comes and no processor time is used any more.
    pub fn settle(&mut self) {
        let until = tty::now() + SETTLED;
        let mut buf = vec![0; 1 << 16];
        let mut used = u64::MAX;
        while tty::now() < until {
            let mut quiet = true;
            while let [(true, _)] = tty::wait(&[(self.master.as_fd(), true, false)], REST) {
                quiet = false;
                if !matches!(tty::read(self.master.as_fd(), &mut buf), Ok(Some(1..))) || tty::now() > until {
                    return;
                }
            }
            let now = self.usage().cpu;
            // A contender that wakes by a clock is never at rest: what it does in that time is little.
            if quiet && now.saturating_sub(used) < 300_000 && used != u64::MAX {
                return;
            }
            used = now;
        }
    }

    /// Lets the child exit with `code`; gives the ns from there to the wrapper's end, and the wrapper's exit
    /// code.
    pub fn exit(mut self, code: i32) -> io::Result<(u64, Option<i32>)> {
        self.order(&format!("exit {code}"))?;
        let ended = tty::process(self.wrapper.id())?;
        let mut buf = vec![0; 1 << 16];
        let until = Instant::now() + LIMIT;
        let mut open = true;
        let ended = loop {
            let [(output, _), (end, _)] =
                tty::wait(&[(self.master.as_fd(), open, false), (ended.as_fd(), true, false)], 1000);
            if end || Instant::now() > until {
                break tty::now();
            }
            // Its last words must be read, or it could wait for room.
            if output {
                open = matches!(tty::read(self.master.as_fd(), &mut buf), Ok(Some(1..)));
            }
        };
        let status = self.wrapper.try_wait()?;
        let at = self.answer("exit")?.first().copied().unwrap_or(ended);
        Ok((ended.saturating_sub(at), status.and_then(|status| status.code())))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.order("exit 0");
        let mut buf = vec![0; 1 << 16];
        let until = Instant::now() + Duration::from_secs(2);
        while matches!(self.wrapper.try_wait(), Ok(None)) && Instant::now() < until {
            if let [(true, _)] = tty::wait(&[(self.master.as_fd(), true, false)], 5) {
                let _ = tty::read(self.master.as_fd(), &mut buf);
            }
        }
        if let Some(words) = self.peer.stop(self.place.path()) {
            let _ = self
                .place
                .silent(&words)
                .spawn()
                .map(|mut child| wait_at_most(&mut child, Duration::from_secs(2)));
        }
        end_all(&mut self.wrapper, self.daemon.take(), &self.place);
        collect(self.pids.iter().copied().chain([self.child]));
    }
}

/// A daemon is ready when it listens, or after a while.
fn start_daemon(words: &[OsString], place: &Place) -> io::Result<Child> {
    let child = place.silent(words).spawn()?;
    let until = Instant::now() + Duration::from_secs(3);
    let socket = place.path().join("shpool");
    while Instant::now() < until && !socket.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(child)
}

/// Reads until the child's first `~`, and gives when it came.
fn wait_for_mark(master: &OwnedFd) -> io::Result<u64> {
    let mut buf = vec![0; 1 << 16];
    let until = Instant::now() + LIMIT;
    let mut seen = Vec::new();
    while Instant::now() < until {
        let [(ready, _)] = tty::wait(&[(master.as_fd(), true, false)], 100);
        if !ready {
            continue;
        }
        let n = tty::read(master.as_fd(), &mut buf)?.unwrap_or(0);
        let now = tty::now();
        if buf[..n].contains(&b'~') {
            return Ok(now);
        }
        seen.extend_from_slice(&buf[..n.min(200)]);
        if n == 0 {
            break;
        }
    }
    Err(io::Error::other(format!(
        "the child's first byte did not come, but {:?}",
        String::from_utf8_lossy(&seen)
    )))
}

/// Ends what is left of a session.
fn end_all(wrapper: &mut Child, daemon: Option<Child>, place: &Place) {
    let left = place.kill_all();
    wait_at_most(wrapper, Duration::from_millis(500));
    if let Some(mut daemon) = daemon {
        wait_at_most(&mut daemon, Duration::ZERO);
    }
    collect(left.into_iter());
}
