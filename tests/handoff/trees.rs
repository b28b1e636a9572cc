//! The work tree between a handoff and the conversation that goes on from it: told, held or ignored.

use std::path::Path;
use std::process::Command;

use hopty::git::ask_git::{GitLimits, read};
use hopty::standin::script::{Script, ScriptedReply};

use super::steps::*;
use super::support::claude::Kind;
use super::support::program_files;
use super::support::world::World;
use super::support::{git, skip};

/// A world whose project is a repository with one changed file, and a handoff made in it.
fn changed() -> (World, String) {
    let script = Script::each(|request, _| {
        let text = request
            .continued_handoff()
            .map_or_else(|| "Hello.".to_owned(), |id| format!("Continuing from handoff {id}."));
        ScriptedReply::text(text).filling(3000)
    });
    let world = World::with(Kind::StandIn, None, script);
    let file = world.project.join("wall.txt");
    std::fs::write(&file, "one brick\n").unwrap();
    for args in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", "A brick"]] {
        git(&world.project, args);
    }
    std::fs::write(&file, "two bricks\n").unwrap();
    let id = create(&world);
    (world, id)
}

#[test]
fn a_work_tree_that_stands_as_it_stood_is_nothing_to_talk_about() {
    let (world, id) = changed();
    let output = world.hopty(&["handoff", "load", &id]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(!text(&output.stdout).contains("Since this brief was made"));
}

#[test]
fn what_changed_is_told_to_the_person_and_to_the_new_conversation() {
    let (world, id) = changed();
    git(&world.project, &["commit", "-qam", "Another"]);
    let term = world.start(&["--handoff"]);
    term.wait_text("hopty: The head was ");
    term.wait_text("hopty: No longer changed: .M wall.txt.");
    term.wait_text("Git state changed since handoff. 'git stash -u' stashes what is not committed.");
    world.wait_decision("handoff.consumed", 1);
    let first = world.api.main_requests().remove(0);
    assert!(
        first.contains("Since this brief was made the work tree has changed:")
            && first.contains("The head was "),
        "{id}"
    );
    world.leave(term);
}

#[test]
fn hold_leaves_it_and_ignore_does_not_look() {
    let (mut world, id) = changed();
    std::fs::write(world.project.join("wall.txt"), "three bricks\n").unwrap();
    world.set("HOPTY_HANDOFF_GIT", "hold");
    for args in [&["handoff", "load", &id][..], &["--detached", "--handoff"]] {
        let said = fails(&world, args, 4);
        assert!(said.contains("have changes, but different ones") && said.contains("hint: "), "{said}");
    }
    assert_eq!(world.ask(&["handoff", "id"]).trim(), id, "it still waits, and nobody holds it");
    world.set("HOPTY_HANDOFF_GIT", "ignore");
    let output = world.hopty(&["handoff", "load", &id]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(!text(&output.stdout).contains("Since this record"));
}

#[test]
fn hold_leaves_what_cannot_be_compared() {
    let (mut world, id) = changed();
    world.set("HOPTY_HANDOFF_GIT", "hold");
    world.set("HOPTY_HANDOFF_GIT_TIMEOUT", "200ms");
    let fifo = world.project.join(".gitignore");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let said = fails(&world, &["handoff", "load", &id], 4);
    assert!(
        said.contains("hopty cannot tell whether the work tree has changed: git did not finish in time."),
        "{said}"
    );
    // And what was never known.
    let later = create(&world);
    std::fs::remove_file(&fifo).unwrap();
    world.set("HOPTY_HANDOFF_GIT_TIMEOUT", "20s");
    let said = fails(&world, &["handoff", "load", &later], 4);
    assert!(
        said.contains(
            "cannot tell whether the work tree has changed: git was not run when this record was made."
        ),
        "{said}"
    );
    world.set("HOPTY_HANDOFF_GIT", "tell");
    let output = world.hopty(&["handoff", "load", &later]);
    assert!(
        output.status.success() && text(&output.stdout).contains("is unknown: git did not finish in time"),
        "{output:?}"
    );
}

/// What was done in a worktree is held against that worktree, from wherever the handoff is loaded.
#[test]
fn what_was_done_in_a_worktree_is_held_against_it() {
    let go = "git worktree add -q -b side ../side && cd ../side && echo two bricks > wall.txt";
    let script =
        Script::each(move |request, _| match (request.continued_handoff(), request.assistant_messages()) {
            (Some(id), _) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(2000),
            (None, 0) => ScriptedReply::bash(go).filling(2000),
            (None, _) => ScriptedReply::text("Built.").filling(3000),
        });
    let mut world = World::with(Kind::StandIn, None, script);
    world.set("HOPTY_HANDOFF_SUMMARY", "off");
    std::fs::write(world.project.join("wall.txt"), "one brick\n").unwrap();
    for args in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", "A brick"]] {
        git(&world.project, args);
    }
    let side = world.project.with_file_name("side");
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Build the wall higher.");
    term.wait_text("Built.");
    world.wait_state("idle");
    let id = world.ask(&["handoff", "create"]).trim().to_owned();
    world.leave(term);
    let document = world.ask(&["handoff", "show", &id]);
    assert!(
        document.contains(&format!("Directory: {}", side.display())) && document.contains("Branch: side"),
        "{document}"
    );
    world.set("HOPTY_HANDOFF_GIT", "hold");
    std::fs::write(side.join("wall.txt"), "three bricks\n").unwrap();
    let said = fails(&world, &["handoff", "load", &id], 4);
    assert!(said.contains("have changes, but different ones"), "{said}");
    git(&world.project, &["worktree", "remove", "--force", side.to_str().unwrap()]);
    let said = fails(&world, &["handoff", "load", &id], 4);
    assert!(said.contains(&format!("The working directory {} is gone.", side.display())), "{said}");
}

/// What was never added is lost with a work tree, unless the record has it.
#[test]
fn new_files_are_in_the_patch_and_make_the_same_tree_in_a_clone() {
    let (world, _) = changed();
    let at = |name: &str| world.project.join(name);
    std::fs::create_dir_all(at("new dir/deep")).unwrap();
    std::fs::write(at("new dir/deep/a \"file\".txt"), "one\r\ntwo without an end").unwrap();
    program_files::write(&at("run.sh"), "#!/bin/sh\n");
    std::fs::write(at("empty"), "").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", at("link")).unwrap();
    std::fs::write(at(".gitignore"), "target\n").unwrap();
    std::fs::write(at("target"), "built\n").unwrap();
    std::fs::write(at("image"), b"\x89PNG\0").unwrap();
    std::fs::write(at("log"), "x".repeat(300 << 10)).unwrap();
    nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let id = create(&world);
    let document = world.ask(&["handoff", "show", &id]);
    assert!(document.contains("- not in changes.patch: image (binary), log (over 256 KiB)\n"), "{document}");
    assert!(document.contains("- New files (??) are in changes.patch, too"), "{document}");
    let record = std::path::PathBuf::from(world.ask(&["handoff", "path", &id, "--record"]).trim());
    let clone = world.project.with_file_name("clone");
    git(&world.project, &["clone", "-q", ".", clone.to_str().unwrap()]);
    git(&clone, &["apply", "--whitespace=nowarn", record.join("changes.patch").to_str().unwrap()]);
    for name in ["image", "log"] {
        std::fs::remove_file(at(name)).unwrap();
    }
    let tree = |dir: &Path| {
        git(dir, &["add", "-A"]);
        text(&Command::new("git").current_dir(dir).args(["write-tree"]).output().unwrap().stdout)
    };
    assert_eq!(tree(&clone), tree(&world.project));
}

#[test]
fn a_new_file_that_was_changed_since_is_told() {
    let (world, _) = changed();
    std::fs::write(world.project.join("new"), "one\n").unwrap();
    let id = create(&world);
    std::fs::write(world.project.join("new"), "two\n").unwrap();
    let output = world.hopty(&["handoff", "load", &id]);
    assert!(text(&output.stdout).contains("have changes, but different ones"), "{output:?}");
}

/// Formats of a repository, of which older versions of git know fewer.
const FORMATS: [&str; 3] = ["--object-format=sha1", "--object-format=sha256", "--ref-format=reftable"];

/// A shell line below `dir`, with a committer. What it printed, without white space around it; `None` if it
/// failed.
fn sh(dir: &Path, line: &str) -> Option<String> {
    let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"]
        .map(|name| (name, "t"));
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(dir)
        .envs(who)
        .env("GIT_CONFIG_COUNT", "0")
        .output()
        .unwrap();
    output.status.success().then(|| text(&output.stdout).trim().to_owned())
}

#[test]
fn repositories_of_every_format_are_told_as_plain_git_tells_them() {
    for format in FORMATS {
        let root = tempfile::tempdir().unwrap();
        let init = format!(
            "git init -q -b main {format} w && cd w && touch b c && echo one >a && git add . && git commit \
             -qm x"
        );
        if sh(root.path(), &init).is_none() {
            skip(format!("this git does not know {format}"));
            continue;
        }
        let ahead = "git branch up && git branch -q -u up && git commit -q --allow-empty -m 1 && echo two >a";
        assert!(
            sh(&root.path().join("w"), &format!("{ahead} && git worktree add -q -b side ../v")).is_some(),
            "{format}"
        );
        assert!(sh(&root.path().join("v"), "git branch -q -u up && echo three >b").is_some(), "{format}");
        for (tree, branch, changed, counts) in [("w", "main", "a", (1, 0)), ("v", "side", "b", (1, 0))] {
            let work = root.path().join(tree);
            let state = read(&work, &work, GitLimits::default())
                .unwrap_or_else(|error| panic!("{format}: {error}"))
                .unwrap();
            assert_eq!(
                (state.branch.as_deref(), state.upstream.as_deref()),
                (Some(branch), Some("up")),
                "{format}, {tree}"
            );
            assert_eq!(state.head, sh(&work, "git rev-parse HEAD"), "{format}, {tree}");
            assert_eq!(state.ahead_behind, Some(counts), "{format}, {tree}");
            assert_eq!(state.changed, [(".M".to_owned(), changed.to_owned())], "{format}, {tree}");
            let patch = sh(&work, "git diff --binary HEAD").unwrap();
            assert_eq!(String::from_utf8_lossy(&state.patch).trim(), patch, "{format}, {tree}");
            assert_eq!(
                Some(state.stat.trim().to_owned()),
                sh(&work, "git diff --stat=120 HEAD"),
                "{format}, {tree}"
            );
            assert!(state.notes.is_empty(), "{format}, {tree}: {:?}", state.notes);
        }
    }
}
