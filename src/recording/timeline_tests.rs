//! The laws of a timeline: seeking equals playing up to there, stepping back undoes stepping forward, and a
//! search finds text where it appears.

use proptest::prelude::*;

use super::moment::Moment;
use super::play_position::{PlayPosition, micros};
use super::play_time::PlayTime;
use super::timeline::Timeline;
use super::timeline_search::{SearchDirection, TimelineSearch};
use crate::core::cast::{CastEvent, CastEventKind, CastHeader, CastWriter};
use crate::screen::Screen;

/// A recording of 20 columns and 5 rows with these events, at times in ms.
pub(super) fn cast(events: &[(u64, CastEventKind)]) -> Vec<u8> {
    let mut lines = CastHeader::new(20, 5).line().into_bytes();
    let mut writer = CastWriter::new();
    for (ms, kind) in events {
        writer.event(&CastEvent { at_us: ms * 1000, kind: kind.clone() }, &mut lines);
    }
    writer.finish(&mut lines);
    lines
}

pub(super) fn output(text: &str) -> CastEventKind {
    CastEventKind::Output(text.as_bytes().to_vec())
}

fn timeline(events: &[(u64, CastEventKind)]) -> Timeline {
    Timeline::load(&cast(events)).unwrap()
}

fn first_row(moment: &Moment<'_>) -> String {
    moment.screen().lines().swap_remove(0)
}

/// Enough output for several checkpoints, with resizes, and with state that a checkpoint must keep.
fn long() -> Vec<(u64, CastEventKind)> {
    let mut events = Vec::new();
    for n in 0..20_000_u64 {
        let text = match n % 9 {
            0 => format!("\x1b[3{}mline {n}\x1b[m \u{6f22}\u{5b57}\r\n", n % 8),
            1 => format!("\x1b[{};{}H\x1b[1mx", n % 5 + 1, n % 20 + 1),
            2 => format!("\x1b[?2026h\x1b[H\x1b[2Kframe {n}"),
            3 => "\x1b[?2026l\x1b[4".to_owned(),
            4 => "m underlined\x1b[m\r\n".to_owned(),
            5 if n % 180 == 5 => "\x1b[?1049h\x1b[2J".to_owned(),
            5 if n % 180 == 95 => "\x1b[?1049l".to_owned(),
            _ => format!("{}\r\n", "text ".repeat((n % 23) as usize)),
        };
        events.push((n * 7, output(&text)));
        if n % 1500 == 1499 {
            events.push((
                n * 7,
                CastEventKind::Resize { cols: 20 + (n % 13) as u16, rows: 5 + (n % 4) as u16 },
            ));
        }
    }
    events
}

#[test]
fn seeking_shows_what_playing_shows() {
    let events = long();
    let timeline = timeline(&events);
    assert!(timeline.stretches() > 2, "{}", timeline.stretches());
    let mut seeker = Moment::new(&timeline);
    let mut straight = Screen::with_history(20, 5, 200);
    let mut fed = 0;
    // Times in random order, compared with a screen that is played in order.
    let mut times: Vec<u64> = (0..160).map(|n| (n * 7919 % 160) * 877).collect();
    let mut seen = Vec::new();
    for ms in &times {
        seeker.seek(ms * 1000);
        seen.push((*ms, seeker.screen().dump(), seeker.screen().size()));
    }
    times.sort_unstable();
    seen.sort_by_key(|one| one.0);
    for (ms, dump, size) in seen {
        while let Some((_, kind)) = events.get(fed).filter(|(at, _)| *at <= ms) {
            match kind {
                CastEventKind::Output(bytes) => straight.feed(bytes),
                CastEventKind::Resize { cols, rows } => straight.resize(*cols, *rows),
                _ => {}
            }
            fed += 1;
        }
        assert_eq!((dump, size), (straight.dump(), straight.size()), "at {ms} ms");
    }
}

#[test]
fn a_checkpoint_in_the_middle_of_a_sequence_loses_none_of_it() {
    // The program never ends its synchronized update, so that no checkpoint finds a better place.
    let mut events = vec![(0, output("\x1b[?2026h")), (1, output("begin\x1b[3"))];
    for n in 0..20_000 {
        events.push((n, output(&format!("{}mword {n}\r\n", n % 8))));
        events.push((n, output("more\x1b[3")));
    }
    let timeline = timeline(&events);
    assert!(timeline.stretches() > 1);
    let mut moment = Moment::new(&timeline);
    let mut straight = Screen::with_history(20, 5, 200);
    for (at, (_, kind)) in events.iter().enumerate() {
        if let CastEventKind::Output(bytes) = kind {
            straight.feed(bytes);
        }
        if timeline.stretch_start(timeline.stretch_of(at)) == at {
            moment.go_to(at + 1);
            assert_eq!(moment.screen().dump(), straight.dump(), "after event {at}");
        }
    }
}

#[test]
fn a_step_back_undoes_a_step_forward() {
    let timeline = timeline(&long());
    let mut moment = Moment::new(&timeline);
    for start in [0, 7 * 8190, 7 * 8195, 60_000] {
        moment.seek(start * 1000);
        moment.step_forward();
        let (at, lines) = (moment.at_us(), moment.screen().lines());
        for _ in 0..3 {
            assert!(moment.step_forward());
        }
        for _ in 0..3 {
            assert!(moment.step_back());
        }
        assert_eq!((moment.at_us(), moment.screen().lines()), (at, lines), "from {start} ms");
    }
}

#[test]
fn a_step_ends_at_a_visible_change() {
    let timeline = timeline(&[
        (1, output("a")),
        (2, output("\x1b[m")),
        (3, output("\x1b[Ha")),
        (4, output("\x1b[?2026h\x1b[Hb")),
        (5, output("\x1b[?2026l")),
        (9, CastEventKind::Exit(0)),
    ]);
    let mut moment = Moment::new(&timeline);
    let steps: Vec<(bool, u64, String)> =
        (0..4).map(|_| (moment.step_forward(), moment.at_us() / 1000, first_row(&moment))).collect();
    let a = "a".to_owned();
    let b = "b".to_owned();
    // In the third event the cursor moves to the first column and back; the text stays the same.
    assert_eq!(steps, [(true, 1, a.clone()), (true, 5, b.clone()), (false, 9, b.clone()), (false, 9, b)]);
    assert!(moment.step_back());
    assert_eq!((moment.at_us(), first_row(&moment)), (1000, a));
    assert!(moment.step_back());
    assert_eq!((moment.at_us(), first_row(&moment)), (0, String::new()));
    assert!(!moment.step_back());
}

#[test]
fn text_is_found_where_it_appears() {
    let timeline = timeline(&[
        (10, output("an Error here")),
        (15, output(" ok")),
        (20, output("\r\nmore")),
        (30, output("\r\nsecond \u{6f22} error")),
        (40, output("\x1b[2J\x1b[H")),
    ]);
    let mut moment = Moment::new(&timeline);
    moment.go_to(0);
    let find = |moment: &Moment<'_>, text, direction| {
        TimelineSearch::new(moment, text, direction)
            .run()
            .map(|hit| (hit.at_us / 1000, hit.row, hit.col, hit.cols))
    };
    assert_eq!(find(&moment, "error", SearchDirection::Forward), Some((10, 0, 3, 5)));
    assert_eq!(find(&moment, "Error", SearchDirection::Forward), Some((10, 0, 3, 5)));
    assert_eq!(find(&moment, "ERROR", SearchDirection::Forward), None);
    moment.seek(10_000);
    assert_eq!(find(&moment, "error", SearchDirection::Forward), Some((30, 2, 10, 5)));
    moment.seek(40_000);
    assert_eq!(find(&moment, "error", SearchDirection::Forward), None);
    assert_eq!(find(&moment, "error", SearchDirection::Backward), Some((30, 2, 10, 5)));
    moment.seek(30_000);
    assert_eq!(find(&moment, "error", SearchDirection::Backward), Some((10, 0, 3, 5)));
    moment.seek(10_000);
    assert_eq!(find(&moment, "error", SearchDirection::Backward), None);
}

#[test]
fn a_search_crosses_stretches() {
    let mut events = long();
    events[100].1 = output("\x1b[Hneedle one");
    events[8900].1 = output("\x1b[?2026l\x1b[Hneedle two");
    let timeline = timeline(&events);
    let mut moment = Moment::new(&timeline);
    let hit = TimelineSearch::new(&moment, "needle", SearchDirection::Forward).run().unwrap();
    moment.go_to(hit.events);
    let second = TimelineSearch::new(&moment, "needle", SearchDirection::Forward).run().unwrap();
    assert!(hit.at_us < 1_000_000 && second.at_us > 60_000_000);
    moment.go_to(second.events);
    assert_eq!(TimelineSearch::new(&moment, "needle", SearchDirection::Backward).run(), Some(hit));
}

#[test]
fn a_damaged_recording_is_read_up_to_where_it_broke() {
    let mut bytes = cast(&[(1, output("a")), (2, output("b")), (3, output("c"))]);
    bytes.truncate(bytes.len() - 5);
    let timeline = Timeline::load(&bytes).unwrap();
    let mut moment = Moment::new(&timeline);
    moment.seek(u64::MAX);
    assert_eq!(first_row(&moment), "ab");
    assert!(
        timeline.damage().is_some_and(|damage| damage.starts_with("line 4: ")),
        "{:?}",
        timeline.damage()
    );
    assert!(Timeline::load(b"no cast").is_err() && Timeline::load(b"").is_err());
}

#[test]
fn pauses_are_cut_to_the_idle_limit() {
    let timeline = timeline(&[
        (1000, output("a")),
        (11_000, CastEventKind::Marker("m".to_owned())),
        (12_000, output("b")),
        (60_000, output("c")),
    ]);
    let whole = PlayTime::new(&timeline, None);
    assert_eq!((whole.duration_us(), whole.playing(30_000_000)), (60_000_000, 30_000_000));
    let cut = PlayTime::new(&timeline, Some(2_000_000));
    assert_eq!(cut.duration_us(), 6_000_000);
    let pairs = [(0, 0), (1000, 1000), (2000, 2000), (11_000, 3000), (12_000, 4000), (60_000, 6000)];
    for (recorded, playing) in pairs.map(|(recorded, playing)| (recorded * 1000, playing * 1000)) {
        assert_eq!(cut.playing(recorded), playing);
        assert_eq!(cut.recorded(playing), recorded);
    }
    assert_eq!(cut.playing(9_000_000), 3_000_000);
    assert_eq!(cut.recorded(u64::MAX), 60_000_000);
}

#[test]
fn places_are_named_in_several_ways() {
    let timeline = timeline(&[
        (1000, output("alpha")),
        (2000, CastEventKind::Marker("run 2".to_owned())),
        (3000, CastEventKind::Marker("handoff saved".to_owned())),
        (4000, output(" beta")),
    ]);
    let time = PlayTime::new(&timeline, None);
    let find = |text: &str| text.parse::<PlayPosition>().unwrap().find(&timeline, &time).map(|us| us / 1000);
    for (text, ms) in [
        ("0", 0),
        ("1.5", 1500),
        ("0:02", 2000),
        ("1:20", 4000),
        ("2500ms", 2500),
        ("50%", 2000),
        ("marker:run 2", 2000),
        ("marker:saved", 3000),
        ("marker:2", 3000),
        ("/beta/", 4000),
        ("/alp", 1000),
    ] {
        assert_eq!(find(text), Ok(ms), "{text}");
    }
    assert!(find("marker:no").is_err() && find("/gamma/").is_err());
    for text in ["", "x", "-1", "1:60", "101%", "marker:", "/", "//", "1:2:3:4", "NaN", "1e9"] {
        assert!(text.parse::<PlayPosition>().is_err(), "{text}");
    }
    assert_eq!(
        (micros("1:00:20.5"), micros("2m"), micros("80s")),
        (Some(3_620_500_000), Some(120_000_000), Some(80_000_000))
    );
}

proptest! {
    #[test]
    fn any_place_of_any_recording_can_be_reached(
        pieces in prop::collection::vec((0_u64..50, "[a-c\\x1b\\[;0-9HJmh?\r\n\u{6f22}]{0,12}"), 1..60),
        times in prop::collection::vec(0_u64..3000, 1..12),
    ) {
        let mut ms = 0;
        let events: Vec<(u64, CastEventKind)> = pieces
            .iter()
            .map(|(pause, text)| {
                ms += pause;
                (ms, output(text))
            })
            .collect();
        let timeline = timeline(&events);
        let mut moment = Moment::new(&timeline);
        for at in times {
            moment.seek(at * 1000);
            let mut straight = Screen::with_history(20, 5, 200);
            for (_, kind) in events.iter().filter(|(ms, _)| *ms <= at.min(timeline.duration_us() / 1000)) {
                if let CastEventKind::Output(bytes) = kind {
                    straight.feed(bytes);
                    drop(straight.take_queries());
                }
            }
            prop_assert!(*moment.screen() == straight);
        }
    }
}
