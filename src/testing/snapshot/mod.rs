//! Snapshots of screens: text files beside the tapes, compared with what the program shows.
//!
//! | file | what |
//! |---|---|
//! | [`screen_snapshot`] | the text form: encode and parse |
//! | [`style_span`] | the second part of it: runs of cells with a style |
//! | [`snapshot_comparison`] | expected beside actual, with wildcards |
//! | [`snapshot_store`] | the files: check, update, accept, unused |
//! | [`snapshot_review`] | pure: what `hopty test --review` shows, and what a key does |
//! | [`review_terminal`] | the review's terminal |
//!
//! A screen is redacted ([`super::redaction`]) before it becomes a snapshot.

pub mod review_terminal;
pub mod screen_snapshot;
pub mod snapshot_comparison;
pub mod snapshot_review;
pub mod snapshot_store;
pub mod style_span;

pub use screen_snapshot::{ScreenSnapshot, SnapshotParts, SnapshotTextError};
pub use snapshot_store::{PendingSnapshot, SnapshotError, SnapshotMode, SnapshotStore, SnapshotUpdate};
