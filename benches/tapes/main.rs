//! What tests of terminal programs cost under `hopty test`, against every tool for them that is installed.
//!
//! ```sh
//! cargo bench --bench tapes                      # everything, about a minute
//! cargo bench --bench tapes -- trivial 100     # one alone after another: trivial | many | latency, how often
//! ```
//!
//! Peers are pexpect (`pip install pexpect`), tmux (scripts with `send-keys` and `capture-pane`) and expect
//! (`apt install tmux expect`). `HOPTY_BENCH_PYTHON3` names a Python that has pexpect, where that in PATH
//! does not. Each does the same as the tape, without the pauses that it makes by default. Nothing is
//! asserted. testty is not among them: version 0.18.1 needs a newer Rust than this project.
//!
//! Other figures of tapes and recordings are measured elsewhere:
//!
//! ```sh
//! HOPTY_HISTORIES=10000 cargo test --release --lib nothing_old_is_taken   # wrong passes, against an oracle
//! HOPTY_SETTLE=1000 cargo test --release --lib a_starved_program             # under eight busy loops
//! cargo bench --bench timeline                                               # loading and seeking
//! cargo bench --bench relay -- latency --peers hopty,hopty-rec       # what a recording adds to a key
//! cargo bench --bench relay -- throughput --peers hopty,hopty-rec,asciinema  # and takes of the throughput
//! ```

mod latency;
mod peers;
#[path = "../support/mod.rs"]
mod support;
mod trivial;

use std::process::ExitCode;

use anyhow::{Result, bail};
use peers::Peer;

/// What can be measured.
const WHAT: [&str; 4] = ["all", "trivial", "many", "latency"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    // The same binary is the program whose text is waited for.
    let done = match words.first().map(String::as_str) {
        Some("--talk") => latency::talk(),
        _ => measure(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(words: &[String]) -> Result<()> {
    let what = words.first().map_or("all", String::as_str);
    if !WHAT.contains(&what) {
        bail!("nothing is called {what}; there is {}", WHAT.join(", "));
    }
    let times = words.get(1).map(|word| word.parse::<usize>()).transpose()?;
    support::adopt_orphans();
    let (peers, missing) = Peer::all()?;
    if !missing.is_empty() {
        println!("Skipped, because they are not installed: {}.\n", missing.join(", "));
    }
    let is = |name: &str| what == "all" || what == name;
    if is("trivial") {
        trivial::one_after_another(&peers, times.unwrap_or(100))?;
    }
    if is("many") {
        trivial::many(&peers, times.unwrap_or(300))?;
    }
    if is("latency") {
        latency::run(&peers, times.unwrap_or(500))?;
    }
    Ok(())
}
