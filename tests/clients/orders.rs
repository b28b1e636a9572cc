//! The prefix key, `hopty detach`, and coming back.

use super::{clients, end, run, sized, support, wait_clients, world};

#[test]
fn the_prefix_key_and_d_detach() {
    for keys in ["\x1cd", "\x1b[92;5u\x1b[100u"] {
        let world = world();
        let mut term = run(&world, "printf '\\033[?2004h\\033[?1000h'; echo begun; exec cat");
        term.wait_text("begun");
        term.send(keys);
        assert_eq!(term.wait_exit(), 0);
        term.assert_whole();
        term.wait_text("detached; the session keeps running (hopty attach proj)");
        let again = world.terminal(&["attach"]);
        again.wait_text("begun");
        again.send("typed\r");
        again.wait_text("typed");
        end(&world);
    }
}

/// What is said at the end, and the shell's prompt after it, stand below what an inline program has drawn.
#[test]
fn what_is_said_at_a_detach_stands_below_the_program_s_lines() {
    for (drawn, mark, whole) in [
        ("top\\nbox> \\nbottom\\033[1A\\033[6G", "bottom", &["top", "box>", "bottom", "hopty: detached"][..]),
        ("one\\ntwo> ", "two>", &["one", "two>", "hopty: detached"]),
        ("one\\n", "one", &["one", "hopty: detached"]),
        ("\\033[?1049hfull\\n\\nscreen", "screen", &["hopty: detached"]),
    ] {
        let world = world();
        let mut term = run(&world, &format!("printf '{drawn}'; exec cat"));
        term.wait_text(mark);
        term.send("\x1cd");
        assert_eq!(term.wait_exit(), 0);
        term.wait_text("hopty: detached");
        let lines: Vec<String> = term.lines().into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), whole.len(), "{lines:?}");
        assert!(lines.iter().zip(whole).all(|(line, begin)| line.starts_with(begin)), "{lines:?}");
        end(&world);
    }
}

#[test]
fn pressed_twice_it_is_the_program_s() {
    let world = world();
    let term = run(&world, "stty raw -echo; echo begun; dd bs=1 count=4 2>/dev/null | od -An -tx1; exec cat");
    term.wait_text("begun");
    // Cut anywhere; an unknown key after the prefix is nobody's.
    term.send("a\x1c");
    term.send("\x1c");
    term.send("\x1cxb");
    term.send("\x1c\x1b[Ac");
    term.wait_text("61 1c 62 63");
    end(&world);
}

#[test]
fn ctrl_c_that_was_for_hopty_is_nobody_s_interrupt() {
    for key in ["\x03", "\x1b[99;5u"] {
        let world = world();
        let mut term =
            run(&world, "stty raw -echo; echo begun; dd bs=1 count=1 2>/dev/null | od -An -tx1; exit 130");
        term.wait_text("begun");
        term.send(format!("\x1c{key}x"));
        assert_eq!(term.wait_exit(), 130);
        assert!(term.lines().iter().any(|line| line.trim() == "78"), "{:?}", term.lines());
        let end = world.decisions().into_iter().next_back().unwrap();
        assert_eq!(end["cause"], "finished", "{key:?}: {}", world.story());
        assert!(!world.journal().contains("\"class\":\"interrupt\""), "{}", world.journal());
        world.assert_nothing_left();
    }
}

#[test]
fn in_a_paste_it_is_text() {
    let world = world();
    let term =
        run(&world, "stty raw -echo; echo begun; dd bs=1 count=14 2>/dev/null | od -An -tx1 -w99; exec cat");
    term.wait_text("begun");
    term.send("\x1b[200~\x1cd\x1b[201~");
    term.wait_text("1b 5b 32 30 30 7e 1c 64 1b 5b 32 30 31 7e");
    end(&world);
}

#[test]
fn it_can_be_another_key_or_none() {
    let mut world = world();
    world.set("HOPTY_TERMINAL_PREFIX", "ctrl-b");
    let mut term = run(&world, "echo begun; exec cat");
    term.wait_text("begun");
    term.send("\x02d");
    assert_eq!(term.wait_exit(), 0);
    end(&world);
    world.set("HOPTY_TERMINAL_PREFIX", "");
    let term = run(&world, "stty raw -echo; echo begun; dd bs=1 count=2 2>/dev/null | od -An -tx1; exec cat");
    term.wait_text("begun");
    term.send("\x1cd");
    term.wait_text("1c 64");
    end(&world);
}

#[test]
fn the_help_is_shown_and_goes_away() {
    for key in ["q", "\x1b", "\x1b[A"] {
        let world = world();
        let term = run(&world, "echo begun; exec cat");
        term.wait_text("begun");
        term.send("\x1c?");
        term.wait_text("session proj");
        term.wait_text("detach");
        term.send("\x1b[I");
        term.send(key);
        term.wait_for("the picture", |screen| {
            !screen.alternate() && screen.lines().iter().any(|line| line.contains("begun"))
        });
        assert!(!term.lines().iter().any(|line| line.contains("to return")));
        term.send("typed\r");
        term.wait_text("typed");
        assert!(!term.lines().iter().any(|line| line.contains(['q', '^'])), "{key:?}: {:?}", term.lines());
        end(&world);
    }
}

/// Whether a lone ESC is a key only its time tells: then it is one like any other.
#[test]
fn escape_is_a_key_that_was_typed() {
    let world = world();
    let first =
        run(&world, "stty raw -echo; echo begun; dd bs=1 count=1 2>/dev/null | od -An -tx1; exec cat");
    first.wait_text("begun");
    let second = sized(&world, &["attach"], (60, 20));
    wait_clients(&world, 2);
    second.send("\x1b");
    second.wait_text("1b");
    let leads: Vec<_> = clients(&world).iter().map(|client| client["leader"].clone()).collect();
    assert_eq!(leads, [false, true], "who typed last leads");
    assert!(
        world.journal().contains(r#"{"bytes":1,"class":"typed","client":2,"kind":"keys"}"#),
        "{}",
        world.journal()
    );
    end(&world);
}

#[test]
fn the_keys_of_the_help_work_there() {
    for keys in ["d", "\x1cd", "\x1c", "l"] {
        let world = world();
        let mut term = run(&world, "echo begun; exec cat");
        term.wait_text("begun");
        term.send("\x1c?");
        term.wait_text("Press any other key to return");
        term.send(keys);
        if !keys.contains('d') {
            term.wait_for("the picture", |screen| {
                !screen.alternate() && screen.lines().iter().any(|line| line.contains("begun"))
            });
            // Behind the prefix key that was pressed on the page its key is due.
            term.send(if keys == "\x1c" { "d" } else { "\x1cd" });
        }
        assert_eq!(term.wait_exit(), 0);
        term.wait_text("hopty: detached");
        end(&world);
    }
}

#[test]
fn detach_sends_one_or_all_away() {
    let world = world();
    let mut first = run(&world, "echo begun; exec cat");
    first.wait_text("begun");
    let mut second = sized(&world, &["attach"], (60, 20));
    wait_clients(&world, 2);
    let none = world.hopty(&["detach", "--client", "9"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("proj: it has no client 9"));
    assert_eq!(world.ask(&["detach", "--client", "2", "--json"]), "{\"detached\":1}\n");
    assert_eq!(second.wait_exit(), 0);
    second.assert_whole();
    wait_clients(&world, 1);
    assert_eq!(world.ask(&["detach", "proj"]), "");
    assert_eq!(first.wait_exit(), 0);
    assert_eq!(world.hopty(&["detach"]).status.code(), Some(1));
    end(&world);
}

#[test]
fn inside_a_session_there_is_no_attaching() {
    let world = world();
    let hopty = support::claude::hopty();
    let script = format!(
        "'{0}' attach; echo code $?; '{0}' attach proj; echo code $?; '{0}' detach; echo code $?; exec cat",
        hopty.display()
    );
    let term = run(&world, &script);
    term.wait_for("three refusals", |screen| {
        screen.lines().iter().filter(|line| *line == "code 4").count() == 3
    });
    term.wait_text("already inside session proj");
    term.wait_text("a command inside the session may not detach its clients");
    end(&world);
}

/// The program was started for a terminal that knows more than the one that comes later.
#[test]
fn a_simple_terminal_is_not_sent_what_it_cannot_do() {
    let mut world = world();
    let on = r"printf '\033]2;a title\007\033[>1u\033[>4;2m\033[5 q\033[?2004h\033[1mready\033[m'; exec cat";
    let mut term = run(&world, on);
    term.wait_text("ready");
    term.send("\x1cd");
    assert_eq!(term.wait_exit(), 0);
    for (name, modes) in [("linux", true), ("dumb", false), ("xterm-256color", true)] {
        world.set("TERM", name);
        let mut term = world.terminal(&["attach"]);
        term.wait_text("ready");
        let bytes = String::from_utf8(term.bytes()).unwrap();
        for part in ["a title", "\x1b[>", " q"] {
            assert_eq!(bytes.contains(part), name.starts_with("xterm"), "{name} {part:?}: {bytes:?}");
        }
        assert_eq!(bytes.contains("\x1b[?2004h"), modes, "{name}: {bytes:?}");
        term.send("\x1cd");
        assert_eq!(term.wait_exit(), 0);
    }
    end(&world);
}

/// What the program turns on while a simpler terminal is there is not for that terminal either; what it
/// writes is.
#[test]
fn a_simple_terminal_is_not_sent_what_is_turned_on_later() {
    let mut world = world();
    let script = r"stty -echo; echo ready; while read line; do printf '\033]2;a title\007\033[>1u\033[5 q\033[1m%s\033[m\r\nbelow %s\r\n' $line $line; done";
    let mut term = run(&world, script);
    term.wait_text("ready");
    for (name, bold) in [("linux", true), ("dumb", false), ("xterm-256color", true)] {
        term.send("\x1cd");
        assert_eq!(term.wait_exit(), 0);
        world.set("TERM", name);
        term = world.terminal(&["attach"]);
        term.send(format!("for-{name}\r"));
        term.wait_text(&format!("below for-{name}"));
        let bytes = String::from_utf8(term.bytes()).unwrap();
        for part in ["a title", "\x1b[>", " q"] {
            assert_eq!(bytes.contains(part), name.starts_with("xterm"), "{name} {part:?}: {bytes:?}");
        }
        assert_eq!(bytes.contains('\x1b'), bold, "{name}: {bytes:?}");
        let lines = term.lines();
        let at = lines
            .iter()
            .position(|line| *line == format!("for-{name}"))
            .unwrap_or_else(|| panic!("{name}: {lines:?}"));
        assert_eq!(lines[at + 1], format!("below for-{name}"), "{name}: {lines:?}");
    }
    end(&world);
}

/// A program that draws when its window changes draws for a terminal of the same size, too.
#[test]
fn a_terminal_of_the_same_size_makes_the_program_draw() {
    let world = world();
    let mut term =
        run(&world, "n=0; trap 'n=$((n+1)); echo drawn $n' WINCH; echo ready; while :; do sleep 0.05; done");
    term.wait_text("ready");
    for n in 1..=3 {
        term.send("\x1cd");
        assert_eq!(term.wait_exit(), 0);
        term = world.terminal(&["attach"]);
        term.wait_text(&format!("drawn {n}"));
    }
    end(&world);
}

#[test]
fn a_hundred_times_away_and_back_and_nothing_is_lost() {
    let world = world();
    let mut first = run(&world, "n=0; while read line; do n=$((n+1)); echo $n $line; done");
    for n in 1..=100 {
        first.send(format!("line{n}\r"));
        first.wait_text(&format!("{n} line{n}"));
        first.send("\x1cd");
        assert_eq!(first.wait_exit(), 0);
        first.assert_whole();
        first = sized(&world, &["attach"], if n % 2 == 0 { (120, 40) } else { (100, 30) });
        first.wait_text(&format!("{n} line{n}"));
    }
    assert_eq!(clients(&world).len(), 1);
    end(&world);
}
