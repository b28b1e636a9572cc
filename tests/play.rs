//! `hopty play` as a person and a script use it: in a terminal, which it leaves as it found it, and in pipes
//! and files.

#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use hopty::core::cast::{CastEvent, CastEventKind, CastHeader, CastWriter};
use nix::libc;
use support::claude::hopty;
use support::program_files;
use support::term::Term;
use support::world::World;
use support::{kill, suspend_in_a_shell};

/// A recording of 30x6 in the project, with these events at times in ms.
fn recording(world: &World, name: &str, events: &[(u64, CastEventKind)]) -> PathBuf {
    let mut lines = CastHeader::new(30, 6).line().into_bytes();
    let mut writer = CastWriter::new();
    for (ms, kind) in events {
        writer.event(&CastEvent { at_us: ms * 1000, kind: kind.clone() }, &mut lines);
    }
    writer.finish(&mut lines);
    let path = world.project.join(name);
    std::fs::write(&path, lines).unwrap();
    path
}

fn output(text: &str) -> CastEventKind {
    CastEventKind::Output(text.as_bytes().to_vec())
}

/// Words, colours, modes that have to be undone, a marker, and an hour in which nothing happens.
fn usual(world: &World) -> PathBuf {
    recording(
        world,
        "usual.cast",
        &[
            (0, output("\x1b[?1h\x1b[?1000h\x1b[?2004hfirst \x1b[32mgreen\x1b[m")),
            (1000, output("\r\nsecond")),
            (2000, CastEventKind::Marker("half way".to_owned())),
            (2000, output("\r\nthird")),
            (3_600_000, output("\r\nlast")),
        ],
    )
}

fn terminal(world: &World, args: &[&str], size: (u16, u16)) -> Term {
    let args: Vec<&str> = std::iter::once("play").chain(args.iter().copied()).collect();
    Term::start(&hopty(), &args, &world.env, &world.project, size)
}

fn play(world: &World, args: &[&str]) -> Output {
    world.hopty(&std::iter::once("play").chain(args.iter().copied()).collect::<Vec<_>>())
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn it_plays_steps_searches_and_leaves_the_terminal_whole() {
    let world = World::plain();
    usual(&world);
    let mut term = terminal(&world, &["usual.cast", "--idle", "100ms"], (40, 10));
    term.wait_text("last");
    term.wait_text("\u{23f8} 1:00:00 / 1:00:00");
    term.send(",");
    term.wait_for("the frame before", |screen| screen.lines()[3].is_empty() && screen.lines()[2] == "third");
    term.send("?GREEN");
    term.wait_text("?GREEN");
    term.send("\x1b");
    term.wait_text("0:02 / 1:00:00");
    term.send("?green\r");
    term.wait_text("0:00 / 1:00:00");
    term.wait_for("the text that was found", |screen| {
        screen
            .row_runs(0)
            .iter()
            .any(|run| run.text == "green" && run.style.has(hopty::screen::Attr::Reverse))
    });
    term.send("]");
    term.wait_text("half way");
    term.send("s");
    term.wait_text("saved");
    let svg = std::fs::read_to_string(world.project.join("usual-2.000s.svg")).unwrap();
    assert!(svg.contains(">third</text>") && world.project.join("usual-2.000s.txt").exists());
    term.resize(12, 4);
    term.wait_for("the picture of a small terminal", |screen| {
        screen.lines()[..2] == ["second", "third"] || screen.lines()[1..3] == ["second", "third"]
    });
    term.send("q");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
}

#[test]
fn signals_and_panics_leave_the_terminal_whole() {
    let mut world = World::plain();
    usual(&world);
    for (signal, more) in [(libc::SIGTERM, None), (libc::SIGHUP, None), (libc::SIGINT, Some("--raw"))] {
        let mut args = vec!["usual.cast"];
        args.extend(more);
        let mut term = terminal(&world, &args, (40, 10));
        term.wait_text("third");
        kill(i32::try_from(term.child.id()).unwrap(), signal);
        assert_eq!(term.wait_exit(), 128 + signal);
        term.assert_whole();
    }
    let panic = world.faults().join("panic");
    for raw in ["--step", "--raw"] {
        std::fs::write(&panic, "player").unwrap();
        let mut term = terminal(&world, &["usual.cast", raw], (100, 10));
        term.wait_text("first");
        term.send("\x0c");
        assert_eq!(term.wait_exit(), 125);
        term.assert_whole();
        term.wait_text("a panic was asked for");
    }
}

#[test]
fn raw_output_ends_with_the_modes_undone() {
    let world = World::plain();
    usual(&world);
    let mut term = terminal(&world, &["usual.cast", "--raw", "--idle", "50ms"], (40, 10));
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
    term.wait_text("last");
    assert!(term.bytes().windows(8).any(|part| part == b"\x1b[?1000h"));
}

#[test]
fn the_player_goes_to_the_terminal_itself_and_back() {
    let world = World::plain();
    usual(&world);
    let mut term = terminal(&world, &["usual.cast", "--step", "--from", "marker:half"], (40, 10));
    term.wait_text("0:02 / 1:00:00");
    term.send("r");
    term.wait_for("the recorded modes", |screen| {
        !screen.alternate() && screen.lines()[2] == "third" && screen.modes().contains(&"1000".to_owned())
    });
    term.send("r");
    term.wait_text("0:02 / 1:00:00");
    term.wait_for("the player's own modes", |screen| {
        screen.alternate() && !screen.modes().contains(&"1000".to_owned())
    });
    term.send("q");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
}

#[test]
fn the_shell_gets_its_terminal_back_for_a_while() {
    let mut world = World::plain();
    usual(&world);
    let mut term = suspend_in_a_shell(&mut world, (60, 12), "play --step usual.cast", "0:00 / 1:00:00", 2);
    // The keys of the player come from the terminal, also where the recording comes through a pipe.
    term.send("clear; cat usual.cast | $H play --step -\r");
    term.wait_text("0:00 / 1:00:00");
    term.send("q");
    term.wait_for("the prompt", |screen| !screen.alternate());
    term.send("exit\r");
    assert_eq!(term.wait_exit(), 0);
}

#[test]
fn without_a_terminal_it_prints_a_screen() {
    let world = World::plain();
    usual(&world);
    let last = "first green\nsecond\nthird\nlast\n";
    for (args, want) in [
        (&["usual.cast"][..], last),
        (&["usual.cast", "--text"], last),
        (&["usual.cast", "--text", "--at", "1.5"], "first green\nsecond\n"),
        (&["usual.cast", "--at", "/second/"], "first green\nsecond\n"),
        (&["usual.cast", "--to", "marker:half way"], "first green\nsecond\nthird\n"),
    ] {
        let done = play(&world, args);
        assert_eq!((done.status.code(), said(&done.stdout).as_str()), (Some(0), want), "{args:?}");
    }
    let mut command = Command::new(hopty());
    let file = std::fs::File::open(world.project.join("usual.cast")).unwrap();
    command.args(["play", "-"]).env_clear().envs(world.env.iter().cloned()).stdin(Stdio::from(file));
    assert_eq!(said(&command.output().unwrap().stdout), last);
}

#[test]
fn a_damaged_file_is_shown_as_far_as_it_is_whole() {
    let world = World::plain();
    let path = usual(&world);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 6]).unwrap();
    let done = play(&world, &["usual.cast"]);
    assert_eq!((done.status.code(), said(&done.stdout).as_str()), (Some(1), "first green\nsecond\nthird\n"));
    assert!(
        said(&done.stderr).starts_with("hopty: play: usual.cast: damaged, played up to line 6: "),
        "{done:?}"
    );
}

#[test]
fn a_recording_whose_first_event_is_damaged_is_a_damaged_recording() {
    let world = World::plain();
    let cast = "{\"version\":2,\"width\":80,\"height\":24}\n[1,\"o\",\"a\"],\n[2,\"o\",\"b\"]\n";
    std::fs::write(world.project.join("first.cast"), cast).unwrap();
    let done = play(&world, &["first.cast"]);
    let expected = "hopty: play: first.cast: damaged, played up to line 2: not an event: [1,\"o\",\"a\"],\n";
    assert_eq!((done.status.code(), said(&done.stderr).as_str()), (Some(1), expected));
}

#[test]
fn what_cannot_be_played_is_told_with_a_hint() {
    let world = World::plain();
    usual(&world);
    std::fs::write(world.project.join("notes.txt"), "no recording\n").unwrap();
    for (args, code, words) in [
        (&["nothing.cast"][..], 2, "hopty: play: nothing.cast: it cannot be read: "),
        (&["."], 2, "hopty: play: .: it cannot be read: "),
        (&["notes.txt"], 2, "hopty: play: notes.txt: it is not an asciicast: "),
        (&["usual.cast", "--from", "marker:no"], 2, "hopty: play: usual.cast: no marker is called no"),
        (&["usual.cast", "--from", "2", "--to", "1"], 2, "hopty: play: usual.cast: --to is before --from"),
        (&["usual.cast", "-o", "x.mp4"], 2, "hopty: play: usual.cast: .mp4 cannot be written"),
        (
            &["usual.cast", "-o", "usual.cast"],
            2,
            "hopty: play: usual.cast: usual.cast is the recording itself",
        ),
        (&["usual.cast", "--speed", "0"], 2, "hopty: play: "),
    ] {
        let done = play(&world, args);
        let text = said(&done.stderr);
        assert!(done.status.code() == Some(code) && text.starts_with(words), "{args:?}: {text}");
        assert!(text.contains("\nhint: "), "{args:?}: {text}");
    }
}

#[test]
fn a_recording_becomes_pictures_pages_and_parts() {
    let world = World::plain();
    usual(&world);
    let make = |args: &[&str]| {
        let done = play(&world, args);
        assert_eq!(done.status.code(), Some(0), "{}", said(&done.stderr));
        std::fs::read_to_string(world.project.join(args[args.len() - 1])).unwrap()
    };
    let film = make(&["usual.cast", "-o", "film.svg"]);
    // An hour without anything is cut to two seconds.
    assert!(film.contains("@keyframes") && film.contains("animation:film 6.000s"), "{film}");
    let still = make(&["usual.cast", "--at", "1", "-o", "still.svg"]);
    assert!(still.contains(">second</text>") && !still.contains("@keyframes") && !still.contains("third"));
    assert_eq!(make(&["usual.cast", "--at", "0", "-o", "x.ansi"]), "first \x1b[0;32mgreen\x1b[m\n");
    assert_eq!(make(&["usual.cast", "-o", "x.txt"]), "first green\nsecond\nthird\nlast\n");
    make(&["usual.cast", "--from", "1", "--to", "2", "-o", "part.cast"]);
    assert_eq!(said(&play(&world, &["part.cast"]).stdout), "first green\nsecond\nthird\n");
    make(&["usual.cast", "-o", "page.html"]);
    assert_eq!(said(&play(&world, &["page.html"]).stdout), "first green\nsecond\nthird\nlast\n");
    let gif = play(&world, &["usual.cast", "-o", "x y.gif"]);
    assert_eq!(gif.status.code(), Some(1));
    assert!(
        said(&gif.stderr).contains(" agg ")
            && said(&gif.stderr).contains("hint: install agg")
            && said(&gif.stderr).contains("'x y.cast' 'x y.gif'")
    );
    assert_eq!(said(&play(&world, &["x y.cast"]).stdout), "first green\nsecond\nthird\nlast\n");
}

#[test]
fn a_file_is_replaced_only_when_that_is_said_and_no_link_is_followed() {
    let world = World::plain();
    usual(&world);
    let at = |name: &str| world.project.join(name);
    std::fs::write(at("precious.html"), "precious").unwrap();
    std::os::unix::fs::symlink("precious.html", at("link.html")).unwrap();
    nix::unistd::mkfifo(&at("fifo.txt"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for name in ["precious.html", "link.html", "fifo.txt", "precious.gif"] {
        if name.ends_with("gif") {
            std::fs::write(at(name), "precious").unwrap();
        }
        let done = play(&world, &["usual.cast", "-o", name]);
        assert_eq!(done.status.code(), Some(1), "{name}");
        let words = format!("hopty: play: usual.cast: {name} exists\nhint: use --overwrite to replace it");
        assert!(said(&done.stderr).starts_with(&words), "{}", said(&done.stderr));
    }
    for (name, words) in [("link.html", "a symbolic link"), ("fifo.txt", "a FIFO")] {
        let done = play(&world, &["usual.cast", "-o", name, "--overwrite"]);
        assert_eq!(done.status.code(), Some(1), "{name}");
        assert!(said(&done.stderr).contains(&format!("{name} is {words}")), "{}", said(&done.stderr));
    }
    assert_eq!(std::fs::read_to_string(at("precious.html")).unwrap(), "precious");
    let done = play(&world, &["usual.cast", "-o", "precious.html", "--overwrite"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done.stderr));
    assert!(std::fs::read_to_string(at("precious.html")).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn a_gif_is_drawn_by_agg_where_that_is_installed() {
    let mut world = World::plain();
    usual(&world);
    let bin = world.home.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    program_files::write(&bin.join("agg"), "#!/bin/sh\necho \"$1 $2\"; cat \"$3\" > \"$4\"\n");
    world.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    let done = play(&world, &["usual.cast", "--to", "1", "--idle-limit", "3s", "-o", "x.gif"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done.stderr));
    assert_eq!(said(&done.stdout), "--idle-time-limit 3\n");
    let given = std::fs::read_to_string(world.project.join("x.gif")).unwrap();
    assert!(given.starts_with("{\"height\":") && given.contains("\"version\":2"), "{given}");
    assert!(given.contains("second"), "{given}");
    // A GIF may have the recording's own name, and nothing else is left or lost beside it.
    let before = std::fs::read(world.project.join("usual.cast")).unwrap();
    let done = play(&world, &["usual.cast", "-o", "usual.gif"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done.stderr));
    std::fs::write(bin.join("agg"), "#!/bin/sh\n: > \"$4\"; exit 3\n").unwrap();
    let done = play(&world, &["usual.cast", "-o", "fails.gif"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(said(&done.stderr).contains("fails.cast is for it"), "{}", said(&done.stderr));
    std::fs::remove_file(world.project.join("usual.gif")).unwrap();
    let done = play(&world, &["usual.cast", "-o", "usual.gif"]);
    assert!(!said(&done.stderr).contains("is for it"), "{}", said(&done.stderr));
    assert_eq!(std::fs::read(world.project.join("usual.cast")).unwrap(), before);
    let entries = std::fs::read_dir(&world.project).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".cast") || name.ends_with(".gif"));
    names.sort();
    assert_eq!(names, ["fails.cast", "usual.cast", "x.gif"]);
}

#[test]
fn the_newest_recording_is_found_and_its_markers_are_listed() {
    let world = World::plain();
    let none = play(&world, &["--last"]);
    assert_eq!(none.status.code(), Some(3));
    assert!(said(&none.stderr).contains("hint: `hopty record` makes one"), "{}", said(&none.stderr));
    recording(&world, "old.cast", &[(0, output("old"))]);
    usual(&world);
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options()
        .write(true)
        .open(world.project.join("old.cast"))
        .unwrap()
        .set_modified(past)
        .unwrap();
    assert!(said(&play(&world, &["--last"]).stdout).ends_with("last\n"));
    let mut term = terminal(&world, &["--last", "--step"], (40, 10));
    term.wait_text("0:00 / 1:00:00");
    term.send("m");
    term.wait_text("0:02  half way");
    term.send("\r");
    term.wait_text("0:02 / 1:00:00");
    // A regular expression, in the case of its letters where one is large.
    term.send("/^l.st$\r");
    term.wait_text("1:00:00 / 1:00:00");
    term.send("?[Gg]re+n\r");
    term.wait_text("0:00 / 1:00:00");
    term.send("/Last\r");
    term.wait_text("not found: Last");
    term.send("q");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
}

#[test]
fn a_recording_that_is_none_is_refused_at_once() {
    let world = World::plain();
    let usual = usual(&world);
    let fifo = world.project.join("fifo.cast");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (path, what) in [(fifo.to_str().unwrap(), "a FIFO"), ("/dev/zero", "a device")] {
        let output = play(&world, &[path, "--text"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("it is {what}, not a recording")), "{said}");
    }
    // It is newer than the recording.
    let last = play(&world, &["--last", "--text"]);
    assert!(String::from_utf8_lossy(&last.stdout).contains("last"), "{last:?}");
    let shell = format!("exec {} play <(cat {}) --text", hopty().display(), usual.display());
    let piped = Command::new("bash").args(["-c", &shell]).envs(world.env.clone()).output().unwrap();
    assert!(String::from_utf8_lossy(&piped.stdout).contains("last"), "{piped:?}");
    for head in [
        "<!doctype html>".to_owned(),
        format!("<!doctype html>{}", "<script type=\"application/x-asciicast\" id=\"cast\">"),
    ] {
        let page = world.project.join("page.html");
        std::fs::write(&page, head).unwrap();
        std::fs::File::options().write(true).open(&page).unwrap().set_len(4 << 30).unwrap();
        let shell = format!("ulimit -v 600000; exec {} play page.html --text", hopty().display());
        let mut command = Command::new("bash");
        command.args(["-c", &shell]).envs(world.env.clone()).current_dir(&world.project);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("the page has no recording in it"), "{said}");
    }
}
