//! Sizes, in cells and pixels, and how often a program is told.

use hopty::core::terminal::Size;

use super::case::{Case, Stage, world};
use super::emulator::View;
use super::outer::size_of;
use super::support::wait_for;

const fn size(cols: u16, rows: u16, xpixel: u16, ypixel: u16) -> Size {
    Size { cols, rows, xpixel, ypixel }
}

/// A program that writes a line for every SIGWINCH that it gets, and ends at a byte of input. It says `begun`
/// when it will miss none.
const COUNTS: &str = "trap 'echo resized' WINCH; echo beg''un; while ! read line; do :; done; echo over";

fn wait_size(stage: &Stage, wanted: Size) {
    let terminal = stage.terminal();
    wait_for(&format!("{wanted:?}"), || (size_of(&terminal) == wanted).then_some(()));
}

fn times(stage: &Stage) -> usize {
    String::from_utf8_lossy(&stage.outer.bytes()).matches("resized").count()
}

/// Waits until the program was told `count` times in all.
fn wait_told(stage: &Stage, count: usize) {
    wait_for(&format!("{count} times"), || (times(stage) >= count).then_some(()));
}

#[test]
fn what_the_terminal_says_at_the_start() {
    let world = world();
    for first in [
        size(80, 24, 640, 408),
        size(0, 0, 0, 0),
        size(1, 1, 0, 0),
        size(1000, 500, 9000, 9000),
        size(0, 7, 1, 0),
    ] {
        Case::script(&world, "stty size; read x").size(first).run(|stage| {
            stage.outer.wait_received(4);
            assert_eq!(size_of(&stage.terminal()), first, "{:?}", stage.way);
            stage.send("\r");
        });
    }
}

#[test]
fn every_change_arrives_with_its_pixels_and_is_told_once() {
    let world = world();
    let changes = [
        size(100, 30, 800, 510),
        // Pixels only.
        size(100, 30, 900, 600),
        size(1, 1, 9, 18),
        size(0, 0, 0, 0),
        size(1000, 500, 8000, 8500),
        size(81, 25, 0, 0),
    ];
    Case::script(&world, COUNTS).pictures().run(|stage| {
        stage.wait_text("begun");
        for (n, change) in changes.into_iter().enumerate() {
            stage.outer.resize(change);
            wait_size(stage, change);
            wait_told(stage, n + 1);
        }
        stage.send("\r");
        stage.outer.wait_rows("the end", |rows| rows.iter().any(|row| row == "over"));
        assert_eq!(times(stage), changes.len(), "{:?}", stage.way);
    });
}

#[test]
fn the_same_size_again_is_not_told() {
    let world = world();
    Case::script(&world, COUNTS).run(|stage| {
        stage.wait_text("begun");
        for _ in 0..5 {
            stage.outer.resize(size(80, 24, 640, 408));
        }
        // What follows them is told, and nothing but that.
        stage.outer.resize(size(80, 25, 640, 425));
        wait_told(stage, 1);
        stage.send("\r");
        stage.outer.wait_rows("the end", |rows| rows.iter().any(|row| row == "over"));
        assert_eq!(times(stage), 1, "{:?}", stage.way);
    });
}

/// How many lines were written depends on time.
fn nothing_of_it(view: &mut View) {
    view.rows.clear();
    view.cursor = (0, 0);
}

/// How often depends on how fast they come; the last one always arrives, and the program is told after it.
#[test]
fn a_storm_ends_at_the_last_size() {
    let world = world();
    let told = "trap 'stty size' WINCH; echo beg''un; while ! read line; do :; done; stty size";
    Case::script(&world, told).pictures().mask(nothing_of_it).run(|stage| {
        stage.wait_text("begun");
        let mut storm: Vec<Size> = (0..500).map(|n| size(40 + n % 150, 10 + n % 60, n, n + 1)).collect();
        storm.push(size(133, 44, 1330, 880));
        stage.outer.storm(&storm);
        wait_size(stage, size(133, 44, 1330, 880));
        wait_for("the last size in the program", || {
            stage.outer.bytes().ends_with(b"44 133\r\n").then_some(())
        });
        stage.send("\r");
    });
}

/// A size that changes while the program is being started is not lost.
#[test]
fn a_change_during_the_start_arrives() {
    let world = world();
    let until = "until [ \"$(stty size)\" = '31 91' ]; do sleep 0.01; done; echo seen; read x";
    for _ in 0..5 {
        Case::script(&world, until).pictures().handed().run(|stage| {
            stage.outer.resize(size(91, 31, 5, 5));
            stage.wait_text("seen");
            assert_eq!(size_of(&stage.terminal()), size(91, 31, 5, 5));
            stage.send("\r");
        });
    }
}
