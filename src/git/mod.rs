//! What git says about a work tree.
//!
//! git is run as a child process with a time limit; the repository's own hooks, pagers, external diff programs and file
//! monitors are turned off, and no lock is taken. One thing cannot be turned off: a clean filter that the repository's
//! configuration names is run by git whenever it compares files. Nothing is ever changed.

mod run;
pub mod state;
