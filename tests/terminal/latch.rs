//! Everything that a program can leave on in a terminal, against every way in which a run, a client or a host
//! can end: what reaches the terminal afterwards is exactly the undo, and then hopty's own words.
//!
//! The table is the code's own (`hopty::screen::UNDO_STEPS`); each entry is tried alone where the program
//! dies, and all of them at once at every other end, because the same undo is sent there.

use std::os::unix::fs::OpenOptionsExt;

use hopty::screen::{Screen, UNDO_STEPS};

use super::support::claude::hopty;
use super::support::term::Term;
use super::support::world::World;
use super::{bare, child, client, run, support, world};

/// hopty's own words have nothing in them that a terminal obeys.
fn is_plain(bytes: &[u8]) -> bool {
    !bytes.contains(&0x1b) && !bytes.contains(&0x18)
}

/// A program that writes `bytes` and waits.
fn leave_on(world: &World, relayed: bool, bytes: &str) -> Term {
    let file = world.project.join("bytes");
    std::fs::write(&file, bytes).unwrap();
    let script = "stty raw -echo; cat bytes; exec sleep 100";
    let term = if relayed {
        let words = format!("exec '{}' run -- sh -c '{script}' </dev/tty >/dev/tty", hopty().display());
        bare(world, &words)
    } else {
        run(world, script)
    };
    support::wait_for("the bytes", || term.bytes().ends_with(bytes.as_bytes()).then_some(()));
    // The host has seen them when it shows them, and has told the client when it answers again.
    for _ in 0..2 {
        world.status();
    }
    term
}

/// What undoes `bytes`, by the model, which the unit tests hold to the table.
fn undo_of(bytes: &str) -> Vec<u8> {
    let mut screen = Screen::new(120, 40);
    screen.feed(bytes.as_bytes());
    [screen.ending(), &screen.undo()].concat()
}

/// All of the table at once, and a title that is cut.
fn everything() -> String {
    let all: String = UNDO_STEPS.iter().flat_map(|step| step.examples).map(|(bytes, _)| *bytes).collect();
    format!("{all}\x1b]0;cut")
}

fn after(term: &Term, bytes: &str) -> Vec<u8> {
    term.drained();
    let all = term.bytes();
    let at = all.windows(bytes.len()).rposition(|part| part == bytes.as_bytes()).unwrap() + bytes.len();
    all[at..].to_vec()
}

#[test]
fn each_thing_alone_is_undone_by_its_own_sequence_when_the_program_dies() {
    let cut =
        ["\x1b]0;ti", "\x1b[?1049", "\x1bPq", "\x1b_Ga=T;", "cut\x1b", "\u{1b}(", "\x1b[?2004h\x1b]8;;ht"];
    let cut = cut.map(|bytes| (bytes, undo_of(bytes)));
    let table = UNDO_STEPS
        .iter()
        .flat_map(|step| step.examples)
        .map(|(bytes, undo)| (*bytes, undo.as_bytes().to_vec()));
    let cases: Vec<(&str, Vec<u8>)> = table.chain(cut).collect();
    let work = std::sync::Mutex::new(cases.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let world = world();
                while let Some((bytes, undo)) = { work.lock().unwrap().next() } {
                    // Tab stops are put back over the whole width, so what the model of this size says
                    // counts.
                    let undo = if bytes.contains("\x1b[g") { undo_of(bytes) } else { undo };
                    let file = world.project.join("bytes");
                    std::fs::write(&file, bytes).unwrap();
                    let mut term = run(&world, "stty raw -echo; cat bytes; kill -9 $$");
                    assert_eq!(term.wait_exit(), 137);
                    let left = after(&term, bytes);
                    let text = String::from_utf8_lossy(&left).into_owned();
                    let rest = left.strip_prefix(&undo[..]);
                    assert!(
                        rest.is_some_and(is_plain),
                        "{bytes:?}: {text:?}, not {:?}",
                        String::from_utf8_lossy(&undo)
                    );
                    term.assert_whole();
                }
                world.assert_nothing_left();
            });
        }
    });
}

/// How a person loses a program, or the program its terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    ProgramKilled,
    ProgramTold,
    ProgramSuspended,
    HostKilled,
    HostTold,
    ClientKilled,
    ClientTold,
    ClientHungUp,
    Detached,
    Stopped,
}

const ENDS: [End; 10] = [
    End::ProgramKilled,
    End::ProgramTold,
    End::ProgramSuspended,
    End::HostKilled,
    End::HostTold,
    End::ClientKilled,
    End::ClientTold,
    End::ClientHungUp,
    End::Detached,
    End::Stopped,
];

/// Brings `end` about, and waits until the client has left its terminal.
fn end(world: &World, term: &mut Term, end: End) {
    use nix::libc::{SIGHUP, SIGKILL, SIGTERM, SIGTSTP};
    match end {
        End::ProgramKilled => support::kill(child(world), SIGKILL),
        End::ProgramTold => support::kill(child(world), SIGTERM),
        End::ProgramSuspended => support::kill(child(world), SIGTSTP),
        End::HostKilled => support::kill(world.host_pid(), SIGKILL),
        End::HostTold => support::kill(world.host_pid(), SIGTERM),
        End::ClientKilled => support::kill(client(world), SIGKILL),
        End::ClientTold => support::kill(client(world), SIGTERM),
        End::ClientHungUp => support::kill(client(world), SIGHUP),
        End::Detached => {
            world.ask(&["detach", "proj"]);
            term.wait_exit();
            assert!(world.hopty(&["stop", "proj"]).status.success());
        }
        End::Stopped => assert!(world.hopty(&["stop", "proj"]).status.success()),
    }
    if end != End::ProgramSuspended {
        term.wait_exit();
    }
}

fn every_end_undoes_all(relayed: bool) {
    let bytes = everything();
    let undo = undo_of(&bytes);
    let bare_undo = undo.strip_prefix(b"\x18\x1b\\").unwrap();
    for how in ENDS {
        let world = world();
        let mut term = leave_on(&world, relayed, &bytes);
        end(&world, &mut term, how);
        if how == End::ProgramSuspended {
            // Its group is orphaned, so it goes on at once, and the picture is drawn again behind the undo.
            support::wait_for(&format!("the undo of {how:?}"), || {
                after_some(&term, &bytes).starts_with(&undo).then_some(())
            });
            support::kill(child(&world), nix::libc::SIGKILL);
            term.wait_exit();
        } else {
            support::wait_for(&format!("the undo after {how:?}"), || {
                (after_some(&term, &bytes).len() >= undo.len()).then_some(())
            });
            let left = after(&term, &bytes);
            // Who cannot know whether something was cut says so twice.
            let rest = left
                .strip_prefix(&undo[..])
                .or_else(|| left.strip_prefix(&[b"\x18\x1b\\", &undo[..]].concat()[..]));
            let text = String::from_utf8_lossy(&left).into_owned();
            let rest = rest
                .unwrap_or_else(|| panic!("{how:?}: {text:?}, not {:?}", String::from_utf8_lossy(bare_undo)));
            assert!(is_plain(rest), "{how:?}: {text:?}");
        }
        term.assert_whole();
        if [End::ClientKilled, End::ClientHungUp].contains(&how) {
            support::wait_for("the client to be gone", || {
                (world.status()["clients"] == serde_json::json!([])).then_some(())
            });
            assert!(world.hopty(&["stop", "proj"]).status.success());
        }
        world.assert_nothing_left();
    }
}

fn after_some(term: &Term, bytes: &str) -> Vec<u8> {
    let all = term.bytes();
    let at = all.windows(bytes.len()).rposition(|part| part == bytes.as_bytes()).unwrap() + bytes.len();
    all[at..].to_vec()
}

#[test]
fn every_end_undoes_all_where_the_host_has_the_terminal() {
    every_end_undoes_all(false);
}

#[test]
fn every_end_undoes_all_where_the_client_relays() {
    every_end_undoes_all(true);
}

/// Speeds that have no name (`BOTHER`), the line discipline, every flag: the program finds them, and they
/// come back.
#[test]
fn every_bit_of_the_terminal_s_modes_comes_back() {
    for (relayed, redirect) in [(false, ""), (true, "</dev/tty >/dev/tty")] {
        let world = world();
        let script = "tty; read x; stty raw -echo; exec sleep 100";
        let words = format!("read go; exec '{}' run -- sh -c '{script}' {redirect}", hopty().display());
        let mut term = bare(&world, &words);
        let mut odd = term.modes();
        // CBAUD and CIBAUD say BOTHER: the numbers count.
        odd.cflag = odd.cflag & !0o2_003_610_017 | 0o10_000 | 0o10_000 << 16;
        odd.speed = (12_345, 54_321);
        odd.iflag ^= u64::from(nix::libc::IXANY | nix::libc::IUTF8);
        odd.lflag ^= u64::from(nix::libc::ECHOK | nix::libc::ECHOCTL);
        odd.cc[nix::libc::VINTR] = 0x18;
        odd.cc[nix::libc::VMIN] = 7;
        term.set_modes(&odd);
        assert_eq!(term.modes(), odd, "the kernel keeps them");
        term.send("go\r");
        term.wait_text("/dev/pts/");
        let inner = term.lines().into_iter().rfind(|line| line.starts_with("/dev/pts/")).unwrap();
        let inner =
            std::fs::File::options().read(true).custom_flags(nix::libc::O_NOCTTY).open(inner).unwrap();
        assert_eq!(hopty::tty::modes::read(&inner).unwrap(), odd, "relayed: {relayed}");
        drop(inner);
        term.send("on\r");
        if relayed {
            support::kill(client(&world), nix::libc::SIGKILL);
        } else {
            support::kill(child(&world), nix::libc::SIGKILL);
        }
        term.wait_exit();
        term.before = odd;
        term.assert_whole();
        if relayed {
            support::wait_for("the client to be gone", || {
                (world.status()["clients"] == serde_json::json!([])).then_some(())
            });
            assert!(world.hopty(&["stop", "proj"]).status.success());
        }
        world.assert_nothing_left();
    }
}

/// Paste, cursor keys and a keyboard stack were on before, wrapping was off. The program asks, changes all of
/// it and dies.
#[test]
fn a_terminal_that_was_asked_is_found_again_as_it_was() {
    for redirect in ["", "</dev/tty >/dev/tty"] {
        let world = world();
        let answers = "\x1b[?2004;1$y\x1b[?1;1$y\x1b[?7;2$y\x1b[?5u".len();
        std::fs::write(world.project.join("ask"), "\x1b[?2004$p\x1b[?1$p\x1b[?7$p\x1b[?u").unwrap();
        std::fs::write(world.project.join("change"), "\x1b[?2004l\x1b[?1h\x1b[?7h\x1b[=1u\x1b[>9u").unwrap();
        std::fs::write(world.project.join("before"), "\x1b[?2004h\x1b[?1h\x1b[?7l\x1b[>5u").unwrap();
        let script = format!(
            "stty raw -echo; cat ask; dd bs=1 count={answers} of=got 2>/dev/null; cat change; echo changed; \
             exec sleep 100"
        );
        let words = format!("cat before; exec '{}' run -- sh -c '{script}' {redirect}", hopty().display());
        let mut term = bare(&world, &words);
        term.wait_text("changed");
        assert_eq!(term.look(Screen::keyboard_flags), 9);
        support::kill(child(&world), nix::libc::SIGKILL);
        assert_eq!(term.wait_exit(), 137);
        term.drained();
        assert_eq!(term.look(Screen::modes), ["1", "-7", "2004"]);
        assert_eq!(term.look(Screen::keyboard_flags), 5);
        let left = after_some(&term, "changed\n");
        let rest = left.strip_prefix(b"\x1b[<1u\x1b[=5;1u\x1b[?2004h\x1b[?7l");
        assert!(rest.is_some_and(is_plain), "{:?}", String::from_utf8_lossy(&left));
        world.assert_nothing_left();
    }
}

#[test]
fn a_panic_over_a_request_or_its_peer_costs_nobody_else_anything() {
    for place in ["request", "refusal"] {
        let mut world = world();
        let file = world.faults().join("panic");
        let mut term = run(&world, "echo ready; read x; echo got $x; exit 4");
        term.wait_text("ready");
        child(&world);
        std::fs::write(&file, place).unwrap();
        let failed = world.hopty(&["status"]);
        assert!(String::from_utf8_lossy(&failed.stdout).contains("unresponsive"), "{place}: {failed:?}");
        assert!(!file.exists(), "{place}: it has happened");
        assert!(world.ask(&["status"]).contains("running"), "{place}");
        term.send("it\r");
        assert_eq!(term.wait_exit(), 4);
        term.wait_text("got it");
        term.assert_whole();
        assert!(world.journal().contains("\"part\":\"request\""), "{place}");
        world.assert_nothing_left();
    }
}

#[test]
fn a_panic_of_the_host_leaves_a_whole_terminal() {
    let mut world = world();
    let file = world.faults().join("panic");
    let bytes = everything();
    let mut term = leave_on(&world, false, &bytes);
    std::fs::write(&file, "loop").unwrap();
    support::kill(world.host_pid(), nix::libc::SIGUSR1);
    assert_eq!(term.wait_exit(), 125);
    let undo = [b"\x18\x1b\\", undo_of(&bytes).strip_prefix(b"\x18\x1b\\").unwrap()].concat();
    let left = after(&term, &bytes);
    assert!(left.strip_prefix(&undo[..]).is_some_and(is_plain), "{:?}", String::from_utf8_lossy(&left));
    term.assert_whole();
    world.assert_nothing_left();
}
