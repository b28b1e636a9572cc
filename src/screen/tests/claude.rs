//! The start and the end of Claude Code 2.1.329, fullscreen and inline, as measured on the real program: the
//! modes after the start, and that none is left after a clean exit or an undo.

use crate::screen::{Screen, TerminalIdentity, reply};

const MODES: &str = "\x1b7\x1b[r\x1b8\x1b[?25h\x1b[?2004h\x1b[?2031h\x1b[?1004h\x1b]0;✳ Claude Code\x07";
const FULLSCREEN: &str = "\x1b[?1049h\x1b[2J\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h\x1b[?25l";
const NO_MOUSE: &str = "\x1b[?1049h\x1b[2J\x1b[?25l";
const QUERIES: &str = "\x1b[>0q\x1b[?u\x1b]7501;?\x07\x1b[c";
/// What it sends after the terminal has answered `CSI ? u`.
const KEYBOARD: &str = "\x1b[<u\x1b[>5u\x1b[>4;2m\x1b[?2026$p\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t\x1b[?1016$p\x1b[c";
const FRAME: &str = "\x1b[?2026h\x1b[H\x1b[2m────\x1b[m\r\n\x1b[38;2;215;119;87m❯\u{a0}\x1b[39mhi\x1b[?2026l";
const EXIT_FULLSCREEN: &str = "\x1b[?25h\x1b[?1004l\x1b[<u\x1b[?1049l\x1b[>4m";
const EXIT: &str = "\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1004l\x1b[>4m\x1b[<u\x1b[?2031l\x1b[?2004l\x1b(B\x0f\
    \x1b[?1016l\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?7h\x1b[?25h\x1b7\x1b[r\x1b8\x1b]0;\x07";

struct StartCase {
    name: &'static str,
    start: Vec<&'static str>,
    modes: &'static [&'static str],
    flags: u8,
    undo: &'static str,
    exit: Vec<&'static str>,
}

fn cases() -> [StartCase; 4] {
    [
        StartCase {
            name: "fullscreen",
            start: vec![MODES, FULLSCREEN, QUERIES, FRAME],
            modes: &["-25", "1000", "1002", "1003", "1004", "1006", "2004", "2031", "1049"],
            flags: 0,
            undo: "\x1b[?1049l\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1004l\x1b[?2031l\x1b[?2004l\x1b[?25h\x1b]0;\x07",
            exit: vec![EXIT_FULLSCREEN, EXIT, EXIT, "\x1b[?25h"],
        },
        StartCase {
            name: "fullscreen, terminal with kitty keys",
            start: vec![MODES, FULLSCREEN, QUERIES, KEYBOARD, FRAME],
            modes: &["-25", "1000", "1002", "1003", "1004", "1006", "2004", "2031", "1049"],
            flags: 5,
            undo: "\x1b[<1u\x1b[?1049l\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1004l\x1b[?2031l\x1b[?2004l\
                \x1b[>4m\x1b[?25h\x1b]0;\x07",
            exit: vec![EXIT_FULLSCREEN, EXIT, EXIT, "\x1b[?25h"],
        },
        StartCase {
            name: "fullscreen without mouse",
            start: vec![MODES, NO_MOUSE, QUERIES, FRAME],
            modes: &["-25", "1004", "2004", "2031", "1049"],
            flags: 0,
            undo: "\x1b[?1049l\x1b[?1004l\x1b[?2031l\x1b[?2004l\x1b[?25h\x1b]0;\x07",
            exit: vec![EXIT_FULLSCREEN, EXIT, EXIT, "\x1b[?25h"],
        },
        StartCase {
            name: "inline, terminal with kitty keys",
            start: vec![MODES, "\x1b[?25l", QUERIES, KEYBOARD, FRAME],
            modes: &["-25", "1004", "2004", "2031"],
            flags: 5,
            undo: "\x1b[<1u\x1b[?1004l\x1b[?2031l\x1b[?2004l\x1b[>4m\x1b[?25h\x1b]0;\x07",
            exit: vec![EXIT],
        },
    ]
}

fn started(case: &StartCase) -> Screen {
    let mut screen = Screen::new(80, 24);
    screen.feed(b"$ claude\r\n");
    screen.feed(case.start.concat().as_bytes());
    screen
}

#[test]
fn the_latch_holds_what_the_start_turned_on() {
    for case in cases() {
        let screen = started(&case);
        assert_eq!(screen.modes(), case.modes, "{}", case.name);
        assert_eq!(screen.keyboard_flags(), case.flags, "{}", case.name);
        assert_eq!(screen.modify_other_keys(), if case.flags == 0 { 0 } else { 2 }, "{}", case.name);
        assert_eq!(screen.title(), "✳ Claude Code", "{}", case.name);
        assert!(screen.lines().contains(&"❯\u{a0}hi".to_owned()), "{}", case.name);
    }
}

#[test]
fn nothing_is_on_after_a_clean_exit() {
    for case in cases() {
        let mut screen = started(&case);
        screen.feed(case.exit.concat().as_bytes());
        assert!(screen.modes().is_empty(), "{}: {screen:?}", case.name);
        assert_eq!(screen.undo(), b"", "{}", case.name);
        assert!(screen.cursor().visible && !screen.alternate(), "{}", case.name);
    }
}

#[test]
fn a_killed_claude_is_undone_by_exactly_what_is_on() {
    for case in cases() {
        let mut screen = started(&case);
        let undo = screen.undo();
        assert_eq!(String::from_utf8_lossy(&undo), case.undo, "{}", case.name);
        screen.feed(&undo);
        assert_eq!(screen.undo(), b"", "{}", case.name);
        assert!(screen.modes().is_empty(), "{}", case.name);
        assert_eq!((screen.keyboard_flags(), screen.modify_other_keys()), (0, 0), "{}", case.name);
    }
}

#[test]
fn the_shell_s_line_is_there_after_a_killed_fullscreen_run() {
    let mut screen = started(&cases()[0]);
    screen.feed(&screen.undo());
    assert_eq!(screen.lines()[0], "$ claude");
    assert_eq!((screen.cursor().col, screen.cursor().row), (0, 1));
}

#[test]
fn a_detached_start_gets_its_answers_and_no_others() {
    let mut screen = started(&cases()[1]);
    let identity = TerminalIdentity::new("1.2.3");
    let answers: Vec<u8> = screen.take_queries().iter().flat_map(|query| reply(query, &identity)).collect();
    assert_eq!(
        String::from_utf8_lossy(&answers),
        "\x1bP>|hopty(1.2.3)\x1b\\\x1b[?0u\x1b[?62;22c\x1b[?2026;2$y\x1b[6;18;9t\x1b[?1016;2$y\x1b[?62;22c"
    );
}
