//! Which session a verb uses.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};

use super::support::claude::hopty;
use super::support::text;
use super::support::world::World;
use super::{assert_fails, end_all, world};

/// A verb, run in a directory.
fn at(world: &World, dir: &Path, args: &[&str], session: Option<&str>) -> Output {
    let mut command = Command::new(hopty());
    command.args(args).env_clear().envs(world.env.iter().cloned()).current_dir(dir);
    command.envs(session.map(|name| ("HOPTY_SESSION", name)));
    command.output().unwrap()
}

fn name_of(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    status["name"].as_str().unwrap().to_owned()
}

#[test]
fn inside_then_nearest_directory_then_the_only_one() {
    let world = world();
    let (inner, other) = (world.project.join("a/b"), world.home.join("elsewhere"));
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::create_dir_all(&other).unwrap();
    let status = ["status", "--json"];
    assert_fails(&at(&world, &other, &status, None), 3, "no session is running");
    world.run_detached("outer", &["sleep", "100"]);
    // The only one, wherever one is; and also from below its directory.
    assert_eq!(name_of(&at(&world, &other, &status, None)), "outer");
    assert_eq!(name_of(&at(&world, &inner, &status, None)), "outer");
    let started = at(&world, &inner, &["run", "--name", "inner", "--detached", "--", "sleep", "100"], None);
    assert!(started.status.success());
    // The longest directory wins; a path that only begins the same is another.
    assert_eq!(name_of(&at(&world, &inner, &status, None)), "inner");
    let longer = world.project.join("a/b2");
    std::fs::create_dir_all(&longer).unwrap();
    assert_eq!(name_of(&at(&world, &longer, &status, None)), "outer");
    // A link leads to the real place.
    let link = world.home.join("link");
    std::os::unix::fs::symlink(&inner, &link).unwrap();
    assert_eq!(name_of(&at(&world, &link, &status, None)), "inner");
    // Several elsewhere: all are named.
    let output = at(&world, &other, &status, None);
    assert_fails(&output, 3, "status: inner, outer: which session?");
    // The session that one is inside of comes first; not when its host is gone.
    assert_eq!(name_of(&at(&world, &inner, &status, Some("outer"))), "outer");
    assert_eq!(name_of(&at(&world, &inner, &status, Some("gone"))), "inner");
    assert_eq!(name_of(&at(&world, &inner, &status, Some("../etc"))), "inner");
    end_all(&world);
    // None is guessed that is over, but the last one of here is named.
    let output = at(&world, &inner, &["why"], None);
    assert_fails(&output, 3, "no session is running");
    assert!(text(&output.stderr).contains("; the last one here was inner: `hopty why inner`"), "{output:?}");
}

#[test]
fn two_sessions_of_one_directory_are_both_named() {
    let world = world();
    world.run_detached("one", &["sleep", "100"]);
    world.run_detached("two", &["sleep", "100"]);
    assert_fails(&world.hopty(&["status"]), 3, "one, two");
    end_all(&world);
}

#[test]
fn stop_never_guesses() {
    let world = world();
    let other = world.home.join("elsewhere");
    std::fs::create_dir_all(&other).unwrap();
    world.run_detached("only", &["sleep", "100"]);
    let output = at(&world, &other, &["stop"], None);
    assert_fails(&output, 3, "stop: no session is running in this directory");
    assert!(text(&output.stderr).contains("only"), "its name is told");
    // Where it is the directory's own session it is no guess.
    assert!(at(&world, &world.project, &["stop"], None).status.success());
    world.assert_nothing_left();
}

#[test]
fn taken_bad_and_long_names() {
    let world = world();
    world.run_detached("one", &["sleep", "100"]);
    let run = |name: &str| world.hopty(&["run", "--name", name, "--detached", "--", "sleep", "100"]);
    assert_fails(&run("one"), 1, "run: one: the name is taken");
    let long = "x".repeat(49);
    for bad in ["", ".", "..", "-x", "Upper", "with space", "a/b", "../x", "é", "x\n", &long] {
        assert_fails(
            &world.hopty(&["run", "--detached", &format!("--name={bad}"), "--", "sleep", "100"]),
            2,
            "not a session name",
        );
        assert_fails(&world.hopty(&["stop", "--", bad]), 2, "not a session name");
        // Without a terminal there is no session, and the name is looked at all the same.
        assert_fails(&world.hopty(&["run", &format!("--name={bad}"), "--", "true"]), 2, "not a session name");
    }
    let longest = "y".repeat(48);
    world.run_detached(&longest, &["sleep", "100"]);
    for verb in ["status", "stop", "attach", "restart", "events", "log", "why"] {
        assert_fails(
            &world.hopty(&[verb, "nosuch"]),
            3,
            &format!("{verb}: nosuch: there is no such session"),
        );
    }
    end_all(&world);
}

/// The name of a directory becomes the session's, whatever it is; a second one gets a number.
#[test]
fn directories_give_names() {
    let world = world();
    let no_text = OsStr::from_bytes(b"Not \xff text");
    for (dir, names) in [
        (OsStr::new("My Project"), ["my-project", "my-project-2"]),
        (OsStr::new("日本"), ["session", "session-2"]),
        (no_text, ["not---text", "not---text-2"]),
    ] {
        let dir = world.home.join(dir);
        std::fs::create_dir_all(&dir).unwrap();
        for name in names {
            let output = at(&world, &dir, &["run", "--detached", "--", "sleep", "100"], None);
            assert_eq!(text(&output.stdout), format!("{name}\n"), "{}", text(&output.stderr));
        }
    }
    end_all(&world);
}

/// Twenty starts at once: twenty names, one each.
#[test]
fn no_two_hosts_share_a_name() {
    let world = world();
    let started: Vec<_> = std::thread::scope(|scope| {
        let start = || text(&world.hopty(&["run", "--detached", "--", "sleep", "100"]).stdout);
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let names: std::collections::BTreeSet<_> = started.iter().collect();
    assert_eq!(names.len(), 8, "{started:?}");
    end_all(&world);
}
