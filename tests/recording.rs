//! `hopty record`: recordings of live sessions, from their middle on, through resizes, kills and full disks.

#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use alacritty_terminal::Term as TheirTerm;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::Config;
use alacritty_terminal::vte::ansi::Processor;
use hopty::core::cast::{CastEventKind, CastReader};
use hopty::screen::{PictureLines, Screen, TerminalMode};
use hopty::standin::script::{Script, ScriptedReply};
use nix::libc::SIGKILL;
use serde_json::Value;
use support::cells::Cells;
use support::claude::{Kind, hopty};
use support::skip::skip;
use support::term::Term;
use support::wait::{ends_within, wait_for};
use support::world::World;
use support::{is_host, kill};

/// A detached session that runs a shell with this script.
fn shell(world: &World, script: &str) {
    world.ask(&["run", "--name", "r", "--detached", "--", "sh", "-c", script]);
}

fn wait_text(world: &World, text: &str) {
    world.ask(&["wait", "r", &format!("text={text}")]);
}

/// The events of a recording, which must be whole.
fn events(path: &Path) -> Vec<CastEventKind> {
    let mut reader = CastReader::new();
    reader.push(&std::fs::read(path).unwrap());
    reader.finish();
    std::iter::from_fn(|| reader.next()).map(|event| event.unwrap().kind).collect()
}

/// The size at the start.
fn size(path: &Path) -> (u16, u16) {
    let mut reader = CastReader::new();
    reader.push(&std::fs::read(path).unwrap());
    let _ = reader.next();
    let header = reader.header().unwrap();
    (header.cols, header.rows)
}

fn replay(path: &Path) -> Screen {
    let (cols, rows) = size(path);
    let mut screen = Screen::with_history(cols, rows, 1 << 20);
    for event in events(path) {
        match event {
            CastEventKind::Output(bytes) => screen.feed(&bytes),
            CastEventKind::Resize { cols, rows } => screen.resize(cols, rows),
            _ => {}
        }
    }
    screen
}

/// The text that alacritty and avt show at the end.
fn others(path: &Path) -> [Vec<String>; 2] {
    let (cols, rows) = size(path);
    let mut term = TheirTerm::new(Config::default(), &Cells(cols, rows), VoidListener);
    let mut parser: Processor = Processor::new();
    let mut vt = avt::Terminal::new(usize::from(cols), usize::from(rows)).unwrap();
    let mut now = Cells(cols, rows);
    for event in events(path) {
        match event {
            CastEventKind::Output(bytes) => {
                parser.advance(&mut term, &bytes);
                vt.feed(&*String::from_utf8_lossy(&bytes));
            }
            CastEventKind::Resize { cols, rows } => {
                now = Cells(cols, rows);
                term.resize(now);
                vt.resize(usize::from(cols), usize::from(rows));
            }
            _ => {}
        }
    }
    let theirs = (0..i32::from(now.1)).map(|row| {
        let line: String = (0..usize::from(now.0)).map(|col| term.grid()[Line(row)][Column(col)].c).collect();
        line.trim_end().to_owned()
    });
    let avts = vt.screen().visible_lines().map(|line| line.text().trim_end().to_owned());
    [theirs.collect(), avts.collect()]
}

/// Asks for a recording into this file.
fn record(world: &World, file: &str, more: &[&str]) -> PathBuf {
    world.ask(&[&["record", "r", "-o", file], more].concat());
    world.project.join(file)
}

fn live(world: &World) -> Value {
    serde_json::from_str(&world.ask(&["screen", "r", "--history", "--json"])).unwrap()
}

#[test]
fn a_recording_from_the_middle_of_a_session_shows_the_live_screen() {
    let world = World::plain();
    shell(
        &world,
        r#"stty -echo; i=0; while [ $i -lt 60 ]; do printf 'line \033[3%dm%s\033[m\r\n' $((i % 8)) $i; i=$((i+1)); done
           printf '\033[?2004h\033[1;44mwide 漢字\033[m open \342\202'; read a
           printf '\254 closed\r\n\033[2;5Hthere\033[20;1H'; read b; printf 'done\r\n\033[31mred'; read c"#,
    );
    wait_text(&world, "open");
    let cast = record(&world, "a.cast", &[]);
    world.ask(&["send", "r", "--keys", "enter"]);
    wait_text(&world, "there");
    wait_for("the batch", || std::fs::read_to_string(&cast).unwrap().contains("there").then_some(()));
    let shown: Vec<String> = replay(&cast).lines();
    for (name, other) in ["alacritty", "avt"].iter().zip(others(&cast)) {
        let other: Vec<String> = other.iter().map(|line| line.replace("漢 字 ", "漢字")).collect();
        assert_eq!(other, shown, "{name}");
    }
    let mut term = world.terminal(&["attach", "r"]);
    term.wait_text("there");
    world.ask(&["send", "r", "--keys", "enter"]);
    wait_text(&world, "red");
    world.ask(&["mark", "r", "all \u{1b}done"]);
    term.send(b"\x1cd");
    assert_eq!(term.wait_exit(), 0);
    world.ask(&["record", "r", "--stop"]);
    let screen = replay(&cast);
    assert_eq!(screen.json(PictureLines::WithHistory), live(&world));
    assert!(screen.lines().iter().any(|line| line.contains("open € closed")), "{:?}", screen.lines());
    let all = events(&cast);
    assert!(all.contains(&CastEventKind::Resize { cols: 120, rows: 40 }));
    assert!(all.iter().any(|kind| matches!(kind, CastEventKind::Marker(label) if label.starts_with("all "))));
    // What follows is not recorded any more, and the file can be continued.
    world.ask(&["record", "r", "-o", "a.cast", "--append"]);
    world.ask(&["send", "r", "--keys", "enter"]);
    wait_for("the end", || (events(&cast).last() == Some(&CastEventKind::Exit(0))).then_some(()));
    world.assert_nothing_left();
}

#[test]
fn the_recordings_that_go_with_a_session_are_told() {
    let world = World::plain();
    world.ask(&["run", "--name", "r", "--detached", "--", "cat"]);
    world.ask(&["record", "r"]);
    world.ask(&["record", "r", "--stop"]);
    world.ask(&["stop", "r", "--kill"]);
    assert_eq!(world.ask(&["prune", "--dry-run"]), "would remove r with 1 recording\n");
    assert_eq!(world.ask(&["rm", "r"]), "removed r with 1 recording\n");
    world.ask(&["run", "--name", "r", "--detached", "--", "true"]);
    world.ask(&["wait", "r", "exit"]);
    assert_eq!(world.ask(&["rm", "r"]), "");
    world.assert_nothing_left();
}

#[test]
fn a_program_is_recorded_from_its_first_byte_to_its_exit_code() {
    let world = World::plain();
    let program = r"printf 'a\377b'; exit 3";
    world.ask(&["record", "r", "-o", "a.cast", "--detached", "--", "sh", "-c", program]);
    let cast = world.project.join("a.cast");
    // The file is there a moment before its first line.
    let begun = || std::fs::metadata(&cast).is_ok_and(|meta| meta.len() > 0);
    wait_for("the end", || (begun() && events(&cast).last() == Some(&CastEventKind::Exit(3))).then_some(()));
    let output: Vec<u8> = events(&cast)
        .into_iter()
        .filter_map(|kind| if let CastEventKind::Output(bytes) = kind { Some(bytes) } else { None })
        .flatten()
        .collect();
    assert_eq!(output, b"a\xffb");
    // Nothing is started where nothing can be recorded.
    let picture = world.hopty(&["record", "-o", "a.gif", "--detached", "--", "touch", "started"]);
    assert_eq!(picture.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&picture.stderr).contains("hint: record to a.cast"), "{picture:?}");
    let again = world.hopty(&["record", "-o", "a.cast", "--detached", "--", "touch", "started"]);
    let told = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(4));
    assert!(told.contains("a.cast exists") && told.contains("hint: use --append"), "{told}");
    assert!(!world.project.join("started").exists());
    world.assert_nothing_left();
}

#[test]
fn keys_are_recorded_when_told_and_a_password_never() {
    let world = World::plain();
    shell(
        &world,
        "printf 'name '; read a; stty -echo; printf 'password '; read b; stty echo; echo over; read c",
    );
    wait_text(&world, "name");
    let cast = record(&world, "a.cast", &["--input"]);
    world.ask(&["send", "r", "visible"]);
    world.ask(&["send", "r", "--keys", "enter"]);
    wait_text(&world, "password");
    world.ask(&["send", "r", "geheim"]);
    world.ask(&["send", "r", "--keys", "enter"]);
    wait_text(&world, "over");
    world.ask(&["record", "r", "--stop"]);
    let text = std::fs::read_to_string(&cast).unwrap();
    assert!(text.contains("\"i\", \"visible\"") && text.contains("\"i\", \"••••••\""), "{text}");
    assert!(!text.contains("geheim"));
    world.ask(&["stop", "r", "--kill"]);
}

#[test]
fn a_host_that_is_killed_leaves_a_recording_that_can_be_played() {
    let world = World::plain();
    shell(&world, "i=0; while :; do i=$((i+1)); echo \"tick $i\"; sleep 0.01; done");
    wait_text(&world, "tick");
    let cast = record(&world, "a.cast", &[]);
    wait_for("some ticks", || {
        (std::fs::read_to_string(&cast).ok()?.matches("tick").count() > 60).then_some(())
    });
    let status: Value = serde_json::from_str(&world.ask(&["status", "r", "--json"])).unwrap();
    assert_eq!(status["recording"]["file"].as_str(), cast.to_str());
    let host = i32::try_from(status["host_pid"].as_i64().unwrap()).unwrap();
    assert!(is_host(host));
    let before = replay(&cast).lines();
    kill(host, SIGKILL);
    assert!(ends_within(host, std::time::Duration::from_secs(30)));
    let after = replay(&cast).lines();
    assert!(after.iter().any(|line| line.starts_with("tick ")) && !before.is_empty());
    assert!(std::fs::read(&cast).unwrap().ends_with(b"\n"));
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_session() {
    let world = World::plain();
    let disk = world.home.join("disk");
    std::fs::create_dir_all(&disk).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k,mode=700", "none"]).arg(&disk).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("no file system can be mounted here");
    }
    shell(&world, "read a; seq 1 100000; echo all; read b");
    let cast = disk.join("a.cast");
    world.ask(&["record", "r", "-o", cast.to_str().unwrap()]);
    world.ask(&["send", "r", "--keys", "enter"]);
    wait_text(&world, "all");
    let why = wait_for("a word about it", || {
        let status: Value = serde_json::from_str(&world.ask(&["status", "r", "--json"])).ok()?;
        let journal = std::fs::read_to_string(world.state_dir().join("sessions/r/journal.jsonl")).ok()?;
        (status["recording"].is_null() && journal.contains("has stopped")).then_some(journal)
    });
    let whole = std::fs::read(&cast).unwrap();
    let read = events(&cast).len();
    let mut rest = std::fs::File::create(disk.join("rest")).unwrap();
    while std::io::Write::write_all(&mut rest, &[0]).is_ok() {}
    drop(rest);
    let refused = world.hopty(&["record", "r", "-o", disk.join("b.cast").to_str().unwrap()]);
    let left = disk.join("b.cast").exists();
    let stopped = Command::new("umount").arg(&disk).status().unwrap();
    assert!(!refused.status.success() && !left, "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("No space left"), "{refused:?}");
    assert!(stopped.success() && why.contains("No space left"));
    assert!(read > 0 && whole.ends_with(b"\n"));
    assert!(world.ask(&["screen", "r"]).contains("all"));
    world.ask(&["stop", "r", "--kill"]);
    world.assert_nothing_left();
}

#[test]
fn a_recording_that_cannot_take_the_last_output_says_so() {
    let world = World::plain();
    let program = ["sh", "-c", "seq 1 20000; exit 5"];
    let args = [&["record", "-o", "a.cast", "--max-size", "64K", "--"], program.as_slice()].concat();
    let mut term = Term::start(&hopty(), &args, &world.env, &world.project, (80, 25));
    assert_eq!(term.wait_exit(), 5);
    // The notice is wrapped at the width of the terminal.
    let all = String::from_utf8_lossy(&term.bytes()).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(all.contains("has stopped: it has reached its limit of 65536 bytes."), "{all}");
    world.assert_nothing_left();
}

/// A person records a tape; afterwards it has been played, and passes again.
fn record_tape(world: &World, tape: &str, program: &[&str], use_it: impl FnOnce(&mut Term)) -> String {
    let args = [&["record", "--tape", tape, "--"], program].concat();
    let mut term = Term::start(&hopty(), &args, &world.env, &world.project, (80, 25));
    use_it(&mut term);
    let code = term.wait_exit();
    let text = std::fs::read_to_string(world.project.join(tape)).unwrap();
    assert_eq!(code, 0, "{text}\n{}", String::from_utf8_lossy(&term.bytes()));
    term.assert_whole();
    term.wait_text("1 passed");
    let again = world.hopty(&["test", "--fast", "--repeat", "3", tape]);
    assert!(again.status.success(), "{text}\n{}", String::from_utf8_lossy(&again.stdout));
    text
}

#[test]
fn what_a_person_does_in_vim_becomes_a_tape_that_passes() {
    let world = World::plain();
    let vim = ["vim", "-Nu", "NONE", "-i", "NONE", "notes.txt"];
    if !["/usr/bin/vim", "/usr/local/bin/vim", "/bin/vim"].iter().any(|path| Path::new(path).exists()) {
        return skip("there is no vim here");
    }
    let text = record_tape(&world, "vim.tape", &vim, |term| {
        term.wait_text("[New");
        term.send("i");
        term.wait_text("-- INSERT --");
        for key in ["o", "n", "e", "\r", "t", "w", "o"] {
            term.send(key);
        }
        term.wait_for("the second line", |screen| screen.lines()[1] == "two");
        term.send("\x1b");
        term.wait_for("the end of the insertion", |screen| {
            !screen.lines().iter().any(|line| line.contains("INSERT"))
        });
        term.send(":wq");
        term.wait_text(":wq");
        term.send("\r");
    });
    assert!(text.starts_with("Set Rows 24\nSet Columns 80\nStart "), "{text}");
    for line in ["Type \"ione\"", "Enter", "Type \"two\"", "Escape", "Type \":wq\"", "Exit 0"] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert!(text.contains("Expect \"INSERT\"") && !text.contains("Sleep"), "{text}");
}

#[test]
fn files_that_the_command_line_names_are_copied_by_the_tape() {
    let world = World::plain();
    std::fs::create_dir_all(world.project.join("tests/tapes")).unwrap();
    std::fs::write(world.project.join("notes.txt"), "my precious notes\n").unwrap();
    let script = "cat \"$1\"; read line; echo \"$line\" > \"$1\"; echo written; read last";
    let program = ["sh", "-c", script, "sh", "notes.txt"];
    let text = record_tape(&world, "tests/tapes/notes.tape", &program, |term| {
        term.wait_text("my precious notes");
        term.send("other\r");
        term.wait_text("written");
        term.send("\r");
    });
    assert!(text.contains("\nCopy+File ../../notes.txt notes.txt\nStart "), "{text}");
    let kept = std::fs::read_to_string(world.project.join("notes.txt")).unwrap();
    assert_eq!(kept, "my precious notes\n");
}

#[test]
fn what_a_person_does_with_the_mouse_becomes_a_tape_that_passes() {
    let world = World::plain();
    // It wants clicks and no motion, and shows the 40 bytes of two reports.
    let script = "stty -icanon -echo; printf '\\033[?1000h\\033[?1006hpress '; dd bs=1 count=40 2>/dev/null | \
                  tr '\\033' E; printf ' over'";
    let text = record_tape(&world, "mouse.tape", &["sh", "-c", script], |term| {
        term.wait_text("press");
        term.wait_for("the mouse to be reported", |screen| screen.is_on(TerminalMode::MouseSgr));
        // Below the program's screen, with its motion, and then a drag that it is not told of.
        for report in ["<0;9;25M", "<0;9;25m", "<0;10;5M", "<32;10;6M", "<0;10;5m", "<2;12;7M", "<2;20;9m"] {
            term.send(format!("\x1b[{report}"));
        }
    });
    let clicks: Vec<&str> = text.lines().filter(|line| line.starts_with("Click")).collect();
    assert_eq!(clicks, ["Click 5,10", "Click 7,12 right"], "{text}");
    assert!(text.contains("over\"\nExit 0\n"), "{text}");
}

#[test]
fn what_a_person_does_in_bash_becomes_a_tape_that_passes() {
    let world = World::plain();
    let text = record_tape(&world, "bash.tape", &["bash"], |term| {
        term.wait_for("the prompt", |screen| screen.lines()[0] == ">");
        term.send("printf 'hello %s\\n' people; false");
        term.wait_text("people; false");
        term.send("\r");
        term.wait_text("hello people");
        term.wait_for("the prompt", |screen| screen.lines()[2] == ">");
        term.send("read word");
        term.wait_text("read word");
        term.send("\x1b[D\x7f");
        term.wait_text("read wod");
        term.send("\x05\r");
        term.wait_for("an empty line", |screen| screen.cursor().row == 3);
        term.resize(60, 20);
        term.wait_for("the new size", |screen| screen.lines()[19].contains("ends"));
        term.send("given\r");
        term.wait_for("the prompt", |screen| screen.lines()[4] == ">");
        term.send("\x1c");
    });
    for line in
        ["Set Shell bash", "Ready", "Status 1", "Expect \"hello people\"", "Resize 60x19", "Key Ctrl+e"]
    {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert!(!text.contains("Exit"), "{text}");
    let again = world.hopty(&["record", "--tape", "bash.tape", "--", "bash"]);
    assert_eq!(again.status.code(), Some(2), "without a terminal nothing is recorded");
    assert_eq!(std::fs::read_to_string(world.project.join("bash.tape")).unwrap(), text);
}

#[test]
fn words_that_do_not_come_again_are_expected_on_no_recorded_tape() {
    let world = World::plain();
    let script = "echo hint $(tr -dc a-z < /dev/urandom | head -c 12) of the day; echo ready; read x; \
                  echo; tr -dc a-z < /dev/urandom | head -c 12; read y; exit 0";
    let text = record_tape(&world, "hints.tape", &["sh", "-c", script], |term| {
        term.wait_text("ready");
        term.send("\r");
        term.wait_for("the second answer", |screen| {
            screen.lines().iter().any(|line| line.len() == 12 && line.bytes().all(|b| b.is_ascii_lowercase()))
        });
        // Another Enter could be one command with the first.
        term.send("\x04");
    });
    let commands: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("Start ")).skip(2).collect();
    assert_eq!(commands, ["Expect \"ready\"", "Enter", "Settle", "Key Ctrl+d", "Exit 0"], "{text}");
}

/// The files of `record.auto`, the oldest first.
fn own_files(world: &World) -> Vec<PathBuf> {
    let dir = world.state_dir().join("sessions/r/recordings");
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    files
}

#[test]
fn every_session_is_recorded_within_bounds_where_that_is_configured() {
    let mut world = World::plain();
    world.set("HOPTY_RECORD_AUTO", "true");
    world.set("HOPTY_RECORD_MAX_BYTES", "131072");
    shell(&world, "echo begin; read a; seq -f 'line %g' 1 60000; echo all; read b; echo over; read c");
    wait_text(&world, "begin");
    let first = own_files(&world);
    assert_eq!(first.len(), 1, "{first:?}");
    world.ask(&["send", "r", "--keys", "enter"]);
    wait_text(&world, "all");
    world.ask(&["send", "r", "--keys", "enter"]);
    wait_text(&world, "over");
    let files = wait_for("the next file", || {
        let files = own_files(&world);
        let is_whole = files
            .last()
            .is_some_and(|last| std::fs::read_to_string(last).is_ok_and(|t| t.contains("over\\r\\n")));
        (is_whole && files != first).then_some(files)
    });
    assert!(files.len() <= 2, "{files:?}");
    for file in &files {
        assert!(std::fs::metadata(file).unwrap().len() <= 65_536);
    }
    // The last one begins with the whole picture.
    assert!(replay(&files[files.len() - 1]).lines().iter().any(|line| line.starts_with("line ")));
    let played = world.hopty(&["play", "--last"]);
    assert!(String::from_utf8_lossy(&played.stdout).ends_with("over\n"), "{played:?}");
    let mut elsewhere = std::process::Command::new(support::claude::hopty());
    elsewhere.args(["play", "--last"]).env_clear().envs(world.env.iter().cloned()).current_dir(&world.home);
    let none = String::from_utf8(elsewhere.output().unwrap().stderr).unwrap();
    let newest = files[files.len() - 1].display();
    assert!(
        none.contains(&format!("the newest one of all is {newest}: `hopty play --last --all` plays it")),
        "{none}"
    );
    world.ask(&["record", "r", "--last", "1h", "-o", "part.cast"]);
    assert!(replay(&world.project.join("part.cast")).lines().contains(&"over".to_owned()));
    // One that is old goes when the next session starts; what a person recorded stays.
    world.ask(&["stop", "r", "--kill"]);
    let dir = world.state_dir().join("sessions/r/recordings");
    world.set("HOPTY_RECORD_KEEP_DAYS", "2");
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 86_400);
    for name in ["auto-2020.cast", "2020.cast"] {
        let file = std::fs::File::create(dir.join(name)).unwrap();
        file.set_modified(past).unwrap();
    }
    world.ask(&["run", "--name", "s", "--detached", "--", "sh", "-c", "read a"]);
    wait_for("the old one to go", || (!dir.join("auto-2020.cast").exists()).then_some(()));
    assert!(dir.join("2020.cast").exists());
    world.ask(&["stop", "s", "--kill"]);
    world.assert_nothing_left();
}

/// Claude, real or not, is recorded through a hand-over into one file.
fn hand_over_is_marked(kind: Kind) {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        None => ScriptedReply::text("Hello.").filling(2000),
    });
    let Some(world) = World::new(kind, script) else { return };
    let term = world.start(&[]);
    term.wait_box();
    world.ask(&["record", "proj", "-o", "a.cast"]);
    let cast = world.project.join("a.cast");
    term.send("Say hello.");
    term.wait_text("Say hello.");
    term.send("\r");
    term.wait_text("Hello.");
    let old = world.status()["conversation"].as_str().unwrap_or_default().to_owned();
    world.wait_state("idle");
    world.ask(&["restart", "proj", "--wait"]);
    world.wait_decision("handoff.consumed", 1);
    let new = world.status()["conversation"].as_str().unwrap_or_default().to_owned();
    world.ask(&["record", "proj", "--stop"]);
    let markers: Vec<String> = events(&cast)
        .into_iter()
        .filter_map(|kind| if let CastEventKind::Marker(label) = kind { Some(label) } else { None })
        .collect();
    let wanted = format!("hand-over 1: {old} -> {new}");
    assert!(old != new && !old.is_empty() && markers.contains(&wanted), "{wanted}: {markers:?}");
    assert!(replay(&cast).lines().iter().any(|line| line.contains("Continuing from")));
    world.leave(term);
}

#[test]
fn a_hand_over_of_the_stand_in_is_one_recording_with_a_marker() {
    hand_over_is_marked(Kind::StandIn);
}

#[test]
fn a_hand_over_of_the_real_claude_is_one_recording_with_a_marker() {
    hand_over_is_marked(Kind::Real);
}
