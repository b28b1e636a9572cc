//! A recording as one page that needs nothing else: a screen whose text can be copied, a scrubber with marks,
//! and, for a tape, its lines and the failure.
//!
//! The page draws frames that are made here; it contains no terminal. Its policy allows no other resource and
//! no script but its own, by hash. Output of a program is data in it, never markup.

mod cast_page;

pub use cast_page::{TraceOutcome, TracePage, TraceStep, cast_of_page, has_cast, page};
