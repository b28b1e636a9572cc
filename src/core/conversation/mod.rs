//! Conversations as a person looks for them: entries of a list, names, searches, pages to share. Pure.
//!
//! All facts come from the lines that Claude writes, of any version; what a version does not write is
//! reported as unknown.

pub mod entry;
pub mod file_role;
pub mod handover_links;
pub mod name;
pub mod pages;
pub mod search_query;
pub mod summary;
