//! Who has nothing to do uses no processor, whatever happened before.

use std::time::Duration;

use super::support::world::World;
use super::{child, run, support, world};

/// Ticks of processor time (10 ms) that hopty's own processes have used so far.
fn ticks(world: &World) -> u64 {
    let own = |line: &str| line.split(' ').next().is_some_and(|p| p.ends_with("hopty")) && !line.contains(" status ");
    let used = |pid: i32| -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        Some(fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?)
    };
    world.processes().into_iter().filter(|(_, line)| own(line)).filter_map(|(pid, _)| used(pid)).sum()
}

/// That a second passes in which they use next to nothing. Two seconds of quiet may come first.
fn assert_idle(world: &World, when: &str) {
    assert!(world.processes().iter().any(|(_, line)| line.contains("__host")));
    let mut used = 0;
    for _ in 0..3 {
        let before = ticks(world);
        std::thread::sleep(Duration::from_secs(1));
        used = ticks(world).saturating_sub(before);
        if used <= 1 {
            return;
        }
    }
    panic!("{when}: {used} ticks in a second");
}

fn end(world: &World) {
    support::kill(child(world), nix::libc::SIGKILL);
    world.assert_nothing_left();
}

#[test]
fn attached_and_detached() {
    let world = world();
    let mut term = run(&world, "echo u$((1))p; exec sleep 1000");
    term.wait_text("u1p");
    assert_idle(&world, "attached");
    support::kill(super::client(&world), nix::libc::SIGKILL);
    term.wait_exit();
    assert_idle(&world, "after the client was killed");
    end(&world);
}

#[test]
fn after_a_hang_up() {
    let world = world();
    let mut term = run(&world, "echo u$((1))p; exec sleep 1000");
    term.wait_text("u1p");
    term.hang_up();
    term.wait_exit();
    assert_idle(&world, "after a hang-up");
    end(&world);
}

/// The client does not hear of it, as under nohup, but its terminal is gone.
#[test]
fn after_a_hang_up_that_the_client_ignores() {
    let world = world();
    let words = format!("trap '' HUP; '{}' run -- sh -c 'echo u$((1))p; exec sleep 1000'; true", support::claude::hopty().display());
    let mut term = super::bare(&world, &words);
    term.wait_text("u1p");
    term.hang_up();
    support::wait_for("the client to be gone", || (world.status()["clients"] == serde_json::json!([])).then_some(()));
    assert_idle(&world, "after an ignored hang-up");
    end(&world);
}

#[test]
fn while_the_client_is_stopped_and_the_program_writes() {
    let world = world();
    let mut term = run(&world, "echo u$((1))p; read x; exec yes");
    term.wait_text("u1p");
    let client = super::client(&world);
    support::kill(client, nix::libc::SIGSTOP);
    term.send("\r");
    assert_idle(&world, "with a stopped client");
    support::kill(client, nix::libc::SIGCONT);
    term.wait_for("the output", |s| s.lines().iter().filter(|l| **l == "y").count() > 10);
    support::kill(child(&world), nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 137);
    world.assert_nothing_left();
}

#[test]
fn while_it_is_suspended() {
    let mut world = world();
    let mut term = super::jobs::shell(&mut world);
    term.send("$H run -- cat\r");
    child(&world);
    super::client(&world);
    term.send("\x1a");
    term.wait_text("Stopped");
    super::jobs::ask(&term, 1);
    assert_idle(&world, "suspended");
    term.send("clear; fg\r");
    support::wait_for("the child to go on", || (world.status()["state"] == "unknown").then_some(()));
    assert_idle(&world, "after fg");
    term.send("\x04");
    super::jobs::wait_prompt(&term);
    super::jobs::leave(&mut term, &world, 0);
}

#[test]
fn while_the_terminal_takes_nothing() {
    let world = world();
    let mut term = run(&world, "echo u$((1))p; read x; exec yes");
    term.wait_text("u1p");
    term.stall(true);
    term.send("\r");
    assert_idle(&world, "with a full queue");
    let size = std::fs::read_to_string(format!("/proc/{}/status", world.status()["host_pid"])).unwrap();
    let peak: u64 = size.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 64 << 10, "{peak} KiB");
    term.stall(false);
    support::kill(child(&world), nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 137);
    world.assert_nothing_left();
}

#[test]
fn while_the_program_has_closed_its_terminal() {
    let world = world();
    let mut term = run(&world, "echo u$((1))p; exec <&- >&- 2>&-; sleep 1000; exec >/dev/tty; echo back");
    term.wait_text("u1p");
    assert_idle(&world, "with a closed terminal");
    let sleep = world.processes().into_iter().find(|(_, line)| line.starts_with("sleep")).unwrap().0;
    support::kill(sleep, nix::libc::SIGTERM);
    term.wait_text("back");
    assert_eq!(term.wait_exit(), 0);
    world.assert_nothing_left();
}

/// A program that writes without anybody attached is not held up, and the host does not grow.
#[test]
fn without_a_client_the_program_goes_on() {
    let world = world();
    let name = world.ask(&["run", "--detached", "--", "sh", "-c", "seq 1 300000; echo done; exec sleep 1000"]);
    assert_eq!(name, "proj\n");
    let mut term = world.terminal(&["attach", "proj"]);
    term.wait_text("done");
    assert_idle(&world, "after the output");
    support::kill(child(&world), nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 137);
    world.assert_nothing_left();
}
