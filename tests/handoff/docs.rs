//! The example in `docs/HANDOFF.md`, run line by line.

use std::process::Command;

use super::steps::*;
use super::support::claude;
use super::support::world::World;

/// What a command prints; where it fails, its exit code.
fn run(world: &World, line: &str) -> String {
    let bin = claude::hopty();
    let path = format!("{}:{}", bin.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .env_clear()
        .envs(world.env.iter().cloned())
        .env("PATH", path)
        .current_dir(&world.project);
    let output = command.output().unwrap();
    match output.status.code() {
        Some(0) => text(&output.stdout),
        Some(code) => format!("exit code {code}\n"),
        None => panic!("{line}: {output:?}"),
    }
}

/// The same with the page's directory and time in place of this run's.
fn as_on_the_page(world: &World, shown: &str) -> String {
    let mut out = shown.replace(world.project.to_str().unwrap(), "/home/u/proj");
    while let Some(at) =
        out.match_indices("HO-").map(|(at, _)| at).find(|at| !out[*at..].starts_with("HO-20261120-142950-"))
    {
        out.replace_range(at..at + "HO-20261120-142950-".len(), "HO-20261120-142950-");
    }
    out
}

#[test]
fn the_example_of_the_page_is_true() {
    let world = world();
    talk(&world, ID, "Build the bridge.");
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/HANDOFF.md")).unwrap();
    let example = page.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let mut steps = 0;
    for step in example.split("$ hopty").skip(1) {
        let (line, expected) = step.split_once('\n').unwrap();
        let line = format!("hopty{line}");
        assert_eq!(as_on_the_page(&world, &run(&world, &line)), expected, "{line}");
        steps += 1;
    }
    assert!(steps > 10, "{steps}");
}
