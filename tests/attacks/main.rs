//! Attacks on hopty by a repository, a program below Claude, and a bystander of the same user. Each file is
//! one way in. Every case runs the real binary; `docs/SECURITY.md` lists the promises and the test of each.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod configuration;
mod conversations;
mod files;
mod git;
mod modes;
mod orphans;
mod peers;
mod settings;
mod signals;
mod text;
mod watchers;
