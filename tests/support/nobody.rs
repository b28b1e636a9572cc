//! hopty as another user, for what root may do all the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::claude;
use super::program_files;
use super::term::Term;
use super::world::World;

const ID: &str = "65534";

/// Gives the world to user `nobody`, with a hopty that nobody can reach. `None` where this is not possible
/// (only root can); then the test is reported as skipped.
pub fn give(world: &World) -> Option<PathBuf> {
    if !nix::unistd::geteuid().is_root() {
        super::skip("only root can run hopty as another user");
        return None;
    }
    super::needs("setpriv")?;
    let hopty = world.root.path().join("hopty");
    program_files::copy(&claude::hopty(), &hopty);
    let done =
        Command::new("chown").arg("-R").arg(format!("{ID}:{ID}")).arg(world.root.path()).status().unwrap();
    assert!(done.success());
    Some(hopty)
}

/// A command that runs `program` as nobody.
pub fn command(world: &World, program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(words(program))
        .args(args)
        .env_clear()
        .envs(world.env.iter().cloned())
        .current_dir(&world.project);
    command
}

/// `program` as nobody in a terminal that still belongs to root.
pub fn terminal(world: &World, program: &Path, args: &[&str]) -> Term {
    let words = words(program);
    let words: Vec<&str> = words.iter().map(String::as_str).chain(args.iter().copied()).collect();
    Term::start("/usr/bin/setpriv".as_ref(), &words, &world.env, &world.project, (120, 40))
}

fn words(program: &Path) -> Vec<String> {
    let program = program.to_str().unwrap().to_owned();
    vec![
        format!("--reuid={ID}"),
        format!("--regid={ID}"),
        "--clear-groups".to_owned(),
        "--".to_owned(),
        program,
    ]
}
