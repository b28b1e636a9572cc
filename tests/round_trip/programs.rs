//! Real programs, driven by keys.

use std::fmt::Write;
use std::sync::Mutex;

use super::live::{Live, world};
use super::support::skip::{is_installed, needs, skip};
use super::support::world::World;
use super::{Tally, recordings};

use drives::*;

mod drives;

/// A program's name, whether CI installs it, and its drive.
type Drive = (&'static str, Comes, fn(&World) -> Live<'_>);

/// Where a program comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comes {
    /// CI installs it, and `HOPTY_TEST_PROGRAMS=required` means it.
    Installed,
    /// It may be there.
    Perhaps,
}

const DRIVES: &[Drive] = &[
    ("vim", Comes::Installed, vim),
    ("less", Comes::Installed, less),
    ("nano", Comes::Installed, nano),
    ("fzf", Comes::Installed, fzf),
    ("mc", Comes::Installed, mc),
    ("htop", Comes::Installed, htop),
    ("tmux", Comes::Installed, tmux),
    ("screen", Comes::Installed, screen),
    ("bash", Comes::Installed, bash),
    ("sh", Comes::Installed, looks),
    ("git", Comes::Installed, git),
    ("top", Comes::Perhaps, top),
    ("watch", Comes::Perhaps, watch),
    ("man", Comes::Perhaps, man),
    ("python3", Comes::Perhaps, python),
];

/// Drives all that are installed, two at a time.
pub fn all(tally: &Mutex<Tally>) {
    let next = Mutex::new(DRIVES.iter());
    let worker = || {
        loop {
            let Some((name, comes, drive)) = next.lock().unwrap().next() else { return };
            if is_there(name, *comes) {
                one(tally, name, *drive);
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(worker))));
}

fn one(tally: &Mutex<Tally>, name: &str, drive: fn(&World) -> Live<'_>) {
    let world = world();
    text(&world);
    compare(tally, name, drive(&world));
}

/// Ends a session, and compares what its terminals were sent, cut at many points.
pub fn compare(tally: &Mutex<Tally>, name: &str, live: Live<'_>) {
    let (states, mut wrong, recorded) = live.end();
    let mut cuts = 0;
    for (n, (bytes, size)) in recorded.iter().enumerate() {
        let (some, differ) =
            recordings::cut(&format!("{name}, terminal {}", n + 1), bytes, *size, bytes.len() / 4 + 1);
        cuts += some;
        wrong.extend(differ);
    }
    let mut tally = tally.lock().unwrap();
    tally.take(format!("{name}, attached to"), states, wrong);
    tally.take(format!("{name}, recorded"), cuts, Vec::new());
}

fn is_there(program: &str, comes: Comes) -> bool {
    match comes {
        Comes::Installed => needs(program).is_some(),
        Comes::Perhaps if is_installed(program) => true,
        Comes::Perhaps => {
            skip(format!("{program} is not installed"));
            false
        }
    }
}

/// A text with long lines, wide characters, tabs and control characters.
fn text(world: &World) {
    let mut text =
        String::from("first line\ttab\n漢字 wide, e\u{301} combined, 👍🏽 and \u{1}\u{7f} control\n");
    for n in 3..=200 {
        let _ = writeln!(text, "line {n} {}", "word ".repeat(n % 40));
    }
    std::fs::write(world.project.join("text"), text).unwrap();
}
