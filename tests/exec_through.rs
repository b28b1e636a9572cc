//! What is not an interactive session is Claude's alone: hopty is gone, nothing is added, nothing is lost.
//! And hopty, under whatever name, never takes itself for Claude.

#![allow(clippy::unwrap_used)]

mod support;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::claude::hopty;
use support::program_files;
use support::term::Term;
use support::text;
use support::world::World;

/// A world whose `claude` tells what it was started with: arguments, environment, standard input, process id.
fn world() -> World {
    let mut world = World::plain();
    let told = world.project.join("told");
    let claude = world.home.join("claude");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\0' \"$@\" >'{0}.args'\nenv -0 >'{0}.env'\necho $$ >'{0}.pid'\n\
         if [ ! -t 0 ]; then cat >'{0}.in'; fi\necho to-out\necho to-err >&2\nexit ${{CODE:-0}}\n",
        told.display()
    );
    write(&claude, &script, 0o755);
    world.set("HOPTY_PROGRAM_CLAUDE", claude.to_str().unwrap());
    world
}

fn write(path: &Path, text: &str, mode: u32) {
    program_files::write(path, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn told(world: &World, what: &str) -> Vec<u8> {
    std::fs::read(world.project.join(format!("told.{what}"))).unwrap_or_default()
}

fn told_args(world: &World) -> Vec<OsString> {
    let bytes = told(world, "args");
    let mut all: Vec<OsString> =
        bytes.split(|b| *b == 0).map(|arg| OsStr::from_bytes(arg).to_owned()).collect();
    assert_eq!(all.pop().as_deref(), Some(OsStr::new("")), "Claude was started");
    // `printf` writes one empty argument for none.
    if all.len() == 1 && all[0].is_empty() { Vec::new() } else { all }
}

fn command(world: &World, args: &[OsString]) -> Command {
    let mut command = Command::new(hopty());
    command.args(args).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
    command
}

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

/// In a terminal, where only the arguments tell.
fn in_terminal(world: &World, line: &str) -> Term {
    let args: Vec<&str> = line.split_whitespace().collect();
    world.terminal(&args)
}

#[test]
fn every_form_that_is_no_session_goes_straight_through() {
    let mut world = world();
    world.set("CODE", "7");
    let forms = [
        "-p hello", "--print hello", "-p", "hi -p", "-cp", "--model opus -p", "-v", "--version", "-h",
        "--help", "--model x --help", "--bg hi", "--background hi", "--init-only", "-w x --tmux", "agents",
        "auth status", "auto-mode", "daemon run", "doctor", "gateway", "install", "logs 1", "mcp list",
        "mcp add x -- y", "plugin list", "plugins", "project", "remote-control", "-- rm 1", "setup-token",
        "ultrareview", "update", "upgrade", "-- attach 1", "-- stop 1", "--verbose mcp list",
        "--model=x mcp", "--plugin-dir x mcp", "--model", "--add-dir",
    ];
    for line in forms {
        let mut term = in_terminal(&world, line);
        let pid = term.child.id();
        assert_eq!(term.wait_exit(), 7, "{line}");
        let mut wanted = words(line);
        if wanted[0] == "--" {
            wanted.remove(0);
        }
        assert_eq!(told_args(&world), wanted, "{line}");
        assert_eq!(text(&told(&world, "pid")).trim(), pid.to_string(), "{line}: it takes hopty's place");
        std::fs::remove_file(world.project.join("told.args")).unwrap();
    }
    assert!(!world.state_dir().exists(), "not a trace of hopty");
}

#[test]
fn forms_that_are_sessions_are_supervised() {
    // An option's value is no subcommand, and a subcommand's name behind a prompt is none.
    for line in [
        "",
        "--model agents",
        "fix mcp",
        "--resume stop",
        "-n -p",
        "--append-system-prompt --version",
        "-- fix",
    ] {
        let world = world();
        let mut term = in_terminal(&world, line);
        assert_eq!(term.wait_exit(), 0, "{line}");
        let env = text(&told(&world, "env"));
        // What Claude calls the conversation the session is called, too.
        let name = if line == "-n -p" { "p" } else { "proj" };
        assert!(
            env.contains(&format!("HOPTY_SESSION={name}\0"))
                && env.contains("CLAUDE_CODE_DISABLE_AGENT_VIEW=1"),
            "{line}"
        );
        world.assert_nothing_left();
    }
}

#[test]
fn pipes_arguments_and_code_are_claude_s() {
    let mut world = world();
    world.set("CODE", "3");
    let odd =
        ["-p", "two words", "", "*", "$HOME", "-", "--", "ls", "line\nend", "'\"\\"].map(OsString::from);
    let mut args = odd.to_vec();
    args.push(OsString::from_vec(b"not utf-8: \xff\xfe\xc3".to_vec()));
    let mut child = command(&world, &args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input: Vec<u8> = (0..200_000u32).map(|n| n.to_le_bytes()[0]).collect();
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (text(&output.stdout), text(&output.stderr), output.status.code()),
        ("to-out\n".into(), "to-err\n".into(), Some(3))
    );
    assert_eq!(told_args(&world), args);
    assert!(told(&world, "in") == input);
}

#[test]
fn the_environment_is_not_touched() {
    let mut world = world();
    for (name, value) in [
        ("CLAUDE_CODE_CHILD_SESSION", "1"),
        ("CLAUDECODE", "1"),
        ("HOPTY_SESSION", "outer"),
        ("ODD", "a\nb=c\u{e9}"),
    ] {
        world.set(name, value);
    }
    // A program that prints its environment itself: a shell would add to it.
    let env = world.home.join("env");
    program_files::copy("/usr/bin/env".as_ref(), &env);
    world.set("HOPTY_PROGRAM_CLAUDE", env.to_str().unwrap());
    let output = command(&world, &words("-0")).output().unwrap();
    let sorted = |mut all: Vec<Vec<u8>>| {
        all.sort();
        all
    };
    let found =
        sorted(output.stdout.split(|b| *b == 0).filter(|v| !v.is_empty()).map(<[u8]>::to_vec).collect());
    let wanted = sorted(world.env.iter().map(|(n, v)| [n.as_bytes(), b"=", v.as_bytes()].concat()).collect());
    assert_eq!(found, wanted);
}

#[test]
fn signals_and_descriptors_are_as_they_were() {
    let mut world = world();
    let shell = |world: &World, line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env_clear().envs(world.env.iter().cloned()).current_dir(&world.project);
        text(&command.output().unwrap().stdout)
    };
    let signals = "-E ^Sig /proc/self/status";
    for (program, args, before, after) in [
        ("grep", signals, "env --ignore-signal=PIPE", ""),
        ("grep", signals, "env --default-signal=PIPE", ""),
        ("grep", signals, "env --ignore-signal=HUP,CHLD,TSTP,SEGV,RTMIN --block-signal=TERM,WINCH,RTMAX", ""),
        ("ls", "/proc/self/fd", "", "5</dev/null 8>/dev/null"),
        ("ls", "/proc/self/fd", "", "<&- 2>&-"),
    ] {
        let claude = world.home.join("told-apart");
        let _ = std::fs::remove_file(&claude);
        program_files::copy(&Path::new("/usr/bin").join(program), &claude);
        world.set("HOPTY_PROGRAM_CLAUDE", claude.to_str().unwrap());
        let run = |what: &Path| shell(&world, &format!("{before} '{}' {args} {after}", what.display()));
        let wanted = run(&claude);
        assert!(!wanted.is_empty(), "{program}");
        assert_eq!(run(&hopty()), wanted, "{before} {program} {after}");
    }
}

#[test]
fn without_a_home_claude_runs_all_the_same() {
    let mut world = world();
    world.env.retain(|(name, _)| name != "HOME");
    world.set("PATH", &format!("{}:/usr/bin:/bin", world.home.display()));
    if system_claude() {
        return support::skip("a claude is installed for all users");
    }
    let output = command(&world, &words("-p x")).output().unwrap();
    assert_eq!(text(&output.stdout), "to-out\n");
    // A script that asks Claude alone is told nothing: hopty would have added nothing either.
    assert_eq!(text(&output.stderr), "to-err\n");
}

#[test]
fn without_a_home_it_is_the_claude_that_the_environment_names() {
    let mut world = world();
    let named = world.project.join("named");
    std::fs::write(&named, "#!/bin/sh\necho the named one: \"$@\"\n").unwrap();
    std::fs::set_permissions(&named, std::fs::Permissions::from_mode(0o700)).unwrap();
    world.env.retain(|(name, _)| name != "HOME");
    world.set("HOPTY_PROGRAM_CLAUDE", named.to_str().unwrap());
    world.set("HOPTY_RESTART_MODE", "nonsense");
    let output = command(&world, &words("-p x")).output().unwrap();
    assert_eq!(text(&output.stdout), "the named one: -p x\n");
    // What else is wrong in the configuration is nothing to a Claude that runs alone.
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn without_a_terminal_on_either_side_it_is_claude_s_own_business() {
    let world = world();
    for args in ["", "a prompt", "--model opus"] {
        let output = command(&world, &words(args)).stdin(Stdio::null()).output().unwrap();
        assert_eq!(text(&output.stdout), "to-out\n");
        assert_eq!(told_args(&world), words(args));
    }
    // Only one of the two is a terminal.
    for line in ["exec \"$H\" fix >out", "exec \"$H\" fix </dev/null"] {
        let mut world = self::world();
        world.set("H", hopty().to_str().unwrap());
        let mut term = Term::start("/bin/sh".as_ref(), &["-c", line], &world.env, &world.project, (80, 24));
        assert_eq!(term.wait_exit(), 0);
        // Claude would read the pipe into its first prompt, and go on at the terminal.
        let is_told = term.lines().iter().any(|row| row.contains("Claude runs without hopty"));
        assert_eq!(is_told, line.ends_with("</dev/null"), "{:?}", term.lines());
        assert_eq!(told_args(&world), ["fix"]);
        assert!(!world.state_dir().exists());
    }
}

#[test]
fn arguments_that_are_no_utf8_reach_claude_in_a_terminal_too() {
    let mut world = world();
    world.set("H", hopty().to_str().unwrap());
    let line = "exec \"$H\" -p \"$(printf 'x\\377y')\"";
    let mut term = Term::start("/bin/sh".as_ref(), &["-c", line], &world.env, &world.project, (80, 24));
    assert_eq!(term.wait_exit(), 0);
    assert_eq!(told_args(&world), [OsString::from("-p"), OsString::from_vec(b"x\xffy".to_vec())]);
}

#[test]
fn signals_are_at_their_defaults_after_it() {
    let world = world();
    let claude = world.home.join("claude");
    write(&claude, "#!/bin/sh\nexec grep -E '^Sig(Blk|Ign)' /proc/self/status\n", 0o755);
    let output = command(&world, &words("-p")).output().unwrap();
    let wanted =
        Command::new("sh").args(["-c", "exec grep -E '^Sig(Blk|Ign)' /proc/self/status"]).output().unwrap();
    assert_eq!(text(&output.stdout), text(&wanted.stdout));
}

/// Directories in which `claude` is hopty under another name, and one with a real one at the end of PATH.
#[test]
fn hopty_installed_as_claude_finds_the_real_one() {
    let mut world = world();
    world.env.retain(|(name, _)| name != "HOPTY_PROGRAM_CLAUDE");
    let base = world.home.join("bin");
    let (link, hard, chain, script) =
        (base.join("link"), base.join("hard"), base.join("chain"), base.join("script"));
    for dir in [&link, &hard, &chain, &script] {
        std::fs::create_dir_all(dir).unwrap();
    }
    std::os::unix::fs::symlink(hopty(), link.join("claude")).unwrap();
    std::os::unix::fs::symlink(link.join("claude"), chain.join("claude")).unwrap();
    let own = base.join("own");
    program_files::copy(&hopty(), &own);
    std::fs::hard_link(&own, hard.join("claude")).unwrap();
    write(
        &script.join("claude"),
        &format!("#!/bin/sh\n# a wrapper\nexec '{}' \"$@\"\n", hopty().display()),
        0o755,
    );
    for (dir, program) in [(&link, hopty()), (&chain, hopty()), (&script, hopty()), (&hard, own.clone())] {
        let path = format!("{}:{}:/usr/bin:/bin", dir.display(), world.home.display());
        world.set("PATH", &path);
        for started in [program.clone(), dir.join("claude")] {
            let mut command = Command::new(&started);
            command
                .args(["-p", "x"])
                .env_clear()
                .envs(world.env.iter().cloned())
                .current_dir(&world.project)
                .stdin(Stdio::null());
            let output = command.output().unwrap();
            if system_claude() {
                support::skip("a claude is installed for all users");
                continue;
            }
            assert_eq!(text(&output.stdout), "to-out\n", "{}: {}", started.display(), text(&output.stderr));
            assert_eq!(told_args(&world), ["-p", "x"]);
        }
    }
}

/// Whether a Claude lies where hopty looks before PATH; then a search cannot be led elsewhere.
fn system_claude() -> bool {
    ["/usr/local/bin/claude", "/usr/bin/claude"].iter().any(|path| Path::new(path).exists())
}

fn fails(output: &Output, code: i32, words: &str) -> String {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(
        said.starts_with("hopty: claude: ") && said.contains(words) && said.contains("\nhint: "),
        "{said}"
    );
    said
}

#[test]
fn a_claude_that_leads_back_to_hopty_is_refused() {
    let mut world = world();
    // Configured: hopty itself, as it is, linked, and in a script.
    let link = world.home.join("linked");
    std::os::unix::fs::symlink(hopty(), &link).unwrap();
    let script = world.home.join("wrapper");
    write(&script, &format!("#!/bin/sh\nexec \"{}\" \"$@\"\n", hopty().display()), 0o755);
    for path in [hopty(), link, script] {
        world.set("HOPTY_PROGRAM_CLAUDE", path.to_str().unwrap());
        fails(&command(&world, &words("-p x")).output().unwrap(), 127, "is hopty itself");
    }
    // A copy finds out for itself.
    let copy = world.home.join("copy");
    program_files::copy(&hopty(), &copy);
    world.set("HOPTY_PROGRAM_CLAUDE", copy.to_str().unwrap());
    fails(&command(&world, &words("-p x")).output().unwrap(), 127, "is hopty itself");
    // A script may hide the name: then the depth ends it, straight through as well as supervised.
    let hidden = world.home.join("hidden");
    write(
        &hidden,
        &format!(
            "#!/bin/sh\nH='{}'/$(echo hop)ty\nexec \"$H\" \"$@\"\n",
            hopty().parent().unwrap().display()
        ),
        0o755,
    );
    world.set("HOPTY_PROGRAM_CLAUDE", hidden.to_str().unwrap());
    let output = command(&world, &words("-p x")).stdin(Stdio::null()).output().unwrap();
    let said = fails(&output, 125, "seems to start hopty");
    assert_eq!(said.lines().count(), 2, "once, not at every turn: {said}");
    let mut term = in_terminal(&world, "fix");
    assert_eq!(term.wait_exit(), 125);
    term.wait_text("seems to start hopty");
    term.assert_whole();
    world.assert_nothing_left();
}

#[test]
fn the_depth_is_counted_and_bounded() {
    let mut world = world();
    for (found, code) in [("", 0), ("0", 0), ("3", 0), ("4", 125), ("99", 125), ("x", 0), ("-1", 0)] {
        world.set("HOPTY_DEPTH", found);
        let mut term = in_terminal(&world, "fix");
        assert_eq!(term.wait_exit(), code, "{found:?}");
        if code == 0 {
            let next = found.parse::<u32>().unwrap_or(0) + 1;
            assert!(text(&told(&world, "env")).contains(&format!("HOPTY_DEPTH={next}\0")), "{found:?}");
        }
        world.assert_nothing_left();
    }
}

#[test]
fn without_a_claude_it_is_said_how_to_get_one() {
    if system_claude() {
        return support::skip("a claude is installed for all users");
    }
    let mut world = world();
    world.env.retain(|(name, _)| name != "HOPTY_PROGRAM_CLAUDE");
    world.set("PATH", "/usr/bin:/bin");
    for args in ["", "-p x", "mcp list"] {
        let said = fails(&command(&world, &words(args)).output().unwrap(), 127, "is neither in PATH nor in ");
        assert!(
            said.contains("npm install -g @anthropic-ai/claude-code") && said.contains("hopty demo"),
            "{said}"
        );
    }
    let mut term = in_terminal(&world, "");
    assert_eq!(term.wait_exit(), 127);
    term.assert_whole();
    // What is there and cannot be run is another matter.
    let bin = world.home.join(".local/bin");
    std::fs::create_dir_all(&bin).unwrap();
    write(&bin.join("claude"), "text", 0o644);
    fails(&command(&world, &words("-p x")).output().unwrap(), 126, "not an executable file");
    write(&bin.join("claude"), "#!/no/such/interpreter\n", 0o755);
    let output = command(&world, &words("-p x")).output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("/no/such/interpreter") || text(&output.stderr).contains("interpreter")
    );
}

#[test]
fn a_directory_of_path_that_is_relative_is_not_searched() {
    let mut world = world();
    world.env.retain(|(name, _)| name != "HOPTY_PROGRAM_CLAUDE");
    let here: PathBuf = world.project.join("claude");
    write(&here, "#!/bin/sh\necho planted\n", 0o755);
    world.set("PATH", ".::/usr/bin:/bin");
    let output = command(&world, &words("-p x")).output().unwrap();
    assert!(!text(&output.stdout).contains("planted"));
}
