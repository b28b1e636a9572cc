//! The moves of a history.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::{Asked, Caller, Client, World};
use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::supervisor::event::Asker;
use crate::core::supervisor::phase::Phase;
use crate::core::time::Stamp;
use crate::ipc::frame::tag;

const PAUSES: [u64; 16] = [1, 1, 2, 5, 10, 10, 20, 20, 50, 100, 200, 300, 1000, 2500, 11_000, 70_000];
const CLIENTS: usize = 4;

/// The random bits of one move.
#[derive(Clone, Copy)]
pub(super) struct Dice {
    pub what: u32,
    pub with: usize,
    pub wild: u32,
}

impl World {
    pub(super) fn play(&mut self, bits: u32) {
        let dice = Dice { what: bits & 0xff, with: (bits >> 8 & 0xff) as usize, wild: bits >> 16 };
        match dice.what {
            0..70 => self.pass(PAUSES[dice.with % PAUSES.len()]),
            70..84 => self.attach(dice),
            84..120 => self.type_key(dice),
            120..130 => self.finish_key(dice),
            130..142 => self.press(dice),
            142..156 => self.client_acts(dice),
            156..176 => self.ask(dice),
            176..222 => self.claude_acts(dice),
            222..240 => self.work(),
            240..250 => self.program_acts(dice),
            250..252 => self.hang(dice),
            _ => self.stop(dice),
        }
    }

    /// Lets time pass, up to the next deadline, so that none is skipped.
    fn pass(&mut self, ms: u64) {
        let until = self.now().after(ms);
        loop {
            while self.read_disks() {}
            let now = self.now();
            // A sequence that takes longer than this counts as two keys.
            let cut =
                self.clients.iter().filter_map(|client| client.rest.as_ref()).map(|(at, _)| at.after(90));
            let next = self
                .host
                .deadlines(now)
                .into_iter()
                .filter_map(|(_, at)| at)
                .chain(cut)
                .chain(self.hangs_until);
            let next = next.filter(|at| *at > now).min();
            let to = next.filter(|at| *at < until).unwrap_or(until);
            self.now.store(to.0, Ordering::Relaxed);
            for n in 0..self.clients.len() {
                if self.clients[n].rest.as_ref().is_some_and(|(at, _)| at.after(90) <= to) {
                    self.finish(n);
                }
            }
            if to == until || self.over {
                return;
            }
            self.rest();
        }
    }

    pub(super) fn pass_resting(&mut self, ms: u64) {
        self.pass(ms);
        self.rest();
    }

    fn attach(&mut self, dice: Dice) {
        if self.clients.iter().filter(|client| client.is_there()).count() >= CLIENTS
            || self.host.exit.is_some()
        {
            return;
        }
        let read_only = dice.with.is_multiple_of(3);
        let (connection, socket) = self.connect(Asker::Person);
        let index = self.clients.len();
        let mut client = Client::new(connection, index, socket, read_only, self.now());
        let cols = if dice.wild.is_multiple_of(4) { 100 } else { 120 };
        let hello = json!({"hopty": 1, "version": "0", "role": "client"});
        let attach = json!({"id": 1, "do": "attach", "cols": cols, "rows": 40, "read_only": read_only,
            "term": "xterm-256color"});
        client.write(format!("{hello}\n{attach}\n").as_bytes());
        let first = self.host.terminals.leader().is_none() && !read_only;
        if first
            && self.stage.last(|child| child.stopped) == Some(true)
            && self.stopped_at.is_some_and(|at| at < self.now())
        {
            self.note("joins a stopped program");
        }
        self.clients.push(client);
        // Its terminal may arrive before the loop has done anything else.
        let at_once = dice.wild.is_multiple_of(2);
        if !at_once {
            self.rest();
        }
        if let Some(client) = self.clients.last_mut().filter(|client| client.is_there()) {
            client.hand_over();
        }
        if at_once {
            self.rest();
        }
        self.note(if read_only { "watcher" } else { "client" });
        if self.clients.last().is_some_and(Client::has_terminal) {
            self.note("terminal taken");
        }
    }

    fn some_client(&self, with: usize) -> Option<usize> {
        let there: Vec<usize> = (0..self.clients.len()).filter(|n| self.clients[*n].line_is_open()).collect();
        there.get(with % there.len().max(1)).copied()
    }

    fn type_key(&mut self, dice: Dice) {
        let Some(n) = self.some_client(dice.with) else { return };
        if self.clients[n].rest.is_some() {
            return;
        }
        let held = self.host.keyboard.held.must_wait() && self.host.exit.is_none();
        let client = &mut self.clients[n];
        let mut key = client.next_key(held);
        let cut = key.bytes.starts_with(b"\x1b") && dice.wild.is_multiple_of(3);
        let at = if cut { 2 + dice.wild as usize / 3 % (key.bytes.len() - 2) } else { key.bytes.len() };
        if !client.press(&key.bytes[..at]) {
            return;
        }
        (key.cut, key.at) = (cut, at);
        if cut {
            client.rest = Some((Stamp(self.now.load(Ordering::Relaxed)), key.bytes[at..].to_vec()));
        }
        let (read_only, held) = (client.read_only, key.held);
        if !read_only {
            self.keys.push(key);
        }
        for (what, so) in
            [("read-only key", read_only), ("held key", held && !read_only), ("cut key", cut), ("key", true)]
        {
            if so {
                self.note(what);
            }
        }
    }

    fn finish_key(&mut self, dice: Dice) {
        if let Some(n) = self.some_client(dice.with) {
            self.finish(n);
        }
    }

    /// The second half of a key.
    pub(super) fn finish(&mut self, n: usize) {
        let client = &mut self.clients[n];
        let open = client.line_is_open();
        if let Some((_, rest)) = client.rest.take_if(|_| open) {
            client.press(&rest);
        }
    }

    /// Enter, Ctrl+C, and keys that do something to a prompt box.
    fn press(&mut self, dice: Dice) {
        let Some(n) = self.some_client(dice.with) else { return };
        if self.clients[n].rest.is_some() {
            return;
        }
        // Enter while a dialog is shown is meant for the dialog.
        let meant = self.claude.dialog;
        let bytes: &[u8] = match dice.wild % 4 {
            0 => b"\x03",
            _ if meant => return,
            _ => b"\r",
        };
        self.clients[n].press(bytes);
        self.note(if bytes == b"\r" { "enter" } else { "ctrl-c" });
    }

    fn client_acts(&mut self, dice: Dice) {
        let Some(n) = self.some_client(dice.with) else { return };
        let there = self.clients.iter().filter(|client| client.is_there()).count();
        let leads = self.host.terminals.leads(self.clients[n].connection);
        let watches = self.clients[n].read_only || (!leads && there > 1);
        self.trace.push(format!("{} client {n} acts {}", self.now().0, dice.wild % 12));
        let (before, exit) = (self.signals(), self.host.exit.is_some());
        match dice.wild % 12 {
            0 | 1 => {
                self.clients[n].leaves = true;
                self.clients[n]
                    .frame(if dice.wild.is_multiple_of(12) { tag::DETACH } else { tag::HANGUP }, &[]);
                self.rest();
                self.note("goes");
            }
            2 => {
                self.clients[n].cut();
                self.rest();
                self.note("breaks off");
            }
            3 | 4 => {
                let mut size = Vec::new();
                for part in [if dice.wild & 64 == 0 { 120u16 } else { 90 }, 40, 0, 0] {
                    size.extend(part.to_le_bytes());
                }
                self.clients[n].frame(tag::RESIZE, &size);
                self.rest();
                self.redraw();
            }
            5 => {
                self.finish(n);
                if self.clients[n].has_terminal() {
                    // The client stops reading first, and so does the host.
                    self.rest();
                }
                self.clients[n].frame(tag::RELEASE, &[]);
                self.rest();
                if self.clients[n].released && dice.wild & 128 == 0 {
                    self.pass_resting(300);
                    self.take_back(n);
                }
            }
            6 => self.clients[n].stalled = !self.clients[n].stalled,
            _ => {
                let number = [15, 2, 3, 1][dice.wild as usize / 12 % 4];
                self.clients[n].frame(tag::SIGNAL, &[number]);
                self.rest();
                self.note("signal");
            }
        }
        let act = dice.wild % 12;
        let ends = matches!(act, 0..=2 | 7..);
        assert!(
            !ends || !watches || self.signals() == before,
            "client {n} only watches, and act {act} signals the program"
        );
        assert!(
            !ends || !watches || exit || self.host.exit.is_none(),
            "client {n} only watches, and act {act} ends the session"
        );
    }

    /// How many signals the program received.
    fn signals(&self) -> usize {
        self.stage.last(|child| child.signals.len()).unwrap_or_default()
    }

    /// Continues a client that was stopped.
    pub(super) fn take_back(&mut self, n: usize) {
        let client = &mut self.clients[n];
        if client.is_there() && client.released {
            client.released = false;
            client.frame(tag::RESUME, &[]);
            client.hand_over();
        }
    }

    /// Runs a job of the worker.
    pub(super) fn work(&mut self) {
        let hangs = self.disk_hangs();
        let jobs = &mut self.host.jobs;
        if jobs.do_next() | (!hangs && jobs.do_next_read()) | jobs.do_next_launch() {
            self.host.take_jobs();
            if matches!(self.host.phase(), Phase::Saving { .. }) {
                self.note("saved");
            }
        }
    }

    /// What Claude does by itself.
    pub(super) fn claude_acts(&mut self, dice: Dice) {
        if self.plain || self.stage.last(|child| child.stopped || child.terminal.is_none()) != Some(false) {
            return;
        }
        if self.stage.last(|child| child.dying) == Some(true) {
            if !dice.with.is_multiple_of(3) {
                self.end(ProcessEnd::Exited(143));
            }
            return;
        }
        if !self.claude.told {
            self.claude.told = true;
            self.status("idle");
            self.hook("SessionStart", json!({"source": "startup"}));
            return;
        }
        if !self.claude.drawn {
            self.claude.drawn = true;
            self.redraw();
            return;
        }
        if let Some(prompt) = self.claude.submitted.pop_front() {
            self.status("busy");
            self.redraw();
            self.hook("UserPromptSubmit", json!({"prompt": prompt}));
            return;
        }
        match dice.with % 10 {
            0 if !self.claude.dialog => {
                self.claude.dialog = true;
                self.status("waiting");
                self.redraw();
                self.note("dialog");
            }
            0 | 1 if self.claude.dialog => {
                self.claude.dialog = false;
                self.status(if self.claude.busy { "busy" } else { "idle" });
                self.redraw();
            }
            2 | 3 if self.claude.busy => self.hook("PostToolBatch", json!({"tool_calls": []})),
            4..7 if self.claude.busy => self.end_turn(),
            7 => _ = self.write(b"\x1b[c"),
            8 => _ = self.write("text on the screen\r\n".repeat(dice.wild as usize % 400).as_bytes()),
            _ => self.redraw(),
        }
    }

    /// Ends Claude's turn.
    pub(super) fn end_turn(&mut self) {
        self.claude.busy = false;
        self.status("idle");
        self.redraw();
        self.hook("Stop", json!({}));
    }

    /// The program writes output.
    fn write(&mut self, bytes: &[u8]) -> bool {
        use std::io::Write;
        self.stage
            .last(|child| child.terminal.as_mut().is_some_and(|terminal| terminal.write_all(bytes).is_ok()))
            == Some(true)
    }

    pub(super) fn redraw(&mut self) {
        let (claude, size) = (
            &mut self.claude,
            self.host.child.run.as_ref().map_or(self.host.session.launch.size, |run| run.size),
        );
        if claude.drawn {
            self.stage.last(|child| claude.draw(child, size));
        }
    }

    pub(super) fn transcript(&self) -> std::path::PathBuf {
        let conversation = self.stage.last(|child| child.conversation.clone()).unwrap();
        self.paths.claude.join(format!("projects/p/{conversation}.jsonl"))
    }

    /// Writes Claude's sessions file.
    fn status(&mut self, status: &str) {
        let (pid, conversation) = self.stage.last(|child| (child.pid, child.conversation.clone())).unwrap();
        let said = json!({"pid": pid, "sessionId": conversation, "cwd": self.project, "status": status,
            "waitingFor": if status == "waiting" { "permission prompt" } else { "" }});
        std::fs::write(self.paths.claude_session(pid), said.to_string()).unwrap();
    }

    /// Claude calls a hook.
    pub(super) fn hook(&mut self, event: &'static str, more: Value) {
        let transcript = self.transcript();
        if !transcript.exists() {
            std::fs::write(&transcript, "").unwrap();
        }
        let conversation = self.stage.last(|child| child.conversation.clone()).unwrap();
        let mut payload =
            json!({"session_id": conversation, "transcript_path": transcript, "cwd": self.project});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (_, socket) = self.connect(Asker::Descendant);
        let mut caller = Caller::new(socket, true);
        caller.event = Some(event);
        let run = self.host.recorder.supervisor.run();
        let hello = json!({"hopty": 1, "version": "0", "role": "hook"});
        let call = json!({"id": 1, "do": "hook", "run": run, "event": event, "payload": payload});
        if caller.write(format!("{hello}\n{call}\n").as_bytes()) {
            caller.asked.push(Asked { id: 1, what: event.to_owned(), at: self.now(), bound: 0, answers: 0 });
        }
        self.callers.push(caller);
        self.note("hook");
    }

    /// Lets Claude act on the answers of its hooks. Returns whether there were any.
    pub(super) fn hear_hooks(&mut self) -> bool {
        let answers: Vec<(Option<&'static str>, Value)> = self
            .callers
            .iter_mut()
            .filter(|caller| caller.hook)
            .flat_map(|caller| std::mem::take(&mut caller.heard).into_iter().map(|line| (caller.event, line)))
            .collect();
        let any = !answers.is_empty();
        for (_, line) in answers {
            let stdout = line["ok"]["stdout"].as_str().unwrap_or_default();
            let said: Value = serde_json::from_str(stdout).unwrap_or_default();
            if said["continue"] == false && self.claude.busy {
                self.claude.busy = false;
                self.status("idle");
                self.redraw();
                self.note("hand-over");
            }
        }
        any
    }

    /// The program stops, continues or ends.
    fn program_acts(&mut self, dice: Dice) {
        let stopped = self.stage.last(|child| child.stopped) == Some(true);
        match dice.with % 8 {
            0..4 if !stopped => {
                self.stage.last(|child| {
                    child.stopped = child.terminal.is_some();
                    child.stopped.then(|| child.changes.push_back(ProcessEnd::Stopped(Signal(20))));
                });
                self.stopped_at = Some(self.now());
                self.child_changed();
                self.note("stopped");
            }
            0..6 => {
                self.note("goes on");
                self.stage.last(|child| {
                    let on = std::mem::take(&mut child.stopped);
                    on.then(|| child.changes.push_back(ProcessEnd::Continued));
                });
                self.child_changed();
            }
            6 => self.end(ProcessEnd::Exited(143)),
            _ if dice.wild.is_multiple_of(8) => self.end(ProcessEnd::Exited(0)),
            _ => self.end(ProcessEnd::Signaled(Signal::KILL)),
        }
    }

    pub(super) fn end(&mut self, end: ProcessEnd) {
        if self.stage.end(end) {
            self.child_changed();
            self.note("end");
        }
    }

    /// [`Self::program_acts`] from outside of a history.
    pub(super) fn act(&mut self, with: usize) {
        self.claude_acts(Dice { what: 0, with, wild: 1 });
    }
}
