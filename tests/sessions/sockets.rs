//! Where the socket lies, what happens when it is not there, not safe, or when nobody answers.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::support::nobody;
use super::support::text;
use super::{assert_fails, end_all, list, support, world};

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn everything_is_private() {
    let world = world();
    world.run_detached("one", &["sleep", "100"]);
    let state = world.state_dir();
    for (path, wanted) in
        [("", 0o700), ("run", 0o700), ("sessions", 0o700), ("sessions/one", 0o700), ("run/one.sock", 0o600)]
    {
        assert_eq!(mode(&state.join(path)), wanted, "{path}");
    }
    for file in std::fs::read_dir(state.join("sessions/one")).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
    }
    end_all(&world);
}

#[test]
fn three_hosts_without_their_directory_are_listed_and_attached_to_again() {
    let world = world();
    let names = ["one", "two", "three"];
    for name in names {
        world.run_detached(name, &["sh", "-c", &format!("echo this is {name}; exec cat")]);
    }
    std::fs::remove_dir_all(world.state_dir().join("run")).unwrap();
    let begun = Instant::now();
    for name in names {
        let mut term = world.terminal(&["attach", name]);
        term.wait_text(&format!("this is {name}"));
        term.send("\x1cd");
        assert_eq!(term.wait_exit(), 0);
    }
    assert_eq!(list(&world).len(), 3);
    assert!(begun.elapsed() < Duration::from_secs(10));
    end_all(&world);
}

#[test]
fn a_socket_that_vanished_is_bound_again() {
    let world = world();
    world.run_detached("one", &["sleep", "100"]);
    let run = world.state_dir().join("run");
    for n in 0..3 {
        if n == 1 {
            std::fs::remove_dir_all(&run).unwrap();
        } else {
            std::fs::remove_file(run.join("one.sock")).unwrap();
        }
        let begun = Instant::now();
        let session = list(&world).remove(0);
        assert_eq!((&session["name"], &session["state"]), (&"one".into(), &"unknown".into()));
        assert!(begun.elapsed() < Duration::from_secs(3));
        assert_eq!(mode(&run.join("one.sock")), 0o600);
    }
    // Also by itself, where nobody asks.
    std::fs::remove_file(run.join("one.sock")).unwrap();
    support::wait_for("the socket", || run.join("one.sock").exists().then_some(()));
    end_all(&world);
}

#[test]
fn a_stale_socket_is_replaced() {
    let world = world();
    let run = world.state_dir().join("run");
    std::fs::create_dir_all(&run).unwrap();
    std::fs::set_permissions(world.state_dir(), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o700)).unwrap();
    drop(UnixListener::bind(run.join("one.sock")).unwrap());
    world.run_detached("one", &["sleep", "100"]);
    assert_eq!(list(&world).len(), 1);
    end_all(&world);
}

/// Eight starts at once on what a dead host left: one has the name, the others are told so, and nobody takes
/// the winner's socket away.
#[test]
fn one_of_many_replaces_a_stale_socket() {
    let world = world();
    for round in 0..4 {
        world.run_detached("one", &["sleep", "100"]);
        let host = i32::try_from(list(&world)[0]["host_pid"].as_i64().unwrap()).unwrap();
        support::kill(host, nix::libc::SIGKILL);
        support::wait_for("the host to be gone", || (!support::is_host(host)).then_some(()));
        assert!(world.state_dir().join("run/one.sock").exists(), "round {round}: it could not clean up");
        let codes: Vec<_> = std::thread::scope(|scope| {
            let start = || {
                world.hopty(&[
                    "run", "--name", "one", "--detached", "--", "sh", "-c", "echo up; exec sleep 100",
                ])
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = codes.iter().partition(|output| output.status.success());
        assert_eq!((won.len(), lost.len()), (1, 7), "round {round}: {codes:?}");
        assert!(lost.iter().all(|output| text(&output.stderr).contains("hint:")), "round {round}: {codes:?}");
        assert_eq!(list(&world).len(), 1, "round {round}");
        let mut term = world.terminal(&["attach", "one"]);
        term.wait_text("up");
        term.send("\x1cd");
        assert_eq!(term.wait_exit(), 0, "round {round}");
        end_all(&world);
    }
}

/// What stands in a socket's place and is none: refused with what to do, and left as it is.
#[test]
fn what_is_no_socket_of_this_user_is_refused() {
    let world = world();
    world.run_detached("first", &["sleep", "100"]);
    let path = world.state_dir().join("run/one.sock");
    let elsewhere = world.home.join("elsewhere");
    let _listener = UnixListener::bind(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    for args in [
        &["attach", "one"][..],
        &["status", "one"],
        &["run", "--name", "one", "--detached", "--", "sleep", "100"],
    ] {
        let output = world.hopty(args);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains("hint:"), "{args:?}: {said}");
        assert!(std::fs::symlink_metadata(&path).unwrap().is_symlink(), "{args:?}");
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "a file of somebody's").unwrap();
    for args in [&["attach", "one"][..], &["run", "--name", "one", "--detached", "--", "sleep", "100"]] {
        let output = world.hopty(args);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains("hint:"), "{args:?}: {said}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file of somebody's", "{args:?}");
    }
    std::fs::remove_file(&path).unwrap();
    end_all(&world);
}

#[test]
fn unsafe_directories_are_refused_with_the_fix() {
    let world = world();
    world.run_detached("one", &["true"]);
    support::wait_for("the end", || list(&world).is_empty().then_some(()));
    let run = world.state_dir().join("run");
    for bad in [0o777, 0o750, 0o701] {
        std::fs::set_permissions(&run, std::fs::Permissions::from_mode(bad)).unwrap();
        let output = world.hopty(&["run", "--detached", "--", "sleep", "100"]);
        assert_fails(&output, 125, &run.display().to_string());
        assert!(
            text(&output.stderr).contains(&format!("chmod 700 {}", run.display())),
            "{}",
            text(&output.stderr)
        );
        assert_eq!(mode(&run), bad, "refused, not repaired");
    }
    std::fs::remove_dir(&run).unwrap();
    std::os::unix::fs::symlink(&world.home, &run).unwrap();
    assert_fails(&world.hopty(&["run", "--detached", "--", "sleep", "100"]), 125, "not a real directory");
    std::fs::remove_file(&run).unwrap();
    std::fs::write(&run, "").unwrap();
    assert_fails(&world.hopty(&["run", "--detached", "--", "sleep", "100"]), 125, "not a real directory");
    std::fs::remove_file(&run).unwrap();
    if nobody::give(&world).is_some() {
        // The state directory is now somebody else's, and this user may write there all the same.
        assert_fails(
            &world.hopty(&["run", "--detached", "--", "sleep", "100"]),
            125,
            "belongs to another user",
        );
    }
    world.assert_nothing_left();
}

#[test]
fn a_long_state_path_works() {
    let mut world = world();
    let state = world.home.join("x".repeat(90)).join("y".repeat(60));
    world.set("XDG_STATE_HOME", state.to_str().unwrap());
    world.run_detached("one", &["sh", "-c", "sleep 100"]);
    assert!(state.join("hopty/run/one.sock").as_os_str().len() > 150);
    assert_eq!(list(&world).len(), 1);
    let mut term = world.terminal(&[
        "run",
        "--",
        "sh",
        "-c",
        &format!("'{}' status one; exit 3", support::claude::hopty().display()),
    ]);
    assert_eq!(term.wait_exit(), 3);
    term.wait_text("one  running");
    world.ask(&["stop", "one"]);
    assert_eq!(std::fs::read_dir(state.join("hopty/run")).unwrap().count(), 0);
    world.assert_nothing_left();
}

#[test]
fn a_program_that_cannot_be_started_leaves_no_socket() {
    let world = world();
    let script = world.project.join("script");
    std::fs::write(&script, "#!/missing\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o700)).unwrap();
    for (name, program, code) in [("one", "/missing", 127), ("two", script.to_str().unwrap(), 126)] {
        for detached in [&["--detached"][..], &[]] {
            let args = [&["run", "--name", name][..], detached, &["--", program]].concat();
            let mut term = world.terminal(&args);
            assert_eq!(term.wait_exit(), code, "{args:?}: {}", term.lines().join("\n"));
            let left: Vec<_> =
                std::fs::read_dir(world.state_dir().join("run")).into_iter().flatten().flatten().collect();
            assert!(left.is_empty(), "{args:?}: {left:?}");
        }
    }
    world.assert_nothing_left();
}

#[test]
fn a_host_that_does_not_answer_is_unresponsive_within_a_second() {
    let world = world();
    world.run_detached("one", &["sleep", "100"]);
    world.run_detached("two", &["sleep", "100"]);
    let host = i32::try_from(list(&world)[0]["host_pid"].as_i64().unwrap()).unwrap();
    support::kill(host, nix::libc::SIGSTOP);
    for args in [&["ls", "--json"][..], &["status", "one", "--json"]] {
        let begun = Instant::now();
        let value: Value = serde_json::from_str(&world.ask(args)).unwrap();
        assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
        let one = value.get(0).unwrap_or(&value);
        assert_eq!(
            (&one["name"], &one["state"], &one["exit"]),
            (&"one".into(), &"unresponsive".into(), &Value::Null)
        );
        if let Some(two) = value.get(1) {
            assert_eq!(two["state"], "unknown", "the others answer");
        }
    }
    let stopped = format!("one: its host, process {host}, is stopped");
    assert_fails(&world.hopty(&["screen", "one"]), 125, &stopped);
    for condition in ["exit", "text=x"] {
        let begun = Instant::now();
        assert_fails(&world.hopty(&["wait", "one", condition, "--timeout", "1s"]), 125, &stopped);
        assert!(begun.elapsed() < Duration::from_millis(1900), "{condition}: {:?}", begun.elapsed());
    }
    let why = format!("Its host, process {host}, is stopped: `kill -CONT {host}` continues it.");
    assert!(world.ask(&["why", "one"]).split_whitespace().eq(why.split_whitespace()));
    let status: Value = serde_json::from_str(&world.ask(&["status", "one", "--json"])).unwrap();
    assert_eq!((&status["why"], &status["state_since"]), (&why.into(), &Value::Null));
    let shown = world.ask(&["status", "one"]);
    assert!(shown.lines().any(|line| line.trim_end().ends_with("  unresponsive")), "no time: {shown}");
    world.ask(&["stop", "one", "--kill"]);
    end_all(&world);
}
