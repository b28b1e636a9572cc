//! `hopty demo`: what a newcomer sees first. The whole loop happens or the exit code says so, and whatever
//! happens to it, nothing is left: no process, no file, no mode of the terminal.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod support;

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use hopty::screen::{Color, Screen, StyledRun};
use serde_json::Value;
use support::claude::hopty;
use support::term::Term;
use support::wait_for;

/// A temporary directory of its own, so that what the demo leaves behind is found.
struct Room(tempfile::TempDir);

impl Room {
    fn new() -> Room {
        Room(tempfile::Builder::new().prefix("hopty-test-").tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    /// No HOME at all, and marks of a session of hopty and Claude that the demo must not follow.
    fn env(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let set = [
            ("TMPDIR", self.path().into_os_string()),
            ("PATH", path),
            ("TERM", "xterm-256color".into()),
            ("XDG_STATE_HOME", "/nonexistent".into()),
            ("HOPTY_SESSION", "outer".into()),
            ("HOPTY_SOCKET", "/nonexistent/outer.sock".into()),
            ("HOPTY_RUN", "7".into()),
            ("HOPTY_DEPTH", "4".into()),
            ("HOPTY_RESTART_MODE", "manual".into()),
            ("CLAUDECODE", "1".into()),
            ("CLAUDE_CODE_CHILD_SESSION", "1".into()),
            ("CLAUDE_CONFIG_DIR", "/nonexistent".into()),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1".into()),
        ];
        set.map(|(name, value)| (name.into(), value)).to_vec()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(hopty());
        command.arg("demo").args(args).env_clear().envs(self.env()).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn terminal(&self, size: (u16, u16)) -> Term {
        Term::start(&hopty(), &["demo"], &self.env(), Path::new("/"), size)
    }

    /// Processes whose home is in here, with their command lines.
    fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("HOME={}/", self.path().display());
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|entry| {
            let env = std::fs::read(entry.path().join("environ")).ok()?;
            let ours = env.split(|byte| *byte == 0).any(|var| var.starts_with(mark.as_bytes()));
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let pid = entry.file_name().to_str()?.parse().ok()?;
            ours.then(|| (pid, String::from_utf8_lossy(&line).replace('\0', " ")))
        })
        .collect()
    }

    fn assert_no_process(&self) {
        assert_eq!(self.processes(), Vec::new(), "processes are left");
    }

    fn assert_nothing_left(&self) {
        self.assert_no_process();
        let left: Vec<_> =
            std::fs::read_dir(self.path()).unwrap().flatten().map(|entry| entry.path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "files are left");
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        // Sessions of the demo end with their terminal; a failed test gives them the time to do so.
        while std::thread::panicking()
            && let Some((pid, _)) = self.processes().into_iter().next()
            && support::wait::ends_within(pid, until.saturating_duration_since(std::time::Instant::now()))
        {
        }
    }
}

/// Reads the account until a line contains `text`.
fn read_until(child: &mut Child, text: &str) -> BufReader<std::process::ChildStdout> {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the account ends before {text:?}");
    }
    lines
}

fn signal(child: &Child, number: i32) {
    kill(i32::try_from(child.id()).unwrap(), number);
}

fn kill(pid: i32, number: i32) {
    // SAFETY: kill takes two numbers; the process was started by this test and has not been waited for.
    unsafe { nix::libc::kill(pid, number) };
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[test]
fn in_a_pipe_the_run_is_told_in_lines() {
    let room = Room::new();
    let output = room.run(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(code(output.status), 0, "{text}\n{errors}");
    assert!(!text.contains('\x1b'), "no escape codes in a pipe");
    // In the order in which it happens, each with its time.
    let mut rest = text.as_str();
    for part in [
        "person  types: Count to ten",
        "agent   Step 7: seven.",
        "hopty   context 92 % (184,000 of 200,000 tokens)",
        "a safe point.",
        "hopty   Saved handoff HO-",
        "hopty   Started run 2 to continue from HO-",
        "agent   Continuing from handoff HO-",
        "agent   hello.txt counts to ten.",
        "person  types: /exit",
        "hopty demo: it worked",
        "What happened",
        "worked in 7 tool steps",
        "finished it in 4 more",
        "Why, in hopty's own words",
        ", as the new conversation saw it",
        "## Request",
        "lines in the file                              10\n",
        "Nothing is left: no process, no file.",
        "where you would type claude",
    ] {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not told, or too early:\n{text}"));
        rest = &rest[at + part.len()..];
    }
    let account: Vec<&str> = text.lines().skip(2).take_while(|line| !line.is_empty()).collect();
    assert!(account.len() > 30 && account.iter().all(|line| line.get(5..7) == Some(" s")), "{text}");
    room.assert_nothing_left();
}

#[test]
fn in_a_terminal_it_is_shown_live_and_the_page_stays() {
    let room = Room::new();
    let mut term = room.terminal((80, 24));
    term.wait_text("fills the context");
    assert!(term.look(Screen::alternate));
    assert!(
        term.lines()[0].contains("hopty demo") && term.lines()[0].contains("Ctrl+C ends it"),
        "{:?}",
        term.lines()
    );
    // What the person types meanwhile means nothing, and is not left for the shell.
    term.send("ls\r\x1b[A");
    term.resize(120, 40);
    term.wait_for("the picture to fill the new size", |screen| {
        screen.lines()[0].trim_end().ends_with(" s") && screen.lines()[0].len() > 100
    });
    term.wait_text("hand-over requested.");
    term.wait_text("Continue from handoff HO-");
    term.resize(64, 20);
    term.wait_text("it has the handoff");
    term.resize(100, 60);
    assert_eq!(term.wait_exit(), 0, "{}", term.lines().join("\n"));
    term.wait_text("Nothing is left: no process, no file.");
    term.assert_whole();
    assert!(!term.pty.unread(), "nothing typed is left for the shell");
    let lines = term.lines();
    assert!(lines.iter().any(|line| line.contains("Figures of this run")), "{lines:?}");
    room.assert_nothing_left();
}

#[test]
fn without_colour_nothing_is_coloured() {
    let room = Room::new();
    let mut env = room.env();
    env.push(("NO_COLOR".into(), "1".into()));
    let mut term = Term::start(&hopty(), &["demo"], &env, Path::new("/"), (80, 24));
    term.wait_text("context  16 %");
    let plain = |run: &StyledRun| (run.style.fg, run.style.bg) == (Color::Default, Color::Default);
    let coloured = term.look(|screen| (0..24).flat_map(|row| screen.row_runs(row)).find(|run| !plain(run)));
    assert_eq!(coloured, None);
    term.send("\x03");
    assert_eq!(term.wait_exit(), 130);
    room.assert_nothing_left();
}

#[test]
fn ctrl_c_ends_everything_at_any_moment() {
    // In every encoding that a terminal may be in; at the very beginning, while the goal is typed, while the
    // agent works.
    for (moment, key) in [("hopty demo", "\x03"), ("❯\u{a0}Cou", "\x1b[99;5u"), ("● Step 1", "\x03")] {
        let room = Room::new();
        let mut term = room.terminal((80, 24));
        term.wait_text(moment);
        term.send(key);
        assert_eq!(term.wait_exit(), 130, "{moment}: {}", term.lines().join("\n"));
        term.wait_text("Nothing is left: no process, no file.");
        term.assert_whole();
        room.assert_nothing_left();
    }
}

#[test]
fn a_signal_during_the_hand_over_ends_everything() {
    for (number, moment) in
        [(nix::libc::SIGINT, "hand-over requested"), (nix::libc::SIGTERM, "Started run 2")]
    {
        let room = Room::new();
        let mut child = room.command(&[]).spawn().unwrap();
        let lines = read_until(&mut child, moment);
        signal(&child, number);
        assert_eq!(code(child.wait().unwrap()), 128 + number);
        drop(lines);
        room.assert_nothing_left();
    }
}

#[test]
fn a_closed_window_ends_everything() {
    let room = Room::new();
    let mut term = room.terminal((80, 24));
    term.wait_text("fills the context");
    signal(&term.child, nix::libc::SIGHUP);
    assert_eq!(term.wait_exit(), 129);
    term.assert_whole();
    room.assert_nothing_left();
}

#[test]
fn a_reader_that_goes_away_ends_everything() {
    let room = Room::new();
    let mut child = room.command(&[]).spawn().unwrap();
    drop(read_until(&mut child, "Started run 1"));
    assert_eq!(code(child.wait().unwrap()), 128 + nix::libc::SIGPIPE);
    room.assert_nothing_left();
}

#[test]
fn a_killed_demo_leaves_no_process() {
    let room = Room::new();
    let mut child = room.command(&[]).spawn().unwrap();
    let lines = read_until(&mut child, "Step 2");
    assert!(!room.processes().is_empty());
    signal(&child, nix::libc::SIGKILL);
    child.wait().unwrap();
    drop(lines);
    wait_for("the session to end with its terminal", || room.processes().is_empty().then_some(()));
}

#[test]
fn a_loop_that_does_not_happen_is_no_success() {
    let room = Room::new();
    let mut child = room.command(&[]).spawn().unwrap();
    let lines = read_until(&mut child, "Step 2");
    let host = room.processes().into_iter().find(|(pid, _)| support::is_host(*pid)).expect("a host").0;
    kill(host, nix::libc::SIGKILL);
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(code(child.wait().unwrap()), 1);
    drop(lines);
    for part in [
        "the hand-over did not happen", "hopty ended with code 125", "no handoff was saved",
        "The last screen", "Nothing is left",
    ] {
        assert!(errors.contains(part), "{part:?}:\n{errors}");
    }
    room.assert_nothing_left();
}

/// The whole loop in what a demo leaves: no tool use was lost at the hand-over, the handoff is complete and
/// was used, its prompt was submitted once, and the work is done.
fn assert_whole_loop(journal: &Path, handoffs: &Path, transcripts: &Path, work: &Path) {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let json =
        |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let manifest: Value = serde_json::from_str(&read(&handoffs.join("global.manifest.json"))).unwrap();
    let id = manifest["current"]["id"].as_str().unwrap();
    assert_eq!(manifest["current"]["status"], "consumed");
    for file in ["handoff.md", "brief.md", "state.json"] {
        assert!(handoffs.join("records").join(id).join(file).is_file(), "{file}");
    }
    let document = read(&handoffs.join("global-CURRENT.md"));
    assert!(document.contains(id) && document.contains("Count to ten in hello.txt"), "{document}");
    let enter = |line: &Value| line["action"]["typing"]["what"] == "enter";
    assert_eq!(json(&read(journal)).iter().filter(|line| enter(line)).count(), 1);
    let project = std::fs::read_dir(transcripts).unwrap().flatten().next().unwrap().path();
    let all = std::fs::read_dir(project).unwrap().flatten().map(|entry| entry.path());
    let mut counts: Vec<_> = all
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .map(|path| {
            let lines = json(&read(&path));
            let blocks = |role: &str, kind: &str| {
                let own = lines.iter().filter(|line| line["type"] == role && line["isSidechain"] != true);
                let blocks = own.filter_map(|line| line["message"]["content"].as_array()).flatten();
                blocks.filter(|block| block["type"] == kind).count()
            };
            let prompt = format!("Continue from handoff {id}.");
            let prompts = lines.iter().filter(|line| {
                line["type"] == "user" && line["message"]["content"].to_string().contains(&prompt)
            });
            (blocks("assistant", "tool_use"), blocks("user", "tool_result"), prompts.count())
        })
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [(4, 4, 1), (7, 7, 0)], "tool uses, results and continuation prompts");
    assert_eq!(
        read(work).lines().collect::<Vec<_>>().join(" "),
        "one two three four five six seven eight nine ten"
    );
}

#[test]
fn kept_files_are_where_it_says() {
    let room = Room::new();
    let output = room.run(&["--keep"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(code(output.status), 0, "{text}");
    room.assert_no_process();
    let mut rest = text.split("The files are in ").nth(1).unwrap().lines();
    let base = PathBuf::from(rest.next().unwrap());
    assert_eq!(base.parent().unwrap(), room.path());
    let named: Vec<PathBuf> =
        rest.take_while(|line| !line.is_empty()).map(|line| base.join(line.split_at(15).1)).collect();
    assert_eq!(named.len(), 4, "{text}");
    assert!(named.iter().all(|path| path.exists()), "{named:?}");
    assert_whole_loop(&named[0], &named[1], &named[2], &named[3]);
    let replayed = Command::new(hopty()).arg("replay").arg(&named[0]).env_clear().output().unwrap();
    assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stderr));
    let sockets = base.join("home/.local/state/hopty/run");
    assert_eq!(std::fs::read_dir(sockets).unwrap().count(), 0, "no socket is kept");
}

#[test]
fn where_it_cannot_be_set_up_it_says_why() {
    let room = Room::new();
    let output = room.command(&[]).env("TMPDIR", "/nonexistent").output().unwrap();
    assert_eq!(code(output.status), 125);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.starts_with("hopty: demo: cannot set it up: ")
            && errors.contains("hint: ")
            && errors.contains("TMPDIR"),
        "{errors}"
    );
}

/// A network name space of its own has a loopback device that is down: the demo says so, and does not wait
/// for ever.
#[test]
fn a_machine_without_loopback_is_told() {
    let room = Room::new();
    let mut command = Command::new("unshare");
    command.args(["-rn"]).arg(hopty()).arg("demo").env_clear().envs(room.env()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("unshare") {
        return support::skip("no network namespace can be made");
    }
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("cannot be reached") && said.contains("loopback"), "{said}");
    assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0, "nothing is left");
}
