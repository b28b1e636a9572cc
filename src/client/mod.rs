//! The client: holds the person's terminal in raw mode, hands it to the host, and waits for signals and for the host's
//! word. Whatever happens to the host, it leaves the terminal whole.

pub mod start;

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::libc;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::io::fd::{is_terminal, read_some};
use crate::io::poll::{Interest, PollSet};
use crate::io::signals::Signals;
use crate::ipc::frame::{Frame, tag};
use crate::ipc::message::{Answer, Attach, ClientHello, Failure, PROTOCOL};
use crate::ipc::stream::{Life, Stream};
use crate::tty::raw::{self, RawMode};

/// How a client's time with a session ended.
#[derive(Debug)]
pub enum Left {
    /// The program ended; its exit code, and what is to be said.
    Ended(u8, Option<String>),
    /// This client left or was made to leave, and the session goes on.
    Detached(String),
    /// The host is gone without a word.
    HostDied,
    /// The host did not take this client.
    Refused(Failure),
    /// The terminal is gone.
    HungUp,
}

#[derive(Deserialize)]
struct Bye {
    #[serde(default)]
    why: String,
    #[serde(default)]
    exit: Value,
    #[serde(default)]
    message: Option<String>,
}

enum Relay {
    Off,
    On,
}

struct Client {
    stream: Stream,
    raw: RawMode,
    signals: Signals,
    relay: Relay,
    undo: Vec<u8>,
    suspending: bool,
}

/// Attaches the terminal on standard input to the session behind `socket`, until either side ends it.
///
/// # Errors
/// When the terminal cannot be made raw.
pub fn attach(socket: UnixStream) -> io::Result<Left> {
    let signals = Signals::catch(&[
        libc::SIGWINCH,
        libc::SIGHUP,
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGTSTP,
        libc::SIGCONT,
    ])?;
    let mut stream = Stream::new(socket)?;
    let hello = json!(ClientHello { hopty: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned(), role: "client".to_owned() });
    let raw = RawMode::enter()?;
    let attach = Attach {
        size: raw::size(),
        read_only: false,
        term: std::env::var("TERM").unwrap_or_default(),
        pid: i32::try_from(std::process::id()).unwrap_or(0),
        tty: nix::unistd::ttyname(io::stdin()).ok().map(|path| path.display().to_string()),
        termios: Some(raw.found().clone()),
        env: std::collections::BTreeMap::new(),
        redraw: true,
    };
    let mut request = json!(attach);
    request["id"] = json!(1);
    request["do"] = json!("attach");
    stream.send(format!("{hello}\n{request}\n").as_bytes());
    let mut client = Client { stream, raw, signals, relay: Relay::Off, undo: Vec::new(), suspending: false };
    match client.admitted()? {
        None => {}
        Some(left) => return Ok(left),
    }
    client.hand_over();
    let left = client.run();
    if matches!(left, Ok(Left::HostDied) | Err(_)) {
        // Nobody else can: what the program left on is turned off from here.
        let _ = io::stdout().write_all(&client.undo);
        let _ = io::stdout().write_all(b"\r\n");
        let _ = io::stdout().flush();
    }
    left
}

impl Client {
    /// Waits for the host's hello and its answer to the request.
    fn admitted(&mut self) -> io::Result<Option<Left>> {
        for n in 0..2 {
            let line = loop {
                if let Ok(Some(line)) = self.stream.line() {
                    break line;
                }
                let mut set = PollSet::default();
                set.add((), self.stream.as_fd(), Interest::Read);
                if set.wait(Some(5000))?.is_empty() || self.stream.fill() == Life::Closed {
                    return Ok(Some(Left::HostDied));
                }
            };
            if n == 0 {
                continue;
            }
            let answer: Answer = serde_json::from_slice(&line)?;
            if let Some(failure) = answer.error {
                return Ok(Some(Left::Refused(failure)));
            }
        }
        Ok(None)
    }

    fn hand_over(&mut self) {
        let frame = Frame::new(tag::TERMINAL, &[]).encode();
        if is_terminal(&io::stdin()) {
            let _ = self.stream.send_with_fd(&frame, &io::stdin());
        } else {
            self.stream.send(&frame);
        }
    }

    fn run(&mut self) -> io::Result<Left> {
        loop {
            let mut set = PollSet::default();
            let interest = if self.stream.waiting() > 0 { Interest::Both } else { Interest::Read };
            set.add('s', self.stream.as_fd(), interest);
            set.add('g', self.signals.as_fd(), Interest::Read);
            let stdin = io::stdin();
            if matches!(self.relay, Relay::On) && self.stream.waiting() < 1 << 16 {
                set.add('i', stdin.as_fd(), Interest::Read);
            }
            for (token, ready) in set.wait(None)? {
                match token {
                    's' => {
                        if ready.write {
                            self.stream.flush();
                        }
                        if ready.read
                            && let Some(left) = self.take_frames()
                        {
                            return Ok(left);
                        }
                    }
                    'g' => {
                        if let Some(left) = self.take_signals() {
                            return Ok(left);
                        }
                    }
                    _ => {
                        let mut buf = [0; 16384];
                        match read_some(&stdin, &mut buf) {
                            Ok(Some(0)) | Err(_) => return Ok(Left::HungUp),
                            Ok(None) => {}
                            Ok(Some(n)) => {
                                self.stream.send(&Frame::new(tag::INPUT, &buf[..n]).encode());
                            }
                        }
                    }
                }
            }
        }
    }

    fn take_frames(&mut self) -> Option<Left> {
        let life = self.stream.fill();
        while let Ok(Some(frame)) = self.stream.frame() {
            match frame.tag {
                tag::OUTPUT => {
                    let mut out = io::stdout().lock();
                    let _ = out.write_all(&frame.payload);
                    let _ = out.flush();
                }
                tag::TAKEN => self.relay = Relay::Off,
                tag::RELAY => self.relay = Relay::On,
                tag::SUSPEND => self.release(),
                tag::RELEASED if self.suspending => self.stop_here(),
                tag::UNDO => self.undo = frame.payload,
                tag::BYE => return Some(goodbye(&frame.payload)),
                _ => {}
            }
        }
        (life == Life::Closed).then_some(Left::HostDied)
    }

    fn take_signals(&mut self) -> Option<Left> {
        for signal in self.signals.take() {
            match signal {
                libc::SIGHUP => return Some(Left::HungUp),
                libc::SIGWINCH => self.tell_size(),
                libc::SIGTSTP => self.release(),
                libc::SIGCONT => {
                    // Stopped and continued from outside: the shell may have changed the modes meanwhile.
                    let _ = self.raw.resume();
                    self.tell_size();
                }
                other => {
                    let number = u8::try_from(other).unwrap_or(0);
                    self.stream.send(&Frame::new(tag::SIGNAL, &[number]).encode());
                }
            }
        }
        None
    }

    fn tell_size(&mut self) {
        let size = raw::size();
        let payload: Vec<u8> = [size.cols, size.rows, size.xpixel, size.ypixel].iter().flat_map(|n| n.to_le_bytes()).collect();
        self.stream.send(&Frame::new(tag::RESIZE, &payload).encode());
    }

    /// The first half of a stop: the host gives the terminal back.
    fn release(&mut self) {
        if !self.suspending {
            self.suspending = true;
            self.stream.send(&Frame::new(tag::RELEASE, &[]).encode());
        }
    }

    /// The second half: the modes are put back and this process stops, like any program after Ctrl+Z. In an orphaned group
    /// the kernel discards the signal; then it simply goes on, and the child with it (CONTRACT C11).
    fn stop_here(&mut self) {
        self.suspending = false;
        self.relay = Relay::Off;
        self.raw.suspend();
        // SAFETY: plain signal calls on this process; the old handler is put back afterwards.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            let mut default: libc::sigaction = std::mem::zeroed();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(libc::SIGTSTP, &raw const default, &raw mut old);
            libc::raise(libc::SIGTSTP);
            libc::sigaction(libc::SIGTSTP, &raw const old, std::ptr::null_mut());
        }
        // In the background this waits (SIGTTOU) until the shell has put the job into the foreground.
        let _ = self.raw.resume();
        self.stream.send(&Frame::new(tag::RESUME, &[]).encode());
        self.hand_over();
        self.tell_size();
    }
}

fn goodbye(payload: &[u8]) -> Left {
    let bye: Bye = serde_json::from_slice(payload).unwrap_or(Bye { why: String::new(), exit: Value::Null, message: None });
    if bye.why == "ended" {
        let code = bye.exit["code"].as_u64().and_then(|code| u8::try_from(code).ok()).unwrap_or(0);
        Left::Ended(code, bye.message)
    } else {
        Left::Detached(bye.why)
    }
}
