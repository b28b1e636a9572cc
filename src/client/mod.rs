//! The client: holds the person's terminal in raw mode, hands it to the host, and waits for signals and
//! frames from the host. Whatever happens to the host, it restores the terminal.

mod client_exit;
mod deferred_notices;
mod pause;
mod raw_terminal;
mod relay_output;
pub mod start;
mod typeahead;

pub use client_exit::{AttachEnd, Stay};
pub use raw_terminal::RawTerminal;

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use deferred_notices::NoticeList;
use relay_output::TerminalOutput;

use crate::ipc::farewell::Farewell;
use crate::ipc::frame::{Frame, tag};
use crate::ipc::message::{Answer, Attach, Request, hello_line, request_line};
use crate::ipc::stream::{ConnectionState, FrameStream};
use crate::sys::fault_injection;
use crate::sys::fd::{is_terminal, read_some};
use crate::sys::poll::{Interest, PollSet};
use crate::sys::process::{self, Stat};
use crate::sys::signals::Signals;
use crate::tty::raw::{self, RawMode};
use crate::tty::unread_input;
use start::Greeting;

/// How long the host may take to let this client in.
const ADMIT: Duration = Duration::from_secs(5);
/// How often to check on a host that is to end the session: one that is stopped cannot answer.
const STOPPED_HOST_POLL: Duration = Duration::from_millis(200);
/// How long to wait, after `BYE`, until the session's name and socket are gone.
const GONE: Duration = Duration::from_millis(300);
/// Bytes waiting for the host above which the keyboard is not read (relay).
const TYPED_HIGH: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relay {
    Off,
    On,
}

struct TerminalClient {
    stream: FrameStream,
    /// The host's process id.
    host: i32,
    /// Whether the connection is open; frames may still wait to be read after it has closed.
    life: ConnectionState,
    raw: RawMode,
    signals: Signals,
    relay: Relay,
    output: TerminalOutput,
    notices: NoticeList,
    undo: Vec<u8>,
    suspending: bool,
    /// The child has enough unread input: stop reading the keyboard.
    typing_waits: bool,
    /// SIGCONT arrived before this process had stopped: do not stop.
    continued: bool,
    /// What is typed and which signals arrive is not passed on.
    read_only: bool,
    /// A signal that ends programs was passed on, or makes this client leave.
    must_end: bool,
    /// The terminal is gone: how long to wait for the host.
    hung_up: Option<Instant>,
}

/// What a client wants besides its terminal.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// Only watch: keys reach hopty's own commands and nothing else.
    pub read_only: bool,
    /// Variables that the session's next run takes over (`program.update_env`).
    pub env: std::collections::BTreeMap<String, String>,
}

/// Attaches the terminal on standard input to the session behind `socket`, until either side ends it. `hold`:
/// the raw terminal, if the caller has it already.
pub fn attach(
    socket: UnixStream,
    greeting: Greeting,
    options: ClientOptions,
    hold: Option<RawTerminal>,
) -> io::Result<Stay> {
    // This connection carries a person's keyboard.
    process::close_to_others();
    let stream = FrameStream::new(socket)?;
    let host = match greeting {
        Greeting::Done { host } => host,
        Greeting::Due => stream.peer()?.0,
    };
    let RawTerminal { mut raw, signals } = match hold {
        Some(hold) => hold,
        None => RawTerminal::take()?,
    };
    raw.resume()?;
    let attach = Attach {
        size: raw::size(),
        read_only: options.read_only,
        term: std::env::var("TERM").unwrap_or_default(),
        pid: i32::try_from(std::process::id()).unwrap_or(0),
        tty: nix::unistd::ttyname(io::stdin()).ok().map(|path| path.display().to_string()),
        termios: Some(raw.found().clone()),
        raw: Some(raw.set().clone()),
        env: options.env,
        redraw: true,
    };
    let mut words = if greeting == Greeting::Due { hello_line("client") } else { String::new() };
    words.push_str(&request_line(1, &Request::Attach(attach)));
    let mut client = TerminalClient {
        stream,
        host,
        life: ConnectionState::Open,
        raw,
        signals,
        relay: Relay::Off,
        output: TerminalOutput::default(),
        notices: NoticeList::default(),
        undo: Vec::new(),
        suspending: false,
        typing_waits: false,
        continued: false,
        read_only: options.read_only,
        must_end: false,
        hung_up: None,
    };
    // All in one write, without waiting for answers: the host wakes up once, and one that refuses leaves the
    // terminal untouched.
    client.hand_over(&words);
    if let Some(left) = client.admitted(greeting)? {
        return Ok(Stay { left, notices: client.notices });
    }
    let left = client.run();
    if !matches!(left, Ok(AttachEnd::HungUp)) {
        client.output.finish();
    }
    if client.raw.is_on() && matches!(left, Ok(AttachEnd::Closed | AttachEnd::Silent) | Err(_)) {
        // The host is gone, so turn off from here what the program left on.
        let _ = io::stdout()
            .write_all(&[raw::END_OF_ANYTHING, &client.undo, b"\r\n"].concat())
            .and_then(|()| io::stdout().flush());
    }
    Ok(Stay { left: left?, notices: client.notices })
}

impl TerminalClient {
    /// Waits for the host's hello, if it is due, and its answer to the request.
    fn admitted(&mut self, greeting: Greeting) -> io::Result<Option<AttachEnd>> {
        let until = Instant::now() + ADMIT;
        let mut hello = greeting == Greeting::Due;
        loop {
            let line = loop {
                match self.stream.line() {
                    Ok(Some(line)) => break line,
                    Ok(None) => {}
                    Err(_) => return Ok(Some(AttachEnd::Closed)),
                }
                if !self.wait_for_host(until)? {
                    return Ok(Some(AttachEnd::Silent));
                }
                if self.stream.fill() == ConnectionState::Closed {
                    // The last line may have arrived together with the end.
                    match self.stream.line() {
                        Ok(Some(line)) => break line,
                        _ => return Ok(Some(AttachEnd::Closed)),
                    }
                }
            };
            if std::mem::take(&mut hello) {
                continue;
            }
            let answer: Answer = serde_json::from_slice(&line)?;
            return Ok(answer.error.map(AttachEnd::Refused));
        }
    }

    /// Waits for something to read from the host. Returns false on a timeout.
    fn wait_for_host(&mut self, until: Instant) -> io::Result<bool> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let mut set = PollSet::default();
            let interest = if self.stream.waiting() > 0 { Interest::Both } else { Interest::Read };
            set.add((), self.stream.as_fd(), interest);
            let ready = set.wait(Some(u64::try_from(left.as_millis()).unwrap_or(1).max(1)))?;
            if ready.iter().any(|(_, ready)| ready.write) {
                self.stream.flush();
            }
            if ready.iter().any(|(_, ready)| ready.read || ready.gone) {
                return Ok(true);
            }
        }
    }

    /// Gives the host the terminal, behind `words`.
    fn hand_over(&mut self, words: &str) {
        let words = [words.as_bytes(), &Frame::new(tag::TERMINAL, &[]).encode()].concat();
        // The host uses one terminal for input and output: if they are two, this client relays. It also
        // relays if the descriptor cannot be sent: a sandbox may refuse it, and Linux does while too many are
        // in flight.
        let one = is_terminal(&io::stdin()) && raw::is_one_terminal();
        if !one || self.stream.send_with_fd(&words, &io::stdin()).is_err() {
            self.stream.send(&words);
        }
    }

    fn run(&mut self) -> io::Result<AttachEnd> {
        // Frames that arrived with the answer are already buffered, so no poll would report them.
        if let Some(left) = self.take_frames() {
            return Ok(left);
        }
        loop {
            let mut set = PollSet::default();
            let interest = match (self.output.is_full(), self.stream.waiting() > 0) {
                (false, false) => Interest::Read,
                (false, true) => Interest::Both,
                (true, false) => Interest::Gone,
                (true, true) => Interest::Write,
            };
            if self.life == ConnectionState::Open {
                set.add('s', self.stream.as_fd(), interest);
            }
            set.add('g', self.signals.as_fd(), Interest::Read);
            if let Some(fd) = self.output.stuck() {
                set.add('o', fd, Interest::Write);
            }
            let stdin = io::stdin();
            let reads = self.relay == Relay::On && !self.suspending && self.hung_up.is_none();
            if reads && !self.typing_waits && self.stream.waiting() < TYPED_HIGH {
                set.add('i', stdin.as_fd(), Interest::Read);
            }
            let patience = match self.hung_up {
                Some(until) => Some(until.saturating_duration_since(Instant::now())),
                None => self.must_end.then_some(STOPPED_HOST_POLL),
            };
            if patience.is_some_and(|left| left.is_zero()) {
                return Ok(AttachEnd::HungUp);
            }
            if self.must_end && Stat::of(self.host).is_some_and(|host| host.is_stopped()) {
                // The host reads this when it continues.
                return Ok(AttachEnd::Silent);
            }
            for (token, ready) in
                set.wait(patience.map(|left| u64::try_from(left.as_millis()).unwrap_or(1).max(1)))?
            {
                let left = match token {
                    's' => {
                        if ready.write {
                            self.stream.flush();
                        }
                        if ready.read || ready.gone { self.take_frames() } else { None }
                    }
                    'g' => {
                        self.take_signals();
                        None
                    }
                    'o' => {
                        self.await_foreground();
                        self.output.flush();
                        self.take_frames()
                    }
                    _ => {
                        self.relay_keys();
                        None
                    }
                };
                if let Some(left) = left {
                    return Ok(left);
                }
            }
        }
    }

    fn relay_keys(&mut self) {
        let mut buf = [0; 16384];
        match read_some(&io::stdin(), &mut buf) {
            Ok(Some(0)) | Err(_) => self.hang_up(),
            Ok(None) => {}
            Ok(Some(n)) => {
                self.stream.send(&Frame::new(tag::INPUT, &buf[..n]).encode());
            }
        }
    }

    fn take_frames(&mut self) -> Option<AttachEnd> {
        if self.life == ConnectionState::Open {
            self.life = self.stream.fill();
        }
        let mut stops = false;
        loop {
            if self.output.is_full() && !stops {
                return None;
            }
            let frame = match self.stream.frame() {
                Ok(Some(frame)) => frame,
                Ok(None) if stops => {
                    // Only after everything is read: a farewell later in the buffer means there is nothing to
                    // stop for.
                    stops = false;
                    self.stop_here();
                    continue;
                }
                // A host that sees the hang-up itself may say nothing.
                Ok(None) if self.hung_up.is_some() => {
                    return (self.life == ConnectionState::Closed).then_some(AttachEnd::HungUp);
                }
                Ok(None) => return (self.life == ConnectionState::Closed).then_some(AttachEnd::Closed),
                Err(_) => return Some(AttachEnd::Closed),
            };
            match frame.tag {
                tag::OUTPUT => {
                    self.await_foreground();
                    self.output.show(&frame.payload);
                }
                tag::TAKEN => self.set_relay(Relay::Off),
                tag::RELAY => {
                    self.output.open();
                    self.set_relay(Relay::On);
                }
                tag::SUSPEND => self.release(),
                tag::RELEASED => stops = self.suspending,
                tag::UNDO => {
                    self.undo = frame.payload;
                    self.set_relay(self.relay);
                }
                tag::HOLD => self.typing_waits = frame.payload == [1],
                tag::NOTICE => self.notices.take(&frame.payload),
                tag::BYE => return Some(self.goodbye(&frame.payload)),
                _ => {}
            }
            if matches!(frame.tag, tag::TAKEN | tag::RELAY) {
                fault_injection::panic_at("client");
            }
        }
    }

    /// Before the relay writes: a process continued in the background, where the terminal is the shell's,
    /// waits here (SIGTTOU).
    fn await_foreground(&mut self) {
        if self.relay == Relay::On && !raw::in_foreground() {
            self.regain();
        }
    }

    fn set_relay(&mut self, relay: Relay) {
        self.relay = relay;
        // A host that holds the terminal undoes the program's modes as soon as this process is gone.
        raw::set_rescue(if relay == Relay::On { &self.undo } else { &[] });
    }

    fn send_size(&mut self) {
        let size = raw::size();
        let payload: Vec<u8> =
            [size.cols, size.rows, size.xpixel, size.ypixel].iter().flat_map(|n| n.to_le_bytes()).collect();
        self.stream.send(&Frame::new(tag::RESIZE, &payload).encode());
    }

    fn goodbye(&mut self, payload: &[u8]) -> AttachEnd {
        let (exit, message, unread) = match Farewell::read(payload) {
            _ if self.hung_up.is_some() => return AttachEnd::HungUp,
            Farewell::HungUp => return AttachEnd::HungUp,
            Farewell::Detached => return AttachEnd::Detached,
            Farewell::Ended { exit, message, unread } => (exit, message, unread),
        };
        if !unread.is_empty() {
            // For the shell, as it would get it without hopty.
            unread_input::leave(unread, None);
        }
        let until = Instant::now() + GONE;
        while self.wait_for_host(until).unwrap_or(false) && self.stream.fill() == ConnectionState::Open {}
        AttachEnd::Ended(exit.and_then(|exit| exit.code).unwrap_or(0), message)
    }
}
