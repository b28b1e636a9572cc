//! Cuts a part out of a recording; the new recording starts with the screen at that time.

use super::moment::Moment;
use super::timeline::{MarkKind, Timeline};
use crate::core::cast::{CastEvent, CastEventKind, CastHeader, CastWriter};

/// The part between two times, in µs, as an asciicast of version 3. Times start at 0; pauses stay.
pub fn cut_cast(timeline: &Timeline, from_us: u64, to_us: u64) -> Vec<u8> {
    let mut moment = Moment::new(timeline);
    moment.seek(from_us);
    let (cols, rows) = moment.screen().size();
    let before = from_us / 1_000_000;
    let header = CastHeader {
        version: 3,
        cols,
        rows,
        timestamp: timeline.header().timestamp.map(|at| at + before),
        ..timeline.header().clone()
    };
    let mut lines = header.line().into_bytes();
    let mut writer = CastWriter::new();
    if moment.events() > 0 {
        let dump = moment.screen().dump();
        writer.output(0, &[dump.history, dump.screen, dump.unfinished].concat(), &mut lines);
    }
    let first = moment.events();
    let marks = timeline.marks();
    // Marks at exactly the start time belong to the part as well.
    let mut mark = marks.partition_point(|mark| mark.at_us < from_us);
    for (at, event) in timeline.events().iter().enumerate().skip(first) {
        if event.at_us > to_us {
            break;
        }
        while let Some(earlier) = marks.get(mark).filter(|mark| mark.at_us <= event.at_us) {
            write_mark(&mut writer, earlier.at_us.saturating_sub(from_us), &earlier.kind, &mut lines);
            mark += 1;
        }
        let at_us = event.at_us - from_us;
        match event.resize {
            Some((cols, rows)) => {
                writer.event(&CastEvent { at_us, kind: CastEventKind::Resize { cols, rows } }, &mut lines);
            }
            None => writer.output(at_us, timeline.output_of(at, at + 1), &mut lines),
        }
    }
    for rest in marks[mark..].iter().take_while(|mark| mark.at_us <= to_us) {
        write_mark(&mut writer, rest.at_us - from_us, &rest.kind, &mut lines);
    }
    writer.finish(&mut lines);
    lines
}

fn write_mark(writer: &mut CastWriter, at_us: u64, kind: &MarkKind, lines: &mut Vec<u8>) {
    let kind = match kind {
        MarkKind::Marker(label) => CastEventKind::Marker(label.clone()),
        MarkKind::Input(bytes) => CastEventKind::Input(bytes.clone()),
        MarkKind::Exit(status) => CastEventKind::Exit(*status),
    };
    writer.event(&CastEvent { at_us, kind }, lines);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::timeline_tests::{cast, output};

    #[test]
    fn a_cut_starts_with_the_screen_and_has_later_events() {
        let timeline = Timeline::load(&cast(&[
            (1000, output("one\r\n\x1b[31m")),
            (2000, CastEventKind::Resize { cols: 30, rows: 6 }),
            (3000, CastEventKind::Marker("m".to_owned())),
            (3000, output("two")),
            (4000, CastEventKind::Input(b"x".to_vec())),
            (5000, output("three")),
            (6000, CastEventKind::Exit(3)),
        ]))
        .unwrap();
        let part = Timeline::load(&cut_cast(&timeline, 2_500_000, 4_500_000)).unwrap();
        assert_eq!((part.header().cols, part.header().rows, part.duration_us()), (30, 6, 1_500_000));
        assert_eq!(part.markers().collect::<Vec<_>>(), [(500_000, "m")]);
        assert_eq!(part.marks()[1].kind, MarkKind::Input(b"x".to_vec()));
        let (mut cut, mut whole) = (Moment::new(&part), Moment::new(&timeline));
        for (there, here) in [(0, 2_500_000), (500_000, 3_000_000), (1_500_000, 4_000_000)] {
            cut.seek(there);
            whole.seek(here);
            assert!(cut.screen() == whole.screen(), "{:?} {:?}", cut.screen(), whole.screen());
        }
        let all = Timeline::load(&cut_cast(&timeline, 0, u64::MAX)).unwrap();
        assert_eq!((all.marks(), all.duration_us()), (timeline.marks(), timeline.duration_us()));
    }
}
