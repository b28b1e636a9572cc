//! Waits for real programs in real terminals.

use std::ffi::OsString;

use super::super::look::TextPattern;
use super::super::test_terminal::ProgramUnderTest;
use super::*;
use crate::core::process_change::Signal;

/// Longer than anything takes, so that a test fails instead of hanging.
const LONG: Duration = Duration::from_secs(30);
const QUIET: Duration = Duration::from_millis(50);

fn start(argv: &[&str]) -> TestTerminal {
    let env =
        [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("TERM", "xterm-256color"), ("HISTFILE", "/dev/null")];
    let program = ProgramUnderTest {
        env: env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect(),
        ..ProgramUnderTest::new(argv)
    };
    TestTerminal::start(&program).unwrap()
}

fn shell(script: &str) -> TestTerminal {
    start(&["sh", "-c", script])
}

fn text(text: &str) -> Look {
    Look::on_screen(TextPattern::Text(text.to_owned()))
}

fn regex(source: &str) -> Look {
    let built = regex::RegexBuilder::new(source).multi_line(true).build().unwrap();
    Look::on_screen(TextPattern::Regex(built))
}

#[test]
fn text_that_comes_is_found_and_the_end_is_told() {
    let mut terminal = shell("echo one; read line; echo got $line; exit 3");
    let mark = terminal.start_mark(1);
    terminal.expect(&regex("^one$"), &mark, LONG).unwrap();
    let mark = terminal.take_mark(2);
    terminal.send(b"hello\r").unwrap();
    let found = terminal.expect(&regex("^got hello$"), &mark, LONG).unwrap();
    assert_eq!(found.places[0].row(), Some(2));
    assert_eq!(terminal.exit(LONG).unwrap(), ProcessEnd::Exited(3));
    let end = terminal.finish();
    assert_eq!((end.end, end.was_running, end.left), (Some(ProcessEnd::Exited(3)), false, Vec::new()));
}

#[test]
fn the_echo_of_a_terminal_is_no_answer() {
    let mut terminal = start(&["sleep", "60"]);
    let mark = terminal.start_mark(1);
    terminal.send(b"Done\r").unwrap();
    terminal.wait_for(&text("Done"), &mark, LONG).unwrap();
    let failure = terminal.expect(&text("Done"), &mark, Duration::from_millis(200)).unwrap_err();
    assert_eq!(failure.end, WaitEnd::TimedOut);
    assert_eq!(failure.message, "\"Done\" is on row 1 only as the echo of what was typed");
    let end = terminal.finish();
    assert!(end.was_running && end.left.is_empty(), "{end:?}");
}

#[test]
fn stale_text_is_told_from_new_text() {
    let mut terminal = shell("echo Done; read line; sleep 0.1; echo Done; read line");
    let mark = terminal.start_mark(1);
    terminal.expect(&text("Done"), &mark, LONG).unwrap();
    let mark = terminal.take_mark(2);
    let level = terminal.wait_for(&text("Done"), &mark, LONG).unwrap();
    assert_eq!(level.stale, Some(TextAge::Before(2)));
    terminal.send(b"\r").unwrap();
    let found = terminal.expect(&text("Done"), &mark, LONG).unwrap();
    assert_eq!(found.places[0].row(), Some(2));
    let mark = terminal.take_mark(3);
    let failure = terminal.expect(&text("Dome"), &mark, Duration::from_millis(50)).unwrap_err();
    assert_eq!(failure.message, "not on the screen; nearest: row 1 \"Done\" (there since before line 2)");
}

#[test]
fn the_end_of_the_program_stops_a_wait() {
    let mut terminal = shell("echo last words; exit 1");
    let mark = terminal.start_mark(1);
    let began = Instant::now();
    let failure = terminal.expect(&text("never"), &mark, LONG).unwrap_err();
    assert!(began.elapsed() < LONG / 2);
    assert_eq!(failure.end, WaitEnd::Ended(ProcessEnd::Exited(1)));
    assert!(
        failure
            .message
            .starts_with("the program ended (exit 1) while waiting for \"never\"; not on the screen"),
        "{failure}"
    );
    terminal.expect(&text("last words"), &mark, LONG).unwrap();
}

#[test]
fn what_should_go_and_what_should_not_come() {
    let mut terminal = shell("printf 'busy'; sleep 0.2; printf '\\r\\033[Kidle'; sleep 60");
    let mark = terminal.start_mark(1);
    terminal.expect(&text("busy"), &mark, LONG).unwrap();
    assert!(terminal.gone(&text("busy"), &mark, QUIET, LONG).unwrap());
    terminal.expect_not(&text("busy"), &mark, &SettleRules::default(), LONG).unwrap();
    let failure = terminal.expect_not(&text("idle"), &mark, &SettleRules::default(), LONG).unwrap_err();
    assert_eq!(failure.message, "\"idle\" is on row 1 (drawn since line 1)");
    let failure = terminal.gone(&text("idle"), &mark, QUIET, Duration::from_millis(50)).unwrap_err();
    assert_eq!(failure.message, "\"idle\" is still on row 1 (drawn since line 1)");
}

#[test]
fn a_program_that_computes_has_not_settled() {
    let script = "echo begin; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo end; read line";
    let mut terminal = shell(script);
    let mark = terminal.start_mark(1);
    terminal.expect(&text("begin"), &mark, LONG).unwrap();
    terminal.settle(&SettleRules::default(), LONG).unwrap();
    assert!(!terminal.watch().subject().find(&text("end")).is_empty(), "{:?}", terminal.screen().lines());
}

#[test]
fn what_never_settles_is_named() {
    let script = "i=0; while :; do i=$((i+1)); printf '\\033[3;1H%d\\033[5;1Hx' $i; sleep 0.01; done";
    let mut terminal = shell(script);
    let mark = terminal.start_mark(1);
    terminal.expect(&text("x"), &mark, LONG).unwrap();
    let failure = terminal.settle(&SettleRules::default(), Duration::from_millis(400)).unwrap_err();
    assert!(failure.message.starts_with("not settled: row 3 ("), "{failure}");
    assert!(failure.message.ends_with("times) kept changing"), "{failure}");
    let except = vec![CellRegion { row: 2, col: 0, rows: 1, cols: 80 }];
    // The loop works between its sleeps, and between two looks it mostly sleeps.
    terminal.settle(&SettleRules { except, ..SettleRules::default() }, LONG).unwrap();
}

#[test]
fn a_shell_is_ready_when_its_command_has_ended() {
    let mut terminal = start(&["bash", "--noprofile", "--norc"]);
    let mark = terminal.start_mark(1);
    terminal.ready(&mark, LONG).unwrap();
    for command in
        ["sleep 0.3; echo done", "for i in 1 2 3; do sleep 0.05; done; echo done", "(sleep 0.2; echo done)"]
    {
        let mark = terminal.take_mark(2);
        terminal.send(command.as_bytes()).unwrap();
        assert!(terminal.typed(command, &mark, LONG).unwrap());
        let mark = terminal.take_mark(3);
        terminal.send(b"\r").unwrap();
        terminal.ready(&mark, LONG).unwrap();
        terminal.expect(&regex("^done$"), &mark, Duration::ZERO).unwrap();
    }
    let mark = terminal.take_mark(4);
    terminal.send(b"sleep 60\r").unwrap();
    let failure = terminal.ready(&mark, Duration::from_millis(300)).unwrap_err();
    assert_eq!(failure.message, "no prompt: sleep 60 is in the foreground");
    terminal.signal(Signal::INT).unwrap();
    terminal.ready(&mark, LONG).unwrap();
    let end = terminal.finish();
    assert!(end.was_running && end.left.is_empty(), "{end:?}");
}

#[test]
fn a_shell_that_announces_its_prompts_tells_the_status() {
    let mut terminal = shell(
        "printf '\\033]133;A\\007$ \\033]133;B\\007'; read l; printf '\\033]133;C\\007'; sleep 0.2;\
         printf '\\033]133;D;4\\007\\033]133;A\\007$ \\033]133;B\\007'; read l",
    );
    let mark = terminal.start_mark(1);
    assert_eq!(terminal.ready(&mark, LONG).unwrap(), ShellReady { status: None });
    terminal.send(b"false\r").unwrap();
    assert_eq!(terminal.ready(&mark, LONG).unwrap(), ShellReady { status: Some(4) });
}

#[test]
fn typed_text_is_waited_for_where_the_program_shows_it() {
    // Raw mode, in which every byte is shown a little later.
    let script = "stty raw -echo; printf ready; while c=$(dd bs=1 count=1 2>/dev/null); do sleep 0.02; \
                  printf '%s' \"$c\"; done";
    let mut terminal = shell(script);
    let mark = terminal.start_mark(1);
    terminal.expect(&text("ready"), &mark, LONG).unwrap();
    let mark = terminal.take_mark(2);
    terminal.send(b"abc").unwrap();
    assert!(terminal.typed("abc", &mark, LONG).unwrap());
    assert_eq!(terminal.screen().lines()[0], "readyabc");
    let mark = terminal.take_mark(3);
    assert!(
        terminal.expect(&text("abc"), &mark, Duration::from_millis(50)).is_err(),
        "it is older than the mark"
    );
}

#[test]
fn a_password_is_not_waited_for() {
    let mut terminal = shell("stty -echo; printf 'Password: '; read line; echo; echo $line; read line");
    let mark = terminal.start_mark(1);
    terminal.expect(&text("Password:"), &mark, LONG).unwrap();
    assert!(terminal.is_hiding_input());
    let mark = terminal.take_mark(2);
    terminal.send(b"secret").unwrap();
    assert!(terminal.typed("secret", &mark, LONG).unwrap());
    terminal.send(b"\r").unwrap();
    terminal.expect(&regex("^secret$"), &mark, LONG).unwrap();
}

#[test]
fn a_frame_that_is_held_back_is_not_looked_at() {
    let script = "printf '\\033[?2026hDone'; sleep 0.3; printf '\\r\\033[KBusy\\033[?2026l'; sleep 60";
    let mut terminal = shell(script);
    let mark = terminal.start_mark(1);
    terminal.expect(&text("Busy"), &mark, LONG).unwrap();
    let mut terminal = shell(script);
    let mark = terminal.start_mark(1);
    assert!(terminal.expect(&text("Done"), &mark, Duration::from_millis(600)).is_err());
}

#[test]
fn titles_and_the_clipboard_can_be_waited_for() {
    let mut terminal = shell("sleep 0.1; printf '\\033]0;a title\\007\\033]52;c;aGk=\\007'; sleep 60");
    let mark = terminal.start_mark(1);
    terminal.expect(&text("title").within(ScreenArea::Title), &mark, LONG).unwrap();
    terminal.expect(&text("hi").within(ScreenArea::Clipboard), &mark, LONG).unwrap();
    let other = text("ho").within(ScreenArea::Clipboard);
    let failure = terminal.expect(&other, &mark, Duration::ZERO).unwrap_err();
    assert_eq!(failure.message, "not in the clipboard, which holds \"hi\"");
    let other = text("Title").within(ScreenArea::Title);
    let failure = terminal.expect(&other, &mark, Duration::ZERO).unwrap_err();
    assert_eq!(failure.message, "not in the title; the title is \"a title\"");
}

#[test]
fn times_are_exact() {
    let mut terminal = shell("echo ok; echo ok; read line; echo ok; read line");
    let mark = terminal.start_mark(1);
    let times = |times| Look { times: Some(times), ..text("ok") };
    terminal.expect(&times(2), &mark, LONG).unwrap();
    let failure = terminal.expect(&times(3), &mark, Duration::from_millis(30)).unwrap_err();
    assert_eq!(failure.message, "\"ok\" is on the screen 2 times, not 3");
    let mark = terminal.take_mark(2);
    terminal.send(b"\r").unwrap();
    terminal.expect(&times(3), &mark, LONG).unwrap();
    terminal.expect(&Look { times: Some(0), ..text("no") }, &mark, LONG).unwrap();
}

#[test]
fn the_clock_stands_still_while_the_program_waits_for_a_cpu() {
    let second = Duration::from_secs(1);
    let look = |waited: u64| ProcessLook { waited: Duration::from_millis(waited), ..ProcessLook::default() };
    let mut clock = WaitClock::start(second, &look(100));
    let began = clock.began;
    clock.take_at(began + second, &look(400));
    assert_eq!(
        (clock.starved(), clock.deadline()),
        (Duration::from_millis(300), began + second + Duration::from_millis(300))
    );
    // Three processes that each wait for a second delay the program by one.
    clock.take_at(began + second * 2, &look(3400));
    assert_eq!(clock.starved(), Duration::from_millis(1300));
    for n in 3..20 {
        clock.take_at(began + second * n, &look(u64::from(n) * 1000 + 10_000));
    }
    assert_eq!(clock.deadline(), began + second * 4, "but not for ever");
}

#[test]
fn a_test_can_be_stopped() {
    let mut terminal = start(&["sleep", "60"]);
    let (read, write) = nix::unistd::pipe().unwrap();
    terminal.stop_on(std::sync::Arc::new(read));
    let mark = terminal.start_mark(1);
    let waker = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        drop(write);
    });
    let failure = terminal.expect(&text("never"), &mark, LONG).unwrap_err();
    assert_eq!(failure.end, WaitEnd::Stopped);
    waker.join().unwrap();
}

#[test]
fn another_terminal_is_served_meanwhile() {
    // It asks for the cursor's position, and ends with the answer.
    let mut other =
        shell("stty raw -echo min 6 time 0; printf '\\033[6n'; dd bs=6 count=1 2>/dev/null | od -c");
    other.take_mark(1);
    let mut terminal = shell("sleep 0.4; echo now; sleep 60");
    let mark = terminal.start_mark(1);
    terminal.put_beside(vec![other]);
    terminal.expect(&text("now"), &mark, LONG).unwrap();
    let mut other = terminal.take_beside().remove(0);
    assert_eq!(other.exit(LONG).unwrap(), ProcessEnd::Exited(0));
    assert!(other.screen().lines()[0].contains("033   [   1   ;   1   R"), "{:?}", other.screen().lines());
}
