use super::reader::CAST_LINE_MAX;
use super::*;

/// Reads a recording that is pushed in pieces; returns everything that was read.
fn read(bytes: &[u8], piece: usize) -> (Option<CastHeader>, Vec<CastEvent>, Option<CastError>) {
    let mut reader = CastReader::new();
    let (mut events, mut error) = (Vec::new(), None);
    let mut take = |reader: &mut CastReader| {
        while let Some(next) = reader.next() {
            assert!(error.is_none(), "nothing follows an error");
            match next {
                Ok(event) => events.push(event),
                Err(found) => error = Some(found),
            }
        }
    };
    for piece in bytes.chunks(piece.max(1)) {
        reader.push(piece);
        take(&mut reader);
    }
    reader.finish();
    take(&mut reader);
    assert!(reader.next().is_none());
    (reader.header().cloned(), events, error)
}

fn out(at_us: u64, text: &str) -> CastEvent {
    CastEvent { at_us, kind: CastEventKind::Output(text.as_bytes().to_vec()) }
}

fn event(at_us: u64, kind: CastEventKind) -> CastEvent {
    CastEvent { at_us, kind }
}

fn fault(text: &str) -> (usize, u64, CastFault) {
    let (_, events, error) = read(text.as_bytes(), 7);
    let error = error.unwrap_or_else(|| panic!("no error: {text}"));
    (events.len(), error.line, error.fault)
}

const V3: &str = r##"{"version": 3, "term": {"cols": 80, "rows": 24, "type": "xterm", "version": "x(1)", "theme": {"fg": "#d0d0d0", "bg": "#000000", "palette": "#000001:#000002"}}, "timestamp": 1504467315, "idle_time_limit": 2.5, "command": "zsh", "title": "demo", "env": {"SHELL": "/bin/zsh", "N": null}, "tags": ["a"]}
# a comment
[0.248848, "o", "a"]

[1.001376, "i", "b"]
[0, "r", "100x50"]
[0.5, "m", ""]
[0.5, "z", "later"]
[0, "r", "0x5"]
[3, "x", "-1"]
"##;

#[test]
fn a_terminal_without_a_size_had_80x24() {
    let size = |text: &str| {
        let header = read(text.as_bytes(), 9).0.unwrap();
        (header.cols, header.rows, header.has_no_size)
    };
    assert_eq!(size("{\"version\":2,\"width\":0,\"height\":0}\n"), (80, 24, true));
    assert_eq!(size("{\"version\":2,\"width\":9,\"height\":5}\n"), (9, 5, false));
}

#[test]
fn version_3_has_intervals() {
    for piece in [1, 2, 3, 50, 10_000] {
        let (header, events, error) = read(V3.as_bytes(), piece);
        assert_eq!(error, None);
        let header = header.unwrap();
        assert_eq!((header.version, header.cols, header.rows), (3, 80, 24));
        assert_eq!(
            (header.term_type.as_deref(), header.term_version.as_deref()),
            (Some("xterm"), Some("x(1)"))
        );
        let theme = header.theme.clone().unwrap();
        assert_eq!((theme.fg.as_str(), theme.bg.as_str(), theme.palette.len()), ("#d0d0d0", "#000000", 2));
        assert_eq!((header.timestamp, header.idle_time_limit), (Some(1_504_467_315), Some(2.5)));
        assert_eq!((header.command.as_deref(), header.title.as_deref()), (Some("zsh"), Some("demo")));
        assert_eq!(header.env.len(), 1);
        assert_eq!(
            events,
            [
                out(248_848, "a"),
                event(1_250_224, CastEventKind::Input(b"b".to_vec())),
                event(1_250_224, CastEventKind::Resize { cols: 100, rows: 50 }),
                event(1_750_224, CastEventKind::Marker(String::new())),
                event(2_250_224, CastEventKind::Other { code: 'z', data: "later".to_owned() }),
                event(2_250_224, CastEventKind::Other { code: 'r', data: "0x5".to_owned() }),
                event(5_250_224, CastEventKind::Exit(-1)),
            ]
        );
        // Writing what was read gives the same lines.
        let again = read(header.line().as_bytes(), piece).0.unwrap();
        assert_eq!(again, header);
    }
}

#[test]
fn version_2_has_times_since_the_start() {
    let text = "{\"version\": 2, \"width\": 80, \"height\": 24, \"theme\": \
                {\"fg\":\"#1\",\"bg\":\"#2\",\"palette\":\"#3\"}}\r\n\
                [1.5, \"o\", \"a\"]\r\n[1.25, \"o\", \"b\"]\r\n[2, \"o\", \"c\"]";
    let (header, events, error) = read(text.as_bytes(), 5);
    assert_eq!((header.unwrap().theme.unwrap().palette.len(), error), (1, None));
    assert_eq!(events, [out(1_500_000, "a"), out(1_500_000, "b"), out(2_000_000, "c")]);
}

#[test]
fn version_1_is_one_document_of_any_shape() {
    let text = r#"{"version": 1, "width": 80, "height": 24, "command": "/bin/zsh", "stdout": [[0.5, "a"], [1.5, "b"]]}"#;
    let spread = text.replace(", ", ",\n  ");
    for text in [text.to_owned(), format!("{text}\n"), spread, format!("\u{feff}{text}")] {
        let (header, events, error) = read(text.as_bytes(), 3);
        assert_eq!((header.unwrap().command.as_deref(), error), (Some("/bin/zsh"), None));
        assert_eq!(events, [out(500_000, "a"), out(2_000_000, "b")]);
    }
}

#[test]
fn a_recording_that_breaks_is_whole_up_to_there() {
    let header = "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n";
    let good = "[1,\"o\",\"a\"]\n";
    for (rest, events, line, wanted) in [
        ("[-1,\"o\",\"b\"]\n", 1, 3, CastFault::NegativeTime),
        ("[1e99,\"o\",\"b\"]\n", 1, 3, CastFault::TimeRange),
        ("\0\0\0\0\n[1,\"o\",\"b\"]\n", 1, 3, CastFault::NotAnEvent("\\0\\0\\0\\0".to_owned())),
        ("\0\0\0\0", 1, 3, CastFault::Torn),
        ("\n\n[1,\"o\",\"b", 1, 5, CastFault::Torn),
        ("[1,\"o\",\"\u{fffd}\"]\n#hopty {\"raw\":\"/", 2, 4, CastFault::Torn),
        ("hello\n", 1, 3, CastFault::NotAnEvent("hello".to_owned())),
    ] {
        assert_eq!(fault(&format!("{header}{good}{rest}")), (events, line, wanted), "{rest:?}");
    }
    for (text, wanted) in [
        ("", CastFault::Empty),
        ("hello\n", CastFault::NotACast),
        ("{}\n", CastFault::NotACast),
        ("{\"version\":4}\n", CastFault::Version(4)),
        ("{\"version\":3}\n", CastFault::NoSize),
        ("{\"version\":2,\"width\":0,\"height\":1}\n", CastFault::NoSize),
        ("{\"version\":3,\"term\":{\"cols\":70000,\"rows\":24}}\n", CastFault::NoSize),
        ("{\"version\":3,\"te", CastFault::Torn),
    ] {
        assert_eq!(fault(text), (0, 1, wanted), "{text:?}");
    }
    let (_, events, error) = read(&[header.as_bytes(), good.as_bytes(), b"[1,\"o\",\"\xff\"]\n"].concat(), 9);
    assert_eq!((events.len(), error.unwrap().fault), (1, CastFault::NotUtf8));
    let (_, v1, error) = read(br#"{"version":1,"width":8,"height":2,"stdout":[[1,"a"],[-1,"b"]]}"#, 9);
    assert_eq!((v1.len(), error.unwrap().fault), (1, CastFault::NegativeTime));
}

#[test]
fn a_recording_that_is_torn_anywhere_gives_its_whole_lines() {
    let mut lines = CastHeader::new(80, 24).line().into_bytes();
    let mut writer = CastWriter::new();
    for (n, bytes) in [&b"a\xff"[..], b"\xe2\x82", b"\xacc", b"\xef\xbf\xbd", b"d\xf0\x9f"].iter().enumerate()
    {
        writer.output(n as u64 * 1000, bytes, &mut lines);
    }
    writer.finish(&mut lines);
    let whole = read(&lines, 1 << 20).1;
    for cut in 0..lines.len() {
        let (_, events, error) = read(&lines[..cut], 11);
        let ends_line = cut > 0 && lines[cut - 1] == b'\n';
        // An event whose exact bytes are cut off is shown as in other players.
        for (event, wanted) in events.iter().zip(&whole) {
            let (CastEventKind::Output(bytes), CastEventKind::Output(exact)) = (&event.kind, &wanted.kind)
            else {
                panic!("{event:?}");
            };
            assert!(bytes == exact || *bytes == String::from_utf8_lossy(exact).as_bytes());
        }
        let before = lines[..cut].split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"[")).count();
        assert!(events.len() == before || events.len() + 1 == before, "{cut}: {events:?}");
        if ends_line || cut == lines.len() {
            assert_eq!(error, None, "{cut}");
        } else if let Some(error) = error {
            assert!(matches!(error.fault, CastFault::Torn | CastFault::Empty), "{cut}: {error}");
        }
    }
}

#[test]
fn lines_without_end_are_refused_and_not_kept() {
    let mut reader = CastReader::new();
    reader.push(b"{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n[1,\"o\",\"");
    assert_eq!(reader.next(), None);
    let piece = vec![b'x'; 1 << 20];
    let mut found = None;
    for _ in 0..40 {
        reader.push(&piece);
        found = found.or(reader.next());
        assert!(reader.bytes_held() <= CAST_LINE_MAX + (2 << 20));
    }
    assert_eq!(found, Some(Err(CastError { line: 2, fault: CastFault::TooLong })));
    // A bomb of escapes is never larger than its line.
    let bomb = format!("{V3}[0, \"o\", \"{}\"]\n", "\\u0007".repeat(100_000));
    let (_, events, _) = read(bomb.as_bytes(), 1 << 16);
    assert_eq!(events.last().map(|event| event.kind.clone()), Some(CastEventKind::Output(vec![7; 100_000])));
}

#[test]
fn exact_bytes_that_contradict_the_text_are_ignored() {
    let header = "{\"version\":3,\"term\":{\"cols\":80,\"rows\":24}}\n";
    let read = |rest: &str| read(format!("{header}{rest}").as_bytes(), 4096).1;
    // "Yf8=" is a and 0xff.
    let exact = event(0, CastEventKind::Output(b"a\xff".to_vec()));
    assert_eq!(read("[0,\"o\",\"a\u{fffd}\"]\n#hopty {\"raw\":\"Yf8=\"}\n"), [exact]);
    for (rest, count) in [
        ("[0,\"o\",\"b\u{fffd}\"]\n#hopty {\"raw\":\"Yf8=\"}\n", 1),
        ("[0,\"o\",\"a\u{fffd}\"]\n#hopty {\"raw\":\"*\"}\n", 1),
        ("[0,\"o\",\"a\u{fffd}\"]\n\n#hopty {\"raw\":\"Yf8=\"}\n", 1),
        ("[0,\"o\",\"a\u{fffd}\"]\n[0,\"m\",\"\"]\n#hopty {\"raw\":\"Yf8=\"}\n", 2),
        ("#hopty {\"raw\":\"Yf8=\"}\n[0,\"o\",\"a\u{fffd}\"]\n[0,\"o\",\"a\u{fffd}\"]\n", 2),
    ] {
        let events = read(rest);
        assert_eq!(events.len(), count, "{rest}");
        assert!(events.iter().all(|event| *event != event_with_ff()), "{rest}: {events:?}");
    }
}

fn event_with_ff() -> CastEvent {
    event(0, CastEventKind::Output(b"a\xff".to_vec()))
}
