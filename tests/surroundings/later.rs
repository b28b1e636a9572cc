//! What becomes poor in the middle of a session: Claude goes on, what does not happen is said once, and with
//! what was missing back again everything works again.

use std::os::unix::fs::PermissionsExt;

use hopty::standin::script::{Script, ScriptedReply};

use super::support::claude::Kind;
use super::support::term::Term;
use super::support::world::World;
use super::support::{self, wait_for, wait_pause};

/// Every prompt with `fill it` fills the window over the level at which hopty hands over.
fn world() -> World {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) if request.assistant_messages() == 0 => {
            ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000)
        }
        _ => ScriptedReply::text(format!("Answer {}.", request.assistant_messages())).filling(170_000),
    });
    World::new(Kind::StandIn, script).unwrap()
}

fn say(term: &Term, text: &str, answer: &str) {
    term.wait_box();
    term.submit(text);
    term.wait_text(answer);
}

fn count(world: &World, kind: &str) -> usize {
    world.decisions().iter().filter(|decision| decision["kind"] == kind).count()
}

/// Sets the soft limit of a process's file size.
fn limit_files(pid: i32, bytes: u64) {
    let mut limit = nix::libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: prlimit reads one rlimit and writes one.
    unsafe {
        assert_eq!(nix::libc::prlimit(pid, nix::libc::RLIMIT_FSIZE, std::ptr::null(), &raw mut limit), 0);
        limit.rlim_cur = bytes.min(limit.rlim_max);
        assert_eq!(
            nix::libc::prlimit(pid, nix::libc::RLIMIT_FSIZE, &raw const limit, std::ptr::null_mut()),
            0
        );
    }
}

fn host_pid(world: &World) -> i32 {
    i32::try_from(world.status()["host_pid"].as_i64().unwrap()).unwrap()
}

/// What the terminal was told after the session, a line each.
fn said(term: &Term, words: &str) -> usize {
    String::from_utf8_lossy(&term.bytes()).matches(words).count()
}

#[test]
fn a_file_size_limit_in_mid_run_holds_the_hand_over_until_it_is_gone() {
    let mut world = world();
    world.set_short_pause();
    let mut term = world.start(&[]);
    term.wait_box();
    let host = host_pid(&world);
    limit_files(host, 0);
    say(&term, "hi", "Answer 0.");
    // The journal takes nothing either: the session's own word.
    wait_for("the hand-over that is held", || {
        world.status()["why"].as_str().is_some_and(|why| why.contains("could not be saved")).then_some(())
    });
    say(&term, "and on", "Answer 1.");
    assert_eq!(world.status()["run"], 1);
    limit_files(host, u64::MAX);
    // The journal goes on by itself, and says what it lacks.
    wait_for("the journal to go on", || world.journal().contains("\"missing\":{\"lines\":").then_some(()));
    wait_pause(|| world.status());
    say(&term, "and on again", "Continuing from handoff");
    world.wait_decision("handoff.consumed", 1);
    assert_eq!(count(&world, "handoff.saved"), 1, "{}", world.story());
    world.wait_state("idle");
    term.submit("/exit");
    assert_eq!(term.wait_exit(), 0);
    term.drained();
    assert!(said(&term, "could not be saved") >= 1);
    assert_eq!(said(&term, "The journal failed"), 1);
    assert_eq!(said(&term, "The journal continues; "), 1);
    let path = world.session_dir().join("journal.jsonl");
    assert!(world.ask(&["replay", path.to_str().unwrap()]).contains("missing from the journal"));
    world.assert_replays();
    world.assert_nothing_left();
}

/// What an ordinary user may not write any more, or not find any more.
#[test]
fn a_home_that_is_taken_away_in_mid_run_ends_nothing() {
    for (mode, whole) in [(0o500, true), (0o000, false)] {
        let mut world = world();
        world.set_short_pause();
        let Some(hopty) = support::nobody::give(&world) else { return };
        let args: Vec<&str> = world.args.iter().map(String::as_str).collect();
        let mut term = support::nobody::terminal(&world, &hopty, &args);
        say(&term, "no", "Continuing from handoff");
        world.wait_decision("handoff.consumed", 1);
        // Without a transcript nobody knows how full the window is.
        let all = [world.claude_dir().join("handoff"), world.claude_dir()];
        for dir in all.iter().take(1 + usize::from(whole)) {
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        say(&term, "hi", "Answer 1.");
        let cancelled = world.wait_decision("restart.cancelled", 1);
        assert!(cancelled["sentence"].as_str().unwrap().contains("could not be saved"), "{cancelled}");
        for dir in [world.claude_dir(), world.claude_dir().join("handoff")] {
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        wait_pause(|| {
            let status = support::nobody::command(&world, &hopty, &["status", "proj", "--json"]).output();
            serde_json::from_slice(&status.unwrap().stdout).unwrap()
        });
        say(&term, "and on", "Continuing from handoff");
        world.wait_decision("handoff.consumed", 2);
        assert!(support::nobody::command(&world, &hopty, &["stop", "proj"]).status().unwrap().success());
        term.wait_exit();
        world.assert_nothing_left();
    }
}

/// A session whose next crash ends it, with a draft in the prompt box.
fn drafted() -> (World, Term) {
    let mut world = world();
    std::fs::create_dir(world.root.path().join("run")).unwrap();
    let run = world.root.path().join("run").display().to_string();
    world.set("XDG_RUNTIME_DIR", &run);
    world.set("HOPTY_RECOVERY_QUICK_DEATHS", "1");
    let term = world.start(&[]);
    say(&term, "hi", "Answer 0.");
    term.send("a thought not sent");
    term.wait_text("a thought not sent");
    (world, term)
}

fn crash(world: &World, term: &mut Term) -> String {
    support::kill(i32::try_from(world.status()["pid"].as_i64().unwrap()).unwrap(), nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 137);
    term.drained();
    // What hopty says is broken between words.
    String::from_utf8_lossy(&term.bytes()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Something stands where the draft's file is due.
#[test]
fn a_draft_that_the_session_s_directory_does_not_take_lies_elsewhere() {
    let (world, mut term) = drafted();
    std::fs::create_dir(world.session_dir().join("unsent.txt")).unwrap();
    let said = crash(&world, &mut term);
    let path = said.split("Your unsent input is in ").nth(1).and_then(|rest| rest.split(".txt.").next());
    let path = format!("{}.txt", path.unwrap_or_else(|| panic!("no file is named: {said}")));
    assert!(path.starts_with(world.root.path().join("run/hopty-unsent-").to_str().unwrap()), "{path}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "a thought not sent");
    world.assert_nothing_left();
}

#[test]
fn a_draft_that_no_disk_takes_is_shown_at_the_end() {
    let (world, mut term) = drafted();
    limit_files(host_pid(&world), 0);
    let said = crash(&world, &mut term);
    assert!(said.contains("Your unsent input could not be saved ("), "{said}");
    assert!(said.contains("File too large") && said.contains("): a thought not sent"), "{said}");
    world.assert_nothing_left();
}
