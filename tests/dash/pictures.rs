//! The picture of the chosen session: live, in its colours or without, and nothing but a picture.

use super::{Term, dash, detached, end_all, leave, wait_chosen, world};

#[test]
fn two_sessions_with_the_picture_of_the_chosen_one() {
    let world = world();
    // The list shows the command, too.
    detached(&world, "one", "printf 'the first %s' picture; exec sleep 1000");
    detached(&world, "two", "read line; echo \"got $line\"; exec sleep 1000");
    let term = dash(&world);
    wait_chosen(&term, "one");
    term.wait_text("2 sessions");
    term.wait_text("the first picture");
    term.send("j");
    wait_chosen(&term, "two");
    term.wait_for("the other picture", |screen| {
        !screen.lines().iter().any(|line| line.contains("the first picture"))
    });
    // It is a live one.
    let other = world.terminal(&["attach", "two"]);
    other.send("from another terminal\r");
    term.wait_text("got from another terminal");
    drop(other);
    leave(term);
    end_all(&world);
}

#[test]
fn without_colours_where_they_are_not_wanted() {
    let mut world = world();
    detached(&world, "one", "printf '\\033[31mred\\033[m'; exec sleep 1000");
    let colors = |term: &Term| {
        let text = String::from_utf8_lossy(&term.bytes()).into_owned();
        text.split("\x1b[").filter_map(|rest| rest.split_once('m').map(|(numbers, _)| numbers)).any(
            |numbers| {
                numbers
                    .split(';')
                    .skip(1)
                    .any(|number| number.len() == 2 && matches!(number.as_bytes()[0], b'3' | b'4'))
            },
        )
    };
    for (value, wanted) in [("", true), ("1", false)] {
        world.set("NO_COLOR", value);
        let term = dash(&world);
        wait_chosen(&term, "one");
        // In the picture, not in the title above it.
        term.wait_text("│red");
        assert_eq!(colors(&term), wanted, "NO_COLOR={value}");
        leave(term);
    }
    end_all(&world);
}

#[test]
fn titles_and_pictures_of_sessions_do_nothing_to_the_terminal() {
    let world = world();
    detached(
        &world,
        "evil",
        "printf '\\033]0;mine\\007\\033]52;c;aGk=\\007\\033[?1003h\\033[31mseen'; exec sleep 1000",
    );
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
