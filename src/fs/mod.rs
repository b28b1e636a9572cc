//! Files: where they lie, how they are written so that no reader ever sees half of one, how they are followed.

pub mod atomic;
mod boot;
mod claims;
pub mod error;
pub mod journal;
mod keeping;
pub mod layouts;
pub mod lock;
mod manifests;
pub mod own_files;
pub mod paths;
#[cfg(test)]
mod power_tests;
pub mod project;
mod records;
pub mod registry;
pub mod room;
pub mod servers;
pub mod session;
pub mod store;
pub mod tail;
pub mod tasks;
mod trace;
pub mod transcript;
pub mod trust;
pub mod watch;
