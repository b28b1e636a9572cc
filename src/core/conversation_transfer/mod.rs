//! Moving a conversation: which fields of its lines name a place, and their new values.
//!
//! Every line of a transcript has the directory in which Claude worked, and tools name files by absolute
//! paths. [`TransferRules::rewrite`] changes these fields and no other byte: a line that hopty does not
//! understand, and everything that a person or Claude wrote, stays. [`TransferRules::explains`] checks that
//! in another way, from the two lines alone, before any file is replaced. [`redact_line`] replaces secrets in
//! a line to share, and [`without_acting_parts`] removes what Claude would act on.
//!
//! `fs::conversation_transfer` applies this to files.

mod fields;
mod foreign_line;
mod json_parts;
mod path_map;
mod redact;
mod rules;
mod transfer_proof;

pub use foreign_line::{
    ForeignLine, ForeignProject, LeftOutOfLines, agent_without_acting_parts, without_acting_parts,
};
pub use path_map::PathMap;
pub use redact::redact_line;
pub use rules::{LineRewrite, TransferRules};

/// The longest line that is looked into, in bytes; a longer one is copied as it is.
pub const LINE_BYTES: usize = crate::core::claude::line_splitter::LINE_CAP;
