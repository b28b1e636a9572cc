//! `events --follow` and `log --follow`: told by the journal, through its rotations, until the session or the
//! reader ends.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use hopty::fs::rotating_journal::JournalLog;
use hopty::sys::poll::{self, Interest};
use serde_json::{Value, json};

use super::support::LIMIT;
use super::support::claude::hopty;
use super::support::world::World;
use super::{support, wait_for, world};

/// A session without a host: its lock is held and its journal written by the test.
struct Written {
    lock: File,
    journal: JournalLog,
    seq: u64,
}

impl Written {
    /// With so many bytes in a file of the journal.
    fn new(world: &World, bytes: u64) -> Written {
        let dir = world.state_dir().join("sessions/one");
        std::fs::create_dir_all(&dir).unwrap();
        let mut lock = File::create(dir.join("lock")).unwrap();
        lock.lock().unwrap();
        let own = std::process::id();
        let start = hopty::sys::process::start_ticks(i32::try_from(own).unwrap()).unwrap();
        write!(lock, "{own} {start}").unwrap();
        let journal = JournalLog::begin(&dir.join("journal.jsonl"), bytes, 5).unwrap();
        let mut written = Written { lock, journal, seq: 0 };
        written.open();
        written
    }

    fn open(&mut self) {
        self.seq += 1;
        let seq = self.seq;
        self.journal.write(&format!("{}\n", json!({"seq": seq, "t": 0, "open": {"journal": 1}}))).unwrap();
    }

    fn decide(&mut self) -> u64 {
        self.seq += 1;
        let decision =
            json!({"kind": "client.attached", "run": 1, "sentence": "x".repeat(60), "because": []});
        let line = json!({"seq": self.seq, "t": 1, "at": "2026-11-20T14:00:30.002Z", "decision": decision});
        self.journal.write(&format!("{line}\n")).unwrap();
        let seq = self.seq;
        if self.journal.is_full() {
            self.journal.rotate().unwrap();
            self.open();
        }
        seq
    }
}

struct Follower {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Follower {
    fn start(world: &World, verb: &str) -> Follower {
        let mut command = Command::new(hopty());
        command
            .args([verb, "one", "--follow"])
            .env_clear()
            .envs(world.env.iter().cloned())
            .current_dir(&world.project);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Follower { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        if self.lines.buffer().is_empty() {
            let limit = u64::try_from(LIMIT.as_millis()).unwrap();
            assert!(
                poll::wait_for(self.lines.get_ref(), Interest::Read, limit).unwrap(),
                "it tells nothing more"
            );
        }
        self.lines.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "{line:?}");
        line
    }

    fn seq(&mut self) -> u64 {
        serde_json::from_str::<Value>(&self.line()).unwrap()["seq"].as_u64().unwrap()
    }

    fn end(&mut self) -> ExitStatus {
        support::wait::end_of(&mut self.child, LIMIT).expect("it ends")
    }

    fn signal(&self, signal: i32) {
        support::kill(i32::try_from(self.child.id()).unwrap(), signal);
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nothing_is_lost_in_a_rotation_or_in_several_at_once() {
    let world = world();
    let mut session = Written::new(&world, 1000);
    let mut follower = Follower::start(&world, "events");
    for _ in 0..40 {
        let seq = session.decide();
        assert_eq!(follower.seq(), seq);
    }
    // More than one rotation while it does not look.
    follower.signal(nix::libc::SIGSTOP);
    let written: Vec<u64> = (0..8).map(|_| session.decide()).collect();
    follower.signal(nix::libc::SIGCONT);
    let told: Vec<u64> = written.iter().map(|_| follower.seq()).collect();
    assert_eq!(told, written);
    let Written { lock, journal, .. } = session;
    lock.unlock().unwrap();
    drop(journal);
    assert!(follower.end().success());
    assert_eq!(follower.lines.fill_buf().unwrap(), b"", "each of them once");
}

/// Ctrl+C is the usual way out: it ends as every program does, without a word, behind a whole line.
#[test]
fn an_interrupt_ends_it() {
    for verb in ["events", "log"] {
        let world = world();
        let mut session = Written::new(&world, 1 << 20);
        let mut follower = Follower::start(&world, verb);
        session.decide();
        assert!(follower.line().contains("client.attached"));
        follower.signal(nix::libc::SIGINT);
        assert_eq!(follower.end().signal(), Some(nix::libc::SIGINT));
        assert_eq!(follower.lines.fill_buf().unwrap(), b"");
    }
}

/// A host that is killed says nothing, and nothing wakes who follows but its end.
#[test]
fn the_end_of_a_killed_host_ends_it() {
    let world = world();
    world.run_detached("one", &["sleep", "1000"]);
    let status: Value = serde_json::from_str(&world.ask(&["status", "one", "--json"])).unwrap();
    let mut follower = Follower::start(&world, "events");
    assert!(follower.seq() < follower.seq());
    let pid = i32::try_from(follower.child.id()).unwrap();
    let switches = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line =
            status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap().to_owned();
        status.contains("State:\tS").then_some(line)
    };
    // What the host still writes about its own start wakes it, but then a second passes in which nothing
    // does.
    let quiet = || {
        let before = wait_for("it to wait", switches);
        !support::wait::ends_within(pid, Duration::from_secs(1)) && switches() == Some(before)
    };
    assert!((0..5).any(|_| quiet()), "it looks from time to time");
    support::kill(i32::try_from(status["host_pid"].as_i64().unwrap()).unwrap(), nix::libc::SIGKILL);
    assert!(follower.end().success());
    std::fs::remove_file(world.state_dir().join("run/one.sock")).unwrap();
    world.assert_nothing_left();
}
