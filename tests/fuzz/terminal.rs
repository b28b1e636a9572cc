//! What a terminal sends and shows, and the frames between client and host.

use hopty::core::draft::units;
use hopty::core::input::Classifier;
use hopty::core::input::prefix_command::{is_release, order};
use hopty::ipc::frame::{Frame, MAX_PAYLOAD};
use hopty::ipc::message::parse_request;
use hopty::screen::{Screen, TerminalIdentity, reply};

use super::random::fuzz;

const WRITTEN: [&str; 54] = [
    "text", "漢字", "e\u{301}", "👩\u{200d}💻", "\r\n", "\r", "\n", "\t", "\x08", "\x0e", "\x0f", "\x1b[H",
    "\x1b[2J", "\x1b[3J", "\x1b[K", "\x1b[9999@", "\x1b[9999P", "\x1b[9999L", "\x1b[9999M", "\x1b[9999S",
    "\x1b[9999T", "\x1b[9999b", "\x1b[?7l", "\x1b[?7h", "\x1b[?3h", "\x1b[2;4r", "\x1b[?69h\x1b[3;9s",
    "\x1b[46;2;2;4;9$x", "\x1b[1;1;3;5;1;2;3$v", "\x1b[1\"q", "\x1b[?2J", "\x1b[9'}", "\x1b[?6h",
    "\x1b[?1049h", "\x1b[?1049l", "\x1b7", "\x1b8", "\x1b(0", "\x1b[38;2;1;2;3;4:3m", "\x1b[>5u",
    "\x1b[<99u", "\x1b]2;title\x1b\\", "\x1b[22;0t", "\x1b]8;;http://x/\x1b\\", "\x1b]4;1;?\x07",
    "\x1bP+q544e\x1b\\", "\x1bc", "\x1b[c", "\x1b[4h", "\x1b[4l", "\x1bP$q\u{2713}", "\x1bPtmux;",
    "\x1b*0\x1bN", "\x1b[r\x1b[99H",
];

/// What was found by random input, and by the laws of the screen: kept for ever.
const FOUND: [(&str, &[u8]); 5] = [
    (
        "a character with 0x9c in it ended a control string, whose question was then in the dump",
        b"\x1bP$q\xed\x95\x9c",
    ),
    ("the same, and what followed was printed", b"\x1bPtmux;\xe2\x9c\x93 printed\x1b\\after"),
    ("a single shift outlived text that was skipped", b"\x1b*0\x1bN\x1b[99H"),
    ("a character that was gone was repeated", b"\x1b[99Hq\r\n\x1b[3b"),
    ("a screenful of characters was inserted one by one", b"\x1b[?69h\x1b[2;79s\x1b[4h\x1b[Hx\x1b[65535b"),
];

#[test]
fn what_was_found_stays_found() {
    let flood = [b"a line of text\r\n".repeat(1000), b"\r\n".repeat(60), b"q".to_vec()].concat();
    for (what, bytes) in FOUND {
        for tail in [&b""[..], &flood] {
            let all = [bytes, tail].concat();
            let state = |step: usize| {
                let mut screen = Screen::new(80, 24);
                screen.set_history_limit(50);
                all.chunks(step).for_each(|part| screen.feed(part));
                screen
            };
            let (once, pieces) = (state(all.len()), state(7));
            assert!(once == pieces, "{what}: {once:?} {pieces:?}");
            let dump = once.dump();
            let mut other = Screen::new(80, 24);
            [&dump.history, &dump.screen, &dump.unfinished].into_iter().for_each(|part| other.feed(part));
            assert_eq!((other.lines(), other.take_queries().len()), (once.lines(), 0), "{what}");
        }
    }
}

#[test]
fn the_screen_model_and_its_dump() {
    fuzz("screen", |random| {
        let mut screen = Screen::new(1 + random.below(90) as u16, 1 + random.below(40) as u16);
        screen.set_history_limit(random.below(60));
        let soup = random.soup(&WRITTEN, 120);
        if random.below(8) == 0 {
            let line = random.soup(&WRITTEN[..10], 4);
            let flood = [line, b"\r\n".to_vec()].concat().repeat(random.below(400));
            let passed = screen.skip(&flood);
            screen.feed(&flood[passed..]);
        }
        for part in random.cut(&soup) {
            screen.feed(part);
            if random.below(30) == 0 {
                screen.resize(random.below(1200) as u16, random.below(200) as u16);
            }
        }
        let answers: usize = screen
            .take_queries()
            .iter()
            .map(|query| reply(query, &TerminalIdentity::new("fuzz")).len())
            .sum();
        assert!(answers < 1 << 20 && screen.history_len() <= 60);
        let _ = (screen.lines(), screen.undo(), screen.modes());
        let (cols, rows) = screen.size();
        let dump = screen.dump();
        let mut other = Screen::new(cols, rows);
        other.feed(&dump.screen);
        assert_eq!(other.lines(), screen.lines());
    });
}

#[test]
fn frames_and_requests() {
    let known = [
        r#"{"id":1,"do":"status"}"#,
        r#"{"id":3,"do":"attach","cols":120,"rows":40,"xpixel":0,"ypixel":0,"read_only":false,"term":"x","env":{},"redraw":true}"#,
        r#"{"id":2,"do":"wait","for":"idle","since":3,"timeout_ms":5}"#,
        r#"{"do":"hook","event":"Stop","payload":{"a":[1,2,{"b":null}]}}"#,
        "{\"id\":",
        "[[[[[[[[",
        "\"\\ud800\"",
        "-1e999",
        "}",
        ",",
    ];
    fuzz("frames", |random| {
        let mut bytes = Vec::new();
        for _ in 0..random.below(8) {
            match random.below(3) {
                0 => bytes.extend(random.bytes(40)),
                _ => {
                    let payload = random.bytes(300);
                    bytes.extend(Frame::new(random.next() as u8, &payload).encode());
                }
            }
        }
        let mut rest = &bytes[..];
        while let Ok(Some((frame, taken))) = Frame::decode(rest) {
            assert!(taken > 0 && taken <= rest.len() && frame.payload.len() <= MAX_PAYLOAD);
            rest = &rest[taken..];
        }
        let _ = parse_request(&random.soup(&known, 6));
    });
}

#[test]
fn the_keys_of_a_terminal() {
    let typed = [
        "a", "ä", "漢", "\x03", "\x1a", "\x1c", "\r", "\x1b", "\x1b[A", "\x1bOP", "\x1b[99;5u", "\x1b[92;5u",
        "\x1b[100;1:3u", "\x1b[27;5;99~", "\x1b[200~", "\x1b[201~", "\x1b[M   ", "\x1b[<0;3;3M", "\x1b[I",
        "\x1b]10;rgb:1/2/3\x1b\\", "\x1bP>|x\x1b\\", "\x1b_Gi=1;OK\x1b\\", "\x1b[?1;2c",
    ];
    fuzz("keys", |random| {
        let soup = random.soup(&typed, 60);
        let prefix = [None, Some(0x1c), Some(0x02)][random.below(3)];
        let label = |parts: &[&[u8]]| {
            let mut classifier = Classifier::with_prefix(prefix);
            let mut pieces = Vec::new();
            parts.iter().for_each(|part| classifier.feed(part, &mut pieces));
            classifier.flush(&mut pieces);
            let mut at = 0;
            for piece in &pieces {
                assert_eq!(piece.range.start, at);
                at = piece.range.end;
            }
            assert_eq!(at, soup.len() as u64);
            // Where one piece of text ends and the next begins is of no account.
            pieces.into_iter().flat_map(|piece| piece.range.map(move |_| piece.class)).collect::<Vec<_>>()
        };
        assert_eq!(label(&random.cut(&soup)), label(&[&soup]));
        assert_eq!(units(&soup).into_iter().flat_map(|unit| unit.bytes).collect::<Vec<u8>>(), soup);
        let _ = (order(&soup), is_release(&soup));
    });
}
