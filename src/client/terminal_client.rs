//! A terminal attached to a session: its keys, its signals, and the frames of the host.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::attach_outcome::{AttachEnd, AttachOutcome};
use super::deferred_notices::NoticeList;
use super::raw_terminal::RawTerminal;
use super::relay_output::TerminalOutput;
use super::start::Greeting;
use crate::ipc::farewell::Farewell;
use crate::ipc::frame::{Frame, tag};
use crate::ipc::message::{Answer, Attach, Request, hello_line, request_line};
use crate::ipc::stream::{ConnectionState, FrameStream};
use crate::sys::fault_injection;
use crate::sys::fd::{is_terminal, read_some};
use crate::sys::poll::{FdReadiness, Interest, PollSet};
use crate::sys::process::{self, Stat};
use crate::sys::signals::Signals;
use crate::tty::raw::{self, RawMode};
use crate::tty::unread_input;

/// How long the host may take to let this client in.
const ADMIT: Duration = Duration::from_secs(5);
/// How often to check on a host that is to end the session: one that is stopped cannot answer.
const STOPPED_HOST_POLL: Duration = Duration::from_millis(200);
/// How long to wait, after `BYE`, until the session's name and socket are gone.
const GONE: Duration = Duration::from_millis(300);
/// Bytes waiting for the host above which the keyboard is not read (relay).
const TYPED_HIGH: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relay {
    Off,
    On,
}

/// What the client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientSource {
    Host,
    Signals,
    /// The terminal can take more output.
    Output,
    Keyboard,
}

pub(super) struct TerminalClient {
    pub stream: FrameStream,
    /// The host's process id.
    host: i32,
    /// Whether the connection is open; frames may still wait to be read after it has closed.
    pub life: ConnectionState,
    pub raw: RawMode,
    pub signals: Signals,
    pub relay: Relay,
    pub output: TerminalOutput,
    notices: NoticeList,
    pub undo: Vec<u8>,
    pub suspending: bool,
    /// The child has enough unread input: stop reading the keyboard.
    typing_waits: bool,
    /// SIGCONT arrived before this process had stopped: do not stop.
    pub continued: bool,
    /// Typed keys and signals are not passed on.
    pub read_only: bool,
    /// A signal that ends programs was passed on, or makes this client leave.
    pub must_end: bool,
    /// The terminal is gone: how long to wait for the host.
    pub hung_up: Option<Instant>,
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
) -> io::Result<AttachOutcome> {
    // This connection carries a person's keyboard.
    process::set_undumpable();
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
        termios: Some(raw.modes_before().clone()),
        raw: Some(raw.raw_modes().clone()),
        env: options.env,
        redraw: true,
    };
    let mut words = if greeting == Greeting::Due { hello_line("client") } else { String::new() };
    words.push_str(&request_line(1, &Request::Attach(attach)));
    let mut client = TerminalClient::new(stream, host, RawTerminal { raw, signals }, options.read_only);
    // All in one write, without waiting for answers: the host wakes up once, and one that refuses leaves the
    // terminal untouched.
    client.hand_over(&words);
    if let Some(end) = client.admitted(greeting)? {
        return Ok(AttachOutcome { end, notices: client.notices });
    }
    let end = client.run();
    if !matches!(end, Ok(AttachEnd::HungUp)) {
        client.output.finish();
    }
    if client.raw.is_on() && matches!(end, Ok(AttachEnd::Closed | AttachEnd::Silent) | Err(_)) {
        // The host is gone, so turn off from here what the program left on.
        let _ = io::stdout()
            .write_all(&[raw::END_OF_ANYTHING, &client.undo, b"\r\n"].concat())
            .and_then(|()| io::stdout().flush());
    }
    Ok(AttachOutcome { end: end?, notices: client.notices })
}

impl TerminalClient {
    fn new(stream: FrameStream, host: i32, terminal: RawTerminal, read_only: bool) -> Self {
        let RawTerminal { raw, signals } = terminal;
        TerminalClient {
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
            read_only,
            must_end: false,
            hung_up: None,
        }
    }

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
    pub fn hand_over(&mut self, words: &str) {
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
        if let Some(end) = self.take_frames() {
            return Ok(end);
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
                set.add(ClientSource::Host, self.stream.as_fd(), interest);
            }
            set.add(ClientSource::Signals, self.signals.as_fd(), Interest::Read);
            if let Some(fd) = self.output.stuck() {
                set.add(ClientSource::Output, fd, Interest::Write);
            }
            let stdin = io::stdin();
            let reads = self.relay == Relay::On && !self.suspending && self.hung_up.is_none();
            if reads && !self.typing_waits && self.stream.waiting() < TYPED_HIGH {
                set.add(ClientSource::Keyboard, stdin.as_fd(), Interest::Read);
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
            let timeout_ms = patience.map(|left| u64::try_from(left.as_millis()).unwrap_or(1).max(1));
            for (source, ready) in set.wait(timeout_ms)? {
                if let Some(end) = self.handle_ready(source, ready) {
                    return Ok(end);
                }
            }
        }
    }

    fn handle_ready(&mut self, source: ClientSource, ready: FdReadiness) -> Option<AttachEnd> {
        match source {
            ClientSource::Host => {
                if ready.write {
                    self.stream.flush();
                }
                if ready.read || ready.gone { self.take_frames() } else { None }
            }
            ClientSource::Signals => {
                self.take_signals();
                None
            }
            ClientSource::Output => {
                self.await_foreground();
                self.output.flush();
                self.take_frames()
            }
            ClientSource::Keyboard => {
                self.relay_keys();
                None
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

    pub fn send_size(&mut self) {
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
