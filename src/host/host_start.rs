//! The parts of a host, and everything that happens up to the start of its first run.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;

use nix::libc;

use super::Host;
use super::cast_recording::SessionCast;
use super::child::Child;
use super::control::Control;
use super::event_loop::LoopState;
use super::identity::SessionIdentity;
use super::jobs::Jobs;
use super::jobs::log::log;
use super::keyboard::Keyboard;
use super::notifier::Notifier;
use super::observer::{FileReader, Observer};
use super::start;
use super::start::session_dir::{PrivateStateDir, SessionPlace};
use super::start::{InheritedDescriptors, Launch, StartReport};
use super::terminals::Terminals;
use crate::core::claude::{args, carry_over, version_features::HookSet};
use crate::core::compat::SessionCompat;
use crate::core::explanation::Explanation;
use crate::core::ids::Channel;
use crate::core::journal::JournalRecorder;
use crate::core::status_types::MachineStatus;
use crate::core::supervisor::event::Event;
use crate::core::supervisor::{Policy, ProgramKind, RULES};
use crate::fs::paths::Paths;
use crate::fs::registry;
use crate::fs::session::NameLock;
use crate::ipc::message::RequestError;
use crate::sys::{boot, clock::Clock, signals::Signals};

/// A host whose first run has started.
#[derive(Debug)]
pub(super) struct StartedHost {
    pub host: Box<Host>,
    /// Messages for the person, shown before the program draws.
    pub notices: Vec<String>,
}

impl Host {
    pub(super) fn begin(
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

    pub(super) fn new(
        launch: Launch,
        args: Vec<OsString>,
        inherited: InheritedDescriptors,
        place: SessionPlace,
    ) -> Result<Box<Host>, StartReport> {
        let SessionPlace { paths, claim, listener, socket, private } = place;
        let signals = Signals::catch(&[libc::SIGCHLD, libc::SIGTERM, libc::SIGUSR1])
            .map_err(|e| StartReport::failed(125, format!("signals: {e}"), ""))?;
        let policy = policy_of(&launch);
        let session = session_identity(launch, args, paths, claim, private);
        let (claude, config) = (session.is_claude(), &session.launch.config);
        let compat = SessionCompat::new(config, claude);
        let reader = FileReader::new(&session.paths, compat.watched_files(), claude, session.began);
        let observer = Observer::new(reader, &session.own, claude, config);
        let control = Control::new(
            session.claim.name.clone(),
            session.paths.clone(),
            config.control.clone(),
            (listener, socket),
        );
        let jobs = Jobs::new(&session.paths, config, &session.claim.dir);
        let terminals = Terminals::new(&config.terminal);
        let notifier = Notifier::new(&config.notify);
        let clock = Clock::start();
        let mut child = Child::new(inherited);
        if session.launch.termios.is_none() {
            child.begin_detached(std::env::var("TERM").ok().as_deref());
        }
        // On the heap, because the stack frames of a start stay for the whole session.
        Ok(Box::new(Host {
            clock,
            child,
            signals,
            recorder: JournalRecorder::new(policy),
            jobs,
            cast: SessionCast::new(clock),
            events: VecDeque::new(),
            terminals,
            keyboard: Keyboard::new(session.launch.agent),
            control,
            observer,
            notifier,
            compat,
            explanation: Explanation::default(),
            exit: None,
            machine: MachineStatus { boot_id: boot::id(), shutdown: false },
            turns: LoopState::default(),
            session,
        }))
    }

    /// Handles the first event and everything that follows from it, including the start of the first run.
    pub(super) fn first_step(mut self: Box<Self>) -> Result<StartedHost, StartReport> {
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
        let unsent = host.session.claim.dir.join("unsent.txt");
        if host.session.launch.restored && unsent.exists() {
            notices.push(format!("Your unsent input is in {}.", unsent.display()));
        }
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
        let fresh = agent == ProgramKind::Claude && !own.picks_conversation && own.prompt.is_none();
        let prompt =
            own.prompt.as_deref().filter(|_| agent == ProgramKind::Claude).and_then(carry_over::carry_method);
        let command = agent == ProgramKind::Claude && own.prompt.is_some() && prompt.is_none();
        let next = start::fresh_id();
        let before = self.session.launch.before.clone();
        self.events.push_back(Event::Start { conversation, next, handoff, fresh, prompt, command, before });
        self.events.extend(self.session.launch.offers.limited.clone().map(|what| Event::Limited { what }));
        Ok(notices)
    }
}

fn session_identity(
    launch: Launch,
    args: Vec<OsString>,
    paths: Paths,
    claim: NameLock,
    private: Option<PrivateStateDir>,
) -> SessionIdentity {
    // A deleted directory has no path, but it is still this process's.
    let dir = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let words: Vec<String> = args.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    let claude = launch.agent == ProgramKind::Claude;
    let own = if claude { args::OwnArgs::of(&words) } else { args::OwnArgs::default() };
    let channel = registry::channel_of(&paths.claude, &dir).unwrap_or_else(|e| {
        log(format_args!("{e}; using channel global"));
        Channel::global()
    });
    let began = Clock::wall();
    SessionIdentity { launch, args, own, dir, channel, paths, claim, private, began, zero: began }
}

/// What the supervisor may do in a session that is launched like this.
fn policy_of(launch: &Launch) -> Policy {
    let claude = launch.agent == ProgramKind::Claude;
    let hooks = claude && launch.offers.hooks != HookSet::None && !launch.offers.off;
    Policy {
        agent: launch.agent,
        hooks,
        notes: hooks && launch.offers.hooks == HookSet::Full,
        submit_when_idle: launch.offers.submit_when_idle,
        // Every version that has all hooks writes one (measured from 2.1.197 to 2.1.330, none on 2.0.76).
        sessions_file: launch.offers.hooks == HookSet::Full,
        no_handover: launch.offers.no_handover.clone().filter(|_| claude),
        rules: RULES,
        config: launch.config.clone(),
    }
}
