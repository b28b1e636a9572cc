//! Transcripts that are damaged, strange, or made to harm: what can be read is read, the rest is counted, and
//! memory is bounded.

use proptest::prelude::*;
use serde_json::json;

use super::line_splitter::LineSplitter;
use super::transcript_facts::TranscriptFacts;

const GOOD: &str = r#"{"parentUuid":null,"type":"user","message":{"role":"user","content":"the goal"}}"#;

/// Reads a whole file in pieces, as it is followed.
fn read(bytes: &[u8], piece: usize) -> TranscriptFacts {
    let (mut splitter, mut facts) = (LineSplitter::new(), TranscriptFacts::new());
    for piece in bytes.chunks(piece.max(1)) {
        splitter.feed(piece, |line| facts.feed(line));
    }
    facts
}

fn first_prompt(facts: &TranscriptFacts) -> Option<&str> {
    facts.prompts.iter().next().map(|prompt| prompt.text.as_str())
}

#[test]
fn whatever_stands_before_it_the_next_line_is_found() {
    let deep = format!("{{\"type\":\"user\",\"message\":{{\"content\":{}", "[".repeat(100_000));
    let torn = &GOOD[..GOOD.len() - 20];
    let cases: [(&str, Vec<u8>, u64); 14] = [
        ("nothing", Vec::new(), 0),
        ("empty lines", b"\n\n\r\n".to_vec(), 0),
        ("a byte-order mark", b"\xef\xbb\xbf".to_vec(), 0),
        ("NULs", vec![0; 70_000], 0),
        ("a line of NULs", [vec![0; 70_000], b"\n".to_vec()].concat(), 0),
        ("no JSON", b"hello\n".to_vec(), 1),
        ("a list", b"[1,2]\n".to_vec(), 1),
        ("no UTF-8", b"{\"type\":\"user\",\"message\":{\"content\":\xff\xfe\x80}}\n".to_vec(), 1),
        ("an unknown type", b"{\"type\":\"from-the-future\",\"x\":[{}]}\n".to_vec(), 0),
        ("no type", b"{\"type\":7}\n{}\n".to_vec(), 0),
        ("a torn record", [torn.as_bytes(), b"\n"].concat(), 1),
        ("a torn record without its newline", torn.as_bytes().to_vec(), 1),
        ("a torn one that says nothing", b"{\"type\":\"file-history-snapshot\",\"snap".to_vec(), 1),
        ("depth 100,000", [deep.as_bytes(), b"\n"].concat(), 1),
    ];
    for (name, before, bad) in cases {
        for end in ["\n", "\r\n", "\0\n"] {
            let facts = read(&[&before, GOOD.as_bytes(), end.as_bytes()].concat(), 4096);
            assert_eq!(first_prompt(&facts), Some("the goal"), "{name}");
            assert_eq!(facts.counts().1, bad, "{name}");
        }
    }
}

/// What no version of Claude writes, one a line: known fields of every wrong type, numbers that fit nowhere,
/// keys twice, half an emoji.
#[test]
fn a_field_that_is_not_as_it_should_be_takes_nothing_else_with_it() {
    let wrong = [
        "null", "true", "-1", "1.5", "1e400", "18446744073709551616", "\"x\"", "[]", "[[1]]", "{}",
        "{\"a\":{\"b\":[]}}",
    ];
    let lines = [
        r#"{"type":@}"#,
        r#"{"type":"user","message":@}"#,
        r#"{"type":"user","message":{"role":"user","content":@}}"#,
        r#"{"type":"user","isMeta":@,"isSidechain":@,"message":{"content":[@]}}"#,
        r#"{"type":"user","message":{"content":[{"type":@,"text":@}]}}"#,
        r#"{"type":"user","toolUseResult":@,"message":{"content":[{"type":"tool_result","tool_use_id":@,"is_error":@,"content":@}]}}"#,
        r#"{"type":"assistant","message":{"id":@,"model":@,"usage":@,"content":@}}"#,
        r#"{"type":"assistant","message":{"id":"m","model":"x","usage":{"input_tokens":@,"cache_read_input_tokens":@,"output_tokens":@},"content":[]}}"#,
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":@,"name":@,"input":@}]}}"#,
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"TodoWrite","input":{"todos":@}}]}}"#,
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":@}}]}}"#,
        r#"{"type":"system","subtype":@,"content":@,"level":@}"#,
        r#"{"type":"summary","summary":@,"leafUuid":@}"#,
        r#"{"type":"queue-operation","operation":@,"content":@}"#,
        r#"{"type":"attachment","attachment":@}"#,
        r#"{"parentUuid":@,"uuid":@,"sessionId":@,"cwd":@,"gitBranch":@,"timestamp":@,"version":@,"type":"user","message":{"content":""}}"#,
        r#"{"type":"file-history-snapshot","snapshot":@}"#,
    ];
    for line in lines {
        for value in wrong {
            let line = line.replace('@', value);
            let facts = read(format!("{line}\n{GOOD}\n").as_bytes(), 4096);
            assert_eq!(
                facts.exchanges.iter().next_back().map(|said| said.text.as_str()),
                Some("the goal"),
                "{line}"
            );
        }
    }
    let twice =
        r#"{"type":"user","type":"user","message":{"content":"a","content":"b"},"message":{"content":"c"}}"#;
    let deep = format!(
        "{{\"type\":\"user\",\"toolUseResult\":{}{}}}",
        "{\"a\":".repeat(100_000),
        "1".to_owned() + &"}".repeat(100_000)
    );
    for line in [twice, &deep, r#"{"type":"user","message":{"content":"\ud83d\ud83d x \udc00"}}"#] {
        for end in ["\n", "\r\n", ""] {
            let facts = read(format!("{line}{end}{GOOD}\n").as_bytes(), 4096);
            assert_eq!(
                facts.exchanges.iter().next_back().map(|said| said.text.as_str()),
                Some("the goal"),
                "{}",
                &line[..80.min(line.len())]
            );
        }
    }
}

#[test]
fn two_records_on_one_line_are_both_read() {
    let second = GOOD.replace("the goal", "more");
    let facts = read(format!("{GOOD}{second}\n").as_bytes(), 7);
    assert_eq!(
        facts.exchanges.iter().map(|exchange| exchange.text.as_str()).collect::<Vec<_>>(),
        ["the goal", "more"]
    );
    let irrelevant = r#"{"type":"mode","mode":"normal"}"#;
    assert_eq!(first_prompt(&read(format!("{irrelevant}{GOOD}\n").as_bytes(), 7)), Some("the goal"));
}

#[test]
fn a_line_of_a_gigabyte_is_skipped_in_constant_memory() {
    let (mut splitter, mut facts) = (LineSplitter::new(), TranscriptFacts::new());
    let piece = vec![b'x'; 1 << 20];
    let mut most = 0;
    for _ in 0..1024 {
        splitter.feed(&piece, |line| facts.feed(line));
        most = most.max(splitter.tail().len());
    }
    splitter.feed(format!("\n{GOOD}\n").as_bytes(), |line| facts.feed(line));
    assert!(most <= super::line_splitter::LINE_CAP, "{most}");
    assert_eq!((splitter.too_long(), first_prompt(&facts)), (1, Some("the goal")));
}

/// A flood of every kind of record: what is kept is bounded.
#[test]
fn a_flood_is_kept_in_bounds() {
    let mut facts = TranscriptFacts::new();
    for n in 0..20_000 {
        let id = n.to_string();
        let call = |id: &str, name: &str, input: serde_json::Value| {
            json!({"type": "assistant",
            "message": {"id": id, "model": "m", "content": [{"type": "tool_use", "id": id, "name": name,
            "input": input}]}})
        };
        let lines = match n % 5 {
            0 => vec![call(&id, "Bash", json!({"command": "make test", "run_in_background": true}))],
            1 => vec![
                call(&id, "Bash", json!({"command": "x"})),
                json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id,
                    "content": "x"}]},
                    "toolUseResult": {"backgroundTaskId": id}}),
            ],
            2 => vec![json!({"type": "queue-operation", "operation": "enqueue", "content": id})],
            3 => vec![
                call(&id, "Write", json!({"file_path": id})),
                json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id,
                    "content": "x"}]}}),
            ],
            _ => vec![
                call(&id, "Bash", json!({"command": "cargo test"})),
                json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id,
                    "content": "x", "is_error": true}]}}),
            ],
        };
        lines.iter().for_each(|line| facts.feed(line.to_string().as_bytes()));
    }
    assert!(
        facts.calls.open().len() <= 512
            && facts.background.running().len() <= 64
            && facts.checks.iter().count() <= 20
    );
    assert!(facts.queue.iter().count() <= 256 && facts.tool_log.errors().count() <= 20);
    assert!(facts.files.newest_first().len() <= 2000);
}

proptest! {
    #[test]
    fn a_good_line_after_any_garbage_is_found(garbage in prop::collection::vec(any::<u8>(), 0..400),
        piece in 1usize..500) {
        let bytes = [&garbage[..], b"\n", GOOD.as_bytes(), b"\n"].concat();
        prop_assert_eq!(read(&bytes, piece).exchanges.iter().next_back().map(|said| said.text.clone()),
            Some("the goal".to_owned()));
    }

    /// A record that was torn anywhere and glued to a good one, as a crash leaves it.
    #[test]
    fn a_good_record_after_any_torn_one_is_found(kind in 0usize..5, cut in 0usize..400) {
        let records = [
            r#"{"parentUuid":"a","isSidechain":false,"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"{\"type\":\"user\"} }{"}]}}"#,
            r#"{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{"a":{"version":1}}}}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":"x }{\" y"}"#,
            r#"{"type":"api-request","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","content":[]}]}]}"#,
            r#"{"parentUuid":null,"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"\ud83d"}]}]},"toolUseResult":{"stdout":"\\"}}"#,
        ];
        let record = records[kind];
        let torn = &record.as_bytes()[..cut.min(record.len())];
        let line = [torn, GOOD.as_bytes(), b"\n"].concat();
        let facts = read(&line, 64);
        prop_assert_eq!(first_prompt(&facts), Some("the goal"), "{}", String::from_utf8_lossy(&line));
    }
}
