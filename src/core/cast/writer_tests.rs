use proptest::prelude::*;

use super::*;

fn lines_of(chunks: &[&[u8]]) -> String {
    let mut lines = Vec::new();
    let mut writer = CastWriter::new();
    for (n, chunk) in chunks.iter().enumerate() {
        writer.output(n as u64 * 1_500_000, chunk, &mut lines);
    }
    writer.finish(&mut lines);
    String::from_utf8(lines).unwrap()
}

#[test]
fn events_are_lines_of_version_3() {
    let kinds = [
        CastEventKind::Output(b"\x1b[1mHi\"\\\r\n\t\x7f".to_vec()),
        CastEventKind::Input(b"\x03".to_vec()),
        CastEventKind::Resize { cols: 100, rows: 50 },
        CastEventKind::Marker("run 2".to_owned()),
        CastEventKind::Other { code: 'z', data: "é".to_owned() },
        CastEventKind::Exit(130),
    ];
    let (mut lines, mut writer) = (Vec::new(), CastWriter::new());
    for (n, kind) in kinds.into_iter().enumerate() {
        writer.event(&CastEvent { at_us: n as u64 * 1_000_250, kind }, &mut lines);
    }
    assert_eq!(
        String::from_utf8(lines).unwrap(),
        r#"[0.000000, "o", "\u001b[1mHi\"\\\r\n\t\u007f"]
[1.000250, "i", "\u0003"]
[1.000250, "r", "100x50"]
[1.000250, "m", "run 2"]
[1.000250, "z", "é"]
[1.000250, "x", "130"]
"#
    );
}

#[test]
fn events_end_at_the_borders_of_characters() {
    assert_eq!(
        lines_of(&[b"a\xe2", b"\x82", b"\xac\xf0\x9f\x98", b"\x80"]),
        "[0.000000, \"o\", \"a\"]\n[3.000000, \"o\", \"€\"]\n[1.500000, \"o\", \"😀\"]\n"
    );
}

#[test]
fn bytes_that_are_not_text_are_exact_in_a_comment() {
    assert_eq!(
        lines_of(&[b"a\xff\xfeb", b"c\xe2\x82"]),
        "[0.000000, \"o\", \"a\u{fffd}\u{fffd}b\"]\n#hopty {\"raw\":\"Yf/+Yg==\"}\n\
         [1.500000, \"o\", \"c\"]\n[0.000000, \"o\", \"\u{fffd}\"]\n#hopty {\"raw\":\"4oI=\"}\n"
    );
}

#[test]
fn time_never_runs_backwards() {
    let (mut lines, mut writer) = (Vec::new(), CastWriter::new());
    for at_us in [5, 3, 7] {
        writer.output(at_us, b"a", &mut lines);
    }
    let text = String::from_utf8(lines).unwrap();
    let times: Vec<&str> = text.lines().map(|line| &line[1..9]).collect();
    assert_eq!(times, ["0.000005", "0.000000", "0.000002"]);
}

/// Bytes with many cut or overlong sequences, and characters of every length.
fn terminal_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        any::<char>().prop_map(|ch| ch.to_string().into_bytes()),
        Just(vec![0xef, 0xbf, 0xbd]),
        Just(vec![0xed, 0xa0, 0x80]),
        Just(b"\x1b[0m\n".to_vec()),
        prop::collection::vec(0x80..=0xffu8, 1..4),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_written_recording_reads_back(
        bytes in terminal_bytes(),
        splits in prop::collection::vec((1..9usize, 0..3_000_000u64), 1..40),
        piece in 1..40usize,
    ) {
        let mut lines = CastHeader::new(80, 24).line().into_bytes();
        let mut writer = CastWriter::new();
        let (mut left, mut at, mut times) = (bytes.as_slice(), 0, splits.iter().cycle());
        while !left.is_empty() {
            let (count, pause) = times.next().copied().unwrap_or((1, 1));
            let (chunk, rest) = left.split_at(count.min(left.len()));
            at += pause;
            writer.output(at, chunk, &mut lines);
            left = rest;
        }
        writer.finish(&mut lines);
        prop_assert!(std::str::from_utf8(&lines).is_ok());
        prop_assert_eq!(lines.last(), Some(&b'\n'));
        let mut reader = CastReader::new();
        let (mut read, mut last) = (Vec::new(), 0);
        for piece in lines.chunks(piece) {
            reader.push(piece);
            while let Some(event) = reader.next() {
                let event = event.map_err(|e| TestCaseError::fail(e.to_string()))?;
                prop_assert!(event.at_us >= last && event.at_us <= at);
                last = event.at_us;
                let CastEventKind::Output(bytes) = event.kind else { panic!("not output") };
                read.extend(bytes);
            }
        }
        reader.finish();
        while let Some(event) = reader.next() {
            let event = event.map_err(|e| TestCaseError::fail(e.to_string()))?;
            let CastEventKind::Output(bytes) = event.kind else { panic!("not output") };
            read.extend(bytes);
        }
        prop_assert_eq!(read, bytes);
    }

    #[test]
    fn a_reader_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1..9usize) {
        let header = CastHeader::new(80, 24).line();
        for start in ["", header.as_str(), "{\"version\":1,"] {
            let mut reader = CastReader::new();
            reader.push(start.as_bytes());
            for piece in bytes.chunks(piece) {
                reader.push(piece);
                while reader.next().is_some() {}
            }
            reader.finish();
            let mut errors = 0;
            while let Some(next) = reader.next() {
                errors += usize::from(next.is_err());
            }
            prop_assert!(errors <= 1);
        }
    }
}
