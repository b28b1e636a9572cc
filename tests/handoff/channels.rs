//! Channels: which name a directory's handoffs are kept under.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::steps::*;
use super::support::claude;
use super::support::world::World;

fn run_in(world: &World, dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(claude::hopty());
    command.args(args).env_clear().envs(world.env.iter().cloned()).current_dir(dir).output().unwrap()
}

fn channel_in(world: &World, dir: &Path) -> String {
    let output = run_in(world, dir, &["channel"]);
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).trim().to_owned()
}

fn registry(world: &World) -> std::path::PathBuf {
    world.claude_dir().join("channel-registry.json")
}

#[test]
fn item_054_the_channel_of_a_path_or_of_this_directory() {
    let world = world();
    assert_eq!(world.ask(&["channel"]), "global\n");
    assert_eq!(
        json_of(&world, &["channel", "--json"]),
        json!({"channel": "global", "dir": world.project, "entry": null})
    );
    std::fs::create_dir_all(world.project.join("deep/er")).unwrap();
    world.ask(&["channel", "set", "bridge"]);
    world.ask(&["channel", "set", "tunnel", "deep"]);
    for (path, name) in [
        (".", "bridge"),
        ("deep", "tunnel"),
        ("deep/er", "tunnel"),
        ("deep/not-there", "tunnel"),
        ("..", "global"),
    ] {
        assert_eq!(world.ask(&["channel", path]), format!("{name}\n"), "{path}");
    }
    let typo = world.hopty(&["channel", "lst"]);
    assert_eq!((typo.status.code(), typo.stdout.is_empty()), (Some(1), true), "a word that is no directory");
    let beside = world.project.with_file_name("proj2");
    std::fs::create_dir(&beside).unwrap();
    assert_eq!(channel_in(&world, &beside), "global", "proj2 is not below proj");
    let file: Value = serde_json::from_slice(&std::fs::read(registry(&world)).unwrap()).unwrap();
    assert_eq!(
        file,
        json!({"registry": {world.project.to_str().unwrap(): "bridge",
            world.project.join("deep").to_str().unwrap(): "tunnel"}})
    );
    let list = json_of(&world, &["channel", "list", "--json"]);
    assert_eq!(list[0], json!({"dir": world.project, "channel": "bridge", "valid": true}));
}

#[test]
fn links_are_resolved_on_both_sides() {
    let world = world();
    let link = world.home.join("link");
    symlink(&world.project, &link).unwrap();
    world.ask(&["channel", "set", "linked", link.to_str().unwrap()]);
    assert_eq!(channel_in(&world, &world.project), "linked");
    std::fs::write(registry(&world), json!({"registry": {link.to_str().unwrap(): "other"}}).to_string())
        .unwrap();
    assert_eq!(channel_in(&world, &world.project), "other");
    world.ask(&["channel", "set", "third"]);
    assert_eq!(
        json_of(&world, &["channel", "list", "--json"]).as_array().unwrap().len(),
        1,
        "the same directory once"
    );
    assert_eq!(channel_in(&world, &link), "third");
}

#[test]
fn item_015_handoffs_of_one_project_never_reach_another() {
    let world = world();
    world.ask(&["channel", "set", "bridge"]);
    let id = create(&world);
    assert!(world.claude_dir().join("handoff/bridge.manifest.json").is_file());
    assert_eq!(world.ask(&["handoff", "id"]).trim(), id);
    let elsewhere = run_in(&world, &world.home, &["handoff", "load"]);
    assert_eq!(elsewhere.status.code(), Some(1));
    assert!(text(&elsewhere.stderr).contains("no handoff waits in channel global"));
    let named = run_in(&world, &world.home, &["handoff", "id", "--channel", "bridge"]);
    assert_eq!(text(&named.stdout).trim(), id);
    assert_eq!(json_of(&world, &["handoff", "list", "--all", "--json"])[0]["channel"], "bridge");
}

/// The channel is found out each time, from the registry as it is and the directory of whoever asks.
#[test]
fn item_064_a_channel_that_changes_is_the_new_one_from_then_on() {
    let world = world();
    world.ask(&["channel", "set", "first"]);
    let first = create(&world);
    world.ask(&["channel", "set", "second"]);
    assert_eq!(world.hopty(&["handoff", "id"]).status.code(), Some(1), "nothing waits in the second");
    let second = create(&world);
    assert_eq!(world.ask(&["handoff", "id"]).trim(), second);
    assert_eq!(world.ask(&["handoff", "id", "--channel", "first"]).trim(), first);
    // A session that runs finds it out, too.
    let term = greeted(&world);
    assert_eq!(world.status()["channel"], "second");
    for (n, channel) in [(1, "third"), (2, "fourth")] {
        world.ask(&["channel", "set", channel]);
        world.ask(&["restart", "proj"]);
        let id = world.wait_decision("handoff.saved", n)["handoff"].as_str().unwrap().to_owned();
        world.wait_decision("handoff.consumed", n);
        world.wait_state("idle");
        assert_eq!(
            json_of(&world, &["handoff", "list", "--all", "--channel", channel, "--json"])[0]["id"],
            id
        );
        assert_eq!(world.status()["channel"], channel);
    }
    world.leave(term);
}

/// What the second document has a person verify by hand: the channel, that the figure is watched, and which
/// Claude runs.
#[test]
fn item_065_channel_figure_and_the_claude_that_runs_are_one_verb_away() {
    let world = world();
    world.ask(&["channel", "set", "bridge"]);
    let term = greeted(&world);
    let status = world.status();
    assert_eq!((&status["channel"], world.ask(&["channel"]).as_str()), (&json!("bridge"), "bridge\n"));
    assert_eq!(status["context"]["tokens"], 3000);
    assert_eq!(world.ask(&["context", "--status"]), "OK\n");
    let runs = std::fs::read(format!("/proc/{}/cmdline", status["pid"])).unwrap();
    assert!(
        String::from_utf8_lossy(&runs).contains("--model\0claude-sonnet-4-5")
            && status["command"][0] == "claude",
        "{status}"
    );
    world.leave(term);
}

#[test]
fn a_hostile_registry_is_left_as_it_is() {
    let world = world();
    let deep = "[".repeat(100_000);
    for content in
        ["", "{", "[]", "{\"registry\":[]}", "\0\0", "{\"registry\":{\"/\":", &deep, &" ".repeat(2 << 20)]
    {
        std::fs::write(registry(&world), content).unwrap();
        for args in [&["channel"][..], &["channel", "list"], &["channel", "set", "x"]] {
            fails(&world, args, 125);
        }
        assert_eq!(std::fs::read_to_string(registry(&world)).unwrap(), content);
        talk(&world, ID, "Go on.");
        let output = world.hopty(&["handoff", "create"]);
        assert!(
            output.status.success() && text(&output.stderr).contains("using channel global"),
            "{output:?}"
        );
    }
    let odd = json!({"registry": {"/": "../../x", "relative": "r", "/..": "up", "": "empty",
        "/x\u{1b}[2J": "esc"}, "mine": [1, 2]});
    std::fs::write(registry(&world), odd.to_string()).unwrap();
    assert_eq!(world.ask(&["channel"]), "global\n");
    assert!(!world.ask(&["channel", "list"]).contains('\u{1b}'));
    world.ask(&["channel", "set", "mine"]);
    let now: Value = serde_json::from_slice(&std::fs::read(registry(&world)).unwrap()).unwrap();
    assert_eq!((&now["mine"], &now["registry"]["/"]), (&json!([1, 2]), &json!("../../x")));
    std::fs::remove_file(registry(&world)).unwrap();
    symlink("/etc/passwd", registry(&world)).unwrap();
    assert!(fails(&world, &["channel", "set", "x"], 125).contains("symbolic link"));
}

#[test]
fn names_that_could_leave_the_directory_are_refused() {
    let world = world();
    for name in ["../x", "a/b", ".hidden", "", "x y", "\u{1b}[2J", &"x".repeat(65)] {
        fails(&world, &["channel", "set", name], 2);
        fails(&world, &["handoff", "list", "--channel", name], 2);
    }
    fails(&world, &["channel", "set", "x", "/not/there"], 1);
    assert!(!registry(&world).exists());
}

#[test]
fn many_at_once_lose_no_entry() {
    let world = world();
    let dirs: Vec<_> = (0..12).map(|n| world.project.join(format!("d{n}"))).collect();
    dirs.iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
    std::thread::scope(|scope| {
        for dir in &dirs {
            let world = &world;
            scope.spawn(move || world.ask(&["channel", "set", "many", dir.to_str().unwrap()]));
        }
    });
    assert_eq!(json_of(&world, &["channel", "list", "--json"]).as_array().unwrap().len(), 12);
}
