//! One client: its terminal, how bytes reach it, and what waits to be written there.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};

use super::capabilities::{Capabilities, Rendering};
use super::client_terminal::{AfterFlush, ClientTerminal, Suspension, Transport};
use super::client_view::{ClientView, StaleUntil};
use super::flow::TerminalFlow;
use super::scene::Scene;
use super::scrollback::TerminalId;
use super::undo_notice::UndoNotice;
use crate::core::input::InputClass;
use crate::core::status_types::ClientStatus;
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
use crate::sys::process::{ProcessStart, StatFile};
use crate::tty::borrowed_terminal::{BorrowedTerminal, KeptTerminal};
use crate::tty::raw;

/// Bytes waiting for a relay or a stopped client above which the child is not read: the child is throttled,
/// not the keyboard.
pub(super) const OUT_HIGH: usize = 1 << 18;
/// The same limit for a terminal that takes bytes: enough for the child to continue while the client waits
/// for a processor, and little enough that Ctrl+C takes effect soon.
const AHEAD: usize = 1 << 14;
/// The least time between two checks of a client's state while writing, in ms: at the start of output, and in
/// a burst. More than 20 would be noticeable when the client stops; a check costs some 3 us.
const TERMINAL_CHECK_MS: (u64, u64) = (1, 5);
/// How long a terminal may take nothing before its client is dropped without the rest, in ms: when the
/// program has ended and its last bytes should arrive as they would without hopty; when the session was ended
/// on request, which is sooner than the host's own end; and when only the client leaves.
pub(super) const STUCK_END_MS: u64 = 60_000;
pub(super) const STUCK_STOP_MS: u64 = 1500;
pub(super) const STUCK_LEAVE_MS: u64 = 2000;

#[derive(Debug)]
pub(in crate::host) struct Client {
    pub(super) number: u32,
    pub(super) attach_kind: AttachKind,
    /// The stat file of its process, which shows whether that runs in the foreground.
    stat: Option<StatFile>,
    pub(super) size: Size,
    pub(super) read_only: bool,
    pub input: ClientInput,
    tty: Option<String>,
    pub(super) terminal_id: Option<TerminalId>,
    /// The capabilities of its terminal.
    pub(super) capabilities: Capabilities,
    in_tmux: bool,
    /// For a terminal that gets only text: the state within the child's sequences.
    text: Unfinished,
    /// The modes of its terminal before the client made it raw, and after.
    modes_before: Option<Modes>,
    raw: Option<Modes>,
    state: ClientTerminal,
    pub(super) view: ClientView,
    /// When the person at it last typed.
    pub(super) typed: Stamp,
    out: OutBuf,
    flow: TerminalFlow,
    pub(super) undo_notice: UndoNotice,
    /// What a key means on the page that its terminal shows, in addition to its meaning after the prefix key.
    pub(super) page_answer: Option<PageAnswer>,
    /// The numbers of the notices that it was told are read.
    pub(super) read_notices: BTreeSet<u64>,
    /// The child sent its terminal a query: how long to wait for the answer.
    query_deadline: Option<Stamp>,
}

/// What a key means only on one of hopty's own pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageAnswer {
    /// `n` shows the notices from this number on.
    NextNotices(u64),
    /// `r` restarts the program.
    Restart,
}

impl PageAnswer {
    /// The number of the notice with which the next page begins.
    #[must_use]
    pub fn next_notice(self) -> Option<u64> {
        if let PageAnswer::NextNotices(number) = self { Some(number) } else { None }
    }
}

impl Client {
    /// Takes what a key means on the page that is being closed; it applies to no other page.
    pub fn take_page_answer(&mut self) -> Option<PageAnswer> {
        self.page_answer.take()
    }

    /// A client that has just attached, whose terminal has not arrived yet.
    pub(super) fn new(
        number: u32,
        attach_kind: AttachKind,
        attach: &Attach,
        process: ProcessStart,
        prefix: Option<u8>,
        now: Stamp,
    ) -> Self {
        Client {
            number,
            attach_kind,
            stat: process.stat_file(),
            size: attach.size,
            read_only: attach.read_only,
            input: ClientInput::new(prefix),
            tty: attach.tty.clone(),
            capabilities: Capabilities::of(&attach.term),
            in_tmux: attach.term.starts_with("tmux"),
            text: Unfinished::default(),
            terminal_id: TerminalId::of(attach.tty.as_deref(), process.pid),
            modes_before: attach.termios.clone(),
            raw: attach.raw.clone(),
            state: ClientTerminal::Attached(Transport::Pending(None)),
            view: ClientView::Direct,
            typed: Stamp(0),
            out: OutBuf::default(),
            flow: TerminalFlow::new(now),
            undo_notice: UndoNotice::default(),
            page_answer: None,
            read_notices: BTreeSet::new(),
            query_deadline: None,
        }
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// Whether the client is read-only.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether it has its terminal back and leaves.
    pub fn has_left(&self) -> bool {
        self.state.has_left()
    }

    /// The client, for listings.
    pub(super) fn status(&self, leader: bool) -> ClientStatus {
        ClientStatus {
            id: self.number,
            tty: self.tty.clone(),
            cols: self.size.cols,
            rows: self.size.rows,
            leader,
            read_only: self.read_only,
            via: self.state.via().map_or("none", Transport::word).to_owned(),
        }
    }

    pub fn deadline(&self) -> Option<Stamp> {
        let asked = self.query_deadline.filter(|_| self.state.after_flush().is_some());
        let (flow, undo) = (self.flow.deadline(), self.undo_notice.deadline());
        [flow, self.input.deadline(), self.state.deadline(), asked, undo].into_iter().flatten().min()
    }

    /// Whether it gets the child's bytes.
    pub fn gets_bytes(&self) -> bool {
        matches!(self.view, ClientView::Direct)
    }

    pub fn is_in_tmux(&self) -> bool {
        self.in_tmux
    }

    /// Whether its terminal is in use.
    pub fn watches(&self) -> bool {
        self.state.is_in_use()
    }

    /// Whether its terminal shows a page of hopty's own.
    pub fn shows_page(&self) -> bool {
        matches!(&self.view, ClientView::Stale { until: StaleUntil::Key, .. })
    }

    /// Notes that the person types, or that the terminal reports something. Returns the event for the
    /// supervisor if the keys are for the child, not for hopty. `length`: in bytes.
    pub fn note_keys(&mut self, class: InputClass, length: u64, now: Stamp) -> Option<Event> {
        let class = KeyClass::from(class);
        if class == KeyClass::Report {
            self.query_deadline = None;
        }
        let bytes = u32::try_from(length).unwrap_or(u32::MAX);
        self.input.is_news(class, now).then_some(Event::Keys { client: self.number, class, bytes })
    }

    /// Whether it is relayed: its bytes travel over its connection.
    pub fn is_relayed(&self) -> bool {
        matches!(self.state.via(), Some(Transport::Relayed(_)))
    }

    /// Whether more output may be read for it, with `relayed` bytes waiting in its connection.
    pub fn has_room(&self, relayed: usize) -> bool {
        let limit = if self.flow.is_paused() { OUT_HIGH } else { AHEAD };
        self.has_left() || !self.gets_bytes() || (self.out.len() < limit && relayed < OUT_HIGH)
    }

    /// Whether it has been disconnected and everything for it is written.
    pub fn is_quiet(&self) -> bool {
        self.out.is_empty() && self.has_left()
    }

    /// Whether its borrowed terminal has typed bytes that were not read yet.
    pub fn has_typed(&self) -> bool {
        self.usable_terminal().is_some_and(|terminal| is_readable(terminal.as_fd()))
    }

    pub fn watch<'fd>(&'fd self, set: &mut PollSet<'fd, PollToken>, id: u64, typing_waits: bool) {
        if let Some(terminal) = self.usable_terminal() {
            // Keys typed after the program's end are for the shell.
            match (typing_waits || self.is_ending(), self.out.is_empty()) {
                (false, true) => set.add(PollToken::Terminal(id), terminal.as_fd(), Interest::Read),
                (false, false) => set.add(PollToken::Terminal(id), terminal.as_fd(), Interest::Both),
                (true, false) => set.add(PollToken::Terminal(id), terminal.as_fd(), Interest::Write),
                (true, true) => set.add(PollToken::Terminal(id), terminal.as_fd(), Interest::Gone),
            }
        }
    }

    /// The program has ended and its last bytes are being written.
    pub fn is_ending(&self) -> bool {
        matches!(self.state.after_flush(), Some(AfterFlush::Disconnect { farewell, .. }) if farewell.is_end())
    }

    /// Its terminal, if the host has borrowed it.
    fn borrowed(&self) -> Option<&BorrowedTerminal> {
        match self.state.via() {
            Some(Transport::Borrowed(terminal)) => Some(terminal),
            _ => None,
        }
    }

    /// Its borrowed terminal, unless the client is stopped as far as the host knows.
    fn usable_terminal(&self) -> Option<&BorrowedTerminal> {
        self.borrowed().filter(|_| !self.flow.is_paused())
    }

    /// Whether its terminal may be used now; if not, a later check decides.
    fn may_use_terminal(&mut self, now: Stamp) -> bool {
        let Some(terminal) = self.borrowed() else { return false };
        // A client that is gone is noticed when its connection ends.
        let stat = self.stat.as_ref().and_then(StatFile::now);
        let may = stat.is_none_or(|stat| stat.may_use(terminal.device()));
        if may {
            self.flow.found_running(now);
        } else {
            self.flow.found_stopped(now);
        }
        may
    }

    /// Writes what waits for its terminal, as much as fits.
    fn flush_out(&mut self) {
        if let Some(Transport::Borrowed(terminal)) = self.state.via()
            && self.out.flush(terminal).is_err()
        {
            self.out.clear();
        }
    }

    /// Writes to its terminal. False if it has none now.
    pub(super) fn put(&mut self, id: u64, bytes: &[u8], scene: &mut Scene<'_>) -> bool {
        match self.state.writes() {
            Some(Transport::Borrowed(_)) => {
                let now = scene.now();
                let bursts = scene.run.as_ref().is_some_and(|run| run.model.is_behind());
                let looked = self
                    .flow
                    .was_checked(now, if bursts { TERMINAL_CHECK_MS.1 } else { TERMINAL_CHECK_MS.0 });
                let usable = looked || (!self.flow.is_paused() && self.may_use_terminal(now));
                if usable && let Some(Transport::Borrowed(terminal)) = self.state.via() {
                    if self.out.send(terminal, bytes).is_err() {
                        self.out.clear();
                    }
                } else {
                    self.out.push(bytes);
                }
                true
            }
            Some(Transport::Relayed(_)) => {
                send_output(id, bytes, scene);
                true
            }
            Some(Transport::Pending(_) | Transport::Suspended(_)) | None => false,
        }
    }

    /// Draws a picture on its terminal, without what that cannot show.
    pub(super) fn put_picture(&mut self, id: u64, picture: &[u8], scene: &mut Scene<'_>) {
        let picture = self.capabilities.strip(picture);
        self.put(id, &picture, scene);
    }

    /// Shows it the program's output. False if it has no terminal now.
    pub(super) fn show(&mut self, id: u64, bytes: &[u8], scene: &mut Scene<'_>) -> bool {
        if !self.gets_bytes() {
            return false;
        }
        let program = scene.run.as_ref().map_or(Capabilities::Full, |run| run.capabilities);
        if self.capabilities.rendering(program) == Rendering::Text {
            let text = self.text.text(bytes);
            return self.put(id, &text, scene);
        }
        self.put(id, bytes, scene)
    }

    /// The sequences that undo everything on its terminal.
    pub(super) fn undo(&mut self, scene: &mut Scene<'_>) -> Vec<u8> {
        match &mut self.view {
            ClientView::Mirror(painter) => painter.undo(),
            ClientView::Stale { undo, .. } => undo.clone(),
            ClientView::Direct => scene.undo(),
        }
    }

    /// Checks a paused client if that is due; if it runs again, writes what waits.
    pub(super) fn resume_flow(&mut self, now: Stamp) {
        if self.flow.is_due(now) && self.may_use_terminal(now) {
            self.flush_out();
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
        if ready.write {
            self.flush_out();
        }
        let Some(terminal) = self.borrowed() else { return TerminalInput::Nothing };
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

/// How its terminal arrives and leaves.
impl Client {
    /// Whether its terminal has not arrived yet.
    pub(super) fn is_pending(&self) -> bool {
        matches!(self.state.via(), Some(Transport::Pending(_)))
    }

    pub(super) fn is_suspended(&self) -> bool {
        matches!(self.state.via(), Some(Transport::Suspended(_)))
    }

    /// Whether the client can be told what to write if the host dies.
    pub(super) fn takes_undo_notice(&self) -> bool {
        !self.has_left() && !self.is_suspended()
    }

    /// Takes the terminal that its client hands over. `None` if none is expected; otherwise the suspension
    /// from which it returns, and why the client must relay, if it must.
    pub(super) fn take_over(&mut self, fd: Option<OwnedFd>) -> Option<(Option<Suspension>, Option<String>)> {
        let Some(via @ Transport::Pending(_)) = self.state.via_mut() else { return None };
        let spare = fd.as_ref().and_then(|fd| fd.try_clone().ok());
        let (taken, why) =
            match fd.map(|fd| BorrowedTerminal::take(fd, self.modes_before.clone(), self.raw.clone())) {
                Some(Ok(terminal)) => (Transport::Borrowed(terminal), None),
                other => {
                    let why = match other {
                        Some(Err(error)) => error.to_string(),
                        _ => "no descriptor came with the frame".to_owned(),
                    };
                    (
                        Transport::Relayed(
                            spare.and_then(|fd| KeptTerminal::keep(fd, self.modes_before.clone())),
                        ),
                        Some(why),
                    )
                }
            };
        match std::mem::replace(via, taken) {
            Transport::Pending(suspension) => Some((suspension, why)),
            Transport::Borrowed(_) | Transport::Relayed(_) | Transport::Suspended(_) => None,
        }
    }

    /// The client continues after a suspension and is about to hand over its terminal again. False if it was
    /// not suspended.
    pub(super) fn expect_reattach(&mut self) -> bool {
        self.state.expect_reattach()
    }

    /// The client reports that it runs in the foreground.
    pub(super) fn go_on(&mut self) {
        self.flow.go_on();
    }

    /// The child has sent its terminal a query.
    pub(super) fn expect_answer(&mut self, until: Stamp) {
        self.query_deadline = Some(until);
    }

    /// From now on only bytes that already wait are written to its terminal.
    pub(super) fn begin_flush(&mut self, then: AfterFlush, now: Stamp) {
        self.state.flush(then, self.out.len(), now);
    }

    /// Whether its terminal can be given back: everything is written, and it owes the program no answer.
    pub(super) fn is_flushed(&mut self, id: u64, scene: &mut Scene<'_>) -> bool {
        let now = scene.now();
        let is_flushing = self.state.after_flush().is_some();
        if !is_flushing || !self.is_ending() && self.query_deadline.is_some_and(|until| now < until) {
            return false;
        }
        self.query_deadline = None;
        let usable = self.may_use_terminal(now);
        if self.borrowed().is_some() {
            if usable {
                self.flush_out();
            }
            let stuck = self.state.note_progress(self.out.len(), now);
            if usable && !self.out.is_empty() && !stuck {
                return false;
            }
            // Its terminal must not be used: the client writes the rest itself when it continues.
            let rest = self.out.take();
            if !usable {
                send_output(id, &rest, scene);
            }
        }
        true
    }

    /// The client gets its terminal back. Returns the farewell of a client that leaves.
    pub(super) fn give_back(&mut self) -> Option<Farewell> {
        self.flow.go_on();
        self.state.give_back()
    }

    /// Its terminal hung up, or the client was told that it would.
    pub(super) fn hang_up(&mut self) {
        // Perhaps only the client got the signal and the terminal still exists: try once to restore it.
        self.flush_out();
        self.out.clear();
        self.state.leave();
    }

    /// How many bytes wait for its terminal.
    pub(super) fn waiting(&self) -> usize {
        self.out.len()
    }

    /// Whether it can take a picture now.
    pub(super) fn takes_pictures(&self) -> bool {
        self.watches() && self.out.is_empty() && !self.flow.is_paused()
    }

    /// Whether it stalls the program, which continues without it from now on. `alone`: no other client
    /// watches; `relayed`: bytes waiting in its connection; `written`: bytes that its connection has taken.
    pub(super) fn stalls_program(&mut self, alone: bool, relayed: usize, written: u64, now: Stamp) -> bool {
        let holds_up = alone && self.watches() && !self.has_room(relayed);
        self.flow.note_stall(holds_up, self.out.written() + written, now)
    }

    /// Writes `undo` to the terminal of a client that died without a farewell, and restores the modes. Takes
    /// at most `limit_ms`.
    pub(super) fn restore(&mut self, undo: &[u8], scene: &Scene<'_>, limit_ms: u64) {
        if let Some(Transport::Relayed(spare)) = self.state.via_mut()
            && let Some(spare) = spare.take()
        {
            spare.restore_later([raw::END_OF_ANYTHING, undo].concat());
        }
        let Some(Transport::Borrowed(terminal)) = self.state.via() else { return };
        // Appended to its backlog: the undo is for a terminal that has received all output.
        let _ = self.out.send(terminal, undo);
        let until = scene.now().after(limit_ms);
        while !self.out.is_empty() && scene.now() < until {
            let mut set = PollSet::default();
            set.add((), terminal.as_fd(), Interest::Write);
            if set.wait(Some(limit_ms)).is_err() || self.out.flush(terminal).is_err() {
                break;
            }
        }
        terminal.restore_modes();
    }
}

/// Sends a client bytes to write on its terminal itself.
pub(super) fn send_output(id: u64, bytes: &[u8], scene: &mut Scene<'_>) {
    for part in bytes.chunks(MAX_PAYLOAD) {
        scene.links.frame(id, tag::OUTPUT, part);
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
