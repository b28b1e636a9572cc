//! Every byte value, both ways, alone and in bulk, through a raw terminal and through one that edits lines.

use super::case::{Case, Stage, world};
use super::outer::Answers;
use super::support::world::World;

const SILENT: Answers = Answers::Table(&[]);
const RAW: &str = "stty raw -echo; printf 'be''gun'; ";
const BEGUN: usize = 5;

/// Bytes without a pattern, the same every time.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn write_noise(world: &World) {
    std::fs::write(world.project.join("noise"), noise(2_000_000)).unwrap();
}

#[test]
fn all_values_alone_in_both_directions() {
    let world = world();
    Case::script(&world, &format!("{RAW} exec dd bs=1 count=256 2>/dev/null"))
        .answers(SILENT)
        .leaves_things_on()
        .run(|stage| {
            stage.outer.wait_received(BEGUN);
            for byte in 0..=255u8 {
                stage.send([byte]);
                stage.outer.wait_received(BEGUN + 1 + usize::from(byte));
            }
        });
}

#[test]
fn noise_in_bulk_to_the_terminal() {
    let world = world();
    Case::script(&world, &format!("{RAW} cat noise; exit 6"))
        .prepare(&write_noise)
        .answers(SILENT)
        .leaves_things_on()
        .run(|_| ());
}

#[test]
fn noise_in_bulk_to_the_program() {
    let world = world();
    let bulk = noise(300_000);
    let script = format!("{RAW} head -c {} | cksum", bulk.len());
    let bare = Case::script(&world, &script).answers(SILENT).leaves_things_on().run(|stage| {
        stage.outer.wait_received(BEGUN);
        stage.send(&bulk);
    });
    assert!(String::from_utf8_lossy(&bare.bytes).trim_end().ends_with("300000"));
}

#[test]
fn both_directions_full_at_once() {
    let world = world();
    let bulk = noise(300_000);
    let script = format!("{RAW} exec dd bs=1000 iflag=fullblock count=300 2>/dev/null");
    Case::script(&world, &script).answers(SILENT).leaves_things_on().run(|stage| {
        stage.outer.wait_received(BEGUN);
        stage.send(&bulk);
        stage.outer.wait_received(BEGUN + bulk.len());
    });
}

/// The terminal's own echo and editing: what each control character does is the terminal's matter, and the
/// same.
#[test]
fn a_terminal_that_edits_lines() {
    let world = world();
    Case::script(&world, "echo begun; exec cat -v").run(|stage| {
        stage.wait_text("begun");
        let mut lines = 0;
        // Not those that end the program, stop the output or begin a new line.
        for byte in (0..=255u8).filter(|byte| ![3, 4, 10, 13, 17, 19, 26, 28].contains(byte)) {
            lines += 1;
            stage.send([b'a', b' ', byte]);
            stage.send(format!("mark{lines}.\r"));
            wait_twice(stage, &format!("mark{lines}."));
        }
        stage.send("literal \x16\x03 \x16\x04 marker.\r");
        wait_twice(stage, "marker.");
        stage.send("no end\x04\x04.\r\x04");
    });
}

/// The echo, and what the program makes of it.
fn wait_twice(stage: &Stage, mark: &str) {
    let what = format!("{mark:?} twice");
    super::support::wait_for(&what, || {
        (String::from_utf8_lossy(&stage.outer.bytes()).matches(mark).count() >= 2).then_some(())
    });
}

/// A shell says nothing of a program that Ctrl+C ended, and a word about every other signal. It cannot with
/// hopty, which ends with the code of a shell, so hopty says it.
#[test]
fn signals_of_the_keyboard() {
    let world = world();
    for (key, code, says) in [
        ("\x03", 130, None),
        ("\x1c", 131, Some("hopty: The program was killed by SIGQUIT.")),
        ("\x04", 0, None),
    ] {
        let case = Case::script(&world, "ulimit -c 0; echo begun; exec cat");
        let case = if let Some(line) = says { case.says(line) } else { case };
        let bare = case.run(|stage| {
            stage.wait_text("begun");
            stage.send(key);
        });
        assert_eq!(bare.code, code);
    }
}

#[test]
fn output_that_is_stopped_and_goes_on() {
    let world = world();
    Case::script(&world, "echo begun; exec cat").run(|stage| {
        stage.wait_text("begun");
        // What is typed while it is stopped is neither echoed nor shown before it goes on.
        stage.send("\x13stopped\r");
        stage.outer.wait_quiet();
        assert!(!stage.outer.rows().iter().any(|row| row.contains("stopped")), "{:?}", stage.way);
        stage.send("\x11");
        wait_twice(stage, "stopped");
        stage.send("\x04");
    });
}

#[test]
fn codes_and_signals() {
    let world = world();
    for code in [0, 1, 7, 255] {
        assert_eq!(Case::script(&world, &format!("echo out; exit {code}")).run(|_| ()).code, code);
    }
    for (signal, code, line) in [
        ("TERM", 143, "hopty: The program was killed by SIGTERM."),
        ("KILL", 137, "hopty: The program was killed by SIGKILL."),
        ("SEGV", 139, "hopty: The program was killed by SIGSEGV."),
    ] {
        let script = format!("ulimit -c 0; echo out; kill -{signal} $$");
        assert_eq!(Case::script(&world, &script).says(line).run(|_| ()).code, code);
    }
}

#[test]
fn a_megabyte_right_before_the_end() {
    let world = world();
    Case::script(&world, "seq 1 150000; printf last; exit 9").run(|_| ());
}
