//! Job control: Ctrl+Z gives the shell back, `fg` goes on; what is sent to the client from outside; who has
//! the keys.

use hopty::standin::script::Script;

use super::support::claude::{Kind, hopty};
use super::support::term::Term;
use super::support::world::World;
use super::{child, client, support, world};

/// An interactive shell in a terminal, with hopty as `$H`.
pub(super) fn shell(world: &mut World) -> Term {
    world.set("PS1", "$ ");
    world.set("H", hopty().to_str().unwrap());
    let bash = std::path::Path::new("/bin/bash");
    let term = if bash.exists() {
        Term::start(bash, &["--norc", "--noprofile", "-i"], &world.env, &world.project, (120, 40))
    } else {
        Term::start("/bin/sh".as_ref(), &["-i"], &world.env, &world.project, (120, 40))
    };
    term.wait_for("the prompt", |s| s.lines()[0] == "$");
    term
}

/// Waits until the shell has the terminal again.
pub(super) fn wait_prompt(term: &Term) {
    term.wait_for("the prompt", |s| {
        !s.alternate() && s.lines().iter().rfind(|l| !l.is_empty()).is_some_and(|l| l == "$")
    });
}

/// Waits until the host has the terminal: what is typed before that the terminal has shown itself.
fn taken(world: &World) {
    child(world);
    support::wait_for("the terminal", || (world.status()["clients"][0]["via"] == "fd").then_some(()));
}

/// Types a command at the shell's prompt and waits for its answer.
pub(super) fn ask(term: &Term, n: u32) {
    term.send(format!("echo shell-{n}-$((40 + 2))\r"));
    term.wait_text(&format!("shell-{n}-42"));
}

/// Ends the program with Ctrl+D and the shell after it.
pub(super) fn leave(term: &mut Term, world: &World, code: i32) {
    term.send("echo code-$?-\r");
    term.wait_text(&format!("code-{code}-"));
    term.send("exit\r");
    term.wait_exit();
    world.assert_nothing_left();
}

#[test]
fn ctrl_z_gives_the_shell_back_and_fg_goes_on_several_times() {
    let mut world = world();
    let mut term = shell(&mut world);
    term.send("$H run -- cat\r");
    taken(&world);
    for n in 0..3 {
        // The terminal echoes it, and cat says it again.
        term.send(format!("line-{n}\r"));
        term.wait_for("the echo of cat", |s| {
            s.lines().iter().filter(|l| **l == format!("line-{n}")).count() >= 2
        });
        term.send("\x1a");
        term.wait_text("Stopped");
        ask(&term, n);
        assert_eq!(world.status()["state"], "stopped");
        term.send("clear; fg\r");
        support::wait_for("the child to go on", || (world.status()["state"] == "unknown").then_some(()));
    }
    term.send("end\r\x04");
    term.wait_text("end");
    wait_prompt(&term);
    leave(&mut term, &world, 0);
}

#[test]
fn a_program_that_stops_at_once_gives_the_shell_back() {
    let mut world = world();
    let mut term = shell(&mut world);
    // Before its terminal has come, or just then.
    term.send("$H run -- sh -c 'kill -TSTP $$; echo went-on; exec cat'\r");
    term.wait_text("Stopped");
    ask(&term, 1);
    assert_eq!(world.status()["state"], "stopped");
    assert!(!String::from_utf8_lossy(&term.bytes()).contains("\nwent-on"), "it waits for fg");
    term.send("fg\r");
    term.wait_for("the child to go on", |s| s.lines().iter().any(|line| line == "went-on"));
    term.send("\x04");
    wait_prompt(&term);
    leave(&mut term, &world, 0);
    // Without a terminal there is no shell to return to: attaching continues the program.
    world.ask(&[
        "run",
        "--name",
        "proj",
        "--detached",
        "--",
        "sh",
        "-c",
        "kill -TSTP $$; echo went-on; exec cat",
    ]);
    world.wait_state("stopped");
    let mut term = world.terminal(&["attach", "proj"]);
    term.wait_text("went-on");
    term.send("\x04");
    assert_eq!(term.wait_exit(), 0);
    world.assert_nothing_left();
}

#[test]
fn full_screen_programs_are_suspended_with_a_whole_terminal_and_come_back() {
    for (program, sign, quit) in [("vim -u NONE -N", "~", ":q!\r"), ("less /etc/passwd", "root:", "q")] {
        let mut world = world();
        if support::needs(program.split(' ').next().unwrap()).is_none() {
            continue;
        }
        let mut term = shell(&mut world);
        term.send(format!("$H run -- {program}\r"));
        for n in 0..3 {
            term.wait_for("the program", |s| s.alternate() && s.lines().iter().any(|l| l.starts_with(sign)));
            term.send("\x1a");
            term.wait_text("Stopped");
            term.wait_for("the primary screen", |s| !s.alternate() && s.cursor().visible);
            ask(&term, n);
            term.send("clear; fg\r");
        }
        term.wait_for("the program", |s| s.alternate() && s.lines().iter().any(|l| l.starts_with(sign)));
        term.send(quit);
        wait_prompt(&term);
        leave(&mut term, &world, 0);
    }
}

/// A shell that does not mend what its jobs leave behind, unlike bash: it finds its terminal bit for bit.
#[test]
fn a_simple_shell_finds_its_modes_bit_for_bit() {
    let Some(_) = support::needs("dash") else { return };
    for redirected in ["", " </dev/tty >/dev/tty"] {
        let mut world = world();
        world.set("PS1", "$ ");
        world.set("H", hopty().to_str().unwrap());
        let script = "printf '\\033[?1049h\\033[?1000h\\033[?2004h\\033[?25l'; stty raw -echo; echo \
                      u$((1))p; cat; kill -STOP $$; exec cat";
        std::fs::write(world.project.join("script"), script.replace("\\\\", "\\")).unwrap();
        let mut term = Term::start("/bin/dash".as_ref(), &["-i"], &world.env, &world.project, (120, 40));
        term.wait_for("the prompt", |s| s.lines()[0] == "$");
        term.send(format!("$H run -- sh ./script{redirected}\r"));
        term.wait_text("u1p");
        let pid = super::child(&world);
        for n in 0..3 {
            support::kill(pid, nix::libc::SIGSTOP);
            term.wait_text("Stopped");
            wait_prompt(&term);
            ask(&term, n);
            term.assert_whole();
            term.send("clear; fg\r");
            support::wait_for("raw mode", || (term.modes() != term.before).then_some(()));
            term.wait_for("the modes", |s| s.alternate() && s.modes().contains(&"1000".to_owned()));
        }
        support::kill(pid, nix::libc::SIGKILL);
        term.wait_for("the prompt", |s| !s.alternate() && s.lines().iter().any(|line| line.ends_with('$')));
        ask(&term, 9);
        term.assert_whole();
        term.send("exit\r");
        term.wait_exit();
        world.assert_nothing_left();
    }
}

/// The shell inside has jobs of its own that are stopped; its own stop is the outer shell's affair.
#[test]
fn a_shell_inside_keeps_its_own_stopped_jobs() {
    let Some(_) = support::needs("dash") else { return };
    let mut world = world();
    let mut term = shell(&mut world);
    let inner = "PS1='inner> ' ENV= $H run -- dash -i";
    term.send(format!("{inner}\r"));
    term.wait_text("inner>");
    let pid = super::child(&world);
    term.send("cat\r");
    term.send("one\r");
    term.wait_for("the echo of cat", |s| s.lines().iter().filter(|l| **l == "one").count() >= 2);
    term.send("\x1a");
    term.wait_text("Stopped");
    assert_ne!(world.status()["state"], "stopped");
    for n in 0..2 {
        term.send("clear\r");
        term.wait_for("a clear screen", |s| s.lines()[0] == "inner>");
        // In words of the inner shell's, as `suspend` does it.
        term.send("kill -STOP $$\r");
        wait_prompt(&term);
        assert_eq!(world.status()["state"], "stopped");
        ask(&term, n);
        term.send("clear; fg\r");
        support::wait_for("the child to go on", || (world.status()["state"] == "unknown").then_some(()));
        term.send("echo in$((1))side\r");
        term.wait_text("in1side");
    }
    term.send("fg\r");
    term.send("two\r");
    term.wait_for("the echo of cat", |s| s.lines().iter().filter(|l| **l == "two").count() >= 2);
    term.send("\x04");
    term.send("exit 3\r");
    term.wait_for("the prompt", |s| {
        s.lines().iter().rfind(|line| !line.is_empty()).is_some_and(|line| line.ends_with('$'))
    });
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    leave(&mut term, &world, 3);
}

/// Claude's own Ctrl+Z, twice, and its end.
fn the_agent_is_suspended_and_comes_back(kind: Kind) {
    let Some(mut world) = World::new(kind, Script::list([])) else { return };
    let mut term = shell(&mut world);
    term.send("$H --model claude-sonnet-4-5 --dangerously-skip-permissions\r");
    term.wait_box();
    world.wait_state("idle");
    for n in 0..2 {
        term.send("\x1a");
        term.wait_text("Stopped");
        ask(&term, n);
        term.send("clear; fg\r");
        world.wait_state("idle");
        term.wait_box();
    }
    term.submit("/exit");
    wait_prompt(&term);
    leave(&mut term, &world, 0);
}

mod stand_in {
    #[test]
    fn the_agent_is_suspended_and_comes_back() {
        super::the_agent_is_suspended_and_comes_back(super::Kind::StandIn);
    }
}

mod real {
    #[test]
    fn the_agent_is_suspended_and_comes_back() {
        super::the_agent_is_suspended_and_comes_back(super::Kind::Real);
    }
}

/// hopty as one part of a job: the whole job stops.
#[test]
fn ctrl_z_stops_the_whole_job() {
    let mut world = world();
    let mut term = shell(&mut world);
    term.send("sh -c '$H run -- cat; echo after-$?-'\r");
    taken(&world);
    term.send("one\r");
    term.wait_for("the echo of cat", |s| s.lines().iter().filter(|l| **l == "one").count() >= 2);
    term.send("\x1a");
    term.wait_text("Stopped");
    ask(&term, 1);
    term.send("fg\r");
    term.send("two\r");
    term.wait_for("the echo of cat", |s| s.lines().iter().filter(|l| **l == "two").count() >= 2);
    term.send("\x04");
    term.wait_text("after-0-");
    leave(&mut term, &world, 0);
}

/// A program that was stopped in the middle of a full-screen picture, by somebody else.
#[test]
fn a_child_that_is_stopped_from_outside_leaves_a_whole_terminal_and_its_picture_comes_back() {
    let mut world = world();
    let mut term = shell(&mut world);
    term.send(
        "$H run -- sh -c \"printf '\\033[?1049h\\033[?1000h\\033[?2004h\\033[3;5Hpicture\\033[31mred'; \
               exec cat\"\r",
    );
    term.wait_text("picturered");
    support::kill(super::child(&world), nix::libc::SIGSTOP);
    term.wait_text("Stopped");
    term.wait_for("a whole terminal", |s| !s.alternate() && !s.modes().contains(&"1000".to_owned()));
    ask(&term, 1);
    term.send("fg\r");
    term.wait_for("the picture", |s| {
        s.alternate()
            && s.lines()[2] == "    picturered"
            && ["1000", "2004"].iter().all(|m| s.modes().contains(&(*m).to_owned()))
    });
    term.send("\x04");
    wait_prompt(&term);
    leave(&mut term, &world, 0);
}

#[test]
fn a_client_that_is_stopped_from_outside_leaves_the_keys_to_the_shell() {
    for signal in [nix::libc::SIGTSTP, nix::libc::SIGSTOP] {
        let mut world = world();
        let mut term = shell(&mut world);
        let file = world.project.join("read");
        term.send(format!(
            "$H run -- sh -c 'stty -echo; : >{0}; echo u$((1))p; exec cat >>{0}'\r",
            file.display()
        ));
        term.wait_text("u1p");
        for n in 0..2 {
            let pid = client(&world);
            support::kill(pid, signal);
            // The word may still stand there from the last time.
            let stopped =
                || hopty::sys::process::Stat::of(pid).is_some_and(|stat| stat.is_stopped()).then_some(());
            support::wait_for("the client's stop", stopped);
            wait_prompt(&term);
            for k in 0..5 {
                ask(&term, 10 * n + k);
            }
            term.send("clear; bg\r");
            ask(&term, 10 * n + 6);
            assert_eq!(
                std::fs::read_to_string(&file).unwrap(),
                "seen\n".repeat(n as usize),
                "the shell's keys are the shell's"
            );
            term.send("clear; fg\r");
            term.wait_text("run --");
            term.send("seen\r");
            support::wait_for("the line in the program", || {
                (std::fs::read_to_string(&file).unwrap() == "seen\n".repeat(n as usize + 1)).then_some(())
            });
        }
        term.send("\x04");
        wait_prompt(&term);
        leave(&mut term, &world, 0);
    }
}

#[test]
fn a_suspended_job_that_is_killed_ends() {
    let mut world = world();
    let mut term = shell(&mut world);
    term.send("$H run -- cat\r");
    taken(&world);
    term.send("one\r");
    term.wait_for("the echo of cat", |s| s.lines().iter().filter(|l| **l == "one").count() >= 2);
    term.send("\x1a");
    term.wait_text("Stopped");
    term.send("kill %1\r");
    support::wait_for("the session's end", || world.ask(&["ls", "--json"]).starts_with("[]").then_some(()));
    ask(&term, 1);
    term.send("wait; true\r");
    leave(&mut term, &world, 0);
}

/// What came while the client was stopped, and how it ended, is told when it goes on.
#[test]
fn a_program_that_ends_while_its_client_is_stopped_is_heard_afterwards() {
    let mut world = world();
    let mut term = shell(&mut world);
    term.send("$H run -- sh -c 'echo u$((1))p; read x <go; echo la$((1))st; exit 7'\r");
    nix::unistd::mkfifo(&world.project.join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    term.wait_text("u1p");
    support::kill(client(&world), nix::libc::SIGSTOP);
    term.wait_text("Stopped");
    std::fs::write(world.project.join("go"), "\n").unwrap();
    world.wait_decision("session.ended", 1);
    ask(&term, 1);
    assert!(!term.lines().iter().any(|line| line.contains("la1st")), "the terminal is the shell's");
    term.send("clear; fg\r");
    term.wait_text("la1st");
    wait_prompt(&term);
    leave(&mut term, &world, 7);
}

#[test]
fn a_host_that_dies_while_its_client_is_suspended_leaves_a_whole_terminal() {
    let mut world = world();
    let mut term = shell(&mut world);
    term.send("$H run -- cat\r");
    taken(&world);
    term.send("one\r");
    term.wait_for("the echo of cat", |s| s.lines().iter().filter(|l| **l == "one").count() >= 2);
    let host = i32::try_from(world.status()["host_pid"].as_i64().unwrap()).unwrap();
    term.send("\x1a");
    term.wait_text("Stopped");
    support::kill(host, nix::libc::SIGKILL);
    ask(&term, 1);
    term.send("clear; fg\r");
    term.wait_text("the session's host died");
    wait_prompt(&term);
    leave(&mut term, &world, 125);
}

/// As in a tmux pane or over ssh: nobody could continue it, so it goes on at once.
#[test]
fn an_orphaned_group_goes_on_at_once() {
    let world = world();
    let mut term = super::run(&world, "exec cat");
    super::child(&world);
    for n in 0..3 {
        term.send(format!("line-{n}\r"));
        term.wait_for("the echo of cat", |s| {
            s.lines().iter().filter(|l| l.ends_with(&format!("line-{n}"))).count() >= 2
        });
        term.send("\x1a");
        term.wait_for("Ctrl+Z", |s| s.lines().iter().any(|l| l.contains("^Z")));
    }
    term.send("\r\x04");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    world.assert_nothing_left();
}
