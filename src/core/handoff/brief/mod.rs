//! The brief: what the next conversation is shown of a handoff.
//!
//! The person's own words come first and are instructions; everything else is a record, quoted as data.
//! Claude replaces a hook's text of more than 10,000 UTF-16 units by a preview of 2,000 (measured on
//! 2.1.329), so the brief keeps to a budget: `section_lengths` shares it out, and what is cut is what can
//! best be found again, because `Where to look` always names every file.
//!
//! The first and the last line share a word, a digest of the brief itself, which no text quoted in it can
//! have known; what reads like one of these lines is defused where the text is made safe.

mod brief_files;
mod record_sections;
mod render_brief;
mod request_sections;
mod section_lengths;
mod taken_up;
mod truncation;

pub use brief_files::BriefFiles;
pub use render_brief::{BRIEF_LEAST, Budget, HARD_MAX, brief, brief_of_document, with_changes};
