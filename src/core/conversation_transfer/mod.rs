//! Moving a conversation: which parts of its lines name a place, and how each becomes the new one.
//!
//! Every line of a transcript says in which directory Claude worked, and tools name files by absolute paths.
//! [`TransferRules::rewrite`] changes these fields and not one byte else: a line that is not understood, and
//! everything that a person or Claude wrote, stays as it is. [`TransferRules::explains`] checks that from the
//! two lines alone, in another way, before anything is put in place. [`redact_line`] hides secrets in a line
//! that is to be shared; [`without_acting_parts`] takes out of one what Claude would act on.
//!
//! `fs::conversation_transfer` does it to files.

mod fields;
mod foreign_line;
mod json_parts;
mod moved_line_check;
mod path_map;
mod redact;
mod rules;

pub use foreign_line::{
    ForeignLine, ForeignProject, LeftOutOfLines, agent_without_acting_parts, without_acting_parts,
};
pub use path_map::PathMap;
pub use redact::redact_line;
pub use rules::{LineRewrite, TransferRules};

/// The longest line that is looked into, in bytes; a longer one is copied as it is.
pub const LINE_BYTES: usize = crate::core::claude::line_splitter::LINE_CAP;
