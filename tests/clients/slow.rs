//! A terminal that takes nothing slows neither the program nor the others.

use super::{clients, end, run, sized, support, wait_clients, world};

/// Writes without end, and says now and then how far it is.
const FLOOD: &str = "echo begun; read x; seq 1 400000; echo the end; exec cat";

#[test]
fn a_stalled_leader_does_not_hold_up_the_others() {
    let world = world();
    let first = run(&world, FLOOD);
    first.wait_text("begun");
    let second = sized(&world, &["attach"], (60, 20));
    wait_clients(&world, 2);
    first.send("\r");
    first.stall(true);
    second.wait_text("the end");
    first.stall(false);
    // It is drawn anew when it takes bytes again.
    first.wait_text("the end");
    first.wait_text("399999");
    first.send("typed\r");
    first.wait_text("typed");
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
