//! One client: its terminal, how bytes reach it, and what has yet to be written there.

use std::os::fd::AsFd;

use super::capabilities::{Capabilities, Rendering};
use super::output::STALL_MS;
use super::scene::Scene;
use super::scrollback::TerminalId;
use super::viewport::{StaleUntil, Viewport};
use crate::core::input::InputClass;
use crate::core::supervisor::event::{AttachKind, Event, KeyClass};
use crate::core::terminal::{Modes, Size};
use crate::core::time::Stamp;
use crate::host::event_loop::PollToken;
use crate::host::keyboard::ClientInput;
use crate::ipc::farewell::Farewell;
use crate::ipc::frame::{MAX_PAYLOAD, tag};
use crate::ipc::message::Attach;
use crate::screen::Unfinished;
use crate::sys::fd::read_some;
use crate::sys::outbuf::OutBuf;
use crate::sys::poll::{FdReadiness, Interest, PollSet, is_readable};
use crate::sys::process::StatFile;
use crate::tty::borrowed_terminal::{Handed, Spare};

/// Bytes waiting for a relay or a stopped client above which the child is not read: the child is throttled,
/// not the keyboard.
pub(super) const OUT_HIGH: usize = 1 << 18;
/// The same for a terminal that takes bytes: enough for the child to go on while the client waits for a
/// processor, and little enough that Ctrl+C takes effect soon.
const AHEAD: usize = 1 << 14;
/// How often a client's state is checked at most while writing, in ms: at the start of output, and in a
/// burst. More than 20 would be noticeable when the client stops; a check costs some 3 us.
const LOOK_MS: (u64, u64) = (1, 5);
/// How often to check a client that was stopped from outside, in ms: at first, and after a while. A client
/// that continues reports that itself.
const PAUSED_MS: (u64, u64) = (20, 500);
/// How long a terminal may take nothing before its client is dropped without the rest, in ms: at the
/// program's end, when it should get the last bytes as it would without hopty; when somebody asked to end the
/// session, which is sooner than the host's own end; and when the client only leaves.
pub(super) const STUCK_END_MS: u64 = 60_000;
pub(super) const STUCK_STOP_MS: u64 = 1500;
pub(super) const STUCK_LEAVE_MS: u64 = 2000;

/// A client.
#[derive(Debug)]
pub(in crate::host) struct Client {
    pub number: u32,
    /// How it attached.
    pub how: AttachKind,
    /// Whether its process runs in the foreground.
    pub stat: Option<StatFile>,
    pub size: Size,
    pub read_only: bool,
    pub input: ClientInput,
    pub tty: Option<String>,
    pub terminal_id: Option<TerminalId>,
    /// The capabilities of its terminal.
    pub capabilities: Capabilities,
    /// The position in the child's bytes of a terminal that gets only their text.
    pub text: Unfinished,
    /// The modes of its terminal before it made it raw, and after.
    pub found: Option<Modes>,
    pub raw: Option<Modes>,
    pub via: Transport,
    pub viewport: Viewport,
    /// When its person last typed.
    pub typed: Stamp,
    pub out: OutBuf,
    /// What the client was last told to write if the host dies.
    pub undo: Vec<u8>,
    /// The run, the screen's `undo_revision`, and whether the run was muted at that time.
    pub undo_seen: Option<(u32, u64, bool)>,
    /// The screen's `revision` at that time.
    pub undo_drawn: u64,
    /// The program has drawn since: when to tell the client again.
    pub undo_at: Option<Stamp>,
    /// It is stopped or in the background: when to check again, and since when.
    pub paused: Option<(Stamp, Stamp)>,
    /// When it was last seen running.
    pub checked: Stamp,
    /// The child asked its terminal something: until when to wait for the answer.
    pub asked: Option<Stamp>,
    /// What happens once everything is written.
    pub after_flush: Option<AfterFlush>,
    /// How many bytes waited, and since when that many.
    pub progress: (usize, Stamp),
    /// It takes nothing and stalls the program: the bytes that it had taken by then, and since when.
    pub stalled: Option<(u64, Stamp)>,
    /// The run that it was suspended from, and the sequences that restore its modes; `None` if only a repaint
    /// can.
    pub redo: Option<(u32, Vec<u8>)>,
    /// It was attached before and returns from a suspension.
    pub returns: bool,
    pub leaving: bool,
}

/// How bytes reach a client's terminal.
#[derive(Debug)]
pub(in crate::host) enum Transport {
    /// Not settled yet; output is kept.
    Pending,
    /// The host reads and writes it.
    Borrowed(Handed),
    /// The client does, and frames carry the bytes. The terminal is kept in case the client dies.
    Relayed(Option<Spare>),
    /// The client has its terminal back for a while (suspended), or is leaving.
    Released,
}

impl Transport {
    /// Its name in the session object.
    pub fn word(&self) -> &'static str {
        match self {
            Transport::Borrowed(_) => "fd",
            Transport::Relayed(_) => "relay",
            Transport::Pending | Transport::Released => "none",
        }
    }
}

/// What happens once a client's terminal has taken everything.
#[derive(Clone, Debug)]
pub(in crate::host) enum AfterFlush {
    /// It is given back for a while.
    Release,
    /// The client leaves: why, and how long its terminal may take nothing, in ms.
    Disconnect { farewell: Farewell, patience: u64 },
}

impl AfterFlush {
    /// How long the terminal may take nothing before that, in ms.
    pub fn patience(&self) -> u64 {
        match self {
            AfterFlush::Disconnect { patience, .. } => *patience,
            AfterFlush::Release => STUCK_LEAVE_MS,
        }
    }
}

impl Client {
    /// A client that has just attached; its terminal is yet to come.
    pub(super) fn new(
        number: u32,
        how: AttachKind,
        attach: &Attach,
        process: (i32, Option<u64>),
        prefix: Option<u8>,
        now: Stamp,
    ) -> Self {
        let (pid, began) = process;
        Client {
            number,
            how,
            stat: StatFile::open(pid).ok().filter(|file| {
                // Another process may have its pid by now.
                began.is_none_or(|began| file.now().is_some_and(|stat| stat.start == began))
            }),
            size: attach.size,
            read_only: attach.read_only,
            input: ClientInput::new(prefix),
            tty: attach.tty.clone(),
            capabilities: Capabilities::of(&attach.term),
            text: Unfinished::default(),
            terminal_id: TerminalId::of(attach.tty.as_deref(), pid),
            found: attach.termios.clone(),
            raw: attach.raw.clone(),
            via: Transport::Pending,
            viewport: Viewport::Direct,
            typed: Stamp(0),
            out: OutBuf::default(),
            undo: Vec::new(),
            undo_seen: None,
            undo_drawn: 0,
            undo_at: None,
            paused: None,
            checked: now,
            asked: None,
            after_flush: None,
            progress: (0, now),
            stalled: None,
            redo: None,
            returns: false,
            leaving: false,
        }
    }

    pub fn deadline(&self) -> Option<Stamp> {
        let stuck = self.after_flush.as_ref().map(|after| self.progress.1.after(after.patience()));
        let asked = self.asked.filter(|_| self.after_flush.is_some());
        let stalled = self.stalled.map(|(_, since)| since.after(STALL_MS));
        [self.paused.map(|(at, _)| at), self.input.deadline(), stuck, asked, self.undo_at, stalled]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether it gets the child's bytes.
    pub fn gets_bytes(&self) -> bool {
        matches!(self.viewport, Viewport::Direct)
    }

    /// Whether its terminal is in use.
    pub fn watches(&self) -> bool {
        matches!(self.via, Transport::Borrowed(_) | Transport::Relayed(_))
            && self.after_flush.is_none()
            && !self.leaving
    }

    /// Whether its terminal shows a page of hopty's own.
    pub fn shows_page(&self) -> bool {
        matches!(&self.viewport, Viewport::Stale { until: StaleUntil::Key, .. })
    }

    /// Its person types, or its terminal reports something: what the supervisor is told of it, for the child's
    /// keys but not for hopty's. `length`: in bytes.
    pub fn note_keys(&mut self, class: InputClass, length: u64, now: Stamp) -> Option<Event> {
        let class = KeyClass::from(class);
        if class == KeyClass::Report {
            self.asked = None;
        }
        let bytes = u32::try_from(length).unwrap_or(u32::MAX);
        self.input.is_news(class, now).then_some(Event::Keys { client: self.number, class, bytes })
    }

    /// Whether it is relayed: its bytes travel over its connection.
    pub fn is_relayed(&self) -> bool {
        matches!(self.via, Transport::Relayed(_))
    }

    /// Whether more output may be read for it, `relayed` bytes waiting in its connection.
    pub fn has_room(&self, relayed: usize) -> bool {
        let limit = if self.paused.is_some() { OUT_HIGH } else { AHEAD };
        self.leaving || !self.gets_bytes() || (self.out.len() < limit && relayed < OUT_HIGH)
    }

    /// Whether everything for it is written and it has been disconnected.
    pub fn is_quiet(&self) -> bool {
        self.out.is_empty() && self.leaving
    }

    /// Whether its borrowed terminal has typed bytes that were not read yet.
    pub fn has_typed(&self) -> bool {
        matches!(&self.via, Transport::Borrowed(terminal) if self.paused.is_none() && is_readable(terminal.as_fd()))
    }

    pub fn watch<'fd>(&'fd self, set: &mut PollSet<'fd, PollToken>, id: u64, typing_waits: bool) {
        if let Transport::Borrowed(terminal) = &self.via
            && self.paused.is_none()
        {
            // Keys typed after the program's end are for the shell.
            match (typing_waits || self.is_ending(), self.out.is_empty()) {
                (false, true) => set.add(PollToken::Terminal(id), terminal.as_fd(), Interest::Read),
                (false, false) => set.add(PollToken::Terminal(id), terminal.as_fd(), Interest::Both),
                (true, false) => set.add(PollToken::Terminal(id), terminal.as_fd(), Interest::Write),
                (true, true) => set.add(PollToken::Terminal(id), terminal.as_fd(), Interest::Gone),
            }
        }
    }

    /// The program has ended and the last bytes are on their way.
    pub fn is_ending(&self) -> bool {
        matches!(&self.after_flush, Some(AfterFlush::Disconnect { farewell, .. }) if farewell.is_end())
    }

    /// Whether its terminal may be touched now; if not, a later check decides.
    pub(super) fn may_use_terminal(&mut self, now: Stamp) -> bool {
        let Transport::Borrowed(terminal) = &self.via else { return false };
        // A client that is gone is noticed when its connection ends.
        if self.stat.as_ref().and_then(StatFile::now).is_none_or(|stat| stat.may_use(terminal.device())) {
            self.paused = None;
            self.checked = now;
            return true;
        }
        let since = self.paused.map_or(now, |(_, since)| since);
        let pause = if now.since(since) < PAUSED_MS.1 { PAUSED_MS.0 } else { PAUSED_MS.1 };
        self.paused = Some((now.after(pause), since));
        false
    }

    /// Writes to its terminal. False if it has none now.
    pub(super) fn put(&mut self, id: u64, bytes: &[u8], scene: &mut Scene<'_>) -> bool {
        if self.after_flush.is_some() || self.leaving {
            return false;
        }
        match &self.via {
            Transport::Borrowed(_) => {
                let now = scene.now();
                let bursts = scene.run.as_ref().is_some_and(|run| run.model.is_behind());
                let look = if bursts { LOOK_MS.1 } else { LOOK_MS.0 };
                let looked = self.paused.is_none() && now.since(self.checked) < look;
                let usable = looked || (self.paused.is_none() && self.may_use_terminal(now));
                if let Transport::Borrowed(terminal) = &self.via
                    && usable
                {
                    if self.out.send(terminal, bytes).is_err() {
                        self.out.clear();
                    }
                } else {
                    self.out.push(bytes);
                }
                true
            }
            Transport::Relayed(_) => {
                for part in bytes.chunks(MAX_PAYLOAD) {
                    scene.links.frame(id, tag::OUTPUT, part);
                }
                true
            }
            Transport::Pending | Transport::Released => false,
        }
    }

    /// Draws on its terminal whatever that can show.
    pub(super) fn put_picture(&mut self, id: u64, picture: &[u8], scene: &mut Scene<'_>) {
        let picture = self.capabilities.strip(picture);
        self.put(id, &picture, scene);
    }

    /// Shows it the program's output. False if there is no terminal to show it.
    pub(super) fn show(&mut self, id: u64, bytes: &[u8], scene: &mut Scene<'_>) -> bool {
        if !self.gets_bytes() {
            return false;
        }
        let program = scene.run.as_ref().map_or(Capabilities::Full, |run| run.capabilities);
        if self.capabilities.shown(program) == Rendering::Text {
            let text = self.text.text(bytes);
            return self.put(id, &text, scene);
        }
        self.put(id, bytes, scene)
    }

    /// The sequences that undo everything on its terminal.
    pub(super) fn undo(&mut self, scene: &mut Scene<'_>) -> Vec<u8> {
        match &mut self.viewport {
            Viewport::Mirror(painter) => painter.undo(),
            Viewport::Stale { undo, .. } => undo.clone(),
            Viewport::Direct => scene.undo(),
        }
    }

    /// If it was stopped and is due for a check: whether its terminal may be used again, and what waits for
    /// it.
    pub(super) fn look_again(&mut self, now: Stamp) {
        if self.paused.is_some_and(|(at, _)| at <= now)
            && self.may_use_terminal(now)
            && let Transport::Borrowed(terminal) = &self.via
            && self.out.flush(terminal).is_err()
        {
            self.out.clear();
        }
    }

    /// Reads what was typed on its borrowed terminal, at most `buf` at once.
    pub(super) fn read(
        &mut self,
        ready: FdReadiness,
        typing_waits: bool,
        now: Stamp,
        buf: &mut [u8],
    ) -> TerminalInput {
        if !self.may_use_terminal(now) {
            return TerminalInput::Nothing;
        }
        let Transport::Borrowed(terminal) = &self.via else { return TerminalInput::Nothing };
        if ready.write && self.out.flush(terminal).is_err() {
            self.out.clear();
        }
        if !ready.gone && (!ready.read || typing_waits) {
            return TerminalInput::Nothing;
        }
        match read_some(terminal, buf) {
            Ok(Some(0)) | Err(_) => TerminalInput::HungUp,
            Ok(None) => TerminalInput::Nothing,
            Ok(Some(n)) => TerminalInput::Bytes(n),
        }
    }
}

/// The result of reading a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum TerminalInput {
    Nothing,
    /// This many bytes were typed.
    Bytes(usize),
    /// The terminal is gone.
    HungUp,
}
