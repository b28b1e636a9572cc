//! What the program inherits: the same as without hopty, but for what is documented.

use super::{bare, output, run, world};

#[test]
fn only_the_three_standard_descriptors_are_open() {
    let world = world();
    // The shell that starts hopty has left some open.
    let script = format!("exec 7</dev/null 9>/dev/null; exec '{}' run -- sleep 100", super::support::claude::hopty().display());
    let term = bare(&world, &script);
    let pid = super::child(&world);
    let mut open: Vec<(String, String)> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|e| (e.file_name().into_string().unwrap(), std::fs::read_link(e.path()).unwrap().display().to_string()))
        .collect();
    open.sort();
    let names: Vec<&str> = open.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["0", "1", "2"], "{open:?}");
    assert!(open.iter().all(|(_, to)| to.starts_with("/dev/pts/") && *to == open[0].1), "{open:?}");
    super::support::kill(pid, nix::libc::SIGTERM);
    drop(term);
    world.assert_nothing_left();
}

#[test]
fn signals_are_at_their_defaults_and_none_is_blocked() {
    let world = world();
    let got = output(&mut run(&world, "grep -E '^Sig(Blk|Ign)' /proc/self/status"));
    assert_eq!(got, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    world.assert_nothing_left();
}

#[test]
fn umask_limits_and_directory_are_the_person_s() {
    let world = world();
    let inside = "umask; pwd; pwd -P; ulimit -a; cat /proc/self/oom_score_adj; nice";
    let hopty = super::support::claude::hopty();
    let around = |what: &str| format!("umask 027; ulimit -n 123; ulimit -c 0; cd '{}'; {what}", world.home.display());
    let wanted = output(&mut bare(&world, &around(inside)));
    let got = output(&mut bare(&world, &around(&format!("'{}' run -- sh -c '{inside}'", hopty.display()))));
    assert_eq!(got, wanted);
    world.assert_nothing_left();
}

#[test]
fn the_environment_is_the_person_s_less_an_outer_claude_s_plus_what_is_documented() {
    let mut world = world();
    let removed = [
        "CLAUDECODE",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_EXECPATH",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_CHILD_NOTES_DIR",
        "CLAUDE_ENV_FILE",
        "CLAUDE_PID",
        "CLAUDE_EFFORT",
        "CLAUDE_PLUGIN_ROOT",
        "CLAUDE_PLUGIN_DATA",
        "CLAUDE_PROJECT_DIR",
        "AI_AGENT",
    ];
    for name in removed {
        world.set(name, "outer");
    }
    world.set("CLAUDE_OF_MINE", "kept");
    world.set("CLAUDE_CODE_DISABLE_AGENT_VIEW", "0");
    world.set("EMPTY", "");
    world.set("LINES_IN_IT", "a\nb\u{e9}=c");
    let sorted = |text: String| {
        let mut all: Vec<String> = text.split('\0').map(str::to_owned).filter(|var| !var.is_empty()).collect();
        all.sort();
        all
    };
    let file = world.project.join("environment");
    let read = |script: &str, hopty: bool| {
        let script = format!("exec env -0 > '{}' {script}", file.display());
        let mut term = if hopty { run(&world, &script) } else { bare(&world, &script) };
        assert_eq!(term.wait_exit(), 0);
        sorted(std::fs::read_to_string(&file).unwrap())
    };
    let mut wanted = read("", false);
    wanted.retain(|var| !removed.iter().any(|name| var.split('=').next() == Some(name)));
    let socket = world.state_dir().join("run/proj.sock");
    for (name, value) in [("SESSION", "proj"), ("RUN", "1"), ("DEPTH", "1"), ("SOCKET", socket.to_str().unwrap())] {
        wanted.push(format!("HOPTY_{name}={value}"));
    }
    wanted.sort();
    assert_eq!(read("", true), wanted);
    world.assert_nothing_left();
}

#[test]
fn the_host_leads_the_session_and_the_child_its_own_group_in_the_foreground() {
    let world = world();
    let mut term = run(&world, "echo $$ $(tr ')' ' ' </proc/$$/stat | cut -d' ' -f5-9); tty; read x </dev/tty; echo got $x");
    term.wait_for("the numbers", |screen| screen.lines().iter().any(|line| line.starts_with("/dev/pts/")));
    let host = world.status()["host_pid"].as_i64().unwrap();
    let text = String::from_utf8(term.bytes()).unwrap();
    let numbers: Vec<i64> = text.lines().next().unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect();
    let [pid, parent, group, session, tty, foreground] = numbers[..] else { panic!("{text}") };
    assert_eq!((parent, group, session, foreground), (host, pid, host, pid), "{text}");
    assert!(tty > 0);
    term.send("it\n");
    term.wait_text("got it");
    term.wait_exit();
    world.assert_nothing_left();
}

#[test]
fn the_terminal_modes_that_the_program_finds_are_those_of_the_outer_terminal() {
    let world = world();
    for setup in ["", "stty -echo ixany -onlcr intr ^G;", "stty raw;", "stty cols 90 rows 33 iutf8 erase ^H;"] {
        let wanted = output(&mut bare(&world, &format!("{setup} stty -g")));
        let hopty = super::support::claude::hopty();
        let got = output(&mut bare(&world, &format!("{setup} exec '{}' run -- stty -g", hopty.display())));
        assert_eq!(got, wanted, "{setup}");
    }
    world.assert_nothing_left();
}
