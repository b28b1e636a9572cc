//! What left the screen before a terminal came is shown to it, once.

use super::{end, support, wait_clients, world};
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
    assert!(
        bytes.find("line 1.") < bytes.find("line 2.") && bytes.find("line 276.") < bytes.find("line 299.")
    );
    term.send("\x1cd");
    assert_eq!(term.wait_exit(), 0);
    let other = world.terminal(&["attach"]);
    other.wait_text("more");
    assert!(
        String::from_utf8(other.bytes()).unwrap().contains("line 1."),
        "another terminal has not seen them"
    );
    end(&world);
}

/// `terminal.scrollback_lines`: so many are kept, and shown to who comes.
#[test]
fn as_many_lines_are_kept_as_are_wanted() {
    for (lines, first) in [("0", 462), ("100", 362), ("5000", 1)] {
        let mut world = world();
        world.set("HOPTY_TERMINAL_SCROLLBACK_LINES", lines);
        world.ask(&["run", "--detached", "--", "sh", "-c", "seq -f 'line %g.' 1 500; echo begun; exec cat"]);
        world.ask(&["wait", "text=begun"]);
        let term = world.terminal(&["attach"]);
        term.wait_text("begun");
        // The terminal's rows, of which a detached session has fewer.
        let size: usize = 40;
        let kept = world.ask(&["screen", "--history"]);
        let shown = String::from_utf8(term.bytes()).unwrap();
        for text in [kept.as_str(), &shown] {
            let found = (1..=500_usize).find(|n| text.contains(&format!("line {n}."))).unwrap();
            assert!(found.abs_diff(first) <= size, "{lines}: from line {found} on, with {size} rows");
        }
        assert!(!kept.contains(&format!("line {}.", first.saturating_sub(size + 1))), "{lines}");
        end(&world);
    }
}

/// The same window, narrower when it comes back, and then wide again: what it has not seen takes more lines,
/// and fewer.
#[test]
fn a_window_of_another_size_misses_nothing() {
    let world = world();
    let long = "0123456789".repeat(9);
    let each = format!("seq -f \"$x %g. {long}\" 1 200; echo done $x;");
    world.ask(&[
        "run",
        "--detached",
        "--",
        "sh",
        "-c",
        &format!("x=first; {each} while read x; do {each} done"),
    ]);
    let hopty = support::claude::hopty().display().to_string();
    let script = format!("for n in 1 2 3; do '{hopty}' attach; echo between $n; read x; done");
    let mut term = Term::start("/bin/sh".as_ref(), &["-c", &script], &world.env, &world.project, (120, 40));
    for (n, size, say) in [(1, (50, 24), Some("second")), (2, (120, 40), Some("third")), (3, (120, 40), None)]
    {
        wait_clients(&world, 1);
        term.wait_for("all", |screen| screen.lines().iter().any(|line| line.starts_with("done ")));
        term.send("\x1cd");
        term.wait_text(&format!("between {n}"));
        if let Some(say) = say {
            world.ask(&["send", "proj", say]);
            world.ask(&["send", "proj", "--keys", "enter"]);
            support::wait_for("more lines", || {
                world.ask(&["screen"]).contains(&format!("done {say}")).then_some(())
            });
        }
        term.resize(size.0, size.1);
        term.send("\r");
    }
    assert_eq!(term.wait_exit(), 0);
    let bytes = String::from_utf8(term.bytes()).unwrap();
    for batch in ["first", "second", "third"] {
        for n in 1..=200 {
            assert!(bytes.contains(&format!("{batch} {n}. ")), "{batch} {n}");
        }
    }
    assert_eq!(bytes.matches("first 1. ").count(), 1, "all over again");
    end(&world);
}

#[test]
fn the_history_goes_on_over_a_restart() {
    let world = world();
    world.ask(&[
        "run",
        "--detached",
        "--",
        "sh",
        "-c",
        "seq -f \"run $HOPTY_RUN line %g.\" 1 60; echo begun $HOPTY_RUN; exec cat",
    ]);
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
