//! Bytes go through unchanged, both ways, whatever they are.

use super::{child, run, support, world};

const RAW: &str = "stty raw -echo; printf 'ready\\r\\n'; exec cat";

#[test]
fn all_256_values_go_both_ways_alone_and_in_bulk() {
    let world = world();
    let mut term = run(&world, RAW);
    term.wait_text("ready");
    let begin = term.bytes().len();
    let wait_len =
        |len: usize| support::wait_for("the echo", || (term.bytes().len() >= begin + len).then_some(()));
    let mut sent: Vec<u8> = Vec::new();
    for byte in 0..=255u8 {
        term.send([byte]);
        sent.push(byte);
        wait_len(sent.len());
    }
    assert_eq!(&term.bytes()[begin..], sent);
    let bulk: Vec<u8> =
        (0..400u32).flat_map(|n| (0..=255u8).map(move |b| b.wrapping_add(n.to_le_bytes()[0]))).collect();
    term.send(&bulk);
    sent.extend_from_slice(&bulk);
    wait_len(sent.len());
    assert!(term.bytes()[begin..] == sent);
    support::kill(child(&world), nix::libc::SIGTERM);
    assert_eq!(term.wait_exit(), 143);
    world.assert_nothing_left();
}

/// Both directions full: nobody blocks for ever, nothing is lost.
#[test]
fn a_megabyte_pasted_into_a_program_that_echoes_comes_back_whole() {
    let world = world();
    let mut term = run(&world, RAW);
    term.wait_text("ready");
    let begin = term.bytes().len();
    let paste: Vec<u8> = (0..1_000_000u32).map(|n| b'a' + u8::try_from(n % 26).unwrap()).collect();
    term.send(&paste);
    support::wait_for("the echo", || (term.bytes().len() >= begin + paste.len()).then_some(()));
    assert!(term.bytes()[begin..] == paste);
    support::kill(child(&world), nix::libc::SIGTERM);
    term.wait_exit();
    world.assert_nothing_left();
}

#[test]
fn sequences_cut_over_reads_and_broken_utf8_pass() {
    let world = world();
    let mut term = run(&world, RAW);
    term.wait_text("ready");
    let begin = term.bytes().len();
    let text = "\u{1b}[200~paste \u{1b}[201~\u{1b}OA\u{1b}[99;5u漢\u{1b}[<0;10;10M\u{1b}]11;rgb:0/0/0\u{7}"
        .as_bytes();
    let mut sent = Vec::new();
    for byte in text.iter().chain(b"\xff\xfe\xc3\x28\xe6\xbc") {
        term.send([*byte]);
        sent.push(*byte);
        support::wait_for("the echo", || (term.bytes().len() >= begin + sent.len()).then_some(()));
    }
    assert_eq!(&term.bytes()[begin..], sent);
    support::kill(child(&world), nix::libc::SIGTERM);
    term.wait_exit();
    world.assert_nothing_left();
}
