//! The leader sets the size and gets the bytes; the others get pictures.

use serde_json::json;

use super::{clients, end, run, sized, support, wait_clients, world};

/// Tells its size whenever that changes, and echoes lines.
const TELLS: &str =
    "trap 'echo now $(stty size)' WINCH; echo at $(stty size); while :; do read line && echo got $line; done";

#[test]
fn who_types_sets_the_size() {
    let world = world();
    let first = run(&world, TELLS);
    first.wait_text("at 40 120");
    let second = sized(&world, &["attach"], (60, 20));
    wait_clients(&world, 2);
    second.wait_text("at 40 120");
    assert_eq!(world.status()["size"], json!({"cols": 120, "rows": 40}), "who only comes leads nobody");
    second.send("two\r");
    second.wait_text("got two");
    second.wait_text("now 20 60");
    first.wait_text("got two");
    assert_eq!(world.status()["size"], json!({"cols": 60, "rows": 20}));
    first.send("one\r");
    first.wait_text("got one");
    second.wait_text("got one");
    first.wait_text("now 40 120");
    let leaders: Vec<_> = clients(&world).iter().map(|client| client["leader"].clone()).collect();
    assert_eq!(leaders, [true, false]);
    end(&world);
}

#[test]
fn the_others_see_what_the_leader_sees() {
    let world = world();
    let first = run(
        &world,
        "printf '\\033[?1049h\\033[2J\\033[?2004h\\033[3;5H\\033[1;31mred 漢字\\033[m\\033[10;2H\\033]2;a \
         title\\007'; cat",
    );
    first.wait_text("red 漢字");
    let second = sized(&world, &["attach"], (120, 40));
    second.wait_for("the same picture", |screen| {
        first.look(|leader| {
            (0..40).all(|row| screen.row_runs(row) == leader.row_runs(row))
                && screen.cursor() == leader.cursor()
        })
    });
    assert_eq!(second.look(|screen| screen.title().to_owned()), "a title");
    assert!(second.look(|screen| screen.is_on(hopty::screen::TerminalMode::BracketedPaste)));
    end(&world);
}

#[test]
fn a_smaller_terminal_shows_the_part_round_the_cursor() {
    let world = world();
    let first = run(&world, "printf 'at the top\\r\\n\\033[30;100Hfar away'; cat");
    first.wait_text("far away");
    let second = sized(&world, &["attach"], (40, 10));
    second.wait_text("far away");
    assert!(!second.lines().iter().any(|line| line.contains("at the top")));
    end(&world);
}

#[test]
fn every_client_is_left_whole_and_gets_the_end() {
    let world = world();
    let mut first =
        run(&world, "printf '\\033[?1000h\\033[?2004h'; echo begun; read x; echo the last words; exit 7");
    first.wait_text("begun");
    let mut second = sized(&world, &["attach"], (60, 20));
    second.wait_text("begun");
    first.send("\r");
    assert_eq!((first.wait_exit(), second.wait_exit()), (7, 7));
    first.assert_whole();
    second.assert_whole();
    first.wait_text("the last words");
    second.wait_text("the last words");
    world.assert_nothing_left();
}

#[test]
fn when_the_leader_leaves_another_one_leads() {
    let world = world();
    let mut first = run(&world, TELLS);
    first.wait_text("at 40 120");
    let mut second = sized(&world, &["attach"], (60, 20));
    second.wait_text("at 40 120");
    first.hang_up();
    first.wait_exit();
    second.wait_text("now 20 60");
    wait_clients(&world, 1);
    assert_eq!(clients(&world)[0]["leader"], true);
    world.ask(&["detach"]);
    assert_eq!(second.wait_exit(), 0);
    second.assert_whole();
    second.wait_text("detached; the session keeps running");
    end(&world);
}

#[test]
fn only_the_leader_s_terminal_is_asked_and_heard() {
    let world = world();
    // A terminal's answer to DA comes back as text.
    let first = run(
        &world,
        "stty raw -echo; echo begun; printf '\\033[c'; dd bs=1 count=40 2>/dev/null | od -An -c; exec cat",
    );
    first.wait_text("begun");
    let second = sized(&world, &["attach"], (60, 20));
    wait_clients(&world, 2);
    second.send("\x1b[?61;4c\x1b[I\x1b[<0;3;3M");
    second.send("x");
    support::wait_for("the new leader", || (clients(&world)[1]["leader"] == true).then_some(()));
    let journal = world.journal();
    assert!(journal.contains("\"class\":\"report\",\"client\":2"), "{journal}");
    second.send([b'y'; 64]);
    second.wait_text("x");
    assert!(!second.lines().iter().any(|line| line.contains("6   1   ;   4")), "{:?}", second.lines());
    end(&world);
}

#[test]
fn a_question_goes_to_the_leader_alone_and_an_answer_does_not_lead() {
    let world = world();
    let ask = r"printf '\033[c\033]11;?\007asked'";
    let first =
        run(&world, &format!("stty raw -echo; echo begun; dd bs=1 count=1 >/dev/null 2>&1; {ask}; exec cat"));
    first.wait_text("begun");
    let second = sized(&world, &["attach"], (60, 20));
    second.wait_text("begun");
    wait_clients(&world, 2);
    first.send("g");
    first.wait_text("asked");
    second.wait_text("asked");
    for question in ["\x1b[c", "\x1b]11;?"] {
        let asked = [&first, &second].map(|term| String::from_utf8_lossy(&term.bytes()).contains(question));
        assert_eq!(asked, [true, false], "{question:?}");
    }
    second.send("\x1b[?61;4c\x1b[I\x1b]11;rgb:0/0/0\x07");
    support::wait_for("the report", || {
        world.journal().contains("\"class\":\"report\",\"client\":2").then_some(())
    });
    assert_eq!(clients(&world)[0]["leader"], true);
    assert_eq!(world.status()["size"], json!({"cols": 120, "rows": 40}));
    end(&world);
}

#[test]
fn who_only_looks_types_nothing_and_leads_nobody() {
    let world = world();
    let first = run(&world, TELLS);
    first.wait_text("at 40 120");
    let mut second = sized(&world, &["attach", "--read-only"], (60, 20));
    second.wait_text("at 40 120");
    second.send("never\r\x03");
    first.send("one\r");
    second.wait_text("got one");
    assert!(!first.lines().iter().any(|line| line.contains("never")));
    assert_eq!(clients(&world)[1]["read_only"], true);
    assert_eq!(world.status()["size"], json!({"cols": 120, "rows": 40}));
    second.send("\x1cr");
    second.wait_text("this terminal only watches");
    assert_eq!(world.status()["restarts"], 0);
    second.send("\x1cd");
    assert_eq!(second.wait_exit(), 0);
    second.assert_whole();
    end(&world);
}

/// An editor has what nobody saved.
#[test]
fn the_key_to_restart_asks_first_where_another_program_runs() {
    let world = world();
    let first = run(&world, TELLS);
    first.wait_text("at 40 120");
    first.send("\x1cr");
    first.wait_text("What it has not saved is lost.");
    first.send("x");
    first.wait_text("at 40 120");
    first.send("one\r");
    first.wait_text("got one");
    first.send("\x1c?");
    first.wait_text("restart the program");
    first.send("r");
    first.wait_text("What it has not saved is lost.");
    assert_eq!(world.status()["restarts"], 0);
    first.send("r");
    support::wait_for("the restart", || (world.status()["restarts"] == 1).then_some(()));
    end(&world);
}

#[test]
fn the_smallest_of_all_sizes_where_that_is_configured() {
    let mut world = world();
    world.set("HOPTY_TERMINAL_SIZE", "smallest");
    let first = run(&world, TELLS);
    first.wait_text("at 40 120");
    let mut second = sized(&world, &["attach"], (60, 50));
    first.wait_text("now 40 60");
    second.hang_up();
    second.wait_exit();
    first.wait_text("now 40 120");
    end(&world);
}

#[test]
fn a_fixed_size_where_that_is_configured() {
    let mut world = world();
    world.set("HOPTY_TERMINAL_SIZE", "fixed");
    world.set("HOPTY_TERMINAL_DETACHED_SIZE", "50x12");
    let mut first = run(&world, TELLS);
    first.wait_text("12 50");
    first.send("one\r");
    first.wait_text("got one");
    assert_eq!(world.status()["size"], json!({"cols": 50, "rows": 12}));
    first.send("\x1cd");
    first.wait_exit();
    first.assert_whole();
    end(&world);
}

/// Keys are kept while a run is replaced. What stands half typed in the terminal of who only looks is no part
/// of them.
#[test]
fn who_only_looks_types_nothing_when_kept_keys_are_released() {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;
    let world = world();
    let first = run(&world, "stty raw -echo; echo run $HOPTY_RUN; exec cat -v");
    first.wait_text("run 1");
    let second = sized(&world, &["attach", "--read-only"], (60, 20));
    wait_clients(&world, 2);
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        // Escape over and over: at any moment there is one that may become a longer key.
        let second = &second;
        scope.spawn(move || {
            second.send("\x1b");
            while is_done.recv_timeout(Duration::from_millis(10)) == Err(RecvTimeoutError::Timeout) {
                second.send("\x1b");
            }
        });
        for n in 2..8 {
            world.ask(&["restart", "proj", "--now", "--wait"]);
            first.wait_text(&format!("run {n}"));
        }
        drop(done);
    });
    first.send("typed");
    first.wait_text("typed");
    assert!(!first.lines().iter().any(|line| line.contains('^')), "{:?}", first.lines());
    end(&world);
}

/// Whoever started the session is held up by its standard error, a full pipe, while it says that the journal
/// cannot be opened.
#[test]
fn who_started_a_session_gets_its_exit_code_although_another_client_came_first() {
    use std::io::{Read, Write};
    use std::os::unix::fs::OpenOptionsExt;

    let world = world();
    let errors = world.root.path().join("errors");
    nix::unistd::mkfifo(&errors, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut pipe = std::fs::File::options()
        .read(true)
        .write(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(&errors)
        .unwrap();
    while pipe.write(b"x").is_ok() {}
    std::fs::create_dir_all(world.session_dir().join("journal.jsonl")).unwrap();
    for dir in [world.session_dir().parent().unwrap(), &world.session_dir(), &world.state_dir()] {
        std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    let hopty = support::claude::hopty();
    let line = format!(
        "exec '{}' run -- sh -c 'echo begun; read x; exit 7' 2>'{}'",
        hopty.display(),
        errors.display()
    );
    let mut first =
        support::term::Term::start("/bin/sh".as_ref(), &["-c", &line], &world.env, &world.project, (120, 40));
    support::wait_for("the session", || world.hopty(&["status", "proj"]).status.success().then_some(()));
    let mut second = sized(&world, &["attach"], (60, 20));
    second.wait_text("begun");
    assert_eq!(clients(&world).len(), 1, "who started it has not attached");
    second.send("\r");
    assert_eq!(second.wait_exit(), 7);
    let mut buf = [0; 1 << 16];
    while pipe.read(&mut buf).is_ok() {}
    assert_eq!(first.wait_exit(), 7, "{}", first.lines().join("\n"));
    first.wait_text("begun");
    world.assert_nothing_left();
}
