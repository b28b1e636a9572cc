//! The hand-over of a terminal to the host: in its corners, and by a client that is hostile or dies in the
//! middle of it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use hopty::core::terminal::{Modes, Size};
use hopty::ipc::frame::{Frame, tag};
use hopty::ipc::stream::{ConnectionState, FrameStream};
use hopty::pty::open::Pty;
use hopty::tty::modes;
use serde_json::json;

use super::support::claude::hopty;
use super::support::term::Term;
use super::support::world::World;
use super::{bare, child, client, output, run, support, world};

/// A client of the protocol that does as it is told.
struct Peer {
    stream: FrameStream,
}

impl Peer {
    fn attach(world: &World, found: Option<&Modes>, raw: Option<&Modes>) -> Peer {
        let mut stream =
            FrameStream::new(UnixStream::connect(world.state_dir().join("run/proj.sock")).unwrap()).unwrap();
        let attach = json!({"id": 1, "do": "attach", "cols": 80, "rows": 24, "xpixel": 0, "ypixel": 0,
            "termios": found, "raw": raw});
        stream.send(
            format!("{}\n{attach}\n", json!({"hopty": 1, "version": "0", "role": "client"})).as_bytes(),
        );
        let mut peer = Peer { stream };
        peer.line();
        let answer = peer.line();
        assert!(answer.contains("\"frames\":true"), "{answer}");
        peer
    }

    fn line(&mut self) -> String {
        let line = support::wait_for("a line", || {
            let life = self.stream.fill();
            let line = self.stream.line().unwrap();
            assert!(line.is_some() || life == ConnectionState::Open, "the host closed the connection");
            line
        });
        String::from_utf8(line).unwrap()
    }

    fn send(&mut self, tag: u8, payload: &[u8]) {
        self.stream.send(&Frame::new(tag, payload).encode());
    }

    fn hand(&mut self, fd: &impl AsFd) {
        self.stream.send_with_fd(&Frame::new(tag::TERMINAL, &[]).encode(), fd).unwrap();
    }

    /// The next frame with one of these tags.
    fn frame(&mut self, tags: &[u8]) -> Frame {
        support::wait_for(&format!("a frame of {tags:x?}"), || {
            self.stream.flush();
            let life = self.stream.fill();
            while let Some(frame) = self.stream.frame().unwrap() {
                if tags.contains(&frame.tag) {
                    return Some(frame);
                }
            }
            assert_eq!(life, ConnectionState::Open, "the host closed the connection");
            None
        })
    }
}

fn detached(world: &World, script: &str) -> i32 {
    assert_eq!(world.ask(&["run", "--detached", "--", "sh", "-c", script]), "proj\n");
    child(world)
}

fn end(world: &World) {
    support::kill(child(world), nix::libc::SIGKILL);
    world.assert_nothing_left();
}

fn slave(pty: &Pty) -> File {
    pty.open_slave().unwrap()
}

/// That a person can still use the session.
fn assert_usable(world: &World) {
    let mut term = world.terminal(&["attach"]);
    support::wait_for("the terminal", || (world.status()["clients"][0]["via"] == "fd").then_some(()));
    term.send("word\r");
    support::wait_for("the echo", || {
        (term.lines().iter().filter(|line| *line == "word").count() >= 2).then_some(())
    });
    support::kill(
        world.processes().into_iter().find(|(_, line)| line.contains(" attach")).unwrap().0,
        nix::libc::SIGHUP,
    );
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
}

#[test]
fn only_a_terminal_is_taken() {
    let world = world();
    detached(&world, "exec cat");
    let host = world.host_pid();
    let open = || std::fs::read_dir(format!("/proc/{host}/fd")).unwrap().count();
    let before = open();
    let pty = Pty::open(Size::cells(80, 24)).unwrap();
    let (socket, _far) = UnixStream::pair().unwrap();
    let (pipe, _end) = nix::unistd::pipe().unwrap();
    let file = File::create(world.project.join("file")).unwrap();
    let hostile: [(&str, Option<OwnedFd>); 6] = [
        ("nothing", None),
        ("a socket", Some(socket.into())),
        ("a pipe", Some(pipe)),
        ("a file", Some(file.into())),
        ("a directory", Some(File::open("/").unwrap().into())),
        ("the other side of a terminal", Some(pty.as_fd().try_clone_to_owned().unwrap())),
    ];
    for (what, fd) in &hostile {
        let mut peer = Peer::attach(&world, None, None);
        match fd {
            Some(fd) => peer.hand(fd),
            None => peer.send(tag::TERMINAL, &[]),
        }
        assert_eq!(peer.frame(&[tag::TAKEN, tag::RELAY]).tag, tag::RELAY, "{what}");
        // A second one changes nothing.
        peer.hand(&slave(&pty));
        peer.send(tag::INPUT, b"typed\n");
        support::wait_for("the echo", || {
            peer.frame(&[tag::OUTPUT]).payload.ends_with(b"typed\r\n").then_some(())
        });
    }
    // Half of one will do: the host opens its own.
    for half in [
        File::options().read(true).open(pty.slave()).unwrap(),
        File::options().write(true).open(pty.slave()).unwrap(),
    ] {
        let mut peer = Peer::attach(&world, None, None);
        peer.hand(&half);
        assert_eq!(peer.frame(&[tag::TAKEN, tag::RELAY]).tag, tag::TAKEN);
        let flags = nix::fcntl::fcntl(&half, nix::fcntl::FcntlArg::F_GETFL).unwrap();
        assert_eq!(flags & nix::libc::O_NONBLOCK, 0, "the description that it shares is left alone");
    }
    support::wait_for("every descriptor to be closed", || (open() <= before).then_some(()));
    assert_usable(&world);
    end(&world);
}

#[test]
fn frames_of_every_kind_in_any_order_do_no_harm() {
    let world = world();
    let pid = detached(&world, "trap : USR1; while :; do read x && echo got $x; done");
    for with_terminal in [false, true] {
        let pty = Pty::open(Size::cells(80, 24)).unwrap();
        let mut peer = Peer::attach(&world, None, None);
        if with_terminal {
            peer.hand(&slave(&pty));
        }
        for tag in 0..=255u8 {
            // 4, 6 and 8 end it; 1 alone makes it a relay; signals are named below.
            if ![tag::TERMINAL, tag::RELEASE, tag::DETACH, tag::SIGNAL, tag::HANGUP].contains(&tag) {
                peer.send(tag, &[]);
                peer.send(tag, &[0]);
                peer.send(tag, &vec![0; 70_000]);
            }
        }
        for signal in (0..=255u8).filter(|n| ![2, 3, 10, 12, 15].contains(n)) {
            peer.send(tag::SIGNAL, &[signal]);
        }
        peer.send(tag::SIGNAL, &[]);
        peer.send(tag::RELEASE, &[]);
        peer.send(tag::RELEASE, &[]);
        peer.frame(&[tag::RELEASED]);
        peer.send(tag::RESUME, &[]);
        peer.send(tag::RESUME, &[]);
        peer.send(tag::TERMINAL, &[]);
        assert_eq!(peer.frame(&[tag::TAKEN, tag::RELAY]).tag, tag::RELAY);
        peer.send(tag::INPUT, b"\x15word\n");
        support::wait_for("the answer", || {
            String::from_utf8_lossy(&peer.frame(&[tag::OUTPUT]).payload).contains("got word").then_some(())
        });
        // A length over the limit is the end of this connection, and of nothing else.
        peer.stream.send(&[tag::INPUT, 0xff, 0xff, 0xff, 0xff]);
        support::wait_for("the end", || {
            peer.stream.flush();
            (peer.stream.fill() == ConnectionState::Closed).then_some(())
        });
    }
    assert_eq!(child(&world), pid);
    end(&world);
}

/// The client is dead before the host looks at what it sent.
#[test]
fn a_client_that_dies_in_the_middle_leaves_the_modes_to_whoever_has_them() {
    for shell_was_quicker in [false, true] {
        let world = world();
        detached(&world, "exec cat");
        let host = world.host_pid();
        let pty = Pty::open(Size::cells(80, 24)).unwrap();
        let found = modes::read(&pty.open_slave().unwrap()).unwrap();
        let raw = Modes { lflag: 0, ..found.clone() };
        let of_shell = Modes { lflag: found.lflag & !u64::from(nix::libc::ECHO), ..found.clone() };
        let terminal = slave(&pty);
        let mut peer = Peer::attach(&world, Some(&found), Some(&raw));
        modes::set(&terminal, &raw).unwrap();
        support::kill(host, nix::libc::SIGSTOP);
        peer.hand(&terminal);
        drop(peer);
        if shell_was_quicker {
            modes::set(&terminal, &of_shell).unwrap();
        }
        support::kill(host, nix::libc::SIGCONT);
        support::wait_for("the client to be gone", || (world.status()["clients"] == json!([])).then_some(()));
        let wanted = if shell_was_quicker { of_shell } else { found };
        assert_eq!(modes::read(&terminal).unwrap(), wanted);
        end(&world);
    }
}

/// Standard input may be open for reading or writing only, and the shell's description never becomes
/// non-blocking.
#[test]
fn half_a_terminal_is_enough_and_the_shell_s_description_is_left_alone() {
    for redirected in ["<\"$T\"", "<\"$T\" 2>/dev/null", "</dev/tty >/dev/tty"] {
        let world = world();
        let words = format!(
            "T=$(tty); exec '{}' run -- sh -c 'echo u$((1))p; read x; echo got $x; exit 4' {redirected}",
            hopty().display()
        );
        let mut term = bare(&world, &words);
        term.wait_text("u1p");
        support::wait_for("the terminal", || (world.status()["clients"][0]["via"] != "none").then_some(()));
        let client = client(&world);
        for fd in 0..3 {
            let info = std::fs::read_to_string(format!("/proc/{client}/fdinfo/{fd}")).unwrap();
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
            let flags = i32::from_str_radix(flags, 8).unwrap();
            assert_eq!(flags & nix::libc::O_NONBLOCK, 0, "{redirected}: descriptor {fd}");
        }
        term.send("it\r");
        term.wait_text("got it");
        assert_eq!(term.wait_exit(), 4, "{redirected}");
        term.assert_whole();
        world.assert_nothing_left();
    }
}

/// Keys come from one terminal, output goes to another.
#[test]
fn two_terminals_are_used_as_they_were_given() {
    let world = world();
    let other = Term::start(
        "/bin/sh".as_ref(),
        &["-c", "tty; exec sleep 1000"],
        &world.env,
        &world.project,
        (90, 20),
    );
    let name =
        support::wait_for("its name", || other.lines().into_iter().find(|line| line.starts_with("/dev/")));
    let words = format!(
        "exec '{}' run -- sh -c 'echo u$((1))p; read x; echo got $x; exit 4' >{name}",
        hopty().display()
    );
    let mut term = bare(&world, &words);
    other.wait_text("u1p");
    term.send("it\r");
    other.wait_text("got it");
    assert_eq!(term.wait_exit(), 4);
    assert!(!term.lines().iter().any(|line| line.contains("u1p")), "{:?}", term.lines());
    term.assert_whole();
    drop(other);
    world.assert_nothing_left();
}

/// Its owner may not open it by name any more.
#[test]
fn a_terminal_that_cannot_be_opened_again_is_relayed() {
    let world = world();
    let Some(program) = support::nobody::give(&world) else { return };
    let words = "trap : USR1; chown 65534 \"$(tty)\"; chmod 0 \"$(tty)\"; exec setpriv --reuid=65534 \
                 --regid=65534 --clear-groups -- ";
    let script = "echo u$((1))p; read x; echo got $x; exit 8";
    let mut term = bare(&world, &format!("{words} {} run -- sh -c '{script}'", program.display()));
    term.wait_text("u1p");
    let status = support::nobody::command(&world, &program, &["status", "--json"]).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["clients"][0]["via"], "relay");
    term.send("it\r");
    term.wait_text("got it");
    assert_eq!(term.wait_exit(), 8);
    term.assert_whole();
    world.assert_nothing_left();
}

/// What is stopped by ^S (`stty`, a key) before hopty starts.
#[test]
fn a_terminal_that_is_held_when_hopty_starts_shows_everything_when_it_goes_on() {
    let world = world();
    for held in ["key", "call"] {
        let words = format!(
            "echo re$((1))ady; read go; exec '{}' run -- sh -c 'seq 1 20; : >ran; exit 3'",
            hopty().display()
        );
        let mut term = bare(&world, &words);
        term.wait_text("re1ady");
        let device = slave(&term.pty);
        if held == "key" {
            term.send("\x13");
        } else {
            // SAFETY: tcflow takes a number.
            assert_eq!(unsafe { nix::libc::tcflow(device.as_raw_fd(), nix::libc::TCOOFF) }, 0);
        }
        term.send("\r");
        support::wait_for("the program", || world.project.join("ran").exists().then_some(()));
        if held == "call" {
            world.wait_decision("run.ended", 1);
            assert!(!term.lines().iter().any(|line| line == "20"));
            // SAFETY: as above.
            assert_eq!(unsafe { nix::libc::tcflow(device.as_raw_fd(), nix::libc::TCOON) }, 0);
        }
        let text = output(&mut term);
        assert!((1..=20).all(|n| text.contains(&format!("\n{n}\n"))), "{held}: {text}");
        assert_eq!(term.wait_exit(), 3);
        term.assert_whole();
        world.assert_nothing_left();
        std::fs::remove_file(world.project.join("ran")).unwrap();
        let _ = std::fs::remove_dir_all(world.session_dir());
    }
}

/// `^S` and `^Q` are for the program's own terminal: keys arrive all the same, and Ctrl+C is heard.
#[test]
fn ctrl_s_holds_the_output_and_not_the_keys() {
    let world = world();
    let mut term =
        run(&world, "echo u$((1))p; while read x; do echo \"$x\" >>read; echo sh$((1))own $x; done");
    term.wait_text("u1p");
    let read = || std::fs::read_to_string(world.project.join("read")).unwrap_or_default();
    term.send("one\r");
    term.wait_text("sh1own one");
    term.send("\x13two\r");
    support::wait_for("the key", || (read() == "one\ntwo\n").then_some(()));
    term.drained();
    assert!(!term.lines().iter().any(|line| line.contains("sh1own two")));
    term.send("\x11");
    term.wait_text("sh1own two");
    term.send("\x13three\r");
    support::wait_for("the key", || (read() == "one\ntwo\nthree\n").then_some(()));
    term.send("\x03");
    assert_eq!(term.wait_exit(), 130);
    term.assert_whole();
    world.assert_nothing_left();
}
