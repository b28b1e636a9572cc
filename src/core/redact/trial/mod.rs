//! How many secrets are left of thousands, by kind and place, and how many other texts are harmed.
//!
//! Every shape of a key in every place, every name in every way to assign it, every place of a password with
//! passwords of every make, each written as a transcript writes it. The numbers are the same in every run.

mod chance;
mod harmless;
mod named;
mod recall_tests;
mod shaped;
mod wraps;

pub(super) use chance::Chance;
