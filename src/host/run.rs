//! One life of the child: its pseudo-terminal, the screen that listens beside it, and its end.

use std::ffi::OsString;
use std::path::PathBuf;

use super::Host;
use crate::core::claude::args::{NextRun, for_launch, for_next_run, for_resume};
use crate::core::claude::environment::{Additions, of_child};
use crate::core::claude::view::{BoxMode, ScreenText, View};
use crate::core::ids::ConversationId;
use crate::core::process::{ProcessEnd, Signal};
use crate::core::supervisor::Agent;
use crate::core::supervisor::event::{Event, PromptBox, ScreenFacts};
use crate::core::supervisor::phase::{Phase, StartKind, StopFor, StopStep};
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::io::fd::read_some;
use crate::io::outbuf::OutBuf;
use crate::io::poll::Ready as Readiness;
use crate::io::process::{Process, own_children};
use crate::pty::open::{Pty, with_slave};
use crate::pty::spawn::{Program, SpawnError, spawn};
use crate::pty::child;
use crate::screen::{Attr, Identity, Mode, Screen, reply};
use crate::tty::modes::{self, When};

/// Bytes waiting for the child above which keys are no longer read: it is the keyboard's turn to wait.
pub(super) const INPUT_HIGH: usize = 1 << 18;
/// How long after its death a child's output is still waited for while somebody else holds the terminal, in ms.
const DRAIN_MS: u64 = 100;
/// How long descendants that were left get between SIGTERM and SIGKILL, in ms.
const LEFTOVER_MS: u64 = 2000;
/// How often the prompt box is looked at while a hand-over is under way, in ms.
const LOOK_MS: u64 = 10;

/// A run.
#[derive(Debug)]
pub(super) struct Run {
    pub number: u32,
    pub pid: i32,
    pub pty: Pty,
    pub input: OutBuf,
    pub screen: Screen,
    pub size: Size,
    /// The master has nothing more to give.
    pub at_end: bool,
    /// The child is gone; when, and how.
    ended: Option<(Stamp, ProcessEnd)>,
    /// What the person does not see: from a stop for a restart on, with what undoes the modes that were on by then.
    pub muted: Option<Vec<u8>>,
    facts: ScreenFacts,
    seen: u64,
    looked: Stamp,
    tree: Vec<Process>,
    leftovers: Vec<(Process, Stamp)>,
    buffered: Vec<u8>,
}

impl Run {
    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        let drain = self.ended.map(|(at, _)| at.after(DRAIN_MS));
        let leftover = self.leftovers.iter().map(|(_, at)| *at).min();
        let look = (self.screen.revision() != self.seen && self.looked.after(LOOK_MS) > now).then(|| self.looked.after(LOOK_MS));
        [drain, leftover, look].into_iter().flatten().min()
    }

    /// The host ends although the child may live: the terminal is closed, which ends it.
    pub fn abandon(self) {
        for (process, _) in &self.leftovers {
            let _ = process.signal(Signal::KILL);
        }
    }

    /// The screen as the rules read it.
    pub fn text(&self) -> ScreenText {
        let (cols, rows) = self.screen.size();
        let cursor = self.screen.cursor();
        let mut text = ScreenText {
            cols: usize::from(cols),
            rows: self.screen.lines(),
            dim: Vec::with_capacity(usize::from(rows)),
            cursor: (usize::from(cursor.col), usize::from(cursor.row)),
            title: self.screen.title().to_owned(),
        };
        for row in 0..rows {
            let mut at = 0;
            let mut dim = Vec::new();
            for run in self.screen.row_runs(row) {
                let width = unicode_width::UnicodeWidthStr::width(run.text.as_str());
                if run.style.has(Attr::Dim) {
                    dim.push((at, at + width));
                }
                at += width;
            }
            text.dim.push(dim);
        }
        text
    }
}

/// What to do about an exit code of a start that failed.
pub(super) fn start_hint(code: u8) -> &'static str {
    match code {
        127 => "check the name and PATH",
        126 => "check that the file is a program, is executable (chmod +x) and that its interpreter exists",
        _ => "",
    }
}

impl Host {
    pub(super) fn spawn(&mut self, number: u32, start: StartKind, conversation: Option<&ConversationId>, dir: Option<String>) {
        let size = self.run.as_ref().map_or(self.launch.size, |run| run.size);
        if let Some(dir) = dir.map(PathBuf::from).filter(|dir| dir.is_dir()) {
            self.dir = dir;
        }
        let leftovers = self.run.take().map(|old| old.leftovers).unwrap_or_default();
        match self.try_spawn(number, start, conversation, size) {
            Ok((pty, pid)) => {
                let screen = Screen::new(size.cols, size.rows);
                self.run = Some(Run {
                    number,
                    pid,
                    pty,
                    input: OutBuf::default(),
                    screen,
                    size,
                    at_end: false,
                    ended: None,
                    muted: None,
                    facts: ScreenFacts::default(),
                    seen: 0,
                    looked: Stamp(0),
                    tree: Vec::new(),
                    leftovers,
                    buffered: Vec::new(),
                });
                self.watching.child(&self.paths, pid);
                self.events.push_back(Event::Started { run: number, pid, next: super::fresh_id() });
                self.compress_transcripts();
            }
            Err(error) => {
                self.watching.failure = Some(format!("{}: {error}", self.launch.program.display()));
                self.events.push_back(Event::CouldNotStart { run: number, code: error.code() });
            }
        }
    }

    fn try_spawn(
        &mut self,
        number: u32,
        start: StartKind,
        conversation: Option<&ConversationId>,
        size: Size,
    ) -> Result<(Pty, i32), SpawnError> {
        let pty = Pty::open(size)?;
        if let Some(found) = &self.launch.termios {
            with_slave(&pty, |slave| modes::set(slave, found, When::Now))?;
        }
        let program = Program {
            path: self.launch.program.clone(),
            args: self.arguments(start, conversation),
            env: self.environment(number),
            dir: self.dir.clone(),
        };
        let pid = spawn(&pty, &program)?;
        Ok((pty, pid))
    }

    fn arguments(&self, start: StartKind, conversation: Option<&ConversationId>) -> Vec<OsString> {
        let Some(id) = conversation.filter(|_| self.launch.agent == Agent::Claude) else {
            if self.launch.agent == Agent::Claude
                && let Some(plugin) = &self.plugin
            {
                let mut args: Vec<OsString> = vec!["--plugin-dir".into(), plugin.into()];
                args.extend(self.args.iter().cloned());
                return args;
            }
            return self.args.clone();
        };
        let words: Vec<String> = self.args.iter().map(|a| a.to_string_lossy().into_owned()).collect();
        let plugin = self.plugin.as_ref().map(|p| p.display().to_string());
        let next = NextRun {
            session_id: id.clone(),
            model: self.watching.model.clone(),
            permission_mode: self.recorder.supervisor.permission_mode().map(str::to_owned),
            plugin_dir: plugin.clone(),
            settings: None,
            prompt: None,
        };
        let made = match start {
            StartKind::First => for_launch(&words, plugin.as_deref(), id),
            StartKind::Fresh => for_next_run(&words, &next),
            StartKind::Resume => for_resume(&words, &next),
        };
        made.into_iter().map(OsString::from).collect()
    }

    fn environment(&self, number: u32) -> Vec<(OsString, OsString)> {
        let depth = std::env::var("HOPTY_DEPTH").ok().and_then(|d| d.parse::<u32>().ok()).unwrap_or(0);
        let add = Additions {
            session: self.claim.name.to_string(),
            socket: self.socket.clone().into(),
            run: number,
            depth: depth + 1,
            claude: self.launch.agent == Agent::Claude,
            task_list: self.first_conversation.as_ref().filter(|_| number > 1).map(ToString::to_string),
            no_flicker: self.full_screen.filter(|_| number > 1).map(|full| if full { "1" } else { "0" }),
        };
        of_child(std::env::vars_os(), &add)
    }

    /// The master is ready: output forward first, then to the screen; waiting input into it.
    pub(super) fn master_ready(&mut self, ready: Readiness) {
        let Some(run) = &mut self.run else { return };
        if ready.write && run.input.flush(&run.pty).is_err() {
            run.input.clear();
        }
        if ready.read {
            self.read_output();
        }
    }

    fn read_output(&mut self) -> bool {
        let Some(run) = &mut self.run else { return false };
        if run.at_end {
            return false;
        }
        let mut buf = [0; 65536];
        match read_some(&run.pty, &mut buf) {
            Ok(Some(0)) | Err(_) => {
                run.at_end = true;
                false
            }
            Ok(None) => false,
            Ok(Some(n)) => {
                self.output(&buf[..n]);
                true
            }
        }
    }

    fn output(&mut self, bytes: &[u8]) {
        let muted = self.run.as_ref().is_some_and(|run| run.muted.is_some());
        if !muted {
            self.show(bytes);
        }
        let Some(run) = &mut self.run else { return };
        run.screen.feed(bytes);
        if run.screen.alternate() || run.screen.is_on(Mode::BracketedPaste) {
            self.full_screen.get_or_insert(run.screen.alternate());
            if run.screen.alternate() {
                self.full_screen = Some(true);
            }
        }
    }

    /// Sends bytes to every client; before the first one has come they are kept for it.
    pub(super) fn show(&mut self, bytes: &[u8]) {
        let mut shown = false;
        let ids: Vec<u64> = self.connections.keys().copied().collect();
        for id in ids {
            shown |= self.show_to(id, bytes);
        }
        if !shown
            && let Some(run) = &mut self.run
            && run.buffered.len() + bytes.len() <= INPUT_HIGH
        {
            run.buffered.extend_from_slice(bytes);
        }
    }

    /// What was written before any client came.
    pub(super) fn take_buffered(&mut self) -> Vec<u8> {
        self.run.as_mut().map(|run| std::mem::take(&mut run.buffered)).unwrap_or_default()
    }

    pub(super) fn child_changed(&mut self) {
        let now = self.clock.now();
        while let Some(run) = &mut self.run
            && run.ended.is_none()
        {
            match child::change(run.pid) {
                Ok(Some(end)) if end.is_final() => run.ended = Some((now, end)),
                Ok(Some(end)) => self.events.push_back(Event::Child { run: run.number, end }),
                Ok(None) | Err(_) => break,
            }
        }
        let child = self.run.as_ref().map_or(0, |run| run.pid);
        for orphan in own_children() {
            if orphan != child {
                let _ = child::collect(orphan);
            }
        }
    }

    /// Output comes before the exit: the end is reported when the terminal is drained.
    pub(super) fn finish_run(&mut self) {
        let Some((at, end)) = self.run.as_ref().and_then(|run| run.ended) else { return };
        while self.read_output() {}
        let now = self.clock.now();
        let Some(run) = &mut self.run else { return };
        if !run.at_end && now < at.after(DRAIN_MS) {
            return;
        }
        run.ended = None;
        run.at_end = true;
        let number = run.number;
        // Whatever the child left on is turned off again, and nothing else.
        let mut undo = match run.muted.take() {
            Some(undo) => undo,
            None => run.screen.undo(),
        };
        if matches!(self.phase(), Phase::Stopping { why: StopFor::Restart { .. }, .. }) {
            undo.extend_from_slice(self.going_on().as_bytes());
        }
        if !undo.is_empty() {
            self.show(&undo);
        }
        self.drop_hooks();
        self.events.push_back(Event::Child { run: number, end });
    }

    /// The one line of hopty's own between two runs.
    fn going_on(&self) -> String {
        let supervisor = &self.recorder.supervisor;
        let fill = supervisor.fill();
        let full = if fill.tokens > 0 { format!("context {} % full, ", fill.percent()) } else { String::new() };
        let into = match (&self.frame, supervisor.active_handoff()) {
            (Some(frame), Some(id)) if frame.id == *id => format!("handing over as {id}"),
            _ => "starting afresh".to_owned(),
        };
        format!("\r\x1b[2mhopty: {full}{into}\x1b[0m\r\n\r\n")
    }

    /// Takes Claude's prompt box and what stands below it off the primary screen, so that the next run begins where it
    /// stood. The moves are relative, because the person's terminal may have begun further down than ours.
    fn without_the_box(&self) -> Vec<u8> {
        let Some(run) = self.run.as_ref().filter(|run| !run.screen.alternate()) else { return Vec::new() };
        let cursor = usize::from(run.screen.cursor().row);
        match self.view().and_then(|view| view.prompt_box) {
            Some(shown) => match cursor.saturating_sub(shown.rows.start.saturating_sub(1)) {
                0 => b"\r\x1b[J".to_vec(),
                up => format!("\x1b[{up}A\r\x1b[J").into_bytes(),
            },
            None => {
                let last = run.screen.lines().iter().rposition(|line| !line.is_empty()).unwrap_or(0);
                match last.saturating_sub(cursor) {
                    0 => b"\r\n".to_vec(),
                    down => format!("\x1b[{down}B\r\n").into_bytes(),
                }
            }
        }
    }

    pub(super) fn signal_child(&mut self, signal: Signal, group: bool) {
        if signal == Signal::TERM && matches!(self.phase(), Phase::Stopping { why: StopFor::Restart { .. }, .. }) {
            self.mute();
        }
        if let Some(run) = &self.run
            && run.ended.is_none()
            && !run.at_end
        {
            let _ = child::signal(run.pid, signal, group);
        }
    }

    /// What Claude writes on its way out would only clutter the screen of the run that follows.
    fn mute(&mut self) {
        self.save_draft();
        let mut undo = self.without_the_box();
        if let Some(run) = &mut self.run {
            undo.extend_from_slice(&run.screen.undo());
            run.muted.get_or_insert(undo);
        }
    }

    pub(super) fn collect_tree(&mut self) {
        if let Some(run) = &mut self.run
            && self.launch.config.restart.reap == crate::core::config::Reap::Tree
        {
            run.tree = crate::io::process::descendants(run.pid);
        }
    }

    pub(super) fn reap_tree(&mut self) {
        let until = self.clock.now().after(LEFTOVER_MS);
        if let Some(run) = &mut self.run {
            for process in run.tree.drain(..).filter(|p| !p.is_gone()) {
                let _ = process.signal(Signal::TERM);
                run.leftovers.push((process, until));
            }
        }
    }

    pub(super) fn end_leftovers(&mut self) {
        let now = self.clock.now();
        if let Some(run) = &mut self.run {
            run.leftovers.retain(|(process, until)| {
                if now >= *until {
                    let _ = process.signal(Signal::KILL);
                }
                now < *until && !process.is_gone()
            });
        }
    }

    pub(super) fn resize(&mut self, size: Size) {
        if let Some(run) = &mut self.run
            && run.size != size
        {
            run.size = size;
            run.screen.resize(size.cols, size.rows);
            let _ = run.pty.resize(size);
        }
        self.launch.size = size;
    }

    /// While no terminal is there to answer, the host answers for it, so that the child does not wait.
    pub(super) fn answer_queries(&mut self) {
        let watched = self.connections.values().any(super::clients::Connection::has_terminal);
        let Some(run) = &mut self.run else { return };
        let queries = run.screen.take_queries();
        if watched && run.muted.is_none() {
            return;
        }
        let identity = Identity::new(env!("CARGO_PKG_VERSION"));
        for query in queries {
            let answer = reply(&query, &identity);
            if run.input.send(&run.pty, &answer).is_err() {
                break;
            }
        }
    }

    /// The live screen, read by the rules.
    pub(super) fn view(&self) -> Option<View> {
        self.run.as_ref().map(|run| self.rules.read(&run.text()))
    }

    /// Tells the supervisor what changed on the screen, while that matters.
    pub(super) fn tell_screen(&mut self) {
        let phase = self.phase();
        let delivering = matches!(phase, Phase::Delivering { .. });
        let settling = matches!(phase, Phase::Stopping { step: StopStep::Settle { .. }, .. });
        if self.launch.agent == Agent::Plain || !(delivering || settling || matches!(phase, Phase::Waiting { .. })) {
            return;
        }
        let now = self.clock.now();
        let Some(run) = &mut self.run else { return };
        let unread = delivering && (!run.input.is_empty() || run.pty.unread());
        let changed = run.screen.revision() != run.seen && now >= run.looked.after(LOOK_MS);
        if !changed && unread == run.facts.unread {
            return;
        }
        run.seen = run.screen.revision();
        run.looked = now;
        let paste = run.screen.is_on(Mode::BracketedPaste);
        let Some(view) = self.view() else { return };
        let expected = self.frame.as_ref().and_then(|frame| frame.typed.clone());
        let prompt = match &view.prompt_box {
            None => PromptBox::None,
            Some(shown) if expected.as_ref().is_some_and(|text| shown.holds(text)) => PromptBox::Ours,
            Some(shown) if shown.text.is_empty() && shown.mode == BoxMode::Prompt => PromptBox::Empty,
            Some(_) => PromptBox::Draft,
        };
        let facts = ScreenFacts { prompt, dialog: view.dialog.map(|dialog| dialog.name), paste, unread };
        let Some(run) = &mut self.run else { return };
        if facts != run.facts {
            run.facts = facts.clone();
            self.events.push_back(Event::Screen { facts });
        }
    }
}
