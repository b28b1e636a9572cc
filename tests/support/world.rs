//! A world of its own for every test: home, state, project, API. Nothing of it is left behind, and no
//! process.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use hopty::standin::api::Api;
use hopty::standin::home;
use hopty::standin::script::Script;
use serde_json::Value;

use super::claude::{self, Kind};
use super::term::Term;
use super::{wait, wait_for};

const KEY: &str = "sk-ant-test-0123456789-abcdefghijklmnopqrst";

/// The world.
pub struct World {
    pub kind: Kind,
    pub root: tempfile::TempDir,
    pub home: PathBuf,
    pub project: PathBuf,
    pub api: Api,
    pub env: Vec<(OsString, OsString)>,
    /// Arguments that every Claude here is started with.
    pub args: Vec<String>,
    _turn: Option<claude::Turn>,
}

impl World {
    /// Types the first prompt, and Enter until Claude sends it: early versions lose one that comes while they
    /// start.
    pub fn submit_first(&self, term: &Term, text: &str) {
        term.send(text);
        term.wait_text(text);
        let mut next = Instant::now();
        wait_for("the first request", || {
            if Instant::now() >= next {
                next += Duration::from_secs(1);
                term.send("\r");
            }
            (!self.api.main_requests().is_empty()).then_some(())
        });
    }

    /// `None` where the real Claude is wanted and cannot be had: the test is reported as skipped.
    pub fn new(kind: Kind, script: Script) -> Option<World> {
        let program = match kind {
            Kind::StandIn => None,
            Kind::Real => Some(claude::real()?),
        };
        Some(World::with(kind, program, script))
    }

    /// A world for tests of programs and verbs: its Claude is the stand-in, which has no answer.
    pub fn plain() -> World {
        World::with(Kind::StandIn, None, Script::list([]))
    }

    /// A world with this Claude; the stand-in where none is named.
    pub fn with(kind: Kind, program: Option<PathBuf>, script: Script) -> World {
        let turn = (kind == Kind::Real).then(claude::Turn::wait);
        let root = tempfile::Builder::new().prefix("hopty-test-").tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let (home, project) = (base.join("home"), base.join("proj"));
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        home::seed(&home, &project, KEY).unwrap();
        let program = program.unwrap_or_else(|| claude::stand_in(&base));
        let api = Api::start(script).unwrap();
        let mut env: Vec<(OsString, OsString)> = home::environment(&home, &api.url(), KEY)
            .into_iter()
            .map(|(n, v)| (n.into(), v.into()))
            .collect();
        for (name, value) in [
            ("TERM", "xterm-256color"),
            ("LANG", "C.UTF-8"),
            ("SHELL", "/bin/sh"),
            // One request more in every hand-over; the cases that are about it switch it on.
            ("HOPTY_HANDOFF_SUMMARY", "off"),
            // A test has just typed; the cases that are about somebody who is there take it out.
            ("HOPTY_RESTART_WAIT_FOR_PERSON", "0s"),
            // A line below the prompt box; the cases that are about it switch it on.
            ("HOPTY_TERMINAL_SEGMENT", "false"),
            // A question at the start; the case that is about it takes it out.
            ("HOPTY_TERMINAL_OFFER_ATTACH", "false"),
            ("HOPTY_PROGRAM_CLAUDE", program.to_str().unwrap()),
        ] {
            env.push((name.into(), value.into()));
        }
        env.push(("PATH".into(), std::env::var_os("PATH").unwrap_or_default()));
        let args =
            ["--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"].map(str::to_owned).to_vec();
        World { kind, root, home, project, api, env, args, _turn: turn }
    }

    /// Empties home and project and seeds them again under the same names, for a run that another is compared
    /// with.
    pub fn renew(&self) {
        for dir in [&self.home, &self.project] {
            let _ = std::fs::remove_dir_all(dir);
            std::fs::create_dir(dir).unwrap();
        }
        home::seed(&self.home, &self.project, KEY).unwrap();
    }

    /// A short pause after a save that failed, before a level tries again; by default it is minutes.
    pub fn set_short_pause(&mut self) {
        self.set("HOPTY_RESTART_SNOOZE", "2s");
    }

    /// Sets a variable for everything that is started here.
    pub fn set(&mut self, name: &str, value: &str) {
        self.env.retain(|(n, _)| n != name);
        self.env.push((name.into(), value.into()));
    }

    /// The directory in which a file stands for a fault of what is started here from now on
    /// (`src/sys/fault_injection.rs`).
    pub fn faults(&mut self) -> PathBuf {
        let dir = self.root.path().join("faults");
        std::fs::create_dir_all(&dir).unwrap();
        self.set("HOPTY_TEST_FAULTS", dir.to_str().unwrap());
        dir
    }

    /// hopty in a terminal of its own, with this world's arguments and more.
    pub fn start(&self, more: &[&str]) -> Term {
        self.start_sized(more, (120, 40))
    }

    /// The same in a terminal of another size.
    pub fn start_sized(&self, more: &[&str], size: (u16, u16)) -> Term {
        let mut args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        args.extend_from_slice(more);
        Term::start(&claude::hopty(), &args, &self.env, &self.project, size)
    }

    /// hopty in a terminal, after a first prompt was answered with `Hello.`.
    pub fn start_greeted(&self) -> Term {
        let term = self.start(&[]);
        term.wait_box();
        term.submit("Say hello to me.");
        term.wait_text("Hello.");
        self.wait_state("idle");
        term
    }

    /// A program in a session without a terminal.
    pub fn run_detached(&self, name: &str, program: &[&str]) {
        let mut args = vec!["run", "--name", name, "--detached", "--"];
        args.extend_from_slice(program);
        assert_eq!(self.ask(&args), format!("{name}\n"));
    }

    /// Calls a hook of the session `proj` as Claude does, and gives back what Claude would read.
    pub fn call_hook(&self, event: &str, payload: &Value) -> String {
        let socket = self.state_dir().join("run/proj.sock");
        let mut command = Command::new(claude::hopty());
        command
            .args(["hook", event, "5000"])
            .env_clear()
            .envs(self.env.iter().cloned())
            .env("HOPTY_SOCKET", socket);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    /// Any hopty command in a terminal.
    pub fn terminal(&self, args: &[&str]) -> Term {
        Term::start(&claude::hopty(), args, &self.env, &self.project, (120, 40))
    }

    /// A verb, run to its end.
    pub fn hopty(&self, args: &[&str]) -> Output {
        Command::new(claude::hopty())
            .args(args)
            .env_clear()
            .envs(self.env.iter().cloned())
            .current_dir(&self.project)
            .output()
            .unwrap()
    }

    /// What a verb prints, which must succeed.
    pub fn ask(&self, args: &[&str]) -> String {
        let output = self.hopty(args);
        let said = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned());
        assert!(output.status.success(), "hopty {args:?}: {}", said.concat());
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn state_dir(&self) -> PathBuf {
        self.home.join(".local/state/hopty")
    }

    pub fn session_dir(&self) -> PathBuf {
        self.state_dir().join("sessions/proj")
    }

    pub fn claude_dir(&self) -> PathBuf {
        self.home.join(".claude")
    }

    /// The decisions so far, oldest first.
    pub fn decisions(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.session_dir().join("journal.jsonl")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .filter_map(|l| serde_json::from_str::<Value>(l).ok())
            .filter_map(|v| v.get("decision").cloned())
            .collect()
    }

    /// Waits for the `n`-th decision of a kind, from 1.
    pub fn wait_decision(&self, kind: &str, n: usize) -> Value {
        self.wait_decision_for(kind, n, super::LIMIT)
    }

    /// The same for what takes long by its nature.
    pub fn wait_decision_for(&self, kind: &str, n: usize, limit: std::time::Duration) -> Value {
        let until = std::time::Instant::now() + limit;
        let mut watcher = hopty::fs::watch::Watcher::new();
        // Before the first look: what is written between the two would be missed, and nothing may follow it.
        watcher.add(&self.session_dir());
        loop {
            if let Some(decision) = self.decisions().into_iter().filter(|d| d["kind"] == kind).nth(n - 1) {
                return decision;
            }
            let left = until.saturating_duration_since(std::time::Instant::now());
            assert!(
                !left.is_zero(),
                "waited in vain for decision {kind} number {n}; the journal:\n{}",
                self.story()
            );
            wait::changed_within(&self.session_dir(), &mut watcher, left);
        }
    }

    /// The journal so far.
    pub fn journal(&self) -> String {
        std::fs::read_to_string(self.session_dir().join("journal.jsonl")).unwrap_or_default()
    }

    /// What happened, for messages.
    pub fn story(&self) -> String {
        let journal = self.journal();
        let log = std::fs::read_to_string(self.session_dir().join("host.log")).unwrap_or_default();
        let tail: Vec<&str> = journal
            .lines()
            .rev()
            .take(if std::env::var_os("HOPTY_TEST_LONG").is_some() { 4000 } else { 60 })
            .collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        format!("{}\n{log}", tail.join("\n"))
    }

    /// The status object of the session.
    pub fn status(&self) -> Value {
        serde_json::from_str(&self.ask(&["status", "proj", "--json"])).unwrap()
    }

    /// The status of a session with this name.
    pub fn status_of(&self, name: &str) -> Value {
        serde_json::from_str(&self.ask(&["status", name, "--json"])).unwrap()
    }

    /// The process id of the session's host.
    pub fn host_pid(&self) -> i32 {
        i32::try_from(self.status()["host_pid"].as_i64().unwrap()).unwrap()
    }

    /// Waits until the session says `state`.
    pub fn wait_state(&self, state: &str) {
        wait_for(&format!("state {state}"), || {
            (self.hopty(&["status", "proj"]).status.success() && self.status()["state"] == state)
                .then_some(())
        });
    }

    /// The journal replays to the same actions: after every test, for free.
    pub fn assert_replays(&self) {
        let journal = self.session_dir().join("journal.jsonl");
        let output = self.hopty(&["replay", journal.to_str().unwrap()]);
        assert!(
            output.status.success(),
            "replay: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Ends an idle session by `/exit`: the terminal is whole, the journal replays, and nothing is left.
    pub fn leave(&self, mut term: Term) {
        self.wait_state("idle");
        term.submit("/exit");
        assert_eq!(term.wait_exit(), 0, "{}", self.story());
        term.assert_whole();
        self.assert_replays();
        self.assert_nothing_left();
    }

    /// Processes that still carry this world's home in their environment.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("HOME={}", self.home.display());
        let Ok(dir) = std::fs::read_dir("/proc") else { return Vec::new() };
        let sessions = std::fs::read_dir(self.state_dir().join("sessions")).into_iter().flatten().flatten();
        let hosts: Vec<i32> =
            sessions.filter_map(|session| hopty::fs::session::host_of(&session.path())).collect();
        dir.flatten()
            .filter_map(|entry| {
                let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
                // Hosts and clients are closed to other processes of the same user, root excepted; a host is
                // known by its lock.
                let of_ours = match std::fs::read(entry.path().join("environ")) {
                    Ok(env) => env.split(|b| *b == 0).any(|var| var == mark.as_bytes()),
                    Err(_) => hosts.contains(&pid),
                };
                let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
                let dead = stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'));
                let line = std::fs::read(entry.path().join("cmdline")).ok()?;
                (of_ours && !dead).then(|| (pid, String::from_utf8_lossy(&line).replace('\0', " ")))
            })
            .collect()
    }

    /// No process, no socket is left.
    pub fn assert_nothing_left(&self) {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        // One that ends may have started another.
        while let Some((pid, line)) = self.processes().into_iter().next() {
            let left = until.saturating_duration_since(std::time::Instant::now());
            assert!(
                wait::ends_within(pid, left),
                "processes are left: {line:?} among {:?}",
                self.processes()
            );
        }
        let sockets = std::fs::read_dir(self.state_dir().join("run")).map(|dir| dir.count()).unwrap_or(0);
        assert_eq!(sockets, 0, "sockets are left");
    }

    /// The transcript of a conversation.
    pub fn transcript(&self, conversation: &str) -> Vec<Value> {
        let projects = self.claude_dir().join("projects");
        let Ok(dirs) = std::fs::read_dir(projects) else { return Vec::new() };
        let file =
            dirs.flatten().map(|d| d.path().join(format!("{conversation}.jsonl"))).find(|p| p.is_file());
        let Some(text) = file.and_then(|path| std::fs::read_to_string(path).ok()) else { return Vec::new() };
        text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Only what carries this world's mark was started by it.
        for (pid, _) in self.processes() {
            // SAFETY: kill takes two numbers.
            unsafe { nix::libc::kill(pid, nix::libc::SIGKILL) };
        }
    }
}

/// Tool uses and tool results of a transcript's main chain.
pub fn tools(transcript: &[Value]) -> (usize, usize) {
    let blocks = |role: &str, kind: &str| {
        transcript
            .iter()
            .filter(|l| l["type"] == role && l["isSidechain"] != true)
            .filter_map(|l| l["message"]["content"].as_array())
            .flatten()
            .filter(|b| b["type"] == kind)
            .count()
    };
    (blocks("assistant", "tool_use"), blocks("user", "tool_result"))
}
