//! What the program inherits: the same as without hopty, but for what is documented.

use std::collections::BTreeMap;

use super::{bare, output, run, world};

/// `hopty run` as a shell writes it.
fn hopty_run() -> String {
    format!("'{}' run --", super::support::claude::hopty().display())
}

/// Where the descriptors of a process lead, by number.
fn descriptors(pid: i32) -> BTreeMap<i32, String> {
    let to = |entry: &std::fs::DirEntry| std::fs::read_link(entry.path()).unwrap().display().to_string();
    let all = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().map(|entry| entry.unwrap());
    all.map(|entry| (entry.file_name().into_string().unwrap().parse().unwrap(), to(&entry))).collect()
}

#[test]
fn what_the_shell_left_open_is_open_in_every_run_and_nothing_else_is() {
    let world = world();
    let file = world.project.join("file");
    std::fs::write(&file, "0123456789").unwrap();
    // The same open file in every run: each reads on where the one before it stopped.
    let script = "read -r -N 3 x <&7; echo got $x; read -r";
    let around =
        |hopty: &str| format!("exec 7<'{}' 9>/dev/null; exec {hopty} bash -c '{script}'", file.display());
    let mut wanted = {
        let term = bare(&world, &around(""));
        term.wait_text("got 012");
        descriptors(i32::try_from(term.child.id()).unwrap())
    };
    let mut term = bare(&world, &around(&hopty_run()));
    for (run, got) in [(1, "got 012"), (2, "got 345")] {
        term.wait_text(got);
        let pid = super::child(&world);
        let open = descriptors(pid);
        for standard in 0..3 {
            wanted.insert(standard, open[&0].clone());
        }
        assert_eq!(open, wanted, "run {run}");
        assert!(open[&0].starts_with("/dev/pts/") && open[&7] == file.to_str().unwrap(), "{open:?}");
        if run == 1 {
            world.ask(&["restart", "proj"]);
        }
    }
    super::support::kill(super::child(&world), nix::libc::SIGTERM);
    assert_eq!(term.wait_exit(), 143);
    world.assert_nothing_left();
}

/// Who waits for the end of a pipe does not wait for a session that it left behind.
#[test]
fn without_a_terminal_nothing_is_kept_open() {
    let world = world();
    let run = format!("{} sleep 100", hopty_run().replace("run", "run --detached"));
    let got = output(&mut bare(&world, &format!("x=$( ({run} 4>&1 >/dev/null) ); echo it is over $x")));
    assert_eq!(got, "it is over\n");
    let pid = super::child(&world);
    assert_eq!(descriptors(pid).keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    super::support::kill(pid, nix::libc::SIGTERM);
    world.assert_nothing_left();
}

#[test]
fn errors_go_where_they_were_sent() {
    let world = world();
    let errors = world.project.join("errors");
    let inside = "tty <&2; echo out; echo err >&2; : >&3";
    for to in
        [format!("2>>'{}'", errors.display()), "2>/dev/tty".to_owned(), "2>&-".to_owned(), String::new()]
    {
        let run = |hopty: &str| {
            let _ = std::fs::remove_file(&errors);
            let shown = output(&mut bare(&world, &format!("{hopty} sh -c '{inside}' {to}")));
            (shown, std::fs::read_to_string(&errors).unwrap_or_default())
        };
        let (wanted, got) = (run(""), run(&hopty_run()));
        let without_names = |(shown, file): (String, String)| {
            let is_name = |line: &str| line.starts_with("/dev/");
            (
                shown
                    .lines()
                    .map(|line| if is_name(line) { "a terminal" } else { line }.to_owned())
                    .collect::<Vec<_>>(),
                file,
            )
        };
        assert_eq!(without_names(got), without_names(wanted), "{to}");
    }
    world.assert_nothing_left();
}

#[test]
fn signals_are_as_they_were_left_ignored_and_blocked() {
    let world = world();
    let inside = "grep -E '^Sig(Blk|Ign)' /proc/self/status";
    for around in [
        "env",
        "env --ignore-signal=PIPE",
        "env --ignore-signal=HUP,INT,CHLD,TSTP,TTOU,SEGV,RTMIN --default-signal=PIPE",
        "env --block-signal=TERM,WINCH,CHLD,HUP,CONT,RTMAX --ignore-signal=USR1,QUIT",
    ] {
        let wanted = output(&mut bare(&world, &format!("{around} {inside}")));
        let got = output(&mut bare(&world, &format!("{around} {} {inside}", hopty_run())));
        assert_eq!(got, wanted, "{around}");
        assert!(got.contains("SigIgn"), "{got}");
    }
    world.assert_nothing_left();
}

#[test]
fn the_program_is_called_as_it_was_called() {
    let world = world();
    let inside = "sh -c 'tr \"\\0\" \" \" </proc/$$/cmdline'";
    let wanted = output(&mut bare(&world, inside));
    assert_eq!(output(&mut bare(&world, &format!("{} {inside}", hopty_run()))), wanted);
    assert!(wanted.starts_with("sh -c"), "{wanted}");
    world.assert_nothing_left();
}

#[test]
fn umask_limits_and_directory_are_the_person_s() {
    let world = world();
    let inside = "umask; pwd; pwd -P; ulimit -a; cat /proc/self/oom_score_adj; nice";
    let hopty = super::support::claude::hopty();
    let around =
        |what: &str| format!("umask 027; ulimit -n 123; ulimit -c 0; cd '{}'; {what}", world.home.display());
    let wanted = output(&mut bare(&world, &around(inside)));
    let got = output(&mut bare(&world, &around(&format!("'{}' run -- sh -c '{inside}'", hopty.display()))));
    assert_eq!(got, wanted);
    world.assert_nothing_left();
}

#[test]
fn the_environment_is_the_person_s_less_an_outer_claude_s_plus_what_is_documented() {
    let mut world = world();
    let removed = [
        "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_ENV_FILE", "CLAUDE_PID",
        "CLAUDE_EFFORT", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PROJECT_DIR", "AI_AGENT",
    ];
    for name in removed {
        world.set(name, "outer");
    }
    world.set("CLAUDE_OF_MINE", "kept");
    world.set("CLAUDE_CODE_DISABLE_AGENT_VIEW", "0");
    world.set("EMPTY", "");
    world.set("LINES_IN_IT", "a\nb\u{e9}=c");
    let sorted = |text: String| {
        let mut all: Vec<String> =
            text.split('\0').map(str::to_owned).filter(|var| !var.is_empty()).collect();
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
    for (name, value) in
        [("SESSION", "proj"), ("RUN", "1"), ("DEPTH", "1"), ("SOCKET", socket.to_str().unwrap())]
    {
        wanted.push(format!("HOPTY_{name}={value}"));
    }
    wanted.sort();
    assert_eq!(read("", true), wanted);
    world.assert_nothing_left();
}

#[test]
fn the_host_leads_the_session_and_the_child_its_own_group_in_the_foreground() {
    let world = world();
    let mut term = run(
        &world,
        "echo $$ $(tr ')' ' ' </proc/$$/stat | cut -d' ' -f5-9); tty; read x </dev/tty; echo got $x",
    );
    term.wait_for("the numbers", |screen| screen.lines().iter().any(|line| line.starts_with("/dev/pts/")));
    let host = world.status()["host_pid"].as_i64().unwrap();
    let text = String::from_utf8(term.bytes()).unwrap();
    let numbers: Vec<i64> =
        text.lines().next().unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect();
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
    for setup in ["", "stty -echo ixany -onlcr intr ^G;", "stty raw;", "stty cols 90 rows 33 iutf8 erase ^H;"]
    {
        let wanted = output(&mut bare(&world, &format!("{setup} stty -g")));
        let hopty = super::support::claude::hopty();
        let got = output(&mut bare(&world, &format!("{setup} exec '{}' run -- stty -g", hopty.display())));
        assert_eq!(got, wanted, "{setup}");
    }
    world.assert_nothing_left();
}
