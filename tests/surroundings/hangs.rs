//! A disk that hangs: every write to it waits, as on a network file system whose server is gone. A frozen
//! file system does that.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hopty::standin::script::{Script, ScriptedReply};

use super::support::claude::Kind;
use super::support::term::Term;
use super::support::world::World;
use super::support::{kill, skip, wait_for};

/// A file system that can be frozen. Whatever happens, it is not for longer than [`Disk::LONGEST`].
struct Disk {
    dir: PathBuf,
    watchdog: Option<Child>,
}

impl Disk {
    const LONGEST: u32 = 40;

    /// `None` where only root may have one, or a program is missing.
    fn mount(image: &Path, dir: &Path) -> Option<Self> {
        let run = |program: &str, args: &[&str]| {
            let done = Command::new(program).args(args).stdin(Stdio::null()).output();
            done.is_ok_and(|done| done.status.success())
        };
        std::fs::create_dir_all(dir).unwrap();
        std::fs::File::create(image).unwrap().set_len(16 << 20).unwrap();
        let (image, at) = (image.to_str().unwrap(), dir.to_str().unwrap());
        let mounted = run("mkfs.ext4", &["-q", image]) && run("mount", &["-o", "loop", image, at]);
        if !mounted {
            skip("a disk that hangs needs root, a loop device and mkfs.ext4");
            return None;
        }
        std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        Some(Disk { dir: dir.to_owned(), watchdog: None })
    }

    fn freeze(&mut self) {
        let line = format!("sleep {}; fsfreeze --unfreeze '{}'", Self::LONGEST, self.dir.display());
        self.watchdog = Some(
            Command::new("sh")
                .args(["-c", &line])
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        assert!(Command::new("fsfreeze").arg("--freeze").arg(&self.dir).status().unwrap().success());
    }

    fn go_on(&mut self) {
        if let Some(mut watchdog) = self.watchdog.take() {
            assert!(Command::new("fsfreeze").arg("--unfreeze").arg(&self.dir).status().unwrap().success());
            let _ = watchdog.kill();
            let _ = watchdog.wait();
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.watchdog.is_some() {
            let _ = Command::new("fsfreeze").arg("--unfreeze").arg(&self.dir).stderr(Stdio::null()).status();
        }
        let _ = Command::new("umount").arg("--lazy").arg(&self.dir).status();
    }
}

/// A world whose answers tell how many came before, and that hands over at "fill it".
fn counting() -> World {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) if request.assistant_messages() == 0 => {
            ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000)
        }
        _ => ScriptedReply::text(format!("Answer {}.", request.assistant_messages()))
            .filling(if request.contains("fill it") { 170_000 } else { 2000 }),
    });
    World::new(Kind::StandIn, script).unwrap()
}

/// Keys, answers and a whole hand-over while the disk of the session's journal, state and log hangs;
/// afterwards all of it is written.
#[test]
fn a_disk_of_sessions_that_hangs_stops_nothing() {
    let world = counting();
    let Some(mut disk) = Disk::mount(&world.root.path().join("image"), &world.state_dir()) else { return };
    let term = world.start(&[]);
    term.wait_box();
    let began = Instant::now();
    disk.freeze();
    for (prompt, answer) in [
        ("one", "Answer 0."),
        ("two", "Answer 1."),
        ("fill it", "Continuing from handoff"),
        ("three", "Answer 1."),
    ] {
        term.wait_box();
        term.submit(prompt);
        term.wait_text(answer);
    }
    assert!(
        began.elapsed() < Duration::from_secs(u64::from(Disk::LONGEST)),
        "the watchdog let it go on: {:?}",
        began.elapsed()
    );
    let written = world.journal();
    assert!(!written.contains("restart.requested"), "nothing was to be written");
    disk.go_on();
    // Everything that was held is written, in order.
    world.wait_decision("handoff.consumed", 1);
    assert_eq!(
        world.decisions().iter().filter(|decision| decision["kind"] == "degraded").count(),
        0,
        "{}",
        world.story()
    );
    world.leave(term);
}

/// The person gets the terminal back although what the session would tidy up cannot be reached.
#[test]
fn a_session_ends_while_its_disk_hangs() {
    let world = World::new(Kind::StandIn, Script::each(|_, _| ScriptedReply::text("Answer."))).unwrap();
    let Some(mut disk) = Disk::mount(&world.root.path().join("image"), &world.state_dir()) else { return };
    let mut term = world.start(&[]);
    term.wait_box();
    disk.freeze();
    let began = Instant::now();
    term.submit("/exit");
    assert_eq!(term.wait_exit(), 0);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    term.assert_whole();
    disk.go_on();
    world.assert_nothing_left();
}

/// Claude's own directory hangs, as a home on a network does. Claude waits for it, too; hopty's terminal and
/// verbs do not.
#[test]
fn a_home_that_hangs_does_not_stop_the_terminal() {
    let world = counting();
    let Some(mut disk) = Disk::mount(&world.root.path().join("image"), &world.claude_dir()) else { return };
    let term = world.start(&[]);
    term.wait_box();
    term.submit("one");
    term.wait_text("Answer 0.");
    world.wait_state("idle");
    disk.freeze();
    let began = Instant::now();
    term.send("typed while it hangs");
    term.wait_text("typed while it hangs");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // A hand-over is begun, which cannot be saved.
    assert!(world.hopty(&["restart", "proj", "--now"]).status.success());
    for verb in
        [&["status", "proj"][..], &["context", "proj"], &["ls"], &["screen", "proj"], &["why", "proj"]]
    {
        let asked = Instant::now();
        let answer = world.hopty(verb);
        assert!(answer.status.success(), "{verb:?}: {answer:?}");
        assert!(asked.elapsed() < Duration::from_secs(3), "{verb:?}: {:?}", asked.elapsed());
    }
    disk.go_on();
    world.wait_decision("handoff.consumed", 1);
    world.wait_state("idle");
    world.ask(&["stop", "proj"]);
    drop(term);
    world.assert_replays();
}

/// Reads that hang, too: every file that the host looks at, also its own. A file says how long (debug builds
/// only).
#[cfg(debug_assertions)]
#[test]
fn reads_that_hang_stop_neither_keys_nor_verbs_nor_hooks() {
    let mut world = counting();
    let hangs = world.faults().join("hang");
    world.set("HOPTY_HANDOFF_VIEWS", "memory");
    let mut term = world.start(&[]);
    term.wait_box();
    term.submit("one");
    term.wait_text("Answer 0.");
    world.wait_state("idle");
    let status = world.status();
    let (of, host) =
        (status["conversation"].clone(), i32::try_from(status["host_pid"].as_i64().unwrap()).unwrap());
    let payload = |more: serde_json::Value| {
        let mut payload = serde_json::json!({"session_id": of, "transcript_path": status["transcript"],
            "cwd": world.project});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    let in_time = |what: &str, done: &dyn Fn()| {
        let began = Instant::now();
        done();
        assert!(began.elapsed() < Duration::from_secs(4), "{what}: {:?}", began.elapsed());
    };
    let typed = |term: &Term, what: &str| {
        in_time(&format!("a key after {what}"), &|| {
            term.send(format!("[{what}]"));
            term.wait_text(&format!("[{what}]"));
        });
        in_time(&format!("status after {what}"), &|| {
            assert!(world.hopty(&["status", "proj"]).status.success())
        });
    };
    std::fs::write(&hangs, "").unwrap();
    typed(&term, "hanging");
    for (event, more) in [
        ("PreCompact", serde_json::json!({"trigger": "manual"})),
        ("SessionStart", serde_json::json!({"source": "compact"})),
        ("Stop", serde_json::json!({})),
    ] {
        // A record of what a compaction shortens is waited for, for as long as a hook may be held.
        let began = Instant::now();
        std::thread::scope(|scope| {
            let called = scope.spawn(|| world.call_hook(event, &payload(more.clone())));
            typed(&term, event);
            called.join().unwrap();
        });
        assert!(began.elapsed() < Duration::from_secs(20), "{event}: {:?}", began.elapsed());
        typed(&term, &format!("the answer to {event}"));
    }
    // Whoever finds no socket asks for one.
    std::fs::remove_file(world.state_dir().join("run/proj.sock")).unwrap();
    kill(host, nix::libc::SIGUSR1);
    in_time("a key without a socket", &|| {
        term.send("[without a socket]");
        term.wait_text("[without a socket]");
    });
    std::fs::remove_file(&hangs).unwrap();
    wait_for("the socket", || world.hopty(&["status", "proj"]).status.success().then_some(()));
    typed(&term, "the end");
    // What waited is done: the copy before the compaction.
    wait_for("the copy", || {
        let raw = std::fs::read_dir(world.project.join(".claude/memory/raw")).ok()?;
        (raw.count() > 0).then_some(())
    });
    world.ask(&["stop", "proj"]);
    term.wait_exit();
    world.assert_nothing_left();
}
