//! Too much at once: both directions full, a program or a terminal that does not read. Nobody waits for ever,
//! nothing is lost, nothing grows, and the keyboard is heard over any output. The same for a terminal in the
//! host's hands and through the relay.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::support::term::Term;
use super::support::world::World;
use super::{child, client, relay, run, support, world};

/// The two ways of reaching a terminal.
const WAYS: [&str; 2] = ["fd", "relay"];

fn start(world: &World, way: &str, script: &str) -> Term {
    let term = if way == "fd" { run(world, script) } else { relay::through_dev_tty(world, script) };
    term.wait_text("u1p");
    support::wait_for("the terminal", || (world.status()["clients"][0]["via"] == way).then_some(()));
    term
}

/// The most memory that a process has had, in KiB, without the pages of its program: a debug build has many.
fn peak(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let of = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    of("VmHWM:") - of("RssFile:")
}

fn assert_small(world: &World, way: &str) {
    let (host, client) = (peak(world.host_pid()), peak(client(world)));
    assert!(host < 16 << 10 && client < 8 << 10, "{way}: host {host} KiB, client {client} KiB");
}

/// Waits until a number stands still. Looked at too early it makes a test weaker, never false.
fn settled<T: PartialEq + Default>(what: &str, mut number: impl FnMut() -> T) {
    let (mut before, mut same) = (T::default(), 0);
    support::wait_for(what, || {
        let now = number();
        same = if now == before { same + 1 } else { 0 };
        before = now;
        (same >= 60 && before != T::default()).then_some(())
    });
}

/// Bytes that a process has written so far, to anything.
fn written(pid: i32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    io.lines().find_map(|l| l.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}

/// Letters, so that no terminal mode changes one.
fn letters(len: u32) -> Vec<u8> {
    (0..len).map(|n| b'a' + u8::try_from(n / 7 % 26).unwrap()).collect()
}

#[test]
fn both_directions_full_lose_nothing() {
    for way in WAYS {
        let world = world();
        let mut term = start(&world, way, "stty raw -echo; echo u$((1))p; exec cat");
        let begin = term.bytes().len();
        let sent = letters(4 << 20);
        term.send(&sent);
        support::wait_for("the echo", || (term.len() >= begin + sent.len()).then_some(()));
        assert!(term.bytes()[begin..] == sent, "{way}");
        assert_small(&world, way);
        support::kill(child(&world), nix::libc::SIGTERM);
        assert_eq!(term.wait_exit(), 143);
        world.assert_nothing_left();
    }
}

/// The keyboard waits; what was typed is there as soon as the program reads.
#[test]
fn a_program_that_does_not_read_holds_up_the_keyboard_and_loses_nothing() {
    for way in WAYS {
        let world = world();
        nix::unistd::mkfifo(&world.project.join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let sent = letters(10 << 20);
        let script = format!(
            "stty raw -echo; echo u$((1))p; read x <go; head -c {} >got; printf \"all\\r\\n\"; exec cat",
            sent.len()
        );
        let mut term = start(&world, way, &script);
        let typed = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let typist = scope.spawn(|| {
                for part in sent.chunks(1000) {
                    term.send(part);
                    typed.fetch_add(part.len(), Ordering::Relaxed);
                }
            });
            settled("a keyboard that waits", || typed.load(Ordering::Relaxed));
            assert!(!typist.is_finished());
            assert_small(&world, way);
            std::fs::write(world.project.join("go"), "\n").unwrap();
            term.wait_text("all");
        });
        assert!(std::fs::read(world.project.join("got")).unwrap() == sent, "{way}");
        assert_small(&world, way);
        support::kill(child(&world), nix::libc::SIGTERM);
        assert_eq!(term.wait_exit(), 143);
        world.assert_nothing_left();
    }
}

#[test]
fn ctrl_c_is_heard_while_the_terminal_takes_nothing() {
    for way in WAYS {
        let world = world();
        let mut term = start(
            &world,
            way,
            "trap \"exit 5\" INT; echo u$((1))p; read x; while :; do echo 0123456789; done",
        );
        term.stall(true);
        term.send("\r");
        let pid = child(&world);
        settled("a full queue", || written(pid));
        assert_small(&world, way);
        term.send("\x03");
        world.wait_decision("run.ended", 1);
        term.stall(false);
        assert_eq!(term.wait_exit(), 5, "{way}");
        term.assert_whole();
        world.assert_nothing_left();
    }
}

/// What was typed waits for the program; what is sent to the client does not.
#[test]
fn a_client_is_heard_although_the_program_does_not_read() {
    for way in WAYS {
        let world = world();
        let mut term = start(
            &world,
            way,
            "stty raw -echo; trap \"exit 9\" TERM; echo u$((1))p; while :; do sleep 0.05; done",
        );
        // More than host, socket and client would hold if a relay passed on all of it.
        let typed = term.fill(4 << 20);
        assert!(typed > 1 << 18, "{way}: {typed} bytes");
        let size = (101, 31);
        term.resize(size.0, size.1);
        support::wait_for("the size", || (world.status()["size"]["cols"] == size.0).then_some(()));
        support::kill(client(&world), nix::libc::SIGTSTP);
        support::kill(client(&world), nix::libc::SIGTERM);
        assert_eq!(term.wait_exit(), 9, "{way}");
        term.assert_whole();
        world.assert_nothing_left();
    }
}
