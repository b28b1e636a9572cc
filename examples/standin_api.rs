//! The stand-in Messages API on its own, to try the real Claude Code by hand without an account:
//!
//! ```sh
//! cargo run --example standin_api -- /tmp/try      # prints what to source, and serves until its input ends
//! ```
//!
//! Every reply is one Bash call and fills another 30,000 tokens, until a hand-over; then it says so and ends
//! its turn.

use std::io::Read;
use std::path::PathBuf;

use anyhow::Context;
use hopty::standin::{api::Api, home, script::Script};

const KEY: &str = "sk-ant-test-0123456789-abcdefghijklmnopqrst";

fn main() -> anyhow::Result<()> {
    let root = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "standin-world".to_owned()));
    let (home_dir, project) = (root.join("home"), root.join("proj"));
    for dir in [&project, &home_dir] {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("cannot make the directory {}", dir.display()))?;
    }
    let (home_dir, project) = (home_dir.canonicalize()?, project.canonicalize()?);
    home::seed(&home_dir, &project, KEY).context("cannot write the home directory")?;
    let api = Api::start(Script::filling_loop("echo one more step; sleep 0.5", 30_000))
        .context("cannot start the API")?;
    for (name, value) in home::environment(&home_dir, &api.url(), KEY) {
        println!("export {name}='{value}'");
    }
    println!("cd '{}'", project.display());
    // Serves until whoever started it closes the input.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
