//! Questions of a program to its terminal: it gets the answer of the outer terminal, whole, and no other. The
//! answers here are such that no emulator of ours gives them.

use std::fmt::Write;

use hopty::core::terminal::Size;

use super::case::{Case, world};
use super::outer::Answers;

/// Questions and answers.
const TABLE: &[(&[u8], &[u8])] = &[
    // DA1, DA2, DA3, XTVERSION.
    (b"\x1b[c", b"\x1b[?65;1;4;6;9;15;22;4711c"),
    (b"\x1b[0c", b"\x1b[?64;4712c"),
    (b"\x1b[>c", b"\x1b[>77;31337;9c"),
    (b"\x1b[=c", b"\x1bP!|4F444421\x1b\\"),
    (b"\x1b[>q", b"\x1bP>|Outermost(9.9.9)\x1b\\"),
    (b"\x1b[>0q", b"\x1bP>|Outermost(0)\x07"),
    // DSR, DECXCPR, colour scheme.
    (b"\x1b[5n", b"\x1b[3n"),
    (b"\x1b[6n", b"\x1b[321;654R"),
    (b"\x1b[?6n", b"\x1b[?321;654;2R"),
    (b"\x1b[?996n", b"\x1b[?997;2n"),
    // DECRQM, DECRQSS, XTGETTCAP.
    (b"\x1b[?2026$p", b"\x1b[?2026;4$y"),
    (b"\x1b[?31337$p", b"\x1b[?31337;3$y"),
    (b"\x1b[4$p", b"\x1b[4;3$y"),
    (b"\x1bP$qm\x1b\\", b"\x1bP1$r0;95;105m\x1b\\"),
    (b"\x1bP$q q\x1b\\", b"\x1bP0$r\x1b\\"),
    (b"\x1bP+q544e;524742\x1b\\", b"\x1bP1+r544e=6f75746572;524742=38\x1b\\"),
    // Colours, by number and by name, with both ends.
    (b"\x1b]4;7;?\x07", b"\x1b]4;7;rgb:1234/5678/9abc\x07"),
    (b"\x1b]10;?\x1b\\", b"\x1b]10;rgb:fedc/ba98/7654\x1b\\"),
    (b"\x1b]11;?\x07", b"\x1b]11;rgba:0102/0304/0506/8000\x07"),
    (b"\x1b]12;?\x07", b"\x1b]12;rgb:0/f/0\x07"),
    (b"\x1b]21;foreground=?\x1b\\", b"\x1b]21;foreground=rgb:01/02/03\x1b\\"),
    (b"\x1b]52;c;?\x07", b"\x1b]52;c;b3V0ZXI=\x07"),
    // Keyboard, graphics, sizes.
    (b"\x1b[?u", b"\x1b[?21u"),
    (b"\x1b[?4m", b"\x1b[>4;2m"),
    (b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", b"\x1b_Gi=31;EWEIRD:outer\x1b\\"),
    (b"\x1b[?2;1;0S", b"\x1b[?2;0;4444;3333S"),
    (b"\x1b[14t", b"\x1b[4;1111;2222t"),
    (b"\x1b[16t", b"\x1b[6;33;22t"),
    (b"\x1b[18t", b"\x1b[8;12;34t"),
    (b"\x1b[21t", b"\x1b]loutermost\x1b\\"),
    (b"\x1b]1337;ReportCellSize\x07", b"\x1b]1337;ReportCellSize=33.0;22.0;2.0\x07"),
    // Sizes in band: said when it is turned on.
    (b"\x1b[?2048h", b"\x1b[48;24;80;999;888t"),
    // Answerback.
    (b"\x05", b"who?"),
    // A terminal that answers in eight bits.
    (b"\x1b[>7c", b"\x9b>7;7;7c"),
];

fn octal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut all, byte| {
        let _ = write!(all, "\\{byte:03o}");
        all
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut all, byte| {
        let _ = write!(all, " {byte:02x}");
        all
    })
}

#[test]
fn each_question_gets_the_answer_of_the_outer_terminal() {
    let world = world();
    let mut script = String::from("stty raw -echo;");
    for (question, answer) in TABLE {
        let _ = write!(
            script,
            "printf '{}'; dd bs=1 count={} 2>/dev/null | od -An -v -tx1 -w99;",
            octal(question),
            answer.len()
        );
    }
    let bare = Case::script(&world, &script).answers(Answers::Table(TABLE)).leaves_things_on().run(|_| ());
    let text = String::from_utf8_lossy(&bare.bytes).into_owned();
    for (question, answer) in TABLE {
        assert!(text.contains(&hex(answer)), "{}", String::from_utf8_lossy(question));
    }
}

#[test]
fn all_questions_at_once_get_all_answers_in_order() {
    let world = world();
    let questions: Vec<u8> = TABLE.iter().flat_map(|(question, _)| question.iter().copied()).collect();
    let answers: Vec<u8> = TABLE.iter().flat_map(|(_, answer)| answer.iter().copied()).collect();
    let script = format!(
        "stty raw -echo; printf '{}'; dd bs=1 count={} 2>/dev/null | od -An -v -tx1 -w9999",
        octal(&questions),
        answers.len()
    );
    let bare = Case::script(&world, &script).answers(Answers::Table(TABLE)).leaves_things_on().run(|_| ());
    assert!(String::from_utf8_lossy(&bare.bytes).contains(&hex(&answers)));
}

/// A terminal that does not answer is not answered for, and a program that is impatient gets nothing.
#[test]
fn a_silent_terminal_stays_silent() {
    let world = world();
    let questions: Vec<u8> = TABLE.iter().flat_map(|(question, _)| question.iter().copied()).collect();
    let script = format!(
        "stty raw -echo min 0 time 3; printf '{}'; dd bs=1 count=1 2>/dev/null | od -An -tx1; echo over",
        octal(&questions)
    );
    Case::script(&world, &script).answers(Answers::Table(&[])).leaves_things_on().run(|_| ());
}

/// Sizes that the terminal reports in band, as keys.
#[test]
fn sizes_in_band_reach_the_program() {
    let world = world();
    let report = b"\x1b[48;30;100;600;900t";
    let script = format!(
        "stty raw -echo; printf 'be''gun'; dd bs=1 count={} 2>/dev/null | od -An -v -tx1 -w99",
        report.len()
    );
    Case::script(&world, &script).answers(Answers::Table(&[])).leaves_things_on().run(|stage| {
        stage.outer.wait_received(5);
        stage.outer.resize(Size { cols: 100, rows: 30, xpixel: 900, ypixel: 600 });
        stage.send(report);
    });
}
