//! What a person types before the program reads: shown once, and read as if hopty were not there.

use super::jobs::wait_prompt;
use super::support::term::Term;
use super::support::world::World;
use super::{support, world};

/// What a shell's terminal shows where `typed`, shown as `echo`, was typed ahead of `program`, and `later` as
/// soon as that says `read`. With hopty or without it.
fn shown(with: bool, typed: &str, echo: &str, program: &str, read: &str, later: &str) -> String {
    let mut world = world();
    world.set("PS1", "$ ");
    std::fs::write(world.project.join("program"), program).unwrap();
    nix::unistd::mkfifo(&world.project.join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let called = if with {
        format!("{} run -- sh ./program", support::claude::hopty().display())
    } else {
        "sh ./program".to_owned()
    };
    // A name of one length, so that both look alike.
    std::fs::write(world.project.join("start"), format!("read x <go; exec {called}")).unwrap();
    let mut term = Term::start("/bin/sh".as_ref(), &["-i"], &world.env, &world.project, (80, 24));
    term.wait_text("$");
    term.send("sh ./start\r");
    term.wait_text("./start");
    waits(&world);
    term.send(typed);
    term.wait_text(echo);
    std::fs::write(world.project.join("go"), "\n").unwrap();
    term.wait_text(read);
    term.send(later);
    term.wait_text("end=");
    // Before it has its terminal back, what is typed is still the program's.
    wait_prompt(&term);
    term.send("exit\r");
    term.wait_exit();
    term.drained();
    world.assert_nothing_left();
    String::from_utf8_lossy(&term.bytes()).into_owned()
}

/// Until the shell's job reads from the fifo: what is typed by then is typed into a terminal that edits
/// lines.
fn waits(world: &World) {
    support::wait_for("the job", || {
        let job = world.processes().into_iter().find(|(_, line)| line.contains("./start"))?;
        std::fs::read_to_string(format!("/proc/{}/wchan", job.0))
            .ok()
            .filter(|place| place.contains("fifo") || place.contains("wait"))
    });
}

/// Says how often and what it could read, each time until Enter or an end of file.
const READS: &str = "echo ready; n=0; while x=$(dd bs=4096 count=1 2>/dev/null; echo .) && [ \"$x\" != . ]; \
                     do \
    n=$((n+1)); echo \"$n<${x%.}>\"; done; echo end=$n";

#[test]
fn it_is_shown_once_and_read_line_by_line() {
    for (typed, echo, read, later) in [
        ("one\rtwo\r", "two", "2<two", "last\r\x04"),
        ("one\rtw", "tw", "1<one", "\x7fwo\r\x04"),
        ("a\x7fb\r\x16\x03c\r", "^Cc", "2<", "last\r\x04"),
        ("cut\x04\rmore\r", "more", "3<more", "last\r\x04"),
    ] {
        let of = |with| shown(with, typed, echo, READS, read, later);
        assert_eq!(of(true), of(false), "{typed:?}");
    }
}

#[test]
fn an_end_of_file_is_one() {
    let of = |with| shown(with, "one\r\x04", "one", READS, "end=", "");
    assert_eq!(of(true), of(false));
}

#[test]
fn a_program_that_reads_keys_gets_them() {
    let program = "stty raw -echo; echo ready; dd bs=1 count=7 2>/dev/null | od -An -c; stty sane; echo end=";
    let of = |with| shown(with, "ab\rcd", "cd", program, "ready", "ef");
    assert_eq!(of(true), of(false));
}
