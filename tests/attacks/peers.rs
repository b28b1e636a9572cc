//! Programs below Claude that talk to a host: their own, or that of another session.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use nix::libc;
use serde_json::Value;

use super::support::claude::hopty;
use super::support::program_files;
use super::support::wait::ends_within;
use super::support::wire::{HELLO, Wire};
use super::support::world::World;
use super::support::{self, nobody, text, wait_for};

fn end_all(world: &World) {
    let list: Vec<Value> = serde_json::from_str(&world.ask(&["ls", "--json"])).unwrap();
    for session in list {
        world.hopty(&["stop", session["name"].as_str().unwrap(), "--kill"]);
    }
    world.assert_nothing_left();
}

/// This test binary as a program for a session: it runs [`attacker`] with these words.
fn attack(words: &str) -> Vec<String> {
    let this = std::env::current_exe().unwrap().display().to_string();
    vec![
        "env".to_owned(),
        format!("HOPTY_TEST_ATTACK={words}"),
        this,
        "--exact".to_owned(),
        "peers::attacker".to_owned(),
    ]
}

/// No test by itself: what [`attack`] runs inside a session.
#[test]
fn attacker() {
    let Ok(words) = std::env::var("HOPTY_TEST_ATTACK") else { return };
    let words: Vec<&str> = words.split(' ').collect();
    match words.as_slice() {
        ["crowd", way, socket, ready] => crowd(way, Path::new(socket), Path::new(ready)),
        ["idle", socket, out] => idle(Path::new(socket), Path::new(out)),
        ["call", socket, go, out] => call(Path::new(socket), Path::new(go), Path::new(out)),
        ["leave", socket, ready, go] => leave(Path::new(socket), Path::new(ready), Path::new(go)),
        ["take", host, out] => take(host.parse().unwrap(), Path::new(out)),
        _ => panic!("{words:?}"),
    }
}

/// Opens as many connections as it can and keeps them, in one of several ways.
fn crowd(way: &str, socket: &Path, ready: &Path) {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    let mut open: Vec<UnixStream> = Vec::new();
    let mut round = 0u64;
    loop {
        while open.len() < 64 {
            let Ok(mut stream) = UnixStream::connect(socket) else { break };
            stream.set_nonblocking(true).unwrap();
            let _ = match way {
                "silent" => Ok(()),
                "waits" => stream.write_all(
                    format!("{HELLO}{{\"id\":1,\"do\":\"wait\",\"for\":\"exit\",\"timeout_ms\":3600000}}\n")
                        .as_bytes(),
                ),
                "hooks" => stream.write_all(
                    format!("{HELLO}{{\"id\":1,\"do\":\"hook\",\"event\":\"Stop\",\"payload\":{{}}}}\n")
                        .as_bytes(),
                ),
                "unread" => {
                    let _ = stream.write_all(
                        format!("{HELLO}{}", "{\"id\":1,\"do\":\"status\"}\n".repeat(2000)).as_bytes(),
                    );
                    Ok(())
                }
                _ => stream.write_all(HELLO.as_bytes()),
            };
            open.push(stream);
        }
        round += 1;
        if round == 2 {
            std::fs::write(ready, "").unwrap();
        }
        match way {
            // A byte of a line that never ends, now and then.
            "drips" => open.iter_mut().for_each(|stream| drop(stream.write(b" "))),
            // New ones without end.
            "storm" => open.clear(),
            _ => {}
        }
        // One that the host has closed makes room for a new one.
        open.retain(|stream| {
            !hopty::sys::poll::wait_for(stream, hopty::sys::poll::Interest::Gone, 0).unwrap_or(true)
        });
        // The next round when the host has closed one, or after a while.
        if let Some(stream) = open.first().filter(|_| way != "storm") {
            let _ = hopty::sys::poll::wait_for(stream, hopty::sys::poll::Interest::Gone, 50);
        }
    }
}

/// Lives until it is killed: the peer of a connection must not be gone before its host has looked.
fn stay() -> ! {
    loop {
        nix::unistd::pause();
    }
}

/// Has two connections, of which one asks for nothing and one waits for an answer, and says which was over
/// first.
fn idle(socket: &Path, out: &Path) {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::unix::net::UnixStream;
    let (mut idle, mut waits) = (UnixStream::connect(socket).unwrap(), UnixStream::connect(socket).unwrap());
    idle.write_all(HELLO.as_bytes()).unwrap();
    waits
        .write_all(
            format!("{HELLO}{{\"id\":1,\"do\":\"wait\",\"for\":\"exit\",\"timeout_ms\":14000}}\n").as_bytes(),
        )
        .unwrap();
    let mut lines = BufReader::new(waits.try_clone().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    idle.read_to_string(&mut String::new()).unwrap();
    let first = !hopty::sys::poll::wait_for(&waits, hopty::sys::poll::Interest::Read, 0).unwrap();
    let mut answer = String::new();
    lines.read_line(&mut answer).unwrap();
    let order = if first { "closed before the answer" } else { "closed after the answer" };
    let part = out.with_extension("part");
    std::fs::write(&part, format!("{order}\n{}\n", answer.split(",\"session\"").next().unwrap())).unwrap();
    std::fs::rename(part, out).unwrap();
    stay();
}

/// Calls ten hooks at once as soon as it is told to, and says how each was answered.
fn call(socket: &Path, go: &Path, out: &Path) {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;
    wait_for("the word to go", || go.exists().then_some(()));
    let calls: Vec<UnixStream> = (0..10)
        .map(|_| {
            let mut stream = UnixStream::connect(socket).unwrap();
            let call = "{\"id\":1,\"do\":\"hook\",\"event\":\"Notification\",\"payload\":{}}";
            let _ = stream.write_all(format!("{HELLO}{call}\n").as_bytes());
            stream
        })
        .collect();
    let answer = |stream: UnixStream| {
        let answer = BufReader::new(stream).lines().nth(1).transpose().ok().flatten().unwrap_or_default();
        if answer.contains("\"ok\"") { "answered\n".to_owned() } else { format!("{answer}\n") }
    };
    let part = out.with_extension("part");
    std::fs::write(&part, calls.into_iter().map(answer).collect::<String>()).unwrap();
    std::fs::rename(part, out).unwrap();
    stay();
}

/// Connects by a child that ends at once, and asks for the session's end as soon as it is told to.
fn leave(socket: &Path, ready: &Path, go: &Path) {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket as new_socket};
    use std::os::fd::AsRawFd;
    let fd = new_socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None).unwrap();
    let address = UnixAddr::new(socket).unwrap();
    // SAFETY: the child makes two system calls and is gone.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let done = connect(fd.as_raw_fd(), &address);
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    let mut status = 0;
    // SAFETY: waitpid writes one int.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    std::fs::write(ready, format!("{child}\n")).unwrap();
    wait_for("the word to go", || go.exists().then_some(()));
    let mut stream = std::os::unix::net::UnixStream::from(fd);
    use std::io::{Read, Write};
    let _ = stream.write_all(format!("{HELLO}{{\"id\":1,\"do\":\"stop\",\"kill\":true}}\n").as_bytes());
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    std::fs::write(ready.with_extension("said"), said).unwrap();
    stay();
}

/// Tries to take every descriptor of a process, and to look into it.
fn take(host: i32, out: &Path) {
    use std::fmt::Write;
    let mut said = String::new();
    // SAFETY: system calls with numbers; nothing is done with what they give.
    unsafe {
        let pidfd = libc::syscall(libc::SYS_pidfd_open, host, 0);
        assert!(pidfd >= 0);
        let got: Vec<i64> =
            (0..200).filter(|fd| libc::syscall(libc::SYS_pidfd_getfd, pidfd, *fd, 0) >= 0).collect();
        writeln!(said, "descriptors {got:?}").unwrap();
        let attached = libc::ptrace(libc::PTRACE_SEIZE, host, 0, 0);
        writeln!(said, "traced {}", attached == 0).unwrap();
    }
    for file in ["fd", "environ", "mem", "maps"] {
        let path = format!("/proc/{host}/{file}");
        let read =
            if file == "fd" { std::fs::read_dir(path).is_ok() } else { std::fs::File::open(path).is_ok() };
        writeln!(said, "{file} {read}").unwrap();
    }
    std::fs::write(out, said).unwrap();
}

/// Every verb that a person needs, while a program inside the session does its worst.
#[test]
fn a_crowd_from_inside_locks_nobody_out() {
    for way in ["silent", "idle", "drips", "unread", "waits", "hooks", "storm"] {
        let world = World::plain();
        let ready = world.project.join("ready");
        let socket = world.state_dir().join("run/one.sock");
        let words = attack(&format!("crowd {way} {} {}", socket.display(), ready.display()));
        // Three of them, beside a program that a person talks to.
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let script = format!("for n in 1 2 3; do {} >/dev/null 2>&1 & done; exec cat", quoted.join(" "));
        world.run_detached("one", &["sh", "-c", &script]);
        wait_for("the crowd", || ready.exists().then_some(()));
        for n in 0..3 {
            for args in [
                &["status", "one", "--json"][..],
                &["screen", "one"],
                &["send", "one", "typed\r"],
                &["context", "one"],
            ] {
                let output = world.hopty(args);
                let said = text(&output.stderr);
                // There is no context in a session without Claude.
                assert!(
                    output.status.success() || args[0] == "context" && !said.contains("connections"),
                    "{way} {n} {args:?}: {said}"
                );
            }
        }
        wait_for(&format!("{way}: the host itself to answer"), || {
            let status: Value = serde_json::from_str(&world.ask(&["status", "one", "--json"])).unwrap();
            (status["state"] == "unknown").then_some(())
        });
        let mut term = world.terminal(&["attach", "one"]);
        term.wait_text("typed");
        term.send("by hand\r");
        term.wait_text("by hand");
        let detached = world.hopty(&["detach", "one"]);
        assert!(detached.status.success(), "{way}: {}", text(&detached.stderr));
        assert_eq!(term.wait_exit(), 0, "{way}");
        let stopped = world.hopty(&["stop", "one", "--kill"]);
        assert!(stopped.status.success(), "{way}: {}", text(&stopped.stderr));
    }
}

/// Another session's Claude may look, and cannot keep this one's own hooks or its person out by looking.
#[test]
fn a_crowd_from_another_session_takes_no_room_from_hooks() {
    for way in ["waits", "silent", "hooks"] {
        let mut world = World::plain();
        let ready = world.project.join("ready");
        let go = world.project.join("go");
        let said = world.project.join("said");
        let socket = world.state_dir().join("run/b.sock");
        let calls = attack(&format!("call {} {} {}", socket.display(), go.display(), said.display()));
        world.run_detached("b", &calls.iter().map(String::as_str).collect::<Vec<_>>());
        let words = attack(&format!("crowd {way} {} {}", socket.display(), ready.display()));
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        claude_is(
            &mut world,
            &format!("for n in 1 2 3; do {} >/dev/null 2>&1 & done; exec sleep 1000", quoted.join(" ")),
        );
        world.ask(&["run", "--name", "a", "--detached", "--", "claude"]);
        wait_for("the crowd", || ready.exists().then_some(()));
        std::fs::write(&go, "").unwrap();
        let answers = wait_for("the hooks", || std::fs::read_to_string(&said).ok());
        assert_eq!(answers, "answered\n".repeat(10), "{way}");
        let status: Value = serde_json::from_str(&world.ask(&["status", "b", "--json"])).unwrap();
        assert_eq!(status["state"], "unknown", "{way}");
        end_all(&world);
    }
}

/// Who is refused because there is no room reads why.
#[test]
fn who_finds_no_room_is_told_so() {
    let world = World::plain();
    world.run_detached("one", &["cat"]);
    let held: Vec<Wire> = (0..32).map(|_| Wire::greet(&world, "one")).collect();
    for args in [
        &["send", "one", "x"][..],
        &["stop", "one"],
        &["detach", "one"],
        &["restart", "one"],
        &["screen", "one"],
    ] {
        let output = world.hopty(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(
            said.contains("32 connections are already open") && said.contains("hint:"),
            "{args:?}: {said}"
        );
    }
    let mut term = world.terminal(&["attach", "one"]);
    assert_eq!(term.wait_exit(), 1);
    term.wait_text("32 connections are already open");
    term.assert_whole();
    drop(held);
    wait_for("room", || world.hopty(&["stop", "one", "--kill"]).status.success().then_some(()));
    world.assert_nothing_left();
}

/// A connection from inside that asks for nothing is closed after a while; one that waits for an answer is
/// not.
#[test]
fn an_idle_connection_from_inside_is_closed() {
    let world = World::plain();
    let out = world.project.join("out");
    let words =
        attack(&format!("idle {} {}", world.state_dir().join("run/one.sock").display(), out.display()));
    world.run_detached("one", &words.iter().map(String::as_str).collect::<Vec<_>>());
    let said = wait_for("both ends", || std::fs::read_to_string(&out).ok());
    assert_eq!(said, "closed before the answer\n{\"id\":1,\"ok\":{\"met\":false\n");
    end_all(&world);
}

/// How a process may hang on a Claude: a child of it, one whose parent is gone, one that left the terminal's
/// session, one that did both, and one in a session of hopty that it starts for that.
const WAYS: [(&str, &str); 6] = [
    ("child", "exec sh '{}'"),
    ("grandchild", "sh '{}'; exit $?"),
    ("orphan", "(LEFT=1 sh '{}' & ) ; sleep 1000"),
    ("own session", "setsid -w sh '{}'; exit $?"),
    ("daemon", "(LEFT=1 setsid sh '{}' & ) ; sleep 1000"),
    ("a session of its own", "'{hopty}' run --name helper --detached -- sh '{}'; sleep 1000"),
];

/// Verbs and what they give to the Claude of another session.
const VERBS: [(&str, i32, i32); 17] = [
    // As it is, and where that session is allowed by name.
    ("send b text", 4, 0),
    ("send b --keys enter", 4, 0),
    ("send b text --submit", 4, 1),
    ("detach b", 4, 1),
    ("restart b", 4, 0),
    ("restart b --now", 4, 0),
    ("restart b --no-handoff --now", 4, 0),
    ("handoff snooze b", 4, 4),
    ("wait b text=.*", 0, 0),
    ("wait b exit --timeout 1ms", 1, 1),
    ("log b", 0, 0),
    ("status b --json", 0, 0),
    ("screen b", 0, 0),
    ("why b", 0, 0),
    ("events b", 0, 0),
    ("stop b", 4, 0),
    ("stop b --kill", 4, 1),
];

/// Makes a script this world's Claude.
fn claude_is(world: &mut World, script: &str) {
    let (outer, inner) = (world.root.path().join("claude.sh"), world.root.path().join("script.sh"));
    std::fs::write(&inner, script).unwrap();
    program_files::write(&outer, &format!("#!/bin/sh\nexec sh '{}'\n", inner.display()));
    world.set("HOPTY_PROGRAM_CLAUDE", outer.to_str().unwrap());
}

/// A Claude, which is a script here, in session `name`, and what it makes of every verb against session `b`.
fn verbs_from_claude(world: &mut World, name: &str, shell: &str) -> (Vec<i32>, String) {
    let (codes, said) = (world.project.join("codes"), world.project.join("said"));
    let inner = world.project.join("inner.sh");
    let mut script = String::new();
    for (verb, ..) in VERBS {
        script.push_str(&format!(
            "'{}' {verb} >>'{}' 2>&1 </dev/null; echo $? >>'{}'\n",
            hopty().display(),
            said.display(),
            codes.display()
        ));
    }
    // In a terminal of its own, and as if it did not know where it runs: the host sees it all the same.
    script.push_str(&format!(
        "script -qec \"env -u HOPTY_SESSION '{}' attach b\" /dev/null >>'{}' 2>&1 </dev/null; echo $? \
         >>'{}'; [ $LEFT ] || exec sleep 1000\n",
        hopty().display(),
        said.display(),
        codes.display()
    ));
    std::fs::write(&inner, script).unwrap();
    let shell = shell.replace("{hopty}", hopty().to_str().unwrap()).replace("{}", inner.to_str().unwrap());
    claude_is(world, &shell);
    world.ask(&["run", "--name", name, "--detached", "--", "claude"]);
    let all = wait_for(&format!("the verbs of {name}"), || {
        std::fs::read_to_string(&codes).ok().filter(|codes| codes.lines().count() == VERBS.len() + 1)
    });
    (all.lines().map(|code| code.parse().unwrap()).collect(), std::fs::read_to_string(&said).unwrap())
}

#[test]
fn claude_in_one_session_only_looks_at_another() {
    for (way, shell) in WAYS {
        let mut world = World::plain();
        world.run_detached("b", &["sh", "-c", "echo be$((1))gun; exec cat"]);
        world.ask(&["wait", "b", "text=be1gun", "--timeout", "20s"]);
        let (codes, said) = verbs_from_claude(&mut world, "a", shell);
        let wanted: Vec<i32> = VERBS.iter().map(|(_, code, _)| *code).chain([4]).collect();
        assert_eq!(codes, wanted, "from {way}: {said}");
        assert_eq!(said.matches("the Claude of session a may not").count(), 12, "from {way}: {said}");
        assert!(said.contains("`control.allow_from` in your configuration"), "{said}");
        let status: Value = serde_json::from_str(&world.ask(&["status", "b", "--json"])).unwrap();
        assert_eq!((&status["state"], &status["run"]), (&"unknown".into(), &1.into()), "from {way}");
        assert!(!world.ask(&["screen", "b"]).contains("text"), "from {way}");
        end_all(&world);
    }
}

#[test]
fn a_session_that_the_person_allows_by_name_may_steer() {
    for (allowed, name, may) in
        [("\"a\"", "a", true), ("\"lead-*\"", "lead-one", true), ("\"b\", \"aa\"", "a", false)]
    {
        let mut world = World::plain();
        let dir = world.home.join(".config/hopty");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.toml"), format!("[control]\nallow_from = [{allowed}]\n")).unwrap();
        world.run_detached("b", &["sh", "-c", "trap 'exit 0' TERM HUP; while :; do read x; done"]);
        let (codes, said) = verbs_from_claude(&mut world, name, WAYS[1].1);
        let wanted: Vec<i32> = VERBS.iter().map(|(_, no, yes)| if may { *yes } else { *no }).collect();
        assert_eq!(codes[..wanted.len()], wanted, "{allowed}: {said}");
        end_all(&world);
    }
}

/// A project lets nobody in, and neither does who asks.
#[test]
fn only_the_person_s_own_configuration_allows() {
    let mut world = World::plain();
    std::fs::write(world.project.join(".hopty.toml"), "[control]\nallow_from = [\"*\"]\n").unwrap();
    let started = world.hopty(&["run", "--name", "b", "--detached", "--", "cat"]);
    assert!(text(&started.stderr).contains("may not set control.allow_from"), "{}", text(&started.stderr));
    assert!(started.status.success());
    world.set("HOPTY_CONTROL_ALLOW_FROM", "*");
    let (codes, said) = verbs_from_claude(&mut world, "a", WAYS[1].1);
    assert_eq!(codes[0], 4, "{said}");
    end_all(&world);
}

/// Who allows "boss" allows no other Claude that starts something of that name.
#[test]
fn a_name_that_another_claude_gives_itself_does_not_count() {
    let mut world = World::plain();
    let dir = world.home.join(".config/hopty");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("config.toml"), "[control]\nallow_from = [\"boss\"]\n").unwrap();
    world.run_detached("b", &["cat"]);
    let shell = "case $HOPTY_SESSION in evil) '{hopty}' run --name boss --detached -- claude; sleep 1000;; \
                 *) sh '{}';; esac";
    let (codes, said) = verbs_from_claude(&mut world, "evil", shell);
    assert_eq!((codes[0], codes[15]), (4, 4), "{said}");
    end_all(&world);
}

/// What Claude starts as a session of its own is its to steer; a session of a plain program is a person's
/// terminal.
#[test]
fn claude_steers_what_it_started_and_a_person_steers_from_a_shell_in_a_session() {
    let mut world = World::plain();
    let out = world.project.join("out");
    let script = format!(
        "'{0}' run --name mine --detached -- cat\n'{0}' send mine x; echo $? >>'{1}'\n'{0}' stop mine \
         --kill; echo $? >>'{1}'\nexec sleep 1000\n",
        hopty().display(),
        out.display()
    );
    claude_is(&mut world, &script);
    world.ask(&["run", "--name", "a", "--detached", "--", "claude"]);
    let codes = wait_for("both codes", || {
        std::fs::read_to_string(&out).ok().filter(|codes| codes.lines().count() == 2)
    });
    assert_eq!(codes, "0\n0\n");
    world.run_detached("b", &["cat"]);
    let term = world.terminal(&["run", "--name", "shell", "--", "env", "PS1=ready", "sh"]);
    term.wait_text("ready");
    term.send(format!("'{}' send b x; echo code-$?\r", hopty().display()));
    term.wait_text("code-0");
    end_all(&world);
}

/// What leaves the tree altogether keeps Claude's marks in its environment.
#[test]
fn a_process_that_claude_s_tools_started_elsewhere_is_known_by_its_environment() {
    let mut world = World::plain();
    world.run_detached("b", &["cat"]);
    world.run_detached("a", &["cat"]);
    let socket = world.state_dir().join("run/a.sock");
    for (name, value) in
        [("CLAUDECODE", "1"), ("HOPTY_SESSION", "a"), ("HOPTY_SOCKET", socket.to_str().unwrap())]
    {
        world.set(name, value);
    }
    let refused = |output: Output, words: &str| {
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert!(text(&output.stderr).contains(words), "{output:?}");
    };
    refused(world.hopty(&["send", "b", "x"]), "the Claude of session a may not type into it");
    refused(world.hopty(&["stop", "a"]), "a command inside the session may not stop it");
    world.env.retain(|(name, _)| name != "CLAUDECODE");
    assert!(world.hopty(&["send", "b", "x"]).status.success(), "a person's shell has no such mark");
    end_all(&world);
}

/// A process from inside connects and is gone; its number is a person's by the time it is asked who that was.
#[test]
fn a_number_that_was_used_again_is_nobody_s_pass() {
    const LAST: &str = "/proc/sys/kernel/ns_last_pid";
    // Anybody may open the file where it says so; who may write into it is decided at the write.
    let number = std::fs::read_to_string(LAST).unwrap_or_default();
    if std::fs::write(LAST, number.trim()).is_err() {
        return support::skip("numbers of processes cannot be chosen here (root only)");
    }
    // Without it the host looks a moment later, and a host that was stopped meanwhile looks too late
    // (docs/SECURITY.md).
    let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let holds = hopty::ipc::stream::FrameStream::new(one).unwrap().peer_process().unwrap().is_some();
    if !holds {
        support::skip(
            "a host that is stopped while a number is used again: this kernel has no SO_PEERPIDFD (Linux \
             6.5)",
        );
    }
    for stopped in [false, true] {
        if stopped && !holds {
            continue;
        }
        let world = World::plain();
        let (ready, go) = (world.project.join("ready"), world.project.join("go"));
        let socket = world.state_dir().join("run/one.sock");
        world.run_detached("one", &["sleep", "1000"]);
        let host = i32::try_from(world.session_pid("one")).unwrap();
        world.ask(&["stop", "one", "--kill"]);
        assert!(ends_within(host, Duration::from_secs(20)));
        let words = attack(&format!("leave {} {} {}", socket.display(), ready.display(), go.display()));
        let hold = world.project.join("hold");
        // It waits until the host is as the test wants it.
        let script = format!("until [ -e '{}' ]; do sleep 0.05; done; exec \"$@\"", hold.display());
        let mut args = vec!["sh", "-c", &script, "sh"];
        args.extend(words.iter().map(String::as_str));
        world.run_detached("one", &args);
        let host = i32::try_from(world.session_pid("one")).unwrap();
        if stopped {
            support::kill(host, libc::SIGSTOP);
        }
        std::fs::write(&hold, "").unwrap();
        let number: i32 =
            wait_for("the connection", || std::fs::read_to_string(&ready).ok()?.trim().parse().ok());
        // A process of a person's with that number.
        let mut person = None;
        for _ in 0..200 {
            std::fs::write(LAST, format!("{}", number - 1)).unwrap();
            let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
            if i32::try_from(child.id()).unwrap() == number {
                person = Some(child);
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let Some(mut person) = person else { return support::skip("the number was not free again") };
        if stopped {
            support::kill(host, libc::SIGCONT);
        }
        std::fs::write(&go, "").unwrap();
        let said = wait_for("the answer", || std::fs::read_to_string(ready.with_extension("said")).ok());
        person.kill().unwrap();
        person.wait().unwrap();
        assert!(said.is_empty() || said.contains("\"refused\""), "host stopped {stopped}: {said}");
        assert!(support::is_host(host), "host stopped {stopped}");
        end_all(&world);
    }
}

/// The terminal that Claude reads from is in the host's hands, and a person's keyboard in the client's: no
/// other process of the same user takes them.
#[test]
fn nobody_takes_the_terminal_out_of_the_host_s_hands() {
    let world = World::plain();
    let attacker = world.root.path().join("attacks");
    program_files::copy(&std::env::current_exe().unwrap(), &attacker);
    let Some(program) = nobody::give(&world) else { return };
    let mut term = nobody::terminal(
        &world,
        &program,
        &["run", "--name", "one", "--", "sh", "-c", "echo be$((1))gun; exec cat"],
    );
    term.wait_text("be1gun");
    let status = nobody::command(&world, &program, &["status", "one", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let host = status["host_pid"].as_i64().unwrap();
    let client = term.child.id();
    for pid in [host, i64::from(client)] {
        let out = world.project.join(format!("taken-{pid}"));
        let words = format!("take {pid} {}", out.display());
        let mut attack = nobody::command(&world, &attacker, &["--exact", "peers::attacker"]);
        let done = attack.env("HOPTY_TEST_ATTACK", words).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let said = std::fs::read_to_string(&out).unwrap();
        assert_eq!(
            said, "descriptors []\ntraced false\nfd false\nenviron false\nmem false\nmaps false\n",
            "process {pid}"
        );
        // The kernel gives root what `/proc` has of a process that is not to be dumped.
        let owner = std::fs::metadata(format!("/proc/{pid}/stat")).unwrap().uid();
        assert_eq!(owner, 0, "process {pid} would leave a core dump");
    }
    // What hopty itself needs of its host is there all the same.
    let listed = nobody::command(&world, &program, &["ls", "--json"]).output().unwrap();
    assert!(text(&listed.stdout).contains("\"one\""), "{listed:?}");
    assert!(support::is_host(i32::try_from(host).unwrap()));
    let stopped = nobody::command(&world, &program, &["stop", "one", "--kill"]).output().unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    term.wait_exit();
}

/// Somebody sits on the session's path with a socket of their own.
#[test]
fn nobody_in_the_socket_s_place_gets_a_terminal_and_the_host_binds_its_own_again() {
    use std::io::Read;
    use std::os::unix::net::UnixListener;
    let world = World::plain();
    world.run_detached("one", &["sh", "-c", "echo be$((1))gun; exec cat"]);
    let path = world.state_dir().join("run/one.sock");
    let take_place = || {
        std::fs::remove_file(&path).unwrap();
        let planted = UnixListener::bind(&path).unwrap();
        planted.set_nonblocking(true).unwrap();
        (planted, std::fs::symlink_metadata(&path).unwrap().ino())
    };
    let is_replaced =
        |planted: u64| std::fs::symlink_metadata(&path).is_ok_and(|now| now.ino() != planted).then_some(());
    let (planted, ino) = take_place();
    let mut term = world.terminal(&["attach", "one"]);
    term.wait_text("be1gun");
    wait_for("the host's own socket", || is_replaced(ino));
    while let Ok((mut came, _)) = planted.accept() {
        came.set_nonblocking(false).unwrap();
        let mut said = Vec::new();
        came.read_to_end(&mut said).unwrap();
        assert_eq!(said, b"", "no request, and no descriptor with it");
    }
    term.send("\x1cd");
    assert_eq!(term.wait_exit(), 0);
    // Also by itself, where nobody asks.
    let (_planted, ino) = take_place();
    wait_for("the host's own socket", || is_replaced(ino));
    end_all(&world);
}

impl World {
    /// The host's process.
    fn session_pid(&self, name: &str) -> i64 {
        let status: Value = serde_json::from_str(&self.ask(&["status", name, "--json"])).unwrap();
        status["host_pid"].as_i64().unwrap()
    }
}
