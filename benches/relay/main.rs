//! What hopty costs between a program and a terminal, against no wrapper at all, the smallest relay loops,
//! and every tool of its kind that is installed.
//!
//! ```sh
//! cargo bench --bench relay -- all                                  # everything, some minutes
//! cargo bench --bench relay -- throughput --rounds 5 --peers hopty,hop2,dtach
//! ```
//!
//! Every contender runs one session for the whole of a measurement, each in a terminal of its own, and they
//! take turns: many short slices, each round beginning with another one. Of a contender's slices only the
//! half counts whose threads waited least for a processor. Tables are ratios to hop1, the smallest loop, in
//! the same run. `docs/PERFORMANCE.md` says how to read them.

mod child;
mod drawn;
mod hop;
mod idle;
mod instructions;
mod latency;
mod paste;
mod peers;
mod run;
mod session;
mod start;
#[path = "../support/mod.rs"]
mod support;
mod throughput;
mod workload;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use support::{processes, stats, target, tty};

/// What can be measured; `all` has the cost in the tables of `throughput`.
const WHAT: [&str; 8] = ["all", "throughput", "drawn", "latency", "start", "idle", "paste", "cpu"];

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    // The same binary is the smallest loop and the program in it.
    let hidden = match words.split_first() {
        Some((first, rest)) if first == "--hop1" => Some(hop::one(rest)),
        Some((first, rest)) if first == "--hop2" => Some(hop::two(rest)),
        Some((first, [socket])) if first == "--child" => Some(child::work(Path::new(socket))),
        _ => None,
    };
    if let Some(ended) = hidden {
        return ExitCode::from(u8::try_from(ended.unwrap_or(1)).unwrap_or(1));
    }
    support::adopt_orphans();
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let done = run::Options::read(&words).and_then(|options| measure(&options));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &run::Options) -> Result<()> {
    let all = options.what == "all";
    let is = |what: &str| all || options.what == what;
    if !WHAT.contains(&options.what.as_str()) {
        bail!("nothing is called {}; there is {}", options.what, WHAT.join(", "));
    }
    if is("throughput") {
        throughput::run(options, throughput::Tables::Throughput)?;
    }
    if is("drawn") {
        drawn::run(options)?;
    }
    if is("latency") {
        latency::run(options)?;
    }
    if is("start") {
        start::run(options)?;
    }
    if is("idle") {
        idle::run(options)?;
    }
    if is("paste") {
        paste::run(options)?;
    }
    if options.what == "cpu" {
        throughput::run(options, throughput::Tables::Cpu)?;
    }
    Ok(())
}
