//! What was typed and no program has read is the shell's afterwards, as without hopty.

use std::os::fd::AsRawFd;

use super::jobs::{leave, shell, wait_prompt};
use super::support::program_files;
use super::support::term::Term;
use super::{child, support, world};

/// Whether the kernel lets a program put keys back into its terminal.
fn can_be_given_back() -> bool {
    let refused =
        std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti").is_ok_and(|word| word.trim() == "0");
    let may = !refused || nix::unistd::geteuid().is_root();
    if !may {
        support::skip("the kernel lets only root put keys back into a terminal (dev.tty.legacy_tiocsti)");
    }
    may
}

/// The rows of the screen from the one with `from` on, less those that hold nothing.
fn rows(term: &Term, from: &str) -> Vec<String> {
    let lines: Vec<String> = term.lines().into_iter().filter(|line| !line.is_empty()).collect();
    let at = lines.iter().rposition(|line| line.contains(from)).unwrap_or_default();
    lines[at..].to_vec()
}

/// Waits until a terminal in raw mode holds this many bytes that no program has read: the kernel
/// delivers them some time after they were written.
fn wait_unread(tty: &std::fs::File, bytes: usize) {
    support::wait_for("what was typed to be in the terminal", || {
        let mut held: nix::libc::c_int = 0;
        // SAFETY: FIONREAD writes one int.
        let done = unsafe { nix::libc::ioctl(tty.as_raw_fd(), nix::libc::FIONREAD, &raw mut held) };
        (done == 0 && usize::try_from(held) == Ok(bytes)).then_some(())
    });
}

/// What a shell shows after `script` was run, with hopty or without it, where `typed` was typed before the
/// fifo let it go on, and the rest behind what that says, until `last` is a line.
fn after(with: bool, script: &str, ready: &str, (typed, later): (&str, &str), last: &str) -> Vec<String> {
    let mut world = world();
    let mut term = shell(&mut world);
    std::fs::write(world.project.join("program"), script).unwrap();
    nix::unistd::mkfifo(&world.project.join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    term.send(if with { "$H run -- sh ./program\r" } else { "sh ./program\r" });
    term.wait_text(ready);
    let tty = if with {
        std::fs::File::open(format!("/proc/{}/fd/0", child(&world))).unwrap()
    } else {
        term.program_side()
    };
    term.send(typed);
    if with {
        // What the host wrote, and what it had no room for, is there when it answers.
        world.status();
    }
    if script.contains("-echo") {
        wait_unread(&tty, typed.len());
    } else {
        let last = typed.trim_end_matches('\r').rsplit('\r').next().unwrap();
        term.wait_for("its echo", |s| s.lines().iter().any(|line| line == last));
    }
    std::fs::write(world.project.join("go"), "\n").unwrap();
    term.wait_for("what it says", |s| s.lines().iter().any(|line| line.starts_with("got=")));
    if !later.is_empty() {
        // Before the shell reads by itself again, the terminal would echo it, too.
        let begun = format!("$ {}", typed.rsplit('\r').next().unwrap());
        term.wait_for("the line that is begun", |s| s.lines().contains(&begun));
    }
    term.send(later);
    term.wait_for("what it says last", |s| s.lines().iter().any(|line| line == last));
    wait_prompt(&term);
    let seen = rows(&term, ready);
    leave(&mut term, &world, 0);
    seen
}

#[test]
fn what_a_program_did_not_read_is_the_shell_s() {
    if !can_be_given_back() {
        return;
    }
    for (script, typed, later, last) in [
        // A program that reads nothing: its terminal has shown the line.
        ("echo rea$((1))dy; read x <go", "echo got=$((6*7))\r", "", "got=42"),
        // A line and the begin of another, which the shell goes on with.
        ("echo rea$((1))dy; read x <go", "echo got=1\rec", "ho got=2\r", "got=2"),
        // One that shows nothing and takes keys as they are.
        ("stty raw -echo; echo rea$((1))dy; read x <go; stty sane", "echo got=$((6*7))\r", "", "got=42"),
        // What it has read is its own.
        ("echo rea$((1))dy; read y; read x <go", "mine\recho got=$y.\r", "", "got=."),
    ] {
        let of = |with| after(with, script, "rea1dy", (typed, later), last);
        let (with, without) = (of(true), of(false));
        assert_eq!(with, without, "{script}: {typed:?}");
    }
}

/// Neither what a script sends nor what a terminal answers is a command.
#[test]
fn only_what_a_person_typed_is_given_back() {
    let mut world = world();
    let mut term = shell(&mut world);
    nix::unistd::mkfifo(&world.project.join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for sends in [true, false] {
        term.send("clear; $H run -- sh -c 'stty -icanon -echo; echo rea$((1))dy; read x <go; stty sane'\r");
        term.wait_text("rea1dy");
        child(&world);
        if sends {
            assert!(world.hopty(&["send", "proj", "touch sent\r"]).status.success());
        }
        term.send("\x1b[?62;c\x1b[I");
        if sends {
            term.send("touch typed\r");
        }
        world.status();
        std::fs::write(world.project.join("go"), "\n").unwrap();
        wait_prompt(&term);
    }
    term.send("echo la$((1))st\r");
    term.wait_text("la1st");
    assert!(!term.lines().iter().any(|line| line.contains("62")), "{:?}", term.lines());
    assert!(!world.project.join("sent").exists() && !world.project.join("typed").exists());
    leave(&mut term, &world, 0);
}

/// The program was not found, or is none: what was typed ahead of it is still there.
#[test]
fn a_start_that_fails_takes_nothing_from_the_keyboard() {
    if !can_be_given_back() {
        return;
    }
    for (program, typed) in
        [("./none", "echo got=$((6*7))\r"), ("./plain", "echo got=1\recho got"), ("./none", "")]
    {
        let mut world = world();
        let mut term = shell(&mut world);
        std::fs::write(world.project.join("plain"), "no program").unwrap();
        nix::unistd::mkfifo(&world.project.join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        term.send(format!("read x <go; $H run -- {program}\r"));
        term.wait_text(program);
        // The shell edits its line in other modes than those in which it runs something.
        support::wait_for("the job", || (term.modes() == term.before).then_some(()));
        term.send(typed);
        term.wait_text(typed.split('\r').next_back().filter(|text| !text.is_empty()).unwrap_or("run"));
        std::fs::write(world.project.join("go"), "\n").unwrap();
        term.wait_text("hint: ");
        if typed.ends_with('\r') {
            term.wait_text("got=42");
        }
        if typed.ends_with("echo got") {
            // The shell shows it again, as what was typed ahead of anything.
            term.wait_for("the line", |s| s.lines().iter().any(|line| line == "$ echo got"));
            term.send("=2\r");
            term.wait_text("got=2");
        }
        wait_prompt(&term);
        leave(&mut term, &world, if typed.is_empty() { 127 } else { 0 });
    }
}

/// Claude asks its terminal something when it has left raw mode already. Its terminal shows no answer, and
/// what a person types is shown as ever.
#[test]
fn an_answer_that_comes_while_claude_ends_is_not_shown() {
    let mut world = world();
    let claude = world.root.path().join("claude");
    let script = "#!/bin/sh\ncase $* in *--version*) exit;; esac\nstty sane\nprintf '\\033[c'\necho rea$((1))dy\nread x\necho \"got=$x.\"\n";
    program_files::write(&claude, script);
    world.set("HOPTY_PROGRAM_CLAUDE", claude.to_str().unwrap());
    let mut term = world.start(&[]);
    // The terminal has answered before it shows this.
    term.wait_text("rea1dy");
    term.send("mine\r");
    term.wait_text("got=mine.");
    assert!(term.lines().iter().any(|line| line == "mine"), "{:?}", term.lines());
    assert_eq!(term.wait_exit(), 0);
}
