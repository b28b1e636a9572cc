//! The host: owns one pseudo-terminal, supervises what runs in it, and outlives terminals. One process per
//! session: one loop around one `poll`, and threads for what may be slow.
//!
//! It turns readiness into events, gives them to the supervisor and performs what comes back; it decides
//! nothing itself.
//!
//! | file | holds |
//! |---|---|
//! | `start` | from the fork to the first run: name, directory and socket; ending the program of a host that died |
//! | `cast_recording` | the recording of the session, written by a thread |
//! | `identity` | the session's name and directories, and the start that the person asked for |
//! | `child` | the program: pseudo-terminal, screen model, end, next run |
//! | `keyboard` | what people, scripts and hopty type: held, queued, carried to the next run |
//! | `event_loop` | one turn: wait, take what is ready, do what is due |
//! | `control` | the control socket: who may connect, what arrives, requests without an answer |
//! | `jobs` | work of threads: handoffs, layouts, logs, the journal; settings that run code |
//! | `terminals` | people's terminals: attach, leader and size, mirrors, repaint, notices, undelivered input |
//! | `laws` | tests: the loop itself, driven with a fake child, fake clients and a fake clock |
//! | `observer` | reading Claude's files, its status line and signal files |
//! | `notifier` | notifications for a person who is away: by command, desktop and terminal |
//! | `wiring` | passing what one part reports to the others and to the supervisor |
//! | `session_exit` | how a session ended |
//! | `perform` | every action of the supervisor |

#![deny(clippy::print_stderr, reason = "it panics where the disk of `host.log` is full")]

mod cast_recording;
mod child;
mod control;
mod event_loop;
mod identity;
mod jobs;
mod keyboard;
#[cfg(test)]
mod laws;
mod notifier;
mod observer;
mod perform;
mod session_exit;
pub mod start;
mod terminals;
mod wiring;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use nix::libc;

pub use jobs::drift_check;

use crate::core::claude::{args, carry_over, version_features::HookSet};
use crate::core::compat::SessionCompat;
use crate::core::explanation::Explanation;
use crate::core::ids::Channel;
use crate::core::journal::Recorder;
use crate::core::status_types::MachineStatus;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::phase::Phase;
use crate::core::supervisor::{Agent, Policy, RULES};
use crate::fs::{registry, session};
use crate::ipc::message::RequestError;
use crate::sys::{boot, clock::Clock, signals::Signals, worker::within};
use cast_recording::SessionCast;
use child::Child;
use control::Control;
use event_loop::LoopState;
use identity::SessionIdentity;
use jobs::Jobs;
use jobs::log::log;
use keyboard::Keyboard;
use notifier::Notifier;
use observer::{FileReader, Observer};
use session_exit::HostExit;
use start::session_dir::SessionPlace;
use start::{InheritedDescriptors, Launch, StartReport};
use terminals::Terminals;

/// How long the end of a session waits for the last writes to reach the disk.
const LAST_WRITES: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Host {
    clock: Clock,
    session: SessionIdentity,
    child: Child,
    signals: Signals,
    recorder: Recorder,
    jobs: Jobs,
    cast: SessionCast,
    events: VecDeque<Event>,
    terminals: Terminals,
    keyboard: Keyboard,
    control: Control,
    observer: Observer,
    notifier: Notifier,
    /// The source documents' own forms.
    compat: SessionCompat,
    /// The data for `hopty why`.
    explanation: Explanation,
    exit: Option<HostExit>,
    /// The current boot of the machine.
    machine: MachineStatus,
    turns: LoopState,
}

/// A host whose first run has started.
#[derive(Debug)]
struct StartedHost {
    host: Box<Host>,
    /// Messages for the person, shown before the program draws.
    notices: Vec<String>,
}

impl Host {
    fn begin(
        launch: Launch,
        args: Vec<OsString>,
        inherited: InheritedDescriptors,
        place: SessionPlace,
    ) -> Result<StartedHost, StartReport> {
        let socket = place.socket.clone();
        // A host that fails to start leaves no socket behind.
        let host =
            Host::new(launch, args, inherited, place).inspect_err(|_| drop(std::fs::remove_file(socket)))?;
        host.first_step()
    }

    fn new(
        launch: Launch,
        args: Vec<OsString>,
        inherited: InheritedDescriptors,
        place: SessionPlace,
    ) -> Result<Box<Host>, StartReport> {
        let internal =
            |what: &str, e: &dyn std::fmt::Display| StartReport::failed(125, format!("{what}: {e}"), "");
        let SessionPlace { paths, claim, listener, socket, private } = place;
        let signals = Signals::catch(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGUSR1])
            .map_err(|e| internal("signals", &e))?;
        // A deleted executable has no path, but it is still this process's.
        let dir = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let words: Vec<String> = args.iter().map(|a| a.to_string_lossy().into_owned()).collect();
        let claude = launch.agent == Agent::Claude;
        let own = if claude { args::OwnArgs::of(&words) } else { args::OwnArgs::default() };
        let hooks = claude && launch.offers.hooks != HookSet::None && !launch.offers.off;
        let notes = hooks && launch.offers.hooks == HookSet::Full;
        let policy = Policy {
            agent: launch.agent,
            hooks,
            notes,
            submit_when_idle: launch.offers.submit_when_idle,
            // Every version that has all hooks writes one (measured from 2.1.197 to 2.1.330, none on 2.0.76).
            sessions_file: launch.offers.hooks == HookSet::Full,
            no_handover: launch.offers.no_handover.clone().filter(|_| claude),
            rules: RULES,
            config: launch.config.clone(),
        };
        let began = Clock::wall();
        let compat = SessionCompat::new(&launch.config, claude);
        let reader = FileReader::new(&paths, compat.watched_files(), claude, began);
        let observer = Observer::new(reader, &own, claude, &launch.config);
        let channel = registry::channel_of(&paths.claude, &dir).unwrap_or_else(|e| {
            log(format_args!("{e}; using channel global"));
            Channel::global()
        });
        let control = Control::new(
            claim.name.clone(),
            paths.clone(),
            launch.config.control.clone(),
            (listener, socket),
        );
        let jobs = Jobs::new(&paths, &launch.config, &claim.dir);
        let (agent, terminals) = (launch.agent, Terminals::new(&launch.config.terminal));
        let notifier = Notifier::new(&launch.config.notify);
        let clock = Clock::start();
        // On the heap, because the stack frames of a start stay for the whole session.
        Ok(Box::new(Host {
            clock,
            session: SessionIdentity {
                launch,
                args,
                own,
                dir,
                channel,
                paths,
                claim,
                private,
                began,
                zero: began,
            },
            child: Child::new(inherited),
            signals,
            recorder: Recorder::new(policy),
            jobs,
            cast: SessionCast::new(clock),
            events: VecDeque::new(),
            terminals,
            keyboard: Keyboard::new(agent),
            control,
            observer,
            notifier,
            compat,
            explanation: Explanation::default(),
            exit: None,
            machine: MachineStatus { boot_id: boot::id(), shutdown: false },
            turns: LoopState::default(),
        }))
    }

    /// Handles the first event and everything that follows from it, including the start of the first run.
    fn first_step(mut self: Box<Self>) -> Result<StartedHost, StartReport> {
        let host = &mut self;
        let mut notices = match host.first_event() {
            Ok(notices) => notices,
            Err(failed) => {
                host.tidy();
                return Err(failed);
            }
        };
        let subject = host.session.cast_subject();
        let picture = host.child.cast_picture(host.session.launch.size);
        if let Some(wanted) = host.session.launch.record.take() {
            match host.cast.begin_now(&wanted, &subject, picture.clone()) {
                Ok(notice) => notices.push(notice),
                Err(RequestError { code, message, hint }) => {
                    host.tidy();
                    return Err(StartReport::failed(code.exit(), message, hint));
                }
            }
        }
        notices.extend(host.session.name_notice());
        if host.session.records_itself() && !host.cast.is_recording() {
            notices.extend(host.cast.begin_own(&subject, picture));
            host.jobs.remove_old_recordings(host.session.launch.config.record.keep_days);
        }
        // Not earlier: a failure before this point keeps the journal of the ended session of that name in
        // place.
        let unwritten = match &host.session.private {
            None => {
                let (recorder, began) = (&mut host.recorder, host.session.began);
                let opened = host.jobs.begin_journal(recorder, began, host.clock.now());
                host.take_journal_events();
                opened.err()
            }
            Some(private) => {
                notices.push(private.notice(&host.session.launch.offers));
                None
            }
        };
        host.settle();
        if let Some(e) = unwritten {
            // After the start, so that `status` and `why` report it.
            log(format_args!("cannot open the journal: {e}"));
            notices.push(format!("cannot open the journal ({e}): this session is not recorded"));
            host.events.push_back(Event::Degraded { part: "journal".to_owned() });
        }
        // The first step spawns the first run: by now exec has succeeded or failed.
        match &host.exit {
            Some(exit) if host.child.run.is_none() => {
                let code = exit.code();
                let message = host
                    .child
                    .launching
                    .failure
                    .take()
                    .unwrap_or_else(|| host.explanation.sentence().to_owned());
                host.tidy();
                Err(StartReport::failed(code, message, start::start_hint(code)))
            }
            _ => Ok(StartedHost { host: self, notices }),
        }
    }

    /// Handles the first event of the session. Returns messages for the person, shown before the program
    /// draws.
    fn first_event(&mut self) -> Result<Vec<String>, StartReport> {
        let agent = self.session.launch.agent;
        let conversation = start::first_conversation(agent, &self.session.own);
        let (mut handoff, mut notices) = (None, Vec::new());
        if let Some(id) = start::first_handoff(agent, &self.session.launch.handoff, &self.session.own)?
            && let Some(conversation) = &conversation
        {
            let place = (&*self.session.dir, &self.session.channel);
            let loaded = self.jobs.load_handoff(id.as_deref(), conversation, place, &mut self.compat)?;
            (handoff, notices) = (Some(loaded.id), loaded.notices);
        }
        let own = &self.session.own;
        // Nothing has been submitted, and no hook has to report that first.
        let fresh = agent == Agent::Claude && !own.picks_conversation && own.prompt.is_none();
        let prompt =
            own.prompt.as_deref().filter(|_| agent == Agent::Claude).and_then(carry_over::carry_method);
        let command = agent == Agent::Claude && own.prompt.is_some() && prompt.is_none();
        let next = start::fresh_id();
        self.events.push_back(Event::Start { conversation, next, handoff, fresh, prompt, command });
        self.events.extend(self.session.launch.offers.limited.clone().map(|what| Event::Limited { what }));
        Ok(notices)
    }

    /// Runs the loop until the session is over and its last bytes are written.
    #[must_use]
    pub fn run(mut self: Box<Self>) -> i32 {
        loop {
            self.settle();
            self.answer_waits();
            if self.is_done() {
                break;
            }
            self.turn();
        }
        self.tidy();
        0
    }

    /// Passes all waiting events to the supervisor and performs its actions.
    fn settle(&mut self) {
        loop {
            let now = self.clock.now();
            let Some(event) = self.events.pop_front().map(Event::redacted) else {
                if self.recorder.supervisor.next_deadline().is_some_and(|at| at <= now) {
                    self.events.push_back(Event::Tick);
                    continue;
                }
                break;
            };
            let mut lines = String::new();
            let actions = self.recorder.step(now, Clock::wall(), &event, &mut lines);
            self.jobs.write_journal(&lines, &mut self.recorder, now);
            self.take_journal_events();
            for action in actions {
                self.perform(action);
            }
            if let Event::HookGone { id } = event {
                self.forget_call(id);
            }
            self.notifier.watch(&event, &self.recorder.supervisor.state(), self.clock.now());
        }
        self.note_turn();
    }

    /// Removes everything but the journal and the session's last state, which was written when it ended. A
    /// client that waits for its connection to close then finds the name and the socket gone.
    fn tidy(&mut self) {
        self.jobs.journal.flush(LAST_WRITES);
        self.cast.finish(LAST_WRITES);
        if let Some(run) = self.child.run.take() {
            run.abandon();
        }
        let given = std::mem::take(&mut self.child.launching.given);
        let sockets: Vec<PathBuf> = self.control.sockets().cloned().collect();
        within(LAST_WRITES, move || {
            given.remove();
            for socket in sockets {
                let _ = std::fs::remove_file(socket);
            }
        });
        self.session.claim.give_back();
        self.control.clear();
        self.terminals.clear();
        let (private, paths, days) = (
            self.session.private.take(),
            self.session.paths.clone(),
            self.session.launch.config.journal.keep_ended_days,
        );
        within(LAST_WRITES, move || match private {
            Some(private) => drop(private),
            None => session::sweep(&paths, days),
        });
    }

    fn phase(&self) -> &Phase {
        self.recorder.supervisor.phase()
    }
}
