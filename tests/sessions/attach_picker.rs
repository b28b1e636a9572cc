//! `hopty attach` without a name: which session it takes, and the list from which a person picks.

use std::process::Command;

use super::support::claude::hopty;
use super::support::term::Term;
use super::support::text;
use super::support::world::World;
use super::{end_all, world};

/// A session that says its name.
const SAYS: [&str; 3] = ["sh", "-c", "echo this is $HOPTY_SESSION; exec sleep 1000"];

/// The same in another directory than the world's project.
fn detached_elsewhere(world: &World, name: &str) {
    let dir = world.root.path().join("elsewhere");
    std::fs::create_dir_all(&dir).unwrap();
    let mut command = Command::new(hopty());
    command.args(["run", "--name", name, "--detached", "--"]).args(SAYS);
    let output = command.env_clear().envs(world.env.iter().cloned()).current_dir(&dir).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn wait_selected(term: &Term, what: &str) {
    term.wait_for(&format!("{what} to be selected"), |screen| {
        screen.lines().iter().any(|line| line.starts_with(&format!("›{what} ")))
    });
}

/// Waits for a session's own words, detaches with the prefix key, which a terminal that is not raw would take
/// for SIGQUIT, and sees a whole terminal.
fn leave(mut term: Term, name: &str) {
    term.wait_text(&format!("this is {name}"));
    term.send("\x1cd");
    assert_eq!(term.wait_exit(), 0);
    term.assert_whole();
}

#[test]
fn a_person_picks_by_arrow_number_and_enter() {
    let world = world();
    for name in ["one", "two"] {
        world.run_detached(name, &SAYS);
    }
    detached_elsewhere(&world, "far");
    let term = world.terminal(&["attach"]);
    term.wait_text("Attach to which session?");
    term.wait_for("both groups", |screen| {
        let lines = screen.lines();
        let at = |words: &str| lines.iter().position(|line| line.contains(words));
        at("in this directory") < at("1  one")
            && at("2  two") < at("elsewhere")
            && at("elsewhere") < at("3  far")
    });
    wait_selected(&term, "1  one");
    term.send("\x1b[B");
    wait_selected(&term, "2  two");
    term.send("k");
    wait_selected(&term, "1  one");
    term.send("3");
    wait_selected(&term, "3  far");
    term.send("9");
    term.wait_text("there is no session 9: type 1 to 3");
    term.send("2");
    wait_selected(&term, "2  two");
    term.send("\r");
    leave(term, "two");
    end_all(&world);
}

#[test]
fn it_is_left_by_escape_q_and_ctrl_c() {
    let world = world();
    for name in ["one", "two"] {
        world.run_detached(name, &SAYS);
    }
    for key in ["\x1b", "q", "\x03"] {
        let mut term = world.terminal(&["attach"]);
        term.wait_text("Attach to which session?");
        term.send(key);
        assert_eq!(term.wait_exit(), 1);
        term.wait_text("cancelled");
        term.assert_whole();
    }
    let mut term = world.terminal(&["attach"]);
    term.wait_text("Attach to which session?");
    super::support::kill(i32::try_from(term.child.id()).unwrap(), nix::libc::SIGTERM);
    assert_eq!(term.wait_exit(), 128 + nix::libc::SIGTERM);
    term.assert_whole();
    end_all(&world);
}

#[test]
fn the_only_detached_session_of_this_directory_is_meant() {
    let world = world();
    detached_elsewhere(&world, "far");
    world.run_detached("one", &SAYS);
    leave(world.terminal(&["attach"]), "one");
    // One that another terminal shows is not meant, while there is one that none shows.
    let shown = world.terminal(&["attach", "one"]);
    shown.wait_text("this is one");
    world.run_detached("two", &SAYS);
    leave(world.terminal(&["attach"]), "two");
    leave(shown, "one");
    end_all(&world);
}

#[test]
fn a_narrow_terminal_shows_it() {
    let world = world();
    for name in ["a-rather-long-name-of-a-session", "two"] {
        world.run_detached(name, &SAYS);
    }
    let term = Term::start(&hopty(), &["attach"], &world.env, &world.project, (40, 10));
    wait_selected(&term, "1  a-rather-long…");
    term.wait_text("two             running  ");
    term.resize(80, 24);
    wait_selected(&term, "1  a-rather-long-name-of-a…");
    term.send("j\r");
    leave(term, "two");
    end_all(&world);
}

#[test]
fn states_have_colours_where_they_are_wanted() {
    let mut world = world();
    for name in ["one", "two"] {
        world.ask(&["run", "--name", name, "--detached", "--", "claude", "--model", "claude-sonnet-4-5"]);
        world.ask(&["wait", name, "idle"]);
    }
    for (value, colored) in [("", true), ("1", false)] {
        world.set("NO_COLOR", value);
        let mut term = world.terminal(&["attach"]);
        wait_selected(&term, "1  one");
        term.wait_text("2  two");
        assert_eq!(text(&term.bytes()).contains("\x1b[32midle\x1b[m"), colored, "NO_COLOR={value}");
        term.send("q");
        assert_eq!(term.wait_exit(), 1);
    }
    end_all(&world);
}

#[test]
fn without_a_terminal_the_sessions_are_listed() {
    let mut world = world();
    for name in ["one", "two"] {
        world.run_detached(name, &SAYS);
    }
    let output = world.hopty(&["attach"]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    let heads: Vec<&str> = said.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(heads, ["NAME", "STATE", "FOR", "ABOUT", "DIRECTORY"], "{said}");
    assert!(said.contains("\none   running  "), "{said}");
    assert!(said.contains("\nhopty: attach: one, two: which session?\n"), "{said}");
    assert!(said.ends_with("hint: give its name, as in `hopty attach one`\n"), "{said}");
    world.set("TERM", "dumb");
    let mut term = world.terminal(&["attach"]);
    assert_eq!(term.wait_exit(), 3);
    term.wait_text("which session?");
    end_all(&world);
}
