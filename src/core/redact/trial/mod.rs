//! How many of thousands of secrets are missed, by kind and place, and how many other texts are changed.
//!
//! Every shape of a key is tried in every place, every name in every kind of assignment, and passwords of
//! every make in every place of a password, each as a transcript contains it. The numbers are the same in
//! every run.

mod chance;
mod harmless;
mod named;
mod recall_tests;
mod shaped;
mod wraps;

pub(super) use chance::Chance;
