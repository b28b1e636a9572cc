//! From the order for a run to its start: the steps of [`Launching`], and what a start means to the other
//! parts.
//!
//! [`Launching`]: crate::host::child

use std::io;

use crate::core::handoff::text::safe_line;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::{Phase, StartKind};
use crate::host::Host;
use crate::host::child::{
    ArgumentSources, ChildRun, LaunchFiles, LaunchOrder, LaunchPlan, LaunchStep, RunStart, Site,
};
use crate::host::jobs::JobEvent;
use crate::host::start::fresh_id;
use crate::host::terminals::Terminals;

impl Host {
    pub(in crate::host) fn spawn(&mut self, next: LaunchPlan) {
        self.child.launching.begin(next);
        self.go_on_launching();
    }

    /// Takes the next step of a launch, if it is due.
    pub(in crate::host) fn go_on_launching(&mut self) {
        let is_clear = self.child.run.as_ref().is_none_or(ChildRun::is_clear);
        let step = self.child.launching.due(self.clock.now(), is_clear, self.session.launch.agent);
        self.take_launch_step(step, None);
    }

    /// `settings`: the content of `--settings`, once it is known.
    fn take_launch_step(&mut self, step: Option<LaunchStep>, settings: Option<String>) {
        match step {
            None => {}
            // A person starts it, so they accept what runs code now. Nothing is running yet that could wait.
            Some(LaunchStep::Read { number: number @ 1, dir }) => {
                let Site { found, settings, .. } = self.session.next_site(dir)();
                self.jobs.code.accept(found);
                self.jobs.look_at_trusted(&self.session);
                let given = self.launch_order(settings).write();
                self.launch_files_written(number, given);
            }
            Some(LaunchStep::Read { number, dir }) => {
                let read = self.session.next_site(dir);
                self.jobs.read(move || JobEvent::Site(number, Box::new(read())));
            }
            Some(LaunchStep::Write { number }) => {
                let mut order = self.launch_order(settings);
                let restore = self.session.restore_order(self.jobs.journal.journal_id());
                self.jobs.write_launch(move || {
                    let restored = restore.run();
                    order.dir.clone_from(&restored.dir);
                    JobEvent::Written(number, Box::new(restored), order.write())
                });
            }
            Some(LaunchStep::Start { next, without_hooks }) => {
                self.events.extend(without_hooks.map(|what| Event::Limited { what }));
                self.start_run(&next);
                self.print_resuming();
            }
            Some(LaunchStep::Hold { changed }) => self.events.push_back(Event::Settings { changed }),
        }
    }

    /// The settings of the next run have been read: they must be what a person accepted.
    pub(super) fn site_read(&mut self, number: u32, site: Site) {
        if !self.child.launching.reads(number) {
            return;
        }
        let changed = self.jobs.code.changes(&site.found);
        self.session.move_to(site.moved);
        let step = self.child.launching.site_read(number, changed, self.clock.now());
        self.take_launch_step(step, site.settings);
    }

    fn launch_order(&self, settings: Option<String>) -> LaunchOrder {
        let before = self.observer.transcript().map(|transcript| transcript.conversation.clone());
        let next = self.child.launching.next().filter(|next| next.start == StartKind::Fresh);
        let fresh = next.and_then(|next| next.conversation.clone());
        self.session.launch_order(settings, before.zip(fresh))
    }

    /// The launch files were written or failed.
    pub(super) fn launch_files_written(&mut self, number: u32, given: io::Result<LaunchFiles>) {
        let step = self.child.launching.written(number, given);
        self.take_launch_step(step, None);
    }

    /// A fresh conversation goes by the name that the one before had at last.
    fn name_conversation(&mut self, start: StartKind) {
        if start == StartKind::Fresh
            && let Some(name) = self.observer.conversation_name()
        {
            self.session.launch.title = Some(safe_line(name));
        }
    }

    fn start_run(&mut self, next: &LaunchPlan) {
        self.observer.set_working_dir(None);
        let typed = std::mem::take(&mut self.session.launch.ahead);
        if self.session.launch.termios.is_some() {
            self.note_typed(&typed.bytes());
        }
        self.name_conversation(next.start);
        let mut args = self.child.arguments(&ArgumentSources {
            agent: self.session.launch.agent,
            own: &self.session.args,
            start: next.start,
            conversation: next.conversation.as_ref(),
            model: self.observer.started_model(),
            switched: self.observer.switched_model(),
            permission_mode: self.recorder.supervisor.permission_mode(),
            // One that is resumed has its name already.
            name: self
                .session
                .launch
                .title
                .as_deref()
                .filter(|_| next.start != StartKind::Resume && self.session.launch.offers.names),
        });
        self.compat.run_starts(&self.session.command_of(&args));
        if let Some(text) = self.keyboard.carried.text().filter(|_| next.prompt) {
            args.extend(["--".into(), text.into()]);
        }
        let (agent, socket) = (self.session.launch.agent, self.control.socket());
        let env = self.child.environment(next.number, agent, &self.session.claim.name, socket);
        let start = RunStart {
            number: next.number,
            program: self.child.lent.program(&self.session.launch, args, env, self.session.dir.clone()),
            size: self.session.launch.size,
            found: self.session.launch.termios.as_ref(),
            typed: &typed,
            lines: self.session.launch.config.terminal.scrollback_lines as usize,
        };
        match self.child.start(&start, self.clock.now()) {
            Ok(started) => {
                self.terminals.begin_run(started.history);
                if started.was_blind {
                    self.on_terminals(Terminals::fit);
                }
                self.observer.run_started(self.session.paths.claude_session(started.pid));
                let (run, pid) = (next.number, started.pid);
                self.events.push_back(Event::Started { run, pid, next: Some(fresh_id()) });
            }
            Err(error) => {
                let program = self.session.launch.program.display();
                self.child.launching.failure = Some(format!("{program}: {error}"));
                self.events.push_back(Event::CouldNotStart { run: next.number, code: error.code() });
            }
        }
    }

    /// While the next run is held nothing draws: the terminal shows the reason, and what to do.
    pub(in crate::host) fn print_held(&mut self) {
        let Phase::Cooling { held, .. } = self.phase() else { return };
        let name = self.session.name();
        let text = self.child.on_rows(&format!(
            "hopty: Claude is not started, because settings that run code have changed: {}\nhint: `hopty \
             restart {name}` in another terminal starts it anyway; Ctrl+C ends the session\n",
            held.join(", ")
        ));
        self.child.print_page(&text);
        self.show(format!("\r\n{text}").as_bytes());
    }
}
