//! A session with the painter in it, and visits to it: a terminal, a client in it, what the terminal is sent
//! and when.
//!
//! The terminal answers questions as alacritty_terminal does. A visit ends as the closing of a window does.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hopty::pty::spawn::spawn_leader;
use nix::pty::{Winsize, openpty};

use crate::peers::Peer;
use crate::support::place::{Place, collect, wait_at_most};
use crate::window::Window;
use crate::{COLS, ROWS, painter, tty};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(10);
/// Nothing more comes when nothing came for so long, in ms; before the first byte, and after the last.
const QUIET: (i32, i32) = (2000, 150);

/// A session.
pub struct Session {
    /// Whose.
    pub peer: Peer,
    place: Place,
    /// None where only a file is shown.
    painter: Option<BufReader<UnixStream>>,
    daemon: Option<Child>,
}

/// What a terminal was sent: when, in ns from before the client was started, and what.
pub type Sent = Vec<(u64, Vec<u8>)>;

impl Session {
    /// Starts one without a terminal, and waits for the painter.
    pub fn start(peer: &Peer) -> io::Result<Session> {
        let place = Place::new()?;
        std::fs::write(place.path().join("conf"), peer.conf())?;
        if !peer.has_sessions() {
            return Ok(Session { peer: peer.clone(), place, painter: None, daemon: None });
        }
        let socket = place.path().join("painter");
        let listener = UnixListener::bind(&socket)?;
        let daemon = peer.daemon(place.path()).map(|words| place.silent(&words).spawn()).transpose()?;
        let until = Instant::now() + LIMIT;
        while daemon.is_some() && !place.path().join(peer.name).exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        let child: [OsString; 3] = [std::env::current_exe()?.into(), "--paint".into(), socket.into()];
        let mut starter = place.silent(&peer.start(place.path(), &child)).spawn()?;
        let [(came, _)] = tty::wait(
            &[(listener.as_fd(), true, false)],
            i32::try_from(LIMIT.as_millis()).unwrap_or(i32::MAX),
        );
        wait_at_most(&mut starter, LIMIT);
        if !came {
            return Err(io::Error::other("its program did not start"));
        }
        let (painter, _) = listener.accept()?;
        Ok(Session { peer: peer.clone(), place, painter: Some(BufReader::new(painter)), daemon })
    }

    /// Lets the painter work, and gives the size of its terminal when it is done; `None` where nobody takes
    /// what it writes.
    pub fn paint(&mut self, what: &str, limit: Duration) -> io::Result<Option<String>> {
        let Some(painter) = &mut self.painter else {
            std::fs::write(self.place.path().join("painting"), painter::painting(what))?;
            return Ok(Some(format!("{COLS} {ROWS}")));
        };
        painter.get_ref().write_all(format!("{what}\n").as_bytes())?;
        painter.get_ref().set_read_timeout(Some(limit))?;
        let mut line = String::new();
        match painter.read_line(&mut line) {
            Ok(_) => Ok(Some(line.trim_end().to_owned())),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Comes to the session in a terminal of its own.
    pub fn visit(&self) -> io::Result<Visit> {
        let pty = openpty(&Winsize { ws_row: ROWS, ws_col: COLS, ws_xpixel: 0, ws_ypixel: 0 }, None)?;
        tty::set_close_on_exec(pty.master.as_fd());
        tty::set_close_on_exec(pty.slave.as_fd());
        tty::set_blocking(pty.master.as_fd(), false);
        let (slave, command) =
            (File::from(pty.slave), self.place.command(&self.peer.attach(self.place.path())));
        let master = Arc::new(pty.master);
        // Before the client: what starting a thread takes is not the client's.
        let emulator = Emulator::start(Arc::clone(&master));
        let begun = tty::now();
        let client = spawn_leader(&slave, command)?;
        Ok(Visit { master: Some(master), emulator: Some(emulator), client, begun, sent: Vec::new() })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The painter ends with its socket, and most peers with it.
        if let Some(painter) = &self.painter {
            let _ = painter.get_ref().shutdown(std::net::Shutdown::Both);
        }
        if let Some(words) = self.peer.stop(self.place.path()) {
            let _ = self
                .place
                .silent(&words)
                .spawn()
                .map(|mut child| wait_at_most(&mut child, Duration::from_secs(2)));
        }
        let left = self.place.kill_all();
        if let Some(daemon) = &mut self.daemon {
            wait_at_most(daemon, Duration::ZERO);
        }
        collect(left.into_iter());
    }
}

/// What answers in a terminal, in a thread that runs when nobody else wants to: the time that it takes for
/// one piece is not to be seen in the time of the next.
struct Emulator {
    pieces: Sender<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl Emulator {
    /// Starts one that has drawn already: memory that is used for the first time is made ready by the kernel,
    /// which lets nobody else run meanwhile.
    fn start(master: Arc<OwnedFd>) -> Emulator {
        let (pieces, read) = mpsc::channel::<Vec<u8>>();
        let (ready, is_ready) = mpsc::channel();
        let answer = move || {
            let mut window = Window::new();
            window.feed(painter::painting("picture").as_bytes());
            window.feed(b"\x1bc");
            window.take_answers();
            tty::run_when_idle();
            let _ = ready.send(());
            for bytes in read {
                window.feed(&bytes);
                tty::write_all(master.as_fd(), &window.take_answers())?;
            }
            Ok(())
        };
        let thread = thread::spawn(answer);
        let _ = is_ready.recv();
        Emulator { pieces, thread }
    }
}

/// A terminal with a client in it.
pub struct Visit {
    master: Option<Arc<OwnedFd>>,
    emulator: Option<Emulator>,
    client: Child,
    begun: u64,
    sent: Sent,
}

impl Visit {
    /// Reads until nothing more comes.
    pub fn watch(&mut self) -> io::Result<()> {
        let (Some(master), Some(emulator)) = (&self.master, self.emulator.take()) else { return Ok(()) };
        let mut buf = vec![0; 1 << 16];
        let until = Instant::now() + LIMIT;
        while Instant::now() < until {
            let quiet = if self.sent.is_empty() { QUIET.0 } else { QUIET.1 };
            let [(ready, _)] = tty::wait(&[(master.as_fd(), true, false)], quiet);
            if !ready {
                break;
            }
            match tty::read(master.as_fd(), &mut buf)? {
                Some(0) => return Err(io::Error::other(format!("its client ended: {:?}", self.text()))),
                Some(n) => {
                    self.sent.push((tty::now() - self.begun, buf[..n].to_vec()));
                    let _ = emulator.pieces.send(buf[..n].to_vec());
                }
                None => {}
            }
        }
        drop(emulator.pieces);
        emulator.thread.join().unwrap_or_else(|_| Err(io::Error::other("its emulator failed")))
    }

    /// Closes the window, waits until the client is gone, and gives what the terminal was sent.
    pub fn leave(mut self) -> Sent {
        self.close();
        std::mem::take(&mut self.sent)
    }

    fn close(&mut self) {
        if self.master.take().is_some() {
            if let Ok(ended) = tty::process(self.client.id()) {
                tty::wait(
                    &[(ended.as_fd(), true, false)],
                    i32::try_from(LIMIT.as_millis()).unwrap_or(i32::MAX),
                );
            }
            wait_at_most(&mut self.client, Duration::ZERO);
        }
    }

    fn text(&self) -> String {
        let bytes: Vec<u8> = self.sent.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        String::from_utf8_lossy(&bytes).chars().take(200).collect()
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.close();
    }
}
