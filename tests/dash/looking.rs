//! What is shown: the sessions and what becomes of them, the picture, any size, hosts that do not answer.

use nix::libc;

use super::support::kill;
use super::{dash, dash_sized, detached, end_all, leave, wait_chosen, world};

#[test]
fn two_sessions_with_the_picture_of_the_chosen_one() {
    let world = world();
    detached(&world, "one", "printf 'the first picture'; exec sleep 1000");
    detached(&world, "two", "read line; echo \"got $line\"; exec sleep 1000");
    let term = dash(&world);
    wait_chosen(&term, "one");
    term.wait_text("2 sessions");
    term.wait_text("the first picture");
    term.send("j");
    wait_chosen(&term, "two");
    term.wait_for("the other picture", |screen| !screen.lines().iter().any(|line| line.contains("the first picture")));
    // It is a live one.
    let other = world.terminal(&["attach", "two"]);
    other.send("from another terminal\r");
    term.wait_text("got from another terminal");
    drop(other);
    leave(term);
    end_all(&world);
}

#[test]
fn sessions_that_come_and_go_are_seen() {
    let world = world();
    let term = dash(&world);
    term.wait_text("No session is running.");
    term.wait_text("`hopty` in a project starts one");
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
        serde_json::from_str::<serde_json::Value>(&world.ask(&["status", "stuck", "--json"])).unwrap()["host_pid"].as_i64().unwrap(),
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
    term.wait_for("it to answer again", |screen| !screen.lines().iter().any(|line| line.contains("unresponsive")));
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
            lines.last().is_some_and(|line| line.starts_with("q leave")) && lines[0].trim_start().starts_with("hopty")
        });
    }
    wait_chosen(&term, "one");
    leave(term);
    end_all(&world);
}

#[test]
fn without_colours_where_they_are_not_wanted() {
    let mut world = world();
    detached(&world, "one", "printf '\\033[31mred\\033[m'; exec sleep 1000");
    let colors = |term: &super::Term| {
        let text = String::from_utf8_lossy(&term.bytes()).into_owned();
        text.split("\x1b[")
            .filter_map(|rest| rest.split_once('m').map(|(numbers, _)| numbers))
            .any(|numbers| numbers.split(';').skip(1).any(|number| number.len() == 2 && matches!(number.as_bytes()[0], b'3' | b'4')))
    };
    for (value, wanted) in [("", true), ("1", false)] {
        world.set("NO_COLOR", value);
        let term = dash(&world);
        wait_chosen(&term, "one");
        term.wait_text("red");
        assert_eq!(colors(&term), wanted, "NO_COLOR={value}");
        leave(term);
    }
    end_all(&world);
}

#[test]
fn titles_and_pictures_of_sessions_do_nothing_to_the_terminal() {
    let world = world();
    detached(&world, "evil", "printf '\\033]0;mine\\007\\033]52;c;aGk=\\007\\033[?1003h\\033[31mseen'; exec sleep 1000");
    let term = dash(&world);
    wait_chosen(&term, "evil");
    term.wait_text("seen");
    term.wait_text("mine");
    assert_eq!(term.look(|screen| screen.title().to_owned()), "");
    let bytes = String::from_utf8_lossy(&term.bytes()).into_owned();
    assert!(!bytes.contains("\x1b]") && !bytes.contains("1003"), "{bytes:?}");
    leave(term);
    end_all(&world);
}
