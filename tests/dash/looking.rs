//! What is shown: the sessions and what becomes of them, at any size, and hosts that do not answer.

use nix::libc;

use super::support::kill;
use super::{dash, dash_sized, detached, end_all, leave, wait_chosen, world};

#[test]
fn sessions_that_come_and_go_are_seen() {
    let world = world();
    let term = dash(&world);
    term.wait_text("No session is running.");
    term.wait_text("Run `hopty` in a project to start one");
    detached(&world, "late", "exec sleep 1000");
    wait_chosen(&term, "late");
    detached(&world, "later", "exec sleep 1000");
    term.wait_text("later");
    world.ask(&["stop", "late"]);
    wait_chosen(&term, "later");
    term.wait_text("late ended");
    world.ask(&["stop", "later"]);
    term.wait_text("No session is running.");
    leave(term);
    world.assert_nothing_left();
}

#[test]
fn a_host_that_does_not_answer_holds_up_neither_keys_nor_others() {
    let world = world();
    detached(&world, "good", "exec sleep 1000");
    detached(&world, "stuck", "exec sleep 1000");
    let host = i32::try_from(
        serde_json::from_str::<serde_json::Value>(&world.ask(&["status", "stuck",
            "--json"])).unwrap()["host_pid"].as_i64().unwrap(),
    )
    .unwrap();
    kill(host, libc::SIGSTOP);
    let term = dash(&world);
    term.wait_text("unresponsive");
    for _ in 0..20 {
        term.send("j");
        wait_chosen(&term, "stuck");
        term.send("k");
        wait_chosen(&term, "good");
    }
    kill(host, libc::SIGCONT);
    term.wait_for("it to answer again", |screen| {
        !screen.lines().iter().any(|line| line.contains("unresponsive"))
    });
    leave(term);
    end_all(&world);
}

#[test]
fn every_size_is_filled_again_after_a_change() {
    let world = world();
    detached(&world, "one", "printf 'a picture'; exec sleep 1000");
    let term = dash_sized(&world, (40, 10));
    wait_chosen(&term, "one");
    for (cols, rows) in [(200, 60), (40, 10), (80, 24), (12, 4), (100, 30)] {
        term.resize(cols, rows);
        // The last row is the keys', the first one the title's, from edge to edge.
        term.wait_for("it to be drawn again", |screen| {
            let lines = screen.lines();
            lines.last().is_some_and(|line| line.starts_with("q quit"))
                && lines[0].trim_start().starts_with("hopty")
        });
    }
    wait_chosen(&term, "one");
    leave(term);
    end_all(&world);
}
