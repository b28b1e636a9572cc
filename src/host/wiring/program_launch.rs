//! Launching a run.

use std::ffi::OsString;
use std::io;

use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::{Phase, StartKind};
use crate::core::text::visible::visible;
use crate::host::Host;
use crate::host::child::{
    ArgumentSources, ChildRun, LaunchFiles, LaunchPlan, LaunchSettings, LaunchStep, RunStart,
};
use crate::host::jobs::JobEvent;
use crate::host::start::fresh_id;
use crate::host::terminals::Terminals;
use crate::pty::spawn::SpawnError;

impl Host {
    /// Takes the next step of a launch, if it is due.
    pub(in crate::host) fn go_on_launching(&mut self) {
        let is_clear = self.child.run.as_ref().is_none_or(ChildRun::is_clear);
        let step = self.child.launching.due(self.clock.now(), is_clear, self.session.launch.agent);
        self.take_launch_step(step, None);
    }

    /// `settings`: the content of `--settings`, once it is known.
    fn take_launch_step(&mut self, step: Option<LaunchStep>, settings: Option<String>) {
        let fresh = self.child.launching.fresh_conversation();
        let before = self.observer.transcript().map(|transcript| &transcript.conversation);
        let tasks = before.zip(fresh).map(|(before, next)| (before.clone(), next.clone()));
        match step {
            None => {}
            // A person starts it and so accepts the current settings. Nothing is running yet that could wait.
            Some(LaunchStep::Read { number: number @ 1, dir }) => {
                let LaunchSettings { found, settings, .. } = self.session.next_launch_settings(dir)();
                self.jobs.code.accept(found);
                self.jobs.read_trusted_dirs(&self.session);
                let given = self.session.launch_order(settings, tasks).write();
                self.launch_files_written(number, given);
            }
            Some(LaunchStep::Read { number, dir }) => {
                let read = self.session.next_launch_settings(dir);
                self.jobs.read(move || JobEvent::LaunchSettings(number, Box::new(read())));
            }
            Some(LaunchStep::Write { number }) => {
                let mut order = self.session.launch_order(settings, tasks);
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
                // The box of source document 002 above the first run of a session that starts from a handoff.
                if let Some(text) = self.compat.take_resume_box() {
                    self.child.print(&text);
                    self.show(text.as_bytes());
                }
            }
            Some(LaunchStep::Hold { changed }) => self.events.push_back(Event::Settings { changed }),
        }
    }

    /// The settings of the next run were read: they must be what a person accepted.
    pub(super) fn launch_settings_read(&mut self, number: u32, read: LaunchSettings) {
        if !self.child.launching.reads(number) {
            return;
        }
        let changed = self.jobs.code.changes(&read.found);
        self.session.move_to(read.moved);
        let step = self.child.launching.launch_settings_read(number, changed, self.clock.now());
        self.take_launch_step(step, read.settings);
    }

    /// The launch files were written, or could not be.
    pub(super) fn launch_files_written(&mut self, number: u32, given: io::Result<LaunchFiles>) {
        let step = self.child.launching.written(number, given);
        self.take_launch_step(step, None);
    }

    fn start_run(&mut self, next: &LaunchPlan) {
        self.observer.forget_working_dir();
        let typed = std::mem::take(&mut self.session.launch.ahead);
        if self.session.launch.termios.is_some() {
            self.keyboard.draft.note(&typed.bytes(), self.clock.now());
        }
        if next.start == StartKind::Fresh {
            // A fresh conversation gets the name of the previous one.
            self.session.rename_conversation(self.observer.conversation_name());
        }
        let args = self.run_arguments(next);
        let launch = &self.session.launch;
        let (name, socket) = (self.session.name(), self.control.socket());
        let env = self.child.environment(next.number, launch.agent, name, socket);
        let start = RunStart {
            number: next.number,
            program: self.child.inherited.program(launch, args, env, self.session.dir.clone()),
            size: launch.size,
            found: launch.termios.as_ref(),
            typed: &typed,
            lines: launch.config.terminal.scrollback_lines as usize,
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
                let waits = next.number > 1 && matches!(self.phase(), Phase::Spawning { end: None, .. });
                // From the second run on, its input waits with it.
                let tried = waits
                    .then(|| self.child.launching.retry_start(next.clone(), &error, self.clock.now()))
                    .flatten();
                if let Some(tried) = tried {
                    if tried > 1 {
                        return;
                    }
                    let what = format!("cannot start run {} yet: {error}", next.number);
                    self.events.push_back(Event::Limited { what });
                    if error.is_of_file() {
                        let text = format!(
                            "\r\nhopty: {}: {error}; hopty tries again for 5 minutes, Ctrl+C ends the \
                             session\r\n",
                            launch.program.display()
                        );
                        self.show(text.as_bytes());
                    }
                    return;
                }
                self.child.launching.failure = Some(format!("{}: {error}", launch.program.display()));
                let code = error.code();
                let gone = match error {
                    SpawnError::NoDirectory(dir) => Some(visible(&dir.to_string_lossy())),
                    _ => None,
                };
                self.events.push_back(Event::CouldNotStart { run: next.number, code, gone });
            }
        }
    }

    /// The arguments of the next run, with its prompt.
    fn run_arguments(&mut self, next: &LaunchPlan) -> Vec<OsString> {
        let launch = &self.session.launch;
        let mut args = self.child.arguments(&ArgumentSources {
            agent: launch.agent,
            own: &self.session.args,
            start: next.start,
            conversation: next.conversation.as_ref(),
            model: self.observer.started_model(),
            switched: self.observer.switched_model(),
            permission_mode: self.recorder.supervisor.permission_mode(),
            // A person has not seen the transcript of a conversation that hopty resumes by itself.
            renews_system_prompt: launch.offers.renews_system_prompt
                && (next.start == StartKind::Resume || launch.restored && next.start == StartKind::First),
            // A resumed conversation already has its name.
            name: launch.title.as_deref().filter(|_| next.start != StartKind::Resume && launch.offers.names),
        });
        self.compat.run_starts(&self.session.command_of(&args));
        if let Some(text) = self.keyboard.carried.text().filter(|_| next.prompt) {
            args.extend(["--".into(), text.into()]);
        } else if let Some(text) = self.session.own.prompt.as_deref().filter(|_| next.first_prompt) {
            // A prompt that was submitted while its run was being stopped is carried over.
            if !self.keyboard.carried.unsent().any(|carried| carried == text) {
                args.extend(["--".into(), text.into()]);
            }
        }
        args
    }

    /// While the next run is held no program draws: the terminal shows the reason, and what to do.
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
