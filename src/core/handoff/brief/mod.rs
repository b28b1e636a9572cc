//! The brief: the text of a handoff for the next conversation.
//!
//! The person's own words come first and are instructions; all other text is a record, quoted as data. Claude
//! replaces a hook's text of more than 10,000 UTF-16 units with a preview of 2,000 (measured on 2.1.329), so
//! a brief has a budget. `section_lengths` distributes it. Text that is cut can be found again, because the
//! section `Where to look` names every file.
//!
//! The first and the last line share a word, a digest of the brief, which no text quoted in it can know. A
//! quoted line that looks like one of them is changed when the text is made safe.

mod answer_excerpts;
mod brief_files;
mod record_sections;
mod render_brief;
mod request_sections;
mod section_lengths;
mod shared_words;
mod truncation;

pub use brief_files::BriefFiles;
pub use render_brief::{BRIEF_LEAST, Budget, HARD_MAX, brief, brief_of_document, with_changes};
