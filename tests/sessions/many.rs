//! `ls` over many hosts, and over some that do not answer: all are asked at once.

use std::time::{Duration, Instant};

use nix::libc::{SIGCONT, SIGSTOP};
use serde_json::Value;

use super::support::{kill, wait_for};
use super::{end_all, list, world};

#[test]
fn fifty_hosts_answer() {
    let world = world();
    for n in 0..50 {
        world.run_detached(&format!("s{n:02}"), &["sleep", "1000"]);
    }
    let all = list(&world);
    let names: Vec<String> = all.iter().map(|session| session["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, (0..50).map(|n| format!("s{n:02}")).collect::<Vec<_>>(), "each once, by name");
    assert!(all.iter().all(|session| session["state"] == "unknown"), "and each for itself");
    end_all(&world);
}

#[test]
fn several_sessions_end_at_once_or_none() {
    let world = world();
    for name in ["a", "b", "c"] {
        world.run_detached(name, &["sleep", "1000"]);
    }
    let refused = world.hopty(&["stop", "a", "none", "--kill"]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert_eq!(list(&world).len(), 3, "none of them ends");
    world.ask(&["stop", "a", "b", "--kill"]);
    assert_eq!(world.ask(&["ls", "--names"]), "c\n");
    // Two scripts may end it at the same moment.
    std::thread::scope(|scope| {
        let stops = [(); 3].map(|()| scope.spawn(|| world.hopty(&["stop", "c", "--kill"])));
        for stop in stops.map(|stop| stop.join().unwrap()) {
            let said = String::from_utf8_lossy(&stop.stderr).into_owned();
            assert!(stop.status.success() || said.contains("the session has ended"), "{said}");
        }
    });
    end_all(&world);
}

#[test]
fn hosts_that_do_not_answer_cost_nobody_else_time() {
    let world = world();
    for name in ["a", "b", "c", "d", "e", "f", "g", "well"] {
        world.run_detached(name, &["sleep", "1000"]);
    }
    let hosts: Vec<i32> = list(&world)
        .iter()
        .map(|session| i32::try_from(session["host_pid"].as_i64().unwrap()).unwrap())
        .collect();
    let (_, stopped) = hosts.split_last().unwrap();
    stopped.iter().for_each(|pid| kill(*pid, SIGSTOP));
    let began = Instant::now();
    let all = list(&world);
    let took = began.elapsed();
    // One after the other they would take 200 ms each.
    assert!(took < Duration::from_millis(1200), "{took:?}");
    for session in &all {
        let (state, from) =
            if session["name"] == "well" { ("unknown", "none") } else { ("unresponsive", "none") };
        assert_eq!(
            (session["state"].as_str(), session["state_from"].as_str()),
            (Some(state), Some(from)),
            "{}",
            session["name"]
        );
        assert!(session["pid"].is_number(), "what was known last is told");
    }
    let one: Value = serde_json::from_str(&world.ask(&["status", "a", "--json"])).unwrap();
    assert_eq!(one["state"], "unresponsive");
    assert!(world.ask(&["ls"]).contains("unresponsive"));
    stopped.iter().for_each(|pid| kill(*pid, SIGCONT));
    wait_for("their answers", || {
        list(&world).iter().all(|session| session["state"] == "unknown").then_some(())
    });
    end_all(&world);
}
