//! `send` into any program: bytes as they are, keys by name, and a Ctrl+C that counts as one.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::support::claude::hopty;
use super::support::text;
use super::support::world::World;
use super::{assert_fails, end_all, list, support, world};

/// A program that writes what it reads, byte by byte, into `read` in the project, with `mode` as its first
/// output.
fn reader(world: &World, mode: &str) {
    let script = format!("stty raw -echo; printf '{mode}ready'; exec dd bs=1 of=read status=none");
    world.run_detached("one", &["sh", "-c", &script]);
    world.ask(&["wait", "one", "text=ready"]);
}

/// Waits until the program has read `wanted`, and nothing else before it.
fn assert_read(world: &World, wanted: &[u8]) {
    let path = world.project.join("read");
    let read = support::wait_for("the bytes", || {
        std::fs::read(&path).ok().filter(|read| read.len() >= wanted.len())
    });
    assert_eq!(
        read,
        wanted,
        "{:?} and not {:?}",
        String::from_utf8_lossy(&read),
        String::from_utf8_lossy(wanted)
    );
}

fn with_stdin(world: &World, args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(hopty());
    command.args(args).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Whoever refuses before it reads closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn every_byte_comes_as_it_is() {
    let world = world();
    reader(&world, "");
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(world.ask(&["send", "one", "ab\u{1b}[201~\r\nä"]), "");
    let sent = with_stdin(&world, &["send", "one", "--stdin", "--json"], &all);
    let answer: Value = serde_json::from_slice(&sent.stdout).unwrap();
    assert_eq!(answer["typed"], 256);
    let mut wanted = "ab\u{1b}[201~\r\nä".as_bytes().to_vec();
    wanted.extend(&all);
    assert_read(&world, &wanted);
    let long = vec![b'x'; 300_000];
    assert!(with_stdin(&world, &["send", "one", "--stdin"], &long).status.success());
    wanted.extend(&long);
    assert_read(&world, &wanted);
    assert_fails(
        &with_stdin(&world, &["send", "one", "--stdin"], &vec![b'x'; 600_000]),
        2,
        "the text exceeds the limit of 512 KiB",
    );
    assert_fails(
        &with_stdin(&world, &["send", "one", "--stdin"], &vec![b'x'; 5_000_000]),
        2,
        "the text exceeds the limit of 512 KiB",
    );
    end_all(&world);
}

#[test]
fn keys_have_names_and_the_form_that_the_program_wants() {
    for (mode, up) in [("", "\x1b[A"), ("\\033[?1h", "\x1bOA")] {
        let world = world();
        reader(&world, mode);
        world.ask(&["send", "one", "--keys", "up,escape,a,alt-b,enter"]);
        assert_read(&world, format!("{up}\x1ba\x1bb\r").as_bytes());
        assert_fails(
            &world.hopty(&["send", "one", "--keys", "a,entre"]),
            2,
            "unknown key `entre`; the nearest is `enter`",
        );
        end_all(&world);
    }
}

#[test]
fn only_claude_is_asked() {
    let world = world();
    world.run_detached("one", &["cat"]);
    for args in [&["ask", "one", "hi"][..], &["ask", "one", "--stdin"]] {
        assert_fails(&world.hopty(args), 4, "one: it does not run Claude");
    }
    let said = world.hopty(&["answer", "one"]);
    assert_fails(&said, 4, "one: it does not run Claude");
    assert!(!text(&said.stderr).contains("hopty ask"), "{said:?}");
    for args in [&["back", "one"][..], &["handoff", "snooze", "one"], &["context", "one"]] {
        assert_fails(&world.hopty(args), 4, "one: it does not run Claude");
    }
    assert_eq!(world.ask(&["screen", "one"]).trim(), "", "nothing was typed");
    let sent = world.hopty(&["send", "one", "text", "--submit"]);
    assert_eq!(text(&sent.stdout), "unknown\n");
    assert_fails(&sent, 1, "one: it does not run Claude, so nothing proves that it took the text");
    end_all(&world);
}

#[test]
fn what_cannot_be_sent_is_said() {
    let world = world();
    world.run_detached("one", &["sleep", "1000"]);
    for (args, exit, words) in [
        (&["send"][..], 2, "give a session and a text"),
        (&["send", "one"], 2, "give a session and a text"),
        (&["send", "one", "x", "--keys", "a"], 2, "give the text only once"),
        (&["send", "one", "--keys", "a", "--submit"], 2, "cannot be used with"),
        (&["send", "nosuch", "x"], 3, "there is no such session"),
        (&["send", "Bad Name", "x"], 2, "not a session name"),
    ] {
        assert_fails(&world.hopty(args), exit, words);
    }
    // From another directory, the only session does not match.
    let mut elsewhere = Command::new(hopty());
    elsewhere.args(["send", "--keys", "a"]).env_clear().envs(world.env.iter().cloned()).current_dir("/");
    assert_fails(&elsewhere.output().unwrap(), 3, "no session is running in this directory");
    world.ask(&["send", "--keys", "a"]);
    end_all(&world);
    assert_fails(&world.hopty(&["send", "one", "x"]), 1, "the session has ended");
}

/// The exit table does not ask whose Ctrl+C it was.
#[test]
fn a_sent_ctrl_c_is_a_persons() {
    let world = world();
    world.run_detached("one", &["sh", "-c", "trap 'exit 0' INT; echo trapped; while :; do sleep 1000; done"]);
    world.ask(&["wait", "one", "text=trapped"]);
    world.ask(&["send", "one", "--keys", "ctrl-c"]);
    let session: Value = serde_json::from_str(&world.ask(&["wait", "one", "exit", "--json"])).unwrap();
    assert_eq!(session["exit"]["cause"], "user_interrupt");
    world.assert_nothing_left();
}

/// Nobody knows what a program that is no agent makes of a prompt.
#[test]
fn submitted_to_any_program_it_is_text_and_enter() {
    for (mode, wanted) in [("", "one\rtwo\r"), ("\\033[?2004h", "\x1b[200~one\ntwo\x1b[201~\r")] {
        let world = world();
        reader(&world, mode);
        let output = world.hopty(&["send", "one", "one\ntwo\n", "--submit"]);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), "unknown\n"));
        assert_read(&world, wanted.as_bytes());
        end_all(&world);
    }
}

/// A program that reads nothing costs bounded memory, and what waits for it is told when it ends.
#[test]
fn a_program_that_does_not_read_is_not_flooded() {
    let world = world();
    // In lines a terminal takes whatever comes behind 4095 bytes, and throws it away.
    world.run_detached("one", &["sh", "-c", "stty raw -echo; echo raw; exec sleep 1000"]);
    assert!(world.hopty(&["wait", "one", "text=raw"]).status.success());
    let mut senders = Vec::new();
    for _ in 0..12 {
        let mut command = Command::new("sh");
        let script = format!("head -c 500000 /dev/zero | '{}' send one --stdin", hopty().display());
        command.args(["-c", &script]).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
        senders.push(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    }
    // One was typed and fills the terminal, eight wait, and the rest are told so.
    let busy = support::wait_for("a refusal", || {
        let refused = senders
            .iter_mut()
            .position(|sender| sender.try_wait().unwrap().is_some_and(|status| !status.success()))?;
        Some(senders.remove(refused).wait_with_output().unwrap())
    });
    assert_fails(&busy, 1, "bytes already wait to be typed");
    // It answers; within the 200 ms of `ls` when it has read what it refuses.
    support::wait_for("an answer", || (list(&world)[0]["state"] == "unknown").then_some(()));
    end_all(&world);
    for sender in senders {
        sender.wait_with_output().unwrap();
    }
}
