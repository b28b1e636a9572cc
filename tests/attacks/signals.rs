//! Files that ask for a restart.

use std::path::{Path, PathBuf};

use hopty::standin::home;
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;

use super::support::claude::{self, Kind};
use super::support::term::Term;
use super::support::wait_for;
use super::support::world::World;

fn world() -> World {
    let script = Script::each(|request, _| {
        let text = request
            .continued_handoff()
            .map_or_else(|| "Hello.".to_owned(), |id| format!("Continuing from handoff {id}."));
        ScriptedReply::text(text).filling(3000)
    });
    World::new(Kind::StandIn, script).unwrap()
}

/// A session in a directory of its own that has said hello.
fn talk(world: &World, dir: &Path) -> Term {
    let args: Vec<&str> = world.args.iter().map(String::as_str).collect();
    let term = Term::start(&claude::hopty(), &args, &world.env, dir, (200, 30));
    term.wait_box();
    term.submit("Say hello to me.");
    term.wait_text("Hello.");
    wait_for("an idle session", || (status(world, dir)?["state"] == "idle").then_some(()));
    term
}

fn name(dir: &Path) -> &str {
    dir.file_name().unwrap().to_str().unwrap()
}

fn status(world: &World, dir: &Path) -> Option<Value> {
    let output = world.hopty(&["status", name(dir), "--json"]);
    serde_json::from_slice(&output.stdout).ok()
}

/// The kinds and sentences of a session's decisions.
fn decisions(world: &World, dir: &Path) -> Vec<(String, String)> {
    let journal = world.state_dir().join("sessions").join(name(dir)).join("journal.jsonl");
    let text = std::fs::read_to_string(journal).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let decisions = lines.filter_map(|line| line.get("decision").cloned());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    decisions.map(|decision| (text(&decision["kind"]), text(&decision["sentence"]))).collect()
}

fn wait_ignored(world: &World, dir: &Path, n: usize, why: &str) {
    let sentence = wait_for(&format!("signal {n} to be left alone by {}", dir.display()), || {
        decisions(world, dir).into_iter().filter(|(kind, _)| kind == "restart.ignored").nth(n - 1)
    });
    assert!(sentence.1.contains(why), "{sentence:?}");
}

fn has(world: &World, dir: &Path, kind: &str) -> bool {
    decisions(world, dir).iter().any(|(found, _)| found == kind)
}

/// Puts the signal there in one step, as a script that is careful does.
fn signal(world: &World, content: &str) -> PathBuf {
    let path = world.claude_dir().join(".restart-session");
    let new = path.with_extension("new");
    std::fs::write(&new, content).unwrap();
    std::fs::rename(&new, &path).unwrap();
    path
}

fn second_project(world: &World, name: &str) -> PathBuf {
    let dir = world.project.parent().unwrap().join(name);
    std::fs::create_dir(&dir).unwrap();
    home::seed(&world.home, &dir, "sk-ant-test-0123456789-abcdefghijklmnopqrst").unwrap();
    dir
}

fn leave(world: &World, dir: &Path, mut term: Term) -> Term {
    wait_for("an idle session", || (status(world, dir)?["state"] == "idle").then_some(()));
    term.submit("/exit");
    assert_eq!(term.wait_exit(), 0);
    term
}

#[test]
fn a_bare_directory_restarts_the_session_of_that_directory_alone() {
    let world = world();
    let other = second_project(&world, "other");
    let empty = second_project(&world, "empty");
    let (mine, theirs) = (talk(&world, &world.project), talk(&world, &other));
    let before = status(&world, &other).unwrap();

    // A directory of nobody's, one above, one below, a file: nobody is meant, and the file stays.
    let below = other.join("below");
    std::fs::create_dir(&below).unwrap();
    let nobody = [empty.clone(), below, other.parent().unwrap().to_owned(), world.home.join(".claude.json")];
    for (n, dir) in nobody.iter().enumerate() {
        let path = signal(&world, &format!("{}\n", dir.display()));
        for session in [&world.project, &other] {
            wait_ignored(&world, session, n + 1, "it names a different directory");
        }
        assert!(path.exists(), "{}", dir.display());
    }

    // By a link, and with a detour: the session of that directory restarts where it is, and no other.
    let link = world.home.join("link");
    std::os::unix::fs::symlink(&world.project, &link).unwrap();
    let path = signal(&world, &format!("{}/../home/link\n", world.home.display()));
    world.wait_decision("handoff.consumed", 1);
    assert!(!path.exists(), "the one that was meant has taken it");
    // The other one may not even have seen the file.
    assert!(!has(&world, &other, "restart.requested"));
    let after = status(&world, &other).unwrap();
    for part in ["pid", "conversation", "dir", "run"] {
        assert_eq!(after[part], before[part], "{part} of the session that was not meant");
    }
    let dir = world.status()["dir"].as_str().map(PathBuf::from);
    assert_eq!(dir.as_deref(), Some(world.project.as_path()), "it did not move to another spelling");
    leave(&world, &world.project, mine);
    leave(&world, &other, theirs);
    world.assert_replays();
}

#[test]
fn a_session_is_not_moved_to_a_directory_that_claude_does_not_trust() {
    let world = world();
    let (strange, gone) =
        (world.project.parent().unwrap().join("strange"), world.project.parent().unwrap().join("gone"));
    std::fs::create_dir(&strange).unwrap();
    let trusted = second_project(&world, "trusted");
    let term = talk(&world, &world.project);
    for (n, (dir, why)) in
        [(&strange, "Claude does not trust"), (&gone, "no such directory")].into_iter().enumerate()
    {
        let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
        signal(&world, &format!("{conversation}:{}\n", dir.display()));
        world.wait_decision("handoff.consumed", n + 1);
        let asked = world.wait_decision("restart.requested", n + 1);
        assert!(asked["sentence"].as_str().unwrap().contains(why), "{asked}");
        world.wait_state("idle");
        assert_eq!(world.status()["dir"].as_str().map(PathBuf::from), Some(world.project.clone()));
    }

    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    signal(&world, &format!("{conversation}:{}\n", trusted.display()));
    world.wait_decision("handoff.consumed", 3);
    assert_eq!(world.status()["dir"].as_str().map(PathBuf::from), Some(trusted));
    let term = leave(&world, &world.project, term);
    // What could not be said on Claude's screen is said under it.
    term.wait_text("stays in its own: Claude does not trust it");
    term.wait_text("stays in its own: there is no such directory");
    world.assert_replays();
}
