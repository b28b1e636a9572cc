use super::*;
use proptest::prelude::*;

fn pieces(input: &[u8]) -> Vec<InputPiece> {
    let mut out = Vec::new();
    Classifier::new().feed(input, &mut out);
    out
}

/// The classes of the pieces, after checking that they cover the input.
fn classes(input: &[u8]) -> Vec<InputClass> {
    let pieces = pieces(input);
    let mut end = 0;
    for piece in &pieces {
        assert_eq!(piece.range.start, end);
        end = piece.range.end;
    }
    assert_eq!(end, input.len() as u64, "{:?} is not complete", String::from_utf8_lossy(input));
    pieces.into_iter().map(|piece| piece.class).collect()
}

#[test]
fn every_form_of_ctrl_c() {
    for form in [
        "\x03", "\x1b[99;5u", "\x1b[99:67;5u", "\x1b[99::99;5u", "\x1b[1089::99;5u", "\x1b[1089:1057:99;5u",
        "\x1b[99;69u", "\x1b[99;133u", "\x1b[99;197u", "\x1b[99;5:1u", "\x1b[99;5:2u", "\x1b[99;5;3u",
        "\x1b[99;5:1;99u", "\x1b[27;5;99~", "\x1b[27;69;99~", "\x1b[099;05u",
    ] {
        assert_eq!(classes(form.as_bytes()), [InputClass::Interrupt], "{form:?}");
    }
}

#[test]
fn sequences_that_only_look_like_ctrl_c() {
    for form in [
        "\x1b[99;5:3u", "\x1b[99u", "\x1b[99;1u", "\x1b[99;6u", "\x1b[99;7u", "\x1b[99;13u", "\x1b[100;5u",
        "\x1b[1:99;5u", "\x1b[27;6;99~", "\x1b[27;5;100~", "\x1b[27;5~", "\x1b[99;5~", "\x1b[5;99u", "c",
        "\x1b[27;5;99;1~", "\x1b[4294967395;5u", "\x1b[;5u",
    ] {
        assert_eq!(classes(form.as_bytes()), [InputClass::Typed], "{form:?}");
    }
    assert_eq!(classes(b"\x1b[?99;5u"), [InputClass::Report], "an answer, not a key");
}

#[test]
fn submit_and_suspend() {
    for form in ["\r", "\x1b[13u", "\x1b[13;1u", "\x1b[13;1:2u", "\x1b[13;65u", "\x1b[57414u"] {
        assert_eq!(classes(form.as_bytes()), [InputClass::Submit], "{form:?}");
    }
    for form in ["\n", "\x1b\r", "\x1b[13;2u", "\x1b[13;1:3u", "\x1b[13;5u", "\x1b[27;2;13~"] {
        assert_eq!(classes(form.as_bytes()), [InputClass::Typed], "{form:?}");
    }
    for form in ["\x1a", "\x1b[122;5u", "\x1b[1103::122;5u", "\x1b[27;5;122~"] {
        assert_eq!(classes(form.as_bytes()), [InputClass::Suspend], "{form:?}");
    }
    assert_eq!(
        classes(b"\r\r\x03\x03"),
        [InputClass::Submit, InputClass::Submit, InputClass::Interrupt, InputClass::Interrupt],
        "keys are not joined"
    );
}

#[test]
fn nothing_is_recognised_inside_a_paste() {
    let paste = b"\x1b[200~a\x03\r\x1a\x1b[99;5u\x1b[200~\x1b[201\x1b[20\x1b\x1b[I\x1b[201~";
    assert_eq!(classes(paste), [InputClass::Paste]);
    let after: Vec<u8> = [paste.as_slice(), b"\x03x"].concat();
    assert_eq!(classes(&after), [InputClass::Paste, InputClass::Interrupt, InputClass::Typed]);
    assert_eq!(classes(b"\x1b[201~"), [InputClass::Typed]);
}

#[test]
fn reports_of_a_terminal_are_not_typing() {
    for form in [
        "\x1b[I",
        "\x1b[O",
        "\x1b[<0;10;20M",
        "\x1b[<0;10;20m",
        "\x1b[<35;1;1M",
        "\x1b[M !!",
        "\x1b[M\u{20}\u{7f}!",
        "\x1b[32;10;20M",
        "\x1b[?62;22c",
        "\x1b[>41;354;0c",
        "\x1b[0n",
        "\x1b[24;80R",
        "\x1b[1;80R",
        "\x1b[?24;80;1R",
        "\x1b[?2026;2$y",
        "\x1b[4;1$y",
        "\x1b[?1u",
        "\x1b[48;24;80;480;800t",
        "\x1b[8;24;80t",
        "\x1b[?997;1n",
        "\x1b]11;rgb:0000/0000/0000\x1b\\",
        "\x1b]11;rgb:1/2/3\x07",
        "\x1b]4;1;rgb:1/2/3\x07",
        "\x1b]52;c;aGk=\x07",
        "\x1bP>|kitty(0.40)\x1b\\",
        "\x1bP1$r0m\x1b\\",
        "\x1bP1+r544e=787465726d\x1b\\",
        "\x1bP!|00000000\x1b\\",
        "\x1b_Gi=31;OK\x1b\\",
    ] {
        assert_eq!(classes(form.as_bytes()), [InputClass::Report], "{form:?}");
    }
}

#[test]
fn keys_of_a_person() {
    for form in [
        "abc", "héllo 日本", "\x1b[A", "\x1b[1;5C", "\x1bOP", "\x1bOA", "\x1b[3~", "\x1b[15;2~", "\x1b[1;2R",
        "\x1bb", "\x1b\x7f", "\t", "\x7f", "\x1b[97;3u", "\x1b[27u", "\x1b[[A", "\x1b[H", "\x1b]x", "\x1bPq",
        "\x1b_x", "\x1b[57441;2u", "\u{9b}99;5u", "\0", "\x1c",
    ] {
        assert_eq!(classes(form.as_bytes()), [InputClass::Typed], "{form:?}");
    }
}

#[test]
fn ctrl_c_gets_out_of_everything_but_a_paste() {
    for begun in [
        "\x1b", "\x1b[", "\x1b[99;", "\x1bO", "\x1b]", "\x1b]11;rgb", "\x1bP1", "\x1b[M", "\x1b[M!",
        "\x1b_Ga", "\x1b]11;\x1b",
    ] {
        let input = [begun.as_bytes(), b"\x03"].concat();
        assert_eq!(classes(&input).last(), Some(&InputClass::Interrupt), "{begun:?}");
    }
}

#[test]
fn a_lone_escape_is_labelled_by_flush() {
    let mut classifier = Classifier::new();
    let mut out = Vec::new();
    classifier.feed(b"a\x1b", &mut out);
    assert_eq!(classifier.pending(), 1);
    classifier.flush(&mut out);
    assert_eq!(out, [InputPiece { class: InputClass::Typed, range: 0..2 }]);
    assert_eq!(classifier.pending(), 0);
    out.clear();
    classifier.feed(b"]11;typed\r", &mut out);
    assert_eq!(
        out,
        [
            InputPiece { class: InputClass::Typed, range: 2..11 },
            InputPiece { class: InputClass::Submit, range: 11..12 }
        ]
    );
}

#[test]
fn a_key_cut_by_a_slow_line_still_counts_after_flush() {
    let mut classifier = Classifier::new();
    let mut out = Vec::new();
    classifier.feed(b"\x1b[99;", &mut out);
    classifier.flush(&mut out);
    classifier.feed(b"5u", &mut out);
    assert_eq!(
        out,
        [
            InputPiece { class: InputClass::Typed, range: 0..5 },
            InputPiece { class: InputClass::Interrupt, range: 5..7 }
        ]
    );
}

#[test]
fn a_paste_continues_after_flush() {
    let mut classifier = Classifier::new();
    let mut out = Vec::new();
    classifier.feed(b"\x1b[200~a", &mut out);
    classifier.flush(&mut out);
    classifier.feed(b"\x03\x1b[201~\x03", &mut out);
    assert_eq!(
        out.iter().map(|piece| piece.class).collect::<Vec<_>>(),
        [InputClass::Paste, InputClass::Interrupt]
    );
}

#[test]
fn sequences_without_end_are_bounded() {
    let long = [b"\x1b[".as_slice(), &[b'1'; 10_000]].concat();
    let mut classifier = Classifier::new();
    let mut out = Vec::new();
    classifier.feed(&long, &mut out);
    assert_eq!((classifier.pending(), classifier.csi.len()), (0, MAX_CSI));
    let string = [b"\x1b]52;".as_slice(), &vec![b'a'; 1 << 21]].concat();
    assert_eq!(classes(&string), [InputClass::Report, InputClass::Typed]);
}

#[test]
fn all_256_byte_values_alone() {
    for byte in 0..=255_u8 {
        let expected = match byte {
            0x03 => InputClass::Interrupt,
            0x0d => InputClass::Submit,
            0x1a => InputClass::Suspend,
            0x1b => continue,
            _ => InputClass::Typed,
        };
        assert_eq!(classes(&[byte]), [expected], "{byte}");
    }
}

#[test]
fn shift_tab_in_every_form() {
    for form in ["\x1b[Z", "\x1b[1;2Z", "\x1b[9;2u", "\x1b[9;2:1u", "\x1b[9;66u", "\x1b[27;2;9~"] {
        assert_eq!(classes(form.as_bytes()), [InputClass::Mode], "{form:?}");
    }
    for form in ["\t", "\x1b[9u", "\x1b[9;5u", "\x1b[9;2:3u", "\x1b[1;5Z", "\x1b[27;5;9~"] {
        assert_eq!(classes(form.as_bytes()), [InputClass::Typed], "{form:?}");
    }
    assert_eq!(
        classes(b"a\x1b[Z\x1b[Zb"),
        [InputClass::Typed, InputClass::Mode, InputClass::Mode, InputClass::Typed],
        "keys are not joined"
    );
}

fn input() -> impl Strategy<Value = Vec<u8>> {
    let forms: Vec<&'static [u8]> = vec![
        b"\x03",
        b"\x1b[99;5u",
        b"\x1b[27;5;99~",
        b"\x1b[200~",
        b"\x1b[201~",
        b"\x1b",
        b"\x1b[",
        b"\x1b]11;",
        b"\x07",
        b"\x1b\\",
        b"\x1bP>|",
        b"\x1b[M",
        b"\x1b[<0;1;1M",
        b"\x1b[A",
        b"\x1bO",
        b"\r",
        b"\\\r",
        b"abc",
        "é日".as_bytes(),
        b"\x1a",
        b"\x1b[I",
        b"\x1b[?1u",
        b"5u",
        b"\x1b[13u",
        b"!!!",
    ];
    let part = prop_oneof![
        3 => prop::sample::select(forms).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 1..6),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// One label per byte; the first byte of a key is marked, so that joined keys would show.
fn labels(pieces: &[InputPiece]) -> Vec<(InputClass, bool)> {
    let each = |piece: &InputPiece| {
        let class = piece.class;
        let first = piece.range.start;
        piece.range.clone().map(move |at| (class, class.is_key() && at == first)).collect::<Vec<_>>()
    };
    pieces.iter().flat_map(each).collect()
}

proptest! {
    #[test]
    fn labels_do_not_depend_on_the_cuts(input in input(), cuts in prop::collection::vec(1_usize..9, 0..80)) {
        let whole = pieces(&input);
        let mut classifier = Classifier::new();
        let mut cut = Vec::new();
        let mut rest = input.as_slice();
        for size in cuts {
            let (now, later) = rest.split_at(size.min(rest.len()));
            classifier.feed(now, &mut cut);
            rest = later;
        }
        classifier.feed(rest, &mut cut);
        prop_assert_eq!(labels(&cut), labels(&whole));
    }

    #[test]
    fn runs_are_labelled_as_byte_by_byte(input in input()) {
        let mut long = Vec::new();
        Classifier::new().tokens(&input, &mut |piece| join(&mut long, piece));
        prop_assert_eq!(pieces(&input), long);
    }

    #[test]
    fn every_byte_is_covered_once_in_order(input in input(), flush_at in 0_usize..60) {
        let mut classifier = Classifier::new();
        let mut out = Vec::new();
        let (head, tail) = input.split_at(flush_at.min(input.len()));
        classifier.feed(head, &mut out);
        classifier.flush(&mut out);
        classifier.feed(tail, &mut out);
        classifier.flush(&mut out);
        let mut end = 0;
        for piece in &out {
            prop_assert_eq!(piece.range.start, end);
            prop_assert!(piece.range.end > end);
            end = piece.range.end;
        }
        prop_assert_eq!(end, input.len() as u64);
    }
}

#[test]
fn the_prefix_key_in_every_form_and_nowhere_else() {
    let classes = |prefix, input: &[u8]| -> Vec<InputClass> {
        let mut out = Vec::new();
        Classifier::with_prefix(prefix).feed(input, &mut out);
        out.into_iter().map(|piece| piece.class).collect()
    };
    for form in ["\x1c", "\x1b[92;5u", "\x1b[92:124;5u", "\x1b[27;5;92~", "\x1b[92;69:2u"] {
        assert_eq!(classes(Some(0x1c), form.as_bytes()), [InputClass::Prefix], "{form:?}");
        assert_eq!(classes(None, form.as_bytes()), [InputClass::Typed], "{form:?}");
        assert_eq!(classes(Some(2), form.as_bytes()), [InputClass::Typed], "{form:?}");
    }
    assert_eq!(classes(Some(2), b"\x02"), [InputClass::Prefix]);
    assert_eq!(classes(Some(2), b"\x1b[98;5u"), [InputClass::Prefix]);
    assert_eq!(
        classes(Some(0x1c), b"a\x1cb\x1c\x1c"),
        [InputClass::Typed, InputClass::Prefix, InputClass::Typed, InputClass::Prefix, InputClass::Prefix]
    );
    assert_eq!(classes(Some(0x1c), b"\x1b[200~\x1c\x1b[201~"), [InputClass::Paste]);
    assert_eq!(classes(Some(0x1c), b"\x1b[92;5:3u\x1b\x1c"), [InputClass::Typed]);
}
