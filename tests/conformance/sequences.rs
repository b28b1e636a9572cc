//! What a program can ask of a terminal, written to it: every sequence passes as it is.

use super::case::{Case, world};
use super::outer::Answers;
use super::support::world::World;

/// Sequences by kind. What an emulator cannot show is compared by its bytes.
const SEQUENCES: &[(&str, &[&str])] = &[
    (
        "styles",
        &[
            "\x1b[1;2;3;4;5;7;8;9;21;53mall\x1b[m",
            "\x1b[4:3;58:2::1:2:3mcurly\x1b[59;24m",
            "\x1b[38;5;123;48;2;1;2;3mcolours\x1b[39;49m",
            "\x1b[38:2::9:8:7mcolons\x1b[0m\r\n",
        ],
    ),
    (
        "movement",
        &[
            "\x1b[5;10Hhere\x1b[2Dx\x1b[K\x1b[1J",
            "\x1b[3;7r\x1b[?6h\x1b[H\x1b[5Tscrolled\x1b[2S\x1b[?6l\x1b[r",
            "\x1b[2L\x1b[1M\x1b[3P\x1b[4@\x1b[5X\x1b7\x1b[9;9H\x1b8\x1b[s\x1b[u\x1bM\x1bD\x1bE",
            "\x1bH\x1b[3g\t\x1b[2I\x1b[Z\x1b[5b",
        ],
    ),
    ("charsets", &["\x1b(0lqqk\x1b(B\x1b)0\x0elqk\x0f\x1b*A\x1bn\x1bo\x1b%G\x1b%@\x1b#8\x1b[2J"]),
    (
        "titles",
        &["\x1b]0;both\x07\x1b]1;icon\x1b\\\x1b]2;window \
             \u{6f22}\x1b\\\x1b[22;0t\x1b[22;2t\x1b]2;other\x07\x1b[23;0t\x1bkscreen's\x1b\\"],
    ),
    (
        "hyperlinks",
        &[
            "\x1b]8;id=a;https://example.org/?q=1;2\x1b\\link\x1b]8;;\x1b\\ \x1b]8;;file:///etc\x07x\x1b]8;;\x07",
        ],
    ),
    (
        "images",
        &[
            "\x1bPq\"1;1;6;6#0;2;100;0;0#0~~~~~~-\x1b\\",
            "\x1bP0;1;8q!255~$-#1!10?\x1b\\",
            "\x1b_Ga=T,f=24,s=1,v=1,i=31,m=1;/wAA\x1b\\\x1b_Gm=0;AAAA\x1b\\\x1b_Ga=d\x1b\\",
            "\x1b]1337;File=name=eA==;size=3;inline=1;width=4;height=2:AAAA\x07\x1b]1337;SetMark\x07",
        ],
    ),
    (
        "notifications and progress",
        &[
            "\x07\x1b]9;done\x07\x1b]777;notify;title;body\x1b\\\x1b]99;i=1:d=0:p=title;hello\x1b\\\x1b]9;4;1;50\x07\x1b]9;4;0\x1b\\\x1b]9;9;/dir\x07",
        ],
    ),
    ("the clipboard", &["\x1b]52;c;aGVsbG8=\x07\x1b]52;p;d29ybGQ=\x1b\\\x1b]52;c;!\x07"]),
    (
        "marks of a shell",
        &[
            "\x1b]133;A\x07$ \x1b]133;B\x07\x1b]133;C\x07\x1b]133;D;0\x07\x1b]7;file://host/dir\x1b\\\x1b]1337;CurrentDir=/\x07\x1b]633;A\x07",
        ],
    ),
    (
        "colours",
        &[
            "\x1b]4;1;rgb:11/22/33\x07\x1b]10;#123456\x07\x1b]11;#000000\x1b\\\x1b]12;red\x07\x1b]104\x07\x1b]110\x07\x1b]111\x07\x1b]112\x07\x1b]22;pointer\x07\x1b]21;cursor=red\x07",
        ],
    ),
    (
        "the keyboard",
        &["\x1b[>1u\x1b[>31u\x1b[<u\x1b[=5;2u\x1b[>4;2m\x1b[>4;1f\x1b[>4n\x1b[?1h\x1b=\x1b[>1u"],
    ),
    ("the cursor", &["\x1b[6 q\x1b[?25l\x1b[?12h\x1b[3 q"]),
    ("a frame at once", &["\x1b[?2026hframe\x1b[2;2Hmore\x1b[?2026l\x1bP=1s\x1b\\old\x1bP=2s\x1b\\"]),
    (
        "nonsense",
        &["\x1b[9999999999;;;;;;;999z\x1b[?\x18\x1b]unknown;\x1a\x1bP1;2;3zdata\x1b\\\x1bX sos \
             \x1b\\\x1b^pm\x1b\\\x1b_apc\x1b\\\x1b[\x1b[\x1b[m\u{9b}31mC1\u{85}\x7f\x00"],
    ),
    ("strings that are never ended", &["\x1b]0;open\x1b[m", "\x1bPqopen\x18text", "\x1b_Gopen"]),
];

fn write(world: &World) {
    for (n, (_, kind)) in SEQUENCES.iter().enumerate() {
        std::fs::write(world.project.join(n.to_string()), kind.concat()).unwrap();
    }
}

#[test]
fn every_kind_passes_as_it_is() {
    let world = world();
    let script = format!(
        "stty raw -echo; for n in $(seq 0 {}); do cat $n; head -c 1 >/dev/null; done",
        SEQUENCES.len() - 1
    );
    // Answers would be read as the word to go on.
    Case::script(&world, &script).prepare(&write).answers(Answers::Table(&[])).leaves_things_on().run(
        |stage| {
            let mut length = 0;
            for (name, kind) in SEQUENCES {
                length += kind.concat().len();
                stage.outer.wait_received(length);
                stage.look(name);
                stage.send(".");
            }
        },
    );
}

/// Byte by byte, so that every sequence is cut at every place.
#[test]
fn in_pieces_of_one_byte() {
    let world = world();
    let script = format!("stty raw -echo; cat $(seq 0 {}) | dd bs=1 2>/dev/null", SEQUENCES.len() - 1);
    Case::script(&world, &script).prepare(&write).answers(Answers::Table(&[])).leaves_things_on().run(|_| ());
}

#[test]
fn every_mode_on_and_off() {
    let world = world();
    for end in ['h', 'l'] {
        // The emulator knows one of the three alternate screens, and has alternate scrolling (1007) and
        // urgency (1042) on from the beginning, as some terminals have and others have not: with these, what
        // is on at the end is compared with another terminal.
        let script = format!(
            "stty raw -echo; for n in $(seq 1 46) $(seq 48 1006) $(seq 1008 1041) $(seq 1043 1046) $(seq \
             1048 2100) 5522 7727 9001 737769; do printf '\\033[?%d{end}\\033[%d{end}' $n $n; done"
        );
        Case::script(&world, &script).answers(Answers::Table(&[])).leaves_things_on().run(|_| ());
    }
}

/// What is on while the program runs, by the emulator.
#[test]
fn modes_that_are_on_are_on() {
    let world = world();
    let modes = ["1", "7", "12", "25", "66", "1000", "1002", "1003", "1004", "1005", "1006", "1049", "2004"];
    let list = modes.join(" ");
    for end in ['h', 'l'] {
        let script = format!(
            "stty raw -echo; for n in {list}; do printf '\\033[?%d{end}' $n; head -c 1 >/dev/null; done"
        );
        Case::script(&world, &script).leaves_things_on().handed().run(|stage| {
            let mut length = 0;
            for mode in modes {
                length += mode.len() + 4;
                stage.outer.wait_received(length);
                stage.look(mode);
                stage.send(".");
            }
        });
    }
}
