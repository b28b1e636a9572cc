//! From the order for a run to its start: the steps of [`Launching`], and what a start means to the other
//! parts.
//!
//! [`Launching`]: crate::host::child

use std::io;
use std::path::PathBuf;

use super::own_files::RestoredFiles;
use crate::claude::plugin::PluginParts;
use crate::core::config::RestartMode;
use crate::core::handoff::text::safe_line;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::StartKind;
use crate::host::Host;
use crate::host::child::{
    ArgumentSources, ChildRun, LaunchFiles, LaunchOrder, LaunchPlan, LaunchStep, RunStart, Site,
};
use crate::host::jobs::JobEvent;
use crate::host::start::fresh_id;
use crate::host::terminals::Terminals;

/// How often Claude runs the status line while a question may stand in it, in seconds.
const REFRESH_S: u64 = 5;

impl Host {
    pub(in crate::host) fn spawn(&mut self, next: LaunchPlan) {
        self.child.launching.begin(next);
        self.go_on_launching();
    }

    /// Takes the next step of a launch, if it is due.
    pub(in crate::host) fn go_on_launching(&mut self) {
        let is_clear = self.child.run.as_ref().is_none_or(ChildRun::is_clear);
        let step = self.child.launching.due(self.clock.now(), is_clear, self.launch.agent);
        self.take_launch_step(step, None);
    }

    /// `settings`: the content of `--settings`, once it is known.
    fn take_launch_step(&mut self, step: Option<LaunchStep>, settings: Option<String>) {
        match step {
            None => {}
            // A person starts it, so they accept what runs code now. Nothing is running yet that could wait.
            Some(LaunchStep::Read { number: number @ 1, dir }) => {
                let Site { found, settings, .. } = self.site(dir)();
                self.jobs.code.accept(found);
                self.look_at_trusted();
                let given = self.launch_order(settings).write();
                self.launch_files_written(number, given);
            }
            Some(LaunchStep::Read { number, dir }) => {
                let read = self.site(dir);
                self.jobs.read(move || JobEvent::Site(number, Box::new(read())));
            }
            Some(LaunchStep::Write { number }) => {
                let (restore, mut order) = (self.restore(), self.launch_order(settings));
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

    /// What the next run starts with, for a thread that reads it.
    fn site(&self, asked: Option<String>) -> impl FnOnce() -> Site + Send + use<> {
        let found = self.next_found(asked.as_deref());
        let (paths, own, dir) = (self.paths.clone(), self.own.clone(), self.dir.clone());
        let config = &self.launch.config;
        // A question that waits for an answer says how long; nothing else in the segment changes by itself.
        let asks = config.terminal.segment && config.restart.mode == RestartMode::Ask;
        let refresh_s = asks.then_some(REFRESH_S);
        move || Site::read(&paths, &own, asked.map(PathBuf::from), &dir, refresh_s, found)
    }

    /// The settings of the next run have been read: they must be what a person accepted.
    pub(super) fn site_read(&mut self, number: u32, site: Site) {
        if !self.child.launching.reads(number) {
            return;
        }
        let changed = self.jobs.code.changes(&site.found);
        if let Some((dir, channel)) = site.moved {
            self.dir = dir;
            self.channel = channel.unwrap_or_else(|| self.channel.clone());
        }
        let step = self.child.launching.site_read(number, changed, self.clock.now());
        self.take_launch_step(step, site.settings);
    }

    fn launch_order(&self, settings: Option<String>) -> LaunchOrder {
        let before = self.observer.transcript().map(|transcript| transcript.conversation.clone());
        let next = self.child.launching.next().filter(|next| next.start == StartKind::Fresh);
        let fresh = next.and_then(|next| next.conversation.clone());
        LaunchOrder {
            dir: self.claim.dir.clone(),
            parts: PluginParts {
                hooks: self.launch.offers.hooks,
                ack: self.launch.config.hooks.ack,
                commands: self.launch.config.hooks.commands,
            },
            settings,
            tasks: before.zip(fresh).map(|(before, next)| (self.paths.clone(), before, next)),
        }
    }

    /// The directory exists, and the launch files were written or failed. A late result does not change the
    /// directory.
    pub(super) fn restored_and_written(
        &mut self,
        number: u32,
        restored: RestoredFiles,
        given: io::Result<LaunchFiles>,
    ) {
        self.restored(restored);
        self.launch_files_written(number, given);
    }

    fn launch_files_written(&mut self, number: u32, given: io::Result<LaunchFiles>) {
        let step = self.child.launching.written(number, given);
        self.take_launch_step(step, None);
    }

    /// A fresh conversation goes by the name that the one before had at last.
    fn name_conversation(&mut self, start: StartKind) {
        if start == StartKind::Fresh
            && let Some(name) = self.observer.conversation_name()
        {
            self.launch.title = Some(safe_line(name));
        }
    }

    fn start_run(&mut self, next: &LaunchPlan) {
        self.observer.set_working_dir(None);
        let typed = std::mem::take(&mut self.launch.ahead);
        if self.launch.termios.is_some() {
            self.note_typed(&typed.bytes());
        }
        self.name_conversation(next.start);
        let mut args = self.child.arguments(&ArgumentSources {
            agent: self.launch.agent,
            own: &self.args,
            start: next.start,
            conversation: next.conversation.as_ref(),
            model: self.observer.started_model(),
            switched: self.observer.switched_model(),
            permission_mode: self.recorder.supervisor.permission_mode(),
            // One that is resumed has its name already.
            name: self
                .launch
                .title
                .as_deref()
                .filter(|_| next.start != StartKind::Resume && self.launch.offers.names),
        });
        self.log_command(&args);
        if let Some(text) = self.keyboard.carried.text().filter(|_| next.prompt) {
            args.extend(["--".into(), text.into()]);
        }
        let (agent, socket) = (self.launch.agent, self.control.socket());
        let env = self.child.environment(next.number, agent, &self.claim.name, socket);
        let start = RunStart {
            number: next.number,
            program: self.child.lent.program(&self.launch, args, env, self.dir.clone()),
            size: self.launch.size,
            found: self.launch.termios.as_ref(),
            typed: &typed,
            lines: self.launch.config.terminal.scrollback_lines as usize,
        };
        match self.child.start(&start, self.clock.now()) {
            Ok(started) => {
                self.terminals.begin_run(started.history);
                if started.was_blind {
                    self.on_terminals(Terminals::fit);
                }
                self.observer.run_started(self.paths.claude_session(started.pid));
                let (run, pid) = (next.number, started.pid);
                self.events.push_back(Event::Started { run, pid, next: Some(fresh_id()) });
            }
            Err(error) => {
                let program = self.launch.program.display();
                self.child.launching.failure = Some(format!("{program}: {error}"));
                self.events.push_back(Event::CouldNotStart { run: next.number, code: error.code() });
            }
        }
    }
}
