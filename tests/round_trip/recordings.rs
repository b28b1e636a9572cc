//! What programs wrote, cut at many points: what the model's dump makes of a fresh terminal is what the bytes
//! made of one.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use hopty::screen::Screen;

use super::Tally;
use super::judge::{filled, picture, shown};

/// What shows what a picture does not: whether the cursor waits to wrap, margins and tab stops, what was
/// saved with the cursor, the other character set, and the primary screen below an alternate one.
const PROBES: [&str; 3] = ["x\ty\x1b[99B\n\n-\x0eq\x0f", "\x1b8l", "\x1b[?1049l\r\nz\x1b8m"];

/// Every recorded screen of Claude, as it is and in smaller terminals, where it scrolls and wraps.
pub fn fixtures(tally: &Mutex<Tally>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/screens");
    for version in
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        let name = version.file_name().unwrap().to_string_lossy().into_owned();
        let (mut states, mut wrong) = (0, Vec::new());
        for file in fs::read_dir(&version).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_none_or(|extension| extension != "ansi") {
                continue;
            }
            let bytes = fs::read_to_string(&file).unwrap().replace('\n', "\r\n").into_bytes();
            let size = if states % 4 == 0 { (120, 40) } else { (61, 17) };
            let (some, differ) =
                cut(&format!("{} at {size:?}", file.display()), &bytes, size, bytes.len() / 2 + 1);
            states += some;
            wrong.extend(differ);
        }
        tally.lock().unwrap().take(format!("recorded screens of Claude Code {name}"), states, wrong);
    }
}

/// Cuts a recording every so many bytes; how many states that made, and which differ.
pub fn cut(name: &str, bytes: &[u8], size: (u16, u16), step: usize) -> (usize, Vec<String>) {
    let mut screen = Screen::new(size.0, size.1);
    let (mut states, mut wrong, mut at) = (0, Vec::new(), 0);
    while at < bytes.len() {
        let from = at;
        at = behind_mouse_modes(bytes, (from + step).min(bytes.len()));
        screen.feed(&bytes[from..at]);
        states += 1;
        let dump = screen.dump();
        let mut fresh = shown(&[&dump.screen[..], &dump.unfinished].concat(), size);
        let mut before = shown(&bytes[..at], size);
        let same_size = picture(before.view(), size.1).difference(&picture(fresh.view(), size.1));
        let difference = same_size.or_else(|| in_another_size(&bytes[..at], size)).or_else(|| {
            let probes = if enters_twice(&bytes[..at]) { &PROBES[..1] } else { &PROBES[..] };
            probes.iter().find_map(|probe| {
                before.feed(probe.as_bytes());
                fresh.feed(probe.as_bytes());
                let difference = picture(before.view(), size.1).difference(&picture(fresh.view(), size.1))?;
                Some(format!("after {probe:?}\n{difference}"))
            })
        });
        wrong.extend(difference.map(|difference| format!("{name}, cut at byte {at}: {difference}")));
    }
    (states, wrong)
}

/// The model is resized, as the host does for a terminal of another size, and its dump is sent to that one.
/// The rows and the cursor are the model's. Against an emulator that got the bytes and was resized itself: of
/// the primary screen and the rows above it all that holds something is the same, and a larger alternate
/// screen is. The two share rows out differently, and a smaller alternate screen is moved up in alacritty,
/// and its wide characters are cut in half.
fn in_another_size(bytes: &[u8], size: (u16, u16)) -> Option<String> {
    [(size.0 / 4 * 3, size.1 + 5), (size.0 + 9, size.1 + 5)].into_iter().find_map(|other| {
        let mut screen = Screen::with_history(size.0, size.1, 1000);
        screen.feed(bytes);
        screen.resize(other.0, other.1);
        let dump = screen.dump();
        let after = shown(&[dump.history, dump.screen].concat(), other);
        let mut before = shown(bytes, size);
        before.resize(other.0, other.1);
        let (lines, cursor, here) = (screen.lines(), screen.cursor(), after.view());
        let ours: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        if after.rows() != ours || here.cursor != (i32::from(cursor.row), usize::from(cursor.col)) {
            return Some(format!("at {other:?} it shows {:#?}, and not {ours:#?}", after.rows()));
        }
        let (wanted, found) = (filled(&before.view()), filled(&here));
        if !screen.alternate() {
            let same = clears(bytes) || wanted == found;
            return (!same)
                .then(|| format!("at {other:?} these rows hold something: {found:#?}, and not {wanted:#?}"));
        }
        let difference = picture(before.view(), other.1).difference(&picture(here, other.1));
        difference.filter(|_| other.0 > size.0).map(|difference| format!("at {other:?}: {difference}"))
    })
}

/// The next place that is not between switches of the mouse: programs turn all of its modes off, one after
/// the other, and the first of them is enough in xterm and here, and not in alacritty.
fn behind_mouse_modes(bytes: &[u8], at: usize) -> usize {
    const BEGIN: &[u8] = b"\x1b[?100";
    const LENGTH: usize = BEGIN.len() + 2;
    let is_one = |from: &usize| bytes[*from..].starts_with(BEGIN);
    let inside = (at.saturating_sub(LENGTH)..at).find(is_one);
    let mut at = inside.map_or(at, |from| from + LENGTH);
    while inside.is_some() && at < bytes.len() && is_one(&at) {
        at += LENGTH;
    }
    at.min(bytes.len())
}

/// Whether the primary screen is cleared: alacritty keeps what stood there.
fn clears(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|part| part == b"\x1b[2J") || bytes.windows(6).any(|part| part == b"\x1b[H\x1b[J")
}

/// Whether the alternate screen is entered where it is shown: that saves the cursor in xterm and here, and
/// not in alacritty.
fn enters_twice(bytes: &[u8]) -> bool {
    let mut inside = false;
    bytes.windows(8).any(|part| {
        let (enters, leaves) = (part == b"\x1b[?1049h", part == b"\x1b[?1049l");
        let again = enters && inside;
        inside = enters || (inside && !leaves);
        again
    })
}
