//! Faults that tests inject: `HOPTY_TEST_FAULTS` names a directory, and each file in it switches on one
//! fault. Only debug builds look there.
//!
//! | file | fault |
//! |---|---|
//! | `panic` | a panic, once, at the place that the file names |
//! | `hang` | a host's disks hang while the file exists |
//! | `slow-copy` | copying a transcript takes as long as the file exists |
//! | `kill` | SIGKILL at the change of a disk with the file's number, counted from 0 |
//! | `no-links` | a file system without hard links |
//! | `no-fork` | the next program cannot be started for want of processes, once |
//! | `no-inotify` | a user who has no inotify instances left |

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// How often to check whether a disk still hangs.
const HANG_POLL: Duration = Duration::from_millis(10);

static HANGS: AtomicBool = AtomicBool::new(false);
/// How many changes of a disk there have been.
static CHANGES: AtomicUsize = AtomicUsize::new(0);

/// The file of a fault, if a test has requested the fault.
fn file_of(fault: &str) -> Option<PathBuf> {
    if cfg!(debug_assertions) {
        let dir = std::env::var_os("HOPTY_TEST_FAULTS")?;
        Some(Path::new(&dir).join(fault)).filter(|file| file.exists())
    } else {
        None
    }
}

pub fn is_wanted(fault: &str) -> bool {
    file_of(fault).is_some()
}

/// Panics if a test has requested a panic at this place.
pub fn panic_at(place: &str) {
    let Some(file) = file_of("panic") else { return };
    if std::fs::read_to_string(&file).is_ok_and(|wanted| wanted == place) {
        let _ = std::fs::remove_file(&file);
        panic!("a panic was asked for");
    }
}

/// Fails once as fork does without free processes, if a test has requested it.
pub fn fork_fails() -> std::io::Result<()> {
    let Some(file) = file_of("no-fork") else { return Ok(()) };
    let _ = std::fs::remove_file(file);
    Err(nix::errno::Errno::EAGAIN.into())
}

/// Waits while a fault's file exists.
pub fn wait_while(fault: &str) {
    while is_wanted(fault) {
        std::thread::sleep(HANG_POLL);
    }
}

/// From now on this process's disks may hang.
pub fn let_disks_hang() {
    HANGS.store(cfg!(debug_assertions), Ordering::Relaxed);
}

/// Called before a disk is read.
pub fn before_read() {
    if cfg!(debug_assertions) && HANGS.load(Ordering::Relaxed) {
        wait_while("hang");
    }
}

/// Called before a disk is changed.
pub fn before_change() {
    let Some(file) = file_of("kill") else { return };
    let at = std::fs::read_to_string(file).ok().and_then(|number| number.parse().ok());
    if at == Some(CHANGES.fetch_add(1, Ordering::Relaxed)) {
        let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL);
    }
}
