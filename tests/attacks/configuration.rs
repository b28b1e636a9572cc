//! Project configuration of a cloned repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use hopty::standin::home;
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::Value;

use super::support::claude::{self, Kind};
use super::support::term::Term;
use super::support::wait_for;
use super::support::world::World;

/// Every answer fills 2 % of the window.
fn world() -> World {
    of_kind(Kind::StandIn).unwrap()
}

fn of_kind(kind: Kind) -> Option<World> {
    let script = Script::each(|request, _| {
        let text = request
            .continued_handoff()
            .map_or_else(|| "Hello.".to_owned(), |id| format!("Continuing from handoff {id}."));
        ScriptedReply::text(text).filling(4000)
    });
    World::new(kind, script)
}

/// A repository below a trusted directory, with a configuration of its own.
fn clone(world: &World, text: &str) -> PathBuf {
    let dir = world.project.join("clone");
    std::fs::create_dir_all(dir.join(".git")).unwrap();
    std::fs::write(dir.join(".hopty.toml"), text).unwrap();
    dir
}

/// `hopty config` in a directory: what it says of a key, and on standard error.
fn config(world: &World, dir: &Path, key: &str) -> (Value, String) {
    let mut command = Command::new(claude::hopty());
    let output = command
        .args(["config", "show", "--json"])
        .env_clear()
        .envs(world.env.iter().cloned())
        .current_dir(dir)
        .output()
        .unwrap();
    let keys: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let found = keys.as_array().into_iter().flatten().find(|known| known["key"] == key).cloned();
    (found.unwrap_or_default(), String::from_utf8(output.stderr).unwrap())
}

fn start(world: &World, dir: &Path) -> Term {
    let args: Vec<&str> = world.args.iter().map(String::as_str).collect();
    Term::start(&claude::hopty(), &args, &world.env, dir, (200, 40))
}

fn runs(world: &World) -> usize {
    world.decisions().iter().filter(|decision| decision["kind"] == "run.spawned").count()
}

super::support::both! { the_file_of_a_clone_counts_when_claude_trusts_the_clone_and_not_before }

fn the_file_of_a_clone_counts_when_claude_trusts_the_clone_and_not_before(kind: Kind) {
    let Some(world) = of_kind(kind) else { return };
    let dir = clone(&world, "[restart]\nmode = \"manual\"\n");
    let (mode, said) = config(&world, &dir, "restart.mode");
    assert_eq!(
        (&mode["value"], &mode["from"]),
        (&"auto".into(), &"default".into()),
        "a trusted directory above is not enough"
    );
    assert!(
        said.contains(".hopty.toml is ignored: Claude does not trust this directory\nhint: accept"),
        "{said}"
    );

    let mut term = start(&world, &dir);
    term.wait_text("is ignored: Claude does not trust this directory");
    term.accept_trust();
    term.wait_box();
    let opened = world.state_dir().join("sessions/clone/journal.jsonl");
    let opened = std::fs::read_to_string(opened).unwrap().lines().next().unwrap().to_owned();
    assert!(opened.contains("\"mode\":\"auto\""), "this session began without it: {opened}");
    world.ask(&["stop", "clone"]);
    assert_eq!(term.wait_exit(), 143);

    let (mode, said) = config(&world, &dir, "restart.mode");
    assert_eq!(
        (&mode["value"], &mode["from"], said.as_str()),
        (&"manual".into(), &"project".into(), ""),
        "from the next start on"
    );
}

#[test]
fn what_a_trusted_project_may_not_set_is_named_and_left_out() {
    let mut world = world();
    home::seed(&world.home, &world.project, "sk-ant-test-0123456789-abcdefghijklmnopqrst").unwrap();
    for (text, key, said) in [
        ("[context]\nwindow = 1000", "context.window", "may not set context.window"),
        (
            "[context]\nhandoff = { percent = 1 }",
            "context.handoff",
            "may set context.handoff only to percent from 40",
        ),
        ("[context]\nhard = { tokens = 5 }", "context.hard", "may set context.hard only to"),
        ("[context]\nhard = { kb = 1 }", "context.hard", "may set context.hard only to"),
        ("[context]\nprofile = \"test\"", "context.profile", "may set context.profile only to"),
        ("[program]\nclaude = \"./evil\"", "program.claude", "may not set program.claude"),
        (
            "[delivery]\nanswer_dialogs = [\"trust\"]",
            "delivery.answer_dialogs",
            "may not set delivery.answer_dialogs",
        ),
        ("[restart]\nmax_restarts = 10000", "restart.max_restarts", "may not set restart.max_restarts"),
        ("[handoff]\nviews = [\"orchestrator\"]", "handoff.views", "may not set handoff.views"),
    ] {
        std::fs::write(world.project.join(".hopty.toml"), text).unwrap();
        let (found, told) = config(&world, &world.project, key);
        assert!(told.contains(said) && told.contains("\nhint: "), "{text}: {told}");
        assert_ne!(found["from"], "project", "{text}");
    }
    // It keeps nobody from a verb.
    for text in ["[notify]\ncommand = [\"x\"]\n", "not TOML"] {
        std::fs::write(world.project.join(".hopty.toml"), text).unwrap();
        for args in [&["handoff", "list"][..], &["run", "--", "true"]] {
            let output = world.hopty(args);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_ne!(output.status.code(), Some(2), "{text}: {args:?}: {said}");
            assert!(said.contains(".hopty.toml") && said.contains("\nhint: "), "{text}: {args:?}: {said}");
        }
    }
    // Nor in the file of another program, which lies in the project, whoever chose the profile that reads it.
    std::fs::create_dir_all(world.project.join(".claude")).unwrap();
    for chosen_by in ["project", "user"] {
        if chosen_by == "user" {
            std::fs::remove_file(world.project.join(".hopty.toml")).unwrap();
            world.set("HOPTY_CONTEXT_PROFILE", "s2");
        } else {
            std::fs::write(world.project.join(".hopty.toml"), "[context]\nprofile = \"s2\"\n").unwrap();
        }
        for (text, key) in [
            ("handoff:\n  threshold: 0.01\n", "context.handoff"),
            ("handoff:\n  warning_threshold: 0.39\n", "context.warn"),
            ("handoff:\n  max_tokens: 100\n", "context.handoff"),
            ("handoff:\n  max_tokens: 200_000\n  threshold: 0.001\n", "context.handoff"),
            ("handoff:\n  threshold: -1\n", "context.handoff"),
        ] {
            std::fs::write(world.project.join(".claude/config.yaml"), text).unwrap();
            let checked = world.hopty(&["config", "check"]);
            let checked =
                String::from_utf8(checked.stderr).unwrap() + &String::from_utf8(checked.stdout).unwrap();
            assert!(
                checked.contains(&format!("may set {key} only to percent from 40")),
                "{chosen_by} {text}: {checked}"
            );
            assert!(checked.contains("config.yaml:"), "{chosen_by} {text}: {checked}");
        }
    }
    world.env.retain(|(name, _)| name != "HOPTY_CONTEXT_PROFILE");
    std::fs::write(world.project.join(".claude/config.yaml"), "handoff:\n  threshold: 0.01\n").unwrap();
    // Claude runs all the same, and nothing restarts.
    std::fs::write(
        world.project.join(".hopty.toml"),
        "[context]\nprofile = \"s2\"\nwindow = 1000\nhandoff = { percent = 1 }\nhard = { percent = 2 }\n",
    )
    .unwrap();
    let mut term = start(&world, &world.project);
    term.wait_text("may not set context.window");
    term.wait_box();
    term.submit("Say hello to me.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    assert_eq!(runs(&world), 1);
    world.ask(&["stop", "proj"]);
    assert_eq!(term.wait_exit(), 143);
}

/// Whoever set it: a fresh conversation that begins above a level is not replaced by another such one.
#[test]
fn a_level_below_a_fresh_conversation_hands_over_once() {
    let mut world = world();
    world.set("HOPTY_CONTEXT_HANDOFF", "{ percent = 1 }");
    world.set("HOPTY_CONTEXT_HARD", "{ percent = 1.5 }");
    let mut term = start(&world, &world.project);
    term.wait_box();
    term.submit("Say hello to me.");
    world.wait_decision("handoff.consumed", 1);
    world.wait_decision("restart.ignored", 1);
    for n in 2..=4 {
        world.wait_state("idle");
        term.wait_box();
        term.submit(&format!("Say hello again, {n}."));
        let prompted = || {
            world.api.requests().iter().filter(|request| request.contains(&format!("again, {n}."))).count()
                > 0
        };
        wait_for("the request", || prompted().then_some(()));
    }
    world.wait_state("idle");
    assert_eq!(runs(&world), 2, "{}", world.story());
    let why: Vec<String> = world
        .decisions()
        .iter()
        .filter(|d| d["kind"] == "restart.ignored")
        .map(|d| d["sentence"].to_string())
        .collect();
    assert!(why.len() == 1 && why[0].contains("started at level"), "said once: {why:?}");
    world.ask(&["stop", "proj"]);
    assert_eq!(term.wait_exit(), 143);
    world.assert_replays();
}

#[test]
fn the_restart_limit_leaves_claude_running() {
    let mut world = world();
    world.set("HOPTY_RESTART_MAX_RESTARTS", "1");
    let mut term = start(&world, &world.project);
    term.wait_box();
    term.submit("Say hello to me.");
    term.wait_text("Hello.");
    world.wait_state("idle");
    let signal = || {
        let new = world.claude_dir().join("new");
        std::fs::write(&new, world.project.to_str().unwrap()).unwrap();
        std::fs::rename(new, world.claude_dir().join(".restart-session")).unwrap();
    };
    signal();
    world.wait_decision("handoff.consumed", 1);
    world.wait_state("idle");
    let pid = world.status()["pid"].clone();
    signal();
    let ignored = world.wait_decision("restart.ignored", 1);
    assert!(
        ignored["sentence"]
            .as_str()
            .unwrap()
            .contains("the limit of 1 restarts within the window is reached"),
        "{ignored}"
    );
    let refused = world.hopty(&["restart", "proj"]);
    assert_eq!(refused.status.code(), Some(4));
    term.wait_box();
    term.submit("Are you there?");
    wait_for("an answer", || {
        world.api.requests().iter().any(|request| request.contains("Are you there?")).then_some(())
    });
    world.wait_state("idle");
    assert_eq!((&world.status()["pid"], runs(&world)), (&pid, 2), "it goes on as it was");
    world.ask(&["stop", "proj"]);
    assert_eq!(term.wait_exit(), 143);
    world.assert_replays();
}
