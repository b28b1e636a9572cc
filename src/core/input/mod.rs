//! What the bytes from a person's terminal are: typing, an interrupt, a submit, a paste, or an answer of the
//! terminal itself.
//!
//! [`Classifier::feed`] takes bytes however they were split and gives [`InputPiece`]s that cover each byte
//! exactly once, in order; the labels do not depend on the splits.
//!
//! It only labels. The caller passes every byte on at once and may learn a label a little later, when the
//! sequence is complete; [`Classifier::flush`] ends that wait. C1 controls (0x80 to 0x9f as single bytes) and
//! mouse mode 1005 are not recognised: they look like UTF-8 text.

pub mod encode;
mod input_classifier;
pub mod key_names;
mod key_sequences;
pub mod plain_keys;
pub mod prefix_command;

pub use input_classifier::{Classifier, InputClass, InputPiece, PASTE_END, PASTE_START};
