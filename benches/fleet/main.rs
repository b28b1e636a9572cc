//! What many idle sessions cost: wake-ups, memory, the time of `ls`, and `ls` after the run directory was
//! deleted.
//!
//! ```sh
//! cargo bench --bench fleet
//! HOPTY_BENCH_SESSIONS=50 cargo bench --bench fleet
//! ```
//!
//! Every session runs `sleep`, each with a host of its own, in a place of their own. They are started one
//! after the other and looked at for 10 s when they have come to rest; at the end each is stopped, and
//! whoever is left is named.

#[path = "../support/mod.rs"]
mod support;

use std::ffi::OsString;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hopty::fs::paths::Paths;
use serde_json::Value;
use support::installed_hopty;
use support::place::Place;
use support::processes::{self, Usage};
use support::stats::{cell, quantile, table};
use support::target::Target;

/// Sessions, where `HOPTY_BENCH_SESSIONS` does not say.
const SESSIONS: usize = 200;
/// How long they are looked at.
const LOOK: Duration = Duration::from_secs(10);
/// How often `ls` is timed.
const LISTINGS: usize = 10;
/// How long they may take to come to rest, and how long nothing must have happened for that.
const REST: (Duration, Duration) = (Duration::from_secs(30), Duration::from_millis(200));

/// How long the last processes may take to be gone after the last stop.
const GONE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    support::adopt_orphans();
    let wanted = std::env::var("HOPTY_BENCH_SESSIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(SESSIONS);
    match support::interrupts().context("signals").and_then(|interrupted| measure(wanted, &interrupted)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(wanted: usize, interrupted: &AtomicBool) -> Result<()> {
    let (place, program) = (Place::new()?, installed_hopty()?);
    let hopty = |args: &[&str]| hopty(&place, &program, args);
    let go_on = || match interrupted.load(Ordering::Relaxed) {
        true => bail!("interrupted: every session is ended"),
        false => Ok(()),
    };
    let names: Vec<String> = (0..wanted).map(|n| format!("s{n:03}")).collect();
    let begun = Instant::now();
    for name in &names {
        go_on()?;
        hopty(&["run", "--detached", "--name", name, "--", "sleep", "100000"])?;
    }
    let started = begun.elapsed();
    let listed: Vec<Value> = serde_json::from_slice(&hopty(&["ls", "--json"])?)?;
    let hosts: Vec<i32> =
        listed.iter().filter_map(|session| i32::try_from(session["host_pid"].as_i64()?).ok()).collect();
    if !rest(&hosts, &go_on)? {
        eprintln!("not all of the hosts came to rest");
    }
    let memory = [processes::private, processes::pss]
        .map(|of| hosts.iter().map(|pid| of(&[*pid]) as f64).collect::<Vec<_>>());
    eprintln!("{} hosts at rest: {} s of nothing", hosts.len(), LOOK.as_secs());
    let used = during(&hosts, LOOK, &go_on)?;
    let listings = (0..LISTINGS).map(|_| timed(&hopty).map(|(ms, _)| ms)).collect::<Result<Vec<_>>>()?;
    let environment = place.environment();
    let var =
        |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let run = Paths::from_env(var).map(|paths| paths.run()).context("the place has no home")?;
    std::fs::remove_dir_all(run)?;
    let (after, found) = timed(&hopty)?;
    let begun = Instant::now();
    for name in &names {
        go_on()?;
        hopty(&["stop", name, "--kill"])?;
    }
    let stopped = begun.elapsed();
    // A host says good-bye before its process is gone.
    let until = Instant::now() + GONE;
    let mut left = place.processes();
    while !left.is_empty() && Instant::now() < until {
        left = place.processes();
    }
    let spread = |values: &[f64], digits| {
        let [low, middle, high] = [0.0, 0.5, 1.0].map(|q| cell(quantile(values, q), digits));
        format!("{middle} ({low} to {high})")
    };
    let row = |what: &str, found: String, target: String| vec![what.to_owned(), found, target];
    let at_most = |limit: f64, value: f64| Target::AtMost(limit).judge(value);
    table(
        &[&format!("{} idle sessions", hosts.len()), "median (least to most)", "target"],
        &[
            row("started one after the other, s", cell(started.as_secs_f64(), 1), String::new()),
            row(
                "context switches of all hosts in 10 s",
                used.switches.to_string(),
                at_most(0.0, used.switches as f64),
            ),
            row("processor time of all hosts in 10 s, µs", cell(used.cpu as f64 / 1e3, 0), String::new()),
            row("private memory of a host, KiB", spread(&memory[0], 0), String::new()),
            row("PSS of a host, KiB", spread(&memory[1], 0), at_most(300.0, quantile(&memory[1], 0.5))),
            row("`ls`, ms", spread(&listings, 0), at_most(100.0, quantile(&listings, 0.5))),
            row(
                "`ls` right after the run directory was deleted, ms",
                cell(after, 0),
                at_most(10_000.0, after),
            ),
            row("sessions that it found and that answered", format!("{found} of {wanted}"), String::new()),
            row("stopped one after the other, s", cell(stopped.as_secs_f64(), 1), String::new()),
            row("processes left behind", left.len().to_string(), at_most(0.0, left.len() as f64)),
        ],
    );
    Ok(())
}

/// What a verb prints, which must succeed.
fn hopty(place: &Place, program: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let words: Vec<OsString> =
        std::iter::once(program.into()).chain(args.iter().map(OsString::from)).collect();
    let output = place.command(&words).output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => bail!("hopty {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr)),
    }
}

/// How long one `ls` took, in ms, and how many sessions it found that answered.
fn timed(hopty: &dyn Fn(&[&str]) -> Result<Vec<u8>>) -> Result<(f64, usize)> {
    let begun = Instant::now();
    let text = hopty(&["ls"])?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    let text = String::from_utf8_lossy(&text);
    Ok((took, text.lines().skip(1).filter(|line| !line.contains("unresponsive")).count()))
}

/// Waits until the hosts have done nothing for a while.
fn rest(hosts: &[i32], go_on: &impl Fn() -> Result<()>) -> Result<bool> {
    let until = Instant::now() + REST.0;
    while Instant::now() < until {
        if during(hosts, REST.1, go_on)?.switches == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the hosts use in such a time.
fn during(hosts: &[i32], time: Duration, go_on: &impl Fn() -> Result<()>) -> Result<Usage> {
    let before = processes::usage(hosts);
    std::thread::sleep(time);
    go_on()?;
    Ok(processes::usage(hosts).since(before))
}
