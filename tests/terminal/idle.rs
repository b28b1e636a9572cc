//! Who has nothing to do uses no processor, whatever happened before.

use std::time::Duration;

use super::support::world::World;
use super::{child, run, support, world};

/// Ticks of processor time (10 ms) that hopty's own processes have used so far.
fn ticks(world: &World) -> u64 {
    let own = |line: &str| {
        line.split(' ').next().is_some_and(|p| p.ends_with("hopty")) && !line.contains(" status ")
    };
    world
        .processes()
        .into_iter()
        .filter(|(_, line)| own(line))
        .filter_map(|(pid, _)| support::ticks(pid))
        .sum()
}

/// Waits up to 20 seconds for a second in which they use next to nothing: some work may be left before.
fn assert_idle(world: &World, when: &str) {
    let host =
        world.processes().into_iter().map(|(pid, _)| pid).find(|pid| support::is_host(*pid)).expect("a host");
    let mut used = 0;
    for _ in 0..20 {
        let before = ticks(world);
        assert!(!support::wait::ends_within(host, Duration::from_secs(1)), "{when}: the host ended");
        used = ticks(world).saturating_sub(before);
        if used <= 1 {
            return;
        }
    }
    panic!("{when}: {used} ticks in a second");
}

/// In KiB: one of the lines of `/proc/PID/status` of the host.
fn host_memory(world: &World, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", world.status()["host_pid"])).unwrap();
    let value = status.lines().find_map(|l| l.strip_prefix(line)).expect("a line of that name");
    value.trim().trim_end_matches(" kB").parse().unwrap()
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
    let words = format!(
        "trap '' HUP; '{}' run -- sh -c 'echo u$((1))p; exec sleep 1000'; true",
        support::claude::hopty().display()
    );
    let mut term = super::bare(&world, &words);
    term.wait_text("u1p");
    term.hang_up();
    support::wait_for("the client to be gone", || {
        (world.status()["clients"] == serde_json::json!([])).then_some(())
    });
    assert_idle(&world, "after an ignored hang-up");
    end(&world);
}

#[test]
fn while_the_client_is_stopped_and_what_the_program_wrote_waits() {
    let world = world();
    let script = "echo u$((1))p; while [ ! -e go ]; do sleep 0.05; done; yes | head -c 200000; touch done; \
                  exec sleep 1000";
    let mut term = run(&world, script);
    term.wait_text("u1p");
    let client = super::client(&world);
    support::kill(client, nix::libc::SIGSTOP);
    std::fs::write(world.project.join("go"), "").unwrap();
    support::wait_for("all of it", || world.project.join("done").exists().then_some(()));
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
    let peak = host_memory(&world, "VmHWM:");
    assert!(peak < 64 << 10, "{peak} KiB");
    term.stall(false);
    support::kill(child(&world), nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 137);
    world.assert_nothing_left();
}

/// What a flood took is kept for a second, for the next one.
#[test]
fn after_a_flood_whose_memory_is_given_back() {
    let world = world();
    let term = run(
        &world,
        "echo u$((1))p; for n in 1 2; do read x; seq 1 500000; echo d$((n))ne; done; exec sleep 1000",
    );
    term.wait_text("u1p");
    let before = host_memory(&world, "RssAnon:");
    for done in ["d1ne", "d2ne"] {
        term.send("\r");
        term.wait_text(done);
        // Its history is larger now; the least that waited for the screen model is a large page.
        support::wait_for("the memory to be given back", || {
            (host_memory(&world, "RssAnon:") < before + 2000).then_some(())
        });
        assert_idle(&world, "after a flood");
    }
    let peak = host_memory(&world, "VmHWM:");
    assert!(peak < 64 << 10, "{peak} KiB");
    end(&world);
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
    let name =
        world.ask(&["run", "--detached", "--", "sh", "-c", "seq 1 300000; echo done; exec sleep 1000"]);
    assert_eq!(name, "proj\n");
    let mut term = world.terminal(&["attach", "proj"]);
    term.wait_text("done");
    assert_idle(&world, "after the output");
    support::kill(child(&world), nix::libc::SIGKILL);
    assert_eq!(term.wait_exit(), 137);
    world.assert_nothing_left();
}

/// No descriptor is left for who calls: it waits, and is heard as soon as there is one.
#[test]
fn while_nobody_can_be_let_in() {
    let world = world();
    let mut term = run(&world, "echo u$((1))p; exec sleep 1000");
    term.wait_text("u1p");
    let host = i32::try_from(world.status()["host_pid"].as_i64().unwrap()).unwrap();
    let fds = || std::fs::read_dir(format!("/proc/{host}/fd")).unwrap().count() as u64;
    for allowed in [fds(), 3] {
        let before = limit_descriptors(host, allowed);
        let caller =
            std::os::unix::net::UnixStream::connect(world.state_dir().join("run/proj.sock")).unwrap();
        assert_idle(&world, &format!("with {allowed} descriptors"));
        limit_descriptors(host, before);
        let hello = "{\"hopty\":1,\"version\":\"0\",\"role\":\"control\"}\n";
        std::io::Write::write_all(&mut (&caller), hello.as_bytes()).unwrap();
        let mut answer = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(caller), &mut answer).unwrap();
        assert!(answer.contains("\"session\":\"proj\""), "{answer}");
    }
    end(&world);
    assert_eq!(term.wait_exit(), 137);
}

/// Sets how many descriptors a process may have, and gives how many it might before.
fn limit_descriptors(pid: i32, allowed: u64) -> u64 {
    let mut old = nix::libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: prlimit reads and writes one rlimit each.
    unsafe {
        assert_eq!(nix::libc::prlimit(pid, nix::libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut old), 0);
        let new = nix::libc::rlimit { rlim_cur: allowed, ..old };
        assert_eq!(
            nix::libc::prlimit(pid, nix::libc::RLIMIT_NOFILE, &raw const new, std::ptr::null_mut()),
            0
        );
    }
    old.rlim_cur
}

/// What it has typed waits for a program that does not read; nobody waits for it.
#[test]
fn after_the_end_of_a_relay_whose_input_is_stuck() {
    let world = world();
    let script = "stty raw -echo; echo u$((1))p; exec sleep 1000";
    let mut term = super::relay::through_dev_tty(&world, script);
    term.wait_text("u1p");
    assert!(term.fill(8 << 20) < 8 << 20, "the keyboard waits");
    support::kill(super::client(&world), nix::libc::SIGKILL);
    term.wait_exit();
    support::wait_for("the client to be gone", || {
        (world.status()["clients"] == serde_json::json!([])).then_some(())
    });
    assert_idle(&world, "after the relay's end");
    end(&world);
}

/// Who asks and asks, reads no answer and goes away.
#[test]
fn after_a_caller_that_reads_nothing() {
    let world = world();
    let mut term = run(&world, "echo u$((1))p; exec sleep 1000");
    term.wait_text("u1p");
    let caller = std::os::unix::net::UnixStream::connect(world.state_dir().join("run/proj.sock")).unwrap();
    caller.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    let mut lines = "{\"hopty\":1,\"version\":\"0\",\"role\":\"control\"}\n".to_owned();
    lines.push_str(&"{\"id\":1,\"do\":\"status\"}\n".repeat(4000));
    // Until nothing more is taken.
    let _ = std::io::Write::write_all(&mut (&caller), lines.as_bytes());
    assert_idle(&world, "with a caller that reads nothing");
    drop(caller);
    assert_idle(&world, "after it is gone");
    end(&world);
    assert_eq!(term.wait_exit(), 137);
}
