//! The store of handoffs, the context figure and the channels, through their verbs, each test in a home of
//! its own.

#![allow(clippy::unwrap_used)]

#[path = "../support/mod.rs"]
mod support;

mod channels;
mod docs;
mod figures;
mod forged;
mod functions;
mod moves;
mod own_files;
mod projects;
mod real;
mod starts;
mod steps;
mod trees;
mod windows;
