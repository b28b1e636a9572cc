//! What left the screen before a terminal came is shown to it, once.

use super::{end, support, world};
use support::term::Term;

#[test]
fn a_terminal_gets_the_lines_that_it_has_not_seen_once() {
    let world = world();
    world.ask(&[
        "run",
        "--detached",
        "--",
        "sh",
        "-c",
        "seq -f 'line %g.' 1 300; echo begun; while read x; do seq -f \"$x %g.\" 1 50; echo more; done",
    ]);
    let hopty = support::claude::hopty().display().to_string();
    let script = format!("'{hopty}' attach; echo between; '{hopty}' attach");
    let mut term = Term::start("/bin/sh".as_ref(), &["-c", &script], &world.env, &world.project, (80, 24));
    term.wait_text("begun");
    term.send("\x1cd");
    term.wait_text("between");
    term.wait_text("begun");
    term.send("second\r");
    term.wait_text("more");
    let bytes = String::from_utf8(term.bytes()).unwrap();
    let count = |text: &str| bytes.matches(text).count();
    // The last rows stand on the screen, which is drawn at each attach; what is above it is not.
    assert_eq!((count("line 1."), count("line 150."), count("line 270.")), (1, 1, 1));
    assert_eq!((count("line 299."), count("second 1."), count("second 50.")), (2, 1, 1));
    // In order, and the picture below them.
    assert!(bytes.find("line 1.") < bytes.find("line 2.") && bytes.find("line 276.") < bytes.find("line 299."));
    term.send("\x1cd");
    assert_eq!(term.wait_exit(), 0);
    let other = world.terminal(&["attach"]);
    other.wait_text("more");
    assert!(String::from_utf8(other.bytes()).unwrap().contains("line 1."), "another terminal has not seen them");
    end(&world);
}

#[test]
fn the_history_goes_on_over_a_restart() {
    let world = world();
    world.ask(&["run", "--detached", "--", "sh", "-c", "seq -f \"run $HOPTY_RUN line %g.\" 1 60; echo begun $HOPTY_RUN; exec cat"]);
    support::wait_for("the first run", || world.ask(&["screen"]).contains("begun 1").then_some(()));
    world.ask(&["restart"]);
    support::wait_for("the second run", || world.ask(&["screen"]).contains("begun 2").then_some(()));
    let term = world.terminal(&["attach"]);
    term.wait_text("begun 2");
    let bytes = String::from_utf8(term.bytes()).unwrap();
    for line in ["run 1 line 1.", "run 1 line 60.", "begun 1", "run 2 line 1.", "run 2 line 60."] {
        assert_eq!(bytes.matches(line).count(), 1, "{line}");
    }
    end(&world);
}
