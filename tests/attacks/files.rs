//! FIFOs, huge files, links and deleted directories where hopty reads and writes.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hopty::core::claude::line_context::project_dir_name;
use hopty::core::time::WallTime;

use super::support::claude::{self};
use super::support::term::Term;
use super::support::wait::end_of;
use super::support::wait_for;
use super::support::world::World;
use super::support::{self, nobody};

/// How long a verb may take in a debug build on a busy machine. None waits for anything here.
const IN_TIME: Duration = Duration::from_secs(20);

/// Address space of a verb, in KiB: one that reads a file of 3 GB whole has not enough.
const MEMORY_KIB: &str = "1500000";

/// What stands where a regular file of this user is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Odd {
    Fifo,
    Huge,
    Directory,
    Dangling,
    Zero,
    Socket,
    /// Somebody else's; only root can make one.
    Foreign,
}

const ODD: [Odd; 7] =
    [Odd::Fifo, Odd::Huge, Odd::Directory, Odd::Dangling, Odd::Zero, Odd::Socket, Odd::Foreign];

/// What was at a path before, put back when dropped.
struct Swapped {
    path: PathBuf,
    kept: PathBuf,
}

impl Odd {
    /// Puts it at `path`; `None` where this user cannot, and the test's case is reported as skipped.
    #[track_caller]
    fn put(self, path: &Path) -> Option<Swapped> {
        if self == Odd::Foreign && !nix::unistd::geteuid().is_root() {
            support::skip("only root can put a file of another user there");
            return None;
        }
        let kept = path.with_file_name(format!(".kept-{}", path.file_name().unwrap().to_str().unwrap()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let before = std::fs::read(path).unwrap_or_default();
        let _ = std::fs::rename(path, &kept);
        match self {
            Odd::Fifo => nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap(),
            Odd::Huge => std::fs::File::create(path).unwrap().set_len(3 << 30).unwrap(),
            Odd::Directory => std::fs::create_dir(path).unwrap(),
            Odd::Dangling => symlink("/nonexistent/file", path).unwrap(),
            Odd::Zero => symlink("/dev/zero", path).unwrap(),
            // A socket's path is short; it may be moved.
            Odd::Socket => {
                let short = tempfile::Builder::new().prefix("hopty-test-").tempdir_in("/tmp").unwrap();
                drop(UnixListener::bind(short.path().join("s")).unwrap());
                std::fs::rename(short.path().join("s"), path).unwrap();
            }
            Odd::Foreign => {
                std::fs::write(path, before).unwrap();
                std::os::unix::fs::chown(path, Some(12_345), Some(12_345)).unwrap();
            }
        }
        Some(Swapped { path: path.to_owned(), kept })
    }
}

impl Drop for Swapped {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path).or_else(|_| std::fs::remove_dir(&self.path));
        let _ = std::fs::rename(&self.kept, &self.path);
    }
}

/// A verb that must end in time, with little memory.
fn verb(world: &World, args: &[&str]) -> Output {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"")])
        .arg(claude::hopty())
        .args(args);
    command.env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
    let (out, err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    command.stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(err.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let Some(status) = end_of(&mut child, IN_TIME) else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("hopty {args:?} did not end within {IN_TIME:?}");
    };
    let read = |mut file: std::fs::File| {
        use std::io::{Read, Seek};
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    };
    Output { status, stdout: read(out), stderr: read(err) }
}

/// It worked, or it failed with a line of hopty's and a hint.
fn assert_plain(output: &Output, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    match output.status.code() {
        Some(0) => {}
        // `check` and `config check` list what is wrong as what they were asked for.
        Some(1) if what.contains("check") && said.is_empty() && !output.stdout.is_empty() => {}
        Some(1..=4 | 125) => {
            // A notice may stand above it, of a file without which a verb goes on.
            let notices = lines.iter().rev().skip(2).all(|line| line.starts_with("hopty: "));
            let last = lines
                .iter()
                .rev()
                .take(2)
                .rev()
                .map(|line| line.split(' ').next().unwrap())
                .collect::<Vec<_>>();
            assert!(notices && last == ["hopty:", "hint:"], "{what}: {said}");
        }
        code => panic!("{what}: {code:?} {:?}: {said}", output.status),
    }
}

/// The session takes keys and shows them.
fn assert_echoes(term: &Term, n: usize) {
    let word = format!("key{n:04}x");
    term.send(&word);
    term.wait_text(&word);
    term.send("\u{7f}".repeat(word.len()));
    term.wait_for("an empty prompt box", |screen| !screen.lines().iter().any(|line| line.contains(&word)));
}

/// A session that ended, with every file that one leaves.
fn ended(world: &World, name: &str) {
    world.ask(&["run", "--detached", "--name", name, "--", "sh", "-c", "echo last words"]);
    wait_for("its end", || {
        (!world.hopty(&["status", name]).stdout.is_empty() && world.ask(&["status", name]).contains("ended"))
            .then_some(())
    });
    // The name is free when its host is gone, which is a moment after the state says so.
    wait_for("its host's end", || world.processes().is_empty().then_some(()));
}

#[test]
fn no_verb_waits_for_or_reads_without_bound_what_stands_in_a_state_file_s_place() {
    let world = World::plain();
    ended(&world, "other");
    let dir = world.state_dir().join("sessions/other");
    let state = |name: &str| dir.join(name);
    let on_sessions: &[&[&str]] = &[
        &["ls", "--all"],
        &["ls", "--all", "--json"],
        &["status", "other"],
        &["status", "other", "--json"],
        &["why", "other"],
        &["log", "other"],
        &["events", "other"],
        &["screen", "other"],
        &["context", "other"],
        &["attach", "other"],
        &["wait", "other", "exit"],
        &["restart"],
        &["check"],
    ];
    let config = world.home.join(".config/hopty/config.toml");
    let on_config: &[&[&str]] =
        &[&["config", "show"], &["config", "check"], &["check"], &["status", "other"], &["context", "other"]];
    let claude_dir = world.claude_dir();
    let on_store: &[&[&str]] = &[
        &["handoff", "list"],
        &["handoff", "show"],
        &["channel"],
        &["channel", "list"],
        &["check"],
        &["handoff", "path"],
    ];
    let cases: Vec<(PathBuf, &[&[&str]])> = vec![
        (state("session.json"), on_sessions),
        (state("journal.jsonl"), on_sessions),
        (state("journal.jsonl.1"), on_sessions),
        (state("lock"), on_sessions),
        (state("screen.json"), on_sessions),
        (config, on_config),
        (world.project.join(".hopty.toml"), on_config),
        (claude_dir.join("channel-registry.json"), on_store),
        (claude_dir.join("handoff/global.manifest.json"), on_store),
        (claude_dir.join("settings.json"), &[&["check"]]),
        (world.project.join(".claude/settings.json"), &[&["check"]]),
        (claude_dir.join("sessions/1.json"), &[&["check"], &["context"], &["handoff", "create"]]),
        (world.home.join(".claude.json"), &[&["check"]]),
    ];
    for (path, verbs) in cases {
        for odd in ODD {
            let Some(_swapped) = odd.put(&path) else { continue };
            for args in verbs {
                assert_plain(&verb(&world, args), &format!("{odd:?} at {}: hopty {args:?}", path.display()));
            }
        }
    }
    assert_eq!(
        world.ask(&["status", "other", "--json"]).matches("\"state\":\"ended\"").count(),
        1,
        "all is as it was"
    );
    world.assert_nothing_left();
}

#[test]
fn a_session_begins_over_what_stands_in_a_state_file_s_place() {
    let world = World::plain();
    for file in ["session.json", "journal.jsonl", "journal.jsonl.1", "lock", "host.log", "screen.json"] {
        for odd in ODD {
            ended(&world, "other");
            let dir = world.state_dir().join("sessions/other");
            let Some(swapped) = odd.put(&dir.join(file)) else { continue };
            let output = verb(&world, &["run", "--detached", "--name", "other", "--", "true"]);
            let what = format!("{odd:?} at {file}: run");
            assert_plain(&output, &what);
            // Only a lock that is none keeps a name from being taken.
            assert!(
                output.status.success() || file == "lock",
                "{what}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let first = verb(&world, &["status", "other"]);
            assert_plain(&first, &what);
            wait_for("its end", || world.processes().is_empty().then_some(()));
            drop(swapped);
            std::fs::remove_dir_all(&dir).unwrap();
        }
    }
}

#[test]
fn a_live_session_takes_keys_whatever_stands_where_it_reads() {
    let world = World::plain();
    ended(&world, "other");
    let term = world.start(&[]);
    term.wait_box();
    world.wait_state("idle");
    let claude_dir = world.claude_dir();
    let pid = world.status()["pid"].as_i64().unwrap();
    let paths = [
        claude_dir.join(".restart-session"),
        claude_dir.join("settings.json"),
        world.project.join(".claude/settings.json"),
        world.project.join(".mcp.json"),
        world.home.join(".claude.json"),
        claude_dir.join(format!("sessions/{pid}.json")),
        world.state_dir().join("sessions/other/session.json"),
        world.session_dir().join("session.json"),
        world.session_dir().join("statusline.json"),
    ];
    let mut n = 0;
    for path in &paths {
        for odd in ODD {
            let Some(_swapped) = odd.put(path) else { continue };
            // Makes the host look at other sessions and at Claude's trust.
            let signal = claude_dir.join(".restart-session");
            let asks = path != &signal;
            if asks {
                std::fs::write(&signal, format!("{}\n", world.home.display())).unwrap();
            }
            n += 1;
            assert_echoes(&term, n);
            if asks {
                let _ = std::fs::remove_file(&signal);
            }
            assert_plain(&verb(&world, &["status", "proj"]), &format!("{odd:?} at {}", path.display()));
        }
    }
    world.leave(term);
}

#[test]
fn a_signal_that_is_swapped_again_and_again_never_holds_the_host_up() {
    let world = World::plain();
    let term = world.start(&[]);
    term.wait_box();
    world.wait_state("idle");
    let dir = world.claude_dir();
    let (signal, file, pipe) = (dir.join(".restart-session"), dir.join("a-file"), dir.join("a-pipe"));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                std::fs::write(&file, "x:/nonexistent\n").unwrap();
                let _ = std::fs::remove_file(&pipe);
                nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
                std::fs::rename(&file, &signal).unwrap();
                std::fs::rename(&pipe, &signal).unwrap();
            }
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..100).for_each(|n| assert_echoes(&term, n))
        }));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        done.unwrap();
    });
    let _ = std::fs::remove_file(&signal);
    world.leave(term);
}

#[test]
fn a_start_waits_for_nothing_that_stands_in_a_settings_file_s_place() {
    let world = World::plain();
    let paths = [
        world.home.join(".config/hopty/config.toml"),
        world.project.join(".hopty.toml"),
        world.project.join(".claude/settings.local.json"),
        world.project.join(".mcp.json"),
        world.claude_dir().join("channel-registry.json"),
        world.claude_dir().join("handoff/global.manifest.json"),
    ];
    for path in &paths {
        for odd in ODD {
            let what = format!("{odd:?} at {}", path.display());
            let swapped = odd.put(path);
            if swapped.is_none() {
                continue;
            }
            let output = verb(&world, &["--detached"]);
            assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
            // Claude itself may wait for a FIFO that it reads its settings from. The session answers all the
            // same.
            assert_plain(&verb(&world, &["status", "proj"]), &what);
            assert_eq!(world.status()["run"], 1, "{what}");
            world.ask(&["stop", "--kill", "proj"]);
        }
    }
    world.assert_nothing_left();
}

/// Every verb finds the session `proj`, and its journal replays.
fn assert_found(world: &World, what: &str) {
    let listed = world.ask(&["ls", "--json"]);
    assert!(listed.contains("\"name\":\"proj\""), "{what}: {listed}");
    for args in [
        &["status", "proj"][..],
        &["why", "proj"],
        &["log", "proj"],
        &["events", "proj"],
        &["screen", "proj"],
        &["context", "proj"],
    ] {
        let output = world.hopty(args);
        assert!(output.status.success(), "{what}: {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    world.assert_replays();
}

#[test]
fn a_session_whose_directory_is_deleted_or_moved_away_is_found_again() {
    let world = World::plain();
    let term = world.start(&[]);
    term.wait_box();
    world.wait_state("idle");
    let (state, session) = (world.state_dir(), world.session_dir());
    let aside = world.home.join("aside");
    for n in 0..7 {
        match n {
            0 => std::fs::remove_dir_all(&state).unwrap(),
            1 => std::fs::remove_dir_all(state.join("sessions")).unwrap(),
            2 => std::fs::remove_dir_all(&session).unwrap(),
            3 => std::fs::remove_file(session.join("lock")).unwrap(),
            4 => std::fs::rename(&session, &aside).unwrap(),
            5 => std::fs::rename(state.join("sessions"), &aside).unwrap(),
            _ => std::fs::rename(&state, &aside).unwrap(),
        }
        if n == 1 || n == 2 {
            // Its socket is left, so it is found even before.
            world.ask(&["status", "proj"]);
        }
        wait_for(&format!("the session's directory, way {n}"), || {
            // The new journal has its first decision a moment after it is there.
            let journal = std::fs::read_to_string(session.join("journal.jsonl")).unwrap_or_default();
            (session.join("lock").exists() && journal.contains("\"decision\"")).then_some(())
        });
        wait_for("its socket", || state.join("run/proj.sock").exists().then_some(()));
        assert_found(&world, &format!("way {n}"));
        assert_echoes(&term, n);
        let _ = std::fs::remove_dir_all(&aside);
    }
    // The next run starts in the new directory, and the one after that.
    for run in 2..4 {
        let _ = std::fs::remove_dir_all(&session);
        // The lock is there a moment before it is held.
        wait_for("the session", || world.hopty(&["screen", "proj"]).status.success().then_some(()));
        world.ask(&["restart", "proj", "--no-handoff"]);
        wait_for("the next run", || (world.status()["run"] == run).then_some(()));
        term.wait_box();
        world.wait_state("idle");
        assert_found(&world, &format!("run {run}"));
    }
    // The journal alone.
    std::fs::remove_file(session.join("journal.jsonl")).unwrap();
    world.ask(&["restart", "proj", "--no-handoff"]);
    wait_for("the journal", || session.join("journal.jsonl").exists().then_some(()));
    wait_for("the next run", || (world.status()["run"] == 4).then_some(()));
    term.wait_box();
    assert_found(&world, "the journal");
    world.leave(term);
}

#[test]
fn a_session_whose_name_was_taken_meanwhile_goes_on_under_a_number() {
    let world = World::plain();
    let run = |name: &str| world.hopty(&["run", "--detached", "--name", name, "--", "sleep", "1000"]);
    assert!(run("proj").status.success());
    let host = world.status()["host_pid"].clone();
    // Stopped, so that it cannot take its name back before another session does.
    let pid = i32::try_from(host.as_i64().unwrap()).unwrap();
    super::support::kill(pid, nix::libc::SIGSTOP);
    std::fs::remove_dir_all(world.state_dir()).unwrap();
    assert!(run("proj").status.success());
    super::support::kill(pid, nix::libc::SIGCONT);
    let second = wait_for("a number", || {
        let listed: Vec<serde_json::Value> = serde_json::from_str(&world.ask(&["ls", "--json"])).unwrap();
        listed.into_iter().find(|session| session["name"] == "proj-2")
    });
    assert_eq!(second["host_pid"], host);
    assert_ne!(world.status()["host_pid"], host);
    for name in ["proj", "proj-2"] {
        world.ask(&["stop", "--kill", name]);
    }
    world.assert_nothing_left();
}

#[test]
fn a_signal_is_seen_although_claude_s_directory_was_moved_away_and_made_again() {
    let world = World::plain();
    let term = world.start(&[]);
    term.wait_box();
    world.wait_state("idle");
    let (dir, aside) = (world.claude_dir(), world.home.join("claude-aside"));
    std::fs::rename(&dir, &aside).unwrap();
    let copied =
        Command::new("cp").args(["-a", aside.to_str().unwrap(), dir.to_str().unwrap()]).status().unwrap();
    assert!(copied.success());
    // Nothing else changes that anybody watches.
    std::fs::write(dir.join(".restart-session"), format!("{}\n", world.project.display())).unwrap();
    wait_for("the next run", || (world.status()["run"] == 2).then_some(()));
    term.wait_box();
    world.leave(term);
}

#[test]
fn what_is_made_under_a_umask_that_takes_everything_can_be_used() {
    let world = World::plain();
    // Root reads what has no mode at all.
    let Some(hopty) = nobody::give(&world) else { return };
    let shell = |script: &str| {
        let words = [
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--",
            "sh",
            "-c",
            script,
            hopty.to_str().unwrap(),
        ];
        let mut command = Command::new("setpriv");
        command.args(words).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
        command.output().unwrap()
    };
    let text = |output: &Output| {
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let started = shell("umask 0777; exec \"$0\" run --detached --name one -- sleep 1000");
    assert!(started.status.success(), "{}", text(&started));
    let listed = shell("exec \"$0\" ls --json");
    assert!(text(&listed).contains("\"name\":\"one\""), "{}", text(&listed));
    for verb in ["status one", "why one", "log one", "stop --kill one", "status one", "log one"] {
        let output = shell(&format!("exec \"$0\" {verb}"));
        assert!(output.status.success(), "{verb}: {}", text(&output));
    }
    world.assert_nothing_left();
}

#[test]
fn a_clock_that_is_set_makes_no_handoff_immortal_and_none_dead() {
    let world = World::plain();
    let conversation = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
    let dir = world.claude_dir().join("projects").join(project_dir_name(world.project.to_str().unwrap()));
    std::fs::create_dir_all(&dir).unwrap();
    let line = serde_json::json!({"type": "user", "uuid": "u1", "isSidechain": false,
        "sessionId": conversation, "cwd": world.project,
        "timestamp": "2026-11-20T14:29:50.000Z", "message": {"role": "user",
        "content": "Build the bridge."}});
    std::fs::write(dir.join(format!("{conversation}.jsonl")), format!("{line}\n")).unwrap();
    let id = world.ask(&["handoff", "create"]).trim().to_owned();
    let boot = world.claude_dir().join("handoff/records").join(&id).join("boot");
    let manifest = world.claude_dir().join("handoff/global.manifest.json");
    let (written, noted) =
        (std::fs::read_to_string(&manifest).unwrap(), std::fs::read_to_string(&boot).unwrap());
    let words: Vec<&str> = noted.split_whitespace().collect();
    let uptime: i64 = words[1].parse().unwrap();
    let entry: serde_json::Value = serde_json::from_str(&written).unwrap();
    let of = |key: &str| entry["current"][key].as_str().unwrap().to_owned();
    let hour = 3_600_000;
    // The time of day is moved by `hours` since, while `elapsed` ms have passed; what is known of the latter
    // may be gone.
    let waits = |hours: i64, elapsed: Option<i64>| {
        let moved = |text: &str| WallTime(WallTime::parse(text).unwrap().0 - hours * hour).rfc3339_s();
        let (created, expires) = (of("created_at"), of("expires_at"));
        std::fs::write(
            &manifest,
            written.replace(&created, &moved(&created)).replace(&expires, &moved(&expires)),
        )
        .unwrap();
        let second = WallTime::parse(&moved(&created)).unwrap().0 / 1000;
        match elapsed {
            Some(ms) => std::fs::write(&boot, format!("{} {} {second}\n", words[0], uptime - ms)).unwrap(),
            None => std::fs::remove_file(&boot).unwrap(),
        }
        world.hopty(&["handoff", "id"]).status.success()
    };
    assert!(waits(0, Some(0)) && waits(3, Some(0)) && waits(-30, Some(0)), "little time has passed");
    assert!(waits(0, None), "the time of day must do");
    std::fs::write(&boot, "").unwrap();
    assert!(!waits(-30, None), "a handoff of tomorrow");
    std::fs::write(&boot, "").unwrap();
    assert!(!waits(3, None), "by the time of day alone");
}
