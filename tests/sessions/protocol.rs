//! The socket's protocol: what is answered, what is refused, and that nothing which is sent ends a session.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::text;
use super::support::world::World;
use super::{end_all, list, support, world};

const HELLO: &str = "{\"hopty\":1,\"version\":\"0.1.0\",\"role\":\"control\"}\n";

fn dial(world: &World) -> UnixStream {
    let socket = UnixStream::connect(world.state_dir().join("run/one.sock")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

/// All that the host says until it closes or is silent for a while.
fn all(socket: UnixStream, silence: Duration) -> String {
    socket.set_read_timeout(Some(silence)).unwrap();
    let mut reader = BufReader::new(socket);
    let mut said = String::new();
    while matches!(reader.read_line(&mut said), Ok(n) if n > 0) {}
    said
}

/// One request after the greeting, and its answer.
fn ask(world: &World, line: &str) -> Value {
    let mut socket = dial(world);
    socket.write_all(format!("{HELLO}{line}\n").as_bytes()).unwrap();
    let mut reader = BufReader::new(socket);
    let mut answer = String::new();
    reader.read_line(&mut answer).unwrap();
    let hello: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(hello["session"], "one");
    answer.clear();
    reader.read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{line:?}: {e}: {answer:?}"))
}

fn session() -> World {
    let world = world();
    world.run_detached("one", &["sleep", "1000"]);
    world
}

#[test]
fn the_exchange_of_the_contract() {
    let world = session();
    let mut socket = dial(&world);
    socket.write_all(HELLO.as_bytes()).unwrap();
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        serde_json::from_str::<Value>(&line).unwrap(),
        json!({"hopty":1,"version":version,"session":"one","run":1,"max_frame":1_048_576})
    );
    // Several requests in one write, one of them cut.
    socket
        .write_all(
            b"{\"id\":1,\"do\":\"status\"}\n{\"id\":7,\"do\":\"status\",\"more\":[1]}\n{\"id\":9,\"do\":",
        )
        .unwrap();
    for id in [1, 7] {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&answer["id"], &answer["ok"]["name"]), (&json!(id), &json!("one")));
    }
    socket.write_all(b"\"status\"}\n").unwrap();
    line.clear();
    reader.read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], 9);
    end_all(&world);
}

#[test]
fn what_cannot_be_answered_is_answered_with_an_error() {
    let world = session();
    for (line, code) in [
        ("garbage", "bad_request"),
        ("{}", "bad_request"),
        ("[]", "bad_request"),
        ("{\"id\":1}", "bad_request"),
        ("{\"id\":1,\"do\":7}", "bad_request"),
        ("{\"id\":1,\"do\":\"attach\",\"cols\":-1,\"rows\":1}", "bad_request"),
        ("{\"id\":1,\"do\":\"attach\",\"cols\":99999,\"rows\":1}", "bad_request"),
        ("{\"id\":1,\"do\":\"fly\"}", "unknown_request"),
        ("{\"id\":1,\"do\":\"\u{1b}[2J\"}", "bad_request"),
        ("{\"id\":1,\"do\":\"\\u001b[2J\"}", "unknown_request"),
        ("{\"id\":18446744073709551615,\"do\":\"fly\"}", "unknown_request"),
    ] {
        let answer = ask(&world, line);
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert!(answer["error"]["message"].is_string() && answer["error"]["hint"].is_string());
        assert!(!answer.to_string().contains('\u{1b}'));
    }
    end_all(&world);
}

#[test]
fn another_protocol_and_a_line_that_is_no_greeting_are_told_and_closed() {
    let world = session();
    for line in [
        "{\"hopty\":2}\n",
        "{\"hopty\":\"1\"}\n",
        "garbage\n",
        "\n",
        "{\"id\":1,\"do\":\"stop\",\"kill\":true}\n",
    ] {
        let mut socket = dial(&world);
        socket.write_all(line.as_bytes()).unwrap();
        let said = all(socket, Duration::from_secs(10));
        let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2, "{said}");
        assert_eq!((&lines[0]["hopty"], &lines[1]["error"]["code"]), (&json!(1), &json!("version")));
    }
    assert_eq!(list(&world).len(), 1);
    end_all(&world);
}

#[test]
fn who_does_not_speak_is_closed_after_five_seconds() {
    let world = session();
    let begun = Instant::now();
    let mut slow = dial(&world);
    slow.write_all(b"{\"hop").unwrap();
    assert_eq!(all(slow, Duration::from_secs(10)), "");
    let took = begun.elapsed();
    assert!(took > Duration::from_secs(4) && took < Duration::from_secs(9), "{took:?}");
    end_all(&world);
}

#[test]
fn a_huge_line_ends_its_connection_only() {
    let world = session();
    for (begin, what) in [("", "before the greeting"), (HELLO, "after it")] {
        let mut socket = dial(&world);
        let _ = socket.write_all(begin.as_bytes());
        let part = vec![b'x'; 1 << 16];
        let mut sent = 0;
        while sent < 8 << 20 && socket.write_all(&part).is_ok() {
            sent += part.len();
        }
        assert!(sent < 8 << 20, "{what}: the host took {sent} bytes of one line");
        drop(socket);
        assert_eq!(list(&world)[0]["state"], "unknown");
    }
    end_all(&world);
}

#[test]
fn answers_that_nobody_reads_do_not_fill_the_host() {
    let world = session();
    let host = i32::try_from(list(&world)[0]["host_pid"].as_i64().unwrap()).unwrap();
    let mut socket = dial(&world);
    socket.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    socket.write_all(HELLO.as_bytes()).unwrap();
    // Fifty thousand requests, of which some hundred answers fill what is allowed.
    let _ = socket.write_all("{\"id\":1,\"do\":\"status\"}\n".repeat(50_000).as_bytes());
    assert_eq!(list(&world)[0]["state"], "unknown", "others are answered");
    // Then it stops working for this one.
    let quiet = (0..6).any(|_| {
        let before = support::ticks(host).unwrap();
        assert!(!support::wait::ends_within(host, Duration::from_millis(500)));
        support::ticks(host).unwrap() <= before + 1
    });
    assert!(quiet, "the host goes on answering");
    assert_eq!(list(&world)[0]["state"], "unknown");
    drop(socket);
    end_all(&world);
}

#[test]
fn of_forty_connections_some_are_told_that_there_are_too_many() {
    let world = session();
    let mut open: Vec<UnixStream> = (0..40).map(|_| dial(&world)).collect();
    let mut busy = 0;
    for socket in &mut open {
        let _ = socket.write_all(HELLO.as_bytes());
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("{\"hopty\":1") || line.contains("\"hopty\":1"), "{line:?}");
        reader.get_ref().set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        line.clear();
        let _ = reader.read_line(&mut line);
        busy += usize::from(line.contains("\"busy\""));
    }
    assert_eq!(busy, 8);
    drop(open);
    support::wait_for("room", || world.hopty(&["status", "one"]).status.success().then_some(()));
    end_all(&world);
}

/// Becomes a client without a terminal and gives the connection, framed from here on.
fn client(world: &World) -> UnixStream {
    let mut socket = dial(world);
    let attach = "{\"id\":1,\"do\":\"attach\",\"cols\":80,\"rows\":24}\n";
    socket.write_all(format!("{HELLO}{attach}").as_bytes()).unwrap();
    let mut byte = [0];
    for _ in 0..2 {
        loop {
            socket.read_exact(&mut byte).unwrap();
            if byte[0] == b'\n' {
                break;
            }
        }
    }
    socket
}

fn frame(tag: u8, payload: &[u8]) -> Vec<u8> {
    hopty::ipc::frame::Frame::new(tag, payload).encode()
}

#[test]
fn unknown_frames_are_skipped_and_a_huge_one_ends_the_connection_only() {
    let world = world();
    let file = world.project.join("read");
    world.run_detached("one", &["sh", "-c", &format!("stty -echo; exec cat > '{}'", file.display())]);
    let mut socket = client(&world);
    // Unknown ones, sizes that are none, a signal that nobody may pass, a terminal without a descriptor, then
    // a line.
    let mut bytes = frame(0x7f, b"what is this");
    for (tag, payload) in [
        (0x00, &b""[..]),
        (0xff, b"x"),
        (0x03, b"abc"),
        (0x03, b""),
        (0x07, b""),
        (0x07, b"\x09"),
        (0x01, b""),
    ] {
        bytes.extend(frame(tag, payload));
    }
    bytes.extend(frame(0x02, b"typed\n"));
    for byte in bytes {
        socket.write_all(&[byte]).unwrap();
    }
    support::wait_for("what was typed", || {
        (std::fs::read_to_string(&file).unwrap_or_default() == "typed\n").then_some(())
    });
    assert_eq!(list(&world)[0]["clients"][0]["via"], "relay");
    let mut huge = vec![0x02];
    huge.extend_from_slice(&u32::MAX.to_le_bytes());
    let _ = socket.write_all(&huge);
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
    support::wait_for("the client to be gone", || (list(&world)[0]["clients"] == json!([])).then_some(()));
    assert_eq!(list(&world)[0]["state"], "unknown");
    end_all(&world);
}

/// The program asked its terminal something, and the client leaves: the answer that is due is still heard,
/// and does not end up in the person's shell.
#[test]
fn who_leaves_is_heard_until_the_answers_that_are_due_have_come() {
    let world = world();
    let file = world.project.join("read");
    let script = format!("stty raw -echo; read x; printf '\\033[c'; exec cat > '{}'", file.display());
    world.run_detached("one", &["sh", "-c", &script]);
    let mut socket = client(&world);
    socket.write_all(&frame(0x01, b"")).unwrap();
    socket.write_all(&frame(0x02, b"\n")).unwrap();
    let mut seen = Vec::new();
    let mut buf = [0; 4096];
    while !seen.windows(3).any(|part| part == b"\x1b[c") {
        let n = socket.read(&mut buf).unwrap();
        assert!(n > 0);
        seen.extend_from_slice(&buf[..n]);
    }
    let mut last = frame(0x06, b"");
    last.extend(frame(0x02, b"\x1b[?62;22c"));
    socket.write_all(&last).unwrap();
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).unwrap();
    assert!(text(&rest).contains("\"why\":\"detached\""));
    support::wait_for("the answer", || {
        (std::fs::read(&file).unwrap_or_default() == b"\x1b[?62;22c").then_some(())
    });
    end_all(&world);
}

#[test]
fn a_read_only_client_types_nothing() {
    let world = world();
    let file = world.project.join("read");
    world.run_detached("one", &["sh", "-c", &format!("stty -echo; exec cat > '{}'", file.display())]);
    support::wait_for("the program", || file.exists().then_some(()));
    let mut socket = dial(&world);
    let attach = "{\"id\":1,\"do\":\"attach\",\"cols\":80,\"rows\":24,\"read_only\":true}\n";
    socket.write_all(format!("{HELLO}{attach}").as_bytes()).unwrap();
    socket.write_all(&frame(0x01, b"")).unwrap();
    socket.write_all(&frame(0x02, b"typed\n")).unwrap();
    socket.write_all(&frame(0x06, b"")).unwrap();
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).unwrap();
    assert!(text(&rest).contains("\"why\":\"detached\""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
    end_all(&world);
}

/// Random bytes, alone and after a good beginning: the session lives and answers.
#[test]
fn no_bytes_end_a_session() {
    let world = session();
    let line = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..400),
        "\\{\"id\":[0-9]{1,4},\"do\":\"(status|hook|restart|attach|events|fly)\"(,\"[a-z]{1,6}\":[0-9]{1,5}){0,3}\\}\n"
            .prop_map(String::into_bytes),
        "[\\{\\}\\[\\]\",:a-z0-9\n]{0,200}".prop_map(String::into_bytes),
    ];
    let case = (any::<bool>(), any::<bool>(), proptest::collection::vec(line, 1..6));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&case, |(greets, attaches, parts)| {
            let mut socket = if attaches { client(&world) } else { dial(&world) };
            if greets && !attaches {
                let _ = socket.write_all(HELLO.as_bytes());
            }
            for part in parts {
                let _ = socket.write_all(&part);
            }
            Ok(())
        })
        .unwrap();
    let sessions = list(&world);
    assert_eq!((sessions.len(), &sessions[0]["state"]), (1, &json!("unknown")));
    end_all(&world);
}
