//! Sessions outlive the version that started them: a client of the last one before there was a screen model
//! lists, stops and attaches today's host, and today's client that host. What was said then is kept word for
//! word in `fixtures/wire`, recorded from the two programs of that time; `just compat` runs the program
//! itself against today's.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hopty::core::terminal::Size;
use hopty::ipc::frame::{Frame, tag};
use hopty::ipc::stream::{ConnectionState, FrameStream};
use hopty::pty::open::Pty;
use serde_json::{Value, json};
use support::claude::hopty;
use support::term::Term;
use support::wait_for;
use support::world::World;

/// What the recorded session ran.
const ECHOES: [&str; 3] = ["sh", "-c", "echo begun; while read l; do echo got $l; done"];

/// Who said it, and what: a line, or a frame.
#[derive(Debug, Clone)]
enum Said {
    Line(Value),
    Frame(Frame),
}

fn recorded(name: &str) -> Vec<(String, Said)> {
    let text = std::fs::read_to_string(Path::new("fixtures/wire").join(name)).unwrap();
    let said = |rest: &str| match serde_json::from_str(rest) {
        Ok(value @ Value::Object(_)) => Said::Line(value),
        _ => {
            let (tag, payload) = rest.split_once(' ').unwrap_or((rest, ""));
            Said::Frame(Frame::new(u8::from_str_radix(tag, 16).unwrap(), payload.as_bytes()))
        }
    };
    text.lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(who, rest)| (who.to_owned(), said(rest)))
        .collect()
}

/// That who read `old` can read `new`: every key is there, and holds the same kind of thing.
fn assert_reads(old: &Value, new: &Value, at: &str) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let found = new.get(key).unwrap_or_else(|| panic!("{at}.{key} is gone"));
                assert_reads(value, found, &format!("{at}.{key}"));
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            old.first()
                .into_iter()
                .zip(new)
                .for_each(|(old, new)| assert_reads(old, new, &format!("{at}[]")));
        }
        (Value::Null, _) | (_, Value::Null) => {}
        _ => {
            assert_eq!(std::mem::discriminant(old), std::mem::discriminant(new), "{at}: {old} was, {new} is")
        }
    }
}

/// One side of a conversation.
struct Peer(FrameStream);

impl Peer {
    fn dial(world: &World) -> Peer {
        Peer(FrameStream::new(UnixStream::connect(world.state_dir().join("run/one.sock")).unwrap()).unwrap())
    }

    /// Waits for something; `None` when the other side has closed before.
    fn next<T>(&mut self, what: &str, mut take: impl FnMut(&mut FrameStream) -> Option<T>) -> Option<T> {
        wait_for(what, || {
            self.0.flush();
            let life = self.0.fill();
            match take(&mut self.0) {
                None if life == ConnectionState::Closed => Some(None),
                taken => taken.map(Some),
            }
        })
    }

    fn line(&mut self) -> Value {
        let line = self
            .next("a line", |stream| stream.line().unwrap())
            .expect("the other side closed the connection");
        serde_json::from_slice(&line).unwrap()
    }

    fn frame(&mut self) -> Option<Frame> {
        self.next("a frame", |stream| stream.frame().unwrap())
    }

    fn say(&mut self, said: &Said) {
        match said {
            Said::Line(value) => self.0.send(format!("{value}\n").as_bytes()),
            Said::Frame(frame) => self.0.send(&frame.encode()),
        };
    }

    /// Says what the old client said, and reads what the host answers as that client did.
    fn play(&mut self, script: &[(String, Said)], terminal: Option<&File>) {
        for (who, said) in script {
            match (who.as_str(), said) {
                ("client", Said::Frame(frame)) if frame.tag == tag::TERMINAL => {
                    self.0.send_with_fd(&frame.encode(), terminal.unwrap()).unwrap();
                }
                ("client", said) => self.say(said),
                (_, Said::Line(old)) => assert_reads(old, &self.line(), ""),
                (_, Said::Frame(old)) => {
                    let new = loop {
                        // These may come at any time, and are not answered.
                        let frame = self.frame().expect("the host closed the connection");
                        if ![tag::NOTICE, tag::UNDO, tag::HOLD].contains(&frame.tag) {
                            break frame;
                        }
                    };
                    assert_eq!(new.tag, old.tag);
                    if let Ok(old) = serde_json::from_slice(&old.payload) {
                        assert_reads(&old, &serde_json::from_slice(&new.payload).unwrap(), "");
                    }
                }
            }
        }
    }
}

#[test]
fn the_old_client_reads_todays_host() {
    let world = World::plain();
    world.ask(&[&["run", "--detached", "--name", "one", "--"], &ECHOES[..]].concat());
    Peer::dial(&world).play(&recorded("status.txt"), None);
    let attach = recorded("attach.txt");
    let taken = attach
        .iter()
        .position(|(_, said)| matches!(said, Said::Frame(frame) if frame.tag == tag::TAKEN))
        .unwrap();
    // It leaves by hang-up, without a word, and comes again.
    for stays in [false, true] {
        let pty = Pty::open(Size::cells(80, 24)).unwrap();
        let slave = pty.open_slave().unwrap();
        let mut master = File::from(std::os::fd::AsFd::as_fd(&pty).try_clone_to_owned().unwrap());
        let mut peer = Peer::dial(&world);
        peer.play(&attach[..=taken], Some(&slave));
        master.write_all(b"hello\r").unwrap();
        let mut seen = Vec::new();
        let mut shows = |text: &str| {
            wait_for(text, || {
                let mut buf = [0; 4096];
                let read = master.read(&mut buf).unwrap_or(0);
                seen.extend_from_slice(&buf[..read]);
                String::from_utf8_lossy(&seen).contains(text).then_some(())
            });
        };
        shows("begun");
        shows("got hello");
        if stays {
            Peer::dial(&world).play(&recorded("stop.txt"), None);
            peer.play(&attach[taken + 1..], None);
            assert!(peer.frame().is_none(), "the connection ends");
        }
    }
    world.assert_nothing_left();
}

/// A host of that time: it says what is recorded, and hands the terminal that it gets to the test.
struct OldHost {
    _lock: File,
    listener: UnixListener,
}

impl OldHost {
    fn new(world: &World) -> OldHost {
        let dir = world.state_dir().join("sessions/one");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::create_dir_all(world.state_dir().join("run")).unwrap();
        std::fs::copy("fixtures/wire/session.json", dir.join("session.json")).unwrap();
        let lock = File::create(dir.join("lock")).unwrap();
        lock.lock().unwrap();
        OldHost { _lock: lock, listener: UnixListener::bind(world.state_dir().join("run/one.sock")).unwrap() }
    }

    /// The next client, which gets the host's part of a recording, as far as its own requests are those.
    fn serves(&self, name: &str) -> Peer {
        let mut peer = Peer(FrameStream::new(self.listener.accept().unwrap().0).unwrap());
        for (who, said) in recorded(name) {
            match (who.as_str(), said) {
                ("client", Said::Line(old)) => {
                    let new = peer.line();
                    assert_eq!(
                        (&new["do"], &new["hopty"], &new["role"]),
                        (&old["do"], &old["hopty"], &old["role"])
                    );
                }
                ("client", Said::Frame(old)) => assert_eq!(peer.frame().unwrap().tag, old.tag),
                (_, Said::Frame(frame)) if frame.tag != tag::TAKEN => break,
                (_, said) => peer.say(&said),
            }
        }
        peer
    }
}

/// Runs a verb of today while the host does its part.
fn asks(world: &World, args: &[&str], host: impl FnOnce()) -> Output {
    std::thread::scope(|scope| {
        let verb = scope.spawn(|| world.hopty(args));
        host();
        verb.join().unwrap()
    })
}

#[test]
fn todays_client_reads_the_old_host() {
    let world = World::plain();
    let host = OldHost::new(&world);
    let said = |output: &Output| {
        String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
    };
    let listed = asks(&world, &["ls", "--json"], || drop(host.serves("status.txt")));
    let list: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(
        (&list[0]["name"], &list[0]["state"]),
        (&json!("one"), &json!("unknown")),
        "{}",
        said(&listed)
    );
    let shown = asks(&world, &["status", "one"], || drop(host.serves("status.txt")));
    assert!(shown.status.success() && said(&shown).contains("/home/u/proj"), "{}", said(&shown));
    let stopped = asks(&world, &["stop", "one"], || drop(host.serves("stop.txt")));
    assert!(stopped.status.success(), "{}", said(&stopped));
    // A verb that it does not know.
    let refused = asks(&world, &["detach", "one"], || {
        let mut peer = Peer(FrameStream::new(host.listener.accept().unwrap().0).unwrap());
        peer.line();
        peer.say(&recorded("status.txt")[1].1);
        let id = peer.line()["id"].clone();
        let error = json!({"code": "unknown_request", "message": "unknown request `detach`",
            "hint": "see docs/PROTOCOL.md"});
        peer.say(&Said::Line(json!({"id": id, "error": error})));
    });
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("an older version"), "{}", said(&refused));
}

#[test]
fn todays_client_hands_its_terminal_to_the_old_host() {
    let world = World::plain();
    let host = OldHost::new(&world);
    let farewell = recorded("attach.txt").into_iter().filter_map(|(_, said)| match said {
        Said::Frame(frame) if [tag::RELEASED, tag::BYE].contains(&frame.tag) => Some(Said::Frame(frame)),
        _ => None,
    });
    let farewell: Vec<Said> = farewell.collect();
    let mut term = world.terminal(&["attach", "one"]);
    let mut peer = host.serves("attach.txt");
    File::from(peer.0.take_fd().unwrap()).write_all(b"the last words\r\n").unwrap();
    term.wait_text("the last words");
    farewell.iter().for_each(|said| peer.say(said));
    drop(peer);
    assert_eq!(term.wait_exit(), 143);
    term.wait_text("stopped the program as asked.");
    term.assert_whole();
    // A hang-up: that host would pass SIGHUP on to the program if it were told so by SIGNAL.
    let mut term = world.terminal(&["attach", "one"]);
    let mut peer = host.serves("attach.txt");
    let terminal = peer.0.take_fd();
    hang_up(&term);
    let mut heard = Vec::new();
    while heard.last() != Some(&tag::DETACH) {
        heard.push(peer.frame().expect("it says that it leaves").tag);
    }
    assert!(!heard.contains(&tag::SIGNAL), "{heard:x?}");
    drop(terminal);
    peer.say(&farewell[0]);
    let bye = json!({"why": "detached", "exit": null, "message": null});
    peer.say(&Said::Frame(Frame::new(tag::BYE, bye.to_string().as_bytes())));
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
}

/// It says nothing more to a client whose terminal is gone, and may close a connection for reasons of its
/// own: that is no death, and its program is not to be ended for it.
#[test]
fn an_old_host_that_closes_the_connection_is_not_taken_for_dead() {
    let world = World::plain();
    let host = OldHost::new(&world);
    let mark = format!("HOPTY_SOCKET={}", world.state_dir().join("run/one.sock").display());
    let mut program =
        Command::new("sleep").arg("60").env_clear().env("HOPTY_SOCKET", &mark[13..]).spawn().unwrap();
    let object = world.state_dir().join("sessions/one/session.json");
    let mut session: Value = serde_json::from_slice(&std::fs::read(&object).unwrap()).unwrap();
    session["pid"] = json!(program.id());
    session["exit"] = Value::Null;
    std::fs::write(&object, session.to_string()).unwrap();
    for hangs_up in [true, false] {
        let mut term = world.terminal(&["attach", "one"]);
        let mut peer = host.serves("attach.txt");
        let terminal = peer.0.take_fd();
        if hangs_up {
            hang_up(&term);
            while peer.frame().expect("it says that it leaves").tag != tag::DETACH {}
        }
        drop((terminal, peer));
        assert_eq!(term.wait_exit(), i32::from(!hangs_up));
        if !hangs_up {
            term.wait_text("the session's host closed the connection");
            term.wait_text("hopty attach one");
        }
        assert!(program.try_wait().unwrap().is_none(), "the program lives");
    }
    // A host that does die takes its program with it, also one that ignores every signal but SIGKILL.
    let mut term = world.terminal(&["attach", "one"]);
    let peer = host.serves("attach.txt");
    drop((host, peer));
    assert_eq!(term.wait_exit(), 125);
    term.wait_text("the session's host died");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&program.wait().unwrap()),
        Some(nix::libc::SIGKILL)
    );
}

/// The client is told that its terminal is gone.
fn hang_up(term: &Term) {
    support::kill(i32::try_from(term.child.id()).unwrap(), nix::libc::SIGHUP);
}

/// One program's word for a verb, which must succeed.
fn ask(world: &World, program: &Path, args: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command
        .args(args)
        .env_clear()
        .envs(world.env.iter().cloned())
        .current_dir(&world.project)
        .output()
        .unwrap();
    assert!(output.status.success(), "{} {args:?}: {output:?}", program.display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The programs themselves, both ways round: `HOPTY_TEST_OLD` names the old one.
#[test]
fn the_old_program_and_todays_work_together() {
    let Some(old) = std::env::var_os("HOPTY_TEST_OLD").map(PathBuf::from) else {
        return support::skip("HOPTY_TEST_OLD names no old hopty; `just compat` builds one");
    };
    for (host, client) in [(&old, &hopty()), (&hopty(), &old)] {
        for _ in 0..5 {
            let mut world = World::plain();
            // A key that the old program does not know, and a plain program does not need.
            world.env.retain(|(name, _)| name != "HOPTY_RESTART_WAIT_FOR_PERSON");
            let client_says = |args: &[&str]| ask(&world, client, args);
            ask(&world, host, &[&["run", "--detached", "--name", "one", "--"], &ECHOES[..]].concat());
            assert!(client_says(&["ls"]).contains("one"));
            let status: Value = serde_json::from_str(&client_says(&["status", "one", "--json"])).unwrap();
            assert_eq!(
                (&status["name"], &status["run"], &status["exit"]),
                (&json!("one"), &json!(1), &Value::Null)
            );
            let attach = || Term::start(client, &["attach", "one"], &world.env, &world.project, (90, 30));
            let mut term = attach();
            term.wait_text("begun");
            term.send("hello\r");
            term.wait_text("got hello");
            hang_up(&term);
            assert_eq!(term.wait_exit(), 0);
            let mut term = attach();
            wait_for("its terminal", || {
                let status: Value = serde_json::from_str(&client_says(&["status", "one", "--json"])).unwrap();
                (status["clients"][0]["via"] == "fd").then_some(())
            });
            term.send("again\r");
            term.wait_text("got again");
            term.hang_up();
            assert_eq!(term.wait_exit(), 0);
            client_says(&["restart", "one", "--now"]);
            client_says(&["stop", "one"]);
            assert!(!client_says(&["ls"]).contains("one "));
            world.assert_nothing_left();
        }
    }
}
