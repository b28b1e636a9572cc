//! What benches are made of: places of their own, processes as `/proc` knows them, terminals, tables.
//!
//! No bench uses all of it.

#![allow(dead_code)]

pub mod place;
pub mod processes;
pub mod stats;
pub mod target;
pub mod tty;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// A flag that is set when somebody wants it to end, so that what was started is ended first.
pub fn interrupts() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::default();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Daemons that lose their parents become children of this process, which collects them.
pub fn adopt_orphans() {
    // SAFETY: this option takes numbers.
    unsafe { nix::libc::prctl(nix::libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Where a program is: what `HOPTY_BENCH_NAME` says, with its own name in capitals, or else `PATH`.
pub fn find(program: &str) -> Option<PathBuf> {
    if let Some(said) = std::env::var_os(format!("HOPTY_BENCH_{}", program.to_uppercase())) {
        return Some(PathBuf::from(said)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// hopty as it is installed: a copy.
///
/// Until the machine starts anew, the kernel holds a file that the linker has just written in pieces of one
/// page, and a copy in larger ones: a start of the copy takes 0.15 ms less (ext4, Linux 6).
pub fn installed_hopty() -> io::Result<PathBuf> {
    let built = Path::new(env!("CARGO_BIN_EXE_hopty"));
    let copy = built.with_file_name("hopty-installed");
    match std::fs::remove_file(&copy) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => std::fs::copy(built, &copy)?,
    };
    Ok(copy)
}
