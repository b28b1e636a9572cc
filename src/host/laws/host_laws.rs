//! Random histories of the host, and the laws that are checked after each move.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config as ProptestConfig, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use super::World;
use super::socket_claude::{Claude, Stage};
use crate::core::config::{Config, OnHangup};
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::event::Asker;
use crate::core::terminal::Size;
use crate::core::time::Stamp;
use crate::fs::paths::Paths;
use crate::fs::session;
use crate::host::Host;
use crate::host::control::Connection;
use crate::host::control::peer::Peer;
use crate::host::start::{InheritedDescriptors, Launch};
use crate::ipc::stream::FrameStream;
use crate::pty::spawn::ErrorStream;
use crate::sys::clock::Clock;
use crate::sys::own_process::is_alone;
use crate::sys::process::ProcessStart;

/// Turns of the loop within one move, and how many of them may find nothing to do.
const TURNS: u32 = 3000;
const IDLE_TURNS: u32 = 20;
/// How long a hook call may take beyond `hooks.hold`, in ms.
const HOOK_SLACK_MS: u64 = 1000;

impl World {
    pub(super) fn new(plain: bool, config: Config) -> World {
        let place = tempfile::Builder::new();
        let root = place.tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let home = root.path().join("home");
        let project = root.path().join("proj");
        for dir in [home.join(".claude/sessions"), home.join(".claude/projects/p"), project.clone()] {
            std::fs::create_dir_all(dir).unwrap();
        }
        let trusted = json!({"projects": {project.to_str().unwrap(): {"hasTrustDialogAccepted": true}}});
        std::fs::write(home.join(".claude.json"), trusted.to_string()).unwrap();
        let paths = Paths::from_env(|name| (name == "HOME").then(|| home.clone().into())).unwrap();
        session::prepare(&paths).unwrap();
        let agent = if plain { ProgramKind::Plain } else { ProgramKind::Claude };
        let launch = Launch::of_test("laws", agent, config);
        let place = crate::host::start::session_dir::find(&paths, &launch).unwrap();
        let inherited = InheritedDescriptors { descriptors: Vec::new(), errors: ErrorStream::Terminal };
        let mut host = Host::new(launch, Vec::new(), inherited, place).unwrap();
        // Leaked for the whole test run: a clock is copied.
        let now: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(1000)));
        let stage = Stage::default();
        host.clock = Clock::manual(now);
        host.child.processes = Box::new(stage.clone());
        host.session.dir.clone_from(&project);
        host.jobs.work_by_hand();
        let host = host.first_step().unwrap().host;
        let pid = stage.last(|child| child.pid).unwrap();
        World {
            host,
            now,
            stage,
            claude: Claude::new(pid),
            clients: Vec::new(),
            callers: Vec::new(),
            keys: Vec::new(),
            scripted: 0,
            requests: 0,
            stopped_at: None,
            hangs_until: None,
            over: false,
            plain,
            paths,
            project,
            seen: BTreeMap::new(),
            trace: Vec::new(),
            root,
        }
    }

    pub(super) fn now(&self) -> Stamp {
        Stamp(self.now.load(Ordering::Relaxed))
    }

    pub(super) fn note(&mut self, what: &'static str) {
        self.trace.push(format!("{} {what}", self.now().0));
        *self.seen.entry(what).or_default() += 1;
    }

    pub(super) fn size(&self) -> Size {
        self.host.child.run.as_ref().map_or(Size::cells(120, 40), |run| run.size)
    }

    /// A connection to the host, as if it had been accepted.
    pub(super) fn connect(&mut self, asker: Asker) -> (u64, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        let pid = i32::try_from(std::process::id()).unwrap();
        let peer = if asker == Asker::Descendant { Peer::Inside } else { Peer::Person };
        let connection = Connection::new(
            FrameStream::new(near).unwrap(),
            peer,
            ProcessStart { pid, ticks: None },
            self.now(),
        );
        (self.host.control.admit(connection), far)
    }

    /// Runs the loop, and everybody around it, until nothing is left to do at this time.
    pub(super) fn rest(&mut self) {
        let (mut turns, mut idle) = (0, 0);
        while !self.over {
            self.host.settle();
            self.host.answer_waits();
            if self.host.is_done() {
                self.over = true;
                self.listen();
                break;
            }
            let read = self.read_disks();
            let busy = read | self.host.turn() | self.listen() | !self.host.events.is_empty();
            let now = self.now();
            let due: Vec<_> = self
                .host
                .deadlines(now)
                .into_iter()
                .filter(|(_, at)| at.is_some_and(|at| at <= now))
                .collect();
            if !busy && due.is_empty() {
                break;
            }
            turns += 1;
            idle = if busy { 0 } else { idle + 1 };
            assert!(idle < IDLE_TURNS, "busy loop: nobody handles {due:?} at {now:?}\n{}", self.story());
            assert!(turns < TURNS, "no rest: {due:?} at {now:?}\n{}", self.story());
        }
        self.check();
    }

    pub(super) fn child_changed(&mut self) {
        self.host.child.take_changes(self.host.clock.now(), &mut self.host.events);
    }

    /// Lets everybody else read what has arrived. Returns whether there was anything.
    pub(super) fn listen(&mut self) -> bool {
        let mut any = false;
        let size = self.size();
        if self.stage.last(|child| !child.changes.is_empty()) == Some(true) {
            self.child_changed();
            any = true;
        }
        let pid = self.stage.last(|child| child.pid).unwrap();
        if self.claude.pid != pid {
            self.claude = Claude::new(pid);
            self.note("next run");
        }
        let claude = &mut self.claude;
        any |= self.stage.last(|child| claude.read(child, size)) == Some(true);
        for client in &mut self.clients {
            any |= client.read();
        }
        for caller in &mut self.callers {
            any |= caller.read();
        }
        any |= self.hear_hooks();
        any
    }

    /// Checks what must always hold.
    pub(super) fn check(&mut self) {
        let now = self.now();
        let stopped = self.stage.last(|child| child.stopped) == Some(true);
        for n in 0..self.clients.len() {
            let client = &mut self.clients[n];
            let told = std::mem::take(&mut client.suspends) > 0;
            let while_there = self.stopped_at.is_some_and(|at| at >= client.since);
            // It is not known when a stalled client was told.
            let known = !std::mem::replace(&mut client.was_stalled, client.stalled);
            let fits = !told || !known || (stopped && while_there && !client.read_only);
            assert!(
                fits,
                "client {n} is told to stop: stopped {stopped}, since then {while_there}\n{}",
                self.story()
            );
        }
        let hold = self.host.session.launch.config.hooks.hold.ms() + HOOK_SLACK_MS;
        for caller in &self.callers {
            for asked in caller.asked.iter().filter(|asked| asked.answers == 0 && caller.is_there()) {
                let bound = if caller.hook { hold } else { asked.bound };
                let late = now.since(asked.at) > bound;
                assert!(!late, "no answer within {bound} ms: {asked:?}\n{}", self.story());
            }
        }
        assert_eq!(
            self.claude.enters_in_dialog,
            0,
            "an Enter that was held answers a dialog\n{}",
            self.story()
        );
    }
}

pub(super) fn config() -> Config {
    let mut config = Config::default();
    config.compat.signal_files = false;
    config.handoff.summary = crate::core::config::SummaryMode::Off;
    config
}

#[test]
fn the_laws_hold_for_the_loop_over_random_histories() {
    // With other tests' programs around, the host would learn of a closed connection some moves late, and
    // another move would be blamed.
    if !is_alone("host::laws::host_laws::the_laws_hold_for_the_loop_over_random_histories") {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number("HOPTY_LAWS_SEED").unwrap_or(1).to_le_bytes());
    let cases = u32::try_from(number("HOPTY_LAWS_CASES").unwrap_or(120)).unwrap();
    let settings = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: u32::try_from(number("HOPTY_LAWS_SHRINK").unwrap_or(400)).unwrap(),
        max_shrink_time: 30_000,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new_with_rng(settings, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let seen = Cell::new(BTreeMap::<&'static str, u32>::new());
    let run = runner.run(&(any::<u8>(), vec(any::<u32>(), 10..120)), |(kind, moves)| {
        let mut config = config();
        if kind % 3 == 0 {
            config.terminal.on_hangup = OnHangup::End;
        }
        let mut world = World::new(kind % 4 == 0, config);
        world.rest();
        for dice in moves {
            world.play(dice);
            world.rest();
            if world.over {
                break;
            }
        }
        world.wind_down();
        let mut all = seen.take();
        for (what, n) in &world.seen {
            *all.entry(what).or_default() += n;
        }
        seen.set(all);
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
    let seen = seen.into_inner();
    println!("{cases} histories: {seen:?}");
    for what in [
        "next run", "held key", "cut key", "stopped", "hook", "request", "read-only key", "dialog", "saved",
        "hanging disk", "goes", "breaks off",
    ] {
        assert!(seen.contains_key(what), "never reached: {what}; {seen:?}");
    }
}
