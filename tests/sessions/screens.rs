//! What is on a session's screen, told from outside.

use std::io::Write;
use std::process::{Command, Stdio};

use alacritty_terminal::Term as Emulator;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::Processor;
use serde_json::{Value, json};

use super::support::cells::Cells;
use super::support::claude::hopty;
use super::support::needs;
use super::support::text;
use super::support::wait_for;
use super::support::world::World;
use super::{assert_fails, end_all, world};

fn json_of(world: &World, args: &[&str]) -> Value {
    serde_json::from_str(&world.ask(args)).unwrap()
}

/// Waits until the session's screen has this text.
fn wait_text(world: &World, name: &str, wanted: &str) {
    let waited = world.hopty(&["wait", name, &format!("text={wanted}"), "--timeout", "30s"]);
    assert!(waited.status.success(), "no {wanted:?} in:\n{}", world.ask(&["screen", name]));
}

#[test]
fn the_screen_is_told_in_four_forms() {
    let world = world();
    world.run_detached(
        "one",
        &[
            "sh",
            "-c",
            "seq 1 30; printf '\\033[1;31mred\\033[m \\346\\274\\242 \\033]2;t\\007done'; exec sleep 1000",
        ],
    );
    wait_text(&world, "one", "done");
    let lines = world.ask(&["screen", "one"]);
    assert!(lines.starts_with("8\n9\n") && lines.ends_with("30\nred 漢 done\n"), "{lines}");
    assert!(world.ask(&["screen", "one", "--history"]).starts_with("1\n2\n3\n"));
    assert!(world.ask(&["screen", "one", "--ansi"]).contains("\x1b[0;1;31mred\x1b[m 漢 done\n"));
    assert!(world.ask(&["screen", "one", "--svg"]).starts_with("<svg "));
    let picture = json_of(&world, &["screen", "one", "--json"]);
    let run = json!({"text": "red", "fg": "1", "bg": null, "attrs": ["bold"], "link": null});
    assert_eq!(picture["lines"][23][0], run);
    let keys = ["cols", "rows", "cursor", "title", "alternate", "modes"].map(|key| &picture[key]);
    let cursor = json!({"col": 11, "row": 23, "visible": true, "shape": "block"});
    assert_eq!(keys, [&json!(80), &json!(24), &cursor, &json!("t"), &json!(false), &json!([])]);
    assert_eq!(
        json_of(&world, &["screen", "one", "--json", "--history"])["history"].as_array().unwrap().len(),
        7
    );
    assert_fails(&world.hopty(&["screen", "two"]), 3, "there is no such session");
    end_all(&world);
}

#[test]
fn bytes_on_standard_input_become_a_screen() {
    let mut child = Command::new(hopty())
        .args(["screen-dump", "--cols", "6", "--rows", "2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"one\r\ntwo\r\n\x1b[31mthree and more").unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), "and mo\nre\n");
}

/// What another emulator shows that is sent a session's dump: rows, cursor, and what is on.
fn elsewhere(dump: &str) -> (Vec<String>, (u64, u64), [bool; 4]) {
    let mut terminal = Emulator::new(
        Config { scrolling_history: 0, kitty_keyboard: true, ..Config::default() },
        &Cells(80, 24),
        VoidListener,
    );
    let mut parser: Processor = Processor::new();
    parser.advance(&mut terminal, dump.as_bytes());
    let grid = terminal.grid();
    let row = |row: i32| {
        let mut text = String::new();
        for col in 0..80 {
            let cell = &grid[Line(row)][Column(col)];
            if !cell.flags.contains(Flags::WIDE_CHAR_SPACER) {
                text.push(cell.c);
                text.extend(cell.zerowidth().unwrap_or_default());
            }
        }
        text.trim_end().to_owned()
    };
    let point = grid.cursor.point;
    let modes =
        [TermMode::ALT_SCREEN, TermMode::SHOW_CURSOR, TermMode::APP_CURSOR, TermMode::BRACKETED_PASTE];
    let on = modes.map(|mode| terminal.mode().contains(mode));
    ((0..24).map(row).collect(), (point.column.0 as u64, u64::try_from(point.line.0).unwrap()), on)
}

/// Real programs: the picture is what another emulator makes of the dump.
#[test]
fn real_programs_look_the_same_elsewhere() {
    let mut world = world();
    world.set("TERM", "xterm-256color");
    world.set("LANG", "C.UTF-8");
    let file = world.project.join("text");
    std::fs::write(
        &file,
        (1..100).map(|n| format!("line {n} of the text, 漢字 and e\u{301}\n")).collect::<String>(),
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let programs: [(&[&str], &str); 6] = [
        (&["/usr/bin/vim", "-u", "NONE", "-N", "-n", file], "line 1 of"),
        (&["/usr/bin/less", file], "line 1 of"),
        (&["/bin/nano", file], "line 1 of"),
        (&["/usr/bin/htop"], "Help"),
        (&["/usr/bin/mc", "-u"], "Quit"),
        (
            &[
                "/usr/bin/tmux", "-S", "tmux.sock", "-f", "/dev/null", "new-session",
                "echo inside; exec sleep 1000",
            ],
            "inside",
        ),
    ];
    let mut seen = 0;
    for (program, wanted) in programs {
        let name = program[0].rsplit('/').next().unwrap();
        if needs(name).is_none() {
            continue;
        }
        world.run_detached("one", program);
        wait_text(&world, "one", wanted);
        // A program may draw between two questions: two equal dumps around the picture say that it did not.
        let (dump, picture) = wait_for(&format!("{} to rest", program[0]), || {
            let dump = || ask_screen(&world);
            let before = dump();
            let picture = json_of(&world, &["screen", "one", "--json"]);
            (before == dump()).then_some((before, picture))
        });
        let (rows, cursor, on) = elsewhere(dump["dump"].as_str().unwrap());
        let line = |runs: &Value| {
            runs.as_array().unwrap().iter().map(|run| run["text"].as_str().unwrap()).collect::<String>()
        };
        let lines: Vec<String> =
            picture["lines"].as_array().unwrap().iter().map(|row| line(row).trim_end().to_owned()).collect();
        assert_eq!(lines, rows, "{}", program[0]);
        let has = |mode: &str| picture["modes"].as_array().unwrap().contains(&mode.into());
        let ours = [
            picture["alternate"].as_bool().unwrap(),
            picture["cursor"]["visible"].as_bool().unwrap(),
            has("1"),
            has("2004"),
        ];
        assert_eq!(
            (picture["cursor"]["col"].as_u64().unwrap(), picture["cursor"]["row"].as_u64().unwrap()),
            cursor,
            "{}",
            program[0]
        );
        assert_eq!(ours, on, "{}", program[0]);
        world.ask(&["stop", "one", "--kill"]);
        seen += 1;
    }
    assert!(seen > 0, "none of the programs is installed");
    if std::path::Path::new("/usr/bin/tmux").exists() {
        let socket = world.project.join("tmux.sock");
        let _ = Command::new("/usr/bin/tmux").arg("-S").arg(socket).arg("kill-server").output();
    }
    world.assert_nothing_left();
}

/// The answer to the request, as any script gets it.
fn ask_screen(world: &World) -> Value {
    use std::io::{BufRead, BufReader};
    let mut socket = std::os::unix::net::UnixStream::connect(world.state_dir().join("run/one.sock")).unwrap();
    socket.write_all(b"{\"hopty\":1}\n{\"id\":1,\"do\":\"screen\"}\n").unwrap();
    let mut lines = BufReader::new(socket).lines();
    lines.next().unwrap().unwrap();
    serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["ok"].clone()
}

/// A start that fails at once says why on a screen that nobody is there to see.
#[test]
fn the_last_screen_of_a_session_that_nobody_saw_is_kept() {
    let world = world();
    let last = |words: &str| {
        world.run_detached("one", &["sh", "-c", words]);
        world.ask(&["wait", "one", "exit"]);
        assert!(world.hopty(&["why", "one"]).status.success());
        world.hopty(&["screen", "one"])
    };
    let said = last("echo unknown option --wat; exit 3");
    assert_eq!(text(&said.stdout).trim_end(), "unknown option --wat");
    assert_fails(&said, 1, "the session has ended");
    assert!(text(&said.stderr).contains("hint: this is its last screen"), "{said:?}");
    assert!(text(&world.hopty(&["screen", "one", "--svg"]).stdout).starts_with("<svg "));
    let json: Value = serde_json::from_slice(&world.hopty(&["screen", "one", "--json"]).stdout).unwrap();
    assert_eq!(json["error"]["code"], "ended", "one object, and no picture");
    assert_eq!(text(&last("echo another").stdout).trim_end(), "another", "that of the last one by this name");
    // Who started it in a terminal has seen it, and often comes when the program has ended already.
    for _ in 0..8 {
        let mut term = world.terminal(&["run", "--name", "one", "--", "echo", "seen"]);
        assert_eq!(term.wait_exit(), 0);
        assert_eq!(text(&world.hopty(&["screen", "one"]).stdout), "");
    }
    world.assert_nothing_left();
}

#[test]
fn a_name_for_the_window_is_on_no_screen_where_terminals_take_names() {
    let mut world = world();
    for (term, shown) in [("tmux-256color", "$ ready"), ("xterm-256color", "proj$ ready")] {
        world.set("TERM", term);
        world.run_detached("one", &["sh", "-c", "printf '\\033kproj\\033\\\\$ ready'; exec sleep 1000"]);
        wait_text(&world, "one", "ready");
        assert_eq!(world.ask(&["screen", "one"]).trim_end(), shown, "{term}");
        end_all(&world);
    }
}
