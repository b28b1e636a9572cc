//! Every case runs a program twice in identical terminals, without hopty and with it, by the same steps, and compares what
//! can be compared: the bytes that reach the terminal, the picture by an emulator that is not hopty's, what is on, what
//! the program finds, its exit code, the terminal afterwards. `docs/TESTING.md` has the table.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod case;
mod emulator;
mod outer;

mod answers;
mod bytes;
mod claude;
mod jobs;
mod programs;
mod redirected;
mod sees;
mod sequences;
mod sizes;
mod within;

/// The path-searched name of a real program. `None` where it is missing, which is said, and is an error where
/// `HOPTY_TEST_PROGRAMS=required`.
fn needs(program: &'static str) -> Option<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    if dirs.into_iter().any(|dir| dir.join(program).is_file()) {
        return Some(program);
    }
    assert!(std::env::var("HOPTY_TEST_PROGRAMS").as_deref() != Ok("required"), "{program} is not installed");
    support::claude::say(&format!("{program} is not installed: its cases are left out"));
    None
}
