//! Exit codes, signals, and the last bytes.

use std::time::Instant;

use super::{child, client, output, run, support, world};

#[test]
fn codes_and_signals_are_the_program_s_own() {
    let world = world();
    let table = [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -INT $$", 130),
    ];
    for (script, code) in table {
        let mut term = run(&world, script);
        assert_eq!(term.wait_exit(), code, "{script}");
        term.assert_whole();
    }
    world.assert_nothing_left();
}

/// Every signal that ends a program by default, with and without a core dump, and the real-time ones.
#[test]
fn every_signal_is_128_and_its_number() {
    let world = world();
    let spared = [nix::libc::SIGCHLD, nix::libc::SIGCONT, nix::libc::SIGURG, nix::libc::SIGWINCH];
    let stops = [nix::libc::SIGSTOP, nix::libc::SIGTSTP, nix::libc::SIGTTIN, nix::libc::SIGTTOU];
    for signal in (1..=64).filter(|n| !spared.contains(n) && !stops.contains(n)) {
        let mut term = run(&world, "ulimit -c 0; exec sleep 1000");
        let pid = child(&world);
        // Whoever runs these tests may ignore some, and the program does then, too.
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
        let ignored = u64::from_str_radix(ignored, 16).unwrap() & (1 << (signal - 1)) != 0;
        support::kill(pid, if ignored { nix::libc::SIGKILL } else { signal });
        assert_eq!(term.wait_exit(), if ignored { 137 } else { 128 + signal }, "signal {signal}");
    }
    world.assert_nothing_left();
}

#[test]
fn a_child_that_is_killed_from_outside_gives_its_signal() {
    let world = world();
    let mut term = run(&world, "echo pid $$; exec sleep 100");
    let pid = term.wait_number("pid ");
    support::kill(pid, nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 137);
    world.assert_nothing_left();
}

#[test]
fn a_program_that_ends_at_once_is_heard_to_its_last_byte() {
    let world = world();
    for n in 0..10 {
        let mut term =
            world.terminal(&["run", "--", "sh", "-c", &format!("echo first {n}; echo last {n}; exit 3")]);
        assert_eq!(output(&mut term), format!("first {n}\nlast {n}\n"));
        assert_eq!(term.wait_exit(), 3);
    }
    world.assert_nothing_left();
}

#[test]
fn a_megabyte_before_the_exit_arrives_whole_and_in_order() {
    let world = world();
    let mut term = run(&world, "seq 1 180000; exit 9");
    let wanted: String = (1..=180_000).map(|n| format!("{n}\n")).collect();
    assert!(wanted.len() > 1 << 20);
    let got = output(&mut term);
    assert!(got == wanted, "{} of {} bytes", got.len(), wanted.len());
    assert_eq!(term.wait_exit(), 9);
    world.assert_nothing_left();
}

/// As with any program, who does not read delays the end and loses nothing. The bytes are more than a
/// terminal holds (some 12 KiB on Linux), and less than it and the program's own together, so that the
/// program has ended.
#[test]
fn a_reader_that_stalls_gets_the_last_byte_too() {
    let world = world();
    let mut term = run(&world, "printf 'go\n'; read x; seq 1 4200; exit 5");
    term.wait_text("go");
    term.stall(true);
    term.send("\n");
    world.wait_decision("run.ended", 1);
    // The host stays for nobody else as long as this (2 s).
    let longer = std::time::Duration::from_millis(2600);
    assert!(
        !support::wait::ends_within(client(&world), longer),
        "the client leaves before it has seen everything"
    );
    term.stall(false);
    let got = output(&mut term);
    let wanted: String = (1..=4200).map(|n| format!("{n}\n")).collect();
    assert!(got.ends_with(&wanted), "{} of {} bytes", got.len(), wanted.len());
    assert_eq!(term.wait_exit(), 5);
    world.assert_nothing_left();
}

#[test]
fn whoever_keeps_the_terminal_open_does_not_delay_the_exit() {
    let world = world();
    for (script, left) in
        [("trap '' HUP; sleep 60 & echo up; exit 4", "sleep"), ("echo up; trap '' HUP; yes & exit 4", "yes")]
    {
        let begun = Instant::now();
        let mut term = run(&world, script);
        assert_eq!(term.wait_exit(), 4);
        assert!(begun.elapsed().as_millis() < 2500, "{script}: {:?}", begun.elapsed());
        for (pid, line) in world.processes() {
            if line.starts_with(left) {
                support::kill(pid, nix::libc::SIGKILL);
            }
        }
        world.assert_nothing_left();
    }
}

#[test]
fn exec_errors_say_what_is_wrong() {
    let world = world();
    let dir = world.project.join("directory");
    std::fs::create_dir(&dir).unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let path = world.project.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cases = [
        ("/no/such/program".to_owned(), 127, "no such program"),
        ("no-such-program-anywhere".to_owned(), 127, "no such program"),
        ("--nam".to_owned(), 127, "no such program"),
        (file("bad", "#!/no/such/interpreter\n", 0o755), 126, "/no/such/interpreter"),
        (file("plain", "text\n", 0o644), 126, "permission denied"),
        (dir.to_str().unwrap().to_owned(), 126, "permission denied"),
    ];
    for (program, code, words) in cases {
        let mut term = world.terminal(&["run", "--", &program]);
        let text = output(&mut term);
        assert_eq!(term.wait_exit(), code, "{text}");
        assert!(
            text.starts_with("hopty: ") && text.contains(words) && text.contains("\nhint: "),
            "{program}: {text}"
        );
        term.assert_whole();
    }
    let gone = world.project.join("gone");
    std::fs::create_dir(&gone).unwrap();
    let inside = format!(
        "cd '{}' && rmdir ../gone && exec '{}' run -- true",
        gone.display(),
        support::claude::hopty().display()
    );
    let mut term = super::bare(&world, &inside);
    let text = output(&mut term);
    assert_eq!((text.as_str(), term.wait_exit()), ("", 0), "a directory that was deleted stops no program");
    world.assert_nothing_left();
}

/// A file that another user may not execute; root may execute anything, so the case runs as nobody.
#[test]
fn a_program_without_permission_is_126() {
    let world = world();
    let Some(hopty) = support::nobody::give(&world) else { return };
    let path = world.project.join("secret");
    std::fs::write(&path, "#!/bin/sh\n").unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut term = support::nobody::terminal(&world, &hopty, &["run", "--", path.to_str().unwrap()]);
    let text = output(&mut term);
    assert_eq!(term.wait_exit(), 126, "{text}");
    assert!(text.contains("permission denied"), "{text}");
    world.assert_nothing_left();
}

/// What a program leaves running on purpose runs on, as without hopty.
#[test]
fn a_daemon_outlives_the_program() {
    let world = world();
    let mut term =
        run(&world, "(setsid sleep 1234 </dev/null >/dev/null 2>&1 &) ; sleep 0; echo u$((1))p; exit 3");
    let text = output(&mut term);
    assert_eq!((text.as_str(), term.wait_exit()), ("u1p\n", 3));
    let left = support::wait_for("the host's end", || Some(world.processes()).filter(|left| left.len() < 2));
    assert_eq!(left.len(), 1, "it is gone");
    assert!(left[0].1.starts_with("sleep 1234"), "{left:?}");
    support::kill(left[0].0, nix::libc::SIGKILL);
    world.assert_nothing_left();
}

/// What stays in the terminal hears that it is closed; who ignores that runs on.
#[test]
fn what_stays_in_the_terminal_is_hung_up() {
    let world = world();
    let mut term = run(
        &world,
        "sleep 1234 & (trap '' HUP; : >up; exec sleep 4321) & until [ -e up ]; do sleep 0.01; done; exit 3",
    );
    assert_eq!(term.wait_exit(), 3);
    let left = support::wait_for("the end of one", || Some(world.processes()).filter(|left| left.len() == 1));
    assert!(left[0].1.starts_with("sleep 4321"), "{left:?}");
    support::kill(left[0].0, nix::libc::SIGKILL);
    world.assert_nothing_left();
}

/// The last words of the program itself come before those of whoever keeps its terminal and goes on writing.
#[test]
fn the_last_byte_is_seen_although_somebody_goes_on_writing() {
    let world = world();
    let script = "trap '' HUP; (while :; do echo noise; done) & seq 1 50000; echo la$((1))st; exit 6";
    let mut term = run(&world, script);
    assert_eq!(term.wait_exit(), 6);
    term.drained();
    let text = String::from_utf8_lossy(&term.bytes()).into_owned();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let wanted: String = (1..=50_000).map(|n| n.to_string()).chain(["1".to_owned()]).collect();
    assert!(digits == wanted, "{} of {} digits", digits.len(), wanted.len());
    for (pid, _) in world.processes() {
        support::kill(pid, nix::libc::SIGKILL);
    }
    world.assert_nothing_left();
}

#[test]
fn a_program_that_ends_with_input_queued_for_it_ends_at_once() {
    for way in ["fd", "relay"] {
        let world = world();
        nix::unistd::mkfifo(&world.project.join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let script = "stty raw -echo; echo u$((1))p; read x <go; exit 7";
        let mut term =
            if way == "fd" { run(&world, script) } else { super::relay::through_dev_tty(&world, script) };
        term.wait_text("u1p");
        assert!(term.fill(8 << 20) < 8 << 20, "the keyboard waits");
        std::fs::write(world.project.join("go"), "\n").unwrap();
        assert_eq!(term.wait_exit(), 7, "{way}");
        term.assert_whole();
        world.assert_nothing_left();
    }
}
