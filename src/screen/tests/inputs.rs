//! Random input for the laws: realistic sequences with random parameters, random bytes, random sizes.

use proptest::collection::vec;
use proptest::prelude::*;

fn parameter() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0u32..12).prop_map(|n| n.to_string()),
        2 => Just(String::new()),
        1 => (0u32..300).prop_map(|n| n.to_string()),
        1 => Just("65535".to_owned()),
        1 => Just("99999999999".to_owned()),
        1 => Just("38;5;9".to_owned()),
        1 => Just("4:3".to_owned()),
    ]
}

fn control_sequence() -> impl Strategy<Value = Vec<u8>> {
    let marker = prop_oneof![6 => Just(""), 1 => Just("?"), 1 => Just(">"), 1 => Just("<"), 1 => Just("=")];
    let between = prop_oneof![12 => Just(""), 1 => Just(" "), 1 => Just("!"), 2 => Just("$"), 1 => Just("*")];
    (marker, vec(parameter(), 0..7), between, 0x40u8..0x7f).prop_map(|(marker, params, between, last)| {
        format!("\x1b[{marker}{}{between}{}", params.join(";"), last as char).into_bytes()
    })
}

fn mode() -> impl Strategy<Value = Vec<u8>> {
    let number = prop::sample::select(vec![
        1, 2, 3, 5, 6, 7, 8, 9, 12, 25, 40, 42, 45, 47, 66, 67, 69, 80, 1000, 1001, 1002, 1003, 1004, 1005,
        1006, 1007, 1015, 1016, 1045, 1047, 1048, 1049, 2004, 2026, 2027, 2031, 2048, 5522, 8452, 9001,
    ]);
    prop_oneof![
        5 => (number, prop::sample::select(vec!['h', 'h', 'l', 'l', 's', 'r']))
            .prop_map(|(number, what)| format!("\x1b[?{number}{what}").into_bytes()),
        1 => prop::sample::select(vec!["\x1b[2h", "\x1b[12l", "\x1b[4h", "\x1b[4l", "\x1b[20h", "\x1b[20l",
            "\x1b=", "\x1b>"])
            .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

fn escape() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        "\x1b7", "\x1b8", "\x1bD", "\x1bE", "\x1bH", "\x1bM", "\x1bc", "\x1b[?69h\x1b[2;5s\x1b6\x1b9",
        "\x1b#8", "\x1b(0", "\x1b(B", "\x1b)0", "\x0e", "\x0f", "\r\n", "\n", "\r", "\t", "\x08", "\x1b[>5u",
        "\x1b[<u", "\x1b[=3;2u", "\x1b[>4;2m", "\x1b[>4m", "\x1b[5 q", "\x1b[2;3r", "\x1b[r", "\x1b[22;0t",
        "\x1b[23;0t", "\x1b[22;2t", "\x1b[23;1t", "\x1b[2;1H", "\x1b]0;✳ title\x07", "\x1b]2;t\x1b\\",
        "\x1b]1;i\x07", "\x1b]0;\x07", "\x1b]8;;u\x1b\\", "\x1b]8;id=a;u;v\x07", "\x1b]8;;\x07",
        "\x1b]7;file://host/dir\x07", "\x1b]11;?\x07", "\x1bP$qm\x1b\\", "\x1b_Gx\x1b\\",
        "\x1b[38:2::1:2:3m", "\x1b[41m", "\x1b[7m", "\x1b[m", "\x1b[!p", "\x1b*0\x1bn", "\x1b*0\x1bN",
        "\x1b+A\x1bO", "\x1b/A", "\x1b[3g", "\x1b[?5W", "\x1b[>f", "\x1b[>2n", "\x1b[#P", "\x1b[#Q",
        "\x1b[#{", "\x1b[1;30#{", "\x1b[#}", "\x1b]4;1;red;2;red\x07", "\x1b]104;1\x07", "\x1b]11;red\x07",
        "\x1b]21;cursor=red\x07", "\x1b]22;>wait\x07", "\x1b]22;<\x07", "\x1b]22;text\x07",
        "\x1b]9;4;1;5\x07", "\x1b[1\"q", "\x1bV", "\x1bW\x1b[2*x", "\x1b G", "\x1b%@", "\x1b[?u", "\x1b[?4m",
        "\x1b[?2004$p", "\x1bP$q q\x1b\\",
    ])
    .prop_map(|text| text.as_bytes().to_vec())
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => "[ -~]{0,12}",
        2 => prop::sample::select(vec!["漢字", "é", "e\u{301}", "👩\u{200d}💻", "❤\u{fe0f}", "─│", "한",
            "\u{200b}"])
            .prop_map(str::to_owned),
    ]
    .prop_map(String::into_bytes)
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => text(),
        5 => control_sequence(),
        4 => mode(),
        4 => escape(),
        2 => vec(any::<u8>(), 0..6),
        1 => torn(),
        1 => (escape(), 0usize..8).prop_map(|(bytes, length)| bytes[..length.min(bytes.len())].to_vec()),
    ]
}

/// A character in a title, with a control or another byte in its middle.
fn torn() -> impl Strategy<Value = Vec<u8>> {
    let middle = prop_oneof![3 => 0u8..0x20, 1 => any::<u8>()];
    (middle, 1usize..3).prop_map(|(middle, at)| {
        let mut bytes = "\x1b]0;a✳b\x07".as_bytes().to_vec();
        bytes.insert(5 + at, middle);
        bytes
    })
}

pub fn input() -> impl Strategy<Value = Vec<u8>> {
    vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

pub fn size() -> impl Strategy<Value = (u16, u16)> {
    prop_oneof![4 => (1u16..12, 1u16..8), 1 => (1u16..3, 1u16..3), 1 => (0u16..200, 0u16..60)]
}

/// Many lines, most of which leave the screen, some with content that must not be skipped.
pub fn flood() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        10 => "[ -~]{0,30}".prop_map(String::into_bytes),
        3 => vec(text(), 0..4).prop_map(|pieces| pieces.concat()),
        1 => Just(b"a\tb".to_vec()),
    ];
    let end = prop_oneof![20 => Just("\r\n"), 2 => Just("\n"), 1 => Just("\r")]
        .prop_map(|end| end.as_bytes().to_vec());
    let line = (line, end).prop_map(|(line, end)| [line, end].concat());
    let shift = prop::sample::select(vec![b"\x1b*0\x1bN".to_vec(), b"\x1b+A\x1bO".to_vec()]);
    let rare = prop_oneof![3 => piece(), 1 => Just(vec![0xe2, 0x82]), 1 => Just(vec![0x9b]), 1 => shift];
    let part = prop_oneof![1 => vec(line.clone(), 60..300).prop_map(|lines| lines.concat()), 1 => rare];
    let empty = (0..60_usize).prop_map(|lines| b"\r\n".repeat(lines));
    let last = prop_oneof![2 => vec(line, 0..12).prop_map(|lines| lines.concat()), 1 => empty];
    (vec(part, 1..6), last).prop_map(|(parts, last)| [parts.concat(), last].concat())
}
