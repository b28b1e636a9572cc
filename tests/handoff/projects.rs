//! A handoff belongs to its project: another one neither sees nor loads it, unless it is named.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use super::steps::*;
use super::support::claude::{Kind, hopty};
use super::support::wait_for;
use super::support::world::World;

fn git(dir: &Path, script: &str) {
    let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"]
        .map(|name| (name, "t"));
    let done = Command::new("sh")
        .args(["-c", script])
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(who)
        .output();
    assert!(done.as_ref().unwrap().status.success(), "{done:?}");
}

fn run_in(world: &World, dir: &Path, args: &[&str]) -> Output {
    Command::new(hopty())
        .args(args)
        .env_clear()
        .envs(world.env.iter().cloned())
        .current_dir(dir)
        .output()
        .unwrap()
}

/// A handoff made in `dir` from a conversation of its own; its id.
fn made_in(world: &World, dir: &Path, n: usize) -> String {
    let id = format!("0b0c9c5e-1111-4222-8333-{n:012}");
    let lines = exchange(world, &id, &format!("Dig tunnel {n}."), "It is dug.", 50_000).into_iter().map(
        |mut line| {
            line["cwd"] = json!(dir);
            line
        },
    );
    let transcript = transcript(world, &id, &lines.collect::<Vec<_>>());
    let output = run_in(world, dir, &["handoff", "create", "--transcript", transcript.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).trim().to_owned()
}

fn beside(world: &World, name: &str) -> PathBuf {
    let dir = world.project.with_file_name(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn another_project_does_not_see_a_handoff() {
    let world = world();
    git(&world.project, "git init -q");
    let other = beside(&world, "other");
    let id = create(&world);
    assert_eq!(json_of(&world, &["handoff", "show", &id, "--json"])["project"], json!(world.project));
    for args in [
        &["handoff", "id"][..],
        &["handoff", "load"],
        &["handoff", "show"],
        &["handoff", "path"],
        &["handoff", "clear"],
    ] {
        let output = run_in(&world, &other, args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        let names = format!(
            "no handoff waits in channel global for this project; {id} waits for {}",
            world.project.display()
        );
        assert!(said.contains(&names), "{args:?}: {said}");
    }
    let start = run_in(&world, &other, &["--detached", "--handoff"]);
    assert_eq!(start.status.code(), Some(1), "{start:?}");
    assert!(text(&start.stderr).contains("no handoff waits in channel global for this project"), "{start:?}");
    let start = run_in(&world, &other, &["--detached"]);
    assert!(
        start.status.success() && !text(&start.stderr).contains("handoff"),
        "a start says nothing of it: {start:?}"
    );
    world.ask(&["stop", "--kill", "other"]);
    let list = |more: &[&str]| -> Value {
        let args: Vec<&str> = ["handoff", "list", "--json"].iter().chain(more).copied().collect();
        serde_json::from_slice(&run_in(&world, &other, &args).stdout).unwrap()
    };
    assert_eq!(list(&[]), json!([]));
    assert_eq!(list(&["--all"])[0]["project"], json!(world.project));
    let table = text(&run_in(&world, &other, &["handoff", "list", "--all"]).stdout);
    assert!(
        table.contains("PROJECT") && table.contains(&id) && table.contains(world.project.to_str().unwrap()),
        "{table}"
    );
    assert_eq!(world.ask(&["handoff", "id"]).trim(), id, "it still waits where it was made");
    world.assert_nothing_left();
}

#[test]
fn a_foreign_handoff_that_is_named_is_loaded_with_a_word() {
    let script = Script::each(|request, _| {
        let text = request
            .continued_handoff()
            .map_or_else(|| "Hello.".to_owned(), |id| format!("Continuing from handoff {id}."));
        ScriptedReply::text(text).filling(3000)
    });
    let world = World::with(Kind::StandIn, None, script);
    let other = beside(&world, "other");
    let [first, second, third] = [1, 2, 3].map(|n| {
        let dir = other.join(format!("{n}"));
        std::fs::create_dir(&dir).unwrap();
        made_in(&world, &dir, n)
    });
    let whose = |id: &str, n: usize| {
        format!("hopty: {id} belongs to another project: {}", other.join(n.to_string()).display())
    };
    for (verb, id, n) in [("load", &first, 1), ("clear", &second, 2)] {
        let output = world.hopty(&["handoff", verb, id]);
        assert!(
            output.status.success() && text(&output.stderr).contains(&whose(id, n)),
            "{verb}: {output:?}"
        );
    }
    let term = world.start(&[&format!("--handoff={third}")]);
    term.wait_text(&format!("{third} belongs to another project"));
    world.wait_decision("handoff.consumed", 1);
    world.leave(term);
}

#[test]
fn a_directory_of_the_project_sees_it_and_a_linked_worktree_does_not() {
    let world = world();
    git(
        &world.project,
        "git init -q -b main; git commit -q --allow-empty -m x; mkdir -p src/deep; git worktree add -q -b \
         side ../side",
    );
    let (deep, side) = (world.project.join("src/deep"), world.project.with_file_name("side"));
    let id = made_in(&world, &deep, 1);
    for dir in [&world.project, &deep, &world.project.join("src")] {
        assert_eq!(text(&run_in(&world, dir, &["handoff", "id"]).stdout).trim(), id, "{}", dir.display());
    }
    let start = world.hopty(&["--detached"]);
    let says = format!("a handoff waits: {id}");
    assert!(
        text(&start.stderr).contains(&says) && text(&start.stderr).contains(deep.to_str().unwrap()),
        "{start:?}"
    );
    world.ask(&["stop", "--kill", "proj"]);
    assert_eq!(run_in(&world, &side, &["handoff", "id"]).status.code(), Some(1));
    let of_side = made_in(&world, &side, 2);
    assert_eq!(text(&run_in(&world, &side, &["handoff", "id"]).stdout).trim(), of_side);
    let here = made_in(&world, &world.project, 3);
    assert_eq!(world.ask(&["handoff", "id"]).trim(), here, "of a directory's own the newest");
    assert_eq!(
        text(&run_in(&world, &deep, &["handoff", "id"]).stdout).trim(),
        id,
        "one of the same directory goes before"
    );
    world.assert_nothing_left();
}

/// Manifests of older versions and of scripts name no project, and a directory may be gone.
#[test]
fn an_entry_without_a_project_belongs_to_that_of_its_directory() {
    let world = world();
    git(&world.project, "git init -q; mkdir gone");
    let id = made_in(&world, &world.project.join("gone"), 1);
    let mut all = manifest(&world);
    assert_eq!(all["current"]["project"], json!(world.project));
    all["current"].as_object_mut().unwrap().remove("project");
    std::fs::write(manifest_path(&world), all.to_string()).unwrap();
    std::fs::remove_dir(world.project.join("gone")).unwrap();
    assert_eq!(world.ask(&["handoff", "id"]).trim(), id);
    assert_eq!(run_in(&world, &beside(&world, "other"), &["handoff", "id"]).status.code(), Some(1));
    world.ask(&["handoff", "clear"]);
    assert!(world.ask(&["handoff", "show"]).contains(&id), "what is over, too");
}

/// Neither the goal nor what was done before goes on into a job that `/clear` began.
#[test]
fn clear_in_a_session_that_began_from_a_handoff_is_a_new_job() {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
        None => ScriptedReply::text("Hello.").filling(3000),
    });
    let mut world = World::with(Kind::StandIn, None, script);
    world.set("HOPTY_RESTART_MODE", "manual");
    let task = |id: &str, name: &str, input: Value| {
        let mut lines = exchange(&world, ID, "x", "y", 60_000);
        lines[1]["message"]["content"] =
            json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
        lines[0]["message"]["content"] =
            json!([{"type": "tool_result", "tool_use_id": id, "content": "Task #1 created"}]);
        [lines.remove(1), lines.remove(0)]
    };
    let mut lines = exchange(&world, ID, "Build the old wall.", "It is done.", 50_000);
    lines.extend(task(
        "t1",
        "TodoWrite",
        json!({"todos": [
        {"content": "Lay the old bricks", "status": "completed", "activeForm": "x"},
        {"content": "Paint the old wall", "status": "pending", "activeForm": "x"}]}),
    ));
    lines.extend(task(
        "t2",
        "Write",
        json!({"file_path": world.project.join("old-file.txt"), "content": "x"}),
    ));
    transcript(&world, ID, &lines);
    let id = world.ask(&["handoff", "create"]).trim().to_owned();
    let document = world.ask(&["handoff", "show", &id]);
    for old in ["Build the old wall.", "Lay the old bricks", "Paint the old wall", "old-file.txt"] {
        assert!(document.contains(old), "{old}: {document}");
    }
    let term = world.start(&["--handoff"]);
    world.wait_decision("handoff.consumed", 1);
    world.wait_state("idle");
    wait_for("the handoff to be consumed", || {
        (json_of(&world, &["handoff", "show", &id, "--json"])["status"] == "consumed").then_some(())
    });
    let before = world.ask(&["handoff", "create"]).trim().to_owned();
    let document = world.ask(&["handoff", "show", &before]);
    assert!(
        document.contains("Lay the old bricks") && document.contains("old-file.txt"),
        "it goes on until then: {document}"
    );
    let begun = text(world.status()["conversation"].as_str().unwrap().as_bytes());
    term.submit("/clear");
    wait_for("another conversation", || (world.status()["conversation"].as_str()? != begun).then_some(()));
    term.wait_box();
    term.submit("Write the new song.");
    wait_for("the prompt", || {
        (world.api.main_requests().last()?.contains("Write the new song.")).then_some(())
    });
    world.wait_state("idle");
    world.ask(&["restart", "proj"]);
    let saved = world.wait_decision("handoff.saved", 1)["handoff"].as_str().unwrap().to_owned();
    world.wait_decision("handoff.consumed", 2);
    let document = world.ask(&["handoff", "show", &saved]);
    assert!(document.contains("Write the new song."), "{document}");
    for old in ["old wall", "old bricks", "old-file.txt", "Predecessor", &id] {
        assert!(!document.contains(old), "{old}: {document}");
    }
    world.leave(term);
}
