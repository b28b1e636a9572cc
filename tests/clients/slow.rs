//! A terminal that takes nothing slows neither the program nor the others.

use std::time::{Duration, Instant};

use hopty::screen::Screen;

use super::support::term::Term;
use super::support::wait::wait_within;
use super::support::world::World;
use super::{clients, end, run, sized, support, wait_clients, world};

/// Writes without end, and says now and then how far it is.
const FLOOD: &str = "echo begun; read x; seq 1 400000; echo the end; exec cat";

/// Two terminals, of which the first, the leader's, takes nothing while the program writes; it is drawn anew
/// when it does again.
fn through_a_stall(world: &World, script: &str) -> (Term, Term) {
    let first = run(world, script);
    first.wait_text("begun");
    let second = sized(world, &["attach"], (60, 20));
    wait_clients(world, 2);
    first.send("\r");
    first.stall(true);
    second.wait_text("the end");
    first.stall(false);
    first.wait_text("the end");
    (first, second)
}

#[test]
fn a_stalled_leader_does_not_hold_up_the_others() {
    let world = world();
    let (first, _second) = through_a_stall(&world, FLOOD);
    first.wait_text("399999");
    first.send("typed\r");
    first.wait_text("typed");
    end(&world);
}

/// The numbers at the beginnings of lines that a terminal shows and has in its history, in their order.
fn numbers(term: &Term) -> Vec<u32> {
    let mut screen = Screen::with_history(120, 40, 500_000);
    screen.feed(&term.bytes());
    let above = (0..screen.history_len())
        .map(|line| screen.history_row_runs(line).iter().map(|run| run.text.as_str()).collect());
    above.chain(screen.lines()).filter_map(|line: String| line.split_once(' ')?.0.parse().ok()).collect()
}

/// A connection that hangs, or a client that somebody has stopped, and nobody else there: the program goes on
/// without it. When the terminal takes something again it has everything that the history has of what it
/// missed, and that alone.
fn alone(within: &str, stop: impl Fn(&Term, bool)) {
    let mut world = world();
    world.set("HOPTY_TERMINAL_SCROLLBACK_LINES", "20000");
    let first =
        run(&world, "echo begun; read x; seq -f \"%.0f $(printf %0300d 0)\" 1 4000; echo the end; exec cat");
    first.wait_text("begun");
    first.send("\r");
    first.wait_for("the flood", |screen| {
        screen.lines().iter().any(|line| line.starts_with(|c: char| ('1'..='9').contains(&c)))
    });
    stop(&first, true);
    let waited = world.hopty(&["wait", "proj", "text=the end", "--timeout", within]);
    assert!(waited.status.success(), "{waited:?}");
    stop(&first, false);
    first.wait_text("the end");
    let shown = numbers(&first);
    let turn = shown.windows(2).position(|pair| pair[1] <= pair[0]).map_or(shown.len(), |at| at + 1);
    let (before, after) = shown.split_at(turn);
    assert!(before.iter().copied().eq(1..=u32::try_from(turn).unwrap()), "{before:?}");
    // What was on its screen stays above, and is in the history by now, too: 40 rows of lines of three.
    let again = after.first().map_or(0, |first| before.len() + 1 - usize::try_from(*first).unwrap());
    assert!(again <= 14, "{again} lines are shown again");
    assert!(after.iter().rev().copied().eq((1..=4000).rev().take(after.len())), "{after:?}");
    assert_eq!(shown.len(), 4000 + again);
    first.send("typed\r");
    first.wait_text("typed");
    end(&world);
}

#[test]
fn a_program_goes_on_whose_only_terminal_takes_nothing_any_more() {
    alone("60s", Term::stall);
}

#[test]
fn a_program_goes_on_whose_only_client_is_stopped() {
    // At once, and not as late as one that takes nothing.
    alone("9s", |term, stopped| {
        let pid = i32::try_from(term.child.id()).unwrap();
        support::kill(pid, if stopped { nix::libc::SIGSTOP } else { nix::libc::SIGCONT });
    });
}

/// Somebody wants the end, and does not wait for a terminal that takes nothing; who sits there is told the
/// program's end all the same.
#[test]
fn a_session_is_stopped_whose_terminal_takes_nothing() {
    let world = world();
    let mut first = run(&world, "echo begun; read x; exec yes");
    first.wait_text("begun");
    first.send("\r");
    first.wait_for("the flood", |screen| screen.lines().iter().filter(|line| *line == "y").count() > 20);
    first.stall(true);
    assert!(world.hopty(&["stop", "proj"]).status.success());
    support::wait_for("the host to be gone", || {
        world.processes().iter().all(|(pid, _)| !support::is_host(*pid)).then_some(())
    });
    first.stall(false);
    assert_eq!(first.wait_exit(), 143);
    world.assert_nothing_left();
}

/// What was on when it was set aside is taken off before it is drawn anew, whatever the program has turned
/// off meanwhile.
#[test]
fn a_stalled_leader_is_left_with_nothing_that_was_turned_off() {
    let world = world();
    let on = r"\033[>1u\033[?1000h\033[?1006h\033[?1049h";
    let off = r"\033[?1049l\033[?1006l\033[?1000l\033[<u";
    let script =
        format!("echo begun; read x; printf '{on}'; seq 1 400000; printf '{off}'; echo the end; exec cat");
    let (first, _second) = through_a_stall(&world, &script);
    let left = first.look(|screen| (screen.modes(), screen.alternate(), screen.keyboard_flags()));
    assert!(!left.0.iter().any(|mode| mode == "1000" || mode == "1006"), "{left:?}");
    assert_eq!((left.1, left.2), (false, 0));
    end(&world);
}

#[test]
fn a_stalled_follower_does_not_hold_up_the_leader() {
    let world = world();
    let first = run(&world, FLOOD);
    first.wait_text("begun");
    let second = sized(&world, &["attach"], (60, 20));
    wait_clients(&world, 2);
    second.stall(true);
    first.send("\r");
    first.wait_text("the end");
    second.stall(false);
    second.wait_text("the end");
    end(&world);
}

#[test]
fn a_stopped_client_does_not_hold_up_the_others() {
    let world = world();
    let first = run(&world, FLOOD);
    first.wait_text("begun");
    let second = sized(&world, &["attach"], (60, 20));
    wait_clients(&world, 2);
    let pid = world.processes().into_iter().find(|(_, line)| line.contains(" attach")).unwrap().0;
    support::kill(pid, nix::libc::SIGSTOP);
    first.send("\r");
    first.wait_text("the end");
    support::kill(pid, nix::libc::SIGCONT);
    second.wait_text("the end");
    assert_eq!(clients(&world).len(), 2);
    end(&world);
}

/// Writes as fast as it can, and counts its megabytes in a file, until there is a file `stop`.
const FULL_SPEED: &str = "echo begun; read x; n=0; while [ ! -e stop ]; do yes 'as fast as it can be taken' \
                          | head -c 1000000; \
    n=$((n+1)); echo x >>megabytes; done; echo; echo the end of $n; exec cat";

/// What the child writes while a client is stopped, unless `HOPTY_TEST_STOPPED_SECONDS` says for how long it
/// is: bytes.
const AMOUNT: usize = 20_000_000;

/// How much the host may grow meanwhile, in KiB: a few pictures, and nothing for each byte.
const GROWTH: u64 = 8192;

fn written(world: &World) -> usize {
    std::fs::metadata(world.project.join("megabytes"))
        .map_or(0, |file| usize::try_from(file.len()).unwrap() / 2 * 1_000_000)
}

/// Lets the child write; bytes a second.
fn speed(world: &World) -> f64 {
    let seconds: Option<u64> =
        std::env::var("HOPTY_TEST_STOPPED_SECONDS").ok().map(|seconds| seconds.parse().unwrap());
    let (limit, amount) =
        seconds.map_or((support::LIMIT, AMOUNT), |seconds| (Duration::from_secs(seconds), usize::MAX));
    let (began, before) = (Instant::now(), written(world));
    let enough = wait_within(limit, || (written(world) - before >= amount).then_some(()));
    assert!(enough.is_some() || seconds.is_some(), "the child stands still at {} bytes", written(world));
    (written(world) - before) as f64 / began.elapsed().as_secs_f64()
}

/// The resident memory of the session's host, in KiB.
fn memory(world: &World) -> u64 {
    let host = world.processes().into_iter().map(|(pid, _)| pid).find(|pid| support::is_host(*pid)).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{host}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Whether a terminal shows the session's last rows, as far as they fit.
fn shows(term: &Term, rows: &[String], width: usize) -> bool {
    let lines = term.lines();
    let wanted = rows.iter().skip(rows.len().saturating_sub(lines.len()));
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .eq(wanted.map(|row| row[..row.len().min(width)].trim_end().to_owned()))
}

#[test]
fn a_stopped_client_costs_nothing_while_the_program_writes_at_full_speed() {
    for leader in [false, true] {
        let world = world();
        let first = run(&world, FULL_SPEED);
        first.wait_text("begun");
        let second = sized(&world, &["attach"], (60, 20));
        wait_clients(&world, 2);
        first.send("\r");
        let both = speed(&world);
        // The history is full by now, and does not count.
        let before = memory(&world);
        let (stands, other) = if leader { (&first, &second) } else { (&second, &first) };
        let pid = i32::try_from(stands.child.id()).unwrap();
        support::kill(pid, nix::libc::SIGSTOP);
        let one = speed(&world);
        let after = memory(&world);
        let who = if leader { "the leader" } else { "the other" };
        println!(
            "both run: {both:.0} bytes/s; {who} is stopped: {one:.0} bytes/s; the host has {before} KiB, \
             then {after} KiB"
        );
        assert!(after < before + GROWTH, "the host grew from {before} to {after} KiB");
        std::fs::write(world.project.join("stop"), "").unwrap();
        other.wait_text("the end of");
        support::kill(pid, nix::libc::SIGCONT);
        let mut rows: Vec<String> = world.ask(&["screen"]).lines().map(str::to_owned).collect();
        rows.resize(40, String::new());
        support::wait_for("the right picture", || {
            (shows(&first, &rows, 120) && shows(&second, &rows, 60)).then_some(())
        });
        assert_eq!(clients(&world).len(), 2);
        second.send("typed\r");
        first.wait_text("typed");
        end(&world);
    }
}

/// The program asked its terminal something, nobody answered, and it has ended: until the terminal has taken
/// the last bytes, the host waits for that and does nothing.
#[test]
fn a_question_without_an_answer_costs_nothing_at_the_end() {
    let world = world();
    let first = run(&world, "stty -echo; echo begun; read x; printf '\\033[c'; seq 1 5000; exit 3");
    first.wait_text("begun");
    let host = i32::try_from(world.status()["host_pid"].as_i64().unwrap()).unwrap();
    first.stall(true);
    first.send("\r");
    // Its first bytes fill the terminal; the rest is with the host.
    support::wait_for("the end of the program", || (world.status()["state"] == "ended").then_some(()));
    let used = wait_within(Duration::from_secs(20), || {
        let before = support::ticks(host)?;
        assert!(!support::wait::ends_within(host, Duration::from_millis(300)), "the host ended");
        let used = support::ticks(host)? - before;
        (used <= 2).then_some(used)
    });
    assert!(used.is_some(), "the host does not come to rest");
    first.stall(false);
    let mut first = first;
    assert_eq!(first.wait_exit(), 3);
    world.assert_nothing_left();
}
