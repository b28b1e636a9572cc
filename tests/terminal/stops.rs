//! Stopped and continued by others: the program, its client, the host, in every order, with the terminal in
//! the host's hands and through the relay. The shell's keys stay the shell's, and one `fg` is enough.

use hopty::standin::script::Script;

use super::jobs::{ask, leave, shell, wait_prompt};
use super::support::claude::Kind;
use super::support::term::Term;
use super::support::wait::{LIMIT, ends_within};
use super::support::world::World;
use super::{child, client, run, support, world};

/// How hopty is called at a shell's prompt: with its terminal, and with one that the host cannot reopen.
const WAYS: [(&str, &str); 2] = [("fd", ""), ("relay", " </dev/tty >/dev/tty")];

/// Starts a program from a shell, which says `u1p` when it runs.
fn begin(world: &mut World, way: (&str, &str), script: &str) -> Term {
    let term = shell(world);
    std::fs::write(world.project.join("script"), script).unwrap();
    term.send(format!("clear; $H run -- sh ./script{}\r", way.1));
    term.wait_text("u1p");
    support::wait_for("the terminal", || (world.status()["clients"][0]["via"] == way.0).then_some(()));
    term
}

fn stat(pid: i32) -> hopty::sys::process::Stat {
    hopty::sys::process::Stat::of(pid).unwrap()
}

fn wait_state(pid: i32, stopped: bool) {
    support::wait_for("a stop or its end", || (stat(pid).is_stopped() == stopped).then_some(()));
}

fn lines(term: &Term, text: &str) -> usize {
    term.lines().iter().filter(|line| *line == text).count()
}

/// Types a line at `cat` and sees it twice.
fn talk(term: &Term, word: &str) {
    term.send(format!("{word}\r"));
    support::wait_for(&format!("the echo of {word}"), || (lines(term, word) >= 2).then_some(()));
}

#[test]
fn a_program_that_stops_itself_gives_the_shell_back() {
    for way in WAYS {
        let mut world = world();
        let mut term =
            begin(&mut world, way, "echo u$((1))p; read x; kill -STOP $$; echo on$((1)); exec cat");
        term.send("\r");
        term.wait_text("Stopped");
        ask(&term, 1);
        term.send("clear; fg\r");
        term.wait_text("on1");
        talk(&term, "word");
        term.send("\x04");
        wait_prompt(&term);
        leave(&mut term, &world, 0);
    }
}

#[test]
fn a_program_that_others_continue_runs_on_unseen_until_fg() {
    for way in WAYS {
        let mut world = world();
        nix::unistd::mkfifo(&world.project.join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut term = begin(&mut world, way, "echo u$((1))p; read y <go; echo la$((1))te; exec cat");
        let pid = child(&world);
        term.send("\x1a");
        term.wait_text("Stopped");
        ask(&term, 1);
        support::kill(pid, nix::libc::SIGCONT);
        wait_state(pid, false);
        std::fs::write(world.project.join("go"), "\n").unwrap();
        support::wait_for("cat", || {
            world.processes().into_iter().find(|(pid_, line)| *pid_ == pid && line.trim() == "cat")
        });
        ask(&term, 2);
        assert!(!term.lines().iter().any(|line| line.contains("la1te")), "the terminal is the shell's");
        term.send("clear; fg\r");
        term.wait_text("la1te");
        talk(&term, "word");
        term.send("\x04");
        wait_prompt(&term);
        leave(&mut term, &world, 0);
    }
}

/// Both are stopped, one after the other: a single `fg` continues both.
#[test]
fn one_fg_continues_the_client_and_the_program() {
    for way in WAYS {
        for first in ["client", "child"] {
            let mut world = world();
            let mut term = begin(&mut world, way, "echo u$((1))p; exec cat");
            let (pid, client) = (child(&world), client(&world));
            let order = if first == "client" { [client, pid] } else { [pid, client] };
            support::kill(order[0], nix::libc::SIGSTOP);
            term.wait_text("Stopped");
            support::kill(order[1], nix::libc::SIGSTOP);
            support::wait_for("the host to see it", || (world.status()["state"] == "stopped").then_some(()));
            ask(&term, 1);
            term.send("clear; fg\r");
            wait_state(pid, false);
            wait_state(client, false);
            talk(&term, "word");
            term.send("\x04");
            wait_prompt(&term);
            leave(&mut term, &world, 0);
        }
    }
}

/// The shell sends SIGTERM and then SIGCONT, while the job waits for the terminal.
#[test]
fn a_job_in_the_background_ends_when_it_is_told_to() {
    for way in WAYS {
        let mut world = world();
        let mut term = begin(&mut world, way, "echo u$((1))p; exec cat");
        term.send("\x1a");
        term.wait_text("Stopped");
        term.send("clear; bg\r");
        ask(&term, 1);
        let client = client(&world);
        wait_state(client, true);
        term.send("kill %1\r");
        assert!(ends_within(client, LIMIT), "{way:?}");
        ask(&term, 2);
        leave(&mut term, &world, 0);
    }
}

/// A host that is stopped cannot end the session, and keeps nobody from leaving. When it goes on it hears
/// what it was told.
#[test]
fn a_client_of_a_stopped_host_ends_when_it_is_told_to() {
    for (way, place) in [(WAYS[0], "front"), (WAYS[1], "front"), (WAYS[0], "back"), (WAYS[1], "back")] {
        let mut world = world();
        let mut term = begin(&mut world, way, "printf '\\033[?2004h'; echo u$((1))p; exec cat");
        let (host, client) =
            (i32::try_from(world.status()["host_pid"].as_i64().unwrap()).unwrap(), client(&world));
        if place == "back" {
            term.send("\x1a");
            term.wait_text("Stopped");
            term.send("clear; bg\r");
            ask(&term, 1);
            wait_state(client, true);
        }
        support::kill(host, nix::libc::SIGSTOP);
        wait_state(host, true);
        support::kill(client, nix::libc::SIGTERM);
        if place == "back" {
            support::kill(client, nix::libc::SIGCONT);
        }
        assert!(ends_within(client, LIMIT), "{way:?} {place}");
        term.wait_text(&format!("process {host}, is stopped"));
        ask(&term, 2);
        support::kill(host, nix::libc::SIGCONT);
        assert!(ends_within(host, LIMIT), "{way:?} {place}");
        term.send("exit\r");
        term.wait_exit();
        world.assert_nothing_left();
    }
}

#[test]
fn a_client_that_is_stopped_in_a_flood_leaves_the_shell_alone() {
    for way in WAYS {
        for signal in [nix::libc::SIGSTOP, nix::libc::SIGTSTP] {
            let mut world = world();
            let mut term = begin(&mut world, way, "echo u$((1))p; read x; exec yes");
            term.send("\r");
            for n in 0..2 {
                term.wait_for("the flood", |s| s.lines().iter().filter(|line| *line == "y").count() > 30);
                let pid = client(&world);
                support::kill(pid, signal);
                wait_state(pid, true);
                // What the host had written by then may come behind the shell's word; from the next prompt on
                // nothing does.
                term.send("clear\r");
                ask(&term, n);
                assert_eq!(lines(&term, "y"), 0, "{way:?} {signal}:\n{}", term.lines().join("\n"));
                // In the background nothing is shown either; but a relay that was stopped right before a
                // write still does that one, like any program.
                if way.0 == "fd" || signal == nix::libc::SIGTSTP {
                    term.send("clear; bg\r");
                    ask(&term, n + 10);
                    wait_state(client(&world), true);
                    assert_eq!(lines(&term, "y"), 0, "{way:?} {signal} bg:\n{}", term.lines().join("\n"));
                }
                term.send("clear; fg\r");
            }
            term.wait_for("the flood", |s| s.lines().iter().filter(|line| *line == "y").count() > 30);
            term.send("\x03");
            term.wait_for("the prompt", |s| {
                s.lines().iter().rfind(|line| !line.is_empty()).is_some_and(|line| line.ends_with('$'))
            });
            leave(&mut term, &world, 130);
        }
    }
}

/// Stops and continues in quick succession, where no shell takes part.
#[test]
fn a_storm_of_stops_and_continues_ends_where_it_began() {
    for (way, words) in WAYS {
        let world = world();
        let script = "echo u$((1))p; exec cat";
        let mut term =
            if way == "fd" { run(&world, script) } else { super::relay::through_dev_tty(&world, script) };
        term.wait_text("u1p");
        assert!(words.is_empty() || way == "relay");
        let (pid, client) = (child(&world), client(&world));
        let raw = term.modes();
        for n in 0..60 {
            support::kill(client, nix::libc::SIGTSTP);
            if n % 3 == 0 {
                support::kill(pid, nix::libc::SIGTSTP);
            }
            if n % 2 == 0 {
                support::kill(client, nix::libc::SIGCONT);
            }
            if n % 5 == 0 {
                support::kill(pid, nix::libc::SIGCONT);
            }
        }
        support::wait_for("raw mode and a program that runs", || {
            (term.modes() == raw && !stat(pid).is_stopped() && world.status()["clients"][0]["via"] == way)
                .then_some(())
        });
        talk(&term, "word");
        term.send("\x04");
        assert_eq!(term.wait_exit(), 0);
        term.assert_whole();
        world.assert_nothing_left();
    }
}

#[test]
fn attach_continues_a_program_that_was_stopped_while_nobody_was_there() {
    let world = world();
    assert_eq!(world.ask(&["run", "--detached", "--", "sh", "-c", "echo u$((1))p; exec cat"]), "proj\n");
    let pid = child(&world);
    for n in 0..2 {
        support::kill(pid, nix::libc::SIGSTOP);
        support::wait_for("the host to see it", || (world.status()["state"] == "stopped").then_some(()));
        let mut term = world.terminal(&["attach"]);
        term.wait_text("u1p");
        wait_state(pid, false);
        talk(&term, &format!("word-{n}"));
        if n == 1 {
            term.send("\x04");
            assert_eq!(term.wait_exit(), 0);
        } else {
            support::kill(client_of(&world), nix::libc::SIGHUP);
            assert_eq!(term.wait_exit(), 0);
        }
        term.assert_whole();
    }
    world.assert_nothing_left();
}

fn client_of(world: &World) -> i32 {
    world.processes().into_iter().find(|(_, line)| line.contains(" attach")).unwrap().0
}

#[test]
fn keys_that_were_typed_while_the_host_was_stopped_arrive_when_it_goes_on() {
    for way in WAYS {
        let mut world = world();
        let mut term = begin(&mut world, way, "echo u$((1))p; exec cat");
        let host = i32::try_from(world.status()["host_pid"].as_i64().unwrap()).unwrap();
        support::kill(host, nix::libc::SIGSTOP);
        term.send("word\r");
        term.drained();
        assert_eq!(lines(&term, "word"), 0);
        support::kill(host, nix::libc::SIGCONT);
        support::wait_for("the echo", || (lines(&term, "word") >= 2).then_some(()));
        term.send("\x04");
        wait_prompt(&term);
        leave(&mut term, &world, 0);
    }
}

/// It cannot run on in the background: its terminal is the shell's. It waits there until `fg`.
#[test]
fn in_the_background_it_waits_for_fg() {
    for way in WAYS {
        let mut world = world();
        let mut term = begin(&mut world, way, "echo u$((1))p; exec cat");
        term.send("\x1a");
        term.wait_text("Stopped");
        for n in 0..2 {
            term.send("clear; bg\r");
            ask(&term, n);
            wait_state(client(&world), true);
        }
        term.send("clear; fg\r");
        talk(&term, "word");
        term.send("\x04");
        wait_prompt(&term);
        leave(&mut term, &world, 0);
    }
}

/// Started in the background: the program begins in the foreground, with the modes that the shell gives its
/// jobs.
#[test]
fn a_start_in_the_background_waits_for_fg() {
    for way in WAYS {
        let mut world = world();
        let mut term = shell(&mut world);
        term.send(format!("$H run -- sh -c 'stty -a >modes; echo u$((1))p; exec cat'{} &\r", way.1));
        term.send("stty -a >wanted\r");
        ask(&term, 1);
        let waits = |(pid, line): &(i32, String)| {
            line.contains("/hopty run")
                && hopty::sys::process::Stat::of(*pid).is_some_and(|stat| stat.is_stopped())
        };
        support::wait_for("the job to wait", || world.processes().iter().any(waits).then_some(()));
        assert!(!world.project.join("modes").exists(), "nothing runs yet");
        term.send("clear; fg\r");
        term.wait_text("u1p");
        talk(&term, "word");
        let read = |name: &str| std::fs::read_to_string(world.project.join(name)).unwrap();
        assert_eq!(read("modes"), read("wanted"));
        term.send("\x04");
        wait_prompt(&term);
        leave(&mut term, &world, 0);
    }
}

/// Every way to be stopped from outside: whom the signal is for, and which it is.
const TARGETS: [(&str, i32); 5] = [
    ("child", nix::libc::SIGSTOP),
    ("child", nix::libc::SIGTSTP),
    ("group", nix::libc::SIGTSTP),
    ("client", nix::libc::SIGTSTP),
    ("client", nix::libc::SIGSTOP),
];

fn stop(world: &World, (target, signal): (&str, i32)) {
    let pid = if target == "client" { client(world) } else { child(world) };
    let to = if target == "group" { -pid } else { pid };
    // SAFETY: kill takes two numbers; the group is the program's own.
    assert_eq!(unsafe { nix::libc::kill(to, signal) }, 0);
}

/// Stops a program in every way and sees its picture again each time.
fn comes_back(term: &Term, world: &World, shown: impl Fn(&Term)) {
    for (n, target) in (0..).zip(TARGETS) {
        shown(term);
        stop(world, target);
        term.wait_text("Stopped");
        ask(term, n);
        term.send("clear; fg\r");
        support::wait_for("both to go on", || {
            let on = !stat(child(world)).is_stopped() && !stat(client(world)).is_stopped();
            (on && world.status()["clients"][0]["via"] != "none").then_some(())
        });
        if target == ("client", nix::libc::SIGSTOP) {
            // It could not put its screen away; the program draws it anew when it is told.
            term.send("\x0c");
        }
        // Nothing of the shell's is left on the picture.
        term.wait_for("the picture", |s| {
            !s.lines().iter().any(|line| line.contains("shell-") || line.contains("Stopped"))
        });
    }
    shown(term);
}

#[test]
fn full_screen_programs_come_back_whoever_stopped_them() {
    for way in WAYS {
        for (program, sign, quit) in [
            ("vim -u NONE -N --cmd 'set t_RV= t_RB= t_RF= t_RC= t_RS= t_u7='", "~", ":q!\r"),
            ("less /etc/passwd", "root:", "q"),
        ] {
            if support::needs(program.split(' ').next().unwrap()).is_none() {
                continue;
            }
            let mut world = world();
            let mut term = shell(&mut world);
            term.send(format!("clear; $H run -- {program}{}\r", way.1));
            let shown = |term: &Term| {
                term.wait_for("the program", |s| {
                    s.alternate() && s.lines().iter().any(|line| line.starts_with(sign))
                });
            };
            shown(&term);
            comes_back(&term, &world, shown);
            term.send(quit);
            wait_prompt(&term);
            leave(&mut term, &world, 0);
        }
    }
}

/// The agent, stopped in every way.
fn the_agent_comes_back(kind: Kind) {
    let Some(mut world) = World::new(kind, Script::list([])) else { return };
    let mut term = shell(&mut world);
    term.send("clear; $H --model claude-sonnet-4-5 --dangerously-skip-permissions\r");
    term.wait_box();
    world.wait_state("idle");
    comes_back(&term, &world, |term| {
        term.wait_box();
        // It asks its terminal when it begins and when it goes on; what is answered to a client that is
        // stopped from outside is the shell's.
        term.send("x");
        term.wait_text("❯\u{a0}x");
        term.send("\x7f");
        term.wait_for("an empty box", |screen| {
            !screen.lines().iter().any(|line| line.starts_with("❯\u{a0}x"))
        });
        support::wait_for("the agent", || (!stat(child(&world)).is_stopped()).then_some(()));
    });
    term.submit("/exit");
    wait_prompt(&term);
    leave(&mut term, &world, 0);
}

#[test]
fn a_list_that_is_watched_gives_the_shell_its_screen_back() {
    let mut world = world();
    let mut term = shell(&mut world);
    term.send("$H ls --watch\r");
    term.wait_for("the list", |screen| screen.alternate() && screen.lines()[0].starts_with("no session"));
    term.send("\x1a");
    wait_prompt(&term);
    ask(&term, 1);
    term.send("fg\r");
    term.wait_for("the list", |screen| screen.alternate() && screen.lines()[0].starts_with("no session"));
    term.send("\x03");
    wait_prompt(&term);
    leave(&mut term, &world, 130);
}

mod stand_in {
    #[test]
    fn the_agent_comes_back() {
        super::the_agent_comes_back(super::Kind::StandIn);
    }
}

mod real {
    #[test]
    fn the_agent_comes_back() {
        super::the_agent_comes_back(super::Kind::Real);
    }
}
