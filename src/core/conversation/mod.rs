//! Conversations as a person looks for them: what a list shows of one, how one is named. Pure.
//!
//! Everything is read from the lines that Claude writes, of any version; what a version does not write is not
//! known, and is said to be so.

pub mod entry;
pub mod file_role;
pub mod handover_links;
pub mod name;
pub mod pages;
pub mod search_query;
pub mod summary;
