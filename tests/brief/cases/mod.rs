//! The cases. Each has words of its own, which stand nowhere else, so that a match is a match.

mod answers;
mod chains;
mod checks;
mod commands;
mod questions;
mod requests;
mod safety;
mod work;

use super::case::Case;

/// All of them, in the order of the table.
pub fn all() -> Vec<Case> {
    [
        requests::all(),
        answers::all(),
        questions::all(),
        checks::all(),
        work::all(),
        commands::all(),
        safety::all(),
        chains::all(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The names that cases use: `use super::kit::*`.
mod kit {
    pub use crate::case::*;
    pub use crate::facts::*;
}
