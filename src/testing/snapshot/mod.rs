//! Snapshots of screens: text files beside the tapes, compared with the program's screen.
//!
//! | file | what |
//! |---|---|
//! | `screen_snapshot` | the text form: encode and parse |
//! | `style_span` | the second part of it: runs of cells with a style |
//! | `snapshot_comparison` | expected and actual, with wildcards |
//! | `snapshot_store` | the files: check, update, accept, unused |
//! | `snapshot_review` | pure: the page of `hopty test --review`, and its keys |
//! | `review_terminal` | the review's terminal |
//!
//! A screen is redacted ([`super::redaction`]) before it becomes a snapshot.

pub mod review_terminal;
mod screen_snapshot;
mod snapshot_comparison;
mod snapshot_review;
pub mod snapshot_store;
pub mod style_span;

pub use screen_snapshot::{ScreenSnapshot, SnapshotParts, SnapshotTextError};
pub use snapshot_store::{PendingSnapshot, SnapshotError, SnapshotMode, SnapshotStore, SnapshotUpdate};
