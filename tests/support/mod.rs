//! What tests are made of: a world of their own (home, project, API), a terminal to look at, and Claude, real
//! or stand-in.
//!
//! Nothing here sleeps to be on the safe side: tests wait for a screen, a file, a request or a journal line,
//! and give up after a limit with everything printed that is known.

#![allow(dead_code)]
#![allow(clippy::unwrap_used, reason = "a test may")]

pub mod cells;
pub mod claude;
pub mod limits;
pub mod nobody;
pub mod program_files;
pub mod skip;
pub mod small_disk;
pub mod term;
pub mod wait;
pub mod wire;
pub mod world;

use std::path::Path;
use std::process::Command;

use hopty::standin::script::{Script, ScriptedReply};

pub use skip::{needs, skip};
pub use wait::{LIMIT, wait_for};

/// A shell in which hopty runs `verb` and shows `text`, gets its terminal back from it this many times. The
/// shell is still there afterwards.
pub fn suspend_in_a_shell(
    world: &mut world::World,
    size: (u16, u16),
    verb: &str,
    text: &str,
    times: usize,
) -> term::Term {
    world.set("PS1", "$ ");
    world.set("H", claude::hopty().to_str().unwrap());
    let shell = ["--norc", "--noprofile", "-i"];
    let term = term::Term::start("/bin/bash".as_ref(), &shell, &world.env, &world.project, size);
    term.wait_for("the prompt", |screen| screen.lines()[0] == "$");
    term.send(format!("$H {verb}\r"));
    for _ in 0..times {
        term.wait_text(text);
        term.send("\x1a");
        term.wait_for("the shell", |screen| {
            !screen.alternate() && screen.lines().iter().any(|line| line.contains("Stopped"))
        });
        term.send("clear; fg\r");
    }
    term.wait_text(text);
    term.send("q");
    term.wait_for("the prompt", |screen| !screen.alternate());
    term
}

/// Waits until the pause after a save that failed is over. `status`: that of the session.
pub fn wait_pause(status: impl Fn() -> serde_json::Value) {
    wait_for("the end of the pause", || (status()["next_handover"]["when"] != "held").then_some(()));
}

/// Each case becomes two tests, `stand_in::NAME` and `real::NAME`.
#[allow(unused_macros)]
macro_rules! both {
    ($($name:ident),* $(,)?) => {
        mod stand_in {
            $(#[test] fn $name() { super::$name(super::Kind::StandIn); })*
        }
        mod real {
            $(#[test] fn $name() { super::$name(super::Kind::Real); })*
        }
    };
}
#[allow(unused_imports)]
pub(crate) use both;

/// Whether a process is a session's host, by the name that it gives itself.
pub fn is_host(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .is_ok_and(|name| ["hopty-host", "hopty-plain"].contains(&name.trim_end()))
}

/// What a program wrote.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// git, with a name for who commits.
pub fn git(dir: &Path, args: &[&str]) {
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    let done = Command::new("git")
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(who)
        .args(args)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Answers `Hello.`, and names the handoff that a conversation begins with.
pub fn greets() -> Script {
    Script::each(|request, _| {
        let text = request
            .continued_handoff()
            .map_or_else(|| "Hello.".to_owned(), |id| format!("Continuing from handoff {id}."));
        ScriptedReply::text(text).filling(3000)
    })
}

/// Ticks of processor time (10 ms) that a process has used so far; `None` when it is gone.
pub fn ticks(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// Sends a signal to one process.
pub fn kill(pid: i32, signal: i32) {
    assert!(pid > 1);
    // SAFETY: kill takes two numbers.
    assert_eq!(
        unsafe { nix::libc::kill(pid, signal) },
        0,
        "kill {signal} {pid}: {}",
        std::io::Error::last_os_error()
    );
}
