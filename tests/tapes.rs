//! The tapes of `tests/tapes`, played by `hopty test` as a person plays them, at rest and under stress. What
//! is not installed here is skipped by name.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod support;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::term::Term;
use support::{claude, skip};

/// The tapes that need the real Claude Code.
const REAL_CLAUDE: &str = "guard.tape";

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `hopty test` in a directory, with a home of its own, as CI runs it.
fn hopty_test(dir: &Path, args: &[&str]) -> Output {
    hopty_test_for("1", dir, args)
}

/// The same with `CI` set so; empty as on a person's machine.
fn hopty_test_for(ci: &str, dir: &Path, args: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(claude::hopty());
    command.arg("test").args(args).current_dir(dir).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path()).env("CI", ci);
    if let Some(path) = real_claude() {
        command.env("HOPTY_TEST_CLAUDE", path);
    }
    command.output().unwrap()
}

/// The real Claude, where a test may have it.
fn real_claude() -> Option<PathBuf> {
    claude::real()
}

fn said(output: &Output) -> String {
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{out}{errors}")
}

/// Plays all tapes of the repository in a directory of this test, so that evidence does not mix.
fn play_all(more: &[&str]) -> Output {
    let work = tempfile::tempdir().unwrap();
    let tapes = repository().join("tests/tapes");
    let mut args = vec![tapes.to_str().unwrap()];
    args.extend_from_slice(more);
    hopty_test(work.path(), &args)
}

/// Every skipped tape is told with its reason.
fn report_skipped(text: &str) {
    for line in text.lines().filter(|line| line.contains("is not installed")) {
        skip::skip(line.trim());
    }
}

#[test]
fn all_tapes_pass() {
    let output = play_all(&[]);
    let text = said(&output);
    report_skipped(&text);
    assert!(output.status.success(), "{text}");
    assert!(repository().join("tests/tapes").join(REAL_CLAUDE).is_file());
}

#[test]
fn all_tapes_pass_under_stress() {
    let output = play_all(&["--stress=7", "--jobs", "2"]);
    assert!(output.status.success(), "{}", said(&output));
}

/// A tape in a directory of its own.
fn with_tape(content: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("tests")).unwrap();
    std::fs::write(dir.path().join("tests/one.tape"), content).unwrap();
    std::fs::write(dir.path().join(".gitignore"), "/target\n").unwrap();
    dir
}

/// A directory that has no place for build products gets none.
#[test]
fn evidence_is_in_the_cache_where_target_is_not_for_it() {
    let dir = with_tape("Set ExpectTimeout 200ms\nStart sh -c \"read x\"\nExpect \"gone\"\n");
    std::fs::remove_file(dir.path().join(".gitignore")).unwrap();
    let state = tempfile::tempdir().unwrap();
    for args in [&["test"][..], &["test", "--rerun-failed"]] {
        let mut command = Command::new(claude::hopty());
        command.args(args).current_dir(dir.path()).env_clear().env("PATH", "/usr/bin:/bin");
        command.env("HOME", state.path()).env("XDG_STATE_HOME", state.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        let said = said(&output);
        let trace = said.lines().find_map(|line| line.trim_start().strip_prefix("trace ")).unwrap().trim();
        let trace = Path::new(trace);
        assert!(trace.is_file() && trace.starts_with(state.path().join("hopty/cache/test")), "{said}");
        assert!(!dir.path().join("target").exists());
    }
}

#[test]
fn a_failure_shows_what_is_wrong_and_keeps_evidence() {
    let dir = with_tape(
        "Set ExpectTimeout 200ms\nStart sh -c \"echo one; echo four; read x\"\nExpect+Row 2 /^fuor$/\n",
    );
    let output = hopty_test(dir.path(), &[]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in
        ["FAIL", "tests/one.tape:3", "Expect+Row 2 /^fuor$/", "nearest: row 2 \"four\"", "0 passed, 1 failed"]
    {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    let evidence = dir.path().join("target/hopty/one");
    for file in ["trace.html", "one.cast", "screen.txt", "screen.svg", "screen.json"] {
        assert!(evidence.join(file).is_file(), "{file}");
    }
    let again = hopty_test(dir.path(), &["--rerun-failed", "--check"]);
    assert!(said(&again).contains("1 passed"), "{}", said(&again));
}

#[test]
fn a_request_that_lacks_a_text_is_shown() {
    let dir = with_tape(
        "Set ExpectTimeout 500ms\nModel text \"Hello.\"\nClaude+StandIn\nExpect@20s \"❯\"\n\
         Type \"clean the build\"\nEnter\nExpect@20s \"Hello.\"\nExpect+Request 1 /clean the built/\n",
    );
    let text = said(&hopty_test(dir.path(), &[]));
    assert!(text.contains("is not in request 1") && text.contains("clean the build"), "{text}");
    assert!(text.contains("requests.txt"), "{text}");
    let kept = std::fs::read_to_string(dir.path().join("target/hopty/one/requests.txt")).unwrap();
    assert!(kept.starts_with("── request 1 ──\n") && kept.contains("clean the build"), "{kept}");
}

#[test]
fn a_failure_removes_and_writes_no_files_but_its_own() {
    let dir = with_tape("Set ExpectTimeout 200ms\nStart sh -c \"read x\"\nExpect \"gone\"\n");
    let (thesis, below) = (dir.path().join("thesis"), dir.path().join("target/hopty"));
    std::fs::create_dir_all(&thesis).unwrap();
    std::fs::write(thesis.join("notes.txt"), "mine").unwrap();
    std::fs::create_dir_all(&below).unwrap();
    std::os::unix::fs::symlink(&thesis, below.join("one")).unwrap();
    let output = hopty_test(dir.path(), &[]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("nothing is kept of the failure: target/hopty/one is a symbolic link"), "{text}");
    assert_eq!(std::fs::read_dir(&thesis).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(thesis.join("notes.txt")).unwrap(), "mine");

    std::fs::remove_file(below.join("one")).unwrap();
    std::fs::create_dir(below.join("one")).unwrap();
    std::fs::write(below.join("one/mine.txt"), "mine").unwrap();
    std::fs::write(below.join("one/one-second.cast"), "of an earlier failure").unwrap();
    std::os::unix::fs::symlink(thesis.join("notes.txt"), below.join("one/screen.txt")).unwrap();
    assert_eq!(hopty_test(dir.path(), &[]).status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(below.join("one/mine.txt")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(thesis.join("notes.txt")).unwrap(), "mine");
    assert!(below.join("one/trace.html").is_file() && !below.join("one/one-second.cast").exists());
}

#[test]
fn what_the_reader_warns_of_is_told() {
    let dir = with_tape("Start cat\nType \"a\"\nSet Height 300\nExpect \"a\"\n");
    for args in [&["--check"][..], &["--fast", "--require-all"]] {
        let told = said(&hopty_test(dir.path(), args));
        assert!(told.contains(":3  this setting is ignored"), "{args:?}: {told}");
    }
}

#[test]
fn outputs_are_made_of_what_the_tape_shows() {
    let dir = with_tape(
        "Output d.cast\nOutput d.svg\nOutput d.html\nOutput d.gif\n\
         Set Theme { \"background\": \"#010203\", \"foreground\": \"#fafbfc\" }\n\
         Hide\nStart sh -c \"echo secret-word; read x; clear; echo shown-word; read y\"\n\
         Expect \"secret-word\"\nEnter\nExpect \"shown-word\"\nShow\nEnter\nExit 0\n",
    );
    let told = said(&hopty_test(dir.path(), &["--fast", "--render"]));
    assert!(told.contains("d.gif is not made"), "{told}");
    let made = |name: &str| {
        std::fs::read_to_string(dir.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}: {told}"))
    };
    let (cast, svg) = (made("d.cast"), made("d.svg"));
    let events = cast.split_once('\n').unwrap().1;
    assert!(events.contains("shown-word") && !events.contains("secret-word"), "{cast}");
    assert!(svg.contains("shown-word") && svg.contains("#010203") && !svg.contains("secret-word"), "{svg}");
    assert!(made("d.html").starts_with("<!doctype html>"));
    // Without the option a test changes nothing of the project.
    std::fs::remove_file(dir.path().join("d.cast")).unwrap();
    hopty_test(dir.path(), &["--fast"]);
    assert!(!dir.path().join("d.cast").exists());
}

#[test]
fn the_hint_for_a_snapshot_is_a_command_that_accepts_it() {
    let dir = with_tape("");
    std::fs::write(dir.path().join("x.tape"), "Start cat\nType \"hi\"\nSnapshot s\n").unwrap();
    let told = said(&hopty_test_for("", dir.path(), &["--fast", "x.tape"]));
    assert!(told.contains("`hopty test x.tape --accept=x__s`"), "{told}");
    hopty_test(dir.path(), &["x.tape", "--accept=x__s"]);
    assert_eq!(hopty_test(dir.path(), &["--fast", "x.tape"]).status.code(), Some(0));
    for option in ["--accept", "--review"] {
        let told = said(&hopty_test(dir.path(), &["x.tape", option]));
        assert!(
            told.contains("there is no pending snapshot beside x.tape; name tapes to look elsewhere"),
            "{told}"
        );
    }
}

#[test]
fn a_slip_of_the_command_line_is_told() {
    let dir = with_tape("");
    std::fs::write(dir.path().join("x.tape"), "Start true\nExit 0\n").unwrap();
    let told = said(&hopty_test(dir.path(), &["x"]));
    assert!(told.contains("did you mean x.tape?"), "{told}");
    let told = said(&hopty_test(dir.path(), &["x.tape", "--env", "NO_SUCH_NAME"]));
    assert!(told.contains("hopty: --env NO_SUCH_NAME: there is no such variable to pass"), "{told}");
}

#[test]
fn exit_codes_are_those_of_the_design() {
    let none = tempfile::tempdir().unwrap();
    assert_eq!(hopty_test(none.path(), &[]).status.code(), Some(3));
    assert_eq!(hopty_test(none.path(), &["missing.tape"]).status.code(), Some(2));
    let broken = with_tape("Tpye \"x\"\n");
    let output = hopty_test(broken.path(), &[]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("Type"), "{}", said(&output));
    let own = with_tape("Start true\nExit 0\n");
    assert_eq!(hopty_test(own.path(), &[]).status.code(), Some(0));
    assert_eq!(hopty_test(own.path(), &["--vhs"]).status.code(), Some(2));
    assert_eq!(hopty_test(own.path(), &["--filter", "two"]).status.code(), Some(3));
    let skipped = with_tape("Require no-such-program\nStart true\nExit 0\n");
    assert_eq!(hopty_test(skipped.path(), &[]).status.code(), Some(0));
    assert_eq!(hopty_test(skipped.path(), &["--require-all"]).status.code(), Some(1));
}

#[test]
fn a_tape_that_passes_only_the_second_time_is_flaky_and_red() {
    let marker = tempfile::tempdir().unwrap();
    let file = marker.path().join("seen");
    let line = format!("test -e {0} || {{ touch {0}; exit 1; }}", file.display());
    let dir = with_tape(&format!("Start sh -c \"{line}\"\nExit 0\n"));
    let output = hopty_test(dir.path(), &["--retry", "2"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("1 flaky"), "{}", said(&output));
    std::fs::remove_file(&file).unwrap();
    assert_eq!(hopty_test(dir.path(), &["--retry", "2", "--allow-flaky"]).status.code(), Some(0));
}

#[test]
fn an_interrupt_ends_all_tests_and_tells_the_results_so_far() {
    let dir = with_tape("Start sleep 300\nExit@60s 0\n");
    let work = dir.path();
    let mut child = Command::new(claude::hopty())
        .args(["test"])
        .current_dir(work)
        .env("HOME", work)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    support::wait_for("the program of the tape", || {
        hopty::sys::process::descendants(pid).first().map(|process| process.pid)
    });
    support::kill(pid, nix::libc::SIGINT);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(hopty::sys::process::descendants(pid).is_empty());
}

/// The processes called so that are left.
fn sleepers(seconds: &str) -> Vec<i32> {
    let wanted = format!("sleep {seconds}");
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| hopty::sys::process_activity::command_line(*pid).as_deref() == Some(wanted.as_str()))
        .collect()
}

#[test]
fn what_hides_from_its_tape_is_found_and_ended() {
    // Without the environment, in another session, and in another directory, too.
    let hidden = |seconds: &str, before: &str| {
        let line = format!("{before} env -i setsid sleep {seconds} </dev/null >/dev/null 2>&1");
        let wait = format!("until pgrep -xf 'sleep {seconds}'; do :; done");
        format!("Start+Shell \"({line} &); {wait}\"\nExit 0\n")
    };
    for (tape, seconds) in [
        (hidden("60.0351", ""), "60.0351"),
        (hidden("60.0352", "cd /;"), "60.0352"),
        ("Run \"sleep 60.0353 >/dev/null 2>&1 &\"\nStart true\nExit 0\n".to_owned(), "60.0353"),
        ("Set Deadline 1s\nRun \"sleep 60.0354; true\"\nStart true\n".to_owned(), "60.0354"),
    ] {
        let dir = with_tape(&tape);
        let output = hopty_test(dir.path(), &[]);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(seconds), "{}", said(&output));
        assert_eq!(sleepers(seconds), [0; 0], "{tape}");
    }
}

#[test]
fn a_pipe_that_nobody_reads_ends_the_tests_and_their_programs() {
    let dir = with_tape("Start false\nExit 0\n");
    let stubborn = "Start+Shell \"trap '' HUP TERM; sleep 60.0355\"\nExpect@60s \"x\"\n";
    for number in 2..5 {
        std::fs::write(dir.path().join(format!("tests/{number}.tape")), stubborn).unwrap();
    }
    let mut child = Command::new(claude::hopty())
        .args(["test", "--jobs", "4"])
        .current_dir(dir.path())
        .env("HOME", dir.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(sleepers("60.0355"), [0; 0]);
}

#[test]
fn a_command_on_the_side_is_interrupted() {
    let dir = with_tape("Run \"sleep 60.0356\"\nStart true\n");
    let mut child = Command::new(claude::hopty())
        .args(["test"])
        .current_dir(dir.path())
        .env("HOME", dir.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    support::wait_for("the command", || sleepers("60.0356").first().copied());
    let began = std::time::Instant::now();
    support::kill(i32::try_from(child.id()).unwrap(), nix::libc::SIGQUIT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    assert_eq!(sleepers("60.0356"), [0; 0]);
}

#[test]
fn a_paused_test_is_attached_to_typed_into_and_goes_on() {
    let dir = with_tape("Start cat\nType \"one\"\nEnter\nExpect \"one\"\nPause\nExpect \"two\"\n");
    let home = tempfile::tempdir().unwrap();
    let of = |name: &str| std::env::var_os(name).unwrap_or_default();
    let env: Vec<(OsString, OsString)> = [
        ("PATH", of("PATH")),
        ("HOME", home.path().into()),
        ("XDG_RUNTIME_DIR", home.path().into()),
        ("TERM", "xterm-256color".into()),
    ]
    .map(|(name, value)| (name.into(), value))
    .into();
    let start = |args: &[&str]| Term::start(&claude::hopty(), args, &env, dir.path(), (100, 30));
    let mut test = start(&["test", "--pause", "--keep"]);
    test.wait_text("hopty attach test-one");
    let mut window = start(&["attach", "test-one"]);
    window.wait_text("one");
    window.wait_text("ctrl-] continues");
    window.send("two\r");
    window.wait_for("what was typed, and the answer to it", |screen| {
        screen.lines().iter().filter(|line| line.as_str() == "two").count() == 2
    });
    window.send("\x1d");
    test.wait_text("1 passed");
    assert!(test.lines().iter().any(|line| line.contains("typed in the pause: Type \"two\" Enter")));
    let kept = test.lines().iter().find_map(|line| Some(PathBuf::from(line.split_once(": kept ")?.1.trim())));
    assert!(kept.as_ref().is_some_and(|dir| dir.is_dir()), "{:?}", test.lines());
    std::fs::remove_dir_all(kept.unwrap()).unwrap();
    assert_eq!(test.wait_exit(), 0);
    window.wait_exit();
    let mut list = start(&["ls", "--all", "--json"]);
    list.wait_for("a list in which nothing is left of the session", |screen| screen.lines()[0] == "[]");
    list.wait_exit();
}

#[test]
fn evidence_has_nothing_of_what_the_tape_redacts() {
    let dir = with_tape(
        "Set ExpectTimeout 200ms\nSet Redact /secret-\\d+/ \"[S]\"\nCopy+File show.sh .\n\
         Start sh show.sh\nMark \"secret-4711\"\nExpect \"gone\"\n",
    );
    // Drawn in two pieces, so that its bytes alone do not show it.
    std::fs::write(dir.path().join("tests/show.sh"), "printf 'se\\033[1mcret-4711 here'; read x\n").unwrap();
    let output = hopty_test(dir.path(), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let evidence = dir.path().join("target/hopty/one");
    let mut files = 0;
    for file in std::fs::read_dir(&evidence).unwrap().flatten() {
        files += 1;
        let text = std::fs::read_to_string(file.path()).unwrap();
        let at = text.find("4711").map(|at| text[..at].lines().count());
        assert_eq!(at, None, "a line of {:?}", file.path());
    }
    assert!(files >= 5, "{files} files");
    let screen = std::fs::read_to_string(evidence.join("screen.txt")).unwrap();
    assert!(screen.contains("[S] here"), "{screen}");
}

/// `hopty test --watch` in a terminal, with a home of its own in the directory.
fn watch(dir: &Path) -> Term {
    let of = |name: &str| std::env::var_os(name).unwrap_or_default();
    let home = dir.join("home");
    std::fs::create_dir(&home).unwrap();
    let env: Vec<(OsString, OsString)> = [
        ("PATH", of("PATH")),
        ("HOME", home.clone().into()),
        ("XDG_RUNTIME_DIR", home.into()),
        ("TERM", "xterm-256color".into()),
    ]
    .map(|(name, value)| (name.into(), value))
    .into();
    Term::start(&claude::hopty(), &["test", "--watch"], &env, dir, (100, 60))
}

#[test]
fn the_keys_of_a_watch_accept_snapshots_name_traces_and_play_all() {
    let dir = with_tape("Start sh -c 'echo first; read x'\nExpect 'first'\nSnapshot end\nEnter\nExit 0\n");
    std::fs::write(dir.path().join("tests/two.tape"), "Start true\nExit 0\n").unwrap();
    let snapshot = dir.path().join("tests/snapshots/one__end.snap");
    let mut test = watch(dir.path());
    test.wait_text("tests/one.tape fails; waiting for changes (a plays all, u accepts");
    assert!(!snapshot.exists());
    test.send("o");
    test.wait_text("hopty: trace of tests/one.tape: /");
    test.wait_for("the path of a trace", |screen| {
        screen.lines().concat().contains("target/hopty/one/trace.html")
    });
    test.send("u");
    test.wait_text("hopty: accepted tests/snapshots/one__end.snap");
    test.wait_text("hopty: playing tests/one.tape");
    test.wait_text("all pass; waiting for changes (a plays all, q quits)");
    assert!(std::fs::read_to_string(&snapshot).unwrap().contains("first"));
    test.send("o");
    test.wait_text("hopty: no failure left a trace");
    test.send("u");
    test.wait_text("hopty: there is no pending snapshot");
    test.send("a");
    test.wait_text("hopty: playing tests/one.tape, tests/two.tape");
    test.wait_text("2 passed");
    test.send("q");
    assert_eq!(test.wait_exit(), 0);
}

#[test]
fn a_watch_plays_what_changes_and_all_on_enter() {
    let dir = with_tape("Start echo one\nExpect \"one\"\nExit 0\n");
    std::fs::write(dir.path().join("tests/two.tape"), "Start true\nExit 0\n").unwrap();
    let mut test = watch(dir.path());
    test.wait_text("all pass; waiting for changes");
    std::fs::write(dir.path().join("tests/one.tape"), "Start echo one\nExpect@100ms \"uno\"\n").unwrap();
    test.wait_text("hopty: tests/one.tape fails; waiting for changes");
    assert!(!test.lines().iter().any(|line| line.contains("playing") && line.contains("two")));
    std::fs::write(dir.path().join("tests/three.tape"), "Start true\nExit 0\n").unwrap();
    test.wait_text("hopty: playing tests/three.tape");
    test.wait_for("that it waits again", |screen| {
        screen.lines().iter().filter(|line| line.contains("one.tape fails; waiting")).count() == 2
    });
    std::fs::write(dir.path().join("tests/one.tape"), "Start echo one\nExpect \"one\"\n").unwrap();
    test.wait_for("that all pass again", |screen| {
        screen.lines().iter().filter(|line| line.contains("all pass; waiting")).count() == 2
    });
    test.send("\r");
    test.wait_text("3 passed");
    test.wait_for("that it waits once more", |screen| {
        screen.lines().iter().filter(|line| line.contains("all pass; waiting")).count() == 3
    });
    test.send("q");
    assert_eq!(test.wait_exit(), 0);
}
