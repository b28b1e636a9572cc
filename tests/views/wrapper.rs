//! What the wrapper script of source document 001 did, done by the host.

use std::path::Path;

use hopty::standin::home;
use hopty::standin::script::ScriptedReply;
use nix::libc;

use super::steps::*;
use super::support::program_files;
use super::support::world::World;
use super::support::{is_host, kill, wait_for};

fn parent(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().unwrap()
}

fn claude(world: &World) -> i32 {
    i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap()
}

#[test]
fn item_034_after_the_first_prompt_nobody_types_anything() {
    let world = with("", |continued| match continued {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        None => ScriptedReply::text("Hello.").filling(165_000),
    });
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Say hello to me.");
    let id = consumed(&world, 1);
    let journal = world.journal();
    let saved = journal.find("\"kind\":\"handoff.saved\"").unwrap();
    assert!(!journal[saved..].contains("\"class\":\"typed\""), "{}", world.story());
    term.wait_text(&format!("Continuing from handoff {id}."));
    world.leave(term);
}

#[test]
fn item_036_claude_is_the_child_of_the_host_and_never_the_host() {
    let world = world("");
    let (term, _) = talk(&world);
    let pid = claude(&world);
    let host = parent(pid);
    assert!(is_host(host) && !is_host(pid), "{host} is the host of {pid}");
    world.leave(term);
}

#[test]
fn item_035_a_host_that_dies_takes_claude_with_it_and_stands_in_nobodys_way() {
    let world = world("");
    let (term, _) = talk(&world);
    let pid = claude(&world);
    assert!(
        !world.claude_dir().join(".wrapper-pid").exists(),
        "no file has to say who watches: nothing can be stale"
    );
    kill(parent(pid), libc::SIGKILL);
    drop(term);
    wait_for("Claude to end with its terminal", || {
        (!Path::new(&format!("/proc/{pid}")).exists()).then_some(())
    });
    let mut term = world.start(&[]);
    term.wait_box();
    let running = world.ask(&["ls", "--names"]);
    assert_eq!(running, "proj-2\n", "what died keeps its name and record, for `hopty restore`");
    world.ask(&["stop", "proj-2"]);
    term.wait_exit();
    world.ask(&["rm", "proj"]);
    world.assert_nothing_left();
}

#[test]
fn item_037_the_stop_is_written_down_before_the_signal_and_no_kill_follows_a_good_end() {
    let world = world("");
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    let journal = world.journal();
    let lines: Vec<&str> = journal.lines().collect();
    let find = |what: &str| {
        lines
            .iter()
            .position(|line| line.contains(what))
            .unwrap_or_else(|| panic!("no {what}: {}", world.story()))
    };
    let (saved, term_at, ended) =
        (find("\"handoff.saved\""), find("{\"kind\":\"signal\",\"signal\":15"), find("\"run.ended\""));
    assert!(saved < term_at && term_at < ended, "{saved} {term_at} {ended}");
    assert!(!journal.contains("\"stop.killed\""), "it ended within its grace");
    assert!(!world.claude_dir().join(".killed-by-monitor").exists());
    world.leave(term);
    // A program that reads the journal the moment the signal reaches it finds the reason there.
    let world = self::world("");
    let (journal, copy) = (world.session_dir().join("journal.jsonl"), world.root.path().join("copy"));
    let trap = format!(
        "trap 'cp {} {}; exit 0' TERM; touch ready; while :; do sleep 0.05; done",
        journal.display(),
        copy.display()
    );
    world.ask(&["run", "--detached", "--name", "proj", "--", "sh", "-c", &trap]);
    wait_for("the trap", || world.project.join("ready").exists().then_some(()));
    world.ask(&["restart", "proj"]);
    let found = wait_for("what the program found", || {
        std::fs::read_to_string(&copy).ok().filter(|text| text.ends_with('\n'))
    });
    for line in [
        "\"kind\":\"restart.requested\"",
        "\"kind\":\"safe_point.reached\"",
        "{\"kind\":\"signal\",\"signal\":15",
    ] {
        assert!(found.contains(line), "{line} was not written yet: {found}");
    }
    world.ask(&["stop", "--kill", "proj"]);
    world.assert_nothing_left();
}

#[test]
fn item_038_an_exit_is_an_exit_whatever_lies_about() {
    let world = world("");
    let signal = world.claude_dir().join(".restart-session");
    std::fs::write(&signal, format!("{}\n", world.project.display())).unwrap();
    of_before(&signal);
    std::fs::write(world.claude_dir().join(".killed-by-monitor"), "").unwrap();
    let (term, _) = talk(&world);
    world.leave(term);
    assert_eq!(kinds(&world).iter().filter(|kind| *kind == "run.spawned").count(), 1, "{}", world.story());
}

#[test]
fn item_039_the_directory_of_a_signal_is_taken_only_if_it_is_there() {
    let world = world("");
    let (term, conversation) = talk(&world);
    let signal = world.claude_dir().join(".restart-session");
    std::fs::write(&signal, format!("{conversation}:{}/gone\n", world.project.display())).unwrap();
    consumed(&world, 1);
    assert_eq!(world.status()["dir"], world.project.to_str().unwrap(), "one that is missing changes nothing");
    let (strange, trusted) =
        (world.root.path().join("strange"), world.root.path().canonicalize().unwrap().join("trusted"));
    for dir in [&strange, &trusted] {
        std::fs::create_dir(dir).unwrap();
    }
    home::seed(&world.home, &trusted, "").unwrap();
    for (n, dir, runs_in) in [(2, &strange, &world.project), (3, &trusted, &trusted)] {
        world.wait_state("idle");
        let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
        std::fs::write(&signal, format!("{conversation}:{}\n", dir.display())).unwrap();
        consumed(&world, n);
        assert_eq!(world.status()["dir"], runs_in.to_str().unwrap(), "only where Claude is trusted already");
        let cwd = std::fs::read_link(format!("/proc/{}/cwd", claude(&world))).unwrap();
        assert_eq!(&cwd, runs_in);
    }
    // From there on the handoffs are those of that directory.
    world.ask(&["channel", "set", "elsewhere", trusted.to_str().unwrap()]);
    let id = hand_over(&world, 4);
    let manifest = json(&world.claude_dir().join("handoff/elsewhere.manifest.json"));
    assert_eq!(manifest["current"]["id"], id);
    assert_eq!(manifest["current"]["working_dir"], trusted.to_str().unwrap());
    world.leave(term);
}

#[test]
fn item_041_the_prompt_names_the_handoff_and_not_a_directory_to_search() {
    let world = world("");
    let (term, _) = talk(&world);
    let id = hand_over(&world, 1);
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    let requests = world.api.requests_of(&conversation);
    assert!(requests.iter().any(|request| request.contains(&format!("Continue from handoff {id}."))));
    assert!(!requests.iter().any(|request| request.contains("Check ~/.claude/handoff/")));
    world.leave(term);
}

#[test]
fn item_043_the_exit_code_is_claudes() {
    let mut world = world("");
    world.set("HOPTY_RECOVERY_RESUME_AFTER_CRASH", "false");
    let (mut term, _) = talk(&world);
    kill(claude(&world), libc::SIGKILL);
    assert_eq!(term.wait_exit(), 128 + libc::SIGKILL);
    world.assert_nothing_left();
    // The same for a Claude that says it itself.
    let program = world.root.path().join("leaves");
    for code in [0, 1, 7, 125, 255] {
        program_files::write(&program, &format!("#!/bin/sh\nexit {code}\n"));
        world.set("HOPTY_PROGRAM_CLAUDE", program.to_str().unwrap());
        assert_eq!(world.start(&[]).wait_exit(), code);
    }
    world.assert_nothing_left();
}

#[test]
fn item_045_no_permission_is_skipped_that_the_person_did_not_skip() {
    let mut world = world("");
    world.args.retain(|arg| !arg.contains("permissions"));
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    let words = |world: &World| {
        let line = std::fs::read(format!("/proc/{}/cmdline", claude(world))).unwrap();
        String::from_utf8(line).unwrap().split('\0').map(str::to_owned).collect::<Vec<_>>()
    };
    let said = words(&world);
    assert!(
        !said.iter().any(|word| word.contains("dangerously") || word.contains("bypass")),
        "never added: {said:?}"
    );
    if let Some(at) = said.iter().position(|word| word == "--permission-mode") {
        assert_eq!(said[at + 1], "default", "nothing wider than the person had");
    }
    world.leave(term);
    // What a person skipped stays skipped, in every run.
    let world = self::world("");
    let (term, _) = talk(&world);
    for n in 1..=2 {
        hand_over(&world, n);
        let given = words(&world).iter().filter(|word| *word == "--dangerously-skip-permissions").count();
        assert_eq!(given, 1, "run {}", n + 1);
    }
    world.leave(term);
}

#[test]
fn item_059_a_claude_that_does_not_end_is_killed_and_the_work_goes_on() {
    let mut world = world("");
    world.set("HOPTY_AGENT_IGNORE_TERM", "1");
    world.set("HOPTY_RESTART_GRACE", "300ms");
    world.set("HOPTY_RESTART_YOUNG", "0s");
    let (term, _) = talk(&world);
    let old = claude(&world);
    let id = hand_over(&world, 1);
    assert!(!Path::new(&format!("/proc/{old}")).exists(), "the old process is gone");
    assert!(world.journal().contains("\"stop.killed\""), "SIGTERM did not end it: {}", world.story());
    term.wait_text(&format!("Continuing from handoff {id}."));
    world.ask(&["stop", "--kill", "proj"]);
    world.assert_nothing_left();
}

#[test]
fn item_046_resume_flags_load_no_handoff_and_a_restart_always_does() {
    let world = world("");
    let (term, conversation) = talk(&world);
    world.leave(term);
    let made = world.ask(&["handoff", "create"]).trim().to_owned();
    for flags in [&["--resume", conversation.as_str()][..], &["-r", &conversation], &["-c"], &["--continue"]]
    {
        let before = world.api.requests_of(&conversation).len();
        let term = world.start(flags);
        term.wait_box();
        term.submit("Say hello again.");
        let request = wait_for("the whole conversation", || {
            world.api.requests_of(&conversation).into_iter().nth(before)
        });
        assert!(request.contains("Say hello to me.") && !request.contains("HANDOFF LOADED"), "{flags:?}");
        world.wait_state("idle");
        assert_eq!(world.ask(&["handoff", "id"]).trim(), made, "{flags:?}: nothing was loaded");
        world.leave(term);
    }
    let (term, _) = talk(&world);
    let own = hand_over(&world, 1);
    assert_ne!(own, made);
    let first = world.api.requests_of(world.status()["conversation"].as_str().unwrap()).remove(0);
    assert!(first.contains(&format!("=== HANDOFF LOADED (ID: {own}) ===")), "a restart always loads");
    world.leave(term);
}

#[test]
fn item_057_no_cooperation_of_claude_is_needed() {
    let world = world("");
    std::fs::write(below(&world, "CLAUDE.md"), "Build bridges.\n").unwrap();
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    assert_eq!(
        std::fs::read_to_string(below(&world, "CLAUDE.md")).unwrap(),
        "Build bridges.\n",
        "its protocol is not asked for"
    );
    world.leave(term);
}

#[test]
fn item_058_the_new_conversation_is_told_to_announce_the_handoff_and_does() {
    let world = world("");
    let (term, _) = talk(&world);
    let id = hand_over(&world, 1);
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    let told = format!("Begin with \"Continuing from handoff {id}.\"");
    assert!(world.api.requests_of(&conversation).iter().any(|request| request.contains(&told)));
    term.wait_text(&format!("Continuing from handoff {id}."));
    world.leave(term);
}

#[test]
fn item_040_a_banner_counts_restarts_and_nothing_is_left_after_them() {
    let mut world = world("");
    world.set("HOPTY_CONTEXT_PROFILE", "s1");
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    hand_over(&world, 2);
    let text = sent(&term);
    let (_, rest) = text.split_once("=== Auto-restarting (#1) ===").unwrap_or_else(|| panic!("{text}"));
    assert!(rest.contains("=== Auto-restarting (#2) ==="), "{rest}");
    // Nothing of it is left: no process, no socket, no mark.
    world.leave(term);
    let marks = [".wrapper-pid", ".killed-by-monitor", ".load-handoff", ".restart-session"];
    assert!(marks.iter().all(|mark| !world.claude_dir().join(mark).exists()));
}

#[test]
fn item_070_the_log_has_the_lines_of_a_session_from_start_to_finish() {
    let mut world = world("");
    world.set("HOPTY_COMPAT_SESSION_LOG", "true");
    // A zone without a name has no file either: 5:45 h east of Greenwich.
    world.set("TZ", "TST-05:45");
    let now = || hopty::sys::clock::Clock::wall().after(5 * 3_600_000 + 45 * 60_000).plain();
    let before = now();
    let (term, _) = talk(&world);
    hand_over(&world, 1);
    world.leave(term);
    let log = std::fs::read_to_string(world.claude_dir().join("auto-session.log")).unwrap();
    let mut rest = log.as_str();
    for line in [
        "=== hopty ",
        &format!(" started in {} ===", world.project.display()),
        "Channel: global, Restart #0",
        "Monitor PID: ",
        "Starting: ",
        "Claude exited: ",
        "Cause: Run 1 ended ",
        "Auto-restart triggered (Run 1 ended ",
        " after hopty stopped it)",
        "Channel: global, Restart #1",
        "Restarting: ",
        " --session-id ",
        "Claude exited: 0",
        "Clean exit",
        "=== hopty finished ===",
    ] {
        rest = rest.split_once(line).unwrap_or_else(|| panic!("no {line:?} in {rest:?} of\n{log}")).1;
    }
    let stamped = |line: &str| {
        line.len() > 22 && line.starts_with('[') && line.as_bytes()[20] == b']' && line.as_bytes()[11] == b' '
    };
    assert!(log.lines().all(stamped), "{log}");
    let times: Vec<&str> = log.lines().map(|line| &line[1..20]).collect();
    assert!(
        times.is_sorted() && before.as_str() <= times[0] && times[times.len() - 1] <= now().as_str(),
        "local time: {times:?}"
    );
}

#[test]
fn item_070_the_log_says_who_ended_the_run_before_and_how_the_next_one_is_started() {
    let mut world = world("");
    world.set("HOPTY_COMPAT_SESSION_LOG", "true");
    let (term, conversation) = talk(&world);
    super::support::kill(i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap(), nix::libc::SIGKILL);
    wait_for("the next run", || (world.status()["run"] == 2).then_some(()));
    world.wait_state("idle");
    world.leave(term);
    let log = std::fs::read_to_string(world.claude_dir().join("auto-session.log")).unwrap();
    let again = log.split_once("Auto-restart triggered (").unwrap_or_else(|| panic!("{log}")).1;
    assert!(again.starts_with("Run 1 was killed by SIGKILL from outside)"), "{log}");
    let command = again.lines().find(|line| line.contains("Restarting: ")).unwrap();
    assert!(command.contains("--resume") && command.contains(&conversation), "{command}");
}
