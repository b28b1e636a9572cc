//! What waits for the screen model, and when it is fed.

use super::super::output_chunk::{CHUNK, FLOOD_CHUNK};
use super::*;

fn write(model: &mut ScreenModel, bytes: &[u8], now: Stamp) {
    let mut chunk = model.chunk();
    chunk.room()[..bytes.len()].copy_from_slice(bytes);
    chunk.took(bytes.len());
    assert_eq!(chunk.latest(bytes.len()), bytes);
    model.put(chunk, bytes.len(), now);
}

#[test]
fn who_looks_sees_everything() {
    let mut model = ScreenModel::new(Size::cells(10, 2));
    write(&mut model, b"ab", Stamp(5));
    write(&mut model, b"c\x1b[5n", Stamp(5));
    assert_eq!(model.look_so_far(|screen| screen.lines()[0].clone()).as_deref(), Some(""));
    assert_eq!(model.look(|screen| screen.lines()[0].clone()).as_deref(), Some("abc"));
    assert_eq!((model.waiting, model.due()), (0, None));
    assert_eq!(model.take_queries().map(|queries| queries.len()), Some(1));
}

#[test]
fn an_answer_is_heard_behind_its_question() {
    let mut model = ScreenModel::new(Size::cells(10, 2));
    write(&mut model, b"\x1b[?2004$p", Stamp(5));
    model.learn(b"\x1b[?2004;1$y");
    write(&mut model, b"\x1b[?2004l\x1b[?25", Stamp(5));
    assert_eq!(model.undo_so_far(), b"");
    assert_eq!(model.undo(), b"\x18\x1b[?2004h");
    assert_eq!(model.undo_so_far(), b"\x1b[?2004h");
}

#[test]
fn a_model_that_failed_knows_what_was_on() {
    let mut model = ScreenModel::new(Size::cells(10, 2));
    write(&mut model, b"\x1b[?2004h", Stamp(5));
    assert_eq!(model.look(|_| -> u8 { panic!("wanted") }), None);
    write(&mut model, b"\x1b[?1049h", Stamp(5));
    assert_eq!(
        (model.undo(), model.undo_so_far()),
        (b"\x18\x1b\\\x1b[?2004l".to_vec(), b"\x1b[?2004l".to_vec())
    );
    // Nothing else wakes the host, and the failure is reported once.
    assert_eq!((model.due(), model.take_failure()), (Some(Stamp(0)), true));
    assert_eq!((model.due(), model.take_failure()), (None, false));
}

#[test]
fn quiet_comes_first_but_not_for_ever() {
    let clock = Clock::start();
    let mut model = ScreenModel::new(Size::cells(10, 2));
    assert_eq!(model.due(), None);
    write(&mut model, b"a", Stamp(5));
    assert_eq!(model.due(), Some(Stamp(5 + OUTPUT_PAUSE_MS)));
    write(&mut model, b"b", Stamp(5 + OLD_MS - 1));
    assert_eq!(model.due(), Some(Stamp(5 + OLD_MS - 1 + OUTPUT_PAUSE_MS)));
    write(&mut model, b"c", Stamp(5 + OLD_MS));
    assert_eq!(model.due(), Some(Stamp(0)));
    model.feed_when_due(&clock);
    assert_eq!(model.look_so_far(|screen| screen.lines()[0].clone()).as_deref(), Some("abc"));
    assert_eq!(model.due(), None);
    write(&mut model, &[b'a'; BURST], Stamp(500));
    assert_eq!(model.due(), Some(Stamp(500 + PAUSE_MS)), "in a burst a pause is longer");
}

#[test]
fn steps_grow_slowly_and_shrink_at_once() {
    assert_eq!(next_step(STEP / 4, STEP / 4, 25, true), STEP / 2, "five times as much would fit");
    assert_eq!(next_step(STEP, STEP, 1, true), STEP, "never more");
    assert_eq!(next_step(STEP, STEP, 500, true), STEP / 4, "what is slow");
    assert_eq!(next_step(STEP, STEP, 100_000, true), STEP_MIN, "never less");
    assert_eq!(next_step(STEP_MIN, STEP_MIN, 1, true), 2 * STEP_MIN);
    assert_eq!(next_step(STEP, FLOOD_CHUNK, 200, false), STEP, "what was passed over");
    assert_eq!(next_step(STEP, 100, 2, false), STEP, "the end of a chunk");
    assert_eq!(next_step(STEP, 100, 5000, false), STEP_MIN, "a slow end of a chunk");
}

#[test]
fn much_work_in_few_bytes_keeps_no_reader_waiting() {
    let clock = Clock::start();
    // Sequences that fill, scroll or move the whole screen, and one character repeated.
    for bytes in
        ["\x1b#8", "\x1b[69;1;1;200;200$x", "x\x1b[65535b", "\x1b[?69h\x1b[1;99s\x1b[M", "\x1b[4hx\r"]
    {
        let mut model = ScreenModel::new(Size::cells(200, 200));
        let bytes = bytes.repeat(4096 / bytes.len());
        // A fast part before it makes the model take large steps.
        (0..40).for_each(|_| write(&mut model, b"plain text\r\n".repeat(100).as_slice(), Stamp(5)));
        model.look(|_| ());
        write(&mut model, b"\x1b[?2004h\x1b[H", Stamp(5));
        (0..256).for_each(|_| write(&mut model, bytes.as_bytes(), Stamp(5)));
        write(&mut model, b"\x1b[?1000h\x1b]2;half", Stamp(5));
        let mut longest = 0;
        for _ in 0..20 {
            let begun = clock.micros();
            model.look(|_| ());
            model.feed_when_due(&clock);
            longest = longest.max(clock.micros() - begun);
        }
        assert!(longest < 20 * LOOK_US, "{bytes:.10?}: {longest}");
        assert!(!model.lags() || model.backlog().ends_with(b"half"));
        // A terminal that shows the backlog loses every mode of it.
        let undo = String::from_utf8(model.undo()).unwrap();
        let modes = ["\x1b[?1000l", "\x1b[?2004l"];
        assert!(undo.starts_with("\x18\x1b\\") && modes.iter().all(|mode| undo.contains(mode)), "{undo:?}");
        assert!(!model.lags() || model.room() < WAITING_MAX, "less may wait");
    }
}

#[test]
fn a_flood_is_passed_over() {
    let mut model = ScreenModel::new(Size::cells(20, 4));
    model.change(|screen| screen.set_history_limit(10));
    write(&mut model, b"\n\n\n\n", Stamp(5));
    model.look(|_| ());
    write(&mut model, &b"a line of text\r\n".repeat(2000), Stamp(5));
    assert_eq!(model.step(), Some(FedBytes { length: 16 * 1986, is_whole_step: false }));
    assert_eq!(
        model.look(|screen| (screen.history_len(), screen.lines()[2].clone())),
        Some((10, "a line of text".to_owned()))
    );
}

#[test]
fn too_much_is_fed_at_once_in_slices() {
    let clock = Clock::start();
    let mut model = ScreenModel::new(Size::cells(10, 2));
    let mut written = 0;
    while model.due() != Some(Stamp(0)) {
        write(&mut model, &[b'x'; 4096], Stamp(5));
        written += 4096;
    }
    assert!((WAITING_MAX..WAITING_MAX + 8192).contains(&written));
    model.feed_when_due(&clock);
    assert!(model.waiting < written && model.waiting > 0, "a slice, not all");
    let room: usize = model.chunks.iter().map(OutputChunk::size).sum();
    assert!(room <= model.waiting + 2 * FLOOD_CHUNK, "chunks are filled");
    assert!(!model.take_relief(Stamp(5 + KEPT_MS)), "more waits");
    while model.lags() {
        model.look(|_| ());
    }
    assert!(model.chunks.is_empty());
    // The next flood reuses the same memory.
    let kept: usize = model.spares.iter().map(OutputChunk::size).sum();
    for _ in 0..written / 4096 {
        write(&mut model, &[b'x'; 4096], Stamp(7));
    }
    while model.lags() {
        model.look(|_| ());
    }
    assert_eq!(model.spares.iter().map(OutputChunk::size).sum::<usize>(), kept);
    // It is freed after a while.
    assert_eq!(model.due(), Some(Stamp(7 + KEPT_MS)));
    assert!(!model.take_relief(Stamp(6 + KEPT_MS)) && model.take_relief(Stamp(7 + KEPT_MS)));
    assert!(model.spares.is_empty());
    assert_eq!((model.due(), model.take_relief(Stamp(7 + KEPT_MS))), (None, false));
}

#[test]
fn little_is_read_into_the_same_memory_again() {
    let mut model = ScreenModel::new(Size::cells(10, 2));
    for rounds in [1, 40] {
        for _ in 0..rounds {
            write(&mut model, &[b'x'; 4096], Stamp(5));
        }
        model.look(|_| ());
        assert_eq!(
            model.spares.iter().map(|chunk| (chunk.size(), chunk.filled)).collect::<Vec<_>>(),
            [(CHUNK, 0)]
        );
    }
    write(&mut model, b"ab", Stamp(5));
    assert!(model.spares.is_empty());
}
