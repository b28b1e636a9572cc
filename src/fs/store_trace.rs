//! The order in which the store changes names and files, recorded for the tests of power cuts
//! (`power_tests`). In other builds every function here is empty; nothing depends on the record.

pub(super) use to::*;

#[cfg(not(test))]
mod to {
    use std::path::Path;

    pub(in crate::fs) fn filled(_: &Path) {}
    pub(in crate::fs) fn synced(_: &Path) {}
    pub(in crate::fs) fn renamed(_: &Path, _: &Path) {}
    pub(in crate::fs) fn dir_made(_: &Path) {}
    pub(in crate::fs) fn dir_synced(_: &Path) {}
    pub(in crate::fs) fn removed(_: &Path) {}
}

#[cfg(test)]
mod to {
    use std::cell::{Cell, RefCell};
    use std::path::{Path, PathBuf};

    /// One step, as requested from the kernel.
    #[derive(Clone, Debug)]
    pub(in crate::fs) enum Step {
        /// A file was created with this content.
        Filled(PathBuf, Vec<u8>),
        /// A file was synced.
        Synced(PathBuf),
        /// A file was renamed.
        Renamed(PathBuf, PathBuf),
        /// A directory was created.
        DirMade(PathBuf),
        /// A directory was synced.
        DirSynced(PathBuf),
        /// A file or an empty directory was deleted.
        Removed(PathBuf),
    }

    thread_local! {
        static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
        static END: Cell<Option<usize>> = const { Cell::new(None) };
    }

    fn step(step: Step) {
        STEPS.with_borrow_mut(|steps| steps.push(step));
        let left = END.get().map(|steps| steps.saturating_sub(1));
        END.set(left);
        if left == Some(0) {
            // As after a kill, nothing is cleaned up, not even temporary files. SAFETY: it ends the
            // process.
            unsafe { nix::libc::_exit(ENDED) }
        }
    }

    /// The exit code of a process that [`end_after`] ended.
    const ENDED: i32 = 77;

    /// Runs the ignored test `part` in a process of its own with this variable. Returns whether it was
    /// ended at a step; it must not fail otherwise.
    pub(in crate::fs) fn is_ended_at_step(part: &str, (name, value): (&str, &str)) -> bool {
        let ended = std::process::Command::new(std::env::current_exe().unwrap())
            .args([part, "--exact", "--ignored", "--test-threads=1"])
            .env(name, value)
            .output()
            .unwrap();
        match ended.status.code() {
            Some(ENDED) => true,
            Some(0) => false,
            other => panic!("{part} with {value:?}: {other:?}"),
        }
    }

    /// Ends the process at this thread's step with this number, counted from 1.
    pub(in crate::fs) fn end_after(steps: usize) {
        END.set(Some(steps));
    }

    pub(in crate::fs) fn take() -> Vec<Step> {
        STEPS.take()
    }

    pub(in crate::fs) fn filled(path: &Path) {
        step(Step::Filled(path.to_owned(), std::fs::read(path).unwrap()));
    }

    pub(in crate::fs) fn synced(path: &Path) {
        step(Step::Synced(path.to_owned()));
    }

    pub(in crate::fs) fn renamed(from: &Path, to: &Path) {
        step(Step::Renamed(from.to_owned(), to.to_owned()));
    }

    pub(in crate::fs) fn dir_made(path: &Path) {
        step(Step::DirMade(path.to_owned()));
    }

    pub(in crate::fs) fn dir_synced(path: &Path) {
        step(Step::DirSynced(path.to_owned()));
    }

    pub(in crate::fs) fn removed(path: &Path) {
        if path.is_dir() {
            std::fs::read_dir(path).unwrap().for_each(|entry| removed(&entry.unwrap().path()));
        }
        step(Step::Removed(path.to_owned()));
    }
}
